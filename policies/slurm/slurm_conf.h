/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_conf.h - what slurm.conf, the associations and the QOS say, and what is summed up by these:
 * structs of slurm_conf.c and slurm_assoc.c; constant after open but for sums and counts.
 *
 * Times of Slurm are whole seconds of the epoch; here they are ms of the run's clock. */
#ifndef ORR_SLURM_CONF_H
#define ORR_SLURM_CONF_H

#include <orrery/base/idmap.h>
#include <orrery/core/policy.h>

enum { SLURM_PARTITIONS_MAX = 64, SLURM_JOB_PARTITIONS_MAX = 8, SLURM_QOS_MAX = 64 };

enum slurm_usage_reset {
    SLURM_RESET_NONE,
    SLURM_RESET_NOW,
    SLURM_RESET_DAILY,
    SLURM_RESET_WEEKLY,
    SLURM_RESET_MONTHLY,
    SLURM_RESET_QUARTERLY,
    SLURM_RESET_YEARLY
};

enum slurm_preempt_type { SLURM_PREEMPT_NONE, SLURM_PREEMPT_PARTITION_PRIO, SLURM_PREEMPT_QOS };
enum slurm_preempt_mode {
    SLURM_MODE_NOT_STATED,
    SLURM_MODE_OFF,
    SLURM_MODE_REQUEUE,
    SLURM_MODE_CANCEL,
    SLURM_MODE_SUSPEND
};

enum slurm_priority_flag {
    SLURM_ACCRUE_ALWAYS = 1u << 0,
    SLURM_CALCULATE_RUNNING = 1u << 1,
    SLURM_INCR_ONLY = 1u << 2,
    SLURM_MAX_TRES = 1u << 3,
    SLURM_NO_FAIR_TREE = 1u << 4,
    SLURM_NO_NORMAL_PART = 1u << 5,
    SLURM_NO_NORMAL_QOS = 1u << 6,
    SLURM_NO_NORMAL_TRES = 1u << 7,
    SLURM_SMALL_RELATIVE_TO_TIME = 1u << 8,
    SLURM_DEPTH_OBLIVIOUS = 1u << 9,
    SLURM_NO_NORMAL_ASSOC = 1u << 10
};

enum slurm_tres { SLURM_CPU, SLURM_MEM, SLURM_GPU, SLURM_NODE, SLURM_TRES_COUNT };

struct slurm_names {           /* a list of slurm.conf */
    const char *names, *place; /* joined by commas; NULL: not stated, or ALL */
};

struct slurm_license {
    const char *name;
    int64_t total;
};

struct slurm_partition {
    const char *name;
    uint64_t *nodes; /* node set */
    uint32_t node_count;
    uint32_t absent; /* of its list, that lines NodeName= have and the cluster has not ... */
    const char *first_absent; /* ... and the first of these */
    int64_t priority_tier, priority_job_factor;
    orr_ms max_time_ms;     /* ORR_MS_NEVER: no bound */
    orr_ms default_time_ms; /* ORR_MS_NONE: none */
    uint32_t min_nodes, max_nodes;
    int64_t node_cpu_milli; /* MaxCPUsPerNode: of a node, that its jobs may have together */
    bool down, lln, exclusive;
    bool takes_none;       /* DRAIN, INACTIVE: nothing may be submitted to it */
    const char *alternate; /* the partition that jobs go to then, or NULL */
    struct slurm_names allow_accounts, deny_accounts, allow_qos, deny_qos;
    uint8_t preempt_mode;             /* enum slurm_preempt_mode */
    orr_ms grace_ms;                  /* of its jobs as victims of a higher tier */
    const char *qos_name, *qos_place; /* in slurm_conf */
    uint32_t qos;                     /* whose limits hold in it, or ORR_NONE */
    double billing[SLURM_TRES_COUNT];
    bool bills;                       /* TRESBillingWeights is set; else CPUs are billed */
    double amounts[SLURM_TRES_COUNT]; /* of its nodes: CPUs, MiB, devices, nodes;
                                         -1: no end */
};

