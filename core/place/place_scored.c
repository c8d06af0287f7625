/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_scored.c - a node by its score. Scores are kept by kind of task and looked at again where
 * the ledger says that a node changed. */
#include <orrery/core/placer.h>

#include <math.h>

#include <orrery/base/rng.h>
#include <orrery/core/fragment.h>

#include "place_cells.h"
#include "place_part.h"

#define NO_ROOM   INT64_MIN
#define MAX_SCORE 100
#define KEPT      ((size_t)1 << 22) /* scores, over all kinds of task */

struct asked { /* by a task, of a node with room for it */
    const struct orr_request *request;
    uint32_t node;
    int64_t portion; /* milli-GPU of each device there */
    uint64_t roomy;  /* of a node whose devices are told apart: those with room for it */
};

/* Has the device of the node room for the task? `free` of it is in milli-GPU, which memory is no
 * whole number of. */
static bool has_room(const struct orr_ledger *ledger, const struct asked *asked,
                     const int16_t *free, uint32_t device)
{
    return orr_cluster_type(ledger->world.cluster, asked->node)->gpus <= 64
               ? (asked->roomy >> device & 1) != 0
               : free[device] >= asked->portion;
}

struct worth {
    int64_t score;
    uint64_t devices; /* 0: by the ledger's rule */
};

typedef struct worth score_fn(struct orr_placer *placer, const struct asked *asked);

struct kind { /* of task */
    struct orr_request request;
    struct worth *worth; /* by node; NULL: not kept now */
    uint64_t seen;       /* ledger->changes up to which they hold */
    uint64_t used;       /* when it was last asked for, in choices */
};

struct orr_placer {
    const struct orr_ledger *ledger;
    struct orr_cells *cells; /* hived: then it and the next two are all there is; else NULL */
    struct orr_part *part;   /* NULL: this placer is that of a trial */
    struct orr_opportunistic *opportunistic; /* NULL: no job is */
    score_fn *score;
    struct orr_placer_params params;
    uint64_t seed, choices;
    double most_cpu, most_mgpu; /* of one node of the cluster */
    struct kind *kinds;
    uint32_t kind_count, kind_capacity, kept;
    uint32_t *first_kind; /* by shape: place in kind_of of its first group, from 1; 0: none yet */
    uint32_t shape_capacity;
    uint32_t *kind_of; /* groups of shapes, as they came */
    uint32_t group_count, group_capacity;
    /* fgd */
    struct orr_typical typical;
    uint32_t known;       /* jobs there were when typical tasks were chosen */
    bool *refused;        /* by node and typical task */
    double *fragment;     /* by node, */
    uint64_t *fragmented; /* when ledger->changes was so much; from 1 */
    int16_t *free_mgpu;   /* of the node that is looked at, by device */
};

const char *const orr_placement_names[] = {[ORR_PLACEMENT_DEFAULT] = "default",
                                           [ORR_PLACEMENT_CONSOLIDATED] = "consolidated",
                                           [ORR_PLACEMENT_RANDOM] = "random",
                                           [ORR_PLACEMENT_DOT_PRODUCT] = "dot-product",
                                           [ORR_PLACEMENT_CLUSTERING] = "clustering",
                                           [ORR_PLACEMENT_PACKING] = "packing",
                                           [ORR_PLACEMENT_BEST_FIT] = "best-fit",
                                           [ORR_PLACEMENT_WORST_FIT] = "worst-fit",
                                           [ORR_PLACEMENT_FGD] = "fgd",
                                           [ORR_PLACEMENT_HIVED] = "hived",
                                           NULL};
const char orr_placement_help[] =
    "which node a task goes to: as the policy does of itself, one of the other rules, or the one "
    "with the highest score of a name";
const char orr_typical_jobs_help[] =
    "fgd: typical tasks are those of so many jobs of the workload, the first ones; 0: of all";

/* --- what is free of a node --- */

