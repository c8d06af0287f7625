/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_int.h - the engine's state, and what its files ask of each other. */
#ifndef ORR_SIM_ENGINE_INT_H
#define ORR_SIM_ENGINE_INT_H

#include <orrery/base/heap.h>
#include <orrery/sim/engine.h>

/* Class of an event, in the order of equal times. Arrivals and cycles are not in the heap. What was
 * thought of later stands at the end: digests hold the numbers. */
enum event_class {
    CLASS_FINISH,
    CLASS_RELEASE,
    CLASS_CAPACITY,
    CLASS_ARRIVAL,
    CLASS_CYCLE,
    CLASS_REQUEUE,      /* the delay after its longest run time is over */
    CLASS_LIMIT,        /* an attempt has run as long as its queue allows */
    CLASS_ROUND,        /* the round ends in which a job was done */
    CLASS_GIVE_UP,      /* a job has waited for its first start as long as it is ready to */
    CLASS_QUEUE_CHANGE, /* a queue's entitlements or its priority change; not in the heap */
    CLASS_IDLE,         /* workers of a job have had nothing to do for as long as they stay */
    CLASS_SCALE,        /* a service wants more pods, or fewer, or is over */
    CLASS_STATE         /* a job runs since then as the run begins; not in the heap */
};

/* With CLASS_CAPACITY: a step of an outage that the scenario lists, not of a random failure. */
#define ORR_ENGINE__LISTED 0x800000u
/* The same, of nodes that join the cluster or leave it, as listed. */
#define ORR_ENGINE__RESIZE 0x400000u
/* The same: a node that was ordered for an autoscaled pool joins. */
#define ORR_ENGINE__POOL   0x200000u

struct engine_endless { /* what happened since a job last came, ended or left */
    uint64_t setbacks;  /* of the run until then */
    uint32_t vain;      /* cycles in a row after which nobody ran, or got on without a decision */
    uint32_t first;     /* eviction since then */
    uint32_t from;      /* eviction since the last look at whether anybody got on */
    uint32_t resizes;   /* nodes that joined autoscaled pools or left them since then */
    bool looked;        /* there was one, */
    orr_ms since_ms;    /* at this time, */
    uint64_t kept;      /* with so much work done for good */
    bool judged;        /* it is known whether */
    bool hopeless;      /* no rule of a queue lets any of those start that wait */
};

struct engine_recur { /* see engine_recur.c */
    bool watches;     /* since a job last came, ended or left */
    uint32_t *alive;  /* jobs that wait or run since then; NULL: never looked */
    uint32_t alive_count;
    uint32_t seen;        /* evictions and resizes since then, at the last look */
    uint64_t held;        /* the situation that later ones are compared with, */
    uint32_t looks, left; /* for so many looks, of which so many are left; */
    uint32_t returns;     /* as often as it came back */
};

struct engine_hosts; /* engine_hosts.c */

