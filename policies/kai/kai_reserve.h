/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_reserve.h - parameter `reservation`: nodes that are kept for the job that has waited too
 * long, as EASY keeps GPUs for the first in line. */
#ifndef ORR_KAI_RESERVE_H
#define ORR_KAI_RESERVE_H

#include "kai_build.h"

struct orr_kai_release { /* a job that runs, and when it ends by its estimate */
    orr_ms at;
    uint32_t slot;
    uint32_t checkpoint; /* of the statement before it was taken away */
};

struct orr_kai_reserve {
    const struct orr_kai_params *params;
    struct orr_session *session;
    const struct orr_view *view; /* of the cycle, as job_of_slot */
    const uint32_t *job_of_slot;
    uint32_t holder; /* slot of the job that nodes are kept for, ORR_NONE: nobody; and its job */
    uint32_t holder_job;
    orr_ms from_ms;   /* by estimates it starts then at the latest */
    orr_ms at_ms;     /* of the cycle that placed it there */
    bool *kept;       /* by node */
    bool evicted;     /* the last cycle evicted running pods */
    bool looking;     /* a plan is tried: the filter admits everybody */
    uint32_t *denied; /* slots of jobs that were kept off a node, once each */
    uint32_t denied_count, denied_capacity;
    uint64_t *denied_in; /* by slot: the last cycle in which its job was kept off a node */
    uint32_t denied_in_capacity;
    uint64_t
        *would_fit_in; /* by slot: the last cycle in which only the reservation kept its job out */
    uint32_t would_fit_in_capacity;
    struct orr_kai_promised {
        uint64_t in; /* the cycle that last found it so */
        uint32_t node;
    } * promised; /* by task: where it was pipelined to room of victims */
    uint32_t promised_capacity;
    uint64_t
        *excused_in; /* by slot: the last cycle in which `promised` let its job on a kept node */
    uint32_t excused_in_capacity;
    uint64_t cycle;
    struct orr_kai_release *releases; /* by (at, slot) */
    uint32_t release_count, release_capacity, released;
};

/* Since when a job waits: since it came, or since it last lost its place. */
static inline orr_ms orr_kai__waits_since(const struct orr_sjob *job, orr_ms submit_ms)
{
    const orr_ms lost = job->last_eviction;
    return lost != ORR_MS_NONE && lost > submit_ms ? lost : submit_ms;
}

void orr_kai__reserve_open(struct orr_kai_reserve *reserve, const struct orr_kai_params *params,
                           struct orr_session *session);
void orr_kai__reserve_close(struct orr_kai_reserve *reserve);

/* Within an open session, before it acts: who has a reservation in this cycle, which nodes, and
 * from when. */
void orr_kai__reserve(struct orr_kai_reserve *reserve, const struct orr_view *view,
                      const uint32_t *job_of_slot);
/* Behind the last action: which of those that were kept off nodes would have had a place. */
void orr_kai__reserve_settle(struct orr_kai_reserve *reserve);
/* `node_filter` of the session's hooks. */
bool orr_kai__reserve_admits(struct orr_kai_reserve *reserve, uint32_t task, uint32_t node);
/* Was the job of the slot kept off a node in this cycle? */
bool orr_kai__reserve_denied(const struct orr_kai_reserve *reserve, uint32_t slot);
/* Does the job of the slot wait for no other reason than the reservation? */
bool orr_kai__reserve_delays(const struct orr_kai_reserve *reserve, uint32_t slot);
/* ORR_BUG: somebody started in the last cycle who is still on a node that is kept when the holder
 * is to start. */
enum orr_status orr_kai__reserve_audit(const struct orr_kai_reserve *reserve,
                                       const struct orr_view *view, struct orr_err *err);

#endif
