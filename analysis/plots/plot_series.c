/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_series.c - figures over time by queue: share, allocation, depth. */
#include "plot_int.h"
#include "plots_sql.h"

#include <orrery/analysis/names.h>
#include <orrery/base/text.h>

#include <math.h>

#define PANEL_NUMBERS 5 /* above 0 at a panel of three or more, at most */

void orr_plot__allocation(struct orr_plot *plot)
{
    struct orr_plot_table table;
    bool any = orr_plot__table_open(plot, &table, 10, true);
    bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_plot__start(plot, (struct orr_plot_size){900, 500, 100, 30, true});
    orr_plot__means_over(plot, table.bucket_ms, "peaks");
    orr_plot__title(plot, "Allocated GPUs by queue", NULL);
    if (!any) {
        orr_plot__nothing(plot, "no job was submitted");
        orr_plot__table_close(&table);
        return;
    }
    struct orr_plot_peaks peaks;
    orr_plot__peaks_open(&peaks, table.from, table.to, table.bucket_ms);
    orr_plot__peaks_load(plot, &peaks, orr_plots_sql__peak_allocated);
    const double top = peaks.top;
    double capacity = orr_plot__capacity_top(&table);
    orr_plot__time_axis(plot, table.from, table.to, 8, true);
    orr_plot__window_marks(plot, table.from, table.to);
    orr_plot__gp(plot, "set ylabel 'GPUs'\nset yrange [0:%.9g]\n",
                 (top > capacity ? top : capacity) * 1.06 + 1e-6);
    if (dumb) {
        orr_plot__text_lines(plot, &table, ORR_PLOT_ALLOCATED);
        orr_plot__gp(plot, ", ");
        orr_plot__data(plot, orr_plot__capacity_rows(plot, &table));
        orr_plot__gp(plot, "using 1:2 with lines title 'capacity'\n");
    } else {
        uint32_t block = orr_plot__stack_rows(plot, &table, ORR_PLOT_ALLOCATED, false);
        uint32_t line = orr_plot__capacity_rows(plot, &table);
        const uint32_t peak = orr_plot__peaks_rows(plot, &peaks);
        orr_plot__legend(plot, "queue", table.slots.count + 2,
                         orr_plot__slots_letters(plot, table.slots), true);
        orr_plot__stack_plot(plot, &table, block, true);
        orr_plot__peaks_plot(plot, peak, true);
        orr_plot__gp(plot, ", \\\n  ");
        orr_plot__data(plot, line);
        orr_plot__gp(plot, "using 1:2 with lines dt 2 lw 1.6 lc rgb '#000000' title 'capacity'\n");
    }
    orr_plot__peaks_close(&peaks);
    orr_plot__table_close(&table);
}

static void depth_panels(struct orr_plot *plot, const struct orr_plot_table *table,
                         const struct orr_plot_peaks peaks[2])
{
    uint32_t jobs = orr_plot__stack_rows(plot, table, ORR_PLOT_JOBS, false);
    uint32_t gpus = orr_plot__stack_rows(plot, table, ORR_PLOT_WAITING, false);
    uint32_t line = orr_plot__capacity_rows(plot, table);
    const uint32_t most_jobs = orr_plot__peaks_rows(plot, &peaks[0]);
    const uint32_t most_gpus = orr_plot__peaks_rows(plot, &peaks[1]);
    orr_plot__panel_above(plot, table->slots.count + 2,
                          orr_plot__slots_letters(plot, table->slots));
    orr_plot__ylabel(plot, "jobs that wait", orr_plot__panel_height(plot));
    orr_plot__panel_counts(plot, peaks[0].top);
    orr_plot__time_axis(plot, table->from, table->to, 8, false);
    orr_plot__window_marks(plot, table->from, table->to);
    orr_plot__stack_plot(plot, table, jobs, false);
    orr_plot__peaks_plot(plot, most_jobs, false);
    const double top = peaks[1].top;
    double capacity = orr_plot__capacity_top(table);
    bool near = capacity < top * 4;
    orr_plot__panel_below(plot);
    orr_plot__ylabel(plot, "GPUs they ask for", orr_plot__panel_height(plot));
    const double most = near && capacity > top ? capacity : top;
    orr_plot__panel_y(plot, most, false);
    orr_plot__time_axis(plot, table->from, table->to, 8, true);
    orr_plot__stack_plot(plot, table, gpus, false);
    orr_plot__peaks_plot(plot, most_gpus, false);
    if (near) {
        orr_plot__gp(plot, ", \\\n  ");
        orr_plot__data(plot, line);
        orr_plot__gp(plot, "using 1:2 with lines dt 2 lw 1.6 lc rgb '#000000' notitle");
    }
    orr_plot__panel_legend(plot, "queue");
    if (near) {
        orr_plot__gp(plot, ", \\\n  keyentry with lines dt 2 lw 1.6 lc rgb '#000000' title "
                           "'capacity'");
    }
    orr_plot__gp(plot, ", \\\n  keyentry with lines lw 1.2 lc rgb '#404040' title 'peak'");
    orr_plot__slot_keys(plot, table->slots);
    orr_plot__panel_close(plot);
}

