/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_books.c - what one placement takes from a node, and how it gives it back.
 *
 * Whole tasks take whole devices. A sharing task takes a portion of each of its devices: the
 * fullest shared device that still fits, before it opens a fresh one (KAI's plugin gpupack). A
 * device leaves the idle count with its first user and comes back with its last. */
#include "ledger_int.h"

#include <string.h>

#include <orrery/base/mem.h>

/* Takes the room of so many tasks out of what is idle, or with less than none puts it back. Devices
 * that are shared are counted one by one. */
static void charge_room(struct orr_room *idle, const struct orr_request *request, int32_t tasks)
{
    if ((request->cpu_milli | request->mem_bytes) != 0) {
        idle->cpu_milli -= tasks * request->cpu_milli;
        idle->mem_bytes -= tasks * request->mem_bytes;
    }
    idle->gpus -= request->gpu_ask == ORR_GPU_WHOLE ? tasks * (int32_t)request->devices : 0;
    idle->pods -= tasks;
    if (request->instances > 0) {
        int16_t *instances = &idle->mig[request->mig_profile];
        *instances = (int16_t)(*instances - tasks * request->instances);
    }
}

struct orr_room orr_books__room(const struct orr_request *request, uint32_t tasks)
{
    struct orr_room room = {0};
    charge_room(&room, request, -(int32_t)tasks);
    return room;
}

uint32_t orr_books__tasks_in(const struct orr_room *room, const struct orr_request *request)
{
    uint32_t tasks = room->pods > 0 ? (uint32_t)room->pods : 0;
    if (request->gpu_ask == ORR_GPU_WHOLE) {
        uint32_t fit = room->gpus > 0 ? (uint32_t)room->gpus / request->devices : 0;
        tasks = fit < tasks ? fit : tasks;
    }
    if (request->cpu_milli > 0) {
        int64_t fit = room->cpu_milli / request->cpu_milli;
        tasks = fit < tasks ? (uint32_t)(fit > 0 ? fit : 0) : tasks;
    }
    if (request->mem_bytes > 0) {
        int64_t fit = room->mem_bytes / request->mem_bytes;
        tasks = fit < tasks ? (uint32_t)(fit > 0 ? fit : 0) : tasks;
    }
    if (request->instances > 0) {
        const int32_t idle = room->mig[request->mig_profile];
        const uint32_t fit = idle > 0 ? (uint32_t)idle / request->instances : 0;
        tasks = fit < tasks ? fit : tasks;
    }
    return tasks;
}

/* What is idle of a node without the part that pipelined tasks claim. */
static struct orr_room unclaimed(const struct orr_ledger *ledger, uint32_t node)
{
    struct orr_room room = ledger->idle[node];
    const struct orr_room *releasing = &ledger->releasing[node];
    room.cpu_milli += releasing->cpu_milli < 0 ? releasing->cpu_milli : 0;
    room.mem_bytes += releasing->mem_bytes < 0 ? releasing->mem_bytes : 0;
    room.gpus += releasing->gpus < 0 ? releasing->gpus : 0;
    room.pods += releasing->pods < 0 ? releasing->pods : 0;
    for (int p = 0; p < ORR_MIG_PROFILES_MAX; p++) {
        const int claimed = releasing->mig[p] < 0 ? releasing->mig[p] : 0;
        room.mig[p] = (int16_t)(room.mig[p] + claimed);
    }
    return room;
}

/* Does one sharing task fit, on shared devices and idle ones of the room? */
static bool sharing_fits(const struct orr_ledger *ledger, uint32_t node,
                         const struct orr_request *request, const struct orr_room *room)
{
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, node);
    const int64_t parts = orr_request_parts(request, type);
    if (type->gpus > ORR_DEVICE_MASK_MAX || parts <= 0 || parts > orr_device_parts(type)) {
        return false;
    }
    const int shared = __builtin_popcountll(orr_ledger_shared_with_room(ledger, node, request));
    const int32_t opens = (int32_t)request->devices - shared;
    return opens <= 0 ||
           (opens <= room->gpus && 1 + opens * orr_books__reservations(ledger, type) <= room->pods);
}

bool orr_books__fits_shared(const struct orr_ledger *ledger, uint32_t node,
                            const struct orr_request *request)
{
    static const struct orr_room nothing = {0};
    return sharing_fits(ledger, node, request, &nothing);
}

