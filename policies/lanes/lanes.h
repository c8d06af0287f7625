/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lanes.h - first come first served, however many lines there are: what fifo and static share.
 *
 * Pending jobs wait in lanes, each a heap by (key, job). A line is one order in which jobs are
 * served: the whole cluster's (fifo) or a queue's (static). A strict line is one lane; a
 * backfilling line has a lane for each shape. A head that does not fit blocks its lane until room
 * is released, because room only shrinks in between: a cycle costs lanes and starts, not jobs.
 */
#ifndef ORR_POLICIES_LANES_H
#define ORR_POLICIES_LANES_H

#include <orrery/base/heap.h>
#include <orrery/core/placer.h>
#include <orrery/core/policy.h>

#include "scaling.h"

enum orr_lanes_order { /* ties by job: in order of submit */
                       ORR_LANES_SUBMIT,
                       ORR_LANES_SHORTEST,
                       ORR_LANES_PRIORITY, /* higher first */
                       ORR_LANES_PREDICTED /* least GPU time by the estimate */
};

struct orr_queue_lane {
    struct orr_heap heap;
    enum orr_reason verdict; /* of its head since room was last released; NONE: not known to fail */
    bool by_part; /* the last one was OVER_LIMIT: those behind the head have that reason */
};

struct orr_lanes {
    enum orr_lanes_order order;
    bool backfill;
    uint32_t line_count; /* lane l of a strict order is line l's; else shape s has the lanes
                            [s * line_count, (s + 1) * line_count) */
    uint32_t lane_count, lane_capacity; /* grows with the shapes that come to be known */
    const int64_t *caps_mgpu;           /* most a line's queue may hold; NULL: no caps */
    struct orr_placer *placer;          /* borrowed; NULL: consolidated */
    struct orr_queue_lane *lanes;
    struct orr_heap outsize;  /* by (key, job): larger than all their line may ever hold */
    struct orr_heap turns;    /* in a cycle: heads that are not known to be blocked */
    uint32_t waiting;         /* jobs in all lanes */
    uint32_t withdrawn;       /* of these, such that are gone */
    struct orr_event *seated; /* out of their lanes, in order: their places are kept (placer.h) */
    uint32_t seated_count, seated_capacity;
    struct orr_scaling scaling;
    orr_ms *held_ms; /* by job: how long it was held back; NULL until one was */
    uint32_t held_capacity;
    bool released;   /* room came free since the last cycle */
    uint32_t *fresh; /* jobs that came since the last cycle */
    uint32_t fresh_count, fresh_capacity;
};

/* One line; with caps (borrowed, one for each queue), or under a placer that gives queues parts of
 * the cluster, one for each queue. */
void orr_lanes_init(struct orr_lanes *lanes, const struct orr_view *view, bool backfill,
                    enum orr_lanes_order order, const int64_t *caps_mgpu,
                    struct orr_placer *placer);
void orr_lanes_release(struct orr_lanes *lanes);
/* A node came back, or went down: what found no room is tried again. */
void orr_lanes_node(struct orr_lanes *lanes);
/* What so many tasks of a job that scales, or all of another, hold at least: memory asks on the
 * largest devices. */
int64_t orr_lanes_least_mgpu(const struct orr_view *view, uint32_t job, uint32_t tasks);
/* The caps are others than before: everything that waits is sorted anew. */
void orr_lanes_recap(struct orr_lanes *lanes, const struct orr_view *view);
void orr_lanes_event(struct orr_lanes *lanes, const struct orr_view *view, enum orr_job_event event,
                     uint32_t job);
void orr_lanes_cycle(struct orr_lanes *lanes, const struct orr_view *view, struct orr_txn *txn);

#endif
