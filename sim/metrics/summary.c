/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "summary_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/sim/account.h>

#define MGPU_MS_PER_GPU_H 3.6e9
#define BSLD_TAU_MS       10000

/* 0 is of jobs without GPUs, and of those that ask GPU memory: the node says how many that is. */
static uint32_t size_class(int64_t mgpu)
{
    uint32_t class = mgpu > 0;
    for (int64_t top = ORR_MGPU; top < mgpu && class + 1 < ORR_SIZE_CLASSES; top *= 2) {
        class ++;
    }
    return class;
}

const char *orr_size_class_name(uint32_t class)
{
    static const char *const names[ORR_SIZE_CLASSES] = {
        "0",     "1",      "2",       "3-4",     "5-8",      "9-16", "17-32",
        "33-64", "65-128", "129-256", "257-512", "513-1024", ">1024"};
    return names[class];
}

struct tallies {
    struct orr_tally all;
    struct orr_tally *queues; /* queue * kinds + kind */
    bool *came;               /* the same: of these, jobs were submitted in the run */
    struct orr_tally kinds[ORR_KIND_COUNT];
    struct orr_tally sizes[ORR_SIZE_CLASSES];
    struct orr_tally *shards;
};

/* The groups one job belongs to. */
static uint32_t groups_of(const struct orr_world *world, struct tallies *t, uint32_t job,
                          struct orr_tally *groups[5])
{
    const struct orr_job_spec *spec = &world->specs[job];
    groups[0] = &t->queues[(size_t)spec->queue * ORR_KIND_COUNT + spec->kind];
    groups[1] = &t->kinds[spec->kind];
    groups[2] = &t->sizes[size_class(world->shapes.shapes[spec->shape].gpus_mgpu)];
    groups[3] = &t->all;
    groups[4] = &t->shards[orr_summary__shard_of(world, job)];
    return spec->kind == ORR_KIND_INFERENCE ? 2 : 5; /* services are never averaged with jobs */
}

static void tally_waits(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary, struct tallies *t)
{
    int64_t *keys = orr_alloc(world->job_count, sizeof *keys);
    uint32_t *jobs = orr_alloc(world->job_count, sizeof *jobs);
    uint32_t count = 0;
    struct orr_tally *groups[5];
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        const struct orr_job_spec *spec = &world->specs[j];
        if (state->phase != ORR_JOB_FUTURE) {
            t->came[(size_t)spec->queue * ORR_KIND_COUNT + spec->kind] = true;
        }
        if (orr_world_enter_ms(world, j) >= summary->window_start_ms &&
            orr_summary__is_never(run, j)) {
            for (uint32_t g = groups_of(world, t, j, groups); g-- > 0;) {
                groups[g]->waits.never++;
            }
            continue;
        }
        if (!orr_summary__in_window(world, run, summary, j)) {
            continue;
        }
        bool started = state->first_start_ms != ORR_MS_NONE;
        orr_ms until = started ? state->first_start_ms : orr_summary__seen_until(run, j);
        jobs[count++] = j;
        keys[j] = orr_tally__key(until - orr_run_eligible_ms(world, run, j), !started);
        for (uint32_t g = groups_of(world, t, j, groups); g-- > 0;) {
            groups[g]->jobs++;
            groups[g]->waits.gave_up += state->phase == ORR_JOB_WITHDRAWN;
        }
    }
    orr_sort_ids_by_i64(jobs, count, keys, sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t g = groups_of(world, t, jobs[i], groups); g-- > 0;) {
            orr_tally__take(groups[g], keys[jobs[i]]);
        }
    }
    orr_free(jobs);
    orr_free(keys);
}

