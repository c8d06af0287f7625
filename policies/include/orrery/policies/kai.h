/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai.h - one cycle of NVIDIA's KAI Scheduler, v0.17, over a session.
 *
 * Five actions in a given order; each sees what those before it decided. Afterwards the session's
 * decisions say what was bound, pipelined and evicted, by which action and for whom.
 */
#ifndef ORR_POLICIES_KAI_H
#define ORR_POLICIES_KAI_H

#include <orrery/core/session.h>
#include <orrery/policies/feature.h>

ORR_API_BEGIN

/* Runs the actions once over an open session. */
void orr_kai_run(struct orr_session *session, const enum orr_action *actions, uint32_t count);
/* The order KAI has by default: allocate, consolidation, reclaim, preempt, stale gang eviction. */
void orr_kai_cycle(struct orr_session *session);

/* What the policy's parameters (orr_policy_kai's rows, filled in) mean to a session. */
void orr_kai_set_rules(const void *params, struct orr_session_rules *rules);
/* The actions they leave on, in KAI's order; room for ORR_ACTIONS. Returns how many. */
uint32_t orr_kai_actions(const void *params, enum orr_action *actions);
/* Only the plugins that `has` knows are on, by KAI's names. Which way nodeplacement places stays as
 * the rules say. */
typedef bool orr_kai_has_plugin_fn(const void *context, const char *name);
void orr_kai_set_plugins(struct orr_session_rules *rules, orr_kai_has_plugin_fn *has,
                         const void *context);

/* What of KAI is heeded: supported, counted (jobs that use it are named) or refused. Ended by a
 * NULL name. */
const struct orr_feature *orr_kai_features(void);

ORR_API_END

#endif
