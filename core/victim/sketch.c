/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rehearsal (rehearse.c) on less: how many nodes have how much room. It serves when nothing is
 * idle anywhere, so that nodes with equal room are as good as each other, and says for sure when
 * the preemptor finds no place. Everything else is left to the rehearsal. What is taken back while
 * it waits for GPUs being released leaves fewer idle than none, so that these are like the others.
 *
 * Victims of one queue that are next to each other in line, ask the same and have nobody waiting
 * between them are a run. Of a run only the number of chosen ones matters, and many of them can be
 * served at a time: those that are before the next best queue. Served together, they fill the
 * fullest node with room, then the next.
 */
#include "forecast_int.h"

#include <string.h>

struct run {
    uint32_t seat;    /* one of them */
    uint32_t kind;    /* the same for those of the track that ask the same; from 1 */
    uint32_t gpus;    /* of each party */
    uint64_t waiting; /* demands of jobs that wait just before its first */
};

/* How a track stands whose next party is of such a kind, with such jobs waiting before it. What is
 * compared first is in one number: over, fed, priority, violates. */
struct standing {
    uint64_t waiting;
    uint32_t kind; /* 0: not worked out yet */
    uint32_t first;
    double share_after, share_now;
};

struct lane {           /* a track of one scenario */
    uint32_t run, left; /* the run that is next, and how many of it */
    uint32_t lacking;   /* GPUs of what the queue held before */
    uint32_t turn;      /* how many were served last time */
    uint64_t waiting;
    int64_t held[ORR_SHARE_KINDS];
    struct standing now;
};

struct standings { /* of a track, for all scenarios of a search */
    /* By GPUs lacking, each the last one asked for; NULL if these do not tell what the queue holds.
     */
    struct standing *items;
    struct standing one; /* then */
    uint32_t priority;   /* tracks of more */
    uint32_t before;     /* tracks that are served before it if all else is equal */
};

struct orr_sketch {
    bool usable;
    struct run *runs; /* by track, in line */
    uint32_t run_count;
    uint32_t *first_run;         /* by track, and where the last one's end */
    struct lane *lanes;          /* by track */
    struct standings *standings; /* by track; made with the first scenario that is served */
    uint32_t *active;            /* tracks with parties left, the one that is next first */
    uint32_t active_count;
    uint32_t late;          /* parties left that may be served after the preemptor */
    const uint32_t *counts; /* by run: chosen */
};

/* --- runs --- */

static bool same_run(const struct orr_forecast *f, uint32_t place)
{
    const struct orr_seat *a = &f->seats[f->line[place - 1]];
    const struct orr_seat *b = &f->seats[f->line[place]];
    return f->between[place] == 0 && a->track == b->track && a != f->seats && b != f->seats &&
           a->tasks == 1 && b->tasks == 1 && a->gpus == b->gpus &&
           memcmp(&a->demand, &b->demand, sizeof a->demand) == 0;
}

struct orr_sketch *orr_forecast__make_sketch(struct orr_victim_search *search)
{
    struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = orr_arena_alloc(&f->arena, 1, sizeof *sketch);
    sketch->runs = orr_arena_alloc(&f->arena, f->seat_count, sizeof *sketch->runs);
    sketch->first_run = orr_arena_alloc(&f->arena, f->track_count + (size_t)1, sizeof(uint32_t));
    sketch->lanes = orr_arena_alloc(&f->arena, f->track_count, sizeof *sketch->lanes);
    sketch->active = orr_arena_alloc(&f->arena, f->track_count, sizeof *sketch->active);
    for (uint32_t p = 0; p < f->seat_count; p++) {
        const uint32_t seat = f->line[p];
        const uint32_t track = f->seats[seat].track;
        if (p == 0 || f->seats[f->line[p - 1]].track != track) {
            sketch->first_run[track] = sketch->run_count;
        }
        if (p == 0 || !same_run(f, p)) {
            sketch->runs[sketch->run_count++] =
                (struct run){.seat = seat,
                             .gpus = f->seats[seat].gpus * f->seats[seat].tasks,
                             .waiting = f->between[p]};
        }
        f->seats[seat].run = sketch->run_count - 1;
    }
    sketch->first_run[f->track_count] = sketch->run_count;
    return sketch;
}

