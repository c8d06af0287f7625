/* SPDX-License-Identifier: GPL-3.0-or-later */
/* queueorder.h - KAI's order of sibling queues: for job orders, and for pruners that work out who
 * would be next. */
#ifndef ORR_CORE_QUEUEORDER_H
#define ORR_CORE_QUEUEORDER_H

#include <orrery/core/session.h>

ORR_API_BEGIN

struct orr_queue_claim { /* a queue as it enters the comparison with its siblings */
    uint32_t queue;
    const int64_t *allocated;         /* what the queue holds; NULL: as the session has it */
    const struct orr_demand *job;     /* what its best job would allocate; NULL in victim orders */
    const struct orr_demand *victims; /* what its victims hold, the next one included; or NULL */
};

/* What the comparison looks at, worked out once for many comparisons. Every part but the queue only
 * grows with what the job asks and with what the queue holds. */
struct orr_queue_rank {
    uint32_t queue;
    /* In one number, what is compared first: whether it is over its fair share in all resources at
     * once, whether with the job it would not be within its quota, its priority (less is more), and
     * whether it may hold nothing of a resource and would hold some. */
    uint64_t first;
    double share_after, share_now; /* dominant, with the job (without the victims), and as it is */
};
void orr_queue_rank_of(const struct orr_session *session, const struct orr_queue_claim *c,
                       struct orr_queue_rank *rank);
/* Negative if a is served first. */
int orr_queue_compare_ranks(const struct orr_session *session, const struct orr_queue_rank *a,
                            const struct orr_queue_rank *b);
/* The same up to share_after; 0: what comes after it decides. */
static inline int orr_queue_compare_amounts(const struct orr_queue_rank *a,
                                            const struct orr_queue_rank *b)
{
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    return (a->share_after > b->share_after) - (a->share_after < b->share_after);
}
/* The same up to share_now; 0: which queues they are decides. */
static inline int orr_queue_compare_numbers(const struct orr_queue_rank *a,
                                            const struct orr_queue_rank *b)
{
    const int order = orr_queue_compare_amounts(a, b);
    return order != 0 ? order : (a->share_now > b->share_now) - (a->share_now < b->share_now);
}

/* Of two queues whose numbers are equal. It is unclear where queue `a` may be allocated less of one
 * resource and more of another one than queue `b`: among three such queues KAI's order need not be
 * transitive: a before b, b before c, c before a. */
int orr_queue_compare_equal(const struct orr_session *session, uint32_t a, uint32_t b,
                            bool *unclear);

ORR_API_END

#endif