static void sum_jobs(const struct orr_world *world, const struct orr_run *run,
                     struct orr_summary *summary)
{
    double bsld = 0.0;
    uint64_t ended = 0;
    orr_ms makespan = world->first_submit_ms;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        summary->shards[orr_summary__shard_of(world, j)].jobs++;
        summary->shards[orr_summary__shard_of(world, j)].evictions += state->evictions;
        summary->evictions += state->evictions;
        if (state->phase != ORR_JOB_FINISHED) {
            continue;
        }
        summary->finished++;
        summary->shards[orr_summary__shard_of(world, j)].finished++;
        makespan = state->end_ms > makespan ? state->end_ms : makespan;
        const struct orr_job_spec *spec = &world->specs[j];
        if (orr_world_enter_ms(world, j) < summary->window_start_ms ||
            spec->kind == ORR_KIND_INFERENCE) {
            continue;
        }
        double response = (double)(state->end_ms - orr_run_submit_ms(world, run, j));
        double service =
            (double)(spec->work_ms > BSLD_TAU_MS ? spec->work_ms : (orr_ms)BSLD_TAU_MS);
        bsld += response / service > 1.0 ? response / service : 1.0;
        ended++;
    }
    for (uint32_t t = 0; t < world->terms.count; t++) {
        summary->impatient = summary->impatient || world->terms.items[t].give_up_ms > 0;
    }
    summary->jobs = world->job_count;
    summary->unfinished = summary->jobs - summary->finished;
    summary->makespan_s = (double)makespan / 1000.0;
    summary->bsld_mean = ended > 0 ? bsld / (double)ended : (double)NAN;
    summary->ended = ended;
}

struct window { /* of one queue: the integrals inside the window */
    double allocated, share;
    struct orr_debt debt;
};

static struct window window_of(const struct orr_fold *fold, uint32_t queue)
{
    const struct orr_integrals *a = &fold->window_start[queue], *b = &fold->window_end[queue];
    double allocated = (double)(b->allocated - a->allocated);
    const orr_wide debt = b->debt - a->debt;
    const orr_wide impossible = b->debt_impossible - a->debt_impossible;
    const orr_wide down = b->debt_down - a->debt_down;
    return (struct window){
        .allocated = allocated,
        .share = allocated + (b->share_excess - a->share_excess),
        .debt = {.total = (double)debt / MGPU_MS_PER_GPU_H,
                 .impossible = (double)impossible / MGPU_MS_PER_GPU_H,
                 .down = (double)down / MGPU_MS_PER_GPU_H,
                 .blocked = (double)(debt - impossible - down) / MGPU_MS_PER_GPU_H}};
}

static int64_t lost_of(const struct orr_job_time *time)
{
    int64_t lost = 0;
    for (int c = 0; c < ORR_CAUSE_COUNT; c++) {
        lost += time->lost[c];
    }
    return lost;
}

static bool has_rates(const struct orr_run *run)
{
    uint32_t count = 0;
    (void)(run->exec == NULL ? NULL : orr_exec_speeds(run->exec, &count));
    return count > 0;
}

/* Which evictions of some pods begin that of the whole job, as where a gang loses a node and what
 * is left of it goes for the same cause at the same instant? Such a job did not go on. One walk
 * back in time finds all of them: `whole` has the first eviction of each whole job after it. Caller
 * frees. */
static bool *find_begun(const struct orr_run *run, uint32_t *whole)
{
    bool *begun = orr_zalloc(run->eviction_count + (size_t)1, sizeof *begun);
    for (uint32_t i = run->eviction_count; i-- > 0;) {
        const struct orr_eviction *e = &run->evictions[i];
        if (e->whole) {
            whole[e->job] = i;
        } else if (whole[e->job] != ORR_NONE) {
            const struct orr_eviction *next = &run->evictions[whole[e->job]];
            begun[i] = next->at_ms == e->at_ms && next->cause == e->cause;
        }
    }
    return begun;
}

static uint32_t *none_by_job(const struct orr_world *world)
{
    uint32_t *by_job = orr_alloc(world->job_count + (size_t)1, sizeof *by_job);
    for (uint32_t j = 0; j < world->job_count; j++) {
        by_job[j] = ORR_NONE;
    }
    return by_job;
}

