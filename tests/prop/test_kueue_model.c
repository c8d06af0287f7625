/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of a cycle of Kueue (kueue_model.h) against the policy on random worlds: cohort trees,
 * several flavors and resources, both kinds of preemption, evicted holders, partial admission.
 * usage: test_kueue_model [FIRST_SEED COUNT] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kueue_model.h"
#include "test_main.h"

#include <orrery/base/mem.h>
#include <orrery/base/rng.h>
#include <orrery/policies/kueue.h>

/* --- the same world for the policy --- */

struct world {
    struct orr_rng rng;
    model model;
    struct orr_quota_tree tree;
    struct orr_kueue_spec spec;
    struct orr_kueue_flavor flavors[FLAVORS];
    struct orr_kueue_queue queues[QUEUES];
    struct orr_kueue_group groups[QUEUES];
    uint32_t lists[QUEUES][FLAVORS];
    struct orr_kueue_pod_set sets[ALL];
    struct orr_kueue *kueue;
};

static const uint32_t all_resources[RESOURCES] = {0, 1};

static int below(struct world *world, int bound)
{
    return (int)orr_rng_below(&world->rng, (uint64_t)bound);
}

static void draw_tree(struct world *world)
{
    model *m = &world->model;
    const int depth = below(world, 3); /* flat, two levels, or a chain of cohorts */
    for (int n = 0; n < NODES; n++) {
        const int cohort = n - QUEUES;
        m->weight[n] = below(world, 4) == 0 ? 2 : 1;
        m->parent[n] = n < QUEUES ? (below(world, 8) == 0 ? NONE : QUEUES + below(world, COHORTS))
                       : cohort == 0 || depth == 0 ? NONE
                       : depth == 1                ? QUEUES
                                                   : n - 1;
        for (int c = 0; c < CELLS; c++) {
            m->nominal[n][c] = below(world, n < QUEUES ? 10 : 4);
            m->borrow[n][c] = below(world, 4) == 0 ? below(world, 7) : -1;
            m->lend[n][c] = below(world, 4) == 0 ? below(world, 7) : -1;
        }
    }
}

static void draw_queues(struct world *world)
{
    static const enum orr_kueue_preemption within[] = {ORR_KUEUE_NEVER, ORR_KUEUE_LOWER_PRIORITY,
                                                       ORR_KUEUE_LOWER_OR_NEWER_EQUAL_PRIORITY};
    static const enum orr_kueue_preemption reclaim[] = {ORR_KUEUE_NEVER, ORR_KUEUE_LOWER_PRIORITY,
                                                        ORR_KUEUE_ANY, ORR_KUEUE_ANY};
    static const enum orr_kueue_preference preferences[] = {ORR_KUEUE_NO_PREFERENCE,
                                                            ORR_KUEUE_BORROWING_OVER_PREEMPTION,
                                                            ORR_KUEUE_PREEMPTION_OVER_BORROWING};
    model *m = &world->model;
    for (int q = 0; q < QUEUES; q++) {
        const int first = below(world, FLAVORS);
        m->flavor_count[q] = 1 + below(world, FLAVORS);
        for (int i = 0; i < m->flavor_count[q]; i++) {
            m->flavors[q][i] = (first + i) % FLAVORS;
            world->lists[q][i] = (uint32_t)m->flavors[q][i];
        }
        m->try_borrow[q] = below(world, 2) == 0;
        m->stop_preempt[q] = below(world, 2) == 0;
        m->preference[q] = preferences[below(world, 3)];
        m->within[q] = within[below(world, 3)];
        m->reclaim[q] = reclaim[below(world, 4)];
        m->borrow_within[q] = m->reclaim[q] != ORR_KUEUE_NEVER && !m->fair && below(world, 3) == 0;
        world->groups[q] = (struct orr_kueue_group){all_resources, world->lists[q], RESOURCES,
                                                    (uint32_t)m->flavor_count[q]};
        world->queues[q] = (struct orr_kueue_queue){.groups = &world->groups[q],
                                                    .group_count = 1,
                                                    .borrow_try_next = m->try_borrow[q],
                                                    .preempt_stop = m->stop_preempt[q],
                                                    .preference = m->preference[q],
                                                    .within = m->within[q],
                                                    .reclaim = m->reclaim[q],
                                                    .borrow_within = m->borrow_within[q]};
        /* a cell that a queue does not state is not its own */
        for (int c = 0; c < CELLS; c++) {
            bool has = false;
            for (int i = 0; i < m->flavor_count[q]; i++) {
                has = has || m->flavors[q][i] == c / RESOURCES;
            }
            if (!has) {
                m->nominal[q][c] = 0;
                m->borrow[q][c] = m->lend[q][c] = -1;
            }
        }
    }
}

