/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep.c - the points of a plan: which are done, and running those that are not. */
#include <orrery/base/text.h>
#include <orrery/sim/sweep.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/sim/store.h>
#include <orrery/sim/temporary.h>

#include "study_int.h"
#include "sweep_int.h"
#include "sweep_sql.h"

static char *text_of(struct orr_sweep *sweep, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return orr_arena_strndup(&sweep->arena, text != NULL ? text : "",
                             text != NULL ? strlen(text) : 0);
}

/* Steps; false at the end and on failure, which makes `status` ORR_DATA. */
static bool next(sqlite3 *db, sqlite3_stmt *row, const char *path, enum orr_status *status,
                 struct orr_err *err)
{
    const int code = row != NULL && *status == ORR_OK ? sqlite3_step(row) : SQLITE_DONE;
    if (code == SQLITE_ROW) {
        return true;
    }
    if (row == NULL || code != SQLITE_DONE) {
        *status =
            orr_fail(err, ORR_DATA, "%s: not the plan of a sweep: %s", path, sqlite3_errmsg(db));
    }
    (void)sqlite3_finalize(row);
    return false;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    (void)sqlite3_prepare_v2(db, sql, -1, &row, NULL);
    return row;
}

static enum orr_status read_head(struct orr_sweep *sweep, sqlite3 *db, const char *path,
                                 struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    bool found = false;
    sqlite3_stmt *row = prepare(db, orr_sweep_sql__sweep);
    while (next(db, row, path, &status, err)) {
        const char *version = text_of(sweep, row, 1);
        found = true;
        if (strcmp(version, ORR_VERSION) != 0 || sqlite3_column_int(row, 2) != ORR_STORE_VERSION) {
            (void)sqlite3_finalize(row);
            return orr_fail(err, ORR_DATA,
                            "%s: planned with orrery %s (results schema %d), and this is %s (%d): "
                            "one sweep is run by one program; plan it again into another folder",
                            path, version, sqlite3_column_int(row, 2), ORR_VERSION,
                            ORR_STORE_VERSION);
        }
        sweep->name = text_of(sweep, row, 0);
        sweep->scenario_folder =
            orr_study__place(path, text_of(sweep, row, 3), text_of(sweep, row, 4), &sweep->arena);
        sweep->point_count = (uint32_t)sqlite3_column_int64(row, 5);
        sweep->arm_count = (uint32_t)sqlite3_column_int64(row, 6);
        sweep->time_ms = sqlite3_column_int64(row, 7);
        sweep->memory_bytes = (uint64_t)sqlite3_column_int64(row, 8);
        sweep->allow_loss_ppm = (uint32_t)sqlite3_column_int64(row, 9);
    }
    return status == ORR_OK && (!found || sweep->point_count > ORR_SWEEP__MOST ||
                                sweep->arm_count > ORR_SWEEP__MOST)
               ? orr_fail(err, ORR_DATA, "%s: not the plan of a sweep", path)
               : status;
}

static bool is_key(const char *key)
{
    return strlen(key) == ORR_SWEEP_KEY - 1 && strspn(key, "0123456789abcdef") == ORR_SWEEP_KEY - 1;
}

static enum orr_status read_points(struct orr_sweep *sweep, sqlite3 *db, const char *path,
                                   struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    uint32_t points = 0, arms = 0;
    sweep->points =
        orr_arena_alloc(&sweep->arena, sweep->point_count + (size_t)1, sizeof *sweep->points);
    sweep->scenarios =
        orr_arena_alloc(&sweep->arena, sweep->arm_count + (size_t)1, sizeof *sweep->scenarios);
    sqlite3_stmt *row = prepare(db, orr_sweep_sql__points);
    while (next(db, row, path, &status, err)) {
        const char *key = text_of(sweep, row, 1);
        const int64_t arm = sqlite3_column_int64(row, 2);
        if (points >= sweep->point_count || !is_key(key) || arm < 0 || arm >= sweep->arm_count) {
            status =
                orr_fail(err, ORR_DATA, "%s: point %u is none of the plan", path, (unsigned)points);
            continue;
        }
        struct orr_sweep_point *point = &sweep->points[points++];
        *point = (struct orr_sweep_point){.arm = (uint32_t)arm,
                                          .seed = (uint64_t)sqlite3_column_int64(row, 3),
                                          .label = text_of(sweep, row, 4)};
        memcpy(point->key, key, ORR_SWEEP_KEY);
    }
    row = prepare(db, orr_sweep_sql__arms);
    while (next(db, row, path, &status, err)) {
        if (arms < sweep->arm_count) {
            sweep->scenarios[arms] = text_of(sweep, row, 1);
        }
        arms++;
    }
    return status == ORR_OK && (points != sweep->point_count || arms != sweep->arm_count)
               ? orr_fail(err, ORR_DATA, "%s: %u point%s of %u", path, (unsigned)points,
                          ORR_PLURAL(points), (unsigned)sweep->point_count)
               : status;
}

