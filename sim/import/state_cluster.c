/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state_cluster.c - pools, queues and policy of a state.
 *
 *   nodes    those that are alike, one after the other by name, are a pool: what they give, the
 *            labels that pods select by, taints, domains, what others hold there
 *   queues   as they are
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/policies/registry.h>

#include "state_int.h"

#define POOLS_IN_ORDER 64 /* more, and alike nodes are joined wherever their names are */
#define PLENTY         ((int64_t)100000000000000)

const char *const state_level_names[STATE_LEVELS] = {"zone", "block", "rack"};

/* --- nodes --- */

static int by_name(const void *a, const void *b, void *context)
{
    const struct state_writer *w = context;
    return strcmp(w->model->nodes[*(const uint32_t *)a].name,
                  w->model->nodes[*(const uint32_t *)b].name);
}

uint32_t state_find_node(const struct state_writer *w, const char *name)
{
    return name == NULL ? ORR_NONE : orr_idmap_find(&w->model->node_names, name, strlen(name));
}

bool state_is_held(const struct import_pod *pod)
{
    return orr_status_in(pod->status, ORR_STATES_ACTIVE_USED) || pod->status == ORR_TASK_RELEASING;
}

/* Labels by which pods select; the host's name is its own. */
static void collect_keys(struct state_writer *w)
{
    for (uint32_t p = 0; p < w->model->pod_count; p++) {
        const struct import_pod *pod = &w->model->pods[p];
        if (pod->job == ORR_NONE) {
            continue;
        }
        IMPORT_EACH(want, pod->selector)
        {
            if (strcmp(want->key, "kubernetes.io/hostname") != 0) {
                (void)orr_idmap_put(&w->keys, want->key, strlen(want->key), NULL);
            }
        }
        const struct import_value *required = import_get(
            pod->affinity, "nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution");
        if (required == NULL) {
            continue;
        }
        char *text = import_canonical(required);
        bool added;
        const uint32_t index = orr_idmap_put(&w->affinities, text, strlen(text), &added);
        orr_free(text);
        if (added) {
            w->affine = ORR_ROOM_FOR_ONE(w->affine, index, w->affine_capacity);
            w->affine[index] = pod;
        }
    }
}

/* The topology with the most levels becomes zone, block, rack. */
static void choose_levels(struct state_writer *w)
{
    const struct import_model *model = w->model;
    for (uint32_t t = 0; t < model->topology_count; t++) {
        uint32_t levels = 0, had = 0;
        for (uint32_t l = 0; l < model->topologies[t].level_count; l++) {
            levels += strcmp(model->topologies[t].labels[l], "kubernetes.io/hostname") != 0;
        }
        for (uint32_t l = 0; w->topology != NULL && l < STATE_LEVELS; l++) {
            had += w->levels[l] != NULL;
        }
        if (levels <= had || levels > STATE_LEVELS) {
            continue;
        }
        w->topology = &model->topologies[t];
        for (uint32_t l = 0, at = STATE_LEVELS - levels; l < w->topology->level_count; l++) {
            if (strcmp(w->topology->labels[l], "kubernetes.io/hostname") != 0) {
                w->levels[at++] = w->topology->labels[l];
            }
        }
        for (uint32_t l = 0; l < STATE_LEVELS - levels; l++) {
            w->levels[l] = NULL;
        }
    }
    if (model->topology_count > (w->topology != NULL)) {
        state_tell(w, "topologies",
                   "topologies that are not carried over: a scenario has one, of at "
                   "most three levels above the node",
                   model->topology_count - (w->topology != NULL));
    }
}

static void add_foreign(struct state_place *place, const struct import_vec *held, int64_t gpus)
{
    place->foreign[0] += held->v[IMPORT_CPU];
    place->foreign[1] += held->v[IMPORT_MEMORY];
    place->foreign[2] += gpus;
    place->foreign[3] += held->v[IMPORT_PODS];
}

