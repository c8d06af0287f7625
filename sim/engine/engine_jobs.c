/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_jobs.c - what happens to jobs: they come, start, end, lose tasks and their room. */
#include <orrery/sim/branch.h>
#include <orrery/sim/never.h>

#include "engine_int.h"

void orr_engine__count_event(struct engine *engine, enum event_class class, uint32_t job)
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

static const struct orr_shape *shape_of(const struct engine *engine, uint32_t job)
{
    return &engine->world->shapes.shapes[engine->world->specs[job].shape];
}

/* What a job of this shape asks, without workers that it has nothing to do for. */
static int64_t asked_mgpu(const struct engine *engine, uint32_t job, const struct orr_shape *shape)
{
    uint32_t unwanted = orr_ledger_unwanted(engine->ledger, job);
    return shape->gpus_mgpu - (unwanted == 0 ? 0 : unwanted * orr_engine__worker_mgpu(engine, job));
}

/* The job's part of what its queue pends: milli-GPU that it asks beyond its tasks that have a
 * place, those in a grace too. A memory ask counts 0, as what it comes to depends on the node. */
static int64_t lacking_mgpu(const struct engine *engine, uint32_t job)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_shape *shape = shape_of(engine, job);
    const struct orr_job_state *state = &ledger->jobs[job];
    if (state->placed_tasks + state->leaving_tasks == shape->tasks && ledger->unwanted == NULL) {
        return 0;
    }
    int64_t mgpu = asked_mgpu(engine, job, shape);
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        mgpu -= placement->tasks * orr_request_mgpu(&shape->groups[placement->group].request);
    }
    return mgpu;
}

/* Milli-GPU that tasks of the job's queue hold, those in a grace too: what the ledger takes off it
 * is what the job gives back. */
static int64_t queue_mgpu(const struct engine *engine, uint32_t job)
{
    const struct orr_queue_use *use = &engine->ledger->use[engine->world->specs[job].queue];
    return use->allocated[ORR_SHARE_GPU] + use->leaving_mgpu;
}

void orr_engine__note_reason(struct engine *engine, uint32_t job, enum orr_reason reason,
                             const struct orr_proof *proof)
{
    struct orr_run *run = engine->run;
    run->reasons = ORR_ROOM_FOR_ONE(run->reasons, run->reason_count, run->reason_capacity);
    run->reasons[run->reason_count++] = (struct orr_reason_change){
        .at_ms = engine->view.now, .job = job, .reason = (uint8_t)reason, .proof = *proof};
}

void orr_engine__want_room(struct engine *engine, uint32_t job)
{
    if (engine->pools != NULL) {
        orr_engine__pools_want(engine, job);
    }
}

void orr_engine__fold(struct engine *engine, uint32_t job, int64_t allocated_mgpu,
                      int64_t pending_mgpu, int64_t pending_jobs)
{
    const struct orr_fold_more more = {
        .allocated = allocated_mgpu, .pending = pending_mgpu, .pending_jobs = pending_jobs};
    const struct orr_run *foreseen = engine->options->foreseen;
    const bool never =
        foreseen != NULL && foreseen->never_count > 0 && orr_never_of(foreseen, job) != NULL;
    orr_fold_change(&engine->run->fold, engine->world->specs[job].queue, engine->view.now, &more,
                    never);
}

/* From now on the job is pending. */
void orr_engine__submit(struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    orr_engine__moved_on(engine);
    orr_ledger_submit(engine->ledger, job);
    if (engine->follows) {
        orr_engine__want_first(engine, job);
    }
    orr_engine__fold(engine, job, 0, asked_mgpu(engine, job, shape_of(engine, job)), 1);
    engine->changed = true;
    if (world->runs_before != NULL && world->runs_before[job]) {
        return; /* the policy hears of it when it runs */
    }
    engine->policy->event(engine->state, &engine->view, ORR_JOB_SUBMITTED, job);
    orr_engine__want_room(engine, job);
    orr_ms patience_ms = world->terms.items[world->specs[job].terms].give_up_ms;
    if (patience_ms > 0) {
        engine->give_up_events++;
        orr_heap_push(&engine->heap,
                      (struct orr_event){.at = engine->view.now + patience_ms,
                                         .subject = job,
                                         .class_seq = orr_engine__class_and(CLASS_GIVE_UP, 0)});
    }
}

