/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every node is worth to one ask, kept from one placement to the next.
 *
 *   worth     of each node: does the ask fit, its score without the part that depends on all nodes
 *   winners   a tournament over the nodes: its root is the node that a literal ranking would choose
 *   spread    per resource the least and the most that is free on a node, a tournament as well
 *
 * A question looks at the nodes that changed since the last question about this ask, and at their
 * ways to the root. What belongs to a task or to an attempt and not to its ask (a nominated node,
 * preferred domains, what a queue may hold) is the ranking's business, see place_best.c.
 *
 * Binpack's part of a score depends on the spread, so that another spread may turn the order of two
 * nodes around. It does not where `by_free` holds: all nodes that fit have some of the resource, no
 * score has a part from NUMA zones, and the spread is a proper one. Then the other parts are whole
 * numbers of which two are equal or 10 or more apart, binpack's is within 0 and 9 and falls
 * strictly with what is free, so that the order is (other parts, least free, name) under every
 * proper spread. Elsewhere the tournament is held anew when the spread changes. */
#include "place_int.h"

/* As many entries of nodes are kept for all asks together, at least those of MIN_ASKS asks. */
#define MAX_ENTRIES 4000000u
#define MIN_ASKS    12u
/* Free amounts up to here are exact as doubles, and so far apart that no two scores are equal. */
#define EXACT_FREE  (INT64_C(1) << 50)
#define EXACT_RANGE (INT64_C(1) << 30)

struct orr_node_index {
    uint32_t ask; /* one of those that ask the same */
    uint32_t node_count, width;
    uint64_t rules;    /* fingerprint of the rules that the scores follow */
    uint64_t seen;     /* the session's node_generation up to which `worth` is true */
    uint64_t played;   /* the same of `winners` */
    uint64_t asked_at; /* the number of the last question to it among those to all indices */
    bool packs;        /* the resource is placed by binpack */
    bool zoned;        /* some score has a part from NUMA zones */
    bool by_free;      /* see above */
    uint32_t bare;     /* nodes that fit and have nothing of the resource at all */
    struct orr_place_spread spread;
    uint32_t *winners;
    struct orr_worth worth[];
};

struct bounds {
    int64_t min, max;
};

struct orr_spread_index {
    uint32_t node_count, width;
    uint64_t seen;
    struct bounds bounds[]; /* the root is 1; the nodes begin at `width` */
};

static uint32_t width_for(uint32_t count)
{
    uint32_t width = 2; /* so that there is a game even for one node or none */
    while (width < count) {
        width *= 2;
    }
    return width;
}

/* --- the spread --- */

static struct bounds bounds_of(const struct orr_snode *node, uint32_t slot)
{
    if (node->allocatable.v[slot] <= 0) {
        return (struct bounds){INT64_MAX, INT64_MIN};
    }
    const int64_t free = node->idle.v[slot] + node->releasing.v[slot];
    return (struct bounds){free, free};
}

static struct bounds joined(const struct bounds *all, uint32_t at)
{
    const struct bounds *l = &all[2 * (size_t)at], *r = &all[2 * (size_t)at + 1];
    return (struct bounds){l->min < r->min ? l->min : r->min, l->max > r->max ? l->max : r->max};
}

static bool join_bounds(struct bounds *all, uint32_t at)
{
    const struct bounds now = joined(all, at);
    const bool differs = now.min != all[at].min || now.max != all[at].max;
    all[at] = now;
    return differs;
}

static struct orr_spread_index *new_spread(const struct orr_session *session, uint32_t slot)
{
    const uint32_t width = width_for(session->node_count);
    struct orr_spread_index *index =
        orr_alloc(sizeof *index + 2 * (size_t)width * sizeof index->bounds[0], 1);
    *index = (struct orr_spread_index){
        .node_count = session->node_count, .width = width, .seen = session->node_generation};
    for (uint32_t n = 0; n < width; n++) {
        index->bounds[width + n] = n < session->node_count ? bounds_of(&session->nodes[n], slot)
                                                           : (struct bounds){INT64_MAX, INT64_MIN};
    }
    for (uint32_t at = width; at-- > 1;) {
        index->bounds[at] = joined(index->bounds, at);
    }
    return index;
}

