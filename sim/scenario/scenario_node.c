/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_node.c - trees of named values. Order of children is the order they were added in. */
#include "scenario_int.h"

#include <string.h>

#define INDEX_FROM 16 /* children; fewer are searched one by one */

struct orr_scenario__node *orr_scenario__node(struct orr_scenario__load *load,
                                              enum orr_scenario__kind kind,
                                              struct orr_scenario__at at)
{
    struct orr_scenario__node *node = orr_arena_alloc(load->arena, 1, sizeof *node);
    node->kind = kind;
    node->at = at;
    load->nodes++;
    return node;
}

struct orr_scenario__node *orr_scenario__scalar(struct orr_scenario__load *load, const char *text,
                                                const char *note, struct orr_scenario__at at)
{
    struct orr_scenario__node *node = orr_scenario__node(load, ORR_NODE_SCALAR, at);
    node->text = text;
    node->note = note;
    return node;
}

bool orr_scenario__is_null(const struct orr_scenario__node *node)
{
    return node->kind == ORR_NODE_SCALAR && node->text == NULL;
}

void orr_scenario__become(struct orr_scenario__node *node, enum orr_scenario__kind kind)
{
    if (orr_scenario__is_null(node)) {
        node->kind = kind;
    }
}

static uint32_t hash_key(const char *key)
{
    uint32_t hash = 2166136261U;
    for (; *key != '\0'; key++) {
        hash = (hash ^ (unsigned char)*key) * 16777619U;
    }
    return hash;
}

static void index_put(struct orr_scenario__node *map, uint32_t child)
{
    uint32_t mask = map->slot_count - 1;
    uint32_t slot = hash_key(map->children[child]->key) & mask;
    while (map->slots[slot] != 0) {
        slot = (slot + 1) & mask;
    }
    map->slots[slot] = child + 1;
}

static void index_child(struct orr_scenario__load *load, struct orr_scenario__node *map)
{
    if (map->child_count < INDEX_FROM) {
        return;
    }
    if (map->child_count * 2 < map->slot_count) {
        index_put(map, map->child_count - 1);
        return;
    }
    map->slot_count = map->slot_count == 0 ? 4 * INDEX_FROM : map->slot_count * 2;
    map->slots = orr_arena_alloc(load->arena, map->slot_count, sizeof *map->slots);
    for (uint32_t i = 0; i < map->child_count; i++) {
        index_put(map, i);
    }
}

void orr_scenario__add(struct orr_scenario__load *load, struct orr_scenario__node *parent,
                       const char *key, struct orr_scenario__at key_at,
                       struct orr_scenario__node *child)
{
    child->key = key;
    child->key_at = key_at;
    if (parent->child_count == parent->child_capacity) {
        uint32_t capacity = parent->child_capacity == 0 ? 4 : parent->child_capacity * 2;
        struct orr_scenario__node **grown =
            orr_arena_alloc(load->arena, capacity, sizeof *parent->children);
        if (parent->child_count > 0) {
            memcpy(grown, parent->children, parent->child_count * sizeof *grown);
        }
        parent->children = grown;
        parent->child_capacity = capacity;
    }
    parent->children[parent->child_count++] = child;
    if (key != NULL) {
        index_child(load, parent);
    }
}

struct orr_scenario__node *orr_scenario__find(const struct orr_scenario__node *map, const char *key)
{
    if (map->slot_count == 0) {
        for (uint32_t i = 0; i < map->child_count; i++) {
            if (map->children[i]->key != NULL && strcmp(map->children[i]->key, key) == 0) {
                return map->children[i];
            }
        }
        return NULL;
    }
    uint32_t mask = map->slot_count - 1;
    for (uint32_t slot = hash_key(key) & mask; map->slots[slot] != 0; slot = (slot + 1) & mask) {
        struct orr_scenario__node *child = map->children[map->slots[slot] - 1];
        if (strcmp(child->key, key) == 0) {
            return child;
        }
    }
    return NULL;
}

const struct orr_scenario__node *orr_scenario__below(const struct orr_scenario__node *map,
                                                     const char *key)
{
    const struct orr_scenario__node *child =
        map == NULL || map->kind != ORR_NODE_MAP ? NULL : orr_scenario__find(map, key);
    return child == NULL || orr_scenario__is_null(child) ? NULL : child;
}

/* Depth is bounded by the parser, so these recursions are too. */
struct orr_scenario__node *orr_scenario__copy(struct orr_scenario__load *load,
                                              const struct orr_scenario__node *node)
{
    struct orr_scenario__node *copy = orr_scenario__node(load, node->kind, node->at);
    orr_scenario__replace(copy, node);
    copy->children = NULL;
    copy->child_count = 0;
    copy->child_capacity = 0;
    copy->slots = NULL;
    copy->slot_count = 0;
    for (uint32_t i = 0; i < node->child_count && load->nodes < ORR_SCENARIO__NODES; i++) {
        const struct orr_scenario__node *child = node->children[i];
        orr_scenario__add(load, copy, child->key, child->key_at, orr_scenario__copy(load, child));
    }
    return copy;
}

void orr_scenario__replace(struct orr_scenario__node *node, const struct orr_scenario__node *from)
{
    const char *key = node->key;
    struct orr_scenario__at key_at = node->key_at;
    *node = *from;
    node->key = key;
    node->key_at = key_at;
}

void orr_scenario__merge(struct orr_scenario__load *load, struct orr_scenario__node *base,
                         const struct orr_scenario__node *over)
{
    if (base->kind != ORR_NODE_MAP || over->kind != ORR_NODE_MAP || over->whole) {
        orr_scenario__replace(base, over);
        return;
    }
    for (uint32_t i = 0; i < over->child_count; i++) {
        struct orr_scenario__node *child = over->children[i];
        struct orr_scenario__node *below = orr_scenario__find(base, child->key);
        if (below == NULL) {
            orr_scenario__add(load, base, child->key, child->key_at, child);
        } else {
            orr_scenario__merge(load, below, child);
        }
    }
}
