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
    orr_ms from, to;    /* what is drawn */
    orr_ms first, step; /* begin of the first bucket in it; of buckets joined */
    double top;
};

static void levels_load(struct orr_plot *plot, struct levels *levels)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__levels);
    while (orr_results_step(&plot->in, row) && levels->count < MOST_LEVELS) {
        levels->names[levels->count++] = orr_results_text(&plot->in, row, 0);
    }
}

/* Rows of x and GPUs, as steps; `sql` gives bucket, mean and least. */
static uint32_t step_rows(struct orr_plot *plot, struct levels *levels, const char *what,
                          const char *sql, const char *level)
{
    uint32_t block = orr_plot__block(plot, what);
    sqlite3_stmt *row = orr_results_prepare(&plot->in, sql);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, levels->first);
        (void)sqlite3_bind_int64(row, 2, levels->step);
        (void)sqlite3_bind_int64(row, 3, levels->to);
        if (level != NULL) {
            (void)sqlite3_bind_text(row, 4, level, -1, SQLITE_STATIC);
        }
    }
    while (orr_results_step(&plot->in, row)) {
        orr_ms at = levels->first + sqlite3_column_int64(row, 0) * levels->step;
        orr_ms end = at + levels->step < levels->to ? at + levels->step : levels->to;
        at = at > levels->from ? at : levels->from;
        double gpus = sqlite3_column_double(row, 1);
        levels->top = gpus > levels->top ? gpus : levels->top;
        const double least = sqlite3_column_double(row, 2);
        orr_plot__row(plot, "%.3f %.6g %.6g\n%.3f %.6g %.6g\n", orr_plot__x(plot, at), gpus, least,
                      orr_plot__x(plot, end), gpus, least);
    }
    return block;
}

static void levels_plot(struct orr_plot *plot, struct levels *levels)
{
    static const char *const colours[MOST_LEVELS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#882255", "#000000"};
    bool dumb = plot->term == ORR_PLOT_DUMB;
    uint32_t blocks[MOST_LEVELS];
    uint32_t idle =
        step_rows(plot, levels, "seconds, GPUs that are free", orr_plots_sql__idle_means, NULL);
    for (uint32_t l = 0; l < levels->count; l++) {
        blocks[l] = step_rows(plot, levels, levels->names[l], orr_plots_sql__startable_means,
                              levels->names[l]);
    }
    orr_plot__time_axis(plot, levels->from, levels->to, 8, true);
    orr_plot__window_marks(plot, levels->from, levels->to);
    orr_plot__gp(plot, "set ylabel 'GPUs'\nset yrange [0:%.9g]\n",
                 levels->top > 0 ? levels->top * 1.06 : 1.0);
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
    orr_plot__span(plot, &levels.from, &levels.to);
    /* buckets begin at the first submit */
    orr_ms origin = orr_results_int(&plot->in, orr_plots_sql__first_room, levels.from);
    orr_ms last = orr_results_int(&plot->in, orr_plots_sql__last_room, levels.from);
    orr_ms most = plot->term == ORR_PLOT_DUMB ? DUMB_BUCKETS : MOST_BUCKETS;
    orr_ms step = plot->run.series_ms > 0 ? plot->run.series_ms : 1;
    orr_ms joined = ((levels.to - levels.from + step - 1) / step + most - 1) / most;
    levels.step = step * (joined > 0 ? joined : 1);
    levels.first = levels.from > origin ? origin + (levels.from - origin) / step * step : origin;
    orr_plot__start(plot, (struct orr_plot_size){900, 440, 100, 30});
    orr_plot__means_over(plot, levels.step, "the least");
    orr_plot__title(plot, "Largest gang of whole nodes that could start",
                    "without evictions, whatever the quotas");
    if (levels.count == 0 || levels.to <= levels.first || levels.first > last) {
        orr_plot__nothing(plot, "no node has GPUs");
    } else {
        levels_plot(plot, &levels);
    }
}
