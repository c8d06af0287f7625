/* SPDX-License-Identifier: GPL-3.0-or-later */
/* check_nodes.c - GPUs on nodes that no job of the workload may use: of taints that nobody
 * tolerates, of labels, models and types of nodes that nobody asks for. A load held against the
 * whole cluster looks small then, and the jobs wait all the same. */
#include <string.h>

#include <orrery/base/mem.h>

#include "cli.h"

/* What narrows the choice of nodes for a pod that asks devices. */
struct reach {
    uint32_t shard, model, selector, toleration, allowed;
};

static bool may_use(const struct orr_cluster *cluster, const struct reach *reach, uint32_t node)
{
    const struct orr_node_type *type = orr_cluster_type(cluster, node);
    return type->shard == reach->shard &&
           (reach->model == ORR_NONE || reach->model == type->gpu_model) &&
           orr_cluster_admits(cluster, reach->selector, node) &&
           orr_cluster_admits(cluster, reach->toleration, node) &&
           orr_cluster_admits(cluster, reach->allowed, node);
}

/* The different ones of all shapes; the caller releases the map, whose names they are. */
static void list_reaches(const struct orr_world *world, struct orr_idmap *reaches)
{
    orr_idmap_init(reaches);
    for (uint32_t s = 0; s < world->shapes.count; s++) {
        const struct orr_shape *shape = &world->shapes.shapes[s];
        for (uint32_t g = 0; g < shape->group_count; g++) {
            const struct orr_request *r = &shape->groups[g].request;
            const struct reach reach = {r->shard, r->gpu_model, r->selector, r->toleration,
                                        r->allowed};
            if (r->devices > 0) {
                (void)orr_idmap_put(reaches, (const char *)&reach, sizeof reach, NULL);
            }
        }
    }
}

struct orr_cli_barred orr_cli_check_nodes(const struct orr_world *world)
{
    const struct orr_cluster *cluster = &world->cluster;
    struct orr_cli_barred barred = {0};
    struct orr_idmap reaches;
    uint32_t *left = orr_alloc(cluster->node_count + (size_t)1, sizeof *left), count = 0;
    /* Kueue's flavors tolerate taints on behalf of the jobs that they admit */
    for (uint32_t n = 0; n < cluster->node_count && cluster->flavor_count == 0; n++) {
        if (orr_node_type_own_gpus(orr_cluster_type(cluster, n)) > 0) {
            left[count++] = n;
        }
    }
    list_reaches(world, &reaches);
    for (uint32_t r = 0; r < reaches.count; r++) { /* the first one mostly leaves nothing */
        struct reach reach;
        uint32_t kept = 0;
        memcpy(&reach, orr_idmap_name(&reaches, r), sizeof reach);
        for (uint32_t i = 0; i < count; i++) {
            left[kept] = left[i];
            kept += !may_use(cluster, &reach, left[i]);
        }
        count = kept;
    }
    for (uint32_t i = 0; i < count && reaches.count > 0; i++) {
        barred.nodes++;
        barred.gpus += orr_node_type_own_gpus(orr_cluster_type(cluster, left[i]));
    }
    orr_idmap_release(&reaches);
    orr_free(left);
    return barred;
}
