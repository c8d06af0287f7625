/* SPDX-License-Identifier: GPL-3.0-or-later */
/* preempt_classic.c - candidates of the own queue and of those that borrow in its cohort tree. */
#include "kueue_int.h"

enum kind { OF_HIERARCHY, OF_COHORT, OF_QUEUE, KINDS }; /* the lists, in the order they are used */

enum variant { HIERARCHICAL, RECLAIM_WITHOUT_BORROWING, RECLAIM_WHILE_BORROWING, WITHIN_QUEUE };

/* A heap whose first ones go to its end as they are asked for: most searches need a few. */
struct list {
    uint32_t *items;
    uint32_t count, capacity;
    uint32_t left; /* of the heap; behind it those that were asked for, the last one first */
};

struct search {
    struct kueue_problem *problem;
    struct list lists[KINDS];
    bool hierarchy_alone; /* its attempts borrow: only by hierarchy does it take from others */
    struct kueue_candidate_order order;
    uint32_t *common; /* by position in the queues: the ancestor where a queue was found */
    int64_t *rest;    /* by ask: what the levels so far could not give */
};

static void add(struct search *search, enum kind kind, uint32_t workload)
{
    struct list *list = &search->lists[kind];
    list->items = ORR_ROOM_FOR_ONE(list->items, list->count, list->capacity);
    list->items[list->count++] = workload;
}

static void collect_queue(struct search *search, enum kind kind, uint32_t queue,
                          enum orr_kueue_preemption policy)
{
    const struct kueue_problem *problem = search->problem;
    const struct kueue_queue *of = &problem->kueue->queues[queue];
    for (uint32_t i = 0; i < of->holder_count; i++) {
        if (orr_kueue__satisfies(problem->kueue, problem->workload, of->holders[i], policy) &&
            orr_kueue__uses(problem, of->holders[i])) {
            add(search, kind, of->holders[i]);
        }
    }
}

static void collect_below(struct search *search, enum kind kind, uint32_t node, uint32_t done,
                          uint32_t ancestor)
{
    const struct kueue_problem *problem = search->problem;
    const struct orr_quota_tree *tree = problem->kueue->tree;
    const struct orr_quota_node *at = &tree->nodes[node];
    for (uint32_t i = 0; i < at->child_count; i++) {
        const uint32_t child = tree->children[at->first_child + i];
        if (child == done || child == problem->queue || !orr_kueue__over_quota(problem, child)) {
            continue;
        }
        if (tree->nodes[child].cohort) {
            collect_below(search, kind, child, done, ancestor);
        } else {
            search->common[child] = ancestor;
            collect_queue(search, kind, child,
                          problem->kueue->spec->queues[problem->queue].reclaim);
        }
    }
}

/* Would all of it fit in the node's own quota? What the level keeps to itself goes off the rest. */
static bool fits_within(struct search *search, uint32_t node, bool whole)
{
    const struct kueue_problem *problem = search->problem;
    bool fits = true;
    for (uint32_t i = 0; i < problem->ask_count; i++) {
        const uint32_t cell = problem->asks[i].cell;
        const int64_t asked = whole ? problem->asks[i].amount : search->rest[i];
        const int64_t own = orr_quota_local_available(problem->kueue->tree, node, cell);
        fits = fits && !orr_quota_borrows_with(problem->kueue->tree, node, cell, asked);
        search->rest[i] = asked > own ? orr_quota_sub(asked, own) : 0;
    }
    return fits;
}

static void collect_others(struct search *search)
{
    const struct kueue_problem *problem = search->problem;
    const struct orr_quota_tree *tree = problem->kueue->tree;
    uint32_t done = problem->queue;
    bool advantage = fits_within(search, problem->queue, true);
    for (uint32_t up = tree->nodes[problem->queue].parent; up != ORR_NONE;
         up = tree->nodes[up].parent) {
        if (advantage || !search->hierarchy_alone) {
            collect_below(search, advantage ? OF_HIERARCHY : OF_COHORT, up, done, up);
        }
        advantage = fits_within(search, up, false) || advantage;
        done = up;
    }
}

static bool comes_before(struct search *search, uint32_t a, uint32_t b)
{
    return orr_kueue__candidate_order(&a, &b, &search->order) < 0;
}

static void sink(struct search *search, struct list *list, uint32_t at)
{
    for (uint32_t child; (child = 2 * at + 1) < list->left; at = child) {
        uint32_t *items = list->items;
        if (child + 1 < list->left && comes_before(search, items[child + 1], items[child])) {
            child++;
        }
        if (!comes_before(search, items[child], items[at])) {
            return;
        }
        const uint32_t item = items[at];
        items[at] = items[child];
        items[child] = item;
    }
}

static void make_heap(struct search *search, struct list *list)
{
    list->left = list->count;
    for (uint32_t at = list->count / 2; at-- > 0;) {
        sink(search, list, at);
    }
}

static void collect(struct search *search)
{
    struct kueue_problem *problem = search->problem;
    const struct orr_kueue_queue *queue = &problem->kueue->spec->queues[problem->queue];
    if (queue->within != ORR_KUEUE_NEVER) {
        collect_queue(search, OF_QUEUE, problem->queue, queue->within);
    }
    if (problem->kueue->tree->nodes[problem->queue].parent != ORR_NONE &&
        queue->reclaim != ORR_KUEUE_NEVER) {
        collect_others(search);
    }
    search->order = (struct kueue_candidate_order){problem->kueue, problem->queue,
                                                   problem->kueue->spec->config.usage_based};
    for (int kind = 0; kind < KINDS; kind++) {
        make_heap(search, &search->lists[kind]);
    }
}