static uint32_t fit_in(const struct orr_ledger *ledger, uint32_t node,
                       const struct orr_request *request, const struct orr_room *room)
{
    uint32_t tasks = orr_books__tasks_in(room, request);
    if (tasks > 0 &&
        orr_request_shares(request)) { /* one at a time: each may change what is shared */
        tasks = sharing_fits(ledger, node, request, room) ? 1 : 0;
    }
    return tasks;
}

uint32_t orr_books__room_on(const struct orr_ledger *ledger, uint32_t node,
                            const struct orr_request *request)
{
    struct orr_room room;
    const struct orr_room *idle = &ledger->idle[node];
    if (ledger->claims > 0) {
        room = unclaimed(ledger, node);
        idle = &room;
    }
    return fit_in(ledger, node, request, idle);
}

uint32_t orr_ledger_room_for(const struct orr_ledger *ledger, uint32_t node,
                             const struct orr_request *request)
{
    return orr_ledger__may_use(ledger, node, request) ? orr_books__room_on(ledger, node, request)
                                                      : 0;
}

uint32_t orr_ledger_room_but_slots(const struct orr_ledger *ledger, uint32_t node,
                                   const struct orr_request *request)
{
    struct orr_room room = unclaimed(ledger, node);
    room.pods = INT32_MAX;
    return orr_ledger__may_use(ledger, node, request) ? fit_in(ledger, node, request, &room) : 0;
}

uint32_t orr_ledger_room_but_cpu(const struct orr_ledger *ledger, uint32_t node,
                                 const struct orr_request *request)
{
    struct orr_room room = unclaimed(ledger, node);
    room.cpu_milli = room.mem_bytes = INT64_MAX;
    return orr_ledger__may_use(ledger, node, request) ? fit_in(ledger, node, request, &room) : 0;
}

uint32_t orr_ledger_tasks_in(const struct orr_ledger *ledger, uint32_t node,
                             const struct orr_request *request, const struct orr_room *room)
{
    return orr_ledger__may_use(ledger, node, request) ? orr_books__tasks_in(room, request) : 0;
}

/* Are these the devices of one task, each with room for it, and the fresh ones unclaimed? */
static ORR_APART bool devices_fit(const struct orr_ledger *ledger,
                                  const struct orr_request *request, uint32_t node,
                                  uint64_t devices)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    const struct orr_node_type *type = orr_cluster_type(cluster, node);
    uint64_t fresh = devices & ledger->free_devices[node], rest = devices & ~fresh;
    const int32_t opens = __builtin_popcountll(fresh);
    const int32_t reserves =
        orr_request_shares(request) ? opens * orr_books__reservations(ledger, type) : 0;
    const struct orr_room room = unclaimed(ledger, node);
    if (type->gpus > ORR_DEVICE_MASK_MAX ||
        (uint32_t)__builtin_popcountll(devices) != request->devices || opens > room.gpus ||
        1 + reserves > room.pods) {
        return false;
    }
    if (rest == 0) {
        return true;
    }
    if (!orr_request_shares(request) || (rest >> (type->gpus - 1)) > 1) {
        return false;
    }
    return (rest & ~orr_ledger_shared_with_room(ledger, node, request)) == 0;
}

/* Counts so many tasks of a request among those that the node hosts, or with less than none no
 * longer. */
static void count_hosted(struct orr_ledger *ledger, const struct orr_request *request,
                         uint32_t node, int32_t tasks)
{
    const size_t stride = ledger->world.cluster->max_gpus + (size_t)1;
    if (request->gpu_ask != ORR_GPU_NONE) {
        ledger->hosted[node * stride + orr_request_class(request)] += (uint32_t)tasks;
    }
}

bool orr_books__take(struct orr_ledger *ledger, const struct orr_request *request,
                     struct orr_placement *placement)
{
    uint32_t node = placement->node;
    bool given = placement->devices != 0;
    if (!orr_ledger__may_use(ledger, node, request) ||
        !orr_books__has_room(ledger, node, request, placement->tasks) ||
        (given && !devices_fit(ledger, request, node, placement->devices))) {
        return false;
    }
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, node);
    int32_t before = ledger->idle[node].gpus;
    if (orr_request_shares(request)) {
        if (!given) {
            placement->devices = orr_books__pick_shared(ledger, node, request);
        }
        orr_books__charge_devices(ledger, request, node, placement->devices, 1);
    } else if (request->gpu_ask == ORR_GPU_WHOLE && type->gpus <= ORR_DEVICE_MASK_MAX) {
        if (!given) {
            placement->devices = orr_books__pick_devices(type, ledger->free_devices[node],
                                                         request->devices, placement->tasks);
        }
        ledger->free_devices[node] &= ~placement->devices;
    }
    charge_room(&ledger->idle[node], request, (int32_t)placement->tasks);
    if (request->instances > 0) {
        ledger->shards[type->shard].idle_mig_mgpu[request->mig_profile] -=
            placement->tasks * request->mig_mgpu;
    }
    count_hosted(ledger, request, node, (int32_t)placement->tasks);
    orr_index__move(ledger, node, before);
    return true;
}

