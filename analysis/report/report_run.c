/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_run.c - one run: headline, can it be trusted, who waited and why, evictions, lending,
 * figures, provenance. */
#include "report_int.h"
#include "report_sql.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/plot.h>
#include <orrery/base/text.h>

#define ROWS_MOST 20 /* of a table */

/* --- headline --- */

static void card(FILE *out, const char *value, const char *name, const char *what)
{
    (void)fprintf(out, "<div class=\"card\"><b>%s</b>%s<small>%s</small></div>\n", value, name,
                  what);
}

static void time_card(struct orr_results *in, FILE *out, const char *key, const char *name,
                      const char *what)
{
    char rough[24];
    card(out, orr_format_rough(rough, orr_report__metric(in, key)), name, what);
}

static void number_card(struct orr_results *in, FILE *out, const char *key, const char *name,
                        const char *what)
{
    char text[40];
    card(out, orr_report__number(orr_report__metric(in, key), text), name, what);
}

static void percent_card(struct orr_results *in, FILE *out, const char *key, const char *name,
                         const char *what)
{
    char text[40] = "-";
    const double value = orr_report__metric(in, key);
    if (isfinite(value)) {
        (void)snprintf(text, sizeof text, "%.1f %%", 100 * value);
    }
    card(out, text, name, what);
}

/* Only where nodes have a price, or a power. */
static void per_useful_card(struct orr_results *in, FILE *out, const char *key, const char *name,
                            const char *what)
{
    if (isfinite(orr_report__metric(in, key))) {
        number_card(in, out, key, name, what);
    }
}

static void headline(struct orr_results *in, FILE *out)
{
    (void)fputs("<div class=\"cards\">\n", out);
    number_card(in, out, "jobs", "jobs", "taken from the workload");
    number_card(in, out, "unfinished", "unfinished", "had not ended when the run did");
    time_card(in, out, "wait_p50_s", "median wait", "to the first start of all of it");
    time_card(in, out, "wait_p95_s", "95 % wait at most", "services are not in it");
    time_card(in, out, "wait_max_s", "longest wait", "of a job that did start");
    time_card(in, out, "jct_mean_s", "mean completion", "submit to end, of those that ended");
    percent_card(in, out, "gpu_occupancy", "GPU time held", "of nodes that are up");
    percent_card(in, out, "gpu_goodput", "GPU time useful", "held and not lost, slow or idle");
    number_card(in, out, "evictions", "evictions", "jobs cut short, whole run");
    number_card(in, out, "lost_gpu_h", "GPU-hours lost", "work done in vain, whole run");
    number_card(in, out, "quota_debt_gpu_h", "GPU-hours owed", "asked for within quota, not held");
    number_card(in, out, "fairness_jain", "Jain's index", "1: all got alike of their fair share");
    per_useful_card(in, out, "cost_per_useful_gpu_h", "cost of a useful GPU-hour",
                    "nodes at their price, idle ones too");
    per_useful_card(in, out, "energy_kwh_per_useful_gpu_h", "kWh for a useful GPU-hour",
                    "drawn by nodes that are up, idle ones too");
    (void)fputs("</div>\n", out);
}

/* --- sections --- */

/* A row a queue and kind; what only queues have stands in the row of its first kind. A queue of
 * services that came before the window has a row all the same. */
