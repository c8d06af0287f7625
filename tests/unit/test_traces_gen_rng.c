/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GSL draws from core's streams. */
#include "test_main.h"

#include <math.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>

#include <orrery/base/rng.h>
#include <orrery/traces/gen_rng.h>

static void draws__are_those_of_the_stream(void **state)
{
    (void)state;
    gsl_rng *rng = orr_gsl_rng_open(7, "work", 3);
    struct orr_rng same = orr_rng_stream(7, "work", 3);
    static const unsigned long known[] = {3382928187, 1672419193, 774672094};
    for (size_t i = 0; i < 3; i++) {
        unsigned long draw = gsl_rng_get(rng);
        assert_true(draw == known[i]);
        assert_true(draw == orr_rng_u64(&same) >> 32);
    }
    for (int i = 0; i < 100; i++) {
        double u = gsl_rng_uniform(rng), v = orr_rng_unit(&same);
        assert_true(u >= v && u <= v);
    }
    gsl_rng_free(rng);
}

static void streams__differ(void **state)
{
    (void)state;
    gsl_rng *rngs[] = {orr_gsl_rng_open(7, "work", 0),
                       orr_gsl_rng_open(7 + ((uint64_t)1 << 32), "work", 0),
                       orr_gsl_rng_open(7, "arrivals", 0), orr_gsl_rng_open(7, "work", 1)};
    double first[4];
    for (size_t i = 0; i < 4; i++) {
        first[i] = gsl_rng_uniform(rngs[i]);
        for (size_t j = 0; j < i; j++) {
            assert_true(first[i] < first[j] || first[i] > first[j]);
        }
        gsl_rng_free(rngs[i]);
    }
}

static void type__obeys_gsl(void **state)
{
    (void)state;
    gsl_rng *a = gsl_rng_alloc(orr_gsl_rng_type()), *b = gsl_rng_alloc(orr_gsl_rng_type());
    gsl_rng_set(a, 11);
    gsl_rng_set(b, 12);
    assert_true(gsl_rng_get(a) != gsl_rng_get(b));
    assert_int_equal(gsl_rng_memcpy(b, a), GSL_SUCCESS);
    for (int i = 0; i < 1000; i++) {
        assert_true(gsl_rng_get(a) == gsl_rng_get(b));
        assert_true(gsl_rng_uniform_int(a, 6) < 6);
        (void)gsl_rng_uniform_int(b, 6);
    }
    gsl_rng_free(a);
    gsl_rng_free(b);
}

/* Means of 200000 draws, within five standard errors. */
static void distributions__have_their_means(void **state)
{
    (void)state;
    enum { DRAWS = 200000 };
    gsl_rng *rng = orr_gsl_rng_open(1, "means", 0);
    double exponential = 0.0, lognormal = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        exponential += gsl_ran_exponential(rng, 30.0) / DRAWS;
        lognormal += gsl_ran_lognormal(rng, 1.0, 0.5) / DRAWS;
    }
    double mean = exp(1.0 + 0.5 * 0.5 / 2.0);
    double deviation = mean * sqrt(expm1(0.5 * 0.5));
    assert_true(fabs(exponential - 30.0) < 5.0 * 30.0 / sqrt(DRAWS));
    assert_true(fabs(lognormal - mean) < 5.0 * deviation / sqrt(DRAWS));
    gsl_rng_free(rng);
}

int main(void)
{
    (void)gsl_set_error_handler_off();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws__are_those_of_the_stream),
        cmocka_unit_test(streams__differ),
        cmocka_unit_test(type__obeys_gsl),
        cmocka_unit_test(distributions__have_their_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
