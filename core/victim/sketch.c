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
    bool heavy;       /* its turn matters; see serve */
    uint32_t waits;   /* the last one up to it before whose first any job waits; or NONE */
    uint64_t waiting; /* demands of jobs that wait just before its first */
    uint64_t print;   /* of its queue, how that stands, and what a party asks */
};

/* How a track stands whose next party is of such a kind, with such jobs waiting before it. What is
 * compared first is in one number: over, fed, priority, violates. */
struct standing {
    uint64_t waiting;
    uint32_t kind; /* 0: not worked out yet */
    uint32_t first;
    double share_after, share_now;
};

/* A party of a track as its turn comes. */
struct turn {
    uint32_t run, lacking; /* GPUs of what the queue held before */
    uint64_t waiting;
};

struct lane { /* a track of one scenario */
    struct turn next;
    uint32_t left;  /* of its run; 0: no more parties */
    uint32_t guess; /* how many were served last time before another's turn */
    int64_t held[ORR_SHARE_KINDS];
    uint32_t heavy;        /* run of the next heavy party, or ORR_NONE */
    struct standing worst; /* on the way to it */
};

struct standings { /* of a track, for all scenarios of a search */
    /* Of light and heavy parties by GPUs lacking, each the last one asked for; NULL if these do not
     * tell what the queue holds. */
    struct standing *items[2];
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
    uint32_t *active;            /* tracks with parties */
    uint32_t active_count;
    uint32_t late;               /* parties left that may be served after the preemptor */
    const struct orr_hand *hand; /* of the scenario */
    uint32_t printed_for;        /* so many of the preemptor's tasks: prints, */
    uint64_t print;              /* of what no scenario changes */
    uint64_t demand_prints[ORR_FORECAST_DEMANDS];
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
            const bool first = sketch->first_run[track] == sketch->run_count;
            const uint32_t before = first ? ORR_NONE : sketch->runs[sketch->run_count - 1].waits;
            sketch->runs[sketch->run_count] =
                (struct run){.seat = seat,
                             .gpus = f->seats[seat].gpus * f->seats[seat].tasks,
                             .waits = f->between[p] != 0 ? sketch->run_count : before,
                             .waiting = f->between[p]};
            sketch->run_count++;
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
    sketch->usable = f->room_in_all == 0 && f->most_idle == 0 && search->recorded.count == 0 &&
                     !f->seats[0].unlike;
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

static bool is_heavy(const struct orr_forecast *f, const struct orr_seat *seat)
{
    return !(seat->gpus == 1 && seat->tasks == 1) && (int32_t)seat->gpus < f->largest_node;
}

static void make_standings(const struct orr_victim_search *search)
{
    struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->standings = orr_arena_alloc(&f->arena, f->track_count, sizeof *sketch->standings);
    for (uint32_t t = 0; t < f->track_count; t++) {
        const uint32_t gpus = tell_kinds(f, t);
        const bool even = t != f->seats[0].track && is_even(f, t);
        rank_alike(search, t);
        for (int i = 0; i < 2 && even; i++) {
            sketch->standings[t].items[i] =
                orr_arena_alloc(&f->arena, gpus + (size_t)1, sizeof(struct standing));
        }
        for (uint32_t r = sketch->first_run[t]; r < sketch->first_run[t + 1]; r++) {
            sketch->runs[r].heavy = !even || is_heavy(f, &f->seats[sketch->runs[r].seat]);
        }
    }
}

static struct standing work_out(const struct orr_victim_search *search, uint32_t track,
                                const struct turn *turn)
{
    const struct orr_forecast *f = search->forecast;
    const struct lane *lane = &f->sketch->lanes[track];
    const struct run *run = &f->sketch->runs[turn->run];
    const struct orr_demand *demand = &f->seats[run->seat].demand;
    const int64_t served = lane->next.lacking - turn->lacking;
    struct orr_queue_rank rank;
    int64_t held[ORR_SHARE_KINDS];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        held[kind] =
            lane->held[kind] + (served == 0 ? 0 : demand->v[kind] * served / (int64_t)run->gpus);
    }
    orr_forecast__block(search, f->tracks[track].queue, held, demand, turn->waiting, &rank);
    return (struct standing){.waiting = turn->waiting,
                             .kind = run->kind,
                             .first = (uint32_t)rank.over << 31 | (uint32_t)rank.fed << 30 |
                                      f->sketch->standings[track].priority << 1 | rank.violates,
                             .share_after = rank.share_after,
                             .share_now = rank.share_now};
}

/* Good until the next one is asked for. Of a track that is not even, for the lane's next party. */
static const struct standing *standing_at(const struct orr_victim_search *search, uint32_t track,
                                          const struct turn *turn)
{
    const struct run *run = &search->forecast->sketch->runs[turn->run];
    struct standings *standings = &search->forecast->sketch->standings[track];
    struct standing *item = &standings->one;
    if (standings->items[run->heavy] != NULL) {
        item = &standings->items[run->heavy][turn->lacking];
        if (item->kind == run->kind && item->waiting == turn->waiting) {
            return item;
        }
    }
    *item = work_out(search, track, turn);
    return item;
}

