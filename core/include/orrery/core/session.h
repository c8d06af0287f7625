/* SPDX-License-Identifier: GPL-3.0-or-later */
/* session.h - a cluster task by task, and what a scheduling cycle does to it.
 *
 *   nodes    what they can give, and three running sums: idle, used, releasing; shared GPUs apart
 *   queues   shares (share.h) and what they hold, summed up to the roots
 *   jobs     a tree of sets over pod sets over tasks
 *   tasks    a status each, in two copies:
 *              held  what is true of the cluster: changed by commit and by external events
 *              live  as the running cycle would have it: changed by the statement, undone by
 *                    rollback
 *
 * Between cycles both copies agree. orr_session_open starts a cycle, the statement changes it,
 * orr_session_close undoes what was not committed (statement.h). A pipelined task
 * leaves no trace in the held copy: the next cycle decides about it afresh, as KAI does.
 *
 * A function that gets the session const changes nothing in it, nor in the private parts that its
 * last fields point to. What v0.17 remembers of a job's tasks (defects.h, D1) is the exception.
 */
#ifndef ORR_CORE_SESSION_H
#define ORR_CORE_SESSION_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>
#include <orrery/core/decision.h>
#include <orrery/core/fit.h>
#include <orrery/core/look.h>
#include <orrery/core/session_rules.h>
#include <orrery/core/share.h>
#include <orrery/core/task.h>

ORR_API_BEGIN

/* --- nodes --- */

struct orr_shared_gpu { /* KAI's GPU group: a device that tasks share; MiB */
    uint32_t id;
    int64_t used, allocated, releasing;
    bool counted_releasing; /* the whole device is in the node's releasing GPUs */
    bool was_allocated;     /* some task held it other than by pipelining */
};

enum orr_mig_strategy { ORR_MIG_UNKNOWN, ORR_MIG_NONE, ORR_MIG_SINGLE, ORR_MIG_MIXED };

struct orr_snode {
    const char *name;
    uint32_t rank;              /* position among all names in byte order */
    struct orr_vec allocatable; /* nothing while it is away */
    struct orr_vec offered;     /* what is allocatable while it is present */
    int64_t gpu_count;          /* physical devices */
    int64_t gpu_memory_mib;     /* of a device, a multiple of 100 */
    bool has_gpu_memory_label;
    bool ready;
    bool away; /* no node of the cluster: KAI's snapshot does not have it */
    bool is_mig;
    uint8_t mig_strategy;
    struct orr_vec foreign;  /* held by pods that are no tasks; see orr_session_add_foreign */
    struct orr_vec withheld; /* the part of `foreign` that fair shares are not divided from */
    /* live books */
    struct orr_vec idle, used, releasing;
    struct orr_shared_gpu *shared;
    uint32_t shared_count, shared_capacity;
    uint32_t reserved_slots;    /* pod slots of KAI's reservation pods, one for each shared device,
                                 * at the last rebuild; with session_rules.reserves_shared */
    uint32_t first_task;        /* held by it */
    bool dirty;                 /* live books must be rebuilt from the held tasks */
    uint64_t changed_at;        /* the session's node_generation when the live books last changed */
    uint32_t newer, older;      /* nodes changed just after and just before it, or ORR_NONE */
    struct orr_numa_node *numa; /* see numa.h; NULL: no zones known */
};

/* --- topology --- */

struct orr_topology_level {
    const char *label, *alias; /* alias may be NULL */
    uint32_t domain_count;
    uint32_t *nodes_here;     /* by domain: how many of its nodes are not away */
    uint32_t domains_here;    /* with such nodes */
    uint32_t *domain_of_node; /* domain whose id is the path of label values, or ORR_NONE */
    uint32_t *value_of_node;  /* dense id of this level's label value alone, or ORR_NONE */
    uint32_t value_count;
    uint32_t *parent;                    /* domain -> domain one level up; ORR_NONE in level 0 */
    uint32_t *rank;                      /* domain -> position of its id in byte order */
    uint32_t *nodes;                     /* those in a domain, domain by domain, ascending */
    uint32_t *begin;                     /* of each domain in `nodes`, and the end of the last */
    uint32_t *children, *children_begin; /* the level's domains, likewise, by the domain of the
                                          * level above that they are in; in level 0 all in one */
};

struct orr_topology {
    const char *name;
    struct orr_topology_level *levels; /* widest first */
    uint32_t level_count;
};

