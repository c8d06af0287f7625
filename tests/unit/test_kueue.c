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

/* It is discarded once the queue has changed, unless the cycle just before left it. */
static void scan__begins_anew_when_the_queue_has_changed(void **state)
{
    (void)state;
    for (int change = 0; change < 2; change++) {
        struct world world;
        prepare(&world);
        world.queues[0].groups = world.queues[1].groups = &two_flavors;
        world.queues[0].within = world.queues[1].within = ORR_KUEUE_NEVER;
        set_quota(&world, 0, 1, 4);
        set_quota(&world, 1, 1, 4);
        open_world(&world);
        const uint32_t a = submit(&world, 0, 1, 0, 8), b = submit(&world, 1, 0, 1, 8);
        run(&world, 1);
        orr_kueue_release(world.kueue, a);
        orr_kueue_park(world.kueue, b, false); /* b is not looked at in the next cycle */
        (void)submit(&world, 2, 0, 2, 1);
        run(&world, 1);
        if (change != 0) {
            orr_kueue_grow_generation(world.kueue, 1);
        }
        orr_kueue_queue(world.kueue, b);
        run(&world, 1);
        assert_int_equal(orr_kueue_held(world.kueue, b)[0].flavors[0], change == 0);
        close_world(&world);
    }
}

/* Neither one that comes nor one that is admitted, in its own queue or in another of the tree. */
static void parked__are_not_woken_by_arrivals_and_admissions(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    world.queues[0].within = world.queues[1].within = ORR_KUEUE_NEVER;
    open_world(&world);
    (void)submit(&world, 0, 0, 0, 6);
    run(&world, 1);
    const uint32_t waits = submit(&world, 1, 0, 1, 4);
    run(&world, 1);
    assert_true(orr_kueue_is_parked(world.kueue, waits));
    const uint32_t small = submit(&world, 1, 0, 2, 1), other = submit(&world, 0, 0, 3, 1);
    run(&world, 1);
    assert_true(orr_kueue_holds(world.kueue, small));
    assert_true(orr_kueue_holds(world.kueue, other));
    assert_true(orr_kueue_is_parked(world.kueue, waits));
    close_world(&world);
}

/* In StrictFIFO nobody parks: the head stays the head, whatever keeps it. */
static void strict__head_blocks_its_queue(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    world.queues[2].strict_fifo = true;
    open_world(&world);
    const uint32_t never = submit(&world, 2, 0, 0, 9), small = submit(&world, 2, 0, 1, 1);
    run(&world, 3);
    assert_int_equal(orr_kueue_wait(world.kueue, never), ORR_KUEUE_EXCEEDS_MAX_QUOTA);
    assert_true(orr_kueue_in_heap(world.kueue, never));
    assert_false(orr_kueue_holds(world.kueue, small));
    close_world(&world);
}

/* A holder of flavor 0, whatever is free. */
static uint32_t hold(struct world *world, uint32_t queue, int32_t priority, int64_t size)
{
    uint32_t flavor = 0;
    int64_t usage = size;
    const struct orr_kueue_held_set set = {
        .count = 1, .flavors = &flavor, .usage = &usage, .topology_flavor = ORR_NONE};
    const uint32_t id = submit(world, queue, priority, 0, size);
    orr_kueue_hold(world->kueue, id, &set, 0);
    return id;
}

/* a holds 3 of its 4 and may borrow 2 of a cohort of 10: its head of 4 finds nobody to preempt and
 * has 4 + 2 - 3 = 3 kept for it, not 4. 10 - 3 - 3 are left to b's head of 4, which comes later. */
static void reserve__keeps_no_more_than_the_queue_may_borrow(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    set_quota(&world, 1, 0, 1);
    set_quota(&world, QUEUES, 0, 5);
    world.tree.cells[orr_quota_at(&world.tree, 0, 0)].borrowing_limit = 2;
    open_world(&world);
    (void)hold(&world, 0, 5, 3);
    const uint32_t first = submit(&world, 0, 5, 1, 4), second = submit(&world, 1, 0, 2, 4);
    run(&world, 1);
    assert_false(orr_kueue_holds(world.kueue, first));
    assert_true(orr_kueue_holds(world.kueue, second));
    close_world(&world);
}

