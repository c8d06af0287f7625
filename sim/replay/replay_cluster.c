/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_cluster.c - the scenario's pools and queues as the core's cluster and queue tree. */
#include "replay_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/core/session.h>

static int64_t amount_or_unlimited(int64_t amount)
{
    return amount < 0 ? ORR_AMOUNT_UNLIMITED : amount;
}

/* The number of a shard; one that no pool has counts as the first. */
static uint32_t shard_of(const struct orr_cluster *cluster, const char *name)
{
    name = name == NULL ? "" : name;
    uint32_t shard = orr_idmap_find(&cluster->shards, name, strlen(name));
    return shard == ORR_NONE ? 0 : shard;
}

static enum orr_numa_policy numa_policy(const char *word)
{
    static const char *const words[] = {"none", "best-effort", "restricted", "single-numa-node"};
    unsigned i = 0;
    while (word != NULL && i < ORR_NUMA_SINGLE && strcmp(words[i], word) != 0) {
        i++;
    }
    return (enum orr_numa_policy)i;
}

static enum orr_device_choice device_choice(const char *word)
{
    return strcmp(word, "lowest") == 0 ? ORR_DEVICES_LOWEST
           : strcmp(word, "numa") == 0 ? ORR_DEVICES_ALIGNED
                                       : ORR_DEVICES_PACKED;
}

/* "": the pool has no such label. */
static const char *label_of(const struct orr_scenario_pool *pool, const char *key)
{
    for (uint32_t i = 0; i < pool->label_count; i++) {
        if (strcmp(pool->labels[i].key, key) == 0) {
            return pool->labels[i].value;
        }
    }
    return "";
}

/* As KAI takes it: a label says whether it is a MIG node, else its instances do. */
static void note_mig(const struct orr_scenario_pool *pool, struct orr_cluster *cluster,
                     struct orr_node_type *type)
{
    const char *strategy =
        pool->mig_strategy != NULL ? pool->mig_strategy : label_of(pool, "nvidia.com/mig.strategy");
    const char *enabled = label_of(pool, "node-role.kubernetes.io/mig-enabled");
    for (uint32_t m = 0; m < pool->mig_count; m++) {
        const uint32_t profile = orr_cluster_mig_profile(cluster, pool->mig[m].key);
        type->mig[profile] = (uint16_t)strtoul(pool->mig[m].value, NULL, 10);
        type->is_mig = type->is_mig || type->mig[profile] > 0;
    }
    type->is_mig = *enabled == '\0' ? type->is_mig : strcmp(enabled, "true") == 0;
    type->mig_strategy = strcmp(strategy, "mixed") == 0    ? ORR_MIG_MIXED
                         : strcmp(strategy, "single") == 0 ? ORR_MIG_SINGLE
                         : strcmp(strategy, "none") == 0   ? ORR_MIG_NONE
                                                           : ORR_MIG_UNKNOWN;
}

static void add_pool(const struct orr_scenario *scenario, const struct orr_scenario_pool *pool,
                     struct orr_cluster *cluster)
{
    struct orr_node_type type = {.gpus = pool->gpus,
                                 .gpu_model = ORR_NONE,
                                 .gpu_memory_mib = pool->gpu_memory_mib,
                                 .nvlink_domain =
                                     pool->nvlink_domain == 0 ? pool->gpus : pool->nvlink_domain,
                                 .shard = shard_of(cluster, pool->shard),
                                 .nics = pool->nics,
                                 .nvlink_bytes_s = pool->nvlink_bytes_s,
                                 .nic_bytes_s = pool->nic_bytes_s,
                                 .pcie_bytes_s = pool->pcie_bytes_s,
                                 .nvlink_reduces = pool->nvlink_reduces,
                                 .device_choice = (uint8_t)device_choice(pool->device_choice),
                                 .numa_zones = pool->numa_zones,
                                 .numa_policy = numa_policy(pool->topology_manager_policy),
                                 .numa_by_pod = pool->topology_manager_scope != NULL &&
                                                strcmp(pool->topology_manager_scope, "pod") == 0};
    if (pool->gpu_model != NULL) {
        type.gpu_model =
            orr_idmap_put(&cluster->models, pool->gpu_model, strlen(pool->gpu_model), NULL);
    }
    type.allocatable.v[ORR_RES_CPU] = amount_or_unlimited(pool->cpu_milli);
    type.allocatable.v[ORR_RES_MEMORY] = amount_or_unlimited(pool->mem_bytes);
    type.allocatable.v[ORR_RES_GPU] = (int64_t)pool->gpus * ORR_MGPU;
    type.allocatable.v[ORR_RES_PODS] = amount_or_unlimited(pool->pods);
    type.foreign = (struct orr_amounts){{[ORR_RES_CPU] = pool->foreign_cpu_milli,
                                         [ORR_RES_MEMORY] = pool->foreign_mem_bytes,
                                         [ORR_RES_GPU] = (int64_t)pool->foreign_gpus * ORR_MGPU,
                                         [ORR_RES_PODS] = pool->foreign_pods}};
    note_mig(pool, cluster, &type);
    uint32_t index = orr_cluster_add_type(cluster, &type);
    for (uint32_t n = 0; n < pool->nodes_most; n++) {
        char name[300];
        if (n < pool->name_count) {
            (void)snprintf(name, sizeof name, "%s", pool->names[n]);
        } else if (scenario->pool_count == 1) {
            (void)snprintf(name, sizeof name, "n%04u", n + 1);
        } else {
            (void)snprintf(name, sizeof name, "%s-%04u", pool->name, n + 1);
        }
        (void)orr_cluster_add_node(cluster, name, pool->name, index);
    }
}

