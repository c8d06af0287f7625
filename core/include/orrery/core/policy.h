/* SPDX-License-Identifier: GPL-3.0-or-later */
/* policy.h - the contract between a scheduling policy and whoever runs it.
 *
 * A policy is a table of functions with a version and a size. It sees the world through a const
 * view and acts only through the transaction it is handed; every commit re-checks capacity and the
 * laws the policy declared, so a wrong policy is reported by name and never corrupts a run.
 *
 * - open: once, with its parameters filled in.
 * - event: a job was submitted, finished, is pending again or lost tasks: keep your own order up to
 *   date.
 * - cycle: decide: place, evict, explain. What is not rolled back by then is committed.
 * - wake: the earliest time it wants a cycle although nothing happened.
 *
 * Growth is by size: new slots are appended, and a host treats slots beyond `size` as absent.
 */
#ifndef ORR_CORE_POLICY_H
#define ORR_CORE_POLICY_H

#include <orrery/core/ledger.h>
#include <orrery/core/look.h>
#include <orrery/core/param.h>

ORR_API_BEGIN

#define ORR_POLICY_ABI 3u

/* How a job gets on. What its user stated (work, estimate) is in its spec, past evictions are in
 * its state. */
struct orr_job_progress {
    int64_t service;    /* attained: mGPU x ms held since its start that no eviction or failure made
                           useless; what it held before it was bound does not count */
    orr_ms work_ms;     /* all of it, at rate 1; ORR_MS_NONE: nobody knows */
    orr_ms done_ms;     /* of that, rounded down */
    orr_ms kept_ms;     /* of that, what an eviction now would leave */
    int64_t rate_ppm;   /* of the reference placement's, now; 0: it makes no progress */
    orr_ms pause_ms;    /* what starting costs it before it works, or is left of that */
    orr_ms deadline_ms; /* when it is to be done; ORR_MS_NONE: it has none */
    orr_ms estimated_left_ms;   /* by its user's estimate; below 0: it has outrun that */
    int64_t estimate_error_ppm; /* estimate / work - 1: what a simulation knows and a user will; 0
                                   if the work is not known */
};

struct orr_seat { /* tasks of a job on one node, in thought */
    uint32_t node, group, tasks;
};

struct orr_view;
/* What runs a policy knows of work; all may be NULL, and `self` is theirs. */
struct orr_view_work {
    void (*progress)(void *self, const struct orr_view *view, uint32_t job,
                     struct orr_job_progress *progress);
    int64_t (*rate_at)(void *self, const struct orr_view *view, uint32_t job,
                       const struct orr_seat *seats, uint32_t count);
    orr_ms (*deadline_ms)(void *self, const struct orr_view *view, uint32_t job);
    void *self;
};

/* What the workload states of a job in words; each may be NULL, or return NULL for none. */
struct orr_view_words {
    const char *(*user)(void *self, uint32_t job);
    const char *(*options)(void *self, uint32_t job); /* column `sbatch` */
    void *self;
    /* Did anybody state a time limit, or guess one? Else estimate_ms is the run time. */
    bool (*states_limit)(void *self, uint32_t job);
    /* Periods of the job's own (ORR_HEEDS_JOB_PERIODS); ORR_MS_NONE: it states none. */
    orr_ms (*preemption_delay_ms)(void *self, uint32_t job);
    orr_ms (*staleness_grace_ms)(void *self, uint32_t job);
};

struct orr_view {
    const struct orr_cluster *cluster;
    const struct orr_queues *queues;
    const struct orr_shapes *shapes;
    const struct orr_job_spec *specs;
    const struct orr_job_state *jobs;
    uint32_t job_count;
    const struct orr_ledger *ledger;
    orr_ms now;
    orr_ms epoch_ms; /* UTC time, ms since 1970, at which the clock of the run is 0 */
    uint32_t shard;  /* the part of the cluster this policy schedules: its nodes, queues and jobs */
    const struct orr_view_work *work; /* NULL: only what the ledger knows; ask orr_view_progress */
    uint64_t seed; /* of the run; draws are made from it by named streams (rng.h) */
    const struct orr_view_words *words; /* NULL: nobody knows any */
    orr_ms round_ms; /* how long the run has rounds last; 0: it says nothing of them */
};

