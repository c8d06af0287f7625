/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pending.c - workloads that wait: heaps, parking, waking.
 *
 * Workloads that are decided alike (one hash) share a lane, in order of age. Parking all of them is
 * one mark on the lane, and waking a tree is one a lane, however long the backlog.
 */
#include "kueue_int.h"

void orr_kueue__close_queue(struct kueue_queue *queue)
{
    for (uint32_t l = 0; l < queue->lane_count; l++) {
        orr_free(queue->lanes[l].items);
    }
    orr_free(queue->lanes);
    orr_free(queue->slots);
    orr_free(queue->active);
    orr_free(queue->bulk);
    orr_free(queue->parked);
    orr_free(queue->holders);
}

static struct kueue_queue *queue_of(struct orr_kueue *kueue, uint32_t workload)
{
    return &kueue->queues[kueue->workloads[workload].is.queue];
}

static bool by_usage(const struct orr_kueue *kueue, uint32_t queue)
{
    return kueue->spec->config.usage_based && kueue->spec->queues[queue].usage_based;
}

/* --- order --- */

static bool is_sticky(const struct orr_kueue *kueue, uint32_t workload)
{
    const uint32_t queue = kueue->workloads[workload].is.queue;
    return kueue->queues[queue].preemptor == workload && !kueue->spec->queues[queue].strict_fifo;
}

static bool comes_before(const struct orr_kueue *kueue, uint32_t a, uint32_t b)
{
    const struct kueue_workload *x = &kueue->workloads[a], *y = &kueue->workloads[b];
    if (by_usage(kueue, x->is.queue)) {
        const double usage_x = orr_kueue__local_usage(kueue, x->is.local_queue);
        const double usage_y = orr_kueue__local_usage(kueue, y->is.local_queue);
        if (usage_x < usage_y || usage_x > usage_y) {
            return usage_x < usage_y;
        }
    }
    if (is_sticky(kueue, a) != is_sticky(kueue, b)) {
        return is_sticky(kueue, a);
    }
    if (x->is.priority != y->is.priority) {
        return x->is.priority > y->is.priority;
    }
    if (x->order_at != y->order_at) {
        return x->order_at < y->order_at;
    }
    return x->is.rank < y->is.rank;
}

/* --- a lane --- */

static void put_item(struct orr_kueue *kueue, struct kueue_lane *lane, uint32_t at,
                     uint32_t workload)
{
    lane->items[at] = workload;
    kueue->workloads[workload].lane_at = at;
}

