/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_consolidated.c - a whole gang, all tasks or none: over the cluster, or over one domain
 * after the other when it is to be held together. */
#include <orrery/core/place.h>

#include <orrery/base/sort.h>

struct domain { /* of one level: nodes at [0, count) */
    const uint32_t *nodes;
    uint32_t count;
};

struct gang {
    struct orr_txn *txn;
    const struct orr_ledger *ledger;
    const struct orr_shape *shape;
    uint32_t job;
    const struct domain *domain; /* NULL: the whole cluster */
};

/* As orr_ledger_most_idle, among the nodes of a domain. */
static uint32_t most_idle_of(const struct orr_ledger *ledger, const struct domain *domain,
                             const struct orr_request *request)
{
    uint32_t best = ORR_NONE;
    for (uint32_t i = 0; i < domain->count; i++) {
        uint32_t node = domain->nodes[i];
        if ((best == ORR_NONE || ledger->idle[node].gpus > ledger->idle[best].gpus) &&
            orr_ledger_room_for(ledger, node, request) > 0) {
            best = node;
        }
    }
    return best;
}

static uint32_t next_node(const struct gang *gang, const struct orr_request *request)
{
    if (gang->domain != NULL) {
        return most_idle_of(gang->ledger, gang->domain, request);
    }
    return gang->shape->tasks == 1 ? orr_ledger_best_fit(gang->ledger, request, 1)
                                   : orr_ledger_most_idle(gang->ledger, request);
}

/* Places one group, the fullest-idle node first. Returns false when a task finds no node. */
static bool place_group(const struct gang *gang, uint32_t group)
{
    const struct orr_request *request = &gang->shape->groups[group].request;
    uint32_t left = gang->shape->groups[group].count;
    while (left > 0) {
        uint32_t node = next_node(gang, request);
        if (node == ORR_NONE) {
            return false;
        }
        uint32_t room = orr_ledger_room_for(gang->ledger, node, request);
        uint32_t tasks = left < room ? left : room;
        if (!orr_txn_place(gang->txn, gang->job, group, tasks, node)) {
            return false;
        }
        left -= tasks;
    }
    return true;
}

static bool place_groups(const struct gang *gang)
{
    uint32_t checkpoint = orr_txn_checkpoint(gang->txn);
    for (uint32_t g = 0; g < gang->shape->group_count; g++) {
        if (!place_group(gang, g)) {
            orr_txn_rollback(gang->txn, checkpoint);
            return false;
        }
    }
    return true;
}

struct candidate {
    int64_t idle_gpus;
    uint32_t domain;
};

static int tightest_first(const void *a, const void *b, void *context)
{
    const struct candidate *x = a, *y = b;
    (void)context;
    if (x->idle_gpus != y->idle_gpus) {
        return x->idle_gpus < y->idle_gpus ? -1 : 1;
    }
    return x->domain < y->domain ? -1 : x->domain > y->domain;
}

/* Domains of a level (from 1; the last is single nodes) with enough idle devices for what the gang
 * asks in whole devices, the tightest first. Caller frees. */
static struct candidate *list_candidates(const struct gang *gang, uint32_t level, uint32_t *count)
{
    const struct orr_ledger *ledger = gang->ledger;
    const struct orr_cluster *cluster = ledger->world.cluster;
    bool single = level > cluster->level_count;
    uint32_t domains = single ? cluster->node_count : cluster->levels[level - 1].domain_count;
    int64_t need = 0;
    for (uint32_t g = 0; g < gang->shape->group_count; g++) {
        const struct orr_task_group *group = &gang->shape->groups[g];
        bool whole = group->request.gpu_ask == ORR_GPU_WHOLE;
        need += whole ? (int64_t)group->request.devices * group->count : 0;
    }
    struct candidate *list = orr_alloc(domains + (size_t)1, sizeof *list);
    *count = 0;
    for (uint32_t d = 0; d < domains; d++) {
        int64_t idle = single ? ledger->idle[d].gpus : ledger->domains[level - 1][d].idle_gpus;
        if (idle >= need) {
            list[(*count)++] = (struct candidate){.idle_gpus = idle, .domain = d};
        }
    }
    orr_sort(list, *count, sizeof *list, tightest_first, NULL);
    return list;
}

