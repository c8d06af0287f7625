/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flavor_memory.c - where the last search for flavors ended, so that the next goes on from there.
 */
#include "kueue_int.h"

void orr_kueue__remember(struct orr_kueue *kueue, uint32_t workload,
                         const struct orr_kueue_assignment *assignment)
{
    struct kueue_workload *is = &kueue->workloads[workload];
    const size_t cells = (size_t)is->is.pod_set_count * kueue->resources;
    if (is->tried == NULL) {
        is->tried = orr_alloc(cells + 1, sizeof *is->tried);
    }
    for (size_t i = 0; i < cells; i++) {
        is->tried[i] = -1;
    }
    for (uint32_t i = 0; i < assignment->set_count * kueue->resources; i++) {
        if (assignment->flavored[i].flavor != ORR_NONE) {
            is->tried[i] = assignment->flavored[i].tried;
        }
    }
    is->tried_cycle = kueue->cycle;
    is->tried_generation = kueue->queues[is->is.queue].generation;
}

void orr_kueue__forget(struct orr_kueue *kueue, uint32_t workload)
{
    orr_free(kueue->workloads[workload].tried);
    kueue->workloads[workload].tried = NULL;
}

void orr_kueue__drop_outdated(struct orr_kueue *kueue, uint32_t workload)
{
    const struct kueue_workload *is = &kueue->workloads[workload];
    if (is->tried == NULL) {
        return;
    }
    const bool grown = kueue->queues[is->is.queue].generation > is->tried_generation;
    const bool just_now = is->tried_cycle == kueue->cycle - 1;
    if (grown && (!just_now || kueue->spec->config.no_scan_progress)) {
        orr_kueue__forget(kueue, workload);
    }
}

bool orr_kueue__pending_flavors(const struct orr_kueue *kueue, uint32_t workload)
{
    const struct kueue_workload *is = &kueue->workloads[workload];
    for (size_t i = 0; is->tried != NULL && i < (size_t)is->is.pod_set_count * kueue->resources;
         i++) {
        if (is->tried[i] != -1) {
            return true;
        }
    }
    return false;
}