/* Pods of other schedulers, and ours that no job here has. */
static void collect_foreign(struct state_writer *w)
{
    const struct import_model *model = w->model;
    uint64_t loose = 0;
    for (uint32_t i = 0; i < model->foreign_count; i++) {
        const uint32_t node = state_find_node(w, model->foreign[i].node);
        if (node != ORR_NONE) {
            const struct import_vec *held = &model->foreign[i].held;
            add_foreign(&w->places[node], held, held->v[IMPORT_GPU]);
        }
    }
    for (uint32_t p = 0; p < model->pod_count; p++) {
        const struct import_pod *pod = &model->pods[p];
        const uint32_t node = state_find_node(w, pod->node);
        if (pod->job == ORR_NONE && state_is_held(pod) && node != ORR_NONE) {
            const bool shares = pod->request.devices > 0;
            add_foreign(&w->places[node], &pod->request.vec,
                        shares ? pod->request.devices : pod->request.vec.v[IMPORT_GPU]);
            loose++;
        }
    }
    if (model->foreign_count + loose > 0) {
        state_tell(
            w, "foreign",
            "pods of other schedulers, or of no job here: when they end is not known, so they hold "
            "their room for good",
            model->foreign_count + loose);
    }
    for (uint32_t n = 0; n < model->node_count; n++) {
        struct state_place *place = &w->places[n];
        const int64_t gpus = model->nodes[n].allocatable.v[IMPORT_GPU];
        place->foreign[2] = place->foreign[2] > gpus ? gpus : place->foreign[2];
        memcpy(place->left, model->nodes[n].allocatable.v, sizeof place->left);
        place->left[IMPORT_CPU] -= place->foreign[0];
        place->left[IMPORT_MEMORY] -= place->foreign[1];
        place->left[IMPORT_GPU] -= place->foreign[2];
        place->left[IMPORT_PODS] -= place->foreign[3];
        const uint64_t all = gpus >= 64 ? UINT64_MAX : ((uint64_t)1 << gpus) - 1;
        place->devices =
            place->foreign[2] >= 64 ? 0 : all & ~(((uint64_t)1 << place->foreign[2]) - 1);
    }
}

static const char *domain_of(const struct state_writer *w, const struct import_node *node,
                             uint32_t level)
{
    return w->levels[level] == NULL ? NULL : import_label(node->labels, w->levels[level]);
}

/* The lines of the pool that the node is of, but for how many there are. */
static char *describe(struct state_writer *w, uint32_t n)
{
    const struct import_node *node = &w->model->nodes[n];
    const struct state_place *place = &w->places[n];
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    (void)fprintf(out, "gpus: %" PRId64, node->allocatable.v[IMPORT_GPU]);
    const char *model = import_label(node->labels, "nvidia.com/gpu.product");
    if (model != NULL) {
        (void)fputs(", gpu_model: ", out);
        orr_put_quoted(out, model);
    }
    if (node->gpu_memory_mib > 0) {
        (void)fprintf(out, ", gpu_memory: %" PRId64 "Mi", node->gpu_memory_mib);
    }
    if (node->allocatable.v[IMPORT_CPU] < PLENTY) {
        (void)fprintf(out, ", cpu: %" PRId64 "m", node->allocatable.v[IMPORT_CPU]);
    }
    if (node->allocatable.v[IMPORT_MEMORY] < PLENTY) {
        (void)fprintf(out, ", memory: %" PRId64 "B", node->allocatable.v[IMPORT_MEMORY]);
    }
    (void)fprintf(out, ", pods: %" PRId64, node->allocatable.v[IMPORT_PODS]);
    for (uint32_t l = 0; l < STATE_LEVELS; l++) {
        const char *domain = domain_of(w, node, l);
        if (domain != NULL) { /* a rack is another in another block */
            (void)fprintf(out, ", %s: ", state_level_names[l]);
            const char *above = l > 0 ? domain_of(w, node, l - 1) : NULL;
            orr_put_quoted(out,
                           above == NULL ? domain : import_format(w->load, "%s/%s", above, domain));
        }
    }
    if ((place->foreign[0] | place->foreign[1] | place->foreign[2] | place->foreign[3]) != 0) {
        (void)fprintf(out,
                      ", foreign: {gpus: %" PRId64 ", cpu: %" PRId64 "m, memory: %" PRId64
                      "B, pods: %" PRId64 "}",
                      place->foreign[2], place->foreign[0], place->foreign[1], place->foreign[3]);
    }
    const char *comma = ", labels: {";
    for (uint32_t k = 0; k < w->keys.count; k++) {
        const char *key = orr_idmap_name(&w->keys, k), *value = import_label(node->labels, key);
        if (value != NULL) {
            (void)fputs(comma, out);
            orr_put_quoted(out, key);
            (void)fputs(": ", out);
            orr_put_quoted(out, value);
            comma = ", ";
        }
    }
    for (uint32_t a = 0; a < w->affinities.count; a++) {
        if (import_affinity_admits(w->affine[a]->affinity, node)) {
            (void)fprintf(out, "%saffinity-%u: \"yes\"", comma, (unsigned)a + 1);
            comma = ", ";
        }
    }
    (void)fputs(strcmp(comma, ", ") == 0 ? "}" : "", out);
    comma = ", taints: [";
    IMPORT_EACH(taint, node->taints)
    {
        const char *key = import_label(taint, "key"), *value = import_label(taint, "value");
        const char *effect = import_label(taint, "effect");
        if (key != NULL && effect != NULL) {
            (void)fputs(comma, out);
            orr_put_quoted(out, import_format(w->load, "%s%s%s:%s", key, value != NULL ? "=" : "",
                                              value != NULL ? value : "", effect));
            comma = ", ";
        }
    }
    (void)fputs(strcmp(comma, ", ") == 0 ? "]" : "", out);
    (void)fclose(out);
    return text;
}

