/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_forest.c - forest: differences of a comparison with their intervals, a row a metric and arm.
 *
 * Differences are in percent of the base, so that metrics of several units share an axis. What is
 * beyond the end of the axis stands there as a triangle; its number is in the text of the row.
 */
#include "plot_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/analysis/compare.h>

#define MOST_ROWS    60
#define MOST_PERCENT 150.0

#define VERDICTS     5 /* enum orr_verdict_on */

struct forest_row {
    const struct orr_compare_metric *metric;
    const struct orr_compare_arm *arm;
    struct orr_paired paired;
    double middle, low, high; /* percent of the base; NAN: unknown */
    int order;                /* not reached under one side: 1 the arm, -1 the base; else 0 */
    enum orr_verdict_on verdict;
};

struct forest {
    const struct orr_comparison *of;
    struct forest_row rows[MOST_ROWS];
    uint32_t count, left_out;
    double limit; /* of the axis, percent */
};

static void forest_fill(struct forest *forest)
{
    const struct orr_comparison *of = forest->of;
    double widest = 1;
    for (uint32_t m = 0; m < of->metric_count; m++) {
        for (uint32_t a = 1; a < of->arm_count; a++) {
            const struct orr_paired *paired = orr_comparison_cell(of, m, a);
            double scale = 100 / fabs(paired->base_mean);
            const bool has_part = !isnan(paired->part_low);
            const bool reached = paired->lost + paired->found == 0;
            if (reached && (paired->n == 0 || isnan(paired->difference))) {
                continue;
            }
            if (forest->count == MOST_ROWS) {
                forest->left_out++;
                continue;
            }
            struct forest_row row = {
                .metric = &of->metrics[m],
                .arm = &of->arms[a],
                .paired = *paired,
                .middle = paired->difference * scale,
                .low = (has_part ? 100 * paired->part_low : paired->low * scale),
                .high = (has_part ? 100 * paired->part_high : paired->high * scale)};
            if (paired->base_mean == 0) { /* any change is beyond the axis: no percent of nothing */
                row.middle = paired->difference > 0   ? (double)INFINITY
                             : paired->difference < 0 ? -(double)INFINITY
                                                      : 0;
                row.low = paired->low == 0 && paired->high == 0 ? 0 : row.middle;
                row.high = row.low;
            }
            row.verdict = orr_compare_verdict(row.metric, paired);
            if (!reached) { /* beyond the axis, whatever the other pairs say */
                row.order = orr_paired_order(paired);
                row.middle = row.order > 0   ? (double)INFINITY
                             : row.order < 0 ? -(double)INFINITY
                                             : (double)NAN;
                row.low = row.high = row.middle;
            }
            double ends[3] = {row.middle, row.low, row.high};
            for (int i = 0; i < 3; i++) {
                widest = isfinite(ends[i]) && fabs(ends[i]) > widest ? fabs(ends[i]) : widest;
            }
            forest->rows[forest->count++] = row;
        }
    }
    forest->limit = widest * 1.1 < MOST_PERCENT ? widest * 1.1 : MOST_PERCENT;
}

static double clipped(const struct forest *forest, double percent)
{
    return percent > forest->limit    ? forest->limit
           : percent < -forest->limit ? -forest->limit
                                      : percent;
}

/* open: no number, and at least this. */
static void value_text(char *out, size_t room, const char *unit, double value, bool open)
{
    if (open) {
        *out++ = '>';
        room--;
    }
    if (strcmp(unit, "s") == 0) {
        double scale = fabs(value) < 120      ? 1
                       : fabs(value) < 7200   ? 60
                       : fabs(value) < 172800 ? 3600
                                              : 86400;
        (void)snprintf(out, room, "%.3g %s", value / scale,
                       scale < 2      ? "s"
                       : scale < 61   ? "min"
                       : scale < 3601 ? "h"
                                      : "d");
    } else {
        bool large = fabs(value) >= 1000;
        (void)snprintf(out, room, large ? "%.0f%s%s" : "%.3g%s%s", value, unit[0] == '1' ? "" : " ",
                       unit[0] == '1' ? "" : unit);
    }
}

/* "wait_p95_s 6214e9 training, kai": what a label says beside the names of its keys. */
static void row_name(const struct forest *forest, uint32_t at, char out[200])
{
    const struct forest_row *row = &forest->rows[at];
    size_t used = (size_t)snprintf(out, 200, "%.60s", row->metric->name);
    for (const char *c = row->metric->shown; *c != '\0' && used < 150;) {
        const size_t bytes = strcspn(c, ",");
        const char *equals = memchr(c, '=', bytes);
        const size_t skip = equals != NULL ? (size_t)(equals - c) + 1 : 0;
        used += (size_t)snprintf(out + used, 200 - used, " %.*s",
                                 (int)(bytes - skip < 60 ? bytes - skip : 60), c + skip);
        c += bytes + (c[bytes] == ',');
    }
    if (forest->of->arm_count > 2 && used < 200) {
        (void)snprintf(out + used, 200 - used, ", %.40s", row->arm->label);
    }
}

