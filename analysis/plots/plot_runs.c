/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_runs.c - several runs in one axes, a line a run: figures over time, and what all have in
 * common. Those of waits are in plot_wait.c.
 *
 * The runs have one clock, whose 0 is the earliest of theirs; each has buckets of its own.
 */
#include "plot_int.h"
#include "plots_sql.h"

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

const char *orr_plot__dash(uint32_t rank)
{
    return rank < 6 ? "1" : "(10,3)";
}

/* One value of a bucket of a run. */
typedef double value_fn(const struct orr_plot *run, const struct orr_plot_table *table,
                        uint32_t bucket);

static double held(const struct orr_plot *run, const struct orr_plot_table *table, uint32_t bucket)
{
    (void)run;
    return orr_plot__total(table, ORR_PLOT_ALLOCATED, bucket);
}

static double up(const struct orr_plot *run, const struct orr_plot_table *table, uint32_t bucket)
{
    (void)run;
    return table->capacity[bucket];
}

static double jobs(const struct orr_plot *run, const struct orr_plot_table *table, uint32_t bucket)
{
    (void)run;
    return orr_plot__total(table, ORR_PLOT_JOBS, bucket);
}

static double asked(const struct orr_plot *run, const struct orr_plot_table *table, uint32_t bucket)
{
    (void)run;
    return orr_plot__total(table, ORR_PLOT_WAITING, bucket);
}

static double jain(const struct orr_plot *run, const struct orr_plot_table *table, uint32_t bucket)
{
    (void)run;
    return orr_plot__jain(table, bucket);
}

/* As the metric share_deviation, of GPUs that are up. */
static double deviation(const struct orr_plot *run, const struct orr_plot_table *table,
                        uint32_t bucket)
{
    const double both = orr_plot__total(table, ORR_PLOT_OVER, bucket) +
                        orr_plot__total(table, ORR_PLOT_UNDER, bucket);
    const double capacity = table->capacity[bucket];
    (void)run;
    return capacity > 0 ? 100 * both / (2 * capacity) : (double)NAN;
}

static double debt_of(const struct orr_plot *run, const struct orr_plot_table *table,
                      uint32_t bucket)
{
    (void)run;
    return orr_plot__total(table, ORR_PLOT_DEBT, bucket);
}

static double debt_so_far(const struct orr_plot *run, const struct orr_plot_table *table,
                          uint32_t bucket)
{
    double sum = 0;
    (void)run;
    for (uint32_t b = 0; b <= bucket; b++) {
        sum += orr_plot__total(table, ORR_PLOT_DEBT_COUNTED, b) / 3600000.0;
    }
    return sum;
}

/* Fills in what the table of a run has not by itself. */
typedef void fill_fn(struct orr_plot *run, struct orr_plot_table *table,
                     struct orr_plot_peaks *peaks);

/* False if no run has anything in this part. */
static bool tables_open(struct orr_plot *to, struct orr_plot *runs, struct orr_plot_table *tables,
                        fill_fn *fill, bool exact)
{
    bool any = false;
    orr_ms longest = 0;
    for (uint32_t i = 0; i < to->among; i++) {
        const bool some = orr_plot__table_open(&runs[i], &tables[i], 1, exact);
        if (some && fill != NULL) {
            fill(&runs[i], &tables[i], NULL);
        }
        tables[i].buckets = some ? tables[i].buckets : 0;
        longest = tables[i].bucket_ms > longest ? tables[i].bucket_ms : longest;
        any = any || some;
    }
    orr_plot__means_over(to, longest, NULL);
    to->recorded = !exact && orr_plot__is_part(to);
    return any;
}

static void tables_close(struct orr_plot *to, struct orr_plot_table *tables)
{
    for (uint32_t i = 0; i < to->among; i++) {
        orr_plot__table_close(&tables[i]);
    }
    orr_free(tables);
}

/* Blocks one after the other, a run each; `top`, `least`: of what they hold, at their call 0 or
 * what there was. Returns the first. */
