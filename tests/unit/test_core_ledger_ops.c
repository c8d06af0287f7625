/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random operations on the ledger, each compared with the oracle of core_oracle.h: idle room,
 * answers of best_fit and most_idle, queue sums, topology; rollback gives back every bit. */
#include "test_main.h"

#include <string.h>

#include <orrery/base/rng.h>
#include <orrery/core/place.h>

#include "core_oracle.h"

enum { JOBS = 260, CHECKPOINTS = 4 };

/* commits join nodes in a row; no part of a job is evicted; jobs are suspended and go on */
enum { JOINS = 1, WHOLE_JOBS = 2, SUSPENDS = 4 };

struct play {
    struct core_world world;
    struct orr_ledger *ledger;
    struct orr_txn *txn;
    struct oracle oracle;
    struct orr_rng rng;
    uint32_t laws, how;
    orr_ms now;
    uint32_t next_job;
    uint32_t refusals, commits, rollbacks, evictions, partial_evictions, parted, parted_in_txn;
    uint32_t suspensions, resumptions, refused_resumptions;
};

static uint32_t below(struct play *p, uint32_t bound)
{
    return (uint32_t)orr_rng_below(&p->rng, bound);
}

/* ---- worlds ---- */

static void set_bounds(struct orr_node_type *type, int64_t cpu, int64_t mem, int64_t pods)
{
    type->allocatable.v[ORR_RES_CPU] = cpu;
    type->allocatable.v[ORR_RES_MEMORY] = mem;
    type->allocatable.v[ORR_RES_PODS] = pods;
}

static void add_levels(struct core_world *world, uint32_t zone, uint32_t rack)
{
    uint32_t nodes = world->cluster.node_count;
    uint32_t *domain = orr_alloc(nodes, sizeof *domain);
    for (uint32_t pass = 0; pass < 2; pass++) {
        uint32_t size = pass == 0 ? zone : rack;
        for (uint32_t n = 0; n < nodes; n++) {
            domain[n] = n / size;
        }
        (void)orr_cluster_add_level(&world->cluster, pass == 0 ? "zone" : "rack", domain,
                                    (nodes - 1) / size + 1);
    }
    orr_free(domain);
}

/* 0: mixed small nodes with bounds. 1: 64 and more GPUs a node. 2: thousands of nodes. 3: most have
 * one GPU. */
static void build_nodes(struct core_world *world, unsigned kind)
{
    uint32_t a = orr_idmap_put(&world->cluster.models, "A", 1, NULL);
    uint32_t b = orr_idmap_put(&world->cluster.models, "B", 1, NULL);
    struct orr_node_type type = core_type(8, 4);
    type.gpu_model = a;
    type.gpu_memory_mib = 40960;
    if (kind == 0) {
        set_bounds(&type, 64000, 512 * ORR_GIB, 20);
        core_world_nodes(world, 7, type);
        type = core_type(4, 4);
        type.gpu_model = b;
        type.gpu_memory_mib = 16384;
        core_world_nodes(world, 5, type);
        type = core_type(8, 3); /* domains 3 + 3 + 2 */
        set_bounds(&type, 16000, 64 * ORR_GIB, 12);
        core_world_nodes(world, 3, type);
        type = core_type(1, 1);
        type.mig[orr_cluster_mig_profile(&world->cluster, "3g.20gb")] = 4;
        type.mig[orr_cluster_mig_profile(&world->cluster, "1g.5gb")] = 9;
        set_bounds(&type, 64000, 512 * ORR_GIB, 10);
        core_world_nodes(world, 2, type);
        type = core_type(0, 0);
        set_bounds(&type, 128000, 900 * ORR_GIB, 60);
        core_world_nodes(world, 2, type);
        add_levels(world, 9, 4);
    } else if (kind == 1) {
        type = core_type(64, 16);
        type.gpu_memory_mib = 81559;
        core_world_nodes(world, 3, type);
        core_world_nodes(world, 2, core_type(80, 80));
        type = core_type(2, 1);
        type.gpu_model = b;
        core_world_nodes(world, 70, type);
        add_levels(world, 40, 6);
    } else if (kind == 3) {
        core_world_nodes(world, 40, core_type(1, 1));
        core_world_nodes(world, 5, type);
        core_world_nodes(world, 30, core_type(1, 1));
        add_levels(world, 30, 8);
    } else {
        core_world_nodes(world, 4200, core_type(1, 1));
        core_world_nodes(world, 6, type);
        add_levels(world, 2000, 32);
    }
}

