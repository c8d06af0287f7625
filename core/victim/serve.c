/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving a sketch: the tracks are merged in the order of their standings. Of most parties the turn
 * does not matter: tasks of one GPU find a place whenever they are served, as long as all others
 * did, and tasks that fill a node are alone in wanting an untouched one. These light parties are
 * only counted between the turns of heavy ones.
 */
#include "sketch_int.h"

#include <string.h>

/* --- lanes --- */

/* The lane's next heavy party, and the worst standing on the way to it: as long as another track's
 * stands better, that one's turn comes first, whatever else is before either. */
static void look_ahead(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_sketch *sketch = search->forecast->sketch;
    struct lane *lane = &sketch->lanes[track];
    struct turn turn = lane->next;
    uint32_t left = lane->left;
    bool any = false;
    lane->heavy = ORR_NONE;
    while (left > 0) {
        const struct run *run = &sketch->runs[turn.run];
        const struct standing *first = orr_sketch__standing_at(search, track, &turn);
        if (!any || orr_sketch__compare(first, &lane->worst) > 0) {
            lane->worst = *first;
        }
        any = true;
        if (run->heavy) {
            lane->heavy = turn.run;
            return;
        }
        turn.waiting = 0;
        if (left > 1) {
            turn.lacking -= (left - 1) * run->gpus;
            const struct standing *last = orr_sketch__standing_at(search, track, &turn);
            lane->worst = orr_sketch__compare(last, &lane->worst) > 0 ? *last : lane->worst;
        }
        turn.lacking -= run->gpus;
        turn.run++;
        left = orr_sketch__find_run(sketch, track, &turn);
    }
}

static void open_lane(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    struct lane *lane = &sketch->lanes[track];
    const int64_t *held = search->session->queues[f->tracks[track].queue].allocated;
    lane->guess = 1;
    if (!orr_sketch__is_even(sketch, track)) {
        memcpy(lane->held, held, sizeof lane->held);
        for (uint32_t r = sketch->first_run[track]; r < sketch->first_run[track + 1]; r++) {
            const struct orr_seat *seat = &f->seats[sketch->runs[r].seat];
            for (unsigned kind = 0; kind < ORR_SHARE_KINDS && seat != f->seats; kind++) {
                lane->held[kind] -= sketch->hand->counts[r] * seat->demand.v[kind];
            }
        }
    }
    lane->next =
        (struct turn){.run = sketch->first_run[track], .lacking = sketch->hand->gpus[track]};
    lane->left = orr_sketch__find_run(sketch, track, &lane->next);
}

static void open_lanes(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->active_count = 0;
    sketch->late = sketch->hand->late;
    for (uint32_t t = 0; t < f->track_count; t++) {
        open_lane(search, t);
        if (sketch->lanes[t].left > 0) {
            look_ahead(search, t);
            sketch->active[sketch->active_count++] = t;
        }
    }
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
        lane->next.run++;
        lane->left = orr_sketch__find_run(sketch, track, &lane->next);
    }
}

/* --- serving --- */

/* Of the run that is next, how many are served before the turn of another track, the first of them
 * being one: those after it stand the worse the more are served. The first guess is what it was
 * last time. */
static uint32_t count_before(const struct orr_victim_search *search, uint32_t track, uint32_t other,
                             const struct standing *standing)
{
    const struct orr_forecast *f = search->forecast;
    struct lane *lane = &f->sketch->lanes[track];
    const uint32_t gpus = f->sketch->runs[lane->next.run].gpus;
    struct turn turn = {.run = lane->next.run};
    uint32_t low = 1;
    uint32_t high = lane->left;
    uint32_t probe = lane->guess;
    for (uint32_t step = 1; low < high; step *= 2) {
        probe = probe < low ? low : probe >= high ? high - 1 : probe;
        turn.lacking = lane->next.lacking - probe * gpus;
        if (orr_sketch__is_before(f, track, orr_sketch__standing_at(search, track, &turn), other,
                                  standing)) {
            low = probe + 1;
            probe += step;
        } else {
            high = probe;
            probe = step == 1 ? high - 1 : low + (high - low) / 2;
        }
    }
    lane->guess = low;
    return low;
}

/* Serves what is light in the track before the turn of the heavy party of another one, or of its
 * own; adds up the tasks. */
static void serve_light(const struct orr_victim_search *search, uint32_t track, uint32_t heavy,
                        struct orr_tally *served)
{
    const struct orr_forecast *f = search->forecast;
    const struct orr_sketch *sketch = f->sketch;
    const struct lane *lane = &sketch->lanes[track];
    const struct standing *worst = &sketch->lanes[heavy].worst;
    while (lane->left > 0 && !sketch->runs[lane->next.run].heavy) {
        const struct orr_seat *seat = &f->seats[sketch->runs[lane->next.run].seat];
        uint32_t count = lane->left;
        if (track != heavy) {
            if (!orr_sketch__is_before(
                    f, track, orr_sketch__standing_at(search, track, &lane->next), heavy, worst)) {
                return;
            }
            count = count_before(search, track, heavy, worst);
        }
        orr_tally_add(served, seat->gpus, count * seat->tasks);
        const bool all = count == lane->left;
        serve_some(f, track, count);
        if (!all) {
            return;
        }
    }
}

/* The track with the heavy party whose turn comes next; there is one until the preemptor's. */
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

/* Places tasks, those of fewest GPUs first, and takes them from those left. False: one of them
 * finds no place. */
static bool place_all(struct orr_tally *rooms, const struct orr_tally *tasks,
                      struct orr_tally *left)
{
    for (uint32_t bits = tasks->some; bits != 0; bits &= bits - 1) {
        const uint32_t gpus = (uint32_t)__builtin_ctz(bits);
        if (orr_tally__place(rooms, tasks->count[gpus], gpus) < tasks->count[gpus]) {
            return false;
        }
        orr_tally_take(left, gpus, tasks->count[gpus]);
    }
    return true;
}

bool orr_sketch__serve(const struct orr_victim_search *search, struct orr_tally rooms,
                       struct orr_tally tasks)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    const struct orr_seat *own = f->seats;
    if (sketch->standings == NULL) {
        orr_sketch__make_standings(search);
    }
    open_lanes(search);
    for (;;) {
        struct orr_tally served = {0};
        const uint32_t heavy = next_heavy(f);
        for (uint32_t i = 0; i < sketch->active_count; i++) {
            serve_light(search, sketch->active[i], heavy, &served);
        }
        if (!place_all(&rooms, &served, &tasks)) {
            return true;
        }
        const struct orr_seat *seat = &f->seats[sketch->runs[sketch->lanes[heavy].heavy].seat];
        if (seat == own) {
            return orr_tally__places(&rooms, own->gpus) >= own->tasks;
        }
        if (orr_tally__place(&rooms, seat->tasks, seat->gpus) < seat->tasks) {
            /* Nor does a preemptor that asks no less find a place. */
            return seat->gpus > own->gpus || seat->tasks > own->tasks;
        }
        orr_tally_take(&tasks, seat->gpus, seat->tasks);
        serve_some(f, heavy, 1);
        look_ahead(search, heavy);
        if (sketch->late == 0 && orr_tally__hold_all(&rooms, &tasks)) {
            return false;
        }
    }
}
