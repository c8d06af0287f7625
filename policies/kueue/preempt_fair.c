/* SPDX-License-Identifier: GPL-3.0-or-later */
/* preempt_fair.c - fair sharing: the queue that borrows most, by weight, gives first.
 *
 *     orr_kueue__fair
 *       first_strategy        shares as they will be against shares as they will be
 *         next_queue          who gives next: down the tree by shares
 *       second_strategy       one more workload of each queue that stays above
 */
#include <orrery/base/sort.h>

#include "kueue_int.h"

struct line { /* candidates of one queue in order */
    uint32_t *items;
    uint32_t next, count, capacity;
};

struct node_share { /* as of the books of the search */
    struct orr_quota_share share;
    bool known;
};

struct fair {
    struct kueue_problem *problem;
    struct line *lines, *retry; /* by queue */
    bool *pruned;               /* by node */
    bool *own_way;              /* by node: the searcher's queue, and what is above it */
    struct node_share *shares;  /* by node */
};

/* --- shares --- */

/* A search asks for all shares of the tree each time it looks for who gives next, and changes those
 * of one queue and the cohorts above it in between. */
static struct orr_quota_share share_of(struct fair *fair, uint32_t node)
{
    struct node_share *is = &fair->shares[node];
    if (!is->known) {
        is->share = orr_quota_share(fair->problem->kueue->tree, node);
        is->known = true;
    }
    return is->share;
}

static void forget_shares(struct fair *fair, uint32_t queue)
{
    const struct orr_quota_tree *tree = fair->problem->kueue->tree;
    for (uint32_t up = queue; up != ORR_NONE; up = tree->nodes[up].parent) {
        fair->shares[up].known = false;
    }
}

static void take_off_books(struct fair *fair, uint32_t workload)
{
    orr_kueue__off_books(fair->problem->kueue, workload);
    forget_shares(fair, fair->problem->kueue->workloads[workload].is.queue);
}

static void put_on_books(struct fair *fair, uint32_t workload)
{
    orr_kueue__on_books(fair->problem->kueue, workload);
    forget_shares(fair, fair->problem->kueue->workloads[workload].is.queue);
}

/* --- candidates --- */

static void push(struct line *line, uint32_t workload)
{
    line->items = ORR_ROOM_FOR_ONE(line->items, line->count, line->capacity);
    line->items[line->count++] = workload;
}

static bool is_empty(const struct line *line)
{
    return line->next == line->count;
}

static void collect(struct fair *fair, uint32_t queue, enum orr_kueue_preemption policy)
{
    const struct kueue_problem *problem = fair->problem;
    struct orr_kueue *kueue = problem->kueue;
    const struct kueue_queue *of = &kueue->queues[queue];
    const bool never = policy == ORR_KUEUE_NEVER || policy == ORR_KUEUE_UNSET;
    for (uint32_t i = 0; i < of->holder_count && !never; i++) {
        if (orr_kueue__satisfies(kueue, problem->workload, of->holders[i], policy) &&
            orr_kueue__uses(problem, of->holders[i])) {
            push(&fair->lines[queue], of->holders[i]);
        }
    }
    struct kueue_candidate_order order = {kueue, problem->queue, kueue->spec->config.usage_based};
    orr_sort(fair->lines[queue].items, fair->lines[queue].count, sizeof(uint32_t),
             orr_kueue__candidate_order, &order);
}

static bool collect_all(struct fair *fair)
{
    const struct kueue_problem *problem = fair->problem;
    const struct orr_kueue *kueue = problem->kueue;
    const struct orr_kueue_queue *own = &kueue->spec->queues[problem->queue];
    const uint32_t root = kueue->tree->nodes[problem->queue].root;
    bool any = false;
    for (uint32_t q = 0; q < kueue->spec->queue_count; q++) {
        if (q == problem->queue) {
            collect(fair, q, own->within);
        } else if (kueue->tree->nodes[q].root == root && orr_kueue__over_quota(problem, q)) {
            collect(fair, q, own->reclaim);
        }
        any = any || fair->lines[q].count > 0;
    }
    return any;
}

/* --- who gives next --- */

static void note_own_way(struct fair *fair)
{
    const struct orr_quota_node *nodes = fair->problem->kueue->tree->nodes;
    for (uint32_t up = fair->problem->queue; up != ORR_NONE; up = nodes[up].parent) {
        fair->own_way[up] = true;
    }
}

static bool comes_first(const struct fair *fair, const struct line *lines, uint32_t a, uint32_t b)
{
    struct kueue_candidate_order order = {fair->problem->kueue, fair->problem->queue, false};
    return orr_kueue__candidate_order(&lines[a].items[lines[a].next],
                                      &lines[b].items[lines[b].next], &order) < 0;
}

struct giver { /* the best of the children of one kind */
    uint32_t node;
    struct orr_quota_share share;
};

