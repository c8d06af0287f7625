/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube by hand: spreading and packing, partial gangs that hold GPUs, the deadlock of two of them,
 * preemption. */
#include "policy_fixture.h"

#include <orrery/policies/registry.h>

static uint32_t node_of(const struct fixture *f, uint32_t job)
{
    return f->ledger->placements[f->view.jobs[job].placement].node;
}

static void pods__spread_by_default_and_pack_on_request(void **state)
{
    (void)state;
    static const char *const most[] = {"score", "most-allocated", NULL};
    const char *const *const params[] = {NULL, most};
    for (uint32_t i = 0; i < 2; i++) {
        struct fixture f;
        fixture_init(&f, 2, 8);
        (void)fixture_job(&f, 0, 1, 2, 10);
        (void)fixture_job(&f, 1, 1, 2, 10);
        fixture_open(&f, orr_policy_find("kube"), params[i]);
        fixture_run(&f, 1);
        assert_int_equal(node_of(&f, 0), 0);
        assert_int_equal(node_of(&f, 1), i == 0 ? 1 : 0);
        fixture_close(&f);
    }
}

static void partial_gang__holds_what_it_has(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 8);
    (void)fixture_job(&f, 0, 1, 8, 10);
    (void)fixture_job(&f, 1, 2, 8, 5); /* one of its pods takes the idle node and waits there */
    (void)fixture_job(&f, 2, 1, 1, 5); /* so this one waits too, though nobody works on that node */
    fixture_open(&f, orr_policy_find("kube"), NULL);
    fixture_run(&f, 2);
    assert_int_equal(f.view.jobs[1].phase, ORR_JOB_PENDING);
    assert_int_equal(f.view.jobs[1].placed_tasks, 1);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_GANG_PARTIAL);
    assert_int_equal(f.ledger->shards[0].idle_gpus, 0);
    fixture_expect(&f, (const orr_ms[]){0, 10, 15});
    fixture_close(&f);
}

static void two_partial_gangs__block_each_other_for_ever(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 8);
    (void)fixture_job(&f, 0, 1, 4, 10);
    (void)fixture_job(&f, 1, 2, 8, 5); /* holds the idle node, needs the other */
    (void)fixture_job(&f, 2, 3, 4,
                      5); /* holds the other, half now and half at 10; needs four more */
    fixture_open(&f, orr_policy_find("kube"), NULL);
    fixture_run(&f, 1000);
    assert_int_equal(f.view.jobs[1].phase, ORR_JOB_PENDING);
    assert_int_equal(f.view.jobs[2].phase, ORR_JOB_PENDING);
    assert_int_equal(f.view.jobs[2].placed_tasks, 2);
    assert_int_equal(f.ledger->shards[0].idle_gpus, 0);
    assert_int_equal(f.ledger->running_jobs, 0);
    fixture_close(&f);
}

static void cap__counts_memory_by_the_device_it_is_of(void **state)
{
    (void)state;
    static const char *const most[] = {"score", "most-allocated", NULL};
    const char *const *const params[] = {NULL, most};
    for (uint32_t i = 0; i < 2; i++) {
        struct fixture f;
        fixture_two_memories(&f);
        f.world.queues.queues[0].resources[ORR_SHARE_GPU].limit = 0.8;
        (void)fixture_job_of(&f, 0, 1, core_memory(1, 20000), 10); /* half of a small device */
        (void)fixture_job_of(&f, 1, 1, core_memory(1, 20000), 20); /* again: too much; a quarter */
        (void)fixture_job_of(&f, 2, 1, core_memory(1, 20000), 5);  /* nor that is left */
        fixture_open(&f, orr_policy_find("kube"), params[i]);
        fixture_run(&f, 2);
        assert_int_equal(f.ledger->use[0].allocated[ORR_SHARE_GPU], 750);
        assert_int_equal(node_of(&f, 1), 1);
        assert_int_equal(fixture_reason(&f, 2), ORR_REASON_OVER_LIMIT);
        fixture_run(&f, 100);
        assert_int_equal(fixture_start(&f, 2), 10);
        fixture_close(&f);
    }
}

