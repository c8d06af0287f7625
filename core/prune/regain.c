/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "regain", consolidation: a victim cannot get back all that it would lose.
 *
 * Every task that is moved must be placed again (validate.c), and every job is served once. A job
 * of one pod set gets, when it is served, the rest of its gang or, if it has that, one task more
 * (orr_jobview_to_allocate); where that is less than it lost, one of the lost ones stays without a
 * place, whatever room there is and whoever goes first. Of a active tasks and a minimum m, l lost
 * ones are more than the max (m - a + l, 1) it is given if and only if l > 1 and a > m.
 *
 * So a job that runs more than its minimum may lose one task. The victims of a single node are all
 * potential ones of the jobs that have any there; those of several nodes are all steps that have
 * any there, and of more nodes more.
 */
#include "prune_int.h"

/* It loses more than it would be given as soon as it loses two tasks. */
static bool runs_more(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    return job->set_count == 2 && session->sets[job->first_set + 1].is_pods &&
           (int32_t)job->active > session->sets[job->first_set + 1].min;
}

static bool is_lost(const struct orr_session *session, const struct orr_victim *victim,
                    uint32_t job)
{
    return victim->job == job &&
           orr_status_in(session->tasks[victim->task].live.status, ORR_STATES_ACTIVE_ALLOCATED);
}

struct window { /* bearing nodes at [from, to) */
    uint32_t from, to;
    bool is_single; /* of its jobs all potential victims are taken, not steps */
};

/* A scenario that takes this potential victim takes another one of its job. */
static bool takes_more(const struct orr_victim_search *search, uint32_t at,
                       const struct window *window)
{
    const struct orr_capacities *c = &search->capacities;
    const struct orr_victim *victim = &search->potential.items[at];
    bool more = false;
    for (uint32_t i = 0; i < search->potential.count && !more; i++) {
        const struct orr_victim *other = &search->potential.items[i];
        const bool taken = window->is_single || other->group == victim->group ||
                           (other->node != ORR_NONE && c->at[other->node] >= window->from &&
                            c->at[other->node] < window->to);
        more = i != at && taken && is_lost(search->session, other, victim->job);
    }
    for (uint32_t i = 0; i < search->recorded.count && !more; i++) {
        more = is_lost(search->session, &search->recorded.items[i], victim->job);
    }
    return more;
}

bool orr_victim__cannot_regain(const struct orr_victim_search *search, uint32_t from, uint32_t to,
                               bool is_single)
{
    const struct orr_capacities *c = &search->capacities;
    const struct window window = {.from = from, .to = to, .is_single = is_single};
    for (uint32_t n = from; n < to; n++) {
        for (uint32_t at = orr_capacities_last_on(c, c->bearing[n]); at != ORR_NONE;
             at = search->potential.items[at].before) {
            if (runs_more(search->session, search->potential.items[at].job) &&
                takes_more(search, at, &window)) {
                return true;
            }
        }
    }
    return false;
}
