/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Named random streams: known answers, no dependence on order, bounds. */
#include "test_main.h"

#include <orrery/base/rng.h>

/* The three vectors of Philox 4x32-10 in Random123's kat_vectors. */
static void philox__gives_the_known_answers(void **state)
{
    (void)state;
    struct orr_rng zeros = {0};
    assert_true(orr_rng_u64(&zeros) == UINT64_C(0xe169c58d6627e8d5));
    struct orr_rng ones = {.key = UINT64_MAX, .index = UINT64_MAX, .draw = UINT64_MAX};
    assert_true(orr_rng_u64(&ones) == UINT64_C(0x41c83b0e408f276d));
    struct orr_rng pi = {.key = UINT64_C(0x299f31d0a4093822),
                         .index = UINT64_C(0x0370734413198a2e),
                         .draw = UINT64_C(0x85a308d3243f6a88)};
    assert_true(orr_rng_u64(&pi) == UINT64_C(0x94fdccebd16cfe09));
}

/* Fixed for ever: generated traces and failures depend on it. */
static void streams__are_fixed(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(7, "arrivals", 3);
    uint64_t first = orr_rng_u64(&rng), second = orr_rng_u64(&rng);
    assert_true(first == UINT64_C(0xa61517a477dbefc3));
    assert_true(second == UINT64_C(0x7b31054ad52d72fa));
}

static void draws__do_not_depend_on_order(void **state)
{
    (void)state;
    uint64_t forward[50];
    for (uint64_t i = 0; i < 50; i++) {
        struct orr_rng rng = orr_rng_stream(9, "failures", i);
        forward[i] = orr_rng_u64(&rng);
    }
    for (uint64_t i = 50; i-- > 0;) {
        struct orr_rng rng = orr_rng_stream(9, "failures", i);
        struct orr_rng other = orr_rng_stream(9, "repairs", i);
        (void)orr_rng_u64(&other);
        assert_true(orr_rng_u64(&rng) == forward[i]);
        assert_true(orr_rng_u64(&rng) != forward[i]);
    }
}

static void streams__differ_by_seed_name_and_index(void **state)
{
    (void)state;
    const struct orr_rng streams[] = {
        orr_rng_stream(7, "a", 0),  orr_rng_stream(7 + ((uint64_t)1 << 32), "a", 0),
        orr_rng_stream(7, "b", 0),  orr_rng_stream(7, "a", 1),
        orr_rng_stream(7, "", 0),   orr_rng_stream(0, "a", 0),
        orr_rng_stream(7, "aa", 0), orr_rng_stream(7, "a", (uint64_t)1 << 32)};
    enum { COUNT = sizeof streams / sizeof streams[0] };
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < i; j++) {
            struct orr_rng a = streams[i], b = streams[j];
            assert_true(orr_rng_u64(&a) != orr_rng_u64(&b));
        }
    }
}

static void below__stays_below_and_reaches_all(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(3, "below", 0);
    static const uint64_t bounds[] = {
        1, 2, 3, 7, 10, (uint64_t)1 << 32, ((uint64_t)1 << 63) + 1, UINT64_MAX};
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        for (int i = 0; i < 2000; i++) {
            assert_true(orr_rng_below(&rng, bounds[b]) < bounds[b]);
        }
    }
    unsigned seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        seen[orr_rng_below(&rng, 7)]++;
    }
    for (int i = 0; i < 7; i++) { /* 10000 each, standard deviation 93 */
        assert_in_range(seen[i], 9500, 10500);
    }
}

/* 3 * 2^62 does not divide 2^64: a plain remainder would double the odds of the lowest third. */
static void below__has_no_bias(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(3, "bias", 0);
    unsigned low = 0;
    for (int i = 0; i < 30000; i++) {
        low += orr_rng_below(&rng, (uint64_t)3 << 62) < (uint64_t)1 << 62;
    }
    assert_in_range(low, 9600, 10400); /* standard deviation 82 */
}

static void unit__is_half_open_and_even(void **state)
{
    (void)state;
    struct orr_rng rng = orr_rng_stream(4, "unit", 0);
    double sum = 0.0;
    for (int i = 0; i < 100000; i++) {
        double u = orr_rng_unit(&rng);
        assert_true(u >= 0.0 && u < 1.0);
        sum += u;
    }
    assert_true(sum > 49500.0 && sum < 50500.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox__gives_the_known_answers),
        cmocka_unit_test(streams__are_fixed),
        cmocka_unit_test(draws__do_not_depend_on_order),
        cmocka_unit_test(streams__differ_by_seed_name_and_index),
        cmocka_unit_test(below__stays_below_and_reaches_all),
        cmocka_unit_test(below__has_no_bias),
        cmocka_unit_test(unit__is_half_open_and_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
