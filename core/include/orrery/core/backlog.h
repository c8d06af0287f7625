/* SPDX-License-Identifier: GPL-3.0-or-later */
/* backlog.h - the waiting jobs of a session in order, kept from cycle to cycle.
 *
 *   leaf queue -> lanes -> waiting jobs, oldest first
 *
 * A lane holds jobs of one queue, one priority and one class: jobs of a class ask for the same, in
 * the same number of equal tasks, so that what is found out about one of them (no room, no quota,
 * outside the fair share, a search that failed) holds for all the lane. A job whose tasks differ,
 * or that a topology constrains, is a class of its own. The order of a leaf queue is the merge of
 * its lanes.
 *
 * A job is here while it is ready, has pending tasks and its queue takes jobs. The session says
 * which jobs changed; orr_backlog_sync looks at those alone.
 */
#ifndef ORR_CORE_BACKLOG_H
#define ORR_CORE_BACKLOG_H

#include <string.h>

#include <orrery/core/joborder.h>
#include <orrery/core/reason.h>
#include <orrery/core/rooms.h>

ORR_API_BEGIN

#define ORR_OUTCOME_OWN ORR_OUTCOME_COUNT /* of a lane: each of its jobs has its own outcome */

struct orr_class_part { /* equal tasks of an attempt */
    uint32_t room;      /* index of their request in backlog->rooms */
    uint32_t tasks;     /* how many */
};

struct orr_class_key { /* jobs with equal keys are of one class; all 0 for a class of one job */
    uint64_t constraint_key;
    uint64_t topology;            /* hash of what its sets state of the topology; 0: nothing */
    uint32_t room;                /* index of the tasks' request in backlog->rooms */
    uint32_t due, pending, gated; /* numbers of tasks: due in the next attempt, pending, gated */
    uint32_t tasks;               /* in all */
    int32_t elastic_state;        /* orr_jobview_elastic_state */
};

struct orr_class {
    struct orr_class_key key;
    bool single;                  /* the class is of one job, and has no key */
    bool failed;                  /* for the policy: in this action one of its jobs found no room */
    bool looked_at;               /* for the policy: its lanes are opened in this search */
    int elastic_state;            /* orr_jobview_elastic_state */
    struct orr_demand demand;     /* of the next attempt; memory by the smallest device */
    struct orr_demand demand_max; /* memory by the largest device */
    uint64_t asks;                /* hash of what the tasks of the next attempt ask */
    uint32_t pending;             /* tasks of each of its jobs */
    uint64_t signature, signed_in; /* for the policy: KAI's signature of its jobs, and the round in
                                    * which it was made */
    struct orr_class_part *parts;
    uint32_t part_count, part_capacity;
    uint32_t *lanes; /* those that hold jobs */
    uint32_t lane_count, lane_capacity;
    uint32_t first_lane; /* list of all its lanes, empty ones too, by next_of_class; or ORR_NONE */
    uint32_t at;         /* position in backlog->active, or ORR_NONE */
};

