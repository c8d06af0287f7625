/* SPDX-License-Identifier: GPL-3.0-or-later */
/* openmetrics.c - series and evictions of a results file under the names that KAI gives its metrics
 * (docs of v0.17: queue controller and scheduler), with times.
 *
 * The text is OpenMetrics 1.0: a family's samples stand together, those of one queue or job in
 * order of time, the last line is # EOF. Times are whole seconds, rounded down: OpenMetrics would
 * take parts of them, `promtool check metrics`, which reads the older text, does not. Buckets of
 * series are at least a second long, and evictions of a job in one second are one sample. */
#include <orrery/analysis/export.h>

#include <errno.h>
#include <string.h>

#include <orrery/analysis/results.h>

struct family {
    const char *name;
    const char *type; /* NULL: not told */
    const char *help;
    const char
        *sql; /* time in ms, value, then labels under their names; in order of labels, time */
};

/* A queue, and what the leaves below it have in a bucket; parents include their children. */
#define OF_QUEUES(value)                                                                           \
    "WITH RECURSIVE under(queue, leaf) AS (SELECT id, id FROM queue WHERE leaf UNION ALL"          \
    " SELECT q.parent, u.leaf FROM under AS u JOIN queue AS q ON q.id = u.queue"                   \
    " WHERE q.parent IS NOT NULL)"                                                                 \
    " SELECT s.at_ms, " value ", q.name AS queue_name"                                             \
    " FROM under AS u JOIN series AS s ON s.queue = u.leaf JOIN queue AS q ON q.id = u.queue"      \
    " GROUP BY q.id, s.at_ms ORDER BY q.id, s.at_ms"

#define OF_QUEUE(column)                                                                           \
    "SELECT b.at_ms, q." column ", q.name AS queue_name"                                           \
    " FROM queue AS q CROSS JOIN (SELECT DISTINCT at_ms FROM series) AS b"                         \
    " WHERE q." column " >= 0 ORDER BY q.id, b.at_ms"

/* The second, seen from 1970, that a time is in: its first ms. */
#define SECOND(at)                                                                                 \
    at " + coalesce(r.clock_origin_ms, 0) - ((" at                                                 \
       " + coalesce(r.clock_origin_ms, 0)) % 1000 + 1000) % 1000"

/* From a cycle in which a share is another; of several in a second the last. */
#define OWN_SHARE(resource, units)                                                                 \
    "SELECT max(f.at_ms) AS at, f.amount / " units ", q.name AS queue_name FROM fair_share_of AS"  \
    " f JOIN queue AS q ON q.id = f.queue CROSS JOIN run AS r WHERE f.resource = '" resource       \
    "' AND f.amount IS NOT NULL GROUP BY q.id, " SECOND("f.at_ms") " ORDER BY q.id, at"

