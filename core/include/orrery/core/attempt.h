/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attempt.h - one attempt to place a job: the rest of its gang, or one elastic part, or nothing. */
#ifndef ORR_CORE_ATTEMPT_H
#define ORR_CORE_ATTEMPT_H

#include <orrery/core/jobview.h>

ORR_API_BEGIN

struct orr_node_list {
    const uint32_t *nodes;
    uint32_t count;
};

/* Places what the job is due on these nodes. False: nothing is changed. With pipeline_only (a
 * simulation) nothing is allocated at once and evicted tasks may be placed again. */
bool orr_attempt_job(struct orr_session *session, struct orr_jobview view,
                     struct orr_node_list nodes, bool pipeline_only, enum orr_fit_reason *why);

/* KAI capacity policy: would this much more pass a limit, or the quota of a non-preemptible job?
 * ORR_FIT_NONE if not. */
enum orr_fit_reason orr_job_over_capacity(const struct orr_session *session, uint32_t job,
                                          const struct orr_demand *demand);
bool orr_job_over_quota(const struct orr_session *session, uint32_t job,
                        const struct orr_demand *demand);

/* Everything but resources: filters, readiness, MIG, device memory label. */
bool orr_node_admits(const struct orr_session *session, const struct orr_stask *task,
                     uint32_t node);
bool orr_node_admits_ask(const struct orr_session *session, const struct orr_ask *ask,
                         uint32_t node);
/* What keeps the task from the node as things are now; NONE if it would fit. */
enum orr_misfit orr_node_misfit(const struct orr_session *session, const struct orr_stask *task,
                                uint32_t node);

ORR_API_END

#endif