/* Quota was cut under b: 4 + 5 are held of 8. a is at its nominal quota, not under it, so that it
 * may preempt in its own queue only, and those 2 do not help. With 1 less it is under, and takes
 * b's too. */
static void preemption__of_borrowers_needs_a_queue_under_its_quota(void **state)
{
    (void)state;
    for (int held = 1; held <= 2; held++) {
        struct world world;
        prepare(&world);
        world.queues[0].reclaim = ORR_KUEUE_LOWER_PRIORITY;
        open_world(&world);
        (void)hold(&world, 0, 9, held);
        (void)hold(&world, 0, 0, 2);
        (void)hold(&world, 1, 0, 4);
        (void)hold(&world, 1, 0, held == 2 ? 1 : 2);
        (void)submit(&world, 0, 1, 1, held == 2 ? 2 : 3);
        run(&world, 1);
        assert_int_equal(evictions(&world), held == 2 ? 0 : 2);
        close_world(&world);
    }
}

/* Others go before those of the own queue, and before both those that are evicted already. */
static void victims__are_of_other_queues_first(void **state)
{
    (void)state;
    for (int evicted = 0; evicted < 2; evicted++) {
        struct world world;
        prepare(&world);
        world.queues[0].reclaim = ORR_KUEUE_ANY;
        open_world(&world);
        const uint32_t own = hold(&world, 0, 0, 2);
        const uint32_t other = hold(&world, 1, 3, 6);
        orr_kueue_set_evicted(world.kueue, own, evicted != 0);
        (void)submit(&world, 0, 4, 1, 2);
        run(&world, 1);
        uint32_t count;
        const struct orr_kueue_decision *decisions = orr_kueue_decisions(world.kueue, &count);
        assert_int_equal(count, evicted == 0);
        assert_true(evicted != 0 || decisions[0].workload == other);
        close_world(&world);
    }
}

/* a and b own nothing of 6, which b holds. Of twice 3: for 3 a's share would be 500, as b's is
 * without one of them. For 4 it would be 667: one may go as 667 is less than b's 1000, but no
 * second one, and 3 are not enough. Where b holds 6 in one, that one is. */
