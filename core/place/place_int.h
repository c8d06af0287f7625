/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_int.h - what the files of the place room share. */
#ifndef ORR_PLACE_INT_H
#define ORR_PLACE_INT_H

#include <orrery/core/attempt.h>
#include <orrery/core/numa.h>

struct orr_preferred;
struct orr_ranked_node;
struct orr_node_index;
struct orr_domain_sums;
struct orr_spread_index;
struct orr_place_memory { /* of a session */
    /* of the attempt that is running */
    struct orr_task_list tasks;
    struct orr_preferred *preferred; /* by set of its job: scores of the topology plugin */
    uint32_t preferred_capacity;
    struct orr_ranked_node *ranked; /* room for as many as `ranked_nodes` */
    uint32_t ranked_nodes;
    /* kept from attempt to attempt: what nodes are worth to asks, what domains have left */
    struct orr_node_index **node_indices;
    uint32_t node_index_count, node_index_capacity;
    struct orr_domain_sums **domain_sums;
    uint32_t domain_sum_count, domain_sum_capacity;
    uint64_t questions;                  /* to either so far */
    uint64_t sketch_runs;                /* of all sketches of the session */
    struct orr_spread_index *spreads[2]; /* of CPU, of GPUs */
};

#define ORR_POINTS_IDLE 1000 /* KAI's nodeavailability: the pod could start there at once */

struct orr_allocation { /* an attempt that is running */
    struct orr_session *session;
    struct orr_jobview view;
    struct orr_task_list tasks; /* what it is to place */
    bool pipeline_only;
    enum orr_fit_reason why;   /* it failed; NONE: so far it did not */
    struct orr_sketch *sketch; /* on books of nodes or counts alone; NULL: in the session */
    const bool *evicted;       /* with a sketch: tasks that are being released, by task */
};
/* place_sketch.c: what a node is worth for a pod; node ORR_NONE: it has no room. */
struct orr_rated {
    uint32_t node, rank;
    int32_t points;
    int64_t free;
};
bool orr_sketch__is_better(const struct orr_rated *a, const struct orr_rated *b, bool packs);
struct orr_rated orr_sketch__rate(const struct orr_sketch *sketch, const struct orr_ask *ask,
                                  uint32_t node);
/* sketch_rooms.c: the best of all open nodes for a pod of whole GPUs or parts of them that prefers
 * no domain. False: it is not known. */
bool orr_sketch_rooms__find(struct orr_sketch *sketch, const struct orr_ask *ask,
                            struct orr_rated *best);
/* Everything was taken back. */
void orr_sketch_rooms__leave(struct orr_sketch *sketch);
void orr_sketch_rooms__release(struct orr_sketch_rooms *rooms);
/* gpu_counts.c: the attempt's tasks of the pod set, on these of the open nodes. */
bool orr_gpu_counts__place_among(struct orr_gpu_counts *counts,
                                 const struct orr_allocation *attempt, uint32_t set,
                                 struct orr_node_list nodes);
/* The attempt's tasks of the pod set, in its sketch. False: some found no node, others may have. */
bool orr_sketch__place_set(const struct orr_allocation *attempt, uint32_t set,
                           struct orr_node_list nodes);

/* Devices chosen for a shared request on one node. */
struct orr_device_choice {
    uint32_t groups[ORR_SHARED_DEVICES_MAX];
    bool pipeline; /* some of them are still being released */
};
/* Could a task that needs so many MiB of a device share this one, which is in use (KAI's
 * gpu_sharing_node_info.go)? */
bool orr_place__shared_matches(const struct orr_snode *node, const struct orr_shared_gpu *gpu,
                               int64_t need);
struct orr_fitting { /* of an ask on a node: as far as amounts go, */
    bool at_all;     /* on what is idle or releasing, */
    bool at_once;    /* on what is idle alone */
    int64_t joined;  /* of a shared ask: devices in use that it could join, as far as these count */
};
struct orr_fitting orr_place__fitting(const struct orr_session *session, const struct orr_ask *ask,
                                      const struct orr_snode *node);
