/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The books of nodes and queues: what is idle, used and being released. */
#include "session_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/core/cluster.h>
#include <orrery/core/defects.h>
#include <orrery/core/job.h>

/* --- shared devices: cost --- */

int64_t orr_session_ceil_portion(int64_t need_mib, int64_t device_mib)
{
    return orr_memory_counted_mgpu(need_mib, device_mib);
}

int64_t orr_session_portion_mgpu(double portion)
{
    return orr_portion_counted_mgpu(portion);
}

int64_t orr_session_mig_gpus(const char *resource)
{
    const char *at = resource;
    while (*at != '\0' && strncmp(at, "mig-", 4) != 0) {
        at++;
    }
    return orr_mig_gpus(*at != '\0' ? at + 4 : resource);
}

int64_t orr_session_shared_need(const struct orr_ask *ask, const struct orr_snode *node)
{
    return ask->memory_mib > 0 ? ask->memory_mib
                               : (int64_t)(ask->portion * (double)node->gpu_memory_mib);
}

int64_t orr_session_quota_on(const struct orr_session *session, const struct orr_ask *ask,
                             uint32_t node)
{
    if (ask->kind == ORR_ASK_MEMORY) {
        return orr_session_ceil_portion(ask->memory_mib, session->nodes[node].gpu_memory_mib) *
               (int64_t)ask->devices;
    }
    return ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
}

/* --- shared devices: books --- */

static struct orr_shared_gpu *shared_entry(struct orr_snode *node, uint32_t id)
{
    const struct orr_shared_gpu *found = orr_session_find_shared(node, id);
    if (found != NULL) {
        return &node->shared[found - node->shared];
    }
    node->shared = ORR_ROOM_FOR_ONE(node->shared, node->shared_count, node->shared_capacity);
    struct orr_shared_gpu *entry = &node->shared[node->shared_count++];
    *entry = (struct orr_shared_gpu){.id = id};
    return entry;
}

/* Devices somebody uses: whole ones and shared ones. */
static int64_t used_devices(const struct orr_snode *node)
{
    int64_t devices = node->used.v[ORR_SLOT_GPU] / ORR_MGPU;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        devices += node->shared[i].used > 0;
    }
    return devices;
}

/* More devices on the books than there are: the one just opened must leave idle. */
static bool overbooked(const struct orr_snode *node)
{
    return node->gpu_count < node->idle.v[ORR_SLOT_GPU] / ORR_MGPU + used_devices(node);
}

static bool all_releasing(const struct orr_shared_gpu *gpu)
{
    return gpu->used != 0 && gpu->used == gpu->releasing;
}

static void count_releasing(struct orr_snode *node, struct orr_shared_gpu *gpu, bool counts)
{
    if (gpu->counted_releasing != counts) {
        gpu->counted_releasing = counts;
        node->releasing.v[ORR_SLOT_GPU] += counts ? ORR_MGPU : -ORR_MGPU;
    }
}

/* KAI addSharedGPUTaskResourcesPerPodGroup (api/node_info/gpu_sharing_node_info.go). */
static void shared_add(struct orr_snode *node, uint32_t id, int64_t need, uint8_t status)
{
    struct orr_shared_gpu *gpu = shared_entry(node, id);
    const bool was_all_releasing = gpu->used == gpu->releasing;
    gpu->used += need;
    if (status == ORR_TASK_PIPELINED) {
        gpu->releasing -= need;
        node->releasing.v[ORR_SLOT_GPU] -= was_all_releasing ? ORR_MGPU : 0;
        return;
    }
    gpu->allocated += need;
    gpu->was_allocated = true;
    if (status == ORR_TASK_RELEASING) {
        gpu->releasing += need;
        if (gpu->used == gpu->releasing) {
            count_releasing(node, gpu, true);
            node->idle.v[ORR_SLOT_GPU] -= overbooked(node) ? ORR_MGPU : 0;
        }
        return;
    }
    if (gpu->used <= need && overbooked(node)) {
        node->idle.v[ORR_SLOT_GPU] -= ORR_MGPU;
    }
    count_releasing(node, gpu, false);
}