static int compare(const struct standing *one, const struct standing *other)
{
    if (one->first != other->first) {
        return one->first < other->first ? -1 : 1;
    }
    if (one->share_after < other->share_after || one->share_after > other->share_after) {
        return one->share_after < other->share_after ? -1 : 1;
    }
    return (one->share_now > other->share_now) - (one->share_now < other->share_now);
}

static bool is_before(const struct orr_forecast *f, uint32_t a, const struct standing *one,
                      uint32_t b, const struct standing *other)
{
    const int fixed = orr_forecast__compare_fixed(f, a, b);
    const int order = fixed != 0 ? fixed : compare(one, other);
    return order != 0 ? order < 0 : f->sketch->standings[a].before < f->sketch->standings[b].before;
}

/* --- lanes --- */

/* Moves on to the next run of the track with parties, from `run` on. Returns how many. */
static uint32_t find_run(const struct orr_sketch *sketch, uint32_t track, struct turn *turn)
{
    const uint32_t end = sketch->first_run[track + 1];
    const uint32_t from = turn->run;
    uint32_t word = from / 64;
    uint64_t bits = sketch->hand->some[word] & UINT64_MAX << from % 64;
    while (bits == 0 && 64 * (word + 1) < end) {
        bits = sketch->hand->some[++word];
    }
    turn->run = bits == 0 ? end : 64 * word + (uint32_t)__builtin_ctzll(bits);
    if (turn->run >= end) {
        return 0;
    }
    const uint32_t waits = sketch->runs[turn->run].waits;
    for (uint32_t r = from; waits != ORR_NONE && r <= waits; r++) {
        turn->waiting |= sketch->runs[r].waiting;
    }
    return sketch->hand->counts[turn->run];
}

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
        const struct standing *first = standing_at(search, track, &turn);
        if (!any || compare(first, &lane->worst) > 0) {
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
            const struct standing *last = standing_at(search, track, &turn);
            lane->worst = compare(last, &lane->worst) > 0 ? *last : lane->worst;
        }
        turn.lacking -= run->gpus;
        turn.run++;
        left = find_run(sketch, track, &turn);
    }
}

static void open_lane(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    struct lane *lane = &sketch->lanes[track];
    const int64_t *held = search->session->queues[f->tracks[track].queue].allocated;
    const struct run *run = &sketch->runs[sketch->first_run[track]];
    const uint32_t gpus = sketch->hand->gpus[track];
    lane->guess = 1;
    if (sketch->standings[track].items[0] != NULL) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            lane->held[kind] =
                held[kind] - f->seats[run->seat].demand.v[kind] * gpus / (int64_t)run->gpus;
        }
    } else {
        memcpy(lane->held, held, sizeof lane->held);
        for (uint32_t r = sketch->first_run[track]; r < sketch->first_run[track + 1]; r++) {
            const struct orr_seat *seat = &f->seats[sketch->runs[r].seat];
            for (unsigned kind = 0; kind < ORR_SHARE_KINDS && seat != f->seats; kind++) {
                lane->held[kind] -= sketch->hand->counts[r] * seat->demand.v[kind];
            }
        }
    }
    lane->next = (struct turn){.run = sketch->first_run[track], .lacking = gpus};
    lane->left = find_run(sketch, track, &lane->next);
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
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        lane->held[kind] += count * f->seats[run->seat].demand.v[kind];
    }
    lane->next.lacking -= count * run->gpus;
    lane->next.waiting = 0;
    lane->left -= count;
    sketch->late -= f->tracks[track].goes_first ? 0 : count;
    if (lane->left == 0) {
        lane->next.run++;
        lane->left = find_run(sketch, track, &lane->next);
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
        if (is_before(f, track, standing_at(search, track, &turn), other, standing)) {
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
            if (!is_before(f, track, standing_at(search, track, &lane->next), heavy, worst)) {
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
            (best == ORR_NONE ||
             is_before(f, t, &sketch->lanes[t].worst, best, &sketch->lanes[best].worst))) {
            best = t;
        }
    }
    return best;
}

/* Places tasks, those of fewest GPUs first. Returns the GPUs of one that finds no place, or 0. */
static uint32_t place_all(struct orr_tally *rooms, const struct orr_tally *tasks)
{
    for (uint32_t bits = tasks->some; bits != 0; bits &= bits - 1) {
        const uint32_t gpus = (uint32_t)__builtin_ctz(bits);
        if (orr_tally__place(rooms, tasks->count[gpus], gpus) < tasks->count[gpus]) {
            return gpus;
        }
    }
    return 0;
}

