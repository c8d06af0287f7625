/* SPDX-License-Identifier: GPL-3.0-or-later */
/* task.h - a task of a session: what it asks, its status, and where it is. */
#ifndef ORR_CORE_TASK_H
#define ORR_CORE_TASK_H

#include <orrery/base/units.h>
#include <orrery/core/amounts.h>

ORR_API_BEGIN

enum orr_task_status {
    ORR_TASK_PENDING,
    ORR_TASK_GATED,
    ORR_TASK_ALLOCATED,
    ORR_TASK_PIPELINED, /* placed on resources that are still being released */
    ORR_TASK_BINDING,
    ORR_TASK_BOUND,
    ORR_TASK_RUNNING,
    ORR_TASK_RELEASING,
    ORR_TASK_SUCCEEDED,
    ORR_TASK_FAILED,
    ORR_TASK_UNKNOWN,
    ORR_TASK_DELETED,
    ORR_TASK_STUCK_IN_RELEASING,
    ORR_TASK_STATUSES
};

#define ORR_STATUS_BIT(status) (1u << (status))
/* KAI's groups of states (api/pod_status): sums of ORR_STATUS_BITs. */
#define ORR_STATES_ALLOCATED                                                                       \
    (ORR_STATUS_BIT(ORR_TASK_ALLOCATED) | ORR_STATUS_BIT(ORR_TASK_BOUND) |                         \
     ORR_STATUS_BIT(ORR_TASK_BINDING) | ORR_STATUS_BIT(ORR_TASK_RUNNING))
#define ORR_STATES_ACTIVE_ALLOCATED (ORR_STATES_ALLOCATED | ORR_STATUS_BIT(ORR_TASK_PIPELINED))
#define ORR_STATES_ACTIVE_USED                                                                     \
    (ORR_STATES_ACTIVE_ALLOCATED | ORR_STATUS_BIT(ORR_TASK_RELEASING) |                            \
     ORR_STATUS_BIT(ORR_TASK_STUCK_IN_RELEASING))
#define ORR_STATES_ALIVE                                                                           \
    (ORR_STATES_ACTIVE_ALLOCATED | ORR_STATUS_BIT(ORR_TASK_PENDING) |                              \
     ORR_STATUS_BIT(ORR_TASK_GATED))

static inline bool orr_status_in(uint8_t status, uint32_t states)
{
    return (states >> status & 1u) != 0;
}

enum orr_gpu_kind {
    ORR_ASK_NO_GPU,
    ORR_ASK_WHOLE,
    ORR_ASK_FRACTION, /* a part of each of `devices` devices */
    ORR_ASK_MEMORY,   /* MiB of each of `devices` devices */
    ORR_ASK_MIG
};

struct orr_container { /* of a pod; for NUMA alignment */
    struct orr_vec request;
    bool init; /* runs before the others and alone */
};

struct orr_ask {            /* what a task requests; shared by equal tasks */
    struct orr_vec request; /* GPU slot: 0 for a memory request */
    uint8_t kind;           /* enum orr_gpu_kind */
    bool legacy_mig;        /* never scheduled */
    uint32_t devices;       /* of a shared request; else 0 */
    double portion;         /* FRACTION: of each device */
    int64_t memory_mib; /* MEMORY: of each device; FRACTION: if > 0, what the part takes of it */
    bool guaranteed;    /* its requests are its limits: CPU and memory have zones too */
    const struct orr_container *containers; /* NULL: one; copied */
    uint32_t container_count;
    int64_t mig_mgpu;   /* quota of the MIG instances: their g's */
    uint32_t affinity;  /* filter by selector and affinity, or ORR_NONE */
    uint32_t tolerance; /* filter by taints, or ORR_NONE */
};

static inline bool orr_ask_is_shared(const struct orr_ask *ask)
{
    return ask->kind == ORR_ASK_FRACTION || ask->kind == ORR_ASK_MEMORY;
}
/* One or more of them, and no part of one. */
static inline bool orr_ask_is_whole_gpus(const struct orr_ask *ask)
{
    return ask->kind == ORR_ASK_WHOLE && ask->request.v[ORR_SLOT_GPU] > 0 &&
           ask->request.v[ORR_SLOT_GPU] % ORR_MGPU == 0;
}

struct orr_place {        /* where a task is */
    uint8_t status;       /* enum orr_task_status */
    uint32_t node;        /* ORR_NONE: nowhere */
    int64_t quota_mgpu;   /* accepted GPUs as queues count them */
    uint32_t group_count; /* shared devices in gpu_group_ids */
};

struct orr_stask {
    const char *name; /* its UID */
    uint32_t job, set, ask;
    uint32_t nominated;      /* node, or ORR_NONE */
    uint64_t constraint_key; /* hash of all that limits where it may run, resources excluded */
    struct orr_place live, held;
    uint8_t status_at_open;         /* status when the cycle began, before anything was committed */
    uint8_t status_before_eviction; /* while virtually evicted: the status before that */
    bool is_virtual;                /* changed by a statement and not executed */
    bool touched;                   /* live may differ from held */
    bool fingerprint_due;           /* its queue's fingerprint lacks it */
    uint32_t gpu_groups_at;         /* in gpu_group_ids: room for the live, then the held devices */
    uint32_t next_on_node, prev_on_node; /* tasks held by one node */
};

ORR_API_END

#endif
