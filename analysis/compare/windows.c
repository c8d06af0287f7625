/* SPDX-License-Identifier: GPL-3.0-or-later */
/* windows.c - intervals from one long trace: its submits cut into blocks of equal length, which are
 * drawn again and again with replacement (block bootstrap, Carlstein 1986). Jobs of a block stay
 * together, because what one waits depends on its neighbours; both arms draw the same blocks. The
 * spread of what is drawn is the standard error of Student's t, with as many degrees of freedom as
 * there are blocks but one: percentiles of draws of few blocks would be too close together. Jobs
 * that did not start wait at least that long: quantiles are Kaplan-Meier's, means are of those that
 * ended, and jobs that never could have started are left out, as everywhere. */
#include "compare_int.h"
#include "compare_sql.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/rng.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/base/units.h>

#define REPLICATES    1000
#define BLOCKS_MIN    5
#define BLOCKS_ENOUGH 10
#define BLOCKS_MOST   100000

struct sample { /* of one job */
    double value;
    uint32_t block;
    uint32_t group; /* of the comparison's labels */
    bool censored;  /* it was at least that much when the run ended, or the job left */
};

struct samples { /* sorted by value, at one value those that are censored last */
    struct sample *items;
    uint32_t count;
};

/* What can be drawn again: a query of a value a job, and how it is summed up. */
static const struct {
    const char *metric, *sql;
    uint32_t percent; /* of a quantile; 0: mean */
} statistics[] = {
    {"wait_mean_s", orr_compare_sql__waits, 0}, {"wait_p50_s", orr_compare_sql__waits, 50},
    {"wait_p95_s", orr_compare_sql__waits, 95}, {"wait_p99_s", orr_compare_sql__waits, 99},
    {"jct_mean_s", orr_compare_sql__times, 0},  {"bsld_mean", orr_compare_sql__slowdowns, 0},
};

static int by_value(const void *a, const void *b, void *context)
{
    const struct sample *x = a, *y = b;
    (void)context;
    if (x->value < y->value || x->value > y->value) {
        return x->value < y->value ? -1 : 1;
    }
    return (int)x->censored - (int)y->censored;
}

/* The labels that rows of the comparison have; all of it has one, "". */
struct groups {
    const char *scope;
    struct orr_idmap labels;
};

/* "gpus=3-4", "gpus=>1024": classes go from beyond the number below the first to the last;
 * "gpus=0" is 0 alone. */
static bool is_of_size(const char *label, double gpus)
{
    const char *size = strchr(label, '=');
    const char *dash = size != NULL ? strchr(size, '-') : NULL;
    int64_t first = 0, last = 0;
    if (size == NULL) {
        return false;
    }
    if (size[1] == '>') {
        return orr_parse_i64(size + 2, strlen(size + 2), &first) && gpus > (double)first;
    }
    const size_t bytes = dash != NULL ? (size_t)(dash - size) - 1 : strlen(size + 1);
    const char *end = dash != NULL ? dash + 1 : size + 1;
    return orr_parse_i64(size + 1, bytes, &first) && orr_parse_i64(end, strlen(end), &last) &&
           gpus <= (double)last && (first == 0 || gpus > (double)(first - 1));
}

/* Whose row the job of a row of samples counts in; ORR_NONE: nobody's. */
static uint32_t group_of(const struct groups *groups, sqlite3_stmt *row)
{
    const char *queue = (const char *)sqlite3_column_text(row, 3);
    const char *kind = (const char *)sqlite3_column_text(row, 4);
    char label[500] = "";
    if (strcmp(groups->scope, "size") == 0) {
        const double gpus = sqlite3_column_double(row, 5) / ORR_MGPU;
        for (uint32_t g = 0; g < groups->labels.count; g++) {
            if (is_of_size(orr_idmap_name(&groups->labels, g), gpus)) {
                return g;
            }
        }
        return ORR_NONE;
    }
    if (strcmp(groups->scope, "queue") == 0) {
        (void)snprintf(label, sizeof label, "queue=%.300s,kind=%s", queue != NULL ? queue : "",
                       kind != NULL ? kind : "");
    } else if (strcmp(groups->scope, "kind") == 0) {
        (void)snprintf(label, sizeof label, "kind=%s", kind != NULL ? kind : "");
    }
    return orr_idmap_find(&groups->labels, label, strlen(label));
}

