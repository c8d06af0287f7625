/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving an aggregate: the leaf that stands best is served next, one contender after the other. Of
 * most of them the turn does not matter: tasks of one GPU find a place whenever they are served, as
 * long as all others did, and tasks that fill a node are alone in wanting an untouched one. These
 * light contenders are only counted, and placed before the next one that is not.
 */
#include "aggregate_int.h"

struct serving { /* a scenario */
    const struct orr_session *session;
    struct orr_room_histogram rooms, tasks; /* tasks: that are left, with counted ones: */
    uint32_t singles, whole_nodes;          /* of light contenders whose turn it was */
    uint32_t late;                          /* contenders that may be served after the preemptor */
};

/* Where the leaf's next contender or who waits before it asks so many GPUs. */
static void stand(const struct serving *serving, struct service *leaf, uint32_t asked)
{
    leaf->with = orr_aggregate__standing(serving->session, leaf, leaf->held + asked);
}

static void go_to(const struct serving *serving, struct service *leaf, const struct stretch *at)
{
    leaf->at = at;
    leaf->left = at < leaf->end ? at->count : 0;
    if (leaf->left > 0) {
        stand(serving, leaf, at->most);
    }
}

static inline bool is_before(const struct serving *serving, const struct service *one,
                             const struct service *other)
{
    if (one->is_own ? other->goes_first : other->is_own && one->goes_first) {
        return other->is_own;
    }
    const struct standing *a = one->with;
    const struct standing *b = other->with;
    if (a->first != b->first) {
        return a->first < b->first;
    }
    if (a->share < b->share || a->share > b->share) {
        return a->share < b->share;
    }
    const double now = orr_aggregate__standing(serving->session, one, one->held)->share;
    const double then = orr_aggregate__standing(serving->session, other, other->held)->share;
    return now < then || (!(now > then) && one->before < other->before);
}

struct turn {
    struct service *leaf, *rival; /* that is served next, and the first one after it; or NULL */
};

static struct turn find_turn(const struct serving *serving, const struct orr_aggregate *aggregate)
{
    struct turn turn = {0};
    for (uint32_t i = 0; i < aggregate->active_count; i++) {
        struct service *leaf = &aggregate->services[aggregate->active[i]];
        if (leaf->left == 0) {
            continue;
        }
        if (turn.rival != NULL && !is_before(serving, leaf, turn.rival)) {
            continue;
        }
        const bool best = turn.leaf == NULL || is_before(serving, leaf, turn.leaf);
        turn = best ? (struct turn){leaf, turn.leaf} : (struct turn){turn.leaf, leaf};
    }
    return turn;
}

/* As many of the run that is next as come before the rival, up to `most`, find places or will. */
static uint32_t pass(struct serving *serving, struct turn turn, uint32_t most)
{
    struct service *leaf = turn.leaf;
    const uint32_t gpus = leaf->at->run->gpus;
    uint32_t count = 0;
    do {
        count++;
        leaf->held += gpus;
        stand(serving, leaf, gpus);
    } while (count < most && count < leaf->left &&
             (turn.rival == NULL || is_before(serving, leaf, turn.rival)));
    serving->late -= leaf->goes_first ? 0 : count;
    leaf->left -= count;
    if (leaf->left == 0) {
        go_to(serving, leaf, leaf->at + 1);
    }
    return count;
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
                              .late = taken->window->late};
    for (uint32_t i = 0; i < f->aggregate->active_count; i++) {
        struct service *leaf = &f->aggregate->services[f->aggregate->active[i]];
        go_to(&serving, leaf, leaf->at);
    }
    for (struct turn turn; (turn = find_turn(&serving, f->aggregate)).leaf != NULL;) {
        const struct run *run = turn.leaf->at->run;
        const struct orr_contender *contender = &f->contenders[run->contender];
        if (run->light) {
            const uint32_t count = pass(&serving, turn, UINT32_MAX);
            *(contender->gpus == 1 ? &serving.singles : &serving.whole_nodes) +=
                count * contender->tasks;
            continue;
        }
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
        pass(&serving, turn, 1);
        if (serving.late == 0 && orr_histogram__hold_all(&serving.rooms, &serving.tasks)) {
            return false;
        }
    }
    return !place_light(&serving, largest);
}
