/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "services.h"

#include <orrery/base/mem.h>
#include <orrery/core/place.h>

#include "../lanes/scaling.h"

void orr_services_release(struct orr_services *services)
{
    orr_free(services->list);
}

static void take_out(struct orr_services *services, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < services->count; i++) {
        services->list[kept] = services->list[i];
        kept += services->list[i].job != job;
    }
    services->count = kept;
}

bool orr_services_event(struct orr_services *services, const struct orr_view *view,
                        enum orr_job_event event, uint32_t job)
{
    if (!view->specs[job].scales) {
        return false;
    }
    if (event == ORR_JOB_SUBMITTED || event == ORR_JOB_STARTED) {
        services->list = ORR_ROOM_FOR_ONE(services->list, services->count, services->capacity);
        services->list[services->count++] = (struct orr_serviced){.job = job};
    } else if (event == ORR_JOB_ENDED) {
        take_out(services, job);
    }
    return true;
}

/* Parts of devices that others have a part of are not in rooms. */
static bool knows_seats(const struct orr_view *view, uint32_t job,
                        const struct orr_walk_rooms *rooms)
{
    const struct orr_shape *shape = &view->shapes->shapes[view->specs[job].shape];
    return rooms != NULL && !orr_request_shares(&shape->groups[0].request);
}

void orr_services_choose_one(struct orr_serviced *service, const struct orr_view *view,
                             struct orr_gpus *room, const struct orr_walk_rooms *rooms)
{
    const uint32_t job = service->job, tasks = orr_ledger_next_tasks(view->ledger, job);
    const uint32_t lacks = orr_ledger_lacks(view->ledger, job);
    const uint32_t seats =
        knows_seats(view, job, rooms) ? orr_walk_rooms_seats(rooms, view, job, lacks) : lacks;
    const struct orr_gpus step = orr_ledger_gpus(view->ledger, job, tasks);
    service->chosen = tasks > 0 && tasks <= seats && orr_gpus_hold(room, &step);
    if (service->chosen) {
        orr_gpus_add(room, &step, -1);
        orr_scaling_grow(view, job, tasks + (lacks - seats), room);
    }
}

void orr_services_choose(struct orr_services *services, const struct orr_view *view,
                         struct orr_gpus *room, const struct orr_walk_rooms *rooms)
{
    for (uint32_t i = 0; i < services->count; i++) {
        orr_services_choose_one(&services->list[i], view, room, rooms);
    }
}

bool orr_services_lack(const struct orr_services *services, const struct orr_view *view)
{
    bool lack = false;
    for (uint32_t i = 0; i < services->count && !lack; i++) {
        lack = orr_ledger_next_tasks(view->ledger, services->list[i].job) > 0;
    }
    return lack;
}

static void note(const struct orr_view *view, uint32_t job, enum orr_reason reason,
                 struct orr_verdicts *verdicts)
{
    if (orr_scaling_waits(view, job) && orr_ledger_next_tasks(view->ledger, job) > 0) {
        orr_verdicts_add(verdicts, job, orr_verdict_tasks(view, job), reason);
    }
}

void orr_services_note(const struct orr_services *services, const struct orr_view *view,
                       struct orr_verdicts *verdicts)
{
    for (uint32_t i = 0; i < services->count; i++) {
        if (!services->list[i].chosen) {
            note(view, services->list[i].job, ORR_REASON_NONE, verdicts);
        }
    }
}

void orr_services_start(const struct orr_services *services, struct orr_placer *placer,
                        const struct orr_view *view, struct orr_txn *txn,
                        struct orr_verdicts *verdicts)
{
    for (uint32_t i = 0; i < services->count; i++) {
        const uint32_t job = services->list[i].job;
        if (services->list[i].chosen) {
            note(view, job, orr_place_all(placer, txn, view->ledger, job), verdicts);
        }
    }
}

uint32_t orr_services_first(const struct orr_services *services)
{
    uint32_t i = 0;
    while (i < services->count && !services->list[i].chosen) {
        i++;
    }
    return i == services->count ? ORR_NONE : services->list[i].job;
}
