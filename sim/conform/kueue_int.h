/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_int.h - a vector of Kueue's while it runs. */
#ifndef ORR_SIM_CONFORM_KUEUE_INT_H
#define ORR_SIM_CONFORM_KUEUE_INT_H

#include <orrery/sim/kueue_world.h>

#include "kueue_case.h"

/* The vector of a world that was opened with its objects, which are its first member. */
static inline const struct conform_kueue *orr_conform__vector(const struct kq_world *world)
{
    return (const struct conform_kueue *)world->from;
}

/* kueue_check.c */
void orr_conform__check_cycle(const struct kq_world *world, const uint32_t *evicted_by,
                              const bool *held_before, const bool *finished,
                              struct conform_outcome *outcome);
bool orr_conform__same_domains(const struct kq_world *world, uint32_t flavor,
                               const struct kq_placed *expected,
                               const struct orr_kueue_domain *domains, uint32_t count);

#endif
