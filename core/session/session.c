/* SPDX-License-Identifier: GPL-3.0-or-later */
/* session.c - what the cluster holds, and how a cycle is opened and closed. */
#include "session_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/defects.h>
#include <orrery/core/statement.h>
#include <orrery/core/usage.h>

struct orr_session_rules orr_session_rules_default(void)
{
    return (struct orr_session_rules){.predicates = true,
                                      .proportion = true,
                                      .priority = true,
                                      .elastic = true,
                                      .node_availability = true,
                                      .gpu_sharing_order = true,
                                      .resource_type = true,
                                      .subgroup_order = true,
                                      .min_runtime = true,
                                      .topology = true,
                                      .task_order = true,
                                      .kubeflow = true,
                                      .ray = true,
                                      .nominated_node = true,
                                      .device_order = ORR_DEVICES_PACK,
                                      .gpu_placement = ORR_PLACEMENT_BINPACK,
                                      .cpu_placement = ORR_PLACEMENT_BINPACK,
                                      .strict_v017 = true,
                                      .reclaim_by_lca = true,
                                      .k = 1.0,
                                      .saturation_multiplier = 1.0,
                                      .allow_consolidating_reclaim = true,
                                      .use_signatures = true,
                                      .max_consolidation_preemptees = 16,
                                      .staleness_grace = 60 * 1000,
                                      .queue_depth = {-1, -1, -1, -1, -1}};
}

const char *orr_fit_reason_code(enum orr_fit_reason reason)
{
    static const char *const codes[ORR_FIT_REASONS] = {"",
                                                       "QueueDoesNotExist",
                                                       "PreemptionDelayNotElapsed",
                                                       "OverLimit",
                                                       "NonPreemptibleOverQuota",
                                                       "TopologyConstraint",
                                                       "PodSchedulingErrors",
                                                       "QueueDepth"};
    return codes[reason];
}

const char *orr_action_name(enum orr_action action)
{
    static const char *const names[ORR_ACTIONS] = {"allocate", "consolidation", "reclaim",
                                                   "preempt", "stalegangeviction"};
    return names[action];
}

/* --- held state --- */

void orr_session__count_request(struct orr_session *session, const struct orr_stask *task, int sign)
{
    const struct orr_sjob *job = &session->jobs[task->job];
    const struct orr_ask *ask = orr_task_ask(session, task);
    const bool allocated = orr_status_in(task->held.status, ORR_STATES_ALLOCATED);
    if (!allocated && task->held.status != ORR_TASK_PENDING) {
        return;
    }
    int64_t amount[ORR_SHARE_KINDS] = {
        ask->request.v[ORR_SLOT_CPU], ask->request.v[ORR_SLOT_MEMORY],
        allocated ? task->held.quota_mgpu : ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu};
    for (uint32_t q = job->queue; q != ORR_NONE; q = session->shares[q].parent) {
        struct orr_squeue *queue = &session->queues[q];
        queue->sums_changed = true;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            queue->request[kind] += sign * amount[kind];
            queue->held_allocated[kind] += allocated ? sign * amount[kind] : 0;
            queue->held_nonpreemptible[kind] +=
                allocated && !job->preemptible ? sign * amount[kind] : 0;
        }
        if (!allocated && ask->kind == ORR_ASK_MEMORY) {
            queue->request_mib += sign * ask->memory_mib * (int64_t)ask->devices;
        }
    }
}

static void unlink_from_node(struct orr_session *session, struct orr_stask *task)
{
    if (task->held.node == ORR_NONE) {
        return;
    }
    if (task->prev_on_node != ORR_NONE) {
        session->tasks[task->prev_on_node].next_on_node = task->next_on_node;
    } else {
        session->nodes[task->held.node].first_task = task->next_on_node;
    }
    if (task->next_on_node != ORR_NONE) {
        session->tasks[task->next_on_node].prev_on_node = task->prev_on_node;
    }
    orr_session__dirty(session, task->held.node);
}

static void link_to_node(struct orr_session *session, struct orr_stask *task)
{
    uint32_t self = (uint32_t)(task - session->tasks);
    if (task->held.node == ORR_NONE) {
        return;
    }
    struct orr_snode *node = &session->nodes[task->held.node];
    task->prev_on_node = ORR_NONE;
    task->next_on_node = node->first_task;
    if (node->first_task != ORR_NONE) {
        session->tasks[node->first_task].prev_on_node = self;
    }
    node->first_task = self;
    orr_session__dirty(session, task->held.node);
}

void orr_session__set_held(struct orr_session *session, uint32_t index, enum orr_task_status status,
                           uint32_t node, const uint32_t *groups, uint32_t group_count)
{
    struct orr_stask *task = &session->tasks[index];
    const struct orr_ask *ask = orr_task_ask(session, task);
    ORR_ASSERT(group_count <= ask->devices);
    orr_session__count_request(session, task, -1);
    unlink_from_node(session, task);
    orr_numa__hold(session, index, node != ORR_NONE && task->live.node == node);
    task->held = (struct orr_place){
        .status = (uint8_t)status,
        .node = node,
        .group_count = group_count,
        .quota_mgpu = node == ORR_NONE ? 0 : orr_session_quota_on(session, ask, node)};
    for (uint32_t i = 0; i < group_count; i++) {
        orr_session__held_groups(session, task)[i] = groups[i];
        if (groups[i] >= session->next_gpu_group) {
            session->next_gpu_group = groups[i] + 1;
        }
    }
    link_to_node(session, task);
    orr_session__count_request(session, task, 1);
}

