/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_settings.c - a page about merged sweeps: what each setting came to over its replicas, what
 * differs from the first one beyond chance, and for whom. */
#include "report_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/plot.h>
#include <orrery/analysis/spread.h>
#include <orrery/base/text.h>

#define BESIDE_MOST 6   /* settings that are columns; of more each is a row */
#define ROWS_MOST   200 /* settings shown */
#define ARMS_MOST   12  /* held against the first one in tables of their own */

static const char *empty_cell(const struct orr_spread_row *s, const char *metric)
{
    return s != NULL && s->open > 0                     ? "<td class=\"n\">not reached</td>"
           : orr_metric_is(metric, ORR_METRIC_ABSENT_0) ? "<td class=\"n\">0</td>"
                                                        : "<td class=\"n\">-</td>";
}

static void interval_cell(const struct orr_spreads *spreads, const char *metric, uint32_t arm,
                          FILE *out)
{
    const struct orr_spread_row *s = orr_spread_find(spreads, metric, "", arm);
    char mean[40], low[40], high[40];
    if (s == NULL || isnan(s->mean)) {
        (void)fputs(empty_cell(s, metric), out);
        return;
    }
    (void)fprintf(out, "<td class=\"n\">%s", orr_compare_figure(s->unit, s->mean, false, mean));
    if (!isnan(s->low) && s->high > s->low) {
        (void)fprintf(out, " <span class=\"soft\">(%s to %s)</span>",
                      orr_compare_figure(s->unit, s->low, false, low),
                      orr_compare_figure(s->unit, s->high, false, high));
    }
    if (s->open > 0) {
        (void)fprintf(out, " <span class=\"soft\">not reached in %u</span>", (unsigned)s->open);
    }
    (void)fputs("</td>", out);
}

static void head_cell(const char *text, FILE *out)
{
    (void)fputs("<th scope=\"col\" class=\"n\">", out);
    orr_xml_text(out, text);
    (void)fputs("</th>", out);
}

