/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state_int.h - what the files share that write a model as a scenario and a trace. */
#ifndef ORR_SIM_IMPORT_STATE_INT_H
#define ORR_SIM_IMPORT_STATE_INT_H

#include <stdio.h>

#include <orrery/core/cluster.h>
#include <orrery/traces/durations.h>
#include <orrery/traces/workload.h>

#include "state.h"

#define LEVELS 3

/* zone, block, rack: the levels of a scenario, widest first */
extern const char *const state_level_names[LEVELS];

struct place { /* of a node, while jobs are seated on it */
    int64_t left[IMPORT_RESOURCES_MAX];
    uint64_t devices;      /* free ones */
    int64_t parts[64];     /* of shared ones, what is taken (orr_device_parts) */
    int64_t foreign[4];    /* milli-CPU, bytes, GPUs, pods */
    const char *signature; /* alike nodes have equal ones */
    uint32_t pool;
};

struct writer {
    struct import_model *model;
    const struct orr_snapshot_rest *rest;
    struct orr_snapshot_state *out;
    struct import_load *load;
    FILE *scenario, *trace;
    const char *trace_name;
    uint32_t *order; /* nodes by name */
    struct place *places;
    uint32_t pool_count;
    struct orr_idmap keys;       /* labels that pods select by */
    struct orr_idmap affinities; /* canonical texts, each a label of its own */
    struct orr_idmap amounts;    /* "RESOURCE=AMOUNT" that pods ask, each a label of its own */
    struct amount {
        uint32_t resource; /* of import_vec */
        int64_t least;
    } * asked;
    uint32_t asked_capacity;
    const struct import_pod **affine; /* a pod of each */
    uint32_t affine_capacity;
    struct orr_idmap devices; /* "node/group" */
    uint8_t *device_of;       /* by that */
    uint32_t device_capacity;
    struct orr_idmap templates;             /* by their text */
    bool *left_out;                         /* per job */
    const char *levels[LEVELS];             /* labels that are zone, block, rack; NULL: none */
    const struct import_topology *topology; /* that they are of */
    struct orr_durations *durations;
};

struct ask { /* of pods that are alike */
    uint32_t set;
    uint32_t pods, held; /* of these, those on nodes */
    uint32_t first; /* a pod of them; ORR_NONE: they are not there, though the set needs them */
};

struct job {
    const struct import_job *is;
    enum orr_kind kind;
    struct ask *asks;
    uint32_t ask_count, ask_capacity;
    uint32_t *pods; /* of the model, in KAI's order of tasks */
    uint32_t pod_count, pod_capacity;
    uint32_t
        *gone; /* per set: pods on nodes that are not there, which KAI takes to run somewhere */
    uint32_t held, leaving;
    orr_ms since_ms; /* of those that are on nodes */
    double gpus;
    char *on;      /* running_on; NULL: it waits */
    bool anywhere; /* it is where it may not be */
    bool broken;   /* of its gang less runs than it needs */
};

struct levels {
    const char *required, *preferred;
};

/* --- state.c --- */

void state_note(struct writer *w, const char *code, const char *text, uint64_t more);
uint32_t state_find_node(const struct writer *w, const char *name);
bool state_is_held(const struct import_pod *pod);
bool state_waits(const struct import_pod *pod);
uint32_t state_set_of(const struct import_job *job, const struct import_pod *pod);

/* --- state_part.c --- */

/* The MIG profile that a resource is, such as 3g.20gb; NULL: it is none that runs count. */
const char *state_profile_of(const struct import_model *model, uint32_t resource);
/* Is it the resource of a profile that the scenario's pools state: one of the first so many? */
bool state_counts_profile(const struct import_model *model, uint32_t resource);
/* What the pod asks of MIG, as rows write it, in the arena of the load; NULL: nothing. */
const char *state_instances_of(struct writer *w, const struct import_pod *pod);

/* Takes from the nodes the instances that a pool cannot state. */
void state_leave_out_instances(struct writer *w);
/* What these jobs hold is among the foreign pods. */
void state_leave_out_jobs(struct writer *w);
/* Pods of other schedulers, and ours that no job here has. */
void state_collect_foreign(struct writer *w);

/* --- state_nodes.c --- */

/* What pods ask of other resources: a run counts none of them, but knows the nodes that have as
 * much.
 */
uint32_t state_amount_of(struct writer *w, uint32_t resource, int64_t least);
void state_collect_amounts(struct writer *w);
/* Labels by which pods select; the host's name is its own. */
void state_collect_keys(struct writer *w);
/* The topology with the most levels becomes zone, block, rack. */
void state_choose_levels(struct writer *w);
/* Numbers the pools: runs of alike nodes in the order of names, or, of too many, all alike ones. */
void state_find_pools(struct writer *w);
void state_write_cluster(struct writer *w);

/* --- state_seat.c --- */

/* Where its pods are, in the order of its asks; false: they cannot all be there, and none is. */
bool state_seat_job(struct writer *w, struct job *job);

/* --- state_roles.c --- */

char *state_selector_of(struct writer *w, const struct import_pod *pod);
char *state_tolerations_of(const struct import_pod *pod);
/* What a set of pods needs beside those that are on nodes which are not there. */
int64_t state_least_of(const struct job *job, uint32_t set);
/* Pods of a set that start together. */
uint32_t state_min_of(const struct job *job, uint32_t set);
bool state_has_gang(const struct job *job);
struct levels state_levels_of(struct writer *w, const struct orr_constraint *constraint);
/* Asks in the order of the roles they become, which running_on follows. */
void state_order_asks(struct writer *w, struct job *job);
/* The name of the template that the job's roles make, written at the end. */
const char *state_template_of(struct writer *w, const struct job *job);

/* --- state_jobs.c --- */

bool state_same_ask(const struct import_pod *a, const struct import_pod *b);
void state_open_history(struct writer *w);
void state_write_jobs(struct writer *w);

#endif
