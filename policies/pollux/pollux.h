/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pollux.h - how many GPUs each job gets, so that the sum of what they are worth is the most. */
#ifndef ORR_POLLUX_H
#define ORR_POLLUX_H

#include <stdint.h>

struct orr_pollux_choice {
    uint32_t gpus;
    double worth;
};

struct orr_pollux_job {    /* one of its choices is taken; the first holds nothing */
    uint32_t first, count; /* of the choices; at most UINT16_MAX */
    uint32_t chosen;       /* out: from 0 */
};

/* What a speedup is worth, so that the most of the sum is the most of the power mean of exponent
 * `power` (0: the geometric mean): s^power / power, or its logarithm. */
double orr_pollux_worth(double speedup, double power);

/* Exact, by dynamic programming over whole GPUs: jobs times GPUs times choices. Of equal sums the
 * one in which the last jobs hold the fewest, then those before them. */
void orr_pollux_divide(struct orr_pollux_job *jobs, uint32_t job_count,
                       const struct orr_pollux_choice *choices, uint32_t gpus);

#endif
