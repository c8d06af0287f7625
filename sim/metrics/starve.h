/* SPDX-License-Identifier: GPL-3.0-or-later */
/* starve.h - how long jobs waited although their queue, with them, would have been within its
 * quota.
 *
 * A queue has a slot for each amount that its jobs ask for; a slot remembers when the queue's
 * allocation left that much of the quota and when not. What a wait had of it is then the difference
 * of two look-ups. Queues without quota have no slots and cost nothing. */
#ifndef ORR_SIM_STARVE_H
#define ORR_SIM_STARVE_H

#include "summary_int.h"

struct orr_starve;

struct orr_starve *orr_starve__open(const struct orr_world *world, const struct orr_run *run,
                                    const struct orr_summary *summary);
/* A leaf's allocation changes; in order of time. */
void orr_starve__change(struct orr_starve *starve, uint32_t queue, int64_t mgpu, orr_ms at);
/* The queue's entitlements change. */
void orr_starve__queue_change(struct orr_starve *starve,
                              const struct orr_world_queue_change *change);
/* Judges the jobs of the window and ends the record. */
void orr_starve__close(struct orr_starve *starve, struct orr_starvation *result);

#endif
