/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.c - files that say where a run stood. */
#include <orrery/sim/state.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study_int.h"
#include "sweep_int.h"
#include "state_sql.h"

static void digest_text(uint64_t digest, char out[20])
{
    (void)snprintf(out, 20, "%016llx", (unsigned long long)digest);
}

static void add_state(struct orr_sweep__file *file, const struct orr_point *point,
                      const struct orr_held *held, uint32_t allow_loss_ppm)
{
    const struct orr_scenario *scenario = &point->scenario;
    char *folder = realpath(scenario->folder[0] != '\0' ? scenario->folder : ".", NULL);
    char way[4096] = "", digest[20];
    if (folder == NULL || !orr_study__way(file->path, folder, way, sizeof way)) {
        way[0] = '\0';
    }
    digest_text(held->digest, digest);
    sqlite3_stmt *row = orr_sweep__prepare(file, orr_state_sql__add);
    const char *const texts[] = {scenario->name, ORR_VERSION, scenario->resolved_yaml,
                                 folder != NULL ? folder : "", way};
    const int64_t numbers[] = {(int64_t)scenario->seed_first, allow_loss_ppm, held->at_ms,
                               (int64_t)held->events, (int64_t)held->cycles};
    for (int i = 0; row != NULL && i < 5; i++) {
        (void)sqlite3_bind_text(row, i + 1, texts[i], -1, SQLITE_TRANSIENT);
        (void)sqlite3_bind_int64(row, i + 6, numbers[i]);
    }
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 11, digest, -1, SQLITE_TRANSIENT);
        orr_sweep__insert(file, row);
    }
    (void)sqlite3_finalize(row);
    free(folder);
}

static void add_inputs(struct orr_sweep__file *file, const struct orr_world *world)
{
    sqlite3_stmt *row = orr_sweep__prepare(file, orr_state_sql__add_input);
    for (uint32_t p = 0; row != NULL && p < world->part_count; p++) {
        const struct orr_world_part *part = &world->parts[p];
        if (part->part->trace != NULL && part->workload.sha256[0] != '\0') {
            (void)sqlite3_bind_text(row, 1, part->part->trace, -1, SQLITE_TRANSIENT);
            (void)sqlite3_bind_text(row, 2, part->workload.sha256, -1, SQLITE_TRANSIENT);
            orr_sweep__insert(file, row);
        }
    }
    (void)sqlite3_finalize(row);
}

enum orr_status orr_state_write(const char *path, const struct orr_point *point,
                                const struct orr_held *held, uint32_t allow_loss_ppm,
                                struct orr_err *err)
{
    struct orr_sweep__file file;
    const enum orr_status status = orr_sweep__create(&file, path, orr_state_schema_sql, err);
    if (status != ORR_OK) {
        return status;
    }
    add_state(&file, point, held, allow_loss_ppm);
    add_inputs(&file, &point->world);
    return orr_sweep__put_in_place(&file, file.status);
}

/* --- reading --- */

static const char *text_of(struct orr_state *state, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return orr_arena_strndup(&state->arena, text != NULL ? text : "",
                             text != NULL ? strlen(text) : 0);
}

static bool read_row(const char *path, sqlite3 *db, struct orr_state *state)
{
    sqlite3_stmt *row = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(db, orr_state_sql__read, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW) {
        state->name = text_of(state, row, 0);
        state->version = text_of(state, row, 1);
        state->text = text_of(state, row, 2);
        state->folder =
            orr_study__place(path, text_of(state, row, 3), text_of(state, row, 4), &state->arena);
        state->seed = (uint64_t)sqlite3_column_int64(row, 5);
        state->allow_loss_ppm = (uint32_t)sqlite3_column_int64(row, 6);
        state->held = (struct orr_held){
            .at_ms = sqlite3_column_int64(row, 7),
            .events = (uint64_t)sqlite3_column_int64(row, 8),
            .cycles = (uint64_t)sqlite3_column_int64(row, 9),
            .digest = strtoull((const char *)sqlite3_column_text(row, 10), NULL, 16)};
        found = true;
    }
    (void)sqlite3_finalize(row);
    return found;
}

static enum orr_status check_inputs(sqlite3 *db, const char *path, struct orr_err *err)
{
    sqlite3_stmt *row = NULL;
    enum orr_status status = ORR_OK;
    (void)sqlite3_prepare_v2(db, orr_state_sql__inputs, -1, &row, NULL);
    while (status == ORR_OK && row != NULL && sqlite3_step(row) == SQLITE_ROW) {
        char of[4200];
        (void)snprintf(of, sizeof of, "the run of %.4000s read: save that anew", path);
        status = orr_study__check_input((const char *)sqlite3_column_text(row, 0),
                                        (const char *)sqlite3_column_text(row, 1), of, err);
    }
    (void)sqlite3_finalize(row);
    return status;
}

enum orr_status orr_state_read(const char *path, struct orr_state *state, struct orr_err *err)
{
    sqlite3 *db = NULL;
    enum orr_status status = ORR_OK;
    *state = (struct orr_state){0};
    orr_arena_init(&state->arena);
    if (access(path, R_OK) != 0) {
        status = orr_fail(err, ORR_NO_INPUT, "%s: %s", path, strerror(errno));
    } else if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
               !read_row(path, db, state)) {
        status = orr_fail(err, ORR_DATA, "%s: not a state that `orrery run --save-at` wrote", path);
    } else {
        status = check_inputs(db, path, err);
    }
    (void)sqlite3_close(db);
    if (status != ORR_OK) {
        orr_state_release(state);
    }
    return status;
}

void orr_state_release(struct orr_state *state)
{
    orr_arena_release(&state->arena);
    *state = (struct orr_state){0};
}

enum orr_status orr_state_check(const char *path, const struct orr_state *state,
                                const struct orr_held *held, struct orr_err *err)
{
    if (held->digest == state->held.digest && held->events == state->held.events &&
        held->cycles == state->held.cycles) {
        return ORR_OK;
    }
    char was[20], is[20], events[80] = "";
    if (held->events != state->held.events) {
        (void)snprintf(events, sizeof events, "; events %llu, not %llu",
                       (unsigned long long)held->events, (unsigned long long)state->held.events);
    }
    digest_text(state->held.digest, was);
    digest_text(held->digest, is);
    return orr_fail(err, ORR_DATA,
                    "%s: run again, it does not come there: digest %s, not %s%s (saved by orrery "
                    "%s, this is %s); more nodes of a pool number racks, and the nodes of pools "
                    "behind it, otherwise from the begin on: `orrery whatif --at` takes such a "
                    "change",
                    path, is, was, events, state->version, ORR_VERSION);
}
