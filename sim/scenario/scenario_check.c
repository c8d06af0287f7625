/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_check.c - what no single value shows: names that must exist, orders that must end. */
#include "scenario_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/idmap.h>
#include <orrery/base/text.h>
#include <orrery/core/cluster.h>

struct names {
    const char **known;
    uint32_t count;
};

static struct names names_of(const struct orr_scenario__load *load,
                             const struct orr_scenario__node *map)
{
    struct names names = {orr_arena_alloc(load->arena, map->child_count + 1, sizeof *names.known),
                          map->child_count};
    for (uint32_t i = 0; i < map->child_count; i++) {
        names.known[i] = map->children[i]->key;
    }
    return names;
}

static enum orr_status check_parents(const struct orr_scenario__load *load,
                                     const struct orr_scenario__node *queues)
{
    for (uint32_t i = 0; i < queues->child_count; i++) {
        const struct orr_scenario__node *queue = queues->children[i];
        const struct orr_scenario__node *parent = orr_scenario__find(queue, "parent");
        if (parent->text != NULL && orr_scenario__find(queues, parent->text) == NULL) {
            struct names names = names_of(load, queues);
            return orr_scenario__no_such(load, &parent->at, "parent", parent->text, names.known,
                                         names.count);
        }
    }
    return ORR_OK;
}

/* Marks each queue that reaches the top; a walk that meets itself has found a cycle. */
static enum orr_status check_cycles(const struct orr_scenario__load *load,
                                    const struct orr_scenario *scenario,
                                    const struct orr_scenario__node *queues)
{
    /* 0: not seen; the number of the walk that came by otherwise */
    uint32_t *seen = orr_arena_alloc(load->arena, queues->child_count + 1, sizeof *seen);
    uint32_t *parent = orr_arena_alloc(load->arena, queues->child_count + 1, sizeof *parent);
    for (uint32_t i = 0; i < queues->child_count; i++) {
        parent[i] = ORR_NONE;
    }
    const struct names names = names_of(load, queues);
    struct orr_idmap map;
    orr_idmap_init(&map);
    for (uint32_t i = 0; i < names.count; i++) {
        (void)orr_idmap_put(&map, names.known[i], strlen(names.known[i]), NULL);
    }
    for (uint32_t i = 0; i < names.count; i++) {
        const char *above = scenario->queues[i].parent;
        if (above != NULL) {
            parent[i] = orr_idmap_find(&map, above, strlen(above));
        }
    }
    orr_idmap_release(&map);
    for (uint32_t i = 0; i < queues->child_count; i++) {
        uint32_t at = i;
        while (at != ORR_NONE && seen[at] == 0) {
            seen[at] = i + 1;
            at = parent[at];
        }
        if (at != ORR_NONE && seen[at] == i + 1) {
            const struct orr_scenario__node *queue = queues->children[at];
            return orr_scenario__fail(load, &orr_scenario__find(queue, "parent")->at,
                                      "parent: queue \"%.80s\" is above itself", queue->key);
        }
    }
    return ORR_OK;
}

static enum orr_status check_parts(const struct orr_scenario__load *load,
                                   const struct orr_scenario__node *parts,
                                   const struct orr_scenario__node *queues,
                                   const struct orr_scenario__node *templates)
{
    static const struct orr_scenario__node none = {.kind = ORR_NODE_MAP};
    templates = templates == NULL ? &none : templates;
    for (uint32_t i = 0; i < parts->child_count; i++) {
        const struct orr_scenario__node *template =
            orr_scenario__find(parts->children[i], "template");
        if (template->text != NULL && orr_scenario__find(templates, template->text) == NULL) {
            struct names names = names_of(load, templates);
            return orr_scenario__no_such(load, &template->at, "template", template->text,
                                         names.known, names.count);
        }
        const struct orr_scenario__node *queue = orr_scenario__find(parts->children[i], "queue");
        /* without queues in the scenario they come from the trace */
        if (queue->text != NULL && queues->child_count > 0 &&
            orr_scenario__find(queues, queue->text) == NULL) {
            struct names names = names_of(load, queues);
            return orr_scenario__no_such(load, &queue->at, "queue", queue->text, names.known,
                                         names.count);
        }
    }
    return ORR_OK;
}