enum slurm_scope {                      /* whom a limit counts */
                   SLURM_GROUP,         /* GrpJobs, GrpTRES, GrpWall */
                   SLURM_USER,          /* MaxJobsPU, MaxTRESPU; of an association MaxJobs */
                   SLURM_ACCOUNT,       /* MaxJobsPA, MaxTRESPA */
                   SLURM_PER_JOB,       /* MaxTRES, MaxWall */
                   SLURM_PER_NODE,      /* MaxTRESPerNode */
                   SLURM_LEAST,         /* MinTRES */
                   SLURM_GROUP_MINUTES, /* GrpTRESMins: of what was used */
                   SLURM_RUN_MINUTES, /* GrpTRESRunMins: of what runs, for the rest of its limit */
                   SLURM_JOB_MINUTES, /* MaxTRESMins */
                   SLURM_SCOPES
};

struct slurm_limits { /* below 0, ORR_MS_NEVER: none */
    bool any;         /* of jobs, time or resources */
    int64_t jobs;     /* that run */
    int64_t submits;  /* that wait or run */
    orr_ms wall_ms;
    double tres[SLURM_TRES_COUNT];
};

struct slurm_submitted { /* jobs of a QOS that wait or run */
    uint32_t all;
    uint32_t *of_user, user_capacity;       /* by user_id of their association + 1 */
    uint32_t *of_account, account_capacity; /* by the association of their account + 1 */
};

struct slurm_sum { /* of jobs that run: integers, so that nothing is left when all have ended */
    int64_t jobs, tres[SLURM_TRES_COUNT]; /* thousandths */
};

struct slurm_sums { /* of a QOS, and of partitions that have it; by slurm_owner */
    struct slurm_sum all, *of_user, *of_account;
    uint32_t user_capacity, account_capacity;
};

enum slurm_qos_flag {                             /* beside those that have a member of their own */
                      SLURM_NO_RESERVE = 1u << 0, /* backfill keeps no nodes for its jobs */
                      /* its jobs need not keep these of their partition */
                      SLURM_PART_MAX_NODES = 1u << 1,
                      SLURM_PART_MIN_NODES = 1u << 2,
                      SLURM_PART_TIME = 1u << 3
};

struct slurm_qos {
    const char *name, *preempts;
    uint64_t preempts_bits; /* bit by QOS */
    int64_t priority;
    orr_ms grace_ms, exempt_ms; /* exempt_ms ORR_MS_NONE: the cluster's */
    uint8_t mode;               /* enum slurm_preempt_mode */
    bool within;                /* jobs of higher priority preempt others of the same QOS */
    bool over_partition;        /* its limits go before those of the partition's QOS */
    bool no_decay;
    uint8_t flags; /* enum slurm_qos_flag */
    bool denies;   /* DenyOnLimit: jobs that pass a limit by themselves */
    struct slurm_submitted submitted;
    struct slurm_sums running;
    double usage_factor, usage;
    double used_minutes[SLURM_TRES_COUNT], used_wall_ms; /* decayed */
    struct slurm_limits limits[SLURM_SCOPES];
};

struct slurm_assoc { /* of an account, or of a user in an account; parents first
                      */
    uint32_t parent; /* ORR_NONE: the root */
    /* In the tree of shares, where children of an account with shares=parent are those of the one
     * above it. */
    uint32_t above;                         /* ORR_NONE: the root */
    uint32_t first_child, last_child, next; /* in the order they came; ORR_NONE: none */
    double child_shares;                    /* of all children */
    const char *account;
    const char *user; /* NULL: an account */
    uint32_t user_id; /* in conf.users */
    double shares;
    bool as_parent;    /* shares=parent */
    int64_t priority;  /* of the account above, where it has none of its own */
    uint32_t qos;      /* its default one, or ORR_NONE */
    uint64_t qos_bits; /* those that its jobs may have; 0: any */
    const char *qos_list;
    uint32_t submitted;       /* jobs of it and below that wait or run */
    struct slurm_sum running; /* likewise */
    const char *default_qos;
    struct slurm_limits limits[SLURM_SCOPES];
    double used_minutes[SLURM_TRES_COUNT], used_wall_ms; /* decayed */
    double usage;      /* billing seconds, decayed; what is below it included */
    double effective;  /* classic: its share of all usage, that of its siblings
                          mixed in */
    double level_fs;   /* fair tree: shares by usage among its siblings */
    double fair_share; /* factor, as of the last tick */
};

