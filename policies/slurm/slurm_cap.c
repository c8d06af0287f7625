/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_cap.c - MaxCPUsPerNode: how many CPUs of a node the jobs of a partition may have together,
 * so that others, such as those of GPUs, find some there.
 *
 * What those that run have, and suspended ones get back, is added up when a record of such a
 * partition is looked at, once until a job starts or stops. In images of a later time what they
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

static void add_up(struct slurm *slurm, const struct orr_view *view)
{
    const struct orr_placement *placements = view->ledger->placements;
    memset(slurm->cap_used, 0, view->cluster->node_count * sizeof *slurm->cap_used);
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        const uint32_t job = slurm->running[r];
        const struct slurm_job *j = &slurm->jobs[job];
        const bool counts = j->runs_in == slurm->cap_partition;
        for (uint32_t p = counts ? view->jobs[job].placement : ORR_NONE; p != ORR_NONE;
             p = placements[p].next) {
            const int64_t cpu =
                slurm_shape(view, job)->groups[placements[p].group].request.cpu_milli;
            for (uint32_t n = 0; n <= placements[p].more_nodes; n++) {
                slurm->cap_used[placements[p].node + n] += cpu * orr_placement_each(&placements[p]);
            }
        }
    }
}

void orr_slurm__cap_from(struct slurm *slurm, const struct orr_view *view, uint32_t partition)
{
    const bool same = slurm->cap_partition == partition && slurm->cap_moves == slurm->moves &&
                      slurm->cap_changes == view->ledger->changes;
    slurm->cap_cpu_milli = slurm->conf.partitions[partition].node_cpu_milli;
    if (slurm->cap_cpu_milli == INT64_MAX) {
        return;
    }
    slurm->kept_key = slurm->kept_key * 31 + partition + 1;
    if (!same) {
        slurm->cap_partition = partition;
        slurm->cap_moves = slurm->moves;
        slurm->cap_changes = view->ledger->changes;
        add_up(slurm, view);
    }
}

int64_t orr_slurm__capped(const struct slurm *slurm, uint32_t node, int64_t cpu_milli)
{
    if (slurm->cap_cpu_milli == INT64_MAX) {
        return cpu_milli;
    }
    const bool leaves = slurm->in_image && slurm->cap_image[node] == slurm->image_number;
    const int64_t used =
        slurm->ever ? 0 : slurm->cap_used[node] - (leaves ? slurm->cap_gone[node] : 0);
    const int64_t left = slurm->cap_cpu_milli - used;
    return cpu_milli < left ? cpu_milli : left;
}

static void set_gone(struct slurm *slurm, uint32_t node, int64_t cpu_milli)
{
    slurm->cap_gone[node] = cpu_milli;
    slurm->cap_image[node] = slurm->image_number;
}

void orr_slurm__cap_leave(struct slurm *slurm, uint32_t job, uint32_t node, int64_t cpu_milli)
{
    const bool before = slurm->cap_image[node] == slurm->image_number;
    const bool counts = slurm->jobs[job].runs_in == slurm->cap_partition;
    set_gone(slurm, node, (before ? slurm->cap_gone[node] : 0) + (counts ? cpu_milli : 0));
}

void orr_slurm__cap_behind(struct slurm *slurm, const struct orr_view *view, uint32_t node,
                           uint32_t held)
{
    int64_t gone = 0;
    for (; held != ORR_NONE && slurm->cap_cpu_milli < INT64_MAX; held = slurm->held[held].before) {
        const uint32_t running = slurm->held[held].running, before = slurm->held[held].before;
        const uint32_t job = slurm->running[running];
        const bool again = before != ORR_NONE && slurm->held[before].running == running;
        const bool counts = slurm->jobs[job].runs_in == slurm->cap_partition && !again;
        gone += counts ? cpu_on(view, job, node) : 0;
    }
    set_gone(slurm, node, gone);
}

void orr_slurm__cap_take(struct slurm *slurm, uint32_t node, int64_t cpu_milli)
{
    slurm->cap_used[node] += slurm->cap_cpu_milli < INT64_MAX ? cpu_milli : 0;
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
        keeps = takes == 0 || slurm->cap_used[placements[p].node] + takes <= slurm->cap_cpu_milli;
    }
    return keeps;
}
