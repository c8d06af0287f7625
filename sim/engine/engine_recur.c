/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_recur.c - a situation that comes back: a proof that a run will never end.
 *
 * A situation is everything that decides how a run goes on, with all times counted from now: the
 * phase, the placements and the kept work of each job that has not ended, and what is still to
 * happen. Under policies that decide by the situation alone (ORR_HEEDS_NO_PAST) the same situation
 * has the same course behind it, so one return is enough; RETURNS of them leave room for what a
 * policy remembers for a while. Something planned for a certain time is nearer at each return, so
 * that no situation comes back before it has happened.
 *
 * Found as R. P. Brent finds cycles (An improved Monte Carlo factorization algorithm, BIT 20,
 * 1980): one situation is held against those after it, and replaced after twice as many as the last
 * one. Jobs that wait or run are the same ones from a job's coming, end or leaving to the next.
 *
 * What goes round are evictions, or nodes that an autoscaled pool gets for jobs that do not start
 * there, and gives back. */
#include "engine_int.h"

#include <orrery/base/digest.h>
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

/* Evictions, and nodes that came or left, in which nobody ended before situations are looked at: a
 * look costs as much as to fold what is alive, a cycle that evicts far more. */
#define EVICTIONS 30
#define PARTIES   4 /* jobs and nodes for one more */
#define RETURNS   20

static bool forgets(const struct engine *engine)
{
    const uint32_t shards = engine->world->cluster.shards.count;
    bool none_past = engine->scheduler.ideal;
    for (uint32_t s = 0; s < shards; s++) {
        none_past = none_past && (engine->run->heeds[s] & ORR_HEEDS_NO_PAST) != 0;
    }
    return none_past;
}

static uint64_t from_now(const struct engine *engine, orr_ms at)
{
    return at == ORR_MS_NEVER || at == ORR_MS_NONE ? (uint64_t)at
                                                   : (uint64_t)(at - engine->view.now);
}

static void fold_placements(const struct engine *engine, uint32_t job, struct orr_digest *digest)
{
    const struct orr_placement *all = engine->ledger->placements;
    for (uint32_t p = engine->ledger->jobs[job].placement; p != ORR_NONE; p = all[p].next) {
        orr_digest_fold(digest, (uint64_t)all[p].node << 32 | all[p].tasks);
        orr_digest_fold(digest, (uint64_t)all[p].group << 32 | (uint32_t)all[p].hold << 16 |
                                    all[p].more_nodes);
        orr_digest_fold(digest, all[p].devices);
        orr_digest_fold(digest, from_now(engine, all[p].since_ms));
    }
}

static bool is_delayed(const struct engine *engine, uint32_t job)
{
    const uint32_t shard = engine->world->queues.queues[engine->world->specs[job].queue].shard;
    return (engine->run->heeds[shard] & ORR_HEEDS_JOB_PERIODS) != 0 &&
           orr_view_preemption_delay_ms(&engine->view, job) > 0;
}

static void fold_job(const struct engine *engine, uint32_t job, struct orr_digest *digest)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    orr_digest_fold(digest,
                    (uint64_t)state->phase << 32 | orr_ledger_unwanted(engine->ledger, job));
    if (state->phase != ORR_JOB_PENDING) {
        orr_digest_fold(digest, from_now(engine, state->start_ms));
    } else if (is_delayed(engine, job)) {
        /* the time of its last eviction, which its delay counts from, is not at hand: no situation
         * in which it waits equals another */
        orr_digest_fold(digest, (uint64_t)engine->view.now);
    }
    if (engine->exec != NULL) {
        orr_digest_fold(digest, (uint64_t)orr_exec_time(engine->exec, job)->useful);
    }
    if (engine->delayed != NULL) {
        orr_digest_fold(digest, engine->delayed[job]);
    }
    fold_placements(engine, job, digest);
}

/* Finishes of a plan that is over stay in the heap until their time, and mean nothing. */
static bool is_void(const struct engine *engine, const struct orr_event *event)
{
    return event->class_seq >> 24 == CLASS_FINISH &&
           (event->class_seq & 0xffffff) != engine->ledger->jobs[event->subject].incarnation;
}

/* What is to happen. The incarnation in a live finish grows with each start, so it is left out; the
 * sum over the heap does not hang on the order in which it is kept. */
