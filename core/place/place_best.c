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

void orr_ranking_open(struct orr_ranking *ranking, struct orr_session *session,
                      struct orr_node_list nodes)
{
    struct orr_place_memory *memory = session->place;
    if (memory->ranked_nodes != session->node_count) {
        orr_free(memory->ranked);
        memory->ranked = orr_alloc(session->node_count, sizeof *memory->ranked);
        memory->ranked_nodes = session->node_count;
    }
    *ranking = (struct orr_ranking){.session = session,
                                    .nodes = nodes,
                                    .last = ORR_NONE,
                                    .by_index = ORR_NONE,
                                    .fitting = memory->ranked};
}

static bool goes_before(const struct orr_ranked_node *a, const struct orr_ranked_node *b)
{
    return a->score > b->score || (a->score >= b->score && a->rank < b->rank);
}

/* Puts the node where it belongs in the heap below a place. */
static void sift(struct orr_ranking *ranking, uint32_t at, struct orr_ranked_node node)
{
    struct orr_ranked_node *heap = ranking->fitting;
    for (uint32_t child = 2 * at + 1; child < ranking->count; child = 2 * at + 1) {
        if (child + 1 < ranking->count && goes_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!goes_before(&heap[child], &node)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = node;
}

/* Most rankings are asked for one node only. */
static void make_heap(struct orr_ranking *ranking)
{
    for (uint32_t at = ranking->is_heap ? 0 : ranking->count / 2; at-- > 0;) {
        sift(ranking, at, ranking->fitting[at]);
    }
    ranking->is_heap = true;
}

static void put_best_first(struct orr_ranking *ranking)
{
    struct orr_ranked_node *fitting = ranking->fitting;
    uint32_t best = 0;
    for (uint32_t i = 1; i < ranking->count; i++) {
        best = goes_before(&fitting[i], &fitting[best]) ? i : best;
    }
    if (best > 0) {
        const struct orr_ranked_node first = fitting[0];
        fitting[0] = fitting[best];
        fitting[best] = first;
    }
    ranking->is_heap = false;
}

static void rank_by_looking(struct orr_ranking *ranking, const struct orr_stask *task)
{
    const struct orr_session *session = ranking->session;
    const uint32_t count = orr_place__survey(session, orr_task_ask(session, task), ranking->nodes,
                                             ranking->fitting, &ranking->spread);
    for (uint32_t i = 0; i < count; i++) {
        struct orr_ranked_node it = ranking->fitting[i];
        if (orr_place__fits(session, task, it.node)) {
            it.score = orr_place__score(session, task, it.node, &ranking->spread);
            ranking->fitting[ranking->count++] = it;
        }
    }
}

/* The same from what the index knows. */
static void rank_by_worth(struct orr_ranking *ranking, const struct orr_stask *task,
                          const struct orr_worth *worth)
{
    const struct orr_session *session = ranking->session;
    const struct orr_ask *ask = orr_task_ask(session, task);
    const bool packs = orr_place__strategy(session, ask) == ORR_PLACEMENT_BINPACK;
    uint32_t count = 0;
    ranking->spread = (struct orr_place_spread){0};
    for (uint32_t i = 0; i < ranking->nodes.count; i++) {
        const uint32_t node = ranking->nodes.nodes[i];
        const struct orr_worth *its = &worth[node];
        if (packs && its->counts) {
            orr_spread_add(&ranking->spread, its->free);
        }
        if (its->points != ORR_NO_FIT && !orr_place__over_capacity_on(session, task, node)) {
            ranking->fitting[count++] =
                (struct orr_ranked_node){.node = node, .rank = its->rank, .free = its->free};
        }
    }
    const struct orr_preferred *preferred = orr_place__preferred_by(session, task);
    for (uint32_t i = 0; i < count; i++) {
        struct orr_ranked_node *it = &ranking->fitting[i];
        const struct orr_worth *its = &worth[it->node];
        it->score = task->nominated == it->node ? ORR_SCORE_NOMINATED : 0;
        it->score += orr_preferred_score(preferred, it->node);
        it->score += its->points;
        it->score += its->zones;
        it->score += packs ? orr_place__packed_score(its->counts, its->free, &ranking->spread)
                           : orr_place__placement_score(session, ask, &session->nodes[it->node],
                                                        &ranking->spread);
    }
    ranking->count = count;
}

static void rank_all(struct orr_ranking *ranking, uint32_t index)
{
    struct orr_session *session = ranking->session;
    const struct orr_stask *task = &session->tasks[index];
    const struct orr_worth *worth =
        session->rules.literal ? NULL
                               : orr_node_index_worth(session, task->ask, ranking->nodes.count / 2);
    ranking->count = 0;
    if (worth != NULL) {
        rank_by_worth(ranking, task, worth);
    } else {
        rank_by_looking(ranking, task);
    }
    put_best_first(ranking);
}

static void drop_best(struct orr_ranking *ranking)
{
    make_heap(ranking);
    ranking->count--;
    sift(ranking, 0, ranking->fitting[ranking->count]);
}

/* False: the node that was taken changed what the scores of all nodes refer to. */
static bool look_again(struct orr_ranking *ranking, uint32_t index)
{
    const struct orr_session *session = ranking->session;
    const struct orr_stask *task = &session->tasks[index];
    struct orr_ranked_node taken = ranking->fitting[0];
    const struct orr_ask *ask = orr_task_ask(session, task);
    const struct orr_snode *node = &session->nodes[taken.node];
    if (!orr_place__spread_holds(session, ask, node, taken.free, &ranking->spread)) {
        return false;
    }
    make_heap(ranking);
    taken.free = orr_place__free(node, ask);
    if (orr_place__fits(session, task, taken.node)) {
        taken.score = orr_place__score(session, task, taken.node, &ranking->spread);
        sift(ranking, 0, taken);
    } else {
        drop_best(ranking);
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

static uint32_t best_of(const struct orr_ranking *ranking)
{
    return ranking->count == 0 ? ORR_NONE : ranking->fitting[0].node;
}

/* The choice depends on the ask alone. */
static bool asks_index(const struct orr_ranking *ranking, const struct orr_stask *task)
{
    return ranking->nodes.count == ranking->session->node_count && task->nominated == ORR_NONE &&
           !ranking->session->rules.literal &&
           orr_place__preferred_by(ranking->session, task) == NULL;
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
    return best_of(ranking);
}

uint32_t orr_ranking_next(struct orr_ranking *ranking)
{
    if (ranking->by_index != ORR_NONE) {
        rank_all(ranking, ranking->by_index);
        ranking->by_index = ORR_NONE;
    }
    drop_best(ranking);
    ranking->last = ORR_NONE;
    return best_of(ranking);
}
