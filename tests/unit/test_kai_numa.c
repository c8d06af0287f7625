/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's numa plugin: which zones a pod draws from, which nodes refuse it, which one is best. */
#include "kai_world.h"

#include <orrery/core/numa.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

#define CORE 1000

struct numa_world {
    struct orr_session session;
    uint32_t queue;
    struct orr_numa_spec spec;
};

/* Zones of 4 GPUs, 16 CPUs each. */
static void numa_init(struct numa_world *w, enum orr_numa_policy policy, uint32_t zones)
{
    world_init(&w->session);
    w->session.rules.numa = true;
    w->queue = world_queue(&w->session, "q", ORR_NONE, 1000, -1, 0);
    w->spec = (struct orr_numa_spec){.policy = policy, .zone_count = zones};
    for (uint32_t z = 0; z < zones; z++) {
        w->spec.zones[z].v[ORR_SLOT_GPU] = 4 * ORR_MGPU;
        w->spec.zones[z].v[ORR_SLOT_CPU] = 16 * CORE;
    }
}

static uint32_t numa_node(struct numa_world *w, const char *name)
{
    const uint32_t node = world_node(&w->session, name, (int64_t)4 * w->spec.zone_count);
    orr_session_set_numa(&w->session, node, &w->spec);
    return node;
}

static struct orr_ask gpus_and_cpu(int64_t gpus, int64_t cpu_milli, bool guaranteed)
{
    return (struct orr_ask){.kind = gpus > 0 ? ORR_ASK_WHOLE : ORR_ASK_NO_GPU,
                            .request = {.v = {cpu_milli, 1000000, gpus * ORR_MGPU, 1}},
                            .guaranteed = guaranteed,
                            .affinity = ORR_NONE,
                            .tolerance = ORR_NONE};
}

static uint32_t numa_job(struct numa_world *w, const char *name, const struct orr_ask *ask)
{
    const uint32_t id = orr_session_add_ask(&w->session, ask);
    return world_job_add(
        &w->session,
        &(struct world_job){
            .name = name, .queue = w->queue, .priority = 50, .asks = &id, .count = 1, .min = 1});
}

static uint32_t numa_gpus(struct numa_world *w, const char *name, int64_t gpus)
{
    const struct orr_ask ask = gpus_and_cpu(gpus, CORE, false);
    return numa_job(w, name, &ask);
}

static void allocate(struct numa_world *w)
{
    world_run_action(&w->session, ORR_ACTION_ALLOCATE);
}

static bool is_placed(const struct numa_world *w, uint32_t job)
{
    return world_status(&w->session, job, 0) == ORR_TASK_BINDING;
}

/* GPUs that the job's task drew from a zone. */
static int64_t drawn(const struct numa_world *w, uint32_t job, uint32_t zone)
{
    return orr_task_zones(&w->session, world_task(&w->session, job, 0))[zone].v[ORR_SLOT_GPU] /
           ORR_MGPU;
}

static int64_t free_in(const struct numa_world *w, uint32_t node, uint32_t zone)
{
    return w->session.nodes[node].numa->free[zone].v[ORR_SLOT_GPU] / ORR_MGPU;
}

static void done(struct numa_world *w)
{
    orr_session_close(&w->session);
    orr_session_release(&w->session);
}

static void single__takes_the_lowest_zone_that_has_all(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_SINGLE, 2);
    const uint32_t node = numa_node(&w, "n");
    const uint32_t a = numa_gpus(&w, "a", 3), b = numa_gpus(&w, "b", 3), c = numa_gpus(&w, "c", 2);
    allocate(&w);
    assert_true(is_placed(&w, a) && is_placed(&w, b));
    assert_int_equal(drawn(&w, a, 0), 3);
    assert_int_equal(drawn(&w, b, 1), 3);
    /* two GPUs are free, one in each zone */
    assert_false(is_placed(&w, c));
    assert_int_equal(w.session.jobs[c].reason, ORR_FIT_POD_SCHEDULING_ERRORS);
    assert_true(free_in(&w, node, 0) == 1 && free_in(&w, node, 1) == 1);
    done(&w);
}

