/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_cells.h - buddy cells of virtual clusters, for the placer (placer.h has the rules). */
#ifndef ORR_PLACE_CELLS_H
#define ORR_PLACE_CELLS_H

#include "place_opportunistic.h"

struct orr_cells;

/* Cuts the cluster into cells and the quotas of queues into virtual clusters. Borrows the ledger.
 */
struct orr_cells *orr_cells_open(const struct orr_ledger *ledger);
void orr_cells_close(struct orr_cells *cells);
/* As orr_placer_choose. Binds a cell of the queue if it has to; a choice that is not placed is
 * forgotten at the next one. */
uint32_t orr_cells_choose(struct orr_cells *cells, uint32_t job, uint32_t group,
                          const struct orr_place_range *range, uint64_t *devices);
/* The same for a job that no cells bound: on the node where such jobs have the most devices, of
 * equal ones where guaranteed jobs have the fewest, then the last; its highest devices. So it is
 * far from where the next cells are bound. */
uint32_t orr_cells_choose_opportunistic(struct orr_cells *cells, uint32_t job, uint32_t group,
                                        const struct orr_place_range *range, uint64_t *devices);
/* From now on guaranteed jobs choose as if those were not there. Borrowed; NULL: nobody is. */
void orr_cells_set_opportunistic(struct orr_cells *cells, struct orr_opportunistic *opportunistic);
/* Of all cells of a queue. */
int64_t orr_cells_part_mgpu(const struct orr_cells *cells, uint32_t queue);

#endif
