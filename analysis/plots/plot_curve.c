/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_curve.c - a metric over amounts of something: means of replicas with their intervals, the
 * bound that is to be kept, the least amount that keeps it, and the knee. */
#include "plot_int.h"

#include <math.h>
#include <string.h>

#define LOG_FROM 20 /* times the bound: a time that is so much more makes the axis logarithmic */

struct scale { /* of a metric in seconds, as people read it */
    double by;
    const char *unit;
    double lowest, highest; /* of a logarithmic axis, in seconds; 0: it is linear */
};

static struct scale scale_of(const struct orr_plot_curve *curve)
{
    double most = fabs(curve->bound);
    for (uint32_t i = 0; i < curve->count; i++) {
        const double high =
            isnan(curve->points[i].high) ? curve->points[i].mean : curve->points[i].high;
        most = high > most ? high : most;
    }
    if (strcmp(curve->unit, "s") != 0) {
        return (struct scale){.by = 1, .unit = curve->unit};
    }
    if (curve->bound > 0 && most > LOG_FROM * curve->bound) {
        return (struct scale){
            .by = 1, .unit = "s", .lowest = fmax(curve->bound / 60, 0.001), .highest = most * 2};
    }
    return most < 120      ? (struct scale){.by = 1, .unit = "s"}
           : most < 7200   ? (struct scale){.by = 60, .unit = "min"}
           : most < 172800 ? (struct scale){.by = 3600, .unit = "h"}
                           : (struct scale){.by = 86400, .unit = "days"};
}

/* Where a value stands: what is below a logarithmic axis, at its foot. */
static double place(struct scale scale, double value)
{
    return scale.lowest > 0 && value < scale.lowest ? scale.lowest / 3 : value / scale.by;
}

/* Points that hold, or that do not, as a block; ORR_NONE: there are none. */
static uint32_t point_rows(struct orr_plot *plot, const struct orr_plot_curve *curve,
                           struct scale scale, bool holds)
{
    uint32_t block = ORR_NONE;
    for (uint32_t i = 0; i < curve->count; i++) {
        const struct orr_plot_curve_point *p = &curve->points[i];
        if (p->holds != holds || isnan(p->mean)) {
            continue;
        }
        if (block == ORR_NONE) {
            block = orr_plot__block(plot, "amount, mean, low, high");
        }
        orr_plot__row(plot, "%.12g %.9g %.9g %.9g\n", p->x, place(scale, p->mean),
                      place(scale, isnan(p->low) ? p->mean : p->low),
                      place(scale, isnan(p->high) ? p->mean : p->high));
    }
    return block;
}

static uint32_t line_rows(struct orr_plot *plot, const struct orr_plot_curve *curve,
                          struct scale scale)
{
    const uint32_t block = orr_plot__block(plot, "amount, mean");
    for (uint32_t i = 0; i < curve->count; i++) {
        if (!isnan(curve->points[i].mean)) {
            orr_plot__row(plot, "%.12g %.9g\n", curve->points[i].x,
                          place(scale, curve->points[i].mean));
        }
    }
    return block;
}

/* A vertical line through a point, with what it is at its top. */
static void mark(struct orr_plot *plot, const struct orr_plot_curve *curve, uint32_t at,
                 const char *what, const char *colour, int number)
{
    if (at == ORR_NONE || plot->term == ORR_PLOT_DUMB) {
        return;
    }
    const double x = curve->points[at].x;
    orr_plot__gp(plot,
                 "set arrow %d from %.12g,graph 0 to %.12g,graph 1 nohead dt 3 lw 1.5 lc rgb '%s' "
                 "back\nset label %d ' %s: %.12g' at %.12g,graph %.2f left textcolor rgb '%s'\n",
                 number, x, x, colour, number, what, x, x, number == 1 ? 0.96 : 0.89, colour);
}

static void draw_points(struct orr_plot *plot, uint32_t block, bool holds)
{
    static const char *const names[] = {"fails", "holds"}, *const colours[] = {"#d55e00",
                                                                               "#0072b2"};
    if (block == ORR_NONE) {
        return;
    }
    orr_plot__gp(plot, ", \\\n  ");
    orr_plot__data(plot, block);
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "using 1:2 with points pt '%c' title '%s'", holds ? 'O' : 'x',
                     names[holds]);
    } else {
        orr_plot__gp(plot,
                     "using 1:2:3:4 with yerrorbars pt %d ps 1.1 lw 1.6 lc rgb '%s' title '%s'",
                     holds ? 7 : 6, colours[holds], names[holds]);
    }
}

