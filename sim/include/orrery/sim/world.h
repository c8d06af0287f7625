/* SPDX-License-Identifier: GPL-3.0-or-later */
/* world.h - what a run starts from: the scenario's cluster and queues, the trace's rows as jobs.
 *
 * sim/replay is the one translator between the trace's words and the core's. Everything here is
 * constant once built; the ledger and the engine refer to it.
 */
#ifndef ORR_SIM_WORLD_H
#define ORR_SIM_WORLD_H

#include <signal.h>

#include <orrery/core/job.h>
#include <orrery/core/policy.h>
#include <orrery/core/queue.h>
#include <orrery/core/reason.h>
#include <orrery/sim/scenario.h>
#include <orrery/sim/profiles.h>
#include <orrery/sim/service.h>
#include <orrery/sim/terms.h>
#include <orrery/traces/reader.h>

struct orr_world_step { /* of a service: from then on it wants so many pods */
    orr_ms at_ms;
    uint32_t pods;
};

struct orr_world_service { /* of a part that is an inference service: one job */
    struct orr_service_plan plan;
    struct orr_rates rates;       /* over the run */
    double *per_s;                /* of them, owned */
    orr_ms load_ms;               /* from a replica's start until it serves */
    uint32_t pods;                /* of a replica */
    struct orr_world_step *steps; /* owned; the first when it comes, the last when it ends */
    uint32_t step_count;
};

struct orr_world_row {   /* what is asked of a row once it is a job */
    uint32_t job, user;  /* index in the workload's names; user: or ORR_NONE */
    uint32_t extra : 31; /* index + 1 in the workload's extras, or 0 */
    uint32_t states_limit : 1;
};

struct orr_world_part {                   /* one part of the workload */
    const struct orr_scenario_part *part; /* borrowed from the scenario */
    struct orr_workload workload;         /* without its rows, once the world is built */
    struct orr_world_row *rows;           /* as many */
    struct orr_world_service *service;    /* NULL: it is none */
    uint32_t first_source;                /* spec.source of its row 0 */
    orr_ms copy_span_ms;                  /* from one copy to the next */
    orr_ms copy_lead_ms; /* free before the first submit of a copy, and after its last */
    orr_ms first_submit_ms;
    orr_ms scale_from_ms; /* arrivals after it are scaled: its first submit, or the run's begin */
    bool scales;          /* scale.arrivals makes more or less load of it */
};

struct orr_world_hold { /* a job that may not be considered when it is submitted */
    uint32_t job;
    uint32_t waits_for; /* jobs whose end it waits for */
    orr_ms eligible_ms; /* nor before this time; its submit when it only waits for others */
    orr_ms think_ms;    /* nor so long after the last of these ended */
    bool refused;       /* nor ever: it is larger than its queue allows */
    bool absent;        /* nor ever: it was taken away (orr_world_take_away) */
    bool by_user;       /* what holds it back is its user, who submits it only then */
};

struct orr_queue_rules {  /* about single jobs of a queue, inherited ones included */
    int64_t max_job_mgpu; /* -1: any */
    orr_ms max_session_ms, stop_idle_ms, max_runtime_ms, requeue_delay_ms; /* ORR_MS_NONE: none */
    bool ends_at_limit;    /* jobs that state a time limit */
    bool limits_are_whole; /* a limit lasts to the end of its minute, as policy slurm keeps it */
};

struct orr_world_ruled { /* a job that such a rule bites */
    uint32_t job;
    uint8_t rule; /* enum orr_rule */
};

struct orr_world_edge { /* hold waits for the end of job */
    uint32_t job, hold;
};

enum orr_outage_kind {
    ORR_OUTAGE_FAIL,     /* what runs there is gone at once */
    ORR_OUTAGE_MAINTAIN, /* what runs there is evicted, with its grace */
    ORR_OUTAGE_DRAIN     /* what runs there goes on */
};

struct orr_world_outage { /* listed by the scenario: of nodes one after the other */
    uint32_t first_node, node_count;
    orr_ms closed_ms; /* from then on nothing starts there; at most begin_ms */
    orr_ms begin_ms, end_ms;
    uint8_t kind; /* enum orr_outage_kind */
};

struct orr_world_pool {              /* of the scenario, in its order */
    const char *name;                /* the scenario's */
    uint32_t first_node, node_count; /* nodes there may be */
    uint32_t nodes;                  /* that are there as a run begins: the first ones */
    bool autoscaled; /* then the number of nodes follows the jobs, from min to max */
    uint32_t min, max;
    orr_ms provision_ms; /* from the order of a node until it joins */
    orr_ms idle_ms;      /* a node that is not needed for so long leaves */
    double drain_below;  /* so does one with less of its devices held whose jobs fit elsewhere */
    double price;        /* of a node for an hour; -1: not stated */
    int64_t idle_power_w,
        full_power_w; /* of a node, none and all of its GPUs held; -1: not stated */
};

