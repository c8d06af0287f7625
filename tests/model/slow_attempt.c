/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One attempt to place a job (KAI's allocate action): all that is due, or nothing. */
#include "slow.h"

#include <string.h>

struct attempt {
    struct slow *slow;
    const struct slow_view *view;
    bool simulated;
    struct slow_list due;
    uint8_t why;
};

static bool put(struct slow *slow, uint32_t task, uint32_t node, bool simulated)
{
    struct slow_where where = {.node = node, .status = ORR_TASK_PIPELINED};
    if (orr_ask_is_shared(slow_ask(slow, task))) {
        if (!slow_choose(slow, task, node, simulated, &where)) {
            return false;
        }
    } else if (!simulated && slow_fits(slow, task, node, true)) {
        where.status = ORR_TASK_ALLOCATED;
    }
    slow_place(slow, task, &where);
    return true;
}

/* The best node that takes it: highest score, then name. */
static bool place_task(struct slow *slow, uint32_t task, const bool *nodes, bool simulated)
{
    const struct orr_session *in = slow->in;
    bool *tried = orr_zalloc(in->node_count + (size_t)1, sizeof *tried);
    bool placed = false;
    for (bool more = true; more && !placed;) {
        uint32_t best = ORR_NONE;
        double best_score = 0;
        for (uint32_t n = 0; n < in->node_count; n++) {
            if (!nodes[n] || tried[n]) {
                continue;
            }
            const double score = slow_score(slow, task, n, nodes);
            if (best == ORR_NONE || score > best_score ||
                (score == best_score && strcmp(in->nodes[n].name, in->nodes[best].name) < 0)) {
                best = n;
                best_score = score;
            }
        }
        more = best != ORR_NONE;
        if (more) {
            tried[best] = true;
            placed = slow_fits(slow, task, best, false) && slow_admits(slow, task, best) &&
                     put(slow, task, best, simulated);
        }
    }
    orr_free(tried);
    return placed;
}

static bool place_set(struct attempt *attempt, uint32_t set, const bool *nodes);

static bool place_members(struct attempt *attempt, uint32_t set, const bool *nodes)
{
    struct slow *slow = attempt->slow;
    if (slow->in->sets[set].is_pods) {
        for (uint32_t i = 0; i < attempt->due.count; i++) {
            const uint32_t task = attempt->due.task[i];
            if (slow->in->tasks[task].set == set &&
                !place_task(slow, task, nodes, attempt->simulated)) {
                return false;
            }
        }
        return true;
    }
    uint32_t members[SLOW_JOB_SETS];
    const uint32_t count = slow_members(slow, attempt->view, set, members);
    for (uint32_t i = 0; i < count; i++) {
        if (!place_set(attempt, members[i], nodes)) {
            return false;
        }
    }
    return true;
}

static bool place_set(struct attempt *attempt, uint32_t set, const bool *nodes)
{
    struct slow *slow = attempt->slow;
    struct slow_list below = {0};
    for (uint32_t i = 0; i < attempt->due.count; i++) {
        if (slow_is_below(slow, slow->in->tasks[attempt->due.task[i]].set, set)) {
            below.task[below.count++] = attempt->due.task[i];
        }
    }
    if (slow->in->sets[set].constraint.topology == NULL || below.count == 0 ||
        !slow->in->rules.topology) {
        return place_members(attempt, set, nodes);
    }
    bool *subsets = NULL;
    uint32_t count = 0;
    bool placed = false;
    if (!slow_domains(slow, attempt->view, set, &below, nodes, &subsets, &count)) {
        attempt->why = ORR_FIT_TOPOLOGY;
    }
    for (uint32_t i = 0; i < count && !placed; i++) {
        unsigned char *saved = slow_save(slow);
        placed = place_members(attempt, set, subsets + (size_t)i * slow->in->node_count);
        if (!placed) {
            slow_restore(slow, saved);
        }
        orr_free(saved);
    }
    orr_free(subsets);
    return placed;
}

bool slow_attempt(struct slow *slow, const struct slow_view *view, const bool *nodes,
                  bool simulated, uint8_t *why)
{
    struct attempt attempt = {.slow = slow, .view = view, .simulated = simulated};
    const uint32_t root = slow->in->jobs[view->job].first_set;
    for (uint32_t s = 0; s < slow->in->set_count; s++) {
        orr_free(slow->preferred[s]);
        slow->preferred[s] = NULL;
    }
    slow_due(slow, view, simulated, &attempt.due);
    const struct orr_demand demand = slow_demand(slow, &attempt.due, slow->max_mib);
    *why = ORR_FIT_POD_SCHEDULING_ERRORS;
    if (attempt.due.count == 0) {
        return false;
    }
    const enum orr_fit_reason over = slow_over_capacity(slow, view->job, &demand, false);
    if (over != ORR_FIT_NONE) {
        *why = (uint8_t)over;
        return false;
    }
    unsigned char *saved = slow_save(slow);
    const bool placed = place_set(&attempt, root, nodes);
    if (!placed) {
        slow_restore(slow, saved);
        *why = attempt.why != ORR_FIT_NONE ? attempt.why : ORR_FIT_POD_SCHEDULING_ERRORS;
    } else {
        *why = ORR_FIT_NONE;
    }
    orr_free(saved);
    return placed;
}
