/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement by score: what is kept from choice to choice is what a placer without memory finds, on
 * random worlds; single rules by hand. The scores themselves are held by tests/peers. */
#include "test_main.h"

#include <orrery/base/rng.h>
#include <orrery/core/place.h>

#include "core_world.h"

enum { JOBS = 120, STEPS = 600 };

struct desk {
    struct core_world world;
    struct orr_ledger *ledger;
    struct orr_txn *txn;
    struct orr_placer_params params;
    struct orr_placer *placer;
};

static void add_nodes(struct desk *desk, uint32_t count, uint32_t gpus, int64_t cpu_milli)
{
    struct orr_node_type type = core_type(gpus, gpus);
    type.allocatable.v[ORR_RES_CPU] = cpu_milli;
    core_world_nodes(&desk->world, count, type);
}

static void desk_init(struct desk *desk)
{
    struct orr_queue queue = orr_queue_default();
    *desk = (struct desk){0};
    core_world_init(&desk->world);
    (void)orr_queues_add(&desk->world.queues, "team", ORR_NONE, &queue);
}

static void desk_open(struct desk *desk, enum orr_placement_choice choice)
{
    desk->ledger = core_world_open(&desk->world);
    desk->txn = orr_txn_open(desk->ledger, ORR_LAW_GANG);
    desk->params.choice = choice;
    desk->placer = orr_placer_open(&desk->params, desk->ledger, 7);
}

static void desk_close(struct desk *desk)
{
    orr_placer_close(desk->placer);
    orr_txn_close(desk->txn);
    orr_ledger_close(desk->ledger);
    core_world_release(&desk->world);
}

static struct orr_request asks(struct orr_request request, int64_t cpu_milli)
{
    request.cpu_milli = cpu_milli;
    return request;
}

static uint32_t choose(const struct desk *desk, struct orr_placer *placer, uint32_t job,
                       uint64_t *devices)
{
    const struct orr_place_range range = {.count = desk->world.cluster.node_count,
                                          .most_mgpu = INT64_MAX};
    return orr_placer_choose(placer, job, 0, &range, devices);
}

static enum orr_reason start(struct desk *desk, uint32_t job)
{
    orr_ledger_submit(desk->ledger, job);
    return orr_place_all(desk->placer, desk->txn, desk->ledger, job);
}

static uint32_t node_of(const struct desk *desk, uint32_t job)
{
    return desk->ledger->placements[desk->ledger->jobs[job].placement].node;
}

static void commit(struct desk *desk, orr_ms now)
{
    struct orr_refusal refusal;
    assert_true(orr_txn_commit(desk->txn, now, &refusal));
    orr_txn_end_cycle(desk->txn);
}

/* --- against a placer without memory --- */

static uint32_t below(struct orr_rng *rng, uint32_t bound)
{
    return (uint32_t)orr_rng_below(rng, bound);
}

static struct orr_request any_request(struct orr_rng *rng)
{
    const uint32_t devices = 1 + below(rng, 4);
    const int64_t portion = 100 * (1 + (int64_t)below(rng, 9));
    const int64_t cpu = 1000 * (int64_t)below(rng, 12);
    const uint32_t kind = below(rng, 5);
    return asks(kind == 0   ? core_whole(0)
                : kind == 1 ? core_fraction(1 + below(rng, 2), portion)
                : kind == 2 ? core_fraction(1, portion)
                            : core_whole(devices),
                cpu);
}

/* Starts or ends a job; half of what is placed is taken back at once. */
static void step(struct desk *desk, struct orr_rng *rng, orr_ms now)
{
    const uint32_t job = below(rng, JOBS);
    const uint8_t phase = desk->ledger->jobs[job].phase;
    if (phase == ORR_JOB_RUNNING) {
        orr_ledger_finish(desk->ledger, job, now);
    } else if (phase == ORR_JOB_FUTURE || phase == ORR_JOB_PENDING) {
        const uint32_t before = orr_txn_checkpoint(desk->txn);
        if (phase == ORR_JOB_FUTURE) {
            orr_ledger_submit(desk->ledger, job);
        }
        (void)orr_place_all(desk->placer, desk->txn, desk->ledger, job);
        if (below(rng, 2) == 0) {
            orr_txn_rollback(desk->txn, before);
        }
        commit(desk, now);
    } else if (below(rng, 8) == 0) {
        const uint32_t node = below(rng, desk->world.cluster.node_count);
        orr_ledger_set_down(desk->ledger, node, !desk->ledger->down[node]);
    }
}

static void compare(const struct desk *desk, uint32_t job)
{
    uint64_t kept_devices, devices;
    struct orr_placer *fresh = orr_placer_open(&desk->params, desk->ledger, 7);
    const uint32_t node = choose(desk, fresh, job, &devices);
    assert_int_equal(choose(desk, desk->placer, job, &kept_devices), node);
    assert_int_equal(kept_devices, devices);
    orr_placer_close(fresh);
}

