/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far dry runs and simulations look at the jobs that wait in a queue.
 *
 * Claim: what comes of popping an order depends, of the jobs that wait in a queue, on those alone
 * that the order has looked at, and on nobody waiting behind them if these are all. Proof: a leaf
 * shows the heaps its next job alone, reads its jobs one after the other, the best first, and never
 * goes back. Somebody who comes to wait behind the one it shows when popping ends is not read.
 *
 * So of each queue the furthest job is kept that any order has looked at since, and fingerprints of
 * failed searches (failure_memo.c) have the jobs up to there. They have the place itself, too: what
 * an order that went less far has found holds for one that goes further, but not the other way
 * round. Jobs that came in the same second as the furthest one are taken in: names are not looked
 * at. Where all were looked at any change counts, and the first one ends that.
 */
#include "flat_int.h"

/* Positive: the first is served later, by all but its name. */
static int compare(const struct orr_session *session, const struct orr_reach *a,
                   const struct orr_reach *b)
{
    if (session->rules.priority && a->priority != b->priority) {
        return a->priority < b->priority ? 1 : -1;
    }
    if (session->rules.elastic && a->elastic_state != b->elastic_state) {
        return a->elastic_state < b->elastic_state ? -1 : 1;
    }
    return (a->created_s > b->created_s) - (a->created_s < b->created_s);
}

void orr_reach__note_entry(const struct orr_session *session, uint32_t queue,
                           const struct orr_order_entry *last)
{
    struct orr_reach to = {.any = true, .all = last == NULL};
    if (to.all) {
        to.generation = session->backlog->leaves[queue].generation;
    } else {
        to.priority = session->jobs[last->view.job].priority;
        to.elastic_state = last->elastic_state;
        to.created_s = session->jobs[last->view.job].created_s;
    }
    struct orr_reach *reach = &session->victim_index->queues[queue].reach;
    if (!reach->all && (!reach->any || to.all || compare(session, &to, reach) > 0)) {
        *reach = to;
    }
}

void orr_reach__note(const struct orr_session *session, const struct orr_order *order)
{
    for (uint32_t q = 0; q < session->backlog->queue_count; q++) {
        orr_reach__note_entry(session, q, orr_order_last_read(order, q));
    }
}

static uint32_t count_up_to(const struct orr_session *session, const struct orr_lane *lane,
                            const struct orr_reach *reach)
{
    const struct orr_lane_item *items = lane->items + lane->first;
    struct orr_reach one = {.priority = lane->priority,
                            .elastic_state =
                                session->backlog->classes[lane->of_class].elastic_state};
    uint32_t low = 0;
    for (uint32_t high = lane->end - lane->first; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        one.created_s = items[middle].created_s;
        if (compare(session, &one, reach) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void orr_reach__fingerprint(uint64_t *sum, const struct orr_session *session, uint32_t queue)
{
    const struct orr_backlog *backlog = session->backlog;
    if (queue >= backlog->queue_count) {
        return;
    }
    const struct orr_backlog_leaf *leaf = &backlog->leaves[queue];
    struct orr_reach *reach = &session->victim_index->queues[queue].reach;
    if (reach->all && reach->generation != leaf->generation) {
        *reach = (struct orr_reach){0};
    }
    orr_fingerprint_word(sum, (uint64_t)reach->any << 1 | reach->all);
    if (reach->all) {
        orr_fingerprint_word(sum, leaf->generation);
    } else if (reach->any) {
        orr_fingerprint_word(sum, (uint64_t)(uint32_t)reach->priority << 32 |
                                      (uint32_t)reach->elastic_state);
        orr_fingerprint_word(sum, (uint64_t)reach->created_s);
        for (uint32_t i = 0; i < leaf->count; i++) {
            const struct orr_lane *lane = &backlog->lanes[leaf->lanes[i]];
            const uint32_t count = count_up_to(session, lane, reach);
            if (count > 0) {
                orr_fingerprint_word(sum, lane->generation);
                orr_fingerprint_word(sum, count);
            }
        }
    }
}
