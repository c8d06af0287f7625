/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rehearsal (rehearse.c) on less: how many nodes have how much room. It serves when nothing is
 * idle anywhere, so that nodes with equal room are as good as each other, and says for sure when
 * the preemptor finds no place. Everything else is left to the rehearsal.
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
    uint64_t waiting; /* demands of jobs that wait just before its first */
    uint32_t count;   /* chosen */
};

struct lane {           /* a track of one scenario */
    uint32_t run, left; /* the run that is next, and how many of it */
    uint64_t waiting;
    int64_t held[ORR_SHARE_KINDS];
    bool ranked, foreseen;
    struct orr_queue_rank worst, next; /* next: of one more served, if foreseen */
};

struct rooms {                                   /* nodes with room */
    uint32_t nodes[ORR_FORECAST_GPUS + 1], some; /* by GPUs; a bit where there are any */
};

struct orr_sketch {
    bool usable;
    struct run *runs; /* by track, in line */
    uint32_t run_count;
    uint32_t *run_of;    /* by seat */
    uint32_t *first_run; /* by track, and where the last one's end */
    struct lane *lanes;  /* by track */
    uint32_t *active;    /* tracks with parties left */
    uint32_t active_count;
    uint32_t
        weighty; /* parties left that ask more than a GPU, or may be served after the preemptor */
    /* victims in hand: those on the bearing nodes [from, to) of a state */
    uint32_t steps, from, to;
    struct rooms rooms;
    bool unplain;     /* some of them are not for us */
    uint64_t victims; /* sum of the hashes of their tasks */
    bool all_first;   /* all are served before the preemptor */
    struct orr_sizes sizes;
    uint64_t *taken;  /* by seat, for gangs: the scenario that took it in last */
    uint32_t *beyond; /* tasks of gangs that run on other nodes, */
    uint32_t beyond_count;
    int32_t *extra; /* by node: and what they leave there; scratch */
    uint64_t scenario;
};

/* --- runs --- */

static bool same_run(const struct orr_forecast *f, uint32_t place)
{
    const struct orr_seat *a = &f->seats[f->line[place - 1]];
    const struct orr_seat *b = &f->seats[f->line[place]];
    return f->between[place] == 0 && a->track == b->track && a != f->seats && b != f->seats &&
           a->tasks == 1 && b->tasks == 1 && a->gpus == b->gpus && !a->pipelined && !b->pipelined &&
           memcmp(&a->demand, &b->demand, sizeof a->demand) == 0;
}

struct orr_sketch *orr_forecast__make_sketch(struct orr_victim_search *search)
{
    struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = orr_arena_alloc(&f->arena, 1, sizeof *sketch);
    uint32_t tasks = 0;
    sketch->runs = orr_arena_alloc(&f->arena, f->seat_count, sizeof *sketch->runs);
    sketch->run_of = orr_arena_alloc(&f->arena, f->seat_count, sizeof *sketch->run_of);
    sketch->first_run = orr_arena_alloc(&f->arena, f->track_count + (size_t)1, sizeof(uint32_t));
    sketch->lanes = orr_arena_alloc(&f->arena, f->track_count, sizeof *sketch->lanes);
    sketch->active = orr_arena_alloc(&f->arena, f->track_count, sizeof *sketch->active);
    sketch->taken = orr_arena_alloc(&f->arena, f->seat_count, sizeof *sketch->taken);
    sketch->extra = orr_arena_alloc(&f->arena, search->session->node_count, sizeof(int32_t));
    for (uint32_t p = 0; p < f->seat_count; p++) {
        const uint32_t seat = f->line[p];
        const uint32_t track = f->seats[seat].track;
        if (p == 0 || f->seats[f->line[p - 1]].track != track) {
            sketch->first_run[track] = sketch->run_count;
        }
        if (p == 0 || !same_run(f, p)) {
            sketch->runs[sketch->run_count++] =
                (struct run){.seat = seat, .waiting = f->between[p]};
        }
        sketch->run_of[seat] = sketch->run_count - 1;
        tasks += f->seats[seat].tasks;
    }
    sketch->first_run[f->track_count] = sketch->run_count;
    sketch->beyond = orr_arena_alloc(&f->arena, tasks + (size_t)1, sizeof *sketch->beyond);
    return sketch;
}