static struct orr_request random_request(struct play *p)
{
    struct orr_request request = {.gpu_ask = (uint8_t)below(&*p, 4), .gpu_model = ORR_NONE};
    static const uint32_t devices[] = {1, 1, 1, 2, 3, 4, 8};
    request.devices = request.gpu_ask == ORR_GPU_NONE ? 0 : devices[below(p, 7)];
    if (request.gpu_ask == ORR_GPU_FRACTION) {
        static const int64_t portions[] = {100, 250, 500, 750, 1000, 333};
        request.portion = portions[below(p, 6)];
    } else if (request.gpu_ask == ORR_GPU_MEMORY) {
        request.portion = 1 + below(p, 30000);
    }
    if (request.portion > 0 && request.devices > 3) {
        request.devices = 2;
    }
    const uint32_t profiles = p->world.cluster.mig_profiles.count;
    if (request.gpu_ask == ORR_GPU_NONE && profiles > 0 && below(p, 3) > 0) {
        request.mig_profile = (uint16_t)below(p, profiles);
        request.instances = (uint16_t)(1 + below(p, 3));
        request.mig_mgpu = request.instances * p->world.cluster.mig_mgpu[request.mig_profile];
    }
    request.cpu_milli = below(p, 3) == 0 ? 500 * (1 + below(p, 12)) : 0;
    request.mem_bytes = below(p, 3) == 0 ? ORR_GIB * (1 + below(p, 40)) : 0;
    request.gpu_model =
        below(p, 5) == 0 && request.gpu_ask != ORR_GPU_NONE ? below(p, 2) : ORR_NONE;
    return request;
}

static void build_queues(struct core_world *world)
{
    struct orr_queue queue = orr_queue_default();
    uint32_t root = orr_queues_add(&world->queues, "root", ORR_NONE, &queue);
    queue.resources[ORR_SHARE_GPU].limit = 12.5;
    uint32_t a = orr_queues_add(&world->queues, "a", root, &queue);
    queue = orr_queue_default();
    uint32_t b = orr_queues_add(&world->queues, "b", root, &queue);
    queue.resources[ORR_SHARE_CPU].limit = 9000.0;
    (void)orr_queues_add(&world->queues, "a/x", a, &queue);
    queue = orr_queue_default();
    (void)orr_queues_add(&world->queues, "a/y", a, &queue);
    queue.resources[ORR_SHARE_GPU].limit = 3.0;
    (void)orr_queues_add(&world->queues, "b/z", b, &queue);
    queue = orr_queue_default();
    (void)orr_queues_add(&world->queues, "c", ORR_NONE, &queue);
}

static void build_jobs(struct play *p)
{
    static const uint32_t leaves[] = {3, 4, 5, 6};
    struct core_world *world = &p->world;
    for (uint32_t j = 0; j < JOBS; j++) {
        struct orr_task_group groups[2];
        uint32_t count = 1 + (below(p, 4) == 0), tasks = 0;
        for (uint32_t g = 0; g < count; g++) {
            groups[g] = (struct orr_task_group){.request = random_request(p),
                                                .count = below(p, 3) == 0 ? 1 + below(p, 9) : 1};
            tasks += groups[g].count;
        }
        const bool gang = p->how != 0 && below(p, 4) > 0;
        if (gang) {
            tasks = 2 + below(p, 9);
            count = 1;
            groups[0] = (struct orr_task_group){
                .request = {.gpu_ask = ORR_GPU_WHOLE, .gpu_model = ORR_NONE, .devices = 1},
                .count = tasks};
        }
        uint32_t queue = leaves[below(p, 4)];
        (void)core_world_job(world, queue, 1, groups[0].request);
        world->specs[j].shape =
            orr_shapes_put(&world->shapes, groups, count, gang ? tasks : 1 + below(p, tasks));
    }
}

static void play_open(struct play *p, unsigned kind, uint64_t seed, uint32_t laws, uint32_t how)
{
    *p = (struct play){.laws = laws, .how = how};
    p->rng = orr_rng_stream(seed, "ledger ops", kind);
    core_world_init(&p->world);
    build_nodes(&p->world, kind);
    build_queues(&p->world);
    build_jobs(p);
    p->ledger = core_world_open(&p->world);
    p->txn = orr_txn_open(p->ledger, laws);
    if ((how & JOINS) != 0) {
        orr_txn_join_nodes(p->txn);
    }
    if ((how & SUSPENDS) != 0) {
        orr_txn_let_suspend(p->txn);
    }
    oracle_open(&p->oracle, &p->world);
}

