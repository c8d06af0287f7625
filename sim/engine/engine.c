/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine.c - the loop: the next instant, its events in order, then the policy's cycle. */
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/account.h>
#include <orrery/sim/branch.h>
#include <orrery/sim/fill.h>

#include "engine_int.h"
#include "shards.h"

#define PROGRESS_EVERY 8192u

/* Compiled twice: for plain runs, without the questions that they need not ask at each instant. */
#define TWICE          __attribute__((always_inline)) inline

static void change_capacity(struct engine *engine, const struct orr_event *event)
{
    if ((event->class_seq & ORR_ENGINE__POOL) != 0) {
        orr_engine__pools_join(engine, event->subject);
    } else if ((event->class_seq & ORR_ENGINE__RESIZE) != 0) {
        orr_engine__run_resize(engine, event->subject, event->class_seq & 0xff);
    } else if ((event->class_seq & ORR_ENGINE__LISTED) != 0) {
        orr_engine__run_listed(engine, event->subject, event->class_seq & 0xff);
    } else {
        orr_engine__change_capacity(engine, event->subject, (event->class_seq & 1) != 0);
    }
}

static bool has_due_event(const struct engine *engine)
{
    const struct orr_event *top = orr_heap_top(&engine->heap);
    return top != NULL && top->at == engine->view.now;
}

static void run_due_events(struct engine *engine)
{
    while (has_due_event(engine)) {
        struct orr_event event = orr_heap_pop(&engine->heap);
        uint32_t subject = event.subject, number = event.class_seq & 0xffffff;
        switch ((enum event_class)(event.class_seq >> 24)) {
        case CLASS_FINISH: orr_engine__finish(engine, subject, number); break;
        case CLASS_RELEASE: orr_engine__release(engine, subject); break;
        case CLASS_CAPACITY: change_capacity(engine, &event); break;
        case CLASS_ARRIVAL: orr_engine__submit(engine, subject); break;
        case CLASS_REQUEUE: orr_engine__requeue(engine, subject); break;
        case CLASS_LIMIT: orr_engine__reach_limit(engine, subject, number); break;
        case CLASS_ROUND: orr_engine__end_round(engine, subject); break;
        case CLASS_GIVE_UP: orr_engine__give_up(engine, subject); break;
        case CLASS_IDLE: orr_engine__leave_idle(engine, subject, number); break;
        case CLASS_SCALE: orr_engine__scale(engine, subject, number); break;
        case CLASS_CYCLE:
        case CLASS_QUEUE_CHANGE:
        case CLASS_STATE: break; /* never in the heap */
        }
    }
}

void orr_engine__expect_arrival(struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    engine->next_arrival = job;
    engine->arrival_ms = job < world->job_count ? world->specs[job].submit_ms : ORR_MS_NEVER;
}

static void run_arrivals(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    while (engine->arrival_ms == engine->view.now) {
        uint32_t job = engine->next_arrival;
        orr_engine__expect_arrival(engine, job + 1);
        orr_engine__count_event(engine, CLASS_ARRIVAL, job);
        bool held =
            engine->next_hold < world->hold_count && world->holds[engine->next_hold].job == job;
        if (!held || !orr_engine__must_wait(engine, engine->next_hold++)) {
            orr_engine__submit(engine, job);
        }
    }
}

orr_ms orr_engine__queue_change_ms(const struct engine *engine)
{
    const struct orr_world *world = engine->world;
    return engine->next_queue_change < world->queue_change_count
               ? world->queue_changes[engine->next_queue_change].at_ms
               : ORR_MS_NEVER;
}

/* Quotas and the like that are others from now on. */
static void run_owed(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    struct orr_run *run = engine->run;
    orr_fold_before_queue_change(&run->fold, engine->view.now);
    while (orr_engine__queue_change_ms(engine) == engine->view.now) {
        const struct orr_world_queue_change *change =
            &world->queue_changes[engine->next_queue_change++];
        struct orr_queue *queue = &run->queues->queues[change->queue];
        queue->priority = change->priority;
        memcpy(queue->resources, change->resources, sizeof queue->resources);
        queue->lending.flavors = change->flavors;
        orr_engine__count_event(engine, CLASS_QUEUE_CHANGE, change->queue);
        orr_fold_queue_change(&run->fold, change->queue);
        orr_policy_notify_queue(engine->policy, engine->state, &engine->view, change->queue);
    }
    engine->queue_change_ms = orr_engine__queue_change_ms(engine);
    engine->changed = true;
}

