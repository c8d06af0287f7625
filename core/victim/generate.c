/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which parts of the accumulated victims are tried: node by node, or growing sets of nodes. */
#include "victim_int.h"

#include <string.h>

#include <orrery/base/sort.h>

/* --- scenarios that failed --- */

static uint64_t mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

/* Of the pending tasks and the two sets of victims, whatever their order. */
static uint64_t fingerprint(const struct orr_victim_search *search,
                            const struct orr_victims *potential)
{
    uint64_t sum = mix(search->k);
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        sum += mix(0x100000000u + search->recorded.items[i].task);
    }
    for (uint32_t i = 0; i < potential->count; i++) {
        sum += mix(0x200000000u + potential->items[i].task);
    }
    return sum;
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
    search->spent = is_spent(search->session->scenarios_tried, budget->action) ||
                    is_spent(search->tried, budget->job);
    search->generator_spent = is_spent(
        search->tried_by_generator, greedy ? budget->node_local_greedy : budget->multi_node_gang);
    if (search->spent || search->generator_spent) {
        return false;
    }
    search->session->scenarios_tried++;
    search->tried++;
    search->tried_by_generator++;
    return true;
}

static bool try_scenario(struct orr_victim_search *search, const struct orr_victims *potential)
{
    const uint64_t print = fingerprint(search, potential);
    for (uint32_t i = 0; i < search->failed_count; i++) {
        if (search->failed[i] == print) {
            return false;
        }
    }
    if (!afford(search)) {
        return false;
    }
    if (orr_victim__may_work(search, potential) && orr_victim__simulate(search, potential)) {
        return true;
    }
    search->failed =
        ORR_ROOM_FOR_ONE(search->failed, search->failed_count, search->failed_capacity);
    search->failed[search->failed_count++] = print;
    return false;
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
    orr_sort(out, count, sizeof *out, by_node_rank, (void *)(uintptr_t)session);
    return count;
}

static bool victim_job_on(const struct orr_victim_search *search, uint32_t job, uint32_t node)
{
    for (uint32_t i = 0; i < search->potential.count; i++) {
        const struct orr_stask *task = &search->session->tasks[search->potential.items[i].task];
        if (task->job == job && task->live.node == node) {
            return true;
        }
    }
    return false;
}

/* All accumulated tasks of the jobs that have one on the node; a job's tasks belong together. */
static bool try_node(struct orr_victim_search *search, uint32_t node)
{
    struct orr_victims chosen = {0};
    for (uint32_t i = 0; i < search->potential.count; i++) {
        const uint32_t task = search->potential.items[i].task;
        const uint32_t job = search->session->tasks[task].job;
        if (victim_job_on(search, job, node)) {
            orr_victims_push(&chosen, task, job);
        }
    }
    const bool solved = try_scenario(search, &chosen);
    orr_free(chosen.items);
    return solved;
}

static bool try_node_local(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    if (search->potential.count == 0) {
        return search->recorded.count > 0 && try_scenario(search, &search->potential);
    }
    const uint32_t last = search->potential.items[search->potential.count - 1].task;
    const uint32_t job = session->tasks[last].job;
    uint32_t *nodes = orr_alloc(session->jobs[job].task_count, sizeof *nodes);
    const uint32_t count = list_job_nodes(session, job, nodes);
    bool solved = false;
    for (uint32_t i = 0; !solved && i < count; i++) {
        solved = try_node(search, nodes[i]);
    }
    orr_free(nodes);
    return solved;
}

/* --- multi-node gang --- */

struct bearing { /* a node with victims */
    uint32_t node;
    int64_t capacity;
};

static int by_capacity(const void *a, const void *b, void *context)
{
    const struct bearing *l = a;
    const struct bearing *r = b;
    (void)context;
    return (l->capacity > r->capacity) - (l->capacity < r->capacity);
}

static int64_t free_on(const struct orr_victim_search *search, uint32_t node)
{
    const struct orr_session *session = search->session;
    int64_t free = orr_session_idle_gpus(session, node) + orr_session_releasing_gpus(session, node);
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        const uint32_t task = search->recorded.items[i].task;
        free += session->tasks[task].live.node == node ? orr_victim__freed(session, task) : 0;
    }
    return free;
}

