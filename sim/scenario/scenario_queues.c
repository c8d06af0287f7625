/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_queues.c - KAI Queue objects, inline or from files, become queues in short form.
 *
 * KAI's own defaults hold for what an object leaves out: quota, limit and weight 0 wherever they
 * are not written. Amounts are numbers there: GPUs, milli-CPU, memory in 10^6 bytes; -1 is without
 * bound.
 */
#include "scenario_int.h"

#include <glob.h>
#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>

#define SHARD_LABEL "kai.scheduler/node-pool"

static enum orr_status add_queue(struct orr_scenario__load *load, struct orr_scenario__node *out,
                                 const char *name, struct orr_scenario__at name_at,
                                 struct orr_scenario__node *queue)
{
    const struct orr_scenario__node *first = orr_scenario__find(out, name);
    if (first != NULL) {
        return orr_scenario__fail(load, &name_at,
                                  "there is a queue named \"%.80s\" already (%.80s:%u)", name,
                                  first->key_at.source->name, (unsigned)first->key_at.line);
    }
    orr_scenario__add(load, out, name, name_at, queue);
    return ORR_OK;
}

/* Text of an amount in short form; NULL if it does not fit. */
static const char *amount_text(struct orr_scenario__load *load, const char *resource, double amount)
{
    if (amount == ORR_UNLIMITED) {
        return "unlimited";
    }
    if (strcmp(resource, "gpu") == 0) {
        return orr_scenario__real_text(load->arena, amount);
    }
    if (!(amount < 1e12)) {
        return NULL;
    }
    if (strcmp(resource, "cpu") == 0) {
        return orr_scenario__format(load->arena, "%lldm", (long long)llround(amount));
    }
    return orr_scenario__format(load->arena, "%lldB", (long long)llround(amount * 1e6));
}

static enum orr_status convert_resource(struct orr_scenario__load *load,
                                        const struct orr_scenario__node *resources,
                                        const char *name, struct orr_scenario__node *queue)
{
    static const char *const keys[][2] = {
        {"quota", "quota"}, {"overQuotaWeight", "weight"}, {"limit", "limit"}};
    const struct orr_scenario__node *given = orr_scenario__below(resources, name);
    struct orr_scenario__node *map =
        orr_scenario__node(load, ORR_NODE_MAP, given != NULL ? given->at : queue->at);
    for (size_t i = 0; i < 3; i++) {
        const struct orr_scenario__node *value = orr_scenario__below(given, keys[i][0]);
        double amount = 0.0;
        if (value != NULL) {
            bool good = orr_parse_double(value->text, strlen(value->text), &amount);
            ORR_ASSERT(good);
        }
        bool weight = strcmp(keys[i][1], "weight") == 0;
        const char *text = amount_text(load, weight ? "gpu" : name, amount);
        if (text == NULL) {
            return orr_scenario__fail(load, &value->at, "%s: \"%.80s\" is too large", value->key,
                                      value->text);
        }
        struct orr_scenario__node *scalar =
            value != NULL ? orr_scenario__scalar(load, text, NULL, value->at)
                          : orr_scenario__scalar(load, text, "default of a KAI Queue", queue->at);
        orr_scenario__add(load, map, keys[i][1], scalar->at, scalar);
    }
    orr_scenario__add(load, queue, name, map->at, map);
    return ORR_OK;
}

static void carry(struct orr_scenario__load *load, const struct orr_scenario__node *from,
                  const char *from_key, struct orr_scenario__node *queue, const char *key)
{
    const struct orr_scenario__node *value = orr_scenario__below(from, from_key);
    if (value != NULL && value->kind == ORR_NODE_SCALAR) {
        orr_scenario__add(load, queue, key, value->key_at,
                          orr_scenario__scalar(load, value->text, NULL, value->at));
    }
}

static enum orr_status convert_queue(struct orr_scenario__load *load,
                                     struct orr_scenario__node *object,
                                     struct orr_scenario__node *out)
{
    if (orr_scenario__is_kueue_object(object)) {
        return orr_scenario__convert_kueue(load, object, out);
    }
    if (orr_scenario__is_kai_object(object)) {
        return orr_scenario__keep_object(load, object);
    }
    bool taken;
    enum orr_status status = orr_scenario__take_config_map(load, object, &taken);
    if (status != ORR_OK || taken || orr_scenario__pass_other(load, object)) {
        return status;
    }
    status = orr_scenario__shape(load, orr_scenario__kai_queue_row(), object);
    if (status != ORR_OK) {
        return status;
    }
    const struct orr_scenario__node *metadata = orr_scenario__below(object, "metadata");
    const struct orr_scenario__node *name = orr_scenario__below(metadata, "name");
    if (name == NULL || name->kind != ORR_NODE_SCALAR || name->text[0] == '\0') {
        return orr_scenario__fail(load, &object->at, "a Queue needs metadata.name");
    }
    const struct orr_scenario__node *spec = orr_scenario__below(object, "spec");
    const struct orr_scenario__node *resources = orr_scenario__below(spec, "resources");
    struct orr_scenario__node *queue = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    queue->whole = true;
    carry(load, spec, "parentQueue", queue, "parent");
    carry(load, spec, "displayName", queue, "display_name");
    static const char *const names[] = {"gpu", "cpu", "memory"};
    for (size_t i = 0; i < 3 && status == ORR_OK; i++) {
        status = convert_resource(load, resources, names[i], queue);
    }
    carry(load, spec, "priority", queue, "priority");
    carry(load, spec, "preemptMinRuntime", queue, "preempt_min_runtime");
    carry(load, spec, "reclaimMinRuntime", queue, "reclaim_min_runtime");
    carry(load, orr_scenario__below(metadata, "labels"), SHARD_LABEL, queue, "shard");
    carry(load, metadata, "creationTimestamp", queue, "created");
    return status == ORR_OK ? add_queue(load, out, name->text, name->at, queue) : status;
}

