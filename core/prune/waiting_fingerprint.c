/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who waits, and a fingerprint of it: as much as an order of victims and the preemptor depends on.
 *
 * Claim: what comes of popping the jobs that wait, some candidates and the preemptor is the same
 * where this number, the candidates that are popped and how queues stand are the same. Proof: a job
 * that merely waits changes nothing when it is popped. Let u be popped from a queue: with u the
 * queue was the best of its siblings. A rank never gets worse with a smaller demand, so that the
 * queue stays the best with jobs that ask no more, as long as nothing else is popped from its
 * parent. The parent may have been popped from for the rank that another child gave it, which it
 * was popped from before (joborder.h). From now on it is ranked by this child: with the next job
 * that asks no more than u, it is popped from again once it is the best of its own siblings, or
 * because of the queue above it; and so on, level by level. So for each level the demand is known
 * with which the queue of that level was the best of its siblings last. A job that asks no more
 * than any of these is popped next: it may as well be absent, and is not listed. Any other job
 * makes the lowest queue the best for which it asks more; of those above it nothing is known then.
 *
 * Where in a queue a row ends is known by the candidate behind it. A candidate whose gang is all of
 * it has one place in the order of jobs; others have one for each state of their gang, as they may
 * lose more or less, and so has the preemptor, as it is tried with more or fewer tasks. A job that
 * waits in part is not in the list where it is a victim: nobody is left out behind it.
 */
#include "flat_int.h"

static bool has_one_place(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    return job->set_count == 2 && session->sets[job->first_set + 1].is_pods &&
           session->sets[job->first_set + 1].min == (int32_t)job->task_count;
}

/* The places of the preemptor and of the candidates, in the order of building. */
static void list_marks(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_order_entry *marks =
        orr_arena_take(&search->memory, 3 * ((size_t)search->candidate_count + 1), sizeof *marks);
    const struct orr_flat *flat = orr_flat__is_flat(search) ? search->refuter.flat : NULL;
    uint32_t count = 0;
    for (uint32_t c = 0; c <= search->candidate_count; c++) {
        const uint32_t job = flat != NULL                   ? flat->contenders[c].job
                             : c == search->candidate_count ? search->job
                                                            : search->candidates[c].job;
        const bool own = job == search->job;
        const int last = !own && (flat != NULL || has_one_place(session, job)) ? -1 : 1;
        for (int state = -1; state <= last; state++) {
            marks[count++] =
                (struct orr_order_entry){.view = orr_jobview_whole(job), .elastic_state = state};
        }
    }
    if (flat == NULL || search->action != ORR_ACTION_RECLAIM) { /* else they are in order */
        orr_order_sort(&search->session->victim_index->order, marks, count);
    }
    search->refuter.marks = marks;
    search->refuter.mark_count = count;
}

struct row { /* of jobs that wait in a queue, without a mark between them */
    uint32_t queue, levels;
    bool unmarked; /* something was hashed, and the mark behind it is to follow */
    /* By level, from the queue up, as far as it is known: with what it was the best last. */
    const struct orr_demand **best_with;
    uint32_t known;
};

static void hash_mark(uint64_t *fingerprint, const struct orr_victim_search *search,
                      struct row *row, const struct orr_order_entry *mark)
{
    const bool own = mark->view.job == search->job;
    if (own || row->unmarked) {
        orr_fingerprint_word(fingerprint, search->session->jobs[mark->view.job].serial << 2 |
                                              (uint64_t)(mark->elastic_state + 1));
    }
    row->unmarked = own;
    row->known = 0;
}

