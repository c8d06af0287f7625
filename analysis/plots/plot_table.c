/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_table.c - the table `series`, made a picture wide.
 *
 * Buckets of the table are joined until at most MOST_BUCKETS are left. A bucket is drawn as a step,
 * with a row at both of its ends.
 */
#include "plot_int.h"
#include "plots_sql.h"

#include <math.h>

#include <orrery/analysis/course.h>
#include <orrery/base/mem.h>

#define MOST_BUCKETS 500
#define DUMB_BUCKETS 80
#define MOST_KEPT    400000 /* rows of series, 40 MB */

double *orr_plot__cell(const struct orr_plot_table *table, enum orr_plot_value value, uint32_t slot,
                       uint32_t bucket)
{
    size_t row = (size_t)value * table->slots.count + slot;
    return table->cells + row * table->buckets + bucket;
}

double orr_plot__total(const struct orr_plot_table *table, enum orr_plot_value value,
                       uint32_t bucket)
{
    double sum = 0;
    for (uint32_t s = 0; s < table->slots.count; s++) {
        sum += *orr_plot__cell(table, value, s, bucket);
    }
    return sum;
}

/* Integrals become means; the last bucket ends with the run. */
static void value_divide(struct orr_plot_table *table, enum orr_plot_value value, orr_ms run_end)
{
    const orr_ms end = table->to < run_end ? table->to : run_end;
    for (uint32_t b = 0; b < table->buckets; b++) {
        orr_ms start = table->from + (orr_ms)b * table->bucket_ms;
        orr_ms stop = start + table->bucket_ms < end ? start + table->bucket_ms : end;
        for (uint32_t s = 0; s < table->slots.count; s++) {
            *orr_plot__cell(table, value, s, b) /= stop > start ? (double)(stop - start) : 1;
        }
    }
}

static void ratio_add(struct orr_plot_ratio *ratio, double allocated, double share)
{
    if (share > 0) {
        ratio->queues += 1;
        ratio->sum += allocated / share;
        ratio->squares += allocated / share * (allocated / share);
    }
}

double orr_plot__jain(const struct orr_plot_table *table, uint32_t bucket)
{
    const struct orr_plot_ratio *ratio = &table->ratios[bucket];
    return ratio->squares > 0 ? ratio->sum * ratio->sum / (ratio->queues * ratio->squares)
                              : (double)NAN;
}

/* A queue in a bucket: integrals over it, in the order of enum orr_plot_value. */
struct series_row {
    uint32_t bucket, rank;
    bool has_policy_share;
    double values[ORR_PLOT_VALUES];
};

struct orr_plot_series {
    orr_ms from, to, bucket_ms;
    struct series_row *rows;
    uint32_t count, room;
    bool whole; /* false: there were more rows than are kept */
};

void orr_plot__series_close(struct orr_plot *plot)
{
    if (plot->series != NULL) {
        orr_free(plot->series->rows);
        orr_free(plot->series);
        plot->series = NULL;
    }
}

static void row_add(struct orr_plot_table *table, const struct series_row *row)
{
    const uint32_t slot = orr_plot__slot(table->slots, row->rank);
    for (int v = 0; v < ORR_PLOT_VALUES; v++) {
        *orr_plot__cell(table, (enum orr_plot_value)v, slot, row->bucket) += row->values[v];
    }
    ratio_add(&table->ratios[row->bucket], row->values[ORR_PLOT_ALLOCATED],
              row->values[ORR_PLOT_SHARE]);
    table->policy_shares = table->policy_shares || row->has_policy_share;
}

static void row_keep(struct orr_plot_series *series, const struct series_row *row)
{
    series->whole = series->whole && series->count < MOST_KEPT;
    if (series->whole) {
        series->rows = ORR_ROOM_FOR_ONE(series->rows, series->count, series->room);
        series->rows[series->count++] = *row;
    }
}

static void series_read(struct orr_plot *plot, struct orr_plot_table *table,
                        struct orr_plot_series *series)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__series_table);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, table->from);
        (void)sqlite3_bind_int64(row, 2, table->bucket_ms);
        (void)sqlite3_bind_int64(row, 3, table->to);
        (void)sqlite3_bind_int64(row, 4, plot->run.series_ms);
        (void)sqlite3_bind_int64(row, 5, table->to < plot->run.end ? table->to : plot->run.end);
    }
    while (orr_results_step(&plot->in, row)) {
        const int64_t bucket = sqlite3_column_int64(row, 0);
        struct series_row one = {.rank = orr_plot__rank(plot, sqlite3_column_int64(row, 1))};
        if (one.rank == ORR_NONE || bucket < 0 || bucket >= table->buckets) {
            continue;
        }
        one.bucket = (uint32_t)bucket;
        one.has_policy_share = sqlite3_column_type(row, 6) != SQLITE_NULL;
        for (int v = 0; v < ORR_PLOT_VALUES; v++) {
            one.values[v] = sqlite3_column_double(row, 2 + v);
        }
        row_add(table, &one);
        row_keep(series, &one);
    }
}