/* Chooses them: the fullest or emptiest first by the session's device_order. False: too few.
 * `pipeline` stays where it is set: the task waits whatever the devices hold. */
bool orr_place__choose_devices(struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node, struct orr_device_choice *choice);
/* Does the task hold just these devices, or share none? */
bool orr_place__same_devices(const struct orr_session *session, const struct orr_stask *task,
                             const struct orr_device_choice *choice);

/* How many devices that nobody shares yet would a shared request get? */
uint32_t orr_place__opened_devices(const struct orr_session *session, const struct orr_ask *ask,
                                   const struct orr_snode *node);
/* Are the devices that a shared request would get all in use already, with numbers for names? */
bool orr_place__joins_numbered(const struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node);

/* Pod slots of the node, idle or releasing. With `reserves_shared` the pods that reserve shared
 * devices count as they will once the cycle's decisions are done: one for each device that somebody
 * keeps or gets. */
int64_t orr_place__pod_slots(const struct orr_session *session, const struct orr_snode *node);
/* Has the node a pod slot, idle or releasing, for one more task, and for the pod that reserves a
 * shared device of it, unless its devices are reserved already? */
bool orr_place__pods_fit(const struct orr_session *session, const struct orr_ask *ask,
                         const struct orr_snode *node);
/* Would the task pass a limit or quota wherever it goes? False of tasks that share devices, whose
 * cost depends on the node. */
bool orr_place__over_capacity_anywhere(const struct orr_session *session,
                                       const struct orr_stask *task);
/* Would a task that shares devices pass a limit or quota on the node? It costs more where devices
 * are smaller. */
bool orr_place__over_capacity_on(const struct orr_session *session, const struct orr_stask *task,
                                 uint32_t node);
/* Do the asks differ in nothing that decides how many of them fit where, zones left aside? */
bool orr_place__asks_same(const struct orr_session *session, uint32_t ask, uint32_t other);
/* orr_place__points, the limits and quotas of the task's queue on this node, and hooks. */
bool orr_place__fits(const struct orr_session *session, const struct orr_stask *task,
                     uint32_t node);

/* Writes into session->details, where the caller wants them, why an attempt fails: at a task that
 * found no node, and at its end. */
void orr_place__explain_nodes(struct orr_allocation *attempt, uint32_t task,
                              struct orr_node_list nodes);
void orr_place__explain(struct orr_allocation *attempt, const struct orr_demand *demand);

/* KAI's nodeplacement: the resource that the ask is placed by, CPU or GPU, and how (enum
 * orr_node_placement). */
uint32_t orr_place__slot(const struct orr_ask *ask);
uint8_t orr_place__strategy(const struct orr_session *session, const struct orr_ask *ask);
/* What is idle or releasing of that resource on the node. */
int64_t orr_place__free(const struct orr_snode *node, const struct orr_ask *ask);

struct orr_place_spread { /* of orr_place__free, over the nodes of one attempt; all 0 unless placed
                           * by binpack */
    int64_t min, max;
    uint32_t at_min, at_max; /* candidates that have so much */
};
/* Adds a node with so much free. */
void orr_spread_add(struct orr_place_spread *spread, int64_t free);
/* Brings the spread up to date with a node that had `before` free. False: min or max is another one
 * now, or may be, and the spread has to be made anew. */
bool orr_place__spread_holds(const struct orr_session *session, const struct orr_ask *ask,
                             const struct orr_snode *node, int64_t before,
                             struct orr_place_spread *spread);
#define ORR_NO_FIT (-1)
/* ORR_NO_FIT: there is no room on what is idle or releasing, or a predicate that hangs on the ask
 * and the node does not hold. Else a part of a score: of the plugins gpusharingorder,
 * nodeavailability and resourcetype, whose scores depend on ask and node alone and are whole
 * numbers 10 apart or more. */