/* How long the rounds are of a policy whose own are so long. */
static inline orr_ms orr_view_round_ms(const struct orr_view *view, orr_ms own_ms)
{
    return view->round_ms > 0 ? view->round_ms : own_ms;
}

/* Who submitted a job, and the options of sbatch it was submitted with; NULL: not known. They live
 * as long as the run. */
static inline const char *orr_view_user(const struct orr_view *view, uint32_t job)
{
    const struct orr_view_words *words = view->words;
    return words == NULL || words->user == NULL ? NULL : words->user(words->self, job);
}
static inline const char *orr_view_options(const struct orr_view *view, uint32_t job)
{
    const struct orr_view_words *words = view->words;
    return words == NULL || words->options == NULL ? NULL : words->options(words->self, job);
}

/* How long a job takes nothing from others, from its submit and each eviction of it on; 0: it may
 * at once. */
static inline orr_ms orr_view_preemption_delay_ms(const struct orr_view *view, uint32_t job)
{
    const struct orr_view_words *words = view->words;
    const orr_ms stated = words == NULL || words->preemption_delay_ms == NULL
                              ? ORR_MS_NONE
                              : words->preemption_delay_ms(words->self, job);
    return stated == ORR_MS_NONE ? 0 : stated;
}
/* How long a job may run below its minimum, in place of what the policy has for all; below 0: for
 * ever; ORR_MS_NONE: it states nothing. */
static inline orr_ms orr_view_staleness_grace_ms(const struct orr_view *view, uint32_t job)
{
    const struct orr_view_words *words = view->words;
    return words == NULL || words->staleness_grace_ms == NULL
               ? ORR_MS_NONE
               : words->staleness_grace_ms(words->self, job);
}

/* Whether estimate_ms is a time limit that was stated or guessed, not the run time for want of one;
 * true where nobody knows. */
static inline bool orr_view_states_limit(const struct orr_view *view, uint32_t job)
{
    const struct orr_view_words *words = view->words;
    return words == NULL || words->states_limit == NULL || words->states_limit(words->self, job);
}

/* How a job gets on at view->now. Where nobody knows better: it works at rate 1 since it started,
 * keeps nothing when it is evicted, and has no deadline. */
struct orr_job_progress orr_view_progress(const struct orr_view *view, uint32_t job);
/* The rate in ppm that the job would have with all it holds on these seats, as its profile has it,
 * with nobody beside; 0: it cannot work there. 1 000 000 where nobody knows better. */
int64_t orr_view_rate_at(const struct orr_view *view, uint32_t job, const struct orr_seat *seats,
                         uint32_t count);

/* What there is of that part. */
static inline const struct orr_shard_room *orr_view_room(const struct orr_view *view)
{
    return &view->ledger->shards[view->shard];
}

enum orr_job_event {
    ORR_JOB_SUBMITTED, /* or is back after a rule of its queue took it away, reported as ENDED */
    ORR_JOB_ENDED,     /* it is done, or left while it waited: then its phase is WITHDRAWN */
    ORR_JOB_REQUEUED,  /* evicted, and nothing of it is left */
    ORR_JOB_CHANGED, /* other tasks of it are unwanted, or it lost tasks: a failure took them, their
                        grace is over, or another evicted them */
    ORR_JOB_STARTED  /* it runs by nobody's decision here: the run begins from a state. Told instead
                        of SUBMITTED, at the time since which it runs, before the first cycle */
};

/* What the host lends, so that a module linked to nothing can be a policy. Jobs, nodes and groups
 * are indices, as in the view; a statement (orr_txn) and a view are those of the call that the
 * policy is in, and neither they nor what they point to is kept. ledger.h and place.h say more of
 * the function that each member is. */
struct orr_host {
    uint32_t abi, size; /* ORR_POLICY_ABI of the host; bytes of this struct, which only grows */

