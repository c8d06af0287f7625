/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_show.c - every value with its path: for people, and to compare two scenarios. */
#include "scenario_int.h"

#include <string.h>

#include <orrery/base/idmap.h>

struct show {
    struct orr_arena *arena; /* of one value at a time */
    orr_scenario_show_fn *emit;
    void *context;
};

static const char *path_of(const struct show *show, const char *above, const char *key)
{
    return orr_scenario__format(show->arena, "%s%s%s", above, above[0] == '\0' ? "" : ".", key);
}

static void show_value(const struct show *show, const char *path, const char *value,
                       const struct orr_scenario__node *node)
{
    show->emit(path, value == NULL ? "null" : value, orr_scenario__origin(show->arena, node),
               show->context);
}

static void show_open(const struct show *show, const char *path,
                      const struct orr_scenario__node *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        show_value(show, path_of(show, path, node->children[i]->key), node->children[i]->text,
                   node->children[i]);
    }
}

/* Short words are one value, [a, b]; whole sentences are numbered from 1. */
static void show_words(const struct show *show, const struct orr_scenario__row *row,
                       const char *path, const struct orr_scenario__node *node)
{
    const char *all = "[";
    for (uint32_t i = 0; i < node->child_count; i++) {
        const char *text = node->children[i]->text;
        if (row->choices == NULL) {
            const char *number = orr_scenario__format(show->arena, "%u", (unsigned)i + 1);
            show_value(show, path_of(show, path, number), text, node->children[i]);
        } else {
            all = orr_scenario__format(show->arena, "%s%s%s", all, i == 0 ? "" : ", ", text);
        }
    }
    if (row->choices != NULL) {
        show_value(show, path, orr_scenario__format(show->arena, "%s]", all), node);
    }
}

static void show_group(const struct show *show, const struct orr_scenario__row *group,
                       const char *path, const struct orr_scenario__node *node);

static void show_row(const struct show *show, const struct orr_scenario__row *row, const char *path,
                     const struct orr_scenario__node *node)
{
    switch (row->type) {
    case ORR_TYPE_GROUP: show_group(show, row, path, node); break;
    case ORR_TYPE_OPEN: show_open(show, path, node); break;
    case ORR_TYPE_WORDS: show_words(show, row, path, node); break;
    case ORR_TYPE_NAMES:
    case ORR_TYPE_OPENS:
        for (uint32_t i = 0; i < node->child_count; i++) {
            const char *below = path_of(show, path, node->children[i]->key);
            if (row->type == ORR_TYPE_OPENS) {
                show_open(show, below, node->children[i]);
            } else {
                show_group(show, row, below, node->children[i]);
            }
        }
        break;
    default: show_value(show, path, node->text, node); break;
    }
}

static void show_group(const struct show *show, const struct orr_scenario__row *group,
                       const char *path, const struct orr_scenario__node *node)
{
    for (uint32_t i = 0; i < group->row_count; i++) {
        const struct orr_scenario__row *row = &group->rows[i];
        const struct orr_scenario__node *child = orr_scenario__find(node, row->key);
        if (child != NULL && row->type != ORR_TYPE_EXTENDS) {
            show_row(show, row, path_of(show, path, row->key), child);
        }
    }
}

void orr_scenario_show(const struct orr_scenario *scenario, orr_scenario_show_fn *emit,
                       void *context)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct show show = {&arena, emit, context};
    show_group(&show, orr_scenario__root_row(), "", scenario->tree->root);
    orr_arena_release(&arena);
}

struct flat {
    struct orr_arena arena;
    struct orr_idmap paths;
    const char **values; /* by index of the path */
    uint32_t count, capacity;
};

static void flatten_one(const char *path, const char *value, const char *origin, void *context)
{
    struct flat *flat = context;
    (void)origin;
    bool added;
    uint32_t index = orr_idmap_put(&flat->paths, path, strlen(path), &added);
    if (added) { /* a dot in a name could make two paths look the same: the first one counts */
        flat->values = ORR_ROOM_FOR_ONE(flat->values, flat->count, flat->capacity);
        flat->values[index] = orr_arena_strndup(&flat->arena, value, strlen(value));
        flat->count++;
    }
}

static void flatten(const struct orr_scenario *scenario, struct flat *flat)
{
    *flat = (struct flat){0};
    orr_arena_init(&flat->arena);
    orr_idmap_init(&flat->paths);
    orr_scenario_show(scenario, flatten_one, flat);
}

static void release_flat(struct flat *flat)
{
    orr_free(flat->values);
    orr_idmap_release(&flat->paths);
    orr_arena_release(&flat->arena);
}

uint32_t orr_scenario_diff(const struct orr_scenario *a, const struct orr_scenario *b,
                           orr_scenario_diff_fn *emit, void *context)
{
    struct flat left, right;
    uint32_t differing = 0;
    flatten(a, &left);
    flatten(b, &right);
    for (uint32_t i = 0; i < left.count; i++) {
        const char *path = orr_idmap_name(&left.paths, i);
        uint32_t other = orr_idmap_find(&right.paths, path, strlen(path));
        const char *value = other == ORR_NONE ? NULL : right.values[other];
        if (value == NULL || strcmp(left.values[i], value) != 0) {
            emit(path, left.values[i], value, context);
            differing++;
        }
    }
    for (uint32_t i = 0; i < right.count; i++) {
        const char *path = orr_idmap_name(&right.paths, i);
        if (orr_idmap_find(&left.paths, path, strlen(path)) == ORR_NONE) {
            emit(path, NULL, right.values[i], context);
            differing++;
        }
    }
    release_flat(&left);
    release_flat(&right);
    return differing;
}