static const char queues_sql[] =
    "WITH m AS (SELECT substr(label, 7, instr(label, ',kind=') - 7) AS queue,"
    " substr(label, instr(label, ',kind=') + 6) AS kind, name, value, min(rowid) OVER (PARTITION"
    " BY label) AS place FROM metric WHERE scope = 'queue' AND instr(label, ',kind=') > 0),"
    " k AS (SELECT queue, kind, min(place) AS place, max(CASE name WHEN 'jobs' THEN value END) AS"
    " jobs, max(CASE name WHEN 'unstarted' THEN value END) AS unstarted, max(CASE name WHEN"
    " 'never_startable' THEN value END) AS nevers, max(CASE name WHEN 'wait_p50_s' THEN value END) "
    "AS p50, max(CASE name WHEN 'wait_p95_s' THEN value END) AS p95,"
    " max(CASE name WHEN 'wait_max_s' THEN value END) AS longest FROM m GROUP BY queue, kind),"
    " b AS (SELECT s.*, min(at_ms + series_ms, window_end_ms) - max(at_ms, window_start_ms) AS ms"
    " FROM series AS s CROSS JOIN run WHERE at_ms + series_ms > window_start_ms AND at_ms <"
    " window_end_ms),"
    " s AS (SELECT queue, sum(allocated_mgpu * ms) / sum(ms) / 1000 AS held, sum(share_mgpu * ms) /"
    " sum(ms) / 1000 AS fair FROM b GROUP BY queue),"
    " h AS (SELECT j.queue AS queue, sum(p.mgpu * (coalesce(p.end_ms, r.end_ms) - p.start_ms)) /"
    " 3600000000.0 AS gpu_h FROM v_placements AS p JOIN job AS j ON j.id = p.job CROSS JOIN run AS"
    " r GROUP BY j.queue),"
    " q AS (SELECT q.id AS id, q.name AS name, q.gpu_quota AS quota, coalesce(h.gpu_h, 0.0) AS"
    " gpu_h FROM queue AS q LEFT JOIN h ON h.queue = q.id WHERE q.leaf)"
    " SELECT q.name AS queue, coalesce(k.kind, (SELECT group_concat(DISTINCT c.name) FROM job AS j"
    " JOIN kind AS c ON c.id = j.kind WHERE j.queue = q.id)) AS kind, coalesce(k.jobs, 0) AS jobs,"
    " k.unstarted AS \"never started\",%s k.p50 AS \"median wait s\", k.p95 AS \"95 %% wait s\","
    " k.longest AS \"longest that started s\", CASE WHEN is_first AND q.quota >= 0 THEN q.quota END"
    " AS \"quota (GPUs)\", CASE WHEN is_first THEN s.held END AS \"GPUs held (mean)\", CASE WHEN"
    " is_first THEN s.fair END AS \"fair share (GPUs, mean)\" FROM q LEFT JOIN (SELECT *,"
    " row_number() OVER (PARTITION BY queue ORDER BY place) = 1 AS is_first FROM k WHERE jobs > 0"
    " UNION ALL SELECT name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1 FROM q WHERE"
    " gpu_h > 0 AND name NOT IN (SELECT queue FROM k WHERE jobs > 0)) AS k ON k.queue = q.name"
    " LEFT JOIN s ON s.queue = q.id WHERE k.queue IS NOT NULL ORDER BY q.gpu_h DESC, q.name,"
    " k.place";

static void queues(struct orr_results *in, FILE *out)
{
    const bool nevers = orr_results_int(in, "SELECT count(*) FROM never", 0) > 0;
    char sql[4000];
    (void)snprintf(sql, sizeof sql, queues_sql,
                   nevers ? " k.nevers AS \"never could have started\"," : "");
    (void)fputs("<p class=\"soft\">Waits are of jobs submitted in the window; a wait that is empty "
                "was not reached, or nobody came in the window. Quota, GPUs held and fair share "
                "are of the whole queue and stand "
                "in its first row.</p>\n",
                out);
    orr_report__table(in, sql, 40, "No queue has jobs.", out);
}

static const char causes_sql[] =
    "WITH c AS (SELECT cause, sum(whole) AS times, count(DISTINCT job) AS jobs FROM eviction GROUP "
    "BY"
    " cause), e AS (SELECT cause, sum(used = 0) AS unused FROM eviction GROUP BY cause),"
    " l AS (SELECT replace(label, 'cause=', '') AS cause, value FROM metric WHERE name ="
    " 'lost_gpu_h' AND scope = 'cause')"
    " SELECT c.cause AS cause, c.times AS \"attempts cut short\", c.jobs AS \"jobs\","
    " l.value AS \"GPU-hours lost\", l.value / nullif(c.times, 0) AS \"each\", e.unused AS \"for "
    "nothing\""
    " FROM c LEFT JOIN e ON e.cause = c.cause LEFT JOIN l ON l.cause = c.cause ORDER BY l.value"
    " DESC";

