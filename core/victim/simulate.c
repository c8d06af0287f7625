/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario: evict in thought, then let everybody concerned be allocated in fair order.
 *
 * The order is made of all pending jobs, because a queue is ranked by its best job whoever that is;
 * only the victims and the preemptor are actually placed.
 */
#include "victim_int.h"

#include <orrery/core/statement.h>

#include <string.h>

/* v0.17 evicts again what is listed twice (D2), and fails where a node lost a task's record (D4).
 */
static bool evict_all(struct orr_victim_search *search, const struct orr_victims *victims)
{
    bool evicted = true;
    for (uint32_t i = 0; evicted && i < victims->count; i++) {
        const uint32_t task = victims->items[i].task;
        const uint8_t status = search->session->tasks[task].live.status;
        if (search->session->v017 != NULL || orr_status_in(status, ORR_STATES_ACTIVE_ALLOCATED)) {
            evicted = orr_session_evict(search->session, task);
        }
    }
    return evicted;
}

uint32_t orr_victim__list_nodes(const struct orr_victim_search *search,
                                const struct orr_victims *potential, uint32_t *nodes)
{
    const struct orr_session *session = search->session;
    uint32_t count = 0;
    bool *open = orr_alloc(session->node_count, sizeof *open);
    memcpy(open, search->feasible, session->node_count * sizeof *open);
    for (uint32_t i = 0; i < orr_victim__count(search, potential); i++) {
        const uint32_t task = orr_victim__nth_task(search, potential, i);
        const uint32_t node = session->tasks[task].live.node;
        if (node != ORR_NONE) {
            open[node] = true;
        }
    }
    for (uint32_t n = 0; n < session->node_count; n++) {
        nodes[count] = n;
        count += open[n];
    }
    orr_free(open);
    return count;
}

/* Every job that waits or lost something, once; the preemptor as the probe has it. Marks who lost
 * something, by job. Returns those that are to be placed, which the order uses, and how many. */
static struct orr_order_entry *build_order(struct orr_victim_search *search,
                                           const struct orr_victims *potential, bool *is_victim,
                                           struct orr_order *order, uint32_t *left)
{
    const struct orr_session *session = search->session;
    const size_t most = orr_victim__count(search, potential) + (size_t)1;
    struct orr_jobview *views = orr_alloc(most, sizeof *views);
    struct orr_order_entry *entries = orr_alloc(most, sizeof *entries);
    uint32_t count = 0;
    views[count++] = search->view;
    for (uint32_t i = 0; i + 1 < most; i++) {
        const uint32_t job = session->tasks[orr_victim__nth_task(search, potential, i)].job;
        if (!is_victim[job]) {
            is_victim[job] = true;
            views[count++] = orr_jobview_whole(job);
        }
    }
    orr_order_init(order, session, false, true);
    count = orr_order_prepare(order, views, count, entries);
    orr_order_build_over(order, search->waiting, search->waiting_count, is_victim, entries, count);
    orr_free(views);
    *left = count;
    return entries;
}

static bool replay(struct orr_victim_search *search, const struct orr_victims *potential,
                   struct orr_node_list nodes)
{
    bool *is_victim = orr_zalloc(search->session->job_count, sizeof *is_victim);
    struct orr_order order;
    struct orr_jobview view;
    bool placed = false;
    uint32_t left;
    struct orr_order_entry *entries = build_order(search, potential, is_victim, &order, &left);
    while (left > 0 && orr_order_pop(&order, &view)) {
        enum orr_fit_reason why;
        const bool is_preemptor = view.job == search->job;
        if (!is_preemptor && !is_victim[view.job]) {
            continue;
        }
        left--;
        const bool fitted = orr_attempt_job(search->session, view, nodes, true, &why);
        if (is_preemptor && !fitted) {
            placed = false;
            break;
        }
        if (!fitted && search->session->v017 != NULL) { /* asked for again, so it is kept: D1 */
            struct orr_task_list tasks = {0};
            orr_jobview_to_allocate(search->session, view, true, &tasks);
            orr_task_list_release(&tasks);
        }
        placed = placed || is_preemptor;
    }
    orr_order_release(&order);
    orr_free(entries);
    orr_free(is_victim);
    return placed;
}

/* KAI cannot solve a scenario with a victim on a node that is not in its snapshot. */
static bool all_on_nodes(const struct orr_victim_search *search,
                         const struct orr_victims *potential)
{
    bool on_nodes = true;
    for (uint32_t i = 0; i < orr_victim__count(search, potential) && on_nodes; i++) {
        const uint32_t task = orr_victim__nth_task(search, potential, i);
        on_nodes = search->session->tasks[task].live.node != ORR_NONE;
    }
    return on_nodes;
}

void orr_victim__report(const struct orr_victim_search *search, const struct orr_victims *potential,
                        enum orr_outcome outcome)
{
    const struct orr_session *session = search->session;
    const struct orr_victims *lists[2] = {&search->recorded, potential};
    const uint32_t count = potential->count + search->recorded.count;
    if (!orr_is_watched(&session->watcher) || count == 0) {
        return;
    }
    uint32_t *jobs = orr_alloc(count, sizeof *jobs), listed = 0;
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < lists[l]->count; i++) {
            jobs[listed++] = session->tasks[lists[l]->items[i].task].job;
        }
    }
    orr_report_look(&session->watcher, &(struct orr_look){.kind = ORR_LOOK_SCENARIO,
                                                          .action = orr_action_name(search->action),
                                                          .result = orr_outcome_code(outcome),
                                                          .why = orr_outcome_words(outcome),
                                                          .job = search->job,
                                                          .pods = search->k,
                                                          .victims = jobs,
                                                          .victim_count = count});
    orr_free(jobs);
}

bool orr_victim__simulate(struct orr_victim_search *search)
{
    const struct orr_victims *potential = &search->chosen;
    struct orr_session *session = search->session;
    if (orr_victim__count(search, potential) == 0 || !all_on_nodes(search, potential)) {
        return false;
    }
    session->scenarios_of[search->action]++;
    uint32_t *nodes = orr_alloc(session->node_count, sizeof *nodes);
    const struct orr_node_list list = {.nodes = nodes,
                                       .count = orr_victim__list_nodes(search, potential, nodes)};
    orr_victim__list_waiting(search);
    const uint32_t checkpoint = orr_session_checkpoint(session);
    /* In this order evictions are listed; the copies of v0.17 (D2) need KAI's own. */
    const bool recorded_first = session->v017 != NULL;
    const bool evicted = evict_all(search, recorded_first ? &search->recorded : potential) &&
                         evict_all(search, recorded_first ? potential : &search->recorded);
    const bool placed = evicted && replay(search, potential, list);
    const bool solved = placed && orr_victim__validate(search, potential);
    /* When all are to be moved, it is no rule that refuses what leaves one of them without a place.
     */
    const bool refused = placed && !solved && search->action != ORR_ACTION_CONSOLIDATION;
    const enum orr_outcome outcome = refused ? ORR_OUTCOME_REJECTED : ORR_OUTCOME_NOT_PLACED;
    orr_victim__raise_outcome(search, outcome);
    orr_victim__report(search, potential, solved ? ORR_OUTCOME_SOLVED : outcome);
    if (!solved) {
        orr_session_rollback(session, checkpoint);
    }
    orr_free(nodes);
    return solved;
}