struct orr_world_resize { /* nodes, one after the other, join the cluster or leave it */
    uint32_t first_node, node_count;
    orr_ms closed_ms; /* leaving: from then on nothing starts there; at most at_ms */
    orr_ms at_ms;
    bool joins;
    uint8_t kind; /* leaving: enum orr_outage_kind, what becomes of what runs there */
};

struct orr_world_seat { /* a pod of a job that runs before the run begins */
    uint32_t group, node;
    uint64_t devices; /* NONE stated: 0 */
};

struct orr_world_running { /* such a job */
    uint32_t job;
    orr_ms since_ms; /* its submit or later, at most begin_ms */
    uint32_t first_seat, seat_count;
};

struct orr_world_queue_change { /* what the scenario makes of a queue at a time of the run */
    orr_ms at_ms;
    uint32_t queue;
    int32_t priority;
    struct orr_entitlement resources[ORR_SHARE_RESOURCES];
    const struct orr_flavored *flavors; /* as many as the queue has, in the cluster's arena */
};

struct orr_world {
    struct orr_cluster cluster;
    struct orr_queues queues; /* as a run begins */
    struct orr_idmap shown;   /* per queue: the name that people read, no two alike */
    struct orr_shapes shapes;
    struct orr_terms_table terms;
    struct orr_fabric fabric;     /* with profiles */
    struct orr_profiles profiles; /* that rows name, by the order of the scenario's */
    bool *wanted_profiles;        /* while building */
    const char *const *notes;     /* the scenario's: what it states and no run looks at */
    uint32_t note_count;
    bool contention, time_sliced;
    orr_ms round_ms; /* decisions and releases at multiples of it; 0: as the policy says */
    struct orr_job_spec *specs; /* sorted by (submit_ms, part, row) */
    uint32_t job_count;
    struct orr_world_part *parts;
    uint32_t part_count;
    struct orr_world_hold *holds; /* by job */
    uint32_t hold_count, hold_capacity;
    struct orr_world_edge *edges; /* by job */
    uint32_t edge_count, edge_capacity;
    struct orr_queue_rules *rules; /* per queue; NULL: there are none */
    struct orr_world_ruled *ruled; /* by job */
    uint32_t ruled_count, ruled_capacity;
    struct orr_world_outage *outages; /* as listed */
    uint32_t outage_count;
    struct orr_world_pool *pools;
    uint32_t pool_count;
    orr_ms look_ms;                   /* autoscaled pools are looked at on multiples of it */
    struct orr_world_resize *resizes; /* by at_ms, then as listed */
    uint32_t resize_count;
    bool *away; /* per node: not part of the cluster as a run begins; NULL: all are */
    struct orr_world_queue_change
        *queue_changes; /* by (at_ms, as listed, queue); none before the first submit */
    uint32_t queue_change_count;
    struct orr_world_running *running; /* by since_ms, then job */
    uint32_t running_count;
    struct orr_world_seat *seats;
    uint32_t seat_count, seat_capacity;
    bool *runs_before; /* per job: it is in `running`; NULL: none is */
    uint64_t rows_rejected;
    orr_ms first_submit_ms;
    orr_ms begin_ms;       /* nothing is decided before: the scenario's, else first_submit_ms */
    orr_ms last_submit_ms; /* or the end of a service, whose requests come until then */
};

/* Reads the traces and builds everything. Rows that this cluster or these queues cannot take are
 * rejected, counted and shown. On failure nothing is left. */
typedef void orr_world_warn_fn(const char *text, void *context);
struct orr_trace_shelf;
struct orr_world_options {
    uint32_t allow_loss_ppm;                  /* as in orr_trace_options */
    const volatile sig_atomic_t *interrupted; /* building ends once it is not 0; or NULL */
    struct orr_trace_shelf *shelf;            /* traces read before; NULL: none are */
    orr_world_warn_fn *warn; /* gets each note and each block of shown rejections; or NULL */
    void *context;           /* of warn */
    /* may the policy of the shape's shard start such jobs with their minimum? NULL: none does */
    bool (*starts_least)(const struct orr_shape *shape, const void *policies);
    const void *policies;
};
enum orr_status orr_world_build(const struct orr_scenario *scenario,
                                const struct orr_world_options *options, struct orr_world *world,
                                struct orr_err *err) ORR_MUST_USE;
void orr_world_release(struct orr_world *world);
/* Reads the traces that orr_world_build would into options->shelf, for worlds that processes forked
 * from this one build. */
void orr_world_shelve(const struct orr_scenario *scenario, const struct orr_world_options *options);

/* What happens to queues and nodes while the run goes on, in place of what this world has; the
 * scenario is the world's but for that, and adds and takes no nodes otherwise. */
void orr_world_change_events(struct orr_world *world, const struct orr_scenario *scenario);

/* The clock's 0 on the calendar for scenarios without a start: a Monday. */
#define ORR_REPLAY_START ((orr_ms)1780272000000)

/* The rows of a part that is generated, scaled as it says, with the scenario's first seed. The
 * workload is made here; on success the caller releases it. */