void orr_forecast__start_sketch(struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->usable = f->room_in_all == 0 && f->most_idle == 0 && search->recorded.count == 0;
    for (uint32_t t = 0; t < f->track_count; t++) {
        sketch->usable = sketch->usable && !f->tracks[t].limited;
    }
}

/* --- standings --- */

static uint32_t gpus_of(const struct orr_demand *demand)
{
    return (uint32_t)(demand->v[ORR_SHARE_GPU] / ORR_MGPU);
}

/* Parties of the track hold as much of everything for each GPU, so that it is the same whoever of
 * them is chosen. */
static bool is_even(const struct orr_forecast *f, uint32_t track)
{
    const struct orr_sketch *sketch = f->sketch;
    const struct orr_demand *one = NULL;
    for (uint32_t r = sketch->first_run[track]; r < sketch->first_run[track + 1]; r++) {
        const struct orr_demand *other = &f->seats[sketch->runs[r].seat].demand;
        one = one == NULL ? other : one;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            if (one->v[kind] * gpus_of(other) != other->v[kind] * gpus_of(one)) {
                return false;
            }
        }
    }
    return true;
}

/* Numbers the kinds of the track's runs; returns the GPUs of all its parties. */
static uint32_t tell_kinds(const struct orr_forecast *f, uint32_t track)
{
    struct orr_sketch *sketch = f->sketch;
    const uint32_t first = sketch->first_run[track];
    uint32_t gpus = 0;
    for (uint32_t p = f->tracks[track].first;
         p < f->seat_count && f->seats[f->line[p]].track == track; p++) {
        gpus += gpus_of(&f->seats[f->line[p]].demand);
    }
    for (uint32_t r = first; r < sketch->first_run[track + 1]; r++) {
        const struct orr_demand *demand = &f->seats[sketch->runs[r].seat].demand;
        uint32_t like = first;
        while (memcmp(&f->seats[sketch->runs[like].seat].demand, demand, sizeof *demand) != 0) {
            like++;
        }
        sketch->runs[r].kind = like - first + 1;
    }
    return gpus;
}

/* Of tracks that stand alike. */
static void rank_alike(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_forecast *f = search->forecast;
    struct standings *standings = &f->sketch->standings[track];
    const struct orr_queue_rank own = {.queue = f->tracks[track].queue};
    for (uint32_t t = 0; t < f->track_count; t++) {
        const struct orr_queue_rank other = {.queue = f->tracks[t].queue};
        const struct orr_session *session = search->session;
        standings->priority +=
            session->rules.proportion && orr_queue_compare_amounts(session, &other, &own) < 0;
        standings->before += orr_queue_compare_ranks(session, &other, &own) < 0;
    }
}

static void make_standings(const struct orr_victim_search *search)
{
    struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->standings = orr_arena_alloc(&f->arena, f->track_count, sizeof *sketch->standings);
    for (uint32_t t = 0; t < f->track_count; t++) {
        const uint32_t gpus = tell_kinds(f, t);
        rank_alike(search, t);
        if (t != f->seats[0].track && is_even(f, t)) {
            sketch->standings[t].items =
                orr_arena_alloc(&f->arena, gpus + (size_t)1, sizeof(struct standing));
        }
    }
}

static const struct orr_seat *next_seat(const struct orr_forecast *f, uint32_t track)
{
    return &f->seats[f->sketch->runs[f->sketch->lanes[track].run].seat];
}

static struct standing work_out(const struct orr_victim_search *search, uint32_t track,
                                uint32_t served, uint64_t waiting)
{
    const struct orr_forecast *f = search->forecast;
    const struct lane *lane = &f->sketch->lanes[track];
    const struct orr_demand *demand = &next_seat(f, track)->demand;
    struct orr_queue_rank rank;
    int64_t held[ORR_SHARE_KINDS];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        held[kind] = lane->held[kind] + served * demand->v[kind];
    }
    orr_forecast__block(search, f->tracks[track].queue, held, demand, waiting, &rank);
    return (struct standing){.waiting = waiting,
                             .kind = f->sketch->runs[lane->run].kind,
                             .first = (uint32_t)rank.over << 31 | (uint32_t)rank.fed << 30 |
                                      f->sketch->standings[track].priority << 1 | rank.violates,
                             .share_after = rank.share_after,
                             .share_now = rank.share_now};
}

