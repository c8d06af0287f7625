/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_fairness.c - figures of what queues got against what was theirs: fairness and debt.
 *
 * Fairness comes from the means of `series`, so a distance that changes sign within one of its
 * buckets is smoothed; the numbers in the title are those of the summary, which are exact.
 */
#include "plot_int.h"
#include "plots_sql.h"

#include <math.h>

static double metric(struct orr_plot *plot, const char *sql)
{
    double value = (double)NAN;
    sqlite3_stmt *row = orr_results_prepare(&plot->in, sql);
    while (orr_results_step(&plot->in, row)) {
        if (sqlite3_column_type(row, 0) != SQLITE_NULL) {
            value = sqlite3_column_double(row, 0);
        }
    }
    return value;
}

static uint32_t jain_rows(struct orr_plot *plot, const struct orr_plot_table *table)
{
    uint32_t block = orr_plot__block(plot, "seconds, Jain's index");
    for (uint32_t b = 0; b < table->buckets; b++) {
        double jain = orr_plot__jain(table, b);
        for (int side = 0; side < 2; side++) {
            orr_plot__row(plot, isnan(jain) ? "%.3f NaN\n" : "%.3f %.6g\n",
                          orr_plot__edge(plot, table, b, side), jain);
        }
    }
    return block;
}

static void deviation_plot(struct orr_plot *plot, const struct orr_plot_table *table)
{
    uint32_t over = orr_plot__stack_rows(plot, table, ORR_PLOT_OVER, false);
    uint32_t under = orr_plot__stack_rows(plot, table, ORR_PLOT_UNDER, true);
    double above = orr_plot__stack_top(table, ORR_PLOT_OVER);
    double below = orr_plot__stack_top(table, ORR_PLOT_UNDER);
    double most = above > below ? above : below;
    double least = plot->run.capacity_gpus / 50; /* what is next to nothing looks like it */
    most = most > least ? most : least;
    orr_plot__ylabel(plot, "GPUs above share", orr_plot__panel_height(plot));
    orr_plot__panel_y(plot, most, true);
    orr_plot__stack_plot(plot, table, over, false);
    for (uint32_t s = 0; s < table->slots.count; s++) {
        orr_plot__gp(plot, ", \\\n  ");
        orr_plot__data(plot, under);
        orr_plot__between(plot, table->bucket_ms, s + 2);
        orr_plot__gp(plot, "fc rgb '%s' notitle", orr_plot__colour(s, table->slots.shown));
    }
    orr_plot__gp(plot, ", \\\n  0 with lines lw 1 lc rgb '#404040' notitle");
}

static void deviation_text(struct orr_plot *plot, const struct orr_plot_table *table)
{
    uint32_t lines = table->slots.shown < 3 ? table->slots.shown : 3;
    uint32_t block = orr_plot__block(plot, "seconds, GPUs above fair share of the largest queues");
    for (uint32_t b = 0; b < table->buckets; b++) {
        orr_plot__row(plot, "%.3f", orr_plot__edge(plot, table, b, 0));
        for (uint32_t s = 0; s < lines; s++) {
            orr_plot__row(plot, " %.6g",
                          *orr_plot__cell(table, ORR_PLOT_OVER, s, b) -
                              *orr_plot__cell(table, ORR_PLOT_UNDER, s, b));
        }
        orr_plot__row(plot, "\n");
    }
    orr_plot__gp(plot, "set ylabel 'GPUs'\nset yrange [*:*]\n");
    for (uint32_t s = 0; s < lines; s++) {
        orr_plot__gp(plot, s == 0 ? "plot " : ", ");
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:%u with lines title ", s + 2);
        orr_plot__slot_name(plot, table->slots, s, NULL);
    }
}

static void fairness_panels(struct orr_plot *plot, const struct orr_plot_table *table)
{
    bool dumb = plot->term == ORR_PLOT_DUMB;
    uint32_t jain = jain_rows(plot, table);
    orr_plot__panel_above(plot, table->slots.count, orr_plot__slots_letters(plot, table->slots));
    orr_plot__time_axis(plot, table->from, table->to, 8, false);
    orr_plot__window_marks(plot, table->from, table->to);
    double least = 1; /* the axis begins at the tenth below it */
    for (uint32_t b = 0; b < table->buckets; b++) {
        const double index = orr_plot__jain(table, b);
        least = index < least ? index : least;
    }
    least = floor(10 * least - 1e-9) / 10;
    orr_plot__ylabel(plot, "Jain index", orr_plot__panel_height(plot));
    orr_plot__gp(plot, "set yrange [%.1f:%.9g]\n%splot ", least, 1 + 0.04 * (1 - least),
                 orr_plot__narrow(plot) && least < 0.5 ? "set ytics 0.2\n" : "");
    orr_plot__data(plot, jain);
    orr_plot__gp(plot, "using 1:2 with lines %s notitle", dumb ? "" : "lw 1.4 lc rgb '#202020'");
    orr_plot__panel_below(plot);
    orr_plot__time_axis(plot, table->from, table->to, 8, true);
    if (dumb) {
        deviation_text(plot, table);
    } else {
        deviation_plot(plot, table);
        orr_plot__panel_legend(plot, "queue");
        orr_plot__slot_keys(plot, table->slots);
    }
    orr_plot__panel_close(plot);
}