struct engine {
    const struct orr_world *world;
    const struct orr_engine_options *options;
    const struct orr_policy *policy;
    struct orr_run *run;
    struct orr_ledger *ledger;
    struct orr_txn *txn;
    const uint32_t *shard_laws; /* of the txn; NULL: the same everywhere */
    struct orr_exec *exec;      /* NULL: work is wall time */
    void *state;                /* the policy's */
    bool traced;                /* this cycle is traced, as options->trace asks */
    struct orr_view view;
    struct orr_view_work work;
    struct orr_view_words words;
    struct orr_heap heap;
    uint32_t next_arrival;
    uint32_t next_running; /* of the world: those before it run */
    orr_ms running_ms; /* since when that one runs; the begin: broken_gangs; ORR_MS_NEVER: none */
    bool
        broken_gangs; /* of those that run, some are below their minimum, and it is not yet begin */
    orr_ms arrival_ms;          /* of that job, when it is submitted; ORR_MS_NEVER: all have come */
    uint32_t next_hold;         /* of the world: those before it have come */
    uint32_t next_queue_change; /* of the world: those before it are in force */
    uint32_t *waits_for;        /* per hold: jobs whose end it still waits for */
    orr_ms *thinks_until_ms; /* per hold: from the last of these ends on; ORR_MS_NONE: none yet */
    bool changed;            /* something happened since the last cycle */
    orr_ms next_cycle_ms;    /* on a grid; ORR_MS_NEVER when none is due */
    orr_ms last_cycle_ms;    /* ORR_MS_NONE: none yet */
    orr_ms round_ms;         /* 0: not in rounds */
    orr_ms *done_ms;         /* in rounds, per job that is done and holds its devices; else NONE */
    orr_ms wake_ms;          /* the policy asked for it; ORR_MS_NEVER */
    orr_ms queue_change_ms;  /* when entitlements of queues change next; ORR_MS_NEVER */
    orr_ms look_ms;          /* autoscaled pools are looked at; ORR_MS_NEVER */
    orr_ms branch_ms;        /* the run is held behind the instants up to then; ORR_MS_NEVER */
    bool branched;           /* and goes no further than that: it has left the world's course */
    bool enough;             /* who branches it needs no more */
    bool outlasts;           /* something may be left in the heap when no job is */
    struct orr_scheduler scheduler;
    struct orr_faults faults;
    uint32_t fault_events;  /* in the heap: of random failures */
    uint32_t listed_events; /* in the heap: of what the scenario lists, or ordered nodes */
    bool follows;           /* some jobs' pods come and go while they run */
    bool *delayed;   /* per job: a rule of its queue took it away, and until its delay is over the
                      * policy does not know it; NULL: that has not happened */
    bool *ruled;     /* per job: noted in the run that a rule of its queue bit; NULL: none is */
    uint32_t *asked; /* per job: its last row of run->asked, + 1; NULL: nobody's pods come and go
                      * yet */
    uint32_t *steps; /* per part of the workload that is a service: the step in force */
    uint32_t idle_events;    /* in the heap */
    uint32_t give_up_events; /* in the heap */
    uint32_t failed_nodes;   /* at random, and not repaired yet */
    uint32_t *closures;      /* per node: for how many reasons it takes nothing */
    orr_ms *closed_ms;       /* per node: since when */
    bool *taken;             /* per node: away, or leaving as soon as it stands empty */
    uint32_t *record;        /* per node: index + 1 of its outage that lasts; 0: none */
    bool *emptying;          /* per node: it is down while somebody still holds something there */
    uint32_t emptying_count;
    uint32_t *vacating; /* of these, in any order: somebody left them since they were looked at */
    uint32_t vacating_count, vacating_capacity;
    struct engine_hosts *hosts;         /* NULL: nobody asked yet who is on a node */
    struct orr_engine_pools *pools;     /* NULL: none is autoscaled */
    struct orr_engine_narrow *narrow;   /* of pools */
    struct orr_engine_drain *drain;     /* NULL: nothing is moved to empty a node */
    struct engine_suspended *suspended; /* per job, see engine_suspend.c; NULL: none ever was */
    orr_ms instant_ms;                  /* the last one, for counting distinct times */
    struct engine_endless endless;
    struct engine_recur recur;
    uint32_t worn_job;       /* that cannot be started again; ORR_NONE: none */
    uint64_t untimed_cycles; /* a cycle is timed if its number has none of these bits */
    bool has_shares;         /* some of those that follow */
    /* of a resource, per queue: the policy's fair shares as recorded, then as reported; NULL: none
     */
    double *shares[ORR_SHARE_KINDS];
};

static inline uint32_t orr_engine__class_and(enum event_class class, uint32_t incarnation)
{
    return (uint32_t) class << 24 | (incarnation & 0xffffff);
}

/* engine.c: when queues change next, or ORR_MS_NEVER. */
orr_ms orr_engine__queue_change_ms(const struct engine *engine);
/* engine.c: the run to its end, or to where it is to be held; arrivals from this job on. */
enum orr_status orr_engine__loop(struct engine *engine, struct orr_err *err) ORR_MUST_USE;
void orr_engine__expect_arrival(struct engine *engine, uint32_t job);

/* engine_plain.c: does every instant come from arrivals, the heap or a cycle that is wanted, and is
 * it over with its cycle? It stays so to the end of the run. */
bool orr_engine__is_plain(const struct engine *engine);

/* engine_branch.c: it is held now. */
void orr_engine__branch(struct engine *engine);

