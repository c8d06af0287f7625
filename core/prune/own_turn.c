/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What "served-first" asks in trees: when the turn of the preemptor's branch comes.
 *
 * A branch is a queue without a parent and all below it. In which order its jobs are popped, and
 * how it ranks each time, depends on the branch alone, as long as every victim served in it finds
 * places: its queues hold what they hold whatever others are given, and the root settles branches,
 * never what is below them. So the preemptor's branch is served alone, literally but for placing;
 * the same set of victims in it is served once a probe. What follows a position hangs on who is
 * left in the branch, on who left a trace and on the order, as in dry_run_memo.c, where rooms count
 * too.
 */
#include "own_turn.h"

#include "flat_int.h"

#define MARKS 1024

/* How the branch is served from a position on, or with a set of victims. */
struct orr_own_mark {
    uint64_t position; /* 0: none is kept here */
    struct orr_own_turn turn;
};

struct orr_own_branch { /* of a search */
    uint32_t top;
    struct orr_order_entry *waiting, *served;
    uint32_t waiting_count;
    struct orr_own_mark *way; /* of a scenario: each with the worst rank before the next */
};

static struct orr_own_branch *open_branch(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_arena *memory = &search->memory;
    struct orr_own_branch *own = orr_arena_alloc(memory, 1, sizeof *own);
    own->top = orr_own_turn__top(session, session->jobs[search->job].queue);
    orr_victim__list_waiting(search);
    own->waiting = orr_arena_take(memory, search->waiting_count + (size_t)1, sizeof *own->waiting);
    for (uint32_t w = 0; w < search->waiting_count; w++) {
        const uint32_t queue = session->jobs[search->waiting[w].view.job].queue;
        if (orr_own_turn__top(session, queue) == own->top) {
            own->waiting[own->waiting_count++] = search->waiting[w];
        }
    }
    own->served = orr_arena_take(memory, search->candidate_count + (size_t)1, sizeof *own->served);
    own->way = orr_arena_take(memory, search->candidate_count + (size_t)2, sizeof *own->way);
    return own;
}

static uint32_t list_served(struct orr_victim_search *search, const struct orr_order *order)
{
    struct orr_own_branch *own = search->refuter.own;
    uint32_t all, count = 0;
    const struct orr_apart *s = search->refuter.apart;
    const struct orr_order_entry *entries = orr_apart__entries(search, order, &all);
    for (uint32_t i = 0; i < all; i++) {
        const uint32_t job = entries[i].view.job;
        if (job == search->job || s->victims[s->slot_of[job] - 1].branch == own->top) {
            own->served[count++] = entries[i];
        }
    }
    return count;
}

static struct orr_own_mark *mark_at(const struct orr_session *session, uint64_t position)
{
    return &session->victim_index->own_marks[(position >> 8) % MARKS];
}

/* What follows from each position on the way, if the last one is followed by the rest. */
static void note_way(const struct orr_session *session, const struct orr_own_mark *way,
                     uint32_t count, bool noted, struct orr_own_turn *rest)
{
    for (uint32_t i = count; i-- > 0;) {
        orr_queue_take_worse(&rest->latest, &way[i].turn.latest);
        if (noted) {
            *mark_at(session, way[i].position) =
                (struct orr_own_mark){.position = way[i].position, .turn = *rest};
        }
    }
}

/* Serves from one position to the next until it is the preemptor's turn, or what follows is known.
 */
static void serve_on(const struct orr_victim_search *search, struct orr_order *order, uint64_t left,
                     struct orr_own_turn *turn)
{
    const struct orr_session *session = search->session;
    struct orr_apart *s = search->refuter.apart;
    const struct orr_own_branch *own = search->refuter.own;
    const bool noted = orr_order_start_fingerprint(order);
    uint32_t count = 0;
    bool more = true;
    while (more && !turn->known) {
        struct orr_own_mark *step = &own->way[count];
        if (noted) {
            step->position = orr_scatter(search->refuter.probe);
            orr_fingerprint_word(&step->position, left);
            orr_fingerprint_word(&step->position, orr_order_fingerprint(order));
            step->position |= 1;
            const struct orr_own_mark *mark = mark_at(session, step->position);
            if (mark->position == step->position) {
                *turn = mark->turn;
                break;
            }
        }
        count++;
        step->turn.latest = (struct orr_queue_rank){.queue = ORR_NONE};
        order->worst = &step->turn.latest;
        struct orr_jobview view;
        more = orr_order_pop(order, &view);
        turn->known = more && view.job == search->job;
        if (more && !turn->known) {
            struct orr_apart_victim *victim = &s->victims[s->slot_of[view.job] - 1];
            orr_apart__give_back(session, s, victim);
            turn->out_mgpu -= victim->demand.v[ORR_SHARE_GPU];
            left += orr_apart__trace(session, victim) - victim->fingerprint;
        }
    }
    order->worst = NULL;
    note_way(session, own->way, count, noted && !order->unclear, turn);
}

static void serve_branch(struct orr_victim_search *search, struct orr_own_turn *turn)
{
    const struct orr_session *session = search->session;
    struct orr_apart *s = search->refuter.apart;
    const struct orr_own_branch *own = search->refuter.own;
    struct orr_order *order = orr_victim_index_order(search->session);
    uint64_t left = 0;
    *turn = (struct orr_own_turn){.latest = {.queue = ORR_NONE}};
    orr_order_restart(order);
    const uint32_t count = list_served(search, order);
    for (uint32_t v = 0; v < s->victim_count; v++) {
        if (s->victims[v].branch == own->top) {
            orr_apart__evict(session, s, &s->victims[v]);
            turn->out_mgpu += s->victims[v].lost_demand.v[ORR_SHARE_GPU];
            left += s->victims[v].fingerprint;
        }
    }
    order->hypothetical = (const int64_t(*)[ORR_SHARE_KINDS])s->hypothetical;
    orr_order_build_over(order, own->waiting, own->waiting_count, orr_apart__unlisted(s),
                         own->served, count);
    serve_on(search, order, left, turn);
    for (uint32_t v = 0; v < s->victim_count; v++) {
        if (s->victims[v].branch == own->top) {
            orr_apart__restore(search, session->jobs[s->victims[v].job].queue);
        }
    }
}

static uint64_t fingerprint_victims(const struct orr_victim_search *search)
{
    const struct orr_apart *s = search->refuter.apart;
    const struct orr_own_branch *own = search->refuter.own;
    uint64_t sum = 0, fingerprint = ~orr_scatter(search->refuter.probe);
    for (uint32_t v = 0; v < s->victim_count; v++) {
        sum += s->victims[v].branch == own->top ? s->victims[v].fingerprint : 0;
    }
    orr_fingerprint_word(&fingerprint, sum);
    return fingerprint | 1;
}

const struct orr_own_turn *orr_own_turn__find(struct orr_victim_search *search)
{
    struct orr_victim_index *all = search->session->victim_index;
    if (all->own_marks == NULL) {
        all->own_marks = orr_zalloc(MARKS, sizeof *all->own_marks);
    }
    if (search->refuter.own == NULL) {
        search->refuter.own = open_branch(search);
    }
    const uint64_t victims = fingerprint_victims(search);
    struct orr_own_mark *mark = mark_at(search->session, victims);
    if (mark->position != victims) {
        struct orr_own_turn turn;
        serve_branch(search, &turn);
        *mark = (struct orr_own_mark){.position = victims, .turn = turn};
    }
    return &mark->turn;
}
