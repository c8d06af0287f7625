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

/* A replica serves from `load` after it started until it is gone. */
static void add_life(struct changes *changes, orr_ms start, orr_ms end, orr_ms load)
{
    if (start == ORR_MS_NONE || start + load >= end) {
        return;
    }
    const struct orr_service_change both[] = {{start + load, 1}, {end, -1}};
    for (int i = 0; i < 2; i++) {
        changes->items = ORR_ROOM_FOR_ONE(changes->items, changes->count, changes->capacity);
        changes->items[changes->count++] = both[i];
    }
}

static int by_time(const void *a, const void *b, void *context)
{
    const struct orr_service_change *x = a, *y = b;
    (void)context;
    return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

/* The end of the last attempt; the end of the run if it is up still. False: it is not up. */
static bool last_end(const struct orr_run *run, uint32_t job, orr_ms *end)
{
    const struct orr_job_state *state = &run->ledger->jobs[job];
    bool up = state->phase == ORR_JOB_RUNNING || state->phase == ORR_JOB_RELEASING;
    *end = up ? run->end_ms : state->end_ms;
    return up || state->phase == ORR_JOB_FINISHED;
}

struct orr_service_change *orr_replica_changes(const struct orr_world *world,
                                               const struct orr_run *run, uint32_t part,
                                               uint32_t *count)
{
    orr_ms load = world->parts[part].service->load_ms, end;
    struct changes changes = {0};
    for (uint32_t a = 0; a < run->attempt_count; a++) {
        const struct orr_attempt *attempt = &run->attempts[a];
        if (orr_world_part_of(world, attempt->job) == part) {
            add_life(&changes, attempt->start_ms, attempt->end_ms, load);
        }
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (orr_world_part_of(world, j) == part && last_end(run, j, &end)) {
            add_life(&changes, run->ledger->jobs[j].start_ms, end, load);
        }
    }
    orr_sort(changes.items, changes.count, sizeof *changes.items, by_time, NULL);
    *count = changes.count;
    return changes.items;
}

/* --- what was used of what they held --- */

struct usage { /* of the replicas of one part */
    const struct orr_service_change *changes;
    const double *busy_s; /* by then */
    uint32_t count;
    orr_ms load_ms;
};

static double busy_by(const struct usage *usage, orr_ms at)
{
    uint32_t low = 0, high = usage->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (usage->changes[middle].at_ms < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    ORR_ASSERT(low < usage->count && usage->changes[low].at_ms == at);
    return usage->busy_s[low];
}

static double busy_in(const struct usage *usage, orr_ms start, orr_ms end)
{
    orr_ms from = start + usage->load_ms;
    return start == ORR_MS_NONE || from >= end ? 0.0 : busy_by(usage, end) - busy_by(usage, from);
}

/* From each job's useful time is taken what its slots were not busy; per job, in seconds. */
static void use_replicas(const struct orr_world *world, struct orr_run *run, uint32_t part,
                         double *busy_s)
{
    const struct orr_world_service *service = world->parts[part].service;
    struct orr_service_load load;
    struct usage usage = {.load_ms = service->load_ms};
    struct orr_service_change *changes = orr_replica_changes(world, run, part, &usage.count);
    double *by = orr_zalloc(usage.count + (size_t)1, sizeof *by);
    orr_service_account(&service->plan, &service->rates, changes, usage.count, 0, run->end_ms,
                        &load, by);
    usage.changes = changes;
    usage.busy_s = by;
    for (uint32_t a = 0; a < run->attempt_count; a++) {
        const struct orr_attempt *attempt = &run->attempts[a];
        if (orr_world_part_of(world, attempt->job) == part) {
            busy_s[attempt->job] += busy_in(&usage, attempt->start_ms, attempt->end_ms);
        }
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        orr_ms end;
        if (orr_world_part_of(world, j) == part && last_end(run, j, &end)) {
            busy_s[j] += busy_in(&usage, run->ledger->jobs[j].start_ms, end);
        }
    }
    orr_free(by);
    orr_free(changes);
}

static bool any_service(const struct orr_world *world)
{
    bool any = false;
    for (uint32_t p = 0; p < world->part_count; p++) {
        any = any || world->parts[p].service != NULL;
    }
    return any;
}

bool orr_account_may_idle(const struct orr_world *world)
{
    bool any = any_service(world);
    for (uint32_t t = 0; t < world->terms.count; t++) {
        any = any || world->terms.items[t].busy_ppm < ORR_PPM;
    }
    return any;
}

void orr_account__idle(const struct orr_world *world, struct orr_run *run)
{
    double *busy_s = any_service(world) ? orr_zalloc(world->job_count, sizeof *busy_s) : NULL;
    for (uint32_t p = 0; p < world->part_count; p++) {
        if (world->parts[p].service != NULL) {
            use_replicas(world, run, p, busy_s);
        }
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        const struct orr_job_time *time = orr_account_of(run, j);
        int64_t full = time->useful - time->slow, used = full;
        if (busy_s != NULL && world->parts[orr_world_part_of(world, j)].service != NULL) {
            used =
                (int64_t)(busy_s[j] * 1000.0 * (double)world->shapes.shapes[spec->shape].gpus_mgpu);
        } else if (spec->kind == ORR_KIND_INTERACTIVE) {
            used = orr_part_of(full, world->terms.items[spec->terms].busy_ppm);
        }
        orr_account__set_idle(run, j, used < full ? full - used : 0);
    }
    orr_free(busy_s);
}
