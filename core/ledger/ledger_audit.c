/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_audit.c - every book once more, from nothing but placements.
 *
 * Costs what exists: nodes, devices, jobs. Nothing here calls what keeps the books, except for the
 * room of one placement. */
#include "ledger_int.h"

struct audit {
    const struct orr_ledger *ledger;
    const struct orr_cluster *cluster;
    struct orr_room *used, *releasing; /* per node */
    uint64_t *whole;                   /* per node: devices held by one task each */
    int64_t *shared, *parts;           /* per node and device: milli-GPU, and parts */
    uint32_t *hosted;                  /* per node and class */
    int64_t *kept;                     /* per node and kind of GPUs: milli-GPU, without graces */
    struct orr_queue_use *use;         /* per queue */
    struct orr_shard_room *shards;     /* without most_gpus and mig_gpus */
    uint32_t pending_jobs, running_jobs;
    int64_t leaving_mgpu;
    struct orr_err *err;
};

static bool equal(const struct audit *a, const char *what, const char *of, int64_t book,
                  int64_t truth)
{
    if (book != truth) {
        (void)orr_fail(a->err, ORR_BUG, "ledger: %s%s%s is %lld, placements say %lld", what,
                       of == NULL ? "" : " of ", of == NULL ? "" : of, (long long)book,
                       (long long)truth);
    }
    return book == truth;
}

static void add_use(struct audit *a, uint32_t queue, bool pending, const int64_t *amounts)
{
    for (uint32_t q = queue; q != ORR_NONE; q = a->ledger->world.queues->queues[q].parent) {
        int64_t *sums = pending ? a->use[q].pending : a->use[q].allocated;
        for (uint32_t r = 0; r < ORR_SHARE_RESOURCES; r++) {
            sums[r] += amounts[r];
        }
    }
}

/* A whole device has one holder; a sharing task adds its portion to each of its devices. */
static bool add_devices(struct audit *a, const struct orr_placement *placement, uint32_t node,
                        const struct orr_request *request)
{
    const struct orr_node_type *type = orr_cluster_type(a->cluster, node);
    const char *name = orr_idmap_name(&a->cluster->node_names, node);
    if (request->gpu_ask == ORR_GPU_WHOLE) {
        int64_t held = __builtin_popcountll(placement->devices);
        int64_t asked = (int64_t)request->devices * orr_placement_each(placement);
        bool counted = type->gpus <= ORR_DEVICE_MASK_MAX;
        if (!equal(a, "devices held twice", name,
                   __builtin_popcountll(a->whole[node] & placement->devices), 0) ||
            !equal(a, "devices of a placement", name, held, counted ? asked : 0)) {
            return false;
        }
        a->whole[node] |= placement->devices;
        return true;
    }
    const int64_t portion = orr_request_portion_mgpu(request, type);
    const int64_t parts = orr_request_parts(request, type);
    for (uint32_t d = 0; d < type->gpus && d < ORR_DEVICE_MASK_MAX; d++) {
        if ((placement->devices >> d & 1) != 0) {
            a->shared[(size_t)node * a->cluster->max_gpus + d] += portion;
            a->parts[(size_t)node * a->cluster->max_gpus + d] += parts;
        }
    }
    return true;
}

static int64_t *kept_of(const struct audit *a, uint32_t node)
{
    return &a->kept[node * (1 + (size_t)a->cluster->mig_profiles.count)];
}

/* What a placement holds of each of its nodes. */
static bool add_nodes(struct audit *a, const struct orr_placement *placement,
                      const struct orr_request *request)
{
    const struct orr_room room = orr_ledger_held(a->ledger, request, placement);
    for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
        orr_room_add(&a->used[n], &room, 1);
        if (request->gpu_ask != ORR_GPU_NONE) {
            const size_t stride = a->cluster->max_gpus + (size_t)1;
            a->hosted[n * stride + orr_request_class(request)] += orr_placement_each(placement);
        }
        if (placement->hold != ORR_HOLD_KEPT) {
            orr_room_add(&a->releasing[n], &room, 1);
        } else {
            kept_of(a, n)[orr_request_gpu_kind(request)] +=
                orr_placement_each(placement) *
                orr_request_task_mgpu(request, orr_cluster_type(a->cluster, n));
        }
        if (!equal(a, "tasks on a node they may not use",
                   orr_idmap_name(&a->cluster->node_names, n),
                   orr_ledger__may_use(a->ledger, n, request) ? 0 : placement->tasks, 0) ||
            !add_devices(a, placement, n, request)) {
            return false;
        }
    }
    return true;
}

