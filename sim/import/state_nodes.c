/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state_nodes.c - nodes as pools, and all that tells them apart: resources, labels, taints,
 * domains. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <orrery/sim/yaml.h>

#include "state_int.h"

#define POOLS_IN_ORDER 64 /* more, and alike nodes are joined wherever their names are */
#define PLENTY         ((int64_t)100000000000000)

const char *const state_level_names[LEVELS] = {"zone", "block", "rack"};

/* What pods ask of other resources: a run counts none of them, but knows the nodes that have as
 * much.
 */
uint32_t state_amount_of(struct writer *w, uint32_t resource, int64_t least)
{
    char text[300];
    const int bytes =
        snprintf(text, sizeof text, "%.250s=%" PRId64,
                 orr_idmap_name(&w->model->resources, resource - IMPORT_EXTENDED), least);
    bool added;
    const uint32_t index = orr_idmap_put(&w->amounts, text, (size_t)bytes, &added);
    if (added) {
        w->asked = ORR_ROOM_FOR_ONE(w->asked, index, w->asked_capacity);
        w->asked[index] = (struct amount){resource, least};
    }
    return index;
}

void state_collect_amounts(struct writer *w)
{
    for (uint32_t j = 0; j < w->model->job_count; j++) {
        bool asks = false;
        for (uint32_t p = w->model->jobs[j].first_pod; p != ORR_NONE && !w->left_out[j];
             p = w->model->pods[p].next) {
            for (uint32_t r = 0; r < w->model->resources.count; r++) {
                const int64_t least = w->model->pods[p].request.vec.v[IMPORT_EXTENDED + r];
                if (least > 0 && !state_counts_profile(w->model, r)) {
                    (void)state_amount_of(w, IMPORT_EXTENDED + r, least);
                    asks = true;
                }
            }
        }
        if (asks) {
            state_note(
                w, "resources",
                "jobs that ask for resources other than CPU, memory and GPUs: they may be on "
                "nodes that have as much, but what is taken of it is not counted",
                1);
        }
    }
}

/* Labels by which pods select; the host's name is its own. */
void state_collect_keys(struct writer *w)
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
void state_choose_levels(struct writer *w)
{
    const struct import_model *model = w->model;
    for (uint32_t t = 0; t < model->topology_count; t++) {
        uint32_t levels = 0, had = 0;
        for (uint32_t l = 0; l < model->topologies[t].level_count; l++) {
            levels += strcmp(model->topologies[t].labels[l], "kubernetes.io/hostname") != 0;
        }
        for (uint32_t l = 0; w->topology != NULL && l < LEVELS; l++) {
            had += w->levels[l] != NULL;
        }
        if (levels <= had || levels > LEVELS) {
            continue;
        }
        w->topology = &model->topologies[t];
        for (uint32_t l = 0, at = LEVELS - levels; l < w->topology->level_count; l++) {
            if (strcmp(w->topology->labels[l], "kubernetes.io/hostname") != 0) {
                w->levels[at++] = w->topology->labels[l];
            }
        }
        for (uint32_t l = 0; l < LEVELS - levels; l++) {
            w->levels[l] = NULL;
        }
    }
    if (model->topology_count > (w->topology != NULL)) {
        state_note(w, "topologies",
                   "topologies that are not carried over: a scenario has one, of at "
                   "most three levels above the node",
                   model->topology_count - (w->topology != NULL));
    }
}

static const char *domain_of(const struct writer *w, const struct import_node *node, uint32_t level)
{
    return w->levels[level] == NULL ? NULL : import_label(node->labels, w->levels[level]);
}

static bool has_instances(const struct import_model *model, const struct import_node *node)
{
    bool has = false;
    for (uint32_t r = 0; r < model->resources.count; r++) {
        has =
            has || (state_counts_profile(model, r) && node->allocatable.v[IMPORT_EXTENDED + r] > 0);
    }
    return has;
}

/* MIG instances of a node that foreign pods leave. */
static void put_instances(const struct writer *w, uint32_t n, FILE *out)
{
    const char *comma = ", mig: {";
    for (uint32_t r = 0; r < w->model->resources.count; r++) {
        const int64_t left = w->places[n].left[IMPORT_EXTENDED + r];
        if (state_counts_profile(w->model, r) && left > 0) {
            (void)fputs(comma, out);
            orr_put_quoted(out, state_profile_of(w->model, r));
            (void)fprintf(out, ": %" PRId64, left);
            comma = ", ";
        }
    }
    (void)fputs(comma[2] == 'm' ? "" : "}", out);
}

