/* SPDX-License-Identifier: GPL-3.0-or-later */
/* by_node.h - a job is placed node by node, each time on the node that the policy takes for the
 * next of its tasks. */
#ifndef ORR_POLICIES_WALK_BY_NODE_H
#define ORR_POLICIES_WALK_BY_NODE_H

#include <orrery/core/policy.h>

/* The node for the next tasks that ask this; ORR_NONE: none has room for one. `alone`: the job has
 * no other task. */
typedef uint32_t orr_next_node_fn(const void *context, const struct orr_view *view,
                                  const struct orr_request *request, bool alone);

/* Places all tasks of the job, or as many of its first group as `pods` says if that is not 0. NONE,
 * or why they have no place, and then nothing is placed. */
enum orr_reason orr_place_by_node(const struct orr_view *view, struct orr_txn *txn, uint32_t job,
                                  uint32_t pods, orr_next_node_fn *next_node, const void *context);

#endif
