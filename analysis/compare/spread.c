/* SPDX-License-Identifier: GPL-3.0-or-later */
/* spread.c - metrics of a merged sweep over the replicas of each setting. */
#include <orrery/analysis/spread.h>

#include <math.h>
#include <string.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/paired.h>
#include <orrery/analysis/results.h>

#include "spread_sql.h"

static const char *keep(struct orr_spreads *spreads, const char *text)
{
    return orr_arena_strndup(&spreads->arena, text, strlen(text));
}

static void read_values(struct orr_spreads *spreads, struct orr_results *in,
                        struct orr_spread_arm *arm)
{
    const char **values =
        orr_arena_alloc(&spreads->arena, spreads->axis_count + (size_t)1, sizeof *values);
    memset(values, 0, (spreads->axis_count + (size_t)1) * sizeof *values);
    sqlite3_stmt *row = orr_results_prepare(in, orr_spread_sql__values);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, arm->id);
    }
    while (orr_results_step(in, row)) {
        const int64_t axis = sqlite3_column_int64(row, 0);
        if (axis >= 0 && axis < spreads->axis_count) {
            values[axis] = keep(spreads, orr_results_text(in, row, 1));
        }
    }
    arm->values = values;
}

/* Settings and axes; the number of runs with results. */
static uint32_t read_arms(struct orr_spreads *spreads, struct orr_results *in)
{
    uint32_t arms = 0, axes = 0, runs = 0;
    sqlite3_stmt *row = orr_results_prepare(in, orr_spread_sql__counts);
    while (orr_results_step(in, row)) {
        arms = (uint32_t)sqlite3_column_int64(row, 0);
        axes = (uint32_t)sqlite3_column_int64(row, 1);
        runs = (uint32_t)sqlite3_column_int64(row, 2);
        spreads->name = keep(spreads, orr_results_text(in, row, 3));
    }
    const char **names = orr_arena_alloc(&spreads->arena, axes + (size_t)1, sizeof *names);
    row = orr_results_prepare(in, orr_spread_sql__axes);
    while (orr_results_step(in, row) && spreads->axis_count < axes) {
        names[spreads->axis_count++] = keep(spreads, orr_results_text(in, row, 0));
    }
    spreads->axes = names;
    spreads->arms = orr_arena_alloc(&spreads->arena, arms + (size_t)1, sizeof *spreads->arms);
    row = orr_results_prepare(in, orr_spread_sql__arms);
    while (orr_results_step(in, row) && spreads->arm_count < arms) {
        spreads->arms[spreads->arm_count++] =
            (struct orr_spread_arm){.id = (uint32_t)sqlite3_column_int64(row, 0),
                                    .label = keep(spreads, orr_results_text(in, row, 1)),
                                    .runs = (uint32_t)sqlite3_column_int64(row, 2),
                                    .seed_least = (uint64_t)sqlite3_column_int64(row, 3),
                                    .seed_most = (uint64_t)sqlite3_column_int64(row, 4),
                                    .policy = keep(spreads, orr_results_text(in, row, 5)),
                                    .distinct = (uint32_t)sqlite3_column_int64(row, 6)};
    }
    for (uint32_t a = 0; a < spreads->arm_count; a++) {
        read_values(spreads, in, &spreads->arms[a]);
    }
    return runs;
}

static uint32_t arm_of(const struct orr_spreads *spreads, int64_t id)
{
    uint32_t a = 0;
    while (a < spreads->arm_count && spreads->arms[a].id != id) {
        a++;
    }
    return a;
}

/* Mean, interval and extremes of what was read for it, of an arm of so many runs. */
static void conclude(struct orr_spread_row *spread, uint32_t runs, double *values,
                     const double *zeros)
{
    while (spread->n < runs && orr_metric_is(spread->metric, ORR_METRIC_ABSENT_0)) {
        values[spread->n++] = 0;
    }
    if (spread->n == 0) {
        spread->mean = spread->low = spread->high = spread->least = spread->most = (double)NAN;
        return;
    }
    const struct orr_paired paired = orr_paired_t(zeros, values, spread->n, 0.95);
    spread->mean = paired.difference;
    spread->low = paired.low;
    spread->high = paired.high;
    orr_metric_bound(spread->metric, &spread->low, &spread->high);
    spread->least = spread->most = values[0];
    for (uint32_t i = 1; i < spread->n; i++) {
        spread->least = fmin(spread->least, values[i]);
        spread->most = fmax(spread->most, values[i]);
    }
}

