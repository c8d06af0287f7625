/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_qq.c - simulated against recorded waits, quantile by quantile. */
#include "plot_int.h"
#include "plots_sql.h"

#include <stdlib.h>

#include <orrery/base/sort.h>

enum { QUANTILES = 100, QUEUES = 6 };

struct waits { /* of one queue, or of all jobs; ms */
    int64_t *recorded, *simulated;
    uint32_t count, capacity;
};

static void add(struct waits *waits, int64_t recorded, int64_t simulated)
{
    if (waits->count == waits->capacity) {
        waits->capacity = (uint32_t)orr_grow(waits->capacity, (size_t)waits->count + 1);
        waits->recorded = orr_realloc(waits->recorded, waits->capacity, sizeof *waits->recorded);
        waits->simulated = orr_realloc(waits->simulated, waits->capacity, sizeof *waits->simulated);
    }
    waits->recorded[waits->count] = recorded;
    waits->simulated[waits->count++] = simulated;
}

static void read_waits(struct orr_plot *plot, struct waits *all, struct waits *queues,
                       uint32_t shown)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__recorded_waits);
    while (orr_results_step(&plot->in, row)) {
        const uint32_t rank = orr_plot__rank(plot, sqlite3_column_int64(row, 0));
        const int64_t recorded = sqlite3_column_int64(row, 1);
        const int64_t simulated = sqlite3_column_int64(row, 2);
        add(all, recorded < 0 ? 0 : recorded, simulated);
        if (rank < shown) {
            add(&queues[rank], recorded < 0 ? 0 : recorded, simulated);
        }
    }
}

/* Waits of 0 lie on the line that stands for it. */
static double shown_s(int64_t ms, double zero)
{
    return ms <= 0 ? zero : (double)ms / 1000.0;
}

static uint32_t write_curve(struct orr_plot *plot, struct waits *waits, const char *name)
{
    const uint32_t block = orr_plot__block(plot, name);
    orr_sort_i64(waits->recorded, waits->count);
    orr_sort_i64(waits->simulated, waits->count);
    const uint32_t points = waits->count < QUANTILES ? waits->count : QUANTILES;
    for (uint32_t q = 0; q < points; q++) {
        const uint32_t at = (uint32_t)(((uint64_t)waits->count * (2 * q + 1)) / (2 * points));
        orr_plot__row(plot, "%.3f %.3f\n", shown_s(waits->recorded[at], 1.0 / 3),
                      shown_s(waits->simulated[at], 1.0 / 3));
    }
    return block;
}

/* Of the longest entry of the legend. */
static uint32_t letters_of(const struct orr_plot *plot, uint32_t shown)
{
    return orr_plot__slots_letters(plot, (struct orr_plot_slots){.shown = shown, .count = shown});
}

void orr_plot__qq(struct orr_plot *plot)
{
    struct waits all = {0}, queues[QUEUES] = {{0}};
    const uint32_t shown = plot->queue_count < 2        ? 0
                           : plot->queue_count < QUEUES ? plot->queue_count
                                                        : QUEUES;
    const bool dumb = plot->term == ORR_PLOT_DUMB;
    read_waits(plot, &all, queues, shown);
    orr_plot__start(plot, (struct orr_plot_size){760, 620, 100, 34, false});
    char extra[60];
    (void)snprintf(extra, sizeof extra, "each point one of up to %d quantiles", QUANTILES);
    orr_plot__title(plot, "Simulated against recorded waits", extra);
    if (all.count == 0) {
        orr_plot__nothing(plot, "the trace of this run recorded no starts");
    } else {
        const uint32_t block = write_curve(plot, &all, "all");
        double highest = 10;
        for (uint32_t i = 0; i < all.count; i++) {
            const int64_t most =
                all.recorded[i] > all.simulated[i] ? all.recorded[i] : all.simulated[i];
            highest = (double)most / 1000.0 > highest ? (double)most / 1000.0 : highest;
        }
        uint32_t blocks[QUEUES] = {0};
        for (uint32_t q = 0; q < shown; q++) {
            blocks[q] = write_curve(plot, &queues[q], "queue");
        }
        orr_plot__wait_axis(plot, 'x', 1, highest);
        orr_plot__wait_axis(plot, 'y', 1, highest);
        orr_plot__legend(plot, "queue", shown + 2, letters_of(plot, shown), false);
        orr_plot__gp(plot, "set xlabel 'recorded wait'\nset ylabel 'simulated wait'\nset grid\n"
                           "plot x with lines dt 2 lc rgb '#606060' title 'equal'");
        for (uint32_t q = 0; q < shown; q++) {
            if (queues[q].count > 0) {
                orr_plot__gp(plot, ", \\\n  ");
                orr_plot__data(plot, blocks[q]);
                /* on a terminal the kind of point is a letter: all jobs are A */
                orr_plot__gp(plot, "using 1:2 with points pt %u ps 0.6 lc rgb '%s' title ",
                             dumb ? q + 2 : 7, orr_plot__colour(q, shown));
                orr_plot__name(plot, plot->queues[q].name);
            }
        }
        orr_plot__gp(plot, ", \\\n  ");
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:2 with points pt %d ps 0.9 lc rgb '#202020' title 'all jobs'\n",
                     dumb ? 1 : 6);
    }
    for (uint32_t q = 0; q < QUEUES; q++) {
        orr_free(queues[q].recorded);
        orr_free(queues[q].simulated);
    }
    orr_free(all.recorded);
    orr_free(all.simulated);
}
