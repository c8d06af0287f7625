/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which parts of the accumulated victims are tried: node by node, or growing sets of nodes. */
#include "victim_int.h"

#include <orrery/base/sort.h>

/* --- scenarios that failed --- */

/* A scenario's is the sum of the probe's and of its victims', whatever their order. */
static uint64_t fingerprint_of(uint32_t task)
{
    return orr_scatter(0x300000000u + task);
}

void orr_victim__start_fingerprints(struct orr_victim_search *search)
{
    search->fingerprint = orr_scatter(0x200000000u + search->k);
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        search->fingerprint += orr_scatter(0x100000000u + search->recorded.items[i].task);
    }
    for (uint32_t i = 0; i < search->potential.count; i++) {
        search->potential_jobs[search->potential.items[i].job].fingerprint = 0;
    }
}

void orr_victim__add_fingerprint(struct orr_victim_search *search, const struct orr_victim *victim)
{
    if (search->potential_jobs == NULL) {
        search->potential_jobs = orr_arena_alloc(&search->memory, search->session->job_count,
                                                 sizeof *search->potential_jobs);
    }
    search->potential_jobs[victim->job].fingerprint += fingerprint_of(victim->task);
}

/* Never 0. */
static uint64_t fingerprint_with(const struct orr_victim_search *search, uint64_t victims)
{
    const uint64_t sum = search->fingerprint + victims;
    return sum == 0 ? 1 : sum;
}

static uint64_t fingerprint_of_all(const struct orr_victim_search *search,
                                   const struct orr_victims *victims)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < victims->count; i++) {
        sum += fingerprint_of(victims->items[i].task);
    }
    return fingerprint_with(search, sum);
}

static bool is_spent(int64_t tried, int64_t budget)
{
    return budget > 0 && tried >= budget;
}

/* Takes one more scenario from the budgets, or says which of them has none left. */
static bool afford(struct orr_victim_search *search)
{
    const struct orr_scenario_budget *budget = &search->session->rules.scenario_budget;
    const bool greedy = search->generator == ORR_NODE_LOCAL_GREEDY;
    search->budget_spent = is_spent(search->session->scenarios_tried, budget->action) ||
                           is_spent(search->tried, budget->job);
    search->generator_budget_spent = is_spent(
        search->tried_by_generator, greedy ? budget->node_local_greedy : budget->multi_node_gang);
    if (search->budget_spent || search->generator_budget_spent) {
        return false;
    }
    search->session->scenarios_tried++;
    search->tried++;
    search->tried_by_generator++;
    return true;
}

/* The slot that holds the fingerprint, or the free one where it would go. */
static uint32_t failed_slot(const struct orr_victim_search *search, uint64_t fingerprint)
{
    uint32_t slot = (uint32_t)fingerprint & (search->failed_slots - 1);
    while (search->failed[slot] != 0 && search->failed[slot] != fingerprint) {
        slot = (slot + 1) & (search->failed_slots - 1);
    }
    return slot;
}

static void grow_failed(struct orr_victim_search *search)
{
    uint64_t *old = search->failed;
    const uint32_t count = search->failed_slots;
    search->failed_slots = count == 0 ? 256 : 4 * count;
    search->failed = orr_arena_alloc(&search->memory, search->failed_slots, sizeof *search->failed);
    for (uint32_t i = 0; i < count; i++) {
        if (old[i] != 0) {
            search->failed[failed_slot(search, old[i])] = old[i];
        }
    }
}

static bool has_failed(const struct orr_victim_search *search, uint64_t fingerprint)
{
    return search->failed_slots > 0 &&
           search->failed[failed_slot(search, fingerprint)] == fingerprint;
}

static bool try_scenario(struct orr_victim_search *search, const struct orr_victims *potential,
                         uint64_t fingerprint)
{
    if (2 * (search->failed_count + 1) > search->failed_slots) {
        grow_failed(search);
    }
    uint64_t *slot = &search->failed[failed_slot(search, fingerprint)];
    if (*slot == fingerprint || !afford(search)) {
        return false;
    }
    if (!orr_refute__scenario(search, potential) && orr_victim__simulate(search, potential)) {
        orr_refute__scenario_solved(search);
        return true;
    }
    *slot = fingerprint;
    search->failed_count++;
    return false;
}

static bool try_all(struct orr_victim_search *search, const struct orr_victims *potential)
{
    return try_scenario(search, potential, fingerprint_of_all(search, potential));
}

/* --- node-local greedy --- */

static int by_node_rank(const void *a, const void *b, void *context)
{
    const struct orr_session *session = context;
    const uint32_t l = session->nodes[*(const uint32_t *)a].rank;
    const uint32_t r = session->nodes[*(const uint32_t *)b].rank;
    return (l > r) - (l < r);
}

/* Nodes that host any pod of the job, by name. */
static uint32_t list_job_nodes(const struct orr_session *session, uint32_t job_index, uint32_t *out)
{
    const struct orr_sjob *job = &session->jobs[job_index];
    uint32_t count = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const uint32_t node = session->tasks[t].live.node;
        bool known = node == ORR_NONE;
        for (uint32_t i = 0; i < count && !known; i++) {
            known = out[i] == node;
        }
        if (!known) {
            out[count++] = node;
        }
    }
    orr_sort(out, count, sizeof *out, by_node_rank, session);
    return count;
}