static void push_arrival(struct engine *engine, uint32_t job, orr_ms at)
{
    orr_heap_push(&engine->heap,
                  (struct orr_event){.at = at,
                                     .subject = job,
                                     .class_seq = orr_engine__class_and(CLASS_ARRIVAL, 0)});
}

/* Must a job that was submitted still wait, for a time or for the end of others, until it is
 * considered? */
bool orr_engine__must_wait(struct engine *engine, uint32_t index)
{
    const struct orr_world_hold *held = &engine->world->holds[index];
    struct orr_proof nothing = orr_no_proof();
    orr_ms now = engine->view.now;
    if (held->absent) {
        return true;
    }
    if (held->refused) {
        nothing.queue = engine->world->specs[held->job].queue;
        nothing.allowed_mgpu = engine->world->rules[nothing.queue].max_job_mgpu;
        orr_engine__note_reason(engine, held->job, ORR_REASON_LARGEST_JOB, &nothing);
        return true;
    }
    if (engine->waits_for[index] > 0) {
        orr_engine__note_reason(engine, held->job, ORR_REASON_DEPENDENCY, &nothing);
        return true;
    }
    const orr_ms thinks = engine->thinks_until_ms[index];
    const orr_ms from = held->eligible_ms > thinks ? held->eligible_ms : thinks;
    engine->run->eligible_ms[index] = from > now ? from : now;
    if (from > now) {
        orr_engine__note_reason(engine, held->job, ORR_REASON_NOT_ELIGIBLE, &nothing);
        push_arrival(engine, held->job, from);
        return true;
    }
    return false;
}

/* Those that waited for the end of this job, and have come themselves, wait for one less. */
static void free_dependents(struct engine *engine, uint32_t job)
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
        engine->thinks_until_ms[index] = engine->view.now + world->holds[index].think_ms;
        if (engine->waits_for[index] == 0 && index < engine->next_hold &&
            !world->holds[index].refused) {
            if (!orr_engine__must_wait(engine, index)) {
                push_arrival(engine, world->holds[index].job, engine->view.now);
            }
        }
    }
}

static void free_holds(struct engine *engine, uint32_t job)
{
    if (engine->world->edge_count > 0) {
        free_dependents(engine, job);
    }
}

/* A job that was done at `done` gives back what it holds. */
static inline void leave(struct engine *engine, uint32_t job, orr_ms done)
{
    orr_engine__end_suspension(engine, job);
    const int64_t held = queue_mgpu(engine, job), lacking = lacking_mgpu(engine, job);
    orr_ms now = engine->view.now;
    orr_engine__note_leaving(engine, job);
    orr_ledger_finish_late(engine->ledger, job, done, now);
    if (engine->exec != NULL) {
        orr_exec_finish(engine->exec, job, now, now);
    }
    orr_engine__fold(engine, job, queue_mgpu(engine, job) - held, -lacking, 0);
}

static void tell_end(struct engine *engine, uint32_t job)
{
    engine->policy->event(engine->state, &engine->view, ORR_JOB_ENDED, job);
    engine->changed = true;
    orr_engine__moved_on(engine);
}

void orr_engine__end(struct engine *engine, uint32_t job)
{
    leave(engine, job, engine->view.now);
    orr_engine__count_event(engine, CLASS_FINISH, job);
    tell_end(engine, job);
    free_holds(engine, job);
}

/* A rule of its queue bit the job as it ran, beside what was seen of it before. */
static void note_ruled(struct engine *engine, uint32_t job, enum orr_rule rule)
{
    const struct orr_world *world = engine->world;
    struct orr_run *run = engine->run;
    uint32_t low = 0, high = world->ruled_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (world->ruled[middle].job < job) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool known = engine->ruled != NULL && engine->ruled[job];
    for (; low < world->ruled_count && world->ruled[low].job == job; low++) {
        known = known || world->ruled[low].rule == rule;
    }
    if (known) {
        return;
    }
    if (engine->ruled == NULL) {
        engine->ruled = orr_zalloc(world->job_count, sizeof *engine->ruled);
    }
    engine->ruled[job] = true;
    run->ruled = ORR_ROOM_FOR_ONE(run->ruled, run->ruled_count, run->ruled_capacity);
    run->ruled[run->ruled_count++] = (struct orr_world_ruled){.job = job, .rule = (uint8_t)rule};
}

