/* SPDX-License-Identifier: GPL-3.0-or-later */
/* summary.h - the numbers of one run, each with unit, scope, n and definition.
 *
 * Window: end of warm-up to the last submit (all submits at once: to the end of the run); what
 * comes after (the drain) counts for waits of jobs submitted inside it, not for occupancy and
 * fairness: those of both stand apart (`phases`). Quantiles are nearest rank, or Kaplan-Meier when
 * jobs of the window never started (they are then censored at the end of the run, or when they
 * left). Jobs that can never start (never.h) are counted, and are in no quantile.
 */
#ifndef ORR_SIM_SUMMARY_H
#define ORR_SIM_SUMMARY_H

#include <signal.h>

#include <orrery/analysis/metrics.h>
#include <orrery/sim/engine.h>

struct orr_waits { /* of jobs submitted in the window (or of other times); NAN: there are none */
    uint64_t jobs, started, gave_up;
    uint64_t never; /* beside `jobs`: those that can never start */
    double mean_s, p50_s, p95_s, p99_s, max_s;
    double seen_s; /* longest of all, those that were still going on included: what a quantile that
                      was not reached is at least */
};

struct orr_debt { /* GPU-h that queues asked for within their quota and did not hold, in the window
                   */
    double total;
    double impossible; /* part: they could not have held it on the empty cluster either */
    double down;       /* of the rest, while nodes were down */
    double blocked;    /* what is left: others were in the way */
};

struct orr_stalls { /* from the end of an attempt that was cut short to the next start, of the run
                     */
    double h;       /* jobs x hours */
    uint64_t attempts; /* that were cut short */
};

struct orr_queue_summary { /* one queue and one kind of work */
    uint32_t queue;
    uint8_t kind; /* enum orr_kind */
    struct orr_waits waits;
    struct orr_waits jct; /* from submit to end; of services nothing */
    double gpu_h;         /* held inside the window by jobs of the kind */
    double share_mean;    /* entitled share, mean GPUs inside the window, whole queue */
    struct orr_debt debt; /* whole queue */
    uint64_t evictions;
    double lost_gpu_h;
    struct orr_stalls stalls;
};

struct orr_shard_summary { /* one shard of the cluster */
    int64_t gpus;
    uint64_t jobs, finished, evictions;
    struct orr_waits waits; /* as those of the whole */
    double fairness_jain, share_deviation;
    struct orr_debt debt;
    double lost_gpu_h;
    double gpu_occupancy, gpu_goodput;
    /* by resource, milli-CPU, bytes, milli-GPU x ms: of nodes that were up, in the window; of CPU
     * and memory of those that have a limit */
    double available[ORR_SHARE_KINDS];
    double other_deviation[ORR_SHARE_GPU]; /* as that of the whole */
    uint32_t leaf_queues, wanting_queues;  /* as those of the whole */
};

struct orr_own_deviation { /* of what queues held from the shares their policy goes by */
    double apart;          /* integral over the window of the distances, amount x ms */
    double deviation;      /* that / (2 x available); NAN: nothing was available */
    uint32_t queues;       /* that have such a share */
};

struct orr_own_shares { /* all 0: no policy has fair shares */
    /* by resource; all: of the shards whose policies have some of it */
    struct orr_own_deviation all[ORR_SHARE_KINDS], (*of_shard)[ORR_SHARE_KINDS];
    bool *known;            /* per queue: it has one of GPUs */
    double *mean_gpus;      /* per queue that has, over the window */
    double *bucket_mgpu_ms; /* of bucket b and queue q at [b * queues + q] */
};

struct orr_stretch { /* of time */
    orr_ms from_ms, to_ms;
};

enum orr_phase { ORR_PHASE_WARMUP, ORR_PHASE_DRAIN, ORR_PHASE_COUNT };

