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

/* The scenario of the bearing nodes at [from, to), which takes the victim's group, takes the other
 * task of its job, too. */
static bool takes(const struct orr_victim_search *search, const struct orr_victim *victim,
                  uint32_t other, uint32_t from, uint32_t to)
{
    const struct orr_capacities *c = &search->capacities;
    const uint32_t node = search->session->tasks[other].live.node;
    uint32_t at = node == ORR_NONE ? ORR_NONE : orr_capacities_last_on(c, node);
    while (at != ORR_NONE && search->potential.items[at].task != other) {
        at = search->potential.items[at].before;
    }
    return search->is_recorded[other] ||
           (at != ORR_NONE && (search->potential.items[at].group == victim->group ||
                               (c->at[node] >= from && c->at[node] < to)));
}

static bool takes_more(const struct orr_victim_search *search, const struct orr_victim *victim,
                       uint32_t from, uint32_t to)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[victim->job];
    bool more = false;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count && !more; t++) {
        more = t != victim->task &&
               orr_status_in(session->tasks[t].live.status, ORR_STATES_ACTIVE_ALLOCATED) &&
               takes(search, victim, t, from, to);
    }
    return more;
}

bool orr_victim__cannot_regain(const struct orr_victim_search *search, uint32_t from, uint32_t to)
{
    const struct orr_capacities *c = &search->capacities;
    bool more = false;
    for (uint32_t n = from; n < to && !more; n++) {
        uint32_t at = orr_capacities_last_on(c, c->bearing[n]);
        for (; at != ORR_NONE && !more; at = search->potential.items[at].before) {
            const struct orr_victim *victim = &search->potential.items[at];
            more = runs_more(search->session, victim->job) && takes_more(search, victim, from, to);
        }
    }
    return more;
}
