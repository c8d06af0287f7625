/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger by hand: device choice, laws of a commit, what a wrong policy cannot do, the audit. */
#include "test_main.h"

#include <string.h>

#include <orrery/core/place.h>

#include "core_world.h"

struct desk {
    struct core_world world;
    struct orr_ledger *ledger;
    struct orr_txn *txn;
};

static uint32_t add_queue(struct core_world *world, const char *name, uint32_t parent, double limit)
{
    struct orr_queue queue = orr_queue_default();
    queue.resources[ORR_SHARE_GPU].limit = limit;
    return orr_queues_add(&world->queues, name, parent, &queue);
}

static void desk_init(struct desk *desk)
{
    *desk = (struct desk){0};
    core_world_init(&desk->world);
    (void)add_queue(&desk->world, "team", ORR_NONE, ORR_UNLIMITED);
}

/* Submits every job. */
static void desk_open(struct desk *desk, uint32_t laws)
{
    desk->ledger = core_world_open(&desk->world);
    desk->txn = orr_txn_open(desk->ledger, laws);
    for (uint32_t j = 0; j < desk->world.job_count; j++) {
        orr_ledger_submit(desk->ledger, j);
    }
}

static void desk_close(struct desk *desk)
{
    orr_txn_close(desk->txn);
    orr_ledger_close(desk->ledger);
    core_world_release(&desk->world);
}

static void commit(struct desk *desk, orr_ms now)
{
    struct orr_refusal refusal;
    assert_true(orr_txn_commit(desk->txn, now, &refusal));
    orr_txn_end_cycle(desk->txn);
}

static uint64_t devices_of(const struct desk *desk, uint32_t job)
{
    return desk->ledger->placements[desk->ledger->jobs[job].placement].devices;
}

/* ---- jobs ---- */

/* The whole needs two of three: a head of one task, two of three workers, and a set of which one of
 * two pairs is enough. */