/* When the attempt in hand is ended if it is not done by then; time in which it is suspended does
 * not count. Without exec nothing takes longer than its work, which is cut. */
static orr_ms limit_of(const struct engine *engine, uint32_t job, enum orr_rule *rule)
{
    const struct orr_world *world = engine->world;
    const orr_ms most = world->rules == NULL || engine->exec == NULL
                            ? ORR_MS_NONE
                            : orr_world_longest_ms(world, job, rule);
    if (most == ORR_MS_NONE) {
        return ORR_MS_NEVER;
    }
    const orr_ms at =
        engine->ledger->jobs[job].start_ms + most + orr_engine__suspended_ms(engine, job);
    return at > world->begin_ms ? at : world->begin_ms;
}

/* Does the attempt end before its work is done, because it may take no longer? */
static bool is_ended(struct engine *engine, uint32_t job)
{
    if (engine->exec == NULL || orr_exec_finish_ms(engine->exec, job) <= engine->view.now) {
        return false;
    }
    enum orr_rule rule = ORR_RULE_MAX_RUNTIME;
    (void)limit_of(engine, job, &rule);
    note_ruled(engine, job, rule);
    return true;
}

static void finish_in_round(struct engine *engine, uint32_t job, bool ended)
{
    orr_ms end = orr_round_end(engine->view.now, engine->round_ms);
    engine->done_ms[job] = ended ? engine->view.now : orr_exec_done_ms(engine->exec, job);
    orr_exec_finish(engine->exec, job, engine->done_ms[job], end);
    orr_engine__count_event(engine, CLASS_FINISH, job);
    orr_heap_push(&engine->heap,
                  (struct orr_event){.at = end,
                                     .subject = job,
                                     .class_seq = orr_engine__class_and(CLASS_ROUND, 0)});
    free_holds(engine, job);
}

bool orr_engine__is_done(const struct engine *engine, uint32_t job)
{
    return engine->round_ms > 0 && engine->done_ms[job] != ORR_MS_NONE;
}

void orr_engine__end_round(struct engine *engine, uint32_t job)
{
    if (orr_engine__is_done(engine, job)) {
        leave(engine, job, engine->done_ms[job]);
        tell_end(engine, job);
        engine->done_ms[job] = ORR_MS_NONE;
    }
}

/* It is done at that time, or ended before. Who makes no progress in its grace is neither, nor is
 * who is suspended. */
static void plan_finish(struct engine *engine, uint32_t job, orr_ms at)
{
    enum orr_rule rule;
    if (at != ORR_MS_NEVER || (engine->ledger->jobs[job].phase == ORR_JOB_RUNNING &&
                               !orr_ledger_is_suspended(engine->ledger, job))) {
        const orr_ms limit = limit_of(engine, job, &rule);
        at = at < limit ? at : limit;
    }
    if (at != ORR_MS_NEVER) {
        orr_heap_push(&engine->heap,
                      (struct orr_event){.at = at,
                                         .subject = job,
                                         .class_seq = orr_engine__class_and(
                                             CLASS_FINISH, engine->ledger->jobs[job].incarnation)});
    }
}

/* The finish is that of the plan it has now, or none. */
static void plan_again(struct engine *engine, uint32_t job)
{
    orr_ledger_replan(engine->ledger, job);
    plan_finish(engine, job, orr_exec_finish_ms(engine->exec, job));
}

/* A stage of its work is done, and not the last. */
static bool goes_on(struct engine *engine, uint32_t job)
{
    if (!orr_exec_next_stage(engine->exec, job, engine->view.now)) {
        return false;
    }
    plan_again(engine, job);
    orr_engine__follow_stage(engine, job);
    return true;
}

void orr_engine__finish(struct engine *engine, uint32_t job, uint32_t incarnation)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    if (incarnation != state->incarnation ||
        (state->phase != ORR_JOB_RUNNING && state->phase != ORR_JOB_RELEASING)) {
        return; /* of an attempt or a plan that is over */
    }
    const bool ended = is_ended(engine, job);
    if (engine->exec != NULL && !ended && goes_on(engine, job)) {
        return;
    }
    if (engine->round_ms > 0 && engine->view.now % engine->round_ms != 0 &&
        state->phase == ORR_JOB_RUNNING) {
        finish_in_round(engine, job, ended);
        return;
    }
    orr_engine__end(engine, job);
}

