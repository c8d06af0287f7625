/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_rooms.c - which nodes come in question, and how many tasks of a job each could take.
 *
 * A candidate is a node of the usable ones that admits the request and has room for a task; a job
 * that wants whole nodes takes idle ones only. Nodes of the lowest weight go first, and among those
 * the ones that give more of the GPUs the job asks. */
#include "slurm_int.h"

#include <string.h>

/* --- rooms --- */

struct orr_room orr_slurm__full_room(const struct orr_node_type *type)
{
    const struct orr_amounts *all = &type->allocatable, *foreign = &type->foreign;
    const int64_t pods = all->v[ORR_RES_PODS] - foreign->v[ORR_RES_PODS];
    struct orr_room room = {all->v[ORR_RES_CPU] - foreign->v[ORR_RES_CPU],
                            all->v[ORR_RES_MEMORY] - foreign->v[ORR_RES_MEMORY],
                            (int32_t)orr_node_type_own_gpus(type),
                            pods > INT32_MAX ? INT32_MAX : (int32_t)pods,
                            {0}};
    for (int p = 0; p < ORR_MIG_PROFILES_MAX; p++) {
        room.mig[p] = (int16_t)type->mig[p];
    }
    return room;
}

static bool admits(const struct slurm *slurm, const struct orr_view *view, uint32_t node,
                   const struct orr_request *request)
{
    const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
    return type->shard == request->shard && (slurm->ever || !view->ledger->down[node]) &&
           (request->gpu_model == ORR_NONE || request->gpu_model == type->gpu_model) &&
           orr_cluster_admits(view->cluster, request->selector, node) &&
           orr_cluster_admits(view->cluster, request->toleration, node) &&
           orr_cluster_admits(view->cluster, request->allowed, node);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t tasks_in(const struct orr_room *room, const struct orr_request *request)
{
    int64_t tasks = room->pods;
    if ((int64_t)request->devices > room->gpus) {
        return 0;
    }
    tasks = request->cpu_milli > 0 ? least(tasks, room->cpu_milli / request->cpu_milli) : tasks;
    tasks = request->mem_bytes > 0 ? least(tasks, room->mem_bytes / request->mem_bytes) : tasks;
    tasks = request->devices > 0 ? least(tasks, room->gpus / (int64_t)request->devices) : tasks;
    tasks = request->instances > 0
                ? least(tasks, room->mig[request->mig_profile] / request->instances)
                : tasks;
    return tasks > 0 ? tasks : 0;
}

void orr_slurm__take(struct orr_room *room, const struct orr_request *request, int64_t tasks)
{
    room->cpu_milli -= request->cpu_milli * tasks;
    room->mem_bytes -= request->mem_bytes * tasks;
    room->gpus -= (int32_t)(request->devices * tasks);
    room->pods -= (int32_t)tasks;
    room->mig[request->mig_profile] =
        (int16_t)(room->mig[request->mig_profile] - request->instances * tasks);
}

bool orr_slurm__is_idle(const struct orr_view *view, uint32_t node, const struct orr_room *room)
{
    const struct orr_room full = orr_slurm__full_room(orr_cluster_type(view->cluster, node));
    return room->cpu_milli == full.cpu_milli && room->mem_bytes == full.mem_bytes &&
           room->gpus == full.gpus && memcmp(room->mig, full.mig, sizeof full.mig) == 0;
}

static bool keeps(const struct slurm *slurm)
{
    return slurm->kept_any && !slurm->ever;
}

/* Without what is kept from the record at hand. */
static struct orr_room without_kept(const struct slurm *slurm, uint32_t node,
                                    const struct orr_room *room)
{
    struct orr_room left = *room;
    left.cpu_milli -= keeps(slurm) ? slurm->kept[node].cpu_milli : 0;
    return left;
}

/* The same, as far as MaxCPUsPerNode of its partition goes. */
static struct orr_room left_of(const struct slurm *slurm, uint32_t node,
                               const struct orr_room *room)
{
    struct orr_room left = without_kept(slurm, node, room);
    left.cpu_milli = orr_slurm__capped(slurm, node, left.cpu_milli);
    return left;
}

/* --- candidates --- */

static struct slurm_candidate candidate_of(const struct slurm *slurm, const struct orr_view *view,
                                           uint32_t node, int64_t tasks,
                                           const struct orr_room *room,
                                           const struct slurm_want *want)
{
    const struct orr_request *request = want->request;
    const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
    const bool counts_cpus =
        request->cpu_milli > 0 && type->allocatable.v[ORR_RES_CPU] < ORR_AMOUNT_UNLIMITED;
    const struct orr_room full = orr_slurm__full_room(type);
    int64_t weight = slurm->conf.weight[node] * 256 + 255;
    const int64_t each = orr_request_units(request);
    if (each > 0) { /* nodes that give more of the GPUs it asks go first */
        const int64_t there = request->instances > 0 ? room->mig[request->mig_profile] : room->gpus;
        weight -= least(least(there, want->tasks * each), 255);
    }
    int64_t free = counts_cpus ? room->cpu_milli : tasks;
    if (each > 0) { /* of its cores only those that the job could use are left */
        free = least(free, counts_cpus ? request->cpu_milli * want->tasks : want->tasks);
    }
    return (struct slurm_candidate){node,
                                    slurm->conf.ordinal[node],
                                    tasks,
                                    free,
                                    counts_cpus ? full.cpu_milli : tasks_in(&full, request),
                                    weight};
}

int64_t orr_slurm__tasks_on(const struct slurm *slurm, const struct orr_view *view, uint32_t node,
                            const struct orr_room *room, const struct slurm_want *want)
{
    const struct orr_room left = left_of(slurm, node, room);
    const struct orr_room all = without_kept(slurm, node, room);
    const int64_t tasks = tasks_in(&left, want->request);
    const bool freed = slurm->in_image && slurm->freed[node] == slurm->image_number;
    const bool held =
        (slurm->exclusive[node] > 0 || (keeps(slurm) && slurm->kept[node].whole)) && !freed;
    return tasks > 0 && !held && admits(slurm, view, node, want->request) &&
                   (!want->whole || orr_slurm__is_idle(view, node, &all))
               ? tasks
               : 0;
}

void orr_slurm__list_candidates(const struct slurm *slurm, const struct orr_view *view,
                                const uint64_t *usable, const struct orr_room *rooms,
                                const struct slurm_want *want, struct slurm_search *search)
{
    search->count = 0;
    for (uint32_t w = 0; w < slurm->words; w++) {
        for (uint64_t bits = usable[w]; bits != 0; bits &= bits - 1) {
            const uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits);
            const int64_t tasks = orr_slurm__tasks_on(slurm, view, node, &rooms[node], want);
            if (tasks > 0) {
                const struct orr_room left = left_of(slurm, node, &rooms[node]);
                search->candidates[search->count++] =
                    candidate_of(slurm, view, node, tasks, &left, want);
            }
        }
    }
}