struct orr_lane_item { /* a job of a lane, with what its place in it depends on */
    int64_t created_s;
    const char *name; /* the job's, in the session */
    uint32_t job;
};
/* The older first, then by name. */
static inline int orr_lane_item_compare(const struct orr_lane_item *a,
                                        const struct orr_lane_item *b)
{
    if (a->created_s != b->created_s) {
        return a->created_s < b->created_s ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

struct orr_lane {
    uint32_t queue, of_class;
    int32_t priority;
    bool preemptible;
    bool delayed;                /* its jobs may not take from others yet: searches pass it over */
    struct orr_lane_item *items; /* its jobs at [first, end), by age and name */
    uint32_t first, end, capacity;
    uint32_t at, at_queue, at_class; /* positions in backlog->filled and in the lists of its queue
                                      * and class; ORR_NONE: it holds no jobs */
    uint32_t next_of_class;          /* or ORR_NONE */
    uint64_t generation; /* another one, of backlog->generations, after each change but a job that
                          * is appended */
    uint8_t reported;    /* for the policy: the reason that it reported of the jobs last; 0 once the
                          * lane was empty */
    uint8_t outcomes[ORR_ACTIONS]; /* enum orr_outcome of its jobs, or ORR_OUTCOME_OWN */
    uint64_t round[ORR_ACTIONS]; /* the round of `outcomes`; jobs looked at in it have their own */
    uint8_t reason; /* enum orr_fit_reason of its jobs; ORR_FIT_REASONS: each has its own */
};

struct orr_backlog_leaf { /* of a queue */
    uint32_t *lanes;      /* those that hold jobs */
    uint32_t count, capacity;
    struct orr_holders { /* how many preemptible jobs of a priority hold something, unordered */
        int32_t priority;
        uint32_t jobs;
    } * holders;
    uint32_t holder_count, holder_capacity;
    uint64_t generation; /* another one after every change of its lanes */
};

struct orr_bound_use { /* what a queue held when its limit or quota kept a job out */
    double allocated_gpus, nonpreemptible_gpus;
};

struct orr_holding { /* where the job is counted among a queue's holders */
    uint32_t queue;  /* ORR_NONE: nowhere */
    int32_t priority;
};

struct orr_backlog {
    bool borrowed;         /* made for one cycle, and freed at its end */
    bool attempts_skipped; /* for the policy: under a filter of nodes, allocate attempted no job in
                            * this cycle */
    struct orr_rooms rooms;
    struct orr_class *classes;
    uint32_t class_count, class_capacity;
    uint32_t *slots; /* hash table of class keys: class + 1; 0: free */
    uint32_t slot_count;
    uint32_t *free_classes, *free_lanes; /* slots of `classes` and `lanes` to use again */
    uint32_t free_class_count, free_class_capacity, free_lane_count, free_lane_capacity;
    uint32_t *active; /* classes with jobs */
    uint32_t active_count, active_capacity;
    struct orr_lane *lanes;
    uint32_t lane_count, lane_capacity;
    uint32_t *filled; /* lanes that hold jobs */
    uint32_t filled_count, filled_capacity;
    uint64_t generations;             /* issued so far to lanes and leaves; none twice */
    struct orr_backlog_leaf *leaves;  /* by queue */
    uint32_t *by_age;                 /* queues by age and name */
    struct orr_bound_use *bound_uses; /* by queue: the last */
    int64_t *claims_mgpu; /* by queue: what it held of GPUs when reclaim's gate last kept one of its
                           * jobs out; that, with the job, was above its fair share */
    bool *limited;        /* by queue: it or one above it has a limit */
    uint32_t queue_count;
    /* by job of the session: */
    struct orr_lane_item *item_of_job; /* its item as it was inserted */
    uint32_t *lane_of_job;             /* or ORR_NONE */
    bool *delayed;                     /* it waits in a lane that is delayed */
    orr_ms delay_end;                  /* none of these delays is over before */
    bool *partial;                     /* it has pending tasks and others, which may be evicted */
    bool *unready;                     /* it has pending tasks in a queue that takes jobs, but is
                                        * not ready */
    bool *stale;                       /* it is listed in stale_jobs */
    struct orr_holding *holding;
    uint64_t (*looked_at)[ORR_ACTIONS]; /* the last round in which the action looked at it */
    uint32_t job_count;                 /* jobs that these arrays have room for */
    uint32_t delayed_count, partial_count, unready_count;
    uint64_t round; /* consolidations, reclaims and preempts begun so far, in all cycles */
    uint64_t
        round_before; /* `round` as this cycle began: outcomes of rounds up to it are outdated */
    uint32_t *stale_jobs; /* gangs below their minimum, and some that no longer are */
    uint32_t stale_count, stale_capacity;
    int64_t min_mib, max_mib; /* smallest and largest device of the session when demands of classes
                               * were made */
    struct orr_order order;   /* lent by orr_order_over */
};

/* Gives the session a backlog of its own, which is empty before the first sync. Close it before the
 * session is released. */
void orr_backlog_open(struct orr_session *session);
void orr_backlog_close(struct orr_session *session);
/* To be called after a limit of a queue changed. */
void orr_backlog_read_limits(struct orr_session *session);
/* Moves each job that changed since the last sync into the lane it belongs to, or out of all.
 * Returns the session's backlog. */
struct orr_backlog *orr_backlog_sync(struct orr_session *session);

/* Has the job pending tasks, enough of them for its gang, and a queue? Where only the queue is
 * missing, that becomes the job's reason. */
bool orr_backlog_is_ready(struct orr_session *session, uint32_t job);

/* Does what is known of its lane hold for the job? False where the job lost tasks since the last
 * sync, so that it asks for something else than the other jobs of the lane. */
bool orr_backlog_matches_lane(const struct orr_session *session, uint32_t job);
/* False: the next attempt of a job of the class would find too little room on the nodes. */
bool orr_backlog_has_room(struct orr_backlog *backlog, const struct orr_session *session,
                          uint32_t of_class);
/* The limit or quota that keeps jobs of the lane from an attempt, however much room there is;
 * ORR_FIT_NONE: none does. */
enum orr_fit_reason orr_backlog_bound(const struct orr_session *session, uint32_t lane);
/* The job's fit error: its lane's, or its own. */
enum orr_fit_reason orr_backlog_reason(const struct orr_session *session, uint32_t job);
/* How the action's look at the job ended in this cycle, its last one; NOT_TRIED: it took none. */
enum orr_outcome orr_backlog_outcome(const struct orr_session *session, uint32_t job,
                                     enum orr_action action);
/* Is there a preemptible job of the queue with a lower priority that holds something? */
bool orr_backlog_holds_below(const struct orr_backlog *backlog, uint32_t queue, int32_t priority);

ORR_API_END

#endif
