/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/sim/fill.h>

#include <orrery/base/mem.h>

/* Sums of sizes up to 64 that can be had: bit n of the result stands for n + 1. */
static uint64_t sums_of(uint64_t sizes)
{
    uint64_t sums = 0;
    for (uint32_t n = 0; n < 64; n++) {
        bool had = (sizes >> n & 1) != 0;
        for (uint32_t m = 0; m < n && !had; m++) {
            had = (sums >> m & 1) != 0 && (sizes >> (n - m - 1) & 1) != 0;
        }
        sums |= (uint64_t)had << n;
    }
    return sums;
}

/* Sizes of a shape's pods as bits; all of them if some share devices or are too large to tell. A
 * fraction of 1 shares nothing: it is so many whole devices. */
static uint64_t sizes_of(const struct orr_shape *shape)
{
    uint64_t sizes = 0;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        const bool whole = request->gpu_ask == ORR_GPU_WHOLE ||
                           (request->gpu_ask == ORR_GPU_FRACTION && request->portion >= ORR_MGPU);
        if (whole && request->devices <= 64) {
            sizes |= (uint64_t)1 << (request->devices - 1);
        } else if (request->gpu_ask != ORR_GPU_NONE) {
            sizes = UINT64_MAX;
        }
    }
    return sizes;
}

/* What pods of jobs ask: of a shape, or of a queue. */
struct ask {
    uint64_t sizes; /* see sizes_of */
    bool mig;       /* some ask instances */
};

static bool asks_instances(const struct orr_shape *shape)
{
    bool asks = false;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        asks = asks || shape->groups[g].request.instances > 0;
    }
    return asks;
}

int64_t *orr_fill_node_mgpu(const struct orr_world *world)
{
    const struct orr_cluster *cluster = &world->cluster;
    const struct orr_shapes *shapes = &world->shapes;
    const uint32_t queues = world->queues.count;
    struct ask *of_queue = orr_zalloc(queues, sizeof *of_queue);
    struct ask *of_shape = orr_alloc(shapes->count + (size_t)1, sizeof *of_shape);
    int64_t *mgpu = orr_zalloc((size_t)cluster->type_count * queues + 1, sizeof *mgpu);
    for (uint32_t s = 0; s < shapes->count; s++) {
        of_shape[s] = (struct ask){.sizes = sizes_of(&shapes->shapes[s]),
                                   .mig = asks_instances(&shapes->shapes[s])};
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct ask *more = &of_shape[world->specs[j].shape];
        struct ask *sum = &of_queue[world->specs[j].queue];
        sum->sizes |= more->sizes;
        sum->mig |= more->mig;
    }
    orr_free(of_shape);
    for (uint32_t q = 0; q < queues; q++) {
        uint64_t sums = sums_of(of_queue[q].sizes);
        for (uint32_t t = 0; t < cluster->type_count; t++) {
            const struct orr_node_type *type = &cluster->types[t];
            uint32_t gpus = orr_node_type_own_gpus(type), most = gpus;
            while (most > 0 && most <= 64 && (sums >> (most - 1) & 1) == 0) {
                most--;
            }
            most += of_queue[q].mig ? type->mig_gpus : 0;
            mgpu[(size_t)t * queues + q] =
                type->shard == world->queues.queues[q].shard ? (int64_t)most * ORR_MGPU : 0;
        }
    }
    orr_free(of_queue);
    return mgpu;
}

void orr_fill_mgpu(const struct orr_world *world, const int64_t *of_node, int64_t *mgpu)
{
    const struct orr_cluster *cluster = &world->cluster;
    const uint32_t queues = world->queues.count;
    for (uint32_t q = 0; q < queues; q++) {
        mgpu[q] = 0;
        for (uint32_t t = 0; t < cluster->type_count; t++) {
            mgpu[q] += (int64_t)cluster->types[t].nodes * of_node[(size_t)t * queues + q];
        }
    }
}
