/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_suspend.c - jobs that a policy suspends: they keep what they hold, except for their CPU,
 * and make no progress until they go on. */
#include "engine_int.h"

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
    engine->suspended =
        ORR_ROOM_FOR_ONE(engine->suspended, engine->suspended_count, engine->suspended_capacity);
    engine->suspended[engine->suspended_count++] = run->suspension_count - 1;
    engine->outlasts = true; /* its finish is stale */
    orr_exec_suspend(engine->exec, decision->job, engine->view.now);
    orr_ledger_replan(engine->ledger, decision->job);
}

void orr_engine__end_suspension(struct engine *engine, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < engine->suspended_count; i++) {
        struct orr_suspension *suspension = &engine->run->suspensions[engine->suspended[i]];
        engine->suspended[kept] = engine->suspended[i];
        kept += suspension->job != job;
        suspension->to_ms = suspension->job == job ? engine->view.now : suspension->to_ms;
    }
    engine->suspended_count = kept;
}

orr_ms orr_engine__suspended_ms(const struct engine *engine, uint32_t job)
{
    const orr_ms start = engine->ledger->jobs[job].start_ms, now = engine->view.now;
    const struct orr_run *run = engine->run;
    orr_ms sum = 0;
    for (uint32_t s = run->suspension_count; s-- > 0 && run->suspensions[s].from_ms >= start;) {
        const struct orr_suspension *it = &run->suspensions[s];
        sum += it->job == job ? (it->to_ms < now ? it->to_ms : now) - it->from_ms : 0;
    }
    return sum;
}

void orr_engine__resume(struct engine *engine, uint32_t job)
{
    orr_engine__end_suspension(engine, job);
    orr_exec_resume(engine->exec, job, engine->view.now);
    orr_engine__plan_anew(engine, job);
}