static void play_close(struct play *p)
{
    oracle_close(&p->oracle);
    orr_txn_close(p->txn);
    orr_ledger_close(p->ledger);
    core_world_release(&p->world);
}

/* ---- comparing ---- */

static void same_room(const struct orr_room *a, const struct orr_room *b)
{
    assert_int_equal(a->cpu_milli, b->cpu_milli);
    assert_int_equal(a->mem_bytes, b->mem_bytes);
    assert_int_equal(a->gpus, b->gpus);
    assert_int_equal(a->pods, b->pods);
    assert_memory_equal(a->mig, b->mig, sizeof a->mig);
}

static void check_node(const struct play *p, uint32_t node)
{
    const struct orr_ledger *ledger = p->ledger;
    struct orr_room idle = oracle_idle(&p->oracle, node);
    struct orr_room releasing = oracle_releasing(&p->oracle, node);
    same_room(&ledger->idle[node], &idle);
    same_room(&ledger->releasing[node], &releasing);
    assert_true(ledger->free_devices[node] == oracle_free_mask(&p->oracle, node));
    uint32_t gpus = orr_cluster_type(&p->world.cluster, node)->gpus;
    for (uint32_t d = 0; d < gpus && gpus <= 64 && ledger->device_mgpu != NULL; d++) {
        const struct orr_node_type *type = orr_cluster_type(&p->world.cluster, node);
        const size_t at = (size_t)node * p->world.cluster.max_gpus + d;
        const int64_t used = p->oracle.device[at] == WHOLE ? 0 : p->oracle.device[at];
        assert_int_equal(orr_ledger_used_parts(ledger, node, d) * oracle_device_units(type),
                         used * orr_device_parts(type));
        assert_true((ledger->device_mgpu[at] > 0) == (used > 0));
    }
}

static void check_domains(const struct play *p)
{
    const struct orr_cluster *cluster = &p->world.cluster;
    int64_t total = 0;
    for (uint32_t l = 0; l < cluster->level_count; l++) {
        for (uint32_t d = 0; d < cluster->levels[l].domain_count; d++) {
            int64_t idle = 0;
            uint32_t nodes[81] = {0};
            for (uint32_t n = 0; n < cluster->node_count; n++) {
                if (cluster->levels[l].domain_of_node[n] == d) {
                    idle += p->ledger->idle[n].gpus;
                    nodes[p->ledger->idle[n].gpus]++;
                }
            }
            total += l == 0 ? idle : 0;
            assert_int_equal(p->ledger->domains[l][d].idle_gpus, idle);
            assert_memory_equal(p->ledger->domains[l][d].nodes_by_idle, nodes,
                                (cluster->max_gpus + 1) * sizeof nodes[0]);
        }
    }
    assert_int_equal(p->ledger->shards[0].idle_gpus, total);
}

static void check_queues(const struct play *p)
{
    int64_t mgpu = 0;
    for (uint32_t q = 0; q < p->world.queues.count; q++) {
        struct orr_queue_use use = oracle_use(&p->oracle, q);
        assert_memory_equal(&p->ledger->use[q], &use, sizeof use);
        mgpu += p->world.queues.queues[q].parent == ORR_NONE ? use.allocated[2] : 0;
    }
    assert_int_equal(p->ledger->shards[0].allocated_mgpu, mgpu);
}

static void check_answers(struct play *p)
{
    struct orr_request request = random_request(p);
    uint32_t tasks = 1 + below(p, 3);
    uint32_t node = below(p, p->world.cluster.node_count);
    assert_int_equal(orr_ledger_best_fit(p->ledger, &request, tasks),
                     oracle_best_fit(&p->oracle, &request, tasks));
    assert_int_equal(orr_ledger_best_fit(p->ledger, &request, 1),
                     oracle_best_fit(&p->oracle, &request, 1));
    assert_int_equal(orr_ledger_most_idle(p->ledger, &request),
                     oracle_most_idle(&p->oracle, &request));
    uint32_t room = orr_ledger_room_for(p->ledger, node, &request);
    assert_int_equal(room < 400 ? room : 400, oracle_room_for(&p->oracle, node, &request));
}

