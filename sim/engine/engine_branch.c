/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_branch.c - a run that is held at a time and may go on otherwise. */
#include <orrery/sim/branch.h>

#include "engine_int.h"

void orr_engine__branch(struct engine *engine)
{
    const struct orr_branching *branching = engine->options->branching;
    const orr_ms at = engine->branch_ms;
    if (engine->branched) { /* where it was to go on to */
        engine->enough = true;
        return;
    }
    struct orr_branch branch = {
        .at_ms = at, .next_arrival = engine->next_arrival, .run = engine->run, .engine = engine};
    engine->branch_ms = branching->at(branching->context, &branch);
    engine->enough = engine->branch_ms == ORR_MS_NONE;
    ORR_ASSERT(engine->enough || engine->branch_ms > at);
}

bool orr_branch_works(const struct orr_branch *branch, uint32_t job)
{
    const struct orr_world *world = branch->engine->world;
    const struct orr_terms *terms = &world->terms.items[world->specs[job].terms];
    const uint8_t phase = branch->run->ledger->jobs[job].phase;
    return terms->service == 0 && terms->crew == 0 && phase != ORR_JOB_FINISHED &&
           phase != ORR_JOB_WITHDRAWN && !orr_engine__is_done(branch->engine, job);
}

orr_ms orr_branch_done_ms(const struct orr_branch *branch, uint32_t job)
{
    const struct orr_run *run = branch->run;
    struct orr_view view = branch->engine->view;
    view.now = branch->at_ms;
    orr_ms done = orr_view_progress(&view, job).done_ms;
    for (uint32_t a = 0; a < run->attempt_count && run->exec == NULL; a++) {
        const struct orr_attempt *attempt = &run->attempts[a];
        const orr_ms ran = attempt->end_ms - attempt->start_ms;
        done = attempt->job == job && ran > done ? ran : done;
    }
    return done;
}

void orr_branch_rework(struct orr_branch *branch, uint32_t job)
{
    branch->engine->view.now = branch->at_ms;
    branch->engine->ledger->restated++;
    if (branch->run->ledger->jobs[job].phase == ORR_JOB_RUNNING) {
        orr_engine__plan_anew(branch->engine, job);
    }
}

void orr_branch_take_out(struct orr_branch *branch, uint32_t job)
{
    struct engine *engine = branch->engine;
    if (orr_engine__waits(engine, job)) {
        engine->give_up_events++;
        orr_heap_push(&engine->heap,
                      (struct orr_event){.at = branch->at_ms + 1,
                                         .subject = job,
                                         .class_seq = orr_engine__class_and(CLASS_GIVE_UP, 0)});
    }
}

void orr_branch_refresh(struct orr_branch *branch)
{
    struct engine *engine = branch->engine;
    engine->queue_change_ms = orr_engine__queue_change_ms(engine);
    orr_engine__list_anew(engine, branch->at_ms);
    engine->outlasts = true;
    orr_engine__recur_forget(engine);
}

void orr_branch_expect(struct orr_branch *branch)
{
    orr_engine__expect_arrival(branch->engine, branch->next_arrival);
}

enum orr_status orr_branch_go_on(struct orr_branch *branch, orr_ms until_ms, struct orr_err *err)
{
    struct engine *engine = branch->engine;
    engine->branched = true;
    engine->branch_ms = until_ms;
    return orr_engine__loop(engine, err);
}
