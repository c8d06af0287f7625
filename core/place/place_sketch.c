/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placing tried on the books of nodes alone, or on counts in their place (gpu_counts.c).
 *
 * The same books, devices and scores as in an attempt, for sessions where the placement packs GPUs
 * and no zones, nominations or plugins have a say. Sets and domains of topologies are those of an
 * attempt (place_job.c). What is left out is what a statement does beside: states of tasks, sums of
 * queues, indexes of nodes, explanations. */
#include <orrery/core/attempt.h>

#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/sort.h>

#include "place_int.h"
#include "session_int.h"

struct step { /* of `saved`: a change of a node; the node's books from before it lie in front */
    size_t before;
    uint32_t node, shared_count;
};

static size_t vector_bytes(const struct orr_session *session)
{
    return session->slot_count * sizeof(int64_t);
}

static void touch(struct orr_sketch *sketch, uint32_t node)
{
    if (sketch->touched_count == sketch->touched_capacity) {
        sketch->touched_capacity = orr_grow(sketch->touched_capacity, sketch->touched_count + 1);
        sketch->touched =
            orr_realloc(sketch->touched, sketch->touched_capacity, sizeof *sketch->touched);
    }
    sketch->last_touched[node] = sketch->touched_count;
    sketch->touched[sketch->touched_count++] = node;
}

/* The slots that every session has are copied by a size that the compiler knows. */
static void copy_vector(void *to, const void *from, size_t bytes)
{
    const size_t common = ORR_SLOT_EXTENDED * sizeof(int64_t);
    memcpy(to, from, common);
    if (bytes > common) {
        memcpy((unsigned char *)to + common, (const unsigned char *)from + common, bytes - common);
    }
}

static void save_node(struct orr_sketch *sketch, uint32_t index)
{
    const struct orr_snode *node = &sketch->session->nodes[index];
    const size_t vector = vector_bytes(sketch->session);
    const size_t shared = node->shared_count * sizeof *node->shared;
    const size_t bytes = 3 * vector + shared + sizeof(struct step);
    if (sketch->count + bytes > sketch->capacity) {
        sketch->capacity = orr_grow(sketch->capacity, sketch->count + bytes);
        sketch->saved = orr_realloc(sketch->saved, sketch->capacity, 1);
    }
    const struct step step = {
        .before = sketch->count, .node = index, .shared_count = node->shared_count};
    unsigned char *at = sketch->saved + sketch->count;
    copy_vector(at, node->idle.v, vector);
    copy_vector(at + vector, node->used.v, vector);
    copy_vector(at + 2 * vector, node->releasing.v, vector);
    if (shared > 0) {
        memcpy(at + 3 * vector, node->shared, shared);
    }
    memcpy(at + 3 * vector + shared, &step, sizeof step);
    sketch->count += bytes;
    sketch->changes++;
    touch(sketch, index);
}

size_t orr_sketch_checkpoint(const struct orr_sketch *sketch)
{
    return sketch->counts != NULL ? sketch->counts->move_count : sketch->count;
}

static void restore_books(struct orr_sketch *sketch, size_t count)
{
    const size_t vector = vector_bytes(sketch->session);
    while (sketch->count > count) {
        struct step step;
        memcpy(&step, sketch->saved + sketch->count - sizeof step, sizeof step);
        struct orr_snode *node = &sketch->session->nodes[step.node];
        const unsigned char *at = sketch->saved + step.before;
        copy_vector(node->idle.v, at, vector);
        copy_vector(node->used.v, at + vector, vector);
        copy_vector(node->releasing.v, at + 2 * vector, vector);
        node->shared_count = step.shared_count;
        if (step.shared_count > 0) {
            memcpy(node->shared, at + 3 * vector, step.shared_count * sizeof *node->shared);
        }
        sketch->count = step.before;
        sketch->last_ask = ORR_NONE;
        touch(sketch, step.node);
    }
}

void orr_sketch_rollback(struct orr_sketch *sketch, size_t checkpoint)
{
    if (sketch->counts != NULL) {
        orr_gpu_counts_take_back(sketch->counts, (uint32_t)checkpoint);
    } else {
        restore_books(sketch, checkpoint);
    }
}

