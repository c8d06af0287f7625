/* SPDX-License-Identifier: GPL-3.0-or-later */
/* space.h - free room over time: how much there is, how much of it typical tasks could not use, and
 * the largest gang that could start.
 *
 * It is passed every start and end of a placement, and every time in which a node takes nothing, in
 * order of time; it keeps the
 * sums up to date from the node that changed: a table by idle devices where nodes have no other
 * state, else a look at the node's devices. Values are integrated exactly, over the window and over
 * buckets. */
#ifndef ORR_SIM_SPACE_H
#define ORR_SIM_SPACE_H

#include <orrery/sim/summary.h>

struct orr_space;

struct orr_piece { /* what some tasks of a job hold on a node */
    uint32_t node;
    uint64_t devices; /* bit mask; 0: not known */
    int64_t mgpu;     /* of devices */
    int64_t cpu_milli;
};

struct orr_space *orr_space__open(const struct orr_world *world, const struct orr_run *run);
/* Nothing changed from the last call (at first: the begin of the run) until `at`. */
void orr_space__until(struct orr_space *space, orr_ms at);
void orr_space__hold(struct orr_space *space, const struct orr_piece *piece, bool start);
/* The node is cordoned, down or away from now on, or one of these times of it is over. */
void orr_space__close_node(struct orr_space *space, uint32_t node, bool begin);
/* Gives what was found to the summary and ends the space. */
void orr_space__close(struct orr_space *space, struct orr_room_summary *result);

#endif
