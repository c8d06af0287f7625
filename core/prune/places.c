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
 * - of all that it asks together.
 *
 * A task that shares a device takes no whole GPU or more, and gives one back if all others on the
 * device are moved too. If the preemptor's first task asks a part of a device, parts are a resource
 * of their own: z is what it takes of a device there, each device has places of its own, one that
 * is whole M / z, and a task of whole GPUs takes as many as its devices have.
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

static int64_t room_on(const struct orr_snode *node, const struct orr_shared_gpu *gpu)
{
    const int64_t room = node->gpu_memory_mib - gpu->allocated + gpu->releasing;
    return gpu->used == 0 || gpu->allocated == gpu->releasing || room < 0 ? 0 : room;
}

static int64_t parts_on(const struct orr_places *places, uint32_t index)
{
    const struct orr_snode *node = &places->session->nodes[index];
    const int64_t each = orr_session_shared_need(places->first, node);
    int64_t count = 0;
    if (each <= 0) {
        return 0;
    }
    for (uint32_t i = 0; i < node->shared_count; i++) {
        count += room_on(node, &node->shared[i]) / each;
    }
    return count;
}

static int64_t room_of(const struct orr_session *session, uint32_t node, uint32_t slot)
{
    if (slot == ORR_SLOT_GPU) {
        return session->victim_index->whole[node];
    }
    const int64_t room = session->nodes[node].idle.v[slot] + session->nodes[node].releasing.v[slot];
    return room > 0 ? room : 0;
}

/* gained: by those that are moved, or what is 0 of all. */
static int64_t places_on(const struct orr_places *places, const struct orr_measure *m,
                         uint32_t node, const int64_t *gained)
{
    const struct orr_session *session = places->session;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < m->kind_count && least > 0; i++) {
        const uint32_t kind = m->kinds[i];
        int64_t count = 0;
        if (kind == ORR_PLACE_PARTS) {
            const int64_t each = orr_session_shared_need(places->first, &session->nodes[node]);
            const int64_t whole = session->victim_index->whole[node] + gained[ORR_SLOT_GPU];
            count = parts_on(places, node) + gained[ORR_PLACE_PARTS] +
                    (each > 0 ? whole * (session->nodes[node].gpu_memory_mib / each) : 0);
        } else {
            count = (room_of(session, node, kind) + gained[kind]) / m->each[kind];
        }
        least = count < least ? count : least;
    }
    return least;
}

/* Node by node, until there are so many places or all nodes are counted. */
static void count_free(const struct orr_places *places, struct orr_measure *m, int64_t enough)
{
    static const int64_t nothing[ORR_PLACE_KINDS] = {0};
    const struct orr_session *session = places->session;
    if (m->counted == 0 && m->kind_count == 1 && m->kinds[0] == ORR_SLOT_GPU) {
        m->free = orr_histogram__places(&session->victim_index->by_whole,
                                        (uint32_t)m->each[ORR_SLOT_GPU]);
        m->counted = session->node_count;
    }
    while (m->free < enough && m->counted < session->node_count) {
        m->free += places_on(places, m, m->counted++, nothing);
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

/* At least, on whichever node. */
static int64_t parts_taken(const struct orr_places *places, const struct orr_ask *ask)
{
    const struct orr_victim_index *all = places->session->victim_index;
    const bool shares = orr_ask_is_shared(ask);
    const int64_t devices = shares ? (int64_t)ask->devices : asked(ask, ORR_SLOT_GPU);
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < all->device_size_count; i++) {
        const struct orr_snode *node = &places->session->nodes[all->device_sizes[i]];
        const int64_t each = orr_session_shared_need(places->first, node);
        const int64_t need = shares ? orr_session_shared_need(ask, node) : node->gpu_memory_mib;
        const int64_t one = each > 0 ? need / each : 0;
        least = one < least ? one : least;
    }
    return devices == 0 ? 0 : devices * least;
}

static int64_t taken(const struct orr_places *places, const struct orr_measure *m,
                     const struct orr_ask *ask)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < m->kind_count && least > 0; i++) {
        const uint32_t kind = m->kinds[i];
        const int64_t count =
            kind == ORR_PLACE_PARTS ? parts_taken(places, ask) : asked(ask, kind) / m->each[kind];
        least = count < least ? count : least;
    }
    return least;
}

/* --- what is moved away --- */