void orr_sketch_end(struct orr_sketch *sketch)
{
    orr_sketch_rollback(sketch, 0);
    orr_sketch_rooms__leave(sketch);
    sketch->session->next_gpu_group = sketch->next_gpu_group;
    orr_domain_sums__leave(sketch->session, sketch);
    sketch->counts = NULL;
}

void orr_sketch_start(struct orr_sketch *sketch, struct orr_session *session, const bool *is_open)
{
    sketch->session = session;
    sketch->is_open = is_open;
    sketch->counts = NULL;
    sketch->next_gpu_group = session->next_gpu_group;
    sketch->count = 0;
    sketch->touched_count = 0;
    sketch->run = ++session->place->sketch_runs;
    sketch->last_ask = ORR_NONE;
    if (sketch->node_count != session->node_count) {
        sketch->node_count = session->node_count;
        sketch->last_touched =
            orr_realloc(sketch->last_touched, sketch->node_count, sizeof *sketch->last_touched);
    }
}

void orr_sketch_start_on_counts(struct orr_sketch *sketch, struct orr_session *session,
                                struct orr_gpu_counts *counts)
{
    orr_sketch_start(sketch, session, NULL);
    sketch->counts = counts;
}

void orr_sketch_release(struct orr_sketch *sketch)
{
    orr_free(sketch->saved);
    orr_free(sketch->like);
    orr_free(sketch->touched);
    orr_free(sketch->last_touched);
    orr_free(sketch->content.of_node);
    orr_sketch_rooms__release(&sketch->rooms);
    *sketch = (struct orr_sketch){0};
}

/* From one state to another, on the devices that the task has. */
static void move(struct orr_sketch *sketch, const struct orr_stask *task, uint8_t from, uint8_t to)
{
    struct orr_session *session = sketch->session;
    const struct orr_ask *ask = orr_task_ask(session, task);
    const uint32_t *groups = orr_task_groups(session, task);
    save_node(sketch, task->live.node);
    orr_session__book(session, task->live.node, ask, from, groups, task->live.group_count, -1);
    orr_session__book(session, task->live.node, ask, to, groups, task->live.group_count, 1);
}

void orr_sketch_evict(struct orr_sketch *sketch, uint32_t index)
{
    const struct orr_stask *task = &sketch->session->tasks[index];
    ORR_ASSERT(sketch->counts == NULL);
    move(sketch, task, task->live.status, ORR_TASK_RELEASING);
}

/* False, as for most nodes: the ask does not fit there. True: it may fit. */
static bool may_fit(const struct orr_ask *ask, const struct orr_snode *node, int64_t free)
{
    bool may = free >= (orr_ask_is_shared(ask) ? ORR_MGPU : ask->request.v[ORR_SLOT_GPU]);
    if (!may && orr_ask_is_shared(ask)) {
        const int64_t need = orr_session_shared_need(ask, node);
        for (uint32_t i = 0; !may && i < node->shared_count; i++) {
            may = orr_place__shared_matches(node, &node->shared[i], need);
        }
    }
    return may;
}

bool orr_sketch__is_better(const struct orr_rated *a, const struct orr_rated *b, bool packs)
{
    if (b->node == ORR_NONE || a->points != b->points) {
        return b->node == ORR_NONE || a->points > b->points;
    }
    return packs && a->free != b->free ? a->free < b->free : a->rank < b->rank;
}

/* The node's score for the levels that the set prefers: a whole number, as points are. */
static int32_t preferred_points(const struct orr_sketch *sketch, uint32_t node)
{
    return (int32_t)orr_preferred_score(sketch->preferred, node);
}

/* What the node is worth; node ORR_NONE: it has no room. */
struct orr_rated orr_sketch__rate(const struct orr_sketch *sketch, const struct orr_ask *ask,
                                  uint32_t n)
{
    const struct orr_session *session = sketch->session;
    const struct orr_snode *node = &session->nodes[n];
    const int32_t points = orr_place__points(session, ask, n);
    return points == ORR_NO_FIT ? (struct orr_rated){.node = ORR_NONE}
                                : (struct orr_rated){.node = n,
                                                     .rank = node->rank,
                                                     .points = points + preferred_points(sketch, n),
                                                     .free = orr_place__free(node, ask)};
}

