/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/results.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/analysis/views.h>
#include <orrery/base/text.h>

#include "results_sql.h"

static bool is_scenario(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static void db_failed(struct orr_results *results)
{
    if (results->status != ORR_OK) {
        return;
    }
    int code = sqlite3_errcode(results->db) & 0xff;
    if (code == SQLITE_NOMEM) {
        orr_out_of_memory();
    }
    if (code == SQLITE_INTERRUPT) {
        results->status = orr_fail(results->err, ORR_INTERRUPTED, "interrupted");
    } else if (code == SQLITE_NOTADB) {
        results->status =
            orr_fail(results->err, ORR_DATA,
                     is_scenario(results->path)
                         ? "%s: a scenario, and no results file: run it first (orrery run, -o R.db)"
                         : "%s: not a results file (not SQLite)",
                     results->path);
    } else if (code == SQLITE_IOERR || code == SQLITE_BUSY || code == SQLITE_CANTOPEN) {
        results->status =
            orr_fail(results->err, ORR_IO, "%s: %s", results->path, sqlite3_errmsg(results->db));
    } else {
        results->status = orr_fail(results->err, ORR_DATA, "%s: not a whole results file (%s)",
                                   results->path, sqlite3_errmsg(results->db));
    }
}

/* The program's own views, under the names of those in the file, which they hide: a view that
 * somebody changed may never end. They take longer than most statements, hence only before the
 * first that names one. */
static void shadow_views(struct orr_results *results)
{
    static const char begin[] = "CREATE VIEW ";
    char *sql = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&sql, &bytes);
    ORR_ASSERT(out != NULL);
    const char *rest = orr_views_sql;
    for (const char *at; (at = strstr(rest, begin)) != NULL; rest = at + strlen(begin)) {
        (void)fprintf(out, "%.*sCREATE TEMP VIEW ", (int)(at - rest), rest);
    }
    (void)fputs(rest, out);
    (void)fclose(out);
    if (sqlite3_exec(results->db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        db_failed(results);
    }
    free(sql);
}

void orr_results_make_views(struct orr_results *results, const char *sql)
{
    if (results->status == ORR_OK && results->lacks_views && strstr(sql, "v_") != NULL) {
        results->lacks_views = false;
        shadow_views(results);
    }
}

sqlite3_stmt *orr_results_prepare(struct orr_results *results, const char *sql)
{
    sqlite3_stmt *row = NULL;
    orr_results_make_views(results, sql);
    if (results->status == ORR_OK &&
        sqlite3_prepare_v2(results->db, sql, -1, &row, NULL) != SQLITE_OK) {
        db_failed(results);
    }
    return row;
}

bool orr_results_step(struct orr_results *results, sqlite3_stmt *row)
{
    if (results->status == ORR_OK) {
        int code = sqlite3_step(row);
        if (code == SQLITE_ROW) {
            return true;
        }
        if (code != SQLITE_DONE) {
            db_failed(results);
        }
    }
    (void)sqlite3_finalize(row);
    return false;
}

char *orr_results_text(struct orr_results *results, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    if (text == NULL && sqlite3_errcode(results->db) == SQLITE_NOMEM) {
        orr_out_of_memory();
    }
    text = text != NULL ? text : "";
    return orr_arena_strndup(&results->arena, text, strlen(text));
}

static void load_shown(struct orr_results *results)
{
    uint32_t room = 0;
    orr_idmap_init(&results->queues);
    sqlite3_stmt *row = orr_results_prepare(results, orr_results_sql__display_names);
    while (orr_results_step(results, row)) {
        const char *name = orr_results_text(results, row, 0);
        bool added = false;
        const uint32_t queue = orr_idmap_put(&results->queues, name, strlen(name), &added);
        if (added) {
            results->shown = ORR_ROOM_FOR_ONE(results->shown, queue, room);
            results->shown[queue] = orr_results_text(results, row, 1);
        }
    }
}

const char *orr_results_shown(struct orr_results *results, const char *queue)
{
    if (results->shown == NULL) {
        load_shown(results);
    }
    const uint32_t found = orr_idmap_find(&results->queues, queue, strlen(queue));
    return found == ORR_NONE ? queue : results->shown[found];
}

const char *orr_results_shown_label(struct orr_results *results, const char *label)
{
    static const char key[] = "queue=";
    const size_t bytes = strlen(key);
    if (strncmp(label, key, bytes) != 0) {
        return label;
    }
    const char *rest = strstr(label, ",kind=");
    rest = rest != NULL ? rest : label + strlen(label);
    const char *name =
        orr_arena_strndup(&results->arena, label + bytes, (size_t)(rest - label) - bytes);
    const char *shown = orr_results_shown(results, name);
    const size_t room = bytes + strlen(shown) + strlen(rest) + 1;
    char *out = orr_arena_alloc(&results->arena, room, 1);
    (void)snprintf(out, room, "%s%s%s", key, shown, rest);
    return out;
}

const char *orr_results_queue(struct orr_results *results, sqlite3_stmt *row, int column)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL) {
        return NULL;
    }
    const char *name = orr_results_text(results, row, column);
    return results->for_people ? orr_results_shown(results, name) : name;
}

