/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "regain", consolidation: a victim cannot get back all that it would lose.
 *
 * Every task that is moved must be placed again (validate.c), and every job is served once. A job
 * of one pod set gets, when it is served, the rest of its gang or, if it has that, one task more
 * (orr_jobview_to_allocate); where that is less than it lost, one of the lost ones stays without a
 * place, whatever room there is and whoever goes first. Of a active tasks and a minimum m, l lost
 * ones are more than the max (m - a + l, 1) it is given if and only if l > 1 and a > m.
 *
 * So a job that runs more than its minimum may lose one task. A scenario takes at least the
 * potential victims on its nodes, and node-local greedy all tasks of a job, of which the last two
 * that joined tell. What it takes besides, other members of groups and recorded victims, is counted
 * once its victims are listed (apart.h).
 */
#include "prune_int.h"

/* It loses more than it would be given as soon as it loses two tasks. */
static bool runs_more(const struct orr_session *session, uint32_t index)
{
    const uint32_t set = orr_prune__only_pod_set(session, &session->jobs[index]);
    return set != ORR_NONE && (int32_t)session->jobs[index].active > session->sets[set].min;
}

bool orr_victim__cannot_regain(struct orr_victim_search *search, uint32_t from, uint32_t to)
{
    const struct orr_session *session = search->session;
    const struct orr_capacities *c = &search->capacities;
    uint32_t **taken_by = &search->refuter.taken_by;
    if (*taken_by == NULL) {
        *taken_by = orr_arena_alloc(&search->memory, session->job_count, sizeof **taken_by);
    }
    const struct orr_victim *last = &search->potential.items[search->potential.count - 1];
    const bool two = search->generator == ORR_NODE_LOCAL_GREEDY && search->potential.count > 1 &&
                     last[-1].job == last->job;
    bool more = false;
    for (uint32_t n = from; n < to && !more; n++) {
        uint32_t at = orr_capacities_last_on(c, c->bearing[n]);
        for (; at != ORR_NONE && !more; at = search->potential.items[at].before) {
            const uint32_t job = search->potential.items[at].job;
            more = ((*taken_by)[job] == search->scenarios || (two && job == last->job)) &&
                   runs_more(session, job);
            (*taken_by)[job] = search->scenarios;
        }
    }
    return more;
}
