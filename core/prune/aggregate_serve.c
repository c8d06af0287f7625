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
    struct service **next, **end;           /* leaves with contenders, the best first */
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

/* Moves a leaf back to where it belongs among those after it, which are in order, the best first.
 */
static void line_up(const struct serving *serving, struct service **first)
{
    struct service *leaf = *first;
    struct service **at = first;
    for (; at + 1 < serving->end && is_before(serving, at[1], leaf); at++) {
        at[0] = at[1];
    }
    *at = leaf;
}

/* The contender that is next finds a place, or will. */
static void pass(struct serving *serving)
{
    struct service *leaf = *serving->next;
    const uint32_t gpus = leaf->at->run->gpus;
    leaf->held += gpus;
    serving->late -= !leaf->goes_first;
    if (--leaf->left > 0) {
        stand(serving, leaf, gpus);
    } else {
        go_to(serving, leaf, leaf->at + 1);
    }
    if (leaf->left > 0) {
        line_up(serving, serving->next);
    } else {
        serving->next++;
    }
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
                              .next = f->aggregate->active,
                              .end = f->aggregate->active + f->aggregate->active_count};
    for (uint32_t i = f->aggregate->active_count; i-- > 0;) {
        serving.next = &f->aggregate->active[i];
        go_to(&serving, *serving.next, (*serving.next)->at);
        line_up(&serving, serving.next);
    }
    while (serving.next < serving.end) {
        const struct run *run = (*serving.next)->at->run;
        const struct orr_contender *contender = &f->contenders[run->contender];
        if (run->light) {
            *(contender->gpus == 1 ? &serving.singles : &serving.whole_nodes) += contender->tasks;
            pass(&serving);
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
        pass(&serving);
        if (serving.late == 0 && orr_histogram__hold_all(&serving.rooms, &serving.tasks)) {
            return false;
        }
    }
    return !place_light(&serving, largest);
}