static void put_level(struct orr_cluster *cluster, const char *name, const uint32_t *domain,
                      uint32_t count, const struct orr_scenario_uplink *uplink)
{
    uint32_t added = orr_cluster_add_level(cluster, name, domain, count);
    struct orr_level *level = &cluster->levels[added];
    level->uplink_bytes_s = uplink->bytes_s;
    level->oversubscription = uplink->oversubscription > 1.0 ? uplink->oversubscription : 1.0;
}

/* Pools that name the same zone are in it; one that names none is a zone by itself. */
static void add_zones(const struct orr_scenario *scenario, struct orr_cluster *cluster)
{
    uint32_t *domain = orr_alloc(cluster->node_count, sizeof *domain);
    uint32_t *of_pool = orr_alloc(scenario->pool_count, sizeof *of_pool);
    uint32_t node = 0, next = 0;
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        uint32_t same = 0;
        while (same < p && (pool->zone == NULL || scenario->pools[same].zone == NULL ||
                            strcmp(pool->zone, scenario->pools[same].zone) != 0)) {
            same++;
        }
        of_pool[p] = same < p ? of_pool[same] : next++;
        for (uint32_t n = 0; n < pool->nodes_most; n++) {
            domain[node++] = of_pool[p];
        }
    }
    put_level(cluster, "zone", domain, next, &scenario->topology.zone);
    orr_free(of_pool);
    orr_free(domain);
}

/* The earlier pool with nodes that names the same domain; `pool` itself: there is none. */
static uint32_t same_domain(const struct orr_scenario *scenario, uint32_t pool, bool blocks)
{
    const struct orr_scenario_pool *it = &scenario->pools[pool];
    const char *name = blocks ? it->block : it->rack;
    for (uint32_t p = 0; p < pool && name != NULL; p++) {
        const char *other = blocks ? scenario->pools[p].block : scenario->pools[p].rack;
        if (other != NULL && scenario->pools[p].nodes_most > 0 && strcmp(other, name) == 0) {
            return p;
        }
    }
    return pool;
}

/* Domains of one level: pools that name the same one are in it; of another pool nodes in groups of
 * `size`, in order. */
static void add_level(const struct orr_scenario *scenario, const char *name, bool blocks,
                      struct orr_cluster *cluster)
{
    uint32_t *domain = orr_alloc(cluster->node_count, sizeof *domain);
    uint32_t *first = orr_alloc(scenario->pool_count, sizeof *first);
    uint32_t node = 0, next = 0;
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        const bool named = (blocks ? pool->block : pool->rack) != NULL;
        const uint32_t same = same_domain(scenario, p, blocks);
        uint32_t size = named ? 0 : blocks ? pool->block_size : pool->rack_size;
        size = size == 0 ? pool->nodes_most : size;
        first[p] = same < p ? first[same] : next;
        for (uint32_t n = 0; n < pool->nodes_most; n++) {
            domain[node++] = first[p] + (size == 0 ? 0 : n / size);
        }
        next += same < p || size == 0 ? 0 : (pool->nodes_most + size - 1) / size;
    }
    put_level(cluster, name, domain, next,
              blocks ? &scenario->topology.block : &scenario->topology.rack);
    orr_free(first);
    orr_free(domain);
}

