/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forecast_int.h - what the two files of the forecast share. */
#ifndef ORR_VICTIM_FORECAST_INT_H
#define ORR_VICTIM_FORECAST_INT_H

#include <orrery/core/queueorder.h>

#include "victim_int.h"

#define ORR_FORECAST_GPUS    16 /* of a node */
#define ORR_FORECAST_DEMANDS 64 /* distinct ones of waiting jobs */

struct orr_seat { /* a party: a possible victim, or the preemptor, which has seat 0 */
    uint32_t job, lane;
    uint32_t gpus; /* of each task */
    uint32_t first_task, tasks;
    struct orr_demand demand;
};

struct orr_track { /* a queue with parties */
    uint32_t queue;
    const struct orr_order_entry *waiting; /* in the queue, best first */
    uint32_t waiting_count;
    bool limited;
    uint32_t first; /* of its seats in line */
    /* of one rehearsal */
    uint32_t at, end; /* in `chosen` */
    uint32_t passed;  /* in line: all before it is behind the lane's head */
    int64_t held[ORR_SHARE_KINDS];
    struct orr_queue_rank worst; /* of the block */
};

struct orr_forecast {
    struct orr_arena arena;
    struct orr_seat *seats;
    uint32_t seat_count;
    struct orr_track *lanes;
    uint32_t lane_count;
    struct orr_demand demands[ORR_FORECAST_DEMANDS];
    uint32_t demand_count;
    int32_t *idle, *base; /* by node: GPUs idle; idle or being released, before anything is tried */
    int64_t room_in_all;
    uint32_t *line;    /* seats by lane, in each the best first */
    uint32_t *place;   /* of a seat in line */
    uint64_t *between; /* by place in line: demands of jobs waiting just before it */
    bool over_quota;   /* the preemptor can get nothing */
    struct orr_rehearsal *rehearsal;
};

/* Waiting jobs of the lane that are served before the party in the seat. */
uint32_t orr_forecast__waiting_before(const struct orr_victim_search *search, uint32_t seat);
struct orr_order_entry orr_forecast__entry(const struct orr_victim_search *search, uint32_t seat);
/* Adds the demands of waiting jobs [from, to) to the set. False: too many distinct ones. */
bool orr_forecast__demands(struct orr_forecast *f, const struct orr_track *lane, uint32_t from,
                           uint32_t to, uint64_t *set);
void orr_forecast__list_waiting(struct orr_victim_search *search);
/* The worst of a job and of the waiting ones before it. */
void orr_forecast__block(const struct orr_victim_search *search, uint32_t queue,
                         const int64_t *held, const struct orr_demand *job, uint64_t waiting,
                         struct orr_queue_rank *worst);

#endif