/* A job's block, or none outside the window that all runs share. */
static struct samples read_samples(struct orr_results *in, const char *sql,
                                   const struct groups *groups, orr_ms from_ms, orr_ms length_ms,
                                   uint32_t blocks)
{
    struct samples samples = {0};
    uint32_t capacity = 0;
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    while (orr_results_step(in, row)) {
        const orr_ms submit = sqlite3_column_int64(row, 0);
        const orr_ms block = submit < from_ms ? -1 : (submit - from_ms) / length_ms;
        if (block < 0 || block >= blocks || sqlite3_column_type(row, 1) == SQLITE_NULL) {
            continue;
        }
        const uint32_t group = group_of(groups, row);
        if (group != ORR_NONE) {
            samples.items = ORR_ROOM_FOR_ONE(samples.items, samples.count, capacity);
            samples.items[samples.count++] =
                (struct sample){sqlite3_column_double(row, 1), (uint32_t)block, group,
                                sqlite3_column_int(row, 2) == 0};
        }
    }
    orr_sort(samples.items, samples.count, sizeof *samples.items, by_value, NULL);
    return samples;
}

/* Those of one group, in their order; the caller frees the items. */
static struct samples samples_of(const struct samples *all, uint32_t group)
{
    struct samples samples = {.items = orr_alloc(all->count + (size_t)1, sizeof *samples.items)};
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->items[i].group == group) {
            samples.items[samples.count++] = all->items[i];
        }
    }
    return samples;
}

/* Of the samples that are known in full. */
static double mean(const struct samples *samples, const uint32_t *times)
{
    uint64_t n = 0;
    double sum = 0;
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct sample *sample = &samples->items[i];
        if (!sample->censored) {
            n += times[sample->block];
            sum += sample->value * times[sample->block];
        }
    }
    return n > 0 ? sum / (double)n : (double)NAN;
}

/* Nearest rank while all were known in full, Kaplan-Meier from the first on that was not. INFINITY:
 * not reached; NAN: there are none. */
static double quantile(const struct samples *samples, const uint32_t *times, uint32_t percent)
{
    uint64_t n = 0, seen = 0;
    double alive = 1;
    bool censored = false;
    for (uint32_t i = 0; i < samples->count; i++) {
        n += times[samples->items[i].block];
    }
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct sample *sample = &samples->items[i];
        const uint64_t drawn = times[sample->block], risk = n - seen;
        if (drawn == 0) {
            continue;
        }
        seen += drawn;
        if (sample->censored) {
            alive = censored ? alive : (double)risk / (double)n;
            censored = true;
            continue;
        }
        alive *= censored ? (double)(risk - drawn) / (double)risk : 1;
        if (censored ? alive <= 1 - percent / 100.0 + 1e-12 : seen * 100 >= percent * n) {
            return sample->value;
        }
    }
    return n > 0 ? (double)INFINITY : (double)NAN;
}

/* The statistic when block b is drawn times[b] times. */
static double evaluate(const struct samples *samples, const uint32_t *times, uint32_t percent)
{
    return percent == 0 ? mean(samples, times) : quantile(samples, times, percent);
}

struct cut { /* what all runs are cut into */
    orr_ms from_ms, length_ms;
    uint32_t blocks;
};

/* How often each block is drawn in replicate r: the same for all statistics and arms. */
static void draw_blocks(uint32_t *times, uint32_t blocks, uint32_t r)
{
    struct orr_rng rng = orr_rng_stream(1, "compare.windows", r);
    memset(times, 0, blocks * sizeof *times);
    for (uint32_t b = 0; b < blocks; b++) {
        times[orr_rng_below(&rng, blocks)]++;
    }
}

struct draws {
    double *base, *other; /* the statistic of each; INFINITY: not reached, NAN: none of the jobs */
};