/* Evictions of some pods of jobs that went on. What a job loses at one instant for one cause and
 * one other job is one eviction, on however many nodes: those of a rack go one after the other. */
static uint64_t count_partial(const struct orr_world *world, const struct orr_run *run)
{
    if (run->eviction_count == 0) {
        return 0;
    }
    uint32_t *whole = none_by_job(world), *last = none_by_job(world);
    bool *begun = find_begun(run, whole);
    uint64_t count = 0;
    for (uint32_t i = 0; i < run->eviction_count; i++) {
        const struct orr_eviction *e = &run->evictions[i];
        if (e->whole || begun[i]) {
            continue;
        }
        const struct orr_eviction *before =
            last[e->job] == ORR_NONE ? NULL : &run->evictions[last[e->job]];
        count += before == NULL || before->at_ms != e->at_ms || before->cause != e->cause ||
                 before->beneficiary != e->beneficiary;
        last[e->job] = i;
    }
    orr_free(begun);
    orr_free(whole);
    orr_free(last);
    return count;
}

/* What was held without getting anywhere: of all jobs, by cause, and of each queue and kind. */
static void sum_lost(const struct orr_world *world, const struct orr_run *run,
                     struct orr_summary *summary, double *lost_gpu_h, uint64_t *evictions)
{
    summary->has_rates = has_rates(run);
    summary->may_idle = orr_account_may_idle(world);
    for (uint32_t j = 0; j < world->job_count && (run->exec != NULL || run->times != NULL); j++) {
        const struct orr_job_time *time = orr_account_of(run, j);
        const struct orr_job_spec *spec = &world->specs[j];
        for (int c = 0; c < ORR_CAUSE_COUNT; c++) {
            summary->lost_by_gpu_h[c] += (double)time->lost[c] / MGPU_MS_PER_GPU_H;
        }
        double lost = (double)lost_of(time) / MGPU_MS_PER_GPU_H;
        lost_gpu_h[(size_t)spec->queue * ORR_KIND_COUNT + spec->kind] += lost;
        summary->lost_gpu_h += lost;
        summary->shards[orr_summary__shard_of(world, j)].lost_gpu_h += lost;
        summary->checkpoint_gpu_h += (double)time->checkpoint / MGPU_MS_PER_GPU_H;
        summary->restart_gpu_h += (double)time->restart / MGPU_MS_PER_GPU_H;
        summary->gang_wait_gpu_h += (double)time->waiting / MGPU_MS_PER_GPU_H;
        summary->slow_gpu_h += (double)time->slow / MGPU_MS_PER_GPU_H;
        summary->idle_gpu_h += (double)time->idle / MGPU_MS_PER_GPU_H;
    }
    summary->partial_evictions = count_partial(world, run);
    for (uint32_t i = 0; i < run->suspension_count; i++) {
        const struct orr_suspension *s = &run->suspensions[i];
        const orr_ms to = s->to_ms == ORR_MS_NEVER ? run->end_ms : s->to_ms;
        summary->suspensions++;
        summary->suspended_h += (double)(to - s->from_ms) / 3.6e6;
    }
    for (uint32_t i = 0; i < run->eviction_count; i++) {
        const struct orr_eviction *e = &run->evictions[i];
        const struct orr_job_spec *spec = &world->specs[e->job];
        evictions[(size_t)spec->queue * ORR_KIND_COUNT + spec->kind] += e->whole;
        summary->wasted_evictions += e->beneficiary != ORR_NONE && !e->used && !e->undecided;
    }
}