static void depth_dumb(struct orr_plot *plot, const struct orr_plot_table *table)
{
    orr_plot__gp(plot,
                 "set multiplot\nset size 1,0.48\nset origin 0,0.52\nset ylabel 'jobs'\n"
                 "set yrange [0:%.9g]\nunset key\n",
                 orr_plot__stack_top(table, ORR_PLOT_JOBS) * 1.06 + 1e-6);
    orr_plot__time_axis(plot, table->from, table->to, 8, false);
    orr_plot__text_lines(plot, table, ORR_PLOT_JOBS);
    orr_plot__gp(plot,
                 "\nunset title\nset key bottom outside center horizontal\nset size 1,0.52\n"
                 "set origin 0,0\nset ylabel 'GPUs'\nset yrange [0:%.9g]\n",
                 orr_plot__stack_top(table, ORR_PLOT_WAITING) * 1.06 + 1e-6);
    orr_plot__text_lines(plot, table, ORR_PLOT_WAITING);
    orr_plot__gp(plot, "\nunset multiplot\n");
}

void orr_plot__depth(struct orr_plot *plot)
{
    struct orr_plot_table table;
    struct orr_plot_peaks peaks[2] = {{0}};
    bool any = orr_plot__table_open(plot, &table, 10, true);
    bool dumb = plot->term == ORR_PLOT_DUMB;
    if (any) {
        orr_plot__table_waits(plot, &table, peaks);
    }
    char extra[60];
    const char *nevers = orr_plot__nevers(plot, "with", extra);
    orr_plot__start(plot, orr_plot__panels_size(plot, 560, true));
    orr_plot__means_over(plot, table.bucket_ms, "peaks");
    orr_plot__title(plot, dumb ? "Waiting: jobs (above), GPUs they ask for" : "What waits", nevers);
    if (!any || orr_plot__stack_top(&table, ORR_PLOT_JOBS) <= 0) {
        orr_plot__nothing(plot, any ? "no job waited" : "no job was submitted");
    } else if (dumb) {
        depth_dumb(plot, &table);
    } else {
        depth_panels(plot, &table, peaks);
    }
    orr_plot__peaks_close(&peaks[0]);
    orr_plot__peaks_close(&peaks[1]);
    orr_plot__table_close(&table);
}

/* A quota worth a line, or NAN. */
static double quota_of(const struct orr_plot *plot, const struct orr_plot_table *table,
                       uint32_t slot, uint32_t bucket)
{
    double quota =
        slot < table->slots.shown ? *orr_plot__cell(table, ORR_PLOT_QUOTA, slot, bucket) : 0;
    return quota > 0 && quota <= plot->run.capacity_gpus ? quota : (double)NAN;
}