static void check_all(struct play *p)
{
    for (uint32_t n = 0; n < p->world.cluster.node_count; n++) {
        check_node(p, n);
    }
    check_domains(p);
    check_queues(p);
}

/* ---- every visible book as bytes ---- */

struct bytes {
    char *at;
    size_t count, capacity;
};

static void put(struct bytes *out, const void *data, size_t bytes)
{
    if (out->count + bytes > out->capacity) {
        out->capacity = orr_grow(out->capacity, out->count + bytes);
        out->at = orr_realloc(out->at, out->capacity, 1);
    }
    memcpy(out->at + out->count, data, bytes);
    out->count += bytes;
}

static void put_set(struct bytes *out, const struct orr_node_set *set, uint32_t nodes)
{
    put(out, set->words, (nodes / 64 + 1) * sizeof *set->words);
    put(out, set->summary, ((nodes / 64 + 1) / 64 + 1) * sizeof *set->summary);
    put(out, &set->count, sizeof set->count);
}

static struct bytes copy_books(const struct orr_ledger *ledger)
{
    struct bytes out = {0};
    const struct orr_cluster *cluster = ledger->world.cluster;
    uint32_t nodes = cluster->node_count;
    put(&out, ledger->jobs, ledger->world.job_count * sizeof *ledger->jobs);
    put(&out, ledger->idle, nodes * sizeof *ledger->idle);
    put(&out, ledger->releasing, nodes * sizeof *ledger->releasing);
    put(&out, ledger->free_devices, nodes * sizeof *ledger->free_devices);
    for (size_t i = 0; i < (size_t)nodes * cluster->max_gpus; i++) {
        int16_t mgpu = 0;
        put(&out, ledger->device_mgpu == NULL ? &mgpu : &ledger->device_mgpu[i], sizeof mgpu);
        for (uint32_t d = 0; i % cluster->max_gpus == 0 && d < cluster->max_gpus; d++) {
            const int64_t parts =
                orr_ledger_used_parts(ledger, (uint32_t)(i / cluster->max_gpus), d);
            put(&out, &parts, sizeof parts);
        }
    }
    put_set(&out, &ledger->sharing, nodes);
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        for (uint32_t f = 0; f <= ledger->types[t].gpus; f++) {
            put_set(&out, &ledger->types[t].by_idle[f], nodes);
        }
        put(&out, ledger->types[t].filled, (ledger->types[t].gpus / 64 + 1) * sizeof(uint64_t));
    }
    for (uint32_t l = 0; l < cluster->level_count; l++) {
        for (uint32_t d = 0; d < cluster->levels[l].domain_count; d++) {
            put(&out, &ledger->domains[l][d].idle_gpus, sizeof(int64_t));
            put(&out, ledger->domains[l][d].nodes_by_idle,
                (cluster->max_gpus + 1) * sizeof(uint32_t));
        }
    }
    put(&out, ledger->use, ledger->world.queues->count * sizeof *ledger->use);
    if (ledger->placement_count > 0) {
        put(&out, ledger->placements, ledger->placement_count * sizeof *ledger->placements);
    }
    const int64_t sums[] = {ledger->shards[0].idle_gpus, ledger->shards[0].allocated_mgpu,
                            ledger->pending_jobs,        ledger->running_jobs,
                            ledger->placement_count,     ledger->claims};
    put(&out, sums, sizeof sums);
    for (uint32_t j = 0; j < ledger->world.job_count; j++) {
        const bool suspended = orr_ledger_is_suspended(ledger, j);
        put(&out, &suspended, sizeof suspended);
    }
    put(&out, &ledger->digest, sizeof ledger->digest);
    return out;
}

static void same_books(const struct orr_ledger *ledger, struct bytes *before)
{
    struct bytes after = copy_books(ledger);
    assert_int_equal(after.count, before->count);
    assert_memory_equal(after.at, before->at, after.count);
    orr_free(after.at);
    orr_free(before->at);
    *before = (struct bytes){0};
}

/* ---- operations ---- */

/* A job of the phase, or ORR_NONE. */
static uint32_t some_job(struct play *p, uint8_t phase)
{
    uint32_t from = below(p, JOBS);
    for (uint32_t i = 0; i < JOBS; i++) {
        uint32_t job = (from + i) % JOBS;
        if (p->oracle.jobs[job].phase == phase) {
            return job;
        }
    }
    return ORR_NONE;
}

