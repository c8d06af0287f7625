/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ftf.c - finish-time fairness (Themis, NSDI'20): the time a job took over the time a fair part of
 * the cluster would have let it take, in three forms that the literature does not tell apart. */
#include <math.h>

#include <orrery/base/sort.h>

#include "presence.h"
#include "summary_int.h"

/* Of a job its integral, or of the values of a form one: there may be as many as jobs. */
union job_value {
    uint64_t job_ms;
    double rho;
};

/* The value of the nearest rank. */
static double quantile(double *values, uint32_t count, double share)
{
    double rank = ceil(share * (double)count);
    return orr_select(values, count, rank < 1.0 ? 0 : (uint32_t)rank - 1);
}

static struct orr_ftf form_result(union job_value *values, uint32_t count)
{
    struct orr_ftf result = {(double)NAN, (double)NAN, (double)NAN, count};
    uint32_t above = 0;
    if (count == 0) {
        return result;
    }
    result.max = values[0].rho;
    for (uint32_t i = 0; i < count; i++) {
        result.max = values[i].rho > result.max ? values[i].rho : result.max;
        above += values[i].rho > 1.0;
    }
    result.above = (double)above / (double)count;
    result.p95 = quantile(&values[0].rho, count, 0.95);
    return result;
}

static uint32_t shard_of(const struct orr_world *world, uint32_t job)
{
    return world->queues.queues[world->specs[job].queue].shard;
}

struct crowd { /* jobs of a shard that were submitted and had not ended */
    uint64_t now, total;
    uint64_t job_ms; /* integral; differences hold even where it wraps around */
    orr_ms at;
    double has_mgpu_ms; /* of its shard, over the whole run */
};

static void crowd_until(struct crowd *crowd, orr_ms at)
{
    crowd->job_ms += crowd->now * (uint64_t)(at - crowd->at);
    crowd->at = at;
}

/* Jobs in the order in which they were submitted, which is that of their rows (NULL) unless users
 * waited for results. Caller frees. */
static uint32_t *by_submit(const struct orr_world *world, const struct orr_run *run)
{
    uint32_t sorted = 1;
    while (sorted < world->job_count &&
           orr_run_submit_ms(world, run, sorted - 1) <= orr_run_submit_ms(world, run, sorted)) {
        sorted++;
    }
    if (sorted >= world->job_count) {
        return NULL;
    }
    uint32_t *jobs = orr_alloc(world->job_count, sizeof *jobs);
    orr_ms *submits = orr_alloc(world->job_count, sizeof *submits);
    for (uint32_t j = 0; j < world->job_count; j++) {
        jobs[j] = j;
        submits[j] = orr_run_submit_ms(world, run, j);
    }
    orr_sort_ids_by_i64(jobs, world->job_count, submits, sizeof *submits);
    orr_free(submits);
    return jobs;
}

/* A job that comes: its integral is what its shard had until then. */
static void crowd_join(const struct orr_world *world, const struct orr_run *run,
                       struct crowd *crowds, uint32_t job, union job_value *values)
{
    if (run->ledger->jobs[job].phase != ORR_JOB_FUTURE) {
        struct crowd *crowd = &crowds[shard_of(world, job)];
        crowd_until(crowd, orr_run_submit_ms(world, run, job));
        values[job].job_ms = crowd->job_ms;
        crowd->now++;
        crowd->total++;
    }
}

/* Walks over submits and ends in order of time and gives, for each job that finished, the integral
 * over its life of how many jobs its shard had. Caller frees. */
static union job_value *crowd_job_ms(const struct orr_world *world, const struct orr_run *run,
                                     struct crowd *crowds)
{
    const struct orr_job_state *states = run->ledger->jobs;
    uint32_t *jobs = orr_alloc(world->job_count + (size_t)1, sizeof *jobs);
    uint32_t count = 0, next = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (states[j].phase == ORR_JOB_FINISHED || states[j].phase == ORR_JOB_WITHDRAWN) {
            jobs[count++] = j;
        }
    }
    if (count > 0) {
        orr_sort_ids_by_i64(jobs, count, &states->end_ms, sizeof *states);
    }
    uint32_t *comers = by_submit(world, run);
    union job_value *values = orr_alloc(world->job_count + (size_t)1, sizeof *values);
    for (uint32_t e = 0; e <= count; e++) {
        const orr_ms until = e < count ? states[jobs[e]].end_ms : ORR_MS_NEVER;
        for (; next < world->job_count; next++) {
            const uint32_t j = comers != NULL ? comers[next] : next;
            if (orr_run_submit_ms(world, run, j) > until) {
                break;
            }
            crowd_join(world, run, crowds, j, values);
        }
        if (e < count) {
            const uint32_t j = jobs[e];
            struct crowd *crowd = &crowds[shard_of(world, j)];
            crowd_until(crowd, until);
            values[j].job_ms = crowd->job_ms - values[j].job_ms;
            crowd->now--;
        }
    }
    orr_free(jobs);
    orr_free(comers);
    return values;
}