static void sets__say_when_a_gang_is_complete(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    static const struct orr_task_set sets[] = {{.parent = ORR_NONE, .min = 2},
                                               {.parent = 0, .is_tasks = true, .min = 1},
                                               {.parent = 0, .is_tasks = true, .min = 2},
                                               {.parent = 0, .min = 1},
                                               {.parent = 3, .is_tasks = true, .min = 2},
                                               {.parent = 3, .is_tasks = true, .min = 2}};
    struct orr_task_group groups[] = {{.request = core_whole(1), .count = 1, .set = 1},
                                      {.request = core_whole(1), .count = 3, .set = 2},
                                      {.request = core_whole(1), .count = 2, .set = 4},
                                      {.request = core_whole(1), .count = 2, .set = 5}};
    struct orr_shapes *shapes = &desk.world.shapes;
    uint32_t index = orr_shapes_put_sets(shapes, groups, 4, sets, 6);
    assert_int_equal(orr_shapes_put_sets(shapes, groups, 4, sets, 6), index);
    assert_int_not_equal(orr_shapes_put(shapes, groups, 4, 3), index);
    const struct orr_shape *shape = &shapes->shapes[index];
    assert_int_equal(shape->tasks, 8);
    assert_int_equal(shape->min_tasks, 3); /* the head, and two of something */
    static const struct {
        uint32_t tasks[4];
        bool complete;
    } cases[] = {{{1, 2, 0, 0}, true}, {{0, 3, 0, 0}, false}, {{1, 1, 1, 1}, false},
                 {{0, 2, 2, 0}, true}, {{0, 0, 2, 2}, false}, {{1, 0, 0, 2}, true},
                 {{1, 3, 2, 2}, true}, {{0, 0, 0, 0}, false}, {{0, 1, 2, 2}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(orr_shape_satisfied(shape, cases[i].tasks), cases[i].complete);
    }
    /* and so a commit judges */
    core_world_nodes(&desk.world, 1, core_type(8, 8));
    (void)core_world_job(&desk.world, 0, 1, core_whole(1));
    desk.world.specs[0].shape = index;
    desk_open(&desk, ORR_LAW_GANG);
    struct orr_refusal refusal;
    assert_true(orr_txn_place(desk.txn, 0, 1, 3, 0));
    assert_false(orr_txn_commit(desk.txn, 0, &refusal));
    assert_int_equal(refusal.law, ORR_LAW_GANG);
    assert_true(orr_txn_place(desk.txn, 0, 1, 2, 0));
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    commit(&desk, 0);
    assert_int_equal(desk.ledger->jobs[0].phase, ORR_JOB_RUNNING);
    struct orr_err err;
    assert_int_equal(orr_ledger_audit(desk.ledger, &err), ORR_OK);
    desk_close(&desk);
}

/* Of the same parts with unlike tasks: whichever are chosen, it holds no less. */
static void least__is_what_the_cheapest_choice_holds(void **state)
{
    (void)state;
    static const struct orr_task_set sets[] = {{.parent = ORR_NONE, .min = 2},
                                               {.parent = 0, .is_tasks = true, .min = 1},
                                               {.parent = 0, .is_tasks = true, .min = 3},
                                               {.parent = 0, .is_tasks = true, .min = 2}};
    struct orr_task_group groups[] = {{.request = core_whole(8), .count = 2, .set = 1},
                                      {.request = core_whole(4), .count = 2, .set = 2},
                                      {.request = core_whole(1), .count = 2, .set = 2},
                                      {.request = core_whole(2), .count = 2, .set = 3}};
    groups[0].request.cpu_milli = 1000;
    groups[3].request.cpu_milli = 500;
    struct orr_shapes shapes;
    orr_shapes_init(&shapes);
    const uint32_t parts = orr_shapes_put_sets(&shapes, groups, 4, sets, 4);
    const uint32_t five = orr_shapes_put(&shapes, groups, 4, 5);
    const uint32_t all = orr_shapes_put(&shapes, groups, 4, 0);
    const struct orr_shape *of = shapes.shapes;
    /* 4 + 1 + 1 and 2 + 2 GPUs; one of the three parts asks no CPU */
    assert_int_equal(orr_shape_least(&of[parts], ORR_SHARE_GPU), 10 * ORR_MGPU);
    assert_int_equal(orr_shape_least(&of[parts], ORR_SHARE_CPU), 1000);
    assert_int_equal(orr_shape_least(&of[parts], ORR_SHARE_MEMORY), 0);
    assert_int_equal(orr_shape_least(&of[five], ORR_SHARE_GPU), 10 * ORR_MGPU); /* 1 1 2 2 4 */
    assert_int_equal(orr_shape_least(&of[all], ORR_SHARE_GPU), of[all].gpus_mgpu);
    orr_shapes_release(&shapes);
}

/* What a job that leaves holds of its gang is free again, and its queue asks for less. */
static void withdraw__gives_back_part_of_a_gang(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    core_world_nodes(&desk.world, 1, core_type(4, 4));
    (void)core_world_job(&desk.world, 0, 2, core_whole(3));
    (void)core_world_job(&desk.world, 0, 1, core_whole(1));
    desk_open(&desk, 0);
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    commit(&desk, 5);
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 1);
    assert_int_equal(desk.ledger->pending_jobs, 2);
    orr_ledger_withdraw(desk.ledger, 0, 9);
    assert_int_equal(desk.ledger->jobs[0].phase, ORR_JOB_WITHDRAWN);
    assert_int_equal(desk.ledger->jobs[0].end_ms, 9);
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 4);
    assert_int_equal(desk.ledger->pending_jobs, 1);
    assert_int_equal(desk.ledger->use[0].pending[ORR_SHARE_GPU], 1000);
    assert_int_equal(desk.ledger->use[0].allocated[ORR_SHARE_GPU], 0);
    struct orr_err err;
    assert_int_equal(orr_ledger_audit(desk.ledger, &err), ORR_OK);
    assert_false(orr_txn_place(desk.txn, 0, 0, 1, 0)); /* nobody starts it any more */
    desk_close(&desk);
}

/* ---- devices ---- */

static void devices__come_from_the_fullest_domain_that_fits(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    core_world_nodes(&desk.world, 1, core_type(8, 4));
    static const uint32_t asks[] = {1, 3, 2, 1, 1};
    static const uint64_t expected[] = {0x01, 0x0e, 0x30, 0x40, 0x80};
    for (size_t i = 0; i < 5; i++) {
        (void)core_world_job(&desk.world, 0, 1, core_whole(asks[i]));
    }
    desk_open(&desk, ORR_LAW_GANG);
    for (uint32_t j = 0; j < 5; j++) {
        assert_true(orr_txn_place(desk.txn, j, 0, 1, 0));
        assert_int_equal(devices_of(&desk, j), expected[j]);
    }
    assert_int_equal(desk.ledger->free_devices[0], 0);
    commit(&desk, 0);
    desk_close(&desk);
}

static void devices__span_domains_only_when_none_fits(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    core_world_nodes(&desk.world, 1, core_type(8, 4));
    (void)core_world_job(&desk.world, 0, 1, core_whole(2));
    (void)core_world_job(&desk.world, 0, 1, core_whole(4));
    (void)core_world_job(&desk.world, 0, 1, core_whole(5));
    desk_open(&desk, 0);
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    uint32_t mark = orr_txn_checkpoint(desk.txn);
    assert_true(orr_txn_place(desk.txn, 1, 0, 1, 0));
    assert_int_equal(devices_of(&desk, 1), 0xf0);
    orr_txn_rollback(desk.txn, mark);
    assert_true(orr_txn_place(desk.txn, 2, 0, 1, 0));
    assert_int_equal(devices_of(&desk, 2), 0x7c);
    orr_txn_rollback(desk.txn, 0);
    desk_close(&desk);
}

