/* SPDX-License-Identifier: GPL-3.0-or-later */
/* preempt.c - whom to preempt: what both algorithms share.
 *
 *     orr_kueue__oracle      one cell alone, while flavors are searched
 *     orr_kueue_targets      for a whole assignment
 *       orr_kueue__classic   preempt_classic.c
 *       orr_kueue__fair      preempt_fair.c
 *         orr_kueue__fits, orr_kueue__fill_back
 */
#include "kueue_int.h"

const char *const orr_kueue_reasons[] = {
    "InClusterQueue",      "InCohortReclamation", "InCohortReclaimWhileBorrowing",
    "InCohortFairSharing", "NodeFailures",        "WorkloadSliceReplaced"};

bool orr_kueue__satisfies(const struct orr_kueue *kueue, uint32_t workload, uint32_t candidate,
                          enum orr_kueue_preemption policy)
{
    const struct kueue_workload *w = &kueue->workloads[workload];
    const struct kueue_workload *c = &kueue->workloads[candidate];
    switch (policy) {
    case ORR_KUEUE_ANY: return true;
    case ORR_KUEUE_LOWER_PRIORITY: return w->is.priority > c->is.priority;
    case ORR_KUEUE_LOWER_OR_NEWER_EQUAL_PRIORITY:
        return w->is.priority > c->is.priority ||
               (w->is.priority == c->is.priority && w->order_at < c->order_at);
    case ORR_KUEUE_UNSET:
    case ORR_KUEUE_NEVER: break;
    }
    return false;
}

bool orr_kueue__uses(const struct kueue_problem *problem, uint32_t candidate)
{
    const struct kueue_workload *is = &problem->kueue->workloads[candidate];
    if (is->hidden) {
        return false;
    }
    for (uint32_t u = 0; u < is->usage_count; u++) {
        for (uint32_t n = 0; n < problem->need_count; n++) {
            if (is->usage[u].cell == problem->need[n]) {
                return true;
            }
        }
    }
    return false;
}

bool orr_kueue__over_quota(const struct kueue_problem *problem, uint32_t node)
{
    const struct orr_quota_tree *tree = problem->kueue->tree;
    for (uint32_t n = 0; n < problem->need_count; n++) {
        if (orr_quota_borrows_with(tree, node, problem->need[n], 0)) {
            return true;
        }
    }
    return false;
}

bool orr_kueue__fits(const struct kueue_problem *problem, bool borrow)
{
    const struct orr_quota_tree *tree = problem->kueue->tree;
    for (uint32_t i = 0; i < problem->ask_count; i++) {
        const struct orr_kueue_amount *ask = &problem->asks[i];
        if (!borrow && orr_quota_borrows_with(tree, problem->queue, ask->cell, ask->amount)) {
            return false;
        }
        if (ask->amount > orr_quota_available(tree, problem->queue, ask->cell)) {
            return false;
        }
    }
    if (problem->topology == NULL) {
        return true;
    }
    struct orr_kueue_assignment trial = *problem->topology;
    return orr_kueue__place_all(problem->kueue, problem->workload, &trial, false, false);
}

void orr_kueue__push_target(struct kueue_problem *problem, struct kueue_targets *targets,
                            uint32_t workload, enum orr_kueue_reason reason)
{
    if (targets->count == targets->capacity) {
        const uint32_t capacity = targets->capacity == 0 ? 8 : 2 * targets->capacity;
        struct orr_kueue_target *items =
            orr_arena_alloc(&problem->kueue->arena, capacity, sizeof *items);
        for (uint32_t i = 0; i < targets->count; i++) {
            items[i] = targets->items[i];
        }
        targets->items = items;
        targets->capacity = capacity;
    }
    targets->items[targets->count++] = (struct orr_kueue_target){workload, reason};
}

void orr_kueue__restore(struct kueue_problem *problem, const struct kueue_targets *targets)
{
    for (uint32_t i = 0; i < targets->count; i++) {
        orr_kueue__on_books(problem->kueue, targets->items[i].workload);
    }
}

void orr_kueue__fill_back(struct kueue_problem *problem, struct kueue_targets *targets, bool borrow)
{
    for (uint32_t i = targets->count >= 2 ? targets->count - 1 : 0; i-- > 0;) {
        const uint32_t workload = targets->items[i].workload;
        orr_kueue__on_books(problem->kueue, workload);
        if (orr_kueue__fits(problem, borrow)) {
            targets->items[i] = targets->items[--targets->count];
        } else {
            orr_kueue__off_books(problem->kueue, workload);
        }
    }
    orr_kueue__restore(problem, targets);
}

/* --- order of candidates --- */

/* Of one queue alone, whichever it is: between several the other rules decide. */
static int by_local_usage(const struct kueue_candidate_order *order, const struct kueue_workload *a,
                          const struct kueue_workload *b)
{
    const struct orr_kueue *kueue = order->kueue;
    if (!order->by_usage || a->is.queue != b->is.queue ||
        !kueue->spec->queues[a->is.queue].usage_based || a->is.local_queue == b->is.local_queue ||
        a->is.local_queue == ORR_NONE || b->is.local_queue == ORR_NONE) {
        return 0;
    }
    const double usage_a = orr_kueue__local_usage(kueue, a->is.local_queue);
    const double usage_b = orr_kueue__local_usage(kueue, b->is.local_queue);
    return (usage_b > usage_a) - (usage_b < usage_a);
}