/* Figures of one command mostly have the same buckets, and other slots. */
static void table_fill(struct orr_plot *plot, struct orr_plot_table *table)
{
    const struct orr_plot_series *kept = plot->series;
    if (kept != NULL && kept->whole && kept->from == table->from && kept->to == table->to &&
        kept->bucket_ms == table->bucket_ms) {
        for (uint32_t i = 0; i < kept->count; i++) {
            row_add(table, &kept->rows[i]);
        }
        return;
    }
    orr_plot__series_close(plot);
    plot->series = orr_zalloc(1, sizeof *plot->series);
    *plot->series = (struct orr_plot_series){
        .from = table->from, .to = table->to, .bucket_ms = table->bucket_ms, .whole = true};
    series_read(plot, table, plot->series);
    plot->series->whole = plot->series->whole && plot->in.status == ORR_OK;
}

static void capacity_spread(struct orr_plot_table *table, orr_ms from, orr_ms to, double gpus)
{
    orr_plot__table_spread(table, table->capacity, from, to, gpus);
}

struct debts {
    struct orr_plot *plot;
    struct orr_plot_table *table;
    struct orr_plot_peaks *peaks;
};

static void debt_step(const struct orr_course *course, orr_ms from, orr_ms to, void *context)
{
    const struct debts *debts = context;
    const struct orr_plot *plot = debts->plot;
    const orr_ms start = from > plot->run.window_start ? from : plot->run.window_start;
    const orr_ms end = to < plot->run.window_end ? to : plot->run.window_end;
    double all = 0;
    for (uint32_t q = 0; q < course->queue_count; q++) {
        const double gpus = orr_course_debt_mgpu(course, q) / ORR_MGPU;
        const uint32_t rank = gpus > 0 ? orr_plot__rank(plot, course->ids[q]) : ORR_NONE;
        if (rank != ORR_NONE) {
            const uint32_t slot = orr_plot__slot(debts->table->slots, rank);
            orr_plot__table_spread(
                debts->table, orr_plot__cell(debts->table, ORR_PLOT_DEBT, slot, 0), from, to, gpus);
            orr_plot__table_spread(debts->table,
                                   orr_plot__cell(debts->table, ORR_PLOT_DEBT_COUNTED, slot, 0),
                                   start, end, gpus);
            all += gpus;
        }
    }
    if (debts->peaks != NULL) {
        orr_plot__peak(debts->peaks, from, to, all);
    }
}

struct held {
    const struct orr_plot *plot;
    const struct orr_plot_table *table;
    struct orr_plot_peaks *peaks;
    double *gpus; /* of each slot */
};

static void held_step(const struct orr_course *course, orr_ms from, orr_ms to, void *context)
{
    const struct held *held = context;
    for (uint32_t s = 0; s < held->table->slots.count; s++) {
        held->gpus[s] = 0;
    }
    for (uint32_t q = 0; q < course->queue_count; q++) {
        const uint32_t rank =
            course->held_mgpu[q] > 0 ? orr_plot__rank(held->plot, course->ids[q]) : ORR_NONE;
        if (rank != ORR_NONE) {
            held->gpus[orr_plot__slot(held->table->slots, rank)] += course->held_mgpu[q] / ORR_MGPU;
        }
    }
    for (uint32_t s = 0; s < held->table->slots.count; s++) {
        orr_plot__peak(&held->peaks[s], from, to, held->gpus[s]);
    }
}

void orr_plot__table_held(struct orr_plot *plot, const struct orr_plot_table *table,
                          struct orr_plot_peaks *peaks)
{
    struct held held = {plot, table, peaks,
                        orr_zalloc((size_t)table->slots.count + 1, sizeof *held.gpus)};
    struct orr_course course;
    for (uint32_t s = 0; s < table->slots.count; s++) {
        orr_plot__peaks_open(&peaks[s], table->from, table->to, table->bucket_ms);
    }
    orr_course_open(&plot->in, &course);
    orr_course_walk(&plot->in, &course, table->from,
                    table->to < plot->run.end ? table->to : plot->run.end, held_step, &held);
    orr_course_close(&course);
    orr_free(held.gpus);
}

