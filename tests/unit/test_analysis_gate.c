/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gate's verdicts: by hand, and over trials of a known regression and of none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <orrery/analysis/gate.h>
#include <orrery/base/sort.h>

#include "queue_model.h"

static enum orr_verdict_kind judge(const char *metric, double margin, bool relative, bool fixed,
                                   struct orr_paired paired)
{
    const struct orr_gate_rule rule = {.name = "rule",
                                       .metric = metric,
                                       .scope = "all",
                                       .label = "",
                                       .margin = margin,
                                       .relative = relative};
    struct orr_gate_result result;
    orr_gate_judge(&rule, "s", orr_metric_better(metric), &paired, fixed, &result);
    assert_true(strlen(result.text) > 0);
    return result.verdict;
}

static struct orr_paired differs(double difference, double low, double high)
{
    return (struct orr_paired){.n = 20,
                               .base_mean = 100,
                               .other_mean = 100 + difference,
                               .difference = difference,
                               .low = low,
                               .high = high,
                               .p = low > 0 || high < 0 ? 0.001 : 0.2};
}

static void verdicts__are_those_of_non_inferiority(void **state)
{
    (void)state;
    assert_int_equal(judge("wait_p95_s", 2, false, false, differs(1, 0.5, 1.9)), ORR_GATE_PASS);
    assert_int_equal(judge("wait_p95_s", 2, false, false, differs(-9, -12, -6)), ORR_GATE_PASS);
    assert_int_equal(judge("wait_p95_s", 2, false, false, differs(5, 1, 9)), ORR_GATE_REGRESSED);
    assert_int_equal(judge("wait_p95_s", 2, false, false, differs(5, -1, 11)),
                     ORR_GATE_INCONCLUSIVE);
    assert_int_equal(judge("wait_p95_s", 2, false, false, differs(1, 0.5, 2.5)),
                     ORR_GATE_INCONCLUSIVE);
    /* more of it is better: the worsening is the loss */
    assert_int_equal(judge("gpu_goodput", 0.02, true, false, differs(-5, -6, -4)),
                     ORR_GATE_REGRESSED);
    assert_int_equal(judge("gpu_goodput", 0.02, true, false, differs(5, 4, 6)), ORR_GATE_PASS);
    /* a margin of 2 % of 100 */
    assert_int_equal(judge("wait_p95_s", 0.02, true, true, differs(1.9, (double)NAN, (double)NAN)),
                     ORR_GATE_PASS);
    assert_int_equal(judge("wait_p95_s", 0.02, true, true, differs(2.1, (double)NAN, (double)NAN)),
                     ORR_GATE_REGRESSED);
    /* nothing known is no pass */
    assert_int_equal(judge("wait_p95_s", 2, false, false, differs(1, (double)NAN, (double)NAN)),
                     ORR_GATE_INCONCLUSIVE);
    assert_int_equal(
        judge("wait_p95_s", 2, false, true,
              (struct orr_paired){.difference = (double)NAN, .base_mean = (double)NAN}),
        ORR_GATE_INCONCLUSIVE);
}

/* A quantile that is not reached any more is beyond any margin, however good the other pairs are.
 */
static void verdicts__take_what_is_not_reached_for_the_worst(void **state)
{
    struct orr_paired p = differs(-9, -12, -6);
    (void)state;
    p.lost = 1;
    assert_int_equal(judge("wait_p95_s", 2, false, false, p), ORR_GATE_REGRESSED);
    assert_int_equal(judge("wait_p95_s", 2, false, true, p), ORR_GATE_REGRESSED);
    p.found = 1; /* as often for the first time */
    assert_int_equal(judge("wait_p95_s", 2, false, false, p), ORR_GATE_INCONCLUSIVE);
    p.lost = 0;
    assert_int_equal(judge("wait_p95_s", 2, false, false, p), ORR_GATE_PASS);
    p = (struct orr_paired){.lost = 3, .difference = (double)NAN, .low = (double)NAN};
    assert_int_equal(judge("wait_p95_s", 2, false, false, p), ORR_GATE_REGRESSED);
    p = (struct orr_paired){.found = 3, .difference = (double)NAN, .low = (double)NAN};
    assert_int_equal(judge("wait_p95_s", 2, false, false, p), ORR_GATE_PASS);
    p = (struct orr_paired){.neither = 3, .difference = (double)NAN, .low = (double)NAN};
    assert_int_equal(judge("wait_p95_s", 2, false, false, p), ORR_GATE_INCONCLUSIVE);
    /* jobs that never can start hang on no chance: one more is one too many */
    assert_int_equal(judge("never_startable", 0, false, false, differs(0.05, -0.1, 0.2)),
                     ORR_GATE_REGRESSED);
    assert_int_equal(judge("never_startable", 0, false, false, differs(0, 0, 0)), ORR_GATE_PASS);
}

