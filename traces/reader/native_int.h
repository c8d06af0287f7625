/* SPDX-License-Identifier: GPL-3.0-or-later */
/* native_int.h - the columns of the native format, for its reader and its writer.
 *
 * Both go through struct native_values: what the cells of one row say. native_take makes a row of
 * values and native_give the values of a row, so that what is written is what would be read.
 */
#ifndef ORR_TRACES_NATIVE_INT_H
#define ORR_TRACES_NATIVE_INT_H

#include <stdio.h>

#include "reader_int.h"

enum native_type {
    NATIVE_TEXT,
    NATIVE_INSTANT, /* seconds on the clock, may be negative, or a date; value in ms */
    NATIVE_SPAN,    /* seconds of a duration; value in ms */
    NATIVE_GRACE,   /* the same, or -1: for ever */
    NATIVE_COUNT,   /* at least 1, at most ORR_COUNT_MAX */
    NATIVE_COUNT0,  /* the same from 0 */
    NATIVE_AMOUNT,  /* milli-CPU, MiB: from 0 */
    NATIVE_SHARE,   /* 0.001..1; value in thousandths */
    NATIVE_LEVEL,   /* 0..1; value in millionths */
    NATIVE_SWITCH,  /* true, false; value 1, 0 */
    NATIVE_KIND     /* value enum orr_kind */
};

/* name, type, what it says: in the order in which they are written */
#define NATIVE_COLUMN_LIST(X)                                                                      \
    X(job, TEXT, "name of the job, unique in the file; required")                                  \
    X(submit_s, INSTANT, "when it is submitted; required")                                         \
    X(run_s, SPAN, "how long it runs; required unless a template says what runs")                  \
    X(template, TEXT, "name of a template of the scenario; the other columns override it")         \
    X(gpus, COUNT,                                                                                 \
      "whole GPUs of all its pods, to be split into pods; excludes the columns of a pod")          \
    X(pods, COUNT, "pods; default 1")                                                              \
    X(gpus_per_pod, COUNT0, "whole GPUs of each pod")                                              \
    X(gpu_fraction, SHARE, "part of each of gpu_devices GPUs, for each pod")                       \
    X(gpu_memory_mib, AMOUNT, "memory of each of gpu_devices GPUs, for each pod")                  \
    X(gpu_devices, COUNT,                                                                          \
      "GPUs that a pod shares, beside gpu_fraction or gpu_memory_mib; default 1")                  \
    X(mig_profile, TEXT, "MIG instances of each pod: 1g.5gb, 1g.5gb*2")                            \
    X(cpu_milli, AMOUNT, "CPU of each pod; default 0")                                             \
    X(mem_mib, AMOUNT, "memory of each pod; default 0")                                            \
    X(min_pods, COUNT, "pods that must run together, fewer for an elastic job; default all")       \
    X(queue, TEXT, "queue, by its unique name or its path")                                        \
    X(user, TEXT, "who submitted it")                                                              \
    X(group, TEXT, "batch or sweep whose last end matters")                                        \
    X(kind, KIND, "training, interactive, inference or unknown")                                   \
    X(priority, TEXT,                                                                              \
      "whole number, or class: train 50, build-preemptible 75, build 100, inference 125")          \
    X(preemptible, SWITCH, "true or false; default: whether the priority is below 100")            \
    X(gpu_model, TEXT, "GPU model; alternatives are joined by |")                                  \
    X(node_selector, TEXT, "KEY=VALUE, several joined by , or ;")                                  \
    X(tolerations, TEXT, "KEY or KEY=VALUE, with :EFFECT or not, several joined by , or ;")        \
    X(topology_required, TEXT,                                                                     \
      "level (block, rack, node) in one domain of which all pods must be")                         \
    X(topology_preferred, TEXT, "level in one domain of which all pods should be")                 \
    X(sbatch, TEXT,                                                                                \
      "options of sbatch, by blanks: --partition=p --nodes=2 --nice=5; policy slurm heeds them")   \
    X(time_limit_s, SPAN, "requested time: what schedulers know of run_s")                         \
    X(deadline_s, INSTANT, "when it is to be done")                                                \
    X(after, TEXT, "jobs whose end it waits for, joined by , or ;")                                \
    X(think_s, SPAN, "with after: considered so long after the last of these ended")               \
    X(eligible_s, INSTANT, "when it is considered at the earliest")                                \
    X(give_up_s, SPAN, "leaves when it has waited so long for its first start")                    \
    X(preemption_delay_s, SPAN,                                                                    \
      "takes nothing from others for so long after its submit and each eviction (policy kai)")     \
    X(staleness_grace_s, GRACE,                                                                    \
      "may run so long below its minimum, in place of the policy's time for all (policy kai)")     \
    X(profile, TEXT, "performance profile of the scenario")                                        \
    X(checkpoint_s, SPAN, "time between checkpoints")                                              \
    X(restart_s, SPAN, "what a restart costs")                                                     \
    X(busy, LEVEL, "part of the time in which its GPUs compute")                                   \
    X(running_since_s, INSTANT,                                                                    \
      "it runs since then, on running_on, when the run begins (begin of the scenario)")            \
    X(running_on, TEXT,                                                                            \
      "its pods by blanks: NODE, NODE*3 for three, NODE:0-3,6 on these GPUs; roles are cut by |")  \
    X(run_known, SWITCH, "true: run_s is certain, and forecasts do not draw it")                   \
    X(recorded_start_s, INSTANT, "when it really started")                                         \
    X(recorded_end_s, INSTANT, "when it really ended")                                             \
    X(recorded_state, TEXT, "how it really ended")                                                 \
    X(recorded_attempts, TEXT,                                                                     \
      "of several attempts each, by blanks: seconds after recorded_start_s and how many it "       \
      "lasted, 0+3600 32400+60")

