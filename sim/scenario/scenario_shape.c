/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_shape.c - a raw tree against the schema: known keys, right types, short form.
 *
 * Works on one file at a time, before anything is merged, so that an error shows the file it is
 * in. What is missing is not noticed here: another file or a default may bring it.
 */
#include "scenario_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/core/cluster.h>

#define LISTED_KEYS   16 /* more known names than these are not repeated in an error */
#define JOINED_VALUES 64 /* of a list that becomes one text */

static const char *kind_name(const struct orr_scenario__node *node)
{
    switch (node->kind) {
    case ORR_NODE_MAP: return node->child_count > 0 ? "a map" : "an empty map";
    case ORR_NODE_LIST: return node->child_count > 0 ? "a list" : "an empty list";
    case ORR_NODE_SCALAR: break;
    }
    return node->text == NULL ? "nothing" : "a single value";
}

const char *orr_scenario__key(const struct orr_scenario__node *node)
{
    return node->key != NULL ? node->key : "entry";
}

enum orr_status orr_scenario__wrong_kind(const struct orr_scenario__load *load,
                                         const struct orr_scenario__node *node, const char *wanted)
{
    return orr_scenario__fail(load, &node->at, "%.80s: expected %s, found %s",
                              orr_scenario__key(node), wanted, kind_name(node));
}

enum orr_status orr_scenario__no_such(const struct orr_scenario__load *load,
                                      const struct orr_scenario__at *at, const char *what,
                                      const char *word, const char *const *known, size_t count)
{
    const char *near = orr_nearest(word, known, count);
    if (near != NULL) {
        return orr_scenario__fail(load, at, "unknown %s \"%.80s\" (did you mean \"%.80s\"?)", what,
                                  word, near);
    }
    char list[300] = "";
    int used = 0;
    for (size_t i = 0; i < count && count <= LISTED_KEYS && used < (int)sizeof list - 60; i++) {
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%.50s",
                         i == 0 ? " (known: " : ", ", known[i]);
    }
    return orr_scenario__fail(load, at, "unknown %s \"%.80s\"%s%s", what, word, list,
                              used > 0 ? ")" : "");
}

enum orr_status orr_scenario__no_mig(const struct orr_scenario__load *load,
                                     const struct orr_scenario__at *at, const char *key,
                                     const char *text, const char *such)
{
    if (text[0] == '"' || text[0] == '\'') { /* of a path, whose names they are part of */
        return orr_scenario__fail(load, at,
                                  "%s: %.80s is in quotes, which are no part of a MIG profile: "
                                  "leave them out",
                                  key, text);
    }
    if (strcspn(text, "*") >= ORR_MIG_NAME_MAX) {
        return orr_scenario__fail(
            load, at, "%s: \"%.80s\" is no MIG profile such as %s: longer than %d bytes", key, text,
            such, (int)ORR_MIG_NAME_MAX - 1);
    }
    return orr_scenario__fail(load, at, "%s: \"%.80s\" is no MIG profile such as %s", key, text,
                              such);
}

static enum orr_status unknown_key(const struct orr_scenario__load *load,
                                   const struct orr_scenario__row *group,
                                   const struct orr_scenario__node *child)
{
    const char *known[64];
    size_t count = 0;
    for (uint32_t i = 0; i < group->row_count && count < 64; i++) {
        if (group->rows[i].type != ORR_TYPE_REFUSED) {
            known[count++] = group->rows[i].key;
        }
    }
    return orr_scenario__no_such(load, &child->key_at, "key", child->key, known, count);
}

enum orr_status orr_scenario__shape_scalar(struct orr_scenario__load *load,
                                           const struct orr_scenario__row *row,
                                           struct orr_scenario__node *node)
{
    if (node->kind != ORR_NODE_SCALAR) {
        return orr_scenario__wrong_kind(load, node, "a single value");
    }
    if (node->text == NULL) {
        return ORR_OK;
    }
    const char *key = orr_scenario__key(node);
    bool word = strcmp(node->text, "unlimited") == 0;
    if (node->quoted && !word && orr_scenario__is_number(row->type)) {
        return orr_scenario__fail(load, &node->at, "%.80s: \"%.80s\" is quoted text, not a %s", key,
                                  node->text,
                                  row->type == ORR_TYPE_BOOL ? "truth value" : "number");
    }
    struct orr_scenario__value value;
    char why[ORR_SCENARIO__WHY];
    if (!orr_scenario__value_parse(row, node->text, &value, why)) {
        return orr_scenario__fail(load, &node->at, "%.80s: %s", key, why);
    }
    if (row->type != ORR_TYPE_TEXT && row->type != ORR_TYPE_CHOICE) {
        node->text = orr_scenario__value_text(load->arena, row, &value);
    }
    return ORR_OK;
}

