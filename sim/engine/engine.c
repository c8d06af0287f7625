/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine.c - the loop: the next instant, its events in order, then the policy's cycle. */
#include <orrery/sim/engine.h>

#include <string.h>

#include <orrery/base/heap.h>
#include <orrery/sim/account.h>

#include "shards.h"

/* Class of an event, in the order of equal times. Arrivals and cycles are not in the heap. */
enum event_class {
    CLASS_FINISH,
    CLASS_RELEASE,
    CLASS_CAPACITY,
    CLASS_ARRIVAL,
    CLASS_CYCLE,
    CLASS_REQUEUE, /* the delay after its longest run time is over */
    CLASS_LIMIT    /* an attempt has run as long as its queue allows */
};

#define PROGRESS_EVERY 8192u

struct engine {
    const struct orr_world *world;
    const struct orr_engine_options *options;
    const struct orr_policy *policy;
    struct orr_run *run;
    struct orr_ledger *ledger;
    struct orr_txn *txn;
    struct orr_exec *exec; /* NULL: work is wall time */
    void *state;           /* the policy's */
    struct orr_view view;
    struct orr_heap heap;
    uint32_t next_arrival;
    uint32_t next_hold;   /* of the world: those before it have come */
    uint32_t *waits_for;  /* per hold: jobs whose end it still waits for */
    bool changed;         /* something happened since the last cycle */
    orr_ms next_cycle_ms; /* on a grid; ORR_MS_NEVER when none is due */
    orr_ms last_cycle_ms; /* ORR_MS_NONE: none yet */
    orr_ms wake_ms;       /* the policy asked for it; ORR_MS_NEVER */
    struct orr_faults faults;
    uint32_t fault_events; /* in the heap */
    uint32_t down_count;   /* nodes */
    orr_ms instant_ms;     /* the last one, for counting distinct times */
};

static uint32_t class_and(enum event_class class, uint32_t incarnation)
{
    return (uint32_t) class << 24 | (incarnation & 0xffffff);
}

static int64_t job_mgpu(const struct engine *engine, uint32_t job)
{
    return engine->world->shapes.shapes[engine->world->specs[job].shape].gpus_mgpu;
}

static void take_decisions(struct engine *engine);

static void count_event(struct engine *engine, enum event_class class, uint32_t job)
{
    struct orr_run *run = engine->run;
    orr_digest_fold(&engine->ledger->digest, (uint64_t)engine->view.now);
    orr_digest_fold(&engine->ledger->digest, (uint64_t) class << 56 | job);
    run->events++;
    const struct orr_engine_options *options = engine->options;
    if (options->digest_every > 0 && run->events % options->digest_every == 0) {
        options->checkpoint(run->events, engine->view.now, engine->ledger->digest.h,
                            options->progress_context);
    }
}

/* What the tasks asked that the job holds, leaving ones too: all of it, unless it is elastic. */
static int64_t held_mgpu(const struct engine *engine, uint32_t job)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_shape *shape = &engine->world->shapes.shapes[engine->world->specs[job].shape];
    if (ledger->jobs[job].placed_tasks == shape->tasks) {
        return shape->gpus_mgpu;
    }
    int64_t mgpu = 0;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        mgpu += placement->tasks * orr_request_mgpu(&shape->groups[placement->group].request);
    }
    return mgpu;
}

static void note_reason(struct engine *engine, uint32_t job, enum orr_reason reason,
                        const struct orr_proof *proof)
{
    struct orr_run *run = engine->run;
    run->reasons = ORR_ROOM_FOR_ONE(run->reasons, run->reason_count, run->reason_capacity);
    run->reasons[run->reason_count++] = (struct orr_reason_change){
        .at_ms = engine->view.now, .job = job, .reason = (uint8_t)reason, .proof = *proof};
}