static void take_explanations(struct engine *engine)
{
    uint32_t count;
    const struct orr_explanation *explained = orr_txn_explanations(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        orr_engine__note_reason(engine, explained[i].job, explained[i].reason, &explained[i].proof);
        orr_engine__want_room(engine, explained[i].job);
        if (orr_reason_refuses(explained[i].reason)) {
            orr_engine__refuse(engine, explained[i].job);
        }
    }
}

static void take_reprieves(struct engine *engine)
{
    struct orr_run *run = engine->run;
    uint32_t count;
    const uint32_t *whole = orr_txn_whole(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        run->reprieves =
            ORR_ROOM_FOR_ONE(run->reprieves, run->reprieve_count, run->reprieve_capacity);
        run->reprieves[run->reprieve_count++] = (struct orr_reprieve){
            .at_ms = engine->view.now, .to_ms = ORR_MS_NEVER, .job = whole[i]};
    }
}

/* The last cycle would have done the same again until now. */
static void end_reprieves(struct engine *engine)
{
    struct orr_run *run = engine->run;
    for (uint32_t i = run->reprieve_count; i > 0 && run->reprieves[i - 1].to_ms == ORR_MS_NEVER;
         i--) {
        run->reprieves[i - 1].to_ms = engine->view.now;
    }
}

static enum orr_status check_books(const struct engine *engine, struct orr_err *err)
{
    enum orr_status status = orr_ledger_audit(engine->ledger, err);
    return status == ORR_OK ? orr_policy_audit(engine->policy, engine->state, &engine->view, err)
                            : status;
}

/* What the policy did at this time, and to which job, is not as it may be. */
static enum orr_status blame(const struct engine *engine, uint32_t job, const char *what,
                             struct orr_err *err)
{
    char name[512];
    if (job == ORR_NONE) {
        return orr_fail(err, ORR_POLICY, "policy %s at %lld ms: %s", engine->policy->name,
                        (long long)engine->view.now, what);
    }
    return orr_fail(err, ORR_POLICY, "policy %s at %lld ms, job %s: %s", engine->policy->name,
                    (long long)engine->view.now,
                    orr_world_job_name(engine->world, job, name, sizeof name), what);
}

/* The run's own evictions mean more than that a job is gone; a policy has no part in that. */
static enum orr_status check_causes(const struct engine *engine, struct orr_err *err)
{
    uint32_t count;
    const struct orr_txn_decision *decisions = orr_txn_decisions(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_txn_decision *d = &decisions[i];
        const enum orr_cause cause = (enum orr_cause)d->cause;
        if ((d->deed == ORR_DEED_EVICT || d->deed == ORR_DEED_SHRINK) &&
            !orr_cause_is_of_policies(cause)) {
            char what[120];
            (void)snprintf(what, sizeof what,
                           "is evicted with cause \"%s\", which is the run's own",
                           orr_cause_words(cause));
            return blame(engine, d->job, what, err);
        }
    }
    return ORR_OK;
}

/* Gangs of which the policy took too much, and which it does not see to itself: what is left of
 * them goes as well, as after the loss of a node. `before`: of its evictions. */
static void end_broken_gangs(struct engine *engine, uint32_t before)
{
    const struct orr_run *run = engine->run;
    const uint32_t count = run->eviction_count; /* more come */
    for (uint32_t i = before; i < count; i++) {
        if (!run->evictions[i].whole) {
            orr_engine__evict_rest(engine, run->evictions[i].job,
                                   (enum orr_cause)run->evictions[i].cause);
        }
    }
}

/* What the policy did in its cycle becomes so. */
static enum orr_status settle_cycle(struct engine *engine, struct orr_err *err)
{
    const uint32_t before = engine->run->eviction_count;
    struct orr_refusal refusal;
    if (!orr_txn_commit(engine->txn, engine->view.now, &refusal)) {
        return blame(engine, refusal.job, refusal.text, err);
    }
    const enum orr_status status = check_causes(engine, err);
    if (status != ORR_OK) {
        return status;
    }
    if (engine->traced) {
        orr_engine__trace_decided(engine);
    }
    orr_engine__take_decisions(engine);
    take_explanations(engine);
    take_reprieves(engine);
    orr_txn_end_cycle(engine->txn);
    end_broken_gangs(engine, before);
    return ORR_OK;
}

static void time_cycle(struct engine *engine)
{
    struct orr_cycle_time *time = &engine->run->cycle_time;
    const int64_t before = engine->options->clock_ns();
    engine->policy->cycle(engine->state, &engine->view, engine->txn);
    const int64_t took = engine->options->clock_ns() - before;
    time->timed++;
    time->sum_ns += took;
    time->most_ns = took > time->most_ns ? took : time->most_ns;
}

