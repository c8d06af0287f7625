/* SPDX-License-Identifier: GPL-3.0-or-later */
/* energy.c - what nodes drew, by the power their pools state.
 *
 * A node that is up draws idle_power_w, and of what full_power_w is above that the part of its GPUs
 * that is held: by our placements, graces included, and by other schedulers' pods. One that is
 * down, or not part of the cluster, draws nothing. Times and GPU times are summed as integers;
 * powers come in at the end. */
#include <math.h>

#include <orrery/sim/account.h>

#include "summary_int.h"

#define W_MS_PER_KWH 3.6e9

struct use {            /* of a node between two times */
    int64_t *up_ms;     /* part of the cluster and not down */
    int64_t *held_mgpu; /* integral over ms */
};

static struct use use_between(const struct orr_world *world, const struct orr_run *run,
                              orr_ms from_ms, orr_ms to_ms)
{
    const struct orr_ledger *ledger = run->ledger;
    struct use use = {orr_summary__there(world, run, from_ms, to_ms),
                      orr_zalloc(world->cluster.node_count + (size_t)1, sizeof *use.held_mgpu)};
    for (uint32_t o = 0; o < run->outage_count; o++) {
        const struct orr_outage *outage = &run->outages[o];
        orr_ms begin = outage->from_ms > from_ms ? outage->from_ms : from_ms;
        orr_ms end = outage->to_ms < to_ms ? outage->to_ms : to_ms;
        use.up_ms[outage->node] -= !outage->away && begin < end ? end - begin : 0;
    }
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const int64_t held = orr_placement_held(run, placement, from_ms, to_ms);
        for (uint32_t n = 0; n <= placement->more_nodes; n++) {
            use.held_mgpu[placement->node + n] += held / (placement->more_nodes + 1);
        }
    }
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        const uint32_t foreign = orr_node_type_foreign_gpus(orr_cluster_type(&world->cluster, n));
        use.held_mgpu[n] += use.up_ms[n] * foreign * ORR_MGPU;
    }
    return use;
}

static double energy_kwh(const struct orr_world *world, const struct orr_world_pool *pool,
                         const struct use *use)
{
    int64_t up_ms = 0;
    orr_wide held_mgpu = 0;
    double gpus = 0.0; /* of each of its nodes */
    for (uint32_t n = pool->first_node; n < pool->first_node + pool->node_count; n++) {
        up_ms += use->up_ms[n];
        held_mgpu += use->held_mgpu[n];
        const struct orr_node_type *type = orr_cluster_type(&world->cluster, n);
        gpus = type->gpus + type->mig_gpus;
    }
    double above_idle_w = (double)(pool->full_power_w - pool->idle_power_w);
    double held_ms = gpus > 0.0 ? (double)held_mgpu / (gpus * ORR_MGPU) : 0.0; /* of whole nodes */
    return ((double)pool->idle_power_w * (double)up_ms + above_idle_w * held_ms) / W_MS_PER_KWH;
}

static void release_use(struct use *use)
{
    orr_free(use->up_ms);
    orr_free(use->held_mgpu);
}

void orr_summary__energy(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary)
{
    double useful = summary->gpu_goodput * summary->gpu_available * summary->capacity_gpu_h;
    bool all = true; /* who was ever there says what it drew */
    for (uint32_t p = 0; p < world->pool_count; p++) {
        summary->pools[p].powered = world->pools[p].full_power_w >= 0;
        summary->powered = summary->powered || summary->pools[p].powered;
        all = all && (summary->pools[p].powered || summary->pools[p].nodes == 0);
    }
    if (!summary->powered) {
        return;
    }
    struct use window = use_between(world, run, summary->window_start_ms, summary->window_end_ms);
    struct use whole = use_between(world, run, run->fold.origin_ms, run->end_ms);
    for (uint32_t p = 0; p < world->pool_count; p++) {
        struct orr_pool_summary *pool = &summary->pools[p];
        if (pool->powered) {
            pool->energy_kwh = energy_kwh(world, &world->pools[p], &window);
            pool->run_energy_kwh = energy_kwh(world, &world->pools[p], &whole);
            summary->energy_kwh += pool->energy_kwh;
            summary->run_energy_kwh += pool->run_energy_kwh;
        }
    }
    summary->energy_kwh_per_useful_gpu_h =
        all && useful > 0.0 ? summary->energy_kwh / useful : (double)NAN;
    release_use(&window);
    release_use(&whole);
}
