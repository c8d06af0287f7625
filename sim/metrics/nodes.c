/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nodes.c - how evenly nodes were used, and how much of the cluster stood empty in whole nodes. */
#include <math.h>

#include <orrery/base/sort.h>
#include <orrery/sim/account.h>

#include "summary_int.h"

struct span { /* of a node that is held or down, inside the window */
    uint32_t node;
    orr_ms from_ms, to_ms;
};

static int by_node_and_time(const void *a, const void *b, void *context)
{
    const struct span *x = a, *y = b;
    (void)context;
    return x->node != y->node ? (x->node > y->node) - (x->node < y->node)
                              : (x->from_ms > y->from_ms) - (x->from_ms < y->from_ms);
}

static void add(struct span *spans, uint32_t *count, const struct orr_summary *summary,
                struct span span)
{
    span.from_ms =
        span.from_ms > summary->window_start_ms ? span.from_ms : summary->window_start_ms;
    span.to_ms = span.to_ms < summary->window_end_ms ? span.to_ms : summary->window_end_ms;
    if (span.from_ms < span.to_ms) {
        spans[(*count)++] = span;
    }
}

/* GPUs x ms of the window in which nodes were up and held nothing at all. */
static double empty_gpu_ms(const struct orr_world *world, const struct orr_run *run,
                           const struct orr_summary *summary)
{
    const struct orr_ledger *ledger = run->ledger;
    struct span *spans =
        orr_alloc(ledger->placement_count + (size_t)run->outage_count + 1, sizeof *spans);
    uint32_t count = 0;
    double empty = 0.0;
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *held = &ledger->placements[p];
        orr_ms to = held->hold == ORR_HOLD_ENDED ? held->until_ms : run->end_ms;
        add(spans, &count, summary, (struct span){held->node, held->since_ms, to});
    }
    for (uint32_t o = 0; o < run->outage_count; o++) {
        const struct orr_outage *outage = &run->outages[o];
        add(spans, &count, summary, (struct span){outage->node, outage->from_ms, outage->to_ms});
    }
    orr_sort(spans, count, sizeof *spans, by_node_and_time, NULL);
    uint32_t s = 0;
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        orr_ms free_from = summary->window_start_ms, empty_ms = 0;
        for (; s < count && spans[s].node == n; s++) {
            empty_ms += spans[s].from_ms > free_from ? spans[s].from_ms - free_from : 0;
            free_from = spans[s].to_ms > free_from ? spans[s].to_ms : free_from;
        }
        empty_ms += summary->window_end_ms - free_from;
        empty += (double)empty_ms * orr_cluster_type(&world->cluster, n)->gpus;
    }
    orr_free(spans);
    return empty;
}

orr_ms *orr_summary__there(const struct orr_world *world, const struct orr_run *run,
                           const struct orr_summary *summary)
{
    orr_ms from = summary->window_start_ms, to = summary->window_end_ms;
    orr_ms *there_ms = orr_alloc(world->cluster.node_count + (size_t)1, sizeof *there_ms);
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        there_ms[n] = to - from;
    }
    for (uint32_t o = 0; o < run->outage_count; o++) {
        const struct orr_outage *outage = &run->outages[o];
        orr_ms begin = outage->from_ms > from ? outage->from_ms : from;
        orr_ms end = outage->to_ms < to ? outage->to_ms : to;
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
        load[placement->node] += (double)orr_placement_held(
            run, placement, summary->window_start_ms, summary->window_end_ms);
    }
    orr_ms *there_ms = orr_summary__there(world, run, summary);
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        double gpus = orr_cluster_type(&world->cluster, n)->gpus;
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
    spread->empty_gpus_mean = span > 0.0 ? empty_gpu_ms(world, run, summary) / span : (double)NAN;
    orr_free(load);
}
