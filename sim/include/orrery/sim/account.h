/* SPDX-License-Identifier: GPL-3.0-or-later */
/* account.h - what became of the GPU time of a run: useful, lost, overhead; and whether it adds up.
 */
#ifndef ORR_SIM_ACCOUNT_H
#define ORR_SIM_ACCOUNT_H

#include <orrery/sim/engine.h>

/* How long a placement lasted between two times. */
orr_ms orr_placement_ms(const struct orr_run *run, const struct orr_placement *placement,
                        orr_ms from_ms, orr_ms to_ms);

/* What a placement held, mGPU x ms, between two times; it lasts to the end of the run if nothing
 * ended it. */
int64_t orr_placement_held(const struct orr_run *run, const struct orr_placement *placement,
                           orr_ms from_ms, orr_ms to_ms);

/* Makes the account of a run that had no orr_exec, says what sessions and services held without
 * using it, and judges each eviction by what its beneficiary did next: it was of use if that job's
 * next pods include one on a node that the eviction made room on. Undecided it is if that job wants
 * pods, got none since, and the run was cut before a cycle that found the room free. */
void orr_account_make(const struct orr_world *world, struct orr_run *run);

/* May any job hold devices that it does not use: a session by its `busy`, a service? */
bool orr_account_may_idle(const struct orr_world *world);

/* Services of a run, looked up once for all of them; NULL: there are none. */
struct orr_replica_lives;
struct orr_replica_lives *orr_replica_lives_open(const struct orr_world *world,
                                                 const struct orr_run *run);
void orr_replica_lives_close(struct orr_replica_lives *replicas);

struct orr_replica_span { /* of the pods of a placement: held from its since_ms on */
    uint32_t placement;
    orr_ms works_ms; /* from when they are bound: until then they wait; at most end_ms */
    orr_ms end_ms;   /* when they begin to leave, or are gone */
};

struct orr_replica_life {               /* of a part of the workload that is a service */
    struct orr_service_change *changes; /* replicas that began and ceased to serve, by time */
    struct orr_replica_span *spans;     /* by placement, in the ledger's order */
    uint32_t count, span_count;
};
/* The caller releases it. */
struct orr_replica_life orr_replica_lives_of(const struct orr_replica_lives *replicas,
                                             uint32_t part);
void orr_replica_life_release(struct orr_replica_life *life);

/* What a job held, by what became of it. All zero: nothing, or all of it was useful. */
const struct orr_job_time *orr_account_of(const struct orr_run *run, uint32_t job);

/* Where time went into nothing: see orr_exec_wastes. */
const struct orr_waste *orr_account_wastes(const struct orr_run *run, uint32_t *count);
/* Where useful time was slow: see orr_exec_slows. */
const struct orr_waste *orr_account_slows(const struct orr_run *run, uint32_t *count);
/* The part of the time that it worked, at the best rate, which a session left its devices idle: the
 * same all the time. Of other jobs 0; where services were idle is in run->idles. */
double orr_account_idle_part(const struct orr_world *world, const struct orr_run *run,
                             uint32_t job);

/* No gang goes on below its minimum for longer than its stale grace, graces of its pods apart.
 * And GPU-time is conserved: of each device, allocated, idle and down time add up to that of the
 * run and nobody holds it twice; of each job, useful, lost and overhead add up to what it held.
 * ORR_BUG names the first thing that does not. */
enum orr_status orr_account_check(const struct orr_run *run, struct orr_err *err) ORR_MUST_USE;

#endif
