/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "places", consolidation: whoever is moved, there are not enough places for all. It holds
 * in every world, as queues, topology and whatever else is asked can only make places fewer.
 *
 * Every task that is moved must find a place again, and so must the preemptor's. Let z be the
 * whole GPUs that the preemptor's first task asks, or if it asks none all else it asks but a part
 * of a device: a task that is moved may ask as many GPUs and less of the rest. A node on which r is
 * free has min (r / z) places, over these resources, all shares rounded down, and a task that asks
 * a takes at least min (a / z) of them wherever it goes. So if all find a place,
 *
 *     sum over nodes of min ((free + moved away) / z)
 *         >=  sum over those moved of min (a / z)  +  the same of the preemptor's tasks
 *
 * A task that shares a device takes no whole GPU. The device is a whole one again only if all
 * memory that is held of it is moved, so that a task gives back a share of it, as much as it holds
 * of that memory; shares of the devices of a node are added up and rounded down.
 *
 * What a task that is moved adds to the difference of both sides, what it leaves of a multiple of
 * z, is never below 0. So what fails with all of some set moved fails with any of it: it is asked
 * of all candidates before a search (kept by what the first task asks while nodes and candidates
 * stay), and of a scenario. The latter counts all of the preemptor's tasks, of which a job of
 * several pod sets may get a part only: it is not asked of such a job.
 */
#include "places.h"

/* --- what a task asks, and what it leaves --- */

static int64_t asked(const struct orr_ask *ask, uint32_t slot)
{
    return slot == ORR_SLOT_GPU && orr_ask_is_shared(ask) ? 0 : ask->request.v[slot];
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

static int64_t left(const struct orr_session *session, const struct orr_stask *task, uint32_t slot)
{
    const struct orr_ask *ask = orr_task_ask(session, task);
    return slot == ORR_SLOT_GPU && orr_ask_is_shared(ask) ? shares_left(session, task)
                                                          : asked(ask, slot);
}

/* --- places that nodes have, and that tasks take --- */

static int64_t places_on(const struct orr_places *places, const struct orr_session *session,
                         uint32_t node)
{
    const struct orr_snode *of = &session->nodes[node];
    const int64_t *gained = session->victim_index->gained[node];
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < places->slot_count && least > 0; i++) {
        const uint32_t slot = places->slots[i];
        const int64_t room = of->idle.v[slot] + of->releasing.v[slot];
        const int64_t count = ((room > 0 ? room : 0) + gained[slot]) / places->each[slot];
        least = count < least ? count : least;
    }
    return least;
}

static int64_t taken(const struct orr_places *places, const struct orr_ask *ask)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < places->slot_count && least > 0; i++) {
        const int64_t count = asked(ask, places->slots[i]) / places->each[places->slots[i]];
        least = count < least ? count : least;
    }
    return least;
}

/* ORR_NONE: the node does not count. */
static uint32_t domain_at(const struct orr_places *places, uint32_t node)
{
    const uint32_t domain = places->domain_of == NULL ? 0 : places->domain_of[node];
    return places->pinned == ORR_NONE || domain == places->pinned ? domain : ORR_NONE;
}

/* Node by node, until a domain has so many. */
static bool have_free(struct orr_places *places, const struct orr_session *session, int64_t enough)
{
    while (places->most < enough && places->counted < session->node_count) {
        const uint32_t n = places->counted++, domain = domain_at(places, n);
        if (domain != ORR_NONE) {
            places->free[domain] += places_on(places, session, n);
            places->most =
                places->free[domain] > places->most ? places->free[domain] : places->most;
        }
    }
    return places->most >= enough;
}

/* --- moving victims away (sign 1) and back (-1) --- */

static bool is_moved(const struct orr_stask *task)
{
    return orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) &&
           task->live.node != ORR_NONE;
}

/* Returns how many places the task's domain has then. */
static int64_t move(const struct orr_places *places, const struct orr_session *session,
                    const struct orr_stask *task, int sign)
{
    const uint32_t node = task->live.node, domain = domain_at(places, node);
    if (domain == ORR_NONE) {
        return 0;
    }
    places->gained[domain] -= places_on(places, session, node);
    for (uint32_t i = 0; i < places->slot_count; i++) {
        const uint32_t slot = places->slots[i];
        session->victim_index->gained[node][slot] += sign * left(session, task, slot);
    }
    places->gained[domain] += places_on(places, session, node);
    return places->free[domain] + places->gained[domain];
}

/* Returns the most places of a domain, and adds to those needed what victims take that come back.
 */
static int64_t move_all(const struct orr_victim_search *search, const struct orr_places *places,
                        const struct orr_victims *potential, int sign, int64_t *needed)
{
    const struct orr_session *session = search->session;
    int64_t most = places->most;
    for (uint32_t i = 0; i < orr_victim__count(search, potential); i++) {
        const struct orr_stask *task = &session->tasks[orr_victim__nth_task(search, potential, i)];
        if (is_moved(task)) {
            const int64_t there = move(places, session, task, sign);
            most = there > most ? there : most;
            *needed += places->come_back ? taken(places, orr_task_ask(session, task)) : 0;
        }
    }
    return most;
}

bool orr_places__lack(const struct orr_victim_search *search, struct orr_places *places,
                      const struct orr_victims *potential)
{
    const struct orr_session *session = search->session;
    int64_t needed = 0, none = 0;
    if (places->slot_count == 0) {
        return false;
    }
    for (uint32_t i = 0; i < search->k; i++) {
        const uint32_t task = search->tasks.tasks[i];
        needed += taken(places, orr_task_ask(session, &session->tasks[task]));
    }
    if (have_free(places, session, needed)) { /* and so there are enough with any victims moved */
        return false;
    }
    const int64_t most = move_all(search, places, potential, 1, &needed);
    (void)move_all(search, places, potential, -1, &none);
    return most < needed;
}

