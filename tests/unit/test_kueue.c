/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What no vector states of Kueue: what happens between cycles. One resource, up to two flavors. */
#include "test_main.h"

#include <orrery/base/mem.h>
#include <orrery/policies/kueue.h>

#define QUEUES 3 /* a and b in one cohort, c alone */

struct world {
    struct orr_quota_tree tree;
    struct orr_kueue_spec spec;
    struct orr_kueue_flavor flavors[2];
    struct orr_kueue_queue queues[QUEUES];
    struct orr_kueue_local_queue locals[2];
    struct orr_kueue *kueue;
    uint32_t ranks;
};

static const uint32_t resource = 0, flavor_list[] = {0, 1};
static const struct orr_kueue_group one_flavor = {&resource, flavor_list, 1, 1};
static const struct orr_kueue_group two_flavors = {&resource, flavor_list, 1, 2};

static void set_quota(struct world *world, uint32_t node, uint32_t cell, int64_t nominal)
{
    const size_t at = orr_quota_at(&world->tree, node, cell);
    world->tree.cells[at].nominal = nominal;
    world->tree.defined[at] = true;
}

/* Each queue has 4 of flavor 0; queues with two flavors have 4 of the other too. */
static void prepare(struct world *world)
{
    *world = (struct world){0};
    world->spec = (struct orr_kueue_spec){.resource_count = 1,
                                          .flavor_count = 2,
                                          .queue_count = QUEUES,
                                          .cohort_count = 1,
                                          .local_queue_count = 2,
                                          .pods_resource = ORR_NONE,
                                          .flavors = world->flavors,
                                          .queues = world->queues,
                                          .local_queues = world->locals};
    for (uint32_t f = 0; f < 2; f++) {
        world->flavors[f].topology = ORR_NONE;
        world->locals[f] = (struct orr_kueue_local_queue){.queue = 0, .weight = 1};
    }
    orr_quota_init(&world->tree, QUEUES + 1, 2, 1);
    world->tree.nodes[QUEUES].cohort = true;
    for (uint32_t q = 0; q < QUEUES; q++) {
        world->queues[q] = (struct orr_kueue_queue){.groups = &one_flavor,
                                                    .group_count = 1,
                                                    .within = ORR_KUEUE_LOWER_PRIORITY,
                                                    .reclaim = ORR_KUEUE_NEVER};
        world->tree.nodes[q].parent = q < 2 ? QUEUES : ORR_NONE;
        set_quota(world, q, 0, 4);
    }
}

static void open_world(struct world *world)
{
    assert_true(orr_quota_build(&world->tree, NULL));
    orr_quota_sum(&world->tree);
    world->kueue = orr_kueue_open(&world->spec, &world->tree);
}

static void close_world(struct world *world)
{
    orr_kueue_close(world->kueue);
    orr_quota_release(&world->tree);
}

static uint32_t submit_to(struct world *world, uint32_t queue, uint32_t local, int32_t priority,
                          int64_t created, const int64_t *size)
{
    /* Static: pod sets outlive the world, and there are few sizes. */
    static struct orr_kueue_pod_set sets[16];
    sets[*size] =
        (struct orr_kueue_pod_set){.name = "main", .count = 1, .min_count = -1, .per_pod = size};
    const struct orr_kueue_new workload = {.queue = queue,
                                           .local_queue = local,
                                           .priority = priority,
                                           .rank = world->ranks++,
                                           .created = created,
                                           .hash = (uint64_t)priority * 100 + (uint64_t)*size,
                                           .pod_sets = &sets[*size],
                                           .pod_set_count = 1,
                                           .replaces = ORR_NONE};
    const uint32_t id = orr_kueue_add(world->kueue, &workload);
    orr_kueue_queue(world->kueue, id);
    return id;
}

static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

static uint32_t submit(struct world *world, uint32_t queue, int32_t priority, int64_t created,
                       int64_t size)
{
    return submit_to(world, queue, ORR_NONE, priority, created, &sizes[size]);
}

