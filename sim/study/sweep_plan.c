/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_plan.c - an experiment's points, each resolved, checked and given its key. */
#include <orrery/sim/sweep.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/sim/store.h>
#include <orrery/sim/sweep_spec.h>
#include <orrery/traces/pack.h>

#include "study_int.h"
#include "sweep_int.h"
#include "sweep_sql.h"

struct trace {
    const char *path, *sum;
};

struct plan {
    const struct orr_sweep_spec *spec;
    const struct orr_scenario_options *base; /* what every arm starts from */
    const char *place; /* the file from which the way to the base's folder starts */
    struct orr_sweep__file file;
    sqlite3_stmt *add_arm, *add_value, *add_point, *add_input;
    struct orr_arena arena;
    struct trace *traces; /* hashed so far */
    uint32_t trace_count, trace_room;
    uint32_t arms, points;
    struct orr_err *err;
};

/* SHA-256 of a trace; each file is read once. NULL: err says why. */
static const char *sum_of(struct plan *plan, const char *path)
{
    for (uint32_t i = 0; i < plan->trace_count; i++) {
        if (strcmp(plan->traces[i].path, path) == 0) {
            return plan->traces[i].sum;
        }
    }
    plan->traces = ORR_ROOM_FOR_ONE(plan->traces, plan->trace_count, plan->trace_room);
    struct trace *trace = &plan->traces[plan->trace_count];
    char sum[ORR_SHA256_TEXT];
    if (orr_file_sha256(path, sum, plan->err) != ORR_OK) {
        return NULL;
    }
    *trace = (struct trace){orr_arena_strndup(&plan->arena, path, strlen(path)),
                            orr_arena_strndup(&plan->arena, sum, strlen(sum))};
    plan->trace_count++;
    sqlite3_bind_text(plan->add_input, 1, path, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(plan->add_input, 2, trace->sum, -1, SQLITE_TRANSIENT);
    orr_sweep__insert(&plan->file, plan->add_input);
    return trace->sum;
}

/* A sum of what the points of an arm are made of but for their seeds: program, scenario, traces. */
static enum orr_status arm_sum(struct plan *plan, const struct orr_scenario *scenario,
                               char sum[ORR_SHA256_TEXT])
{
    const char **parts =
        orr_arena_alloc(&plan->arena, scenario->part_count + (size_t)2, sizeof *parts);
    parts[0] = ORR_VERSION;
    parts[1] = scenario->resolved_yaml;
    for (uint32_t p = 0; p < scenario->part_count; p++) {
        const char *trace = scenario->parts[p].trace;
        parts[2 + p] = trace != NULL ? sum_of(plan, trace) : "";
        if (parts[2 + p] == NULL) {
            return plan->err->status;
        }
    }
    orr_texts_sha256(parts, scenario->part_count + (size_t)2, sum);
    return ORR_OK;
}

static void add_points(struct plan *plan, const struct orr_scenario *scenario, const char *arm)
{
    for (uint32_t r = 0; r < plan->spec->replicas; r++) {
        const uint64_t seed = scenario->seed_first + r;
        char number[24], sum[ORR_SHA256_TEXT];
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
        orr_texts_sha256((const char *const[]){arm, number}, 2, sum);
        sqlite3_bind_int64(plan->add_point, 1, plan->points++);
        sqlite3_bind_text(plan->add_point, 2, sum, ORR_SWEEP_KEY - 1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(plan->add_point, 3, plan->arms);
        sqlite3_bind_int64(plan->add_point, 4, (int64_t)seed);
        orr_sweep__insert(&plan->file, plan->add_point);
    }
}

/* One arm: `values` in the order of the axes; or a listed point, of no axis. */
static enum orr_status add_arm(struct plan *plan, const struct orr_sweep_value *const *values,
                               uint32_t count, bool is_listed)
{
    uint32_t shaken, sets = 0;
    const struct orr_shake shake = {plan->spec->shake_submit_ms, plan->spec->shake_run};
    const char *const *shakes = orr_shake_sets(&plan->arena, &shake, &shaken);
    char label[1000] = "";
    for (uint32_t i = 0; i < count; i++) {
        const size_t used = strlen(label);
        (void)snprintf(label + used, sizeof label - used, "%s%s", i > 0 ? ", " : "",
                       values[i]->label);
        sets += values[i]->set_count;
    }
    struct orr_scenario_options options = *plan->base;
    const char **bases =
        orr_arena_alloc(&plan->arena, options.base_count + sets + (size_t)1, sizeof *bases);
    const char **ends =
        orr_arena_alloc(&plan->arena, options.set_count + shaken + (size_t)1, sizeof *ends);
    sets = options.base_count;
    for (uint32_t i = 0; i < sets; i++) {
        bases[i] = options.bases[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(bases + sets, values[i]->sets, values[i]->set_count * sizeof *bases);
        sets += values[i]->set_count;
    }
    for (uint32_t i = 0; i < options.set_count + shaken; i++) {
        ends[i] = i < options.set_count ? options.sets[i] : shakes[i - options.set_count];
    }
    options.bases = bases;
    options.base_count = sets;
    options.sets = ends;
    options.set_count += shaken;
    struct orr_scenario scenario;
    enum orr_status status = orr_scenario_load(&options, &scenario, plan->err);
    if (status != ORR_OK) {
        if (count > 0) {
            orr_err_prefix(plan->err, "%s: point %s", values[0]->origin, label);
        }
        return status;
    }
    if (count == 0) { /* one setting, with nothing beside it to tell it from */
        (void)snprintf(label, sizeof label, "%s%s%s", scenario.name,
                       options.variant != NULL ? " " : "",
                       options.variant != NULL ? options.variant : "");
    }
    char sum[ORR_SHA256_TEXT];
    status = arm_sum(plan, &scenario, sum);
    if (status == ORR_OK) {
        sqlite3_bind_int64(plan->add_arm, 1, plan->arms);
        sqlite3_bind_text(plan->add_arm, 2, label, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(plan->add_arm, 3, scenario.resolved_yaml, -1, SQLITE_TRANSIENT);
        orr_sweep__insert(&plan->file, plan->add_arm);
        for (uint32_t i = 0; i < count && !is_listed; i++) {
            sqlite3_bind_int64(plan->add_value, 1, plan->arms);
            sqlite3_bind_int64(plan->add_value, 2, i);
            sqlite3_bind_text(plan->add_value, 3, values[i]->label, -1, SQLITE_TRANSIENT);
            orr_sweep__insert(&plan->file, plan->add_value);
        }
        add_points(plan, &scenario, sum);
        plan->arms++;
    }
    orr_scenario_release(&scenario);
    return status == ORR_OK ? plan->file.status : status;
}

/* Every combination of the axes, the first varying slowest; then what is listed. */
static enum orr_status add_arms(struct plan *plan)
{
    const struct orr_sweep_spec *spec = plan->spec;
    const struct orr_sweep_value **values =
        orr_arena_alloc(&plan->arena, spec->axis_count + (size_t)1, sizeof *values);
    uint64_t arms = spec->axis_count > 0 || spec->point_count == 0;
    for (uint32_t a = 0; a < spec->axis_count; a++) {
        arms *= spec->axes[a].value_count;
        if (arms * spec->replicas > ORR_SWEEP__MOST) {
            break;
        }
    }
    if ((arms + spec->point_count) * spec->replicas > ORR_SWEEP__MOST) {
        return orr_fail(plan->err, ORR_SCENARIO, "more than %u points: fewer values or replicas",
                        (unsigned)ORR_SWEEP__MOST);
    }
    enum orr_status status = ORR_OK;
    for (uint64_t i = 0; i < arms && status == ORR_OK; i++) {
        uint64_t rest = i;
        for (uint32_t a = spec->axis_count; a-- > 0;) {
            values[a] = &spec->axes[a].values[rest % spec->axes[a].value_count];
            rest /= spec->axes[a].value_count;
        }
        status = add_arm(plan, values, spec->axis_count, false);
    }
    for (uint32_t i = 0; i < spec->point_count && status == ORR_OK; i++) {
        values[0] = &spec->points[i];
        status = add_arm(plan, values, 1, true);
    }
    return status;
}

/* Two points that are the same run would write one file. */
static enum orr_status refuse_twins(struct plan *plan)
{
    sqlite3_stmt *row = orr_sweep__prepare(&plan->file, orr_sweep_sql__twins);
    enum orr_status status = ORR_OK;
    if (row != NULL && sqlite3_step(row) == SQLITE_ROW) {
        status = orr_fail(
            plan->err, ORR_SCENARIO,
            "points %lld (%s) and %lld (%s) are the same run: leave one out",
            (long long)sqlite3_column_int64(row, 0), (const char *)sqlite3_column_text(row, 2),
            (long long)sqlite3_column_int64(row, 1), (const char *)sqlite3_column_text(row, 3));
    }
    (void)sqlite3_finalize(row);
    return status;
}

/* The row of the sweep and the names of its axes; the base alone says name and folder. */
static enum orr_status add_sweep(struct plan *plan)
{
    struct orr_scenario base;
    enum orr_status status = orr_scenario_load(plan->base, &base, plan->err);
    if (status != ORR_OK) {
        return status;
    }
    char *folder = realpath(base.folder[0] != '\0' ? base.folder : ".", NULL), way[4096] = "";
    if (folder == NULL || !orr_study__way(plan->place, folder, way, sizeof way)) {
        way[0] = '\0';
    }
    sqlite3_stmt *row = orr_sweep__prepare(&plan->file, orr_sweep_sql__add_sweep);
    sqlite3_bind_text(row, 1, base.name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(row, 2, ORR_VERSION, -1, SQLITE_STATIC);
    sqlite3_bind_int(row, 3, ORR_STORE_VERSION);
    sqlite3_bind_text(row, 4, folder != NULL ? folder : "", -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(row, 5, way, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(row, 6, plan->points);
    sqlite3_bind_int64(row, 7, plan->arms);
    sqlite3_bind_int64(row, 8, plan->spec->time_ms);
    sqlite3_bind_int64(row, 9, plan->spec->memory_bytes);
    sqlite3_bind_int64(row, 10, plan->spec->allow_loss_ppm);
    orr_sweep__insert(&plan->file, row);
    (void)sqlite3_finalize(row);
    row = orr_sweep__prepare(&plan->file, orr_sweep_sql__add_axis);
    for (uint32_t a = 0; a < plan->spec->axis_count; a++) {
        sqlite3_bind_int64(row, 1, a);
        sqlite3_bind_text(row, 2, plan->spec->axes[a].name, -1, SQLITE_TRANSIENT);
        orr_sweep__insert(&plan->file, row);
    }
    (void)sqlite3_finalize(row);
    free(folder);
    orr_scenario_release(&base);
    return plan->file.status;
}

static enum orr_status write_plan(struct plan *plan, const char *path)
{
    enum orr_status status = orr_sweep__create(&plan->file, path, orr_sweep_schema_sql, plan->err);
    if (status != ORR_OK) {
        return status;
    }
    plan->add_arm = orr_sweep__prepare(&plan->file, orr_sweep_sql__add_arm);
    plan->add_value = orr_sweep__prepare(&plan->file, orr_sweep_sql__add_value);
    plan->add_point = orr_sweep__prepare(&plan->file, orr_sweep_sql__add_point);
    plan->add_input = orr_sweep__prepare(&plan->file, orr_sweep_sql__add_input);
    status = plan->file.status == ORR_OK ? add_arms(plan) : plan->file.status;
    if (status == ORR_OK) {
        status = refuse_twins(plan);
    }
    if (status == ORR_OK) {
        status = add_sweep(plan);
    }
    sqlite3_stmt *const all[] = {plan->add_arm, plan->add_value, plan->add_point, plan->add_input};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        (void)sqlite3_finalize(all[i]);
    }
    return orr_sweep__put_in_place(&plan->file, status);
}

static enum orr_status make_folder(const char *path, struct orr_err *err)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? ORR_OK
               : orr_fail(err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
}

enum orr_status orr_sweep_plan(const char *spec_path, const char *folder, uint32_t allow_loss_ppm,
                               struct orr_err *err)
{
    struct orr_sweep_spec spec;
    enum orr_status status = orr_sweep_spec_load(spec_path, &spec, err);
    if (status == ORR_OK) {
        const struct orr_scenario_options base = {.path = spec.base};
        spec.allow_loss_ppm = allow_loss_ppm;
        status = orr_sweep__plan(&spec, &base, NULL, folder, err);
        orr_sweep_spec_release(&spec);
    }
    return status;
}

enum orr_status orr_sweep__plan(const struct orr_sweep_spec *spec,
                                const struct orr_scenario_options *base, const char *place,
                                const char *folder, struct orr_err *err)
{
    struct plan plan = {.spec = spec, .base = base, .err = err};
    char path[4200], points[4200];
    (void)snprintf(path, sizeof path, "%s/plan.db", folder);
    (void)snprintf(points, sizeof points, "%s/points", folder);
    if (orr_is_taken(path)) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: holds a plan already; name another folder",
                        folder);
    }
    plan.place = place != NULL ? place : path;
    orr_arena_init(&plan.arena);
    enum orr_status status;
    const bool is_new = mkdir(folder, 0777) == 0;
    status = is_new ? ORR_OK : make_folder(folder, err);
    if (status == ORR_OK) {
        status = make_folder(points, err);
    }
    if (status == ORR_OK) {
        status = write_plan(&plan, path);
    }
    if (status != ORR_OK && is_new) {
        (void)rmdir(points);
        (void)rmdir(folder);
    }
    orr_free(plan.traces);
    orr_arena_release(&plan.arena);
    return status;
}
