/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which victims to try: the accumulator, its filters and the two generators (KAI's common/solvers).
 */
#include "slow.h"

#include <string.h>

struct steps { /* victims so far; group: the step that brought them */
    struct slow_victims all;
    uint32_t count;    /* steps */
    uint32_t last_job; /* that supplied the last victim, or ORR_NONE */
};

struct accumulator {
    struct slow_hunt *hunt;
    struct slow_heap *heap;
    struct steps steps;
};

static bool is_recorded(const struct slow_hunt *hunt, uint32_t task)
{
    for (uint32_t i = 0; i < hunt->recorded.count; i++) {
        if (hunt->recorded.task[i] == task) {
            return true;
        }
    }
    return false;
}

/* --- filters --- */

struct holder {
    int64_t capacity, placed;
};

static void sort_descending(int64_t *values, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t at = i; at > 0 && values[at] > values[at - 1]; at--) {
            const int64_t kept = values[at];
            values[at] = values[at - 1];
            values[at - 1] = kept;
        }
    }
}

/* Largest first into the largest holder that still has room; a holder that is too small as a whole
 * ends the search. */
static bool greedy_match(int64_t *wanted, uint32_t wanted_count, int64_t *capacity,
                         uint32_t holder_count)
{
    int64_t *placed = orr_zalloc(holder_count + (size_t)1, sizeof *placed);
    bool matched = true;
    sort_descending(wanted, wanted_count);
    sort_descending(capacity, holder_count);
    for (uint32_t i = 0; i < wanted_count && matched && wanted[i] != 0; i++) {
        matched = false;
        for (uint32_t h = 0; h < holder_count && capacity[h] >= wanted[i] && !matched; h++) {
            if (capacity[h] - placed[h] >= wanted[i]) {
                placed[h] += wanted[i];
                matched = true;
            }
        }
    }
    orr_free(placed);
    return matched;
}

static int64_t quota_of(const struct slow *slow, uint32_t task)
{
    return slow_ask(slow, task)->request.v[ORR_SLOT_GPU] + slow_ask(slow, task)->mig_mgpu;
}

/* Idle, releasing and what the victims would free. */
static void sum_free(const struct accumulator *acc, int64_t *free)
{
    const struct slow_hunt *hunt = acc->hunt;
    const struct slow *slow = hunt->slow;
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        free[n] = slow_idle_sum(slow, n) + slow_releasing_sum(slow, n);
    }
    for (uint32_t i = 0; i < hunt->recorded.count; i++) {
        const struct slow_where *at = &slow->at.tasks[hunt->recorded.task[i]].now;
        free[at->node] += at->quota_mgpu;
    }
    for (uint32_t i = 0; i < acc->steps.all.count; i++) {
        const struct slow_where *at = &slow->at.tasks[acc->steps.all.task[i]].now;
        free[at->node] += at->quota_mgpu;
    }
}

