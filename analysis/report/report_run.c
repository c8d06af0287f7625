/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_run.c - one run: headline, can it be trusted, who waited and why, evictions, lending,
 * figures, provenance. */
#include "report_int.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/plot.h>
#include <orrery/base/text.h>

/* --- headline --- */

static double metric(struct orr_results *in, const char *name)
{
    double value = (double)NAN;
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT value FROM metric WHERE name = ?1 AND scope = 'all' AND label = ''");
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        value = sqlite3_column_type(row, 0) == SQLITE_NULL ? (double)NAN
                                                           : sqlite3_column_double(row, 0);
    }
    return value;
}

static void card(FILE *out, const char *name, const char *what, const char *value)
{
    (void)fprintf(out, "<div class=\"card\" title=\"%s\"><b>%s</b>%s</div>\n", what, value, name);
}

static void time_card(struct orr_results *in, FILE *out, const char *key, const char *name,
                      const char *what)
{
    char rough[24];
    card(out, name, what, orr_format_rough(rough, metric(in, key)));
}

static void number_card(struct orr_results *in, FILE *out, const char *key, const char *format,
                        double factor, const char *name, const char *what)
{
    char text[40] = "-";
    const double value = metric(in, key);
    if (isfinite(value)) {
        /* the formats are those below */
        (void)snprintf(text, sizeof text, strcmp(format, "%") == 0 ? "%.1f %%" : "%.0f",
                       value * factor);
    }
    card(out, name, what, text);
}

static void headline(struct orr_results *in, FILE *out)
{
    (void)fputs("<div class=\"cards\">\n", out);
    number_card(in, out, "jobs", "0", 1, "jobs", "taken from the traces");
    number_card(in, out, "unfinished", "0", 1, "unfinished", "had not ended when the run did");
    time_card(in, out, "wait_p50_s", "median wait", "submit to first start of the whole gang");
    time_card(in, out, "wait_p95_s", "95 % wait at most", "nearest rank; services apart");
    time_card(in, out, "wait_max_s", "longest wait", "of a job that started");
    time_card(in, out, "jct_mean_s", "mean submit to end", "of jobs that finished");
    number_card(in, out, "gpu_occupancy", "%", 100, "GPUs allocated", "of GPU time in the window");
    number_card(in, out, "gpu_goodput", "%", 100, "GPUs useful", "allocated and not lost");
    number_card(in, out, "evictions", "0", 1, "evictions", "attempts ended by the policy");
    number_card(in, out, "lost_gpu_h", "0", 1, "GPU-hours lost", "work that had to be done again");
    number_card(in, out, "quota_debt_gpu_h", "0", 1, "GPU-hours of quota debt",
                "asked for within quota and not held");
    (void)fputs("</div>\n", out);
}

/* Buckets in which something waited although less than 2 % of the GPUs were free. */
static void saturation(struct orr_results *in, FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(
        in,
        "WITH b AS (SELECT sum(allocated_mgpu) AS held, sum(pending_mgpu) AS pending FROM series,"
        " run WHERE at_ms >= window_start_ms AND at_ms < window_end_ms GROUP BY at_ms)"
        " SELECT avg(held >= 0.98 * capacity_mgpu AND pending > 0), avg(pending > 0),"
        " avg(pending) / 1000.0, capacity_mgpu / 1000.0 FROM b, run");
    while (orr_results_step(in, row)) {
        const double full = sqlite3_column_double(row, 0), waits = sqlite3_column_double(row, 1);
        (void)fprintf(
            out,
            "<p>The cluster of %g GPUs was full (98 %% or more held) while jobs waited "
            "<b>%.0f %%</b> of the time, and jobs waited %.0f %% of the time: it is %s. On "
            "average %.1f GPUs were asked for and not held.</p>\n",
            sqlite3_column_double(row, 3), 100 * full, 100 * waits,
            full > 0.5    ? "saturated"
            : full > 0.1  ? "saturated at times"
            : waits > 0.3 ? "not saturated; what waits does so for other reasons than "
                            "a lack of GPUs"
                          : "not saturated",
            sqlite3_column_double(row, 2));
    }
}