enum orr_status orr_sweep_open(const char *folder, struct orr_sweep *sweep, struct orr_err *err)
{
    char path[4200];
    sqlite3 *db = NULL;
    *sweep = (struct orr_sweep){0};
    orr_arena_init(&sweep->arena);
    sweep->folder = orr_arena_strndup(&sweep->arena, folder, strlen(folder));
    (void)snprintf(path, sizeof path, "%s/plan.db", folder);
    enum orr_status status =
        access(path, R_OK) == 0 ? ORR_OK
        : errno == ENOTDIR
            ? orr_fail(err, ORR_NO_INPUT,
                       "%s: a file, and no folder of a plan: `orrery sweep plan EXP.yaml -o DIR` "
                       "makes one",
                       folder)
            : orr_fail(err, ORR_NO_INPUT, "%s: %s; `orrery sweep plan` makes it", path,
                       strerror(errno));
    if (status == ORR_OK && sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        status = orr_fail(err, ORR_NO_INPUT, "%s: %s", path, sqlite3_errmsg(db));
    }
    if (status == ORR_OK) {
        status = read_head(sweep, db, path, err);
    }
    if (status == ORR_OK) {
        status = read_points(sweep, db, path, err);
    }
    (void)sqlite3_close(db);
    if (status != ORR_OK) {
        orr_sweep_close(sweep);
    }
    return status;
}

void orr_sweep_close(struct orr_sweep *sweep)
{
    orr_arena_release(&sweep->arena);
    *sweep = (struct orr_sweep){0};
}

void orr_sweep__path(const struct orr_sweep *sweep, uint32_t point, const char *suffix, char *path,
                     size_t bytes)
{
    (void)snprintf(path, bytes, "%s/points/%s%s", sweep->folder, sweep->points[point].key, suffix);
}

/* A file that a run put there is a database of as many pages as its header says. One that was cut
 * short since, or is something else, is no results. */
static bool is_whole(const char *path)
{
    enum { HEADER = 32, PAGE_SIZE_AT = 16, PAGES_AT = 28 }; /* numbers begin with their high byte */
    static const char magic[] = "SQLite format 3";
    unsigned char head[HEADER];
    struct stat file;
    FILE *in = fopen(path, "rb");
    const bool read = in != NULL && fread(head, 1, HEADER, in) == HEADER;
    const bool known = in != NULL && fstat(fileno(in), &file) == 0;
    if (in != NULL) {
        (void)fclose(in);
    }
    if (!read || !known || memcmp(head, magic, sizeof magic) != 0) {
        return false;
    }
    const uint32_t stated = (uint32_t)head[PAGE_SIZE_AT] << 8 | head[PAGE_SIZE_AT + 1];
    const uint32_t page = stated == 1 ? 65536 : stated; /* it has no room for that number */
    const uint32_t pages = (uint32_t)head[PAGES_AT] << 24 | (uint32_t)head[PAGES_AT + 1] << 16 |
                           (uint32_t)head[PAGES_AT + 2] << 8 | head[PAGES_AT + 3];
    return (uint64_t)file.st_size == (uint64_t)page * pages;
}

enum orr_sweep_state orr_sweep_state(const struct orr_sweep *sweep, uint32_t point, char *why,
                                     size_t bytes)
{
    char path[4300];
    why[0] = '\0';
    orr_sweep__path(sweep, point, ".db", path, sizeof path);
    if (is_whole(path)) {
        return ORR_SWEEP_DONE;
    }
    if (access(path, F_OK) == 0) {
        (void)snprintf(why, bytes, "points/%s.db is no whole results file, and is run again",
                       sweep->points[point].key);
        return ORR_SWEEP_MISSING;
    }
    orr_sweep__path(sweep, point, ".err", path, sizeof path);
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        return ORR_SWEEP_MISSING;
    }
    const size_t got = fread(why, 1, bytes - 1, in);
    why[got] = '\0';
    why[strcspn(why, "\n")] = '\0';
    (void)fclose(in);
    return ORR_SWEEP_FAILED;
}

/* "KEY.db.tmp.": of a point of these. */
static bool is_temporary_of(const struct orr_sweep *sweep, uint32_t first, uint32_t count,
                            const char *name)
{
    static const char infix[] = ".db.tmp.";
    const size_t key_bytes = ORR_SWEEP_KEY - 1;
    bool is = false;
    if (strlen(name) <= key_bytes || strncmp(name + key_bytes, infix, sizeof infix - 1) != 0) {
        return false;
    }
    for (uint32_t i = first; i < sweep->point_count && i - first < count && !is; i++) {
        is = memcmp(name, sweep->points[i].key, key_bytes) == 0;
    }
    return is;
}

