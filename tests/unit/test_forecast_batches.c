/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What batches have in common: a batch of which nothing is known runs as its curve says, one whose
 * jobs all ended early ends early too, one whose jobs all run on runs on. */
#include "test_main.h"

#include <math.h>

#include <forecast_int.h>
#include <orrery/base/rng.h>

enum { FUTURES = 4000 };

/* Jobs of one kind ran 1, 2, ... 4000 s. */
static struct orr_durations *ladder(const struct orr_duration_of *of)
{
    struct orr_durations *durations = orr_durations_open();
    for (int i = 1; i <= 4000; i++) {
        orr_durations_add(durations, of, 1000 * (orr_ms)i, true);
    }
    orr_durations_sort(durations);
    return durations;
}

/* Mean of the place of drawn run times among those of the curve beyond the age: 0.5 if it is held.
 */
static double mean_place(const struct orr_forecast__moment *moment, orr_ms age)
{
    double sum = 0.0;
    for (uint32_t f = 0; f < FUTURES; f++) {
        double factors[ORR_FORECAST__PHASES];
        struct orr_rng rng = orr_rng_stream(7, "fall", f);
        orr_forecast__factors(moment, 0, f, factors);
        const orr_ms run =
            orr_forecast__run_time(moment, 0, age, factors, -log(1.0 - orr_rng_unit(&rng)));
        assert_true(run > age);
        sum += fmin((double)(run - age) / (4000000.0 - (double)age), 1.0);
    }
    return sum / FUTURES;
}

static void factors__leave_the_curve_where_nothing_is_known(void **state)
{
    (void)state;
    const struct orr_duration_of of = {ORR_NONE, 1, 1, 8, ORR_MS_NONE};
    struct orr_duration_of job = of;
    const struct orr_forecast_options options = {.seed = 3};
    const struct orr_forecast__run run = {.options = &options, .of = &job, .batch_count = 1};
    struct orr_forecast__batch batch = {0};
    struct orr_forecast__moment moment = {.run = &run, .durations = ladder(&of), .batches = &batch};
    for (double theta = 0.01; theta < 4.0; theta *= 4.0) {
        for (int k = 0; k < ORR_FORECAST__PHASES; k++) {
            moment.theta[k] = theta;
        }
        assert_true(fabs(mean_place(&moment, 0) - 0.5) < 0.02);
    }
    const double plain = mean_place(&moment, 0);
    for (int k = 0; k < ORR_FORECAST__PHASES; k++) {
        batch.ended[k] = 5.0;
        batch.hazard[k] = 1.0;
    }
    assert_true(mean_place(&moment, 0) < plain - 0.1);
    for (int k = 0; k < ORR_FORECAST__PHASES; k++) {
        batch.ended[k] = 0.0;
        batch.hazard[k] = 5.0;
    }
    assert_true(mean_place(&moment, 0) > plain + 0.1);
    orr_durations_close(moment.durations);
}

/* A job that has run for a while is one of a batch that is known to have survived as much. */
static void factors__leave_the_curve_of_a_job_alone_that_has_run(void **state)
{
    (void)state;
    const struct orr_duration_of of = {ORR_NONE, 1, 1, 8, ORR_MS_NONE};
    struct orr_duration_of job = of;
    const struct orr_forecast_options options = {.seed = 3};
    const struct orr_forecast__run run = {.options = &options, .of = &job, .batch_count = 1};
    struct orr_forecast__batch batch = {0};
    struct orr_forecast__moment moment = {.run = &run, .durations = ladder(&of), .batches = &batch};
    const orr_ms age = 2000000, begin = 960000; /* of the fourth phase */
    double from = 0.0, to = 0.0;
    orr_durations_hazards(moment.durations, &of, &begin, 1, &from);
    orr_durations_hazards(moment.durations, &of, &age, 1, &to);
    for (double theta = 0.25; theta < 4.0; theta *= 2.0) {
        for (int k = 0; k < ORR_FORECAST__PHASES; k++) {
            moment.theta[k] = theta;
        }
        batch.hazard[3] = expm1(theta * (to - from)) / theta;
        assert_true(fabs(mean_place(&moment, age) - 0.5) < 0.02);
    }
    orr_durations_close(moment.durations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors__leave_the_curve_where_nothing_is_known),
        cmocka_unit_test(factors__leave_the_curve_of_a_job_alone_that_has_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
