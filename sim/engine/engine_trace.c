/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_trace.c - some cycles written step by step as they happen. */
#include "engine_int.h"

bool orr_engine__trace_begin(struct engine *engine)
{
    const struct orr_cycle_trace *trace = engine->options->trace;
    const uint64_t cycle = engine->run->cycles;
    const orr_ms now = engine->view.now;
    if (cycle < trace->from || cycle > trace->to || now < trace->from_ms || now > trace->to_ms) {
        return false;
    }
    trace->begin(trace->context, cycle, now, engine->ledger);
    orr_policy_watch(engine->policy, engine->state,
                     &(struct orr_watcher){.look = trace->look, .context = trace->context});
    return true;
}

void orr_engine__trace_decided(const struct engine *engine)
{
    const struct orr_cycle_trace *trace = engine->options->trace;
    uint32_t count;
    const struct orr_txn_decision *decisions = orr_txn_decisions(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        trace->decision(trace->context, &decisions[i]);
    }
    const struct orr_explanation *explained = orr_txn_explanations(engine->txn, &count);
    for (uint32_t i = 0; i < count; i++) {
        trace->explanation(trace->context, &explained[i]);
    }
}
