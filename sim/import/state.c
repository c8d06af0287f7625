/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.c - a model as a scenario and a trace that begin from it.
 *
 *   nodes    those that are alike, one after the other by name, are a pool: what they give, the
 *            labels that pods select by, taints, domains, what others hold there
 *   queues   as they are
 *   jobs     a row each; one whose pods differ, or that has several subgroups, by a template. Pods
 *            that are on nodes are seats on GPUs: shared ones as their groups say, others the
 *            lowest that are free, for Kubernetes does not tell them
 *   rest     how long they run: given, or drawn from a history
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/policies/registry.h>
#include <orrery/traces/durations.h>
#include <orrery/traces/native.h>

#include "model.h"
#include "state.h"

#define POOLS_IN_ORDER 64 /* more, and alike nodes are joined wherever their names are */
#define LEVELS         3
#define PLENTY         ((int64_t)100000000000000)
#define FOREVER_MS     ((orr_ms)3650 * 86400000)
#define LEAVES_MS      30000 /* what is being deleted */

struct place { /* of a node, while jobs are seated on it */
    int64_t left[IMPORT_RESOURCES_MAX];
    uint64_t devices;      /* free ones */
    int64_t foreign[4];    /* milli-CPU, bytes, GPUs, pods */
    const char *signature; /* alike nodes have equal ones */
    uint32_t pool;
};

struct writer {
    struct import_model *model;
    const struct orr_snapshot_rest *rest;
    struct orr_snapshot_state *out;
    struct import_load *load;
    FILE *scenario, *trace;
    const char *trace_name;
    uint32_t *order; /* nodes by name */
    struct place *places;
    uint32_t pool_count;
    struct orr_idmap keys;            /* labels that pods select by */
    struct orr_idmap affinities;      /* canonical texts, each a label of its own */
    const struct import_pod **affine; /* a pod of each */
    uint32_t affine_capacity;
    struct orr_idmap devices; /* "node/group" */
    uint8_t *device_of;       /* by that */
    uint32_t device_capacity;
    struct orr_idmap templates;             /* by their text */
    const char *levels[LEVELS];             /* labels that are zone, block, rack; NULL: none */
    const struct import_topology *topology; /* that they are of */
    struct orr_durations *durations;
};

static const char *const level_names[LEVELS] = {"zone", "block", "rack"};

/* --- what the snapshot does not say ------------------------------------------------------------
 */

static void tell(struct writer *w, const char *code, const char *text, uint64_t more)
{
    struct orr_snapshot_state *out = w->out;
    uint32_t f = 0;
    while (f < out->fact_count && strcmp(out->facts[f].code, code) != 0) {
        f++;
    }
    if (f == out->fact_count) {
        ORR_ASSERT(f < ORR_SNAPSHOT_FACTS);
        out->facts[out->fact_count++] = (struct orr_snapshot_fact){
            .code = code, .text = orr_arena_strndup(&out->arena, text, strlen(text))};
    }
    out->facts[f].count += more;
}

/* --- YAML --------------------------------------------------------------------------------------
 */

static void put_quoted(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)fputc('\\', out);
        }
        if ((unsigned char)*text >= 0x20) {
            (void)fputc(*text, out);
        }
    }
    (void)fputc('"', out);
}

/* --- nodes -------------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b, void *context)
{
    const struct writer *w = context;
    return strcmp(w->model->nodes[*(const uint32_t *)a].name,
                  w->model->nodes[*(const uint32_t *)b].name);
}

static uint32_t find_node(const struct writer *w, const char *name)
{
    return name == NULL ? ORR_NONE : orr_idmap_find(&w->model->node_names, name, strlen(name));
}

static bool is_held(const struct import_pod *pod)
{
    return orr_status_in(pod->status, ORR_STATES_ACTIVE_USED) || pod->status == ORR_TASK_RELEASING;
}

static bool waits(const struct import_pod *pod)
{
    return pod->status == ORR_TASK_PENDING || pod->status == ORR_TASK_GATED;
}

/* Labels by which pods select; the host's name is its own. */
static void collect_keys(struct writer *w)
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
static void choose_levels(struct writer *w)
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
        tell(w, "topologies",
             "topologies that are not carried over: a scenario has one, of at "
             "most three levels above the node",
             model->topology_count - (w->topology != NULL));
    }
}

static void add_foreign(struct place *place, const struct import_vec *held, int64_t gpus)
{
    place->foreign[0] += held->v[IMPORT_CPU];
    place->foreign[1] += held->v[IMPORT_MEMORY];
    place->foreign[2] += gpus;
    place->foreign[3] += held->v[IMPORT_PODS];
}