static uint64_t chosen(enum orr_device_choice choice, uint32_t held, uint32_t tasks,
                       uint32_t devices)
{
    struct desk desk;
    desk_init(&desk);
    struct orr_node_type type = core_type(8, 4);
    type.numa_zones = 4;
    type.device_choice = (uint8_t)choice;
    core_world_nodes(&desk.world, 1, type);
    (void)core_world_job(&desk.world, 0, 1, core_whole(held));
    (void)core_world_job(&desk.world, 0, tasks, core_whole(devices));
    desk_open(&desk, 0);
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    assert_true(orr_txn_place(desk.txn, 1, 0, tasks, 0));
    uint64_t mask = devices_of(&desk, 1);
    orr_txn_rollback(desk.txn, 0);
    desk_close(&desk);
    return mask;
}

/* Two NVLink domains of four, four NUMA zones of two. */
static void devices__follow_the_rule_of_the_node(void **state)
{
    (void)state;
    assert_int_equal(chosen(ORR_DEVICES_LOWEST, 1, 1, 2), 0x06);
    assert_int_equal(chosen(ORR_DEVICES_PACKED, 1, 1, 2), 0x06);
    assert_int_equal(chosen(ORR_DEVICES_ALIGNED, 1, 1, 2), 0x0c);
    assert_int_equal(chosen(ORR_DEVICES_LOWEST, 3, 1, 4), 0x78);
    assert_int_equal(chosen(ORR_DEVICES_PACKED, 3, 1, 4), 0xf0);
    /* no zone has three: two of the lowest that is whole, one of the lowest with any */
    assert_int_equal(chosen(ORR_DEVICES_ALIGNED, 1, 1, 3), 0x0e);
    assert_int_equal(chosen(ORR_DEVICES_ALIGNED, 3, 1, 4), 0xf0);
    /* two pods of one device: each from the lowest zone that has one */
    assert_int_equal(chosen(ORR_DEVICES_ALIGNED, 1, 2, 1), 0x06);
    /* two pods of two: each in a zone of its own */
    assert_int_equal(chosen(ORR_DEVICES_ALIGNED, 1, 2, 2), 0x3c);
    assert_int_equal(chosen(ORR_DEVICES_LOWEST, 1, 2, 2), 0x1e);
    /* whatever is left is given */
    assert_int_equal(chosen(ORR_DEVICES_ALIGNED, 1, 1, 7), 0xfe);
}

static void sharing__fills_the_fullest_device_first(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    core_world_nodes(&desk.world, 2, core_type(2, 2));
    static const int64_t portions[] = {600, 500, 300, 400, 100, 700};
    static const uint64_t expected[] = {1, 2, 1, 2, 1, 1};
    for (size_t i = 0; i < 6; i++) {
        (void)core_world_job(&desk.world, 0, 1, core_fraction(1, portions[i]));
    }
    desk_open(&desk, ORR_LAW_GANG);
    for (uint32_t j = 0; j < 6; j++) {
        struct orr_request request = core_fraction(1, portions[j]);
        uint32_t node = orr_ledger_best_fit(desk.ledger, &request, 1);
        assert_int_equal(node, j < 5 ? 0 : 1);
        assert_true(orr_txn_place(desk.txn, j, 0, 1, node));
        assert_int_equal(devices_of(&desk, j), expected[j]);
    }
    assert_int_equal(desk.ledger->idle[0].gpus, 0);
    assert_int_equal(desk.ledger->idle[1].gpus, 1);
    commit(&desk, 0);
    orr_ledger_finish(desk.ledger, 0, 5);
    assert_int_equal(desk.ledger->idle[0].gpus, 0); /* 300 and 100 still share the device */
    orr_ledger_finish(desk.ledger, 2, 5);
    orr_ledger_finish(desk.ledger, 4, 5);
    assert_int_equal(desk.ledger->idle[0].gpus, 1);
    assert_int_equal(orr_ledger_audit(desk.ledger, NULL), ORR_OK);
    desk_close(&desk);
}

/* Node 0 shares a device that is nearly full, node 1 one that is half full. */
static void sharing__opens_no_fresh_device_while_a_shared_one_fits(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    core_world_nodes(&desk.world, 2, core_type(4, 4));
    (void)core_world_job(&desk.world, 0, 1, core_fraction(1, 800));
    (void)core_world_job(&desk.world, 0, 1, core_fraction(1, 500));
    desk_open(&desk, 0);
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    assert_true(orr_txn_place(desk.txn, 1, 0, 1, 1));
    struct orr_request request = core_fraction(1, 500);
    assert_int_equal(orr_ledger_best_fit(desk.ledger, &request, 1), 1);
    request.portion = 600;
    assert_int_equal(orr_ledger_best_fit(desk.ledger, &request, 1), 0);
    assert_int_equal(orr_ledger_best_fit(desk.ledger, &request, 2), ORR_NONE);
    orr_txn_rollback(desk.txn, 0);
    desk_close(&desk);
}