/* What jobs of each queue and kind held in the window, those that came before it too, mGPU x ms. */
static void sum_held(const struct orr_world *world, const struct orr_run *run,
                     const struct orr_summary *summary, orr_wide *held)
{
    for (uint32_t p = 0; p < run->ledger->placement_count; p++) {
        const struct orr_placement *placement = &run->ledger->placements[p];
        const struct orr_job_spec *spec = &world->specs[placement->job];
        held[(size_t)spec->queue * ORR_KIND_COUNT + spec->kind] +=
            orr_placement_held(run, placement, summary->window_start_ms, summary->window_end_ms);
    }
}

struct fairness { /* of the queues of one shard, or of all */
    struct orr_debt debt;
    double jain, satisfaction, deviation, capacity_gpu_h, available, occupancy, goodput;
    double there;             /* mGPU x ms that were available */
    uint32_t leaves, wanting; /* queues; those that were entitled to something */
};

/* Shares are sums of products of large numbers: what is left of a difference that is nothing by
 * rights, less than a milli-GPU for a millisecond or a billionth of what was held, entitles to
 * nothing. */
static bool is_entitled(double allocated, double share)
{
    return share > 1.0 && share > 1e-9 * allocated;
}

/* ORR_NONE: all shards. `vain`: what they held without using it, mGPU x ms. */
static struct fairness fairness_of(const struct orr_world *world, const struct orr_run *run,
                                   const struct orr_summary *summary, uint32_t shard, double vain)
{
    double sum = 0.0, squares = 0.0, sat = 0.0, sat_squares = 0.0, held = 0.0;
    struct fairness f = {0};
    for (uint32_t q = 0; q < world->queues.count; q++) {
        const struct orr_queue *queue = &world->queues.queues[q];
        if (queue->child_count > 0 || (shard != ORR_NONE && queue->shard != shard)) {
            continue;
        }
        struct window w = window_of(&run->fold, q);
        f.leaves++;
        held += w.allocated;
        f.debt.total += w.debt.total;
        f.debt.impossible += w.debt.impossible;
        f.debt.down += w.debt.down;
        f.debt.blocked += w.debt.blocked;
        if (is_entitled(w.allocated, w.share)) {
            double x = w.allocated / w.share;
            double capped = x < 1.0 ? x : 1.0;
            sum += x;
            squares += x * x;
            sat += capped;
            sat_squares += capped * capped;
            f.wanting++;
        }
    }
    const struct orr_fold *fold = &run->fold;
    double span = (double)(summary->window_end_ms - summary->window_start_ms);
    double most =
        (double)(shard == ORR_NONE ? fold->capacity_mgpu : fold->shard_capacity_mgpu[shard]);
    const struct orr_stretch window = {summary->window_start_ms, summary->window_end_ms};
    double capacity = span * most - orr_summary__out(world, run, window, shard, true);
    double available = capacity - orr_summary__out(world, run, window, shard, false);
    double deviation =
        shard == ORR_NONE ? fold->deviation_end - fold->deviation_start
                          : fold->shards[shard].deviation_end - fold->shards[shard].deviation_start;
    f.jain = squares > 0.0 ? sum * sum / (f.wanting * squares) : (double)NAN;
    f.satisfaction = sat_squares > 0.0 ? sat * sat / (f.wanting * sat_squares) : (double)NAN;
    f.deviation = available > 0.0 ? deviation / (2.0 * available) : (double)NAN;
    f.there = available;
    f.capacity_gpu_h = capacity / MGPU_MS_PER_GPU_H;
    f.available = capacity > 0.0 ? available / capacity : (double)NAN;
    f.occupancy = available > 0.0 ? held / available : (double)NAN;
    f.goodput = available > 0.0 ? (held - vain) / available : (double)NAN;
    return f;
}

