/* SPDX-License-Identifier: GPL-3.0-or-later */
/* seats.h - where the pods of a job would sit on nodes of one model of GPU if these were empty:
 * whether the model holds them at all, and how fast the job would be there. */
#ifndef ORR_POLICIES_WALK_SEATS_H
#define ORR_POLICIES_WALK_SEATS_H

#include <orrery/core/policy.h>

struct orr_walk_seats {
    struct orr_seat *list;
    uint32_t count, capacity;
    uint32_t *order, node_count; /* nodes of the shard that have GPUs, those with the most first */
    struct orr_room *left;       /* by node: what those who sit there leave, if `filled` says so */
    uint32_t *filled;            /* by node: the fill in which somebody last sat down there */
    uint32_t fill;
};

void orr_walk_seats_release(struct orr_walk_seats *seats);
/* Fills `list` and returns for how many pods there are seats. Each task group goes from node to
 * node, the largest first, and takes of each what GPUs, CPU, memory and pod slots hold. */
uint32_t orr_walk_seats_fill(struct orr_walk_seats *seats, const struct orr_view *view,
                             uint32_t job, uint32_t model);

#endif
