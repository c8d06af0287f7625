/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_job.c - the story of one job. */
#include "explain_int.h"

#include <string.h>

#define BAR 72 /* characters of the line of time */

static void say_head(const struct orr_explain_job *job, FILE *out)
{
    (void)fprintf(out, "Job %s of queue %s%s%s (%s) asks %g GPUs in %lld pod%s%s", job->name,
                  job->queue_name, job->user[0] != '\0' ? ", user " : "", job->user, job->kind_name,
                  job->gpus, (long long)job->pods, job->pods == 1 ? "" : "s",
                  job->pods == 1 || job->min_pods < job->pods ? "" : ", all together");
    if (job->min_pods < job->pods) {
        (void)fprintf(out, ", at least %lld at a time", (long long)job->min_pods);
    }
    (void)fprintf(out, ".\n");
}

/* Everything that happened to the job, in order, one row each: when, what (a word), and an id. */
static const char story_sql[] =
    "SELECT at_ms, what, id FROM ("
    " SELECT submit_ms AS at_ms, 0 AS turn, 'submit' AS what, id FROM job WHERE id = ?1"
    " UNION ALL SELECT eligible_ms, 1, 'eligible', job FROM hold WHERE job = ?1 AND eligible_ms IS"
    " NOT NULL"
    " UNION ALL SELECT start_ms, 5, 'start', nr FROM v_attempts WHERE job = ?1"
    " UNION ALL SELECT at_ms, 3, 'evict', rowid FROM eviction WHERE job = ?1"
    " UNION ALL SELECT at_ms, 4, 'reason', rowid FROM reason_change WHERE job = ?1 AND reason <>"
    " (SELECT id FROM reason WHERE code = 'gave-up')"
    " UNION ALL SELECT end_ms, 6, iif(state = 4, 'leave', 'end'), id FROM job WHERE id = ?1 AND"
    " end_ms IS NOT NULL)"
    " ORDER BY at_ms, turn, id";

static void say_start(struct orr_results *in, const struct orr_explain_job *job, int64_t nr,
                      FILE *out)
{
    const int64_t values[] = {job->id, nr};
    sqlite3_stmt *row = orr_explain__query(
        in,
        "SELECT n.name, sum(p.mgpu) / 1000.0 FROM v_placements AS p JOIN node AS n ON n.id = p.node"
        " JOIN v_attempts AS a ON a.job = p.job AND a.nr = p.nr"
        " WHERE p.job = ?1 AND p.nr = ?2 AND p.start_ms <= a.start_ms GROUP BY n.id ORDER BY n.id",
        values, 2);
    uint32_t shown = 0, more = 0;
    (void)fprintf(out, "%s", nr > 1 ? "starts again on" : "starts on");
    while (orr_results_step(in, row)) {
        if (shown < 6) {
            (void)fprintf(out, "%s %s (%g)", shown++ > 0 ? "," : "", orr_results_text(in, row, 0),
                          sqlite3_column_double(row, 1));
        } else {
            more++;
        }
    }
    if (more > 0) {
        (void)fprintf(out, " and %u more nodes", more);
    }
}

static void say_eviction(struct orr_results *in, int64_t id, FILE *out)
{
    sqlite3_stmt *row = orr_explain__query(
        in,
        "SELECT e.cause, e.pods, e.whole, f.name, q.name, e.used, e.gone_ms - e.at_ms"
        " FROM eviction AS e LEFT JOIN job AS f ON f.id = e.for_job LEFT JOIN queue AS q ON"
        " q.id = f.queue WHERE e.rowid = ?1",
        &id, 1);
    while (orr_results_step(in, row)) {
        char grace[24];
        if (sqlite3_column_int(row, 2) != 0) {
            (void)fprintf(out, "is evicted (%s)", orr_results_text(in, row, 0));
        } else {
            (void)fprintf(out, "loses %lld pods (%s)", (long long)sqlite3_column_int64(row, 1),
                          orr_results_text(in, row, 0));
        }
        if (sqlite3_column_type(row, 3) != SQLITE_NULL) {
            (void)fprintf(out, " for job %s of %s%s", orr_results_text(in, row, 3),
                          orr_results_text(in, row, 4),
                          sqlite3_column_type(row, 5) == SQLITE_NULL ? ""
                          : sqlite3_column_int(row, 5) != 0
                              ? ", which took its place"
                              : ", which did not take its place: for nothing");
        }
        if (sqlite3_column_int64(row, 6) > 0) {
            (void)fprintf(out, "; its GPUs are free %s later",
                          orr_explain__span(sqlite3_column_int64(row, 6), grace));
        }
    }
}