/* From now on the job is pending. */
static void submit(struct engine *engine, uint32_t job)
{
    orr_ledger_submit(engine->ledger, job);
    orr_fold_change(&engine->run->fold, engine->world->specs[job].queue, engine->view.now, 0,
                    job_mgpu(engine, job), 1);
    engine->policy->event(engine->state, &engine->view, ORR_JOB_SUBMITTED, job);
    engine->changed = true;
}

static void push_arrival(struct engine *engine, uint32_t job, orr_ms at)
{
    orr_heap_push(
        &engine->heap,
        (struct orr_event){.at = at, .subject = job, .class_seq = class_and(CLASS_ARRIVAL, 0)});
}

/* Must a job that was submitted still wait, for a time or for the end of others, until it is
 * considered? */
static bool must_wait(struct engine *engine, uint32_t index)
{
    const struct orr_world_hold *held = &engine->world->holds[index];
    struct orr_proof nothing = orr_no_proof();
    orr_ms now = engine->view.now;
    if (held->refused) {
        nothing.queue = engine->world->specs[held->job].queue;
        nothing.allowed_mgpu = engine->world->rules[nothing.queue].max_job_mgpu;
        note_reason(engine, held->job, ORR_REASON_LARGEST_JOB, &nothing);
        return true;
    }
    if (engine->waits_for[index] > 0) {
        note_reason(engine, held->job, ORR_REASON_DEPENDENCY, &nothing);
        return true;
    }
    engine->run->eligible_ms[index] = held->eligible_ms > now ? held->eligible_ms : now;
    if (held->eligible_ms > now) {
        note_reason(engine, held->job, ORR_REASON_NOT_ELIGIBLE, &nothing);
        push_arrival(engine, held->job, held->eligible_ms);
        return true;
    }
    return false;
}

/* Those that waited for the end of this job, and have come themselves, wait for one less. */
static void free_holds(struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    uint32_t low = 0, high = world->edge_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (world->edges[middle].job < job) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < world->edge_count && world->edges[low].job == job; low++) {
        uint32_t index = world->edges[low].hold;
        engine->waits_for[index]--;
        if (engine->waits_for[index] == 0 && index < engine->next_hold &&
            !world->holds[index].refused) {
            if (!must_wait(engine, index)) {
                push_arrival(engine, world->holds[index].job, engine->view.now);
            }
        }
    }
}

static void finish(struct engine *engine, uint32_t job)
{
    int64_t held = held_mgpu(engine, job);
    orr_ledger_finish(engine->ledger, job, engine->view.now);
    if (engine->exec != NULL) {
        orr_exec_finish(engine->exec, job, engine->view.now);
    }
    orr_fold_change(&engine->run->fold, engine->world->specs[job].queue, engine->view.now, -held,
                    held - job_mgpu(engine, job), 0);
    count_event(engine, CLASS_FINISH, job);
    engine->policy->event(engine->state, &engine->view, ORR_JOB_ENDED, job);
    engine->changed = true;
    free_holds(engine, job);
}

static void note_attempt(struct engine *engine, const struct orr_job_state *state, uint32_t job,
                         uint8_t cause)
{
    struct orr_run *run = engine->run;
    run->attempts = ORR_ROOM_FOR_ONE(run->attempts, run->attempt_count, run->attempt_capacity);
    run->attempts[run->attempt_count++] = (struct orr_attempt){
        .job = job, .start_ms = state->start_ms, .end_ms = engine->view.now, .cause = cause};
}

/* Evicted after its longest run time: queued again, but later. */
static void delay_requeue(struct engine *engine, uint32_t job)
{
    const struct orr_proof nothing = orr_no_proof();
    orr_ms delay = engine->world->rules[engine->world->specs[job].queue].requeue_delay_ms;
    if (delay > 0) {
        note_reason(engine, job, ORR_REASON_REQUEUE_DELAY, &nothing);
    }
    orr_heap_push(&engine->heap, (struct orr_event){.at = engine->view.now + delay,
                                                    .subject = job,
                                                    .class_seq = class_and(CLASS_REQUEUE, 0)});
}

