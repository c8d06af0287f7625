/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "limit", consolidation and reclaim: the preemptor's queue, or one above it, would pass its
 * limit whoever is a victim.
 *
 * Let q be such a queue: what it holds now and what the preemptor asks in all exceed a limit that
 * the preemptor is asked about (KAI's JobOverCapacity). A search succeeds only with a scenario for
 * all of the preemptor's tasks. A job of several pod sets may be placed in part by a scenario;
 * nothing is claimed of such a job.
 *
 * - Consolidation: all victims and the preemptor must be placed in the end. Of those below q that
 *   ask the resource, the preemptor among them, one is served last, and then q holds all it held
 *   before, without that one's demand: with it the limit is passed, and it gets no place. Jobs
 *   that ask GPU memory are charged for what it is on their node, which may be more than what the
 *   limit is asked about; where there are any, nothing is refuted for GPUs.
 * - Reclaim, if no possible victim is below q: it holds the same when the preemptor is served.
 *
 * Queues below the preemptor's, topology and room play no part. How far the search would get is
 * asked of everything that candidates hold (gang.c): if it passes KAI's filters with all tasks,
 * some scenario is tried and finds no place; if not even with one task, none is tried.
 */
#include "prune_int.h"

#include <orrery/core/defects.h>

static bool any_asks_memory(const struct orr_session *session)
{
    bool any = false;
    for (uint32_t a = 0; a < session->ask_count && !any; a++) {
        any = session->asks[a].kind == ORR_ASK_MEMORY;
    }
    return any;
}

/* Some possible victim may be in the queue or below it. */
static bool bears_victims(const struct orr_victim_search *search, uint32_t queue)
{
    for (uint32_t i = 0; i < search->queue_count; i++) {
        uint32_t q = search->queues[i];
        while (q != ORR_NONE && q != queue) {
            q = search->session->shares[q].parent;
        }
        if (q == queue) {
            return true;
        }
    }
    return false;
}

static bool holds_for_all(const struct orr_victim_search *search, uint32_t queue, unsigned kind)
{
    if (search->action == ORR_ACTION_CONSOLIDATION) {
        return kind != ORR_SHARE_GPU || !any_asks_memory(search->session);
    }
    return search->action == ORR_ACTION_RECLAIM && !bears_victims(search, queue);
}

bool orr_victim__over_limit(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_demand demand =
        orr_session_demand(session, &search->tasks, session->max_gpu_memory_mib);
    uint32_t q = session->rules.proportion ? session->jobs[search->job].queue : ORR_NONE;
    for (; q != ORR_NONE; q = session->shares[q].parent) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const double limit = session->shares[q].resource[kind].limit;
            if (limit != ORR_UNLIMITED && orr_demand_asks(&demand, kind) &&
                limit < orr_queue_allocated_with(session, q, &demand, kind) &&
                holds_for_all(search, q, kind)) {
                return true;
            }
        }
    }
    return false;
}