/* Letters of the longest name. */
static uint32_t names_letters(const struct forest *forest)
{
    uint32_t most = 0;
    char name[200];
    for (uint32_t i = 0; i < forest->count; i++) {
        row_name(forest, i, name);
        most = strlen(name) > most ? (uint32_t)strlen(name) : most;
    }
    return most;
}

static void forest_names(struct orr_plot *plot, const struct forest *forest)
{
    bool dumb = plot->term == ORR_PLOT_DUMB;
    if (dumb) {
        orr_plot__text_rows(plot, forest->count, 1, 5);
    } else {
        orr_plot__gp(plot, "set yrange [%.1f:-0.8]\n", forest->count - 0.4);
    }
    orr_plot__gp(plot, "set ytics (");
    for (uint32_t i = 0; i < forest->count; i++) {
        char name[200];
        row_name(forest, i, name);
        orr_plot__gp(plot, "%s", i > 0 ? ", " : "");
        orr_plot__quote(plot, name, 199, true);
        orr_plot__gp(plot, " %u", i);
    }
    orr_plot__gp(plot, ") scale 0\n");
    for (uint32_t i = 0; i < forest->count; i++) {
        const struct forest_row *row = &forest->rows[i];
        char text[160], percent[40] = "", base[40], other[40];
        if (row->paired.lost + row->paired.found > 0) {
            (void)orr_paired_words(&row->paired, percent, sizeof percent - 4);
            (void)strcat(percent, "   ");
        } else if (isfinite(row->middle)) {
            (void)snprintf(percent, sizeof percent,
                           fabs(row->middle) < 100 ? "%+.3g %%   " : "%+.0f %%   ", row->middle);
        }
        value_text(base, sizeof base, strcmp(row->metric->unit, "s") == 0 ? "s" : "1",
                   row->paired.base_mean, orr_paired_base_open(&row->paired));
        value_text(other, sizeof other, row->metric->unit, row->paired.other_mean,
                   orr_paired_other_open(&row->paired));
        (void)snprintf(text, sizeof text, "%s%s to %s", percent, base, other);
        orr_plot__gp(plot, "set label ");
        orr_plot__quote(plot, text, dumb ? 34 : 60, false);
        orr_plot__gp(plot, " at graph 1.02,first %u left%s\n", i, orr_plot__ink(plot));
    }
}

/* Rows of one verdict as a block; -1, 0, 1: the difference lies left of the axis, on it, right. */
static uint32_t forest_rows(struct orr_plot *plot, const struct forest *forest,
                            enum orr_verdict_on verdict, int side)
{
    uint32_t block = ORR_NONE;
    for (uint32_t i = 0; i < forest->count; i++) {
        const struct forest_row *row = &forest->rows[i];
        int beyond = row->middle > forest->limit ? 1 : row->middle < -forest->limit ? -1 : 0;
        if (row->verdict != verdict || isnan(row->middle) || beyond != side) {
            continue;
        }
        if (block == ORR_NONE) {
            block = orr_plot__block(plot, "row, difference, low, high in %");
        }
        double low = isnan(row->low) ? row->middle : row->low;
        double high = isnan(row->high) ? row->middle : row->high;
        orr_plot__row(plot, "%u %.6g %.6g %.6g\n", i, clipped(forest, row->middle),
                      clipped(forest, low), clipped(forest, high));
    }
    return block;
}

static void forest_plot(struct orr_plot *plot, const struct forest *forest)
{
    static const struct {
        const char *name, *colour;
        int point;
    } marks[VERDICTS] = {[ORR_ON_UNKNOWN] = {"no interval", "#808080", 2},
                         [ORR_ON_OPEN] = {"no difference shown", "#808080", 6},
                         [ORR_ON_BETTER] = {"better", "#0072b2", 7},
                         [ORR_ON_WORSE] = {"worse", "#d55e00", 5},
                         [ORR_ON_OTHER] = {"differs", "#808080", 4}};
    bool dumb = plot->term == ORR_PLOT_DUMB;
    for (int v = 0; v < VERDICTS; v++) {
        bool any = false, named = false;
        for (int side = -1; side <= 1; side++) {
            uint32_t block = forest_rows(plot, forest, (enum orr_verdict_on)v, side);
            if (block == ORR_NONE) {
                continue;
            }
            any = true;
            named = named || side == 0;
            orr_plot__gp(plot, plot->blocks > 1 ? ", \\\n  " : "plot ");
            orr_plot__data(plot, block);
            if (dumb) {
                orr_plot__gp(plot, "using 2:1 with points pt %d %s", v + 1,
                             side == 0 ? "title " : "notitle");
                if (side == 0) {
                    orr_plot__quote(plot, marks[v].name, 40, false);
                }
            } else if (side == 0) {
                orr_plot__gp(plot,
                             "using 2:1:3:4 with xerrorbars pt %d ps 1.1 lw 1.8 lc rgb '%s' title "
                             "'%s'",
                             marks[v].point, marks[v].colour, marks[v].name);
            } else {
                orr_plot__gp(plot, "using 2:1:('%s') with labels textcolor rgb '%s' notitle",
                             side > 0 ? "\xe2\x96\xb6" : "\xe2\x97\x80", marks[v].colour);
            }
        }
        if (any && !named) { /* all of them are beyond the axis */
            orr_plot__gp(plot, ", \\\n  NaN with points pt %d lc rgb '%s' title '%s'",
                         marks[v].point, marks[v].colour, marks[v].name);
        }
    }
    orr_plot__gp(plot, plot->blocks > 0 ? "\n" : "plot 0 notitle\n");
}

