/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_nodesets.c - lines NodeSet= of slurm.conf: names for nodes, or for all nodes with a
 * feature, that partitions use. A set is what the lines NodeName= before it say. */
#include <string.h>

#include <orrery/policies/slurm_hosts.h>

#include "slurm_conf_int.h"

/* An empty node set of the configuration's. */
static uint64_t *new_nodes(struct slurm_conf *conf, const struct orr_view *view)
{
    const size_t words = (view == NULL ? 1 : (view->cluster->node_count + (size_t)63) / 64) + 1;
    uint64_t *nodes = orr_arena_alloc(&conf->arena, words * 8, 8);
    memset(nodes, 0, words * 8);
    return nodes;
}

const uint64_t *orr_slurm__node_set(const struct slurm_conf *conf, const char *name)
{
    for (uint32_t s = 0; s < conf->node_set_count; s++) {
        if (strcmp(conf->node_sets[s].name, name) == 0) {
            return conf->node_sets[s].nodes;
        }
    }
    return NULL;
}

struct gathering {
    const struct orr_view *view;
    uint64_t *nodes;
};

/* Names that the cluster does not have are passed over: slurm.conf may know more nodes. */
static bool gather(void *context, const char *name)
{
    const struct gathering *gathering = context;
    const uint32_t node =
        gathering->view == NULL
            ? ORR_NONE
            : orr_idmap_find(&gathering->view->cluster->node_names, name, strlen(name));
    if (node != ORR_NONE) {
        gathering->nodes[node >> 6] |= (uint64_t)1 << (node & 63);
    }
    return true;
}

void orr_slurm__note_features(const struct slurm_reader *reader, struct slurm_span hosts,
                              struct slurm_span features)
{
    struct slurm_conf *conf = reader->conf;
    struct gathering gathering = {reader->view, new_nodes(conf, reader->view)};
    (void)orr_slurm_hosts(hosts.at, hosts.bytes, gather, &gathering);
    conf->featured =
        ORR_ROOM_FOR_ONE(conf->featured, conf->featured_count, conf->featured_capacity);
    conf->featured[conf->featured_count++] = (struct slurm_named_nodes){
        orr_arena_strndup(&conf->arena, features.at, features.bytes), gathering.nodes};
}

static void add_featured(const struct slurm_reader *reader, struct slurm_span feature,
                         uint64_t *nodes)
{
    struct slurm_conf *conf = reader->conf;
    const char *name = orr_arena_strndup(&conf->arena, feature.at, feature.bytes);
    const uint32_t count = reader->view == NULL ? 0 : reader->view->cluster->node_count;
    for (uint32_t f = 0; f < conf->featured_count; f++) {
        for (uint32_t w = 0; orr_slurm__is_named(conf->featured[f].name, name) && w * 64 < count;
             w++) {
            nodes[w] |= conf->featured[f].nodes[w];
        }
    }
}

enum orr_status orr_slurm__read_node_set(const struct slurm_reader *reader, struct slurm_span name,
                                         struct slurm_span rest)
{
    struct slurm_conf *conf = reader->conf;
    struct gathering gathering = {reader->view, new_nodes(conf, reader->view)};
    struct slurm_span key, value;
    while (orr_slurm__next_pair(&rest, &key, &value)) {
        if (orr_slurm__is(key, "Nodes") &&
            !orr_slurm_hosts(value.at, value.bytes, gather, &gathering)) {
            return orr_slurm__complain(reader, value, "is no list of nodes");
        }
        if (orr_slurm__is(key, "Feature")) {
            add_featured(reader, value, gathering.nodes);
        }
    }
    conf->node_sets =
        ORR_ROOM_FOR_ONE(conf->node_sets, conf->node_set_count, conf->node_set_capacity);
    conf->node_sets[conf->node_set_count++] = (struct slurm_named_nodes){
        orr_arena_strndup(&conf->arena, name.at, name.bytes), gathering.nodes};
    return ORR_OK;
}