static struct draws open_draws(void)
{
    return (struct draws){orr_alloc(REPLICATES, sizeof(double)),
                          orr_alloc(REPLICATES, sizeof(double))};
}

static void close_draws(struct draws *draws)
{
    orr_free(draws->base);
    orr_free(draws->other);
}

/* Where many draws do not reach a quantile, or draw none of the jobs, there is no interval; there
 * is none without a value. */
static void interval_of(const struct draws *draws, double level, struct orr_paired *paired)
{
    uint32_t known = 0;
    for (uint32_t r = 0; r < REPLICATES; r++) {
        known += isfinite(draws->base[r]) && isfinite(draws->other[r]) ? 1 : 0;
    }
    if (known >= (1 - (1 - level) / 2) * REPLICATES && !isnan(paired->difference)) {
        orr_paired_drawn(draws->base, draws->other, REPLICATES, level, paired);
    }
}

/* What a quantile that is not reached is at least. */
static double longest(const struct samples *samples)
{
    return samples->count > 0 ? samples->items[samples->count - 1].value : 0;
}

/* How many blocks hold a job of either that the statistic is of: a mean is of those known in full.
 */
static uint32_t count_held(const struct samples *base, const struct samples *other, uint32_t blocks,
                           uint32_t percent)
{
    const struct samples *both[] = {base, other};
    bool *held = orr_zalloc(blocks, sizeof *held);
    uint32_t count = 0;
    for (size_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < both[s]->count; i++) {
            const struct sample *sample = &both[s]->items[i];
            if (percent > 0 || !sample->censored) {
                count += !held[sample->block];
                held[sample->block] = true;
            }
        }
    }
    orr_free(held);
    return count;
}