/* Of the track once so many of the run that is next were served; good until the next one is asked
 * for. */
static const struct standing *standing_after(const struct orr_victim_search *search, uint32_t track,
                                             uint32_t served)
{
    const struct orr_forecast *f = search->forecast;
    const struct orr_sketch *sketch = f->sketch;
    const struct lane *lane = &sketch->lanes[track];
    const struct run *run = &sketch->runs[lane->run];
    const uint64_t waiting = served == 0 ? lane->waiting : 0;
    struct standings *standings = &sketch->standings[track];
    struct standing *item = &standings->one;
    if (standings->items != NULL) {
        item = &standings->items[lane->lacking - served * run->gpus];
        if (item->kind == run->kind && item->waiting == waiting) {
            return item;
        }
    }
    *item = work_out(search, track, served, waiting);
    return item;
}

static bool is_before(const struct orr_forecast *f, uint32_t a, const struct standing *one,
                      uint32_t b)
{
    const struct standing *other = &f->sketch->lanes[b].now;
    const int fixed = orr_forecast__compare_fixed(f, a, b);
    if (fixed != 0) {
        return fixed < 0;
    }
    if (one->first != other->first) {
        return one->first < other->first;
    }
    if (one->share_after < other->share_after || one->share_after > other->share_after) {
        return one->share_after < other->share_after;
    }
    if (one->share_now < other->share_now || one->share_now > other->share_now) {
        return one->share_now < other->share_now;
    }
    return f->sketch->standings[a].before < f->sketch->standings[b].before;
}

/* --- serving --- */

/* The lane's next run; false: none is left. */
static bool next_run(const struct orr_forecast *f, uint32_t track)
{
    struct orr_sketch *sketch = f->sketch;
    struct lane *lane = &sketch->lanes[track];
    lane->waiting = 0;
    for (; lane->run < sketch->first_run[track + 1]; lane->run++) {
        lane->waiting |= sketch->runs[lane->run].waiting;
        lane->left = sketch->counts[lane->run];
        if (lane->left > 0) {
            return true;
        }
    }
    return false;
}

/* The first of the active tracks goes where it belongs among the others, which are in order. */
static void sink(const struct orr_forecast *f)
{
    struct orr_sketch *sketch = f->sketch;
    const uint32_t track = sketch->active[0];
    uint32_t at = 0;
    while (
        at + 1 < sketch->active_count &&
        is_before(f, sketch->active[at + 1], &sketch->lanes[sketch->active[at + 1]].now, track)) {
        sketch->active[at] = sketch->active[at + 1];
        at++;
    }
    sketch->active[at] = track;
}

static void open_lane(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    struct lane *lane = &sketch->lanes[track];
    memcpy(lane->held, search->session->queues[f->tracks[track].queue].allocated,
           sizeof lane->held);
    lane->lacking = 0;
    lane->turn = 1;
    for (uint32_t r = sketch->first_run[track]; r < sketch->first_run[track + 1]; r++) {
        const struct run *run = &sketch->runs[r];
        const struct orr_seat *seat = &f->seats[run->seat];
        const uint32_t count = sketch->counts[r];
        if (count == 0 || seat == f->seats) {
            continue;
        }
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            lane->held[kind] -= count * seat->demand.v[kind];
        }
        lane->lacking += count * run->gpus;
        sketch->late += f->tracks[track].goes_first ? 0 : count;
    }
    lane->run = sketch->first_run[track];
}

static void open_lanes(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->active_count = sketch->late = 0;
    for (uint32_t t = f->track_count; t-- > 0;) {
        open_lane(search, t);
        if (next_run(f, t)) {
            sketch->lanes[t].now = *standing_after(search, t, 0);
            memmove(sketch->active + 1, sketch->active,
                    sketch->active_count++ * sizeof *sketch->active);
            sketch->active[0] = t;
            sink(f);
        }
    }
}

/* So many of the run that is next were placed. */
static void serve_some(const struct orr_forecast *f, struct lane *lane, uint32_t count)
{
    const struct run *run = &f->sketch->runs[lane->run];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        lane->held[kind] += count * f->seats[run->seat].demand.v[kind];
    }
    lane->lacking -= count * run->gpus;
    lane->waiting = 0;
    lane->left -= count;
}

