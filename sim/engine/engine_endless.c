/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_endless.c - a run without a horizon that does not come to an end: when it is one, and what
 * keeps it from ending. */
#include "engine_int.h"

#include <stdio.h>

#include <orrery/base/text.h>
#include <orrery/sim/account.h>
#include <orrery/sim/never.h>

/* Far more than any run that ends has between two ends of jobs. */
#define SETBACKS          1000000
#define SETBACKS_OF_EACH  100 /* jobs and nodes */
/* Of evictions alone: so many in which nobody got on, and then as many again. */
#define EVICTIONS         10000
#define EVICTIONS_OF_EACH 10
/* Of cycles that nothing but the policy's own wish brought about: far more than what it forgets or
 * waits for in a while has. Of nodes that pools get and give back while nobody runs, as many. */
#define CYCLES            100000

static uint64_t parties_of(const struct orr_world *world)
{
    return (uint64_t)world->job_count + world->cluster.node_count;
}

uint64_t orr_engine_setbacks(const struct orr_world *world)
{
    return SETBACKS + SETBACKS_OF_EACH * parties_of(world);
}

/* Work that nobody takes from the jobs any more. */
static uint64_t kept_work(const struct engine *engine)
{
    uint64_t sum = 0;
    for (uint32_t j = 0; engine->exec != NULL && j < engine->world->job_count; j++) {
        sum += (uint64_t)orr_exec_time(engine->exec, j)->useful;
    }
    return sum;
}

void orr_engine__begin_anew(struct engine *engine)
{
    engine->endless = (struct engine_endless){.setbacks = orr_engine__setbacks(engine->run),
                                              .first = engine->run->eviction_count,
                                              .from = engine->run->eviction_count};
    engine->recur.watches = false;
}

static void count_causes(const struct orr_run *run, uint32_t from, uint32_t counts[ORR_CAUSE_COUNT])
{
    for (uint32_t i = from; i < run->eviction_count; i++) {
        counts[run->evictions[i].cause]++;
    }
}

/* Were most of the evictions by the scheduler's choice or a rule? Failures are by chance. */
static bool were_decided(const struct orr_run *run, uint32_t from)
{
    uint32_t counts[ORR_CAUSE_COUNT] = {0};
    count_causes(run, from, counts);
    return counts[ORR_CAUSE_PREEMPT] + counts[ORR_CAUSE_RECLAIM] + counts[ORR_CAUSE_CONSOLIDATE] +
               counts[ORR_CAUSE_MAX_RUNTIME] + counts[ORR_CAUSE_PODS_NOT_READY] >
           (run->eviction_count - from) / 2;
}

/* Does some job run on from before? It gets to its end. */
static bool somebody_runs_on(const struct engine *engine, orr_ms since)
{
    const struct orr_job_state *jobs = engine->ledger->jobs;
    for (uint32_t j = 0; j < engine->world->job_count; j++) {
        if (jobs[j].phase == ORR_JOB_RUNNING && jobs[j].start_ms <= since) {
            return true;
        }
    }
    return false;
}

/* Jobs only evict each other, or are evicted by a rule before anything of their work is kept. */
static bool goes_round(struct engine *engine, uint64_t parties)
{
    struct engine_endless *endless = &engine->endless;
    const struct orr_run *run = engine->run;
    if (run->eviction_count - endless->from <= EVICTIONS + EVICTIONS_OF_EACH * parties) {
        return false;
    }
    const uint64_t kept = kept_work(engine);
    const bool round = endless->looked && kept == endless->kept &&
                       !somebody_runs_on(engine, endless->since_ms) &&
                       were_decided(run, endless->from);
    if (!round) {
        endless->looked = true;
        endless->kept = kept;
        endless->since_ms = engine->view.now;
        endless->from = run->eviction_count;
    }
    return round;
}

/* Nobody runs, or nobody who runs gets on; nothing will happen any more, and the policy tries again
 * and again. */
static bool tries_in_vain(const struct engine *engine)
{
    return engine->endless.vain > CYCLES && engine->next_arrival == engine->world->job_count &&
           engine->heap.count == 0 && engine->queue_change_ms == ORR_MS_NEVER &&
           engine->look_ms == ORR_MS_NEVER;
}

/* Nobody runs or is to come, and pools get nodes that help none of those who wait. */
static bool resizes_in_vain(const struct engine *engine)
{
    return engine->endless.resizes > CYCLES + SETBACKS_OF_EACH * parties_of(engine->world) &&
           engine->ledger->running_jobs == 0 && engine->next_arrival == engine->world->job_count &&
           engine->queue_change_ms == ORR_MS_NEVER;
}