static void off__nobody_asks_for_zones(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_SINGLE, 2);
    w.session.rules.numa = false;
    const uint32_t node = numa_node(&w, "n");
    const uint32_t a = numa_gpus(&w, "a", 6);
    allocate(&w);
    assert_true(is_placed(&w, a));
    assert_true(free_in(&w, node, 0) == 4 && free_in(&w, node, 1) == 4);
    done(&w);
}

static void none__draws_nothing(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_NONE, 2);
    (void)numa_node(&w, "n");
    const uint32_t a = numa_gpus(&w, "a", 6);
    allocate(&w);
    assert_true(is_placed(&w, a));
    assert_true(drawn(&w, a, 0) == 0 && drawn(&w, a, 1) == 0);
    done(&w);
}

static void restricted__spans_as_few_zones_as_could_do(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_RESTRICTED, 2);
    (void)numa_node(&w, "n");
    const uint32_t a = numa_gpus(&w, "a", 6), b = numa_gpus(&w, "b", 2);
    allocate(&w);
    assert_true(is_placed(&w, a) && is_placed(&w, b));
    assert_true(drawn(&w, a, 0) == 4 && drawn(&w, a, 1) == 2);
    assert_true(drawn(&w, b, 0) == 0 && drawn(&w, b, 1) == 2);
    done(&w);
}

/* One zone could hold three when empty, so three GPUs of two zones are refused. */
static void restricted__wants_the_width_of_an_empty_node(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_RESTRICTED, 2);
    (void)numa_node(&w, "n");
    const uint32_t a = numa_gpus(&w, "a", 2), b = numa_gpus(&w, "b", 3), c = numa_gpus(&w, "c", 3);
    allocate(&w);
    assert_true(is_placed(&w, a) && is_placed(&w, b));
    assert_true(drawn(&w, a, 0) == 2 && drawn(&w, b, 1) == 3);
    assert_false(is_placed(&w, c));
    done(&w);
}

static bool restricted_takes(int64_t gpus, int64_t cpu_milli, bool guaranteed)
{
    struct numa_world w;
    numa_init(&w, ORR_NUMA_RESTRICTED, 2);
    (void)numa_node(&w, "n");
    const struct orr_ask ask = gpus_and_cpu(gpus, cpu_milli, guaranteed);
    const uint32_t a = numa_job(&w, "a", &ask);
    allocate(&w);
    const bool placed = is_placed(&w, a);
    done(&w);
    return placed;
}

static void restricted__refuses_unequal_widths(void **state)
{
    (void)state;
    assert_false(restricted_takes(6, 8 * CORE, true));
    assert_true(restricted_takes(6, 20 * CORE, true));
    assert_true(restricted_takes(3, 8 * CORE, true));
    /* CPUs count for Guaranteed pods only, and only whole ones */
    assert_true(restricted_takes(6, 8 * CORE, false));
    assert_true(restricted_takes(6, 8 * CORE + 500, true));
    /* more than all zones together */
    assert_false(restricted_takes(2, 33 * CORE, true));
    /* nothing of a zone */
    assert_true(restricted_takes(0, 500, true));
}

/* Of three zones with 1, 4 and 4 free, two that hold eight: the second and the third. */
static void restricted__takes_the_first_set_that_has_room(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_RESTRICTED, 3);
    (void)numa_node(&w, "n");
    const uint32_t a = numa_gpus(&w, "a", 3), b = numa_gpus(&w, "b", 8);
    allocate(&w);
    assert_true(is_placed(&w, a) && is_placed(&w, b));
    assert_true(drawn(&w, b, 0) == 0 && drawn(&w, b, 1) == 4 && drawn(&w, b, 2) == 4);
    done(&w);
}

static void best_effort__takes_from_the_zone_with_most(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_BEST_EFFORT, 3);
    const uint32_t node = numa_node(&w, "n");
    const uint32_t a = numa_gpus(&w, "a", 1); /* a tie: the lowest */
    const uint32_t b = numa_gpus(
        &w, "b", 6); /* 3, 4 and 4 are free: 4 of the second; two more are anywhere: the lowest */
    allocate(&w);
    assert_int_equal(drawn(&w, a, 0), 1);
    assert_true(drawn(&w, b, 0) == 2 && drawn(&w, b, 1) == 4 && drawn(&w, b, 2) == 0);
    assert_true(free_in(&w, node, 0) == 1 && free_in(&w, node, 2) == 4);
    done(&w);
}

