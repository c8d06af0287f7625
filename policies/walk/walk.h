/* SPDX-License-Identifier: GPL-3.0-or-later */
/* walk.h - an order of all jobs in which those that stand behind are paused for those before: what
 * srtf, edf, gittins and themis share.
 *
 * All jobs, waiting and running, stand in the order of a key. They are walked with the GPUs of the
 * cluster: who fits into those that are left runs, who does not is paused or goes on waiting, and
 * blocks nobody. Room is counted: a job that finds no place for its pods keeps what it was counted
 * for, and waits. Services stand before all of them (services.h). Where somebody is paused the
 * cycle ends there: the host releases the room and asks again at the same time, and those that were
 * chosen start. */
#ifndef ORR_POLICIES_WALK_H
#define ORR_POLICIES_WALK_H

#include <orrery/core/placer.h>
#include <orrery/core/policy.h>

#include "line.h"
#include "rest.h"
#include "rooms.h"
#include "services.h"
#include "shut.h"
#include "verdicts.h"
#include "waiting.h"

/* Does a job that runs go on whatever its key? */
typedef bool orr_walk_keeps_fn(void *self, const struct orr_view *view, uint32_t job);

struct orr_walk {
    /* The key of a job that waits is asked for once, until the policy calls orr_waiting_ask_anew or
     * orr_waiting_forget, or the ledger states specs anew (orr_ledger.restated). */
    orr_walk_key_fn *key;
    orr_walk_keeps_fn *keeps; /* or NULL: nobody does for that */
    void *self;
    /* ties: by job; else those first that began to wait first, then those that began to run first
     */
    bool by_job;
    uint64_t came;                /* how often a job began to wait */
    struct orr_waiting waiting;   /* all that wait but services */
    struct orr_walk_line running; /* all that hold something but services */
    struct orr_services services;
    struct orr_walk_entries order; /* those of `running` */
    struct orr_walk_line chosen;   /* by the last walk, to start */
    struct orr_verdicts verdicts;  /* of services that the last walk passed over, and of those
                                      chosen that found no place */
    struct orr_rest rest;
    struct orr_walk_rooms rooms; /* where a service lacks something */
    struct orr_shut shut;
    const struct orr_placer_params *placing; /* lives as long as the walk */
    orr_ms walked_ms; /* when the last walk was, if it paused somebody; else ORR_MS_NONE */
    struct orr_placer *placer;
};

/* A walk that is all zero but for key, keeps, self and by_job. Borrows the parameters. */
void orr_walk_open(struct orr_walk *walk, const struct orr_view *view,
                   const struct orr_placer_params *placer);
void orr_walk_close(struct orr_walk *walk);
void orr_walk_event(struct orr_walk *walk, const struct orr_view *view, enum orr_job_event event,
                    uint32_t job);
void orr_walk_cycle(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn);
/* Jobs that wait and jobs that run, from 0 on; a service is none of them. */
static inline uint32_t orr_walk_count(const struct orr_walk *walk)
{
    return walk->waiting.count + walk->running.count;
}
static inline uint32_t orr_walk_job(const struct orr_walk *walk, uint32_t nth)
{
    const uint32_t waits = walk->waiting.count;
    return nth < waits ? walk->waiting.jobs[nth] : walk->running.jobs[nth - waits];
}
/* Puts those that wait, and those that run (walk->order), in order. */
void orr_walk_order(struct orr_walk *walk, const struct orr_view *view);
/* What is idle, or held by jobs that run and may be paused. It is the walk's. */
struct orr_rest *orr_walk_offered(struct orr_walk *walk, const struct orr_view *view);
/* Chooses which services are served, who take what they get from the room. */
void orr_walk_serve(struct orr_walk *walk, const struct orr_view *view, struct orr_gpus *room);
/* What services leave of what is offered. */
struct orr_rest *orr_walk_room(struct orr_walk *walk, const struct orr_view *view);
/* What it needs to run: of one that waits all it asks, of one that runs what it holds and a pause
 * would free (held.h). */
struct orr_gpus orr_walk_size(const struct orr_view *view, uint32_t job);
/* Of a job that runs, and is no service: preemptible, and nothing keeps it. */
bool orr_walk_may_pause(const struct orr_walk *walk, const struct orr_view *view, uint32_t job);

#endif
