/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology_replace.c - a failed node: its pods go elsewhere, the others stay.
 *
 * What is lost of a slice goes back into the slice's domain, of the innermost layer that is
 * incomplete; else a required domain stays the one the others are in.
 */
#include "kueue_int.h"

static uint32_t above(const struct kueue_topology *topology, uint32_t leaf, uint32_t level)
{
    uint32_t domain = kueue_first_leaf(topology) + leaf;
    for (uint32_t l = topology->level_count - 1; l > level; l--) {
        domain = topology->domains[domain].parent;
    }
    return domain;
}

/* The first domain of a layer that does not hold whole slices; ORR_NONE: all do. */
static uint32_t incomplete(const struct kueue_topology *topology, const struct kueue_lost *lost,
                           const struct orr_kueue_layer *layer)
{
    const uint32_t level = orr_kueue__level(topology, layer->level);
    for (uint32_t a = 0; level != ORR_NONE && layer->size > 0 && a < lost->kept_count; a++) {
        if (lost->kept[a].leaf == ORR_NONE) {
            continue;
        }
        const uint32_t domain = above(topology, lost->kept[a].leaf, level);
        int64_t count = 0;
        for (uint32_t b = 0; b < lost->kept_count; b++) {
            if (lost->kept[b].leaf != ORR_NONE &&
                above(topology, lost->kept[b].leaf, level) == domain) {
                count += lost->kept[b].count;
            }
        }
        if (count % layer->size != 0) {
            return domain;
        }
    }
    return ORR_NONE;
}

static void confine(const struct kueue_topology *topology, const struct kueue_lost *lost,
                    struct kueue_pods *pods)
{
    const struct orr_kueue_topology_request *request = lost->set->topology;
    for (uint32_t l = request != NULL ? request->layer_count : 0; l-- > 0;) {
        const uint32_t domain = incomplete(topology, lost, &request->layers[l]);
        if (domain != ORR_NONE) {
            pods->within = domain;
            pods->dropped = l + 1;
            return;
        }
    }
    if (request == NULL || request->mode != ORR_KUEUE_TOPOLOGY_REQUIRED) {
        return;
    }
    const uint32_t level = orr_kueue__level(topology, request->level);
    if (level != ORR_NONE && lost->kept_count > 0 && lost->kept[0].leaf != ORR_NONE) {
        pods->within = above(topology, lost->kept[0].leaf, level);
    }
}

bool orr_kueue__replace_pods(struct orr_kueue *kueue, struct kueue_topology *topology,
                             const struct kueue_lost *lost, struct kueue_found *found,
                             char failure[200])
{
    struct kueue_pods pods = {
        .workers = lost->set, .count = lost->count, .implied = lost->implied, .within = ORR_NONE};
    confine(topology, lost, &pods);
    return orr_kueue__place_pods(kueue, topology, &pods, found, failure);
}
