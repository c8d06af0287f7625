/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_int.h - the policy `slurm`: its data, and what its files do for each other.
 *
 * - conf: what slurm.conf, the associations and the QOS say: constant after open (slurm_conf.h).
 * - job: what the policy knows of a job beside its spec; by index of the run.
 * - record: one entry of the queue: a job in one partition it asked for.
 * - rooms: what is free on each node: the ledger's `idle`, or an image of a later time.
 * - node set: bits by node index in 64-bit words; nodes are in the order of the cluster.
 *
 * Times of Slurm are whole seconds of the epoch; here they are ms of the run's clock. */
#ifndef ORR_SLURM_INT_H
#define ORR_SLURM_INT_H

#include <orrery/base/idmap.h>
#include <orrery/base/mem.h>
#include <orrery/core/place.h>
#include <orrery/core/policy.h>

#include "slurm_conf.h"

enum slurm_state { SLURM_UNKNOWN, SLURM_WAITS, SLURM_RUNS };

struct slurm_job {
    /* what passes and cycles look at of each record is together */
    uint8_t state; /* enum slurm_state */
    uint8_t partition_count, partitions[SLURM_JOB_PARTITIONS_MAX];
    uint8_t runs_in;  /* partition */
    bool exclusive;   /* wants whole nodes */
    bool holds_whole; /* of a running one: nobody else may use its nodes */
    bool core_placed; /* parts, levels or pods that come and go: core finds its
                         nodes */
    bool no_requeue;  /* when it loses its nodes it is cancelled */
    bool cancelled;   /* it lost its nodes for good, or will as a victim */
    bool preempting;  /* the last main pass chose victims for it: backfill leaves it alone */
    bool is_lined;    /* its records are in the queue */
    bool submitted;   /* it counts among those that wait or run */
    bool no_partition, no_qos, no_licenses; /* it names one that there is none of */
    bool none_takes;                        /* nothing may be submitted to any of its partitions */
    bool states_nodes;                      /* -N */
    bool is_endless;                        /* --time=UNLIMITED */
    uint32_t array;                         /* ORR_NONE: no task of an array */
    int64_t priority;                       /* set by its user, -1: not */
    orr_ms begin_ms, limit_ms;              /* limit ORR_MS_NEVER: none */
    /* bit by partition: not even its empty nodes could hold the job; or they could; else unknown */
    uint64_t hopeless, hopeful;
    uint64_t account_barred, qos_barred; /* bit by partition: it takes none of its account or QOS */
    uint32_t min_nodes, max_nodes;
    int64_t nice;
    uint32_t switches;     /* at most so many leaf switches, 0: any ... */
    orr_ms switch_wait_ms; /* ... until it has waited so long */
    uint32_t assoc, qos;   /* or ORR_NONE */
    uint32_t licenses;     /* of struct slurm_licenses what it asks, or ORR_NONE */
    uint32_t user;         /* of the run, from 1 on; 0: not stated */
    uint64_t planned_pass; /* the backfill cycle in which it was planned last */
    orr_ms start_ms;       /* of a running one */
    orr_ms submit_ms, accrue_ms;
    int64_t basic;                 /* priority/basic: its number, without nice */
    double age, fair_share;        /* factor, as of the last tick */
    double tres[SLURM_TRES_COUNT]; /* asked: CPUs, MiB, devices, nodes at least */
    double held[SLURM_TRES_COUNT]; /* of a running one: what it was given, whole nodes included */
    orr_ms grace_end_ms;           /* a victim in its grace; ORR_MS_NEVER: it is none */
    uint32_t ends_for;             /* a victim, until it has left: the job that gets its room */
    orr_ms end_ms;                 /* of a running one: when its limit ends */
    orr_ms suspended_ms;           /* since when it is suspended; ORR_MS_NONE: it is not */
    bool kept;                     /* a suspended one: its CPUs are kept from the record at hand */
};

struct slurm_record {
    uint32_t job;
    uint32_t partition;
    uint32_t priority;
    uint32_t limit_class; /* of an entry of the queue, where limits are enforced */
    uint32_t depth_class; /* of an entry of the queue, where backfill has depths */
};

struct slurm_limit_class;
struct slurm_limit_classes { /* records that limits treat alike */
    struct orr_idmap keys;
    struct slurm_limit_class *classes;
    uint32_t capacity;
    bool of_minutes; /* some limit hangs on how long a job may run */
    orr_ms *walls;   /* MaxWall of QOS and associations, ascending */
    uint32_t wall_count, wall_capacity;
};

struct slurm_seat {
    uint32_t node, group, tasks;
};

struct slurm_seats {
    struct slurm_seat *seats;
    uint32_t count, capacity;
};

struct slurm_victim { /* a job that may lose its nodes */
    uint32_t job;
    uint32_t shared; /* nodes of the set found that it holds; to be suspended: is it needed? */
    int64_t key;     /* the lowest goes first */
};

