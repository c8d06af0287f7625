/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving a sketch: the tracks are merged in the order of their standings. Of most parties the turn
 * does not matter: tasks of one GPU find a place whenever they are served, as long as all others
 * did, and tasks that fill a node are alone in wanting an untouched one. These light parties are
 * only counted between the turns of heavy ones, and not at all after the last of these: whoever has
 * his place by then, tasks of one GPU that come later take nobody's.
 */
#include "sketch_int.h"

#include <math.h>
#include <string.h>

/* --- lanes --- */

static void take_worse(struct standing *worst, const struct standing *other)
{
    if (orr_sketch__compare(other, worst) > 0) {
        *worst = *other;
    }
}

/* Of so many parties of a run, which stand the worse the more are served. */
static void pass_run(const struct orr_victim_search *search, uint32_t track, uint32_t left,
                     const struct turn *turn, struct standing *worst)
{
    take_worse(worst, orr_sketch__standing_at(search, track, turn));
    if (left > 1) {
        const uint32_t gpus = search->forecast->sketch->runs[turn->run].gpus;
        const struct turn last = {.run = turn->run, .lacking = turn->lacking - (left - 1) * gpus};
        take_worse(worst, orr_sketch__standing_at(search, track, &last));
    }
}

static const struct standing best_of_all = {.share_after = -HUGE_VAL, .share_now = -HUGE_VAL};

/* The lane's next heavy party, and the worst standing on the way to it: as long as another track's
 * stands better, that one's turn comes first, whatever else is before either. */
static void look_ahead(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_sketch *sketch = search->forecast->sketch;
    struct lane *lane = &sketch->lanes[track];
    const struct stretch *at = lane->at;
    const struct turn *turn = &lane->next;
    uint32_t left = lane->left;
    struct standing worst = best_of_all;
    while (left > 0 && !sketch->runs[turn->run].heavy) {
        pass_run(search, track, left, turn, &worst);
        at++;
        turn = &at->turn;
        left = at < lane->end ? at->count : 0;
    }
    lane->heavy = ORR_NONE;
    if (left > 0) {
        lane->heavy = turn->run;
        lane->worst = *orr_sketch__standing_at(search, track, turn);
        take_worse(&lane->worst, &worst);
    }
}

static void go_to(struct lane *lane, const struct stretch *at)
{
    lane->at = at;
    lane->left = 0;
    if (at < lane->end) {
        lane->next = at->turn;
        lane->left = at->count;
    }
}

static void open_lane(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    struct lane *lane = &sketch->lanes[track];
    if (!orr_sketch__is_even(sketch, track)) {
        const int64_t *held = search->session->queues[f->tracks[track].queue].allocated;
        memcpy(lane->held, held, sizeof lane->held);
        for (const struct stretch *at = lane->first; at < lane->end; at++) {
            const struct orr_seat *seat = &f->seats[sketch->runs[at->turn.run].seat];
            for (unsigned kind = 0; kind < ORR_SHARE_KINDS && seat != f->seats; kind++) {
                lane->held[kind] -= at->count * seat->demand.v[kind];
            }
        }
    }
    go_to(lane, lane->first);
    look_ahead(search, track);
}

/* The preemptor need not be looked at if it comes last. */
static void open_lanes(const struct orr_victim_search *search)
{
    struct orr_sketch *sketch = search->forecast->sketch;
    uint32_t opened = 0;
    for (uint32_t i = 0; i < sketch->active_count; i++) {
        const uint32_t track = sketch->active[i];
        if (sketch->late > 0 || track != search->forecast->seats[0].track) {
            open_lane(search, track);
            sketch->active[opened++] = track;
        }
    }
    sketch->active_count = opened;
}

/* So many of the run that is next find a place. */
static void serve_some(const struct orr_forecast *f, uint32_t track, uint32_t count)
{
    struct orr_sketch *sketch = f->sketch;
    struct lane *lane = &sketch->lanes[track];
    const struct run *run = &sketch->runs[lane->next.run];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS && !orr_sketch__is_even(sketch, track); kind++) {
        lane->held[kind] += count * f->seats[run->seat].demand.v[kind];
    }
    lane->next.lacking -= count * run->gpus;
    lane->next.waiting = 0;
    lane->left -= count;
    sketch->late -= f->tracks[track].goes_first ? 0 : count;
    if (lane->left == 0) {
        go_to(lane, lane->at + 1);
    }
}

/* --- serving --- */

