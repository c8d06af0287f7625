/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_consolidated.c - a whole gang, all tasks or none: over the cluster, or over one domain
 * after the other when it is to be held together. Parts of a gang that are to be held together
 * themselves are placed one after the other, each over the domains within that of the whole; what
 * an earlier part took is not tried elsewhere for the sake of a later one. */
#include <orrery/core/place.h>

#include <string.h>

#include <orrery/base/sort.h>

#include "place_opportunistic.h"
#include "place_part.h"

struct domain { /* of one level: nodes at [0, count) */
    const uint32_t *nodes;
    uint32_t count;
    uint32_t level; /* from 1 */
};

struct gang { /* or a part of it */
    struct orr_txn *txn;
    const struct orr_ledger *ledger;
    const struct orr_shape *shape;
    uint32_t job;
    uint32_t set;                /* the part; ORR_NONE: the whole, whatever sets there are */
    uint32_t tasks;              /* of its one group, where it scales; 0: all tasks of all groups */
    const struct domain *domain; /* NULL: the whole cluster */
    struct orr_placer *placer;   /* says where each task goes; NULL: consolidated */
    struct orr_opportunistic *evicts;    /* those that go for it; NULL: nobody does */
    int64_t most_mgpu;                   /* that its queue may hold of GPUs; INT64_MAX: anything */
    const struct orr_place_among *among; /* NULL: any node */
};

static bool has_group(const struct gang *gang, uint32_t group)
{
    return gang->set == ORR_NONE || orr_shape_has(gang->shape, gang->set, group);
}

static uint32_t count_of(const struct gang *gang, uint32_t group)
{
    return gang->tasks > 0 ? gang->tasks : gang->shape->groups[group].count;
}

/* How many tasks of a group a node takes, of those that it may have. */
static uint32_t room_on(const struct gang *gang, const struct orr_request *request, uint32_t node)
{
    const struct orr_placement *placements = gang->ledger->placements;
    const struct orr_place_among *among = gang->among;
    uint32_t room = 0;
    if (among == NULL || (among->nodes[node >> 6] >> (node & 63) & 1) != 0) {
        room = orr_ledger_room_for(gang->ledger, node, request);
    }
    if (room == 0 || among == NULL || among->cpu_milli == NULL || request->cpu_milli == 0) {
        return room;
    }
    int64_t cpu_milli = among->cpu_milli[node];
    for (uint32_t p = gang->ledger->jobs[gang->job].placement; p != ORR_NONE;
         p = placements[p].next) {
        const bool counts =
            placements[p].since_ms == ORR_MS_NONE && orr_placement_is_on(&placements[p], node);
        const uint32_t group = placements[p].group;
        cpu_milli -= counts ? gang->shape->groups[group].request.cpu_milli *
                                  orr_placement_each(&placements[p])
                            : 0;
    }
    const int64_t tasks = cpu_milli > 0 ? cpu_milli / request->cpu_milli : 0;
    return tasks < room ? (uint32_t)tasks : room;
}

/* Among the nodes of its domain on which a task holds no more than so much. */
static uint32_t node_within(const struct gang *gang, const struct orr_request *request,
                            int64_t most_mgpu, bool most_idle)
{
    const struct orr_ledger *ledger = gang->ledger;
    const struct domain *domain = gang->domain;
    const struct orr_cluster *cluster = ledger->world.cluster;
    const uint32_t count = domain == NULL ? cluster->node_count : domain->count;
    uint32_t best = ORR_NONE;
    int32_t best_idle = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = domain == NULL ? i : domain->nodes[i];
        const int32_t idle = orr_ledger_idle_units(ledger, node, request);
        const bool better = best == ORR_NONE || (most_idle ? idle > best_idle : idle < best_idle);
        if (better && room_on(gang, request, node) > 0 &&
            orr_request_task_mgpu(request, orr_cluster_type(cluster, node)) <= most_mgpu) {
            best = node;
            best_idle = idle;
        }
    }
    return best;
}

uint32_t orr_place_node_within(const struct orr_ledger *ledger, const struct orr_request *request,
                               int64_t most_mgpu, bool most_idle)
{
    const struct gang any = {.ledger = ledger};
    return node_within(&any, request, most_mgpu, most_idle);
}