struct slurm_candidate {    /* a node that could take tasks of a group */
    uint32_t node, ordinal; /* of those after each other, ordinals are too */
    int64_t tasks;          /* 0: used up, or left out */
    int64_t free;           /* CPUs, or tasks where CPUs have no end or none are asked */
    int64_t whole;          /* the same of the empty node */
    int64_t weight;
};

struct slurm_want { /* of one group */
    const struct orr_request *request;
    uint32_t group;
    int64_t tasks, min_nodes, max_nodes;
    bool whole; /* idle nodes only */
};

struct slurm_search {
    struct slurm_candidate *candidates, *all; /* all: as they were listed */
    uint32_t count;
    bool lln;
    struct slurm_seats *seats;
    uint32_t leaves; /* switches that were used */
};

struct slurm_left { /* to be found */
    int64_t tasks, nodes, most;
};

struct slurm_slot { /* of backfill's table, from its begin to that of the next
                     */
    orr_ms begin_ms;
    uint64_t *nodes; /* that no reservation takes */
};

struct slurm_array {
    uint32_t limit, running;
    uint64_t rejected_pass; /* the pass in which an element found no place */
    uint32_t rejected_in;   /* partition */
    uint32_t planned;       /* elements that have a plan in this backfill cycle */
    uint64_t foresight;     /* in which as many ... */
    uint32_t foreseen;      /* ... are counted as may have one */
};

enum {
    SLURM_DEPTHS = 4
}; /* of backfill: of a partition, a user, an association, a user in a partition */

struct slurm_depth_count;
struct slurm_depth_class;
struct slurm_depth {
    int64_t most; /* 0: there is no such depth */
    struct orr_idmap keys;
    struct slurm_depth_count *counts; /* by number of a key */
    uint32_t capacity;
};

struct slurm_depths {
    struct slurm_depth of[SLURM_DEPTHS];
    bool any;
    struct orr_idmap keys; /* of records that all depths treat alike */
    struct slurm_depth_class *classes;
    uint32_t capacity;
    uint64_t foresight; /* its number */
};

struct slurm_kept { /* of a node: what suspended jobs get back that the record at hand may not
                       preempt */
    int64_t cpu_milli;
    bool whole;
};

struct slurm_held { /* what a running job holds on one node */
    orr_ms end_ms;
    uint32_t running;      /* its place among those that run */
    uint32_t node, before; /* the one before it on the node, or ORR_NONE */
    struct orr_room room;  /* what is free there when it and those before it have ended */
    bool freed;            /* one of these held the node whole */
    uint8_t partition;     /* of the job */
    int64_t cap_cpu_milli; /* where its partition has MaxCPUsPerNode: what jobs of that gave back */
};

struct slurm_step { /* a node takes more tasks of a shape */
    orr_ms at;      /* ORR_MS_NONE: as it is idle now */
    uint32_t next;  /* of the shape, or ORR_NONE */
    uint32_t ended; /* behind so many of slurm->held */
    uint32_t node;
    int32_t tasks; /* more than before */
    int8_t nodes;  /* 1: it took none before */
};

struct slurm_profile {       /* of a shape: what its nodes take as those that run end */
    uint64_t moves, changes; /* as of which state */
    uint64_t kept_key;
    bool whole;           /* idle nodes only */
    uint32_t first, last; /* steps, in order; or ORR_NONE */
    uint32_t listed;      /* of slurm->held */
};

struct slurm_licenses {
    struct orr_idmap keys; /* what jobs ask ... */
    int64_t *asked;        /* ... by number of a key, then by license */
    uint32_t capacity;
    int64_t *used; /* by license: of jobs that run */
};

/* Could nodes hold a job if nobody held any of them? What is known, until a node goes down or comes
 * back. */
struct slurm_could {
    struct orr_idmap keys;
    bool *hold; /* by number of a key */
    uint32_t capacity;
};

struct slurm_shut { /* in this cycle of backfill no time until then has nodes for so long */
    orr_ms lasts_ms, until_ms;
};

struct slurm_bound { /* of a shape: when its tasks have room, if all nodes of the partition are free
                        of plans */
    uint64_t moves, changes; /* as of which state */
    uint64_t kept_key;
    uint32_t partition, min_nodes;
    bool exclusive;
    orr_ms earliest_ms;
    struct slurm_profile profile;
    uint64_t shut_cycle; /* shut holds in this cycle; of the same partition, nodes and exclusive */
    struct slurm_shut *shut; /* the longer it lasts the later: those that say no more are gone */
    uint32_t shut_count, shut_capacity;
};

struct slurm_cap { /* of a partition with MaxCPUsPerNode */
    int64_t *used; /* per node: CPUs that its jobs have there; NULL: not yet added up ... */
    uint64_t moves, changes; /* ... as of which state */
};