    /* --- what a cycle decides; ledger.h: orr_txn_ and the name --- */
    /* Tasks of a group of the job's shape on one node, now. False, and nothing done: no room there,
     * not allowed there, or not so many left. With ORR_LAW_GANG a job that waits gets its whole
     * gang in one cycle; a job that does not exist, is not submitted or is over ends the run. */
    bool (*place)(struct orr_txn *, uint32_t job, uint32_t group, uint32_t tasks, uint32_t node);
    /* The same on room that is idle or being released: nobody else gets it in this cycle. */
    bool (*pipeline)(struct orr_txn *, uint32_t job, uint32_t group, uint32_t tasks, uint32_t node);
    /* False: it does not run. A cause that does not exist, or is the run's own (NONE, MAX_RUNTIME),
     * ends the run. */
    bool (*evict)(struct orr_txn *, uint32_t job, enum orr_cause cause);
    /* A mark, and all since it taken back. */
    uint32_t (*checkpoint)(const struct orr_txn *);
    void (*rollback)(struct orr_txn *, uint32_t checkpoint);
    /* Why a pending job stays; holds until the next reason or its start. Of one that does not wait
     * it ends the run. */
    void (*explain)(struct orr_txn *, uint32_t job, enum orr_reason reason);

    /* --- where a job could go; place.h and ledger.h: orr_place_ and orr_ledger_ --- */
    /* Places all tasks of the job on as few nodes as can be, as its topology asks: NONE, or why
     * nothing was placed. */
    enum orr_reason (*place_consolidated)(struct orr_txn *, const struct orr_ledger *,
                                          uint32_t job);
    /* The node with the fewest idle devices that fits so many tasks, the one with the most idle
     * devices that fits one; ORR_NONE: there is none. Then how many tasks a node fits. */
    uint32_t (*best_fit)(const struct orr_ledger *, const struct orr_request *, uint32_t tasks);
    uint32_t (*most_idle)(const struct orr_ledger *, const struct orr_request *);
    uint32_t (*room_for)(const struct orr_ledger *, uint32_t node, const struct orr_request *);

    /* --- memory of the policy: count elements of size bytes, all 0; ends the program when there is
     * none left. The policy frees what it got. --- */
    void *(*alloc)(size_t count, size_t size);
    void (*free)(void *);

    /* The numbers behind a reason, as the books are now; and `explain` with numbers of the policy's
     * own, made from these: queue, level, domain and job ahead exist, or are ORR_NONE. */
    struct orr_proof (*prove)(const struct orr_ledger *, uint32_t job, enum orr_reason reason);
    void (*explain_by)(struct orr_txn *, uint32_t job, enum orr_reason reason,
                       const struct orr_proof *proof);

    /* --- as above, more exactly --- */
    bool (*place_on)(struct orr_txn *, uint32_t job, uint32_t group, uint32_t node,
                     uint64_t devices); /* one task, on the devices of this mask */
    bool (*evict_for)(struct orr_txn *, uint32_t job, enum orr_cause cause,
                      uint32_t beneficiary); /* for the sake of this other job; ORR_NONE: of none */
    bool (*evict_tasks)(struct orr_txn *, uint32_t job, uint32_t placement, uint32_t tasks,
                        enum orr_cause cause,
                        uint32_t beneficiary); /* of one placement; the job goes on, unless it is
                                                  below its minimum: see ORR_ABLE_STALE_GANGS */

    /* --- how jobs get on: what orr_view_progress and orr_view_rate_at (ppm) return --- */
    struct orr_job_progress (*progress)(const struct orr_view *, uint32_t job);
    int64_t (*rate_at)(const struct orr_view *, uint32_t job, const struct orr_seat *,
                       uint32_t count);

    /* --- by policies that say so (`suspends`): a job stays where it is, gives its CPU and makes no
     * progress, until it goes on; ledger.h --- */
    bool (*suspend)(struct orr_txn *, uint32_t job, uint32_t beneficiary);
    bool (*resume)(struct orr_txn *, uint32_t job);
};
const struct orr_host *orr_policy_host(void);

/* *state is the policy's own; it frees it in close. */
typedef enum orr_status orr_policy_open_fn(const struct orr_host *host, const void *params,
                                           const struct orr_view *view, void **state,
                                           struct orr_err *err);