/* engine_endless.c */
/* Failures of nodes and evictions: what a run that gets nowhere is made of. */
static inline uint64_t orr_engine__setbacks(const struct orr_run *run)
{
    return (uint64_t)run->outage_count + run->eviction_count + run->attempt_count;
}
/* Is there nothing since a job last came, ended or left that could keep the run from its end? So it
 * is at nearly all instants. */
static inline bool orr_engine__is_calm(const struct engine *engine)
{
    const struct engine_endless *endless = &engine->endless;
    return orr_engine__setbacks(engine->run) == endless->setbacks &&
           endless->vain + endless->resizes == 0;
}
/* A job came, ended or left: the run gets somewhere. */
void orr_engine__begin_anew(struct engine *engine);
static inline void orr_engine__moved_on(struct engine *engine)
{
    if (!orr_engine__is_calm(engine) || engine->endless.judged) {
        orr_engine__begin_anew(engine);
    }
}
/* Unless it is calm: have nodes failed and jobs been evicted so often since then that none of those
 * that are left will get to its end? */
bool orr_engine__is_stuck(struct engine *engine);
/* engine_recur.c: did the situation come back so often that none of those that are left will get to
 * its end? */
bool orr_engine__recurs(struct engine *engine);
void orr_engine__recur_close(struct engine *engine);
/* What will happen is another than it was: nothing that was can be told to come back. */
void orr_engine__recur_forget(struct engine *engine);
/* Nobody runs or is to come and no queue will change: does a rule of a queue keep all that wait
 * from ever starting, whatever is up? */
bool orr_engine__is_hopeless(struct engine *engine);
/* ORR_SCENARIO: says what keeps it from ending. */
enum orr_status orr_engine__refuse_endless(const struct engine *engine, struct orr_err *err);
/* As a job starts again, which would end then. */
void orr_engine__note_worn(struct engine *engine, uint32_t job, orr_ms end_ms);
/* Some job was started as often as its state can count, or its attempts hold more GPU time than one
 * job's book has room for. */
static inline bool orr_engine__is_worn(const struct engine *engine)
{
    return engine->worn_job != ORR_NONE;
}
enum orr_status orr_engine__refuse_worn(const struct engine *engine, struct orr_err *err);

/* engine_jobs.c */
void orr_engine__count_event(struct engine *engine, enum event_class class, uint32_t subject);
void orr_engine__note_reason(struct engine *engine, uint32_t job, enum orr_reason reason,
                             const struct orr_proof *proof);
/* Must a job that was submitted still wait until it is considered? `index` is that of its hold. */
bool orr_engine__must_wait(struct engine *engine, uint32_t index);
void orr_engine__submit(struct engine *engine, uint32_t job);
/* As it was planned for this incarnation. */
void orr_engine__finish(struct engine *engine, uint32_t job, uint32_t incarnation);
/* In rounds: it is done, and holds its devices until the round is over. */
bool orr_engine__is_done(const struct engine *engine, uint32_t job);
/* The end of that round, or of a node that it held until then. */
void orr_engine__end_round(struct engine *engine, uint32_t job);
void orr_engine__release(struct engine *engine, uint32_t job);
void orr_engine__requeue(struct engine *engine, uint32_t job);
void orr_engine__reach_limit(struct engine *engine, uint32_t job, uint32_t attempt);
/* Its patience is over: does it still wait for its first start? */
bool orr_engine__waits(const struct engine *engine, uint32_t job);
void orr_engine__give_up(struct engine *engine, uint32_t job);
/* The policy does not take it, as its reason says. */
void orr_engine__refuse(struct engine *engine, uint32_t job);
/* Its placements changed while it goes on: another finish makes the planned one stale. */
void orr_engine__replan(struct engine *engine, uint32_t job, enum orr_cause cause);
/* It runs, and its work is another: the finish that was planned is stale. */
void orr_engine__plan_anew(struct engine *engine, uint32_t job);

/* What the job's queue holds and asks changes by so much. Numbers by themselves stay in registers.
 */
void orr_engine__fold(struct engine *engine, uint32_t job, int64_t allocated_mgpu,
                      int64_t pending_mgpu, int64_t pending_jobs);
