/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flat_int.h - flat worlds, and the index that searches keep from one to the next. */
#ifndef ORR_PRUNE_FLAT_INT_H
#define ORR_PRUNE_FLAT_INT_H

#include <orrery/core/attempt.h>
#include <orrery/core/backlog.h>
#include <orrery/core/gpu_counts.h>
#include <orrery/core/queueorder.h>

#include "answers.h"
#include "fingerprint.h"
#include "histogram.h"
#include "prune_int.h"

struct orr_contender { /* a possible victim, or the preemptor */
    uint32_t job, leaf;
    uint32_t gpus;        /* of each task */
    uint32_t run;         /* aggregate.c */
    bool pipelined;       /* it was placed in this cycle, on what is being released */
    bool odd;             /* it is no contender of a flat world: nothing else is known of it */
    int8_t elastic_state; /* as in struct orr_order_entry: a victim is below its minimum */
    uint32_t first_task, tasks;
    uint32_t node; /* of its first task, or ORR_NONE */
    struct orr_demand demand;
};
/* Where a task of a victim runs, counted from its first. */
static inline uint32_t orr_flat__node(const struct orr_session *session,
                                      const struct orr_contender *contender, uint32_t task)
{
    return task == 0 ? contender->node : session->tasks[contender->first_task + task].live.node;
}

/* Of victims: a bit for each number of GPUs that a task of one asks, and this one if some have
 * several tasks. */
#define ORR_SIZES_GANGS 1u
static inline uint32_t orr_flat__sizes(const struct orr_contender *contender)
{
    return 1u << contender->gpus | (contender->tasks > 1 ? ORR_SIZES_GANGS : 0);
}

struct orr_contender_row { /* possible victims as they are kept: of one queue, the best first */
    struct orr_contender *contenders;
    uint32_t count;
    bool odd; /* some are */
    uint32_t sizes;
    struct orr_demand least; /* of each resource */
};

struct orr_leaf { /* a queue with contenders */
    uint32_t queue;
    bool limited;
    bool served_first; /* whoever of it are victims, they are served before the preemptor */
    uint32_t first;    /* of its contenders */
};

struct orr_window {   /* aggregate_windows.c: victims on some of the bearing nodes, gangs apart */
    uint64_t filling; /* of the windows when it was filled */
    uint32_t *counts; /* by run; the preemptor's is 0 */
    uint32_t late;    /* those that may be served after the preemptor */
    uint32_t odd;     /* tasks of odd contenders */
    struct orr_room_histogram rooms, tasks;
};
#define ORR_WINDOWS 32 /* the last for any nodes, the others for growing numbers of them */

struct orr_windows { /* what is known of the potential victims of a probe */
    struct orr_window windows[ORR_WINDOWS];
    uint32_t window_count; /* that were used */
    uint32_t first;        /* nodes of the first one */
    uint64_t filling;      /* another one when none of them is filled any more */
    uint32_t *gangs;       /* contenders with several tasks, */
    uint32_t gang_count;
    uint32_t *taken; /* those of them that a scenario takes */
    uint32_t taken_count;
    uint32_t *extra; /* by node: GPUs that gangs leave there; scratch */
};

/* What a scenario takes: the window's victims and the gangs that have a task on its nodes. */
struct orr_taken {
    uint32_t from, to;         /* of the bearing nodes */
    struct orr_window *window; /* with the gangs, but for what they leave on other nodes: */
    const struct orr_room_histogram *rooms;
    struct orr_room_histogram with_gangs; /* rooms, if there are any */
    uint32_t sizes;
};

struct orr_victim_index;
struct orr_flat {
    struct orr_arena *arena;               /* the search's */
    const struct orr_contender_row **rows; /* whoever may be a victim, in the order of building */
    uint32_t row_count;
    uint32_t sizes; /* of all of them */
    /* Some of them are odd, or lanes do not tell who waits: only windows without odd victims are
     * asked as in a flat world. */
    bool odd;
    struct orr_contender *own; /* the preemptor's, with one task */
    /* In line: by leaf, in each the best first. NULL until the first probe, and what follows. */
    struct orr_contender *contenders;
    uint32_t contender_count;
    uint32_t *contender_of_job; /* by job that is one */
    /* By contender: the most of each resource that a job asks which waits just before it. */
    struct orr_demand *between;
    struct orr_leaf *leaves;
    uint32_t leaf_count;
    bool compared;  /* it is known which leaves go first */
    bool all_first; /* reclaim: whoever are victims, they are served before the preemptor */
    struct orr_queue_rank preemptor_rank; /* while its queue holds what it does now */
    const struct orr_victim_index *index; /* what nodes have free, before anything is tried */
    struct orr_aggregate *aggregate;
    struct orr_windows *windows; /* of reclaim, as the aggregate; NULL until the first probe */
};