static bool place_in_level(struct gang gang, uint32_t level)
{
    const struct orr_cluster *cluster = gang.ledger->world.cluster;
    uint32_t count;
    struct candidate *list = list_candidates(&gang, level, &count);
    bool placed = false;
    for (uint32_t i = 0; i < count && !placed; i++) {
        uint32_t d = list[i].domain;
        struct domain domain = {.nodes = &d, .count = 1};
        if (level <= cluster->level_count) {
            const struct orr_level *l = &cluster->levels[level - 1];
            domain = (struct domain){&l->nodes[l->first[d]], l->first[d + 1] - l->first[d]};
        }
        gang.domain = &domain;
        placed = place_groups(&gang);
    }
    orr_free(list);
    return placed;
}

/* From the deepest level it would like to the widest it accepts. */
static bool place_together(struct gang gang)
{
    struct orr_span span = gang.shape->span;
    uint32_t deepest = span.preferred > 0 ? span.preferred : span.required;
    uint32_t widest = span.required > 0 ? span.required : 1;
    for (uint32_t level = deepest; level >= widest; level--) {
        if (place_in_level(gang, level)) {
            return true;
        }
    }
    return span.required == 0 && place_groups(&gang);
}

/* Idle devices of the nodes of its shard that two of its filters admit, and `allowed` besides. */
static int64_t idle_within(const struct orr_ledger *ledger, const struct orr_request *request,
                           uint32_t allowed)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    if (request->selector == 0 && request->toleration == 0 && allowed == 0) {
        return ledger->shards[request->shard].idle_gpus;
    }
    int64_t idle = 0;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        bool admitted = orr_cluster_type(cluster, n)->shard == request->shard &&
                        orr_cluster_admits(cluster, request->selector, n) &&
                        orr_cluster_admits(cluster, request->toleration, n) &&
                        orr_cluster_admits(cluster, allowed, n);
        idle += admitted ? ledger->idle[n].gpus : 0;
    }
    return idle;
}

int64_t orr_place_allowed_idle(const struct orr_ledger *ledger, const struct orr_request *request)
{
    return idle_within(ledger, request, request->allowed);
}

enum orr_reason orr_place_why_not(const struct orr_ledger *ledger, const struct orr_shape *shape)
{
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        int64_t asked = (int64_t)request->devices * shape->groups[g].count;
        bool narrowed = request->selector > 0 || request->toleration > 0 || request->allowed > 0;
        if (!narrowed || request->gpu_ask != ORR_GPU_WHOLE ||
            orr_place_allowed_idle(ledger, request) >= asked) {
            continue;
        }
        return idle_within(ledger, request, 0) >= asked ? ORR_REASON_NODE_TYPES
                                                        : ORR_REASON_CONSTRAINED;
    }
    return shape->span.required > 0 && shape->tasks > 1 ? ORR_REASON_TOPOLOGY
                                                        : ORR_REASON_FRAGMENTED;
}

enum orr_reason orr_place_consolidated(struct orr_txn *txn, const struct orr_ledger *ledger,
                                       uint32_t job)
{
    const struct orr_shape *shape = &ledger->world.shapes->shapes[ledger->world.specs[job].shape];
    const struct orr_shard_room *shard = orr_ledger_shard_of(ledger, shape);
    if (shape->gpus_mgpu > shard->total_gpus * ORR_MGPU - shard->allocated_mgpu) {
        return ORR_REASON_NO_CAPACITY;
    }
    struct gang gang = {.txn = txn, .ledger = ledger, .shape = shape, .job = job};
    bool spans = shape->tasks > 1 && (shape->span.required > 0 || shape->span.preferred > 0);
    bool placed = spans ? place_together(gang) : place_groups(&gang);
    return placed ? ORR_REASON_NONE : orr_place_why_not(ledger, shape);
}
