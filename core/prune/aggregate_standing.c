/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a leaf of an aggregate stands when the turn of a contender comes, by nothing but the GPUs
 * that its queue holds then and the most that the contender, or a job that waits before it, asks.
 *
 * A queue stands by the largest part it holds of any resource. That is its part of the GPUs,
 * whoever of it are victims, if for each contender, for each job that waits before one and for all
 * else that the queue holds the part of GPUs is the largest. No quota or fair share of another
 * resource may be passed, whatever the queue holds. Where nodes are equal and GPUs decide on them,
 * a pod asks no larger part of the cluster's CPU than of its GPUs, so that this is the rule.
 */
#include "aggregate_int.h"

#include <string.h>

static struct orr_queue_rank rank_of(const struct orr_session *session, uint32_t queue,
                                     const int64_t *held)
{
    const struct orr_queue_claim claim = {.queue = queue, .allocated = held};
    struct orr_queue_rank rank;
    orr_queue_rank_of(session, &claim, &rank);
    return rank;
}

static uint32_t gpus_of(const int64_t *amounts)
{
    return (uint32_t)(amounts[ORR_SHARE_GPU] / ORR_MGPU);
}

/* --- do GPUs alone tell? --- */

/* By resource, the part of the queue that a unit is; a bit more where it is not of GPUs, so that
 * rounding does not matter. */
static void weigh(const struct orr_session *session, uint32_t queue, double *parts)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        int64_t held[ORR_SHARE_KINDS] = {0};
        held[kind] = INT64_C(1) << 30;
        parts[kind] = rank_of(session, queue, held).share_now / (double)held[kind];
        parts[kind] *= kind == ORR_SHARE_GPU ? 1 : 1 + 1e-9;
    }
}

static bool are_mostly_gpus(const int64_t *amounts, const double *parts)
{
    bool mostly = true;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        mostly = mostly && (double)amounts[kind] * parts[kind] <=
                               (double)amounts[ORR_SHARE_GPU] * parts[ORR_SHARE_GPU];
    }
    return mostly;
}

/* What is compared before parts hangs on GPUs alone, however many the queue holds. */
static bool passes_nothing(const struct orr_session *session, uint32_t queue, const int64_t *held,
                           const struct orr_demand *asked)
{
    int64_t all[ORR_SHARE_KINDS], gpus[ORR_SHARE_KINDS] = {0};
    bool nothing = true;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        all[kind] = held[kind] + asked->v[kind];
    }
    for (int i = 0; i < 2; i++) {
        all[ORR_SHARE_GPU] = gpus[ORR_SHARE_GPU] = i == 0 ? 0 : INT64_MAX / 2;
        nothing =
            nothing && rank_of(session, queue, all).first == rank_of(session, queue, gpus).first;
    }
    return nothing;
}

static bool asks_whole_gpus(const struct orr_demand *demand)
{
    return demand->v[ORR_SHARE_GPU] % ORR_MGPU == 0 && !(demand->gpus_by_memory > 0);
}

/* Finds what stays in the leaf's queue, whoever is a victim, and the most GPUs that are asked.
 * False: GPUs alone do not tell how it stands. */
static bool gpus_tell(const struct orr_victim_search *search, uint32_t leaf, int64_t *stays,
                      uint32_t *asked)
{
    const struct orr_flat *f = search->refuter.flat;
    const struct orr_session *session = search->session;
    const uint32_t queue = f->leaves[leaf].queue;
    const int64_t *held = session->queues[queue].allocated;
    double parts[ORR_SHARE_KINDS];
    struct orr_demand waiting = {0};
    bool tell = true;
    weigh(session, queue, parts);
    memcpy(stays, held, ORR_SHARE_KINDS * sizeof *stays);
    for (uint32_t p = f->leaves[leaf].first;
         p < f->contender_count && f->contenders[p].leaf == leaf; p++) {
        const struct orr_demand *demand = &f->contenders[p].demand;
        tell = tell && are_mostly_gpus(demand->v, parts);
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            stays[kind] -= demand->v[kind];
        }
        *asked = gpus_of(demand->v) > *asked ? gpus_of(demand->v) : *asked;
        tell = tell && asks_whole_gpus(&f->between[p]);
        orr_flat__raise(&waiting, &f->between[p]);
    }
    *asked = gpus_of(waiting.v) > *asked ? gpus_of(waiting.v) : *asked;
    return tell && are_mostly_gpus(waiting.v, parts) && are_mostly_gpus(stays, parts) &&
           passes_nothing(session, queue, held, &waiting);
}

/* --- how leaves stand --- */

