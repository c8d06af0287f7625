/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paired differences: textbook values, and the share of intervals that hold the true difference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <orrery/analysis/paired.h>
#include <orrery/base/mem.h>
#include <orrery/base/rng.h>

#include "queue_model.h"

#define NEAR(value, wanted, within) assert_true(fabs((value) - (wanted)) < (within))

/* Student's sleep data (Biometrika 1908): mean 1.58, t = 4.0621, p = 0.002833, 0.7001 to 2.4599. */
static void t__gives_students_sleep_data(void **state)
{
    static const double first[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
    static const double second[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
    const struct orr_paired p = orr_paired_t(first, second, 10, 0.95);
    (void)state;
    assert_int_equal(p.n, 10);
    NEAR(p.difference, 1.58, 1e-12);
    NEAR(p.low, 0.7001142, 1e-6);
    NEAR(p.high, 2.4598858, 1e-6);
    NEAR(p.p, 0.00283289, 1e-7);
    NEAR(p.effect, 4.062128 / sqrt(10), 1e-6);
}

static void t__says_nothing_of_too_little(void **state)
{
    const double base[] = {1, (double)NAN}, other[] = {2, 3};
    const struct orr_paired one = orr_paired_t(base, other, 2, 0.95);
    const struct orr_paired none = orr_paired_t(base + 1, other + 1, 1, 0.95);
    (void)state;
    assert_int_equal(one.n, 1);
    NEAR(one.difference, 1, 1e-12);
    assert_true(isnan(one.low) && isnan(one.high) && isnan(one.p));
    assert_int_equal(none.n, 0);
    assert_true(isnan(none.difference));
}

static void t__takes_equal_differences(void **state)
{
    const double base[] = {1, 2, 3}, same[] = {1, 2, 3}, more[] = {2, 3, 4};
    const struct orr_paired equal = orr_paired_t(base, same, 3, 0.95);
    const struct orr_paired shifted = orr_paired_t(base, more, 3, 0.95);
    (void)state;
    assert_true(equal.p >= 1 && equal.low >= 0 && equal.high <= 0);
    assert_true(shifted.p == 0.25 && shifted.low >= 1 && shifted.high <= 1); /* 2 of 2^3 signs */
}

/* Times in seconds are thousandths, which no double holds: that their differences are not one in
 * the last digit is no scale for t. */
static void t__takes_rounding_for_no_scale(void **state)
{
    enum { N = 4 };
    const double base[N] = {60.001, 71.003, 86400.123, 0.017};
    double more[N], blocks[N];
    struct orr_paired drawn = {.n = N, .difference = 3.001};
    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        more[i] = base[i] + 3.001;
        blocks[i] = 2 * base[i] - base[i] + 3.001;
    }
    const struct orr_paired shifted = orr_paired_t(base, more, N, 0.95);
    assert_true(shifted.p == 0.125 && shifted.high - shifted.low <= 1e-9);
    assert_true(shifted.alike && orr_paired_order(&shifted) == 0);
    const struct orr_paired at_80 = orr_paired_t(base, more, N, 0.8);
    assert_true(!at_80.alike && orr_paired_order(&at_80) == 1);
    orr_paired_drawn(base, blocks, N, 0.95, &drawn);
    assert_true(drawn.p == 0.125 && drawn.alike && orr_paired_order(&drawn) == 0);
    more[3] += 1e-6; /* a difference of its own, however small */
    assert_true(orr_paired_t(base, more, N, 0.95).p < 0.125);
}

static struct orr_paired readings(const double *base, const double *other, uint32_t count)
{
    struct orr_reading a[8], b[8];
    for (uint32_t i = 0; i < count; i++) {
        a[i] = (struct orr_reading){base[i], isinf(base[i]) ? 50 : (double)NAN};
        b[i] = (struct orr_reading){other[i], isinf(other[i]) ? 90 : (double)NAN};
    }
    return orr_paired_readings(a, b, count, 0.95);
}

/* The ends of the interval of the part are where the other and so many times the base do not
 * differ, to the level of the interval; no change takes away more than there is. */
static void part__is_fiellers_and_never_below_nothing(void **state)
{
    enum { N = 6 };
    const double base[N] = {1, 2, 40, 3, 2, 9}, other[N] = {1, 1, 2, 0, 3, 1};
    const double even[N] = {9, 10, 11, 10, 9, 10}, less[N] = {5, 6, 7, 4, 5, 6}, signs[N] = {-1};
    double times[N];
    struct orr_paired p = orr_paired_t(even, less, N, 0.95), at;
    (void)state;
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < N; i++) {
            times[i] = even[i] * (1 + (end == 0 ? p.part_low : p.part_high));
        }
        at = orr_paired_t(times, less, N, 0.95);
        NEAR(end == 0 ? at.low : at.high, 0, 1e-9);
    }
    assert_true(p.part_low > -1 && p.part_high < 0 && !orr_paired_below_nothing(&p));
    p = orr_paired_t(base, other, N, 0.95);
    char words[80];
    assert_true(p.low < -p.base_mean && orr_paired_below_nothing(&p));
    assert_true(p.part_low >= -1 && isinf(p.part_high));
    assert_string_equal(orr_paired_part_words(&p, words, sizeof words), "-97.1 % to any");
    p = orr_paired_t(signs, even, N, 0.95);
    assert_true(isnan(p.part_low) && isnan(p.part_high) && !orr_paired_below_nothing(&p));
    p = orr_paired_t(even, even, N, 0.95);
    assert_true(fabs(p.part_low) < 1e-12 && fabs(p.part_high) < 1e-12);
}