static uint32_t level_rank(const char *level)
{
    static const char *const order[] = {"zone", "block", "rack", "node"};
    uint32_t rank = 0;
    while (rank < 3 && strcmp(order[rank], level) != 0) {
        rank++;
    }
    return rank;
}

enum orr_status orr_scenario__check_levels(const struct orr_scenario__load *load,
                                           const struct orr_scenario__node *levels)
{
    for (uint32_t i = 1; i < levels->child_count; i++) {
        const struct orr_scenario__node *level = levels->children[i];
        if (level_rank(level->text) <= level_rank(levels->children[i - 1]->text)) {
            return orr_scenario__fail(load, &level->at,
                                      "levels: \"%s\" cannot come after \"%s\" (widest first)",
                                      level->text, levels->children[i - 1]->text);
        }
    }
    const struct orr_scenario__node *last = levels->children[levels->child_count - 1];
    if (strcmp(last->text, "node") != 0) {
        return orr_scenario__fail(load, &last->at, "levels: the last one must be node");
    }
    return ORR_OK;
}

bool orr_scenario__taint(struct orr_arena *arena, const char *text,
                         struct orr_scenario_taint *taint)
{
    static const char *const effects[] = {[ORR_TAINT_NO_SCHEDULE] = "NoSchedule",
                                          [ORR_TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
                                          [ORR_TAINT_NO_EXECUTE] = "NoExecute"};
    const char *colon = strrchr(text, ':');
    size_t key = strcspn(text, "=:");
    if (colon == NULL || key == 0) {
        return false;
    }
    bool valued = text[key] == '=';
    *taint = (struct orr_scenario_taint){.key = orr_arena_strndup(arena, text, key), .value = ""};
    if (valued) {
        const char *value = text + key + 1;
        taint->value = orr_arena_strndup(arena, value, (size_t)(colon - value));
    }
    for (size_t e = 0; e < sizeof effects / sizeof effects[0]; e++) {
        if (strcmp(colon + 1, effects[e]) == 0) {
            taint->effect = (enum orr_taint_effect)e;
            return valued || text + key == colon;
        }
    }
    return false;
}

/* Of pools, and of flavors. */
static enum orr_status check_taints(const struct orr_scenario__load *load,
                                    const struct orr_scenario__node *pools)
{
    for (uint32_t p = 0; pools != NULL && p < pools->child_count; p++) {
        const struct orr_scenario__node *taints = orr_scenario__find(pools->children[p], "taints");
        for (uint32_t i = 0; i < taints->child_count; i++) {
            struct orr_scenario_taint ignored;
            if (!orr_scenario__taint(load->arena, taints->children[i]->text, &ignored)) {
                return orr_scenario__fail(
                    load, &taints->children[i]->at,
                    "taints: \"%.80s\" is not KEY=VALUE:EFFECT or KEY:EFFECT with one of the "
                    "effects NoSchedule, PreferNoSchedule, NoExecute",
                    taints->children[i]->text);
            }
        }
    }
    return ORR_OK;
}

static enum orr_status no_such_shard(const struct orr_scenario__load *load,
                                     const struct orr_scenario *scenario,
                                     const struct orr_scenario__at *at, const char *name)
{
    const char **known =
        orr_arena_alloc(load->arena, scenario->shard_count + (size_t)1, sizeof *known);
    for (uint32_t s = 0; s < scenario->shard_count; s++) {
        known[s] = scenario->shards[s].name;
    }
    return orr_scenario__no_such(load, at, "shard", name, known, scenario->shard_count);
}

/* Pools that state no shard take the jobs of every queue. */
static bool is_shard(const struct orr_scenario *scenario, const char *name)
{
    bool found = scenario->shard_count == 1 && scenario->shards[0].name[0] == '\0';
    for (uint32_t s = 0; s < scenario->shard_count; s++) {
        found = found || strcmp(scenario->shards[s].name, name) == 0;
    }
    return found;
}

static enum orr_status check_queue_shard(const struct orr_scenario__load *load,
                                         const struct orr_scenario *scenario,
                                         const struct orr_scenario__node *queues, uint32_t q)
{
    const struct orr_scenario_queue *queue = &scenario->queues[q];
    const struct orr_scenario__node *node = queues->children[q];
    const struct orr_scenario__node *stated = orr_scenario__find(node, "shard");
    if (!is_shard(scenario, queue->shard)) {
        if (stated->text != NULL) {
            return no_such_shard(load, scenario, &stated->at, queue->shard);
        }
        return orr_scenario__fail(load, &node->key_at,
                                  "queue \"%.80s\" states no shard, and the pools have several",
                                  queue->name);
    }
    const char *above = queue->parent;
    while (above != NULL && stated->text != NULL) {
        const struct orr_scenario__node *parent = orr_scenario__find(queues, above);
        const char *shard = orr_scenario__find(parent, "shard")->text;
        above = orr_scenario__find(parent, "parent")->text;
        if (shard == NULL && above == NULL) {
            shard = scenario->shard_count == 1 ? scenario->shards[0].name : "";
        }
        if (shard != NULL && strcmp(shard, stated->text) != 0) {
            return orr_scenario__fail(
                load, &stated->at,
                "shard: queue \"%.80s\" is in \"%.80s\", the queue above it in \"%.80s\"",
                queue->name, stated->text, shard);
        }
        above = shard == NULL ? above : NULL;
    }
    return ORR_OK;
}

static enum orr_status check_shards(const struct orr_scenario__load *load,
                                    const struct orr_scenario *scenario,
                                    const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    const struct orr_scenario__node *cluster = orr_scenario__find(root, "cluster");
    const struct orr_scenario__node *policies =
        orr_scenario__find(orr_scenario__find(root, "policy"), "shards");
    if (scenario->shard_count > 1 && scenario->queue_count == 0) {
        return orr_scenario__fail(load, &cluster->key_at,
                                  "the pools are in %u shards: there must be queues that say in "
                                  "which they are",
                                  (unsigned)scenario->shard_count);
    }
    for (uint32_t i = 0; i < policies->child_count; i++) {
        const struct orr_scenario__node *policy = policies->children[i];
        if (!is_shard(scenario, policy->key)) {
            return no_such_shard(load, scenario, &policy->key_at, policy->key);
        }
    }
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        enum orr_status status = check_queue_shard(load, scenario, queues, q);
        if (status != ORR_OK) {
            return status;
        }
    }
    return ORR_OK;
}

