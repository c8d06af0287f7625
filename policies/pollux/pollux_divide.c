/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pollux.h"

#include <math.h>
#include <stddef.h>

#include <orrery/base/mem.h>

double orr_pollux_worth(double speedup, double power)
{
    return fabs(power) < 1e-9 ? log(speedup) : pow(speedup, power) / power;
}

/* The job's best choice with so many GPUs for it and all before it, whose best sums are in `best`.
 */
static uint16_t best_choice(const struct orr_pollux_job *job,
                            const struct orr_pollux_choice *choices, const double *best,
                            uint32_t gpus, double *sum)
{
    uint16_t found = 0;
    *sum = best[gpus] + choices[job->first].worth;
    for (uint32_t c = 1; c < job->count; c++) {
        const struct orr_pollux_choice *choice = &choices[job->first + c];
        if (choice->gpus <= gpus && best[gpus - choice->gpus] + choice->worth > *sum) {
            *sum = best[gpus - choice->gpus] + choice->worth;
            found = (uint16_t)c;
        }
    }
    return found;
}

void orr_pollux_divide(struct orr_pollux_job *jobs, uint32_t job_count,
                       const struct orr_pollux_choice *choices, uint32_t gpus)
{
    const size_t row = gpus + (size_t)1;
    double *best = orr_zalloc(row, sizeof *best);
    uint16_t *taken = orr_alloc(row * job_count + 1, sizeof *taken);
    for (uint32_t j = 0; j < job_count; j++) {
        for (size_t g = row; g-- > 0;) { /* downwards: choices look at fewer GPUs, not done yet */
            double sum;
            taken[row * j + g] = best_choice(&jobs[j], choices, best, (uint32_t)g, &sum);
            best[g] = sum;
        }
    }
    uint32_t left = gpus;
    for (uint32_t j = job_count; j-- > 0;) {
        jobs[j].chosen = taken[row * j + left];
        left -= choices[jobs[j].first + jobs[j].chosen].gpus;
    }
    orr_free(best);
    orr_free(taken);
}
