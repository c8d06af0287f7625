/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/place.h>

/* Places one group, the fullest-idle node first. Returns false when a task finds no node. */
static bool place_group(struct orr_txn *txn, const struct orr_ledger *ledger, uint32_t job,
                        const struct orr_shape *shape, uint32_t group)
{
    const struct orr_request *request = &shape->groups[group].request;
    uint32_t left = shape->groups[group].count;
    while (left > 0) {
        uint32_t node = shape->tasks == 1 ? orr_ledger_best_fit(ledger, request, 1)
                                          : orr_ledger_most_idle(ledger, request);
        if (node == ORR_NONE) {
            return false;
        }
        uint32_t room = orr_ledger_room_for(ledger, node, request);
        uint32_t tasks = left < room ? left : room;
        if (!orr_txn_place(txn, job, group, tasks, node)) {
            return false;
        }
        left -= tasks;
    }
    return true;
}

enum orr_reason orr_place_consolidated(struct orr_txn *txn, const struct orr_ledger *ledger,
                                       uint32_t job)
{
    const struct orr_shape *shape = &ledger->world.shapes->shapes[ledger->world.specs[job].shape];
    int64_t capacity = ledger->world.cluster->total_gpus * ORR_MGPU;
    if (shape->gpus_mgpu > capacity - ledger->allocated_mgpu) {
        return ORR_REASON_NO_CAPACITY;
    }
    uint32_t checkpoint = orr_txn_checkpoint(txn);
    for (uint32_t g = 0; g < shape->group_count; g++) {
        if (!place_group(txn, ledger, job, shape, g)) {
            orr_txn_rollback(txn, checkpoint);
            return ORR_REASON_FRAGMENTED;
        }
    }
    return ORR_REASON_NONE;
}