static enum orr_status shape_open(struct orr_scenario__load *load, struct orr_scenario__node *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct orr_scenario__node *child = node->children[i];
        if (child->kind != ORR_NODE_SCALAR || child->text == NULL) {
            return orr_scenario__wrong_kind(load, child, "a single value");
        }
    }
    return ORR_OK;
}

/* [a, b] as the text "a, b". */
static enum orr_status join_list(struct orr_scenario__load *load, struct orr_scenario__node *list)
{
    const char *text = "";
    if (list->child_count > JOINED_VALUES) {
        return orr_scenario__fail(load, &list->at, "more than %d values", JOINED_VALUES);
    }
    for (uint32_t i = 0; i < list->child_count; i++) {
        const struct orr_scenario__node *item = list->children[i];
        if (item->kind != ORR_NODE_SCALAR || item->text == NULL) {
            return orr_scenario__wrong_kind(load, item, "a single value");
        }
        text = orr_scenario__format(load->arena, "%s%s%s", text, i == 0 ? "" : ", ", item->text);
    }
    list->kind = ORR_NODE_SCALAR;
    list->text = text;
    list->child_count = 0;
    return ORR_OK;
}

/* Adds the values below `from` to the flat map `into`: {a: {b: 1}} becomes {a.b: 1}. */
static enum orr_status flatten(struct orr_scenario__load *load, struct orr_scenario__node *into,
                               const char *prefix, const struct orr_scenario__node *from)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < from->child_count && status == ORR_OK; i++) {
        struct orr_scenario__node *child = from->children[i];
        const char *key = orr_scenario__format(load->arena, "%s%s%s", prefix,
                                               prefix[0] == '\0' ? "" : ".", child->key);
        if (child->kind == ORR_NODE_MAP) {
            status = flatten(load, into, key, child);
            continue;
        }
        if (orr_scenario__find(into, key) != NULL) {
            return orr_scenario__fail(load, &child->key_at, "\"%.80s\" is set twice", key);
        }
        status = child->kind == ORR_NODE_LIST ? join_list(load, child) : ORR_OK;
        orr_scenario__add(load, into, key, child->key_at, child);
    }
    return status;
}

/* Names with dots may be written as maps in maps, as KAI's objects do. */
static enum orr_status shape_paths(struct orr_scenario__load *load, struct orr_scenario__node *node)
{
    struct orr_scenario__node written = *node;
    node->children = NULL;
    node->child_count = node->child_capacity = 0;
    node->slots = NULL;
    node->slot_count = 0;
    enum orr_status status = flatten(load, node, "", &written);
    return status == ORR_OK ? shape_open(load, node) : status;
}

static enum orr_status shape_words(struct orr_scenario__load *load,
                                   const struct orr_scenario__row *row,
                                   struct orr_scenario__node *node)
{
    struct orr_scenario__row word = {.key = row->key,
                                     .type = row->choices != NULL ? ORR_TYPE_CHOICE : ORR_TYPE_TEXT,
                                     .choices = row->choices};
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < node->child_count && status == ORR_OK; i++) {
        status = node->children[i]->kind == ORR_NODE_SCALAR && node->children[i]->text != NULL
                     ? orr_scenario__shape_scalar(load, &word, node->children[i])
                     : orr_scenario__wrong_kind(load, node->children[i], "a single value");
    }
    return status;
}

static enum orr_status shape_group(struct orr_scenario__load *load,
                                   const struct orr_scenario__row *row,
                                   struct orr_scenario__node *node)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < node->child_count && status == ORR_OK; i++) {
        struct orr_scenario__node *child = node->children[i];
        const struct orr_scenario__row *found = orr_scenario__row_find(row, child->key);
        status =
            found == NULL ? unknown_key(load, row, child) : orr_scenario__shape(load, found, child);
    }
    return status;
}

static enum orr_status shape_names(struct orr_scenario__load *load,
                                   const struct orr_scenario__row *row,
                                   struct orr_scenario__node *node)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < node->child_count && status == ORR_OK; i++) {
        struct orr_scenario__node *child = node->children[i];
        orr_scenario__become(child, ORR_NODE_MAP);
        if (child->kind != ORR_NODE_MAP) {
            status = orr_scenario__wrong_kind(load, child, "a map");
        } else if (row->type == ORR_TYPE_OPENS) {
            status = shape_open(load, child);
        } else {
            status = shape_group(load, row, child);
        }
    }
    return status;
}