struct orr_phase_summary { /* of the run, outside the window; of no length: it has none */
    struct orr_stretch stretch;
    double gpu_h;                                     /* held in it */
    double gpu_available, gpu_occupancy, gpu_goodput; /* as those of the window */
    uint64_t finished;                                /* jobs that ended in it, services too */
};

#define ORR_SIZE_CLASSES 13 /* 0 GPUs, up to 1, 2, 3-4, 5-8, ... , > 1024 */

struct orr_deadlines {          /* of jobs submitted in the window that are to be done by a time */
    uint64_t met, missed, open; /* open: not done, and there was time left; who left missed it */
    struct orr_waits lateness;  /* end minus deadline, below 0 if early; started: that ended */
    double met_share;           /* of those that are not open; NAN: there are none */
    double tardiness_mean_s;    /* of those that ended: lateness, or 0 */
};

struct orr_attainment {          /* of one part of the workload; NAN: it set itself nothing */
    double attained;             /* share of jobs or requests */
    uint64_t jobs, started;      /* submitted in the window; of them, started soon enough */
    uint64_t submitted, gave_up; /* in the window; of them, left before they started */
    struct orr_deadlines deadlines;
    struct orr_service_load load; /* of a service, requests in the window and the drain */
};

struct orr_finish {             /* of jobs of the window, services left out; NAN: there are none */
    struct orr_waits jct;       /* from submit to end; those that did not end are censored */
    double bsld60_mean;         /* bounded slowdown of those that ended, 60 s */
    double bsld_per_gpu_mean;   /* of those, 10 s, by GPUs */
    double wait_gpu_weighted_s; /* of those that started, each by the GPUs it asks for */
    double evictions_per_1000_gpu_h; /* of the whole run, as are those that follow */
    double throughput_gpus;          /* work x GPUs of jobs that ended in the window / its length */
    uint64_t ended_in_window;
    uint64_t ping_pong; /* evictions within 1 h of the same job's last one */
    struct orr_stalls stalls;
};

/* Finish-time fairness: the time a job took over the time it would take with a fair part, by its
 * queue's quota, or by the jobs there are: on average while it lived, or in the whole trace. */
enum orr_ftf_form { ORR_FTF_QUOTA, ORR_FTF_THEMIS, ORR_FTF_SHOCKWAVE, ORR_FTF_COUNT };

struct orr_ftf { /* of jobs of the window that ended, services left out; NAN: there are none */
    double max, p95, above; /* above: share of jobs with more than 1 */
    uint64_t jobs;
};

struct orr_owners {
    double user_jain; /* of what users held / asked for in the window; NAN: nobody asked */
    uint32_t users;   /* who asked for GPUs in the window */
    uint32_t user_names, batch_names; /* in the traces */
    struct orr_waits batches; /* first submit to last end; those that did not end are censored */
};

struct orr_extents {     /* of the last attempts of jobs of the window that hold two GPUs or more */
    uint64_t *of_extent; /* per ORR_EXTENT_*: gangs that nothing narrower held */
    uint32_t count;
    uint64_t gangs;
};

struct orr_speeds {       /* of jobs with a rate (table rate); jobs 0: there are none */
    double penalty_gpu_h; /* held in the window x (1 - rate where it was, alone / best) */
    double
        consistency; /* p95 / p5 of rate / best of jobs of a shape, mean over jobs; NAN: too few */
    double consistency_max; /* of the shape where it is the most */
    uint64_t jobs, alike;   /* alike: of the window, of shapes that enough of them have */
};

struct orr_ties { /* first starts of jobs of the window, services left out, that hung on equal times
                   */
    uint64_t tied;       /* on which of two jobs that came together stands first in the trace */
    uint64_t coincident; /* on ends counting before arrivals of the same instant */
};

struct orr_node_spread {      /* of nodes with GPUs, in the window */
    double max_over_mean, cv; /* of the share of their GPU time that was held */
    uint32_t nodes;
};

