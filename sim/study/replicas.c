/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replicas.c - a results file run again, several times: the scenario it holds, other seeds, its
 * input shaken or not. */
#include "study_int.h"
#include "study_sql.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/mem.h>
#include <orrery/base/text.h>

enum orr_status orr_shake_parse(const char *text, struct orr_shake *shake, struct orr_err *err)
{
    static const char *const names[] = {"submit", "run"};
    *shake = (struct orr_shake){0};
    while (*text != '\0') {
        const size_t bytes = strcspn(text, ",");
        const char *equals = memchr(text, '=', bytes);
        const size_t name = equals != NULL ? (size_t)(equals - text) : bytes;
        const char *value = equals != NULL ? equals + 1 : text + bytes;
        const size_t left = (size_t)(text + bytes - value);
        bool good = false;
        if (name == strlen(names[0]) && memcmp(text, names[0], name) == 0) {
            good = orr_parse_duration(value, left, &shake->submit_ms) && shake->submit_ms >= 0;
        } else if (name == strlen(names[1]) && memcmp(text, names[1], name) == 0) {
            good = orr_parse_share(value, left, &shake->run);
        }
        if (!good) {
            return orr_fail(err, ORR_USAGE,
                            "--shake: \"%.*s\" is not submit=TIME or run=SHARE, such as "
                            "submit=60s,run=1%%",
                            (int)bytes, text);
        }
        text += bytes + (text[bytes] == ',');
    }
    return ORR_OK;
}

static const char *keep(struct orr_arena *arena, const char *format, ...) ORR_PRINTF(2, 3);
static const char *keep(struct orr_arena *arena, const char *format, ...)
{
    char text[64];
    va_list args;
    va_start(args, format);
    const int bytes = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return orr_arena_strndup(arena, text, (size_t)bytes);
}

const char *const *orr_shake_sets(struct orr_arena *arena, const struct orr_shake *shake,
                                  uint32_t *count)
{
    const char **sets = orr_arena_alloc(arena, 2, sizeof *sets);
    *count = 0;
    if (shake->submit_ms > 0) {
        sets[(*count)++] = keep(arena, "shake.submit=%lldms", (long long)shake->submit_ms);
    }
    if (shake->run > 0) {
        sets[(*count)++] = keep(arena, "shake.run=%.9g", shake->run);
    }
    return sets;
}

/* The values a replica sets, after all the scenario says. */
static const char *const *sets_of(struct orr_arena *arena,
                                  const struct orr_replica_options *options, uint32_t *count)
{
    const char *const *shaken = orr_shake_sets(arena, &options->shake, count);
    const char **sets = orr_arena_alloc(arena, *count + (size_t)1, sizeof *sets);
    memcpy(sets, shaken, *count * sizeof *sets);
    if (options->warmup_ms > 0) {
        sets[(*count)++] = keep(arena, "warmup=%lldms", (long long)options->warmup_ms);
    }
    return sets;
}

enum orr_status orr_rerun_of(const char *results, struct orr_arena *arena,
                             struct orr_scenario_options *options, struct orr_err *err)
{
    struct orr_results in;
    *options = (struct orr_scenario_options){.path = results, .seed_given = true};
    orr_results_open(&in, results, err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__scenario);
    while (orr_results_step(&in, row)) {
        const char *text = orr_results_text(&in, row, 0), *folder = orr_results_text(&in, row, 2);
        options->text = orr_arena_strndup(arena, text, strlen(text));
        options->text_bytes = strlen(text);
        options->seed = (uint64_t)sqlite3_column_int64(row, 1);
        options->folder = orr_study__place(results, folder, orr_results_text(&in, row, 3), arena);
        const char *name = orr_results_text(&in, row, 4);
        options->name = orr_arena_strndup(arena, name, strlen(name));
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

static enum orr_status read_digest(const char *results, char digest[32], struct orr_err *err)
{
    struct orr_results in;
    digest[0] = '\0';
    orr_results_open(&in, results, err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__digest);
    while (orr_results_step(&in, row)) {
        (void)snprintf(digest, 32, "%s", orr_results_text(&in, row, 0));
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

enum orr_status orr_study__check_rerun(const char *results, const char *again, struct orr_err *err)
{
    char was[32], is[32];
    enum orr_status status = read_digest(results, was, err);
    status = status == ORR_OK ? read_digest(again, is, err) : status;
    if (status == ORR_OK && strcmp(was, is) != 0) {
        status = orr_fail(err, ORR_DATA,
                          "%s: run again it decides otherwise (by another program, on another "
                          "trace, or by going on where it was interrupted): make it anew first",
                          results);
    }
    return status;
}

/* Points that run the scenario of results file number `index` again with seeds from its own on,
 * into FOLDER/INDEX-STEM-SEED.db. */
static enum orr_status points_of(const char *results, uint32_t index,
                                 const struct orr_replica_options *options, const char *folder,
                                 struct orr_arena *arena, struct orr_point_options *points,
                                 struct orr_err *err)
{
    const char *stem = strrchr(results, '/');
    struct orr_scenario_options again;
    stem = stem != NULL ? stem + 1 : results;
    enum orr_status status = orr_rerun_of(results, arena, &again, err);
    status = status == ORR_OK ? orr_rerun_inputs(results, &again, err) : status;
    if (status != ORR_OK) {
        return status;
    }
    uint32_t set_count;
    const char *const *sets = sets_of(arena, options, &set_count);
    for (uint32_t r = 0; r < options->replicas; r++) {
        points[r] = (struct orr_point_options){
            .scenario = again,
            .allow_loss_ppm = ORR_LOSS_ALL /* the run it repeats was allowed to be */};
        points[r].scenario.sets = sets;
        points[r].scenario.set_count = set_count;
        points[r].scenario.seed = again.seed + r;
        char name[5000];
        (void)snprintf(name, sizeof name, "%s/%u-%.*s-%llu.db", folder, index + 1,
                       (int)strcspn(stem, "."), stem, (unsigned long long)again.seed + r);
        points[r].output = orr_arena_strndup(arena, name, strlen(name));
    }
    return ORR_OK;
}

enum orr_status orr_replicas_run(const char *const *results, uint32_t count,
                                 const struct orr_replica_options *options,
                                 struct orr_replicas *replicas, struct orr_err *err)
{
    *replicas = (struct orr_replicas){.count = count * options->replicas};
    orr_arena_init(&replicas->arena);
    const char *folder = options->keep;
    enum orr_status status = ORR_OK;
    if (folder == NULL) {
        status = orr_scratch_open(replicas->scratch, sizeof replicas->scratch, err);
        folder = replicas->scratch;
    }
    struct orr_point_options *points =
        orr_arena_alloc(&replicas->arena, replicas->count + (size_t)1, sizeof *points);
    const char **paths =
        orr_arena_alloc(&replicas->arena, replicas->count + (size_t)1, sizeof *paths);
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        status = points_of(results[i], i, options, folder, &replicas->arena,
                           points + (size_t)i * options->replicas, err);
    }
    for (uint32_t i = 0; i < replicas->count; i++) {
        paths[i] = points[i].output;
    }
    replicas->paths = paths;
    if (status == ORR_OK) {
        status = orr_study_run(points, replicas->count, &options->study, err);
    }
    if (status != ORR_OK) {
        orr_replicas_release(replicas);
    }
    return status;
}

void orr_replicas_release(struct orr_replicas *replicas)
{
    if (replicas->scratch[0] != '\0') {
        orr_scratch_remove(replicas->scratch);
    }
    orr_arena_release(&replicas->arena);
    *replicas = (struct orr_replicas){0};
}
