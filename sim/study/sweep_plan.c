/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_plan.c - an experiment's points, each resolved, checked and given its key. */
#include <orrery/sim/sweep.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/sim/plugin.h>
#include <orrery/sim/store.h>
#include <orrery/sim/sweep_spec.h>
#include <orrery/traces/pack.h>
#include <orrery/traces/shelf.h>

#include "study_int.h"
#include "sweep_int.h"
#include "sweep_sql.h"

struct read_file {
    const char *path, *sum;
};

struct arm {                               /* as its points run it */
    const char *label, *scenario, *origin; /* origin: of its first value; NULL: it has none */
};

struct plan {
    const struct orr_sweep_spec *spec;
    const struct orr_scenario_options *base; /* what every arm starts from */
    const char *place; /* the file from which the way to the base's folder starts */
    const struct orr_study_options *check; /* of the processes that check arms; NULL: none is */
    struct orr_trace_shelf *shelf;         /* for these */
    struct orr_sweep__file file;
    sqlite3_stmt *add_arm, *add_value, *add_point, *add_input;
    struct orr_arena arena;
    struct read_file *files; /* hashed so far */
    uint32_t file_count, file_room;
    struct arm *arms;
    uint32_t arm_count, arm_room, points;
    const char *folder; /* of the base: where names of the arms' files start */
    struct orr_err *err;
};

static void add_input(struct plan *plan, const char *path, const char *sum)
{
    char *whole = realpath(path, NULL); /* whoever runs it may do so from another folder */
    sqlite3_bind_text(plan->add_input, 1, whole != NULL ? whole : path, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(plan->add_input, 2, sum, -1, SQLITE_TRANSIENT);
    orr_sweep__insert(&plan->file, plan->add_input);
    free(whole);
}

/* SHA-256 of a file; each is read once. NULL: err says why. */
static const char *sum_of(struct plan *plan, const char *path)
{
    for (uint32_t i = 0; i < plan->file_count; i++) {
        if (strcmp(plan->files[i].path, path) == 0) {
            return plan->files[i].sum;
        }
    }
    plan->files = ORR_ROOM_FOR_ONE(plan->files, plan->file_count, plan->file_room);
    struct read_file *file = &plan->files[plan->file_count];
    char sum[ORR_SHA256_TEXT];
    if (orr_file_sha256(path, sum, plan->err) != ORR_OK) {
        return NULL;
    }
    *file = (struct read_file){orr_arena_strndup(&plan->arena, path, strlen(path)),
                               orr_arena_strndup(&plan->arena, sum, strlen(sum))};
    plan->file_count++;
    add_input(plan, path, sum);
    return file->sum;
}

struct sums { /* what the points of an arm are made of but for their seeds */
    const char **texts;
    uint32_t count, room;
};

static void add_sum(struct sums *sums, const char *text)
{
    sums->texts = ORR_ROOM_FOR_ONE(sums->texts, sums->count, sums->room);
    sums->texts[sums->count++] = text;
}

struct reading {
    struct plan *plan;
    struct sums *sums;
};

/* Of a file that may not be stated (NULL). */
static enum orr_status add_file(const char *path, void *context)
{
    const struct reading *reading = context;
    const char *sum = path != NULL ? sum_of(reading->plan, path) : "";
    if (sum == NULL) {
        return reading->plan->err->status;
    }
    add_sum(reading->sums, sum);
    return ORR_OK;
}

/* Another build of a policy from outside is another policy. */
static enum orr_status add_policies(struct plan *plan, struct sums *sums,
                                    const struct orr_scenario *scenario)
{
    struct orr_engine_shard *shards;
    const enum orr_status status = orr_point_policies(scenario, NULL, NULL, &shards, plan->err);
    for (uint32_t s = 0; s < scenario->shard_count && status == ORR_OK; s++) {
        uint32_t count;
        const struct orr_plugin_file *files = orr_plugin_files(shards[s].plugin, &count);
        for (uint32_t i = 0; i < count; i++) {
            add_input(plan, files[i].path, files[i].sha256);
            add_sum(sums, orr_arena_strndup(&plan->arena, files[i].sha256, ORR_SHA256_TEXT - 1));
        }
    }
    orr_point_policies_release(shards, scenario->shard_count);
    return status;
}

/* A sum of what the points of an arm are made of but for their seeds: program, scenario, files. */
static enum orr_status arm_sum(struct plan *plan, const struct orr_scenario *scenario,
                               char sum[ORR_SHA256_TEXT])
{
    struct sums sums = {0};
    add_sum(&sums, ORR_VERSION);
    add_sum(&sums, scenario->resolved_yaml);
    struct reading reading = {plan, &sums};
    enum orr_status status = orr_study__each_file(scenario, add_file, &reading);
    if (status == ORR_OK) {
        status = add_policies(plan, &sums, scenario);
    }
    if (status == ORR_OK) {
        orr_texts_sha256(sums.texts, sums.count, sum);
    }
    orr_free(sums.texts);
    return status;
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
        sqlite3_bind_int64(plan->add_point, 3, plan->arm_count);
        sqlite3_bind_int64(plan->add_point, 4, (int64_t)seed);
        orr_sweep__insert(&plan->file, plan->add_point);
    }
}

