/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rooms.h - node by node what is idle, or would be if all were gone who may be paused: for how many
 * pods there are nodes at all. */
#ifndef ORR_POLICIES_WALK_ROOMS_H
#define ORR_POLICIES_WALK_ROOMS_H

#include <orrery/core/policy.h>

struct orr_walk_rooms {
    struct orr_room *of; /* by node */
};

void orr_walk_rooms_release(struct orr_walk_rooms *rooms);
/* What is idle; then comes who may be paused. */
void orr_walk_rooms_begin(struct orr_walk_rooms *rooms, const struct orr_view *view);
void orr_walk_rooms_add(struct orr_walk_rooms *rooms, const struct orr_view *view, uint32_t job);
/* For how many tasks of a job's first group there are nodes, `most` at most. */
uint32_t orr_walk_rooms_seats(const struct orr_walk_rooms *rooms, const struct orr_view *view,
                              uint32_t job, uint32_t most);

#endif
