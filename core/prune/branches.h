/* SPDX-License-Identifier: GPL-3.0-or-later */
/* branches.h - the victims of a scenario by top-level queue, outside flat worlds. */
#ifndef ORR_VICTIM_SIDES_H
#define ORR_VICTIM_SIDES_H

#include "prune_int.h"

struct orr_branch_victim {
    uint32_t job, branch;
    uint32_t next; /* of the branch, or ORR_NONE */
    bool back;     /* it was served: */
    /* tasks it lost, and those it is given when it is served, in `tasks` of the branches */
    uint32_t lost, lost_at, due, due_at;
    int elastic_state; /* without what it lost */
    struct orr_demand lost_demand, demand;
};

struct orr_queue_branch { /* a top-level queue and what is below it */
    uint32_t queue;
    bool is_queue;    /* nothing is below it */
    uint64_t context; /* fingerprint of all that playing it reads but victims and preemptor; 0: not
                         known */
    struct orr_order_entry *waiting; /* NULL: not listed yet */
    uint32_t waiting_count;
    /* of the scenario */
    uint64_t victims; /* fingerprint */
    uint32_t first;   /* in `victims`, or ORR_NONE */
};

struct orr_dry_run;
struct orr_branches { /* of a search */
    struct orr_queue_branch *branches;
    uint32_t count, own;
    uint32_t *branch_of; /* by queue */
    bool *overfull;      /* by queue: it or one above it holds more than its limit */
    uint8_t *kind;       /* by job: enum kind, branches.c */
    uint32_t *slot_of;   /* by job: in `victims`, while it is one */
    bool *is_victim;     /* by job: the same */
    bool any_waits;      /* some victim has tasks that wait, so that it is in the lists too */
    struct orr_branch_victim *victims;
    uint32_t victim_count;
    bool *is_lost;   /* by task */
    uint32_t *taken; /* lost tasks as they came */
    uint32_t taken_count;
    uint32_t *tasks; /* of victim after victim */
    uint32_t task_count;
    bool *is_back;                            /* by task: scratch of dry_run.c, all false between */
    int64_t (*hypothetical)[ORR_SHARE_KINDS]; /* by queue: what it holds now */
    uint64_t preemptor;                       /* fingerprint of its tasks */
    /* The preemptor and the candidates, as if all had lost their gangs, in the order of building */
    struct orr_order_entry *line;
    uint32_t line_count, line_for; /* made for so many of the preemptor's tasks; 0: not yet */
    uint32_t *place;               /* in there: by job; */
    uint32_t own_place;            /* of the preemptor, ORR_NONE: it is not served */
    uint64_t *in_line;             /* a bit for each place: scratch, all 0 between */
    struct orr_order_entry *served;
    struct orr_dry_run *run; /* dry_run.c; NULL: not asked for yet */
};

/* NULL: nothing is known of such a world. */
struct orr_branches *orr_branches__of(struct orr_victim_search *search);
/* Of one that asks whole GPUs, none, or parts that cost the same on every device. */
bool orr_branches__is_simple(const struct orr_session *session, const struct orr_stask *task);
/* It is known what the job is given when it is served as a victim. */
bool orr_branches__knows(const struct orr_session *session, struct orr_branches *s, uint32_t job);
/* Of such a job: how many tasks once it lost so many, the rest of its gang or, if it has that, one
 * task more (orr_jobview_to_allocate). */
uint32_t orr_branches__due(const struct orr_session *session, uint32_t job, uint32_t lost);

/* Takes the scenario's victims apart. False: it is not known what some of them is given when it is
 * served. To be forgotten in either case. */
bool orr_branches__take(struct orr_victim_search *search, const struct orr_victims *potential);
void orr_branches__forget(struct orr_victim_search *search);

/* The entries of some of the scenario's victims, from `first` on by `next`, and of the preemptor if
 * `own`, in the order of building; until the next call. */
struct orr_order_entry *orr_branches__entries(struct orr_victim_search *search,
                                              const struct orr_order *order, uint32_t first,
                                              bool own, uint32_t *count);
/* What queues would hold once the victim is evicted, then with what it is due, then as it is. */
void orr_branches__evict(const struct orr_session *session, struct orr_branches *s,
                         struct orr_branch_victim *victim);
void orr_branches__give_back(const struct orr_session *session, struct orr_branches *s,
                             struct orr_branch_victim *victim);
void orr_branches__restore(const struct orr_session *session, struct orr_branches *s,
                           struct orr_branch_victim *victim);
/* The queue and those above it hold so much more (1) or less (-1). */
void orr_branches__charge(const struct orr_session *session, struct orr_branches *s, uint32_t queue,
                          const struct orr_demand *demand, int64_t sign);
struct orr_turns;
/* branch_turns.c: what comes of playing a branch; and whether at the root of the tree the branch
 * that ranks first is always the next one. */
const struct orr_turns *orr_branches__turns(struct orr_victim_search *search,
                                            struct orr_queue_branch *branch);
bool orr_branches__is_heap(struct orr_victim_search *search);
/* Who is left out of the lists of those that wait, by job; NULL: nobody is in them. */
static inline const bool *orr_branches__unlisted(const struct orr_branches *s)
{
    return s->any_waits ? s->is_victim : NULL;
}

#endif
