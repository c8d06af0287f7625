/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The victims of a scenario: what each lost and is given when it is served. */
#include "apart.h"

#include <string.h>

#include "flat_int.h"

/* --- what victims are given when they are served --- */

/* A node counts what it gives of a device in hundredths, rounded up (orr_memory_counted_mgpu): on
 * none is that more than the job is held to ask. Of a few parts it is not known, such as 0.07:
 * times 100 they are a little more than 7 in double. */
static bool is_even_part(const struct orr_ask *ask)
{
    const int64_t hundredths = orr_session_portion_mgpu(ask->portion) / (ORR_MGPU / 100);
    return ask->kind == ORR_ASK_FRACTION && ask->portion * 100 <= (double)hundredths;
}

bool orr_apart__is_simple(const struct orr_session *session, const struct orr_stask *task)
{
    const struct orr_ask *ask = orr_task_ask(session, task);
    const bool active = orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED);
    return (ask->kind == ORR_ASK_WHOLE || ask->kind == ORR_ASK_NO_GPU || is_even_part(ask)) &&
           ask->mig_mgpu == 0 && task->nominated == ORR_NONE &&
           (active ? task->live.node != ORR_NONE
                   : task->live.status == ORR_TASK_PENDING || !orr_task_may_allocate(task, true));
}

/* Of jobs of one pod set that have their minimum, and whose tasks are all active unless they are
 * all alike. */
static bool is_known(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    const struct orr_sset *sets = &session->sets[job->first_set];
    if (job->set_count != 2 || sets[0].min != 1 || !sets[1].is_pods ||
        (int32_t)job->active < sets[1].min || !session->queues[job->queue].usable) {
        return false;
    }
    const bool gang = sets[1].min == (int32_t)job->task_count;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        if (!orr_apart__is_simple(session, task) ||
            (!gang && task->ask != session->tasks[job->first_task].ask)) {
            return false;
        }
    }
    return true;
}

uint64_t orr_apart__fingerprint_task(const struct orr_session *session, const struct orr_apart *s,
                                     uint32_t task)
{
    const uint32_t job = session->tasks[task].job;
    if (s->of_job[job] == 0) {
        orr_victim__fingerprint_job(&s->of_job[job], session, job);
        s->of_job[job] = orr_scatter(s->of_job[job]) | 1;
    }
    return orr_scatter(s->of_job[job] + (task - session->jobs[job].first_task));
}

/* Lists the tasks that it is due in `due_tasks`, the rest of its gang or, if it has that, one task
 * more (orr_jobview_to_allocate), and sums up those and what it lost. */
static void list_due(const struct orr_session *session, const struct orr_apart *s,
                     struct orr_apart_victim *victim, uint32_t *due_tasks)
{
    const struct orr_sjob *job = &session->jobs[victim->job];
    const uint32_t end = job->first_task + job->task_count;
    const int32_t min = session->sets[job->first_set + 1].min;
    const int32_t left = (int32_t)(job->active - victim->lost);
    const uint32_t due = left < min ? (uint32_t)(min - left) : 1;
    const bool all = victim->lost == job->active;
    victim->constrained = orr_prune__is_constrained(session, job);
    victim->elastic_state = (left > min) - (left < min);
    victim->due_tasks = due_tasks;
    for (uint32_t t = job->first_task; t < end; t++) {
        const struct orr_stask *task = &session->tasks[t];
        const struct orr_ask *ask = orr_task_ask(session, task);
        const bool lost =
            all ? orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) : s->is_lost[t];
        if (lost) {
            victim->fingerprint += orr_apart__fingerprint_task(session, s, t);
            orr_session_add_demand(session, ask, session->min_gpu_memory_mib, &victim->lost_demand);
        }
        if (victim->due < due && (lost || task->live.status == ORR_TASK_PENDING)) {
            victim->due_tasks[victim->due++] = t;
            orr_session_add_demand(session, ask, session->min_gpu_memory_mib, &victim->demand);
        }
    }
}

/* As if it lost all its tasks. */
static const struct orr_apart_victim *find_whole(struct orr_victim_search *search, uint32_t job)
{
    const struct orr_session *session = search->session;
    const struct orr_apart *s = search->refuter.apart;
    if (s->whole[job] == NULL) {
        struct orr_apart_victim *whole = orr_arena_alloc(&search->memory, 1, sizeof *whole);
        *whole = (struct orr_apart_victim){.job = job, .lost = session->jobs[job].active};
        if (is_known(session, job)) {
            list_due(session, s, whole,
                     orr_arena_take(&search->memory, session->jobs[job].task_count,
                                    sizeof *whole->due_tasks));
        }
        s->whole[job] = whole;
    }
    return s->whole[job];
}

/* --- the victims of a scenario --- */

/* False: it is not known what it would be given. */
static bool add_victim(struct orr_victim_search *search, uint32_t task)
{
    const struct orr_session *session = search->session;
    struct orr_apart *s = search->refuter.apart;
    const uint32_t job = session->tasks[task].job;
    if (!orr_status_in(session->tasks[task].live.status, ORR_STATES_ACTIVE_ALLOCATED) ||
        s->is_lost[task] || find_whole(search, job)->due == 0) {
        return false;
    }
    if (s->slot_of[job] == 0) {
        s->victims[s->victim_count++] = (struct orr_apart_victim){.job = job};
        s->slot_of[job] = s->victim_count;
        s->is_victim[job] = true;
    }
    s->victims[s->slot_of[job] - 1].lost++;
    s->is_lost[task] = true;
    s->taken[s->taken_count++] = task;
    return true;
}

