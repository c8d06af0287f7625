/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building a session: nodes, queues, asks, jobs. */
#include "session_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/jobview.h>
#include <orrery/core/usage.h>
#include <orrery/core/defects.h>
#include <orrery/core/reason.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

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

void orr_session_init(struct orr_session *session)
{
    *session = (struct orr_session){0};
    session->rules = orr_session_rules_default();
    session->slot_count = ORR_SLOT_EXTENDED;
    session->gpu_group_ids =
        ORR_ROOM_FOR_ONE(session->gpu_group_ids, 0, session->gpu_group_id_capacity);
    orr_arena_init(&session->arena);
    orr_share_tree_init(&session->tree);
    session->tree_outdated = true;
    session->newest_node = ORR_NONE;
    session->place = orr_place__open();
    session->worker_filters[false] = session->worker_filters[true] = ORR_NONE;
}

void orr_session_release(struct orr_session *session)
{
    for (uint32_t n = 0; n < session->node_count; n++) {
        orr_free(session->nodes[n].shared);
    }
    for (uint32_t q = 0; q < session->queue_count; q++) {
        orr_free(session->queues[q].active);
    }
    orr_free(session->nodes);
    orr_free(session->queues);
    orr_free(session->shares);
    orr_share_tree_release(&session->tree);
    orr_free(session->asks);
    orr_free(session->jobs);
    orr_free(session->sets);
    orr_free(session->tasks);
    orr_free(session->gpu_group_ids);
    orr_free(session->filters);
    orr_free(session->topologies);
    orr_free(session->statement.steps);
    orr_free(session->statement.saved);
    orr_free(session->lists.touched);
    orr_free(session->lists.dirty);
    orr_free(session->changed_jobs);
    orr_free(session->waiting_jobs.entries);
    orr_free(session->waiting_jobs.outdated);
    orr_free(session->fingerprint_due);
    orr_free(session->decisions);
    orr_free(session->all_nodes);
    orr_place__close(session->place);
    orr_v017_close(session);
    orr_numa__release(session);
    orr_arena_release(&session->arena);
}

static const char *keep(struct orr_session *session, const char *text)
{
    return text == NULL ? NULL : orr_arena_strndup(&session->arena, text, strlen(text));
}

/* --- nodes --- */

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

uint32_t orr_session_add_node(struct orr_session *session, const struct orr_node_spec *spec)
{
    session->nodes = ORR_ROOM_FOR_ONE(session->nodes, session->node_count, session->node_capacity);
    uint32_t index = session->node_count++;
    orr_free(session->all_nodes);
    session->all_nodes = NULL;
    int64_t memory =
        spec->gpu_memory_mib >= ORR_MIB ? spec->gpu_memory_mib / ORR_MIB : spec->gpu_memory_mib;
    session->nodes[index] = (struct orr_snode){
        .name = keep(session, spec->name),
        .allocatable = spec->allocatable,
        .offered = spec->allocatable,
        .gpu_count = spec->gpu_count,
        /* Less than 100 MiB would round to nothing, which no sharing can divide by. */
        .gpu_memory_mib = memory >= 100                           ? memory - memory % 100
                          : memory == 0 && spec->unstated_mib > 0 ? spec->unstated_mib
                                                                  : 100,
        .has_gpu_memory_label = memory > 0,
        .ready = true,
        .is_mig = spec->is_mig,
        .mig_strategy = spec->mig_strategy,
        .first_task = ORR_NONE,
        .newer = ORR_NONE,
        .older = session->newest_node,
    };
    if (session->newest_node != ORR_NONE) {
        session->nodes[session->newest_node].newer = index;
    }
    session->newest_node = index;
    orr_session__node_changed(session, index);
    orr_session__dirty(session, index);
    session->tree_outdated = true;
    return index;
}

void orr_session_set_node_ready(struct orr_session *session, uint32_t node, bool ready)
{
    session->nodes[node].ready = ready;
    orr_session__node_changed(session, node);
    session->tree_outdated = true;
}

