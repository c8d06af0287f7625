/* SPDX-License-Identifier: GPL-3.0-or-later */
/* profile_int.h - what the files of profiles share. */
#ifndef ORR_SIM_PROFILE_INT_H
#define ORR_SIM_PROFILE_INT_H

#include <orrery/sim/profile.h>

/* Seconds per step of a placement by the table's rows, and how many of them synchronise; 0: the
 * table has nothing about its GPU model. */
double orr_profile__measured(const struct orr_profile *profile, const struct orr_fabric *fabric,
                             const struct orr_placed *placed, double *sync_s);
/* Seconds per step that this gang would have in the reference placement. */
double orr_profile__reference(const struct orr_profile *profile, const struct orr_placed *placed);

#endif
