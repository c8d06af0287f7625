/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "domains", all actions: the preemptor must stay within one domain of a topology level, and
 * none has places for all of its tasks, even if no victim comes back.
 *
 * Places are counted as in places.c: a node on which r is free has min (r / z) of them for tasks
 * that ask z, all shares rounded down, and victims give back no more than they hold. The
 * attempt tries sets of nodes that are each within a domain of the required level
 * (place_topology.c), and all of the probe's tasks must find a node of the same one. Where else
 * tasks may not go and who is served before can only make places fewer. Where the job has active
 * pods, its tasks must go to the domain of these, which are no victims of it (place_topology.c).
 * Whoever is a victim of a part of some set is one of the set, so that it is asked of all
 * candidates too (gang.c).
 */
#include "places.h"

/* Of the job's only pod set or a set above it, the narrowest. */
static const struct orr_topology_level *level_of(const struct orr_session *session, uint32_t job)
{
    uint32_t set = orr_prune__only_pod_set(session, &session->jobs[job]);
    for (; set != ORR_NONE && session->rules.topology; set = session->sets[set].parent) {
        const struct orr_constraint *constraint = &session->sets[set].constraint;
        const struct orr_topology *topology =
            constraint->topology == NULL || constraint->required == NULL
                ? NULL
                : orr_session_find_topology(session, constraint->topology);
        if (topology != NULL) {
            return orr_topology_find_level(topology, constraint->required);
        }
    }
    return NULL;
}

/* ORR_NONE too where active pods are in several. */
static uint32_t find_pinned(const struct orr_session *session, uint32_t job,
                            const struct orr_topology_level *level)
{
    const struct orr_sjob *of = &session->jobs[job];
    uint32_t pinned = ORR_NONE;
    for (uint32_t t = of->first_task; t < of->first_task + of->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        if (orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) &&
            task->live.node != ORR_NONE) {
            const uint32_t domain = level->domain_of_node[task->live.node];
            if (domain == ORR_NONE || (pinned != ORR_NONE && domain != pinned)) {
                return ORR_NONE;
            }
            pinned = domain;
        }
    }
    return pinned;
}

/* By domain of the level that the job must stay in; NULL: it need not stay together. */
static struct orr_places *places_of(struct orr_victim_search *search)
{
    struct orr_refuter *refuter = &search->refuter;
    const struct orr_topology_level *level =
        refuter->domains_known ? NULL : level_of(search->session, search->job);
    if (level != NULL) {
        refuter->domains = orr_places__open(search, level);
        refuter->domains->pinned = find_pinned(search->session, search->job, level);
    }
    refuter->domains_known = true;
    return refuter->domains;
}

bool orr_victim__pins_domain(struct orr_victim_search *search)
{
    return search->session->jobs[search->job].active > 0 && places_of(search) != NULL &&
           places_of(search)->pinned != ORR_NONE;
}

bool orr_victim__lacks_domain(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_places *places = places_of(search);
    return places != NULL && orr_places__lack(search, places, potential);
}