/* The end of a grace: of the whole job, or of some tasks of one that goes on. */
static void release(struct engine *engine, uint32_t job)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    bool whole = state->phase == ORR_JOB_RELEASING;
    uint8_t cause = state->placement == ORR_NONE
                        ? (uint8_t)ORR_CAUSE_NONE
                        : engine->ledger->placements[state->placement].cause;
    int64_t held = held_mgpu(engine, job);
    if (orr_ledger_release(engine->ledger, job, engine->view.now) == 0) {
        engine->run->stale_events++;
        return;
    }
    held -= held_mgpu(engine, job);
    whole = whole && state->phase == ORR_JOB_PENDING;
    if (engine->exec != NULL) {
        orr_exec_release(engine->exec, job, engine->view.now);
    }
    if (whole) {
        note_attempt(engine, state, job, cause);
    }
    orr_fold_change(&engine->run->fold, engine->world->specs[job].queue, engine->view.now, -held,
                    held, whole);
    enum orr_job_event event = whole ? ORR_JOB_REQUEUED : ORR_JOB_CHANGED;
    if (whole && cause == ORR_CAUSE_MAX_RUNTIME) {
        delay_requeue(engine, job);
        event = ORR_JOB_ENDED; /* to the policy it comes anew when the delay is over */
    }
    if (event != ORR_JOB_CHANGED || orr_policy_able(engine->policy, ORR_ABLE_PARTS)) {
        engine->policy->event(engine->state, &engine->view, event, job);
    }
    engine->changed = true;
}

static void requeue(struct engine *engine, uint32_t job)
{
    engine->policy->event(engine->state, &engine->view, ORR_JOB_SUBMITTED, job);
    engine->changed = true;
}

/* The attempt has run as long as its queue allows: it is evicted, by nobody's decision. */
static void reach_limit(struct engine *engine, uint32_t job, uint32_t attempt)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    struct orr_refusal refusal;
    if (state->phase != ORR_JOB_RUNNING || state->attempts != attempt ||
        !orr_txn_evict(engine->txn, job, ORR_CAUSE_MAX_RUNTIME)) {
        engine->run->stale_events++;
        return;
    }
    bool committed = orr_txn_commit(engine->txn, engine->view.now, &refusal);
    ORR_ASSERT(committed); /* an eviction breaks no law */
    take_decisions(engine);
    orr_txn_end_cycle(engine->txn);
}

static void change_capacity(struct engine *engine, uint32_t unit, bool down);

static void run_due_events(struct engine *engine)
{
    orr_ms now = engine->view.now;
    const struct orr_event *top = orr_heap_top(&engine->heap);
    for (; top != NULL && top->at == now; top = orr_heap_top(&engine->heap)) {
        struct orr_event event = orr_heap_pop(&engine->heap);
        const struct orr_job_state *state = &engine->ledger->jobs[event.subject];
        if (event.class_seq >> 24 == CLASS_ARRIVAL) {
            submit(engine, event.subject);
        } else if (event.class_seq >> 24 == CLASS_CAPACITY) {
            change_capacity(engine, event.subject, (event.class_seq & 1) != 0);
        } else if (event.class_seq >> 24 == CLASS_RELEASE) {
            release(engine, event.subject);
        } else if (event.class_seq >> 24 == CLASS_REQUEUE) {
            requeue(engine, event.subject);
        } else if (event.class_seq >> 24 == CLASS_LIMIT) {
            reach_limit(engine, event.subject, event.class_seq & 0xffffff);
        } else if ((event.class_seq & 0xffffff) == state->incarnation &&
                   (state->phase == ORR_JOB_RUNNING || state->phase == ORR_JOB_RELEASING)) {
            finish(engine, event.subject);
        } else {
            engine->run->stale_events++; /* of an attempt or a plan that is over */
        }
    }
}

static void run_arrivals(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    orr_ms now = engine->view.now;
    while (engine->next_arrival < world->job_count &&
           world->specs[engine->next_arrival].submit_ms == now) {
        uint32_t job = engine->next_arrival++;
        count_event(engine, CLASS_ARRIVAL, job);
        bool held =
            engine->next_hold < world->hold_count && world->holds[engine->next_hold].job == job;
        if (!held || !must_wait(engine, engine->next_hold++)) {
            submit(engine, job);
        }
    }
}

