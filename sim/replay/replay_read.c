/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_read.c - what is read of a world once it is built: names, rows and what they state of a
 * job, and what of the cluster can be short at all. */
#include <orrery/sim/world.h>

#include <stdio.h>
#include <string.h>

#include "replay_int.h"

static bool has_bounds(const struct orr_world *world, enum orr_share_kind kind)
{
    bool any = false;
    for (uint32_t q = 0; q < world->queues.count; q++) {
        const struct orr_entitlement *entitlement = &world->queues.queues[q].resources[kind];
        any = any || entitlement->quota >= 0.0 || entitlement->limit >= 0.0;
    }
    for (uint32_t i = 0; i < world->queue_change_count; i++) {
        const struct orr_entitlement *entitlement = &world->queue_changes[i].resources[kind];
        any = any || entitlement->quota >= 0.0 || entitlement->limit >= 0.0;
    }
    return any;
}

bool orr_world_divides(const struct orr_world *world, enum orr_share_kind kind)
{
    if (kind == ORR_SHARE_GPU) {
        return true;
    }
    const enum orr_resource resource = kind == ORR_SHARE_CPU ? ORR_RES_CPU : ORR_RES_MEMORY;
    bool asked = false, limited = has_bounds(world, kind);
    for (uint32_t s = 0; s < world->shapes.count && limited && !asked; s++) {
        const struct orr_shape *shape = &world->shapes.shapes[s];
        asked = (kind == ORR_SHARE_CPU ? shape->cpu_milli : shape->mem_bytes) > 0;
    }
    for (uint32_t n = 0; n < world->cluster.node_count && limited; n++) {
        limited =
            orr_cluster_type(&world->cluster, n)->allocatable.v[resource] < ORR_AMOUNT_UNLIMITED;
    }
    return limited && asked;
}

bool orr_world_has_services(const struct orr_world *world)
{
    bool any = false;
    for (uint32_t p = 0; p < world->part_count; p++) {
        any = any || world->parts[p].service != NULL;
    }
    return any;
}

int64_t orr_world_asked_pod_ms(const struct orr_world *world, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const uint32_t service = world->terms.items[spec->terms].service;
    if (service == 0) {
        return spec->work_ms * world->shapes.shapes[spec->shape].tasks;
    }
    const struct orr_world_service *it = world->parts[service - 1].service;
    int64_t pod_ms = 0;
    for (uint32_t s = 0; s + 1 < it->step_count; s++) {
        pod_ms += (it->steps[s + 1].at_ms - it->steps[s].at_ms) * it->steps[s].pods;
    }
    return pod_ms;
}

uint32_t orr_world_part_of(const struct orr_world *world, uint32_t job)
{
    const uint32_t source = world->specs[job].source;
    uint32_t part = 0, high = world->part_count; /* to the last that does not begin behind it */
    while (high - part > 1) {
        const uint32_t middle = part + (high - part) / 2;
        if (world->parts[middle].first_source <= source) {
            part = middle;
        } else {
            high = middle;
        }
    }
    return part;
}

static const struct orr_world_part *part_of(const struct orr_world *world, uint32_t job,
                                            const struct orr_world_row **row)
{
    const struct orr_world_part *p = &world->parts[orr_world_part_of(world, job)];
    *row = &p->rows[world->specs[job].source - p->first_source];
    return p;
}

/* A name of the trace as one of the run: "PART/NAME" beside other parts, "#2" of the first copy. */
static const char *name_in_run(const struct orr_world *world, const struct orr_world_part *p,
                               uint32_t job, const char *name, char *buffer, size_t bytes)
{
    orr_ms copy = orr_replay__copy(p, &world->specs[job]);
    bool bare = world->part_count == 1 || p->part->trace == NULL; /* the part is in the name */
    if (bare && copy == 0) {
        return name;
    }
    const char *prefix = bare ? "" : p->part->name;
    const char *slash = bare ? "" : "/";
    if (copy > 0) {
        (void)snprintf(buffer, bytes, "%s%s%s#%lld", prefix, slash, name, (long long)copy + 1);
    } else {
        (void)snprintf(buffer, bytes, "%s%s%s", prefix, slash, name);
    }
    return buffer;
}

