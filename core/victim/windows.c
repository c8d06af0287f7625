/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's generators: which of the potential victims of a state make a scenario. */
#include "victim_int.h"

/* --- scenarios that failed --- */

/* Of the tasks that are tried and of all victims, whatever their order. */
static uint64_t fingerprint_of(const struct orr_victim_search *search)
{
    uint64_t sum = orr_scatter(0x200000000u + search->k);
    for (uint32_t i = 0; i < search->scenario.count; i++) {
        sum += orr_scatter((i < search->chosen ? 0x300000000u : 0x100000000u) +
                           search->scenario.items[i].task);
    }
    return sum;
}

static bool is_spent(int64_t budget, int64_t tried)
{
    return budget > 0 && tried >= budget; /* 0 is no budget */
}

/* Takes one more scenario from the budgets, or notes which of them has none left. */
static bool afford(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_scenario_budget *budget = &session->rules.scenario_budget;
    const bool greedy = search->generator == ORR_NODE_LOCAL_GREEDY;
    search->generator_budget_spent = is_spent(
        greedy ? budget->node_local_greedy : budget->multi_node_gang, search->tried_by_generator);
    search->budget_spent =
        is_spent(budget->action, session->scenarios_tried) || is_spent(budget->job, search->tried);
    const bool left = !search->budget_spent && !search->generator_budget_spent;
    session->scenarios_tried += left;
    search->tried += left;
    search->tried_by_generator += left;
    return left;
}

/* The potential victims of the scenario are listed. */
static bool try_scenario(struct orr_victim_search *search)
{
    search->chosen = search->scenario.count;
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        orr_victims_push(&search->scenario, &search->recorded.items[i]);
    }
    const uint64_t fingerprint = fingerprint_of(search);
    const char *name = (const char *)&fingerprint;
    if (orr_idmap_find(&search->failed, name, sizeof fingerprint) != ORR_NONE || !afford(search)) {
        return false;
    }
    if (!orr_refute__scenario(search) && orr_victim__simulate(search)) {
        orr_refute__scenario_solved(search);
        return true;
    }
    (void)orr_idmap_put(&search->failed, name, sizeof fingerprint, NULL);
    return false;
}

/* Tries the potential victims of every group that has one on the bearing nodes at [from, to).
 * nth: of the state's windows; ORR_NONE: a single node. */
static bool try_nodes(struct orr_victim_search *search, uint32_t from, uint32_t to, uint32_t nth)
{
    const struct orr_capacities *c = &search->capacities;
    const struct orr_victims *potential = &search->potential;
    const bool node_local = search->generator == ORR_NODE_LOCAL_GREEDY;
    const uint32_t groups =
        search->recorded_groups + (node_local ? search->session->job_count : search->steps);
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
    search->scenario.count = 0;
    if (node_local && search->session->v017 != NULL) {
        orr_victim__list_again_v017(search);
    }
    for (uint32_t i = 0; i < potential->count; i++) {
        if (search->picked[potential->items[i].group] == number) {
            orr_victims_push(&search->scenario, &potential->items[i]);
        }
    }
    return try_scenario(search);
}

/* --- node-local greedy: the victims of a job are a group --- */

/* Of the bearing nodes with pods of the job the first one by name after this one, or after none. */
static uint32_t next_node(const struct orr_victim_search *search, uint32_t index, uint32_t after)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[index];
    const uint32_t least = after == ORR_NONE ? 0 : session->nodes[after].rank + 1;
    uint32_t next = ORR_NONE, lowest = ORR_NONE;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const uint32_t node = session->tasks[t].live.node;
        if (node != ORR_NONE && search->capacities.since[node] > 0 &&
            session->nodes[node].rank >= least && session->nodes[node].rank < lowest) {
            next = node;
            lowest = session->nodes[node].rank;
        }
    }
    return next;
}

static bool try_node_local(struct orr_victim_search *search)
{
    const struct orr_victims *potential = &search->potential;
    const uint32_t job = potential->items[potential->count - 1].job;
    uint32_t node = next_node(search, job, ORR_NONE);
    bool solved = false;
    for (; node != ORR_NONE && !solved; node = next_node(search, job, node)) {
        const uint32_t at = search->capacities.at[node];
        solved = try_nodes(search, at, at + 1, ORR_NONE);
    }
    return solved;
}

/* --- multi-node gang: the tasks of a step are a group --- */

/* The smallest number of nodes, least capacity first, that covers what nodes without victims do
 * not; ORR_NONE if all together do not. */
static uint32_t smallest_prefix(const struct orr_capacities *c, uint32_t from)
{
    int64_t missing = c->needed - c->baseline;
    uint32_t at = from;
    while (missing > 0 && at < c->bearing_count) {
        missing -= c->with[c->bearing[at++]];
    }
    return missing > 0 ? ORR_NONE : at - from;
}

static bool try_multi_node(struct orr_victim_search *search)
{
    const struct orr_capacities *c = &search->capacities;
    bool solved = false;
    if (search->session->v017 != NULL) {
        orr_victim__measure_again_v017(search);
    }
    const uint32_t from = c->bearing_count - c->able;
    uint32_t count = smallest_prefix(c, from);
    for (uint32_t nth = 0; count != ORR_NONE && !solved; nth++) {
        count = count < c->able ? count : c->able;
        solved = try_nodes(search, from, from + count, nth);
        count = count == c->able ? ORR_NONE : count + (1u << nth);
    }
    return solved;
}

bool orr_victim__try_state(struct orr_victim_search *search)
{
    const bool node_local = search->generator == ORR_NODE_LOCAL_GREEDY;
    search->scenario.count = 0;
    if (search->potential.count == 0) {
        return (search->recorded.count > 0 || !node_local) && try_scenario(search);
    }
    return node_local ? try_node_local(search) : try_multi_node(search);
}
