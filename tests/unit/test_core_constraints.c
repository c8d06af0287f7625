/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where tasks may be: filters over nodes and levels that hold a gang together, in the ledger and in
 * consolidated placement. */
#include "test_main.h"

#include <string.h>

#include <orrery/core/place.h>

#include "core_world.h"

struct desk {
    struct core_world world;
    struct orr_ledger *ledger;
    struct orr_txn *txn;
};

/* Four nodes of four devices in two racks of two; filter 1 admits odd nodes, filter 2 all but n3.
 */
static void desk_init(struct desk *desk)
{
    static const uint32_t racks[] = {0, 0, 1, 1};
    static const bool odd[] = {false, true, false, true}, but_last[] = {true, true, true, false};
    struct orr_queue queue = orr_queue_default();
    *desk = (struct desk){0};
    core_world_init(&desk->world);
    core_world_nodes(&desk->world, 4, core_type(4, 4));
    (void)orr_queues_add(&desk->world.queues, "team", ORR_NONE, &queue);
    (void)orr_cluster_add_level(&desk->world.cluster, "rack", racks, 2);
    assert_int_equal(orr_cluster_add_filter(&desk->world.cluster, "odd", odd), 1);
    assert_int_equal(orr_cluster_add_filter(&desk->world.cluster, "but last", but_last), 2);
}

static uint32_t gang(struct desk *desk, uint32_t tasks, uint32_t gpus, struct orr_span span)
{
    struct orr_task_group group = {.request = core_whole(gpus), .count = tasks};
    uint32_t job = core_world_job(&desk->world, 0, tasks, core_whole(gpus));
    desk->world.specs[job].shape = orr_shapes_put_within(&desk->world.shapes, &group, 1, 0, span);
    return job;
}

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
    orr_txn_rollback(desk->txn, 0);
    orr_txn_close(desk->txn);
    orr_ledger_close(desk->ledger);
    core_world_release(&desk->world);
}

static enum orr_reason place(struct desk *desk, uint32_t job)
{
    return orr_place_consolidated(desk->txn, desk->ledger, job);
}

/* Bit n: the job has tasks on node n. */
static uint32_t nodes_of(const struct desk *desk, uint32_t job)
{
    uint32_t nodes = 0;
    uint32_t p = desk->ledger->jobs[job].placement;
    for (; p != ORR_NONE; p = desk->ledger->placements[p].next) {
        nodes |= 1u << desk->ledger->placements[p].node;
    }
    return nodes;
}

static void shapes__differ_by_what_they_constrain(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    struct orr_task_group group = {.request = core_whole(1), .count = 2};
    struct orr_shapes *shapes = &desk.world.shapes;
    uint32_t plain = orr_shapes_put(shapes, &group, 1, 0);
    uint32_t rack = orr_shapes_put_within(shapes, &group, 1, 0, (struct orr_span){.required = 1});
    group.request.selector = 1;
    uint32_t odd = orr_shapes_put(shapes, &group, 1, 0);
    group.request.selector = 0;
    group.request.toleration = 1;
    uint32_t tolerant = orr_shapes_put(shapes, &group, 1, 0);
    assert_true(plain != rack && plain != odd && rack != odd && odd != tolerant);
    group.request.toleration = 0;
    assert_int_equal(orr_shapes_put(shapes, &group, 1, 0), plain);
    core_world_release(&desk.world);
}

static void filters__narrow_every_way_to_a_node(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    struct orr_request request = core_whole(2);
    request.selector = 1;
    uint32_t job = core_world_job(&desk.world, 0, 3, request);
    desk_open(&desk, ORR_LAW_GANG);
    assert_int_equal(orr_ledger_best_fit(desk.ledger, &request, 1), 1);
    assert_int_equal(orr_ledger_most_idle(desk.ledger, &request), 1);
    assert_int_equal(orr_ledger_room_for(desk.ledger, 0, &request), 0);
    assert_int_equal(orr_ledger_room_for(desk.ledger, 1, &request), 2);
    request.toleration = 2;
    assert_int_equal(orr_ledger_room_for(desk.ledger, 3, &request), 0);
    assert_int_equal(orr_place_allowed_idle(desk.ledger, &request), 4);
    assert_false(orr_txn_place(desk.txn, job, 0, 1, 0));
    assert_false(orr_txn_pipeline(desk.txn, job, 0, 1, 2));
    assert_true(orr_txn_pipeline(desk.txn, job, 0, 1, 3));
    orr_txn_rollback(desk.txn, 0);
    assert_int_equal(place(&desk, job), ORR_REASON_NONE);
    assert_int_equal(nodes_of(&desk, job), 1u << 1 | 1u << 3);
    desk_close(&desk);
}