/* The part of what tasks hold that KAI's metric of past usage does not see. */
static int64_t unmetered_of(const struct orr_request *request, int64_t mgpu)
{
    const bool parts = request->gpu_ask != ORR_GPU_WHOLE && request->devices > 1;
    return request->instances > 0 ? mgpu
           : parts                ? mgpu / request->devices * (request->devices - 1)
                                  : 0;
}

static bool add_job(struct audit *a, uint32_t job)
{
    const struct orr_ledger *ledger = a->ledger;
    const struct orr_job_state *state = &ledger->jobs[job];
    if (state->phase == ORR_JOB_FUTURE || state->phase == ORR_JOB_FINISHED ||
        state->phase == ORR_JOB_WITHDRAWN) {
        return true;
    }
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    uint32_t queue = ledger->world.specs[job].queue;
    if (state->phase == ORR_JOB_PENDING) {
        a->pending_jobs++;
        const struct orr_use_asked asked = orr_use__asked(ledger, job);
        add_use(a, queue, true, (const int64_t[]){asked.cpu_milli, asked.mem_bytes, asked.mgpu});
        if (orr_ledger_is_complete(ledger, job)) {
            return equal(a, "placed tasks of a pending job", NULL, state->placed_tasks,
                         shape->min_tasks - 1);
        }
    }
    a->running_jobs += state->phase == ORR_JOB_RUNNING;
    uint32_t placed = 0, leaving = 0, count = 0;
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        bool kept = placement->hold == ORR_HOLD_KEPT;
        placed += kept ? placement->tasks : 0;
        leaving += kept ? 0 : placement->tasks;
        count++;
        if (!equal(a, "a placement's job", NULL, placement->job, job) ||
            !equal(a, "an ended placement on a job's list", NULL, placement->hold == ORR_HOLD_ENDED,
                   0)) {
            return false;
        }
        const struct orr_request *request = &shape->groups[placement->group].request;
        struct orr_room room = orr_books__room(request, placement->tasks);
        if (!add_nodes(a, placement, request)) {
            return false;
        }
        int64_t mgpu =
            placement->tasks *
            orr_request_task_mgpu(request, orr_cluster_type(a->cluster, placement->node));
        if (kept) {
            a->shards[orr_cluster_type(a->cluster, placement->node)->shard].allocated_mgpu += mgpu;
            add_use(a, queue, false, (const int64_t[]){room.cpu_milli, room.mem_bytes, mgpu});
            const int64_t unmetered = unmetered_of(request, mgpu);
            const struct orr_node_type *type = orr_cluster_type(a->cluster, placement->node);
            const int64_t rounding =
                placement->tasks * orr_request_counted_mgpu(request, type) - mgpu;
            for (uint32_t q = queue; q != ORR_NONE; q = ledger->world.queues->queues[q].parent) {
                a->use[q].unmetered_mgpu += unmetered;
                a->use[q].rounding_mgpu += rounding;
                a->use[q].held_mig_mgpu += placement->tasks * request->mig_mgpu;
            }
        } else {
            for (uint32_t q = queue; q != ORR_NONE; q = ledger->world.queues->queues[q].parent) {
                a->use[q].leaving_mgpu += mgpu;
                a->use[q].held_mig_mgpu += placement->tasks * request->mig_mgpu;
            }
            a->leaving_mgpu += mgpu;
        }
    }
    return equal(a, "placed tasks of a job", NULL, state->placed_tasks, placed) &&
           equal(a, "leaving tasks of a job", NULL, state->leaving_tasks, leaving) &&
           equal(a, "placements of a job", NULL, state->placement_count, count) &&
           equal(a, "tasks placed by a job being released", NULL,
                 state->phase == ORR_JOB_RELEASING && placed > 0, 0);
}