/* By device; of nodes that only count their devices, those idle come first. */
static const int16_t *free_by_device(struct orr_placer *placer, uint32_t node)
{
    const struct orr_ledger *ledger = placer->ledger;
    const struct orr_cluster *cluster = ledger->world.cluster;
    const uint32_t gpus = orr_cluster_type(cluster, node)->gpus;
    const int16_t *used =
        ledger->device_mgpu == NULL ? NULL : &ledger->device_mgpu[(size_t)node * cluster->max_gpus];
    for (uint32_t d = 0; d < gpus; d++) {
        const bool idle = gpus > 64 ? (int64_t)d < ledger->idle[node].gpus
                                    : (ledger->free_devices[node] >> d & 1) != 0;
        const int64_t left = used != NULL && used[d] > 0 ? ORR_MGPU - used[d] : 0;
        placer->free_mgpu[d] = (int16_t)(idle ? ORR_MGPU : ledger->down[node] ? 0 : left);
    }
    return placer->free_mgpu;
}

static int64_t total_free(struct orr_placer *placer, uint32_t node)
{
    const int16_t *free = free_by_device(placer, node);
    int64_t sum = 0;
    for (uint32_t d = 0; d < orr_cluster_type(placer->ledger->world.cluster, node)->gpus; d++) {
        sum += free[d];
    }
    return sum;
}

static struct asked asked_of(const struct orr_ledger *ledger, const struct orr_request *request,
                             uint32_t node)
{
    const struct orr_node_type *type = orr_cluster_type(ledger->world.cluster, node);
    const bool apart = type->gpus <= 64;
    return (struct asked){.request = request,
                          .node = node,
                          .portion = orr_request_portion_mgpu(request, type),
                          .roomy =
                              !apart ? 0
                                     : ledger->free_devices[node] |
                                           (orr_request_shares(request)
                                                ? orr_ledger_shared_with_room(ledger, node, request)
                                                : 0)};
}

/* --- scores --- */

static struct worth by_dot_product(struct orr_placer *placer, const struct asked *asked)
{
    const double cpu = (double)placer->ledger->idle[asked->node].cpu_milli / placer->most_cpu;
    const double gpu = (double)total_free(placer, asked->node) / placer->most_mgpu;
    double product = 0;
    product += cpu * ((double)asked->request->cpu_milli / placer->most_cpu);
    product += gpu * ((double)(asked->request->devices * asked->portion) / placer->most_mgpu);
    return (struct worth){.score = (int64_t)(MAX_SCORE * (1 - product / 2))};
}

static struct worth by_clustering(struct orr_placer *placer, const struct asked *asked)
{
    const uint32_t *hosted = orr_ledger_hosted(placer->ledger, asked->node);
    const int64_t most = (int64_t)placer->most_mgpu;
    uint32_t classes = 0;
    if (asked->request->gpu_ask == ORR_GPU_NONE) {
        return (struct worth){0};
    }
    for (uint32_t c = 0; c <= placer->ledger->world.cluster->max_gpus; c++) {
        classes += hosted[c] > 0;
    }
    const bool same = hosted[orr_request_class(asked->request)] > 0;
    const int64_t points = same ? (classes == 1 ? 75 : 50) : (classes == 0 ? 25 : 0);
    return (struct worth){.score = MAX_SCORE / 4 * (most - total_free(placer, asked->node)) / most +
                                   points};
}

/* Of the `count` devices with least free that have enough: how many are wholly free, and the sum of
 * what is free of each in percent, cut. */
static uint32_t least_free(const struct orr_ledger *ledger, const int16_t *free, uint32_t gpus,
                           const struct asked *asked, int64_t *percent)
{
    uint32_t whole = 0, count = asked->request->devices;
    int64_t from = asked->portion;
    *percent = 0;
    while (count > 0 && from <= ORR_MGPU) {
        int64_t least = ORR_MGPU + 1, next = ORR_MGPU + 1;
        uint32_t equal = 0;
        for (uint32_t d = 0; d < gpus; d++) {
            const bool is_less = free[d] >= from && free[d] < least;
            least = is_less && has_room(ledger, asked, free, d) ? free[d] : least;
        }
        for (uint32_t d = 0; d < gpus; d++) {
            equal += free[d] == least && has_room(ledger, asked, free, d);
        }
        next = least + 1;
        equal = equal < count ? equal : count;
        whole += least == ORR_MGPU ? equal : 0;
        *percent += least <= ORR_MGPU ? equal * (least * 100 / ORR_MGPU) : 0;
        count -= least > ORR_MGPU ? count : equal;
        from = next;
    }
    return whole;
}