/* Depth follows the rows, which are few and finite. */
enum orr_status orr_scenario__shape(struct orr_scenario__load *load,
                                    const struct orr_scenario__row *row,
                                    struct orr_scenario__node *node)
{
    if (row->type == ORR_TYPE_ANY || row->type == ORR_TYPE_EXTENDS) {
        return ORR_OK;
    }
    if (row->type == ORR_TYPE_REFUSED) {
        return orr_scenario__fail(load, &node->key_at, "%s", row->refusal);
    }
    if (orr_scenario__is_scalar(row->type)) {
        return orr_scenario__shape_scalar(load, row, node);
    }
    enum orr_status status = row->prepare == NULL ? ORR_OK : row->prepare(load, node);
    if (status != ORR_OK) {
        return status;
    }
    bool list = row->type == ORR_TYPE_WORDS;
    orr_scenario__become(node, list ? ORR_NODE_LIST : ORR_NODE_MAP);
    if (node->kind != (list ? ORR_NODE_LIST : ORR_NODE_MAP)) {
        return orr_scenario__wrong_kind(load, node, list ? "a list" : "a map");
    }
    switch (row->type) {
    case ORR_TYPE_WORDS: return shape_words(load, row, node);
    case ORR_TYPE_OPEN: return row->paths ? shape_paths(load, node) : shape_open(load, node);
    case ORR_TYPE_GROUP: return shape_group(load, row, node);
    default: return shape_names(load, row, node);
    }
}

/* [quota, weight, limit], later ones left out at will. */
enum orr_status orr_scenario__prepare_amounts(struct orr_scenario__load *load,
                                              struct orr_scenario__node *node)
{
    static const char *const keys[] = {"quota", "weight", "limit"};
    if (node->kind == ORR_NODE_MAP || orr_scenario__is_null(node)) {
        return ORR_OK;
    }
    if (node->kind != ORR_NODE_LIST) {
        return orr_scenario__wrong_kind(load, node, "[quota, weight, limit]");
    }
    if (node->child_count > 3) {
        return orr_scenario__fail(
            load, &node->children[3]->at, "%s: expected [quota, weight, limit], found %u value%s",
            node->key, (unsigned)node->child_count, ORR_PLURAL(node->child_count));
    }
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, node->at);
    for (uint32_t i = 0; i < node->child_count; i++) {
        struct orr_scenario__node *child = node->children[i];
        orr_scenario__add(load, map, keys[i], child->at, child);
    }
    map->whole = true; /* as any list, it takes the place of what it is merged over */
    orr_scenario__replace(node, map);
    return ORR_OK;
}

/* A policy for each shard: those that name one go below `shards`, the other is that of the rest. */
static enum orr_status prepare_policies(struct orr_scenario__load *load,
                                        struct orr_scenario__node *node)
{
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, node->at);
    struct orr_scenario__node *shards = orr_scenario__node(load, ORR_NODE_MAP, node->at);
    bool rest = false;
    for (uint32_t i = 0; i < node->child_count; i++) {
        struct orr_scenario__node *policy = node->children[i];
        if (policy->kind != ORR_NODE_MAP) {
            return orr_scenario__wrong_kind(load, policy, "a map with name, shard and params");
        }
        const struct orr_scenario__node *shard = orr_scenario__find(policy, "shard");
        if (shard != NULL && (shard->kind != ORR_NODE_SCALAR || shard->text == NULL)) {
            return orr_scenario__wrong_kind(load, shard, "the name of a shard");
        }
        if (shard == NULL ? rest : orr_scenario__find(shards, shard->text) != NULL) {
            return orr_scenario__fail(load, shard == NULL ? &policy->at : &shard->at,
                                      "there is a policy for %s%.80s already",
                                      shard == NULL ? "the other shards" : "shard ",
                                      shard == NULL ? "" : shard->text);
        }
        rest = rest || shard == NULL;
        struct orr_scenario__node *own = orr_scenario__node(load, ORR_NODE_MAP, policy->at);
        for (uint32_t k = 0; k < policy->child_count; k++) {
            struct orr_scenario__node *value = policy->children[k];
            if (value != shard) {
                orr_scenario__add(load, shard == NULL ? map : own, value->key, value->key_at,
                                  value);
            }
        }
        if (shard != NULL) {
            orr_scenario__add(load, shards, shard->text, shard->at, own);
        }
    }
    orr_scenario__add(load, map, "shards", node->at, shards);
    orr_scenario__replace(node, map);
    return ORR_OK;
}