/* What the next of so many tasks of a group may hold, if the others hold the least they can. */
static int64_t next_most_mgpu(const struct gang *gang, const struct orr_request *request,
                              uint32_t left)
{
    const struct orr_ledger_world *world = &gang->ledger->world;
    const struct orr_queue_use *use = &gang->ledger->use[world->specs[gang->job].queue];
    return gang->most_mgpu - use->allocated[ORR_SHARE_GPU] -
           (left - 1) * orr_request_least_mgpu(world->cluster, request);
}

static bool is_bounded(const struct gang *gang, const struct orr_request *request)
{
    return gang->most_mgpu < INT64_MAX && request->gpu_ask == ORR_GPU_MEMORY;
}

/* For the next of so many tasks of a group. */
static uint32_t next_node(const struct gang *gang, const struct orr_request *request, uint32_t left)
{
    const bool bounded = is_bounded(gang, request);
    const uint32_t tasks = gang->tasks > 0 ? gang->tasks : gang->shape->tasks;
    if (bounded || gang->domain != NULL || gang->among != NULL) {
        return node_within(gang, request, bounded ? next_most_mgpu(gang, request, left) : INT64_MAX,
                           gang->domain != NULL || tasks > 1);
    }
    return tasks == 1 ? orr_ledger_best_fit(gang->ledger, request, 1)
                      : orr_ledger_most_idle(gang->ledger, request);
}

/* Places the next of so many tasks of a group where its score is highest. */
static bool place_scored(const struct gang *gang, uint32_t group, uint32_t left)
{
    const struct orr_request *request = &gang->shape->groups[group].request;
    const struct orr_place_range range = {
        .nodes = gang->domain == NULL ? NULL : gang->domain->nodes,
        .count =
            gang->domain == NULL ? gang->ledger->world.cluster->node_count : gang->domain->count,
        .most_mgpu = is_bounded(gang, request) ? next_most_mgpu(gang, request, left) : INT64_MAX};
    uint64_t devices;
    const uint32_t node = orr_placer_choose(gang->placer, gang->job, group, &range, &devices);
    if (node != ORR_NONE && gang->evicts != NULL) {
        return orr_opportunistic_place(gang->evicts, gang->txn, gang->job, group, node, devices);
    }
    return node != ORR_NONE &&
           (devices != 0 ? orr_txn_place_on(gang->txn, gang->job, group, node, devices)
                         : orr_txn_place(gang->txn, gang->job, group, 1, node));
}

/* Places one group, the fullest-idle node first. Returns false when a task finds no node. */
static bool place_group(const struct gang *gang, uint32_t group)
{
    const struct orr_request *request = &gang->shape->groups[group].request;
    uint32_t left = count_of(gang, group);
    for (; gang->placer != NULL && left > 0; left--) {
        if (!place_scored(gang, group, left)) {
            return false;
        }
    }
    while (left > 0) {
        uint32_t node = next_node(gang, request, left);
        if (node == ORR_NONE) {
            return false;
        }
        uint32_t room = left == 1 ? 1 : room_on(gang, request, node);
        uint32_t tasks = left < room ? left : room;
        if (!orr_txn_place(gang->txn, gang->job, group, tasks, node)) {
            return false;
        }
        left -= tasks;
    }
    return true;
}

static bool place_together(const struct gang *gang, struct orr_span span);

static bool place_member(struct gang gang, uint32_t set)
{
    gang.set = set;
    return place_together(&gang, gang.shape->sets[set].span);
}

static bool is_bound(const struct orr_shape *shape, uint32_t set)
{
    return shape->sets[set].span.required > 0 || shape->sets[set].span.preferred > 0;
}

/* Is a part in it, or it itself, to be held together? */
static bool holds_bound(const struct orr_shape *shape, uint32_t set)
{
    bool found = false;
    for (uint32_t s = set; s < shape->set_count && !found; s++) {
        uint32_t at = is_bound(shape, s) ? s : ORR_NONE;
        while (at != set && at != ORR_NONE) {
            at = shape->sets[at].parent;
        }
        found = at == set;
    }
    return found;
}

static bool place_members(const struct gang *gang, bool bound)
{
    const struct orr_shape *shape = gang->shape;
    bool placed = true;
    for (uint32_t s = 0; s < shape->set_count && placed; s++) {
        bool member = shape->sets[s].parent == gang->set && holds_bound(shape, s) == bound;
        placed = !member || place_member(*gang, s);
    }
    return placed;
}

