/* SPDX-License-Identifier: GPL-3.0-or-later */
/* victim.h - whom to move or evict so that a job fits: KAI's search, common to three actions.
 *
 * A search grows a set of victims in the order of unfairness, evicts them in thought, and replays
 * the allocation of everybody concerned in fair order. It succeeds when the job got its place and
 * the action's own rules accept what happened to the victims.
 */
#ifndef ORR_CORE_VICTIM_H
#define ORR_CORE_VICTIM_H

#include <orrery/core/attempt.h>
#include <orrery/core/reason.h>

ORR_API_BEGIN

enum orr_search_result {
    ORR_SEARCH_FAILED,
    ORR_SEARCH_SOLVED,   /* the statement holds the solution: commit it */
    ORR_SEARCH_SPENT,    /* the budget of the action or the job is used up: the action is over */
    ORR_SEARCH_ABANDONED /* v0.17: failed at the last check; what it supposed stays for the cycle */
};

/* action: CONSOLIDATION, RECLAIM or PREEMPT. Unless solved the statement is empty afterwards. */
enum orr_search_result orr_victim_search(struct orr_session *session, enum orr_action action,
                                         uint32_t job);

/* How such a search for any waiting job of a class and queue, one of which is given, would end, as
 * far as this is known without making it: NO_CANDIDATES, FILTERED, NOT_PLACED, or NOT_TRIED where
 * it has to be made. `first`: what their first tasks ask; `demand`: of the tasks they must get,
 * memory by the smallest device. The session has a backlog. */
enum orr_outcome orr_victim_refute_class(struct orr_session *session, enum orr_action action,
                                         uint32_t job, const struct orr_ask *first,
                                         const struct orr_demand *demand);

/* Frees what searches keep in the session from one to the next; it has a backlog. */
void orr_victim_forget(struct orr_session *session);

/* KAI reclaim's gate: with the request the queue stays within its fair share, and with that of a
 * non-preemptible job within its quota. */
bool orr_reclaim_allowed(const struct orr_session *session, uint32_t job);
/* The same for what the job asks, memory by the smallest device. */
bool orr_reclaim_allows(const struct orr_session *session, uint32_t job,
                        const struct orr_demand *demand);
/* KAI consolidation's gate: enough is idle or being released in total. */
bool orr_consolidation_possible(const struct orr_session *session, uint32_t job);
/* KAI preempt's gate: a non-preemptible job must fit its quota. */
bool orr_preempt_allowed(const struct orr_session *session, uint32_t job);

ORR_API_END

#endif