/* What an arm runs with: the base, then its values, which stand before all that the command line
 * sets. */
static void set_options(struct plan *plan, const struct orr_sweep_value *const *values,
                        uint32_t count, struct orr_scenario_options *options)
{
    uint32_t shaken, sets = options->base_count;
    const struct orr_shake shake = {plan->spec->shake_submit_ms, plan->spec->shake_run};
    const char *const *shakes = orr_shake_sets(&plan->arena, &shake, &shaken);
    for (uint32_t i = 0; i < count; i++) {
        sets += values[i]->set_count;
    }
    const char **bases = orr_arena_alloc(&plan->arena, sets + (size_t)1, sizeof *bases);
    const char **ends =
        orr_arena_alloc(&plan->arena, options->set_count + shaken + (size_t)1, sizeof *ends);
    sets = options->base_count;
    for (uint32_t i = 0; i < sets; i++) {
        bases[i] = options->bases[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(bases + sets, values[i]->sets, values[i]->set_count * sizeof *bases);
        sets += values[i]->set_count;
    }
    for (uint32_t i = 0; i < options->set_count + shaken; i++) {
        ends[i] = i < options->set_count ? options->sets[i] : shakes[i - options->set_count];
    }
    options->bases = bases;
    options->base_count = sets;
    options->sets = ends;
    options->set_count += shaken;
}

/* "easy, 96"; of one setting with nothing beside it to tell it from the scenario's name. */
static void label_of(const struct plan *plan, const struct orr_sweep_value *const *values,
                     uint32_t count, const struct orr_scenario *scenario, char label[1000])
{
    size_t used = 0;
    const char *variant = plan->base->variant;
    label[0] = '\0';
    for (uint32_t i = 0; i < count && used < 1000; i++) {
        used += (size_t)snprintf(label + used, 1000 - used, "%s%s", i > 0 ? ", " : "",
                                 values[i]->label);
    }
    if (count == 0 && scenario != NULL) {
        (void)snprintf(label, 1000, "%s%s%s", scenario->name, variant != NULL ? " " : "",
                       variant != NULL ? variant : "");
    }
}

static void keep_arm(struct plan *plan, const struct orr_scenario *scenario, const char *label,
                     const char *origin)
{
    const char *text = scenario->resolved_yaml;
    plan->arms = ORR_ROOM_FOR_ONE(plan->arms, plan->arm_count, plan->arm_room);
    plan->arms[plan->arm_count] =
        (struct arm){orr_arena_strndup(&plan->arena, label, strlen(label)),
                     orr_arena_strndup(&plan->arena, text, strlen(text)), origin};
    if (plan->folder == NULL) {
        plan->folder = orr_arena_strndup(&plan->arena, scenario->folder, strlen(scenario->folder));
    }
    sqlite3_bind_int64(plan->add_arm, 1, plan->arm_count);
    sqlite3_bind_text(plan->add_arm, 2, label, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(plan->add_arm, 3, text, -1, SQLITE_TRANSIENT);
    orr_sweep__insert(&plan->file, plan->add_arm);
}

/* One arm: `values` in the order of the axes; or a listed point, of no axis. */
static enum orr_status add_arm(struct plan *plan, const struct orr_sweep_value *const *values,
                               uint32_t count, bool is_listed)
{
    char label[1000], sum[ORR_SHA256_TEXT];
    struct orr_scenario scenario;
    struct orr_scenario_options options = *plan->base;
    set_options(plan, values, count, &options);
    enum orr_status status = orr_scenario_load(&options, &scenario, plan->err);
    const bool is_loaded = status == ORR_OK;
    if (is_loaded) {
        status = arm_sum(plan, &scenario, sum);
    }
    label_of(plan, values, count, is_loaded ? &scenario : NULL, label);
    const char *origin = count > 0 ? values[0]->origin : NULL;
    if (status != ORR_OK && origin != NULL) {
        orr_err_prefix(plan->err, "%s: point %s", origin, label);
    } else if (status == ORR_OK) {
        keep_arm(plan, &scenario, label, origin);
        for (uint32_t i = 0; i < count && !is_listed; i++) {
            sqlite3_bind_int64(plan->add_value, 1, plan->arm_count);
            sqlite3_bind_int64(plan->add_value, 2, i);
            sqlite3_bind_text(plan->add_value, 3, values[i]->label, -1, SQLITE_TRANSIENT);
            orr_sweep__insert(&plan->file, plan->add_value);
        }
        add_points(plan, &scenario, sum);
        plan->arm_count++;
    }
    if (is_loaded) {
        orr_scenario_release(&scenario);
    }
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
    sqlite3_bind_int64(row, 7, plan->arm_count);
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

static struct orr_point_options options_of(const struct plan *plan, uint32_t nr)
{
    const struct arm *arm = &plan->arms[nr];
    return (struct orr_point_options){.scenario = {.path = arm->label,
                                                   .text = arm->scenario,
                                                   .text_bytes = strlen(arm->scenario),
                                                   .folder = plan->folder},
                                      .allow_loss_ppm = plan->spec->allow_loss_ppm,
                                      .interrupted = orr_interrupt_catch(),
                                      .shelf = plan->shelf};
}

/* Of its first seed; in a process of its own. */
static enum orr_status check_arm(void *context, uint32_t nr, struct orr_err *err)
{
    const struct plan *plan = context;
    const struct orr_point_options options = options_of(plan, nr);
    struct orr_point point;
    const enum orr_status status = orr_point_check(&options, &point, err);
    if (status != ORR_OK && plan->arms[nr].origin != NULL) {
        orr_err_prefix(err, "%s: point %s", plan->arms[nr].origin, plan->arms[nr].label);
    }
    orr_point_release(&point);
    return status;
}

/* What `check` refuses no run would do: every arm's world is built and its policies opened. The
 * traces are read once for all, as a run of the sweep reads them. */
static enum orr_status check_arms(struct plan *plan)
{
    struct orr_trace_shelf shelf;
    orr_trace_shelf_init(&shelf);
    const struct orr_point_options first = options_of(plan, 0);
    orr_study_shelve(&shelf, &first);
    plan->shelf = &shelf;
    const enum orr_status status =
        orr_study_fork(check_arm, plan, plan->arm_count, plan->check, plan->err);
    orr_trace_shelf_release(&shelf);
    plan->shelf = NULL;
    return status;
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
    if (status == ORR_OK && plan->check != NULL) {
        status = check_arms(plan);
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
                               const struct orr_study_options *check, struct orr_err *err)
{
    struct orr_sweep_spec spec;
    enum orr_status status = orr_sweep_spec_load(spec_path, &spec, err);
    if (status == ORR_OK) {
        const struct orr_scenario_options base = {.path = spec.base};
        spec.allow_loss_ppm = allow_loss_ppm;
        status = orr_sweep__plan(&spec, &base, NULL, folder, check, err);
        orr_sweep_spec_release(&spec);
    }
    return status;
}

enum orr_status orr_sweep__plan(const struct orr_sweep_spec *spec,
                                const struct orr_scenario_options *base, const char *place,
                                const char *folder, const struct orr_study_options *check,
                                struct orr_err *err)
{
    struct plan plan = {.spec = spec, .base = base, .check = check, .err = err};
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
    orr_free(plan.files);
    orr_free(plan.arms);
    orr_arena_release(&plan.arena);
    return status;
}
