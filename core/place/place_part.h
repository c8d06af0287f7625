/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_part.h - could a queue's cells hold a job if they were empty? Tried on a cluster of its
 * own, where nobody is and no node is down, with the cells as they are cut when it is opened. */
#ifndef ORR_PLACE_PART_H
#define ORR_PLACE_PART_H

#include <orrery/core/placer.h>

struct orr_part;

/* Borrows the cluster, the queues and the shapes; the quotas of the queues are read once. */
struct orr_part *orr_part_open(const struct orr_ledger_world *world);
void orr_part_close(struct orr_part *part);
/* As orr_placer_bars. Tries each kind of job once. */
enum orr_reason orr_part_bars(struct orr_part *part, const struct orr_job_spec *spec, bool least);

/* A placer of cells alone (place_scored.c). */
struct orr_placer *orr_placer__open_cells(const struct orr_ledger *ledger);
/* As orr_place_conceivable, where the placer says to which node each task goes
 * (place_consolidated.c). */
bool orr_place__conceivable_by(struct orr_placer *placer, struct orr_txn *txn,
                               const struct orr_ledger *ledger, uint32_t job, bool least);
/* Does each kind of its tasks find room by itself? All of them may still be too many. */
bool orr_place__kinds_conceivable_by(struct orr_placer *placer, struct orr_txn *txn,
                                     const struct orr_ledger *ledger, uint32_t job);

#endif