static bool selector_filter(const struct accumulator *acc)
{
    const struct slow_hunt *hunt = acc->hunt;
    const struct slow *slow = hunt->slow;
    for (uint32_t p = 0; p < hunt->pending.count; p++) {
        const uint32_t filter = slow_ask(slow, hunt->pending.task[p])->affinity;
        if (filter == ORR_NONE) {
            continue;
        }
        const bool *allowed = slow->in->filters[filter];
        bool found = false;
        for (uint32_t n = 0; n < slow->in->node_count; n++) {
            found = found || (hunt->nodes[n] && allowed[n]);
        }
        for (uint32_t i = 0; i < hunt->recorded.count; i++) {
            found = found || allowed[slow->at.tasks[hunt->recorded.task[i]].now.node];
        }
        for (uint32_t i = 0; i < acc->steps.all.count; i++) {
            found = found || allowed[slow->at.tasks[acc->steps.all.task[i]].now.node];
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static const struct orr_topology_level *required_level(const struct slow *slow, uint32_t set)
{
    const struct orr_constraint *constraint = &slow->in->sets[set].constraint;
    if (constraint->topology == NULL || constraint->required == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < slow->in->topology_count; i++) {
        const struct orr_topology *topology = &slow->in->topologies[i];
        for (uint32_t l = 0;
             strcmp(topology->name, constraint->topology) == 0 && l < topology->level_count; l++) {
            const struct orr_topology_level *level = &topology->levels[l];
            if (strcmp(level->label, constraint->required) == 0 ||
                (level->alias != NULL && strcmp(level->alias, constraint->required) == 0)) {
                return level;
            }
        }
    }
    return NULL;
}

static int64_t quota_below(const struct slow_hunt *hunt, uint32_t set)
{
    const struct slow *slow = hunt->slow;
    const struct orr_sjob *job = &slow->in->jobs[hunt->job];
    int64_t sum = 0;
    for (uint32_t t = 0; t < job->task_count; t++) {
        const uint32_t task = job->first_task + t;
        if (hunt->part.has[t] && slow_is_below(slow, slow->in->tasks[task].set, set)) {
            sum += quota_of(slow, task);
        }
    }
    return sum;
}

static bool level_filter(const struct accumulator *acc, const struct orr_topology_level *level,
                         const int64_t *free)
{
    const struct slow_hunt *hunt = acc->hunt;
    const struct slow *slow = hunt->slow;
    const struct orr_sjob *job = &slow->in->jobs[hunt->job];
    int64_t wanted[SLOW_JOB_SETS];
    uint32_t wanted_count = 0;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (!slow->in->sets[s].is_pods && required_level(slow, s) == level) {
            wanted[wanted_count++] = quota_below(hunt, s);
        }
    }
    int64_t *capacity = orr_zalloc(level->value_count + (size_t)1, sizeof *capacity);
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        if (level->value_of_node[n] != ORR_NONE) {
            capacity[level->value_of_node[n]] += free[n];
        }
    }
    const bool passed = greedy_match(wanted, wanted_count, capacity, level->value_count);
    orr_free(capacity);
    return passed;
}

static bool passes_filters(const struct accumulator *acc)
{
    const struct slow_hunt *hunt = acc->hunt;
    const struct slow *slow = hunt->slow;
    const struct orr_sjob *job = &slow->in->jobs[hunt->job];
    const uint32_t nodes = slow->in->node_count;
    int64_t *free = orr_alloc(nodes + (size_t)1, sizeof *free);
    int64_t wanted[SLOW_JOB_TASKS];
    sum_free(acc, free);
    bool passed = selector_filter(acc);
    for (uint32_t s = job->first_set; passed && s < job->first_set + job->set_count; s++) {
        const struct orr_topology_level *level = required_level(slow, s);
        if (!slow->in->sets[s].is_pods && level != NULL) {
            passed = level_filter(acc, level, free);
        }
    }
    for (uint32_t p = 0; p < hunt->pending.count; p++) {
        wanted[p] = quota_of(slow, hunt->pending.task[p]);
    }
    passed = passed && greedy_match(wanted, hunt->pending.count, free, nodes);
    orr_free(free);
    return passed;
}

/* --- the accumulator --- */

static void start(struct accumulator *acc, struct slow_hunt *hunt)
{
    const size_t tasks = hunt->slow->in->task_count + (size_t)1;
    *acc = (struct accumulator){.hunt = hunt};
    acc->heap = slow_heap_make(hunt->slow, true, -1, hunt->candidates, hunt->candidate_count);
    acc->steps.all.task = orr_alloc(tasks, sizeof(uint32_t));
    acc->steps.all.group = orr_alloc(tasks, sizeof(uint32_t));
    acc->steps.last_job = ORR_NONE;
}

static void stop(struct accumulator *acc)
{
    slow_heap_free(acc->heap);
    orr_free(acc->steps.all.task);
    orr_free(acc->steps.all.group);
}

/* Puts the job back without these tasks or without the recorded ones; not if nothing is left. */
static void push_rest(struct accumulator *acc, const struct slow_view *view,
                      const struct slow_list *taken)
{
    const struct orr_sjob *job = &acc->hunt->slow->in->jobs[view->job];
    struct slow_view rest = *view;
    bool any = false;
    for (uint32_t i = 0; taken != NULL && i < taken->count; i++) {
        rest.has[taken->task[i] - job->first_task] = false;
    }
    for (uint32_t t = 0; t < job->task_count; t++) {
        if (taken == NULL && is_recorded(acc->hunt, job->first_task + t)) {
            rest.has[t] = false;
        }
        any = any || rest.has[t];
    }
    if (any) {
        slow_heap_push(acc->heap, &rest);
    }
}

/* One more victim. False: there is none. */
static bool grow(struct accumulator *acc)
{
    struct slow_view view;
    while (slow_heap_pop(acc->heap, &view)) {
        struct slow_list taken;
        bool has_more;
        bool recorded = false;
        slow_to_evict(acc->hunt->slow, &view, &taken, &has_more);
        for (uint32_t i = 0; i < taken.count; i++) {
            recorded = recorded || is_recorded(acc->hunt, taken.task[i]);
        }
        if (recorded) {
            push_rest(acc, &view, NULL);
            continue;
        }
        if (has_more) {
            push_rest(acc, &view, &taken);
        }
        for (uint32_t i = 0; i < taken.count; i++) {
            acc->steps.all.task[acc->steps.all.count] = taken.task[i];
            acc->steps.all.group[acc->steps.all.count++] = acc->steps.count;
            acc->steps.last_job = view.job;
        }
        acc->steps.count++;
        return true;
    }
    return false;
}

/* --- node by node --- */

static bool has_pod_on(const struct slow *slow, uint32_t job, uint32_t node)
{
    const struct orr_sjob *at = &slow->in->jobs[job];
    for (uint32_t t = at->first_task; t < at->first_task + at->task_count; t++) {
        if (slow->at.tasks[t].now.node == node) {
            return true;
        }
    }
    return false;
}

struct seen { /* victim sets that were emitted, as masks over the accumulated tasks */
    bool **sets;
    uint32_t *sizes;
    uint32_t count, capacity;
};

static bool was_seen(struct seen *seen, bool *mask, uint32_t size)
{
    for (uint32_t i = 0; i < seen->count; i++) {
        const uint32_t both = seen->sizes[i] < size ? seen->sizes[i] : size;
        bool same = memcmp(seen->sets[i], mask, both) == 0;
        for (uint32_t k = both; k < size; k++) {
            same = same && !mask[k];
        }
        if (same) {
            orr_free(mask);
            return true;
        }
    }
    if (seen->count == seen->capacity) {
        seen->capacity = seen->capacity * 2 + 8;
        seen->sets = orr_realloc(seen->sets, seen->capacity, sizeof *seen->sets);
        seen->sizes = orr_realloc(seen->sizes, seen->capacity, sizeof *seen->sizes);
    }
    seen->sets[seen->count] = mask;
    seen->sizes[seen->count++] = size;
    return false;
}

static void forget(struct seen *seen)
{
    for (uint32_t i = 0; i < seen->count; i++) {
        orr_free(seen->sets[i]);
    }
    orr_free(seen->sets);
    orr_free(seen->sizes);
}

static bool has_victim_on(const struct slow *slow, const struct slow_victims *all, uint32_t job,
                          uint32_t node)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (slow->in->tasks[all->task[i]].job == job &&
            slow->at.tasks[all->task[i]].now.node == node) {
            return true;
        }
    }
    return false;
}

