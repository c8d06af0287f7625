/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_series.c - figures over time from the table `series`: share, allocation, depth.
 *
 * Buckets of the table are joined until at most MOST_BUCKETS are left. A bucket is drawn as a step,
 * with a row at both of its ends.
 */
#include "plot_int.h"

#define MOST_BUCKETS 500
#define DUMB_BUCKETS 80

enum value { ALLOCATED, PENDING, JOBS, SHARE, POLICY_SHARE, VALUES };

struct table {
    struct orr_plot_slots slots;
    uint32_t buckets;
    orr_ms from, to, bucket_ms;
    double *cells;      /* [value][slot][bucket] */
    bool policy_shares; /* the policy has fair shares */
};

static double *cell(const struct table *table, enum value value, uint32_t slot, uint32_t bucket)
{
    size_t row = (size_t)value * table->slots.count + slot;
    return table->cells + row * table->buckets + bucket;
}

static double total(const struct table *table, enum value value, uint32_t bucket)
{
    double sum = 0;
    for (uint32_t s = 0; s < table->slots.count; s++) {
        sum += *cell(table, value, s, bucket);
    }
    return sum;
}

/* Sums become means: a joined bucket is divided by how many of the table it holds. */
static void table_divide(struct table *table, orr_ms series_ms, orr_ms end)
{
    for (uint32_t b = 0; b < table->buckets; b++) {
        orr_ms start = table->from + (orr_ms)b * table->bucket_ms;
        orr_ms stop = start + table->bucket_ms < end ? start + table->bucket_ms : end;
        orr_ms parts = (stop - start + series_ms - 1) / series_ms;
        for (int v = 0; v < VALUES; v++) {
            for (uint32_t s = 0; s < table->slots.count; s++) {
                *cell(table, (enum value)v, s, b) /= (double)(parts > 0 ? parts : 1);
            }
        }
    }
}

static void table_fill(struct orr_plot *plot, struct table *table)
{
    sqlite3_stmt *row = orr_results_prepare(
        &plot->in, "SELECT (at_ms - ?1) / ?2, queue, sum(allocated_mgpu) / 1000.0,"
                   " sum(pending_mgpu) / 1000.0, sum(pending_jobs), sum(share_mgpu) / 1000.0,"
                   " sum(policy_share_mgpu) / 1000.0 FROM series WHERE at_ms >= ?1 AND at_ms < ?3"
                   " GROUP BY 1, 2");
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, table->from);
        (void)sqlite3_bind_int64(row, 2, table->bucket_ms);
        (void)sqlite3_bind_int64(row, 3, table->to);
    }
    while (orr_results_step(&plot->in, row)) {
        int64_t bucket = sqlite3_column_int64(row, 0);
        uint32_t rank = orr_plot__rank(plot, sqlite3_column_int64(row, 1));
        if (rank == ORR_NONE || bucket < 0 || bucket >= table->buckets) {
            continue;
        }
        uint32_t slot = orr_plot__slot(table->slots, rank);
        for (int v = 0; v < VALUES; v++) {
            *cell(table, (enum value)v, slot, (uint32_t)bucket) +=
                sqlite3_column_double(row, 2 + v);
        }
        table->policy_shares = table->policy_shares || sqlite3_column_type(row, 6) != SQLITE_NULL;
    }
}

/* False if there is nothing to draw; a table opened is closed in any case. */
static bool table_open(struct orr_plot *plot, struct table *table, uint32_t top)
{
    *table = (struct table){.slots = orr_plot__slots(plot, top)};
    orr_ms step = plot->run.series_ms, first = ORR_MS_NONE, last = 0;
    sqlite3_stmt *row = orr_results_prepare(&plot->in, "SELECT min(at_ms), max(at_ms) FROM series");
    while (orr_results_step(&plot->in, row)) {
        if (sqlite3_column_type(row, 0) != SQLITE_NULL) {
            first = sqlite3_column_int64(row, 0);
            last = sqlite3_column_int64(row, 1) + step;
        }
    }
    if (plot->in.status != ORR_OK || first == ORR_MS_NONE || table->slots.count == 0) {
        return false;
    }
    orr_ms from = 0, to = 0;
    orr_plot__span(plot, &from, &to);
    table->from = from > first ? first + (from - first) / step * step : first;
    table->to = to < last ? to : last;
    if (table->from >= table->to) {
        return false;
    }
    orr_ms most = plot->term == ORR_PLOT_DUMB ? DUMB_BUCKETS : MOST_BUCKETS;
    orr_ms joined = ((table->to - table->from + step - 1) / step + most - 1) / most;
    table->bucket_ms = step * (joined > 0 ? joined : 1);
    table->buckets =
        (uint32_t)((table->to - table->from + table->bucket_ms - 1) / table->bucket_ms);
    table->cells =
        orr_zalloc((size_t)VALUES * table->slots.count * table->buckets, sizeof *table->cells);
    table_fill(plot, table);
    table_divide(table, step, table->to);
    return true;
}