void orr_session_set_task(struct orr_session *session, uint32_t index, enum orr_task_status status,
                          uint32_t node, const uint32_t *groups, uint32_t group_count)
{
    struct orr_stask *task = &session->tasks[index];
    ORR_ASSERT(!task->touched);
    orr_session__set_held(session, index, status, node, groups, group_count);
    orr_session__set_live_status(session, task, (uint8_t)status);
    task->live = task->held;
    task->status_at_open = task->held.status;
    orr_numa__recall(session, index);
    for (uint32_t i = 0; i < group_count; i++) {
        orr_session__live_groups(session, task)[i] = groups[i];
    }
}

void orr_session_set_status(struct orr_session *session, uint32_t index,
                            enum orr_task_status status)
{
    struct orr_stask *task = &session->tasks[index];
    orr_session__count_request(session, task, -1);
    task->held.status = (uint8_t)status;
    orr_session__count_request(session, task, 1);
    orr_session__set_live_status(session, task, (uint8_t)status);
    task->status_at_open = (uint8_t)status;
    if (task->held.node != ORR_NONE) {
        orr_session__dirty(session, task->held.node);
    }
}

void orr_session_end_job(struct orr_session *session, uint32_t index)
{
    struct orr_sjob *job = &session->jobs[index];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        orr_session_set_task(session, t, ORR_TASK_DELETED, ORR_NONE, NULL, 0);
    }
    job->invalid = true;
    orr_session__job_changed(session, index);
}

/* --- ranks and sums of the world --- */

/* Positions of names in byte order, for ties. */
static int by_node_name(const void *a, const void *b, void *context)
{
    const struct orr_session *session = context;
    return strcmp(session->nodes[*(const uint32_t *)a].name,
                  session->nodes[*(const uint32_t *)b].name);
}

static void rank_nodes(struct orr_session *session)
{
    uint32_t *order = orr_alloc(session->node_count, sizeof *order);
    for (uint32_t n = 0; n < session->node_count; n++) {
        order[n] = n;
    }
    orr_sort(order, session->node_count, sizeof *order, by_node_name, session);
    for (uint32_t i = 0; i < session->node_count; i++) {
        session->nodes[order[i]].rank = i;
    }
    orr_free(order);
}

/* KAI proportion: the total is what ready nodes can give; unready ones count nothing. Device
 * memory bounds are of all nodes whose devices have more than 100 MiB. What is away is not there.
 */
static void sum_nodes(struct orr_session *session)
{
    int64_t sum[ORR_SHARE_KINDS] = {0};
    int64_t *min = &session->min_gpu_memory_mib;
    int64_t *max = &session->max_gpu_memory_mib;
    *min = *max = 0;
    session->largest = (struct orr_vec){0};
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        for (uint32_t s = 0; s < ORR_SLOTS_MAX; s++) {
            int64_t *largest = &session->largest.v[s];
            *largest = node->allocatable.v[s] > *largest ? node->allocatable.v[s] : *largest;
        }
        if (node->gpu_memory_mib > 100 && node->has_gpu_memory_label && !node->away) {
            *min = *min == 0 || node->gpu_memory_mib < *min ? node->gpu_memory_mib : *min;
            *max = node->gpu_memory_mib > *max ? node->gpu_memory_mib : *max;
        }
        if (!node->ready) {
            continue;
        }
        const int64_t *all = node->allocatable.v, *withheld = node->withheld.v;
        sum[ORR_SHARE_CPU] += all[ORR_SLOT_CPU] - withheld[ORR_SLOT_CPU];
        sum[ORR_SHARE_MEMORY] += all[ORR_SLOT_MEMORY] - withheld[ORR_SLOT_MEMORY];
        if (session->worker_filters[true] != ORR_NONE &&
            !session->filters[session->worker_filters[true]][n]) {
            continue;
        }
        sum[ORR_SHARE_GPU] += all[ORR_SLOT_GPU] - withheld[ORR_SLOT_GPU];
        for (uint32_t s = ORR_SLOT_EXTENDED; s < session->slot_count; s++) {
            sum[ORR_SHARE_GPU] += (all[s] - withheld[s]) * session->slot_quota_gpus[s] * ORR_MGPU;
        }
    }
    if (*min == 0) {
        *min = *max = session->rules.gpu_memory_fallback_mib;
    }
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        session->total[kind] = orr_share_units(kind, sum[kind]);
    }
}

static int by_queue_name(const void *a, const void *b, void *context)
{
    const struct orr_session *session = context;
    return strcmp(session->queues[*(const uint32_t *)a].name,
                  session->queues[*(const uint32_t *)b].name);
}

