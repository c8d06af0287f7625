/* SPDX-License-Identifier: GPL-3.0-or-later */
/* batches.c - jobs of one batch run long or short together: shared gamma frailties (Clayton 1978),
 * one for each phase of a run (piecewise: what the first minutes do says nothing of the next day).
 *
 * In phase k a batch has an unknown factor Z on the hazard of all its jobs, gamma distributed with
 * mean 1 and variance theta. What its jobs have survived of the phase (the sum G of their
 * cumulative hazards) and how many of them ended in it (d) make the factor known better: Z is gamma
 * with shape 1/theta + d and rate 1/theta + G.
 *
 * Curves of like jobs are of jobs of all batches, so a hazard H that is read from them is what is
 * left when the factor is averaged out: exp(-H) = E exp(-Z G) = (1 + theta G)^(-1/theta). Hence
 * G = (exp(theta H) - 1) / theta: with H in its place, jobs of which nothing else is known would
 * live longer than their curve.
 *
 * Theta is taken from pairs of jobs of one batch: of M = ended - H of two of them the product is,
 * in the mean, theta times that of their H. */
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

/* The hazard given the factor, from that of a curve, and back. */
static double given(double hazard, double theta)
{
    return expm1(fmin(theta * hazard, 500.0)) / theta;
}

static double averaged(double hazard, double theta)
{
    return log1p(theta * hazard) / theta;
}

struct run_seen {
    uint32_t job, last; /* last: phase that it is in, or ended in */
    bool over;
    double hazards[ORR_FORECAST__PHASES]; /* of its curve, survived in each phase */
};

/* What a job has survived, and how it ended. False: it has not run, or nobody knows anew. */
static bool see(const struct orr_forecast__moment *moment, uint32_t job, struct run_seen *seen)
{
    const struct orr_forecast__run *run = moment->run;
    const orr_ms ran = orr_forecast__ran_ms(run, moment->branch, job, &seen->over);
    orr_ms until[ORR_FORECAST__PHASES];
    double before = 0.0;
    if (!seen->over && ran <= 0) {
        return false;
    }
    seen->job = job;
    seen->last = phase_of(ran);
    for (uint32_t k = 0; k <= seen->last; k++) {
        until[k] = k < seen->last ? phase_end[k] : ran;
    }
    orr_durations_hazards(moment->durations, &run->of[job], until, seen->last + 1, seen->hazards);
    for (uint32_t k = 0; k <= seen->last; k++) {
        const double hazard = seen->hazards[k] - before;
        before = seen->hazards[k];
        seen->hazards[k] = hazard;
    }
    return true;
}

struct pairs { /* of a batch, in a phase: sums, and sums of squares, of its jobs */
    double off, off_squares, hazard, hazard_squares;
};

/* The variance of each phase's factor, within bounds. */
static void estimate_theta(const struct pairs *pairs, uint32_t batches, double *theta)
{
    for (uint32_t k = 0; k < ORR_FORECAST__PHASES; k++) {
        double over = 0.0, under = 0.0;
        for (uint32_t b = 0; b < batches; b++) {
            const struct pairs *of = &pairs[(size_t)b * ORR_FORECAST__PHASES + k];
            over += of->off * of->off - of->off_squares;
            under += of->hazard * of->hazard - of->hazard_squares;
        }
        theta[k] = under > 0.0 ? fmin(fmax(over / under, 0.01), 10.0) : 1.0;
    }
}

static void add_to_pairs(const struct run_seen *seen, struct pairs *of)
{
    for (uint32_t k = 0; k <= seen->last; k++) {
        const double hazard = seen->hazards[k];
        const double off = (seen->over && k == seen->last) - hazard;
        of[k].off += off;
        of[k].off_squares += off * off;
        of[k].hazard += hazard;
        of[k].hazard_squares += hazard * hazard;
    }
}

static void add_to_batch(const struct run_seen *seen, const double *theta,
                         struct orr_forecast__batch *batch)
{
    for (uint32_t k = 0; k <= seen->last; k++) {
        batch->hazard[k] += given(seen->hazards[k], theta[k]);
    }
    batch->ended[seen->last] += seen->over;
}

/* Curves of what began lately say nothing of batches that are long over. */
void orr_forecast__weigh_batches(struct orr_forecast__moment *moment)
{
    const struct orr_forecast__run *run = moment->run;
    const uint32_t past = moment->branch->next_arrival;
    struct run_seen *seen = orr_alloc(past + (size_t)1, sizeof *seen);
    struct pairs *pairs =
        orr_zalloc((size_t)run->batch_count * ORR_FORECAST__PHASES + 1, sizeof *pairs);
    uint32_t count = 0;
    moment->batches = orr_zalloc(run->batch_count + (size_t)1, sizeof *moment->batches);
    for (uint32_t j = 0; j < past; j++) {
        if (see(moment, j, &seen[count]) &&
            (!seen[count].over || orr_forecast__is_recent(moment->branch, j))) {
            add_to_pairs(&seen[count], &pairs[(size_t)run->batch_of[j] * ORR_FORECAST__PHASES]);
            count++;
        }
    }
    estimate_theta(pairs, run->batch_count, moment->theta);
    for (uint32_t i = 0; i < count; i++) {
        add_to_batch(&seen[i], moment->theta, &moment->batches[run->batch_of[seen[i].job]]);
    }
    orr_free(pairs);
    orr_free(seen);
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
    double falls[ORR_FORECAST__PHASES], begin, at = 0.0, left = fall;
    const orr_ms none = 0;
    uint32_t k = phase_of(age);
    orr_durations_falls(moment->durations, of, age, phase_end, ORR_FORECAST__PHASES, falls);
    orr_durations_falls(moment->durations, of, age, k > 0 ? &phase_end[k - 1] : &none, 1, &begin);
    for (;; k++) {
        const double theta = moment->theta[k], now = given(at - begin, theta);
        const double phase = factors[k] * (given(falls[k] - begin, theta) - now);
        if (k + 1 == ORR_FORECAST__PHASES || left <= phase) {
            at = begin + averaged(now + left / factors[k], theta);
            return orr_durations_at_fall(moment->durations, of, age, at);
        }
        left -= phase;
        begin = at = falls[k];
    }
}
