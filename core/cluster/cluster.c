/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/cluster.h>

#include <string.h>

void orr_cluster_init(struct orr_cluster *cluster)
{
    *cluster = (struct orr_cluster){0};
    orr_idmap_init(&cluster->node_names);
    orr_idmap_init(&cluster->pools);
    orr_idmap_init(&cluster->models);
    orr_idmap_init(&cluster->shards);
    orr_idmap_init(&cluster->mig_profiles);
    orr_arena_init(&cluster->arena);
}

void orr_cluster_release(struct orr_cluster *cluster)
{
    orr_free(cluster->types);
    orr_free(cluster->nodes);
    orr_free(cluster->levels);
    orr_free(cluster->filters);
    orr_idmap_release(&cluster->node_names);
    orr_idmap_release(&cluster->pools);
    orr_idmap_release(&cluster->models);
    orr_idmap_release(&cluster->shards);
    orr_idmap_release(&cluster->mig_profiles);
    orr_arena_release(&cluster->arena);
    *cluster = (struct orr_cluster){0};
}

uint32_t orr_cluster_mig_profile(struct orr_cluster *cluster, const char *name)
{
    const uint32_t gpus = orr_mig_gpus(name);
    const uint32_t known = orr_idmap_find(&cluster->mig_profiles, name, strlen(name));
    if (known != ORR_NONE || gpus == 0 || cluster->mig_profiles.count == ORR_MIG_PROFILES_MAX) {
        return known;
    }
    cluster->mig_mgpu[cluster->mig_profiles.count] = (int64_t)gpus * ORR_MGPU;
    return orr_idmap_put(&cluster->mig_profiles, name, strlen(name), NULL);
}

uint32_t orr_cluster_add_type(struct orr_cluster *cluster, const struct orr_node_type *type)
{
    cluster->types = ORR_ROOM_FOR_ONE(cluster->types, cluster->type_count, cluster->type_capacity);
    cluster->types[cluster->type_count] = *type;
    struct orr_node_type *own = &cluster->types[cluster->type_count];
    int64_t mgpu = 0;
    for (uint32_t p = 0; p < cluster->mig_profiles.count; p++) {
        mgpu += own->mig[p] * cluster->mig_mgpu[p];
    }
    own->mig_gpus = (uint32_t)(mgpu / ORR_MGPU);
    own->nodes = 0;
    return cluster->type_count++;
}

uint32_t orr_cluster_add_node(struct orr_cluster *cluster, const char *name, const char *pool,
                              uint32_t type)
{
    ORR_ASSERT(type < cluster->type_count && cluster->level_count == 0);
    bool added;
    uint32_t index = orr_idmap_put(&cluster->node_names, name, strlen(name), &added);
    ORR_ASSERT(added && index == cluster->node_count);
    cluster->nodes = ORR_ROOM_FOR_ONE(cluster->nodes, cluster->node_count, cluster->node_capacity);
    cluster->nodes[index] = (struct orr_node){
        .type = type, .pool = orr_idmap_put(&cluster->pools, pool, strlen(pool), NULL)};
    cluster->node_count++;
    cluster->types[type].nodes++;
    uint32_t gpus = cluster->types[type].gpus;
    cluster->total_gpus += orr_node_type_counted_gpus(&cluster->types[type]);
    cluster->max_gpus = gpus > cluster->max_gpus ? gpus : cluster->max_gpus;
    return index;
}

/* Lists the nodes of each domain, lowest index first. */
static void list_nodes(struct orr_cluster *cluster, struct orr_level *level)
{
    level->first =
        orr_arena_alloc(&cluster->arena, level->domain_count + (size_t)1, sizeof *level->first);
    level->nodes = orr_arena_alloc(&cluster->arena, cluster->node_count, sizeof *level->nodes);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        level->first[level->domain_of_node[n] + 1]++;
    }
    for (uint32_t d = 0; d < level->domain_count; d++) {
        level->first[d + 1] += level->first[d];
    }
    uint32_t *next = orr_alloc(level->domain_count + (size_t)1, sizeof *next);
    memcpy(next, level->first, (level->domain_count + (size_t)1) * sizeof *next);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        level->nodes[next[level->domain_of_node[n]]++] = n;
    }
    orr_free(next);
}

uint32_t orr_cluster_add_level(struct orr_cluster *cluster, const char *name,
                               const uint32_t *domain_of_node, uint32_t domain_count)
{
    cluster->levels =
        ORR_ROOM_FOR_ONE(cluster->levels, cluster->level_count, cluster->level_capacity);
    struct orr_level *level = &cluster->levels[cluster->level_count];
    *level = (struct orr_level){.domain_count = domain_count, .oversubscription = 1.0};
    level->name = orr_arena_strndup(&cluster->arena, name, strlen(name));
    level->domain_of_node =
        orr_arena_alloc(&cluster->arena, cluster->node_count, sizeof *level->domain_of_node);
    if (cluster->node_count > 0) {
        memcpy(level->domain_of_node, domain_of_node, cluster->node_count * sizeof *domain_of_node);
    }
    list_nodes(cluster, level);
    return cluster->level_count++;
}

uint32_t orr_cluster_add_filter(struct orr_cluster *cluster, const char *text, const bool *admitted)
{
    cluster->filters =
        ORR_ROOM_FOR_ONE(cluster->filters, cluster->filter_count, cluster->filter_capacity);
    struct orr_node_filter *filter = &cluster->filters[cluster->filter_count];
    *filter = (struct orr_node_filter){
        .text = orr_arena_strndup(&cluster->arena, text, strlen(text)),
        .words =
            orr_arena_alloc(&cluster->arena, cluster->node_count / 64 + 1, sizeof *filter->words)};
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        filter->words[n >> 6] |= (uint64_t)admitted[n] << (n & 63);
        filter->count += admitted[n];
    }
    return ++cluster->filter_count;
}