static void bars__count_memory_by_the_largest_devices(void **state)
{
    (void)state;
    const struct orr_policy *kube = orr_policy_find("kube"), *parts = orr_policy_find("static");
    struct fixture f;
    fixture_two_memories(&f);
    struct orr_entitlement *gpu = &f.world.queues.queues[0].resources[ORR_SHARE_GPU];
    gpu->limit = gpu->quota = 0.5;
    uint32_t two = fixture_job_of(&f, 0, 2, core_memory(1, 20000), 10);
    uint32_t three = fixture_job_of(&f, 0, 3, core_memory(1, 20000), 10);
    fixture_open(&f, kube, NULL);
    assert_int_equal(orr_policy_bars(kube, f.params, &f.view, two).reason, ORR_REASON_NONE);
    assert_int_equal(orr_policy_bars(kube, f.params, &f.view, three).reason, ORR_REASON_OVER_LIMIT);
    assert_int_equal(orr_policy_bars(parts, NULL, &f.view, two).reason, ORR_REASON_NONE);
    struct orr_bar bar = orr_policy_bars(parts, NULL, &f.view, three);
    assert_int_equal(bar.reason, ORR_REASON_OVER_LIMIT);
    assert_int_equal(bar.asked, 750);
    assert_int_equal(bar.allowed, 500);
    fixture_close(&f);
}

/* Jobs of one GPU on a node of two: each evicts the lowest there is, as pods of higher priorities
 * come. */
static void higher_pod__takes_the_place_of_the_lowest(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 2);
    for (uint32_t j = 0; j < 4; j++) {
        const uint32_t job = fixture_job(&f, j, 1, 1, 100);
        f.world.specs[job].priority = (int32_t)j;
    }
    fixture_open(&f, orr_policy_find("kube"), NULL);
    fixture_run(&f, 3);
    assert_int_equal(f.view.jobs[0].evictions + f.view.jobs[1].evictions, 2);
    assert_int_equal(f.view.jobs[2].phase, ORR_JOB_RUNNING);
    assert_int_equal(f.view.jobs[3].phase, ORR_JOB_RUNNING);
    fixture_expect(&f, (const orr_ms[]){0, 1, 2, 3});
    assert_int_equal(f.view.jobs[1].end_ms, 202); /* again when a place is free, before job 0 */
    assert_int_equal(f.view.jobs[0].end_ms, 203);
    fixture_close(&f);
}

/* Of two devices that four jobs share, a job that asks a whole one takes that of the lowest two. */
static void whole_device__costs_those_that_share_one(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 2);
    for (uint32_t j = 0; j < 4; j++) { /* two a device, of priorities 1 2, 3 4 */
        const uint32_t job = fixture_job_of(&f, j, 1, core_fraction(1, 500), 100);
        f.world.specs[job].priority = (int32_t)j + 1;
    }
    const uint32_t whole = fixture_job(&f, 5, 1, 1, 10);
    f.world.specs[whole].priority = 9;
    fixture_open(&f, orr_policy_find("kube"), NULL);
    fixture_run(&f, 5);
    for (uint32_t j = 0; j < 4; j++) {
        assert_int_equal(f.view.jobs[j].evictions, j < 2);
    }
    assert_int_equal(f.view.jobs[4].phase, ORR_JOB_RUNNING);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods__spread_by_default_and_pack_on_request),
        cmocka_unit_test(partial_gang__holds_what_it_has),
        cmocka_unit_test(cap__counts_memory_by_the_device_it_is_of),
        cmocka_unit_test(bars__count_memory_by_the_largest_devices),
        cmocka_unit_test(two_partial_gangs__block_each_other_for_ever),
        cmocka_unit_test(higher_pod__takes_the_place_of_the_lowest),
        cmocka_unit_test(whole_device__costs_those_that_share_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