static void say_reason(struct orr_results *in, int64_t id, FILE *out)
{
    char sql[1500];
    (void)snprintf(sql, sizeof sql, "SELECT %s WHERE c.rowid = ?1", orr_explain__reason_columns);
    sqlite3_stmt *row = orr_explain__query(in, sql, &id, 1);
    (void)fputs("waits: ", out);
    while (orr_results_step(in, row)) {
        orr_explain__reason(in, row, 0, out);
    }
}

static void say_story(struct orr_results *in, const struct orr_explain_job *job, FILE *out)
{
    sqlite3_stmt *row = orr_explain__query(in, story_sql, &job->id, 1);
    orr_ms before = ORR_MS_NONE;
    while (orr_results_step(in, row)) {
        const orr_ms at = sqlite3_column_int64(row, 0);
        const char *what = orr_results_text(in, row, 1);
        const int64_t id = sqlite3_column_int64(row, 2);
        char clock[40], later[24] = "";
        if (before != ORR_MS_NONE && at > before) {
            (void)orr_explain__span(at - before, later);
        }
        (void)fprintf(out, "  %-20s %s%-9s ", orr_explain__clock(at, clock),
                      later[0] != '\0' ? "+" : " ", later);
        before = at;
        if (strcmp(what, "submit") == 0) {
            (void)fputs("is submitted", out);
        } else if (strcmp(what, "eligible") == 0) {
            (void)fputs("may be considered from now on", out);
        } else if (strcmp(what, "start") == 0) {
            say_start(in, job, id, out);
        } else if (strcmp(what, "evict") == 0) {
            say_eviction(in, id, out);
        } else if (strcmp(what, "reason") == 0) {
            say_reason(in, id, out);
        } else if (strcmp(what, "leave") == 0) {
            (void)fputs("leaves: it has waited as long as it was ready to", out);
        } else {
            (void)fputs("ends", out);
        }
        (void)fputc('\n', out);
    }
}

/* What it waited for, the longest first. */
static void say_sums(struct orr_results *in, const struct orr_explain_job *job, FILE *out)
{
    sqlite3_stmt *row = orr_explain__query(
        in,
        "SELECT words, sum(to_ms - from_ms) AS span FROM v_reason_intervals WHERE job = ?1"
        " GROUP BY words ORDER BY span DESC",
        &job->id, 1);
    char span[24];
    while (orr_results_step(in, row)) {
        (void)fprintf(out, "  waited %-9s because %s\n",
                      orr_explain__span(sqlite3_column_int64(row, 1), span),
                      orr_results_text(in, row, 0));
    }
    row = orr_explain__query(
        in,
        "SELECT v.rate, v.best, v.gpus, v.nodes, v.extent, sum(v.to_s - v.from_s) AS span"
        " FROM v_rates AS v JOIN job AS j ON j.name = v.job WHERE j.id = ?1"
        " GROUP BY 1, 2, 3, 4, 5 ORDER BY span DESC LIMIT 5",
        &job->id, 1);
    while (orr_results_step(in, row)) {
        (void)fprintf(out,
                      "  ran %-9s at %.3f of its profile's reference (at best %.3f): %g GPUs on %d "
                      "nodes, within one %s\n",
                      orr_explain__span((int64_t)(sqlite3_column_double(row, 5) * 1000.0), span),
                      sqlite3_column_double(row, 0), sqlite3_column_double(row, 1),
                      sqlite3_column_double(row, 2), sqlite3_column_int(row, 3),
                      orr_results_text(in, row, 4));
    }
    row = orr_explain__query(in,
                             "SELECT useful, preempt + reclaim + consolidate + stale_gang + "
                             "node_failure + max_runtime + "
                             "maintenance,"
                             " checkpoint + restart, waiting, slow, idle FROM job_time"
                             " WHERE job = ?1",
                             &job->id, 1);
    while (orr_results_step(in, row)) {
        const double hour = 3600.0 * 1000 * ORR_MGPU;
        (void)fprintf(out,
                      "  of its GPU-hours %.2f were useful, %.2f lost to evictions and failures, "
                      "%.2f spent on checkpoints and restarts, %.2f held while the gang waited; "
                      "of the useful %.2f went by slowly and %.2f idle\n",
                      sqlite3_column_double(row, 0) / hour, sqlite3_column_double(row, 1) / hour,
                      sqlite3_column_double(row, 2) / hour, sqlite3_column_double(row, 3) / hour,
                      sqlite3_column_double(row, 4) / hour, sqlite3_column_double(row, 5) / hour);
    }
}

