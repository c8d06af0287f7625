/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot.c - which figures there are, and one run over those asked for. */
#include <orrery/analysis/plot.h>

#include <string.h>

#include <orrery/base/text.h>

#include "plot_int.h"

static const struct orr_plot_info infos[] = {
    {"share", "quota, fair share and allocation over time, a panel a queue", false},
    {"allocation", "allocated GPUs over time, stacked by queue", true},
    {"wait-cdf", "how long jobs waited, as the share of jobs that still wait, by queue or kind",
     true},
    {"jct-cdf", "time from submit to end, as a cumulative share of jobs, by queue or kind", true},
    {"depth", "jobs that wait and the GPUs they ask for, over time", true},
    {"reasons", "the GPUs that waiting jobs ask for over time, by why they wait", true},
    {"fairness", "Jain's index over time, and who held more or less than a fair share", true},
    {"debt", "what queues asked for within their quota and did not get, over time", true},
    {"churn", "evictions per hour and the GPU-hours they cost, by cause", true},
    {"waterfall", "where the GPU time went: free, held, lost by cause, useful", true},
    {"nodes", "how busy each node was over time, as a heat map", false},
    {"fragmentation", "free GPUs that typical pods of the trace could not use, by node over time",
     true},
    {"startable", "the largest gang of whole nodes that could start, over time", true},
    {"size", "wait against the number of GPUs asked for", true},
    {"gantt", "who held which GPUs in a part of the run", false},
    {"floor", "who held which GPUs at one time (--from), rack by rack", false},
    {"qq", "simulated against recorded waits, quantile by quantile", false},
};
enum { FIGURES = sizeof infos / sizeof infos[0] };

typedef void draw_fn(struct orr_plot *plot);

static draw_fn *const draws[] = {orr_plot__share,     orr_plot__allocation, orr_plot__wait_cdf,
                                 orr_plot__jct_cdf,   orr_plot__depth,      orr_plot__reasons,
                                 orr_plot__fairness,  orr_plot__debt,       orr_plot__churn,
                                 orr_plot__waterfall, orr_plot__nodes,      orr_plot__fragmentation,
                                 orr_plot__startable, orr_plot__size,       orr_plot__gantt,
                                 orr_plot__floor,     orr_plot__qq};
typedef void draw_runs_fn(struct orr_plot *to, struct orr_plot *runs);
static const struct {
    const char *name;
    draw_runs_fn *draw;
} draws_of_runs[] = {
    {"allocation", orr_plot__runs_allocation}, {"wait-cdf", orr_plot__runs_wait_cdf},
    {"jct-cdf", orr_plot__runs_jct_cdf},       {"depth", orr_plot__runs_depth},
    {"fairness", orr_plot__runs_fairness},     {"debt", orr_plot__runs_debt},
    {"churn", orr_plot__runs_churn},           {"size", orr_plot__runs_size},
    {"reasons", orr_plot__runs_reasons},       {"waterfall", orr_plot__runs_waterfall},
    {"startable", orr_plot__runs_startable},   {"fragmentation", orr_plot__runs_fragmentation}};
enum { FIGURES_OF_RUNS = sizeof draws_of_runs / sizeof draws_of_runs[0] };

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

bool orr_plot_is_figure(const char *name)
{
    return figure_find(name) != ORR_NONE;
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

/* Figures of which nothing is left where no node has a GPU: axes without a curve, or a reason that
 * is about jobs. */
static bool is_of_gpus(const char *figure)
{
    static const char *const others[] = {"wait-cdf", "jct-cdf", "depth", "churn", "size", "qq"};
    bool other = false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        other = other || strcmp(figure, others[i]) == 0;
    }
    return !other;
}

/* Why a figure has nothing to show, where that lies in the run and not in what the figure is of.
 * `floor` is of one time, and says itself that it is after the run. */
