/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "places", consolidation: whoever is moved, there are not enough places for all. It holds
 * in every world, as queues, topology and whatever else is asked can only make places fewer.
 *
 * Every task that is moved must find a place again, and so must the preemptor's. Let z be the
 * amounts that the preemptor's first task asks, but for a part of a device, or its whole GPUs
 * alone, as a task that is moved may ask enough of these and less of the rest. A node on which r is
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

#include <string.h>

/* --- what a node has, and what a task takes --- */

static int64_t room_of(const struct orr_session *session, uint32_t node, uint32_t slot)
{
    if (slot == ORR_SLOT_GPU) {
        return session->victim_index->whole[node];
    }
    const int64_t room = session->nodes[node].idle.v[slot] + session->nodes[node].releasing.v[slot];
    return room > 0 ? room : 0;
}

/* With what those that are moved leave there; `gained` NULL: while nobody is. */
static int64_t places_on(const struct orr_places *places, uint32_t node,
                         const struct orr_gained *gained)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < places->slot_count && least > 0; i++) {
        const uint32_t slot = places->slots[i];
        int64_t room = room_of(places->session, node, slot);
        if (gained != NULL) {
            room += gained->amounts[slot];
            room += slot == ORR_SLOT_GPU ? gained->shares / ORR_DEVICE_SHARE : 0;
        }
        const int64_t count = room / places->each[slot];
        least = count < least ? count : least;
    }
    return least;
}

static int64_t asked(const struct orr_ask *ask, uint32_t slot)
{
    if (slot == ORR_SLOT_GPU) {
        return orr_ask_is_shared(ask) ? 0 : ask->request.v[slot] / ORR_MGPU;
    }
    return ask->request.v[slot];
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

/* For a preemptor whose first task asks this. */
static void open_places(struct orr_places *places, struct orr_session *session,
                        struct orr_arena *memory, const struct orr_ask *first,
                        enum orr_measure measure)
{
    *places = (struct orr_places){.session = session};
    for (uint32_t slot = 0; slot < session->slot_count; slot++) {
        const bool measured =
            measure == ORR_MEASURE_ALL ? slot != ORR_SLOT_PODS : slot == ORR_SLOT_GPU;
        if (measured && asked(first, slot) > 0) {
            places->each[slot] = asked(first, slot);
            places->slots[places->slot_count++] = slot;
        }
    }
    orr_places__open_sums(&places->all, memory, 1);
}

/* --- what is moved away --- */

/* A device of which nobody holds memory is a whole one without any task of it, too: a small part of
 * little memory is rounded down to 0. */
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
        shares += held_mib <= need_mib ? ORR_DEVICE_SHARE
                                       : (need_mib * ORR_DEVICE_SHARE + held_mib - 1) / held_mib;
    }
    return shares;
}

static bool is_moved(const struct orr_stask *task)
{
    return orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) &&
           task->live.node != ORR_NONE;
}

static void move(struct orr_places *places, const struct orr_stask *task)
{
    const struct orr_session *session = places->session;
    const struct orr_ask *ask = orr_task_ask(session, task);
    struct orr_gained *gained = &session->victim_index->gained[task->live.node];
    if (!gained->any) {
        gained->any = true;
        session->victim_index->gained_on[places->touched_count++] = task->live.node;
    }
    for (uint32_t i = 0; i < places->slot_count; i++) {
        gained->amounts[places->slots[i]] += asked(ask, places->slots[i]);
    }
    gained->shares += orr_ask_is_shared(ask) ? shares_left(session, task) : 0;
}

/* Returns how many places they take when they come back. */
static int64_t move_all(struct orr_places *places, const struct orr_victims *victims)
{
    int64_t needed = 0;
    for (uint32_t i = 0; i < victims->count; i++) {
        const struct orr_stask *task = &places->session->tasks[victims->items[i].task];
        if (is_moved(task)) {
            move(places, task);
            needed += taken(places, orr_task_ask(places->session, task));
        }
    }
    return needed;
}