/* Packing decides only between nodes of equal points, and not at all where no open node that has
 * GPUs has any of them free (orr_place__packed_score). */
static uint32_t best_shared(struct orr_sketch *sketch, const struct orr_ask *ask,
                            struct orr_node_list nodes)
{
    const struct orr_session *session = sketch->session;
    struct orr_rated best;
    if (sketch->preferred == NULL && nodes.nodes == sketch->open &&
        orr_sketch_rooms__find(sketch, ask, &best)) {
        return best.node;
    }
    struct orr_rated packed = {.node = ORR_NONE}, unpacked = {.node = ORR_NONE};
    int64_t most = INT64_MIN;
    for (uint32_t i = 0; i < nodes.count; i++) {
        const uint32_t n = nodes.nodes[i];
        const struct orr_snode *node = &session->nodes[n];
        if (!sketch->is_open[n]) {
            continue;
        }
        const int64_t free = orr_place__free(node, ask);
        most = node->allocatable.v[ORR_SLOT_GPU] > 0 && free > most ? free : most;
        if (!may_fit(ask, node, free)) {
            continue;
        }
        const struct orr_rated one = orr_sketch__rate(sketch, ask, n);
        if (one.node != ORR_NONE) {
            packed = orr_sketch__is_better(&one, &packed, true) ? one : packed;
            unpacked = orr_sketch__is_better(&one, &unpacked, false) ? one : unpacked;
        }
    }
    return most == 0 ? unpacked.node : packed.node;
}

/* --- whole GPUs: where they fit, packing counts. The pods of a gang are mostly equal, and each
 * changes only the node it goes to: nodes as good as the best are kept for the next. --- */

static bool is_like(const struct orr_rated *a, const struct orr_rated *b)
{
    return a->node != ORR_NONE && a->points == b->points && a->free == b->free;
}

static void keep_like(struct orr_sketch *sketch, const struct orr_rated *one)
{
    if (sketch->like_count == sketch->like_capacity) {
        sketch->like_capacity = orr_grow(sketch->like_capacity, sketch->like_count + (size_t)1);
        sketch->like = orr_realloc(sketch->like, sketch->like_capacity, sizeof *sketch->like);
    }
    sketch->like[sketch->like_count++] =
        (struct orr_sketch_like){.node = one->node, .rank = one->rank};
}

/* Most nodes are seen to be no better from what they could have at most. */
static struct orr_rated look_at_all(struct orr_sketch *sketch, const struct orr_ask *ask,
                                    struct orr_node_list nodes)
{
    const struct orr_session *session = sketch->session;
    struct orr_rated best = {.node = ORR_NONE};
    sketch->like_count = 0;
    for (uint32_t i = 0; i < nodes.count; i++) {
        const struct orr_snode *node = &session->nodes[nodes.nodes[i]];
        struct orr_rated one = {
            .node = nodes.nodes[i], .rank = node->rank, .free = orr_place__free(node, ask)};
        if (!sketch->is_open[one.node] || !may_fit(ask, node, one.free)) {
            continue;
        }
        one.points =
            orr_place__points_most(session, ask, node) + preferred_points(sketch, one.node);
        if (orr_sketch__is_better(&one, &best, true)) {
            one = orr_sketch__rate(sketch, ask, one.node);
        }
        if (one.node != ORR_NONE && orr_sketch__is_better(&one, &best, true)) {
            const struct orr_rated before = best;
            best = one;
            if (is_like(&before, &best)) {
                keep_like(sketch, &before);
            } else {
                sketch->like_count = 0;
            }
        } else if (is_like(&one, &best)) {
            keep_like(sketch, &one);
        }
    }
    sketch->like_next = 0;
    sketch->like_points = best.points;
    sketch->like_free = best.free;
    return best;
}