static struct worth by_packing(struct orr_placer *placer, const struct asked *asked)
{
    const uint32_t gpus = orr_cluster_type(placer->ledger->world.cluster, asked->node)->gpus;
    const int16_t *free = free_by_device(placer, asked->node);
    uint32_t idle = 0;
    if (asked->request->gpu_ask == ORR_GPU_NONE) {
        return (struct worth){0};
    }
    for (uint32_t d = 0; d < gpus; d++) {
        idle += free[d] == ORR_MGPU;
    }
    if (idle == gpus) {
        const int64_t score = MAX_SCORE / 3 - (int64_t)idle;
        return (struct worth){.score = score > idle ? score : idle};
    }
    int64_t percent;
    const int64_t whole = least_free(placer->ledger, free, gpus, asked, &percent);
    const int64_t least = whole > 0 ? MAX_SCORE / 3 : MAX_SCORE / 2;
    const int64_t score = whole > 0 ? MAX_SCORE / 2 - whole : MAX_SCORE - percent / 10;
    return (struct worth){.score = score > least ? score : least};
}

static struct worth by_best_fit(struct orr_placer *placer, const struct asked *asked)
{
    const int64_t cpu = placer->ledger->idle[asked->node].cpu_milli - asked->request->cpu_milli;
    const int64_t gpu = total_free(placer, asked->node) - asked->request->devices * asked->portion;
    double left = 0;
    left += (double)cpu / placer->most_cpu * 0.5;
    left += (double)gpu / placer->most_mgpu * 0.5;
    return (struct worth){.score = (int64_t)((1.0 - left) * MAX_SCORE)};
}

static struct worth by_worst_fit(struct orr_placer *placer, const struct asked *asked)
{
    const int64_t cpu = placer->ledger->idle[asked->node].cpu_milli - asked->request->cpu_milli;
    const int64_t gpu = total_free(placer, asked->node) - asked->request->devices * asked->portion;
    return (struct worth){.score = cpu + 100 * gpu};
}

/* --- fgd --- */

static double fragment_of(struct orr_placer *placer, uint32_t node, int64_t cpu_milli)
{
    const struct orr_left left = {orr_cluster_type(placer->ledger->world.cluster, node),
                                  placer->free_mgpu, cpu_milli};
    return orr_fragment_mean(&placer->typical, &left,
                             &placer->refused[(size_t)node * placer->typical.count]);
}

static double fragment_now(struct orr_placer *placer, uint32_t node)
{
    const struct orr_ledger *ledger = placer->ledger;
    if (placer->fragmented[node] <= ledger->changed[node]) {
        placer->fragment[node] = fragment_of(placer, node, ledger->idle[node].cpu_milli);
        placer->fragmented[node] = ledger->changed[node] + 1;
    }
    return placer->fragment[node];
}

/* For a task that takes so many milli-GPU of each of `devices`. */
static int64_t growth_score(struct orr_placer *placer, const struct asked *asked, double before,
                            uint64_t devices)
{
    const int64_t cpu = placer->ledger->idle[asked->node].cpu_milli - asked->request->cpu_milli;
    int16_t *free = placer->free_mgpu;
    for (uint64_t left = devices; left != 0; left &= left - 1) {
        free[__builtin_ctzll(left)] = (int16_t)(free[__builtin_ctzll(left)] - asked->portion);
    }
    const double after = fragment_of(placer, asked->node, cpu);
    for (uint64_t left = devices; left != 0; left &= left - 1) {
        free[__builtin_ctzll(left)] = (int16_t)(free[__builtin_ctzll(left)] + asked->portion);
    }
    return (int64_t)(1.0 / (1.0 + exp(-((before - after) / 1000))) * MAX_SCORE);
}

/* A task on one device looks at each, the first of equal ones; devices with as much free score
 * alike. */