static void consider(const struct fair *fair, const struct line *lines, uint32_t child,
                     const struct orr_quota_share *share, struct giver *best)
{
    const bool cohort = fair->problem->kueue->tree->nodes[child].cohort;
    const int order = best->node == ORR_NONE ? 1 : orr_quota_share_compare(share, &best->share);
    if (order > 0 || (order == 0 && (cohort || comes_first(fair, lines, child, best->node)))) {
        *best = (struct giver){child, *share};
    }
}

/* The child of a cohort that gives, or is on the way to who does; ORR_NONE: none. */
static uint32_t next_below(struct fair *fair, const struct line *lines, uint32_t node)
{
    const struct orr_quota_tree *tree = fair->problem->kueue->tree;
    struct giver queue = {.node = ORR_NONE}, cohort = {.node = ORR_NONE};
    for (uint32_t i = 0; i < tree->nodes[node].child_count; i++) {
        const uint32_t child = tree->children[tree->nodes[node].first_child + i];
        if (fair->pruned[child]) {
            continue;
        }
        const struct orr_quota_share share = share_of(fair, child);
        const bool empty = !tree->nodes[child].cohort && is_empty(&lines[child]);
        if (empty || (!share.borrowing && !fair->own_way[child])) {
            fair->pruned[child] = true;
            continue;
        }
        consider(fair, lines, child, &share, tree->nodes[child].cohort ? &cohort : &queue);
    }
    const bool into_cohort =
        cohort.node != ORR_NONE &&
        (queue.node == ORR_NONE || orr_quota_share_compare(&cohort.share, &queue.share) >= 0);
    return into_cohort ? cohort.node : queue.node;
}

/* Down from the root. A cohort in which nobody gives is pruned, and the way goes on from the one
 * above it: Kueue begins at the root again, where the shares lead to that one. */
static uint32_t next_queue(struct fair *fair, const struct line *lines)
{
    const struct orr_quota_tree *tree = fair->problem->kueue->tree;
    const uint32_t own = fair->problem->queue;
    if (tree->nodes[own].parent == ORR_NONE) {
        return is_empty(&lines[own]) ? ORR_NONE : own;
    }
    uint32_t node = tree->nodes[own].root;
    while (node != ORR_NONE && tree->nodes[node].cohort) {
        const uint32_t below = fair->pruned[node] ? ORR_NONE : next_below(fair, lines, node);
        fair->pruned[node] = below == ORR_NONE;
        node = below != ORR_NONE ? below : tree->nodes[node].parent;
    }
    return node;
}

static void forget_pruned(struct fair *fair)
{
    for (uint32_t n = 0; n < fair->problem->kueue->tree->node_count; n++) {
        fair->pruned[n] = false;
    }
}

/* --- shares where two queues part --- */

struct duel { /* the two shares that are compared */
    uint32_t of_target;
    struct orr_quota_share ours, theirs; /* with the workload; before anything more goes */
};

/* Of the nodes on both ways up just below where they meet. */
static struct duel open_duel(struct fair *fair, uint32_t target)
{
    const struct orr_quota_node *nodes = fair->problem->kueue->tree->nodes;
    uint32_t own = fair->problem->queue;
    while (nodes[own].parent != nodes[target].parent) {
        if (nodes[own].depth > nodes[target].depth) {
            own = nodes[own].parent;
        } else if (nodes[own].depth < nodes[target].depth) {
            target = nodes[target].parent;
        } else {
            own = nodes[own].parent;
            target = nodes[target].parent;
        }
    }
    return (struct duel){target, share_of(fair, own), share_of(fair, target)};
}

static bool fits_now(struct fair *fair)
{
    struct kueue_problem *problem = fair->problem;
    for (uint32_t i = 0; i < problem->ask_count; i++) {
        orr_quota_give(problem->kueue->tree, problem->queue, problem->asks[i].cell,
                       problem->asks[i].amount);
    }
    const bool fits = orr_kueue__fits(problem, true);
    for (uint32_t i = 0; i < problem->ask_count; i++) {
        orr_quota_take(problem->kueue->tree, problem->queue, problem->asks[i].cell,
                       problem->asks[i].amount);
    }
    return fits;
}

static bool preempt(struct fair *fair, uint32_t workload, enum orr_kueue_reason reason,
                    struct kueue_targets *targets)
{
    orr_kueue__push_target(fair->problem, targets, workload, reason);
    return fits_now(fair);
}

/* --- strategies --- */

static bool is_within_nominal(const struct kueue_problem *problem)
{
    return !orr_kueue__over_quota(problem, problem->queue);
}

static bool passes(struct fair *fair, const struct duel *duel)
{
    const struct orr_kueue *kueue = fair->problem->kueue;
    if (kueue->spec->config.strategies[0] == ORR_KUEUE_LESS_THAN_INITIAL_SHARE) {
        return orr_quota_share_compare(&duel->ours, &duel->theirs) < 0;
    }
    const struct orr_quota_share after = share_of(fair, duel->of_target);
    return orr_quota_share_compare(&duel->ours, &after) <= 0;
}