static void model__is_respected_everywhere(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    struct orr_node_type type = core_type(4, 4);
    type.gpu_model = 0;
    core_world_nodes(&desk.world, 1, type);
    type.gpu_model = 1;
    core_world_nodes(&desk.world, 1, type);
    struct orr_request request = core_fraction(1, 500);
    (void)core_world_job(&desk.world, 0, 1, request);
    request.gpu_model = 1;
    (void)core_world_job(&desk.world, 0, 1, request);
    desk_open(&desk, 0);
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    assert_int_equal(orr_ledger_best_fit(desk.ledger, &request, 1), 1);
    assert_int_equal(orr_ledger_most_idle(desk.ledger, &request), 1);
    assert_int_equal(orr_ledger_room_for(desk.ledger, 0, &request), 0);
    assert_false(orr_txn_place(desk.txn, 1, 0, 1, 0));
    assert_false(orr_txn_pipeline(desk.txn, 1, 0, 1, 0));
    assert_true(orr_txn_place(desk.txn, 1, 0, 1, 1));
    orr_txn_rollback(desk.txn, 0);
    desk_close(&desk);
}

/* Thousands of idle nodes whose CPU is used up: the search goes on to the last. */
static void best_fit__skips_nodes_without_cpu(void **state)
{
    (void)state;
    enum { NODES = 4500 };
    static const uint32_t kept[] = {NODES - 1, 4200, 4096, 4095, 130, 64, 63, 0};
    struct desk desk;
    desk_init(&desk);
    struct orr_node_type type = core_type(1, 1);
    type.allocatable.v[ORR_RES_CPU] = 1000;
    core_world_nodes(&desk.world, NODES, type);
    struct orr_request request = core_whole(0);
    request.cpu_milli = 600;
    (void)core_world_job(&desk.world, 0, NODES, request);
    desk_open(&desk, 0);
    request = core_whole(1);
    request.cpu_milli = 500;
    for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++) {
        for (uint32_t n = 0; n < NODES; n++) {
            assert_true(n == kept[k] || orr_txn_place(desk.txn, 0, 0, 1, n));
        }
        assert_int_equal(orr_ledger_best_fit(desk.ledger, &request, 1), kept[k]);
        assert_int_equal(orr_ledger_most_idle(desk.ledger, &request), kept[k]);
        assert_true(orr_txn_place(desk.txn, 0, 0, 1, kept[k]));
        assert_int_equal(orr_ledger_best_fit(desk.ledger, &request, 1), ORR_NONE);
        orr_txn_rollback(desk.txn, 0);
    }
    desk_close(&desk);
}

static void memory__is_held_as_asked_and_counted_in_percents(void **state)
{
    (void)state;
    struct orr_node_type type = core_type(1, 1);
    struct orr_request request = {.gpu_ask = ORR_GPU_MEMORY, .devices = 3, .portion = 4000};
    assert_int_equal(orr_request_portion_mgpu(&request, &type), ORR_MGPU + 1); /* not stated */
    type.gpu_memory_mib = 16384;                                               /* 16300 */
    assert_int_equal(orr_request_portion_mgpu(&request, &type), 245);
    assert_int_equal(orr_request_task_mgpu(&request, &type), 735);
    assert_int_equal(orr_request_counted_mgpu(&request, &type), 750);
    assert_int_equal(orr_device_parts(&type), 163000);
    assert_int_equal(orr_request_parts(&request, &type), 40000);
    request.portion = 16300;
    assert_int_equal(orr_request_portion_mgpu(&request, &type), 1000);
    request.portion = 16301; /* more than there is, however little */
    assert_int_equal(orr_request_portion_mgpu(&request, &type), 1001);
    request.portion = 1; /* the least is a thousandth */
    assert_int_equal(orr_request_portion_mgpu(&request, &type), 1);
    assert_int_equal(orr_request_parts(&request, &type), 163);
    request = (struct orr_request){.gpu_ask = ORR_GPU_FRACTION, .devices = 1, .portion = 125};
    assert_int_equal(orr_request_parts(&request, &type), 20375); /* 2037.5 MiB */
    assert_int_equal(orr_request_counted_mgpu(&request, &type), 130);
}

/* ---- laws ---- */

static void commit__refuses_part_of_a_gang(void **state)
{
    (void)state;
    struct desk desk;
    struct orr_refusal refusal = {0};
    desk_init(&desk);
    core_world_nodes(&desk.world, 2, core_type(4, 4));
    (void)core_world_job(&desk.world, 0, 1, core_whole(1));
    (void)core_world_job(&desk.world, 0, 6, core_whole(1));
    desk_open(&desk, ORR_LAW_GANG);
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    assert_true(orr_txn_place(desk.txn, 1, 0, 3, 0));
    assert_false(orr_txn_commit(desk.txn, 9, &refusal));
    assert_int_equal(refusal.job, 1);
    assert_int_equal(refusal.law, ORR_LAW_GANG);
    assert_non_null(strstr(refusal.text, "gang"));
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 8);
    assert_int_equal(desk.ledger->pending_jobs, 2);
    assert_int_equal(desk.ledger->jobs[0].start_ms, ORR_MS_NONE);
    assert_true(orr_txn_place(desk.txn, 1, 0, 3, 0));
    assert_true(orr_txn_place(desk.txn, 1, 0, 3, 1));
    commit(&desk, 9);
    assert_int_equal(desk.ledger->jobs[1].start_ms, 9);
    assert_int_equal(desk.ledger->jobs[1].incarnation, 1);
    desk_close(&desk);
}