typedef void orr_policy_event_fn(void *state, const struct orr_view *view, enum orr_job_event event,
                                 uint32_t job);
typedef void orr_policy_cycle_fn(void *state, const struct orr_view *view, struct orr_txn *txn);
/* Asked after each cycle: when it wants the next one although nothing happens until then, in
 * absolute ms of the run's clock (that of view->now), after view->now; the next answer takes its
 * place. ORR_MS_NEVER: no wish. A run in which nothing waits, runs or is to come ends all the same.
 */
typedef orr_ms orr_policy_wake_fn(void *state, const struct orr_view *view);
typedef void orr_policy_close_fn(void *state);
/* Parameters that are fine one by one but not together, and texts that are wrong. An error that
 * begins with the name of a parameter shows the place of that one; "NAME:4:9: ..." is line 4 and
 * column 9 of its text, so of its file if it is one (orr_policy_place). So it is of open. */
typedef enum orr_status orr_policy_check_fn(const void *params, struct orr_err *err);
/* What of its parameters bears on nothing, a sentence each, as an error of `check` would begin. */
typedef void orr_policy_say_fn(const char *text, void *context);
typedef void orr_policy_remarks_fn(const void *params, orr_policy_say_fn *say, void *context);
/* What jobs of its shard state (orr_view_words) and it does not look at, a sentence each; the view
 * has no ledger and no states. */
typedef void orr_policy_unheeded_fn(const void *params, const struct orr_view *view,
                                    orr_policy_say_fn *say, void *context);
/* A node went down, or came back: the ledger says which. What is still held on one that is down may
 * go on; nothing starts there. */
typedef void orr_policy_node_fn(void *state, const struct orr_view *view, uint32_t node);
/* The entitlement of a queue (quota, weight, limit) or its priority is another from now on: the
 * view has the new values. Nobody is evicted for it; what it means is for the next cycle. */
typedef void orr_policy_queue_fn(void *state, const struct orr_view *view, uint32_t queue);
/* The fair shares it goes by now, asked for after each cycle: mgpu[queue] is what it reported last,
 * below 0 for none (so at first); it sets those of leaf queues of its shard. False: none is
 * another than before. */
typedef bool orr_policy_shares_fn(void *state, const struct orr_view *view, double *mgpu);
/* The same of one resource, in milli-CPU, bytes or milli-GPU. Of GPUs it is asked for after each
 * cycle; of CPU and memory only where queues have quotas or limits of it and nodes are not without
 * end. Unlimited is no share: below 0. */
typedef bool orr_policy_shares_of_fn(void *state, const struct orr_view *view,
                                     enum orr_share_kind kind, double *amounts);
/* Compares what the policy remembers with the view, between cycles; ORR_BUG names a difference. */
typedef enum orr_status orr_policy_audit_fn(void *state, const struct orr_view *view,
                                            struct orr_err *err);

/* A rule about queues that a job can never meet, whoever else is there. */
struct orr_bar {
    enum orr_reason reason; /* NONE: there is none, and nothing of the rest */
    uint32_t queue;         /* whose limit, quota or part */
    enum orr_share_kind resource;
    int64_t asked, allowed; /* milli-CPU, bytes or milli-GPU; what its gang holds at least */
};
/* The bar to a job with the queues as the view has them; whether nodes have room is not asked. */
typedef struct orr_bar orr_policy_bars_fn(const void *params, const struct orr_view *view,
                                          uint32_t job);

/* The same of many jobs of its shard, for a policy that reads much before it can say so: one bar
 * for each. The view has what jobs state (orr_view_words). */
typedef void orr_policy_bars_of_fn(const void *params, const struct orr_view *view,
                                   const uint32_t *jobs, uint32_t count, struct orr_bar *bars);

/* Work that a policy counts of itself: the same on every machine. */
struct orr_policy_cost {
    const char *action; /* that lives as long as the program */
    uint64_t scenarios; /* sets of victims that it simulated since it was opened */
};
/* Of the nth of its actions, from 0; false: there are no more. */
typedef bool orr_policy_cost_fn(void *state, uint32_t nth, struct orr_policy_cost *cost);