int64_t orr_results_int(struct orr_results *results, const char *sql, int64_t otherwise)
{
    sqlite3_stmt *row = orr_results_prepare(results, sql);
    int64_t value = otherwise;
    if (orr_results_step(results, row)) {
        if (sqlite3_column_type(row, 0) != SQLITE_NULL) {
            value = sqlite3_column_int64(row, 0);
        }
        (void)sqlite3_finalize(row);
    }
    return value;
}

const char *orr_results_when(const struct orr_results *results, orr_ms at, char *out)
{
    return orr_format_clock(out, at, results->origin_ms);
}

/* What statements lean on: rows are in tables, not made by a query that may never end, and a
 * queue's parent comes before it, so that every way up is one. */
static void check_shape(struct orr_results *results)
{
    static const char *const wrong[][2] = {
        {orr_results_sql__views, "is a view, not a table"},
        {orr_results_sql__queues_before_parents, "is a queue below itself or a later one"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0] && results->status == ORR_OK; i++) {
        sqlite3_stmt *row = orr_results_prepare(results, wrong[i][0]);
        if (orr_results_step(results, row)) {
            const char *name = orr_results_text(results, row, 0);
            (void)sqlite3_finalize(row);
            results->status =
                orr_fail(results->err, ORR_DATA, "%s: not a whole results file (\"%.80s\" %s)",
                         results->path, name, wrong[i][1]);
        }
    }
}

static void check_version(struct orr_results *results)
{
    int64_t version = orr_results_int(results, "PRAGMA user_version", 0);
    if (results->status == ORR_OK && orr_results_int(results, orr_results_sql__is_merged, 0) != 0) {
        results->status = orr_fail(results->err, ORR_DATA,
                                   "%s: a merged sweep, which holds metrics of many runs and no "
                                   "jobs; `orrery compare` reads it",
                                   results->path);
    }
    if (results->status == ORR_OK && version != ORR_RESULTS_VERSION) {
        results->status =
            orr_fail(results->err, ORR_DATA,
                     "%s: results of version %lld cannot be read, only of version %d%s",
                     results->path, (long long)version, ORR_RESULTS_VERSION,
                     version == 0 ? " (is it a results file?)" : "");
    }
    if (results->status == ORR_OK && orr_results_int(results, orr_results_sql__runs, 0) != 1 &&
        results->status == ORR_OK) {
        results->status = orr_fail(results->err, ORR_DATA, "%s: not a whole results file (no run)",
                                   results->path);
    }
}

static void open_database(struct orr_results *results, const char *path, struct orr_err *err)
{
    *results = (struct orr_results){.path = path, .err = err, .origin_ms = ORR_MS_NONE};
    orr_arena_init(&results->arena);
    struct stat about;
    if (access(path, R_OK) != 0 || stat(path, &about) != 0) {
        results->status = orr_fail(err, ORR_NO_INPUT, "%s: %s", path, strerror(errno));
        return;
    }
    if (S_ISDIR(about.st_mode)) {
        results->status =
            orr_fail(err, ORR_NO_INPUT, "%s: is a directory, not a results file", path);
        return;
    }
    if (sqlite3_open_v2(path, &results->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK) {
        if (sqlite3_errcode(results->db) == SQLITE_NOMEM) {
            orr_out_of_memory();
        }
        results->status = orr_fail(err, ORR_DATA, "%s: not a results file (%s)", path,
                                   sqlite3_errmsg(results->db));
        return;
    }
    (void)sqlite3_exec(results->db, "PRAGMA temp_store = memory; PRAGMA cache_size = -65536", NULL,
                       NULL, NULL);
}

void orr_results_open(struct orr_results *results, const char *path, struct orr_err *err)
{
    open_database(results, path, err);
    if (results->status != ORR_OK) {
        return;
    }
    check_version(results);
    check_shape(results);
    results->origin_ms = orr_results_int(results, orr_results_sql__origin, ORR_MS_NONE);
    results->lacks_views = true;
}

/* SQLite asks every so many of its instructions whether to go on. */
static int is_interrupted(void *context)
{
    const struct orr_results *results = context;
    return *results->interrupted != 0;
}

void orr_results_interruptible(struct orr_results *results,
                               const volatile sig_atomic_t *interrupted)
{
    results->interrupted = interrupted;
    if (interrupted != NULL && results->db != NULL) {
        sqlite3_progress_handler(results->db, 100000, is_interrupted, results);
    }
}

bool orr_results_is_merged(const char *path)
{
    struct orr_results in;
    struct orr_err ignored = {0};
    open_database(&in, path, &ignored);
    const bool is = orr_results_int(&in, orr_results_sql__is_merged, 0) != 0;
    orr_results_close(&in);
    return is;
}

void orr_results_open_point(struct orr_results *results, const char *path, uint32_t point,
                            struct orr_err *err)
{
    static const char *const views[] = {orr_results_sql__shown, orr_results_sql__point_run,
                                        orr_results_sql__point_metric, orr_results_sql__point_node,
                                        orr_results_sql__point_queue};
    open_database(results, path, err);
    const int64_t version = orr_results_int(results, orr_results_sql__merged_version, 0);
    if (results->status == ORR_OK && version != ORR_RESULTS_VERSION) {
        results->status =
            orr_fail(err, ORR_DATA,
                     "%s: the sweep's results have version %lld, and only version %d can be read",
                     path, (long long)version, ORR_RESULTS_VERSION);
    }
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        sqlite3_stmt *view = orr_results_prepare(results, views[i]);
        if (view != NULL && sqlite3_bind_parameter_count(view) > 0) {
            (void)sqlite3_bind_int64(view, 1, point);
        }
        while (orr_results_step(results, view)) {
        }
    }
}

