/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_churn.c - figures by cause and reason: churn and reasons. */
#include "plot_int.h"
#include "plots_sql.h"

#include <string.h>

#include <orrery/base/text.h>

#define MOST_BARS    160
#define MOST_STEPS   400
#define DUMB_BUCKETS 80

static uint32_t buckets_of(const struct orr_plot *plot, uint32_t most)
{
    return plot->term == ORR_PLOT_DUMB ? DUMB_BUCKETS : most;
}

/* Layers of both panels have the same order and so the same colours. */
struct orr_plot_churn orr_plot__churn_load(struct orr_plot *plot, struct orr_plot_layers *evictions,
                                           struct orr_plot_layers *lost)
{
    const orr_ms from = evictions->from, to = evictions->to;
    struct orr_plot_churn counts = {0, 0};
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__causes);
    while (orr_results_step(&plot->in, row)) {
        (void)orr_plot__layer(evictions, orr_results_text(&plot->in, row, 0));
        (void)orr_plot__layer(lost, orr_results_text(&plot->in, row, 0));
    }
    /* What was evicted in the last moments is gone only after the run: its loss counts at the end.
     */
    row = orr_results_prepare(&plot->in, orr_plots_sql__evictions);
    while (orr_results_step(&plot->in, row)) {
        const uint32_t layer = orr_plot__layer(evictions, orr_results_text(&plot->in, row, 0));
        const uint32_t same = orr_plot__layer(lost, orr_results_text(&plot->in, row, 0));
        const double cut = sqlite3_column_double(row, 4), parts = sqlite3_column_double(row, 5);
        orr_plot__layers_count(lost, same, sqlite3_column_int64(row, 2),
                               sqlite3_column_double(row, 3));
        orr_plot__layers_count(evictions, layer, sqlite3_column_int64(row, 1), cut + parts);
        if (sqlite3_column_int64(row, 1) >= from && sqlite3_column_int64(row, 1) < to) {
            counts.cut += cut;
            counts.parts += parts;
        }
    }
    return counts;
}

static void churn_panels(struct orr_plot *plot, struct orr_plot_layers *evictions,
                         struct orr_plot_layers *lost)
{
    bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_plot__layers_means(evictions, 3600000);
    orr_plot__layers_sum(lost);
    orr_plot__panel_above(plot, evictions->count, 14);
    orr_plot__time_axis(plot, evictions->from, evictions->to, 8, false);
    orr_plot__window_marks(plot, evictions->from, evictions->to);
    orr_plot__ylabel(plot, "evictions per hour", orr_plot__panel_height(plot));
    orr_plot__panel_counts(plot, orr_plot__layers_top(evictions));
    orr_plot__layers_plot(plot, evictions, false);
    orr_plot__panel_below(plot);
    orr_plot__time_axis(plot, lost->from, lost->to, 8, true);
    double top = orr_plot__layers_top(lost);
    orr_plot__ylabel(plot, "GPU-hours lost", orr_plot__panel_height(plot));
    orr_plot__panel_y(plot, top, false);
    orr_plot__layers_plot(plot, lost, dumb);
    if (!dumb) {
        orr_plot__panel_legend(plot, "cause");
        orr_plot__layers_keys(plot, evictions);
    }
    orr_plot__panel_close(plot);
}

void orr_plot__churn(struct orr_plot *plot)
{
    struct orr_plot_layers evictions, lost;
    orr_ms from = 0, to = 0;
    orr_plot__span(plot, &from, &to);
    orr_plot__layers_open(&evictions, from, to, buckets_of(plot, MOST_BARS));
    orr_plot__layers_open(&lost, from, to, buckets_of(plot, MOST_STEPS));
    const struct orr_plot_churn counts = orr_plot__churn_load(plot, &evictions, &lost);
    const double count = counts.cut + counts.parts;
    double gpu_h = 0;
    char length[24], parts[40] = "", extra[160];
    for (uint32_t i = 0; i < lost.count; i++) {
        gpu_h += lost.totals[i];
    }
    if (counts.parts > 0) {
        (void)snprintf(parts, sizeof parts, " and %.0f of some pods", counts.parts);
    }
    (void)snprintf(extra, sizeof extra, "%.0f eviction%s%s, %.*f GPU-h lost; bars of %s",
                   counts.cut, ORR_PLURAL(counts.cut), parts, gpu_h < 100 ? 1 : 0, gpu_h,
                   orr_format_rough(length, (double)evictions.bucket_ms / 1000.0));
    orr_plot__start(plot, orr_plot__panels_size(plot, 560, false));
    orr_plot__title(plot,
                    plot->term == ORR_PLOT_DUMB
                        ? "Evictions per hour (above), GPU-hours lost so far"
                        : "Evictions and what they cost, by cause",
                    count > 0 ? extra : NULL);
    if (count > 0) {
        churn_panels(plot, &evictions, &lost);
    } else {
        orr_plot__nothing(plot, "nothing was evicted");
    }
    orr_plot__layers_close(&evictions);
    orr_plot__layers_close(&lost);
}

