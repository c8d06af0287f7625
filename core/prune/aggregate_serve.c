/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving an aggregate: the leaf that stands best is served next, one contender after the other.
 * Equal ones of a run are placed at once as long as their leaf stays before the next leaf.
 *
 * A serving ends as soon as it comes to where an earlier one was, of this search or another: as
 * many contenders are left of each run, the next ones of all leaves ask the same, or who waits
 * before them, and as many nodes have as much room. Of a run all that is before it in its leaf
 * counts, and how the leaf stands. A window mostly has one victim more than in the state before,
 * which is one of the first that are served, and comes back to a node with as much room as it left.
 */
#include "aggregate_int.h"

struct serving { /* a scenario */
    const struct orr_victim_search *search;
    struct orr_room_histogram rooms; /* that are left */
    struct service **line;           /* leaves with contenders left, the best one last */
    uint32_t count;
    uint64_t left;             /* fingerprint of the contenders that are left and what leaves ask */
    struct orr_answers *known; /* of this search and earlier ones */
    uint32_t position_count;
    enum answer found; /* the first one that was known, while pruners are verified */
};

/* --- whose turn it is --- */

static bool is_before(const struct serving *serving, const struct service *a,
                      const struct service *b)
{
    const struct orr_session *session = serving->search->session;
    if (a->with->first != b->with->first) {
        return a->with->first < b->with->first;
    }
    if (a->with->share < b->with->share) {
        return true;
    }
    if (a->with->share > b->with->share) {
        return false;
    }
    const double now = orr_aggregate__standing(session, a, a->held)->share;
    const double then = orr_aggregate__standing(session, b, b->held)->share;
    const struct orr_queue_rank one = {.queue = a->queue}, other = {.queue = b->queue};
    return now < then || (!(now > then) && orr_queue_compare_ranks(session, &one, &other) < 0);
}

static void put_in_line(struct serving *serving, struct service *leaf)
{
    uint32_t at = serving->count++;
    for (; at > 0 && is_before(serving, serving->line[at - 1], leaf); at--) {
        serving->line[at] = serving->line[at - 1];
    }
    serving->line[at] = leaf;
}

/* The leaf's next contender asks so many GPUs, or one that waits before it does. */
static void ask(struct serving *serving, struct service *leaf, uint32_t gpus)
{
    serving->left += leaf->key * gpus - leaf->key * leaf->asked;
    leaf->asked = gpus;
    leaf->with = orr_aggregate__standing(serving->search->session, leaf, leaf->held + gpus);
}

/* Contenders of the leaf's next run are served, as long as the leaf is before the next leaf.
 * Returns how many. */
static uint32_t pass(struct serving *serving, struct service *leaf, const struct service *next)
{
    const uint32_t gpus = leaf->at->run->gpus;
    const uint64_t key = leaf->at->run->key;
    uint32_t count = 0;
    do {
        leaf->held += gpus;
        count++;
        ask(serving, leaf, gpus);
    } while (count < leaf->left && (next == NULL || is_before(serving, leaf, next)));
    serving->left -= key * count;
    leaf->left -= count;
    if (leaf->left == 0 && ++leaf->at < leaf->end) {
        leaf->left = leaf->at->count;
        ask(serving, leaf, leaf->at->most);
    } else if (leaf->left == 0) {
        serving->left -= leaf->key * leaf->asked;
    }
    return count;
}

/* --- placing --- */

/* Equal contenders. NOT_KNOWN: all of them found places. */
static enum answer place(struct serving *serving, const struct orr_contender *contender,
                         uint32_t count)
{
    const struct orr_contender *own = serving->search->refuter.flat->own;
    const uint32_t tasks = count * contender->tasks;
    if (orr_histogram__place(&serving->rooms, tasks, contender->gpus) == tasks) {
        return NOT_KNOWN;
    }
    /* Nor does a preemptor that asks no less find a place. */
    return contender->gpus > own->gpus || contender->tasks > 1 ? LEAVES_SOME : LEAVES_NONE;
}

/* --- where it was --- */

static uint64_t fingerprint_rooms(const struct orr_room_histogram *rooms)
{
    uint64_t fingerprint = 0;
    for (uint32_t bits = rooms->some; bits != 0; bits &= bits - 1) {
        const uint32_t gpus = (uint32_t)__builtin_ctz(bits);
        fingerprint = fingerprint * UINT64_C(0xda942042e4dd58b5) +
                      ((uint64_t)gpus << 32 | rooms->count[gpus]);
    }
    return fingerprint;
}

/* How it ends from here. */
static enum answer look_up(struct serving *serving)
{
    const uint64_t position = orr_scatter(serving->left + fingerprint_rooms(&serving->rooms));
    serving->search->refuter.flat->aggregate->positions[serving->position_count++] = position;
    const enum answer answer = (enum answer)orr_answers_find(serving->known, position);
    if (!serving->search->session->rules.prune.verify) {
        return answer;
    }
    serving->found = serving->found != NOT_KNOWN ? serving->found : answer;
    return NOT_KNOWN;
}

static void note(const struct serving *serving, enum answer answer)
{
    for (uint32_t i = 0; i < serving->position_count; i++) {
        orr_answers_note(serving->known, serving->search->refuter.flat->aggregate->positions[i],
                         answer);
    }
}

/* --- serving --- */

/* Serves the leaf until another one is before it. */
static enum answer serve_leaf(struct serving *serving, struct service *leaf)
{
    const struct orr_flat *f = serving->search->refuter.flat;
    const struct service *next = serving->count > 0 ? serving->line[serving->count - 1] : NULL;
    enum answer answer = NOT_KNOWN;
    do {
        const struct orr_contender *contender = &f->contenders[leaf->at->run->contender];
        answer = place(serving, contender, pass(serving, leaf, next));
        answer = answer == NOT_KNOWN ? look_up(serving) : answer;
    } while (answer == NOT_KNOWN && leaf->at < leaf->end &&
             (next == NULL || is_before(serving, leaf, next)));
    return answer;
}

static enum answer serve(struct serving *serving, const struct orr_aggregate *aggregate)
{
    for (uint32_t i = 0; i < aggregate->active_count; i++) {
        ask(serving, aggregate->active[i], aggregate->active[i]->asked);
        put_in_line(serving, aggregate->active[i]);
    }
    while (serving->count > 0) {
        struct service *leaf = serving->line[--serving->count];
        if (leaf == aggregate->own) {
            return serving->rooms.some >> serving->search->refuter.flat->own->gpus != 0
                       ? LEAVES_SOME
                       : LEAVES_NONE;
        }
        const enum answer answer = serve_leaf(serving, leaf);
        if (answer != NOT_KNOWN) {
            return answer;
        }
        if (leaf->at < leaf->end) {
            put_in_line(serving, leaf);
        }
    }
    return LEAVES_NONE;
}

enum answer orr_aggregate__serve(const struct orr_victim_search *search,
                                 const struct orr_taken *taken, uint64_t left)
{
    const struct orr_aggregate *aggregate = search->refuter.flat->aggregate;
    struct serving serving = {.search = search,
                              .rooms = *taken->rooms,
                              .left = left,
                              .known = &search->session->victim_index->aggregates,
                              .line = aggregate->active};
    enum answer answer = look_up(&serving);
    if (answer == NOT_KNOWN) {
        answer = serve(&serving, aggregate);
        orr_prune__check_known(search, ORR_PRUNER_AGGREGATE, serving.found, answer);
        note(&serving, answer);
    }
    return answer;
}
