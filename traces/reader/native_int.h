/* SPDX-License-Identifier: GPL-3.0-or-later */
/* native_int.h - the columns of the native format, for its reader and its writer.
 *
 * Both go through struct native_values: what the cells of one row say. native_take makes a row of
 * values and native_give the values of a row, so that what is written is what would be read.
 */
#ifndef ORR_TRACES_NATIVE_INT_H
#define ORR_TRACES_NATIVE_INT_H

#include "reader_int.h"

enum native_type {
    NATIVE_TEXT,
    NATIVE_INSTANT, /* seconds on the clock, may be negative; value in ms */
    NATIVE_SPAN,    /* seconds of a duration; value in ms */
    NATIVE_COUNT,   /* at least 1, at most ORR_COUNT_MAX */
    NATIVE_COUNT0,  /* the same from 0 */
    NATIVE_AMOUNT,  /* milli-CPU, MiB: from 0 */
    NATIVE_SHARE,   /* 0.001..1; value in thousandths */
    NATIVE_LEVEL,   /* 0..1; value in millionths */
    NATIVE_SWITCH,  /* true, false; value 1, 0 */
    NATIVE_KIND     /* value enum orr_kind */
};

/* name, type: in the order in which they are written */
#define NATIVE_COLUMN_LIST(X)                                                                      \
    X(job, TEXT)                                                                                   \
    X(submit_s, INSTANT)                                                                           \
    X(run_s, SPAN)                                                                                 \
    X(template, TEXT)                                                                              \
    X(gpus, COUNT)                                                                                 \
    X(pods, COUNT)                                                                                 \
    X(gpus_per_pod, COUNT0)                                                                        \
    X(gpu_fraction, SHARE)                                                                         \
    X(gpu_memory_mib, AMOUNT)                                                                      \
    X(gpu_devices, COUNT)                                                                          \
    X(mig_profile, TEXT)                                                                           \
    X(cpu_milli, AMOUNT)                                                                           \
    X(mem_mib, AMOUNT)                                                                             \
    X(min_pods, COUNT)                                                                             \
    X(queue, TEXT)                                                                                 \
    X(user, TEXT)                                                                                  \
    X(group, TEXT)                                                                                 \
    X(kind, KIND)                                                                                  \
    X(priority, TEXT)                                                                              \
    X(preemptible, SWITCH)                                                                         \
    X(gpu_model, TEXT)                                                                             \
    X(node_selector, TEXT)                                                                         \
    X(tolerations, TEXT)                                                                           \
    X(topology_required, TEXT)                                                                     \
    X(topology_preferred, TEXT)                                                                    \
    X(time_limit_s, SPAN)                                                                          \
    X(deadline_s, INSTANT)                                                                         \
    X(after, TEXT)                                                                                 \
    X(eligible_s, INSTANT)                                                                         \
    X(give_up_s, SPAN)                                                                             \
    X(profile, TEXT)                                                                               \
    X(checkpoint_s, SPAN)                                                                          \
    X(restart_s, SPAN)                                                                             \
    X(busy, LEVEL)                                                                                 \
    X(recorded_start_s, INSTANT)                                                                   \
    X(recorded_end_s, INSTANT)                                                                     \
    X(recorded_state, TEXT)

enum native_column {
#define X(name, type) COL_##name,
    NATIVE_COLUMN_LIST(X)
#undef X
        NATIVE_COLUMN_COUNT
};

#define NATIVE_BIT(name) ((uint64_t)1 << COL_##name)

extern const char *const native_column_names[NATIVE_COLUMN_COUNT];
extern const enum native_type native_column_types[NATIVE_COLUMN_COUNT];

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