/* Cycles until nothing waits in a heap, or `most` are done. */
static void run(struct world *world, int most)
{
    for (int i = 0; i < most && orr_kueue_cycle(world->kueue, 1000); i++) {
    }
}

static uint32_t evictions(const struct world *world)
{
    uint32_t count, evicted = 0;
    const struct orr_kueue_decision *decisions = orr_kueue_decisions(world->kueue, &count);
    for (uint32_t i = 0; i < count; i++) {
        evicted += decisions[i].deed == ORR_KUEUE_EVICT;
    }
    return evicted;
}

static void preemptor__stays_first_in_best_effort(void **state)
{
    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        struct world world;
        prepare(&world);
        world.queues[2].strict_fifo = strict != 0;
        open_world(&world);
        const uint32_t victim = submit(&world, 2, 0, 0, 4);
        run(&world, 1);
        assert_true(orr_kueue_holds(world.kueue, victim));
        const uint32_t preemptor = submit(&world, 2, 1, 1, 4);
        run(&world, 1);
        assert_int_equal(evictions(&world), 1);
        const uint32_t later = submit(&world, 2, 2, 2, 4);
        orr_kueue_release(world.kueue, victim); /* its pods are gone */
        run(&world, 1);
        assert_int_equal(orr_kueue_holds(world.kueue, preemptor), strict == 0);
        assert_int_equal(orr_kueue_holds(world.kueue, later), strict != 0);
        close_world(&world);
    }
}

static void parked__wake_with_their_whole_tree(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    world.queues[0].within = world.queues[1].within = ORR_KUEUE_NEVER;
    open_world(&world);
    const uint32_t holder = submit(&world, 0, 0, 0, 8);
    run(&world, 1);
    const uint32_t waits = submit(&world, 1, 0, 1, 4), alone = submit(&world, 2, 0, 1, 5);
    run(&world, 4);
    assert_true(orr_kueue_is_parked(world.kueue, waits));
    assert_true(orr_kueue_is_parked(world.kueue, alone));
    orr_kueue_release(world.kueue, holder);
    assert_false(orr_kueue_cycle(world.kueue, 1000)); /* a release alone wakes nobody */
    orr_kueue_wake(world.kueue, 0);
    assert_true(orr_kueue_in_heap(world.kueue, waits));
    assert_true(orr_kueue_is_parked(world.kueue, alone)); /* another tree */
    run(&world, 1);
    assert_true(orr_kueue_holds(world.kueue, waits));
    close_world(&world);
}

static void alike__are_parked_together_and_on_arrival(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    open_world(&world);
    const uint32_t first = submit(&world, 2, 0, 0, 5), second = submit(&world, 2, 0, 1, 5);
    const uint32_t other = submit(&world, 2, 0, 2, 6);
    run(&world, 1);
    assert_true(orr_kueue_is_parked(world.kueue, first));
    assert_true(orr_kueue_is_parked(world.kueue, second));
    assert_true(orr_kueue_in_heap(world.kueue, other));
    assert_true(orr_kueue_is_parked(world.kueue, submit(&world, 2, 0, 3, 5)));
    orr_kueue_wake(world.kueue, 2);
    assert_true(orr_kueue_in_heap(world.kueue, second));
    close_world(&world);
}

static void backoff__outlasts_a_wake(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    open_world(&world);
    const uint32_t backs_off = submit(&world, 2, 0, 0, 1);
    orr_kueue_park(world.kueue, backs_off, true);
    orr_kueue_wake(world.kueue, 2);
    assert_true(orr_kueue_is_parked(world.kueue, backs_off));
    orr_kueue_queue(world.kueue, backs_off);
    assert_true(orr_kueue_in_heap(world.kueue, backs_off));
    close_world(&world);
}