enum native_column {
#define X(name, type, says) COL_##name,
    NATIVE_COLUMN_LIST(X)
#undef X
        NATIVE_COLUMN_COUNT
};

#define NATIVE_BIT(name) ((uint64_t)1 << COL_##name)

extern const char *const native_column_names[NATIVE_COLUMN_COUNT];
extern const enum native_type native_column_types[NATIVE_COLUMN_COUNT];
/* Other names of columns, in any case; the last one has no name. */
extern const struct orr_csv_alias native_aliases[];

struct native_values {
    uint64_t given; /* NATIVE_BITs; what is not given has no value below */
    int64_t number[NATIVE_COLUMN_COUNT];
    struct orr_text text[NATIVE_COLUMN_COUNT];
};

static inline bool native_has(const struct native_values *values, uint64_t bits)
{
    return (values->given & bits) != 0;
}

/* Why the values make no job, as a sentence; NULL when they do. */
const char *native_fault(const struct native_values *values);

/* What a column may hold; number columns only. */
struct orr_number native_bounds(enum native_column column);
/* Why a text is none of its column, behind the text; NULL: it is one. */
const char *native_text_fault(enum native_column column, struct orr_text text);
/* A word of a column that is true or false, or a kind. */
bool native_parse_word(enum native_column column, struct orr_text text, int64_t *out);

/* `more`: one more cell, borrowed; NULL: none. */
void native_write_header(FILE *out, uint64_t used, const char *more);
/* `dates`: bits of the instants that are ms since 1970, to be written as dates. */
void native_write_row(FILE *out, const struct native_values *values, uint64_t used, uint64_t dates,
                      const char *more);

/* Texts of the row before, which are often those of the next. */
struct native_memory {
    const char *text[NATIVE_COLUMN_COUNT]; /* arena strings */
    struct orr_last_name last_queue, last_user;
};
/* Fills a pushed row, except for its job and line, from values without a fault. */
void native_take(struct orr_workload *workload, struct orr_row *row,
                 const struct native_values *values, struct native_memory *memory);
/* The values of a row: only those that reading them back needs. */
void native_give(const struct orr_workload *workload, const struct orr_row *row,
                 struct native_values *values);

#endif