/* One line: '.' it waits, '#' it runs, 'x' it is evicted in that part. */
static void draw_time(struct orr_results *in, const struct orr_explain_job *job, FILE *out)
{
    const orr_ms from = job->submit_ms;
    const orr_ms to = job->end_ms != ORR_MS_NONE ? job->end_ms : job->run_end_ms;
    char bar[BAR + 1], first[40], last[40];
    if (to <= from) {
        return;
    }
    memset(bar, '.', BAR);
    bar[BAR] = '\0';
    const int64_t values[] = {job->id, to};
    sqlite3_stmt *row = orr_explain__query(
        in,
        "SELECT start_ms, coalesce(end_ms, ?2), cause IS NOT NULL FROM v_attempts WHERE job = ?1",
        values, 2);
    while (orr_results_step(in, row)) {
        orr_ms a = (sqlite3_column_int64(row, 0) - from) * BAR / (to - from);
        orr_ms b = (sqlite3_column_int64(row, 1) - from) * BAR / (to - from);
        a = a < 0 ? 0 : a >= BAR ? BAR - 1 : a;
        b = b <= a ? a + 1 : b > BAR ? BAR : b;
        memset(bar + a, '#', (size_t)(b - a));
        if (sqlite3_column_int(row, 2) != 0) {
            bar[b - 1] = 'x';
        }
    }
    (void)fprintf(out, "  %s\n  %-36s%36s\n  . waits   # runs   x is evicted\n", bar,
                  orr_explain__clock(from, first), orr_explain__clock(to, last));
}

enum orr_status orr_explain_job(const char *db_path, const char *name, FILE *out,
                                struct orr_err *err)
{
    struct orr_results in;
    struct orr_explain_job job;
    orr_results_open(&in, db_path, err);
    if (orr_explain__job(&in, name, &job)) {
        say_head(&job, out);
        say_story(&in, &job, out);
        if (job.start_ms == ORR_MS_NONE) {
            (void)fputs("  It never started.\n", out);
        }
        (void)fputc('\n', out);
        say_sums(&in, &job, out);
        (void)fputc('\n', out);
        draw_time(&in, &job, out);
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

/* GPUs that nobody held at a time, on nodes that were there and up. */
static void say_free(struct orr_results *in, orr_ms at, FILE *out)
{
    sqlite3_stmt *row = orr_explain__query(
        in,
        "WITH off AS (SELECT node FROM outage WHERE from_ms <= ?1 AND coalesce(to_ms, 9e18) > ?1"
        " UNION SELECT node FROM away WHERE from_ms <= ?1 AND coalesce(to_ms, 9e18) > ?1)"
        " SELECT (SELECT sum(n.gpus - coalesce(f.gpus, 0)) FROM node AS n LEFT JOIN foreign_pods AS"
        " f ON f.node = n.id WHERE n.id NOT IN off), (SELECT coalesce(sum(mgpu), 0) / 1000.0 FROM"
        " v_placements WHERE start_ms <= ?1 AND coalesce(end_ms, 9e18) > ?1)",
        &at, 1);
    while (orr_results_step(in, row)) {
        const double gpus = sqlite3_column_double(row, 0);
        (void)fprintf(out, "Then %g of the %g GPUs that were up were free.\n",
                      gpus - sqlite3_column_double(row, 1), gpus);
    }
}

enum orr_status orr_explain_job_at(const char *db_path, const char *name, orr_ms at, FILE *out,
                                   struct orr_err *err)
{
    struct orr_results in;
    struct orr_explain_job job;
    bool waits = false;
    orr_results_open(&in, db_path, err);
    if (orr_explain__job(&in, name, &job)) {
        const int64_t values[] = {job.id, at};
        char sql[1800], clock[40], since[24];
        (void)snprintf(sql, sizeof sql,
                       "SELECT c.at_ms, %s JOIN v_pending AS p ON p.job = c.job AND p.from_ms <= ?2"
                       " AND coalesce(p.to_ms, 9e18) > ?2 WHERE c.job = ?1 AND c.at_ms <= ?2"
                       " AND c.at_ms >= p.from_ms ORDER BY c.rowid DESC LIMIT 1",
                       orr_explain__reason_columns);
        sqlite3_stmt *row = orr_explain__query(&in, sql, values, 2);
        while (orr_results_step(&in, row)) {
            waits = true;
            say_head(&job, out);
            (void)fprintf(out,
                          "At %s it waits, for this reason since %s (numbers of when it began): ",
                          orr_explain__clock(at, clock),
                          orr_explain__span(at - sqlite3_column_int64(row, 0), since));
            orr_explain__reason(&in, row, 1, out);
            (void)fputs(".\n", out);
        }
        if (waits) {
            say_free(&in, at, out);
        }
        if (waits) {
            (void)fprintf(out, "Its queue and those beside it then:\n");
            orr_explain__siblings(&in, job.queue, at, out);
        } else if (in.status == ORR_OK) {
            in.status = orr_fail(err, ORR_DATA, "%s: job %s does not wait at %s", db_path, name,
                                 orr_explain__clock(at, clock));
        }
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
