/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "held.h"

static uint32_t nodes_not_down(const struct orr_ledger *ledger,
                               const struct orr_placement *placement)
{
    uint32_t count = 0;
    for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
        count += !ledger->down[n];
    }
    return count;
}

struct orr_gpus orr_held_open(const struct orr_view *view, uint32_t job)
{
    const struct orr_ledger *ledger = view->ledger;
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    struct orr_gpus gpus = {0};
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_request *request = &shape->groups[placement->group].request;
        gpus.mgpu[orr_request_gpu_kind(request)] += (int64_t)orr_placement_each(placement) *
                                                    nodes_not_down(ledger, placement) *
                                                    orr_request_mgpu(request);
    }
    return gpus;
}
