/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_sharing.c - what requests take of devices that tasks share, and the books of these
 * devices.
 *
 * Fractions are whole milli-GPU, memory is not: 26600 of 80000 MiB are 332.5. Where nobody asked
 * memory yet the books in milli-GPU are exact, and there are no others; with the first such task
 * the books in parts are opened, and from then on they say what fits. */
#include "ledger_int.h"

#include <orrery/base/mem.h>

#define PARTS_OF_MIB 10 /* a thousandth of a hundred MiB is a whole number of them */

int64_t orr_device_memory_mib(const struct orr_node_type *type)
{
    return type->gpu_memory_mib - type->gpu_memory_mib % 100;
}

int64_t orr_device_parts(const struct orr_node_type *type)
{
    const int64_t memory = orr_device_memory_mib(type);
    return memory > 0 ? memory * PARTS_OF_MIB : ORR_MGPU;
}

int64_t orr_request_parts(const struct orr_request *request, const struct orr_node_type *type)
{
    const int64_t all = orr_device_parts(type), least = all / ORR_MGPU;
    switch ((enum orr_gpu_ask)request->gpu_ask) {
    case ORR_GPU_NONE: return 0;
    case ORR_GPU_WHOLE: return all;
    case ORR_GPU_FRACTION: return request->portion * least;
    case ORR_GPU_MEMORY: break;
    }
    if (orr_device_memory_mib(type) == 0) {
        return all + 1; /* a device of unknown memory fits no memory ask */
    }
    const int64_t parts = request->portion * PARTS_OF_MIB;
    return parts > least ? parts : least;
}

int64_t orr_request__shared_mgpu(const struct orr_request *request,
                                 const struct orr_node_type *type)
{
    const int64_t all = orr_device_parts(type), parts = orr_request_parts(request, type);
    const int64_t mgpu = parts * ORR_MGPU / all;
    return parts > all && mgpu == ORR_MGPU ? ORR_MGPU + 1 : mgpu;
}

int64_t orr_request_counted_mgpu(const struct orr_request *request,
                                 const struct orr_node_type *type)
{
    const int64_t memory = orr_device_memory_mib(type);
    if (request->gpu_ask == ORR_GPU_MEMORY && memory > 0) {
        return (int64_t)request->devices * orr_memory_counted_mgpu(request->portion, memory);
    }
    return orr_request_task_mgpu(request, type) + orr_request_rounding_mgpu(request);
}

int64_t orr_request_least_mgpu(const struct orr_cluster *cluster, const struct orr_request *request)
{
    if (request->gpu_ask != ORR_GPU_MEMORY) {
        return orr_request_mgpu(request);
    }
    int64_t least = ORR_MGPU + 1; /* of a device */
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        const struct orr_node_type *type = &cluster->types[t];
        const bool fits = type->shard == request->shard && type->gpus >= request->devices &&
                          (request->gpu_model == ORR_NONE || request->gpu_model == type->gpu_model);
        const int64_t portion = fits ? orr_request__shared_mgpu(request, type) : least;
        least = portion < least ? portion : least;
    }
    return (int64_t)request->devices * least;
}

/* --- books of devices --- */

/* The books in milli-GPU or in parts, of each device of a node. */
static size_t first_device(const struct orr_ledger *ledger, uint32_t node)
{
    return (size_t)node * ledger->world.cluster->max_gpus;
}

int64_t orr_ledger_used_parts(const struct orr_ledger *ledger, uint32_t node, uint32_t device)
{
    const size_t at = first_device(ledger, node) + device;
    if (ledger->device_parts != NULL) {
        return ledger->device_parts[at];
    }
    const int64_t each = orr_device_parts(orr_cluster_type(ledger->world.cluster, node)) / ORR_MGPU;
    return ledger->device_mgpu == NULL ? 0 : ledger->device_mgpu[at] * each;
}

