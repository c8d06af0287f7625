/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The victims that a scenario of a flat world takes, without listing them: those on the first so
 * many of the bearing nodes that are able to take a task. How many that is grows as KAI's scenarios
 * of several nodes do, and from state to state little changes: a victim joins those of its node,
 * which has more room then and moves on in the line of nodes.
 *
 * Gangs are taken whole by whoever takes one of their nodes, so they are added when it is asked.
 */
#include "flat_int.h"

#include <string.h>

#define LAST (ORR_WINDOWS - 1)

void orr_flat__make_windows(struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    struct orr_windows *all = orr_arena_alloc(f->arena, 1, sizeof *all);
    all->gangs = orr_arena_take(f->arena, f->contender_count, sizeof *all->gangs);
    all->taken = orr_arena_take(f->arena, f->contender_count, sizeof *all->taken);
    all->extra = orr_arena_alloc(f->arena, search->session->node_count, sizeof *all->extra);
    f->windows = all;
}

void orr_flat__empty_windows(const struct orr_victim_search *search)
{
    struct orr_windows *all = search->refuter.flat->windows;
    all->gang_count = 0;
    all->filling++; /* none is filled */
}

/* How many nodes it has. */
static uint32_t size_of(const struct orr_windows *all, uint32_t nth)
{
    return all->first + (1u << nth) - 1;
}

static uint32_t room_of(const struct orr_victim_search *search, uint32_t node)
{
    return (uint32_t)(search->capacities.with[node] / ORR_MGPU);
}

static void count(const struct orr_flat *f, struct orr_window *window,
                  const struct orr_contender *contender, uint32_t by)
{
    window->counts[contender->run] += by;
    orr_histogram_add(&window->tasks, contender->gpus, by * contender->tasks);
    window->late += f->leaves[contender->leaf].served_first ? 0 : by;
}

static const struct orr_contender *contender_of(const struct orr_victim_search *search,
                                                uint32_t potential)
{
    const struct orr_flat *f = search->refuter.flat;
    return &f->contenders[f->contender_of_job[search->potential.items[potential].job]];
}

/* Gangs are not counted here. */
static void count_one(const struct orr_victim_search *search, struct orr_window *window,
                      uint32_t potential, uint32_t by)
{
    const struct orr_contender *contender = contender_of(search, potential);
    if (contender->tasks == 1) {
        count(search->refuter.flat, window, contender, by);
    }
    window->odd += contender->odd ? by : 0;
}

/* A node and its victims, from the last one back; by: 1 to take them, -1 to leave them. */
static void count_node(const struct orr_victim_search *search, struct orr_window *window,
                       uint32_t node, uint32_t by)
{
    orr_histogram_add(&window->rooms, room_of(search, node), by);
    for (uint32_t i = search->capacities.last_on[node]; i != ORR_NONE;
         i = search->potential.items[i].before) {
        count_one(search, window, i, by);
    }
}

/* --- from state to state --- */

/* The last victim came to a node that had so much room and was the nth, or ORR_NONE, of those with
 * room for a task of the preemptor, and is at another place now; the windows follow. */
static void follow(struct orr_victim_search *search, uint32_t room, uint32_t nth)
{
    const struct orr_capacities *c = &search->capacities;
    struct orr_windows *all = search->refuter.flat->windows;
    const uint32_t last = search->potential.count - 1;
    const uint32_t node = search->potential.items[last].node;
    const uint32_t now = orr_capacities_nth(c, node);
    const uint32_t *able = c->bearing + (c->bearing_count - c->able);
    const uint32_t least = nth < now ? nth : now; /* smaller windows are as they were */
    for (uint32_t h = all->window_count; h-- > 0 && size_of(all, h) > least;) {
        struct orr_window *window = &all->windows[h];
        const uint32_t size = size_of(all, h);
        const bool was_in = nth < size, is_in = now < size;
        if (window->filling != all->filling) {
            continue;
        }
        if (was_in) { /* as if it stayed */
            orr_histogram_take(&window->rooms, room, 1);
            orr_histogram_add(&window->rooms, room_of(search, node), 1);
            count_one(search, window, last, 1);
        }
        if (was_in && !is_in) {
            count_node(search, window, node, UINT32_MAX);
            count_node(search, window, able[size - 1], 1);
        } else if (is_in && !was_in) {
            count_node(search, window, node, 1);
            if (size < c->able) {
                count_node(search, window, able[size], UINT32_MAX);
            }
        }
    }
}