struct slurm_switch {
    const char *name;
    uint32_t parent; /* ORR_NONE: the top */
};

struct slurm_named_nodes { /* a NodeSet, or those of a line NodeName= and their features */
    const char *name;
    uint64_t *nodes; /* node set */
};

enum slurm_part_limits { SLURM_PART_LIMITS_NO, SLURM_PART_LIMITS_ANY, SLURM_PART_LIMITS_ALL };

struct slurm_conf {
    struct orr_arena arena;
    uint8_t part_limits;   /* enum slurm_part_limits: what a job of several must keep at submit */
    double max_array_size; /* tasks; 0: not stated, and any number is taken */
    bool sched_backfill, multifactor;
    uint8_t preempt_type, preempt_mode;
    bool preempt_within; /* of any QOS, as of one that says so */
    bool gang;           /* PreemptMode has it, without which nobody is suspended */
    bool job_requeue;    /* unless a job says otherwise */
    double max_assoc_priority;
    double weight_age, weight_assoc, weight_fairshare, weight_jobsize, weight_partition, weight_qos;
    double weight_tres[SLURM_TRES_COUNT];
    orr_ms max_age_ms, decay_half_life_ms, calc_period_ms;
    uint8_t usage_reset; /* enum slurm_usage_reset */
    bool favor_small;
    uint32_t priority_flags; /* enum slurm_priority_flag */
    bool lln;
    bool enforce_limits, enforce_safe, enforce_qos;
    orr_ms preempt_exempt_ms;
    double dampening; /* FairShareDampeningFactor */
    struct slurm_qos *qos;
    uint32_t qos_count, qos_capacity;
    double max_qos_priority;
    struct slurm_assoc *assocs;
    uint32_t assoc_count, assoc_capacity;
    uint32_t user_count; /* associations of users */
    bool own_users;      /* no table was given: users are added as they come */
    struct orr_idmap users;
    /* SchedulerParameters */
    orr_ms batch_sched_delay_ms, sched_interval_ms; /* sched_interval below 0: no main pass */
    int64_t default_queue_depth, partition_job_depth, sched_max_job_start;
    bool defer, assoc_limit_stop;
    orr_ms max_switch_wait_ms;
    orr_ms bf_interval_ms, bf_window_ms, bf_resolution_ms, bf_window_linear_ms;
    orr_ms bf_min_age_reserve_ms;
    int64_t bf_max_job_test, bf_max_job_start, bf_max_job_user, bf_max_job_part, bf_max_job_assoc,
        bf_max_job_user_part, bf_max_job_array_resv, bf_node_space_size, bf_min_prio_reserve,
        bf_job_part_count_reserve;
    bool bf_one_resv_per_job;
    int64_t preempt_reorder_count;
    bool preempt_strict_order, preempt_youngest_first;
    struct slurm_license *licenses;
    uint32_t license_count, license_capacity;
    struct slurm_partition *partitions;
    uint32_t partition_count, partition_capacity;
    struct slurm_partition partition_default; /* of lines PartitionName=DEFAULT; no nodes: none */
    uint32_t default_partition;
    bool states_partitions;          /* else all nodes are one */
    int64_t *weight, weight_default; /* per node; of lines NodeName=DEFAULT */
    struct slurm_named_nodes *node_sets, *featured;
    uint32_t node_set_count, node_set_capacity, featured_count, featured_capacity;
    uint64_t *open_nodes; /* node set: those that no State= or DownNodes= takes away */
    uint64_t *listed;     /* node set: those that lines NodeName= name */
    uint32_t *ordinal;    /* per node: how many before it are of lines NodeName= or partitions */
    bool closed_default;
    struct orr_idmap absent; /* nodes of lines NodeName= that the cluster does not have */
    struct slurm_switch *switches;
    uint32_t switch_count, switch_capacity;
    uint32_t *leaf; /* per node: its switch, or ORR_NONE */
    double max_job_factor;
};

struct slurm_params { /* texts as written; "" where nothing was given */
    const char *slurm_conf, *sacctmgr;
    const char *keys[64]; /* by row of the table in slurm_conf.c */
    orr_ms slurmctld_start_ms;
};
extern const struct orr_param orr_slurm__rows[];

#endif