static void compare_newest(const struct play *p, uint32_t job)
{
    const struct oracle_job *truth = &p->oracle.jobs[job];
    const struct orr_placement *placement = &p->ledger->placements[p->ledger->jobs[job].placement];
    const struct oracle_piece *piece = &truth->pieces[truth->piece_count - 1];
    assert_int_equal(placement->node, piece->node);
    assert_int_equal(placement->tasks, piece->tasks);
    assert_true(placement->devices == piece->devices);
}

/* Nodes are chosen well most of the time, at random or out of range otherwise. */
static void op_place(struct play *p, bool pipeline)
{
    uint32_t job = some_job(p, below(p, 8) == 0 ? ORR_JOB_RUNNING : ORR_JOB_PENDING);
    if (job == ORR_NONE || p->oracle.jobs[job].piece_count >= ORACLE_PIECES) {
        return;
    }
    const struct orr_shape *shape = &p->world.shapes.shapes[p->world.specs[job].shape];
    uint32_t group = below(p, shape->group_count);
    const struct orr_request *request = &shape->groups[group].request;
    uint32_t tasks = below(p, 20) == 0 ? below(p, 12) : 1 + below(p, shape->groups[group].count);
    uint32_t node = below(p, p->world.cluster.node_count);
    switch (below(p, 4)) {
    case 0: node = orr_ledger_best_fit(p->ledger, request, 1); break;
    case 1: node = orr_ledger_most_idle(p->ledger, request); break;
    default: break;
    }
    if (below(p, 50) == 0) {
        group = 7;
    }
    if (pipeline) {
        assert_int_equal(orr_txn_pipeline(p->txn, job, group, tasks, node),
                         oracle_pipeline(&p->oracle, job, group, tasks, node));
        return;
    }
    bool placed = orr_txn_place(p->txn, job, group, tasks, node);
    assert_int_equal(placed, oracle_place(&p->oracle, job, group, tasks, node));
    if (placed) {
        compare_newest(p, job);
    }
}

/* A whole gang, task by task, on the node with the most idle devices. */
static void op_place_gang(struct play *p)
{
    const uint32_t job = some_job(p, ORR_JOB_PENDING);
    bool placed = job != ORR_NONE;
    while (placed && p->oracle.jobs[job].piece_count < ORACLE_PIECES) {
        const struct orr_shape *shape = &p->world.shapes.shapes[p->world.specs[job].shape];
        const uint32_t node = orr_ledger_most_idle(p->ledger, &shape->groups[0].request);
        placed = orr_txn_place(p->txn, job, 0, 1, node);
        assert_int_equal(placed, oracle_place(&p->oracle, job, 0, 1, node));
    }
}

static void op_evict(struct play *p)
{
    uint32_t job = some_job(p, below(p, 9) == 0 ? ORR_JOB_PENDING : ORR_JOB_RUNNING);
    if (job == ORR_NONE) {
        return;
    }
    bool runs = p->oracle.jobs[job].phase == ORR_JOB_RUNNING;
    assert_int_equal(orr_txn_evict(p->txn, job, ORR_CAUSE_PREEMPT), runs);
    if (runs) {
        oracle_evict(&p->oracle, job);
        p->evictions++;
    }
}

/* A placement of the job on several nodes, or ORR_NONE. */
static uint32_t joined_of(const struct play *p, uint32_t job)
{
    uint32_t at = p->ledger->jobs[job].placement;
    while (at != ORR_NONE && p->ledger->placements[at].more_nodes == 0) {
        at = p->ledger->placements[at].next;
    }
    return at;
}

/* What is on several nodes is evicted whole or not at all. */
static void refuse_part_of_joined(struct play *p, uint32_t job)
{
    const uint32_t at = joined_of(p, job);
    assert_int_not_equal(at, ORR_NONE);
    assert_false(orr_txn_evict_tasks(p->txn, job, at, p->ledger->placements[at].tasks - 1,
                                     ORR_CAUSE_RECLAIM, ORR_NONE));
}

/* The placement that is the oracle's piece, by itself. */
static uint32_t placement_of(const struct play *p, uint32_t job, const struct oracle_piece *piece)
{
    uint32_t placement = p->ledger->jobs[job].placement;
    while (placement != ORR_NONE) {
        const struct orr_placement *have = &p->ledger->placements[placement];
        if (have->node == piece->node && have->group == piece->group &&
            have->tasks == piece->tasks && have->devices == piece->devices &&
            (have->hold == ORR_HOLD_LEAVING) == piece->leaving) {
            break;
        }
        placement = have->next;
    }
    return placement;
}

