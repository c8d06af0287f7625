/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_columns.c - `orrery columns`: what a native trace may say of a job. */
#include <string.h>

#include <orrery/traces/reader.h>

#include "cli.h"

static void print_text(void)
{
    (void)printf(
        "Columns of the native CSV, in any order; a name that starts with x_ is ignored, an "
        "empty cell is not given.\nTimes are seconds with up to three decimals, or all of "
        "them dates: 2026-06-01T12:00:00Z, 2026-06-01 14:00:00+02:00.\nGPUs are stated in "
        "one way: gpus, or one of gpus_per_pod, gpu_fraction, gpu_memory_mib, "
        "mig_profile.\n\n");
    for (size_t c = 0; c < orr_trace_columns(); c++) {
        const struct orr_trace_column column = orr_trace_column(c);
        (void)printf("%-18s  %-15s  %s\n", column.name, column.type, column.summary);
        const char *alias;
        for (size_t n = 0; (alias = orr_trace_column_alias(c, n)) != NULL; n++) {
            (void)printf("%*s%s%s", n == 0 ? 37 : 0, "", n == 0 ? "also " : ", ", alias);
        }
        (void)printf("%s", orr_trace_column_alias(c, 0) != NULL ? "\n" : "");
    }
}

static void print_json(void)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_open(&json, "columns", '[');
    for (size_t c = 0; c < orr_trace_columns(); c++) {
        const struct orr_trace_column column = orr_trace_column(c);
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", column.name);
        orr_json_text(&json, "type", column.type);
        orr_json_text(&json, "summary", column.summary);
        orr_json_open(&json, "also", '[');
        const char *alias;
        for (size_t n = 0; (alias = orr_trace_column_alias(c, n)) != NULL; n++) {
            orr_json_text(&json, NULL, alias);
        }
        orr_json_close(&json, ']');
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

int orr_cli_columns(int argc, char **argv)
{
    struct orr_cli_common common;
    (void)orr_cli_parse_plain(argc, argv, NULL,
                              "List the columns of a native trace: name, type, meaning, and the "
                              "other names under which they are read.",
                              NULL, 0, &common);
    if (common.json) {
        print_json();
    } else {
        print_text();
    }
    return 0;
}
