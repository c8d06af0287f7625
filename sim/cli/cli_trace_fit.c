/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_trace_fit.c - `orrery trace fit`: a model of a trace, and how like it is to the trace. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/text.h>
#include <orrery/sim/world.h>
#include <orrery/traces/gen.h>
#include <orrery/traces/likeness.h>

#include "trace_edit.h"

enum { RUN_VALUES = 50, BURST_VALUES = 20, NAME_BYTES = 200 };

/* What is compared as a number. */
enum {
    F_JOBS,
    F_GPU_H,
    F_QUANTILE,
    F_LOAD = F_QUANTILE + ORR_PORTRAIT_QUANTILES,
    F_AUTO,
    F_DISPERSION = F_AUTO + ORR_PORTRAIT_LAGS,
    F_NEXT = F_DISPERSION + ORR_PORTRAIT_LAGS,
    FIGURES
};

struct figure {
    char name[48]; /* for people */
    char json[48]; /* its key */
    double trace;
    double sum, least, most; /* over seeds */
    uint32_t seeds;          /* in which it is a number */
    bool correlation;        /* differences are absolute */
};

struct fit {
    const struct trace_edit *edit;
    struct orr_classes_fitted fitted;
    char name[NAME_BYTES]; /* of the part and the table */
    orr_ms origin_ms;
    struct figure figures[FIGURES];
    double ks, ks_most, size_gap;
    int64_t size_gap_mgpu;
};

/* --- figures --------------------------------------------------------------------------------- */

static void name_figure(struct figure *figure, const char *json, const char *format, ...)
    ORR_PRINTF(3, 4);
static void name_figure(struct figure *figure, const char *json, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(figure->name, sizeof figure->name, format, args);
    va_end(args);
    (void)snprintf(figure->json, sizeof figure->json, "%s", json);
}

static void name_figures(struct figure *figures)
{
    static const char *const lags[ORR_PORTRAIT_LAGS] = {"1h", "6h", "1d", "7d"};
    static const char *const spans[ORR_PORTRAIT_LAGS] = {"1m", "10m", "1h", "1d"};
    char json[48];
    name_figure(&figures[F_JOBS], "jobs", "jobs");
    name_figure(&figures[F_GPU_H], "gpu_h", "GPU-hours");
    name_figure(&figures[F_LOAD], "load_most_gpus", "busiest hour, GPUs wanted");
    name_figure(&figures[F_NEXT], "next_run_correlation",
                "run time and the next of its queue, size");
    figures[F_NEXT].correlation = true;
    for (int q = 0; q < ORR_PORTRAIT_QUANTILES; q++) {
        (void)snprintf(json, sizeof json, "run_p%g_s", orr_portrait_ps[q] * 100.0);
        name_figure(&figures[F_QUANTILE + q], json, "run time p%g, s", orr_portrait_ps[q] * 100.0);
    }
    for (int l = 0; l < ORR_PORTRAIT_LAGS; l++) {
        (void)snprintf(json, sizeof json, "load_autocorrelation_%s", lags[l]);
        name_figure(&figures[F_AUTO + l], json, "autocorrelation of load, %s", lags[l]);
        figures[F_AUTO + l].correlation = true;
        (void)snprintf(json, sizeof json, "arrival_dispersion_%s", spans[l]);
        name_figure(&figures[F_DISPERSION + l], json, "arrivals in %s, variance / mean", spans[l]);
    }
}

static void take_portrait(const struct orr_portrait *portrait, double values[FIGURES])
{
    values[F_JOBS] = portrait->jobs;
    values[F_GPU_H] = portrait->gpu_h;
    values[F_LOAD] = portrait->load_most;
    values[F_NEXT] = portrait->next_run_correlation;
    memcpy(&values[F_QUANTILE], portrait->run_s, sizeof portrait->run_s);
    memcpy(&values[F_AUTO], portrait->load_autocorrelation, sizeof portrait->load_autocorrelation);
    memcpy(&values[F_DISPERSION], portrait->dispersion, sizeof portrait->dispersion);
}