static void filters__are_the_reason_when_other_nodes_are_free(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    struct orr_request request = core_whole(4);
    request.selector = 1;
    uint32_t job = core_world_job(&desk.world, 0, 3, request);
    desk_open(&desk, ORR_LAW_GANG);
    assert_int_equal(place(&desk, job), ORR_REASON_CONSTRAINED);
    assert_int_equal(desk.ledger->jobs[job].placed_tasks, 0);
    desk_close(&desk);
}

static void audit__finds_a_task_on_a_node_it_may_not_use(void **state)
{
    (void)state;
    struct desk desk;
    struct orr_refusal refusal;
    struct orr_err err = {0};
    desk_init(&desk);
    struct orr_request request = core_whole(2);
    request.selector = 1;
    uint32_t job = core_world_job(&desk.world, 0, 1, request);
    desk_open(&desk, ORR_LAW_GANG);
    assert_int_equal(place(&desk, job), ORR_REASON_NONE);
    assert_true(orr_txn_commit(desk.txn, 0, &refusal));
    orr_txn_end_cycle(desk.txn);
    assert_int_equal(orr_ledger_audit(desk.ledger, &err), ORR_OK);
    desk.world.cluster.filters[0].words[0] = 1; /* from now on only n0 is admitted */
    assert_int_equal(orr_ledger_audit(desk.ledger, &err), ORR_BUG);
    assert_non_null(strstr(err.text, "tasks on a node they may not use of n1"));
    desk_close(&desk);
}

static void required__takes_the_tightest_domain_that_holds_all(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    uint32_t filler = core_world_job(&desk.world, 0, 1, core_whole(1));
    uint32_t six = gang(&desk, 3, 2, (struct orr_span){.required = 1});
    uint32_t eight = gang(&desk, 2, 4, (struct orr_span){.required = 1});
    uint32_t four = gang(&desk, 4, 1, (struct orr_span){.required = 2});
    desk_open(&desk, ORR_LAW_GANG | ORR_LAW_SPAN);
    assert_true(orr_txn_place(desk.txn, filler, 0, 1, 3));
    assert_int_equal(place(&desk, six), ORR_REASON_NONE); /* seven devices are idle in rack 1 */
    assert_int_equal(nodes_of(&desk, six), 1u << 2 | 1u << 3);
    assert_int_equal(place(&desk, four), ORR_REASON_NONE); /* on one node */
    assert_int_equal(nodes_of(&desk, four), 1u << 0);
    assert_int_equal(place(&desk, eight), ORR_REASON_NO_CAPACITY);
    desk_close(&desk);
}

static void required__waits_when_no_domain_is_whole(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    uint32_t a = core_world_job(&desk.world, 0, 1, core_whole(1));
    uint32_t b = core_world_job(&desk.world, 0, 1, core_whole(1));
    uint32_t eight = gang(&desk, 2, 4, (struct orr_span){.required = 1});
    desk_open(&desk, ORR_LAW_GANG | ORR_LAW_SPAN);
    assert_true(orr_txn_place(desk.txn, a, 0, 1, 0));
    assert_true(orr_txn_place(desk.txn, b, 0, 1, 2));
    uint32_t before = orr_txn_checkpoint(desk.txn);
    assert_int_equal(place(&desk, eight), ORR_REASON_TOPOLOGY);
    assert_int_equal(orr_txn_checkpoint(desk.txn), before);
    desk_close(&desk);
}

