/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_cells_int.h - what the two files of buddy cells share: place_cells_cut.c, which cuts the
 * cluster and the quotas once, and place_cells.c, which chooses and binds.
 *
 *   chain   nodes that are alike, in an order in which each cell is a run of devices: halves of
 *           halves of a node, nodes, and those levels of the topology that hold equally many
 *   cell    of a virtual cluster: one of its queue's own, of a level of a chain. It is bound to a
 *           physical cell of its level while a task uses it, and to any when it is used again
 */
#ifndef ORR_PLACE_CELLS_INT_H
#define ORR_PLACE_CELLS_INT_H

#include "place_cells.h"

enum { ORR_CELL_LEVELS = 24 };

#define ORR_FOREIGN_DEVICE UINT32_MAX /* of `bound`: held by foreign pods, part of no cell */

struct orr_chain {
    uint32_t *nodes, count; /* in the order of their devices */
    uint32_t gpus, model, shard;
    int64_t memory_mib;                             /* of a device */
    uint32_t first;                                 /* device */
    uint32_t devices[ORR_CELL_LEVELS], level_count; /* of a cell, ascending */
};

struct orr_buddy_cell { /* of a virtual cluster */
    uint32_t queue, chain, level;
    uint32_t at;   /* the physical cell that it is bound to, by number in its level; or ORR_NONE */
    uint32_t used; /* devices of it that tasks have */
};

struct orr_cell_candidate { /* for a task: a node, or a part of one, of a cell */
    uint32_t cell, nth;     /* nth node of it */
    uint32_t opens, room;   /* devices that the task would be the first on; that are free there */
    uint32_t room_of_cell;  /* devices that are free in the whole cell */
    bool tried;
};

struct orr_cells {
    const struct orr_ledger *ledger;
    struct orr_chain *chains;
    uint32_t chain_count, chain_capacity;
    uint32_t *chain_of, *place_of; /* by node: its chain, or ORR_NONE, and its place there */
    uint32_t *bound; /* by device: 1 + the cell bound there, 0, or ORR_FOREIGN_DEVICE */
    uint32_t *taken; /* by device: 1 + the cell whose task has it, or 0 */
    uint32_t device_count;
    struct orr_buddy_cell *cells; /* by queue, then as they were cut: larger ones first */
    uint32_t count, capacity;
    uint32_t *first_of_queue; /* queues + 1 entries */
    int64_t *part_mgpu;       /* by queue */
    uint64_t seen;            /* ledger->changes up to which `taken` holds */
    uint32_t chosen;          /* node of the last choice, or ORR_NONE */
    struct orr_cell_candidate *candidates;
    uint32_t candidate_count, candidate_capacity;
    bool *in_range;                          /* by node: scratch */
    struct orr_opportunistic *opportunistic; /* NULL: nobody is */
};

static inline uint32_t orr_chain_node(const struct orr_chain *chain, uint32_t device)
{
    return chain->nodes[(device - chain->first) / chain->gpus];
}

/* How many physical cells of a level the chain has. */
static inline uint32_t orr_chain_cells(const struct orr_chain *chain, uint32_t level)
{
    return chain->count * chain->gpus / chain->devices[level];
}

/* Is nothing bound in the `at`-th physical cell of the level? */
bool orr_cells__is_unbound(const struct orr_cells *cells, const struct orr_chain *chain,
                           uint32_t level, uint32_t at);
/* Writes `value` into `bound` of all its devices. */
void orr_cells__set_bound(struct orr_cells *cells, const struct orr_chain *chain, uint32_t level,
                          uint32_t at, uint32_t value);

#endif
