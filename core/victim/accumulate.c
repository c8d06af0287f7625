/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing the set of victims step by step, and KAI's filters of hopeless sets.
 *
 * The filters are part of the behaviour: the last two are heuristics that also turn down sets which
 * a simulation would solve.
 */
#include "victim_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/defects.h>

void orr_victims_push(struct orr_victims *victims, const struct orr_victim *victim)
{
    victims->items = ORR_ROOM_FOR_ONE(victims->items, victims->count, victims->capacity);
    victims->items[victims->count++] = *victim;
}

/* --- accumulating --- */

void orr_victim__forget_steps(struct orr_victim_search *search)
{
    orr_order_release(&search->order);
    search->popped = search->popped_steps = 0;
}

/* The next of the tasks that were popped is a potential victim. */
static void add_popped(struct orr_victim_search *search)
{
    struct orr_victim *victim = &search->potential.items[search->potential.count];
    const bool node_local = search->generator == ORR_NODE_LOCAL_GREEDY;
    victim->group = search->recorded_groups + (node_local ? victim->job : victim->step);
    orr_victim__add_capacity(search, victim);
    search->potential.count++;
    orr_refute__victim_added(search);
}

void orr_victim__accumulate(struct orr_victim_search *search, uint32_t task)
{
    const struct orr_stask *of = &search->session->tasks[task];
    const struct orr_victim victim = {
        .task = task, .node = of->live.node, .job = of->job, .step = search->steps};
    orr_victims_push(&search->potential, &victim);
    search->potential.count--;
    add_popped(search);
}

/* All candidates, those first who are the first victims. What each holds is the same whenever
 * victims are accumulated from the beginning, but in v0.17, where not all is taken back. */
static void build_order(struct orr_victim_search *search)
{
    struct orr_order *order = &search->order;
    orr_order_init(order, search->session, true, false);
    if (search->prepared == NULL || search->session->v017 != NULL) {
        search->prepared = orr_arena_take(&search->memory, search->candidate_count + (size_t)1,
                                          sizeof *search->prepared);
        search->prepared_count =
            orr_order_prepare(order, search->candidates, search->candidate_count, search->prepared);
    }
    orr_order_build_over(order, NULL, 0, NULL, search->prepared, search->prepared_count);
}

/* Of a job whose turn came the tasks that the step does not evict go back, whatever their status.
 * If some of these are recorded ones there is no step, and all that are not recorded go back. */
static void push_back(struct orr_victim_search *search, struct orr_jobview view, bool is_step)
{
    const struct orr_session *session = search->session;
    const struct orr_task_list *tasks = &search->to_evict;
    const struct orr_sjob *job = &session->jobs[view.job];
    bool *absent = orr_arena_take(&search->memory, job->task_count, sizeof *absent);
    for (uint32_t i = 0; i < job->task_count; i++) {
        absent[i] = !orr_jobview_has(session, view, job->first_task + i) ||
                    (!is_step && search->is_recorded[job->first_task + i]);
    }
    for (uint32_t i = 0; i < tasks->count && is_step; i++) {
        absent[tasks->tasks[i] - job->first_task] = true;
    }
    view.absent = absent;
    if (memchr(absent, false, job->task_count) != NULL) {
        orr_order_push(&search->order, view);
    }
}

/* The step's tasks are those of the next job that the order gives and that has none of the recorded
 * victims among them. False: there is none left. */
static bool pop_step(struct orr_victim_search *search)
{
    struct orr_task_list *tasks = &search->to_evict;
    struct orr_jobview view;
    bool is_step = false;
    if (search->order.session == NULL) {
        build_order(search);
    }
    while (!is_step && orr_order_pop(&search->order, &view)) {
        bool elastic = orr_jobview_to_evict(search->session, view, tasks);
        if (search->session->v017 != NULL && view.absent == NULL) {
            elastic = tasks->count < orr_v017_active(search->session, view.job);
        }
        is_step = true;
        for (uint32_t i = 0; i < tasks->count; i++) {
            is_step = is_step && !search->is_recorded[tasks->tasks[i]];
        }
        if (elastic || !is_step) {
            push_back(search, view, is_step);
        }
    }
    for (uint32_t i = 0; i < tasks->count && is_step; i++) {
        orr_victim__accumulate(search, tasks->tasks[i]);
    }
    search->popped = search->potential.count;
    search->popped_steps += is_step;
    return is_step;
}

/* As long as the recorded victims are the same, every probe takes the same steps. */
bool orr_victim__step(struct orr_victim_search *search)
{
    const struct orr_victims *potential = &search->potential;
    if (search->steps == search->popped_steps && !pop_step(search)) {
        return false;
    }
    while (potential->count < search->popped &&
           potential->items[potential->count].step == search->steps) {
        add_popped(search);
    }
    search->steps++;
    return true;
}

/* --- filters --- */

static int descending(const void *a, const void *b, void *context)
{
    (void)context;
    const double l = *(const double *)a;
    const double r = *(const double *)b;
    return (l < r) - (l > r);
}

/* KAI's packing: the largest requirement into the first holder with room, holders by what they have
 * in all. Sorts both. */
static bool first_fit_decreasing(double *requirements, uint32_t count, double *holders,
                                 uint32_t holder_count)
{
    double *placed = orr_zalloc(holder_count + (size_t)1, sizeof *placed);
    orr_sort(requirements, count, sizeof *requirements, descending, NULL);
    orr_sort(holders, holder_count, sizeof *holders, descending, NULL);
    bool possible = true;
    for (uint32_t i = 0; possible && i < count && requirements[i] > 0; i++) {
        uint32_t h = 0;
        while (h < holder_count && holders[h] >= requirements[i] &&
               holders[h] - placed[h] < requirements[i]) {
            h++;
        }
        possible = h < holder_count && holders[h] >= requirements[i];
        placed[h] += requirements[i];
    }
    orr_free(placed);
    return possible;
}