static void reasons_load(struct orr_plot *plot, struct orr_plot_layers *layers,
                         struct orr_plot_changes *changes)
{
    /* By what they amount to, so that the largest are at the bottom and the rest share a layer. */
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__reasons);
    while (orr_results_step(&plot->in, row)) {
        uint32_t layer = orr_plot__layer(layers, orr_results_text(&plot->in, row, 0));
        const orr_ms from = sqlite3_column_int64(row, 1), to = sqlite3_column_int64(row, 2);
        const double gpus = sqlite3_column_double(row, 3) / ORR_MGPU;
        orr_plot__layers_spread(layers, layer, from, to, gpus);
        orr_plot__change(changes, from, gpus);
        orr_plot__change(changes, to, -gpus);
    }
}

void orr_plot__reasons(struct orr_plot *plot)
{
    struct orr_plot_layers layers;
    bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_ms from = 0, to = 0;
    orr_plot__span(plot, &from, &to);
    orr_plot__layers_open(&layers, from, to, buckets_of(plot, MOST_STEPS));
    struct orr_plot_changes changes = {0};
    struct orr_plot_peaks peaks;
    reasons_load(plot, &layers, &changes);
    orr_plot__peaks_open(&peaks, layers.from, layers.to, layers.bucket_ms);
    orr_plot__peaks_sum(&peaks, &changes);
    orr_plot__layers_means(&layers, 1);
    const double top = dumb ? orr_plot__layers_top(&layers) : peaks.top;
    orr_plot__start(plot, (struct orr_plot_size){1000, 500, 100, 30, false});
    char extra[60];
    const char *nevers = orr_plot__nevers(plot, "without", extra);
    orr_plot__means_over(plot, layers.bucket_ms, "peaks");
    orr_plot__title(plot, "What waits and why", nevers);
    if (top <= 0) {
        orr_plot__nothing(plot, "no job waited");
        orr_plot__peaks_close(&peaks);
        orr_plot__layers_close(&layers);
        return;
    }
    double capacity = plot->run.capacity_gpus;
    bool near = capacity < top * 4;
    orr_plot__time_axis(plot, from, to, 8, true);
    orr_plot__window_marks(plot, from, to);
    orr_plot__gp(plot, "set ylabel 'GPUs that waiting jobs ask for'\nset yrange [0:%.9g]\n",
                 (near && capacity > top ? capacity : top) * 1.06 + 1e-6);
    uint32_t letters = 8;
    for (uint32_t i = 0; i < layers.count; i++) {
        const uint32_t length = (uint32_t)strlen(layers.names[i]);
        letters = length > letters ? length : letters;
    }
    orr_plot__legend(plot, "reason", layers.count + near + 1, letters, true);
    orr_plot__layers_plot(plot, &layers, true);
    if (!dumb) {
        orr_plot__peaks_plot(plot, orr_plot__peaks_rows(plot, &peaks), true);
    }
    if (near) {
        orr_plot__gp(plot, ", \\\n  %.9g with lines %s title 'capacity'", capacity,
                     dumb ? "" : "dt 2 lw 1.6 lc rgb '#000000'");
    }
    orr_plot__gp(plot, "\n");
    orr_plot__peaks_close(&peaks);
    orr_plot__layers_close(&layers);
}

#define PANEL_HEIGHT 150 /* pixels of one of several runs */

