/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buddy cells (placement hived): on random worlds a virtual cluster is as good as a cluster of its
 * own, whoever else is there; where cells are cut and bound, by hand. */
#include "test_main.h"

#include <orrery/base/rng.h>
#include <orrery/core/place.h>

#include "core_world.h"

enum { QUEUES_MAX = 4, JOBS = 80, STEPS = 300, SIZES = 8 };

struct desk { /* one ledger over the world, with its placer */
    struct orr_ledger *ledger;
    struct orr_txn *txn;
    struct orr_placer *placer;
};

struct scene {
    struct core_world world;
    uint32_t gpus, nodes, each_rack, queues; /* nodes in a rack; 0: no racks */
    uint32_t quota[QUEUES_MAX];
    struct desk shared, alone[QUEUES_MAX];     /* all queues' jobs; those of one queue */
    uint32_t whole[QUEUES_MAX][SIZES + 1][32]; /* jobs of one task that ask so many devices */
};

static uint32_t below(struct orr_rng *rng, uint32_t bound)
{
    return (uint32_t)orr_rng_below(rng, bound);
}

static void desk_open(struct desk *desk, const struct core_world *world)
{
    const struct orr_placer_params params = {.choice = ORR_PLACEMENT_HIVED};
    desk->ledger = core_world_open(world);
    desk->txn = orr_txn_open(desk->ledger, ORR_LAW_GANG);
    desk->placer = orr_placer_open(&params, desk->ledger, 7);
}

static void desk_close(struct desk *desk)
{
    orr_placer_close(desk->placer);
    orr_txn_close(desk->txn);
    orr_ledger_close(desk->ledger);
}

static enum orr_reason start(struct desk *desk, uint32_t job)
{
    if (desk->ledger->jobs[job].phase == ORR_JOB_FUTURE) {
        orr_ledger_submit(desk->ledger, job);
    }
    const enum orr_reason reason = orr_place_all(desk->placer, desk->txn, desk->ledger, job);
    if (reason == ORR_REASON_NONE) { /* nobody starts of whom it would be said that it never does */
        assert_int_equal(orr_placer_bars(desk->placer, job, false), ORR_REASON_NONE);
    }
    return reason;
}

static void commit(struct desk *desk, orr_ms now)
{
    struct orr_refusal refusal;
    struct orr_err err = {0};
    assert_true(orr_txn_commit(desk->txn, now, &refusal));
    orr_txn_end_cycle(desk->txn);
    assert_int_equal(orr_ledger_audit(desk->ledger, &err), ORR_OK);
}

static void draw_racks(struct scene *scene, struct orr_rng *rng)
{
    uint32_t domain[16];
    scene->each_rack = below(rng, 2) == 0 ? 0 : 2;
    scene->nodes = 2 * (1 + below(rng, 4));
    core_world_nodes(&scene->world, scene->nodes, core_type(scene->gpus, scene->gpus));
    if (scene->each_rack > 0) {
        for (uint32_t n = 0; n < scene->nodes; n++) {
            domain[n] = n % (scene->nodes / scene->each_rack); /* a rack's are not in a row */
        }
        (void)orr_cluster_add_level(&scene->world.cluster, "rack", domain,
                                    scene->nodes / scene->each_rack);
    }
}

static void scene_open(struct scene *scene, struct orr_rng *rng)
{
    *scene = (struct scene){.gpus = below(rng, 2) == 0 ? 4 : 8};
    core_world_init(&scene->world);
    draw_racks(scene, rng);
    uint32_t left = scene->nodes * scene->gpus;
    scene->queues = 2 + below(rng, QUEUES_MAX - 1);
    for (uint32_t q = 0; q < scene->queues; q++) {
        struct orr_queue queue = orr_queue_default();
        char name[16];
        scene->quota[q] = q + 1 == scene->queues ? left : below(rng, left + 1);
        left -= scene->quota[q];
        queue.resources[ORR_SHARE_GPU].quota = scene->quota[q];
        (void)snprintf(name, sizeof name, "q%u", q);
        (void)orr_queues_add(&scene->world.queues, name, ORR_NONE, &queue);
    }
    for (uint32_t j = 0; j < JOBS; j++) {
        const uint32_t queue = below(rng, scene->queues), tasks = 1 + below(rng, 3);
        const uint32_t devices = 1 + below(rng, below(rng, 2) == 0 ? 2 : scene->gpus);
        const int64_t portion = 100 * (1 + (int64_t)below(rng, 9));
        const bool shares = below(rng, 4) == 0;
        (void)core_world_job(&scene->world, queue, tasks,
                             shares ? core_fraction(1, portion) : core_whole(devices));
    }
    for (uint32_t q = 0; q < scene->queues; q++) {
        for (uint32_t size = 1; size <= scene->gpus; size++) {
            for (uint32_t i = 0; i < 32; i++) {
                scene->whole[q][size][i] = core_world_job(&scene->world, q, 1, core_whole(size));
            }
        }
    }
    desk_open(&scene->shared, &scene->world);
    for (uint32_t q = 0; q < scene->queues; q++) {
        desk_open(&scene->alone[q], &scene->world);
    }
}

static void scene_close(struct scene *scene)
{
    desk_close(&scene->shared);
    for (uint32_t q = 0; q < scene->queues; q++) {
        desk_close(&scene->alone[q]);
    }
    core_world_release(&scene->world);
}

