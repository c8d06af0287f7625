/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "failed-before": a search that found nothing is not made again while all that it would
 * read is as it was. All of it is hashed into one number, from fingerprints and generations that
 * are kept up to date, so that hardly anything is listed for it.
 *
 * In a flat world (flat.c) that is the preemptor, who may lose something and where that runs,
 * the room of the nodes, what the queues concerned hold and may hold, and who waits in them before
 * the contenders. Jobs that come to wait at the end of a lane change nothing: they are served after
 * everybody concerned.
 *
 * In any other world it is all that a simulation can read: the preemptor; how every queue stands;
 * who waits, as far as it counts (waiting_fingerprint.c); what nodes hold and have free, shared
 * devices one by one, by their order and not by their ids (fingerprint.c); of every queue its
 * active tasks and their nodes; tasks of jobs that are active in part; candidates, where time alone
 * may make or protect one. Rules, names, ages, asks, filters and the topology are the session's and
 * do not change.
 */
#include "flat_int.h"

/* --- flat worlds --- */

/* Who waits in the queue and is served before the contender; the preemptor itself waits like
 * others. */
static void hash_waiting_before(uint64_t *hash, const struct orr_victim_search *search,
                                uint32_t queue, const struct orr_contender *contender)
{
    const struct orr_session *session = search->session;
    const struct orr_backlog *backlog = session->backlog;
    const struct orr_flat *f = search->refuter.flat;
    const struct orr_backlog_leaf *leaf = &backlog->leaves[queue];
    for (uint32_t i = 0; i < leaf->count; i++) {
        const uint32_t index = leaf->lanes[i];
        const uint32_t count = orr_flat__count_before(session, index, contender, 0);
        if (count > 0) {
            orr_fingerprint_word(hash, backlog->lanes[index].generation);
            orr_fingerprint_word(hash, count);
        }
    }
    for (uint32_t i = 0; i < f->absent_count; i++) {
        const uint32_t lane = backlog->lane_of_job[f->absent[i]];
        if (lane != ORR_NONE && backlog->lanes[lane].queue == queue &&
            f->absent[i] != search->job) {
            orr_fingerprint_word(hash, session->jobs[f->absent[i]].serial);
        }
    }
}

/* The queue's possible victims, and the waiting jobs that are served before the last of them. Jobs
 * placed since the backlog was brought up to date are in the index's fingerprint. */
static void hash_flat_queue(uint64_t *hash, const struct orr_victim_search *search, uint32_t queue)
{
    struct orr_session *session = search->session;
    const struct orr_queue_index *in = orr_victim_index_in(session, queue);
    orr_fingerprint_word(hash, in->fingerprint + queue);
    orr_fingerprint_word(hash, orr_fingerprint__queue(session, queue));
    if (in->row.count > 0) {
        const struct orr_contender *last = &in->row.contenders[in->row.count - 1];
        hash_waiting_before(hash, search, queue, last);
    }
}

/* Those that are not protected now. */
static void hash_candidates(uint64_t *hash, const struct orr_session *session,
                            const struct orr_flat *f)
{
    for (uint32_t r = 0; r < f->row_count; r++) {
        for (uint32_t c = 0; c < f->rows[r]->count; c++) {
            orr_fingerprint_word(hash, session->jobs[f->rows[r]->contenders[c].job].serial);
        }
    }
}

static uint64_t hash_flat_world(const struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_flat *f = search->refuter.flat;
    const uint32_t own = session->jobs[search->job].queue;
    uint64_t hash = (uint64_t)search->action;
    orr_victim__fingerprint_job(&hash, session, search->job);
    orr_fingerprint_word(&hash, session->victim_index->gpu_content_fingerprint);
    orr_fingerprint__totals(&hash, session);
    orr_fingerprint_word(&hash, orr_fingerprint__queue(session, own));
    hash_waiting_before(&hash, search, own, f->own);
    for (uint32_t i = 0; i < search->queue_count; i++) {
        hash_flat_queue(&hash, search, search->queues[i]);
    }
    if (orr_victim_index_timed(session)) {
        hash_candidates(&hash, session, f);
    }
    uint32_t above = session->shares[own].parent; /* the others are its siblings */
    for (; above != ORR_NONE; above = session->shares[above].parent) {
        orr_fingerprint_word(&hash, orr_fingerprint__queue(session, above));
    }
    return hash;
}

/* --- any world --- */

/* The queue's active jobs. Its fingerprint has active tasks alone: jobs with others are hashed task
 * by task. */
static void hash_active(uint64_t *hash, const struct orr_session *session, uint32_t queue)
{
    const struct orr_squeue *of = &session->queues[queue];
    orr_fingerprint_word(hash, of->fingerprint);
    for (uint32_t i = 0; i < of->active_count; i++) {
        if (session->jobs[of->active[i]].active != session->jobs[of->active[i]].task_count) {
            orr_victim__fingerprint_job(hash, session, of->active[i]);
        }
    }
}

/* 0: it is not known (no backlog, jobs that are not ready, changes left uncommitted, NUMA). */
static uint64_t hash_any_world(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    if (session->backlog == NULL || session->backlog->unready_count > 0 || session->abandoned ||
        session->numa != NULL) {
        return 0;
    }
    const struct orr_victim_index *all = orr_victim_index_now(session);
    uint64_t hash = orr_victim__search_fingerprint(search);
    orr_fingerprint_word(&hash, all->content_fingerprint);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        hash_active(&hash, session, q);
    }
    for (uint32_t c = 0; orr_victim_index_timed(session) && c < search->candidate_count; c++) {
        /* An elastic job is a candidate either way, but keeps its minimum while it is protected. */
        const uint32_t job = search->candidates[c].job;
        orr_fingerprint_word(&hash, session->jobs[job].serial);
        orr_fingerprint_word(&hash,
                             orr_victim__is_protected(session, search->action, search->job, job));
    }
    return hash;
}

enum orr_outcome orr_victim__failed_before(struct orr_victim_search *search)
{
    struct orr_refuter *refuter = &search->refuter;
    refuter->world = refuter->flat != NULL ? hash_flat_world(search) : hash_any_world(search);
    const unsigned known =
        refuter->world == 0
            ? 0
            : orr_answers_find(&search->session->victim_index->failures, refuter->world);
    return known == 0 ? ORR_OUTCOME_SOLVED : (enum orr_outcome)(known - 1);
}

void orr_victim__note_failure(struct orr_victim_search *search)
{
    const struct orr_refuter *refuter = &search->refuter;
    if (refuter->world != 0 &&
        (refuter->flat == NULL ||
         refuter->scenarios == search->session->scenarios_of[search->action])) {
        orr_answers_note(&search->session->victim_index->failures, refuter->world,
                         search->outcome + 1u);
    }
}
