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

struct orr_domains {
    const struct orr_topology_level *level; /* NULL: the job need not stay together */
    uint32_t pinned;                        /* the domain of its active pods; ORR_NONE: any */
    /* By domain: places while nobody is moved, on so many of the nodes: as many as it took until a
     * domain had enough. */
    int64_t *free;
    uint32_t counted;
    int64_t most;    /* in one domain */
    int64_t *gained; /* by domain: scratch, all 0 between */
};

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

/* ORR_NONE: tasks of the job cannot go there. */
static uint32_t domain_at(const struct orr_domains *domains, uint32_t node)
{
    const uint32_t domain = domains->level->domain_of_node[node];
    return domains->pinned == ORR_NONE || domain == domains->pinned ? domain : ORR_NONE;
}

static struct orr_domains *domains_of(struct orr_victim_search *search)
{
    if (search->refuter.domains == NULL) {
        struct orr_domains *domains = orr_arena_alloc(&search->memory, 1, sizeof *domains);
        domains->level = level_of(search->session, search->job);
        if (domains->level != NULL) {
            domains->pinned = find_pinned(search->session, search->job, domains->level);
            const uint32_t count = domains->level->domain_count;
            domains->free = orr_arena_alloc(&search->memory, count, sizeof *domains->free);
            domains->gained = orr_arena_alloc(&search->memory, count, sizeof *domains->gained);
        }
        search->refuter.domains = domains;
    }
    return search->refuter.domains;
}

static void count_free(struct orr_domains *domains, const struct orr_places *places,
                       const struct orr_measure *measure)
{
    while (domains->most < measure->own && domains->counted < places->session->node_count) {
        const uint32_t n = domains->counted++, domain = domain_at(domains, n);
        if (domain != ORR_NONE) {
            int64_t *free = &domains->free[domain];
            *free += orr_places__free_on(places, measure, n);
            domains->most = *free > domains->most ? *free : domains->most;
        }
    }
}

/* The most places of a domain while the victims are away. */
static int64_t most_without(struct orr_domains *domains, const struct orr_places *places,
                            const struct orr_measure *measure)
{
    const uint32_t *touched = places->session->victim_index->gained_on;
    int64_t most = domains->most;
    for (uint32_t i = 0; i < places->touched_count; i++) {
        const uint32_t domain = domain_at(domains, touched[i]);
        if (domain != ORR_NONE) {
            domains->gained[domain] += orr_places__gained_on(places, measure, touched[i]);
            const int64_t now = domains->free[domain] + domains->gained[domain];
            most = now > most ? now : most;
        }
    }
    for (uint32_t i = 0; i < places->touched_count; i++) {
        const uint32_t domain = domain_at(domains, touched[i]);
        if (domain != ORR_NONE) {
            domains->gained[domain] = 0;
        }
    }
    return most;
}

bool orr_victim__pins_domain(struct orr_victim_search *search)
{
    return search->session->jobs[search->job].active > 0 && domains_of(search)->level != NULL &&
           domains_of(search)->pinned != ORR_NONE;
}

bool orr_victim__lacks_domain(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_domains *domains = domains_of(search);
    struct orr_places *places = domains->level == NULL ? NULL : orr_places__of(search);
    if (places == NULL || places->count == 0) {
        return false;
    }
    const struct orr_measure *widest = &places->measures[places->widest];
    count_free(domains, places, widest);
    if (domains->most >= widest->own) {
        return false;
    }
    orr_places__move(places, potential);
    orr_places__move(places, &search->recorded);
    const int64_t most = most_without(domains, places, widest);
    orr_places__move_back(places);
    return most < widest->own;
}
