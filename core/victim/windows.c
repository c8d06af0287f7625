/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's generators: which of the potential victims of a state make a scenario. */
#include "victim_int.h"

#include <orrery/base/sort.h>

/* --- scenarios that failed --- */

/* Of the tasks that are tried and of all victims, whatever their order; never 0. */
static uint64_t fingerprint_of(const struct orr_victim_search *search)
{
    uint64_t sum = orr_scatter(0x200000000u + search->k);
    for (uint32_t i = 0; i < orr_victim__count(search, &search->chosen); i++) {
        sum += orr_scatter((i < search->chosen.count ? 0x300000000u : 0x100000000u) +
                           orr_victim__nth_task(search, &search->chosen, i));
    }
    return sum == 0 ? 1 : sum;
}

/* The slot that holds the fingerprint, or the free one where it would go. */
static uint64_t *failed_slot(const struct orr_victim_search *search, uint64_t fingerprint)
{
    uint32_t slot = (uint32_t)fingerprint & (search->failed_slots - 1);
    while (search->failed[slot] != 0 && search->failed[slot] != fingerprint) {
        slot = (slot + 1) & (search->failed_slots - 1);
    }
    return &search->failed[slot];
}

static void grow_failed(struct orr_victim_search *search)
{
    const uint64_t *old = search->failed;
    const uint32_t count = search->failed_slots;
    search->failed_slots = count == 0 ? 256 : 4 * count;
    search->failed = orr_arena_alloc(&search->memory, search->failed_slots, sizeof *search->failed);
    for (uint32_t i = 0; i < count; i++) {
        if (old[i] != 0) {
            *failed_slot(search, old[i]) = old[i];
        }
    }
}

static bool is_spent(int64_t tried, int64_t budget)
{
    return budget > 0 && tried >= budget;
}

/* Takes one more scenario from the budgets, or notes which of them has none left. */
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

static bool try_scenario(struct orr_victim_search *search)
{
    if (2 * (search->failed_count + 1) > search->failed_slots) {
        grow_failed(search);
    }
    const uint64_t fingerprint = fingerprint_of(search);
    uint64_t *slot = failed_slot(search, fingerprint);
    if (*slot == fingerprint || !afford(search)) {
        return false;
    }
    if (!orr_refute__scenario(search, &search->chosen) && orr_victim__simulate(search)) {
        orr_refute__scenario_solved(search);
        return true;
    }
    *slot = fingerprint;
    search->failed_count++;
    return false;
}

/* Tries the potential victims of every group that has one on the bearing nodes at [from, to).
 * nth: of the state's windows; ORR_NONE: a single node. */
static bool try_nodes(struct orr_victim_search *search, uint32_t from, uint32_t to, uint32_t nth)
{
    const struct orr_capacities *c = &search->capacities;
    const struct orr_victims *potential = &search->potential;
    const bool node_local = search->generator == ORR_NODE_LOCAL_GREEDY;
    const uint32_t groups = node_local ? search->session->job_count : search->steps;
    const uint32_t number = ++search->scenarios;
    if (orr_refute__window(search, from, to, nth)) {
        return false;
    }
    search->picked =
        orr_zgrow(search->picked, &search->picked_capacity, groups, sizeof *search->picked);
    for (uint32_t n = from; n < to; n++) {
        uint32_t at = orr_capacities_last_on(c, c->bearing[n]);
        for (; at != ORR_NONE; at = potential->items[at].before) {
            search->picked[potential->items[at].group] = number;
        }
    }
    search->chosen.count = 0;
    if (node_local && search->session->v017 != NULL) {
        orr_victim__list_again_v017(search);
    }
    for (uint32_t i = 0; i < potential->count; i++) {
        if (search->picked[potential->items[i].group] == number) {
            orr_victims_push(&search->chosen, &potential->items[i]);
        }
    }
    return try_scenario(search);
}

/* --- node-local greedy: the victims of a job are a group --- */

static int by_node_rank(const void *a, const void *b, void *context)
{
    const struct orr_session *session = context;
    const uint32_t l = session->nodes[*(const uint32_t *)a].rank;
    const uint32_t r = session->nodes[*(const uint32_t *)b].rank;
    return (l > r) - (l < r);
}

/* The nodes of the job's pods, by name, one as often as it has pods of it. */
static uint32_t list_nodes(const struct orr_session *session, const struct orr_sjob *job,
                           uint32_t *nodes)
{
    uint32_t count = 0;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        if (session->tasks[t].live.node != ORR_NONE) {
            nodes[count++] = session->tasks[t].live.node;
        }
    }
    orr_sort(nodes, count, sizeof *nodes, by_node_rank, session);
    return count;
}

static bool try_node_local(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    if (search->potential.count == 0) {
        return search->recorded.count > 0 && try_scenario(search);
    }
    const struct orr_victim *last = &search->potential.items[search->potential.count - 1];
    const struct orr_sjob *job = &session->jobs[last->job];
    const struct orr_capacities *c = &search->capacities;
    if (job->task_count == 1) { /* most have no more: nothing to list */
        return last->node != ORR_NONE &&
               try_nodes(search, c->at[last->node], c->at[last->node] + 1, ORR_NONE);
    }
    uint32_t *nodes = orr_alloc(job->task_count, sizeof *nodes);
    const uint32_t count = list_nodes(session, job, nodes);
    bool solved = false;
    for (uint32_t i = 0; !solved && i < count; i++) {
        const bool again = i > 0 && nodes[i] == nodes[i - 1];
        const uint32_t at = c->at[nodes[i]];
        solved = !again && c->since[nodes[i]] > 0 && try_nodes(search, at, at + 1, ORR_NONE);
    }
    orr_free(nodes);
    return solved;
}

/* --- multi-node gang: the tasks of a step are a group --- */

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
        return try_scenario(search);
    }
    if (search->session->v017 != NULL) {
        orr_victim__measure_again_v017(search);
    }
    const uint32_t from = c->bearing_count - c->able;
    c->first = first_prefix(c, from);
    uint32_t count = c->first;
    for (uint32_t nth = 0; count != ORR_NONE; nth++) {
        count = count < c->able ? count : c->able;
        if (try_nodes(search, from, from + count, nth)) {
            return true;
        }
        count = count == c->able ? ORR_NONE : count + (1u << nth);
    }
    c->same = c->first != ORR_NONE ? UINT32_MAX : c->same;
    return false;
}

bool orr_victim__try_state(struct orr_victim_search *search)
{
    search->chosen.count = 0;
    return search->generator == ORR_NODE_LOCAL_GREEDY ? try_node_local(search)
                                                      : try_multi_node(search);
}
