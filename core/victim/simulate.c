/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario: evict in thought, then let everybody concerned be allocated in fair order.
 *
 * The order is made of all pending jobs, because a queue is ranked by its best job whoever that is;
 * only the victims and the preemptor are actually placed.
 */
#include "victim_int.h"

#include <orrery/core/statement.h>

#include <string.h>

struct orr_node_list orr_victim__open_nodes(const struct orr_victim_search *search,
                                            const struct orr_victims *victims, uint32_t *nodes)
{
    const struct orr_victims *const lists[2] = {&search->recorded, victims};
    const uint32_t node_count = search->session->node_count;
    bool *open = orr_alloc(node_count + (size_t)1, sizeof *open);
    uint32_t count = 0;
    memcpy(open, search->feasible, node_count * sizeof *open);
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < lists[l]->count; i++) {
            const uint32_t node = lists[l]->items[i].node;
            open[node != ORR_NONE ? node : node_count] = true;
        }
    }
    for (uint32_t n = 0; n < node_count; n++) {
        nodes[count] = n;
        count += open[n];
    }
    orr_free(open);
    return (struct orr_node_list){.nodes = nodes, .count = count};
}

/* Every job that waits or lost something, once; the preemptor as the probe has it. Who lost
 * something is marked by job; these and the preemptor are popped, the others pass unseen. Returns
 * entries that the order uses. */
static struct orr_order_entry *build_order(struct orr_victim_search *search, bool *is_victim,
                                           struct orr_order *order)
{
    const struct orr_victims *all = &search->scenario;
    struct orr_jobview *views = orr_alloc(all->count + (size_t)1, sizeof *views);
    struct orr_order_entry *entries = orr_alloc(all->count + (size_t)1, sizeof *entries);
    uint32_t count = 0;
    views[count++] = search->view;
    for (uint32_t i = 0; i < all->count; i++) {
        const uint32_t job = all->items[i].job;
        if (!is_victim[job]) {
            is_victim[job] = true;
            views[count++] = orr_jobview_whole(job);
        }
    }
    orr_order_init(order, search->session, false, true);
    count = orr_order_prepare(order, views, count, entries);
    orr_order_build_over(order, search->waiting, search->waiting_count, is_victim, entries, count);
    orr_free(views);
    return entries;
}

/* Allocates them in fair order. False: the preemptor found no place. */
static bool replay(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    bool *is_victim = orr_zalloc(session->job_count, sizeof *is_victim);
    uint32_t *nodes = orr_alloc(session->node_count, sizeof *nodes);
    const struct orr_node_list open = orr_victim__open_nodes(search, &search->scenario, nodes);
    struct orr_order order;
    struct orr_jobview view;
    struct orr_order_entry *entries = build_order(search, is_victim, &order);
    bool placed = false, failed = false;
    while (!failed && orr_order_pop(&order, &view)) {
        enum orr_fit_reason why;
        const bool fitted = orr_attempt_job(session, view, open, true, &why);
        if (view.job == search->job) {
            placed = fitted;
            failed = !fitted;
        } else if (!fitted && session->v017 != NULL) {
            struct orr_task_list tasks = {0}; /* asked for again, so they are kept: D1 */
            orr_jobview_to_allocate(session, view, true, &tasks);
            orr_task_list_release(&tasks);
        }
    }
    orr_order_release(&order);
    orr_free(entries);
    orr_free(nodes);
    orr_free(is_victim);
    return placed;
}

void orr_victim__report(const struct orr_victim_search *search, const struct orr_victim *potential,
                        uint32_t count, enum orr_outcome outcome)
{
    const struct orr_session *session = search->session;
    const uint32_t recorded = search->recorded.count;
    if (!orr_is_watched(&session->watcher) || recorded + count == 0) {
        return;
    }
    uint32_t *jobs = orr_alloc(recorded + count, sizeof *jobs);
    for (uint32_t i = 0; i < recorded + count; i++) {
        jobs[i] = i < recorded ? search->recorded.items[i].job : potential[i - recorded].job;
    }
    orr_report_look(&session->watcher, &(struct orr_look){.kind = ORR_LOOK_SCENARIO,
                                                          .action = orr_action_name(search->action),
                                                          .result = orr_outcome_code(outcome),
                                                          .why = orr_outcome_words(outcome),
                                                          .job = search->job,
                                                          .pods = search->k,
                                                          .victims = jobs,
                                                          .victim_count = recorded + count});
    orr_free(jobs);
}

bool orr_victim__simulate(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_victims *victims = &search->scenario;
    bool on_nodes = victims->count > 0; /* KAI's snapshot has no others */
    for (uint32_t i = 0; i < victims->count; i++) {
        on_nodes = on_nodes && victims->items[i].node != ORR_NONE;
    }
    if (!on_nodes) {
        return false;
    }
    session->scenarios_of[search->action]++;
    orr_victim__list_waiting(search);
    const uint32_t checkpoint = orr_session_checkpoint(session);
    bool placed = true; /* v0.17 fails where a node lost a task's record (D4) */
    for (uint32_t i = 0; i < victims->count && placed; i++) {
        placed = orr_session_evict(session, orr_victim__nth(search, i)->task);
    }
    placed = placed && replay(search);
    const bool solved = placed && orr_victim__validate(search);
    /* When all are to be moved, it is no rule that refuses what leaves one of them without a place.
     */
    const bool refused = placed && !solved && search->action != ORR_ACTION_CONSOLIDATION;
    const enum orr_outcome outcome = refused ? ORR_OUTCOME_REJECTED : ORR_OUTCOME_NOT_PLACED;
    orr_victim__raise_outcome(search, outcome);
    orr_victim__report(search, victims->items, search->chosen,
                       solved ? ORR_OUTCOME_SOLVED : outcome);
    if (!solved) {
        orr_session_rollback(session, checkpoint);
    }
    return solved;
}