struct orr_room orr_ledger_held(const struct orr_ledger *ledger, const struct orr_request *request,
                                const struct orr_placement *placement)
{
    struct orr_room room = orr_books__room(request, orr_placement_each(placement));
    room.cpu_milli = orr_ledger_is_suspended(ledger, placement->job) ? 0 : room.cpu_milli;
    return room;
}

/* Adds sign * the CPU that the job's tasks ask to what its nodes have idle. */
static void charge_cpu(struct orr_ledger *ledger, uint32_t job, int sign)
{
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const int64_t cpu = orr_placement_each(placement) *
                            orr_ledger__request(ledger, job, placement->group)->cpu_milli;
        for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
            orr_books__unheld(ledger, n)->cpu_milli += sign * cpu;
            orr_index__move(ledger, n, ledger->idle[n].gpus);
        }
    }
}

/* Is no node of the job short of CPU? Pipelined tasks have claims on what is idle. */
static bool has_cpu(struct orr_ledger *ledger, uint32_t job)
{
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
            const int64_t claimed = ledger->releasing[n].cpu_milli;
            if (orr_books__unheld(ledger, n)->cpu_milli + (claimed < 0 ? claimed : 0) < 0) {
                return false;
            }
        }
    }
    return true;
}

bool orr_books__set_suspended(struct orr_ledger *ledger, uint32_t job, bool suspended)
{
    if (ledger->suspended == NULL) {
        ledger->suspended = orr_zalloc(ledger->job_capacity, sizeof *ledger->suspended);
    }
    charge_cpu(ledger, job, suspended ? 1 : -1);
    if (!suspended && !has_cpu(ledger, job)) {
        charge_cpu(ledger, job, 1);
        return false;
    }
    ledger->suspended[job] = suspended;
    return true;
}

static void give_node(struct orr_ledger *ledger, const struct orr_request *request, uint32_t node,
                      uint64_t devices, uint32_t tasks)
{
    int32_t before = ledger->idle[node].gpus;
    if (orr_request_shares(request)) {
        orr_books__charge_devices(ledger, request, node, devices, -1);
    } else {
        *orr_books__unheld_devices(ledger, node) |= devices;
    }
    charge_room(orr_books__unheld(ledger, node), request, -(int32_t)tasks);
    if (!ledger->down[node] && request->instances > 0) {
        const uint32_t shard = orr_cluster_type(ledger->world.cluster, node)->shard;
        ledger->shards[shard].idle_mig_mgpu[request->mig_profile] += tasks * request->mig_mgpu;
    }
    count_hosted(ledger, request, node, -(int32_t)tasks);
    orr_index__move(ledger, node, before);
}

void orr_books__give(struct orr_ledger *ledger, const struct orr_request *request,
                     const struct orr_placement *placement)
{
    const uint32_t each = orr_placement_each(placement);
    for (uint32_t n = 0; n <= placement->more_nodes; n++) {
        give_node(ledger, request, placement->node + n, placement->devices, each);
        if (orr_ledger_is_suspended(ledger, placement->job)) { /* it gave its CPU before */
            orr_books__unheld(ledger, placement->node + n)->cpu_milli -= each * request->cpu_milli;
        }
    }
}

static void add_use(struct orr_ledger *ledger, uint32_t queue, bool pending, int64_t cpu,
                    int64_t mem, int64_t mgpu)
{
    for (uint32_t q = queue; q != ORR_NONE; q = ledger->world.queues->queues[q].parent) {
        int64_t *sums = pending ? ledger->use[q].pending : ledger->use[q].allocated;
        sums[ORR_SHARE_CPU] += cpu;
        sums[ORR_SHARE_MEMORY] += mem;
        sums[ORR_SHARE_GPU] += mgpu;
    }
}