/* An interval that is moved to another level is the one computed at it. */
static void intervals__move_to_another_level(void **state)
{
    const double base[] = {10, 12, 15, 9}, other[] = {0, 3, 2, 0};
    struct orr_paired p = orr_paired_t(base, other, 4, 0.95);
    const struct orr_paired wide = orr_paired_t(base, other, 4, 0.9999);
    (void)state;
    assert_true(p.high < 0 && p.part_high < 0 && wide.high > 0);
    orr_paired_at_level(&p, 0.9999);
    NEAR(p.low, wide.low, 1e-12);
    NEAR(p.high, wide.high, 1e-12);
    NEAR(p.part_low, wide.part_low, 1e-12);
    assert_true(isinf(p.part_high) ? isinf(wide.part_high)
                                   : fabs(p.part_high - wide.part_high) < 1e-12);
    p = orr_paired_t(base, other, 1, 0.95);
    orr_paired_at_level(&p, 0.99);
    assert_true(isnan(p.low) && isnan(p.part_low));
}

#define NEVER ((double)INFINITY)
#define NONE  ((double)NAN)

/* What is not reached is more than any number, and no pair goes missing without being counted. */
static void readings__count_what_is_not_reached(void **state)
{
    const double base[] = {10, 11, 12, 13}, faster[] = {1, 2, NEVER, 3};
    const double half[] = {NEVER, 11, 12, NONE}, slower[] = {20, 22, 22, 24};
    const double found_slower[] = {5, 20, 21, 22};
    struct orr_paired p = readings(base, faster, 4);
    (void)state;
    assert_int_equal(p.n, 3);
    assert_int_equal(p.lost, 1);
    assert_int_equal(orr_paired_pairs(&p), 4);
    assert_true(p.difference < 0 && orr_paired_order(&p) == 0); /* one more, three less */
    NEAR(p.other_mean, (1 + 2 + 90 + 3) / 4.0, 1e-12);
    p = readings(faster, base, 4);
    assert_true(p.found == 1 && orr_paired_order(&p) == 0); /* clearly more in the others */
    p = readings(half, half, 4);
    assert_true(p.neither == 1 && p.n == 2 && p.missing == 0 && orr_paired_order(&p) == 0);
    p = readings(half, base, 4);
    assert_true(p.found == 1 && p.missing == 1 && orr_paired_order(&p) == 0);
    p = readings(half, found_slower, 3);
    assert_true(p.found == 1 && orr_paired_order(&p) == 0);
    p = readings(base, slower, 4);
    assert_true(orr_paired_order(&p) == 1 && orr_paired_pairs(&p) == p.n);
    p = readings(half, faster, 3); /* one lost, one found */
    assert_true(p.lost == 1 && p.found == 1 && orr_paired_order(&p) == 0);
    p = readings(base, faster + 2, 1);
    assert_true(p.n == 0 && orr_paired_order_as_is(&p) == 1);
    p = readings(base, slower, 1);
    assert_true(orr_paired_order(&p) == 0 && orr_paired_order_as_is(&p) == 1);
}

/* One of six that is lost may be chance, unless all go that way, or the other five show it; six
 * lost of seven are no chance whatever the seventh says of itself. */
