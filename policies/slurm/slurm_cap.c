/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_cap.c - MaxCPUsPerNode: how many CPUs of a node the jobs of a partition may have together,
 * so that others, such as those of GPUs, find some there.
 *
 * What those that run have, and suspended ones get back, is added up for a partition when a record
 * of it is looked at, once until a job starts or stops. In images of a later time what they
 * give back is counted beside it. */
#include "slurm_int.h"

#include <string.h>

/* What a job has of a node. */
static int64_t cpu_on(const struct orr_view *view, uint32_t job, uint32_t node)
{
    const struct orr_placement *placements = view->ledger->placements;
    int64_t cpu_milli = 0;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = placements[p].next) {
        const struct orr_request *request =
            &slurm_shape(view, job)->groups[placements[p].group].request;
        cpu_milli += orr_placement_is_on(&placements[p], node)
                         ? request->cpu_milli * orr_placement_each(&placements[p])
                         : 0;
    }
    return cpu_milli;
}

/* Adds up what the jobs of the partition at hand have. */
static void add_up(struct slurm *slurm, const struct orr_view *view)
{
    const struct orr_placement *placements = view->ledger->placements;
    int64_t *used = slurm->caps[slurm->cap_partition].used;
    memset(used, 0, view->cluster->node_count * sizeof *used);
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        const uint32_t job = slurm->running[r];
        const bool counts = slurm->jobs[job].runs_in == slurm->cap_partition;
        for (uint32_t p = counts ? view->jobs[job].placement : ORR_NONE; p != ORR_NONE;
             p = placements[p].next) {
            const int64_t cpu =
                slurm_shape(view, job)->groups[placements[p].group].request.cpu_milli;
            for (uint32_t n = 0; n <= placements[p].more_nodes; n++) {
                used[placements[p].node + n] += cpu * orr_placement_each(&placements[p]);
            }
        }
    }
}

void orr_slurm__cap_open(struct slurm *slurm)
{
    slurm->caps = orr_zalloc(slurm->conf.partition_count, sizeof *slurm->caps);
}

void orr_slurm__cap_close(struct slurm *slurm)
{
    for (uint32_t p = 0; slurm->caps != NULL && p < slurm->conf.partition_count; p++) {
        orr_free(slurm->caps[p].used);
    }
    orr_free(slurm->caps);
}

void orr_slurm__cap_from(struct slurm *slurm, const struct orr_view *view, uint32_t partition)
{
    struct slurm_cap *cap = &slurm->caps[partition];
    slurm->cap_cpu_milli = slurm->conf.partitions[partition].node_cpu_milli;
    if (slurm->cap_cpu_milli == INT64_MAX) {
        return;
    }
    slurm->kept_key = slurm->kept_key * 31 + partition + 1;
    slurm->cap_partition = partition;
    if (cap->used == NULL || cap->moves != slurm->moves || cap->changes != view->ledger->changes) {
        cap->used =
            orr_realloc(cap->used, view->cluster->node_count + (size_t)1, sizeof *cap->used);
        cap->moves = slurm->moves;
        cap->changes = view->ledger->changes;
        add_up(slurm, view);
    }
}

int64_t orr_slurm__capped(const struct slurm *slurm, uint32_t node, int64_t cpu_milli)
{
    if (slurm->cap_cpu_milli == INT64_MAX) {
        return cpu_milli;
    }
    const bool leaves = slurm->in_image && slurm->cap_image[node] == slurm->image_number;
    const int64_t used = slurm->ever ? 0
                                     : slurm->caps[slurm->cap_partition].used[node] -
                                           (leaves ? slurm->cap_gone[node] : 0);
    const int64_t left = slurm->cap_cpu_milli - used;
    return cpu_milli < left ? cpu_milli : left;
}

static void set_gone(struct slurm *slurm, uint32_t node, int64_t cpu_milli)
{
    slurm->cap_gone[node] = cpu_milli;
    slurm->cap_image[node] = slurm->image_number;
}

/* What jobs of a partition have given back of a node behind one of slurm->held there. */
static int64_t given_by(const struct slurm *slurm, uint32_t held, uint32_t partition)
{
    while (held != ORR_NONE && slurm->held[held].partition != partition) {
        held = slurm->held[held].before;
    }
    return held != ORR_NONE ? slurm->held[held].cap_cpu_milli : 0;
}

void orr_slurm__cap_leave(struct slurm *slurm, uint32_t job, uint32_t node, int64_t cpu_milli)
{
    const bool before = slurm->cap_image[node] == slurm->image_number;
    const bool counts = slurm->jobs[job].runs_in == slurm->cap_partition;
    set_gone(slurm, node, (before ? slurm->cap_gone[node] : 0) + (counts ? cpu_milli : 0));
}

int64_t orr_slurm__cap_given(const struct slurm *slurm, const struct orr_view *view,
                             const struct slurm_held *held)
{
    if (slurm->conf.partitions[held->partition].node_cpu_milli == INT64_MAX) {
        return 0;
    }
    const uint32_t job = slurm->running[held->running];
    const bool again =
        held->before != ORR_NONE && slurm->held[held->before].running == held->running;
    return given_by(slurm, held->before, held->partition) +
           (again ? 0 : cpu_on(view, job, held->node));
}

void orr_slurm__cap_behind(struct slurm *slurm, uint32_t node, uint32_t held)
{
    set_gone(slurm, node,
             slurm->cap_cpu_milli < INT64_MAX ? given_by(slurm, held, slurm->cap_partition) : 0);
}

void orr_slurm__cap_take(struct slurm *slurm, uint32_t node, int64_t cpu_milli)
{
    if (slurm->cap_cpu_milli < INT64_MAX) {
        slurm->caps[slurm->cap_partition].used[node] += cpu_milli;
    }
}

bool orr_slurm__keeps_cap(const struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct orr_placement *placements = view->ledger->placements;
    const struct orr_shape *shape = slurm_shape(view, job);
    bool keeps = true;
    for (uint32_t p = slurm->cap_cpu_milli < INT64_MAX ? view->jobs[job].placement : ORR_NONE;
         keeps && p != ORR_NONE; p = placements[p].next) {
        int64_t takes = 0; /* with its other placements on the node */
        for (uint32_t q = p; q != ORR_NONE && placements[p].since_ms == ORR_MS_NONE;
             q = placements[q].next) {
            const bool here =
                placements[q].since_ms == ORR_MS_NONE && placements[q].node == placements[p].node;
            takes += here ? shape->groups[placements[q].group].request.cpu_milli *
                                orr_placement_each(&placements[q])
                          : 0;
        }
        keeps = takes == 0 || slurm->caps[slurm->cap_partition].used[placements[p].node] + takes <=
                                  slurm->cap_cpu_milli;
    }
    return keeps;
}