static uint64_t sum_of_events(const struct engine *engine)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < engine->heap.count; i++) {
        const struct orr_event *event = orr_heap_nth(&engine->heap, i);
        if (!is_void(engine, event)) {
            struct orr_digest one = ORR_DIGEST_INIT;
            orr_digest_fold(&one, from_now(engine, event->at));
            orr_digest_fold(&one, (uint64_t)(event->class_seq >> 24) << 32 | event->subject);
            sum += orr_scatter(one.h);
        }
    }
    return sum;
}

/* Where now lies between two points of a grid. */
static uint64_t in_grid(orr_ms now, orr_ms grid_ms)
{
    return grid_ms > 0 ? (uint64_t)(now % grid_ms) : 0;
}

static uint64_t situation(const struct engine *engine)
{
    const orr_ms times[] = {engine->wake_ms, engine->next_cycle_ms, engine->queue_change_ms,
                            engine->look_ms, engine->arrival_ms,    engine->running_ms};
    struct orr_digest digest = ORR_DIGEST_INIT;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        orr_digest_fold(&digest, from_now(engine, times[i]));
    }
    orr_digest_fold(&digest, engine->changed);
    orr_digest_fold(&digest, in_grid(engine->view.now, engine->policy->cycle_ms));
    orr_digest_fold(&digest, in_grid(engine->view.now, engine->round_ms));
    orr_digest_fold(&digest, sum_of_events(engine));
    if (engine->pools != NULL) {
        orr_digest_fold(&digest, in_grid(engine->view.now, engine->world->look_ms));
        orr_digest_fold(&digest, orr_engine__pools_situation(engine));
    }
    for (uint32_t i = 0; i < engine->recur.alive_count; i++) {
        fold_job(engine, engine->recur.alive[i], &digest);
    }
    return digest.h;
}

static void list_alive(struct engine *engine)
{
    struct engine_recur *recur = &engine->recur;
    const struct orr_job_state *jobs = engine->ledger->jobs;
    if (recur->alive == NULL) {
        recur->alive = orr_alloc(engine->world->job_count, sizeof *recur->alive);
    }
    recur->alive_count = 0;
    for (uint32_t j = 0; j < engine->world->job_count; j++) {
        if (jobs[j].phase > ORR_JOB_FUTURE && jobs[j].phase < ORR_JOB_FINISHED) {
            recur->alive[recur->alive_count++] = j;
        }
    }
}

/* Begins anew with this situation, for so many looks. */
static void hold(struct engine_recur *recur, uint64_t now, uint32_t looks)
{
    recur->held = now;
    recur->looks = recur->left = looks;
    recur->returns = 0;
}

void orr_engine__recur_close(struct engine *engine)
{
    orr_free(engine->recur.alive);
}

void orr_engine__recur_forget(struct engine *engine)
{
    orr_free(engine->recur.alive);
    engine->recur = (struct engine_recur){0};
}

/* Evictions, and resizes of autoscaled pools: not where pools drain nodes, since a situation does
 * not fold for how long a node has held little. */
static uint32_t seen_since(const struct engine *engine)
{
    return engine->run->eviction_count - engine->endless.first +
           (engine->drain == NULL ? engine->endless.resizes : 0);
}

/* Is it time to look: after an instant with evictions or resizes, once there were many? */
static bool is_due(const struct engine *engine)
{
    const uint32_t since = seen_since(engine);
    const uint64_t parties = (uint64_t)engine->world->job_count + engine->world->cluster.node_count;
    return since > EVICTIONS + parties / PARTIES && since != engine->recur.seen;
}

bool orr_engine__recurs(struct engine *engine)
{
    struct engine_recur *recur = &engine->recur;
    if (!is_due(engine) || !forgets(engine)) {
        return false;
    }
    recur->seen = seen_since(engine);
    if (!recur->watches) {
        list_alive(engine);
        hold(recur, situation(engine), 1);
        recur->watches = true;
        return false;
    }
    const uint64_t now = situation(engine);
    if (now == recur->held) {
        recur->returns++;
        recur->left = recur->looks;
    } else if (--recur->left == 0) {
        hold(recur, now, recur->looks * 2);
    }
    return recur->returns >= RETURNS;
}
