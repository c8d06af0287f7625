/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_panels.c - two panels above each other, with one legend to the right of both, or below. */
#include "plot_int.h"

#include <math.h>

/* Ends of the panels and of their legend, as parts of the picture. */
struct panels {
    double left, right, top, upper, lower, bottom;
};

static struct panels panels_of(const struct orr_plot *plot)
{
    struct panels of = {.left = 0.13, .right = plot->panel_right, .bottom = 4.4 * plot->line};
    of.top = 1 - (plot->title_lines + 1.9) * plot->line;
    if (orr_plot__narrow(plot)) {
        of.left = 0.23;
        of.bottom = plot->legend_top + 4.2 * plot->line;
    }
    const double height = (of.top - of.bottom - 2.2 * plot->line) / 2;
    of.upper = of.top - height;
    of.lower = of.bottom + height;
    return of;
}

struct orr_plot_size orr_plot__panels_size(const struct orr_plot *plot, int height, bool names)
{
    return (struct orr_plot_size){900, orr_plot__narrow(plot) ? 1170 : height, 100, 34, names};
}

void orr_plot__panel_above(struct orr_plot *plot, uint32_t entries, uint32_t letters)
{
    orr_plot__gp(plot, "set multiplot\nunset key\n");
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "set size 1,0.48\nset origin 0,0.52\n");
        return;
    }
    orr_plot__legend_of_page(plot, entries, letters);
    plot->panel_right = orr_plot__narrow(plot) ? orr_plot__narrow_right(plot)
                                               : orr_plot__legend_side(plot, letters) - 0.01;
    const struct panels of = panels_of(plot);
    orr_plot__gp(plot,
                 "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
                 "set tmargin at screen %.4f\nset bmargin at screen %.4f\n",
                 of.left, of.right, of.top, of.upper);
}

double orr_plot__panel_height(const struct orr_plot *plot)
{
    const struct panels of = panels_of(plot);
    return of.top - of.upper;
}

double orr_plot__round_step(double range, double most)
{
    const double least = range / most, whole = pow(10, floor(log10(least)));
    const double part = least / whole;
    return whole * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

#define FEW 5 /* counts up to here have no number between two whole ones */

void orr_plot__panel_counts(struct orr_plot *plot, double top)
{
    orr_plot__panel_y(plot, top, false);
    if (top >= 1 && top < FEW) {
        orr_plot__gp(plot, "set ytics 1\n");
    }
}

void orr_plot__panel_y(struct orr_plot *plot, double top, bool both_ways)
{
    const double most = top > 0 ? top * 1.06 : 1;
    orr_plot__gp(plot, "set yrange [%.9g:%.9g]\nset ytics autofreq\n", both_ways ? -most : 0.0,
                 most);
    if (orr_plot__narrow(plot)) {
        const double fit = orr_plot__panel_height(plot) / (1.4 * plot->line);
        orr_plot__gp(plot, "set ytics %.9g\nset format y '%s'\n",
                     orr_plot__round_step(both_ways ? 2 * most : most, fit > 2 ? fit : 2),
                     most < 10000     ? "%h"
                     : most < 1000000 ? "%.0s%c"
                                      : "%.1s%c");
    }
}

void orr_plot__panel_below(struct orr_plot *plot)
{
    const struct panels of = panels_of(plot);
    orr_plot__gp(plot, "\nunset title\nunset label 90\nunset label 91\n");
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "set key bottom outside center horizontal\nset size 1,0.52\n"
                           "set origin 0,0\n");
        return;
    }
    orr_plot__gp(plot, "set tmargin at screen %.4f\nset bmargin at screen %.4f\n", of.lower,
                 of.bottom);
}

/* A frame without axes over both panels, only for its legend: it has the height of the page, and
 * where that is below, its width, by which gnuplot counts columns. */
void orr_plot__panel_legend(struct orr_plot *plot, const char *title)
{
    const struct panels of = panels_of(plot);
    orr_plot__gp(plot,
                 "\nunset tics\nunset border\nunset grid\nunset xlabel\nunset ylabel\n"
                 "unset arrow 90\nunset arrow 91\nset tmargin at screen %.4f\nset yrange [0:1]\n",
                 of.top);
    if (orr_plot__narrow(plot)) {
        orr_plot__gp(
            plot,
            "set lmargin at screen 0.01\nset rmargin at screen 0.99\n"
            "set key at screen 0.5,%.4f center top horizontal maxcols %u title '%s' center\n",
            plot->legend_top, plot->legend_columns, title);
    } else {
        orr_plot__gp(plot, "set key at screen %.4f,graph 1 left top title '%s' left\n",
                     of.right + 0.02, title);
    }
    orr_plot__gp(plot, "plot -1 notitle");
}

void orr_plot__panel_close(struct orr_plot *plot)
{
    orr_plot__gp(plot, "\nunset multiplot\n");
}
