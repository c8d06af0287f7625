/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node and queue accounting (KAI's statement.go and api/node_info): what each task takes from where
 * it is. */
#include "slow.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct orr_ask *slow_ask(const struct slow *slow, uint32_t task)
{
    return &slow->in->asks[slow->in->tasks[task].ask];
}

/* --- amounts --- */

int64_t slow_need_mib(const struct orr_ask *ask, const struct orr_snode *node)
{
    return ask->memory_mib > 0 ? ask->memory_mib
                               : (int64_t)(ask->portion * (double)node->gpu_memory_mib);
}

double slow_ceil_2(int64_t part, int64_t whole)
{
    const double x = (double)part / (double)whole;
    return ceil(x * 100) / 100;
}

static int64_t mgpu_of(double gpus)
{
    return (int64_t)round(gpus * ORR_MGPU);
}

int64_t slow_quota_on(const struct slow *slow, const struct orr_ask *ask, uint32_t node)
{
    const struct orr_snode *at = &slow->in->nodes[node];
    int64_t each = 0;
    switch (ask->kind) {
    case ORR_ASK_FRACTION: each = mgpu_of(round(ask->portion * 100) / 100); break;
    case ORR_ASK_MEMORY: each = mgpu_of(slow_ceil_2(ask->memory_mib, at->gpu_memory_mib)); break;
    default: return ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
    }
    return each * ask->devices;
}

/* --- copies --- */

unsigned char *slow_save(const struct slow *slow)
{
    unsigned char *saved = orr_alloc(slow->block_bytes, 1);
    memcpy(saved, slow->block, slow->block_bytes);
    return saved;
}

void slow_restore(struct slow *slow, const unsigned char *saved)
{
    memcpy(slow->block, saved, slow->block_bytes);
}

/* --- shared devices --- */

static struct slow_group *group_of(struct slow_node *node, uint32_t id)
{
    for (uint32_t g = 0; g < node->group_count; g++) {
        if (node->groups[g].id == id) {
            return &node->groups[g];
        }
    }
    assert(node->group_count < SLOW_GROUPS);
    struct slow_group *group = &node->groups[node->group_count++];
    *group = (struct slow_group){.id = id};
    return group;
}

/* Devices in use: whole ones and shared ones. */
static int64_t devices_used(const struct slow_node *node)
{
    int64_t count = node->used.v[ORR_SLOT_GPU] / ORR_MGPU;
    for (uint32_t g = 0; g < node->group_count; g++) {
        count += node->groups[g].used > 0;
    }
    return count;
}

static bool too_many_idle(const struct slow *slow, uint32_t n)
{
    const struct slow_node *node = &slow->at.nodes[n];
    return slow->in->nodes[n].gpu_count <
           node->idle.v[ORR_SLOT_GPU] / ORR_MGPU + devices_used(node);
}

static void add_shared(struct slow *slow, uint32_t n, uint32_t id, int64_t need, uint8_t status)
{
    struct slow_node *node = &slow->at.nodes[n];
    struct slow_group *group = group_of(node, id);
    const bool all_releasing = group->used == group->releasing;
    group->used += need;
    if (status == ORR_TASK_PIPELINED) {
        group->releasing -= need;
        node->releasing.v[ORR_SLOT_GPU] -= all_releasing ? ORR_MGPU : 0;
        return;
    }
    group->allocated += need;
    group->was_allocated = true;
    if (status == ORR_TASK_RELEASING) {
        group->releasing += need;
        if (group->used == group->releasing) {
            node->releasing.v[ORR_SLOT_GPU] += group->flagged ? 0 : ORR_MGPU;
            group->flagged = true;
            node->idle.v[ORR_SLOT_GPU] -= too_many_idle(slow, n) ? ORR_MGPU : 0;
        }
        return;
    }
    if (group->used <= need && too_many_idle(slow, n)) {
        node->idle.v[ORR_SLOT_GPU] -= ORR_MGPU;
    }
    if (group->flagged) {
        node->releasing.v[ORR_SLOT_GPU] -= ORR_MGPU;
        group->flagged = false;
    }
}

static void remove_shared(struct slow *slow, uint32_t n, uint32_t id, int64_t need, uint8_t status)
{
    struct slow_node *node = &slow->at.nodes[n];
    struct slow_group *group = group_of(node, id);
    const bool all_releasing = group->used == group->releasing;
    group->used -= need;
    if (status == ORR_TASK_PIPELINED) {
        group->releasing += need;
        if (all_releasing || (group->used == 0 && group->releasing == 0)) {
            node->releasing.v[ORR_SLOT_GPU] += ORR_MGPU;
        }
        return;
    }
    group->allocated -= need;
    group->releasing -= status == ORR_TASK_RELEASING ? need : 0;
    if (group->used <= 0 && slow->in->nodes[n].gpu_count >=
                                node->idle.v[ORR_SLOT_GPU] / ORR_MGPU + devices_used(node)) {
        node->idle.v[ORR_SLOT_GPU] += ORR_MGPU;
    }
    if (status == ORR_TASK_RELEASING && group->used <= 0 && group->flagged) {
        node->releasing.v[ORR_SLOT_GPU] -= ORR_MGPU;
        group->flagged = false;
    }
    if (status != ORR_TASK_RELEASING && group->used > 0 && group->used == group->releasing &&
        !group->flagged) {
        node->releasing.v[ORR_SLOT_GPU] += ORR_MGPU;
        group->flagged = true;
    }
}

/* --- a task on a node --- */

static bool slot_counts(const struct slow *slow, const struct orr_ask *ask, uint32_t n, uint32_t s)
{
    return slow->in->nodes[n].allocatable.v[s] != 0 &&
           !(s == ORR_SLOT_GPU && orr_ask_is_shared(ask));
}

/* sign +1: the task comes; -1: it goes. */
static void charge(struct slow *slow, uint32_t task, const struct slow_where *where, int sign)
{
    const struct orr_ask *ask = slow_ask(slow, task);
    const uint32_t n = where->node;
    struct slow_node *node = &slow->at.nodes[n];
    for (uint32_t s = 0; s < slow->in->slot_count; s++) {
        if (!slot_counts(slow, ask, n, s)) {
            continue;
        }
        const int64_t amount = sign * ask->request.v[s];
        node->used.v[s] += amount;
        if (where->status == ORR_TASK_PIPELINED) {
            node->releasing.v[s] -= amount;
            continue;
        }
        node->idle.v[s] -= amount;
        node->releasing.v[s] += where->status == ORR_TASK_RELEASING ? amount : 0;
    }
    const int64_t need = slow_need_mib(ask, &slow->in->nodes[n]);
    for (uint32_t g = 0; g < where->group_count; g++) {
        (sign > 0 ? add_shared : remove_shared)(slow, n, where->groups[g], need, where->status);
    }
}

static void count_in_queues(struct slow *slow, uint32_t task, int64_t quota_mgpu, int sign)
{
    const struct orr_sjob *job = &slow->in->jobs[slow->in->tasks[task].job];
    const struct orr_vec *request = &slow_ask(slow, task)->request;
    const int64_t amount[ORR_SHARE_KINDS] = {request->v[ORR_SLOT_CPU], request->v[ORR_SLOT_MEMORY],
                                             quota_mgpu};
    for (uint32_t q = job->queue; q != ORR_NONE; q = slow->in->shares[q].parent) {
        for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
            slow->at.queues[q].allocated[k] += sign * amount[k];
            slow->at.queues[q].nonpreemptible[k] += job->preemptible ? 0 : sign * amount[k];
        }
    }
}