struct orr_starvation { /* of jobs of the window whose GPUs fit into their queue's quota, no
                         * services
                         */
    /* time waited while the queue, with the job, would have been within its quota; of jobs that
     * wait still, so far */
    double p99_s, max_s;
    uint64_t jobs, starved; /* starved: for some time */
};

struct orr_room_bucket { /* means over a bucket of the series */
    double idle_mgpu, unusable_mgpu;
};

struct orr_room_gang { /* GPUs of the largest gang of whole nodes that could start within one domain
                        */
    double mean;
    uint32_t least;
};

struct orr_room_summary { /* what was free, and what for; means over the window, NAN if it is empty
                           */
    double idle_gpus_mean, unusable_gpus_mean;
    double unusable_of_idle;      /* integral over integral; NAN: nothing was ever idle */
    bool parts;                   /* some job asks for less than a device */
    double touched_gpus_mean;     /* devices that held something */
    struct orr_room_gang *window; /* per level: the whole, those of the topology, a single node */
    struct orr_room_bucket *buckets;
    struct orr_room_gang *gangs; /* level l of bucket b at [b * level_count + l] */
    uint32_t bucket_count, level_count, typical_tasks;
};

struct orr_promises {   /* of backfilling; a study fills it in, for the audit judges them */
    bool judged;        /* else nothing of the rest */
    uint64_t overtakes; /* starts of jobs behind the first that waits */
    uint64_t broken;    /* of them, those that delay it */
    double delay_max_s; /* the most, by estimates */
};

struct orr_pool_summary {              /* of nodes, while they were part of the cluster */
    double node_h, run_node_h;         /* in the window, in the run */
    bool priced;                       /* its nodes have a price; else nothing of these two */
    double cost, run_cost;             /* at the pool's price of a node for an hour */
    bool powered;                      /* its nodes state their power; else nothing of these two */
    double energy_kwh, run_energy_kwh; /* in the window, in the run */
    uint64_t joined, left;             /* how often a node did, in the run */
    uint32_t nodes;                    /* that were ever there */
};