/* All accumulated victims of the jobs that have one on this node. */
static bool try_node(struct accumulator *acc, struct seen *seen, uint32_t node)
{
    const struct slow *slow = acc->hunt->slow;
    const struct slow_victims *all = &acc->steps.all;
    bool *mask = orr_zalloc(all->count + (size_t)1, sizeof *mask);
    struct slow_victims some = {.task = orr_alloc(all->count + (size_t)1, sizeof(uint32_t)),
                                .group = orr_alloc(all->count + (size_t)1, sizeof(uint32_t))};
    for (uint32_t i = 0; i < all->count; i++) {
        const uint32_t job = slow->in->tasks[all->task[i]].job;
        if (has_victim_on(slow, all, job, node)) {
            mask[i] = true;
            some.task[some.count] = all->task[i];
            some.group[some.count++] = job;
        }
    }
    const bool solved =
        some.count > 0 && !was_seen(seen, mask, all->count) && slow_try(acc->hunt, &some);
    if (some.count == 0) {
        orr_free(mask);
    }
    orr_free(some.task);
    orr_free(some.group);
    return solved;
}

static uint32_t node_named_after(const struct slow *slow, uint32_t last)
{
    uint32_t best = ORR_NONE;
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        const char *name = slow->in->nodes[n].name;
        if ((last == ORR_NONE || strcmp(name, slow->in->nodes[last].name) > 0) &&
            (best == ORR_NONE || strcmp(name, slow->in->nodes[best].name) < 0)) {
            best = n;
        }
    }
    return best;
}

bool slow_node_local(struct slow_hunt *hunt)
{
    const struct slow *slow = hunt->slow;
    struct accumulator acc;
    struct seen seen = {0};
    bool solved = false;
    start(&acc, hunt);
    do {
        if (!passes_filters(&acc)) {
            continue;
        }
        if (acc.steps.all.count == 0) {
            solved = hunt->recorded.count > 0 && slow_try(hunt, &acc.steps.all);
            continue;
        }
        for (uint32_t n = node_named_after(slow, ORR_NONE); n != ORR_NONE && !solved;
             n = node_named_after(slow, n)) {
            solved = has_pod_on(slow, acc.steps.last_job, n) && try_node(&acc, &seen, n);
        }
    } while (!solved && grow(&acc));
    forget(&seen);
    stop(&acc);
    return solved;
}

