/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "places", consolidation: whoever is moved, there are not enough places for all. It holds
 * in every world, as queues, topology and whatever else is asked can only make places fewer.
 *
 * Every task that is moved must find a place again, and so must the preemptor's. Take amounts z of
 * some resources. A node on which r is free has min (r / z) places, over these resources, all
 * shares rounded down, and a task that asks a takes at least min (a / z) of them wherever
 * it goes. So if all find a place,
 *
 *     sum over nodes of min ((free + moved away) / z)
 *         >=  sum over those moved of min (a / z)  +  the same of the preemptor's tasks
 *
 * - of whole GPUs alone, z from 1 to what the preemptor's first task asks;
 * - of all that it asks together, but for a part of a device.
 *
 * A task that shares a device takes no whole GPU or more. The device is a whole one again only if
 * all memory that is held of it is moved, so that a task gives back a share of it, as much as it
 * holds of that memory; shares of the devices of a node are added up and rounded down.
 *
 * What a task that is moved adds to the difference of both branches, what it leaves of a multiple
 * of z, is never below 0. So what fails with all of some set moved fails with any of it: it is
 * asked of all candidates before a search (kept by what the first task asks while nodes and
 * candidates stay), and of a scenario. The latter counts all of the preemptor's tasks, of which a
 * job of several pod sets may get a part only: it is not asked of such a job.
 */
#include "places.h"

#include <string.h>

/* --- what is free --- */

static int64_t room_of(const struct orr_session *session, uint32_t node, uint32_t slot)
{
    if (slot == ORR_SLOT_GPU) {
        return session->victim_index->whole[node];
    }
    const int64_t room = session->nodes[node].idle.v[slot] + session->nodes[node].releasing.v[slot];
    return room > 0 ? room : 0;
}

/* With what those that are moved leave there; `gained` NULL: while nobody is. */
static int64_t places_on(const struct orr_places *places, const struct orr_measure *m,
                         uint32_t node, const struct orr_gained *gained)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < m->slot_count && least > 0; i++) {
        const uint32_t slot = m->slots[i];
        int64_t room = room_of(places->session, node, slot);
        if (gained != NULL) {
            room += gained->amounts[slot];
            room += slot == ORR_SLOT_GPU ? gained->shares / ORR_DEVICE_SHARE : 0;
        }
        const int64_t count = room / m->each[slot];
        least = count < least ? count : least;
    }
    return least;
}

/* Node by node, until there are so many places or all nodes are counted. */
static void count_free(const struct orr_places *places, struct orr_measure *m, int64_t enough)
{
    const struct orr_session *session = places->session;
    if (m->counted == 0 && m->slot_count == 1 && m->slots[0] == ORR_SLOT_GPU) {
        m->free = orr_histogram__places(&session->victim_index->by_whole,
                                        (uint32_t)m->each[ORR_SLOT_GPU]);
        m->counted = session->node_count;
    }
    while (m->free < enough && m->counted < session->node_count) {
        m->free += places_on(places, m, m->counted++, NULL);
    }
}

/* --- what a task takes --- */

static int64_t asked(const struct orr_ask *ask, uint32_t slot)
{
    if (slot == ORR_SLOT_GPU) {
        return orr_ask_is_shared(ask) ? 0 : ask->request.v[slot] / ORR_MGPU;
    }
    return ask->request.v[slot];
}

static int64_t taken(const struct orr_measure *m, const struct orr_ask *ask)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < m->slot_count && least > 0; i++) {
        const int64_t count = asked(ask, m->slots[i]) / m->each[m->slots[i]];
        least = count < least ? count : least;
    }
    return least;
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

static void move(struct orr_places *places, const struct orr_stask *task)
{
    const struct orr_session *session = places->session;
    const struct orr_ask *ask = orr_task_ask(session, task);
    const uint32_t node = task->live.node;
    struct orr_victim_index *all = session->victim_index;
    struct orr_gained *gained = &all->gained[node];
    if (all->gained_at[node] >= places->touched_count ||
        all->gained_on[all->gained_at[node]] != node) {
        all->gained_at[node] = places->touched_count;
        all->gained_on[places->touched_count++] = node;
    }
    const struct orr_measure *widest = &places->measures[places->widest];
    for (uint32_t i = 0; i < widest->slot_count; i++) {
        gained->amounts[widest->slots[i]] += asked(ask, widest->slots[i]);
    }
    gained->shares += orr_ask_is_shared(ask) ? shares_left(session, task) : 0;
}

static bool is_moved(const struct orr_stask *task)
{
    return orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) &&
           task->live.node != ORR_NONE;
}

/* --- the comparison --- */