/* Of all nodes that have any of the resource; all 0 if none has. */
static struct orr_place_spread spread_of_all(struct orr_session *session, uint32_t slot)
{
    struct orr_spread_index **kept = &session->place->spreads[slot == ORR_SLOT_GPU];
    if (*kept == NULL || (*kept)->node_count != session->node_count) {
        orr_free(*kept);
        *kept = new_spread(session, slot);
    }
    struct orr_spread_index *index = *kept;
    for (uint32_t n = session->newest_node;
         n != ORR_NONE && session->nodes[n].changed_at > index->seen; n = session->nodes[n].older) {
        const struct bounds now = bounds_of(&session->nodes[n], slot);
        struct bounds *leaf = &index->bounds[index->width + n];
        bool differs = now.min != leaf->min;
        *leaf = now;
        for (uint32_t at = (index->width + n) / 2; differs && at > 0; at /= 2) {
            differs = join_bounds(index->bounds, at);
        }
    }
    index->seen = session->node_generation;
    const struct bounds all = index->bounds[1];
    return all.min > all.max ? (struct orr_place_spread){0}
                             : (struct orr_place_spread){.min = all.min, .max = all.max};
}

/* --- what a node is worth --- */

static uint64_t rules_of(const struct orr_session *session)
{
    const struct orr_session_rules *rules = &session->rules;
    return (uint64_t)rules->predicates | (uint64_t)rules->gpu_sharing_order << 1 |
           (uint64_t)rules->node_availability << 2 | (uint64_t)rules->resource_type << 3 |
           (uint64_t)rules->numa << 4 | (uint64_t)rules->gpu_placement << 8 |
           (uint64_t)rules->cpu_placement << 16 | (uint64_t)session->numbered_gpu_groups << 32;
}

static struct orr_worth worth_of(const struct orr_session *session, const struct orr_ask *ask,
                                 uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    struct orr_worth worth = {.free = orr_place__free(node, ask),
                              .points = orr_place__points(session, ask, n),
                              .rank = node->rank,
                              .counts = node->allocatable.v[orr_place__slot(ask)] > 0};
    if (worth.points != ORR_NO_FIT) {
        worth.zones = orr_place__zone_score(session, ask, n);
    }
    return worth;
}

static bool is_bare(const struct orr_worth *worth)
{
    return worth->points != ORR_NO_FIT && !worth->counts;
}

/* --- the tournament --- */

static double score_of(const struct orr_session *session, const struct orr_node_index *index,
                       uint32_t node)
{
    const struct orr_worth *worth = &index->worth[node];
    return worth->points + worth->zones +
           orr_place__placement_score(session, &session->asks[index->ask], &session->nodes[node],
                                      &index->spread);
}

static uint32_t better(const struct orr_session *session, const struct orr_node_index *index,
                       uint32_t a, uint32_t b)
{
    if (b == ORR_NONE || index->worth[b].points == ORR_NO_FIT) {
        return a;
    }
    if (a == ORR_NONE || index->worth[a].points == ORR_NO_FIT) {
        return b;
    }
    if (index->by_free) {
        const struct orr_worth *l = &index->worth[a], *r = &index->worth[b];
        if (l->points != r->points) {
            return l->points > r->points ? a : b;
        }
        if (l->free != r->free) {
            return l->free < r->free ? a : b;
        }
    } else {
        const double l = score_of(session, index, a), r = score_of(session, index, b);
        if (l > r || l < r) {
            return l > r ? a : b;
        }
    }
    return index->worth[a].rank < index->worth[b].rank ? a : b;
}

