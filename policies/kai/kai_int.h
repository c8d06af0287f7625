/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_int.h - what the files of the policy share. */
#ifndef ORR_KAI_INT_H
#define ORR_KAI_INT_H

#include <orrery/core/attempt.h>
#include <orrery/core/backlog.h>

/* Jobs that failed in one action, the smallest of each signature and queue: a job that asks no less
 * than one of these need not be tried. */
struct orr_kai_failed {
    uint32_t queue;     /* ORR_NONE: for all queues */
    uint64_t signature; /* 0: not worked out yet */
    uint32_t job;
};
struct orr_kai_failures {
    struct orr_kai_failed *items;
    uint32_t count, capacity;
};
/* Hash of everything but resources that limits where the job's waiting pods may go. */
uint64_t orr_kai__signature(const struct orr_session *session, uint32_t job);
/* False: a job of its signature failed, and this one asks no less than that anywhere. Always true
 * without signatures. */
bool orr_kai__worth_trying(const struct orr_session *session, struct orr_kai_failures *failures,
                           uint32_t queue, uint32_t job);
void orr_kai__remember_failure(const struct orr_session *session, struct orr_kai_failures *failures,
                               uint32_t queue, uint32_t job);

/* kai.c: the order of all jobs an action looks at. */
void orr_kai__build_order(struct orr_session *session, enum orr_action action,
                          struct orr_order *order);
/* How long a job may run below its minimum, by its own grace or that for all; below 0: for ever. */
orr_ms orr_kai__staleness_grace(const struct orr_session *session, const struct orr_sjob *job);
/* Evicts, by the statement, the tasks of the job that hold something or are to hold something. */
void orr_kai__evict_active(struct orr_session *session, uint32_t job);
/* The limit or quota that keeps the job from its next attempt; ORR_FIT_NONE: none does. `demand`
 * gets what that attempt asks. */
enum orr_fit_reason orr_kai__over_capacity(struct orr_session *session, uint32_t job,
                                           struct orr_demand *demand);
/* No more of any resource? */
bool orr_kai__asks_at_most(const struct orr_session *session, const struct orr_ask *a,
                           const struct orr_ask *b);
/* kai_search.c: consolidation, reclaim or preempt */
void orr_kai__search(struct orr_session *session, enum orr_action action);
/* kai_allocate.c */
void orr_kai__allocate(struct orr_session *session);
/* To be called before an action changes something. Under a filter of nodes allocate skips attempts
 * while no lane has room without the filter. Makes them now: none finds room, but the filter notes
 * which jobs it kept off nodes. */
void orr_kai__attempt_skipped(struct orr_session *session);

#endif
