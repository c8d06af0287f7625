/* SPDX-License-Identifier: GPL-3.0-or-later */
/* seen_before.h - answers of dry runs, kept from search to search. */
#ifndef ORR_PRUNE_SEEN_BEFORE_H
#define ORR_PRUNE_SEEN_BEFORE_H

#include "apart.h"

/* A probe begins: other nodes may be feasible. */
void orr_seen__start_probe(struct orr_victim_search *search);
/* How the scenario would end; SOLVED: not known. Before anything is evicted. */
enum orr_outcome orr_seen__outcome(struct orr_victim_search *search,
                                   const struct orr_victims *potential);
/* What became of the scenario that was asked last: that; or what it loses at least is too much,
 * which does not tell how far it would have got. */
void orr_seen__note(const struct orr_victim_search *search, enum orr_outcome outcome);
void orr_seen__note_loses_too_much(const struct orr_victim_search *search);

enum orr_line {
    ORR_LINE_STANDS, /* nothing else is known */
    ORR_LINE_BREAKS, /* somebody in it does not come back */
    ORR_LINE_FAILS   /* the preemptor finds no place, or in consolidation somebody in it */
};

/* A line is the scenario that was asked last with those who are served, in their order, as long as
 * all come back: it says where everybody is, whatever queues hold. 0: none is kept. */
uint64_t orr_seen__start_line(const struct orr_victim_search *search);
/* A victim comes back, or it is the preemptor's turn. */
uint64_t orr_seen__join_line(const struct orr_victim_search *search, uint64_t line, uint32_t job);
/* What is known of it, and what was found out. */
enum orr_line orr_seen__line(const struct orr_victim_search *search, uint64_t line);
void orr_seen__note_line(const struct orr_victim_search *search, uint64_t line, enum orr_line what);

#endif
