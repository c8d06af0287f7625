/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must hold whatever Kueue's rules decide, on random cohort trees, flavors and workloads, over
 * many cycles with arrivals, ends, victims that go and come back, and wakes.
 * usage: test_kueue_properties [FIRST_SEED COUNT] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_main.h"

#include <orrery/base/mem.h>
#include <orrery/base/rng.h>
#include <orrery/policies/kueue.h>

enum { QUEUES = 5, COHORTS = 3, NODES = QUEUES + COHORTS, FLAVORS = 2, RESOURCES = 2 };
enum { CELLS = FLAVORS * RESOURCES, WORKLOADS = 60, STEPS = 120, PRIORITIES = 3 };

struct world {
    struct orr_rng rng;
    struct orr_quota_tree tree;
    struct orr_kueue_spec spec;
    struct orr_kueue_flavor flavors[FLAVORS];
    struct orr_kueue_queue queues[QUEUES];
    struct orr_kueue *kueue;
    struct orr_kueue_pod_set sets[WORKLOADS];
    int64_t per_pod[WORKLOADS][RESOURCES];
    struct orr_kueue_new added[WORKLOADS];
    bool evicted[WORKLOADS], ended[WORKLOADS], was_held[WORKLOADS];
    uint32_t count, admissions, evictions;
    uint64_t seed, print;
    int64_t now;
};

static const uint32_t all_resources[RESOURCES] = {0, 1}, all_flavors[FLAVORS] = {0, 1};
static const struct orr_kueue_group groups[] = {{all_resources, all_flavors, RESOURCES, 1},
                                                {all_resources, all_flavors, RESOURCES, FLAVORS}};

static uint32_t below(struct world *world, uint32_t bound)
{
    return (uint32_t)orr_rng_below(&world->rng, bound);
}

static bool law(const struct world *world, bool holds, const char *what, uint32_t workload)
{
    if (!holds) {
        (void)fprintf(stderr, "seed %llu, second %lld, workload %u: %s\n",
                      (unsigned long long)world->seed, (long long)world->now, workload, what);
    }
    return holds;
}

/* --- a random world --- */

static void draw_quotas(struct world *world)
{
    for (uint32_t n = 0; n < NODES; n++) {
        world->tree.nodes[n].cohort = n >= QUEUES;
        world->tree.nodes[n].weight = below(world, 5) == 0 ? 2 : 1;
        /* cohorts 1 and 2 may be in cohort 0, queues anywhere or alone */
        const uint32_t cohort = n < QUEUES ? below(world, COHORTS + 1) : below(world, 2);
        world->tree.nodes[n].parent = n < QUEUES   ? (cohort < COHORTS ? QUEUES + cohort : ORR_NONE)
                                      : n > QUEUES ? (cohort == 0 ? QUEUES : ORR_NONE)
                                                   : ORR_NONE;
        for (uint32_t cell = 0; cell < CELLS; cell++) {
            const size_t at = orr_quota_at(&world->tree, n, cell);
            struct orr_quota_cell *is = &world->tree.cells[at];
            is->nominal = below(world, n < QUEUES ? 9 : 4);
            is->borrowing_limit = below(world, 3) == 0 ? below(world, 6) : ORR_QUOTA_NO_LIMIT;
            is->lending_limit = below(world, 3) == 0 ? below(world, 6) : ORR_QUOTA_NO_LIMIT;
            world->tree.defined[at] = true;
        }
    }
    assert_true(orr_quota_build(&world->tree, NULL));
    orr_quota_sum(&world->tree);
}

