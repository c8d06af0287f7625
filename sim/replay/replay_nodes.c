/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_nodes.c - a row's selector and tolerations as filters over the nodes.
 *
 * Nodes carry the labels of their pool and those that Kubernetes and the GPU operator give:
 *   kubernetes.io/hostname, nvidia.com/gpu.product (gpu_model), nvidia.com/gpu.count,
 *   node.kubernetes.io/instance-type (type), topology.kubernetes.io/zone (zone),
 *   kai.scheduler/node-pool (shard), and `pool`
 * A selector is KEY=VALUE, several joined by commas or semicolons, all of which must hold;
 * VALUE may be alternatives A|B. Tolerations are KEY, KEY=VALUE, either with :EFFECT, or * for all.
 * Each text is worked out once for a run. */
#include "replay_int.h"

#include <stdio.h>
#include <string.h>

#define LABEL_SHARD "kai.scheduler/node-pool"

struct piece { /* of a text */
    const char *at;
    size_t bytes;
};

static bool is(struct piece piece, const char *text)
{
    return strlen(text) == piece.bytes && memcmp(text, piece.at, piece.bytes) == 0;
}

/* The next entry of a list; false at its end. */
static bool next_entry(const char **rest, struct piece *entry)
{
    *rest += strspn(*rest, ",; ");
    *entry = (struct piece){*rest, strcspn(*rest, ",; ")};
    *rest += entry->bytes;
    return entry->bytes > 0;
}

/* Cuts an entry at the first of a character; what follows it goes to `after`. */
static struct piece cut(struct piece entry, char at, struct piece *after)
{
    const char *found = memchr(entry.at, at, entry.bytes);
    *after = (struct piece){NULL, 0};
    if (found != NULL) {
        size_t bytes = (size_t)(found - entry.at);
        *after = (struct piece){found + 1, entry.bytes - bytes - 1};
        entry.bytes = bytes;
    }
    return entry;
}

/* Is the value one of the alternatives A|B|C? */
static bool among(struct piece alternatives, const char *value)
{
    while (alternatives.at != NULL) {
        struct piece after;
        if (is(cut(alternatives, '|', &after), value)) {
            return true;
        }
        alternatives = after;
    }
    return false;
}

/* Every pool is a type of its own, in the same order. */
static const struct orr_scenario_pool *pool_of(const struct orr_replay_nodes *nodes, uint32_t node)
{
    return &nodes->scenario->pools[nodes->cluster->nodes[node].type];
}

static const char *label_of(const struct orr_replay_nodes *nodes, uint32_t node, struct piece key,
                            char buffer[16])
{
    const struct orr_scenario_pool *pool = pool_of(nodes, node);
    for (uint32_t i = 0; i < pool->label_count; i++) {
        if (is(key, pool->labels[i].key)) {
            return pool->labels[i].value;
        }
    }
    if (is(key, "nvidia.com/gpu.count")) {
        (void)snprintf(buffer, 16, "%u", pool->gpus);
        return buffer;
    }
    return is(key, "kubernetes.io/hostname")   ? orr_idmap_name(&nodes->cluster->node_names, node)
           : is(key, "nvidia.com/gpu.product") ? pool->gpu_model
           : is(key, "node.kubernetes.io/instance-type") ? pool->type
           : is(key, "topology.kubernetes.io/zone")      ? pool->zone
           : is(key, LABEL_SHARD)                        ? pool->shard
           : is(key, "pool")                             ? pool->name
                                                         : NULL;
}

static bool selected(const struct orr_replay_nodes *nodes, uint32_t node, const char *selector)
{
    struct piece entry, value;
    while (next_entry(&selector, &entry)) {
        char buffer[16];
        struct piece key = cut(entry, '=', &value);
        const char *label = label_of(nodes, node, key, buffer);
        if (label == NULL || !among(value, label)) {
            return false;
        }
    }
    return true;
}