static void add_seed(struct figure *figure, double value)
{
    if (isnan(value)) {
        return;
    }
    figure->least = figure->seeds == 0 || value < figure->least ? value : figure->least;
    figure->most = figure->seeds == 0 || value > figure->most ? value : figure->most;
    figure->sum += value;
    figure->seeds++;
}

static double mean_of(const struct figure *figure)
{
    return figure->seeds == 0 ? (double)NAN : figure->sum / figure->seeds;
}

/* Of the model's mean to the trace: a part of it, or of correlations the difference. */
static double gap_of(const struct figure *figure)
{
    if (figure->correlation) {
        return mean_of(figure) - figure->trace;
    }
    return figure->trace > 0.0 || figure->trace < 0.0 ? mean_of(figure) / figure->trace - 1.0
           : mean_of(figure) > 0.0                    ? (double)INFINITY
                                                      : 0.0;
}

/* Rows that a model cannot hold are no part of the comparison. */
static enum orr_status judge(struct fit *fit, const struct orr_workload *workload,
                             struct orr_err *err)
{
    struct orr_portrait trace, made;
    double values[FIGURES];
    const struct orr_gen gen = {
        .name = fit->name,
        .start_ms = fit->origin_ms,
        .from_ms = INT64_MIN / 2,
        .until_ms = ORR_MS_NONE,
        .give_up_ms = ORR_MS_NONE,
        .arrivals = {.per_hour = 1.0, .hours = fit->fitted.hours, .days = fit->fitted.days}};
    enum orr_status status = ORR_OK;
    orr_portrait_of(workload, &trace);
    take_portrait(&trace, values);
    for (int f = 0; f < FIGURES; f++) {
        fit->figures[f].trace = values[f];
    }
    for (uint32_t s = 0; s < fit->edit->seeds && status == ORR_OK; s++) {
        struct orr_workload rows;
        struct orr_gen one = gen;
        one.seed = fit->edit->filter.seed + s;
        status = orr_generate_classes(&one, &fit->fitted.classes, &rows, err);
        if (status == ORR_OK) {
            int64_t mgpu;
            orr_portrait_of(&rows, &made);
            take_portrait(&made, values);
            for (int f = 0; f < FIGURES; f++) {
                add_seed(&fit->figures[f], values[f]);
            }
            const double ks = orr_portrait_ks(&trace, &made);
            const double gap = orr_portrait_size_gap(&trace, &made, &mgpu);
            fit->ks += ks / fit->edit->seeds;
            fit->ks_most = ks > fit->ks_most ? ks : fit->ks_most;
            if (gap > fit->size_gap) {
                fit->size_gap = gap;
                fit->size_gap_mgpu = mgpu;
            }
            orr_portrait_release(&made);
            orr_workload_release(&rows);
        }
    }
    orr_portrait_release(&trace);
    return status;
}

/* --- the answer ------------------------------------------------------------------------------ */

#define KEPT_WITHIN 0.25 /* what differs by more is said not to be kept */

static void put_value(double value, bool correlation, FILE *out)
{
    if (isnan(value)) {
        (void)fprintf(out, "%10s", "-");
    } else {
        (void)fprintf(out, correlation || value < 10.0 ? "%10.2f" : "%10.0f", value);
    }
}

/* Where the model's quantile lies against the trace's: from a fifth less to a fifth more. */
static void put_place(double gap, FILE *out)
{
    char line[] = "|....:....|";
    const double at = 5.0 + gap / 0.2 * 4.0;
    line[at < 1.0 ? 0 : at > 9.0 ? 10 : (int)(at + 0.5)] = at < 1.0 ? '<' : at > 9.0 ? '>' : '*';
    (void)fprintf(out, "  %s", line);
}