int32_t orr_place__points(const struct orr_session *session, const struct orr_ask *ask,
                          uint32_t node);
/* An upper bound of these points that costs next to nothing. */
int32_t orr_place__points_most(const struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node);
/* Binpack's part of a score; `counts`: the node has some of the resource. */
double orr_place__packed_score(bool counts, int64_t free, const struct orr_place_spread *spread);
/* The part of nodeplacement, binpack or spread. */
double orr_place__placement_score(const struct orr_session *session, const struct orr_ask *ask,
                                  const struct orr_snode *node,
                                  const struct orr_place_spread *spread);
#define ORR_SCORE_NOMINATED 10e6 /* KAI's nominatednode */
/* All parts. */
double orr_place__score(const struct orr_session *session, const struct orr_stask *task,
                        uint32_t node, const struct orr_place_spread *spread);

struct orr_worth {  /* of a node to an ask, whatever task it is of */
    int64_t free;   /* see orr_place__free */
    double zones;   /* the score of the NUMA plugin */
    int32_t points; /* see orr_place__points; ORR_NO_FIT */
    uint32_t rank;
    bool counts; /* the node has some of the resource, so that it is in the spread */
};
/* By node, true until a node changes. NULL: bringing it up to date would cost more than looking at
 * `most` nodes. */
const struct orr_worth *orr_node_index_worth(struct orr_session *session, uint32_t ask,
                                             uint32_t most);
/* The best of all nodes for tasks with this ask that are nominated nowhere and prefer no domain,
 * as a ranking would find it; ORR_NONE: it fits nowhere. */
uint32_t orr_node_index_best(struct orr_session *session, uint32_t ask);

struct orr_ranked_node {
    uint32_t node, rank;
    int64_t free; /* orr_place__free when the node was looked at */
    double score;
};
/* Fills `enough` with the nodes that have as much free as the ask takes, without scores, and the
 * spread of all of them. Returns how many these are. */
uint32_t orr_place__survey(const struct orr_session *session, const struct orr_ask *ask,
                           struct orr_node_list nodes, struct orr_ranked_node *enough,
                           struct orr_place_spread *spread);
struct orr_ranking { /* of the nodes of a list, for tasks placed one after the other */
    struct orr_session *session;
    struct orr_node_list nodes;
    struct orr_ranked_node *fitting; /* nodes that fit, the best first; memory of the session */
    bool is_heap;                    /* those behind the first are in order of a heap */
    uint32_t count;
    uint32_t last;     /* the last task, which went to fitting[0]; ORR_NONE: rank all nodes anew */
    uint32_t by_index; /* the task for which the node index named the node, or ORR_NONE */
    struct orr_place_spread spread;
};
/* One at a time: they share the session's memory. */
void orr_ranking_open(struct orr_ranking *ranking, struct orr_session *session,
                      struct orr_node_list nodes);
/* The best node that fits, or ORR_NONE. Between two calls only the task before may be placed, and
 * on the node that was named. */
uint32_t orr_ranking_best(struct orr_ranking *ranking, uint32_t task);
/* The next best node for the same task, which could not be placed on the one before. */
uint32_t orr_ranking_next(struct orr_ranking *ranking);

/* --- NUMA; without the plugin: admitted, nothing chosen, 0 --- */

bool orr_place__zones_admit(const struct orr_session *session, const struct orr_ask *ask,
                            uint32_t node);
/* Fills `take` with what the task would draw there; false: nothing. */
bool orr_place__choose_zones(const struct orr_session *session, const struct orr_ask *ask,
                             uint32_t node, struct orr_zone_take *take);
double orr_place__zone_score(const struct orr_session *session, const struct orr_ask *ask,
                             uint32_t node);

/* --- topology --- */

