/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The outer search: how many of the job's tasks can be had, and with which victims.
 *
 *   orr_victim_search
 *     for each generator: the largest prefix of tasks that can be solved (1, 2, 4, ..., then
 *     between), carrying the victims of each success into the next probe; then all tasks, for good
 *       probe               accumulate victims, filter, let the generator try
 */
#include "prune_int.h"

#include <string.h>

#include <orrery/base/sort.h>

/* --- gates --- */

bool orr_reclaim_allowed(const struct orr_session *session, uint32_t index)
{
    struct orr_task_list tasks = {0};
    const struct orr_jobview whole = orr_jobview_whole(index);
    orr_jobview_to_allocate(session, whole, true, &tasks);
    const struct orr_demand demand = orr_jobview_demand(session, whole, true, &tasks);
    orr_task_list_release(&tasks);
    return orr_reclaim_allows(session, index, &demand);
}

bool orr_reclaim_allows(const struct orr_session *session, uint32_t index,
                        const struct orr_demand *demand)
{
    const struct orr_sjob *job = &session->jobs[index];
    if (!session->rules.proportion) {
        return true;
    }
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const struct orr_share_resource *share = &session->shares[job->queue].resource[kind];
        const struct orr_squeue *queue = &session->queues[job->queue];
        if (orr_demand_on(queue->allocated[kind], demand, kind) > share->fair_share ||
            (!job->preemptible && share->deserved != ORR_UNLIMITED &&
             orr_demand_on(queue->nonpreemptible[kind], demand, kind) > share->deserved)) {
            return false;
        }
    }
    return true;
}

bool orr_preempt_allowed(const struct orr_session *session, uint32_t job)
{
    struct orr_task_list tasks = {0};
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &tasks);
    const struct orr_demand demand =
        orr_session_demand(session, &tasks, session->max_gpu_memory_mib);
    orr_task_list_release(&tasks);
    return !orr_job_over_quota(session, job, &demand);
}

bool orr_consolidation_possible(const struct orr_session *session, uint32_t job)
{
    struct orr_task_list tasks = {0};
    int64_t gpus = 0;
    int64_t memory = 0;
    int64_t free_gpus = 0;
    int64_t free_mib = 0;
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &tasks);
    for (uint32_t i = 0; i < tasks.count; i++) {
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[tasks.tasks[i]]);
        gpus += ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
        memory += ask->kind == ORR_ASK_MEMORY ? ask->memory_mib * (int64_t)ask->devices : 0;
    }
    orr_task_list_release(&tasks);
    for (uint32_t n = 0; n < session->node_count; n++) {
        if (session->nodes[n].ready) {
            free_gpus += orr_session_idle_gpus(session, n) + orr_session_releasing_gpus(session, n);
            free_mib += orr_session_free_mib(&session->nodes[n]);
        }
    }
    return free_gpus >= gpus && free_mib >= memory;
}

/* --- preparing --- */

int orr_victim__compare_age(const struct orr_session *session, uint32_t a, uint32_t b)
{
    const struct orr_sjob *l = &session->jobs[a];
    const struct orr_sjob *r = &session->jobs[b];
    if (l->created_s != r->created_s) {
        return l->created_s < r->created_s ? -1 : 1;
    }
    return strcmp(l->name, r->name);
}

static int by_age(const void *a, const void *b, void *context)
{
    return orr_victim__compare_age(context, ((const struct orr_jobview *)a)->job,
                                   ((const struct orr_jobview *)b)->job);
}

static void keep_oldest(struct orr_victim_search *search, uint32_t count)
{
    struct orr_jobview *kept = search->candidates;
    orr_sort(kept, count, sizeof *kept, by_age, search->session);
    for (uint32_t i = count; i < search->candidate_count; i++) {
        const struct orr_jobview one = kept[i];
        uint32_t at = count;
        while (at > 0 && by_age(&one, &kept[at - 1], search->session) < 0) {
            at--;
        }
        if (at < count) {
            memmove(&kept[at + 1], &kept[at], (count - at - 1) * sizeof *kept);
            kept[at] = one;
        }
    }
    search->candidate_count = count;
}

static bool has_candidates(const struct orr_victim_search *search, uint32_t queue)
{
    return search->session->queues[queue].active_count > 0 &&
           orr_victim__is_candidate_queue(search, queue);
}

void orr_victim__list_queues(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    search->queues = orr_arena_take(&search->memory, session->queue_count, sizeof *search->queues);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        if (has_candidates(search, q)) {
            search->queues[search->queue_count++] = q;
        }
    }
}

