/* SPDX-License-Identifier: GPL-3.0-or-later */
/* own_share.h - what queues held against the fair shares that the policy itself goes by.
 *
 * It is passed every change of an allocation, in order of time, and steps through the record of the
 * policy's shares beside them. Both are step functions of a queue, so a queue costs something only
 * when one of them changes. Of CPU and memory there is a record only where queues divide it. A
 * policy without fair shares costs nothing. */
#ifndef ORR_SIM_OWN_SHARE_H
#define ORR_SIM_OWN_SHARE_H

#include <orrery/sim/summary.h>

struct orr_own_share; /* NULL: the policy has none */

struct orr_own_share *orr_own_share__open(const struct orr_world *world, const struct orr_run *run);
/* A leaf gets so much of each resource, or gives it back. */
void orr_own_share__change(struct orr_own_share *own, uint32_t queue,
                           const int64_t amounts[ORR_SHARE_KINDS], bool gets, orr_ms at);
/* The run is over: gives what was found to the summary and ends the record. */
void orr_own_share__close(struct orr_own_share *own, struct orr_summary *summary);

#endif
