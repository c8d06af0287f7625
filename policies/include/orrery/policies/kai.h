/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai.h - one cycle of NVIDIA's KAI Scheduler, v0.17, over a session.
 *
 * Five actions in a given order; each sees what those before it decided. Afterwards the session's
 * decisions say what was bound, pipelined and evicted, by which action and for whom.
 */
#ifndef ORR_POLICIES_KAI_H
#define ORR_POLICIES_KAI_H

#include <orrery/core/session.h>

/* Runs the actions once over an open session. */
void orr_kai_run(struct orr_session *session, const enum orr_action *actions, uint32_t count);
/* The order KAI has by default: allocate, consolidation, reclaim, preempt, stale gang eviction. */
void orr_kai_cycle(struct orr_session *session);

#endif