/* KAI removeSharedTaskResourcesPerPodGroup: not the inverse where tasks in several states share. */
static void shared_remove(struct orr_snode *node, uint32_t id, int64_t need, uint8_t status)
{
    struct orr_shared_gpu *gpu = shared_entry(node, id);
    const bool was_all_releasing = gpu->used == gpu->releasing;
    gpu->used -= need;
    if (status == ORR_TASK_PIPELINED) {
        gpu->releasing += need;
        if (was_all_releasing || (gpu->used == 0 && gpu->releasing == 0)) {
            node->releasing.v[ORR_SLOT_GPU] += ORR_MGPU;
        }
        return;
    }
    gpu->allocated -= need;
    gpu->releasing -= status == ORR_TASK_RELEASING ? need : 0;
    if (gpu->used <= 0 &&
        node->gpu_count >= node->idle.v[ORR_SLOT_GPU] / ORR_MGPU + used_devices(node)) {
        node->idle.v[ORR_SLOT_GPU] += ORR_MGPU;
    }
    if (status != ORR_TASK_RELEASING) {
        count_releasing(node, gpu, gpu->counted_releasing || all_releasing(gpu));
    } else if (gpu->used <= 0) {
        count_releasing(node, gpu, false);
    }
}

/* --- vectors --- */

static void vector_move(const struct orr_session *session, struct orr_snode *node,
                        const struct orr_ask *ask, uint8_t status, int64_t sign)
{
    for (uint32_t s = 0; s < session->slot_count; s++) {
        int64_t amount = sign * ask->request.v[s];
        /* A slot the node does not offer is never charged; nor are whole GPUs by a shared task. */
        if (node->allocatable.v[s] == 0 || (s == ORR_SLOT_GPU && orr_ask_is_shared(ask))) {
            continue;
        }
        node->used.v[s] += amount;
        if (status == ORR_TASK_PIPELINED) {
            node->releasing.v[s] -= amount;
            continue;
        }
        node->idle.v[s] -= amount;
        node->releasing.v[s] += status == ORR_TASK_RELEASING ? amount : 0;
    }
}

void orr_session__book(struct orr_session *session, uint32_t node_index, const struct orr_ask *ask,
                       uint8_t status, const uint32_t *groups, uint32_t group_count, int sign)
{
    struct orr_snode *node = &session->nodes[node_index];
    vector_move(session, node, ask, status, sign);
    for (uint32_t i = 0; orr_ask_is_shared(ask) && i < group_count; i++) {
        const int64_t need = orr_session_shared_need(ask, node);
        if (sign > 0) {
            shared_add(node, groups[i], need, status);
        } else {
            shared_remove(node, groups[i], need, status);
        }
    }
}

void orr_session__book_add(struct orr_session *session, uint32_t node, const struct orr_stask *task)
{
    orr_session__book(session, node, orr_task_ask(session, task), task->live.status,
                      orr_task_groups(session, task), task->live.group_count, 1);
    orr_numa__charge(session, &session->nodes[node], task, 1);
}

void orr_session__book_remove(struct orr_session *session, uint32_t node,
                              const struct orr_stask *task)
{
    orr_session__book(session, node, orr_task_ask(session, task), task->live.status,
                      orr_task_groups(session, task), task->live.group_count, -1);
    orr_numa__charge(session, &session->nodes[node], task, -1);
}

void orr_session__rebuild_node(struct orr_session *session, uint32_t index)
{
    struct orr_snode *node = &session->nodes[index];
    node->idle = node->allocatable;
    memset(&node->used, 0, sizeof node->used);
    for (uint32_t s = 0; s < session->slot_count; s++) {
        if (node->allocatable.v[s] != 0) { /* what is not there is not charged */
            node->idle.v[s] -= node->foreign.v[s];
            node->used.v[s] = node->foreign.v[s];
        }
    }
    memset(&node->releasing, 0, sizeof node->releasing);
    node->shared_count = 0;
    orr_numa__reset(node);
    for (uint32_t t = node->first_task; t != ORR_NONE; t = session->tasks[t].next_on_node) {
        if (orr_status_in(session->tasks[t].held.status, ORR_STATES_ACTIVE_USED)) {
            orr_session__book_add(session, index, &session->tasks[t]);
        }
    }
    node->reserved_slots = 0;
    for (uint32_t i = 0; i < node->shared_count && session->rules.reserves_shared; i++) {
        node->reserved_slots += node->shared[i].used > 0;
    }
    node->idle.v[ORR_SLOT_PODS] -= node->reserved_slots;
    node->used.v[ORR_SLOT_PODS] += node->reserved_slots;
    node->dirty = false;
    orr_session__node_changed(session, index);
}

/* --- sums for solvers --- */

static int64_t mig_gpus(const struct orr_session *session, const struct orr_vec *vector)
{
    int64_t sum = 0;
    for (uint32_t s = ORR_SLOT_EXTENDED; s < session->slot_count; s++) {
        sum += vector->v[s] * session->slot_quota_gpus[s] * ORR_MGPU;
    }
    return sum;
}