/* The limit of a queue two levels up; 1.001 devices are 1001 milli-GPU, not one less. */
static void commit__refuses_above_a_limit(void **state)
{
    (void)state;
    struct desk desk;
    struct orr_refusal refusal = {0};
    desk_init(&desk);
    core_world_nodes(&desk.world, 2, core_type(4, 4));
    uint32_t top = add_queue(&desk.world, "top", ORR_NONE, 1.001);
    uint32_t leaf =
        add_queue(&desk.world, "leaf", add_queue(&desk.world, "mid", top, 3.0), ORR_UNLIMITED);
    (void)core_world_job(&desk.world, leaf, 1, core_fraction(1, 501));
    (void)core_world_job(&desk.world, leaf, 1, core_fraction(1, 500));
    (void)core_world_job(&desk.world, leaf, 1, core_fraction(1, 1));
    desk_open(&desk, ORR_LAW_LIMIT);
    for (uint32_t j = 0; j < 3; j++) {
        assert_true(orr_txn_place(desk.txn, j, 0, 1, 0));
    }
    assert_false(orr_txn_commit(desk.txn, 0, &refusal));
    assert_int_equal(refusal.law, ORR_LAW_LIMIT);
    assert_non_null(strstr(refusal.text, "limit"));
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    assert_true(orr_txn_place(desk.txn, 1, 0, 1, 0));
    commit(&desk, 0);
    desk_close(&desk);
}

/* ---- a wrong policy ---- */

static void nonsense__is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    core_world_nodes(&desk.world, 2, core_type(4, 4));
    struct orr_task_group groups[] = {{.request = core_whole(1), .count = 2},
                                      {.request = core_whole(2), .count = 1}};
    uint32_t two = core_world_job(&desk.world, 0, 1, core_whole(1));
    desk.world.specs[two].shape = orr_shapes_put(&desk.world.shapes, groups, 2, 0);
    uint32_t huge = core_world_job(&desk.world, 0, 1u << 16, core_whole(1u << 16));
    uint32_t many = core_world_job(&desk.world, 0, UINT32_MAX, core_whole(0));
    desk_open(&desk, 0);
    struct orr_txn *txn = desk.txn;
    assert_false(orr_txn_place(txn, 99, 0, 1, 0));
    assert_false(orr_txn_place(txn, two, 2, 1, 0));
    assert_false(orr_txn_place(txn, two, 0, 1, 2));
    assert_false(orr_txn_place(txn, two, 0, 0, 0));
    assert_false(orr_txn_place(txn, two, 0, UINT32_MAX, 0));
    assert_false(orr_txn_place(txn, two, 0, 3, 0));         /* three tasks, but two of this group */
    assert_false(orr_txn_place(txn, huge, 0, 1u << 16, 0)); /* 2^32 devices */
    assert_false(orr_txn_place(txn, many, 0, UINT32_MAX, 0));
    assert_false(orr_txn_pipeline(txn, huge, 0, 1u << 16, 0));
    assert_false(orr_txn_pipeline(txn, two, 2, 1, 0));
    assert_false(orr_txn_pipeline(txn, two, 0, 1, 2));
    assert_false(orr_txn_evict(txn, 99, ORR_CAUSE_PREEMPT));
    assert_false(orr_txn_evict(txn, two, ORR_CAUSE_PREEMPT));
    struct orr_request request = core_whole(1u << 16);
    assert_int_equal(orr_ledger_best_fit(desk.ledger, &request, 1u << 16), ORR_NONE);
    orr_txn_explain(txn, 99, ORR_REASON_RESERVED);
    orr_txn_explain(txn, two, (enum orr_reason)ORR_REASON_COUNT);
    uint32_t count;
    (void)orr_txn_explanations(txn, &count);
    assert_int_equal(count, 0);
    assert_int_equal(orr_txn_checkpoint(txn), 0);
    assert_true(orr_txn_place(txn, two, 0, 2, 0));
    assert_false(orr_txn_place(txn, two, 0, 1, 0));
    assert_true(orr_txn_place(txn, two, 1, 1, 0));
    assert_false(orr_txn_place(txn, two, 1, 1, 0));
    orr_txn_rollback(txn, 0);
    assert_int_equal(orr_ledger_audit(desk.ledger, NULL), ORR_OK);
    desk_close(&desk);
}