/* Zones that are said to have fewer GPUs than the node: best effort, so it runs. */
static void best_effort__never_refuses(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_BEST_EFFORT, 2);
    w.spec.zones[1].v[ORR_SLOT_GPU] = 0;
    (void)numa_node(&w, "n");
    const uint32_t a = numa_gpus(&w, "a", 6);
    allocate(&w);
    assert_true(is_placed(&w, a));
    assert_int_equal(drawn(&w, a, 0), 4);
    done(&w);
}

static void shared__is_no_device_of_a_zone(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_SINGLE, 2);
    (void)numa_node(&w, "n");
    const uint32_t ask = world_ask_part(&w.session, 50);
    const uint32_t a = world_job_add(
        &w.session, &(struct world_job){
                        .name = "a", .queue = w.queue, .priority = 50, .asks = &ask, .count = 1});
    allocate(&w);
    assert_true(is_placed(&w, a));
    assert_int_equal(drawn(&w, a, 0), 0);
    done(&w);
}

/* --- containers --- */

static bool single_takes(bool by_pod, const struct orr_container *containers, uint32_t count,
                         int64_t gpus, int64_t drawn_of[2])
{
    struct numa_world w;
    numa_init(&w, ORR_NUMA_SINGLE, 2);
    w.spec.by_pod = by_pod;
    (void)numa_node(&w, "n");
    struct orr_ask ask = gpus_and_cpu(gpus, CORE, false);
    ask.containers = containers;
    ask.container_count = count;
    const uint32_t a = numa_job(&w, "a", &ask);
    allocate(&w);
    const bool placed = is_placed(&w, a);
    drawn_of[0] = drawn(&w, a, 0);
    drawn_of[1] = drawn(&w, a, 1);
    done(&w);
    return placed;
}

static void scope__says_whether_containers_are_aligned_together(void **state)
{
    (void)state;
    const struct orr_vec three = {{0, 0, 3 * ORR_MGPU}}, four = {{0, 0, 4 * ORR_MGPU}},
                         five = {{0, 0, 5 * ORR_MGPU}};
    const struct orr_container two[] = {{three, false}, {three, false}};
    const struct orr_container init[] = {{four, true}, {three, false}};
    const struct orr_container too_large[] = {{five, true}, {three, false}};
    int64_t of[2];
    assert_true(single_takes(false, two, 2, 6, of));
    assert_true(of[0] == 3 && of[1] == 3);
    assert_false(single_takes(true, two, 2, 6, of));
    /* an init container has the empty zone to itself and leaves it */
    assert_true(single_takes(false, init, 2, 4, of));
    assert_true(of[0] == 3 && of[1] == 0);
    assert_false(single_takes(false, too_large, 2, 5, of));
}

/* --- which node --- */

/* "a" is fuller, so it is preferred, unless it can only give the pod a part in each zone. */
static uint32_t node_of_two_gpus(enum orr_numa_policy policy, bool zones_on_b)
{
    struct numa_world w;
    numa_init(&w, policy, 2);
    const uint32_t a = numa_node(&w, "a");
    const uint32_t b = zones_on_b ? numa_node(&w, "b") : world_node(&w.session, "b", 8);
    const uint32_t busy = numa_gpus(&w, "busy", 6), job = numa_gpus(&w, "job", 2);
    world_run(&w.session, busy, 0, a);
    struct orr_zone_take take = {0};
    take.zones[0].v[ORR_SLOT_GPU] = take.zones[1].v[ORR_SLOT_GPU] = 3 * ORR_MGPU;
    orr_session_set_zones(&w.session, world_task(&w.session, busy, 0), &take);
    (void)b;
    allocate(&w);
    const uint32_t node = w.session.tasks[world_task(&w.session, job, 0)].live.node;
    done(&w);
    return node;
}

