/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_results.c - the verbs that read results and cases: export, plot, conform. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/analysis/export.h>
#include <orrery/analysis/plot.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/conform.h>
#include <orrery/sim/study.h>

#include "cli.h"

/* --- export --- */

enum { KEY_FORCE = 256 };

struct export_options {
    struct orr_cli_common common;
    const char *path, *table, *format;
    const char *output; /* NULL: standard output */
    bool force;
};

typedef enum orr_status export_run(const char *path, FILE *out, struct orr_err *err);

/* The format of a whole run that goes by this name; NULL: it is a table's. */
static export_run *whole_run(const char *name)
{
    return strcmp(name, "openmetrics") == 0 ? orr_export_openmetrics
           : strcmp(name, "perfetto") == 0  ? orr_export_perfetto
                                            : NULL;
}

static error_t parse_export(int key, char *arg, struct argp_state *state)
{
    struct export_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'f': o->format = arg; return 0;
    case 'o': o->output = strcmp(arg, "-") == 0 ? NULL : arg; return 0;
    case KEY_FORCE: o->force = true; return 0;
    case ARGP_KEY_ARG:
        if (o->path == NULL) {
            o->path = arg;
        } else if (o->table == NULL) {
            o->table = arg;
        } else {
            argp_error(state, "one table at a time: \"%s\"?", arg);
        }
        return 0;
    case ARGP_KEY_END:
        if (o->table == NULL) {
            argp_error(state, "name a results file and a table, such as jobs");
        }
        if (o->common.json && o->format != NULL && strcmp(o->format, "json") != 0) {
            argp_error(state, "--json is a format of its own, not %s", o->format);
        }
        if (whole_run(o->table) != NULL && (o->common.json || o->format != NULL)) {
            argp_error(state, "%s is a format of its own, without --format and --json", o->table);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static enum orr_status export_to(const struct export_options *o, FILE *out, struct orr_err *err)
{
    const char *format = o->common.json ? "json" : o->format != NULL ? o->format : "csv";
    export_run *whole = whole_run(o->table);
    return whole != NULL ? whole(o->path, out, err)
                         : orr_export_table(o->path, o->table, format, out, err);
}

static enum orr_status export_to_file(const struct export_options *o, struct orr_err *err)
{
    struct orr_cli_file file;
    enum orr_status status = orr_cli_file_open(
        &file, o->output, o->force ? NULL : "--force overwrites it, -o names another", err);
    if (status == ORR_OK) {
        status = export_to(o, file.out, err);
    }
    return orr_cli_file_close(&file, status, err);
}

int orr_cli_export(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"format", 'f', "csv|jsonl|json|swf|schema", 0,
         "default csv; json is what --json prints; swf "
         "only for jobs; schema: names and types of "
         "the columns of csv (Table Schema)",
         0},
        {"output", 'o', "FILE", 0, "file to write (default: standard output)", 0},
        {"force", KEY_FORCE, 0, 0, "overwrite an existing file", 0},
        {0}};
    const struct argp parser = {
        rows,
        parse_export,
        "R.db TABLE",
        "Write a table or view of a results file. `jobs` is one row a job with "
        "names and seconds; any other table or view goes by its own name; `openmetrics` is the "
        "series and evictions under KAI's metric names, with times; `perfetto` is the whole run "
        "for "
        "the viewer at ui.perfetto.dev: jobs as slices on their nodes, queues as counters.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct export_options o = {0};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    orr_cli_data();
    const enum orr_status status =
        o.output != NULL ? export_to_file(&o, &err) : export_to(&o, stdout, &err);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}

/* --- plot --- */

struct plot_options {
    struct orr_cli_common common;
    const char *from, *to;
    const char *figures[64];
    struct orr_plot_arm runs[ORR_PLOT_RUNS];
    uint32_t run_count;
    struct orr_plot_options plot;
    struct orr_plot_settings settings;
    bool list;
    struct orr_json json; /* of the files, while they are written */
    char *left_out[64];   /* "FIGURE: why", owned */
    uint32_t left_count;
};

static void add_run(struct plot_options *o, char *arg, struct argp_state *state)
{
    if (o->run_count == ORR_PLOT_RUNS) {
        argp_error(state, "one axes takes at most %d runs", ORR_PLOT_RUNS);
        return;
    }
    struct orr_plot_arm *run = &o->runs[o->run_count++];
    run->path = orr_cli_labelled(arg, &run->label);
    for (struct orr_plot_arm *other = o->runs; other < run && run->label != NULL; other++) {
        if (other->label != NULL && strcmp(other->label, run->label) == 0) {
            argp_error(state, "two runs are called \"%s\"", run->label);
        }
    }
}

/* "NAME", "NAME,PT" or ",PT" */
static const char *font_of(const struct argp_state *state, const char *text)
{
    const char *comma = strrchr(text, ',');
    double points = 1;
    if (text[0] == '\0' ||
        (comma != NULL && (!orr_parse_double(comma + 1, strlen(comma + 1), &points) || points < 1 ||
                           points > 200))) {
        argp_error(state, "--font: \"%s\" is not NAME, NAME,PT or ,PT with a size from 1 to 200",
                   text);
    }
    return text;
}

static error_t parse_plot(int key, char *arg, struct argp_state *state)
{
    struct plot_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'o': o->plot.dir = arg; return 0;
    case 't': o->plot.term = arg; return 0;
    case 'w':
        if (!orr_parse_double(arg, strlen(arg), &o->plot.width_mm) || o->plot.width_mm < 20 ||
            o->plot.width_mm > 2000) {
            argp_error(state, "--width: \"%s\" is not a number of millimetres from 20 to 2000",
                       arg);
        }
        return 0;
    case 'f': o->plot.font = font_of(state, arg); return 0;
    case 'n': o->plot.no_title = true; return 0;
    case 's': o->plot.script = true; return 0;
    case 'd': o->plot.dark = true; return 0;
    case 'l': o->list = true; return 0;
    case 'a': o->from = arg; return 0;
    case 'b': o->to = arg; return 0;
    case 'm':
        if (o->settings.metrics[1] != NULL) {
            argp_error(state, "a figure of settings takes at most two metrics");
        }
        o->settings.metrics[o->settings.metrics[0] != NULL] = arg;
        return 0;
    case 'x':
        if (o->settings.axes[1] != NULL) {
            argp_error(state, "a map has two axes");
        }
        o->settings.axes[o->settings.axes[0] != NULL] = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (!orr_plot_is_figure(arg) && !orr_plot_is_of_settings(arg) &&
            (o->run_count == 0 || strpbrk(arg, "./=") != NULL)) {
            add_run(o, arg, state);
        } else if (o->plot.count < sizeof o->figures / sizeof o->figures[0]) {
            o->figures[o->plot.count++] = arg;
        }
        return 0;
    case ARGP_KEY_END:
        if (o->run_count == 0 && !o->list) {
            argp_error(state, "name a results file");
        }
        if (o->common.json && o->plot.term != NULL && strcmp(o->plot.term, "dumb") == 0) {
            argp_error(state, "--json is not for --term dumb, which prints to the terminal");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void begin_files(struct plot_options *o)
{
    if (o->json.depth == 0) {
        orr_json_open(&o->json, NULL, '{');
        orr_json_open(&o->json, "files", '[');
    }
}

static void tell_file(void *context, const char *path, const char *warning)
{
    struct plot_options *o = context;
    if (path == NULL && !o->common.json) {
        if (!o->common.quiet) {
            (void)fprintf(stderr, "not drawn: %s\n", warning);
        }
        return;
    }
    if (path == NULL) {
        if (o->left_count < sizeof o->left_out / sizeof o->left_out[0]) {
            o->left_out[o->left_count++] = orr_strdup(warning);
        }
        return;
    }
    if (o->common.json) {
        begin_files(o);
        orr_json_open(&o->json, NULL, '{');
        orr_json_text(&o->json, "file", path);
        orr_json_text(&o->json, "warning", warning);
        orr_json_close(&o->json, '}');
        return;
    }
    if (!o->common.quiet && strcmp(path, "-") != 0) {
        (void)printf("%s\n", path);
    }
    if (warning != NULL) {
        (void)fprintf(stderr, "gnuplot: %s\n", warning);
    }
}

/* Ends the document. */
static void end_files(struct plot_options *o)
{
    orr_json_close(&o->json, ']');
    orr_json_open(&o->json, "not_drawn", '[');
    for (uint32_t i = 0; i < o->left_count; i++) {
        char *why = strstr(o->left_out[i], ": ");
        *why = '\0';
        orr_json_open(&o->json, NULL, '{');
        orr_json_text(&o->json, "figure", o->left_out[i]);
        orr_json_text(&o->json, "why", why + 2);
        orr_json_close(&o->json, '}');
        orr_free(o->left_out[i]);
    }
    orr_json_close(&o->json, ']');
    orr_json_close(&o->json, '}');
}

static void list_figures(bool as_json)
{
    uint32_t count;
    const struct orr_plot_info *figures = orr_plot_list(&count);
    struct orr_json json = {.out = stdout};
    if (!as_json) {
        for (uint32_t i = 0; i < count; i++) {
            (void)printf("%-14s %s%s\n", figures[i].name, figures[i].summary,
                         figures[i].of_runs ? " (of several runs too)" : "");
        }
        return;
    }
    orr_json_open(&json, NULL, '{');
    orr_json_open(&json, "figures", '[');
    for (uint32_t i = 0; i < count; i++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", figures[i].name);
        orr_json_text(&json, "summary", figures[i].summary);
        orr_json_bool(&json, "several_runs", figures[i].of_runs);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

/* Of a merged sweep: the figures named, or all. */
static enum orr_status plot_settings(struct plot_options *o, struct orr_err *err)
{
    static const char *const all[] = {"map", "front", "multiples"};
    const char *const *figures = o->plot.count > 0 ? o->figures : all;
    const uint32_t count = o->plot.count > 0 ? o->plot.count : sizeof all / sizeof all[0];
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        struct orr_plot_settings what = o->settings;
        what.metrics[0] = what.metrics[0] != NULL ? what.metrics[0] : "wait_p95_s";
        what.metrics[1] = what.metrics[1] != NULL ? what.metrics[1] : "gpu_goodput";
        status =
            orr_plot_is_of_settings(figures[i])
                ? orr_plot_settings(o->runs[0].path, figures[i], &what, &o->plot, tell_file, o, err)
                : orr_fail(err, ORR_USAGE,
                           "%s is a merged sweep: of those there are map, front and "
                           "multiples; %s is of a run",
                           o->runs[0].path, figures[i]);
    }
    return status;
}

/* A file that is not there is reported before figures, which depend on what the file is. */
static enum orr_status find_runs(const struct plot_options *o, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < o->run_count && status == ORR_OK; i++) {
        if (access(o->runs[i].path, R_OK) != 0) {
            status = orr_fail(err, ORR_NO_INPUT, "%s: %s", o->runs[i].path, strerror(errno));
        }
    }
    return status;
}

int orr_cli_plot(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"output", 'o', "DIR", 0, "folder for the files (default: the current one)", 0},
        {"term", 't', "svg|png|pdf|dumb", 0, "default svg; dumb prints to the terminal", 0},
        {"width", 'w', "MM", 0,
         "for print: so many millimetres wide, letters of 6 pt (pdf without it: 174)", 0},
        {"font", 'f', "NAME[,PT]", 0, "letters, such as \"Times,8\" or \",8\"", 0},
        {"no-title", 'n', 0, 0, "without the title, which goes to FIGURE.caption beside it", 0},
        {"dark", 'd', 0, 0, "for a dark page", 0},
        {"script", 's', 0, 0,
         "write gnuplot's script (.gp) and its data (.dat) instead of a figure", 0},
        {"list", 'l', 0, 0, "name the figures", 0},
        {"from", 'a', "TIME", 0, "draw from then on: " ORR_CLI_TIME_HELP, 0},
        {"to", 'b', "TIME", 0, "draw up to this time", 0},
        {"metric", 'm', "NAME", 0,
         "of a merged sweep: what `map` and `multiples` show (default wait_p95_s), and twice what "
         "`front` does (wait_p95_s and gpu_goodput)",
         0},
        {"axis", 'x', "NAME", 0,
         "of a merged sweep: twice, what `map` has down and across, and `multiples` a panel for "
         "and "
         "across (the first and the last; a line for each value of the next)",
         0},
        {0}};
    const struct argp parser = {
        rows,
        parse_plot,
        "R.db [FIGURE...]\nNAME=A.db NAME=B.db... [FIGURE...]\n--list",
        "Draw figures of a results file with gnuplot; all when none is named. Prints the names of "
        "the files written; --quiet does not. Of several results files each figure shows all runs "
        "in one axes (compare-FIGURE.svg); --list says which figures can. A figure that has "
        "nothing to show is not drawn; a line says why. Of a merged sweep `map` shows a metric "
        "over two axes, `front` the settings that no other beats in two metrics, `multiples` a "
        "metric over one axis in a panel for each value of another.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct plot_options o = {.plot = ORR_PLOT_DEFAULTS, .json = {.out = stdout}};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    if (o.list) {
        list_figures(o.common.json);
        return 0;
    }
    o.plot.figures = o.figures;
    o.plot.interrupted = orr_interrupt_catch();
    enum orr_status status = find_runs(&o, &err);
    if (status == ORR_OK) {
        status = orr_cli_folder(o.plot.dir, &err);
    }
    if (status == ORR_OK) {
        status = orr_cli_time(o.runs[0].path, "--from", o.from, &o.plot.from_ms, &err);
    }
    if (status == ORR_OK) {
        status = orr_cli_time(o.runs[0].path, "--to", o.to, &o.plot.to_ms, &err);
    }
    const bool is_merged = o.run_count == 1 && orr_results_is_merged(o.runs[0].path);
    if (status == ORR_OK && !is_merged &&
        (o.settings.metrics[0] != NULL || o.settings.axes[0] != NULL)) {
        status = orr_fail(&err, ORR_USAGE, "%s is of a merged sweep, which %s is not",
                          o.settings.metrics[0] != NULL ? "--metric" : "--axis", o.runs[0].path);
    }
    if (status == ORR_OK) {
        status = is_merged ? plot_settings(&o, &err)
                 : o.run_count == 1
                     ? orr_plot_run(o.runs[0].path, &o.plot, tell_file, &o, &err)
                     : orr_plot_runs(o.runs, o.run_count, &o.plot, tell_file, &o, &err);
    }
    if (o.common.json && status == ORR_OK) {
        begin_files(&o);
    }
    if (o.json.depth > 0) { /* also what was written before a failure */
        end_files(&o);
    }
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}

/* --- conform --- */

struct conform_options {
    struct orr_cli_common common;
    const char *policy;
    const char **paths;
    size_t count;
};

static error_t parse_conform(int key, char *arg, struct argp_state *state)
{
    struct conform_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'p': o->policy = arg; return 0;
    case ARGP_KEY_ARG: o->paths[o->count++] = arg; return 0;
    case ARGP_KEY_END:
        if (o->count == 0) {
            argp_error(state, "name a file or folder of cases");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void begin_entries(struct orr_json *json)
{
    if (json->depth == 0) { /* only once it is known that the files can be read */
        orr_json_open(json, NULL, '{');
        orr_json_open(json, "entries", '[');
    }
}

static void json_entry(const struct orr_conform_entry *entry, void *context)
{
    struct orr_json *json = context;
    begin_entries(json);
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "id", entry->id);
    orr_json_text(json, "verdict", orr_conform_words[entry->verdict]);
    orr_json_text(json, "text", entry->text);
    orr_json_close(json, '}');
}

static void json_tally(struct orr_json *json, const struct orr_conform_tally *tally)
{
    begin_entries(json);
    orr_json_close(json, ']');
    orr_json_int(json, "passed", tally->passed);
    orr_json_int(json, "failed", tally->failed);
    orr_json_int(json, "skipped", tally->skipped);
    orr_json_close(json, '}');
}

static enum orr_status conform(const struct conform_options *o, struct orr_conform_tally *tally,
                               struct orr_err *err)
{
    struct orr_json json = {.out = stdout};
    struct orr_conform_text text = {.out = stdout, .verbose = o->common.verbose};
    const enum orr_status status =
        o->common.json
            ? orr_conform_run(o->paths, o->count, o->policy, json_entry, &json, tally, err)
            : orr_conform_run(o->paths, o->count, o->policy, orr_conform_print, &text, tally, err);
    if (status == ORR_OK && o->common.json) {
        json_tally(&json, tally);
    } else if (status == ORR_OK) {
        orr_conform_print_tally(tally, stdout);
    }
    return status;
}

int orr_cli_conform(int argc, char **argv)
{
    static const struct argp_option rows[] = {{"policy", 'p', "NAME", 0, "default kai", 0}, {0}};
    const struct argp parser = {rows,
                                parse_conform,
                                "FILE-OR-FOLDER...",
                                "Compare what a policy decides with what cases expect. Prints what "
                                "failed or was skipped; --verbose also what passed. Exit code 1: "
                                "some failed.",
                                orr_cli_everywhere,
                                NULL,
                                NULL};
    struct conform_options o = {.paths = orr_zalloc((size_t)argc, sizeof *o.paths)};
    struct orr_conform_tally tally = {0};
    struct orr_err err = {0};
    if (o.paths == NULL) {
        return 1;
    }
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    enum orr_status status = conform(&o, &tally, &err);
    orr_free(o.paths);
    return status != ORR_OK ? orr_cli_fail(&err) : tally.failed > 0;
}
