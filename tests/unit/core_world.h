/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core_world.h - small clusters, queues and jobs for tests of core/ and policies/. */
#ifndef ORR_TEST_CORE_WORLD_H
#define ORR_TEST_CORE_WORLD_H

#include <stdio.h>

#include <orrery/core/ledger.h>

struct core_world {
    struct orr_cluster cluster;
    struct orr_queues queues;
    struct orr_shapes shapes;
    struct orr_job_spec *specs;
    uint32_t job_count, job_capacity;
};

static inline void core_world_init(struct core_world *world)
{
    *world = (struct core_world){0};
    orr_cluster_init(&world->cluster);
    orr_queues_init(&world->queues);
    orr_shapes_init(&world->shapes);
}

static inline void core_world_release(struct core_world *world)
{
    orr_cluster_release(&world->cluster);
    orr_queues_release(&world->queues);
    orr_shapes_release(&world->shapes);
    orr_free(world->specs);
}

/* A type with GPUs in NVLink domains of `domain` and no other bound. */
static inline struct orr_node_type core_type(uint32_t gpus, uint32_t domain)
{
    return (struct orr_node_type){
        .gpus = gpus,
        .gpu_model = ORR_NONE,
        .nvlink_domain = domain,
        .allocatable = {{ORR_AMOUNT_UNLIMITED, ORR_AMOUNT_UNLIMITED, (int64_t)gpus * ORR_MGPU,
                         ORR_AMOUNT_UNLIMITED}}};
}

static inline void core_world_nodes(struct core_world *world, uint32_t count,
                                    struct orr_node_type type)
{
    uint32_t index = orr_cluster_add_type(&world->cluster, &type);
    for (uint32_t i = 0; i < count; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "n%u", (unsigned)world->cluster.node_count);
        (void)orr_cluster_add_node(&world->cluster, name, "pool", index);
    }
}

static inline struct orr_request core_whole(uint32_t devices)
{
    return (struct orr_request){.gpu_ask = devices > 0 ? ORR_GPU_WHOLE : ORR_GPU_NONE,
                                .devices = devices,
                                .gpu_model = ORR_NONE};
}

static inline struct orr_request core_fraction(uint32_t devices, int64_t portion)
{
    return (struct orr_request){
        .gpu_ask = ORR_GPU_FRACTION, .devices = devices, .portion = portion, .gpu_model = ORR_NONE};
}

static inline struct orr_request core_memory(uint32_t devices, int64_t mib)
{
    return (struct orr_request){
        .gpu_ask = ORR_GPU_MEMORY, .devices = devices, .portion = mib, .gpu_model = ORR_NONE};
}

/* A job of one group of equal tasks in a queue; returns its index. */
static inline uint32_t core_world_job(struct core_world *world, uint32_t queue, uint32_t tasks,
                                      struct orr_request request)
{
    struct orr_task_group group = {.request = request, .count = tasks};
    world->specs = ORR_ROOM_FOR_ONE(world->specs, world->job_count, world->job_capacity);
    world->specs[world->job_count] =
        (struct orr_job_spec){.shape = orr_shapes_put(&world->shapes, &group, 1, 0),
                              .queue = queue,
                              .source = world->job_count,
                              .preemptible = 1};
    return world->job_count++;
}

static inline struct orr_ledger *core_world_open(const struct core_world *world)
{
    struct orr_ledger_world borrowed = {.cluster = &world->cluster,
                                        .queues = &world->queues,
                                        .shapes = &world->shapes,
                                        .specs = world->specs,
                                        .job_count = world->job_count};
    return orr_ledger_open(&borrowed);
}

#endif