void orr_forecast__start_sketch(struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->steps = ORR_NONE;
    sketch->usable = f->room_in_all == 0 && f->most_idle == 0 && search->recorded.count == 0;
    for (uint32_t t = 0; t < f->track_count; t++) {
        sketch->usable = sketch->usable && !f->tracks[t].limited;
    }
}

/* --- rooms --- */

static void add_room(struct rooms *rooms, uint32_t gpus)
{
    if (gpus > 0) {
        rooms->nodes[gpus]++;
        rooms->some |= 1u << gpus;
    }
}

/* Each task goes where the least room is that will do. Returns how many found some. */
static uint32_t place(struct rooms *rooms, uint32_t tasks, uint32_t gpus)
{
    uint32_t left = tasks;
    while (left > 0 && rooms->some >> gpus != 0) {
        const uint32_t room = gpus + (uint32_t)__builtin_ctz(rooms->some >> gpus);
        const uint32_t here = left < room / gpus ? left : room / gpus;
        if (--rooms->nodes[room] == 0) {
            rooms->some &= ~(1u << room);
        }
        add_room(rooms, room - here * gpus);
        left -= here;
    }
    return tasks - left;
}

static bool place_gang(struct rooms *rooms, const struct orr_seat *seat)
{
    const struct rooms before = *rooms;
    if (place(rooms, seat->tasks, seat->gpus) == seat->tasks) {
        return true;
    }
    *rooms = before;
    return false;
}

static uint32_t places_for(const struct rooms *rooms, uint32_t gpus)
{
    uint32_t places = 0;
    for (uint32_t bits = rooms->some >> gpus; bits != 0; bits &= bits - 1) {
        const uint32_t room = gpus + (uint32_t)__builtin_ctz(bits);
        places += rooms->nodes[room] * (room / gpus);
    }
    return places;
}

/* --- victims in hand --- */

static void let_go(struct orr_victim_search *search, uint32_t from)
{
    struct orr_sketch *sketch = search->forecast->sketch;
    for (uint32_t r = 0; r < sketch->run_count; r++) {
        sketch->runs[r].count = 0;
    }
    sketch->scenario++;
    sketch->steps = search->steps;
    sketch->from = sketch->to = from;
    sketch->beyond_count = 0;
    sketch->unplain = false;
    sketch->all_first = true;
    sketch->victims = 0;
    sketch->sizes = (struct orr_sizes){0};
    memset(&sketch->rooms, 0, sizeof sketch->rooms);
}

static void take_victim(const struct orr_victim_search *search, uint32_t job)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    const uint32_t index = search->session->jobs[job].mark;
    const struct orr_seat *seat = &f->seats[index];
    if (seat->tasks > 1) {
        if (sketch->taken[index] == sketch->scenario) {
            return;
        }
        sketch->taken[index] = sketch->scenario;
        for (uint32_t t = 0; t < seat->tasks; t++) {
            sketch->beyond[sketch->beyond_count++] = seat->first_task + t;
        }
    }
    for (uint32_t t = 0; t < seat->tasks; t++) {
        sketch->victims += orr_victim__print(seat->first_task + t);
    }
    sketch->unplain = sketch->unplain || seat->pipelined || seat->unlike;
    sketch->all_first = sketch->all_first && f->tracks[seat->track].goes_first;
    orr_forecast__count_size(&sketch->sizes, seat);
    sketch->runs[sketch->run_of[index]].count++;
}

static void take_node(const struct orr_victim_search *search, uint32_t node)
{
    const struct orr_capacities *c = &search->capacities;
    add_room(&search->forecast->sketch->rooms, (uint32_t)(c->with[node] / ORR_MGPU));
    for (uint32_t i = c->last_on[node]; i != ORR_NONE; i = search->potential.items[i].before) {
        take_victim(search, search->potential.items[i].job);
    }
}

bool orr_victim__take_in_hand(struct orr_victim_search *search, uint32_t from, uint32_t to,
                              uint64_t *victims)
{
    if (search->forecast == NULL || !search->forecast->sketch->usable) {
        return false;
    }
    struct orr_sketch *sketch = search->forecast->sketch;
    if (sketch->steps != search->steps || sketch->from != from || sketch->to > to) {
        let_go(search, from);
    }
    for (; sketch->to < to; sketch->to++) {
        take_node(search, search->capacities.bearing[sketch->to]);
    }
    *victims = sketch->victims;
    return !sketch->unplain;
}

