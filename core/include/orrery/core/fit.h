/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fit.h - why an attempt to allocate a job failed, with the numbers behind it, and why a node
 * cannot take a task. */
#ifndef ORR_CORE_FIT_H
#define ORR_CORE_FIT_H

#include <orrery/base/status.h>

ORR_API_BEGIN

/* Why an attempt to allocate failed: KAI's fit errors. */
enum orr_fit_reason {
    ORR_FIT_NONE,
    ORR_FIT_QUEUE_DOES_NOT_EXIST,
    ORR_FIT_PREEMPTION_DELAY_NOT_ELAPSED,
    ORR_FIT_OVER_LIMIT,
    ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA,
    ORR_FIT_TOPOLOGY,
    ORR_FIT_POD_SCHEDULING_ERRORS,
    ORR_FIT_QUEUE_DEPTH, /* ours: not looked at, see queue_depth */
    ORR_FIT_REASONS
};
const char *orr_fit_reason_code(enum orr_fit_reason reason);

/* Why a node cannot take a task: the first of these that holds. */
#define ORR_MISFIT_LIST(X)                                                                         \
    X(NONE, "would fit")                                                                           \
    X(NOT_READY, "not ready or cordoned")                                                          \
    X(AFFINITY, "node selector or affinity does not match")                                        \
    X(TAINT, "taint not tolerated")                                                                \
    X(WORKER, "without the worker label that such a pod needs")                                    \
    X(GPU_TYPE, "kind of GPU request not served")                                                  \
    X(GPU, "not enough GPUs")                                                                      \
    X(CPU, "not enough CPU")                                                                       \
    X(MEMORY, "not enough memory")                                                                 \
    X(PODS, "no room for another pod")                                                             \
    X(EXTENDED, "not enough of an extended resource")                                              \
    X(ZONES, "its NUMA zones cannot be aligned")                                                   \
    X(QUEUE, "the queue's limit or quota, at what it costs there")

enum orr_misfit {
#define X(name, text) ORR_MISFIT_##name,
    ORR_MISFIT_LIST(X)
#undef X
        ORR_MISFITS
};
const char *orr_misfit_words(enum orr_misfit misfit);

struct orr_fit_detail { /* the numbers behind a job's reason, as the last attempt found them */
    uint8_t reason;     /* enum orr_fit_reason */
    /* of OVER_LIMIT, NON_PREEMPTIBLE_OVER_QUOTA: */
    uint8_t kind;                  /* enum orr_share_kind: the resource */
    uint32_t queue;                /* whose limit or quota it is; ORR_NONE: no bound was met */
    double requested, held, bound; /* in the unit of shares */
    /* of all others: */
    uint32_t placed, asked;        /* tasks of the attempt that found a node; all of them */
    uint32_t task;                 /* the first that found no node, or ORR_NONE */
    uint32_t nodes;                /* nodes that were looked at for it */
    uint32_t misfits[ORR_MISFITS]; /* of these, by what kept the task off */
};

ORR_API_END

#endif