static uint32_t value_rows(struct orr_plot *to, const struct orr_plot *runs,
                           const struct orr_plot_table *tables, value_fn *value, const char *what,
                           double *top, double *least)
{
    uint32_t first = ORR_NONE;
    for (uint32_t i = 0; i < to->among; i++) {
        const uint32_t block = orr_plot__block(to, what);
        first = first == ORR_NONE ? block : first;
        for (uint32_t b = 0; b < tables[i].buckets; b++) {
            const double at = value(&runs[i], &tables[i], b);
            *top = at > *top ? at : *top;
            *least = at < *least ? at : *least;
            for (int side = 0; side < 2; side++) {
                orr_plot__row(to, isnan(at) ? "%.3f NaN\n" : "%.3f %.6g\n",
                              orr_plot__edge(&runs[i], &tables[i], b, side), at);
            }
        }
    }
    return first;
}

void orr_plot__runs_plot(struct orr_plot *to, const struct orr_plot *runs, uint32_t first,
                         const char *style, bool names, bool more)
{
    for (uint32_t i = 0; i < to->among; i++) {
        orr_plot__gp(to, i == 0 && !more ? "plot " : ", \\\n  ");
        orr_plot__data(to, first + i);
        orr_plot__gp(to, "using 1:2 with lines ");
        if (to->term != ORR_PLOT_DUMB) {
            orr_plot__gp(to, "%s lc rgb '%s' ", style[0] != '\0' ? style : "lw 1.8",
                         orr_plot__colour(i, to->among));
            if (style[0] == '\0') {
                orr_plot__gp(to, "dt %s ", orr_plot__dash(i));
            }
        }
        if (names) {
            orr_plot__gp(to, "title ");
            orr_plot__name(to, runs[i].label);
        } else {
            orr_plot__gp(to, "notitle");
        }
    }
}

void orr_plot__runs_keys(struct orr_plot *to, const struct orr_plot *runs)
{
    for (uint32_t i = 0; i < to->among; i++) {
        orr_plot__gp(to, ", \\\n  keyentry with lines lw 2 dt %s lc rgb '%s' title ",
                     orr_plot__dash(i), orr_plot__colour(i, to->among));
        orr_plot__name(to, runs[i].label);
    }
}

static void part_of(const struct orr_plot *to, const struct orr_plot_table *tables, orr_ms *from,
                    orr_ms *to_ms)
{
    *from = INT64_MAX;
    *to_ms = INT64_MIN;
    for (uint32_t i = 0; i < to->among; i++) {
        if (tables[i].buckets > 0) {
            *from = tables[i].from < *from ? tables[i].from : *from;
            *to_ms = tables[i].to > *to_ms ? tables[i].to : *to_ms;
        }
    }
}

/* Two panels: names are in the legend beside them, or, as text, below the second. */
struct panel {
    const char *label;
    value_fn *value;
    bool index;               /* of at most 1: the axis begins at the tenth below the least */
    enum orr_plot_value sums; /* there is nothing to show where it is 0 all along */
};

static void panel_draw(struct orr_plot *to, const struct orr_plot *runs,
                       const struct orr_plot_table *tables, const struct panel *panel, bool names)
{
    double top = 0, least = 1;
    const uint32_t first = value_rows(to, runs, tables, panel->value, panel->label, &top, &least);
    orr_plot__ylabel(to, panel->label, orr_plot__panel_height(to));
    least = floor(10 * least - 1e-9) / 10;
    if (panel->index) {
        orr_plot__gp(to, "set yrange [%.1f:%.9g]\n", least, 1 + 0.04 * (1 - least));
    } else if (panel->sums == ORR_PLOT_JOBS) {
        orr_plot__panel_counts(to, top);
    } else {
        orr_plot__panel_y(to, top, false);
    }
    orr_plot__runs_plot(to, runs, first, "", names, false);
}

/* Is anything of what a panel shows above 0? An index is. */
static bool is_above_0(const struct orr_plot *to, const struct orr_plot_table *tables,
                       const struct panel *panel)
{
    bool above = panel->index;
    for (uint32_t i = 0; i < to->among && !above; i++) {
        above = tables[i].buckets > 0 && orr_plot__stack_top(&tables[i], panel->sums) > 0;
    }
    return above;
}

