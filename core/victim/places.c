/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "places", consolidation: whoever is moved, there are not enough places for all. It holds
 * in every world, as it looks at whole GPUs alone, which queues, topology, CPU and shared devices
 * can only make fewer of.
 *
 * Every task that is moved must find a place again, and so must the preemptor's first one. A node
 * on which r GPUs are free has r / z places for z of them, all divisions rounded down, and a task
 * of a GPUs takes at least a / z of these wherever it goes; one that shares devices takes none or
 * more. So if all find a place,
 *
 *     sum over nodes of (free + moved away) / z  >=  sum over those moved of a / z  +  own / z
 *
 * whatever z is. What a task that is moved adds at most to the difference is what it leaves of a
 * multiple of z, so that all candidates together add most; one that shares devices gives back no
 * more than these devices, and all of a node no more than it has in use so.
 */
#include "forecast_int.h"

struct places {
    struct orr_prospects *all;
    const struct orr_session *session;
    uint32_t gpus; /* of the preemptor's first task */
    struct moved { /* a task of whole GPUs that may be moved */
        uint32_t node;
        int32_t gpus;
    } * whole;
    uint32_t whole_count, whole_capacity;
    struct device { /* shared */
        uint32_t node, id;
        int64_t left_mib; /* in use by those that stay */
    } * devices;
    uint32_t device_count, device_capacity;
};

static bool is_moved(const struct orr_stask *task)
{
    return orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED) &&
           task->live.node != ORR_NONE;
}

/* The node gets so many GPUs more, beyond multiples of z. Returns how many places these make. */
static int64_t give(struct orr_prospects *all, uint32_t node, int32_t rest, int32_t z)
{
    const int32_t before = all->whole[node] + all->more[node];
    all->more[node] += rest;
    return (before + rest) / z - before / z;
}

/* A shared device is given back if all that use it are moved. */
static void count_device(struct places *p, uint32_t node, const struct orr_shared_gpu *gpu,
                         int64_t need_mib)
{
    uint32_t d = 0;
    while (d < p->device_count && (p->devices[d].node != node || p->devices[d].id != gpu->id)) {
        d++;
    }
    if (d == p->device_count) {
        p->devices = ORR_ROOM_FOR_ONE(p->devices, p->device_count, p->device_capacity);
        p->devices[p->device_count++] =
            (struct device){.node = node, .id = gpu->id, .left_mib = gpu->used};
    }
    p->devices[d].left_mib -= need_mib;
}

static void list_task(struct places *p, const struct orr_stask *task)
{
    const struct orr_ask *ask = orr_task_ask(p->session, task);
    struct orr_snode *node = &p->session->nodes[task->live.node];
    for (uint32_t i = 0; orr_ask_is_shared(ask) && i < task->live.group_count; i++) {
        const struct orr_shared_gpu *gpu =
            orr_session_find_shared(node, orr_task_groups(p->session, task)[i]);
        if (gpu != NULL) {
            count_device(p, task->live.node, gpu, orr_session_shared_need(ask, node));
        }
    }
    const int64_t gpus = ask->request.v[ORR_SLOT_GPU] / ORR_MGPU;
    if (!orr_ask_is_shared(ask) && gpus > 0) {
        p->whole = ORR_ROOM_FOR_ONE(p->whole, p->whole_count, p->whole_capacity);
        p->whole[p->whole_count++] = (struct moved){.node = task->live.node, .gpus = (int32_t)gpus};
    }
}

static void list_moved(struct places *p)
{
    const struct orr_row *row = &p->all->oldest;
    for (uint32_t s = 0; s < row->count; s++) {
        const struct orr_sjob *job = &p->session->jobs[row->seats[s].job];
        for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
            if (is_moved(&p->session->tasks[t])) {
                list_task(p, &p->session->tasks[t]);
            }
        }
    }
}

