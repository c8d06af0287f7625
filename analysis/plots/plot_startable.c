/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_startable.c - the largest gang of whole nodes that could start at a time, by topology level.
 */
#include "plot_int.h"
#include "plots_sql.h"

#include <string.h>

#define MOST_LEVELS  8
#define MOST_BUCKETS 500
#define DUMB_BUCKETS 80

struct levels {
    const char *names[MOST_LEVELS]; /* the widest first */
    uint32_t count;
};

/* What is drawn of `room` and `startable`, whose buckets begin at the first submit. */
struct steps {
    orr_ms from, to;
    orr_ms first, step, last; /* begin of the first bucket in it and of the last of all; length */
    double top;               /* of what was written */
};

static void levels_load(struct orr_plot *plot, struct levels *levels)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__levels);
    while (orr_results_step(&plot->in, row) && levels->count < MOST_LEVELS) {
        levels->names[levels->count++] = orr_results_text(&plot->in, row, 0);
    }
}

static struct steps steps_of(struct orr_plot *plot)
{
    struct steps steps = {.top = 0};
    orr_plot__span(plot, &steps.from, &steps.to);
    const orr_ms origin = orr_results_int(&plot->in, orr_plots_sql__first_room, steps.from);
    const orr_ms most = plot->term == ORR_PLOT_DUMB ? DUMB_BUCKETS : MOST_BUCKETS;
    const orr_ms step = plot->run.series_ms > 0 ? plot->run.series_ms : 1;
    const orr_ms joined = ((steps.to - steps.from + step - 1) / step + most - 1) / most;
    steps.last = orr_results_int(&plot->in, orr_plots_sql__last_room, steps.from);
    steps.step = step * (joined > 0 ? joined : 1);
    steps.first = steps.from > origin ? origin + (steps.from - origin) / step * step : origin;
    return steps;
}

/* Rows of x and GPUs of a run, as steps, in the data of `to`; `sql` gives bucket, mean and what the
 * mean hides. */
static uint32_t step_rows(struct orr_plot *to, struct orr_plot *run, struct steps *steps,
                          const char *what, const char *sql, const char *level)
{
    uint32_t block = orr_plot__block(to, what);
    sqlite3_stmt *row = orr_results_prepare(&run->in, sql);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, steps->first);
        (void)sqlite3_bind_int64(row, 2, steps->step);
        (void)sqlite3_bind_int64(row, 3, steps->to);
        if (level != NULL) {
            (void)sqlite3_bind_text(row, 4, level, -1, SQLITE_STATIC);
        }
    }
    while (orr_results_step(&run->in, row)) {
        orr_ms at = steps->first + sqlite3_column_int64(row, 0) * steps->step;
        orr_ms end = at + steps->step < steps->to ? at + steps->step : steps->to;
        at = at > steps->from ? at : steps->from;
        double gpus = sqlite3_column_double(row, 1);
        steps->top = gpus > steps->top ? gpus : steps->top;
        const double hidden = sqlite3_column_double(row, 2);
        orr_plot__row(to, "%.3f %.6g %.6g\n%.3f %.6g %.6g\n", orr_plot__x(run, at), gpus, hidden,
                      orr_plot__x(run, end), gpus, hidden);
    }
    return block;
}

