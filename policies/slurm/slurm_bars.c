/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_bars.c - jobs that Slurm never starts, whoever else is there: no partition of theirs takes
 * them, as it is stated; it was submitted held; a limit of their QOS or association is below what
 * they ask; or not even the empty nodes of a partition could hold them. */
#include "slurm_int.h"

#include "../registry/policies_int.h"

static enum orr_reason bar_in(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                              uint32_t partition)
{
    const struct slurm_record record = {.job = job, .partition = partition};
    const enum orr_reason bar = orr_slurm__barred(slurm, &record);
    const enum orr_reason limit =
        bar == ORR_REASON_NONE ? orr_slurm__limit_alone(slurm, job, partition, SLURM_AT_LEAST)
                               : bar;
    return limit != ORR_REASON_NONE                              ? limit
           : orr_slurm__is_hopeless(slurm, view, job, partition) ? ORR_REASON_NEVER
                                                                 : ORR_REASON_NONE;
}

/* That it is held, or the bar of the last of its partitions, if each of them has one. */
static enum orr_reason bar_of(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct slurm_job *j = &slurm->jobs[job];
    enum orr_reason bar = j->priority == 0 ? ORR_REASON_JOB_HELD_USER : ORR_REASON_NONE;
    for (uint32_t p = 0; p < j->partition_count && j->priority != 0; p++) {
        bar = bar_in(slurm, view, job, j->partitions[p]);
        if (bar == ORR_REASON_NONE) {
            break;
        }
    }
    return bar;
}

void orr_slurm__bars_of(const void *params, const struct orr_view *view, const uint32_t *jobs,
                        uint32_t count, struct orr_bar *bars)
{
    const struct orr_policy *policy = &orr_policy_slurm;
    struct orr_err err = {0};
    void *state = NULL;
    const bool opened = policy->open(NULL, params, view, &state, &err) == ORR_OK;
    struct slurm *slurm = state;
    if (opened) {
        slurm->jobs =
            orr_zgrow(slurm->jobs, &slurm->job_capacity, view->job_count, sizeof *slurm->jobs);
    }
    for (uint32_t i = 0; i < count; i++) {
        bars[i] = (struct orr_bar){.reason = ORR_REASON_NONE, .queue = ORR_NONE};
        if (opened) {
            orr_slurm__job_read(slurm, view, jobs[i]);
            bars[i].reason = bar_of(slurm, view, jobs[i]);
        }
    }
    if (opened) {
        policy->close(slurm);
    }
}
