/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conform_int.h - what the loader, the two kinds of entries and the runner share. */
#ifndef ORR_SIM_CONFORM_INT_H
#define ORR_SIM_CONFORM_INT_H

#include <orrery/core/share.h>
#include <orrery/sim/conform.h>

#include "case.h"

struct conform_outcome {
    enum orr_conform_verdict verdict;
    char text[400]; /* failed: what, expected, got; skipped: the feature */
};

/* Sets the outcome once: the first one stays. */
void orr_conform__say(struct conform_outcome *outcome, enum orr_conform_verdict verdict,
                      const char *format, ...) ORR_PRINTF(3, 4);

/* --- fair-share vectors (vector_read.c, vector_run.c) --- */

struct conform_vector_queue {
    const char *name; /* its key; expectations use it */
    const char *uid;
    double created_s; /* CONFORM_UNSET: before everything */
    int64_t priority;
    struct orr_share_resource gpu, cpu, memory;
};

struct conform_vector_args {
    double total, k;
    const char *resource; /* "GPU", "CPU", "Memory" */
};

struct conform_vector_call {
    int64_t id;
    const char *function;
    struct conform_vector_args args;
};

struct conform_vector_share {
    const char *name;
    double amount[ORR_SHARE_KINDS]; /* CONFORM_UNSET: not checked */
};

struct conform_vector {
    const char *id, *function;
    struct conform_vector_queue *queues;
    struct conform_vector_call *calls;
    struct conform_vector_share *shares;
    struct orr_pair *results; /* by call id, as JSON */
    uint32_t queue_count, call_count, share_count, result_count;
    double total[ORR_SHARE_KINDS];
    double k;
};

enum orr_status orr_conform__read_vector(struct conform_reader *reader, struct fy_node *node,
                                         struct conform_vector *out) ORR_MUST_USE;
void orr_conform__run_vector(const struct conform_vector *vector, struct conform_outcome *outcome);

/* --- scheduling cases (case_run.c) --- */

void orr_conform__run_case(const struct conform_case *one, const char *policy,
                           struct conform_outcome *outcome);

/* --- Kueue's vectors (kueue_run.c) --- */

struct conform_kueue;
void orr_conform__run_kueue(const struct conform_kueue *one, struct conform_outcome *outcome);

#endif
