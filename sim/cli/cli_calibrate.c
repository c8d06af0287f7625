/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_calibrate.c - `orrery calibrate`: simulated against recorded starts. */
#include <string.h>

#include <orrery/analysis/calibrate.h>
#include <orrery/base/text.h>
#include <orrery/sim/study.h>

#include "cli.h"

static void print_row(const struct orr_calibration_row *r)
{
    char a[24], b[24], c[24], d[24], e[24], f[24], g[24];
    (void)printf("%-20.20s %-11s %7u | %9s %9s %9s %9s | %9s %9s %9s | %5.3f\n", r->queue, r->kind,
                 r->jobs, orr_format_rough(a, r->recorded_p50_s),
                 orr_format_rough(b, r->simulated_p50_s), orr_format_rough(c, r->recorded_p95_s),
                 orr_format_rough(d, r->simulated_p95_s), orr_format_rough(e, r->error_p10_s),
                 orr_format_rough(f, r->error_p50_s), orr_format_rough(g, r->error_p90_s), r->ks);
}

static void print_text(const struct orr_calibration *c, const char *sentence)
{
    (void)printf("%-20s %-11s %7s | %9s %9s %9s %9s | %9s %9s %9s | %5s\n", "queue", "kind", "jobs",
                 "recorded", "simulated", "recorded", "simulated", "error p10", "p50", "p90", "KS");
    (void)printf("%-20s %-11s %7s | %9s %9s %9s %9s |\n", "", "", "", "wait p50", "wait p50",
                 "wait p95", "wait p95");
    for (uint32_t i = 0; i < c->count; i++) {
        print_row(&c->rows[i]);
    }
    (void)printf(
        "\nerror: simulated minus recorded wait, job by job. KS: greatest distance between "
        "the two distributions of waits.\n"
        "occupancy: %+.1f %% of the GPU time of the window against the record; on average "
        "%.1f %% of the GPUs held differ at a time\n",
        100 * c->occupancy_gap, 100 * c->occupancy_apart);
    if (c->unmatched > 0) {
        (void)printf("%llu recorded jobs never start here\n", (unsigned long long)c->unmatched);
    }
    (void)printf("%s\n", sentence);
}

static void print_json(const struct orr_calibration *c, const char *sentence)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "sentence", sentence);
    orr_json_real(&json, "occupancy_gap", c->occupancy_gap);
    orr_json_real(&json, "occupancy_apart", c->occupancy_apart);
    orr_json_int(&json, "unmatched", (int64_t)c->unmatched);
    orr_json_open(&json, "rows", '[');
    for (uint32_t i = 0; i < c->count; i++) {
        const struct orr_calibration_row *r = &c->rows[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "queue", r->queue);
        orr_json_text(&json, "kind", r->kind);
        orr_json_int(&json, "jobs", r->jobs);
        orr_json_real(&json, "recorded_wait_mean_s", r->recorded_mean_s);
        orr_json_real(&json, "simulated_wait_mean_s", r->simulated_mean_s);
        orr_json_real(&json, "recorded_wait_p50_s", r->recorded_p50_s);
        orr_json_real(&json, "simulated_wait_p50_s", r->simulated_p50_s);
        orr_json_real(&json, "recorded_wait_p95_s", r->recorded_p95_s);
        orr_json_real(&json, "simulated_wait_p95_s", r->simulated_p95_s);
        orr_json_real(&json, "error_p10_s", r->error_p10_s);
        orr_json_real(&json, "error_p50_s", r->error_p50_s);
        orr_json_real(&json, "error_p90_s", r->error_p90_s);
        orr_json_real(&json, "ks", r->ks);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

static void warn(const char *text, void *context)
{
    (void)context;
    (void)fputs(text, stderr);
}

static void draw(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    orr_progress_draw(context, done, total, now);
}

/* Results that nobody asked for are called by their scenario's name. */
static void rename_in(struct orr_err *err, const char *path, const char *name)
{
    const size_t bytes = strlen(path);
    if (strncmp(err->text, path, bytes) == 0) {
        char rest[sizeof err->text];
        (void)snprintf(rest, sizeof rest, "%s", err->text + bytes);
        (void)snprintf(err->text, sizeof err->text, "%.200s%.*s", name,
                       (int)(sizeof err->text - 201), rest);
    }
}

/* What is kept beside the scenario, and what the table ends with. */
static void sum_up(const struct orr_calibration *c, const char *policy, char *text, size_t bytes)
{
    char recorded[24], simulated[24];
    (void)snprintf(text, bytes,
                   "under %s the median wait is %s against %s recorded, KS %.2f over %u jobs, "
                   "occupancy %+.1f %%",
                   policy, orr_format_rough(simulated, c->rows[0].simulated_p50_s),
                   orr_format_rough(recorded, c->rows[0].recorded_p50_s), c->rows[0].ks,
                   c->rows[0].jobs, 100 * c->occupancy_gap);
}

int orr_cli_calibrate(int argc, char **argv)
{
    struct orr_cli_options o;
    struct orr_err err = {0};
    struct orr_progress progress;
    struct orr_point point;
    struct orr_calibration calibration;
    char scratch[4200] = "", output[4600], sentence[500];
    orr_cli_parse(argc, argv,
                  "Replay a trace that recorded its starts, and say how far the simulated ones are "
                  "from them, by queue and kind.\v"
                  "Name the policy the system ran with; where it is only an approximation, so is "
                  "the answer. For a scenario file the result is kept beside it (NAME.calibration) "
                  "and shown by `orrery whatif`. `orrery plot R.db qq` draws it.",
                  ORR_CLI_RESULTS, &o);
    orr_progress_init(&progress, &o.common);
    struct orr_point_options options = {.scenario = o.scenario,
                                        .output = o.output,
                                        .force = o.force,
                                        .allow_loss_ppm = o.allow_loss_ppm,
                                        .warn = o.common.quiet ? NULL : warn,
                                        .interrupted = orr_interrupt_catch(),
                                        .progress = draw,
                                        .context = &progress};
    enum orr_status status = orr_cli_output(o.output, &err);
    if (o.output == NULL) { /* nobody asked for the results */
        status = orr_scratch_open(scratch, sizeof scratch, &err);
        (void)snprintf(output, sizeof output, "%s/run.db", scratch);
        options.output = output;
    }
    if (status == ORR_OK) {
        status = orr_point_run(&options, &point, &err);
        orr_progress_clear(&progress);
        if (status == ORR_OK) {
            status = orr_calibrate(point.output, &calibration, &err);
            if (status != ORR_OK && o.output == NULL) {
                rename_in(&err, point.output, point.scenario.name);
            }
        }
        if (status == ORR_OK) {
            sum_up(&calibration, point.scenario.policy, sentence, sizeof sentence);
            if (o.common.json) {
                print_json(&calibration, sentence);
            } else {
                print_text(&calibration, sentence);
            }
            if (point.scenario.path != NULL) {
                status = orr_calibration_keep(&point.scenario, sentence, &err);
            }
            orr_calibration_release(&calibration);
        }
        orr_point_release(&point);
    }
    if (scratch[0] != '\0') {
        orr_scratch_remove(scratch);
    }
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
