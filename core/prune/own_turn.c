/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A branch is a queue without a parent and all below it. In which order its jobs are popped, and
 * how it ranks each time, depends on the branch alone, as long as every victim served in it finds
 * places: its queues hold what they hold whatever others are given, and the root settles branches,
 * never what is below them. So the preemptor's branch is served alone, literally but for placing;
 * the same set of victims in it is served once a probe.
 */
#include "own_turn.h"

#include "flat_int.h"

#define TURNS 256

struct orr_own_branch { /* of a search */
    uint32_t top;
    uint32_t k; /* what follows is of so many of the preemptor's tasks */
    struct orr_order_entry *waiting, *served;
    uint32_t waiting_count;
    struct turn {
        uint64_t victims; /* the sum of what tells them apart; 0: none is kept here */
        struct orr_own_turn turn;
    } * turns;
};

static bool is_inside(const struct orr_victim_search *search, const struct orr_own_branch *own,
                      uint32_t job)
{
    const struct orr_session *session = search->session;
    return orr_own_turn__top(session, session->jobs[job].queue) == own->top;
}

static struct orr_own_branch *open_branch(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_arena *memory = &search->memory;
    struct orr_own_branch *own = orr_arena_alloc(memory, 1, sizeof *own);
    own->top = orr_own_turn__top(session, session->jobs[search->job].queue);
    orr_victim__list_waiting(search);
    own->waiting = orr_arena_take(memory, search->waiting_count + (size_t)1, sizeof *own->waiting);
    for (uint32_t w = 0; w < search->waiting_count; w++) {
        if (is_inside(search, own, search->waiting[w].view.job)) {
            own->waiting[own->waiting_count++] = search->waiting[w];
        }
    }
    own->served = orr_arena_take(memory, search->candidate_count + (size_t)1, sizeof *own->served);
    own->turns = orr_arena_alloc(memory, TURNS, sizeof *own->turns);
    return own;
}

static uint32_t list_served(struct orr_victim_search *search, const struct orr_order *order)
{
    struct orr_own_branch *own = search->refuter.own;
    uint32_t all, count = 0;
    const struct orr_order_entry *entries = orr_apart__entries(search, order, &all);
    for (uint32_t i = 0; i < all; i++) {
        if (is_inside(search, own, entries[i].view.job)) {
            own->served[count++] = entries[i];
        }
    }
    return count;
}

static void serve_branch(struct orr_victim_search *search, struct orr_own_turn *turn)
{
    const struct orr_session *session = search->session;
    struct orr_apart *s = search->refuter.apart;
    const struct orr_own_branch *own = search->refuter.own;
    struct orr_order *order = orr_victim_index_order(search->session);
    struct orr_jobview view;
    *turn = (struct orr_own_turn){.latest = {.queue = ORR_NONE}};
    orr_order_restart(order);
    const uint32_t count = list_served(search, order);
    for (uint32_t v = 0; v < s->victim_count; v++) {
        if (is_inside(search, own, s->victims[v].job)) {
            orr_apart__evict(session, s, &s->victims[v]);
            turn->out_mgpu += s->victims[v].lost_demand.v[ORR_SHARE_GPU];
        }
    }
    order->hypothetical = (const int64_t(*)[ORR_SHARE_KINDS])s->hypothetical;
    order->worst = &turn->latest;
    orr_order_build_over(order, own->waiting, own->waiting_count, orr_apart__unlisted(s),
                         own->served, count);
    while (!turn->known && orr_order_pop(order, &view)) {
        turn->known = view.job == search->job;
        if (!turn->known) {
            struct orr_apart_victim *victim = &s->victims[s->slot_of[view.job] - 1];
            orr_apart__give_back(session, s, victim);
            turn->out_mgpu -= victim->demand.v[ORR_SHARE_GPU];
        }
    }
    order->worst = NULL;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        if (is_inside(search, own, s->victims[v].job)) {
            orr_apart__restore(session, s, &s->victims[v]);
        }
    }
}

/* Never 0. */
static uint64_t fingerprint_victims(const struct orr_victim_search *search)
{
    const struct orr_apart *s = search->refuter.apart;
    uint64_t sum = 0;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        const struct orr_apart_victim *victim = &s->victims[v];
        if (is_inside(search, search->refuter.own, victim->job)) {
            sum += orr_scatter((uint64_t)victim->job << 32 | victim->lost);
        }
    }
    return orr_scatter(sum) | 1;
}

const struct orr_own_turn *orr_own_turn__find(struct orr_victim_search *search)
{
    if (search->refuter.own == NULL) {
        search->refuter.own = open_branch(search);
    }
    struct orr_own_branch *own = search->refuter.own;
    if (own->k != search->k) {
        own->k = search->k;
        memset(own->turns, 0, TURNS * sizeof *own->turns);
    }
    const uint64_t victims = fingerprint_victims(search);
    struct turn *kept = &own->turns[(victims >> 8) % TURNS];
    if (kept->victims != victims) {
        kept->victims = victims;
        serve_branch(search, &kept->turn);
    }
    return &kept->turn;
}