void orr_session_set_node_away(struct orr_session *session, uint32_t index, bool away)
{
    struct orr_snode *node = &session->nodes[index];
    if (node->away == away) {
        return;
    }
    node->away = away;
    node->allocatable = away ? (struct orr_vec){0} : node->offered;
    for (uint32_t t = 0; t < session->topology_count; t++) {
        orr_session__count_domains(&session->topologies[t], index, away ? -1 : 1);
    }
    orr_session__dirty(session, index);
    orr_session_set_node_ready(session, index, !away);
}

void orr_session_add_foreign(struct orr_session *session, uint32_t index,
                             const struct orr_vec *held, bool counts)
{
    struct orr_snode *node = &session->nodes[index];
    for (uint32_t s = 0; s < ORR_SLOTS_MAX; s++) {
        node->foreign.v[s] += held->v[s];
        node->withheld.v[s] += counts ? 0 : held->v[s];
    }
    orr_session__dirty(session, index);
    session->tree_outdated = true;
}

uint32_t orr_session_add_slot(struct orr_session *session, int64_t gpus)
{
    ORR_ASSERT(session->slot_count < ORR_SLOTS_MAX);
    session->slot_quota_gpus[session->slot_count] = gpus;
    return session->slot_count++;
}

uint32_t orr_session_add_filter(struct orr_session *session, const bool *allowed)
{
    session->filters =
        ORR_ROOM_FOR_ONE(session->filters, session->filter_count, session->filter_capacity);
    bool *copy = orr_arena_alloc(&session->arena, session->node_count, sizeof *copy);
    memcpy(copy, allowed, session->node_count * sizeof *copy);
    session->filters[session->filter_count] = copy;
    return session->filter_count++;
}

void orr_session_restrict_nodes(struct orr_session *session, const bool *cpu_workers,
                                const bool *gpu_workers)
{
    session->worker_filters[false] = orr_session_add_filter(session, cpu_workers);
    session->worker_filters[true] = orr_session_add_filter(session, gpu_workers);
    session->tree_outdated = true;
}

/* --- queues --- */

uint32_t orr_session_add_queue(struct orr_session *session, const char *name,
                               const struct orr_share_queue *share, orr_ms preempt_min_runtime,
                               orr_ms reclaim_min_runtime)
{
    session->queues =
        ORR_ROOM_FOR_ONE(session->queues, session->queue_count, session->queue_capacity);
    session->shares =
        ORR_ROOM_FOR_ONE(session->shares, session->queue_count, session->share_capacity);
    uint32_t index = session->queue_count++;
    ORR_ASSERT(share->parent == ORR_NONE || share->parent < index);
    session->queues[index] = (struct orr_squeue){.name = keep(session, name),
                                                 .usable = true,
                                                 .preempt_min_runtime = preempt_min_runtime,
                                                 .reclaim_min_runtime = reclaim_min_runtime};
    session->shares[index] = *share;
    if (share->parent != ORR_NONE) {
        session->queues[share->parent].child_count++;
        session->queues[share->parent].usable = false; /* jobs belong into leaves */
    }
    session->tree_outdated = true;
    return index;
}

void orr_session_set_queue(struct orr_session *session, uint32_t queue,
                           const struct orr_share_queue *share)
{
    struct orr_share_queue *now = &session->shares[queue];
    now->priority = share->priority;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        now->resource[kind].deserved = share->resource[kind].deserved;
        now->resource[kind].limit = share->resource[kind].limit;
        now->resource[kind].weight = share->resource[kind].weight;
    }
    session->tree_outdated = true;
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

/* --- jobs --- */

uint32_t orr_session_add_ask(struct orr_session *session, const struct orr_ask *ask)
{
    session->asks = ORR_ROOM_FOR_ONE(session->asks, session->ask_count, session->ask_capacity);
    uint32_t index = session->ask_count++;
    session->asks[index] = *ask;
    session->asks[index].mig_mgpu = 0;
    if (ask->containers != NULL) {
        struct orr_container *copy =
            orr_arena_alloc(&session->arena, ask->container_count, sizeof *copy);
        memcpy(copy, ask->containers, ask->container_count * sizeof *copy);
        session->asks[index].containers = copy;
    }
    for (uint32_t s = ORR_SLOT_EXTENDED; s < session->slot_count; s++) {
        session->asks[index].mig_mgpu += ask->request.v[s] * session->slot_quota_gpus[s] * ORR_MGPU;
    }
    return index;
}