static void forest_title(struct orr_plot *plot, const struct forest *forest)
{
    const struct orr_comparison *of = forest->of;
    char tail[200];
    const char *arm = of->arm_count == 2 ? of->arms[1].label : "other settings";
    if (of->one_trace) {
        (void)snprintf(tail, sizeof tail, "one trace, one seed: no intervals");
    } else if (of->blocks > 0) {
        (void)snprintf(tail, sizeof tail, "%g %% intervals over %u block%s of submits",
                       of->level * 100, of->blocks, ORR_PLURAL(of->blocks));
    } else {
        (void)snprintf(tail, sizeof tail, "%g %% intervals over %u pair%s of runs", of->level * 100,
                       of->pairs, ORR_PLURAL(of->pairs));
    }
    orr_plot__gp(plot, "set title ");
    orr_plot__quote(plot, arm, 40, false);
    orr_plot__gp(plot, ".' against '.");
    orr_plot__quote(plot, of->arms[0].label, 40, false);
    orr_plot__gp(plot, ".\"\\n\".'%s", tail);
    if (forest->left_out > 0) {
        orr_plot__gp(plot, "; not drawn: %u more row%s", forest->left_out,
                     ORR_PLURAL(forest->left_out));
    }
    orr_plot__gp(plot, "'%s\n", plot->term == ORR_PLOT_DUMB ? "" : " textcolor rgb '#202020'");
}

static void forest_draw(struct orr_plot *plot, struct forest *forest)
{
    bool dumb = plot->term == ORR_PLOT_DUMB;
    forest_fill(forest);
    const uint32_t letters = names_letters(forest);
    orr_plot__start(plot, (struct orr_plot_size){letters > 36 ? 1200 : 1000,
                                                 170 + 24 * (int)forest->count, 110,
                                                 9 + (int)forest->count, false});
    forest_title(plot, forest);
    if (forest->count == 0) {
        orr_plot__nothing(plot, "no metric has a value on both sides");
        return;
    }
    forest_names(plot, forest);
    orr_plot__gp(plot, "set xrange [%.6g:%.6g]\nset xlabel 'difference in %% of '.",
                 -forest->limit * 1.04, forest->limit * 1.04);
    orr_plot__quote(plot, forest->of->arms[0].label, 40, false);
    orr_plot__gp(plot, "\nset arrow 1 from 0,graph 0 to 0,graph 1 nohead %s\n",
                 dumb ? "" : "lw 1.2 lc rgb '#404040' back");
    if (!dumb) {
        orr_plot__gp(plot,
                     "set lmargin at screen %.4f\nset rmargin at screen 0.75\nunset grid\n"
                     "set grid xtics ytics lc rgb '#e8e8e8' lt 1 lw 1 back\n"
                     "set bmargin 5.5\n"
                     "set key at screen 0.5,%.4f center center vertical maxrows 1\n",
                     (letters + 3) / plot->letters < 0.5 ? (letters + 3) / plot->letters : 0.5,
                     16.0 / (170 + 24 * (int)forest->count));
    } else {
        orr_plot__gp(plot, "set lmargin %u\nset rmargin 36\n", letters + 2);
    }
    forest_plot(plot, forest);
}

enum orr_status orr_plot_forest(const struct orr_comparison *comparison,
                                const struct orr_plot_options *options, orr_plot_report_fn *report,
                                void *context, struct orr_err *err)
{
    struct orr_err own = {.status = ORR_OK};
    struct orr_plot plot = {.options = options,
                            .in = {.path = "compare", .err = err != NULL ? err : &own}};
    enum orr_status status = orr_plot__term(options->term, &plot.term, plot.in.err);
    if (status != ORR_OK) {
        return status;
    }
    struct orr_plot_files *files = orr_plot__files_open(&plot, "forest");
    if (files != NULL) {
        struct forest forest = {.of = comparison};
        forest_draw(&plot, &forest);
        orr_plot__files_close(&plot, files, report, context);
    }
    return plot.in.status;
}
