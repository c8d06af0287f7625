/* SPDX-License-Identifier: GPL-3.0-or-later */
/* seen_before.h - answers of dry runs, kept from search to search. */
#ifndef ORR_PRUNE_SEEN_BEFORE_H
#define ORR_PRUNE_SEEN_BEFORE_H

#include "apart.h"

/* How the scenario would end; SOLVED: not known. Before anything is evicted. */
enum orr_outcome orr_seen__outcome(struct orr_victim_search *search,
                                   const struct orr_victims *potential);
/* What became of the scenario that was asked last: that; or what it loses at least is too much,
 * which does not tell how far it would have got. */
void orr_seen__note(const struct orr_victim_search *search, enum orr_outcome outcome);
void orr_seen__note_loses_too_much(const struct orr_victim_search *search);

#endif
