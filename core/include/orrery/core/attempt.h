/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attempt.h - one attempt to place a job: the rest of its gang, or one elastic part, or nothing. */
#ifndef ORR_CORE_ATTEMPT_H
#define ORR_CORE_ATTEMPT_H

#include <orrery/core/gpu_counts.h>
#include <orrery/core/jobview.h>

ORR_API_BEGIN

struct orr_node_list { /* borrowed */
    const uint32_t *nodes;
    uint32_t count;
};
static inline struct orr_node_list orr_list_all_nodes(struct orr_session *session)
{
    return (struct orr_node_list){orr_session_all_nodes(session), session->node_count};
}

/* KAI's AllocateJob: places what orr_jobview_to_allocate lists on these nodes, by the statement.
 * False: nothing is changed, and *why is the job's fit error (else ORR_FIT_NONE). With
 * pipeline_only (a simulation) tasks are pipelined alone, and evicted ones may be placed again. */
bool orr_attempt_job(struct orr_session *session, struct orr_jobview view,
                     struct orr_node_list nodes, bool pipeline_only, enum orr_fit_reason *why);

/* KAI's capacity policy: would the demand pass a limit of the job's queue or of one above it, or of
 * a non-preemptible job their quota? ORR_FIT_NONE: neither. */
enum orr_fit_reason orr_job_over_capacity(const struct orr_session *session, uint32_t job,
                                          const struct orr_demand *demand);
/* The quota alone; false for a preemptible job. */
bool orr_job_over_quota(const struct orr_session *session, uint32_t job,
                        const struct orr_demand *demand);

/* May a task with the ask be on the node, resources left aside: filters, readiness, MIG, the label
 * of device memory? */
bool orr_node_admits_ask(const struct orr_session *session, const struct orr_ask *ask,
                         uint32_t node);

struct orr_sketch_rooms { /* sketch_rooms.c: nodes by what they have free */
    uint64_t run;         /* of the sketch that asked last; 0: none */
    size_t touched;       /* so many of its `touched` were looked at */
    uint64_t seen;        /* node_generation of the session until which its changes are known */
    uint32_t node_count, words;
    bool counted;          /* no node of the session has too many GPUs */
    uint64_t *room, *idle; /* by GPUs free, and by those idle at least: a bit by rank */
    uint64_t *sharing;     /* a bit by rank: the node has shared devices */
    int64_t *left;         /* by node: most that one of these has for another task, MiB */
    uint32_t counts[ORR_COUNTED_GPUS + 1], idle_counts[ORR_COUNTED_GPUS + 1]; /* bits of each */
    uint32_t *by_rank;                                                        /* nodes */
    int8_t *room_of, *idle_of;                                                /* by node */
};

struct orr_sketch_content { /* sketch_content.c: what open nodes have for tasks */
    uint64_t run;           /* of the sketch that it is known of; 0: none */
    size_t touched;         /* so many of its `touched` are in it */
    uint64_t sum, *of_node; /* of open nodes */
    uint32_t node_count;
};

/* What an attempt would do to nodes, tried on their books or on counts alone: tasks, queues and the
 * statement stay as they are. Everything is to be taken back before anybody else looks at the
 * nodes. */
struct orr_sketch {
    struct orr_session *session;
    struct orr_gpu_counts *counts; /* in place of the books; NULL: on these */
    unsigned char *saved;          /* a node's books before each step */
    size_t count, capacity;
    uint32_t next_gpu_group;
    /* The last pod of whole GPUs: what it asked, its node, and `changes` once it was there. Nodes
     * may have been as good as the best that was there then, `like_points` and `like_free`. */
    uint32_t last_ask, last_node;
    uint64_t changes, last_change;
    const bool *is_open;  /* by node; borrowed */
    const uint32_t *open; /* the whole list; within a domain pods have a part of it */
    const struct orr_preferred *preferred; /* by the pods that are placed now; NULL: nothing */
    int64_t like_free;
    int32_t like_points;
    struct orr_sketch_like {
        uint32_t node, rank;
    } * like;
    size_t like_count, like_next, like_capacity;
    /* Nodes in the order in which their books changed, also back; each start is a run of its own.
     */
    uint32_t *touched;
    size_t touched_count, touched_capacity;
    size_t *last_touched; /* by node: its last place among those */
    uint32_t node_count;  /* of these places */
    uint64_t run;
    struct orr_sketch_rooms rooms;
    struct orr_sketch_content content;
};
/* is_open: by node, borrowed until the sketch ends. */
void orr_sketch_start(struct orr_sketch *sketch, struct orr_session *session, const bool *is_open);
/* The same on counts, on which nodes were opened and tasks evicted before, and which stay open
 * until the sketch ends: for jobs with a constraint of topology that ask whole GPUs and nothing
 * else. */
void orr_sketch_start_on_counts(struct orr_sketch *sketch, struct orr_session *session,
                                struct orr_gpu_counts *counts);
/* The task, which is active on a node, is being released from now on; not of a sketch on counts. */
void orr_sketch_evict(struct orr_sketch *sketch, uint32_t task);
/* Pipelines these tasks of the job, each of whole GPUs or parts of them, on the best of the nodes,
 * as an attempt of a simulation would, within domains of topologies; those that are `evicted`, by
 * task, may come back as if they had not been. False: nothing is changed. From the first job to
 * orr_sketch_end the list is the same; it has all nodes that are open on counts. */
bool orr_sketch_job(struct orr_sketch *sketch, struct orr_jobview view, struct orr_task_list tasks,
                    const bool *evicted, struct orr_node_list nodes);
/* Fingerprint of what these nodes have for tasks, of a sketch on books after its last eviction.
 * Until the sketch ends the list is the same, and tasks go to these nodes alone. The order of
 * domains hangs on more: on what all their nodes have of everything. */
uint64_t orr_sketch_content(struct orr_sketch *sketch, struct orr_node_list open);
/* Returns how much was done so far. */
size_t orr_sketch_checkpoint(const struct orr_sketch *sketch);
/* Takes back what was done since the checkpoint. */
void orr_sketch_rollback(struct orr_sketch *sketch, size_t checkpoint);
/* Takes back everything; nothing is sketched until the next start. */
void orr_sketch_end(struct orr_sketch *sketch);
void orr_sketch_release(struct orr_sketch *sketch);
/* Of the nodes that were touched it comes again later. */
static inline bool orr_sketch_comes_again(const struct orr_sketch *sketch, size_t touched)
{
    return sketch->last_touched[sketch->touched[touched]] != touched;
}

ORR_API_END

#endif