static void draw_workload(struct world *world, int id)
{
    workload *w = &world->model.all[id];
    *w = (workload){.queue = id < HOLDERS ? below(world, QUEUES) : id - HOLDERS,
                    .priority = below(world, 3),
                    .rank = id,
                    .created = id < HOLDERS ? below(world, 50) : 50 + below(world, 50),
                    .reserved = below(world, 50),
                    .count = 1 + below(world, 4)};
    w->created = below(world, 6) == 0 ? 0 : w->created;
    w->least = id >= HOLDERS && below(world, 3) == 0 ? 1 : w->count;
    for (int r = 0; r < RESOURCES; r++) {
        w->per_pod[r] = below(world, 4) == 0 ? -1 : 1 + below(world, 3);
    }
    if (w->per_pod[0] < 0 && w->per_pod[1] < 0) {
        w->per_pod[0] = 1;
    }
}

static void open_policy(struct world *world)
{
    const model *m = &world->model;
    world->spec = (struct orr_kueue_spec){.resource_count = RESOURCES,
                                          .flavor_count = FLAVORS,
                                          .queue_count = QUEUES,
                                          .cohort_count = COHORTS,
                                          .pods_resource = ORR_NONE,
                                          .flavors = world->flavors,
                                          .queues = world->queues};
    world->spec.config.fair_sharing = m->fair;
    world->spec.config.strategies[1] = ORR_KUEUE_LESS_THAN_INITIAL_SHARE;
    world->spec.config.strategy_count = 2;
    orr_quota_init(&world->tree, NODES, FLAVORS, RESOURCES);
    for (uint32_t n = 0; n < NODES; n++) {
        world->tree.nodes[n].cohort = n >= QUEUES;
        world->tree.nodes[n].weight = m->weight[n];
        world->tree.nodes[n].parent = m->parent[n] == NONE ? ORR_NONE : (uint32_t)m->parent[n];
        for (uint32_t c = 0; c < CELLS; c++) {
            const size_t at = orr_quota_at(&world->tree, n, c);
            world->tree.cells[at] = (struct orr_quota_cell){
                .nominal = m->nominal[n][c],
                .borrowing_limit = m->borrow[n][c] < 0 ? ORR_QUOTA_NO_LIMIT : m->borrow[n][c],
                .lending_limit = m->lend[n][c] < 0 ? ORR_QUOTA_NO_LIMIT : m->lend[n][c]};
            world->tree.defined[at] = true;
        }
    }
    assert_true(orr_quota_build(&world->tree, NULL));
    orr_quota_sum(&world->tree);
    for (int f = 0; f < FLAVORS; f++) {
        world->flavors[f].topology = ORR_NONE;
    }
    world->kueue = orr_kueue_open(&world->spec, &world->tree);
}

static uint32_t add(struct world *world, int id)
{
    const workload *w = &world->model.all[id];
    world->sets[id] = (struct orr_kueue_pod_set){.name = "main",
                                                 .count = w->count,
                                                 .min_count = w->least < w->count ? w->least : -1,
                                                 .per_pod = w->per_pod};
    const struct orr_kueue_new added = {.queue = (uint32_t)w->queue,
                                        .local_queue = ORR_NONE,
                                        .priority = w->priority,
                                        .rank = (uint32_t)id,
                                        .created = w->created,
                                        .hash = (uint64_t)id,
                                        .pod_sets = &world->sets[id],
                                        .pod_set_count = 1,
                                        .replaces = ORR_NONE};
    return orr_kueue_add(world->kueue, &added);
}

