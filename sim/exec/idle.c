/* SPDX-License-Identifier: GPL-3.0-or-later */
/* idle.c - after the run: what sessions and services held and did not use. */
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/traces/workload.h>

#include "account_int.h"

/* Pods x ms in which a service's pods were busy with the requests that were served by then: while
 * they load they are not, nor is a slot without one. */
static double busy_pods_ms(const struct orr_world_service *service,
                           const struct orr_replica_life *life, orr_ms until)
{
    struct orr_service_load load;
    orr_service_account(&service->plan, &service->rates, life->changes, life->count, 0, until,
                        &load);
    return orr_service_busy_s(&service->plan, &load) * 1000.0 * service->pods;
}

bool orr_account_may_idle(const struct orr_world *world)
{
    bool any = orr_world_has_services(world);
    for (uint32_t t = 0; t < world->terms.count; t++) {
        any = any || world->terms.items[t].busy_ppm < ORR_PPM;
    }
    return any;
}

/* What a service's pods held until they were bound was no use: they waited. */
static void take_waiting(struct orr_run *run, const struct orr_replica_life *life)
{
    for (uint32_t s = 0; s < life->span_count; s++) {
        const struct orr_replica_span *span = &life->spans[s];
        const struct orr_placement *placement = &run->ledger->placements[span->placement];
        const int64_t held =
            orr_placement_held(run, placement, placement->since_ms, span->works_ms);
        if (held > 0) {
            orr_exec_take_waiting(run->exec, placement->job, placement->since_ms, span->works_ms,
                                  held);
        }
    }
}

/* What bound pods of a service held between two times, in which they were busy for `busy_ms`,
 * pods x ms as all of them; returns what of it they left idle, mGPU x ms. */
static int64_t idle_between(struct orr_run *run, const struct orr_replica_life *life, orr_ms from,
                            orr_ms to, double busy_ms)
{
    int64_t held = 0, pods_ms = 0;
    struct orr_waste idle = {.from_ms = to, .to_ms = from};
    for (uint32_t s = 0; s < life->span_count; s++) {
        const struct orr_replica_span *span = &life->spans[s];
        const struct orr_placement *placement = &run->ledger->placements[span->placement];
        const orr_ms since = span->works_ms > from ? span->works_ms : from;
        const orr_ms until = span->end_ms < to ? span->end_ms : to;
        if (since < until) {
            held += orr_placement_held(run, placement, since, until);
            pods_ms += (until - since) * placement->tasks;
            idle.job = placement->job;
            idle.from_ms = since < idle.from_ms ? since : idle.from_ms;
            idle.to_ms = until > idle.to_ms ? until : idle.to_ms;
        }
    }
    const double part = pods_ms > 0 ? busy_ms / (double)pods_ms : 1.0;
    idle.mgpu_ms = part < 1.0 ? held - (int64_t)((double)held * part) : 0;
    if (idle.mgpu_ms > 0) {
        run->idles = ORR_ROOM_FOR_ONE(run->idles, run->idle_count, run->idle_capacity);
        run->idles[run->idle_count++] = idle;
    }
    return idle.mgpu_ms;
}

/* What a service left idle before the window, in it and after it, each by the requests that it
 * served then. */
static int64_t idle_of_service(const struct orr_replica_lives *replicas,
                               const struct orr_world *world, struct orr_run *run, uint32_t part)
{
    const struct orr_world_service *service = world->parts[part].service;
    struct orr_replica_life life = orr_replica_lives_of(replicas, part);
    const orr_ms cuts[] = {run->fold.window_start_ms, run->fold.window_end_ms, run->end_ms};
    orr_ms from = 0;
    double before_ms = 0.0;
    int64_t idle = 0;
    take_waiting(run, &life);
    for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
        const orr_ms to = cuts[c] < run->end_ms ? cuts[c] : run->end_ms;
        if (from < to) {
            const double until_ms = busy_pods_ms(service, &life, to);
            idle += idle_between(run, &life, from, to, until_ms - before_ms);
            before_ms = until_ms;
            from = to;
        }
    }
    orr_replica_life_release(&life);
    return idle;
}

double orr_account_idle_part(const struct orr_world *world, const struct orr_run *run, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const struct orr_job_time *time = orr_account_of(run, job);
    const int64_t full = time->useful - time->slow;
    return world->terms.items[spec->terms].service == 0 && full > 0
               ? (double)time->idle / (double)full
               : 0.0;
}

void orr_account__idle(const struct orr_world *world, struct orr_run *run)
{
    struct orr_replica_lives *replicas = orr_replica_lives_open(world, run);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        const struct orr_terms *terms = &world->terms.items[spec->terms];
        const struct orr_job_time *time = orr_account_of(run, j);
        const int64_t full = time->useful - time->slow;
        if (terms->service > 0) {
            orr_account__set_idle(run, j,
                                  idle_of_service(replicas, world, run, terms->service - 1));
        } else if (spec->kind == ORR_KIND_INTERACTIVE) {
            orr_account__set_idle(run, j, full - orr_part_of(full, terms->busy_ppm));
        }
    }
    orr_replica_lives_close(replicas);
}