/* --- queues --- */

struct orr_squeue {
    const char *name;
    uint32_t child_count;
    bool usable; /* its jobs are looked at: a leaf whose parent exists */
    orr_ms preempt_min_runtime, reclaim_min_runtime; /* ORR_MS_NONE: not set */
    int64_t held_allocated[ORR_SHARE_KINDS], held_nonpreemptible[ORR_SHARE_KINDS];
    int64_t request[ORR_SHARE_KINDS];
    int64_t request_mib; /* of GPU memory, pending */
    bool sums_changed;   /* since shares were last divided: one of the sums above */
    int64_t allocated[ORR_SHARE_KINDS], nonpreemptible[ORR_SHARE_KINDS]; /* live */
    uint32_t *active; /* its jobs with live tasks that hold or are to hold something, unordered */
    uint32_t active_count, active_capacity;
    uint64_t
        fingerprint; /* of their tasks and where these are; see orr_session_update_fingerprints */
};

/* --- jobs --- */

struct orr_constraint {
    const char *topology; /* NULL: none */
    const char *required, *preferred;
};

struct orr_sset { /* of a job's tree; the root is the job's first */
    const char *name;
    uint32_t parent, first_child, next_sibling; /* session indices; children by name */
    bool is_pods;
    int32_t min; /* tasks of a pod set, satisfied members of a set */
    bool min_stated;
    struct orr_constraint constraint;
    uint32_t counts[ORR_TASK_STATUSES]; /* live tasks of a pod set */
};

struct orr_sjob {
    const char *name;
    uint64_t serial; /* no other job of the session had it, in this slot or another */
    uint32_t queue;  /* ORR_NONE: no such queue */
    int32_t priority;
    bool preemptible;
    int64_t created_s;                             /* whole seconds, as Kubernetes keeps them */
    orr_ms last_start, last_eviction, stale_since; /* ORR_MS_NONE: never */
    orr_ms preemption_delay;                       /* <= 0: none */
    orr_ms staleness_grace;                        /* ORR_MS_NONE: the session's; < 0: never */
    uint32_t first_task, task_count;               /* in task order */
    uint32_t first_set, set_count;
    uint32_t pending;              /* live pending tasks */
    uint32_t active;               /* live tasks in ORR_STATES_ACTIVE_ALLOCATED */
    uint32_t active_at;            /* its place in the queue's list of active jobs, if any is */
    uint8_t reason;                /* enum orr_fit_reason of the last allocate attempt */
    uint8_t outcomes[ORR_ACTIONS]; /* enum orr_outcome of each action's last look at it */
    bool invalid;                  /* removed: its tasks are gone */
    bool changed;                  /* listed in the session's changed_jobs */
    bool outdated;                 /* listed in waiting_jobs.outdated */
    uint64_t task_generation; /* of the session's task_generation: when a live task last got another
                                 status */
    uint32_t placement_class; /* its placement class: jobs of one class have equal requirements on
                       every node; ORR_NONE: not known */
};

/* When a job may take from others, by its own delay. */
static inline orr_ms orr_sjob_delay_end(const struct orr_sjob *job)
{
    const orr_ms created = job->created_s * 1000;
    const orr_ms anchor = job->last_eviction > created ? job->last_eviction : created;
    return anchor + job->preemption_delay;
}

/* --- the session --- */

struct orr_task_list { /* see jobview.h */
    uint32_t *tasks;
    uint32_t count, capacity;
};

struct orr_undo;
struct orr_victim_index;
struct orr_numa;
struct orr_numa_node;
struct orr_zone_take;
struct orr_usage;
struct orr_place_memory;
struct orr_v017;
struct orr_statement { /* the changes of the cycle since the last commit; private to session/ */
    struct orr_undo *steps;
    uint32_t count, capacity;
    unsigned char *saved; /* node books to go back to */
    size_t saved_bytes, saved_capacity;
};
/* Jobs and nodes to look at again when a cycle is opened or closed; private to session/. */
struct orr_session_lists {
    uint32_t *touched; /* tasks whose live copy may differ from the held one: restored on close */
    uint32_t touched_count, touched_capacity;
    uint32_t *dirty; /* nodes whose held tasks changed: their live books are rebuilt on open */
    uint32_t dirty_count, dirty_capacity;
};
struct orr_waiting_jobs {            /* private to order/waiting.c */
    struct orr_order_entry *entries; /* in the order of building, but for outdated ones */
    uint32_t count, capacity;
    uint32_t *outdated; /* jobs whose entry is missing or no longer true; see orr_sjob.outdated */
    uint32_t outdated_count, outdated_capacity;
    int64_t min_gpu_memory_mib; /* the session's when the entries were made */
};