/* Nodes with victims and what they would have, in order of first appearance. */
static uint32_t list_bearing(const struct orr_victim_search *search, struct bearing *out)
{
    const struct orr_session *session = search->session;
    uint32_t count = 0;
    for (uint32_t i = 0; i < search->potential.count; i++) {
        const uint32_t task = search->potential.items[i].task;
        const uint32_t node = session->tasks[task].live.node;
        uint32_t at = 0;
        if (node == ORR_NONE) {
            continue;
        }
        while (at < count && out[at].node != node) {
            at++;
        }
        if (at == count) {
            out[count++] = (struct bearing){.node = node, .capacity = free_on(search, node)};
        }
        out[at].capacity += orr_victim__freed(session, task);
    }
    return count;
}

static bool bears(const struct bearing *list, uint32_t count, uint32_t node)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].node == node) {
            return true;
        }
    }
    return false;
}

/* A step is in with all its tasks if one of them is on a picked node. */
static bool try_nodes(struct orr_victim_search *search, const struct bearing *picked,
                      uint32_t count)
{
    struct orr_victims chosen = {0};
    bool *steps = orr_zalloc(search->steps + (size_t)1, sizeof *steps);
    for (uint32_t i = 0; i < search->potential.count; i++) {
        const struct orr_victim *victim = &search->potential.items[i];
        const uint32_t node = search->session->tasks[victim->task].live.node;
        steps[victim->group] = steps[victim->group] || bears(picked, count, node);
    }
    for (uint32_t i = 0; i < search->potential.count; i++) {
        const struct orr_victim *victim = &search->potential.items[i];
        if (steps[victim->group]) {
            orr_victims_push(&chosen, victim->task, victim->group);
        }
    }
    const bool solved = try_scenario(search, &chosen);
    orr_free(steps);
    orr_free(chosen.items);
    return solved;
}

struct need {
    int64_t all, smallest;
};

static struct need pending_need(const struct orr_victim_search *search)
{
    struct need need = {.smallest = INT64_MAX};
    for (uint32_t i = 0; i < search->k; i++) {
        const struct orr_session *session = search->session;
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[search->tasks.tasks[i]]);
        const int64_t gpus = ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
        need.all += gpus;
        need.smallest = gpus < need.smallest ? gpus : need.smallest;
    }
    return need;
}

/* The smallest number of nodes, least capacity first, that covers what nodes without victims do
 * not; ORR_NONE if all together do not. */
static uint32_t first_prefix(const struct orr_victim_search *search, const struct bearing *list,
                             uint32_t count, const struct bearing *all, uint32_t all_count,
                             int64_t demand)
{
    int64_t missing = demand;
    for (uint32_t n = 0; n < search->session->node_count; n++) {
        if (search->feasible[n] && !bears(all, all_count, n)) {
            missing -= free_on(search, n);
        }
    }
    uint32_t prefix = 0;
    while (missing > 0 && prefix < count) {
        missing -= list[prefix++].capacity;
    }
    return missing > 0 ? ORR_NONE : prefix;
}

static bool try_prefixes(struct orr_victim_search *search, const struct bearing *list,
                         uint32_t count, uint32_t first)
{
    for (uint32_t step = 1, at = first;; at += step, step *= 2) {
        const uint32_t prefix = at < count ? at : count;
        if (try_nodes(search, list, prefix)) {
            return true;
        }
        if (prefix == count) {
            return false;
        }
    }
}

static bool try_multi_node(struct orr_victim_search *search)
{
    if (search->potential.count == 0) {
        return try_scenario(search, &search->potential);
    }
    struct bearing *all = orr_alloc(search->potential.count, sizeof *all);
    struct bearing *list = orr_alloc(search->potential.count, sizeof *list);
    const uint32_t all_count = list_bearing(search, all);
    const struct need need = pending_need(search);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all_count; i++) {
        if (all[i].capacity >= need.smallest) {
            list[count++] = all[i];
        }
    }
    orr_sort(list, count, sizeof *list, by_capacity, NULL);
    const uint32_t first = first_prefix(search, list, count, all, all_count, need.all);
    const bool solved = first != ORR_NONE && try_prefixes(search, list, count, first);
    orr_free(all);
    orr_free(list);
    return solved;
}

bool orr_victim__try_state(struct orr_victim_search *search)
{
    return search->generator == ORR_NODE_LOCAL_GREEDY ? try_node_local(search)
                                                      : try_multi_node(search);
}
