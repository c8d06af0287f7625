/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "served-first" in flat worlds: what refutes whole searches, or a generator's part.
 *
 *   any      without all possible victims no node would have room for a task
 *   reclaim  whoever is a victim is served before the preemptor, and leaves it nothing
 *   reclaim, NodeLocalGreedy  the same of each node with the gangs that have a task there: also
 *            where nothing is free anywhere and no gang is there, as all find room on the node
 *            again, in whatever order
 */
#include "flat_int.h"

/* --- who goes first --- */

void orr_flat__sum_up(struct orr_contender_row *row)
{
    row->odd = false;
    row->sizes = 0;
    for (uint32_t s = 0; s < row->count; s++) {
        const struct orr_contender *contender = &row->contenders[s];
        row->odd |= contender->odd;
        row->sizes |= orr_flat__sizes(contender);
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const int64_t amount = contender->demand.v[kind];
            const bool less = s == 0 || amount < row->least.v[kind];
            row->least.v[kind] = less ? amount : row->least.v[kind];
        }
    }
}

static void find_rank(const struct orr_session *session, uint32_t queue, const int64_t *held,
                      const struct orr_demand *job, struct orr_queue_rank *rank)
{
    const struct orr_queue_claim claim = {.queue = queue, .allocated = held, .job = job};
    orr_queue_rank_of(session, &claim, rank);
}

/* Whichever of the row's jobs are victims: all are served before the preemptor. Each victim that
 * is next in line stands, with what it asks, no worse than the queue stands now; a waiting job
 * before it finds at least one victim not yet placed again. */
static bool all_served_first(struct orr_victim_search *search, const struct orr_contender_row *row,
                             const struct orr_leaf *leaf, const struct orr_queue_rank *preemptor)
{
    const struct orr_session *session = search->session;
    const int64_t *held = session->queues[leaf->queue].allocated;
    int64_t less[ORR_SHARE_KINDS];
    struct orr_demand waiting = {0};
    struct orr_queue_rank now, then;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        less[kind] = held[kind] - row->least.v[kind];
    }
    find_rank(session, leaf->queue, held, NULL, &now);
    if (leaf->limited /* a victim might not come back */ ||
        orr_queue_compare_amounts(&now, preemptor) >= 0) {
        return false;
    }
    orr_flat__find_waiting(search, &row->contenders[row->count - 1], 1, &waiting);
    find_rank(session, leaf->queue, less, &waiting, &then);
    return orr_queue_compare_amounts(&then, preemptor) < 0;
}

/* If all victims come back, there is as little room as before, which is less than the preemptor
 * needs. If a single task does not, no node has the room it asked, from then on. So the preemptor
 * gets nothing
 * - if no victim is larger than its tasks, and none is a gang;
 * - if all victims ask the same: whatever is where, their places are as many as they are. Where no
 * node had room for one of them, each has what it had, so that it need be less on each node alone;
 * - if there are two sizes, the smaller divides the larger, and the larger fills a node: small
 * tasks go to nodes already begun before they begin another, and begin one only if all others are
 * full, so that what is left over then is enough for the large ones. */
bool orr_flat__leave_nothing(const struct orr_flat *f, uint32_t sizes)
{
    const bool little = f->index->whole_in_all < (int64_t)f->own->gpus;
    const uint32_t set = sizes & ~ORR_SIZES_GANGS;
    if (set == 0) {
        return little;
    }
    const uint32_t small = (uint32_t)__builtin_ctz(set);
    const uint32_t large = 31 - (uint32_t)__builtin_clz(set);
    const uint32_t least = small < f->own->gpus ? small : f->own->gpus;
    const bool two = set == (1u << small | 1u << large);
    if (small == large) {
        return little || f->index->by_whole.some >> least == 0;
    }
    return little && ((set == sizes && large <= f->own->gpus) ||
                      (two && large % small == 0 && (int32_t)large >= f->index->largest_node &&
                       f->index->most_idle < (int32_t)small));
}

/* The preemptor stands no better than by what it asks, nor than one that waits before it does by
 * its GPUs alone. */
static void rank_preemptor(struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    const struct orr_session *session = search->session;
    const uint32_t queue = session->jobs[search->job].queue;
    const int64_t *held = session->queues[queue].allocated;
    struct orr_demand waiting = {0};
    struct orr_queue_rank before;
    orr_flat__find_waiting(search, f->own, 1, &waiting);
    waiting =
        (struct orr_demand){.v[ORR_SHARE_GPU] = waiting.v[ORR_SHARE_GPU], .gpus = waiting.gpus};
    find_rank(session, queue, held, &waiting, &before);
    find_rank(session, queue, held, &f->own->demand, &f->preemptor_rank);
    if (orr_queue_compare_amounts(&f->preemptor_rank, &before) < 0) {
        f->preemptor_rank = before;
    }
}

void orr_flat__compare_leaves(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_flat *f = search->refuter.flat;
    const bool may = search->action == ORR_ACTION_RECLAIM && session->rules.proportion;
    if (f->compared) {
        return;
    }
    f->compared = true;
    rank_preemptor(search);
    f->all_first = may;
    for (uint32_t r = 0; r < f->row_count && may; r++) { /* of the leaf after the preemptor's */
        struct orr_leaf *leaf = &f->leaves[r + 1];
        leaf->served_first = all_served_first(search, f->rows[r], leaf, &f->preemptor_rank);
        f->all_first = f->all_first && leaf->served_first;
    }
}

enum orr_outcome orr_flat__search_outcome(struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    const uint32_t enough = f->own->gpus;
    const bool found = enough <= ORR_COUNTED_GPUS && f->index->by_whole.some >> enough != 0;
    if (!found && !orr_victim__passes_with_all(search->session, f->rows, f->row_count,
                                               enough * (int64_t)ORR_MGPU)) {
        return ORR_OUTCOME_FILTERED;
    }
    orr_flat__compare_leaves(search);
    return f->all_first && orr_flat__leave_nothing(f, f->sizes) ? ORR_OUTCOME_NOT_PLACED
                                                                : ORR_OUTCOME_SOLVED;
}

bool orr_flat__single_nodes_fail(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_flat *f = search->refuter.flat;
    const bool full = f->index->whole_in_all == 0 && f->index->most_idle == 0;
    orr_flat__compare_leaves(search);
    if (!f->all_first) {
        return false;
    }
    uint32_t *on_node = orr_arena_alloc(f->arena, session->node_count, sizeof *on_node);
    for (uint32_t r = 0; r < f->row_count; r++) {
        for (uint32_t s = 0; s < f->rows[r]->count; s++) {
            const struct orr_contender *contender = &f->rows[r]->contenders[s];
            for (uint32_t t = 0; t < contender->tasks; t++) {
                on_node[orr_flat__node(session, contender, t)] |= orr_flat__sizes(contender);
            }
        }
    }
    bool fail = true;
    for (uint32_t n = 0; n < session->node_count && fail; n++) {
        fail = on_node[n] == 0 || (full && (on_node[n] & ORR_SIZES_GANGS) == 0) ||
               orr_flat__leave_nothing(f, on_node[n]);
    }
    return fail;
}
