/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruners "places" and "domains": whoever is a victim, there are too few places.
 *
 * Let z be the whole GPUs that the preemptor's first task asks. A node on which r is free has r / z
 * places, and a task that asks a takes at least a / z of them wherever it goes; all shares are
 * rounded down.
 *
 * "places", consolidation: every task that is moved must find a place again, and so must the
 * preemptor's. So if all find one,
 *
 *     sum over nodes of (free + moved away) / z
 *         >=  sum over those moved of a / z  +  the same of the preemptor's tasks
 *
 * "domains", all actions: where the preemptor must stay within one domain of a topology level, it
 * is tried on sets of nodes that are each within one (place_topology.c). So for some domain, even
 * if no victim comes back,
 *
 *     sum over its nodes of (free + what victims held) / z  >=  that of the preemptor's tasks
 *
 * Where the job has active pods, which are no victims of it, that is the domain of these. Nodes
 * that filters (selector, affinity, taints) keep the preemptor from do not count; without a level,
 * those that are left are one domain.
 *
 * Both hold in every world, as queues, who is served before, topology and whatever else is asked
 * can only make places fewer. A task that shares a device takes no whole GPU. The device is a whole
 * one again only if all memory that is held of it is moved, so that a task gives back a share of
 * it, as much as it holds of that memory; shares of the devices of a node are added up and rounded
 * down.
 *
 * What a task that is moved adds to the difference of both sides, what it leaves of a multiple of
 * z, is never below 0. So what fails with all of some set moved fails with any of it: it is asked
 * of all that candidates hold (gang.c), and of a scenario. The latter counts all of the
 * preemptor's tasks, of which a job of several pod sets may get a part only: it is not asked of
 * such a job.
 */
#include "places.h"

#include <string.h>

/* --- places that nodes have, and that tasks take or leave --- */

static int64_t asked(const struct orr_ask *ask)
{
    return orr_ask_is_shared(ask) ? 0 : ask->request.v[ORR_SLOT_GPU];
}

/* Of whole devices, in milli-GPU. One of which nobody holds memory is a whole one without any task
 * of it, too: a small part of little memory is rounded down to 0. */
static int64_t shares_left(const struct orr_session *session, const struct orr_stask *task)
{
    const struct orr_snode *node = &session->nodes[task->live.node];
    const int64_t need_mib = orr_session_shared_need(orr_task_ask(session, task), node);
    int64_t shares = 0;
    for (uint32_t i = 0; i < task->live.group_count; i++) {
        const struct orr_shared_gpu *gpu =
            orr_session_find_shared(node, orr_task_groups(session, task)[i]);
        if (gpu == NULL || gpu->counted_releasing) {
            continue; /* it counts as a whole one already */
        }
        const int64_t held_mib = gpu->allocated - gpu->releasing;
        shares += held_mib <= need_mib ? ORR_MGPU : (need_mib * ORR_MGPU + held_mib - 1) / held_mib;
    }
    return shares;
}

static int64_t left(const struct orr_session *session, const struct orr_stask *task)
{
    const struct orr_ask *ask = orr_task_ask(session, task);
    return orr_ask_is_shared(ask) ? shares_left(session, task) : asked(ask);
}

static int64_t places_on(const struct orr_places *places, const struct orr_session *session,
                         uint32_t node)
{
    const struct orr_snode *of = &session->nodes[node];
    const int64_t room = of->idle.v[ORR_SLOT_GPU] + of->releasing.v[ORR_SLOT_GPU];
    return ((room > 0 ? room : 0) + session->victim_index->gained[node]) / places->each;
}

/* ORR_NONE: the node does not count. */
static uint32_t domain_at(const struct orr_places *places, const struct orr_session *session,
                          uint32_t node)
{
    const uint32_t domain = places->level == NULL ? 0 : places->level->domain_of_node[node];
    const bool counts = (places->pinned == ORR_NONE || domain == places->pinned) &&
                        (places->ask == NULL || orr_node_admits_ask(session, places->ask, node));
    return counts ? domain : ORR_NONE;
}

/* Node by node, until a domain has so many. */
static bool have_free(struct orr_places *places, const struct orr_session *session, int64_t enough)
{
    while (places->most < enough && places->counted < session->node_count) {
        const uint32_t n = places->counted++, domain = domain_at(places, session, n);
        if (domain != ORR_NONE) {
            places->free[domain] += places_on(places, session, n);
            places->most =
                places->free[domain] > places->most ? places->free[domain] : places->most;
        }
    }
    return places->most >= enough;
}

/* --- while victims are away --- */

/* Returns how many places the domain has with what the task leaves. */
static int64_t leave(const struct orr_places *places, const struct orr_session *session,
                     const struct orr_stask *task)
{
    const uint32_t node = task->live.node, domain = domain_at(places, session, node);
    if (domain == ORR_NONE) {
        return 0;
    }
    places->gained[domain] -= places_on(places, session, node);
    session->victim_index->gained[node] += left(session, task);
    places->gained[domain] += places_on(places, session, node);
    return places->free[domain] + places->gained[domain];
}

