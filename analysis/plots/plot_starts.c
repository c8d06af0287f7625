/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_starts.c - when jobs may start: a row each, from the time by which one future of ten has it
 * started to that by which nine have, with the median as a dot. An arrow goes on beyond the
 * horizon; it has no dot where the median does. */
#include "plot_int.h"

#include <math.h>
#include <string.h>

#define LETTERS 40 /* of a name */

struct time_axis {
    double by; /* seconds of a unit */
    const char *unit;
    double end; /* in that unit */
};

/* Does a row end beyond the horizon? */
static bool is_open(const struct orr_plot_starts *starts)
{
    bool open = false;
    for (uint32_t i = 0; i < starts->count; i++) {
        open = open || isinf(starts->rows[i].high_s);
    }
    return open;
}

static struct time_axis axis_of(const struct orr_plot_starts *starts)
{
    double most = 1.0;
    for (uint32_t i = 0; i < starts->count; i++) {
        const double ends[] = {starts->rows[i].low_s, starts->rows[i].median_s,
                               starts->rows[i].high_s};
        for (int e = 0; e < 3; e++) {
            most = !isinf(ends[e]) && ends[e] > most ? ends[e] : most;
        }
    }
    most = is_open(starts) ? starts->horizon_s : most;
    const struct time_axis axis = most < 120      ? (struct time_axis){1, "s", 0}
                                  : most < 7200   ? (struct time_axis){60, "min", 0}
                                  : most < 172800 ? (struct time_axis){3600, "h", 0}
                                                  : (struct time_axis){86400, "days", 0};
    return (struct time_axis){axis.by, axis.unit, most / axis.by};
}

static double place(const struct time_axis *axis, double seconds)
{
    return isinf(seconds) ? axis->end : seconds / axis->by;
}

static uint32_t longest_name(const struct orr_plot_starts *starts)
{
    size_t most = 8;
    for (uint32_t i = 0; i < starts->count; i++) {
        const size_t letters = strlen(starts->rows[i].name);
        most = letters > most ? letters : most;
    }
    return most < LETTERS ? (uint32_t)most : LETTERS;
}

/* Rows that are jobs as they are, or alternatives to one. */
static uint32_t row_block(struct orr_plot *plot, const struct orr_plot_starts *starts,
                          const struct time_axis *axis, bool are_changes)
{
    uint32_t block = ORR_NONE;
    for (uint32_t i = 0; i < starts->count; i++) {
        const struct orr_plot_start *row = &starts->rows[i];
        if (row->is_change != are_changes) {
            continue;
        }
        if (!isinf(row->median_s) && block == ORR_NONE) {
            block = orr_plot__block(plot, "median, row, 10 %, 90 %");
        }
        if (!isinf(row->median_s)) {
            orr_plot__row(plot, "%.9g %u %.9g %.9g\n", place(axis, row->median_s), i,
                          place(axis, row->low_s), place(axis, row->high_s));
        }
        if (isinf(row->high_s) && plot->term != ORR_PLOT_DUMB) {
            orr_plot__gp(plot,
                         "set arrow from first %.9g,%u to graph 1,first %u lw 1.6 lc rgb '%s'\n",
                         place(axis, row->low_s), i, i, are_changes ? "#d55e00" : "#0072b2");
        }
    }
    return block;
}

static void draw_rows(struct orr_plot *plot, uint32_t block, bool are_changes, bool first)
{
    if (block == ORR_NONE) {
        return;
    }
    orr_plot__gp(plot, first ? "plot " : ", \\\n  ");
    orr_plot__data(plot, block);
    const char *title = are_changes ? "were that job gone" : "as it is";
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "using 1:2 with points pt '%c' title 'median, %s'",
                     are_changes ? 'o' : 'X', title);
    } else {
        orr_plot__gp(plot,
                     "using 1:2:3:4 with xerrorbars pt 7 ps 0.9 lw 2.4 lc rgb '%s' title '%s'",
                     are_changes ? "#d55e00" : "#0072b2", title);
    }
}

static void starts_draw(struct orr_plot *plot, const struct orr_plot_starts *starts)
{
    const struct time_axis axis = axis_of(starts);
    const int rows = (int)starts->count;
    orr_plot__start(plot, (struct orr_plot_size){900, 170 + 26 * rows, 100, 12 + 2 * rows, false});
    orr_plot__gp(plot, "set xlabel ");
    char label[120];
    const bool arrows = is_open(starts) && plot->term != ORR_PLOT_DUMB;
    (void)snprintf(label, sizeof label, "start after the moment, in %s%s", axis.unit,
                   arrows ? " (arrows: beyond the horizon)" : "");
    orr_plot__quote(plot, label, 120, false);
    orr_plot__gp(plot, "\nset xrange [0:%.9g]\nset yrange [%.1f:-0.8]\nset ytics (",
                 axis.end * 1.05, rows - 0.4);
    for (int i = 0; i < rows; i++) {
        orr_plot__gp(plot, "%s", i > 0 ? ", " : "");
        orr_plot__quote(plot, starts->rows[i].name, LETTERS, true);
        orr_plot__gp(plot, " %d", i);
    }
    orr_plot__gp(plot, ") scale 0\nset lmargin %u\n", longest_name(starts) + 3);
    if (!plot->options->no_title) {
        orr_plot__gp(plot, "set title ");
        orr_plot__quote(plot, starts->title, 160, false);
        orr_plot__gp(plot, "\n");
    }
    orr_plot__legend(plot, "median, 10 to 90 %", 2, 18, false);
    const uint32_t plain = row_block(plot, starts, &axis, false);
    const uint32_t changes = row_block(plot, starts, &axis, true);
    draw_rows(plot, plain, false, true);
    draw_rows(plot, changes, true, plain == ORR_NONE);
    if (plain == ORR_NONE && changes == ORR_NONE) { /* nothing but arrows */
        orr_plot__gp(plot, "plot NaN notitle");
    }
    orr_plot__gp(plot, "\n");
}

enum orr_status orr_plot_starts(const struct orr_plot_starts *starts,
                                const struct orr_plot_options *options, orr_plot_report_fn *report,
                                void *context, struct orr_err *err)
{
    struct orr_err own = {.status = ORR_OK};
    struct orr_plot plot = {.options = options,
                            .in = {.path = "forecast", .err = err != NULL ? err : &own}};
    enum orr_status status = orr_plot__term(options->term, &plot.term, plot.in.err);
    if (status != ORR_OK) {
        return status;
    }
    struct orr_plot_files *files = orr_plot__files_open(&plot, "starts");
    if (files != NULL) {
        starts_draw(&plot, starts);
        orr_plot__files_close(&plot, files, report, context);
    }
    return plot.in.status;
}
