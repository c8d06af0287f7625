/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_peaks.c - what means over buckets hide: the most there was at any moment of each bucket,
 * from each change to the next. */
#include "plot_int.h"

#include <orrery/base/sort.h>

/* Nothing is more than `value` from `from` to `to`: the buckets it touches hold at least that. */
void orr_plot__peak(struct orr_plot_peaks *peaks, orr_ms from, orr_ms to, double value)
{
    from = from > peaks->from ? from : peaks->from;
    to = to < peaks->to ? to : peaks->to;
    for (; from < to;
         from = peaks->from + ((from - peaks->from) / peaks->bucket_ms + 1) * peaks->bucket_ms) {
        double *most = &peaks->most[(from - peaks->from) / peaks->bucket_ms];
        *most = value > *most ? value : *most;
        peaks->top = value > peaks->top ? value : peaks->top;
    }
}

void orr_plot__peaks_open(struct orr_plot_peaks *peaks, orr_ms from, orr_ms to, orr_ms bucket_ms)
{
    *peaks = (struct orr_plot_peaks){.from = from, .to = to, .bucket_ms = bucket_ms};
    peaks->buckets = (uint32_t)((to - from + bucket_ms - 1) / bucket_ms);
    peaks->most = orr_zalloc((size_t)peaks->buckets + 1, sizeof *peaks->most);
}

void orr_plot__peaks_load(struct orr_plot *plot, struct orr_plot_peaks *peaks, const char *sql)
{
    orr_ms since = INT64_MIN;
    double value = 0;
    sqlite3_stmt *row = orr_results_prepare(&plot->in, sql);
    while (orr_results_step(&plot->in, row)) {
        const orr_ms at = sqlite3_column_int64(row, 0);
        orr_plot__peak(peaks, since, at, value);
        since = at;
        value = sqlite3_column_double(row, 1);
    }
    orr_plot__peak(peaks, since, peaks->to, value);
}

void orr_plot__change(struct orr_plot_changes *changes, orr_ms at, double by)
{
    changes->items = ORR_ROOM_FOR_ONE(changes->items, changes->count, changes->capacity);
    changes->items[changes->count++] = (struct orr_plot_change){at, by};
}

static int by_time(const void *a, const void *b, void *context)
{
    const struct orr_plot_change *x = a, *y = b;
    (void)context;
    return (x->at > y->at) - (x->at < y->at);
}

void orr_plot__peaks_sum(struct orr_plot_peaks *peaks, struct orr_plot_changes *changes)
{
    double value = 0;
    if (changes->count > 0) {
        orr_sort(changes->items, changes->count, sizeof *changes->items, by_time, NULL);
    }
    for (uint32_t i = 0; i < changes->count; i++) {
        const bool last = i + 1 == changes->count;
        value += changes->items[i].by;
        orr_plot__peak(peaks, changes->items[i].at, last ? peaks->to : changes->items[i + 1].at,
                       value);
    }
    orr_free(changes->items);
    *changes = (struct orr_plot_changes){0};
}

uint32_t orr_plot__peaks_rows(struct orr_plot *plot, const struct orr_plot_peaks *peaks)
{
    const uint32_t block = orr_plot__block(plot, "seconds, the most at any moment of the bucket");
    for (uint32_t b = 0; b < peaks->buckets; b++) {
        for (int side = 0; side < 2; side++) {
            const orr_ms at = peaks->from + ((orr_ms)b + side) * peaks->bucket_ms;
            orr_plot__row(plot, "%.3f %.6g\n", orr_plot__x(plot, at < peaks->to ? at : peaks->to),
                          peaks->most[b]);
        }
    }
    return block;
}

void orr_plot__peaks_plot(struct orr_plot *plot, uint32_t block, bool names)
{
    orr_plot__gp(plot, ", \\\n  ");
    orr_plot__data(plot, block);
    orr_plot__gp(plot, "using 1:2 with lines lw 0.6 lc rgb '#404040' %s",
                 names ? "title 'peak'" : "notitle");
}

void orr_plot__peaks_close(struct orr_plot_peaks *peaks)
{
    orr_free(peaks->most);
}