static void trust(struct orr_results *in, FILE *out)
{
    const int64_t rejected = orr_results_int(in, "SELECT sum(rows_rejected) FROM input", 0);
    const int64_t read = orr_results_int(in, "SELECT sum(rows_read) FROM input", 0);
    const int64_t recorded = orr_results_int(in, "SELECT count(*) FROM recorded", 0);
    const int64_t open = orr_results_int(in, "SELECT count(*) FROM job WHERE state IN (1, 2)", 0);
    const int64_t whole = orr_results_int(in, "SELECT status = 'finished' FROM run", 0);
    (void)fputs("<ul>\n", out);
    (void)fprintf(out, "<li>%s; %lld jobs had not ended.</li>\n",
                  whole != 0 ? "The run went on until its last job"
                             : "The run was cut before its last job ended",
                  (long long)open);
    (void)fprintf(out, "<li>%lld of %lld trace rows were rejected%s.</li>\n", (long long)rejected,
                  (long long)read, rejected > 0 ? " (see provenance)" : "");
    (void)fputs(
        "<li>One seed, one trace: no number here has an interval. <code>orrery compare</code> "
        "with <code>--replicas</code> gives them.</li>\n",
        out);
    (void)fprintf(out, "<li>%s</li>\n</ul>\n",
                  recorded > 0
                      ? "The trace recorded its starts: <code>orrery calibrate</code> holds "
                        "this run against them."
                      : "The trace recorded no starts: the run cannot be held against what "
                        "happened.");
}

/* --- sections --- */

static const char waits_sql[] =
    "WITH why AS (SELECT job, words, sum(to_ms - from_ms) AS span, max(sum(to_ms - from_ms)) OVER"
    " (PARTITION BY job) AS most FROM v_reason_intervals GROUP BY job, words)"
    " SELECT j.name AS job, q.name AS queue, j.mgpu / 1000.0 AS GPUs,"
    " (coalesce(w.start_ms, r.end_ms) - w.from_ms) / 1000.0 AS \"waited s\","
    " CASE WHEN w.start_ms IS NULL THEN 'never started' ELSE '' END AS \" \","
    " max(y.words) AS \"mostly because\" FROM v_waits AS w JOIN job AS j ON j.id = w.job"
    " LEFT JOIN queue AS q ON q.id = j.queue CROSS JOIN run AS r LEFT JOIN why AS y ON y.job = j.id"
    " AND y.span = y.most WHERE w.state > 0 GROUP BY j.id"
    " ORDER BY coalesce(w.start_ms, r.end_ms) - w.from_ms DESC, j.id LIMIT 10";

static const char reasons_sql[] =
    "SELECT i.words AS reason, count(DISTINCT i.job) AS jobs, sum(i.to_ms - i.from_ms) / 1000.0 AS"
    " \"in all s\", sum((i.to_ms - i.from_ms) * j.mgpu) / 3.6e9 AS \"GPU-hours waited\" FROM"
    " v_reason_intervals AS i JOIN job AS j ON j.id = i.job GROUP BY i.words"
    " ORDER BY sum((i.to_ms - i.from_ms) * j.mgpu) DESC";

static const char queues_sql[] =
    "SELECT queue, quota_gpus AS quota, jobs, gpu_h AS \"GPU-hours\", wait_p50_s AS \"median wait "
    "s\","
    " wait_p95_s AS \"95 % wait s\", wait_max_s AS \"longest wait s\", evictions FROM v_queues"
    " WHERE jobs > 0 ORDER BY gpu_h DESC LIMIT 30";

static const char evictions_sql[] =
    "SELECT e.cause, coalesce(q.name, '') AS \"taken from\", coalesce(f.name, 'not told') AS "
    "\"for\","
    " count(*) AS evictions, sum(e.used = 0) AS \"for nothing\" FROM eviction AS e JOIN job AS j ON"
    " j.id = e.job LEFT JOIN queue AS q ON q.id = j.queue LEFT JOIN job AS b ON b.id = e.for_job"
    " LEFT JOIN queue AS f ON f.id = b.queue GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 20";

static const char lost_sql[] =
    "SELECT sum(useful) / 3.6e9 AS useful, sum(preempt) / 3.6e9 AS preempt, sum(reclaim) / 3.6e9 AS"
    " reclaim, sum(consolidate) / 3.6e9 AS consolidate, sum(stale_gang) / 3.6e9 AS \"stale gang\","
    " sum(node_failure) / 3.6e9 AS \"node failure\", sum(checkpoint) / 3.6e9 AS checkpoints,"
    " sum(restart) / 3.6e9 AS restarts, sum(waiting) / 3.6e9 AS \"held for the gang\" FROM job_time"
    " HAVING count(*) > 0";

/* In each bucket: who held more than its quota borrowed it from those who held less, in proportion.
 */