static struct orr_place_device *device_of(struct orr_places *places, uint32_t node,
                                          const struct orr_shared_gpu *gpu)
{
    uint32_t d = 0;
    while (d < places->device_count &&
           (places->devices[d].node != node || places->devices[d].id != gpu->id)) {
        d++;
    }
    if (d == places->device_count) {
        places->devices =
            ORR_ROOM_FOR_ONE(places->devices, places->device_count, places->device_capacity);
        places->devices[places->device_count++] =
            (struct orr_place_device){.node = node,
                                      .id = gpu->id,
                                      .room_mib = room_on(&places->session->nodes[node], gpu),
                                      .held_mib = gpu->allocated - gpu->releasing,
                                      .whole = gpu->counted_releasing};
    }
    return &places->devices[d];
}

/* A device of which nobody else holds memory is a whole one again, also if all that is moved from
 * it holds none: a small part of little memory is rounded down to 0. */
static void leave_devices(struct orr_places *places, const struct orr_stask *task, int64_t *gained)
{
    const struct orr_session *session = places->session;
    const struct orr_snode *node = &session->nodes[task->live.node];
    const int64_t need = orr_session_shared_need(orr_task_ask(session, task), node);
    const int64_t each = orr_session_shared_need(places->first, node);
    for (uint32_t i = 0; i < task->live.group_count; i++) {
        const struct orr_shared_gpu *gpu =
            orr_session_find_shared(node, orr_task_groups(session, task)[i]);
        if (gpu == NULL) {
            continue;
        }
        struct orr_place_device *device = device_of(places, task->live.node, gpu);
        const int64_t before = device->room_mib;
        device->room_mib += need;
        device->held_mib -= need;
        if (device->whole) {
            continue;
        }
        device->whole = device->held_mib <= 0;
        const int64_t after = device->whole ? 0 : device->room_mib; /* else counted as whole */
        gained[ORR_SLOT_GPU] += device->whole;
        gained[ORR_PLACE_PARTS] += each > 0 ? after / each - before / each : 0;
    }
}

static void move(struct orr_places *places, const struct orr_stask *task)
{
    const struct orr_session *session = places->session;
    const struct orr_ask *ask = orr_task_ask(session, task);
    const uint32_t node = task->live.node;
    int64_t *gained = places->gained[node];
    struct orr_victim_index *all = session->victim_index;
    if (all->gained_at[node] >= places->touched_count ||
        all->gained_on[all->gained_at[node]] != node) {
        all->gained_at[node] = places->touched_count;
        all->gained_on[places->touched_count++] = node;
    }
    for (uint32_t i = 0; i < places->slot_count; i++) {
        gained[places->slots[i]] += asked(ask, places->slots[i]);
    }
    if (orr_ask_is_shared(ask)) {
        leave_devices(places, task, gained);
    }
}

static bool is_moved(const struct orr_stask *task)
{
    return orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) &&
           task->live.node != ORR_NONE;
}

/* --- the comparison --- */

struct moved { /* tasks, list after list */
    const struct orr_victims *lists[2];
};

static void move_all(struct orr_places *places, const struct moved *moved)
{
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < moved->lists[l]->count; i++) {
            const struct orr_stask *task = &places->session->tasks[moved->lists[l]->items[i].task];
            if (is_moved(task)) {
                move(places, task);
            }
        }
    }
}

void orr_places__move_back(struct orr_places *places)
{
    const uint32_t *touched = places->session->victim_index->gained_on;
    for (uint32_t i = 0; i < places->touched_count; i++) {
        memset(places->gained[touched[i]], 0, sizeof *places->gained);
    }
    places->touched_count = places->device_count = 0;
}