/* How much all of a form asks, and how much there is for it, in one unit: mGPU, or mGPU x ms. */
struct part {
    double asked, has;
};

/* The queue's own when the job came: its quota or, without one, all of its shard. */
static struct part part_of_quota(const struct orr_presence *there, const struct orr_world *world,
                                 uint32_t job, orr_ms submit, orr_ms end)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const double asked = (double)world->shapes.shapes[spec->shape].gpus_mgpu;
    const double quota = orr_world_entitlement_at(world, spec->queue, ORR_SHARE_GPU, submit)->quota;
    if (quota >= 0.0) {
        return (struct part){asked, quota * ORR_MGPU};
    }
    return (struct part){asked * (double)(end - submit),
                         orr_presence_mgpu_ms(there, shard_of(world, job), submit, end)};
}

/* NAN: the form says nothing of the job. Each product below is of whole numbers and is rounded
 * once: a job that took just what a fair part would have let it take is 1, and not above. */
static double rho_of(const struct orr_world *world, const struct orr_presence *there,
                     const struct crowd *crowds, uint64_t job_ms, enum orr_ftf_form form,
                     uint32_t job)
{
    const struct orr_run *run = there->run;
    const uint32_t shard = shard_of(world, job);
    const orr_ms submit = orr_run_submit_ms(world, run, job);
    const orr_ms end = run->ledger->jobs[job].end_ms;
    const double took = (double)(end - submit), work = (double)world->specs[job].work_ms;
    struct part part;
    switch (form) {
    case ORR_FTF_QUOTA: part = part_of_quota(there, world, job, submit, end); break;
    case ORR_FTF_THEMIS:
        part = (struct part){(double)job_ms * ORR_MGPU,
                             orr_presence_mgpu_ms(there, shard, submit, end)};
        break;
    default:
        part.asked = (double)crowds[shard].total * (double)(run->end_ms - run->begin_ms) * ORR_MGPU;
        part.has = crowds[shard].has_mgpu_ms;
    }
    return part.has <= 0.0          ? (double)NAN
           : part.asked <= part.has ? took / work
                                    : took * part.has / (work * part.asked);
}

/* The values of a form take the place of the integrals, which only Themis' form looks at. */
static uint32_t rho_of_jobs(const struct orr_world *world, const struct orr_presence *there,
                            const struct orr_summary *summary, const struct crowd *crowds,
                            enum orr_ftf_form form, union job_value *values)
{
    const struct orr_run *run = there->run;
    uint32_t count = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (orr_summary__in_window(world, run, summary, j) &&
            world->specs[j].kind != ORR_KIND_INFERENCE &&
            run->ledger->jobs[j].phase == ORR_JOB_FINISHED && world->specs[j].work_ms > 0) {
            const double rho = rho_of(world, there, crowds, values[j].job_ms, form, j);
            values[count].rho = rho;
            count += isnan(rho) ? 0 : 1;
        }
    }
    return count;
}

void orr_summary__ftf(const struct orr_world *world, const struct orr_run *run,
                      struct orr_summary *summary)
{
    static const enum orr_ftf_form forms[] = {ORR_FTF_THEMIS, ORR_FTF_QUOTA, ORR_FTF_SHOCKWAVE};
    _Static_assert(sizeof forms / sizeof forms[0] == ORR_FTF_COUNT, "each form, Themis' first");
    struct crowd *crowds = orr_zalloc(run->fold.shard_count, sizeof *crowds);
    union job_value *values = crowd_job_ms(world, run, crowds);
    struct orr_presence there;
    orr_presence_open(world, run, &there);
    for (uint32_t s = 0; s < run->fold.shard_count; s++) {
        crowds[s].has_mgpu_ms = orr_presence_mgpu_ms(&there, s, run->begin_ms, run->end_ms);
    }
    for (uint32_t f = 0; f < ORR_FTF_COUNT; f++) {
        const uint32_t count = rho_of_jobs(world, &there, summary, crowds, forms[f], values);
        summary->ftf[forms[f]] = form_result(values, count);
    }
    orr_presence_close(&there);
    orr_free(values);
    orr_free(crowds);
}