static void plan_finish(struct engine *engine, uint32_t job, orr_ms at)
{
    if (at != ORR_MS_NEVER) {
        orr_heap_push(&engine->heap,
                      (struct orr_event){.at = at,
                                         .subject = job,
                                         .class_seq = class_and(
                                             CLASS_FINISH, engine->ledger->jobs[job].incarnation)});
    }
}

/* Its placements changed while it goes on: another finish makes the planned one stale. */
static void replan(struct engine *engine, uint32_t job, enum orr_cause cause)
{
    if (engine->exec != NULL && orr_exec_change(engine->exec, job, engine->view.now, cause)) {
        orr_ledger_replan(engine->ledger, job);
        plan_finish(engine, job, orr_exec_finish_ms(engine->exec, job));
    }
}

static void plan_limit(struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    if (world->rules != NULL && orr_world_requeues(world, job)) {
        orr_ms most = world->rules[world->specs[job].queue].max_runtime_ms;
        orr_heap_push(&engine->heap,
                      (struct orr_event){
                          .at = engine->view.now + most,
                          .subject = job,
                          .class_seq = class_and(CLASS_LIMIT, engine->ledger->jobs[job].attempts)});
    }
}

static void start(struct engine *engine, uint32_t job)
{
    plan_limit(engine, job);
    if (engine->exec == NULL) {
        plan_finish(engine, job, engine->view.now + engine->world->specs[job].work_ms);
    } else {
        (void)orr_exec_change(engine->exec, job, engine->view.now, ORR_CAUSE_NONE);
        plan_finish(engine, job, orr_exec_finish_ms(engine->exec, job));
    }
}

/* Jobs beside which others came or went have another rate from now on. */
static void replan_neighbours(struct engine *engine)
{
    uint32_t count;
    const uint32_t *jobs = orr_exec_affected(engine->exec, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (orr_exec_rerate(engine->exec, jobs[i], engine->view.now)) {
            orr_ledger_replan(engine->ledger, jobs[i]);
            plan_finish(engine, jobs[i], orr_exec_finish_ms(engine->exec, jobs[i]));
        }
    }
}

static void lose_tasks(struct engine *engine, const struct orr_txn_decision *decision, orr_ms gone)
{
    struct orr_run *run = engine->run;
    uint32_t job = decision->job;
    bool whole = decision->deed == ORR_DEED_EVICT;
    orr_ms now = engine->view.now;
    run->evictions = ORR_ROOM_FOR_ONE(run->evictions, run->eviction_count, run->eviction_capacity);
    run->evictions[run->eviction_count++] =
        (struct orr_eviction){.at_ms = now,
                              .job = job,
                              .beneficiary = decision->beneficiary,
                              .tasks = decision->tasks,
                              .cause = decision->cause,
                              .whole = whole,
                              .gone_ms = gone};
    orr_ledger_set_release(engine->ledger, job, gone);
    if (!whole) {
        replan(engine, job, (enum orr_cause)decision->cause);
    } else if (engine->exec == NULL ||
               !orr_exec_evict(engine->exec, job, now, gone, (enum orr_cause)decision->cause)) {
        orr_ledger_replan(engine->ledger, job);
    }
    orr_heap_push(
        &engine->heap,
        (struct orr_event){.at = gone, .subject = job, .class_seq = class_and(CLASS_RELEASE, 0)});
}

