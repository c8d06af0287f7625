/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a leaf of an aggregate stands when the turn of a contender comes, by nothing but the GPUs
 * that its queue holds then and the most that the contender, or a job that waits before it, asks.
 *
 * A queue stands by the largest part it holds of any resource. That is its part of the GPUs,
 * whatever it holds, if it would be for pods that ask as much else as any pod does for each GPU,
 * and nobody asks of that without GPUs. No quota or fair share of another resource may be passed,
 * whatever the queue holds. Where nodes are equal and GPUs decide on them, a pod asks no larger
 * part of the cluster's CPU than of its GPUs, so that this is the rule.
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

/* --- do GPUs alone tell? --- */

/* What is compared before parts hangs on GPUs alone, whether the queue holds none or many. */
static bool passes_nothing(const struct orr_session *session, uint32_t queue, const int64_t *most)
{
    int64_t all[ORR_SHARE_KINDS], gpus[ORR_SHARE_KINDS] = {0};
    bool nothing = true;
    memcpy(all, most, sizeof all);
    for (int i = 0; i < 2; i++) {
        all[ORR_SHARE_GPU] = gpus[ORR_SHARE_GPU] = i == 0 ? 0 : INT64_MAX / 2;
        nothing =
            nothing && rank_of(session, queue, all).first == rank_of(session, queue, gpus).first;
    }
    return nothing;
}

/* The part of GPUs is the largest, however many they are. A bit more of the others is held, so that
 * rounding does not matter. */
static bool are_mostly_gpus(const struct orr_session *session, uint32_t queue,
                            const struct orr_victim_index *index)
{
    const int64_t many = INT64_C(1) << 20;
    const int64_t gpus[ORR_SHARE_KINDS] = {[ORR_SHARE_GPU] = many * ORR_MGPU};
    const int64_t all[ORR_SHARE_KINDS] = {
        [ORR_SHARE_CPU] = (many + 1) * index->densest[ORR_SLOT_CPU],
        [ORR_SHARE_MEMORY] = (many + 1) * index->densest[ORR_SLOT_MEMORY],
        [ORR_SHARE_GPU] = many * ORR_MGPU};
    return !index->asked_apart[ORR_SLOT_CPU] && !index->asked_apart[ORR_SLOT_MEMORY] &&
           rank_of(session, queue, all).share_now <= rank_of(session, queue, gpus).share_now;
}

/* Whoever of the leaf are victims: it never holds more than now, and what one of its jobs asks that
 * wait. */
static bool gpus_tell(const struct orr_victim_search *search, const struct service *leaf)
{
    const struct orr_flat *f = search->refuter.flat;
    int64_t most[ORR_SHARE_KINDS];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        most[kind] = search->session->queues[leaf->queue].allocated[kind] + leaf->waiting.v[kind];
    }
    return !leaf->in_parts && passes_nothing(search->session, leaf->queue, most) &&
           are_mostly_gpus(search->session, leaf->queue, f->index);
}

/* --- how leaves stand --- */

/* What tells which of two leaves is first that stand alike. */
static uint64_t fingerprint_of(const struct orr_session *session, uint32_t queue)
{
    uint64_t fingerprint = queue;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const struct orr_share_resource *of = &session->shares[queue].resource[kind];
        orr_fingerprint_number(&fingerprint, orr_share_allocatable(of));
    }
    return fingerprint;
}

static void open_leaf(const struct orr_victim_search *search, struct service *service)
{
    const struct orr_session *session = search->session;
    const struct orr_share_queue *share = &session->shares[service->queue];
    const int64_t held = session->queues[service->queue].allocated[ORR_SHARE_GPU] / ORR_MGPU;
    service->stays = (uint32_t)held - service->gone;
    service->standings =
        orr_arena_alloc(search->refuter.flat->arena, service->gone + service->most + (size_t)1,
                        sizeof *service->standings);
    orr_fingerprint_word(&service->key, (uint64_t)share->priority);
    orr_fingerprint_word(&service->key, (uint64_t)held);
    orr_fingerprint_number(&service->key, share->resource[ORR_SHARE_GPU].deserved);
    orr_fingerprint_number(&service->key, session->total[ORR_SHARE_GPU]);
}

static void open_own(struct orr_aggregate *aggregate, const struct orr_queue_rank *rank)
{
    struct service *own = aggregate->own;
    aggregate->own_standings[0] = (struct standing){rank->first + 1, rank->share_now};
    aggregate->own_standings[1] = (struct standing){rank->first + 1, rank->share_after};
    own->standings = aggregate->own_standings;
    own->asked = 1;
    orr_fingerprint_word(&own->key, rank->first);
    orr_fingerprint_number(&own->key, rank->share_after);
    orr_fingerprint_number(&own->key, rank->share_now);
}

bool orr_aggregate__open(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_aggregate *aggregate = f->aggregate;
    if (aggregate->opened) {
        return aggregate->tells;
    }
    aggregate->opened = aggregate->tells = true;
    for (uint32_t t = 0; t < f->leaf_count && aggregate->tells; t++) {
        struct service *service = &aggregate->services[t];
        service->queue = f->leaves[t].queue;
        service->key = fingerprint_of(search->session, service->queue);
        if (service == aggregate->own) {
            open_own(aggregate, &f->preemptor_rank);
        } else {
            open_leaf(search, service);
            aggregate->tells = gpus_tell(search, service);
        }
        orr_fingerprint_word(&service->key, service == aggregate->own);
        service->key = orr_scatter(service->key + f->own->gpus);
    }
    for (uint32_t r = 0; r < aggregate->run_count; r++) {
        struct run *run = &aggregate->runs[r];
        run->key = orr_scatter(run->key + aggregate->services[run->leaf].key);
    }
    return aggregate->tells;
}

/* Without anything beside GPUs a queue is over its fair share in some resources at most, so that
 * what is compared first hangs on what the queue would hold, not on what it holds now. */
void orr_aggregate__find_standing(const struct orr_session *session, uint32_t queue, uint32_t gpus,
                                  struct standing *standing)
{
    const int64_t held[ORR_SHARE_KINDS] = {[ORR_SHARE_GPU] = (int64_t)gpus * ORR_MGPU};
    const struct orr_queue_rank rank = rank_of(session, queue, held);
    *standing = (struct standing){rank.first + 1, rank.share_now};
}
