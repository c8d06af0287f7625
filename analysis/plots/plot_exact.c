/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_exact.c - the table of a part of the run, made from each change and not from `series`.
 *
 * The buckets of `series` are as long as the whole run needs. A part of it has shorter ones, over
 * which what queues held, waited for and were owed is summed anew. Fair shares are recorded as
 * means of `series` and stay those.
 */
#include "plot_int.h"
#include "plots_sql.h"

#include <orrery/analysis/course.h>

void orr_plot__table_spread(const struct orr_plot_table *table, double *cells, orr_ms from,
                            orr_ms to, double amount)
{
    from = from > table->from ? from : table->from;
    to = to < table->to ? to : table->to;
    while (from < to) {
        orr_ms bucket = (from - table->from) / table->bucket_ms;
        orr_ms end = table->from + (bucket + 1) * table->bucket_ms;
        end = end < to ? end : to;
        cells[bucket] += amount * (double)(end - from);
        from = end;
    }
}

static void value_spread(struct orr_plot *plot, const struct orr_plot_table *table,
                         enum orr_plot_value value, int64_t queue, orr_ms from, orr_ms to,
                         double amount)
{
    const uint32_t rank = amount > 0 ? orr_plot__rank(plot, queue) : ORR_NONE;
    if (rank != ORR_NONE) {
        const uint32_t slot = orr_plot__slot(table->slots, rank);
        orr_plot__table_spread(table, orr_plot__cell(table, value, slot, 0), from, to, amount);
    }
}

struct exact {
    struct orr_plot *plot;
    const struct orr_plot_table *table;
};

static void course_step(const struct orr_course *course, orr_ms from, orr_ms to, void *context)
{
    const struct exact *exact = context;
    for (uint32_t q = 0; q < course->queue_count; q++) {
        const int64_t id = course->ids[q];
        value_spread(exact->plot, exact->table, ORR_PLOT_ALLOCATED, id, from, to,
                     course->held_mgpu[q] / ORR_MGPU);
        value_spread(exact->plot, exact->table, ORR_PLOT_PENDING, id, from, to,
                     course->waits_mgpu[q] / ORR_MGPU);
        value_spread(exact->plot, exact->table, ORR_PLOT_QUOTA, id, from, to,
                     course->quota_mgpu[q] / ORR_MGPU);
    }
}

static void shares_fill(struct orr_plot *plot, struct orr_plot_table *table)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__share_means);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, table->from - plot->run.series_ms);
        (void)sqlite3_bind_int64(row, 2, table->to);
    }
    while (orr_results_step(&plot->in, row)) {
        const int64_t queue = sqlite3_column_int64(row, 0);
        const orr_ms from = sqlite3_column_int64(row, 1), to = from + plot->run.series_ms;
        value_spread(plot, table, ORR_PLOT_SHARE, queue, from, to, sqlite3_column_double(row, 2));
        value_spread(plot, table, ORR_PLOT_POLICY_SHARE, queue, from, to,
                     sqlite3_column_double(row, 3));
        table->policy_shares = table->policy_shares || sqlite3_column_type(row, 3) != SQLITE_NULL;
    }
}

void orr_plot__table_exact(struct orr_plot *plot, struct orr_plot_table *table)
{
    struct exact exact = {plot, table};
    struct orr_course course;
    orr_course_open(&plot->in, &course);
    orr_course_walk(&plot->in, &course, table->from,
                    table->to < plot->run.end ? table->to : plot->run.end, course_step, &exact);
    orr_course_close(&course);
    shares_fill(plot, table);
}

orr_ms orr_plot__bucket_for(orr_ms span, orr_ms most)
{
    static const orr_ms nice[] = {1,   2,   5,   10,   15,   30,   60,   120,
                                  300, 600, 900, 1800, 3600, 7200, 10800};
    for (size_t i = 0; i < sizeof nice / sizeof nice[0]; i++) {
        if (span <= nice[i] * 1000 * most) {
            return nice[i] * 1000;
        }
    }
    return ORR_MS_NONE;
}