static struct worth best_device(struct orr_placer *placer, const struct asked *asked, double before)
{
    const uint32_t gpus = orr_cluster_type(placer->ledger->world.cluster, asked->node)->gpus;
    const int16_t *free = placer->free_mgpu;
    struct worth best = {.score = NO_ROOM};
    for (uint32_t d = 0; d < gpus; d++) {
        bool first = has_room(placer->ledger, asked, free, d);
        for (uint32_t e = 0; e < d && first; e++) {
            first = free[e] != free[d] || !has_room(placer->ledger, asked, free, e);
        }
        const int64_t score =
            first ? growth_score(placer, asked, before, (uint64_t)1 << d) : NO_ROOM;
        if (score > best.score) {
            best = (struct worth){.score = score, .devices = (uint64_t)1 << d};
        }
    }
    return best;
}

/* The devices with least free that have enough, the lowest of equal ones. */
static uint64_t fullest(const struct orr_ledger *ledger, const int16_t *free, uint32_t gpus,
                        const struct asked *asked)
{
    uint64_t taken = 0;
    for (uint32_t count = asked->request->devices; count > 0; count--) {
        uint32_t best = ORR_NONE;
        for (uint32_t d = 0; d < gpus; d++) {
            const bool fits = (taken >> d & 1) == 0 && has_room(ledger, asked, free, d);
            best = fits && (best == ORR_NONE || free[d] < free[best]) ? d : best;
        }
        taken |= best == ORR_NONE ? 0 : (uint64_t)1 << best;
    }
    return taken;
}

static struct worth by_fragmentation(struct orr_placer *placer, const struct asked *asked)
{
    const uint32_t gpus = orr_cluster_type(placer->ledger->world.cluster, asked->node)->gpus;
    const int16_t *free = free_by_device(placer, asked->node);
    const double before = fragment_now(placer, asked->node);
    if (gpus > 64) { /* devices are only counted: all of them look alike */
        return (struct worth){.score = MAX_SCORE / 2};
    }
    if (orr_request_shares(asked->request) && asked->request->devices == 1) {
        return best_device(placer, asked, before);
    }
    return (struct worth){
        .score = growth_score(placer, asked, before, fullest(placer->ledger, free, gpus, asked))};
}

/* Typical tasks, once there are twice as many jobs as when they were last chosen. */
static void choose_typical(struct orr_placer *placer)
{
    const struct orr_ledger_world *world = &placer->ledger->world;
    const uint32_t nodes = world->cluster->node_count;
    const int64_t most = placer->params.typical_jobs;
    const uint32_t jobs = most > 0 && most < world->job_count ? (uint32_t)most : world->job_count;
    if (placer->score != by_fragmentation || jobs < 2 * (uint64_t)placer->known + 1) {
        return;
    }
    orr_typical_release(&placer->typical);
    orr_free(placer->refused);
    orr_typical_of_jobs(world, jobs, true, &placer->typical);
    placer->known = jobs;
    placer->refused =
        orr_zalloc(nodes * (size_t)placer->typical.count + 1, sizeof *placer->refused);
    for (uint32_t n = 0; n < nodes; n++) {
        orr_typical_refuse(&placer->typical, world->cluster, orr_cluster_type(world->cluster, n), n,
                           &placer->refused[(size_t)n * placer->typical.count]);
        placer->fragmented[n] = 0;
    }
    for (uint32_t k = 0; k < placer->kind_count; k++) {
        placer->kinds[k].seen = 0;
    }
}

/* --- kinds of task --- */

static bool is_same(const struct orr_request *a, const struct orr_request *b)
{
    return a->gpu_ask == b->gpu_ask && a->devices == b->devices && a->portion == b->portion &&
           a->cpu_milli == b->cpu_milli && a->mem_bytes == b->mem_bytes &&
           a->gpu_model == b->gpu_model && a->shard == b->shard && a->selector == b->selector &&
           a->toleration == b->toleration && a->allowed == b->allowed &&
           a->instances == b->instances && a->mig_profile == b->mig_profile;
}

static uint32_t find_kind(struct orr_placer *placer, const struct orr_request *request)
{
    uint32_t k = 0;
    while (k < placer->kind_count && !is_same(&placer->kinds[k].request, request)) {
        k++;
    }
    if (k == placer->kind_count) {
        placer->kinds = ORR_ROOM_FOR_ONE(placer->kinds, placer->kind_count, placer->kind_capacity);
        placer->kinds[placer->kind_count++] = (struct kind){.request = *request};
    }
    return k;
}