/* What a job lost by a cause is shared equally over its evictions of that cause. */
static const char evictions_sql[] =
    "WITH e AS (SELECT e.*, count(*) OVER (PARTITION BY e.job, e.cause) AS of_job FROM eviction AS"
    " e WHERE e.for_job IS NOT NULL)"
    " SELECT e.cause AS cause, coalesce(q.name, '') AS \"taken from\", coalesce(f.name, '') AS"
    " \"for\", count(*) AS evictions, sum(e.used = 0) AS \"for nothing\","
    " sum(CASE e.cause WHEN 'preempt' THEN t.preempt WHEN 'reclaim' THEN t.reclaim WHEN"
    " 'consolidate' THEN t.consolidate END / 3.6e9 / e.of_job) AS \"GPU-hours lost\""
    " FROM e JOIN job AS j ON j.id = e.job LEFT JOIN queue AS q ON q.id = j.queue"
    " LEFT JOIN job AS b ON b.id = e.for_job LEFT JOIN queue AS f ON f.id = b.queue"
    " LEFT JOIN job_time AS t ON t.job = e.job GROUP BY 1, 2, 3 ORDER BY 6 DESC, 4 DESC, 2, 3";

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
    (void)fprintf(out, "<figure id=\"%sfigure-%s\">\n", prefix, name);
    if (orr_report__svg(path, out)) {
        (void)fputs("<figcaption>", out);
        orr_xml_text(out, caption);
        (void)fputs("</figcaption>\n", out);
    }
    (void)fputs("</figure>\n", out);
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

/* Figures that show nothing when a query gives 0. */
static bool has_something(struct orr_results *in, const char *name)
{
    static const char *const needs[][2] = {
        {"qq", "SELECT count(*) FROM recorded"},
        {"churn", "SELECT (SELECT count(*) FROM attempt) + (SELECT count(*) FROM eviction)"},
        {"reasons", "SELECT count(*) FROM reason_change"},
        {"debt", "SELECT sum(value) >= 0.05 FROM metric WHERE name = 'quota_debt_gpu_h' AND scope ="
                 " 'all'"}};
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        if (strcmp(needs[i][0], name) == 0) {
            return orr_results_int(in, needs[i][1], 0) > 0;
        }
    }
    return true;
}

static void figures(struct orr_results *in, const struct orr_report_options *report,
                    const char *prefix, const char *const *but, FILE *out)
{
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    struct orr_err err = {0};
    uint32_t count, left = 0;
    const struct orr_plot_info *list = orr_plot_list(&count);
    const char **names = orr_alloc(count + (size_t)1, sizeof *names);
    for (uint32_t i = 0; i < count; i++) {
        if (is_among(list[i].name, but)) {
            continue;
        }
        if (has_something(in, list[i].name)) {
            names[options.count++] = list[i].name;
        } else {
            (void)fprintf(
                out, "%s%s",
                left++ == 0 ? "<p class=\"soft\">Not drawn, since there is nothing of it: " : ", ",
                list[i].summary);
        }
    }
    (void)fputs(left > 0 ? ".</p>\n" : "", out);
    options.figures = names;
    options.dir = report->scratch;
    options.interrupted = report->interrupted;
    const enum orr_status status = orr_plot_run(in->path, &options, NULL, NULL, &err);
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
    orr_report__table(
        in,
        "SELECT name AS scenario, policy, seed, status, digest, orrery_version AS version"
        " FROM run",
        ROWS_MOST, "", out);
    orr_report__table(
        in,
        "SELECT path AS input, format, rows_read AS \"rows\", rows_rejected AS rejected,"
        " substr(sha256, 1, 16) AS \"sha256 (first 16)\" FROM input",
        ROWS_MOST, "no input files: the workload was generated", out);
    long_text(in,
              "SELECT shown FROM (SELECT group_concat(rejected_shown, '') AS shown,"
              " sum(rows_rejected) AS rejected FROM input) WHERE rejected > 0",
              "rejected rows, the first of each file", out);
    long_text(in, "SELECT policy_params FROM run", "parameters of the policy", out);
    long_text(in, "SELECT scenario_resolved FROM run", "the scenario, with every default filled in",
              out);
    long_text(in, "SELECT group_concat(key || ': ' || coalesce(value, ''), char(10)) FROM run_meta",
              "where and when it was made", out);
    (void)fputs("<h3>Every number, with its definition</h3>\n<details><summary>metrics of all "
                "jobs</summary>\n",
                out);
    orr_report__table(in,
                      "SELECT name AS metric, value, unit, n, definition FROM metric WHERE scope = "
                      "'all' ORDER BY rowid",
                      1000, "", out);
    (void)fputs("</details>\n", out);
}

