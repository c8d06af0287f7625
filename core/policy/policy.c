/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/policy.h>

#include <orrery/core/place.h>

const struct orr_host *orr_policy_host(void)
{
    static const struct orr_host host = {
        .abi = ORR_POLICY_ABI,
        .size = sizeof host,
        .place = orr_txn_place,
        .pipeline = orr_txn_pipeline,
        .evict = orr_txn_evict,
        .checkpoint = orr_txn_checkpoint,
        .rollback = orr_txn_rollback,
        .explain = orr_txn_explain,
        .place_consolidated = orr_place_consolidated,
        .best_fit = orr_ledger_best_fit,
        .most_idle = orr_ledger_most_idle,
        .room_for = orr_ledger_room_for,
        .alloc = orr_zalloc,
        .free = orr_free,
    };
    return &host;
}
