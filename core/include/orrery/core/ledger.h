/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger.h - who holds what: the only place where allocation state lives, and its only door.
 *
 *   books     per node: room that is idle, room that is being released; per device: taken or shared
 *   index     nodes by the number of idle devices (bitmaps, so the lowest index costs a few words),
 *             and idle devices per topology domain
 *   queues    allocated and pending per queue, summed up to the root
 *   txn       a journal of place, pipeline and evict on these books; checkpoint and rollback undo
 *             exactly what was journalled; commit checks the laws and makes it so
 *
 * Readers hold a const pointer and may read every field below; only ledger/ writes them. A
 * placement is a run of equal tasks on one node, from one time to another, or the same on each of
 * several nodes in a row; placements are never reused, so that they are the record of the run as
 * well. An eviction of some of its tasks splits a placement. Invariants are recomputed from
 * placements by orr_ledger_audit().
 */
#ifndef ORR_CORE_LEDGER_H
#define ORR_CORE_LEDGER_H

#include <orrery/base/digest.h>
#include <orrery/core/job.h>
#include <orrery/core/queue.h>
#include <orrery/core/reason.h>

ORR_API_BEGIN

struct orr_room { /* on one node */
    int64_t cpu_milli, mem_bytes;
    int32_t gpus; /* whole devices */
    int32_t pods;
    int16_t mig[ORR_MIG_PROFILES_MAX]; /* instances, by profile of the cluster */
};

static inline void orr_room_add(struct orr_room *sum, const struct orr_room *room, int sign)
{
    sum->cpu_milli += sign * room->cpu_milli;
    sum->mem_bytes += sign * room->mem_bytes;
    sum->gpus += sign * room->gpus;
    sum->pods += sign * room->pods;
    for (int p = 0; p < ORR_MIG_PROFILES_MAX; p++) {
        sum->mig[p] = (int16_t)(sum->mig[p] + sign * room->mig[p]);
    }
}

enum orr_hold { ORR_HOLD_KEPT, ORR_HOLD_LEAVING, ORR_HOLD_ENDED };

struct orr_placement {
    uint32_t node;    /* the first of them */
    uint32_t next;    /* of the same job while not ended, or ORR_NONE; newest first */
    uint32_t tasks;   /* on all of them */
    uint16_t group;   /* of the job's shape */
    uint16_t attempt; /* of the job, from 1 */
    uint64_t devices; /* bit mask, of each node; 0 on nodes of more than 64 devices */
    orr_ms since_ms;  /* ORR_MS_NONE: not committed yet */
    orr_ms until_ms;  /* ENDED; LEAVING: when its grace ends, once that is known */
    uint32_t job;
    uint8_t hold;        /* enum orr_hold */
    uint8_t cause;       /* enum orr_cause of what took it away; NONE: its job ended */
    uint16_t more_nodes; /* that follow the first and are of its type, with as many tasks each */
};

/* Its tasks on each node. */
static inline uint32_t orr_placement_each(const struct orr_placement *placement)
{
    return placement->more_nodes == 0 ? placement->tasks
                                      : placement->tasks / (placement->more_nodes + 1u);
}

static inline bool orr_placement_is_on(const struct orr_placement *placement, uint32_t node)
{
    return node - placement->node <= placement->more_nodes;
}

/* Is `next` the same, one node further? Then the two may be written as one. */
bool orr_placement_goes_on(const struct orr_cluster *cluster, const struct orr_placement *placement,
                           const struct orr_placement *next);

struct orr_node_set { /* nodes as a bitmap with a bitmap of its non-empty words */
    uint64_t *words, *summary;
    uint32_t count;
};

/* What the MIG instances of a room count. */
static inline int64_t orr_room_mig_mgpu(const struct orr_cluster *cluster,
                                        const struct orr_room *room)
{
    int64_t mgpu = 0;
    for (uint32_t p = 0; p < cluster->mig_profiles.count; p++) {
        mgpu += room->mig[p] * cluster->mig_mgpu[p];
    }
    return mgpu;
}

struct orr_shard_room;
struct orr_type_index {           /* the nodes of one type by idle devices */
    struct orr_node_set *by_idle; /* gpus + 1 sets */
    uint64_t *filled;             /* bit f: by_idle[f] is not empty */
    struct orr_shard_room *shard; /* that the type belongs to */
    uint32_t gpus;
};

