/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rehearsal (rehearse.c) on less: how many nodes have how much room. It serves when nothing is
 * idle anywhere, so that nodes with equal room are as good as each other, and says for sure when
 * the preemptor finds no place. Everything else is left to the rehearsal. What is taken back while
 * it waits for GPUs being released leaves fewer idle than none, so that these are like the others.
 *
 * Victims of one queue that are next to each other in line, ask the same and have nobody waiting
 * between them are a run. Of a run only the number of chosen ones matters.
 */
#include "sketch_int.h"

#include <string.h>

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
    struct orr_sketch *sketch = orr_arena_alloc(f->arena, 1, sizeof *sketch);
    sketch->runs = orr_arena_take(f->arena, f->seat_count, sizeof *sketch->runs);
    sketch->first_run = orr_arena_alloc(f->arena, f->track_count + (size_t)1, sizeof(uint32_t));
    sketch->stretches = orr_arena_take(f->arena, f->seat_count, sizeof *sketch->stretches);
    sketch->lanes = orr_arena_alloc(f->arena, f->track_count, sizeof *sketch->lanes);
    sketch->active = orr_arena_take(f->arena, f->track_count, sizeof *sketch->active);
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
                             .track = track,
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

/* --- sketches known from earlier searches --- */

static uint64_t print_demand(const struct orr_demand *demand)
{
    uint64_t print = 0;
    orr_print_number(&print, demand->gpus_by_memory);
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_print_word(&print, (uint64_t)demand->v[kind]);
    }
    return print;
}

static void print_runs(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->printed_for = search->k;
    sketch->standings = NULL;
    sketch->print = 0;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_print_number(&sketch->print, search->session->total[kind]);
    }
    for (uint32_t d = 0; d < f->demand_count; d++) {
        sketch->demand_prints[d] = print_demand(&f->demands[d]);
    }
    for (uint32_t r = 0; r < sketch->run_count; r++) {
        const struct orr_seat *seat = &f->seats[sketch->runs[r].seat];
        const struct orr_track *track = &f->tracks[seat->track];
        uint64_t *print = &sketch->runs[r].print;
        *print = print_demand(&seat->demand);
        orr_print_word(print, orr_prospects_standing(search->session, track->queue));
        orr_print_word(print, (uint64_t)track->queue << 2 | (uint64_t)track->goes_first << 1 |
                                  (seat == f->seats));
        orr_print_word(print, (uint64_t)seat->gpus << 32 | seat->tasks);
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

/* Odd, and unlike each other. */
#define PRINT_OF_PLACE UINT64_C(0x9e3779b97f4a7c15)
#define PRINT_OF_ONE   UINT64_C(0xd1b54a32d192ed03)

/* Parties of the run that comes next in its track, of whose runs those before `from` are passed. */
static struct stretch stretch_of(const struct orr_sketch *sketch, uint32_t run, uint32_t from)
{
    struct stretch stretch = {.turn.run = run, .count = sketch->hand->counts[run]};
    const uint32_t waits = sketch->runs[run].waits;
    for (uint32_t r = from; waits != ORR_NONE && r <= waits; r++) {
        stretch.turn.waiting |= sketch->runs[r].waiting;
    }
    return stretch;
}

/* Lists who is chosen, track by track. Returns a print of all that serving looks at: it ends the
 * same for equal prints, though these be other jobs on other nodes. */
static uint64_t list_scenario(const struct orr_forecast *f, const struct orr_tally *rooms)
{
    struct orr_sketch *sketch = f->sketch;
    uint64_t print = sketch->print;
    for (uint32_t bits = rooms->some; bits != 0; bits &= bits - 1) {
        const uint32_t gpus = (uint32_t)__builtin_ctz(bits);
        print += orr_scatter((uint64_t)gpus << 32 | rooms->count[gpus]);
    }
    uint32_t nth = 0;
    uint32_t from = 0;
    uint32_t lacking = 0;
    struct lane *lane = NULL;
    sketch->active_count = 0;
    for (uint32_t word = 0; 64 * word < sketch->run_count; word++) {
        for (uint64_t bits = sketch->hand->some[word]; bits != 0; bits &= bits - 1) {
            const uint32_t r = 64 * word + (uint32_t)__builtin_ctzll(bits);
            const struct run *run = &sketch->runs[r];
            if (lane != &sketch->lanes[run->track]) {
                lane = &sketch->lanes[run->track];
                lane->first = &sketch->stretches[nth];
                sketch->active[sketch->active_count++] = run->track;
                from = sketch->first_run[run->track];
                lacking = sketch->hand->gpus[run->track];
            }
            struct stretch *stretch = &sketch->stretches[nth++];
            *stretch = stretch_of(sketch, r, from);
            stretch->turn.lacking = lacking;
            lane->end = stretch + 1;
            lacking -= stretch->count * run->gpus;
            from = r + 1;
            print += orr_scatter(run->print + PRINT_OF_PLACE * nth + PRINT_OF_ONE * stretch->count +
                                 print_waiting(sketch, stretch->turn.waiting));
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
        list_scenario(search->forecast, taken->rooms) | 2; /* never that of none */
    uint64_t *known = orr_prospects_sketch(search->session, print);
    if ((*known | 1) != (print | 1)) {
        *known =
            (print & ~UINT64_C(1)) | orr_sketch__serve(search, taken->rooms, &taken->hand->tasks);
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
                                    orr_tally__hold_all(taken->rooms, &taken->hand->tasks))) ||
        orr_tally__places(taken->rooms, own->gpus) < own->tasks) {
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