static uint32_t contestant(const struct orr_node_index *index, uint32_t at)
{
    if (at < index->width) {
        return index->winners[at];
    }
    return at - index->width < index->node_count ? at - index->width : ORR_NONE;
}

static uint32_t play(const struct orr_session *session, const struct orr_node_index *index,
                     uint32_t at)
{
    return better(session, index, contestant(index, 2 * at), contestant(index, 2 * at + 1));
}

static void play_all(const struct orr_session *session, struct orr_node_index *index)
{
    for (uint32_t at = index->width; at-- > 1;) {
        index->winners[at] = play(session, index, at);
    }
}

/* The node is worth something else. Above a game that another one won before and wins again nothing
 * changes; if that one changed too, its own way to the root goes past here. */
static void play_again(const struct orr_session *session, struct orr_node_index *index,
                       uint32_t node)
{
    for (uint32_t at = (index->width + node) / 2; at > 0; at /= 2) {
        const uint32_t before = index->winners[at];
        index->winners[at] = play(session, index, at);
        if (index->winners[at] == before && before != node) {
            return;
        }
    }
}

/* --- keeping it --- */

static bool orders_by_free(const struct orr_node_index *index,
                           const struct orr_place_spread *spread)
{
    return index->packs && !index->zoned && index->bare == 0 && spread->min < spread->max &&
           spread->max != 0 && spread->max < EXACT_FREE && spread->min > -EXACT_FREE &&
           spread->max - spread->min < EXACT_RANGE;
}

/* Notes under which spread scores are to be compared. False: the order may be another one. */
static bool keeps_order(struct orr_session *session, struct orr_node_index *index)
{
    if (!index->packs) {
        index->by_free = false;
        return true;
    }
    const struct orr_place_spread now =
        spread_of_all(session, orr_place__slot(&session->asks[index->ask]));
    const bool by_free = orders_by_free(index, &now);
    const bool kept = by_free == index->by_free &&
                      (by_free || (now.min == index->spread.min && now.max == index->spread.max));
    index->spread = now;
    index->by_free = by_free;
    return kept;
}

static void look_at(const struct orr_session *session, struct orr_node_index *index, uint32_t node)
{
    struct orr_worth *worth = &index->worth[node];
    index->bare -= is_bare(worth);
    *worth = worth_of(session, &session->asks[index->ask], node);
    index->bare += is_bare(worth);
}

static void fill(struct orr_session *session, struct orr_node_index *index)
{
    const struct orr_ask *ask = &session->asks[index->ask];
    index->rules = rules_of(session);
    index->packs = orr_place__strategy(session, ask) == ORR_PLACEMENT_BINPACK;
    index->zoned = session->rules.numa && session->zones_max > 0;
    index->bare = 0;
    for (uint32_t n = 0; n < index->node_count; n++) {
        index->worth[n].points = ORR_NO_FIT;
        look_at(session, index, n);
    }
    index->seen = session->node_generation;
    index->played = 0;
}

static void repair(const struct orr_session *session, struct orr_node_index *index)
{
    for (uint32_t n = session->newest_node;
         n != ORR_NONE && session->nodes[n].changed_at > index->seen; n = session->nodes[n].older) {
        look_at(session, index, n);
    }
    index->seen = session->node_generation;
}

/* Whether more nodes than that changed since. */
static bool changed_more(const struct orr_session *session, uint64_t since, uint32_t than)
{
    uint32_t count = 0;
    if (session->node_generation - since <= than) { /* each step is of one node */
        return false;
    }
    for (uint32_t n = session->newest_node;
         n != ORR_NONE && session->nodes[n].changed_at > since && count <= than;
         n = session->nodes[n].older) {
        count++;
    }
    return count > than;
}

static void play_changed(struct orr_session *session, struct orr_node_index *index)
{
    if (!keeps_order(session, index) || index->played == 0 ||
        changed_more(session, index->played, index->node_count / 4)) {
        play_all(session, index);
    } else {
        for (uint32_t n = session->newest_node;
             n != ORR_NONE && session->nodes[n].changed_at > index->played;
             n = session->nodes[n].older) {
            play_again(session, index, n);
        }
    }
    index->played = session->node_generation;
}