struct orr_queue_use {
    int64_t allocated[ORR_SHARE_RESOURCES]; /* milli-CPU, bytes, milli-GPU; children included */
    int64_t pending[ORR_SHARE_RESOURCES];   /* asked by jobs that wait */
    int64_t leaving_mgpu;                   /* held by tasks in a grace; not in allocated */
    int64_t held_mig_mgpu;                  /* of allocated and leaving_mgpu, of MIG instances */
    /* of allocated: on devices of sharing tasks beyond their first, and of MIG instances. Neither
     * is in KAI's metric of past usage */
    int64_t unmetered_mgpu;
    int64_t rounding_mgpu; /* what KAI counts parts of devices for beyond what is allocated */
};

struct orr_domain_room { /* of one topology domain */
    int64_t idle_gpus;
    uint32_t *nodes_by_idle; /* how many nodes have f idle devices, f = 0..max_gpus */
};

struct orr_shard_room { /* of one shard of the cluster */
    /* devices of nodes that are not away, without those of foreign pods, and what MIG instances
     * count there */
    int64_t total_gpus;
    int64_t most_gpus; /* the same if none were away */
    int64_t mig_gpus;  /* of most_gpus, what instances count */
    int64_t idle_gpus; /* whole devices */
    int64_t allocated_mgpu;
    /* by kind: total_gpus without allocated_mgpu, so what leaves counts as free, and a shared
     * device by what is left of it */
    struct orr_gpus free;
    int64_t idle_mig_mgpu[ORR_MIG_PROFILES_MAX]; /* instances of nodes that are not down */
    struct orr_gpus free_down; /* of free, what is on nodes that are down and not away */
};

/* What a job that starts now finds: whole devices and instances of nodes that are not down. */
static inline struct orr_gpus orr_shard_idle(const struct orr_shard_room *room)
{
    struct orr_gpus idle = {.mgpu = {room->idle_gpus * ORR_MGPU}};
    for (int p = 0; p < ORR_MIG_PROFILES_MAX; p++) {
        idle.mgpu[1 + p] = room->idle_mig_mgpu[p];
    }
    return idle;
}

/* What is free on nodes that are not down: what a job that waits could get at most. `free` alone is
 * what its nodes have when they are back. */
static inline struct orr_gpus orr_shard_free(const struct orr_shard_room *room)
{
    struct orr_gpus free = room->free;
    orr_gpus_add(&free, &room->free_down, -1);
    return free;
}

struct orr_ledger_world { /* all borrowed; constant but for orr_ledger_know */
    const struct orr_cluster *cluster;
    const struct orr_queues *queues;
    const struct orr_shapes *shapes;
    const struct orr_job_spec *specs;
    uint32_t job_count;
};

struct orr_ledger {
    struct orr_ledger_world world;
    struct orr_job_state *jobs;
    uint32_t *unwanted;          /* per job; NULL: no job has any; orr_ledger_unwanted */
    bool *suspended;             /* per job; NULL: none ever was; orr_ledger_is_suspended */
    struct orr_room *idle;       /* per node */
    struct orr_room *releasing;  /* per node; below zero when pipelined tasks claim idle room */
    uint64_t *free_devices;      /* per node; bit set: nobody uses the device */
    bool *down;                  /* per node: it gives nothing; what is held there goes on */
    bool *away;                  /* per node: it is not part of the cluster; then it is down too */
    struct orr_room *withheld;   /* per node: of one that is down, what would be idle */
    uint64_t *withheld_devices;  /* per node: so */
    int16_t *device_mgpu;        /* per node and device: held by sharing tasks; NULL: no sharing */
    struct orr_node_set sharing; /* nodes with a partly used device */
    uint32_t *hosted; /* per node and class, see orr_request_class: tasks that hold devices there */
    uint64_t *changed; /* per node: the value of `changes` when what is idle there last changed */
    uint64_t changes;
    struct orr_type_index *types;     /* per node type */
    struct orr_domain_room **domains; /* per level, per domain */
    struct orr_queue_use *use;        /* per queue */
    struct orr_placement *placements;
    uint32_t placement_count, placement_capacity;
    uint32_t claims;               /* of pipelined tasks, in this cycle */
    struct orr_shard_room *shards; /* per shard of the cluster, at least one */
    uint32_t pending_jobs, running_jobs;
    uint32_t job_capacity;
    struct orr_digest digest;
    struct orr_arena arena;
    int64_t *node_free_mgpu; /* per node and kind: its part of the shard's `free` if it is there */
    int64_t leaving_mgpu;    /* held by tasks in a grace, of all shards */
    bool *reserves;          /* per shard; NULL: none does; orr_ledger_reserve_shared */
    uint32_t restated;       /* how often specs of jobs that are known were stated anew */
    int64_t *device_parts; /* as device_mgpu, in parts; NULL: no memory was asked, that is exact */
};

