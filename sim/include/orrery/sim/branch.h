/* SPDX-License-Identifier: GPL-3.0-or-later */
/* branch.h - a run held at a time, so that what comes after it may be another than the world says.
 *
 * The engine has run all instants up to that time and none behind it. A process that was forked
 * then has a run of its own: it may change the specs of its world and let the run go on. What may
 * be changed: the work of jobs that are not over, estimates of jobs that wait, and all of jobs that
 * have not come, which stay sorted by their submits; changes of queues and outages from then on.
 */
#ifndef ORR_SIM_BRANCH_H
#define ORR_SIM_BRANCH_H

#include <orrery/sim/engine.h>

struct engine;

struct orr_branch {
    orr_ms at_ms;
    uint32_t next_arrival; /* job: those before it have come */
    const struct orr_run *run;
    struct engine *engine; /* the engine's own */
};

struct orr_branching { /* what a run tells somebody who branches it */
    orr_ms at_ms;      /* the first time; ORR_MS_NEVER: never */
    /* The run is held at that time. Returns the next one, later, or ORR_MS_NEVER; ORR_MS_NONE: the
     * run need not go on. A process that is forked here may return too, and is then a run of its
     * own, to its end. */
    orr_ms (*at)(void *context, struct orr_branch *branch);
    /* A job started, again perhaps. True: the run need not go on. NULL: nobody wants to know. */
    bool (*started)(void *context, uint32_t job, orr_ms now);
    void *context;
};

/* How much of its work the job is known to need at least, ms: what it has done by now, or the
 * longest attempt that was cut short. */
orr_ms orr_branch_done_ms(const struct orr_branch *branch, uint32_t job);
/* Does the job end when its work is done, and is it not over? Of others the work is not changed. */
bool orr_branch_works(const struct orr_branch *branch, uint32_t job);
/* The spec of a running job has other work than before, more than is done. */
void orr_branch_rework(struct orr_branch *branch, uint32_t job);
/* A job that waits gives up right after the branch. */
void orr_branch_take_out(struct orr_branch *branch, uint32_t job);
/* The world's lists of changes of queues and of outages are others from the branch on, and one of
 * them is not empty. What lies before it keeps its place in the list. */
void orr_branch_refresh(struct orr_branch *branch);
/* Jobs from next_arrival on are others. */
void orr_branch_expect(struct orr_branch *branch);
/* Lets the run go on from the branch, to until_ms or until `started` has heard enough; the caller's
 * process does nothing else with the run but to end. Fails as orr_engine_run. */
enum orr_status orr_branch_go_on(struct orr_branch *branch, orr_ms until_ms,
                                 struct orr_err *err) ORR_MUST_USE;

#endif