/* How often the nth of the policy's pruners (prune.h) was asked since it was opened. */
struct orr_policy_pruned {
    const char *name; /* that lives as long as the program */
    uint64_t asked, refuted;
};
typedef bool orr_policy_pruned_fn(void *state, uint32_t nth, struct orr_policy_pruned *pruned);

/* Asked after each cycle: can it not go on? Then it says why (ORR_PLUGIN), and the run ends there
 * without results. */
typedef bool orr_policy_failed_fn(void *state, struct orr_err *err);

/* May it suspend jobs with these parameters? If not, a commit that does ends the run. */
typedef bool orr_policy_suspends_fn(const void *params);

/* May it start jobs of this elastic shape with their minimum, with these parameters? Without it a
 * job starts with all its tasks. */
typedef bool orr_policy_starts_least_fn(const void *params, const struct orr_shape *shape);

/* The nodes that pods of a group of a job may use by what the policy decided for the job: a
 * filter as `allowed` of the group's request, and of no nodes beyond it. */
typedef uint32_t orr_policy_narrows_fn(void *state, const struct orr_view *view, uint32_t job,
                                       uint32_t group);

/* The nodes that pods of a job may use by what the policy was configured with, a bit each, until it
 * is asked again; NULL: all. For a policy whose sets of nodes are no filters of the cluster. */
typedef const uint64_t *orr_policy_nodes_fn(void *state, const struct orr_view *view, uint32_t job);

/* How many of the tasks that a job lacks it may get by what the policy decided for the job, and by
 * its quotas, as soon as there are nodes for them. */
typedef uint32_t orr_policy_grants_fn(void *state, const struct orr_view *view, uint32_t job);

/* For parameters that switch a law off: the laws that hold with these. */
typedef uint32_t orr_policy_laws_fn(const void *params);

/* What jobs state and a policy with these parameters looks at (ORR_HEEDS_*). Topology it heeds if
 * ORR_LAW_SPAN is among its laws. */
typedef uint32_t orr_policy_heeds_fn(const void *params);
enum {
    ORR_HEEDS_PRIORITY = 1u << 0,
    ORR_HEEDS_QUEUES = 1u << 1,  /* serves each queue's jobs apart; else there is one line of all */
    ORR_HEEDS_WORK = 1u << 2,    /* true run times: the shortest first */
    ORR_HEEDS_SECONDS = 1u << 3, /* of submit times the whole seconds only */
    ORR_HEEDS_MIN_RUNTIME = 1u << 4, /* queues' preempt_min_runtime and reclaim_min_runtime */
    /* decides by who waits and who holds what since when, and by nothing before it (past use, work
     * done, how often a job was evicted): equal situations are decided equally at any time */
    ORR_HEEDS_NO_PAST = 1u << 5,
    /* of topology what each kind of a job's pods asks by itself, and of a gang of several kinds the
     * same of each; without ORR_LAW_SPAN */
    ORR_HEEDS_KIND_SPANS = 1u << 6,
    ORR_HEEDS_SLICES = 1u << 7,     /* of topology also slices */
    ORR_HEEDS_QUOTAS = 1u << 8,     /* queues' GPU quotas */
    ORR_HEEDS_POD_SIZES = 1u << 9,  /* how few GPUs a pod may run with */
    ORR_HEEDS_ESTIMATES = 1u << 10, /* run times as users estimate them */
    ORR_HEEDS_DEADLINES = 1u << 11,
    /* orders jobs by run times or estimates times GPUs */
    ORR_HEEDS_GPU_TIME = 1u << 12,
    /* run times or estimates bear on what it decides (whom it admits, what is typical), but not on
     * who is before whom */
    ORR_HEEDS_NO_ORDER = 1u << 13,
    ORR_HEEDS_LIMITS = 1u << 14, /* queues' GPU limits; so does who has ORR_LAW_LIMIT */
    ORR_HEEDS_RESERVATIONS =
        1u << 15,                     /* shared devices take pod slots: orr_ledger_reserve_shared */
    ORR_HEEDS_JOB_PERIODS = 1u << 16, /* jobs' own preemption delays and staleness graces */
    /* of queues' quota also its flavors: a job gets nodes of a flavor that its queue has quota of
     */
    ORR_HEEDS_FLAVORS = 1u << 17
};

