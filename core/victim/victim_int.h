/* SPDX-License-Identifier: GPL-3.0-or-later */
/* victim_int.h - the state of one search, shared by the files of the room.
 *
 *   search -> probe (first k tasks of the job) -> state (victims so far) -> scenario (what is
 * tried)
 */
#ifndef ORR_VICTIM_INT_H
#define ORR_VICTIM_INT_H

#include <orrery/base/digest.h>
#include <orrery/base/idmap.h>
#include <orrery/core/joborder.h>
#include <orrery/core/prune.h>
#include <orrery/core/victim.h>

#include "refute.h"

enum orr_generator { ORR_NODE_LOCAL_GREEDY, ORR_MULTI_NODE_GANG, ORR_GENERATORS };

static inline bool orr_victim__exceeds(double amount, double bound)
{
    return bound != ORR_UNLIMITED && amount > bound;
}

struct orr_victim { /* a task of a scenario */
    uint32_t task;
    uint32_t group;     /* these are tried and recorded together: a recorded group, which have the
                         * first numbers, a job (node-local greedy) or a step (multi-node gang) */
    uint32_t node, job; /* where it runs before anything is tried */
    uint32_t step;      /* that it was popped with */
    uint32_t before;    /* of potential victims: the last one before it on its node, or ORR_NONE */
};

struct orr_victims {
    struct orr_victim *items;
    uint32_t count, capacity;
};
void orr_victims_push(struct orr_victims *victims, const struct orr_victim *victim);

struct orr_capacities { /* capacity.c: milli-GPU */
    int64_t *free;      /* by node: idle or being released, before anything is tried */
    int64_t *with;      /* by node: and with what recorded and potential victims give back */
    uint32_t *bearing;  /* nodes with potential victims, least capacity first */
    uint32_t bearing_count;
    uint32_t *since;   /* by node: how many bore victims when it first did; 0: it does not */
    uint32_t *at;      /* by node: position in `bearing` */
    uint32_t *last_on; /* by node: the last potential victim there, if it bears any */
    uint32_t able;     /* bearing nodes that could take the smallest task: the last ones */
    uint32_t was;      /* position of the last victim's node among these before it came */
    int64_t baseline;  /* of feasible nodes without potential victims */
    /* of the probe's tasks */
    int64_t needed, min_task; /* all, and the smallest one */
    int64_t each;             /* -1: they ask different amounts */
    int64_t fitting;          /* tasks that ask `each` and fit, node by node */
    bool domain_holds;        /* the only set that must stay within a domain has one */
    int64_t domain_lacks;     /* > 0: so much more has to be given back before a domain has room */
    double *at_probe;         /* v017.c: by node, GPUs free when the probe began; else NULL */
};

/* The last potential victim on the node, or ORR_NONE; each has the one before it. */
static inline uint32_t orr_capacities_last_on(const struct orr_capacities *c, uint32_t node)
{
    return c->since[node] == 0 ? ORR_NONE : c->last_on[node];
}

/* The position of a node among those able to take the smallest task, or ORR_NONE. */
static inline uint32_t orr_capacities_nth(const struct orr_capacities *c, uint32_t node)
{
    return c->since[node] == 0 || c->with[node] < c->min_task
               ? ORR_NONE
               : c->at[node] - (c->bearing_count - c->able);
}

struct orr_victim_search {
    struct orr_session *session;
    enum orr_action action;
    uint32_t job;
    struct orr_arena memory;
    struct orr_task_list tasks; /* what it must get */
    uint32_t *queues;           /* in which candidates may be: asked of all tasks together */
    uint32_t queue_count;
    struct orr_jobview *candidates; /* NULL: counted only */
    uint32_t candidate_count;
    struct orr_order_entry *prepared; /* the candidates in their order; NULL until it is asked */
    uint32_t prepared_count;
    struct orr_order order;           /* of victims, as long as the recorded ones are the same; */
    uint32_t popped, popped_steps;    /* what it gave so far, of `potential.items` */
    struct orr_task_list to_evict;    /* of the job that was popped last */
    bool *base_feasible;              /* by node */
    int64_t (*held)[ORR_SHARE_KINDS]; /* by queue, before anything was tried */
    int64_t (*nonpreemptible)[ORR_SHARE_KINDS];
    const struct orr_order_entry *waiting; /* all others that wait, in the order of building */
    uint32_t waiting_count;
    int64_t tried, tried_by_generator; /* scenarios of this job */
    struct orr_refuter refuter;
    bool budget_spent, generator_budget_spent; /* one more was wanted than the budget allows */
    struct orr_idmap failed;                   /* fingerprints of scenarios that failed */
    struct orr_capacities capacities;
    struct orr_victims scenario; /* whose victims are tried: `chosen` potential ones, */
    uint32_t chosen;             /* and behind these the recorded ones */
    uint32_t *picked;            /* by group: the number of the scenario that took it in last */
    uint32_t picked_capacity, scenarios;

    enum orr_generator generator;
    struct orr_victims recorded; /* carried from probe to probe; group numbers are dense */
    uint32_t recorded_groups;
    bool *is_recorded; /* by task */
    bool *feasible;    /* by node: base and where recorded victims are now */

    uint8_t outcome; /* enum orr_outcome: how far the best scenario got */

    uint32_t k; /* the probe's tasks are the first so many */
    struct orr_jobview view;
    struct orr_demand demand;     /* of the probe's tasks, memory by the smallest device */
    struct orr_victims potential; /* of the state; behind them, others that were popped before */
    uint32_t steps;               /* of the state */
};