/* When does the policy wish for a cycle, whatever happens? False: it has failed. */
static bool ask_wake(struct engine *engine, struct orr_err *err)
{
    engine->wake_ms = engine->policy->wake(engine->state, &engine->view);
    if (engine->round_ms > 0 && engine->wake_ms != ORR_MS_NEVER) {
        orr_ms past = engine->wake_ms > engine->view.now ? engine->wake_ms - 1 : engine->view.now;
        engine->wake_ms = orr_round_end(past, engine->round_ms);
    }
    return !orr_policy_failed(engine->policy, engine->state, err);
}

static TWICE enum orr_status run_cycle(struct engine *engine, bool plain, struct orr_err *err)
{
    end_reprieves(engine);
    engine->changed = false;
    engine->last_cycle_ms = engine->view.now;
    engine->run->cycles++;
    if (!plain && !engine->scheduler.ideal) {
        orr_scheduler_begin(&engine->scheduler, engine->view.now, engine->ledger->pending_jobs);
    }
    engine->traced = !plain && engine->options->trace != NULL && orr_engine__trace_begin(engine);
    if ((engine->run->cycles & engine->untimed_cycles) == 0) {
        time_cycle(engine);
    } else {
        engine->policy->cycle(engine->state, &engine->view, engine->txn);
    }
    if (!plain && engine->traced) {
        orr_policy_watch(engine->policy, engine->state, &(struct orr_watcher){0});
    }
    if (!plain && orr_policy_failed(engine->policy, engine->state, err)) {
        return ORR_PLUGIN;
    }
    const uint32_t evictions = engine->run->eviction_count;
    const uint32_t placements = engine->ledger->placement_count;
    if (!orr_txn_is_idle(engine->txn)) {
        enum orr_status status = settle_cycle(engine, err);
        if (status != ORR_OK) {
            return status;
        }
    }
    if (!plain && !engine->scheduler.ideal) {
        orr_scheduler_end(&engine->scheduler, engine->view.now);
    }
    if (!plain && engine->has_shares) {
        orr_engine__shares_note(engine);
    }
    /* a job that runs and neither ends nor changes by itself counts as one that waits */
    const bool same =
        engine->run->eviction_count == evictions && engine->ledger->placement_count == placements;
    const bool stands = engine->ledger->running_jobs == 0 || (engine->heap.count == 0 && same);
    engine->endless.vain = stands ? engine->endless.vain + 1 : 0;
    if (!plain && engine->policy->wake != NULL && !ask_wake(engine, err)) {
        return ORR_PLUGIN;
    }
    return !plain && engine->options->check_books ? check_books(engine, err) : ORR_OK;
}

/* Jobs that started give up no more, and workers of a stage that is over are not idle in it. */
static bool is_stale(const struct engine *engine, const struct orr_event *event)
{
    const uint32_t class = event->class_seq >> 24;
    return (class == CLASS_GIVE_UP && !orr_engine__waits(engine, event->subject)) ||
           (class == CLASS_IDLE &&
            !orr_engine__idles(engine, event->subject, event->class_seq & 0xffffff));
}

/* Time need not pass for those that come next and are stale. */
static void drop_stale(struct engine *engine)
{
    const struct orr_event *top = orr_heap_top(&engine->heap);
    while (top != NULL && is_stale(engine, top)) {
        const struct orr_event event = orr_heap_pop(&engine->heap);
        *(event.class_seq >> 24 == CLASS_IDLE ? &engine->idle_events : &engine->give_up_events) -=
            1;
        top = orr_heap_top(&engine->heap);
    }
}

static orr_ms earlier(orr_ms a, orr_ms b)
{
    return a < b ? a : b;
}

/* The next time anything happens, or ORR_MS_NEVER. */
static TWICE orr_ms next_instant(struct engine *engine, bool plain)
{
    orr_ms next = earlier(engine->arrival_ms, engine->next_cycle_ms);
    if (!plain) {
        next = earlier(next, earlier(engine->queue_change_ms, engine->look_ms));
        next = earlier(next, earlier(engine->wake_ms, engine->running_ms));
    }
    if (engine->idle_events + engine->give_up_events > 0) {
        drop_stale(engine);
    }
    const struct orr_event *top = orr_heap_top(&engine->heap);
    return top == NULL ? next : earlier(next, top->at);
}

/* Is a cycle due at this instant? If it is wanted but not due, it comes at next_cycle_ms: on the
 * next point of the run's clock, and not before the one in hand is over. */
