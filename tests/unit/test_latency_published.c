/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The preset kai-500 against KAI's published scale figures: 500 nodes of 8 GPUs, 2026-07-03. Its
 * four figures are fitted here on the rows marked so and must be those of the preset, to the ms;
 * the other rows are predictions. tests/timeline runs some of the same rows whole. */
#include "test_main.h"

#include <math.h>

#include <orrery/sim/latency.h>

enum { CYCLES, PLACED, EVICTED, SEARCHES, TERMS };

/* What has to happen one after the other until the last pod runs: a job that has room made for it
 * takes two cycles, one to evict and one to start. */
static const struct row {
    const char *name;
    double counts[TERMS], seconds;
    bool fitted;
} rows[] = {
    {"fill with 4000 single-GPU jobs", {1, 4000, 0, 0}, 397.771, true},
    {"NCCL bursts, 45,990 pods", {1, 45990, 0, 0}, 5098.692, true},
    {"reclaim for one GPU, 4000 running", {2, 1, 1, 0}, 13.928, true},
    {"reclaim, 250 pods, 2000 victims", {2, 250, 2000, 1}, 102, true},
    {"reclaim by 50 jobs of 10 pods", {2, 500, 4000, 50}, 716.874, true},
    {"one job of 512 pods, topology", {1, 512, 0, 0}, 48.723, false},
    {"one job of 512 pods", {1, 512, 0, 0}, 49.427, false},
    {"fill, scheduler running", {2, 4000, 0, 0}, 460.528, false},
    {"fill, 400 unschedulable pods beside", {1, 4000, 0, 0}, 398.070, false},
    {"reclaim, 500 pods, 500 victims of 8 GPUs", {2, 500, 500, 1}, 85, false},
    {"reclaim by 4000 single-GPU jobs", {2, 4000, 4000, 0}, 694.491, false},
    /* how many pods moved is not published: one for each that came is assumed */
    {"consolidation for 41 jobs of 10 pods", {2, 820, 410, 41}, 455.680, false},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* Least squares of the relative error: linear in the figures. Gauss with pivots. */
static void fit(double figures[TERMS])
{
    double m[TERMS][TERMS + 1] = {{0}};
    for (size_t r = 0; r < ROWS; r++) {
        for (int i = 0; i < TERMS && rows[r].fitted; i++) {
            double x = rows[r].counts[i] / rows[r].seconds;
            for (int j = 0; j < TERMS; j++) {
                m[i][j] += x * rows[r].counts[j] / rows[r].seconds;
            }
            m[i][TERMS] += x;
        }
    }
    for (int i = 0; i < TERMS; i++) {
        for (int other = 0; other < TERMS; other++) { /* positive definite: no pivoting */
            double factor = other == i ? 0.0 : m[other][i] / m[i][i];
            for (int j = 0; j <= TERMS; j++) {
                m[other][j] -= factor * m[i][j];
            }
        }
    }
    for (int i = 0; i < TERMS; i++) {
        figures[i] = m[i][TERMS] / m[i][i];
    }
}

static void published__the_preset_is_the_fit(void **state)
{
    (void)state;
    double figures[TERMS];
    fit(figures);
    const struct orr_latency *preset = orr_latency_find("kai-500");
    assert_non_null(preset);
    assert_int_equal(preset->per_cycle_ms, lround(1000.0 * figures[CYCLES]));
    assert_int_equal(preset->per_placement_ms, lround(1000.0 * figures[PLACED]));
    assert_int_equal(preset->per_eviction_ms, lround(1000.0 * figures[EVICTED]));
    assert_int_equal(preset->per_search_ms, lround(1000.0 * figures[SEARCHES]));
    assert_int_equal(preset->bind_ms, 0);
    assert_int_equal(preset->per_pending_ms, 0);
}

static void published__other_rows_are_predicted_within_a_quarter(void **state)
{
    (void)state;
    const struct orr_latency *p = orr_latency_find("kai-500");
    for (size_t r = 0; r < ROWS; r++) {
        const double *counts = rows[r].counts;
        double ms = counts[CYCLES] * (double)p->per_cycle_ms +
                    counts[PLACED] * (double)p->per_placement_ms +
                    counts[EVICTED] * (double)p->per_eviction_ms +
                    counts[SEARCHES] * (double)p->per_search_ms;
        double error = ms / 1000.0 / rows[r].seconds - 1.0;
        print_message("%-42s %8.1f s, published %8.1f s, %+5.1f %%%s\n", rows[r].name, ms / 1000.0,
                      rows[r].seconds, 100.0 * error, rows[r].fitted ? " (fitted)" : "");
        assert_true(fabs(error) <= (rows[r].fitted ? 0.10 : 0.25));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published__the_preset_is_the_fit),
        cmocka_unit_test(published__other_rows_are_predicted_within_a_quarter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
