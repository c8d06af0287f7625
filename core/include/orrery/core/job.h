/* SPDX-License-Identifier: GPL-3.0-or-later */
/* job.h - what jobs ask: spec and state apart.
 *
 *   shape   what decides whether and where a job fits: its task groups, interned (ten million jobs
 *           have a few hundred). A task group is a run of equal tasks (pods).
 *   spec    one job: when it comes, who owns it, how long it works, its shape. Constant after load.
 *   state   what the ledger has done with it. Written by the ledger alone.
 *
 * A job is a gang: it runs when at least min_tasks of its tasks are placed. One with more tasks
 * than that is elastic: it may grow to all of them and shrink while it runs. Tasks are numbered
 * 0..tasks-1 in group order and are never stored one by one before they are placed.
 */
#ifndef ORR_CORE_JOB_H
#define ORR_CORE_JOB_H

#include <math.h>

#include <orrery/core/cluster.h>
#include <orrery/core/share_kind.h>

ORR_API_BEGIN

enum orr_gpu_ask {
    ORR_GPU_NONE,
    ORR_GPU_WHOLE,    /* count devices */
    ORR_GPU_FRACTION, /* milli-GPU of each of count devices */
    ORR_GPU_MEMORY    /* MiB of each of count devices */
};

struct orr_request {  /* of one task */
    uint8_t gpu_ask;  /* enum orr_gpu_ask */
    uint32_t devices; /* 0 exactly when nothing of a device is asked */
    int64_t portion;  /* FRACTION: milli-GPU, MEMORY: MiB; 0 for WHOLE */
    int64_t cpu_milli, mem_bytes;
    uint16_t instances;   /* of MIG; then it asks no devices, ORR_GPU_NONE */
    uint16_t mig_profile; /* of them, in the cluster; 0 without instances */
    int64_t mig_mgpu;     /* what they count together */
    uint32_t gpu_model;   /* index in cluster models, or ORR_NONE: any */
    uint32_t shard;       /* of the cluster: nodes of others are none of its business */
    /* numbers of cluster filters; 0: any node */
    uint32_t selector;   /* nodes whose labels it asks for */
    uint32_t toleration; /* nodes whose taints it tolerates */
    uint32_t allowed;    /* nodes its queue may use */
};

/* milli-GPU of one task, MIG instances by their g; a memory ask depends on the node, so it counts
 * nothing here, as in KAI */
int64_t orr_request_mgpu(const struct orr_request *request);

/* A part of a device as KAI counts it, in hundredths: milli-GPU. */
static inline int64_t orr_portion_counted_mgpu(double portion)
{
    return (int64_t)(portion * 100 + 0.5) * (ORR_MGPU / 100);
}

/* What so many MiB of a device's memory count to KAI: hundredths of it, rounded up; milli-GPU. KAI
 * divides in double: 7 of 100 becomes 0.08, not 0.07. */
static inline int64_t orr_memory_counted_mgpu(int64_t need_mib, int64_t device_mib)
{
    const double portion = (double)need_mib / (double)device_mib;
    return (int64_t)ceil(portion * 100) * (ORR_MGPU / 100);
}

/* What KAI counts one task for beyond orr_request_mgpu; below 0: it counts for less. */
int64_t orr_request_rounding_mgpu(const struct orr_request *request);

/* milli-GPU by what cannot stand in for one another: devices, and MIG instances of each profile of
 * the cluster by what they count. */
enum { ORR_GPU_KINDS = 1 + ORR_MIG_PROFILES_MAX };
struct orr_gpus {
    int64_t mgpu[ORR_GPU_KINDS]; /* [0] devices, [1 + p] instances of profile p */
};

static inline void orr_gpus_add(struct orr_gpus *sum, const struct orr_gpus *more, int64_t times)
{
    for (int k = 0; k < ORR_GPU_KINDS; k++) {
        sum->mgpu[k] += times * more->mgpu[k];
    }
}

