/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decide.h - what a policy decides at one moment of a run, and why the others wait. */
#ifndef ORR_SIM_DECIDE_H
#define ORR_SIM_DECIDE_H

#include <orrery/sim/scenario.h>

struct orr_decide_options {
    struct orr_scenario_options scenario;
    const char *at; /* a time of the run; NULL: where its decisions begin */
};

struct orr_decided_one {
    const char *deed;   /* start, hold, grow, shrink, evict */
    const char *action; /* NULL: the policy names none */
    const char *job, *queue;
    const char *nodes;   /* "n1, n2 x3": how many pods on each; of what leaves "" */
    const char *for_job; /* for whose sake, or NULL */
    const char *cause;   /* of an eviction, or NULL */
    uint32_t pods;
    int64_t mgpu;
};

struct orr_decided_wait {
    const char *job, *queue;
    const char *reason, *why;
    const char *result; /* how it ended in the last action that looked at it, or NULL */
    const char *nodes;
    uint32_t pods;
    bool has_priority;
    int64_t priority;
    orr_ms planned_ms; /* from when it has nodes, if all others run to their limits; ORR_MS_NONE */
};

struct orr_decided {
    struct orr_arena arena;
    const char *policy; /* "kai", or of shards that differ "kai+fifo" */
    orr_ms at_ms, origin_ms;
    uint32_t nodes, running; /* running: as it was before */
    double gpus;
    struct orr_decided_one *ones;
    uint32_t one_count, one_capacity;
    struct orr_decided_wait *waits; /* in the order of submits */
    uint32_t wait_count;
};

/* Release it in any case. Nothing is written. */
enum orr_status orr_decide(const struct orr_decide_options *options, struct orr_decided *out,
                           struct orr_err *err) ORR_MUST_USE;
void orr_decided_release(struct orr_decided *decided);

#endif