/* ---- pipelines, evictions, reasons ---- */

static void pipeline__keeps_its_room_until_the_cycle_ends(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    core_world_nodes(&desk.world, 1, core_type(4, 4));
    (void)core_world_job(&desk.world, 0, 1, core_whole(2));
    (void)core_world_job(&desk.world, 0, 1, core_whole(4));
    (void)core_world_job(&desk.world, 0, 1, core_whole(1));
    desk_open(&desk, 0);
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    commit(&desk, 0);
    assert_false(orr_txn_pipeline(desk.txn, 1, 0, 1, 0));
    assert_true(orr_txn_evict(desk.txn, 0, ORR_CAUSE_RECLAIM));
    assert_true(orr_txn_pipeline(desk.txn, 1, 0, 1, 0));
    struct orr_request one = core_whole(1), part = core_fraction(1, 100);
    assert_int_equal(orr_ledger_room_for(desk.ledger, 0, &one), 0);
    assert_int_equal(orr_ledger_best_fit(desk.ledger, &one, 1), ORR_NONE);
    assert_int_equal(orr_ledger_most_idle(desk.ledger, &part), ORR_NONE);
    assert_false(orr_txn_place(desk.txn, 2, 0, 1, 0));
    struct orr_refusal refusal;
    assert_true(orr_txn_commit(desk.txn, 1, &refusal));
    assert_false(orr_txn_place(desk.txn, 2, 0, 1, 0)); /* the claim outlives the commit */
    uint32_t count;
    const struct orr_txn_decision *decisions = orr_txn_decisions(desk.txn, &count);
    assert_int_equal(count, 1);
    assert_true(decisions[0].deed == ORR_DEED_EVICT && decisions[0].cause == ORR_CAUSE_RECLAIM);
    orr_txn_end_cycle(desk.txn);
    assert_int_equal(desk.ledger->jobs[0].phase, ORR_JOB_RELEASING);
    assert_int_equal(desk.ledger->jobs[0].evictions, 1);
    assert_true(orr_txn_place(desk.txn, 2, 0, 1, 0));
    commit(&desk, 1);
    (void)orr_ledger_release(desk.ledger, 0, 0);
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 3);
    assert_int_equal(orr_ledger_audit(desk.ledger, NULL), ORR_OK);
    desk_close(&desk);
}

static void reason__is_told_again_after_a_start(void **state)
{
    (void)state;
    struct desk desk;
    uint32_t count;
    desk_init(&desk);
    core_world_nodes(&desk.world, 1, core_type(1, 1));
    (void)core_world_job(&desk.world, 0, 1, core_whole(1));
    desk_open(&desk, 0);
    orr_txn_explain(desk.txn, 0, ORR_REASON_NO_CAPACITY);
    orr_txn_explain(desk.txn, 0, ORR_REASON_NO_CAPACITY);
    (void)orr_txn_explanations(desk.txn, &count);
    assert_int_equal(count, 1);
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    commit(&desk, 4);
    assert_int_equal(desk.ledger->jobs[0].reason, ORR_REASON_NONE);
    assert_true(orr_txn_evict(desk.txn, 0, ORR_CAUSE_PREEMPT));
    commit(&desk, 6);
    (void)orr_ledger_release(desk.ledger, 0, 0);
    orr_txn_explain(desk.txn, 0, ORR_REASON_NO_CAPACITY);
    (void)orr_txn_explanations(desk.txn, &count);
    assert_int_equal(count, 1);
    assert_true(orr_txn_place(desk.txn, 0, 0, 1, 0));
    commit(&desk, 8);
    assert_int_equal(desk.ledger->jobs[0].first_start_ms, 4);
    assert_int_equal(desk.ledger->jobs[0].start_ms, 8);
    assert_int_equal(desk.ledger->jobs[0].attempts, 2);
    desk_close(&desk);
}

/* ---- what is free ---- */

static void is_free(const struct desk *desk, int64_t up_mgpu, int64_t all_mgpu)
{
    const struct orr_shard_room *shard = &desk->ledger->shards[0];
    assert_int_equal(orr_shard_free(shard).mgpu[0], up_mgpu);
    assert_int_equal(shard->free.mgpu[0], all_mgpu);
    assert_int_equal(orr_ledger_audit(desk->ledger, NULL), ORR_OK);
}

/* Two nodes of four, 3.5 devices held on the second: what is left of it, or comes back while it is
 * down, is nobody's until it is up. */