static uint32_t share_rows(struct orr_plot *plot, const struct orr_plot_table *table, uint32_t slot,
                           const struct orr_plot_peaks *peaks, double *top)
{
    uint32_t block = orr_plot__block(
        plot, "seconds, allocated, fair share, fair share by the policy, quota, most allocated");
    *top = plot->term != ORR_PLOT_DUMB ? peaks->top : 0;
    for (uint32_t b = 0; b < table->buckets; b++) {
        double got = *orr_plot__cell(table, ORR_PLOT_ALLOCATED, slot, b),
               fair = *orr_plot__cell(table, ORR_PLOT_SHARE, slot, b);
        double by_policy = *orr_plot__cell(table, ORR_PLOT_POLICY_SHARE, slot, b);
        by_policy = table->policy_shares ? by_policy : 0;
        *top = got > *top ? got : *top;
        *top = fair > *top ? fair : *top;
        *top = by_policy > *top ? by_policy : *top;
        double quota = quota_of(plot, table, slot, b);
        *top = quota > *top ? quota : *top;
        for (int side = 0; side < 2; side++) {
            orr_plot__row(plot, "%.3f %.6g %.6g %.6g", orr_plot__edge(plot, table, b, side), got,
                          fair, by_policy);
            orr_plot__row(plot, isnan(quota) ? " NaN" : " %.6g", quota);
            orr_plot__row(plot, " %.6g\n", peaks->most[b]);
        }
    }
    return block;
}

/* What a panel of such a part of the picture's width is called: no letter of it is beside it. */
static void panel_name(struct orr_plot *plot, struct orr_plot_slots slots, uint32_t slot,
                       double part)
{
    const int most = (int)(plot->letters * part) - 1;
    if (slot >= slots.shown || most >= ORR_PLOT_NAME) {
        orr_plot__slot_name(plot, slots, slot, NULL);
        return;
    }
    const char *names[ORR_PLOT_COLOURS]; /* together, so that no two are shortened alike */
    for (uint32_t s = 0; s < slots.shown; s++) {
        names[s] = plot->queues[s].whole;
    }
    const char **shorts = orr_short_names(&plot->in.arena, names, slots.shown, most < 8 ? 8 : most);
    orr_plot__name(plot, shorts[slot]);
}

/* The largest round number up to `top`, whose double is above it. */
static double one_number(double top)
{
    static const double round[] = {8, 6, 5, 4, 3, 2, 1.5, 1};
    const double whole = pow(10, floor(log10(top)));
    size_t i = 0;
    while (i + 1 < sizeof round / sizeof round[0] && round[i] * whole > top) {
        i++;
    }
    return round[i] * whole;
}

/* `part`: of the picture's width. */
static void share_panel(struct orr_plot *plot, const struct orr_plot_table *table, uint32_t slot,
                        const struct orr_plot_peaks *peaks, int tics, double part)
{
    double top;
    uint32_t block = share_rows(plot, table, slot, &peaks[slot], &top);
    bool quotas = false;
    for (uint32_t b = 0; b < table->buckets; b++) {
        quotas = quotas || !isnan(quota_of(plot, table, slot, b));
    }
    orr_plot__time_axis(plot, table->from, table->to, tics, false);
    orr_plot__gp(plot, "set yrange [0:%.9g]\n", top > 0 ? top * 1.08 : 1.0);
    if (orr_plot__narrow(plot) && table->slots.count > 6 && top > 0) {
        orr_plot__gp(plot, "set ytics %g\n", one_number(top));
    } else if (orr_plot__narrow(plot) && top > 0) { /* room for one or two numbers above 0 */
        const double least = top / 2.5, whole = pow(10, floor(log10(least)));
        orr_plot__gp(plot, "set ytics %g\n",
                     least / whole > 5   ? 10 * whole
                     : least / whole > 2 ? 5 * whole
                                         : 2 * whole);
    } else if (plot->term != ORR_PLOT_DUMB && table->slots.count > 2 && top > 0) {
        orr_plot__gp(plot, "set ytics %.9g\n", orr_plot__round_step(top * 1.08, PANEL_NUMBERS));
    }
    if (plot->term != ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "set title ");
        panel_name(plot, table->slots, slot, part);
        orr_plot__gp(plot, " offset 0,-0.9%s\n", orr_plot__ink(plot));
    }
    orr_plot__gp(plot, "plot ");
    const char *colour = orr_plot__colour(slot, table->slots.shown);
    orr_plot__data(plot, block);
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "using 1:2 with lines title 'allocated', ");
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:3 with lines title 'fair share'");
    } else {
        orr_plot__gp(
            plot,
            "using 1:(0):2 with filledcurves fc rgb '%s' fs transparent solid 0.55 noborder,\\\n  ",
            colour);
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:6 with lines lw 0.6 lc rgb '%s',\\\n  ", colour);
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:3 with lines lw 1.3 lc rgb '#202020'");
        if (table->policy_shares) {
            orr_plot__gp(plot, ",\\\n  ");
            orr_plot__data(plot, block);
            orr_plot__gp(plot, "using 1:4 with lines lw 1.3 dt 3 lc rgb '#606060'");
        }
    }
    if (quotas) {
        orr_plot__gp(plot, ", ");
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:5 with lines %s",
                     plot->term == ORR_PLOT_DUMB ? "title 'quota'"
                                                 : "dt 2 lw 1.5 lc rgb '#b00020'");
    }
    orr_plot__gp(plot, "\n");
}