/* Would the first lane still be first once `served` of its run were? */
static bool still_first(const struct orr_victim_search *search, uint32_t served)
{
    const struct orr_forecast *f = search->forecast;
    const uint32_t *active = f->sketch->active;
    return is_before(f, active[0], standing_after(search, active[0], served), active[1]);
}

/* How many of the first lane's run are served before the second lane's turn. What stands after them
 * grows with their number; the first guess is what it was last time. */
static uint32_t count_turn(const struct orr_victim_search *search)
{
    const struct orr_sketch *sketch = search->forecast->sketch;
    struct lane *lane = &sketch->lanes[sketch->active[0]];
    if (sketch->active_count == 1) {
        return lane->left;
    }
    uint32_t low = 1; /* so many are */
    uint32_t high = lane->left;
    uint32_t probe = lane->turn;
    for (uint32_t step = 1; low < high; step *= 2) {
        probe = probe < low ? low : probe >= high ? high - 1 : probe;
        if (still_first(search, probe)) {
            low = probe + 1;
            probe += step;
        } else {
            high = probe;
            probe = step == 1 ? high - 1 : low + (high - low) / 2;
        }
    }
    lane->turn = low;
    return low;
}

/* The first lane's run goes on, or its next one is where it belongs. */
static void go_on(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    const uint32_t track = sketch->active[0];
    struct lane *lane = &sketch->lanes[track];
    lane->run += lane->left == 0;
    if (lane->left == 0 && !next_run(f, track)) {
        memmove(sketch->active, sketch->active + 1,
                --sketch->active_count * sizeof *sketch->active);
    } else {
        lane->now = *standing_after(search, track, 0);
        sink(f);
    }
}

/* Serves victims until it is known that nobody can lose his place before the preemptor's turn, who
 * finds none then. True: there is room at its turn, or somebody did. */
static bool serve(const struct orr_victim_search *search, struct orr_tally rooms,
                  struct orr_tally tasks)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    const struct orr_seat *own = f->seats;
    if (sketch->standings == NULL) {
        make_standings(search);
    }
    open_lanes(search);
    for (;;) {
        const uint32_t track = sketch->active[0];
        const struct orr_seat *seat = next_seat(f, track);
        if (seat == own) {
            return orr_tally__places(&rooms, own->gpus) >= own->tasks;
        }
        const bool late = !f->tracks[track].goes_first;
        const uint32_t turn = count_turn(search);
        const uint32_t count = turn * seat->tasks;
        if (orr_tally__place(&rooms, count, seat->gpus) < count) {
            /* Nor does a preemptor that asks no less find a place. */
            return seat->gpus > own->gpus || seat->tasks > own->tasks;
        }
        orr_tally_take(&tasks, seat->gpus, count);
        sketch->late -= late ? turn : 0;
        if (sketch->late == 0 && (late || seat->gpus > 1) && orr_tally__hold_all(&rooms, &tasks)) {
            return false;
        }
        serve_some(f, &sketch->lanes[track], turn);
        go_on(search);
    }
}

/* Of victims that a sketch will do for. */
static bool may_leave_place(struct orr_victim_search *search, const struct orr_taken *taken)
{
    const struct orr_forecast *f = search->forecast;
    const struct orr_seat *own = f->seats;
    const bool one_node = taken->to == taken->from + 1 && !taken->sizes.gangs;
    if (f->over_quota ||
        (taken->all_first && (one_node || orr_forecast__leave_nothing(f, &taken->sizes) ||
                              orr_tally__hold_all(&taken->rooms, &taken->tasks))) ||
        orr_tally__places(&taken->rooms, own->gpus) < own->tasks) {
        return false;
    }
    f->sketch->counts = taken->counts;
    return serve(search, taken->rooms, taken->tasks);
}

bool orr_victim__leaves_place(struct orr_victim_search *search, uint32_t from, uint32_t to,
                              uint32_t nth)
{
    struct orr_taken taken;
    if (!search->forecast->sketch->usable) {
        return true;
    }
    orr_forecast__take(search, from, to, nth, &taken);
    const bool place = taken.sizes.unlike || may_leave_place(search, &taken);
    orr_forecast__put_back(search, &taken);
    if (!place) {
        orr_victim__reached(search, ORR_OUTCOME_NOT_PLACED);
    }
    return place;
}