/* The parts that have least choice first, or all groups where no part matters. */
static bool place_groups(const struct gang *gang)
{
    const struct orr_shape *shape = gang->shape;
    uint32_t checkpoint = orr_txn_checkpoint(gang->txn);
    struct orr_opportunistic_mark mark = {0};
    if (gang->evicts != NULL) {
        mark = orr_opportunistic_mark(gang->evicts);
    }
    bool parts = gang->set != ORR_NONE;
    bool placed = !parts || (place_members(gang, true) && place_members(gang, false));
    for (uint32_t g = 0; g < shape->group_count && placed; g++) {
        placed = (parts && shape->groups[g].set != gang->set) || place_group(gang, g);
    }
    if (!placed) {
        orr_txn_rollback(gang->txn, checkpoint);
    }
    if (!placed && gang->evicts != NULL) {
        orr_opportunistic_undo(gang->evicts, mark);
    }
    return placed;
}

struct candidate {
    int64_t idle_mgpu; /* of the kinds that the gang asks */
    uint32_t domain;
};

static int tightest_first(const void *a, const void *b, void *context)
{
    const struct candidate *x = a, *y = b;
    (void)context;
    if (x->idle_mgpu != y->idle_mgpu) {
        return x->idle_mgpu < y->idle_mgpu ? -1 : 1;
    }
    return x->domain < y->domain ? -1 : x->domain > y->domain;
}

static struct domain domain_of(const struct orr_cluster *cluster, uint32_t level, const uint32_t *d)
{
    if (level > cluster->level_count) {
        return (struct domain){.nodes = d, .count = 1, .level = level};
    }
    const struct orr_level *l = &cluster->levels[level - 1];
    return (struct domain){
        .nodes = &l->nodes[l->first[*d]], .count = l->first[*d + 1] - l->first[*d], .level = level};
}

/* Is a domain of a deeper level in the one that the gang is bound to? */
static bool is_inside(const struct gang *gang, uint32_t level, uint32_t domain)
{
    const struct orr_cluster *cluster = gang->ledger->world.cluster;
    const struct domain *around = gang->domain;
    const struct domain inner = domain_of(cluster, level, &domain);
    return around == NULL ||
           (inner.count > 0 && orr_cluster_domain(cluster, around->level, inner.nodes[0]) ==
                                   orr_cluster_domain(cluster, around->level, around->nodes[0]));
}

/* Idle devices of a domain, and those that others leave for the gang. */
static int64_t idle_in(const struct gang *gang, uint32_t level, uint32_t d)
{
    const struct orr_ledger *ledger = gang->ledger;
    if (gang->evicts == NULL) {
        return level > ledger->world.cluster->level_count ? ledger->idle[d].gpus
                                                          : ledger->domains[level - 1][d].idle_gpus;
    }
    const struct domain domain = domain_of(ledger->world.cluster, level, &d);
    int64_t idle = 0;
    for (uint32_t i = 0; i < domain.count; i++) {
        idle += __builtin_popcountll(orr_opportunistic_free(gang->evicts, domain.nodes[i]));
    }
    return idle;
}

/* What the gang asks in whole devices and in MIG instances; are there any of these? */
static bool need_of(const struct gang *gang, struct orr_gpus *need)
{
    bool mig = false;
    *need = (struct orr_gpus){0};
    for (uint32_t g = 0; g < gang->shape->group_count; g++) {
        const struct orr_request *request = &gang->shape->groups[g].request;
        const bool counts = request->gpu_ask == ORR_GPU_WHOLE || request->instances > 0;
        if (counts && has_group(gang, g)) {
            mig = mig || request->instances > 0;
            need->mgpu[orr_request_gpu_kind(request)] +=
                count_of(gang, g) * orr_request_mgpu(request);
        }
    }
    return mig;
}

/* Adds the idle instances of a domain, and those that others leave for the gang. */
static void add_idle_instances(const struct gang *gang, uint32_t level, uint32_t d,
                               struct orr_gpus *idle)
{
    const struct orr_cluster *cluster = gang->ledger->world.cluster;
    const struct domain domain = domain_of(cluster, level, &d);
    for (uint32_t i = 0; i < domain.count; i++) {
        for (uint32_t p = 0; p < cluster->mig_profiles.count; p++) {
            const uint32_t node = domain.nodes[i];
            const int32_t instances = gang->evicts == NULL
                                          ? gang->ledger->idle[node].mig[p]
                                          : orr_opportunistic_instances(gang->evicts, node, p);
            idle->mgpu[1 + p] += instances * cluster->mig_mgpu[p];
        }
    }
}

