/* SPDX-License-Identifier: GPL-3.0-or-later */
/* verdicts.h - why jobs wait under policies that pause jobs: noted while such a policy decides, and
 * explained once it has decided. Room is counted before anybody starts or leaves, so that a reason
 * that was written at once would stand beside figures that are over by the end of the cycle. */
#ifndef ORR_POLICIES_VERDICTS_H
#define ORR_POLICIES_VERDICTS_H

#include <orrery/core/policy.h>

struct orr_waiter {
    uint32_t job;
    uint32_t tasks;         /* that it needs to start, of each group; 0: all */
    enum orr_reason reason; /* why it found no place; NONE: none was sought, it was passed over */
};

struct orr_verdicts { /* each job once */
    struct orr_waiter *list;
    uint32_t count, capacity;
    uint8_t *passed; /* per shape: why a job that asks all of it is passed over now; NONE between
                        cycles */
    uint32_t passed_capacity;
};

void orr_verdicts_release(struct orr_verdicts *verdicts);
void orr_verdicts_add(struct orr_verdicts *verdicts, uint32_t job, uint32_t tasks,
                      enum orr_reason reason);
/* Tasks of a verdict: a job that scales starts with its gang. */
static inline uint32_t orr_verdict_tasks(const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    return spec->scales ? view->shapes->shapes[spec->shape].min_tasks : 0;
}
/* It found no nodes, whatever for. A job that is passed over keeps such a reason: it was so when
 * that was written, and what comes free since is for others. Else it would take turns with
 * RESERVED. */
static inline bool orr_verdict_lacks_room(enum orr_reason reason)
{
    return reason == ORR_REASON_NO_CAPACITY || reason == ORR_REASON_FRAGMENTED ||
           reason == ORR_REASON_CONSTRAINED || reason == ORR_REASON_NODE_TYPES ||
           reason == ORR_REASON_TOPOLOGY;
}
/* Why a job that needs all its tasks is passed over; nothing more is placed in this cycle, which
 * orr_verdicts_explain ends. */
enum orr_reason orr_verdicts_passed(struct orr_verdicts *verdicts, const struct orr_view *view,
                                    struct orr_txn *txn, uint32_t job);
/* Explains those that wait, with what is free now; to be called last in a cycle. With `paused` the
 * cycle ended with pauses, and the one that starts others follows: only those get a reason that
 * have none, because with a grace the next cycle may be far. */
void orr_verdicts_explain(struct orr_verdicts *verdicts, const struct orr_view *view,
                          struct orr_txn *txn, bool paused);

#endif