static void move_back(struct orr_places *places)
{
    const struct orr_victim_index *all = places->session->victim_index;
    for (uint32_t i = 0; i < places->touched_count; i++) {
        memset(&all->gained[all->gained_on[i]], 0, sizeof *all->gained);
    }
    places->touched_count = 0;
}

/* --- the comparison --- */

void orr_places__open_sums(struct orr_place_sums *sums, struct orr_arena *memory, uint32_t domains)
{
    *sums = (struct orr_place_sums){.pinned = ORR_NONE};
    sums->free = orr_arena_alloc(memory, domains, sizeof *sums->free);
    sums->gained = orr_arena_alloc(memory, domains, sizeof *sums->gained);
}

/* ORR_NONE: the node does not count. */
static uint32_t domain_at(const struct orr_place_sums *sums, uint32_t node)
{
    const uint32_t domain = sums->domain_of == NULL ? 0 : sums->domain_of[node];
    return sums->pinned == ORR_NONE || domain == sums->pinned ? domain : ORR_NONE;
}

/* Node by node, until a domain has so many places or all nodes are counted. */
static void count_free(const struct orr_places *places, struct orr_place_sums *sums, int64_t enough)
{
    const struct orr_session *session = places->session;
    const struct orr_victim_index *all = session->victim_index;
    if (sums->counted == 0 && sums->domain_of == NULL && places->slots[0] == ORR_SLOT_GPU &&
        places->slot_count == 1 && places->each[ORR_SLOT_GPU] <= ORR_COUNTED_GPUS) {
        sums->most = orr_histogram__places(&all->by_whole, (uint32_t)places->each[ORR_SLOT_GPU]);
        sums->free[0] = sums->most;
        sums->counted = session->node_count;
    }
    while (sums->most < enough && sums->counted < session->node_count) {
        const uint32_t n = sums->counted++, domain = domain_at(sums, n);
        if (domain != ORR_NONE) {
            sums->free[domain] += places_on(places, n, NULL);
            sums->most = sums->free[domain] > sums->most ? sums->free[domain] : sums->most;
        }
    }
}

/* The most places of a domain, with what those that are moved leave there. */
static int64_t most_with_gained(const struct orr_places *places, struct orr_place_sums *sums)
{
    const struct orr_victim_index *all = places->session->victim_index;
    int64_t most = sums->most;
    for (uint32_t i = 0; i < places->touched_count; i++) {
        const uint32_t n = all->gained_on[i], domain = domain_at(sums, n);
        if (domain != ORR_NONE) {
            sums->gained[domain] +=
                places_on(places, n, &all->gained[n]) - places_on(places, n, NULL);
            const int64_t now = sums->free[domain] + sums->gained[domain];
            most = now > most ? now : most;
        }
    }
    for (uint32_t i = 0; i < places->touched_count; i++) {
        const uint32_t domain = domain_at(sums, all->gained_on[i]);
        if (domain != ORR_NONE) {
            sums->gained[domain] = 0;
        }
    }
    return most;
}

bool orr_places__lack(struct orr_places *places, struct orr_place_sums *sums, bool come_back,
                      const struct orr_victims *victims, const struct orr_victims *recorded)
{
    if (places->slot_count == 0) {
        return false;
    }
    count_free(places, sums, places->own);
    if (sums->most >= places->own) { /* and so there are enough with any victims moved */
        return false;
    }
    const int64_t back = move_all(places, victims) + move_all(places, recorded);
    const int64_t needed = places->own + (come_back ? back : 0);
    count_free(places, sums, needed);
    const int64_t most = most_with_gained(places, sums);
    move_back(places);
    return most < needed;
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

static void list_tasks(const struct orr_session *session, const struct orr_contender_row *row,
                       struct orr_victims *out)
{
    for (uint32_t c = 0; c < row->count; c++) {
        const struct orr_sjob *job = &session->jobs[row->contenders[c].job];
        for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
            orr_victims_push(out, &(struct orr_victim){.task = t});
        }
    }
}