/* Compares the devices of a node; *sharing is how many have sharing tasks. */
static bool check_devices(const struct audit *a, uint32_t node, int32_t *sharing)
{
    const struct orr_ledger *ledger = a->ledger;
    const char *name = orr_idmap_name(&a->cluster->node_names, node);
    const struct orr_node_type *type = orr_cluster_type(a->cluster, node);
    uint32_t gpus = type->gpus;
    uint64_t ours = orr_ledger__our_devices(type), taken = a->whole[node];
    *sharing = 0;
    for (uint32_t d = 0; d < gpus && gpus <= ORR_DEVICE_MASK_MAX; d++) {
        size_t at = (size_t)node * a->cluster->max_gpus + d;
        int64_t truth = a->shared[at];
        if (!equal(a, "milli-GPU on a device", name,
                   ledger->device_mgpu == NULL ? 0 : ledger->device_mgpu[at], truth) ||
            !equal(a, "parts of a device", name, orr_ledger_used_parts(ledger, node, d),
                   a->parts[at])) {
            return false;
        }
        if (truth > 0) {
            bool exclusive = a->parts[at] <= orr_device_parts(type) && (taken >> d & 1) == 0;
            if (!equal(a, "a device over its capacity", name, !exclusive, 0)) {
                return false;
            }
            (*sharing)++;
            taken |= (uint64_t)1 << d;
        }
    }
    bool down = ledger->down[node];
    uint64_t truth = ours & ~taken;
    return equal(a, "devices of foreign pods", name,
                 __builtin_popcountll(gpus > ORR_DEVICE_MASK_MAX ? 0 : taken & ~ours), 0) &&
           equal(a, "mask of free devices", name, (int64_t)ledger->free_devices[node],
                 down ? 0 : (int64_t)truth) &&
           equal(a, "mask of withheld devices", name, (int64_t)ledger->withheld_devices[node],
                 down ? (int64_t)truth : 0);
}

static bool set_has(const struct orr_node_set *set, uint32_t node)
{
    return (set->words[node >> 6] >> (node & 63) & 1) != 0 &&
           (set->summary[node >> 12] >> (node >> 6 & 63) & 1) != 0;
}

static bool check_instances(const struct audit *a, const char *what, const char *name,
                            const struct orr_room *room, const struct orr_room *truth)
{
    bool ok = true;
    for (uint32_t p = 0; p < ORR_MIG_PROFILES_MAX && ok; p++) {
        ok = equal(a, what, name, room->mig[p], truth->mig[p]);
    }
    return ok;
}

static bool is_over(const struct orr_room *left)
{
    bool over = left->gpus < 0;
    for (uint32_t p = 0; p < ORR_MIG_PROFILES_MAX; p++) {
        over = over || left->mig[p] < 0;
    }
    return over;
}

/* What should be idle, or withheld: the one that is not has nothing. */
static bool check_room(const struct audit *a, const char *name, const struct orr_room *room,
                       const struct orr_room *truth)
{
    return equal(a, "idle devices", name, room->gpus, truth->gpus) &&
           equal(a, "idle milli-CPU", name, room->cpu_milli, truth->cpu_milli) &&
           equal(a, "idle memory", name, room->mem_bytes, truth->mem_bytes) &&
           equal(a, "idle pods", name, room->pods, truth->pods) &&
           check_instances(a, "idle MIG instances", name, room, truth);
}

static bool check_hosted(const struct audit *a, uint32_t node, const char *name)
{
    const uint32_t *book = orr_ledger_hosted(a->ledger, node);
    const uint32_t *truth = &a->hosted[book - a->ledger->hosted];
    bool ok = true;
    for (uint32_t c = 0; c <= a->cluster->max_gpus && ok; c++) {
        ok = equal(a, "hosted tasks", name, book[c], truth[c]);
    }
    return ok;
}

static bool check_node(const struct audit *a, uint32_t node)
{
    const struct orr_ledger *ledger = a->ledger;
    const char *name = orr_idmap_name(&a->cluster->node_names, node);
    static const struct orr_room nothing = {0};
    const struct orr_room *used = &a->used[node];
    const struct orr_room *releasing = &ledger->releasing[node], *freed = &a->releasing[node];
    bool down = ledger->down[node];
    struct orr_room left = orr_ledger_empty_node(orr_cluster_type(a->cluster, node));
    int32_t sharing;
    if (!check_devices(a, node, &sharing)) {
        return false;
    }
    orr_room_add(&left, used, -1);
    left.gpus -= sharing;
    left.pods -= sharing * orr_books__reservations(ledger, orr_cluster_type(a->cluster, node));
    int32_t whole = down ? 0 : left.gpus;
    const struct orr_type_index *index = &ledger->types[a->cluster->nodes[node].type];
    return equal(a, "devices or MIG instances below zero", name, is_over(&left), 0) &&
           check_hosted(a, node, name) &&
           check_room(a, name, &ledger->idle[node], down ? &nothing : &left) &&
           check_room(a, name, &ledger->withheld[node], down ? &left : &nothing) &&
           equal(a, "releasing devices", name, releasing->gpus, freed->gpus) &&
           equal(a, "releasing milli-CPU", name, releasing->cpu_milli, freed->cpu_milli) &&
           equal(a, "releasing memory", name, releasing->mem_bytes, freed->mem_bytes) &&
           equal(a, "releasing pods", name, releasing->pods, freed->pods) &&
           check_instances(a, "releasing MIG instances", name, releasing, freed) &&
           equal(a, "mark of sharing", name, set_has(&ledger->sharing, node), sharing > 0) &&
           equal(a, "place in the index", name, set_has(&index->by_idle[whole], node), 1) &&
           equal(a, "mark of the index", name, (index->filled[whole >> 6] >> (whole & 63)) & 1, 1);
}