static bool comes_before(const struct orr_victim_search *search, uint32_t track,
                         const struct turn *turn, uint32_t other, const struct standing *standing)
{
    return orr_sketch__is_before(search->forecast, track,
                                 orr_sketch__standing_at(search, track, turn), other, standing);
}

/* Of so many of the run that is next, how many are served before the turn of another track, the
 * first of them being one: those after it stand the worse the more are served. */
static uint32_t count_before(const struct orr_victim_search *search, uint32_t track,
                             const struct turn *next, uint32_t left, uint32_t guess, uint32_t other,
                             const struct standing *standing)
{
    const uint32_t gpus = search->forecast->sketch->runs[next->run].gpus;
    struct turn turn = {.run = next->run};
    uint32_t low = 1;
    uint32_t high = left;
    uint32_t probe = guess;
    for (uint32_t step = 1; low < high; step *= 2) {
        probe = probe < low ? low : probe >= high ? high - 1 : probe;
        turn.lacking = next->lacking - probe * gpus;
        if (comes_before(search, track, &turn, other, standing)) {
            low = probe + 1;
            probe += step;
        } else {
            high = probe;
            probe = step == 1 ? high - 1 : low + (high - low) / 2;
        }
    }
    return low;
}

/* How many of the track may be served before it stands worse than another one. */
static uint32_t guess(const struct orr_sketch *sketch, uint32_t track, const struct standing *now,
                      const struct standing *other)
{
    const double gpus =
        (other->share_after - now->share_after) * sketch->standings[track].allocatable_gpus;
    return gpus < 0 ? 0 : gpus < UINT32_MAX ? (uint32_t)gpus : UINT32_MAX;
}

struct light { /* tasks of light parties */
    uint32_t singles, whole_nodes;
};

/* Serves what is light in the track before the turn of the heavy party of another one, or of its
 * own; adds up the tasks. */
static void serve_light(const struct orr_victim_search *search, uint32_t track, uint32_t heavy,
                        struct light *served)
{
    const struct orr_forecast *f = search->forecast;
    const struct orr_sketch *sketch = f->sketch;
    struct lane *lane = &sketch->lanes[track];
    const struct standing *worst = &sketch->lanes[heavy].worst;
    while (lane->left > 0 && !sketch->runs[lane->next.run].heavy) {
        const struct orr_seat *seat = &f->seats[sketch->runs[lane->next.run].seat];
        uint32_t count = lane->left;
        if (track != heavy) {
            const struct standing *next = orr_sketch__standing_at(search, track, &lane->next);
            if (!orr_sketch__is_before(f, track, next, heavy, worst)) {
                return;
            }
            count = count_before(search, track, &lane->next, lane->left,
                                 guess(sketch, track, next, worst), heavy, worst);
        }
        *(seat->gpus == 1 ? &served->singles : &served->whole_nodes) += count * seat->tasks;
        const bool all = count == lane->left;
        serve_some(f, track, count);
        if (!all) {
            return;
        }
    }
}

/* The track with the heavy party whose turn comes next; ORR_NONE: there are none left. */
static uint32_t next_heavy(const struct orr_forecast *f)
{
    const struct orr_sketch *sketch = f->sketch;
    uint32_t best = ORR_NONE;
    for (uint32_t i = 0; i < sketch->active_count; i++) {
        const uint32_t t = sketch->active[i];
        if (sketch->lanes[t].heavy != ORR_NONE &&
            (best == ORR_NONE || orr_sketch__is_before(f, t, &sketch->lanes[t].worst, best,
                                                       &sketch->lanes[best].worst))) {
            best = t;
        }
    }
    return best;
}

/* Places tasks and takes them from those left. False: one of them finds no place. */
static bool place(struct orr_tally *rooms, struct orr_tally *left, uint32_t tasks, uint32_t gpus)
{
    if (tasks == 0) {
        return true;
    }
    orr_tally_take(left, gpus, tasks);
    return orr_tally__place(rooms, tasks, gpus) == tasks;
}

/* --- the last heavy victim --- */

/* Where the parties after the last heavy one of a track begin. */
static const struct stretch *after_heavy(const struct orr_sketch *sketch, uint32_t track)
{
    const struct lane *lane = &sketch->lanes[track];
    const struct stretch *end = lane->end;
    while (end > lane->first && !sketch->runs[end[-1].turn.run].heavy) {
        end--;
    }
    return end;
}