void orr_plot__table_debts(struct orr_plot *plot, struct orr_plot_table *table,
                           struct orr_plot_peaks *peaks)
{
    struct debts debts = {plot, table, peaks};
    struct orr_course course;
    orr_course_open(&plot->in, &course);
    orr_course_walk(&plot->in, &course, table->from,
                    table->to < plot->run.end ? table->to : plot->run.end, debt_step, &debts);
    orr_course_close(&course);
    value_divide(table, ORR_PLOT_DEBT, plot->run.end);
}

/* A value of a queue goes into its slot, in `unit`, and where peaks are asked (`changes`) into what
 * all queues have together. */
static void wait_add(struct orr_plot_table *table, double *cells, orr_ms from, orr_ms to,
                     double amount, double unit, struct orr_plot_changes *changes)
{
    orr_plot__table_spread(table, cells, from, to, amount / unit);
    if (changes != NULL) { /* whole numbers, so that nothing is left where nobody waits */
        orr_plot__change(changes, from, amount);
        orr_plot__change(changes, to, -amount);
    }
}

static void peaks_divide(struct orr_plot_peaks *peaks, double unit)
{
    for (uint32_t b = 0; b < peaks->buckets; b++) {
        peaks->most[b] /= unit;
    }
    peaks->top /= unit;
}

void orr_plot__table_waits(struct orr_plot *plot, struct orr_plot_table *table,
                           struct orr_plot_peaks *peaks)
{
    static const enum orr_plot_value values[2] = {ORR_PLOT_JOBS, ORR_PLOT_WAITING};
    static const double units[2] = {1, ORR_MGPU};
    struct orr_plot_changes changes[2] = {{0}};
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__depth_steps);
    while (orr_results_step(&plot->in, row)) {
        const uint32_t rank = orr_plot__rank(plot, sqlite3_column_int64(row, 0));
        const orr_ms from = sqlite3_column_int64(row, 1), to = sqlite3_column_int64(row, 2);
        for (int i = 0; rank != ORR_NONE && i < 2; i++) {
            const uint32_t slot = orr_plot__slot(table->slots, rank);
            wait_add(table, orr_plot__cell(table, values[i], slot, 0), from, to,
                     sqlite3_column_double(row, 3 + i), units[i],
                     peaks != NULL ? &changes[i] : NULL);
        }
    }
    for (int i = 0; i < 2; i++) {
        value_divide(table, values[i], plot->run.end);
    }
    for (int i = 0; peaks != NULL && i < 2; i++) {
        orr_plot__peaks_open(&peaks[i], table->from, table->to, table->bucket_ms);
        orr_plot__peaks_sum(&peaks[i], &changes[i]);
        peaks_divide(&peaks[i], units[i]);
    }
}

static void capacity_fill(struct orr_plot *plot, struct orr_plot_table *table)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__capacity_steps);
    orr_ms since = table->from;
    double gpus = 0;
    while (orr_results_step(&plot->in, row)) {
        capacity_spread(table, since, sqlite3_column_int64(row, 0), gpus);
        since = sqlite3_column_int64(row, 0);
        gpus += sqlite3_column_double(row, 1);
    }
    capacity_spread(table, since, table->to, gpus);
    for (uint32_t b = 0; b < table->buckets; b++) {
        orr_ms left = table->to - table->from - (orr_ms)b * table->bucket_ms;
        table->capacity[b] /= (double)(left < table->bucket_ms ? left : table->bucket_ms);
    }
}

double orr_plot__capacity_top(const struct orr_plot_table *table)
{
    double top = 0;
    for (uint32_t b = 0; b < table->buckets; b++) {
        top = table->capacity[b] > top ? table->capacity[b] : top;
    }
    return top;
}

uint32_t orr_plot__capacity_rows(struct orr_plot *plot, const struct orr_plot_table *table)
{
    uint32_t block = orr_plot__block(plot, "seconds, GPUs of nodes that are up");
    for (uint32_t b = 0; b < table->buckets; b++) {
        for (int side = 0; side < 2; side++) {
            orr_plot__row(plot, "%.3f %.6g\n", orr_plot__edge(plot, table, b, side),
                          table->capacity[b]);
        }
    }
    return block;
}

