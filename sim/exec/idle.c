/* SPDX-License-Identifier: GPL-3.0-or-later */
/* idle.c - after the run: what sessions and services held and did not use. */
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/traces/workload.h>

#include "account_int.h"

/* The part of the time that a service's pods were held in which they were busy with requests:
 * while they load they are not, nor is a slot without one. */
static double busy_part(const struct orr_world *world, const struct orr_run *run, uint32_t part,
                        const struct orr_replica_life *life)
{
    const struct orr_world_service *service = world->parts[part].service;
    struct orr_service_load load;
    orr_service_account(&service->plan, &service->rates, life->changes, life->count, 0, run->end_ms,
                        &load);
    const double busy_ms = orr_service_busy_s(&service->plan, &load) * 1000.0 * service->pods;
    return life->kept > 0 && busy_ms < (double)life->kept ? busy_ms / (double)life->kept : 1.0;
}

bool orr_account_may_idle(const struct orr_world *world)
{
    bool any = orr_world_has_services(world);
    for (uint32_t t = 0; t < world->terms.count; t++) {
        any = any || world->terms.items[t].busy_ppm < ORR_PPM;
    }
    return any;
}

/* What of a service's time was of use; what it held until its pods were bound waits. */
static int64_t used_by(const struct orr_replica_lives *replicas, const struct orr_world *world,
                       struct orr_run *run, uint32_t job, uint32_t part)
{
    const struct orr_replica_life life = orr_replica_lives_of(replicas, part);
    const struct orr_job_time *time = orr_account_of(run, job);
    orr_exec_set_waiting(run->exec, job, life.waiting);
    const int64_t used =
        (int64_t)((double)(time->useful - time->slow) * busy_part(world, run, part, &life));
    orr_free(life.changes);
    return used;
}

void orr_account__idle(const struct orr_world *world, struct orr_run *run)
{
    struct orr_replica_lives *replicas = orr_replica_lives_open(world, run);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        const struct orr_terms *terms = &world->terms.items[spec->terms];
        const struct orr_job_time *time = orr_account_of(run, j);
        int64_t full = time->useful - time->slow, used = full;
        if (terms->service > 0) {
            used = used_by(replicas, world, run, j, terms->service - 1);
            full = time->useful - time->slow;
        } else if (spec->kind == ORR_KIND_INTERACTIVE) {
            used = orr_part_of(full, terms->busy_ppm);
        }
        orr_account__set_idle(run, j, used < full ? full - used : 0);
    }
    orr_replica_lives_close(replicas);
}
