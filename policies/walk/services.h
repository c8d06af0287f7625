/* SPDX-License-Identifier: GPL-3.0-or-later */
/* services.h - jobs that scale under policies that put jobs in an order of what is left of them, of
 * deadlines or shares: a service is never done, so that it has no place in such an order. Services
 * are served first, in the order in which they came: each its gang, then the tasks that it lacks
 * one by one; others are paused for them, and they for nobody. */
#ifndef ORR_POLICIES_SERVICES_H
#define ORR_POLICIES_SERVICES_H

#include <orrery/core/placer.h>
#include <orrery/core/policy.h>

#include "rooms.h"
#include "verdicts.h"

struct orr_serviced {
    uint32_t job;
    bool chosen; /* room was counted for what it lacks, or a part of it */
};

struct orr_services { /* all zero as a run begins */
    struct orr_serviced *list;
    uint32_t count, capacity;
};

void orr_services_release(struct orr_services *services);
/* Is the job one? Then this is all that is to be done for the event. */
bool orr_services_event(struct orr_services *services, const struct orr_view *view,
                        enum orr_job_event event, uint32_t job);
/* Chooses whether one is served, and takes what it gets from the room to be had. None is for tasks
 * that no node would hold (`rooms`; NULL: that is not looked at). */
void orr_services_choose_one(struct orr_serviced *service, const struct orr_view *view,
                             struct orr_gpus *room, const struct orr_walk_rooms *rooms);
/* So of all, in their order. */
void orr_services_choose(struct orr_services *services, const struct orr_view *view,
                         struct orr_gpus *room, const struct orr_walk_rooms *rooms);
/* Notes those that wait and were not chosen. */
void orr_services_note(const struct orr_services *services, const struct orr_view *view,
                       struct orr_verdicts *verdicts);
/* Places what was chosen, as far as there is room, and notes those that found none. */
void orr_services_start(const struct orr_services *services, struct orr_placer *placer,
                        const struct orr_view *view, struct orr_txn *txn,
                        struct orr_verdicts *verdicts);
/* Does one lack anything? */
bool orr_services_lack(const struct orr_services *services, const struct orr_view *view);
/* The first that was chosen, for whom others are paused, or ORR_NONE. */
uint32_t orr_services_first(const struct orr_services *services);

#endif
