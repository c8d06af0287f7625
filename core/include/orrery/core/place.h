/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place.h - placing a whole gang at once, by a named strategy. */
#ifndef ORR_CORE_PLACE_H
#define ORR_CORE_PLACE_H

#include <orrery/core/ledger.h>

/* Consolidated placement, as GPU-cluster simulators of the Helios/Lucid family do it: a job of one
 * task goes to the node with the fewest idle devices that fits; the tasks of a larger gang, in
 * group order, each to the node with the most idle devices (lowest index on ties). Places all tasks
 * and returns ORR_REASON_NONE, or places nothing and says why. Costs a few words per node used. */
enum orr_reason orr_place_consolidated(struct orr_txn *txn, const struct orr_ledger *ledger,
                                       uint32_t job);

#endif
