/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_int.h - what the checks of a schedule share. */
#ifndef ORR_AUDIT_INT_H
#define ORR_AUDIT_INT_H

#include <orrery/analysis/audit.h>

struct orr_audit_instants { /* sorted */
    orr_ms *at;
    uint32_t count;
};

struct orr_audit_run {
    const struct orr_schedule *schedule;
    const struct orr_audit_instants *ends_at_once; /* of the jobs of all shards */
    uint32_t rules;
    struct orr_verdict *verdict;
};

static inline bool orr_audit__on(const struct orr_audit_run *run, enum orr_audit_rule rule)
{
    return (run->rules >> rule & 1u) != 0;
}
void orr_audit__found(struct orr_audit_run *run, enum orr_audit_rule rule, orr_ms at_ms,
                      const char *format, ...) ORR_PRINTF(4, 5);

/* TIMES, AMOUNT, GANG, COUNTS, BOOKS: attempt by attempt. */
void orr_audit__attempts(struct orr_audit_run *run);
/* SHARD, DOWN: each span against its node. */
void orr_audit__nodes(struct orr_audit_run *run);
/* CAPACITY, DEVICES, LIMIT, QUOTA, PART, NAMESPACE: who holds what, instant by instant. */
void orr_audit__space(struct orr_audit_run *run);
/* TOGETHER: pods of an attempt in one domain. */
void orr_audit__together(struct orr_audit_run *run);
/* RESIZE: what each pod has, attempt by attempt. */
void orr_audit__resize(struct orr_audit_run *run);
/* LENDING: usage against quotas in the tree of cohorts, flavor by flavor. */
void orr_audit__lending(struct orr_audit_run *run);
/* SHARE, RECLAIM: what queues held, asked and were due when a cycle began. */
void orr_audit__course(struct orr_audit_run *run);
/* VICTIM: each eviction. */
void orr_audit__victims(struct orr_audit_run *run);
/* ORDER, HEAD, PROMISE: who waits, instant by instant. */
void orr_audit__order(struct orr_audit_run *run);
/* RESERVATION: what starts while nodes are kept for a job. */
void orr_audit__reserved(struct orr_audit_run *run);

/* The two queues at which the paths from the root to a and b part, or the last both have. */
struct orr_audit_pair {
    uint32_t a, b;
};
struct orr_audit_pair orr_audit__level(const struct orr_schedule *schedule, uint32_t a, uint32_t b);

/* Says of each span when it was evicted, and of each eviction what it took. Spans are sorted by
 * job. */
void orr_audit__settle_evictions(struct orr_schedule *schedule);

/* Marks the jobs that end in the instant in which all that they end with started. */
void orr_audit__find_at_once(const struct orr_schedule *schedule, bool *at_once);
/* When such jobs end. Caller frees `at`. */
struct orr_audit_instants orr_audit__instants(const struct orr_schedule *schedule);
bool orr_audit__is_instant(const struct orr_audit_instants *instants, orr_ms time);

/* What queues are due of GPUs, in devices. All arrays are by queue; those of another shard, or
 * outside of the division, get 0. */
struct orr_audit_demand {
    const struct orr_audit_queue *queues; /* with the entitlements of the time */
    uint32_t queue_count, shard;
    const double *request; /* held and waited for, children included */
    double total;          /* of nodes that are up */
    const double *usage;   /* parts of the cluster that queues had in the past; NULL: 0 */
    double k;              /* how strongly that counts */
    uint32_t last_in_ties; /* loses every tie of remainders; ORR_NONE: the earlier queue wins */
};
void orr_audit__divide(const struct orr_audit_demand *demand, double *fair);

/* The window of past use that parameters state, lines NAME=VALUE; times of day are told from the
 * clock's origin (ms since 1970). false: a cron line names its boundaries, which is not read. */
bool orr_audit__read_window(const char *params, orr_ms clock_origin_ms,
                            struct orr_audit_window *window);
/* Do kueue's parameters count the resource against quota other than jobs ask it? */
bool orr_audit__is_transformed(const char *params, enum orr_audit_resource kind);
/* The past use of the queues of a schedule's one shard. */
struct orr_audit_past;
struct orr_audit_past *orr_audit__past_open(const struct orr_schedule *schedule);
void orr_audit__past_close(struct orr_audit_past *past); /* NULL: nothing */
/* From a time on, not before the last one noted, a queue holds so much, children included. */
void orr_audit__past_note(struct orr_audit_past *past, orr_ms at_ms, uint32_t queue, int64_t mgpu);
/* By queue, the part of the cluster it had, as a cycle at `now` reads it: of all noted before.
 * Times never go back. Lives until the next call. */
const double *orr_audit__past_usage(struct orr_audit_past *past, orr_ms now);

/* What a job that asks for GPU memory holds of a device of so much memory: rounded down, at least a
 * thousandth. 0: the device is of unknown memory, on which no such job runs. */
int64_t orr_audit__memory_mgpu(int64_t asked_mib, int64_t device_mib);
/* What kai counts it for: hundredths, rounded up. */
int64_t orr_audit__memory_counted_mgpu(int64_t asked_mib, int64_t device_mib);

#define ORR_AUDIT_DEVICES_MAX 64
/* Is it recorded which devices of its node the span has? */
bool orr_audit__knows_devices(const struct orr_schedule *schedule,
                              const struct orr_audit_span *span);
static inline int64_t orr_audit__device_count(const struct orr_audit_span *span)
{
    return __builtin_popcountll(span->devices);
}
/* What the span counts for in its queue: to kai parts of devices are hundredths. */
int64_t orr_audit__counted_mgpu(const struct orr_schedule *schedule,
                                const struct orr_audit_span *span);

/* Does a policy act when rounds begin alone, whatever the scenario states? `otherwise`: it is none
 * of the disciplines, such as a plug-in, of which results do not record it. */
bool orr_audit__acts_in_rounds(const char *policy, bool otherwise);

/* A schedule of the jobs of one shard on its nodes; arrays in its arena, names borrowed. */
void orr_audit__part(const struct orr_schedule *schedule, uint32_t shard,
                     struct orr_schedule *part);

/* One end of a span. */
struct orr_audit_edge {
    orr_ms at_ms;
    uint32_t span;
    enum { ORR_AUDIT_GIVES, ORR_AUDIT_LEAVES, ORR_AUDIT_TAKES } kind;
};
/* GPUs that a node has for jobs: devices, and what its MIG instances count. */
static inline int64_t orr_audit__counted_gpus(const struct orr_audit_node *node)
{
    return node->gpus - node->foreign_gpus + node->mig_gpus;
}

/* What runs since `start_ms` ran as the run began, so that nobody started it; the instant of the
 * begin itself is no exception. */
static inline bool orr_audit__was_given(const struct orr_audit_job *job, orr_ms start_ms)
{
    return job->given && start_ms == job->start_ms;
}

/* Edges in time order, at one instant what is given back first, then what leaves its queue. Caller
 * frees. Spans that end before they start (TIMES says so) have none. */
struct orr_audit_edge *orr_audit__edges(const struct orr_schedule *schedule, size_t *count);

#endif