/* All amounts, with room for the words beside the last one; the bound has the width of the axis. */
static void amount_axis(struct orr_plot *plot, const struct orr_plot_curve *curve)
{
    double least = (double)INFINITY, most = -(double)INFINITY;
    for (uint32_t i = 0; i < curve->count; i++) {
        least = fmin(least, curve->points[i].x);
        most = fmax(most, curve->points[i].x);
    }
    if (most - least <= 10 && most - least >= 1 && least == floor(least)) {
        orr_plot__gp(plot, "set xtics 1\n");
    }
    const double span = most > least ? most - least : fmax(fabs(most), 1);
    orr_plot__gp(plot, "set xrange [%.12g:%.12g]\nset offsets 0, 0, graph 0.1, 0\n",
                 least - 0.02 * span, most + 0.12 * span);
}

/* A terminal has no room for the name of the upright axis beside it. */
static void title(struct orr_plot *plot, const struct orr_plot_curve *curve, const char *label)
{
    char text[400];
    const bool dumb = plot->term == ORR_PLOT_DUMB;
    (void)snprintf(text, sizeof text, "%s%s%.120s", curve->title, dumb ? "; " : "",
                   dumb ? label : "");
    orr_plot__plain_title(plot, text);
}

static void curve_axes(struct orr_plot *plot, const struct orr_plot_curve *curve,
                       struct scale scale)
{
    char label[200];
    const bool bare = strcmp(scale.unit, "1") == 0 || scale.unit[0] == '\0' || scale.lowest > 0;
    (void)snprintf(label, sizeof label, "%.120s%s%s", curve->metric, bare ? "" : ", in ",
                   bare ? "" : scale.unit);
    orr_plot__gp(plot, "set xlabel ");
    orr_plot__quote(plot, curve->amounts, 120, false);
    orr_plot__gp(plot, "\nset ylabel ");
    orr_plot__quote(plot, label, 120, false);
    if (scale.lowest > 0) {
        orr_plot__gp(plot, "\n");
        orr_plot__wait_axis(plot, 'y', scale.lowest, scale.highest);
    } else {
        orr_plot__gp(plot, "\nset yrange [0:*]\n%s",
                     plot->term == ORR_PLOT_DUMB ? "set border back\n"
                                                 : ""); /* under values of 0 */
    }
    amount_axis(plot, curve);
    title(plot, curve, label);
}

static void curve_draw(struct orr_plot *plot, const struct orr_plot_curve *curve)
{
    const struct scale scale = scale_of(curve);
    orr_plot__start(plot, (struct orr_plot_size){900, 480, 100, 26, false});
    curve_axes(plot, curve, scale);
    mark(plot, curve, curve->answer, "least", "#0072b2", 1);
    mark(plot, curve, curve->knee, "knee", "#707070", 2);
    orr_plot__legend(plot, "", 3, 6, false);
    const uint32_t line = line_rows(plot, curve, scale);
    const uint32_t fails = point_rows(plot, curve, scale, false);
    const uint32_t holds = point_rows(plot, curve, scale, true);
    const bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_plot__gp(plot, "plot %.9g with lines %s title 'bound', \\\n  ", curve->bound / scale.by,
                 dumb ? "" : "dt 2 lw 1.5 lc rgb '#009e73'");
    orr_plot__data(plot, line);
    orr_plot__gp(plot, "using 1:2 with lines %s notitle", dumb ? "" : "lw 1 lc rgb '#a0a0a0'");
    draw_points(plot, fails, false);
    draw_points(plot, holds, true);
    orr_plot__gp(plot, "\n");
}

enum orr_status orr_plot_curve(const struct orr_plot_curve *curve,
                               const struct orr_plot_options *options, orr_plot_report_fn *report,
                               void *context, struct orr_err *err)
{
    struct orr_err own = {.status = ORR_OK};
    struct orr_plot plot = {.options = options,
                            .in = {.path = "capacity", .err = err != NULL ? err : &own}};
    enum orr_status status = orr_plot__term(options->term, &plot.term, plot.in.err);
    if (status != ORR_OK) {
        return status;
    }
    struct orr_plot_files *files = orr_plot__files_open(&plot, "curve");
    if (files != NULL) {
        curve_draw(&plot, curve);
        orr_plot__files_close(&plot, files, report, context);
    }
    return plot.in.status;
}