/* Pods of other schedulers, and ours that no job here has. */
static void collect_foreign(struct writer *w)
{
    const struct import_model *model = w->model;
    uint64_t loose = 0;
    for (uint32_t i = 0; i < model->foreign_count; i++) {
        const uint32_t node = find_node(w, model->foreign[i].node);
        if (node != ORR_NONE) {
            const struct import_vec *held = &model->foreign[i].held;
            add_foreign(&w->places[node], held, held->v[IMPORT_GPU]);
        }
    }
    for (uint32_t p = 0; p < model->pod_count; p++) {
        const struct import_pod *pod = &model->pods[p];
        const uint32_t node = find_node(w, pod->node);
        if (pod->job == ORR_NONE && is_held(pod) && node != ORR_NONE) {
            const bool shares = pod->request.devices > 0;
            add_foreign(&w->places[node], &pod->request.vec,
                        shares ? pod->request.devices : pod->request.vec.v[IMPORT_GPU]);
            loose++;
        }
    }
    if (model->foreign_count + loose > 0) {
        tell(
            w, "foreign",
            "pods of other schedulers, or of no job here: when they end is not known, so they hold "
            "their room for good",
            model->foreign_count + loose);
    }
    for (uint32_t n = 0; n < model->node_count; n++) {
        struct place *place = &w->places[n];
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

static const char *domain_of(const struct writer *w, const struct import_node *node, uint32_t level)
{
    return w->levels[level] == NULL ? NULL : import_label(node->labels, w->levels[level]);
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
        put_quoted(out, model);
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
    for (uint32_t l = 0; l < LEVELS; l++) {
        const char *domain = domain_of(w, node, l);
        if (domain != NULL) { /* a rack is another in another block */
            (void)fprintf(out, ", %s: ", level_names[l]);
            const char *above = l > 0 ? domain_of(w, node, l - 1) : NULL;
            put_quoted(out,
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
            put_quoted(out, key);
            (void)fputs(": ", out);
            put_quoted(out, value);
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
            put_quoted(out, import_format(w->load, "%s%s%s:%s", key, value != NULL ? "=" : "",
                                          value != NULL ? value : "", effect));
            comma = ", ";
        }
    }
    (void)fputs(strcmp(comma, ", ") == 0 ? "]" : "", out);
    (void)fclose(out);
    return text;
}

/* A name for a pool by what its GPUs are. */
static const char *pool_name(struct writer *w, const struct import_node *node,
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
static void find_pools(struct writer *w)
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
        tell(w, "node-order",
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
        put_quoted(w->scenario, model->nodes[n].name);
    }
    (void)fprintf(w->scenario, "],\n      nodes: %u}\n", (unsigned)count);
}

static void write_cluster(struct writer *w)
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

/* --- queues and policy -------------------------------------------------------------------------
 */

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

static void write_queue(struct writer *w, const struct import_queue *queue)
{
    static const struct {
        const char *name, *unit;
        enum orr_share_kind kind;
    } resources[] = {
        {"gpu", "", ORR_SHARE_GPU}, {"cpu", "m", ORR_SHARE_CPU}, {"memory", "B", ORR_SHARE_MEMORY}};
    FILE *out = w->scenario;
    char text[32];
    (void)fputs("  ", out);
    put_quoted(out, queue->name);
    (void)fputs(": {", out);
    if (queue->parent[0] != '\0') {
        (void)fputs("parent: ", out);
        put_quoted(out, queue->parent);
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

static void write_policy(struct writer *w)
{
    const struct orr_policy *kai = orr_policy_find("kai");
    const char *comma = "";
    (void)fputs("policy:\n  name: kai\n  params: {", w->scenario);
    for (uint32_t i = 0; i < w->model->param_count; i++) {
        const struct import_param *param = &w->model->params[i];
        if (!import_leaves_out(w->model, kai, param)) {
            (void)fputs(comma, w->scenario);
            put_quoted(w->scenario, param->name);
            (void)fputs(": ", w->scenario);
            put_quoted(w->scenario, param->value);
            comma = ", ";
        }
    }
    (void)fputs("}\n", w->scenario);
}

/* --- jobs --------------------------------------------------------------------------------------
 */

struct ask { /* of pods that are alike */
    uint32_t set;
    uint32_t pods, held; /* of these, those on nodes */
    uint32_t first;      /* a pod of them */
};

struct job {
    const struct import_job *is;
    enum orr_kind kind;
    struct ask *asks;
    uint32_t ask_count, ask_capacity;
    uint32_t pods, held, leaving;
    orr_ms since_ms; /* of those that are on nodes */
    double gpus;
    char *on;      /* running_on; NULL: it waits */
    bool anywhere; /* it is where it may not be */
};

static bool same_ask(const struct import_pod *a, const struct import_pod *b)
{
    const struct import_request *x = &a->request, *y = &b->request;
    return a->constraint_key == b->constraint_key && x->kind == y->kind &&
           x->devices == y->devices && !(x->portion < y->portion) && !(x->portion > y->portion) &&
           x->memory_mib == y->memory_mib && memcmp(&x->vec, &y->vec, sizeof x->vec) == 0;
}

static uint32_t set_of(const struct import_job *job, const struct import_pod *pod)
{
    const char *wanted = pod->subset[0] == '\0' ? "default" : pod->subset;
    for (uint32_t s = 0; s < job->set_count; s++) {
        if (job->sets[s].is_pods && strcmp(job->sets[s].name, wanted) == 0) {
            return s;
        }
    }
    return ORR_NONE;
}

static double gpus_of(const struct import_pod *pod)
{
    return pod->request.kind == ORR_ASK_FRACTION ? pod->request.portion * pod->request.devices
           : pod->request.devices > 0            ? pod->request.devices
                                                 : (double)pod->request.vec.v[IMPORT_GPU];
}

static void add_pod(struct job *job, const struct import_model *model, uint32_t p, uint32_t set)
{
    const struct import_pod *pod = &model->pods[p];
    const bool held = is_held(pod);
    uint32_t a = 0;
    while (a < job->ask_count &&
           (job->asks[a].set != set || !same_ask(pod, &model->pods[job->asks[a].first]))) {
        a++;
    }
    if (a == job->ask_count) {
        job->asks = ORR_ROOM_FOR_ONE(job->asks, a, job->ask_capacity);
        job->asks[job->ask_count++] = (struct ask){.set = set, .first = p};
    }
    job->asks[a].pods++;
    job->asks[a].held += held;
    job->pods++;
    job->held += held;
    job->leaving += pod->status == ORR_TASK_RELEASING;
    job->gpus += gpus_of(pod);
    if (held && pod->created_s * 1000 > job->since_ms) {
        job->since_ms = pod->created_s * 1000;
    }
}

static enum orr_kind kind_of(const struct import_job *job)
{
    static const char *const serves[] = {"Deployment",       "Service",  "LeaderWorkerSet",
                                         "InferenceService", "Revision", "ReplicaSet"};
    for (size_t i = 0; job->origin != NULL && i < sizeof serves / sizeof serves[0]; i++) {
        if (strcmp(job->origin, serves[i]) == 0) {
            return ORR_KIND_INFERENCE;
        }
    }
    if (job->origin != NULL && strcmp(job->origin, "Notebook") == 0) {
        return ORR_KIND_INTERACTIVE;
    }
    return job->priority >= 125   ? ORR_KIND_INFERENCE
           : job->priority >= 100 ? ORR_KIND_INTERACTIVE
                                  : ORR_KIND_TRAINING;
}

/* --- seats --- */

static bool fits(const struct place *place, const struct import_vec *asked)
{
    for (uint32_t r = 0; r < IMPORT_RESOURCES_MAX; r++) {
        if (r != IMPORT_GPU && asked->v[r] > 0 && asked->v[r] > place->left[r]) {
            return false;
        }
    }
    return true;
}

/* The device that is a shared group of the node, a fresh one for a name that is new. 64: none. */
static unsigned device_of(struct writer *w, struct place *place, const char *node, const char *name)
{
    const char *key = import_format(w->load, "%s/%s", node, name);
    bool added;
    const uint32_t index = orr_idmap_put(&w->devices, key, strlen(key), &added);
    if (added) {
        w->device_of = ORR_ROOM_FOR_ONE(w->device_of, index, w->device_capacity);
        w->device_of[index] = place->devices == 0 ? 64 : (uint8_t)__builtin_ctzll(place->devices);
        place->devices &= place->devices - (place->devices != 0);
    }
    return w->device_of[index];
}

/* Which devices of its node the pod has; false: there are not so many. */
static bool seat_devices(struct writer *w, const struct import_pod *pod, struct place *place,
                         uint64_t *mask)
{
    const struct import_request *request = &pod->request;
    const bool shared = request->kind == ORR_ASK_FRACTION || request->kind == ORR_ASK_MEMORY;
    const uint32_t count = shared ? request->devices : (uint32_t)request->vec.v[IMPORT_GPU];
    *mask = 0;
    for (uint32_t d = 0; d < count; d++) {
        unsigned device = place->devices == 0 ? 64 : (unsigned)__builtin_ctzll(place->devices);
        if (shared && d < pod->group_count) {
            device = device_of(w, place, pod->node, pod->groups[d]);
        } else {
            place->devices &= place->devices - (place->devices != 0);
        }
        if (device == 64) {
            return false;
        }
        *mask |= (uint64_t)1 << device;
    }
    return true;
}

static void put_seat(FILE *out, const char *node, uint64_t mask)
{
    (void)fprintf(out, "%s", node);
    const char *mark = ":";
    while (mask != 0) {
        const unsigned first = (unsigned)__builtin_ctzll(mask);
        unsigned last = first;
        while (last < 63 && (mask >> (last + 1) & 1) != 0) {
            last++;
        }
        (void)fprintf(out, last > first ? "%s%u-%u" : "%s%u", mark, first, last);
        mark = ",";
        mask &= last == 63 ? 0 : ~(((uint64_t)1 << (last + 1)) - 1);
    }
}

static bool may_be_on(const struct import_pod *pod, const struct import_node *node)
{
    return import_selects(pod->selector, node) && import_affinity_admits(pod->affinity, node) &&
           import_tolerates(pod->tolerations, node);
}

/* Where its pods are, in the order of its asks; false: they cannot all be there. */
static bool seat_job(struct writer *w, struct job *job)
{
    size_t bytes;
    FILE *out = open_memstream(&job->on, &bytes);
    bool good = true;
    ORR_ASSERT(out != NULL);
    for (uint32_t a = 0; a < job->ask_count; a++) {
        (void)fputs(a > 0 ? " | " : "", out);
        const char *blank = "";
        for (uint32_t p = job->is->first_pod; p != ORR_NONE; p = w->model->pods[p].next) {
            const struct import_pod *pod = &w->model->pods[p];
            const uint32_t n = find_node(w, pod->node);
            if (!is_held(pod) || set_of(job->is, pod) != job->asks[a].set ||
                !same_ask(pod, &w->model->pods[job->asks[a].first])) {
                continue;
            }
            uint64_t mask = 0;
            if (n == ORR_NONE || w->model->nodes[n].allocatable.v[IMPORT_GPU] > 64 ||
                !fits(&w->places[n], &pod->request.vec) ||
                !seat_devices(w, pod, &w->places[n], &mask)) {
                good = false;
                continue;
            }
            for (uint32_t r = 0; r < IMPORT_RESOURCES_MAX; r++) {
                w->places[n].left[r] -= pod->request.vec.v[r];
            }
            job->anywhere = job->anywhere || !may_be_on(pod, &w->model->nodes[n]);
            (void)fputs(blank, out);
            put_seat(out, pod->node, mask);
            blank = " ";
        }
    }
    (void)fclose(out);
    return good;
}

/* --- how long they run --- */

static orr_ms run_ms(struct writer *w, const struct job *job, orr_ms age_ms)
{
    const struct orr_snapshot_rest *rest = w->rest;
    if (job->held > 0 && job->leaving == job->held) {
        tell(w, "leaving", "jobs that are being deleted: they hold their room for 30 s more", 1);
        return age_ms + LEAVES_MS;
    }
    if (job->kind == ORR_KIND_INFERENCE) {
        tell(w, "services", "jobs that serve: they go on beyond the horizon", 1);
        return FOREVER_MS;
    }
    if (w->durations == NULL) {
        tell(w, job->held > 0 ? "remaining" : "run-times",
             job->held > 0
                 ? "jobs that run: how long they go on is not in a snapshot, taken as --remaining"
                 : "jobs that wait: how long they run is not in a snapshot, taken as --run-time",
             1);
        return job->held > 0 ? age_ms + rest->remaining_ms : rest->run_ms;
    }
    const struct orr_duration_of of = {
        .user = ORR_NONE,
        .queue = orr_idmap_find(&rest->history->queues, job->is->queue, strlen(job->is->queue)),
        .kind = (uint32_t)job->kind,
        .size = (uint32_t)ceil(job->gpus),
        .limit_ms = ORR_MS_NONE};
    const struct orr_duration_draw drawn =
        orr_durations_draw(w->durations, &of, age_ms, rest->seed, job->is->name, 0);
    tell(w, job->held > 0 ? "remaining" : "run-times",
         job->held > 0
             ? "jobs that run: how long they go on is drawn from the history, given their "
               "age"
             : "jobs that wait: how long they run is drawn from the history",
         1);
    return drawn.run_ms > age_ms ? drawn.run_ms : age_ms + 1000;
}

static void open_history(struct writer *w)
{
    const struct orr_workload *history = w->rest->history;
    if (history == NULL) {
        return;
    }
    w->durations = orr_durations_open();
    for (uint32_t r = 0; r < history->count; r++) {
        const struct orr_row *row = &history->rows[r];
        struct orr_job_fact fact;
        orr_workload_fact(history, row, &fact);
        if (fact.run_ms == ORR_MS_NONE) {
            continue;
        }
        const struct orr_duration_of of = {.user = ORR_NONE,
                                           .queue = row->queue,
                                           .kind = (uint32_t)row->kind,
                                           .size =
                                               (uint32_t)((fact.mgpu + ORR_MGPU - 1) / ORR_MGPU),
                                           .limit_ms = ORR_MS_NONE};
        orr_durations_add(w->durations, &of, fact.run_ms, true);
    }
    orr_durations_sort(w->durations);
}

/* --- what they ask --- */

static char *selector_of(struct writer *w, const struct import_pod *pod)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    const char *mark = "";
    IMPORT_EACH(want, pod->selector)
    {
        (void)fprintf(out, "%s%s=%s", mark, want->key, want->kind == IMPORT_TEXT ? want->text : "");
        mark = ";";
    }
    const struct import_value *required =
        import_get(pod->affinity, "nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    if (required != NULL) {
        char *canonical = import_canonical(required);
        const uint32_t a = orr_idmap_find(&w->affinities, canonical, strlen(canonical));
        (void)fprintf(out, "%saffinity-%u=yes", mark, (unsigned)a + 1);
        orr_free(canonical);
    }
    (void)fclose(out);
    return text;
}

static char *tolerations_of(const struct import_pod *pod)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    const char *mark = "";
    IMPORT_EACH(it, pod->tolerations)
    {
        const char *key = import_label(it, "key"), *value = import_label(it, "value");
        const char *effect = import_label(it, "effect"), *op = import_label(it, "operator");
        const bool exists = op != NULL && strcmp(op, "Exists") == 0;
        if (effect != NULL && strcmp(effect, "PreferNoSchedule") == 0) {
            continue;
        }
        if (key == NULL || key[0] == '\0') {
            (void)fprintf(out, "%s%s", exists ? mark : "", exists ? "*" : "");
        } else {
            (void)fprintf(out, "%s%s", mark, key);
            if (!exists && value != NULL && value[0] != '\0') {
                (void)fprintf(out, "=%s", value);
            }
            if (effect != NULL && effect[0] != '\0') {
                (void)fprintf(out, ":%s", effect);
            }
        }
        mark = ";";
    }
    (void)fclose(out);
    return text;
}

static const char *level_named(struct writer *w, const char *topology, const char *label)
{
    if (label == NULL || w->topology == NULL || strcmp(topology, w->topology->name) != 0) {
        if (label != NULL) {
            tell(w, "levels", "jobs or subgroups that ask for a level which is not carried over",
                 1);
        }
        return NULL;
    }
    for (uint32_t l = 0; l < w->topology->level_count; l++) {
        const char *alias = w->topology->aliases[l];
        if (alias != NULL && strcmp(alias, label) == 0) {
            label = w->topology->labels[l];
        }
    }
    for (uint32_t l = 0; l < LEVELS; l++) {
        if (w->levels[l] != NULL && strcmp(w->levels[l], label) == 0) {
            return level_names[l];
        }
    }
    return strcmp(label, "kubernetes.io/hostname") == 0 ? "node" : NULL;
}

/* --- rows --------------------------------------------------------------------------------------
 */

static void put_cell(FILE *out, const char *text)
{
    const bool plain = strpbrk(text, ",\"\r\n") == NULL;
    if (plain) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        (void)fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    }
    (void)fputc('"', out);
}

/* Pods of a set that start together. */
static uint32_t min_of(const struct job *job, uint32_t set)
{
    uint32_t pods = 0;
    for (uint32_t a = 0; a < job->ask_count; a++) {
        pods += job->asks[a].set == set ? job->asks[a].pods : 0;
    }
    const int64_t min = job->is->sets[set].min;
    return min < 0 || min > pods ? pods : (uint32_t)min;
}

static bool has_gang(const struct job *job)
{
    for (uint32_t s = 1; s < job->is->set_count; s++) {
        uint32_t held = 0;
        for (uint32_t a = 0; a < job->ask_count; a++) {
            held += job->asks[a].set == s ? job->asks[a].held : 0;
        }
        if (job->is->sets[s].is_pods && held < min_of(job, s)) {
            return false;
        }
    }
    return true;
}

struct levels {
    const char *required, *preferred;
};

static struct levels levels_of(struct writer *w, const struct orr_constraint *constraint)
{
    struct levels levels = {0};
    if (constraint->topology != NULL) {
        levels.required = level_named(w, constraint->topology, constraint->required);
        levels.preferred = level_named(w, constraint->topology, constraint->preferred);
    }
    return levels;
}

/* What pods that are alike ask, as keys of a role. */
static void put_role(struct writer *w, FILE *out, const struct job *job, const struct ask *ask,
                     uint32_t min)
{
    const struct import_pod *pod = &w->model->pods[ask->first];
    const struct import_request *request = &pod->request;
    char *selector = selector_of(w, pod), *tolerations = tolerations_of(pod);
    (void)fprintf(out, "{pods: %u, min: %u, cpu: %" PRId64 "m, memory: %" PRId64 "Mi",
                  (unsigned)ask->pods, (unsigned)min, request->vec.v[IMPORT_CPU],
                  request->vec.v[IMPORT_MEMORY] / ORR_MIB);
    if (request->kind == ORR_ASK_FRACTION) {
        (void)fprintf(out, ", gpu_fraction: %.3f, gpu_devices: %u", request->portion,
                      (unsigned)request->devices);
    } else if (request->kind == ORR_ASK_MEMORY) {
        (void)fprintf(out, ", gpu_memory: %" PRId64 "Mi, gpu_devices: %u", request->memory_mib,
                      (unsigned)request->devices);
    } else {
        (void)fprintf(out, ", gpus_per_pod: %" PRId64, request->vec.v[IMPORT_GPU]);
    }
    if (selector[0] != '\0' && !job->anywhere) {
        (void)fputs(", node_selector: ", out);
        put_quoted(out, selector);
    }
    if (tolerations[0] != '\0' || job->anywhere) {
        (void)fputs(", tolerations: ", out);
        put_quoted(out, job->anywhere ? "*" : tolerations);
    }
    const struct levels levels = levels_of(w, &job->is->sets[ask->set].constraint);
    if (levels.required != NULL || levels.preferred != NULL) {
        (void)fprintf(out, ", topology: {%s%s%s%s%s}", levels.required != NULL ? "required: " : "",
                      levels.required != NULL ? levels.required : "",
                      levels.required != NULL && levels.preferred != NULL ? ", " : "",
                      levels.preferred != NULL ? "preferred: " : "",
                      levels.preferred != NULL ? levels.preferred : "");
    }
    (void)fputs("}", out);
    orr_free(selector);
    orr_free(tolerations);
}

/* The name of the template that the job's roles make, written at the end. */
static const char *template_of(struct writer *w, const struct job *job)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    uint32_t subgroups = 0, nested = 0;
    bool mixed = false;
    ORR_ASSERT(out != NULL);
    for (uint32_t s = 1; s < job->is->set_count; s++) {
        subgroups += job->is->sets[s].parent == 0;
        nested += job->is->sets[s].parent != 0;
    }
    (void)fputs("{", out);
    const int64_t needs = job->is->sets[0].min;
    if (needs >= 0 && needs < subgroups && nested == 0) {
        (void)fprintf(out, "min_subgroups: %" PRId64 ", ", needs);
    }
    (void)fputs("roles: {", out);
    uint32_t *rest = orr_zalloc(job->is->set_count + (size_t)1, sizeof *rest);
    for (uint32_t s = 1; s < job->is->set_count; s++) {
        rest[s] = min_of(job, s);
    }
    for (uint32_t a = 0; a < job->ask_count; a++) {
        const struct ask *ask = &job->asks[a];
        const uint32_t min = rest[ask->set] < ask->pods ? rest[ask->set] : ask->pods;
        rest[ask->set] -= min;
        mixed = mixed || (min < ask->pods && a > 0 && job->asks[a - 1].set == ask->set);
        (void)fprintf(out, "%sr%u: ", a > 0 ? ", " : "", (unsigned)a + 1);
        put_role(w, out, job, ask, min);
    }
    (void)fputs("}}", out);
    (void)fclose(out);
    orr_free(rest);
    if (nested > 0) {
        tell(w, "nested",
             "jobs with subgroups of subgroups: their pods need one another as if all "
             "were of the job itself",
             1);
    }
    if (mixed) {
        tell(w, "mixed",
             "subgroups of pods that differ, of which some suffice: the first ones are "
             "taken for those",
             1);
    }
    const uint32_t index = orr_idmap_put(&w->templates, text, strlen(text), NULL);
    orr_free(text);
    return import_format(w->load, "t%u", (unsigned)index + 1);
}

static void put_seconds(FILE *out, orr_ms ms)
{
    char text[32];
    (void)orr_format_seconds(text, ms);
    (void)fprintf(out, "%s", text);
}

#define HEADER                                                                                     \
    "job,submit_s,run_s,template,pods,gpus_per_pod,gpu_fraction,gpu_memory_mib,gpu_devices,"       \
    "cpu_milli,mem_mib,min_pods,queue,kind,priority,preemptible,node_selector,tolerations,"        \
    "topology_required,topology_preferred,running_since_s,running_on\n"

/* The cells from pods to min_pods of pods that are all alike. */
static void put_shape(struct writer *w, const struct job *job)
{
    const struct ask *ask = &job->asks[0];
    const struct import_request *request = &w->model->pods[ask->first].request;
    const uint32_t min = min_of(job, ask->set);
    (void)fprintf(w->trace, ",%u,", (unsigned)ask->pods);
    if (request->kind == ORR_ASK_FRACTION) {
        (void)fprintf(w->trace, ",%.3f,,%u", request->portion, (unsigned)request->devices);
    } else if (request->kind == ORR_ASK_MEMORY) {
        (void)fprintf(w->trace, ",,%" PRId64 ",%u", request->memory_mib,
                      (unsigned)request->devices);
    } else {
        (void)fprintf(w->trace, "%" PRId64 ",,,", request->vec.v[IMPORT_GPU]);
    }
    (void)fprintf(w->trace, ",%" PRId64 ",%" PRId64 ",", request->vec.v[IMPORT_CPU],
                  request->vec.v[IMPORT_MEMORY] / ORR_MIB);
    if (min < ask->pods) {
        (void)fprintf(w->trace, "%u", (unsigned)(min > 0 ? min : 1));
    }
}

static void write_row(struct writer *w, struct job *job)
{
    const struct import_job *is = job->is;
    const orr_ms now = w->model->now / 1000 * 1000;
    const bool plain = job->ask_count == 1 && is->set_count == 2;
    orr_ms submit = is->created_s * 1000 - now, since = job->since_ms - now;
    since = is->last_start != ORR_MS_NONE ? is->last_start - now : since;
    since = since > 0 ? 0 : since < submit ? submit : since;
    submit = submit > 0 ? 0 : submit;
    put_cell(w->trace, is->name);
    (void)fputc(',', w->trace);
    put_seconds(w->trace, submit);
    (void)fputc(',', w->trace);
    put_seconds(w->trace, run_ms(w, job, job->on == NULL ? 0 : -since));
    (void)fprintf(w->trace, ",%s", plain ? "" : template_of(w, job));
    if (plain) {
        put_shape(w, job);
    } else {
        (void)fputs(",,,,,,,,", w->trace);
    }
    (void)fputc(',', w->trace);
    put_cell(w->trace, is->queue);
    (void)fprintf(w->trace, ",%s,%" PRId64 ",%s,", orr_kind_name(job->kind), is->priority,
                  is->preemptible ? "true" : "false");
    char *selector = selector_of(w, &w->model->pods[job->asks[0].first]);
    char *tolerations = tolerations_of(&w->model->pods[job->asks[0].first]);
    put_cell(w->trace, plain && !job->anywhere ? selector : "");
    (void)fputc(',', w->trace);
    put_cell(w->trace, !plain ? "" : job->anywhere ? "*" : tolerations);
    orr_free(selector);
    orr_free(tolerations);
    const struct levels own = plain ? levels_of(w, &is->sets[1].constraint) : (struct levels){0};
    const struct levels all = levels_of(w, &is->sets[0].constraint);
    const char *required = all.required != NULL ? all.required : own.required;
    const char *preferred = all.preferred != NULL ? all.preferred : own.preferred;
    (void)fprintf(w->trace, ",%s,%s,", required != NULL ? required : "",
                  preferred != NULL ? preferred : "");
    if (job->on != NULL) {
        put_seconds(w->trace, since);
    }
    (void)fputc(',', w->trace);
    put_cell(w->trace, job->on != NULL ? job->on : "");
    (void)fputc('\n', w->trace);
}

/* MIG, and other resources that a run does not know. */
static bool asks_mig(struct writer *w, const struct job *job)
{
    bool mig = false, other = false;
    for (uint32_t a = 0; a < job->ask_count; a++) {
        const struct import_request *request = &w->model->pods[job->asks[a].first].request;
        for (uint32_t r = 0; r < w->model->resources.count; r++) {
            const bool asked = request->vec.v[IMPORT_EXTENDED + r] > 0;
            const bool is_mig = strstr(orr_idmap_name(&w->model->resources, r), "/mig-") != NULL;
            mig = mig || (asked && is_mig);
            other = other || (asked && !is_mig);
        }
    }
    if (mig) {
        tell(w, "mig",
             "jobs that ask for MIG instances: they are left out, for runs do not know "
             "them yet",
             1);
    } else if (other) {
        tell(w, "resources",
             "jobs that ask for resources other than CPU, memory and GPUs: these "
             "are passed over",
             1);
    }
    return mig;
}

/* Can a run hold jobs of its queue? */
static bool has_queue(struct writer *w, const struct import_job *job)
{
    const struct import_model *model = w->model;
    bool leaf = orr_idmap_find(&model->queue_names, job->queue, strlen(job->queue)) != ORR_NONE;
    for (uint32_t q = 0; q < model->queue_count && leaf; q++) {
        leaf = strcmp(model->queues[q].parent, job->queue) != 0;
    }
    if (!leaf) {
        tell(w, "queues", "jobs of a queue that is not there, or has children: they are left out",
             1);
    }
    return leaf;
}

static void collect_pods(struct writer *w, struct job *job)
{
    bool gated = true;
    for (uint32_t p = job->is->first_pod; p != ORR_NONE; p = w->model->pods[p].next) {
        const struct import_pod *pod = &w->model->pods[p];
        const uint32_t set = set_of(job->is, pod);
        if (set != ORR_NONE && (waits(pod) || is_held(pod))) {
            add_pod(job, w->model, p, set);
            gated = gated && pod->status == ORR_TASK_GATED;
        }
    }
    if (job->ask_count > 0 && gated) {
        tell(w, "gated", "jobs whose pods have scheduling gates: they are left out", 1);
        job->ask_count = 0;
    }
    for (uint32_t a = 0; a < job->ask_count; a++) { /* pods that are still to be made */
        const int64_t min = job->is->sets[job->asks[a].set].min;
        if (job->ask_count == 1 && min > job->asks[a].pods) {
            job->asks[a].pods = (uint32_t)min;
            tell(w, "missing-pods", "gangs whose pods are not all there: taken as whole", 1);
        }
    }
}

static void write_job(struct writer *w, const struct import_job *is)
{
    struct job job = {.is = is, .kind = kind_of(is), .since_ms = is->created_s * 1000};
    collect_pods(w, &job);
    if (job.ask_count > 0 && has_queue(w, is) && !asks_mig(w, &job)) {
        const bool gang = job.held > 0 && has_gang(&job);
        if (job.held > 0 && !gang) {
            tell(w, "below-gang",
                 "gangs of which fewer pods run than they need: they wait here, "
                 "and what they hold is free",
                 1);
            job.held = job.leaving = 0;
        }
        if (gang && !seat_job(w, &job)) {
            tell(w, "no-seat",
                 "jobs that cannot be where they are (a node that is not there, or "
                 "more than it has): they wait here",
                 1);
            orr_free(job.on);
            job.on = NULL;
            job.held = 0;
        }
        w->out->running += job.on != NULL;
        w->out->waiting += job.on == NULL;
        if (job.anywhere) {
            tell(w, "elsewhere",
                 "jobs that are where their selectors or taints would not let them "
                 "start: theirs are passed over",
                 1);
        }
        write_row(w, &job);
    } else {
        w->out->left_out++;
    }
    orr_free(job.on);
    orr_free(job.asks);
}

static int by_age(const void *a, const void *b, void *context)
{
    const struct writer *w = context;
    const struct import_job *x = &w->model->jobs[*(const uint32_t *)a];
    const struct import_job *y = &w->model->jobs[*(const uint32_t *)b];
    return x->created_s != y->created_s ? (x->created_s < y->created_s ? -1 : 1)
                                        : strcmp(x->name, y->name);
}

static void write_jobs(struct writer *w)
{
    const struct import_model *model = w->model;
    uint32_t *order = orr_alloc(model->job_count + (size_t)1, sizeof *order);
    for (uint32_t j = 0; j < model->job_count; j++) {
        order[j] = j;
    }
    orr_sort(order, model->job_count, sizeof *order, by_age, w);
    (void)fputs(HEADER, w->trace);
    for (uint32_t j = 0; j < model->job_count; j++) {
        if (model->jobs[order[j]].set_count > 0) {
            write_job(w, &model->jobs[order[j]]);
        }
    }
    orr_free(order);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void write_head(struct writer *w)
{
    char text[32], span[32];
    (void)orr_format_timestamp(text, w->model->now / 1000 * 1000);
    (void)orr_format_span(span, w->rest->horizon_ms);
    (void)fprintf(w->scenario,
                  "# A cluster as it was at %s. Edit it as any scenario; the jobs are in %s.\n"
                  "apiVersion: orrery/v1alpha1\nkind: Scenario\nstart: %s\nbegin: 0s\n"
                  "horizon: %llds\n",
                  text, w->trace_name, text, (long long)(w->rest->horizon_ms / 1000));
}

static void write_all(struct writer *w)
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
    w->out->queues = model->queue_count;
    collect_keys(w);
    choose_levels(w);
    collect_foreign(w);
    find_pools(w);
    open_history(w);
    write_head(w);
    write_cluster(w);
    (void)fputs("queues:\n", w->scenario);
    for (uint32_t q = 0; q < model->queue_count; q++) {
        write_queue(w, &model->queues[q]);
    }
    write_policy(w);
    (void)fprintf(w->scenario, "workload:\n- {name: jobs, trace: %s, keep_impossible: true}\n",
                  w->trace_name);
    write_jobs(w);
    if (w->templates.count > 0) {
        (void)fputs("templates:\n", w->scenario);
    }
    for (uint32_t t = 0; t < w->templates.count; t++) {
        (void)fprintf(w->scenario, "  t%u: %s\n", (unsigned)t + 1,
                      orr_idmap_name(&w->templates, t));
    }
    tell(w, "arrivals", "jobs that come after now: none, add a workload part for them", 0);
    tell(w, "usage", "past use of queues: 0, as in KAI's own tool", 0);
}

enum orr_status import_write_state(struct import_model *model, const struct orr_snapshot_rest *rest,
                                   const char *trace_name, FILE *scenario, FILE *trace,
                                   struct orr_snapshot_state *out)
{
    struct writer w = {.model = model,
                       .rest = rest,
                       .out = out,
                       .load = model->load,
                       .scenario = scenario,
                       .trace = trace,
                       .trace_name = trace_name};
    struct orr_idmap *const maps[] = {&w.keys, &w.affinities, &w.devices, &w.templates};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_init(maps[i]);
    }
    out->form = import_format(model->load, "%s", model->form != NULL ? model->form : "");
    out->form = orr_arena_strndup(&out->arena, out->form, strlen(out->form));
    out->now = model->now;
    write_all(&w);
    for (uint32_t n = 0; n < model->note_count && n < ORR_SNAPSHOT_FACTS; n++) {
        const char *text = model->notes[n].text;
        out->notes[out->note_count++] =
            (struct orr_snapshot_note){.text = orr_arena_strndup(&out->arena, text, strlen(text)),
                                       .count = model->notes[n].count};
    }
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_release(maps[i]);
    }
    if (w.durations != NULL) {
        orr_durations_close(w.durations);
    }
    orr_free(w.order);
    orr_free(w.places);
    orr_free(w.affine);
    orr_free(w.device_of);
    return model->load->err->status;
}
