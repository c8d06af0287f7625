/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_complete.c - adds what nobody wrote: node types first, then the defaults of the rows.
 *
 * Values added here are marked as implied and made again after a change by path, so that setting
 * `type` of a pool changes what follows from it.
 */
#include "scenario_int.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/sim/slurm_include.h>

#define FOLDERS_UP 16 /* parents searched for node-types/ above the current folder */

static const struct orr_scenario__at nowhere = {NULL, 0, 0};

static bool has_default(const struct orr_scenario__row *row)
{
    return row->type != ORR_TYPE_REFUSED && row->type != ORR_TYPE_EXTENDS &&
           row->type != ORR_TYPE_ANY;
}

static struct orr_scenario__node *make_default(struct orr_scenario__load *load,
                                               const struct orr_scenario__row *row)
{
    enum orr_scenario__kind kind = orr_scenario__is_scalar(row->type) ? ORR_NODE_SCALAR
                                   : row->type == ORR_TYPE_WORDS      ? ORR_NODE_LIST
                                                                      : ORR_NODE_MAP;
    struct orr_scenario__node *node = orr_scenario__node(load, kind, nowhere);
    node->text = row->fallback;
    node->note = "default";
    node->implied = true;
    return node;
}

/* Is the node a role with roles of its own? It has no pods, by default either. */
static bool is_set(const struct orr_scenario__row *names, const struct orr_scenario__node *node)
{
    const struct orr_scenario__node *own =
        names->type == ORR_TYPE_NAMES ? orr_scenario__find(node, names->key) : NULL;
    return own != NULL && own->child_count > 0;
}

static enum orr_status complete_row(struct orr_scenario__load *load,
                                    const struct orr_scenario__row *row,
                                    struct orr_scenario__node *group, bool bare)
{
    struct orr_scenario__node *node = orr_scenario__find(group, row->key);
    if (row->required && (node == NULL || orr_scenario__is_null(node))) {
        const struct orr_scenario__at *at =
            group->key_at.source != NULL ? &group->key_at : &group->at;
        return orr_scenario__fail(load, at, "%.80s: \"%s\" is missing", orr_scenario__key(group),
                                  row->key);
    }
    if (node == NULL && row->optional) {
        return ORR_OK;
    }
    const bool null = node != NULL && orr_scenario__is_null(node);
    if (node == NULL) {
        node = make_default(load, row);
        orr_scenario__add(load, group, row->key, nowhere, node);
    } else if (null) {
        node->text = row->fallback;
    }
    if (bare && (node->implied || null)) {
        node->text = NULL;
    }
    enum orr_status status = ORR_OK;
    if (row->type == ORR_TYPE_GROUP) {
        status = orr_scenario__complete_group(load, row, node);
    } else if (row->type == ORR_TYPE_NAMES) {
        for (uint32_t i = 0; i < node->child_count && status == ORR_OK; i++) {
            status = orr_scenario__complete_group(load, row, node->children[i]);
        }
    }
    return status;
}

enum orr_status orr_scenario__complete_group(struct orr_scenario__load *load,
                                             const struct orr_scenario__row *group,
                                             struct orr_scenario__node *node)
{
    const bool set = is_set(group, node);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < group->row_count && status == ORR_OK; i++) {
        if (has_default(&group->rows[i])) {
            status = complete_row(load, &group->rows[i], node, set && group->rows[i].of_pods);
        }
    }
    if (status == ORR_OK && load->nodes >= ORR_SCENARIO__NODES) {
        status = orr_scenario__fail(load, &node->at, "too many values");
    }
    return status;
}

/* The folder above, as text: "a/b" -> "a" -> "" -> ".." -> "../.."; NULL above "/". */
static const char *folder_above(struct orr_arena *arena, const char *folder)
{
    const char *slash = strrchr(folder, '/');
    const char *last = slash == NULL ? folder : slash + 1;
    if (strcmp(folder, "/") == 0) {
        return NULL;
    }
    if (folder[0] == '\0') {
        return "..";
    }
    if (strcmp(last, "..") == 0 || strcmp(last, ".") == 0) {
        return orr_scenario__format(arena, "%s/..", folder);
    }
    return orr_scenario__folder(arena, folder);
}

