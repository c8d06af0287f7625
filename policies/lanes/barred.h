/* SPDX-License-Identifier: GPL-3.0-or-later */
/* barred.h - jobs that the cells of their queue (orr_placer_bars) or all nodes (impossible.h) never
 * hold, under policies that keep GPUs for who waits: such a job stands in no order, for what was
 * kept for it nobody would get. */
#ifndef ORR_POLICIES_BARRED_H
#define ORR_POLICIES_BARRED_H

#include <orrery/base/mem.h>
#include <orrery/core/placer.h>

#include "impossible.h"
#include "scaling.h"

struct orr_barred { /* that came since the last cycle; all zero as a run begins */
    uint32_t *jobs;
    uint32_t count, capacity;
    struct orr_impossible impossible;
};

static inline void orr_barred_release(struct orr_barred *barred)
{
    orr_free(barred->jobs);
    orr_impossible_release(&barred->impossible);
}

/* After an event of the job: is it barred, so that it is in no order? */
static inline bool orr_barred_event(struct orr_barred *barred, struct orr_placer *placer,
                                    const struct orr_view *view, enum orr_job_event event,
                                    uint32_t job)
{
    if (orr_impossible_bars(&barred->impossible, placer, view, job) == ORR_REASON_NONE) {
        return false;
    }
    if (event != ORR_JOB_ENDED) {
        barred->jobs = ORR_ROOM_FOR_ONE(barred->jobs, barred->count, barred->capacity);
        barred->jobs[barred->count++] = job;
    }
    return true;
}

/* In a cycle: why they wait. */
static inline void orr_barred_explain(struct orr_barred *barred, struct orr_placer *placer,
                                      const struct orr_view *view, struct orr_txn *txn)
{
    for (uint32_t i = 0; i < barred->count; i++) {
        const uint32_t job = barred->jobs[i];
        if (orr_scaling_waits(view, job)) {
            const enum orr_reason reason =
                orr_impossible_bars(&barred->impossible, placer, view, job);
            const struct orr_proof proof = orr_ledger_prove(view->ledger, job, reason);
            orr_txn_explain_by(txn, job, reason, &proof);
        }
    }
    barred->count = 0;
}

#endif