static void sift_item_up(struct orr_kueue *kueue, struct kueue_lane *lane, uint32_t at)
{
    const uint32_t workload = lane->items[at];
    while (at > 0 && comes_before(kueue, workload, lane->items[(at - 1) / 2])) {
        put_item(kueue, lane, at, lane->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put_item(kueue, lane, at, workload);
}

static void sift_item_down(struct orr_kueue *kueue, struct kueue_lane *lane, uint32_t at)
{
    const uint32_t workload = lane->items[at];
    for (uint32_t child; (child = 2 * at + 1) < lane->count; at = child) {
        if (child + 1 < lane->count &&
            comes_before(kueue, lane->items[child + 1], lane->items[child])) {
            child++;
        }
        if (!comes_before(kueue, lane->items[child], workload)) {
            break;
        }
        put_item(kueue, lane, at, lane->items[child]);
    }
    put_item(kueue, lane, at, workload);
}

/* --- lanes of a queue --- */

static bool lane_before(const struct orr_kueue *kueue, const struct kueue_queue *queue, uint32_t a,
                        uint32_t b)
{
    return comes_before(kueue, queue->lanes[a].items[0], queue->lanes[b].items[0]);
}

static void put_lane(struct kueue_queue *queue, uint32_t at, uint32_t lane)
{
    queue->active[at] = lane;
    queue->lanes[lane].active_at = at;
}

static void sift_lane_up(const struct orr_kueue *kueue, struct kueue_queue *queue, uint32_t at)
{
    const uint32_t lane = queue->active[at];
    while (at > 0 && lane_before(kueue, queue, lane, queue->active[(at - 1) / 2])) {
        put_lane(queue, at, queue->active[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put_lane(queue, at, lane);
}

static void sift_lane_down(const struct orr_kueue *kueue, struct kueue_queue *queue, uint32_t at)
{
    const uint32_t lane = queue->active[at];
    for (uint32_t child; (child = 2 * at + 1) < queue->active_count; at = child) {
        if (child + 1 < queue->active_count &&
            lane_before(kueue, queue, queue->active[child + 1], queue->active[child])) {
            child++;
        }
        if (!lane_before(kueue, queue, queue->active[child], lane)) {
            break;
        }
        put_lane(queue, at, queue->active[child]);
    }
    put_lane(queue, at, lane);
}

static void deactivate(const struct orr_kueue *kueue, struct kueue_queue *queue, uint32_t lane)
{
    const uint32_t at = queue->lanes[lane].active_at;
    if (at == ORR_NONE) {
        return;
    }
    queue->lanes[lane].active_at = ORR_NONE;
    const uint32_t last = queue->active[--queue->active_count];
    if (last != lane) {
        put_lane(queue, at, last);
        sift_lane_up(kueue, queue, at);
        sift_lane_down(kueue, queue, queue->lanes[last].active_at);
    }
}

/* The lane's first item changed, or it became empty or not so. */
static void settle_lane(const struct orr_kueue *kueue, struct kueue_queue *queue, uint32_t lane)
{
    struct kueue_lane *is = &queue->lanes[lane];
    if (is->count == 0 || is->parked) {
        deactivate(kueue, queue, lane);
        return;
    }
    if (is->active_at == ORR_NONE) {
        queue->active =
            ORR_ROOM_FOR_ONE(queue->active, queue->active_count, queue->active_capacity);
        put_lane(queue, queue->active_count++, lane);
    }
    sift_lane_up(kueue, queue, is->active_at);
    sift_lane_down(kueue, queue, is->active_at);
}

static uint64_t mix(uint64_t hash, uint32_t local_queue)
{
    hash ^= (uint64_t)local_queue * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    return hash * 0xd6e8feb86659fd93u;
}

static void grow_slots(struct kueue_queue *queue)
{
    const uint32_t count = queue->slot_count == 0 ? 16 : 2 * queue->slot_count;
    uint32_t *slots = orr_alloc(count, sizeof *slots);
    for (uint32_t i = 0; i < count; i++) {
        slots[i] = ORR_NONE;
    }
    for (uint32_t l = 0; l < queue->lane_count; l++) {
        uint32_t at =
            (uint32_t)(mix(queue->lanes[l].hash, queue->lanes[l].local_queue) >> 32) & (count - 1);
        while (slots[at] != ORR_NONE) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = l;
    }
    orr_free(queue->slots);
    queue->slots = slots;
    queue->slot_count = count;
}

static uint32_t lane_for(struct orr_kueue *kueue, uint32_t workload)
{
    const struct kueue_workload *is = &kueue->workloads[workload];
    struct kueue_queue *queue = &kueue->queues[is->is.queue];
    const uint32_t local = by_usage(kueue, is->is.queue) ? is->is.local_queue : ORR_NONE;
    if (2 * (queue->lane_count + 1) > queue->slot_count) {
        grow_slots(queue);
    }
    uint32_t at = (uint32_t)(mix(is->is.hash, local) >> 32) & (queue->slot_count - 1);
    for (; queue->slots[at] != ORR_NONE; at = (at + 1) & (queue->slot_count - 1)) {
        const struct kueue_lane *lane = &queue->lanes[queue->slots[at]];
        if (lane->hash == is->is.hash && lane->local_queue == local) {
            return queue->slots[at];
        }
    }
    queue->lanes = ORR_ROOM_FOR_ONE(queue->lanes, queue->lane_count, queue->lane_capacity);
    queue->lanes[queue->lane_count] =
        (struct kueue_lane){.hash = is->is.hash, .local_queue = local, .active_at = ORR_NONE};
    queue->slots[at] = queue->lane_count;
    return queue->lane_count++;
}

/* --- in and out --- */

static void insert(struct orr_kueue *kueue, uint32_t workload)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    struct kueue_queue *queue = queue_of(kueue, workload);
    is->lane = lane_for(kueue, workload);
    is->place = KUEUE_HEAP;
    struct kueue_lane *lane = &queue->lanes[is->lane];
    lane->items = ORR_ROOM_FOR_ONE(lane->items, lane->count, lane->capacity);
    put_item(kueue, lane, lane->count, workload);
    sift_item_up(kueue, lane, lane->count++);
    settle_lane(kueue, queue, is->lane);
}

static void take_out(struct orr_kueue *kueue, uint32_t workload)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    struct kueue_queue *queue = queue_of(kueue, workload);
    if (is->place == KUEUE_HEAP) {
        struct kueue_lane *lane = &queue->lanes[is->lane];
        const uint32_t at = is->lane_at, last = lane->items[--lane->count];
        if (last != workload) {
            put_item(kueue, lane, at, last);
            sift_item_up(kueue, lane, at);
            sift_item_down(kueue, lane, kueue->workloads[last].lane_at);
        }
        settle_lane(kueue, queue, is->lane);
    } else if (is->place != KUEUE_OUT) {
        const uint32_t last = queue->parked[--queue->parked_count];
        queue->parked[is->lane_at] = last;
        kueue->workloads[last].lane_at = is->lane_at;
    }
    is->place = KUEUE_OUT;
}

static void set_preemptor(struct orr_kueue *kueue, struct kueue_queue *queue, uint32_t workload)
{
    const uint32_t old = queue->preemptor;
    if (old == workload) {
        return;
    }
    const bool moves = old != ORR_NONE && kueue->workloads[old].place == KUEUE_HEAP;
    if (moves) {
        take_out(kueue, old);
    }
    queue->preemptor = workload;
    if (moves) {
        insert(kueue, old);
    }
}

void orr_kueue_queue(struct orr_kueue *kueue, uint32_t workload)
{
    take_out(kueue, workload);
    insert(kueue, workload);
    struct kueue_lane *lane = &queue_of(kueue, workload)->lanes[kueue->workloads[workload].lane];
    lane->mixed = lane->mixed || !lane->parked;
}

void orr_kueue_park(struct orr_kueue *kueue, uint32_t workload, bool backoff)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    struct kueue_queue *queue = queue_of(kueue, workload);
    take_out(kueue, workload);
    queue->parked = ORR_ROOM_FOR_ONE(queue->parked, queue->parked_count, queue->parked_capacity);
    is->place = backoff ? KUEUE_BACKOFF : KUEUE_PARKED;
    is->lane_at = queue->parked_count;
    queue->parked[queue->parked_count++] = workload;
}

void orr_kueue_drop(struct orr_kueue *kueue, uint32_t workload)
{
    take_out(kueue, workload);
    kueue->in_hand = kueue->in_hand == workload ? ORR_NONE : kueue->in_hand;
    struct kueue_queue *queue = queue_of(kueue, workload);
    if (queue->preemptor == workload) {
        queue->preemptor = ORR_NONE;
    }
    orr_kueue__forget(kueue, workload);
}

static void wake_queue(struct orr_kueue *kueue, struct kueue_queue *queue)
{
    for (uint32_t i = 0; i < queue->bulk_count; i++) {
        queue->lanes[queue->bulk[i]].parked = false;
        settle_lane(kueue, queue, queue->bulk[i]);
    }
    queue->bulk_count = 0;
    for (uint32_t i = queue->parked_count; i-- > 0;) {
        const uint32_t workload = queue->parked[i];
        if (kueue->workloads[workload].place == KUEUE_PARKED &&
            !kueue->workloads[workload].is.wrong_namespace) {
            orr_kueue_queue(kueue, workload);
        }
    }
}

void orr_kueue_wake(struct orr_kueue *kueue, uint32_t queue)
{
    const uint32_t root = kueue->tree->nodes[queue].root;
    for (uint32_t q = 0; q < kueue->spec->queue_count; q++) {
        if (kueue->tree->nodes[q].root == root) {
            wake_queue(kueue, &kueue->queues[q]);
        }
    }
}

bool orr_kueue_wrong_namespace(const struct orr_kueue *kueue, uint32_t workload)
{
    return kueue->workloads[workload].is.wrong_namespace;
}

bool orr_kueue_in_heap(const struct orr_kueue *kueue, uint32_t workload)
{
    const struct kueue_workload *is = &kueue->workloads[workload];
    return is->place == KUEUE_HEAP && !kueue->queues[is->is.queue].lanes[is->lane].parked;
}

bool orr_kueue_is_parked(const struct orr_kueue *kueue, uint32_t workload)
{
    return kueue->workloads[workload].place != KUEUE_OUT && !orr_kueue_in_heap(kueue, workload);
}

/* --- heads --- */

static uint32_t first_lane(struct orr_kueue *kueue, uint32_t queue)
{
    const struct kueue_queue *is = &kueue->queues[queue];
    uint32_t best = is->active[0];
    for (uint32_t i = 1; by_usage(kueue, queue) && i < is->active_count; i++) {
        if (lane_before(kueue, is, is->active[i], best)) {
            best = is->active[i]; /* usage moves between cycles: the heap does not follow it */
        }
    }
    return best;
}

uint32_t orr_kueue__pop(struct orr_kueue *kueue, uint32_t queue)
{
    struct kueue_queue *is = &kueue->queues[queue];
    if (kueue->spec->queues[queue].inactive || is->active_count == 0) {
        return ORR_NONE;
    }
    const uint32_t workload = is->lanes[first_lane(kueue, queue)].items[0];
    take_out(kueue, workload);
    return workload;
}

/* --- back after a cycle --- */

/* All in the lane have the verdict of the workload. Who had it before is not named again, so that a
 * backlog costs nothing each time it is parked. */
static void share_verdict(struct orr_kueue *kueue, struct kueue_lane *lane, uint32_t workload)
{
    const struct kueue_workload *is = &kueue->workloads[workload];
    const bool changed =
        lane->last.wait != is->wait || lane->last.lacks_place != is->lacks_place || lane->mixed;
    for (uint32_t i = 0; i < lane->count && changed; i++) {
        kueue->alike = ORR_ROOM_FOR_ONE(kueue->alike, kueue->alike_count, kueue->alike_capacity);
        kueue->alike[kueue->alike_count++] = lane->items[i];
    }
    lane->last = (struct kueue_verdict){is->wait, is->lacks_place};
    lane->mixed = false;
}

static void park_alike(struct orr_kueue *kueue, uint32_t workload)
{
    struct kueue_queue *queue = queue_of(kueue, workload);
    const uint64_t hash = kueue->workloads[workload].is.hash;
    insert(kueue, workload);
    for (uint32_t l = 0; l < queue->lane_count; l++) {
        const uint32_t lane = by_usage(kueue, kueue->workloads[workload].is.queue)
                                  ? l
                                  : kueue->workloads[workload].lane;
        if (queue->lanes[lane].hash == hash && !queue->lanes[lane].parked) {
            queue->lanes[lane].parked = true;
            queue->lanes[lane].like = workload;
            share_verdict(kueue, &queue->lanes[lane], workload);
            settle_lane(kueue, queue, lane);
            queue->bulk = ORR_ROOM_FOR_ONE(queue->bulk, queue->bulk_count, queue->bulk_capacity);
            queue->bulk[queue->bulk_count++] = lane;
        }
        if (lane != l) {
            break;
        }
    }
}

void orr_kueue__requeue(struct orr_kueue *kueue, const struct kueue_entry *entry)
{
    const uint32_t workload = entry->workload;
    struct kueue_queue *queue = queue_of(kueue, workload);
    const bool strict = kueue_queue_of(kueue, workload)->strict_fifo;
    if (entry->requeue == KUEUE_PENDING_PREEMPTION) {
        set_preemptor(kueue, queue, workload);
    }
    const bool immediate = strict ? entry->requeue != KUEUE_NAMESPACE_MISMATCH
                                  : entry->requeue == KUEUE_FAILED_AFTER_NOMINATION ||
                                        entry->requeue == KUEUE_PENDING_PREEMPTION;
    if (immediate || orr_kueue__pending_flavors(kueue, workload)) {
        insert(kueue, workload);
    } else if ((entry->requeue == KUEUE_NO_FIT || entry->requeue == KUEUE_NO_CANDIDATES) &&
               !kueue->spec->config.no_equivalence_hashing) {
        park_alike(kueue, workload);
    } else {
        orr_kueue_park(kueue, workload, false);
    }
}
