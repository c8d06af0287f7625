/* SPDX-License-Identifier: GPL-3.0-or-later */
/* statement.h - all that changes where tasks are: external events between cycles, and in a cycle
 * the statement, every step of which can be taken back until it is committed.
 *
 * Whoever includes session.h alone reads: nothing in it changes a task, a node's books or what a
 * queue holds. */
#ifndef ORR_CORE_STATEMENT_H
#define ORR_CORE_STATEMENT_H

#include <orrery/core/session.h>

ORR_API_BEGIN

/* --- external events, between cycles --- */

/* The task is now in this status, on `node` (ORR_NONE: nowhere) with these shared devices. */
void orr_session_set_task(struct orr_session *session, uint32_t task, enum orr_task_status status,
                          uint32_t node, const uint32_t *groups, uint32_t group_count);
/* The same place, another status. */
void orr_session_set_status(struct orr_session *session, uint32_t task,
                            enum orr_task_status status);
/* All its tasks leave; the job is never looked at again. */
void orr_session_end_job(struct orr_session *session, uint32_t job);

/* --- a cycle --- */

/* Rebuilds what changed, divides fair shares and forgets the last cycle's decisions. */
void orr_session_open(struct orr_session *session, orr_ms now);
/* Undoes what was not committed: the live copy becomes the held one again. */
void orr_session_close(struct orr_session *session);

/* A point to which every change since can be taken back, until it is committed. */
static inline uint32_t orr_session_checkpoint(const struct orr_session *session)
{
    return session->statement.count;
}
/* Takes back what was done since the checkpoint: books, sums and places are as they were then. */
void orr_session_rollback(struct orr_session *session, uint32_t checkpoint);
/* Executes all of the statement, which is empty then: evictions and placements become decisions of
 * the cycle, made by the action for `preemptor` (a job, or ORR_NONE). */
void orr_session_commit(struct orr_session *session, enum orr_action action, uint32_t preemptor);
/* The statement's changes stay for the rest of the cycle, neither committed nor rolled back: a
 * defect of v0.17, where a search that fails its last check leaves them. */
void orr_session_leave_uncommitted(struct orr_session *session);
/* Places a pending task; status ALLOCATED or PIPELINED; `groups`: its devices, if it shares any;
 * `zones`: what it draws from NUMA zones of the node, or NULL. */
void orr_session_place(struct orr_session *session, uint32_t task, uint32_t node,
                       enum orr_task_status status, const uint32_t *groups, uint32_t group_count,
                       const struct orr_zone_take *zones);
/* Evicts an active task in the live copy. False (of a v0.17 cycle alone): it cannot be evicted. */
bool orr_session_evict(struct orr_session *session, uint32_t task);
/* Takes a virtual eviction back wherever in the statement it was made. */
void orr_session_unevict(struct orr_session *session, uint32_t task);
/* The tasks of the job that were allocated since the checkpoint are pipelined instead (KAI:
 * ConvertAllAllocatedToPipelined). */
void orr_session_pipeline_all(struct orr_session *session, uint32_t job, uint32_t checkpoint);

ORR_API_END

#endif