static int64_t sum_of_asked(const struct orr_gpus *idle, const struct orr_gpus *need)
{
    int64_t sum = 0;
    for (int k = 0; k < ORR_GPU_KINDS; k++) {
        sum += need->mgpu[k] > 0 ? idle->mgpu[k] : 0;
    }
    return sum;
}

/* Domains of a level (from 1; the last is single nodes) with enough idle for what the gang asks in
 * whole devices and MIG instances, the tightest first. Caller frees. */
static struct candidate *list_candidates(const struct gang *gang, uint32_t level, uint32_t *count)
{
    const struct orr_cluster *cluster = gang->ledger->world.cluster;
    bool single = level > cluster->level_count;
    uint32_t domains = single ? cluster->node_count : cluster->levels[level - 1].domain_count;
    struct orr_gpus need;
    const bool mig = need_of(gang, &need);
    struct candidate *list = orr_alloc(domains + (size_t)1, sizeof *list);
    *count = 0;
    for (uint32_t d = 0; d < domains; d++) {
        struct orr_gpus idle = {.mgpu = {idle_in(gang, level, d) * ORR_MGPU}};
        if (mig) {
            add_idle_instances(gang, level, d, &idle);
        }
        if (orr_gpus_hold(&idle, &need) && is_inside(gang, level, d)) {
            const int64_t tight = mig ? sum_of_asked(&idle, &need) : idle.mgpu[0];
            list[(*count)++] = (struct candidate){.idle_mgpu = tight, .domain = d};
        }
    }
    orr_sort(list, *count, sizeof *list, tightest_first, NULL);
    return list;
}

static bool place_in_level(struct gang gang, uint32_t level)
{
    uint32_t count;
    struct candidate *list = list_candidates(&gang, level, &count);
    bool placed = false;
    for (uint32_t i = 0; i < count && !placed; i++) {
        const struct domain domain = domain_of(gang.ledger->world.cluster, level, &list[i].domain);
        struct gang bound = gang;
        bound.domain = &domain;
        placed = place_groups(&bound);
    }
    orr_free(list);
    return placed;
}

static bool is_single(const struct gang *gang)
{
    uint32_t tasks = 0;
    for (uint32_t g = 0; g < gang->shape->group_count; g++) {
        tasks += has_group(gang, g) ? count_of(gang, g) : 0;
    }
    return tasks <= 1;
}

/* From the deepest level it would like to the widest it accepts; one task is together anyway. */
static bool place_together(const struct gang *gang, struct orr_span span)
{
    if ((span.required == 0 && span.preferred == 0) || is_single(gang)) {
        return place_groups(gang);
    }
    uint32_t deepest = span.preferred > 0 ? span.preferred : span.required;
    uint32_t widest = span.required > 0 ? span.required : 1;
    uint32_t around = gang->domain == NULL ? 0 : gang->domain->level; /* one domain already */
    for (uint32_t level = deepest; level >= widest && level > around; level--) {
        if (place_in_level(*gang, level)) {
            return true;
        }
    }
    return span.required <= around && place_groups(gang);
}

/* Idle devices of its shard, of the model that it asks if it asks one. */
static int64_t idle_of_model(const struct orr_ledger *ledger, const struct orr_request *request)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    if (request->gpu_model == ORR_NONE) {
        return ledger->shards[request->shard].idle_gpus;
    }
    int64_t idle = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        const struct orr_node_type *type = &cluster->types[t];
        const struct orr_type_index *index = &ledger->types[t];
        const bool fits = type->shard == request->shard && type->gpu_model == request->gpu_model;
        for (uint32_t gpus = 1; fits && gpus <= index->gpus; gpus++) {
            idle += (int64_t)gpus * index->by_idle[gpus].count;
        }
    }
    return idle;
}

/* Idle MIG instances of its profile on the nodes of its shard that its selector, its toleration and
 * `allowed` admit. */