static void score__prefers_fewer_zones_to_a_fuller_node(void **state)
{
    (void)state;
    assert_int_equal(node_of_two_gpus(ORR_NUMA_BEST_EFFORT, true), 1);  /* 100 against 50 + 9 */
    assert_int_equal(node_of_two_gpus(ORR_NUMA_BEST_EFFORT, false), 0); /* both 50: the fuller */
    assert_int_equal(node_of_two_gpus(ORR_NUMA_NONE, true), 0);
}

/* --- a victim's zones --- */

/* A task of two GPUs runs in `zone` of an empty node, is evicted in thought and placed again. */
static uint8_t status_after_return(uint32_t zone)
{
    struct numa_world w;
    enum orr_fit_reason why;
    numa_init(&w, ORR_NUMA_SINGLE, 2);
    const uint32_t node = numa_node(&w, "n");
    const uint32_t job = numa_gpus(&w, "job", 2);
    const uint32_t task = world_task(&w.session, job, 0);
    world_run(&w.session, job, 0, node);
    struct orr_zone_take take = {0};
    take.zones[zone].v[ORR_SLOT_GPU] = 2 * ORR_MGPU;
    orr_session_set_zones(&w.session, task, &take);
    orr_session_open(&w.session, WORLD_NOW);
    assert_int_equal(free_in(&w, node, zone), 2);
    const uint32_t checkpoint = orr_session_checkpoint(&w.session);
    orr_session_evict(&w.session, task);
    assert_int_equal(free_in(&w, node, zone), 4); /* what is being released is free already */
    assert_true(orr_attempt_job(&w.session, orr_jobview_whole(job),
                                (struct orr_node_list){.nodes = &node, .count = 1}, true, &why));
    const uint8_t status = world_status(&w.session, job, 0);
    assert_int_equal(drawn(&w, job, 0), 2);
    assert_int_equal(free_in(&w, node, 0), 2);
    orr_session_rollback(&w.session, checkpoint);
    assert_int_equal(drawn(&w, job, zone), 2);
    assert_int_equal(free_in(&w, node, zone), 2);
    assert_int_equal(free_in(&w, node, 1 - zone), 4);
    done(&w);
    return status;
}

static void victim__that_returns_to_other_zones_has_moved(void **state)
{
    (void)state;
    assert_int_equal(status_after_return(0), ORR_TASK_RUNNING);
    assert_int_equal(status_after_return(1), ORR_TASK_PIPELINED);
}

static void zones__are_free_again_when_a_job_ends(void **state)
{
    (void)state;
    struct numa_world w;
    numa_init(&w, ORR_NUMA_SINGLE, 2);
    const uint32_t node = numa_node(&w, "n");
    const uint32_t a = numa_gpus(&w, "a", 4), b = numa_gpus(&w, "b", 4), c = numa_gpus(&w, "c", 4);
    allocate(&w);
    orr_session_close(&w.session);
    orr_session_set_status(&w.session, world_task(&w.session, b, 0), ORR_TASK_RUNNING);
    orr_session_end_job(&w.session, a);
    allocate(&w);
    assert_true(is_placed(&w, c));
    assert_int_equal(drawn(&w, c, 0), 4);
    assert_int_equal(drawn(&w, b, 1), 4);
    assert_true(free_in(&w, node, 0) == 0 && free_in(&w, node, 1) == 0);
    done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single__takes_the_lowest_zone_that_has_all),
        cmocka_unit_test(off__nobody_asks_for_zones),
        cmocka_unit_test(none__draws_nothing),
        cmocka_unit_test(restricted__spans_as_few_zones_as_could_do),
        cmocka_unit_test(restricted__wants_the_width_of_an_empty_node),
        cmocka_unit_test(restricted__refuses_unequal_widths),
        cmocka_unit_test(restricted__takes_the_first_set_that_has_room),
        cmocka_unit_test(best_effort__takes_from_the_zone_with_most),
        cmocka_unit_test(best_effort__never_refuses),
        cmocka_unit_test(shared__is_no_device_of_a_zone),
        cmocka_unit_test(scope__says_whether_containers_are_aligned_together),
        cmocka_unit_test(score__prefers_fewer_zones_to_a_fuller_node),
        cmocka_unit_test(victim__that_returns_to_other_zones_has_moved),
        cmocka_unit_test(zones__are_free_again_when_a_job_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