/* Has the node a domain in every level of the topology? */
static inline bool orr_domain_has(const struct orr_topology *topology, uint32_t node)
{
    return topology->levels[topology->level_count - 1].domain_of_node[node] != ORR_NONE;
}

struct orr_domain_sums { /* what domains have left for tasks of which `max` is the largest */
    const struct orr_topology_level *levels; /* of the topology */
    uint32_t level_count;
    struct orr_vec max;
    uint32_t node_count;
    uint64_t seen;         /* the session's node_generation up to which the sums are true */
    uint64_t asked_at;     /* the number of the last question to them among those to all sums */
    uint64_t sketch_run;   /* the run of the sketch that asked last */
    size_t sketch_touched; /* how many of that sketch's `touched` are in the sums */
    /* Column 0: how many such tasks fit; then what is free of each slot that `max` asks for. */
    uint32_t columns, slots[ORR_SLOTS_MAX + 1];
    int64_t *on_node, *of_domain; /* by row, column; domains level by level after the root, 0 */
    uint32_t *looked_at, looks; /* by node: the value of `looks` when a sketch last looked at it */
};
/* Brings the sums up to date, with what the sketch did if there is one. `max` asks for more than
 * pods. The sums are the session's, and true until the next call. */
const struct orr_domain_sums *orr_domain_sums_of(struct orr_session *session,
                                                 const struct orr_topology *topology,
                                                 const struct orr_vec *max,
                                                 const struct orr_sketch *sketch);
/* Takes what the sketch did out of the sums again. */
void orr_domain_sums__leave(struct orr_session *session, const struct orr_sketch *sketch);

struct orr_subsets { /* the node sets to try for a set of a job, one after the other */
    const struct orr_topology *topology;
    struct orr_node_list nodes; /* those that the set may be on */
    bool whole_domains;       /* a subset is a whole domain, with nodes that are not among these */
    bool root_left;           /* the last subset, all nodes of the topology, is still to come */
    uint32_t most_domains;    /* in a level */
    void *memory;             /* of the four arrays that follow */
    uint32_t *first;          /* by level: the number of its first domain */
    uint32_t *order;          /* from a level's `first` on: its domains in reach, in order */
    uint32_t *order_count;    /* by level: how many these are */
    bool *is_candidate;       /* by domain */
    uint32_t level;           /* whose turn it is */
    uint32_t levels_left;     /* after that */
    uint32_t at, end;         /* positions in `order`: the next domain, the end of the level */
    bool is_listed;           /* `listed` and `begin` are of this level */
    uint32_t *listed, *begin; /* `nodes` by domain; of each domain where it begins in `listed` */
};
/* Prepares the subsets for a set of the job; there is none where it cannot be placed. */
void orr_subsets_open(struct orr_allocation *attempt, uint32_t set, struct orr_node_list nodes,
                      struct orr_subsets *subsets);
/* The next subset, once what was placed in the one before is taken back. False: none is left. */
bool orr_subsets_next(struct orr_subsets *subsets, struct orr_node_list *nodes);
void orr_subsets_release(struct orr_subsets *subsets);
void orr_place__clear_preferred(struct orr_session *session, uint32_t job);
struct orr_preferred {              /* scores of a set's preferred level */
    const uint32_t *domain_of_node; /* NULL: there are none; ORR_NONE: no score */
    int32_t *of_domain;
    uint32_t capacity;
};
/* Of the innermost set of the task that has scores; NULL: none. */
const struct orr_preferred *orr_place__preferred_by(const struct orr_session *session,
                                                    const struct orr_stask *task);
static inline double orr_preferred_score(const struct orr_preferred *by, uint32_t node)
{
    return by == NULL || by->domain_of_node[node] == ORR_NONE
               ? 0
               : by->of_domain[by->domain_of_node[node]];
}
/* Is the set the pod set of the task, or above it? */
bool orr_place__is_below(const struct orr_session *session, uint32_t task, uint32_t set);

#endif
