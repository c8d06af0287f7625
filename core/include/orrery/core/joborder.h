/* SPDX-License-Identifier: GPL-3.0-or-later */
/* joborder.h - which job is next: a heap of queues above heaps of jobs, as KAI keeps it.
 *
 * Queue positions are corrected lazily: serving a queue flags it and its ancestors, and a flagged
 * queue is sifted only when it is at the top. With two or more levels of queues this is not the
 * same as looking for the best one, so the heaps and flags are kept literally.
 */
#ifndef ORR_CORE_JOBORDER_H
#define ORR_CORE_JOBORDER_H

#include <orrery/core/jobview.h>
#include <orrery/core/queueorder.h>

ORR_API_BEGIN

struct orr_order_entry {
    struct orr_jobview view;
    int elastic_state;
    struct orr_demand demand; /* normal order: what it would allocate; victims: what it holds */
};

struct orr_order_node;
struct orr_order {
    const struct orr_session *session;
    bool victims;  /* worst first */
    int64_t depth; /* KAI's queue depth: jobs kept of a queue, the last in its heap being dropped;
                    * -1: all */
    bool simulate; /* tasks that are virtually evicted count as pending */
    struct orr_order_node *nodes; /* 0 is the root */
    uint32_t node_count, node_capacity;
    uint32_t node_made;        /* nodes that have memory of their own, used or not */
    uint32_t *node_of_queue;   /* ORR_NONE: none of its jobs is in the order */
    struct orr_demand *popped; /* by queue: what the victims popped from it hold */
    uint32_t pushed; /* jobs still to be popped that are neither of a lane nor of the list */
    /* over a list: */
    const struct orr_order_entry *list; /* NULL: none */
    const bool *unlisted;               /* by job; NULL: none is */
    uint64_t heads; /* fingerprint of the listed jobs that are next of their queues */
    /* for orders with amounts that queues would hold (dry runs): */
    /* By queue: what it would hold; NULL: what it holds. Between two pops it changes only for the
     * queue of the job popped last and for those above it, which are ranked again anyway. */
    const int64_t (*hypothetical)[ORR_SHARE_KINDS];
    uint64_t tops; /* fingerprint of inner queues' first children */
    bool unclear;  /* two queues with equal numbers were compared of which neither owns less */
    /* over a backlog: */
    bool preemptible_only; /* other lanes are not part of it */
    bool undelayed_only;   /* nor are those of jobs whose preemption delay is not over */
    uint32_t only_lane;    /* the only open lane, while there are no heaps; or ORR_NONE */
    bool only_lane_popped; /* the first job of that lane was popped */
    /* by queue, with `only_lane`: what it held as the order was started */
    int64_t (*held_at_start)[ORR_SHARE_KINDS];
    uint32_t *cursor;    /* by lane: at or before its next job */
    bool *open;          /* by lane: pop returns its jobs */
    bool *in_open_lanes; /* by lane: it is in open_lanes, as are all open ones */
    uint32_t *open_lanes;
    uint32_t open_count, lane_capacity;
    uint32_t last_leaf; /* the node that the last job was popped from */
    /* Demands of heads with which that leaf stayed on top since it came there (order_lanes.c). */
    struct orr_demand compared_demands[8];
    uint32_t compared_count;
};

/* An empty order; the session is borrowed. */
void orr_order_init(struct orr_order *order, const struct orr_session *session, bool victims,
                    bool simulate);
void orr_order_release(struct orr_order *order);
/* Empties it; its memory is used again. */
void orr_order_restart(struct orr_order *order);
/* Of a `hypothetical` order over a list, once it is built. False: who is popped hangs on where
 * queues stand in their heaps. Otherwise it hangs only on what queues hold, on which added jobs are
 * left and on this fingerprint, as long as the order is not `unclear`. It is 0 of no order,
 * whatever is left of the list. */
bool orr_order_start_fingerprint(struct orr_order *order);
uint64_t orr_order_fingerprint(struct orr_order *order);
/* Adds all of these, in the canonical order of building. Jobs of unusable queues are left out. */
void orr_order_build(struct orr_order *order, const struct orr_jobview *views, uint32_t count);
/* The order of a list of jobs and of jobs that were added. Pop returns added jobs alone: a listed
 * job whose turn comes is passed over, as if an attempt with it had failed. Both are entries that
 * orr_order_prepare made, and stay with the caller as long as the order is used; jobs of the list
 * that are `unlisted` (by job) are left out; others may be pushed later. The cost grows with queues
 * and added jobs, not with the list. */
void orr_order_build_over(struct orr_order *order, const struct orr_order_entry *list,
                          uint32_t list_count, const bool *unlisted,
                          const struct orr_order_entry *added, uint32_t added_count);
/* Entries in the canonical order of building; returns their number, at most count. */
uint32_t orr_order_prepare(const struct orr_order *order, const struct orr_jobview *views,
                           uint32_t count, struct orr_order_entry *entries);
/* All jobs with pending tasks but the excluded one, in the order of building. The list is the
 * session's, and holds until the next call. A call costs an entry for each job that changed since
 * the last one, and a pass over the list. */
const struct orr_order_entry *orr_order_waiting(struct orr_session *session, uint32_t excluded,
                                                uint32_t *count);
/* Negative: `a` goes before `b` in that order. */
int orr_order_compare_built(const struct orr_session *session, const struct orr_order_entry *a,
                            const struct orr_order_entry *b);
/* Brings entries into that order. */
void orr_order_sort(const struct orr_order *order, struct orr_order_entry *entries, uint32_t count);

/* The order of all jobs in the session's backlog, in memory that the backlog keeps: there is one at
 * a time. With `preemptible_only` it has the lanes of preemptible jobs alone. Pop returns jobs of
 * open lanes alone: a job of a closed lane whose turn comes is passed over, as if an attempt with
 * it had failed. The caller opens lanes, then starts the order. A lane may be closed at any time,
 * and opened again for those of its jobs whose turn has not come. */
struct orr_order *orr_order_over(struct orr_session *session, bool simulate, bool preemptible_only);
void orr_order_open_lane(struct orr_order *order, uint32_t lane);
void orr_order_start(struct orr_order *order);
void orr_order_close_lane(struct orr_order *order, uint32_t lane);

/* Adds one job, as KAI pushes one back that is to get more. */
void orr_order_push(struct orr_order *order, struct orr_jobview view);
/* To be called after tasks of jobs that wait in it changed: KAI compares jobs as they are, where
 * they lie in its heaps. */
void orr_order_refresh(struct orr_order *order);
/* Takes the next job out that pop may return. False: none is left. */
bool orr_order_pop(struct orr_order *order, struct orr_jobview *view);

/* Does the queue, which holds so much, stay within its quota in every resource, with the demand? */
bool orr_queue_fits_deserved(const struct orr_session *session, uint32_t queue, const int64_t *held,
                             const struct orr_demand *demand);
/* KAI's order of jobs within a queue: negative if a goes before b. */
int orr_order_compare_jobs(const struct orr_session *session, const struct orr_order_entry *a,
                           const struct orr_order_entry *b);

ORR_API_END

#endif
