/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fragment.h - how much of what is free on a node typical tasks could not use.
 *
 * The measure of FGD (Weng et al., "Beware of Fragmentation", USENIX ATC'23): a typical task is one
 * drawn from the tasks of the trace. Where it cannot run, all that is free of the node's GPUs is
 * unusable to it; where it can, that on devices with less free than it takes of one. A node's
 * fragmentation is the mean over typical tasks. Memory is not considered, as there.
 */
#ifndef ORR_SIM_FRAGMENT_H
#define ORR_SIM_FRAGMENT_H

#include <orrery/sim/world.h>

#define ORR_TYPICAL_MAX 256 /* kinds of task; more are cut, the rarest first */

struct orr_typical_task {
    struct orr_request request; /* mem_bytes 0 */
    uint64_t count;             /* of the trace's tasks */
};

/* The most frequent kinds of task that together make 95 % of them; of equally frequent ones first
 * those that ask for more CPU, then for more of a GPU, then for more GPUs. */
struct orr_typical {
    struct orr_typical_task *tasks;
    uint32_t count;
    uint64_t chosen, all; /* tasks: of these kinds, of the whole trace */
};

/* Of all jobs of a world. Release it. */
void orr_typical_of(const struct orr_world *world, struct orr_typical *typical);
/* The same of tasks that are told one after the other, before orr_typical_choose. All zero at
 * first. */
void orr_typical_add(struct orr_typical *typical, const struct orr_request *request,
                     uint64_t count);
void orr_typical_choose(struct orr_typical *typical);
void orr_typical_release(struct orr_typical *typical);

/* What a node has left. */
struct orr_left {
    const struct orr_node_type *type;
    const int16_t *free_mgpu; /* per device of the type */
    int64_t cpu_milli;
};

/* The sum over typical tasks of count x unusable milli-GPU; divided by `chosen` the node's
 * fragmentation. refused[t]: the node does not admit task t for other reasons (model, selector);
 * NULL: it admits all. */
int64_t orr_fragment_sum(const struct orr_typical *typical, const struct orr_left *left,
                         const bool *refused);

/* Per queue, the most milli-GPU that pods of the sizes its jobs ask for could fill of its shard's
 * empty nodes: of nodes of 8 GPUs, 6 with pods of 3. Pods that share devices can fill all. */
void orr_fill_mgpu(const struct orr_world *world, int64_t *mgpu);

#endif
