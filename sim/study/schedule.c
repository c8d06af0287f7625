/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedule.c - start times of any origin beside the jobs of a world. */
#include <orrery/sim/study.h>

#include <string.h>

static const char *keep_name(struct orr_schedule *schedule, const struct orr_world *world,
                             uint32_t job)
{
    char buffer[512];
    const char *name = orr_world_job_name(world, job, buffer, sizeof buffer);
    return orr_arena_strndup(&schedule->arena, name, strlen(name));
}

static void take_cluster(const struct orr_world *world, struct orr_schedule *schedule)
{
    const struct orr_cluster *cluster = &world->cluster;
    schedule->nodes =
        orr_arena_alloc(&schedule->arena, cluster->node_count + (size_t)1, sizeof *schedule->nodes);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        schedule->nodes[n] = (struct orr_audit_node){
            .name = "", .gpus = cluster->types[cluster->nodes[n].type].gpus};
    }
    schedule->node_count = cluster->node_count;
    schedule->shards = orr_arena_alloc(&schedule->arena, 1, sizeof *schedule->shards);
    schedule->shards[0] = (struct orr_audit_shard){.name = ""};
    schedule->shard_count = 1;
}

static bool is_in_parts(const struct orr_shape *shape)
{
    bool parts = false;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        parts = parts || (request->devices > 0 && request->gpu_ask != ORR_GPU_WHOLE);
    }
    return parts;
}

static void take_job(const struct orr_world *world, struct orr_schedule *schedule, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
    schedule->jobs[job] = (struct orr_audit_job){.name = keep_name(schedule, world, job),
                                                 .submit_ms = spec->submit_ms,
                                                 .start_ms = ORR_MS_NONE,
                                                 .end_ms = ORR_MS_NONE,
                                                 .left_ms = ORR_MS_NEVER,
                                                 .estimate_ms = spec->estimate_ms,
                                                 .mgpu = shape->gpus_mgpu,
                                                 .pods = shape->tasks,
                                                 .min_pods = shape->min_tasks,
                                                 .queue = ORR_NONE,
                                                 .in_parts = is_in_parts(shape)};
}

/* A job that starts holds what it asks, somewhere. */
static void take_span(const struct orr_world *world, struct orr_schedule *schedule, uint32_t job,
                      const struct orr_row_extra *times)
{
    struct orr_audit_job *entry = &schedule->jobs[job];
    if (times->recorded_start_ms == ORR_MS_NONE) {
        return;
    }
    entry->start_ms = times->recorded_start_ms;
    entry->end_ms = times->recorded_end_ms != ORR_MS_NONE
                        ? times->recorded_end_ms
                        : entry->start_ms + world->specs[job].work_ms;
    entry->finished = true;
    schedule->end_ms = entry->end_ms > schedule->end_ms ? entry->end_ms : schedule->end_ms;
    schedule->spans[schedule->span_count++] = (struct orr_audit_span){.job = job,
                                                                      .nr = 1,
                                                                      .node = ORR_NONE,
                                                                      .mgpu = entry->mgpu,
                                                                      .start_ms = entry->start_ms,
                                                                      .end_ms = entry->end_ms,
                                                                      .leaves_ms = entry->end_ms,
                                                                      .eviction = ORR_NONE};
}

static enum orr_status match(const struct orr_world *world, const char *path,
                             const struct orr_workload *times, struct orr_schedule *schedule,
                             struct orr_err *err)
{
    bool *seen = orr_zalloc((size_t)times->count + 1, sizeof *seen);
    schedule->jobs =
        orr_arena_alloc(&schedule->arena, world->job_count + (size_t)1, sizeof *schedule->jobs);
    schedule->spans =
        orr_arena_alloc(&schedule->arena, world->job_count + (size_t)1, sizeof *schedule->spans);
    schedule->job_count = world->job_count;
    /* rows are sorted by time; names.jobs keeps the order of the file */
    uint32_t *row_of = orr_alloc((size_t)times->count + 1, sizeof *row_of);
    for (uint32_t r = 0; r < times->count; r++) {
        row_of[times->rows[r].job] = r;
    }
    for (uint32_t j = 0; j < world->job_count; j++) {
        take_job(world, schedule, j);
        const char *name = schedule->jobs[j].name;
        const uint32_t found = orr_idmap_find(&times->jobs, name, strlen(name));
        if (found != ORR_NONE) {
            const struct orr_row *row = &times->rows[row_of[found]];
            seen[found] = true;
            take_span(world, schedule, j, &times->extras[row->extra - 1]);
        }
    }
    enum orr_status status = ORR_OK;
    for (uint32_t r = 0; r < times->count && status == ORR_OK; r++) {
        if (!seen[times->rows[r].job]) {
            status = orr_fail(err, ORR_DATA, "%s:%u: the trace has no job \"%s\"", path,
                              (unsigned)times->rows[r].line,
                              orr_idmap_name(&times->jobs, times->rows[r].job));
        }
    }
    orr_free(row_of);
    orr_free(seen);
    return status;
}

enum orr_status orr_schedule_import(const struct orr_world *world, const char *path,
                                    struct orr_schedule *schedule, struct orr_err *err)
{
    struct orr_workload times;
    const struct orr_trace_options options = {.format = "schedule"};
    *schedule = (struct orr_schedule){.begin_ms = ORR_MS_NONE};
    enum orr_status status = orr_trace_read(path, &options, &times, err);
    if (status != ORR_OK) {
        return status;
    }
    orr_arena_init(&schedule->arena);
    take_cluster(world, schedule);
    status = match(world, path, &times, schedule, err);
    orr_workload_release(&times);
    if (status != ORR_OK) {
        orr_schedule_release(schedule);
    }
    return status;
}