static bool lack(const struct orr_victim_search *search, const struct orr_places *places,
                 const struct orr_victims *victims, int64_t needed)
{
    const struct orr_session *session = search->session;
    int64_t most = places->most;
    memset(places->gained, 0, places->domain_count * sizeof *places->gained);
    for (uint32_t i = 0; i < victims->count; i++) {
        const struct orr_stask *task = &session->tasks[victims->items[i].task];
        const int64_t there = task->live.node == ORR_NONE ? 0 : leave(places, session, task);
        most = there > most ? there : most;
        needed += !places->by_domain ? asked(orr_task_ask(session, task)) / places->each : 0;
    }
    for (uint32_t i = 0; i < victims->count; i++) {
        const uint32_t node = session->tasks[victims->items[i].task].live.node;
        if (node != ORR_NONE) {
            session->victim_index->gained[node] = 0;
        }
    }
    return most < needed;
}

/* --- of a search --- */

/* Of the job's only pod set or a set above it, the narrowest that it must stay within a domain of.
 */
static const struct orr_topology_level *level_of(const struct orr_session *session, uint32_t job)
{
    const struct orr_topology_level *level = NULL;
    uint32_t set = orr_prune__only_pod_set(session, &session->jobs[job]);
    for (; set != ORR_NONE && level == NULL; set = session->sets[set].parent) {
        level = orr_victim__required_level(session, &session->sets[set]);
    }
    return level;
}

/* ORR_NONE too where active pods are in several. */
static uint32_t find_pinned(const struct orr_session *session, uint32_t index,
                            const struct orr_topology_level *level)
{
    const struct orr_sjob *job = &session->jobs[index];
    uint32_t pinned = ORR_NONE;
    bool several = false;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_place *live = &session->tasks[t].live;
        if (orr_status_in(live->status, ORR_STATES_ACTIVE_ALLOCATED) && live->node != ORR_NONE) {
            const uint32_t domain = level->domain_of_node[live->node];
            several = several || domain == ORR_NONE || (pinned != ORR_NONE && domain != pinned);
            pinned = domain;
        }
    }
    return several ? ORR_NONE : pinned;
}

/* The nodes' GPUs can be counted, the first task asks whole ones, and all come in one set. */
static bool is_known(const struct orr_victim_search *search, const struct orr_ask *first)
{
    struct orr_session *session = search->session;
    return orr_ask_is_whole_gpus(first) && !first->legacy_mig &&
           orr_victim_index_now(session)->uncounted_nodes == 0 &&
           orr_prune__only_pod_set(session, &session->jobs[search->job]) != ORR_NONE;
}

/* Filters keep all of the tasks from some nodes with GPUs, the same for each. */
static bool is_kept_away(const struct orr_victim_search *search, const struct orr_ask *first)
{
    struct orr_session *session = search->session;
    bool kept = !orr_gpu_filters_admit_all(&orr_victim_index_now(session)->filters, session, first);
    for (uint32_t i = 0; kept && i < search->tasks.count; i++) {
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[search->tasks.tasks[i]]);
        kept = ask->affinity == first->affinity && ask->tolerance == first->tolerance;
    }
    return kept;
}

static struct orr_places *places_of(struct orr_victim_search *search, bool by_domain)
{
    const struct orr_session *session = search->session;
    const struct orr_ask *first = orr_task_ask(session, &session->tasks[search->tasks.tasks[0]]);
    const struct orr_topology_level *level = NULL;
    struct orr_places *places = search->refuter.places[by_domain];
    if (places != NULL) {
        return places;
    }
    if (by_domain && session->rules.topology) {
        level = level_of(session, search->job);
    }
    places = search->refuter.places[by_domain] =
        orr_arena_alloc(&search->memory, 1, sizeof *places);
    places->level = level;
    places->pinned = level == NULL ? ORR_NONE : find_pinned(session, search->job, level);
    places->domain_count = level == NULL ? 1 : level->domain_count;
    places->free = orr_arena_alloc(&search->memory, places->domain_count, sizeof *places->free);
    places->gained = orr_arena_take(&search->memory, places->domain_count, sizeof *places->gained);
    places->by_domain = by_domain;
    places->ask = by_domain && is_kept_away(search, first) ? first : NULL;
    if (by_domain == (level != NULL || places->ask != NULL) && is_known(search, first)) {
        places->each = asked(first);
    }
    return places;
}

bool orr_victim__pins_domain(struct orr_victim_search *search)
{
    return places_of(search, true)->pinned != ORR_NONE;
}

bool orr_victim__lacks_places(struct orr_victim_search *search, bool in_a_domain,
                              const struct orr_victims *victims)
{
    const struct orr_session *session = search->session;
    struct orr_places *places = places_of(search, in_a_domain);
    int64_t needed = 0;
    for (uint32_t i = 0; i < search->k && places->each > 0; i++) {
        const uint32_t task = search->tasks.tasks[i];
        needed += asked(orr_task_ask(session, &session->tasks[task])) / places->each;
    }
    return places->each > 0 && !have_free(places, session, needed) &&
           lack(search, places, victims, needed);
}