/* What a policy that heeds GPU_TIME goes by, mGPU x ms: whole up to 2^62; a job without GPUs counts
 * as one of one milli-GPU, and a time below 0 as without end. */
static inline int64_t orr_gpu_time(int64_t mgpu, orr_ms time)
{
    const int64_t most = INT64_MAX / 2, factor = mgpu > 0 ? mgpu : 1;
    return time < 0 || time > most / factor ? most : time * factor;
}

/* Of a policy able of ORR_ABLE_STALE_GANGS: how long after the first cycle that finds a gang below
 * its minimum it ends it, ms; ORR_MS_NEVER: it does not with these parameters. */
typedef orr_ms orr_policy_stale_grace_fn(const void *params);

/* Another scheduler's word for a parameter. In `alias` a star stands for any text without a dot,
 * and what follows "=" for the only value that the row is about. */
struct orr_param_alias {
    const char *alias, *name; /* name NULL: taken and without effect; "": refused; as `why` says */
    const char *why;
};

/* Several parameters under one name; what a user sets beside it wins. */
struct orr_preset {
    const char *name;
    const char *const *settings; /* name, value, ..., NULL */
    const char *help;
};

/* From now on the watcher, which lives as long as it watches, gets what cycles look at, jobs by
 * their indices in the run; without a function it gets no more. */
typedef void orr_policy_watch_fn(void *state, const struct orr_watcher *watcher);

struct orr_policy {
    uint32_t abi, size;
    const char *name, *summary;
    uint32_t laws;   /* ORR_LAW_*: what its commits are held to */
    orr_ms cycle_ms; /* 0: one pass after all events of an instant; else on this grid */
    const struct orr_param *params; /* rows, ended by a NULL name */
    size_t params_bytes;
    orr_policy_open_fn *open;
    orr_policy_event_fn *event;
    orr_policy_cycle_fn *cycle;
    orr_policy_wake_fn *wake; /* may be NULL */
    orr_policy_close_fn *close;
    orr_policy_check_fn *check;            /* may be NULL; before open */
    const struct orr_param_alias *aliases; /* ended by a NULL alias, or NULL */
    const struct orr_preset *presets;      /* ended by a NULL name, or NULL */
    orr_policy_laws_fn *laws_with;         /* may be NULL: `laws` always hold */
    orr_policy_node_fn *node;              /* may be NULL */
    uint32_t abilities;                    /* ORR_ABLE_* */
    orr_policy_audit_fn *audit;            /* may be NULL */
    orr_ms round_ms; /* not 0: it acts in rounds of this length, as under `execution.round` */
    orr_policy_queue_fn *queue;   /* may be NULL */
    orr_policy_heeds_fn *heeds;   /* may be NULL: none of it */
    orr_policy_shares_fn *shares; /* may be NULL: it has none, or shares_of tells them */
    orr_policy_bars_fn *bars;     /* may be NULL: it lets queues hold what they ask */
    orr_policy_stale_grace_fn
        *stale_grace_ms;                /* may be NULL: who can end stale gangs takes any time */
    orr_policy_cost_fn *cost;           /* may be NULL: it counts nothing */
    orr_policy_shares_of_fn *shares_of; /* may be NULL: it has none but those of `shares` */
    orr_policy_pruned_fn *pruned;       /* may be NULL: it has no pruners */
    orr_policy_watch_fn *watch;         /* may be NULL: only what it decides can be seen */
    orr_policy_failed_fn *failed;       /* may be NULL: it can always go on */
    orr_policy_suspends_fn *suspends;   /* may be NULL: it suspends none */
    orr_policy_remarks_fn *remarks;     /* may be NULL: it heeds all; after check */
    orr_policy_unheeded_fn *unheeded;   /* may be NULL: ORR_HEEDS_* say all */
    orr_policy_starts_least_fn *starts_least; /* may be NULL: none */
    orr_policy_bars_of_fn *bars_of;           /* may be NULL: `bars` says it job by job */
    orr_policy_narrows_fn *narrows;           /* may be NULL: pods may use what they ask */
    orr_policy_nodes_fn *nodes;               /* may be NULL: all nodes */
    orr_policy_grants_fn *grants;             /* may be NULL: all that they lack */
};