struct slurm {
    struct slurm_conf conf;
    const struct slurm_params *params;
    struct orr_watcher watcher;
    struct orr_idmap users; /* who submitted a job so far */
    struct orr_idmap arrays;
    struct slurm_array *array;
    uint32_t array_capacity;
    struct slurm_job *jobs;
    uint32_t job_capacity;
    uint32_t *fresh; /* jobs that came since the last cycle, in order: not yet taken */
    uint32_t fresh_count, fresh_capacity;
    struct slurm_record *queue; /* in order; records of jobs that left are taken
                                   out behind a pass */
    uint32_t queue_count, queue_capacity;
    /* the queue is as orr_slurm__queue_arrange made it: new records go to its end */
    bool is_listed;
    struct slurm_limit_classes limit_classes;
    uint32_t *running; /* jobs, by the end of their limits, then in order of start */
    uint32_t running_count, running_capacity;
    uint32_t *running_in; /* per partition: jobs */
    uint32_t
        *suspended; /* of those that run: the higher tier or QOS first, then in order of start */
    uint32_t suspended_count, suspended_capacity;
    struct slurm_kept *kept; /* per node, of the record at hand; all 0 unless kept_any */
    bool overtaken;          /* one of them went on while another of a higher rank did not */
    int64_t *given;          /* per node: CPUs of those that are to be suspended */
    bool kept_any;
    uint64_t kept_key; /* equal: the same is kept from it, as long as `moves` is the same */
    /* The part of kept_key that suspended jobs make, for this record as of this value of `moves`
     * (0: not known) */
    uint64_t kept_of_suspended, kept_moves;
    uint32_t kept_job, kept_partition;
    /* MaxCPUsPerNode of the partition of the record at hand */
    int64_t cap_cpu_milli;  /* INT64_MAX: none */
    uint32_t cap_partition; /* it, if it has one */
    struct slurm_cap *caps; /* per partition */
    int64_t *cap_gone;      /* per node: CPUs that its jobs have there and that are gone in an
                               image */
    uint64_t *cap_image;    /* per node: the image of cap_gone */
    int64_t next_basic;
    /* clocks */
    orr_ms start_ms;     /* of slurmctld */
    orr_ms last_tick_ms; /* of the priorities; ORR_MS_NONE: none yet */
    orr_ms last_pass_ms, last_backfill_ms;
    bool asked;   /* something asked for a main pass at a tick */
    bool at_once; /* a job ended: a main pass now */
    bool changed; /* something happened since the last backfill cycle */
    bool changed_since_full;
    orr_ms next_begin_ms; /* the earliest time at which a waiting job may be
                             looked at */
    uint64_t pass;        /* number of the main pass or backfill cycle */
    uint32_t taken_out;   /* records in the queue whose jobs do not wait any more */
    /* scratch */
    uint32_t words; /* of a node set */
    uint64_t *up;   /* nodes that are open and not down ... */
    bool up_is_old; /* ... as of a time before some node went down or came back */
    struct slurm_could could;
    uint64_t *left, *usable; /* main pass: nodes that are up and not withdrawn; of one record */
    uint64_t *open_to;       /* nodes of the job that was asked for last */
    bool *failed;            /* per partition */
    uint32_t *part_seen;     /* per partition: records seen in this pass */
    struct orr_room *image;  /* rooms at a later time */
    uint64_t image_number;
    uint64_t *roomy;         /* nodes of the image that can have tasks */
    uint64_t moves;          /* grows when a job starts or stops */
    struct slurm_held *held; /* of all that run, in their order, ... */
    uint32_t held_count, held_capacity;
    uint64_t held_moves, held_changes, held_kept_key; /* ... as of which state */
    uint32_t *last_held;      /* per node: the last of them there, or ORR_NONE */
    struct slurm_step *steps; /* of all profiles of that state */
    uint32_t step_count, step_capacity;
    uint64_t step_moves, step_changes;
    struct slurm_bound *bounds; /* per shape */
    uint64_t
        shut_cycle;  /* number of the cycle of backfill, or of the part of it since an eviction */
    bool was_enough; /* the last test had room for all tasks at some time */
    uint32_t bound_capacity;
    struct slurm_depths depths;
    struct slurm_licenses licenses;
    uint32_t *reach; /* of the queue, in order: records that the cycle of backfill may come to;
                        those at the end that cannot start are cut off */
    uint32_t reach_count, reach_capacity;
    uint32_t *part_planned; /* per partition: plans of this cycle */
    orr_ms *planned_from;   /* per node: its earliest plan; ORR_MS_NEVER: none */
    uint32_t *exclusive;    /* per node: jobs that hold it whole */
    uint64_t *freed; /* per node: the image in which the job that holds it whole was taken out */
    bool in_image;   /* nodes are looked at in an image, not as they are */
    struct slurm_candidate *candidates; /* two for each node */
    struct slurm_victim *victims;
    uint32_t victim_capacity;
    uint64_t *found; /* nodes that a preemptor would get */
    orr_ms next_kill_ms;
    uint32_t *cancelled; /* jobs that were since the last cycle */
    uint32_t cancelled_count, cancelled_capacity;
    bool ever; /* the question is whether empty nodes, those that are down included, would do */
    struct slurm_seats seats;
    struct slurm_slot *slots;
    uint32_t slot_count, slot_capacity;
    uint64_t **spare_sets; /* node sets of slots to be used again */
    uint32_t spare_count, spare_capacity;
    double cluster_amounts[SLURM_TRES_COUNT]; /* as of a partition, of all nodes
                                                 of the shard */
};

