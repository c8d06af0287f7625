/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pools.h"

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/sim/yaml.h>

void intake_copy_name(char out[INTAKE_NAME_BYTES], struct orr_cell cell)
{
    const size_t bytes = cell.bytes < INTAKE_NAME_BYTES - 1 ? cell.bytes : INTAKE_NAME_BYTES - 1;
    if (bytes > 0) {
        memcpy(out, cell.at, bytes);
    }
    out[bytes] = '\0';
}

enum { NODES_MOST = 1000000 }; /* of a pool, as scenarios have it */

/* A pool of such nodes that is not full. */
static struct intake_pool *pool_like(struct intake_pools *pools, const struct intake_pool *node)
{
    for (uint32_t p = 0; p < pools->count; p++) {
        struct intake_pool *pool = &pools->list[p];
        if (pool->nodes < NODES_MOST && pool->gpus == node->gpus &&
            pool->cpu_milli == node->cpu_milli && pool->mem_mib == node->mem_mib &&
            strcmp(pool->model, node->model) == 0) {
            return pool;
        }
    }
    pools->list = ORR_ROOM_FOR_ONE(pools->list, pools->count, pools->capacity);
    struct intake_pool *pool = &pools->list[pools->count++];
    *pool = *node;
    pool->nodes = pool->down = 0;
    pool->names = NULL;
    pool->name_count = pool->name_capacity = 0;
    return pool;
}

void intake_pools_add(struct intake_pools *pools, const struct intake_pool *node, const char *name)
{
    uint32_t left = node->nodes, down = node->down;
    struct intake_pool *pool;
    do {
        pool = pool_like(pools, node);
        const uint32_t room = NODES_MOST - pool->nodes, part = left < room ? left : room;
        const uint32_t part_down = down < part ? down : part;
        pool->nodes += part;
        pool->down += part_down;
        left -= part;
        down -= part_down;
    } while (left > 0);
    if (name != NULL) {
        pool->names = ORR_ROOM_FOR_ONE(pool->names, pool->name_count, pool->name_capacity);
        pool->names[pool->name_count++] = name;
    }
}

int64_t intake_pools_gpus(const struct intake_pools *pools)
{
    int64_t gpus = 0;
    for (uint32_t p = 0; p < pools->count; p++) {
        gpus += pools->list[p].gpus * pools->list[p].nodes;
    }
    return gpus;
}

uint64_t intake_pools_nodes(const struct intake_pools *pools)
{
    uint64_t nodes = 0;
    for (uint32_t p = 0; p < pools->count; p++) {
        nodes += pools->list[p].nodes;
    }
    return nodes;
}

/* Only where all nodes of the pool have one: those of a range are not told apart here. */
static void put_names(const struct intake_pool *pool, FILE *out)
{
    for (uint32_t n = 0; n < pool->name_count && pool->name_count == pool->nodes; n++) {
        (void)fputs(n == 0 ? ", names: [" : n % 8 == 0 ? ",\n      " : ", ", out);
        orr_put_quoted(out, pool->names[n]);
        (void)fputs(n + 1 == pool->name_count ? "]" : "", out);
    }
}

static void put_pool(const struct intake_pool *pool, uint32_t number, FILE *out)
{
    char name[INTAKE_NAME_BYTES + 40];
    (void)snprintf(name, sizeof name, "%s-%u",
                   pool->model[0] != '\0' ? pool->model
                   : pool->gpus > 0       ? "gpu"
                                          : "cpu",
                   (unsigned)number);
    (void)fprintf(out, "    ");
    orr_put_quoted(out, name);
    (void)fprintf(out, ": {nodes: %u, gpus: %lld", (unsigned)pool->nodes, (long long)pool->gpus);
    if (pool->model[0] != '\0') {
        (void)fprintf(out, ", gpu_model: ");
        orr_put_quoted(out, pool->model);
    }
    if (pool->cpu_milli > 0 && pool->cpu_milli % 1000 == 0) {
        (void)fprintf(out, ", cpu: %lld", (long long)(pool->cpu_milli / 1000));
    } else if (pool->cpu_milli > 0) {
        (void)fprintf(out, ", cpu: %lldm", (long long)pool->cpu_milli);
    }
    if (pool->mem_mib > 0) {
        (void)fprintf(out, ", memory: %lldMi", (long long)pool->mem_mib);
    }
    put_names(pool, out);
    (void)fprintf(out, "}");
    if (pool->down > 0) {
        (void)fprintf(out, "  # %u of them were down or drained", (unsigned)pool->down);
    }
    (void)putc('\n', out);
}

void intake_pools_put(const struct intake_pools *pools, FILE *out)
{
    (void)fprintf(out, "cluster:\n  pools:\n");
    for (uint32_t p = 0; p < pools->count; p++) {
        put_pool(&pools->list[p], p + 1, out);
    }
}

void intake_pools_release(struct intake_pools *pools)
{
    for (uint32_t p = 0; p < pools->count; p++) {
        orr_free(pools->list[p].names);
    }
    orr_free(pools->list);
    *pools = (struct intake_pools){0};
}
