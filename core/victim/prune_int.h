/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prune_int.h - how the search asks pruners. */
#ifndef ORR_VICTIM_PRUNE_INT_H
#define ORR_VICTIM_PRUNE_INT_H

#include "victim_int.h"

bool orr_prune__is_on(const struct orr_victim_search *search, enum orr_pruner pruner);
/* Counts what the pruner said. True: what it was asked about is left out. While pruners are
 * verified it is false, and the pruner is in doubt until `doubts` is what it was before. */
bool orr_prune__refutes(struct orr_victim_search *search, enum orr_pruner pruner, bool refuted);
/* A scenario succeeded, or the whole search: ends the program if a pruner had refuted it. */
void orr_prune__check(const struct orr_victim_search *search, bool whole);

/* A job of several pod sets may be placed by a scenario in part. */
bool orr_victim__is_one_pod_set(const struct orr_session *session, uint32_t job);

/* limit.c: asked of a search of consolidation or reclaim. */
bool orr_victim__over_limit(const struct orr_victim_search *search);

/* places.c: with all these victims together some node would pass KAI's filter of single nodes for a
 * task of so many milli-GPU. */
bool orr_victim__passes_filter(const struct orr_session *session, const struct orr_victims *victims,
                               int64_t enough);

/* All of the job's tasks, as victims that are known by no more than that. */
void orr_victim__list_tasks(const struct orr_session *session, uint32_t job,
                            struct orr_victims *out);

/* Asked of a scenario of consolidation, or of all victims of a state: none of its
 * scenarios works then. */
bool orr_victim__lacks_places(struct orr_victim_search *search,
                              const struct orr_victims *potential);
void orr_victim__release_places(struct orr_victim_search *search);

/* regain.c: asked of a scenario of consolidation. */
bool orr_victim__cannot_regain(struct orr_victim_search *search,
                               const struct orr_victims *potential);

/* Outside plain worlds, of a scenario whose victims were taken apart (sides.h). */
bool orr_victim__served_first(struct orr_victim_search *search,
                              const struct orr_victims *potential);
/* How the scenario would end; SOLVED: it has to be simulated. */
enum orr_outcome orr_victim__run_dry(struct orr_victim_search *search);

#endif
