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
static double own_mgpu(const struct orr_world *world, const struct orr_run *run,
                       const struct orr_job_spec *spec)
{
    uint32_t shard = world->queues.queues[spec->queue].shard;
    double quota =
        orr_world_entitlement_at(world, spec->queue, ORR_SHARE_GPU, spec->submit_ms)->quota;
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

/* Walks over submits and ends in order of time and gives, for each job that finished, the integral
 * over its life of how many jobs its shard had. Caller frees. */
static uint64_t *crowd_job_ms(const struct orr_world *world, const struct orr_run *run,
                              struct crowd *crowds)
{
    const struct orr_job_state *states = run->ledger->jobs;
    uint64_t *job_ms = orr_alloc(world->job_count + (size_t)1, sizeof *job_ms);
    int64_t *ends = orr_alloc(world->job_count + (size_t)1, sizeof *ends);
    uint32_t *jobs = orr_alloc(world->job_count + (size_t)1, sizeof *jobs);
    uint32_t count = 0, next = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (states[j].phase == ORR_JOB_FINISHED || states[j].phase == ORR_JOB_WITHDRAWN) {
            jobs[count] = j;
            ends[count++] = states[j].end_ms;
        }
    }
    uint32_t *order = orr_sort_index_by_i64(ends, count);
    for (uint32_t e = 0; e <= count; e++) {
        orr_ms until = e < count ? ends[order[e]] : ORR_MS_NEVER;
        for (; next < world->job_count && world->specs[next].submit_ms <= until; next++) {
            struct crowd *crowd = &crowds[shard_of(world, next)];
            if (states[next].phase != ORR_JOB_FUTURE) {
                crowd_until(crowd, world->specs[next].submit_ms);
                job_ms[next] = crowd->job_ms;
                crowd->now++;
                crowd->total++;
            }
        }
        if (e < count) {
            uint32_t j = jobs[order[e]];
            struct crowd *crowd = &crowds[shard_of(world, j)];
            crowd_until(crowd, until);
            job_ms[j] = crowd->job_ms - job_ms[j];
            crowd->now--;
        }
    }
    orr_free(order);
    orr_free(jobs);
    orr_free(ends);
    return job_ms;
}

void orr_summary__ftf(const struct orr_world *world, const struct orr_run *run,
                      struct orr_summary *summary)
{
    struct form forms[ORR_FTF_COUNT] = {0};
    struct crowd *crowds = orr_zalloc(run->fold.shard_count, sizeof *crowds);
    uint64_t *job_ms = crowd_job_ms(world, run, crowds);
    for (uint32_t f = 0; f < ORR_FTF_COUNT; f++) {
        forms[f].rho = orr_alloc(world->job_count + (size_t)1, sizeof *forms[f].rho);
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        const struct orr_job_spec *spec = &world->specs[j];
        if (!orr_summary__in_window(world, run, summary, j) || spec->kind == ORR_KIND_INFERENCE ||
            state->phase != ORR_JOB_FINISHED || spec->work_ms <= 0) {
            continue;
        }
        double took = (double)(state->end_ms - spec->submit_ms), work = (double)spec->work_ms;
        double mgpu = (double)world->shapes.shapes[spec->shape].gpus_mgpu;
        double own = own_mgpu(world, run, spec);
        double gpus = (double)run->fold.shard_capacity_mgpu[shard_of(world, j)] / ORR_MGPU;
        if (own > 0.0) {
            forms[ORR_FTF_QUOTA].rho[forms[ORR_FTF_QUOTA].count++] =
                took / (work * at_least_1(mgpu / own));
        }
        if (gpus > 0.0) {
            double mean = (double)job_ms[j] / took;
            double all = (double)crowds[shard_of(world, j)].total;
            forms[ORR_FTF_THEMIS].rho[forms[ORR_FTF_THEMIS].count++] =
                took / (work * at_least_1(mean / gpus));
            forms[ORR_FTF_SHOCKWAVE].rho[forms[ORR_FTF_SHOCKWAVE].count++] =
                took / (work * at_least_1(all / gpus));
        }
    }
    for (uint32_t f = 0; f < ORR_FTF_COUNT; f++) {
        summary->ftf[f] = form_result(&forms[f]);
        orr_free(forms[f].rho);
    }
    orr_free(job_ms);
    orr_free(crowds);
}
