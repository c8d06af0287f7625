/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fill.h - what of a world's GPUs its jobs could fill. */
#ifndef ORR_SIM_FILL_H
#define ORR_SIM_FILL_H

#include <orrery/sim/world.h>

/* The most milli-GPU that pods of the sizes a queue's jobs ask for could fill of one empty node: of
 * one of 8 GPUs, 6 with pods of 3. Pods that share devices can fill all; nodes of other shards have
 * none. By node type, then by queue; caller frees. */
int64_t *orr_fill_node_mgpu(const struct orr_world *world);
/* Per queue, the same of all nodes there may be; from what it is of one of each type. */
void orr_fill_mgpu(const struct orr_world *world, const int64_t *of_node, int64_t *mgpu);

#endif