int64_t orr_session_idle_gpus(const struct orr_session *session, uint32_t index)
{
    const struct orr_snode *node = &session->nodes[index];
    int64_t sum = node->idle.v[ORR_SLOT_GPU] + mig_gpus(session, &node->idle);
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        if (gpu->allocated > 0) {
            sum += ORR_MGPU - orr_session_ceil_portion(gpu->allocated, node->gpu_memory_mib);
        }
    }
    return sum;
}

/* MiB that come back of a device of which more stays in use (KAI getSumOfReleasingSharedGPUs). */
static int64_t partly_releasing(const struct orr_shared_gpu *gpu)
{
    return gpu->releasing > 0 && !all_releasing(gpu) ? gpu->releasing : 0;
}

int64_t orr_session_releasing_gpus(const struct orr_session *session, uint32_t index)
{
    const struct orr_snode *node = &session->nodes[index];
    int64_t sum = node->releasing.v[ORR_SLOT_GPU] + mig_gpus(session, &node->releasing);
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const int64_t mib = partly_releasing(&node->shared[i]);
        sum += mib > 0 ? orr_session_ceil_portion(mib, node->gpu_memory_mib) : 0;
    }
    return sum;
}

int64_t orr_session_free_mib(const struct orr_snode *node)
{
    int64_t sum = (node->idle.v[ORR_SLOT_GPU] + node->releasing.v[ORR_SLOT_GPU]) / ORR_MGPU *
                  node->gpu_memory_mib;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        sum += gpu->allocated > 0 ? node->gpu_memory_mib - gpu->allocated : 0;
        sum += partly_releasing(gpu);
    }
    return sum;
}

/* --- queues and statuses --- */

void orr_session__charge(struct orr_session *session, const struct orr_stask *task,
                         int64_t quota_mgpu, int sign)
{
    const struct orr_sjob *job = &session->jobs[task->job];
    const struct orr_ask *ask = orr_task_ask(session, task);
    const int64_t amount[ORR_SHARE_KINDS] = {ask->request.v[ORR_SLOT_CPU],
                                             ask->request.v[ORR_SLOT_MEMORY], quota_mgpu};
    session->queue_generation++;
    if (session->v017 != NULL) {
        orr_v017_charge(session, job->queue, job->preemptible, quota_mgpu, sign);
    }
    for (uint32_t q = job->queue; q != ORR_NONE; q = session->shares[q].parent) {
        struct orr_squeue *queue = &session->queues[q];
        queue->sums_changed = true;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            struct orr_share_resource *share = &session->shares[q].resource[kind];
            queue->allocated[kind] += sign * amount[kind];
            share->allocated = orr_share_units(kind, queue->allocated[kind]);
            if (!job->preemptible) {
                queue->nonpreemptible[kind] += sign * amount[kind];
                share->allocated_nonpreemptible =
                    orr_share_units(kind, queue->nonpreemptible[kind]);
            }
        }
    }
}

/* Keeps the queue's list of active jobs. */
static void list_active(struct orr_session *session, uint32_t job_index)
{
    struct orr_sjob *job = &session->jobs[job_index];
    struct orr_squeue *queue = &session->queues[job->queue];
    queue->active = ORR_ROOM_FOR_ONE(queue->active, queue->active_count, queue->active_capacity);
    job->active_at = queue->active_count;
    queue->active[queue->active_count++] = job_index;
}

static void unlist_active(struct orr_session *session, uint32_t job_index)
{
    struct orr_sjob *job = &session->jobs[job_index];
    struct orr_squeue *queue = &session->queues[job->queue];
    const uint32_t last = queue->active[--queue->active_count];
    queue->active[job->active_at] = last;
    session->jobs[last].active_at = job->active_at;
}

static void count_active(struct orr_session *session, uint32_t job_index, bool was, bool is)
{
    struct orr_sjob *job = &session->jobs[job_index];
    const uint32_t before = job->active;
    job->active = before - was + is;
    if (job->queue == ORR_NONE || (before > 0) == (job->active > 0)) {
        return;
    }
    if (before == 0) {
        list_active(session, job_index);
    } else {
        unlist_active(session, job_index);
    }
}

/* What a task adds to the fingerprint of its queue. One that is placed in this cycle is like one
 * that runs; one that waits for what is being released is not. */
