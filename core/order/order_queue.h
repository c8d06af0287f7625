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

/* What the comparison looks at, worked out once for many comparisons. Every part but the queue only
 * grows with what the job asks. */
struct orr_queue_rank {
    uint32_t queue;
    bool over;                     /* its fair share in all resources at once */
    bool fed;                      /* with the job it would not be within its quota */
    bool violates;                 /* it may hold nothing of a resource and would hold some */
    double share_after, share_now; /* dominant, with the job (without the victims), and as it is */
};
struct orr_queue_rank orr_order__rank(const struct orr_session *session,
                                      const struct orr_contender *c);
/* Negative if a is served first. */
int orr_order__compare_ranks(const struct orr_session *session, const struct orr_queue_rank *a,
                             const struct orr_queue_rank *b);

#endif