static void table_close(struct table *table)
{
    orr_free(table->cells);
}

/* x of the first (side 0) or last (side 1) moment of a bucket, cut to what is drawn. */
static double edge(const struct orr_plot *plot, const struct table *table, uint32_t bucket,
                   int side)
{
    orr_ms at = table->from + ((orr_ms)bucket + side) * table->bucket_ms;
    return orr_plot__x(plot, at < table->to ? at : table->to);
}

/* A block of x, 0, first slot, first and second ... summed upwards. */
static uint32_t stack_rows(struct orr_plot *plot, const struct table *table, enum value value)
{
    uint32_t block = orr_plot__block(plot, "seconds, 0, then summed over queues one by one");
    for (uint32_t b = 0; b < table->buckets; b++) {
        for (int side = 0; side < 2; side++) {
            double sum = 0;
            orr_plot__row(plot, "%.3f 0", edge(plot, table, b, side));
            for (uint32_t s = 0; s < table->slots.count; s++) {
                sum += *cell(table, value, s, b);
                orr_plot__row(plot, " %.6g", sum);
            }
            orr_plot__row(plot, "\n");
        }
    }
    return block;
}

static void stack_plot(struct orr_plot *plot, const struct table *table, uint32_t block, bool names)
{
    for (uint32_t s = 0; s < table->slots.count; s++) {
        orr_plot__gp(plot, s == 0 ? "plot " : ", \\\n  ");
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:%u:%u with filledcurves fc rgb '%s' ", s + 2, s + 3,
                     orr_plot__colour(s, table->slots.shown));
        if (names) {
            orr_plot__gp(plot, "title ");
            orr_plot__slot_name(plot, table->slots, s, NULL);
        } else {
            orr_plot__gp(plot, "notitle");
        }
    }
}

static double stack_top(const struct table *table, enum value value)
{
    double top = 0;
    for (uint32_t b = 0; b < table->buckets; b++) {
        double sum = total(table, value, b);
        top = sum > top ? sum : top;
    }
    return top;
}

/* For terminals of characters: x, all queues together, then the first three. */
static void dumb_lines(struct orr_plot *plot, const struct table *table, enum value value)
{
    uint32_t lines = table->slots.shown < 3 ? table->slots.shown : 3;
    uint32_t block = orr_plot__block(plot, "seconds, all queues, then the largest");
    for (uint32_t b = 0; b < table->buckets; b++) {
        orr_plot__row(plot, "%.3f %.6g", edge(plot, table, b, 0), total(table, value, b));
        for (uint32_t s = 0; s < lines; s++) {
            orr_plot__row(plot, " %.6g", *cell(table, value, s, b));
        }
        orr_plot__row(plot, "\n");
    }
    orr_plot__gp(plot, "plot ");
    orr_plot__data(plot, block);
    orr_plot__gp(plot, "using 1:2 with lines title 'all queues'");
    for (uint32_t s = 0; s < lines; s++) {
        orr_plot__gp(plot, ", ");
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:%u with lines title ", s + 3);
        orr_plot__slot_name(plot, table->slots, s, NULL);
    }
}