/* How long its rounds are; 0: it does not act in rounds. */
static inline orr_ms orr_policy_round_ms(const struct orr_policy *policy)
{
    return policy->size > offsetof(struct orr_policy, round_ms) ? policy->round_ms : 0;
}

static inline void orr_policy_notify_node(const struct orr_policy *policy, void *state,
                                          const struct orr_view *view, uint32_t node)
{
    if (policy->size > offsetof(struct orr_policy, node) && policy->node != NULL) {
        policy->node(state, view, node);
    }
}

static inline void orr_policy_notify_queue(const struct orr_policy *policy, void *state,
                                           const struct orr_view *view, uint32_t queue)
{
    if (policy->size > offsetof(struct orr_policy, queue) && policy->queue != NULL) {
        policy->queue(state, view, queue);
    }
}

static inline void orr_policy_watch(const struct orr_policy *policy, void *state,
                                    const struct orr_watcher *watcher)
{
    if (policy->size > offsetof(struct orr_policy, watch) && policy->watch != NULL) {
        policy->watch(state, watcher);
    }
}

/* Does it go by fair shares of a resource? */
static inline bool orr_policy_has_shares(const struct orr_policy *policy, enum orr_share_kind kind)
{
    return (policy->size > offsetof(struct orr_policy, shares_of) && policy->shares_of != NULL) ||
           (kind == ORR_SHARE_GPU && policy->size > offsetof(struct orr_policy, shares) &&
            policy->shares != NULL);
}

static inline bool orr_policy_able(const struct orr_policy *policy, uint32_t ability)
{
    return policy->size > offsetof(struct orr_policy, abilities) &&
           (policy->abilities & ability) != 0;
}

/* ORR_OK for a policy that cannot tell. */
static inline enum orr_status orr_policy_audit(const struct orr_policy *policy, void *state,
                                               const struct orr_view *view, struct orr_err *err)
{
    bool can = policy->size > offsetof(struct orr_policy, audit) && policy->audit != NULL;
    return can ? policy->audit(state, view, err) : ORR_OK;
}

/* What a policy does itself that its runner does otherwise. */
enum {
    /* ends gangs that run below their minimum; without it they are evicted at once */
    ORR_ABLE_STALE_GANGS = 1u << 0,
    ORR_ABLE_PARTS = 1u << 1, /* is notified of ORR_JOB_CHANGED; others are not */
    /* gives jobs that scale the tasks they want while they run, and is notified of ORR_JOB_CHANGED
     * of these; without it and PARTS such a job gets all its tasks at once and keeps them */
    ORR_ABLE_SCALE = 1u << 2,
    /* knows jobs that hold part of what they need to start; is notified of ORR_JOB_CHANGED */
    ORR_ABLE_LOSSES = 1u << 3,
    /* keeps no index of a placement: then commits may join those on nodes in a row (ledger.h) */
    ORR_ABLE_JOINED = 1u << 4
};

/* Is the policy notified of ORR_JOB_CHANGED of such a job? */
static inline bool orr_policy_hears_changes(const struct orr_policy *policy,
                                            const struct orr_job_spec *spec)
{
    return orr_policy_able(policy, ORR_ABLE_PARTS | ORR_ABLE_LOSSES) ||
           (spec->scales && orr_policy_able(policy, ORR_ABLE_SCALE));
}

/* What commits of a run with these parameters are held to. */
uint32_t orr_policy_laws(const struct orr_policy *policy, const void *params);
/* False for a policy that suspends none. */
bool orr_policy_suspends(const struct orr_policy *policy, const void *params);
/* False for a policy that starts none with less than all its tasks. */
bool orr_policy_starts_least(const struct orr_policy *policy, const void *params,
                             const struct orr_shape *shape);
