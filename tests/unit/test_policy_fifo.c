/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fifo by hand: strict, backfill, shortest first. */
#include "policy_fixture.h"

#include <orrery/policies/registry.h>

static const char *const backfill[] = {"backfill", "true", NULL};
static const char *const shortest[] = {"order", "shortest", NULL};
static const char *const predicted[] = {"order", "predicted", NULL};
static const char *const both[] = {"order", "shortest", "backfill", "true", NULL};

static void open_fifo(struct fixture *f, const char *const *settings)
{
    fixture_open(f, orr_policy_find("fifo"), settings);
}

/* 4 GPUs: 3 busy until 10, then one job asks all, then one asks a single GPU. */
static void small_line(struct fixture *f)
{
    fixture_init(f, 1, 4);
    (void)fixture_job(f, 0, 1, 3, 10);
    (void)fixture_job(f, 1, 1, 4, 5);
    (void)fixture_job(f, 2, 1, 1, 9);
}

static void strict__lets_nobody_pass(void **state)
{
    (void)state;
    struct fixture f;
    small_line(&f);
    open_fifo(&f, NULL);
    fixture_run(&f, 2);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_NO_CAPACITY);
    assert_int_equal(fixture_reason(&f, 2), ORR_REASON_HEAD_OF_LINE);
    fixture_expect(&f, (const orr_ms[]){0, 10, 15});
    fixture_close(&f);
}

static void backfill__starts_whatever_fits(void **state)
{
    (void)state;
    struct fixture f;
    small_line(&f);
    open_fifo(&f, backfill);
    fixture_expect(&f, (const orr_ms[]){0, 11, 2});
    fixture_close(&f);
}

/* At 10 the longer of two waiting jobs was submitted first. */
static void shortest__goes_by_run_time(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 1, 4, 10);
    (void)fixture_job(&f, 1, 1, 4, 9);
    (void)fixture_job(&f, 2, 1, 4, 3);
    (void)fixture_job(&f, 3, 1, 1, 3); /* equal run time: the earlier job first */
    open_fifo(&f, shortest);
    fixture_expect(&f, (const orr_ms[]){0, 16, 10, 13});
    fixture_close(&f);
}

/* QSSF: 3 GPUs for 4 ms and 4 for 3 are the same GPU time, and before 4 for 5, whatever they really
 * take. */
static void predicted__goes_by_estimated_gpu_time(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 1, 4, 10);
    (void)fixture_job(&f, 1, 1, 4, 3);
    (void)fixture_job(&f, 2, 1, 3, 9);
    (void)fixture_job(&f, 3, 1, 4, 3);
    f.world.specs[1].estimate_ms = 5;
    f.world.specs[2].estimate_ms = 4;
    f.world.specs[3].estimate_ms = 3;
    open_fifo(&f, predicted);
    fixture_expect(&f, (const orr_ms[]){0, 22, 10, 19});
    fixture_close(&f);
}

/* A shorter job becomes the head of a line that is blocked. */
static void shortest__tries_a_new_head(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 1, 2, 10);
    (void)fixture_job(&f, 1, 1, 4, 9);
    (void)fixture_job(&f, 2, 1, 2, 3);
    open_fifo(&f, shortest);
    fixture_expect(&f, (const orr_ms[]){0, 10, 2});
    fixture_close(&f);
}

static void shortest_with_backfill__passes_a_blocked_head(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 4);
    (void)fixture_job(&f, 0, 1, 3, 10);
    (void)fixture_job(&f, 1, 1, 2, 1);
    (void)fixture_job(&f, 1, 1, 1, 7);
    (void)fixture_job(&f, 1, 1, 1, 4);
    open_fifo(&f, both);
    fixture_expect(&f, (const orr_ms[]){0, 10, 5, 1});
    fixture_close(&f);
}

/* n0 and n1 of two devices: after 4 one is free on each. */
static void reasons__tell_scattered_from_too_few(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 2);
    (void)fixture_job(&f, 0, 1, 1, 4);  /* n0 */
    (void)fixture_job(&f, 0, 1, 1, 10); /* n0 */
    (void)fixture_job(&f, 0, 1, 1, 12); /* n1 */
    (void)fixture_job(&f, 1, 1, 2, 5);
    open_fifo(&f, NULL);
    fixture_run(&f, 1);
    assert_int_equal(fixture_reason(&f, 3), ORR_REASON_NO_CAPACITY);
    fixture_run(&f, 4);
    assert_int_equal(fixture_reason(&f, 3), ORR_REASON_FRAGMENTED);
    fixture_expect(&f, (const orr_ms[]){0, 0, 0, 10});
    fixture_close(&f);
}

static void one_pass__starts_all_that_fit(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 8);
    for (int i = 0; i < 10; i++) {
        (void)fixture_job(&f, 0, 1, 1, 10);
    }
    open_fifo(&f, NULL);
    fixture_run(&f, 0);
    assert_int_equal(f.ledger->running_jobs, 8);
    assert_int_equal(f.cycles, 1);
    fixture_expect(&f, (const orr_ms[]){0, 0, 0, 0, 0, 0, 0, 0, 10, 10});
    fixture_close(&f);
}

static void registry__finds_by_name(void **state)
{
    (void)state;
    size_t count;
    const struct orr_policy *const *all = orr_policies(&count);
    assert_true(count >= 2);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(orr_policy_find(all[i]->name), all[i]);
    }
    assert_null(orr_policy_find("nobody"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict__lets_nobody_pass),
        cmocka_unit_test(backfill__starts_whatever_fits),
        cmocka_unit_test(predicted__goes_by_estimated_gpu_time),
        cmocka_unit_test(shortest__goes_by_run_time),
        cmocka_unit_test(shortest__tries_a_new_head),
        cmocka_unit_test(shortest_with_backfill__passes_a_blocked_head),
        cmocka_unit_test(reasons__tell_scattered_from_too_few),
        cmocka_unit_test(one_pass__starts_all_that_fit),
        cmocka_unit_test(registry__finds_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
