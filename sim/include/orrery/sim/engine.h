/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine.h - replays a world under a policy: ordered events in, what happened out.
 *
 * Events at one instant go in this order: finishes and releases, capacity changes, arrivals, quota
 * changes, the scheduler's cycle. Within a class the lower id goes first. Arrivals are read from
 * the sorted specs; only what the run itself creates lies in the heap.
 */
#ifndef ORR_SIM_ENGINE_H
#define ORR_SIM_ENGINE_H

#include <signal.h>

#include <orrery/core/policy.h>
#include <orrery/sim/exec.h>
#include <orrery/sim/fault.h>
#include <orrery/sim/fold.h>
#include <orrery/sim/latency.h>
#include <orrery/sim/world.h>

struct orr_attempt { /* one that ended before the job did */
    uint32_t job;
    orr_ms start_ms, end_ms; /* the end of the grace */
    uint8_t cause;           /* enum orr_cause */
};

struct orr_eviction { /* of a whole job, or of some of its tasks */
    orr_ms at_ms;
    uint32_t job;
    uint32_t beneficiary; /* for whose sake, or ORR_NONE */
    uint32_t tasks;
    uint32_t moved; /* of them, given another place by the same decision */
    uint8_t cause;  /* enum orr_cause */
    bool whole;
    bool used;      /* the beneficiary's next pods took some of the room; see account.h */
    bool undecided; /* it got none since, and the run was cut before a cycle that found the room */
    orr_ms gone_ms; /* the end of the grace */
};

struct orr_reprieve { /* of a gang below its minimum; see orr_txn_note_whole */
    orr_ms at_ms,
        to_ms; /* of the cycle that noted it, and of the next one; to_ms ORR_MS_NEVER: none */
    uint32_t job;
};

struct orr_reason_change {
    orr_ms at_ms;
    uint32_t job;
    uint8_t reason; /* enum orr_reason */
    struct orr_proof proof;
};

struct orr_share_change { /* of what the policy takes for a leaf queue's fair share, from then on */
    orr_ms at_ms;
    uint32_t queue;
    uint8_t kind;  /* enum orr_share_kind */
    double amount; /* milli-CPU, bytes or milli-GPU; below 0: it has none any more */
};

struct orr_outage { /* of a node: it was down, or not part of the cluster */
    uint32_t node;
    bool away;             /* not part of it: neither down nor idle */
    orr_ms from_ms, to_ms; /* to_ms ORR_MS_NEVER: it still is */
};

struct orr_cordon { /* a node took nothing more and was not yet empty: what it had ran on, or was
                       leaving */
    uint32_t node;
    orr_ms from_ms, to_ms; /* to_ms ORR_MS_NEVER: to the end of the run */
};

struct orr_asked_change { /* of a job whose pods come and go: from then on it asks for so many */
    orr_ms at_ms;
    uint32_t job, pods;
};

struct orr_suspension { /* of a job that keeps what it holds, except for its CPU */
    uint32_t job;
    uint32_t beneficiary;  /* for whose sake; ORR_NONE: the policy named none */
    orr_ms from_ms, to_ms; /* it went on, was evicted or ended; ORR_MS_NEVER: not in this run */
};

struct orr_pod_left { /* pods of a service, one placement, are leaving: they serve no more */
    uint32_t placement;
    orr_ms at_ms;
};

struct orr_pods_bound { /* pods of a service that joined it at a time: they work no sooner */
    uint32_t job;
    orr_ms since_ms, at_ms;
};

enum orr_warmup {
    ORR_WARMUP_STATED,
    ORR_WARMUP_DETECTED,
    ORR_WARMUP_NOT_FOUND,
    ORR_WARMUP_NOT_HEEDED /* stated, of jobs that all come at once */
};

enum orr_run_status { ORR_RUN_FINISHED, ORR_RUN_HORIZON, ORR_RUN_INTERRUPTED };

struct orr_engine_shard { /* who schedules a shard of the cluster */
    const struct orr_policy *policy;
    const void *params;                 /* filled in */
    struct orr_plugin *plugin;          /* that the policy is from; NULL: it is built in */
    const struct orr_setting *settings; /* that the parameters are from, for errors; or NULL */
    uint32_t setting_count;
};

