/* SPDX-License-Identifier: GPL-3.0-or-later */
/* profiles.h - the profiles of a scenario, their tables read, ready to give rates. */
#ifndef ORR_SIM_PROFILES_H
#define ORR_SIM_PROFILES_H

#include <orrery/sim/profile.h>
#include <orrery/sim/scenario.h>

struct orr_profiles { /* by the order of the scenario's; names are the scenario's */
    struct orr_profile *items;
    uint32_t count;
    struct orr_arena arena;
};

/* Loads the profiles that are `wanted` (by index in the scenario; NULL: all), the others stay
 * fixed: a file of profiles may hold some that this cluster could not run. Reads the tables and
 * works out reference placements on the fabric's cluster. GPU models that the cluster has not are
 * left out of tables; a profile that then says nothing about any of its models is an error, as is a
 * table without rows for it. On failure nothing is left. */
enum orr_status orr_profiles_load(const struct orr_scenario *scenario,
                                  const struct orr_fabric *fabric, const bool *wanted,
                                  struct orr_profiles *profiles, struct orr_err *err) ORR_MUST_USE;
void orr_profiles_release(struct orr_profiles *profiles);

/* Index of a name, or ORR_NONE. */
uint32_t orr_profiles_find(const struct orr_profiles *profiles, const char *name);

#endif