/* Of a narrow picture: its height. */
static double share_strip(const struct orr_plot *plot)
{
    return 8.4 * plot->line;
}

/* The legend of all panels and what their time is, in the strip below them. */
static void share_legend(struct orr_plot *plot, const struct orr_plot_table *table)
{
    const bool narrow = orr_plot__narrow(plot);
    orr_plot__gp(plot,
                 "unset title\nunset tics\nunset border\nunset grid\nunset ylabel\n"
                 "unset xlabel\nset label 91 when at screen 0.5,%.4f center%s\n"
                 "set lmargin at screen 0.02\nset rmargin at screen 0.98\n"
                 "set bmargin at screen 0.09\nset tmargin at screen 0.11\n"
                 "set key at screen 0.5,%.4f center %s horizontal maxcols %d\nset yrange [0:1]\n",
                 narrow ? share_strip(plot) - plot->line : 0.085, orr_plot__ink(plot),
                 narrow ? share_strip(plot) - 1.8 * plot->line : 0.033, narrow ? "top" : "center",
                 narrow ? 2 : 5);
    orr_plot__gp(
        plot,
        "plot -1 notitle, keyentry with boxes fc rgb '#8c8c8c' fs transparent solid 0.55 title "
        "'allocated', \\\n"
        "  keyentry with lines lw 1.2 lc rgb '#8c8c8c' title 'peak', \\\n"
        "  keyentry with lines lw 1.3 lc rgb '#202020' title 'fair share'");
    if (table->policy_shares) {
        orr_plot__gp(plot, ", \\\n  keyentry with lines lw 1.3 dt 3 lc rgb '#606060' title "
                           "'share by the policy'");
    }
    orr_plot__gp(plot, ", \\\n  keyentry with lines dt 2 lw 1.5 lc rgb '#b00020' title 'quota'\n");
}

static void share_panels(struct orr_plot *plot, const struct orr_plot_table *table,
                         const struct orr_plot_peaks *peaks)
{
    uint32_t count = table->slots.count;
    const bool narrow = orr_plot__narrow(plot);
    uint32_t columns = count <= 3 ? 1 : count <= 6 || narrow ? 2 : count <= 9 ? 3 : 4;
    uint32_t rows = (count + columns - 1) / columns;
    static const int tics[] = {8, 5, 4, 3};
    for (uint32_t s = 0; s < count; s++) {
        uint32_t row = s / columns, column = s % columns;
        const double below = 1 - (plot->title_lines + 1) * plot->line; /* the title */
        const double first = narrow || below < 0.90 ? below : 0.90;
        const double last = narrow ? share_strip(plot) : 0.115, begin = narrow ? 0.15 : 0.09;
        const double height = (first - last) / rows, width = (0.995 - begin) / columns;
        const double top = first - row * height, left = begin + column * width;
        orr_plot__gp(plot,
                     "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
                     "set tmargin at screen %.4f\nset bmargin at screen %.4f\n"
                     "set ylabel '%s' offset 1,0\n",
                     left,
                     left + width -
                         (narrow && columns > 1 ? 0.12
                          : columns > 1         ? 0.055
                                                : 0.02),
                     top - (narrow ? 1.6 * plot->line : 0.045),
                     top - height +
                         (narrow         ? 1.9 * plot->line
                          : columns == 1 ? 0.062
                                         : 0.055),
                     column == 0 ? "GPUs" : "");
        share_panel(plot, table, s, peaks, narrow && columns > 1 ? 2 : tics[columns - 1],
                    narrow && columns > 1 ? width - 0.1 : width);
    }
}

