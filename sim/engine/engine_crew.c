/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_crew.c - jobs whose workers follow their own backlog: stage by stage it is worked out how
 * many are wanted. Others are not to be started; those that run leave when they have idled long
 * enough.
 *
 * Only under policies that add tasks to jobs that run: under others all workers start at once, and
 * stay. */
#include "engine_int.h"

/* NULL: nothing is followed. */
static const struct orr_crew *followed(const struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    const struct orr_job_spec *spec = &world->specs[job];
    uint32_t crew = world->terms.items[spec->terms].crew;
    uint32_t shard = world->queues.queues[spec->queue].shard;
    bool able = orr_policy_able(engine->options->shards[shard].policy, ORR_ABLE_PARTS);
    return crew == 0 || !able ? NULL : &world->terms.crews[crew - 1];
}

int64_t orr_engine__worker_mgpu(const struct engine *engine, uint32_t job)
{
    const struct orr_world *world = engine->world;
    const struct orr_shape *shape = &world->shapes.shapes[world->specs[job].shape];
    return orr_request_mgpu(&shape->groups[shape->group_count - 1].request);
}

/* Workers that it has, and that do not leave. */
static uint32_t held_workers(const struct engine *engine, uint32_t job)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_world *world = engine->world;
    const uint32_t last = world->shapes.shapes[world->specs[job].shape].group_count - 1;
    uint32_t held = 0;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        bool counts = placement->group == last && placement->hold == ORR_HOLD_KEPT;
        held += counts ? placement->tasks : 0;
    }
    return held;
}

static uint32_t more_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void orr_engine__want_first(struct engine *engine, uint32_t job)
{
    const struct orr_crew *crew = followed(engine, job);
    if (crew != NULL) {
        orr_ledger_set_unwanted(engine->ledger, job,
                                crew->max - orr_exec_wanted(engine->exec, job));
    }
}

/* What it has is wanted until it leaves, so that demand is never less than what is held. */
void orr_engine__follow_backlog(struct engine *engine, uint32_t job, bool new_stage)
{
    const struct orr_crew *crew = followed(engine, job);
    const struct orr_job_state *state = &engine->ledger->jobs[job];
    if (crew == NULL) {
        return;
    }
    uint32_t held = held_workers(engine, job), wanted = orr_exec_wanted(engine->exec, job);
    uint32_t unwanted = crew->max - more_of(held, wanted);
    int64_t more = (int64_t)unwanted - state->unwanted_tasks;
    if (more != 0) {
        orr_ledger_set_unwanted(engine->ledger, job, unwanted);
        orr_fold_change(&engine->run->fold, engine->world->specs[job].queue, engine->view.now, 0,
                        -more * orr_engine__worker_mgpu(engine, job), 0);
        if (state->phase == ORR_JOB_RUNNING) {
            engine->policy->event(engine->state, &engine->view, ORR_JOB_CHANGED, job);
        }
        engine->changed = true;
    }
    if (new_stage && held > wanted) {
        uint32_t stage = orr_exec_stage(engine->exec, job);
        orr_heap_push(&engine->heap,
                      (struct orr_event){.at = engine->view.now + crew->idle_ms,
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

/* Evicts the workers that came last, as many as are too many. */
static void pick_idle(struct engine *engine, uint32_t job)
{
    const struct orr_ledger *ledger = engine->ledger;
    const struct orr_world *world = engine->world;
    const uint32_t last = world->shapes.shapes[world->specs[job].shape].group_count - 1;
    uint32_t held = held_workers(engine, job), wanted = orr_exec_wanted(engine->exec, job);
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

void orr_engine__leave_idle(struct engine *engine, uint32_t job, uint32_t stage)
{
    struct orr_refusal refusal;
    uint32_t count;
    engine->idle_events--;
    if (!orr_engine__idles(engine, job, stage) || orr_engine__is_done(engine, job)) {
        return;
    }
    pick_idle(engine, job);
    bool committed = orr_txn_commit(engine->txn, engine->view.now, &refusal);
    ORR_ASSERT(committed); /* nothing was placed */
    (void)orr_txn_decisions(engine->txn, &count);
    orr_txn_end_cycle(engine->txn);
    if (count == 0) {
        return; /* others took them */
    }
    orr_ledger_set_release(engine->ledger, job, engine->view.now);
    orr_engine__replan(engine, job, ORR_CAUSE_NONE);
    orr_engine__release(engine, job);
}