static void sum_fairness(const struct orr_world *world, const struct orr_run *run,
                         struct orr_summary *summary)
{
    const struct orr_stretch window = {summary->window_start_ms, summary->window_end_ms};
    double *vain = orr_zalloc(summary->shard_count, sizeof *vain);
    struct fairness f =
        fairness_of(world, run, summary, ORR_NONE, orr_summary__vain(world, run, window, vain));
    summary->fairness_jain = f.jain;
    summary->fairness_satisfaction = f.satisfaction;
    summary->share_deviation = f.deviation;
    summary->debt = f.debt;
    summary->gpu_available = f.available;
    summary->capacity_gpu_h = f.capacity_gpu_h;
    summary->leaf_queues = f.leaves;
    summary->wanting_queues = f.wanting;
    summary->gpu_occupancy = f.occupancy;
    summary->gpu_goodput = f.goodput;
    for (uint32_t s = 0; s < summary->shard_count; s++) {
        struct orr_shard_summary *shard = &summary->shards[s];
        f = fairness_of(world, run, summary, s, vain[s]);
        shard->gpus = run->ledger->shards[s].most_gpus;
        shard->fairness_jain = f.jain;
        shard->share_deviation = f.deviation;
        shard->debt = f.debt;
        shard->leaf_queues = f.leaves;
        shard->wanting_queues = f.wanting;
        shard->gpu_occupancy = f.occupancy;
        shard->gpu_goodput = f.goodput;
        shard->available[ORR_SHARE_GPU] = f.there;
    }
    orr_free(vain);
}

/* A row for each kind of which jobs of the queue came in the run, in the window or before it: what
 * the queue held, lost and lacked of its quota is then in some row. */
static void list_queues(const struct orr_world *world, const struct orr_run *run,
                        struct orr_summary *summary, struct tallies *t, const double *lost_gpu_h,
                        const uint64_t *evictions)
{
    size_t groups = (size_t)world->queues.count * ORR_KIND_COUNT;
    double span = (double)(summary->window_end_ms - summary->window_start_ms);
    orr_wide *held = orr_zalloc(groups, sizeof *held);
    sum_held(world, run, summary, held);
    summary->queues = orr_zalloc(groups, sizeof *summary->queues);
    for (size_t g = 0; g < groups; g++) {
        uint32_t queue = (uint32_t)(g / ORR_KIND_COUNT);
        if (!t->came[g] && t->queues[g].waits.never == 0) {
            continue;
        }
        struct window w = window_of(&run->fold, queue);
        summary->queues[summary->queue_count++] = (struct orr_queue_summary){
            .queue = queue,
            .kind = (uint8_t)(g % ORR_KIND_COUNT),
            .waits = orr_tally__result(&t->queues[g]),
            .gpu_h = (double)held[g] / MGPU_MS_PER_GPU_H,
            .share_mean = span > 0.0 ? w.share / span / ORR_MGPU : (double)NAN,
            .debt = w.debt,
            .evictions = evictions[g],
            .lost_gpu_h = lost_gpu_h[g]};
    }
    orr_free(held);
}

static void sum_scheduler(const struct orr_world *world, const struct orr_run *run,
                          struct orr_summary *summary)
{
    orr_ms span = run->end_ms - world->begin_ms;
    summary->latent = !orr_latency_is_ideal(&run->latency);
    summary->scheduler = run->scheduler;
    memcpy(summary->costs, run->costs, sizeof summary->costs);
    summary->cost_count = run->cost_count;
    summary->cycles = run->cycles;
    summary->scheduler_busy =
        span > 0 ? (double)run->scheduler.busy_ms / (double)span : (double)NAN;
}

static double touched_part(const struct orr_summary *summary)
{
    double span = (double)(summary->window_end_ms - summary->window_start_ms), available = 0.0;
    for (uint32_t s = 0; s < summary->shard_count; s++) {
        available += summary->shards[s].available[ORR_SHARE_GPU];
    }
    const double touched = summary->room.touched_gpus_mean * ORR_MGPU * span;
    return available > 0.0 ? (touched + summary->mig_held_mgpu_ms) / available : (double)NAN;
}

/* What the other files of this room fill in, in an order in which each finds what it needs. */
typedef void summary_step(const struct orr_world *world, const struct orr_run *run,
                          struct orr_summary *summary);