static void read_metrics(struct orr_spreads *spreads, struct orr_results *in, const char *scope,
                         uint32_t runs)
{
    uint32_t room = 0;
    double *values = orr_zalloc(runs + (size_t)1, sizeof *values);
    double *zeros = orr_zalloc(runs + (size_t)1, sizeof *zeros);
    struct orr_spread_row *now = NULL;
    sqlite3_stmt *row = orr_results_prepare(in, orr_spread_sql__metrics);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, scope, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        const char *metric = (const char *)sqlite3_column_text(row, 0);
        const char *label = (const char *)sqlite3_column_text(row, 1);
        const uint32_t arm = arm_of(spreads, sqlite3_column_int64(row, 2));
        if (arm == spreads->arm_count) {
            continue;
        }
        if (now == NULL || now->arm != arm || strcmp(now->metric, metric) != 0 ||
            strcmp(now->label, label) != 0) {
            if (now != NULL) {
                conclude(now, spreads->arms[now->arm].runs, values, zeros);
            }
            spreads->items = ORR_ROOM_FOR_ONE(spreads->items, spreads->count, room);
            now = &spreads->items[spreads->count++];
            *now = (struct orr_spread_row){.metric = keep(spreads, metric),
                                           .scope = keep(spreads, scope),
                                           .label = keep(spreads, label),
                                           .unit = keep(spreads, orr_results_text(in, row, 3)),
                                           .arm = arm};
        }
        if (sqlite3_column_type(row, 4) != SQLITE_NULL && now->n < runs) {
            values[now->n++] = sqlite3_column_double(row, 4);
        } else {
            now->open += sqlite3_column_type(row, 5) != SQLITE_NULL;
        }
    }
    if (now != NULL) {
        conclude(now, spreads->arms[now->arm].runs, values, zeros);
    }
    orr_free(values);
    orr_free(zeros);
}

static void read_expects(struct orr_spreads *spreads, struct orr_results *in)
{
    uint32_t room = 0;
    sqlite3_stmt *row = orr_results_prepare(in, orr_spread_sql__expects);
    while (orr_results_step(in, row)) {
        spreads->expects = ORR_ROOM_FOR_ONE(spreads->expects, spreads->expect_count, room);
        spreads->expects[spreads->expect_count++] =
            (struct orr_spread_expect){.text = keep(spreads, orr_results_text(in, row, 1)),
                                       .arm = arm_of(spreads, sqlite3_column_int64(row, 0)),
                                       .held = (uint32_t)sqlite3_column_int64(row, 2),
                                       .broken = (uint32_t)sqlite3_column_int64(row, 3),
                                       .unknown = (uint32_t)sqlite3_column_int64(row, 4)};
    }
}

enum orr_status orr_spreads_read(const char *path, const char *scope, struct orr_spreads *spreads,
                                 struct orr_err *err)
{
    struct orr_results in;
    *spreads = (struct orr_spreads){.name = ""};
    orr_arena_init(&spreads->arena);
    if (!orr_results_is_merged(path)) {
        orr_results_open(&in, path, err); /* a file that is no results file says so itself */
        if (in.status == ORR_OK) {
            in.status = orr_fail(err, ORR_DATA, "%s: is one run, not a merged sweep", path);
        }
    } else {
        orr_results_open_point(&in, path, 0, err);
        const uint32_t runs = read_arms(spreads, &in);
        read_metrics(spreads, &in, scope, runs);
        read_expects(spreads, &in);
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    if (status != ORR_OK) {
        orr_spreads_release(spreads);
    }
    return status;
}

void orr_spreads_release(struct orr_spreads *spreads)
{
    orr_free(spreads->items);
    orr_free(spreads->expects);
    orr_arena_release(&spreads->arena);
    *spreads = (struct orr_spreads){0};
}

double orr_spread_mean(const struct orr_spread_row *row)
{
    return row->open > 0 ? (double)NAN : row->mean;
}

const struct orr_spread_row *orr_spread_find(const struct orr_spreads *spreads, const char *metric,
                                             const char *label, uint32_t arm)
{
    for (uint32_t i = 0; i < spreads->count; i++) {
        const struct orr_spread_row *s = &spreads->items[i];
        if (s->arm == arm && strcmp(s->metric, metric) == 0 && strcmp(s->label, label) == 0) {
            return s;
        }
    }
    return NULL;
}