/* Labels by which a run knows a MIG node; what pods select by is written anyway. */
static const char *put_mig(struct writer *w, const struct import_node *node, const char *comma,
                           FILE *out)
{
    static const char *const strategies[] = {NULL, "none", "single", "mixed"};
    const char *const labels[][2] = {
        {"node-role.kubernetes.io/mig-enabled", node->is_mig ? "true" : "false"},
        {"nvidia.com/mig.strategy", strategies[node->mig_strategy]}};
    for (size_t i = 0; i < 2 && (node->is_mig || has_instances(w->model, node)); i++) {
        const char *key = labels[i][0];
        const bool written = orr_idmap_find(&w->keys, key, strlen(key)) != ORR_NONE &&
                             import_label(node->labels, key) != NULL;
        if (labels[i][1] != NULL && !written) {
            (void)fputs(comma, out);
            orr_put_quoted(out, key);
            (void)fputs(": ", out);
            orr_put_quoted(out, labels[i][1]);
            comma = ", ";
        }
    }
    return comma;
}

/* Labels of its own, and those that stand for what selectors of the pods ask. */
static void put_labels(struct writer *w, const struct import_node *node, FILE *out)
{
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
    comma = put_mig(w, node, comma, out);
    for (uint32_t a = 0; a < w->affinities.count; a++) {
        if (import_affinity_admits(w->affine[a]->affinity, node)) {
            (void)fprintf(out, "%saffinity-%u: \"yes\"", comma, (unsigned)a + 1);
            comma = ", ";
        }
    }
    for (uint32_t a = 0; a < w->amounts.count; a++) {
        if (node->allocatable.v[w->asked[a].resource] >= w->asked[a].least) {
            (void)fprintf(out, "%sresource-%u: \"yes\"", comma, (unsigned)a + 1);
            comma = ", ";
        }
    }
    for (int gpu = 0; gpu < 2 && w->model->restrict_nodes; gpu++) {
        if (gpu ? node->gpu_worker : node->cpu_worker) {
            (void)fprintf(out, "%sworker-%s: \"yes\"", comma, gpu ? "gpu" : "cpu");
            comma = ", ";
        }
    }
    (void)fputs(strcmp(comma, ", ") == 0 ? "}" : "", out);
}

static void put_taints(const struct writer *w, const struct import_node *node, FILE *out)
{
    const char *comma = ", taints: [";
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
}

/* The lines of the pool that the node is of, but for how many there are. */
static char *describe(struct writer *w, uint32_t n)
{
    const struct import_node *node = &w->model->nodes[n];
    const struct place *place = &w->places[n];
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
    put_instances(w, n, out);
    for (uint32_t l = 0; l < LEVELS; l++) {
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
    put_labels(w, node, out);
    put_taints(w, node, out);
    (void)fclose(out);
    return text;
}

/* A name for a pool by what its GPUs are. */
static const char *pool_name(struct writer *w, const struct import_node *node,
                             struct orr_idmap *names)
{
    const char *model = import_label(node->labels, "nvidia.com/gpu.product");
    const bool devices = node->allocatable.v[IMPORT_GPU] > 0;
    const bool gpus = devices || has_instances(w->model, node);
    const char *base = !gpus ? "cpu" : model != NULL ? model : devices ? "gpu" : "mig";
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
void state_find_pools(struct writer *w)
{
    const struct import_model *model = w->model;
    struct orr_idmap kinds;
    orr_idmap_init(&kinds);
    uint32_t runs = 0;
    for (uint32_t i = 0; i < model->node_count; i++) {
        struct place *place = &w->places[w->order[i]];
        char *text = describe(w, w->order[i]);
        const char *ready = model->nodes[w->order[i]].ready ? "" : "!";
        place->signature = import_format(w->load, "%s%s", ready, text);
        orr_free(text);
        const struct place *before = i > 0 ? &w->places[w->order[i - 1]] : NULL;
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
        state_note(w, "node-order",
                   "pools of alike nodes whose names lie between others': where nodes "
                   "are equally good, the order of pools decides, not of names",
                   kinds.count);
    }
    orr_idmap_release(&kinds);
}

/* What a pool's lines are; the mark is of nodes that are not ready. */
static void write_pool(struct writer *w, uint32_t pool, struct orr_idmap *names,
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

void state_write_cluster(struct writer *w)
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