/* `policy: kai`, or a list of them */
enum orr_status orr_scenario__prepare_policy(struct orr_scenario__load *load,
                                             struct orr_scenario__node *node)
{
    if (node->kind == ORR_NODE_LIST) {
        return prepare_policies(load, node);
    }
    if (orr_scenario__is_kind(node, "SchedulingShard")) {
        struct orr_scenario__node *shard;
        enum orr_status status = orr_scenario__convert_shard(load, node, &shard);
        if (status == ORR_OK) {
            orr_scenario__replace(node, shard);
        }
        return status;
    }
    if (node->kind == ORR_NODE_MAP || node->text == NULL) {
        return ORR_OK;
    }
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, node->at);
    orr_scenario__add(load, map, "name", node->key_at,
                      orr_scenario__scalar(load, node->text, NULL, node->at));
    orr_scenario__replace(node, map);
    return ORR_OK;
}

/* A single value for a group that has one main key. */
static enum orr_status prepare_main(struct orr_scenario__load *load,
                                    struct orr_scenario__node *node, const char *key)
{
    if (node->kind != ORR_NODE_SCALAR || node->text == NULL) {
        return ORR_OK;
    }
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, node->at);
    orr_scenario__add(load, map, key, node->key_at,
                      orr_scenario__scalar(load, node->text, NULL, node->at));
    map->whole = true;
    orr_scenario__replace(node, map);
    return ORR_OK;
}

/* `duration: 2h` */
enum orr_status orr_scenario__prepare_duration(struct orr_scenario__load *load,
                                               struct orr_scenario__node *node)
{
    return prepare_main(load, node, "fixed");
}

/* `latency: kai-500` */
enum orr_status orr_scenario__prepare_latency(struct orr_scenario__load *load,
                                              struct orr_scenario__node *node)
{
    return prepare_main(load, node, "preset");
}

/* `rate: requests.csv` */
enum orr_status orr_scenario__prepare_rate(struct orr_scenario__load *load,
                                           struct orr_scenario__node *node)
{
    return prepare_main(load, node, "file");
}

/* `lend: 8` */
enum orr_status orr_scenario__prepare_lend(struct orr_scenario__load *load,
                                           struct orr_scenario__node *node)
{
    return prepare_main(load, node, "gpu");
}

/* One word for a list of one. */
enum orr_status orr_scenario__prepare_word(struct orr_scenario__load *load,
                                           struct orr_scenario__node *node)
{
    if (node->kind != ORR_NODE_SCALAR || node->text == NULL) {
        return ORR_OK;
    }
    struct orr_scenario__node *list = orr_scenario__node(load, ORR_NODE_LIST, node->at);
    orr_scenario__add(load, list, NULL, node->at,
                      orr_scenario__scalar(load, node->text, NULL, node->at));
    orr_scenario__replace(node, list);
    return ORR_OK;
}

/* A list of parts becomes a map by their names. */
enum orr_status orr_scenario__prepare_workload(struct orr_scenario__load *load,
                                               struct orr_scenario__node *node)
{
    if (orr_scenario__is_null(node)) {
        return ORR_OK;
    }
    if (node->kind != ORR_NODE_LIST) {
        return orr_scenario__wrong_kind(load, node, "a list of parts, each with a name");
    }
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, node->at);
    for (uint32_t i = 0; i < node->child_count; i++) {
        struct orr_scenario__node *part = node->children[i];
        if (part->kind != ORR_NODE_MAP) {
            return orr_scenario__wrong_kind(load, part, "a map");
        }
        const struct orr_scenario__node *name = orr_scenario__find(part, "name");
        if (name == NULL) {
            return orr_scenario__fail(load, &part->at, "a part of the workload needs a name");
        }
        if (name->kind != ORR_NODE_SCALAR || name->text == NULL || name->text[0] == '\0') {
            return orr_scenario__wrong_kind(load, name, "a name");
        }
        if (orr_scenario__find(map, name->text) != NULL) {
            return orr_scenario__fail(load, &name->at, "there is a part named \"%.80s\" already",
                                      name->text);
        }
        orr_scenario__add(load, map, name->text, name->at, part);
    }
    orr_scenario__replace(node, map);
    return ORR_OK;
}