static void readings__that_are_lost_are_tested_by_their_signs(void **state)
{
    const double base[] = {10, 11, 12, 13, 14, 15, 16}, mixed[] = {NEVER, 10, 13, 12, 15, 14};
    const double slower[] = {NEVER, 21, 22, 23, 24, 26},
                 more[] = {NEVER, 11.1, 12.1, 13.1, 90, 15.1};
    const double gone[] = {NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, 16};
    struct orr_paired p = readings(base, mixed, 6);
    (void)state;
    assert_true(p.lost == 1 && orr_paired_order(&p) == 0 && orr_paired_order_as_is(&p) == 0);
    p = readings(base, slower, 6);
    assert_true(p.low > 0 && orr_paired_order(&p) == 1);
    p = readings(base, slower + 1, 5);
    assert_true(orr_paired_order(&p) == 1);
    p.among = true; /* and may be chance among so many settings */
    assert_true(orr_paired_order(&p) == 0 && orr_paired_order_as_is(&p) == 0);
    p = readings(base, more, 6); /* six of six: 1 in 32 */
    assert_true(p.low < 0 && orr_paired_order(&p) == 1);
    p = readings(more, base, 6);
    assert_true(p.found == 1 && orr_paired_order(&p) == -1);
    p = readings(base, more, 5); /* 1 in 16 */
    assert_true(p.signs == 0 && orr_paired_order(&p) == 0);
    p = readings(base, gone, 7);
    assert_true(p.lost == 6 && orr_paired_order(&p) == 1);
    p = readings(base, gone, 3); /* in all there are */
    assert_true(p.lost == 3 && p.signs == 0 && orr_paired_order(&p) == 1);
    p = readings(gone, base, 3);
    assert_true(orr_paired_order(&p) == -1);
}

static double normal(struct orr_rng *rng) /* Box and Muller */
{
    const double a = 1 - orr_rng_unit(rng);
    const double b = orr_rng_unit(rng);
    return sqrt(-2 * log(a)) * cos(6.283185307179586 * b);
}

/* Of differences drawn around what is seen, four of five have p < 0.01 and are above the margin. */
static void seen__is_shown_with_its_power(void **state)
{
    enum { TRIALS = 20000, N = 20 };
    static const double margins[] = {0, 1, 5};
    const double error = 1 / sqrt(N); /* of the mean of N differences of deviation 1 */
    struct orr_rng rng = orr_rng_stream(1, "seen", 0);
    (void)state;
    for (int m = 0; m < 3; m++) {
        const double seen = orr_seen_with(error, N, 0.01, margins[m], 0.8);
        int shown = 0;
        for (int t = 0; t < TRIALS; t++) {
            double base[N] = {0}, other[N];
            for (int i = 0; i < N; i++) {
                other[i] = seen + normal(&rng);
            }
            const struct orr_paired p = orr_paired_t(base, other, N, 0.95);
            shown += p.p < 0.01 && p.difference > margins[m];
        }
        assert_true(shown > 0.78 * TRIALS && shown < 0.83 * TRIALS);
    }
}

/* Of waits as they are, far from normal: 95 of 100 intervals of the part hold the true one. */
static void part__holds_the_true_ratio(void **state)
{
    enum { TRIALS = 4000, N = 12 };
    struct orr_rng rng = orr_rng_stream(1, "part", 0);
    int held = 0, below = 0;
    (void)state;
    for (int t = 0; t < TRIALS; t++) {
        double base[N], other[N];
        for (int i = 0; i < N; i++) {
            const double common = normal(&rng);
            base[i] = exp(0.8 * common + 0.3 * normal(&rng));
            other[i] = 0.3 * exp(0.8 * common + 0.3 * normal(&rng));
        }
        const struct orr_paired p = orr_paired_t(base, other, N, 0.95);
        held += p.part_low <= -0.7 && p.part_high >= -0.7;
        below += orr_paired_below_nothing(&p);
        assert_true(p.part_low >= -1 && (p.part_low < 0 || p.low >= 0));
    }
    assert_true(below > 0 && held > 0.90 * TRIALS && held < 0.98 * TRIALS);
}

/* The same of pairs, whose interval tells their standard error. */
static void seen__is_told_from_the_interval(void **state)
{
    const double base[] = {0, 0, 0, 0, 0}, other[] = {1, 2, 3, 4, 5};
    const struct orr_paired p = orr_paired_t(base, other, 5, 0.95);
    (void)state;
    NEAR(orr_paired_seen(&p, 0.95, 0.01, 1, 0.8), orr_seen_with(sqrt(2.5 / 5), 5, 0.01, 1, 0.8),
         1e-9);
}

/* Holm's own procedure by hand: 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06. */
static void holm__steps_down(void **state)
{
    double p[] = {0.03, 0.01, (double)NAN, 0.04, 0.02};
    (void)state;
    orr_holm(p, 5);
    NEAR(p[0], 0.06, 1e-12);
    NEAR(p[1], 0.04, 1e-12);
    assert_true(isnan(p[2]));
    NEAR(p[3], 0.06, 1e-12);
    NEAR(p[4], 0.06, 1e-12);
}