/* The scenario's victim that is evicted as the nth: recorded ones last, but in v0.17 first, as in
 * KAI. */
static inline const struct orr_victim *orr_victim__nth(const struct orr_victim_search *search,
                                                       uint32_t nth)
{
    const uint32_t first = search->session->v017 != NULL ? search->chosen : 0;
    return &search->scenario.items[(first + nth) % search->scenario.count];
}

static inline void orr_victim__raise_outcome(struct orr_victim_search *search,
                                             enum orr_outcome outcome)
{
    search->outcome = outcome > search->outcome ? (uint8_t)outcome : search->outcome;
}

/* simulate.c: what became of the recorded victims and so many potential ones, if somebody watches.
 */
void orr_victim__report(const struct orr_victim_search *search, const struct orr_victim *potential,
                        uint32_t count, enum orr_outcome outcome);

/* search.c: fills `waiting`, once a search. Asked before anything is evicted: nothing but victims
 * and the preemptor changes during a search, so that all others wait as they do now. */
void orr_victim__list_waiting(struct orr_victim_search *search);

/* candidates.c: the ancestors of two queues on the first level, from the top, where they differ. */
struct orr_queue_pair {
    uint32_t reclaimer, victim;
};
struct orr_queue_pair orr_victim__level_queues(const struct orr_session *session,
                                               uint32_t reclaimer, uint32_t victim);
/* Lists the queues in which they may be, and the candidates, before anything is evicted. */
void orr_victim__list_queues(struct orr_victim_search *search);
void orr_victim__find_candidates(struct orr_victim_search *search);
/* Min-runtime: the job started too recently to lose what its gang needs. */
bool orr_victim__is_protected(const struct orr_session *session, enum orr_action action,
                              uint32_t preemptor, uint32_t job);
/* Of the queue something may be taken; and from the active job of such a queue. */
bool orr_victim__has_candidates(const struct orr_victim_search *search, uint32_t queue);
bool orr_victim__is_candidate(const struct orr_victim_search *search, uint32_t job);
/* Negative: the first of the jobs is older. */
int orr_victim__compare_age(const struct orr_session *session, uint32_t a, uint32_t b);

/* accumulate.c: growing the set of victims, and which sets are worth a simulation. */
/* One more of the step's potential victims. */
void orr_victim__accumulate(struct orr_victim_search *search, uint32_t task);
/* The next step's potential victims are added; false: there are no more. */
bool orr_victim__step(struct orr_victim_search *search);
/* Steps are popped anew from now on. */
void orr_victim__forget_steps(struct orr_victim_search *search);
bool orr_victim__passes_filters(struct orr_victim_search *search);
/* The level that the set must stay within a domain of, or NULL. */
const struct orr_topology_level *orr_victim__required_level(const struct orr_session *session,
                                                            const struct orr_sset *set);
/* v017.c. D2: the status of a victim of the scenario, which in v0.17 may have it twice; and lists
 * the recorded victims of the jobs that the scenario takes in again. */
uint8_t orr_victim__status(const struct orr_victim_search *search, uint32_t nth);
void orr_victim__list_again_v017(struct orr_victim_search *search);
/* With each probe; and for each state of a multi-node gang, which in v0.17 finds the books as
 * failed scenarios left them (D4). */
void orr_victim__start_probe_v017(struct orr_victim_search *search);
void orr_victim__measure_again_v017(struct orr_victim_search *search);
/* By node, in GPUs: free when the probe began, and what victims give back, added as v0.17 does
 * (D6); to be freed. */
double *orr_victim__list_capacities_v017(const struct orr_victim_search *search);

/* capacity.c: opened with the search, with what its nodes have free and which are feasible before
 * anything is tried; started with each probe. */
void orr_victim__open_capacities(struct orr_victim_search *search);
void orr_victim__start_capacities(struct orr_victim_search *search);
/* Of the next potential victim, which gets to know the one before it. */
void orr_victim__add_capacity(struct orr_victim_search *search, struct orr_victim *victim);
/* Accepted GPUs a victim gives back, and GPUs of quota a task asks, milli-GPU. */
int64_t orr_victim__freed(const struct orr_session *session, uint32_t task);
int64_t orr_victim__pending_gpus(const struct orr_session *session, uint32_t task);

/* windows.c: the scenarios of one state; true as soon as one is solved. */
bool orr_victim__try_state(struct orr_victim_search *search);

/* simulate.c: lists the feasible nodes, those of recorded victims and of these; `nodes` has room
 * for all. */
struct orr_node_list orr_victim__open_nodes(const struct orr_victim_search *search,
                                            const struct orr_victims *victims, uint32_t *nodes);
/* Evicts, replays, validates the scenario's victims. On success the statement holds the result. */
bool orr_victim__simulate(struct orr_victim_search *search);

/* search.c: the preemptor's first k tasks, no potential victims. */
void orr_victim__start_probe(struct orr_victim_search *search, uint32_t k);

/* validate.c: whether what happened to the victims is allowed. */
bool orr_victim__validate(const struct orr_victim_search *search);
/* Reclaim's validator. is_back: by task, which of the victims are placed again; NULL: those that
 * are in the statement. units_alone: only its first part, the units that are taken one after the
 * other. */
bool orr_victim__may_reclaim(const struct orr_victim_search *search, const bool *is_back,
                             bool units_alone);

#endif