enum { SLURM_OPTIONS_MAX = 95 };
enum slurm_heard { SLURM_UNHEARD, SLURM_WRONG /* its value makes no sense */, SLURM_HEARD };

struct slurm_tally { /* of options by how they were heard, the last those that sbatch has not */
    uint32_t count[SLURM_HEARD][SLURM_OPTIONS_MAX + 1];
    const char *first[SLURM_HEARD][SLURM_OPTIONS_MAX + 1];
    int first_bytes[SLURM_HEARD][SLURM_OPTIONS_MAX + 1];
};

struct slurm_options { /* what they say beside struct slurm_job */
    char account[128];
    struct slurm_tally *tally; /* NULL: nobody asks */
};

/* Slurm counts whole seconds, rounded down. */
static inline int64_t slurm_second_of(orr_ms at)
{
    return at >= 0 ? at / 1000 : -((999 - at) / 1000);
}

static inline bool slurm_has(const uint64_t *nodes, uint32_t node)
{
    return (nodes[node >> 6] >> (node & 63) & 1) != 0;
}

static inline bool slurm_has_flag(const struct slurm_conf *conf, const struct slurm_job *job,
                                  enum slurm_qos_flag flag)
{
    return job->qos != ORR_NONE && (conf->qos[job->qos].flags & flag) != 0;
}

/* The account of an association, which may be the account's own; ORR_NONE: of none. */
static inline uint32_t slurm_account(const struct slurm_conf *conf, uint32_t assoc)
{
    return assoc == ORR_NONE || conf->assocs[assoc].user == NULL ? assoc
                                                                 : conf->assocs[assoc].parent;
}

static inline const struct orr_shape *slurm_shape(const struct orr_view *view, uint32_t job)
{
    return &view->shapes->shapes[view->specs[job].shape];
}

/* slurm_conf.c */
/* What of slurm_conf and sacctmgr is not heeded, as orr_policy_remarks_fn. */
void orr_slurm__remarks(const void *params, orr_policy_say_fn *say, void *context);
enum orr_status orr_slurm__conf_read(struct slurm_conf *conf, const struct slurm_params *params,
                                     const struct orr_view *view, struct orr_err *err);
void orr_slurm__conf_release(struct slurm_conf *conf);
uint32_t orr_slurm__partition(const struct slurm_conf *conf, const char *name, size_t bytes);

/* slurm_text.c: Slurm's words. All take the whole text. */
/* The same word, in any case of its letters? */
bool orr_slurm__same(const char *text, size_t bytes, const char *word);
/* "minutes", "minutes:seconds", "hours:minutes:seconds",
 * "days-hours[:minutes[:seconds]]", INFINITE and UNLIMITED (ORR_MS_NEVER). */
bool orr_slurm__time(const char *text, size_t bytes, orr_ms *out);
/* The same of what slurmctld keeps in whole minutes. */
bool orr_slurm__minutes(const char *text, size_t bytes, orr_ms *out);

/* slurm_assoc.c */
uint32_t orr_slurm__qos(const struct slurm_conf *conf, const char *name, size_t bytes);
/* Of an account (NULL: any) and a user (NULL: the account's own); ORR_NONE:
 * there is none. */
uint32_t orr_slurm__assoc(const struct slurm_conf *conf, const char *account, const char *user);
/* The texts are borrowed; shares below 0 are shares=parent. */
uint32_t orr_slurm__assoc_add(struct slurm_conf *conf, uint32_t parent, const char *account,
                              const char *user, double shares);

/* slurm_access.c: AllowAccounts and its like. */
/* Bits of the partitions that take no jobs of its account or QOS. */
void orr_slurm__read_access(const struct slurm_conf *conf, struct slurm_job *job);
/* A job of a partition that takes none goes to its alternate one; those that have none are left
 * out. */
void orr_slurm__take_alternates(const struct slurm_conf *conf, struct slurm_job *job);
/* May its jobs have this QOS? */
bool orr_slurm__may_have(const struct slurm_conf *conf, uint32_t assoc, uint32_t qos);

