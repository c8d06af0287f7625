/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_metrics.c - `orrery metrics`: what the numbers of a run mean. */
#include <string.h>

#include <orrery/analysis/markdown.h>
#include <orrery/analysis/metrics.h>

#include "cli.h"

enum { KEY_MARKDOWN = 256 };

struct metrics_options {
    struct orr_cli_common common;
    const char *name; /* one metric; NULL: all */
    bool markdown;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct metrics_options *o = state->input;
    switch (key) {
    case KEY_MARKDOWN: o->markdown = true; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case ARGP_KEY_ARG:
        if (o->name != NULL) {
            argp_error(state, "one metric at a time: \"%s\"?", arg);
        }
        o->name = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char *better_text(const struct orr_metric_def *m)
{
    return m->better == ORR_BETTER_NEITHER ? "-" : orr_better_word(m->better);
}

static void print_one(const struct orr_metric_def *m)
{
    (void)printf("%s: %s\n  unit      %s\n  better    %s\n  scopes    %s\n  means     %s\n",
                 m->name, m->title, m->unit, better_text(m), m->scopes, m->definition);
}

static void print_text(void)
{
    (void)printf("%-28s %-20s %-6s %s\n", "metric", "unit", "better", "in words");
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        (void)printf("%-28s %-20s %-6s %s%s\n", m->name, m->unit, better_text(m), m->title,
                     (m->uses & ORR_METRIC_HEADLINE) != 0 ? " *" : "");
    }
    (void)printf("\n*: compared when no metric is named. `orrery metrics NAME` gives the "
                 "definition.\n");
}

/* The table of analysis/README.md. */
static void print_markdown(void)
{
    (void)printf("| metric | unit | better | scopes | definition |\n|---|---|---|---|---|\n");
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        (void)printf("| `%s` | %s | %s | %s | ", m->name, m->unit, better_text(m), m->scopes);
        orr_markdown_text(stdout, m->definition);
        (void)printf(" |\n");
    }
}

static void print_json(const struct orr_metric_def *one)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_open(&json, "metrics", '[');
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        if (one != NULL && m != one) {
            continue;
        }
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", m->name);
        orr_json_text(&json, "unit", m->unit);
        orr_json_text(&json, "better", orr_better_word(m->better));
        orr_json_text(&json, "title", m->title);
        orr_json_text(&json, "scopes", m->scopes);
        orr_json_text(&json, "definition", m->definition);
        orr_json_bool(&json, "headline", (m->uses & ORR_METRIC_HEADLINE) != 0);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

int orr_cli_metrics(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"markdown", KEY_MARKDOWN, 0, 0, "the whole table as Markdown", 1}, {0}};
    const struct argp parser = {rows,
                                parse,
                                "[METRIC]",
                                "List the metrics of a run: unit, whether less or more is better, "
                                "scopes, definition.",
                                orr_cli_everywhere,
                                NULL,
                                NULL};
    struct metrics_options o = {0};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    const struct orr_metric_def *one = o.name != NULL ? orr_metric_find(o.name) : NULL;
    if (o.name != NULL && one == NULL) {
        const struct orr_metric_def *near = orr_metric_nearest(o.name);
        (void)orr_fail(&err, ORR_USAGE, "no metric is called %s%s%s%s", o.name,
                       near != NULL ? "; did you mean " : "", near != NULL ? near->name : "",
                       near != NULL ? "?" : "");
        return orr_cli_fail(&err);
    }
    if (o.common.json) {
        print_json(one);
    } else if (one != NULL) {
        print_one(one);
    } else if (o.markdown) {
        print_markdown();
    } else {
        print_text();
    }
    return 0;
}
