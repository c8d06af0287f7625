/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_opportunistic.h - jobs that no virtual cluster has to hold (HiveD: Zhao et al., OSDI'20,
 * section 3), and the guaranteed ones for which they go.
 *
 * A guaranteed job is placed as if opportunistic ones were not there. Where one of its tasks is to
 * have what they hold, it gets a seat instead of a placement; if any of its tasks did, the job is
 * not placed, its victims are evicted, and its seats are kept until they are placements. So
 * its place is that of a run without opportunistic jobs, at the same time where evictions have no
 * grace.
 *
 * Victims of a task are the jobs that hold a device which it takes (idle ones come first within its
 * cell), then, as long as CPU, memory or pods of the node are too few, that of them on the node
 * which started last. A victim goes with all its tasks. */
#ifndef ORR_PLACE_OPPORTUNISTIC_H
#define ORR_PLACE_OPPORTUNISTIC_H

#include <orrery/core/placer.h>

struct orr_opportunistic;

/* Jobs whose priority is below are opportunistic. Borrows the ledger. */
struct orr_opportunistic *orr_opportunistic_open(const struct orr_ledger *ledger, int64_t below);
void orr_opportunistic_close(struct orr_opportunistic *o);
bool orr_opportunistic_has(const struct orr_opportunistic *o, uint32_t job);
/* The job holds something now, or is about to. */
void orr_opportunistic_note(struct orr_opportunistic *o, uint32_t job);
/* Brings up to date what opportunistic jobs hold. */
void orr_opportunistic_look(struct orr_opportunistic *o);

/* Devices of a node that opportunistic jobs hold, those in a grace included; that seats hold. */
uint64_t orr_opportunistic_devices(const struct orr_opportunistic *o, uint32_t node);
uint64_t orr_opportunistic_seats(const struct orr_opportunistic *o, uint32_t node);
/* Devices that would be free if there were no opportunistic jobs. */
uint64_t orr_opportunistic_free(const struct orr_opportunistic *o, uint32_t node);
/* What guaranteed tasks that share a device use of it, those with seats included, where all that do
 * use so much. */
int64_t orr_opportunistic_shared_parts(const struct orr_opportunistic *o, uint32_t node,
                                       uint32_t device, int64_t used_parts);
/* Would the node then have room for a task? Whether single devices do is not asked of tasks that
 * share them. */
bool orr_opportunistic_room_for(const struct orr_opportunistic *o, uint32_t node,
                                const struct orr_request *request);
/* What opportunistic jobs of a queue hold of devices, less what seats of its others do. */
int64_t orr_opportunistic_mgpu(const struct orr_opportunistic *o, uint32_t queue);
/* Idle instances of a MIG profile on a node, with those that opportunistic jobs hold. */
int32_t orr_opportunistic_instances(const struct orr_opportunistic *o, uint32_t node,
                                    uint32_t profile);
/* What opportunistic jobs of all queues hold. */
const struct orr_gpus *orr_opportunistic_gpus(const struct orr_opportunistic *o);

/* Begins a guaranteed job's attempt, up to `settle`, or the next one if it fails. */
void orr_opportunistic_begin(struct orr_opportunistic *o);
/* Places a task on devices of a node (0: the ledger's rule), or gives it a seat there. False: there
 * will be no room for it. */
bool orr_opportunistic_place(struct orr_opportunistic *o, struct orr_txn *txn, uint32_t job,
                             uint32_t group, uint32_t node, uint64_t devices);
/* If a job has seats for so many tasks it gets them; false: it has none, or they are of no use, and
 * given up. */
bool orr_opportunistic_again(struct orr_opportunistic *o, struct orr_txn *txn, uint32_t job,
                             uint32_t tasks);
/* For a rollback to here: seats that the attempt got since, and their victims, are given up. */
struct orr_opportunistic_mark {
    uint32_t seats, victims;
};
struct orr_opportunistic_mark orr_opportunistic_mark(const struct orr_opportunistic *o);
void orr_opportunistic_undo(struct orr_opportunistic *o, struct orr_opportunistic_mark mark);
/* All tasks have places: NONE. Some have seats: rolls back to the checkpoint, evicts, keeps the
 * seats, and PIPELINED. */
enum orr_reason orr_opportunistic_settle(struct orr_opportunistic *o, struct orr_txn *txn,
                                         uint32_t job, uint32_t checkpoint);
/* Does a job have seats? */
bool orr_opportunistic_waits(const struct orr_opportunistic *o);
/* Of a placer; NULL: no job is opportunistic. */
struct orr_opportunistic *orr_placer__opportunistic(const struct orr_placer *placer);
/* A cycle begins: seats of jobs that are gone are given up. */
void orr_opportunistic_new_cycle(struct orr_opportunistic *o);

#endif