/* The worst standing on the way to the last heavy victim of a track. False: there is none. */
static bool stand_last(const struct orr_victim_search *search, uint32_t track,
                       struct standing *worst)
{
    const struct orr_sketch *sketch = search->forecast->sketch;
    const struct lane *lane = &sketch->lanes[track];
    const struct stretch *end = after_heavy(sketch, track);
    *worst = best_of_all;
    for (const struct stretch *at = lane->first; at < end; at++) {
        pass_run(search, track, at->count, &at->turn, worst);
    }
    return end > lane->first;
}

/* Tasks of one GPU in the track that are surely served after the last heavy victim, whose track
 * stands so then: once one is, all that follow. */
static uint32_t count_after(const struct orr_victim_search *search, uint32_t track, uint32_t other,
                            const struct standing *standing)
{
    const struct orr_sketch *sketch = search->forecast->sketch;
    const struct lane *lane = &sketch->lanes[track];
    const struct stretch *at = track == other ? after_heavy(sketch, track) : lane->first;
    uint32_t after = 0;
    bool all = track == other;
    for (; at < lane->end; at++) {
        const uint32_t left = at->count;
        uint32_t before = 0;
        const struct standing *next = orr_sketch__standing_at(search, track, &at->turn);
        if (!all && orr_sketch__is_before(search->forecast, track, next, other, standing)) {
            before = count_before(search, track, &at->turn, left,
                                  guess(sketch, track, next, standing), other, standing);
        }
        all = all || before < left;
        after += sketch->runs[at->turn.run].gpus == 1 ? left - before : 0;
    }
    return after;
}

/* Tasks of one GPU that are surely served after the last heavy victim. When their turns come it is
 * enough that all others found a place: there is room for all, and one of them begins a node that
 * is free only if nothing else is left, so that such nodes are more than the larger tasks need. */
static uint32_t count_after_last(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    const struct orr_sketch *sketch = f->sketch;
    struct standing worst = best_of_all;
    uint32_t last = ORR_NONE;
    uint32_t after = 0;
    for (uint32_t i = 0; i < sketch->active_count; i++) {
        const uint32_t t = sketch->active[i];
        struct standing standing;
        if (!orr_sketch__is_even(sketch, t)) {
            return 0;
        }
        if (t != f->seats[0].track && stand_last(search, t, &standing) &&
            (last == ORR_NONE || orr_sketch__is_before(f, last, &worst, t, &standing))) {
            last = t;
            worst = standing;
        }
    }
    for (uint32_t i = 0; i < sketch->active_count && last != ORR_NONE; i++) {
        const uint32_t t = sketch->active[i];
        if (t != f->seats[0].track) {
            after += count_after(search, t, last, &worst);
        }
    }
    return after;
}

bool orr_sketch__serve(const struct orr_victim_search *search, const struct orr_tally *all_rooms,
                       const struct orr_tally *all_tasks)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    const struct orr_seat *own = f->seats;
    struct orr_tally rooms = *all_rooms;
    struct orr_tally tasks = *all_tasks;
    if (sketch->standings == NULL) {
        orr_sketch__make_standings(search);
    }
    sketch->late = sketch->hand->late;
    if (sketch->late == 0) {
        orr_tally_take(&tasks, 1, count_after_last(search));
        if (orr_tally__hold_all(&rooms, &tasks)) {
            return false;
        }
    }
    open_lanes(search);
    for (uint32_t heavy; (heavy = next_heavy(f)) != ORR_NONE;) {
        struct light served = {0};
        for (uint32_t i = 0; i < sketch->active_count; i++) {
            serve_light(search, sketch->active[i], heavy, &served);
        }
        if (!place(&rooms, &tasks, served.singles, 1) ||
            !place(&rooms, &tasks, served.whole_nodes, (uint32_t)f->largest_node)) {
            return true;
        }
        const struct orr_seat *seat = &f->seats[sketch->runs[sketch->lanes[heavy].heavy].seat];
        if (seat == own) {
            return orr_tally__places(&rooms, own->gpus) >= own->tasks;
        }
        if (!place(&rooms, &tasks, seat->tasks, seat->gpus)) {
            /* Nor does a preemptor that asks no less find a place. */
            return seat->gpus > own->gpus || seat->tasks > own->tasks;
        }
        serve_some(f, heavy, 1);
        look_ahead(search, heavy);
        if (sketch->late == 0 && orr_tally__hold_all(&rooms, &tasks)) {
            return false;
        }
    }
    /* Only tasks that fill a node may find none, if others began it. */
    return rooms.count[f->largest_node] < tasks.count[f->largest_node];
}
