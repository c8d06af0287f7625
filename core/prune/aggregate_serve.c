/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving an aggregate: the leaf that stands best is served next, one contender after the other. Of
 * most of them the turn does not matter: tasks of one GPU find a place whenever they are served, as
 * long as all others did, and tasks that fill a node are alone in wanting an untouched one. These
 * light contenders are only counted, and placed before the next heavy one.
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
    struct orr_room_histogram rooms, tasks; /* tasks: that are left, with counted ones: */
    uint32_t light[2];     /* of contenders whose turn it was: tasks of one GPU, of a whole node */
    uint32_t late;         /* contenders that may be served after the preemptor */
    struct service **line; /* leaves with contenders left, the best one last */
    uint32_t count;
    uint64_t left;             /* fingerprint of the contenders that are left and what leaves ask */
    struct orr_answers *known; /* of this search and earlier ones */
    uint32_t position_count;
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
    return now < then || (!(now > then) && a->before < b->before);
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

/* Contenders of the leaf's next run have their places, or will: the next one, or `some`, as long as
 * the leaf is before the next leaf. Returns how many. */
static uint32_t pass(struct serving *serving, struct service *leaf, bool some,
                     const struct service *next)
{
    const uint32_t gpus = leaf->at->run->gpus;
    const uint64_t key = leaf->at->run->key;
    uint32_t count = 0;
    do {
        leaf->held += gpus;
        count++;
        ask(serving, leaf, gpus);
    } while (some && count < leaf->left && (next == NULL || is_before(serving, leaf, next)));
    serving->late -= leaf->goes_first ? 0 : count;
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

/* False: a task finds no place. */
static bool place(struct serving *serving, uint32_t tasks, uint32_t gpus)
{
    if (tasks == 0) {
        return true;
    }
    orr_histogram_take(&serving->tasks, gpus, tasks);
    return orr_histogram__place(&serving->rooms, tasks, gpus) == tasks;
}

static bool place_light(struct serving *serving)
{
    const struct orr_flat *f = serving->search->refuter.flat;
    const bool placed = place(serving, serving->light[0], 1) &&
                        place(serving, serving->light[1], (uint32_t)f->index->largest_node);
    serving->light[0] = serving->light[1] = 0;
    return placed;
}

static enum answer place_heavy(struct serving *serving, const struct run *run)
{
    const struct orr_flat *f = serving->search->refuter.flat;
    const struct orr_contender *contender = &f->contenders[run->contender];
    if (!place_light(serving)) {
        return LEAVES_SOME;
    }
    if (contender == f->own) {
        return orr_histogram__places(&serving->rooms, f->own->gpus) >= f->own->tasks ? LEAVES_SOME
                                                                                     : LEAVES_NONE;
    }
    if (!place(serving, contender->tasks, contender->gpus)) {
        /* Nor does a preemptor that asks no less find a place. */
        return contender->gpus > f->own->gpus || contender->tasks > f->own->tasks ? LEAVES_SOME
                                                                                  : LEAVES_NONE;
    }
    return NOT_KNOWN;
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

/* How it ends from here, where no light contenders are counted. */
static enum answer look_up(struct serving *serving)
{
    const uint64_t position = orr_scatter(serving->left + fingerprint_rooms(&serving->rooms));
    serving->search->refuter.flat->aggregate->positions[serving->position_count++] = position;
    return (enum answer)orr_answers_find(serving->known, position);
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
    const struct service *next = serving->count > 0 ? serving->line[serving->count - 1] : NULL;
    enum answer answer = NOT_KNOWN;
    do {
        const struct run *run = leaf->at->run;
        answer = run->light ? NOT_KNOWN : place_heavy(serving, run);
        if (answer != NOT_KNOWN) {
            return answer;
        }
        const uint32_t count = pass(serving, leaf, run->light, next);
        if (run->light) {
            serving->light[run->gpus > run->tasks] += count * run->tasks;
        } else {
            answer = look_up(serving);
            if (answer == NOT_KNOWN && serving->late == 0 &&
                orr_histogram__hold_all(&serving->rooms, &serving->tasks)) {
                answer = LEAVES_NONE;
            }
        }
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
        const enum answer answer = serve_leaf(serving, leaf);
        if (answer != NOT_KNOWN) {
            return answer;
        }
        if (leaf->at < leaf->end) {
            put_in_line(serving, leaf);
        }
    }
    return place_light(serving) ? LEAVES_NONE : LEAVES_SOME;
}

enum answer orr_aggregate__serve(const struct orr_victim_search *search,
                                 const struct orr_taken *taken, uint64_t left)
{
    const struct orr_aggregate *aggregate = search->refuter.flat->aggregate;
    struct serving serving = {.search = search,
                              .rooms = *taken->rooms,
                              .tasks = taken->window->tasks,
                              .late = taken->window->late,
                              .left = left,
                              .known = &search->session->victim_index->aggregates,
                              .line = aggregate->active};
    enum answer answer = look_up(&serving);
    if (answer == NOT_KNOWN) {
        answer = serve(&serving, aggregate);
        note(&serving, answer);
    }
    return answer;
}
