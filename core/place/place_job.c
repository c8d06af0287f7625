/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One attempt: sets, pod sets, tasks, each inside the nodes its parent chose.
 *
 *   orr_attempt_job
 *     allocate_set      for each candidate node set, until one holds all members
 *       place_tasks     each task on its best node; no going back within a node set
 */
#include <string.h>

#include <orrery/core/defects.h>
#include <orrery/core/statement.h>

#include "place_int.h"

bool orr_place__same_devices(const struct orr_session *session, const struct orr_stask *task,
                             const struct orr_device_choice *choice)
{
    const struct orr_ask *ask = orr_task_ask(session, task);
    const uint32_t devices = orr_ask_is_shared(ask) ? ask->devices : 0;
    bool same = devices == 0 || task->live.group_count == devices;
    for (uint32_t i = 0; same && i < devices; i++) {
        same = orr_task_groups(session, task)[i] == choice->groups[i];
    }
    return same;
}

/* A task goes back to where it was evicted from: then it was no victim at all. */
static bool returns(const struct orr_session *session, uint32_t index, uint32_t node,
                    const struct orr_device_choice *choice, const struct orr_zone_take *zones)
{
    const struct orr_stask *task = &session->tasks[index];
    return task->live.status == ORR_TASK_RELEASING && task->is_virtual && task->live.node == node &&
           orr_place__same_devices(session, task, choice) &&
           (zones == NULL || memcmp(orr_task_zones(session, index), zones->zones,
                                    session->zones_max * sizeof *zones->zones) == 0);
}

static bool place_on(struct orr_allocation *attempt, uint32_t index, uint32_t node)
{
    struct orr_session *session = attempt->session;
    const struct orr_ask *ask = orr_task_ask(session, &session->tasks[index]);
    struct orr_device_choice choice = {
        .pipeline = attempt->pipeline_only ||
                    !orr_place__fitting(session, ask, &session->nodes[node]).at_once};
    if (orr_ask_is_shared(ask) &&
        !orr_place__choose_devices(session, ask, &session->nodes[node], &choice)) {
        return false;
    }
    struct orr_zone_take take;
    const struct orr_zone_take *zones =
        orr_place__choose_zones(session, ask, node, &take) ? &take : NULL;
    if (session->v017 != NULL) {
        return orr_v017_place(session, index, node, choice.pipeline, !attempt->pipeline_only,
                              choice.groups, zones);
    }
    if (choice.pipeline && returns(session, index, node, &choice, zones)) {
        orr_session_unevict(session, index);
    } else {
        orr_session_place(session, index, node,
                          choice.pipeline ? ORR_TASK_PIPELINED : ORR_TASK_ALLOCATED, choice.groups,
                          ask->devices, zones);
    }
    return true;
}

static bool place_task(struct orr_allocation *attempt, uint32_t index, struct orr_ranking *ranking)
{
    const struct orr_session *session = attempt->session;
    bool placed = false;
    if (!orr_place__over_capacity_anywhere(session, &session->tasks[index])) {
        uint32_t node = orr_ranking_best(ranking, index);
        while (!placed && node != ORR_NONE) {
            placed = place_on(attempt, index, node);
            node = placed ? node : orr_ranking_next(ranking);
        }
    }
    if (!placed) {
        attempt->why = ORR_FIT_POD_SCHEDULING_ERRORS;
        orr_place__explain_nodes(attempt, index, ranking->nodes);
    }
    return placed;
}

static bool place_tasks(struct orr_allocation *attempt, uint32_t set, struct orr_node_list nodes)
{
    struct orr_ranking ranking;
    if (attempt->sketch != NULL) {
        return orr_sketch__place_set(attempt, set, nodes);
    }
    orr_ranking_open(&ranking, attempt->session, nodes);
    bool placed = true;
    for (uint32_t i = 0; placed && i < attempt->tasks.count; i++) {
        const uint32_t index = attempt->tasks.tasks[i];
        if (attempt->session->v017 != NULL) { /* a task may have been put elsewhere: D3 */
            orr_ranking_open(&ranking, attempt->session, nodes);
        }
        placed = attempt->session->tasks[index].set != set || place_task(attempt, index, &ranking);
    }
    return placed;
}

bool orr_place__is_below(const struct orr_session *session, uint32_t task, uint32_t set)
{
    return orr_set_is_below(session, session->tasks[task].set, set);
}

static bool has_tasks(const struct orr_allocation *attempt, uint32_t set)
{
    for (uint32_t i = 0; i < attempt->tasks.count; i++) {
        if (orr_place__is_below(attempt->session, attempt->tasks.tasks[i], set)) {
            return true;
        }
    }
    return false;
}

static bool allocate_set(struct orr_allocation *attempt, uint32_t set, struct orr_node_list nodes);

