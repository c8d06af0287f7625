/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rate_world.h - small clusters with wires, for the tests of rates. */
#ifndef ORR_TEST_RATE_WORLD_H
#define ORR_TEST_RATE_WORLD_H

#include <stdio.h>
#include <string.h>

#include <orrery/sim/profile.h>

#define GB 1000000000

struct wires {
    struct orr_cluster cluster;
    struct orr_fabric fabric;
};

static inline uint32_t add_nodes(struct orr_cluster *cluster, const char *pool, uint32_t count,
                                 const char *model, struct orr_node_type type)
{
    if (model != NULL) {
        type.gpu_model = orr_idmap_put(&cluster->models, model, strlen(model), NULL);
    }
    uint32_t made = orr_cluster_add_type(cluster, &type);
    for (uint32_t n = 0; n < count; n++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s-%u", pool, n);
        (void)orr_cluster_add_node(cluster, name, pool, made);
    }
    return made;
}

/* Boxes of 8 with one NVLink domain and 8 NICs: NVLink and NICs in GB/s. */
static inline struct orr_node_type box(int64_t nvlink, int64_t nic, bool reduces)
{
    return (struct orr_node_type){.gpus = 8,
                                  .gpu_model = ORR_NONE,
                                  .nvlink_domain = 8,
                                  .nics = 8,
                                  .nvlink_bytes_s = nvlink * GB,
                                  .nic_bytes_s = nic * GB,
                                  .pcie_bytes_s = 32 * (int64_t)GB,
                                  .nvlink_reduces = reduces};
}

/* A level of domains of `size` nodes each, in node order. */
static inline void add_level(struct orr_cluster *cluster, const char *name, uint32_t size,
                             int64_t uplink, double oversubscription)
{
    uint32_t *domain = orr_alloc(cluster->node_count, sizeof *domain);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        domain[n] = n / size;
    }
    uint32_t at =
        orr_cluster_add_level(cluster, name, domain, (cluster->node_count + size - 1) / size);
    cluster->levels[at].uplink_bytes_s = uplink * GB;
    cluster->levels[at].oversubscription = oversubscription;
    orr_free(domain);
}

/* `devices`: one by one, only where it matters which they are. */
static inline struct orr_node_part span_of(uint32_t node, uint32_t gpus, uint64_t devices)
{
    return (struct orr_node_part){.node = node, .gpus = gpus, .workers = 1, .devices = devices};
}

static inline struct orr_layout layout_of(const struct orr_node_part *spans, uint32_t count)
{
    struct orr_layout layout = {.spans = spans, .span_count = count};
    for (uint32_t i = 0; i < count; i++) {
        layout.gpus += spans[i].gpus;
        layout.workers += spans[i].workers;
    }
    return layout;
}

static inline uint32_t hops_over(const struct orr_fabric *fabric, const struct orr_node_part *spans,
                                 uint32_t count, struct orr_hop hops[ORR_HOPS_MAX])
{
    struct orr_layout layout = layout_of(spans, count);
    return orr_fabric_hops(fabric, &layout, hops);
}

static inline void close_wires(struct wires *wires)
{
    orr_fabric_release(&wires->fabric);
    orr_cluster_release(&wires->cluster);
}

#endif