void orr_victim__find_candidates(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    uint32_t capacity = 0;
    search->candidate_count = 0;
    for (uint32_t q = 0; q < search->queue_count; q++) {
        const struct orr_squeue *queue = &session->queues[search->queues[q]];
        for (uint32_t i = 0; i < queue->active_count; i++) {
            if (orr_victim__is_candidate(search, queue->active[i])) {
                search->candidates =
                    ORR_ROOM_FOR_ONE(search->candidates, search->candidate_count, capacity);
                search->candidates[search->candidate_count++] = orr_jobview_whole(queue->active[i]);
            }
        }
    }
    /* KAI draws which jobs may be consolidated from a map; here the oldest of them. */
    const int64_t most = session->rules.max_consolidation_preemptees;
    if (search->action == ORR_ACTION_CONSOLIDATION && most >= 0 &&
        (int64_t)search->candidate_count > most + 1) {
        keep_oldest(search, (uint32_t)most + 1);
    }
}

void orr_victim__list_pending(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    if (search->pending != NULL) {
        return;
    }
    struct orr_order order;
    struct orr_jobview *views = orr_alloc(session->job_count + (size_t)1, sizeof *views);
    uint32_t count = 0;
    for (uint32_t j = 0; j < session->job_count; j++) {
        if (j != search->job && session->jobs[j].pending > 0) {
            views[count++] = orr_jobview_whole(j);
        }
    }
    search->pending = orr_alloc(count + (size_t)1, sizeof *search->pending);
    orr_order_init(&order, session, false, true);
    search->pending_count = orr_order_prepare(&order, views, count, search->pending);
    orr_order_release(&order);
    orr_free(views);
}

static void keep_sums(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    search->held = orr_arena_take(&search->memory, session->queue_count, sizeof *search->held);
    search->nonpreemptible =
        orr_arena_take(&search->memory, session->queue_count, sizeof *search->nonpreemptible);
    for (uint32_t q = 0; q < session->queue_count; q++) {
        memcpy(search->held[q], session->queues[q].allocated, sizeof search->held[q]);
        memcpy(search->nonpreemptible[q], session->queues[q].nonpreemptible,
               sizeof search->nonpreemptible[q]);
    }
}

static void release_search(struct orr_victim_search *search)
{
    orr_victim__release_places(search);
    orr_free(search->chosen.items);
    orr_free(search->picked);
    orr_task_list_release(&search->tasks);
    orr_free(search->candidates);
    orr_free(search->pending);
    orr_free(search->recorded.items);
    orr_free(search->next.items);
    orr_task_list_release(&search->survivors);
    orr_free(search->potential.items);
    orr_arena_release(&search->arena);
    orr_victim__give_back(search->session, &search->memory);
}

/* --- a probe --- */

/* Members of a set that hold any pod of the view. */
static int32_t filled_members(const struct orr_victim_search *search, uint32_t set)
{
    const struct orr_session *session = search->session;
    const uint32_t any = (1u << ORR_TASK_STATUSES) - 1;
    if (session->sets[set].is_pods) {
        return (int32_t)orr_jobview_count(session, search->view, set, any);
    }
    int32_t filled = 0;
    for (uint32_t c = session->sets[set].first_child; c != ORR_NONE;
         c = session->sets[c].next_sibling) {
        filled += filled_members(search, c) > 0;
    }
    return filled;
}

/* KAI adjustSubGroupsMinAvailable: in a clone with few of a job's pods, a pod set cannot need more
 * pods than it has there. One without any keeps its minimum, so it is not satisfied. */
static int32_t clone_min(const struct orr_sset *set, int32_t filled)
{
    const bool lowered = set->is_pods ? filled > 0 : set->min_stated;
    return lowered && filled < set->min ? filled : set->min;
}

/* A clone of the job with its active tasks and the first k of those it must get. */
static void make_view(struct orr_victim_search *search, uint32_t k)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    for (uint32_t i = 0; i < job->task_count; i++) {
        search->absent[i] = !orr_status_in(session->tasks[job->first_task + i].live.status,
                                           ORR_STATES_ACTIVE_ALLOCATED);
    }
    for (uint32_t i = 0; i < k; i++) {
        search->absent[search->tasks.tasks[i] - job->first_task] = false;
    }
    search->k = k;
    search->view =
        (struct orr_jobview){.job = search->job, .absent = search->absent, .mins = search->mins};
    for (uint32_t i = 0; i < job->set_count; i++) {
        const struct orr_sset *set = &session->sets[job->first_set + i];
        search->mins[i] = clone_min(set, filled_members(search, job->first_set + i));
    }
    struct orr_task_list probed = {.tasks = search->tasks.tasks, .count = k};
    search->demand = orr_session_demand(session, &probed, session->min_gpu_memory_mib);
}