/* Members are kept by name: KAI's last tie among subgroups, and the order of its pod set lists. */
static void link_set(struct orr_session *session, uint32_t parent, uint32_t set)
{
    uint32_t *at = &session->sets[parent].first_child;
    while (*at != ORR_NONE && strcmp(session->sets[*at].name, session->sets[set].name) <= 0) {
        at = &session->sets[*at].next_sibling;
    }
    session->sets[set].next_sibling = *at;
    *at = set;
}

static int32_t member_count(const struct orr_session *session, uint32_t set)
{
    int32_t members = 0;
    for (uint32_t c = session->sets[set].first_child; c != ORR_NONE;
         c = session->sets[c].next_sibling) {
        members++;
    }
    return members;
}

static void add_sets(struct orr_session *session, struct orr_sjob *job,
                     const struct orr_job_spec_tree *spec)
{
    job->first_set = session->set_count;
    job->set_count = spec->set_count;
    for (uint32_t i = 0; i < spec->set_count; i++) {
        const struct orr_set_spec *from = &spec->sets[i];
        session->sets = ORR_ROOM_FOR_ONE(session->sets, session->set_count, session->set_capacity);
        uint32_t index = session->set_count++;
        session->sets[index] = (struct orr_sset){
            .name = keep(session, from->name),
            .parent = from->parent == ORR_NONE ? ORR_NONE : job->first_set + from->parent,
            .first_child = ORR_NONE,
            .next_sibling = ORR_NONE,
            .is_pods = from->is_pods,
            .min = from->min,
            .min_stated = from->min >= 0,
            .constraint = {.topology = keep(session, from->constraint.topology),
                           .required = keep(session, from->constraint.required),
                           .preferred = keep(session, from->constraint.preferred)},
        };
        if (from->parent != ORR_NONE) {
            link_set(session, session->sets[index].parent, index);
        }
    }
    for (uint32_t i = 0; i < spec->set_count; i++) {
        struct orr_sset *set = &session->sets[job->first_set + i];
        if (set->min < 0) {
            set->min = set->is_pods ? 0 : member_count(session, job->first_set + i);
        }
    }
}

/* KAI task order: heads of Kubeflow and Ray, then the priority label, then age, then UID. */
static int by_task_order(const void *a, const void *b, void *context)
{
    const struct orr_job_spec_tree *spec = context;
    const struct orr_task_spec *l = &spec->tasks[*(const uint32_t *)a];
    const struct orr_task_spec *r = &spec->tasks[*(const uint32_t *)b];
    if (l->order_class != r->order_class) {
        return l->order_class < r->order_class ? -1 : 1;
    }
    if (l->has_priority != r->has_priority) {
        return l->has_priority ? -1 : 1;
    }
    if (l->has_priority && l->priority != r->priority) {
        return l->priority > r->priority ? -1 : 1;
    }
    if (l->created_s != r->created_s) {
        return l->created_s < r->created_s ? -1 : 1;
    }
    return strcmp(l->name, r->name);
}

static uint32_t room_for_groups(struct orr_session *session, uint32_t devices)
{
    uint32_t at = session->gpu_group_id_count;
    for (uint32_t i = 0; i < 2 * devices; i++) {
        session->gpu_group_ids = ORR_ROOM_FOR_ONE(
            session->gpu_group_ids, session->gpu_group_id_count, session->gpu_group_id_capacity);
        session->gpu_group_ids[session->gpu_group_id_count++] = ORR_NONE;
    }
    return at;
}

static void count_request(struct orr_session *session, const struct orr_stask *task, int sign);