static int64_t idle_instances(const struct orr_ledger *ledger, const struct orr_request *request,
                              uint32_t allowed)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    int64_t idle = 0;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        bool admitted = orr_cluster_type(cluster, n)->shard == request->shard &&
                        orr_cluster_admits(cluster, request->selector, n) &&
                        orr_cluster_admits(cluster, request->toleration, n) &&
                        orr_cluster_admits(cluster, allowed, n);
        idle += admitted ? orr_ledger_idle_units(ledger, n, request) : 0;
    }
    return idle;
}

/* Idle devices of the nodes of its shard that two of its filters admit, and `allowed` besides; of a
 * request for MIG instances idle ones of its profile. */
static int64_t idle_within(const struct orr_ledger *ledger, const struct orr_request *request,
                           uint32_t allowed)
{
    if (request->instances > 0) {
        return idle_instances(ledger, request, allowed);
    }
    if (request->selector == 0 && request->toleration == 0 && allowed == 0) {
        return idle_of_model(ledger, request);
    }
    return orr_ledger_idle_within(ledger, request, allowed, ORR_NONE).gpus;
}

int64_t orr_place_allowed_idle(const struct orr_ledger *ledger, const struct orr_request *request)
{
    return idle_within(ledger, request, request->allowed);
}

/* What so many tasks of each group, 0: all, ask by kind of GPUs; of memory the least that it can
 * be.
 */
static struct orr_gpus asked_of(const struct orr_cluster *cluster, const struct orr_shape *shape,
                                uint32_t tasks)
{
    struct orr_gpus asked = {0};
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        asked.mgpu[orr_request_gpu_kind(request)] +=
            (int64_t)(tasks > 0 ? tasks : shape->groups[g].count) *
            orr_request_least_mgpu(cluster, request);
    }
    return asked;
}

enum orr_reason orr_place_why_not(const struct orr_ledger *ledger, const struct orr_shape *shape,
                                  uint32_t tasks)
{
    const struct orr_gpus free = orr_ledger_unheld(ledger, shape->groups[0].request.shard);
    const struct orr_gpus all_asked = asked_of(ledger->world.cluster, shape, tasks);
    if (!orr_gpus_hold(&free, &all_asked)) {
        return ORR_REASON_NO_CAPACITY;
    }
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        int64_t asked =
            (int64_t)orr_request_units(request) * (tasks > 0 ? tasks : shape->groups[g].count);
        bool narrowed = request->selector > 0 || request->toleration > 0 || request->allowed > 0;
        const bool of_model = request->gpu_model != ORR_NONE && request->instances == 0;
        if ((!narrowed && !of_model && request->instances == 0) ||
            (request->gpu_ask != ORR_GPU_WHOLE && request->instances == 0) ||
            orr_place_allowed_idle(ledger, request) >= asked) {
            continue;
        }
        if (!narrowed || (of_model && idle_of_model(ledger, request) < asked)) {
            return ORR_REASON_NO_CAPACITY;
        }
        return idle_within(ledger, request, 0) >= asked ? ORR_REASON_NODE_TYPES
                                                        : ORR_REASON_CONSTRAINED;
    }
    bool bound = shape->span.required > 0;
    for (uint32_t s = 1; s < shape->set_count; s++) {
        bound = bound || shape->sets[s].span.required > 0;
    }
    return bound && shape->tasks > 1 ? ORR_REASON_TOPOLOGY : ORR_REASON_FRAGMENTED;
}

/* Its parts matter to the placement only if one of them is to be held together. */
static bool has_bound_parts(const struct orr_shape *shape)
{
    bool found = false;
    for (uint32_t s = 1; s < shape->set_count; s++) {
        found = found || is_bound(shape, s);
    }
    return found;
}

static const struct orr_shape *shape_of(const struct orr_ledger *ledger, uint32_t job)
{
    return &ledger->world.shapes->shapes[ledger->world.specs[job].shape];
}

static struct gang gang_of(struct orr_placer *placer, struct orr_txn *txn,
                           const struct orr_ledger *ledger, uint32_t job,
                           const struct orr_shape *shape)
{
    return (struct gang){.txn = txn,
                         .placer = placer,
                         .ledger = ledger,
                         .shape = shape,
                         .job = job,
                         .set = has_bound_parts(shape) ? 0 : ORR_NONE,
                         .tasks = ledger->world.specs[job].scales ? shape->min_tasks : 0,
                         .most_mgpu = INT64_MAX};
}