static TWICE bool cycle_due(struct engine *engine, bool plain)
{
    orr_ms now = engine->view.now;
    if (plain || (!engine->changed && now < engine->wake_ms)) {
        engine->next_cycle_ms = ORR_MS_NEVER;
        return plain && engine->changed;
    }
    orr_ms begin = orr_scheduler_next(&engine->scheduler,
                                      now > engine->world->begin_ms ? now : engine->world->begin_ms,
                                      engine->last_cycle_ms);
    if (begin == now) {
        engine->next_cycle_ms = ORR_MS_NEVER;
        return true;
    }
    engine->next_cycle_ms = begin;
    if (now >= engine->wake_ms) { /* the wish is taken note of */
        engine->changed = true;
        engine->wake_ms = ORR_MS_NEVER;
    }
    return false;
}

/* Before the begin nobody starts but who runs already, so that the queue then is none of the run's.
 */
static void note_queue(struct engine *engine, orr_ms now)
{
    const uint32_t waiting = engine->ledger->pending_jobs;
    if (now >= engine->world->begin_ms && waiting > engine->run->queue_len_max) {
        engine->run->queue_len_max = waiting;
    }
}

static TWICE enum orr_status run_instant(struct engine *engine, bool plain, orr_ms now,
                                         struct orr_err *err)
{
    struct orr_run *run = engine->run;
    engine->view.now = now;
    if (now != engine->instant_ms) {
        run->distinct_times++;
        engine->instant_ms = now;
    }
    orr_fold_advance(&run->fold, now);
    if (has_due_event(engine)) {
        run_due_events(engine);
    }
    if (!plain && engine->look_ms == now) {
        orr_engine__pools_look(engine);
    }
    run_arrivals(engine);
    if (!plain && engine->running_ms == now) {
        enum orr_status status = orr_engine__start_running(engine, err);
        if (status != ORR_OK) {
            return status;
        }
    }
    if (!plain && engine->queue_change_ms == now) {
        run_owed(engine);
    }
    if (cycle_due(engine, plain)) {
        enum orr_status status = run_cycle(engine, plain, err);
        if (!plain && status == ORR_OK && engine->round_ms > 0 && has_due_event(engine)) {
            run_due_events(engine); /* what was paused is out of the way within the same round */
            status = run_cycle(engine, false, err);
        }
        if (status != ORR_OK) {
            return status;
        }
        if (engine->changed) {
            engine->next_cycle_ms = orr_scheduler_next(&engine->scheduler, now, now);
        }
    }
    if (!plain && engine->exec != NULL) {
        orr_engine__replan_neighbours(engine);
    }
    if (!plain && engine->vacating_count > 0) {
        orr_engine__note_vacant(engine);
    }
    if (!plain && engine->pools != NULL) {
        orr_engine__pools_wake(engine);
    }
    const struct orr_event *next = orr_heap_top(&engine->heap);
    if (next != NULL) { /* it came long ago: in a long trace its records are out of the caches */
        __builtin_prefetch(&engine->ledger->jobs[next->subject]);
        __builtin_prefetch(&engine->world->specs[next->subject]);
    }
    note_queue(engine, now);
    run->end_ms = now;
    return ORR_OK;
}

/* Nothing that could ever start waits, nothing runs or is to come, and the policy wishes for a
 * cycle all the same. */
static bool is_wish_alone(const struct engine *engine, orr_ms next)
{
    return next == engine->wake_ms && engine->ledger->running_jobs == 0 &&
           !orr_engine__somebody_may_start(engine) &&
           engine->next_arrival == engine->world->job_count && engine->heap.count == 0 &&
           engine->next_cycle_ms == ORR_MS_NEVER && engine->queue_change_ms == ORR_MS_NEVER &&
           engine->look_ms == ORR_MS_NEVER && engine->running_ms == ORR_MS_NEVER;
}

static void report_progress(const struct engine *engine)
{
    const struct orr_engine_options *options = engine->options;
    if (options->progress != NULL) {
        options->progress(engine->run->events, 2 * (uint64_t)engine->world->job_count,
                          engine->view.now, options->progress_context);
    }
}

static TWICE enum orr_status run_instants(struct engine *engine, bool plain, struct orr_err *err)
{
    const struct orr_engine_options *options = engine->options;
    for (uint32_t turn = 1;; turn++) {
        if (turn % PROGRESS_EVERY == 0) {
            report_progress(engine);
        }
        if (options->interrupted != NULL && *options->interrupted) {
            engine->run->status = ORR_RUN_INTERRUPTED;
            return ORR_OK;
        }
        orr_ms next = next_instant(engine, plain);
        while (!plain && next > engine->branch_ms && !engine->enough) {
            orr_engine__branch(engine); /* there may be something between */
            next = next_instant(engine, plain);
        }
        if (!plain && engine->enough) {
            return ORR_OK;
        }
        if (next == ORR_MS_NEVER || (!plain && is_wish_alone(engine, next)) ||
            (engine->outlasts && orr_engine__only_faults_left(engine))) {
            return ORR_OK;
        }
        if (!plain && next > options->horizon_ms) {
            engine->run->status = ORR_RUN_HORIZON;
            engine->run->end_ms = options->horizon_ms;
            return ORR_OK;
        }
        if (!orr_engine__is_calm(engine) && options->horizon_ms == ORR_MS_NEVER &&
            orr_engine__is_stuck(engine)) {
            return orr_engine__refuse_endless(engine, err);
        }
        if (orr_engine__is_worn(engine)) {
            return orr_engine__refuse_worn(engine, err);
        }
        enum orr_status status = run_instant(engine, plain, next, err);
        if (status != ORR_OK) {
            return status;
        }
    }
}