/* --- the statement --- */

static void add_op(struct slow *slow, enum orr_decision_kind kind, uint32_t task, uint32_t node)
{
    slow->at.ops[slow->at.counters[SLOW_OPS]++] =
        (struct slow_op){.kind = (uint8_t)kind, .task = task, .node = node};
}

static bool same_spot(const struct slow_where *a, const struct slow_where *b)
{
    return a->node == b->node && a->group_count == b->group_count &&
           memcmp(a->groups, b->groups, a->group_count * sizeof *a->groups) == 0;
}

static void unevict(struct slow *slow, uint32_t t)
{
    struct slow_task *task = &slow->at.tasks[t];
    charge(slow, t, &task->now, -1);
    charge(slow, t, &task->before, 1);
    task->now = task->before;
    task->is_virtual = false;
    count_in_queues(slow, t, task->now.quota_mgpu, 1);
    for (uint32_t i = 0; i < slow->at.counters[SLOW_OPS]; i++) {
        struct slow_op *op = &slow->at.ops[i];
        op->undone = op->undone || (op->task == t && op->kind == ORR_DECISION_EVICT);
    }
}

void slow_place(struct slow *slow, uint32_t t, const struct slow_where *where)
{
    struct slow_task *task = &slow->at.tasks[t];
    if (task->now.status == ORR_TASK_RELEASING && same_spot(&task->now, where)) {
        unevict(slow, t);
        return;
    }
    task->now = *where;
    task->now.quota_mgpu = slow_quota_on(slow, slow_ask(slow, t), where->node);
    charge(slow, t, &task->now, 1);
    count_in_queues(slow, t, task->now.quota_mgpu, 1);
    task->is_virtual = true;
    add_op(slow, where->status == ORR_TASK_PIPELINED ? ORR_DECISION_PIPELINE : ORR_DECISION_BIND, t,
           where->node);
}

