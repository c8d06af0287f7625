/* SPDX-License-Identifier: GPL-3.0-or-later */
/* apart.h - the victims of a scenario one by one, outside flat worlds. */
#ifndef ORR_PRUNE_APART_H
#define ORR_PRUNE_APART_H

#include "prune_int.h"

struct orr_apart_victim {
    uint32_t job;
    bool back; /* it was served: */
    bool constrained;
    uint32_t lost, due; /* tasks it lost, and those it is given when it is served: */
    uint32_t *due_tasks;
    uint64_t fingerprint; /* of what it lost */
    int elastic_state;    /* without what it lost */
    struct orr_demand lost_demand, demand;
};

struct orr_dry_run;
struct orr_apart {        /* of a search */
    uint8_t *kind;        /* by job: enum kind, apart.c */
    uint64_t *of_job;     /* by job: its fingerprint; 0: not made yet */
    uint32_t *slot_of;    /* by job: in `victims`, while it is one */
    bool *is_victim;      /* by job: the same */
    bool any_waits;       /* some victim has tasks that wait, so that it is in the lists too */
    bool any_constrained; /* some victim has a constraint of topology */
    struct orr_apart_victim *victims;
    uint32_t victim_count;
    bool *is_lost;   /* by task */
    uint32_t *taken; /* lost tasks as they came */
    uint32_t taken_count;
    uint32_t *due_tasks; /* of victims that lost some of their tasks, one after the other */
    uint32_t due_count;
    /* Victims that lost all their tasks, made once a search. By job, its number in `wholes` and 1;
     * 0: it is not made. */
    uint32_t *whole_of;
    struct orr_apart_victim *wholes;
    uint32_t whole_count;
    bool *is_back;                            /* by task: scratch of dry_run.c, all false between */
    int64_t (*hypothetical)[ORR_SHARE_KINDS]; /* by queue: what it holds now */
    /* The candidates, as if all had lost their gangs, in the order of building */
    struct orr_order_entry *line;
    uint32_t line_count;
    uint32_t *place;            /* in there: by job */
    struct orr_order_entry own; /* the preemptor with so many tasks, 0: not asked yet; */
    uint32_t line_for;
    uint32_t own_place; /* whom of the line it comes before; ORR_NONE: it is not served */
    uint64_t *in_line;  /* a bit for each place: scratch, all 0 between */
    struct orr_order_entry *served; /* those of the scenario */
    uint32_t served_count;
    struct orr_dry_run *run; /* dry_run.c; NULL: not asked for yet */
};

/* NULL: nothing is known of such a world. */
struct orr_apart *orr_apart__of(struct orr_victim_search *search);
/* Of one that asks whole GPUs, none, or parts that cost the same on every device. */
bool orr_apart__is_simple(const struct orr_session *session, const struct orr_stask *task);
/* It must stay in a domain of a topology or prefers to. */
bool orr_apart__is_constrained(const struct orr_session *session, uint32_t job);
/* It is known what the job is given when it is served as a victim. */
bool orr_apart__knows(const struct orr_session *session, struct orr_apart *s, uint32_t job);

/* Takes the scenario's victims apart. False: it is not known what some of them is given when it is
 * served. To be forgotten in either case. */
bool orr_apart__take(struct orr_victim_search *search, const struct orr_victims *potential);
void orr_apart__forget(struct orr_victim_search *search);

/* The entries of the scenario's victims and of the preemptor in the order of building; until the
 * next call. */
struct orr_order_entry *orr_apart__entries(struct orr_victim_search *search,
                                           const struct orr_order *order, uint32_t *count);
/* What queues would hold once the victim is evicted, then with what it is due. */
void orr_apart__evict(const struct orr_session *session, struct orr_apart *s,
                      struct orr_apart_victim *victim);
void orr_apart__give_back(const struct orr_session *session, struct orr_apart *s,
                          struct orr_apart_victim *victim);
/* The queue and those above it would hold what they hold now. */
void orr_apart__restore(const struct orr_victim_search *search, uint32_t queue);
/* Of a task: its job with all its tasks, where they are, and which of them it is. */
uint64_t orr_apart__fingerprint_task(const struct orr_session *session, const struct orr_apart *s,
                                     uint32_t task);
/* What a victim that was served leaves of its fingerprint: 0 if all is as if it never was one. */
uint64_t orr_apart__trace(const struct orr_session *session, const struct orr_apart_victim *victim);
/* The queue and those above it would hold so much more (1) or less (-1). */
void orr_apart__charge(const struct orr_session *session, struct orr_apart *s, uint32_t queue,
                       const struct orr_demand *demand, int64_t sign);
/* Who is left out of the lists of those that wait, by job; NULL: nobody is in them. */
static inline const bool *orr_apart__unlisted(const struct orr_apart *s)
{
    return s->any_waits ? s->is_victim : NULL;
}

#endif
