/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rooms.h - how many tasks of a request the nodes have room for, kept up to date.
 *
 * For each distinct request that somebody asked about: the number of its tasks that fit on what is
 * idle or being released, node by node and in total. A question looks only at the nodes that
 * changed since the last one. All nodes of the session are there before the first question. Queues'
 * limits are not its business.
 */
#ifndef ORR_CORE_ROOMS_H
#define ORR_CORE_ROOMS_H

#include <orrery/core/session.h>

ORR_API_BEGIN

struct orr_ask_room { /* of one distinct request */
    uint32_t ask;     /* one of those that ask the same */
    bool exact;       /* false for shared devices: a node counts as plenty or as nothing */
    uint32_t *on_node;
    int64_t total;
    uint64_t seen; /* the session's node_generation up to which this is true */
};

struct orr_free_sum { /* of ready nodes, what is being released included */
    int64_t mgpu, mib;
};

struct orr_rooms {
    struct orr_ask_room *items;
    uint32_t count, capacity;
    uint32_t *of_ask; /* room of each ask of the session seen so far */
    uint32_t ask_count, ask_capacity;
    struct orr_free_sum free, *free_on; /* of all nodes, by node */
    uint64_t free_seen;
};

void orr_rooms_release(struct orr_rooms *rooms);
/* The room that stands for all asks that request the same as this one. */
uint32_t orr_rooms_of(struct orr_rooms *rooms, const struct orr_session *session, uint32_t ask);
/* Tasks of the request that fit now, all nodes together. If `exact` that many equal tasks find
 * their place whatever order the nodes are taken in, and no more do; otherwise 0 means that not one
 * task fits, and nothing else follows. */
int64_t orr_rooms_left(struct orr_rooms *rooms, const struct orr_session *session, uint32_t room);

/* What consolidation may count on. */
struct orr_free_sum orr_rooms_free(struct orr_rooms *rooms, const struct orr_session *session);

ORR_API_END

#endif
