/* SPDX-License-Identifier: GPL-3.0-or-later */
/* srtf by hand: who is paused, who is not, who waits. */
#include "policy_fixture.h"

#include <orrery/policies/registry.h>

static void open_srtf(struct fixture *f, const char *const *settings)
{
    fixture_open(f, orr_policy_find("srtf"), settings);
}

static void the_one_with_less_left__pauses_the_other(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    const uint32_t big = fixture_job(&f, 0, 1, 4, 100);
    const uint32_t small = fixture_job(&f, 40, 1, 2, 30); /* the other has 60 left */
    open_srtf(&f, NULL);
    fixture_run(&f, 40);
    assert_int_equal(f.view.jobs[big].phase, ORR_JOB_PENDING);
    assert_int_equal(f.view.jobs[big].evictions, 1);
    assert_int_equal(fixture_start(&f, small), 40);
    fixture_run(&f, 70);
    assert_int_equal(f.view.jobs[big].start_ms, 70);
    fixture_close(&f);
}

static void the_one_with_more_left__waits(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 1, 4, 100);
    (void)fixture_job(&f, 80, 1, 2, 20); /* as much: who waits goes first */
    (void)fixture_job(&f, 81, 1, 2, 90);
    open_srtf(&f, NULL);
    fixture_run(&f, 80);
    assert_int_equal(f.view.jobs[0].evictions, 1);
    assert_int_equal(fixture_start(&f, 1), 80);
    fixture_run(&f, 81);
    assert_int_equal(fixture_start(&f, 2), 81);
    fixture_close(&f);
}

static void equal_ones_that_run__keep_their_place(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 1, 4, 100);
    (void)fixture_job(&f, 79, 1, 4, 22); /* 21 are left of the first */
    open_srtf(&f, NULL);
    fixture_run(&f, 79);
    assert_int_equal(f.view.jobs[0].evictions, 0);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_NO_CAPACITY);
    fixture_expect(&f, (const orr_ms[]){0, 100});
    fixture_close(&f);
}

static void jobs_that_may_not_be_paused__go_on(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 1, 4, 100);
    (void)fixture_job(&f, 10, 1, 1, 5);
    f.world.specs[0].preemptible = 0;
    open_srtf(&f, NULL);
    fixture_expect(&f, (const orr_ms[]){0, 100});
    fixture_close(&f);
}

static void by_estimate__the_truth_does_not_count(void **state)
{
    (void)state;
    static const char *const estimates[] = {"by", "estimate", NULL};
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 1, 4, 100);
    (void)fixture_job(&f, 10, 1, 4, 5);
    f.world.specs[1].estimate_ms = 1000;
    open_srtf(&f, estimates);
    fixture_expect(&f, (const orr_ms[]){0, 100});
    fixture_close(&f);
}

/* 3 + 3 GPUs on two nodes of 4: the second pair finds no node, is counted, and blocks nobody. */
static void one_without_a_place__keeps_its_count(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 4);
    (void)fixture_job(&f, 0, 1, 3, 1000);
    (void)fixture_job(&f, 0, 1, 3, 1000);
    (void)fixture_job(&f, 1, 1, 2, 500);
    (void)fixture_job(&f, 2, 1, 1, 3000);
    open_srtf(&f, NULL);
    fixture_run(&f, 2);
    assert_int_equal(fixture_reason(&f, 2), ORR_REASON_FRAGMENTED);
    assert_int_equal(f.view.jobs[3].phase, ORR_JOB_PENDING);
    assert_int_equal(fixture_reason(&f, 3), ORR_REASON_RESERVED); /* it would fit beside them */
    assert_int_equal(f.policy->wake(f.state, &f.view), 1000); /* the first pair gets past at 502 */
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_with_less_left__pauses_the_other),
        cmocka_unit_test(the_one_with_more_left__waits),
        cmocka_unit_test(equal_ones_that_run__keep_their_place),
        cmocka_unit_test(jobs_that_may_not_be_paused__go_on),
        cmocka_unit_test(by_estimate__the_truth_does_not_count),
        cmocka_unit_test(one_without_a_place__keeps_its_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