static const char *find_node_type(struct orr_scenario__load *load, const char *type)
{
    const char *file = orr_scenario__format(load->arena, "node-types/%s.yaml", type);
    const char *folder = load->folder;
    for (int up = 0; folder != NULL && up < FOLDERS_UP; up++) {
        const char *path = orr_scenario__join(load->arena, folder, file);
        if (access(path, R_OK) == 0) {
            return path;
        }
        folder = folder_above(load->arena, folder);
    }
    if (load->options->node_types != NULL) {
        file = orr_scenario__format(load->arena, "%s.yaml", type);
        const char *path = orr_scenario__join(load->arena, load->options->node_types, file);
        return access(path, R_OK) == 0 ? path : NULL;
    }
    return orr_scenario__shipped(load->arena, file);
}

static enum orr_status read_node_type(struct orr_scenario__load *load,
                                      const struct orr_scenario__node *type,
                                      struct orr_scenario__node **out)
{
    if (strchr(type->text, '/') != NULL) {
        return orr_scenario__fail(load, &type->at, "type: \"%.80s\" is not a name", type->text);
    }
    if (load->sealed) {
        return orr_scenario__fail(load, &type->at, "a stored scenario cannot read node type %.80s",
                                  type->text);
    }
    const char *path = find_node_type(load, type->text);
    if (path == NULL) {
        return orr_scenario__fail(load, &type->at,
                                  "no node type \"%.80s\": there is no node-types/%.80s.yaml "
                                  "beside the scenario or in a folder above it",
                                  type->text, type->text);
    }
    const struct orr_scenario__source *source;
    enum orr_status status = orr_scenario__read(load, path, &type->at, &source);
    if (status == ORR_OK) {
        status = orr_scenario__single(load, source, out);
    }
    if (status == ORR_OK) {
        status = orr_scenario__shape(load, orr_scenario__node_type_row(), *out);
    }
    return status;
}

static bool of_pool(const struct orr_scenario__row *row)
{
    return row->type != ORR_TYPE_CHOICE || row->offset > 0; /* not apiVersion and kind of a file */
}

static bool says_everything(const struct orr_scenario__node *pool)
{
    const struct orr_scenario__row *rows = orr_scenario__node_type_row();
    for (uint32_t i = 0; i < rows->row_count; i++) {
        const struct orr_scenario__node *value = orr_scenario__find(pool, rows->rows[i].key);
        if (of_pool(&rows->rows[i]) && (value == NULL || value->implied)) {
            return false;
        }
    }
    return true;
}

static enum orr_status complete_pool(struct orr_scenario__load *load,
                                     struct orr_scenario__node *pool)
{
    const struct orr_scenario__node *type = orr_scenario__find(pool, "type");
    struct orr_scenario__node *given = NULL;
    /* why: a resolved scenario, which says everything, needs no file of node types */
    if (type != NULL && type->text != NULL && !says_everything(pool)) {
        enum orr_status status = read_node_type(load, type, &given);
        if (status != ORR_OK) {
            return status;
        }
    }
    const struct orr_scenario__row *rows = orr_scenario__node_type_row();
    for (uint32_t i = 0; i < rows->row_count; i++) {
        const struct orr_scenario__row *row = &rows->rows[i];
        struct orr_scenario__node *old = orr_scenario__find(pool, row->key);
        if (!of_pool(row) || (old != NULL && !old->implied)) {
            continue;
        }
        struct orr_scenario__node *value =
            given == NULL ? NULL : orr_scenario__find(given, row->key);
        if (value == NULL || orr_scenario__is_null(value)) {
            value = make_default(load, row);
        }
        value->implied = true;
        if (old != NULL) {
            orr_scenario__replace(old, value);
        } else {
            orr_scenario__add(load, pool, row->key, value->key_at, value);
        }
    }
    return ORR_OK;
}

