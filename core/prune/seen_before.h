/* SPDX-License-Identifier: GPL-3.0-or-later */
/* seen_before.h - answers of dry runs, kept from search to search. */
#ifndef ORR_PRUNE_SEEN_BEFORE_H
#define ORR_PRUNE_SEEN_BEFORE_H

#include "apart.h"

/* How the scenario would end; SOLVED: not known. Before anything is evicted. */
enum orr_outcome orr_seen__outcome(struct orr_victim_search *search,
                                   const struct orr_victims *potential);
/* Beside outcomes: the validator refuses what is lost at least, which does not tell how far the
 * scenario would have got. */
#define ORR_LOSES_TOO_MUCH ORR_OUTCOME_COUNT
/* What became of the scenario that was asked last. */
void orr_seen__note(const struct orr_victim_search *search, unsigned answer);

#endif