/* Some tasks of a placement; of one on several nodes only once it is parted. */
static void op_evict_tasks(struct play *p)
{
    uint32_t job = some_job(p, below(p, 9) == 0 ? ORR_JOB_PENDING : ORR_JOB_RUNNING);
    if (job == ORR_NONE || p->oracle.jobs[job].piece_count == 0 ||
        p->oracle.jobs[job].piece_count == ORACLE_PIECES) {
        return;
    }
    uint32_t at = below(p, p->oracle.jobs[job].piece_count);
    const struct oracle_piece *piece = &p->oracle.jobs[job].pieces[at];
    uint32_t placement = placement_of(p, job, piece);
    if (placement == ORR_NONE && (p->how & JOINS) != 0) {
        refuse_part_of_joined(p, job);
        orr_txn_part(p->txn, job, piece->node);
        placement = placement_of(p, job, piece);
        p->parted_in_txn++;
    }
    assert_int_not_equal(placement, ORR_NONE);
    uint32_t tasks = below(p, piece->tasks + 2);
    assert_int_equal(
        orr_txn_evict_tasks(p->txn, job, placement, tasks, ORR_CAUSE_RECLAIM, ORR_NONE),
        oracle_evict_tasks(&p->oracle, job, at, tasks));
    p->partial_evictions++;
}

/* Of a job that runs, or any: its devices and placements are as before. */
static void op_suspend(struct play *p)
{
    const uint32_t job = some_job(p, below(p, 9) == 0 ? ORR_JOB_PENDING : ORR_JOB_RUNNING);
    if (job == ORR_NONE) {
        return;
    }
    const uint32_t placement = p->ledger->jobs[job].placement;
    const bool was = p->oracle.jobs[job].suspended;
    const bool resumes = below(p, 4) == 0 ? !was : was;
    if (resumes) {
        const bool done = oracle_resume(&p->oracle, job);
        assert_int_equal(orr_txn_resume(p->txn, job), done);
        p->resumptions += done;
        p->refused_resumptions += was && !done;
    } else {
        const bool done = oracle_suspend(&p->oracle, job);
        assert_int_equal(orr_txn_suspend(p->txn, job, ORR_NONE), done);
        p->suspensions += done;
    }
    assert_int_equal(p->ledger->jobs[job].placement, placement);
    assert_int_equal(orr_ledger_is_suspended(p->ledger, job), p->oracle.jobs[job].suspended);
}

static bool over_limit(const struct play *p, uint32_t job)
{
    static const double unit[] = {1.0, 1.0, 1000.0};
    const struct orr_queue *queues = p->world.queues.queues;
    for (uint32_t q = p->world.specs[job].queue; q != ORR_NONE; q = queues[q].parent) {
        struct orr_queue_use use = oracle_use(&p->oracle, q);
        for (uint32_t r = 0; r < 3; r++) {
            double limit = queues[q].resources[r].limit;
            if (limit >= 0.0 && (double)use.allocated[r] > limit * unit[r]) {
                return true;
            }
        }
    }
    return false;
}

/* The law that the transaction breaks, over all jobs placed in it; 0 if none. */
static uint32_t broken_laws(const struct play *p)
{
    uint32_t broken = 0;
    for (uint32_t j = 0; j < JOBS; j++) {
        const struct oracle_job *job = &p->oracle.jobs[j];
        if (job->placed) {
            const struct orr_shape *shape = &p->world.shapes.shapes[p->world.specs[j].shape];
            bool partial = oracle_placed(&p->oracle, j) < shape->min_tasks;
            broken |= job->phase == ORR_JOB_PENDING && partial ? ORR_LAW_GANG : 0u;
            broken |= over_limit(p, j) ? ORR_LAW_LIMIT : 0u;
        }
    }
    return broken & p->laws;
}

