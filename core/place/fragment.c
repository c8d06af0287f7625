/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fragment.c - typical tasks, and what of a node is of no use to them. */
#include <orrery/core/fragment.h>

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#define SHARE_PERCENT 95

/* Of a device, as the task states it: MiB of one that asks for memory, else milli-GPU. */
static int64_t stated_portion(const struct orr_request *request)
{
    return request->gpu_ask == ORR_GPU_WHOLE ? ORR_MGPU : request->portion;
}

/* What makes two tasks of one kind, without padding: a name of the table. A whole device and a
 * fraction of 1 are the same thing to ask. */
struct kind_key {
    int64_t values[9];
};

static struct kind_key kind_of(const struct orr_request *request)
{
    return (struct kind_key){{request->gpu_ask == ORR_GPU_MEMORY, request->devices,
                              stated_portion(request), request->cpu_milli, request->gpu_model,
                              request->shard, request->selector, request->toleration,
                              request->allowed}};
}

void orr_typical_add(struct orr_typical *typical, const struct orr_request *request, uint64_t count)
{
    const struct kind_key key = kind_of(request);
    bool added;
    if (request->instances > 0) {
        return; /* what is free of devices is not for it, as little as instances are for others */
    }
    const uint32_t t = orr_idmap_put(&typical->known, (const char *)&key, sizeof key, &added);
    if (added) {
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

/* The GPU model that a task asks for, or what it asks a label to be; "" for none. */
static const char *wanted_nodes(const struct orr_cluster *cluster,
                                const struct orr_request *request)
{
    if (request->gpu_model != ORR_NONE) {
        return orr_idmap_name(&cluster->models, request->gpu_model);
    }
    if (request->selector == 0) {
        return "";
    }
    const char *text = cluster->filters[request->selector - 1].text, *value = strchr(text, '=');
    return value == NULL ? text : value + 1;
}

static int by_frequency(const void *a, const void *b, void *context)
{
    const struct orr_typical_task *x = a, *y = b;
    const struct orr_cluster *cluster = context;
    const int64_t keys[][2] = {{(int64_t)x->count, (int64_t)y->count},
                               {x->request.cpu_milli, y->request.cpu_milli},
                               {stated_portion(&x->request), stated_portion(&y->request)},
                               {x->request.devices, y->request.devices}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int order = descending(keys[i][0], keys[i][1]);
        if (order != 0) {
            return order;
        }
    }
    return cluster == NULL
               ? 0
               : strcmp(wanted_nodes(cluster, &y->request), wanted_nodes(cluster, &x->request));
}

void orr_typical_choose(struct orr_typical *typical, const struct orr_cluster *cluster)
{
    uint32_t kept = 0;
    typical->chosen = 0;
    orr_sort(typical->tasks, typical->count, sizeof *typical->tasks, by_frequency, cluster);
    while (kept < typical->count && kept < ORR_TYPICAL_MAX &&
           typical->chosen * 100 < typical->all * SHARE_PERCENT) {
        typical->chosen += typical->tasks[kept++].count;
    }
    typical->count = kept;
    orr_idmap_release(&typical->known);
}

void orr_typical_of_jobs(const struct orr_ledger_world *world, uint32_t jobs, bool by_nodes,
                         struct orr_typical *typical)
{
    const struct orr_shapes *shapes = world->shapes;
    uint64_t *of_shape = orr_zalloc(shapes->count + (size_t)1, sizeof *of_shape);
    *typical = (struct orr_typical){0};
    for (uint32_t j = 0; j < jobs && j < world->job_count; j++) {
        of_shape[world->specs[j].shape]++;
    }
    for (uint32_t s = 0; s < shapes->count; s++) {
        const struct orr_shape *shape = &shapes->shapes[s];
        for (uint32_t g = 0; g < shape->group_count && of_shape[s] > 0; g++) {
            orr_typical_add(typical, &shape->groups[g].request,
                            of_shape[s] * shape->groups[g].count);
        }
    }
    orr_free(of_shape);
    orr_typical_choose(typical, by_nodes ? world->cluster : NULL);
}

void orr_typical_release(struct orr_typical *typical)
{
    orr_free(typical->tasks);
    orr_idmap_release(&typical->known);
    *typical = (struct orr_typical){0};
}

void orr_typical_refuse(const struct orr_typical *typical, const struct orr_cluster *cluster,
                        const struct orr_node_type *type, uint32_t node, bool *refused)
{
    for (uint32_t t = 0; t < typical->count; t++) {
        const struct orr_request *r = &typical->tasks[t].request;
        refused[t] = r->shard != type->shard ||
                     (r->gpu_model != ORR_NONE && r->gpu_model != type->gpu_model) ||
                     (node != ORR_NONE && !(orr_cluster_admits(cluster, r->selector, node) &&
                                            orr_cluster_admits(cluster, r->toleration, node) &&
                                            orr_cluster_admits(cluster, r->allowed, node)));
    }
}

/* What a node lacks for a task; the order is that in which their sums are added up. */
enum lack {
    LACKS_BOTH,
    LACKS_GPU,
    LACKS_CPU,
    LACKS_GPU_ASK, /* the task asks for none: what is free of GPUs is of no use to it */
    LACKS_GPU_ASK_AND_CPU,
    LACKS_ACCESS,
    LACKS
};

static int64_t free_of(const struct orr_left *left)
{
    int64_t free = 0;
    for (uint32_t d = 0; d < left->type->gpus; d++) {
        free += left->free_mgpu[d];
    }
    return free;
}

/* What of the node's free milli-GPU the task cannot use. */
static int64_t unusable_to(const struct orr_request *request, const struct orr_left *left,
                           int64_t free, bool refused, enum lack *lack)
{
    const int64_t portion = orr_request_portion_mgpu(request, left->type);
    const bool has_cpu = request->cpu_milli <= left->cpu_milli;
    int64_t scraps = 0;
    uint32_t fit = 0;
    for (uint32_t d = 0; d < left->type->gpus; d++) {
        const bool fits = left->free_mgpu[d] >= portion;
        fit += fits;
        scraps += fits ? 0 : left->free_mgpu[d];
    }
    const bool has_gpus = fit >= request->devices;
    *lack = request->devices == 0 ? (has_cpu ? LACKS_GPU_ASK : LACKS_GPU_ASK_AND_CPU)
            : refused             ? LACKS_ACCESS
            : has_gpus            ? (has_cpu ? LACKS_GPU : LACKS_CPU)
            : has_cpu             ? LACKS_GPU
                                  : LACKS_BOTH;
    return request->devices > 0 && has_gpus && has_cpu && !refused ? scraps : free;
}

int64_t orr_fragment_sum(const struct orr_typical *typical, const struct orr_left *left,
                         const bool *refused)
{
    const int64_t free = free_of(left);
    int64_t sum = 0;
    for (uint32_t t = 0; t < typical->count && free > 0; t++) {
        enum lack lack;
        sum +=
            (int64_t)typical->tasks[t].count * unusable_to(&typical->tasks[t].request, left, free,
                                                           refused != NULL && refused[t], &lack);
    }
    return sum;
}

double orr_fragment_mean(const struct orr_typical *typical, const struct orr_left *left,
                         const bool *refused)
{
    const int64_t free = free_of(left);
    const double all = (double)typical->all, part = (double)typical->chosen / all;
    double sums[LACKS] = {0}, sum = 0;
    for (uint32_t t = 0; t < typical->count && free > 0; t++) {
        enum lack lack;
        const int64_t unusable = unusable_to(&typical->tasks[t].request, left, free,
                                             refused != NULL && refused[t], &lack);
        sums[lack] += (double)typical->tasks[t].count / all / part * (double)unusable;
    }
    for (uint32_t i = 0; i < LACKS; i++) {
        sum += sums[i];
    }
    return sum;
}