/* Autoscaled pools may grow for it. */
void orr_engine__want_room(struct engine *engine, uint32_t job);
/* A running job is over, now. */
void orr_engine__end(struct engine *engine, uint32_t job);
/* Of a service: which pods ceased to serve now, if some were evicted. */
void orr_engine__note_left(struct engine *engine, uint32_t job);

/* engine_suspend.c */
void orr_engine__suspend(struct engine *engine, const struct orr_txn_decision *decision);
void orr_engine__resume(struct engine *engine, uint32_t job);
/* How long the attempt in hand was suspended until now. */
orr_ms orr_engine__suspended_ms(const struct engine *engine, uint32_t job);
/* It is evicted or ends; nothing if it is not suspended. */
void orr_engine__end_suspension(struct engine *engine, uint32_t job);

/* engine_follow.c: jobs whose pods come and go while they run */
/* Who schedules the job. */
const struct orr_policy *orr_engine__policy_of(const struct engine *engine, uint32_t job);
/* What one task of its last group asks. */
int64_t orr_engine__worker_mgpu(const struct engine *engine, uint32_t job);
/* As it is submitted: as many as its first stage has tasks for, or the service wants. */
void orr_engine__want_first(struct engine *engine, uint32_t job);
/* Pods that joined the job now are bound so much later: those of a service serve no sooner. */
void orr_engine__note_bound(struct engine *engine, uint32_t job, orr_ms delay);
/* It may have other pods than before: asks for what it wants now. */
void orr_engine__follow(struct engine *engine, uint32_t job);
/* The same, and a new stage of a crew's work has begun: what is too many idles from now. */
void orr_engine__follow_stage(struct engine *engine, uint32_t job);
/* Is it in that stage still? Then its workers that have nothing to do leave. */
bool orr_engine__idles(const struct engine *engine, uint32_t job, uint32_t stage);
void orr_engine__leave_idle(struct engine *engine, uint32_t job, uint32_t stage);
/* A step of what a service wants. */
void orr_engine__scale(struct engine *engine, uint32_t job, uint32_t step);

/* What commits mean for time. */
void orr_engine__take_decisions(struct engine *engine);
/* engine_trace.c: is the cycle that begins traced? Then its steps from now on, and what it decided.
 */
bool orr_engine__trace_begin(struct engine *engine);
void orr_engine__trace_decided(const struct engine *engine);
/* An eviction that was decided: what leaves is gone at `gone`. */
/* What is left of a gang follows by its grace, unless the policy sees to gangs that fell below
 * their minimum. A service's other pods serve on: no policy but one that does takes it for a gang.
 */
void orr_engine__evict_rest(struct engine *engine, uint32_t job, enum orr_cause cause);
void orr_engine__lose_tasks(struct engine *engine, const struct orr_txn_decision *decision,
                            orr_ms gone);
/* An eviction that the policy did not decide: it hears of what is leaving. */
void orr_engine__notify_evicted(struct engine *engine, uint32_t job);
void orr_engine__replan_neighbours(struct engine *engine);

/* engine_work.c: the policy may ask how its jobs get on */
void orr_engine__work_open(struct engine *engine);

/* engine_state.c: jobs that run as the run begins */
void orr_engine__state_open(struct engine *engine);
/* Those that run since now start where they are. ORR_DATA: one cannot be there. */
enum orr_status orr_engine__start_running(struct engine *engine, struct orr_err *err);

/* engine_hosts.c: the jobs that hold something on so many nodes from the first on, ascending;
 * borrowed until the next call. Call it between cycles. */
const uint32_t *orr_engine__jobs_on(struct engine *engine, uint32_t first, uint32_t count,
                                    uint32_t *found);
void orr_engine__hosts_close(struct engine *engine);

