/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bundle.c - results, and what made them, into one archive. */
#include <orrery/sim/bundle.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/analysis/results.h>
#include <orrery/traces/pack.h>

#include "study_int.h"
#include "study_sql.h"

struct bundle {
    const struct orr_bundle_options *options;
    struct orr_arena arena;
    struct orr_pack_file *files;
    uint32_t count, capacity;
    char *words; /* README.txt */
    size_t word_bytes;
    struct orr_err *err;
};

static void say(struct bundle *bundle, const char *format, ...) ORR_PRINTF(2, 3);
static void say(struct bundle *bundle, const char *format, ...)
{
    char line[6000];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t bytes = used < 0 ? 0 : (size_t)used >= sizeof line ? sizeof line - 1 : (size_t)used;
    bundle->words = orr_realloc(bundle->words, bundle->word_bytes + bytes + 1, 1);
    memcpy(bundle->words + bundle->word_bytes, line, bytes);
    bundle->word_bytes += bytes;
    bundle->words[bundle->word_bytes] = '\0';
}

/* False: a file of that name is in already. */
static bool add(struct bundle *bundle, const char *name, const char *path, const char *text)
{
    for (uint32_t i = 0; i < bundle->count; i++) {
        if (strcmp(bundle->files[i].name, name) == 0) {
            return false;
        }
    }
    bundle->files = ORR_ROOM_FOR_ONE(bundle->files, bundle->count, bundle->capacity);
    bundle->files[bundle->count++] =
        (struct orr_pack_file){.name = name, .path = path, .text = text};
    return true;
}

static const char *numbered(struct bundle *bundle, const char *folder, uint32_t nr,
                            const char *stem, const char *suffix)
{
    char name[400];
    (void)snprintf(name, sizeof name, "%03u-%.120s%s", nr, stem, suffix);
    return orr_pack_name(&bundle->arena, folder, name);
}

/* The file of a part is in the scenario, its checksum in the results; parts without a file have
 * none. */
static enum orr_status add_trace(struct bundle *bundle, const char *path, const char *sha)
{
    char now[ORR_SHA256_TEXT], name[300];
    enum orr_status status = orr_file_sha256(path, now, bundle->err);
    if (status != ORR_OK) {
        return status;
    }
    if (strcmp(now, sha) != 0) {
        return orr_fail(bundle->err, ORR_DATA,
                        "%s is not the trace that the run read: its SHA-256 is %s, not %s", path,
                        now, sha);
    }
    (void)snprintf(name, sizeof name, "%.12s-%.130s", sha, orr_study__last_part(path));
    (void)add(bundle, orr_pack_name(&bundle->arena, "traces", name),
              orr_arena_strndup(&bundle->arena, path, strlen(path)), NULL);
    return ORR_OK;
}

const char *orr_study__part_file(const struct orr_scenario_part *part, uint32_t nth,
                                 const char **key)
{
    static const char *const keys[] = {"generate.classes", "generate.duration.empirical",
                                       "service.rate.file"};
    const char *const paths[] = {part->generate.classes, part->generate.duration.empirical,
                                 part->service.rate_file};
    _Static_assert(sizeof keys / sizeof keys[0] == ORR_STUDY__PART_FILES, "a key each");
    *key = keys[nth];
    return paths[nth];
}

const char *orr_study__part_file_name(struct orr_arena *arena, const struct orr_scenario_part *part,
                                      const char *key, const char *path)
{
    char name[300];
    (void)snprintf(name, sizeof name, "%.60s-%.40s-%.130s", part->name, key,
                   orr_study__last_part(path));
    return orr_pack_name(arena, "traces", name);
}

/* What made-up parts and services read beside traces. Results have no checksum of these. */
static enum orr_status add_part_files(struct bundle *bundle, const struct orr_scenario_part *part)
{
    enum orr_status status = ORR_OK;
    for (uint32_t n = 0; n < ORR_STUDY__PART_FILES && status == ORR_OK; n++) {
        const char *key, *path = orr_study__part_file(part, n, &key);
        char sha[ORR_SHA256_TEXT];
        if (path == NULL || !bundle->options->with_traces) {
            continue;
        }
        status = orr_file_sha256(path, sha, bundle->err);
        if (status == ORR_OK) {
            say(bundle, "  %s of part %s  %s  %s\n", key, part->name, sha,
                orr_study__last_part(path));
            (void)add(bundle, orr_study__part_file_name(&bundle->arena, part, key, path),
                      orr_arena_strndup(&bundle->arena, path, strlen(path)), NULL);
        }
    }
    return status;
}

