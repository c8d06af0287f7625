/* SPDX-License-Identifier: GPL-3.0-or-later */
/* windows.c - intervals from one long trace: its submits cut into blocks of equal length, which are
 * drawn again and again with replacement (block bootstrap, Carlstein 1986). Jobs of a block stay
 * together, because what one waits depends on its neighbours; both arms draw the same blocks. */
#include "compare_int.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/rng.h>
#include <orrery/base/sort.h>

#define REPLICATES 1000
#define BLOCKS_MIN 5

struct sample { /* of one job */
    double value;
    uint32_t block;
};

struct samples { /* sorted by value */
    struct sample *items;
    uint32_t count;
};

/* What can be drawn again: a value a job, and how it is summed up. */
static const struct {
    const char *metric, *value;
    double quantile; /* 0: mean */
} statistics[] = {
    {"wait_mean_s", "(start_ms - submit_ms) / 1000.0", 0},
    {"wait_p50_s", "(start_ms - submit_ms) / 1000.0", 0.50},
    {"wait_p95_s", "(start_ms - submit_ms) / 1000.0", 0.95},
    {"wait_p99_s", "(start_ms - submit_ms) / 1000.0", 0.99},
    {"jct_mean_s", "(end_ms - submit_ms) / 1000.0", 0},
    {"bsld_mean", "max(1.0, (end_ms - submit_ms) * 1.0 / max(work_ms, 10000))", 0},
};

static int by_value(const void *a, const void *b, void *context)
{
    const double x = ((const struct sample *)a)->value, y = ((const struct sample *)b)->value;
    (void)context;
    return (x > y) - (x < y);
}

/* A job's block, or none outside the window that all runs share. */
static struct samples read_samples(struct orr_results *in, const char *value, orr_ms from_ms,
                                   orr_ms length_ms, uint32_t blocks)
{
    struct samples samples = {0};
    uint32_t capacity = 0;
    char sql[300];
    (void)snprintf(sql, sizeof sql,
                   "SELECT submit_ms, %s FROM job WHERE state > 0"
                   " AND kind NOT IN (SELECT id FROM kind WHERE name = 'inference')",
                   value);
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    while (orr_results_step(in, row)) {
        const orr_ms submit = sqlite3_column_int64(row, 0);
        const orr_ms block = submit < from_ms ? -1 : (submit - from_ms) / length_ms;
        if (block < 0 || block >= blocks || sqlite3_column_type(row, 1) == SQLITE_NULL) {
            continue;
        }
        samples.items = ORR_ROOM_FOR_ONE(samples.items, samples.count, capacity);
        samples.items[samples.count++] =
            (struct sample){sqlite3_column_double(row, 1), (uint32_t)block};
    }
    orr_sort(samples.items, samples.count, sizeof *samples.items, by_value, NULL);
    return samples;
}

/* The statistic when block b is drawn times[b] times. */
static double evaluate(const struct samples *samples, const uint32_t *times, double quantile)
{
    uint64_t n = 0, seen = 0;
    double sum = 0;
    for (uint32_t i = 0; i < samples->count; i++) {
        n += times[samples->items[i].block];
        sum += samples->items[i].value * times[samples->items[i].block];
    }
    if (n == 0) {
        return (double)NAN;
    }
    if (quantile <= 0) {
        return sum / (double)n;
    }
    const double rank = ceil(quantile * (double)n);
    for (uint32_t i = 0; i < samples->count; i++) {
        seen += times[samples->items[i].block];
        if ((double)seen >= rank) {
            return samples->items[i].value;
        }
    }
    return (double)NAN;
}

struct cut { /* what all runs are cut into */
    orr_ms from_ms, length_ms;
    uint32_t blocks;
};