/* Takes what a placement holds of a kind of GPUs off what its nodes and the shard have free. */
static void charge_free(struct orr_ledger *ledger, struct orr_shard_room *shard,
                        const struct orr_placement *placement, uint32_t kind, int64_t mgpu)
{
    const int64_t each_mgpu =
        placement->more_nodes == 0 ? mgpu : mgpu / (placement->more_nodes + 1);
    shard->free.mgpu[kind] -= mgpu;
    for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
        orr_books__node_free(ledger, n)[kind] -= each_mgpu;
        if (ledger->down[n]) {
            shard->free_down.mgpu[kind] -= each_mgpu;
        }
    }
}

static inline void add_allocated(struct orr_ledger *ledger, const struct orr_request *request,
                                 const struct orr_placement *placement, int64_t tasks, int64_t mgpu)
{
    const uint32_t type = ledger->world.cluster->nodes[placement->node].type;
    struct orr_shard_room *shard = ledger->types[type].shard;
    shard->allocated_mgpu += mgpu;
    charge_free(ledger, shard, placement, orr_request_gpu_kind(request), mgpu);
    add_use(ledger, ledger->world.specs[placement->job].queue, false, tasks * request->cpu_milli,
            tasks * request->mem_bytes, mgpu);
}

/* The same of tasks that ask parts of devices, or MIG instances, and what else is summed up. */
static ORR_APART void add_allocated_parts(struct orr_ledger *ledger,
                                          const struct orr_request *request,
                                          const struct orr_placement *placement, int64_t tasks)
{
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, placement->node);
    const int64_t mgpu = tasks * orr_request_task_mgpu(request, type);
    const int64_t rounding_mgpu = tasks * orr_request_counted_mgpu(request, type) - mgpu;
    const bool first = request->instances == 0; /* its first device is metered */
    const int64_t unmetered = first ? mgpu - tasks * orr_request_portion_mgpu(request, type) : mgpu;
    const int64_t mig_mgpu = tasks * request->mig_mgpu;
    add_allocated(ledger, request, placement, tasks, mgpu);
    for (uint32_t q = ledger->world.specs[placement->job].queue; q != ORR_NONE;
         q = ledger->world.queues->queues[q].parent) {
        ledger->use[q].rounding_mgpu += rounding_mgpu;
        ledger->use[q].unmetered_mgpu += unmetered;
        ledger->use[q].held_mig_mgpu += mig_mgpu;
    }
}

void orr_use__allocated(struct orr_ledger *ledger, const struct orr_request *request,
                        const struct orr_placement *placement, int sign)
{
    const int64_t tasks = sign * (int64_t)placement->tasks;
    if (orr_request_shares(request) || request->instances > 0) {
        add_allocated_parts(ledger, request, placement, tasks);
    } else {
        add_allocated(ledger, request, placement, tasks, tasks * request->devices * ORR_MGPU);
    }
}

struct orr_use_asked orr_use__asked(const struct orr_ledger *ledger, uint32_t job)
{
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    const int64_t unwanted = orr_ledger_unwanted(ledger, job);
    struct orr_use_asked asked = {shape->cpu_milli, shape->mem_bytes, shape->gpus_mgpu};
    if (unwanted > 0) {
        const struct orr_request *last = &shape->groups[shape->group_count - 1].request;
        asked.cpu_milli -= unwanted * last->cpu_milli;
        asked.mem_bytes -= unwanted * last->mem_bytes;
        asked.mgpu -= unwanted * orr_request_mgpu(last);
    }
    return asked;
}

void orr_use__leaving(struct orr_ledger *ledger, const struct orr_request *request,
                      const struct orr_placement *placement, int sign)
{
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, placement->node);
    const int64_t mgpu = sign * (int64_t)placement->tasks * orr_request_task_mgpu(request, type);
    for (uint32_t q = ledger->world.specs[placement->job].queue; q != ORR_NONE;
         q = ledger->world.queues->queues[q].parent) {
        ledger->use[q].leaving_mgpu += mgpu;
        ledger->use[q].held_mig_mgpu += sign * (int64_t)placement->tasks * request->mig_mgpu;
    }
    ledger->leaving_mgpu += mgpu;
}

void orr_use__pending(struct orr_ledger *ledger, uint32_t job, int sign)
{
    const struct orr_use_asked asked = orr_use__asked(ledger, job);
    add_use(ledger, ledger->world.specs[job].queue, true, sign * asked.cpu_milli,
            sign * asked.mem_bytes, sign * asked.mgpu);
}
