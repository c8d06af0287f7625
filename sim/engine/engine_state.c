/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_state.c - jobs that run as the run begins: each starts where it is, at the time since
 * which it runs, by a commit of its own that is held to the room of the nodes and to no other law.
 */
#include <orrery/base/text.h>

#include "engine_int.h"

static orr_ms running_ms(const struct engine *engine)
{
    const struct orr_world *world = engine->world;
    return engine->next_running < world->running_count
               ? world->running[engine->next_running].since_ms
           : engine->broken_gangs ? world->begin_ms
                                  : ORR_MS_NEVER;
}

void orr_engine__state_open(struct engine *engine)
{
    engine->running_ms = running_ms(engine);
}

static enum orr_status refuse(const struct engine *engine, uint32_t job, const char *why,
                              const char *node, struct orr_err *err)
{
    char name[512], since[64];
    (void)orr_format_span(since, engine->world->begin_ms - engine->view.now);
    return orr_fail(err, ORR_DATA, "job %s, which runs since %s before the run begins, %s%s",
                    orr_world_job_name(engine->world, job, name, sizeof name), since, why, node);
}

static enum orr_status place(struct engine *engine, const struct orr_world_running *running,
                             struct orr_err *err)
{
    const struct orr_world *world = engine->world;
    const uint32_t job = running->job;
    for (uint32_t s = 0; s < running->seat_count; s++) {
        const struct orr_world_seat *seat = &world->seats[running->first_seat + s];
        const bool placed =
            seat->devices != 0
                ? orr_txn_place_on(engine->txn, job, seat->group, seat->node, seat->devices)
                : orr_txn_place(engine->txn, job, seat->group, 1, seat->node);
        if (!placed) {
            return refuse(engine, job,
                          "cannot be where running_on says: what else runs leaves no room, or it "
                          "may not be on node ",
                          orr_idmap_name(&world->cluster.node_names, seat->node), err);
        }
    }
    return ORR_OK;
}

/* Commits the placements; laws that hold for decisions need not hold for what is. */
static void commit(struct engine *engine)
{
    struct orr_refusal refusal;
    uint32_t *none = orr_zalloc(engine->world->cluster.shards.count, sizeof *none);
    orr_txn_set_shard_laws(engine->txn, none);
    orr_txn_take_as_given(engine->txn, true);
    const bool committed = orr_txn_commit(engine->txn, engine->view.now, &refusal);
    ORR_ASSERT(committed);
    orr_txn_take_as_given(engine->txn, false);
    orr_txn_set_shard_laws(engine->txn, engine->shard_laws);
    orr_free(none);
    orr_engine__take_decisions(engine);
    orr_txn_end_cycle(engine->txn);
}

/* Gangs that are below their minimum as the run begins: a policy that knows no stale gangs finds
 * none, as after the loss of a node. */
static void end_broken_gangs(struct engine *engine)
{
    const struct orr_world *world = engine->world;
    for (uint32_t r = 0; r < world->running_count; r++) {
        orr_engine__evict_rest(engine, world->running[r].job, ORR_CAUSE_STALE_GANG);
    }
    engine->broken_gangs = false;
    engine->running_ms = ORR_MS_NEVER;
}

enum orr_status orr_engine__start_running(struct engine *engine, struct orr_err *err)
{
    const struct orr_world *world = engine->world;
    while (engine->running_ms == engine->view.now && engine->next_running < world->running_count) {
        const struct orr_world_running *running = &world->running[engine->next_running++];
        const uint32_t job = running->job;
        if (engine->ledger->jobs[job].phase != ORR_JOB_PENDING) {
            return refuse(engine, job, "could not be considered then: `after` or eligible_s", "",
                          err);
        }
        orr_engine__count_event(engine, CLASS_STATE, job);
        const enum orr_status status = place(engine, running, err);
        if (status != ORR_OK) {
            return status;
        }
        commit(engine);
        engine->policy->event(engine->state, &engine->view, ORR_JOB_STARTED, job);
        engine->broken_gangs = engine->broken_gangs || !orr_ledger_is_complete(engine->ledger, job);
        engine->running_ms = running_ms(engine);
    }
    if (engine->running_ms == engine->view.now) {
        end_broken_gangs(engine);
    }
    return ORR_OK;
}
