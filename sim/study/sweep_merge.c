/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_merge.c - what came of all points in one file. Points are read one at a time in the order
 * of the plan, so the file is the same whoever ran them, where and in which order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/results.h>

#include "study_int.h"
#include "sweep_int.h"
#include "sweep_sql.h"

struct merge {
    const struct orr_sweep *sweep;
    struct orr_sweep__file file;
    sqlite3_stmt *add_run, *add_metric, *add_queue, *add_expectation, *add_hole, *planned_sum;
    const volatile sig_atomic_t *interrupted;
    struct orr_err *err;
};

/* A row of results as a row of the merged file: the point's number, then `columns` as they are. */
static void copy_row(struct merge *merge, uint32_t point, sqlite3_stmt *from, int columns,
                     sqlite3_stmt *to)
{
    sqlite3_bind_int64(to, 1, point);
    for (int c = 0; c < columns; c++) {
        sqlite3_bind_value(to, c + 2, sqlite3_column_value(from, c));
    }
    orr_sweep__insert(&merge->file, to);
}

/* All rows of a query, each with the point's number before its columns. */
static void copy_rows(struct merge *merge, uint32_t point, struct orr_results *in, const char *sql,
                      sqlite3_stmt *to)
{
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    while (orr_results_step(in, row)) {
        copy_row(merge, point, row, sqlite3_column_count(row), to);
    }
}

/* Behind the one line of a resolved scenario that a point has for itself, its seed; *bytes: of what
 * stands before it. The end where there is none. */
static const char *behind_seeds(const char *text, size_t *bytes)
{
    static const char line[] = "\nseeds:";
    const char *at = strstr(text, line);
    *bytes = at != NULL ? (size_t)(at - text) : strlen(text);
    return at != NULL ? at + 1 + strcspn(at + 1, "\n") : text + *bytes;
}

static bool is_same_but_seed(const char *a, const char *b)
{
    size_t before_a, before_b;
    const char *rest_a = behind_seeds(a, &before_a), *rest_b = behind_seeds(b, &before_b);
    return before_a == before_b && memcmp(a, b, before_a) == 0 && strcmp(rest_a, rest_b) == 0;
}

/* Is this file what the point's run writes? */
static bool is_of_point(const struct merge *merge, uint32_t point, struct orr_results *in,
                        sqlite3_stmt *row)
{
    const struct orr_sweep_point *of = &merge->sweep->points[point];
    return sqlite3_column_int64(row, 7) == (int64_t)of->seed &&
           strcmp(orr_results_text(in, row, 9), ORR_VERSION) == 0 &&
           is_same_but_seed(orr_results_text(in, row, 8), merge->sweep->scenarios[of->arm]);
}

/* Was a file that the plan names another one when the point ran? One arm would then hold the
 * results of two policies. */
static void check_inputs(struct merge *merge, struct orr_results *in)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_sweep_sql__inputs_of_result);
    while (orr_results_step(in, row)) {
        const char *path = orr_results_text(in, row, 0), *sum = orr_results_text(in, row, 1);
        (void)sqlite3_bind_text(merge->planned_sum, 1, path, -1, SQLITE_STATIC);
        if (sqlite3_step(merge->planned_sum) == SQLITE_ROW &&
            strcmp((const char *)sqlite3_column_text(merge->planned_sum, 0), sum) != 0) {
            in->status = orr_fail(merge->err, ORR_DATA,
                                  "%s: was run with another %s than the sweep was planned with; "
                                  "remove it and run the sweep again, or plan it again",
                                  in->path, path);
        }
        (void)sqlite3_reset(merge->planned_sum);
    }
}

static enum orr_status add_point(struct merge *merge, uint32_t point)
{
    char path[4300];
    struct orr_results in;
    struct orr_err unreadable = {0};
    orr_sweep__path(merge->sweep, point, ".db", path, sizeof path);
    orr_results_open(&in, path, &unreadable);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_sweep_sql__result);
    while (orr_results_step(&in, row)) {
        if (!is_of_point(merge, point, &in, row)) {
            in.status = orr_fail(merge->err, ORR_DATA,
                                 "%s: is not what point %u of the plan writes; remove it and run "
                                 "the sweep again",
                                 path, (unsigned)point);
        }
        copy_row(merge, point, row, 7, merge->add_run);
    }
    check_inputs(merge, &in);
    copy_rows(merge, point, &in, orr_sweep_sql__metrics, merge->add_metric);
    copy_rows(merge, point, &in, orr_sweep_sql__display_names, merge->add_queue);
    copy_rows(merge, point, &in, orr_sweep_sql__expectations, merge->add_expectation);
    const enum orr_status status = in.status;
    orr_results_close(&in);
    if (unreadable.status != ORR_OK) {
        return orr_fail(merge->err, status, "%.900s; remove it and run the sweep again",
                        unreadable.text);
    }
    return status == ORR_OK ? merge->file.status : status;
}

static enum orr_status heed_interrupt(const struct merge *merge, enum orr_status status)
{
    return status == ORR_OK && *merge->interrupted
               ? orr_fail(merge->err, ORR_INTERRUPTED, "interrupted; %s is not written",
                          merge->file.path)
               : status;
}