void orr_plot__share(struct orr_plot *plot)
{
    struct orr_plot_table table;
    bool dumb = plot->term == ORR_PLOT_DUMB;
    bool many = plot->queue_count > 6, few = plot->queue_count <= 3;
    /* Twelve panels fill the page: with more queues the twelfth is for the others. */
    uint32_t panels = dumb                                   ? 1
                      : plot->queue_count > ORR_PLOT_COLOURS ? ORR_PLOT_COLOURS - 1
                                                             : ORR_PLOT_COLOURS;
    bool any = orr_plot__table_open(plot, &table, panels, true);
    const bool tall = many && orr_plot__narrow(plot); /* two panels beside each other */
    orr_plot__start(plot, (struct orr_plot_size){many ? 1120 : 900,
                                                 tall   ? 1900
                                                 : many ? 720
                                                 : few  ? 560
                                                        : 640,
                                                 100, 30, false});
    char extra[120] = "";
    if (dumb && plot->queue_count > 0) {
        (void)snprintf(extra, sizeof extra, "queue %s", plot->queues[0].name);
    } else if (any && table.exact) {
        char length[24];
        (void)snprintf(extra, sizeof extra, "fair shares over %s, as recorded",
                       orr_format_rough(length, (double)plot->run.series_ms / 1000.0));
    }
    struct orr_plot_peaks peaks[ORR_PLOT_COLOURS + 1] = {0};
    if (any) {
        orr_plot__table_held(plot, &table, peaks);
    }
    orr_plot__means_over(plot, table.bucket_ms, "peaks");
    orr_plot__title(plot, dumb ? "Share of the largest queue" : "Quota, fair share and allocation",
                    extra[0] != '\0' ? extra : NULL);
    if (!any) {
        orr_plot__nothing(plot, "no job was submitted");
    } else if (dumb) {
        orr_plot__gp(plot, "set ylabel 'GPUs'\n");
        share_panel(plot, &table, 0, peaks, 8, 1);
    } else {
        orr_plot__gp(plot, "set multiplot title heading%s\nunset key\n", orr_plot__ink(plot));
        share_panels(plot, &table, peaks);
        orr_plot__time_axis(plot, table.from, table.to, 8, true);
        share_legend(plot, &table);
        orr_plot__gp(plot, "unset multiplot\n");
    }
    for (uint32_t s = 0; any && s < table.slots.count; s++) {
        orr_plot__peaks_close(&peaks[s]);
    }
    orr_plot__table_close(&table);
}

orr_ms orr_plot__busiest(struct orr_plot *plot)
{
    struct orr_plot_table table;
    orr_ms best_at = plot->run.zero + (plot->run.end - plot->run.zero) / 2;
    double best = -1;
    if (orr_plot__table_open(plot, &table, 1, true)) {
        double waits = orr_plot__stack_top(&table, ORR_PLOT_PENDING) + 1;
        double capacity = plot->run.capacity_gpus > 0 ? plot->run.capacity_gpus : 1;
        for (uint32_t b = 0; b < table.buckets; b++) {
            /* Use in steps of 2 %, then how much waits. */
            double score =
                (double)(int64_t)(50 * orr_plot__total(&table, ORR_PLOT_ALLOCATED, b) / capacity) +
                0.9 * orr_plot__total(&table, ORR_PLOT_PENDING, b) / waits;
            if (score > best) {
                best = score;
                best_at = table.from + (orr_ms)b * table.bucket_ms + table.bucket_ms / 2;
            }
        }
    }
    orr_plot__table_close(&table);
    return best_at;
}