struct orr_summary {
    bool impatient;  /* some job would have left had it not started in time */
    bool has_nevers; /* some job of the run can never start */
    orr_ms window_start_ms, window_end_ms;
    struct orr_phase_summary phases[ORR_PHASE_COUNT];
    uint64_t jobs, finished, unfinished;
    double makespan_s;      /* end of the last job that finished; on the trace's clock */
    struct orr_waits waits; /* training, interactive and unknown kinds */
    uint64_t ended;         /* of the window, finished: what these rest on */
    double bsld_mean;       /* bounded slowdown, 10 s */
    uint32_t leaf_queues, wanting_queues; /* wanting: entitled to something in the window */
    double fairness_jain, fairness_satisfaction, share_deviation;
    struct orr_own_shares own_shares;
    struct orr_debt debt;
    double lost_gpu_h;
    double lost_by_gpu_h[ORR_CAUSE_COUNT]; /* what lost_gpu_h is made of */
    double checkpoint_gpu_h, restart_gpu_h, gang_wait_gpu_h;
    bool has_rates, may_idle;      /* else the run has nothing that could be the next two */
    double slow_gpu_h, idle_gpu_h; /* parts of useful time */
    bool resized;                  /* nodes joined the cluster or left it */
    double capacity_gpu_h; /* of nodes while they were part of the cluster, inside the window */
    double gpu_available;  /* part of the GPU time inside the window in which nodes were up */
    double gpu_occupancy, gpu_goodput; /* of available GPU time inside the window */
    double gpu_touched; /* of it: of devices that held something, and of MIG instances */
    double cpu_occupancy, mem_occupancy; /* of nodes with a limit; NAN: none has, or nobody asks */
    double mig_occupancy;                /* of MIG instances by their g; NAN: there are none */
    double mig_held_mgpu_ms;             /* of them, in the window */
    bool divides[ORR_SHARE_GPU];         /* queues divide CPU, memory */
    double other_deviation[ORR_SHARE_GPU]; /* then: share_deviation of it; NAN: none was there */
    struct orr_extents extents;
    struct orr_speeds speeds;
    uint64_t evictions;                           /* of whole jobs */
    uint64_t suspensions;                         /* of jobs; 0: the next is nothing either */
    double suspended_h;                           /* job-hours */
    uint64_t partial_evictions, wasted_evictions; /* of some pods; made for a job in vain */
    struct orr_finish finish;
    struct orr_ftf ftf[ORR_FTF_COUNT];
    struct orr_owners owners;
    struct orr_deadlines deadlines;
    struct orr_starvation starvation;
    struct orr_room_summary room;
    struct orr_waits full; /* of elastic jobs, until they had all their pods */
    struct orr_node_spread spread;
    struct orr_ties ties;
    struct orr_promises promises;
    struct orr_pool_summary *pools; /* of the scenario, in its order */
    uint32_t pool_count;
    bool priced; /* some pool has a price; else nothing of these three */
    double cost, run_cost, cost_per_useful_gpu_h;
    bool powered;                      /* some pool states its power; else nothing of these three */
    double energy_kwh, run_energy_kwh; /* of the pools that do */
    double energy_kwh_per_useful_gpu_h; /* NAN: some pool states no power */
    struct orr_queue_summary *queues;
    uint32_t queue_count;
    uint64_t ruled[ORR_RULE_COUNT];   /* jobs that a rule of their queue bites */
    struct orr_shard_summary *shards; /* at least one */
    uint32_t shard_count;
    bool latent; /* latency is not ideal; else nothing of these four */
    struct orr_scheduler_time scheduler;
    double scheduler_busy; /* at work / time of the run; NAN: the run took none */
    uint64_t cycles;
    struct orr_policy_cost costs[ORR_COSTS_MAX]; /* scenarios simulated, by action */
    uint32_t cost_count;
    struct orr_waits sizes[ORR_SIZE_CLASSES];
    struct orr_waits kinds[ORR_KIND_COUNT];
    struct orr_waits kind_jcts[ORR_KIND_COUNT]; /* of services nothing */
    struct orr_stalls kind_stalls[ORR_KIND_COUNT];
    double kind_bsld[ORR_KIND_COUNT], kind_bsld60[ORR_KIND_COUNT]; /* NAN: none ended */
    struct orr_attainment *parts;                                  /* of the workload */
    uint32_t part_count;
};

/* False: `interrupted` (or NULL) is not 0, and there is no summary. */
bool orr_summary_make(const struct orr_world *world, const struct orr_run *run,
                      const volatile sig_atomic_t *interrupted, struct orr_summary *summary);
void orr_summary_release(struct orr_summary *summary);

/* Every number as one row, for the store and for `expect:`. */
struct orr_metric {
    const struct orr_metric_def *def; /* name, unit, direction, definition */
    const char *scope;
    char label[300];
    double value;
    double at_least; /* of a quantile that was not reached: no less than this; else NAN */
    uint64_t n;
};
typedef void orr_metric_fn(const struct orr_metric *metric, void *context);
void orr_summary_metrics(const struct orr_world *world, const struct orr_summary *summary,
                         orr_metric_fn *emit, void *context);
/* Sums by cause and by rule that are 0, for whoever asks for one by name: of these no row is
 * stored, and orr_summary_metrics leaves them out. */
void orr_summary_absent(const struct orr_summary *summary, orr_metric_fn *emit, void *context);
/* Of a level of `room`: "cluster", those of the topology, "node". */
const char *orr_room_level_name(const struct orr_world *world, uint32_t level);
/* "warm-up", "drain". */
const char *orr_phase_name(enum orr_phase phase);
/* "1", "2", "3-4", ..., of a size class. */
const char *orr_size_class_name(uint32_t size_class);

#endif
