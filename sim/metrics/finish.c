/* SPDX-License-Identifier: GPL-3.0-or-later */
/* finish.c - how long jobs took, beside what they work; what evictions made of it. */
#include <math.h>

#include <orrery/base/sort.h>
#include <orrery/sim/account.h>

#include "summary_int.h"

#define MGPU_MS_PER_GPU_H 3.6e9
#define MS_PER_H          3.6e6
#define BSLD_TAU_MS       10000
#define BSLD60_TAU_MS     60000
#define PING_PONG_MS      3600000

static double slowdown(double took, double work, double bound)
{
    double slow = took / (work > bound ? work : bound);
    return slow > 1.0 ? slow : 1.0;
}

/* Times to the end, of all, of each kind and of each queue and kind that the summary lists. */
struct jcts {
    int64_t *keys;
    uint32_t *jobs, count; /* in the order of their keys behind tally_jcts */
};

static void tally_jcts(const struct orr_world *world, const struct jcts *jcts,
                       struct orr_summary *summary)
{
    struct orr_tally *queues = orr_zalloc(summary->queue_count + (size_t)1, sizeof *queues);
    struct orr_tally kinds[ORR_KIND_COUNT] = {0}, all = {.jobs = jcts->count};
    uint32_t *place = orr_alloc((size_t)world->queues.count * ORR_KIND_COUNT, sizeof *place);
    for (uint32_t i = 0; i < summary->queue_count; i++) {
        const struct orr_queue_summary *q = &summary->queues[i];
        place[(size_t)q->queue * ORR_KIND_COUNT + q->kind] = i;
    }
    for (uint32_t i = 0; i < jcts->count; i++) {
        const struct orr_job_spec *spec = &world->specs[jcts->jobs[i]];
        queues[place[(size_t)spec->queue * ORR_KIND_COUNT + spec->kind]].jobs++;
        kinds[spec->kind].jobs++;
    }
    orr_sort_ids_by_i64(jcts->jobs, jcts->count, jcts->keys, sizeof *jcts->keys);
    for (uint32_t i = 0; i < jcts->count; i++) {
        const uint32_t ahead = i + 16; /* in this order specs lie all over */
        __builtin_prefetch(&world->specs[ahead < jcts->count ? jcts->jobs[ahead] : 0]);
        const struct orr_job_spec *spec = &world->specs[jcts->jobs[i]];
        const int64_t key = jcts->keys[jcts->jobs[i]];
        struct orr_tally *groups[] = {
            &all, &kinds[spec->kind],
            &queues[place[(size_t)spec->queue * ORR_KIND_COUNT + spec->kind]]};
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
            orr_tally__take(groups[g], key);
        }
    }
    summary->finish.jct = orr_tally__result(&all);
    for (uint32_t k = 0; k < ORR_KIND_COUNT; k++) {
        summary->kind_jcts[k] = orr_tally__result(&kinds[k]);
    }
    for (uint32_t i = 0; i < summary->queue_count; i++) {
        summary->queues[i].jct = orr_tally__result(&queues[i]);
    }
    orr_free(place);
    orr_free(queues);
}

static void sum_finish(const struct orr_world *world, const struct orr_run *run,
                       struct orr_summary *summary)
{
    struct orr_finish *finish = &summary->finish;
    struct jcts jcts = {.keys = orr_alloc(world->job_count + (size_t)1, sizeof *jcts.keys),
                        .jobs = orr_alloc(world->job_count + (size_t)1, sizeof *jcts.jobs)};
    double bsld = 0.0, per_gpu = 0.0, waited = 0.0, weights = 0.0;
    double of_kind[ORR_KIND_COUNT] = {0.0}, of_kind60[ORR_KIND_COUNT] = {0.0};
    uint32_t ended = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        const struct orr_job_spec *spec = &world->specs[j];
        if (!orr_summary__in_window(world, run, summary, j) || spec->kind == ORR_KIND_INFERENCE ||
            orr_summary__is_never(run, j)) {
            continue;
        }
        double mgpu = (double)world->shapes.shapes[spec->shape].gpus_mgpu;
        if (state->first_start_ms != ORR_MS_NONE) {
            orr_ms wait = state->first_start_ms - orr_run_eligible_ms(world, run, j);
            waited += (double)wait / 1000.0 * mgpu;
            weights += mgpu;
        }
        const bool over = state->phase == ORR_JOB_FINISHED;
        const orr_ms until = over ? state->end_ms : orr_summary__seen_until(run, j);
        const orr_ms submit = orr_run_submit_ms(world, run, j);
        jcts.jobs[jcts.count++] = j;
        jcts.keys[j] = orr_tally__key(until - submit, !over);
        if (!over) {
            continue;
        }
        double took = (double)(state->end_ms - submit), work = (double)spec->work_ms;
        double gpus = mgpu > ORR_MGPU ? mgpu / ORR_MGPU : 1.0;
        bsld += slowdown(took, work, BSLD60_TAU_MS);
        of_kind[spec->kind] += slowdown(took, work, BSLD_TAU_MS);
        of_kind60[spec->kind] += slowdown(took, work, BSLD60_TAU_MS);
        per_gpu += slowdown(took / gpus, work, BSLD_TAU_MS);
        ended++;
    }
    tally_jcts(world, &jcts, summary);
    for (uint32_t k = 0; k < ORR_KIND_COUNT; k++) {
        const double jobs = (double)summary->kind_jcts[k].started;
        summary->kind_bsld[k] = jobs > 0.0 ? of_kind[k] / jobs : (double)NAN;
        summary->kind_bsld60[k] = jobs > 0.0 ? of_kind60[k] / jobs : (double)NAN;
    }
    finish->bsld60_mean = ended > 0 ? bsld / (double)ended : (double)NAN;
    finish->bsld_per_gpu_mean = ended > 0 ? per_gpu / (double)ended : (double)NAN;
    finish->wait_gpu_weighted_s = weights > 0.0 ? waited / weights : (double)NAN;
    orr_free(jcts.jobs);
    orr_free(jcts.keys);
}

