/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's queue order: the first difference wins. */
#include <orrery/core/queueorder.h>

#include <math.h>

#include <orrery/core/joborder.h>

static const struct orr_demand no_demand;

static const int64_t *held_by(const struct orr_session *session, const struct orr_contender *c)
{
    return c->allocated != NULL ? c->allocated : session->queues[c->queue].allocated;
}

/* Over its fair share in all resources at once. */
static bool is_over(const struct orr_session *session, const struct orr_contender *c)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const double fair = session->shares[c->queue].resource[kind].fair_share;
        if (!(fair < orr_share_units(kind, held_by(session, c)[kind]))) {
            return false;
        }
    }
    return true;
}

static bool fits_deserved(const struct orr_session *session, uint32_t queue, const int64_t *held,
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

bool orr_queue_fits_deserved(const struct orr_session *session, uint32_t queue,
                             const struct orr_demand *demand)
{
    return fits_deserved(session, queue, session->queues[queue].allocated, demand);
}

/* It may hold nothing of a resource and would hold some. */
static bool violates(const struct orr_session *session, const struct orr_contender *c)
{
    const struct orr_demand *job = c->job != NULL ? c->job : &no_demand;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        if (orr_share_allocatable(&session->shares[c->queue].resource[kind]) == 0 &&
            orr_demand_on(held_by(session, c)[kind], job, kind) > 0) {
            return true;
        }
    }
    return false;
}

static double amount_after(const struct orr_session *session, const struct orr_contender *c,
                           bool with, unsigned kind)
{
    int64_t held = held_by(session, c)[kind];
    if (with && c->victims != NULL) {
        held -= c->victims->v[kind];
    }
    return orr_demand_on(held, with && c->job != NULL ? c->job : &no_demand, kind);
}

static double dominant_share(const struct orr_session *session, const struct orr_contender *c,
                             bool with)
{
    double share = 0;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const double amount = amount_after(session, c, with, kind);
        if (!(amount > 0)) {
            continue;
        }
        double allocatable = orr_share_allocatable(&session->shares[c->queue].resource[kind]);
        if (allocatable == ORR_UNLIMITED) {
            allocatable = session->total[kind];
        }
        const double part = allocatable == 0 ? amount * 1000 : amount / allocatable;
        share = part > share ? part : share;
    }
    return share;
}

/* Less of some resource and more of none. */
static bool owns_less(const struct orr_session *session, uint32_t a, uint32_t b)
{
    bool less = false;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        double share_a = orr_share_allocatable(&session->shares[a].resource[kind]);
        double share_b = orr_share_allocatable(&session->shares[b].resource[kind]);
        share_a = share_a == ORR_UNLIMITED ? HUGE_VAL : share_a;
        share_b = share_b == ORR_UNLIMITED ? HUGE_VAL : share_b;
        if (share_a > share_b) {
            return false;
        }
        less = less || share_a < share_b;
    }
    return less;
}

static int by_flag(bool bad_a, bool bad_b)
{
    return bad_a - bad_b;
}

static int by_number(double a, double b)
{
    return (a > b) - (a < b);
}

struct orr_queue_rank orr_queue_rank_of(const struct orr_session *session,
                                        const struct orr_contender *c)
{
    if (!session->rules.proportion) {
        return (struct orr_queue_rank){.queue = c->queue};
    }
    return (struct orr_queue_rank){.queue = c->queue,
                                   .over = is_over(session, c),
                                   .fed = !fits_deserved(session, c->queue, held_by(session, c),
                                                         c->job != NULL ? c->job : &no_demand),
                                   .violates = violates(session, c),
                                   .share_after = dominant_share(session, c, true),
                                   .share_now = dominant_share(session, c, false)};
}

int orr_queue_compare_amounts(const struct orr_session *session, const struct orr_queue_rank *a,
                              const struct orr_queue_rank *b)
{
    int order = by_flag(a->over, b->over);
    if (order == 0) {
        order = by_flag(a->fed, b->fed);
    }
    if (order == 0) {
        order = by_number(session->shares[b->queue].priority, session->shares[a->queue].priority);
    }
    if (order == 0) {
        order = by_flag(a->violates, b->violates);
    }
    if (order == 0) {
        order = by_number(a->share_after, b->share_after);
    }
    return order;
}

static int by_proportion(const struct orr_session *session, const struct orr_queue_rank *a,
                         const struct orr_queue_rank *b)
{
    int order = orr_queue_compare_amounts(session, a, b);
    if (order == 0) {
        order = by_number(a->share_now, b->share_now);
    }
    if (order == 0) {
        order =
            by_flag(owns_less(session, b->queue, a->queue), owns_less(session, a->queue, b->queue));
    }
    return order;
}

int orr_queue_compare_ranks(const struct orr_session *session, const struct orr_queue_rank *a,
                            const struct orr_queue_rank *b)
{
    int order = session->rules.proportion ? by_proportion(session, a, b) : 0;
    const struct orr_share_queue *share_a = &session->shares[a->queue];
    const struct orr_share_queue *share_b = &session->shares[b->queue];
    if (order == 0 && share_a->created != share_b->created) {
        order = share_a->created < share_b->created ? -1 : 1;
    }
    /* KAI has no order left here; the name makes one that is the same everywhere. */
    return order != 0 ? order : by_number(share_a->name_rank, share_b->name_rank);
}
