/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nodes.c - how evenly nodes were used. */
#include <math.h>

#include <orrery/sim/account.h>

#include "summary_int.h"

orr_ms *orr_summary__there(const struct orr_world *world, const struct orr_run *run, orr_ms from_ms,
                           orr_ms to_ms)
{
    orr_ms *there_ms = orr_alloc(world->cluster.node_count + (size_t)1, sizeof *there_ms);
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        there_ms[n] = to_ms > from_ms ? to_ms - from_ms : 0;
    }
    for (uint32_t o = 0; o < run->outage_count; o++) {
        const struct orr_outage *outage = &run->outages[o];
        orr_ms begin = outage->from_ms > from_ms ? outage->from_ms : from_ms;
        orr_ms end = outage->to_ms < to_ms ? outage->to_ms : to_ms;
        there_ms[outage->node] -= outage->away && begin < end ? end - begin : 0;
    }
    return there_ms;
}

void orr_summary__nodes(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary)
{
    const struct orr_ledger *ledger = run->ledger;
    struct orr_node_spread *spread = &summary->spread;
    double span = (double)(summary->window_end_ms - summary->window_start_ms);
    double *load = orr_zalloc(world->cluster.node_count + (size_t)1, sizeof *load);
    double sum = 0.0, most = 0.0, apart = 0.0;
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const int64_t held =
            orr_placement_held(run, placement, summary->window_start_ms, summary->window_end_ms);
        for (uint32_t n = 0; n <= placement->more_nodes; n++) {
            load[placement->node + n] += (double)(held / (placement->more_nodes + 1));
        }
    }
    orr_ms *there_ms =
        orr_summary__there(world, run, summary->window_start_ms, summary->window_end_ms);
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        double gpus = orr_node_type_counted_gpus(orr_cluster_type(&world->cluster, n));
        there_ms[n] = gpus > 0 ? there_ms[n] : 0;
        spread->nodes += gpus > 0 && (there_ms[n] > 0 || span <= 0.0);
        if (there_ms[n] > 0) {
            load[n] /= gpus * ORR_MGPU * (double)there_ms[n];
            sum += load[n];
            most = load[n] > most ? load[n] : most;
        }
    }
    double nodes = (double)spread->nodes, mean = sum / nodes;
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        apart += there_ms[n] > 0 ? (load[n] - mean) * (load[n] - mean) : 0.0;
    }
    orr_free(there_ms);
    bool known = span > 0.0 && sum > 0.0;
    spread->max_over_mean = known ? most / mean : (double)NAN;
    spread->cv = known ? sqrt(apart / nodes) / mean : (double)NAN;
    orr_free(load);
}