/* Holds quota where there is some for it; the others stay out of the world. */
static void hold(struct world *world, int id)
{
    model *m = &world->model;
    workload *w = &m->all[id];
    const int f = m->flavors[w->queue][below(world, m->flavor_count[w->queue])];
    uint32_t flavors[RESOURCES];
    int64_t used[RESOURCES];
    bool room = true;
    for (int r = 0; r < RESOURCES; r++) {
        const int c = f * RESOURCES + r;
        flavors[r] = w->per_pod[r] < 0 ? ORR_NONE : (uint32_t)f;
        used[r] = w->per_pod[r] < 0 ? 0 : w->per_pod[r] * w->count;
        room = room && used[r] <= kueue_model_available(m, w->queue, c);
    }
    for (int r = 0; r < RESOURCES && room; r++) {
        w->usage[f * RESOURCES + r] = used[r];
    }
    w->held = room;
    w->evicted = room && below(world, 6) == 0;
    if (room) {
        const struct orr_kueue_held_set set = {
            .count = w->count, .flavors = flavors, .usage = used, .topology_flavor = ORR_NONE};
        orr_kueue_hold(world->kueue, (uint32_t)id, &set, w->reserved);
        orr_kueue_set_evicted(world->kueue, (uint32_t)id, w->evicted);
    }
}

static bool agrees(const struct world *world, uint64_t seed, int counts[2])
{
    const model *m = &world->model;
    int admitted[ALL] = {0}, evicted_for[ALL];
    uint32_t count;
    bool good = true;
    for (int w = 0; w < ALL; w++) {
        evicted_for[w] = NONE;
    }
    const struct orr_kueue_decision *decisions = orr_kueue_decisions(world->kueue, &count);
    for (uint32_t d = 0; d < count; d++) {
        const uint32_t id = decisions[d].workload;
        if (decisions[d].deed == ORR_KUEUE_EVICT) {
            evicted_for[id] = (int)decisions[d].by;
        } else {
            admitted[id] = (int)orr_kueue_held(world->kueue, id)->count;
        }
    }
    for (int w = 0; w < ALL; w++) {
        bool same = admitted[w] == m->admitted[w] && evicted_for[w] == m->evicted_for[w];
        for (int r = 0; r < RESOURCES && same && admitted[w] > 0; r++) {
            const uint32_t flavor = orr_kueue_held(world->kueue, (uint32_t)w)->flavors[r];
            same = m->all[w].per_pod[r] < 0 || (int)flavor == m->admitted_flavor[w];
        }
        counts[0] += admitted[w] > 0;
        counts[1] += evicted_for[w] != NONE;
        if (!same) {
            (void)fprintf(stderr,
                          "seed %llu, workload %d of queue %d: %d pods are admitted, the model %d; "
                          "evicted for %d, the model for %d\n",
                          (unsigned long long)seed, w, m->all[w].queue, admitted[w], m->admitted[w],
                          evicted_for[w], m->evicted_for[w]);
            good = false;
        }
    }
    return good;
}

static bool compare(uint64_t seed, int counts[2])
{
    struct world *world = orr_zalloc(1, sizeof *world);
    world->rng = orr_rng_stream(seed, "model", 0);
    world->model.fair = below(world, 2) == 0;
    draw_tree(world);
    draw_queues(world);
    open_policy(world);
    for (int id = 0; id < ALL; id++) {
        draw_workload(world, id);
        assert_int_equal(add(world, id), id);
        if (id < HOLDERS) {
            hold(world, id);
        } else {
            orr_kueue_queue(world->kueue, (uint32_t)id);
        }
    }
    kueue_model_run(&world->model);
    assert_true(orr_kueue_cycle(world->kueue, 1000));
    const bool good = agrees(world, seed, counts);
    orr_kueue_close(world->kueue);
    orr_quota_release(&world->tree);
    orr_free(world);
    return good;
}

static uint64_t first_seed = 1, seed_count = 2000;

static void cycle__decides_as_the_model(void **state)
{
    (void)state;
    int counts[2] = {0};
    bool good = true;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        good = compare(seed, counts) && good;
    }
    (void)printf("%d admissions, %d evictions\n", counts[0], counts[1]);
    assert_true(good);
    assert_true(counts[0] > 0 && (counts[1] > 0 || seed_count < 100));
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        first_seed = strtoull(argv[1], NULL, 10);
        seed_count = strtoull(argv[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycle__decides_as_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
