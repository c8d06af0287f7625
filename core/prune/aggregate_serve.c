/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving an aggregate: the leaves are merged in the order of their ranks. Of most contenders
 * the turn does not matter: tasks of one GPU find a place whenever they are served, as long as all
 * others did, and tasks that fill a node are alone in wanting an untouched one. These light
 * contenders are only counted between the turns of sensitive ones, and not at all after the last of
 * these: whoever has his place by then, tasks of one GPU that come later take nobody's.
 */
#include "aggregate_int.h"

#include <math.h>
#include <string.h>

/* --- services --- */

static void take_worse(struct rank *worst, const struct rank *other)
{
    if (orr_aggregate__compare(other, worst) > 0) {
        *worst = *other;
    }
}

/* Of so many contenders of a run, which stand the worse the more are served. */
static void pass_run(const struct orr_victim_search *search, uint32_t leaf, uint32_t left,
                     const struct turn *turn, struct rank *worst)
{
    take_worse(worst, orr_aggregate__rank_at(search, leaf, turn));
    if (left > 1) {
        const uint32_t gpus = search->refuter.flat->aggregate->runs[turn->run].gpus;
        const struct turn last = {.run = turn->run, .lacking = turn->lacking - (left - 1) * gpus};
        take_worse(worst, orr_aggregate__rank_at(search, leaf, &last));
    }
}

static const struct rank best_of_all = {.share_after = -HUGE_VAL, .share_now = -HUGE_VAL};

/* The service's next sensitive contender, and the worst rank on the way to it: as long as
 * another leaf's stands better, that one's turn comes first, whatever else is before either. */
static void look_ahead(const struct orr_victim_search *search, uint32_t leaf)
{
    const struct orr_aggregate *aggregate = search->refuter.flat->aggregate;
    struct service *service = &aggregate->services[leaf];
    const struct stretch *at = service->at;
    const struct turn *turn = &service->next;
    uint32_t left = service->left;
    struct rank worst = best_of_all;
    while (left > 0 && !aggregate->runs[turn->run].sensitive) {
        pass_run(search, leaf, left, turn, &worst);
        at++;
        turn = &at->turn;
        left = at < service->end ? at->count : 0;
    }
    service->sensitive = ORR_NONE;
    if (left > 0) {
        service->sensitive = turn->run;
        service->worst = *orr_aggregate__rank_at(search, leaf, turn);
        take_worse(&service->worst, &worst);
    }
}

static void go_to(struct service *service, const struct stretch *at)
{
    service->at = at;
    service->left = 0;
    if (at < service->end) {
        service->next = at->turn;
        service->left = at->count;
    }
}

static void open_leaf(const struct orr_victim_search *search, uint32_t leaf)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_aggregate *aggregate = f->aggregate;
    struct service *service = &aggregate->services[leaf];
    if (!orr_aggregate__is_even(aggregate, leaf)) {
        const int64_t *held = search->session->queues[f->leaves[leaf].queue].allocated;
        memcpy(service->held, held, sizeof service->held);
        for (const struct stretch *at = service->first; at < service->end; at++) {
            const struct orr_contender *contender =
                &f->contenders[aggregate->runs[at->turn.run].contender];
            for (unsigned kind = 0; kind < ORR_SHARE_KINDS && contender != f->contenders; kind++) {
                service->held[kind] -= at->count * contender->demand.v[kind];
            }
        }
    }
    go_to(service, service->first);
    look_ahead(search, leaf);
}

/* The preemptor need not be looked at if it comes last. */
static void open_leaves(const struct orr_victim_search *search)
{
    struct orr_aggregate *aggregate = search->refuter.flat->aggregate;
    uint32_t opened = 0;
    for (uint32_t i = 0; i < aggregate->active_count; i++) {
        const uint32_t leaf = aggregate->active[i];
        if (aggregate->late > 0 || leaf != search->refuter.flat->contenders[0].leaf) {
            open_leaf(search, leaf);
            aggregate->active[opened++] = leaf;
        }
    }
    aggregate->active_count = opened;
}

/* So many of the run that is next find a place. */
static void serve_some(const struct orr_flat *f, uint32_t leaf, uint32_t count)
{
    struct orr_aggregate *aggregate = f->aggregate;
    struct service *service = &aggregate->services[leaf];
    const struct run *run = &aggregate->runs[service->next.run];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS && !orr_aggregate__is_even(aggregate, leaf);
         kind++) {
        service->held[kind] += count * f->contenders[run->contender].demand.v[kind];
    }
    service->next.lacking -= count * run->gpus;
    service->next.waiting = 0;
    service->left -= count;
    aggregate->late -= f->leaves[leaf].served_first ? 0 : count;
    if (service->left == 0) {
        go_to(service, service->at + 1);
    }
}

/* --- serving --- */

static bool comes_before(const struct orr_victim_search *search, uint32_t leaf,
                         const struct turn *turn, uint32_t other, const struct rank *rank)
{
    return orr_aggregate__is_before(search->refuter.flat, leaf,
                                    orr_aggregate__rank_at(search, leaf, turn), other, rank);
}

/* Of so many of the run that is next, how many are served before the turn of another leaf, the
 * first of them being one: those after it stand the worse the more are served. */
