/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "presence.h"

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

static int by_shard_and_time(const void *a, const void *b, void *context)
{
    const struct orr_presence_change *x = a, *y = b;
    (void)context;
    return x->shard != y->shard ? (x->shard > y->shard) - (x->shard < y->shard)
                                : (x->at > y->at) - (x->at < y->at);
}

static void add_change(struct orr_presence *there, uint32_t shard, orr_ms at, int64_t mgpu)
{
    const orr_ms begin = there->run->begin_ms;
    there->changes = ORR_ROOM_FOR_ONE(there->changes, there->count, there->room);
    there->changes[there->count++] =
        (struct orr_presence_change){.at = at > begin ? at : begin, .shard = shard, .mgpu = mgpu};
}

/* The changes become what there is from each of them on. */
static void add_up(struct orr_presence *there)
{
    for (uint32_t i = 0; i < there->count; i++) {
        struct orr_presence_change *now = &there->changes[i];
        const struct orr_presence_change *last =
            i > 0 && now[-1].shard == now->shard ? &now[-1] : NULL;
        const int64_t had =
            last != NULL ? last->mgpu : there->run->fold.shard_capacity_mgpu[now->shard];
        const orr_ms since = last != NULL ? last->at : there->run->begin_ms;
        now->before = (last != NULL ? last->before : 0) + (double)had * (double)(now->at - since);
        now->mgpu += had;
    }
}

void orr_presence_open(const struct orr_world *world, const struct orr_run *run,
                       struct orr_presence *there)
{
    *there = (struct orr_presence){.run = run};
    for (uint32_t o = 0; o < run->outage_count; o++) {
        const struct orr_outage *outage = &run->outages[o];
        const struct orr_node_type *type = orr_cluster_type(&world->cluster, outage->node);
        const int64_t mgpu = (int64_t)orr_node_type_counted_gpus(type) * ORR_MGPU;
        if (outage->away && mgpu > 0) {
            add_change(there, type->shard, outage->from_ms, -mgpu);
            if (outage->to_ms != ORR_MS_NEVER) {
                add_change(there, type->shard, outage->to_ms, mgpu);
            }
        }
    }
    if (there->count > 0) {
        orr_sort(there->changes, there->count, sizeof *there->changes, by_shard_and_time, NULL);
    }
    add_up(there);
}

/* The integral from the run's begin to a time at or after it. */
static double there_until(const struct orr_presence *there, uint32_t shard, orr_ms at)
{
    uint32_t low = 0, high = there->count; /* the first change that is later or of a later shard */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct orr_presence_change *c = &there->changes[middle];
        if (c->shard < shard || (c->shard == shard && c->at <= at)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct orr_presence_change *last =
        low > 0 && there->changes[low - 1].shard == shard ? &there->changes[low - 1] : NULL;
    const int64_t mgpu = last != NULL ? last->mgpu : there->run->fold.shard_capacity_mgpu[shard];
    return (last != NULL ? last->before : 0) +
           (double)mgpu * (double)(at - (last != NULL ? last->at : there->run->begin_ms));
}

double orr_presence_mgpu_ms(const struct orr_presence *there, uint32_t shard, orr_ms from,
                            orr_ms to)
{
    const orr_ms begin = there->run->begin_ms, known = from > begin ? from : begin;
    const double length_ms = (double)(to - from);
    if (to <= known) {
        return length_ms * (double)there->run->fold.shard_capacity_mgpu[shard];
    }
    const double mgpu_ms = there_until(there, shard, to) - there_until(there, shard, known);
    return known == from ? mgpu_ms : mgpu_ms * (length_ms / (double)(to - known));
}

void orr_presence_close(struct orr_presence *there)
{
    orr_free(there->changes);
    *there = (struct orr_presence){0};
}