bool orr_engine__waits(const struct engine *engine, uint32_t job)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    return state->phase == ORR_JOB_PENDING && state->attempts == 0;
}

/* It leaves without having run. What waits for its end need not wait for it any more. */
static void withdraw(struct engine *engine, uint32_t job)
{
    const int64_t held = queue_mgpu(engine, job), lacking = lacking_mgpu(engine, job);
    orr_ms now = engine->view.now;
    orr_engine__note_leaving(engine, job);
    orr_ledger_withdraw(engine->ledger, job, now);
    if (engine->exec != NULL) {
        orr_exec_finish(engine->exec, job, now, now);
    }
    orr_engine__fold(engine, job, queue_mgpu(engine, job) - held, -lacking, -1);
    orr_engine__count_event(engine, CLASS_GIVE_UP, job);
    tell_end(engine, job);
    free_holds(engine, job);
}

void orr_engine__give_up(struct engine *engine, uint32_t job)
{
    engine->give_up_events--;
    if (orr_engine__waits(engine, job)) {
        const struct orr_proof nothing = orr_no_proof();
        orr_engine__note_reason(engine, job, ORR_REASON_GAVE_UP, &nothing);
        withdraw(engine, job);
    }
}

void orr_engine__refuse(struct engine *engine, uint32_t job)
{
    if (orr_engine__waits(engine, job)) {
        withdraw(engine, job);
    }
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
    delay = delay == ORR_MS_NONE ? 0 : delay; /* a service goes on at once */
    if (delay > 0) {
        orr_engine__note_reason(engine, job, ORR_REASON_REQUEUE_DELAY, &nothing);
    }
    if (engine->delayed == NULL) {
        engine->delayed = orr_zalloc(engine->world->job_count, sizeof *engine->delayed);
    }
    engine->delayed[job] = true;
    orr_heap_push(&engine->heap,
                  (struct orr_event){.at = engine->view.now + delay,
                                     .subject = job,
                                     .class_seq = orr_engine__class_and(CLASS_REQUEUE, 0)});
}

/* The end of a grace: of the whole job, or of some tasks of one that goes on. */
void orr_engine__release(struct engine *engine, uint32_t job)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    bool whole = state->phase == ORR_JOB_RELEASING;
    uint8_t cause = state->placement == ORR_NONE
                        ? (uint8_t)ORR_CAUSE_NONE
                        : engine->ledger->placements[state->placement].cause;
    const int64_t held = queue_mgpu(engine, job), lacking = lacking_mgpu(engine, job);
    orr_engine__note_leaving(engine, job);
    if (orr_ledger_release(engine->ledger, job, engine->view.now) == 0) {
        return;
    }
    whole = whole && state->phase == ORR_JOB_PENDING;
    const int64_t more_held = queue_mgpu(engine, job) - held;
    const int64_t more_lacking = lacking_mgpu(engine, job) - lacking;
    if (engine->exec != NULL && orr_exec_release(engine->exec, job, engine->view.now)) {
        plan_again(engine, job);
    }
    if (whole) {
        note_attempt(engine, state, job, cause);
    }
    orr_engine__fold(engine, job, more_held, more_lacking, whole);
    orr_engine__follow(engine, job);
    enum orr_job_event event = whole ? ORR_JOB_REQUEUED : ORR_JOB_CHANGED;
    orr_engine__want_room(engine, job);
    if (whole && cause == ORR_CAUSE_MAX_RUNTIME) {
        delay_requeue(engine, job);
        event = ORR_JOB_ENDED; /* to the policy it comes anew when the delay is over */
    }
    if (event != ORR_JOB_CHANGED ||
        orr_policy_hears_changes(engine->policy, &engine->world->specs[job])) {
        engine->policy->event(engine->state, &engine->view, event, job);
    }
    engine->changed = true;
}

void orr_engine__requeue(struct engine *engine, uint32_t job)
{
    engine->delayed[job] = false;
    engine->policy->event(engine->state, &engine->view, ORR_JOB_SUBMITTED, job);
    orr_engine__want_room(engine, job);
    engine->changed = true;
}

