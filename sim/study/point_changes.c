/* SPDX-License-Identifier: GPL-3.0-or-later */
/* point_changes.c - what a what-if run changes of the world that its scenario makes: a job, who is
 * in it, or nodes that fail. */
#include "study_int.h"

#include <string.h>

#include <orrery/base/mem.h>

enum orr_status orr_study__find_job(const struct orr_world *world, const char *name, uint32_t *job,
                                    struct orr_err *err)
{
    char one[512];
    for (*job = 0; *job < world->job_count; *job += 1) {
        if (strcmp(orr_world_job_name(world, *job, one, sizeof one), name) == 0) {
            return ORR_OK;
        }
    }
    return orr_fail(err, ORR_DATA, "no job is called \"%s\"", name);
}

/* Fewer pods, and as much longer. */
static enum orr_status take_pods(struct orr_world *world, struct orr_job_spec *spec,
                                 const struct orr_job_change *change, struct orr_err *err)
{
    const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
    const struct orr_terms *terms = &world->terms.items[spec->terms];
    const uint32_t before = shape->tasks;
    if (shape->group_count != 1 || shape->set_count > 0 || spec->scales || terms->crew > 0 ||
        terms->service > 0 || terms->profile != ORR_NONE || change->pods >= before) {
        return orr_fail(err, ORR_DATA,
                        "job %s has pods that are not alike, that come and go, or a profile: with "
                        "fewer it would be another job",
                        change->job);
    }
    const uint32_t after = before - change->pods;
    struct orr_task_group group = shape->groups[0];
    const uint32_t gang = (uint32_t)(((uint64_t)shape->min_tasks * after + before - 1) / before);
    const struct orr_span span = shape->span;
    group.count = after;
    spec->shape = orr_shapes_put_within(&world->shapes, &group, 1, gang, span);
    spec->work_ms = (spec->work_ms * before + after - 1) / after;
    spec->estimate_ms = (spec->estimate_ms * before + after - 1) / after;
    return ORR_OK;
}

static void take_away(struct orr_world *world, const struct orr_job_change *change)
{
    char one[512];
    bool *gone = orr_zalloc(world->job_count + (size_t)1, sizeof *gone);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const char *is = change->without_user != NULL ? orr_world_job_user(world, j)
                         : change->without_queue != NULL
                             ? orr_idmap_name(&world->queues.names, world->specs[j].queue)
                             : orr_world_job_name(world, j, one, sizeof one);
        const char *without = change->without_user != NULL    ? change->without_user
                              : change->without_queue != NULL ? change->without_queue
                                                              : change->without_job;
        gone[j] = is != NULL && strcmp(is, without) == 0;
    }
    orr_world_take_away(world, gone);
    orr_free(gone);
}

enum orr_status orr_study__change_job(struct orr_world *world, const struct orr_job_change *change,
                                      struct orr_err *err)
{
    uint32_t job = 0;
    if (change->without_user != NULL || change->without_queue != NULL ||
        change->without_job != NULL) {
        take_away(world, change);
    }
    if (change->job == NULL) {
        return ORR_OK;
    }
    const enum orr_status status = orr_study__find_job(world, change->job, &job, err);
    if (status != ORR_OK) {
        return status;
    }
    world->specs[job].priority += change->priority;
    return change->pods > 0 ? take_pods(world, &world->specs[job], change, err) : ORR_OK;
}

void orr_study__lose_nodes(struct orr_world *world, const struct orr_node_loss *loss)
{
    world->outages = orr_realloc(world->outages, world->outage_count + loss->count + (size_t)1,
                                 sizeof *world->outages);
    for (uint32_t i = 0, end; i < loss->count; i = end) {
        end = i + 1;
        while (end < loss->count && loss->nodes[end] == loss->nodes[end - 1] + 1) {
            end++;
        }
        world->outages[world->outage_count++] =
            (struct orr_world_outage){.first_node = loss->nodes[i],
                                      .node_count = end - i,
                                      .closed_ms = loss->at_ms,
                                      .begin_ms = loss->at_ms,
                                      .end_ms = loss->end_ms,
                                      .kind = ORR_OUTAGE_FAIL};
    }
}
