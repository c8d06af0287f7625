/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_walk.h - one walk over all that happened, for rules about what queues held, asked and were
 * due when a cycle began.
 *
 * What a cycle at an instant saw is known: ends, arrivals and changes of capacity and quotas came
 * before it, starts and evictions are what it did. */
#ifndef ORR_AUDIT_WALK_H
#define ORR_AUDIT_WALK_H

#include "audit_int.h"

struct orr_audit_standing { /* of a job */
    int64_t held_mgpu, leaving_mgpu;
    uint32_t held_pods, leaving_pods;
    uint32_t open;   /* spans of it that left, or others did */
    uint16_t absent; /* times it is so */
    bool here;
    bool going; /* all of it is in a grace: pods that have no place wait for the end of that */
    int64_t asked_mgpu; /* all its pods, or those that it wants now */
    uint32_t asked_pods;
    int64_t wants_mgpu, wants_mib; /* as they are in its queues' sums */
    int64_t most_mgpu; /* of wants_mgpu: the most that its GPU memory may turn out to be */
    orr_ms started_ms; /* when a cycle last started pods of it, and how much */
    int64_t started_mgpu;
};

struct orr_audit_open { /* a stored share that the first cycle of its instant does not explain */
    uint32_t share;     /* of the schedule's */
    double due;         /* to that cycle */
};

struct orr_audit_between;

struct orr_audit_walk {
    struct orr_audit_run *run;
    const struct orr_schedule *schedule;
    struct orr_audit_deed *deeds;
    size_t count;
    struct orr_audit_standing *jobs;
    uint32_t *down, *away; /* by node: how often; of these times it was no part of the cluster */
    int64_t capacity_mgpu; /* of nodes that are up and take work */
    int64_t leaving_mgpu;  /* held in graces */
    int64_t started_mgpu;  /* by the cycle at hand */
    bool may_have_second;  /* something was gone at once: the round may have had a second cycle */
    int64_t *held, *wants; /* by queue, children included */
    int64_t *shared; /* of held: not in past usage: what kai rounds up, devices but a pod's first */
    int64_t *most, *wants_mib;   /* of wants: for GPU memory, and that memory */
    int64_t *started;            /* by the cycle at hand, by queue, children included */
    int64_t least_mib, most_mib; /* of devices of more than 100 MiB; 0: there are none */
    int64_t present_mib;         /* the least of nodes that are part of the cluster now */
    struct orr_audit_past *past; /* NULL: past use does not count */
    uint32_t blind; /* jobs that wait for memory or are in a grace, we do not know with how much */
    struct orr_audit_queue *queues;
    uint32_t queue_changes, share; /* next of the schedule's */
    double *request, *fair;
    struct orr_audit_open *open;
    uint32_t open_count, open_capacity;
    struct orr_audit_between *between; /* what is tried to explain them */
    bool divided;                      /* fair is of what is held and asked now, ... */
    orr_ms divided_ms;                 /* ... past use of then, ... */
    uint32_t for_last;                 /* ... and of this loser of ties */
};

/* Does it wait for memory or leave, we do not know with how much? */
bool orr_audit__is_blind(const struct orr_audit_walk *walk, uint32_t job,
                         const struct orr_audit_standing *standing);
/* The most that a pod which asks for GPU memory may hold: on devices that have the least. */
int64_t orr_audit__memory_most(const struct orr_audit_walk *walk, const struct orr_audit_job *job);
/* Adds an amount of a job to those of its queue and all above. */
void orr_audit__add_up(const struct orr_audit_walk *walk, uint32_t job, int64_t *books,
                       int64_t mgpu);
/* Can the fair shares of this instant be divided anew from the record? */
bool orr_audit__can_divide(const struct orr_audit_walk *walk);
/* Fair shares of a cycle at `now`, in devices; as little as the record allows to one queue. */
double orr_audit__least_fair(struct orr_audit_walk *walk, uint32_t queue, orr_ms now);

/* Passes over the stored shares that are due with what is held and asked now. */
void orr_audit__judge_open(struct orr_audit_walk *walk);

/* What cycles may have seen in the middle of an instant: each state of a job is noted as it comes
 * about; then those of all jobs are combined, and the open shares judged with each. False: the ways
 * to do so are too many, none was tried. */
struct orr_audit_between *orr_audit__between_open(void);
void orr_audit__between_close(struct orr_audit_between *between);
void orr_audit__between_begin(struct orr_audit_between *between);
void orr_audit__between_note(struct orr_audit_between *between, const struct orr_audit_walk *walk,
                             uint32_t job);
bool orr_audit__between_search(struct orr_audit_between *between, struct orr_audit_walk *walk);

/* RECLAIM: what the cycle of each instant takes; instants in order, started ones counted before. */
struct orr_audit_takings;
struct orr_audit_takings *orr_audit__takings_open(struct orr_audit_walk *walk);
void orr_audit__takings_close(struct orr_audit_takings *takings);
void orr_audit__judge_takings(struct orr_audit_takings *takings, orr_ms now);

#endif
