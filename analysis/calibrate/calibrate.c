/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/calibrate.h>

#include "calibrate_int.h"
#include "calibrate_sql.h"

#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>

struct pair {                          /* of one job */
    int64_t recorded_ms, simulated_ms; /* waits */
};

struct group {
    struct pair *pairs;
    uint32_t count, capacity;
};

static void add(struct group *group, struct pair pair)
{
    group->pairs = ORR_ROOM_FOR_ONE(group->pairs, group->count, group->capacity);
    group->pairs[group->count++] = pair;
}

static double rank(const int64_t *sorted, uint32_t count, double q)
{
    const double at = ceil(q * count - 1e-9);
    const uint32_t index = at < 1 ? 0 : (uint32_t)at - 1;
    return (double)sorted[index < count ? index : count - 1] / 1000.0;
}

/* Kolmogorov and Smirnov's distance of two samples of equal size, both sorted. */
static double distance(const int64_t *a, const int64_t *b, uint32_t count)
{
    uint32_t i = 0, j = 0;
    double most = 0;
    while (i < count && j < count) {
        const int64_t at = a[i] < b[j] ? a[i] : b[j];
        while (i < count && a[i] == at) {
            i++;
        }
        while (j < count && b[j] == at) {
            j++;
        }
        most = fmax(most, fabs((double)i - (double)j) / count);
    }
    return most;
}

static struct orr_calibration_row fold(const struct group *group)
{
    const uint32_t n = group->count;
    struct orr_calibration_row row = {.jobs = n};
    int64_t *recorded = orr_alloc(n + (size_t)1, sizeof *recorded);
    int64_t *simulated = orr_alloc(n + (size_t)1, sizeof *simulated);
    int64_t *error = orr_alloc(n + (size_t)1, sizeof *error);
    double recorded_sum = 0, simulated_sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        recorded[i] = group->pairs[i].recorded_ms;
        simulated[i] = group->pairs[i].simulated_ms;
        error[i] = simulated[i] - recorded[i];
        recorded_sum += (double)recorded[i] / 1000.0;
        simulated_sum += (double)simulated[i] / 1000.0;
    }
    orr_sort_i64(recorded, n);
    orr_sort_i64(simulated, n);
    orr_sort_i64(error, n);
    row.recorded_p50_s = rank(recorded, n, 0.5);
    row.simulated_p50_s = rank(simulated, n, 0.5);
    row.recorded_p95_s = rank(recorded, n, 0.95);
    row.simulated_p95_s = rank(simulated, n, 0.95);
    row.recorded_mean_s = recorded_sum / n;
    row.simulated_mean_s = simulated_sum / n;
    row.error_p10_s = rank(error, n, 0.1);
    row.error_p50_s = rank(error, n, 0.5);
    row.error_p90_s = rank(error, n, 0.9);
    row.ks = distance(recorded, simulated, n);
    orr_free(error);
    orr_free(simulated);
    orr_free(recorded);
    return row;
}

static const char *keep(struct orr_calibration *c, const char *text)
{
    return orr_arena_strndup(&c->arena, text, strlen(text));
}

/* Pairs come queue by queue and kind by kind. */
static void read_pairs(struct orr_results *in, struct orr_calibration *c)
{
    struct group all = {0}, one = {0};
    const char *queue = NULL, *kind = NULL;
    uint32_t capacity = 1;
    c->rows = orr_alloc(capacity, sizeof *c->rows);
    c->count = 1; /* all, filled at the end */
    sqlite3_stmt *row = orr_results_prepare(in, orr_calibrate_sql__waits);
    bool more = orr_results_step(in, row);
    while (more) {
        queue = keep(c, (const char *)sqlite3_column_text(row, 0));
        kind = keep(c, (const char *)sqlite3_column_text(row, 1));
        one.count = 0;
        do {
            const struct pair pair = {sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3)};
            add(&one, pair);
            add(&all, pair);
            more = orr_results_step(in, row);
        } while (more && strcmp((const char *)sqlite3_column_text(row, 0), queue) == 0 &&
                 strcmp((const char *)sqlite3_column_text(row, 1), kind) == 0);
        c->rows = ORR_ROOM_FOR_ONE(c->rows, c->count, capacity);
        c->rows[c->count] = fold(&one);
        c->rows[c->count].queue = queue;
        c->rows[c->count++].kind = kind;
    }
    for (uint32_t i = 1; i < c->count; i++) {
        c->rows[i].shown = keep(c, orr_results_shown(in, c->rows[i].queue));
    }
    if (all.count > 0) {
        c->rows[0] = fold(&all);
        c->rows[0].queue = c->rows[0].shown = "all";
        c->rows[0].kind = "";
    }
    orr_free(one.pairs);
    orr_free(all.pairs);
}

static void read_unmatched(struct orr_results *in, struct orr_calibration *c)
{
    c->unmatched = (uint64_t)orr_results_int(in, orr_calibrate_sql__never_started, 0);
    if (c->unmatched == 0) {
        return;
    }
    sqlite3_stmt *row = orr_results_prepare(in, orr_calibrate_sql__never_started_why);
    while (orr_results_step(in, row)) {
        c->unmatched_why = keep(c, orr_results_text(in, row, 0));
        c->unmatched_most = (uint64_t)sqlite3_column_int64(row, 1);
        c->unmatched_first = keep(c, orr_results_text(in, row, 2));
    }
}

enum orr_status orr_calibrate(const char *db_path, struct orr_calibration *calibration,
                              struct orr_err *err)
{
    struct orr_results in;
    *calibration = (struct orr_calibration){0};
    orr_arena_init(&calibration->arena);
    orr_results_open(&in, db_path, err);
    read_pairs(&in, calibration);
    orr_calibrate__occupancy(&in, calibration);
    read_unmatched(&in, calibration);
    if (in.status == ORR_OK && calibration->count < 2 && calibration->unmatched > 0) {
        in.status = orr_fail(
            err, ORR_DATA, "%s: none of %llu job%s whose start is recorded starts here%s%s",
            db_path, (unsigned long long)calibration->unmatched, ORR_PLURAL(calibration->unmatched),
            calibration->unmatched_most > 0 ? ": " : "",
            calibration->unmatched_most > 0 ? calibration->unmatched_why : "");
    } else if (in.status == ORR_OK && calibration->count < 2) {
        in.status = orr_fail(err, ORR_DATA,
                             "%s: its trace recorded no start: there is nothing to hold it against",
                             db_path);
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    if (status != ORR_OK) {
        orr_calibration_release(calibration);
    }
    return status;
}

void orr_calibration_release(struct orr_calibration *calibration)
{
    orr_free(calibration->rows);
    orr_arena_release(&calibration->arena);
    *calibration = (struct orr_calibration){0};
}
