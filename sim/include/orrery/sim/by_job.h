/* SPDX-License-Identifier: GPL-3.0-or-later */
/* by_job.h - the rows of a run's record, job by job. */
#ifndef ORR_SIM_BY_JOB_H
#define ORR_SIM_BY_JOB_H

#include <orrery/sim/engine.h>

struct orr_rows { /* of a record; borrowed */
    const void *rows;
    size_t bytes, job_at; /* of a row; of its uint32_t job */
    uint32_t count;
};
/* Those of job j are rows[orr_by_job_first(j)] up to, without it, rows[orr_by_job_first(j + 1)], in
 * the order of the record. */
struct orr_by_job {
    uint32_t *first, *rows; /* NULL: there are no rows */
};
static inline uint32_t orr_by_job_first(const struct orr_by_job *by, uint32_t job)
{
    return by->first == NULL ? 0 : by->first[job];
}
struct orr_by_job orr_by_job_make(const struct orr_rows *rows, uint32_t job_count);
struct orr_by_job orr_by_job_placements(const struct orr_run *run);
void orr_by_job_release(struct orr_by_job *by);

#endif