static bool tolerates(const char *tolerations, const struct orr_scenario_taint *taint)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    struct piece entry;
    while (next_entry(&tolerations, &entry)) {
        struct piece effect, value;
        struct piece key = cut(cut(entry, ':', &effect), '=', &value);
        bool keyed =
            is(key, "*") || (is(key, taint->key) && (value.at == NULL || is(value, taint->value)));
        if (keyed && (effect.at == NULL || is(effect, effects[taint->effect]))) {
            return true;
        }
    }
    return false;
}

/* A taint that only prefers keeps nobody out. */
bool orr_replay__tolerates(const char *tolerations, const struct orr_scenario_taint *taints,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (taints[i].effect != ORR_TAINT_PREFER_NO_SCHEDULE &&
            !tolerates(tolerations, &taints[i])) {
            return false;
        }
    }
    return true;
}

static bool tolerated(const struct orr_replay_nodes *nodes, uint32_t node, const char *tolerations)
{
    const struct orr_scenario_pool *pool = pool_of(nodes, node);
    return orr_replay__tolerates(tolerations, pool->taints, pool->taint_count);
}

bool orr_replay__has_label(const struct orr_replay_nodes *nodes, uint32_t node,
                           const struct orr_scenario_label *label)
{
    char buffer[16];
    const char *value =
        label_of(nodes, node, (struct piece){label->key, strlen(label->key)}, buffer);
    return value != NULL && strcmp(value, label->value) == 0;
}

bool orr_replay__selects(const char *selector, const struct orr_scenario_label *labels,
                         uint32_t count)
{
    struct piece entry, value;
    while (next_entry(&selector, &entry)) {
        const struct piece key = cut(entry, '=', &value);
        for (uint32_t i = 0; i < count; i++) {
            if (is(key, labels[i].key) && !among(value, labels[i].value)) {
                return false;
            }
        }
    }
    return true;
}

/* The number of the filter for a text; `sort` keeps selectors and tolerations apart. */
uint32_t orr_replay__filter(struct orr_replay_nodes *nodes, char sort, const char *text,
                            orr_replay__admits_fn *admits)
{
    struct orr_cluster *cluster = nodes->cluster;
    size_t bytes = strlen(text);
    char *name = orr_alloc(bytes + 2, 1);
    bool fresh;
    (void)snprintf(name, bytes + 2, "%c%s", sort, text);
    uint32_t index = orr_idmap_put(&nodes->known, name, bytes + 1, &fresh);
    orr_free(name);
    if (fresh) {
        bool *admitted = orr_alloc(cluster->node_count + (size_t)1, sizeof *admitted);
        for (uint32_t n = 0; n < cluster->node_count; n++) {
            admitted[n] = admits(nodes, n, text);
        }
        uint32_t number = orr_cluster_add_filter(cluster, text, admitted);
        ORR_ASSERT(number == index + 1);
        orr_free(admitted);
    }
    return index + 1;
}

uint32_t orr_replay__selector(struct orr_replay_nodes *nodes, const char *models,
                              const char *selector)
{
    static const char product[] = "nvidia.com/gpu.product=";
    if (models == NULL) {
        return selector == NULL ? 0 : orr_replay__filter(nodes, 's', selector, selected);
    }
    selector = selector == NULL ? "" : selector;
    size_t bytes = sizeof product + strlen(models) + 1 + strlen(selector);
    char *text = orr_alloc(bytes, 1);
    (void)snprintf(text, bytes, "%s%s%s%s", product, models, selector[0] == '\0' ? "" : ";",
                   selector);
    uint32_t filter = orr_replay__filter(nodes, 's', text, selected);
    orr_free(text);
    return filter;
}

static const struct orr_scenario_queue *find_queue(const struct orr_scenario *scenario,
                                                   const char *name)
{
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        if (strcmp(scenario->queues[q].name, name) == 0) {
            return &scenario->queues[q];
        }
    }
    return NULL;
}

