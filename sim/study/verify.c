/* SPDX-License-Identifier: GPL-3.0-or-later */
/* verify.c - a bundle unpacked, checked and run again. */
#include <orrery/sim/bundle.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/analysis/results.h>
#include <orrery/traces/pack.h>

#include "study_int.h"
#include "study_sql.h"

struct verify {
    const struct orr_verify_options *options;
    struct orr_arena arena;
    struct orr_unpacked files;
    char unpacked[4200], scratch[4200];
    uint32_t *picked; /* files that are results and run again */
    struct orr_point_options *points;
    uint32_t count, total;
    struct orr_err *err;
};

static const char *text_of(struct verify *verify, const char *results, const char *sql)
{
    struct orr_results in;
    const char *text = "";
    struct orr_err ignored = {0};
    orr_results_open(&in, results, &ignored);
    sqlite3_stmt *row = orr_results_prepare(&in, sql);
    while (orr_results_step(&in, row)) {
        const char *got = orr_results_text(&in, row, 0);
        text = orr_arena_strndup(&verify->arena, got, strlen(got));
    }
    orr_results_close(&in);
    return text;
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Evenly spread over the results of the bundle, the first always. */
static enum orr_status pick(struct verify *verify)
{
    const struct orr_unpacked *files = &verify->files;
    uint32_t *all = orr_arena_alloc(&verify->arena, files->count + (size_t)1, sizeof *all);
    for (uint32_t i = 0; i < files->count; i++) {
        if (has_prefix(files->names[i], "results/")) {
            all[verify->total++] = i;
        }
    }
    if (verify->total == 0) {
        return orr_fail(verify->err, ORR_DATA, "%s: there are no results in it",
                        verify->options->bundle);
    }
    uint32_t wanted = verify->options->sample;
    verify->count = wanted == 0 || wanted > verify->total ? verify->total : wanted;
    verify->picked = all;
    for (uint32_t i = 0; i < verify->count; i++) {
        all[i] = all[(uint64_t)i * verify->total / verify->count];
    }
    return ORR_OK;
}

/* Where a file of a part is now: in the bundle under that name, or in the folder given; NULL: where
 * it was. */
static const char *place_of(struct verify *verify, const char *file, const char *packed)
{
    char path[5000];
    for (uint32_t i = 0; i < verify->files.count; i++) {
        if (strcmp(verify->files.names[i], packed) == 0) {
            return verify->files.paths[i];
        }
    }
    if (verify->options->traces == NULL) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%.4600s/%.300s", verify->options->traces,
                   orr_study__last_part(file));
    return orr_arena_strndup(&verify->arena, path, strlen(path));
}

/* `name`: of the results in the bundle. */
static enum orr_status check_there(const struct verify *verify, const char *name, const char *trace)
{
    if (access(trace, R_OK) == 0) {
        return ORR_OK;
    }
    return orr_fail(
        verify->err, ORR_NO_INPUT, "%s: its trace %s: %s%s", name, trace, strerror(errno),
        verify->options->traces == NULL ? "; --traces DIR says where the traces are" : "");
}

static const char *trace_name(struct verify *verify, const char *trace, const char *sha)
{
    char name[300];
    (void)snprintf(name, sizeof name, "%.12s-%.130s", sha, orr_study__last_part(trace));
    return orr_pack_name(&verify->arena, "traces", name);
}

/* The scenario reads the file of that key where it is now. `name`: of the results. */
static enum orr_status point_at(struct verify *verify, const char *name,
                                const struct orr_scenario_part *part, const char *key,
                                const char *file, const char *packed, const char **set)
{
    const char *place = place_of(verify, file, packed);
    char text[6000], whole[4200];
    if (place == NULL) {
        return check_there(verify, name, file);
    }
    const char *root = place[0] == '/' || getcwd(whole, sizeof whole) == NULL ? "" : whole;
    const int used = snprintf(text, sizeof text, "workload.%s.%s=%s%s%s", part->name, key, root,
                              root[0] != '\0' ? "/" : "", place);
    *set = orr_arena_strndup(&verify->arena, text, (size_t)used);
    return check_there(verify, name, place);
}