struct orr_ledger *orr_ledger_open(const struct orr_ledger_world *world);
/* In the shard each device that tasks share has a pod of its own that reserves it, as KAI's
 * reservation pods do, which takes a pod slot of the node as long as somebody is on the device.
 * Call it before anything is placed. */
void orr_ledger_reserve_shared(struct orr_ledger *ledger, uint32_t shard);
void orr_ledger_close(struct orr_ledger *ledger);
/* From now on there are these jobs, those known before first and as they were. Their shapes and
 * queues may be new to the caller but not to the world: shapes may have been added, queues not.
 * Call it between cycles; `ledger->jobs` may be elsewhere afterwards, so a view of it is made anew.
 * Policies kai and kueue take no such jobs: at the first their `failed` says so, and they decide
 * nothing more. */
void orr_ledger_know(struct orr_ledger *ledger, const struct orr_job_spec *specs,
                     uint32_t job_count);

/* Is as much of the job placed as its gang needs? */
bool orr_ledger_is_complete(const struct orr_ledger *ledger, uint32_t job);

/* Job events, from the engine. */
void orr_ledger_submit(struct orr_ledger *ledger, uint32_t job);
void orr_ledger_finish(struct orr_ledger *ledger, uint32_t job, orr_ms now);
/* A job that has not started leaves; what it holds of its gang is released. */
void orr_ledger_withdraw(struct orr_ledger *ledger, uint32_t job, orr_ms now);
/* So many tasks of its last group are of no use to the job for now: it does not ask for them. */
void orr_ledger_set_unwanted(struct orr_ledger *ledger, uint32_t job, uint32_t tasks);
static inline uint32_t orr_ledger_unwanted(const struct orr_ledger *ledger, uint32_t job)
{
    return ledger->unwanted == NULL ? 0 : ledger->unwanted[job];
}
/* Is the job suspended? It runs on in the books and holds what it held, except for its CPU, which
 * is idle; it makes no progress. */
static inline bool orr_ledger_is_suspended(const struct orr_ledger *ledger, uint32_t job)
{
    return ledger->suspended != NULL && ledger->suspended[job];
}
/* What so many tasks of a job that scales ask, and all tasks of any other. Memory asks count 0. */
struct orr_gpus orr_ledger_gpus(const struct orr_ledger *ledger, uint32_t job, uint32_t tasks);
/* Tasks that a job which scales wants, and neither holds nor is losing. */
uint32_t orr_ledger_lacks(const struct orr_ledger *ledger, uint32_t job);
/* What it asks at once: its gang as long as it has less than that, then one task after the other.
 * 0: it lacks nothing. */
uint32_t orr_ledger_next_tasks(const struct orr_ledger *ledger, uint32_t job);
/* The job was done at `end`, but what it held is released only `now`. */
void orr_ledger_finish_late(struct orr_ledger *ledger, uint32_t job, orr_ms end, orr_ms now);
/* A running job's finish is planned anew: events of the plan before are stale. */
void orr_ledger_replan(struct orr_ledger *ledger, uint32_t job);
/* Splits what the job holds so that each of its placements is on these nodes or apart from them.
 * Call it between cycles. */
void orr_ledger_part(struct orr_ledger *ledger, uint32_t job, uint32_t node, uint32_t count);
/* What leaves of a job on a node is over at `now`, whatever its grace was. A placement on further
 * nodes is over there too: part it before. */
