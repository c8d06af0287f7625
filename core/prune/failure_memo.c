/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "failed-before": a search that found nothing is not made again while all that it would
 * read is as it was. All of it is hashed into one number, from fingerprints and generations that
 * are kept up to date, so that hardly anything is listed for it.
 *
 * That is what all searches read (fingerprint.c), who waits, as far as it counts
 * (waiting_fingerprint.c), what nodes hold and have free, active tasks and their nodes in queues
 * that may lose some, all tasks of jobs that are active in part, and whom time alone protects.
 * Other active tasks are read by what nodes and queues hold of them alone.
 */
#include "flat_int.h"

/* Of the queue's active jobs, those that have other tasks too, task by task, and those that time
 * protects now: an elastic one is a candidate either way, but keeps its minimum. */
static void hash_jobs(uint64_t *hash, const struct orr_victim_search *search, uint32_t queue,
                      bool timed)
{
    const struct orr_session *session = search->session;
    const struct orr_squeue *of = &session->queues[queue];
    for (uint32_t i = 0; i < of->active_count; i++) {
        const uint32_t index = of->active[i];
        const struct orr_sjob *job = &session->jobs[index];
        if (job->active != job->task_count) {
            orr_victim__fingerprint_job(hash, session, index);
        }
        if (timed && orr_victim__is_protected(session, search->action, search->job, index)) {
            orr_fingerprint_word(hash, job->serial);
        }
    }
}

static uint64_t hash_world(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_victim_index *all = orr_victim_index_now(session);
    const bool timed = orr_victim_index_timed(session);
    uint64_t hash = orr_victim__search_fingerprint(search);
    orr_fingerprint_word(&hash, !orr_flat__is_flat(search) ? all->content_fingerprint
                                                           : all->gpu_content_fingerprint);
    for (uint32_t i = 0; i < search->queue_count; i++) {
        orr_fingerprint_word(&hash,
                             session->queues[search->queues[i]].fingerprint + search->queues[i]);
    }
    const bool listed = timed || !orr_flat__is_flat(search); /* flat: all of whoever is active is */
    for (uint32_t q = 0; listed && q < session->queue_count; q++) {
        hash_jobs(&hash, search, q, timed);
    }
    return hash;
}

enum orr_outcome orr_victim__failed_before(struct orr_victim_search *search)
{
    search->refuter.world = hash_world(search);
    const unsigned outcome =
        orr_answers_find(&search->session->victim_index->failures, search->refuter.world);
    return outcome == ORR_OUTCOME_NOT_TRIED ? ORR_OUTCOME_SOLVED : (enum orr_outcome)outcome;
}

void orr_victim__note_failure(struct orr_victim_search *search)
{
    const struct orr_refuter *refuter = &search->refuter;
    if (refuter->world != 0 &&
        (!orr_flat__is_flat(search) ||
         refuter->scenarios == search->session->scenarios_of[search->action])) {
        orr_answers_note(&search->session->victim_index->failures, refuter->world, search->outcome);
    }
}