static void panels_draw(struct orr_plot *to, struct orr_plot *runs, const char *what,
                        const struct panel panels[2], fill_fn *fill, const char *none)
{
    const bool dumb = to->term == ORR_PLOT_DUMB;
    struct orr_plot_table *tables = orr_zalloc(to->among, sizeof *tables);
    const bool any = tables_open(to, runs, tables, fill, !panels[0].index);
    orr_ms from = 0, end = 0;
    char both[160]; /* text has no labels beside the axes */
    (void)snprintf(both, sizeof both, "%s (above), %s", panels[0].label, panels[1].label);
    orr_plot__start(to, orr_plot__panels_size(to, 560, false));
    orr_plot__title(to, dumb ? both : what, NULL);
    if (!any || !is_above_0(to, tables, &panels[0])) {
        orr_plot__nothing(to, none);
        tables_close(to, tables);
        return;
    }
    part_of(to, tables, &from, &end);
    orr_plot__panel_above(to, to->among, orr_plot__runs_letters(to, runs));
    orr_plot__time_axis(to, from, end, 8, false);
    panel_draw(to, runs, tables, &panels[0], false);
    orr_plot__panel_below(to);
    orr_plot__time_axis(to, from, end, 8, true);
    panel_draw(to, runs, tables, &panels[1], dumb);
    if (!dumb) {
        orr_plot__panel_legend(to, "run");
        orr_plot__runs_keys(to, runs);
    }
    orr_plot__panel_close(to);
    tables_close(to, tables);
}

void orr_plot__runs_depth(struct orr_plot *to, struct orr_plot *runs)
{
    static const struct panel panels[2] = {{"jobs that wait", jobs, false, ORR_PLOT_JOBS},
                                           {"GPUs they ask for", asked, false, ORR_PLOT_WAITING}};
    panels_draw(to, runs, "What waits", panels, orr_plot__table_waits, "no job waited");
}

void orr_plot__runs_fairness(struct orr_plot *to, struct orr_plot *runs)
{
    static const struct panel panels[2] = {
        {"Jain index", jain, true, ORR_PLOT_OVER},
        {"share deviation in %", deviation, false, ORR_PLOT_OVER}};
    panels_draw(to, runs, "Fairness: allocation against fair share", panels, NULL,
                "no job was submitted");
}

void orr_plot__runs_debt(struct orr_plot *to, struct orr_plot *runs)
{
    static const struct panel panels[2] = {
        {"GPUs not held", debt_of, false, ORR_PLOT_DEBT},
        {"GPU-h in the window", debt_so_far, false, ORR_PLOT_DEBT}};
    panels_draw(to, runs, "Quota debt: asked for within the quota and not held", panels,
                orr_plot__table_debts, "no queue waited while it held less than its quota");
}

static bool alike_capacity(const struct orr_plot *to, const struct orr_plot_table *tables)
{
    for (uint32_t i = 1; i < to->among; i++) {
        if (tables[i].buckets == 0 || tables[0].buckets == 0 ||
            fabs(orr_plot__capacity_top(&tables[i]) - orr_plot__capacity_top(&tables[0])) > 1e-6) {
            return false;
        }
    }
    return true;
}

/* The run that ends last. */
static uint32_t longest(const struct orr_plot *to, const struct orr_plot_table *tables)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < to->among; i++) {
        last = tables[i].to > tables[last].to ? i : last;
    }
    return last;
}

void orr_plot__runs_allocation(struct orr_plot *to, struct orr_plot *runs)
{
    const bool dumb = to->term == ORR_PLOT_DUMB;
    struct orr_plot_table *tables = orr_zalloc(to->among, sizeof *tables);
    const bool any = tables_open(to, runs, tables, NULL, true);
    orr_ms from = 0, end = 0;
    double top = 0, least = 0;
    orr_plot__start(to, (struct orr_plot_size){900, 500, 100, 30, false});
    orr_plot__title(to, "Allocated GPUs", NULL);
    if (!any) {
        orr_plot__nothing(to, "no job was submitted");
        tables_close(to, tables);
        return;
    }
    part_of(to, tables, &from, &end);
    const uint32_t line = value_rows(to, runs, tables, held, "seconds, GPUs held", &top, &least);
    const uint32_t there =
        value_rows(to, runs, tables, up, "seconds, GPUs of nodes that are up", &top, &least);
    orr_plot__time_axis(to, from, end, 8, true);
    orr_plot__gp(to, "set ylabel 'GPUs'\nset yrange [0:%.9g]\n", top * 1.06 + 1e-6);
    orr_plot__legend(to, "run", to->among + 1, orr_plot__runs_letters(to, runs), false);
    orr_plot__runs_plot(to, runs, line, "", true, false);
    if (alike_capacity(to, tables)) {
        orr_plot__gp(to, ", \\\n  ");
        orr_plot__data(to, there + longest(to, tables)); /* it ends with the axis */
        orr_plot__gp(to, "using 1:2 with lines %s title 'capacity'",
                     dumb ? "" : "dt 2 lw 1.4 lc rgb '#000000'");
    } else if (!dumb) {
        orr_plot__runs_plot(to, runs, there, "dt 2 lw 1.2", false, true);
        orr_plot__gp(to,
                     ", \\\n  keyentry with lines dt 2 lw 1.2 lc rgb '#000000' title 'capacity'");
    }
    orr_plot__gp(to, "\n");
    tables_close(to, tables);
}

