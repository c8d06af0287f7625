/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_run.c - one run: headline, can it be trusted, who waited and why, evictions, lending,
 * figures, provenance. */
#include "report_int.h"
#include "report_sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/plot.h>
#include <orrery/base/text.h>

#define ROWS_MOST 20 /* of a table */

/* --- headline --- */

/* The first clause of a definition; the whole of it is shown where the pointer rests. */
static size_t clause(const char *definition)
{
    size_t bytes = 0;
    for (int depth = 0; definition[bytes] != '\0'; bytes++) {
        const char c = definition[bytes];
        if (depth == 0 &&
            (c == ',' || c == ';' || c == ':' || strncmp(&definition[bytes], " (", 2) == 0)) {
            break;
        }
        depth += (c == '(') - (c == ')');
    }
    return bytes;
}

/* A card a metric: those of a run's headline, where the run has them. */
static void headline(struct orr_results *in, FILE *out)
{
    (void)fputs("<div class=\"cards\">\n", out);
    for (const struct orr_metric_def *def = orr_metric_table; def->name != NULL; def++) {
        char text[40];
        if ((def->uses & ORR_METRIC_CARD) == 0) {
            continue;
        }
        const double value = orr_report__metric(in, def->name);
        if ((def->uses & ORR_METRIC_CARD_IF) != 0 && !isfinite(value)) {
            continue;
        }
        if (strcmp(def->unit, "s") == 0) {
            (void)orr_report__seconds(in, def->name, text);
        } else if ((def->uses & ORR_METRIC_SHARE) != 0 && isfinite(value)) {
            (void)snprintf(text, sizeof text, "%.1f %%", 100 * value);
        } else {
            (void)orr_report__number(value, text);
        }
        (void)fputs("<div class=\"card\" title=\"", out);
        orr_xml_text(out, def->definition);
        (void)fprintf(out, "\"><b>%s</b>%s<small>%.*s</small></div>\n", text, def->title,
                      (int)clause(def->definition), def->definition);
    }
    (void)fputs("</div>\n", out);
}

/* --- sections --- */

static void queues(struct orr_results *in, FILE *out)
{
    const bool nevers = orr_results_int(in, orr_report_sql__never, 0) > 0;
    (void)fputs("<p class=\"soft\">Waits are of jobs submitted in the window; a wait that is empty "
                "was not reached, or nobody came in the window. Quota, GPUs held and fair share "
                "are of the whole queue and stand "
                "in its first row.</p>\n",
                out);
    orr_report__table(in, nevers ? orr_report_sql__queues_with_nevers : orr_report_sql__queues, 40,
                      "No queue has jobs.", out);
}

static void section(FILE *out, const char *prefix, const char *id, const char *title)
{
    (void)fprintf(out, "<h2 id=\"%s%s\">%s</h2>\n", prefix, id, title);
}

/* Where a figure of a results file is drawn to. */
static void figure_path(const char *db_path, const char *name, const char *scratch, char *path,
                        size_t bytes)
{
    const char *slash = strrchr(db_path, '/');
    const char *file = slash != NULL ? slash + 1 : db_path;
    const char *dot = strrchr(file, '.');
    const size_t stem = dot != NULL ? (size_t)(dot - file) : strlen(file);
    (void)snprintf(path, bytes, "%s/%.*s-%s.svg", scratch, (int)stem, file, name);
}

void orr_report__figure(const char *db_path, const char *name, const char *caption,
                        const char *scratch, const char *prefix, FILE *out)
{
    char path[4600];
    figure_path(db_path, name, scratch, path, sizeof path);
    FILE *svg = fopen(path, "r");
    if (svg == NULL) { /* it has nothing to show */
        return;
    }
    (void)fprintf(out, "<figure id=\"%sfigure-%s\">\n", prefix, name);
    orr_report__svg(svg, out);
    (void)fclose(svg);
    (void)remove(path); /* another run's file may have the same name */
    (void)fputs("<figcaption>", out);
    orr_xml_text(out, caption);
    (void)fputs("</figcaption>\n</figure>\n", out);
}

static bool is_among(const char *name, const char *const *names)
{
    for (; names != NULL && *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

void orr_report__left_out(void *context, const char *path, const char *message)
{
    FILE *left_out = context;
    if (path == NULL) {
        (void)fputs(ftell(left_out) > 0 ? "; " : "<p class=\"soft\">Not drawn: ", left_out);
        orr_xml_text(left_out, message);
    }
}

static void figures(struct orr_results *in, const struct orr_report_options *report,
                    const char *prefix, const char *const *but, FILE *out)
{
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    struct orr_err err = {0};
    uint32_t count;
    char *text = NULL;
    size_t bytes = 0;
    const struct orr_plot_info *list = orr_plot_list(&count);
    const char **names = orr_alloc(count + (size_t)1, sizeof *names);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_among(list[i].name, but)) {
            names[options.count++] = list[i].name;
        }
    }
    options.figures = names;
    options.dir = report->scratch;
    options.interrupted = report->interrupted;
    FILE *left_out = open_memstream(&text, &bytes);
    ORR_ASSERT(left_out != NULL);
    const enum orr_status status =
        orr_plot_run(in->path, &options, orr_report__left_out, left_out, &err);
    (void)fclose(left_out);
    if (status != ORR_OK) {
        (void)fputs("<p>No figures: ", out);
        orr_xml_text(out, status == ORR_UNAVAILABLE ? "gnuplot was not found." : err.text);
        (void)fputs("</p>\n", out);
    }
    for (uint32_t i = 0, f = 0; i < count && status == ORR_OK; i++) {
        if (f < options.count && names[f] == list[i].name) {
            orr_report__figure(in->path, list[i].name, list[i].summary, report->scratch, prefix,
                               out);
            f++;
        }
    }
    (void)fprintf(out, "%s%s", text, bytes > 0 ? ".</p>\n" : "");
    free(text);
    orr_free(names);
}