static enum orr_status add_points(struct merge *merge, bool partial,
                                  struct orr_sweep_merged *merged)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < merge->sweep->point_count && status == ORR_OK; i++) {
        char why[600];
        const enum orr_sweep_state state = orr_sweep_state(merge->sweep, i, why, sizeof why);
        if (state == ORR_SWEEP_DONE) {
            status = heed_interrupt(merge, add_point(merge, i));
            merged->points++;
            continue;
        }
        if (merged->holes++ == 0 && !partial) {
            return orr_fail(merge->err, ORR_DATA,
                            "%s: point %u (%s) has no results: %s; `orrery sweep run` makes them, "
                            "--partial leaves holes",
                            merge->sweep->folder, (unsigned)i, merge->sweep->points[i].label,
                            why[0] != '\0' ? why : "it has not run");
        }
        sqlite3_bind_int64(merge->add_hole, 1, i);
        sqlite3_bind_text(merge->add_hole, 2, why[0] != '\0' ? why : "missing", -1,
                          SQLITE_TRANSIENT);
        orr_sweep__insert(&merge->file, merge->add_hole);
    }
    return status == ORR_OK ? merge->file.status : status;
}

/* v_points, with a column for each axis, and v_metrics. */
static enum orr_status add_views(struct merge *merge)
{
    sqlite3 *db = merge->file.db;
    sqlite3_stmt *row = orr_sweep__prepare(&merge->file, orr_sweep_sql__make_points_view);
    bool made = row != NULL && sqlite3_step(row) == SQLITE_ROW;
    made = made && sqlite3_exec(db, (const char *)sqlite3_column_text(row, 0), NULL, NULL, NULL) ==
                       SQLITE_OK;
    made = made && sqlite3_exec(db, orr_sweep_sql__metrics_view, NULL, NULL, NULL) == SQLITE_OK;
    if (merge->file.status == ORR_OK && !made) {
        merge->file.status = orr_fail(merge->err, ORR_SCENARIO, "an axis cannot be a column: %s",
                                      sqlite3_errmsg(db));
    }
    (void)sqlite3_finalize(row);
    return merge->file.status;
}

/* The plan's own rows. The plan stays as it is; its tables have the same names. */
static enum orr_status copy_plan(struct merge *merge)
{
    static const char *const tables[][2] = {
        {orr_sweep_sql__read_sweep, orr_sweep_sql__copy_sweep},
        {orr_sweep_sql__read_sweep_input, orr_sweep_sql__copy_sweep_input},
        {orr_sweep_sql__read_sweep_axis, orr_sweep_sql__copy_sweep_axis},
        {orr_sweep_sql__read_sweep_arm, orr_sweep_sql__copy_sweep_arm},
        {orr_sweep_sql__read_sweep_value, orr_sweep_sql__copy_sweep_value},
        {orr_sweep_sql__read_sweep_point, orr_sweep_sql__copy_sweep_point},
    };
    char plan[4200];
    (void)snprintf(plan, sizeof plan, "%s/plan.db", merge->sweep->folder);
    sqlite3 *db = NULL;
    (void)sqlite3_open_v2(plan, &db, SQLITE_OPEN_READONLY, NULL);
    for (size_t t = 0; t < sizeof tables / sizeof tables[0] && merge->file.status == ORR_OK; t++) {
        sqlite3_stmt *from = NULL;
        (void)sqlite3_prepare_v2(db, tables[t][0], -1, &from, NULL);
        sqlite3_stmt *to = orr_sweep__prepare(&merge->file, tables[t][1]);
        while (from != NULL && to != NULL && sqlite3_step(from) == SQLITE_ROW) {
            for (int c = 0; c < sqlite3_column_count(from); c++) {
                sqlite3_bind_value(to, c + 1, sqlite3_column_value(from, c));
            }
            orr_sweep__insert(&merge->file, to);
        }
        (void)sqlite3_finalize(from);
        (void)sqlite3_finalize(to);
    }
    (void)sqlite3_close(db);
    return merge->file.status;
}

enum orr_status orr_sweep_merge(const struct orr_sweep *sweep, const char *path, bool partial,
                                struct orr_sweep_merged *merged, struct orr_err *err)
{
    struct merge merge = {.sweep = sweep, .interrupted = orr_interrupt_catch(), .err = err};
    *merged = (struct orr_sweep_merged){0};
    enum orr_status status = orr_sweep__create(&merge.file, path, orr_sweep_schema_sql, err);
    if (status != ORR_OK) {
        return status;
    }
    merge.add_run = orr_sweep__prepare(&merge.file, orr_sweep_sql__add_run);
    merge.add_metric = orr_sweep__prepare(&merge.file, orr_sweep_sql__add_metric);
    merge.add_queue = orr_sweep__prepare(&merge.file, orr_sweep_sql__add_queue);
    merge.add_expectation = orr_sweep__prepare(&merge.file, orr_sweep_sql__add_expectation);
    merge.add_hole = orr_sweep__prepare(&merge.file, orr_sweep_sql__add_hole);
    merge.planned_sum = orr_sweep__prepare(&merge.file, orr_sweep_sql__planned_sum);
    status = copy_plan(&merge);
    if (status == ORR_OK) {
        status = add_points(&merge, partial, merged);
    }
    if (status == ORR_OK) {
        status = heed_interrupt(&merge, add_views(&merge));
    }
    sqlite3_stmt *const all[] = {merge.add_run,         merge.add_metric, merge.add_queue,
                                 merge.add_expectation, merge.add_hole,   merge.planned_sum};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        (void)sqlite3_finalize(all[i]);
    }
    return orr_sweep__put_in_place(&merge.file, status);
}
