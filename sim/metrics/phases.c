/* SPDX-License-Identifier: GPL-3.0-or-later */
/* phases.c - GPU time of a stretch of the run; and what the warm-up and the drain made of theirs,
 * which no number of the window holds. */
#include <math.h>

#include <orrery/sim/account.h>

#include "summary_int.h"

#define MGPU_MS_PER_GPU_H 3.6e9

/* Per job what it held for nothing in a stretch, where that is known. Caller frees. */
static double *wasted_in(const struct orr_world *world, const struct orr_run *run,
                         struct orr_stretch stretch)
{
    double *wasted = orr_zalloc(world->job_count + (size_t)1, sizeof *wasted);
    uint32_t count;
    const struct orr_waste *wastes = orr_account_wastes(run, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_waste *w = &wastes[i];
        const orr_ms from = w->from_ms > stretch.from_ms ? w->from_ms : stretch.from_ms;
        const orr_ms to = w->to_ms < stretch.to_ms ? w->to_ms : stretch.to_ms;
        if (from < to) {
            wasted[w->job] +=
                (double)w->mgpu_ms * ((double)(to - from) / (double)(w->to_ms - w->from_ms));
        }
    }
    return wasted;
}

/* Of the rest of its time, what part a job did not use: slow, idle, or where is not known. */
static double unused_part(const struct orr_job_time *time, double wasted)
{
    const double rest = (double)orr_job_time_sum(time) - wasted;
    const double good = (double)orr_job_time_good(time);
    return rest > good ? (rest - good) / rest : 0.0;
}

double orr_summary__vain(const struct orr_world *world, const struct orr_run *run,
                         struct orr_stretch stretch, uint32_t shard)
{
    const struct orr_ledger *ledger = run->ledger;
    double vain = 0.0;
    if (run->exec == NULL && run->times == NULL) {
        return vain;
    }
    double *all = wasted_in(world, run, (struct orr_stretch){ORR_MS_NONE, ORR_MS_NEVER});
    double *here = wasted_in(world, run, stretch);
    int64_t *held = orr_zalloc(world->job_count + (size_t)1, sizeof *held);
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        held[placement->job] += orr_placement_held(run, placement, stretch.from_ms, stretch.to_ms);
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (held[j] > 0 && (shard == ORR_NONE || orr_summary__shard_of(world, j) == shard)) {
            vain +=
                here[j] + ((double)held[j] - here[j]) * unused_part(orr_account_of(run, j), all[j]);
        }
    }
    orr_free(all);
    orr_free(here);
    orr_free(held);
    return vain;
}

double orr_summary__out(const struct orr_world *world, const struct orr_run *run,
                        struct orr_stretch stretch, uint32_t shard, bool away)
{
    double out = 0.0;
    for (uint32_t o = 0; o < run->outage_count; o++) {
        const struct orr_outage *outage = &run->outages[o];
        const struct orr_node_type *type = orr_cluster_type(&world->cluster, outage->node);
        orr_ms from = outage->from_ms, to = outage->to_ms;
        from = from > stretch.from_ms ? from : stretch.from_ms;
        to = to < stretch.to_ms ? to : stretch.to_ms;
        if (from < to && outage->away == away && (shard == ORR_NONE || type->shard == shard)) {
            out += (double)(to - from) * orr_node_type_counted_gpus(type) * ORR_MGPU;
        }
    }
    return out;
}

static struct orr_phase_summary phase_of(const struct orr_world *world, const struct orr_run *run,
                                         struct orr_stretch stretch)
{
    struct orr_phase_summary phase = {.stretch = stretch};
    const orr_ms span = stretch.to_ms - stretch.from_ms;
    if (span <= 0) {
        return phase;
    }
    double capacity = (double)span * (double)run->fold.capacity_mgpu -
                      orr_summary__out(world, run, stretch, ORR_NONE, true);
    double available = capacity - orr_summary__out(world, run, stretch, ORR_NONE, false);
    double held = 0.0;
    for (uint32_t p = 0; p < run->ledger->placement_count; p++) {
        held += (double)orr_placement_held(run, &run->ledger->placements[p], stretch.from_ms,
                                           stretch.to_ms);
    }
    double good = held - orr_summary__vain(world, run, stretch, ORR_NONE);
    phase.gpu_h = held / MGPU_MS_PER_GPU_H;
    phase.gpu_available = capacity > 0.0 ? available / capacity : (double)NAN;
    phase.gpu_occupancy = available > 0.0 ? held / available : (double)NAN;
    phase.gpu_goodput = available > 0.0 ? good / available : (double)NAN;
    return phase;
}

void orr_summary__phases(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary)
{
    const orr_ms begin = run->fold.origin_ms, end = run->end_ms;
    const orr_ms start = summary->window_start_ms, last = summary->window_end_ms;
    struct orr_phase_summary *phases = summary->phases;
    phases[ORR_PHASE_WARMUP] =
        phase_of(world, run, (struct orr_stretch){begin, start < end ? start : end});
    phases[ORR_PHASE_DRAIN] = phase_of(world, run, (struct orr_stretch){last, end});
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        const bool over = state->phase == ORR_JOB_FINISHED;
        phases[ORR_PHASE_WARMUP].finished += over && state->end_ms <= start;
        phases[ORR_PHASE_DRAIN].finished += over && state->end_ms > last;
    }
}