static void levels_plot(struct orr_plot *plot, const struct levels *levels, struct steps *steps)
{
    static const char *const colours[MOST_LEVELS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#882255", "#000000"};
    bool dumb = plot->term == ORR_PLOT_DUMB;
    uint32_t blocks[MOST_LEVELS];
    uint32_t idle = step_rows(plot, plot, steps, "seconds, GPUs that are free",
                              orr_plots_sql__idle_means, NULL);
    for (uint32_t l = 0; l < levels->count; l++) {
        blocks[l] = step_rows(plot, plot, steps, levels->names[l], orr_plots_sql__startable_means,
                              levels->names[l]);
    }
    orr_plot__time_axis(plot, steps->from, steps->to, 8, true);
    orr_plot__window_marks(plot, steps->from, steps->to);
    orr_plot__gp(plot, "set ylabel 'GPUs'\nset yrange [0:%.9g]\n",
                 steps->top > 0 ? steps->top * 1.06 : 1.0);
    if (!dumb) {
        orr_plot__legend(plot, "within one", levels->count + 1, 18, false);
    }
    orr_plot__gp(plot, "plot ");
    orr_plot__data(plot, idle);
    orr_plot__gp(plot, dumb ? "using 1:2 with lines title 'free'"
                            : "using 1:(0):2 with filledcurves fc rgb '#dcdcd8' notitle");
    for (uint32_t l = 0; l < levels->count; l++) {
        orr_plot__gp(plot, ", \\\n  ");
        orr_plot__data(plot, blocks[l]);
        orr_plot__gp(plot, "using 1:2 with lines ");
        if (!dumb) {
            orr_plot__gp(plot, "lw 1.6 lc rgb '%s' ", colours[l]);
        }
        orr_plot__gp(plot, "title ");
        orr_plot__quote(plot, levels->names[l], 18, false);
        if (!dumb) {
            orr_plot__gp(plot, ", \\\n  ");
            orr_plot__data(plot, blocks[l]);
            orr_plot__gp(plot, "using 1:3 with lines lw 0.6 lc rgb '%s' notitle", colours[l]);
        }
    }
    orr_plot__gp(plot,
                 dumb ? "\n"
                      : ", \\\n  keyentry with boxes fc rgb '#dcdcd8' title 'all that is free'\n");
}

void orr_plot__startable(struct orr_plot *plot)
{
    struct levels levels = {.count = 0};
    levels_load(plot, &levels);
    struct steps steps = steps_of(plot);
    orr_plot__start(plot, (struct orr_plot_size){900, 440, 100, 30, false});
    orr_plot__means_over(plot, steps.step, "the least");
    orr_plot__title(plot, "Largest gang of whole nodes that could start",
                    "without evictions, whatever the quotas");
    if (levels.count == 0 || steps.to <= steps.first || steps.first > steps.last) {
        orr_plot__nothing(plot, "no node has GPUs");
    } else {
        levels_plot(plot, &levels, &steps);
    }
}

/* One of two panels of several runs: a line a run. */
struct room_panel {
    const char *label, *sql, *level;
};

static void room_panel(struct orr_plot *to, struct orr_plot *runs, struct steps *steps,
                       const struct room_panel *panel, bool names)
{
    uint32_t first = ORR_NONE;
    double top = 0;
    for (uint32_t i = 0; i < to->among; i++) {
        const uint32_t block =
            step_rows(to, &runs[i], &steps[i], panel->label, panel->sql, panel->level);
        first = i == 0 ? block : first;
        top = steps[i].top > top ? steps[i].top : top;
        steps[i].top = 0;
    }
    orr_plot__ylabel(to, panel->label, orr_plot__panel_height(to));
    orr_plot__panel_y(to, top, false);
    orr_plot__runs_plot(to, runs, first, "", names, false);
}

static void room_panels(struct orr_plot *to, struct orr_plot *runs, const char *what,
                        const char *extra, const struct room_panel panels[2])
{
    const bool dumb = to->term == ORR_PLOT_DUMB;
    struct steps *steps = orr_zalloc(to->among, sizeof *steps);
    orr_ms from = 0, end = 0, longest = 0;
    bool any = false;
    char both[160];
    for (uint32_t i = 0; i < to->among; i++) {
        steps[i] = steps_of(&runs[i]);
        any = any || (steps[i].to > steps[i].first && steps[i].first <= steps[i].last);
        longest = steps[i].step > longest ? steps[i].step : longest;
    }
    (void)snprintf(both, sizeof both, "%s (above), %s", panels[0].label, panels[1].label);
    orr_plot__span(to, &from, &end);
    orr_plot__start(to, orr_plot__panels_size(to, 560, false));
    orr_plot__means_over(to, longest, NULL);
    orr_plot__title(to, dumb ? both : what, extra);
    if (!any) {
        orr_plot__nothing(to, "no node has GPUs");
    } else {
        orr_plot__panel_above(to, to->among, orr_plot__runs_letters(to, runs));
        orr_plot__time_axis(to, from, end, 8, false);
        room_panel(to, runs, steps, &panels[0], false);
        orr_plot__panel_below(to);
        orr_plot__time_axis(to, from, end, 8, true);
        room_panel(to, runs, steps, &panels[1], dumb);
        if (!dumb) {
            orr_plot__panel_legend(to, "run");
            orr_plot__runs_keys(to, runs);
        }
        orr_plot__panel_close(to);
    }
    orr_free(steps);
}

void orr_plot__runs_startable(struct orr_plot *to, struct orr_plot *runs)
{
    struct levels levels = {.count = 0};
    char label[2][60];
    levels_load(&runs[0], &levels);
    const char *const wide = levels.count > 0 ? levels.names[0] : "cluster";
    const char *const next = levels.count > 1 ? levels.names[1] : wide;
    (void)snprintf(label[0], sizeof label[0], "GPUs in the %.30s", wide);
    (void)snprintf(label[1], sizeof label[1], "GPUs in one %.30s", next);
    const struct room_panel panels[2] = {{label[0], orr_plots_sql__startable_means, wide},
                                         {label[1], orr_plots_sql__startable_means, next}};
    room_panels(to, runs, "Largest gang of whole nodes that could start",
                "without evictions, whatever the quotas", panels);
}

void orr_plot__runs_fragmentation(struct orr_plot *to, struct orr_plot *runs)
{
    static const struct room_panel panels[2] = {
        {"free GPUs", orr_plots_sql__idle_means, NULL},
        {"unusable GPUs", orr_plots_sql__unusable_means, NULL}};
    room_panels(to, runs, "Free GPUs, and those that typical pods could not use", NULL, panels);
}