/* Every node is in its set (check_node), so sets of the right size hold nothing else. */
static bool check_index(const struct audit *a)
{
    const struct orr_ledger *ledger = a->ledger;
    uint32_t members = 0;
    for (uint32_t t = 0; t < a->cluster->type_count; t++) {
        const struct orr_type_index *index = &ledger->types[t];
        for (uint32_t f = 0; f <= index->gpus; f++) {
            bool filled = (index->filled[f >> 6] >> (f & 63) & 1) != 0;
            members += index->by_idle[f].count;
            if (!equal(a, "mark of an empty index", NULL, filled, index->by_idle[f].count > 0)) {
                return false;
            }
        }
    }
    return equal(a, "nodes in the index", NULL, members, a->cluster->node_count);
}

static bool check_level(const struct audit *a, uint32_t l)
{
    const struct orr_level *level = &a->cluster->levels[l];
    size_t row = a->cluster->max_gpus + 1;
    int64_t *nodes = orr_zalloc(level->domain_count * row, sizeof *nodes);
    bool ok = true;
    for (uint32_t n = 0; n < a->cluster->node_count; n++) {
        nodes[level->domain_of_node[n] * row + (uint32_t)a->ledger->idle[n].gpus]++;
    }
    for (uint32_t d = 0; d < level->domain_count && ok; d++) {
        const struct orr_domain_room *room = &a->ledger->domains[l][d];
        int64_t idle = 0;
        for (uint32_t f = 0; f < row && ok; f++) {
            idle += f * nodes[d * row + f];
            ok = equal(a, "nodes by idle devices of a domain", level->name, room->nodes_by_idle[f],
                       nodes[d * row + f]);
        }
        ok = ok && equal(a, "idle devices of a domain", level->name, room->idle_gpus, idle);
    }
    orr_free(nodes);
    return ok;
}

static bool check_queue(const struct audit *a, uint32_t queue)
{
    const char *name = orr_idmap_name(&a->ledger->world.queues->names, queue);
    const struct orr_queue_use *book = &a->ledger->use[queue], *truth = &a->use[queue];
    for (uint32_t r = 0; r < ORR_SHARE_RESOURCES; r++) {
        if (!equal(a, "allocated to the jobs", name, book->allocated[r], truth->allocated[r]) ||
            !equal(a, "asked by the jobs", name, book->pending[r], truth->pending[r])) {
            return false;
        }
    }
    return equal(a, "leaving from the jobs", name, book->leaving_mgpu, truth->leaving_mgpu) &&
           equal(a, "MIG instances held by the jobs", name, book->held_mig_mgpu,
                 truth->held_mig_mgpu) &&
           equal(a, "allocated unmetered to the jobs", name, book->unmetered_mgpu,
                 truth->unmetered_mgpu) &&
           equal(a, "rounding of parts of devices", name, book->rounding_mgpu,
                 truth->rounding_mgpu);
}

/* What nobody holds of a node counts as free of its shard while the node is there. */
static bool add_free(const struct audit *a, uint32_t node)
{
    const struct orr_node_type *type = orr_cluster_type(a->cluster, node);
    struct orr_shard_room *truth = &a->shards[type->shard];
    const bool here = !a->ledger->away[node], down = a->ledger->down[node];
    bool same = true;
    for (uint32_t k = 0; k <= a->cluster->mig_profiles.count && same; k++) {
        const int64_t all = k == 0 ? (int64_t)orr_node_type_own_gpus(type) * ORR_MGPU
                                   : type->mig[k - 1] * a->cluster->mig_mgpu[k - 1];
        const int64_t free = all - kept_of(a, node)[k];
        truth->free.mgpu[k] += here ? free : 0;
        truth->free_down.mgpu[k] += here && down ? free : 0;
        same = equal(a, "free milli-GPU", orr_idmap_name(&a->cluster->node_names, node),
                     orr_books__node_free(a->ledger, node)[k], free);
    }
    return same;
}

