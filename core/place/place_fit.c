/* SPDX-License-Identifier: GPL-3.0-or-later */
/* May a task go to a node at all: resources, queues' limits, and what the node is. */
#include <orrery/core/defects.h>

#include "place_int.h"

/* --- capacity policy --- */

bool orr_job_over_quota(const struct orr_session *session, uint32_t job_index,
                        const struct orr_demand *demand)
{
    const struct orr_sjob *job = &session->jobs[job_index];
    if (job->preemptible || !session->rules.proportion) {
        return false;
    }
    for (uint32_t q = job->queue; q != ORR_NONE; q = session->shares[q].parent) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const double quota = session->shares[q].resource[kind].deserved;
            if (quota != ORR_UNLIMITED && orr_demand_asks(demand, kind) &&
                quota < orr_queue_nonpreemptible_with(session, q, demand, kind)) {
                return true;
            }
        }
    }
    return false;
}

enum orr_fit_reason orr_job_over_capacity(const struct orr_session *session, uint32_t job_index,
                                          const struct orr_demand *demand)
{
    for (uint32_t q = session->jobs[job_index].queue; q != ORR_NONE && session->rules.proportion;
         q = session->shares[q].parent) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const double limit = session->shares[q].resource[kind].limit;
            if (limit != ORR_UNLIMITED && orr_demand_asks(demand, kind) &&
                limit < orr_queue_allocated_with(session, q, demand, kind)) {
                return ORR_FIT_OVER_LIMIT;
            }
        }
    }
    return orr_job_over_quota(session, job_index, demand) ? ORR_FIT_NON_PREEMPTIBLE_OVER_QUOTA
                                                          : ORR_FIT_NONE;
}

/* The same for one task with its real cost on a node; a fraction is charged for the whole MiB of
 * device memory it takes, rounded up to 1 %. */
static bool over_capacity_on(const struct orr_session *session, const struct orr_stask *task,
                             const struct orr_snode *node)
{
    const struct orr_ask *ask = orr_task_ask(session, task);
    struct orr_demand demand = {.v = {ask->request.v[ORR_SLOT_CPU], ask->request.v[ORR_SLOT_MEMORY],
                                      ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu}};
    if (node != NULL) {
        const int64_t need = orr_session_shared_need(ask, node);
        demand.v[ORR_SHARE_GPU] =
            orr_session_ceil_portion(need, node->gpu_memory_mib) * (int64_t)ask->devices;
    }
    demand.gpus = orr_share_units(ORR_SHARE_GPU, demand.v[ORR_SHARE_GPU]);
    return orr_job_over_capacity(session, task->job, &demand) != ORR_FIT_NONE;
}

bool orr_place__over_capacity_anywhere(const struct orr_session *session,
                                       const struct orr_stask *task)
{
    return session->rules.predicates && !orr_ask_is_shared(orr_task_ask(session, task)) &&
           over_capacity_on(session, task, NULL);
}

/* --- resources --- */

int64_t orr_place__pod_slots(const struct orr_session *session, const struct orr_snode *node)
{
    int64_t slots = node->idle.v[ORR_SLOT_PODS] + node->releasing.v[ORR_SLOT_PODS];
    if (!session->rules.reserves_shared) {
        return slots;
    }
    slots += node->reserved_slots;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        slots -= node->shared[i].used != 0 && node->shared[i].used != node->shared[i].releasing;
    }
    return slots;
}

/* With its own slot and those of the pods that will reserve the devices it opens. */
static bool reservations_fit(const struct orr_session *session, const struct orr_ask *ask,
                             const struct orr_snode *node)
{
    const int64_t slots = orr_place__pod_slots(session, node);
    return slots > ask->devices || slots > orr_place__opened_devices(session, ask, node);
}

/* A shared device opened anew needs a second pod, the one that reserves it. KAI tells devices that
 * are open by their names being numbers, which they are in its tests alone: all others count as
 * opened anew. It sees no more than one reservation, and none of those that its cycle asks for
 * before; the node then refuses the pods that it binds. Where `reserves_shared` holds, those are
 * not placed, so that the room goes to pods which can run. */
bool orr_place__pods_fit(const struct orr_session *session, const struct orr_ask *ask,
                         const struct orr_snode *node)
{
    const int64_t room = node->idle.v[ORR_SLOT_PODS] + node->releasing.v[ORR_SLOT_PODS];
    if (room < 1) {
        return false;
    }
    if (!orr_ask_is_shared(ask)) {
        return orr_place__pod_slots(session, node) >= 1;
    }
    return (room >= 2 || orr_place__joins_numbered(session, ask, node)) &&
           (!session->rules.reserves_shared || reservations_fit(session, ask, node));
}

/* --- what the node is --- */

static bool mig_admits(const struct orr_ask *ask, const struct orr_snode *node)
{
    if (ask->kind == ORR_ASK_NO_GPU) {
        return true;
    }
    if (ask->legacy_mig || (ask->kind == ORR_ASK_MIG && !node->is_mig)) {
        return false;
    }
    switch ((enum orr_mig_strategy)node->mig_strategy) {
    case ORR_MIG_SINGLE: return !node->is_mig || ask->kind == ORR_ASK_WHOLE;
    case ORR_MIG_MIXED: return !node->is_mig || ask->kind == ORR_ASK_MIG;
    case ORR_MIG_UNKNOWN:
    case ORR_MIG_NONE: break;
    }
    return true;
}

bool orr_node_admits_ask(const struct orr_session *session, const struct orr_ask *ask,
                         uint32_t node_index)
{
    const struct orr_snode *node = &session->nodes[node_index];
    if (!session->rules.predicates) {
        return true;
    }
    if (!node->ready || !mig_admits(ask, node) ||
        (ask->kind == ORR_ASK_MEMORY && !node->has_gpu_memory_label)) {
        return false;
    }
    const uint32_t workers = session->worker_filters[ask->kind != ORR_ASK_NO_GPU];
    return (ask->affinity == ORR_NONE || session->filters[ask->affinity][node_index]) &&
           (ask->tolerance == ORR_NONE || session->filters[ask->tolerance][node_index]) &&
           (workers == ORR_NONE || session->filters[workers][node_index]);
}

bool orr_place__over_capacity_on(const struct orr_session *session, const struct orr_stask *task,
                                 uint32_t node)
{
    return session->rules.predicates && orr_ask_is_shared(orr_task_ask(session, task)) &&
           over_capacity_on(session, task, &session->nodes[node]);
}

bool orr_place__fits(const struct orr_session *session, const struct orr_stask *task, uint32_t node)
{
    const struct orr_session_hooks *hooks = session->hooks;
    return orr_place__points(session, orr_task_ask(session, task), node) != ORR_NO_FIT &&
           !orr_place__over_capacity_on(session, task, node) &&
           (hooks == NULL || hooks->node_filter == NULL ||
            hooks->node_filter(hooks->self, (uint32_t)(task - session->tasks), node));
}

bool orr_place__asks_same(const struct orr_session *session, uint32_t ask, uint32_t other)
{
    const struct orr_ask *a = &session->asks[ask], *b = &session->asks[other];
    for (uint32_t s = 0; s < session->slot_count; s++) {
        if (a->request.v[s] != b->request.v[s]) {
            return false;
        }
    }
    return a->kind == b->kind && a->legacy_mig == b->legacy_mig && a->devices == b->devices &&
           a->portion >= b->portion && a->portion <= b->portion && a->memory_mib == b->memory_mib &&
           a->affinity == b->affinity && a->tolerance == b->tolerance;
}
