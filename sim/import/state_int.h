/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state_int.h - what the files that write a state share: the writer, and where jobs may be seated.
 */
#ifndef ORR_SIM_IMPORT_STATE_INT_H
#define ORR_SIM_IMPORT_STATE_INT_H

#include <stdio.h>

#include <orrery/sim/yaml.h>
#include <orrery/traces/durations.h>

#include "model.h"
#include "state.h"

#define STATE_LEVELS 3

struct state_place { /* of a node, while jobs are seated on it */
    int64_t left[IMPORT_RESOURCES_MAX];
    uint64_t devices;      /* free ones */
    int64_t foreign[4];    /* milli-CPU, bytes, GPUs, pods */
    const char *signature; /* alike nodes have equal ones */
    uint32_t pool;
};

struct state_writer {
    struct import_model *model;
    const struct orr_snapshot_rest *rest;
    struct orr_snapshot_state *out;
    struct import_load *load;
    FILE *scenario, *trace;
    const char *trace_name;
    uint32_t *order; /* nodes by name */
    struct state_place *places;
    uint32_t pool_count;
    struct orr_idmap keys;            /* labels that pods select by */
    struct orr_idmap affinities;      /* canonical texts, each a label of its own */
    const struct import_pod **affine; /* a pod of each */
    uint32_t affine_capacity;
    struct orr_idmap devices; /* "node/group" */
    uint8_t *device_of;       /* by that */
    uint32_t device_capacity;
    struct orr_idmap templates;             /* by their text */
    const char *levels[STATE_LEVELS];       /* labels that are zone, block, rack; NULL: none */
    const struct import_topology *topology; /* that they are of */
    struct orr_durations *durations;
};

/* Of the levels: zone, block, rack. */
extern const char *const state_level_names[STATE_LEVELS];

/* Counts `more` under a code of what the snapshot does not say; the text of the first call stays.
 */
void state_tell(struct state_writer *w, const char *code, const char *text, uint64_t more);

/* A pod that is on a node, one that is being deleted included. */
bool state_is_held(const struct import_pod *pod);

/* The node's number, or ORR_NONE; `name` may be NULL. */
uint32_t state_find_node(const struct state_writer *w, const char *name);

/* Chooses labels, levels and pools and fills the places with what is free for jobs: before any of
 * the others. */
void state_find_cluster(struct state_writer *w);

/* Pools and nodes, queues and the policy's parameters, into the scenario. */
void state_write_cluster(struct state_writer *w);
void state_write_queues(struct state_writer *w);
void state_write_policy(struct state_writer *w);

/* A row for each job into the trace; what takes a template is kept in `templates`. */
void state_write_jobs(struct state_writer *w);

#endif