static enum orr_status point_at_traces(struct verify *verify, const char *name, const char *results,
                                       struct orr_scenario_options *again)
{
    struct orr_scenario scenario;
    struct orr_results in;
    enum orr_status status = orr_scenario_load(again, &scenario, verify->err);
    if (status != ORR_OK) {
        return status;
    }
    const char **sets = orr_arena_alloc(
        &verify->arena, (1 + ORR_STUDY__PART_FILES) * (size_t)scenario.part_count + 1,
        sizeof *sets);
    orr_results_open(&in, results, verify->err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__hashes);
    for (uint32_t p = 0; orr_results_step(&in, row); p++) {
        const char *trace = p < scenario.part_count ? scenario.parts[p].trace : NULL;
        if (trace != NULL && status == ORR_OK) {
            const char *packed = trace_name(verify, trace, orr_results_text(&in, row, 0));
            status = point_at(verify, name, &scenario.parts[p], "trace", trace, packed,
                              &sets[again->set_count]);
            again->set_count += sets[again->set_count] != NULL;
        }
    }
    for (uint32_t p = 0; p < scenario.part_count; p++) {
        for (uint32_t n = 0; n < ORR_STUDY__PART_FILES && status == ORR_OK; n++) {
            const struct orr_scenario_part *part = &scenario.parts[p];
            const char *key, *file = orr_study__part_file(part, n, &key);
            if (file != NULL) {
                status = point_at(verify, name, part, key, file,
                                  orr_study__part_file_name(&verify->arena, part, key, file),
                                  &sets[again->set_count]);
                again->set_count += sets[again->set_count] != NULL;
            }
        }
    }
    again->sets = sets;
    status = status == ORR_OK ? in.status : status;
    orr_results_close(&in);
    orr_scenario_release(&scenario);
    return status;
}

static enum orr_status list_points(struct verify *verify)
{
    enum orr_status status = ORR_OK;
    verify->points =
        orr_arena_alloc(&verify->arena, verify->count + (size_t)1, sizeof *verify->points);
    for (uint32_t i = 0; i < verify->count && status == ORR_OK; i++) {
        const char *results = verify->files.paths[verify->picked[i]];
        char output[4400];
        struct orr_scenario_options again;
        status = orr_rerun_of(results, &verify->arena, &again, verify->err);
        if (status == ORR_OK) {
            status =
                point_at_traces(verify, verify->files.names[verify->picked[i]], results, &again);
        }
        int used = snprintf(output, sizeof output, "%s/%u.db", verify->scratch, i);
        verify->points[i] = (struct orr_point_options){
            .scenario = again,
            .allow_loss_ppm = ORR_LOSS_ALL, /* the run it repeats was allowed to be */
            .output = orr_arena_strndup(&verify->arena, output, (size_t)used)};
    }
    return status;
}

static uint32_t report_all(struct verify *verify, orr_verified_fn *report, void *context)
{
    uint32_t different = 0;
    for (uint32_t i = 0; i < verify->count; i++) {
        const char *was = verify->files.paths[verify->picked[i]], *now = verify->points[i].output;
        struct orr_verified one = {
            .name = verify->files.names[verify->picked[i]],
            .digest = text_of(verify, was, orr_study_sql__digest),
            .again = text_of(verify, now, orr_study_sql__digest),
            .version = text_of(verify, was, orr_study_sql__version),
            .version_now = ORR_VERSION,
            .interrupted = strcmp(text_of(verify, was, orr_study_sql__status), "interrupted") == 0,
            .same_inputs = strcmp(text_of(verify, was, orr_study_sql__all_hashes),
                                  text_of(verify, now, orr_study_sql__all_hashes)) == 0};
        different += strcmp(one.digest, one.again) != 0;
        report(&one, context);
    }
    return different;
}

enum orr_status orr_bundle_verify(const struct orr_verify_options *options, orr_verified_fn *report,
                                  void *context, uint32_t *total, uint32_t *different,
                                  struct orr_err *err)
{
    struct verify verify = {.options = options, .err = err};
    orr_arena_init(&verify.arena);
    enum orr_status status = orr_scratch_open(verify.unpacked, sizeof verify.unpacked, err);
    if (status == ORR_OK) {
        status = orr_scratch_open(verify.scratch, sizeof verify.scratch, err);
    }
    if (status == ORR_OK) {
        status = orr_pack_read(options->bundle, verify.unpacked, &verify.arena, &verify.files, err);
    }
    status = status == ORR_OK ? pick(&verify) : status;
    status = status == ORR_OK ? list_points(&verify) : status;
    status = status == ORR_OK ? orr_study_run(verify.points, verify.count, &options->study, err)
                              : status;
    if (status == ORR_OK) {
        *different = report_all(&verify, report, context);
        *total = verify.total;
    }
    if (verify.unpacked[0] != '\0') {
        orr_scratch_remove(verify.unpacked);
    }
    if (verify.scratch[0] != '\0') {
        orr_scratch_remove(verify.scratch);
    }
    orr_free(verify.files.names);
    orr_free(verify.files.paths);
    orr_arena_release(&verify.arena);
    return status;
}
