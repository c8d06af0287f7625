/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Usage history: closed forms against a sum over every sample, windows, and KAI's handover series.
 */
#include "test_main.h"
#include "usage_handover.h"

#include <math.h>
#include <string.h>

#include <orrery/core/usage.h>

#define GPU  ORR_SHARE_GPU
#define SPAN 4000 /* samples of a random history */

static uint64_t roll(uint64_t *seed, uint64_t sides)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % sides;
}

struct brute { /* the value at each sample, by its number */
    double value[SPAN], capacity[SPAN];
};

static double brute_usage(const struct brute *b, const struct orr_usage_params *p, orr_ms at)
{
    double used = 0, whole = 0;
    for (int64_t i = 0; i < SPAN; i++) {
        orr_ms t = i * p->resolution_ms;
        if (t >= orr_usage_window_start(p, at) && t < at) {
            double w =
                p->half_life_ms > 0 ? pow(0.5, (double)(at - t) / (double)p->half_life_ms) : 1;
            used += b->value[i] * w;
            whole += b->capacity[i] * w;
        }
    }
    return whole > 0 ? used / whole : 0;
}

static void change(double *series, const struct orr_usage_params *p, orr_ms at, double value)
{
    for (int64_t i = 0; i < SPAN; i++) {
        if (i * p->resolution_ms >= at) {
            series[i] = value;
        }
    }
}

static void compare_with_brute_force(uint64_t seed, struct orr_usage_params p)
{
    static struct brute b;
    struct orr_usage usage;
    memset(&b, 0, sizeof b);
    orr_usage_init(&usage, &p, 1);
    orr_ms now = 0;
    change(b.capacity, &p, now, 16);
    orr_usage_set_capacity(&usage, now, (double[]){0, 0, 16});
    while (now / p.resolution_ms < SPAN - 200) {
        now += (orr_ms)roll(&seed, roll(&seed, 10) == 0 ? 150000 : 2500);
        if (roll(&seed, 3) > 0) {
            double value = roll(&seed, 3) == 0 ? 0 : (double)roll(&seed, 65) / 4;
            change(b.value, &p, now, value);
            orr_usage_set_allocated(&usage, now, 0, (double[]){0, 0, value});
        } else if (roll(&seed, 20) == 0) {
            double value = (double)roll(&seed, 32);
            change(b.capacity, &p, now, value);
            orr_usage_set_capacity(&usage, now, (double[]){0, 0, value});
        }
        if (roll(&seed, 4) == 0) {
            double want = brute_usage(&b, &p, now), got = orr_usage_at(&usage, now, 0, GPU);
            if (fabs(want - got) > 1e-11 || (want == 0 && got != 0)) {
                fail_msg("at %lld: %.17g instead of %.17g", (long long)now, got, want);
            }
            assert_true(orr_usage_at(&usage, now, 0, ORR_SHARE_CPU) == 0);
        }
    }
    orr_usage_release(&usage);
}

static void usage__equals_the_sum_over_samples(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        for (unsigned window = 0; window < 2; window++) {
            struct orr_usage_params p = {.window = (enum orr_usage_window)window,
                                         .window_ms = 300000 + (orr_ms)seed * 7001,
                                         .start_ms = 55500,
                                         .half_life_ms = seed % 2 == 0 ? 0 : 90000 * (orr_ms)seed,
                                         .resolution_ms = 1000,
                                         .fetch_ms = 60000};
            compare_with_brute_force(seed * 2 + window, p);
        }
    }
}

static void usage__equals_the_sum_over_samples_with_cron(void **state)
{
    (void)state;
    struct orr_usage_params p = {.window = ORR_USAGE_CRON,
                                 .epoch_ms = 1700000000123,
                                 .half_life_ms = 600000,
                                 .resolution_ms = 1000,
                                 .fetch_ms = 60000};
    assert_int_equal(orr_cron_parse(&p.cron, "*/7 * * * *", NULL), ORR_OK);
    compare_with_brute_force(5, p);
}

