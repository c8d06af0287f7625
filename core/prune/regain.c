/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "regain", consolidation: a victim cannot get back all that it would lose.
 *
 * Every task that is moved must be placed again (validate.c), and every job is served once. A job
 * of one pod set gets, when it is served, the rest of its gang or, if it has that, one task more
 * (orr_jobview_to_allocate); where that is less than it lost, one of the lost ones stays without a
 * place, whatever room there is and whoever goes first.
 */
#include "prune_int.h"

/* Tasks that the job would be given when it is served without `lost` of its active ones;
 * UINT32_MAX: not known. */
static uint32_t due_without(const struct orr_session *session, uint32_t index, uint32_t lost)
{
    const struct orr_sjob *job = &session->jobs[index];
    if (job->set_count != 2 || !session->sets[job->first_set + 1].is_pods) {
        return UINT32_MAX;
    }
    const int32_t min = session->sets[job->first_set + 1].min;
    const int32_t left = (int32_t)job->active - (int32_t)lost;
    return left < min ? (uint32_t)(min - left) : 1;
}

/* Adds the victims of the list to what their jobs lose, or takes them back. */
static void count_lost(struct orr_victim_search *search, const struct orr_victims *victims,
                       uint32_t sign)
{
    const struct orr_session *session = search->session;
    for (uint32_t i = 0; i < victims->count; i++) {
        const struct orr_stask *task = &session->tasks[victims->items[i].task];
        search->refuter.lost[task->job] +=
            orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) ? sign : 0;
    }
}

static bool any_loses(const struct orr_victim_search *search, const struct orr_victims *victims)
{
    const struct orr_session *session = search->session;
    for (uint32_t i = 0; i < victims->count; i++) {
        const uint32_t job = session->tasks[victims->items[i].task].job;
        if (search->refuter.lost[job] > 1 &&
            due_without(session, job, search->refuter.lost[job]) < search->refuter.lost[job]) {
            return true;
        }
    }
    return false;
}

bool orr_victim__cannot_regain(struct orr_victim_search *search,
                               const struct orr_victims *potential)
{
    const struct orr_session *session = search->session;
    if (search->refuter.lost == NULL) {
        search->refuter.lost =
            orr_arena_alloc(&search->memory, session->job_count, sizeof *search->refuter.lost);
    }
    count_lost(search, potential, 1);
    count_lost(search, &search->recorded, 1);
    const bool loses = any_loses(search, potential) || any_loses(search, &search->recorded);
    count_lost(search, potential, UINT32_MAX);
    count_lost(search, &search->recorded, UINT32_MAX);
    return loses;
}