static bool probe(struct orr_victim_search *search, uint32_t k)
{
    struct orr_order order = {0};
    orr_arena_reset(&search->arena);
    make_view(search, k);
    orr_victim__prepare_forecast(search);
    orr_victim__start_capacities(search);
    if (search->session->v017 != NULL) {
        orr_victim__start_capacities_v017(search);
    }
    search->potential.count = 0;
    search->steps = 0;
    bool solved = false;
    do {
        const bool plausible = orr_victim__plausible(search);
        if (!plausible) {
            orr_victim__reached(search, ORR_OUTCOME_FILTERED);
        } else if (search->fails_on_one_node && search->potential.count > 0) {
            orr_victim__reached(search, ORR_OUTCOME_NOT_PLACED);
        }
        solved = plausible && orr_victim__try_state(search);
    } while (!solved && !search->spent && !search->generator_spent &&
             orr_victim__step(search, &order));
    orr_order_release(&order);
    return solved;
}

/* --- what a success leaves for the next probe --- */

void orr_victim__remember(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_session *session = search->session;
    const uint32_t groups = search->recorded_groups + session->job_count + search->steps + 1;
    uint32_t *survives = orr_zalloc(groups, sizeof *survives); /* the group's new number + 1 */
    struct orr_victims all = {0};
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        orr_victims_push(&all, &search->recorded.items[i]);
    }
    for (uint32_t i = 0; i < potential->count; i++) {
        struct orr_victim victim = potential->items[i];
        victim.group += search->recorded_groups;
        orr_victims_push(&all, &victim);
    }
    if (session->v017 != NULL) {
        orr_victim__groups_v017(session, &all, survives);
    }
    for (uint32_t i = 0; i < all.count && session->v017 == NULL; i++) {
        const uint8_t status = session->tasks[all.items[i].task].live.status;
        if (status == ORR_TASK_RELEASING || status == ORR_TASK_PIPELINED) {
            survives[all.items[i].group] = all.items[i].group + 1;
        }
    }
    search->next.count = 0;
    search->survivors.count = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        const uint32_t task = all.items[i].task;
        const uint8_t status = session->v017 != NULL ? orr_victim__status_v017(session, &all, i)
                                                     : session->tasks[task].live.status;
        if (survives[all.items[i].group] > 0) {
            struct orr_victim victim = all.items[i];
            victim.group = survives[victim.group] - 1;
            orr_victims_push(&search->next, &victim);
        }
        if (status == ORR_TASK_RELEASING || status == ORR_TASK_PIPELINED) {
            orr_task_list_push(&search->survivors, task);
        }
    }
    orr_free(all.items);
    orr_free(survives);
}

static int by_group(const void *a, const void *b, void *context)
{
    (void)context;
    const uint32_t l = ((const struct orr_victim *)a)->group;
    const uint32_t r = ((const struct orr_victim *)b)->group;
    return (l > r) - (l < r);
}

/* Where tasks of several jobs are named alike, their jobs tell them apart. */
static int by_uid(const void *a, const void *b, void *context)
{
    const struct orr_session *session = context;
    const struct orr_stask *l = &session->tasks[((const struct orr_victim *)a)->task];
    const struct orr_stask *r = &session->tasks[((const struct orr_victim *)b)->task];
    const int order = strcmp(l->name, r->name);
    return order != 0 ? order : strcmp(session->jobs[l->job].name, session->jobs[r->job].name);
}

static void forget_recorded(struct orr_victim_search *search)
{
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        search->is_recorded[search->recorded.items[i].task] = false;
    }
    search->recorded.count = 0;
    memcpy(search->feasible, search->base_feasible,
           search->session->node_count * sizeof *search->feasible);
}

/* After the statement was taken back: the victims become recorded, their nodes feasible. */
static void adopt(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    forget_recorded(search);
    const struct orr_victims old = search->recorded;
    search->recorded = search->next;
    search->next = old;
    for (uint32_t i = 0; i < search->survivors.count; i++) {
        search->feasible[session->tasks[search->survivors.tasks[i]].live.node] = true;
    }
    orr_sort(search->recorded.items, search->recorded.count, sizeof *search->recorded.items,
             by_group, NULL);
    uint32_t last = ORR_NONE;
    search->recorded_groups = 0;
    if (search->is_recorded == NULL) {
        search->is_recorded =
            orr_arena_alloc(&search->memory, session->task_count, sizeof *search->is_recorded);
    }
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        const uint32_t group = search->recorded.items[i].group;
        search->recorded_groups += i == 0 || group != last;
        last = group;
        search->recorded.items[i].group = search->recorded_groups - 1;
        search->is_recorded[search->recorded.items[i].task] = true;
    }
    if (session->v017 == NULL) { /* which has them group by group */
        orr_sort(search->recorded.items, search->recorded.count, sizeof *search->recorded.items,
                 by_uid, session);
    }
}