/* A name for a pool by what its GPUs are. */
static const char *pool_name(struct state_writer *w, const struct import_node *node,
                             struct orr_idmap *names)
{
    const char *model = import_label(node->labels, "nvidia.com/gpu.product");
    const char *base = node->allocatable.v[IMPORT_GPU] == 0 ? "cpu" : model != NULL ? model : "gpu";
    char text[64];
    size_t n = 0;
    for (; base[n] != '\0' && n < 40; n++) {
        const char c = base[n];
        const bool upper = c >= 'A' && c <= 'Z';
        const bool fine = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        text[n] = upper ? (char)(c - 'A' + 'a') : fine ? c : '-';
    }
    text[n] = '\0';
    const char *name = text;
    bool added;
    (void)orr_idmap_put(names, name, strlen(name), &added);
    for (unsigned k = 2; !added; k++) {
        name = import_format(w->load, "%s-%u", text, k);
        (void)orr_idmap_put(names, name, strlen(name), &added);
    }
    return import_format(w->load, "%s", name);
}

/* Numbers the pools: runs of alike nodes in the order of names, or, of too many, all alike ones. */
static void find_pools(struct state_writer *w)
{
    const struct import_model *model = w->model;
    struct orr_idmap kinds;
    orr_idmap_init(&kinds);
    uint32_t runs = 0;
    for (uint32_t i = 0; i < model->node_count; i++) {
        struct state_place *place = &w->places[w->order[i]];
        char *text = describe(w, w->order[i]);
        const char *ready = model->nodes[w->order[i]].ready ? "" : "!";
        place->signature = import_format(w->load, "%s%s", ready, text);
        orr_free(text);
        const struct state_place *before = i > 0 ? &w->places[w->order[i - 1]] : NULL;
        runs += before == NULL || strcmp(before->signature, place->signature) != 0;
        place->pool = runs - 1;
        (void)orr_idmap_put(&kinds, place->signature, strlen(place->signature), NULL);
    }
    w->pool_count = runs;
    if (runs > POOLS_IN_ORDER && kinds.count < runs) {
        w->pool_count = kinds.count;
        for (uint32_t n = 0; n < model->node_count; n++) {
            const char *signature = w->places[n].signature;
            w->places[n].pool = orr_idmap_find(&kinds, signature, strlen(signature));
        }
        state_tell(w, "node-order",
                   "pools of alike nodes whose names lie between others': where nodes "
                   "are equally good, the order of pools decides, not of names",
                   kinds.count);
    }
    orr_idmap_release(&kinds);
}

void state_find_cluster(struct state_writer *w)
{
    const struct import_model *model = w->model;
    w->order = orr_alloc(model->node_count + (size_t)1, sizeof *w->order);
    w->places = orr_zalloc(model->node_count + (size_t)1, sizeof *w->places);
    for (uint32_t n = 0; n < model->node_count; n++) {
        w->order[n] = n;
        w->out->gpus += (double)model->nodes[n].allocatable.v[IMPORT_GPU];
    }
    orr_sort(w->order, model->node_count, sizeof *w->order, by_name, w);
    w->out->nodes = model->node_count;
    collect_keys(w);
    choose_levels(w);
    collect_foreign(w);
    find_pools(w);
}