/* What some cycles of a run looked at and decided, told as they happen. */
struct orr_cycle_trace {
    uint64_t from, to;     /* cycles, from 1 on, both included */
    orr_ms from_ms, to_ms; /* and of these those in that time, both included */
    /* A cycle begins; the ledger is as it finds it. */
    void (*begin)(void *context, uint64_t cycle, orr_ms now, const struct orr_ledger *ledger);
    orr_look_fn *look; /* by policies that tell: jobs by their numbers in the run */
    /* What became of it, after its commit: placements are made. */
    void (*decision)(void *context, const struct orr_txn_decision *decision);
    void (*explanation)(void *context, const struct orr_explanation *explanation);
    void *context;
};

struct orr_branching;

struct orr_engine_options {
    const struct orr_cycle_trace *trace;      /* NULL: nobody looks on */
    const struct orr_branching *branching;    /* NULL: the run is never held; see branch.h */
    const struct orr_engine_shard *shards;    /* one for each shard of the world's cluster */
    orr_ms epoch_ms;                          /* UTC at 0 of the clock, ms since 1970 */
    orr_ms horizon_ms;                        /* ORR_MS_NEVER: until the last job ends */
    orr_ms window_start_ms, window_end_ms;    /* for the fold; end ORR_MS_NEVER: of the run */
    const volatile sig_atomic_t *interrupted; /* NULL: cannot be */
    void (*progress)(uint64_t done, uint64_t total, orr_ms now, void *context); /* or NULL */
    void *progress_context;
    struct orr_fault_setting faults;
    const struct orr_latency *latency; /* NULL: ideal */
    const struct orr_run *foreseen; /* orr_never_foresee: nobody is entitled to what these jobs ask;
                                       NULL: not known */
    uint64_t seed;
    int64_t (*clock_ns)(void); /* real time, for `cycle_time`; NULL: cycles are not timed */
    bool check_books;          /* recompute the ledger's and the policy's books after every cycle */
    uint64_t digest_every;     /* 0: never; else checkpoint() at every so many events */
    void (*checkpoint)(uint64_t events, orr_ms now, uint64_t digest, void *context);
};

struct orr_cycle_time { /* real time that the policy's cycles took: no part of a run's result */
    uint64_t timed;     /* all of a policy on a grid, else one in 64 */
    int64_t sum_ns, most_ns;
};

struct orr_never { /* a job that could not have started at any time, were the cluster empty */
    uint32_t job;
    struct orr_bar bar; /* as it was when the job came; queue ORR_NONE: no rule of a queue's */
};

enum { ORR_COSTS_MAX = 16, ORR_PRUNED_MAX = 16 };

