/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_ever.c - could the empty nodes of a partition hold a job? One that they could not blocks
 * nobody. */
#include "slurm_int.h"

#include <string.h>

/* By the selector, in rooms that are empty. */
static bool could_select(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                         uint32_t partition)
{
    uint32_t *held = orr_alloc(view->cluster->node_count + (size_t)1, sizeof *held);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        slurm->image[n] = orr_slurm__full_room(orr_cluster_type(view->cluster, n));
        held[n] = slurm->exclusive[n];
        slurm->exclusive[n] = 0;
    }
    const struct slurm_partition *p = &slurm->conf.partitions[partition];
    slurm->ever = true;
    const bool found = orr_slurm__select(slurm, view, job, p, p->nodes, slurm->image);
    slurm->ever = false;
    memcpy(slurm->exclusive, held, view->cluster->node_count * sizeof *held);
    orr_free(held);
    return found;
}

/* By core, in books in which nothing is held. */
static bool could_place(const struct slurm *slurm, const struct orr_view *view, uint32_t job,
                        uint32_t partition)
{
    const struct slurm_partition *p = &slurm->conf.partitions[partition];
    const struct orr_job_spec spec = view->specs[job];
    const struct orr_ledger_world world = {.cluster = view->cluster,
                                           .queues = view->queues,
                                           .shapes = view->shapes,
                                           .specs = &spec,
                                           .job_count = 1};
    int64_t *cpu_milli = orr_alloc(view->cluster->node_count + (size_t)1, sizeof *cpu_milli);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        cpu_milli[n] = p->node_cpu_milli;
    }
    const struct orr_place_among among = {p->nodes, cpu_milli};
    struct orr_ledger *ledger = orr_ledger_open(&world);
    struct orr_txn *txn = orr_txn_open(ledger, 0);
    orr_ledger_submit(ledger, 0);
    const bool found = orr_place_conceivable(txn, ledger, 0, false, &among);
    orr_txn_close(txn);
    orr_ledger_close(ledger);
    orr_free(cpu_milli);
    return found;
}

static bool select_ever(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                        uint32_t partition)
{
    const struct slurm_job *j = &slurm->jobs[job];
    return j->core_placed ? j->min_nodes <= slurm->conf.partitions[partition].node_count &&
                                could_place(slurm, view, job, partition)
                          : could_select(slurm, view, job, partition);
}

bool orr_slurm__is_hopeless(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                            uint32_t partition)
{
    struct slurm_job *j = &slurm->jobs[job];
    const uint64_t bit = (uint64_t)1 << partition;
    if (((j->hopeless | j->hopeful) & bit) == 0) {
        const bool found = select_ever(slurm, view, job, partition);
        j->hopeful |= found ? bit : 0;
        j->hopeless |= found ? 0 : bit;
    }
    return (j->hopeless & bit) != 0;
}
