/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gittins.h - the Gittins index of a job that has been served for a while. */
#ifndef ORR_POLICIES_GITTINS_H
#define ORR_POLICIES_GITTINS_H

#include <orrery/base/units.h>

/* The inverse of the index of a job whose service in all is drawn from `services` (ascending) and
 * that has attained `a`: the least, over all amounts d, of E[min(S - a, d)] / P(S - a <= d) given S
 * > a, which is service spent for each completion. Infinite where no service is above a. */
double orr_gittins_cost(const double *services, uint32_t count, double a);

#endif