enum orr_status orr_engine__loop(struct engine *engine, struct orr_err *err)
{
    return orr_engine__is_plain(engine) ? run_instants(engine, true, err)
                                        : run_instants(engine, false, err);
}

/* A run that was cut within a round: who is done by then has ended. */
static void end_last_round(struct engine *engine)
{
    for (uint32_t j = 0; j < engine->world->job_count && engine->round_ms > 0; j++) {
        if (orr_engine__is_done(engine, j)) {
            engine->view.now = engine->run->end_ms;
            orr_fold_advance(&engine->run->fold, engine->view.now);
            orr_engine__end_round(engine, j);
        }
    }
}

static void open_holds(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    engine->waits_for = orr_alloc(world->hold_count + (size_t)1, sizeof *engine->waits_for);
    engine->thinks_until_ms =
        orr_alloc(world->hold_count + (size_t)1, sizeof *engine->thinks_until_ms);
    engine->run->eligible_ms =
        orr_alloc(world->hold_count + (size_t)1, sizeof *engine->run->eligible_ms);
    for (uint32_t i = 0; i < world->hold_count; i++) {
        engine->waits_for[i] = world->holds[i].waits_for;
        engine->thinks_until_ms[i] = ORR_MS_NONE;
        engine->run->eligible_ms[i] = ORR_MS_NONE;
    }
}

/* Entitlements change during a run, so a run has its own. */
static struct orr_queues *own_queues(const struct orr_world *world)
{
    struct orr_queues *queues = orr_alloc(1, sizeof *queues);
    *queues = world->queues;
    queues->queues = orr_alloc(queues->count + (size_t)1, sizeof *queues->queues);
    for (uint32_t q = 0; q < queues->count; q++) {
        queues->queues[q] = world->queues.queues[q];
    }
    return queues;
}

static void open_fold(const struct orr_world *world, const struct orr_engine_options *options,
                      struct orr_run *run)
{
    uint32_t shards = world->cluster.shards.count;
    int64_t *capacity_mgpu = orr_alloc(shards, sizeof *capacity_mgpu);
    for (uint32_t s = 0; s < shards; s++) {
        capacity_mgpu[s] = run->ledger->shards[s].total_gpus * ORR_MGPU;
    }
    orr_fold_init(&run->fold, run->queues, capacity_mgpu, shards, world->begin_ms,
                  options->window_start_ms, options->window_end_ms);
    orr_free(capacity_mgpu);
    int64_t *usable_mgpu = orr_alloc(world->queues.count, sizeof *usable_mgpu);
    int64_t *of_node = orr_fill_node_mgpu(world);
    orr_fill_mgpu(world, of_node, usable_mgpu);
    orr_fold_usable(&run->fold, usable_mgpu, of_node);
    orr_free(usable_mgpu);
}

/* Bits that are 0 in the number of a cycle that is timed: a policy without a grid may have cycles
 * that take no longer than looking at the clock. */
static uint64_t untimed_cycles(const struct orr_engine_options *options,
                               const struct orr_policy *policy)
{
    return options->clock_ns == NULL ? UINT64_MAX : policy->cycle_ms > 0 ? 0 : 63;
}

/* How long gangs may run below their minimum: a cycle finds them, another ends them a grace later,
 * and each may come late. Not computed for several shards: a reprieve holds to the next cycle of
 * its own, and the engine knows of cycles of any. */
static orr_ms stale_grace_ms(const struct engine *engine, uint32_t shard, uint32_t shard_count)
{
    const struct orr_scheduler *scheduler = &engine->scheduler;
    const struct orr_engine_shard *runner = &engine->options->shards[shard];
    if (!orr_policy_able(runner->policy, ORR_ABLE_STALE_GANGS)) {
        return 0;
    }
    const orr_ms grace = orr_policy_stale_grace_ms(runner->policy, runner->params);
    return shard_count > 1 || grace >= ORR_MS_NEVER / 2
               ? ORR_MS_NEVER
               : grace + 2 * (scheduler->period_ms + scheduler->time.behind_max_ms);
}