/* What the policy's commits mean for time: finishes to come, room to be released. */
static void take_decisions(struct engine *engine)
{
    uint32_t count;
    const struct orr_txn_decision *decisions = orr_txn_decisions(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_txn_decision *d = &decisions[i];
        bool places = d->deed != ORR_DEED_EVICT && d->deed != ORR_DEED_SHRINK;
        if (places) {
            orr_fold_change(&engine->run->fold, engine->world->specs[d->job].queue,
                            engine->view.now, d->mgpu, -d->mgpu, -(d->deed == ORR_DEED_START));
        }
        switch ((enum orr_deed)d->deed) {
        case ORR_DEED_START: start(engine, d->job); break;
        case ORR_DEED_HOLD:
            engine->run->held_part = true;
            replan(engine, d->job, ORR_CAUSE_NONE);
            break;
        case ORR_DEED_GROW: replan(engine, d->job, ORR_CAUSE_NONE); break;
        case ORR_DEED_SHRINK:
        case ORR_DEED_EVICT:
            lose_tasks(engine, d,
                       engine->view.now +
                           engine->world->terms.items[engine->world->specs[d->job].terms].grace_ms);
            break;
        }
    }
    if (count > 0 && engine->policy->cycle_ms > 0) {
        engine->changed = true; /* a cycle that did something is followed by another */
    }
}

/* --- what breaks --- */

/* Evicts and releases at once what a job has on a node that fails. What is left of its gang follows
 * by its grace, unless the policy sees to gangs that fell below their minimum. */
static void lose_node(struct engine *engine, uint32_t job, uint32_t node)
{
    struct orr_ledger *ledger = engine->ledger;
    const struct orr_job_state *state = &ledger->jobs[job];
    struct orr_refusal refusal;
    bool whole = state->phase == ORR_JOB_RUNNING;
    for (uint32_t p = state->placement; p != ORR_NONE && whole; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        whole = placement->hold != ORR_HOLD_KEPT || placement->node == node;
    }
    if (whole) {
        (void)orr_txn_evict(engine->txn, job, ORR_CAUSE_NODE_FAILURE);
    }
    for (uint32_t p = state->placement; p != ORR_NONE && !whole; p = ledger->placements[p].next) {
        if (ledger->placements[p].node == node) {
            (void)orr_txn_evict_tasks(engine->txn, job, p, ledger->placements[p].tasks,
                                      ORR_CAUSE_NODE_FAILURE, ORR_NONE);
        }
    }
    bool lawful = orr_txn_commit(engine->txn, engine->view.now, &refusal);
    ORR_ASSERT(lawful); /* nothing was placed */
    uint32_t count;
    const struct orr_txn_decision *decisions = orr_txn_decisions(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        lose_tasks(engine, &decisions[i], engine->view.now);
    }
    orr_txn_end_cycle(engine->txn);
    orr_ledger_cut_grace(ledger, job, node, engine->view.now);
    release(engine, job);
    bool broken = state->phase == ORR_JOB_RUNNING &&
                  state->placed_tasks <
                      engine->world->shapes.shapes[engine->world->specs[job].shape].min_tasks;
    if (broken && !orr_policy_able(engine->policy, ORR_ABLE_STALE_GANGS) &&
        orr_txn_evict(engine->txn, job, ORR_CAUSE_NODE_FAILURE)) {
        lawful = orr_txn_commit(engine->txn, engine->view.now, &refusal);
        ORR_ASSERT(lawful);
        take_decisions(engine);
        orr_txn_end_cycle(engine->txn);
    }
}

static bool is_on(const struct orr_ledger *ledger, uint32_t job, uint32_t node)
{
    uint8_t phase = ledger->jobs[job].phase;
    if (phase == ORR_JOB_FUTURE || phase == ORR_JOB_FINISHED) {
        return false;
    }
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        if (ledger->placements[p].node == node) {
            return true;
        }
    }
    return false;
}

