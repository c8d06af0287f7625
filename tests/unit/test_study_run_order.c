/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In which order the runs of a study begin. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <study_int.h>

enum { SEEDS = 3, SETTINGS = 2, RUNS = SEEDS * SETTINGS };
static const uint64_t two_settings[RUNS] = {7, 8, 9, 7, 8, 9};

/* Two at a time; what the run of a seed takes does not depend on the setting. Returns when the last
 * one ends. */
static orr_ms run_two_at_a_time(struct orr_study__order *order, const orr_ms *takes_ms,
                                uint32_t *begun, uint32_t count)
{
    uint32_t at_work[2] = {ORR_NONE, ORR_NONE}, n = 0;
    orr_ms end_ms[2] = {0, 0}, last_ms = 0;
    while (n < count) {
        const int w = end_ms[1] < end_ms[0];
        if (at_work[w] != ORR_NONE) {
            orr_study__order_ended(order, at_work[w], end_ms[w]);
        }
        at_work[w] = begun[n++] = orr_study__order_next(order, end_ms[w]);
        end_ms[w] += takes_ms[at_work[w] % SEEDS];
        last_ms = end_ms[w] > last_ms ? end_ms[w] : last_ms;
    }
    assert_int_equal(orr_study__order_next(order, last_ms), ORR_NONE);
    return last_ms;
}

static void what_took_long__begins_first_under_the_next_setting(void **state)
{
    struct orr_study__order *order = orr_study__order_open(two_settings, RUNS);
    const orr_ms takes_ms[SEEDS] = {1000, 6000, 1000};
    uint32_t begun[RUNS];
    (void)state;
    assert_int_equal(run_two_at_a_time(order, takes_ms, begun, RUNS), 8000); /* in order: 9000 */
    assert_int_equal(begun[0], 0); /* seeds that are new in their order */
    assert_int_equal(begun[1], 1);
    assert_int_equal(begun[2], 2);
    assert_int_equal(begun[3], 4);
    orr_study__order_close(order);
}

static void runs_at_work__count_as_long_as_they_are(void **state)
{
    const uint64_t seeds[] = {1, 2, 1, 2};
    struct orr_study__order *order = orr_study__order_open(seeds, 4);
    (void)state;
    assert_int_equal(orr_study__order_next(order, 0), 0);
    assert_int_equal(orr_study__order_next(order, 0), 1);
    orr_study__order_ended(order, 0, 100);
    assert_int_equal(orr_study__order_next(order, 500), 3); /* its seed has taken 500 so far */
    assert_int_equal(orr_study__order_next(order, 500), 2);
    orr_study__order_close(order);
}

static void one_seed__begins_in_order(void **state)
{
    const uint64_t seeds[] = {0, 0, 0};
    struct orr_study__order *order = orr_study__order_open(seeds, 3);
    (void)state;
    for (uint32_t r = 0; r < 3; r++) {
        assert_int_equal(orr_study__order_next(order, (orr_ms)r), r);
        orr_study__order_ended(order, r, (orr_ms)(r + 10 * r));
    }
    assert_int_equal(orr_study__order_next(order, 100), ORR_NONE);
    orr_study__order_close(order);
}

static void no_runs__leave_none_to_begin(void **state)
{
    const uint64_t seeds[1] = {0};
    struct orr_study__order *order = orr_study__order_open(seeds, 0);
    (void)state;
    assert_int_equal(orr_study__order_next(order, 0), ORR_NONE);
    orr_study__order_close(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_took_long__begins_first_under_the_next_setting),
        cmocka_unit_test(runs_at_work__count_as_long_as_they_are),
        cmocka_unit_test(one_seed__begins_in_order),
        cmocka_unit_test(no_runs__leave_none_to_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
