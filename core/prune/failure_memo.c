/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "failed-before": a search that found nothing is not made again while all that it would
 * look at is as it was. All of it goes into one number, made of fingerprints and generations that
 * are kept up to date: next to nothing is listed for it.
 *
 * In a flat world (flat.c) that is the preemptor, who may lose something and where that runs,
 * the room of the nodes, what the queues concerned hold and may hold, and who waits in them before
 * the contenders. Jobs that come to wait at the end of a lane change nothing: they are served after
 * everybody concerned.
 *
 * In any other world it is all that a simulation can read: what nodes hold and have free, shared
 * devices one by one; of every queue how it stands, its active tasks and their nodes, who waits in
 * it, as far as any order has looked (reach.c); tasks of the preemptor, of jobs that are active in
 * part and of those that changed since the backlog was brought up to date; candidates, where time
 * alone may make or protect one. Rules, names, ages, asks, filters and the topology are the
 * session's and do not change.
 */
#include "flat_int.h"

void orr_victim__fingerprint_job(uint64_t *fingerprint, const struct orr_session *session,
                                 uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    orr_fingerprint_word(fingerprint, job->serial);
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_place *place = &session->tasks[t].live;
        orr_fingerprint_word(fingerprint, (uint64_t)place->status << 32 | place->node);
    }
}

static void take_totals(uint64_t *sum, const struct orr_session *session)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_fingerprint_number(sum, session->total[kind]);
    }
}

/* Those above the leaves have no limits, and are the same for all contenders: quota alone matters.
 */
static void take_queue_above(uint64_t *sum, const struct orr_session *session, uint32_t queue)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_fingerprint_word(sum, (uint64_t)session->queues[queue].nonpreemptible[kind]);
        orr_fingerprint_number(sum, session->shares[queue].resource[kind].deserved);
    }
}

/* Who waits in the queue and is served before the contender; the preemptor itself waits like
 * others. */
static void take_waiting(uint64_t *sum, const struct orr_victim_search *search, uint32_t queue,
                         struct orr_contender_key contender)
{
    const struct orr_session *session = search->session;
    const struct orr_backlog *backlog = session->backlog;
    const struct orr_flat *f = search->refuter.flat;
    const struct orr_backlog_leaf *leaf = &backlog->leaves[queue];
    for (uint32_t i = 0; i < leaf->count; i++) {
        const uint32_t index = leaf->lanes[i];
        const uint32_t count = orr_flat__count_before(session, index, contender, 0);
        if (count > 0) {
            orr_fingerprint_word(sum, backlog->lanes[index].generation);
            orr_fingerprint_word(sum, count);
        }
    }
    for (uint32_t i = 0; i < f->absent_count; i++) {
        const uint32_t lane = backlog->lane_of_job[f->absent[i]];
        if (lane != ORR_NONE && backlog->lanes[lane].queue == queue &&
            f->absent[i] != search->job) {
            orr_fingerprint_word(sum, session->jobs[f->absent[i]].serial);
        }
    }
}

/* Who runs there and may lose something, and who waits before these. Jobs that got their place
 * since the backlog was brought up to date are in the fingerprint. */
static void take_queue(uint64_t *sum, const struct orr_victim_search *search, uint32_t queue)
{
    const struct orr_session *session = search->session;
    const uint64_t generation = session->backlog->leaves[queue].generation + 1;
    struct orr_queue_index *in = orr_victim_index_in(search->session, queue);
    if (in->waiting_at != generation) {
        in->waiting = 0;
        in->waiting_at = generation;
        if (in->row.count > 0) {
            const struct orr_contender *last = &in->row.contenders[in->row.count - 1];
            take_waiting(&in->waiting, search, queue,
                         orr_flat__contender_key(search->refuter.flat, last));
        }
    }
    orr_fingerprint_word(sum, in->fingerprint + queue);
    orr_fingerprint_word(sum, in->waiting);
    orr_fingerprint_word(sum, orr_victim_index_generation_of(session, queue));
}

