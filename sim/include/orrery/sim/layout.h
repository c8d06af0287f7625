/* SPDX-License-Identifier: GPL-3.0-or-later */
/* layout.h - where a running gang sits, as far as its speed goes: what profiles and links read.
 *
 * A layout is made by sim/exec from the ledger's placements whenever these change; a profile turns
 * it into a rate in ppm of the reference rate (1 000 000 = the trace's run time is exact), and
 * links turn the layouts of all gangs into how much of its bandwidth each one gets.
 */
#ifndef ORR_SIM_LAYOUT_H
#define ORR_SIM_LAYOUT_H

#include <orrery/core/cluster.h>

struct orr_node_part { /* what a gang holds of one node */
    uint32_t node;
    uint32_t gpus;    /* devices, shared ones counted whole */
    uint32_t workers; /* tasks */
    uint64_t devices; /* bit mask; 0 on nodes of more than 64 devices */
};

struct orr_layout {
    const struct orr_node_part *spans; /* by node index, each node once */
    uint32_t span_count;
    uint32_t workers; /* tasks that are placed, of all spans */
    uint32_t gpus;
};

/* Of parts in any order, of which several may be of one node: joins them in place. The parts are
 * borrowed by the layout. */
struct orr_layout orr_layout_of_parts(struct orr_node_part *parts, uint32_t count);

#endif