static bool probe_and_take_back(struct orr_victim_search *search, uint32_t k, uint32_t checkpoint)
{
    if (!probe(search, k)) {
        return false;
    }
    orr_session_rollback(search->session, checkpoint);
    adopt(search);
    return true;
}

/* The largest prefix that can be had: doubling, then halving between. */
static uint32_t largest_prefix(struct orr_victim_search *search, uint32_t checkpoint)
{
    const uint32_t all = search->tasks.count;
    uint32_t good = 0;
    uint32_t bad = all + 1;
    for (uint32_t k = 1;; k = 2 * k < all ? 2 * k : all) {
        if (!probe_and_take_back(search, k, checkpoint)) {
            bad = k;
            break;
        }
        good = k;
        if (k == all) {
            return all;
        }
    }
    while (good > 0 && bad - good > 1) {
        const uint32_t middle = good + (bad - good) / 2;
        if (probe_and_take_back(search, middle, checkpoint)) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    return good;
}

static bool has_budget(const struct orr_session_rules *rules)
{
    const struct orr_scenario_budget *budget = &rules->scenario_budget;
    return budget->action > 0 || budget->job > 0 || budget->node_local_greedy > 0 ||
           budget->multi_node_gang > 0;
}

static enum orr_search_result run_generators(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_jobview whole = orr_jobview_whole(search->job);
    const uint32_t checkpoint = orr_session_checkpoint(session);
    const uint32_t used = orr_jobview_count_all(session, whole, ORR_STATES_ACTIVE_USED);
    for (int g = 0; g < ORR_GENERATORS && !search->spent; g++) {
        search->generator = (enum orr_generator)g;
        search->tried_by_generator = 0;
        search->generator_spent = false;
        if (g == ORR_NODE_LOCAL_GREEDY && search->fails_on_one_node &&
            !session->rules.prune.verify) {
            continue; /* the other generator's states say how far it would have got */
        }
        forget_recorded(search);
        search->recorded_groups = 0;
        if (largest_prefix(search, checkpoint) == 0 || !probe(search, search->tasks.count)) {
            continue;
        }
        /* KAI asks for all pod sets here, also for those the job could do without. */
        if (orr_jobview_gang_satisfied(session, whole) &&
            orr_jobview_count_all(session, whole, ORR_STATES_ACTIVE_USED) > used) {
            return ORR_SEARCH_SOLVED;
        }
        orr_victim__reached(search, ORR_OUTCOME_UNFINISHED);
        if (session->rules.strict_v017) {
            /* A defect of v0.17: the statement is neither executed nor taken back. */
            orr_session_abandon(session);
            return ORR_SEARCH_ABANDONED;
        }
        orr_session_rollback(session, checkpoint);
        return ORR_SEARCH_FAILED;
    }
    return search->spent ? ORR_SEARCH_SPENT : ORR_SEARCH_FAILED;
}

static void prepare_search(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    search->feasible =
        orr_arena_take(&search->memory, session->node_count, sizeof *search->feasible);
    search->constrained = orr_victim__is_constrained(search);
    keep_sums(search);
    orr_victim__open_capacities(search);
}

bool orr_victim__is_one_pod_set(const struct orr_session *session, uint32_t job)
{
    const struct orr_sjob *one = &session->jobs[job];
    uint32_t count = 0;
    for (uint32_t s = one->first_set; s < one->first_set + one->set_count; s++) {
        count += session->sets[s].is_pods;
    }
    return count == 1;
}

/* Whoever is a victim, the preemptor's queue would pass a limit. */
static bool is_over_limit(struct orr_victim_search *search)
{
    if (search->counts || !orr_prune__is_on(search, ORR_PRUNER_LIMIT) ||
        !orr_prune__refutes(search, ORR_PRUNER_LIMIT, orr_victim__over_limit(search))) {
        return false;
    }
    const struct orr_session *session = search->session;
    struct orr_victims all = {0};
    orr_victim__find_candidates(search);
    for (uint32_t c = 0; c < search->candidate_count; c++) {
        orr_victim__list_tasks(session, search->candidates[c].job, &all);
    }
    const bool passes = orr_victim__passes_filter(
        session, &all, orr_victim__pending_gpus(session, search->tasks.tasks[0]));
    orr_victim__reached(search, passes ? ORR_OUTCOME_NOT_PLACED : ORR_OUTCOME_FILTERED);
    orr_free(all.items);
    return true;
}

/* What can be said without making the search. False: nothing. */
static bool is_in_vain(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    if (search->queue_count == 0 && !search->counts) {
        return true;
    }
    if (is_over_limit(search)) {
        return true;
    }
    if (search->action == ORR_ACTION_CONSOLIDATION && !search->counts &&
        orr_prune__is_on(search, ORR_PRUNER_PLACES)) {
        const struct orr_stask *first = &session->tasks[search->tasks.tasks[0]];
        const enum orr_outcome outcome =
            orr_victim__foresee_moves(session, search->job, orr_task_ask(session, first));
        if (orr_prune__refutes(search, ORR_PRUNER_PLACES, outcome != ORR_OUTCOME_NOT_TRIED)) {
            search->foreseen = true;
            search->reached = (uint8_t)outcome;
            return true;
        }
    }
    search->absent = orr_arena_take(&search->memory, job->task_count, sizeof *search->absent);
    search->mins = orr_arena_take(&search->memory, job->set_count, sizeof *search->mins);
    make_view(search, 1);
    if (!search->counts) {
        orr_victim__open_forecast(search);
    }
    if (search->forecast == NULL) {
        orr_victim__find_candidates(search);
    }
    if (search->counts) {
        return false;
    }
    if (search->candidate_count == 0) {
        return true;
    }
    if (orr_prune__is_on(search, ORR_PRUNER_FAILED_BEFORE) &&
        orr_prune__refutes(search, ORR_PRUNER_FAILED_BEFORE, orr_victim__failed_before(search))) {
        return true;
    }
    return search->forecast != NULL && orr_prune__is_on(search, ORR_PRUNER_SERVED_FIRST) &&
           orr_prune__refutes(search, ORR_PRUNER_SERVED_FIRST, orr_victim__hopeless(search));
}

enum orr_outcome orr_victim_foresee(struct orr_session *session, enum orr_action action,
                                    uint32_t job, const struct orr_ask *first,
                                    const struct orr_demand *demand)
{
    const struct orr_prune_rules *prune = &session->rules.prune;
    if (session->rules.literal || has_budget(&session->rules) || prune->verify ||
        (prune->off >> ORR_PRUNER_PLACES & 1u) != 0) {
        return ORR_OUTCOME_NOT_TRIED;
    }
    if (action == ORR_ACTION_CONSOLIDATION) {
        return orr_victim__foresee_moves(session, job, first);
    }
    const struct orr_victim_search search = {
        .session = session, .action = action, .job = job, .demand = *demand};
    bool any = false;
    for (uint32_t q = 0; q < session->queue_count && !any; q++) {
        any = has_candidates(&search, q);
    }
    return any ? ORR_OUTCOME_NOT_TRIED : ORR_OUTCOME_NO_CANDIDATES;
}

enum orr_search_result orr_victim_search(struct orr_session *session, enum orr_action action,
                                         uint32_t job)
{
    struct orr_victim_search search = {
        .session = session, .action = action, .job = job, .memory = orr_victim__borrow(session)};
    enum orr_search_result result = ORR_SEARCH_FAILED;
    orr_arena_init(&search.arena);
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &search.tasks);
    search.demand = orr_session_demand(session, &search.tasks, session->min_gpu_memory_mib);
    /* Where budgets count scenarios, those that cannot work count too. */
    search.counts = session->rules.literal || has_budget(&session->rules) ||
                    session->rules.prune.off == (1u << ORR_PRUNERS) - 1;
    orr_victim__list_queues(&search);
    if (search.tasks.count == 0) {
        orr_victim__find_candidates(&search);
    } else if (!is_in_vain(&search)) {
        prepare_search(&search);
        result = run_generators(&search);
    }
    if (result == ORR_SEARCH_SOLVED) {
        search.reached = ORR_OUTCOME_SOLVED;
        orr_prune__check(&search, true);
    } else if (result == ORR_SEARCH_ABANDONED) {
        orr_prune__check(&search, true);
    } else if (result == ORR_SEARCH_SPENT) {
        search.reached = ORR_OUTCOME_SPENT;
    } else if (search.candidate_count == 0 && !search.foreseen) {
        search.reached = ORR_OUTCOME_NO_CANDIDATES;
    }
    session->jobs[job].outcomes[action] = search.reached;
    if (result == ORR_SEARCH_FAILED) {
        orr_victim__note_failure(&search);
    }
    release_search(&search);
    return result;
}