/* False: it is opportunistic, and others wait for what those leave. */
static bool start_attempt(struct orr_opportunistic *o, struct gang *gang)
{
    if (!orr_opportunistic_has(o, gang->job)) {
        gang->evicts = o;
        orr_opportunistic_begin(o);
        return true;
    }
    orr_opportunistic_note(o, gang->job);
    return !orr_opportunistic_waits(o);
}

static enum orr_reason place_next(struct orr_placer *placer, struct orr_txn *txn,
                                  const struct orr_ledger *ledger, uint32_t job,
                                  const struct orr_shape *shape,
                                  const struct orr_place_among *among)
{
    const struct orr_shard_room *shard = orr_ledger_shard_of(ledger, shape);
    struct gang gang = gang_of(placer, txn, ledger, job, shape);
    gang.among = among;
    struct orr_gpus asked = shape->gpus; /* the caller's shape may ask less than the job's */
    if (ledger->world.specs[job].scales) {
        gang.tasks = orr_ledger_next_tasks(ledger, job);
        asked = orr_ledger_gpus(ledger, job, gang.tasks);
        if (gang.tasks == 0) {
            return ORR_REASON_NONE;
        }
    }
    const uint32_t checkpoint = orr_txn_checkpoint(txn), queue = ledger->world.specs[job].queue;
    struct orr_opportunistic *o = orr_placer__opportunistic(placer);
    if (o != NULL && !start_attempt(o, &gang)) {
        return ORR_REASON_RESERVED;
    }
    struct orr_gpus free = shard->free;
    if (gang.evicts != NULL) {
        orr_gpus_add(&free, orr_opportunistic_gpus(gang.evicts), 1);
    }
    if (!orr_gpus_hold(&free, &asked)) {
        return ORR_REASON_NO_CAPACITY;
    }
    const uint32_t tasks = gang.tasks > 0 ? gang.tasks : shape->tasks;
    if ((gang.evicts != NULL && orr_opportunistic_again(o, txn, job, tasks)) ||
        place_together(&gang, shape->span)) {
        return gang.evicts == NULL ? ORR_REASON_NONE
                                   : orr_opportunistic_settle(o, txn, job, checkpoint);
    }
    const struct orr_queue_use *use = &ledger->use[queue];
    const int64_t part =
        o != NULL && gang.evicts == NULL ? INT64_MAX : orr_placer_part_mgpu(placer, queue);
    const int64_t held = use->leaving_mgpu + use->allocated[ORR_SHARE_GPU] - use->held_mig_mgpu -
                         (gang.evicts == NULL ? 0 : orr_opportunistic_mgpu(gang.evicts, queue));
    return asked.mgpu[0] > 0 && part - held < asked.mgpu[0]
               ? ORR_REASON_OVER_LIMIT
               : orr_place_why_not(ledger, shape, gang.tasks);
}

/* As most jobs are: its one task, wherever that fits best. */
static enum orr_reason place_only_task(struct orr_txn *txn, const struct orr_ledger *ledger,
                                       uint32_t job, const struct orr_shape *shape)
{
    const struct orr_request *request = &shape->groups[0].request;
    const struct orr_shard_room *shard = orr_ledger_shard_of(ledger, shape);
    if (shape->gpus_mgpu > 0 &&
        shape->gpus_mgpu > shard->free.mgpu[orr_request_gpu_kind(request)]) {
        return ORR_REASON_NO_CAPACITY;
    }
    const uint32_t node = orr_ledger_best_fit(ledger, request, 1);
    return node != ORR_NONE && orr_txn_place(txn, job, 0, 1, node)
               ? ORR_REASON_NONE
               : orr_place_why_not(ledger, shape, 0);
}

enum orr_reason orr_place_next(struct orr_placer *placer, struct orr_txn *txn,
                               const struct orr_ledger *ledger, uint32_t job)
{
    const struct orr_shape *shape = shape_of(ledger, job);
    const bool one = shape->tasks == 1 && shape->group_count == 1;
    return one && placer == NULL && !ledger->world.specs[job].scales
               ? place_only_task(txn, ledger, job, shape)
               : place_next(placer, txn, ledger, job, shape, NULL);
}