struct orr_session {
    struct orr_session_rules rules;        /* set by the caller after orr_session_init */
    struct orr_watcher watcher;            /* gets jobs and victims by their indices here */
    const struct orr_session_hooks *hooks; /* borrowed; NULL: none */
    struct orr_usage *usage; /* past use, weighed by rules.k; borrowed; NULL: none is kept */

    /* The world: what session_build.h adds, constant during a cycle but for live books of nodes,
     * live sums of queues and live places of tasks, which statement.h changes. */
    struct orr_arena arena; /* names, specs */
    struct orr_snode *nodes;
    uint32_t node_count, node_capacity;
    struct orr_squeue *queues;
    struct orr_share_queue *shares; /* parallel to queues */
    uint32_t queue_count, queue_capacity, share_capacity;
    struct orr_share_tree tree;
    bool tree_outdated; /* built again when the next cycle is opened, as is `total` */
    struct orr_ask *asks;
    uint32_t ask_count, ask_capacity;
    struct orr_sjob *jobs;
    uint32_t job_count, job_capacity;
    uint64_t serials;           /* issued to jobs so far */
    uint32_t placement_classes; /* one more than the highest `placement_class` of a job */
    struct orr_sset *sets;
    uint32_t set_count, set_capacity;
    struct orr_stask *tasks;
    uint32_t task_count, task_capacity;
    uint32_t *gpu_group_ids; /* shared devices of tasks; see orr_stask.gpu_groups_at */
    uint32_t gpu_group_id_count, gpu_group_id_capacity;
    uint32_t next_gpu_group;      /* the next fresh shared device */
    uint32_t numbered_gpu_groups; /* shared devices below this one have numbers for names */
    bool **filters;               /* by filter, node: may run there */
    uint32_t filter_count, filter_capacity;
    uint32_t worker_filters[2]; /* filters: nodes for tasks without, and with, GPUs; ORR_NONE: all
                                 * nodes */
    struct orr_topology *topologies;
    uint32_t topology_count, topology_capacity;
    uint32_t slot_count;                    /* slots of vectors that are in use */
    int64_t slot_quota_gpus[ORR_SLOTS_MAX]; /* GPUs that one unit counts against quotas and limits:
                                             * the g of a MIG profile */
    bool zone_aware[ORR_SLOTS_MAX];         /* some node's zones have the slot */
    uint32_t zones_max;                     /* of a node */
    double total[ORR_SHARE_KINDS];          /* of ready nodes, in the units of shares */
    struct orr_vec largest;                 /* of each slot the most that a node offers */
    int64_t min_gpu_memory_mib, max_gpu_memory_mib; /* 0: no node states it */
    uint32_t *all_nodes; /* see orr_session_all_nodes; NULL until somebody asks */

    /* The cycle that is open, or was last. */
    orr_ms now;
    bool abandoned; /* this cycle left changes that were neither committed nor rolled back */
    struct orr_decision *decisions; /* committed in this cycle, in order */
    uint32_t decision_count, decision_capacity;
    struct orr_fit_detail *details; /* by job, filled by allocate; the caller's; NULL: not wanted */
    int64_t scenarios_tried;        /* by the action that runs */
    uint64_t scenarios_of[ORR_ACTIONS]; /* simulated by the action, in all cycles */
    struct orr_prune_count pruned[ORR_PRUNERS];

    /* What changed, for whoever keeps something derived from it. */
    uint64_t node_generation;  /* grows with every change of a node's live books */
    uint64_t queue_generation; /* grows with every change of what queues hold */
    uint64_t task_generation;  /* grows with every change of a live task's status */
    uint64_t share_generation; /* grows when fair shares of sibling queues are divided anew */
    uint32_t newest_node;      /* the node that changed last; the others by `older` */
    uint32_t *changed_jobs;    /* added, ended or with a task of another status; the reader clears
                                * the list */
    uint32_t changed_count, changed_capacity;
    uint32_t *fingerprint_due; /* tasks that the fingerprints of their queues lack */
    uint32_t fingerprint_due_count, fingerprint_due_capacity;

