/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heap of queues above heaps of jobs.
 *
 *   root -> [top queues] -> ... -> leaf queue -> [jobs]
 *
 * An inner queue is ranked by the best job of its best leaf as its own heap stands.
 */

#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/sort.h>

#include "order_int.h"

/* --- comparing --- */

int orr_order_compare_jobs(const struct orr_session *session, const struct orr_order_entry *a,
                           const struct orr_order_entry *b)
{
    const struct orr_sjob *job_a = &session->jobs[a->view.job];
    const struct orr_sjob *job_b = &session->jobs[b->view.job];
    const struct orr_session_hooks *hooks = session->hooks;
    if (hooks != NULL && hooks->job_order != NULL) {
        const int sign = hooks->job_order(hooks->self, a->view.job, b->view.job);
        if (sign != 0) {
            return sign;
        }
    }
    if (session->rules.priority && job_a->priority != job_b->priority) {
        return job_a->priority > job_b->priority ? -1 : 1;
    }
    if (session->rules.elastic && a->elastic_state != b->elastic_state) {
        return a->elastic_state < b->elastic_state ? -1 : 1;
    }
    if (job_a->created_s != job_b->created_s) {
        return job_a->created_s < job_b->created_s ? -1 : 1;
    }
    return strcmp(job_a->name, job_b->name);
}

static int compare_entries(const struct orr_order *order, const struct orr_order_entry *a,
                           const struct orr_order_entry *b)
{
    const struct orr_session_hooks *hooks = order->session->hooks;
    int sign = 0;
    if (order->victims && hooks != NULL && hooks->victim_order != NULL) {
        sign = hooks->victim_order(hooks->self, b->view.job, a->view.job);
    }
    if (sign == 0) {
        sign = orr_order_compare_jobs(order->session, a, b);
    }
    return order->victims ? (sign < 0) - (sign > 0) : sign;
}

static bool job_less(const struct orr_order *order, const struct orr_order_entry *a,
                     const struct orr_order_entry *b)
{
    return compare_entries(order, a, b) < 0;
}

/* The leaf whose best job a node is ranked by. */
static struct orr_order_node *leading_leaf(const struct orr_order *order, uint32_t node)
{
    struct orr_order_node *at = &order->nodes[node];
    while (at->child_count > 0) {
        at = &order->nodes[at->children[0]];
    }
    return at;
}

static struct orr_demand sum_demands(const struct orr_demand *a, const struct orr_demand *b)
{
    struct orr_demand sum = *a;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        sum.v[kind] += b->v[kind];
    }
    sum.gpus_by_memory += b->gpus_by_memory;
    sum.gpus += b->gpus;
    return sum;
}

/* The best entry that is in no lane or list is one of those that were added in their order, not one
 * that was pushed. */
static bool is_added(const struct orr_order *order, const struct orr_order_node *leaf)
{
    return leaf->added_count > 0 &&
           (leaf->job_count == 0 || !job_less(order, leaf->jobs, leaf->added));
}

/* NULL: none is left. */
static const struct orr_order_entry *best_pushed(const struct orr_order *order,
                                                 const struct orr_order_node *leaf)
{
    return is_added(order, leaf) ? leaf->added : leaf->job_count > 0 ? leaf->jobs : NULL;
}

/* The leaf's next job comes from its lanes or list, not from the jobs that were pushed. */
static bool from_lane(const struct orr_order *order, struct orr_order_node *leaf)
{
    if (leaf->head.lane == ORR_NONE) {
        return false;
    }
    if (order->list != NULL && leaf->best != ORR_BEST_UNKNOWN) {
        return leaf->best == ORR_BEST_LISTED;
    }
    const struct orr_order_entry *pushed = best_pushed(order, leaf);
    const bool from = pushed == NULL || job_less(order, &leaf->head.entry, pushed);
    if (order->list != NULL) {
        leaf->best = from ? ORR_BEST_LISTED : ORR_BEST_ADDED;
    }
    return from;
}

static const struct orr_order_entry *best_job(const struct orr_order *order,
                                              struct orr_order_node *leaf)
{
    return from_lane(order, leaf) ? &leaf->head.entry : best_pushed(order, leaf);
}