void orr_ledger_cut_grace(struct orr_ledger *ledger, uint32_t job, uint32_t node, orr_ms now);
/* A node goes down, or comes back. Of one that is down nothing is idle, nor what is released there;
 * who holds something goes on with it, unless the caller evicted it. Call it between cycles. */
void orr_ledger_set_down(struct orr_ledger *ledger, uint32_t node, bool down);
/* Is the node down, and nothing held there? */
bool orr_ledger_is_vacant(const struct orr_ledger *ledger, uint32_t node);
/* A vacant node leaves the cluster, or is part of it again and still down. */
void orr_ledger_set_away(struct orr_ledger *ledger, uint32_t node, bool away);
/* Says when the grace ends of all that leaves of a job and has no such time yet. */
void orr_ledger_set_release(struct orr_ledger *ledger, uint32_t job, orr_ms at);
/* The end of a grace: the room of what leaves by now is idle again. An evicted job of which nothing
 * is left is pending. Returns how many tasks were released. */
uint32_t orr_ledger_release(struct orr_ledger *ledger, uint32_t job, orr_ms now);

/* Recomputes every book from the placements of running and releasing jobs; ORR_BUG names what
 * differs. Call it between cycles: what is not committed counts as a difference. */
enum orr_status orr_ledger_audit(const struct orr_ledger *ledger, struct orr_err *err) ORR_MUST_USE;

/* The part of the cluster in which a job's tasks may be. */
static inline const struct orr_shard_room *orr_ledger_shard_of(const struct orr_ledger *ledger,
                                                               const struct orr_shape *shape)
{
    return &ledger->shards[shape->groups[0].request.shard];
}

/* ---- reading: which node? All return ORR_NONE when there is none. ---- */

/* Idle on a node of what a request counts in: whole devices, or instances of its MIG profile. */
static inline int32_t orr_ledger_idle_units(const struct orr_ledger *ledger, uint32_t node,
                                            const struct orr_request *request)
{
    const struct orr_room *idle = &ledger->idle[node];
    return request->instances > 0 ? idle->mig[request->mig_profile] : idle->gpus;
}

/* The node with the fewest idle devices, or instances of the profile asked, that fits `tasks` tasks
 * of the request, lowest index first.
 * Tasks that share devices are asked for one at a time (more fit nowhere), and go before all others
 * to the lowest node where devices that are shared already have room. */
uint32_t orr_ledger_best_fit(const struct orr_ledger *ledger, const struct orr_request *request,
                             uint32_t tasks);
/* The lowest node from `from` on with so many idle devices on which tasks of the request may be;
 * ORR_NONE: there is none. */
uint32_t orr_ledger_next_idle(const struct orr_ledger *ledger, const struct orr_request *request,
                              uint32_t idle, uint32_t from);
/* The node with the most of these that fits at least one task, lowest index first. */
uint32_t orr_ledger_most_idle(const struct orr_ledger *ledger, const struct orr_request *request);
struct orr_idle {
    int64_t gpus;  /* whole devices */
    uint32_t hole; /* the most on one node */
};
/* What is idle on nodes of the request's shard that its selector and tolerations admit, and the
 * filter `allowed`, of one GPU model or of all (ORR_NONE). Costs a step for 64 nodes that have
 * some. */
struct orr_idle orr_ledger_idle_within(const struct orr_ledger *ledger,
                                       const struct orr_request *request, uint32_t allowed,
                                       uint32_t gpu_model);
/* How many tasks of the request fit into a node's idle room that no pipelined task claims; at most
 * one of a sharing request, none on nodes it may not be on (GPU model, selector, taints). */
uint32_t orr_ledger_room_for(const struct orr_ledger *ledger, uint32_t node,
                             const struct orr_request *request);
/* The same were its pod slots without end, or its CPU and memory. */
uint32_t orr_ledger_room_but_slots(const struct orr_ledger *ledger, uint32_t node,
                                   const struct orr_request *request);
uint32_t orr_ledger_room_but_cpu(const struct orr_ledger *ledger, uint32_t node,
                                 const struct orr_request *request);
/* How many would if so much of the node were idle; devices of tasks that share them are not looked
 * at. */