static bool lacks(struct orr_places *places, struct orr_measure *m, const struct moved *moved)
{
    static const int64_t nothing[ORR_PLACE_KINDS] = {0};
    const struct orr_session *session = places->session;
    int64_t needed = m->own;
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < moved->lists[l]->count; i++) {
            const struct orr_stask *task = &session->tasks[moved->lists[l]->items[i].task];
            needed += is_moved(task) ? taken(places, m, orr_task_ask(session, task)) : 0;
        }
    }
    for (uint32_t i = 0; i < places->touched_count; i++) {
        const uint32_t node = session->victim_index->gained_on[i];
        needed -=
            places_on(places, m, node, places->gained[node]) - places_on(places, m, node, nothing);
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

static bool lacks_any(struct orr_places *places, const struct moved *moved)
{
    bool any = false;
    for (uint32_t m = 0; m < places->count && !any; m++) {
        if (!has_enough(places, &places->measures[m])) {
            if (places->touched_count == 0) {
                move_all(places, moved);
            }
            any = lacks(places, &places->measures[m], moved);
        }
    }
    orr_places__move_back(places);
    return any;
}

static void add_kind(struct orr_measure *m, uint32_t kind, int64_t each)
{
    if (each > 0) {
        m->each[kind] = each;
        m->kinds[m->kind_count++] = kind;
    }
}

/* For a preemptor whose first task asks this. */
static void open_places(struct orr_places *places, struct orr_session *session,
                        const struct orr_ask *first)
{
    const int64_t gpus = asked(first, ORR_SLOT_GPU);
    *places = (struct orr_places){.session = session, .first = first};
    for (int64_t z = gpus; z > 0 && gpus <= ORR_COUNTED_GPUS; z--) {
        add_kind(&places->measures[places->count++], ORR_SLOT_GPU, z);
    }
    struct orr_measure *all = &places->measures[places->count];
    for (uint32_t slot = 0; slot < session->slot_count; slot++) {
        add_kind(all, slot, slot == ORR_SLOT_PODS ? 0 : asked(first, slot));
        if (slot == ORR_SLOT_GPU || all->each[slot] > 0) {
            places->slots[places->slot_count++] = slot;
        }
    }
    add_kind(all, ORR_PLACE_PARTS,
             orr_ask_is_shared(first) && session->victim_index->device_size_count > 0);
    const bool more = all->kind_count > 0 && !(places->count > 0 && all->kind_count == 1);
    places->all = more ? places->count : 0;
    places->count += more;
    places->gained = session->victim_index->gained;
}

static void need_places(struct orr_places *places, const struct orr_ask *ask)
{
    for (uint32_t m = 0; m < places->count; m++) {
        places->measures[m].own += taken(places, &places->measures[m], ask);
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
    const struct moved moved = {.lists = {&candidates, &none}};
    enum orr_outcome outcome = ORR_OUTCOME_NOT_TRIED;
    if (lacks_any(&places, &moved)) {
        const int64_t fitting = orr_victim__count_fitting(
            session, &candidates, first->request.v[ORR_SLOT_GPU] + first->mig_mgpu);
        outcome = fitting > 0 ? ORR_OUTCOME_NOT_PLACED : ORR_OUTCOME_FILTERED;
    }
    orr_free(places.devices);
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
    if (search->refuter.places == NULL) { /* nodes are the same at every question of a search */
        if (!is_known(session, first) || orr_victim_index_now(session)->uncounted_nodes > 0 ||
            orr_prune__only_pod_set(session, &session->jobs[search->job]) == ORR_NONE) {
            search->refuter.no_places = true;
            return NULL;
        }
        search->refuter.places = orr_alloc(1, sizeof *search->refuter.places);
        open_places(search->refuter.places, session, first);
    }
    if (search->refuter.places->k != search->k) {
        search->refuter.places->k = search->k;
        for (uint32_t m = 0; m < search->refuter.places->count; m++) {
            search->refuter.places->measures[m].own = 0;
        }
        for (uint32_t i = 0; i < search->k; i++) {
            need_places(search->refuter.places,
                        orr_task_ask(session, &session->tasks[search->tasks.tasks[i]]));
        }
    }
    return search->refuter.places;
}

void orr_places__move(struct orr_places *places, const struct orr_victim_search *search,
                      const struct orr_victims *potential)
{
    const struct moved moved = {.lists = {potential, &search->recorded}};
    move_all(places, &moved);
}

int64_t orr_places__free_on(const struct orr_places *places, const struct orr_measure *measure,
                            uint32_t node)
{
    static const int64_t nothing[ORR_PLACE_KINDS] = {0};
    return places_on(places, measure, node, nothing);
}

int64_t orr_places__moved_on(const struct orr_places *places, const struct orr_measure *measure,
                             uint32_t node)
{
    return places_on(places, measure, node, places->gained[node]);
}

bool orr_victim__lacks_places(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_places *places = orr_places__of(search);
    const struct moved moved = {.lists = {potential, &search->recorded}};
    return places != NULL && lacks_any(places, &moved);
}

void orr_victim__release_places(struct orr_victim_search *search)
{
    if (search->refuter.places != NULL) {
        orr_free(search->refuter.places->devices);
        orr_free(search->refuter.places);
    }
}
