/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of the possible nodes is best: the scores of KAI's plugins, summed. */
#include "place_int.h"

#include <math.h>

#define SCORE_SHARING  10000 /* gpusharingorder: a shared GPU in use takes the task */
#define SCORE_CPU_NODE 10    /* resourcetype: a task without GPUs on a node without any */
#define SCORE_PACKED   9.0   /* nodeplacement, binpack: of the node with the least free */

uint32_t orr_place__slot(const struct orr_ask *ask)
{
    return ask->kind == ORR_ASK_NO_GPU ? ORR_SLOT_CPU : ORR_SLOT_GPU;
}

uint8_t orr_place__strategy(const struct orr_session *session, const struct orr_ask *ask)
{
    return ask->kind == ORR_ASK_NO_GPU ? session->rules.cpu_placement
                                       : session->rules.gpu_placement;
}

int64_t orr_place__free(const struct orr_snode *node, const struct orr_ask *ask)
{
    const uint32_t slot = orr_place__slot(ask);
    return node->idle.v[slot] + node->releasing.v[slot];
}

void orr_spread_add(struct orr_place_spread *spread, int64_t free)
{
    const bool first = spread->at_min == 0;
    if (first || free < spread->min) {
        spread->min = free;
        spread->at_min = 0;
    }
    if (first || free > spread->max) {
        spread->max = free;
        spread->at_max = 0;
    }
    spread->at_min += free == spread->min;
    spread->at_max += free == spread->max;
}

uint32_t orr_place__survey(const struct orr_session *session, const struct orr_ask *ask,
                           struct orr_node_list nodes, struct orr_ranked_node *enough,
                           struct orr_place_spread *spread)
{
    const uint32_t slot = orr_place__slot(ask);
    const int64_t least = orr_ask_is_shared(ask) ? INT64_MIN : ask->request.v[slot];
    const bool packs = orr_place__strategy(session, ask) == ORR_PLACEMENT_BINPACK;
    uint32_t count = 0;
    *spread = (struct orr_place_spread){0};
    for (uint32_t i = 0; i < nodes.count; i++) {
        const struct orr_snode *node = &session->nodes[nodes.nodes[i]];
        const int64_t free = orr_place__free(node, ask);
        if (packs && node->allocatable.v[slot] > 0) {
            orr_spread_add(spread, free);
        }
        if (free >= least) {
            enough[count++] =
                (struct orr_ranked_node){.node = nodes.nodes[i], .rank = node->rank, .free = free};
        }
    }
    return count;
}

bool orr_place__spread_holds(const struct orr_session *session, const struct orr_ask *ask,
                             const struct orr_snode *node, int64_t before,
                             struct orr_place_spread *spread)
{
    const int64_t after = orr_place__free(node, ask);
    if (orr_place__strategy(session, ask) != ORR_PLACEMENT_BINPACK || before == after ||
        node->allocatable.v[orr_place__slot(ask)] <= 0) {
        return true;
    }
    spread->at_min -= before == spread->min;
    spread->at_max -= before == spread->max;
    if (spread->at_min == 0 || spread->at_max == 0 || after < spread->min || after > spread->max) {
        return false;
    }
    spread->at_min += after == spread->min;
    spread->at_max += after == spread->max;
    return true;
}

double orr_place__packed_score(bool counts, int64_t free, const struct orr_place_spread *spread)
{
    if (!counts || spread->max == 0) {
        return 0;
    }
    if (spread->min == spread->max) {
        return SCORE_PACKED;
    }
    return SCORE_PACKED *
           (1 - ((double)free - (double)spread->min) / (double)(spread->max - spread->min));
}

double orr_place__placement_score(const struct orr_session *session, const struct orr_ask *ask,
                                  const struct orr_snode *node,
                                  const struct orr_place_spread *spread)
{
    const uint32_t slot = orr_place__slot(ask);
    const int64_t free = orr_place__free(node, ask);
    if (orr_place__strategy(session, ask) == ORR_PLACEMENT_BINPACK) {
        return orr_place__packed_score(node->allocatable.v[slot] != 0, free, spread);
    }
    if (orr_place__strategy(session, ask) == ORR_PLACEMENT_SPREAD) {
        const int64_t all = slot == ORR_SLOT_GPU && node->gpu_count > 0 ? node->gpu_count * ORR_MGPU
                                                                        : node->allocatable.v[slot];
        return all > 0 ? (double)free / (double)all : 0;
    }
    return 0;
}

/* KAI asks this for every pod: one without GPUs needs nothing of a device, so that any shared one
 * in use attracts it. */
static bool can_share(const struct orr_ask *ask, const struct orr_snode *node)
{
    const int64_t need = ask->kind == ORR_ASK_WHOLE ? node->gpu_memory_mib : 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        if (orr_place__shared_matches(node, &node->shared[i], need)) {
            return true;
        }
    }
    return false;
}

int32_t orr_place__points_most(const struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node)
{
    const struct orr_session_rules *rules = &session->rules;
    return (rules->gpu_sharing_order && node->shared_count > 0 ? SCORE_SHARING : 0) +
           (rules->node_availability ? ORR_POINTS_IDLE : 0) +
           (ask->kind == ORR_ASK_NO_GPU ? SCORE_CPU_NODE : 0);
}

int32_t orr_place__points(const struct orr_session *session, const struct orr_ask *ask,
                          uint32_t node_index)
{
    const struct orr_session_rules *rules = &session->rules;
    const struct orr_snode *node = &session->nodes[node_index];
    const struct orr_fitting fitting = orr_place__fitting(session, ask, node);
    if (!fitting.at_all || !orr_place__zones_admit(session, ask, node_index) ||
        (rules->predicates && (!orr_place__pods_fit(session, ask, node) ||
                               !orr_node_admits_ask(session, ask, node_index)))) {
        return ORR_NO_FIT;
    }
    int32_t points = 0;
    if (rules->gpu_sharing_order &&
        (orr_ask_is_shared(ask) ? fitting.joined > 0 : can_share(ask, node))) {
        points += SCORE_SHARING;
    }
    if (rules->node_availability && fitting.at_once) {
        points += ORR_POINTS_IDLE;
    }
    if (rules->resource_type && ask->kind == ORR_ASK_NO_GPU &&
        node->allocatable.v[ORR_SLOT_GPU] == 0 && !node->is_mig) {
        points += SCORE_CPU_NODE;
    }
    return points;
}

double orr_place__score(const struct orr_session *session, const struct orr_stask *task,
                        uint32_t node_index, const struct orr_place_spread *spread)
{
    const struct orr_ask *ask = orr_task_ask(session, task);
    double score = task->nominated == node_index ? ORR_SCORE_NOMINATED : 0;
    score += orr_preferred_score(orr_place__preferred_by(session, task), node_index);
    score += orr_place__points(session, ask, node_index);
    score += orr_place__zone_score(session, ask, node_index);
    if (session->hooks != NULL && session->hooks->node_score != NULL) {
        score += session->hooks->node_score(session->hooks->self, (uint32_t)(task - session->tasks),
                                            node_index);
    }
    return score + orr_place__placement_score(session, ask, &session->nodes[node_index], spread);
}