static void preferred__goes_wider_when_it_must(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    uint32_t a = core_world_job(&desk.world, 0, 1, core_whole(1));
    uint32_t b = core_world_job(&desk.world, 0, 1, core_whole(1));
    uint32_t pair = gang(&desk, 2, 2, (struct orr_span){.preferred = 2});
    uint32_t eight = gang(&desk, 2, 4, (struct orr_span){.preferred = 1});
    desk_open(&desk, ORR_LAW_GANG | ORR_LAW_SPAN);
    assert_true(orr_txn_place(desk.txn, a, 0, 1, 0));
    assert_true(orr_txn_place(desk.txn, b, 0, 1, 2));
    uint32_t mark = orr_txn_checkpoint(desk.txn);
    assert_int_equal(place(&desk, pair), ORR_REASON_NONE);
    assert_int_equal(nodes_of(&desk, pair), 1u << 1); /* a whole node, the tightest */
    orr_txn_rollback(desk.txn, mark);
    assert_int_equal(place(&desk, eight), ORR_REASON_NONE);
    assert_int_equal(nodes_of(&desk, eight), 1u << 1 | 1u << 3);
    desk_close(&desk);
}

static void law__refuses_a_gang_across_domains(void **state)
{
    (void)state;
    struct desk desk;
    struct orr_refusal refusal;
    desk_init(&desk);
    uint32_t job = gang(&desk, 2, 1, (struct orr_span){.required = 1});
    desk_open(&desk, ORR_LAW_GANG | ORR_LAW_SPAN);
    assert_true(orr_txn_place(desk.txn, job, 0, 1, 1));
    assert_true(orr_txn_place(desk.txn, job, 0, 1, 2));
    assert_false(orr_txn_commit(desk.txn, 0, &refusal));
    assert_int_equal(refusal.law, ORR_LAW_SPAN);
    assert_true(orr_txn_place(desk.txn, job, 0, 1, 3));
    assert_true(orr_txn_place(desk.txn, job, 0, 1, 2));
    assert_true(orr_txn_commit(desk.txn, 0, &refusal));
    orr_txn_end_cycle(desk.txn);
    desk_close(&desk);
}

/* A type of a shard, with some devices held by foreign pods. */
static struct orr_node_type type_of(uint32_t gpus, uint32_t shard, uint32_t foreign)
{
    struct orr_node_type type = core_type(gpus, gpus);
    type.shard = shard;
    type.foreign.v[ORR_RES_GPU] = (int64_t)foreign * ORR_MGPU;
    type.foreign.v[ORR_RES_PODS] = foreign;
    return type;
}

/* Queue qa in shard a with two nodes of four devices, queue qb in shard b with one of eight. */
static void desk_init_shards(struct desk *desk)
{
    struct orr_queue queue = orr_queue_default();
    *desk = (struct desk){0};
    core_world_init(&desk->world);
    (void)orr_idmap_put(&desk->world.cluster.shards, "a", 1, NULL);
    (void)orr_idmap_put(&desk->world.cluster.shards, "b", 1, NULL);
    core_world_nodes(&desk->world, 2, type_of(4, 0, 0));
    core_world_nodes(&desk->world, 1, type_of(8, 1, 0));
    (void)orr_queues_add(&desk->world.queues, "qa", ORR_NONE, &queue);
    queue.shard = 1;
    (void)orr_queues_add(&desk->world.queues, "qb", ORR_NONE, &queue);
}

static void shards__give_room_only_to_their_own(void **state)
{
    (void)state;
    struct desk desk;
    struct orr_refusal refusal;
    struct orr_err err = {0};
    desk_init_shards(&desk);
    struct orr_request in_a = core_whole(4), in_b = core_whole(4);
    in_b.shard = 1;
    uint32_t a = core_world_job(&desk.world, 0, 3, in_a);
    uint32_t b = core_world_job(&desk.world, 1, 1, in_b);
    desk_open(&desk, ORR_LAW_GANG);
    assert_int_equal(desk.ledger->shards[0].total_gpus, 8);
    assert_int_equal(desk.ledger->shards[1].total_gpus, 8);
    assert_int_equal(place(&desk, a), ORR_REASON_NO_CAPACITY); /* twelve GPUs, eight are its own */
    assert_int_equal(orr_ledger_best_fit(desk.ledger, &in_a, 1), 0);
    assert_int_equal(orr_ledger_most_idle(desk.ledger, &in_a), 0);
    assert_int_equal(orr_ledger_most_idle(desk.ledger, &in_b), 2);
    assert_false(orr_txn_place(desk.txn, a, 0, 1, 2));
    assert_int_equal(place(&desk, b), ORR_REASON_NONE);
    assert_true(orr_txn_commit(desk.txn, 0, &refusal));
    orr_txn_end_cycle(desk.txn);
    assert_int_equal(desk.ledger->shards[1].idle_gpus, 4);
    assert_int_equal(desk.ledger->shards[1].allocated_mgpu, 4000);
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 8);
    struct orr_proof proof = orr_ledger_prove(desk.ledger, a, ORR_REASON_NO_CAPACITY);
    assert_int_equal(proof.free_mgpu, 8000);
    assert_int_equal(proof.hole_mgpu, 4000);
    assert_int_equal(orr_ledger_audit(desk.ledger, &err), ORR_OK);
    desk.ledger->shards[1].idle_gpus++;
    assert_int_equal(orr_ledger_audit(desk.ledger, &err), ORR_BUG);
    desk.ledger->shards[1].idle_gpus--;
    desk_close(&desk);
}

