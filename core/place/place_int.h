/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_int.h - what the files of the place room share. */
#ifndef ORR_PLACE_INT_H
#define ORR_PLACE_INT_H

#include <orrery/core/attempt.h>
#include <orrery/core/numa.h>

struct orr_attempt {
    struct orr_session *session;
    struct orr_jobview view;
    struct orr_task_list tasks;
    bool pipeline_only;
    enum orr_fit_reason why;
};

/* Devices chosen for a shared request on one node. */
struct orr_device_choice {
    uint32_t groups[ORR_SHARED_DEVICES_MAX];
    bool pipeline; /* some of them are still being released */
};
bool orr_place__shared_matches(const struct orr_snode *node, const struct orr_shared_gpu *gpu,
                               int64_t need);
bool orr_place__shared_fits(const struct orr_session *session, const struct orr_ask *ask,
                            const struct orr_snode *node, bool idle_only);
bool orr_place__choose_devices(struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node, bool pipeline_only,
                               struct orr_device_choice *choice);

/* The devices that a shared request would get are all in use already and have numbers for names. */
bool orr_place__joins_numbered(const struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node);

bool orr_place__pods_fit(const struct orr_session *session, const struct orr_ask *ask,
                         const struct orr_snode *node);
bool orr_place__fits_idle(const struct orr_session *session, const struct orr_ask *ask,
                          const struct orr_snode *node);
/* A task that shares no device costs the same on every node: asked once for all of them. */
bool orr_place__over_capacity_anywhere(const struct orr_session *session,
                                       const struct orr_stask *task);
/* A task that shares devices costs more where devices are smaller. */
bool orr_place__over_capacity_on(const struct orr_session *session, const struct orr_stask *task,
                                 uint32_t node);
/* Resources on idle and releasing, and every predicate but the two above. */
bool orr_place__fits_ask(const struct orr_session *session, const struct orr_ask *ask,
                         uint32_t node);
/* The asks differ in nothing that decides how many of them fit where, zones left aside. */
bool orr_place__asks_same(const struct orr_session *session, uint32_t ask, uint32_t other);
/* The same and what the task's queue may hold, asked for this node. */
bool orr_place__fits(const struct orr_session *session, const struct orr_stask *task,
                     uint32_t node);

/* Why an attempt failed, for those who want it told (session->details): at a task that found no
 * node, and at its end. */
void orr_place__explain_nodes(struct orr_attempt *attempt, uint32_t task,
                              struct orr_node_list nodes);
void orr_place__explain(struct orr_attempt *attempt, const struct orr_demand *demand);

/* The resource that the ask is placed by, and how. */
uint32_t orr_place__slot(const struct orr_ask *ask);
uint8_t orr_place__strategy(const struct orr_session *session, const struct orr_ask *ask);
/* What is not allocated of a node, of that resource. */
int64_t orr_place__free(const struct orr_snode *node, const struct orr_ask *ask);

struct orr_spread { /* of that, over the candidates of one attempt; all 0 if it does not matter */
    int64_t min, max;
    uint32_t at_min, at_max; /* candidates that have so much */
};
/* One candidate no longer has `before` free. False: min or max is another one now, or may be. */
bool orr_place__spread_holds(const struct orr_session *session, const struct orr_ask *ask,
                             const struct orr_snode *node, int64_t before,
                             struct orr_spread *spread);
/* Parts of a score: of the plugins whose scores are whole numbers and a matter of ask and node
 * alone, 10 apart or more; of binpack or spread. */
int32_t orr_place__points(const struct orr_session *session, const struct orr_ask *ask,
                          uint32_t node);
double orr_place__placement_score(const struct orr_session *session, const struct orr_ask *ask,
                                  const struct orr_snode *node, const struct orr_spread *spread);
double orr_place__score(const struct orr_session *session, const struct orr_stask *task,
                        uint32_t node, const struct orr_spread *spread);

/* The best of all nodes for tasks with this ask that are nominated nowhere and prefer no domain,
 * as a ranking would find it; ORR_NONE: it fits nowhere. */
uint32_t orr_node_index_best(struct orr_session *session, uint32_t ask);

struct orr_ranked_node {
    uint32_t node;
    int64_t free; /* when it was looked at */
    double score;
};
/* Those of the nodes that have enough of it for the ask, without scores; `spread`: of all of them.
 * Returns their number. */
uint32_t orr_place__survey(const struct orr_session *session, const struct orr_ask *ask,
                           struct orr_node_list nodes, struct orr_ranked_node *enough,
                           struct orr_spread *spread);
struct orr_ranking { /* of the nodes of a list, for tasks placed one after the other */
    struct orr_session *session;
    struct orr_node_list nodes;
    struct orr_ranked_node *fitting;
    uint32_t count, taken;
    uint32_t last;     /* the task before, which went to fitting[taken]; ORR_NONE: rank anew */
    uint32_t by_index; /* the task whose node the index named, or ORR_NONE */
    struct orr_spread spread;
};
/* One at a time: they share the session's memory. */
void orr_ranking_open(struct orr_ranking *ranking, struct orr_session *session,
                      struct orr_node_list nodes);
/* The best node that fits, or ORR_NONE. Between two calls only the task before may be placed, and
 * on the node that was named. */
uint32_t orr_ranking_best(struct orr_ranking *ranking, uint32_t task);
/* The same task could not be placed there after all: the next best node. */
uint32_t orr_ranking_next(struct orr_ranking *ranking);

/* --- NUMA; without the plugin: admitted, nothing chosen, 0 --- */

bool orr_place__zones_admit(const struct orr_session *session, const struct orr_ask *ask,
                            uint32_t node);
/* What the task would draw there; false if it draws nothing. */
bool orr_place__choose_zones(const struct orr_session *session, const struct orr_ask *ask,
                             uint32_t node, struct orr_zone_take *take);
double orr_place__zone_score(const struct orr_session *session, const struct orr_ask *ask,
                             uint32_t node);

/* --- topology --- */

struct orr_subsets { /* candidate node sets, one after the other */
    uint32_t *nodes;
    uint32_t *ends;
    uint32_t node_count, count;
};
void orr_subsets_release(struct orr_subsets *subsets);
/* The node sets to try for a set of the job, in order. None: it cannot be placed. */
void orr_place__subsets(struct orr_attempt *attempt, uint32_t set, struct orr_node_list nodes,
                        struct orr_subsets *out);
void orr_place__clear_preferred(struct orr_session *session, uint32_t job);
bool orr_place__prefers(const struct orr_session *session, const struct orr_stask *task);
double orr_place__preferred(const struct orr_session *session, const struct orr_stask *task,
                            uint32_t node);
/* True if the set is the pod set of the task or above it. */
bool orr_place__is_below(const struct orr_session *session, uint32_t task, uint32_t set);

#endif