static bool allocate_members(struct orr_allocation *attempt, uint32_t set,
                             struct orr_node_list nodes)
{
    const struct orr_session *session = attempt->session;
    const uint32_t most = session->jobs[attempt->view.job].set_count;
    uint32_t few[8]; /* no memory is asked for in most cases */
    uint32_t *members = most <= 8 ? few : orr_alloc(most, sizeof *members);
    const uint32_t count = orr_jobview_members(session, attempt->view, set, members);
    bool placed = true;
    for (uint32_t i = 0; placed && i < count; i++) {
        placed = allocate_set(attempt, members[i], nodes);
    }
    if (members != few) {
        orr_free(members);
    }
    return placed;
}

static bool allocate_within(struct orr_allocation *attempt, uint32_t set,
                            struct orr_node_list nodes)
{
    return attempt->session->sets[set].is_pods ? place_tasks(attempt, set, nodes)
                                               : allocate_members(attempt, set, nodes);
}

static size_t checkpoint(const struct orr_allocation *attempt)
{
    return attempt->sketch != NULL ? orr_sketch_checkpoint(attempt->sketch)
                                   : orr_session_checkpoint(attempt->session);
}

static void roll_back(const struct orr_allocation *attempt, size_t checkpoint)
{
    if (attempt->sketch != NULL) {
        orr_sketch_rollback(attempt->sketch, checkpoint);
    } else {
        orr_session_rollback(attempt->session, (uint32_t)checkpoint);
    }
}

static bool allocate_set(struct orr_allocation *attempt, uint32_t set, struct orr_node_list nodes)
{
    struct orr_session *session = attempt->session;
    if (!has_tasks(attempt, set)) {
        return true;
    }
    if (session->sets[set].constraint.topology == NULL || !session->rules.topology) {
        return allocate_within(attempt, set, nodes);
    }
    struct orr_subsets subsets;
    struct orr_node_list subset;
    bool placed = false;
    orr_subsets_open(attempt, set, nodes, &subsets);
    while (!placed && orr_subsets_next(&subsets, &subset)) {
        const size_t before = checkpoint(attempt);
        placed = allocate_within(attempt, set, subset);
        if (!placed) {
            roll_back(attempt, before);
        }
    }
    orr_subsets_release(&subsets);
    return placed;
}

/* The pod set that all of the tasks are in, if nothing but it says where they go; else ORR_NONE. */
static uint32_t only_set(const struct orr_session *session, struct orr_task_list tasks)
{
    const uint32_t only = session->tasks[tasks.tasks[0]].set;
    bool is = true;
    for (uint32_t i = 1; is && i < tasks.count; i++) {
        is = session->tasks[tasks.tasks[i]].set == only;
    }
    for (uint32_t s = only; is && session->rules.topology && s != ORR_NONE;
         s = session->sets[s].parent) {
        is = session->sets[s].constraint.topology == NULL;
    }
    return is ? only : ORR_NONE;
}

bool orr_sketch_job(struct orr_sketch *sketch, struct orr_jobview view, struct orr_task_list tasks,
                    const bool *evicted, struct orr_node_list nodes)
{
    struct orr_session *session = sketch->session;
    struct orr_allocation attempt = {.session = session,
                                     .view = view,
                                     .tasks = tasks,
                                     .pipeline_only = true,
                                     .sketch = sketch,
                                     .evicted = evicted};
    const size_t before = orr_sketch_checkpoint(sketch);
    const uint32_t only = only_set(session, tasks);
    bool placed;
    sketch->open = nodes.nodes;
    if (only != ORR_NONE) {
        placed = orr_sketch__place_set(&attempt, only, nodes);
    } else {
        placed = allocate_set(&attempt, session->jobs[view.job].first_set, nodes);
        orr_place__clear_preferred(session, view.job);
    }
    if (!placed) {
        orr_sketch_rollback(sketch, before);
    }
    return placed;
}

bool orr_attempt_job(struct orr_session *session, struct orr_jobview view,
                     struct orr_node_list nodes, bool pipeline_only, enum orr_fit_reason *why)
{
    struct orr_allocation attempt = {.session = session,
                                     .view = view,
                                     .tasks = session->place->tasks,
                                     .pipeline_only = pipeline_only};
    orr_jobview_to_allocate(session, view, pipeline_only, &attempt.tasks);
    bool placed = false;
    if (attempt.tasks.count > 0) {
        const struct orr_demand demand =
            orr_session_demand(session, &attempt.tasks, session->max_gpu_memory_mib);
        attempt.why = orr_job_over_capacity(session, view.job, &demand);
        if (attempt.why == ORR_FIT_NONE) {
            const uint32_t checkpoint = orr_session_checkpoint(session);
            placed = allocate_set(&attempt, session->jobs[view.job].first_set, nodes);
            orr_place__clear_preferred(session, view.job);
            if (!placed) {
                orr_session_rollback(session, checkpoint);
            }
        }
        if (!placed) {
            orr_place__explain(&attempt, &demand);
        }
    }
    session->place->tasks = attempt.tasks;
    *why = placed ? ORR_FIT_NONE : attempt.why;
    return placed;
}
