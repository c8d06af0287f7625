/* SPDX-License-Identifier: GPL-3.0-or-later */
/* finish.c - how long jobs took, beside what they would have taken; what evictions made of it. */
#include <math.h>

#include <orrery/base/sort.h>
#include <orrery/sim/account.h>

#include "summary_int.h"

#define MGPU_MS_PER_GPU_H 3.6e9
#define MS_PER_H          3.6e6
#define BSLD60_TAU_MS     60000
#define PING_PONG_MS      3600000

/* Nearest rank of values in ascending order. */
static uint32_t rank_of(double share, uint32_t count)
{
    double rank = ceil(share * (double)count);
    return rank < 1.0 ? 0 : (uint32_t)rank - 1;
}

/* GPUs of the queue's own: its quota, without one all GPUs of its shard. 0: none. */
static double own_mgpu(const struct orr_world *world, const struct orr_run *run, uint32_t queue)
{
    const struct orr_queue *q = &world->queues.queues[queue];
    double quota = q->resources[ORR_SHARE_GPU].quota;
    return quota < 0.0 ? (double)run->fold.shard_capacity_mgpu[q->shard] : quota * ORR_MGPU;
}

static int by_value(const void *a, const void *b, void *context)
{
    const double *x = a, *y = b;
    (void)context;
    return (*x > *y) - (*x < *y);
}

static void set_quantiles(struct orr_finish *finish, int64_t *jct_ms, uint32_t jobs, double *rho,
                          uint32_t rhos)
{
    double *const quantiles[] = {&finish->jct_p50_s, &finish->jct_p95_s, &finish->jct_p99_s};
    static const double shares[] = {0.50, 0.95, 0.99};
    orr_sort_i64(jct_ms, jobs);
    orr_sort(rho, rhos, sizeof *rho, by_value, NULL);
    for (int i = 0; i < 3; i++) {
        *quantiles[i] = jobs > 0 ? (double)jct_ms[rank_of(shares[i], jobs)] / 1000.0 : (double)NAN;
    }
    finish->ftf_jobs = rhos;
    finish->ftf_max = rhos > 0 ? rho[rhos - 1] : (double)NAN;
    finish->ftf_p95 = rhos > 0 ? rho[rank_of(0.95, rhos)] : (double)NAN;
    uint32_t above = 0;
    for (uint32_t i = 0; i < rhos; i++) {
        above += rho[i] > 1.0;
    }
    finish->ftf_above = rhos > 0 ? (double)above / (double)rhos : (double)NAN;
}

static void sum_finish(const struct orr_world *world, const struct orr_run *run,
                       struct orr_summary *summary)
{
    struct orr_finish *finish = &summary->finish;
    int64_t *jct_ms = orr_alloc(world->job_count + (size_t)1, sizeof *jct_ms);
    double *rho = orr_alloc(world->job_count + (size_t)1, sizeof *rho);
    double bsld = 0.0, waited = 0.0, weights = 0.0;
    uint32_t jobs = 0, rhos = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        const struct orr_job_spec *spec = &world->specs[j];
        if (spec->submit_ms < summary->window_start_ms || spec->kind == ORR_KIND_INFERENCE ||
            state->phase == ORR_JOB_FUTURE) {
            continue;
        }
        double mgpu = (double)world->shapes.shapes[spec->shape].gpus_mgpu;
        if (state->first_start_ms != ORR_MS_NONE) {
            orr_ms wait = state->first_start_ms - orr_run_eligible_ms(world, run, j);
            waited += (double)wait / 1000.0 * mgpu;
            weights += mgpu;
        }
        if (state->phase != ORR_JOB_FINISHED) {
            continue;
        }
        double took = (double)(state->end_ms - spec->submit_ms), work = (double)spec->work_ms;
        double own = own_mgpu(world, run, spec->queue);
        double slow = took / (work > BSLD60_TAU_MS ? work : BSLD60_TAU_MS);
        bsld += slow > 1.0 ? slow : 1.0;
        jct_ms[jobs++] = state->end_ms - spec->submit_ms;
        if (own > 0.0 && work > 0.0) {
            rho[rhos++] = took / (work * (mgpu > own ? mgpu / own : 1.0));
        }
    }
    finish->bsld60_mean = jobs > 0 ? bsld / (double)jobs : (double)NAN;
    finish->wait_gpu_weighted_s = weights > 0.0 ? waited / weights : (double)NAN;
    set_quantiles(finish, jct_ms, jobs, rho, rhos);
    orr_free(jct_ms);
    orr_free(rho);
}

/* Attempts that were cut short, from their end to the job's next start. */
static double stall_ms(const struct orr_world *world, const struct orr_run *run)
{
    double stall = 0.0;
    orr_ms *next = orr_alloc(world->job_count + (size_t)1, sizeof *next);
    uint32_t *left = orr_zalloc(world->job_count + (size_t)1, sizeof *left);
    for (uint32_t a = 0; a < run->attempt_count; a++) {
        left[run->attempts[a].job]++;
    }
    for (uint32_t j = 0; j < world->job_count;
         j++) { /* one more than was cut short: it runs, or ran */
        const struct orr_job_state *state = &run->ledger->jobs[j];
        next[j] = state->attempts > left[j] ? state->start_ms : run->end_ms;
    }
    for (uint32_t a = run->attempt_count; a-- > 0;) {
        const struct orr_attempt *attempt = &run->attempts[a];
        stall += (double)(next[attempt->job] - attempt->end_ms);
        next[attempt->job] = attempt->start_ms;
    }
    orr_free(left);
    orr_free(next);
    return stall;
}

static void sum_churn(const struct orr_world *world, const struct orr_run *run,
                      struct orr_summary *summary)
{
    const struct orr_ledger *ledger = run->ledger;
    double held = 0.0;
    uint64_t whole = 0;
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        held += (double)orr_placement_held(run, placement, placement->since_ms, ORR_MS_NEVER);
    }
    orr_ms *last = orr_alloc(world->job_count + (size_t)1, sizeof *last);
    for (uint32_t j = 0; j < world->job_count; j++) {
        last[j] = ORR_MS_NONE;
    }
    for (uint32_t i = 0; i < run->eviction_count; i++) {
        const struct orr_eviction *e = &run->evictions[i];
        if (e->whole) {
            summary->finish.ping_pong +=
                last[e->job] != ORR_MS_NONE && e->at_ms - last[e->job] <= PING_PONG_MS;
            last[e->job] = e->at_ms;
            whole++;
        }
    }
    orr_free(last);
    summary->finish.evictions_per_1000_gpu_h =
        held > 0.0 ? (double)whole * 1000.0 / (held / MGPU_MS_PER_GPU_H) : (double)NAN;
    summary->finish.cut_short = run->attempt_count;
    summary->finish.stall_h = stall_ms(world, run) / MS_PER_H;
}

void orr_summary__finish(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary)
{
    sum_finish(world, run, summary);
    sum_churn(world, run, summary);
}
