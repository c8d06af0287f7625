/* SPDX-License-Identifier: GPL-3.0-or-later */
/* coincidences.h - starts that hung on ends counting before arrivals of the same instant: the job
 * started in the very instant it came, on a node where another job's pods went in that instant. Had
 * it come first, they would have been in its way.
 *
 * It is passed placements in order of time, those that end at a time before those that begin then.
 */
#ifndef ORR_SIM_COINCIDENCES_H
#define ORR_SIM_COINCIDENCES_H

#include "summary_int.h"

struct orr_coincidences;

struct orr_coincidences *orr_coincidences__open(const struct orr_world *world,
                                                const struct orr_run *run,
                                                const struct orr_summary *summary);
/* One ends that was not over as it began. */
void orr_coincidences__left(struct orr_coincidences *c, const struct orr_placement *placement);
void orr_coincidences__came(struct orr_coincidences *c, const struct orr_placement *placement);
/* How many jobs of the window; ends the record. */
uint64_t orr_coincidences__close(struct orr_coincidences *c);

#endif