void orr_engine__notify_evicted(struct engine *engine, uint32_t job)
{
    if (orr_policy_hears_changes(engine->policy, &engine->world->specs[job])) {
        engine->policy->event(engine->state, &engine->view, ORR_JOB_CHANGED, job);
    }
}

static void plan_limit(struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    if (world->rules != NULL && orr_world_requeues(world, job)) {
        const orr_ms most = world->rules[world->specs[job].queue].max_runtime_ms;
        const orr_ms at = engine->view.now + most;
        orr_heap_push(&engine->heap,
                      (struct orr_event){.at = at > world->begin_ms ? at : world->begin_ms,
                                         .subject = job,
                                         .class_seq = orr_engine__class_and(
                                             CLASS_LIMIT, engine->ledger->jobs[job].attempts)});
    }
}

/* The attempt has run as long as its queue allows: it is evicted, by nobody's decision. Of a
 * service that wants no pods now there is nothing to evict: its time begins anew. */
void orr_engine__reach_limit(struct engine *engine, uint32_t job, uint32_t attempt)
{
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    struct orr_refusal refusal;
    if (state->phase != ORR_JOB_RUNNING || state->attempts != attempt ||
        orr_engine__is_done(engine, job)) {
        return;
    }
    if (state->placement == ORR_NONE) {
        plan_limit(engine, job);
        return;
    }
    if (!orr_txn_evict(engine->txn, job, ORR_CAUSE_MAX_RUNTIME)) {
        return;
    }
    bool committed = orr_txn_commit(engine->txn, engine->view.now, &refusal);
    ORR_ASSERT(committed); /* an eviction breaks no law */
    note_ruled(engine, job, ORR_RULE_MAX_RUNTIME);
    orr_engine__take_decisions(engine);
    orr_txn_end_cycle(engine->txn);
    orr_engine__notify_evicted(engine, job);
}

void orr_engine__replan(struct engine *engine, uint32_t job, enum orr_cause cause)
{
    /* of one that is evicted by a later decision of this instant, that one says all to exec */
    const bool evicted = engine->ledger->jobs[job].phase == ORR_JOB_RELEASING;
    if (engine->exec != NULL && !evicted &&
        orr_exec_change(engine->exec, job, engine->view.now, cause)) {
        plan_again(engine, job);
    }
    orr_engine__follow(engine, job);
}

void orr_engine__plan_anew(struct engine *engine, uint32_t job)
{
    orr_ms end = engine->ledger->jobs[job].start_ms + engine->world->specs[job].work_ms;
    if (engine->exec != NULL) {
        (void)orr_exec_change(engine->exec, job, engine->view.now, ORR_CAUSE_NONE);
        end = orr_exec_finish_ms(engine->exec, job);
    }
    orr_ledger_replan(engine->ledger, job);
    plan_finish(engine, job, end);
}

/* It makes progress from `delay` ms on. */
static void start(struct engine *engine, uint32_t job, orr_ms delay)
{
    plan_limit(engine, job);
    orr_ms end = engine->view.now + engine->world->specs[job].work_ms;
    if (engine->exec != NULL) {
        (void)orr_exec_change(engine->exec, job, engine->view.now, ORR_CAUSE_NONE);
        orr_exec_bind(engine->exec, job, engine->view.now + delay);
        end = orr_exec_finish_ms(engine->exec, job);
    }
    plan_finish(engine, job, end);
    if (engine->ledger->jobs[job].attempts > 1) {
        orr_engine__note_worn(engine, job, end);
    }
}

/* Jobs beside which others came or went have another rate from now on. */
void orr_engine__replan_neighbours(struct engine *engine)
{
    uint32_t count;
    const uint32_t *jobs = orr_exec_affected(engine->exec, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (orr_exec_rerate(engine->exec, jobs[i], engine->view.now)) {
            plan_again(engine, jobs[i]);
        }
    }
}

