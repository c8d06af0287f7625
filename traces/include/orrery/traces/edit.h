/* SPDX-License-Identifier: GPL-3.0-or-later */
/* edit.h - workloads cut, put together, scaled and made nameless. */
#ifndef ORR_TRACES_EDIT_H
#define ORR_TRACES_EDIT_H

#include <stdio.h>

#include <orrery/traces/workload.h>

/* Which rows are meant; what is not given holds for all. */
struct orr_row_filter {
    orr_ms from_ms, until_ms;  /* of the submit, until excluded; ORR_MS_NONE: no bound */
    const char *queue, *user;  /* patterns as of a shell, alternatives by |; NULL: any */
    int kind;                  /* enum orr_kind, or -1 */
    double min_gpus, max_gpus; /* of the whole job; negative: no bound */
    double sample;             /* share of the rows, drawn row by row; negative: all */
    uint64_t seed;
};
extern const struct orr_row_filter orr_row_filter_all;
/* Reads the window's ends, NULL: none, as times of the workload's clock. `prefix` is what stands
 * before "from" and "until" where they were stated. */
enum orr_status orr_row_filter_window(struct orr_row_filter *filter,
                                      const struct orr_workload *workload, const char *prefix,
                                      const char *from, const char *until,
                                      struct orr_err *err) ORR_MUST_USE;

/* Notes what the filter asks for that the rows have not: names of queues and users, each
 * alternative by itself, a kind, times beyond the first or last submit. `prefix` as above. */
void orr_row_filter_note_absent(struct orr_workload *workload, const char *file, const char *prefix,
                                const struct orr_row_filter *filter);

/* Keeps the rows that pass. */
void orr_workload_cut(struct orr_workload *workload, const struct orr_row_filter *filter);

/* Adds the rows of another, sorted in. Where both clocks have a date, theirs moves onto ours. A
 * name of a job that is there already gets "~2", "~3", ..., also where its own file names it in
 * `after`. Returns how many did. */
uint64_t orr_workload_add(struct orr_workload *workload, const struct orr_workload *more);

struct orr_trace_scaling {
    double arrivals;  /* rows that pass come so many times: each is kept or copied by a draw of its
                         own, copies within an hour of it; 1: as they are */
    double run, gpus; /* factors of run times (and limits), and of whole GPUs, at least 1 */
};
/* Scales the rows that pass. A job made of pods gets more or fewer pods, a total another total;
 * parts of GPUs stay. Returns the rows left out because they would be too large. */
uint64_t orr_workload_scale(struct orr_workload *workload, const struct orr_row_filter *filter,
                            const struct orr_trace_scaling *scaling);

/* Jobs, users, queues, groups, templates, classes of priority and nodes lose their names: numbers
 * by order of appearance, or, with a key, the begin of HMAC-SHA256 of the name, the same in every
 * file. Selectors, tolerations, profiles and options of sbatch that name something go, of a
 * recorded state its first word stays, times lose their date. */
void orr_workload_anonymize(struct orr_workload *workload, const char *key);

/* Standard Workload Format to an open file, whose ferror() says whether it failed: processors are
 * GPUs of the whole job. Notes say what the format cannot hold. */
void orr_trace_write_swf(struct orr_workload *workload, FILE *out);

#endif