void orr_replay__cluster(const struct orr_scenario *scenario, struct orr_cluster *cluster)
{
    bool racks = false, blocks = false, zones = false;
    orr_cluster_init(cluster);
    for (uint32_t s = 0; s < scenario->shard_count; s++) {
        const char *name = scenario->shards[s].name;
        (void)orr_idmap_put(&cluster->shards, name, strlen(name), NULL);
    }
    for (uint32_t p = 0; p < scenario->pool_count; p++) { /* in order, also those without nodes */
        const char *name = scenario->pools[p].name;
        (void)orr_idmap_put(&cluster->pools, name, strlen(name), NULL);
    }
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        add_pool(scenario, &scenario->pools[p], cluster);
        racks = racks || scenario->pools[p].rack_size > 0 || scenario->pools[p].rack != NULL;
        blocks = blocks || scenario->pools[p].block_size > 0 || scenario->pools[p].block != NULL;
        zones = zones || scenario->pools[p].zone != NULL;
    }
    if (zones) {
        add_zones(scenario, cluster);
    }
    if (blocks) {
        add_level(scenario, "block", true, cluster);
    }
    if (racks) {
        add_level(scenario, "rack", false, cluster);
    }
}

static struct orr_entitlement entitlement(const struct orr_scenario_amounts *amounts, double unit)
{
    return (struct orr_entitlement){
        .quota = amounts->quota < 0.0 ? ORR_UNLIMITED : amounts->quota * unit,
        .limit = amounts->limit < 0.0 ? ORR_UNLIMITED : amounts->limit * unit,
        .weight = amounts->weight};
}

void orr_replay__entitle(const struct orr_scenario_amounts *amounts,
                         struct orr_entitlement *resources)
{
    static const int slot[ORR_SCENARIO_RESOURCES] = {[ORR_SCENARIO_CPU] = ORR_SHARE_CPU,
                                                     [ORR_SCENARIO_MEMORY] = ORR_SHARE_MEMORY,
                                                     [ORR_SCENARIO_GPU] = ORR_SHARE_GPU};
    for (int r = 0; r < ORR_SCENARIO_RESOURCES; r++) {
        /* queue memory is written in units of 10^6 bytes, as KAI does */
        resources[slot[r]] = entitlement(&amounts[r], r == ORR_SCENARIO_MEMORY ? 1e6 : 1.0);
    }
}

static enum orr_lending_policy lending_policy(const char *word)
{
    static const char *const words[] = {"", "Never", "LowerPriority", "LowerOrNewerEqualPriority",
                                        "Any"};
    int at = 0;
    while (word != NULL && strcmp(words[at], word) != 0) {
        at++; /* the schema lets no other word pass */
    }
    return (enum orr_lending_policy)at;
}

