/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may be a victim: of which queues, which of their jobs, and how many in consolidation. */
#include "victim_int.h"

#include <string.h>

#include <orrery/core/backlog.h>
#include <orrery/core/defects.h>

/* --- leveled queues --- */

struct orr_queue_pair orr_victim__level_queues(const struct orr_session *session,
                                               uint32_t reclaimer, uint32_t victim)
{
    const struct orr_share_queue *shares = session->shares;
    struct orr_queue_pair pair = {reclaimer, victim};
    while (pair.reclaimer != pair.victim &&
           shares[pair.reclaimer].parent != shares[pair.victim].parent) {
        const uint32_t level_r = session->tree.level[pair.reclaimer];
        const uint32_t level_v = session->tree.level[pair.victim];
        pair.reclaimer = level_r >= level_v ? shares[pair.reclaimer].parent : pair.reclaimer;
        pair.victim = level_v >= level_r ? shares[pair.victim].parent : pair.victim;
    }
    return pair;
}

/* --- min-runtime: a job that started recently keeps what its gang needs --- */

/* The nearest of the queue and its ancestors that sets one, else the default. */
static orr_ms walk_up(const struct orr_session *session, uint32_t queue, bool reclaim)
{
    for (; queue != ORR_NONE; queue = session->shares[queue].parent) {
        const orr_ms stated = reclaim ? session->queues[queue].reclaim_min_runtime
                                      : session->queues[queue].preempt_min_runtime;
        if (stated != ORR_MS_NONE) {
            return stated;
        }
    }
    return reclaim ? session->rules.reclaim_min_runtime : session->rules.preempt_min_runtime;
}

bool orr_victim__is_protected(const struct orr_session *session, enum orr_action action,
                              uint32_t preemptor, uint32_t job_index)
{
    const struct orr_sjob *job = &session->jobs[job_index];
    if (!session->rules.min_runtime || job->last_start == ORR_MS_NONE ||
        action == ORR_ACTION_CONSOLIDATION) {
        return false;
    }
    uint32_t queue = job->queue;
    if (action == ORR_ACTION_RECLAIM && session->rules.reclaim_by_lca) { /* just below the LCA */
        queue = orr_victim__level_queues(session, session->jobs[preemptor].queue, queue).victim;
    }
    return session->now < job->last_start + walk_up(session, queue, action == ORR_ACTION_RECLAIM);
}

/* --- filters --- */

/* KAI proportion: a queue that is short of its quota reclaims from those over theirs, or as long as
 * they are not below it; another one only from queues over what they may hold. */
static bool share_allows(const struct orr_victim_search *search, uint32_t victim_queue)
{
    const struct orr_session *session = search->session;
    const struct orr_queue_pair pair =
        orr_victim__level_queues(session, session->jobs[search->job].queue, victim_queue);
    const struct orr_share_resource *share = session->shares[pair.victim].resource;
    bool over_quota = false, below_quota = false, over_share = false;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const double allocated = share[kind].allocated, deserved = share[kind].deserved;
        if (orr_demand_asks(&search->demand, kind)) {
            over_quota |= orr_victim__exceeds(allocated, deserved);
            below_quota |= deserved != ORR_UNLIMITED && allocated < deserved;
        }
        over_share |= orr_victim__exceeds(allocated, orr_share_allocatable(&share[kind]));
    }
    return orr_queue_fits_deserved(session, pair.reclaimer,
                                   session->queues[pair.reclaimer].allocated, &search->demand)
               ? over_quota || !below_quota
               : over_share;
}

bool orr_victim__has_candidates(const struct orr_victim_search *search, uint32_t queue)
{
    const struct orr_session *session = search->session;
    const uint32_t own = session->jobs[search->job].queue;
    if (session->queues[queue].active_count == 0) {
        return false;
    }
    if (search->action == ORR_ACTION_CONSOLIDATION) {
        return true;
    }
    if (search->action == ORR_ACTION_PREEMPT) {
        return queue == own;
    }
    return queue != own && (!session->rules.proportion || share_allows(search, queue));
}

/* Of an active job in such a queue. */
bool orr_victim__is_candidate(const struct orr_victim_search *search, uint32_t index)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[index];
    if (index == search->job || !job->preemptible ||
        (session->v017 != NULL && orr_v017_active(session, index) == 0)) {
        return false;
    }
    const struct orr_session_hooks *hooks = session->hooks;
    if (hooks != NULL && hooks->victim_filter != NULL &&
        !hooks->victim_filter(hooks->self, search->action, search->job, index)) {
        return false;
    }
    if (search->action == ORR_ACTION_PREEMPT &&
        job->priority >= session->jobs[search->job].priority) {
        return false;
    }
    return !orr_victim__is_protected(session, search->action, search->job, index) ||
           orr_jobview_elastic(session, orr_jobview_whole(index));
}

/* --- lists --- */

int orr_victim__compare_age(const struct orr_session *session, uint32_t a, uint32_t b)
{
    const struct orr_sjob *l = &session->jobs[a];
    const struct orr_sjob *r = &session->jobs[b];
    if (l->created_s != r->created_s) {
        return l->created_s < r->created_s ? -1 : 1;
    }
    return strcmp(l->name, r->name);
}

void orr_victim__list_queues(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    search->queues = orr_arena_take(&search->memory, session->queue_count, sizeof *search->queues);
    const bool sorted =
        session->backlog != NULL && session->backlog->queue_count == session->queue_count;
    for (uint32_t i = 0; i < session->queue_count; i++) {
        const uint32_t q = sorted ? session->backlog->by_age[i] : i;
        if (orr_victim__has_candidates(search, q)) {
            search->queues[search->queue_count++] = q;
        }
    }
}

/* KAI draws which jobs may be consolidated from a map; here the oldest of them are. */
static void add_candidate(struct orr_victim_search *search, uint32_t *capacity, uint32_t job)
{
    const int64_t most = search->session->rules.max_consolidation_preemptees;
    const bool oldest = search->action == ORR_ACTION_CONSOLIDATION && most >= 0;
    uint32_t at = search->candidate_count;
    search->candidates = ORR_ROOM_FOR_ONE(search->candidates, at, *capacity);
    struct orr_jobview *candidates = search->candidates;
    while (oldest && at > 0 &&
           orr_victim__compare_age(search->session, job, candidates[at - 1].job) < 0) {
        candidates[at] = candidates[at - 1];
        at--;
    }
    candidates[at] = orr_jobview_whole(job);
    search->candidate_count += !oldest || search->candidate_count <= most;
}

void orr_victim__find_candidates(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    uint32_t capacity = 0;
    search->candidate_count = 0;
    for (uint32_t q = 0; q < search->queue_count; q++) {
        const struct orr_squeue *queue = &session->queues[search->queues[q]];
        for (uint32_t i = 0; i < queue->active_count; i++) {
            if (orr_victim__is_candidate(search, queue->active[i])) {
                add_candidate(search, &capacity, queue->active[i]);
            }
        }
    }
}