void slow_evict(struct slow *slow, uint32_t t)
{
    struct slow_task *task = &slow->at.tasks[t];
    task->before = task->now;
    charge(slow, t, &task->now, -1);
    task->now.status = ORR_TASK_RELEASING;
    charge(slow, t, &task->now, 1);
    task->is_virtual = true;
    count_in_queues(slow, t, task->now.quota_mgpu, -1);
    add_op(slow, ORR_DECISION_EVICT, t, task->now.node);
}

/* The job's allocations of this statement wait for what is being released instead. */
void slow_pipeline_all(struct slow *slow, uint32_t job, uint32_t from_op)
{
    for (uint32_t i = from_op; i < slow->at.counters[SLOW_OPS]; i++) {
        struct slow_op *op = &slow->at.ops[i];
        if (op->kind == ORR_DECISION_BIND && slow->in->tasks[op->task].job == job) {
            struct slow_where *now = &slow->at.tasks[op->task].now;
            charge(slow, op->task, now, -1);
            now->status = ORR_TASK_PIPELINED;
            charge(slow, op->task, now, 1);
            op->kind = ORR_DECISION_PIPELINE;
        }
    }
}

void slow_commit(struct slow *slow, enum orr_action action, uint32_t preemptor)
{
    for (uint32_t i = 0; i < slow->at.counters[SLOW_OPS]; i++) {
        const struct slow_op *op = &slow->at.ops[i];
        if (op->undone) {
            continue;
        }
        struct slow_task *task = &slow->at.tasks[op->task];
        if (op->kind == ORR_DECISION_BIND) {
            task->now.status = ORR_TASK_BINDING;
        } else if (op->kind == ORR_DECISION_EVICT) {
            task->is_virtual = false;
            slow->at.jobs[slow->in->tasks[op->task].job].last_eviction = slow->now;
        }
        slow->decisions =
            ORR_ROOM_FOR_ONE(slow->decisions, slow->decision_count, slow->decision_capacity);
        slow->decisions[slow->decision_count++] = (struct orr_decision){.kind = op->kind,
                                                                        .action = (uint8_t)action,
                                                                        .task = op->task,
                                                                        .node = op->node,
                                                                        .preemptor = preemptor};
    }
    slow->at.counters[SLOW_OPS] = 0;
}

/* --- sums of 6.4 for solvers --- */

static int64_t with_mig(const struct slow *slow, const struct orr_vec *amounts)
{
    int64_t sum = amounts->v[ORR_SLOT_GPU];
    for (uint32_t s = ORR_SLOT_EXTENDED; s < slow->in->slot_count; s++) {
        sum += amounts->v[s] * slow->in->slot_quota_gpus[s] * ORR_MGPU;
    }
    return sum;
}

/* KAI getSumOfReleasingSharedGPUs: some of the device comes back, and not all that is used on it.
 */
bool slow_partly_releasing(const struct slow_group *group)
{
    return group->releasing > 0 && group->used != group->releasing;
}

int64_t slow_idle_sum(const struct slow *slow, uint32_t n)
{
    const struct slow_node *node = &slow->at.nodes[n];
    const int64_t mib = slow->in->nodes[n].gpu_memory_mib;
    int64_t sum = with_mig(slow, &node->idle);
    for (uint32_t g = 0; g < node->group_count; g++) {
        if (node->groups[g].allocated > 0) {
            sum += ORR_MGPU - mgpu_of(slow_ceil_2(node->groups[g].allocated, mib));
        }
    }
    return sum;
}

int64_t slow_releasing_sum(const struct slow *slow, uint32_t n)
{
    const struct slow_node *node = &slow->at.nodes[n];
    const int64_t mib = slow->in->nodes[n].gpu_memory_mib;
    int64_t sum = with_mig(slow, &node->releasing);
    for (uint32_t g = 0; g < node->group_count; g++) {
        if (slow_partly_releasing(&node->groups[g])) {
            sum += mgpu_of(slow_ceil_2(node->groups[g].releasing, mib));
        }
    }
    return sum;
}