void orr_flat__victim_added(struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    const struct orr_capacities *c = &search->capacities;
    const struct orr_victim *last = &search->potential.items[search->potential.count - 1];
    const uint32_t contender = f->contender_of_job[last->job];
    const bool first = search->potential.count == 1 || last[-1].group != last->group;
    if (first && f->contenders[contender].tasks > 1) {
        f->windows->gangs[f->windows->gang_count++] = contender;
    }
    if (search->generator == ORR_MULTI_NODE_GANG) {
        const int64_t before = c->with[last->node] - orr_victim__freed(search->session, last->task);
        follow(search, last->before == ORR_NONE ? 0 : (uint32_t)(before / ORR_MGPU), c->was);
    }
}

/* --- a scenario --- */

static void list(struct orr_victim_search *search, struct orr_window *window, uint32_t from,
                 uint32_t to)
{
    struct orr_flat *f = search->refuter.flat;
    uint32_t *counts = window->counts;
    if (counts == NULL) { /* of no more runs than there are contenders */
        counts = orr_arena_take(f->arena, f->contender_count, sizeof *counts);
    }
    memset(counts, 0, f->contender_count * sizeof *counts);
    *window = (struct orr_window){.filling = f->windows->filling, .counts = counts};
    for (uint32_t i = from; i < to; i++) {
        count_node(search, window, search->capacities.bearing[i], 1);
    }
}

static struct orr_window *window_of(struct orr_victim_search *search, uint32_t from, uint32_t to,
                                    uint32_t nth)
{
    struct orr_windows *all = search->refuter.flat->windows;
    struct orr_window *window = &all->windows[nth < LAST ? nth : LAST];
    if (all->first != search->refuter.windows_from) {
        all->first = search->refuter.windows_from;
        all->filling++; /* no window is filled */
    }
    if (nth >= LAST || window->filling != all->filling) {
        list(search, window, from, to);
    }
    all->window_count = nth < LAST && nth >= all->window_count ? nth + 1 : all->window_count;
    return window;
}

/* --- gangs --- */

/* A gang has a task on the nodes. What it leaves on others is room, too. */
static void take_gang(const struct orr_victim_search *search, const struct orr_contender *gang,
                      struct orr_taken *taken)
{
    const struct orr_flat *f = search->refuter.flat;
    count(f, taken->window, gang, 1);
    taken->sizes |= orr_flat__sizes(gang);
    for (uint32_t t = 0; t < gang->tasks; t++) {
        const uint32_t node = orr_flat__node(search->session, gang, t);
        const uint32_t at = search->capacities.at[node];
        if (at < taken->from || at >= taken->to) {
            uint32_t *extra = &f->windows->extra[node];
            orr_histogram_take(&taken->with_gangs, *extra, 1);
            *extra += gang->gpus;
            orr_histogram_add(&taken->with_gangs, *extra, 1);
        }
    }
}

static bool is_gang_on(const struct orr_victim_search *search, uint32_t index, uint32_t from,
                       uint32_t to)
{
    const struct orr_contender *gang = &search->refuter.flat->contenders[index];
    for (uint32_t t = 0; t < gang->tasks; t++) {
        const uint32_t node = orr_flat__node(search->session, gang, t);
        const uint32_t at = search->capacities.at[node];
        if (at >= from && at < to) {
            return true;
        }
    }
    return false;
}

void orr_flat__take(struct orr_victim_search *search, uint32_t from, uint32_t to, uint32_t nth,
                    struct orr_taken *taken)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_windows *all = f->windows;
    struct orr_window *window = window_of(search, from, to, nth);
    taken->from = from;
    taken->to = to;
    taken->window = window;
    taken->rooms = &window->rooms;
    taken->sizes = window->tasks.some;
    all->taken_count = 0;
    for (uint32_t g = 0; g < all->gang_count; g++) {
        if (is_gang_on(search, all->gangs[g], from, to)) {
            if (all->taken_count == 0) {
                taken->with_gangs = window->rooms;
                taken->rooms = &taken->with_gangs;
            }
            all->taken[all->taken_count++] = all->gangs[g];
            take_gang(search, &f->contenders[all->gangs[g]], taken);
        }
    }
}

void orr_flat__put_back(const struct orr_victim_search *search, struct orr_taken *taken)
{
    const struct orr_flat *f = search->refuter.flat;
    for (uint32_t g = 0; g < f->windows->taken_count; g++) {
        const struct orr_contender *gang = &f->contenders[f->windows->taken[g]];
        count(f, taken->window, gang, UINT32_MAX);
        for (uint32_t t = 0; t < gang->tasks; t++) {
            f->windows->extra[orr_flat__node(search->session, gang, t)] = 0;
        }
    }
}