static const char lending_sql[] =
    "WITH b AS (SELECT s.at_ms AS at_ms, q.id AS id, q.name AS name,"
    " max(0, s.allocated_mgpu - q.gpu_quota * 1000) AS borrowed,"
    " max(0, q.gpu_quota * 1000 - s.allocated_mgpu) AS idle"
    " FROM series AS s JOIN queue AS q ON q.id = s.queue WHERE q.gpu_quota >= 0),"
    " t AS (SELECT at_ms, sum(borrowed) AS borrowed, sum(idle) AS idle FROM b GROUP BY at_ms)"
    " SELECT l.name AS lender, w.name AS borrower, sum(l.idle * min(1.0, t.borrowed / t.idle) *"
    " w.borrowed / t.borrowed) * max(r.series_ms) / 3.6e9 AS \"GPU-hours lent\" FROM b AS l JOIN b "
    "AS w"
    " ON w.at_ms = l.at_ms AND w.id <> l.id JOIN t ON t.at_ms = l.at_ms CROSS JOIN run AS r WHERE"
    " l.idle > 0 AND w.borrowed > 0 GROUP BY l.id, w.id HAVING \"GPU-hours lent\" >= 0.5"
    " ORDER BY \"GPU-hours lent\" DESC LIMIT 20";

static void section(FILE *out, const char *id, const char *title)
{
    (void)fprintf(out, "<h2 id=\"%s\">%s</h2>\n", id, title);
}

static void figures(struct orr_results *in, const char *scratch, FILE *out)
{
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    struct orr_err err = {0};
    uint32_t count;
    const struct orr_plot_info *list = orr_plot_list(&count);
    options.dir = scratch;
    const enum orr_status status = orr_plot_run(in->path, &options, NULL, NULL, &err);
    if (status != ORR_OK) {
        (void)fputs("<p>No figures: ", out);
        orr_report__text(out, status == ORR_UNAVAILABLE ? "gnuplot was not found." : err.text);
        (void)fputs("</p>\n", out);
        return;
    }
    const char *slash = strrchr(in->path, '/');
    const char *name = slash != NULL ? slash + 1 : in->path;
    const char *dot = strrchr(name, '.');
    const size_t stem = dot != NULL ? (size_t)(dot - name) : strlen(name);
    const bool recorded = orr_results_int(in, "SELECT count(*) FROM recorded", 0) > 0;
    for (uint32_t i = 0; i < count; i++) {
        char path[4600];
        if (strcmp(list[i].name, "qq") == 0 && !recorded) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%.*s-%s.svg", scratch, (int)stem, name, list[i].name);
        (void)fprintf(out, "<figure id=\"figure-%s\">\n", list[i].name);
        if (orr_report__svg(path, out)) {
            (void)fprintf(out, "<figcaption>%s</figcaption>\n", list[i].summary);
        }
        (void)fputs("</figure>\n", out);
    }
}

static void long_text(struct orr_results *in, const char *sql, const char *title, FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    while (orr_results_step(in, row)) {
        (void)fprintf(out, "<details><summary>%s</summary><pre>", title);
        orr_report__text(out, orr_results_text(in, row, 0));
        (void)fputs("</pre></details>\n", out);
    }
}

static void provenance(struct orr_results *in, FILE *out)
{
    orr_report__table(
        in,
        "SELECT name AS scenario, policy, seed, status, digest, orrery_version AS version"
        " FROM run",
        "", out);
    orr_report__table(
        in,
        "SELECT path AS input, format, rows_read AS \"rows\", rows_rejected AS rejected,"
        " substr(sha256, 1, 16) AS \"sha256 (first 16)\" FROM input",
        "no input files: the workload was generated", out);
    long_text(in,
              "SELECT group_concat(rejected_shown, '') FROM input HAVING sum(rows_rejected) > 0",
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
                      "", out);
    (void)fputs("</details>\n", out);
}

void orr_report__run(struct orr_results *in, const char *scratch, FILE *out)
{
    headline(in, out);
    saturation(in, out);
    section(out, "waits", "Who waited longest, and why");
    orr_report__table(in, waits_sql, "nobody waited", out);
    (void)fputs("<h3>Reasons</h3>\n", out);
    orr_report__table(in, reasons_sql, "nobody waited", out);
    (void)fputs("<h3>Queues</h3>\n", out);
    orr_report__table(in, queues_sql, "no queue has jobs", out);
    section(out, "evictions", "What was evicted, and what it cost");
    orr_report__table(in, evictions_sql, "Nothing was evicted.", out);
    (void)fputs("<h3>GPU-hours of jobs that lost some</h3>\n", out);
    orr_report__table(in, lost_sql, "No GPU-hour was lost.", out);
    section(out, "lending", "Who borrowed from whom");
    (void)fputs(
        "<p class=\"soft\">Held beyond the own quota while others held less than theirs, from "
        "bucket to bucket of the series, shared out in proportion.</p>\n",
        out);
    orr_report__table(in, lending_sql, "No queue held more than its quota while another held less.",
                      out);
    section(out, "figures", "Figures");
    figures(in, scratch, out);
    section(out, "trust", "Can it be trusted?");
    trust(in, out);
    section(out, "provenance", "Provenance");
    provenance(in, out);
}