static summary_step *const steps[] = {
    orr_summary__attain, orr_summary__deadlines, orr_summary__finish, orr_summary__extents,
    orr_summary__speeds, orr_summary__occupied,  orr_summary__ftf,    orr_summary__owners,
    orr_summary__nodes,  orr_summary__ties,      orr_summary__pools,  orr_summary__energy,
    orr_summary__sweep,
};

/* Each step walks over all jobs or placements, which takes a second where there are millions. */
static bool take_steps(const struct orr_world *world, const struct orr_run *run,
                       const volatile sig_atomic_t *interrupted, struct orr_summary *summary)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (interrupted != NULL && *interrupted) {
            return false;
        }
        steps[i](world, run, summary);
    }
    return interrupted == NULL || !*interrupted;
}

bool orr_summary_make(const struct orr_world *world, const struct orr_run *run,
                      const volatile sig_atomic_t *interrupted, struct orr_summary *summary)
{
    size_t groups = (size_t)world->queues.count * ORR_KIND_COUNT;
    struct tallies t = {0};
    t.queues = orr_zalloc(groups, sizeof *t.queues);
    t.came = orr_zalloc(groups, sizeof *t.came);
    double *lost = orr_zalloc(groups, sizeof *lost);
    uint64_t *evictions = orr_zalloc(groups, sizeof *evictions);
    *summary = (struct orr_summary){.window_start_ms = run->fold.window_start_ms,
                                    .window_end_ms = run->fold.window_end_ms,
                                    .shard_count = run->fold.shard_count,
                                    .has_nevers = run->never_count > 0,
                                    .resized = world->resize_count > 0 || run->autoscaled};
    summary->shards = orr_zalloc(summary->shard_count, sizeof *summary->shards);
    t.shards = orr_zalloc(summary->shard_count, sizeof *t.shards);
    for (uint32_t i = 0; i < world->ruled_count; i++) {
        summary->ruled[world->ruled[i].rule]++;
    }
    for (uint32_t i = 0; i < run->ruled_count; i++) {
        summary->ruled[run->ruled[i].rule]++;
    }
    tally_waits(world, run, summary, &t);
    sum_jobs(world, run, summary);
    sum_lost(world, run, summary, lost, evictions);
    sum_fairness(world, run, summary);
    orr_summary__phases(world, run, summary);
    list_queues(world, run, summary, &t, lost, evictions);
    const bool whole = take_steps(world, run, interrupted, summary);
    summary->gpu_touched = touched_part(summary);
    sum_scheduler(world, run, summary);
    summary->waits = orr_tally__result(&t.all);
    for (uint32_t k = 0; k < ORR_KIND_COUNT; k++) {
        summary->kinds[k] = orr_tally__result(&t.kinds[k]);
    }
    for (uint32_t s = 0; s < ORR_SIZE_CLASSES; s++) {
        summary->sizes[s] = orr_tally__result(&t.sizes[s]);
    }
    for (uint32_t s = 0; s < summary->shard_count; s++) {
        summary->shards[s].waits = orr_tally__result(&t.shards[s]);
    }
    orr_free(t.shards);
    orr_free(t.queues);
    orr_free(t.came);
    orr_free(lost);
    orr_free(evictions);
    if (!whole) {
        orr_summary_release(summary);
    }
    return whole;
}

void orr_summary_release(struct orr_summary *summary)
{
    orr_free(summary->queues);
    orr_free(summary->shards);
    orr_free(summary->parts);
    orr_free(summary->extents.of_extent);
    orr_free(summary->own_shares.of_shard);
    orr_free(summary->own_shares.known);
    orr_free(summary->own_shares.mean_gpus);
    orr_free(summary->own_shares.bucket_mgpu_ms);
    orr_free(summary->room.window);
    orr_free(summary->room.buckets);
    orr_free(summary->room.gangs);
    orr_free(summary->pools);
    *summary = (struct orr_summary){0};
}
