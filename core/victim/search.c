/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The outer search: for each generator the largest prefix of the job's tasks that can be had,
 * carrying the victims of each success into the next probe; then all tasks, for good. */
#include "victim_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/statement.h>

/* --- preparing --- */

void orr_victim__list_waiting(struct orr_victim_search *search)
{
    if (search->waiting == NULL) {
        search->waiting = orr_order_waiting(search->session, search->job, &search->waiting_count);
    }
}

static void release_search(struct orr_victim_search *search)
{
    orr_free(search->picked);
    orr_free(search->candidates);
    orr_free(search->recorded.items);
    orr_free(search->scenario.items);
    orr_free(search->potential.items);
    orr_task_list_release(&search->tasks);
    orr_task_list_release(&search->to_evict);
    orr_order_release(&search->order);
    orr_idmap_release(&search->failed);
    orr_arena_release(&search->memory);
}

/* --- a probe --- */

/* KAI adjustSubGroupsMinAvailable: in a partial job the minimum of a pod set is lowered to the pods
 * it has there, that of other sets to their members that have any. A pod set without any keeps its
 * minimum, so that it is not satisfied. */
static void find_clone_mins(struct orr_victim_search *search, int32_t *mins)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    const uint32_t any = (1u << ORR_TASK_STATUSES) - 1;
    int32_t *filled = orr_arena_alloc(&search->memory, job->set_count, sizeof *filled);
    for (uint32_t i = job->set_count; i-- > 0;) { /* members are behind the set that has them */
        const struct orr_sset *set = &session->sets[job->first_set + i];
        if (set->is_pods) {
            filled[i] = (int32_t)orr_jobview_count(session, search->view, job->first_set + i, any);
        }
        const bool lowered = set->is_pods ? filled[i] > 0 : set->min_stated;
        mins[i] = lowered && filled[i] < set->min ? filled[i] : set->min;
        if (filled[i] > 0 && set->parent != ORR_NONE) {
            filled[set->parent - job->first_set]++;
        }
    }
}

/* A partial job (KAI: partial pending job): its active tasks and its first k pending ones. */
static void make_view(struct orr_victim_search *search, uint32_t k)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    const struct orr_task_list probed = {.tasks = search->tasks.tasks, .count = k};
    bool *absent = orr_arena_take(&search->memory, job->task_count, sizeof *absent);
    int32_t *mins = orr_arena_take(&search->memory, job->set_count, sizeof *mins);
    for (uint32_t i = 0; i < job->task_count; i++) {
        absent[i] = !orr_status_in(session->tasks[job->first_task + i].live.status,
                                   ORR_STATES_ACTIVE_ALLOCATED);
    }
    for (uint32_t i = 0; i < k; i++) {
        absent[probed.tasks[i] - job->first_task] = false;
    }
    search->k = k;
    search->view = (struct orr_jobview){.job = search->job, .absent = absent, .mins = mins};
    find_clone_mins(search, mins);
    search->demand = orr_session_demand(session, &probed, session->min_gpu_memory_mib);
}

void orr_victim__start_probe(struct orr_victim_search *search, uint32_t k)
{
    make_view(search, k);
    orr_refute__start_probe(search);
    orr_victim__start_capacities(search);
    if (search->session->v017 != NULL) {
        orr_victim__start_probe_v017(search);
    }
    search->potential.count = 0;
    search->steps = 0;
}

static bool probe(struct orr_victim_search *search, uint32_t k)
{
    bool solved = false;
    orr_victim__start_probe(search, k);
    do {
        const bool passes = orr_victim__passes_filters(search);
        if (!passes) {
            orr_victim__raise_outcome(search, ORR_OUTCOME_FILTERED);
            orr_victim__report(search, search->potential.items, search->potential.count,
                               ORR_OUTCOME_FILTERED);
        }
        solved = passes && orr_victim__try_state(search);
    } while (!solved && !search->budget_spent && !search->generator_budget_spent &&
             orr_victim__step(search));
    return solved;
}

/* --- what a success leaves for the next probe --- */

static void forget_recorded(struct orr_victim_search *search)
{
    if (search->recorded.count > 0) { /* steps were popped without them */
        orr_victim__forget_steps(search);
    }
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        search->is_recorded[search->recorded.items[i].task] = false;
    }
    search->recorded.count = search->recorded_groups = 0;
    memcpy(search->feasible, search->base_feasible,
           search->session->node_count * sizeof *search->feasible);
}

/* By UID, which is the name. Where tasks of several jobs are named alike, their jobs tell them
 * apart. */
static int by_uid(const void *a, const void *b, void *context)
{
    const struct orr_session *session = context;
    const struct orr_stask *l = &session->tasks[((const struct orr_victim *)a)->task];
    const struct orr_stask *r = &session->tasks[((const struct orr_victim *)b)->task];
    const int order = strcmp(l->name, r->name);
    return order != 0 ? order : strcmp(session->jobs[l->job].name, session->jobs[r->job].name);
}

static void record_group(struct orr_victim_search *search, uint32_t group)
{
    for (uint32_t i = 0; i < search->scenario.count; i++) {
        struct orr_victim victim = *orr_victim__nth(search, i);
        if (victim.group == group) {
            victim.group = search->recorded_groups;
            orr_victims_push(&search->recorded, &victim);
            search->is_recorded[victim.task] = true;
        }
    }
    search->recorded_groups++;
}

/* A task that lost its place brings the group it was first listed in, unless a group that is
 * recorded holds it; so one that v0.17 listed twice may be recorded twice. */
