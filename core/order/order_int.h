/* SPDX-License-Identifier: GPL-3.0-or-later */
/* order_int.h - what the files of the room share: the tree of queues. */
#ifndef ORR_ORDER_INT_H
#define ORR_ORDER_INT_H

#include <orrery/core/backlog.h>

#include <orrery/core/queueorder.h>

#define ORR_ORDER_ROOT     0u /* node */
#define ORR_ORDER_UNRANKED UINT64_MAX

struct orr_lane_head {
    struct orr_order_entry entry;
    uint32_t lane; /* ORR_NONE: no more */
    struct orr_lane_item item;
};

struct orr_order_node {
    uint32_t queue;  /* ORR_NONE: the root */
    uint32_t parent; /* node */
    bool needs_reorder;
    uint64_t top;       /* part of the order's `tops` */
    uint64_t ranked_at; /* the session's `queue_generation` as it was ranked by its best job */
    struct orr_queue_rank rank;
    uint32_t *children; /* heap of nodes */
    uint32_t child_count, child_capacity;
    struct orr_order_entry *jobs; /* heap */
    uint32_t job_count, job_capacity;
    enum { ORR_BEST_UNKNOWN, ORR_BEST_LISTED, ORR_BEST_ADDED } best; /* over a list */
    struct orr_lane_head head;           /* of a leaf's lanes, or of its listed jobs (lane 0) */
    uint32_t list_at, list_end;          /* in the order's list: its jobs that follow the head */
    const struct orr_order_entry *added; /* over a list: the caller's, best first */
    uint32_t added_count;
};

/* order.c: the order of building has the older queue first, then the lower name. */
int orr_order__compare_queues(const struct orr_session *session, uint32_t a, uint32_t b);
uint32_t orr_order__new_node(struct orr_order *order, uint32_t queue, uint32_t parent);
/* A new node enters its parent's heap and is flagged, as are those above, which may have a better
 * job now; a missing parent is made the same way, after it has its first child. */
void orr_order__link(struct orr_order *order, uint32_t node);
/* The best job of the node and of those above may be another one. */
void orr_order__mark_path(struct orr_order *order, uint32_t node);

/* Where the entry goes among so many in the order of building. */
uint32_t orr_order__place_for(const struct orr_order *order, const struct orr_order_entry *entries,
                              uint32_t count, const struct orr_order_entry *entry);

/* Drops the first of the leaf's heap of jobs. */
void orr_order__drop_first(const struct orr_order *order, struct orr_order_node *leaf);

/* order_lanes.c: jobs that lost tasks leave their lanes, with all that wait in their queue. */
void orr_order__leave_lanes(struct orr_order *order);
/* Makes the next job of the leaf's lanes its head. With `skip` it passes over jobs of closed lanes
 * whose demand is at most one of compared_demands: popping them could not reorder queues. */
void orr_order__find_head(struct orr_order *order, struct orr_order_node *leaf, bool skip);
/* Would a job with this demand, which pop does not return, be popped right after the job of one of
 * the order's compared_demands? */
bool orr_order__is_passed_over(const struct orr_order *order, const struct orr_demand *demand);
/* With one open lane and no heaps: its first job, once. */
bool orr_order__pop_only_lane(struct orr_order *order, struct orr_jobview *view);
/* Makes heaps that were not needed so far. */
void orr_order__make_heaps(struct orr_order *order);
/* Is a job left that pop may return? */
bool orr_order__any_open(struct orr_order *order);

#endif
