/* SPDX-License-Identifier: GPL-3.0-or-later */
/* blame.c - runs a scenario once more without each of those who may be to blame.
 *
 *     orr_blame_find
 *       list_suspects      those with most GPU-hours
 *       orr_study_run      a run without each, and one with all, which must come out as before
 *       hold_against       what the others waited longer
 */
#include <orrery/sim/blame.h>

#include <stdio.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#include "study_int.h"
#include "study_sql.h"

struct blame {
    const struct orr_blame_options *options;
    struct orr_blame *out;
    struct orr_point_options *points; /* count, then the run as it was */
    char scratch[4200];
    struct orr_err *err;
};

static const char *keep(struct blame *b, struct orr_results *in, sqlite3_stmt *row, int column)
{
    const char *text = orr_results_text(in, row, column);
    return orr_arena_strndup(&b->out->arena, text, strlen(text));
}

static enum orr_status list_suspects(struct blame *b)
{
    static const char *const words[] = {"user", "queue", "job"};
    const char *const queries[] = {orr_study_sql__blame_users, orr_study_sql__blame_queues,
                                   orr_study_sql__blame_jobs};
    const struct orr_blame_options *o = b->options;
    struct orr_results in;
    orr_results_open(&in, o->results, b->err);
    b->out->items = orr_arena_alloc(&b->out->arena, o->most + (size_t)1, sizeof *b->out->items);
    sqlite3_stmt *row = orr_results_prepare(&in, queries[o->by]);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, o->most);
        (void)sqlite3_bind_text(row, 2, o->name, -1, SQLITE_STATIC);
    }
    while (orr_results_step(&in, row)) {
        struct orr_blamed *item = &b->out->items[b->out->count++];
        *item = (struct orr_blamed){.name = keep(b, &in, row, 0),
                                    .jobs = (uint32_t)sqlite3_column_int64(row, 1),
                                    .gpu_h = sqlite3_column_double(row, 2)};
        const char *shown =
            o->by == ORR_BLAME_QUEUE ? orr_results_shown(&in, item->name) : item->name;
        item->shown = orr_arena_strndup(&b->out->arena, shown, strlen(shown));
    }
    enum orr_status status = in.status;
    orr_results_close(&in);
    if (status == ORR_OK && b->out->count == 0) {
        status = o->name != NULL
                     ? orr_fail(b->err, ORR_DATA, "%s: no %s \"%s\" that ran", o->results,
                                words[o->by], o->name)
                     : orr_fail(b->err, ORR_DATA, "%s: %s", o->results,
                                o->by == ORR_BLAME_USER
                                    ? "no job that ran has a user: ask --by queue, or --by job"
                                    : "no job ran, so that nobody made others wait");
    }
    return status;
}

static enum orr_status list_points(struct blame *b)
{
    const struct orr_blame_options *o = b->options;
    struct orr_arena *arena = &b->out->arena;
    struct orr_scenario_options scenario = {0};
    enum orr_status status = orr_rerun_of(o->results, arena, &scenario, b->err);
    status = status == ORR_OK ? orr_scratch_open(b->scratch, sizeof b->scratch, b->err) : status;
    b->points = orr_arena_alloc(arena, b->out->count + (size_t)1, sizeof *b->points);
    for (uint32_t i = 0; i <= b->out->count && status == ORR_OK; i++) {
        char path[5000];
        const int bytes = snprintf(path, sizeof path, "%s/%u.db", b->scratch, i);
        const char *name = i < b->out->count ? b->out->items[i].name : NULL;
        b->points[i] = (struct orr_point_options){
            .scenario = scenario,
            .output = orr_arena_strndup(arena, path, (size_t)bytes),
            .allow_loss_ppm = ORR_LOSS_ALL,
            .change = {.without_user = o->by == ORR_BLAME_USER ? name : NULL,
                       .without_queue = o->by == ORR_BLAME_QUEUE ? name : NULL,
                       .without_job = o->by == ORR_BLAME_JOB ? name : NULL}};
    }
    return status;
}

static sqlite3_stmt *query(struct orr_results *in, const char *sql,
                           const struct orr_job_change *change)
{
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, change->without_user, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(row, 2, change->without_queue, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(row, 3, change->without_job, -1, SQLITE_STATIC);
    }
    return row;
}

static enum orr_status hold_against(struct blame *b, uint32_t index)
{
    struct orr_blamed *item = &b->out->items[index];
    const struct orr_job_change *change = &b->points[index].change;
    struct orr_results in;
    orr_results_open(&in, b->points[index].output, b->err);
    if (in.status == ORR_OK) {
        in.status = orr_results_attach(&in, b->options->results, b->err);
    }
    sqlite3_stmt *row = query(&in, orr_study_sql__blame, change);
    while (orr_results_step(&in, row)) {
        item->longer_jobs = (uint32_t)sqlite3_column_int64(row, 0);
        item->longer_gpu_h = sqlite3_column_double(row, 1);
        item->shorter_jobs = (uint32_t)sqlite3_column_int64(row, 2);
        item->shorter_gpu_h = sqlite3_column_double(row, 3);
    }
    row = query(&in, orr_study_sql__blame_queue, change);
    while (orr_results_step(&in, row)) {
        const char *shown = orr_results_shown(&in, orr_results_text(&in, row, 0));
        item->most_queue = orr_arena_strndup(&b->out->arena, shown, strlen(shown));
        item->most_queue_gpu_h = sqlite3_column_double(row, 1);
    }
    row = query(&in, orr_study_sql__blame_most, change);
    while (orr_results_step(&in, row)) {
        item->most_job = keep(b, &in, row, 0);
        item->most_job_s = sqlite3_column_double(row, 1) / 1000;
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

static int by_blame(const void *a, const void *b, void *context)
{
    const struct orr_blamed *x = a, *y = b;
    (void)context;
    return x->longer_gpu_h > y->longer_gpu_h   ? -1
           : x->longer_gpu_h < y->longer_gpu_h ? 1
                                               : strcmp(x->name, y->name);
}

enum orr_status orr_blame_find(const struct orr_blame_options *options, struct orr_blame *out,
                               struct orr_err *err)
{
    struct blame b = {.options = options, .out = out, .err = err};
    *out = (struct orr_blame){0};
    orr_arena_init(&out->arena);
    enum orr_status status = list_suspects(&b);
    status = status == ORR_OK ? list_points(&b) : status;
    status =
        status == ORR_OK ? orr_study_run(b.points, out->count + 1, &options->study, err) : status;
    status = status == ORR_OK
                 ? orr_study__check_rerun(options->results, b.points[out->count].output, err)
                 : status;
    for (uint32_t i = 0; i < out->count && status == ORR_OK; i++) {
        status = hold_against(&b, i);
    }
    if (status == ORR_OK) {
        orr_sort(out->items, out->count, sizeof *out->items, by_blame, NULL);
    }
    if (b.scratch[0] != '\0') {
        orr_scratch_remove(b.scratch);
    }
    return status;
}

void orr_blame_release(struct orr_blame *blame)
{
    orr_arena_release(&blame->arena);
    *blame = (struct orr_blame){0};
}