/* A row a metric, a column a setting. */
static void metrics_down(const struct orr_spreads *spreads, FILE *out)
{
    (void)fputs("<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">of all jobs</th>", out);
    for (uint32_t a = 0; a < spreads->arm_count; a++) {
        head_cell(spreads->arms[a].label, out);
    }
    (void)fputs("</tr></thead>\n<tbody>\n", out);
    for (const struct orr_metric_def *m = orr_metric_table; m->name != NULL; m++) {
        bool any = false;
        for (uint32_t a = 0; a < spreads->arm_count && orr_metric_is(m->name, ORR_METRIC_HEADLINE);
             a++) {
            any = any || orr_spread_find(spreads, m->name, "", a) != NULL;
        }
        if (!any) {
            continue;
        }
        (void)fprintf(out, "<tr><th scope=\"row\">");
        orr_xml_text(out, m->title);
        (void)fputs("</th>", out);
        for (uint32_t a = 0; a < spreads->arm_count; a++) {
            interval_cell(spreads, m->name, a, out);
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</tbody></table></div>\n", out);
}

static const char *const of_many[] = {"wait_mean_s",    "wait_p95_s",       "jct_mean_s",
                                      "gpu_occupancy",  "quota_debt_gpu_h", "evictions",
                                      "never_startable"};
#define OF_MANY (sizeof of_many / sizeof of_many[0])

/* A row a setting, with a few metrics. */
static void settings_down(const struct orr_spreads *spreads, FILE *out)
{
    const uint32_t shown = spreads->arm_count < ROWS_MOST ? spreads->arm_count : ROWS_MOST;
    (void)fputs("<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">setting</th>", out);
    for (size_t m = 0; m < OF_MANY; m++) {
        const struct orr_metric_def *def = orr_metric_find(of_many[m]);
        head_cell(def != NULL ? def->title : of_many[m], out);
    }
    (void)fputs("</tr></thead>\n<tbody>\n", out);
    for (uint32_t a = 0; a < shown; a++) {
        (void)fputs("<tr><th scope=\"row\">", out);
        orr_xml_text(out, spreads->arms[a].label);
        (void)fputs("</th>", out);
        for (size_t m = 0; m < OF_MANY; m++) {
            interval_cell(spreads, of_many[m], a, out);
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</tbody></table></div>\n", out);
    if (shown < spreads->arm_count) {
        (void)fprintf(out, "<p class=\"soft\">and %u more</p>\n", spreads->arm_count - shown);
    }
}

static void expectations(const struct orr_spreads *spreads, FILE *out)
{
    if (spreads->expect_count == 0) {
        return;
    }
    (void)fputs("<h2 id=\"expected\">What was expected</h2>\n<table>\n<thead><tr><th "
                "scope=\"col\">setting</th><th scope=\"col\">expected</th><th scope=\"col\" "
                "class=\"n\">held in</th></tr></thead>\n<tbody>\n",
                out);
    for (uint32_t i = 0; i < spreads->expect_count && i < ROWS_MOST; i++) {
        const struct orr_spread_expect *e = &spreads->expects[i];
        (void)fputs("<tr><td>", out);
        orr_xml_text(out, spreads->arms[e->arm].label);
        (void)fputs("</td><td>", out);
        orr_xml_text(out, e->text);
        (void)fprintf(out, "</td><td class=\"n\">%u of %u</td></tr>\n", (unsigned)e->held,
                      (unsigned)(e->held + e->broken + e->unknown));
    }
    (void)fputs("</tbody></table>\n", out);
}

static void figure(const char *path, const char *caption, FILE *out)
{
    FILE *svg = fopen(path, "r");
    if (svg != NULL) {
        (void)fputs("<figure>\n", out);
        orr_report__svg(svg, out);
        (void)fclose(svg);
        (void)fputs("<figcaption>", out);
        orr_xml_text(out, caption);
        (void)fputs("</figcaption>\n</figure>\n", out);
    }
}

/* Where a figure of that name is drawn: STEM-NAME.svg in the scratch folder. */
static void drawn_path(const struct orr_report_options *options, const char *file, const char *name,
                       char *path, size_t bytes)
{
    const char *slash = strrchr(file, '/'), *stem = slash != NULL ? slash + 1 : file;
    const char *dot = strrchr(stem, '.');
    (void)snprintf(path, bytes, "%s/%.*s-%s.svg", options->scratch,
                   (int)(dot != NULL && dot != stem ? (size_t)(dot - stem) : strlen(stem)), stem,
                   name);
}

/* Figures that cannot be drawn are left out: gnuplot need not be there. */
static void maps(const struct orr_report_options *options, const char *file,
                 const struct orr_spreads *spreads, FILE *out)
{
    const struct orr_plot_options plot = {
        .dir = options->scratch, .from_ms = ORR_MS_NONE, .to_ms = ORR_MS_NONE};
    const struct orr_plot_settings map = {.metrics = {"wait_p95_s"}},
                                   front = {.metrics = {"wait_p95_s", "gpu_goodput"}};
    char path[4600];
    struct orr_err ignored = {0};
    if (spreads->axis_count >= 2 &&
        orr_plot_settings(file, "map", &map, &plot, NULL, NULL, &ignored) == ORR_OK) {
        drawn_path(options, file, "map", path, sizeof path);
        figure(path, "95th percentile of waits by the first two axes, means over all else.", out);
    }
    if (spreads->arm_count >= 3 &&
        orr_plot_settings(file, "front", &front, &plot, NULL, NULL, &ignored) == ORR_OK) {
        drawn_path(options, file, "front", path, sizeof path);
        figure(path,
               "Settings by waits and by GPU time of use; of those in blue no other is better in "
               "both. Bars are 95 % intervals of the means.",
               out);
    }
}

static void one_file(const struct orr_report_options *options, const char *file,
                     const struct orr_spreads *spreads, FILE *out)
{
    char settings[40], runs[40];
    uint32_t count = 0;
    for (uint32_t a = 0; a < spreads->arm_count; a++) {
        count += spreads->arms[a].runs;
    }
    (void)fputs("<h1>", out);
    orr_xml_text(out, spreads->name);
    (void)fprintf(out, "</h1>\n<p class=\"soft\">%s, %s, from ",
                  orr_report__count(spreads->arm_count, "setting", "settings", settings),
                  orr_report__count(count, "run", "runs", runs));
    orr_xml_text(out, file);
    for (uint32_t x = 0; x < spreads->axis_count; x++) {
        (void)fputs(x == 0 ? ". Settings are called by their values of " : ", ", out);
        orr_xml_text(out, spreads->axes[x]);
    }
    (void)fputs(". Numbers are means over the replicas of a setting, with their 95 % intervals "
                "(Student's t).</p>\n<h2 id=\"numbers\">What each came to</h2>\n",
                out);
    (spreads->arm_count <= BESIDE_MOST ? metrics_down : settings_down)(spreads, out);
    expectations(spreads, out);
    maps(options, file, spreads, out);
}

/* --- against the first setting --- */

static void difference_row(const struct orr_comparison *c, uint32_t metric, uint32_t arm, FILE *out)
{
    static const char *const words[] = {"", "not shown", "better", "worse", "differs"};
    const struct orr_paired *p = orr_comparison_cell(c, metric, arm);
    const struct orr_compare_metric *m = &c->metrics[metric];
    const struct orr_metric_def *def = orr_metric_find(m->name);
    const enum orr_verdict_on verdict = orr_compare_verdict(m, p);
    char base[40], other[40], change[40], range[100];
    orr_compare_sides(m->unit, p, base, other);
    (void)fputs("<tr><th scope=\"row\">", out);
    orr_xml_text(out, def != NULL ? def->title : m->name);
    (void)fprintf(
        out,
        "</th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
        "class=\"n\">%s</td><td class=\"n\">%u</td><td>%s</td></tr>\n",
        base, other, p->n > 0 ? orr_compare_figure(m->unit, p->difference, true, change) : "",
        orr_compare_interval(m->unit, p, range), (unsigned)orr_paired_pairs(p), words[verdict]);
}

static void differences(const struct orr_comparison *c, uint32_t arm, FILE *out)
{
    (void)fputs("<h3>", out);
    orr_xml_text(out, c->arms[arm].label);
    (void)fputs(" against ", out);
    orr_xml_text(out, c->arms[0].label);
    (void)fputs("</h3>\n<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">of all jobs</th>",
                out);
    head_cell(c->arms[0].label, out);
    head_cell(c->arms[arm].label, out);
    head_cell("change", out);
    head_cell("95 % interval of it", out);
    head_cell("pairs", out);
    (void)fputs("<th scope=\"col\"></th></tr></thead>\n<tbody>\n", out);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        difference_row(c, m, arm, out);
    }
    (void)fputs("</tbody></table></div>\n", out);
}

/* Who is worse off and who better, by queue, as text. */
static void ranking(const struct orr_comparison *queues, uint32_t arm, FILE *out)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    const struct orr_comparison *const of[] = {queues};
    const struct orr_comparison_ranking ranked = orr_comparison_rank(of, 1, arm, &arena);
    char *text = NULL;
    size_t bytes = 0;
    FILE *lines = open_memstream(&text, &bytes);
    if (lines != NULL) {
        orr_comparison_print_ranking(&ranked, arm, 10, lines);
        (void)fclose(lines);
        (void)fputs("<pre>", out);
        orr_xml_text(out, text != NULL ? text : "");
        (void)fputs("</pre>\n", out);
        free(text);
    }
    orr_arena_release(&arena);
}

static enum orr_status against_the_first(const struct orr_report_options *options, FILE *out,
                                         struct orr_err *err)
{
    struct orr_comparison all, queues;
    struct orr_compare_options compare = *options->settings;
    enum orr_status status = orr_compare(&compare, &all, err);
    if (status != ORR_OK) {
        return status;
    }
    compare.scope = "queue";
    compare.may_be_empty = true;
    status = orr_compare(&compare, &queues, err);
    if (status == ORR_OK) {
        const uint32_t shown = all.arm_count < ARMS_MOST ? all.arm_count : ARMS_MOST;
        (void)fputs("<h2 id=\"differences\">What differs</h2>\n<p class=\"soft\">In pairs of runs "
                    "with the same seed; \"better\" and \"worse\" are beyond chance (95 %).</p>\n",
                    out);
        orr_report__apart(all.apart, out);
        for (uint32_t a = 1; a < shown; a++) {
            differences(&all, a, out);
            ranking(&queues, a, out);
        }
        if (shown < all.arm_count) {
            (void)fprintf(out, "<p class=\"soft\">and %u more: `orrery compare` has them</p>\n",
                          all.arm_count - shown);
        }
        const struct orr_plot_options plot = {
            .dir = options->scratch, .from_ms = ORR_MS_NONE, .to_ms = ORR_MS_NONE};
        struct orr_err ignored = {0};
        char path[4600];
        (void)snprintf(path, sizeof path, "%s/compare-forest.svg", options->scratch);
        if (orr_plot_forest(&all, &plot, NULL, NULL, &ignored) == ORR_OK) {
            figure(path, "Changes in percent of the first setting, with 95 % intervals.", out);
        }
        orr_comparison_release(&queues);
    }
    orr_comparison_release(&all);
    return status;
}

enum orr_status orr_report__settings(const struct orr_report_options *options, FILE *out,
                                     struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    uint32_t arms = 0;
    for (uint32_t f = 0; f < options->count && status == ORR_OK; f++) {
        struct orr_spreads spreads;
        status = orr_spreads_read(options->paths[f], "all", &spreads, err);
        if (status == ORR_OK) {
            one_file(options, options->paths[f], &spreads, out);
            arms += spreads.arm_count;
            orr_spreads_release(&spreads);
        }
    }
    return status == ORR_OK && arms > 1 ? against_the_first(options, out, err) : status;
}