enum orr_reason orr_place_next_among(struct orr_txn *txn, const struct orr_ledger *ledger,
                                     uint32_t job, const struct orr_place_among *among)
{
    return place_next(NULL, txn, ledger, job, shape_of(ledger, job), among);
}

enum orr_reason orr_place_next_within(struct orr_placer *placer, struct orr_txn *txn,
                                      const struct orr_ledger *ledger, uint32_t job,
                                      int64_t most_mgpu)
{
    const struct orr_job_spec *spec = &ledger->world.specs[job];
    const int64_t *held = &ledger->use[spec->queue].allocated[ORR_SHARE_GPU];
    const int64_t most = *held + most_mgpu;
    const uint32_t checkpoint = orr_txn_checkpoint(txn);
    const enum orr_reason reason = orr_place_next(placer, txn, ledger, job);
    if (reason != ORR_REASON_NONE || *held <= most) {
        return reason;
    }
    orr_txn_rollback(txn, checkpoint);
    struct gang gang = gang_of(placer, txn, ledger, job, shape_of(ledger, job));
    gang.tasks = spec->scales ? orr_ledger_next_tasks(ledger, job) : 0;
    gang.most_mgpu = most;
    if (place_together(&gang, gang.shape->span) && *held <= most) {
        return ORR_REASON_NONE;
    }
    orr_txn_rollback(txn, checkpoint);
    return ORR_REASON_OVER_LIMIT;
}

enum orr_reason orr_place_all_as(struct orr_placer *placer, struct orr_txn *txn,
                                 const struct orr_ledger *ledger, uint32_t job,
                                 const struct orr_shape *shape)
{
    enum orr_reason reason = place_next(placer, txn, ledger, job, shape, NULL);
    while (ledger->world.specs[job].scales && reason == ORR_REASON_NONE &&
           orr_ledger_next_tasks(ledger, job) > 0) {
        reason = place_next(placer, txn, ledger, job, shape, NULL);
    }
    return reason;
}

enum orr_reason orr_place_all(struct orr_placer *placer, struct orr_txn *txn,
                              const struct orr_ledger *ledger, uint32_t job)
{
    return orr_place_all_as(placer, txn, ledger, job, shape_of(ledger, job));
}

enum orr_reason orr_place_consolidated(struct orr_txn *txn, const struct orr_ledger *ledger,
                                       uint32_t job)
{
    return orr_place_all(NULL, txn, ledger, job);
}

enum orr_reason orr_place_why_passed(struct orr_txn *txn, const struct orr_ledger *ledger,
                                     uint32_t job, uint32_t tasks)
{
    const uint32_t checkpoint = orr_txn_checkpoint(txn);
    struct gang gang = gang_of(NULL, txn, ledger, job, shape_of(ledger, job));
    gang.tasks = tasks;
    const enum orr_reason reason = orr_place_why_not(ledger, gang.shape, tasks);
    const bool fits = reason != ORR_REASON_NO_CAPACITY && place_together(&gang, gang.shape->span);
    orr_txn_rollback(txn, checkpoint);
    return fits ? ORR_REASON_RESERVED : reason;
}

/* --- on an empty cluster --- */

static bool could_place(struct gang gang)
{
    const uint32_t checkpoint = orr_txn_checkpoint(gang.txn);
    bool whole = place_together(&gang, gang.shape->span);
    orr_txn_rollback(gang.txn, checkpoint);
    if (whole || gang.set == ORR_NONE) {
        return whole;
    }
    bool parts = true; /* each by itself: in which order they come is up to the policy */
    for (uint32_t s = 1; s < gang.shape->set_count && parts; s++) {
        parts = place_member(gang, s);
        orr_txn_rollback(gang.txn, checkpoint);
    }
    gang.set = ORR_NONE;
    parts = parts && place_together(&gang, gang.shape->span);
    orr_txn_rollback(gang.txn, checkpoint);
    return parts;
}

static uint32_t count_members(const struct orr_shape *shape, uint32_t set)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < shape->set_count; s++) {
        count += shape->sets[s].parent == set;
    }
    return count;
}