/* What the comparison calls neither better nor worse is judged where the rule says which. */
static void verdicts__need_to_know_what_is_better(void **state)
{
    struct orr_gate_rule rule = {
        .name = "rule", .metric = "gpu_occupancy", .scope = "all", .label = "", .margin = 2};
    const struct orr_paired less = differs(-5, -6, -4);
    struct orr_gate_result result;
    (void)state;
    orr_gate_judge(&rule, "1", ORR_BETTER_NEITHER, &less, true, &result);
    assert_int_equal(result.verdict, ORR_GATE_INCONCLUSIVE);
    assert_non_null(strstr(result.text, "100 to 95: -5 (-5 %); it is a part of the capacity"));
    rule.better = ORR_BETTER_MORE;
    orr_gate_judge(&rule, "1", ORR_BETTER_NEITHER, &less, true, &result);
    assert_int_equal(result.verdict, ORR_GATE_REGRESSED);
    rule.better = ORR_BETTER_LESS;
    orr_gate_judge(&rule, "1", ORR_BETTER_NEITHER, &less, true, &result);
    assert_int_equal(result.verdict, ORR_GATE_PASS);
}

static void verdicts__add_up_to_the_worst(void **state)
{
    struct orr_gate_result results[3] = {{.verdict = ORR_GATE_PASS},
                                         {.verdict = ORR_GATE_INCONCLUSIVE},
                                         {.verdict = ORR_GATE_REGRESSED}};
    (void)state;
    assert_int_equal(orr_gate_all(results, 1), ORR_GATE_PASS);
    assert_int_equal(orr_gate_all(results, 2), ORR_GATE_INCONCLUSIVE);
    assert_int_equal(orr_gate_all(results, 3), ORR_GATE_REGRESSED);
}

enum { REPLICAS = 20, CUSTOMERS = 1000 };

static int by_value(const void *a, const void *b, void *context)
{
    const double x = *(const double *)a, y = *(const double *)b;
    (void)context;
    return (x > y) - (x < y);
}

static double p95(uint64_t seed, double lambda, double mu, int swap)
{
    static double waits[CUSTOMERS];
    model_waits(seed, lambda, mu, swap, CUSTOMERS, waits);
    orr_sort(waits, CUSTOMERS, sizeof *waits, by_value, NULL);
    return waits[CUSTOMERS * 95 / 100 - 1];
}

static void count_verdicts(uint64_t trials, double before, double after, int swap,
                           uint32_t counts[3])
{
    const double lambda = 0.5;
    for (uint64_t trial = 0; trial < trials; trial++) {
        double base[REPLICAS], other[REPLICAS];
        for (uint64_t r = 0; r < REPLICAS; r++) {
            base[r] = p95(trial * REPLICAS + r, lambda, before, 0);
            other[r] = p95(trial * REPLICAS + r, lambda, after, swap);
        }
        counts[judge("wait_p95_s", 0.02, true, false, orr_paired_t(base, other, REPLICAS, 0.95))]++;
    }
}