/* Leaves that are served before this one if they stand alike. */
static uint32_t count_before(const struct orr_victim_search *search, uint32_t leaf)
{
    const struct orr_flat *f = search->refuter.flat;
    const struct orr_queue_rank own = {.queue = f->leaves[leaf].queue};
    uint32_t before = 0;
    for (uint32_t t = 0; t < f->leaf_count; t++) {
        const struct orr_queue_rank other = {.queue = f->leaves[t].queue};
        before += orr_queue_compare_ranks(search->session, &other, &own) < 0;
    }
    return before;
}

/* Of all that says how the queue stands by its GPUs. */
static uint64_t fingerprint_of(const struct orr_session *session, uint32_t queue)
{
    const struct orr_share_queue *share = &session->shares[queue];
    uint64_t fingerprint = (uint64_t)share->priority;
    orr_fingerprint_word(&fingerprint, (uint64_t)session->queues[queue].allocated[ORR_SHARE_GPU]);
    orr_fingerprint_number(&fingerprint, share->resource[ORR_SHARE_GPU].deserved);
    orr_fingerprint_number(&fingerprint, share->resource[ORR_SHARE_GPU].fair_share);
    orr_fingerprint_number(&fingerprint, share->resource[ORR_SHARE_GPU].limit);
    orr_fingerprint_number(&fingerprint, session->total[ORR_SHARE_GPU]);
    return fingerprint;
}

/* False: GPUs alone do not tell how it stands. */
static bool open_leaf(const struct orr_victim_search *search, uint32_t leaf)
{
    const struct orr_flat *f = search->refuter.flat;
    const struct orr_session *session = search->session;
    const uint32_t queue = f->leaves[leaf].queue;
    struct service *service = &f->aggregate->services[leaf];
    int64_t stays[ORR_SHARE_KINDS];
    uint32_t asked = 0;
    const bool tell = gpus_tell(search, leaf, stays, &asked);
    service->queue = queue;
    service->stays = gpus_of(stays);
    service->gone = gpus_of(session->queues[queue].allocated) - service->stays;
    service->fingerprint = fingerprint_of(session, queue) + service->before;
    service->standings =
        orr_arena_alloc(f->arena, service->gone + asked + (size_t)1, sizeof *service->standings);
    return tell;
}

/* Of the preemptor's leaf it is known: there is nobody else. */
static bool open_leaves(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    bool tell = true;
    for (uint32_t t = 0; t < f->leaf_count && tell; t++) {
        const uint32_t next = f->leaves[t].first + 1;
        f->aggregate->services[t].before = count_before(search, t);
        tell = t == f->own->leaf ? next == f->contender_count || f->contenders[next].leaf != t
                                 : open_leaf(search, t);
    }
    return tell;
}

static void open_own(struct orr_aggregate *aggregate, struct service *own,
                     const struct orr_queue_rank *rank)
{
    aggregate->own[0] = (struct standing){.known = true, .share = rank->share_now};
    aggregate->own[1] =
        (struct standing){.known = true, .first = rank->first, .share = rank->share_after};
    own->standings = aggregate->own;
    own->gone = 1;
    own->fingerprint = rank->first + own->before;
    orr_fingerprint_number(&own->fingerprint, rank->share_after);
    orr_fingerprint_number(&own->fingerprint, rank->share_now);
}

static void open_runs(const struct orr_flat *f)
{
    struct orr_aggregate *aggregate = f->aggregate;
    for (uint32_t r = 0; r < aggregate->run_count; r++) {
        struct run *run = &aggregate->runs[r];
        const struct orr_contender *contender = &f->contenders[run->contender];
        struct service *service = &aggregate->services[run->leaf];
        service->goes_first = f->leaves[run->leaf].served_first;
        run->fingerprint = service->fingerprint;
        orr_fingerprint_word(&run->fingerprint,
                             (uint64_t)service->goes_first << 1 | (run->leaf == f->own->leaf));
        orr_fingerprint_word(&run->fingerprint, (uint64_t)contender->gpus << 32 | contender->tasks);
    }
}

bool orr_aggregate__open(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_aggregate *aggregate = f->aggregate;
    if (aggregate->opened_for == 0) {
        aggregate->tells = open_leaves(search);
    }
    if (aggregate->tells && aggregate->opened_for != search->k) {
        open_own(aggregate, &aggregate->services[f->own->leaf], &f->preemptor_rank);
        open_runs(f);
    }
    aggregate->opened_for = search->k;
    return aggregate->tells;
}

/* Without anything beside GPUs a queue is over its fair share in some resources at most, so that
 * what is compared first hangs on what the queue would hold, not on what it holds now. */
void orr_aggregate__find_standing(const struct orr_session *session, uint32_t queue, uint32_t gpus,
                                  struct standing *standing)
{
    const int64_t held[ORR_SHARE_KINDS] = {[ORR_SHARE_GPU] = (int64_t)gpus * ORR_MGPU};
    const struct orr_queue_rank rank = rank_of(session, queue, held);
    *standing = (struct standing){.known = true, .first = rank.first, .share = rank.share_now};
}
