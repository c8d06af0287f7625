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

#define ORR_OUTCOME_OWN ORR_OUTCOME_COUNT /* each job's is its own */

struct orr_class_part { /* equal tasks of an attempt */
    uint32_t room;      /* of backlog->rooms */
    uint32_t tasks;
};

struct orr_class_key { /* of jobs that are alike; all 0 for a class of one job */
    uint64_t constraint_key;
    uint64_t topology; /* hash of what its sets state of the topology; 0: nothing */
    uint32_t room, due, pending, tasks; /* tasks: due in the next attempt, pending, in all */
    int32_t elastic_state;
};

struct orr_class {
    struct orr_class_key key;
    bool single;                   /* of one job */
    bool failed;                   /* an attempt of this action found no nodes for one of them */
    bool looked_at;                /* for the searches of one action */
    int elastic_state;             /* orr_jobview_elastic_state */
    struct orr_demand demand;      /* of the next attempt; memory by the smallest device */
    struct orr_demand demand_max;  /* memory by the largest device */
    uint64_t asks;                 /* hash of what the tasks of the next attempt ask */
    uint32_t pending;              /* tasks of each of its jobs */
    uint64_t signature, signed_in; /* for the caller: of its jobs, in that round */
    struct orr_class_part *parts;
    uint32_t part_count, part_capacity;
    uint32_t *lanes; /* those that hold jobs */
    uint32_t lane_count, lane_capacity;
    uint32_t first_lane; /* all of its lanes, empty ones too, by next_of_class; or ORR_NONE */
    uint32_t at;         /* position among the active classes, or ORR_NONE */
};

struct orr_lane_item {
    int64_t created_s;
    const char *name;
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
    struct orr_lane_item *items; /* [first, end), by age and name */
    uint32_t first, end, capacity;
    uint32_t at, at_queue, at_class; /* positions in their lists, or ORR_NONE */
    uint32_t next_of_class;          /* or ORR_NONE */
    uint64_t generation; /* its own; a new one with each change but a job more at the end */
    uint8_t reported;    /* for the reader: the reason its jobs got last; 0 when it fills again */
    uint8_t outcomes[ORR_ACTIONS]; /* enum orr_outcome of its jobs, or ORR_OUTCOME_OWN */
    uint8_t foreseen;              /* for the caller, within an action */
    uint64_t round[ORR_ACTIONS];   /* when that was found; jobs looked at then have their own */
    uint8_t reason; /* enum orr_fit_reason of its jobs; ORR_FIT_REASONS: each has its own */
};

struct orr_backlog_leaf { /* of a queue */
    uint32_t *lanes;      /* those that hold jobs */
    uint32_t count, capacity;
    struct orr_holders { /* preemptible jobs that hold something, by priority; few */
        int32_t priority;
        uint32_t jobs;
    } * holders;
    uint32_t holder_count, holder_capacity;
    uint64_t generation; /* steps with every change of its lanes */
};

struct orr_holding { /* a job as its queue's holders count it */
    uint32_t queue;  /* ORR_NONE: not */
    int32_t priority;
};

struct orr_backlog {
    bool borrowed;         /* for one cycle only */
    bool attempts_skipped; /* for allocate: under a filter of nodes no job was attempted in this
                              cycle */
    struct orr_rooms rooms;
    struct orr_class *classes;
    uint32_t class_count, class_capacity;
    uint32_t *slots; /* hash of class keys: class + 1 */
    uint32_t slot_count;
    uint32_t *free_classes, *free_lanes;
    uint32_t free_class_count, free_class_capacity, free_lane_count, free_lane_capacity;
    uint32_t *active; /* classes with jobs */
    uint32_t active_count, active_capacity;
    struct orr_lane *lanes;
    uint32_t lane_count, lane_capacity;
    uint32_t *filled; /* lanes that hold jobs */
    uint32_t filled_count, filled_capacity;
    uint64_t generations;            /* of lanes and leaves, given so far */
    struct orr_backlog_leaf *leaves; /* by queue */
    uint32_t *by_age;                /* queues by age and name */
    bool *limited;                   /* by queue: it or one above it has a limit */
    uint32_t queue_count;
    struct orr_lane_item *item_of_job;  /* as it was put in */
    uint32_t *lane_of_job;              /* or ORR_NONE */
    bool *delayed;                      /* by job: waits in a lane that is delayed */
    orr_ms delay_end;                   /* none of these delays is over before */
    bool *partial;                      /* by job: waits, and has tasks that do not */
    struct orr_holding *holding;        /* by job */
    uint64_t (*looked_at)[ORR_ACTIONS]; /* by job: the round in which it was, by action */
    uint64_t round;                     /* searches of lanes so far, one an action and cycle */
    bool *stale;                        /* by job: listed in stale_jobs */
    uint32_t job_count;
    uint32_t delayed_count, partial_count;
    bool *unready; /* by job: has pending tasks in a queue that takes jobs, but is not ready */
    uint32_t unready_count;
    uint32_t *stale_jobs; /* gangs below their minimum, and some that no longer are */
    uint32_t stale_count, stale_capacity;
    int64_t min_mib, max_mib; /* of the session's devices: what the demands of classes go by */
    struct orr_order order;   /* its memory is used again */
};

/* Gives the session a backlog of its own; nothing is in it before the first sync. */
void orr_backlog_open(struct orr_session *session);
void orr_backlog_close(struct orr_session *session);
/* The limits of queues are others than before. */
void orr_backlog_read_limits(struct orr_session *session);
/* Takes in what changed. Returns the session's backlog. */
struct orr_backlog *orr_backlog_sync(struct orr_session *session);

/* Does what is known of its lane hold for the job? Not once it lost tasks since the last sync. */
bool orr_backlog_speaks_for(const struct orr_session *session, uint32_t job);
/* Could the next attempt of a job of the class find its nodes, as far as room tells? */
bool orr_backlog_has_room(struct orr_backlog *backlog, const struct orr_session *session,
                          uint32_t of_class);
/* What keeps jobs of the lane from an attempt whatever room there is; ORR_FIT_NONE: nothing. */
enum orr_fit_reason orr_backlog_bound(const struct orr_session *session, uint32_t lane);
/* The job's fit error: its lane's, or its own. */
enum orr_fit_reason orr_backlog_reason(const struct orr_session *session, uint32_t job);

/* How the action's last look at the job ended. */
enum orr_outcome orr_backlog_outcome(const struct orr_session *session, uint32_t job,
                                     enum orr_action action);
/* Is there a preemptible job of the queue with a lower priority that holds something? */
bool orr_backlog_holds_below(const struct orr_backlog *backlog, uint32_t queue, int32_t priority);

ORR_API_END

#endif
