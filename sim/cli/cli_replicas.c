/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_replicas.c - `orrery run --replicas`: many seeds of one scenario, and what they have in
 * common. */
#include <math.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/metrics.h>
#include <orrery/analysis/spread.h>
#include <orrery/base/text.h>
#include <orrery/sim/sweep.h>

#include "cli.h"

static bool is_shown(const struct orr_spread_row *s)
{
    return s->label[0] == '\0' && orr_metric_is(s->metric, ORR_METRIC_HEADLINE);
}

static void text_row(const struct orr_spread_row *s, const struct orr_spread_arm *arm)
{
    char mean[40], low[40], high[40], least[40], most[40], range[90] = "";
    const struct orr_metric_def *def = orr_metric_find(s->metric);
    if (!isnan(s->low)) {
        (void)snprintf(range, sizeof range, "%s to %s",
                       orr_compare_figure(s->unit, s->low, false, low),
                       orr_compare_figure(s->unit, s->high, false, high));
    }
    (void)printf("%-28s %10s  %-22s %10s %10s", def->title,
                 orr_compare_figure(s->unit, s->mean, false, mean), range,
                 orr_compare_figure(s->unit, s->least, false, least),
                 orr_compare_figure(s->unit, s->most, false, most));
    if (s->n < arm->runs) {
        (void)printf("  of %u replica%s%s", (unsigned)s->n, ORR_PLURAL(s->n),
                     s->open > 0 ? ": not reached in the others" : "");
    }
    (void)printf("\n");
}

static void text(const struct orr_spreads *spreads, const char *output)
{
    const struct orr_spread_arm *arm = &spreads->arms[0];
    (void)printf("%s: %u replica%s, seeds %llu to %llu, policy %s\n\n%-28s %10s  %-22s %10s %10s\n",
                 arm->label, (unsigned)arm->runs, ORR_PLURAL(arm->runs),
                 (unsigned long long)arm->seed_least, (unsigned long long)arm->seed_most,
                 arm->policy, "", "mean", "95 % interval of it", "least", "most");
    for (uint32_t i = 0; i < spreads->count; i++) {
        if (is_shown(&spreads->items[i])) {
            text_row(&spreads->items[i], arm);
        }
    }
    if (arm->runs > 1 && arm->distinct == 1) {
        (void)printf("\nall replicas are the same run: nothing in this scenario hangs on its seed; "
                     "--set shake.submit=60s --set shake.run=0.01 moves its input a little\n");
    }
    for (uint32_t i = 0; i < spreads->expect_count; i++) {
        const struct orr_spread_expect *e = &spreads->expects[i];
        (void)printf("%s%s held in %u of %u\n", i == 0 ? "\n" : "", e->text, (unsigned)e->held,
                     (unsigned)arm->runs);
    }
    (void)printf(
        "\nresults in %s; `orrery compare` holds it against another, `orrery report` makes "
        "a page of it\n",
        output);
}

static void json(const struct orr_spreads *spreads, const char *output)
{
    const struct orr_spread_arm *arm = &spreads->arms[0];
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "scenario", spreads->name);
    orr_json_text(&json, "policy", arm->policy);
    orr_json_int(&json, "replicas", arm->runs);
    orr_json_int(&json, "distinct", arm->distinct); /* runs that decide otherwise than others */
    orr_json_int(&json, "seed_first", (int64_t)arm->seed_least);
    orr_json_int(&json, "seed_last", (int64_t)arm->seed_most);
    orr_json_open(&json, "metrics", '[');
    for (uint32_t i = 0; i < spreads->count; i++) {
        const struct orr_spread_row *s = &spreads->items[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "metric", s->metric);
        orr_json_text(&json, "label", s->label);
        orr_json_text(&json, "unit", s->unit);
        orr_json_int(&json, "n", s->n); /* replicas in which it is a number */
        orr_json_int(&json, "not_reached", s->open);
        orr_json_real(&json, "mean", s->mean);
        orr_json_real(&json, "low", s->low);
        orr_json_real(&json, "high", s->high);
        orr_json_real(&json, "least", s->least);
        orr_json_real(&json, "most", s->most);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "expectations", '[');
    for (uint32_t i = 0; i < spreads->expect_count; i++) {
        const struct orr_spread_expect *e = &spreads->expects[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "text", e->text);
        orr_json_int(&json, "held", e->held);
        orr_json_int(&json, "broken", e->broken);
        orr_json_int(&json, "unknown", e->unknown);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_text(&json, "results", output);
    orr_json_close(&json, '}');
}

/* Exit code 1: something expected was false in a replica; 78: it names no number. */
static int judge(const struct orr_spreads *spreads)
{
    int code = 0;
    for (uint32_t i = 0; i < spreads->expect_count; i++) {
        const struct orr_spread_expect *e = &spreads->expects[i];
        if (e->unknown > 0) {
            (void)fprintf(stderr, "orrery: %s: no such number in %u of the replicas\n", e->text,
                          (unsigned)e->unknown);
            code = orr_status_exit_code(ORR_SCENARIO);
        } else if (e->broken > 0) {
            (void)fprintf(stderr, "orrery: %s: held in %u of %u only\n", e->text, (unsigned)e->held,
                          (unsigned)(e->broken + e->held));
            code = code == 0 ? 1 : code;
        }
    }
    return code;
}

/* "NAME.db" where no file is named. */
static enum orr_status output_of(const struct orr_cli_options *o, char *path, size_t bytes,
                                 struct orr_err *err)
{
    struct orr_scenario scenario;
    enum orr_status status = orr_scenario_load(&o->scenario, &scenario, err);
    if (status != ORR_OK) {
        return status;
    }
    (void)snprintf(path, bytes, "%s%s", o->output != NULL ? o->output : scenario.name,
                   o->output != NULL ? "" : ".db");
    status = orr_point_refuse_inputs(&scenario, path, err);
    orr_scenario_release(&scenario);
    if (status == ORR_OK) {
        const char *named = o->output != NULL ? o->output : path; /* as typed: no input beside */
        status = o->force ? orr_cli_output(named, err)
                          : orr_cli_new_output(named, "--force replaces it", err);
    }
    return status;
}

int orr_cli_replicas(const struct orr_cli_options *o, const struct orr_point_options *point)
{
    char path[4200];
    struct orr_err err = {0};
    struct orr_progress progress;
    struct orr_spreads spreads;
    struct orr_point_options options = *point;
    orr_progress_init(&progress, &o->common);
    const struct orr_study_options study = {.jobs = o->jobs,
                                            .progress = orr_progress_draw,
                                            .again = orr_cli_again,
                                            .context = &progress};
    enum orr_status status = output_of(o, path, sizeof path, &err);
    options.output = path;
    if (status == ORR_OK) {
        orr_progress_draw(0, o->replicas, ORR_MS_NONE, &progress);
        status = orr_sweep_replicate(&options, o->replicas, &study, &err);
        orr_progress_clear(&progress);
    }
    if (status == ORR_OK) {
        status = orr_spreads_read(path, "all", &spreads, &err);
    }
    if (status != ORR_OK) {
        return orr_cli_fail(&err);
    }
    if (o->common.json) {
        json(&spreads, path);
    } else if (!o->common.quiet) {
        text(&spreads, path);
    }
    const int code = judge(&spreads);
    orr_spreads_release(&spreads);
    return code;
}
