/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ftf.c - finish-time fairness (Themis, NSDI'20): the time a job took over the time a fair part of
 * the cluster would have let it take, in three forms that the literature does not tell apart. */
#include <math.h>

#include <orrery/base/sort.h>

#include "summary_int.h"

struct form { /* one of the three */
    double *rho;
    uint32_t count;
};

/* The value of the nearest rank. */
static double quantile(double *values, uint32_t count, double share)
{
    double rank = ceil(share * (double)count);
    return orr_select(values, count, rank < 1.0 ? 0 : (uint32_t)rank - 1);
}

static struct orr_ftf form_result(struct form *form)
{
    struct orr_ftf result = {(double)NAN, (double)NAN, (double)NAN, form->count};
    uint32_t above = 0;
    if (form->count == 0) {
        return result;
    }
    result.max = form->rho[0];
    for (uint32_t i = 0; i < form->count; i++) {
        result.max = form->rho[i] > result.max ? form->rho[i] : result.max;
        above += form->rho[i] > 1.0;
    }
    result.above = (double)above / (double)form->count;
    result.p95 = quantile(form->rho, form->count, 0.95);
    return result;
}

static uint32_t shard_of(const struct orr_world *world, uint32_t job)
{
    return world->queues.queues[world->specs[job].queue].shard;
}

/* GPUs of the queue's own when the job came: its quota, without one all GPUs of its shard. 0: none.
 */
static double own_mgpu(const struct orr_world *world, const struct orr_run *run, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    uint32_t shard = world->queues.queues[spec->queue].shard;
    double quota = orr_world_entitlement_at(world, spec->queue, ORR_SHARE_GPU,
                                            orr_run_submit_ms(world, run, job))
                       ->quota;
    return quota < 0.0 ? (double)run->fold.shard_capacity_mgpu[shard] : quota * ORR_MGPU;
}

static double at_least_1(double value)
{
    return value > 1.0 ? value : 1.0;
}

struct crowd { /* jobs of a shard that were submitted and had not ended */
    uint64_t now, total;
    uint64_t job_ms; /* integral; differences hold even where it wraps around */
    orr_ms at;
};

static void crowd_until(struct crowd *crowd, orr_ms at)
{
    crowd->job_ms += crowd->now * (uint64_t)(at - crowd->at);
    crowd->at = at;
}

/* Jobs in the order in which they were submitted, that of their rows unless users waited for
 * results. Caller frees. */
static uint32_t *by_submit(const struct orr_world *world, const struct orr_run *run,
                           orr_ms *submits)
{
    uint32_t *jobs = orr_alloc(world->job_count + (size_t)1, sizeof *jobs);
    bool is_sorted = true;
    for (uint32_t j = 0; j < world->job_count; j++) {
        jobs[j] = j;
        submits[j] = orr_run_submit_ms(world, run, j);
        is_sorted = is_sorted && (j == 0 || submits[j - 1] <= submits[j]);
    }
    if (!is_sorted) {
        orr_sort_ids_by_i64(jobs, world->job_count, submits, sizeof *submits);
    }
    return jobs;
}

/* Walks over submits and ends in order of time and gives, for each job that finished, the integral
 * over its life of how many jobs its shard had. Caller frees. */
static uint64_t *crowd_job_ms(const struct orr_world *world, const struct orr_run *run,
                              struct crowd *crowds)
{
    const struct orr_job_state *states = run->ledger->jobs;
    uint64_t *job_ms = orr_alloc(world->job_count + (size_t)1, sizeof *job_ms);
    uint32_t *jobs = orr_alloc(world->job_count + (size_t)1, sizeof *jobs);
    uint32_t count = 0, next = 0;
    orr_ms *submits = orr_alloc(world->job_count + (size_t)1, sizeof *submits);
    uint32_t *comers = by_submit(world, run, submits);
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (states[j].phase == ORR_JOB_FINISHED || states[j].phase == ORR_JOB_WITHDRAWN) {
            jobs[count++] = j;
        }
    }
    if (count > 0) {
        orr_sort_ids_by_i64(jobs, count, &states->end_ms, sizeof *states);
    }
    for (uint32_t e = 0; e <= count; e++) {
        orr_ms until = e < count ? states[jobs[e]].end_ms : ORR_MS_NEVER;
        for (; next < world->job_count && submits[comers[next]] <= until; next++) {
            const uint32_t j = comers[next];
            struct crowd *crowd = &crowds[shard_of(world, j)];
            if (states[j].phase != ORR_JOB_FUTURE) {
                crowd_until(crowd, submits[j]);
                job_ms[j] = crowd->job_ms;
                crowd->now++;
                crowd->total++;
            }
        }
        if (e < count) {
            uint32_t j = jobs[e];
            struct crowd *crowd = &crowds[shard_of(world, j)];
            crowd_until(crowd, until);
            job_ms[j] = crowd->job_ms - job_ms[j];
            crowd->now--;
        }
    }
    orr_free(jobs);
    orr_free(comers);
    orr_free(submits);
    return job_ms;
}

/* NAN: the form says nothing of the job. */
static double rho_of(const struct orr_world *world, const struct orr_run *run,
                     const struct crowd *crowds, const uint64_t *job_ms, enum orr_ftf_form form,
                     uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const uint32_t shard = shard_of(world, job);
    const double took =
        (double)(run->ledger->jobs[job].end_ms - orr_run_submit_ms(world, run, job));
    const double gpus = (double)run->fold.shard_capacity_mgpu[shard] / ORR_MGPU;
    double asked, has; /* how much a fair part is less than what the job, or all of them, ask */
    switch (form) {
    case ORR_FTF_QUOTA:
        asked = (double)world->shapes.shapes[spec->shape].gpus_mgpu;
        has = own_mgpu(world, run, job);
        break;
    case ORR_FTF_THEMIS:
        asked = (double)job_ms[job] / took;
        has = gpus;
        break;
    default: asked = (double)crowds[shard].total; has = gpus;
    }
    return has > 0.0 ? took / ((double)spec->work_ms * at_least_1(asked / has)) : (double)NAN;
}

void orr_summary__ftf(const struct orr_world *world, const struct orr_run *run,
                      struct orr_summary *summary)
{
    struct crowd *crowds = orr_zalloc(run->fold.shard_count, sizeof *crowds);
    uint64_t *job_ms = crowd_job_ms(world, run, crowds);
    struct form form = {.rho = orr_alloc(world->job_count + (size_t)1, sizeof *form.rho)};
    for (uint32_t f = 0; f < ORR_FTF_COUNT; f++) {
        form.count = 0;
        for (uint32_t j = 0; j < world->job_count; j++) {
            if (orr_summary__in_window(world, run, summary, j) &&
                world->specs[j].kind != ORR_KIND_INFERENCE &&
                run->ledger->jobs[j].phase == ORR_JOB_FINISHED && world->specs[j].work_ms > 0) {
                const double rho = rho_of(world, run, crowds, job_ms, (enum orr_ftf_form)f, j);
                form.rho[form.count] = rho;
                form.count += isnan(rho) ? 0 : 1;
            }
        }
        summary->ftf[f] = form_result(&form);
    }
    orr_free(form.rho);
    orr_free(job_ms);
    orr_free(crowds);
}