static void add_tasks(struct orr_session *session, uint32_t job_index,
                      const struct orr_job_spec_tree *spec, uint32_t *task_ids)
{
    struct orr_sjob *job = &session->jobs[job_index];
    job->first_task = session->task_count;
    job->task_count = spec->task_count;
    uint32_t *order = orr_alloc(spec->task_count, sizeof *order);
    for (uint32_t i = 0; i < spec->task_count; i++) {
        order[i] = i;
    }
    orr_sort(order, spec->task_count, sizeof *order, by_task_order, (void *)(uintptr_t)spec);
    for (uint32_t i = 0; i < spec->task_count; i++) {
        const struct orr_task_spec *from = &spec->tasks[order[i]];
        const struct orr_place nowhere = {.status = ORR_TASK_PENDING, .node = ORR_NONE};
        session->tasks =
            ORR_ROOM_FOR_ONE(session->tasks, session->task_count, session->task_capacity);
        uint32_t index = session->task_count++;
        session->tasks[index] = (struct orr_stask){
            .name = keep(session, from->name),
            .job = job_index,
            .set = job->first_set + from->set,
            .ask = from->ask,
            .nominated = ORR_NONE,
            .constraint_key = from->constraint_key,
            .live = nowhere,
            .held = nowhere,
            .status_at_open = ORR_TASK_PENDING,
            .gpu_groups_at = room_for_groups(session, session->asks[from->ask].devices),
            .next_on_node = ORR_NONE,
            .prev_on_node = ORR_NONE,
        };
        session->sets[job->first_set + from->set].counts[ORR_TASK_PENDING]++;
        job->pending++;
        count_request(session, &session->tasks[index], 1);
        if (task_ids != NULL) {
            task_ids[order[i]] = index;
        }
    }
    orr_free(order);
}

static void note_placement_class(struct orr_session *session, uint32_t placement_class)
{
    if (placement_class != ORR_NONE && placement_class >= session->placement_classes) {
        session->placement_classes = placement_class + 1;
    }
}

uint32_t orr_session_add_job(struct orr_session *session, const struct orr_job_spec_tree *spec,
                             uint32_t *task_ids)
{
    session->jobs = ORR_ROOM_FOR_ONE(session->jobs, session->job_count, session->job_capacity);
    uint32_t index = session->job_count++;
    struct orr_sjob *job = &session->jobs[index];
    *job = (struct orr_sjob){.name = keep(session, spec->name),
                             .queue = spec->queue,
                             .priority = spec->priority,
                             .preemptible = spec->preemptible,
                             .created_s = spec->created_s,
                             .last_start = ORR_MS_NONE,
                             .last_eviction = ORR_MS_NONE,
                             .stale_since = ORR_MS_NONE,
                             .preemption_delay = spec->preemption_delay,
                             .staleness_grace = spec->staleness_grace,
                             .placement_class = spec->placement_class,
                             .serial = ++session->serials};
    note_placement_class(session, spec->placement_class);
    add_sets(session, job, spec);
    add_tasks(session, index, spec, task_ids);
    orr_session__job_changed(session, index);
    return index;
}

/* --- held state --- */

/* KAI proportion: the request of a queue is what it holds and what its pending pods ask for. */
static void count_request(struct orr_session *session, const struct orr_stask *task, int sign)
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
        queue->unread = true;
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
    count_request(session, task, -1);
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
    count_request(session, task, 1);
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
    count_request(session, task, -1);
    task->held.status = (uint8_t)status;
    count_request(session, task, 1);
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

void orr_session_revive_job(struct orr_session *session, uint32_t index,
                            const struct orr_job_spec_tree *spec)
{
    struct orr_sjob *job = &session->jobs[index];
    ORR_ASSERT(job->invalid && job->task_count == spec->task_count);
    job->invalid = false;
    job->serial = ++session->serials;
    job->name = keep(session, spec->name);
    job->queue = spec->queue;
    job->priority = spec->priority;
    job->preemptible = spec->preemptible;
    job->created_s = spec->created_s;
    job->last_start = ORR_MS_NONE;
    job->last_eviction = ORR_MS_NONE;
    job->stale_since = ORR_MS_NONE;
    job->preemption_delay = spec->preemption_delay;
    job->staleness_grace = spec->staleness_grace;
    job->placement_class =
        spec->placement_class; /* one that scales has none, and may have the shape of others */
    note_placement_class(session, spec->placement_class);
    job->reason = ORR_FIT_NONE;
    memset(job->outcomes, ORR_OUTCOME_NOT_TRIED, sizeof job->outcomes);
    orr_session__job_changed(session, index);
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
    }
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
    queue->unread = false;
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
        if (all || session->queues[q].unread) {
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

void orr_session_add_demand(const struct orr_session *session, const struct orr_ask *ask,
                            int64_t device_mib, struct orr_demand *demand)
{
    (void)session;
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