static uint32_t count_before(const struct orr_victim_search *search, uint32_t leaf,
                             const struct turn *next, uint32_t left, uint32_t guess, uint32_t other,
                             const struct rank *rank)
{
    const uint32_t gpus = search->refuter.flat->aggregate->runs[next->run].gpus;
    struct turn turn = {.run = next->run};
    uint32_t low = 1;
    uint32_t high = left;
    uint32_t probe = guess;
    for (uint32_t step = 1; low < high; step *= 2) {
        probe = probe < low ? low : probe >= high ? high - 1 : probe;
        turn.lacking = next->lacking - probe * gpus;
        if (comes_before(search, leaf, &turn, other, rank)) {
            low = probe + 1;
            probe += step;
        } else {
            high = probe;
            probe = step == 1 ? high - 1 : low + (high - low) / 2;
        }
    }
    return low;
}

/* How many of the leaf may be served before it stands worse than another one. */
static uint32_t guess(const struct orr_aggregate *aggregate, uint32_t leaf, const struct rank *now,
                      const struct rank *other)
{
    const double gpus =
        (other->share_after - now->share_after) * aggregate->ranks[leaf].allocatable_gpus;
    return gpus < 0 ? 0 : gpus < UINT32_MAX ? (uint32_t)gpus : UINT32_MAX;
}

struct light { /* tasks of light contenders */
    uint32_t singles, whole_nodes;
};

/* Serves what is light in the leaf before the turn of the sensitive contender of another one, or of
 * its own; adds up the tasks. */
static void serve_light(const struct orr_victim_search *search, uint32_t leaf, uint32_t sensitive,
                        struct light *served)
{
    const struct orr_flat *f = search->refuter.flat;
    const struct orr_aggregate *aggregate = f->aggregate;
    struct service *service = &aggregate->services[leaf];
    const struct rank *worst = &aggregate->services[sensitive].worst;
    while (service->left > 0 && !aggregate->runs[service->next.run].sensitive) {
        const struct orr_contender *contender =
            &f->contenders[aggregate->runs[service->next.run].contender];
        uint32_t count = service->left;
        if (leaf != sensitive) {
            const struct rank *next = orr_aggregate__rank_at(search, leaf, &service->next);
            if (!orr_aggregate__is_before(f, leaf, next, sensitive, worst)) {
                return;
            }
            count = count_before(search, leaf, &service->next, service->left,
                                 guess(aggregate, leaf, next, worst), sensitive, worst);
        }
        *(contender->gpus == 1 ? &served->singles : &served->whole_nodes) +=
            count * contender->tasks;
        const bool all = count == service->left;
        serve_some(f, leaf, count);
        if (!all) {
            return;
        }
    }
}

/* The leaf with the sensitive contender whose turn comes next; ORR_NONE: there are none left. */
static uint32_t next_sensitive(const struct orr_flat *f)
{
    const struct orr_aggregate *aggregate = f->aggregate;
    uint32_t best = ORR_NONE;
    for (uint32_t i = 0; i < aggregate->active_count; i++) {
        const uint32_t t = aggregate->active[i];
        if (aggregate->services[t].sensitive != ORR_NONE &&
            (best == ORR_NONE || orr_aggregate__is_before(f, t, &aggregate->services[t].worst, best,
                                                          &aggregate->services[best].worst))) {
            best = t;
        }
    }
    return best;
}

/* Places tasks and takes them from those left. False: one of them finds no place. */
static bool place(struct orr_room_histogram *rooms, struct orr_room_histogram *left, uint32_t tasks,
                  uint32_t gpus)
{
    if (tasks == 0) {
        return true;
    }
    orr_histogram_take(left, gpus, tasks);
    return orr_histogram__place(rooms, tasks, gpus) == tasks;
}

bool orr_aggregate__serve(const struct orr_victim_search *search,
                          const struct orr_room_histogram *all_rooms,
                          const struct orr_room_histogram *all_tasks)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_aggregate *aggregate = f->aggregate;
    const struct orr_contender *own = f->contenders;
    struct orr_room_histogram rooms = *all_rooms;
    struct orr_room_histogram tasks = *all_tasks;
    if (aggregate->ranks == NULL) {
        orr_aggregate__make_ranks(search);
    }
    aggregate->late = aggregate->window->late;
    open_leaves(search);
    for (uint32_t sensitive; (sensitive = next_sensitive(f)) != ORR_NONE;) {
        struct light served = {0};
        for (uint32_t i = 0; i < aggregate->active_count; i++) {
            serve_light(search, aggregate->active[i], sensitive, &served);
        }
        if (!place(&rooms, &tasks, served.singles, 1) ||
            !place(&rooms, &tasks, served.whole_nodes, (uint32_t)f->largest_node)) {
            return true;
        }
        const struct orr_contender *contender =
            &f->contenders[aggregate->runs[aggregate->services[sensitive].sensitive].contender];
        if (contender == own) {
            return orr_histogram__places(&rooms, own->gpus) >= own->tasks;
        }
        if (!place(&rooms, &tasks, contender->tasks, contender->gpus)) {
            /* Nor does a preemptor that asks no less find a place. */
            return contender->gpus > own->gpus || contender->tasks > own->tasks;
        }
        serve_some(f, sensitive, 1);
        look_ahead(search, sensitive);
        if (aggregate->late == 0 && orr_histogram__hold_all(&rooms, &tasks)) {
            return false;
        }
    }
    /* Only tasks that fill a node may find none, if others began it. */
    return rooms.count[f->largest_node] < tasks.count[f->largest_node];
}