/* With what chosen gangs leave on nodes that are not in hand. */
static struct rooms all_rooms(const struct orr_victim_search *search)
{
    const struct orr_sketch *sketch = search->forecast->sketch;
    const struct orr_session *session = search->session;
    struct rooms rooms = sketch->rooms;
    uint32_t *tasks = sketch->beyond;
    for (uint32_t i = 0; i < sketch->beyond_count; i++) {
        const uint32_t node = session->tasks[tasks[i]].live.node;
        const uint32_t at = search->capacities.at[node];
        const bool in_hand = at >= sketch->from && at < sketch->to;
        sketch->extra[node] += in_hand ? 0
                                       : (int32_t)(orr_task_ask(session, &session->tasks[tasks[i]])
                                                       ->request.v[ORR_SLOT_GPU] /
                                                   ORR_MGPU);
    }
    for (uint32_t i = 0; i < sketch->beyond_count; i++) {
        const uint32_t node = session->tasks[tasks[i]].live.node;
        add_room(&rooms, (uint32_t)sketch->extra[node]);
        sketch->extra[node] = 0;
    }
    return rooms;
}

/* --- serving --- */

/* The lane's next run; false: none is left. */
static bool next_run(const struct orr_forecast *f, uint32_t track)
{
    struct orr_sketch *sketch = f->sketch;
    struct lane *lane = &sketch->lanes[track];
    lane->waiting = 0;
    lane->ranked = lane->foreseen = false;
    for (; lane->run < sketch->first_run[track + 1]; lane->run++) {
        lane->waiting |= sketch->runs[lane->run].waiting;
        lane->left = sketch->runs[lane->run].count;
        if (lane->left > 0) {
            return true;
        }
    }
    return false;
}

/* As long as everybody found a place, it does too. */
static bool is_small(const struct orr_forecast *f, const struct orr_seat *seat)
{
    return seat->gpus == 1 && seat->tasks == 1 && f->tracks[seat->track].goes_first;
}

static void open_lanes(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->active_count = sketch->weighty = 0;
    for (uint32_t t = 0; t < f->track_count; t++) {
        struct lane *lane = &sketch->lanes[t];
        memcpy(lane->held, search->session->queues[f->tracks[t].queue].allocated,
               sizeof lane->held);
        for (uint32_t r = sketch->first_run[t]; r < sketch->first_run[t + 1]; r++) {
            const struct orr_seat *seat = &f->seats[sketch->runs[r].seat];
            for (unsigned kind = 0; kind < ORR_SHARE_KINDS && seat != f->seats; kind++) {
                lane->held[kind] -= sketch->runs[r].count * seat->demand.v[kind];
            }
            sketch->weighty += seat == f->seats || is_small(f, seat) ? 0 : sketch->runs[r].count;
        }
        lane->run = sketch->first_run[t];
        if (next_run(f, t)) {
            sketch->active[sketch->active_count++] = t;
        }
    }
}

static const struct orr_seat *next_seat(const struct orr_forecast *f, uint32_t track)
{
    return &f->seats[f->sketch->runs[f->sketch->lanes[track].run].seat];
}

static const struct orr_queue_rank *rank_of(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_forecast *f = search->forecast;
    struct lane *lane = &f->sketch->lanes[track];
    if (!lane->ranked) {
        orr_forecast__block(search, f->tracks[track].queue, lane->held,
                            &next_seat(f, track)->demand, lane->waiting, &lane->worst);
        lane->ranked = true;
    }
    return &lane->worst;
}

static bool is_before(const struct orr_victim_search *search, uint32_t a, uint32_t b)
{
    const struct orr_forecast *f = search->forecast;
    const int fixed = orr_forecast__compare_fixed(f, a, b);
    if (fixed != 0) {
        return fixed < 0;
    }
    return orr_queue_compare_ranks(search->session, rank_of(search, a), rank_of(search, b)) < 0;
}

struct front {
    uint32_t best, second; /* positions among the active; ORR_NONE */
};

static struct front find_front(const struct orr_victim_search *search)
{
    const struct orr_sketch *sketch = search->forecast->sketch;
    struct front front = {.best = 0, .second = ORR_NONE};
    for (uint32_t i = 1; i < sketch->active_count; i++) {
        if (is_before(search, sketch->active[i], sketch->active[front.best])) {
            front.second = front.best;
            front.best = i;
        } else if (front.second == ORR_NONE ||
                   is_before(search, sketch->active[i], sketch->active[front.second])) {
            front.second = i;
        }
    }
    return front;
}