uint32_t orr_ledger_tasks_in(const struct orr_ledger *ledger, uint32_t node,
                             const struct orr_request *request, const struct orr_room *room);
/* What a node of the type has for jobs while none is on it: all but what foreign pods hold. */
struct orr_room orr_ledger_empty_node(const struct orr_node_type *type);
/* What a placement holds of each of its nodes, of devices whole ones alone: without CPU if its job
 * is suspended. */
struct orr_room orr_ledger_held(const struct orr_ledger *ledger, const struct orr_request *request,
                                const struct orr_placement *placement);
/* Devices are shared in parts, a unit in which fractions and memory are whole numbers: a tenth of a
 * MiB, or where the memory is not known a thousandth of the device. As in KAI the memory of a
 * device is cut to hundreds of MiB. */
int64_t orr_device_memory_mib(const struct orr_node_type *type); /* so cut; 0: not known */
int64_t orr_device_parts(const struct orr_node_type *type);
/* What the request takes of each of its devices there; memory at least a thousandth of a device.
 * More than there is: it fits on no such device. */
int64_t orr_request_parts(const struct orr_request *request, const struct orr_node_type *type);
/* What sharing tasks use of a device of at most 64 of a node, in parts. */
int64_t orr_ledger_used_parts(const struct orr_ledger *ledger, uint32_t node, uint32_t device);
/* The devices (bit mask) in use by sharing tasks that have room for one of the request too. */
uint64_t orr_ledger_shared_with_room(const struct orr_ledger *ledger, uint32_t node,
                                     const struct orr_request *request);
/* The parts in milli-GPU, rounded down, so that those of a device are never more than it. */
int64_t orr_request__shared_mgpu(const struct orr_request *request,
                                 const struct orr_node_type *type);
/* milli-GPU that the request holds of one device of a node. */
static inline int64_t orr_request_portion_mgpu(const struct orr_request *request,
                                               const struct orr_node_type *type)
{
    return request->gpu_ask == ORR_GPU_WHOLE ? ORR_MGPU : orr_request__shared_mgpu(request, type);
}
/* milli-GPU that one task holds on a node of this type. */
static inline int64_t orr_request_task_mgpu(const struct orr_request *request,
                                            const struct orr_node_type *type)
{
    return (int64_t)request->devices * orr_request_portion_mgpu(request, type) + request->mig_mgpu;
}
/* What KAI counts it for there, against quotas and limits: parts of devices in hundredths. */
int64_t orr_request_counted_mgpu(const struct orr_request *request,
                                 const struct orr_node_type *type);

/* Tasks that hold so many whole devices are a class of their own, from 1; class 0 are those that
 * share devices. Of a task that asks for none it means nothing. */
static inline uint32_t orr_request_class(const struct orr_request *request)
{
    return request->gpu_ask == ORR_GPU_WHOLE ? request->devices : 0;
}
/* Of a node, by class from 0 to the cluster's max_gpus. */
static inline const uint32_t *orr_ledger_hosted(const struct orr_ledger *ledger, uint32_t node)
{
    return &ledger->hosted[(size_t)node * (ledger->world.cluster->max_gpus + (size_t)1)];
}

/* The least that one task can hold, whatever node it may be on takes it: a memory ask holds less of
 * a larger device. */
int64_t orr_request_least_mgpu(const struct orr_cluster *cluster,
                               const struct orr_request *request);

/* ---- writing: transactions ---- */

/* Laws a commit checks beside capacity, which is always checked. A policy declares them. */
enum {
    ORR_LAW_GANG = 1u << 0,  /* a job starts with at least min_tasks tasks or not at all */
    ORR_LAW_LIMIT = 1u << 1, /* no queue above its limit */
    /* a gang without parts, and tasks of one part, within one domain of the level they require */
    ORR_LAW_SPAN = 1u << 2,
    /* so is what parts of a part, or of the gang, have together: KAI adds to one part wherever the
     * others are */
    ORR_LAW_SPAN_PARTS = 1u << 3,
    ORR_LAW_LIMIT_ROUNDED = 1u << 4 /* of ORR_LAW_LIMIT: parts of devices count as KAI's */
};

struct orr_txn;