/* Each shard's scheduler would need cycles of its own. */
static enum orr_status check_latency(const struct orr_scenario__load *load,
                                     const struct orr_scenario *scenario,
                                     const struct orr_scenario__node *latency)
{
    for (uint32_t i = 0; i < latency->child_count && scenario->shard_count > 1; i++) {
        const struct orr_scenario__node *value = latency->children[i];
        const char *ideal = strcmp(value->key, "preset") == 0  ? "ideal"
                            : strcmp(value->key, "cycle") == 0 ? "" /* the policy's own */
                                                               : "0s";
        if (value->text == NULL || strcmp(value->text, ideal) == 0) {
            continue;
        }
        return orr_scenario__fail(load, &value->at,
                                  "policy.latency: only ideal can be used with several shards yet");
    }
    return ORR_OK;
}

static enum orr_status check_node_types(const struct orr_scenario__load *load,
                                        const struct orr_scenario *scenario,
                                        const struct orr_scenario__node *types)
{
    const char **known =
        orr_arena_alloc(load->arena, 2 * (size_t)scenario->pool_count + 1, sizeof *known);
    size_t count = 0;
    for (uint32_t p = 0; p < scenario->pool_count && types->child_count > 0; p++) {
        known[count++] = scenario->pools[p].name;
        if (scenario->pools[p].type != NULL) {
            known[count++] = scenario->pools[p].type;
        }
    }
    for (uint32_t i = 0; i < types->child_count; i++) {
        bool found = false;
        for (size_t k = 0; k < count; k++) {
            found = found || strcmp(known[k], types->children[i]->text) == 0;
        }
        if (!found) {
            return orr_scenario__no_such(load, &types->children[i]->at, "node type or pool",
                                         types->children[i]->text, known, count);
        }
    }
    return ORR_OK;
}