/* Without a gang law in its shard a job may be placed in part; in the other it may not. */
static void shards__have_laws_of_their_own(void **state)
{
    (void)state;
    struct desk desk;
    struct orr_refusal refusal;
    static const uint32_t laws[] = {ORR_LAW_GANG, 0};
    desk_init_shards(&desk);
    struct orr_request in_a = core_whole(1), in_b = core_whole(1);
    in_b.shard = 1;
    uint32_t a = core_world_job(&desk.world, 0, 2, in_a);
    uint32_t b = core_world_job(&desk.world, 1, 2, in_b);
    desk_open(&desk, 0);
    orr_txn_set_shard_laws(desk.txn, laws);
    assert_true(orr_txn_place(desk.txn, b, 0, 1, 2));
    assert_true(orr_txn_commit(desk.txn, 0, &refusal));
    assert_true(orr_txn_place(desk.txn, a, 0, 1, 0));
    assert_false(orr_txn_commit(desk.txn, 0, &refusal));
    assert_int_equal(refusal.law, ORR_LAW_GANG);
    orr_txn_end_cycle(desk.txn);
    desk_close(&desk);
}

static void foreign_pods__hold_the_first_devices(void **state)
{
    (void)state;
    struct desk desk = {0};
    struct orr_queue queue = orr_queue_default();
    struct orr_refusal refusal;
    struct orr_err err = {0};
    core_world_init(&desk.world);
    core_world_nodes(&desk.world, 1, type_of(4, 0, 1));
    core_world_nodes(&desk.world, 1, type_of(4, 0, 4));
    (void)orr_queues_add(&desk.world.queues, "q", ORR_NONE, &queue);
    uint32_t large = core_world_job(&desk.world, 0, 1, core_whole(4));
    uint32_t job = core_world_job(&desk.world, 0, 1, core_whole(2));
    uint32_t part = core_world_job(&desk.world, 0, 1, core_fraction(1, 500));
    desk_open(&desk, ORR_LAW_GANG);
    assert_int_equal(desk.world.cluster.total_gpus, 3);
    assert_int_equal(desk.ledger->shards[0].idle_gpus, 3);
    assert_int_equal(place(&desk, large), ORR_REASON_NO_CAPACITY);
    assert_int_equal(place(&desk, job), ORR_REASON_NONE);
    assert_int_equal(desk.ledger->placements[desk.ledger->jobs[job].placement].devices, 6);
    assert_int_equal(place(&desk, part), ORR_REASON_NONE);
    assert_int_equal(desk.ledger->placements[desk.ledger->jobs[part].placement].devices, 8);
    assert_true(orr_txn_commit(desk.txn, 0, &refusal));
    orr_txn_end_cycle(desk.txn);
    assert_int_equal(orr_ledger_audit(desk.ledger, &err), ORR_OK);
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes__differ_by_what_they_constrain),
        cmocka_unit_test(filters__narrow_every_way_to_a_node),
        cmocka_unit_test(filters__are_the_reason_when_other_nodes_are_free),
        cmocka_unit_test(audit__finds_a_task_on_a_node_it_may_not_use),
        cmocka_unit_test(required__takes_the_tightest_domain_that_holds_all),
        cmocka_unit_test(required__waits_when_no_domain_is_whole),
        cmocka_unit_test(preferred__goes_wider_when_it_must),
        cmocka_unit_test(law__refuses_a_gang_across_domains),
        cmocka_unit_test(shards__give_room_only_to_their_own),
        cmocka_unit_test(shards__have_laws_of_their_own),
        cmocka_unit_test(foreign_pods__hold_the_first_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
