/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/sim/fragment.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/core/ledger.h>

#define SHARE_PERCENT 95

/* Of a device, as the task states it: MiB of one that asks for memory, else milli-GPU. */
static int64_t stated_portion(const struct orr_request *request)
{
    return request->gpu_ask == ORR_GPU_WHOLE ? ORR_MGPU : request->portion;
}

/* A whole device and a fraction of 1 are the same thing to ask. */
static bool is_same(const struct orr_request *a, const struct orr_request *b)
{
    return (a->gpu_ask == ORR_GPU_MEMORY) == (b->gpu_ask == ORR_GPU_MEMORY) &&
           a->devices == b->devices && stated_portion(a) == stated_portion(b) &&
           a->cpu_milli == b->cpu_milli && a->gpu_model == b->gpu_model && a->shard == b->shard &&
           a->selector == b->selector && a->toleration == b->toleration && a->allowed == b->allowed;
}

void orr_typical_add(struct orr_typical *typical, const struct orr_request *request, uint64_t count)
{
    uint32_t t = 0;
    while (t < typical->count && !is_same(&typical->tasks[t].request, request)) {
        t++;
    }
    if (t == typical->count) {
        if ((t & (t + 1)) == 0) { /* 0, 1, 3, 7, ...: the room doubles */
            typical->tasks = orr_realloc(typical->tasks, 2 * (size_t)t + 1, sizeof *typical->tasks);
        }
        typical->tasks[typical->count++] = (struct orr_typical_task){.request = *request};
        typical->tasks[t].request.mem_bytes = 0;
    }
    typical->tasks[t].count += count;
    typical->all += count;
}

static int descending(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

static int by_frequency(const void *a, const void *b, void *context)
{
    const struct orr_typical_task *x = a, *y = b;
    const int64_t keys[][2] = {{(int64_t)x->count, (int64_t)y->count},
                               {x->request.cpu_milli, y->request.cpu_milli},
                               {stated_portion(&x->request), stated_portion(&y->request)},
                               {x->request.devices, y->request.devices}};
    (void)context;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int order = descending(keys[i][0], keys[i][1]);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

void orr_typical_choose(struct orr_typical *typical)
{
    uint32_t kept = 0;
    typical->chosen = 0;
    orr_sort(typical->tasks, typical->count, sizeof *typical->tasks, by_frequency, NULL);
    while (kept < typical->count && kept < ORR_TYPICAL_MAX &&
           typical->chosen * 100 < typical->all * SHARE_PERCENT) {
        typical->chosen += typical->tasks[kept++].count;
    }
    typical->count = kept;
}

void orr_typical_of(const struct orr_world *world, struct orr_typical *typical)
{
    uint64_t *jobs = orr_zalloc(world->shapes.count + (size_t)1, sizeof *jobs);
    *typical = (struct orr_typical){0};
    for (uint32_t j = 0; j < world->job_count; j++) {
        jobs[world->specs[j].shape]++;
    }
    for (uint32_t s = 0; s < world->shapes.count; s++) {
        const struct orr_shape *shape = &world->shapes.shapes[s];
        for (uint32_t g = 0; g < shape->group_count && jobs[s] > 0; g++) {
            orr_typical_add(typical, &shape->groups[g].request, jobs[s] * shape->groups[g].count);
        }
    }
    orr_free(jobs);
    orr_typical_choose(typical);
}

void orr_typical_release(struct orr_typical *typical)
{
    orr_free(typical->tasks);
    *typical = (struct orr_typical){0};
}

int64_t orr_fragment_sum(const struct orr_typical *typical, const struct orr_left *left,
                         const bool *refused)
{
    const uint32_t gpus = left->type->gpus;
    int64_t free = 0, sum = 0;
    for (uint32_t d = 0; d < gpus; d++) {
        free += left->free_mgpu[d];
    }
    for (uint32_t t = 0; t < typical->count && free > 0; t++) {
        const struct orr_request *request = &typical->tasks[t].request;
        int64_t portion = orr_request_portion_mgpu(request, left->type), scraps = 0;
        uint32_t fit = 0;
        for (uint32_t d = 0; d < gpus; d++) {
            bool fits = left->free_mgpu[d] >= portion;
            fit += fits;
            scraps += fits ? 0 : left->free_mgpu[d];
        }
        bool runs = request->devices > 0 && fit >= request->devices &&
                    request->cpu_milli <= left->cpu_milli && (refused == NULL || !refused[t]);
        sum += (int64_t)typical->tasks[t].count * (runs ? scraps : free);
    }
    return sum;
}

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

/* Sizes of a shape's pods as bits; all of them if some share devices or are too large to tell. */
static uint64_t sizes_of(const struct orr_shape *shape)
{
    uint64_t sizes = 0;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        if (request->gpu_ask == ORR_GPU_WHOLE && request->devices <= 64) {
            sizes |= (uint64_t)1 << (request->devices - 1);
        } else if (request->gpu_ask != ORR_GPU_NONE) {
            sizes = UINT64_MAX;
        }
    }
    return sizes;
}

void orr_fill_mgpu(const struct orr_world *world, int64_t *mgpu)
{
    const struct orr_cluster *cluster = &world->cluster;
    const struct orr_shapes *shapes = &world->shapes;
    uint64_t *sizes = orr_zalloc(world->queues.count, sizeof *sizes);
    uint64_t *of_shape = orr_alloc(shapes->count + (size_t)1, sizeof *of_shape);
    for (uint32_t s = 0; s < shapes->count; s++) {
        of_shape[s] = sizes_of(&shapes->shapes[s]);
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        sizes[world->specs[j].queue] |= of_shape[world->specs[j].shape];
    }
    orr_free(of_shape);
    for (uint32_t q = 0; q < world->queues.count; q++) {
        uint64_t sums = sums_of(sizes[q]);
        mgpu[q] = 0;
        for (uint32_t t = 0; t < cluster->type_count; t++) {
            const struct orr_node_type *type = &cluster->types[t];
            uint32_t gpus = orr_node_type_own_gpus(type), most = gpus;
            while (most > 0 && most <= 64 && (sums >> (most - 1) & 1) == 0) {
                most--;
            }
            mgpu[q] += type->shard == world->queues.queues[q].shard
                           ? (int64_t)type->nodes * most * ORR_MGPU
                           : 0;
        }
    }
    orr_free(sizes);
}
