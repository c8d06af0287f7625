/* SPDX-License-Identifier: GPL-3.0-or-later */
/* idle.c - after the run: what sessions and services held and did not use. */
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/traces/workload.h>

#include "account_int.h"

/* --- replicas --- */

struct changes {
    struct orr_service_change *items;
    uint32_t count, capacity;
};

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

static uint32_t job_of_part(const struct orr_world *world, uint32_t part)
{
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (world->terms.items[world->specs[j].terms].service == part + 1) {
            return j;
        }
    }
    return ORR_NONE; /* its row was rejected */
}

/* When the pods of a placement began to work: not before their attempt was bound. `next` goes on
 * with the placements of one job, in their order. */
static orr_ms begin_of(const struct orr_run *run, const struct orr_placement *placement,
                       uint32_t *next)
{
    const struct orr_pods_bound *bound = run->bound;
    while (*next < run->bound_count &&
           (bound[*next].job != placement->job || bound[*next].attempt < placement->attempt)) {
        (*next)++;
    }
    const bool waits = *next < run->bound_count && bound[*next].attempt == placement->attempt &&
                       bound[*next].at_ms > placement->since_ms;
    return waits ? bound[*next].at_ms : placement->since_ms;
}

/* Lists what the pods of a service served; returns pods x ms that they were held and not waiting
 * to be bound, until they left. */
static int64_t list_lives(const struct orr_world *world, const struct orr_run *run, uint32_t part,
                          struct changes *changes)
{
    const struct orr_ledger *ledger = run->ledger;
    const orr_ms load = world->parts[part].service->load_ms;
    const uint32_t job = job_of_part(world, part);
    int64_t kept = 0;
    uint32_t next = 0, next_bound = 0;
    struct orr_pod_left *left = orr_alloc(run->left_count + (size_t)1, sizeof *left);
    for (uint32_t l = 0; l < run->left_count; l++) {
        left[l] = run->left[l];
    }
    orr_sort(left, run->left_count, sizeof *left, by_placement, NULL);
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        while (next < run->left_count && left[next].placement < p) {
            next++;
        }
        if (placement->job == job) {
            const bool gone = next < run->left_count && left[next].placement == p;
            const bool ended = placement->hold == ORR_HOLD_ENDED;
            const orr_ms end = gone ? left[next].at_ms : ended ? placement->until_ms : run->end_ms;
            const orr_ms begin = begin_of(run, placement, &next_bound);
            kept += end > begin ? (end - begin) * placement->tasks : 0;
            add_life(changes, begin + load, end, placement->tasks);
        }
    }
    orr_free(left);
    orr_sort(changes->items, changes->count, sizeof *changes->items, by_time, NULL);
    count_replicas(changes, world->parts[part].service->pods);
    return kept;
}

struct orr_service_change *orr_replica_changes(const struct orr_world *world,
                                               const struct orr_run *run, uint32_t part,
                                               uint32_t *count)
{
    struct changes changes = {0};
    (void)list_lives(world, run, part, &changes);
    *count = changes.count;
    return changes.items;
}

/* --- what was used of what they held --- */

/* The part of the time that a service's pods were held in which they were busy with requests:
 * while they load they are not, nor is a slot without one. */
static double busy_part(const struct orr_world *world, const struct orr_run *run, uint32_t part)
{
    const struct orr_world_service *service = world->parts[part].service;
    struct orr_service_load load;
    struct changes changes = {0};
    const int64_t kept = list_lives(world, run, part, &changes);
    orr_service_account(&service->plan, &service->rates, changes.items, changes.count, 0,
                        run->end_ms, &load);
    orr_free(changes.items);
    const double busy_ms = orr_service_busy_s(&service->plan, &load) * 1000.0 * service->pods;
    return kept > 0 && busy_ms < (double)kept ? busy_ms / (double)kept : 1.0;
}

bool orr_account_may_idle(const struct orr_world *world)
{
    bool any = orr_world_has_services(world);
    for (uint32_t t = 0; t < world->terms.count; t++) {
        any = any || world->terms.items[t].busy_ppm < ORR_PPM;
    }
    return any;
}

void orr_account__idle(const struct orr_world *world, struct orr_run *run)
{
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        const struct orr_terms *terms = &world->terms.items[spec->terms];
        const struct orr_job_time *time = orr_account_of(run, j);
        int64_t full = time->useful - time->slow, used = full;
        if (terms->service > 0) {
            used = (int64_t)((double)full * busy_part(world, run, terms->service - 1));
        } else if (spec->kind == ORR_KIND_INTERACTIVE) {
            used = orr_part_of(full, terms->busy_ppm);
        }
        orr_account__set_idle(run, j, used < full ? full - used : 0);
    }
}