uint32_t orr_sweep_remove_stale(const struct orr_sweep *sweep, uint32_t first, uint32_t count)
{
    char path[4700];
    uint32_t removed = 0;
    (void)snprintf(path, sizeof path, "%s/points", sweep->folder);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (is_temporary_of(sweep, first, count, entry->d_name)) {
            (void)snprintf(path, sizeof path, "%s/points/%s", sweep->folder, entry->d_name);
            removed += orr_temporary_remove_stale(path);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return removed;
}

struct todo { /* who listens to the runs of a sweep */
    const struct orr_sweep *sweep;
    const uint32_t *points; /* numbers of those that run */
    const struct orr_study_options *options;
};

#define EXIT_WORD "exit "

int orr_sweep_failure_code(const char *why)
{
    return strncmp(why, EXIT_WORD, strlen(EXIT_WORD)) == 0
               ? (int)strtol(why + strlen(EXIT_WORD), NULL, 10)
               : 0;
}

static void keep_end(uint32_t nr, enum orr_status status, const char *text, void *context)
{
    const struct todo *todo = context;
    char path[4300];
    orr_sweep__path(todo->sweep, todo->points[nr], ".err", path, sizeof path);
    if (status == ORR_OK) {
        (void)unlink(path);
    } else {
        FILE *out = fopen(path, "w"); /* what cannot be written is missing, which is true as well */
        if (out != NULL) {
            (void)fprintf(out, EXIT_WORD "%d: %s\n", orr_status_exit_code(status), text);
            (void)fclose(out);
        }
    }
    if (todo->options->ended != NULL) {
        todo->options->ended(todo->points[nr], status, text, todo->options->context);
    }
}

static void hand_on(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    const struct todo *todo = context;
    if (todo->options->progress != NULL) {
        todo->options->progress(done, total, now, todo->options->context);
    }
}

/* What points read must be as it was planned with: keys name the contents. */
static enum orr_status check_inputs(const struct orr_sweep *sweep, struct orr_err *err)
{
    char plan[4200];
    sqlite3 *db = NULL;
    enum orr_status status = ORR_OK;
    (void)snprintf(plan, sizeof plan, "%s/plan.db", sweep->folder);
    (void)sqlite3_open_v2(plan, &db, SQLITE_OPEN_READONLY, NULL);
    sqlite3_stmt *row = prepare(db, orr_sweep_sql__inputs);
    while (next(db, row, plan, &status, err)) {
        /* one that is not there may be found by the way from the plan */
        status = orr_study__check_input((const char *)sqlite3_column_text(row, 0),
                                        (const char *)sqlite3_column_text(row, 1),
                                        "the sweep was planned with; plan it again into another "
                                        "folder",
                                        err);
    }
    (void)sqlite3_close(db);
    return status;
}

enum orr_status orr_sweep_run(const struct orr_sweep *sweep, uint32_t first, uint32_t count,
                              const struct orr_study_options *options, struct orr_err *err)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct orr_point_options *runs = orr_arena_alloc(&arena, count + (size_t)1, sizeof *runs);
    uint32_t *points = orr_arena_alloc(&arena, count + (size_t)1, sizeof *points), todo_count = 0;
    for (uint32_t i = first; i < sweep->point_count && i - first < count; i++) {
        char path[4300], why[2];
        if (orr_sweep_state(sweep, i, why, sizeof why) == ORR_SWEEP_DONE) {
            continue;
        }
        orr_sweep__path(sweep, i, ".db", path, sizeof path);
        const struct orr_sweep_point *point = &sweep->points[i];
        const char *text = sweep->scenarios[point->arm];
        points[todo_count] = i;
        runs[todo_count++] =
            (struct orr_point_options){.scenario = {.path = point->label,
                                                    .text = text,
                                                    .text_bytes = strlen(text),
                                                    .folder = sweep->scenario_folder,
                                                    .seed = point->seed,
                                                    .seed_given = true},
                                       .output = orr_arena_strndup(&arena, path, strlen(path)),
                                       .allow_loss_ppm = sweep->allow_loss_ppm,
                                       .force = true}; /* another who runs it writes the same */
    }
    struct todo todo = {sweep, points, options};
    struct orr_study_options study = *options;
    study.ended = keep_end;
    study.progress = hand_on;
    study.context = &todo;
    study.time_ms = sweep->time_ms;
    study.memory_bytes = sweep->memory_bytes;
    enum orr_status status = todo_count > 0 ? check_inputs(sweep, err) : ORR_OK;
    if (status == ORR_OK) {
        status = orr_study_run(runs, todo_count, &study, err);
    }
    orr_arena_release(&arena);
    return status;
}