void orr_plot__allocation(struct orr_plot *plot)
{
    struct table table;
    bool any = table_open(plot, &table, 10);
    bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_plot__start(plot, (struct orr_plot_size){900, 500, 100, 30});
    orr_plot__title(plot, "Allocated GPUs by queue", NULL);
    if (!any) {
        orr_plot__nothing(plot, "no job was submitted in this part of the run");
        table_close(&table);
        return;
    }
    double top = stack_top(&table, ALLOCATED);
    double capacity = plot->run.capacity_gpus;
    orr_plot__time_axis(plot, table.from, table.to, 8, true);
    orr_plot__last_submit(plot, table.from, table.to);
    orr_plot__gp(plot, "set ylabel 'GPUs'\nset yrange [0:%.9g]\n",
                 (top > capacity ? top : capacity) * 1.06 + 1e-6);
    if (dumb) {
        dumb_lines(plot, &table, ALLOCATED);
        orr_plot__gp(plot, ", %.9g with lines title 'capacity'\n", capacity);
    } else {
        uint32_t block = stack_rows(plot, &table, ALLOCATED);
        orr_plot__gp(plot, "set rmargin at screen 0.79\n"
                           "set key at screen 0.80,graph 1 left top invert title 'queue' left\n");
        stack_plot(plot, &table, block, true);
        orr_plot__gp(plot,
                     ", \\\n  %.9g with lines dt 2 lw 1.6 lc rgb '#000000' title 'capacity'\n",
                     capacity);
    }
    table_close(&table);
}

/* A frame without axes over both panels, only for its legend: it has the height of the page. */
static void depth_legend(struct orr_plot *plot, const struct table *table, bool capacity)
{
    orr_plot__gp(plot, "unset tics\nunset border\nunset grid\nunset xlabel\nunset ylabel\n"
                       "unset arrow 90\nset tmargin at screen 0.87\nset yrange [0:1]\n"
                       "set key at screen 0.80,graph 1 left top title 'queue' left\n"
                       "plot -1 notitle");
    if (capacity) {
        orr_plot__gp(plot, ", \\\n  keyentry with lines dt 2 lw 1.6 lc rgb '#000000' title "
                           "'capacity'");
    }
    for (uint32_t s = table->slots.count; s-- > 0;) {
        orr_plot__gp(plot, ", \\\n  keyentry with boxes fc rgb '%s' title ",
                     orr_plot__colour(s, table->slots.shown));
        orr_plot__slot_name(plot, table->slots, s, NULL);
    }
    orr_plot__gp(plot, "\nunset multiplot\n");
}

static void depth_panels(struct orr_plot *plot, const struct table *table)
{
    uint32_t jobs = stack_rows(plot, table, JOBS);
    uint32_t gpus = stack_rows(plot, table, PENDING);
    orr_plot__gp(plot,
                 "set multiplot\nunset key\n"
                 "set lmargin at screen 0.09\nset rmargin at screen 0.79\n"
                 "set tmargin at screen 0.87\nset bmargin at screen 0.53\n"
                 "set ylabel 'jobs that wait'\nset yrange [0:%.9g]\n",
                 stack_top(table, JOBS) * 1.06 + 1e-6);
    orr_plot__time_axis(plot, table->from, table->to, 8, false);
    orr_plot__last_submit(plot, table->from, table->to);
    stack_plot(plot, table, jobs, false);
    double top = stack_top(table, PENDING);
    double capacity = plot->run.capacity_gpus;
    bool near = capacity < top * 4;
    orr_plot__gp(plot,
                 "\nunset title\nunset label 90\n"
                 "set tmargin at screen 0.46\nset bmargin at screen 0.12\n"
                 "set ylabel 'GPUs they ask for'\nset yrange [0:%.9g]\n",
                 (near && capacity > top ? capacity : top) * 1.06 + 1e-6);
    orr_plot__time_axis(plot, table->from, table->to, 8, true);
    stack_plot(plot, table, gpus, false);
    if (near) {
        orr_plot__gp(plot, ", \\\n  %.9g with lines dt 2 lw 1.6 lc rgb '#000000' notitle",
                     capacity);
    }
    orr_plot__gp(plot, "\n");
    depth_legend(plot, table, near);
}

static void depth_dumb(struct orr_plot *plot, const struct table *table)
{
    orr_plot__gp(plot,
                 "set multiplot\nset size 1,0.48\nset origin 0,0.52\nset ylabel 'jobs'\n"
                 "set yrange [0:%.9g]\nunset key\n",
                 stack_top(table, JOBS) * 1.06 + 1e-6);
    orr_plot__time_axis(plot, table->from, table->to, 8, false);
    dumb_lines(plot, table, JOBS);
    orr_plot__gp(plot,
                 "\nunset title\nset key bottom outside center horizontal\nset size 1,0.52\n"
                 "set origin 0,0\nset ylabel 'GPUs'\nset yrange [0:%.9g]\n",
                 stack_top(table, PENDING) * 1.06 + 1e-6);
    dumb_lines(plot, table, PENDING);
    orr_plot__gp(plot, "\nunset multiplot\n");
}