static bool lacks_places(const struct places *p, int32_t z)
{
    int64_t places = orr_tally__places(&p->all->by_whole, (uint32_t)z);
    for (uint32_t i = 0; i < p->whole_count; i++) {
        places += give(p->all, p->whole[i].node, p->whole[i].gpus % z, z);
    }
    for (uint32_t d = 0; d < p->device_count; d++) {
        places += p->devices[d].left_mib <= 0 ? give(p->all, p->devices[d].node, 1, z) : 0;
    }
    for (uint32_t i = 0; i < p->whole_count; i++) {
        p->all->more[p->whole[i].node] = 0;
    }
    for (uint32_t d = 0; d < p->device_count; d++) {
        p->all->more[p->devices[d].node] = 0;
    }
    return places < (int32_t)p->gpus / z;
}

/* With all candidates together some node would pass KAI's filter of single nodes. */
static bool passes_filter(const struct places *p)
{
    const struct orr_session *session = p->session;
    const struct orr_row *row = &p->all->oldest;
    const int64_t enough = p->gpus * ORR_MGPU;
    int64_t *freed = orr_zalloc(session->node_count, sizeof *freed);
    bool passes = false;
    for (uint32_t s = 0; s < row->count; s++) {
        const struct orr_sjob *job = &session->jobs[row->seats[s].job];
        for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
            if (is_moved(&session->tasks[t])) {
                freed[session->tasks[t].live.node] += orr_victim__freed(session, t);
            }
        }
    }
    for (uint32_t n = 0; n < session->node_count && !passes; n++) {
        passes =
            freed[n] + orr_session_idle_gpus(session, n) + orr_session_releasing_gpus(session, n) >=
            enough;
    }
    orr_free(freed);
    return passes;
}

static enum orr_outcome foresee(struct places *p)
{
    if (p->all->oldest.count == 0) {
        return ORR_OUTCOME_NO_CANDIDATES;
    }
    list_moved(p);
    bool lacks = false;
    for (int32_t z = (int32_t)p->gpus; z > 0 && !lacks; z--) {
        lacks = lacks_places(p, z);
    }
    orr_free(p->whole);
    orr_free(p->devices);
    if (!lacks) {
        return ORR_OUTCOME_NOT_TRIED;
    }
    return passes_filter(p) ? ORR_OUTCOME_NOT_PLACED : ORR_OUTCOME_FILTERED;
}

/* Do whole GPUs tell how many the ask takes? */
static bool is_counted(const struct orr_session *session, const struct orr_ask *ask)
{
    return ask->kind == ORR_ASK_WHOLE && !ask->legacy_mig && ask->request.v[ORR_SLOT_GPU] > 0 &&
           ask->request.v[ORR_SLOT_GPU] % ORR_MGPU == 0 &&
           ask->request.v[ORR_SLOT_GPU] <= ORR_FORECAST_GPUS * ORR_MGPU &&
           !(session->rules.predicates && ask->affinity != ORR_NONE);
}

enum orr_outcome orr_victim__foresee_moves(struct orr_session *session, uint32_t job,
                                           const struct orr_ask *first)
{
    const bool known = !session->rules.literal && !session->abandoned && session->backlog != NULL;
    if (!known || !is_counted(session, first)) {
        return ORR_OUTCOME_NOT_TRIED;
    }
    struct orr_prospects *all = orr_prospects_now(session);
    (void)orr_prospects_oldest(session, job);
    if (all->uncounted_nodes > 0) {
        return ORR_OUTCOME_NOT_TRIED;
    }
    const uint32_t gpus = (uint32_t)(first->request.v[ORR_SLOT_GPU] / ORR_MGPU);
    if ((all->foreseen & 1u << gpus) == 0) {
        struct places p = {.all = all, .session = session, .gpus = gpus};
        all->foreseen |= 1u << gpus;
        all->foresight[gpus] = (uint8_t)foresee(&p);
    }
    return (enum orr_outcome)all->foresight[gpus];
}
