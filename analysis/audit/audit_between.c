/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_between.c - what a later cycle of an instant may have seen of it.
 *
 * In rounds a cycle may make another one necessary at its own instant. The record says what
 * happened then, and for each job in which order, but not which cycle did it: the second may have
 * seen one job wait, another started, a third gone again. What it saw of each job is one of the
 * states that the job went through; those in which it holds and asks the same are one. */
#include "audit_walk.h"

#include <orrery/base/sort.h>

#define WAYS_MAX 4096 /* states of all jobs together that are tried */

struct state { /* of a job */
    uint32_t job;
    uint32_t nr; /* in the order of the instant */
    struct orr_audit_standing standing;
};

struct moving { /* a job with more than one state: states[first] is the last of them */
    uint32_t first, count, at;
};

struct orr_audit_between {
    struct state *states;
    struct moving *moving;
    uint32_t count, capacity, moving_count, moving_capacity;
};

struct orr_audit_between *orr_audit__between_open(void)
{
    return orr_zalloc(1, sizeof(struct orr_audit_between));
}

void orr_audit__between_close(struct orr_audit_between *between)
{
    orr_free(between->states);
    orr_free(between->moving);
    orr_free(between);
}

void orr_audit__between_begin(struct orr_audit_between *between)
{
    between->count = 0;
}

void orr_audit__between_note(struct orr_audit_between *between, const struct orr_audit_walk *walk,
                             uint32_t job)
{
    between->states = ORR_ROOM_FOR_ONE(between->states, between->count, between->capacity);
    between->states[between->count] = (struct state){job, between->count, walk->jobs[job]};
    between->count++;
}

static int last_first(const void *a, const void *b, void *context)
{
    const struct state *x = a, *y = b;
    (void)context;
    return x->job != y->job ? (x->job < y->job ? -1 : 1) : (x->nr < y->nr) - (x->nr > y->nr);
}

/* Is all the same that shares are divided by? */
static bool is_same(const struct orr_audit_walk *walk, const struct state *a, const struct state *b)
{
    const struct orr_audit_standing *x = &a->standing, *y = &b->standing;
    return x->held_mgpu + x->wants_mgpu - x->most_mgpu ==
               y->held_mgpu + y->wants_mgpu - y->most_mgpu &&
           x->wants_mib == y->wants_mib &&
           orr_audit__is_blind(walk, a->job, x) == orr_audit__is_blind(walk, b->job, y);
}

static bool is_among(const struct orr_audit_walk *walk, const struct state *states, uint32_t count,
                     const struct state *state)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_same(walk, &states[i], state)) {
            return true;
        }
    }
    return false;
}

/* Leaves the different states of each job that has several; false: the ways to combine them are
 * too many. */
static bool settle(struct orr_audit_between *between, const struct orr_audit_walk *walk)
{
    uint32_t kept = 0, ways = 1;
    between->moving_count = 0;
    orr_sort(between->states, between->count, sizeof *between->states, last_first, NULL);
    for (uint32_t i = 0; i < between->count && ways <= WAYS_MAX;) {
        const uint32_t first = kept, job = between->states[i].job;
        for (; i < between->count && between->states[i].job == job; i++) {
            if (!is_among(walk, &between->states[first], kept - first, &between->states[i])) {
                between->states[kept++] = between->states[i];
            }
        }
        if (kept - first == 1) {
            kept = first;
            continue;
        }
        between->moving =
            ORR_ROOM_FOR_ONE(between->moving, between->moving_count, between->moving_capacity);
        between->moving[between->moving_count++] = (struct moving){first, kept - first, 0};
        ways *= kept - first;
    }
    return ways <= WAYS_MAX;
}

static void put(struct orr_audit_walk *walk, const struct state *state)
{
    const struct orr_audit_standing *to = &state->standing;
    struct orr_audit_standing *now = &walk->jobs[state->job];
    walk->blind -= orr_audit__is_blind(walk, state->job, now);
    orr_audit__add_up(walk, state->job, walk->held, to->held_mgpu - now->held_mgpu);
    orr_audit__add_up(walk, state->job, walk->wants, to->wants_mgpu - now->wants_mgpu);
    orr_audit__add_up(walk, state->job, walk->most, to->most_mgpu - now->most_mgpu);
    orr_audit__add_up(walk, state->job, walk->wants_mib, to->wants_mib - now->wants_mib);
    *now = *to;
    walk->blind += orr_audit__is_blind(walk, state->job, now);
}

/* The next way to combine the states; false: that was the last, all is as it was at first. */
static bool turn(struct orr_audit_between *between, struct orr_audit_walk *walk)
{
    for (uint32_t m = 0; m < between->moving_count; m++) {
        struct moving *moving = &between->moving[m];
        moving->at = (moving->at + 1) % moving->count;
        put(walk, &between->states[moving->first + moving->at]);
        if (moving->at > 0) {
            return true;
        }
    }
    return false;
}

bool orr_audit__between_search(struct orr_audit_between *between, struct orr_audit_walk *walk)
{
    if (!settle(between, walk)) {
        return false;
    }
    while (turn(between, walk)) {
        orr_audit__judge_open(walk);
    }
    return true;
}
