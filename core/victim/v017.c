/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What KAI v0.17 does otherwise in a search; the default does none of it (core/defects.h). */
#include "victim_int.h"

#include <string.h>

#include <orrery/core/defects.h>

/* --- D2 --- */

/* KAI v0.17's node-local search lists what an earlier probe recorded of a job together with the
 * job's further victims (by_node_scenario.go), and the recorded victims once more. They are evicted
 * twice, their queue seems to hold less than it does until the cycle ends, and validators count
 * them twice. The default takes every victim once. */
void orr_victim__list_again_v017(struct orr_victim_search *search)
{
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        struct orr_victim victim = search->recorded.items[i];
        victim.group = search->recorded_groups + victim.job;
        if (search->picked[victim.group] == search->scenarios) {
            orr_victims_push(&search->scenario, &victim);
        }
    }
}

uint8_t orr_victim__status(const struct orr_victim_search *search, uint32_t nth)
{
    const uint32_t task = orr_victim__nth(search, nth)->task;
    uint32_t before = 0;
    for (uint32_t i = 0; i < nth && search->session->v017 != NULL; i++) {
        before += orr_victim__nth(search, i)->task == task;
    }
    return search->session->v017 == NULL ? search->session->tasks[task].live.status
                                         : orr_v017_status_of(search->session, task, before);
}

/* --- D4, D6 --- */

/* KAI v0.17 sums the GPUs that nodes would have free in doubles, victim by victim
 * (accumulated_scenario_filters/idle_gpus): 0.6 + 4 x 0.1 is less than 1, so that for a job of a
 * whole GPU nobody is evicted from a device that three, four, seven or ten pods of 0.1 share. The
 * default counts milli-GPU. */
static double part_of(int64_t need_mib, const struct orr_snode *node)
{
    return orr_share_units(ORR_SHARE_GPU, orr_session_ceil_portion(need_mib, node->gpu_memory_mib));
}

static double whole_gpus(const struct orr_session *session, const struct orr_vec *vector)
{
    double sum = orr_share_units(ORR_SHARE_GPU, vector->v[ORR_SLOT_GPU]);
    for (uint32_t s = ORR_SLOT_EXTENDED; s < session->slot_count; s++) {
        sum += (double)(vector->v[s] * session->slot_quota_gpus[s]);
    }
    return sum;
}

/* KAI nodeIdleOrReleasingGpuCapacity. */
static double free_gpus(const struct orr_session *session, const struct orr_snode *node)
{
    double idle = 0;
    double releasing = 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        idle += gpu->allocated > 0 ? 1 - part_of(gpu->allocated, node) : 0;
        releasing +=
            gpu->releasing > 0 && gpu->used != gpu->releasing ? part_of(gpu->releasing, node) : 0;
    }
    idle += whole_gpus(session, &node->idle);
    releasing += whole_gpus(session, &node->releasing);
    return idle + releasing;
}

void orr_victim__start_probe_v017(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_capacities *c = &search->capacities;
    orr_victim__forget_steps(search); /* not all is taken back that was tried */
    c->at_probe = orr_arena_take(&search->memory, session->node_count, sizeof *c->at_probe);
    for (uint32_t n = 0; n < session->node_count; n++) {
        c->at_probe[n] = free_gpus(session, &session->nodes[n]);
    }
}

void orr_victim__measure_again_v017(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_victims *potential = &search->potential;
    const uint32_t count = potential->count;
    for (uint32_t n = 0; n < session->node_count; n++) {
        search->capacities.free[n] =
            orr_session_idle_gpus(session, n) + orr_session_releasing_gpus(session, n);
    }
    orr_victim__start_capacities(search);
    for (potential->count = 0; potential->count < count; potential->count++) {
        orr_victim__add_capacity(search, &potential->items[potential->count]);
    }
}

double *orr_victim__list_capacities_v017(const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_victims *lists[2] = {&search->recorded, &search->potential};
    bool *is_listed = orr_zalloc(session->task_count, sizeof *is_listed); /* D2: some are twice */
    double *capacities = orr_alloc(session->node_count + (size_t)1, sizeof *capacities);
    memcpy(capacities, search->capacities.at_probe, session->node_count * sizeof *capacities);
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < lists[l]->count; i++) {
            const struct orr_victim *victim = &lists[l]->items[i];
            if (victim->node != ORR_NONE && !is_listed[victim->task]) {
                capacities[victim->node] +=
                    orr_share_units(ORR_SHARE_GPU, orr_victim__freed(session, victim->task));
                is_listed[victim->task] = true;
            }
        }
    }
    orr_free(is_listed);
    return capacities;
}