void orr_plot__fairness(struct orr_plot *plot)
{
    struct orr_plot_table table;
    char extra[120] = "";
    bool any = orr_plot__table_open(plot, &table, 10, false);
    double jain = metric(plot, orr_plots_sql__jain);
    double off = metric(plot, orr_plots_sql__share_deviation);
    if (!isnan(jain) && !isnan(off)) {
        (void)snprintf(extra, sizeof extra, "Jain %.3f, share deviation %.3f in the %swindow", jain,
                       off, orr_plot__is_part(plot) ? "whole " : "");
    }
    orr_plot__start(plot, orr_plot__panels_size(plot, 600, true));
    orr_plot__means_over(plot, table.bucket_ms, NULL);
    plot->recorded = orr_plot__is_part(plot);
    orr_plot__title(plot,
                    plot->term == ORR_PLOT_DUMB
                        ? "Fairness: Jain index (above), GPUs above fair share"
                        : "Fairness: allocation against fair share",
                    extra[0] != '\0' ? extra : NULL);
    if (!any) {
        orr_plot__nothing(plot, "no job was submitted");
    } else {
        fairness_panels(plot, &table);
    }
    orr_plot__table_close(&table);
}

/* GPU-hours owed in the window so far, at the end of each bucket: the last is the metric's. */
static void debt_sum(struct orr_plot_table *table)
{
    for (uint32_t s = 0; s < table->slots.count; s++) {
        double sum = 0;
        for (uint32_t b = 0; b < table->buckets; b++) {
            sum += *orr_plot__cell(table, ORR_PLOT_DEBT_COUNTED, s, b) / 3600000.0;
            *orr_plot__cell(table, ORR_PLOT_DEBT, s, b) = sum;
        }
    }
}

static void debt_panel(struct orr_plot *plot, const struct orr_plot_table *table, const char *label,
                       double top)
{
    orr_plot__ylabel(plot, label, orr_plot__panel_height(plot));
    orr_plot__panel_y(plot, top, false);
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__text_lines(plot, table, ORR_PLOT_DEBT);
    } else {
        uint32_t block = orr_plot__stack_rows(plot, table, ORR_PLOT_DEBT, false);
        orr_plot__stack_plot(plot, table, block, false);
    }
}

static void debt_panels(struct orr_plot *plot, struct orr_plot_table *table,
                        const struct orr_plot_peaks *peaks)
{
    bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_plot__panel_above(plot, table->slots.count + 1,
                          orr_plot__slots_letters(plot, table->slots));
    orr_plot__time_axis(plot, table->from, table->to, 8, false);
    orr_plot__window_marks(plot, table->from, table->to);
    const uint32_t most = dumb ? 0 : orr_plot__peaks_rows(plot, peaks);
    debt_panel(plot, table, "GPUs not held",
               dumb ? orr_plot__stack_top(table, ORR_PLOT_DEBT) : peaks->top);
    if (!dumb) {
        orr_plot__peaks_plot(plot, most, false);
    }
    debt_sum(table);
    orr_plot__panel_below(plot);
    orr_plot__time_axis(plot, table->from, table->to, 8, true);
    debt_panel(plot, table, dumb ? "GPU-h, sum" : "GPU-h in the window",
               orr_plot__stack_top(table, ORR_PLOT_DEBT));
    if (!dumb) {
        orr_plot__panel_legend(plot, "queue");
        orr_plot__gp(plot, ", \\\n  keyentry with lines lw 1.2 lc rgb '#404040' title 'peak'");
        orr_plot__slot_keys(plot, table->slots);
    }
    orr_plot__panel_close(plot);
}

/* GPU-hours that were owed in the window, as far as it is drawn. */
static double debt_of(struct orr_plot *plot, const struct orr_plot_table *table)
{
    double sum = 0;
    if (!orr_plot__is_part(plot)) {
        return metric(plot, orr_plots_sql__quota_debt);
    }
    for (uint32_t b = 0; b < table->buckets; b++) {
        sum += orr_plot__total(table, ORR_PLOT_DEBT_COUNTED, b) / 3600000.0;
    }
    return sum;
}

void orr_plot__debt(struct orr_plot *plot)
{
    struct orr_plot_table table;
    char extra[80] = "";
    bool any = orr_plot__table_open(plot, &table, 10, true);
    struct orr_plot_peaks peaks = {0};
    if (any) {
        orr_plot__peaks_open(&peaks, table.from, table.to, table.bucket_ms);
        orr_plot__table_debts(plot, &table, &peaks);
    }
    bool quotas = false;
    for (uint32_t i = 0; i < plot->queue_count; i++) {
        quotas = quotas || plot->queues[i].quota_gpus > 0;
    }
    double debt = any ? debt_of(plot, &table) : (double)NAN;
    if (!isnan(debt)) {
        (void)snprintf(extra, sizeof extra,
                       debt < 1000 ? "%.3g GPU-h in %s window" : "%.0f GPU-h in %s window", debt,
                       orr_plot__is_part(plot) ? "this part of the" : "the");
    }
    orr_plot__start(plot, orr_plot__panels_size(plot, 560, true));
    orr_plot__means_over(plot, table.bucket_ms, "peaks");
    orr_plot__title(plot,
                    plot->term == ORR_PLOT_DUMB
                        ? "Quota debt: GPUs at the time (above), GPU-hours in the window so far"
                        : "Quota debt: asked for within the quota and not held",
                    extra[0] != '\0' ? extra : NULL);
    if (!any) {
        orr_plot__nothing(plot, "no job was submitted");
    } else if (!quotas) {
        orr_plot__nothing(plot, "no queue has a quota of GPUs");
    } else if (orr_plot__stack_top(&table, ORR_PLOT_DEBT) <= 0) {
        orr_plot__nothing(plot, "no queue waited while it held less than its quota");
    } else {
        debt_panels(plot, &table, &peaks);
    }
    orr_plot__peaks_close(&peaks);
    orr_plot__table_close(&table);
}
