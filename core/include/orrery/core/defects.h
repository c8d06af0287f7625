/* SPDX-License-Identifier: GPL-3.0-or-later */
/* defects.h - defects of KAI v0.17 that change what a cycle decides, reproduced on demand.
 *
 * The default gives what KAI states: what a search tried leaves no trace, a victim is taken once,
 * amounts are exact. With rules.defects_v017 a cycle goes wrong as v0.17 does. Nothing is pruned
 * then, and a cycle may take long.
 *
 * - D1: tasks to allocate are kept until a status changes, which a commit is not (v017_tasks.c).
 * - D2: victims recorded by an earlier probe are evicted a second time (victim/v017.c), as copies
 *   of their pods with the status from before (v017_copies.c).
 * - D3: a pod that moved twice is put back where it was first moved to (statement_v017.c).
 * - D4: taking back operations on shared GPUs does not restore their books (v017_records.c), which
 *   some decisions read when a probe begins and others state by state (victim/v017.c).
 * - D6: GPU amounts are summed in binary floating point (v017_sums.c, victim/v017.c).
 */
#ifndef ORR_CORE_DEFECTS_H
#define ORR_CORE_DEFECTS_H

#include <orrery/core/session.h>

ORR_API_BEGIN

struct orr_v017_queue { /* what it holds as a sum of doubles, in GPUs */
    double gpus, nonpreemptible;
};

struct orr_v017_tasks; /* of a job: what it last asked for */
struct orr_v017_record;
struct orr_v017_op;
struct orr_v017_copy;

struct orr_v017 {
    struct orr_arena arena; /* of the open statement */
    struct orr_v017_record *records;
    uint32_t record_count, record_capacity;
    uint32_t *first_record;       /* by task */
    struct orr_v017_copy *copies; /* of the open statement */
    uint32_t copy_count, copy_capacity;
    int32_t *miscounted; /* by job: active tasks that it does not have */
    uint32_t *current;   /* by task: the copy that its job has */
    struct orr_v017_op *ops;
    uint32_t op_capacity;
    struct orr_v017_tasks *remembered; /* by job */
    uint32_t remembered_count;
    struct orr_v017_queue *held; /* by queue */
};

/* With the session's cycle, after its books are read; and with the session. */
void orr_v017_open(struct orr_session *session);
void orr_v017_close(struct orr_session *session);

/* --- the statement; what session.h has for the default --- */

/* False: its node does not know the task. */
bool orr_v017_evict(struct orr_session *session, uint32_t task);
/* False: this statement has not evicted it. */
bool orr_v017_unevict(struct orr_session *session, uint32_t task);
/* `hold`: pipelined, else allocated. `update`: also where the node knows it. False: it can not. */
bool orr_v017_place(struct orr_session *session, uint32_t task, uint32_t node, bool hold,
                    bool update, const uint32_t *groups, const struct orr_zone_take *zones);
void orr_v017_pipeline_all(struct orr_session *session, uint32_t job);
void orr_v017_rollback(struct orr_session *session, uint32_t checkpoint);
void orr_v017_commit(struct orr_session *session, enum orr_action action, uint32_t preemptor);
void orr_v017_forget(struct orr_session *session);

/* Of the copy of the task that was evicted so many evictions after its first one. */
uint8_t orr_v017_status_of(const struct orr_session *session, uint32_t task, uint32_t number);

/* Active tasks of the job as the session counts them, which copies make wrong. */
uint32_t orr_v017_active(const struct orr_session *session, uint32_t job);

/* --- D1 --- */

/* What the job asked for last; false: nothing is kept that still counts. */
bool orr_v017_recall_tasks(const struct orr_session *session, uint32_t job,
                           struct orr_task_list *out);
void orr_v017_keep_tasks(const struct orr_session *session, uint32_t job,
                         const struct orr_task_list *tasks);
/* What the tasks kept ask by the smallest device, as it was first summed. */
struct orr_demand orr_v017_recall_demand(const struct orr_session *session, uint32_t job,
                                         bool simulate);
void orr_v017_forget_tasks(struct orr_session *session);

/* --- D6 --- */

void orr_v017_sum_queues(struct orr_session *session);
void orr_v017_charge(struct orr_session *session, uint32_t queue, bool preemptible, int64_t mgpu,
                     int sign);

/* What a queue would hold of a resource with a demand, in the unit of shares; and of what cannot be
 * preempted. */
static inline double orr_queue_allocated_with(const struct orr_session *session, uint32_t queue,
                                              const struct orr_demand *demand, unsigned kind)
{
    return session->v017 != NULL && kind == ORR_SHARE_GPU
               ? session->v017->held[queue].gpus + demand->gpus
               : orr_demand_on(session->queues[queue].allocated[kind], demand, kind);
}

static inline double orr_queue_nonpreemptible_with(const struct orr_session *session,
                                                   uint32_t queue, const struct orr_demand *demand,
                                                   unsigned kind)
{
    return session->v017 != NULL && kind == ORR_SHARE_GPU
               ? session->v017->held[queue].nonpreemptible + demand->gpus
               : orr_demand_on(session->queues[queue].nonpreemptible[kind], demand, kind);
}

ORR_API_END

#endif