/* slurm_usage.c */
/* Decay, usage of running jobs and fair-share factors at a tick;
 * slurm->last_tick_ms is the tick before. */
void orr_slurm__usage_tick(struct slurm *slurm, const struct orr_view *view, orr_ms tick);
/* Fair-share factors of all users from what they used. */
void orr_slurm__fair_tree(struct slurm_conf *conf);
/* The same of NO_FAIR_TREE, of accounts or of users. */
void orr_slurm__classic(struct slurm_conf *conf, bool users);
/* Does what nobody adds to fall, as ticks pass? */
bool orr_slurm__usage_falls(const struct slurm_conf *conf);
/* A job ends that runs. */
void orr_slurm__usage_end(struct slurm *slurm, uint32_t job, orr_ms now);

/* slurm_limits.c */
enum slurm_phase {                 /* which limits are looked at */
                   SLURM_BEFORE,   /* counts and times: no nodes were chosen yet */
                   SLURM_BEHIND,   /* resources, on the nodes of slurm->seats */
                   SLURM_AT_LEAST, /* all that resources as asked pass on whatever nodes it got */
                   SLURM_AS_ASKED, /* all, resources as asked */
                   SLURM_PHASES
};

struct slurm_verdict {
    enum orr_reason reason; /* the limit that keeps a job from running; ORR_REASON_NONE: none */
    bool eases;             /* it is passed by what was used, and will not be if only time passes */
};
/* What limits say of a job in a partition now. */
struct slurm_verdict orr_slurm__judge(const struct slurm *slurm, const struct orr_view *view,
                                      uint32_t job, uint32_t partition, enum slurm_phase phase);
/* The limit that keeps a job from running now in a partition; ORR_REASON_NONE: none does. */
enum orr_reason orr_slurm__limits(const struct slurm *slurm, const struct orr_view *view,
                                  uint32_t job, uint32_t partition, enum slurm_phase phase);

/* slurm_limit_class.c */
void orr_slurm__limit_classes_open(struct slurm *slurm);
void orr_slurm__limit_classes_close(struct slurm *slurm);
/* Of a job in a partition: that of its records. */
uint32_t orr_slurm__limit_class(struct slurm *slurm, uint32_t job, uint32_t partition);
/* The same as orr_slurm__judge of an entry of the queue, in any phase but SLURM_BEHIND. */
struct slurm_verdict orr_slurm__record_limits(const struct slurm *slurm,
                                              const struct orr_view *view,
                                              const struct slurm_record *record,
                                              enum slurm_phase phase);

/* slurm_limits.c */
/* A job counts as what it holds among those that run from now on, or no more. */
void orr_slurm__count_running(struct slurm *slurm, uint32_t job, bool in);

/* Does a limit on what was used hold back a job that waits, and will it not, if only time passes?
 */
bool orr_slurm__limits_ease(const struct slurm *slurm, const struct orr_view *view);

/* The limit that a job passes by itself, were nothing else there; ORR_REASON_NONE: it passes none.
 * SLURM_AT_LEAST: on whatever nodes, and one that allows no jobs to run counts too; SLURM_AS_ASKED:
 * as DenyOnLimit looks at it. */
enum orr_reason orr_slurm__limit_alone(const struct slurm *slurm, uint32_t job, uint32_t partition,
                                       enum slurm_phase phase);

/* slurm_submit.c */
/* Do MinNodes and MaxNodes of a partition let it in? */
bool orr_slurm__has_nodes_for(const struct slurm_conf *conf, uint32_t partition,
                              const struct slurm_job *job);
/* Does MaxTime? */
bool orr_slurm__has_time_for(const struct slurm_conf *conf, uint32_t partition,
                             const struct slurm_job *job);
/* Why sbatch does not take `count` jobs at once, the tasks of one array, or one job;
 * ORR_REASON_NONE: it does. */
enum orr_reason orr_slurm__refusal(const struct slurm *slurm, const uint32_t *jobs, uint32_t count);
/* A job counts among those that wait or run from now on, or no more. */
void orr_slurm__count_submit(struct slurm *slurm, uint32_t job, bool in);

/* slurm_options.c */
/* Reads its options of sbatch and its partitions. */
void orr_slurm__options_read(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                             struct slurm_job *j, struct slurm_options *out);
/* Tells of a tally, a sentence for each option. */
void orr_slurm__options_say(const struct slurm_tally *tally, orr_policy_say_fn *say, void *context);

/* slurm_job.c */
/* Reads what the job was submitted with; what makes no sense is passed over. */
void orr_slurm__job_read(struct slurm *slurm, const struct orr_view *view, uint32_t job);
/* The association of a job: its user's, of the account that it names or whose name its queue bears,
 * or the first that the user is in; else that account itself. */
