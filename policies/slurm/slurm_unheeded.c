/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_unheeded.c - what jobs state, or leave unstated, that a run under this policy does not look
 * at: a sentence for all of them together. */
#include "slurm_int.h"

#include <stdio.h>

#include <orrery/base/text.h>

/* Without a time limit backfill would count a year; it is given the run time instead. */
static void say_unlimited(uint32_t count, orr_policy_say_fn *say, void *context)
{
    char text[300];
    if (count > 0) {
        (void)snprintf(text, sizeof text,
                       "time limits, which %u job%s %s: policy slurm is given %s, unless the "
                       "partition has a DefaultTime or MaxTime",
                       (unsigned)count, ORR_PLURAL(count),
                       ORR_ONE(count, "does not state", "do not state"),
                       ORR_ONE(count, "its run time", "their run times"));
        say(text, context);
    }
}

void orr_slurm__unheeded(const void *params, const struct orr_view *view, orr_policy_say_fn *say,
                         void *context)
{
    struct slurm slurm = {.params = params};
    struct orr_err err = {0};
    uint32_t unlimited = 0;
    struct slurm_options options = {.tally = orr_zalloc(1, sizeof *options.tally)};
    orr_idmap_init(&slurm.arrays);
    const bool read = orr_slurm__conf_read(&slurm.conf, params, view, &err) == ORR_OK;
    for (uint32_t j = 0; j < view->job_count && read; j++) {
        struct slurm_job job = {.array = ORR_NONE};
        if (view->queues->queues[view->specs[j].queue].shard == view->shard) {
            orr_slurm__options_read(&slurm, view, j, &job, &options);
            unlimited += orr_slurm__is_unlimited(&slurm.conf, view, j, job.partitions[0]);
        }
    }
    orr_slurm__options_say(options.tally, say, context);
    say_unlimited(unlimited, say, context);
    orr_free(options.tally);
    orr_slurm__conf_release(&slurm.conf);
    orr_idmap_release(&slurm.arrays);
    orr_free(slurm.array);
}
