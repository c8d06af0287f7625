/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prune_int.h - what the pruners share. */
#ifndef ORR_PRUNE_INT_H
#define ORR_PRUNE_INT_H

#include "victim_int.h"

bool orr_prune__is_on(const struct orr_victim_search *search, enum orr_pruner pruner);
/* Counts what the pruner, which is on, found: how what it is asked would end, or SOLVED: it may
 * succeed. True: it is left out, and how far it would have got is noted. While pruners are verified
 * it is false, and the pruner is in doubt while the level lasts. */
bool orr_prune__refutes(struct orr_victim_search *search, enum orr_pruner pruner,
                        enum orr_outcome outcome);
/* What is of this level succeeded: ends the program if a pruner had refuted it or a part of it. */
void orr_prune__check(const struct orr_victim_search *search, enum orr_refute_level widest);

/* Ends the program if what the pruner knew before (0: nothing) is not what comes of it now. */
void orr_prune__check_known(const struct orr_victim_search *search, enum orr_pruner pruner,
                            unsigned known, unsigned now);

/* The only pod set of a job, which all sets above it need; ORR_NONE: it has several, of which a
 * scenario may place a part. */
uint32_t orr_prune__only_pod_set(const struct orr_session *session, const struct orr_sjob *job);
/* It must stay in a domain of a topology or prefers to. */
bool orr_prune__is_constrained(const struct orr_session *session, const struct orr_sjob *job);

/* failure_memo.c: how the search ended before, when all it looks at was the same; SOLVED: it is not
 * known. And what to remember of one that fails now. */
enum orr_outcome orr_victim__failed_before(struct orr_victim_search *search);
void orr_victim__note_failure(struct orr_victim_search *search);

/* gang.c: no part of the world is flat, and the preemptor is of one pod set and asks GPUs. */
bool orr_victim__is_one_gang(const struct orr_victim_search *search);
/* Of such a search with its candidates listed, how the probe of its first k tasks would end with
 * everything that candidates hold; SOLVED: it may be, or they ask different amounts of GPUs. */
enum orr_outcome orr_victim__refute_tasks(struct orr_victim_search *search, uint32_t k);
/* How consolidation would end for a job that waits, from the nodes, the candidates and what its
 * first task asks alone: how queues stand, who waits and where else tasks may not go can only make
 * it worse. SOLVED: not known. */
enum orr_outcome orr_victim__refute_moves(struct orr_session *session, uint32_t job,
                                          const struct orr_ask *first);

/* places.c: while these victims are away there are too few places for the probe's tasks in any
 * domain that these must stay within or, in consolidation, on all nodes. */
bool orr_victim__lacks_places(struct orr_victim_search *search, bool in_a_domain,
                              const struct orr_victims *victims);
/* The preemptor has active pods, all in one domain of the level it must stay in. */
bool orr_victim__pins_domain(struct orr_victim_search *search);

/* regain.c, consolidation: of the scenario that is about to be listed, with the potential victims
 * on the bearing nodes at [from, to). */
bool orr_victim__cannot_regain(struct orr_victim_search *search, uint32_t from, uint32_t to);

/* dry_run.c, reclaim: what its victims, which were taken apart, lose whatever happens is refused.
 */
bool orr_victim__loses_too_much(const struct orr_victim_search *search);

/* How a scenario would end whose victims were taken apart (apart.h). SOLVED: it has to be
 * simulated. */
enum orr_outcome orr_victim__run_dry(struct orr_victim_search *search);
/* Of reclaim and preempt, behind the probe's first dry run: an earlier dry run that began as this
 * window's would begin came to nothing. Where no node has room but what victims leave, and these
 * are known by what they ask and lose all they have, the beginning hangs on the window's nodes and
 * jobs alone: the victims need not be listed, taken apart and evicted first. */
bool orr_victim__known_window(struct orr_victim_search *search, uint32_t from, uint32_t to);

#endif