static double mean_wait(uint64_t seed, double lambda, double mu, uint32_t customers)
{
    double waits[400], sum = 0;
    model_waits(seed, lambda, mu, 0, customers, waits);
    for (uint32_t i = 0; i < customers; i++) {
        sum += waits[i];
    }
    return sum / customers;
}

/* 1,000 studies of 20 seeds each: the 95 % interval holds the known difference in 93 to 97 %. */
static void t__covers_a_known_difference(void **state)
{
    enum { STUDIES = 1000, SEEDS = 20, CUSTOMERS = 300 };
    const double lambda = 0.3, slow = 1.0, fast = 1.1;
    const double truth = lambda / fast / (fast - lambda) - lambda / slow / (slow - lambda);
    uint32_t covered = 0;
    (void)state;
    for (uint64_t study = 0; study < STUDIES; study++) {
        double base[SEEDS], other[SEEDS];
        for (uint64_t s = 0; s < SEEDS; s++) {
            base[s] = mean_wait(study * SEEDS + s, lambda, slow, CUSTOMERS);
            other[s] = mean_wait(study * SEEDS + s, lambda, fast, CUSTOMERS);
        }
        const struct orr_paired p = orr_paired_t(base, other, SEEDS, 0.95);
        covered += p.low <= truth && truth <= p.high;
    }
    print_message("covered in %u of %d studies\n", covered, STUDIES);
    assert_in_range(covered, 930, 970);
}

/* n blocks of one value each, whose mean is drawn: as Student's t over them, but for the draws. */
static void drawn__is_students_t_over_blocks(void **state)
{
    enum { DRAWS = 20000, MOST = 10 };
    static double base[DRAWS], other[DRAWS];
    (void)state;
    for (uint32_t n = 2; n <= MOST; n += 4) {
        const double a[MOST] = {3, 9, 4, 8, 5, 7, 6, 2, 9, 4};
        const double b[MOST] = {5, 10, 4, 9, 9, 8, 9, 4, 9, 8};
        const struct orr_paired t = orr_paired_t(a, b, n, 0.95);
        struct orr_paired drawn = {.n = n,
                                   .base_mean = t.base_mean,
                                   .other_mean = t.other_mean,
                                   .difference = t.difference};
        for (uint32_t r = 0; r < DRAWS; r++) {
            struct orr_rng rng = orr_rng_stream(7, "drawn", r);
            base[r] = other[r] = 0;
            for (uint32_t i = 0; i < n; i++) {
                const uint32_t block = (uint32_t)orr_rng_below(&rng, n);
                base[r] += a[block] / n;
                other[r] += b[block] / n;
            }
        }
        base[0] = (double)NAN; /* draws without a value do not count */
        other[1] = (double)INFINITY;
        orr_paired_drawn(base, other, DRAWS, 0.95, &drawn);
        NEAR((drawn.high - drawn.low) / (t.high - t.low), 1, 0.02);
        NEAR(drawn.low + drawn.high, t.low + t.high, 1e-9);
        NEAR(drawn.p, t.p, 0.01);
        NEAR(drawn.effect / t.effect, 1, 0.02);
        assert_true(isinf(t.part_high) ? isinf(drawn.part_high)
                                       : fabs(drawn.part_high - t.part_high) < 0.03);
        NEAR(drawn.part_low, t.part_low, 0.03);
    }
}

static void drawn__says_nothing_of_one_block(void **state)
{
    const double draws[3] = {1, 1, 1};
    struct orr_paired p = {.n = 1, .difference = 0.5, .low = (double)NAN};
    (void)state;
    orr_paired_drawn(draws, draws, 3, 0.95, &p);
    assert_true(isnan(p.low));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t__gives_students_sleep_data),
        cmocka_unit_test(t__says_nothing_of_too_little),
        cmocka_unit_test(t__takes_equal_differences),
        cmocka_unit_test(t__takes_rounding_for_no_scale),
        cmocka_unit_test(intervals__move_to_another_level),
        cmocka_unit_test(readings__count_what_is_not_reached),
        cmocka_unit_test(readings__that_are_lost_are_tested_by_their_signs),
        cmocka_unit_test(part__is_fiellers_and_never_below_nothing),
        cmocka_unit_test(part__holds_the_true_ratio),
        cmocka_unit_test(seen__is_shown_with_its_power),
        cmocka_unit_test(seen__is_told_from_the_interval),
        cmocka_unit_test(holm__steps_down),
        cmocka_unit_test(t__covers_a_known_difference),
        cmocka_unit_test(drawn__is_students_t_over_blocks),
        cmocka_unit_test(drawn__says_nothing_of_one_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