/* By its place in the order; the list has more. */
static uint32_t candidate_at(struct search *search, struct list *list, uint32_t place)
{
    while (list->count - list->left <= place) {
        const uint32_t first = list->items[0];
        list->items[0] = list->items[--list->left];
        sink(search, list, 0);
        list->items[list->left] = first;
    }
    return list->items[list->count - 1 - place];
}

static enum variant variant_of(const struct search *search, enum kind kind, uint32_t candidate)
{
    const struct kueue_problem *problem = search->problem;
    const struct orr_kueue_queue *queue = &problem->kueue->spec->queues[problem->queue];
    const int32_t priority = problem->kueue->workloads[candidate].is.priority;
    if (kind != OF_COHORT) {
        return kind == OF_QUEUE ? WITHIN_QUEUE : HIERARCHICAL;
    }
    if (!queue->borrow_within ||
        priority >= problem->kueue->workloads[problem->workload].is.priority ||
        (queue->has_priority_threshold && priority > queue->priority_threshold)) {
        return RECLAIM_WITHOUT_BORROWING;
    }
    return RECLAIM_WHILE_BORROWING;
}

static bool is_valid(const struct search *search, enum variant variant, uint32_t candidate,
                     bool borrow)
{
    const struct kueue_problem *problem = search->problem;
    const struct orr_quota_tree *tree = problem->kueue->tree;
    const uint32_t queue = problem->kueue->workloads[candidate].is.queue;
    if (variant == WITHIN_QUEUE) {
        return true;
    }
    if ((borrow && variant == RECLAIM_WITHOUT_BORROWING) ||
        !orr_kueue__over_quota(problem, queue)) {
        return false;
    }
    for (uint32_t up = tree->nodes[queue].parent; up != search->common[queue];
         up = tree->nodes[up].parent) {
        if (!orr_kueue__over_quota(problem, up)) {
            return false;
        }
    }
    return true;
}

static enum orr_kueue_reason reason_of(enum variant variant)
{
    static const enum orr_kueue_reason reasons[] = {
        ORR_KUEUE_IN_COHORT_RECLAMATION, ORR_KUEUE_IN_COHORT_RECLAMATION,
        ORR_KUEUE_IN_COHORT_RECLAIM_WHILE_BORROWING, ORR_KUEUE_IN_CLUSTER_QUEUE};
    return reasons[variant];
}

/* Takes candidates of a list one after the other, who is evicted already being first; true: the
 * workload fits. */
static bool take_from(struct search *search, enum kind kind, bool evicted, bool borrow,
                      struct kueue_targets *targets)
{
    struct kueue_problem *problem = search->problem;
    struct list *list = &search->lists[kind];
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t candidate = candidate_at(search, list, i);
        const enum variant variant = variant_of(search, kind, candidate);
        if (evicted && !problem->kueue->workloads[candidate].evicted) {
            return false;
        }
        if (problem->kueue->workloads[candidate].evicted != evicted ||
            !is_valid(search, variant, candidate, borrow)) {
            continue;
        }
        orr_kueue__off_books(problem->kueue, candidate);
        orr_kueue__push_target(problem, targets, candidate, reason_of(variant));
        if (orr_kueue__fits(problem, borrow)) {
            return true;
        }
    }
    return false;
}

static bool attempt(struct search *search, bool borrow, struct kueue_targets *targets)
{
    targets->count = 0;
    for (int evicted = 1; evicted >= 0; evicted--) {
        for (int kind = 0; kind < KINDS; kind++) {
            if (take_from(search, (enum kind)kind, evicted != 0, borrow, targets)) {
                orr_kueue__fill_back(search->problem, targets, borrow);
                return true;
            }
        }
    }
    orr_kueue__restore(search->problem, targets);
    targets->count = 0;
    return false;
}

static bool is_under_nominal(const struct kueue_problem *problem)
{
    const struct orr_quota_tree *tree = problem->kueue->tree;
    for (uint32_t n = 0; n < problem->need_count; n++) {
        const size_t here = orr_quota_at(tree, problem->queue, problem->need[n]);
        if (tree->usage[here] >= tree->cells[here].nominal) {
            return false;
        }
    }
    return true;
}

void orr_kueue__classic(struct kueue_problem *problem, struct kueue_targets *targets)
{
    struct orr_kueue *kueue = problem->kueue;
    struct search search = {.problem = problem};
    search.common = orr_arena_alloc(&kueue->arena, kueue->tree->node_count, sizeof *search.common);
    search.rest = orr_arena_alloc(&kueue->arena, problem->ask_count + 1, sizeof *search.rest);
    const bool forbidden = !kueue->spec->queues[problem->queue].borrow_within;
    search.hierarchy_alone = forbidden && !is_under_nominal(problem);
    collect(&search);
    const bool nobody_else =
        search.lists[OF_HIERARCHY].count == 0 && search.lists[OF_COHORT].count == 0;
    const uint32_t all = search.lists[OF_HIERARCHY].count + search.lists[OF_COHORT].count +
                         search.lists[OF_QUEUE].count;
    if (all == 0) {
        targets->count = 0;
    } else if (nobody_else || search.hierarchy_alone) {
        (void)attempt(&search, true, targets);
    } else {
        const bool first = !(forbidden && search.lists[OF_HIERARCHY].count == 0);
        if (!attempt(&search, first, targets)) {
            (void)attempt(&search, !first, targets);
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        orr_free(search.lists[kind].items);
    }
}
