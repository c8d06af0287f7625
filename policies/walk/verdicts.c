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

/* It found no nodes, whatever for. */
static bool lacks_room(enum orr_reason reason)
{
    return reason == ORR_REASON_NO_CAPACITY || reason == ORR_REASON_FRAGMENTED ||
           reason == ORR_REASON_CONSTRAINED || reason == ORR_REASON_NODE_TYPES ||
           reason == ORR_REASON_TOPOLOGY;
}

/* The same for all jobs of a shape, as nothing is placed in between. */
static enum orr_reason why_passed(struct orr_verdicts *verdicts, const struct orr_waiter *verdict,
                                  const struct orr_view *view, struct orr_txn *txn)
{
    const uint32_t shape = view->specs[verdict->job].shape;
    if (verdict->tasks > 0) { /* a job that scales, or is elastic: not all of its shape */
        return orr_place_why_passed(txn, view->ledger, verdict->job, verdict->tasks);
    }
    if (verdicts->passed[shape] == ORR_REASON_NONE) {
        verdicts->passed[shape] = (uint8_t)orr_place_why_passed(txn, view->ledger, verdict->job, 0);
    }
    return (enum orr_reason)verdicts->passed[shape];
}

/* Others may have started since it was noted. */
static enum orr_reason reason_now(struct orr_verdicts *verdicts, const struct orr_waiter *verdict,
                                  const struct orr_view *view, struct orr_txn *txn)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[verdict->job].shape];
    if (verdict->reason == ORR_REASON_NONE) {
        return why_passed(verdicts, verdict, view, txn);
    }
    return lacks_room(verdict->reason) ? orr_place_why_not(view->ledger, shape, verdict->tasks)
                                       : verdict->reason;
}

/* A job that is passed over keeps the reason that it lacks room: it was so when that was written,
 * and what comes free since is for others. Else it would take turns with RESERVED. */
static bool keeps_reason(const struct orr_waiter *verdict, const struct orr_job_state *state)
{
    return verdict->reason == ORR_REASON_NONE && lacks_room((enum orr_reason)state->reason);
}

void orr_verdicts_explain(struct orr_verdicts *verdicts, const struct orr_view *view,
                          struct orr_txn *txn, bool paused)
{
    if (verdicts->count == 0) {
        return;
    }
    verdicts->passed = orr_zgrow(verdicts->passed, &verdicts->passed_capacity, view->shapes->count,
                                 sizeof *verdicts->passed);
    memset(verdicts->passed, ORR_REASON_NONE, verdicts->passed_capacity);
    for (uint32_t i = 0; i < verdicts->count; i++) {
        const struct orr_waiter *verdict = &verdicts->list[i];
        const struct orr_job_state *state = &view->jobs[verdict->job];
        if (state->phase == ORR_JOB_PENDING && !keeps_reason(verdict, state) &&
            (!paused || state->reason == ORR_REASON_NONE)) {
            orr_txn_explain(txn, verdict->job, reason_now(verdicts, verdict, view, txn));
        }
    }
}