/* Whoever is a victim, and lanes tell who waits. */
static inline bool orr_flat__is_flat(const struct orr_victim_search *search)
{
    return search->refuter.flat != NULL && !search->refuter.flat->odd;
}

/* --- victim_index.c --- */

struct orr_queue_index {          /* a queue */
    uint64_t fingerprint;         /* when it was this one, */
    uint64_t task_generation;     /* and the session's task_generation that: */
    struct orr_contender_row row; /* its preemptible active jobs; leaf: not known yet */
    uint32_t capacity;
};

struct orr_node_seen {    /* a node, as it was when it was looked at last */
    uint64_t content;     /* whatever it is: fingerprint of what it holds and has free */
    uint64_t gpu_content; /* the same of what a placement of whole GPUs reads of it */
    uint64_t odd;         /* 1: GPUs do not tell what room it has, */
    uint64_t uneven;      /* 1: nor where pods of whole GPUs go */
    int32_t idle;         /* whole GPUs */
};

struct orr_victim_index {
    struct orr_arena kept; /* as long as the index: what is by node or queue */
    struct orr_queue_index *queues;
    uint32_t queue_count, node_count;
    uint64_t standing;            /* fingerprint of how all queues stand, */
    uint64_t stood_at_generation; /* at this of the session's queue_generation; 0: never asked */
    struct orr_sketch sketch;     /* dry_run_nodes.c */
    struct orr_gpu_filters filters;
    /* nodes */
    uint64_t nodes_seen; /* session's clock when they were looked at */
    uint32_t ask_count;  /* asks in `densest` */
    int64_t densest[ORR_SLOTS_MAX];
    int64_t asked_apart[ORR_SLOTS_MAX]; /* 1: by some request of no whole GPUs */
    struct orr_node_seen *nodes;
    int32_t *whole;                              /* by node, whole GPUs idle or being released */
    struct orr_room_histogram by_idle, by_whole; /* nodes */
    int64_t whole_in_all;
    int32_t most_idle, largest_node;
    uint64_t odd_nodes, uneven_nodes; /* sums of all nodes' */
    uint64_t content_fingerprint, gpu_content_fingerprint;
    int64_t *gained;          /* by node: milli-GPU, scratch of places.c and gang.c, 0 between */
    uint32_t uncounted_nodes; /* with MIG instances or too many GPUs to be counted so */
    /* consolidation */
    struct orr_contender_row oldest; /* its candidates, of which only the jobs are known */
    uint32_t oldest_but;             /* without this job, or ORR_NONE */
    bool oldest_known;
    uint64_t oldest_lists;         /* that were made so far */
    struct orr_answers failures;   /* how searches end: failure_memo.c, gang.c */
    struct orr_answers dry_runs;   /* dry_run_memo.c */
    uint64_t probes;               /* so many began */
    struct orr_answers aggregates; /* aggregate_serve.c */
    struct orr_order order;        /* of what would be; lent to one after another */
};

/* The session's, nodes and fingerprints brought up to date; made when first asked for. */
struct orr_victim_index *orr_victim_index_now(struct orr_session *session);
/* The queue's preemptible active jobs. */
struct orr_queue_index *orr_victim_index_in(struct orr_session *session, uint32_t queue);
/* Whom time alone may make a victim. */
bool orr_victim_index_timed(const struct orr_session *session);
/* Consolidation's candidates for the job. Whether they are still these is to be asked before the
 * session forgets which tasks changed. */
const struct orr_contender_row *orr_victim_index_oldest(struct orr_session *session, uint32_t job);
void orr_victim_index_check_oldest(struct orr_session *session);

