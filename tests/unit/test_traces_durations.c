/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long a job still runs: groups and their fallback, the condition on the age, jobs that have
 * not ended, requested times, and what lies behind the longest. */
#include "test_main.h"

#include <math.h>
#include <stdlib.h>

#include <orrery/base/rng.h>
#include <orrery/traces/durations.h>

static const struct orr_duration_of plain = {
    .user = ORR_NONE, .queue = 3, .kind = 1, .size = 8, .limit_ms = ORR_MS_NONE};

static struct orr_duration_of like(uint32_t user, uint32_t queue, uint32_t size, orr_ms limit_ms)
{
    struct orr_duration_of of = plain;
    of.user = user;
    of.queue = queue;
    of.size = size;
    of.limit_ms = limit_ms;
    return of;
}

/* Run times step, 2 step, ... of `count` jobs. */
static void add_ladder(struct orr_durations *durations, struct orr_duration_of of, orr_ms step,
                       uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        orr_durations_add(durations, &of, step * i, true);
    }
}

static void quantiles__are_run_times_that_were_seen_beyond_the_age(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    add_ladder(durations, plain, 10, 100); /* 10, 20, ..., 1000 */
    orr_durations_sort(durations);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.0).run_ms, 10);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.495).run_ms, 500);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.999).run_ms, 1000);
    /* of the 50 that run longer than 500: the median is that of 510..1000 */
    assert_int_equal(orr_durations_quantile(durations, &plain, 500, 0.495).run_ms, 750);
    assert_int_equal(orr_durations_quantile(durations, &plain, 500, 0.0).run_ms, 510);
    assert_int_equal(orr_durations_quantile(durations, &plain, 505, 0.0).run_ms, 510);
    assert_int_equal(orr_durations_quantile(durations, &plain, 500, 0.0).ended, 50);
    orr_durations_close(durations);
}

static void groups__are_the_finest_with_enough_that_ended_later(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    add_ladder(durations, like(7, 3, 8, ORR_MS_NONE), 1, 30);
    add_ladder(durations, like(8, 3, 8, ORR_MS_NONE), 100, 40);
    add_ladder(durations, like(9, 4, 2, ORR_MS_NONE), 10000, 50);
    orr_durations_sort(durations);
    const struct orr_duration_of mine = like(7, 3, 8, ORR_MS_NONE);
    struct orr_duration_draw draw = orr_durations_quantile(durations, &mine, 0, 0.99);
    assert_int_equal(draw.group, ORR_DURATION_USER_LIKE);
    assert_int_equal(draw.run_ms, 30);
    /* 19 of its user ended after 11, one too few: of its queue and size 59 did */
    draw = orr_durations_quantile(durations, &mine, 11, 0.0);
    assert_int_equal(draw.group, ORR_DURATION_LIKE);
    assert_int_equal(draw.ended, 59);
    assert_int_equal(draw.run_ms, 12);
    /* sizes 5 to 8 are one class; other users and queues are asked when theirs is unknown */
    const struct orr_duration_of sized = like(1, 9, 5, ORR_MS_NONE);
    assert_int_equal(orr_durations_quantile(durations, &sized, 0, 0.0).group, ORR_DURATION_SIZE);
    const struct orr_duration_of large = like(ORR_NONE, ORR_NONE, 9, ORR_MS_NONE);
    assert_int_equal(orr_durations_quantile(durations, &large, 0, 0.0).group, ORR_DURATION_KIND);
    const struct orr_duration_of strange = {.user = ORR_NONE, .queue = 1, .kind = 3, .size = 8};
    draw = orr_durations_quantile(durations, &strange, 499999, 0.5);
    assert_int_equal(draw.group, ORR_DURATION_ALL);
    assert_int_equal(draw.run_ms, 500000);
    orr_durations_close(durations);
}

/* The textbook estimate by hand: 1, 2+, 3, 4+, 5 has S = 4/5, 4/5 x 2/3, 0. */
static void what_has_not_ended__counts_as_at_risk(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    for (int i = 0; i < 10; i++) { /* ten of each: the curve is that of one, and enough */
        for (int run = 1; run <= 5; run++) {
            orr_durations_add(durations, &plain, run * 1000, run % 2 == 1);
        }
    }
    orr_durations_sort(durations);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.199).run_ms, 1000);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.201).run_ms, 3000);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.466).run_ms, 3000);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.467).run_ms, 5000);
    orr_durations_close(durations);
}

