/* SPDX-License-Identifier: GPL-3.0-or-later */
/* own_turn.h - when the preemptor's turn comes, seen from its own branch of the tree of queues. */
#ifndef ORR_PRUNE_OWN_TURN_H
#define ORR_PRUNE_OWN_TURN_H

#include "apart.h"

struct orr_own_turn {             /* of a scenario, while every victim served finds places */
    bool known;                   /* the preemptor is served */
    struct orr_queue_rank latest; /* the worst of its branch until it is popped */
    int64_t out_mgpu;             /* what victims in the branch are not given back by then */
};

/* The queue above this one, or itself, that has no parent. */
static inline uint32_t orr_own_turn__top(const struct orr_session *session, uint32_t queue)
{
    while (session->shares[queue].parent != ORR_NONE) {
        queue = session->shares[queue].parent;
    }
    return queue;
}

/* Of the victims that were taken apart, none: of scenarios without victims in the branch. Until the
 * next call. */
const struct orr_own_turn *orr_own_turn__find(struct orr_victim_search *search);

#endif