static void usage__tumbling_boundary_counts_for_the_window_before(void **state)
{
    (void)state;
    struct orr_usage_params p = {.window = ORR_USAGE_TUMBLING, .window_ms = 100, .start_ms = 1000};
    assert_int_equal(orr_usage_window_start(&p, 900), 900);
    assert_int_equal(orr_usage_window_start(&p, 1000), 1000);
    assert_int_equal(orr_usage_window_start(&p, 1001), 1000);
    assert_int_equal(orr_usage_window_start(&p, 1100), 1000);
    assert_int_equal(orr_usage_window_start(&p, 1101), 1100);
}

/* 2024-02-29 was a Thursday; 1709164800 is its midnight. */
static void cron__finds_the_minute_before(void **state)
{
    (void)state;
    const orr_ms leap = (orr_ms)1709164800 * 1000, day = 24 * 3600 * 1000, hour = 3600 * 1000;
    const struct {
        const char *line;
        orr_ms at, want;
    } rows[] = {
        {"0 0 * * *", leap, leap - day},
        {"0 0 * * *", leap + 1, leap},
        {"30 2 * * *", leap + 2 * hour, leap - day + 2 * hour + 1800000},
        {"0 0 29 2 *", leap + 365 * day, leap},
        {"0 0 29 2 *", leap, leap - (orr_ms)1461 * day},
        {"@weekly", leap, leap - 4 * day},
        {"0 0 * * mon-Wed", leap, leap - day},
        {"0 0 1 * MON", leap, leap - 3 * day},
        {"0 0 1 * *", leap, leap - 28 * day},
        {"15,45 8-18/2 * JAN ?", leap, leap - 29 * day + 18 * hour + 45 * 60000},
        {"5/20 * * * *", leap, leap - hour + 45 * 60000},
        {"0 0 31 2 *", leap, ORR_MS_NONE},
        {"0 0 * * *", -1, -day},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct orr_cron cron;
        assert_int_equal(orr_cron_parse(&cron, rows[i].line, NULL), ORR_OK);
        if (orr_cron_before(&cron, rows[i].at) != rows[i].want) {
            fail_msg("\"%s\": %lld instead of %lld", rows[i].line,
                     (long long)orr_cron_before(&cron, rows[i].at), (long long)rows[i].want);
        }
    }
}

static void cron__refuses_nonsense(void **state)
{
    (void)state;
    const char *lines[] = {"",
                           "* * * *",
                           "* * * * * *",
                           "60 * * * *",
                           "* 24 * * *",
                           "* * 0 * *",
                           "* * * 13 *",
                           "* * * * 7",
                           "5-2 * * * *",
                           "*/0 * * * *",
                           "1,,2 * * * *",
                           "a * * * *",
                           "* * * FOO *",
                           "1- * * * *",
                           "+1 * * * *",
                           "@often",
                           "*/99999999999999999999 * * * *"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct orr_cron cron;
        struct orr_err err = {0};
        if (orr_cron_parse(&cron, lines[i], &err) != ORR_SCENARIO || err.text[0] == '\0') {
            fail_msg("\"%s\" was accepted", lines[i]);
        }
    }
}

