/* SPDX-License-Identifier: GPL-3.0-or-later */
/* row.c - a job that is not submitted yet, given as a row. */
#include "forecast_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <orrery/analysis/csv.h>
#include <orrery/base/text.h>

enum { CELLS = 64, ADDED = 4 };

#define HOUR_MS ((orr_ms)3600000)

struct cells {
    const char *name[CELLS], *value[CELLS];
    uint32_t count;
};

static enum orr_status cut(const char *text, struct orr_arena *arena, struct cells *cells,
                           struct orr_err *err)
{
    while (*text != '\0') {
        const size_t bytes = strcspn(text, ","), name = strcspn(text, "=");
        if (name >= bytes || cells->count + ADDED >= CELLS) {
            return orr_fail(err, ORR_USAGE, "--row: \"%.*s\" is not COLUMN=VALUE", (int)bytes,
                            text);
        }
        cells->name[cells->count] = orr_arena_strndup(arena, text, name);
        cells->value[cells->count++] = orr_arena_strndup(arena, text + name + 1, bytes - name - 1);
        text += bytes + (text[bytes] == ',');
    }
    return ORR_OK;
}

static bool states(const struct cells *cells, const char *name)
{
    bool any = false;
    for (uint32_t c = 0; c < cells->count; c++) {
        any = any || strcmp(cells->name[c], name) == 0;
    }
    return any;
}

/* What is stated of a column; else what is added for it. */
static const char *state(struct cells *cells, const char *name, const char *value)
{
    for (uint32_t c = 0; c < cells->count; c++) {
        if (strcmp(cells->name[c], name) == 0) {
            return cells->value[c];
        }
    }
    cells->name[cells->count] = name;
    cells->value[cells->count++] = value;
    return value;
}

static enum orr_status write_row(const char *path, const struct cells *cells, struct orr_err *err)
{
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
    }
    for (uint32_t c = 0; c < 2 * cells->count; c++) {
        const bool header = c < cells->count;
        orr_csv_text(out, header ? cells->name[c] : cells->value[c - cells->count]);
        (void)fputc((c + 1) % cells->count == 0 ? '\n' : ',', out);
    }
    const bool good = ferror(out) == 0;
    return fclose(out) == 0 && good ? ORR_OK : orr_fail(err, ORR_IO, "%s: cannot be written", path);
}

/* The scenario as it is, with a part more. */
static enum orr_status add_part(const struct orr_forecast_options *options, const char *trace,
                                struct orr_arena *arena, struct orr_scenario_options *scenario,
                                struct orr_err *err)
{
    struct orr_scenario given;
    const enum orr_status status = orr_scenario_load(&options->scenario, &given, err);
    if (status != ORR_OK) {
        return status;
    }
    const char *text = orr_study_with_part(given.resolved_yaml, ORR_FORECAST__PART, trace, arena);
    const char *path = given.path == NULL ? "scenario" : given.path;
    *scenario = (struct orr_scenario_options){
        .path = orr_arena_strndup(arena, path, strlen(path)),
        .text = text,
        .text_bytes = strlen(text),
        .folder = orr_arena_strndup(arena, given.folder, strlen(given.folder)),
        .seed = given.seed_first,
        .seed_given = true};
    orr_scenario_release(&given);
    return ORR_OK;
}

enum orr_status orr_forecast__add_row(const struct orr_forecast_options *options, orr_ms at_ms,
                                      const char *folder, struct orr_arena *arena,
                                      struct orr_scenario_options *scenario, const char **job,
                                      struct orr_err *err)
{
    struct cells cells = {.count = 0};
    char path[4400], submit[32], run[32], name[600];
    enum orr_status status = cut(options->row, arena, &cells, err);
    if (status != ORR_OK) {
        return status;
    }
    (void)orr_format_seconds(submit, at_ms);
    (void)snprintf(name, sizeof name, ORR_FORECAST__PART "/%.500s", state(&cells, "job", "yours"));
    if (states(&cells, "run_s") || options->row_run_ms > 0) {
        (void)state(&cells, "run_known", "true");
    }
    (void)orr_format_seconds(run, options->row_run_ms > 0 ? options->row_run_ms : HOUR_MS);
    (void)state(&cells, "run_s", run);
    if (strcmp(state(&cells, "submit_s", submit), submit) != 0) {
        return orr_fail(err, ORR_USAGE, "--row: the job is submitted at the moment: no submit_s");
    }
    *job = orr_arena_strndup(arena, name, strlen(name));
    (void)snprintf(path, sizeof path, "%s/row.csv", folder);
    status = write_row(path, &cells, err);
    return status == ORR_OK ? add_part(options, path, arena, scenario, err) : status;
}
