/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_calibrate.c - `orrery calibrate`: simulated against recorded starts. */
#include <math.h>
#include <string.h>

#include <orrery/analysis/calibrate.h>
#include <orrery/analysis/names.h>
#include <orrery/base/text.h>
#include <orrery/sim/study.h>

#include "cli.h"

#define QUEUE_ROW 123 /* columns of a row beside the name of its queue */

static void print_row(const struct orr_calibration_row *r)
{
    char a[24], b[24], c[24], d[24], e[24], f[24], g[24], h[24], i[24];
    (void)printf(" %-11s %7u | %9s %9s %9s %9s %9s %9s | %9s %9s %9s | %5.3f\n", r->kind, r->jobs,
                 orr_format_rough(a, r->recorded_mean_s), orr_format_rough(b, r->simulated_mean_s),
                 orr_format_rough(c, r->recorded_p50_s), orr_format_rough(d, r->simulated_p50_s),
                 orr_format_rough(e, r->recorded_p95_s), orr_format_rough(f, r->simulated_p95_s),
                 orr_format_rough(g, r->error_p10_s), orr_format_rough(h, r->error_p50_s),
                 orr_format_rough(i, r->error_p90_s), r->ks);
}

/* The share of what the record held by which the run is off, and which records it rests on. */
static void print_occupancy(const struct orr_calibration *c)
{
    if (isnan(c->occupancy_gap)) {
        (void)printf("occupancy: not known: no record of the window holds GPUs and has an end or a "
                     "run time\n");
    } else {
        (void)printf(
            "occupancy: %+.1f %% of the GPU time that the record holds in the window; at a "
            "time %.1f %% of it is held otherwise\n",
            100 * c->occupancy_gap, 100 * c->occupancy_apart);
    }
    if (c->ends_derived > 0) {
        (void)printf("%llu record%s no end: start + run time is taken for it\n",
                     (unsigned long long)c->ends_derived,
                     ORR_ONE(c->ends_derived, " has", "s have"));
    }
    if (c->ends_unknown > 0) {
        (void)printf("%llu record%s neither an end nor a run time: %s not in the "
                     "occupancy\n",
                     (unsigned long long)c->ends_unknown,
                     ORR_ONE(c->ends_unknown, " has", "s have"),
                     ORR_ONE(c->ends_unknown, "it is", "they are"));
    }
}

/* What cannot have happened on this cluster, with the first such record; "" where all can. */
static void say_over(const struct orr_calibration_doubt *doubt, orr_ms origin_ms, char *text,
                     size_t bytes)
{
    char began[32];
    text[0] = '\0';
    if (doubt->over > 0) {
        (void)orr_format_clock(began, doubt->over_ms, origin_ms);
        (void)snprintf(
            text, bytes,
            "%llu record%s cannot have happened on this cluster: %s began when the "
            "others held too much of its %g GPU%s, job %.200s first, at %s; %g were held "
            "at once at most",
            (unsigned long long)doubt->over, ORR_PLURAL(doubt->over),
            ORR_ONE(doubt->over, "it", "they"), doubt->gpus, ORR_PLURAL(doubt->gpus),
            doubt->over_name, began, doubt->peak_gpus);
    }
}

static void say_early(const struct orr_calibration_doubt *doubt, char *text, size_t bytes)
{
    text[0] = '\0';
    if (doubt->early > 0) {
        (void)snprintf(text, bytes,
                       "%llu record%s cannot have happened: a begin before the submit, or an end "
                       "before the begin, job %.200s first",
                       (unsigned long long)doubt->early, ORR_PLURAL(doubt->early),
                       doubt->early_name);
    }
}

/* Row by row, the names of queues in one width. */
static void print_rows(const struct orr_calibration *c)
{
    struct orr_arena arena;
    struct orr_name_column queues = {.count = c->count};
    orr_arena_init(&arena);
    queues.names = orr_arena_alloc(&arena, queues.count + (size_t)1, sizeof *queues.names);
    for (uint32_t i = 0; i < c->count; i++) {
        queues.names[i] = c->rows[i].shown;
    }
    orr_name_column(&queues, QUEUE_ROW, &arena);
    (void)printf("%-*s %-11s %7s | %9s %9s %9s %9s %9s %9s | %9s %9s %9s | %5s\n", queues.width,
                 "queue", "kind", "jobs", "recorded", "simulated", "recorded", "simulated",
                 "recorded", "simulated", "error p10", "p50", "p90", "KS");
    (void)printf("%-*s %-11s %7s | %9s %9s %9s %9s %9s %9s |\n", queues.width, "", "", "",
                 "mean wait", "mean wait", "wait p50", "wait p50", "wait p95", "wait p95");
    for (uint32_t i = 0; i < c->count; i++) {
        orr_pad(stdout, queues.shorts[i], queues.width);
        print_row(&c->rows[i]);
    }
    orr_short_legend(stdout, "", queues.names, queues.shorts, queues.count);
    orr_arena_release(&arena);
}

