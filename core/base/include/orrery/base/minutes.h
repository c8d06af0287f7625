/* SPDX-License-Identifier: GPL-3.0-or-later */
/* minutes.h - times in whole minutes, as Slurm keeps time limits. */
#ifndef ORR_BASE_MINUTES_H
#define ORR_BASE_MINUTES_H

#include <orrery/base/units.h>

ORR_API_BEGIN

/* A part of a minute counts as one; ORR_MS_NEVER stays. */
static inline orr_ms orr_ms_whole_minutes(orr_ms time)
{
    enum { MINUTE_MS = 60000 };
    return time >= ORR_MS_NEVER / 2 ? time : (time + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS;
}

ORR_API_END

#endif
