/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import_text.c - what became of the rows of an import, as text and as JSON. */
#include "import_text.h"

#include <string.h>

#include <orrery/analysis/json.h>
#include <orrery/base/text.h>

#include "stat_text.h"

static struct stat_view view_of(const struct orr_intake_report *report, int64_t capacity)
{
    return (struct stat_view){.stat = &report->stat,
                              .origin_ms = report->is_dated ? 0 : ORR_MS_NONE,
                              .capacity = capacity};
}

static void print_drops(const struct orr_intake_report *report, FILE *out)
{
    for (uint32_t d = 0; d < report->drop_count; d++) {
        const struct orr_intake_drop *drop = &report->drops[d];
        (void)fprintf(out, "  %-8s  %llu row%s: %s (first %s", d == 0 ? "left out" : "",
                      (unsigned long long)drop->rows, ORR_PLURAL(drop->rows), drop->reason,
                      report->file);
        if (drop->line > 0) { /* objects of a folder of dumps have none */
            (void)fprintf(out, ":%u", (unsigned)drop->line);
        }
        (void)fprintf(out, strcmp(drop->first, drop->reason) == 0 ? ")\n" : ": %s)\n", drop->first);
    }
}

static void print_series(const struct orr_intake_report *report, FILE *out)
{
    char text[32];
    (void)fprintf(out, "  series    %llu steps of %s", (unsigned long long)report->steps,
                  orr_format_rough(text, (double)report->step_ms / 1000.0));
    for (uint32_t c = 0; c < report->column_count; c++) {
        (void)fprintf(out, "; %s: %.15g in all, %.15g in the busiest step", report->columns[c],
                      report->sums[c], report->most[c]);
    }
    (void)fprintf(out, "\n  span      %s",
                  orr_format_rough(text, (double)(report->last_ms - report->first_ms) / 1000.0));
    if (report->is_dated) {
        (void)orr_format_timestamp(text, report->first_ms);
        (void)fprintf(out, " from %s on", text);
    }
    (void)fprintf(out, "; the last step is left out, since it is not known to be whole\n");
}

void import_print(const struct orr_intake_report *report, int64_t capacity, FILE *out)
{
    const struct stat_view view = view_of(report, capacity);
    (void)fprintf(out, "%s%s%s\n", report->file, report->about != NULL ? ": " : "",
                  report->about != NULL ? report->about : "");
    (void)fprintf(out, "  rows      %llu read, %llu kept\n", (unsigned long long)report->rows,
                  (unsigned long long)report->kept);
    print_drops(report, out);
    if (report->is_series) {
        print_series(report, out);
    } else if (report->is_nodes) {
        (void)fprintf(out, "  cluster   %llu node%s of %u kind%s, %lld GPU%s\n",
                      (unsigned long long)report->nodes, ORR_PLURAL(report->nodes),
                      (unsigned)report->pools, ORR_PLURAL(report->pools), (long long)report->gpus,
                      ORR_PLURAL(report->gpus));
    } else {
        stat_text(&view, out);
    }
    for (uint32_t n = 0; n < report->note_count; n++) {
        (void)fprintf(out, "  %-8s  %s\n", n == 0 ? "notes" : "", report->notes[n]);
    }
    if (report->sha256[0] != '\0') {
        (void)fprintf(out, "  sha256    %s\n", report->sha256);
    }
}

void import_print_json(const struct orr_intake_report *report, const char *output, int64_t capacity)
{
    struct orr_json json = {.out = stdout};
    const struct stat_view view = view_of(report, capacity);
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "from", report->file);
    orr_json_text(&json, "sha256", report->sha256);
    orr_json_text(&json, "file", output);
    orr_json_int(&json, "rows", (int64_t)report->rows);
    orr_json_int(&json, "kept", (int64_t)report->kept);
    orr_json_int(&json, "wrong", (int64_t)report->wrong);
    orr_json_open(&json, "left_out", '[');
    for (uint32_t d = 0; d < report->drop_count; d++) {
        const struct orr_intake_drop *drop = &report->drops[d];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "reason", drop->reason);
        orr_json_int(&json, "rows", (int64_t)drop->rows);
        orr_json_bool(&json, "asked", drop->asked);
        orr_json_int(&json, "first_line", drop->line);
        orr_json_text(&json, "first", drop->first);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    if (report->is_series) {
        orr_json_int(&json, "steps", (int64_t)report->steps);
        orr_json_seconds(&json, "step_s", report->step_ms);
        orr_json_seconds(&json, "span_s", report->last_ms - report->first_ms);
        orr_json_open(&json, "sums", '{');
        for (uint32_t c = 0; c < report->column_count; c++) {
            orr_json_real(&json, report->columns[c], report->sums[c]);
        }
        orr_json_close(&json, '}');
    } else if (report->is_nodes) {
        orr_json_int(&json, "nodes", (int64_t)report->nodes);
        orr_json_int(&json, "gpus", report->gpus);
        orr_json_int(&json, "pools", report->pools);
    } else {
        stat_json(&view, &json);
    }
    orr_json_open(&json, "notes", '[');
    for (uint32_t n = 0; n < report->note_count; n++) {
        orr_json_text(&json, NULL, report->notes[n]);
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}