static inline int64_t orr_gpus_sum(const struct orr_gpus *gpus)
{
    int64_t mgpu = 0;
    for (int k = 0; k < ORR_GPU_KINDS; k++) {
        mgpu += gpus->mgpu[k];
    }
    return mgpu;
}

/* Is there enough of each kind that is asked? */
static inline bool orr_gpus_hold(const struct orr_gpus *room, const struct orr_gpus *asked)
{
    for (int k = 0; k < ORR_GPU_KINDS; k++) {
        if (asked->mgpu[k] > 0 && asked->mgpu[k] > room->mgpu[k]) {
            return false;
        }
    }
    return true;
}

static inline uint32_t orr_request_gpu_kind(const struct orr_request *request)
{
    return request->instances > 0 ? 1u + request->mig_profile : 0;
}

/* What of a node's GPUs one task asks, in whole units: devices, or MIG instances. */
static inline uint32_t orr_request_units(const struct orr_request *request)
{
    return request->instances > 0 ? request->instances : request->devices;
}

/* Does a task ask a part of each of its devices, which others may have the rest of? */
static inline bool orr_request_shares(const struct orr_request *request)
{
    return request->gpu_ask == ORR_GPU_FRACTION || request->gpu_ask == ORR_GPU_MEMORY;
}

struct orr_task_group {
    struct orr_request request;
    uint32_t count; /* equal tasks */
    uint32_t set;   /* that they are in; 0 in a shape without sets */
};

/* The part of the topology that all tasks of a gang must, or should, be in together: levels of the
 * cluster from 1, level_count + 1 is a single node; 0: not stated. A preferred level is below the
 * required one or the same. Slices: each slice_size tasks of a kind are together in a domain of
 * slice_level. */
struct orr_span {
    uint32_t required, preferred, slice_level, slice_size;
};

/* A part of a gang that needs some of its tasks, or some of the sets that are in it. Set 0 is the
 * whole. */
struct orr_task_set {
    uint32_t parent; /* less than its own index; ORR_NONE: the whole */
    bool is_tasks;   /* task groups are in it, else sets */
    uint32_t min;    /* so many of them it needs */
    struct orr_span span;
};
enum { ORR_SETS_MAX = 64 }; /* of a shape */

struct orr_shape {
    struct orr_task_group *groups;
    uint32_t group_count;
    uint32_t tasks;               /* of all groups */
    uint32_t min_tasks;           /* the gang; with sets, the fewest that could be enough */
    struct orr_task_set *sets;    /* parents first */
    uint32_t set_count;           /* 0: any min_tasks of the tasks are a gang */
    int64_t gpus_mgpu;            /* of all tasks; memory asks count 0 */
    struct orr_gpus gpus;         /* the same by kind */
    int64_t cpu_milli, mem_bytes; /* of all tasks */
    struct orr_span span;
};

struct orr_shapes { /* the interned shapes of a run */
    struct orr_shape *shapes;
    uint32_t count, capacity;
    struct orr_arena arena;
    uint32_t *slots; /* hash table of index + 1 */
    uint32_t slot_count;
};

void orr_shapes_init(struct orr_shapes *shapes);
void orr_shapes_release(struct orr_shapes *shapes);
/* Index of the shape with these groups (copied if new). min_tasks 0 means all. */
uint32_t orr_shapes_put(struct orr_shapes *shapes, const struct orr_task_group *groups,
                        uint32_t group_count, uint32_t min_tasks);
/* The same for a gang that is held together. */
uint32_t orr_shapes_put_within(struct orr_shapes *shapes, const struct orr_task_group *groups,
                               uint32_t group_count, uint32_t min_tasks, struct orr_span span);

/* The same for a gang whose parts need numbers of their own: groups say in which set they are.
 * There are at most ORR_SETS_MAX sets and groups, and a set has as many members as it needs. */
uint32_t orr_shapes_put_sets(struct orr_shapes *shapes, const struct orr_task_group *groups,
                             uint32_t group_count, const struct orr_task_set *sets,
                             uint32_t set_count);