static void print_text(const struct orr_calibration *c, orr_ms origin_ms, const char *sentence)
{
    char doubt[500];
    print_rows(c);
    (void)printf(
        "\nerror: simulated minus recorded wait, job by job. KS: greatest distance between "
        "the two distributions of waits.\n");
    print_occupancy(c);
    say_over(&c->doubt, origin_ms, doubt, sizeof doubt);
    (void)printf("%s%s", doubt, doubt[0] != '\0' ? "\n" : "");
    say_early(&c->doubt, doubt, sizeof doubt);
    (void)printf("%s%s", doubt, doubt[0] != '\0' ? "\n" : "");
    if (c->unmatched > 0) {
        (void)printf("%llu recorded job%s never start%s here and %s in no row above",
                     (unsigned long long)c->unmatched, ORR_PLURAL(c->unmatched),
                     ORR_ONE(c->unmatched, "s", ""), ORR_ONE(c->unmatched, "is", "are"));
        if (c->unmatched_most > 0) {
            (void)printf("; at last %llu of them wait%s because %s, such as job %s",
                         (unsigned long long)c->unmatched_most, ORR_ONE(c->unmatched_most, "s", ""),
                         c->unmatched_why, c->unmatched_first);
        }
        (void)printf("\n");
    }
    (void)printf("%s\n", sentence);
}

static void json_doubts(struct orr_json *json, const struct orr_calibration_doubt *doubt,
                        orr_ms origin_ms)
{
    char text[500];
    orr_json_open(json, "impossible", '[');
    say_over(doubt, origin_ms, text, sizeof text);
    if (text[0] != '\0') {
        orr_json_text(json, NULL, text);
    }
    say_early(doubt, text, sizeof text);
    if (text[0] != '\0') {
        orr_json_text(json, NULL, text);
    }
    orr_json_close(json, ']');
}

static void print_json(const struct orr_calibration *c, orr_ms origin_ms, const char *sentence)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "sentence", sentence);
    orr_json_real(&json, "occupancy_gap", c->occupancy_gap);
    orr_json_real(&json, "occupancy_apart", c->occupancy_apart);
    orr_json_int(&json, "unmatched", (int64_t)c->unmatched);
    orr_json_text(&json, "unmatched_why", c->unmatched_why);
    orr_json_int(&json, "ends_recorded", (int64_t)c->ends_recorded);
    orr_json_int(&json, "ends_derived", (int64_t)c->ends_derived);
    orr_json_int(&json, "ends_unknown", (int64_t)c->ends_unknown);
    json_doubts(&json, &c->doubt, origin_ms);
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
    const struct orr_calibration_row *all = &c->rows[0];
    char mean[2][24], median[2][24], occupancy[40] = "not known";
    if (!isnan(c->occupancy_gap)) {
        (void)snprintf(occupancy, sizeof occupancy, "%+.1f %%", 100 * c->occupancy_gap);
    }
    (void)snprintf(text, bytes,
                   "under %s the mean wait is %s against %s recorded, the median %s against %s, "
                   "KS %.2f over %u job%s, occupancy %s",
                   policy, orr_format_rough(mean[0], all->simulated_mean_s),
                   orr_format_rough(mean[1], all->recorded_mean_s),
                   orr_format_rough(median[0], all->simulated_p50_s),
                   orr_format_rough(median[1], all->recorded_p50_s), all->ks, all->jobs,
                   ORR_PLURAL(all->jobs), occupancy);
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
                                        .warn = o.common.quiet ? NULL : orr_cli_warn,
                                        .interrupted = orr_interrupt_catch(),
                                        .progress = orr_progress_draw,
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
            const orr_ms origin_ms = orr_world_clock_origin_ms(&point.world, &point.scenario);
            (o.common.json ? print_json : print_text)(&calibration, origin_ms, sentence);
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
