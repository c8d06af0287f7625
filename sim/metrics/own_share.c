/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "own_share.h"

#include <math.h>

#include <orrery/base/mem.h>

struct holder { /* a leaf queue */
    int64_t allocated;
    double share; /* below 0: none */
    orr_ms at;    /* all is summed up to here */
    double shared, apart;
    bool ever; /* it has, or had, a share */
};

struct orr_own_share {
    const struct orr_world *world;
    const struct orr_run *run;
    struct holder *queues;
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
    own->queues = orr_zalloc(count, sizeof *own->queues);
    own->buckets = orr_zalloc((size_t)run->fold.bucket_count * count + 1, sizeof *own->buckets);
    for (uint32_t q = 0; q < count; q++) {
        own->queues[q] = (struct holder){.share = -1.0, .at = run->fold.origin_ms};
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
                own->queues[queue].share * (double)(end - from);
        }
        from = end;
    }
}

static void settle(struct orr_own_share *own, uint32_t queue, orr_ms at)
{
    const struct orr_fold *fold = &own->run->fold;
    struct holder *q = &own->queues[queue];
    orr_ms from = q->at > fold->window_start_ms ? q->at : fold->window_start_ms;
    orr_ms to = at < fold->window_end_ms ? at : fold->window_end_ms;
    if (q->share >= 0.0) {
        double dt = from < to ? (double)(to - from) : 0.0;
        q->shared += q->share * dt;
        q->apart += fabs(q->share - (double)q->allocated) * dt;
        add_buckets(own, queue, q->at, at);
    }
    q->at = at;
}

static void shares_until(struct orr_own_share *own, orr_ms at)
{
    const struct orr_run *run = own->run;
    for (; own->next < run->share_count && run->shares[own->next].at_ms <= at; own->next++) {
        const struct orr_share_change *change = &run->shares[own->next];
        settle(own, change->queue, change->at_ms);
        own->queues[change->queue].share = change->mgpu;
        own->queues[change->queue].ever = true;
    }
}

void orr_own_share__change(struct orr_own_share *own, uint32_t queue, int64_t mgpu, orr_ms at)
{
    if (own != NULL) {
        shares_until(own, at);
        settle(own, queue, at);
        own->queues[queue].allocated += mgpu;
    }
}

void orr_own_share__close(struct orr_own_share *own, struct orr_summary *summary)
{
    if (own == NULL) {
        return;
    }
    const struct orr_queues *queues = &own->world->queues;
    double span = (double)(summary->window_end_ms - summary->window_start_ms);
    struct orr_own_shares *result = &summary->own_shares;
    result->of_shard = orr_zalloc(summary->shard_count, sizeof *result->of_shard);
    result->known = orr_alloc(queues->count, sizeof *result->known);
    result->mean_gpus = orr_alloc(queues->count, sizeof *result->mean_gpus);
    result->bucket_mgpu_ms = own->buckets;
    shares_until(own, own->run->end_ms);
    for (uint32_t q = 0; q < queues->count; q++) {
        const struct holder *holder = &own->queues[q];
        settle(own, q, own->run->end_ms);
        result->known[q] = holder->ever;
        result->mean_gpus[q] = span > 0.0 ? holder->shared / span / ORR_MGPU : (double)NAN;
        struct orr_own_deviation *shard = &result->of_shard[queues->queues[q].shard];
        shard->apart += holder->apart;
        shard->queues += holder->ever;
        result->all.apart += holder->apart;
        result->all.queues += holder->ever;
    }
    double available = 0.0;
    for (uint32_t s = 0; s < summary->shard_count; s++) {
        struct orr_own_deviation *shard = &result->of_shard[s];
        double capacity = summary->shards[s].available_mgpu_ms;
        available += shard->queues > 0 ? capacity : 0.0;
        shard->deviation =
            shard->queues > 0 && capacity > 0.0 ? shard->apart / (2.0 * capacity) : (double)NAN;
    }
    result->all.deviation = available > 0.0 ? result->all.apart / (2.0 * available) : (double)NAN;
    orr_free(own->queues);
    orr_free(own);
}
