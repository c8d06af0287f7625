/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two-level job queue of KAI's job_order_by_queue.go, with its flags: a heap of heaps in which
 * only the node that was just served is looked at again, and only once it has come to the top. */
#include "slow.h"

#include <assert.h>
#include <string.h>

struct place_in_tree { /* a queue that has jobs */
    uint32_t queue;    /* ORR_NONE: above the roots */
    bool flagged;      /* must be sifted before it may be served */
    struct place_in_tree *parent;
    struct place_in_tree **children; /* heap */
    struct slow_view *jobs;          /* heap; of a leaf */
    uint32_t count, capacity;
    bool is_leaf;
};

struct popped {
    struct slow_view *jobs;
    uint32_t count, capacity;
};

struct slow_heap {
    struct slow *slow;
    bool victims;
    int64_t depth; /* jobs kept of a leaf; -1: all */
    struct place_in_tree root;
    struct popped *popped; /* by queue */
};

/* --- comparing --- */

static const struct place_in_tree *best_leaf(const struct place_in_tree *place)
{
    while (!place->is_leaf) {
        place = place->children[0];
    }
    return place;
}

static void add_held(const struct slow *slow, const struct slow_view *view, int64_t *sum)
{
    const struct orr_sjob *job = &slow->in->jobs[view->job];
    for (uint32_t t = 0; t < job->task_count; t++) {
        const uint32_t task = job->first_task + t;
        if (view->has[t] && slow_in(slow, task, ORR_STATES_ALLOCATED)) {
            const struct orr_ask *ask = slow_ask(slow, task);
            sum[ORR_SHARE_CPU] += ask->request.v[ORR_SLOT_CPU];
            sum[ORR_SHARE_MEMORY] += ask->request.v[ORR_SLOT_MEMORY];
            sum[ORR_SHARE_GPU] += ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
        }
    }
}

static struct slow_rank rank_of(const struct slow_heap *heap, const struct place_in_tree *place)
{
    const struct slow *slow = heap->slow;
    const struct place_in_tree *leaf = best_leaf(place);
    struct slow_rank rank = {.queue = place->queue, .is_victim = heap->victims};
    if (heap->victims) {
        const struct popped *popped = &heap->popped[leaf->queue];
        for (uint32_t i = 0; i < popped->count; i++) {
            add_held(slow, &popped->jobs[i], rank.victims);
        }
        add_held(slow, &leaf->jobs[0], rank.victims);
    } else {
        struct slow_list due;
        slow_due(slow, &leaf->jobs[0], true, &due);
        rank.job = slow_demand(slow, &due, slow->min_mib);
    }
    return rank;
}

static bool is_less(const struct slow_heap *heap, const struct place_in_tree *in, uint32_t a,
                    uint32_t b)
{
    bool less;
    if (in->is_leaf) {
        less = slow_job_before(heap->slow, &in->jobs[a], &in->jobs[b]);
    } else {
        const struct slow_rank rank_a = rank_of(heap, in->children[a]);
        const struct slow_rank rank_b = rank_of(heap, in->children[b]);
        less = slow_queue_before(heap->slow, &rank_a, &rank_b);
    }
    return heap->victims ? !less : less;
}

/* --- a binary heap --- */

static void swap(struct place_in_tree *in, uint32_t a, uint32_t b)
{
    if (in->is_leaf) {
        const struct slow_view kept = in->jobs[a];
        in->jobs[a] = in->jobs[b];
        in->jobs[b] = kept;
    } else {
        struct place_in_tree *kept = in->children[a];
        in->children[a] = in->children[b];
        in->children[b] = kept;
    }
}