/* A layer has one place and colour in all runs: what is waited for most in all of them first. */
static void reasons_layers(struct orr_plot *to, struct orr_plot *runs,
                           struct orr_plot_layers *layers)
{
    struct orr_plot_layers all;
    orr_ms from = 0, end = 0;
    orr_plot__span(to, &from, &end);
    const uint32_t most = buckets_of(to, MOST_STEPS);
    orr_plot__layers_open(&all, from, end, 1);
    for (uint32_t i = 0; i < to->among; i++) {
        struct orr_plot_changes changes = {0};
        reasons_load(&runs[i], &all, &changes);
        orr_free(changes.items);
    }
    for (uint32_t i = 0; i < to->among; i++) {
        struct orr_plot_changes changes = {0};
        orr_plot__layers_open(&layers[i], from, end, most);
        for (uint32_t taken = 0; taken < all.count; taken++) {
            uint32_t next = ORR_NONE;
            for (uint32_t l = 0; l < all.count; l++) {
                if (all.totals[l] >= 0 && (next == ORR_NONE || all.totals[l] > all.totals[next])) {
                    next = l;
                }
            }
            (void)orr_plot__layer(&layers[i], all.names[next]);
            all.totals[next] = -1 - all.totals[next]; /* taken */
        }
        for (uint32_t l = 0; l < all.count; l++) {
            all.totals[l] = -1 - all.totals[l];
        }
        reasons_load(&runs[i], &layers[i], &changes);
        orr_free(changes.items);
        orr_plot__layers_means(&layers[i], 1);
    }
    orr_plot__layers_close(&all);
}

static void reasons_panels(struct orr_plot *to, struct orr_plot *runs,
                           const struct orr_plot_layers *layers, double top)
{
    const bool dumb = to->term == ORR_PLOT_DUMB;
    const uint32_t count = to->among;
    uint32_t letters = 8;
    for (uint32_t i = 0; i < layers->count; i++) {
        const uint32_t length = (uint32_t)strlen(layers->names[i]);
        letters = length > letters ? length : letters;
    }
    orr_plot__panel_above(to, layers->count, letters);
    const double first = 1 - (to->title_lines + 1.1) * to->line;
    const double last = (orr_plot__narrow(to) ? to->legend_top : 0) + 4.2 * to->line;
    orr_plot__panel_y(to, top, false);
    for (uint32_t i = 0; i < count; i++) {
        const double height = (first - last) / count, upper = first - i * height;
        orr_plot__time_axis(to, layers[i].from, layers[i].to, 8, i + 1 == count);
        if (dumb) {
            orr_plot__gp(to, "set size 1,%.4f\nset origin 0,%.4f\nset ylabel ''\n%s", 0.9 / count,
                         0.9 - 0.9 * (i + 1.0) / count,
                         i + 1 == count ? "set key bottom outside center horizontal\n" : "");
        } else {
            orr_plot__gp(to, "set tmargin at screen %.4f\nset bmargin at screen %.4f\n",
                         upper - 2.1 * to->line, upper - height + 0.9 * to->line);
        }
        orr_plot__gp(to, i > 0 ? "unset label 92\n" : "");
        orr_plot__gp(to, "set label 92 ");
        orr_plot__name(to, runs[i].label);
        orr_plot__gp(to, " at graph %s left front%s\n", dumb ? "0.03,0.85" : "0,1 offset 0.5,0.6",
                     orr_plot__ink(to));
        if (i > 0) {
            orr_plot__gp(to, "unset title\n");
        }
        orr_plot__layers_plot(to, &layers[i], dumb && i + 1 == count);
        orr_plot__gp(to, "\n");
    }
    if (!dumb) {
        orr_plot__gp(to, "unset label 92\n");
        orr_plot__panel_legend(to, "reason");
        orr_plot__layers_keys(to, layers);
    }
    orr_plot__panel_close(to);
}

void orr_plot__runs_reasons(struct orr_plot *to, struct orr_plot *runs)
{
    struct orr_plot_layers *layers = orr_zalloc(to->among, sizeof *layers);
    double top = 0;
    reasons_layers(to, runs, layers);
    for (uint32_t i = 0; i < to->among; i++) {
        const double one = orr_plot__layers_top(&layers[i]);
        top = one > top ? one : top;
    }
    orr_plot__start(to, (struct orr_plot_size){900, 140 + PANEL_HEIGHT * (int)to->among, 100,
                                               8 + 12 * (int)to->among, false});
    orr_plot__means_over(to, layers[0].bucket_ms, NULL);
    orr_plot__title(to, "GPUs that waiting jobs ask for, and why they wait", NULL);
    if (top <= 0) {
        orr_plot__nothing(to, "no job waited");
    } else {
        reasons_panels(to, runs, layers, top);
    }
    for (uint32_t i = 0; i < to->among; i++) {
        orr_plot__layers_close(&layers[i]);
    }
    orr_free(layers);
}
