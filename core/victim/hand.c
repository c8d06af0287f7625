/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The victims that a scenario of a plain world takes, without listing them: those on the first so
 * many of the bearing nodes that are able to take a task. How many that is grows as KAI's scenarios
 * of several nodes do, and from state to state little changes: a victim joins those of its node,
 * which has more room then and moves on in the line of nodes.
 *
 * Gangs are taken whole by whoever takes one of their nodes, so they are added when it is asked.
 */
#include "forecast_int.h"

#include <string.h>

#define LAST (ORR_HANDS - 1)

/* How many nodes it has. */
static uint32_t size_of(const struct orr_plain *plain, uint32_t nth)
{
    return plain->first + (1u << nth) - 1;
}

static uint32_t room_of(const struct orr_victim_search *search, uint32_t node)
{
    return (uint32_t)(search->capacities.with[node] / ORR_MGPU);
}

static void count(const struct orr_forecast *f, struct orr_hand *hand, const struct orr_seat *seat,
                  uint32_t by)
{
    const uint32_t run = seat->run;
    hand->counts[run] += by;
    hand->some[run / 64] &= ~(UINT64_C(1) << run % 64);
    hand->some[run / 64] |= (uint64_t)(hand->counts[run] > 0) << run % 64;
    hand->gpus[seat->track] += by * seat->gpus * seat->tasks;
    orr_tally_add(&hand->tasks, seat->gpus, by * seat->tasks);
    hand->late += f->tracks[seat->track].goes_first ? 0 : by;
}

/* Nobody is recorded where there are hands, so that each step took the next in order. */
static const struct orr_seat *seat_of(const struct orr_victim_search *search, uint32_t potential)
{
    const struct orr_forecast *f = search->forecast;
    return &f->seats[f->plain->victims[search->potential.items[potential].group]];
}

/* Victims of a node, from the last one back; by: 1 to take them, -1 to leave them. */
static void count_from(const struct orr_victim_search *search, struct orr_hand *hand, uint32_t last,
                       uint32_t by)
{
    for (uint32_t i = last; i != ORR_NONE; i = search->potential.items[i].before) {
        const struct orr_seat *seat = seat_of(search, i);
        if (seat->tasks == 1) {
            count(search->forecast, hand, seat, by);
        }
    }
}

static void take_node(const struct orr_victim_search *search, struct orr_hand *hand, uint32_t node)
{
    orr_tally_add(&hand->rooms, room_of(search, node), 1);
    count_from(search, hand, search->capacities.last_on[node], 1);
}

/* --- from state to state --- */

/* The last victim came to a node in hand. */
static void join(const struct orr_victim_search *search, struct orr_hand *hand, uint32_t node,
                 uint32_t room)
{
    const struct orr_seat *seat = seat_of(search, search->potential.count - 1);
    orr_tally_take(&hand->rooms, room, 1);
    orr_tally_add(&hand->rooms, room_of(search, node), 1);
    if (seat->tasks == 1) {
        count(search->forecast, hand, seat, 1);
    }
}

/* The node had so much room before the last victim came to it, and has gone to a place behind. */
static void let_go(const struct orr_victim_search *search, struct orr_hand *hand, uint32_t room)
{
    const uint32_t last = search->potential.count - 1;
    orr_tally_take(&hand->rooms, room, 1);
    count_from(search, hand, search->potential.items[last].before, UINT32_MAX);
}

void orr_forecast__follow(struct orr_victim_search *search, uint32_t room, uint32_t nth)
{
    const struct orr_capacities *c = &search->capacities;
    struct orr_plain *plain = search->forecast->plain;
    const uint32_t node = search->potential.items[search->potential.count - 1].node;
    const uint32_t now = orr_capacities_nth(c, node);
    const uint32_t *able = c->bearing + (c->bearing_count - c->able);
    for (uint32_t h = 0; h < plain->hand_count; h++) {
        struct orr_hand *hand = &plain->hands[h];
        const uint32_t size = size_of(plain, h);
        if (hand->changes != plain->changes) {
            continue;
        }
        if (nth < size && now < size) {
            join(search, hand, node, room);
        } else if (nth < size) {
            let_go(search, hand, room);
            take_node(search, hand, able[size - 1]);
        } else if (now < size) {
            take_node(search, hand, node);
            if (size < c->able) {
                orr_tally_take(&hand->rooms, room_of(search, able[size]), 1);
                count_from(search, hand, c->last_on[able[size]], UINT32_MAX);
            }
        }
        hand->changes++;
    }
    plain->changes++;
}

