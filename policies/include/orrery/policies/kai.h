/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai.h - one cycle of NVIDIA's KAI Scheduler, v0.17, over a session.
 *
 * Five actions in a given order; each sees what those before it decided. Afterwards the session's
 * decisions say what was bound, pipelined and evicted, by which action and for whom.
 */
#ifndef ORR_POLICIES_KAI_H
#define ORR_POLICIES_KAI_H

#include <orrery/core/param.h>
#include <orrery/core/session.h>

/* KAI's options and plugin arguments under KAI's names; see orr_kai_params. */
struct orr_kai_params {
    int64_t gpu, cpu;     /* nodeplacement: 0 binpack, 1 spread */
    int64_t device_order; /* 0 gpupack, 1 gpuspread */
    double k_value, saturation_multiplier;
    orr_ms preempt_min_runtime, reclaim_min_runtime;
    int64_t reclaim_resolve_method; /* 0 lca, 1 queue */
    int64_t max_consolidation_preemptees;
    bool use_scheduling_signatures, allow_consolidating_reclaim;
    orr_ms staleness_grace_period;
    bool strict_v017;
};
extern const struct orr_param orr_kai_params[]; /* ended by a NULL name */
void orr_kai_apply(const struct orr_kai_params *params, struct orr_session_rules *rules);

/* Runs the actions once over an open session. */
void orr_kai_run(struct orr_session *session, const enum orr_action *actions, uint32_t count);
/* The order KAI has by default: allocate, consolidation, reclaim, preempt, stale gang eviction. */
void orr_kai_cycle(struct orr_session *session);

#endif
