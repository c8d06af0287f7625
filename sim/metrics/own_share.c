/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "own_share.h"

#include <math.h>

#include <orrery/base/mem.h>

struct holder { /* a leaf queue, of one resource */
    int64_t allocated;
    double share; /* below 0: none */
    orr_ms at;    /* all is summed up to here */
    double shared, apart;
    bool ever; /* it has, or had, a share */
};

struct orr_own_share {
    const struct orr_world *world;
    const struct orr_run *run;
    struct holder *queues[ORR_SHARE_KINDS]; /* NULL: the policy has no shares of it */
    double *buckets; /* mGPU x ms: of bucket b and queue q at [b * queues + q] */
    uint32_t next;   /* change of a share */
};

struct orr_own_share *orr_own_share__open(const struct orr_world *world, const struct orr_run *run)
{
    if (run->share_count == 0) {
        return NULL;
    }
    uint32_t count = world->queues.count;
    struct orr_own_share *own = orr_zalloc(1, sizeof *own);
    *own = (struct orr_own_share){.world = world, .run = run};
    own->buckets = orr_zalloc((size_t)run->fold.bucket_count * count + 1, sizeof *own->buckets);
    for (uint32_t i = 0; i < run->share_count; i++) {
        struct holder **queues = &own->queues[run->shares[i].kind];
        if (*queues != NULL) {
            continue;
        }
        *queues = orr_zalloc(count, sizeof **queues);
        for (uint32_t q = 0; q < count; q++) {
            (*queues)[q] = (struct holder){.share = -1.0, .at = run->fold.origin_ms};
        }
    }
    return own;
}

static void add_buckets(struct orr_own_share *own, uint32_t queue, orr_ms from, orr_ms to)
{
    const struct orr_fold *fold = &own->run->fold;
    while (from < to) {
        orr_ms bucket = (from - fold->origin_ms) / fold->bucket_ms;
        orr_ms end = fold->origin_ms + (bucket + 1) * fold->bucket_ms;
        end = end < to ? end : to;
        if (bucket < fold->bucket_count) {
            own->buckets[(size_t)bucket * own->world->queues.count + queue] +=
                own->queues[ORR_SHARE_GPU][queue].share * (double)(end - from);
        }
        from = end;
    }
}

static void settle(struct orr_own_share *own, unsigned kind, uint32_t queue, orr_ms at)
{
    const struct orr_fold *fold = &own->run->fold;
    struct holder *q = &own->queues[kind][queue];
    orr_ms from = q->at > fold->window_start_ms ? q->at : fold->window_start_ms;
    orr_ms to = at < fold->window_end_ms ? at : fold->window_end_ms;
    if (q->share >= 0.0) {
        double dt = from < to ? (double)(to - from) : 0.0;
        q->shared += q->share * dt;
        q->apart += fabs(q->share - (double)q->allocated) * dt;
        if (kind == ORR_SHARE_GPU) {
            add_buckets(own, queue, q->at, at);
        }
    }
    q->at = at;
}

static void shares_until(struct orr_own_share *own, orr_ms at)
{
    const struct orr_run *run = own->run;
    for (; own->next < run->share_count && run->shares[own->next].at_ms <= at; own->next++) {
        const struct orr_share_change *change = &run->shares[own->next];
        struct holder *q = &own->queues[change->kind][change->queue];
        settle(own, change->kind, change->queue, change->at_ms);
        q->share = change->amount;
        q->ever = true;
    }
}

void orr_own_share__change(struct orr_own_share *own, uint32_t queue,
                           const int64_t amounts[ORR_SHARE_KINDS], bool gets, orr_ms at)
{
    if (own == NULL) {
        return;
    }
    shares_until(own, at);
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        if (own->queues[kind] != NULL) {
            settle(own, kind, queue, at);
            own->queues[kind][queue].allocated += gets ? amounts[kind] : -amounts[kind];
        }
    }
}

/* Of all and of each shard, from its queues. */
static void deviate(const struct orr_own_share *own, unsigned kind, struct orr_summary *summary)
{
    struct orr_own_shares *result = &summary->own_shares;
    struct orr_own_deviation *all = &result->all[kind];
    double available = 0.0;
    for (uint32_t q = 0; q < own->world->queues.count; q++) {
        const struct holder *holder = &own->queues[kind][q];
        struct orr_own_deviation *shard =
            &result->of_shard[own->world->queues.queues[q].shard][kind];
        shard->apart += holder->apart;
        shard->queues += holder->ever;
        all->apart += holder->apart;
        all->queues += holder->ever;
    }
    for (uint32_t s = 0; s < summary->shard_count; s++) {
        struct orr_own_deviation *shard = &result->of_shard[s][kind];
        double capacity = summary->shards[s].available[kind];
        available += shard->queues > 0 ? capacity : 0.0;
        shard->deviation =
            shard->queues > 0 && capacity > 0.0 ? shard->apart / (2.0 * capacity) : (double)NAN;
    }
    all->deviation = available > 0.0 ? all->apart / (2.0 * available) : (double)NAN;
}

void orr_own_share__close(struct orr_own_share *own, struct orr_summary *summary)
{
    if (own == NULL) {
        return;
    }
    const uint32_t count = own->world->queues.count;
    const struct holder *gpus = own->queues[ORR_SHARE_GPU];
    double span = (double)(summary->window_end_ms - summary->window_start_ms);
    struct orr_own_shares *result = &summary->own_shares;
    result->of_shard = orr_zalloc(summary->shard_count, sizeof *result->of_shard);
    result->known = orr_zalloc(count, sizeof *result->known);
    result->mean_gpus = orr_zalloc(count, sizeof *result->mean_gpus);
    result->bucket_mgpu_ms = own->buckets;
    shares_until(own, own->run->end_ms);
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        for (uint32_t q = 0; q < count && own->queues[kind] != NULL; q++) {
            settle(own, kind, q, own->run->end_ms);
        }
        if (own->queues[kind] != NULL) {
            deviate(own, kind, summary);
        }
    }
    for (uint32_t q = 0; q < count && gpus != NULL; q++) {
        result->known[q] = gpus[q].ever;
        result->mean_gpus[q] = span > 0.0 ? gpus[q].shared / span / ORR_MGPU : (double)NAN;
    }
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_free(own->queues[kind]);
    }
    orr_free(own);
}
