/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sacct_attempts.h - jobs of sacct's rows, and the attempts of those that were requeued. */
#ifndef ORR_SIM_INTAKE_SACCT_ATTEMPTS_H
#define ORR_SIM_INTAKE_SACCT_ATTEMPTS_H

#include <orrery/base/idmap.h>

#include "intake_int.h"

struct sacct_attempt {
    orr_ms start_ms, end_ms, run_ms;
    uint32_t state;
    uint32_t before; /* index + 1 of the one before; 0: the first */
};

struct sacct_attempts { /* of all jobs */
    struct sacct_attempt *list;
    uint32_t count, capacity;
};

struct sacct_job {
    orr_ms submit_ms, eligible_ms, start_ms, end_ms, run_ms, limit_ms;
    double earlier_gpu_h; /* of attempts before the last */
    int64_t gpus, cpus, mem_mib;
    uint32_t line, nodes, queue, user, type, attempt, state; /* indices, or ORR_NONE */
    uint32_t sbatch;                                         /* options, a name */
    uint16_t attempts;
    bool interactive;
    bool unlimited; /* its time limit is stated to be none */
};

/* One more attempt of `job`, as the row `from` has it; `state` is a name. */
void sacct_attempts_add(struct sacct_attempts *attempts, struct sacct_job *job,
                        const struct sacct_job *from, uint32_t state);
/* Is the attempt of row `more` there? Files of spans that overlap, put together, have rows twice.
 */
bool sacct_attempts_have(const struct sacct_attempts *attempts, const struct sacct_job *job,
                         const struct sacct_job *more, uint32_t state);
/* Another row of a job that is there: rows may come in any order. */
void sacct_attempts_join(struct sacct_attempts *attempts, struct sacct_job *job,
                         const struct sacct_job *more, uint32_t state);
/* "36:NODE_FAIL 120:COMPLETED": seconds and end of each, in the order of the file, of the last ones
 * if not all fit (false). */
bool sacct_attempts_words(const struct sacct_attempts *attempts, const struct orr_idmap *names,
                          const struct sacct_job *job, char *text, size_t bytes);
/* When each of them was, as far as the record says it: recorded_attempts. False: not all fit. */
bool sacct_attempts_spans(const struct sacct_attempts *attempts, const struct sacct_job *job,
                          char text[ORR_NAME_MAX + 1]);

#endif
