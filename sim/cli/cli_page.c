/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_page.c - `orrery report`: one self-contained HTML page. */
#include <string.h>

#include <orrery/analysis/report.h>
#include <orrery/sim/study.h>

#include "cli.h"

struct page_options {
    const char *paths[ORR_CLI_LIST_MAX];
    uint32_t count;
    const char *output;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct page_options *o = state->input;
    switch (key) {
    case 'o': o->output = arg; return 0;
    case ARGP_KEY_ARG: orr_cli_append(state, o->paths, &o->count, arg); return 0;
    case ARGP_KEY_END:
        if (o->count == 0) {
            argp_error(state, "name a results file");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int orr_cli_page(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"output", 'o', "FILE", 0, "the page (default: report.html)", 0}, {0}};
    const struct argp parser = {
        rows,
        parse,
        "R.db...",
        "Write one self-contained HTML page: headline numbers, who waited and "
        "why, evictions and their cost, who borrowed from whom, figures, "
        "provenance. Several results are put side by side.",
        NULL,
        NULL,
        NULL};
    struct page_options o = {.output = "report.html"};
    struct orr_err err = {0};
    char scratch[4200] = "";
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    enum orr_status status = orr_scratch_open(scratch, sizeof scratch, &err);
    if (status == ORR_OK) {
        const struct orr_report_options options = {
            .paths = o.paths, .count = o.count, .output = o.output, .scratch = scratch};
        status = orr_report_write(&options, &err);
        orr_scratch_remove(scratch);
    }
    if (status == ORR_OK) {
        (void)printf("%s\n", o.output);
    }
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