/* `allowed` of the group's request for a policy that narrows none. */
uint32_t orr_policy_narrows(const struct orr_policy *policy, void *state,
                            const struct orr_view *view, uint32_t job, uint32_t group);
/* NULL for a policy that leaves all nodes to its jobs. */
const uint64_t *orr_policy_nodes(const struct orr_policy *policy, void *state,
                                 const struct orr_view *view, uint32_t job);
/* All that the job lacks for a policy that does not say it, and never more. */
uint32_t orr_policy_grants(const struct orr_policy *policy, void *state,
                           const struct orr_view *view, uint32_t job);
/* How long it leaves gangs that run below their minimum, 0 for policies that do not see to them:
 * those are evicted at once. */
orr_ms orr_policy_stale_grace_ms(const struct orr_policy *policy, const void *params);
/* What it looks at with these parameters: ORR_HEEDS_*. */
uint32_t orr_policy_heeds(const struct orr_policy *policy, const void *params);
/* What `failed` says of a policy that takes no job which nobody knew when it was opened
 * (orr_ledger_know), and was notified of one: ORR_PLUGIN. */
enum orr_status orr_policy_fail_late(const char *policy, uint32_t job, struct orr_err *err);
/* As `shares_of` of a policy that has shares of the resource. */
bool orr_policy_shares(const struct orr_policy *policy, void *state, const struct orr_view *view,
                       enum orr_share_kind kind, double *amounts);
/* False for a policy that counts nothing. */
bool orr_policy_cost(const struct orr_policy *policy, void *state, uint32_t nth,
                     struct orr_policy_cost *cost);
/* False for a policy without pruners. */
bool orr_policy_pruned(const struct orr_policy *policy, void *state, uint32_t nth,
                       struct orr_policy_pruned *pruned);
/* False for a policy that can always go on. */
bool orr_policy_failed(const struct orr_policy *policy, void *state, struct orr_err *err);
struct orr_bar orr_policy_bars(const struct orr_policy *policy, const void *params,
                               const struct orr_view *view, uint32_t job);
/* False for a policy that bars no job for good. */
bool orr_policy_may_bar(const struct orr_policy *policy);
/* Of each of these jobs of view->shard. */
void orr_policy_bars_of(const struct orr_policy *policy, const void *params,
                        const struct orr_view *view, const uint32_t *jobs, uint32_t count,
                        struct orr_bar *bars);
/* What jobs state that it does not look at, beside ORR_HEEDS_*. */
void orr_policy_unheeded(const struct orr_policy *policy, const void *params,
                         const struct orr_view *view, orr_policy_say_fn *say, void *context);

#define ORR_PRESET_PARAM "preset" /* what names presets, separated by commas */

/* The row of the policy's aliases that a setting is by; NULL: a parameter's own name, or unknown.
 */
const struct orr_param_alias *orr_policy_word(const struct orr_policy *policy, const char *name,
                                              const char *value);
/* Fills `params` (params_bytes long) with defaults, then presets, then the other settings, and has
 * the policy check them together. Values are borrowed. */
enum orr_status orr_policy_configure(const struct orr_policy *policy, void *params,
                                     const struct orr_setting *settings, size_t count,
                                     struct orr_err *err) ORR_MUST_USE;

/* Puts the place of the setting that an error of the policy names before its text; false: it names
 * none. */
bool orr_policy_place(const struct orr_policy *policy, const struct orr_setting *settings,
                      size_t count, struct orr_err *err);
/* What the policy remarks of its parameters, with their places. */
void orr_policy_remarks(const struct orr_policy *policy, const void *params,
                        const struct orr_setting *settings, size_t count, orr_policy_say_fn *say,
                        void *context);

/* The one symbol a loadable module exports: its table, or NULL for a host it was not made for. */
#define ORR_POLICY_ENTRY "orr_policy_entry"
typedef const struct orr_policy *orr_policy_entry_fn(uint32_t host_abi);
ORR_EXPORT const struct orr_policy *orr_policy_entry(uint32_t host_abi);

ORR_API_END

#endif