/* Kueue gives pods the tolerations of the flavor that they are admitted with: here those of all
 * flavors of their queue, whichever it will be. */
static char *with_flavors(const struct orr_replay_nodes *nodes, const char *queue,
                          const char *tolerations)
{
    const struct orr_scenario_queue *from =
        nodes->flavored && queue != NULL ? find_queue(nodes->scenario, queue) : NULL;
    char *text = orr_strdup(tolerations == NULL ? "" : tolerations);
    for (uint32_t f = 0; from != NULL && f < from->flavor_count; f++) {
        const char *more = nodes->scenario->flavors[from->flavors[f].flavor].tolerations;
        if (more == NULL || more[0] == '\0') {
            continue;
        }
        const size_t bytes = strlen(text) + strlen(more) + 2;
        char *both = orr_alloc(bytes, 1);
        (void)snprintf(both, bytes, "%s%s%s", text, text[0] != '\0' ? ";" : "", more);
        orr_free(text);
        text = both;
    }
    return text;
}

uint32_t orr_replay__toleration(struct orr_replay_nodes *nodes, const char *queue,
                                const char *tolerations)
{
    if (!nodes->tainted) {
        return 0;
    }
    char *text = with_flavors(nodes, queue, tolerations);
    const uint32_t filter = orr_replay__filter(nodes, 't', text, tolerated);
    orr_free(text);
    return filter;
}

/* Is the node of a pool or type that the queue of this name lists? */
static bool of_queue_types(const struct orr_replay_nodes *nodes, uint32_t node, const char *queue)
{
    const struct orr_scenario_pool *pool = pool_of(nodes, node);
    const struct orr_scenario_queue *from = find_queue(nodes->scenario, queue);
    for (uint32_t t = 0; t < from->node_type_count; t++) {
        if (strcmp(pool->name, from->node_types[t]) == 0 ||
            (pool->type != NULL && strcmp(pool->type, from->node_types[t]) == 0)) {
            return true;
        }
    }
    return false;
}

uint32_t orr_replay__allowed(struct orr_replay_nodes *nodes, const struct orr_queues *queues,
                             uint32_t queue)
{
    for (; nodes->typed && queue != ORR_NONE; queue = queues->queues[queue].parent) {
        const char *name = orr_idmap_name(&queues->names, queue);
        const struct orr_scenario_queue *from = find_queue(nodes->scenario, name);
        if (from != NULL && from->node_type_count > 0) {
            return orr_replay__filter(nodes, 'q', name, of_queue_types);
        }
    }
    return 0;
}

void orr_replay__nodes_init(struct orr_replay_nodes *nodes, const struct orr_scenario *scenario,
                            struct orr_cluster *cluster)
{
    *nodes = (struct orr_replay_nodes){.scenario = scenario, .cluster = cluster};
    orr_idmap_init(&nodes->known);
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        nodes->tainted = nodes->tainted || scenario->pools[p].taint_count > 0;
    }
    for (uint32_t f = 0; f < scenario->flavor_count; f++) {
        nodes->tainted = nodes->tainted || scenario->flavors[f].taint_count > 0;
        nodes->flavored = nodes->flavored || (scenario->flavors[f].tolerations != NULL &&
                                              scenario->flavors[f].tolerations[0] != '\0');
    }
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        nodes->typed = nodes->typed || scenario->queues[q].node_type_count > 0;
    }
}

void orr_replay__nodes_part(struct orr_replay_nodes *nodes, const struct orr_workload *workload)
{
    const uint32_t count = workload->queues.count;
    nodes->queues = orr_realloc(nodes->queues, count, sizeof *nodes->queues);
    for (uint32_t q = 0; q < count; q++) {
        nodes->queues[q] = ORR_NONE;
    }
}

void orr_replay__nodes_release(struct orr_replay_nodes *nodes)
{
    orr_idmap_release(&nodes->known);
    orr_free(nodes->queues);
}
