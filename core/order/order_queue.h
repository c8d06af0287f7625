/* SPDX-License-Identifier: GPL-3.0-or-later */
/* order_queue.h - comparing two sibling queues, private to the order room. */
#ifndef ORR_ORDER_QUEUE_H
#define ORR_ORDER_QUEUE_H

#include <orrery/core/session.h>

struct orr_contender {
    uint32_t queue;
    const struct orr_demand *job;     /* what its best job would allocate; NULL in victim orders */
    const struct orr_demand *victims; /* what its victims hold, the next one included; or NULL */
};

/* Negative if a is served first. */
int orr_order__compare_queues(const struct orr_session *session, const struct orr_contender *a,
                              const struct orr_contender *b);

#endif