uint64_t orr_ledger_shared_with_room(const struct orr_ledger *ledger, uint32_t node,
                                     const struct orr_request *request)
{
    if (ledger->device_mgpu == NULL) {
        return 0;
    }
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, node);
    const int16_t *mgpu = &ledger->device_mgpu[first_device(ledger, node)];
    const int64_t *parts =
        ledger->device_parts == NULL ? NULL : &ledger->device_parts[first_device(ledger, node)];
    const int64_t all = orr_device_parts(type), left = all - orr_request_parts(request, type);
    uint64_t found = 0;
    for (uint32_t d = 0; d < type->gpus; d++) {
        const int64_t used = parts != NULL ? parts[d] : mgpu[d] * (all / ORR_MGPU);
        found |= used > 0 && used <= left ? (uint64_t)1 << d : 0;
    }
    return found;
}

ORR_APART uint64_t orr_books__pick_shared(const struct orr_ledger *ledger, uint32_t node,
                                          const struct orr_request *request)
{
    uint64_t shared = orr_ledger_shared_with_room(ledger, node, request);
    uint64_t fresh = ledger->free_devices[node], taken = 0;
    for (uint32_t count = request->devices; count > 0; count--) {
        uint64_t best = fresh & (~fresh + 1);
        int64_t most = 0;
        for (uint64_t rest = shared; rest != 0; rest &= rest - 1) {
            const int64_t used =
                orr_ledger_used_parts(ledger, node, (uint32_t)__builtin_ctzll(rest));
            best = used > most ? rest & (~rest + 1) : best;
            most = used > most ? used : most;
        }
        taken |= best;
        shared &= ~best;
        fresh &= ~best;
    }
    return taken;
}

void orr_ledger_reserve_shared(struct orr_ledger *ledger, uint32_t shard)
{
    ORR_ASSERT(ledger->device_mgpu == NULL);
    if (ledger->reserves == NULL) {
        const uint32_t shards = ledger->world.cluster->shards.count;
        ledger->reserves =
            orr_arena_alloc(&ledger->arena, shards + (size_t)1, sizeof *ledger->reserves);
    }
    ledger->reserves[shard] = true;
}

static void open_books(struct orr_ledger *ledger, bool in_parts)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    const size_t devices = (size_t)cluster->node_count * cluster->max_gpus;
    if (ledger->device_mgpu == NULL) {
        ledger->device_mgpu = orr_arena_alloc(&ledger->arena, devices, sizeof *ledger->device_mgpu);
    }
    if (!in_parts || ledger->device_parts != NULL) {
        return;
    }
    int64_t *parts = orr_arena_alloc(&ledger->arena, devices, sizeof *parts);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        for (uint32_t d = 0; d < orr_cluster_type(cluster, n)->gpus; d++) {
            parts[first_device(ledger, n) + d] = orr_ledger_used_parts(ledger, n, d);
        }
    }
    ledger->device_parts = parts;
}

ORR_APART void orr_books__charge_devices(struct orr_ledger *ledger,
                                         const struct orr_request *request, uint32_t node,
                                         uint64_t devices, int sign)
{
    open_books(ledger, request->gpu_ask == ORR_GPU_MEMORY);
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, node);
    const int64_t mgpu = sign * orr_request_portion_mgpu(request, type);
    const int64_t parts = sign * orr_request_parts(request, type);
    const size_t first = first_device(ledger, node);
    int16_t *used = &ledger->device_mgpu[first];
    bool before = false, after = false;
    for (uint32_t d = 0; d < type->gpus; d++) {
        before = before || used[d] > 0;
        if ((devices >> d & 1) != 0) {
            const bool was_free = used[d] == 0;
            used[d] = (int16_t)(used[d] + mgpu);
            if (ledger->device_parts != NULL) {
                ledger->device_parts[first + d] += parts;
            }
            if (was_free != (used[d] == 0)) {
                struct orr_room *room = orr_books__unheld(ledger, node);
                room->gpus += was_free ? -1 : 1;
                room->pods += (was_free ? -1 : 1) * orr_books__reservations(ledger, type);
                *orr_books__unheld_devices(ledger, node) ^= (uint64_t)1 << d;
            }
        }
        after = after || used[d] > 0;
    }
    if (after && !before) {
        orr_node_set__add(&ledger->sharing, node);
    } else if (before && !after) {
        orr_node_set__remove(&ledger->sharing, node);
    }
}