/* What becomes of a victim of which it is known how many tasks it lost. */
static void fill_in(const struct orr_session *session, struct orr_apart *s,
                    struct orr_apart_victim *victim)
{
    if (victim->lost < session->jobs[victim->job].active) {
        list_due(session, s, victim, &s->due_tasks[s->due_count]);
        s->due_count += victim->due;
    } else {
        *victim = *s->whole[victim->job];
    }
    s->any_constrained = s->any_constrained || victim->constrained;
}

void orr_apart__forget(struct orr_victim_search *search)
{
    struct orr_apart *s = search->refuter.apart;
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; i < s->taken_count; i++) {
        s->is_lost[s->taken[i]] = false;
    }
    for (uint32_t v = 0; v < s->victim_count; v++) {
        s->slot_of[s->victims[v].job] = 0;
        s->is_victim[s->victims[v].job] = false;
    }
    s->victim_count = s->due_count = s->taken_count = 0;
    s->any_constrained = false;
}

/* --- opening --- */

/* NULL: the pruner knows nothing of such a world. */
static struct orr_apart *open_apart(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    struct orr_arena *memory = &search->memory;
    if (!session->rules.proportion || session->abandoned || session->backlog == NULL ||
        session->backlog->queue_count != session->queue_count ||
        session->backlog->unready_count > 0 || orr_victim_index_now(session)->uncounted_nodes > 0) {
        return NULL;
    }
    struct orr_apart *s = orr_arena_alloc(memory, 1, sizeof *s);
    s->of_job = orr_arena_alloc(memory, session->job_count, sizeof *s->of_job);
    s->slot_of = orr_arena_alloc(memory, session->job_count, sizeof *s->slot_of);
    s->is_victim = orr_arena_alloc(memory, session->job_count, sizeof *s->is_victim);
    s->victims = orr_arena_take(memory, session->job_count, sizeof *s->victims);
    s->is_lost = orr_arena_alloc(memory, session->task_count, sizeof *s->is_lost);
    s->is_back = orr_arena_alloc(memory, session->task_count, sizeof *s->is_back);
    s->taken = orr_arena_take(memory, session->task_count, sizeof *s->taken);
    s->due_tasks = orr_arena_take(memory, session->task_count, sizeof *s->due_tasks);
    s->whole = orr_arena_alloc(memory, session->job_count, sizeof *s->whole);
    const size_t most = search->candidate_count + (size_t)1;
    s->line = orr_arena_take(memory, most, sizeof *s->line);
    s->served = orr_arena_take(memory, most, sizeof *s->served);
    s->in_line = orr_arena_alloc(memory, most / 64 + 1, sizeof *s->in_line);
    s->place = orr_arena_take(memory, session->job_count, sizeof *s->place);
    s->hypothetical = orr_arena_take(memory, session->queue_count, sizeof *s->hypothetical);
    memcpy(s->hypothetical, search->held, session->queue_count * sizeof *s->hypothetical);
    return s;
}

bool orr_apart__take(struct orr_victim_search *search, const struct orr_victims *potential)
{
    if (!search->refuter.apart_known) {
        search->refuter.apart_known = true;
        search->refuter.apart = open_apart(search);
    }
    struct orr_apart *s = search->refuter.apart;
    const uint32_t count = s == NULL ? 0 : orr_victim__count(search, potential);
    bool known = count > 0;
    for (uint32_t i = 0; known && i < count; i++) {
        known = add_victim(search, orr_victim__nth_task(search, potential, i));
    }
    for (uint32_t v = 0; known && v < s->victim_count; v++) {
        fill_in(search->session, s, &s->victims[v]);
    }
    return known;
}

/* --- in line --- */

/* Once for each number of tasks that the preemptor is tried with. */
static void line_up(struct orr_victim_search *search, const struct orr_order *order)
{
    struct orr_apart *s = search->refuter.apart;
    s->line_for = search->k;
    s->line_count = orr_order_prepare(order, &search->view, 1, s->line);
    ORR_ASSERT(s->line_count == 1); /* it was popped from an order */
    for (uint32_t c = 0; c < search->candidate_count; c++) {
        s->line[s->line_count++] =
            (struct orr_order_entry){.view = search->candidates[c], .elastic_state = -1};
    }
    orr_order_sort(order, s->line, s->line_count);
    for (uint32_t p = 0; p < s->line_count; p++) {
        s->place[s->line[p].view.job] = p;
    }
}

/* It is one of the scenario. */
static void mark(const struct orr_apart *s, uint32_t job)
{
    s->in_line[s->place[job] / 64] |= UINT64_C(1) << (s->place[job] % 64);
}

/* As they stand in line; returns how many. */
static uint32_t list_served(const struct orr_apart *s)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < s->line_count / 64 + 1; w++) {
        for (; s->in_line[w] != 0; s->in_line[w] &= s->in_line[w] - 1) {
            const struct orr_order_entry *entry =
                &s->line[64 * w + (uint32_t)__builtin_ctzll(s->in_line[w])];
            const uint32_t slot = s->slot_of[entry->view.job];
            s->served[count] = *entry;
            if (slot > 0) {
                s->served[count].elastic_state = s->victims[slot - 1].elastic_state;
                s->served[count].demand = s->victims[slot - 1].demand;
            }
            count++;
        }
    }
    return count;
}

struct orr_order_entry *orr_apart__entries(struct orr_victim_search *search,
                                           const struct orr_order *order, uint32_t *count)
{
    struct orr_apart *s = search->refuter.apart;
    bool sorted = true;
    if (s->line_for != search->k) {
        line_up(search, order);
    }
    mark(s, search->job);
    for (uint32_t v = 0; v < s->victim_count; v++) {
        mark(s, s->victims[v].job);
        sorted = sorted && s->victims[v].elastic_state < 0;
    }
    *count = list_served(s);
    if (!sorted) {
        orr_order_sort(order, s->served, *count);
    }
    return s->served;
}