int orr_kueue__candidate_order(const void *a, const void *b, void *context)
{
    const struct kueue_candidate_order *order = context;
    const struct kueue_workload *x = &order->kueue->workloads[*(const uint32_t *)a];
    const struct kueue_workload *y = &order->kueue->workloads[*(const uint32_t *)b];
    if (x->evicted != y->evicted) {
        return x->evicted ? -1 : 1;
    }
    const bool own_x = x->is.queue == order->queue, own_y = y->is.queue == order->queue;
    if (own_x != own_y) {
        return own_x ? 1 : -1;
    }
    const int usage = by_local_usage(order, x, y);
    if (usage != 0) {
        return usage;
    }
    if (x->is.priority != y->is.priority) {
        return x->is.priority < y->is.priority ? -1 : 1;
    }
    if (x->reserved_at != y->reserved_at) {
        return x->reserved_at > y->reserved_at ? -1 : 1;
    }
    return x->is.rank < y->is.rank ? -1 : x->is.rank > y->is.rank;
}

/* --- the whole search --- */

static void search(struct kueue_problem *problem, struct kueue_targets *targets)
{
    if (problem->kueue->spec->config.fair_sharing) {
        orr_kueue__fair(problem, targets);
    } else {
        orr_kueue__classic(problem, targets);
    }
}

enum orr_kueue_flavor_mode orr_kueue__oracle(void *context, uint32_t cell, int64_t amount,
                                             uint32_t *level)
{
    struct kueue_oracle *oracle = context;
    struct orr_kueue *kueue = oracle->kueue;
    const struct orr_kueue_amount ask = {cell, amount};
    struct kueue_problem problem = {.kueue = kueue,
                                    .workload = oracle->workload,
                                    .queue = kueue->workloads[oracle->workload].is.queue,
                                    .need = &cell,
                                    .need_count = 1,
                                    .asks = &ask,
                                    .ask_count = 1};
    struct kueue_targets targets = {0};
    search(&problem, &targets);
    oracle->asked = ask;
    oracle->found = targets;
    if (targets.count == 0) {
        return ORR_KUEUE_F_NO_CANDIDATES;
    }
    bool own = false, reclaims;
    for (uint32_t i = 0; i < targets.count; i++) {
        own = own || kueue->workloads[targets.items[i].workload].is.queue == problem.queue;
        orr_kueue__off_books(kueue, targets.items[i].workload);
    }
    *level = orr_quota_height(kueue->tree, problem.queue, cell, amount, &reclaims);
    orr_kueue__restore(&problem, &targets);
    return own ? ORR_KUEUE_F_PREEMPT : ORR_KUEUE_F_RECLAIM;
}

/* The cells that cannot be had without preemption. */
static uint32_t list_need(const struct orr_kueue *kueue,
                          const struct orr_kueue_assignment *assignment, uint32_t *need)
{
    uint32_t count = 0;
    for (uint32_t u = 0; u < assignment->usage_count; u++) {
        const uint32_t cell = assignment->usage[u].cell;
        bool needed = assignment->all_need;
        for (uint32_t i = 0; !needed && i < assignment->set_count * kueue->resources; i++) {
            const struct orr_kueue_flavored *at = &assignment->flavored[i];
            needed = at->flavor != ORR_NONE && at->mode == ORR_KUEUE_PREEMPT &&
                     at->flavor * kueue->resources + i % kueue->resources == cell;
        }
        if (needed) {
            need[count++] = cell;
        }
    }
    return count;
}

/* Is it the question that the oracle answered last? */
static bool was_asked(const struct kueue_oracle *oracle, const struct kueue_problem *problem)
{
    return oracle->asked.amount > 0 && problem->topology == NULL && problem->ask_count == 1 &&
           problem->asks[0].cell == oracle->asked.cell &&
           problem->asks[0].amount == oracle->asked.amount && problem->need_count == 1;
}

const struct orr_kueue_target *orr_kueue__targets(const struct kueue_oracle *oracle,
                                                  const struct orr_kueue_assignment *assignment,
                                                  uint32_t *count)
{
    struct orr_kueue *kueue = oracle->kueue;
    uint32_t *need = orr_arena_alloc(&kueue->arena, assignment->usage_count + 1, sizeof *need);
    struct kueue_problem problem = {.kueue = kueue,
                                    .workload = oracle->workload,
                                    .queue = kueue->workloads[oracle->workload].is.queue,
                                    .need = need,
                                    .need_count = list_need(kueue, assignment, need),
                                    .asks = assignment->usage,
                                    .ask_count = assignment->usage_count};
    if (orr_kueue__uses_topology(kueue, oracle->workload, assignment)) {
        problem.topology = assignment;
    }
    struct kueue_targets targets = oracle->found;
    if (!was_asked(oracle, &problem)) {
        targets = (struct kueue_targets){0};
        search(&problem, &targets);
    }
    *count = targets.count;
    return targets.items;
}

const struct orr_kueue_target *orr_kueue_targets(struct orr_kueue *kueue, uint32_t workload,
                                                 const struct orr_kueue_assignment *assignment,
                                                 uint32_t *count)
{
    const struct kueue_oracle fresh = {.kueue = kueue, .workload = workload};
    return orr_kueue__targets(&fresh, assignment, count);
}
