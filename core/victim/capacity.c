/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs that nodes would have free without the victims accumulated so far, kept up to date victim by
 * victim: what the filters and the generators ask at every step. */
#include "victim_int.h"

#include <string.h>

int64_t orr_victim__pending_gpus(const struct orr_session *session, uint32_t task)
{
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[task]);
    return ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
}

int64_t orr_victim__freed(const struct orr_session *session, uint32_t task)
{
    const struct orr_place *place = &session->tasks[task].live;
    return place->node == ORR_NONE ? 0 : place->quota_mgpu;
}

/* If every pod needs GPUs, only nodes with some idle or being released; victims bring theirs. */
void orr_victim__open_capacities(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    struct orr_capacities *c = &search->capacities;
    bool all_need = true;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        all_need = all_need && orr_task_ask(session, &session->tasks[t])->kind != ORR_ASK_NO_GPU;
    }
    search->base_feasible =
        orr_arena_take(&search->memory, session->node_count, sizeof *search->base_feasible);
    c->free = orr_arena_take(&search->memory, session->node_count, sizeof *c->free);
    c->with = orr_arena_take(&search->memory, session->node_count, sizeof *c->with);
    c->bearing = orr_arena_take(&search->memory, session->node_count, sizeof *c->bearing);
    c->since = orr_arena_alloc(&search->memory, session->node_count, sizeof *c->since);
    c->at = orr_arena_take(&search->memory, session->node_count, sizeof *c->at);
    c->last_on = orr_arena_take(&search->memory, session->node_count, sizeof *c->last_on);
    for (uint32_t n = 0; n < session->node_count; n++) {
        const int64_t idle = orr_session_idle_gpus(session, n);
        const int64_t releasing = orr_session_releasing_gpus(session, n);
        c->free[n] = idle + releasing;
        search->base_feasible[n] = !all_need || idle > 0 || releasing > 0;
    }
}

static int64_t fitting_in(const struct orr_capacities *c, int64_t capacity)
{
    return c->each > 0 && capacity >= c->each ? capacity / c->each : 0;
}

static void measure_tasks(struct orr_victim_search *search)
{
    struct orr_capacities *c = &search->capacities;
    c->needed = search->demand.v[ORR_SHARE_GPU];
    c->min_task = INT64_MAX;
    c->each = orr_victim__pending_gpus(search->session, search->tasks.tasks[0]);
    for (uint32_t i = 0; i < search->k; i++) {
        const int64_t gpus = orr_victim__pending_gpus(search->session, search->tasks.tasks[i]);
        c->min_task = gpus < c->min_task ? gpus : c->min_task;
        c->each = gpus == c->each ? c->each : -1;
    }
    if (c->min_task == 0) { /* a node that is short of GPUs is none the worse for it */
        c->min_task = INT64_MIN;
    }
}

void orr_victim__start_capacities(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_capacities *c = &search->capacities;
    measure_tasks(search);
    for (uint32_t i = 0; i < c->bearing_count; i++) {
        c->since[c->bearing[i]] = 0;
    }
    c->bearing_count = c->able = 0;
    memcpy(c->with, c->free, session->node_count * sizeof *c->with);
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        const struct orr_victim *victim = &search->recorded.items[i];
        c->with[victim->node] += orr_victim__freed(session, victim->task);
    }
    c->baseline = 0;
    c->fitting = 0;
    c->domain_holds = false;
    c->domain_lacks = 0;
    for (uint32_t n = 0; n < session->node_count; n++) {
        c->baseline += search->feasible[n] ? c->with[n] : 0;
        c->fitting += fitting_in(c, c->with[n]);
    }
}

/* Nodes with victims: least capacity first, ties by first appearance. */
static bool is_before(const struct orr_capacities *c, uint32_t a, uint32_t b)
{
    return c->with[a] != c->with[b] ? c->with[a] < c->with[b] : c->since[a] < c->since[b];
}

static void put(struct orr_capacities *c, uint32_t node, uint32_t at)
{
    c->bearing[at] = node;
    c->at[node] = at;
}

/* To its place among those with victims, after its capacity changed. */
static void move_in_line(struct orr_capacities *c, uint32_t node)
{
    uint32_t at = c->at[node];
    for (; at > 0 && is_before(c, node, c->bearing[at - 1]); at--) {
        put(c, c->bearing[at - 1], at);
    }
    for (; at + 1 < c->bearing_count && is_before(c, c->bearing[at + 1], node); at++) {
        put(c, c->bearing[at + 1], at);
    }
    put(c, node, at);
}

void orr_victim__add_capacity(struct orr_victim_search *search, struct orr_victim *victim)
{
    struct orr_capacities *c = &search->capacities;
    const uint32_t node = victim->node;
    victim->before = ORR_NONE;
    if (node == ORR_NONE) {
        return;
    }
    const int64_t gpus = orr_victim__freed(search->session, victim->task);
    victim->before = orr_capacities_last_on(c, node);
    c->was = orr_capacities_nth(c, node);
    c->able -= c->since[node] != 0 && c->with[node] >= c->min_task;
    c->last_on[node] = search->potential.count;
    if (c->since[node] == 0) {
        c->baseline -= search->feasible[node] ? c->with[node] : 0;
        c->at[node] = c->bearing_count;
        c->bearing[c->bearing_count++] = node;
        c->since[node] = c->bearing_count;
    }
    c->fitting -= fitting_in(c, c->with[node]);
    c->with[node] += gpus;
    c->domain_lacks -= gpus;
    c->fitting += fitting_in(c, c->with[node]);
    c->able += c->with[node] >= c->min_task;
    if (search->generator == ORR_MULTI_NODE_GANG) {
        move_in_line(c, node); /* the other one takes single nodes, in whatever order they are */
    }
}