static void draw_queues(struct world *world)
{
    static const enum orr_kueue_preemption within[] = {ORR_KUEUE_NEVER, ORR_KUEUE_LOWER_PRIORITY,
                                                       ORR_KUEUE_LOWER_OR_NEWER_EQUAL_PRIORITY};
    static const enum orr_kueue_preemption reclaim[] = {ORR_KUEUE_NEVER, ORR_KUEUE_LOWER_PRIORITY,
                                                        ORR_KUEUE_ANY};
    for (uint32_t q = 0; q < QUEUES; q++) {
        struct orr_kueue_queue *queue = &world->queues[q];
        *queue = (struct orr_kueue_queue){.groups = &groups[below(world, 2)],
                                          .group_count = 1,
                                          .strict_fifo = below(world, 5) == 0,
                                          .borrow_try_next = below(world, 2) == 0,
                                          .preempt_stop = below(world, 2) == 0,
                                          .within = within[below(world, 3)],
                                          .reclaim = reclaim[below(world, 3)]};
        queue->borrow_within = queue->reclaim != ORR_KUEUE_NEVER &&
                               !world->spec.config.fair_sharing && below(world, 3) == 0;
    }
}

static void open_world(struct world *world, uint64_t seed)
{
    *world = (struct world){.rng = orr_rng_stream(seed, "kueue", 0), .seed = seed};
    world->spec = (struct orr_kueue_spec){.resource_count = RESOURCES,
                                          .flavor_count = FLAVORS,
                                          .queue_count = QUEUES,
                                          .cohort_count = COHORTS,
                                          .pods_resource = ORR_NONE,
                                          .flavors = world->flavors,
                                          .queues = world->queues};
    world->spec.config.fair_sharing = below(world, 2) == 0;
    world->spec.config.strategies[1] = ORR_KUEUE_LESS_THAN_INITIAL_SHARE;
    world->spec.config.strategy_count = 2;
    for (uint32_t f = 0; f < FLAVORS; f++) {
        world->flavors[f].topology = ORR_NONE;
    }
    orr_quota_init(&world->tree, NODES, FLAVORS, RESOURCES);
    draw_quotas(world);
    draw_queues(world);
    world->kueue = orr_kueue_open(&world->spec, &world->tree);
}

static void close_world(struct world *world)
{
    orr_kueue_close(world->kueue);
    orr_quota_release(&world->tree);
}

static void submit(struct world *world)
{
    const uint32_t id = world->count;
    struct orr_kueue_pod_set *set = &world->sets[id];
    const int64_t pods = 1 + below(world, 4);
    for (uint32_t r = 0; r < RESOURCES; r++) {
        const int64_t amount = 1 + below(world, 3);
        world->per_pod[id][r] = below(world, 4) == 0 ? ORR_KUEUE_NOT_ASKED : amount;
    }
    *set = (struct orr_kueue_pod_set){.name = "main",
                                      .count = pods,
                                      .min_count = below(world, 4) == 0 ? 1 : -1,
                                      .per_pod = world->per_pod[id]};
    world->added[id] = (struct orr_kueue_new){.queue = below(world, QUEUES),
                                              .local_queue = ORR_NONE,
                                              .priority = (int32_t)below(world, PRIORITIES),
                                              .rank = id,
                                              .created = world->now,
                                              .hash = id,
                                              .pod_sets = set,
                                              .pod_set_count = 1,
                                              .replaces = ORR_NONE};
    assert_int_equal(orr_kueue_add(world->kueue, &world->added[id]), id);
    orr_kueue_queue(world->kueue, id);
    world->count++;
}

/* --- laws --- */

/* What holders use of a cell in a queue, added up anew. */
static int64_t used(const struct world *world, uint32_t queue, uint32_t cell)
{
    int64_t sum = 0;
    for (uint32_t w = 0; w < world->count; w++) {
        const struct orr_kueue_held_set *held = orr_kueue_held(world->kueue, w);
        if (held != NULL && world->added[w].queue == queue &&
            held->flavors[cell % RESOURCES] == cell / RESOURCES) {
            sum += held->usage[cell % RESOURCES];
        }
    }
    return sum;
}

/* Books are what holders make of them, bottom up; nobody is above its limits, no root above what is
 * below it. Quotas do not change here. */
