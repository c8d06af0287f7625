/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's queue order: the first difference wins. */
#include <orrery/core/queueorder.h>

#include <math.h>

#include <orrery/core/joborder.h>
#include <orrery/core/defects.h>

static const int64_t *held_by(const struct orr_session *session, const struct orr_queue_claim *c)
{
    return c->allocated != NULL ? c->allocated : session->queues[c->queue].allocated;
}

bool orr_queue_fits_deserved(const struct orr_session *session, uint32_t queue, const int64_t *held,
                             const struct orr_demand *demand)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const double deserved = session->shares[queue].resource[kind].deserved;
        if (deserved != ORR_UNLIMITED && orr_demand_on(held[kind], demand, kind) > deserved) {
            return false;
        }
    }
    return true;
}

/* The part that an amount is of what a queue may be allocated; of a queue that may be allocated
 * nothing, as in KAI, a thousand times the amount. */
static double part_of(const struct orr_session *session, double amount, double allocatable,
                      unsigned kind)
{
    if (!(amount > 0)) {
        return 0;
    }
    if (allocatable == ORR_UNLIMITED) {
        allocatable = session->total[kind];
    }
    return allocatable == 0 ? amount * 1000 : amount / allocatable;
}

struct owned { /* one queue may have, against another: less of some resource, more of some */
    bool less, more;
};

static struct owned compare_owned(const struct orr_session *session, uint32_t a, uint32_t b)
{
    struct owned owned = {0};
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        double share_a = orr_share_allocatable(&session->shares[a].resource[kind]);
        double share_b = orr_share_allocatable(&session->shares[b].resource[kind]);
        share_a = share_a == ORR_UNLIMITED ? HUGE_VAL : share_a;
        share_b = share_b == ORR_UNLIMITED ? HUGE_VAL : share_b;
        owned.less = owned.less || share_a < share_b;
        owned.more = owned.more || share_a > share_b;
    }
    return owned;
}

static int by_number(double a, double b)
{
    return (a > b) - (a < b);
}

struct amounts {             /* of a resource, in the unit of shares */
    double now, with, after; /* what the queue holds; with the job; without the victims, if any */
};

static struct amounts amounts_of(const struct orr_session *session, const struct orr_queue_claim *c,
                                 int64_t held, unsigned kind)
{
    struct amounts of = {.now = orr_share_units(kind, held)};
    if (session->v017 != NULL && kind == ORR_SHARE_GPU) {
        of.now = session->v017->held[c->queue].gpus;
        of.with = c->job == NULL ? of.now : of.now + c->job->gpus;
        of.after = c->victims == NULL ? of.with : of.now - c->victims->gpus;
        return of;
    }
    of.with = c->job == NULL ? of.now : orr_demand_on(held, c->job, kind);
    of.after = c->victims == NULL ? of.with : orr_share_units(kind, held - c->victims->v[kind]);
    return of;
}

/* The queue and the job have and ask none of the resource. */
static bool is_none(const struct orr_session *session, const struct orr_queue_claim *c,
                    int64_t held, unsigned kind)
{
    return held == 0 && session->v017 == NULL && c->victims == NULL &&
           (c->job == NULL || (c->job->v[kind] == 0 && c->job->gpus_by_memory == 0));
}

void orr_queue_rank_of(const struct orr_session *session, const struct orr_queue_claim *c,
                       struct orr_queue_rank *rank)
{
    const int64_t *held = held_by(session, c);
    const struct orr_share_queue *queue = &session->shares[c->queue];
    const bool ranked = session->rules.proportion;
    bool over = ranked, over_quota = false, violates = false;
    rank->share_now = rank->share_after = 0;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS && ranked; kind++) {
        const struct orr_share_resource *share = &queue->resource[kind];
        if (is_none(session, c, held[kind], kind)) {
            over = over && share->fair_share < 0;
            continue;
        }
        const struct amounts of = amounts_of(session, c, held[kind], kind);
        over = over && share->fair_share < of.now;
        if (!(of.now > 0 || of.with > 0 || of.after > 0)) {
            continue; /* the queue and the job have and ask none */
        }
        const double allocatable = orr_share_allocatable(share);
        const double part_now = part_of(session, of.now, allocatable, kind);
        const double part_after = part_of(session, of.after, allocatable, kind);
        over_quota = over_quota || (share->deserved != ORR_UNLIMITED && of.with > share->deserved);
        violates = violates || (allocatable == 0 && of.with > 0);
        rank->share_now = part_now > rank->share_now ? part_now : rank->share_now;
        rank->share_after = part_after > rank->share_after ? part_after : rank->share_after;
    }
    const uint64_t priority = ranked ? (uint64_t)((int64_t)INT32_MAX - queue->priority) : 0;
    rank->queue = c->queue;
    rank->first = (uint64_t)over << 34 | (uint64_t)over_quota << 33 | priority << 1 | violates;
}

/* The older queue. KAI has no order after that; the name makes one that is the same everywhere. */
static int by_age(const struct orr_session *session, uint32_t a, uint32_t b)
{
    const struct orr_share_queue *share_a = &session->shares[a];
    const struct orr_share_queue *share_b = &session->shares[b];
    if (share_a->created != share_b->created) {
        return share_a->created < share_b->created ? -1 : 1;
    }
    return by_number(share_a->name_rank, share_b->name_rank);
}

int orr_queue_compare_equal(const struct orr_session *session, uint32_t a, uint32_t b,
                            bool *unclear)
{
    const struct owned owned = compare_owned(session, a, b);
    *unclear = *unclear || (owned.less && owned.more);
    return owned.less == owned.more ? by_age(session, a, b) : owned.less ? -1 : 1;
}

int orr_queue_compare_ranks(const struct orr_session *session, const struct orr_queue_rank *a,
                            const struct orr_queue_rank *b)
{
    const struct orr_session_hooks *hooks = session->hooks;
    const bool ranked = session->rules.proportion;
    bool unclear = false;
    int order = 0;
    if (hooks != NULL && hooks->queue_order != NULL) {
        order = hooks->queue_order(hooks->self, a->queue, b->queue);
    }
    if (order == 0 && ranked) {
        order = orr_queue_compare_numbers(a, b);
    }
    if (order == 0) {
        order = ranked ? orr_queue_compare_equal(session, a->queue, b->queue, &unclear)
                       : by_age(session, a->queue, b->queue);
    }
    return order;
}
