/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fragment.h - how much of what is free on a node typical tasks could not use.
 *
 * The measure of FGD (Weng et al., "Beware of Fragmentation", USENIX ATC'23): a typical task is one
 * drawn from the tasks of the trace. Where it cannot run, all that is free of the node's GPUs is
 * unusable to it; where it can, that on devices with less free than it takes of one. A node's
 * fragmentation is the mean over typical tasks. Memory is not considered, as there. It is of
 * devices: tasks that ask MIG instances are no typical ones, and free instances are not in it.
 */
#ifndef ORR_CORE_FRAGMENT_H
#define ORR_CORE_FRAGMENT_H

#include <orrery/base/idmap.h>
#include <orrery/core/ledger.h>

ORR_API_BEGIN

#define ORR_TYPICAL_MAX 256 /* kinds of task; more are cut, the rarest first */

struct orr_typical_task {
    struct orr_request request; /* mem_bytes 0 */
    uint64_t count;             /* of the trace's tasks */
};

/* The most frequent kinds of task that together make 95 % of them; of equally frequent ones first
 * those that ask for more CPU, then for more of a GPU, then for more GPUs, then those whose GPU
 * model, or what their selector asks its label to be, is later in the order of bytes. */
struct orr_typical {
    struct orr_typical_task *tasks;
    uint32_t count;
    uint64_t chosen, all;   /* tasks: of these kinds, of all in the trace but those of MIG */
    struct orr_idmap known; /* kinds by what they ask, before orr_typical_choose */
};

/* Of all tasks of the jobs of a world, or of its first `jobs`. Of kinds that are equally frequent
 * and ask as much, those go first whose model or selector has the higher name if `by_nodes` (as in
 * FGD's programs), else those of the first shape. Release it. */
void orr_typical_of_jobs(const struct orr_ledger_world *world, uint32_t jobs, bool by_nodes,
                         struct orr_typical *typical);
/* The same of tasks that are passed one after the other, before orr_typical_choose; those that ask
 * MIG instances are passed over. All zero at first. Without a cluster (NULL) models and selectors
 * decide no tie. */
void orr_typical_add(struct orr_typical *typical, const struct orr_request *request,
                     uint64_t count);
void orr_typical_choose(struct orr_typical *typical, const struct orr_cluster *cluster);
void orr_typical_release(struct orr_typical *typical);
/* refused[t] becomes: a node does not admit typical task t, by its shard, GPU model, labels or
 * taints. Node ORR_NONE: any of the type, so that labels and taints are not looked at. */
void orr_typical_refuse(const struct orr_typical *typical, const struct orr_cluster *cluster,
                        const struct orr_node_type *type, uint32_t node, bool *refused);

/* What a node has left. */
struct orr_left {
    const struct orr_node_type *type;
    const int16_t *free_mgpu; /* per device of the type */
    int64_t cpu_milli;
};

/* The sum over typical tasks of count x unusable milli-GPU; divided by `chosen` the node's
 * fragmentation. refused[t]: see orr_typical_refuse; NULL: it admits all. */
int64_t orr_fragment_sum(const struct orr_typical *typical, const struct orr_left *left,
                         const bool *refused);

/* The node's fragmentation in milli-GPU, added up as the simulator of FGD's authors does: each
 * typical task's part in the order of their frequency into one of six sums, by what the node lacks
 * for it, and then those. Rounding decides between nodes that are equal but for it. */
double orr_fragment_mean(const struct orr_typical *typical, const struct orr_left *left,
                         const bool *refused);

ORR_API_END

#endif
