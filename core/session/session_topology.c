/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topology trees: which domain of each level a node is in. */
#include "session_int.h"

#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/idmap.h>
#include <orrery/base/sort.h>
#include <orrery/core/session_build.h>

struct builder {
    struct orr_session *session;
    const char *const *values;
    uint32_t level_count;
};

/* Only nodes that have every level's label belong to the tree. */
static bool belongs(const struct builder *builder, uint32_t node)
{
    for (uint32_t l = 0; l < builder->level_count; l++) {
        if (builder->values[l * builder->session->node_count + node] == NULL) {
            return false;
        }
    }
    return true;
}

/* The path of label values down to a level, joined by dots: KAI's id of a domain. */
static char *path_of(const struct builder *builder, uint32_t node, uint32_t level)
{
    size_t bytes = 1;
    for (uint32_t l = 0; l <= level; l++) {
        bytes += strlen(builder->values[l * builder->session->node_count + node]) + 1;
    }
    char *path = orr_zalloc(bytes, 1);
    char *end = path;
    for (uint32_t l = 0; l <= level; l++) {
        const char *value = builder->values[l * builder->session->node_count + node];
        const size_t length = strlen(value);
        if (l > 0) {
            *end++ = '.';
        }
        memcpy(end, value, length);
        end += length;
    }
    return path;
}

static int by_id(const void *a, const void *b, void *context)
{
    const struct orr_idmap *ids = context;
    const char *left = orr_idmap_name(ids, *(const uint32_t *)a);
    return strcmp(left, orr_idmap_name(ids, *(const uint32_t *)b));
}

static uint32_t *rank_of(struct orr_session *session, const struct orr_idmap *ids)
{
    uint32_t *order = orr_alloc(ids->count + (size_t)1, sizeof *order);
    uint32_t *rank = orr_arena_alloc(&session->arena, ids->count + (size_t)1, sizeof *rank);
    for (uint32_t i = 0; i < ids->count; i++) {
        order[i] = i;
    }
    orr_sort(order, ids->count, sizeof *order, by_id, ids);
    for (uint32_t i = 0; i < ids->count; i++) {
        rank[order[i]] = i;
    }
    orr_free(order);
    return rank;
}

/* What is in each of so many groups, ascending, and where each begins. */
static uint32_t *list_groups(struct orr_arena *arena, const uint32_t *group_of, uint32_t count,
                             uint32_t groups, uint32_t **begin)
{
    uint32_t *listed = orr_arena_alloc(arena, count + (size_t)1, sizeof *listed);
    *begin = orr_arena_alloc(arena, groups + (size_t)2, sizeof **begin);
    uint32_t *next = *begin + 1; /* of a group: how many, where it begins, where it ends */
    for (uint32_t i = 0; i < count; i++) {
        if (group_of[i] != ORR_NONE) {
            next[group_of[i] + 1]++;
        }
    }
    for (uint32_t g = 0; g < groups; g++) {
        next[g + 1] += next[g];
    }
    for (uint32_t i = 0; i < count; i++) {
        if (group_of[i] != ORR_NONE) {
            listed[next[group_of[i]]++] = i;
        }
    }
    return listed;
}

/* In level 0 all are in one group. */
static void list_children(struct orr_session *session, struct orr_topology_level *level,
                          const struct orr_topology_level *above)
{
    const uint32_t count = level->domain_count;
    const uint32_t *group_of =
        above != NULL ? level->parent
                      : orr_arena_alloc(&session->arena, count + (size_t)1, sizeof *group_of);
    level->children = list_groups(&session->arena, group_of, count,
                                  above != NULL ? above->domain_count : 1, &level->children_begin);
}

