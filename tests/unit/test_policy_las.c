/* SPDX-License-Identifier: GPL-3.0-or-later */
/* las by hand: two queues, who is paused, which nodes. The fixture asks at events, not in rounds.
 */
#include "policy_fixture.h"

#include <orrery/policies/registry.h>

static const char *const ten_seconds[] = {"threshold_gpu_s", "10", NULL};

static void open_las(struct fixture *f, const char *const *settings)
{
    fixture_open(f, orr_policy_find("las"), settings);
    for (uint32_t j = 0; j < f->world.job_count; j++) {
        f->world.specs[j].preemptible = true;
    }
}

static void a_job_that_had_its_share__is_paused_for_a_new_one(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 2);
    uint32_t old = fixture_job(&f, 0, 2, 1, 60000); /* 10 GPU-s after 5 s */
    uint32_t young = fixture_job(&f, 5000, 1, 1, 1000);
    open_las(&f, ten_seconds);
    assert_int_equal(f.policy->round_ms, 60000);
    fixture_run(&f, 5000);
    assert_int_equal(f.view.jobs[old].phase, ORR_JOB_PENDING);
    assert_int_equal(f.view.jobs[old].evictions, 1);
    assert_int_equal(fixture_start(&f, young), 5000);
    fixture_run(&f, 6000);
    assert_int_equal(f.view.jobs[old].phase, ORR_JOB_RUNNING);
    assert_int_equal(f.view.jobs[old].start_ms, 6000);
    fixture_close(&f);
}

static void a_job_below_its_share__is_not_paused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 2);
    (void)fixture_job(&f, 0, 2, 1, 60000);
    (void)fixture_job(&f, 4999, 1, 1, 1000);
    open_las(&f, ten_seconds);
    fixture_run(&f, 4999);
    assert_int_equal(f.view.jobs[0].phase, ORR_JOB_RUNNING);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_NO_CAPACITY);
    assert_int_equal(f.policy->wake(f.state, &f.view), 5000);
    fixture_close(&f);
}

static void what_does_not_fit__blocks_nobody(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 3, 1, 10);
    (void)fixture_job(&f, 1, 2, 1, 10);
    (void)fixture_job(&f, 2, 1, 1, 10);
    open_las(&f, NULL);
    fixture_expect(&f, (const orr_ms[]){0, 10, 2});
    fixture_close(&f);
}

static void a_job_that_may_not_be_paused__keeps_its_gpus(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 2);
    (void)fixture_job(&f, 0, 2, 1, 60000);
    (void)fixture_job(&f, 5000, 1, 1, 1000);
    open_las(&f, ten_seconds);
    f.world.specs[0].preemptible = false;
    fixture_expect(&f, (const orr_ms[]){0, 60000});
    fixture_close(&f);
}

static void a_job_in_parts__takes_the_emptiest_nodes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 3, 4);
    (void)fixture_job(&f, 0, 2, 1, 100); /* leaves 2, 4, 4 */
    (void)fixture_job(&f, 1, 7, 1, 100); /* 4 of the second, 3 of the third */
    open_las(&f, NULL);
    fixture_run(&f, 1);
    uint32_t tasks[3] = {0};
    for (uint32_t p = f.view.jobs[1].placement; p != ORR_NONE; p = f.ledger->placements[p].next) {
        tasks[f.ledger->placements[p].node] += f.ledger->placements[p].tasks;
    }
    assert_int_equal(tasks[0], 0);
    assert_int_equal(tasks[1], 4);
    assert_int_equal(tasks[2], 3);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_had_its_share__is_paused_for_a_new_one),
        cmocka_unit_test(a_job_below_its_share__is_not_paused),
        cmocka_unit_test(what_does_not_fit__blocks_nobody),
        cmocka_unit_test(a_job_that_may_not_be_paused__keeps_its_gpus),
        cmocka_unit_test(a_job_in_parts__takes_the_emptiest_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
