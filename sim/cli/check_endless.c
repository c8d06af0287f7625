/* SPDX-License-Identifier: GPL-3.0-or-later */
/* check_endless.c - jobs that random failures will probably never let come to an end: a run without
 * a horizon is refused then, after as many setbacks as the engine bears.
 *
 * A job must go on for a time t without a failure on any of the n units that it is on: to its end,
 * or to its first checkpoint. In the long run a unit does with probability S(t), the stationary
 * residual life of a renewal process (Cox 1962): an attempt succeeds with at most S(t)^n. It is
 * told when even so the chance of an end before the run is refused is less than one half. */
#include <math.h>
#include <stdio.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/sim/engine.h>
#include <orrery/sim/point.h>

#include "cli.h"

#define STEPS 400 /* of the integral, even */

/* The part of the time at which a unit that works has at least t ms before it. */
static double lasts(const struct orr_fault_setting *faults, double t)
{
    const double mean = (double)faults->mtbf_ms, shape = faults->shape;
    if (shape == 1.0) {
        return exp(-t / mean);
    }
    const double scale = mean / tgamma(1.0 + 1.0 / shape), step = t / STEPS;
    double sum = 0.0;
    for (unsigned i = 0; i <= STEPS; i++) { /* Simpson */
        const double weight = i == 0 || i == STEPS ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
        sum += weight * exp(-pow(i * step / scale, shape));
    }
    return fmax(0.0, 1.0 - sum * step / 3.0 / mean);
}

/* GPUs of the largest unit: fewer units cannot hold a job. */
static int64_t largest_unit(const struct orr_world *world, const struct orr_fault_setting *faults,
                            uint32_t *units)
{
    const struct orr_cluster *cluster = &world->cluster;
    const bool nodes = faults->level > cluster->level_count;
    *units = nodes ? cluster->node_count : cluster->levels[faults->level - 1].domain_count;
    int64_t *gpus = orr_zalloc(*units + (size_t)1, sizeof *gpus), largest = 0;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        int64_t *unit = &gpus[orr_cluster_domain(cluster, faults->level, n)];
        *unit += orr_cluster_type(cluster, n)->gpus;
        largest = *unit > largest ? *unit : largest;
    }
    orr_free(gpus);
    return largest;
}

/* How long it must go on at a stretch; 0: not known. */
static orr_ms stretch_of(const struct orr_world *world, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const struct orr_terms *terms = &world->terms.items[spec->terms];
    if (terms->service > 0 || terms->crew > 0 || terms->profile != ORR_NONE) {
        return 0;
    }
    const orr_ms first = terms->checkpoint_ms + terms->checkpoint_cost_ms;
    const bool writes = terms->checkpoint_ms > 0 && first < spec->work_ms;
    return terms->restart_ms + (writes ? first : spec->work_ms);
}

void orr_cli_check_endless(const struct orr_scenario *scenario, const struct orr_world *world,
                           orr_say_fn *say, void *context)
{
    const struct orr_fault_setting faults = orr_point_faults(scenario, &world->cluster);
    if (faults.mtbf_ms <= 0 || scenario->horizon_ms != ORR_MS_NONE || world->job_count == 0) {
        return;
    }
    uint32_t units, hopeless = 0, worst = 0, worst_units = 0;
    double least = 1.0;
    const int64_t unit_gpus = largest_unit(world, &faults, &units);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_shape *shape = &world->shapes.shapes[world->specs[j].shape];
        const orr_ms stretch = stretch_of(world, j);
        const double gpus = (double)orr_shape_least(shape, ORR_SHARE_GPU) / ORR_MGPU;
        const double on = unit_gpus > 0 ? fmax(1.0, ceil(gpus / (double)unit_gpus)) : 1.0;
        /* an attempt that fails is an eviction, an attempt and, elsewhere too, failures of units */
        const double attempts =
            fmin(UINT16_MAX, (double)orr_engine_setbacks(world) / (2.0 + units / on));
        if (stretch <= faults.mtbf_ms / 100) {
            continue; /* most are, and go on long enough nearly always */
        }
        const double chance = pow(lasts(&faults, (double)stretch), on);
        if (chance * attempts < log(2.0)) {
            hopeless++;
            if (chance < least) {
                least = chance;
                worst = j;
                worst_units = (uint32_t)on;
            }
        }
    }
    if (hopeless > 0) {
        char text[600], name[120], stretch[32], mtbf[32];
        (void)orr_format_span(stretch, stretch_of(world, worst));
        (void)orr_format_span(mtbf, faults.mtbf_ms);
        (void)snprintf(
            text, sizeof text,
            "%u job%s will probably never end, nor the run: %.80s must go on for %s at a stretch "
            "on a %s that fails every %s (it needs %u of them at least); give it "
            "checkpoints that are closer, or the scenario a horizon",
            hopeless, ORR_PLURAL(hopeless), orr_world_job_name(world, worst, name, sizeof name),
            stretch, scenario->failures_each, mtbf, worst_units);
        say(text, context);
    }
}
