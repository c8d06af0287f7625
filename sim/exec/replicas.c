/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replicas.c - after the run: from when to when pods of services served. */
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/sim/by_job.h>

#include "account_int.h"

struct orr_replica_lives {
    const struct orr_world *world;
    const struct orr_run *run;
    struct orr_by_job placements, bound;
    struct orr_pod_left *left; /* by placement */
    uint32_t *job_of_part;     /* ORR_NONE: its row was rejected, or it is no service */
};

struct changes {
    struct orr_service_change *items;
    uint32_t count, capacity;
};

static int by_placement(const void *a, const void *b, void *context)
{
    const struct orr_pod_left *x = a, *y = b;
    (void)context;
    return (x->placement > y->placement) - (x->placement < y->placement);
}

static int by_time(const void *a, const void *b, void *context)
{
    const struct orr_service_change *x = a, *y = b;
    (void)context;
    return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

static void list_left(struct orr_replica_lives *replicas)
{
    const struct orr_run *run = replicas->run;
    replicas->left = orr_alloc(run->left_count + (size_t)1, sizeof *replicas->left);
    for (uint32_t l = 0; l < run->left_count; l++) {
        replicas->left[l] = run->left[l];
    }
    orr_sort(replicas->left, run->left_count, sizeof *replicas->left, by_placement, NULL);
}

struct orr_replica_lives *orr_replica_lives_open(const struct orr_world *world,
                                                 const struct orr_run *run)
{
    if (!orr_world_has_services(world)) {
        return NULL;
    }
    const struct orr_rows bound = {run->bound, sizeof *run->bound,
                                   offsetof(struct orr_pods_bound, job), run->bound_count};
    struct orr_replica_lives *replicas = orr_alloc(1, sizeof *replicas);
    *replicas = (struct orr_replica_lives){
        .world = world,
        .run = run,
        .placements = orr_by_job_placements(run),
        .bound = orr_by_job_make(&bound, world->job_count),
        .job_of_part = orr_alloc(world->part_count + (size_t)1, sizeof *replicas->job_of_part)};
    list_left(replicas);
    for (uint32_t p = 0; p < world->part_count; p++) {
        replicas->job_of_part[p] = ORR_NONE;
    }
    for (uint32_t j = world->job_count; j-- > 0;) {
        const uint32_t service = world->terms.items[world->specs[j].terms].service;
        if (service > 0) {
            replicas->job_of_part[service - 1] = j;
        }
    }
    return replicas;
}

void orr_replica_lives_close(struct orr_replica_lives *replicas)
{
    if (replicas != NULL) {
        orr_by_job_release(&replicas->placements);
        orr_by_job_release(&replicas->bound);
        orr_free(replicas->left);
        orr_free(replicas->job_of_part);
        orr_free(replicas);
    }
}

/* When the pods of a placement began to leave; ORR_MS_NONE: they ended otherwise, or not at all. */
static orr_ms left_ms(const struct orr_replica_lives *replicas, uint32_t placement)
{
    uint32_t low = 0, high = replicas->run->left_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (replicas->left[middle].placement < placement) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const bool found =
        low < replicas->run->left_count && replicas->left[low].placement == placement;
    return found ? replicas->left[low].at_ms : ORR_MS_NONE;
}

/* When the pods of a placement began to work: not before the last that joined with them was bound.
 * A job's rows are in order of time. */
static orr_ms begin_of(const struct orr_replica_lives *replicas,
                       const struct orr_placement *placement)
{
    const struct orr_by_job *by = &replicas->bound;
    const struct orr_pods_bound *bound = replicas->run->bound;
    uint32_t low = orr_by_job_first(by, placement->job);
    uint32_t high = orr_by_job_first(by, placement->job + 1);
    const uint32_t first = low;
    while (low < high) { /* to the first that joined later */
        const uint32_t middle = low + (high - low) / 2;
        if (bound[by->rows[middle]].since_ms <= placement->since_ms) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct orr_pods_bound *last = low > first ? &bound[by->rows[low - 1]] : NULL;
    return last != NULL && last->since_ms == placement->since_ms ? last->at_ms
                                                                 : placement->since_ms;
}

/* Pods serve from `load` after they began to work until they were evicted, or are gone. */
static void add_life(struct changes *changes, orr_ms start, orr_ms end, uint32_t pods)
{
    if (start >= end) {
        return;
    }
    const struct orr_service_change both[] = {{start, (int32_t)pods}, {end, -(int32_t)pods}};
    for (int i = 0; i < 2; i++) {
        changes->items = ORR_ROOM_FOR_ONE(changes->items, changes->count, changes->capacity);
        changes->items[changes->count++] = both[i];
    }
}

/* Any so many pods that serve are a replica: changes of pods become those of replicas. */
static void count_replicas(struct changes *changes, uint32_t pods_each)
{
    int64_t pods = 0;
    int32_t up = 0;
    for (uint32_t i = 0; i < changes->count; i++) {
        pods += changes->items[i].by;
        const int32_t now = pods > 0 ? (int32_t)(pods / pods_each) : 0;
        changes->items[i].by = now - up;
        up = now;
    }
}

struct orr_replica_life orr_replica_lives_of(const struct orr_replica_lives *replicas,
                                             uint32_t part)
{
    const struct orr_world_service *service = replicas->world->parts[part].service;
    const struct orr_run *run = replicas->run;
    const uint32_t job = replicas->job_of_part[part];
    struct orr_replica_life life = {0};
    struct changes changes = {0};
    uint32_t room = 0;
    if (job == ORR_NONE) {
        return life;
    }
    for (uint32_t i = orr_by_job_first(&replicas->placements, job);
         i < orr_by_job_first(&replicas->placements, job + 1); i++) {
        const uint32_t p = replicas->placements.rows[i];
        const struct orr_placement *placement = &run->ledger->placements[p];
        const orr_ms left = left_ms(replicas, p);
        const orr_ms end = left != ORR_MS_NONE ? left : orr_account__end_of(run, placement);
        const orr_ms begin = begin_of(replicas, placement);
        life.spans = ORR_ROOM_FOR_ONE(life.spans, life.span_count, room);
        life.spans[life.span_count++] =
            (struct orr_replica_span){p, begin < end ? begin : end, end};
        add_life(&changes, begin + service->load_ms, end, placement->tasks);
    }
    orr_sort(changes.items, changes.count, sizeof *changes.items, by_time, NULL);
    count_replicas(&changes, service->pods);
    life.changes = changes.items;
    life.count = changes.count;
    return life;
}

void orr_replica_life_release(struct orr_replica_life *life)
{
    orr_free(life->changes);
    orr_free(life->spans);
    *life = (struct orr_replica_life){0};
}