static void order__is_by_the_time_of_the_eviction_if_told(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    open_world(&world);
    const uint32_t evicted = submit(&world, 2, 0, 0, 4), other = submit(&world, 2, 0, 5, 4);
    orr_kueue_drop(world.kueue, evicted);
    orr_kueue_set_order(world.kueue, evicted, 10);
    orr_kueue_queue(world.kueue, evicted);
    run(&world, 1);
    assert_true(orr_kueue_holds(world.kueue, other));
    assert_false(orr_kueue_holds(world.kueue, evicted));
    close_world(&world);
}

/* Skipped once, a workload goes on with the next flavor in the next cycle. */
static void scan__goes_on_with_the_next_flavor(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    world.queues[0].groups = world.queues[1].groups = &two_flavors;
    world.queues[0].within = world.queues[1].within = ORR_KUEUE_NEVER;
    set_quota(&world, 0, 1, 4);
    set_quota(&world, 1, 1, 4);
    open_world(&world);
    const uint32_t a = submit(&world, 0, 1, 0, 8), b = submit(&world, 1, 0, 1, 8);
    run(&world, 1);
    assert_true(orr_kueue_holds(world.kueue, a));
    assert_int_equal(orr_kueue_held(world.kueue, a)[0].flavors[0], 0);
    orr_kueue_release(world.kueue, a); /* flavor 0 is free again, but b has tried it */
    run(&world, 1);
    assert_int_equal(orr_kueue_held(world.kueue, b)[0].flavors[0], 1);
    close_world(&world);
}

static void usage__decays_and_charges_entries(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    world.spec.config.usage_based = true;
    world.spec.config.half_life_s = 10;
    world.spec.config.sampling_s = 10;
    world.queues[0].usage_based = true;
    open_world(&world);
    const double before[] = {8};
    orr_kueue_set_consumed(world.kueue, 0, before);
    orr_kueue_sample(world.kueue, 0, 10);
    assert_true(orr_kueue_local_usage(world.kueue, 0) == 4);
    const uint32_t id = submit_to(&world, 0, 1, 0, 0, &sizes[4]);
    run(&world, 1);
    assert_true(orr_kueue_local_usage(world.kueue, 1) == 2); /* half of it, at once */
    orr_kueue_settle_entry(world.kueue, id, 0);
    assert_true(orr_kueue_local_usage(world.kueue, 1) == 2);
    orr_kueue_sample(world.kueue, 1, 10);
    assert_true(orr_kueue_local_usage(world.kueue, 1) == 3);
    close_world(&world);
}

static void amounts__saturate(void **state)
{
    (void)state;
    assert_true(orr_quota_add(INT64_MAX - 1, 5) == INT64_MAX);
    assert_true(orr_quota_sub(ORR_QUOTA_UNLIMITED, 5) == ORR_QUOTA_UNLIMITED);
    assert_true(orr_quota_sub(ORR_QUOTA_UNLIMITED, ORR_QUOTA_UNLIMITED) == 0);
    assert_true(orr_quota_sub(5, ORR_QUOTA_UNLIMITED) == INT64_MIN);
    assert_true(orr_quota_times(INT64_MAX / 2, 3) == INT64_MAX);
}

static void tree__in_a_circle_is_cut(void **state)
{
    (void)state;
    struct world world;
    bool cyclic[QUEUES + 1];
    prepare(&world);
    world.tree.nodes[QUEUES].parent = QUEUES;
    assert_false(orr_quota_build(&world.tree, cyclic));
    assert_true(cyclic[0] && cyclic[1] && !cyclic[2] && cyclic[QUEUES]);
    orr_quota_release(&world.tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preemptor__stays_first_in_best_effort),
        cmocka_unit_test(parked__wake_with_their_whole_tree),
        cmocka_unit_test(alike__are_parked_together_and_on_arrival),
        cmocka_unit_test(backoff__outlasts_a_wake),
        cmocka_unit_test(order__is_by_the_time_of_the_eviction_if_told),
        cmocka_unit_test(scan__goes_on_with_the_next_flavor),
        cmocka_unit_test(usage__decays_and_charges_entries),
        cmocka_unit_test(amounts__saturate),
        cmocka_unit_test(tree__in_a_circle_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