/* --- a scenario --- */

static void list(struct orr_victim_search *search, struct orr_hand *hand, uint32_t from,
                 uint32_t to)
{
    struct orr_forecast *f = search->forecast;
    const uint32_t runs = f->seat_count; /* at most */
    const uint32_t own = f->seats[0].run;
    if (hand->counts == NULL) {
        hand->counts = orr_arena_take(f->arena, runs, sizeof *hand->counts);
        hand->some = orr_arena_take(f->arena, runs / 64 + (size_t)1, sizeof *hand->some);
        hand->gpus = orr_arena_take(f->arena, f->track_count, sizeof *hand->gpus);
    }
    memset(hand->counts, 0, runs * sizeof *hand->counts);
    memset(hand->some, 0, (runs / 64 + (size_t)1) * sizeof *hand->some);
    memset(hand->gpus, 0, f->track_count * sizeof *hand->gpus);
    *hand = (struct orr_hand){.changes = f->plain->changes,
                              .counts = hand->counts,
                              .some = hand->some,
                              .gpus = hand->gpus};
    hand->counts[own] = 1;
    hand->some[own / 64] = UINT64_C(1) << own % 64;
    for (uint32_t i = from; i < to; i++) {
        take_node(search, hand, search->capacities.bearing[i]);
    }
}

static struct orr_hand *hand_of(struct orr_victim_search *search, uint32_t from, uint32_t to,
                                uint32_t nth)
{
    struct orr_plain *plain = search->forecast->plain;
    struct orr_hand *hand = &plain->hands[nth < LAST ? nth : LAST];
    if (plain->first != search->capacities.first) {
        plain->first = search->capacities.first;
        plain->changes++; /* nothing is in hand */
    }
    if (nth >= LAST || hand->changes != plain->changes) {
        list(search, hand, from, to);
    }
    plain->hand_count = nth < LAST && nth >= plain->hand_count ? nth + 1 : plain->hand_count;
    return hand;
}

/* --- gangs --- */

/* A gang has a task on the nodes. What it leaves on others is room, too. */
static void take_gang(const struct orr_victim_search *search, const struct orr_seat *gang,
                      struct orr_taken *taken)
{
    const struct orr_forecast *f = search->forecast;
    count(f, taken->hand, gang, 1);
    orr_forecast__count_size(&taken->sizes, gang);
    for (uint32_t t = 0; t < gang->tasks; t++) {
        const uint32_t node = orr_forecast__node(search->session, gang, t);
        const uint32_t at = search->capacities.at[node];
        f->plain->extra[node] +=
            at >= taken->from && at < taken->to ? 0 : orr_forecast__gpus(search->session, gang, t);
    }
}

static void add_rooms(const struct orr_victim_search *search, const struct orr_seat *gang,
                      struct orr_taken *taken)
{
    uint32_t *extra = search->forecast->plain->extra;
    for (uint32_t t = 0; t < gang->tasks; t++) {
        const uint32_t node = orr_forecast__node(search->session, gang, t);
        orr_tally_add(&taken->with_gangs, extra[node], 1);
        extra[node] = 0;
    }
}

void orr_forecast__take(struct orr_victim_search *search, uint32_t from, uint32_t to, uint32_t nth,
                        struct orr_taken *taken)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_plain *plain = f->plain;
    struct orr_hand *hand = hand_of(search, from, to, nth);
    taken->from = from;
    taken->to = to;
    taken->hand = hand;
    taken->rooms = &hand->rooms;
    taken->sizes = (struct orr_sizes){.set = hand->tasks.some};
    plain->taken_count = 0;
    for (uint32_t g = 0; g < plain->gang_count; g++) {
        if (orr_forecast__gang_is_on(search, plain->gangs[g], from, to)) {
            plain->taken[plain->taken_count++] = plain->gangs[g];
            take_gang(search, &f->seats[plain->gangs[g]], taken);
        }
    }
    if (plain->taken_count > 0) {
        taken->with_gangs = hand->rooms;
        taken->rooms = &taken->with_gangs;
    }
    for (uint32_t g = 0; g < plain->taken_count; g++) {
        add_rooms(search, &f->seats[plain->taken[g]], taken);
    }
}

void orr_forecast__put_back(const struct orr_victim_search *search, struct orr_taken *taken)
{
    const struct orr_forecast *f = search->forecast;
    for (uint32_t g = 0; g < f->plain->taken_count; g++) {
        count(f, taken->hand, &f->seats[f->plain->taken[g]], UINT32_MAX);
    }
}