void orr_summary__stalls(const struct orr_world *world, const struct orr_run *run,
                         orr_stall_fn *each, void *context)
{
    if (run->attempt_count == 0) {
        return;
    }
    orr_ms *next = orr_alloc(world->job_count + (size_t)1, sizeof *next);
    uint32_t *left = orr_zalloc(world->job_count + (size_t)1, sizeof *left);
    for (uint32_t a = 0; a < run->attempt_count; a++) {
        left[run->attempts[a].job]++;
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        /* one more than was cut short: it runs, or ran */
        const struct orr_job_state *state = &run->ledger->jobs[j];
        next[j] = state->attempts > left[j] ? state->start_ms : run->end_ms;
    }
    for (uint32_t a = run->attempt_count; a-- > 0;) {
        const struct orr_attempt *attempt = &run->attempts[a];
        each(world, attempt->job, attempt->end_ms, next[attempt->job], context);
        next[attempt->job] = attempt->start_ms;
    }
    orr_free(left);
    orr_free(next);
}

/* By the work that jobs state, so that slow GPUs count as such; services state none. */
static void sum_throughput(const struct orr_world *world, const struct orr_run *run,
                           struct orr_summary *summary)
{
    double span = (double)(summary->window_end_ms - summary->window_start_ms), done = 0.0;
    uint64_t ended = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        const struct orr_job_spec *spec = &world->specs[j];
        if (state->phase == ORR_JOB_FINISHED && spec->kind != ORR_KIND_INFERENCE &&
            state->end_ms > summary->window_start_ms && state->end_ms <= summary->window_end_ms) {
            done += (double)world->shapes.shapes[spec->shape].gpus_mgpu / ORR_MGPU *
                    (double)spec->work_ms;
            ended++;
        }
    }
    summary->finish.ended_in_window = ended;
    summary->finish.throughput_gpus = span > 0.0 ? done / span : (double)NAN;
}

struct stall { /* of a queue and kind */
    int64_t ms;
    uint64_t attempts;
};

static void add_stall(const struct orr_world *world, uint32_t job, orr_ms from_ms, orr_ms to_ms,
                      void *context)
{
    const struct orr_job_spec *spec = &world->specs[job];
    struct stall *of = context; /* queue * kinds + kind */
    of[(size_t)spec->queue * ORR_KIND_COUNT + spec->kind].ms += to_ms - from_ms;
    of[(size_t)spec->queue * ORR_KIND_COUNT + spec->kind].attempts++;
}

static struct orr_stalls stalls_of(const struct stall *stall)
{
    return (struct orr_stalls){.h = (double)stall->ms / MS_PER_H, .attempts = stall->attempts};
}

static void sum_stalls(const struct orr_world *world, const struct orr_run *run,
                       struct orr_summary *summary)
{
    const size_t groups = (size_t)world->queues.count * ORR_KIND_COUNT;
    struct stall *of = orr_zalloc(groups, sizeof *of);
    struct stall kinds[ORR_KIND_COUNT] = {0}, all = {0};
    orr_summary__stalls(world, run, add_stall, of);
    for (size_t g = 0; g < groups; g++) {
        kinds[g % ORR_KIND_COUNT].ms += of[g].ms;
        kinds[g % ORR_KIND_COUNT].attempts += of[g].attempts;
        all.ms += of[g].ms;
        all.attempts += of[g].attempts;
    }
    for (uint32_t i = 0; i < summary->queue_count; i++) {
        struct orr_queue_summary *q = &summary->queues[i];
        q->stalls = stalls_of(&of[(size_t)q->queue * ORR_KIND_COUNT + q->kind]);
    }
    for (uint32_t k = 0; k < ORR_KIND_COUNT; k++) {
        summary->kind_stalls[k] = stalls_of(&kinds[k]);
    }
    summary->finish.stalls = stalls_of(&all);
    orr_free(of);
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
}

void orr_summary__finish(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary)
{
    sum_finish(world, run, summary);
    sum_throughput(world, run, summary);
    sum_churn(world, run, summary);
    sum_stalls(world, run, summary);
}
