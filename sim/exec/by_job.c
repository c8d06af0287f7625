/* SPDX-License-Identifier: GPL-3.0-or-later */
/* by_job.c - the rows of a record, job by job. */
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/sim/by_job.h>

static uint32_t job_of(const struct orr_rows *rows, uint32_t row)
{
    uint32_t job;
    memcpy(&job, (const char *)rows->rows + row * rows->bytes + rows->job_at, sizeof job);
    return job;
}

struct orr_by_job orr_by_job_make(const struct orr_rows *rows, uint32_t job_count)
{
    if (rows->count == 0) {
        return (struct orr_by_job){0};
    }
    struct orr_by_job by = {.first = orr_zalloc(job_count + (size_t)2, sizeof *by.first),
                            .rows = orr_alloc(rows->count + (size_t)1, sizeof *by.rows)};
    for (uint32_t r = 0; r < rows->count; r++) {
        by.first[job_of(rows, r) + 2]++;
    }
    for (uint32_t j = 2; j < job_count + 2; j++) {
        by.first[j] += by.first[j - 1];
    }
    for (uint32_t r = 0; r < rows->count; r++) {
        by.rows[by.first[job_of(rows, r) + 1]++] = r;
    }
    return by;
}

struct orr_by_job orr_by_job_placements(const struct orr_run *run)
{
    const struct orr_ledger *ledger = run->ledger;
    const struct orr_rows rows = {ledger->placements, sizeof *ledger->placements,
                                  offsetof(struct orr_placement, job), ledger->placement_count};
    return orr_by_job_make(&rows, ledger->world.job_count);
}

void orr_by_job_release(struct orr_by_job *by)
{
    orr_free(by->first);
    orr_free(by->rows);
}