/* It asks whole GPUs and no extended resource. */
bool orr_flat__asks_whole_gpus(const struct orr_session *session, const struct orr_ask *ask);
/* Nor does a filter keep it from a node with GPUs. */
bool orr_flat__goes_anywhere(const struct orr_session *session, const struct orr_ask *ask);
/* The only pod set of a job without constraints, or ORR_NONE. */
uint32_t orr_flat__only_pod_set(const struct orr_session *session, const struct orr_sjob *job);
struct orr_contender orr_flat__contender(const struct orr_session *session, uint32_t job,
                                         uint32_t first_task, uint32_t tasks);
/* Of two contenders of a queue. */
bool orr_flat__is_before(const struct orr_session *session, const struct orr_contender *a,
                         const struct orr_contender *b);
/* What there is to know of the row's contenders. */
void orr_flat__sum_up(struct orr_contender_row *row);

/* --- flat.c --- */

/* Finds out whether the world is flat, with a view of the preemptor's first task. */
void orr_victim__open_flat(struct orr_victim_search *search);
void orr_flat__start_probe(struct orr_victim_search *search);
/* served_first.c: how the search ends, whoever is a victim; SOLVED: it may succeed. */
enum orr_outcome orr_flat__search_outcome(struct orr_victim_search *search);
/* served_first.c, before the first probe: so does every scenario of the victims of a single node,
 * and of the gangs that have a task there. */
bool orr_flat__single_nodes_fail(struct orr_victim_search *search);
/* gang.c: KAI's filter of idle GPUs would pass for one task that asks so much, if all that the jobs
 * of the rows hold were gone. */
bool orr_victim__passes_with_all(const struct orr_session *session,
                                 const struct orr_contender_row *const *rows, uint32_t row_count,
                                 int64_t mgpu);
/* aggregate.c: the scenario of the potential victims on the bearing nodes [from, to). False: it
 * would not be solved. Quicker than to list its victims. `nth`: of the windows of a state, counted
 * from 0, if they grow as those of multi-node gangs do; else ORR_NONE. */
bool orr_victim__leaves_place(struct orr_victim_search *search, uint32_t from, uint32_t to,
                              uint32_t nth);

bool orr_flat__rules_allow(const struct orr_session *session);
/* Its tasks ask whole GPUs and nothing else of a node; `anywhere`: nor does a filter keep them from
 * nodes with GPUs. */
bool orr_flat__is_preemptor(const struct orr_victim_search *search, bool anywhere);

/* Of a job that waited when lanes were brought up to date, or ORR_NONE. */
static inline uint32_t orr_flat__lane(const struct orr_session *session, uint32_t job)
{
    const struct orr_backlog *backlog = session->backlog;
    return job < backlog->job_count ? backlog->lane_of_job[job] : ORR_NONE;
}

/* How many of the lane, counted from its first, are served before the contender; at least `from`.
 */
uint32_t orr_flat__count_before(const struct orr_session *session, uint32_t lane,
                                const struct orr_contender *contender, uint32_t from);
/* Each amount becomes no less than the demand's. */
void orr_flat__raise(struct orr_demand *most, const struct orr_demand *demand);
/* Of each of the contenders, of one queue and the best first: the most of each resource that a job
 * asks which waits in the queue and is served before it, but after the contender before it. */
void orr_flat__find_waiting(struct orr_victim_search *search,
                            const struct orr_contender *contenders, uint32_t count,
                            struct orr_demand *most);
/* Victims of these sizes, all served before the preemptor, leave it nothing. */
bool orr_flat__leave_nothing(const struct orr_flat *f, uint32_t sizes);
/* Finds out which leaves go first. */
void orr_flat__compare_leaves(struct orr_victim_search *search);
/* aggregate_windows.c: made with the line, emptied as a probe starts. A task joined the potential
 * victims. */
void orr_flat__make_windows(struct orr_victim_search *search);
void orr_flat__empty_windows(const struct orr_victim_search *search);
void orr_flat__victim_added(struct orr_victim_search *search);
/* The potential victims on the bearing nodes [from, to), those of the nth scenario of a state or
 * ORR_NONE. To be put back before the next ones are taken. */
void orr_flat__take(struct orr_victim_search *search, uint32_t from, uint32_t to, uint32_t nth,
                    struct orr_taken *taken);
void orr_flat__put_back(const struct orr_victim_search *search, struct orr_taken *taken);
struct orr_aggregate *orr_flat__make_aggregate(struct orr_victim_search *search);

#endif