/* GPUs as filters add them: milli-GPU, which is exact, or as in v0.17 GPUs (D6). */
static double amount(const struct orr_session *session, int64_t mgpu)
{
    return session->v017 != NULL ? orr_share_units(ORR_SHARE_GPU, mgpu) : (double)mgpu;
}

/* Whether the requirements, which it sorts, go into the nodes or, of a level, into its domains. */
static bool pack(struct orr_victim_search *search, const struct orr_topology_level *level,
                 double *requirements, uint32_t count)
{
    const struct orr_session *session = search->session;
    const uint32_t holder_count = level == NULL ? session->node_count : level->value_count;
    double *holders = orr_zalloc(holder_count + (size_t)1, sizeof *holders);
    double *v017 = session->v017 != NULL ? orr_victim__list_capacities_v017(search) : NULL;
    for (uint32_t n = 0; n < session->node_count; n++) {
        const uint32_t holder = level == NULL ? n : level->value_of_node[n];
        if (holder != ORR_NONE) {
            holders[holder] += v017 != NULL ? v017[n] : (double)search->capacities.with[n];
        }
    }
    const bool possible = first_fit_decreasing(requirements, count, holders, holder_count);
    if (level != NULL && v017 == NULL) {
        search->capacities.domain_lacks = (int64_t)(requirements[0] - holders[0]);
    }
    orr_free(v017);
    orr_free(holders);
    return possible;
}

/* Filter of idle GPUs: every pending task needs a node with enough. */
static bool pass_idle_gpu_filter(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_capacities *c = &search->capacities;
    if (session->v017 == NULL && c->each >= 0) { /* of equal tasks each node takes what it can */
        return c->each == 0 || c->fitting >= (int64_t)search->k;
    }
    double *requirements = orr_alloc(search->k + (size_t)1, sizeof *requirements);
    for (uint32_t i = 0; i < search->k; i++) {
        requirements[i] =
            amount(session, orr_victim__pending_gpus(session, search->tasks.tasks[i]));
    }
    const bool possible = pack(search, NULL, requirements, search->k);
    orr_free(requirements);
    return possible;
}

/* GPUs of all pods of the probe below a set, running ones included. */
static int64_t set_gpus(const struct orr_victim_search *search, uint32_t set)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    int64_t sum = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        if (orr_jobview_has(session, search->view, t) &&
            orr_set_is_below(session, session->tasks[t].set, set)) {
            sum += orr_victim__pending_gpus(session, t);
        }
    }
    return sum;
}

const struct orr_topology_level *orr_victim__required_level(const struct orr_session *session,
                                                            const struct orr_sset *set)
{
    const struct orr_constraint *constraint = &set->constraint;
    const struct orr_topology *topology =
        constraint->topology == NULL || constraint->required == NULL
            ? NULL
            : orr_session_find_topology(session, constraint->topology);
    return topology == NULL ? NULL : orr_topology_find_level(topology, constraint->required);
}

/* The filter does not look at pod sets. */
static const struct orr_topology_level *filtered_level(const struct orr_session *session,
                                                       uint32_t set)
{
    const struct orr_sset *of = &session->sets[set];
    return of->is_pods ? NULL : orr_victim__required_level(session, of);
}

static bool level_has_room(struct orr_victim_search *search, const struct orr_topology_level *level)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    double *requirements = orr_alloc(job->set_count, sizeof *requirements);
    uint32_t count = 0;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        if (filtered_level(session, s) == level) {
            requirements[count++] = amount(session, set_gpus(search, s));
        }
    }
    const bool possible = pack(search, level, requirements, count);
    orr_free(requirements);
    return possible;
}

/* Filter of topology: the sets that must stay within a domain need domains with enough GPUs. */
static bool pass_topology_filter(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    bool passes = true;
    uint32_t count = 0;
    if (search->capacities.domain_holds || search->capacities.domain_lacks > 0) {
        return search->capacities.domain_holds;
    }
    for (uint32_t s = job->first_set; passes && s < job->first_set + job->set_count; s++) {
        const struct orr_topology_level *level = filtered_level(session, s);
        count += level != NULL;
        passes = level == NULL || level_has_room(search, level);
    }
    search->capacities.domain_holds = passes && count <= 1;
    return passes;
}

/* Filter of affinity: each pending task with node affinity needs an allowed node among the feasible
 * ones and those of all victims. */
static bool pass_affinity_filter(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    bool passes = true;
    for (uint32_t i = 0; i < search->k && session->rules.predicates && passes; i++) {
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[search->tasks.tasks[i]]);
        if (ask->affinity != ORR_NONE) {
            uint32_t *nodes = orr_alloc(session->node_count + (size_t)1, sizeof *nodes);
            const uint32_t count = orr_victim__open_nodes(search, &search->potential, nodes).count;
            passes = false;
            for (uint32_t n = 0; n < count && !passes; n++) {
                passes = session->filters[ask->affinity][nodes[n]];
            }
            orr_free(nodes);
        }
    }
    return passes;
}

bool orr_victim__passes_filters(struct orr_victim_search *search)
{
    return pass_idle_gpu_filter(search) && pass_affinity_filter(search) &&
           pass_topology_filter(search);
}
