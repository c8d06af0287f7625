/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "by_node.h"

#include <orrery/core/place.h>

struct placing {
    const struct orr_view *view;
    struct orr_txn *txn;
    uint32_t job;
    bool alone;
    orr_next_node_fn *next_node;
    const void *context;
};

/* False: not all of them have a place. */
static bool place_group(const struct placing *p, uint32_t group, uint32_t tasks)
{
    const struct orr_view *view = p->view;
    const struct orr_request *request =
        &view->shapes->shapes[view->specs[p->job].shape].groups[group].request;
    bool placed = true;
    while (placed && tasks > 0) {
        const uint32_t node = p->next_node(p->context, view, request, p->alone);
        const uint32_t room =
            node == ORR_NONE ? 0 : orr_ledger_room_for(view->ledger, node, request);
        const uint32_t count = room < tasks ? room : tasks;
        placed = count > 0 && orr_txn_place(p->txn, p->job, group, count, node);
        tasks -= placed ? count : 0;
    }
    return placed;
}

enum orr_reason orr_place_by_node(const struct orr_view *view, struct orr_txn *txn, uint32_t job,
                                  uint32_t pods, orr_next_node_fn *next_node, const void *context)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    const struct placing placing = {
        view, txn, job, pods == 1 || (pods == 0 && shape->tasks == 1), next_node, context};
    const uint32_t groups = pods > 0 ? 1 : shape->group_count;
    const uint32_t before = orr_txn_checkpoint(txn);
    for (uint32_t g = 0; g < groups; g++) {
        if (!place_group(&placing, g, pods > 0 ? pods : shape->groups[g].count)) {
            orr_txn_rollback(txn, before);
            return orr_place_why_not(view->ledger, shape, pods);
        }
    }
    return ORR_REASON_NONE;
}