static void free__is_nothing_of_a_node_that_is_down(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    core_world_nodes(&desk.world, 2, core_type(4, 4));
    const uint32_t stays = core_world_job(&desk.world, 0, 1, core_whole(3));
    const uint32_t shares = core_world_job(&desk.world, 0, 1, core_fraction(1, 500));
    const uint32_t waits = core_world_job(&desk.world, 0, 1, core_whole(5));
    desk_open(&desk, 0);
    assert_true(orr_txn_place(desk.txn, stays, 0, 1, 1));
    assert_true(orr_txn_place(desk.txn, shares, 0, 1, 1));
    commit(&desk, 0);
    is_free(&desk, 4500, 4500);
    orr_ledger_set_down(desk.ledger, 1, true);
    is_free(&desk, 4000, 4500);
    assert_true(orr_txn_evict(desk.txn, shares, ORR_CAUSE_MAINTENANCE)); /* it leaves, by a grace */
    commit(&desk, 1);
    is_free(&desk, 4000, 5000);
    assert_int_equal(orr_place_all(NULL, desk.txn, desk.ledger, waits), ORR_REASON_NO_CAPACITY);
    assert_int_equal(orr_ledger_prove(desk.ledger, waits, ORR_REASON_NO_CAPACITY).free_mgpu, 4000);
    (void)orr_ledger_release(desk.ledger, shares, 2);
    orr_ledger_finish(desk.ledger, stays, 2);
    is_free(&desk, 4000, 8000);
    orr_ledger_set_away(desk.ledger, 1, true);
    is_free(&desk, 4000, 4000);
    orr_ledger_set_away(desk.ledger, 1, false);
    orr_ledger_set_down(desk.ledger, 1, false);
    is_free(&desk, 8000, 8000);
    assert_int_equal(orr_place_all(NULL, desk.txn, desk.ledger, waits), ORR_REASON_FRAGMENTED);
    desk_close(&desk);
}

/* Three devices of one job and half a device of another leave: `free` has them at once, a job that
 * waits only when their grace is over. */
static void unheld__is_nothing_of_what_leaves(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    core_world_nodes(&desk.world, 1, core_type(4, 4));
    const uint32_t whole = core_world_job(&desk.world, 0, 1, core_whole(3));
    const uint32_t half = core_world_job(&desk.world, 0, 1, core_fraction(1, 500));
    const uint32_t waits = core_world_job(&desk.world, 0, 1, core_whole(3));
    desk_open(&desk, 0);
    assert_true(orr_txn_place(desk.txn, whole, 0, 1, 0));
    assert_true(orr_txn_place(desk.txn, half, 0, 1, 0));
    commit(&desk, 0);
    assert_int_equal(orr_ledger_unheld(desk.ledger, 0).mgpu[0], 500);
    assert_true(orr_txn_evict(desk.txn, whole, ORR_CAUSE_PREEMPT));
    assert_true(orr_txn_evict(desk.txn, half, ORR_CAUSE_PREEMPT));
    commit(&desk, 1);
    is_free(&desk, 4000, 4000);
    assert_int_equal(orr_ledger_unheld(desk.ledger, 0).mgpu[0], 500);
    assert_int_equal(orr_place_all(NULL, desk.txn, desk.ledger, waits), ORR_REASON_NO_CAPACITY);
    assert_int_equal(orr_ledger_prove(desk.ledger, waits, ORR_REASON_NO_CAPACITY).free_mgpu, 500);
    (void)orr_ledger_release(desk.ledger, whole, 2);
    assert_int_equal(orr_ledger_unheld(desk.ledger, 0).mgpu[0], 3500);
    (void)orr_ledger_release(desk.ledger, half, 2);
    assert_int_equal(orr_ledger_unheld(desk.ledger, 0).mgpu[0], 4000);
    desk_close(&desk);
}

/* ---- audit ---- */

static void trips(const struct orr_ledger *ledger, const char *what)
{
    struct orr_err err = {0};
    if (orr_ledger_audit(ledger, &err) != ORR_BUG) {
        fail_msg("the audit misses a wrong %s", what);
    }
    assert_int_equal(err.status, ORR_BUG);
}