/* All causes together: a block of x and the sum of a bucket, or of all buckets up to it, until the
 * run ends. */
static uint32_t layers_total(struct orr_plot *to, const struct orr_plot_layers *layers, orr_ms end,
                             bool so_far, double *top)
{
    const uint32_t block = orr_plot__block(to, so_far ? "seconds, GPU-hours lost so far"
                                                      : "seconds, evictions per hour");
    double sum = 0;
    end = end < layers->to ? end : layers->to;
    for (uint32_t b = 0; b < layers->buckets && layers->from + (orr_ms)b * layers->bucket_ms < end;
         b++) {
        double value = 0;
        for (uint32_t l = 0; l < layers->count; l++) {
            value += layers->cells[(size_t)l * layers->buckets + b];
        }
        sum = so_far ? sum + value : value;
        *top = sum > *top ? sum : *top;
        for (int side = 0; side < 2; side++) {
            const orr_ms at = layers->from + ((orr_ms)b + side) * layers->bucket_ms;
            orr_plot__row(to, "%.3f %.6g\n", orr_plot__x(to, at < end ? at : end), sum);
        }
    }
    return block;
}

void orr_plot__runs_churn(struct orr_plot *to, struct orr_plot *runs)
{
    enum { MOST_STEPS = 160 };
    const bool dumb = to->term == ORR_PLOT_DUMB;
    struct orr_plot_layers *both = orr_zalloc(2 * (size_t)to->among, sizeof *both);
    double count = 0, tops[2] = {0, 0};
    orr_ms from = 0, end = 0, bucket_ms = 0;
    orr_plot__span(to, &from, &end);
    for (uint32_t i = 0; i < to->among; i++) {
        struct orr_plot_layers *evictions = &both[(size_t)2 * i], *lost = evictions + 1;
        orr_plot__layers_open(evictions, from, end, dumb ? 80 : MOST_STEPS);
        orr_plot__layers_open(lost, from, end, dumb ? 80 : MOST_STEPS);
        const struct orr_plot_churn of = orr_plot__churn_load(&runs[i], evictions, lost);
        count += of.cut + of.parts;
        orr_plot__layers_means(evictions, 3600000);
        bucket_ms = evictions->bucket_ms;
    }
    orr_plot__start(to, orr_plot__panels_size(to, 560, false));
    orr_plot__means_over(to, bucket_ms, NULL);
    orr_plot__title(to, "Evictions and what they cost", NULL);
    if (count <= 0) {
        orr_plot__nothing(to, "nothing was evicted");
    } else {
        uint32_t blocks[2] = {ORR_NONE, ORR_NONE};
        for (uint32_t what = 0; what < 2; what++) {
            for (uint32_t i = 0; i < to->among; i++) {
                const uint32_t block = layers_total(to, &both[(size_t)2 * i + what],
                                                    runs[i].run.end, what == 1, &tops[what]);
                blocks[what] = i == 0 ? block : blocks[what];
            }
        }
        orr_plot__panel_above(to, to->among, orr_plot__runs_letters(to, runs));
        orr_plot__time_axis(to, from, end, 8, false);
        orr_plot__ylabel(to, "evictions per hour", orr_plot__panel_height(to));
        orr_plot__panel_counts(to, tops[0]);
        orr_plot__runs_plot(to, runs, blocks[0], "", false, false);
        orr_plot__panel_below(to);
        orr_plot__time_axis(to, from, end, 8, true);
        orr_plot__ylabel(to, "GPU-hours lost", orr_plot__panel_height(to));
        orr_plot__panel_y(to, tops[1], false);
        orr_plot__runs_plot(to, runs, blocks[1], "", dumb, false);
        if (!dumb) {
            orr_plot__panel_legend(to, "run");
            orr_plot__runs_keys(to, runs);
        }
        orr_plot__panel_close(to);
    }
    for (uint32_t i = 0; i < 2 * to->among; i++) {
        orr_plot__layers_close(&both[i]);
    }
    orr_free(both);
}