/* engine_nodes.c */
void orr_engine__nodes_open(struct engine *engine);
void orr_engine__nodes_close(struct engine *engine);
/* The unit of random failures fails, or is repaired: with it all its nodes. */
void orr_engine__change_capacity(struct engine *engine, uint32_t unit, bool down);
/* A step of what the scenario lists. */
/* The world's outages are others behind a time: what was planned goes, what they say comes. */
void orr_engine__list_anew(struct engine *engine, orr_ms after_ms);
void orr_engine__run_listed(struct engine *engine, uint32_t index, uint32_t step);
/* A step of nodes that join or leave. */
void orr_engine__run_resize(struct engine *engine, uint32_t index, uint32_t step);
/* The node leaves as soon as it stands empty, and is closed from now on; it joins. */
void orr_engine__leave_cluster(struct engine *engine, uint32_t node);
/* The same; what runs there is evicted, with its grace. */
void orr_engine__drain_node(struct engine *engine, uint32_t node);
void orr_engine__join_cluster(struct engine *engine, uint32_t node);
/* The job is about to give back some of what it holds, maybe of nodes that are being emptied. */
void orr_engine__note_leaving(struct engine *engine, uint32_t job);
/* Notes since when nodes that were emptied stand empty. */
void orr_engine__note_vacant(struct engine *engine);
/* Is nothing left but failures, what is listed, and what is stale, and of no use to anybody? */
bool orr_engine__only_faults_left(struct engine *engine);
/* Does somebody wait who is not known to start at no time (options->foreseen)? */
bool orr_engine__somebody_may_start(const struct engine *engine);

/* engine_shares.c: fair shares of a policy that has some */
void orr_engine__shares_open(struct engine *engine);
void orr_engine__shares_close(struct engine *engine);
/* Records those that are others after a cycle. */
void orr_engine__shares_note(struct engine *engine);

/* engine_waiting.c: who may want room of autoscaled pools */
struct engine_waiting *orr_engine__waiting_open(const struct orr_world *world);
void orr_engine__waiting_close(struct engine_waiting *waiting);
void orr_engine__waiting_add(struct engine_waiting *waiting, uint32_t job);
/* A look: begin, next until there is none, end. The caller has each that comes by next
 * stay, in the line of its shape or apart, or drops it until it is added again. */
void orr_engine__waiting_begin(struct engine_waiting *waiting);
uint32_t orr_engine__waiting_next(struct engine_waiting *waiting);
void orr_engine__waiting_stay(struct engine_waiting *waiting, uint32_t job, bool apart);
void orr_engine__waiting_drop(struct engine_waiting *waiting, uint32_t job);
void orr_engine__waiting_end(struct engine_waiting *waiting);
/* There is no room for jobs of its shape that hold nothing: those that stand in line come by next
 * no more in this look. */
void orr_engine__waiting_note_full(struct engine_waiting *waiting, uint32_t job);
bool orr_engine__waiting_is_full(const struct engine_waiting *waiting, uint32_t job);

/* engine_pools.c: autoscaled pools; only where there are any */
void orr_engine__pools_open(struct engine *engine);
void orr_engine__pools_close(struct engine *engine);
/* engine_narrow.c: the filter of the nodes that its policy leaves to a group of a job, while pools
 * are open */
void orr_engine__narrow_open(struct engine *engine);
void orr_engine__narrow_close(struct engine *engine);
uint32_t orr_engine__allowed(struct engine *engine, uint32_t job, uint32_t group);
/* The job waits, for another reason than before or with another part of its pods, or runs with
 * fewer than it asks. */
void orr_engine__pools_want(struct engine *engine, uint32_t job);
/* Looks at them, at engine->look_ms: before arrivals and the cycle. */
void orr_engine__pools_look(struct engine *engine);
/* After an instant, if there are any: plans a look if something happened. */
void orr_engine__pools_wake(struct engine *engine);
/* A node that was ordered is there. */
void orr_engine__pools_join(struct engine *engine, uint32_t node);
/* What looks at them go by, with all times counted from now. */
uint64_t orr_engine__pools_situation(const struct engine *engine);

/* engine_drain.c: nodes of autoscaled pools that hold little are emptied; without a pool that says
 * so they do nothing */
void orr_engine__drain_open(struct engine *engine);
void orr_engine__drain_close(struct engine *engine);
/* Within a look, while what waits is placed in thought: which nodes could be emptied. `raised`:
 * they are there in thought only. */
void orr_engine__drain_note(struct engine *engine, const bool *raised);
/* Since when the node could be emptied at every look; ORR_MS_NONE: it cannot. */
orr_ms orr_engine__drain_since(const struct engine *engine, uint32_t node);

#endif