/* What a pool's lines are; the mark is of nodes that are not ready. */
static void write_pool(struct state_writer *w, uint32_t pool, struct orr_idmap *names,
                       struct orr_idmap *closed)
{
    const struct import_model *model = w->model;
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->node_count; i++) {
        const uint32_t n = w->order[i];
        if (w->places[n].pool != pool) {
            continue;
        }
        if (count++ == 0) {
            const char *lines = w->places[n].signature;
            const char *name = pool_name(w, &model->nodes[n], names);
            if (lines[0] == '!') {
                (void)orr_idmap_put(closed, name, strlen(name), NULL);
            }
            (void)fprintf(w->scenario, "    %s: {%s,\n      names: [", name,
                          lines + (lines[0] == '!'));
        }
        (void)fputs(count == 1 ? "" : count % 8 == 1 ? ",\n              " : ", ", w->scenario);
        orr_put_quoted(w->scenario, model->nodes[n].name);
    }
    (void)fprintf(w->scenario, "],\n      nodes: %u}\n", (unsigned)count);
}

void state_write_cluster(struct state_writer *w)
{
    struct orr_idmap names, closed;
    orr_idmap_init(&names);
    orr_idmap_init(&closed);
    (void)fputs("cluster:\n  pools:\n", w->scenario);
    for (uint32_t p = 0; p < w->pool_count; p++) {
        write_pool(w, p, &names, &closed);
    }
    if (closed.count > 0) {
        (void)fputs("events: # nodes that are not ready\n", w->scenario);
    }
    for (uint32_t c = 0; c < closed.count; c++) {
        (void)fprintf(w->scenario, "- {at: 0s, drain: pool/%s, for: %llds}\n",
                      orr_idmap_name(&closed, c), (long long)(w->rest->horizon_ms / 1000));
    }
    orr_idmap_release(&names);
    orr_idmap_release(&closed);
}

/* --- queues and policy --- */

static void put_amount(FILE *out, const char *name, double value, const char *unit)
{
    if (value < 0) {
        (void)fprintf(out, "%s: unlimited", name);
    } else if (unit[0] == '\0') {
        (void)fprintf(out, "%s: %.12g", name, value);
    } else {
        (void)fprintf(out, "%s: %lld%s", name, llround(value), unit);
    }
}

static void write_queue(struct state_writer *w, const struct import_queue *queue)
{
    static const struct {
        const char *name, *unit;
        enum orr_share_kind kind;
    } resources[] = {
        {"gpu", "", ORR_SHARE_GPU}, {"cpu", "m", ORR_SHARE_CPU}, {"memory", "B", ORR_SHARE_MEMORY}};
    FILE *out = w->scenario;
    char text[32];
    (void)fputs("  ", out);
    orr_put_quoted(out, queue->name);
    (void)fputs(": {", out);
    if (queue->parent[0] != '\0') {
        (void)fputs("parent: ", out);
        orr_put_quoted(out, queue->parent);
        (void)fputs(", ", out);
    }
    for (size_t r = 0; r < sizeof resources / sizeof resources[0]; r++) {
        const struct orr_share_resource *it = &queue->resource[resources[r].kind];
        (void)fprintf(out, "%s: {", resources[r].name);
        put_amount(out, "quota", it->deserved, resources[r].unit);
        (void)fprintf(out, ", weight: %.12g, ", it->weight < 0 ? 0 : it->weight);
        put_amount(out, "limit", it->limit, resources[r].unit);
        (void)fputs("}, ", out);
    }
    if (queue->preempt_min_runtime != ORR_MS_NONE) {
        (void)fprintf(out, "preempt_min_runtime: %lldms, ", (long long)queue->preempt_min_runtime);
    }
    if (queue->reclaim_min_runtime != ORR_MS_NONE) {
        (void)fprintf(out, "reclaim_min_runtime: %lldms, ", (long long)queue->reclaim_min_runtime);
    }
    (void)orr_format_timestamp(text, queue->created_s * 1000);
    (void)fprintf(out, "priority: %lld, created: %s}\n", (long long)queue->priority, text);
}

void state_write_queues(struct state_writer *w)
{
    (void)fputs("queues:\n", w->scenario);
    for (uint32_t q = 0; q < w->model->queue_count; q++) {
        write_queue(w, &w->model->queues[q]);
    }
}

void state_write_policy(struct state_writer *w)
{
    const struct orr_policy *kai = orr_policy_find("kai");
    const char *comma = "";
    (void)fputs("policy:\n  name: kai\n  params: {", w->scenario);
    for (uint32_t i = 0; i < w->model->param_count; i++) {
        const struct import_param *param = &w->model->params[i];
        if (!import_leaves_out(w->model, kai, param)) {
            (void)fputs(comma, w->scenario);
            orr_put_quoted(w->scenario, param->name);
            (void)fputs(": ", w->scenario);
            orr_put_quoted(w->scenario, param->value);
            comma = ", ";
        }
    }
    (void)fputs("}\n", w->scenario);
}
