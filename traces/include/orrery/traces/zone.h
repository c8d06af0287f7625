/* SPDX-License-Identifier: GPL-3.0-or-later */
/* zone.h - time zones: how far their clocks are ahead of UTC, and instants of dates without one. */
#ifndef ORR_TRACES_ZONE_H
#define ORR_TRACES_ZONE_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>
#include <orrery/base/units.h>

/* Local minus UTC, in ms, of `count` hours that start at the wall-clock hour `first_hour` (hours
 * since 1970). `zone`: "UTC", "+05:30", or a name such as Europe/Berlin; NULL: UTC. ORR_SCENARIO
 * when the zone is not known here. */
enum orr_status orr_zone_offsets(const char *zone, int64_t first_hour, uint32_t count,
                                 orr_ms *offsets, struct orr_err *err) ORR_MUST_USE;

struct orr_zone; /* one that is asked often: its offsets are kept */

/* Lives in the arena, in which it may take more; the name is copied. NULL, which is UTC, makes
 * NULL. Fails as orr_zone_offsets does. */
enum orr_status orr_zone_make(struct orr_arena *arena, const char *name, struct orr_zone **out,
                              struct orr_err *err) ORR_MUST_USE;
/* The instant at which its clocks show `local`. An hour that they show twice is the first one; one
 * that they leave out is as before it. */
orr_ms orr_zone_utc(struct orr_zone *zone, orr_ms local);

#endif