static void behind_the_longest__life_is_as_long_again_for_every_second(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    add_ladder(durations, plain, 10, 100);
    for (int i = 0; i < 100; i++) {
        orr_durations_add(durations, &plain, 2000,
                          false); /* a half lives at 1000, and does at 2000 */
    }
    orr_durations_sort(durations);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.489).run_ms, 980);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.75).run_ms, 4000);
    assert_int_equal(orr_durations_quantile(durations, &plain, 7000, 0.5).run_ms, 14000);
    assert_int_equal(orr_durations_quantile(durations, &plain, 7000, 0.9999999).run_ms, 700000);
    orr_durations_close(durations);
}

static void requested_times__are_what_run_times_are_parts_of(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    for (int i = 1; i <= 40; i++) { /* a tenth of what was asked for */
        const struct orr_duration_of of = like(5, 3, 8, 10000 * i);
        orr_durations_add(durations, &of, 1000 * i, true);
    }
    orr_durations_sort(durations);
    const struct orr_duration_of asks = like(5, 3, 8, 3600000);
    const struct orr_duration_of says_nothing = like(5, 3, 8, ORR_MS_NONE);
    assert_int_equal(orr_durations_quantile(durations, &asks, 0, 0.5).run_ms, 360000);
    /* more than anybody's tenth is gone: of all jobs, by their lengths, none was longer than this
     */
    assert_int_equal(orr_durations_quantile(durations, &asks, 400000, 0.5).group, ORR_DURATION_ALL);
    const struct orr_duration_draw draw =
        orr_durations_quantile(durations, &says_nothing, 0, 0.4999);
    assert_int_equal(draw.group, ORR_DURATION_ALL);
    assert_int_equal(draw.run_ms, 20000);
    orr_durations_close(durations);
}

static void draws__come_from_the_jobs_own_stream(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    add_ladder(durations, plain, 1000, 1000);
    orr_durations_sort(durations);
    double sum = 0.0;
    for (uint64_t future = 0; future < 4000; future++) {
        sum += (double)orr_durations_draw(durations, &plain, 500000, 1, "j1", future).run_ms;
    }
    /* uniform over 501..1000 s: deviation 144 s, of the mean of 4000 2.3 s */
    assert_true(fabs(sum / 4000 - 750500.0) < 4 * 2300.0);
    const orr_ms one = orr_durations_draw(durations, &plain, 0, 1, "j1", 0).run_ms;
    assert_int_equal(one, orr_durations_draw(durations, &plain, 0, 1, "j1", 0).run_ms);
    assert_int_not_equal(one, orr_durations_draw(durations, &plain, 0, 1, "j2", 0).run_ms);
    assert_int_not_equal(one, orr_durations_draw(durations, &plain, 0, 2, "j1", 0).run_ms);
    orr_durations_close(durations);
}

/* 1, 2+, 3, 4+, 5, ten of each: hazards 10/50, then 10/30 more, then 10/10. */
static void hazards__count_what_ends(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    for (int i = 0; i < 10; i++) {
        for (int run = 1; run <= 5; run++) {
            orr_durations_add(durations, &plain, run * 1000, run % 2 == 1);
        }
    }
    orr_durations_sort(durations);
    const orr_ms until[] = {999, 1000, 3000, 4500, 5000, 9000};
    const double wanted[] = {0.0, 0.2, 0.2 + 1.0 / 3, 0.2 + 1.0 / 3, 1.2 + 1.0 / 3, 1.2 + 1.0 / 3};
    double hazards[6];
    orr_durations_hazards(durations, &plain, until, 6, hazards);
    double sum = 0.0;
    for (int i = 0; i < 6; i++) {
        assert_true(fabs(hazards[i] - wanted[i]) < 1e-12);
    }
    for (orr_ms run = 1000; run <= 5000; run += 1000) { /* what all survived is what ended */
        orr_durations_hazards(durations, &plain, &run, 1, hazards);
        sum += 10.0 * hazards[0];
    }
    assert_true(fabs(sum - 30.0) < 1e-9);
    orr_durations_close(durations);
}

/* Without a factor, a fall of -ln(1 - p) is the quantile of p, but for the one that is taken to
 * live on; behind the longest life is as long again for every ln 2. */
