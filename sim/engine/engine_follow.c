/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_follow.c - jobs whose pods come and go while they run: workers that follow the backlog of
 * their own job, stage by stage, and a service's pods that follow its requests.
 *
 * It is worked out how many of the last task group are wanted now. The policy places what is
 * missing, as it places what an elastic job has not; those that are too many leave, the last
 * started first: workers when they have idled long enough, a service's pods at once (its
 * stabilisation window is in what is wanted).
 *
 * Only under policies that can (ORR_ABLE_PARTS; for services also ORR_ABLE_SCALE): under others
 * all pods start at once, and stay. */
#include "engine_int.h"

static const struct orr_terms *terms_of(const struct engine *engine, uint32_t job)
{
    return &engine->world->terms.items[engine->world->specs[job].terms];
}

static const struct orr_crew *crew_of(const struct engine *engine, uint32_t job)
{
    return &engine->world->terms.crews[terms_of(engine, job)->crew - 1];
}

static const struct orr_world_service *service_of(const struct engine *engine, uint32_t job)
{
    return engine->world->parts[terms_of(engine, job)->service - 1].service;
}

const struct orr_policy *orr_engine__policy_of(const struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    return engine->options->shards[world->queues.queues[world->specs[job].queue].shard].policy;
}

static bool is_followed(const struct engine *engine, uint32_t job)
{
    if (!engine->follows) {
        return false;
    }
    const struct orr_terms *terms = terms_of(engine, job);
    return (terms->crew > 0 || terms->service > 0) &&
           orr_policy_hears_changes(orr_engine__policy_of(engine, job), &engine->world->specs[job]);
}

static const struct orr_task_group *last_group(const struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    const struct orr_shape *shape = &world->shapes.shapes[world->specs[job].shape];
    return &shape->groups[shape->group_count - 1];
}

int64_t orr_engine__worker_mgpu(const struct engine *engine, uint32_t job)
{
    return orr_request_mgpu(&last_group(engine, job)->request);
}

static uint32_t wanted_of(const struct engine *engine, uint32_t job)
{
    const uint32_t service = terms_of(engine, job)->service;
    return service == 0 ? orr_exec_wanted(engine->exec, job)
                        : service_of(engine, job)->steps[engine->steps[service - 1]].pods;
}

/* Of that group: those that it keeps, and with `leaving` those too whose grace is not over. */
static uint32_t held_of(const struct engine *engine, uint32_t job, bool leaving)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_world *world = engine->world;
    const uint32_t last = world->shapes.shapes[world->specs[job].shape].group_count - 1;
    uint32_t held = 0;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        bool counts = placement->group == last && (leaving || placement->hold == ORR_HOLD_KEPT);
        held += counts ? placement->tasks : 0;
    }
    return held;
}

/* What the job asks from now on: so many of all its pods. The last word of an instant stands. */
static void note_asked(struct engine *engine, uint32_t job)
{
    struct orr_run *run = engine->run;
    const struct orr_world *world = engine->world;
    const uint32_t pods = world->shapes.shapes[world->specs[job].shape].tasks;
    const struct orr_asked_change change = {.at_ms = engine->view.now,
                                            .job = job,
                                            .pods =
                                                pods - orr_ledger_unwanted(engine->ledger, job)};
    if (engine->asked == NULL) {
        engine->asked = orr_zalloc(world->job_count, sizeof *engine->asked);
    }
    if (engine->asked[job] > 0 && run->asked[engine->asked[job] - 1].at_ms == change.at_ms) {
        run->asked[engine->asked[job] - 1] = change;
        return;
    }
    run->asked = ORR_ROOM_FOR_ONE(run->asked, run->asked_count, run->asked_capacity);
    run->asked[run->asked_count++] = change;
    engine->asked[job] = run->asked_count;
}

/* What it has is asked for until it leaves, so that demand is never less than what is held. True
 * if it asks for more or less than before. */
static bool ask_anew(struct engine *engine, uint32_t job)
{
    const uint32_t held = held_of(engine, job, true), wanted = wanted_of(engine, job);
    const uint32_t unwanted = last_group(engine, job)->count - (held > wanted ? held : wanted);
    const int64_t less = (int64_t)unwanted - orr_ledger_unwanted(engine->ledger, job);
    if (less == 0) {
        return false;
    }
    orr_ledger_set_unwanted(engine->ledger, job, unwanted);
    orr_engine__fold(engine, job, 0, -less * orr_engine__worker_mgpu(engine, job), 0);
    note_asked(engine, job);
    engine->changed = true;
    return true;
}

/* A policy that does not know the job at present hears of what it wants when it comes back. */
static void notify_changed(struct engine *engine, uint32_t job)
{
    if (engine->delayed != NULL && engine->delayed[job]) {
        return;
    }
    engine->policy->event(engine->state, &engine->view, ORR_JOB_CHANGED, job);
}

static void push_step(struct engine *engine, uint32_t job, uint32_t step)
{
    orr_heap_push(&engine->heap,
                  (struct orr_event){.at = service_of(engine, job)->steps[step].at_ms,
                                     .subject = job,
                                     .class_seq = orr_engine__class_and(CLASS_SCALE, step)});
}