static void fair_sharing__takes_one_of_a_queue_in_its_second_strategy(void **state)
{
    (void)state;
    static const struct {
        int64_t held[2], asked;
        uint32_t evictions;
    } cases[] = {{{3, 3}, 3, 1}, {{3, 3}, 4, 0}, {{6, 0}, 4, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct world world;
        prepare(&world);
        world.spec.config.fair_sharing = true;
        world.spec.config.strategies[1] = ORR_KUEUE_LESS_THAN_INITIAL_SHARE;
        world.spec.config.strategy_count = 2;
        set_quota(&world, 0, 0, 0);
        set_quota(&world, 1, 0, 0);
        set_quota(&world, QUEUES, 0, 6);
        world.queues[0].reclaim = ORR_KUEUE_ANY;
        open_world(&world);
        (void)hold(&world, 1, 0, cases[c].held[0]);
        (void)hold(&world, 1, 0, cases[c].held[1]);
        (void)submit(&world, 0, 0, 1, cases[c].asked);
        run(&world, 1);
        assert_int_equal(evictions(&world), cases[c].evictions);
        close_world(&world);
    }
}

/* blockAdmission: the second admission of a cycle waits with what it was assigned, and gets it
 * although another has the quota by then. */
static void block__admits_who_is_in_hand(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    world.spec.config.block_admission = true;
    open_world(&world);
    const uint32_t first = submit(&world, 0, 1, 0, 4), second = submit(&world, 1, 0, 1, 4);
    const uint32_t third = submit(&world, 2, 0, 2, 4);
    run(&world, 1);
    assert_true(orr_kueue_holds(world.kueue, first));
    assert_int_equal(orr_kueue_in_hand(world.kueue), second);
    assert_int_equal(orr_kueue_wait(world.kueue, second), ORR_KUEUE_WAITING_FOR_PODS_READY);
    assert_true(orr_kueue_in_heap(world.kueue, third));
    orr_kueue_block(world.kueue, false);
    orr_kueue_admit_in_hand(world.kueue, 2000);
    assert_true(orr_kueue_holds(world.kueue, second));
    orr_kueue_block(world.kueue, true);
    run(&world, 1);
    assert_int_equal(orr_kueue_in_hand(world.kueue), third);
    orr_kueue_drop(world.kueue, third); /* it gave up */
    assert_int_equal(orr_kueue_in_hand(world.kueue), ORR_NONE);
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

/* --- elastic slices --- */

/* A workload of `count` pods of one unit each, queued; it takes over from `replaces`. */
static uint32_t submit_pods(struct world *world, uint32_t queue, int32_t priority, int64_t created,
                            int64_t count, uint32_t replaces)
{
    static const struct orr_kueue_pod_set many = {
        .name = "main", .count = 9, .min_count = -1, .per_pod = &sizes[1]};
    const struct orr_kueue_new workload = {.queue = queue,
                                           .local_queue = ORR_NONE,
                                           .priority = priority,
                                           .rank = world->ranks++,
                                           .created = created,
                                           .pod_sets = &many,
                                           .pod_set_count = 1,
                                           .replaces = replaces};
    const uint32_t id = orr_kueue_add(world->kueue, &workload);
    orr_kueue_set_pods(world->kueue, id, &count, 1000 + (uint64_t)count);
    orr_kueue_queue(world->kueue, id);
    return id;
}

static int64_t used(const struct world *world, uint32_t node)
{
    return world->tree.usage[orr_quota_at(&world->tree, node, 0)];
}

static void slice__asks_the_difference_and_is_counted_once(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    open_world(&world);
    const uint32_t old = submit_pods(&world, 2, 0, 0, 3, ORR_NONE);
    run(&world, 1);
    const uint32_t slice = submit_pods(&world, 2, 0, 1, 4, old);
    run(&world, 1);
    uint32_t count;
    const struct orr_kueue_decision *decisions = orr_kueue_decisions(world.kueue, &count);
    assert_int_equal(count, 2);
    assert_int_equal(decisions[0].deed, ORR_KUEUE_FINISH);
    assert_int_equal(decisions[0].workload, old);
    assert_int_equal(decisions[0].by, slice);
    assert_int_equal(decisions[1].deed, ORR_KUEUE_ADMIT);
    assert_false(orr_kueue_holds(world.kueue, old));
    assert_int_equal(orr_kueue_pods(world.kueue, slice, 0), 4);
    assert_int_equal(used(&world, 2), 4);
    orr_kueue_release(world.kueue, slice);
    assert_int_equal(used(&world, 2), 0);
    close_world(&world);
}

static void slice__that_does_not_fit_waits_whole(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    open_world(&world);
    const uint32_t old = submit_pods(&world, 2, 0, 0, 2, ORR_NONE);
    run(&world, 1);
    const uint32_t slice = submit_pods(&world, 2, 0, 1, 5, old);
    run(&world, 1);
    assert_true(orr_kueue_holds(world.kueue, old));
    assert_int_equal(used(&world, 2), 2);
    const int64_t fewer = 4; /* it asks for less, and is looked at again at once */
    orr_kueue_set_pods(world.kueue, slice, &fewer, 1004);
    run(&world, 1);
    assert_true(orr_kueue_holds(world.kueue, slice));
    assert_int_equal(used(&world, 2), 4);
    close_world(&world);
}

static void slice__that_shrinks_frees_its_quota(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    open_world(&world);
    const uint32_t workload = submit_pods(&world, 2, 0, 0, 4, ORR_NONE);
    run(&world, 1);
    const int64_t fewer = 1, more = 3;
    orr_kueue_set_pods(world.kueue, workload, &fewer, 1001);
    assert_int_equal(used(&world, 2), 1);
    assert_int_equal(orr_kueue_pods(world.kueue, workload, 0), 1);
    const uint32_t other = submit(&world, 2, 0, 1, 3);
    run(&world, 1);
    assert_true(orr_kueue_holds(world.kueue, other));
    orr_kueue_release(world.kueue, other);
    orr_kueue_set_pods(world.kueue, workload, &more, 1003);
    assert_int_equal(used(&world, 2), 1); /* what it gave up is a slice's to get */
    close_world(&world);
}

/* b takes back what a borrowed from it, in the cycle in which a's slice is to take over. b's turn
 * is first, as it borrows nothing: the slice cannot count on what is evicted. */
static void slice__waits_where_the_one_before_is_a_victim(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    world.queues[1].reclaim = ORR_KUEUE_ANY;
    open_world(&world);
    const uint32_t old = submit_pods(&world, 0, 9, 0, 5, ORR_NONE);
    run(&world, 1);
    const uint32_t slice = submit_pods(&world, 0, 9, 1, 6, old);
    const uint32_t other = submit(&world, 1, 1, 2, 4);
    run(&world, 1);
    assert_int_equal(evictions(&world), 1);
    assert_true(orr_kueue_holds(world.kueue, old));
    assert_false(orr_kueue_holds(world.kueue, slice));
    assert_true(orr_kueue_in_heap(world.kueue, slice) || orr_kueue_is_parked(world.kueue, slice));
    assert_false(orr_kueue_holds(world.kueue, other));
    close_world(&world);
}

/* In hand while another's pods are missing, it takes over only when it is admitted. */
static void slice__in_hand_takes_over_later(void **state)
{
    (void)state;
    struct world world;
    prepare(&world);
    world.spec.config.block_admission = true;
    open_world(&world);
    const uint32_t old = submit_pods(&world, 2, 0, 0, 2, ORR_NONE);
    run(&world, 1);
    const uint32_t slice = submit_pods(&world, 2, 0, 1, 4, old);
    orr_kueue_block(world.kueue, true);
    run(&world, 1);
    assert_int_equal(orr_kueue_in_hand(world.kueue), slice);
    assert_true(orr_kueue_holds(world.kueue, old));
    orr_kueue_block(world.kueue, false);
    orr_kueue_admit_in_hand(world.kueue, 2000);
    assert_false(orr_kueue_holds(world.kueue, old));
    assert_int_equal(used(&world, 2), 4);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slice__asks_the_difference_and_is_counted_once),
        cmocka_unit_test(slice__that_does_not_fit_waits_whole),
        cmocka_unit_test(slice__that_shrinks_frees_its_quota),
        cmocka_unit_test(slice__waits_where_the_one_before_is_a_victim),
        cmocka_unit_test(slice__in_hand_takes_over_later),
        cmocka_unit_test(preemptor__stays_first_in_best_effort),
        cmocka_unit_test(parked__wake_with_their_whole_tree),
        cmocka_unit_test(alike__are_parked_together_and_on_arrival),
        cmocka_unit_test(backoff__outlasts_a_wake),
        cmocka_unit_test(order__is_by_the_time_of_the_eviction_if_told),
        cmocka_unit_test(scan__goes_on_with_the_next_flavor),
        cmocka_unit_test(scan__begins_anew_when_the_queue_has_changed),
        cmocka_unit_test(parked__are_not_woken_by_arrivals_and_admissions),
        cmocka_unit_test(strict__head_blocks_its_queue),
        cmocka_unit_test(reserve__keeps_no_more_than_the_queue_may_borrow),
        cmocka_unit_test(preemption__of_borrowers_needs_a_queue_under_its_quota),
        cmocka_unit_test(victims__are_of_other_queues_first),
        cmocka_unit_test(fair_sharing__takes_one_of_a_queue_in_its_second_strategy),
        cmocka_unit_test(block__admits_who_is_in_hand),
        cmocka_unit_test(usage__decays_and_charges_entries),
        cmocka_unit_test(amounts__saturate),
        cmocka_unit_test(tree__in_a_circle_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