/* False: it may as well be absent. */
static bool hash_waiting(uint64_t *fingerprint, const struct orr_session *session, struct row *row,
                         const struct orr_order_entry *waiting)
{
    const struct orr_sjob *job = &session->jobs[waiting->view.job];
    const bool in_part = job->active > 0;
    uint32_t level = 0;
    while (!in_part && level < row->known &&
           orr_demand_at_most(&waiting->demand, row->best_with[level])) {
        level++;
    }
    if (level == row->levels) {
        return false;
    }
    if (in_part) {
        orr_fingerprint_word(fingerprint, job->serial);
    }
    orr_fingerprint__demand(fingerprint, &waiting->demand);
    row->best_with[level] = &waiting->demand;
    row->known = in_part ? 0 : level + 1;
    row->unmarked = true;
    return true;
}

uint64_t orr_victim__waiting_fingerprint(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    orr_victim__list_waiting(search);
    list_marks(search);
    const struct orr_order_entry *marks = search->refuter.marks;
    const uint32_t mark_count = search->refuter.mark_count;
    struct row row = {
        .queue = ORR_NONE,
        .best_with = orr_arena_take(&search->memory, session->queue_count, sizeof *row.best_with)};
    uint64_t fingerprint = 0;
    struct orr_order_entry *kept =
        orr_arena_take(&search->memory, search->waiting_count + (size_t)1, sizeof *kept);
    search->refuter.waiting = kept;
    search->refuter.waiting_count = 0;
    for (uint32_t w = 0, m = 0; w < search->waiting_count || m < mark_count;) {
        const bool marked = w == search->waiting_count ||
                            (m < mark_count &&
                             orr_order_compare_built(session, &marks[m], &search->waiting[w]) < 0);
        const struct orr_order_entry *next = marked ? &marks[m++] : &search->waiting[w++];
        const uint32_t queue = session->jobs[next->view.job].queue;
        if (queue != row.queue) {
            row = (struct row){.queue = queue,
                               .levels = session->tree.level[queue] + 1,
                               .best_with = row.best_with};
            orr_fingerprint_word(&fingerprint, queue);
        }
        if (marked) {
            hash_mark(&fingerprint, search, &row, next);
        } else if (hash_waiting(&fingerprint, session, &row, next)) {
            kept[search->refuter.waiting_count++] = *next;
        }
    }
    return fingerprint;
}

/* --- flat worlds --- */

/* Who waits in the queue and is served before the contender; the preemptor itself waits like
 * others, and jobs that were placed since the backlog was brought up to date do not. */
static void hash_waiting_before(uint64_t *fingerprint, const struct orr_session *session,
                                uint32_t queue, const struct orr_contender *contender)
{
    const struct orr_backlog_leaf *leaf = &session->backlog->leaves[queue];
    orr_fingerprint_word(fingerprint, queue);
    for (uint32_t i = 0; i < leaf->count; i++) {
        const uint32_t index = leaf->lanes[i];
        const uint32_t count = orr_flat__count_before(session, index, contender, 0);
        if (count > 0) {
            orr_fingerprint_word(fingerprint, session->backlog->lanes[index].generation);
            orr_fingerprint_word(fingerprint, count);
        }
    }
    for (uint32_t i = 0; i < session->changed_count; i++) {
        const struct orr_sjob *job = &session->jobs[session->changed_jobs[i]];
        if (job->queue == queue && job->pending == 0 &&
            orr_flat__lane(session, session->changed_jobs[i]) != ORR_NONE) {
            orr_fingerprint_word(fingerprint, job->serial);
        }
    }
}

/* Jobs that come to wait at the end of a lane change nothing: they are served after everybody
 * concerned. */
uint64_t orr_flat__waiting_fingerprint(const struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    uint64_t fingerprint = 0;
    hash_waiting_before(&fingerprint, session, session->jobs[search->job].queue,
                        search->refuter.flat->own);
    for (uint32_t i = 0; i < search->queue_count; i++) {
        const uint32_t queue = search->queues[i];
        const struct orr_contender_row *row = &orr_victim_index_in(session, queue)->row;
        if (row->count > 0) {
            hash_waiting_before(&fingerprint, session, queue, &row->contenders[row->count - 1]);
        }
    }
    return fingerprint;
}