static void usage__refresh_reads_on_the_fetch_grid(void **state)
{
    (void)state;
    struct orr_usage_params p = orr_usage_defaults();
    struct orr_usage usage;
    struct orr_share_tree tree;
    struct orr_share_queue queues[1] = {{.parent = ORR_NONE}};
    orr_share_tree_init(&tree);
    orr_share_tree_build(&tree, queues, 1);
    orr_share_divide(&tree, queues, (double[]){0, 0, 0}, 1);
    orr_usage_init(&usage, &p, 1);
    orr_usage_set_capacity(&usage, 0, (double[]){0, 0, 4});
    orr_usage_set_allocated(&usage, 0, 0, (double[]){0, 0, 2});
    assert_false(orr_usage_refresh(&usage, 0, &tree, queues));
    assert_false(orr_usage_refresh(&usage, 59999, &tree, queues));
    orr_usage_set_allocated(&usage, 60000, 0, (double[]){0, 0, 0});
    assert_true(orr_usage_refresh(&usage, 75000, &tree, queues));
    assert_true(queues[0].resource[GPU].usage == .5);
    assert_int_equal(tree.sets[0].stale, 1u << GPU);
    assert_false(orr_usage_refresh(&usage, 119000, &tree, queues));
    /* A change after the grid point must not be seen by a reading made late. */
    orr_usage_set_allocated(&usage, 190000, 0, (double[]){0, 0, 4});
    assert_true(orr_usage_refresh(&usage, 239000, &tree, queues));
    assert_true(fabs(queues[0].resource[GPU].usage - 1.0 / 6) < 1e-15);
    orr_usage_release(&usage);
    orr_share_tree_release(&tree);
}

/* KAI's two-queue example: 16 GPUs, 16-GPU jobs without end, one sample a session, window 256,
 * half-life 128, k 1. Who holds the cluster when is given; fair shares must follow. */
static void usage__gives_the_fair_shares_of_the_handover_series(void **state)
{
    (void)state;
    struct orr_usage_params p = {
        .window_ms = 256, .half_life_ms = 128, .resolution_ms = 1, .fetch_ms = 1};
    struct orr_usage usage;
    struct orr_share_tree tree;
    struct orr_share_queue queues[2];
    for (uint32_t q = 0; q < 2; q++) {
        queues[q] = (struct orr_share_queue){.parent = ORR_NONE, .name_rank = q};
        queues[q].resource[GPU] =
            (struct orr_share_resource){.limit = -1, .weight = 1, .request = 1600};
    }
    orr_share_tree_init(&tree);
    orr_share_tree_build(&tree, queues, 2);
    orr_usage_init(&usage, &p, 2);
    orr_usage_set_capacity(&usage, 0, (double[]){0, 0, 16});
    uint32_t holder = 0;
    size_t row = 0, point = 0;
    for (int t = 0; t < 512; t++) {
        (void)orr_usage_refresh(&usage, t, &tree, queues);
        (void)orr_share_redivide(&tree, queues, (double[]){0, 0, 16}, 1);
        row += row + 1 < sizeof handover_shares / sizeof handover_shares[0] &&
               handover_shares[row + 1][0] == t;
        for (uint32_t q = 0; q < 2; q++) {
            if (queues[q].resource[GPU].fair_share != handover_shares[row][1 + q]) {
                fail_msg("session %d, queue %u: %g instead of %d", t, q,
                         queues[q].resource[GPU].fair_share, handover_shares[row][1 + q]);
            }
        }
        if (point < sizeof handover_usage / sizeof handover_usage[0] &&
            handover_usage[point].at == t) {
            assert_true(fabs(queues[0].resource[GPU].usage - handover_usage[point++].usage) <
                        5.1e-7);
        }
        /* The cluster goes to whoever's fair share covers a whole job. */
        holder = t == 0                                              ? 0
                 : queues[1 - holder].resource[GPU].fair_share == 16 ? 1 - holder
                                                                     : holder;
        for (uint32_t q = 0; q < 2; q++) {
            orr_usage_set_allocated(&usage, t, q, (double[]){0, 0, q == holder ? 16 : 0});
        }
    }
    assert_int_equal(row + 1, sizeof handover_shares / sizeof handover_shares[0]);
    orr_usage_release(&usage);
    orr_share_tree_release(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage__equals_the_sum_over_samples),
        cmocka_unit_test(usage__equals_the_sum_over_samples_with_cron),
        cmocka_unit_test(usage__tumbling_boundary_counts_for_the_window_before),
        cmocka_unit_test(cron__finds_the_minute_before),
        cmocka_unit_test(cron__refuses_nonsense),
        cmocka_unit_test(usage__refresh_reads_on_the_fetch_grid),
        cmocka_unit_test(usage__gives_the_fair_shares_of_the_handover_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