void orr_engine__lose_tasks(struct engine *engine, const struct orr_txn_decision *decision,
                            orr_ms gone)
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
                              .moved = decision->moved,
                              .cause = decision->cause,
                              .whole = whole,
                              .gone_ms = gone};
    engine->outlasts = true; /* its finish is stale */
    if (whole) {
        orr_engine__end_suspension(engine, job);
    }
    orr_engine__note_left(engine, job);
    orr_ledger_set_release(engine->ledger, job, gone);
    if (!whole) {
        orr_engine__replan(engine, job, (enum orr_cause)decision->cause);
    } else if (engine->exec == NULL) {
        orr_ledger_replan(engine->ledger, job);
    } else {
        orr_exec_evict(engine->exec, job, now, gone, (enum orr_cause)decision->cause);
        plan_again(engine, job); /* who stood still may have a limit to its time planned */
    }
    orr_heap_push(&engine->heap,
                  (struct orr_event){.at = gone,
                                     .subject = job,
                                     .class_seq = orr_engine__class_and(CLASS_RELEASE, 0)});
}

void orr_engine__note_left(struct engine *engine, uint32_t job)
{
    struct orr_run *run = engine->run;
    const struct orr_ledger *ledger = engine->ledger;
    uint32_t p = engine->world->specs[job].scales ? ledger->jobs[job].placement : ORR_NONE;
    for (; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (placement->hold == ORR_HOLD_LEAVING && placement->until_ms == ORR_MS_NONE) {
            run->left = ORR_ROOM_FOR_ONE(run->left, run->left_count, run->left_capacity);
            run->left[run->left_count++] =
                (struct orr_pod_left){.placement = p, .at_ms = engine->view.now};
        }
    }
}

static uint32_t tasks_of(const struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    return job == ORR_NONE ? 0 : world->shapes.shapes[world->specs[job].shape].tasks;
}

static bool tell_started(const struct engine *engine, uint32_t job)
{
    const struct orr_branching *branching = engine->options->branching;
    return branching != NULL && branching->started != NULL &&
           branching->started(branching->context, job, engine->view.now);
}

static void take_suspension(struct engine *engine, const struct orr_txn_decision *decision)
{
    if (decision->deed == ORR_DEED_SUSPEND) {
        orr_engine__suspend(engine, decision);
    } else {
        orr_engine__resume(engine, decision->job);
    }
}

/* Some of its pods have a place, and others may want one. */
static void want_rest(struct engine *engine, uint32_t job)
{
    if (engine->pools != NULL &&
        engine->ledger->jobs[job].placed_tasks < shape_of(engine, job)->tasks) {
        orr_engine__pools_want(engine, job);
    }
}

/* What the policy's commits mean for time: finishes to come, room to be released. */
void orr_engine__take_decisions(struct engine *engine)
{
    uint32_t count;
    const struct orr_txn_decision *decisions = orr_txn_decisions(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_txn_decision *d = &decisions[i];
        if (d->deed == ORR_DEED_SUSPEND || d->deed == ORR_DEED_RESUME) { /* these take no time */
            take_suspension(engine, d);
            continue;
        }
        bool places = d->deed != ORR_DEED_EVICT && d->deed != ORR_DEED_SHRINK;
        if (places) {
            orr_engine__fold(engine, d->job, d->held_mgpu, -d->mgpu, -(d->deed == ORR_DEED_START));
        }
        orr_ms delay =
            engine->scheduler.ideal
                ? 0
                : orr_scheduler_decide(&engine->scheduler, d, tasks_of(engine, d->beneficiary));
        switch ((enum orr_deed)d->deed) {
        case ORR_DEED_START:
            orr_engine__note_bound(engine, d->job, delay);
            start(engine, d->job, delay);
            want_rest(engine, d->job);
            engine->enough = engine->enough || tell_started(engine, d->job);
            break;
        case ORR_DEED_HOLD:
            engine->run->held_part = true;
            orr_engine__note_bound(engine, d->job, delay);
            want_rest(engine, d->job);
            orr_engine__replan(engine, d->job, ORR_CAUSE_NONE);
            break;
        case ORR_DEED_GROW:
            orr_engine__note_bound(engine, d->job, delay);
            orr_engine__replan(engine, d->job, ORR_CAUSE_NONE);
            break;
        case ORR_DEED_SHRINK:
        case ORR_DEED_EVICT:
            orr_engine__lose_tasks(
                engine, d,
                engine->view.now + delay +
                    engine->world->terms.items[engine->world->specs[d->job].terms].grace_ms);
            break;
        case ORR_DEED_SUSPEND:
        case ORR_DEED_RESUME: break;
        }
    }
    if (count > 0 && engine->scheduler.period_ms > 0) {
        engine->changed = true; /* a cycle that did something is followed by another */
    }
}
