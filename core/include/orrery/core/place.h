/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place.h - placing a whole gang at once, by a named strategy. */
#ifndef ORR_CORE_PLACE_H
#define ORR_CORE_PLACE_H

#include <orrery/core/placer.h>

ORR_API_BEGIN

/* Consolidated placement, as GPU-cluster simulators of the Helios/Lucid family do it: a job of one
 * task goes to the node with the fewest idle devices that fits; the tasks of a larger gang, in
 * group order, each to the node with the most idle devices (lowest index on ties). A gang that is
 * to be held together goes to the domain with the fewest idle devices that takes all of it, from
 * the level it prefers up to the one it requires; so does each part of a gang that states a level,
 * within the domain of the whole, before the parts that state none. Places all tasks and returns
 * ORR_REASON_NONE, or places nothing and says why. Of a job that scales it places what it lacks:
 * its gang or nothing, then task by task as jobs of one task; if not all find room it says why, and
 * those that did are placed. Costs a few words per node used; with a level, the nodes of the
 * domains tried. */
enum orr_reason orr_place_consolidated(struct orr_txn *txn, const struct orr_ledger *ledger,
                                       uint32_t job);

/* The same where a placer says to which node each task goes; NULL: consolidated. */
enum orr_reason orr_place_all(struct orr_placer *placer, struct orr_txn *txn,
                              const struct orr_ledger *ledger, uint32_t job);

/* The same with another shape than the job's own: like it, but with fewer tasks, or requests that
 * may be on fewer nodes. */
enum orr_reason orr_place_all_as(struct orr_placer *placer, struct orr_txn *txn,
                                 const struct orr_ledger *ledger, uint32_t job,
                                 const struct orr_shape *shape);

/* The same of what a job asks at once: all or nothing of the gang or of the one task that a job
 * which scales lacks next, and of all tasks of any other. */
enum orr_reason orr_place_next(struct orr_placer *placer, struct orr_txn *txn,
                               const struct orr_ledger *ledger, uint32_t job);

/* The same on nodes of a set alone, and no more CPU than so much on each. Several tasks take the
 * nodes of it with the most idle devices, one task the one with the fewest; costs a look at every
 * node. */
struct orr_place_among {
    const uint64_t *nodes;    /* bit by node index */
    const int64_t *cpu_milli; /* by node; NULL: all that is idle */
};
enum orr_reason orr_place_next_among(struct orr_txn *txn, const struct orr_ledger *ledger,
                                     uint32_t job, const struct orr_place_among *among);

/* The same as orr_place_next for a job of whose queue no more than so much milli-GPU may be held
 * beside what it holds now. What a memory ask takes depends on the node: if the place that it would
 * get passes this, each of its tasks goes where enough is left for the others on the largest
 * devices. OVER_LIMIT, and nothing placed: there is no such place. Costs a look at every node only
 * then. */
enum orr_reason orr_place_next_within(struct orr_placer *placer, struct orr_txn *txn,
                                      const struct orr_ledger *ledger, uint32_t job,
                                      int64_t most_mgpu);

/* Of the nodes with room for a task on which it holds no more than so much milli-GPU the one with
 * the most, else the fewest idle devices, lowest index; or ORR_NONE. Looks at every node. */
uint32_t orr_place_node_within(const struct orr_ledger *ledger, const struct orr_request *request,
                               int64_t most_mgpu, bool most_idle);

/* Could it ever start, if the ledger stands for a cluster where nothing runs? A job that scales
 * starts with its gang, `least`: and so does one that is elastic. Of a gang with parts that are to
 * be held together each part is tried by itself, since another strategy may find room for all where
 * this one does not. Where several choices of tasks are a gang, it could if so many find room each
 * by itself, and the cluster has the GPUs of those that ask least. `among`: on these nodes alone;
 * NULL: on any. Leaves nothing behind. */
bool orr_place_conceivable(struct orr_txn *txn, const struct orr_ledger *ledger, uint32_t job,
                           bool least, const struct orr_place_among *among);

/* Idle devices of the nodes whose labels and taints let tasks of the request be there. Costs a look
 * at every node when the request names some. */
int64_t orr_place_allowed_idle(const struct orr_ledger *ledger, const struct orr_request *request);
/* Why so many tasks of each group of a shape (0: all) find no nodes: NO_CAPACITY if too few GPUs
 * are free on nodes that are not down, what leaves not counted (orr_ledger_unheld), else
 * NODE_TYPES, CONSTRAINED, TOPOLOGY or FRAGMENTED. */
enum orr_reason orr_place_why_not(const struct orr_ledger *ledger, const struct orr_shape *shape,
                                  uint32_t tasks);
/* The same of a job for which its policy seeks no nodes: RESERVED if it would find some, since what
 * it would take is kept for others. Leaves nothing behind. */
enum orr_reason orr_place_why_passed(struct orr_txn *txn, const struct orr_ledger *ledger,
                                     uint32_t job, uint32_t tasks);

ORR_API_END

#endif
