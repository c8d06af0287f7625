/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best node of a list, for one task after the other.
 *
 * Where the list is of all nodes and nothing but the ask counts, the index of the nodes names the
 * best (place_index.c). Everything else is ranked:
 *
 * The tasks of a gang are mostly equal, and one that shares no device changes only the node it goes
 * to. So what the nodes are worth to one task is kept for the next, and only the node that was
 * taken is looked at again; all of them only when the most or the least that is free on one, which
 * the scores of all refer to, is another one than before. */
#include "place_int.h"

#include <string.h>

void orr_ranking_open(struct orr_ranking *ranking, struct orr_session *session,
                      struct orr_node_list nodes)
{
    if (session->ranked == NULL) {
        session->ranked = orr_alloc(session->node_count, sizeof *session->ranked);
    }
    *ranking = (struct orr_ranking){.session = session,
                                    .nodes = nodes,
                                    .last = ORR_NONE,
                                    .by_index = ORR_NONE,
                                    .fitting = session->ranked};
}

static void rank_all(struct orr_ranking *ranking, uint32_t index)
{
    const struct orr_session *session = ranking->session;
    const struct orr_stask *task = &session->tasks[index];
    const uint32_t count = orr_place__survey(session, orr_task_ask(session, task), ranking->nodes,
                                             ranking->fitting, &ranking->spread);
    ranking->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct orr_ranked_node it = ranking->fitting[i];
        if (orr_place__fits(session, task, it.node)) {
            it.score = orr_place__score(session, task, it.node, &ranking->spread);
            ranking->fitting[ranking->count++] = it;
        }
    }
}

static void drop_taken(struct orr_ranking *ranking)
{
    struct orr_ranked_node *taken = &ranking->fitting[ranking->taken];
    ranking->count--;
    memmove(taken, taken + 1, (ranking->count - ranking->taken) * sizeof *taken);
}

/* False: the node that was taken changed what the scores of all nodes refer to. */
static bool look_again(struct orr_ranking *ranking, uint32_t index)
{
    const struct orr_session *session = ranking->session;
    const struct orr_stask *task = &session->tasks[index];
    struct orr_ranked_node *taken = &ranking->fitting[ranking->taken];
    const struct orr_ask *ask = orr_task_ask(session, task);
    const struct orr_snode *node = &session->nodes[taken->node];
    if (!orr_place__spread_holds(session, ask, node, taken->free, &ranking->spread)) {
        return false;
    }
    taken->free = orr_place__free(node, ask);
    if (orr_place__fits(session, task, taken->node)) {
        taken->score = orr_place__score(session, task, taken->node, &ranking->spread);
    } else {
        drop_taken(ranking);
    }
    return true;
}

static bool is_like_last(const struct orr_ranking *ranking, uint32_t index)
{
    const struct orr_stask *tasks = ranking->session->tasks, *task = &tasks[index];
    return ranking->last != ORR_NONE && tasks[ranking->last].ask == task->ask &&
           tasks[ranking->last].set == task->set &&
           tasks[ranking->last].nominated == task->nominated &&
           !orr_ask_is_shared(orr_task_ask(ranking->session, task));
}

static uint32_t take_best(struct orr_ranking *ranking)
{
    const struct orr_snode *nodes = ranking->session->nodes;
    const struct orr_ranked_node *best = NULL;
    for (uint32_t i = 0; i < ranking->count; i++) {
        const struct orr_ranked_node *it = &ranking->fitting[i];
        if (best == NULL || it->score > best->score ||
            (it->score >= best->score && nodes[it->node].rank < nodes[best->node].rank)) {
            best = it;
        }
    }
    ranking->taken = best == NULL ? 0 : (uint32_t)(best - ranking->fitting);
    return best == NULL ? ORR_NONE : best->node;
}

/* The choice depends on the ask alone. */
static bool asks_index(const struct orr_ranking *ranking, const struct orr_stask *task)
{
    return ranking->nodes.count == ranking->session->node_count && task->nominated == ORR_NONE &&
           !ranking->session->rules.literal && !orr_place__prefers(ranking->session, task);
}

uint32_t orr_ranking_best(struct orr_ranking *ranking, uint32_t index)
{
    const struct orr_stask *task = &ranking->session->tasks[index];
    ranking->by_index = ORR_NONE;
    if (asks_index(ranking, task)) {
        const uint32_t best = orr_node_index_best(ranking->session, task->ask);
        if (best == ORR_NONE || !orr_place__over_capacity_on(ranking->session, task, best)) {
            ranking->by_index = index;
            ranking->last = ORR_NONE;
            return best;
        }
    }
    if (!is_like_last(ranking, index) || !look_again(ranking, index)) {
        rank_all(ranking, index);
    }
    ranking->last = index;
    return take_best(ranking);
}

uint32_t orr_ranking_next(struct orr_ranking *ranking)
{
    if (ranking->by_index != ORR_NONE) {
        rank_all(ranking, ranking->by_index);
        (void)take_best(ranking); /* the one that the index named */
        ranking->by_index = ORR_NONE;
    }
    drop_taken(ranking);
    ranking->last = ORR_NONE;
    return take_best(ranking);
}