static void bootstrap(const struct samples *base, const struct samples *other,
                      const struct cut *cut, double quantile, double level,
                      struct orr_paired *paired)
{
    uint32_t *times = orr_alloc(cut->blocks, sizeof *times);
    double *replicates = orr_alloc(REPLICATES, sizeof *replicates);
    for (uint32_t b = 0; b < cut->blocks; b++) {
        times[b] = 1;
    }
    paired->base_mean = evaluate(base, times, quantile);
    paired->other_mean = evaluate(other, times, quantile);
    paired->difference = paired->other_mean - paired->base_mean;
    paired->n = cut->blocks;
    for (uint32_t r = 0; r < REPLICATES; r++) {
        struct orr_rng rng = orr_rng_stream(1, "compare.windows", r);
        memset(times, 0, cut->blocks * sizeof *times);
        for (uint32_t b = 0; b < cut->blocks; b++) {
            times[orr_rng_below(&rng, cut->blocks)]++;
        }
        replicates[r] = evaluate(other, times, quantile) - evaluate(base, times, quantile);
    }
    orr_paired_percentiles(replicates, REPLICATES, level, paired);
    orr_free(replicates);
    orr_free(times);
}

static const struct orr_compare_run *run_of(const struct orr_compare_load *load, uint32_t arm)
{
    for (uint32_t r = 0; r < load->run_count; r++) {
        if (load->runs[r].arm == arm) {
            return &load->runs[r];
        }
    }
    return NULL;
}

/* One statistic of all arms. */
static enum orr_status compare_metric(struct orr_compare_load *load, const struct cut *cut,
                                      uint32_t metric, size_t statistic)
{
    struct orr_comparison *comparison = load->comparison;
    struct samples *samples = orr_zalloc(comparison->arm_count, sizeof *samples);
    enum orr_status status = ORR_OK;
    for (uint32_t a = 0; a < comparison->arm_count && status == ORR_OK; a++) {
        struct orr_results in;
        orr_results_open(&in, run_of(load, a)->path, load->err);
        samples[a] = read_samples(&in, statistics[statistic].value, cut->from_ms, cut->length_ms,
                                  cut->blocks);
        status = in.status;
        orr_results_close(&in);
    }
    for (uint32_t a = 1; a < comparison->arm_count && status == ORR_OK; a++) {
        bootstrap(&samples[0], &samples[a], cut, statistics[statistic].quantile, comparison->level,
                  &comparison->cells[(size_t)metric * comparison->arm_count + a]);
    }
    for (uint32_t a = 0; a < comparison->arm_count; a++) {
        orr_free(samples[a].items);
    }
    orr_free(samples);
    return status;
}

static enum orr_status cut_window(const struct orr_compare_load *load, struct cut *cut)
{
    orr_ms from = INT64_MIN, to = INT64_MAX;
    for (uint32_t r = 0; r < load->run_count; r++) { /* the latest warm-up of any */
        const struct orr_compare_run *run = &load->runs[r];
        from = run->window_start_ms > from ? run->window_start_ms : from;
        to = run->window_end_ms < to ? run->window_end_ms : to;
    }
    const orr_ms length = load->options->window_ms;
    const orr_ms blocks = to > from ? (to - from + length - 1) / length : 0;
    if (blocks < BLOCKS_MIN || blocks > 100000) {
        return orr_fail(load->err, ORR_USAGE,
                        "--windows: %lld blocks in the part all runs share; between %d and 100000 "
                        "are needed",
                        (long long)blocks, BLOCKS_MIN);
    }
    *cut = (struct cut){from, length, (uint32_t)blocks};
    return ORR_OK;
}

enum orr_status orr_compare__windows(struct orr_compare_load *load)
{
    struct orr_comparison *comparison = load->comparison;
    struct cut cut = {0};
    if (load->run_count != comparison->arm_count) {
        return orr_fail(load->err, ORR_USAGE,
                        "--windows is for one run of each setting; these have several seeds, which "
                        "give intervals by themselves");
    }
    if (load->options->scope != NULL && strcmp(load->options->scope, "all") != 0) {
        return orr_fail(load->err, ORR_USAGE, "--windows compares scope all only");
    }
    enum orr_status status = cut_window(load, &cut);
    comparison->blocks = status == ORR_OK ? cut.blocks : 0;
    for (uint32_t m = 0; m < comparison->metric_count && status == ORR_OK; m++) {
        for (size_t s = 0; s < sizeof statistics / sizeof statistics[0]; s++) {
            if (status == ORR_OK &&
                strcmp(statistics[s].metric, comparison->metrics[m].name) == 0) {
                status = compare_metric(load, &cut, m, s);
            }
        }
    }
    return status;
}