const char *orr_world_job_name(const struct orr_world *world, uint32_t job, char *buffer,
                               size_t bytes)
{
    const struct orr_world_row *row;
    const struct orr_world_part *p = part_of(world, job, &row);
    return name_in_run(world, p, job, orr_idmap_name(&p->workload.jobs, row->job), buffer, bytes);
}

const char *orr_world_job_group(const struct orr_world *world, uint32_t job, char *buffer,
                                size_t bytes)
{
    const struct orr_world_row *row;
    const struct orr_world_part *p = part_of(world, job, &row);
    const char *group = row->extra == 0 ? NULL : p->workload.extras[row->extra - 1].group;
    return group == NULL ? NULL : name_in_run(world, p, job, group, buffer, bytes);
}

const char *orr_world_job_user(const struct orr_world *world, uint32_t job)
{
    const struct orr_world_row *row;
    const struct orr_world_part *p = part_of(world, job, &row);
    return row->user == ORR_NONE ? NULL : orr_idmap_name(&p->workload.users, row->user);
}

bool orr_world_states_limit(const struct orr_world *world, uint32_t job)
{
    const struct orr_world_row *row;
    (void)part_of(world, job, &row);
    return row->states_limit;
}

static const char *pass_user(void *self, uint32_t job)
{
    return orr_world_job_user(self, job);
}

static const char *pass_options(void *self, uint32_t job)
{
    const struct orr_row_extra *extra = orr_world_job_extra(self, job);
    return extra == NULL ? NULL : extra->sbatch;
}

static bool pass_states_limit(void *self, uint32_t job)
{
    const struct orr_world *world = self;
    const struct orr_job_spec *spec = &world->specs[job];
    return orr_world_states_limit(world, job) || spec->estimate_ms != spec->work_ms;
}

static orr_ms pass_preemption_delay(void *self, uint32_t job)
{
    const struct orr_row_extra *extra = orr_world_job_extra(self, job);
    return extra == NULL ? ORR_MS_NONE : extra->preemption_delay_ms;
}

static orr_ms pass_staleness_grace(void *self, uint32_t job)
{
    const struct orr_row_extra *extra = orr_world_job_extra(self, job);
    return extra == NULL ? ORR_MS_NONE : extra->staleness_grace_ms;
}

struct orr_view_words orr_world_words(const struct orr_world *world)
{
    return (struct orr_view_words){.user = pass_user,
                                   .options = pass_options,
                                   .self = (void *)(uintptr_t)world, /* they only read it */
                                   .states_limit = pass_states_limit,
                                   .preemption_delay_ms = pass_preemption_delay,
                                   .staleness_grace_ms = pass_staleness_grace};
}

bool orr_world_estimates_by_runs(const struct orr_world *world, uint32_t job)
{
    const struct orr_world_row *row;
    const struct orr_world_part *p = part_of(world, job, &row);
    return !row->states_limit || strcmp(p->part->estimates.by, "user") != 0;
}

bool orr_world_knows_run(const struct orr_world *world, uint32_t job)
{
    const struct orr_world_row *row;
    const struct orr_world_part *p = part_of(world, job, &row);
    return row->extra != 0 && p->workload.extras[row->extra - 1].run_known == 1;
}

/* A copy's, or that of a job whose submit was moved or scaled, is as long after its submit. */
orr_ms orr_world_deadline_ms(const struct orr_world *world, uint32_t job)
{
    const struct orr_world_row *row;
    const struct orr_world_part *p = part_of(world, job, &row);
    const struct orr_row_extra *extra =
        row->extra == 0 ? NULL : &p->workload.extras[row->extra - 1];
    return extra == NULL || extra->deadline_after_ms == ORR_MS_NONE
               ? ORR_MS_NONE
               : world->specs[job].submit_ms + extra->deadline_after_ms;
}

bool orr_world_has_extras(const struct orr_world *world)
{
    bool any = false;
    for (uint32_t p = 0; p < world->part_count; p++) {
        any = any || world->parts[p].workload.extra_count > 0;
    }
    return any;
}

const struct orr_row_extra *orr_world_job_extra(const struct orr_world *world, uint32_t job)
{
    const struct orr_world_row *row;
    const struct orr_world_part *p = part_of(world, job, &row);
    return row->extra == 0 ? NULL : &p->workload.extras[row->extra - 1];
}