static const struct family families[] = {
    {"kai_queue_info", "gauge", "Queues; always 1.",
     "SELECT b.at_ms, 1, q.name AS queue_name, coalesce(p.name, '') AS parent_queue"
     " FROM queue AS q LEFT JOIN queue AS p ON p.id = q.parent"
     " CROSS JOIN (SELECT min(at_ms) AS at_ms FROM series) AS b"
     " WHERE b.at_ms IS NOT NULL ORDER BY q.id"},
    {"kai_queue_deserved_gpus", "gauge", "GPU quota of a queue; a queue without one has no sample.",
     OF_QUEUE("gpu_quota")},
    {"kai_queue_allocated_gpus", "gauge",
     "GPUs that a queue and all below it hold; mean from the time on to the next.",
     OF_QUEUES("sum(s.allocated_mgpu) / 1000.0")},
    {"kai_queue_fair_share_gpu", "gauge",
     "GPUs that the policy itself held to be fair; none where it has no such number.",
     "SELECT s.at_ms, s.policy_share_mgpu / 1000.0, q.name AS queue_name FROM series AS s"
     " JOIN queue AS q ON q.id = s.queue WHERE s.policy_share_mgpu IS NOT NULL"
     " ORDER BY q.id, s.at_ms"},
    {"kai_queue_fair_share_cpu_cores", "gauge",
     "CPUs that the policy itself held to be fair from the time on; where queues divide them.",
     OWN_SHARE("cpu", "1000.0")},
    {"kai_queue_fair_share_memory_gb", "gauge",
     "Memory in 10^9 bytes that the policy itself held to be fair, as of CPUs.",
     OWN_SHARE("memory", "1e9")},
    {"orrery_queue_entitled_gpus", "gauge",
     "Weighted max-min share of what is asked for, by a judge apart from the policy.",
     OF_QUEUES("sum(s.share_mgpu) / 1000.0")},
    {"orrery_queue_pending_gpus", "gauge", "GPUs that waiting jobs ask for.",
     OF_QUEUES("sum(s.pending_mgpu) / 1000.0")},
    {"orrery_queue_pending_jobs", "gauge", "Jobs that wait.", OF_QUEUES("sum(s.pending_jobs)")},
    /* A counter; but OpenMetrics would have its family without _total, and the older text format,
     * which `promtool check metrics` reads, with it. Without a type the text is right in both. */
    {"kai_pod_group_evicted_pods_total", NULL, "Pods of a job that were evicted until then.",
     "SELECT e.at_ms, sum(e.pods) OVER (PARTITION BY e.job, e.cause ORDER BY e.at_ms), e.name AS"
     " podgroup, e.queue AS namespace, e.job AS uid, e.shard AS nodepool,"
     " CASE e.cause WHEN 'consolidate' THEN 'consolidation' WHEN 'stale gang' THEN"
     " 'stalegangeviction' ELSE e.cause END AS action"
     " FROM (SELECT e.job, e.cause, max(e.at_ms) AS at_ms, sum(e.pods) AS pods, j.name AS name, "
     "q.name AS queue,"
     " h.name AS shard FROM eviction AS e JOIN job AS j ON j.id = e.job"
     " JOIN queue AS q ON q.id = j.queue LEFT JOIN shard_queue AS s ON s.queue = q.id"
     " LEFT JOIN shard AS h ON h.id = s.shard CROSS JOIN run AS r"
     " GROUP BY e.job, e.cause, " SECOND("e.at_ms") ") AS e ORDER BY e.job, e.cause, e.at_ms"},
    {"kai_scenarios_simulation_by_action", NULL, "Sets of victims that were simulated until then.",
     "SELECT r.end_ms, m.value, replace(m.label, 'action=', '') AS action FROM metric AS m CROSS"
     " JOIN run AS r WHERE m.name = 'scenarios_simulated' AND m.scope = 'action'"},
};

/* A label's value between quotes. */
static void put_value(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '"' || *text == '\n') {
            (void)fputc('\\', out);
        }
        (void)fputc(*text == '\n' ? 'n' : *text, out);
    }
}

static void put_sample(const struct family *family, sqlite3_stmt *row, orr_ms origin_ms, FILE *out)
{
    const orr_ms at_ms = sqlite3_column_int64(row, 0) + origin_ms;
    const orr_ms at_s = at_ms / 1000 - (at_ms % 1000 < 0);
    (void)fprintf(out, "%s{", family->name);
    for (int c = 2; c < sqlite3_column_count(row); c++) {
        const char *value = (const char *)sqlite3_column_text(row, c);
        (void)fprintf(out, "%s%s=\"", c > 2 ? "," : "", sqlite3_column_name(row, c));
        put_value(value != NULL ? value : "", out);
        (void)fputc('"', out);
    }
    (void)fprintf(out, "} %.15g %lld\n", sqlite3_column_double(row, 1), (long long)at_s);
}

enum orr_status orr_export_openmetrics(const char *path, FILE *out, struct orr_err *err)
{
    struct orr_results in;
    orr_results_open(&in, path, err);
    orr_ms origin_ms = orr_results_int(&in, "SELECT clock_origin_ms FROM run", 0);
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        const struct family *family = &families[f];
        bool any = false;
        sqlite3_stmt *row = orr_results_prepare(&in, family->sql);
        while (orr_results_step(&in, row)) {
            if (!any) {
                (void)fprintf(out, "# HELP %s %s\n", family->name, family->help);
                if (family->type != NULL) {
                    (void)fprintf(out, "# TYPE %s %s\n", family->name, family->type);
                }
                any = true;
            }
            put_sample(family, row, origin_ms, out);
        }
    }
    enum orr_status status = in.status;
    if (status == ORR_OK) {
        (void)fputs("# EOF\n", out);
    }
    if (status == ORR_OK && (ferror(out) || fflush(out) != 0)) {
        status = orr_fail(err, ORR_IO, "cannot write: %s", strerror(errno));
    }
    orr_results_close(&in);
    return status;
}
