/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_part.c - jobs that the empty cells of their queue could not hold. */
#include "place_part.h"

#include <orrery/base/mem.h>
#include <orrery/core/place.h>

struct orr_part {
    struct orr_ledger_world world;
    struct orr_job_spec *specs; /* by queue: a job of it, of the shape that is tried */
    struct orr_ledger *ledger;  /* holds nothing */
    struct orr_txn *txn;
    struct orr_placer *placer;
    uint8_t *known; /* by shape, queue and `least`: 1 and why it could not be held; 0: not tried */
    uint32_t capacity;
};

struct orr_part *orr_part_open(const struct orr_ledger_world *world)
{
    struct orr_part *part = orr_zalloc(1, sizeof *part);
    const uint32_t queues = world->queues->count;
    part->specs = orr_zalloc(queues + (size_t)1, sizeof *part->specs);
    for (uint32_t q = 0; q < queues; q++) {
        part->specs[q].queue = q;
    }
    part->world = *world;
    part->world.specs = part->specs;
    part->world.job_count = queues;
    part->ledger = orr_ledger_open(&part->world);
    part->placer = orr_placer__open_cells(part->ledger);
    part->txn = orr_txn_open(part->ledger, 0);
    return part;
}

void orr_part_close(struct orr_part *part)
{
    if (part != NULL) {
        orr_txn_close(part->txn);
        orr_placer_close(part->placer);
        orr_ledger_close(part->ledger);
        orr_free(part->specs);
        orr_free(part->known);
        orr_free(part);
    }
}

/* Tasks that are alike are in each other's way in no order. */
static enum orr_reason try_alike(struct orr_part *part, uint32_t queue,
                                 const struct orr_shape *shape, uint32_t tasks, bool least)
{
    if (orr_place__conceivable_by(part->placer, part->txn, part->ledger, queue, least)) {
        return ORR_REASON_NONE;
    }
    const struct orr_task_group *group = &shape->groups[0];
    const int64_t asked = (int64_t)orr_request_units(&group->request) * tasks * ORR_MGPU;
    const bool whole = group->request.gpu_ask == ORR_GPU_WHOLE && group->request.instances == 0;
    return whole && asked > orr_placer_part_mgpu(part->placer, queue)
               ? ORR_REASON_OVER_LIMIT
               : orr_place_why_not(part->ledger, shape, tasks);
}

/* Of others one may go where another would have to, so that they are counted together and tried
 * kind by kind. */
static enum orr_reason try_kinds(struct orr_part *part, uint32_t queue,
                                 const struct orr_shape *shape, bool least)
{
    const bool all = !least || shape->min_tasks == shape->tasks;
    bool counted = all;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        counted = counted && shape->groups[g].request.gpu_ask != ORR_GPU_MEMORY;
    }
    if (counted && shape->gpus.mgpu[0] > orr_placer_part_mgpu(part->placer, queue)) {
        return ORR_REASON_OVER_LIMIT;
    }
    return !all || orr_place__kinds_conceivable_by(part->placer, part->txn, part->ledger, queue)
               ? ORR_REASON_NONE
               : orr_place_why_not(part->ledger, shape, 0);
}

static enum orr_reason try(struct orr_part *part, const struct orr_job_spec *spec, bool least)
{
    const struct orr_shape *shape = &part->world.shapes->shapes[spec->shape];
    struct orr_job_spec *like = &part->specs[spec->queue];
    like->shape = spec->shape;
    like->scales = spec->scales;
    if (part->ledger->jobs[spec->queue].phase == ORR_JOB_FUTURE) {
        orr_ledger_submit(part->ledger, spec->queue);
    }
    if (shape->group_count == 1) {
        const bool gang = least || spec->scales;
        return try_alike(part, spec->queue, shape, gang ? shape->min_tasks : shape->tasks, least);
    }
    return try_kinds(part, spec->queue, shape, least || spec->scales);
}

enum orr_reason orr_part_bars(struct orr_part *part, const struct orr_job_spec *spec, bool least)
{
    const uint32_t queues = part->world.queues->count;
    const uint32_t at = (spec->shape * queues + spec->queue) * 2 + least;
    part->known = orr_zgrow(part->known, &part->capacity,
                            (size_t)part->world.shapes->count * queues * 2, sizeof *part->known);
    if (part->known[at] == 0) {
        part->known[at] = (uint8_t)(1 + try(part, spec, least));
    }
    return (enum orr_reason)(part->known[at] - 1);
}
