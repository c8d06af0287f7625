/* SPDX-License-Identifier: GPL-3.0-or-later */
/* intake_int.h - what the readers of other programs' records share. */
#ifndef ORR_SIM_INTAKE_INT_H
#define ORR_SIM_INTAKE_INT_H

#include <orrery/sim/intake.h>

#include "expr.h"

enum { INTAKE_JOBS_MAX = 48, INTAKE_RULES_MAX = 64, INTAKE_DROPS_MAX = 64 };
/* A column of maps beside the native ones: GPUs of each pod, whole or a part of one. */
#define INTAKE_POD_GPUS 100u

struct intake_rule {
    const char *pattern, *value;
};

/* One native column: an expression, and what its text becomes. */
struct intake_job_column {
    uint32_t column; /* native, or INTAKE_POD_GPUS */
    const char *name;
    const struct expr *expr;
    struct intake_rule *rules;
    uint32_t rule_count;
    const char *otherwise; /* where no rule matches; NULL: the text stays */
};

struct intake_drop_rule {
    const struct expr *when;
    const char *because;
};

/* What a table of nodes says of each: its columns by their names in a map. */
enum intake_node_column {
    INTAKE_NODE_NAME,
    INTAKE_NODE_GPUS,
    INTAKE_NODE_MODEL,
    INTAKE_NODE_CPU,
    INTAKE_NODE_MEM,
    INTAKE_NODE_COLUMNS
};
extern const char *const intake_node_columns[INTAKE_NODE_COLUMNS];

struct intake_map {
    const char *name, *about;
    struct orr_records_options table;
    struct expr_table columns; /* of the file */
    struct intake_job_column jobs[INTAKE_JOBS_MAX];
    uint32_t job_count;
    struct intake_drop_rule drops[INTAKE_DROPS_MAX];
    uint32_t drop_count;
    /* a series of sums a step instead of jobs */
    const struct expr *series_time;
    orr_ms step_ms; /* 0: jobs */
    const struct expr *sums[8];
    const char *sum_names[8];
    uint32_t sum_count;
    /* a cluster of nodes instead of jobs */
    const struct expr *nodes[INTAKE_NODE_COLUMNS]; /* NULL: not given */
    bool is_nodes;
};

struct intake_file; /* a map that is read, its columns not yet looked up */

/* Reads a map's text and what it says of the table. */
enum orr_status intake_map_read(struct orr_arena *arena, const struct orr_intake_options *options,
                                struct intake_file **file, struct intake_map *map,
                                struct orr_err *err) ORR_MUST_USE;
/* Looks up its columns among those of the table. */
enum orr_status intake_map_bind(struct intake_file *file, const char *path,
                                const struct orr_records *records,
                                const struct orr_intake_options *options, struct intake_map *map,
                                struct orr_err *err) ORR_MUST_USE;

/* orr_intake_sacct of a text in memory; at NULL: of the file. */
enum orr_status intake_sacct_text(const char *path, struct orr_cell text,
                                  const struct orr_intake_options *options, FILE *out,
                                  struct orr_intake_report *report,
                                  struct orr_err *err) ORR_MUST_USE;
/* orr_intake_cluster of one text in memory. */
enum orr_status intake_cluster_text(const char *path, struct orr_cell text,
                                    const struct orr_intake_options *options, FILE *out,
                                    struct orr_intake_report *report,
                                    struct orr_err *err) ORR_MUST_USE;
/* orr_intake_table of a text in memory. */
enum orr_status intake_table_text(const char *name, struct orr_cell text,
                                  const struct orr_intake_options *options, FILE *out,
                                  struct orr_intake_report *report,
                                  struct orr_err *err) ORR_MUST_USE;

/* Slurm: are CPUs taken for GPUs? */
bool intake_counts_cpus(const struct orr_intake_options *options);

/* That so many jobs have more attempts than a cell has room for; nothing of none. */
void intake_note_cut(struct orr_intake_report *report, uint64_t jobs);
struct intake_span { /* of an attempt */
    orr_ms start_ms, end_ms;
};
/* Sorts them and writes them as a cell of recorded_attempts, counted from `from_ms`: what begins
 * before the one before has ended begins with its end, and of more than fit into a cell the last
 * stay. "" of fewer than two. False: not all fit. */
bool intake_attempts(struct intake_span *spans, uint32_t count, orr_ms from_ms,
                     char text[ORR_NAME_MAX + 1]);

struct history; /* history.h */
void intake_history_open(struct history *history, struct orr_intake_report *report,
                         struct orr_err *err);
/* One file's text, with a final NUL that bytes does not count; errors are those of open's `err`. */
void intake_history_text(struct history *history, const char *path, const char *text, size_t bytes);
void intake_history_close(struct history *history);

#endif