static enum orr_status check_rules(const struct orr_scenario__load *load,
                                   const struct orr_scenario *scenario,
                                   const struct orr_scenario__node *queues)
{
    for (uint32_t q = 0; q < queues->child_count; q++) {
        const struct orr_scenario__node *queue = queues->children[q];
        enum orr_status status =
            check_node_types(load, scenario, orr_scenario__find(queue, "node_types"));
        if (status != ORR_OK) {
            return status;
        }
        const struct orr_scenario__node *delay = orr_scenario__find(queue, "requeue_delay");
        if (delay->text != NULL && orr_scenario__find(queue, "max_runtime")->text == NULL) {
            return orr_scenario__fail(load, &delay->at,
                                      "requeue_delay: the queue has no max_runtime");
        }
        static const char *const spans[] = {"max_session", "max_runtime"};
        for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
            const struct orr_scenario__node *span = orr_scenario__find(queue, spans[i]);
            if (span->text != NULL && strcmp(span->text, "0s") == 0) {
                return orr_scenario__fail(load, &span->at, "%s: must be more than 0", spans[i]);
            }
        }
    }
    return ORR_OK;
}

static enum orr_status check_foreign(const struct orr_scenario__load *load,
                                     const struct orr_scenario *scenario,
                                     const struct orr_scenario__node *pools)
{
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        const struct {
            const char *key;
            int64_t held, all; /* all < 0: unlimited */
        } amounts[] = {{"gpus", pool->foreign_gpus, pool->gpus},
                       {"cpu", pool->foreign_cpu_milli, pool->cpu_milli},
                       {"memory", pool->foreign_mem_bytes, pool->mem_bytes},
                       {"pods", pool->foreign_pods, pool->pods}};
        const struct orr_scenario__node *foreign =
            orr_scenario__find(pools->children[p], "foreign");
        for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
            if (amounts[i].all >= 0 && amounts[i].held > amounts[i].all) {
                return orr_scenario__fail(load, &orr_scenario__find(foreign, amounts[i].key)->at,
                                          "foreign.%s: more than a node of pool \"%.80s\" has",
                                          amounts[i].key, pool->name);
            }
        }
    }
    return ORR_OK;
}

static enum orr_status check_instances(const struct orr_scenario__load *load,
                                       const struct orr_scenario *scenario,
                                       const struct orr_scenario__node *pools)
{
    struct orr_cluster profiles;
    enum orr_status status = ORR_OK;
    orr_cluster_init(&profiles);
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario__node *mig = orr_scenario__find(pools->children[p], "mig");
        for (uint32_t m = 0; mig != NULL && m < mig->child_count && status == ORR_OK; m++) {
            const struct orr_scenario__node *of = mig->children[m];
            int64_t count;
            if (orr_mig_gpus(of->key) == 0) {
                status = orr_scenario__no_mig(load, &of->key_at, "mig", of->key,
                                              "3g.20gb or 1g.10gb+me");
            } else if (of->text == NULL || !orr_parse_i64(of->text, strlen(of->text), &count) ||
                       count < 0 || count > ORR_MIG_INSTANCES_MAX) {
                status = orr_scenario__fail(load, &of->at,
                                            "mig: a node has from 0 to %d instances %.80s",
                                            (int)ORR_MIG_INSTANCES_MAX, of->key);
            } else if (orr_cluster_mig_profile(&profiles, of->key) == ORR_NONE) {
                status = orr_scenario__fail(load, &of->at, "mig: more than %d MIG profiles",
                                            (int)ORR_MIG_PROFILES_MAX);
            }
        }
    }
    orr_cluster_release(&profiles);
    return status;
}