static bool any_pool_has(const struct orr_scenario__node *pools, const char *key)
{
    for (uint32_t i = 0; i < pools->child_count; i++) {
        const struct orr_scenario__node *value = orr_scenario__find(pools->children[i], key);
        if (value != NULL && value->text != NULL && strcmp(value->text, "0") != 0) {
            return true;
        }
    }
    return false;
}

/* Without a word about it, the levels are those some pool gives a size to, or a name. */
static void complete_levels(struct orr_scenario__load *load, struct orr_scenario__node *cluster)
{
    const struct orr_scenario__node *pools = orr_scenario__find(cluster, "pools");
    const struct orr_scenario__node *topology = orr_scenario__find(cluster, "topology");
    struct orr_scenario__node *levels = orr_scenario__find(topology, "levels");
    if (!levels->implied && levels->child_count > 0) {
        return;
    }
    static const char *const names[][2] = {
        {"zone", "zone"}, {"block_size", "block"}, {"rack_size", "rack"}};
    static const char *const named[] = {"zone", "block", "rack"};
    struct orr_scenario__node *made = orr_scenario__node(load, ORR_NODE_LIST, nowhere);
    made->note = "default";
    made->implied = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (any_pool_has(pools, names[i][0]) || any_pool_has(pools, named[i])) {
            orr_scenario__add(load, made, NULL, nowhere,
                              orr_scenario__scalar(load, names[i][1], "default", nowhere));
        }
    }
    orr_scenario__add(load, made, NULL, nowhere,
                      orr_scenario__scalar(load, "node", "default", nowhere));
    orr_scenario__replace(levels, made);
}

static enum orr_status complete_pools(struct orr_scenario__load *load,
                                      struct orr_scenario__node *root)
{
    struct orr_scenario__node *cluster = orr_scenario__find(root, "cluster");
    const struct orr_scenario__node *pools =
        cluster == NULL ? NULL : orr_scenario__find(cluster, "pools");
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; pools != NULL && i < pools->child_count && status == ORR_OK; i++) {
        status = complete_pool(load, pools->children[i]);
    }
    return status;
}

enum orr_status orr_scenario__complete_cluster(struct orr_scenario__load *load,
                                               struct orr_scenario__node *root)
{
    enum orr_status status = complete_pools(load, root);
    if (status == ORR_OK) {
        complete_levels(load, orr_scenario__find(root, "cluster"));
    }
    return status;
}

/* --- parameters from files --- */

/* A file named by one of slurm.conf's, from its folder. */
static enum orr_status open_included(const struct orr_slurm_file *from, uint32_t line,
                                     uint32_t column, const char *name, struct orr_slurm_file *out,
                                     void *context)
{
    struct orr_scenario__load *load = context;
    const struct orr_scenario__at at = {from->context, line, column};
    const struct orr_scenario__source *source = NULL;
    const enum orr_status status = orr_scenario__read(
        load, orr_scenario__join(load->arena, at.source->folder, name), &at, &source);
    if (status == ORR_OK) {
        *out = (struct orr_slurm_file){source->name, source->text, source->bytes, source};
    }
    return status;
}

static enum orr_status refuse_depth(const struct orr_slurm_file *from, uint32_t line,
                                    uint32_t column, const char *name, struct orr_slurm_file *out,
                                    void *context)
{
    const struct orr_scenario__at at = {from->context, line, column};
    (void)out;
    return orr_scenario__fail(context, &at, ORR_SLURM_TOO_DEEP, name, (int)ORR_SLURM_INCLUDE_DEPTH);
}

/* The text of the file; of slurm.conf with those that it includes. */
static enum orr_status text_of(struct orr_scenario__load *load, const char *key,
                               const struct orr_scenario__source *source, const char **text)
{
    const struct orr_slurm_file file = {source->name, source->text, source->bytes, source};
    size_t bytes;
    *text = source->text;
    return strcmp(key, "slurm_conf") != 0 ? ORR_OK
                                          : orr_slurm_include(&file, load->arena, open_included,
                                                              refuse_depth, load, text, &bytes);
}

