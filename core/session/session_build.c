/* SPDX-License-Identifier: GPL-3.0-or-later */
/* session_build.c - filling a session: nodes, filters, queues, asks and jobs. */
#include <orrery/core/session_build.h>

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/defects.h>
#include <orrery/core/reason.h>
#include <orrery/core/statement.h>

#include "session_int.h"

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
    orr_sort(order, spec->task_count, sizeof *order, by_task_order, spec);
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
        orr_session__count_request(session, &session->tasks[index], 1);
        if (task_ids != NULL) {
            task_ids[order[i]] = index;
        }
    }
    orr_numa__make_room(session);
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