static void bootstrap(const struct samples *base, const struct samples *other,
                      const struct cut *cut, uint32_t percent, double level,
                      struct orr_paired *paired)
{
    uint32_t *times = orr_alloc(cut->blocks, sizeof *times);
    struct draws draws = open_draws();
    for (uint32_t b = 0; b < cut->blocks; b++) {
        times[b] = 1;
    }
    const struct orr_reading before = {evaluate(base, times, percent), longest(base)};
    const struct orr_reading after = {evaluate(other, times, percent), longest(other)};
    *paired = orr_paired_readings(&before, &after, 1, level);
    paired->n = paired->n > 0 ? count_held(base, other, cut->blocks, percent) : 0;
    for (uint32_t r = 0; r < REPLICATES; r++) {
        draw_blocks(times, cut->blocks, r);
        draws.base[r] = evaluate(base, times, percent);
        draws.other[r] = evaluate(other, times, percent);
    }
    interval_of(&draws, level, paired);
    close_draws(&draws);
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

/* A row of all arms, whose samples of all groups are at hand. */
static void compare_metric(const struct orr_compare_load *load, const struct cut *cut,
                           const struct groups *groups, uint32_t metric, size_t statistic,
                           const struct samples *all, struct orr_paired *cells)
{
    const struct orr_comparison *comparison = load->comparison;
    const char *label = comparison->metrics[metric].label;
    const uint32_t group = orr_idmap_find(&groups->labels, label, strlen(label));
    struct samples base = samples_of(&all[0], group);
    for (uint32_t a = 1; a < comparison->arm_count; a++) {
        struct samples other = samples_of(&all[a], group);
        bootstrap(&base, &other, cut, statistics[statistic].percent, comparison->level,
                  &cells[(size_t)metric * comparison->arm_count + a]);
        orr_free(other.items);
    }
    orr_free(base.items);
}

/* One statistic of all arms, and every row that is of it. */
static enum orr_status compare_statistic(struct orr_compare_load *load, const struct cut *cut,
                                         const struct groups *groups, size_t statistic,
                                         struct orr_paired *cells)
{
    struct orr_comparison *comparison = load->comparison;
    struct samples *samples = orr_zalloc(comparison->arm_count, sizeof *samples);
    const char *name = orr_metric_name(statistics[statistic].metric);
    enum orr_status status = ORR_OK;
    for (uint32_t a = 0; a < comparison->arm_count && status == ORR_OK; a++) {
        struct orr_results in;
        orr_results_open(&in, run_of(load, a)->path, load->err);
        samples[a] = read_samples(&in, statistics[statistic].sql, groups, cut->from_ms,
                                  cut->length_ms, cut->blocks);
        status = in.status;
        orr_results_close(&in);
    }
    for (uint32_t m = 0; m < comparison->metric_count && status == ORR_OK; m++) {
        if (strcmp(comparison->metrics[m].name, name) == 0) {
            compare_metric(load, cut, groups, m, statistic, samples, cells);
        }
    }
    for (uint32_t a = 0; a < comparison->arm_count; a++) {
        orr_free(samples[a].items);
    }
    orr_free(samples);
    return status;
}

static bool block_of(const struct cut *cut, orr_ms submit, uint32_t *block)
{
    const orr_ms at = submit < cut->from_ms ? -1 : (submit - cut->from_ms) / cut->length_ms;
    *block = at >= 0 && at < cut->blocks ? (uint32_t)at : 0;
    return at >= 0 && at < cut->blocks;
}

/* The geometric mean of ratios when block b is drawn times[b] times; each job is in one block. */
static double draw_ratios(const struct orr_compare_ratios *ratios, const struct cut *cut,
                          const uint32_t *times)
{
    double sum = 0;
    uint64_t n = 0;
    for (uint32_t i = 0; i < ratios->count; i++) {
        uint32_t block;
        if (block_of(cut, ratios->items[i].submit_ms, &block)) {
            n += times[block];
            sum += ratios->items[i].log * times[block];
        }
    }
    return n > 0 ? exp(sum / (double)n) : (double)NAN;
}

static uint32_t count_blocks_of(const struct orr_compare_ratios *ratios, const struct cut *cut)
{
    bool *held = orr_zalloc(cut->blocks, sizeof *held);
    uint32_t count = 0;
    for (uint32_t i = 0; i < ratios->count; i++) {
        uint32_t block;
        if (block_of(cut, ratios->items[i].submit_ms, &block)) {
            count += !held[block];
            held[block] = true;
        }
    }
    orr_free(held);
    return count;
}

/* Of an arm against the base, which has 1. */
static enum orr_status compare_ratios(struct orr_compare_load *load, const struct cut *cut,
                                      uint32_t arm, struct orr_paired *paired)
{
    struct orr_compare_ratios ratios;
    const enum orr_status status =
        orr_compare__ratios(run_of(load, 0)->path, run_of(load, arm)->path, &ratios, load->err);
    uint32_t *times = orr_alloc(cut->blocks, sizeof *times);
    struct draws draws = open_draws();
    for (uint32_t b = 0; b < cut->blocks; b++) {
        times[b] = 1;
    }
    paired->other_mean = draw_ratios(&ratios, cut, times);
    paired->base_mean = isnan(paired->other_mean) ? (double)NAN : 1;
    paired->difference = paired->other_mean - 1;
    paired->n = count_blocks_of(&ratios, cut);
    for (uint32_t r = 0; r < REPLICATES; r++) {
        draw_blocks(times, cut->blocks, r);
        draws.base[r] = 1;
        draws.other[r] = draw_ratios(&ratios, cut, times);
    }
    interval_of(&draws, load->comparison->level, paired);
    close_draws(&draws);
    orr_free(times);
    orr_free(ratios.items);
    return status;
}

static bool is_compared(const struct orr_comparison *comparison, const char *name)
{
    for (uint32_t m = 0; m < comparison->metric_count; m++) {
        if (strcmp(comparison->metrics[m].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* All statistics there are, into cells as those of the comparison. */
static enum orr_status fill(struct orr_compare_load *load, const struct cut *cut,
                            struct orr_paired *cells)
{
    struct orr_comparison *comparison = load->comparison;
    struct groups groups = {.scope = load->options->scope != NULL ? load->options->scope : "all"};
    enum orr_status status = ORR_OK;
    orr_idmap_init(&groups.labels);
    for (uint32_t m = 0; m < comparison->metric_count; m++) {
        const char *label = comparison->metrics[m].label;
        (void)orr_idmap_put(&groups.labels, label, strlen(label), NULL);
    }
    for (size_t s = 0; s < sizeof statistics / sizeof statistics[0] && status == ORR_OK; s++) {
        if (is_compared(comparison, statistics[s].metric)) {
            status = compare_statistic(load, cut, &groups, s, cells);
        }
    }
    for (uint32_t a = 1; load->ratio != ORR_NONE && a < comparison->arm_count && status == ORR_OK;
         a++) {
        status =
            compare_ratios(load, cut, a, &cells[(size_t)load->ratio * comparison->arm_count + a]);
    }
    orr_idmap_release(&groups.labels);
    return status;
}

/* The part that the first runs of all arms share: from the latest warm-up of any. */
static struct cut shared_window(const struct orr_compare_load *load, orr_ms length_ms)
{
    orr_ms from = INT64_MIN, to = INT64_MAX;
    for (uint32_t a = 0; a < load->comparison->arm_count; a++) {
        const struct orr_compare_run *run = run_of(load, a);
        from = run->window_start_ms > from ? run->window_start_ms : from;
        to = run->window_end_ms < to ? run->window_end_ms : to;
    }
    const orr_ms blocks = to > from ? (to - from + length_ms - 1) / length_ms : 0;
    return (struct cut){from, length_ms, blocks > BLOCKS_MOST ? UINT32_MAX : (uint32_t)blocks};
}

enum orr_status orr_compare__windows(struct orr_compare_load *load)
{
    struct orr_comparison *comparison = load->comparison;
    if (load->run_count != comparison->arm_count) {
        return orr_fail(load->err, ORR_USAGE,
                        "--windows is for one run of each setting; these have several seeds, which "
                        "give intervals by themselves");
    }
    const struct cut cut = shared_window(load, load->options->window_ms);
    if (cut.blocks < BLOCKS_MIN || cut.blocks > BLOCKS_MOST) {
        return orr_fail(load->err, ORR_USAGE,
                        "--windows: %s%u block%s in the part all runs share; between %d and %d are "
                        "needed",
                        cut.blocks > BLOCKS_MOST ? "more than " : "",
                        cut.blocks > BLOCKS_MOST ? BLOCKS_MOST : cut.blocks,
                        ORR_PLURAL(cut.blocks > BLOCKS_MOST ? BLOCKS_MOST : cut.blocks), BLOCKS_MIN,
                        BLOCKS_MOST);
    }
    comparison->blocks = cut.blocks;
    return fill(load, &cut, comparison->cells);
}

/* Weeks, days or hours, the longest of which there are enough: what jobs wait for lasts long, and a
 * week is what work repeats in. */
static struct cut choose_cut(const struct orr_compare_load *load)
{
    static const orr_ms lengths_ms[] = {604800000, 86400000, 21600000, 3600000, 600000};
    struct cut cut = {0};
    for (size_t i = 0; i < sizeof lengths_ms / sizeof lengths_ms[0]; i++) {
        cut = shared_window(load, lengths_ms[i]);
        if (cut.blocks >= BLOCKS_ENOUGH) {
            return cut;
        }
    }
    cut.blocks = 0;
    return cut;
}

enum orr_status orr_compare__beside(struct orr_compare_load *load)
{
    struct orr_comparison *comparison = load->comparison;
    const struct cut cut = choose_cut(load);
    if (cut.blocks == 0 || cut.blocks > BLOCKS_MOST) {
        return ORR_OK;
    }
    const size_t cells = (size_t)comparison->metric_count * comparison->arm_count;
    comparison->beside = orr_arena_alloc(&comparison->arena, cells, sizeof *comparison->beside);
    for (size_t i = 0; i < cells; i++) {
        comparison->beside[i] = (struct orr_paired){.difference = (double)NAN,
                                                    .low = (double)NAN,
                                                    .high = (double)NAN,
                                                    .part_low = (double)NAN,
                                                    .part_high = (double)NAN,
                                                    .p = (double)NAN};
    }
    comparison->beside_blocks = cut.blocks;
    comparison->beside_ms = cut.length_ms;
    return fill(load, &cut, comparison->beside);
}
