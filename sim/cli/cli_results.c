/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_results.c - the verbs that read results and cases: export, plot, conform. */
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/export.h>
#include <orrery/analysis/plot.h>
#include <orrery/base/text.h>
#include <orrery/sim/conform.h>
#include <orrery/sim/study.h>

#include "cli.h"

struct export_options {
    const char *path, *table, *format;
};

static error_t parse_export(int key, char *arg, struct argp_state *state)
{
    struct export_options *o = state->input;
    switch (key) {
    case 'f': o->format = arg; return 0;
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
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int orr_cli_export(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"format", 'f', "csv|jsonl|swf", 0, "default csv; swf only for jobs", 0}, {0}};
    const struct argp parser = {
        rows,
        parse_export,
        "R.db TABLE",
        "Write a table or view of a results file to standard output. `jobs` is one row a job with "
        "names and seconds; any other table or view goes by its own name; `openmetrics` is the "
        "series and evictions under KAI's metric names, with times.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct export_options options = {.format = "csv"};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &options);
    enum orr_status status =
        strcmp(options.table, "openmetrics") == 0
            ? orr_export_openmetrics(options.path, stdout, &err)
            : orr_export_table(options.path, options.table, options.format, stdout, &err);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}

struct plot_options {
    const char *path;
    const char *figures[64];
    struct orr_plot_options plot;
    bool list, quiet;
};

static orr_ms time_option(struct argp_state *state, const char *text)
{
    orr_ms time = 0;
    if (!orr_parse_duration(text, strlen(text), &time)) {
        argp_error(state, "\"%s\" is not a time such as 12h or 3d", text);
    }
    return time;
}

static error_t parse_plot(int key, char *arg, struct argp_state *state)
{
    struct plot_options *o = state->input;
    switch (key) {
    case 'o': o->plot.dir = arg; return 0;
    case 't': o->plot.term = arg; return 0;
    case 'l': o->list = true; return 0;
    case 'q': o->quiet = true; return 0;
    case 'a': o->plot.from_ms = time_option(state, arg); return 0;
    case 'b': o->plot.to_ms = time_option(state, arg); return 0;
    case ARGP_KEY_ARG:
        if (o->path == NULL) {
            o->path = arg;
        } else if (o->plot.count < sizeof o->figures / sizeof o->figures[0]) {
            o->figures[o->plot.count++] = arg;
        }
        return 0;
    case ARGP_KEY_END:
        if (o->path == NULL && !o->list) {
            argp_error(state, "name a results file");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void print_file(void *context, const char *path, const char *warning)
{
    const struct plot_options *o = context;
    if (!o->quiet && strcmp(path, "-") != 0) {
        (void)printf("%s\n", path);
    }
    if (warning != NULL) {
        (void)fprintf(stderr, "gnuplot: %s\n", warning);
    }
}

int orr_cli_plot(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"output", 'o', "DIR", 0, "folder for the files (default: the current one)", 0},
        {"term", 't', "svg|png|dumb", 0, "default svg; dumb prints to the terminal", 0},
        {"list", 'l', 0, 0, "name the figures", 0},
        {"from", 'a', "TIME", 0, "draw from this time of the run's clock on, such as 12d", 0},
        {"to", 'b', "TIME", 0, "draw up to this time", 0},
        {"quiet", 'q', 0, 0, "do not list the files written", 0},
        {0}};
    const struct argp parser = {
        rows,
        parse_plot,
        "R.db [FIGURE...]",
        "Draw figures of a results file with gnuplot; all when none is named.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct plot_options o = {.plot = ORR_PLOT_DEFAULTS};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    if (o.list) {
        uint32_t count;
        const struct orr_plot_info *figures = orr_plot_list(&count);
        for (uint32_t i = 0; i < count; i++) {
            (void)printf("%-14s %s\n", figures[i].name, figures[i].summary);
        }
        return 0;
    }
    o.plot.figures = o.figures;
    o.plot.interrupted = orr_interrupt_catch();
    enum orr_status status = orr_cli_folder(o.plot.dir, &err);
    if (status == ORR_OK) {
        status = orr_plot_run(o.path, &o.plot, print_file, &o, &err);
    }
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}

struct conform_options {
    const char *policy;
    bool verbose;
    const char **paths;
    size_t count;
};

static error_t parse_conform(int key, char *arg, struct argp_state *state)
{
    struct conform_options *o = state->input;
    switch (key) {
    case 'p': o->policy = arg; return 0;
    case 'v': o->verbose = true; return 0;
    case ARGP_KEY_ARG: o->paths[o->count++] = arg; return 0;
    case ARGP_KEY_END:
        if (o->count == 0) {
            argp_error(state, "name a file or folder of cases");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int orr_cli_conform(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"policy", 'p', "NAME", 0, "default kai", 0},
        {"verbose", 'v', 0, 0, "a line for what passes too", 0},
        {0}};
    const struct argp parser = {rows,
                                parse_conform,
                                "FILE-OR-FOLDER...",
                                "Compare what a policy decides with what cases expect.",
                                orr_cli_everywhere,
                                NULL,
                                NULL};
    struct conform_options o = {.paths = calloc((size_t)argc, sizeof *o.paths)};
    struct orr_conform_tally tally = {0};
    struct orr_err err = {0};
    if (o.paths == NULL) {
        return 1;
    }
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    enum orr_status status =
        orr_conform_run(o.paths, o.count, o.policy, o.verbose, stdout, &tally, &err);
    free(o.paths);
    return status != ORR_OK ? orr_cli_fail(&err) : tally.failed > 0;
}