static void record_groups(struct orr_victim_search *search)
{
    static const enum orr_task_status lost[2] = {ORR_TASK_RELEASING, ORR_TASK_PIPELINED};
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < search->scenario.count; i++) {
            const struct orr_victim *victim = orr_victim__nth(search, i);
            if (orr_victim__status(search, i) == (uint8_t)lost[l]) {
                search->feasible[victim->node] = true;
                if (!search->is_recorded[victim->task]) {
                    record_group(search, victim->group);
                }
            }
        }
    }
}

/* Takes a success back. Its groups that lost a task are recorded, and the nodes of these tasks are
 * feasible. v0.17 keeps recorded victims in the order of their groups. */
static void record_victims(struct orr_victim_search *search, uint32_t checkpoint)
{
    struct orr_session *session = search->session;
    forget_recorded(search);
    record_groups(search);
    if (session->v017 == NULL) {
        orr_sort(search->recorded.items, search->recorded.count, sizeof *search->recorded.items,
                 by_uid, session);
    }
    orr_victim__forget_steps(search);
    orr_session_rollback(session, checkpoint);
}

/* How far a search gets is the furthest that a generator gets with all tasks or, where it cannot
 * have even one, with that one. */
static bool probe_and_take_back(struct orr_victim_search *search, uint32_t k, uint32_t checkpoint)
{
    const uint8_t outcome = search->outcome;
    const bool solved = probe(search, k);
    if (k < search->tasks.count && (solved || k > 1)) {
        search->outcome = outcome;
    }
    if (solved) {
        record_victims(search, checkpoint);
    }
    return solved;
}

/* The largest prefix that can be had: doubling, then halving between. 0 too if it is known that all
 * cannot be had. */
static uint32_t largest_prefix(struct orr_victim_search *search, uint32_t checkpoint)
{
    const uint32_t all = search->tasks.count;
    uint32_t good = 0;
    uint32_t bad = all + 1;
    for (uint32_t k = 1; bad - good > 1;) {
        if (probe_and_take_back(search, k, checkpoint)) {
            good = k;
        } else {
            bad = k;
        }
        if (k == 1 && good < all && good > 0 && orr_refute__tasks(search, all)) {
            return 0;
        }
        k = bad <= all ? good + (bad - good) / 2 : 2 * k < all ? 2 * k : all;
    }
    return good;
}

static enum orr_search_result run_generators(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_jobview whole = orr_jobview_whole(search->job);
    const uint32_t checkpoint = orr_session_checkpoint(session);
    const uint32_t active_before = orr_jobview_count_all(session, whole, ORR_STATES_ACTIVE_USED);
    for (int g = 0; g < ORR_GENERATORS && !search->budget_spent; g++) {
        search->generator = (enum orr_generator)g;
        search->tried_by_generator = 0;
        search->generator_budget_spent = false;
        forget_recorded(search);
        if (orr_refute__generator(search) || largest_prefix(search, checkpoint) == 0 ||
            !probe(search, search->tasks.count)) {
            continue;
        }
        /* KAI requires each pod set to be satisfied here, though the minimum of sets may need
         * fewer. */
        if (orr_jobview_gang_satisfied(session, whole) &&
            orr_jobview_count_all(session, whole, ORR_STATES_ACTIVE_USED) > active_before) {
            return ORR_SEARCH_SOLVED;
        }
        orr_victim__raise_outcome(search, ORR_OUTCOME_UNFINISHED);
        if (session->rules.strict_v017) {
            /* A defect of v0.17: the statement is neither executed nor taken back. */
            orr_session_leave_uncommitted(session);
            return ORR_SEARCH_ABANDONED;
        }
        orr_session_rollback(session, checkpoint);
        return ORR_SEARCH_FAILED;
    }
    return search->budget_spent ? ORR_SEARCH_SPENT : ORR_SEARCH_FAILED;
}

static void prepare_search(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_arena *memory = &search->memory;
    search->held = orr_arena_take(memory, session->queue_count, sizeof *search->held);
    search->nonpreemptible =
        orr_arena_take(memory, session->queue_count, sizeof *search->nonpreemptible);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        const struct orr_squeue *queue = &session->queues[q];
        memcpy(search->held[q], queue->allocated, sizeof search->held[q]);
        memcpy(search->nonpreemptible[q], queue->nonpreemptible, sizeof search->held[q]);
    }
    search->is_recorded = orr_arena_alloc(memory, session->task_count, sizeof(bool));
    search->feasible = orr_arena_take(memory, session->node_count, sizeof(bool));
    orr_victim__open_capacities(search);
    forget_recorded(search); /* feasible are nodes that are so without victims */
    if (search->candidate_count == 0) {
        orr_victim__find_candidates(search);
    }
}

enum orr_search_result orr_victim_search(struct orr_session *session, enum orr_action action,
                                         uint32_t job)
{
    struct orr_victim_search search = {.session = session, .action = action, .job = job};
    enum orr_search_result result = ORR_SEARCH_FAILED;
    orr_arena_init(&search.memory);
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &search.tasks);
    search.demand = orr_session_demand(session, &search.tasks, session->min_gpu_memory_mib);
    orr_victim__list_queues(&search);
    if (search.tasks.count == 0) {
        orr_victim__find_candidates(&search); /* for the outcome */
    } else {
        make_view(&search, 1);
        if (!orr_refute__search(&search)) {
            prepare_search(&search);
            result = orr_refute__tasks(&search, 1) ? ORR_SEARCH_FAILED : run_generators(&search);
        }
    }
    if (result == ORR_SEARCH_SOLVED) {
        search.outcome = ORR_OUTCOME_SOLVED;
    } else if (result == ORR_SEARCH_SPENT) {
        search.outcome = ORR_OUTCOME_SPENT;
    }
    orr_refute__search_ended(&search, result);
    session->jobs[job].outcomes[action] = search.outcome;
    release_search(&search);
    return result;
}