uint32_t orr_slurm__assoc_of(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                             const struct slurm_options *options);
/* Has it no time limit, by itself or of a partition? */
bool orr_slurm__is_unlimited(const struct slurm_conf *conf, const struct orr_view *view,
                             uint32_t job, uint32_t partition);
/* The time limit that sbatch gives it: where none is stated DefaultTime of its first partition,
 * else MaxTime. Without either the scheduler is given the run time. */
orr_ms orr_slurm__stated_limit(const struct slurm_conf *conf, const struct orr_view *view,
                               uint32_t job, uint32_t partition);
/* May the scheduler look at it at this time, as far as the job alone is
 * concerned? */
bool orr_slurm__job_eligible(const struct slurm *slurm, const struct orr_view *view, uint32_t job);

/* slurm_unheeded.c: as orr_policy_unheeded_fn. */
void orr_slurm__unheeded(const void *params, const struct orr_view *view, orr_policy_say_fn *say,
                         void *context);

/* slurm_bars.c: as orr_policy_bars_of_fn. */
void orr_slurm__bars_of(const void *params, const struct orr_view *view, const uint32_t *jobs,
                        uint32_t count, struct orr_bar *bars);

/* slurm_priority.c */
uint32_t orr_slurm__priority(const struct slurm *slurm, uint32_t job, uint32_t partition);
/* All ticks that are due by now. */
void orr_slurm__priority_ticks(struct slurm *slurm, const struct orr_view *view);
/* A job comes, or comes again: its factors as of now. */
void orr_slurm__priority_new(struct slurm *slurm, const struct orr_view *view, uint32_t job);

/* slurm_queue.c */
void orr_slurm__queue_add(struct slurm *slurm, uint32_t job);
void orr_slurm__queue_sort(struct slurm *slurm);
void orr_slurm__queue_compact(struct slurm *slurm);
/* Before a pass or cycle: the order where preemption by QOS contradicts tiers and priorities. */
void orr_slurm__queue_arrange(struct slurm *slurm, const struct orr_view *view);

/* slurm_rooms.c */
struct orr_room orr_slurm__full_room(const struct orr_node_type *type);
void orr_slurm__take(struct orr_room *room, const struct orr_request *request, int64_t tasks);
/* How many tasks of a group a node with this room could take. */
int64_t orr_slurm__tasks_on(const struct slurm *slurm, const struct orr_view *view, uint32_t node,
                            const struct orr_room *room, const struct slurm_want *want);
void orr_slurm__list_candidates(const struct slurm *slurm, const struct orr_view *view,
                                const uint64_t *usable, const struct orr_room *rooms,
                                const struct slurm_want *want, struct slurm_search *search);

/* Does nobody hold anything of a node with this room? */
bool orr_slurm__is_idle(const struct orr_view *view, uint32_t node, const struct orr_room *room);

/* slurm_cap.c: MaxCPUsPerNode. */
void orr_slurm__cap_open(struct slurm *slurm);
void orr_slurm__cap_close(struct slurm *slurm);
/* From now on rooms are looked at for jobs of this partition. */
void orr_slurm__cap_from(struct slurm *slurm, const struct orr_view *view, uint32_t partition);
/* What of the CPUs of a room the cap leaves. */
int64_t orr_slurm__capped(const struct slurm *slurm, uint32_t node, int64_t cpu_milli);
/* Of an image: a job leaves a node, or all up to one of slurm->held there (ORR_NONE: nobody). */
void orr_slurm__cap_leave(struct slurm *slurm, uint32_t job, uint32_t node, int64_t cpu_milli);
void orr_slurm__cap_behind(struct slurm *slurm, uint32_t node, uint32_t held);
/* What jobs of its partition have given back of the node behind one of slurm->held. */
int64_t orr_slurm__cap_given(const struct slurm *slurm, const struct orr_view *view,
                             const struct slurm_held *held);
/* A job takes CPUs of a node, or gives them back. */
void orr_slurm__cap_take(struct slurm *slurm, uint32_t node, int64_t cpu_milli);
/* Does what was placed of a job in this transaction keep the cap? */
bool orr_slurm__keeps_cap(const struct slurm *slurm, const struct orr_view *view, uint32_t job);

/* slurm_fit.c: seats among the candidates; again without the nodes that take the fewest tasks,
 * as long as there are enough. */
bool orr_slurm__find(struct slurm_search *search, const struct slurm_want *want);
/* Takes what a candidate can have of what is left. */
void orr_slurm__seat(struct slurm_search *search, uint32_t candidate, uint32_t group,
                     struct slurm_left *left);

/* slurm_select.c */
struct slurm_want orr_slurm__want(const struct slurm *slurm, const struct orr_view *view,
                                  uint32_t job, const struct slurm_partition *partition,
                                  uint32_t group);
/* Finds nodes of `usable` for all tasks of the job in `rooms`; what they take
 * stays subtracted from rooms where `rooms` is the image. True: slurm->seats
 * says where. */
