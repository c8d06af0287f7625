/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "verdicts.h"

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/core/place.h>

void orr_verdicts_release(struct orr_verdicts *verdicts)
{
    orr_free(verdicts->list);
    orr_free(verdicts->passed);
}

void orr_verdicts_add(struct orr_verdicts *verdicts, uint32_t job, uint32_t tasks,
                      enum orr_reason reason)
{
    verdicts->list = ORR_ROOM_FOR_ONE(verdicts->list, verdicts->count, verdicts->capacity);
    verdicts->list[verdicts->count++] = (struct orr_waiter){job, tasks, reason};
}

/* The same for all jobs of a shape, as nothing is placed in between. */
enum orr_reason orr_verdicts_passed(struct orr_verdicts *verdicts, const struct orr_view *view,
                                    struct orr_txn *txn, uint32_t job)
{
    const uint32_t shape = view->specs[job].shape;
    verdicts->passed = orr_zgrow(verdicts->passed, &verdicts->passed_capacity, view->shapes->count,
                                 sizeof *verdicts->passed);
    if (verdicts->passed[shape] == ORR_REASON_NONE) {
        verdicts->passed[shape] = (uint8_t)orr_place_why_passed(txn, view->ledger, job, 0);
    }
    return (enum orr_reason)verdicts->passed[shape];
}

/* Others may have started since it was noted. A job that scales, or is elastic, asks not all of its
 * shape. */
static enum orr_reason reason_now(struct orr_verdicts *verdicts, const struct orr_waiter *verdict,
                                  const struct orr_view *view, struct orr_txn *txn)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[verdict->job].shape];
    if (verdict->reason == ORR_REASON_NONE) {
        return verdict->tasks > 0
                   ? orr_place_why_passed(txn, view->ledger, verdict->job, verdict->tasks)
                   : orr_verdicts_passed(verdicts, view, txn, verdict->job);
    }
    return orr_verdict_lacks_room(verdict->reason)
               ? orr_place_why_not(view->ledger, shape, verdict->tasks)
               : verdict->reason;
}

static bool keeps_reason(const struct orr_waiter *verdict, const struct orr_job_state *state)
{
    return verdict->reason == ORR_REASON_NONE &&
           orr_verdict_lacks_room((enum orr_reason)state->reason);
}

void orr_verdicts_explain(struct orr_verdicts *verdicts, const struct orr_view *view,
                          struct orr_txn *txn, bool paused)
{
    for (uint32_t i = 0; i < verdicts->count; i++) {
        const struct orr_waiter *verdict = &verdicts->list[i];
        const struct orr_job_state *state = &view->jobs[verdict->job];
        if (state->phase == ORR_JOB_PENDING && !keeps_reason(verdict, state) &&
            (!paused || state->reason == ORR_REASON_NONE)) {
            orr_txn_explain(txn, verdict->job, reason_now(verdicts, verdict, view, txn));
        }
    }
    if (verdicts->passed_capacity > 0) {
        memset(verdicts->passed, ORR_REASON_NONE, verdicts->passed_capacity);
    }
}