static void put_figures(const struct fit *fit, FILE *out)
{
    (void)fprintf(out, "\n%-42s %10s %10s %10s %10s %8s  -20%% +20%%\n", "", "trace", "model",
                  "least", "most", "off");
    for (int f = 0; f < FIGURES; f++) {
        const struct figure *figure = &fit->figures[f];
        const double gap = gap_of(figure);
        if (isnan(figure->trace) || figure->seeds == 0) {
            continue;
        }
        (void)fprintf(out, "%-42s ", figure->name);
        const double values[] = {figure->trace, mean_of(figure), figure->least, figure->most};
        for (int v = 0; v < 4; v++) {
            put_value(values[v], figure->correlation, out);
            (void)putc(' ', out);
        }
        if (figure->correlation) {
            (void)fprintf(out, "%+8.2f\n", gap);
            continue;
        }
        (void)fprintf(out, "%+7.1f%%", 100.0 * gap);
        put_place(gap, out);
        (void)putc('\n', out);
    }
    (void)fprintf(out,
                  "run times: Kolmogorov-Smirnov %.4f, at most %.4f in a seed; size mix: off by at "
                  "most %.2f %% of jobs (%g GPU%s)\n",
                  fit->ks, fit->ks_most, 100.0 * fit->size_gap,
                  (double)fit->size_gap_mgpu / ORR_MGPU, ORR_PLURAL(fit->size_gap_mgpu / ORR_MGPU));
}

static const char *span_text(char out[32], orr_ms span)
{
    if (span <= 0) {
        (void)snprintf(out, 32, "none");
    } else if (span % 86400000 == 0) {
        (void)snprintf(out, 32, "%lldd", (long long)(span / 86400000));
    } else if (span % 60000 == 0) {
        (void)snprintf(out, 32, "%lldm", (long long)(span / 60000));
    } else {
        (void)snprintf(out, 32, "%llds", (long long)(span / 1000));
    }
    return out;
}

/* What waits hang on and the model does not have. */
static void put_missing(const struct fit *fit, FILE *out)
{
    const struct orr_classes_fitted *fitted = &fit->fitted;
    (void)fputs("\nnot kept:", out);
    const char *separator = " ";
    for (int f = 0; f < FIGURES; f++) {
        const struct figure *figure = &fit->figures[f];
        if (!isnan(figure->trace) && figure->seeds > 0 && fabs(gap_of(figure)) > KEPT_WITHIN) {
            (void)fprintf(out, "%s%s", separator, figure->name);
            separator = "; ";
        }
    }
    if (fit->edit->step_ms == 0 && fitted->between_steps >= 0.0) {
        (void)fprintf(out, "%sthat run times and rates change over time (--step keeps it)",
                      separator);
        separator = "; ";
    }
    if (fit->edit->gap_ms < 0) {
        (void)fprintf(out, "%sthat jobs come in bursts of like ones (--gap keeps it)", separator);
        separator = "; ";
    }
    (void)fprintf(
        out,
        "%swho waits for whom: order of queues within a step, requested times, "
        "dependencies, jobs submitted again after a failure. Waits hang on these: run both "
        "the trace and the model before you trust the model's\n",
        separator);
}

static void print_text(const struct fit *fit, FILE *out)
{
    const struct orr_classes_fitted *fitted = &fit->fitted;
    char step[32], gap[32];
    (void)fprintf(out,
                  "%s: %llu job%s in %llu burst%s as %u class%s (--step %s --gap %s), %u seed%s\n",
                  fit->edit->files[0], (unsigned long long)fitted->jobs, ORR_PLURAL(fitted->jobs),
                  (unsigned long long)fitted->bursts, ORR_PLURAL(fitted->bursts),
                  (unsigned)fitted->classes.count, ORR_ONE(fitted->classes.count, "", "es"),
                  span_text(step, fit->edit->step_ms), span_text(gap, fit->edit->gap_ms),
                  (unsigned)fit->edit->seeds, ORR_PLURAL(fit->edit->seeds));
    if (fitted->left_out > 0) {
        (void)fprintf(
            out,
            "left out: %llu row%s without a run time, of a template, of MIG instances or of "
            "GPU memory\n",
            (unsigned long long)fitted->left_out, ORR_PLURAL(fitted->left_out));
    }
    (void)fprintf(out,
                  "of the variance of run times (ranks, within a queue, kind and size) %.0f %% lie "
                  "between bursts",
                  100.0 * fitted->between_bursts);
    if (fit->edit->step_ms > 0) {
        (void)fprintf(out, ", %.0f %% between steps of time", 100.0 * fitted->between_steps);
    }
    (void)putc('\n', out);
    put_figures(fit, out);
    put_missing(fit, out);
}