/* What a reader asks first, in words, with the place where there is more. */
static void in_short(struct orr_results *in, const char *prefix, FILE *out)
{
    (void)fputs("<dl class=\"short\">\n", out);
    for (int q = 0; q < ORR_REPORT_QUESTIONS; q++) {
        if (!orr_report__has_answer(in, (enum orr_report_question)q)) {
            continue;
        }
        (void)fprintf(out, "<dt><a href=\"#%s%s\">%s</a></dt>\n<dd>", prefix,
                      orr_report__sections[q], orr_report__questions[q]);
        orr_report__answer(in, (enum orr_report_question)q, out);
        (void)fputs("</dd>\n", out);
    }
    (void)fputs("</dl>\n", out);
}

static void evictions(struct orr_results *in, FILE *out)
{
    orr_report__table(in, causes_sql, ROWS_MOST, "No attempt was cut short.", out);
    if (orr_results_int(in, "SELECT count(*) FROM eviction WHERE for_job IS NOT NULL", 0) > 0) {
        (void)fputs("<h3>From whom, for whom</h3>\n<p class=\"soft\">\"For nothing\": the job it "
                    "was done for used none of the room. What a job lost is shared equally over "
                    "its evictions of the same cause.</p>\n",
                    out);
        orr_report__table(in, evictions_sql, ROWS_MOST, "", out);
    }
}

void orr_report__run(struct orr_results *in, const struct orr_report_options *options,
                     const char *prefix, const char *const *but, FILE *out)
{
    in_short(in, prefix, out);
    headline(in, out);
    section(out, prefix, "waits", "Who waited longest, and why");
    (void)fputs("<p class=\"soft\">Waits are from submit to the first start; at most three jobs of "
                "a queue and size.</p>\n",
                out);
    orr_report__table(in, orr_report_sql__longest, ROWS_MOST, "Nobody waited.", out);
    (void)fputs("<h3>What jobs waited for</h3>\n", out);
    orr_report__table(in, orr_report__reasons_sql, ROWS_MOST, "Nobody waited.", out);
    section(out, prefix, "load", "Queues: waits, quota, GPUs held and fair share");
    queues(in, out);
    section(out, prefix, "evictions", "What was evicted, and what it cost");
    evictions(in, out);
    section(out, prefix, "lending", "Who borrowed from whom");
    (void)fputs(
        "<p class=\"soft\">Held beyond the own quota while others held less than theirs, from "
        "bucket to bucket of the series within the window, shared out in proportion.</p>\n",
        out);
    orr_report__lending_table(in, out);
    if (orr_report__has_answer(in, ORR_REPORT_OBJECTIVES)) {
        section(out, prefix, "objectives", "Objectives of services and sessions");
        (void)fputs(
            "<p class=\"soft\">Requests count from the window on, jobs if submitted in it; "
            "pods over the whole run. <code>orrery explain</code> of a service says when it "
            "was short of them.</p>\n",
            out);
        orr_report__table(in, orr_report__objectives_sql, ROWS_MOST, "", out);
    }
    if (orr_report__has_answer(in, ORR_REPORT_EXPECTED)) {
        section(out, prefix, "expected", "What the scenario expects of the run");
        orr_report__table(in, orr_report__expected_sql, ROWS_MOST, "", out);
    }
    section(out, prefix, "figures", "Figures");
    figures(in, options, prefix, but, out);
    section(out, prefix, "trust", "Can it be trusted?");
    orr_report__trust_list(in, out);
    section(out, prefix, "provenance", "Provenance");
    provenance(in, out);
}