struct orr_run {
    enum orr_run_status status;
    enum orr_warmup warmup;
    struct orr_ledger *ledger;   /* final state; owned by the run */
    struct orr_queues *queues;   /* the world's, as they became; names are the world's own */
    uint32_t queue_change_count; /* of the world's changes to queues: those that came into force */
    struct orr_fold fold;
    uint64_t events; /* arrivals, finishes, faults, changes of capacity and quota */
    uint64_t cycles, distinct_times;
    struct orr_cycle_time cycle_time;
    struct orr_latency latency;
    struct orr_scheduler_time scheduler; /* all 0 if latency is ideal */
    uint32_t queue_len_max; /* most jobs waiting after an instant's passes, from the begin on */
    orr_ms end_ms;          /* of the last event */
    uint64_t digest;
    struct orr_attempt *attempts;
    uint32_t attempt_count, attempt_capacity;
    struct orr_eviction *evictions; /* in order */
    uint32_t eviction_count, eviction_capacity;
    struct orr_suspension *suspensions; /* in order of from_ms */
    uint32_t suspension_count, suspension_capacity;
    struct orr_world_ruled *ruled; /* that a rule bit as they ran, beside those of the world */
    uint32_t ruled_count, ruled_capacity;
    struct orr_outage *outages; /* in order of from_ms */
    uint32_t outage_count, outage_capacity;
    struct orr_cordon *cordons; /* in order of to_ms */
    uint32_t cordon_count, cordon_capacity;
    struct orr_exec *exec;      /* NULL: the run needed none */
    struct orr_job_time *times; /* without exec: per job; NULL: all that was held was useful */
    struct orr_waste *wastes;   /* without exec: where time went into nothing */
    uint32_t waste_count, waste_capacity;
    struct orr_waste *idles; /* owned; of services: where they left idle what is useful time */
    uint32_t idle_count, idle_capacity;
    bool held_part;                 /* some job held part of its gang */
    orr_ms begin_ms;                /* decisions begin: what is before is given */
    orr_ms *stale_grace_ms;         /* per shard: its gangs may run so long below their minimum;
                                       ORR_MS_NEVER: any time */
    orr_ms *own_stale_grace_ms;     /* the same per job, in place of it; ORR_MS_NONE: it states
                                       none. NULL: no job does */
    struct orr_reprieve *reprieves; /* in order: that time begins anew when they are over */
    uint32_t reprieve_count, reprieve_capacity;
    bool autoscaled; /* some pool follows the jobs */
    struct orr_reason_change *reasons;
    uint32_t reason_count, reason_capacity;
    struct orr_share_change *shares; /* in order; of policies that have fair shares. Of CPU and
                                        memory: where queues divide it, see orr_world_divides */
    uint32_t share_count, share_capacity;
    struct orr_policy_cost costs[ORR_COSTS_MAX];     /* by action, of all shards */
    struct orr_policy_pruned pruned[ORR_PRUNED_MAX]; /* by pruner, of all shards */
    uint32_t pruned_count;
    uint32_t cost_count;
    orr_ms *cycled_ms;        /* per shard: its last cycle; ORR_MS_NONE: it had none */
    uint32_t *heeds;          /* per shard: what its policy's order looks at (ORR_HEEDS_*) */
    struct orr_never *nevers; /* by job; of those that did not start, see never.h */
    uint32_t never_count, never_capacity;
    struct orr_asked_change *asked; /* in order; no rows of a job: it asks for all its pods */
    uint32_t asked_count, asked_capacity;
    struct orr_pod_left *left;
    uint32_t left_count, left_capacity;
    struct orr_pods_bound *bound; /* in order; none where decisions take no time. Of a job and a
                                     time the last counts */
    uint32_t bound_count, bound_capacity;
    orr_ms *eligible_ms; /* per hold of the world: when it was over; ORR_MS_NONE: not yet */
};

/* "kai", or of shards that differ "kai+fifo". */
void orr_engine_policy_names(const struct orr_engine_shard *shards, uint32_t count, char *out,
                             size_t bytes);

/* Opens the policy of each shard on the world and closes it again: fails as a run would as it
 * begins. */
enum orr_status orr_engine_try_policies(const struct orr_world *world,
                                        const struct orr_engine_shard *shards,
                                        struct orr_err *err) ORR_MUST_USE;
enum orr_status orr_engine_run(const struct orr_world *world,
                               const struct orr_engine_options *options, struct orr_run *run,
                               struct orr_err *err) ORR_MUST_USE;
/* So many failures, evictions and attempts may come between two ends of jobs: a run without a
 * horizon in which more do is refused as endless. */
uint64_t orr_engine_setbacks(const struct orr_world *world);
/* From when on a job was considered: its submit, unless it was held back; ORR_MS_NONE: never. */
orr_ms orr_run_eligible_ms(const struct orr_world *world, const struct orr_run *run, uint32_t job);
/* When it was submitted: as its row says, unless its user waited for results first. */
orr_ms orr_run_late_submit_ms(const struct orr_world *world, const struct orr_run *run,
                              uint32_t job); /* of a world with holds */
static inline orr_ms orr_run_submit_ms(const struct orr_world *world, const struct orr_run *run,
                                       uint32_t job)
{
    return world->hold_count == 0 ? world->specs[job].submit_ms
                                  : orr_run_late_submit_ms(world, run, job);
}
void orr_run_release(struct orr_run *run);

#endif