static void commit(struct play *p, const struct oracle *base, struct bytes *books)
{
    struct orr_refusal refusal = {0};
    uint32_t broken = broken_laws(p);
    bool done = orr_txn_commit(p->txn, p->now, &refusal);
    assert_int_equal(done, broken == 0);
    if (!done) {
        assert_true((refusal.law & broken) != 0 && refusal.text[0] != '\0');
        assert_true(p->oracle.jobs[refusal.job].placed);
        oracle_close(&p->oracle);
        oracle_copy(&p->oracle, base);
        same_books(p->ledger, books);
        p->refusals++;
        return;
    }
    for (uint32_t j = 0; j < JOBS; j++) {
        struct oracle_job *job = &p->oracle.jobs[j];
        const struct orr_shape *shape = &p->world.shapes.shapes[p->world.specs[j].shape];
        if (job->phase == ORR_JOB_PENDING && oracle_placed(&p->oracle, j) >= shape->min_tasks) {
            job->phase = ORR_JOB_RUNNING;
            assert_int_equal(p->ledger->jobs[j].start_ms, p->now);
        }
        assert_int_equal(p->ledger->jobs[j].phase, job->phase);
        job->placed = false;
    }
    p->commits++;
}

/* One transaction: operations with nested checkpoints and rollbacks, then a commit. */
static void transaction(struct play *p)
{
    struct oracle saved[CHECKPOINTS + 1] = {0};
    struct bytes books[CHECKPOINTS + 1] = {0};
    uint32_t marks[CHECKPOINTS + 1], depth = 0;
    oracle_copy(&saved[0], &p->oracle);
    books[0] = copy_books(p->ledger);
    marks[0] = orr_txn_checkpoint(p->txn);
    for (uint32_t ops = 1 + below(p, 14); ops > 0; ops--) {
        if ((p->how & SUSPENDS) != 0 && below(p, 3) == 0) {
            op_suspend(p);
            continue;
        }
        uint32_t what = below(p, 20);
        if (what < 6 && p->how != 0) {
            op_place_gang(p);
        } else if (what < 13) {
            op_place(p, what > 11);
        } else if (what < 14) {
            op_evict(p);
        } else if (what < 15) {
            if ((p->how & WHOLE_JOBS) == 0) {
                op_evict_tasks(p);
            }
        } else if (what < 18 && depth < CHECKPOINTS) {
            depth++;
            oracle_copy(&saved[depth], &p->oracle);
            books[depth] = copy_books(p->ledger);
            marks[depth] = orr_txn_checkpoint(p->txn);
        } else if (depth > 0) {
            orr_txn_rollback(p->txn, marks[depth]);
            same_books(p->ledger, &books[depth]);
            oracle_close(&p->oracle);
            p->oracle = saved[depth--];
            p->rollbacks++;
        }
    }
    check_answers(p);
    check_queues(p);
    for (; depth > 0; depth--) {
        oracle_close(&saved[depth]);
        orr_free(books[depth].at);
    }
    commit(p, &saved[0], &books[0]);
    oracle_close(&saved[0]);
    orr_free(books[0].at);
}

static void outside_event(struct play *p)
{
    uint32_t what = below(p, 3);
    uint32_t job = what == 0   ? p->next_job < JOBS ? p->next_job++ : ORR_NONE
                   : what == 1 ? some_job(p, ORR_JOB_RUNNING)
                               : some_job(p, ORR_JOB_RELEASING);
    if (job == ORR_NONE) {
        return;
    }
    if (what == 0) {
        orr_ledger_submit(p->ledger, job);
        p->oracle.jobs[job].phase = ORR_JOB_PENDING;
    } else if (what == 1) {
        orr_ledger_finish(p->ledger, job, p->now);
        oracle_free(&p->oracle, job, ORR_JOB_FINISHED);
    } else {
        (void)orr_ledger_release(p->ledger, job, p->now);
        oracle_free(&p->oracle, job, ORR_JOB_PENDING);
    }
}

/* A failure wants some nodes of a job apart: nothing that can be seen changes. */
static void part_some(struct play *p)
{
    const uint32_t from = below(p, JOBS), nodes = 1 + below(p, 3), nth = below(p, 10);
    for (uint32_t i = 0; i < JOBS; i++) {
        const uint32_t job = (from + i) % JOBS;
        const uint8_t phase = p->ledger->jobs[job].phase;
        const bool holds =
            phase == ORR_JOB_PENDING || phase == ORR_JOB_RUNNING || phase == ORR_JOB_RELEASING;
        const uint32_t at = holds ? joined_of(p, job) : ORR_NONE;
        if (at != ORR_NONE) {
            refuse_part_of_joined(p, job);
            const struct orr_placement *joined = &p->ledger->placements[at];
            orr_ledger_part(p->ledger, job, joined->node + nth % (joined->more_nodes + 1u), nodes);
            p->parted++;
            return;
        }
    }
}