/* The same of jobs that state a grace of their own, where their policy looks at it and ends stale
 * gangs at all. */
static void note_own_graces(struct engine *engine, uint32_t shard_count)
{
    struct orr_run *run = engine->run;
    const struct orr_scheduler *scheduler = &engine->scheduler;
    const orr_ms late = 2 * (scheduler->period_ms + scheduler->time.behind_max_ms);
    const uint32_t jobs = engine->world->job_count;
    uint32_t heeds_any = 0;
    for (uint32_t s = 0; s < engine->world->cluster.shards.count; s++) {
        heeds_any |= run->heeds[s] & ORR_HEEDS_JOB_PERIODS;
    }
    for (uint32_t j = 0; heeds_any != 0 && j < jobs; j++) {
        const uint32_t shard = engine->world->queues.queues[engine->world->specs[j].queue].shard;
        const bool heeds = (run->heeds[shard] & ORR_HEEDS_JOB_PERIODS) != 0 &&
                           run->stale_grace_ms[shard] != ORR_MS_NEVER;
        const orr_ms own = heeds ? orr_view_staleness_grace_ms(&engine->view, j) : ORR_MS_NONE;
        if (own == ORR_MS_NONE) {
            continue;
        }
        if (run->own_stale_grace_ms == NULL) {
            run->own_stale_grace_ms = orr_alloc(jobs, sizeof *run->own_stale_grace_ms);
            for (uint32_t k = 0; k < jobs; k++) {
                run->own_stale_grace_ms[k] = ORR_MS_NONE;
            }
        }
        run->own_stale_grace_ms[j] = own < 0 || shard_count > 1 ? ORR_MS_NEVER : own + late;
    }
}

/* What the policy's actions cost, those of several shards together. */
static void note_costs(struct engine *engine)
{
    struct orr_run *run = engine->run;
    struct orr_policy_cost cost;
    for (uint32_t nth = 0; orr_policy_cost(engine->policy, engine->state, nth, &cost); nth++) {
        uint32_t i = 0;
        while (i < run->cost_count && strcmp(run->costs[i].action, cost.action) != 0) {
            i++;
        }
        if (i == run->cost_count && i < ORR_COSTS_MAX) {
            run->costs[run->cost_count++] = (struct orr_policy_cost){.action = cost.action};
        }
        if (i < run->cost_count) {
            run->costs[i].scenarios += cost.scenarios;
        }
    }
}

/* What its pruners were asked, those of several shards together. */
static void note_pruned(struct engine *engine)
{
    struct orr_run *run = engine->run;
    struct orr_policy_pruned one;
    for (uint32_t nth = 0; orr_policy_pruned(engine->policy, engine->state, nth, &one); nth++) {
        uint32_t i = 0;
        while (i < run->pruned_count && strcmp(run->pruned[i].name, one.name) != 0) {
            i++;
        }
        if (i == run->pruned_count && i < ORR_PRUNED_MAX) {
            run->pruned[run->pruned_count++] = (struct orr_policy_pruned){.name = one.name};
        }
        if (i < run->pruned_count) {
            run->pruned[i].asked += one.asked;
            run->pruned[i].refuted += one.refuted;
        }
    }
}

/* Does a job run as the run begins of which less is placed than it has? */
static bool begins_in_part(const struct orr_world *world)
{
    for (uint32_t r = 0; r < world->running_count; r++) {
        const struct orr_job_spec *spec = &world->specs[world->running[r].job];
        if (world->running[r].seat_count < world->shapes.shapes[spec->shape].tasks) {
            return true;
        }
    }
    return false;
}

static bool suspends(const struct orr_engine_options *options, uint32_t shards)
{
    bool any = false;
    for (uint32_t s = 0; s < (shards > 0 ? shards : 1); s++) {
        any = any || orr_policy_suspends(options->shards[s].policy, options->shards[s].params);
    }
    return any;
}

/* What of the execution model the run needs. */
static struct orr_exec *open_exec(const struct orr_world *world,
                                  const struct orr_engine_options *options,
                                  const struct orr_latency *latency, orr_ms round_ms,
                                  struct orr_ledger *ledger)
{
    const struct orr_exec_setting setting = {
        .terms = &world->terms,
        .profiles = &world->profiles,
        .fabric = &world->fabric,
        .contention = world->contention,
        .round_ms = round_ms,
        .failures = options->faults.mtbf_ms > 0 || world->outage_count > 0 ||
                    world->resize_count > 0 || begins_in_part(world),
        .latency = !orr_latency_is_ideal(latency),
        .services = orr_world_has_services(world),
        .time_sliced = world->time_sliced,
        .suspends = suspends(options, world->cluster.shards.count)};
    return orr_exec_open(ledger, &setting);
}

