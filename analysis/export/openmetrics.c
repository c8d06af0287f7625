/* SPDX-License-Identifier: GPL-3.0-or-later */
/* openmetrics.c - series and evictions of a results file under the names that KAI gives its metrics
 * (docs of v0.17: queue controller and scheduler), with times.
 *
 * The text is OpenMetrics 1.0: a family's samples stand together, those of one queue or job in
 * order of time, the last line is # EOF. Times are whole seconds, rounded down: OpenMetrics would
 * take parts of them, `promtool check metrics`, which reads the older text, does not. Buckets of
 * series are at least a second long, and evictions of a job in one second are one sample. */
#include <orrery/analysis/export.h>

#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

#include "export_sql.h"

struct family {
    const char *name;
    const char *type; /* NULL: not told */
    const char *help;
    const char *sql; /* of export.sql */
};

static const struct family families[] = {
    {"kai_queue_info", "gauge", "Queues; always 1.", orr_export_sql__queue_info},
    {"kai_queue_deserved_gpus", "gauge",
     "GPU quota of a queue at the time; a queue without one has no sample.",
     orr_export_sql__deserved_gpus},
    {"kai_queue_allocated_gpus", "gauge",
     "GPUs that a queue and all below it hold; mean from the time on to the next.",
     orr_export_sql__allocated_gpus},
    {"kai_queue_fair_share_gpu", "gauge",
     "GPUs that the policy itself held to be fair; none where it has no such number.",
     orr_export_sql__fair_share_gpu},
    {"kai_queue_fair_share_cpu_cores", "gauge",
     "CPUs that the policy itself held to be fair from the time on; where queues divide them.",
     orr_export_sql__fair_share_cpu_cores},
    {"kai_queue_fair_share_memory_gb", "gauge",
     "Memory in 10^9 bytes that the policy itself held to be fair, as of CPUs.",
     orr_export_sql__fair_share_memory_gb},
    {"orrery_queue_entitled_gpus", "gauge",
     "Weighted max-min share of what is asked for, by a judge apart from the policy.",
     orr_export_sql__entitled_gpus},
    {"orrery_queue_pending_gpus", "gauge",
     "GPUs asked for and not held: by jobs that wait, and by those that run of the pods they lack.",
     orr_export_sql__pending_gpus},
    {"orrery_queue_pending_jobs", "gauge", "Jobs that wait.", orr_export_sql__pending_jobs},
    /* A counter; but OpenMetrics would have its family without _total, and the older text format,
     * which `promtool check metrics` reads, with it. Without a type the text is right in both. */
    {"kai_pod_group_evicted_pods_total", NULL, "Pods of a job that were evicted until then.",
     orr_export_sql__evicted_pods},
    {"kai_scenarios_simulation_by_action", NULL, "Sets of victims that were simulated until then.",
     orr_export_sql__scenarios_simulated},
};

/* A label's value between quotes; the format is UTF-8. */
static void put_value(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        const size_t bytes = orr_utf8_bytes(text, strnlen(text, 4));
        if (bytes != 1) {
            (void)fwrite(bytes > 0 ? text : "\xef\xbf\xbd", 1, bytes > 0 ? bytes : 3, out);
            text += bytes > 0 ? bytes - 1 : 0;
            continue;
        }
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
    orr_ms origin_ms = orr_results_int(&in, orr_export_sql__origin, 0);
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
    if (status == ORR_OK) {
        status = orr_export_finish(out, err);
    }
    orr_results_close(&in);
    return status;
}