/* Can no candidate go by a strategy, as the share of the target is too small before one has gone?
 */
static bool is_hopeless(const struct duel *duel)
{
    return orr_quota_share_compare(&duel->ours, &duel->theirs) > 0;
}

/* The first of a queue's candidates that fairness lets go; those before it are for the retry. */
static bool take_by_share(struct fair *fair, uint32_t target, const struct duel *duel,
                          uint32_t *taken)
{
    struct line *line = &fair->lines[target];
    while (!is_empty(line)) {
        const uint32_t candidate = line->items[line->next++];
        if (!is_hopeless(duel)) {
            take_off_books(fair, candidate);
            if (passes(fair, duel)) {
                *taken = candidate;
                return true;
            }
            put_on_books(fair, candidate);
        }
        push(&fair->retry[target], candidate);
    }
    return false;
}

/* Do the queues give in order of their shares, so that none behind a hopeless one is better? */
static bool is_flat(const struct fair *fair)
{
    const struct orr_quota_tree *tree = fair->problem->kueue->tree;
    return tree->nodes[tree->nodes[fair->problem->queue].root].height == 1;
}

static bool first_strategy(struct fair *fair, struct kueue_targets *targets)
{
    struct kueue_problem *problem = fair->problem;
    const bool within =
        !problem->kueue->spec->config.no_within_nominal && is_within_nominal(problem);
    for (uint32_t target; (target = next_queue(fair, fair->lines)) != ORR_NONE;) {
        struct line *line = &fair->lines[target];
        enum orr_kueue_reason reason = ORR_KUEUE_IN_COHORT_FAIR_SHARING;
        uint32_t taken;
        if (target == problem->queue || within) {
            reason = target == problem->queue ? ORR_KUEUE_IN_CLUSTER_QUEUE
                                              : ORR_KUEUE_IN_COHORT_RECLAMATION;
            taken = line->items[line->next++];
            take_off_books(fair, taken);
        } else {
            const struct duel duel = open_duel(fair, target);
            if (is_flat(fair) && is_hopeless(&duel)) {
                break; /* nor does the second strategy take any of these */
            }
            if (!take_by_share(fair, target, &duel, &taken)) {
                continue;
            }
        }
        if (preempt(fair, taken, reason, targets)) {
            return true;
        }
    }
    return false;
}

static bool second_strategy(struct fair *fair, struct kueue_targets *targets)
{
    forget_pruned(fair);
    for (uint32_t target; (target = next_queue(fair, fair->retry)) != ORR_NONE;) {
        struct line *line = &fair->retry[target];
        const struct duel duel = open_duel(fair, target);
        const uint32_t candidate = line->items[line->next];
        line->next = line->count; /* one of each queue, whether it goes or not */
        if (orr_quota_share_compare(&duel.ours, &duel.theirs) >= 0) {
            if (is_flat(fair)) {
                break;
            }
            continue;
        }
        take_off_books(fair, candidate);
        if (preempt(fair, candidate, ORR_KUEUE_IN_COHORT_FAIR_SHARING, targets)) {
            return true;
        }
    }
    return false;
}

static void account(struct kueue_problem *problem, bool take)
{
    for (uint32_t i = 0; i < problem->ask_count; i++) {
        (take ? orr_quota_take : orr_quota_give)(problem->kueue->tree, problem->queue,
                                                 problem->asks[i].cell, problem->asks[i].amount);
    }
}

static void search(struct fair *fair, struct kueue_targets *targets)
{
    struct kueue_problem *problem = fair->problem;
    account(problem, true);
    const bool found =
        first_strategy(fair, targets) ||
        (problem->kueue->spec->config.strategy_count > 1 && second_strategy(fair, targets));
    account(problem, false);
    if (found) {
        orr_kueue__fill_back(problem, targets, true);
    } else {
        orr_kueue__restore(problem, targets);
        targets->count = 0;
    }
}

void orr_kueue__fair(struct kueue_problem *problem, struct kueue_targets *targets)
{
    struct orr_kueue *kueue = problem->kueue;
    const uint32_t queues = kueue->spec->queue_count;
    struct fair fair = {.problem = problem};
    fair.lines = orr_arena_alloc(&kueue->arena, queues, sizeof *fair.lines);
    fair.retry = orr_arena_alloc(&kueue->arena, queues, sizeof *fair.retry);
    fair.pruned = orr_arena_alloc(&kueue->arena, kueue->tree->node_count, sizeof *fair.pruned);
    fair.shares = orr_arena_alloc(&kueue->arena, kueue->tree->node_count, sizeof *fair.shares);
    fair.own_way = orr_arena_alloc(&kueue->arena, kueue->tree->node_count, sizeof *fair.own_way);
    targets->count = 0;
    note_own_way(&fair);
    if (collect_all(&fair)) {
        search(&fair, targets);
    }
    for (uint32_t q = 0; q < queues; q++) {
        orr_free(fair.lines[q].items);
        orr_free(fair.retry[q].items);
    }
}