static void long_text(struct orr_results *in, const char *sql, const char *title, FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    while (orr_results_step(in, row)) {
        (void)fprintf(out, "<details><summary>%s</summary><pre>", title);
        orr_xml_text(out, orr_results_text(in, row, 0));
        (void)fputs("</pre></details>\n", out);
    }
}

static void provenance(struct orr_results *in, FILE *out)
{
    orr_report__table(in, orr_report_sql__run, ROWS_MOST, "", out);
    orr_report__table(in, orr_report_sql__inputs, ROWS_MOST,
                      "no input files: the workload was generated", out);
    long_text(in, orr_report_sql__rejected_rows, "rejected rows, the first of each file", out);
    long_text(in, orr_report_sql__parameters, "parameters of the policy", out);
    long_text(in, orr_report_sql__scenario, "the scenario, with every default filled in", out);
    long_text(in, orr_report_sql__meta, "where and when it was made", out);
    (void)fputs("<h3>Every number, with its definition</h3>\n<details><summary>metrics of all "
                "jobs</summary>\n",
                out);
    orr_report__table(in, orr_report_sql__metrics, 1000, "", out);
    (void)fputs("</details>\n", out);
}

/* What a reader asks first, in words, with the place where there is more. */
static void in_short(struct orr_results *in, const struct orr_report_walk *walk,
                     const struct orr_report_trust *trust, const char *prefix, FILE *out)
{
    (void)fputs("<dl class=\"short\">\n", out);
    for (int q = 0; q < ORR_REPORT_QUESTIONS; q++) {
        if (!orr_report__has_answer(in, (enum orr_report_question)q)) {
            continue;
        }
        (void)fprintf(out, "<dt><a href=\"#%s%s\">%s</a></dt>\n<dd>", prefix,
                      orr_report__sections[q], orr_report__questions[q]);
        orr_report__answer(in, (enum orr_report_question)q, walk, trust, out);
        (void)fputs("</dd>\n", out);
    }
    (void)fputs("</dl>\n", out);
}

static void evictions(struct orr_results *in, FILE *out)
{
    orr_report__table(in, orr_report_sql__causes, ROWS_MOST, "No attempt was cut short.", out);
    if (orr_results_int(in, orr_report_sql__evictions_for_others, 0) > 0) {
        (void)fputs("<h3>From whom, for whom</h3>\n<p class=\"soft\">\"For nothing\": the job it "
                    "was done for used none of the room. What a job lost is shared equally over "
                    "its evictions of the same cause.</p>\n",
                    out);
        orr_report__table(in, orr_report_sql__taken, ROWS_MOST, "", out);
    }
}

void orr_report__run(struct orr_results *in, const struct orr_report_options *options,
                     const char *prefix, const char *const *but, FILE *out)
{
    struct orr_report_walk walk;
    orr_report__walk_open(in, &walk); /* walks the whole course of the run: once */
    const struct orr_report_trust trust = orr_report__trust_look(in);
    in_short(in, &walk, &trust, prefix, out);
    headline(in, out);
    section(out, prefix, "waits", "Who waited longest, and why");
    (void)fputs(
        "<p class=\"soft\">Waits are from submit to the first start, or until the job left; "
        "at most three jobs of a queue and size. Jobs are those submitted in the window, "
        "and what they waited for is all of it, to the end of the run.</p>\n",
        out);
    orr_report__table(in, orr_report_sql__longest, ROWS_MOST, "Nobody waited.", out);
    (void)fputs("<h3>What jobs waited for</h3>\n", out);
    orr_report__table(in, orr_report_sql__reasons, ROWS_MOST, "Nobody waited.", out);
    section(out, prefix, "load", "Queues: waits, quota, GPUs held and fair share");
    queues(in, out);
    section(out, prefix, "evictions", "What was evicted, and what it cost");
    evictions(in, out);
    section(out, prefix, "lending", "Who borrowed from whom");
    (void)fputs(
        "<p class=\"soft\">Held beyond the own quota while others held less than theirs, from "
        "each change to the next within the window, shared out in proportion.</p>\n",
        out);
    orr_report__lending_table(&walk.lending, out);
    orr_report__walk_close(&walk);
    if (orr_report__has_answer(in, ORR_REPORT_OBJECTIVES)) {
        section(out, prefix, "objectives", "Objectives of services and sessions");
        (void)fputs(
            "<p class=\"soft\">Requests count from the window on, jobs if submitted in it; "
            "pods over the whole run. <code>orrery explain</code> of a service says when it "
            "was short of them.</p>\n",
            out);
        orr_report__table(in, orr_report_sql__services, ROWS_MOST, "", out);
    }
    if (orr_report__has_answer(in, ORR_REPORT_EXPECTED)) {
        section(out, prefix, "expected", "What the scenario expects of the run");
        orr_report__table(in, orr_report_sql__expectations, ROWS_MOST, "", out);
    }
    section(out, prefix, "figures", "Figures");
    figures(in, options, prefix, but, out);
    section(out, prefix, "trust", "Can it be trusted?");
    orr_report__trust_list(in, &trust, out);
    section(out, prefix, "provenance", "Provenance");
    provenance(in, out);
}