void orr_plot__depth(struct orr_plot *plot)
{
    struct table table;
    bool any = table_open(plot, &table, 10);
    bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_plot__start(plot, (struct orr_plot_size){900, 560, 100, 30});
    orr_plot__title(plot, dumb ? "Waiting: jobs (above), GPUs they ask for" : "What waits", NULL);
    if (!any) {
        orr_plot__nothing(plot, "no job was submitted in this part of the run");
    } else if (dumb) {
        depth_dumb(plot, &table);
    } else {
        depth_panels(plot, &table);
    }
    table_close(&table);
}

static uint32_t share_rows(struct orr_plot *plot, const struct table *table, uint32_t slot,
                           double *top)
{
    uint32_t block =
        orr_plot__block(plot, "seconds, allocated, fair share, fair share by the policy");
    for (uint32_t b = 0; b < table->buckets; b++) {
        double got = *cell(table, ALLOCATED, slot, b), fair = *cell(table, SHARE, slot, b);
        double by_policy = *cell(table, POLICY_SHARE, slot, b);
        by_policy = table->policy_shares ? by_policy : 0;
        *top = got > *top ? got : *top;
        *top = fair > *top ? fair : *top;
        *top = by_policy > *top ? by_policy : *top;
        for (int side = 0; side < 2; side++) {
            orr_plot__row(plot, "%.3f %.6g %.6g %.6g\n", edge(plot, table, b, side), got, fair,
                          by_policy);
        }
    }
    return block;
}

static void share_panel(struct orr_plot *plot, const struct table *table, uint32_t slot, int tics)
{
    double top = 0;
    uint32_t block = share_rows(plot, table, slot, &top);
    double quota = slot < table->slots.shown ? plot->queues[slot].quota_gpus : 0;
    bool quota_fits = quota > 0 && quota <= plot->run.capacity_gpus;
    top = quota_fits && quota > top ? quota : top;
    orr_plot__time_axis(plot, table->from, table->to, tics, false);
    orr_plot__gp(plot, "set yrange [0:%.9g]\n", top > 0 ? top * 1.08 : 1.0);
    if (plot->term != ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "set title ");
        orr_plot__slot_name(plot, table->slots, slot, NULL);
        orr_plot__gp(plot, " offset 0,-0.7\n");
    }
    orr_plot__gp(plot, "plot ");
    const char *colour = orr_plot__colour(slot, table->slots.shown);
    orr_plot__data(plot, block);
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "using 1:2 with lines title 'allocated', ");
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:3 with lines title 'fair share'");
    } else {
        orr_plot__gp(plot,
                     "using 1:(0):2 with filledcurves fc rgb '%s' fs solid 0.55 noborder,\\\n  ",
                     colour);
        orr_plot__data(plot, block);
        orr_plot__gp(plot, "using 1:3 with lines lw 1.3 lc rgb '#202020'");
        if (table->policy_shares) {
            orr_plot__gp(plot, ",\\\n  ");
            orr_plot__data(plot, block);
            orr_plot__gp(plot, "using 1:4 with lines lw 1.3 dt 3 lc rgb '#606060'");
        }
    }
    if (quota_fits) {
        orr_plot__gp(plot, ", %.9g with lines %s", quota,
                     plot->term == ORR_PLOT_DUMB ? "title 'quota'"
                                                 : "dt 2 lw 1.5 lc rgb '#b00020'");
    }
    orr_plot__gp(plot, "\n");
}

