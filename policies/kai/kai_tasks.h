/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_tasks.h - the session's tasks and the ledger's placements: one of each, at all times.
 *
 * Under kai a placement is one task. What the session decided about a task is done to its
 * placement, on the devices that the session shares it on; what became of a placement is passed to
 * its task. */
#ifndef ORR_KAI_TASKS_H
#define ORR_KAI_TASKS_H

#include <orrery/core/policy.h>
#include <orrery/core/session.h>

struct orr_kai_tasks {
    struct orr_session *session; /* borrowed */
    const uint32_t *job_of;      /* per slot: the job of the run; borrowed */
    uint32_t *placement;         /* per task of the session, or ORR_NONE */
    uint32_t placement_capacity; /* tasks that `placement` has room for */
    uint32_t *group_on;          /* per node and device: the session's shared GPU, or ORR_NONE */
    uint32_t *binding;           /* per slot: its tasks that this cycle binds */
    uint32_t binding_capacity;
    uint32_t *decided;      /* per task: the cycle's first decision about it, or ORR_NONE */
    uint32_t *decided_next; /* per decision: the next one about its task, or ORR_NONE */
    uint32_t decided_capacity, decided_next_capacity;
};

void orr_kai__tasks_close(struct orr_kai_tasks *tasks);

/* Does what the cycle decided: binds, and evictions of whole jobs or of single tasks. */
void orr_kai__tasks_hand_over(struct orr_kai_tasks *tasks, const struct orr_view *view,
                              struct orr_txn *txn, const uint32_t *first_ask);
/* After the session was closed: what was bound runs at once; what was evicted before it ever ran is
 * pending again at once, the rest of the evicted waits for its release, and so do tasks without a
 * place of a job that was evicted whole. */
void orr_kai__tasks_settle(struct orr_kai_tasks *tasks, const struct orr_view *view);
/* The job lost tasks, or all of it was released: those whose placement ended are pending again. */
void orr_kai__tasks_lost(struct orr_kai_tasks *tasks, const struct orr_view *view, uint32_t slot);
/* Pending tasks that the job does not want now are gated, those that it wants are not. */
void orr_kai__tasks_want(struct orr_kai_tasks *tasks, const struct orr_view *view, uint32_t slot);
/* The job runs by nobody's decision here: its tasks have the places that the ledger has for them.
 */
void orr_kai__tasks_start(struct orr_kai_tasks *tasks, const struct orr_view *view, uint32_t slot,
                          const uint32_t *first_ask);
/* The job ended: its tasks have no placements. */
void orr_kai__tasks_forget(struct orr_kai_tasks *tasks, uint32_t slot);

/* Is every held task one placement that the job has, on the same node, of the same state and on the
 * devices that its shared GPUs are? A job without a slot (ORR_NONE) has no placement: it is away
 * until its requeue delay is over. */
enum orr_status orr_kai__tasks_audit(const struct orr_kai_tasks *tasks, const struct orr_view *view,
                                     const uint32_t *slot_of_job, struct orr_err *err);

#endif