void orr_engine__want_first(struct engine *engine, uint32_t job)
{
    if (terms_of(engine, job)->service > 0) {
        push_step(engine, job, 1);
    }
    if (is_followed(engine, job)) {
        orr_ledger_set_unwanted(engine->ledger, job,
                                last_group(engine, job)->count - wanted_of(engine, job));
        note_asked(engine, job);
    }
}

void orr_engine__follow(struct engine *engine, uint32_t job)
{
    if (is_followed(engine, job) && ask_anew(engine, job) && terms_of(engine, job)->crew > 0 &&
        engine->ledger->jobs[job].phase == ORR_JOB_RUNNING) {
        notify_changed(engine, job);
    }
}

void orr_engine__follow_stage(struct engine *engine, uint32_t job)
{
    orr_engine__follow(engine, job);
    if (is_followed(engine, job) && held_of(engine, job, false) > wanted_of(engine, job)) {
        uint32_t stage = orr_exec_stage(engine->exec, job);
        orr_heap_push(&engine->heap,
                      (struct orr_event){.at = engine->view.now + crew_of(engine, job)->idle_ms,
                                         .subject = job,
                                         .class_seq = orr_engine__class_and(CLASS_IDLE, stage)});
        engine->idle_events++;
    }
}

bool orr_engine__idles(const struct engine *engine, uint32_t job, uint32_t stage)
{
    return engine->ledger->jobs[job].phase == ORR_JOB_RUNNING &&
           (orr_exec_stage(engine->exec, job) & 0xffffff) == stage;
}

/* Evicts the pods that came last, as many as are too many. */
static void pick_surplus(struct engine *engine, uint32_t job)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_world *world = engine->world;
    const uint32_t last = world->shapes.shapes[world->specs[job].shape].group_count - 1;
    uint32_t held = held_of(engine, job, false), wanted = wanted_of(engine, job);
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE && held > wanted;
         p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (placement->group == last && placement->hold == ORR_HOLD_KEPT) {
            uint32_t tasks = placement->tasks < held - wanted ? placement->tasks : held - wanted;
            (void)orr_txn_evict_tasks(engine->txn, job, p, tasks, ORR_CAUSE_NONE, ORR_NONE);
            held -= tasks;
        }
    }
}

/* They leave now. False if there are none. */
static bool send_away(struct engine *engine, uint32_t job)
{
    struct orr_refusal refusal;
    uint32_t count;
    pick_surplus(engine, job);
    bool committed = orr_txn_commit(engine->txn, engine->view.now, &refusal);
    ORR_ASSERT(committed); /* nothing was placed */
    (void)orr_txn_decisions(engine->txn, &count);
    orr_txn_end_cycle(engine->txn);
    if (count == 0) {
        return false;
    }
    orr_engine__note_left(engine, job);
    orr_ledger_set_release(engine->ledger, job, engine->view.now);
    orr_engine__replan(engine, job, ORR_CAUSE_NONE);
    orr_engine__release(engine, job);
    return true;
}

void orr_engine__leave_idle(struct engine *engine, uint32_t job, uint32_t stage)
{
    engine->idle_events--;
    if (!orr_engine__idles(engine, job, stage) || orr_engine__is_done(engine, job)) {
        return;
    }
    (void)send_away(engine, job); /* others may have taken them */
}

void orr_engine__note_bound(struct engine *engine, uint32_t job, orr_ms delay)
{
    struct orr_run *run = engine->run;
    if (delay > 0 && terms_of(engine, job)->service > 0) {
        run->bound = ORR_ROOM_FOR_ONE(run->bound, run->bound_count, run->bound_capacity);
        run->bound[run->bound_count++] = (struct orr_pods_bound){
            .job = job, .since_ms = engine->view.now, .at_ms = engine->view.now + delay};
    }
}

/* The service is over. */
static void end_service(struct engine *engine, uint32_t job)
{
    const uint8_t phase = engine->ledger->jobs[job].phase;
    if (phase == ORR_JOB_RUNNING || phase == ORR_JOB_RELEASING) {
        orr_engine__end(engine, job);
    } else if (phase == ORR_JOB_PENDING && is_followed(engine, job) && ask_anew(engine, job)) {
        notify_changed(engine, job); /* it wants nothing any more */
    }
}

void orr_engine__scale(struct engine *engine, uint32_t job, uint32_t step)
{
    const struct orr_world_service *service = service_of(engine, job);
    const uint8_t phase = engine->ledger->jobs[job].phase;
    engine->steps[terms_of(engine, job)->service - 1] = step;
    orr_engine__count_event(engine, CLASS_SCALE, job);
    if (step + 1 == service->step_count) {
        end_service(engine, job);
        return;
    }
    push_step(engine, job, step + 1);
    if (!is_followed(engine, job)) {
        return;
    }
    if (phase == ORR_JOB_RUNNING && send_away(engine, job)) {
        return; /* the policy heard of it */
    }
    if (ask_anew(engine, job)) {
        notify_changed(engine, job);
        orr_engine__want_room(engine, job);
    }
}