static void explain_nothing(struct orr_plot *plot, const char *figure, double gpus)
{
    const struct orr_plot_source *run = &plot->run;
    const struct orr_plot_options *options = plot->options;
    const bool is_floor = strcmp(figure, "floor") == 0;
    if (gpus <= 0 && is_of_gpus(figure)) {
        orr_plot__nothing(plot, "the cluster has no GPUs");
    } else if (run->took_no_time && (is_of_gpus(figure) || strcmp(figure, "depth") == 0)) {
        orr_plot__nothing(plot, "the run took no time");
    } else if (options->from_ms != ORR_MS_NONE && options->from_ms >= run->end && !is_floor) {
        orr_plot__nothing(plot, "the run was over");
    } else if (options->to_ms != ORR_MS_NONE && options->to_ms <= run->begin && !is_floor) {
        orr_plot__nothing(plot, "the run had not begun");
    }
}

/* After the files of a figure are closed: false if no more are to be drawn. Without gnuplot the
 * rest is written all the same, to be drawn elsewhere. */
static bool goes_on(struct orr_plot *plot, bool *absent)
{
    if (plot->options->interrupted != NULL && *plot->options->interrupted) {
        plot->in.status = orr_fail(plot->in.err, ORR_INTERRUPTED, "interrupted");
    } else if (plot->in.status == ORR_UNAVAILABLE) {
        *absent = true;
        plot->in.status = ORR_OK;
    }
    return plot->in.status == ORR_OK;
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
    orr_results_interruptible(&plot.in, plot.options->interrupted);
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
        explain_nothing(&plot, infos[at].name, plot.run.capacity_gpus);
        orr_plot__files_close(&plot, files, report, context);
        (void)goes_on(&plot, &absent);
    }
    orr_plot__close(&plot);
    orr_results_close(&plot.in);
    return plot.in.status == ORR_OK && absent ? ORR_UNAVAILABLE : plot.in.status;
}

/* --- several runs --- */

static enum orr_status check_runs(const struct orr_plot_options *options, uint32_t count,
                                  struct orr_err *err)
{
    if (count < 2 || count > ORR_PLOT_RUNS) {
        return orr_fail(err, ORR_USAGE, "one axes takes 2 to %d runs, not %u", ORR_PLOT_RUNS,
                        count);
    }
    for (uint32_t i = 0; i < options->count; i++) {
        if (!infos[figure_find(options->figures[i])].of_runs) {
            char all[200] = "";
            size_t used = 0;
            for (uint32_t f = 0; f < FIGURES_OF_RUNS; f++) {
                int more = snprintf(all + used, sizeof all - used, "%s%s", f > 0 ? ", " : "",
                                    draws_of_runs[f].name);
                used += more > 0 ? (size_t)more : 0;
            }
            return orr_fail(err, ORR_USAGE, "figure %s is of one run; several in one axes show %s",
                            options->figures[i], all);
        }
    }
    return ORR_OK;
}

/* Are all texts of the runs at that place equal, or do they all differ? */
static void texts_alike(const struct orr_plot *runs, uint32_t count,
                        char *(*text)(const struct orr_plot *run), bool *equal, bool *apart)
{
    *equal = *apart = true;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const bool same = strcmp(text(&runs[i]), text(&runs[j])) == 0;
            *equal = *equal && same;
            *apart = *apart && !same;
        }
    }
}

static char *policy_of(const struct orr_plot *run)
{
    return run->run.policy;
}

static char *name_of(const struct orr_plot *run)
{
    return run->run.name;
}

/* The file's name without folder and suffix. */
static const char *stem_of(struct orr_plot *run)
{
    const char *slash = strrchr(run->in.path, '/');
    const char *stem = slash != NULL ? slash + 1 : run->in.path;
    const char *dot = strrchr(stem, '.');
    return orr_arena_strndup(&run->in.arena, stem,
                             dot != NULL && dot != stem ? (size_t)(dot - stem) : strlen(stem));
}

/* Runs are called by what tells all of them apart: their policies, their scenarios' names, their
 * files' names, and their paths at last. */
static void name_runs(struct orr_plot *runs, const struct orr_plot_arm *arms, uint32_t count,
                      bool other_policies, bool other_names)
{
    bool other_stems = true;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            other_stems = other_stems && strcmp(stem_of(&runs[i]), stem_of(&runs[j])) != 0;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        runs[i].label = arms[i].label != NULL ? arms[i].label
                        : other_policies      ? runs[i].run.policy
                        : other_names         ? runs[i].run.name
                        : other_stems         ? stem_of(&runs[i])
                                              : runs[i].in.path;
    }
}

