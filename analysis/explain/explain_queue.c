/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_queue.c - why a queue gets what it gets. */
#include "explain_int.h"

#include <string.h>

#include <orrery/base/text.h>

static bool find_queue(struct orr_results *in, const char *name, int64_t *id)
{
    const char *names[1000];
    size_t count = 0;
    bool found = false;
    sqlite3_stmt *row = orr_results_prepare(in, "SELECT id, name FROM queue ORDER BY id");
    while (orr_results_step(in, row)) {
        const char *one = orr_results_text(in, row, 1);
        if (strcmp(one, name) == 0) {
            *id = sqlite3_column_int64(row, 0);
            found = true;
        }
        if (count < 1000) {
            names[count++] = one;
        }
    }
    if (!found && in->status == ORR_OK) {
        const char *near = orr_nearest(name, names, count);
        in->status = orr_fail(in->err, ORR_DATA, "%s: no queue is called \"%s\"%s%s%s", in->path,
                              name, near != NULL ? "; is \"" : "", near != NULL ? near : "",
                              near != NULL ? "\" meant?" : "");
    }
    return found;
}

/* Means over the window of the queue and all below it. */
static void say_means(struct orr_results *in, int64_t id, const char *name, FILE *out)
{
    sqlite3_stmt *row = orr_explain__query(
        in,
        "WITH RECURSIVE below(id) AS (SELECT ?1 UNION ALL"
        " SELECT q.id FROM queue AS q JOIN below AS b ON q.parent = b.id),"
        " bucket(held, share, own, pending) AS ("
        " SELECT sum(s.allocated_mgpu), sum(s.share_mgpu), sum(s.policy_share_mgpu),"
        " sum(s.pending_mgpu) FROM series AS s JOIN below AS b ON b.id = s.queue CROSS JOIN run AS "
        "r"
        " WHERE s.at_ms >= r.window_start_ms AND s.at_ms < r.window_end_ms GROUP BY s.at_ms)"
        " SELECT avg(held) / 1000.0, avg(share) / 1000.0, avg(own) / 1000.0, avg(pending) / 1000.0,"
        " avg(held < share - 1), q.gpu_quota, q.gpu_weight, q.gpu_limit FROM bucket, queue AS q"
        " WHERE q.id = ?1",
        &id, 1);
    while (orr_results_step(in, row)) {
        char limit[40] = "no limit";
        if (sqlite3_column_double(row, 7) >= 0) {
            (void)snprintf(limit, sizeof limit, "limit %g", sqlite3_column_double(row, 7));
        }
        (void)fprintf(
            out,
            "Queue %s: quota %g GPUs, weight %g, %s.\nMean over the window: entitled to %.1f "
            "GPUs (of what it asked for, by quota and weight), held %.1f, asked for %.1f more; "
            "below its entitlement %.0f %% of the time.\n",
            name, sqlite3_column_double(row, 5), sqlite3_column_double(row, 6), limit,
            sqlite3_column_double(row, 1), sqlite3_column_double(row, 0),
            sqlite3_column_double(row, 3), 100 * sqlite3_column_double(row, 4));
        if (sqlite3_column_type(row, 2) != SQLITE_NULL) {
            (void)fprintf(out, "By the policy's own division it was entitled to %.1f.\n",
                          sqlite3_column_double(row, 2));
        }
    }
}

/* What events made of it. */
static void say_changes(struct orr_results *in, int64_t id, FILE *out)
{
    char when[40];
    sqlite3_stmt *row = orr_explain__query(in,
                                           "SELECT at_ms, gpu_quota, gpu_weight, gpu_limit,"
                                           " priority FROM queue_change WHERE queue = ?1"
                                           " ORDER BY rowid",
                                           &id, 1);
    while (orr_results_step(in, row)) {
        char limit[40] = "no limit";
        if (sqlite3_column_double(row, 3) >= 0) {
            (void)snprintf(limit, sizeof limit, "limit %g", sqlite3_column_double(row, 3));
        }
        (void)fprintf(out, "From %s on: quota %g GPUs, weight %g, %s, priority %lld.\n",
                      orr_explain__clock(sqlite3_column_int64(row, 0), when),
                      sqlite3_column_double(row, 1), sqlite3_column_double(row, 2), limit,
                      (long long)sqlite3_column_int64(row, 4));
    }
}

/* Why its jobs waited, and whom it lost GPUs to. */
static void say_reasons(struct orr_results *in, int64_t id, FILE *out)
{
    char span[24];
    sqlite3_stmt *row = orr_explain__query(
        in,
        "SELECT i.words, sum(i.to_ms - i.from_ms) AS span, count(DISTINCT i.job) FROM"
        " v_reason_intervals AS i JOIN job AS j ON j.id = i.job WHERE j.queue = ?1"
        " GROUP BY i.words ORDER BY span DESC LIMIT 5",
        &id, 1);
    (void)fputs("Its jobs waited:\n", out);
    while (orr_results_step(in, row)) {
        (void)fprintf(out, "  %-9s in all, %lld jobs: %s\n",
                      orr_explain__span(sqlite3_column_int64(row, 1), span),
                      (long long)sqlite3_column_int64(row, 2), orr_results_text(in, row, 0));
    }
    row = orr_explain__query(
        in,
        "SELECT e.cause, coalesce(q.name, 'nobody named'), count(*), sum(e.used = 0) FROM eviction "
        "AS"
        " e JOIN job AS j ON j.id = e.job LEFT JOIN job AS f ON f.id = e.for_job LEFT JOIN queue "
        "AS q"
        " ON q.id = f.queue WHERE j.queue = ?1 GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 8",
        &id, 1);
    while (orr_results_step(in, row)) {
        (void)fprintf(out, "  evicted %lld times (%s) for %s%s\n",
                      (long long)sqlite3_column_int64(row, 2), orr_results_text(in, row, 0),
                      orr_results_text(in, row, 1),
                      sqlite3_column_int64(row, 3) > 0 ? ", some of them for nothing" : "");
    }
}

enum orr_status orr_explain_queue(const char *db_path, const char *name, orr_ms at_ms, FILE *out,
                                  struct orr_err *err)
{
    struct orr_results in;
    int64_t id = 0;
    orr_results_open(&in, db_path, err);
    if (find_queue(&in, name, &id)) {
        const orr_ms at = at_ms != ORR_MS_NONE
                              ? at_ms
                              : orr_results_int(&in,
                                                "SELECT at_ms FROM series GROUP BY at_ms"
                                                " ORDER BY sum(pending_mgpu) DESC, at_ms LIMIT 1",
                                                0);
        char clock[40];
        say_means(&in, id, name, out);
        say_changes(&in, id, out);
        (void)fprintf(out, "%s %s, it and those beside it (entitled: mean of the hour or so):\n",
                      at_ms != ORR_MS_NONE ? "At" : "When most was asked for, at",
                      orr_explain__clock(at, clock));
        orr_explain__siblings(&in, id, at, out);
        say_reasons(&in, id, out);
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
