/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_db.c - what every figure needs of the results file: the run and its queues. */
#include "plot_int.h"
#include "plots_sql.h"

#include <orrery/analysis/names.h>
#include <orrery/base/sort.h>

static void load_run(struct orr_plot *plot)
{
    struct orr_plot_source *run = &plot->run;
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__run);
    while (orr_results_step(&plot->in, row)) {
        run->name = orr_results_text(&plot->in, row, 0);
        run->policy = orr_results_text(&plot->in, row, 1);
        run->status = orr_results_text(&plot->in, row, 2);
        run->origin =
            sqlite3_column_type(row, 3) == SQLITE_NULL ? ORR_MS_NONE : sqlite3_column_int64(row, 3);
        run->window_start = sqlite3_column_int64(row, 4);
        run->window_end = sqlite3_column_int64(row, 5);
        run->end = sqlite3_column_int64(row, 6);
        run->capacity_gpus = sqlite3_column_double(row, 7) / ORR_MGPU;
        run->series_ms = sqlite3_column_int64(row, 8);
        run->begin = sqlite3_column_int64(row, 9);
        run->jobs = sqlite3_column_int64(row, 10);
    }
    run->series_ms = run->series_ms > 0 ? run->series_ms : 1;
    run->zero = run->begin >= 0 && run->begin < run->end / 20 ? 0 : run->begin;
    run->took_no_time = run->end <= run->begin;
    run->end = run->end > run->zero ? run->end : run->zero + 1;
}

static int by_queue_id(const void *a, const void *b, void *context)
{
    const struct orr_plot_queue *queues = context;
    int64_t ida = queues[*(const uint32_t *)a].id, idb = queues[*(const uint32_t *)b].id;
    return (ida > idb) - (ida < idb);
}

static void shorten_names(struct orr_plot *plot)
{
    const char **names = orr_alloc((size_t)plot->queue_count + 1, sizeof *names);
    for (uint32_t q = 0; q < plot->queue_count; q++) {
        names[q] = plot->queues[q].whole;
    }
    const char **shorts = orr_short_names(&plot->in.arena, names, plot->queue_count, ORR_PLOT_NAME);
    for (uint32_t q = 0; q < plot->queue_count; q++) {
        plot->queues[q].name = shorts[q];
    }
    orr_free(names);
}

static void load_queues(struct orr_plot *plot)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__queues);
    uint32_t room = 0;
    while (orr_results_step(&plot->in, row)) {
        plot->queues = ORR_ROOM_FOR_ONE(plot->queues, plot->queue_count, room);
        plot->queues[plot->queue_count++] = (struct orr_plot_queue){
            .id = sqlite3_column_int64(row, 0),
            .whole = orr_results_text(&plot->in, row, 1),
            .quota_gpus = sqlite3_column_double(row, 2),
        };
    }
    shorten_names(plot);
    plot->by_id = orr_alloc((size_t)plot->queue_count + 1, sizeof *plot->by_id);
    for (uint32_t i = 0; i < plot->queue_count; i++) {
        plot->by_id[i] = i;
    }
    orr_sort(plot->by_id, plot->queue_count, sizeof *plot->by_id, by_queue_id, plot->queues);
}

uint32_t orr_plot__rank(const struct orr_plot *plot, int64_t queue_id)
{
    uint32_t low = 0, high = plot->queue_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t id = plot->queues[plot->by_id[middle]].id;
        if (id == queue_id) {
            return plot->by_id[middle];
        }
        if (id < queue_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ORR_NONE;
}

const char *orr_plot__nevers(struct orr_plot *plot, const char *with, char out[60])
{
    orr_ms from = 0, to = 0;
    orr_plot__span(plot, &from, &to);
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__nevers);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, from);
        (void)sqlite3_bind_int64(row, 2, to);
        (void)sqlite3_bind_int(row, 3, orr_plot__is_part(plot));
    }
    long long count = 0;
    while (orr_results_step(&plot->in, row)) {
        count = (long long)sqlite3_column_int64(row, 0);
    }
    (void)snprintf(out, 60, "%s %lld that never could start", with, count);
    return count > 0 ? out : NULL;
}

void orr_plot__open(struct orr_plot *plot)
{
    load_run(plot);
    load_queues(plot);
}

void orr_plot__close(struct orr_plot *plot)
{
    orr_plot__series_close(plot);
    orr_plot__lanes_close(plot);
    orr_free(plot->by_id);
    orr_free(plot->queues);
}