    /* Private, each to the room that is named. */
    struct orr_statement statement;        /* session/ */
    struct orr_session_lists lists;        /* session/ */
    struct orr_numa *numa;                 /* session/session_numa.c; NULL: no node has zones */
    struct orr_v017 *v017;                 /* defects.h; NULL: defects are not reproduced */
    struct orr_place_memory *place;        /* place/: kept for attempts and lent to them */
    struct orr_waiting_jobs waiting_jobs;  /* order/; session/ marks what is outdated */
    struct orr_backlog *backlog;           /* order/, see backlog.h; NULL: none is kept */
    struct orr_victim_index *victim_index; /* prune/, see victim.h; NULL: nothing is kept */
};

/* --- reading --- */

/* By name; NULL: there is none. A level by its label or its alias. */
const struct orr_topology *orr_session_find_topology(const struct orr_session *session,
                                                     const char *name);
const struct orr_topology_level *orr_topology_find_level(const struct orr_topology *topology,
                                                         const char *name);
/* A hash of the topology constraints that a set of a job's tree and those above it state. */
uint64_t orr_session_hash_constraints(const struct orr_session *session, uint32_t set);
/* The indices of all nodes, ascending; the session's, until a node is added. */
const uint32_t *orr_session_all_nodes(struct orr_session *session);
static inline const struct orr_ask *orr_task_ask(const struct orr_session *session,
                                                 const struct orr_stask *task)
{
    return &session->asks[task->ask];
}
/* Whole GPUs that the task asks. */
static inline int32_t orr_task_gpus(const struct orr_session *session, uint32_t task)
{
    return (int32_t)(orr_task_ask(session, &session->tasks[task])->request.v[ORR_SLOT_GPU] /
                     ORR_MGPU);
}
static inline const uint32_t *orr_task_groups(const struct orr_session *session,
                                              const struct orr_stask *task)
{
    return session->gpu_group_ids + task->gpu_groups_at;
}
/* The same of the held copy: the live one may be on other devices while a cycle runs. */
static inline const uint32_t *orr_task_held_groups(const struct orr_session *session,
                                                   const struct orr_stask *task)
{
    return session->gpu_group_ids + task->gpu_groups_at + session->asks[task->ask].devices;
}
/* Milli-GPU that a task with this ask counts against quotas and limits on the node. */
int64_t orr_session_quota_on(const struct orr_session *session, const struct orr_ask *ask,
                             uint32_t node);
/* Brings the fingerprints of queues up to date: sums over their active tasks, the same again when
 * the same tasks are active in the same places. */
void orr_session_update_fingerprints(struct orr_session *session);
/* Marks the job's entry in the list of waiting jobs as outdated; orr_order_waiting makes it anew.
 */
void orr_session_outdate_waiting(struct orr_session *session, uint32_t job);
/* Device memory a shared request takes on a node, MiB. */
int64_t orr_session_shared_need(const struct orr_ask *ask, const struct orr_snode *node);
/* The part of a device that need_mib are, rounded up to 1 %, in milli-GPU; the quotient is an IEEE
 * double as KAI's. */
int64_t orr_session_ceil_portion(int64_t need_mib, int64_t device_mib);
/* Idle and releasing GPUs as KAI's scenario filters count them, milli-GPU: what is left of shared
 * devices, and MIG, included. */
int64_t orr_session_idle_gpus(const struct orr_session *session, uint32_t node);
int64_t orr_session_releasing_gpus(const struct orr_session *session, uint32_t node);
/* Device memory of the node that is idle or being released, MiB; shared devices included. */
int64_t orr_session_free_mib(const struct orr_snode *node);
/* NULL: no task of the node shares such a device. */
const struct orr_shared_gpu *orr_session_find_shared(const struct orr_snode *node, uint32_t id);
/* A portion of a device in milli-GPU, rounded to hundredths of a device as KAI keeps it. */
int64_t orr_session_portion_mgpu(double portion);
/* Whole GPUs that one MIG instance counts against quotas and limits, the g of its profile:
 * "nvidia.com/mig-3g.20gb" is 3. */
int64_t orr_session_mig_gpus(const char *resource);
/* Adds what a task with this ask demands before it is placed; a memory request is divided by
 * device_mib, or left out if that is 0. */
void orr_session_add_demand(const struct orr_ask *ask, int64_t device_mib,
                            struct orr_demand *demand);

ORR_API_END

#endif