static struct orr_node_index *new_index(const struct orr_session *session, uint32_t ask)
{
    const uint32_t count = session->node_count, width = width_for(count);
    struct orr_node_index *index = orr_alloc(sizeof *index + count * sizeof(struct orr_worth) +
                                                 (width + (size_t)count) * sizeof(uint32_t),
                                             1);
    *index = (struct orr_node_index){.ask = ask, .node_count = count, .width = width};
    index->winners = (uint32_t *)(void *)&index->worth[count];
    return index;
}

/* Where the next index goes: a place of its own, or that of the one nobody asked for longest. */
static uint32_t free_place(struct orr_session *session)
{
    const uint64_t entries = (uint64_t)session->place->node_index_count * session->node_count;
    if (session->place->node_index_count < MIN_ASKS || entries < MAX_ENTRIES) {
        session->place->node_indices =
            ORR_ROOM_FOR_ONE(session->place->node_indices, session->place->node_index_count,
                             session->place->node_index_capacity);
        return session->place->node_index_count++;
    }
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < session->place->node_index_count; i++) {
        oldest = session->place->node_indices[i]->asked_at <
                         session->place->node_indices[oldest]->asked_at
                     ? i
                     : oldest;
    }
    orr_free(session->place->node_indices[oldest]);
    return oldest;
}

/* Zones are a matter of containers too, and of whether CPU and memory are drawn from them. */
static bool serves(const struct orr_session *session, const struct orr_node_index *index,
                   uint32_t ask)
{
    const struct orr_ask *a = &session->asks[index->ask], *b = &session->asks[ask];
    return index->ask == ask ||
           (orr_place__asks_same(session, index->ask, ask) &&
            (session->zones_max == 0 ||
             (a->guaranteed == b->guaranteed && a->containers == NULL && b->containers == NULL)));
}

static struct orr_node_index *find_index(struct orr_session *session, uint32_t ask)
{
    for (uint32_t i = 0; i < session->place->node_index_count; i++) {
        if (serves(session, session->place->node_indices[i], ask)) {
            return session->place->node_indices[i];
        }
    }
    return NULL;
}

static void forget_all(struct orr_session *session)
{
    for (uint32_t i = 0; i < session->place->node_index_count; i++) {
        orr_free(session->place->node_indices[i]);
    }
    session->place->node_index_count = 0;
}

/* With what nodes are worth now. */
static struct orr_node_index *index_of(struct orr_session *session, uint32_t ask)
{
    if (session->place->node_index_count > 0 &&
        session->place->node_indices[0]->node_count != session->node_count) {
        forget_all(session); /* names may have other ranks */
    }
    struct orr_node_index *index = find_index(session, ask);
    if (index == NULL) {
        const uint32_t place = free_place(session);
        index = session->place->node_indices[place] = new_index(session, ask);
        fill(session, index);
    } else if (index->rules != rules_of(session)) {
        fill(session, index);
    } else {
        repair(session, index);
    }
    index->asked_at = ++session->place->questions;
    return index;
}

uint32_t orr_node_index_best(struct orr_session *session, uint32_t ask)
{
    struct orr_node_index *index = index_of(session, ask);
    play_changed(session, index);
    const uint32_t best = index->winners[1];
    return best != ORR_NONE && index->worth[best].points != ORR_NO_FIT ? best : ORR_NONE;
}

const struct orr_worth *orr_node_index_worth(struct orr_session *session, uint32_t ask,
                                             uint32_t most)
{
    const struct orr_node_index *index = find_index(session, ask);
    if (index == NULL || index->node_count != session->node_count
            ? session->node_count / 4 > most
            : changed_more(session, index->seen, most)) {
        return NULL;
    }
    return index_of(session, ask)->worth;
}
