/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pools.c - how long nodes of each pool were part of the cluster, and what that cost. */
#include <math.h>

#include "summary_int.h"

#define MS_PER_H 3.6e6

static void add_pool(const struct orr_world_pool *pool, const struct orr_run *run,
                     const orr_ms *there_ms, const orr_ms *run_ms, struct orr_pool_summary *out)
{
    uint32_t last = pool->first_node + pool->node_count;
    for (uint32_t n = pool->first_node; n < last; n++) {
        out->node_h += (double)there_ms[n] / MS_PER_H;
        out->run_node_h += (double)run_ms[n] / MS_PER_H;
        out->nodes += run_ms[n] > 0;
    }
    for (uint32_t o = 0; o < run->outage_count; o++) {
        const struct orr_outage *outage = &run->outages[o];
        bool here = outage->away && outage->node >= pool->first_node && outage->node < last;
        out->joined += here && outage->to_ms != ORR_MS_NEVER;
        out->left += here && outage->from_ms > run->fold.origin_ms;
    }
    out->priced = pool->price >= 0.0;
    out->cost = out->priced ? out->node_h * pool->price : 0.0;
    out->run_cost = out->priced ? out->run_node_h * pool->price : 0.0;
}

void orr_summary__pools(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary)
{
    orr_ms *there_ms =
        orr_summary__there(world, run, summary->window_start_ms, summary->window_end_ms);
    orr_ms *run_ms = orr_summary__there(world, run, run->fold.origin_ms, run->end_ms);
    double useful = summary->gpu_goodput * summary->gpu_available * summary->capacity_gpu_h;
    bool all = true; /* who was ever there says what it costs */
    summary->pools = orr_zalloc(world->pool_count + (size_t)1, sizeof *summary->pools);
    summary->pool_count = world->pool_count;
    for (uint32_t p = 0; p < world->pool_count; p++) {
        const struct orr_world_pool *pool = &world->pools[p];
        add_pool(pool, run, there_ms, run_ms, &summary->pools[p]);
        summary->priced = summary->priced || summary->pools[p].priced;
        all = all && (summary->pools[p].priced || summary->pools[p].nodes == 0);
        summary->cost += summary->pools[p].cost;
        summary->run_cost += summary->pools[p].run_cost;
    }
    summary->cost_per_useful_gpu_h = all && useful > 0.0 ? summary->cost / useful : (double)NAN;
    orr_free(there_ms);
    orr_free(run_ms);
}
