/* SPDX-License-Identifier: GPL-3.0-or-later */
/* phases.c - GPU time of a stretch of the run; and what the warm-up and the drain made of theirs,
 * which no number of the window holds. */
#include <math.h>

#include <orrery/base/mem.h>
#include <orrery/sim/account.h>

#include "summary_int.h"

#define MGPU_MS_PER_GPU_H 3.6e9

struct vain { /* mGPU x ms of a stretch */
    const struct orr_world *world;
    const struct orr_run *run;
    struct orr_stretch stretch;
    double all, *of_shard;
};

static void add_vain(struct vain *vain, uint32_t job, double mgpu_ms)
{
    vain->all += mgpu_ms;
    vain->of_shard[orr_summary__shard_of(vain->world, job)] += mgpu_ms;
}

/* What rows have in the stretch. Of a session, what is not in any is idle for a part of it. */
static void add_rows(struct vain *vain, const struct orr_waste *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_waste *w = &rows[i];
        const orr_ms from = w->from_ms > vain->stretch.from_ms ? w->from_ms : vain->stretch.from_ms;
        const orr_ms to = w->to_ms < vain->stretch.to_ms ? w->to_ms : vain->stretch.to_ms;
        if (from < to) {
            const double part = (double)(to - from) / (double)(w->to_ms - w->from_ms);
            add_vain(vain, w->job,
                     (double)w->mgpu_ms * part *
                         (1.0 - orr_account_idle_part(vain->world, vain->run, w->job)));
        }
    }
}

static void add_sessions(struct vain *vain)
{
    const struct orr_ledger *ledger = vain->run->ledger;
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const double part = orr_account_idle_part(vain->world, vain->run, placement->job);
        if (part > 0.0) {
            add_vain(vain, placement->job,
                     part * (double)orr_placement_held(vain->run, placement, vain->stretch.from_ms,
                                                       vain->stretch.to_ms));
        }
    }
}

double orr_summary__vain(const struct orr_world *world, const struct orr_run *run,
                         struct orr_stretch stretch, double *of_shard)
{
    struct vain vain = {
        .world = world, .run = run, .stretch = stretch, .all = 0.0, .of_shard = of_shard};
    uint32_t count;
    if (run->exec == NULL && run->times == NULL) {
        return 0.0;
    }
    const struct orr_waste *rows = orr_account_wastes(run, &count);
    add_rows(&vain, rows, count);
    rows = orr_account_slows(run, &count);
    add_rows(&vain, rows, count);
    add_rows(&vain, run->idles, run->idle_count);
    if (orr_account_may_idle(world)) {
        add_sessions(&vain);
    }
    return vain.all;
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
    double *vain = orr_zalloc(run->fold.shard_count, sizeof *vain);
    double good = held - orr_summary__vain(world, run, stretch, vain);
    orr_free(vain);
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