static bool check_shards(const struct audit *a)
{
    for (uint32_t n = 0; n < a->cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(a->cluster, n);
        struct orr_shard_room *truth = &a->shards[type->shard];
        int64_t gpus = orr_node_type_counted_gpus(type);
        truth->idle_gpus += a->ledger->idle[n].gpus;
        truth->total_gpus += a->ledger->away[n] ? 0 : gpus;
        for (uint32_t p = 0; p < a->cluster->mig_profiles.count; p++) {
            truth->idle_mig_mgpu[p] += a->ledger->idle[n].mig[p] * a->cluster->mig_mgpu[p];
        }
        if (!add_free(a, n)) {
            return false;
        }
        if (a->ledger->away[n] && !orr_ledger_is_vacant(a->ledger, n)) {
            return equal(a, "nodes in use that are not there", NULL, 1, 0);
        }
    }
    for (uint32_t s = 0; s <= a->cluster->shards.count; s++) {
        const struct orr_shard_room *book = &a->ledger->shards[s], *truth = &a->shards[s];
        if (!equal(a, "idle devices", "a shard", book->idle_gpus, truth->idle_gpus) ||
            !equal(a, "devices", "a shard", book->total_gpus, truth->total_gpus) ||
            !equal(a, "allocated milli-GPU", "a shard", book->allocated_mgpu,
                   truth->allocated_mgpu)) {
            return false;
        }
        for (uint32_t k = 0; k < ORR_GPU_KINDS; k++) {
            if (!equal(a, "free milli-GPU by kind", "a shard", book->free.mgpu[k],
                       truth->free.mgpu[k]) ||
                !equal(a, "free milli-GPU of nodes that are down", "a shard",
                       book->free_down.mgpu[k], truth->free_down.mgpu[k]) ||
                (k > 0 && !equal(a, "what idle MIG instances count", "a shard",
                                 book->idle_mig_mgpu[k - 1], truth->idle_mig_mgpu[k - 1]))) {
                return false;
            }
        }
    }
    return true;
}

static bool check_all(struct audit *a)
{
    const struct orr_ledger *ledger = a->ledger;
    bool ok = true;
    for (uint32_t j = 0; j < ledger->world.job_count && ok; j++) {
        ok = add_job(a, j);
    }
    for (uint32_t n = 0; n < a->cluster->node_count && ok; n++) {
        ok = check_node(a, n);
    }
    ok = ok && check_index(a) && check_shards(a);
    for (uint32_t l = 0; l < a->cluster->level_count && ok; l++) {
        ok = check_level(a, l);
    }
    for (uint32_t q = 0; q < ledger->world.queues->count && ok; q++) {
        ok = check_queue(a, q);
    }
    return ok && equal(a, "pending jobs", NULL, ledger->pending_jobs, a->pending_jobs) &&
           equal(a, "running jobs", NULL, ledger->running_jobs, a->running_jobs) &&
           equal(a, "leaving from all jobs", NULL, ledger->leaving_mgpu, a->leaving_mgpu) &&
           equal(a, "claims between cycles", NULL, ledger->claims, 0);
}

enum orr_status orr_ledger_audit(const struct orr_ledger *ledger, struct orr_err *err)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct audit a = {.ledger = ledger, .cluster = cluster, .err = err};
    a.used = orr_arena_alloc(&arena, cluster->node_count, sizeof *a.used);
    a.releasing = orr_arena_alloc(&arena, cluster->node_count, sizeof *a.releasing);
    a.whole = orr_arena_alloc(&arena, cluster->node_count, sizeof *a.whole);
    a.shared =
        orr_arena_alloc(&arena, (size_t)cluster->node_count * cluster->max_gpus, sizeof *a.shared);
    a.parts =
        orr_arena_alloc(&arena, (size_t)cluster->node_count * cluster->max_gpus, sizeof *a.parts);
    a.hosted = orr_arena_alloc(&arena, cluster->node_count * (cluster->max_gpus + (size_t)1),
                               sizeof *a.hosted);
    a.kept = orr_arena_alloc(
        &arena, cluster->node_count * (1 + (size_t)cluster->mig_profiles.count), sizeof *a.kept);
    a.shards = orr_arena_alloc(&arena, cluster->shards.count + (size_t)1, sizeof *a.shards);
    a.use = orr_arena_alloc(&arena, ledger->world.queues->count, sizeof *a.use);
    bool ok = check_all(&a);
    orr_arena_release(&arena);
    return ok ? ORR_OK : ORR_BUG;
}