static uint64_t fingerprint_of(const struct orr_session *session, const struct orr_stask *task)
{
    const struct orr_sjob *job = &session->jobs[task->job];
    if (!orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED)) {
        return 0;
    }
    const uint64_t nth = (uint64_t)(task - session->tasks) - job->first_task;
    uint64_t place = (uint64_t)task->live.node << 1 | (task->live.status == ORR_TASK_PIPELINED);
    for (uint32_t i = 0; i < task->live.group_count; i++) {
        place = orr_scatter(place ^ orr_task_groups(session, task)[i]);
    }
    return orr_scatter(orr_scatter(job->serial << 20 ^ nth) + place);
}

/* Takes the task, which is about to change, out of its queue's fingerprint. */
static void take_from_fingerprint(struct orr_session *session, uint32_t index)
{
    struct orr_stask *task = &session->tasks[index];
    const uint32_t queue = session->jobs[task->job].queue;
    if (task->fingerprint_due || queue == ORR_NONE) {
        return;
    }
    task->fingerprint_due = true;
    session->queues[queue].fingerprint -= fingerprint_of(session, task);
    session->fingerprint_due =
        ORR_ROOM_FOR_ONE(session->fingerprint_due, session->fingerprint_due_count,
                         session->fingerprint_due_capacity);
    session->fingerprint_due[session->fingerprint_due_count++] = index;
}

void orr_session_update_fingerprints(struct orr_session *session)
{
    for (uint32_t i = 0; i < session->fingerprint_due_count; i++) {
        struct orr_stask *task = &session->tasks[session->fingerprint_due[i]];
        const uint32_t queue = session->jobs[task->job].queue;
        task->fingerprint_due = false;
        if (queue != ORR_NONE) {
            session->queues[queue].fingerprint += fingerprint_of(session, task);
        }
    }
    session->fingerprint_due_count = 0;
}

void orr_session__set_live_status(struct orr_session *session, struct orr_stask *task,
                                  uint8_t status)
{
    struct orr_sset *set = &session->sets[task->set];
    struct orr_sjob *job = &session->jobs[task->job];
    take_from_fingerprint(session, (uint32_t)(task - session->tasks));
    set->counts[task->live.status]--;
    set->counts[status]++;
    job->pending -= task->live.status == ORR_TASK_PENDING;
    job->pending += status == ORR_TASK_PENDING;
    count_active(session, task->job, orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED),
                 orr_status_in(status, ORR_STATES_ACTIVE_ALLOCATED));
    task->live.status = status;
    job->task_generation = ++session->task_generation;
    orr_session__job_changed(session, task->job);
}

void orr_session_outdate_waiting(struct orr_session *session, uint32_t job)
{
    if (!session->jobs[job].outdated) {
        session->jobs[job].outdated = true;
        session->waiting_jobs.outdated =
            ORR_ROOM_FOR_ONE(session->waiting_jobs.outdated, session->waiting_jobs.outdated_count,
                             session->waiting_jobs.outdated_capacity);
        session->waiting_jobs.outdated[session->waiting_jobs.outdated_count++] = job;
    }
}

void orr_session__job_changed(struct orr_session *session, uint32_t job)
{
    orr_session_outdate_waiting(session, job);
    if (session->jobs[job].changed) {
        return;
    }
    session->jobs[job].changed = true;
    session->changed_jobs =
        ORR_ROOM_FOR_ONE(session->changed_jobs, session->changed_count, session->changed_capacity);
    session->changed_jobs[session->changed_count++] = job;
}

void orr_session__node_changed(struct orr_session *session, uint32_t index)
{
    struct orr_snode *node = &session->nodes[index];
    node->changed_at = ++session->node_generation;
    if (session->newest_node == index) {
        return;
    }
    session->nodes[node->newer].older = node->older;
    if (node->older != ORR_NONE) {
        session->nodes[node->older].newer = node->newer;
    }
    node->newer = ORR_NONE;
    node->older = session->newest_node;
    session->nodes[session->newest_node].newer = index;
    session->newest_node = index;
}

void orr_session__touch(struct orr_session *session, uint32_t task)
{
    if (session->tasks[task].touched) {
        return;
    }
    session->tasks[task].touched = true;
    session->lists.touched = ORR_ROOM_FOR_ONE(session->lists.touched, session->lists.touched_count,
                                              session->lists.touched_capacity);
    session->lists.touched[session->lists.touched_count++] = task;
}

void orr_session__dirty(struct orr_session *session, uint32_t node)
{
    if (session->nodes[node].dirty) {
        return;
    }
    session->nodes[node].dirty = true;
    session->lists.dirty = ORR_ROOM_FOR_ONE(session->lists.dirty, session->lists.dirty_count,
                                            session->lists.dirty_capacity);
    session->lists.dirty[session->lists.dirty_count++] = node;
}