static void end_cycle(struct play *p)
{
    orr_txn_end_cycle(p->txn);
    p->oracle.claim_count = 0;
    struct orr_err err = {0};
    if (orr_ledger_audit(p->ledger, &err) != ORR_OK) {
        fail_msg("%s", err.text);
    }
}

static uint64_t run_how(unsigned kind, uint64_t seed, uint32_t laws, uint32_t steps, uint32_t every,
                        uint32_t how)
{
    struct play p;
    play_open(&p, kind, seed, laws, how);
    for (uint32_t i = 0; i < 40; i++) {
        orr_ledger_submit(p.ledger, p.next_job);
        p.oracle.jobs[p.next_job++].phase = ORR_JOB_PENDING;
    }
    for (uint32_t step = 0; step < steps; step++) {
        p.now += below(&p, 3);
        for (uint32_t passes = 1 + below(&p, 2); passes > 0; passes--) {
            transaction(&p);
        }
        end_cycle(&p);
        for (uint32_t events = below(&p, 5); events > 0; events--) {
            outside_event(&p);
            part_some(&p);
        }
        if (step % every == 0) {
            check_all(&p);
        }
    }
    check_all(&p);
    assert_true(p.commits > 0 && p.rollbacks > 0 && p.evictions > 0);
    assert_true(p.partial_evictions > 0 || (how & WHOLE_JOBS) != 0);
    assert_true((how & JOINS) == 0 || p.parted > 0);
    assert_true((how & JOINS) == 0 || (how & WHOLE_JOBS) != 0 || p.parted_in_txn > 0);
    assert_true((how & SUSPENDS) == 0 ||
                (p.suspensions > 0 && p.resumptions > 0 && p.refused_resumptions > 0));
    assert_true(laws == 0 || p.refusals > 0);
    uint64_t digest = p.ledger->digest.h;
    play_close(&p);
    return digest;
}

static uint64_t run(unsigned kind, uint64_t seed, uint32_t laws, uint32_t steps, uint32_t every)
{
    return run_how(kind, seed, laws, steps, every, 0);
}

static void mixed_nodes__equal_the_oracle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        (void)run(0, seed, 0, 220, 1);
        (void)run(0, seed, ORR_LAW_GANG | ORR_LAW_LIMIT, 220, 1);
    }
}

static void large_nodes__equal_the_oracle(void **state)
{
    (void)state;
    (void)run(1, 1, 0, 150, 3);
    (void)run(1, 2, ORR_LAW_GANG, 150, 3);
}

static void thousands_of_nodes__equal_the_oracle(void **state)
{
    (void)state;
    (void)run(2, 1, 0, 12, 12);
}

static void digest__is_a_function_of_what_was_done(void **state)
{
    (void)state;
    uint64_t first = run(0, 77, ORR_LAW_GANG, 60, 20);
    assert_true(run(0, 77, ORR_LAW_GANG, 60, 20) == first);
    assert_true(run(0, 78, ORR_LAW_GANG, 60, 20) != first);
}

static void joined_placements__equal_the_oracle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        (void)run_how(3, seed, 0, 150, 3, JOINS);
        (void)run_how(3, seed, ORR_LAW_GANG, 150, 3, JOINS);
    }
}

static void suspended_jobs__equal_the_oracle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        (void)run_how(0, seed, 0, 220, 1, SUSPENDS);
        (void)run_how(0, seed, ORR_LAW_GANG, 220, 1, SUSPENDS);
        (void)run_how(3, seed, ORR_LAW_GANG, 150, 3, JOINS | SUSPENDS);
    }
}

static void digest__is_that_of_placements_not_joined(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        assert_true(run_how(3, seed, 0, 150, 50, JOINS | WHOLE_JOBS) ==
                    run_how(3, seed, 0, 150, 50, WHOLE_JOBS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed_nodes__equal_the_oracle),
        cmocka_unit_test(suspended_jobs__equal_the_oracle),
        cmocka_unit_test(large_nodes__equal_the_oracle),
        cmocka_unit_test(thousands_of_nodes__equal_the_oracle),
        cmocka_unit_test(digest__is_a_function_of_what_was_done),
        cmocka_unit_test(joined_placements__equal_the_oracle),
        cmocka_unit_test(digest__is_that_of_placements_not_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
