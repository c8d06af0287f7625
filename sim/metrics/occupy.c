/* SPDX-License-Identifier: GPL-3.0-or-later */
/* occupy.c - use of CPU, memory and MIG instances; of CPU and memory of nodes that have a limit to
 * it, without what foreign pods hold. */
#include <math.h>

#include <orrery/sim/account.h>

#include "summary_int.h"

struct amount { /* x ms */
    double held, available;
    bool asked;
};

static double part(const struct amount *amount)
{
    return amount->asked && amount->available > 0.0 ? amount->held / amount->available
                                                    : (double)NAN;
}

/* Of a node there is so much for jobs; 0 where it has no limit. */
static double amount_of(const struct orr_node_type *type, enum orr_resource resource)
{
    const int64_t all = type->allocatable.v[resource];
    return all < ORR_AMOUNT_UNLIMITED ? (double)(all - type->foreign.v[resource]) : 0.0;
}

static void add_nodes(const struct orr_world *world, const struct orr_run *run,
                      struct orr_summary *summary, struct amount *cpu, struct amount *memory,
                      struct amount *mig)
{
    orr_ms from = summary->window_start_ms, to = summary->window_end_ms;
    orr_ms *up_ms = orr_summary__there(world, run, from, to);
    for (uint32_t o = 0; o < run->outage_count; o++) {
        const struct orr_outage *outage = &run->outages[o];
        orr_ms begin = outage->from_ms > from ? outage->from_ms : from;
        orr_ms end = outage->to_ms < to ? outage->to_ms : to;
        up_ms[outage->node] -= !outage->away && begin < end ? end - begin : 0;
    }
    for (uint32_t n = 0; n < world->cluster.node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(&world->cluster, n);
        double *of_shard = summary->shards[type->shard].available;
        const double ms = (double)up_ms[n];
        const double cpus = amount_of(type, ORR_RES_CPU) * ms;
        const double bytes = amount_of(type, ORR_RES_MEMORY) * ms;
        cpu->available += cpus;
        memory->available += bytes;
        mig->available += (double)type->mig_gpus * ORR_MGPU * ms;
        of_shard[ORR_SHARE_CPU] += cpus;
        of_shard[ORR_SHARE_MEMORY] += bytes;
    }
    orr_free(up_ms);
}

/* Once it is known what was available. */
static void deviate(const struct orr_world *world, const struct orr_run *run,
                    struct orr_summary *summary, enum orr_share_kind kind)
{
    double *apart = orr_zalloc(summary->shard_count, sizeof *apart), sum = 0.0, available = 0.0;
    const bool divided = orr_summary__apart(world, run, summary, kind, apart);
    summary->divides[kind] = divided;
    for (uint32_t s = 0; s < summary->shard_count; s++) {
        const double there = summary->shards[s].available[kind];
        summary->shards[s].other_deviation[kind] =
            divided && there > 0.0 ? apart[s] / (2.0 * there) : (double)NAN;
        sum += apart[s];
        available += there;
    }
    summary->other_deviation[kind] =
        divided && available > 0.0 ? sum / (2.0 * available) : (double)NAN;
    orr_free(apart);
}

/* Of nodes with a limit to it. */
static double cpu_of(const struct orr_world *world, const struct orr_placement *placement)
{
    const struct orr_shape *shape = &world->shapes.shapes[world->specs[placement->job].shape];
    const struct orr_node_type *type = orr_cluster_type(&world->cluster, placement->node);
    return type->allocatable.v[ORR_RES_CPU] < ORR_AMOUNT_UNLIMITED
               ? (double)shape->groups[placement->group].request.cpu_milli *
                     (double)placement->tasks
               : 0.0;
}

/* CPU time that jobs placed in the window gave while they were suspended. */
static double cpu_given(const struct orr_world *world, const struct orr_run *run,
                        const struct orr_summary *summary)
{
    const struct orr_ledger *ledger = run->ledger;
    const uint32_t count = run->suspension_count;
    uint32_t *last = orr_zalloc(world->job_count, sizeof *last); /* by job: 1 + its last one */
    uint32_t *before = orr_alloc(count + (size_t)1, sizeof *before);
    double given = 0.0;
    for (uint32_t s = 0; s < count; s++) {
        before[s] = last[run->suspensions[s].job];
        last[run->suspensions[s].job] = s + 1;
    }
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        for (uint32_t s = last[placement->job]; s != 0; s = before[s - 1]) {
            const struct orr_suspension *one = &run->suspensions[s - 1];
            const orr_ms from =
                one->from_ms > summary->window_start_ms ? one->from_ms : summary->window_start_ms;
            const orr_ms to =
                one->to_ms < summary->window_end_ms ? one->to_ms : summary->window_end_ms;
            given += from < to ? cpu_of(world, placement) *
                                     (double)orr_placement_ms(run, placement, from, to)
                               : 0.0;
        }
    }
    orr_free(last);
    orr_free(before);
    return given;
}

void orr_summary__occupied(const struct orr_world *world, const struct orr_run *run,
                           struct orr_summary *summary)
{
    const struct orr_ledger *ledger = run->ledger;
    struct amount cpu = {0}, memory = {0}, mig = {.asked = true};
    for (uint32_t s = 0; s < world->shapes.count; s++) {
        cpu.asked = cpu.asked || world->shapes.shapes[s].cpu_milli > 0;
        memory.asked = memory.asked || world->shapes.shapes[s].mem_bytes > 0;
    }
    const bool any = cpu.asked || memory.asked || world->cluster.mig_profiles.count > 0;
    for (uint32_t p = 0; p < ledger->placement_count && any; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_shape *shape = &world->shapes.shapes[world->specs[placement->job].shape];
        const struct orr_request *request = &shape->groups[placement->group].request;
        const int64_t *has = orr_cluster_type(&world->cluster, placement->node)->allocatable.v;
        double tasks_ms = (double)placement->tasks *
                          (double)orr_placement_ms(run, placement, summary->window_start_ms,
                                                   summary->window_end_ms);
        cpu.held +=
            has[ORR_RES_CPU] < ORR_AMOUNT_UNLIMITED ? (double)request->cpu_milli * tasks_ms : 0.0;
        memory.held += has[ORR_RES_MEMORY] < ORR_AMOUNT_UNLIMITED
                           ? (double)request->mem_bytes * tasks_ms
                           : 0.0;
        mig.held += (double)request->mig_mgpu * tasks_ms;
    }
    cpu.held -= run->suspension_count > 0 ? cpu_given(world, run, summary) : 0.0;
    add_nodes(world, run, summary, &cpu, &memory, &mig);
    summary->cpu_occupancy = part(&cpu);
    summary->mem_occupancy = part(&memory);
    summary->mig_occupancy = part(&mig);
    summary->mig_held_mgpu_ms = mig.held;
    deviate(world, run, summary, ORR_SHARE_CPU);
    deviate(world, run, summary, ORR_SHARE_MEMORY);
}