static void play(uint64_t seed, enum orr_placement_choice choice)
{
    struct orr_rng rng = orr_rng_stream(seed, "placer", (uint64_t)choice);
    struct orr_err err;
    struct desk desk;
    desk_init(&desk);
    add_nodes(&desk, 1 + below(&rng, 5), 1 + below(&rng, 8), 16000);
    add_nodes(&desk, 1 + below(&rng, 5), 8, 24000 + 1000 * (int64_t)below(&rng, 9));
    add_nodes(&desk, below(&rng, 3), 0, 64000);
    for (uint32_t j = 0; j < JOBS; j++) {
        const uint32_t tasks = 1 + below(&rng, 3);
        (void)core_world_job(&desk.world, 0, tasks, any_request(&rng));
    }
    desk.params.typical_jobs = below(&rng, 2) * 20;
    desk_open(&desk, choice);
    for (orr_ms now = 0; now < STEPS; now++) {
        step(&desk, &rng, now);
        if (now % 8 == 0) {
            compare(&desk, below(&rng, JOBS));
        }
    }
    assert_int_equal(orr_ledger_audit(desk.ledger, &err), ORR_OK);
    desk_close(&desk);
}

static void what_is_kept__is_what_is_found_anew(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        for (int choice = ORR_PLACEMENT_RANDOM; choice <= ORR_PLACEMENT_FGD; choice++) {
            play(seed, (enum orr_placement_choice)choice);
        }
    }
}

/* --- by hand --- */

static void the_policys_own_ways__have_no_placer(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    add_nodes(&desk, 1, 8, 8000);
    desk_open(&desk, ORR_PLACEMENT_DEFAULT);
    assert_null(desk.placer);
    desk_close(&desk);
}

static void worst_and_best_fit__count_cpu_and_gpus(void **state)
{
    (void)state;
    static const enum orr_placement_choice choices[] = {ORR_PLACEMENT_WORST_FIT,
                                                        ORR_PLACEMENT_BEST_FIT};
    static const uint32_t first[] = {1, 0};
    for (size_t i = 0; i < 2; i++) {
        struct desk desk;
        desk_init(&desk);
        add_nodes(&desk, 1, 4, 32000);
        add_nodes(&desk, 1, 8, 16000);
        const uint32_t job = core_world_job(&desk.world, 0, 1, asks(core_whole(2), 4000));
        desk_open(&desk, choices[i]);
        assert_int_equal(start(&desk, job), ORR_REASON_NONE);
        assert_int_equal(node_of(&desk, job), first[i]);
        commit(&desk, 0);
        desk_close(&desk);
    }
}

static void fgd__puts_parts_where_they_leave_whole_devices(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    add_nodes(&desk, 2, 2, 64000);
    const uint32_t half = core_world_job(&desk.world, 0, 1, asks(core_fraction(1, 500), 1000));
    const uint32_t other = core_world_job(&desk.world, 0, 1, asks(core_fraction(1, 500), 1000));
    for (int i = 0; i < 8; i++) {
        (void)core_world_job(&desk.world, 0, 1, asks(core_whole(2), 1000));
    }
    desk_open(&desk, ORR_PLACEMENT_FGD);
    assert_int_equal(start(&desk, half), ORR_REASON_NONE);
    assert_int_equal(start(&desk, other), ORR_REASON_NONE);
    assert_int_equal(node_of(&desk, half), 0);
    assert_int_equal(node_of(&desk, other), 0);
    assert_int_equal(desk.ledger->idle[0].gpus, 1); /* on one device */
    commit(&desk, 0);
    desk_close(&desk);
}

/* Three tasks of 2 devices on nodes of 4 and 3: all of the gang or nothing. */
static void a_gang__is_placed_whole_or_not_at_all(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    add_nodes(&desk, 1, 4, 64000);
    add_nodes(&desk, 1, 3, 64000);
    const uint32_t fits = core_world_job(&desk.world, 0, 3, core_whole(2));
    const uint32_t large = core_world_job(&desk.world, 0, 2, core_whole(3));
    desk_open(&desk, ORR_PLACEMENT_BEST_FIT);
    assert_int_equal(start(&desk, fits), ORR_REASON_NONE);
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 1);
    orr_txn_rollback(desk.txn, 0);
    assert_int_equal(start(&desk, large), ORR_REASON_NONE); /* one on each */
    orr_txn_rollback(desk.txn, 0);
    orr_ledger_set_down(desk.ledger, 1, true);
    assert_int_not_equal(orr_place_all(desk.placer, desk.txn, desk.ledger, large), ORR_REASON_NONE);
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 4);
    desk_close(&desk);
}

static void random__takes_each_node_about_as_often(void **state)
{
    (void)state;
    enum { NODES = 5, TRIES = 2000 };
    struct desk desk;
    uint32_t taken[NODES] = {0}, first_device = 0;
    desk_init(&desk);
    add_nodes(&desk, NODES, 2, 64000);
    for (int i = 0; i < TRIES; i++) {
        (void)core_world_job(&desk.world, 0, 1, core_fraction(1, 500));
    }
    desk_open(&desk, ORR_PLACEMENT_RANDOM);
    for (uint32_t job = 0; job < TRIES; job++) {
        uint64_t devices;
        taken[choose(&desk, desk.placer, job, &devices)]++;
        first_device += devices == 1;
    }
    for (int n = 0; n < NODES; n++) {
        assert_in_range(taken[n], 340, 460); /* 400 +- 3.3 standard deviations */
    }
    assert_in_range(first_device, 925, 1075);
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept__is_what_is_found_anew),
        cmocka_unit_test(the_policys_own_ways__have_no_placer),
        cmocka_unit_test(worst_and_best_fit__count_cpu_and_gpus),
        cmocka_unit_test(fgd__puts_parts_where_they_leave_whole_devices),
        cmocka_unit_test(a_gang__is_placed_whole_or_not_at_all),
        cmocka_unit_test(random__takes_each_node_about_as_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
