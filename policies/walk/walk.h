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

#include "services.h"
#include "verdicts.h"

/* The lower, the earlier. */
typedef int64_t orr_walk_key_fn(void *self, const struct orr_view *view, uint32_t job);
/* Does a job that runs go on whatever its key? */
typedef bool orr_walk_keeps_fn(void *self, const struct orr_view *view, uint32_t job);

struct orr_walk_line { /* in the order in which they came */
    uint32_t *jobs;
    uint32_t count, capacity;
};

struct orr_walk_entry {
    int64_t key;
    uint32_t job, nth;
};

struct orr_walk_note {           /* of a job */
    uint32_t nth;                /* scratch: its place in the lines, counted from 1 */
    bool known;                  /* the key that it has while it waits ... */
    int64_t key;                 /* ... which is this one ... */
    orr_ms work_ms, estimate_ms; /* ... as long as these are not stated anew, as forecasts do */
};

struct orr_walk_entries {
    struct orr_walk_entry *items;
    uint32_t count, capacity;
};

struct orr_walk {
    orr_walk_key_fn *key;
    orr_walk_keeps_fn *keeps; /* or NULL: nobody does for that */
    void *self;
    /* the key of a job that waits goes by its times as stated and by what it did while it held
     * anything: it is asked for once each time that the job waits */
    bool lasting_keys;
    /* ties: by job; else those first that began to wait first, then those that began to run first
     */
    bool by_job;
    struct orr_walk_line waiting, running; /* no services */
    struct orr_services services;
    struct orr_walk_entries order; /* see orr_walk_order */
    struct orr_walk_entries moved; /* scratch: those that are not where they were in the order */
    struct orr_walk_note *notes;   /* by job */
    uint32_t note_capacity;
    struct orr_walk_line chosen;  /* by the last walk, to start */
    struct orr_verdicts verdicts; /* of those that the last walk passed over or paused, and of those
                                     chosen that found no place */
    orr_ms walked_ms;             /* when that was, if it paused somebody; else ORR_MS_NONE */
    struct orr_placer *placer;
};

/* A walk that is all zero but for key, keeps, self, lasting_keys and by_job. */
void orr_walk_open(struct orr_walk *walk, const struct orr_view *view,
                   const struct orr_placer_params *placer);
void orr_walk_close(struct orr_walk *walk);
void orr_walk_event(struct orr_walk *walk, const struct orr_view *view, enum orr_job_event event,
                    uint32_t job);
void orr_walk_cycle(struct orr_walk *walk, const struct orr_view *view, struct orr_txn *txn);
/* Puts all jobs but services in order, in walk->order: the last order, repaired where it is not one
 * any more. */
void orr_walk_order(struct orr_walk *walk, const struct orr_view *view);
/* What those share that wait, or run and may be paused: what services leave of it, who are chosen
 * here. */
struct orr_gpus orr_walk_room(struct orr_walk *walk, const struct orr_view *view);
/* What it needs to run: of one that waits all it asks, of one that runs what it holds and a pause
 * would free (held.h). */
struct orr_gpus orr_walk_size(const struct orr_view *view, uint32_t job);
/* Of a job that runs, and is no service: preemptible, and nothing keeps it. */
bool orr_walk_may_pause(const struct orr_walk *walk, const struct orr_view *view, uint32_t job);

#endif