void orr_places__move(struct orr_places *places, const struct orr_victims *victims)
{
    for (uint32_t i = 0; i < victims->count; i++) {
        const struct orr_stask *task = &places->session->tasks[victims->items[i].task];
        if (is_moved(task)) {
            move(places, task);
        }
    }
}

void orr_places__move_back(struct orr_places *places)
{
    struct orr_victim_index *all = places->session->victim_index;
    for (uint32_t i = 0; i < places->touched_count; i++) {
        memset(&all->gained[all->gained_on[i]], 0, sizeof *all->gained);
    }
    places->touched_count = 0;
}

int64_t orr_places__gained_on(const struct orr_places *places, const struct orr_measure *measure,
                              uint32_t node)
{
    return places_on(places, measure, node, &places->session->victim_index->gained[node]) -
           places_on(places, measure, node, NULL);
}

int64_t orr_places__free_on(const struct orr_places *places, const struct orr_measure *measure,
                            uint32_t node)
{
    return places_on(places, measure, node, NULL);
}

static int64_t count_taken(const struct orr_session *session, const struct orr_measure *m,
                           const struct orr_victims *victims)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < victims->count; i++) {
        const struct orr_stask *task = &session->tasks[victims->items[i].task];
        count += is_moved(task) ? taken(m, orr_task_ask(session, task)) : 0;
    }
    return count;
}

static bool lacks(struct orr_places *places, struct orr_measure *m,
                  const struct orr_victims *victims, const struct orr_victims *recorded)
{
    const struct orr_session *session = places->session;
    int64_t needed = m->own + count_taken(session, m, victims) + count_taken(session, m, recorded);
    for (uint32_t i = 0; i < places->touched_count; i++) {
        needed -= orr_places__gained_on(places, m, session->victim_index->gained_on[i]);
    }
    count_free(places, m, needed);
    return m->free < needed;
}

/* Where nobody is moved there are enough, and so there are with any victims moved. */
static bool has_enough(const struct orr_places *places, struct orr_measure *m)
{
    count_free(places, m, m->own);
    return m->free >= m->own;
}

static bool lacks_any(struct orr_places *places, const struct orr_victims *victims,
                      const struct orr_victims *recorded)
{
    bool any = false;
    for (uint32_t m = 0; m < places->count && !any; m++) {
        if (!has_enough(places, &places->measures[m])) {
            if (places->touched_count == 0) {
                orr_places__move(places, victims);
                orr_places__move(places, recorded);
            }
            any = lacks(places, &places->measures[m], victims, recorded);
        }
    }
    orr_places__move_back(places);
    return any;
}

static void add_slot(struct orr_measure *m, uint32_t slot, int64_t each)
{
    if (each > 0) {
        m->each[slot] = each;
        m->slots[m->slot_count++] = slot;
    }
}

/* For a preemptor whose first task asks this. */
static void open_places(struct orr_places *places, struct orr_session *session,
                        const struct orr_ask *first)
{
    const int64_t gpus = asked(first, ORR_SLOT_GPU);
    *places = (struct orr_places){.session = session};
    for (int64_t z = gpus; z > 0 && gpus <= ORR_COUNTED_GPUS; z--) {
        add_slot(&places->measures[places->count++], ORR_SLOT_GPU, z);
    }
    struct orr_measure *all = &places->measures[places->count];
    for (uint32_t slot = 0; slot < session->slot_count; slot++) {
        add_slot(all, slot, slot == ORR_SLOT_PODS ? 0 : asked(first, slot));
    }
    const bool more = all->slot_count > 0 && !(places->count > 0 && all->slot_count == 1);
    places->widest = more ? places->count : 0;
    places->count += more;
}

static void need_places(struct orr_places *places, const struct orr_ask *ask)
{
    for (uint32_t m = 0; m < places->count; m++) {
        places->measures[m].own += taken(&places->measures[m], ask);
    }
}

/* --- of all candidates, before a search --- */

int64_t orr_victim__count_fitting(const struct orr_session *session,
                                  const struct orr_victims *victims, int64_t enough)
{
    int64_t *freed = orr_zalloc(session->node_count, sizeof *freed);
    int64_t fitting = enough <= 0 ? INT64_MAX : 0;
    for (uint32_t i = 0; i < victims->count; i++) {
        const uint32_t task = victims->items[i].task;
        if (is_moved(&session->tasks[task])) {
            freed[session->tasks[task].live.node] += orr_victim__freed(session, task);
        }
    }
    for (uint32_t n = 0; n < session->node_count && enough > 0; n++) {
        const int64_t with =
            freed[n] + orr_session_idle_gpus(session, n) + orr_session_releasing_gpus(session, n);
        fitting += with >= enough ? with / enough : 0;
    }
    orr_free(freed);
    return fitting;
}