enum orr_status orr_results_points(const char *path, struct orr_merged_points *points,
                                   struct orr_err *err)
{
    struct orr_results in;
    *points = (struct orr_merged_points){0};
    orr_arena_init(&points->arena);
    open_database(&in, path, err);
    const int64_t most = orr_results_int(&in, orr_results_sql__merged_count, 0);
    uint32_t *ids = orr_arena_alloc(&points->arena, (size_t)most + 1, sizeof *ids);
    uint32_t *arms = orr_arena_alloc(&points->arena, (size_t)most + 1, sizeof *arms);
    const char **labels = orr_arena_alloc(&points->arena, (size_t)most + 1, sizeof *labels);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_results_sql__merged_points);
    while (points->count < most && orr_results_step(&in, row)) {
        const char *label = orr_results_text(&in, row, 2);
        ids[points->count] = (uint32_t)sqlite3_column_int64(row, 0);
        arms[points->count] = (uint32_t)sqlite3_column_int64(row, 1);
        labels[points->count++] = orr_arena_strndup(&points->arena, label, strlen(label));
    }
    row = orr_results_prepare(&in, orr_results_sql__merged_axes);
    while (orr_results_step(&in, row)) {
        const char *axes = orr_results_text(&in, row, 0);
        points->axes =
            axes[0] != '\0' ? orr_arena_strndup(&points->arena, axes, strlen(axes)) : NULL;
    }
    points->points = ids;
    points->arms = arms;
    points->labels = labels;
    const enum orr_status status = in.status;
    orr_results_close(&in);
    if (status != ORR_OK) {
        orr_merged_points_release(points);
    }
    return status;
}

void orr_merged_points_release(struct orr_merged_points *points)
{
    orr_arena_release(&points->arena);
    *points = (struct orr_merged_points){0};
}

void orr_results_close(struct orr_results *results)
{
    /* a reader that met what cannot be leaves its statement open, and an open one keeps the file */
    sqlite3_stmt *open;
    while (results->db != NULL && (open = sqlite3_next_stmt(results->db, NULL)) != NULL) {
        (void)sqlite3_finalize(open);
    }
    (void)sqlite3_close(results->db);
    orr_arena_release(&results->arena);
    orr_idmap_release(&results->queues);
    orr_free(results->shown);
    results->shown = NULL;
    results->db = NULL;
}

enum orr_status orr_results_attach(struct orr_results *results, const char *path,
                                   struct orr_err *err)
{
    struct orr_results other; /* only to be told apart from what is no results file */
    orr_results_open(&other, path, err);
    const enum orr_status status = other.status;
    orr_results_close(&other);
    if (status != ORR_OK) {
        return status;
    }
    sqlite3_stmt *row = orr_results_prepare(results, "ATTACH ?1 AS base");
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, path, -1, SQLITE_STATIC);
    }
    while (orr_results_step(results, row)) {
    }
    return results->status;
}

enum orr_status orr_results_whole(const char *path, const char *so, struct orr_err *err)
{
    struct orr_results in;
    char span[24];
    orr_results_open(&in, path, err);
    const int64_t cut_ms = orr_results_int(&in, orr_results_sql__cut, ORR_MS_NONE);
    if (in.status == ORR_OK && cut_ms != ORR_MS_NONE) {
        in.status =
            orr_fail(err, ORR_DATA, "%s was interrupted after %s: %s; let it run to its end", path,
                     orr_format_rough(span, (double)cut_ms / 1000.0), so);
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
