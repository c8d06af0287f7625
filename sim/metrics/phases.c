/* SPDX-License-Identifier: GPL-3.0-or-later */
/* phases.c - GPU time of a stretch of the run; and what the warm-up and the drain made of theirs,
 * which no number of the window holds. */
#include <math.h>

#include <orrery/sim/account.h>

#include "summary_int.h"

#define MGPU_MS_PER_GPU_H 3.6e9

/* Until when a placement is of no attempt that went on: to its end where the attempt was cut short
 * or its gang never was complete, else to the start of the last one, which its gang made complete.
 */
static orr_ms empty_until(const struct orr_run *run, const struct orr_placement *placement)
{
    const struct orr_job_state *state = &run->ledger->jobs[placement->job];
    const bool goes_on = state->phase == ORR_JOB_RUNNING || state->phase == ORR_JOB_FINISHED;
    return goes_on && placement->attempt == state->attempts ? state->start_ms : ORR_MS_NEVER;
}

int64_t *orr_summary__empty(const struct orr_world *world, const struct orr_run *run)
{
    if (run->exec == NULL && run->times == NULL) {
        return NULL;
    }
    int64_t *empty = orr_zalloc(world->job_count, sizeof *empty);
    for (uint32_t p = 0; p < run->ledger->placement_count; p++) {
        const struct orr_placement *placement = &run->ledger->placements[p];
        empty[placement->job] +=
            orr_placement_held(run, placement, placement->since_ms, empty_until(run, placement));
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_time *time = orr_account_of(run, j);
        if (time->useful > orr_job_time_sum(time) - empty[j]) {
            empty[j] = 0; /* some of it was kept, by a checkpoint: where is not known */
        }
    }
    return empty;
}

double orr_summary__vain(const struct orr_world *world, const struct orr_run *run,
                         const int64_t *empty, struct orr_stretch stretch, uint32_t shard)
{
    double vain = 0.0;
    const struct orr_ledger *ledger = run->ledger;
    for (uint32_t p = 0; p < ledger->placement_count && empty != NULL; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_job_time *time = orr_account_of(run, placement->job);
        const int64_t rest = orr_job_time_sum(time) - empty[placement->job];
        const int64_t good = orr_job_time_good(time);
        orr_ms from = stretch.from_ms;
        if (shard != ORR_NONE && orr_summary__shard_of(world, placement->job) != shard) {
            continue;
        }
        if (empty[placement->job] > 0) {
            const orr_ms until = empty_until(run, placement);
            vain += (double)orr_placement_held(run, placement, from,
                                               until < stretch.to_ms ? until : stretch.to_ms);
            from = until > from ? until : from;
        }
        if (rest > good) {
            vain += (double)orr_placement_held(run, placement, from, stretch.to_ms) *
                    ((double)(rest - good) / (double)rest);
        }
    }
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
                                         const int64_t *empty, struct orr_stretch stretch)
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
    double good = held - orr_summary__vain(world, run, empty, stretch, ORR_NONE);
    phase.gpu_h = held / MGPU_MS_PER_GPU_H;
    phase.gpu_available = capacity > 0.0 ? available / capacity : (double)NAN;
    phase.gpu_occupancy = available > 0.0 ? held / available : (double)NAN;
    phase.gpu_goodput = available > 0.0 ? good / available : (double)NAN;
    return phase;
}

void orr_summary__phases(const struct orr_world *world, const struct orr_run *run,
                         const int64_t *empty, struct orr_summary *summary)
{
    const orr_ms begin = run->fold.origin_ms, end = run->end_ms;
    const orr_ms start = summary->window_start_ms, last = summary->window_end_ms;
    struct orr_phase_summary *phases = summary->phases;
    phases[ORR_PHASE_WARMUP] =
        phase_of(world, run, empty, (struct orr_stretch){begin, start < end ? start : end});
    phases[ORR_PHASE_DRAIN] = phase_of(world, run, empty, (struct orr_stretch){last, end});
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        const bool over = state->phase == ORR_JOB_FINISHED;
        phases[ORR_PHASE_WARMUP].finished += over && state->end_ms <= start;
        phases[ORR_PHASE_DRAIN].finished += over && state->end_ms > last;
    }
}