/* --- the smallest nodes that suffice --- */

struct spot { /* a node with victims */
    uint32_t node;
    int64_t capacity;
};

/* Whole steps that have a victim on one of the first `count` nodes. */
static bool try_prefix(struct accumulator *acc, const struct spot *spots, uint32_t count)
{
    const struct slow *slow = acc->hunt->slow;
    const struct slow_victims *all = &acc->steps.all;
    bool *picked = orr_zalloc(acc->steps.count + (size_t)1, sizeof *picked);
    struct slow_victims some = {.task = orr_alloc(all->count + (size_t)1, sizeof(uint32_t)),
                                .group = orr_alloc(all->count + (size_t)1, sizeof(uint32_t))};
    for (uint32_t i = 0; i < all->count; i++) {
        for (uint32_t s = 0; s < count; s++) {
            picked[all->group[i]] =
                picked[all->group[i]] || slow->at.tasks[all->task[i]].now.node == spots[s].node;
        }
    }
    for (uint32_t i = 0; i < all->count; i++) {
        if (picked[all->group[i]]) {
            some.task[some.count] = all->task[i];
            some.group[some.count++] = all->group[i];
        }
    }
    const bool solved = slow_try(acc->hunt, &some);
    orr_free(picked);
    orr_free(some.task);
    orr_free(some.group);
    return solved;
}

/* Nodes with victims that could hold the smallest task, smallest first. */
static uint32_t find_spots(const struct accumulator *acc, const int64_t *free, int64_t min_task,
                           struct spot *spots)
{
    const struct slow *slow = acc->hunt->slow;
    uint32_t count = 0;
    for (uint32_t i = 0; i < acc->steps.all.count; i++) {
        const uint32_t node = slow->at.tasks[acc->steps.all.task[i]].now.node;
        bool known = free[node] < min_task;
        for (uint32_t s = 0; s < count; s++) {
            known = known || spots[s].node == node;
        }
        if (known) {
            continue;
        }
        uint32_t at = count++;
        for (; at > 0 && free[node] < spots[at - 1].capacity; at--) {
            spots[at] = spots[at - 1];
        }
        spots[at] = (struct spot){node, free[node]};
    }
    return count;
}

static bool try_prefixes(struct accumulator *acc)
{
    struct slow_hunt *hunt = acc->hunt;
    const struct slow *slow = hunt->slow;
    int64_t *free = orr_alloc(slow->in->node_count + (size_t)1, sizeof *free);
    struct spot *spots = orr_alloc(slow->in->node_count + (size_t)1, sizeof *spots);
    int64_t demand = 0;
    int64_t min_task = INT64_MAX;
    for (uint32_t p = 0; p < hunt->pending.count; p++) {
        const int64_t quota = quota_of(slow, hunt->pending.task[p]);
        demand += quota;
        min_task = quota < min_task ? quota : min_task;
    }
    sum_free(acc, free);
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        bool has_victims = false;
        for (uint32_t i = 0; i < acc->steps.all.count; i++) {
            has_victims = has_victims || slow->at.tasks[acc->steps.all.task[i]].now.node == n;
        }
        demand -= hunt->nodes[n] && !has_victims ? free[n] : 0;
    }
    demand = demand > 0 ? demand : 0;
    const uint32_t count = find_spots(acc, free, min_task, spots);
    uint32_t first = 0;
    int64_t sum = 0;
    while (sum < demand && first < count) {
        sum += spots[first++].capacity;
    }
    bool solved = false;
    if (sum >= demand) {
        uint32_t at = first;
        for (uint32_t step = 1; !solved; step *= 2) {
            solved = try_prefix(acc, spots, at);
            if (at == count) {
                break;
            }
            at = at + step < count ? at + step : count;
        }
    }
    orr_free(spots);
    orr_free(free);
    return solved;
}

bool slow_multi_node(struct slow_hunt *hunt)
{
    struct accumulator acc;
    bool solved = false;
    start(&acc, hunt);
    do {
        if (passes_filters(&acc)) {
            solved = acc.steps.all.count == 0 ? slow_try(hunt, &acc.steps.all) : try_prefixes(&acc);
        }
    } while (!solved && grow(&acc));
    stop(&acc);
    return solved;
}
