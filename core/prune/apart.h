/* SPDX-License-Identifier: GPL-3.0-or-later */
/* apart.h - the victims of a scenario one by one. */
#ifndef ORR_PRUNE_APART_H
#define ORR_PRUNE_APART_H

#include "prune_int.h"

#define ELASTIC_STATES 3 /* of a gang: it lacks tasks, has its minimum, has more: -1, 0, 1 */

struct orr_apart_loss { /* some of a job's tasks, and what it is given when it is served next */
    uint32_t due;       /* tasks that it is given; 0: it is not known which */
    uint32_t *due_tasks;
    uint64_t fingerprint;
    int elastic_state; /* without what it lost */
    struct orr_demand lost_demand, demand;
};

struct orr_apart_victim { /* a job that was one in some scenario of the search */
    uint32_t job, queue;
    uint32_t active;                   /* tasks that it may lose, */
    uint32_t lost;                     /* and has lost in the scenario */
    bool none_waits;                   /* it has no pending task */
    bool constrained;                  /* by a topology */
    bool limited;                      /* some queue above it has a limit */
    bool counted;                      /* its tasks may be placed by counts of GPUs */
    bool back;                         /* it was served and has its places again */
    const struct orr_apart_loss *loss; /* `whole` or `part` */
    uint64_t key; /* of a scenario: what it is known by in positions, until it was served */
    /* Where GPUs are counted: fingerprint of what it asks, task by task, and of its queue. How it
     * is served hangs on nothing else but its turn; 0: it does. */
    uint64_t like;
    uint64_t job_fingerprint;
    struct orr_apart_loss whole, part; /* of all its tasks; of some, in the last such scenario */
};

struct orr_dry_run;
struct orr_apart {                    /* of a search */
    struct orr_apart_victim **of_job; /* NULL: it was none so far */
    /* Of a scenario: */
    struct orr_apart_victim **victims;
    uint32_t victim_count;
    bool *is_victim;      /* by job */
    bool any_constrained; /* some victim has a constraint of topology */
    bool any_short;       /* some victim is due less than it lost */
    bool all_counted;     /* the tasks of all victims may be placed by counts of GPUs */
    bool *is_lost;        /* by task */
    uint32_t *taken;      /* lost tasks as they came */
    uint32_t taken_count;
    bool *is_back;                            /* by task: scratch of dry_run.c, all false between */
    int64_t (*hypothetical)[ORR_SHARE_KINDS]; /* dry_run.c: by queue, what it would hold */
    /* The preemptor with so many tasks (0: not asked yet), and the candidates in each state that
     * their gangs may be left in; in the order of building */
    uint32_t line_for;
    struct orr_order_entry *line;
    uint32_t line_count;
    int own_state;                     /* of the preemptor */
    uint32_t (*place)[ELASTIC_STATES]; /* in there: by job and by 1 + state */
    uint64_t *waits_before;            /* by place: fingerprint of what its queue's jobs of the
                                        * refuter's list before it ask */
    /* Those of the scenario: */
    uint64_t *in_line;                  /* a bit for each place: scratch, all 0 between */
    struct orr_apart_victim **in_place; /* by place; NULL: the preemptor */
    uint32_t *places;                   /* in their order: the last ones of `all_places` */
    uint32_t place_count;
    uint32_t *all_places;
    uint32_t lined_up; /* the last scenario that was as a window, before its victims were listed */
    struct orr_order_entry *served; /* as the order of the dry run has them */
    struct orr_dry_run *run;        /* dry_run.c; NULL: not asked for yet */
};

/* Some queue above the job has a limit. */
bool orr_apart__is_limited(const struct orr_session *session, uint32_t job);
/* Of one that asks whole GPUs, none, or parts that cost no more than they ask on any device, or
 * where it does not matter if they do. */
bool orr_apart__is_simple(const struct orr_session *session, const struct orr_stask *task);

/* Takes the scenario's victims apart. False: it is not known what some of them is given when it is
 * served. To be forgotten in either case. */
bool orr_apart__take(struct orr_victim_search *search);
void orr_apart__forget(struct orr_victim_search *search);

/* Finds the places of the scenario's victims and of the preemptor in the order of building, the
 * victims' keys, and what the dry run's beginning is known by. */
void orr_apart__line_up(struct orr_victim_search *search, const struct orr_order *order);
/* The same of a window, before its victims are listed. False: some would not lose all their tasks,
 * or are not known by what they ask. */
bool orr_apart__line_up_window(struct orr_victim_search *search, uint32_t from, uint32_t to);
/* Of a task: its job with all its tasks, where they are, and which of them it is. */
uint64_t orr_apart__fingerprint_task(struct orr_victim_search *search, uint32_t task);

#endif
