/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_page.c - `orrery report`: one self-contained HTML page. */
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/report.h>
#include <orrery/analysis/results.h>
#include <orrery/base/mem.h>
#include <orrery/sim/study.h>

#include "cli.h"

struct page_options {
    const char *paths[ORR_CLI_LIST_MAX];
    const char *labels[ORR_CLI_LIST_MAX]; /* NULL: none was given */
    uint32_t count;
    const char *output;
    struct orr_cli_common common;
};

static void add_path(struct page_options *o, char *arg, struct argp_state *state)
{
    const char *label;
    const char *path = orr_cli_labelled(arg, &label);
    for (uint32_t i = 0; label != NULL && i < o->count; i++) {
        if (o->labels[i] != NULL && strcmp(o->labels[i], label) == 0) {
            argp_error(state, "two runs are called \"%s\"", label);
        }
    }
    orr_cli_append(state, o->paths, &o->count, path);
    o->labels[o->count - 1] = label;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct page_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'o': o->output = arg; return 0;
    case ARGP_KEY_ARG: add_path(o, arg, state); return 0;
    case ARGP_KEY_END:
        if (o->count == 0) {
            argp_error(state, "name a results file");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- what was changed between runs side by side --- */

struct lines {
    char *text;
    size_t bytes, room;
};

static void add_line(const char *text, void *context)
{
    struct lines *lines = context;
    const size_t more = strlen(text);
    while (lines->bytes + more + 2 > lines->room) {
        lines->room = lines->room * 2 + 1000;
        lines->text = orr_realloc(lines->text, lines->room, 1);
    }
    memcpy(lines->text + lines->bytes, text, more);
    lines->bytes += more;
    lines->text[lines->bytes++] = '\n';
    lines->text[lines->bytes] = '\0';
}

/* NULL: the scenarios cannot be read again, such as when files beside them are gone. */
static char *words_of(const char *base, const char *other)
{
    struct orr_arena arena;
    struct orr_scenario a, b;
    struct orr_err ignored = {0};
    const struct orr_scenario_options of_base = {.path = base}, of_other = {.path = other};
    struct lines lines = {0};
    bool both = false;
    orr_arena_init(&arena);
    if (orr_cli_scenario(&of_base, &arena, &a, &ignored) == ORR_OK) {
        both = orr_cli_scenario(&of_other, &arena, &b, &ignored) == ORR_OK;
        if (both) {
            lines.text = orr_zalloc(1, 1);
            (void)orr_scenario_diff_words(&a, &b, add_line, &lines);
            orr_scenario_release(&b);
        }
        orr_scenario_release(&a);
    }
    orr_arena_release(&arena);
    return lines.text;
}

/* --- merged sweeps --- */

/* Each file by its name without folder and suffix. */
static enum orr_status list_settings(const struct page_options *o, struct orr_arena *arena,
                                     struct orr_compare_options *options, struct orr_err *err)
{
    const char *names[ORR_CLI_LIST_MAX];
    struct orr_cli_settings settings;
    for (uint32_t i = 0; i < o->count; i++) {
        const char *slash = strrchr(o->paths[i], '/');
        const char *name = slash != NULL ? slash + 1 : o->paths[i];
        names[i] = o->labels[i] != NULL ? o->labels[i]
                                        : orr_arena_strndup(arena, name, strcspn(name, "."));
    }
    const enum orr_status status =
        orr_cli_settings(o->paths, names, o->count, NULL, 0, arena, &settings, err);
    if (status == ORR_OK) {
        *options = (struct orr_compare_options){.paths = settings.paths,
                                                .labels = settings.labels,
                                                .arms = settings.arms,
                                                .points = settings.points,
                                                .path_count = settings.count};
    }
    return status;
}

static void answer(const struct page_options *o)
{
    struct orr_json json = {.out = stdout};
    if (!o->common.json) {
        (void)printf("%s\n", o->output);
        return;
    }
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "file", o->output);
    orr_json_open(&json, "results", '[');
    for (uint32_t i = 0; i < o->count; i++) {
        orr_json_text(&json, NULL, o->paths[i]);
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

int orr_cli_page(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"output", 'o', "FILE", 0, "the page (default: report.html)", 0}, {0}};
    const struct argp parser = {
        rows,
        parse,
        "[NAME=]R.db...",
        "Write one self-contained HTML page: headline numbers, who waited and "
        "why, evictions and their cost, who borrowed from whom, figures, "
        "provenance. Several results are put side by side. Of files that `orrery run --replicas` "
        "or "
        "`orrery sweep merge` wrote: what each setting came to, and what differs beyond chance.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct page_options o = {.output = "report.html"};
    struct orr_err err = {0};
    char scratch[4200] = "";
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    enum orr_status status = orr_cli_report(o.output, ORR_REPORT_BEGIN, &err);
    struct orr_compare_options settings = {0};
    struct orr_arena arena; /* of the settings */
    orr_arena_init(&arena);
    const bool is_merged = orr_results_is_merged(o.paths[0]);
    if (status == ORR_OK && is_merged) {
        status = list_settings(&o, &arena, &settings, &err);
    }
    if (status == ORR_OK) {
        status = orr_scratch_open(scratch, sizeof scratch, &err);
    }
    if (status == ORR_OK) {
        char *changes[ORR_CLI_LIST_MAX] = {NULL};
        const char *changed[ORR_CLI_LIST_MAX] = {NULL};
        for (uint32_t i = 1; i < o.count && !is_merged; i++) {
            changed[i] = changes[i] = words_of(o.paths[0], o.paths[i]);
        }
        struct orr_cli_file file;
        const struct orr_report_options options = {.paths = o.paths,
                                                   .labels = o.labels,
                                                   .count = o.count,
                                                   .output = o.output,
                                                   .scratch = scratch,
                                                   .interrupted = orr_interrupt_catch(),
                                                   .changes = changed,
                                                   .settings = is_merged ? &settings : NULL};
        status = orr_cli_file_begin(&file, o.output, NULL, &err);
        if (status == ORR_OK) {
            status = orr_report_write(&options, file.out, &err);
        }
        status = orr_cli_file_close(&file, status, &err);
        orr_scratch_remove(scratch);
        for (uint32_t i = 1; i < o.count; i++) {
            orr_free(changes[i]);
        }
    }
    if (status == ORR_OK) {
        answer(&o);
    }
    orr_arena_release(&arena);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
