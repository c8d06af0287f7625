/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger_int.h"

#include <string.h>

static int64_t room_or_unlimited(int64_t amount)
{
    return amount >= ORR_AMOUNT_UNLIMITED ? ORR_AMOUNT_UNLIMITED : amount;
}

static struct orr_room empty_node(const struct orr_node_type *type)
{
    int64_t pods = type->allocatable.v[ORR_RES_PODS];
    return (struct orr_room){.cpu_milli = room_or_unlimited(type->allocatable.v[ORR_RES_CPU]),
                             .mem_bytes = room_or_unlimited(type->allocatable.v[ORR_RES_MEMORY]),
                             .gpus = (int32_t)type->gpus,
                             .pods = pods >= INT32_MAX / 2 ? INT32_MAX / 2 : (int32_t)pods};
}

static uint64_t all_devices(uint32_t gpus)
{
    if (gpus > ORR_DEVICE_MASK_MAX) {
        return 0;
    }
    return gpus == 64 ? ~(uint64_t)0 : ((uint64_t)1 << gpus) - 1;
}

struct orr_ledger *orr_ledger_open(const struct orr_ledger_world *world)
{
    struct orr_ledger *ledger = orr_zalloc(1, sizeof *ledger);
    const struct orr_cluster *cluster = world->cluster;
    uint32_t nodes = cluster->node_count;
    ledger->world = *world;
    ledger->digest = ORR_DIGEST_INIT;
    orr_arena_init(&ledger->arena);
    ledger->jobs = orr_alloc(world->job_count, sizeof *ledger->jobs);
    for (uint32_t j = 0; j < world->job_count; j++) {
        ledger->jobs[j] = (struct orr_job_state){.start_ms = ORR_MS_NONE,
                                                 .first_start_ms = ORR_MS_NONE,
                                                 .end_ms = ORR_MS_NONE,
                                                 .placement = ORR_NONE};
    }
    ledger->idle = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->idle);
    ledger->releasing = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->releasing);
    ledger->free_devices = orr_arena_alloc(&ledger->arena, nodes, sizeof *ledger->free_devices);
    ledger->use = orr_arena_alloc(&ledger->arena, world->queues->count, sizeof *ledger->use);
    for (uint32_t n = 0; n < nodes; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        ledger->idle[n] = empty_node(type);
        ledger->free_devices[n] = all_devices(type->gpus);
    }
    ledger->idle_gpus = cluster->total_gpus;
    orr_node_set__init(&ledger->sharing, &ledger->arena, nodes);
    orr_index__open(ledger);
    return ledger;
}

void orr_ledger_close(struct orr_ledger *ledger)
{
    if (ledger != NULL) {
        orr_free(ledger->jobs);
        orr_free(ledger->placements);
        orr_arena_release(&ledger->arena);
        orr_free(ledger);
    }
}

void orr_ledger_submit(struct orr_ledger *ledger, uint32_t job)
{
    ORR_ASSERT(ledger->jobs[job].phase == ORR_JOB_FUTURE);
    ledger->jobs[job].phase = ORR_JOB_PENDING;
    ledger->pending_jobs++;
    orr_use__pending(ledger, job, 1);
}

void orr_ledger_finish(struct orr_ledger *ledger, uint32_t job, orr_ms now)
{
    struct orr_job_state *state = &ledger->jobs[job];
    ORR_ASSERT(state->phase == ORR_JOB_RUNNING);
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        orr_use__allocated(ledger, job, placement, -1);
        orr_books__give(ledger, orr_ledger__request(ledger, job, placement->group), placement);
    }
    state->phase = ORR_JOB_FINISHED;
    state->end_ms = now;
    ledger->running_jobs--;
}

void orr_ledger_release(struct orr_ledger *ledger, uint32_t job)
{
    struct orr_job_state *state = &ledger->jobs[job];
    ORR_ASSERT(state->phase == ORR_JOB_RELEASING);
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_request *request = orr_ledger__request(ledger, job, placement->group);
        struct orr_room room = orr_books__room(request, placement->tasks);
        struct orr_room *releasing = &ledger->releasing[placement->node];
        releasing->cpu_milli -= room.cpu_milli;
        releasing->mem_bytes -= room.mem_bytes;
        releasing->gpus -= room.gpus;
        releasing->pods -= room.pods;
        orr_books__give(ledger, request, placement);
    }
    state->phase = ORR_JOB_PENDING;
    state->placement = ORR_NONE;
    state->placement_count = 0;
    state->placed_tasks = 0;
    ledger->pending_jobs++;
    orr_use__pending(ledger, job, 1);
}

/* Books of a second ledger that places the same running jobs again must equal this one's. */
enum orr_status orr_ledger_audit(const struct orr_ledger *ledger, struct orr_err *err)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    int64_t *used = orr_zalloc(cluster->node_count, sizeof *used);
    enum orr_status status = ORR_OK;
    int64_t mgpu = 0;
    for (uint32_t j = 0; j < ledger->world.job_count; j++) {
        const struct orr_job_state *state = &ledger->jobs[j];
        if (state->phase != ORR_JOB_RUNNING && state->phase != ORR_JOB_RELEASING) {
            continue;
        }
        for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
            const struct orr_placement *placement = &ledger->placements[p];
            const struct orr_request *request = orr_ledger__request(ledger, j, placement->group);
            int64_t held =
                placement->tasks *
                orr_request_task_mgpu(request, orr_cluster_type(cluster, placement->node));
            used[placement->node] += held;
            mgpu += state->phase == ORR_JOB_RUNNING ? held : 0;
        }
    }
    for (uint32_t n = 0; n < cluster->node_count && status == ORR_OK; n++) {
        int64_t capacity = (int64_t)orr_cluster_type(cluster, n)->gpus * ORR_MGPU;
        int64_t whole = ledger->idle[n].gpus * (int64_t)ORR_MGPU;
        bool shared = ledger->device_mgpu != NULL;
        if (used[n] > capacity || (!shared && used[n] + whole != capacity) ||
            (shared && used[n] + whole > capacity)) {
            status = orr_fail(err, ORR_BUG, "node %s: %lld mGPU held and %lld idle of %lld",
                              orr_idmap_name(&cluster->node_names, n), (long long)used[n],
                              (long long)whole, (long long)capacity);
        }
    }
    if (status == ORR_OK && mgpu != ledger->allocated_mgpu) {
        status = orr_fail(err, ORR_BUG, "%lld mGPU allocated, but running jobs hold %lld",
                          (long long)ledger->allocated_mgpu, (long long)mgpu);
    }
    orr_free(used);
    return status;
}