static int by_rank(const void *a, const void *b, void *context)
{
    const struct orr_sketch_like *x = a, *y = b;
    (void)context;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The best of the nodes that were kept as equally good. Some were kept for the most points that
 * they could have: they are rated here. */
static struct orr_rated first_like(struct orr_sketch *sketch, const struct orr_ask *ask)
{
    struct orr_rated one = {.node = ORR_NONE};
    if (sketch->like_next == 0) {
        orr_sort(sketch->like, sketch->like_count, sizeof *sketch->like, by_rank, NULL);
    }
    while (one.node == ORR_NONE && sketch->like_next < sketch->like_count) {
        one = orr_sketch__rate(sketch, ask, sketch->like[sketch->like_next].node);
        if (one.node == ORR_NONE || one.points < sketch->like_points) {
            one.node = ORR_NONE;
            sketch->like_next++;
        }
    }
    return one;
}

/* For a pod like the last one; node ORR_NONE: perhaps one that is worth less than those kept. */
static struct orr_rated best_again(struct orr_sketch *sketch, const struct orr_ask *ask)
{
    const struct orr_rated last = orr_sketch__rate(sketch, ask, sketch->last_node);
    const struct orr_rated like = first_like(sketch, ask);
    if (like.node != ORR_NONE &&
        (last.node == ORR_NONE || orr_sketch__is_better(&like, &last, true))) {
        sketch->like_next++;
        return like;
    }
    const bool worse = last.points < sketch->like_points ||
                       (last.points == sketch->like_points && last.free > sketch->like_free);
    return last.node == ORR_NONE || worse ? (struct orr_rated){.node = ORR_NONE} : last;
}

static uint32_t best_whole(struct orr_sketch *sketch, uint32_t ask_index,
                           struct orr_node_list nodes)
{
    const struct orr_ask *ask = &sketch->session->asks[ask_index];
    struct orr_rated best = {.node = ORR_NONE};
    if (sketch->preferred == NULL && nodes.nodes == sketch->open &&
        orr_sketch_rooms__find(sketch, ask, &best)) {
        sketch->last_ask = ORR_NONE;
        return best.node;
    }
    if (sketch->last_ask == ask_index && sketch->last_change == sketch->changes) {
        best = best_again(sketch, ask);
    }
    if (best.node == ORR_NONE) {
        best = look_at_all(sketch, ask, nodes);
    }
    sketch->last_ask = best.node == ORR_NONE ? ORR_NONE : ask_index;
    sketch->last_node = best.node;
    sketch->last_change = sketch->changes + 1; /* once the pod is placed there */
    return best.node;
}

/* False: it fits on none of the nodes. */
static bool place(struct orr_sketch *sketch, uint32_t index, bool evicted,
                  struct orr_node_list nodes)
{
    struct orr_session *session = sketch->session;
    const struct orr_stask *task = &session->tasks[index];
    const struct orr_ask *ask = orr_task_ask(session, task);
    const uint32_t node = ask->kind == ORR_ASK_WHOLE ? best_whole(sketch, task->ask, nodes)
                                                     : best_shared(sketch, ask, nodes);
    struct orr_device_choice choice = {.pipeline = true};
    if (node == ORR_NONE ||
        (orr_ask_is_shared(ask) &&
         !orr_place__choose_devices(session, ask, &session->nodes[node], &choice))) {
        return false;
    }
    if (evicted && task->live.node == node && orr_place__same_devices(session, task, &choice)) {
        move(sketch, task, ORR_TASK_RELEASING, task->live.status);
    } else {
        save_node(sketch, node);
        orr_session__book(session, node, ask, ORR_TASK_PIPELINED, choice.groups, ask->devices, 1);
    }
    return true;
}

bool orr_sketch__place_set(const struct orr_allocation *attempt, uint32_t set,
                           struct orr_node_list nodes)
{
    const struct orr_session *session = attempt->session;
    struct orr_sketch *sketch = attempt->sketch;
    const bool narrowed = nodes.nodes != sketch->open;
    bool placed = true;
    if (sketch->counts != NULL) {
        return orr_gpu_counts__place_among(sketch->counts, attempt, set, nodes);
    }
    sketch->last_ask = narrowed ? ORR_NONE : sketch->last_ask;
    for (uint32_t i = 0; placed && i < attempt->tasks.count; i++) {
        const uint32_t task = attempt->tasks.tasks[i];
        if (session->tasks[task].set == set) {
            sketch->preferred = orr_place__preferred_by(session, &session->tasks[task]);
            placed = place(sketch, task, attempt->evicted[task], nodes);
        }
    }
    sketch->last_ask = narrowed ? ORR_NONE : sketch->last_ask;
    sketch->preferred = NULL;
    return placed;
}