/* The rest of the run is next, with nobody waiting before it. */
static void serve_some(struct lane *lane, const struct orr_demand *demand, uint32_t count)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        lane->held[kind] += count * demand->v[kind];
    }
    lane->waiting = 0;
    lane->ranked = lane->foreseen && count == 1;
    lane->worst = lane->ranked ? lane->next : lane->worst;
    lane->foreseen = false;
}

/* Would the lane still be first once `served` of its run were? */
static bool still_first(const struct orr_victim_search *search, struct front front, uint32_t served)
{
    const struct orr_forecast *f = search->forecast;
    const uint32_t track = f->sketch->active[front.best];
    struct lane *lane = &f->sketch->lanes[track];
    const struct lane kept = *lane;
    serve_some(lane, &next_seat(f, track)->demand, served);
    const bool first = is_before(search, track, f->sketch->active[front.second]);
    const struct lane then = *lane;
    *lane = kept;
    lane->foreseen = kept.foreseen || (served == 1 && then.ranked);
    lane->next = served == 1 ? then.worst : kept.next;
    return first;
}

/* How many of the best lane's run are served before the second lane's turn. */
static uint32_t count_turn(const struct orr_victim_search *search, struct front front)
{
    const struct orr_sketch *sketch = search->forecast->sketch;
    const uint32_t left = sketch->lanes[sketch->active[front.best]].left;
    if (front.second == ORR_NONE) {
        return left;
    }
    uint32_t low = 1; /* so many are; what stands after them grows with their number */
    uint32_t high = left;
    bool bounded = false;
    for (uint32_t step = 1; low < high; step *= 2) {
        const uint32_t reach = low + step < high ? low + step - 1 : high - 1;
        const uint32_t probe = bounded ? low + (high - low) / 2 : reach;
        if (still_first(search, front, probe)) {
            low = probe + 1;
        } else {
            high = probe;
            bounded = true;
        }
    }
    return low;
}

/* True: the preemptor's turn comes, and there is room for it. */
static bool serve(const struct orr_victim_search *search, struct rooms *rooms)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    const struct orr_seat *own = f->seats;
    bool lost = false;
    open_lanes(search);
    for (;;) {
        if (!lost && sketch->weighty == 0) {
            return false;
        }
        const struct front front = find_front(search);
        const uint32_t track = sketch->active[front.best];
        struct lane *lane = &sketch->lanes[track];
        const struct orr_seat *seat = next_seat(f, track);
        if (seat == own) {
            return place(rooms, own->tasks, own->gpus) == own->tasks;
        }
        const uint32_t turn = count_turn(search, front);
        const uint32_t placed =
            seat->tasks > 1 ? (uint32_t)place_gang(rooms, seat) : place(rooms, turn, seat->gpus);
        const bool small = is_small(f, seat);
        serve_some(lane, &seat->demand, placed);
        sketch->weighty -= small ? 0 : placed;
        lane->left -= placed;
        if (placed < turn) {
            /* Nor is there room for the rest of the run, whose turn is as long as nothing changes;
             * nor for a preemptor that asks no less. */
            if (seat->gpus <= own->gpus && seat->tasks <= own->tasks) {
                return false;
            }
            lost = true;
            sketch->weighty -= small ? 0 : lane->left;
            lane->left = 0;
        }
        if (lane->left == 0) {
            lane->run++;
            if (!next_run(f, track)) {
                sketch->active[front.best] = sketch->active[--sketch->active_count];
            }
        }
    }
}

bool orr_victim__leaves_place(struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    const struct orr_sketch *sketch = f->sketch;
    const bool one_node = sketch->to == sketch->from + 1 && sketch->beyond_count == 0;
    bool place = !f->over_quota && !(sketch->all_first &&
                                     (one_node || orr_forecast__leave_nothing(f, &sketch->sizes)));
    if (place) {
        struct rooms rooms = all_rooms(search);
        const struct orr_seat *own = f->seats;
        f->sketch->runs[f->sketch->run_of[0]].count = 1;
        place = places_for(&rooms, own->gpus) >= own->tasks && serve(search, &rooms);
    }
    if (!place) {
        orr_victim__reached(search, ORR_OUTCOME_NOT_PLACED);
    }
    return place;
}
