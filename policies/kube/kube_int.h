/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_int.h - what the files of policy kube share: its lanes, its nominated pods, and where pods
 * are held. */
#ifndef ORR_POLICIES_KUBE_INT_H
#define ORR_POLICIES_KUBE_INT_H

#include "../lanes/scaling.h"

#include "kube_pods.h"

#include <orrery/base/heap.h>
#include <orrery/core/place.h>

enum { KUBE_SCORE_LEAST, KUBE_SCORE_MOST };
enum { KUBE_ORDER_PRIORITY, KUBE_ORDER_SUBMIT };
enum { KUBE_CAP_LIMIT, KUBE_CAP_QUOTA, KUBE_CAP_NONE };

struct kube_params {
    int64_t score, namespace_quota, order;
    bool preemption;
    const char *never_preempts; /* priorities, with commas between them */
    struct orr_placer_params placer;
};

/* Equal pods of one queue that wait: of one shape, task group and, in that order, priority. */
struct kube_lane {
    struct orr_heap jobs; /* class_seq: pods of the group that are placed or nominated */
    uint32_t shape, group;
    int32_t priority;
    bool never_preempts;     /* its pods evict nobody: preemptionPolicy: Never */
    bool used;               /* some job was in it: `priority` means something */
    uint32_t next;           /* like it but for the priority; 0: none, the first of all is none's */
    enum orr_reason verdict; /* of its next pod since room was last released; NONE: not known */
    uint32_t *nominees;      /* its nominated pods, in their order */
    uint32_t nominee_count, nominee_capacity;
    uint32_t untried;      /* the first of them that was not tried in this round */
    uint64_t fruitless_at; /* kube_pods.clock of the last search for victims, if that found none */
};

/* A pod for which pods of lower priority leave a node, its `nominatedNodeName`. */
struct kube_nominee {
    uint32_t job, lane, node;
    uint32_t next_on; /* node; of a slot that is free: the next of these */
    orr_ms key;       /* as in the lane's heap */
    uint64_t tried;   /* the round in which it was nominated, or last tried */
};

/* Of a lane: its nominated pod, or the first of its line. */
struct kube_turn {
    uint32_t lane;
    uint32_t nominee; /* its place among the lane's; ORR_NONE: the first of the line */
    orr_ms key;
    uint32_t job;
};

struct kube {
    struct kube_params params;
    char *never_preempts; /* of the parameters, kept; "": none */
    struct kube_lane *lanes;
    uint32_t lane_count, lane_capacity;
    uint32_t *first_lane; /* of a shape: a lane of each queue for its first group, then the next */
    uint32_t shape_count, shape_capacity;
    bool released;
    bool reported; /* caps as fair shares */
    struct orr_placer *placer;
    struct orr_scaling scaling;
    uint32_t *fresh; /* jobs that came since the last cycle */
    uint32_t fresh_count, fresh_capacity;
    uint32_t *placed; /* jobs placed in this cycle, in runs of the same */
    uint32_t placed_count, placed_capacity;
    struct kube_turn *turns; /* a heap: of each lane that has one */
    uint32_t turn_count, turn_capacity;
    bool turns_known; /* false: those of any lanes may be others, so that the heap is made anew */
    uint64_t round;   /* of tries: another begins with each cycle, and where room is kept no more */
    struct kube_pods *pods; /* NULL: nobody is preempted, and all below is unused */
    struct kube_nominee *nominees;
    uint32_t nominee_count, nominee_slots, nominee_capacity, free_nominee;
    uint32_t *first_nominee; /* per node */
    int64_t *nominated_mgpu; /* per queue: what its nominated pods hold at least */
};

static inline const struct orr_request *orr_kube__request(const struct orr_view *view,
                                                          const struct kube_lane *lane)
{
    return &view->shapes->shapes[lane->shape].groups[lane->group].request;
}

/* kube_place.c */

/* Places the next pod of the lane, which is of this job, or its nominated pod `self`; NONE, or why
 * it found no node. */
enum orr_reason orr_kube__place(struct kube *kube, const struct orr_view *view, struct orr_txn *txn,
                                const struct kube_lane *lane, uint32_t job, uint32_t self);
/* What a queue's pods may hold together, GPUs; below 0: anything. */
double orr_kube__cap(const struct kube_params *params, const struct orr_view *view, uint32_t queue);
/* A pod counts until it is gone: also while it terminates. */
int64_t orr_kube__held_mgpu(const struct orr_view *view, uint32_t queue);

/* kube_turns.c */

/* The first in the order of all turns, or NULL: no lane has one. `had`: the turn that this returned
 * last, whose lane has been tried since, or NULL: the cycle begins. */
const struct kube_turn *orr_kube__next_turn(struct kube *kube, const struct kube_turn *had);

/* kube_nominees.c */

/* The nominated pods of a job in a lane. */
uint32_t orr_kube__nominated(const struct kube *kube, const struct kube_lane *lane, uint32_t job);
void orr_kube__nominate(struct kube *kube, const struct orr_view *view, struct kube_lane *lane,
                        struct orr_event who, uint32_t node);
/* Forgets the pod at this place of the lane's, and returns it. */
struct kube_nominee orr_kube__forget(struct kube *kube, const struct orr_view *view,
                                     struct kube_lane *lane, uint32_t at);

/* kube_preempt.c */

/* Looks for a node where pods of lower priority make room for the lane's next pod, evicts those and
 * returns it; ORR_NONE: there is none. */
uint32_t orr_kube__preempt(struct kube *kube, const struct orr_view *view, struct orr_txn *txn,
                           struct kube_lane *lane, uint32_t job);
/* Would a pod of the lane find no room on the node if the pods were there that are nominated to it
 * and not of a lower priority? The nominated pod `self` is not one of them; ORR_NONE: all are. */
bool orr_kube__is_taken(const struct kube *kube, const struct orr_view *view,
                        const struct kube_lane *lane, uint32_t self, uint32_t node);
/* Do pods of a lower priority still leave the node? */
bool orr_kube__victims_leave(const struct kube *kube, const struct orr_view *view,
                             const struct kube_nominee *nominee);

#endif
