/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes, clusters, queues and the words of reasons. */
#include "test_main.h"

#include <string.h>

#include <orrery/core/policy.h>
#include <orrery/core/share.h>

#include "core_world.h"

static void shapes__are_interned_field_by_field(void **state)
{
    (void)state;
    struct orr_shapes shapes;
    orr_shapes_init(&shapes);
    struct orr_task_group group = {.request = core_whole(2), .count = 3};
    uint32_t first = orr_shapes_put(&shapes, &group, 1, 0);
    assert_int_equal(orr_shapes_put(&shapes, &group, 1, 3), first); /* 0 means all */
    struct orr_task_group others[8];
    for (size_t i = 0; i < 8; i++) {
        others[i] = group;
    }
    others[0].count = 4;
    others[1].request.devices = 3;
    others[2].request = core_fraction(2, 0);
    others[3].request = core_fraction(2, 500);
    others[4].request.cpu_milli = 1;
    others[5].request.mem_bytes = 1;
    others[6].request.gpu_model = 0;
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(orr_shapes_put(&shapes, &others[i], 1, 0), first + 1 + i);
    }
    assert_int_equal(orr_shapes_put(&shapes, &group, 1, 2), first + 8);
    assert_int_equal(orr_shapes_put(&shapes, others, 2, 0), first + 9);
    assert_int_equal(shapes.count, 10);
    assert_int_equal(shapes.shapes[first].tasks, 3);
    assert_int_equal(shapes.shapes[first].gpus_mgpu, 6000);
    assert_int_equal(shapes.shapes[first + 4].gpus_mgpu, 3000);
    assert_int_equal(shapes.shapes[first + 9].tasks, 7);
    orr_shapes_release(&shapes);
}

static void shapes__stay_findable_as_they_grow(void **state)
{
    (void)state;
    struct orr_shapes shapes;
    orr_shapes_init(&shapes);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < 3000; i++) {
            struct orr_task_group group = {.request = core_whole(1 + i % 8), .count = 1 + i / 8};
            assert_int_equal(orr_shapes_put(&shapes, &group, 1, 0), i);
        }
    }
    orr_shapes_release(&shapes);
}

static void cluster__counts_what_is_added(void **state)
{
    (void)state;
    struct core_world world;
    core_world_init(&world);
    core_world_nodes(&world, 3, core_type(8, 4));
    core_world_nodes(&world, 2, core_type(2, 2));
    const uint32_t racks[] = {0, 0, 1, 1, 1};
    assert_int_equal(orr_cluster_add_level(&world.cluster, "rack", racks, 2), 0);
    assert_int_equal(world.cluster.total_gpus, 28);
    assert_int_equal(world.cluster.max_gpus, 8);
    assert_int_equal(orr_cluster_type(&world.cluster, 4)->gpus, 2);
    assert_string_equal(orr_idmap_name(&world.cluster.node_names, 4), "n4");
    assert_memory_equal(world.cluster.levels[0].domain_of_node, racks, sizeof racks);
    core_world_release(&world);
}

static void queues__know_depth_and_children(void **state)
{
    (void)state;
    struct orr_queues queues;
    struct orr_queue queue = orr_queue_default();
    orr_queues_init(&queues);
    assert_true(queue.resources[ORR_SHARE_GPU].quota == 0.0);
    assert_true(queue.resources[ORR_SHARE_CPU].limit == ORR_UNLIMITED);
    uint32_t root = orr_queues_add(&queues, "root", ORR_NONE, &queue);
    uint32_t team = orr_queues_add(&queues, "team", root, &queue);
    uint32_t leaf = orr_queues_add(&queues, "leaf", team, &queue);
    assert_int_equal(queues.queues[leaf].depth, 2);
    assert_int_equal(queues.queues[root].child_count, 1);
    assert_int_equal(queues.queues[leaf].parent, team);
    assert_int_equal(orr_idmap_find(&queues.names, "team", 4), team);
    orr_queues_release(&queues);
}

static void words__exist_for_every_reason_and_cause(void **state)
{
    (void)state;
    for (unsigned r = 0; r < ORR_REASON_COUNT; r++) {
        assert_true(strlen(orr_reason_code((enum orr_reason)r)) > 0);
        assert_true(strlen(orr_reason_words((enum orr_reason)r)) > 10);
        for (unsigned o = 0; o < r; o++) {
            assert_string_not_equal(orr_reason_code((enum orr_reason)r),
                                    orr_reason_code((enum orr_reason)o));
        }
    }
    for (unsigned c = 0; c < ORR_CAUSE_COUNT; c++) {
        assert_true(strlen(orr_cause_words((enum orr_cause)c)) > 0);
    }
}

static void host__lends_everything_it_lists(void **state)
{
    (void)state;
    const struct orr_host *host = orr_policy_host();
    assert_int_equal(host->abi, ORR_POLICY_ABI);
    assert_int_equal(host->size, sizeof *host);
    const char *slot = (const char *)host + offsetof(struct orr_host, place);
    for (; slot < (const char *)host + sizeof *host; slot += sizeof(void *)) {
        void *function;
        memcpy(&function, slot, sizeof function);
        assert_non_null(function);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes__are_interned_field_by_field),
        cmocka_unit_test(shapes__stay_findable_as_they_grow),
        cmocka_unit_test(cluster__counts_what_is_added),
        cmocka_unit_test(queues__know_depth_and_children),
        cmocka_unit_test(words__exist_for_every_reason_and_cause),
        cmocka_unit_test(host__lends_everything_it_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
