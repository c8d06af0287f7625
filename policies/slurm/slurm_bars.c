/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_bars.c - jobs that Slurm never starts, whoever else is there: no partition of theirs takes
 * them, as it is stated; it was submitted held; a limit of their QOS or association is below what
 * they ask; or not even the empty nodes of a partition could hold them. */
#include "slurm_int.h"

#include <string.h>

#include "../registry/policies_int.h"

struct nodes_key { /* what decides whether nodes could hold a job; compared by its bytes */
    uint32_t shape, partition, min_nodes, max_nodes, exclusive, switches;
};

struct nodes_known { /* answers, by number of the key */
    struct orr_idmap keys;
    bool *hopeless;
    uint32_t capacity;
};

static bool is_hopeless(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                        uint32_t partition, struct nodes_known *known)
{
    const struct slurm_job *j = &slurm->jobs[job];
    const struct nodes_key key = {view->specs[job].shape, partition,    j->min_nodes,
                                  j->max_nodes,           j->exclusive, j->switches};
    bool added;
    const uint32_t at = orr_idmap_put(&known->keys, (const char *)&key, sizeof key, &added);
    known->hopeless =
        orr_zgrow(known->hopeless, &known->capacity, at + (size_t)1, sizeof *known->hopeless);
    if (added) {
        known->hopeless[at] = orr_slurm__is_hopeless(slurm, view, job, partition);
    }
    return known->hopeless[at];
}

static enum orr_reason bar_in(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                              uint32_t partition, struct nodes_known *known)
{
    const struct slurm_record record = {.job = job, .partition = partition};
    const enum orr_reason bar = orr_slurm__barred(slurm, &record);
    const enum orr_reason limit =
        bar == ORR_REASON_NONE ? orr_slurm__limit_alone(slurm, job, partition, SLURM_AT_LEAST)
                               : bar;
    return limit != ORR_REASON_NONE                          ? limit
           : is_hopeless(slurm, view, job, partition, known) ? ORR_REASON_NEVER
                                                             : ORR_REASON_NONE;
}

/* That it is held, or the bar of the last of its partitions, if each of them has one. */
static enum orr_reason bar_of(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                              struct nodes_known *known)
{
    const struct slurm_job *j = &slurm->jobs[job];
    enum orr_reason bar = j->priority == 0 ? ORR_REASON_JOB_HELD_USER : ORR_REASON_NONE;
    for (uint32_t p = 0; p < j->partition_count && j->priority != 0; p++) {
        bar = bar_in(slurm, view, job, j->partitions[p], known);
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
    struct nodes_known known = {0};
    struct orr_err err = {0};
    void *state = NULL;
    const bool opened = policy->open(NULL, params, view, &state, &err) == ORR_OK;
    struct slurm *slurm = state;
    orr_idmap_init(&known.keys);
    if (opened) {
        slurm->jobs =
            orr_zgrow(slurm->jobs, &slurm->job_capacity, view->job_count, sizeof *slurm->jobs);
    }
    for (uint32_t i = 0; i < count; i++) {
        bars[i] = (struct orr_bar){.reason = ORR_REASON_NONE, .queue = ORR_NONE};
        if (opened) {
            orr_slurm__job_read(slurm, view, jobs[i]);
            bars[i].reason = bar_of(slurm, view, jobs[i], &known);
        }
    }
    if (opened) {
        policy->close(slurm);
    }
    orr_idmap_release(&known.keys);
    orr_free(known.hopeless);
}