/* Are the parts of a gang that it needs complete with so many tasks of each group? With sets only.
 */
bool orr_shape_satisfied(const struct orr_shape *shape, const uint32_t *tasks_of_group);
/* Must, or should, its tasks be in one domain together, or those of a part of it? */
bool orr_shape_is_bound(const struct orr_shape *shape);
/* Does a task of one of its groups ask parts of devices (orr_request_shares)? */
static inline bool orr_shape_shares(const struct orr_shape *shape)
{
    bool shares = false;
    for (uint32_t g = 0; g < shape->group_count && !shares; g++) {
        shares = orr_request_shares(&shape->groups[g].request);
    }
    return shares;
}
/* Does one ask GPU memory, of which the node says how many GPUs it is? */
static inline bool orr_shape_asks_memory(const struct orr_shape *shape)
{
    bool asks = false;
    for (uint32_t g = 0; g < shape->group_count && !asks; g++) {
        asks = shape->groups[g].request.gpu_ask == ORR_GPU_MEMORY;
    }
    return asks;
}
/* Does it, or one of its sets, ask for slices? */
bool orr_shape_has_slices(const struct orr_shape *shape);
/* The least of a resource (milli-CPU, bytes, milli-GPU; memory asks count 0) that a gang of this
 * shape holds when it starts: no choice among its tasks needs less. */
int64_t orr_shape_least(const struct orr_shape *shape, enum orr_share_kind kind);
/* The same of GPUs as KAI counts them. */
int64_t orr_shape_least_counted_mgpu(const struct orr_shape *shape);
/* Are the tasks of a group in this set, or in one below it? */
bool orr_shape_has(const struct orr_shape *shape, uint32_t set, uint32_t group);

struct orr_job_spec {
    orr_ms submit_ms;
    orr_ms work_ms;     /* at rate 1.0 */
    orr_ms estimate_ms; /* the user's estimate of it; work_ms when not known */
    uint32_t shape;
    uint32_t queue;   /* leaf index in the queue tree */
    uint32_t source;  /* row of the workload it came from: name, user, line */
    uint32_t terms;   /* how it works and what an eviction costs it; carried through */
    int32_t priority; /* higher goes first */
    uint8_t kind;     /* enum orr_kind of the traces, carried through */
    uint8_t preemptible;
    uint8_t scales; /* its tasks, of one group, come and go while it runs: orr_ledger_unwanted */
};

/* The number of a priority class that KAI ships (train 50, build-preemptible 75, build 100,
 * inference 125). */
bool orr_priority_class(const char *name, int32_t *priority);
/* As users write it: a whole number, a class, or the kind of job a class is meant for (training,
 * interactive). */
bool orr_priority_parse(const char *text, int32_t *priority);

enum orr_job_phase {
    ORR_JOB_FUTURE, /* not submitted yet */
    ORR_JOB_PENDING,
    ORR_JOB_RUNNING,
    ORR_JOB_RELEASING, /* evicted, its grace not over */
    ORR_JOB_FINISHED,
    ORR_JOB_WITHDRAWN /* it left before it ever started */
};

struct orr_job_state { /* all zero while FUTURE; times mean something from PENDING on */
    orr_ms start_ms;   /* of the current or last attempt; ORR_MS_NONE */
    orr_ms first_start_ms;
    orr_ms end_ms;            /* of the job, or when it left; ORR_MS_NONE until then */
    uint32_t placement;       /* first in the ledger's placements, or ORR_NONE */
    uint32_t placement_count; /* entries; a run of tasks on one node each */
    uint32_t placed_tasks;    /* without those that leave */
    uint32_t leaving_tasks;   /* evicted, their grace not over */
    uint16_t incarnation;     /* raised at every start and new plan: older events are stale */
    uint8_t phase;            /* enum orr_job_phase */
    uint8_t reason;           /* enum orr_reason while pending */
    uint16_t evictions;
    uint16_t attempts;
};

ORR_API_END

#endif