/* False if there is nothing to draw; a table opened is closed in any case. */
bool orr_plot__table_open(struct orr_plot *plot, struct orr_plot_table *table, uint32_t top,
                          bool exact)
{
    *table = (struct orr_plot_table){.slots = orr_plot__slots(plot, top)};
    orr_ms step = plot->run.series_ms, first = ORR_MS_NONE, last = 0;
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__series_range);
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
    const bool part = plot->options->from_ms != ORR_MS_NONE || plot->options->to_ms != ORR_MS_NONE;
    const orr_ms finer = exact && part ? orr_plot__bucket_for(to - from, most) : ORR_MS_NONE;
    table->exact = finer != ORR_MS_NONE && finer < table->bucket_ms;
    if (table->exact) {
        table->bucket_ms = finer;
        table->from = from > first ? from : first;
    }
    table->buckets =
        (uint32_t)((table->to - table->from + table->bucket_ms - 1) / table->bucket_ms);
    table->cells = orr_zalloc((size_t)ORR_PLOT_VALUES * table->slots.count * table->buckets,
                              sizeof *table->cells);
    table->ratios = orr_zalloc(table->buckets, sizeof *table->ratios);
    table->capacity = orr_zalloc(table->buckets, sizeof *table->capacity);
    if (table->exact) {
        orr_plot__table_exact(plot, table);
    } else {
        table_fill(plot, table);
    }
    capacity_fill(plot, table);
    for (int v = 0; v < ORR_PLOT_VALUES; v++) {
        value_divide(table, (enum orr_plot_value)v, plot->run.end);
    }
    return true;
}

void orr_plot__table_close(struct orr_plot_table *table)
{
    orr_free(table->cells);
    orr_free(table->ratios);
    orr_free(table->capacity);
}

/* x of the first (side 0) or last (side 1) moment of a bucket, cut to what is drawn. */
double orr_plot__edge(const struct orr_plot *plot, const struct orr_plot_table *table,
                      uint32_t bucket, int side)
{
    orr_ms at = table->from + ((orr_ms)bucket + side) * table->bucket_ms;
    return orr_plot__x(plot, at < table->to ? at : table->to);
}

uint32_t orr_plot__stack_rows(struct orr_plot *plot, const struct orr_plot_table *table,
                              enum orr_plot_value value, bool downwards)
{
    uint32_t block =
        orr_plot__block(plot, downwards ? "seconds, 0, then summed over queues downwards"
                                        : "seconds, 0, then summed over queues one by one");
    for (uint32_t b = 0; b < table->buckets; b++) {
        for (int side = 0; side < 2; side++) {
            double sum = 0;
            orr_plot__row(plot, "%.3f 0", orr_plot__edge(plot, table, b, side));
            for (uint32_t s = 0; s < table->slots.count; s++) {
                const double more = *orr_plot__cell(table, value, s, b);
                sum += downwards ? -more : more;
                orr_plot__row(plot, " %.6g", sum);
            }
            orr_plot__row(plot, "\n");
        }
    }
    return block;
}

void orr_plot__stack_plot(struct orr_plot *plot, const struct orr_plot_table *table, uint32_t block,
                          bool names)
{
    for (uint32_t s = 0; s < table->slots.count; s++) {
        orr_plot__gp(plot, s == 0 ? "plot " : ", \\\n  ");
        orr_plot__data(plot, block);
        orr_plot__between(plot, table->bucket_ms, s + 2);
        orr_plot__gp(plot, "fc rgb '%s' ", orr_plot__colour(s, table->slots.shown));
        if (names) {
            orr_plot__gp(plot, "title ");
            orr_plot__slot_name(plot, table->slots, s, NULL);
        } else {
            orr_plot__gp(plot, "notitle");
        }
    }
}

double orr_plot__stack_top(const struct orr_plot_table *table, enum orr_plot_value value)
{
    double top = 0;
    for (uint32_t b = 0; b < table->buckets; b++) {
        double sum = orr_plot__total(table, value, b);
        top = sum > top ? sum : top;
    }
    return top;
}

/* For terminals of characters: x, all queues together, then the first three. */
void orr_plot__text_lines(struct orr_plot *plot, const struct orr_plot_table *table,
                          enum orr_plot_value value)
{
    uint32_t lines = table->slots.shown < 3 ? table->slots.shown : 3;
    uint32_t block = orr_plot__block(plot, "seconds, all queues, then the largest");
    for (uint32_t b = 0; b < table->buckets; b++) {
        orr_plot__row(plot, "%.3f %.6g", orr_plot__edge(plot, table, b, 0),
                      orr_plot__total(table, value, b));
        for (uint32_t s = 0; s < lines; s++) {
            orr_plot__row(plot, " %.6g", *orr_plot__cell(table, value, s, b));
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

void orr_plot__slot_keys(struct orr_plot *plot, struct orr_plot_slots slots)
{
    for (uint32_t s = slots.count; s-- > 0;) {
        orr_plot__gp(plot, ", \\\n  keyentry with boxes fc rgb '%s' title ",
                     orr_plot__colour(s, slots.shown));
        orr_plot__slot_name(plot, slots, s, NULL);
    }
}