/* --- opening --- */

/* The next part of a block; without one only its size is counted. */
static void *slice(unsigned char *block, size_t *used, size_t count, size_t size)
{
    void *at = block == NULL ? NULL : block + *used;
    *used += (count * size + 15) / 16 * 16;
    return at;
}

static size_t lay_out(struct slow *slow, unsigned char *block)
{
    const struct orr_session *in = slow->in;
    size_t used = 0;
    slow->at.nodes = slice(block, &used, in->node_count, sizeof *slow->at.nodes);
    slow->at.tasks = slice(block, &used, in->task_count, sizeof *slow->at.tasks);
    slow->at.queues = slice(block, &used, in->queue_count, sizeof *slow->at.queues);
    slow->at.jobs = slice(block, &used, in->job_count, sizeof *slow->at.jobs);
    slow->at.ops = slice(block, &used, (size_t)in->task_count * 3 + 1, sizeof *slow->at.ops);
    slow->at.counters = slice(block, &used, SLOW_COUNTERS, sizeof *slow->at.counters);
    return used;
}

static void load_tasks(struct slow *slow)
{
    const struct orr_session *in = slow->in;
    for (uint32_t t = 0; t < in->task_count; t++) {
        const struct orr_stask *from = &in->tasks[t];
        struct slow_where *now = &slow->at.tasks[t].now;
        now->status = from->held.status;
        now->node = from->held.node;
        now->group_count = from->held.group_count;
        const uint32_t room = orr_ask_is_shared(slow_ask(slow, t)) ? slow_ask(slow, t)->devices : 0;
        for (uint32_t g = 0; g < now->group_count; g++) {
            now->groups[g] = in->gpu_group_ids[from->gpu_groups_at + room + g];
        }
        if (now->node != ORR_NONE && slow_in(slow, t, ORR_STATES_ACTIVE_USED)) {
            now->quota_mgpu = slow_quota_on(slow, slow_ask(slow, t), now->node);
            charge(slow, t, now, 1);
        }
        if (!in->jobs[from->job].invalid && slow_in(slow, t, ORR_STATES_ALLOCATED)) {
            count_in_queues(slow, t, now->quota_mgpu, 1);
        }
    }
}

static void find_device_memory(struct slow *slow)
{
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        const int64_t mib = slow->in->nodes[n].gpu_memory_mib;
        if (mib > 100) {
            slow->min_mib = slow->min_mib == 0 || mib < slow->min_mib ? mib : slow->min_mib;
            slow->max_mib = mib > slow->max_mib ? mib : slow->max_mib;
        }
    }
    if (slow->max_mib == 0) {
        slow->min_mib = slow->max_mib = slow->in->rules.gpu_memory_fallback_mib;
    }
}

void slow_open(struct slow *slow, const struct orr_session *session, orr_ms now)
{
    *slow = (struct slow){.in = session, .now = now};
    slow->block_bytes = lay_out(slow, NULL);
    slow->block = orr_zalloc(slow->block_bytes, 1);
    (void)lay_out(slow, slow->block);
    slow->fair = orr_zalloc(session->queue_count + (size_t)1, sizeof *slow->fair);
    slow->preferred = orr_zalloc(session->set_count + (size_t)1, sizeof *slow->preferred);
    slow->at.counters[SLOW_NEXT_GROUP] = session->next_gpu_group;
    for (uint32_t n = 0; n < session->node_count; n++) {
        const struct orr_snode *node = &session->nodes[n];
        slow->at.nodes[n].idle = node->allocatable;
        for (uint32_t s = 0; s < session->slot_count; s++) {
            const int64_t foreign = node->allocatable.v[s] != 0 ? node->foreign.v[s] : 0;
            slow->at.nodes[n].idle.v[s] -= foreign;
            slow->at.nodes[n].used.v[s] = foreign;
        }
    }
    for (uint32_t j = 0; j < session->job_count; j++) {
        slow->at.jobs[j] = (struct slow_job){.last_start = session->jobs[j].last_start,
                                             .last_eviction = session->jobs[j].last_eviction,
                                             .stale_since = session->jobs[j].stale_since};
    }
    find_device_memory(slow);
    load_tasks(slow);
    slow_divide(slow);
}

void slow_close(struct slow *slow)
{
    for (uint32_t s = 0; s < slow->in->set_count; s++) {
        orr_free(slow->preferred[s]);
    }
    orr_free(slow->preferred);
    orr_free(slow->fair);
    orr_free(slow->block);
    orr_free(slow->decisions);
}