static bool is_list(const struct orr_scenario__node *object)
{
    static const char *const lists[] = {"List", "QueueList", "ClusterQueueList", "CohortList",
                                        "ResourceFlavorList"};
    bool found = false;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        found = found || orr_scenario__is_kind(object, lists[i]);
    }
    return found;
}

/* One object, or a List of them as kubectl prints it. */
static enum orr_status convert_object(struct orr_scenario__load *load,
                                      struct orr_scenario__node *object,
                                      struct orr_scenario__node *out)
{
    if (object->kind != ORR_NODE_MAP) {
        return orr_scenario__fail(load, &object->at, "expected a Queue object");
    }
    if (!is_list(object)) {
        return convert_queue(load, object, out);
    }
    const struct orr_scenario__node *items = orr_scenario__below(object, "items");
    enum orr_status status = ORR_OK;
    if (items != NULL && items->kind != ORR_NODE_LIST) {
        return orr_scenario__wrong_kind(load, items, "a list");
    }
    for (uint32_t i = 0; items != NULL && i < items->child_count && status == ORR_OK; i++) {
        status = items->children[i]->kind == ORR_NODE_MAP
                     ? convert_queue(load, items->children[i], out)
                     : orr_scenario__fail(load, &items->children[i]->at, "expected a Queue object");
    }
    return status;
}

static enum orr_status read_objects(struct orr_scenario__load *load, const char *path,
                                    const struct orr_scenario__at *at,
                                    struct orr_scenario__node *out)
{
    const struct orr_scenario__source *source;
    struct orr_scenario__node *documents;
    enum orr_status status = orr_scenario__read(load, path, at, &source);
    if (status == ORR_OK) {
        status = orr_scenario__parse(load, source, &documents);
    }
    for (uint32_t i = 0; status == ORR_OK && i < documents->child_count; i++) {
        if (!orr_scenario__is_null(documents->children[i])) {
            status = convert_object(load, documents->children[i], out);
        }
    }
    return status;
}

/* Files in byte order of their names, whatever the locale. */
static enum orr_status read_files(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *from,
                                  struct orr_scenario__node *out)
{
    if (from->kind != ORR_NODE_SCALAR || from->text == NULL) {
        return orr_scenario__wrong_kind(load, from, "a file name");
    }
    const char *pattern = orr_scenario__join(load->arena, from->at.source->folder, from->text);
    if (load->sealed || strpbrk(from->text, "*?[") == NULL) {
        return read_objects(load, pattern, &from->at, out);
    }
    glob_t found;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) {
        return orr_scenario__fail_as(load, ORR_NO_INPUT, &from->at, "no file matches %s", pattern);
    }
    enum orr_status status = ORR_OK;
    orr_sort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, orr_compare_texts, NULL);
    for (size_t i = 0; i < found.gl_pathc && status == ORR_OK; i++) {
        status = read_objects(load, found.gl_pathv[i], &from->at, out);
    }
    globfree(&found);
    return status;
}

static enum orr_status take_child(struct orr_scenario__load *load, struct orr_scenario__node *child,
                                  struct orr_scenario__node *out)
{
    bool from = child->key != NULL && strcmp(child->key, "from") == 0;
    if (child->key == NULL) {
        return convert_object(load, child, out);
    }
    if (from && child->kind == ORR_NODE_LIST) {
        enum orr_status status = ORR_OK;
        for (uint32_t i = 0; i < child->child_count && status == ORR_OK; i++) {
            status = read_files(load, child->children[i], out);
        }
        return status;
    }
    if (from && child->kind == ORR_NODE_SCALAR) {
        return read_files(load, child, out);
    }
    return add_queue(load, out, child->key, child->key_at, child);
}

enum orr_status orr_scenario__prepare_queues(struct orr_scenario__load *load,
                                             struct orr_scenario__node *node)
{
    bool objects = node->kind == ORR_NODE_LIST;
    bool files = node->kind == ORR_NODE_MAP && orr_scenario__find(node, "from") != NULL;
    if (!objects && !files) {
        return ORR_OK;
    }
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, node->at);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < node->child_count && status == ORR_OK; i++) {
        status = take_child(load, node->children[i], map);
    }
    if (status == ORR_OK) {
        status = orr_scenario__settle_cohorts(load, map);
        status = status == ORR_OK ? orr_scenario__settle_local_queues(load, map) : status;
    }
    orr_scenario__replace(node, map);
    return status;
}
