/* SPDX-License-Identifier: GPL-3.0-or-later */
/* layout.c - what a gang holds, node by node. */
#include <orrery/sim/link.h>

#include <orrery/base/sort.h>

const char *orr_extent_name(const struct orr_cluster *cluster, uint32_t extent)
{
    switch (extent) {
    case ORR_EXTENT_GPU: return "gpu";
    case ORR_EXTENT_NVLINK: return "nvlink";
    case ORR_EXTENT_NODE: return "node";
    case ORR_EXTENT_CLUSTER: return "cluster";
    default: return cluster->levels[extent - ORR_EXTENT_LEVEL].name;
    }
}

static int by_node(const void *a, const void *b, void *context)
{
    const struct orr_node_part *x = a, *y = b;
    (void)context;
    return x->node < y->node ? -1 : x->node > y->node;
}

struct orr_layout orr_layout_of_parts(struct orr_node_part *parts, uint32_t count)
{
    struct orr_layout layout = {.spans = parts};
    orr_sort(parts, count, sizeof *parts, by_node, NULL);
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_node_part part = parts[i];
        struct orr_node_part *last = layout.span_count > 0 ? &parts[layout.span_count - 1] : NULL;
        if (last != NULL && last->node == part.node) {
            last->workers += part.workers;
            last->gpus += part.gpus;
            last->devices |= part.devices;
        } else {
            parts[layout.span_count++] = part;
        }
    }
    for (uint32_t i = 0; i < layout.span_count; i++) {
        struct orr_node_part *part = &parts[i];
        uint32_t devices = (uint32_t)__builtin_popcountll(part->devices);
        part->gpus = part->devices != 0 && devices < part->gpus ? devices : part->gpus;
        layout.gpus += part->gpus;
        layout.workers += part->workers;
    }
    return layout;
}