/* Those that are not protected now. */
static void take_candidates(uint64_t *sum, const struct orr_victim_search *search, uint32_t queue)
{
    const struct orr_row *row = &orr_victim_index_in(search->session, queue)->row;
    for (uint32_t s = 0; s < row->count; s++) {
        if (orr_victim__is_candidate(search, row->contenders[s].job)) {
            orr_fingerprint_word(sum, search->session->jobs[row->contenders[s].job].serial);
        }
    }
}

/* Never 0. */
static uint64_t flat_world(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const uint32_t own = session->jobs[search->job].queue;
    const bool timed = orr_victim_index_timed(session);
    uint64_t sum = (uint64_t)search->action;
    orr_victim__fingerprint_job(&sum, session, search->job);
    orr_fingerprint_word(&sum, session->victim_index->nodes_fingerprint);
    take_totals(&sum, session);
    orr_fingerprint_word(&sum, orr_victim_index_generation_of(session, own));
    take_waiting(&sum, search, own,
                 orr_flat__contender_key(search->refuter.flat, search->refuter.flat->contenders));
    for (uint32_t i = 0; i < search->queue_count; i++) {
        take_queue(&sum, search, search->queues[i]);
        if (timed) {
            take_candidates(&sum, search, search->queues[i]);
        }
    }
    uint32_t above = session->shares[own].parent; /* the others are its siblings */
    for (; above != ORR_NONE; above = session->shares[above].parent) {
        take_queue_above(&sum, session, above);
    }
    return sum == 0 ? 1 : sum;
}

/* --- any world --- */

/* Who of the queue runs. A queue's fingerprint has active tasks alone, so jobs with
 * others are taken in task by task. */
static void take_any_queue(uint64_t *sum, const struct orr_session *session, uint32_t queue)
{
    const struct orr_squeue *of = &session->queues[queue];
    orr_fingerprint_word(sum, orr_victim_index_generation_of(session, queue));
    orr_fingerprint_word(sum, of->fingerprint);
    for (uint32_t i = 0; i < of->active_count; i++) {
        if (session->jobs[of->active[i]].active != session->jobs[of->active[i]].task_count) {
            orr_victim__fingerprint_job(sum, session, of->active[i]);
        }
    }
}

/* Never 0, unless it is not known. */
static uint64_t any_world(const struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    if (session->backlog == NULL || session->backlog->unready_count > 0 || session->abandoned ||
        session->numa != NULL) {
        return 0;
    }
    const struct orr_victim_index *all = orr_victim_index_now(session);
    uint64_t sum = (uint64_t)search->action;
    orr_victim__fingerprint_job(&sum, session, search->job);
    orr_fingerprint_word(&sum, all->content_fingerprint);
    take_totals(&sum, session);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        take_any_queue(&sum, session, q);
    }
    for (uint32_t i = 0; i < session->changed_count; i++) { /* since the backlog was */
        orr_victim__fingerprint_job(&sum, session, session->changed_jobs[i]);
    }
    for (uint32_t c = 0; orr_victim_index_timed(session) && c < search->candidate_count; c++) {
        orr_fingerprint_word(&sum, session->jobs[search->candidates[c].job].serial);
    }
    return sum == 0 ? 1 : sum;
}

/* What failures are known by: in any world with those who wait, as far as they were looked at. */
static uint64_t world_of(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    uint64_t sum = search->refuter.world;
    for (uint32_t q = 0; search->refuter.flat == NULL && sum != 0 && q < session->queue_count;
         q++) {
        orr_reach__fingerprint(&sum, session, q);
    }
    return sum;
}

bool orr_victim__failed_before(struct orr_victim_search *search)
{
    const struct orr_failed_search *failed =
        &search->session->jobs[search->job].failed[search->action];
    search->refuter.world = search->refuter.flat != NULL ? flat_world(search) : any_world(search);
    if (search->refuter.world == 0 || failed->world != world_of(search)) {
        return false;
    }
    orr_victim__reached(search, (enum orr_outcome)failed->outcome);
    return true;
}

void orr_victim__note_failure(const struct orr_victim_search *search)
{
    struct orr_sjob *job = &search->session->jobs[search->job];
    if (search->refuter.world != 0 &&
        (search->refuter.flat == NULL || !search->refuter.simulated)) {
        job->failed[search->action] =
            (struct orr_failed_search){.world = world_of(search), .outcome = search->reached};
    }
}