enum orr_status orr_world_generate(const struct orr_scenario *scenario,
                                   const struct orr_scenario_part *part,
                                   struct orr_workload *workload, struct orr_err *err) ORR_MUST_USE;

/* Says of each shape whether the cluster without the nodes that are gone (NULL: with all of them)
 * could hold all its tasks were it empty, of those that are `least` (NULL: of
 * all) the gang, and, where there are services, by shape again whether it could hold the gang of a
 * job that scales; caller frees. reserves: per shard, whether its shared devices take pod slots;
 * NULL: in none. */
bool *orr_world_conceivable(const struct orr_world *world, const struct orr_shapes *shapes,
                            const bool *least, const bool *gone, const bool *reserves);

/* What time 0 of the clock is, ms since 1970 (UTC): the scenario's `start`, or where traces state
 * dates, the earliest time 0 of theirs; ORR_MS_NONE: neither. */
orr_ms orr_world_clock_origin_ms(const struct orr_world *world,
                                 const struct orr_scenario *scenario);

/* A queue's entitlement to a resource at a time. */
const struct orr_entitlement *orr_world_entitlement_at(const struct orr_world *world,
                                                       uint32_t queue, enum orr_share_kind resource,
                                                       orr_ms at);
/* Is there something to share of a resource? Of GPUs always; of CPU and memory if a queue has a
 * quota or limit of it at some time, all nodes have a limit and some job asks. */
bool orr_world_divides(const struct orr_world *world, enum orr_share_kind kind);
/* Is some part of the workload a service? */
bool orr_world_has_services(const struct orr_world *world);
/* What a job asks, pods x ms: all for as long as it works at rate 1, or what a service wants. */
int64_t orr_world_asked_pod_ms(const struct orr_world *world, uint32_t job);
/* From when on a job counts: its submit, or the begin of the run if it waited then; ORR_MS_NONE: it
 * ran before, so that what it waited is nobody's decision here. */
static inline orr_ms orr_world_enter_ms(const struct orr_world *world, uint32_t job)
{
    const orr_ms submit = world->specs[job].submit_ms;
    return world->runs_before != NULL && world->runs_before[job] ? ORR_MS_NONE
           : submit > world->begin_ms                            ? submit
                                                                 : world->begin_ms;
}
/* The part of the workload that a job is of. */
uint32_t orr_world_part_of(const struct orr_world *world, uint32_t job);
/* The trace's name of a job; copies after the first end in "#2", "#3", ... `buffer` (of at least
 * 512 bytes) is used only when the name is not stored as it is. */
const char *orr_world_job_name(const struct orr_world *world, uint32_t job, char *buffer,
                               size_t bytes);
/* The batch it belongs to, named in the same way; NULL: none. */
const char *orr_world_job_group(const struct orr_world *world, uint32_t job, char *buffer,
                                size_t bytes);
/* NULL when the trace names none. */
const char *orr_world_job_user(const struct orr_world *world, uint32_t job);
/* Is the job evicted and queued again when it has run as long as its queue allows? Only with rules.
 */
bool orr_world_requeues(const struct orr_world *world, uint32_t job);
/* How long an attempt of the job may take until it is ended, whatever is done by then; of several
 * rules the shortest one. ORR_MS_NONE: none says so. Only with rules. */
orr_ms orr_world_longest_ms(const struct orr_world *world, uint32_t job, enum orr_rule *rule);
/* Does the policy of a shard work by pausing jobs? Then they keep what they did unless the scenario
 * states what an eviction costs. */
bool orr_world_pauses(const struct orr_scenario *scenario, uint32_t shard);
/* Does any row state something of what follows? */
bool orr_world_has_extras(const struct orr_world *world);
/* What few rows of the trace state, of the row a job came from; NULL: its row states nothing. */
const struct orr_row_extra *orr_world_job_extra(const struct orr_world *world, uint32_t job);
/* Did its row state a time limit? Else nobody knew more of it than its run time says. */
bool orr_world_states_limit(const struct orr_world *world, uint32_t job);
/* What rows state in words, for a policy; as long as the world lives. */
struct orr_view_words orr_world_words(const struct orr_world *world);
/* Does its estimate come of run times, its own or others', that may not be known yet when it is
 * submitted? */
bool orr_world_estimates_by_runs(const struct orr_world *world, uint32_t job);
/* Whether its run time is certain (run_known): nobody has to guess it. */
bool orr_world_knows_run(const struct orr_world *world, uint32_t job);
/* The time by which a job is to be done, or ORR_MS_NONE. */
orr_ms orr_world_deadline_ms(const struct orr_world *world, uint32_t job);
/* Takes jobs away, by job: they never come, nobody waits for their end, and all others stay as they
 * were drawn. Of a world that has not run. */
void orr_world_take_away(struct orr_world *world, const bool *gone);
/* The index of a job in holds, or ORR_NONE. */
uint32_t orr_world_hold_of(const struct orr_world *world, uint32_t job);

#endif