/* Starts or ends a job, in the shared cluster and where its queue is alone. */
static void step(struct scene *scene, struct orr_rng *rng, orr_ms now)
{
    const uint32_t job = below(rng, JOBS), queue = scene->world.specs[job].queue;
    struct desk *shared = &scene->shared, *alone = &scene->alone[queue];
    const uint8_t phase = shared->ledger->jobs[job].phase;
    if (phase == ORR_JOB_RUNNING) {
        orr_ledger_finish(shared->ledger, job, now);
        orr_ledger_finish(alone->ledger, job, now);
    } else if (phase == ORR_JOB_PENDING || phase == ORR_JOB_FUTURE) {
        for (bool again = below(rng, 3) == 0; again; again = below(rng, 2) == 0) {
            const uint32_t before = orr_txn_checkpoint(shared->txn); /* tried by another queue */
            const uint32_t other = below(rng, JOBS);
            if (shared->ledger->jobs[other].phase != ORR_JOB_FINISHED) {
                (void)start(shared, other);
            }
            orr_txn_rollback(shared->txn, before);
        }
        assert_int_equal(start(shared, job) == ORR_REASON_NONE,
                         start(alone, job) == ORR_REASON_NONE);
        commit(shared, now);
        commit(alone, now);
    }
}

/* A queue that has nothing gets a job as large as it for each node, or part of one, that its quota
 * is cut into. */
static void fill(struct scene *scene, uint32_t queue, orr_ms now)
{
    uint32_t count[SIZES + 1] = {0}, left = scene->quota[queue];
    for (uint32_t job = 0; job < JOBS; job++) {
        if (scene->world.specs[job].queue == queue &&
            scene->shared.ledger->jobs[job].phase == ORR_JOB_RUNNING) {
            orr_ledger_finish(scene->shared.ledger, job, now);
            orr_ledger_finish(scene->alone[queue].ledger, job, now);
        }
    }
    for (uint32_t size = scene->gpus; size > 0; size /= 2) {
        count[size] = left / size;
        left %= size;
    }
    const uint32_t before = orr_txn_checkpoint(scene->shared.txn);
    for (uint32_t size = scene->gpus; size > 0; size /= 2) {
        for (uint32_t i = 0; i < count[size]; i++) {
            assert_int_equal(start(&scene->shared, scene->whole[queue][size][i]), ORR_REASON_NONE);
        }
    }
    assert_int_not_equal(start(&scene->shared, scene->whole[queue][1][31]), ORR_REASON_NONE);
    orr_txn_rollback(scene->shared.txn, before);
    commit(&scene->shared, now);
}

static void what_fits_a_virtual_cluster__fits_the_shared_one(void **state)
{
    (void)state;
    const int worlds = 60;
    for (int n = 0; n < worlds; n++) {
        struct orr_rng rng = orr_rng_stream(11, "cells", (uint64_t)n);
        static struct scene scene;
        scene_open(&scene, &rng);
        for (int i = 1; i <= STEPS; i++) {
            step(&scene, &rng, i);
            if (below(&rng, 20) == 0) {
                fill(&scene, below(&rng, scene.queues), i);
            }
        }
        scene_close(&scene);
    }
}

/* Two nodes of 4: queue a has 4 + 2, queue b 2. b's cell splits no node while a half is free. */
static void a_cell_is_split__only_if_none_is_free(void **state)
{
    (void)state;
    struct core_world world;
    struct desk desk;
    core_world_init(&world);
    core_world_nodes(&world, 2, core_type(4, 4));
    struct orr_queue queue = orr_queue_default();
    queue.resources[ORR_SHARE_GPU].quota = 6;
    (void)orr_queues_add(&world.queues, "a", ORR_NONE, &queue);
    queue.resources[ORR_SHARE_GPU].quota = 2;
    (void)orr_queues_add(&world.queues, "b", ORR_NONE, &queue);
    const uint32_t two = core_world_job(&world, 0, 1, core_whole(2));
    const uint32_t one = core_world_job(&world, 1, 1, core_whole(1));
    const uint32_t four = core_world_job(&world, 0, 1, core_whole(4));
    const uint32_t more = core_world_job(&world, 1, 1, core_whole(2));
    desk_open(&desk, &world);
    assert_int_equal(start(&desk, two), ORR_REASON_NONE);
    assert_int_equal(start(&desk, one), ORR_REASON_NONE);
    assert_int_equal(start(&desk, more), ORR_REASON_OVER_LIMIT);
    assert_int_equal(start(&desk, four), ORR_REASON_NONE);
    const struct orr_ledger *ledger = desk.ledger;
    const struct orr_placement *of_two = &ledger->placements[ledger->jobs[two].placement];
    const struct orr_placement *of_one = &ledger->placements[ledger->jobs[one].placement];
    assert_int_equal(of_two->devices, 3);
    assert_int_equal(of_one->devices, 4);
    assert_int_equal(of_two->node, of_one->node);
    assert_int_equal(orr_placer_part_mgpu(desk.placer, 0), 6000);
    commit(&desk, 1);
    desk_close(&desk);
    core_world_release(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_a_virtual_cluster__fits_the_shared_one),
        cmocka_unit_test(a_cell_is_split__only_if_none_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