static enum orr_status take_file(struct orr_scenario__load *load, const char *key,
                                 struct orr_scenario__node *param)
{
    const struct orr_scenario__source *source = NULL;
    const char *folder = param->at.source == NULL ? load->folder : param->at.source->folder;
    const char *text = NULL;
    enum orr_status status = orr_scenario__read(
        load, orr_scenario__join(load->arena, folder, param->text), &param->at, &source);
    if (status == ORR_OK) {
        status = text_of(load, key, source, &text);
    }
    if (status == ORR_OK) {
        param->text = text;
        param->note = NULL;
        param->at = (struct orr_scenario__at){source, 1, 1};
        param->quoted = true;
    }
    return status;
}

/* A parameter NAME.file is parameter NAME with the text of that file: what was run is kept whole.
 */
static enum orr_status complete_params(struct orr_scenario__load *load,
                                       struct orr_scenario__node *params)
{
    static const char suffix[] = ".file";
    enum orr_status status = ORR_OK;
    const struct orr_scenario__node written = *params;
    params->children = NULL;
    params->child_count = params->child_capacity = 0;
    params->slots = NULL;
    params->slot_count = 0;
    for (uint32_t i = 0; i < written.child_count && status == ORR_OK; i++) {
        struct orr_scenario__node *param = written.children[i];
        const char *key = param->key;
        const size_t bytes = strlen(key), end = sizeof suffix - 1;
        if (bytes > end && strcmp(key + bytes - end, suffix) == 0) {
            key = orr_arena_strndup(load->arena, key, bytes - end);
            status = take_file(load, key, param);
        }
        struct orr_scenario__node *there = orr_scenario__find(params, key);
        if (status == ORR_OK && there != NULL && there->key_at.source == param->key_at.source) {
            return orr_scenario__fail(load, &param->key_at, "\"%.80s\" is set twice", key);
        }
        if (there != NULL) { /* a later text over an earlier one */
            orr_scenario__replace(there, param);
        } else {
            orr_scenario__add(load, params, key, param->key_at, param);
        }
    }
    return status;
}

static enum orr_status complete_policy(struct orr_scenario__load *load,
                                       struct orr_scenario__node *root)
{
    struct orr_scenario__node *policy = orr_scenario__find(root, "policy");
    struct orr_scenario__node *params =
        policy == NULL ? NULL : orr_scenario__find(policy, "params");
    const struct orr_scenario__node *shards =
        policy == NULL ? NULL : orr_scenario__find(policy, "shards");
    enum orr_status status =
        params == NULL || params->kind != ORR_NODE_MAP ? ORR_OK : complete_params(load, params);
    for (uint32_t s = 0; shards != NULL && s < shards->child_count && status == ORR_OK; s++) {
        params = orr_scenario__find(shards->children[s], "params");
        status = params == NULL ? ORR_OK : complete_params(load, params);
    }
    return status;
}

enum orr_status orr_scenario__complete(struct orr_scenario__load *load,
                                       struct orr_scenario__node *root)
{
    enum orr_status status = complete_pools(load, root);
    if (status == ORR_OK) {
        status = complete_policy(load, root);
    }
    if (status == ORR_OK) {
        status = orr_scenario__complete_group(load, orr_scenario__root_row(), root);
    }
    if (status == ORR_OK) {
        complete_levels(load, orr_scenario__find(root, "cluster"));
        status = orr_scenario__follow_quotas(load, root);
    }
    if (status == ORR_OK) {
        status = orr_scenario__sum_flavors(load, root);
    }
    return status;
}

enum orr_status orr_scenario__document(struct orr_scenario__load *load, const char *path,
                                       const struct orr_scenario__row *group,
                                       struct orr_scenario__node **out)
{
    const struct orr_scenario__source *source;
    enum orr_status status = orr_scenario__read(load, path, NULL, &source);
    if (status == ORR_OK) {
        status = orr_scenario__single(load, source, out);
    }
    if (status == ORR_OK) {
        status = orr_scenario__shape(load, group, *out);
    }
    return status == ORR_OK ? orr_scenario__complete_group(load, group, *out) : status;
}