static bool books_hold(const struct world *world)
{
    int64_t usage[NODES] = {0};
    bool good = true;
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        for (uint32_t i = 0; i < NODES; i++) { /* queues, then cohorts 2, 1 and the root of both */
            const uint32_t n = i < QUEUES ? i : NODES - 1 - (i - QUEUES);
            usage[n] = n < QUEUES ? used(world, n, cell) : 0;
            for (uint32_t child = 0; child < NODES && n >= QUEUES; child++) {
                const int64_t own = orr_quota_local(&world->tree, child, cell);
                const bool lends = world->tree.nodes[child].parent == n && usage[child] > own;
                usage[n] += lends ? usage[child] - own : 0;
            }
            const size_t at = orr_quota_at(&world->tree, n, cell);
            const struct orr_quota_cell *is = &world->tree.cells[at];
            const bool root = world->tree.nodes[n].parent == ORR_NONE;
            const int64_t most = root ? world->tree.subtree[at]
                                 : is->borrowing_limit == ORR_QUOTA_NO_LIMIT
                                     ? INT64_MAX
                                     : world->tree.subtree[at] + is->borrowing_limit;
            good = law(world, world->tree.usage[at] == usage[n], "books differ from holders", n) &&
                   law(world, usage[n] <= most, "above its limit", n) && good;
        }
    }
    return good;
}

static bool admission_holds(const struct world *world, uint32_t id)
{
    const struct orr_kueue_held_set *held = orr_kueue_held(world->kueue, id);
    const struct orr_kueue_pod_set *set = &world->sets[id];
    const int64_t least = set->min_count >= 0 ? set->min_count : set->count;
    bool good = law(world, held != NULL && !world->was_held[id] && !world->ended[id],
                    "is admitted twice, or after its end", id) &&
                law(world, held->count >= least && held->count <= set->count, "pods", id);
    for (uint32_t r = 0; r < RESOURCES && good; r++) {
        const int64_t asked = world->per_pod[id][r];
        good = law(world,
                   asked == ORR_KUEUE_NOT_ASKED ? held->usage[r] == 0
                                                : held->usage[r] == asked * held->count,
                   "holds part of what it asks", id);
    }
    return good;
}

static bool satisfies(const struct world *world, uint32_t by, uint32_t victim,
                      enum orr_kueue_preemption policy)
{
    const struct orr_kueue_new *a = &world->added[by], *b = &world->added[victim];
    return policy == ORR_KUEUE_ANY ||
           (policy >= ORR_KUEUE_LOWER_PRIORITY && a->priority > b->priority) ||
           (policy == ORR_KUEUE_LOWER_OR_NEWER_EQUAL_PRIORITY && a->priority == b->priority &&
            a->created < b->created);
}

static bool eviction_holds(const struct world *world, const struct orr_kueue_decision *decision)
{
    const uint32_t by = decision->by, victim = decision->workload;
    const struct orr_kueue_new *a = &world->added[by], *b = &world->added[victim];
    const struct orr_kueue_queue *queue = &world->queues[a->queue];
    const bool own = a->queue == b->queue;
    bool borrows = false;
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        borrows =
            borrows || used(world, b->queue, cell) >
                           world->tree.cells[orr_quota_at(&world->tree, b->queue, cell)].nominal;
    }
    return law(world, world->was_held[victim] && !world->evicted[victim],
               "a victim that holds nothing, or goes already", victim) &&
           law(world, satisfies(world, by, victim, own ? queue->within : queue->reclaim),
               "its queue's policy does not let it take this one", by) &&
           law(world, own || world->tree.nodes[a->queue].root == world->tree.nodes[b->queue].root,
               "a victim of another tree", by) &&
           law(world, own || borrows, "a victim of a queue that borrows nothing", by) &&
           law(world, own == (decision->reason == ORR_KUEUE_IN_CLUSTER_QUEUE), "reason", by);
}

/* --- what goes on --- */

static void fold(struct world *world, uint64_t value)
{
    world->print = (world->print ^ value) * 0x9e3779b97f4a7c15u;
    world->print ^= world->print >> 29;
}

