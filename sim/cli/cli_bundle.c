/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_bundle.c - `orrery bundle` and `orrery verify`: an experiment as one archive. */
#include <stdlib.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/bundle.h>

#include "cli.h"

enum { KEY_TRACES = 256, KEY_FORCE, KEY_SAMPLE, KEY_FOLDER };

struct bundle_options {
    struct orr_cli_common common;
    struct orr_bundle_options bundle;
    const char **results, **figures; /* as many as there are words */
};

static bool is_results(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".db") == 0;
}

static error_t parse_bundle(int key, char *arg, struct argp_state *state)
{
    struct bundle_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'o': o->bundle.output = arg; return 0;
    case KEY_TRACES: o->bundle.with_traces = true; return 0;
    case KEY_FORCE: o->bundle.force = true; return 0;
    case ARGP_KEY_ARG:
        if (is_results(arg)) {
            o->results[o->bundle.result_count++] = arg;
        } else {
            o->figures[o->bundle.figure_count++] = arg;
        }
        return 0;
    case ARGP_KEY_END:
        if (o->bundle.result_count == 0) {
            argp_error(state, "name results files, such as run.db");
        }
        if (o->bundle.output == NULL) {
            argp_error(state, "name the archive: -o paper.tar.zst");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

struct packed { /* printed as it comes */
    const struct bundle_options *options;
    struct orr_json json;
    uint32_t files;
};

static void tell_packed(const char *name, void *context)
{
    struct packed *packed = context;
    packed->files++;
    if (packed->options->common.json) {
        if (packed->files == 1) {
            orr_json_open(&packed->json, NULL, '{');
            orr_json_text(&packed->json, "bundle", packed->options->bundle.output);
            orr_json_open(&packed->json, "files", '[');
        }
        orr_json_text(&packed->json, NULL, name);
    } else if (packed->options->common.verbose) {
        (void)printf("%s\n", name);
    }
}

static enum orr_status make(const struct bundle_options *o, struct orr_err *err)
{
    struct packed packed = {.options = o, .json = {.out = stdout}};
    const enum orr_status status = orr_bundle_make(&o->bundle, tell_packed, &packed, err);
    if (status != ORR_OK) {
        return status;
    }
    if (o->common.json) {
        orr_json_close(&packed.json, ']');
        orr_json_close(&packed.json, '}');
    } else if (!o->common.quiet) {
        (void)printf("%s: %u file%s\n", o->bundle.output, packed.files, ORR_PLURAL(packed.files));
    }
    return ORR_OK;
}

int orr_cli_bundle(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"output", 'o', "FILE", 0, "the archive: .tar.zst, .tar.gz or .zip", 0},
        {"with-traces", KEY_TRACES, 0, 0, "put the traces in, not only their checksums", 0},
        {"force", KEY_FORCE, 0, 0, "overwrite an existing archive", 0},
        {0}};
    const struct argp parser = {
        rows,
        parse_bundle,
        "R.db... [FIGURE...] -o OUT.tar.zst",
        "Put results, their scenarios, seeds, versions and checksums, and any figures named, into "
        "one archive; --verbose names what is in it. `orrery verify` repeats runs from it.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct orr_err err = {0};
    struct bundle_options o = {.results = orr_zalloc((size_t)argc, sizeof *o.results),
                               .figures = orr_zalloc((size_t)argc, sizeof *o.figures)};
    if (o.results == NULL || o.figures == NULL) {
        return 1;
    }
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    o.bundle.results = o.results;
    o.bundle.figures = o.figures;
    enum orr_status status = orr_cli_output(o.bundle.output, &err);
    if (status == ORR_OK) {
        status = make(&o, &err);
    }
    orr_free(o.results);
    orr_free(o.figures);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}

struct verify_options {
    struct orr_verify_options verify;
    struct orr_cli_common common;
    struct orr_progress progress;
    struct orr_json json;
};

static uint32_t count_option(struct argp_state *state, const char *name, const char *text)
{
    int64_t value = 0;
    if (!orr_parse_i64(text, strlen(text), &value) || value < 0 || value > 100000) {
        argp_error(state, "--%s: \"%s\" is not a count", name, text);
    }
    return (uint32_t)value;
}

static error_t parse_verify(int key, char *arg, struct argp_state *state)
{
    struct verify_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_SAMPLE: o->verify.sample = count_option(state, "sample", arg); return 0;
    case KEY_FOLDER: o->verify.traces = arg; return 0;
    case 'j': o->verify.study.jobs = count_option(state, "jobs", arg); return 0;
    case ARGP_KEY_ARG:
        if (o->verify.bundle != NULL) {
            argp_error(state, "one bundle at a time: \"%s\"?", arg);
        }
        o->verify.bundle = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->verify.bundle == NULL) {
            argp_error(state, "name a bundle, such as paper.tar.zst");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool is_same(const struct orr_verified *one)
{
    return strcmp(one->digest, one->again) == 0;
}

static void print_one(const struct orr_verified *one)
{
    if (is_same(one)) {
        (void)printf("%s: digest %s again\n", one->name, one->digest);
        return;
    }
    (void)printf("%s: DIFFERS: digest %s, now %s%s%s", one->name, one->digest, one->again,
                 one->interrupted ? "; it was interrupted, and is run to its end here" : "",
                 one->same_inputs ? "" : "; the traces are not the ones it read");
    if (strcmp(one->version, one->version_now) != 0) {
        (void)printf("; made by orrery %s, this is %s", one->version, one->version_now);
    }
    (void)printf("\n");
}

static void begin_runs(struct orr_json *json)
{
    if (json->depth == 0) { /* only once there is an answer */
        orr_json_open(json, NULL, '{');
        orr_json_open(json, "runs", '[');
    }
}

static void json_one(struct orr_json *json, const struct orr_verified *one)
{
    begin_runs(json);
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "results", one->name);
    orr_json_bool(json, "same", is_same(one));
    orr_json_text(json, "digest", one->digest);
    orr_json_text(json, "digest_now", one->again);
    orr_json_bool(json, "same_traces", one->same_inputs);
    orr_json_bool(json, "interrupted", one->interrupted);
    orr_json_text(json, "version", one->version);
    orr_json_text(json, "version_now", one->version_now);
    orr_json_close(json, '}');
}

static void report(const struct orr_verified *one, void *context)
{
    struct verify_options *o = context;
    orr_progress_clear(&o->progress);
    if (o->common.json) {
        json_one(&o->json, one);
    } else if (!o->common.quiet || !is_same(one)) {
        print_one(one);
    }
}

static void sum_up(struct verify_options *o, uint32_t repeated, uint32_t total, uint32_t different)
{
    if (!o->common.json) {
        (void)printf("%u of %u run%s repeated, %u differ%s\n", repeated, total, ORR_PLURAL(total),
                     different, ORR_ONE(different, "s", ""));
        return;
    }
    begin_runs(&o->json);
    orr_json_close(&o->json, ']');
    orr_json_int(&o->json, "total", total);
    orr_json_int(&o->json, "repeated", repeated);
    orr_json_int(&o->json, "different", different);
    orr_json_close(&o->json, '}');
}

int orr_cli_verify(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"sample", KEY_SAMPLE, "N", 0, "runs to repeat, evenly spread (default 3; 0: all)", 0},
        {"traces", KEY_FOLDER, "DIR", 0,
         "folder of the traces that are not in the bundle (default: where they were)", 0},
        {"jobs", 'j', "N", 0, "runs at a time (default: one a core)", 0},
        {0}};
    const struct argp parser = {
        rows,
        parse_verify,
        "BUNDLE",
        "Check every file of a bundle against its checksum, run a sample of its scenarios again "
        "and compare the digests. Exit code 1: some differ.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct verify_options o = {.verify = {.sample = 3}, .json = {.out = stdout}};
    struct orr_err err = {0};
    uint32_t total = 0, different = 0;
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    orr_progress_init(&o.progress, &o.common);
    o.verify.study.progress = orr_progress_draw;
    o.verify.study.context = &o.progress;
    enum orr_status status = orr_bundle_verify(&o.verify, report, &o, &total, &different, &err);
    orr_progress_clear(&o.progress);
    if (status != ORR_OK) {
        return orr_cli_fail(&err);
    }
    uint32_t sample = o.verify.sample == 0 || o.verify.sample > total ? total : o.verify.sample;
    sum_up(&o, sample, total, different);
    return different > 0;
}
