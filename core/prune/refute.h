/* SPDX-License-Identifier: GPL-3.0-or-later */
/* refute.h - the only door from the literal search (victim/) to what is known without searching.
 *
 * Each question is whether something can be left out because it cannot succeed, from the widest to
 * the narrowest: the search, what a generator tries, a window of nodes, a scenario. True: it is
 * left out, and how far it would have got is noted in `search->outcome`. Without this room every
 * answer is false and the search decides the same.
 */
#ifndef ORR_PRUNE_REFUTE_H
#define ORR_PRUNE_REFUTE_H

#include <orrery/core/victim.h>

struct orr_victim_search;

enum orr_refute_level { /* what was refuted and is tried all the same while pruners are verified */
                        ORR_REFUTE_SEARCH,
                        ORR_REFUTE_TASK, /* of the search: not one task can be had */
                        ORR_REFUTE_GENERATOR,
                        ORR_REFUTE_WINDOW,
                        ORR_REFUTE_SCENARIO,
                        ORR_REFUTE_LEVELS
};

struct orr_flat;
struct orr_apart;
struct orr_places;
struct orr_refuter {    /* of a search; private to prune/ */
    bool all_tried;     /* scenarios are counted, or nothing is pruned: none is left out */
    uint64_t probe;     /* number of the one that goes on, of all searches; 0: all is tried */
    uint64_t scenarios; /* simulated by the action before the search */
    bool apart_known;
    uint32_t windows_from; /* nodes of the first window of the last state that had any */
    uint32_t same;         /* so many able nodes are as they were when windows were last tried */
    uint32_t failed;       /* windows of the state with no more nodes failed as they are, or 0 */
    struct orr_flat *flat; /* NULL: no part of the world is flat, or all is tried */
    struct orr_places *places[2]; /* places.h: of all nodes, by domain; NULL until asked */
    struct orr_apart *apart;      /* apart.h; NULL: nothing is known of such a world */
    uint32_t *taken_by;           /* regain.c: by job, the last scenario that takes a task of it */
    /* Of all that is the same for all scenarios but the nodes, a fingerprint (fingerprint.c; 0: not
     * made); with it who waits and may count (waiting_fingerprint.c). */
    uint64_t fingerprint;
    const struct orr_order_entry *waiting;
    uint32_t waiting_count;
    /* The candidates and the preemptor in the order of building, in each state of their gangs. */
    const struct orr_order_entry *marks;
    uint32_t mark_count;
    uint64_t world; /* of all that the search reads; 0: not known */
    enum orr_refute_level level;
    uint32_t doubts[ORR_REFUTE_LEVELS]; /* a bit for each pruner that refuted it */
    /* While pruners are verified: the outcome that the search was refuted with before it began; 0:
     * it was not. And by whom. */
    uint8_t foreseen, foreseen_by;
};

/* With the preemptor's tasks and queues listed and a view of its first task. */
bool orr_refute__search(struct orr_victim_search *search);
/* Whoever is a victim, the first k tasks cannot be had: of one before the first probe, of all once
 * the generator has found a place for one. */
bool orr_refute__tasks(struct orr_victim_search *search, uint32_t k);
/* A generator begins: not one of the tasks can be had with the scenarios it makes. */
bool orr_refute__generator(struct orr_victim_search *search);
/* A probe begins: its view is made, nothing is evicted. */
void orr_refute__start_probe(struct orr_victim_search *search);
/* Those on the nodes with victims at [from, to), the nth window of the state; ORR_NONE: it is a
 * single node, of which the jobs' victims are taken. */
bool orr_refute__window(struct orr_victim_search *search, uint32_t from, uint32_t to, uint32_t nth);
bool orr_refute__scenario(struct orr_victim_search *search);

/* What happened: a task joined the potential victims, a scenario succeeded, the search ended so.
 * Ends the program if a pruner had refuted what succeeded. */
void orr_refute__victim_added(struct orr_victim_search *search);
void orr_refute__scenario_solved(const struct orr_victim_search *search);
void orr_refute__search_ended(struct orr_victim_search *search, enum orr_search_result result);

#endif
