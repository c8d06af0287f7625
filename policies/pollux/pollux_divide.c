/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pollux.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include <orrery/base/mem.h>

double orr_pollux_worth(double speedup, double power)
{
    return fabs(power) < 1e-9 ? log(speedup) : pow(speedup, power) / power;
}

/* By GPUs for the job and all before it, whose best sums are in `before`: the best sums, and with
 * which of its choices. Choice by choice, so that a compiler may take many GPUs at once. */
static void best_choices(const struct orr_pollux_job *job, const struct orr_pollux_choice *choices,
                         size_t row, const double *restrict before, double *restrict best,
                         uint16_t *restrict taken)
{
    for (size_t g = 0; g < row; g++) {
        best[g] = before[g] + choices[job->first].worth;
        taken[g] = 0;
    }
    for (uint32_t c = 1; c < job->count; c++) {
        const size_t gpus = choices[job->first + c].gpus;
        const double worth = choices[job->first + c].worth;
        for (size_t g = gpus; g < row; g++) {
            const double sum = before[g - gpus] + worth;
            const bool better = sum > best[g];
            best[g] = better ? sum : best[g];
            taken[g] = better ? (uint16_t)c : taken[g];
        }
    }
}

void orr_pollux_divide(struct orr_pollux_job *jobs, uint32_t job_count,
                       const struct orr_pollux_choice *choices, uint32_t gpus)
{
    const size_t row = gpus + (size_t)1;
    double *before = orr_zalloc(row, sizeof *before), *best = orr_zalloc(row, sizeof *best);
    uint16_t *taken = orr_alloc(row * job_count + 1, sizeof *taken);
    for (uint32_t j = 0; j < job_count; j++) {
        best_choices(&jobs[j], choices, row, before, best, &taken[row * j]);
        double *spare = before;
        before = best;
        best = spare;
    }
    uint32_t left = gpus;
    for (uint32_t j = job_count; j-- > 0;) {
        jobs[j].chosen = taken[row * j + left];
        left -= choices[jobs[j].first + jobs[j].chosen].gpus;
    }
    orr_free(before);
    orr_free(best);
    orr_free(taken);
}
