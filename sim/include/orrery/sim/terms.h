/* SPDX-License-Identifier: GPL-3.0-or-later */
/* terms.h - how a job works and what interruptions cost it: interned, since many jobs share them.
 */
#ifndef ORR_SIM_TERMS_H
#define ORR_SIM_TERMS_H

#include <orrery/base/idmap.h>

struct orr_terms {
    orr_ms checkpoint_ms;      /* work between two checkpoints; 0: none is ever written */
    orr_ms checkpoint_cost_ms; /* to write one: GPUs held, no progress */
    orr_ms restart_ms;         /* at every start but the first: GPUs held, no progress */
    orr_ms startup_ms;         /* the same at the first start */
    orr_ms grace_ms;           /* GPUs still held after an eviction */
    bool checkpoint_on_evict;  /* the grace is worked in and ends with a checkpoint */
    bool keep_progress;        /* an eviction loses no work, at no cost */
    bool keep_unasked; /* so because the policy pauses jobs: nothing is stated of evictions */
    orr_ms give_up_ms; /* it waits so long for its first start; 0: for ever */
    uint32_t profile;  /* how placement becomes a rate; ORR_NONE: it is 1 everywhere */
    bool session;      /* it takes its time, wherever it is and whoever is beside it */
    uint32_t crew;     /* number of it in the table, from 1; 0: it has none */
    uint32_t service;  /* number of the part of the workload that it serves, from 1; 0: none.
                          Then each of its pods works by itself, and nothing that was served
                          is lost: of the above only the grace and giving up count */
    int64_t busy_ppm;  /* of a device that it has alone; what time slices go by */
};

/* Workers that follow the backlog of their own job, as a Ray cluster's do: the last task group of
 * its shape. The work is stages, one after the other, each of so many tasks that may run at once (a
 * parallelism profile: Sevcik 1989). A worker runs `slots` tasks at a time. With all workers the
 * job is done after its run time. */
struct orr_stage {
    uint32_t tasks;
    orr_ms end_ms; /* of the run time with all workers, from its start */
};
struct orr_crew {
    uint32_t min, max; /* workers */
    uint32_t slots;
    orr_ms idle_ms; /* a worker that is not wanted leaves after so long */
    const struct orr_stage *stages;
    uint32_t stage_count;
};
/* Tasks of a stage that run at once with so many workers. */
uint32_t orr_crew_at_once(uint32_t tasks, uint32_t workers, uint32_t slots);
/* The stage in which a job is that has done so much, ms x ppm. */
uint32_t orr_crew_stage(const struct orr_crew *crew, int64_t done);
/* Workers that have something to do in a stage, within min and max. */
uint32_t orr_crew_wanted(const struct orr_crew *crew, uint32_t stage);
/* The part of these workers' places (at least one) that has a task in a stage. */
int64_t orr_crew_busy_ppm(const struct orr_crew *crew, uint32_t stage, uint32_t workers);
/* How fast a stage goes with so many workers, of the speed with all of them. */
int64_t orr_crew_rate_ppm(const struct orr_crew *crew, uint32_t stage, uint32_t workers);

struct orr_terms_table {
    struct orr_terms *items; /* number 0: nothing costs anything, evictions lose all */
    uint32_t count, capacity;
    struct orr_idmap known;  /* items by what they state, while the world is built */
    uint32_t last;           /* that was put */
    struct orr_plain_terms { /* of the last row that states nothing of its own */
        bool known;
        uint8_t kind;
        uint32_t shard, crew, number;
    } plain;
    struct orr_crew *crews;
    uint32_t crew_count, crew_capacity;
};

#endif