/* Of one kind of tasks so many are left as are needed, of several kinds all: are these needed? */
static bool keep_least(struct orr_task_group *groups, uint32_t count, uint32_t set, uint32_t min)
{
    struct orr_task_group *only = NULL;
    uint32_t kinds = 0, tasks = 0;
    for (uint32_t g = 0; g < count; g++) {
        if (groups[g].set == set) {
            only = &groups[g];
            kinds++;
            tasks += only->count;
        }
    }
    if (kinds == 1) {
        only->count = min;
    }
    return kinds == 1 || tasks == min;
}

/* The least of an elastic job: false where several choices of its tasks are a gang. */
static bool least_of(const struct orr_shape *shape, struct orr_task_group *groups,
                     struct orr_shape *least)
{
    if (shape->group_count > ORR_SETS_MAX) {
        return false;
    }
    *least = *shape;
    memcpy(groups, shape->groups, shape->group_count * sizeof *groups);
    least->groups = groups;
    least->tasks = shape->min_tasks;
    bool only = shape->set_count > 0 || keep_least(groups, shape->group_count, 0, shape->min_tasks);
    for (uint32_t s = 0; s < shape->set_count && only; s++) {
        const struct orr_task_set *set = &shape->sets[s];
        only = set->is_tasks ? keep_least(groups, shape->group_count, s, set->min)
                             : count_members(shape, s) == set->min;
    }
    return only;
}

/* How many tasks of a set (0: of the whole) find room, each kind by itself. */
static uint32_t count_possible(const struct gang *gang, uint32_t set)
{
    const uint32_t checkpoint = orr_txn_checkpoint(gang->txn);
    struct gang single = *gang;
    single.tasks = 1;
    uint32_t tasks = 0;
    for (uint32_t g = 0; g < gang->shape->group_count; g++) {
        if (gang->shape->groups[g].set == set && place_group(&single, g)) {
            tasks += gang->shape->groups[g].count;
        }
        orr_txn_rollback(gang->txn, checkpoint);
    }
    return tasks;
}

/* Do as many parts find room, each by itself, as are enough for the whole? */
static bool could_choose(const struct gang *gang)
{
    const struct orr_shape *shape = gang->shape;
    uint32_t could[ORR_SETS_MAX] = {0}; /* tasks, or members */
    for (uint32_t s = shape->set_count; s-- > 0;) {
        could[s] += shape->sets[s].is_tasks ? count_possible(gang, s) : 0;
        if (s > 0) {
            could[shape->sets[s].parent] += could[s] >= shape->sets[s].min;
        }
    }
    return shape->set_count > 0 ? could[0] >= shape->sets[0].min
                                : count_possible(gang, 0) >= shape->min_tasks;
}

static bool conceivable(struct gang gang, bool least)
{
    const struct orr_shape *shape = gang.shape;
    if (!least || gang.tasks > 0 || shape->min_tasks == shape->tasks) {
        return could_place(gang);
    }
    struct orr_task_group groups[ORR_SETS_MAX];
    struct orr_shape fewest;
    if (least_of(shape, groups, &fewest)) {
        gang.shape = &fewest;
        return could_place(gang);
    }
    const struct orr_gpus free = orr_shard_free(orr_ledger_shard_of(gang.ledger, shape));
    return orr_shape_least(shape, ORR_SHARE_GPU) <= orr_gpus_sum(&free) && could_choose(&gang);
}

bool orr_place_conceivable(struct orr_txn *txn, const struct orr_ledger *ledger, uint32_t job,
                           bool least, const struct orr_place_among *among)
{
    struct gang gang = gang_of(NULL, txn, ledger, job, shape_of(ledger, job));
    gang.among = among;
    return conceivable(gang, least);
}

bool orr_place__kinds_conceivable_by(struct orr_placer *placer, struct orr_txn *txn,
                                     const struct orr_ledger *ledger, uint32_t job)
{
    const struct gang gang = gang_of(placer, txn, ledger, job, shape_of(ledger, job));
    const uint32_t checkpoint = orr_txn_checkpoint(txn);
    bool all = true;
    for (uint32_t g = 0; g < gang.shape->group_count && all; g++) {
        all = place_group(&gang, g);
        orr_txn_rollback(txn, checkpoint);
    }
    return all;
}

bool orr_place__conceivable_by(struct orr_placer *placer, struct orr_txn *txn,
                               const struct orr_ledger *ledger, uint32_t job, bool least)
{
    return conceivable(gang_of(placer, txn, ledger, job, shape_of(ledger, job)), least);
}