static void rank_queues(struct orr_session *session)
{
    uint32_t *order = orr_alloc(session->queue_count, sizeof *order);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        order[q] = q;
    }
    orr_sort(order, session->queue_count, sizeof *order, by_queue_name, session);
    for (uint32_t i = 0; i < session->queue_count; i++) {
        session->shares[order[i]].name_rank = i;
    }
    orr_free(order);
}

/* --- a cycle --- */

static double request_of(const struct orr_session *session, const struct orr_squeue *queue,
                         unsigned kind)
{
    const double request = orr_share_units(kind, queue->request[kind]);
    return kind == ORR_SHARE_GPU && session->min_gpu_memory_mib > 0
               ? request + (double)queue->request_mib / (double)session->min_gpu_memory_mib
               : request;
}

/* The live sums become those of what is held; shares are divided again where requests changed. */
static void read_queue(struct orr_session *session, uint32_t q)
{
    struct orr_squeue *queue = &session->queues[q];
    queue->sums_changed = false;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        struct orr_share_resource *resource = &session->shares[q].resource[kind];
        const double request = request_of(session, queue, kind);
        queue->allocated[kind] = queue->held_allocated[kind];
        queue->nonpreemptible[kind] = queue->held_nonpreemptible[kind];
        resource->allocated = orr_share_units(kind, queue->allocated[kind]);
        resource->allocated_nonpreemptible = orr_share_units(kind, queue->nonpreemptible[kind]);
        if (resource->request != request) {
            resource->request = request;
            orr_share_touch(&session->tree, q, 1u << kind);
        }
    }
}

static void divide(struct orr_session *session)
{
    const bool all = session->tree_outdated;
    if (all) {
        rank_nodes(session);
        rank_queues(session);
        sum_nodes(session);
        orr_share_tree_build(&session->tree, session->shares, session->queue_count);
        session->tree_outdated = false;
    }
    if (session->usage != NULL) {
        (void)orr_usage_refresh(session->usage, session->now, &session->tree, session->shares);
    }
    for (uint32_t q = 0; q < session->queue_count; q++) {
        if (all || session->queues[q].sums_changed) {
            read_queue(session, q);
        }
    }
    session->share_generation +=
        orr_share_redivide(&session->tree, session->shares, session->total, session->rules.k);
}

void orr_session_open(struct orr_session *session, orr_ms now)
{
    ORR_ASSERT(session->statement.count == 0 && session->lists.touched_count == 0);
    session->now = now;
    session->abandoned = false;
    session->queue_generation++;
    session->decision_count = 0;
    divide(session);
    for (uint32_t i = 0; i < session->lists.dirty_count; i++) {
        orr_session__rebuild_node(session, session->lists.dirty[i]);
    }
    session->lists.dirty_count = 0;
    if (session->rules.defects_v017) {
        session->rules.literal = true;
        orr_v017_open(session);
    }
    session->rules.literal = session->rules.literal || session->hooks != NULL;
}

void orr_session_close(struct orr_session *session)
{
    session->statement.count = 0;
    session->statement.saved_bytes = 0;
    for (uint32_t i = 0; i < session->lists.touched_count; i++) {
        struct orr_stask *task = &session->tasks[session->lists.touched[i]];
        orr_session__set_live_status(session, task, task->held.status);
        task->live = task->held;
        task->status_at_open = task->held.status;
        orr_numa__recall(session, session->lists.touched[i]);
        task->is_virtual = false;
        task->touched = false;
        for (uint32_t g = 0; g < task->held.group_count; g++) {
            orr_session__live_groups(session, task)[g] = orr_session__held_groups(session, task)[g];
        }
    }
    session->lists.touched_count = 0;
}

/* --- reading --- */

const uint32_t *orr_session_all_nodes(struct orr_session *session)
{
    if (session->all_nodes == NULL) {
        session->all_nodes = orr_alloc(session->node_count + (size_t)1, sizeof(uint32_t));
        for (uint32_t n = 0; n < session->node_count; n++) {
            session->all_nodes[n] = n;
        }
    }
    return session->all_nodes;
}

void orr_session_add_demand(const struct orr_ask *ask, int64_t device_mib,
                            struct orr_demand *demand)
{
    demand->v[ORR_SHARE_CPU] += ask->request.v[ORR_SLOT_CPU];
    demand->v[ORR_SHARE_MEMORY] += ask->request.v[ORR_SLOT_MEMORY];
    const int64_t mgpu = ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
    demand->v[ORR_SHARE_GPU] += mgpu;
    demand->gpus += orr_share_units(ORR_SHARE_GPU, mgpu);
    if (ask->kind == ORR_ASK_MEMORY && device_mib > 0) {
        const double part = (double)(ask->memory_mib * (int64_t)ask->devices) / (double)device_mib;
        demand->gpus_by_memory += part;
        demand->gpus += part;
    }
}

const struct orr_shared_gpu *orr_session_find_shared(const struct orr_snode *node, uint32_t id)
{
    for (uint32_t i = 0; i < node->shared_count; i++) {
        if (node->shared[i].id == id) {
            return &node->shared[i];
        }
    }
    return NULL;
}