static void sift_up(const struct slow_heap *heap, struct place_in_tree *in, uint32_t at)
{
    while (at > 0 && is_less(heap, in, at, (at - 1) / 2)) {
        swap(in, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static void sift_down(const struct slow_heap *heap, struct place_in_tree *in, uint32_t count)
{
    uint32_t at = 0;
    while (2 * at + 1 < count) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < count && is_less(heap, in, child + 1, child)) {
            child++;
        }
        if (!is_less(heap, in, child, at)) {
            break;
        }
        swap(in, child, at);
        at = child;
    }
}

/* The top goes to the end of the array and is no longer counted. */
static void drop_top(const struct slow_heap *heap, struct place_in_tree *in)
{
    in->count--;
    swap(in, 0, in->count);
    sift_down(heap, in, in->count);
}

static void insert_job(const struct slow_heap *heap, struct place_in_tree *leaf,
                       const struct slow_view *job)
{
    leaf->jobs = ORR_ROOM_FOR_ONE(leaf->jobs, leaf->count, leaf->capacity);
    leaf->jobs[leaf->count++] = *job;
    sift_up(heap, leaf, leaf->count - 1);
    if (heap->depth >= 0 && leaf->count > heap->depth) {
        leaf->count--; /* whoever is last in the array */
    }
}

/* --- the tree --- */

static void free_place(struct place_in_tree *place)
{
    for (uint32_t i = 0; !place->is_leaf && i < place->count; i++) {
        free_place(place->children[i]);
        orr_free(place->children[i]);
    }
    orr_free(place->children);
    orr_free(place->jobs);
}

static struct place_in_tree *find(struct place_in_tree *in, uint32_t queue)
{
    if (in->queue == queue) {
        return in;
    }
    struct place_in_tree *found = NULL;
    for (uint32_t i = 0; !in->is_leaf && i < in->count && found == NULL; i++) {
        found = find(in->children[i], queue);
    }
    return found;
}

static void insert_child(const struct slow_heap *heap, struct place_in_tree *parent,
                         struct place_in_tree *child)
{
    parent->children = ORR_ROOM_FOR_ONE(parent->children, parent->count, parent->capacity);
    parent->children[parent->count++] = child;
    child->parent = parent;
    sift_up(heap, parent, parent->count - 1);
}

void slow_heap_push(struct slow_heap *heap, const struct slow_view *job)
{
    const struct orr_session *in = heap->slow->in;
    uint32_t queue = in->jobs[job->job].queue;
    struct place_in_tree *leaf = find(&heap->root, queue);
    if (leaf != NULL) {
        insert_job(heap, leaf, job);
    } else {
        leaf = orr_zalloc(1, sizeof *leaf);
        leaf->queue = queue;
        leaf->is_leaf = true;
        insert_job(heap, leaf, job);
        /* From the leaf up: each missing parent once it has its first child. */
        struct place_in_tree *child = leaf;
        struct place_in_tree *parent;
        for (;;) {
            queue = in->shares[queue].parent;
            parent = find(&heap->root, queue);
            if (parent != NULL) {
                break;
            }
            parent = orr_zalloc(1, sizeof *parent);
            parent->queue = queue;
            insert_child(heap, parent, child);
            child = parent;
        }
        insert_child(heap, parent, child);
    }
    for (struct place_in_tree *up = leaf; up != NULL; up = up->parent) {
        up->flagged = true;
    }
}

/* The best child, sifted as long as the top was not looked at since it was served. */
static struct place_in_tree *top_of(const struct slow_heap *heap, struct place_in_tree *in)
{
    while (in->children[0]->flagged) {
        in->children[0]->flagged = false;
        sift_down(heap, in, in->count);
    }
    return in->children[0];
}

static void remember(struct slow_heap *heap, uint32_t queue, const struct slow_view *job)
{
    struct popped *popped = &heap->popped[queue];
    popped->jobs = ORR_ROOM_FOR_ONE(popped->jobs, popped->count, popped->capacity);
    popped->jobs[popped->count++] = *job;
}

bool slow_heap_pop(struct slow_heap *heap, struct slow_view *out)
{
    if (heap->root.count == 0) {
        return false;
    }
    struct place_in_tree *place = &heap->root;
    while (!place->is_leaf) {
        place = top_of(heap, place);
    }
    *out = place->jobs[0];
    remember(heap, place->queue, out);
    drop_top(heap, place);
    while (place->count == 0 && place->parent != NULL) {
        struct place_in_tree *empty = place;
        place = place->parent;
        assert(place->children[0] == empty);
        /* The emptied child is not compared any more: the last one takes its place. */
        place->count--;
        swap(place, 0, place->count);
        sift_down(heap, place, place->count);
        free_place(empty);
        orr_free(empty);
    }
    for (; place != NULL; place = place->parent) {
        place->flagged = true;
    }
    return true;
}

/* --- building --- */

static bool queue_first(const struct slow *slow, uint32_t a, uint32_t b)
{
    const struct orr_share_queue *shares = slow->in->shares;
    return shares[a].created != shares[b].created
               ? shares[a].created < shares[b].created
               : strcmp(slow->in->queues[a].name, slow->in->queues[b].name) < 0;
}

static bool comes_first(const struct slow_heap *heap, const struct slow_view *a,
                        const struct slow_view *b)
{
    const uint32_t queue_a = heap->slow->in->jobs[a->job].queue;
    const uint32_t queue_b = heap->slow->in->jobs[b->job].queue;
    if (queue_a != queue_b) {
        return queue_first(heap->slow, queue_a, queue_b);
    }
    return heap->victims ? slow_job_before(heap->slow, b, a) : slow_job_before(heap->slow, a, b);
}

struct slow_heap *slow_heap_make(struct slow *slow, bool victims, int64_t depth,
                                 struct slow_view *jobs, uint32_t count)
{
    struct slow_heap *heap = orr_zalloc(1, sizeof *heap);
    heap->slow = slow;
    heap->victims = victims;
    heap->depth = depth;
    heap->root.queue = ORR_NONE;
    heap->popped = orr_zalloc(slow->in->queue_count + (size_t)1, sizeof *heap->popped);
    uint32_t *order = orr_alloc(count + (size_t)1, sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at > 0 && comes_first(heap, &jobs[i], &jobs[order[at - 1]]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        slow_heap_push(heap, &jobs[order[i]]);
    }
    orr_free(order);
    return heap;
}

void slow_heap_free(struct slow_heap *heap)
{
    for (uint32_t q = 0; q < heap->slow->in->queue_count; q++) {
        orr_free(heap->popped[q].jobs);
    }
    orr_free(heap->popped);
    free_place(&heap->root);
    orr_free(heap);
}