static enum orr_status add_traces(struct bundle *bundle, struct orr_results *in)
{
    struct orr_scenario_options again;
    struct orr_scenario scenario;
    enum orr_status status = orr_rerun_of(in->path, &bundle->arena, &again, bundle->err);
    if (status != ORR_OK) {
        return status;
    }
    status = orr_scenario_load(&again, &scenario, bundle->err);
    if (status != ORR_OK) {
        return status;
    }
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__inputs);
    for (uint32_t p = 0; orr_results_step(in, row); p++) {
        const char *path = p < scenario.part_count ? scenario.parts[p].trace : NULL;
        const char *sha = orr_results_text(in, row, 0);
        if (path == NULL) {
            continue;
        }
        say(bundle, "  trace %s  %lld bytes  %s\n", sha, (long long)sqlite3_column_int64(row, 1),
            orr_study__last_part(path));
        if (bundle->options->with_traces && status == ORR_OK) {
            status = add_trace(bundle, path, sha);
        }
    }
    for (uint32_t p = 0; p < scenario.part_count && status == ORR_OK; p++) {
        status = add_part_files(bundle, &scenario.parts[p]);
    }
    orr_scenario_release(&scenario);
    return status == ORR_OK ? in->status : status;
}

static enum orr_status add_result(struct bundle *bundle, uint32_t index)
{
    struct orr_results in;
    const char *path = bundle->options->results[index];
    char stem[130];
    enum orr_status status =
        orr_results_whole(path, "no run of its scenario repeats it", bundle->err);
    if (status != ORR_OK) {
        return status;
    }
    (void)snprintf(stem, sizeof stem, "%.*s", (int)strcspn(orr_study__last_part(path), "."),
                   orr_study__last_part(path));
    orr_results_open(&in, path, bundle->err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__run);
    while (orr_results_step(&in, row)) {
        const char *name = numbered(bundle, "results", index + 1, stem, ".db");
        (void)add(bundle, name, path, NULL);
        for (int i = 0; i < 2; i++) {
            const char *text = orr_results_text(&in, row, 5 + i);
            if (text[0] != '\0') { /* nobody wrote a scenario: it came from the command line */
                (void)add(bundle,
                          numbered(bundle, "scenarios", index + 1, stem,
                                   i == 0 ? ".given.yaml" : ".resolved.yaml"),
                          NULL, orr_arena_strndup(&bundle->arena, text, strlen(text)));
            }
        }
        say(bundle, "%s: scenario %s, policy %s, seed %lld, digest %s, orrery %s\n", name,
            orr_results_text(&in, row, 0), orr_results_text(&in, row, 1),
            (long long)sqlite3_column_int64(row, 2), orr_results_text(&in, row, 3),
            orr_results_text(&in, row, 4));
    }
    status = in.status == ORR_OK ? add_traces(bundle, &in) : in.status;
    orr_results_close(&in);
    return status;
}

enum orr_status orr_bundle_make(const struct orr_bundle_options *options, orr_bundled_fn *report,
                                void *context, struct orr_err *err)
{
    struct bundle bundle = {.options = options, .err = err};
    enum orr_status status = ORR_OK;
    orr_arena_init(&bundle.arena);
    say(&bundle,
        "An experiment made with orrery %s: results, the scenarios as written and as run,\n"
        "the traces or their checksums, figures. Check and repeat it:\n\n"
        "  orrery verify BUNDLE%s\n  orrery plot results/NAME.db\n\n",
        ORR_VERSION, options->with_traces ? "" : " --traces FOLDER-WITH-THE-TRACES");
    for (uint32_t i = 0; i < options->result_count && status == ORR_OK; i++) {
        status = add_result(&bundle, i);
    }
    for (uint32_t i = 0; i < options->figure_count && status == ORR_OK; i++) {
        const char *path = options->figures[i];
        if (!add(&bundle, orr_pack_name(&bundle.arena, "figures", orr_study__last_part(path)), path,
                 NULL)) {
            status = orr_fail(err, ORR_USAGE, "two files would both be figures/%s",
                              orr_study__last_part(path));
        }
    }
    if (status == ORR_OK) {
        (void)add(&bundle, "README.txt", NULL, bundle.words);
        char beside[4600];
        orr_interrupt_at_once();
        FILE *out = orr_beside(options->output, beside, sizeof beside);
        status = out == NULL
                     ? orr_fail(err, ORR_CANT_CREATE, "%s: %s", options->output, strerror(errno))
                 : orr_is_taken(options->output) && !options->force
                     ? orr_fail(err, ORR_CANT_CREATE, "%s exists; --force overwrites it",
                                options->output)
                     : orr_pack_write(options->output, out, bundle.files, bundle.count, err);
        if (out != NULL && fclose(out) != 0 && status == ORR_OK) {
            status = orr_fail(err, ORR_IO, "%s: %s", options->output, strerror(errno));
        }
        if (out != NULL && status == ORR_OK && rename(beside, options->output) != 0) {
            status = orr_fail(err, ORR_IO, "%s: %s", options->output, strerror(errno));
        }
        if (out != NULL && status != ORR_OK) {
            (void)unlink(beside);
        }
    }
    for (uint32_t i = 0; i < bundle.count && status == ORR_OK; i++) {
        report(bundle.files[i].name, context);
    }
    orr_free(bundle.words);
    orr_free(bundle.files);
    orr_arena_release(&bundle.arena);
    return status;
}