#define TRIPS(book)                                                                                \
    do {                                                                                           \
        (book) ^= 1;                                                                               \
        trips(ledger, #book);                                                                      \
        (book) ^= 1;                                                                               \
        assert_int_equal(orr_ledger_audit(ledger, NULL), ORR_OK);                                  \
    } while (0)

/* Jobs: 0 two whole devices, 1 and 2 share one, 3 releases, 4 waits. */
static void audit_desk(struct desk *desk)
{
    desk_init(desk);
    struct orr_node_type type = core_type(8, 4);
    type.allocatable = (struct orr_amounts){{64000, 64 * ORR_GIB, 8000, 30}};
    core_world_nodes(&desk->world, 3, type);
    const uint32_t racks[] = {0, 0, 1};
    (void)orr_cluster_add_level(&desk->world.cluster, "rack", racks, 2);
    struct orr_request request = core_whole(2);
    request.cpu_milli = 1000;
    request.mem_bytes = ORR_GIB;
    (void)core_world_job(&desk->world, 0, 1, request);
    (void)core_world_job(&desk->world, 0, 1, core_fraction(1, 300));
    (void)core_world_job(&desk->world, 0, 1, core_fraction(1, 300));
    (void)core_world_job(&desk->world, 0, 1, request);
    (void)core_world_job(&desk->world, 0, 1, request);
    desk_open(desk, 0);
    for (uint32_t j = 0; j < 4; j++) {
        assert_true(orr_txn_place(desk->txn, j, 0, 1, j / 2));
    }
    commit(desk, 0);
    assert_true(orr_txn_evict(desk->txn, 3, ORR_CAUSE_PREEMPT));
    commit(desk, 1);
}

static void audit__finds_every_wrong_book(void **state)
{
    (void)state;
    struct desk desk;
    audit_desk(&desk);
    struct orr_ledger *ledger = desk.ledger;
    assert_int_equal(orr_ledger_audit(ledger, NULL), ORR_OK);
    for (uint32_t n = 0; n < 3; n++) {
        TRIPS(ledger->idle[n].gpus);
        TRIPS(ledger->idle[n].cpu_milli);
        TRIPS(ledger->idle[n].mem_bytes);
        TRIPS(ledger->idle[n].pods);
        TRIPS(ledger->idle[n].mig[0]);
        TRIPS(ledger->releasing[n].mig[1]);
        TRIPS(ledger->releasing[n].gpus);
        TRIPS(ledger->releasing[n].cpu_milli);
        TRIPS(ledger->releasing[n].mem_bytes);
        TRIPS(ledger->releasing[n].pods);
        TRIPS(ledger->free_devices[n]);
        TRIPS(ledger->device_mgpu[n * 8 + 2]);
        TRIPS(ledger->node_free_mgpu[n]);
    }
    TRIPS(ledger->sharing.words[0]);
    TRIPS(ledger->types[0].filled[0]);
    TRIPS(ledger->types[0].by_idle[8].count);
    TRIPS(ledger->types[0].by_idle[ledger->idle[0].gpus].words[0]);
    TRIPS(ledger->types[0].by_idle[8].summary[0]);
    TRIPS(ledger->domains[0][1].idle_gpus);
    TRIPS(ledger->domains[0][0].nodes_by_idle[3]);
    for (uint32_t r = 0; r < ORR_SHARE_RESOURCES; r++) {
        TRIPS(ledger->use[0].allocated[r]);
        TRIPS(ledger->use[0].pending[r]);
    }
    TRIPS(ledger->use[0].unmetered_mgpu);
    TRIPS(ledger->shards[0].idle_gpus);
    TRIPS(ledger->shards[0].idle_mig_mgpu[0]);
    TRIPS(ledger->shards[0].free.mgpu[0]);
    TRIPS(ledger->shards[0].free_down.mgpu[0]);
    TRIPS(ledger->shards[0].allocated_mgpu);
    TRIPS(ledger->pending_jobs);
    TRIPS(ledger->running_jobs);
    TRIPS(ledger->claims);
    TRIPS(ledger->leaving_mgpu);
    TRIPS(ledger->placements[0].node);
    TRIPS(ledger->placements[0].devices);
    TRIPS(ledger->placements[1].devices);
    TRIPS(ledger->jobs[4].placed_tasks);
    desk_close(&desk);
}

static void audit__says_which_book_and_where(void **state)
{
    (void)state;
    struct desk desk;
    audit_desk(&desk);
    struct orr_err err = {0};
    desk.ledger->idle[2].cpu_milli -= 7;
    assert_int_equal(orr_ledger_audit(desk.ledger, &err), ORR_BUG);
    assert_string_equal(err.text, "ledger: idle milli-CPU of n2 is 63993, placements say 64000");
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets__say_when_a_gang_is_complete),
        cmocka_unit_test(least__is_what_the_cheapest_choice_holds),
        cmocka_unit_test(withdraw__gives_back_part_of_a_gang),
        cmocka_unit_test(devices__come_from_the_fullest_domain_that_fits),
        cmocka_unit_test(devices__span_domains_only_when_none_fits),
        cmocka_unit_test(devices__follow_the_rule_of_the_node),
        cmocka_unit_test(sharing__fills_the_fullest_device_first),
        cmocka_unit_test(sharing__opens_no_fresh_device_while_a_shared_one_fits),
        cmocka_unit_test(model__is_respected_everywhere),
        cmocka_unit_test(best_fit__skips_nodes_without_cpu),
        cmocka_unit_test(memory__is_held_as_asked_and_counted_in_percents),
        cmocka_unit_test(commit__refuses_part_of_a_gang),
        cmocka_unit_test(commit__refuses_above_a_limit),
        cmocka_unit_test(nonsense__is_refused_and_changes_nothing),
        cmocka_unit_test(pipeline__keeps_its_room_until_the_cycle_ends),
        cmocka_unit_test(reason__is_told_again_after_a_start),
        cmocka_unit_test(free__is_nothing_of_a_node_that_is_down),
        cmocka_unit_test(unheld__is_nothing_of_what_leaves),
        cmocka_unit_test(audit__finds_every_wrong_book),
        cmocka_unit_test(audit__says_which_book_and_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