static void set_down(struct engine *engine, uint32_t node, bool down)
{
    struct orr_run *run = engine->run;
    for (uint32_t j = 0; j < engine->next_arrival && down; j++) { /* failures are rare */
        if (is_on(engine->ledger, j, node)) {
            lose_node(engine, j, node);
        }
    }
    orr_ledger_set_down(engine->ledger, node, down);
    if (down) {
        run->outages = ORR_ROOM_FOR_ONE(run->outages, run->outage_count, run->outage_capacity);
        run->outages[run->outage_count++] =
            (struct orr_outage){.node = node, .from_ms = engine->view.now, .to_ms = ORR_MS_NEVER};
    }
    for (uint32_t i = run->outage_count; i-- > 0 && !down;) {
        if (run->outages[i].node == node) {
            run->outages[i].to_ms = engine->view.now;
            break;
        }
    }
    engine->down_count += down ? 1 : 0;
    engine->down_count -= down ? 0 : 1;
    orr_policy_tell_node(engine->policy, engine->state, &engine->view, node);
}

static void plan_fault(struct engine *engine, uint32_t unit, bool down)
{
    orr_ms after = down ? orr_faults_works_ms(&engine->faults, unit)
                        : orr_faults_repaired_ms(&engine->faults, unit);
    orr_heap_push(&engine->heap, (struct orr_event){.at = engine->view.now + after,
                                                    .subject = unit,
                                                    .class_seq = class_and(CLASS_CAPACITY, down)});
    engine->fault_events++;
}

/* The unit fails, or is repaired: with it all its nodes. */
static void change_capacity(struct engine *engine, uint32_t unit, bool down)
{
    const struct orr_cluster *cluster = &engine->world->cluster;
    uint32_t level = engine->options->faults.level;
    engine->fault_events--;
    count_event(engine, CLASS_CAPACITY, unit);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        if (orr_cluster_domain(cluster, level, n) == unit) {
            set_down(engine, n, down);
        }
    }
    engine->changed = true;
    plan_fault(engine, unit, !down);
}

/* Nothing is left but failures to come: what waits now waits for ever. */
static bool only_faults_left(const struct engine *engine)
{
    return engine->fault_events > 0 && engine->fault_events == engine->heap.count &&
           engine->down_count == 0 && engine->next_arrival == engine->world->job_count &&
           engine->next_cycle_ms == ORR_MS_NEVER && engine->wake_ms == ORR_MS_NEVER;
}

static void take_explanations(struct engine *engine)
{
    uint32_t count;
    const struct orr_explanation *said = orr_txn_explanations(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        note_reason(engine, said[i].job, said[i].reason, &said[i].proof);
    }
}

static enum orr_status check_books(const struct engine *engine, struct orr_err *err)
{
    enum orr_status status = orr_ledger_audit(engine->ledger, err);
    return status == ORR_OK ? orr_policy_audit(engine->policy, engine->state, &engine->view, err)
                            : status;
}

static enum orr_status run_cycle(struct engine *engine, struct orr_err *err)
{
    struct orr_refusal refusal;
    engine->changed = false;
    engine->last_cycle_ms = engine->view.now;
    engine->run->cycles++;
    engine->policy->cycle(engine->state, &engine->view, engine->txn);
    if (!orr_txn_commit(engine->txn, engine->view.now, &refusal)) {
        char name[512];
        return orr_fail(err, ORR_POLICY, "policy %s at %lld ms, job %s: %s", engine->policy->name,
                        (long long)engine->view.now,
                        orr_world_job_name(engine->world, refusal.job, name, sizeof name),
                        refusal.text);
    }
    take_decisions(engine);
    take_explanations(engine);
    orr_txn_end_cycle(engine->txn);
    engine->wake_ms = engine->policy->wake == NULL
                          ? ORR_MS_NEVER
                          : engine->policy->wake(engine->state, &engine->view);
    return engine->options->check_books ? check_books(engine, err) : ORR_OK;
}

/* The next time anything happens, or ORR_MS_NEVER. */
static orr_ms next_instant(const struct engine *engine)
{
    orr_ms next = ORR_MS_NEVER;
    if (engine->next_arrival < engine->world->job_count) {
        next = engine->world->specs[engine->next_arrival].submit_ms;
    }
    const struct orr_event *top = orr_heap_top(&engine->heap);
    if (top != NULL && top->at < next) {
        next = top->at;
    }
    if (engine->next_cycle_ms < next) {
        next = engine->next_cycle_ms;
    }
    return engine->wake_ms < next ? engine->wake_ms : next;
}