/* Takes the room of the kind that was asked for least lately once there are scores enough. */
static void keep_scores(struct orr_placer *placer, struct kind *kind)
{
    const size_t nodes = placer->ledger->world.cluster->node_count;
    struct kind *oldest = NULL;
    if (kind->worth != NULL) {
        return;
    }
    for (uint32_t k = 0; k < placer->kind_count && (placer->kept + 1) * nodes > KEPT; k++) {
        struct kind *other = &placer->kinds[k];
        oldest =
            other->worth != NULL && (oldest == NULL || other->used < oldest->used) ? other : oldest;
    }
    kind->seen = 0;
    if (oldest != NULL) {
        kind->worth = oldest->worth;
        oldest->worth = NULL;
    } else {
        kind->worth = orr_alloc(nodes + 1, sizeof *kind->worth);
        placer->kept++;
    }
}

static struct kind *kind_of(struct orr_placer *placer, uint32_t job, uint32_t group)
{
    const struct orr_ledger_world *world = &placer->ledger->world;
    const uint32_t shape = world->specs[job].shape;
    const struct orr_shape *s = &world->shapes->shapes[shape];
    placer->first_kind = orr_zgrow(placer->first_kind, &placer->shape_capacity,
                                   world->shapes->count, sizeof *placer->first_kind);
    if (placer->first_kind[shape] == 0) {
        placer->first_kind[shape] = placer->group_count + 1;
        for (uint32_t g = 0; g < s->group_count; g++) {
            placer->kind_of =
                ORR_ROOM_FOR_ONE(placer->kind_of, placer->group_count, placer->group_capacity);
            placer->kind_of[placer->group_count++] = find_kind(placer, &s->groups[g].request);
        }
    }
    struct kind *kind = &placer->kinds[placer->kind_of[placer->first_kind[shape] - 1 + group]];
    keep_scores(placer, kind);
    kind->used = ++placer->choices;
    return kind;
}

/* Scores look at devices. For MIG instances a node counts by those of the profile that are idle. */
static struct worth by_instances(const struct orr_placer *placer, const struct kind *kind,
                                 uint32_t node)
{
    const int64_t idle = orr_ledger_idle_units(placer->ledger, node, &kind->request);
    return (struct worth){.score = placer->score == by_worst_fit ? idle : -idle};
}

static struct worth worth_of(struct orr_placer *placer, const struct kind *kind, uint32_t node)
{
    const struct orr_ledger *ledger = placer->ledger;
    if (orr_ledger_room_for(ledger, node, &kind->request) == 0) {
        return (struct worth){.score = NO_ROOM};
    }
    if (kind->request.instances > 0) {
        return by_instances(placer, kind, node);
    }
    const struct asked asked = asked_of(ledger, &kind->request, node);
    return placer->score(placer, &asked);
}

/* Claims of pipelined tasks are no changes, so that nothing is kept while there are some. */
static void refresh(struct orr_placer *placer, struct kind *kind)
{
    const struct orr_ledger *ledger = placer->ledger;
    const bool anew = kind->seen == 0 || ledger->claims > 0;
    for (uint32_t n = 0; n < ledger->world.cluster->node_count; n++) {
        if (anew || ledger->changed[n] >= kind->seen) {
            kind->worth[n] = worth_of(placer, kind, n);
        }
    }
    kind->seen = ledger->claims > 0 ? 0 : ledger->changes + 1;
}

/* --- choosing --- */

/* Those of a device with room, each as likely, for a task that shares one. */
static uint64_t any_device(struct orr_placer *placer, const struct kind *kind, uint32_t node,
                           struct orr_rng *rng)
{
    if (!orr_request_shares(&kind->request) || kind->request.devices != 1) {
        return 0;
    }
    uint64_t roomy = asked_of(placer->ledger, &kind->request, node).roomy;
    const uint32_t fit = (uint32_t)__builtin_popcountll(roomy);
    for (uint64_t nth = orr_rng_below(rng, fit); nth > 0; nth--) {
        roomy &= roomy - 1;
    }
    return roomy & (~roomy + 1);
}