/* Could it not start at any time, or not with its queue as it is by now? */
static bool is_barred(const struct engine *engine, uint32_t job)
{
    const struct orr_run *foreseen = engine->options->foreseen;
    if (foreseen != NULL && orr_never_of(foreseen, job) != NULL) {
        return true;
    }
    const struct orr_world *world = engine->world;
    const uint32_t shard = world->queues.queues[world->specs[job].queue].shard;
    const struct orr_engine_shard *runner = &engine->options->shards[shard];
    struct orr_view view = engine->view;
    view.shard = shard;
    return orr_policy_bars(runner->policy, runner->params, &view, job).reason != ORR_REASON_NONE;
}

bool orr_engine__is_hopeless(struct engine *engine)
{
    struct engine_endless *endless = &engine->endless;
    bool hopeless = true;
    for (uint32_t j = 0; j < engine->world->job_count && !endless->judged && hopeless; j++) {
        const uint8_t phase = engine->ledger->jobs[j].phase;
        if (phase == ORR_JOB_RELEASING) {
            return false; /* it waits in a while */
        }
        hopeless = phase != ORR_JOB_PENDING || is_barred(engine, j);
    }
    endless->hopeless = endless->judged ? endless->hopeless : hopeless;
    endless->judged = true;
    return endless->hopeless;
}

/* A job was started as often as can be, and nobody got to an end meanwhile. */
static bool wears_out(const struct engine *engine)
{
    return orr_engine__is_worn(engine) &&
           orr_engine__setbacks(engine->run) - engine->endless.setbacks > UINT16_MAX;
}

bool orr_engine__is_stuck(struct engine *engine)
{
    return orr_engine__setbacks(engine->run) - engine->endless.setbacks >
               orr_engine_setbacks(engine->world) ||
           wears_out(engine) || tries_in_vain(engine) || resizes_in_vain(engine) ||
           orr_engine__recurs(engine) || goes_round(engine, parties_of(engine->world));
}

/* The book of a job counts 64 bits of mGPU x ms: so much, and graces and pauses beside it. */
static const int64_t most_mgpu_ms = INT64_MAX / 64 * 63;

static double held_mgpu_ms(const struct engine *engine, uint32_t job)
{
    double sum = 0;
    for (uint32_t p = 0; p < engine->ledger->placement_count; p++) {
        const struct orr_placement *placement = &engine->ledger->placements[p];
        if (placement->job == job) {
            sum += (double)orr_placement_held(engine->run, placement, placement->since_ms,
                                              engine->view.now);
        }
    }
    return sum;
}

/* Do its earlier attempts and the one that would end then hold more than can be counted? Nobody
 * holds more than all it asks since it came. */
static bool is_spent(const struct engine *engine, uint32_t job, orr_ms end_ms)
{
    if (end_ms == ORR_MS_NEVER) {
        return false;
    }
    const struct orr_job_spec *spec = &engine->world->specs[job];
    const double mgpu = (double)engine->world->shapes.shapes[spec->shape].gpus_mgpu;
    const double next = mgpu * (double)(end_ms - engine->view.now);
    return mgpu * (double)(end_ms - spec->submit_ms) > (double)most_mgpu_ms &&
           held_mgpu_ms(engine, job) + next > (double)most_mgpu_ms;
}

void orr_engine__note_worn(struct engine *engine, uint32_t job, orr_ms end_ms)
{
    if (engine->ledger->jobs[job].attempts == UINT16_MAX || is_spent(engine, job, end_ms)) {
        engine->worn_job = job;
    }
}

/* ---- what it says ---- */

enum orr_status orr_engine__refuse_worn(const struct engine *engine, struct orr_err *err)
{
    char name[120];
    if (engine->ledger->jobs[engine->worn_job].attempts < UINT16_MAX) {
        const double mgpu_ms_of_hour = ORR_MGPU * 3600000.0;
        return orr_fail(
            err, ORR_SCENARIO,
            "attempts of job %.80s held %.3g GPU-hours, and with the one that begins more than "
            "%.3g, as much as a run counts of one job; give it checkpoints, or the scenario a "
            "shorter horizon",
            orr_world_job_name(engine->world, engine->worn_job, name, sizeof name),
            held_mgpu_ms(engine, engine->worn_job) / mgpu_ms_of_hour,
            (double)most_mgpu_ms / mgpu_ms_of_hour);
    }
    return orr_fail(err, ORR_SCENARIO,
                    "job %.80s was started %u times, as often as a run counts; give the scenario a "
                    "shorter horizon, or what evicts the job more time",
                    orr_world_job_name(engine->world, engine->worn_job, name, sizeof name),
                    (unsigned)UINT16_MAX);
}