/* Is a cycle due at this instant? On a grid it waits for the next point of the run's clock. */
static bool cycle_due(struct engine *engine)
{
    orr_ms period = engine->policy->cycle_ms;
    orr_ms now = engine->view.now;
    bool wanted = engine->changed || now >= engine->wake_ms;
    if (period == 0 || !wanted) {
        engine->next_cycle_ms = ORR_MS_NEVER;
        return wanted;
    }
    orr_ms past = now % period;
    if (past == 0 && now != engine->last_cycle_ms) {
        return true;
    }
    /* also when this point's cycle was run: what it evicted is seen at the next (KAI 4.1) */
    engine->next_cycle_ms = now - past + (past < 0 ? 0 : period);
    return false;
}

static enum orr_status run_instant(struct engine *engine, orr_ms now, struct orr_err *err)
{
    struct orr_run *run = engine->run;
    engine->view.now = now;
    if (now != engine->instant_ms) {
        run->distinct_times++;
        engine->instant_ms = now;
    }
    orr_fold_advance(&run->fold, now);
    run_due_events(engine);
    run_arrivals(engine);
    if (cycle_due(engine)) {
        enum orr_status status = run_cycle(engine, err);
        if (status != ORR_OK) {
            return status;
        }
        if (engine->changed) {
            engine->next_cycle_ms = now + engine->policy->cycle_ms;
        }
    }
    if (engine->exec != NULL) {
        replan_neighbours(engine);
    }
    const struct orr_event *next = orr_heap_top(&engine->heap);
    if (next != NULL) { /* it came long ago: in a long trace its records are out of the caches */
        __builtin_prefetch(&engine->ledger->jobs[next->subject]);
        __builtin_prefetch(&engine->world->specs[next->subject]);
    }
    uint32_t waiting = engine->ledger->pending_jobs;
    run->queue_len_max = waiting > run->queue_len_max ? waiting : run->queue_len_max;
    run->end_ms = now;
    return ORR_OK;
}

static void report_progress(const struct engine *engine)
{
    const struct orr_engine_options *options = engine->options;
    if (options->progress != NULL) {
        options->progress(engine->run->events, 2 * (uint64_t)engine->world->job_count,
                          engine->view.now, options->progress_context);
    }
}

static enum orr_status loop(struct engine *engine, struct orr_err *err)
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
        orr_ms next = next_instant(engine);
        if (next == ORR_MS_NEVER || only_faults_left(engine)) {
            return ORR_OK;
        }
        if (next > options->horizon_ms) {
            engine->run->status = ORR_RUN_HORIZON;
            engine->run->end_ms = options->horizon_ms;
            return ORR_OK;
        }
        enum orr_status status = run_instant(engine, next, err);
        if (status != ORR_OK) {
            return status;
        }
    }
}

static void open_holds(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    engine->waits_for = orr_alloc(world->hold_count + (size_t)1, sizeof *engine->waits_for);
    engine->run->eligible_ms =
        orr_alloc(world->hold_count + (size_t)1, sizeof *engine->run->eligible_ms);
    for (uint32_t i = 0; i < world->hold_count; i++) {
        engine->waits_for[i] = world->holds[i].waits_for;
        engine->run->eligible_ms[i] = ORR_MS_NONE;
    }
}

static void open_fold(const struct orr_world *world, const struct orr_engine_options *options,
                      struct orr_run *run)
{
    uint32_t shards = world->cluster.shards.count;
    int64_t *capacity_mgpu = orr_alloc(shards, sizeof *capacity_mgpu);
    for (uint32_t s = 0; s < shards; s++) {
        capacity_mgpu[s] = run->ledger->shards[s].total_gpus * ORR_MGPU;
    }
    orr_fold_init(&run->fold, &world->queues, capacity_mgpu, shards, world->first_submit_ms,
                  options->window_start_ms, options->window_end_ms);
    orr_free(capacity_mgpu);
}