/* The legend of all panels and what their time is, in the strip below them. */
static void share_legend(struct orr_plot *plot, const struct table *table)
{
    orr_plot__gp(plot, "unset title\nunset tics\nunset border\nunset grid\nunset ylabel\n"
                       "unset xlabel\nset label 91 when at screen 0.5,0.085 center\n"
                       "set lmargin at screen 0.02\nset rmargin at screen 0.98\n"
                       "set bmargin at screen 0.09\nset tmargin at screen 0.11\n"
                       "set key at screen 0.5,0.033 center center horizontal maxcols 4\n"
                       "set yrange [0:1]\n"
                       "plot -1 notitle, keyentry with boxes fc rgb '#8c8c8c' fs solid 0.55 title "
                       "'allocated (colour of the queue)', \\\n"
                       "  keyentry with lines lw 1.3 lc rgb '#202020' title 'fair share'");
    if (table->policy_shares) {
        orr_plot__gp(plot, ", \\\n  keyentry with lines lw 1.3 dt 3 lc rgb '#606060' title "
                           "'fair share by the policy'");
    }
    orr_plot__gp(plot, ", \\\n  keyentry with lines dt 2 lw 1.5 lc rgb '#b00020' title 'quota'\n");
}

static void share_panels(struct orr_plot *plot, const struct table *table)
{
    uint32_t count = table->slots.count;
    uint32_t columns = count <= 3 ? 1 : count <= 6 ? 2 : count <= 9 ? 3 : 4;
    uint32_t rows = (count + columns - 1) / columns;
    static const int tics[] = {8, 5, 4, 3};
    for (uint32_t s = 0; s < count; s++) {
        uint32_t row = s / columns, column = s % columns;
        double height = 0.785 / rows, width = 0.93 / columns;
        double top = 0.90 - row * height, left = 0.065 + column * width;
        orr_plot__gp(plot,
                     "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
                     "set tmargin at screen %.4f\nset bmargin at screen %.4f\n"
                     "set ylabel '%s'\n",
                     left, left + width - (columns > 1 ? 0.055 : 0.02), top - 0.045,
                     top - height + (columns == 1 ? 0.062 : 0.045), column == 0 ? "GPUs" : "");
        share_panel(plot, table, s, tics[columns - 1]);
    }
}

void orr_plot__share(struct orr_plot *plot)
{
    struct table table;
    bool dumb = plot->term == ORR_PLOT_DUMB;
    bool many = plot->queue_count > 6, few = plot->queue_count <= 3;
    /* Twelve panels fill the page: with more queues the twelfth is for the others. */
    uint32_t panels = dumb                                   ? 1
                      : plot->queue_count > ORR_PLOT_COLOURS ? ORR_PLOT_COLOURS - 1
                                                             : ORR_PLOT_COLOURS;
    bool any = table_open(plot, &table, panels);
    orr_plot__start(plot, (struct orr_plot_size){many ? 1120 : 900,
                                                 many  ? 720
                                                 : few ? 560
                                                       : 640,
                                                 100, 30});
    char extra[120] = "";
    if (dumb && plot->queue_count > 0) {
        (void)snprintf(extra, sizeof extra, "queue %s", plot->queues[0].name);
    }
    orr_plot__title(plot, dumb ? "Share of the largest queue" : "Quota, fair share and allocation",
                    dumb ? extra : NULL);
    if (!any) {
        orr_plot__nothing(plot, "no job was submitted in this part of the run");
    } else if (dumb) {
        orr_plot__gp(plot, "set ylabel 'GPUs'\n");
        share_panel(plot, &table, 0, 8);
    } else {
        orr_plot__gp(plot, "set multiplot title heading\nunset key\n");
        share_panels(plot, &table);
        orr_plot__time_axis(plot, table.from, table.to, 8, true);
        share_legend(plot, &table);
        orr_plot__gp(plot, "unset multiplot\n");
    }
    table_close(&table);
}

orr_ms orr_plot__busiest(struct orr_plot *plot)
{
    struct table table;
    orr_ms best_at = plot->run.zero + (plot->run.end - plot->run.zero) / 2;
    double best = -1;
    if (table_open(plot, &table, 1)) {
        double waits = stack_top(&table, PENDING) + 1;
        double capacity = plot->run.capacity_gpus > 0 ? plot->run.capacity_gpus : 1;
        for (uint32_t b = 0; b < table.buckets; b++) {
            /* Use in steps of 2 %, then how much waits. */
            double score = (double)(int64_t)(50 * total(&table, ALLOCATED, b) / capacity) +
                           0.9 * total(&table, PENDING, b) / waits;
            if (score > best) {
                best = score;
                best_at = table.from + (orr_ms)b * table.bucket_ms + table.bucket_ms / 2;
            }
        }
    }
    table_close(&table);
    return best_at;
}