static void rank_anew(const struct orr_order *order, uint32_t index)
{
    struct orr_order_node *node = &order->nodes[index];
    struct orr_order_node *leaf = leading_leaf(order, index);
    const struct orr_demand *best = &best_job(order, leaf)->demand;
    struct orr_queue_claim contender = {.queue = node->queue};
    struct orr_demand victims;
    if (order->hypothetical != NULL) {
        contender.allocated = order->hypothetical[node->queue];
    }
    if (order->victims) {
        victims = sum_demands(&order->popped[leaf->queue], best);
        contender.victims = &victims;
    } else {
        contender.job = best;
    }
    orr_queue_rank_of(order->session, &contender, &node->rank);
}

/* Cached until the best job of the queue changes, which clears `ranked_at`, or shares do. */
static inline const struct orr_queue_rank *rank_of(const struct orr_order *order, uint32_t index)
{
    struct orr_order_node *node = &order->nodes[index];
    const uint64_t now = order->hypothetical != NULL ? 0 : order->session->queue_generation;
    if (node->ranked_at != now) {
        rank_anew(order, index);
        node->ranked_at = now;
    }
    return &node->rank;
}

/* Without a plug-in's queue order the numbers of the ranks mostly decide. */
static bool node_less(struct orr_order *order, uint32_t a, uint32_t b)
{
    const struct orr_session *session = order->session;
    const struct orr_session_hooks *hooks = session->hooks;
    const struct orr_queue_rank *rank_a = rank_of(order, a), *rank_b = rank_of(order, b);
    int sign = orr_queue_compare_numbers(rank_a, rank_b);
    if ((hooks != NULL && hooks->queue_order != NULL) || !session->rules.proportion) {
        sign = orr_queue_compare_ranks(session, rank_a, rank_b);
    } else if (sign == 0) {
        sign = orr_queue_compare_equal(session, rank_a->queue, rank_b->queue, &order->unclear);
    }
    return order->victims ? sign > 0 : sign < 0;
}

/* --- heaps: sift as a textbook binary heap does --- */

static void sift_queue_up(struct orr_order *order, uint32_t *heap, uint32_t at)
{
    while (at > 0 && node_less(order, heap[at], heap[(at - 1) / 2])) {
        const uint32_t up = (at - 1) / 2;
        const uint32_t moved = heap[at];
        heap[at] = heap[up];
        heap[up] = moved;
        at = up;
    }
}