void orr_victim__list_tasks(const struct orr_session *session, uint32_t index,
                            struct orr_victims *out)
{
    const struct orr_sjob *job = &session->jobs[index];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        orr_victims_push(out, &(struct orr_victim){.task = t});
    }
}

static enum orr_outcome foresee(struct orr_session *session, const struct orr_ask *first)
{
    const struct orr_contender_row *row = &session->victim_index->oldest;
    const struct orr_victims none = {0};
    struct orr_victims candidates = {0};
    struct orr_places places;
    if (row->count == 0) {
        return ORR_OUTCOME_NO_CANDIDATES;
    }
    for (uint32_t s = 0; s < row->count; s++) {
        orr_victim__list_tasks(session, row->contenders[s].job, &candidates);
    }
    open_places(&places, session, first);
    need_places(&places, first);
    enum orr_outcome outcome = ORR_OUTCOME_NOT_TRIED;
    if (lacks_any(&places, &candidates, &none)) {
        const int64_t fitting = orr_victim__count_fitting(
            session, &candidates, first->request.v[ORR_SLOT_GPU] + first->mig_mgpu);
        outcome = fitting > 0 ? ORR_OUTCOME_NOT_PLACED : ORR_OUTCOME_FILTERED;
    }
    orr_free(candidates.items);
    return outcome;
}

static bool is_known(const struct orr_session *session, const struct orr_ask *first)
{
    return !session->rules.literal && !session->abandoned && session->backlog != NULL &&
           (first->kind == ORR_ASK_WHOLE || orr_ask_is_shared(first)) && !first->legacy_mig &&
           first->request.v[ORR_SLOT_GPU] % (orr_ask_is_shared(first) ? 1 : ORR_MGPU) == 0;
}

/* Where it is kept; made anew for asks that are new. */
static uint8_t *foresight_of(struct orr_victim_index *all, const struct orr_session *session,
                             const struct orr_ask *first)
{
    const uint32_t ask = (uint32_t)(first - session->asks);
    if (ask >= all->refuted_ask_count) {
        all->refuted_asks =
            orr_realloc(all->refuted_asks, session->ask_count, sizeof *all->refuted_asks);
        memset(all->refuted_asks + all->refuted_ask_count, 0,
               session->ask_count - all->refuted_ask_count);
        all->refuted_ask_count = session->ask_count;
    }
    return &all->refuted_asks[ask];
}

enum orr_outcome orr_victim__refute_moves(struct orr_session *session, uint32_t job,
                                          const struct orr_ask *first)
{
    if (!is_known(session, first) || (session->rules.predicates && first->affinity != ORR_NONE)) {
        return ORR_OUTCOME_NOT_TRIED;
    }
    struct orr_victim_index *all = orr_victim_index_now(session);
    (void)orr_victim_index_oldest(session, job);
    if (all->uncounted_nodes > 0) {
        return ORR_OUTCOME_NOT_TRIED;
    }
    uint8_t *kept = foresight_of(all, session, first);
    if (*kept == 0) {
        *kept = (uint8_t)(foresee(session, first) + 1);
    }
    return (enum orr_outcome)(*kept - 1);
}

/* --- of a scenario --- */

struct orr_places *orr_places__of(struct orr_victim_search *search)
{
    struct orr_session *session = search->session;
    const struct orr_ask *first = orr_task_ask(session, &session->tasks[search->tasks.tasks[0]]);
    if (search->refuter.no_places) {
        return NULL;
    }
    struct orr_places *places = search->refuter.places;
    if (places == NULL) { /* nodes are the same at every question of a search */
        if (!is_known(session, first) || orr_victim_index_now(session)->uncounted_nodes > 0 ||
            orr_prune__only_pod_set(session, &session->jobs[search->job]) == ORR_NONE) {
            search->refuter.no_places = true;
            return NULL;
        }
        places = orr_arena_take(&search->memory, 1, sizeof *places);
        open_places(places, session, first);
        search->refuter.places = places;
    }
    if (places->k != search->k) {
        places->k = search->k;
        for (uint32_t m = 0; m < places->count; m++) {
            places->measures[m].own = 0;
        }
        for (uint32_t i = 0; i < search->k; i++) {
            need_places(places, orr_task_ask(session, &session->tasks[search->tasks.tasks[i]]));
        }
    }
    return places;
}

bool orr_victim__lacks_places(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_places *places = orr_places__of(search);
    return places != NULL && lacks_any(places, potential, &search->recorded);
}