static void build_level(const struct builder *builder, struct orr_topology *topology,
                        uint32_t index)
{
    struct orr_session *session = builder->session;
    struct orr_topology_level *level = &topology->levels[index];
    struct orr_idmap ids;
    struct orr_idmap values;
    orr_idmap_init(&ids);
    orr_idmap_init(&values);
    level->domain_of_node =
        orr_arena_alloc(&session->arena, session->node_count, sizeof *level->domain_of_node);
    level->value_of_node =
        orr_arena_alloc(&session->arena, session->node_count, sizeof *level->value_of_node);
    level->parent = orr_arena_alloc(&session->arena, session->node_count, sizeof *level->parent);
    for (uint32_t n = 0; n < session->node_count; n++) {
        const char *value = builder->values[index * session->node_count + n];
        level->domain_of_node[n] = ORR_NONE;
        level->value_of_node[n] = ORR_NONE;
        if (value != NULL) {
            level->value_of_node[n] = orr_idmap_put(&values, value, strlen(value), NULL);
        }
        if (belongs(builder, n)) {
            char *path = path_of(builder, n, index);
            const uint32_t domain = orr_idmap_put(&ids, path, strlen(path), NULL);
            level->domain_of_node[n] = domain;
            level->parent[domain] =
                index == 0 ? ORR_NONE : topology->levels[index - 1].domain_of_node[n];
            orr_free(path);
        }
    }
    level->domain_count = ids.count;
    level->value_count = values.count;
    level->nodes = list_groups(&session->arena, level->domain_of_node, session->node_count,
                               level->domain_count, &level->begin);
    level->nodes_here = orr_arena_alloc(&session->arena, level->domain_count + (size_t)1,
                                        sizeof *level->nodes_here);
    list_children(session, level, index == 0 ? NULL : &topology->levels[index - 1]);
    level->rank = rank_of(session, &ids);
    orr_idmap_release(&ids);
    orr_idmap_release(&values);
}

void orr_session__count_domains(struct orr_topology *topology, uint32_t node, int more)
{
    for (uint32_t l = 0; l < topology->level_count; l++) {
        struct orr_topology_level *level = &topology->levels[l];
        const uint32_t domain = level->domain_of_node[node];
        if (domain != ORR_NONE) {
            uint32_t *here = &level->nodes_here[domain];
            level->domains_here -= *here > 0;
            *here = (uint32_t)((int64_t)*here + more);
            level->domains_here += *here > 0;
        }
    }
}

uint32_t orr_session_add_topology(struct orr_session *session, const char *name,
                                  const char *const *level_labels, const char *const *aliases,
                                  uint32_t level_count, const char *const *values)
{
    session->topologies =
        ORR_ROOM_FOR_ONE(session->topologies, session->topology_count, session->topology_capacity);
    struct orr_topology *topology = &session->topologies[session->topology_count];
    *topology =
        (struct orr_topology){.name = orr_arena_strndup(&session->arena, name, strlen(name)),
                              .levels = orr_arena_alloc(&session->arena, level_count + (size_t)1,
                                                        sizeof *topology->levels),
                              .level_count = level_count};
    struct builder builder = {.session = session, .values = values, .level_count = level_count};
    for (uint32_t l = 0; l < level_count; l++) {
        struct orr_topology_level *level = &topology->levels[l];
        level->label = orr_arena_strndup(&session->arena, level_labels[l], strlen(level_labels[l]));
        level->alias = aliases[l] == NULL
                           ? NULL
                           : orr_arena_strndup(&session->arena, aliases[l], strlen(aliases[l]));
        build_level(&builder, topology, l);
    }
    for (uint32_t n = 0; n < session->node_count; n++) {
        orr_session__count_domains(topology, n, !session->nodes[n].away);
    }
    return session->topology_count++;
}

const struct orr_topology *orr_session_find_topology(const struct orr_session *session,
                                                     const char *name)
{
    for (uint32_t t = 0; t < session->topology_count; t++) {
        if (strcmp(session->topologies[t].name, name) == 0) {
            return &session->topologies[t];
        }
    }
    return NULL;
}

const struct orr_topology_level *orr_topology_find_level(const struct orr_topology *topology,
                                                         const char *name)
{
    for (uint32_t l = 0; l < topology->level_count; l++) {
        const struct orr_topology_level *level = &topology->levels[l];
        if (strcmp(level->label, name) == 0 ||
            (level->alias != NULL && strcmp(level->alias, name) == 0)) {
            return level;
        }
    }
    return NULL;
}

/* --- constraints --- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    const uint64_t word = text == NULL ? 1 : orr_hash_bytes(text, strlen(text));
    return (hash ^ word) * 0x9e3779b97f4a7c15u;
}

uint64_t orr_session_hash_constraints(const struct orr_session *session, uint32_t set)
{
    uint64_t hash = 0x6f72u;
    for (; set != ORR_NONE; set = session->sets[set].parent) {
        const struct orr_constraint *constraint = &session->sets[set].constraint;
        hash = hash_text(hash, constraint->topology);
        hash = hash_text(hash, constraint->required);
        hash = hash_text(hash, constraint->preferred);
    }
    return hash;
}