static struct worth by_nothing(struct orr_placer *placer, const struct asked *asked)
{
    (void)placer;
    (void)asked;
    return (struct worth){0};
}

static bool is_allowed(const struct orr_placer *placer, const struct kind *kind, uint32_t node,
                       int64_t most_mgpu)
{
    return kind->worth[node].score != NO_ROOM &&
           (most_mgpu == INT64_MAX ||
            orr_request_task_mgpu(&kind->request, orr_cluster_type(placer->ledger->world.cluster,
                                                                   node)) <= most_mgpu);
}

static uint32_t highest(const struct orr_placer *placer, const struct kind *kind,
                        const struct orr_place_range *range)
{
    uint32_t best = ORR_NONE;
    for (uint32_t i = 0; i < range->count; i++) {
        const uint32_t node = range->nodes == NULL ? i : range->nodes[i];
        const bool better = best == ORR_NONE || kind->worth[node].score > kind->worth[best].score ||
                            (kind->worth[node].score == kind->worth[best].score && node < best);
        best = better && is_allowed(placer, kind, node, range->most_mgpu) ? node : best;
    }
    return best;
}

static uint32_t any_node(const struct orr_placer *placer, const struct kind *kind,
                         const struct orr_place_range *range, struct orr_rng *rng)
{
    uint32_t fit = 0, i = 0;
    for (i = 0; i < range->count; i++) {
        fit +=
            is_allowed(placer, kind, range->nodes == NULL ? i : range->nodes[i], range->most_mgpu);
    }
    if (fit == 0) {
        return ORR_NONE;
    }
    uint64_t nth = orr_rng_below(rng, fit) + 1;
    for (i = 0; nth > 0; i++) {
        nth -=
            is_allowed(placer, kind, range->nodes == NULL ? i : range->nodes[i], range->most_mgpu);
    }
    return range->nodes == NULL ? i - 1 : range->nodes[i - 1];
}

/* The draws of a task depend on nothing but its job, its number and how often the job began. */
static struct orr_rng draws_of(const struct orr_placer *placer, uint32_t job)
{
    const struct orr_job_state *state = &placer->ledger->jobs[job];
    struct orr_rng rng = orr_rng_stream(placer->seed, "placement", job);
    rng.draw = (uint64_t)state->attempts << 40 | (uint64_t)state->placed_tasks << 8;
    return rng;
}

uint32_t orr_placer_choose(struct orr_placer *placer, uint32_t job, uint32_t group,
                           const struct orr_place_range *range, uint64_t *devices)
{
    if (placer->cells != NULL) {
        return orr_placer_is_opportunistic(placer, job)
                   ? orr_cells_choose_opportunistic(placer->cells, job, group, range, devices)
                   : orr_cells_choose(placer->cells, job, group, range, devices);
    }
    choose_typical(placer);
    struct kind *kind = kind_of(placer, job, group);
    refresh(placer, kind);
    *devices = 0;
    if (placer->score == by_nothing) {
        struct orr_rng rng = draws_of(placer, job);
        const uint32_t node = any_node(placer, kind, range, &rng);
        *devices = node == ORR_NONE ? 0 : any_device(placer, kind, node, &rng);
        return node;
    }
    const uint32_t node = highest(placer, kind, range);
    *devices = node == ORR_NONE ? 0 : kind->worth[node].devices;
    return node;
}

bool orr_placer_has_parts(const struct orr_placer *placer)
{
    return placer != NULL && placer->cells != NULL;
}

int64_t orr_placer_part_mgpu(const struct orr_placer *placer, uint32_t queue)
{
    return orr_placer_has_parts(placer) ? orr_cells_part_mgpu(placer->cells, queue) : INT64_MAX;
}

enum orr_reason orr_placer_bars(struct orr_placer *placer, uint32_t job, bool least)
{
    return orr_placer_has_parts(placer) && placer->part != NULL
               ? orr_part_bars(placer->part, &placer->ledger->world.specs[job], least)
               : ORR_REASON_NONE;
}

/* --- opportunistic jobs --- */