enum orr_status orr_engine_run(const struct orr_world *world,
                               const struct orr_engine_options *options, struct orr_run *run,
                               struct orr_err *err)
{
    struct orr_ledger_world ledger_world = {.cluster = &world->cluster,
                                            .queues = &world->queues,
                                            .shapes = &world->shapes,
                                            .specs = world->specs,
                                            .job_count = world->job_count};
    *run = (struct orr_run){.end_ms = world->first_submit_ms};
    run->ledger = orr_ledger_open(&ledger_world);
    open_fold(world, options, run);
    const struct orr_exec_setting setting = {.terms = &world->terms,
                                             .profiles = &world->profiles,
                                             .fabric = &world->fabric,
                                             .contention = world->contention,
                                             .failures = options->faults.mtbf_ms > 0,
                                             .time_sliced = world->time_sliced};
    run->exec = orr_exec_open(run->ledger, &setting);
    uint32_t shard_count = world->cluster.shards.count;
    struct orr_engine_shards *shards =
        shard_count > 1 ? orr_engine_shards_make(options->shards, shard_count) : NULL;
    struct orr_engine_shard runner = {.policy = options->shards[0].policy,
                                      .params = options->shards[0].params};
    if (shards != NULL) {
        runner = (struct orr_engine_shard){orr_engine_shards_policy(shards), &shards};
    }
    struct engine engine = {.world = world,
                            .options = options,
                            .policy = runner.policy,
                            .run = run,
                            .ledger = run->ledger,
                            .exec = run->exec,
                            .next_cycle_ms = ORR_MS_NEVER,
                            .last_cycle_ms = ORR_MS_NONE,
                            .wake_ms = ORR_MS_NEVER,
                            .instant_ms = ORR_MS_NONE};
    engine.txn = orr_txn_open(run->ledger, orr_policy_laws(runner.policy, runner.params));
    orr_txn_set_shard_laws(engine.txn, shards == NULL ? NULL : orr_engine_shards_laws(shards));
    engine.view = (struct orr_view){.cluster = &world->cluster,
                                    .queues = &world->queues,
                                    .shapes = &world->shapes,
                                    .specs = world->specs,
                                    .jobs = run->ledger->jobs,
                                    .job_count = world->job_count,
                                    .ledger = run->ledger,
                                    .now = world->first_submit_ms,
                                    .epoch_ms = options->epoch_ms};
    orr_heap_init(&engine.heap);
    open_holds(&engine);
    enum orr_status status =
        runner.policy->open(orr_policy_host(), runner.params, &engine.view, &engine.state, err);
    if (status == ORR_OK) {
        orr_faults_open(&engine.faults, &world->cluster, &options->faults, options->seed);
        for (uint32_t u = 0; u < engine.faults.unit_count; u++) {
            plan_fault(&engine, u, true);
        }
        status = loop(&engine, err);
        orr_faults_close(&engine.faults);
        runner.policy->close(engine.state);
    }
    if (status == ORR_OK) {
        orr_fold_finish(&run->fold, run->end_ms);
        if (run->exec != NULL) {
            orr_exec_end(run->exec, run->end_ms);
        }
        orr_account_make(run);
        run->digest = run->ledger->digest.h;
        status = orr_ledger_audit(run->ledger, err);
    }
    if (status == ORR_OK) {
        status = orr_account_check(run, err);
    }
    orr_txn_close(engine.txn);
    orr_engine_shards_release(shards);
    orr_free(engine.waits_for);
    orr_heap_release(&engine.heap);
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

void orr_run_release(struct orr_run *run)
{
    orr_exec_close(run->exec); /* it reads the ledger */
    orr_ledger_close(run->ledger);
    orr_fold_release(&run->fold);
    orr_free(run->attempts);
    orr_free(run->evictions);
    orr_free(run->outages);
    orr_free(run->times);
    orr_free(run->reasons);
    orr_free(run->eligible_ms);
    *run = (struct orr_run){0};
}