static void sift_queue_down(struct orr_order *order, uint32_t *heap, uint32_t count)
{
    for (uint32_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && node_less(order, heap[child + 1], heap[child])) {
            child++;
        }
        if (!node_less(order, heap[child], heap[at])) {
            return;
        }
        const uint32_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

static void sift_job_up(struct orr_order *order, struct orr_order_entry *heap, uint32_t at)
{
    while (at > 0 && job_less(order, &heap[at], &heap[(at - 1) / 2])) {
        const uint32_t up = (at - 1) / 2;
        const struct orr_order_entry moved = heap[at];
        heap[at] = heap[up];
        heap[up] = moved;
        at = up;
    }
}

static void sift_job_down(const struct orr_order *order, struct orr_order_entry *heap,
                          uint32_t count)
{
    for (uint32_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && job_less(order, &heap[child + 1], &heap[child])) {
            child++;
        }
        if (!job_less(order, &heap[child], &heap[at])) {
            return;
        }
        const struct orr_order_entry moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

void orr_order__drop_first(const struct orr_order *order, struct orr_order_node *leaf)
{
    leaf->jobs[0] = leaf->jobs[--leaf->job_count];
    sift_job_down(order, leaf->jobs, leaf->job_count);
}

/* --- the tree --- */

uint32_t orr_order__new_node(struct orr_order *order, uint32_t queue, uint32_t parent)
{
    order->nodes = ORR_ROOM_FOR_ONE(order->nodes, order->node_count, order->node_capacity);
    struct orr_order_node *node = &order->nodes[order->node_count];
    if (order->node_count == order->node_made) {
        *node = (struct orr_order_node){0};
        order->node_made++;
    }
    /* Memory of an earlier use stays. */
    node->queue = queue;
    node->parent = parent;
    node->needs_reorder = false;
    node->ranked_at = ORR_ORDER_UNRANKED;
    node->top = 0;
    node->child_count = node->job_count = node->added_count = 0;
    node->list_at = node->list_end = 0;
    node->head.lane = ORR_NONE;
    node->best = ORR_BEST_UNKNOWN;
    return order->node_count++;
}

void orr_order_init(struct orr_order *order, const struct orr_session *session, bool victims,
                    bool simulate)
{
    *order = (struct orr_order){.session = session,
                                .victims = victims,
                                .simulate = simulate,
                                .depth = -1,
                                .only_lane = ORR_NONE};
    order->node_of_queue = orr_alloc(session->queue_count + (size_t)1, sizeof(uint32_t));
    order->popped = orr_zalloc(session->queue_count + (size_t)1, sizeof *order->popped);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        order->node_of_queue[q] = ORR_NONE;
    }
    (void)orr_order__new_node(order, ORR_NONE, ORR_NONE);
}

void orr_order_restart(struct orr_order *order)
{
    for (uint32_t n = 1; n < order->node_count; n++) {
        order->node_of_queue[order->nodes[n].queue] = ORR_NONE;
    }
    order->node_count = 0;
    order->pushed = order->compared_count = 0;
    order->heads = order->tops = 0;
    order->unclear = false;
    order->last_leaf = order->only_lane = ORR_NONE;
    (void)orr_order__new_node(order, ORR_NONE, ORR_NONE);
}

void orr_order_release(struct orr_order *order)
{
    for (uint32_t n = 0; n < order->node_made; n++) {
        orr_free(order->nodes[n].children);
        orr_free(order->nodes[n].jobs);
    }
    orr_free(order->nodes);
    orr_free(order->node_of_queue);
    orr_free(order->popped);
    orr_free(order->cursor);
    orr_free(order->open);
    orr_free(order->in_open_lanes);
    orr_free(order->open_lanes);
    orr_free(order->held_at_start);
    *order = (struct orr_order){0};
}

static void insert_child(struct orr_order *order, uint32_t parent, uint32_t child)
{
    struct orr_order_node *node = &order->nodes[parent];
    node->children = ORR_ROOM_FOR_ONE(node->children, node->child_count, node->child_capacity);
    node->children[node->child_count++] = child;
    sift_queue_up(order, node->children, node->child_count - 1);
}

void orr_order__mark_path(struct orr_order *order, uint32_t node)
{
    for (uint32_t n = node; n != ORR_NONE && n != ORR_ORDER_ROOT; n = order->nodes[n].parent) {
        order->nodes[n].needs_reorder = true;
        order->nodes[n].ranked_at = ORR_ORDER_UNRANKED;
    }
}

void orr_order__link(struct orr_order *order, uint32_t node)
{
    const uint32_t above = order->session->shares[order->nodes[node].queue].parent;
    uint32_t parent = above == ORR_NONE ? ORR_ORDER_ROOT : order->node_of_queue[above];
    const bool missing = parent == ORR_NONE;
    if (missing) {
        parent = orr_order__new_node(order, above, ORR_NONE);
        order->node_of_queue[above] = parent;
    }
    order->nodes[node].parent = parent;
    order->nodes[node].needs_reorder = true;
    insert_child(order, parent, node);
    if (missing) {
        orr_order__link(order, parent);
    } else {
        orr_order__mark_path(order, parent);
    }
}

static struct orr_order_entry make_entry(const struct orr_order *order, struct orr_jobview view)
{
    struct orr_order_entry entry = {
        .view = view, .elastic_state = orr_jobview_elastic_state(order->session, view)};
    if (order->victims) {
        entry.demand = orr_jobview_allocated(order->session, view);
    } else {
        struct orr_task_list tasks = {0};
        orr_jobview_to_allocate(order->session, view, order->simulate, &tasks);
        entry.demand = orr_jobview_demand(order->session, view, order->simulate, &tasks);
        orr_task_list_release(&tasks);
    }
    return entry;
}

static void push_entry(struct orr_order *order, const struct orr_order_entry *entry)
{
    const uint32_t queue = order->session->jobs[entry->view.job].queue;
    uint32_t leaf = order->node_of_queue[queue];
    const bool missing = leaf == ORR_NONE;
    if (missing) {
        leaf = orr_order__new_node(order, queue, ORR_NONE);
        order->node_of_queue[queue] = leaf;
    }
    struct orr_order_node *node = &order->nodes[leaf];
    node->jobs = ORR_ROOM_FOR_ONE(node->jobs, node->job_count, node->job_capacity);
    node->jobs[node->job_count++] = *entry;
    order->pushed++;
    sift_job_up(order, node->jobs, node->job_count - 1);
    if (order->depth >= 0 && node->job_count > order->depth) {
        node->job_count--; /* KAI: whatever lies in the last slot, not the worst */
        order->pushed--;
    }
    if (missing) {
        orr_order__link(order, leaf);
    } else {
        orr_order__mark_path(order, leaf);
    }
}

void orr_order_push(struct orr_order *order, struct orr_jobview view)
{
    const struct orr_order_entry entry = make_entry(order, view);
    orr_order__make_heaps(order);
    push_entry(order, &entry);
}

void orr_order_refresh(struct orr_order *order)
{
    if (order->open != NULL) {
        orr_order__leave_lanes(order);
    }
    for (uint32_t n = 0; n < order->node_count; n++) {
        struct orr_order_node *node = &order->nodes[n];
        node->ranked_at = ORR_ORDER_UNRANKED;
        for (uint32_t i = 0; i < node->job_count; i++) {
            const struct orr_sjob *job = &order->session->jobs[node->jobs[i].view.job];
            if (job->pending != job->task_count) { /* else nothing of it was ever placed */
                node->jobs[i] = make_entry(order, node->jobs[i].view);
            }
        }
    }
}

static bool is_schedulable(const struct orr_session *session, uint32_t job)
{
    const uint32_t queue = session->jobs[job].queue;
    return !session->jobs[job].invalid && queue != ORR_NONE && session->queues[queue].usable;
}

int orr_order__compare_queues(const struct orr_session *session, uint32_t a, uint32_t b)
{
    const struct orr_share_queue *share_a = &session->shares[a];
    const struct orr_share_queue *share_b = &session->shares[b];
    if (share_a->created != share_b->created) {
        return share_a->created < share_b->created ? -1 : 1;
    }
    return (share_a->name_rank > share_b->name_rank) - (share_a->name_rank < share_b->name_rank);
}

int orr_order_compare_built(const struct orr_session *session, const struct orr_order_entry *a,
                            const struct orr_order_entry *b)
{
    const int sign = orr_order__compare_queues(session, session->jobs[a->view.job].queue,
                                               session->jobs[b->view.job].queue);
    return sign != 0 ? sign : orr_order_compare_jobs(session, a, b);
}

/* The canonical order of building: queues by age and name, in each the best job first. */
static int compare_building(const struct orr_order *order, const struct orr_order_entry *a,
                            const struct orr_order_entry *b)
{
    const struct orr_sjob *jobs = order->session->jobs;
    const int sign =
        orr_order__compare_queues(order->session, jobs[a->view.job].queue, jobs[b->view.job].queue);
    return sign != 0 ? sign : compare_entries(order, a, b);
}

static int by_building(const void *a, const void *b, void *context)
{
    return compare_building(context, a, b);
}

uint32_t orr_order_prepare(const struct orr_order *order, const struct orr_jobview *views,
                           uint32_t count, struct orr_order_entry *entries)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_schedulable(order->session, views[i].job)) {
            entries[kept++] = make_entry(order, views[i]);
        }
    }
    orr_order_sort(order, entries, kept);
    return kept;
}