struct orr_refusal {
    uint32_t job; /* ORR_NONE: one that does not exist */
    uint32_t law; /* the one broken; 0: none is */
    char text[160];
};

struct orr_txn *orr_txn_open(struct orr_ledger *ledger, uint32_t laws);
/* Laws by the shard of a job's queue (borrowed) instead of the same for all. */
void orr_txn_set_shard_laws(struct orr_txn *txn, const uint32_t *laws);
/* From now on commits start whatever job they place something of, even a gang of which too little
 * is placed: the state that a run begins from is given. Its laws are switched off apart from this.
 */
void orr_txn_take_as_given(struct orr_txn *txn, bool as_given);
/* Jobs may be suspended; else doing so has the next commit refuse all. */
void orr_txn_let_suspend(struct orr_txn *txn);
/* Commits may join what a job that cannot shrink got on nodes in a row to one placement. Then
 * nobody may keep the index of a placement past a commit. */
void orr_txn_join_nodes(struct orr_txn *txn);
void orr_txn_close(struct orr_txn *txn);
/* Places tasks of a group on a node. False, and nothing done, when the node has no room now, the
 * tasks may not be on it (GPU model, selector, taints), or there are no such node, group or tasks
 * left to place. A job that does not exist, is not submitted yet or is over has the next commit
 * refuse all; so it is with `pipeline` and `evict`. */
bool orr_txn_place(struct orr_txn *txn, uint32_t job, uint32_t group, uint32_t tasks,
                   uint32_t node);
/* The same for one task on exactly these devices of the node (a bit mask). */
bool orr_txn_place_on(struct orr_txn *txn, uint32_t job, uint32_t group, uint32_t node,
                      uint64_t devices);
/* Claims room that is idle or being released, until the cycle ends: nothing else may take it. */
bool orr_txn_pipeline(struct orr_txn *txn, uint32_t job, uint32_t group, uint32_t tasks,
                      uint32_t node);
/* Evicts a running job: its room becomes releasing. False if the job does not run. */
bool orr_txn_evict(struct orr_txn *txn, uint32_t job, enum orr_cause cause);
/* The same for the sake of another job, or ORR_NONE: the beneficiary is stored, so that evictions
 * after which it did not start can be counted (metric wasted_evictions). A
 * cause that does not exist has the next commit refuse all, and so has a job that does not exist,
 * is not submitted yet, is over or is the same; so it is with `evict_tasks`. */
bool orr_txn_evict_for(struct orr_txn *txn, uint32_t job, enum orr_cause cause,
                       uint32_t beneficiary);
/* Evicts some tasks of one placement of a job; the job goes on. What is left may be less than its
 * gang: that is for the caller to know. False, and nothing done, if the job does not hold so much
 * there, or that is a part of what is on several nodes (orr_txn_part). */
bool orr_txn_evict_tasks(struct orr_txn *txn, uint32_t job, uint32_t placement, uint32_t tasks,
                         enum orr_cause cause, uint32_t beneficiary);
/* Splits what the job holds so that each of its placements is on this node or apart from it, as
 * orr_ledger_part does between cycles: then `evict_tasks` takes tasks from this node alone. */
void orr_txn_part(struct orr_txn *txn, uint32_t job, uint32_t node);
/* Suspends a running job: its CPU becomes idle, all else it holds stays its own, and it makes no
 * progress. For the sake of a job, or ORR_NONE. False, and nothing done: it does not run, is
 * suspended already, scales, or tasks of it are leaving. */
bool orr_txn_suspend(struct orr_txn *txn, uint32_t job, uint32_t beneficiary);
/* A suspended job goes on where it is, on the devices it had. False, and nothing done: it is not
 * suspended, tasks of it are leaving, or a node of it has too little idle CPU. */
bool orr_txn_resume(struct orr_txn *txn, uint32_t job);
/* Of the tasks that the eviction just made takes, so many get another place by the same decision.
 * For the record only: nothing is claimed for them. */
void orr_txn_note_moved(struct orr_txn *txn, uint32_t tasks);
/* Which action of the policy, a constant, makes the placements, evictions and suspensions that
 * follow in this cycle, until the next such call. For the record only. */