/* --- of a search --- */

/* The nodes' GPUs can be counted, and all of the job's tasks come in one set. */
static bool is_known(const struct orr_victim_search *search, const struct orr_ask *first)
{
    struct orr_session *session = search->session;
    const bool shared = orr_ask_is_shared(first);
    return !session->abandoned && session->backlog != NULL &&
           (shared || (first->kind == ORR_ASK_WHOLE && !first->legacy_mig &&
                       first->request.v[ORR_SLOT_GPU] % ORR_MGPU == 0)) &&
           orr_victim_index_now(session)->uncounted_nodes == 0 &&
           orr_prune__only_pod_set(session, &session->jobs[search->job]) != ORR_NONE;
}

struct orr_places *orr_places__open(struct orr_victim_search *search,
                                    const struct orr_topology_level *level)
{
    const struct orr_session *session = search->session;
    const struct orr_ask *first = orr_task_ask(session, &session->tasks[search->tasks.tasks[0]]);
    const uint32_t domains = level == NULL ? 1 : level->domain_count;
    const bool asks_gpus = asked(first, ORR_SLOT_GPU) > 0;
    struct orr_places *places = orr_arena_alloc(&search->memory, 1, sizeof *places);
    places->pinned = ORR_NONE;
    places->domain_of = level == NULL ? NULL : level->domain_of_node;
    places->free = orr_arena_alloc(&search->memory, domains, sizeof *places->free);
    places->gained = orr_arena_alloc(&search->memory, domains, sizeof *places->gained);
    for (uint32_t slot = 0; slot < session->slot_count && is_known(search, first); slot++) {
        if (asked(first, slot) > 0 && (asks_gpus ? slot == ORR_SLOT_GPU : slot != ORR_SLOT_PODS)) {
            places->each[slot] = asked(first, slot);
            places->slots[places->slot_count++] = slot;
        }
    }
    return places;
}

bool orr_victim__lacks_places(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_refuter *refuter = &search->refuter;
    if (refuter->places == NULL) {
        refuter->places = orr_places__open(search, NULL);
        refuter->places->come_back = true;
    }
    return orr_places__lack(search, refuter->places, potential);
}

/* --- of all candidates, before a search --- */

/* KAI's filter of idle GPUs would pass for one task that asks so much. */
static bool passes_filter(const struct orr_session *session, const struct orr_victims *victims,
                          int64_t mgpu)
{
    int64_t *freed = orr_zalloc(session->node_count, sizeof *freed);
    bool passes = mgpu <= 0;
    for (uint32_t i = 0; i < victims->count; i++) {
        const uint32_t task = victims->items[i].task;
        if (is_moved(&session->tasks[task])) {
            freed[session->tasks[task].live.node] += orr_victim__freed(session, task);
        }
    }
    for (uint32_t n = 0; n < session->node_count && !passes; n++) {
        passes =
            freed[n] + orr_session_idle_gpus(session, n) + orr_session_releasing_gpus(session, n) >=
            mgpu;
    }
    orr_free(freed);
    return passes;
}

static enum orr_outcome foresee(struct orr_session *session, uint32_t job,
                                const struct orr_ask *first)
{
    const struct orr_contender_row *oldest = &session->victim_index->oldest;
    struct orr_victim_search search = {.session = session, .job = job, .k = 1};
    enum orr_outcome outcome = ORR_OUTCOME_SOLVED;
    orr_arena_init(&search.memory);
    orr_jobview_to_allocate(session, orr_jobview_whole(job), true, &search.tasks);
    for (uint32_t c = 0; c < oldest->count; c++) {
        const struct orr_sjob *of = &session->jobs[oldest->contenders[c].job];
        for (uint32_t t = of->first_task; t < of->first_task + of->task_count; t++) {
            orr_victims_push(&search.potential, &(struct orr_victim){.task = t});
        }
    }
    if (search.tasks.count > 0 && orr_victim__lacks_places(&search, &search.potential)) {
        const int64_t mgpu = first->request.v[ORR_SLOT_GPU] + first->mig_mgpu;
        outcome = passes_filter(session, &search.potential, mgpu) ? ORR_OUTCOME_NOT_PLACED
                                                                  : ORR_OUTCOME_FILTERED;
    }
    orr_free(search.potential.items);
    orr_task_list_release(&search.tasks);
    orr_arena_release(&search.memory);
    return oldest->count == 0 ? ORR_OUTCOME_NO_CANDIDATES : outcome;
}

enum orr_outcome orr_victim__refute_moves(struct orr_session *session, uint32_t job,
                                          const struct orr_ask *first)
{
    struct orr_victim_index *all = orr_victim_index_now(session);
    uint64_t world = (uint64_t)(first - session->asks);
    if (session->v017 != NULL || (session->rules.predicates && first->affinity != ORR_NONE)) {
        return ORR_OUTCOME_SOLVED;
    }
    (void)orr_victim_index_oldest(session, job);
    orr_fingerprint_word(&world, all->nodes_seen);
    orr_fingerprint_word(&world, all->oldest_lists);
    const unsigned known = orr_answers_find(&all->failures, world);
    if (known > 0) {
        return (enum orr_outcome)(known - 1);
    }
    const enum orr_outcome outcome = foresee(session, job, first);
    orr_answers_note(&all->failures, world, outcome + 1u);
    return outcome;
}