/* What the figure says of all runs together; `to` has their time axis. */
static void join_runs(struct orr_plot *to, struct orr_plot *runs, const struct orr_plot_arm *arms,
                      uint32_t count)
{
    bool same_name, other_names, same_policy, other_policies, same_jobs = true;
    texts_alike(runs, count, name_of, &same_name, &other_names);
    texts_alike(runs, count, policy_of, &same_policy, &other_policies);
    to->run = runs[0].run;
    to->among = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_plot_source *run = &runs[i].run;
        to->run.zero = run->zero < to->run.zero ? run->zero : to->run.zero;
        to->run.begin = run->begin < to->run.begin ? run->begin : to->run.begin;
        to->run.took_no_time = to->run.took_no_time && run->took_no_time;
        to->run.end = run->end > to->run.end ? run->end : to->run.end;
        to->run.origin = run->origin == to->run.origin ? run->origin : ORR_MS_NONE;
        to->run.status = strcmp(run->status, "finished") != 0 ? run->status : to->run.status;
        same_jobs = same_jobs && run->jobs == to->run.jobs;
    }
    name_runs(runs, arms, count, other_policies, other_names);
    to->run.jobs = same_jobs ? to->run.jobs : -1;
    to->run.name = same_name ? to->run.name : NULL;
    to->run.policy = same_policy ? to->run.policy : NULL;
    for (uint32_t i = 0; i < count; i++) {
        runs[i].run.zero = to->run.zero;
        runs[i].run.origin = to->run.origin;
    }
}

static void draw_runs(struct orr_plot *to, struct orr_plot *runs, orr_plot_report_fn *report,
                      void *context, bool *absent)
{
    for (uint32_t f = 0; f < FIGURES_OF_RUNS && to->in.status == ORR_OK; f++) {
        bool wanted = to->options->count == 0;
        for (uint32_t i = 0; i < to->options->count; i++) {
            wanted = wanted || strcmp(to->options->figures[i], draws_of_runs[f].name) == 0;
        }
        struct orr_plot_files *files =
            wanted ? orr_plot__files_open(to, draws_of_runs[f].name) : NULL;
        if (files != NULL) {
            double gpus = 0;
            draws_of_runs[f].draw(to, runs);
            for (uint32_t i = 0; i < to->among && to->in.status == ORR_OK; i++) {
                to->in.status = runs[i].in.status; /* its sentence is in the same err */
                gpus += runs[i].run.capacity_gpus;
            }
            explain_nothing(to, draws_of_runs[f].name, gpus);
            orr_plot__files_close(to, files, report, context);
            (void)goes_on(to, absent);
        }
    }
}

enum orr_status orr_plot_runs(const struct orr_plot_arm *arms, uint32_t count,
                              const struct orr_plot_options *options, orr_plot_report_fn *report,
                              void *context, struct orr_err *err)
{
    static const struct orr_plot_options defaults = ORR_PLOT_DEFAULTS;
    struct orr_err own = {.status = ORR_OK};
    err = err != NULL ? err : &own;
    struct orr_plot to = {.options = options != NULL ? options : &defaults,
                          .in = {.path = "compare", .err = err}};
    enum orr_status status = check_options(to.options, &to.term, err);
    status = status == ORR_OK ? check_runs(to.options, count, err) : status;
    if (status != ORR_OK) {
        return status;
    }
    struct orr_plot *runs = orr_zalloc(count, sizeof *runs);
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        runs[i].options = to.options;
        runs[i].term = to.term;
        orr_results_open(&runs[i].in, arms[i].path, err);
        orr_results_interruptible(&runs[i].in, to.options->interrupted);
        orr_plot__open(&runs[i]);
        status = runs[i].in.status;
    }
    bool absent = false;
    if (status == ORR_OK) {
        join_runs(&to, runs, arms, count);
        draw_runs(&to, runs, report, context, &absent);
        status = to.in.status == ORR_OK && absent ? ORR_UNAVAILABLE : to.in.status;
    }
    for (uint32_t i = 0; i < count; i++) {
        orr_plot__close(&runs[i]);
        orr_results_close(&runs[i].in);
    }
    orr_free(runs);
    return status;
}