static enum orr_status check_devices(const struct orr_scenario__load *load,
                                     const struct orr_scenario *scenario,
                                     const struct orr_scenario__node *pools)
{
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        if (strcmp(pool->device_choice, "numa") == 0 && pool->numa_zones < 2) {
            const struct orr_scenario__node *choice =
                orr_scenario__find(pools->children[p], "device_choice");
            return orr_scenario__fail(load, &choice->at,
                                      "device_choice: numa needs numa_zones of at least 2");
        }
    }
    return ORR_OK;
}

static enum orr_status check_power(const struct orr_scenario__load *load,
                                   const struct orr_scenario *scenario,
                                   const struct orr_scenario__node *pools)
{
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        const struct orr_scenario__node *idle =
            orr_scenario__find(pools->children[p], "idle_power");
        const struct orr_scenario__node *full =
            orr_scenario__find(pools->children[p], "full_power");
        if ((idle->text == NULL) != (full->text == NULL)) {
            const bool lacks_idle = idle->text == NULL;
            return orr_scenario__fail(load, lacks_idle ? &full->at : &idle->at,
                                      "%s: pool \"%.80s\" states no %s, and energy needs both",
                                      lacks_idle ? "full_power" : "idle_power", pool->name,
                                      lacks_idle ? "idle_power" : "full_power");
        }
        if (pool->full_power_w < pool->idle_power_w) {
            return orr_scenario__fail(load, &full->at, "full_power: less than idle_power, %s",
                                      idle->text);
        }
    }
    return ORR_OK;
}

static enum orr_status check_autoscale(const struct orr_scenario__load *load,
                                       const struct orr_scenario *scenario,
                                       const struct orr_scenario__node *cluster)
{
    const struct orr_scenario__node *pools = orr_scenario__find(cluster, "pools");
    const struct orr_scenario__node *scan =
        orr_scenario__find(orr_scenario__find(cluster, "autoscale"), "scan");
    if (scenario->autoscale_scan_ms == 0) {
        return orr_scenario__fail(load, &scan->at, "scan: must be more than 0");
    }
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        const struct orr_scenario__node *group =
            orr_scenario__find(pools->children[p], "autoscale");
        if (!pool->autoscaled) {
            continue;
        }
        if (pool->autoscale_drain_below > 1.0) {
            return orr_scenario__fail(load, &orr_scenario__find(group, "drain_below")->at,
                                      "drain_below: more than 1, which is all of a node");
        }
        if (pool->autoscale_min > pool->autoscale_max) {
            return orr_scenario__fail(load, &orr_scenario__find(group, "max")->at,
                                      "max: less than min, which is %u", pool->autoscale_min);
        }
        if (pool->nodes < pool->autoscale_min || pool->nodes > pool->autoscale_max) {
            return orr_scenario__fail(load, &orr_scenario__find(pools->children[p], "nodes")->at,
                                      "nodes: %u at the start is not within min and max, %u to %u",
                                      pool->nodes, pool->autoscale_min, pool->autoscale_max);
        }
    }
    return ORR_OK;
}

void orr_scenario__note_prices(struct orr_scenario__load *load, const struct orr_scenario *scenario,
                               const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *pools =
        orr_scenario__find(orr_scenario__find(root, "cluster"), "pools");
    bool any = false;
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        any = any || (scenario->pools[p].autoscaled && scenario->pools[p].price > 0.0);
    }
    for (uint32_t p = 0; any && p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        if (pool->autoscaled && pool->price < 0.0) {
            orr_scenario__note(load, pools->children[p]->key_at,
                               orr_scenario__format(load->arena,
                                                    "pool \"%.80s\" states no price: its nodes are "
                                                    "ordered before those of pools that do, as if "
                                                    "they cost nothing",
                                                    pool->name));
        }
    }
}

/* A MIG profile that its pods, or those of one of its roles, ask; NULL: none. */
static const char *instances_of(const struct orr_scenario_template *template)
{
    const char *asked = template->pods.mig_profile;
    for (uint32_t r = 0; r < template->role_count && asked == NULL; r++) {
        asked = template->roles[r].pods.mig_profile;
    }
    return asked;
}

