/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_int.h - what the explanations share. */
#ifndef ORR_EXPLAIN_INT_H
#define ORR_EXPLAIN_INT_H

#include <orrery/analysis/explain.h>
#include <orrery/analysis/results.h>

struct orr_explain_job {
    int64_t id, queue, kind;
    const char *name, *queue_name, *kind_name, *user;
    double gpus;
    int64_t pods, min_pods, state, evictions;
    orr_ms submit_ms, start_ms, end_ms, run_end_ms; /* ORR_MS_NONE: never */
};

/* Finds a job by name; a near one is named in the error. */
bool orr_explain__job(struct orr_results *in, const char *name, struct orr_explain_job *job);
/* "day 2 03:04:05" of the run's clock, or "03:04:05" on its first day; needs 40 bytes. */
const char *orr_explain__clock(orr_ms at, char *out);
/* "4 min" and such of a span; needs 24 bytes. */
const char *orr_explain__span(orr_ms span, char *out);
/* Binds integers 1.. in order. */
sqlite3_stmt *orr_explain__query(struct orr_results *in, const char *sql, const int64_t *values,
                                 int count);
/* The reason of a row of `reason_sql` and its numbers, as a sentence without a full stop. */
extern const char orr_explain__reason_columns[];
void orr_explain__reason(struct orr_results *in, sqlite3_stmt *row, int first, FILE *out);
/* Queues of the same parent with what each holds at a time, entitled to first. */
void orr_explain__siblings(struct orr_results *in, int64_t queue, orr_ms at, FILE *out);

#endif