static enum orr_outcome foresee(struct orr_session *session, const struct orr_ask *first)
{
    const struct orr_victims none = {0};
    struct orr_victims candidates = {0};
    struct orr_places places;
    struct orr_arena memory;
    enum orr_outcome outcome = ORR_OUTCOME_SOLVED;
    bool lacking = false;
    if (session->victim_index->oldest.count == 0) {
        return ORR_OUTCOME_NO_CANDIDATES;
    }
    orr_arena_init(&memory);
    list_tasks(session, &session->victim_index->oldest, &candidates);
    for (int m = 0; m < ORR_MEASURES && !lacking; m++) {
        open_places(&places, session, &memory, first, (enum orr_measure)m);
        places.own = places.slot_count > 0 ? taken(&places, first) : 0;
        lacking = orr_places__lack(&places, &places.all, true, &candidates, &none);
    }
    if (lacking) {
        outcome =
            passes_filter(session, &candidates, first->request.v[ORR_SLOT_GPU] + first->mig_mgpu)
                ? ORR_OUTCOME_NOT_PLACED
                : ORR_OUTCOME_FILTERED;
    }
    orr_free(candidates.items);
    orr_arena_release(&memory);
    return outcome;
}

static bool is_known(const struct orr_session *session, const struct orr_ask *first)
{
    return !session->rules.literal && !session->abandoned && session->backlog != NULL &&
           (first->kind == ORR_ASK_WHOLE || orr_ask_is_shared(first)) && !first->legacy_mig &&
           first->request.v[ORR_SLOT_GPU] % (orr_ask_is_shared(first) ? 1 : ORR_MGPU) == 0;
}

enum orr_outcome orr_victim__refute_moves(struct orr_session *session, uint32_t job,
                                          const struct orr_ask *first)
{
    if (!is_known(session, first) || (session->rules.predicates && first->affinity != ORR_NONE)) {
        return ORR_OUTCOME_SOLVED;
    }
    struct orr_victim_index *all = orr_victim_index_now(session);
    (void)orr_victim_index_oldest(session, job);
    if (all->uncounted_nodes > 0) {
        return ORR_OUTCOME_SOLVED;
    }
    uint64_t world = (uint64_t)(first - session->asks);
    orr_fingerprint_word(&world, all->nodes_seen);
    orr_fingerprint_word(&world, all->oldest_lists);
    const unsigned known = orr_answers_find(&all->failures, world);
    if (known > 0) {
        return (enum orr_outcome)(known - 1);
    }
    const enum orr_outcome outcome = foresee(session, first);
    orr_answers_note(&all->failures, world, outcome + 1u);
    return outcome;
}

/* --- of a scenario --- */

struct orr_places *orr_places__of(struct orr_victim_search *search, enum orr_measure measure)
{
    struct orr_session *session = search->session;
    struct orr_places *places = search->refuter.places[measure];
    if (places == NULL) { /* nodes are the same at every question of a search */
        const struct orr_ask *first =
            orr_task_ask(session, &session->tasks[search->tasks.tasks[0]]);
        places = orr_arena_alloc(&search->memory, 1, sizeof *places);
        if (is_known(session, first) && orr_victim_index_now(session)->uncounted_nodes == 0 &&
            orr_prune__only_pod_set(session, &session->jobs[search->job]) != ORR_NONE) {
            open_places(places, session, &search->memory, first, measure);
        }
        search->refuter.places[measure] = places;
    }
    if (places->k != search->k) {
        places->k = search->k;
        places->own = 0;
        for (uint32_t i = 0; i < search->k && places->slot_count > 0; i++) {
            const struct orr_stask *task = &session->tasks[search->tasks.tasks[i]];
            places->own += taken(places, orr_task_ask(session, task));
        }
    }
    return places;
}

bool orr_victim__lacks_places(struct orr_victim_search *search, const struct orr_victims *potential)
{
    bool lacking = false;
    for (int m = 0; m < ORR_MEASURES && !lacking; m++) {
        struct orr_places *places = orr_places__of(search, (enum orr_measure)m);
        lacking = orr_places__lack(places, &places->all, true, potential, &search->recorded);
    }
    return lacking;
}