void orr_txn_note_action(struct orr_txn *txn, const char *action);
uint32_t orr_txn_checkpoint(const struct orr_txn *txn);
void orr_txn_rollback(struct orr_txn *txn, uint32_t checkpoint);
/* Makes everything since the last commit so, at `now`. On refusal all of it is rolled back. */
bool orr_txn_commit(struct orr_txn *txn, orr_ms now, struct orr_refusal *refusal) ORR_MUST_USE;
/* What the commits of this cycle did, in order; borrowed until the next cycle. */
enum orr_deed {
    ORR_DEED_START,   /* the gang has its tasks: it runs */
    ORR_DEED_HOLD,    /* tasks were placed, but the gang is not complete */
    ORR_DEED_GROW,    /* tasks were added to a job that runs */
    ORR_DEED_SHRINK,  /* some of its tasks were evicted */
    ORR_DEED_EVICT,   /* all of them */
    ORR_DEED_SUSPEND, /* it keeps its tasks, and gives its CPU */
    ORR_DEED_RESUME
};
struct orr_txn_decision {
    uint32_t job;
    uint32_t beneficiary; /* of an eviction or suspension: for whose sake, or ORR_NONE */
    uint32_t tasks;       /* placed or evicted now; EVICT, SUSPEND, RESUME: all it had */
    uint32_t moved;       /* of tasks evicted now: get another place by the same decision */
    uint8_t deed;         /* enum orr_deed */
    uint8_t cause;        /* enum orr_cause of an eviction */
    int64_t mgpu;         /* asked by the tasks placed or evicted now; a memory ask counts 0 */
    int64_t held_mgpu;    /* what tasks placed now hold on their nodes: of a memory ask too */
    const char *action;   /* noted by orr_txn_note_action, or NULL */
};
const struct orr_txn_decision *orr_txn_decisions(const struct orr_txn *txn, uint32_t *count);
/* Was nothing placed, claimed, evicted or explained in this cycle? Then it needs no commit. */
bool orr_txn_is_idle(const struct orr_txn *txn);
/* For the record: in this cycle the policy gave a job that runs below its minimum all it lacks, and
 * took some of it back, so that nothing of that can be seen. A gang's time below its minimum begins
 * anew with that. */
void orr_txn_note_whole(struct orr_txn *txn, uint32_t job);
const uint32_t *orr_txn_whole(const struct orr_txn *txn, uint32_t *count); /* of this cycle */
/* Ends a cycle: pipelined claims and the list of decisions are forgotten. */
void orr_txn_end_cycle(struct orr_txn *txn);
/* Says why a pending job stays; kept until it says otherwise or the job starts. A job that does not
 * wait, and a job or reason that does not exist, fail the next commit. With a reason that refuses
 * (orr_reason_refuses) a job that never started leaves for good. The numbers that prove it are the
 * ledger's, taken when the reason changes. */
void orr_txn_explain(struct orr_txn *txn, uint32_t job, enum orr_reason reason);
/* The same with numbers of the policy's own; make them from orr_ledger_prove. Those of which queue,
 * level, domain, job or outcome does not exist fail the next commit. */
void orr_txn_explain_by(struct orr_txn *txn, uint32_t job, enum orr_reason reason,
                        const struct orr_proof *proof);
/* The same, recorded also where the reason is the one before, as its proof has changed. */
void orr_txn_explain_anew(struct orr_txn *txn, uint32_t job, enum orr_reason reason,
                          const struct orr_proof *proof);
/* By kind, what nobody holds of a shard's nodes that are not down: `free` without what leaves. This
 * is what the reasons of jobs that wait, and their proofs, count as free. Costs a look at
 * each node with shared devices while something leaves. */
struct orr_gpus orr_ledger_unheld(const struct orr_ledger *ledger, uint32_t shard);
/* The numbers behind a reason as the books are now. Costs a look at every node when the job names
 * nodes or a level. */
struct orr_proof orr_ledger_prove(const struct orr_ledger *ledger, uint32_t job,
                                  enum orr_reason reason);
struct orr_explanation {
    uint32_t job;
    enum orr_reason reason;
    struct orr_proof proof;
};
const struct orr_explanation *orr_txn_explanations(const struct orr_txn *txn, uint32_t *count);

ORR_API_END

#endif
