/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving an aggregate: the leaf that stands best is served next, one contender after the other. Of
 * most of them the turn does not matter: tasks of one GPU find a place whenever they are served, as
 * long as all others did, and tasks that fill a node are alone in wanting an untouched one. These
 * light contenders are only counted, and placed before the next heavy one.
 *
 * A contender is served once it and all before it in its leaf stand better than those who are next
 * in other leaves. So the turn of a heavy one is that of the worst among these, and the light ones
 * of another leaf come before it as long as each of them stands better.
 */
#include "aggregate_int.h"

struct serving { /* a scenario */
    const struct orr_session *session;
    struct orr_room_histogram rooms, tasks; /* tasks: that are left, with counted ones: */
    uint32_t singles, whole_nodes;          /* of light contenders whose turn it was */
    uint32_t late;                          /* contenders that may be served after the preemptor */
    struct service **leaves;                /* with contenders */
    uint32_t leaf_count;
};

/* How a leaf stands that holds so much, where its next contender or who waits before it asks so
 * many GPUs. */
static inline struct turn turn_of(const struct serving *serving, const struct service *leaf,
                                  uint32_t held, uint32_t asked)
{
    return (struct turn){orr_aggregate__standing(serving->session, leaf, held + asked), held};
}

static inline bool is_before(const struct serving *serving, const struct service *one,
                             struct turn a, const struct service *other, struct turn b)
{
    if (a.with->first != b.with->first) {
        return a.with->first < b.with->first;
    }
    if (a.with->share < b.with->share || a.with->share > b.with->share) {
        return a.with->share < b.with->share;
    }
    const double now = orr_aggregate__standing(serving->session, one, a.held)->share;
    const double then = orr_aggregate__standing(serving->session, other, b.held)->share;
    return now < then || (!(now > then) && one->before < other->before);
}

static void go_to(struct service *leaf, const struct stretch *at)
{
    leaf->at = at;
    leaf->left = at < leaf->end ? at->count : 0;
    leaf->asked = at < leaf->end ? at->most : 0;
}

/* So many contenders of the leaf's next run find places, or will. */
static void pass(struct serving *serving, struct service *leaf, uint32_t count)
{
    if (count > 0) {
        leaf->held += count * leaf->at->run->gpus;
        leaf->asked = leaf->at->run->gpus;
        leaf->left -= count;
        serving->late -= leaf->goes_first ? 0 : count;
    }
    if (leaf->left == 0) {
        go_to(leaf, leaf->at + 1);
    }
}

/* How many of the leaf's next run are served before the heavy contender of another one. */
static uint32_t count_before(const struct serving *serving, const struct service *leaf,
                             const struct service *heavy)
{
    const uint32_t gpus = leaf->at->run->gpus;
    uint32_t count = 0, held = leaf->held, asked = leaf->asked;
    if (leaf == heavy) {
        return leaf->left;
    }
    while (count < leaf->left &&
           is_before(serving, leaf, turn_of(serving, leaf, held, asked), heavy, heavy->heavy)) {
        held += gpus;
        asked = gpus;
        count++;
    }
    return count;
}

static void pass_light(struct serving *serving, struct service *leaf, const struct service *heavy)
{
    bool all = true;
    while (all && leaf->left > 0 && leaf->at->run->light) {
        const struct run *run = leaf->at->run;
        const uint32_t count = count_before(serving, leaf, heavy);
        *(run->gpus == 1 ? &serving->singles : &serving->whole_nodes) += count * run->tasks;
        all = count == leaf->left;
        pass(serving, leaf, count);
    }
}

/* Finds the turn of the leaf's next heavy contender. */
static void find_heavy(const struct serving *serving, struct service *leaf)
{
    uint32_t held = leaf->held, left = leaf->left, asked = leaf->asked;
    bool light = true;
    const struct stretch *at = leaf->at;
    for (leaf->heavy.with = NULL; light && at < leaf->end; at++) {
        const struct turn turn = turn_of(serving, leaf, held, asked);
        if (leaf->heavy.with == NULL || is_before(serving, leaf, leaf->heavy, leaf, turn)) {
            leaf->heavy = turn;
        }
        light = at->run->light;
        held += left * at->run->gpus;
        left = at + 1 < leaf->end ? at[1].count : 0;
        asked = at + 1 < leaf->end ? at[1].most : 0;
    }
    if (light) {
        leaf->heavy.with = NULL;
    }
}

/* The leaf whose heavy contender is served next; NULL: there are none. */
static struct service *next_heavy(const struct serving *serving)
{
    struct service *best = NULL;
    for (uint32_t i = 0; i < serving->leaf_count; i++) {
        struct service *leaf = serving->leaves[i];
        if (leaf->heavy.with != NULL &&
            (best == NULL || is_before(serving, leaf, leaf->heavy, best, best->heavy))) {
            best = leaf;
        }
    }
    return best;
}

/* False: a task finds no place. */
static bool place(struct serving *serving, uint32_t tasks, uint32_t gpus)
{
    if (tasks == 0) {
        return true;
    }
    orr_histogram_take(&serving->tasks, gpus, tasks);
    return orr_histogram__place(&serving->rooms, tasks, gpus) == tasks;
}

static bool place_light(struct serving *serving, uint32_t largest_node)
{
    const bool placed =
        place(serving, serving->singles, 1) && place(serving, serving->whole_nodes, largest_node);
    serving->singles = serving->whole_nodes = 0;
    return placed;
}

bool orr_aggregate__serve(const struct orr_victim_search *search, const struct orr_taken *taken)
{
    const struct orr_flat *f = search->refuter.flat;
    const struct orr_contender *own = f->own;
    const uint32_t largest = (uint32_t)f->index->largest_node;
    struct serving serving = {.session = search->session,
                              .rooms = *taken->rooms,
                              .tasks = taken->window->tasks,
                              .late = taken->window->late,
                              .leaves = f->aggregate->active,
                              .leaf_count = f->aggregate->active_count};
    for (uint32_t i = 0; i < serving.leaf_count; i++) {
        go_to(serving.leaves[i], serving.leaves[i]->at);
        find_heavy(&serving, serving.leaves[i]);
    }
    for (struct service *next; (next = next_heavy(&serving)) != NULL;) {
        for (uint32_t i = 0; i < serving.leaf_count; i++) {
            pass_light(&serving, serving.leaves[i], next);
        }
        const struct orr_contender *contender = &f->contenders[next->at->run->contender];
        if (!place_light(&serving, largest)) {
            return true;
        }
        if (contender == own) {
            return orr_histogram__places(&serving.rooms, own->gpus) >= own->tasks;
        }
        if (!place(&serving, contender->tasks, contender->gpus)) {
            /* Nor does a preemptor that asks no less find a place. */
            return contender->gpus > own->gpus || contender->tasks > own->tasks;
        }
        pass(&serving, next, 1);
        if (serving.late == 0 && orr_histogram__hold_all(&serving.rooms, &serving.tasks)) {
            return false;
        }
        find_heavy(&serving, next);
    }
    serving.singles = serving.tasks.count[1];
    serving.whole_nodes = largest > 1 ? serving.tasks.count[largest] : 0;
    return !place_light(&serving, largest);
}
