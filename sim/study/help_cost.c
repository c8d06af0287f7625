/* SPDX-License-Identifier: GPL-3.0-or-later */
/* help_cost.c - who pays for a change that helps a job: a whole run with it, held against the run
 * without it by every other job's wait for its first start. */
#include "study_int.h"

#include <string.h>

#include <orrery/analysis/results.h>

#include "study_sql.h"

static sqlite3_stmt *query(struct orr_results *in, const char *sql, const char *job)
{
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, job, -1, SQLITE_STATIC);
    }
    return row;
}

static const char *keep(struct orr_results *in, sqlite3_stmt *row, int column,
                        struct orr_arena *arena)
{
    const char *text = orr_results_text(in, row, column);
    return orr_arena_strndup(arena, text, strlen(text));
}

static const char *keep_shown(struct orr_results *in, sqlite3_stmt *row, int column,
                              struct orr_arena *arena)
{
    const char *text = orr_results_shown(in, orr_results_text(in, row, column));
    return orr_arena_strndup(arena, text, strlen(text));
}

enum orr_status orr_study__help_cost(const char *results, const char *changed, const char *job,
                                     struct orr_arena *arena, struct orr_help_cost *cost,
                                     struct orr_err *err)
{
    struct orr_results in;
    *cost = (struct orr_help_cost){0};
    orr_results_open(&in, changed, err);
    if (in.status == ORR_OK) {
        in.status = orr_results_attach(&in, results, err);
    }
    sqlite3_stmt *row = query(&in, orr_study_sql__cost, job);
    while (orr_results_step(&in, row)) {
        cost->longer = (uint32_t)sqlite3_column_int64(row, 0);
        cost->longer_s = sqlite3_column_double(row, 1) / 1000;
        cost->shorter = (uint32_t)sqlite3_column_int64(row, 2);
        cost->shorter_s = sqlite3_column_double(row, 3) / 1000;
        cost->lost = (uint32_t)sqlite3_column_int64(row, 4);
        cost->won = (uint32_t)sqlite3_column_int64(row, 5);
    }
    row = query(&in, orr_study_sql__cost_by_queue, job);
    while (orr_results_step(&in, row)) {
        cost->queues[cost->queue_count++] =
            (struct orr_help_queue){.queue = keep(&in, row, 0, arena),
                                    .shown = keep_shown(&in, row, 0, arena),
                                    .jobs = (uint32_t)sqlite3_column_int64(row, 1),
                                    .longer_s = sqlite3_column_double(row, 2) / 1000};
    }
    row = query(&in, orr_study_sql__cost_most, job);
    while (orr_results_step(&in, row)) {
        cost->most_job = keep(&in, row, 0, arena);
        cost->most_queue = keep(&in, row, 1, arena);
        cost->most_shown = keep_shown(&in, row, 1, arena);
        cost->most_s = sqlite3_column_double(row, 2) / 1000;
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