static bool is_word(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

static const struct orr_local_queue *local_queues_of(struct orr_arena *arena,
                                                     const struct orr_scenario_queue *from)
{
    const size_t count = from->local_queue_count;
    struct orr_local_queue *made = orr_arena_alloc(arena, count + 1, sizeof *made);
    for (size_t l = 0; l < count; l++) {
        const char *user = from->local_queues[l].user;
        made[l] = (struct orr_local_queue){.user = orr_arena_strndup(arena, user, strlen(user)),
                                           .weight = from->local_queues[l].weight};
    }
    return made;
}

static struct orr_lending lending_of(struct orr_arena *arena, const struct orr_scenario_queue *from)
{
    const bool threshold = from->preempt_max_priority != ORR_SCENARIO_NO_NUMBER;
    const double memory = from->lend[ORR_SCENARIO_MEMORY];
    return (struct orr_lending){
        .apart = from->apart,
        .lend = {[ORR_SHARE_GPU] = from->lend[ORR_SCENARIO_GPU],
                 [ORR_SHARE_CPU] = from->lend[ORR_SCENARIO_CPU],
                 [ORR_SHARE_MEMORY] = memory < 0 ? memory : memory * 1e6},
        .flavors = orr_replay__flavored(arena, from->flavors, from->flavor_count),
        .flavor_count = from->flavor_count,
        .local_queues = local_queues_of(arena, from),
        .local_queue_count = from->local_queue_count,
        .borrow_tries_next = is_word(from->when_can_borrow, "TryNextFlavor"),
        .preempt_stops = is_word(from->when_can_preempt, "MayStopSearch"),
        .preference = from->preference == NULL ? ORR_FLAVOR_NO_PREFERENCE
                      : is_word(from->preference, "PreemptionOverBorrowing")
                          ? ORR_FLAVOR_PREEMPTION_OVER_BORROWING
                          : ORR_FLAVOR_BORROWING_OVER_PREEMPTION,
        .states_order = from->strategy != NULL,
        .strict = is_word(from->strategy, "StrictFIFO"),
        .within = lending_policy(from->preempt_within),
        .reclaim = lending_policy(from->preempt_reclaim),
        .borrow = lending_policy(from->preempt_borrow),
        .has_max_priority = threshold,
        .max_priority = threshold ? from->preempt_max_priority : 0};
}

static void add_queue(struct orr_arena *arena, const struct orr_scenario_queue *from,
                      uint32_t shard, uint32_t parent, struct orr_queues *queues)
{
    struct orr_queue queue = orr_queue_default();
    orr_replay__entitle(from->resources, queue.resources);
    queue.shard = shard;
    queue.priority = from->priority;
    /* listed earlier is older; older than any with a date */
    queue.created_ms = from->created_ms != ORR_MS_NONE ? from->created_ms : queues->count;
    queue.preempt_min_runtime_ms = from->preempt_min_runtime_ms;
    queue.reclaim_min_runtime_ms = from->reclaim_min_runtime_ms;
    queue.lending = lending_of(arena, from);
    (void)orr_queues_add(queues, from->name, parent, &queue);
}

/* The scenario may list children before parents; the tree wants parents first. */
void orr_replay__queues(const struct orr_scenario *scenario, struct orr_cluster *cluster,
                        struct orr_queues *queues)
{
    orr_queues_init(queues);
    for (uint32_t added = 0, before = 1; added != before;) {
        before = added;
        for (uint32_t q = 0; q < scenario->queue_count; q++) {
            const struct orr_scenario_queue *from = &scenario->queues[q];
            uint32_t parent = ORR_NONE;
            if (orr_idmap_find(&queues->names, from->name, strlen(from->name)) != ORR_NONE) {
                continue;
            }
            if (from->parent != NULL) {
                parent = orr_idmap_find(&queues->names, from->parent, strlen(from->parent));
                if (parent == ORR_NONE) {
                    continue;
                }
            }
            add_queue(&cluster->arena, from, shard_of(cluster, from->shard), parent, queues);
            added++;
        }
    }
    ORR_ASSERT(queues->count == scenario->queue_count);
}

/* The one queue that people would read `shown` for; ORR_NONE: several. */
static uint32_t meant_by(const struct orr_queues *queues, const char *const *stated,
                         const char *shown)
{
    uint32_t meant = orr_idmap_find(&queues->names, shown, strlen(shown));
    for (uint32_t q = 0, found = meant != ORR_NONE; q < queues->count; q++) {
        if (stated[q] != NULL && q != meant && strcmp(stated[q], shown) == 0) {
            meant = found++ > 0 ? ORR_NONE : q;
        }
    }
    return meant;
}

/* `text` if it says enough alone and is new, else with the name behind it. */
static void put_shown(struct orr_idmap *shown, const char *text, const char *name, bool alone)
{
    bool added = false;
    char *longer = orr_strdup(text);
    if (alone) {
        (void)orr_idmap_put(shown, text, strlen(text), &added);
    }
    while (!added) {
        const size_t used = strlen(longer), room = strlen(name) + 4;
        longer = orr_realloc(longer, used + room, 1);
        (void)snprintf(longer + used, room, " (%s)", name);
        (void)orr_idmap_put(shown, longer, strlen(longer), &added);
    }
    orr_free(longer);
}

/* Display names are free text, and KAI lets any number of queues have the same: those stand beside
 * the name that tells them apart. */
void orr_replay__show_queues(const struct orr_scenario *scenario, struct orr_world *world)
{
    const struct orr_queues *queues = &world->queues;
    const char **stated = orr_zalloc(queues->count + 1, sizeof *stated);
    for (uint32_t i = 0; i < scenario->queue_count; i++) {
        const char *name = scenario->queues[i].name;
        stated[orr_idmap_find(&queues->names, name, strlen(name))] =
            scenario->queues[i].display_name;
    }
    orr_idmap_init(&world->shown);
    for (uint32_t q = 0; q < queues->count; q++) {
        const char *name = orr_idmap_name(&queues->names, q);
        const bool alone = stated[q] == NULL || meant_by(queues, stated, stated[q]) == q;
        put_shown(&world->shown, stated[q] == NULL ? name : stated[q], name, alone);
    }
    orr_free(stated);
}