static const char *advice(const struct engine *engine, enum orr_cause cause)
{
    const bool by_policy = cause == ORR_CAUSE_PREEMPT || cause == ORR_CAUSE_RECLAIM;
    if (by_policy && (engine->run->heeds[0] & ORR_HEEDS_MIN_RUNTIME) == 0) {
        return "a horizon, its jobs checkpoints, or its policy parameters that preempt less";
    }
    switch (cause) {
    case ORR_CAUSE_PREEMPT:
        return "a horizon, its queues a preempt_min_runtime, or its jobs checkpoints";
    case ORR_CAUSE_RECLAIM:
        return "a horizon, its queues a reclaim_min_runtime, or its jobs checkpoints";
    case ORR_CAUSE_CONSOLIDATE:
        return "a horizon, its jobs checkpoints, or policy.params.consolidation false";
    case ORR_CAUSE_MAX_RUNTIME: return "a horizon, or its queues a longer max_runtime";
    case ORR_CAUSE_PODS_NOT_READY:
        return "a horizon, policy.params.backoff_limit, or a longer policy.params.timeout";
    default: return "a horizon, or its jobs checkpoints";
    }
}

/* ", last VICTIM for JOB" of an eviction, into a text that may be full; returns its length. */
static size_t name_eviction(const struct engine *engine, const struct orr_eviction *eviction,
                            const char *before, char *text, size_t bytes)
{
    char victim[120], taker[120];
    const bool for_job = eviction->beneficiary != ORR_NONE;
    const int length = snprintf(
        text, bytes, "%s%.80s%s%.80s", before,
        orr_world_job_name(engine->world, eviction->job, victim, sizeof victim),
        for_job ? " for " : "",
        for_job ? orr_world_job_name(engine->world, eviction->beneficiary, taker, sizeof taker)
                : "");
    return length < 0 || (size_t)length >= bytes ? bytes - 1 : (size_t)length;
}

/* The latest eviction of that cause, and the latest of another job. */
static void name_jobs(const struct engine *engine, enum orr_cause cause, char *text, size_t bytes)
{
    const struct orr_run *run = engine->run;
    uint32_t victim = ORR_NONE, count = 0;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = run->eviction_count; i > engine->endless.first && count < 2; i--) {
        const struct orr_eviction *eviction = &run->evictions[i - 1];
        if (eviction->cause == cause && eviction->job != victim) {
            used += name_eviction(engine, eviction, count == 0 ? ", last " : " and ", text + used,
                                  bytes - used);
            victim = eviction->job;
            count++;
        }
    }
}

enum orr_status orr_engine__refuse_endless(const struct engine *engine, struct orr_err *err)
{
    const struct orr_run *run = engine->run;
    uint32_t counts[ORR_CAUSE_COUNT] = {0};
    enum orr_cause most = ORR_CAUSE_NONE;
    char span[64], jobs[400], evicted[480] = "";
    count_causes(run, engine->endless.first, counts);
    for (int c = 0; c < ORR_CAUSE_COUNT; c++) {
        most = counts[c] > counts[most] ? (enum orr_cause)c : most;
    }
    const bool by_pools = counts[most] == 0 && engine->endless.resizes > 0;
    if (tries_in_vain(engine)) {
        (void)snprintf(evicted, sizeof evicted, "%u cycle%s that the policy asked for",
                       engine->endless.vain, ORR_PLURAL(engine->endless.vain));
    } else if (counts[most] > 0) {
        name_jobs(engine, most, jobs, sizeof jobs);
        (void)snprintf(evicted, sizeof evicted, "%u eviction%s (%u of them: %s%s)",
                       run->eviction_count - engine->endless.first,
                       ORR_PLURAL(run->eviction_count - engine->endless.first), counts[most],
                       orr_cause_words(most), jobs);
    } else if (by_pools) {
        (void)snprintf(evicted, sizeof evicted, "%u node%s that joined autoscaled pools or left",
                       engine->endless.resizes, ORR_PLURAL(engine->endless.resizes));
    } else {
        (void)snprintf(evicted, sizeof evicted, "%u failure%s of nodes", run->outage_count,
                       ORR_PLURAL(run->outage_count));
    }
    (void)orr_format_span(span, engine->view.now - engine->world->first_submit_ms);
    return orr_fail(err, ORR_SCENARIO,
                    "the run does not come to an end: %s after the first submit none of %u job%s "
                    "that %s has ended in the latest %s; give the scenario %s",
                    span, engine->ledger->pending_jobs + engine->ledger->running_jobs,
                    ORR_PLURAL(engine->ledger->pending_jobs + engine->ledger->running_jobs),
                    ORR_ONE(engine->ledger->pending_jobs + engine->ledger->running_jobs,
                            "waits or runs", "wait or run"),
                    evicted,
                    tries_in_vain(engine) || by_pools ? "a horizon" : advice(engine, most));
}