bool orr_slurm__select(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                       const struct slurm_partition *partition, const uint64_t *usable,
                       struct orr_room *rooms);
/* Finds nodes in what is idle now and places the job there. */
bool orr_slurm__select_now(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                           uint32_t job, const struct slurm_partition *partition,
                           const uint64_t *usable);
/* What the job holds on slurm->seats. */
void orr_slurm__amounts_of_seats(const struct slurm *slurm, const struct orr_view *view,
                                 uint32_t job, uint32_t partition, double *tres);
/* slurm_ever.c: could the empty nodes of the partition not hold the job? Found out once. */
bool orr_slurm__is_hopeless(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                            uint32_t partition);
/* Can only nodes hold the job that are not among those that this pass has left of the partition,
 * whoever leaves these? ReqNodeNotAvail: it closes nothing. */
bool orr_slurm__lacks_nodes(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                            uint32_t partition, const uint64_t *left);
/* A node went down, or came back. */
void orr_slurm__forget_could(struct slurm *slurm);

/* slurm_profile.c */
/* What a node has free behind one of slurm->held there; ORR_NONE: now. */
struct orr_room orr_slurm__room_behind(const struct slurm *slurm, const struct orr_view *view,
                                       uint32_t node, uint32_t held);
/* The profile of a job's shape as of now, with what is idle at least; the first group counts.
 * Borrowed until the next call. */
struct slurm_profile *orr_slurm__profile(struct slurm *slurm, const struct orr_view *view,
                                         uint32_t job, const struct slurm_partition *partition,
                                         const struct slurm_want *want);
/* The step behind the last one of a profile, if there is one by a time; ORR_NONE: there is none. */
uint32_t orr_slurm__next_step(struct slurm *slurm, const struct orr_view *view,
                              const struct slurm_want *want, struct slurm_profile *profile,
                              orr_ms by);
/* Lists slurm->held as of now. */
void orr_slurm__list_held(struct slurm *slurm, const struct orr_view *view);

/* slurm_will_run.c */
/* When could it start on these nodes, as the limits of those that run have it?
 * ORR_MS_NEVER: not by that time. slurm->seats says where. */
orr_ms orr_slurm__will_run(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                           const struct slurm_partition *partition, const uint64_t *usable,
                           orr_ms by);
/* The time before which no part of the partition's nodes holds it; ORR_MS_NEVER: none ever does. */
orr_ms orr_slurm__earliest(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                           uint32_t partition);

/* The time until which, as was found in this cycle, no time has nodes of the partition for the job
 * that are free of plans as long as it lasts; ORR_MS_NONE: nothing is known. Asked behind
 * orr_slurm__earliest of the same job. */
orr_ms orr_slurm__shut_until(const struct slurm *slurm, const struct orr_view *view, uint32_t job,
                             orr_ms lasts);
/* That was found now. */
void orr_slurm__shut(struct slurm *slurm, const struct orr_view *view, uint32_t job, orr_ms lasts,
                     orr_ms until);

/* slurm_plan.c */
/* Forgets all plans. */
void orr_slurm__plan_none(struct slurm *slurm, const struct orr_view *view);
/* Takes the nodes that have a plan between two times, both included, out of a set. */
void orr_slurm__plan_free(const struct slurm *slurm, orr_ms from, orr_ms until, uint64_t *nodes);
/* The end of the first slot from a time on behind which there are other nodes: the time to look
 * again; ORR_MS_NEVER: none. */
orr_ms orr_slurm__plan_later(const struct slurm *slurm, orr_ms from);
/* The last time from one on, but before a bound, from which there are other nodes; else the first.
 */
orr_ms orr_slurm__plan_before(const struct slurm *slurm, orr_ms from, orr_ms bound);
/* Plans slurm->seats; false: a plan takes one of them in that time. */
bool orr_slurm__plan(struct slurm *slurm, const struct orr_view *view, orr_ms from, orr_ms until);

/* slurm_preempt.c */
bool orr_slurm__preempts(const struct slurm *slurm); /* at all? */
/* May some job that runs not be preempted yet, because of PreemptExemptTime? */
bool orr_slurm__any_exempt(const struct slurm *slurm, orr_ms now);
/* By tier or QOS; where the victim runs, or would, is victim->partition. */
bool orr_slurm__can_preempt(const struct slurm *slurm, const struct slurm_record *record,
                            const struct slurm_record *victim);
/* A job in a partition, to be compared with others by orr_slurm__can_preempt: of its priority only
 * what that looks at. */
struct slurm_record orr_slurm__rival(const struct slurm *slurm, uint32_t job, uint32_t partition);
/* Lists the running jobs that a record may preempt in slurm->victims, those that would be
 * suspended or all others, the first to go first; how many they are. */
uint32_t orr_slurm__list_victims(struct slurm *slurm, const struct orr_view *view,
                                 const struct slurm_record *record, bool suspended);