/* One cycle; `decided`: something was. */
static bool run_cycle(struct world *world, bool *ran, bool *decided)
{
    uint32_t count;
    bool good = true;
    for (uint32_t w = 0; w < world->count; w++) {
        world->was_held[w] = orr_kueue_holds(world->kueue, w);
    }
    *ran = orr_kueue_cycle(world->kueue, world->now);
    *decided = false;
    if (!*ran) {
        return true;
    }
    const struct orr_kueue_decision *decisions = orr_kueue_decisions(world->kueue, &count);
    bool queue_admits[QUEUES] = {false};
    for (uint32_t d = 0; d < count && good; d++) {
        const uint32_t id = decisions[d].workload, queue = world->added[id].queue;
        *decided = true;
        fold(world, (uint64_t)decisions[d].deed << 32 | id);
        if (decisions[d].deed == ORR_KUEUE_EVICT) {
            good = eviction_holds(world, &decisions[d]);
            world->evicted[id] = true;
            world->evictions++;
            orr_kueue_set_evicted(world->kueue, id, true);
        } else {
            good = admission_holds(world, id) &&
                   law(world, !queue_admits[queue], "two of a queue in one cycle", id);
            queue_admits[queue] = true;
            world->admissions++;
        }
    }
    return good && books_hold(world);
}

/* Cycles until they would repeat themselves; then one more decides nothing. */
static bool settle(struct world *world)
{
    uint64_t seen[64];
    uint32_t count = 0;
    bool ran = true, decided, good = true;
    for (uint32_t cycles = 0; good && ran; cycles++) {
        good = run_cycle(world, &ran, &decided) &&
               law(world, cycles < 50 * WORKLOADS, "cycles without end", 0);
        if (!ran || decided || orr_kueue_parked(world->kueue)) {
            count = 0;
            continue;
        }
        const uint64_t print = orr_kueue_print(world->kueue);
        for (uint32_t i = 0; i < count; i++) {
            if (seen[i] == print) {
                return run_cycle(world, &ran, &decided) &&
                       law(world, !decided, "a quiet cycle does not stay quiet", 0);
            }
        }
        assert_true(count < 64);
        seen[count++] = print;
    }
    return good;
}

/* One ends, or its victims' pods are gone: these queue again. */
static void step(struct world *world)
{
    const uint32_t what = below(world, 4);
    world->now++;
    if (what == 0 && world->count < WORKLOADS) {
        submit(world);
    }
    for (uint32_t w = 0; w < world->count && what == 1; w++) {
        if (world->evicted[w] && below(world, 2) == 0) {
            world->evicted[w] = false;
            orr_kueue_release(world->kueue, w);
            orr_kueue_queue(world->kueue, w);
            orr_kueue_wake(world->kueue, world->added[w].queue);
        }
    }
    for (uint32_t w = 0; w < world->count && what >= 2; w++) {
        if (orr_kueue_holds(world->kueue, w) && !world->evicted[w] && below(world, 6) == 0) {
            world->ended[w] = true;
            orr_kueue_release(world->kueue, w);
            orr_kueue_wake(world->kueue, world->added[w].queue);
            break;
        }
    }
}

static bool play(uint64_t seed, uint64_t *print, uint32_t counts[2])
{
    struct world world;
    bool good = true;
    open_world(&world, seed);
    for (uint32_t i = 0; i < STEPS && good; i++) {
        step(&world);
        good = settle(&world);
    }
    counts[0] += world.admissions;
    counts[1] += world.evictions;
    *print = world.print;
    close_world(&world);
    return good;
}

static uint64_t first_seed = 1, seed_count = 300;

static void kueue__keeps_its_promises_on_random_worlds(void **state)
{
    (void)state;
    uint32_t counts[2] = {0}, again[2] = {0};
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        uint64_t print, other;
        assert_true(play(seed, &print, counts));
        assert_true(play(seed, &other, again));
        assert_true(print == other);
    }
    (void)printf("%u admissions, %u evictions\n", counts[0], counts[1]);
    assert_true(counts[0] > seed_count && (counts[1] > 0 || seed_count < 100));
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        first_seed = strtoull(argv[1], NULL, 10);
        seed_count = strtoull(argv[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kueue__keeps_its_promises_on_random_worlds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