/* The service rate at which the 95 % quantile of waits is `factor` times as long. */
static double slower(double lambda, double mu, double factor)
{
    const double wanted = factor * log(lambda / mu / 0.05) / (mu - lambda);
    double low = lambda, high = mu;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        if (log(lambda / middle / 0.05) / (middle - lambda) > wanted) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

static void a_regression_of_5_percent__is_caught(void **state)
{
    const uint32_t trials = *(const uint32_t *)*state;
    uint32_t counts[3] = {0};
    count_verdicts(trials, 1, slower(0.5, 1, 1.05), 0, counts);
    print_message("5 %% worse: %u pass, %u regressed, %u inconclusive\n", counts[ORR_GATE_PASS],
                  counts[ORR_GATE_REGRESSED], counts[ORR_GATE_INCONCLUSIVE]);
    assert_true(counts[ORR_GATE_REGRESSED] >= trials * 95 / 100);
    assert_true(counts[ORR_GATE_INCONCLUSIVE] <= trials * 5 / 100);
}

/* 11.6 min and 11.6 min would not say where one more second is. */
static void texts__show_both_sides_apart(void **state)
{
    const struct orr_gate_rule rule = {
        .name = "wait_p95_s", .metric = "wait_p95_s", .label = "", .margin = 5};
    const double base[] = {696}, other[] = {697}, hours[] = {41760}, later[] = {44616};
    struct orr_gate_result result;
    (void)state;
    const struct orr_paired second = orr_paired_t(base, other, 1, 0.95);
    orr_gate_judge(&rule, "s", ORR_BETTER_LESS, &second, true, &result);
    assert_non_null(strstr(result.text, "wait_p95_s 696 s to 697 s: +1 s"));
    const struct orr_paired more = orr_paired_t(hours, later, 1, 0.95);
    orr_gate_judge(&rule, "s", ORR_BETTER_LESS, &more, true, &result);
    assert_non_null(strstr(result.text, "wait_p95_s 11.6 h to 12.4 h: +47.6 min"));
    const struct orr_paired same = orr_paired_t(hours, hours, 1, 0.95);
    orr_gate_judge(&rule, "s", ORR_BETTER_LESS, &same, true, &result);
    assert_non_null(strstr(result.text, "wait_p95_s 11.6 h to 11.6 h: 0 s"));
}

/* By the rule (p < 0.01 on both sides together) one in 200 does, in the long run. */
static void an_edit_without_effect__does_not_fail(void **state)
{
    const uint32_t trials = *(const uint32_t *)*state;
    uint32_t counts[3] = {0};
    count_verdicts(trials, 1, 1, 1, counts);
    print_message("no change: %u pass, %u regressed, %u inconclusive\n", counts[ORR_GATE_PASS],
                  counts[ORR_GATE_REGRESSED], counts[ORR_GATE_INCONCLUSIVE]);
    assert_true(counts[ORR_GATE_REGRESSED] <= trials / 100);
}

/* Some seeds of a trial lose the quantile, the others get better: never pass, never inconclusive.
 */
static void a_quantile_that_is_lost__is_never_called_better(void **state)
{
    const uint32_t losses = *(const uint32_t *)*state;
    for (uint64_t trial = 0; trial < losses; trial++) {
        struct orr_reading base[REPLICAS], other[REPLICAS];
        for (uint64_t r = 0; r < REPLICAS; r++) {
            base[r] = (struct orr_reading){p95(trial * REPLICAS + r, 0.5, 1, 0), (double)NAN};
            other[r] = (struct orr_reading){p95(trial * REPLICAS + r, 0.5, 1.2, 0), (double)NAN};
        }
        for (uint64_t r = 0; r <= trial % REPLICAS; r++) {
            other[(trial + r) % REPLICAS] = (struct orr_reading){(double)INFINITY, 1};
        }
        assert_int_equal(judge("wait_p95_s", 0.02, true, false,
                               orr_paired_readings(base, other, REPLICAS, 0.95)),
                         ORR_GATE_REGRESSED);
    }
}

/* test_analysis_gate [TRIALS]; without an effect five times as many */
int main(int argc, char **argv)
{
    uint32_t trials = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20;
    uint32_t trials_without = 5 * trials;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts__are_those_of_non_inferiority),
        cmocka_unit_test(verdicts__take_what_is_not_reached_for_the_worst),
        cmocka_unit_test(verdicts__need_to_know_what_is_better),
        cmocka_unit_test(verdicts__add_up_to_the_worst),
        cmocka_unit_test(texts__show_both_sides_apart),
        cmocka_unit_test_prestate(a_quantile_that_is_lost__is_never_called_better, &trials),
        cmocka_unit_test_prestate(a_regression_of_5_percent__is_caught, &trials),
        cmocka_unit_test_prestate(an_edit_without_effect__does_not_fail, &trials_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
