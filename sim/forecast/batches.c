/* SPDX-License-Identifier: GPL-3.0-or-later */
/* batches.c - jobs of one batch run long or short together: shared gamma frailties (Clayton 1978),
 * one for each phase of a run (piecewise: what the first minutes do says nothing of the next day).
 *
 * In phase k a batch has an unknown factor Z on the hazard of all its jobs, gamma distributed with
 * mean 1 and variance theta. What its jobs have survived of the phase (the sum H of their
 * cumulative hazards) and how many of them ended in it (d) make the factor known better: Z is gamma
 * with shape 1/theta + d and rate 1/theta + H. Theta is taken from the batches of the past by
 * moments: of M = d - H the square is, in the mean, H + theta H^2. */
#include "forecast_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include <orrery/base/mem.h>
#include <orrery/traces/gen_rng.h>

enum { GAP_MS = 3600 * 1000 }; /* between submits within a batch, at most */
/* What a batch has in common drifts: however many of its jobs were seen, they say no more than so
 * many do. */
enum { EVIDENCE_MOST = 8 };

/* The batch that was open last of each like kind, in a table by its hash. */
struct open_batch {
    struct orr_duration_of of;
    uint32_t batch; /* + 1; 0: none */
    orr_ms last_ms;
};

static bool alike(const struct orr_duration_of *a, const struct orr_duration_of *b)
{
    return a->user == b->user && a->queue == b->queue && a->kind == b->kind && a->size == b->size;
}

static struct open_batch *slot_of(struct open_batch *slots, uint32_t count,
                                  const struct orr_duration_of *of)
{
    uint64_t h = of->user;
    h = (h * 0x9e3779b97f4a7c15u ^ of->queue) * 0x9e3779b97f4a7c15u;
    h = (h ^ of->kind) * 0x9e3779b97f4a7c15u;
    h = (h ^ of->size) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(h >> 32) & (count - 1);
    while (slots[at].batch != 0 && !alike(&slots[at].of, of)) {
        at = (at + 1) & (count - 1);
    }
    return &slots[at];
}

uint32_t *orr_forecast__batches(const struct orr_world *world, const struct orr_duration_of *of,
                                uint32_t *count)
{
    uint32_t slot_count = 64, batches = 0;
    while (slot_count < 2 * (uint64_t)world->job_count) {
        slot_count *= 2;
    }
    struct open_batch *slots = orr_zalloc(slot_count, sizeof *slots);
    uint32_t *batch_of = orr_alloc(world->job_count + (size_t)1, sizeof *batch_of);
    for (uint32_t j = 0; j < world->job_count; j++) {
        struct open_batch *slot = slot_of(slots, slot_count, &of[j]);
        const orr_ms submit = world->specs[j].submit_ms;
        if (slot->batch == 0 || submit - slot->last_ms > GAP_MS) {
            slot->of = of[j];
            slot->batch = ++batches;
        }
        slot->last_ms = submit;
        batch_of[j] = slot->batch - 1;
    }
    orr_free(slots);
    *count = batches;
    return batch_of;
}

/* Ends of phases of a run, each four times as long as the one before. */
static const orr_ms phase_end[ORR_FORECAST__PHASES] = {
    60000, 240000, 960000, 3840000, 15360000, 61440000, 245760000, ORR_MS_NEVER / 2};

static uint32_t phase_of(orr_ms run)
{
    uint32_t phase = 0;
    while (phase + 1 < ORR_FORECAST__PHASES && run > phase_end[phase]) {
        phase++;
    }
    return phase;
}

/* The variance of a phase's factor, within bounds. */
static double theta_of(const struct orr_forecast__batch *batches, uint32_t count, uint32_t phase)
{
    double over = 0.0, square = 0.0;
    for (uint32_t b = 0; b < count; b++) {
        const double hazard = batches[b].hazard[phase], off = batches[b].ended[phase] - hazard;
        over += off * off - hazard;
        square += hazard * hazard;
    }
    return square > 0.0 ? fmin(fmax(over / square, 0.01), 10.0) : 1.0;
}

/* What a job has survived, and how it ended, to its batch. */
static void weigh(const struct orr_forecast__moment *moment, uint32_t job, orr_ms run, bool over)
{
    struct orr_forecast__batch *batch = &moment->batches[moment->run->batch_of[job]];
    const uint32_t last = phase_of(run);
    orr_ms until[ORR_FORECAST__PHASES];
    double hazards[ORR_FORECAST__PHASES], before = 0.0;
    for (uint32_t k = 0; k <= last; k++) {
        until[k] = k < last ? phase_end[k] : run;
    }
    orr_durations_hazards(moment->durations, &moment->run->of[job], until, last + 1, hazards);
    for (uint32_t k = 0; k <= last; k++) {
        batch->hazard[k] += hazards[k] - before;
        before = hazards[k];
    }
    batch->ended[last] += over;
}

void orr_forecast__weigh_batches(struct orr_forecast__moment *moment)
{
    const struct orr_forecast__run *run = moment->run;
    const struct orr_job_state *states = moment->branch->run->ledger->jobs;
    moment->batches = orr_zalloc(run->batch_count + (size_t)1, sizeof *moment->batches);
    for (uint32_t j = 0; j < moment->branch->next_arrival; j++) {
        const bool over = states[j].phase == ORR_JOB_FINISHED;
        const orr_ms age =
            over ? run->world->specs[j].work_ms
            : orr_branch_works(moment->branch, j) && !orr_world_knows_run(run->world, j)
                ? orr_branch_done_ms(moment->branch, j)
                : 0;
        if (over || age > 0) {
            weigh(moment, j, age, over);
        }
    }
    for (uint32_t k = 0; k < ORR_FORECAST__PHASES; k++) {
        moment->theta[k] = theta_of(moment->batches, run->batch_count, k);
    }
}

void orr_forecast__factors(const struct orr_forecast__moment *moment, uint32_t batch,
                           uint64_t future, double *factors)
{
    const struct orr_forecast__batch *it = &moment->batches[batch];
    char stream[40];
    (void)snprintf(stream, sizeof stream, "forecast/batch/%u", batch);
    gsl_rng *rng = orr_gsl_rng_open(moment->run->options->seed, stream, future);
    for (uint32_t k = 0; k < ORR_FORECAST__PHASES; k++) {
        const double prior = 1.0 / moment->theta[k];
        const double seen = fmax(it->ended[k], it->hazard[k]);
        const double weight = seen > EVIDENCE_MOST ? EVIDENCE_MOST / seen : 1.0;
        factors[k] = gsl_ran_gamma(rng, prior + weight * it->ended[k],
                                   1.0 / (prior + weight * it->hazard[k]));
        factors[k] = fmax(factors[k], 1e-6);
    }
    gsl_rng_free(rng);
}

orr_ms orr_forecast__run_time(const struct orr_forecast__moment *moment, uint32_t job, orr_ms age,
                              const double *factors, double fall)
{
    const struct orr_duration_of *of = &moment->run->of[job];
    double falls[ORR_FORECAST__PHASES], before = 0.0, left = fall;
    orr_durations_falls(moment->durations, of, age, phase_end, ORR_FORECAST__PHASES, falls);
    uint32_t k = phase_of(age);
    while (k + 1 < ORR_FORECAST__PHASES && left > factors[k] * (falls[k] - before)) {
        left -= factors[k] * (falls[k] - before);
        before = falls[k++];
    }
    return orr_durations_at_fall(moment->durations, of, age, before + left / factors[k]);
}