static void print_json(const struct fit *fit)
{
    struct orr_json json = {.out = stdout};
    const struct orr_classes_fitted *fitted = &fit->fitted;
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "from", fit->edit->files[0]);
    orr_json_text(&json, "file", fit->edit->output);
    orr_json_int(&json, "jobs", (int64_t)fitted->jobs);
    orr_json_int(&json, "left_out", (int64_t)fitted->left_out);
    orr_json_int(&json, "bursts", (int64_t)fitted->bursts);
    orr_json_int(&json, "classes", fitted->classes.count);
    orr_json_int(&json, "seeds", fit->edit->seeds);
    orr_json_real(&json, "variance_between_bursts", fitted->between_bursts);
    orr_json_real(&json, "variance_between_steps", fitted->between_steps);
    orr_json_real(&json, "run_ks", fit->ks);
    orr_json_real(&json, "run_ks_most", fit->ks_most);
    orr_json_real(&json, "size_share_off_most", fit->size_gap);
    orr_json_open(&json, "figures", '[');
    for (int f = 0; f < FIGURES; f++) {
        const struct figure *figure = &fit->figures[f];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", figure->json);
        orr_json_real(&json, "trace", figure->trace);
        orr_json_real(&json, "model", mean_of(figure));
        orr_json_real(&json, "least", figure->seeds > 0 ? figure->least : (double)NAN);
        orr_json_real(&json, "most", figure->seeds > 0 ? figure->most : (double)NAN);
        orr_json_real(&json, "off", gap_of(figure));
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

/* --- the model ------------------------------------------------------------------------------- */

static void put_weights(const char *key, const double *weights, int count, FILE *out)
{
    (void)fprintf(out, "      %s: [", key);
    for (int i = 0; i < count; i++) {
        (void)fprintf(out, "%s%.2f", i > 0 ? ", " : "", weights[i]);
    }
    (void)fputs("]\n", out);
}

/* As given, or so many nodes of 8 that seven tenths of them are wanted on average. */
static void put_cluster(const struct fit *fit, const struct orr_workload *workload, FILE *out)
{
    int64_t nodes, gpus = 8;
    if (fit->edit->cluster != NULL) {
        const char *times = strchr(fit->edit->cluster, 'x');
        gpus = strtoll(times + 1, NULL, 10);
        nodes = strtoll(fit->edit->cluster, NULL, 10);
    } else {
        const orr_ms span =
            workload->rows[workload->count - 1].submit_ms - workload->rows[0].submit_ms;
        const double hours = (double)span / 3.6e6;
        const double mean = hours > 0.0 ? fit->figures[F_GPU_H].trace / hours : 0.0;
        nodes = (int64_t)ceil(mean / 0.7 / 8.0);
    }
    (void)fprintf(out, "cluster: {pools: {gpus: {nodes: %lld, gpus: %lld}}}%s\n",
                  (long long)(nodes > 0 ? nodes : 1), (long long)gpus,
                  fit->edit->cluster != NULL ? "" : "  # to edit: the trace does not say");
}

static void put_model(const struct fit *fit, const struct orr_workload *workload, FILE *out)
{
    char step[32], gap[32];
    (void)fprintf(
        out,
        "apiVersion: orrery/v1alpha1\nkind: Scenario\n"
        "# A model of a trace: %llu job%s, %.0f GPU-hours, as %u class%s (orrery trace fit "
        "--step %s --gap %s).\n",
        (unsigned long long)fit->fitted.jobs, ORR_PLURAL(fit->fitted.jobs),
        fit->figures[F_GPU_H].trace, (unsigned)fit->fitted.classes.count,
        ORR_ONE(fit->fitted.classes.count, "", "es"), span_text(step, fit->edit->step_ms),
        span_text(gap, fit->edit->gap_ms));
    if (workload->clock_origin_ms != ORR_MS_NONE) {
        char start[32];
        (void)orr_format_timestamp(start, workload->clock_origin_ms);
        (void)fprintf(out, "start: %s\n", start);
    }
    put_cluster(fit, workload, out);
    (void)fprintf(out, "workload:\n- name: %s\n  generate:\n    classes: %s.csv\n    arrivals:\n",
                  fit->name, fit->name);
    put_weights("hours", fit->fitted.hours, 24, out);
    put_weights("days", fit->fitted.days, 7, out);
    (void)fputs("policy: fifo\n", out);
}

/* The name of the file without folder and suffix, of characters that need no quotes. */
static void name_part(struct fit *fit, const char *output)
{
    const char *slash = strrchr(output, '/');
    const char *from = slash == NULL ? output : slash + 1;
    size_t bytes = strcspn(from, ".");
    bytes = bytes < NAME_BYTES - 8 ? bytes : NAME_BYTES - 8;
    (void)snprintf(fit->name, sizeof fit->name, "%.*s", (int)bytes, from);
    for (char *at = fit->name; *at != '\0'; at++) {
        const bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                           (*at >= '0' && *at <= '9') || *at == '-' || *at == '_';
        *at = plain ? *at : '-';
    }
    if (fit->name[0] == '\0' || fit->name[0] == '-' ||
        (fit->name[0] >= '0' && fit->name[0] <= '9')) {
        (void)snprintf(fit->name, sizeof fit->name, "model");
    }
}

typedef void write_fn(const struct fit *fit, const struct orr_workload *workload, FILE *out);

static void put_classes(const struct fit *fit, const struct orr_workload *workload, FILE *out)
{
    (void)workload;
    orr_classes_write(&fit->fitted.classes, out);
}

static enum orr_status write_one(const struct fit *fit, const struct orr_workload *workload,
                                 const char *path, write_fn *write, struct orr_err *err)
{
    struct orr_cli_file file;
    const enum orr_status status = orr_cli_file_open(
        &file, path, fit->edit->force ? NULL : "--force overwrites it, -o names another", err);
    if (status == ORR_OK) {
        write(fit, workload, file.out);
    }
    return orr_cli_file_close(&file, status, err);
}

/* The scenario, and its table in the same folder. */
static enum orr_status write_model(const struct fit *fit, const struct orr_workload *workload,
                                   struct orr_err *err)
{
    const char *output = fit->edit->output;
    const char *slash = strrchr(output, '/');
    char path[4600];
    (void)snprintf(path, sizeof path, "%.*s%s.csv", slash == NULL ? 0 : (int)(slash + 1 - output),
                   output, fit->name);
    if (strcmp(path, output) == 0) {
        return orr_fail(err, ORR_USAGE,
                        "%s: the model's scenario; name it .yaml, its table becomes %s", output,
                        path);
    }
    enum orr_status status = write_one(fit, workload, path, put_classes, err);
    if (status == ORR_OK) {
        status = write_one(fit, workload, output, put_model, err);
    }
    if (status == ORR_OK && !fit->edit->common->quiet) {
        (void)fprintf(stderr, "model in %s, its classes in %s\n", output, path);
    }
    return status;
}

enum orr_status trace_fit(const struct trace_edit *edit, const struct orr_workload *workload,
                          struct orr_err *err)
{
    struct fit fit = {.edit = edit};
    const struct orr_classes_options options = {.step_ms = edit->step_ms,
                                                .gap_ms = edit->gap_ms,
                                                .values = RUN_VALUES,
                                                .burst_values = BURST_VALUES};
    fit.origin_ms =
        workload->clock_origin_ms != ORR_MS_NONE ? workload->clock_origin_ms : ORR_REPLAY_START;
    name_part(&fit, edit->output != NULL ? edit->output : "model");
    name_figures(fit.figures);
    orr_classes_fit(workload, &options, fit.origin_ms, &fit.fitted);
    enum orr_status status = ORR_OK;
    if (fit.fitted.jobs == 0) {
        status =
            orr_fail(err, ORR_DATA, "%s: no job that a model could be fitted to", edit->files[0]);
    }
    if (status == ORR_OK) {
        status = judge(&fit, workload, err);
    }
    if (status == ORR_OK && edit->output != NULL) {
        status = write_model(&fit, workload, err);
    }
    if (status == ORR_OK && edit->common->json) {
        print_json(&fit);
    } else if (status == ORR_OK && !edit->common->quiet) {
        print_text(&fit, stdout);
    }
    orr_classes_release(&fit.fitted.classes);
    return status;
}
