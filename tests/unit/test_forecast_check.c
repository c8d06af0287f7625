/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The width of intervals is learnt from earlier ones: with futures that are too sure, and late by a
 * factor, nine of ten starts lie behind the lower end and nine of ten before the upper one, also
 * where most futures reach the horizon before the start. */
#include "test_main.h"

#include <math.h>

#include <check.h>
#include <orrery/base/rng.h>
#include <orrery/base/sort.h>

enum { MOMENTS = 400, JOBS = 5, FUTURES = 10 };

#define HOUR ((orr_ms)3600000)
#define DAY  (24 * HOUR)

static double normal(struct orr_rng *rng)
{
    const double u = 1.0 - orr_rng_unit(rng), v = orr_rng_unit(rng);
    return sqrt(-2.0 * log(u)) * cos(2.0 * acos(-1.0) * v);
}

/* A start so long after `now`, by a factor of e in the deviation. */
static orr_ms start_after(orr_ms now, double hours, double spread, struct orr_rng *rng)
{
    return now + (orr_ms)(hours * (double)HOUR * exp(spread * normal(rng)));
}

/* 10 %, 50 % and 90 % of futures, which end at the horizon. */
static struct orr_forecast_job say(orr_ms now, orr_ms horizon, double hours, struct orr_rng *rng)
{
    int64_t starts[FUTURES];
    for (int f = 0; f < FUTURES; f++) {
        const orr_ms start = start_after(now, hours, 0.3, rng);
        starts[f] = start - now > horizon ? ORR_MS_NEVER : start;
    }
    orr_sort_i64(starts, FUTURES);
    return (struct orr_forecast_job){
        .low_ms = starts[0], .median_ms = starts[4], .high_ms = starts[8]};
}

/* Forecasts of jobs that start 12 hours after a moment, more or less, by futures that are late by
 * that factor. */
static struct orr_forecast_score rehearse(double late)
{
    struct orr_forecast__check *check = orr_forecast__check_open(MOMENTS * JOBS);
    struct orr_rng rng = orr_rng_stream(11, "check", 0);
    struct orr_forecast_score score;
    for (uint32_t m = 0; m < MOMENTS; m++) {
        const orr_ms now = (orr_ms)m * 30 * DAY;
        const struct orr_forecast__stretch stretch = orr_forecast__stretch(check, now, DAY);
        for (uint32_t j = m * JOBS; j < (m + 1) * JOBS; j++) {
            const double hours = 12.0 * exp(0.5 * normal(&rng));
            const struct orr_forecast_job plain = say(now, DAY, late * hours, &rng);
            struct orr_forecast_job wide = plain;
            orr_forecast__widen(&stretch, now, DAY, &wide);
            assert_true(wide.low_ms <= wide.median_ms && wide.median_ms <= wide.high_ms);
            orr_forecast__check_add(check, j, m, now, &wide, &plain, now);
            orr_forecast__check_started(check, j, 0, 1, now, start_after(now, hours, 0.7, &rng));
        }
    }
    orr_forecast__score(check, DAY, &score);
    orr_forecast__check_close(check);
    return score;
}

static void intervals__hold_nine_of_ten_at_each_side(void **state)
{
    (void)state;
    for (double late = 0.5; late < 5.0; late *= 2.0) {
        const struct orr_forecast_score score = rehearse(late);
        assert_int_equal(score.forecasts, MOMENTS * JOBS);
        if (score.low > 0.13 || score.high > 0.13 || score.covered < 0.77) {
            fail_msg("late %g: covered %.3f, before %.3f, after %.3f", late, score.covered,
                     score.low, score.high);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(intervals__hold_nine_of_ten_at_each_side)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