/* Would a record fit if others were evicted for it? */
bool orr_slurm__has_victims(struct slurm *slurm, const struct orr_view *view,
                            const struct slurm_record *record, const uint64_t *usable);
/* Evicts others for a record, or begins their grace, as far as the room of those that leave for it
 * does not do; false: that would not help it. */
bool orr_slurm__preempt(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                        const struct slurm_record *record, const uint64_t *usable);
/* Ends victims whose grace was over by a check of time limits. */
void orr_slurm__end_graces(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn);

/* slurm_suspend.c */
/* Has any preemption the mode SUSPEND? */
bool orr_slurm__suspends(const struct slurm_conf *conf);
/* From now on rooms are looked at for this job in this partition: CPUs of suspended jobs that it
 * may not preempt are taken. */
void orr_slurm__keep_from(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                          uint32_t partition);
/* Suspends others for a record and starts it on their CPUs: ORR_REASON_NONE. Else a limit of its
 * QOS or association, or ORR_REASON_NO_CAPACITY: that would not help it. */
enum orr_reason orr_slurm__suspend(struct slurm *slurm, const struct orr_view *view,
                                   struct orr_txn *txn, const struct slurm_record *record,
                                   const uint64_t *usable);
/* Those whose CPUs are idle go on. */
void orr_slurm__resume(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn);
/* The job is not suspended any more. */
void orr_slurm__forget_suspended(struct slurm *slurm, uint32_t job);

/* slurm_policy.c: by node, the jobs that run and hold it whole. */
void orr_slurm__count_exclusive(struct slurm *slurm, const struct orr_view *view);

/* slurm_topology.c */
bool orr_slurm__find_in_tree(const struct slurm *slurm, struct slurm_search *search,
                             const struct slurm_want *want);

/* slurm_main.c */
void orr_slurm__main_pass(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                          bool full);
/* It was placed in a partition: it runs. */
void orr_slurm__started(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                        uint32_t partition);
void orr_slurm__explain(const struct orr_view *view, struct orr_txn *txn, uint32_t job,
                        enum orr_reason reason, uint32_t ahead);
/* The time limit that plans count with. */
orr_ms orr_slurm__limit_ms(const struct slurm *slurm, uint32_t job, uint32_t partition);
/* May it keep nodes from those behind it, as far as bf_min_age_reserve and bf_min_prio_reserve go?
 */
bool orr_slurm__reserves(const struct slurm *slurm, const struct slurm_record *record, orr_ms now);
/* Why a partition never takes a job, as long as it is what it is; ORR_REASON_NONE: it may. */
enum orr_reason orr_slurm__partition_bars(const struct slurm_conf *conf,
                                          const struct slurm_job *job, uint32_t partition);
/* Why the scheduler does not try a record now; ORR_REASON_NONE: it does. */
enum orr_reason orr_slurm__barred(const struct slurm *slurm, const struct slurm_record *record);

/* slurm_licenses.c */
void orr_slurm__licenses_open(struct slurm *slurm);
void orr_slurm__licenses_close(struct slurm *slurm);
/* What "matlab:2,ansys" asks; false: there is no such license, or fewer in all. */
bool orr_slurm__ask_licenses(struct slurm *slurm, const char *text, size_t bytes, uint32_t *asked);
/* Would a job that does not run yet have more licenses than those that run leave? */
bool orr_slurm__lacks_licenses(const struct slurm *slurm, uint32_t job);
/* A job starts, or stops. */
void orr_slurm__count_licenses(struct slurm *slurm, uint32_t job, bool in);

/* slurm_depths.c: bf_max_job_user and its like. */
void orr_slurm__depths_open(struct slurm *slurm);
void orr_slurm__depths_close(struct slurm *slurm);
/* Of a job in a partition: that of its records. */
uint32_t orr_slurm__depth_class(struct slurm *slurm, uint32_t job, uint32_t partition);
/* A cycle begins: nothing was tested. */
void orr_slurm__depths_begin(struct slurm *slurm);
/* Counts a record by its partition, user and association; false: one of them was tested as often as
 * it may be, or its array has as many plans as it may have. */
bool orr_slurm__within_depths(struct slurm *slurm, const struct slurm_record *record);
/* From now on the rest of the queue is foreseen, record by record. */
void orr_slurm__depths_foresee(struct slurm *slurm);
/* Will the depths of a record be used up before it for sure? */
bool orr_slurm__depths_refuse(struct slurm *slurm, const struct slurm_record *record);
/* A record comes that they may not refuse, and that nothing else passes over. Is it tested for
 * sure? */
bool orr_slurm__depths_expect(struct slurm *slurm, const struct slurm_record *record);

/* slurm_backfill.c */
/* Did it start a job? */
bool orr_slurm__backfill(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn);

#endif