static enum orr_status follow_policy(struct engine *engine, const void *params, struct orr_err *err)
{
    enum orr_status status =
        engine->policy->open(orr_policy_host(), params, &engine->view, &engine->state, err);
    if (status == ORR_OK) {
        orr_engine__nodes_open(engine);
        orr_engine__shares_open(engine);
        engine->view.now = engine->world->first_submit_ms;
        status = orr_engine__loop(engine, err);
        end_last_round(engine);
        orr_engine__shares_close(engine);
        orr_engine__nodes_close(engine);
        note_costs(engine);
        note_pruned(engine);
        engine->policy->close(engine->state);
    } else if (engine->policy == engine->options->shards[0].policy) { /* else shards did so */
        const struct orr_engine_shard *shard = &engine->options->shards[0];
        (void)orr_policy_place(shard->policy, shard->settings, shard->setting_count, err);
    }
    return status;
}

/* Closes the books of a run that came to its end, and checks them. */
static enum orr_status conclude(struct engine *engine, struct orr_err *err)
{
    struct orr_run *run = engine->run;
    orr_fold_finish(&run->fold, run->end_ms);
    if (run->exec != NULL) {
        orr_exec_end(run->exec, run->end_ms);
    }
    orr_account_make(engine->world, run);
    run->digest = run->ledger->digest.h;
    run->queue_change_count = engine->next_queue_change;
    const enum orr_status status = orr_ledger_audit(run->ledger, err);
    return status == ORR_OK ? orr_account_check(run, err) : status;
}

enum orr_status orr_engine_run(const struct orr_world *world,
                               const struct orr_engine_options *options, struct orr_run *run,
                               struct orr_err *err)
{
    *run = (struct orr_run){.end_ms = world->first_submit_ms, .queues = own_queues(world)};
    struct orr_ledger_world ledger_world = {.cluster = &world->cluster,
                                            .queues = run->queues,
                                            .shapes = &world->shapes,
                                            .specs = world->specs,
                                            .job_count = world->job_count};
    const struct orr_latency *latency =
        options->latency == NULL ? orr_latency_find("ideal") : options->latency;
    run->ledger = orr_ledger_open(&ledger_world);
    open_fold(world, options, run);
    uint32_t shard_count = world->cluster.shards.count;
    struct orr_engine_shards *shards =
        shard_count > 1 ? orr_engine_shards_make(options->shards, shard_count) : NULL;
    struct orr_engine_shard runner = {.policy = options->shards[0].policy,
                                      .params = options->shards[0].params};
    if (shards != NULL) {
        runner.policy = orr_engine_shards_policy(shards);
        runner.params = &shards;
    }
    orr_ms round_ms = world->round_ms > 0 ? world->round_ms : orr_policy_round_ms(runner.policy);
    run->begin_ms = world->begin_ms;
    run->exec = open_exec(world, options, latency, round_ms, run->ledger);
    run->heeds = orr_alloc(shard_count, sizeof *run->heeds);
    for (uint32_t s = 0; s < shard_count; s++) {
        run->heeds[s] = orr_policy_heeds(options->shards[s].policy, options->shards[s].params);
        if ((run->heeds[s] & ORR_HEEDS_RESERVATIONS) != 0) {
            orr_ledger_reserve_shared(run->ledger, s);
        }
    }
    struct engine engine = {.world = world,
                            .worn_job = ORR_NONE,
                            .options = options,
                            .policy = runner.policy,
                            .run = run,
                            .ledger = run->ledger,
                            .exec = run->exec,
                            .round_ms = round_ms,
                            .next_cycle_ms = ORR_MS_NEVER,
                            .last_cycle_ms = ORR_MS_NONE,
                            .wake_ms = ORR_MS_NEVER,
                            .look_ms = ORR_MS_NEVER,
                            .branch_ms = options->branching == NULL ? ORR_MS_NEVER
                                                                    : options->branching->at_ms,
                            .instant_ms = ORR_MS_NONE,
                            .untimed_cycles = untimed_cycles(options, runner.policy)};
    engine.txn = orr_txn_open(run->ledger, orr_policy_laws(runner.policy, runner.params));
    engine.shard_laws = shards == NULL ? NULL : orr_engine_shards_laws(shards);
    orr_txn_set_shard_laws(engine.txn, engine.shard_laws);
    if (orr_policy_able(runner.policy, ORR_ABLE_JOINED)) {
        orr_txn_join_nodes(engine.txn);
    }
    if (suspends(options, shard_count)) {
        orr_txn_let_suspend(engine.txn);
    }
    engine.view = (struct orr_view){.cluster = &world->cluster,
                                    .queues = run->queues,
                                    .shapes = &world->shapes,
                                    .specs = world->specs,
                                    .jobs = run->ledger->jobs,
                                    .job_count = world->job_count,
                                    .ledger = run->ledger,
                                    .now = world->first_submit_ms,
                                    .seed = options->seed,
                                    .epoch_ms = options->epoch_ms,
                                    .round_ms = world->round_ms};
    orr_engine__work_open(&engine);
    orr_scheduler_open(&engine.scheduler, latency, runner.policy->cycle_ms, round_ms);
    orr_heap_init(&engine.heap);
    open_holds(&engine);
    engine.steps = orr_zalloc(world->part_count + (size_t)1, sizeof *engine.steps);
    engine.follows = world->terms.crew_count > 0 || orr_world_has_services(world);
    engine.queue_change_ms = orr_engine__queue_change_ms(&engine);
    orr_engine__expect_arrival(&engine, 0);
    orr_engine__state_open(&engine);
    engine.done_ms = round_ms > 0 ? orr_alloc(world->job_count, sizeof *engine.done_ms) : NULL;
    for (uint32_t j = 0; j < world->job_count && round_ms > 0; j++) {
        engine.done_ms[j] = ORR_MS_NONE;
    }
    enum orr_status status = follow_policy(&engine, runner.params, err);
    if (status == ORR_OK) {
        run->stale_grace_ms = orr_alloc(shard_count, sizeof *run->stale_grace_ms);
        run->cycled_ms = orr_alloc(shard_count, sizeof *run->cycled_ms);
        for (uint32_t s = 0; s < shard_count; s++) {
            run->stale_grace_ms[s] = stale_grace_ms(&engine, s, shard_count);
            run->cycled_ms[s] =
                shards == NULL ? engine.last_cycle_ms : orr_engine_shards_cycled_ms(shards, s);
        }
        note_own_graces(&engine, shard_count);
        status = conclude(&engine, err);
    }
    run->latency = engine.scheduler.latency;
    run->scheduler = engine.scheduler.time;
    orr_txn_close(engine.txn);
    orr_engine_shards_release(shards);
    orr_engine__recur_close(&engine);
    orr_free(engine.waits_for);
    orr_free(engine.thinks_until_ms);
    orr_free(engine.steps);
    orr_free(engine.asked);
    orr_free(engine.done_ms);
    orr_free(engine.suspended);
    orr_free(engine.delayed);
    orr_free(engine.ruled);
    orr_heap_release(&engine.heap);
    if (status == ORR_BUG || status == ORR_POLICY) {
        orr_err_prefix(err, "seed %llu, event %llu", (unsigned long long)options->seed,
                       (unsigned long long)run->events);
    }
    if (status != ORR_OK) {
        orr_run_release(run);
    }
    return status;
}

