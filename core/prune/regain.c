/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "regain", consolidation: a victim cannot get back all that it would lose.
 *
 * Every task that is moved must be placed again (validate.c), and every job is served once. A job
 * of one pod set gets, when it is served, the rest of its gang or, if it has that, one task more
 * (orr_jobview_to_allocate); where that is less than it lost, one of the lost ones stays without a
 * place, whatever room there is and whoever goes first. Of a active tasks and a minimum m, l lost
 * ones are more than the max (m - a + l, 1) it is given if and only if l > 1 and a > m.
 *
 * So a job that runs more than its minimum may lose one task. A scenario takes the groups of all
 * potential victims on its nodes, and the recorded victims besides.
 */
#include "prune_int.h"

/* It loses more than it would be given as soon as it loses two tasks. */
static bool runs_more(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    return job->set_count == 2 && session->sets[job->first_set + 1].is_pods &&
           (int32_t)job->active > session->sets[job->first_set + 1].min;
}

/* The scenario of the bearing nodes at [from, to), which takes the victim's group, takes another
 * task of its job, too. */
static bool takes_more(const struct orr_victim_search *search, const struct orr_victim *victim,
                       uint32_t from, uint32_t to)
{
    const struct orr_capacities *c = &search->capacities;
    const struct orr_victims *potential = &search->potential;
    for (uint32_t i = 0; i < orr_victim__count(search, potential); i++) {
        const struct orr_victim *other = orr_victim__nth(search, potential, i);
        if (other->job == victim->job && other->task != victim->task &&
            (i >= potential->count || other->group == victim->group ||
             (other->node != ORR_NONE && c->at[other->node] >= from && c->at[other->node] < to))) {
            return true;
        }
    }
    return false;
}

bool orr_victim__cannot_regain(const struct orr_victim_search *search, uint32_t from, uint32_t to)
{
    const struct orr_capacities *c = &search->capacities;
    for (uint32_t n = from; n < to; n++) {
        uint32_t at = orr_capacities_last_on(c, c->bearing[n]);
        for (; at != ORR_NONE; at = search->potential.items[at].before) {
            const struct orr_victim *victim = &search->potential.items[at];
            if (runs_more(search->session, victim->job) && takes_more(search, victim, from, to)) {
                return true;
            }
        }
    }
    return false;
}