void orr_order_sort(const struct orr_order *order, struct orr_order_entry *entries, uint32_t count)
{
    orr_sort(entries, count, sizeof *entries, by_building, order);
}

uint32_t orr_order__place_for(const struct orr_order *order, const struct orr_order_entry *entries,
                              uint32_t count, const struct orr_order_entry *entry)
{
    uint32_t low = 0;
    for (uint32_t high = count; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (compare_building(order, &entries[middle], entry) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* --- over a list --- */

static bool is_empty(const struct orr_order_node *node)
{
    return node->child_count == 0 && node->added_count == 0 && node->job_count == 0 &&
           node->head.lane == ORR_NONE;
}

static uint32_t queue_of(const struct orr_order *order, const struct orr_order_entry *entry)
{
    return order->session->jobs[entry->view.job].queue;
}

/* The first of the entries from `at` on that is of a later queue. */
static uint32_t end_of_queue(const struct orr_order *order, const struct orr_order_entry *entries,
                             uint32_t at, uint32_t count)
{
    const uint32_t queue = queue_of(order, &entries[at]);
    uint32_t step = 1;
    while (step < count - at && queue_of(order, &entries[at + step]) == queue) {
        step *= 2;
    }
    uint32_t low = at + step / 2 + 1;
    for (uint32_t high = step < count - at ? at + step : count; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (queue_of(order, &entries[middle]) == queue) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Makes the next of the leaf's listed jobs its head: with `pass_over` the next that has to be
 * looked at. Those in between would be popped one after the other (order_lanes.c), unless a pushed
 * job comes before them. */
static void next_listed(struct orr_order *order, struct orr_order_node *leaf, bool pass_over)
{
    const struct orr_order_entry *pushed = best_pushed(order, leaf);
    order->heads -= leaf->head.lane != ORR_NONE ? orr_scatter(leaf->list_at) : 0;
    leaf->head.lane = ORR_NONE;
    leaf->best = ORR_BEST_UNKNOWN;
    for (; leaf->list_at < leaf->list_end; leaf->list_at++) {
        const struct orr_order_entry *entry = &order->list[leaf->list_at];
        if (order->unlisted != NULL && order->unlisted[entry->view.job]) {
            continue;
        }
        if (!pass_over || (pushed != NULL && job_less(order, pushed, entry)) ||
            !orr_order__is_passed_over(order, &entry->demand)) {
            leaf->head.lane = 0;
            leaf->head.entry = *entry;
            leaf->list_at++;
            order->heads += orr_scatter(leaf->list_at);
            return;
        }
    }
}

/* A leaf with the listed jobs [from, to) and those that were added, best first. */
static void add_leaf(struct orr_order *order, uint32_t queue, uint32_t from, uint32_t to,
                     const struct orr_order_entry *added, uint32_t added_count)
{
    const uint32_t leaf = orr_order__new_node(order, queue, ORR_NONE);
    struct orr_order_node *node = &order->nodes[leaf];
    node->added = added;
    node->added_count = added_count;
    order->pushed += added_count;
    node->list_at = from;
    node->list_end = to;
    next_listed(order, node, false);
    if (is_empty(node)) {
        order->node_count--;
        return;
    }
    order->node_of_queue[queue] = leaf;
    orr_order__link(order, leaf);
}

void orr_order_build_over(struct orr_order *order, const struct orr_order_entry *list,
                          uint32_t list_count, const bool *unlisted,
                          const struct orr_order_entry *added, uint32_t added_count)
{
    order->list = list;
    order->unlisted = unlisted;
    for (uint32_t i = 0, k = 0; i < list_count || k < added_count;) {
        int sign = i == list_count ? 1 : k == added_count ? -1 : 0;
        if (sign == 0) {
            sign = orr_order__compare_queues(order->session, queue_of(order, &list[i]),
                                             queue_of(order, &added[k]));
        }
        const uint32_t queue = queue_of(order, sign <= 0 ? &list[i] : &added[k]);
        const uint32_t to = sign <= 0 ? end_of_queue(order, list, i, list_count) : i;
        const uint32_t last = sign >= 0 ? end_of_queue(order, added, k, added_count) : k;
        add_leaf(order, queue, i, to, &added[k], last - k);
        i = to;
        k = last;
    }
}

/* Between two pops the first child of an inner queue is the one that was popped from last, even if
 * another one is better now. The inner queue is ranked by that child. Where the first child is the
 * best one, what queues hold and who is next in them tell which it is, so that two orders that are
 * alike in these differ in nothing else. */
static void note_top(struct orr_order *order, uint32_t index)
{
    struct orr_order_node *node = &order->nodes[index];
    order->tops -= node->top;
    node->top = node->child_count == 0 ? 0
                                       : orr_scatter((uint64_t)(node->queue + 1) << 32 |
                                                     order->nodes[node->children[0]].queue);
    order->tops += node->top;
}

static void note_tops(struct orr_order *order, uint32_t leaf)
{
    for (uint32_t n = order->nodes[leaf].parent; n != ORR_ORDER_ROOT; n = order->nodes[n].parent) {
        note_top(order, n);
    }
}

static bool is_above_inner(const struct orr_order *order, const struct orr_order_node *node)
{
    bool above = false;
    for (uint32_t c = 0; c < node->child_count; c++) {
        above = above || order->nodes[node->children[c]].child_count > 0;
    }
    return above;
}

/* Leaves are in order, as each had all its jobs when it was linked. A queue above others may have
 * become better by those that were added later, which the siblings before it in their heap do not
 * show: these change places only once they come first. */
bool orr_order_start_fingerprint(struct orr_order *order)
{
    const struct orr_session_hooks *hooks = order->session->hooks;
    if (hooks != NULL && hooks->queue_order != NULL) {
        return false; /* nothing is known of a plugin's order */
    }
    for (uint32_t n = 0; n < order->node_count; n++) {
        const struct orr_order_node *node = &order->nodes[n];
        for (uint32_t c = 3; c < node->child_count && is_above_inner(order, node); c++) {
            if (node_less(order, node->children[c], node->children[(c - 1) / 2])) {
                return false;
            }
        }
        if (n != ORR_ORDER_ROOT) {
            note_top(order, n);
        }
    }
    return true;
}

uint64_t orr_order_fingerprint(struct orr_order *order)
{
    if (order->last_leaf != ORR_NONE) {
        note_tops(order, order->last_leaf);
    }
    return order->heads + orr_scatter(order->tops + 1);
}

void orr_order_build(struct orr_order *order, const struct orr_jobview *views, uint32_t count)
{
    struct orr_order_entry *entries = orr_alloc(count + (size_t)1, sizeof *entries);
    const uint32_t kept = orr_order_prepare(order, views, count, entries);
    for (uint32_t i = 0; i < kept; i++) {
        push_entry(order, &entries[i]);
    }
    orr_free(entries);
}

/* --- popping --- */

/* The top child of a node, after sifting flagged ones until an unflagged one is there. `compared`
 * stays true if the top child was flagged, was sifted, and stayed on top. */
static uint32_t settle_top(struct orr_order *order, uint32_t node, bool *compared)
{
    struct orr_order_node *at = &order->nodes[node];
    bool stayed = false;
    while (order->nodes[at->children[0]].needs_reorder) {
        const uint32_t top = at->children[0];
        order->nodes[top].needs_reorder = false;
        sift_queue_down(order, at->children, at->child_count);
        stayed = at->children[0] == top;
        if (!stayed) {
            *compared = false;
        }
    }
    *compared = *compared && stayed;
    return at->children[0];
}

/* Removes an empty leaf and the queues above that are empty then; flags the others above. */
static void remove_empty(struct orr_order *order, uint32_t node)
{
    while (node != ORR_ORDER_ROOT && is_empty(&order->nodes[node])) {
        struct orr_order_node *parent = &order->nodes[order->nodes[node].parent];
        order->node_of_queue[order->nodes[node].queue] = ORR_NONE;
        ORR_ASSERT(parent->children[0] == node);
        parent->children[0] = parent->children[--parent->child_count];
        sift_queue_down(order, parent->children, parent->child_count);
        node = order->nodes[node].parent;
    }
    orr_order__mark_path(order, node);
}

/* Pops the leaf's best job. False: it is passed over (of a closed lane, or of the list). */
static bool pop_leaf(struct orr_order *order, struct orr_order_node *leaf, struct orr_jobview *view)
{
    if (from_lane(order, leaf)) {
        *view = leaf->head.entry.view;
        if (order->list != NULL) {
            next_listed(order, leaf, true);
            return false;
        }
        const bool wanted = order->open[leaf->head.lane];
        /* Not while pushed jobs are left: one may come first, be placed, and change shares. */
        orr_order__find_head(order, leaf, !wanted && leaf->job_count == 0);
        return wanted;
    }
    const bool added = is_added(order, leaf);
    const struct orr_order_entry *best = added ? leaf->added : leaf->jobs;
    *view = best->view;
    leaf->best = ORR_BEST_UNKNOWN;
    order->pushed--;
    if (order->victims) {
        order->popped[leaf->queue] = sum_demands(&order->popped[leaf->queue], &best->demand);
    }
    if (added) {
        leaf->added++;
        leaf->added_count--;
    } else {
        orr_order__drop_first(order, leaf);
    }
    return true;
}

/* If every queue on the way to the leaf was compared with its best job, adds the job's demand to
 * `compared_demands`; else, or if the leaf is another one, empties `compared_demands` first. */
static void record_compared(struct orr_order *order, uint32_t leaf, bool compared)
{
    if (leaf != order->last_leaf || !compared) {
        order->compared_count = 0;
    }
    order->last_leaf = leaf;
    const bool passes_over = order->list != NULL || order->open != NULL;
    if (compared && passes_over &&
        order->compared_count <
            sizeof order->compared_demands / sizeof order->compared_demands[0]) {
        order->compared_demands[order->compared_count++] =
            best_job(order, &order->nodes[leaf])->demand;
    }
}

bool orr_order_pop(struct orr_order *order, struct orr_jobview *view)
{
    bool found = orr_order__pop_only_lane(order, view);
    while (!found && order->nodes[ORR_ORDER_ROOT].child_count > 0 && orr_order__any_open(order)) {
        uint32_t at = ORR_ORDER_ROOT;
        bool compared = true;
        while (order->nodes[at].child_count > 0) {
            at = settle_top(order, at, &compared);
        }
        record_compared(order, at, compared);
        found = pop_leaf(order, &order->nodes[at], view);
        if (found) {
            order->compared_count = 0; /* what the caller does may change shares */
        }
        remove_empty(order, at);
        if (!found && order->hypothetical != NULL) {
            note_tops(order, at);
        }
    }
    return found;
}