static void take_all(struct orr_tally *from, const struct orr_tally *tasks)
{
    for (uint32_t bits = tasks->some; bits != 0; bits &= bits - 1) {
        const uint32_t gpus = (uint32_t)__builtin_ctz(bits);
        orr_tally_take(from, gpus, tasks->count[gpus]);
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
        struct orr_tally served = {0};
        const uint32_t heavy = next_heavy(f);
        for (uint32_t i = 0; i < sketch->active_count; i++) {
            serve_light(search, sketch->active[i], heavy, &served);
        }
        if (place_all(&rooms, &served) > 0) {
            return true;
        }
        take_all(&tasks, &served);
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

/* --- sketches known from earlier searches --- */

static uint64_t print_demand(const struct orr_demand *demand)
{
    uint64_t word;
    memcpy(&word, &demand->gpus_by_memory, sizeof word);
    uint64_t print = orr_scatter(word);
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        print = orr_scatter(print ^ (uint64_t)demand->v[kind]);
    }
    return print;
}

static void print_runs(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->printed_for = search->k;
    sketch->print = 1;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        uint64_t word;
        memcpy(&word, &search->session->total[kind], sizeof word);
        sketch->print = orr_scatter(sketch->print ^ word);
    }
    for (uint32_t d = 0; d < f->demand_count; d++) {
        sketch->demand_prints[d] = print_demand(&f->demands[d]);
    }
    for (uint32_t r = 0; r < sketch->run_count; r++) {
        const struct orr_seat *seat = &f->seats[sketch->runs[r].seat];
        const struct orr_track *track = &f->tracks[seat->track];
        const uint64_t words[] = {orr_prospects_standing(search->session, track->queue),
                                  (uint64_t)track->queue << 2 | (uint64_t)track->goes_first << 1 |
                                      (seat == f->seats),
                                  (uint64_t)seat->gpus << 32 | seat->tasks};
        sketch->runs[r].print = print_demand(&seat->demand);
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
            sketch->runs[r].print = orr_scatter(sketch->runs[r].print ^ words[w]);
        }
    }
}

static uint64_t print_waiting(const struct orr_sketch *sketch, uint64_t waiting)
{
    uint64_t print = 0;
    for (; waiting != 0; waiting &= waiting - 1) {
        print += sketch->demand_prints[__builtin_ctzll(waiting)];
    }
    return print;
}

/* Of all that serving looks at: it ends the same for equal prints, though these be other jobs on
 * other nodes. */
static uint64_t print_scenario(const struct orr_forecast *f, const struct orr_tally *rooms)
{
    const struct orr_sketch *sketch = f->sketch;
    uint64_t print = sketch->print;
    uint64_t nth = 0;
    for (uint32_t bits = rooms->some; bits != 0; bits &= bits - 1) {
        const uint32_t gpus = (uint32_t)__builtin_ctz(bits);
        print += orr_scatter((uint64_t)gpus << 32 | rooms->count[gpus]);
    }
    for (uint32_t t = 0; t < f->track_count; t++) {
        struct turn turn = {.run = sketch->first_run[t]};
        for (uint32_t count; (count = find_run(sketch, t, &turn)) > 0; turn.run++) {
            const uint64_t place = orr_scatter(++nth << 32 | count);
            print += orr_scatter(sketch->runs[turn.run].print + place +
                                 print_waiting(sketch, turn.waiting));
            turn.waiting = 0;
        }
    }
    return print;
}

/* What serving says, or said when it was asked the same in this search or another one. */
static bool serve_or_recall(const struct orr_victim_search *search, const struct orr_taken *taken)
{
    struct orr_sketch *sketch = search->forecast->sketch;
    sketch->hand = taken->hand;
    if (sketch->printed_for != search->k) {
        print_runs(search);
    }
    const uint64_t print =
        print_scenario(search->forecast, &taken->rooms) | 2; /* never that of none */
    uint64_t *known = orr_prospects_sketch(search->session, print);
    if ((*known | 1) != (print | 1)) {
        *known = (print & ~UINT64_C(1)) | serve(search, taken->rooms, taken->hand->tasks);
    }
    return (*known & 1) != 0;
}

/* Of victims that a sketch will do for. */
static bool may_leave_place(struct orr_victim_search *search, const struct orr_taken *taken)
{
    const struct orr_forecast *f = search->forecast;
    const struct orr_seat *own = f->seats;
    const bool one_node = taken->to == taken->from + 1 && !taken->sizes.gangs;
    if (f->over_quota ||
        (taken->hand->late == 0 && (one_node || orr_forecast__leave_nothing(f, &taken->sizes) ||
                                    orr_tally__hold_all(&taken->rooms, &taken->hand->tasks))) ||
        orr_tally__places(&taken->rooms, own->gpus) < own->tasks) {
        return false;
    }
    return serve_or_recall(search, taken);
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