static enum orr_status check_rates(const struct orr_scenario__load *load,
                                   const struct orr_scenario *scenario,
                                   const struct orr_scenario__node *templates)
{
    for (uint32_t t = 0; t < scenario->template_count; t++) {
        const struct orr_scenario_template *template = &scenario->templates[t];
        const char *asked = instances_of(template);
        for (uint32_t p = 0; p < scenario->profile_count; p++) {
            const struct orr_scenario_profile *profile = &scenario->profiles[p];
            if (asked != NULL && template->profile != NULL &&
                strcmp(template->profile, profile->name) == 0 &&
                orr_scenario_profile_of_devices(profile)) {
                return orr_scenario__fail(
                    load, &orr_scenario__find(templates->children[t], "profile")->at,
                    "profile: %.80s (%s) is of whole GPUs, and pods with mig_profile: %.40s have "
                    "none; kinds fixed and speedup are for them too",
                    template->profile, profile->kind, asked);
            }
        }
    }
    return ORR_OK;
}

static enum orr_status check_times(const struct orr_scenario__load *load,
                                   const struct orr_scenario *scenario,
                                   const struct orr_scenario__node *root)
{
    if (scenario->horizon_ms != ORR_MS_NONE && scenario->warmup_ms >= scenario->horizon_ms) {
        const struct orr_scenario__node *horizon = orr_scenario__find(root, "horizon");
        return orr_scenario__fail(load, &horizon->at,
                                  "horizon: the run would end within the warm-up");
    }
    return ORR_OK;
}

enum orr_status orr_scenario__check(const struct orr_scenario__load *load,
                                    const struct orr_scenario *scenario,
                                    const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *cluster = orr_scenario__find(root, "cluster");
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    const struct orr_scenario__node *parts = orr_scenario__find(root, "workload");
    if (scenario->pool_count == 0) {
        return orr_scenario__fail(load, &root->at, "the cluster has no pools");
    }
    if (scenario->part_count == 0) {
        return orr_scenario__fail(load, &root->at, "the workload has no parts");
    }
    enum orr_status status = check_parents(load, queues);
    if (status == ORR_OK) {
        status = check_cycles(load, scenario, queues);
    }
    if (status == ORR_OK) {
        status = check_parts(load, parts, queues, orr_scenario__find(root, "templates"));
    }
    if (status == ORR_OK) {
        status = check_rates(load, scenario, orr_scenario__find(root, "templates"));
    }
    if (status == ORR_OK) {
        status = orr_scenario__check_flavors(load, scenario, root);
    }
    if (status == ORR_OK) {
        const struct orr_scenario__node *topology = orr_scenario__find(cluster, "topology");
        status = orr_scenario__check_levels(load, orr_scenario__find(topology, "levels"));
    }
    if (status == ORR_OK) {
        status = check_taints(load, orr_scenario__find(cluster, "pools"));
    }
    if (status == ORR_OK) {
        status = check_taints(load, orr_scenario__find(root, "flavors"));
    }
    if (status == ORR_OK) {
        status = check_foreign(load, scenario, orr_scenario__find(cluster, "pools"));
    }
    if (status == ORR_OK) {
        status = orr_scenario__check_names(load, scenario, orr_scenario__find(cluster, "pools"));
    }
    if (status == ORR_OK) {
        status = check_devices(load, scenario, orr_scenario__find(cluster, "pools"));
    }
    if (status == ORR_OK) {
        status = check_instances(load, scenario, orr_scenario__find(cluster, "pools"));
    }
    if (status == ORR_OK) {
        status = check_power(load, scenario, orr_scenario__find(cluster, "pools"));
    }
    if (status == ORR_OK) {
        status = check_autoscale(load, scenario, cluster);
    }
    if (status == ORR_OK) {
        status = check_shards(load, scenario, root);
    }
    if (status == ORR_OK) {
        status = check_rules(load, scenario, queues);
    }
    if (status == ORR_OK) {
        const struct orr_scenario__node *policy = orr_scenario__find(root, "policy");
        status = check_latency(load, scenario, orr_scenario__find(policy, "latency"));
    }
    return status == ORR_OK ? check_times(load, scenario, root) : status;
}