/* Marks the jobs that have victims on the node with the number of the scenario. Returns the sum of
 * their fingerprints. */
static uint64_t mark_jobs_on(struct orr_victim_search *search, uint32_t node)
{
    const struct orr_capacities *c = &search->capacities;
    const uint32_t number = ++search->node_scenarios;
    uint32_t at = c->since[node] == 0 ? ORR_NONE : c->last_on[node];
    uint64_t sum = 0;
    for (; at != ORR_NONE; at = search->potential.items[at].before) {
        struct orr_potential_job *job = &search->potential_jobs[search->potential.items[at].job];
        sum += job->node_scenario == number ? 0 : job->fingerprint;
        job->node_scenario = number;
    }
    return sum;
}

/* All accumulated tasks of the jobs that have one on the node; a job's tasks belong together. */
static bool try_node(struct orr_victim_search *search, uint32_t node)
{
    if (orr_refute__node(search, node)) {
        return false;
    }
    const uint64_t fingerprint = fingerprint_with(search, mark_jobs_on(search, node));
    const bool listed_again = search->session->v017 != NULL;
    search->chosen.count = 0;
    if (listed_again) {
        orr_victim__list_again_v017(search);
    } else if (has_failed(search, fingerprint)) {
        return false; /* a gang has many nodes */
    }
    for (uint32_t i = 0; i < search->potential.count; i++) {
        struct orr_victim victim = search->potential.items[i];
        if (search->potential_jobs[victim.job].node_scenario == search->node_scenarios) {
            victim.group = victim.job;
            orr_victims_push(&search->chosen, &victim);
        }
    }
    /* A pod of the job may be there that is no victim. */
    return search->chosen.count > 0 &&
           (listed_again ? try_all(search, &search->chosen)
                         : try_scenario(search, &search->chosen, fingerprint));
}

static bool try_node_local(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    if (search->potential.count == 0) {
        return search->recorded.count > 0 && try_all(search, &search->potential);
    }
    const struct orr_victim *last = &search->potential.items[search->potential.count - 1];
    if (session->jobs[last->job].task_count == 1) {
        return last->node != ORR_NONE && try_node(search, last->node);
    }
    uint32_t *nodes = orr_alloc(session->jobs[last->job].task_count, sizeof *nodes);
    const uint32_t count = list_job_nodes(session, last->job, nodes);
    bool solved = false;
    for (uint32_t i = 0; !solved && i < count; i++) {
        solved = try_node(search, nodes[i]);
    }
    orr_free(nodes);
    return solved;
}

/* --- multi-node gang --- */

/* The nodes with victims at positions [from, to). A step is in with all its tasks if one of them is
 * on such a node. */
static bool try_nodes(struct orr_victim_search *search, uint32_t from, uint32_t to, uint32_t nth)
{
    const struct orr_victims *potential = &search->potential;
    if (orr_refute__window(search, from, to, nth)) {
        return false;
    }
    const uint32_t number = ++search->scenarios;
    while (search->picked_count < search->steps) {
        search->picked =
            ORR_ROOM_FOR_ONE(search->picked, search->picked_count, search->picked_capacity);
        search->picked[search->picked_count++] = 0;
    }
    for (uint32_t i = 0; i < potential->count; i++) {
        const struct orr_victim *victim = &potential->items[i];
        const uint32_t at = victim->node == ORR_NONE ? to : search->capacities.at[victim->node];
        if (at >= from && at < to) {
            search->picked[victim->group] = number;
        }
    }
    search->chosen.count = 0;
    for (uint32_t i = 0; i < potential->count; i++) {
        if (search->picked[potential->items[i].group] == number) {
            orr_victims_push(&search->chosen, &potential->items[i]);
        }
    }
    return try_all(search, &search->chosen);
}

/* The smallest number of nodes, least capacity first, that covers what nodes without victims do
 * not; ORR_NONE if all together do not. */
static uint32_t first_prefix(const struct orr_capacities *c, uint32_t from)
{
    int64_t missing = c->needed - c->elsewhere;
    uint32_t at = from;
    while (missing > 0 && at < c->bearing_count) {
        missing -= c->with[c->bearing[at++]];
    }
    return missing > 0 ? ORR_NONE : at - from;
}

static bool try_multi_node(struct orr_victim_search *search)
{
    struct orr_capacities *c = &search->capacities;
    if (search->potential.count == 0) {
        return try_all(search, &search->potential);
    }
    if (search->session->v017 != NULL) {
        orr_victim__measure_again_v017(search);
    }
    const uint32_t from = c->bearing_count - c->able;
    c->first = first_prefix(c, from);
    uint32_t at = c->first;
    for (uint32_t nth = 0; c->first != ORR_NONE; at += 1u << nth, nth++) {
        const uint32_t prefix = at < c->able ? at : c->able;
        if (try_nodes(search, from, from + prefix, nth)) {
            return true;
        }
        if (prefix == c->able) {
            break;
        }
    }
    c->same = c->first != ORR_NONE ? UINT32_MAX : c->same;
    return false;
}

bool orr_victim__try_state(struct orr_victim_search *search)
{
    return search->generator == ORR_NODE_LOCAL_GREEDY ? try_node_local(search)
                                                      : try_multi_node(search);
}
