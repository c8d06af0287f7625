/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Consolidated placement by hand, on nodes of eight devices. */
#include "test_main.h"

#include <orrery/core/place.h>

#include "core_world.h"

struct desk {
    struct core_world world;
    struct orr_ledger *ledger;
    struct orr_txn *txn;
};

/* Nodes with `busy` devices taken, by one job each, before the jobs under test. */
static void desk_init(struct desk *desk, const uint32_t *busy, uint32_t nodes)
{
    struct orr_queue queue = orr_queue_default();
    *desk = (struct desk){0};
    core_world_init(&desk->world);
    core_world_nodes(&desk->world, nodes, core_type(8, 8));
    (void)orr_queues_add(&desk->world.queues, "team", ORR_NONE, &queue);
    for (uint32_t n = 0; n < nodes; n++) {
        (void)core_world_job(&desk->world, 0, 1, core_whole(busy[n]));
    }
}

static void desk_open(struct desk *desk)
{
    desk->ledger = core_world_open(&desk->world);
    desk->txn = orr_txn_open(desk->ledger, ORR_LAW_GANG);
    for (uint32_t j = 0; j < desk->world.job_count; j++) {
        orr_ledger_submit(desk->ledger, j);
        if (j < desk->world.cluster.node_count) {
            assert_true(orr_txn_place(desk->txn, j, 0, 1, j));
        }
    }
}

static void desk_close(struct desk *desk)
{
    orr_txn_rollback(desk->txn, 0);
    orr_txn_close(desk->txn);
    orr_ledger_close(desk->ledger);
    core_world_release(&desk->world);
}

static enum orr_reason place(struct desk *desk, uint32_t job)
{
    return orr_place_consolidated(desk->txn, desk->ledger, job);
}

static const struct orr_placement *newest(const struct desk *desk, uint32_t job)
{
    return &desk->ledger->placements[desk->ledger->jobs[job].placement];
}

static void single_task__goes_to_the_fullest_node_lowest_first(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk, (const uint32_t[]){2, 5, 5, 0}, 4);
    static const uint32_t expected[] = {1, 2, 0, 0, 3, 3};
    uint32_t first = desk.world.job_count;
    for (int i = 0; i < 6; i++) {
        (void)core_world_job(&desk.world, 0, 1, core_whole(3));
    }
    desk_open(&desk);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(place(&desk, first + i), ORR_REASON_NONE);
        assert_int_equal(newest(&desk, first + i)->node, expected[i]);
    }
    desk_close(&desk);
}

static void gang__goes_to_the_most_idle_node_then_the_next(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk, (const uint32_t[]){2, 0, 0, 0}, 4);
    uint32_t job = core_world_job(&desk.world, 0, 12, core_whole(1));
    desk_open(&desk);
    assert_int_equal(place(&desk, job), ORR_REASON_NONE);
    const struct orr_placement *second = newest(&desk, job);
    const struct orr_placement *first = &desk.ledger->placements[second->next];
    assert_int_equal(first->node, 1);
    assert_int_equal(first->tasks, 8);
    assert_int_equal(second->node, 2);
    assert_int_equal(second->tasks, 4);
    assert_int_equal(first->next, ORR_NONE);
    assert_int_equal(desk.ledger->jobs[job].placed_tasks, 12);
    desk_close(&desk);
}

static void gang__uses_what_is_left_when_no_node_is_empty(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk, (const uint32_t[]){5, 3, 4}, 3);
    uint32_t job = core_world_job(&desk.world, 0, 5, core_whole(2));
    desk_open(&desk);
    assert_int_equal(place(&desk, job), ORR_REASON_NONE); /* 2 on n1, 2 on n2, 1 on n0 */
    assert_int_equal(desk.ledger->idle[0].gpus, 1);
    assert_int_equal(desk.ledger->idle[1].gpus, 1);
    assert_int_equal(desk.ledger->idle[2].gpus, 0);
    desk_close(&desk);
}

static void whole_node__is_blocked_by_one_device_everywhere(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk, (const uint32_t[]){1, 1, 1}, 3);
    uint32_t node = core_world_job(&desk.world, 0, 1, core_whole(8));
    uint32_t nodes = core_world_job(&desk.world, 0, 2, core_whole(8));
    uint32_t more = core_world_job(&desk.world, 0, 22, core_whole(1));
    uint32_t all = core_world_job(&desk.world, 0, 21, core_whole(1));
    desk_open(&desk);
    uint32_t mark = orr_txn_checkpoint(desk.txn);
    assert_int_equal(place(&desk, node), ORR_REASON_FRAGMENTED);
    assert_int_equal(place(&desk, nodes), ORR_REASON_FRAGMENTED);
    assert_int_equal(place(&desk, more), ORR_REASON_NO_CAPACITY);
    assert_int_equal(orr_txn_checkpoint(desk.txn), mark);
    assert_int_equal(desk.ledger->jobs[node].placed_tasks, 0);
    assert_int_equal(place(&desk, all), ORR_REASON_NONE);
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 0);
    desk_close(&desk);
}

/* The first group fits, the second does not: nothing stays. */
static void groups__are_placed_together_or_not_at_all(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk, (const uint32_t[]){4, 2}, 2);
    struct orr_task_group groups[] = {{.request = core_whole(1), .count = 3},
                                      {.request = core_whole(6), .count = 1}};
    uint32_t job = core_world_job(&desk.world, 0, 1, core_whole(1));
    desk.world.specs[job].shape = orr_shapes_put(&desk.world.shapes, groups, 2, 0);
    desk_open(&desk);
    uint32_t mark = orr_txn_checkpoint(desk.txn);
    assert_int_equal(place(&desk, job), ORR_REASON_FRAGMENTED);
    assert_int_equal(orr_txn_checkpoint(desk.txn), mark);
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 10);
    desk_close(&desk);
}

static void fractions__share_devices_before_they_open_one(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk, (const uint32_t[]){0, 7}, 2);
    uint32_t job[5];
    for (size_t i = 0; i < 5; i++) {
        job[i] = core_world_job(&desk.world, 0, 1, core_fraction(1, 500));
    }
    desk_open(&desk);
    static const uint32_t expected[] = {1, 1, 0, 0, 0};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(place(&desk, job[i]), ORR_REASON_NONE);
        assert_int_equal(newest(&desk, job[i])->node, expected[i]);
    }
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 6);
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_task__goes_to_the_fullest_node_lowest_first),
        cmocka_unit_test(gang__goes_to_the_most_idle_node_then_the_next),
        cmocka_unit_test(gang__uses_what_is_left_when_no_node_is_empty),
        cmocka_unit_test(whole_node__is_blocked_by_one_device_everywhere),
        cmocka_unit_test(groups__are_placed_together_or_not_at_all),
        cmocka_unit_test(fractions__share_devices_before_they_open_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