void orr_placer_set_opportunistic(struct orr_placer *placer, int64_t below)
{
    placer->opportunistic = orr_opportunistic_open(placer->ledger, below);
    orr_cells_set_opportunistic(placer->cells, placer->opportunistic);
}

bool orr_placer_is_opportunistic(const struct orr_placer *placer, uint32_t job)
{
    return placer != NULL && placer->opportunistic != NULL &&
           orr_opportunistic_has(placer->opportunistic, job);
}

void orr_placer_note_opportunistic(struct orr_placer *placer, uint32_t job)
{
    orr_opportunistic_note(placer->opportunistic, job);
}

void orr_placer_new_cycle(struct orr_placer *placer)
{
    orr_opportunistic_new_cycle(placer->opportunistic);
}

struct orr_opportunistic *orr_placer__opportunistic(const struct orr_placer *placer)
{
    return placer == NULL ? NULL : placer->opportunistic;
}

/* --- opening --- */

static score_fn *const scores[] = {[ORR_PLACEMENT_DEFAULT] = NULL,
                                   [ORR_PLACEMENT_CONSOLIDATED] = NULL,
                                   [ORR_PLACEMENT_RANDOM] = by_nothing,
                                   [ORR_PLACEMENT_DOT_PRODUCT] = by_dot_product,
                                   [ORR_PLACEMENT_CLUSTERING] = by_clustering,
                                   [ORR_PLACEMENT_PACKING] = by_packing,
                                   [ORR_PLACEMENT_BEST_FIT] = by_best_fit,
                                   [ORR_PLACEMENT_WORST_FIT] = by_worst_fit,
                                   [ORR_PLACEMENT_FGD] = by_fragmentation,
                                   [ORR_PLACEMENT_HIVED] = NULL};

struct orr_placer *orr_placer__open_cells(const struct orr_ledger *ledger)
{
    struct orr_placer *placer = orr_zalloc(1, sizeof *placer);
    placer->ledger = ledger;
    placer->cells = orr_cells_open(ledger);
    return placer;
}

struct orr_placer *orr_placer_open(const struct orr_placer_params *params,
                                   const struct orr_ledger *ledger, uint64_t seed)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    if (params->choice == ORR_PLACEMENT_HIVED) {
        struct orr_placer *placer = orr_placer__open_cells(ledger);
        placer->part = orr_part_open(&ledger->world);
        return placer;
    }
    if (scores[params->choice] == NULL) {
        return NULL;
    }
    struct orr_placer *placer = orr_zalloc(1, sizeof *placer);
    *placer = (struct orr_placer){.ledger = ledger,
                                  .score = scores[params->choice],
                                  .params = *params,
                                  .seed = seed,
                                  .most_cpu = 1,
                                  .most_mgpu = 1};
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        const struct orr_amounts *has = &cluster->types[t].allocatable;
        const double cpu = (double)has->v[ORR_RES_CPU], mgpu = (double)has->v[ORR_RES_GPU];
        placer->most_cpu = cpu > placer->most_cpu ? cpu : placer->most_cpu;
        placer->most_mgpu = mgpu > placer->most_mgpu ? mgpu : placer->most_mgpu;
    }
    placer->free_mgpu = orr_zalloc(cluster->max_gpus + (size_t)1, sizeof *placer->free_mgpu);
    placer->fragment = orr_zalloc(cluster->node_count + (size_t)1, sizeof *placer->fragment);
    placer->fragmented = orr_zalloc(cluster->node_count + (size_t)1, sizeof *placer->fragmented);
    return placer;
}

void orr_placer_close(struct orr_placer *placer)
{
    if (placer == NULL) {
        return;
    }
    orr_opportunistic_close(placer->opportunistic);
    orr_cells_close(placer->cells);
    orr_part_close(placer->part);
    for (uint32_t k = 0; k < placer->kind_count; k++) {
        orr_free(placer->kinds[k].worth);
    }
    orr_typical_release(&placer->typical);
    orr_free(placer->kinds);
    orr_free(placer->first_kind);
    orr_free(placer->kind_of);
    orr_free(placer->refused);
    orr_free(placer->fragment);
    orr_free(placer->fragmented);
    orr_free(placer->free_mgpu);
    orr_free(placer);
}
