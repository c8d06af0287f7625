/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_suspend.c - jobs that a policy suspends: they keep what they hold, except for their CPU,
 * and make no progress until they go on. */
#include "engine_int.h"

struct engine_suspended { /* of a job */
    uint32_t lasting;     /* row of run->suspensions, + 1; 0: it is not suspended */
    uint16_t attempt;
    orr_ms before_ms; /* how long that attempt was suspended before */
};

static void note_begin(struct engine *engine, uint32_t job)
{
    const uint16_t attempt = engine->ledger->jobs[job].attempts;
    if (engine->suspended == NULL) {
        engine->suspended = orr_zalloc(engine->world->job_count, sizeof *engine->suspended);
    }
    struct engine_suspended *it = &engine->suspended[job];
    it->before_ms = it->attempt == attempt ? it->before_ms : 0;
    it->attempt = attempt;
    it->lasting = engine->run->suspension_count;
}

void orr_engine__suspend(struct engine *engine, const struct orr_txn_decision *decision)
{
    struct orr_run *run = engine->run;
    run->suspensions =
        ORR_ROOM_FOR_ONE(run->suspensions, run->suspension_count, run->suspension_capacity);
    run->suspensions[run->suspension_count++] =
        (struct orr_suspension){.job = decision->job,
                                .beneficiary = decision->beneficiary,
                                .from_ms = engine->view.now,
                                .to_ms = ORR_MS_NEVER};
    note_begin(engine, decision->job);
    engine->outlasts = true; /* its finish is stale */
    orr_exec_suspend(engine->exec, decision->job, engine->view.now);
    orr_ledger_replan(engine->ledger, decision->job);
}

void orr_engine__end_suspension(struct engine *engine, uint32_t job)
{
    struct engine_suspended *it = engine->suspended == NULL ? NULL : &engine->suspended[job];
    if (it != NULL && it->lasting > 0) {
        struct orr_suspension *suspension = &engine->run->suspensions[it->lasting - 1];
        suspension->to_ms = engine->view.now;
        it->before_ms += suspension->to_ms - suspension->from_ms;
        it->lasting = 0;
    }
}

orr_ms orr_engine__suspended_ms(const struct engine *engine, uint32_t job)
{
    const struct engine_suspended *it = engine->suspended == NULL ? NULL : &engine->suspended[job];
    if (it == NULL || it->attempt != engine->ledger->jobs[job].attempts) {
        return 0;
    }
    return it->before_ms +
           (it->lasting == 0
                ? 0
                : engine->view.now - engine->run->suspensions[it->lasting - 1].from_ms);
}

void orr_engine__resume(struct engine *engine, uint32_t job)
{
    orr_engine__end_suspension(engine, job);
    orr_exec_resume(engine->exec, job, engine->view.now);
    orr_engine__plan_anew(engine, job);
}