orr_ms orr_run_eligible_ms(const struct orr_world *world, const struct orr_run *run, uint32_t job)
{
    uint32_t hold = world->hold_count == 0 ? ORR_NONE : orr_world_hold_of(world, job);
    return hold == ORR_NONE ? world->specs[job].submit_ms : run->eligible_ms[hold];
}

orr_ms orr_run_late_submit_ms(const struct orr_world *world, const struct orr_run *run,
                              uint32_t job)
{
    const uint32_t hold = orr_world_hold_of(world, job);
    const bool came = hold != ORR_NONE && world->holds[hold].by_user &&
                      run->eligible_ms[hold] != ORR_MS_NONE &&
                      run->eligible_ms[hold] <= run->end_ms;
    return came ? run->eligible_ms[hold] : world->specs[job].submit_ms;
}

void orr_run_release(struct orr_run *run)
{
    orr_exec_close(run->exec); /* it reads the ledger */
    orr_ledger_close(run->ledger);
    orr_fold_release(&run->fold);
    if (run->queues != NULL) {
        orr_free(run->queues->queues);
        orr_free(run->queues);
    }
    orr_free(run->attempts);
    orr_free(run->cycled_ms);
    orr_free(run->stale_grace_ms);
    orr_free(run->own_stale_grace_ms);
    orr_free(run->evictions);
    orr_free(run->suspensions);
    orr_free(run->ruled);
    orr_free(run->outages);
    orr_free(run->cordons);
    orr_free(run->times);
    orr_free(run->wastes);
    orr_free(run->idles);
    orr_free(run->reasons);
    orr_free(run->reprieves);
    orr_free(run->shares);
    orr_free(run->nevers);
    orr_free(run->heeds);
    orr_free(run->eligible_ms);
    orr_free(run->asked);
    orr_free(run->left);
    orr_free(run->bound);
    *run = (struct orr_run){0};
}
