/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_params.h - what a user may set of the policy, and the session's rules that follow. */
#ifndef ORR_KAI_PARAMS_H
#define ORR_KAI_PARAMS_H

#include <orrery/core/policy.h>
#include <orrery/core/session.h>

struct orr_kai_params {
    bool consolidation, reclaim, preempt;
    bool allow_consolidating_reclaim, use_scheduling_signatures, strict_v017;
    int64_t gpu_strategy, cpu_strategy, resolve;
    int64_t max_consolidation_preemptees;
    double k_value, saturation_multiplier;
    orr_ms preempt_min_runtime_ms, reclaim_min_runtime_ms, staleness_grace_ms;
};

extern const struct orr_param orr_kai__rows[];
struct orr_session_rules orr_kai__rules(const struct orr_kai_params *params);

#endif
