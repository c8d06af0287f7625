/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fill.h - what of a world's GPUs its jobs could fill. */
#ifndef ORR_SIM_FILL_H
#define ORR_SIM_FILL_H

#include <orrery/sim/world.h>

/* Per queue, the most milli-GPU that pods of the sizes its jobs ask for could fill of its shard's
 * empty nodes: of nodes of 8 GPUs, 6 with pods of 3. Pods that share devices can fill all. */
void orr_fill_mgpu(const struct orr_world *world, int64_t *mgpu);

#endif
