/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot.c - which figures there are, and one run over those asked for. */
#include <orrery/analysis/plot.h>

#include <string.h>

#include <orrery/base/text.h>

#include "plot_int.h"

static const struct orr_plot_info infos[] = {
    {"share", "quota, fair share and allocation over time, a panel a queue"},
    {"allocation", "allocated GPUs over time, stacked by queue"},
    {"wait-cdf", "how long jobs waited, as a cumulative share of jobs, by queue or kind"},
    {"jct-cdf", "time from submit to end, as a cumulative share of jobs, by queue or kind"},
    {"depth", "jobs that wait and the GPUs they ask for, over time"},
    {"reasons", "the GPUs that waiting jobs ask for over time, by why they wait"},
    {"fairness", "Jain's index over time, and who held more or less than a fair share"},
    {"debt", "what queues asked for within their quota and did not get, over time"},
    {"churn", "evictions per hour and the GPU-hours they cost, by cause"},
    {"waterfall", "where the GPU time went: free, held, lost by cause, useful"},
    {"nodes", "how busy each node was over time, as a heat map"},
    {"fragmentation", "free GPUs that typical pods of the trace could not use, by node over time"},
    {"startable", "the largest gang of whole nodes that could start, over time"},
    {"size", "wait against the number of GPUs asked for"},
    {"gantt", "who held which GPUs in a part of the run"},
    {"floor", "who held which GPUs at one time (--from), rack by rack"},
    {"qq", "simulated against recorded waits, quantile by quantile"},
};
enum { FIGURES = sizeof infos / sizeof infos[0] };

typedef void draw_fn(struct orr_plot *plot);

static draw_fn *const draws[] = {orr_plot__share,     orr_plot__allocation, orr_plot__wait_cdf,
                                 orr_plot__jct_cdf,   orr_plot__depth,      orr_plot__reasons,
                                 orr_plot__fairness,  orr_plot__debt,       orr_plot__churn,
                                 orr_plot__waterfall, orr_plot__nodes,      orr_plot__fragmentation,
                                 orr_plot__startable, orr_plot__size,       orr_plot__gantt,
                                 orr_plot__floor,     orr_plot__qq};
_Static_assert(sizeof draws / sizeof draws[0] == FIGURES, "a figure needs a name and a function");

const struct orr_plot_info *orr_plot_list(uint32_t *count)
{
    *count = FIGURES;
    return infos;
}

/* Index of a figure, or ORR_NONE. */
static uint32_t figure_find(const char *name)
{
    for (uint32_t i = 0; i < FIGURES; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            return i;
        }
    }
    return ORR_NONE;
}

static enum orr_status unknown(const char *kind, const char *given, const char *const *names,
                               size_t count, struct orr_err *err)
{
    const char *near = orr_nearest(given, names, count);
    if (near != NULL) {
        return orr_fail(err, ORR_USAGE, "no %s is called \"%s\"; is \"%s\" meant?", kind, given,
                        near);
    }
    char all[300] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof all; i++) {
        int more = snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", names[i]);
        used += more > 0 ? (size_t)more : 0;
    }
    return orr_fail(err, ORR_USAGE, "no %s is called \"%s\"; there are %s", kind, given, all);
}

enum orr_status orr_plot__term(const char *name, enum orr_plot_term *term, struct orr_err *err)
{
    static const char *const terms[] = {"svg", "png", "pdf", "dumb"};
    *term = ORR_PLOT_SVG;
    for (uint32_t i = 0; name != NULL; i++) {
        if (i == sizeof terms / sizeof terms[0]) {
            return unknown("terminal", name, terms, i, err);
        }
        if (strcmp(name, terms[i]) == 0) {
            *term = (enum orr_plot_term)i;
            break;
        }
    }
    return ORR_OK;
}

static enum orr_status check_options(const struct orr_plot_options *options,
                                     enum orr_plot_term *term, struct orr_err *err)
{
    const char *names[FIGURES];
    for (uint32_t i = 0; i < FIGURES; i++) {
        names[i] = infos[i].name;
    }
    for (uint32_t i = 0; i < options->count; i++) {
        if (figure_find(options->figures[i]) == ORR_NONE) {
            return unknown("figure", options->figures[i], names, FIGURES, err);
        }
    }
    enum orr_status status = orr_plot__term(options->term, term, err);
    if (status != ORR_OK) {
        return status;
    }
    if (options->width_mm > 0 && *term == ORR_PLOT_DUMB) {
        return orr_fail(err, ORR_USAGE, "a width in mm is not for dumb, which prints characters");
    }
    if (options->from_ms != ORR_MS_NONE && options->to_ms != ORR_MS_NONE &&
        options->from_ms >= options->to_ms) {
        return orr_fail(err, ORR_USAGE, "the part of the run to draw ends before it begins");
    }
    return ORR_OK;
}

enum orr_status orr_plot_run(const char *db_path, const struct orr_plot_options *options,
                             orr_plot_report_fn *report, void *context, struct orr_err *err)
{
    static const struct orr_plot_options defaults = ORR_PLOT_DEFAULTS;
    struct orr_err own = {.status = ORR_OK};
    struct orr_plot plot = {.options = options != NULL ? options : &defaults};
    err = err != NULL ? err : &own;
    enum orr_status status = check_options(plot.options, &plot.term, err);
    if (status != ORR_OK) {
        return status;
    }
    orr_results_open(&plot.in, db_path, err);
    orr_plot__open(&plot);
    uint32_t count = plot.options->count > 0 ? plot.options->count : FIGURES;
    bool absent = false;
    for (uint32_t i = 0; i < count && plot.in.status == ORR_OK; i++) {
        uint32_t at = plot.options->count > 0 ? figure_find(plot.options->figures[i]) : i;
        struct orr_plot_files *files = orr_plot__files_open(&plot, infos[at].name);
        if (files == NULL) {
            break;
        }
        draws[at](&plot);
        orr_plot__files_close(&plot, files, report, context);
        if (plot.options->interrupted != NULL && *plot.options->interrupted) {
            plot.in.status = orr_fail(err, ORR_INTERRUPTED, "interrupted");
        } else if (plot.in.status == ORR_UNAVAILABLE) { /* the rest is written, to be drawn */
            absent = true;                              /* elsewhere */
            plot.in.status = ORR_OK;
        }
    }
    orr_plot__close(&plot);
    orr_results_close(&plot.in);
    return plot.in.status == ORR_OK && absent ? ORR_UNAVAILABLE : plot.in.status;
}
