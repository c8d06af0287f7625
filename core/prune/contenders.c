/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may lose something, kept from search to search: the preemptible active jobs of each queue, in
 * the order in which they are served, and consolidation's candidates, the oldest of all. A job is
 * looked at anew when a task of it changed.
 */
#include "flat_int.h"

/* --- what a flat world knows of a job --- */

bool orr_flat__asks_whole_gpus(const struct orr_session *session, const struct orr_ask *ask)
{
    bool alone = orr_ask_is_whole_gpus(ask) && !ask->legacy_mig;
    for (uint32_t s = ORR_SLOT_EXTENDED; alone && s < session->slot_count; s++) {
        alone = ask->request.v[s] == 0;
    }
    return alone;
}

bool orr_flat__goes_anywhere(const struct orr_session *session, const struct orr_ask *ask)
{
    return orr_flat__asks_whole_gpus(session, ask) &&
           orr_gpu_filters_admit_all(&session->victim_index->filters, session, ask);
}

uint32_t orr_flat__only_pod_set(const struct orr_session *session, const struct orr_sjob *job)
{
    return orr_prune__is_constrained(session, job) ? ORR_NONE
                                                   : orr_prune__only_pod_set(session, job);
}

/* All of the job runs, or waits for what is being released, and as one piece; its tasks ask as many
 * GPUs. */
static bool is_whole(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const struct orr_ask *first = orr_task_ask(session, &session->tasks[job->first_task]);
    const uint32_t set = orr_flat__only_pod_set(session, job);
    if (set == ORR_NONE || session->sets[set].min != (int32_t)job->task_count) {
        return false;
    }
    uint32_t pipelined = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        const struct orr_ask *ask = orr_task_ask(session, task);
        if (!orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) ||
            task->live.node == ORR_NONE || task->nominated != ORR_NONE ||
            ask->request.v[ORR_SLOT_GPU] > ORR_COUNTED_GPUS * ORR_MGPU ||
            ask->request.v[ORR_SLOT_GPU] != first->request.v[ORR_SLOT_GPU] ||
            !orr_flat__goes_anywhere(session, ask)) {
            return false;
        }
        pipelined += task->live.status == ORR_TASK_PIPELINED;
    }
    return pipelined == 0 || pipelined == job->task_count;
}

struct orr_contender orr_flat__contender(const struct orr_session *session, uint32_t job,
                                         uint32_t first_task, uint32_t tasks)
{
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[first_task]);
    struct orr_contender contender = {.job = job,
                                      .leaf = ORR_NONE,
                                      .elastic_state = -1,
                                      .gpus = (uint32_t)(ask->request.v[ORR_SLOT_GPU] / ORR_MGPU),
                                      .first_task = first_task,
                                      .tasks = tasks,
                                      .node = session->tasks[first_task].live.node,
                                      .pipelined = session->tasks[first_task].live.status ==
                                                   ORR_TASK_PIPELINED};
    for (uint32_t i = 0; i < tasks; i++) {
        const struct orr_ask *one = orr_task_ask(session, &session->tasks[first_task + i]);
        orr_session_add_demand(one, 0, &contender.demand);
    }
    return contender;
}

static struct orr_contender victim_contender(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    struct orr_contender contender = {.job = index, .odd = true, .elastic_state = -1};
    if (is_whole(session, index)) {
        contender = orr_flat__contender(session, index, job->first_task, job->task_count);
    }
    return contender;
}

/* --- of a queue --- */

/* Leaves those whose jobs are as they were. */
static void drop_changed(const struct orr_session *session, struct orr_queue_index *at)
{
    struct orr_contender_row *row = &at->row;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        if (session->jobs[row->contenders[i].job].task_generation <= at->task_generation) {
            if (kept != i) {
                row->contenders[kept] = row->contenders[i];
            }
            kept++;
        }
    }
    row->count = kept;
}

/* Most that come started last. */
static void put_in(const struct orr_session *session, struct orr_queue_index *at, uint32_t job)
{
    const struct orr_contender contender = victim_contender(session, job);
    struct orr_contender_row *row = &at->row;
    row->contenders = ORR_ROOM_FOR_ONE(row->contenders, row->count, at->capacity);
    uint32_t i = row->count++;
    for (; i > 0 && orr_flat__is_before(session, &contender, &row->contenders[i - 1]); i--) {
        row->contenders[i] = row->contenders[i - 1];
    }
    row->contenders[i] = contender;
}

struct orr_queue_index *orr_victim_index_in(struct orr_session *session, uint32_t queue)
{
    const struct orr_squeue *of = &session->queues[queue];
    struct orr_queue_index *at = &session->victim_index->queues[queue];
    if (at->fingerprint == of->fingerprint) {
        return at; /* also at first, if it has none */
    }
    drop_changed(session, at);
    for (uint32_t i = 0; i < of->active_count; i++) {
        const struct orr_sjob *job = &session->jobs[of->active[i]];
        if (job->preemptible && !job->invalid && job->task_generation > at->task_generation) {
            put_in(session, at, of->active[i]);
        }
    }
    at->fingerprint = of->fingerprint;
    at->task_generation = session->task_generation;
    orr_flat__sum_up(&at->row);
    return at;
}

/* --- of consolidation --- */

static void find_oldest(struct orr_session *session, uint32_t job)
{
    struct orr_victim_index *all = session->victim_index;
    struct orr_contender_row *row = &all->oldest;
    struct orr_victim_search search = {
        .session = session, .action = ORR_ACTION_CONSOLIDATION, .job = job};
    orr_arena_init(&search.memory);
    orr_victim__list_queues(&search);
    orr_victim__find_candidates(&search);
    orr_free(row->contenders);
    row->contenders = orr_alloc(search.candidate_count + (size_t)1, sizeof *row->contenders);
    row->count = search.candidate_count;
    for (uint32_t i = 0; i < row->count; i++) {
        row->contenders[i] = (struct orr_contender){.job = search.candidates[i].job};
    }
    orr_free(search.candidates);
    orr_arena_release(&search.memory);
    all->oldest_known = true;
    all->oldest_lists++;
}

/* Does the change of a job leave the oldest as they are? */
static bool are_still_oldest(const struct orr_victim_index *all, const struct orr_session *session,
                             uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const bool may_join = job->active > 0 && job->preemptible && !job->invalid;
    const int64_t most = session->rules.max_consolidation_preemptees;
    bool still = !may_join || (most >= 0 && (int64_t)all->oldest.count > most);
    for (uint32_t i = 0; still && i < all->oldest.count; i++) {
        const uint32_t other = all->oldest.contenders[i].job;
        still = other != index && (!may_join || orr_victim__compare_age(session, index, other) > 0);
    }
    return still;
}

/* Left out is the job only where it would be one of them. */
const struct orr_contender_row *orr_victim_index_oldest(struct orr_session *session, uint32_t job)
{
    struct orr_victim_index *all = session->victim_index;
    const bool known =
        all->oldest_known && (all->oldest_but == job ||
                              (all->oldest_but == ORR_NONE && are_still_oldest(all, session, job)));
    if (!known) {
        find_oldest(session, job);
        all->oldest_but = are_still_oldest(all, session, job) ? ORR_NONE : job;
    }
    return &all->oldest;
}

void orr_victim_index_check_oldest(struct orr_session *session)
{
    struct orr_victim_index *all = session->victim_index;
    for (uint32_t i = 0; i < session->fingerprint_due_count && all->oldest_known; i++) {
        const uint32_t changed = session->tasks[session->fingerprint_due[i]].job;
        all->oldest_known = are_still_oldest(all, session, changed);
    }
}
