/* SPDX-License-Identifier: GPL-3.0-or-later */
/* profile_int.h - what the files of profiles share. */
#ifndef ORR_SIM_PROFILE_INT_H
#define ORR_SIM_PROFILE_INT_H

#include <orrery/sim/profile.h>

/* Seconds per step of a placement by the table's rows, and how many of them synchronise; 0: the
 * table has nothing about its GPU model. */
double orr_profile__measured(const struct orr_profile *profile, const struct orr_fabric *fabric,
                             const struct orr_placed *placed, double *sync_s);
/* The same if its GPUs lay on as few nodes as the table knows for so many of that model. */
double orr_profile__packed(const struct orr_profile *profile, const struct orr_fabric *fabric,
                           const struct orr_placed *placed, double *sync_s);
/* The same of the reference placement, of a gang of so many GPUs. */
double orr_profile__reference(const struct orr_profile *profile, uint32_t gpus, double *sync_s);

#endif