static void falls__lead_back_to_run_times(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    add_ladder(durations, plain, 10, 1000);
    orr_durations_sort(durations);
    for (double p = 0.05; p < 0.99; p += 0.05) {
        const orr_ms run = orr_durations_at_fall(durations, &plain, 0, -log(1.0 - p));
        const orr_ms later = orr_durations_at_fall(durations, &plain, 4000, -log(1.0 - p));
        double fall = 0.0;
        assert_true(llabs(run - orr_durations_quantile(durations, &plain, 0, p).run_ms) <= 20);
        assert_true(llabs(later - orr_durations_quantile(durations, &plain, 4000, p).run_ms) <= 20);
        orr_durations_falls(durations, &plain, 4000, &later, 1, &fall);
        assert_true(fabs(fall + log(1.0 - p)) < 0.05);
    }
    double all = 0.0;
    const orr_ms last = 10000;
    orr_durations_falls(durations, &plain, 0, &last, 1, &all);
    assert_true(llabs(orr_durations_at_fall(durations, &plain, 0, all + log(2.0) + 1e-9) - 20000) <=
                1);
    orr_durations_close(durations);
}

/* Run times of before are 100 times those of lately, but for a user's own, who is known better. */
static void recent_jobs__are_asked_first(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    const struct orr_duration_of mine = like(7, 3, 8, ORR_MS_NONE);
    const struct orr_duration_of other = like(ORR_NONE, 4, 8, ORR_MS_NONE);
    add_ladder(durations, plain, 1000, 100);
    add_ladder(durations, mine, 50, 40);
    for (int i = 1; i <= 40; i++) {
        orr_durations_add_recent(durations, &other, 10 * (orr_ms)i, true);
    }
    orr_durations_sort(durations);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.99).run_ms, 400);
    assert_int_equal(orr_durations_quantile(durations, &plain, 0, 0.99).group, ORR_DURATION_SIZE);
    assert_int_equal(orr_durations_quantile(durations, &mine, 0, 0.99).run_ms, 2000);
    assert_int_equal(orr_durations_quantile(durations, &plain, 300, 0.99).group, ORR_DURATION_LIKE);
    assert_int_equal(orr_durations_quantile(durations, &plain, 300, 0.99).run_ms, 99000);
    double fall = 0.0;
    const orr_ms before = 100; /* the age: a fall behind it is below 0 */
    orr_durations_falls(durations, &plain, 200, &before, 1, &fall);
    assert_true(fabs(fall - log(21.0 / 31.0)) < 1e-9);
    orr_durations_close(durations);
}

static void nothing_seen__is_said(void **state)
{
    (void)state;
    struct orr_durations *durations = orr_durations_open();
    orr_durations_sort(durations);
    assert_true(orr_durations_quantile(durations, &plain, 5, 0.5).run_ms == ORR_MS_NONE);
    orr_durations_close(durations);
    orr_durations_close(NULL);
}

/* Random tables: a draw is longer than the age, no quantile is below a smaller one, and the share
 * of run times above the age up to a quantile is at least its probability. */
static void quantiles__invert_what_was_seen(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(9, "durations", 0);
    for (int round = 0; round < 200; round++) {
        struct orr_durations *durations = orr_durations_open();
        orr_ms runs[120];
        const uint32_t count = 30 + (uint32_t)orr_rng_below(&rng, 90);
        for (uint32_t i = 0; i < count; i++) {
            runs[i] = (orr_ms)orr_rng_below(&rng, 1u << (1 + i % 20));
            orr_durations_add(durations, &plain, runs[i], true);
        }
        orr_durations_sort(durations);
        const orr_ms age = (orr_ms)orr_rng_below(&rng, 3000);
        orr_ms before = 0;
        for (double p = 0.0; p < 1.0; p += 0.05) {
            const orr_ms run = orr_durations_quantile(durations, &plain, age, p).run_ms;
            uint32_t longer = 0, within = 0;
            for (uint32_t i = 0; i < count; i++) {
                longer += runs[i] > age || age == 0;
                within += (runs[i] > age || age == 0) && runs[i] <= run;
            }
            assert_true(run > age && run >= before);
            assert_true((double)within >= p * (double)longer - 1e-9);
            before = run;
        }
        orr_durations_close(durations);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles__are_run_times_that_were_seen_beyond_the_age),
        cmocka_unit_test(groups__are_the_finest_with_enough_that_ended_later),
        cmocka_unit_test(what_has_not_ended__counts_as_at_risk),
        cmocka_unit_test(behind_the_longest__life_is_as_long_again_for_every_second),
        cmocka_unit_test(requested_times__are_what_run_times_are_parts_of),
        cmocka_unit_test(draws__come_from_the_jobs_own_stream),
        cmocka_unit_test(hazards__count_what_ends),
        cmocka_unit_test(falls__lead_back_to_run_times),
        cmocka_unit_test(recent_jobs__are_asked_first),
        cmocka_unit_test(nothing_seen__is_said),
        cmocka_unit_test(quantiles__invert_what_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
