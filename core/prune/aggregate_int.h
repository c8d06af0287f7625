/* SPDX-License-Identifier: GPL-3.0-or-later */
/* aggregate_int.h - what the files of an aggregate share: runs of contenders, and the leaves that
 * serve them. */
#ifndef ORR_PRUNE_AGGREGATE_INT_H
#define ORR_PRUNE_AGGREGATE_INT_H

#include "flat_int.h"

struct run {
    uint32_t contender; /* one of them */
    uint32_t leaf;
    uint32_t tasks;
    uint32_t gpus;        /* of each contender; of the preemptor 1, see `own` */
    uint32_t waiting;     /* the most GPUs that a job asks which waits just before its first */
    bool light;           /* see aggregate_serve.c */
    uint64_t fingerprint; /* of how its leaf stands, and what a contender asks */
};

struct stretch { /* contenders of a run that a scenario takes */
    const struct run *run;
    uint32_t count;
    uint32_t most; /* GPUs that the first of them, or a job that waits before it, asks */
};

struct standing { /* of a queue that holds so many GPUs: see struct orr_queue_rank */
    uint64_t first;
    double share;
    bool known;
};

struct turn {                    /* of a contender, NULL: there is none */
    const struct standing *with; /* how its leaf stands then, */
    uint32_t held;               /* which holds so many GPUs, by contenders */
};

struct service { /* a leaf */
    /* of a search */
    uint32_t queue;
    bool goes_first;            /* whoever of it are chosen, before the preemptor */
    uint32_t before;            /* leaves that are served before it if all else is equal */
    uint32_t stays, gone;       /* GPUs of its queue that no contender holds; of all contenders */
    struct standing *standings; /* by the GPUs that contenders hold */
    uint64_t fingerprint;       /* of all that `standings` and `before` hang on */
    /* of a scenario */
    const struct stretch *at, *end; /* whose contenders are next */
    uint32_t left;                  /* so many of them; 0: the leaf has no more */
    uint32_t held;                  /* GPUs, by contenders */
    uint32_t asked;                 /* GPUs, by the next contender or who waits before it */
    struct turn heavy;              /* of the next contender that is not light */
};

struct orr_aggregate {
    bool usable;
    struct run *runs; /* by leaf, in line */
    uint32_t run_count;
    struct stretch *stretches; /* of a scenario, by leaf, in line */
    struct service *services;  /* by leaf */
    struct service **active;   /* leaves with contenders */
    uint32_t active_count;
    struct standing own[2]; /* of the preemptor's queue: now, and with it: as if it asked one GPU */
    uint32_t opened_for;    /* so many of the preemptor's tasks; 0: for none */
    bool tells;             /* GPUs alone tell how leaves stand */
};

/* aggregate_standing.c: once for so many of the preemptor's tasks. False: how leaves stand is not
 * known. */
bool orr_aggregate__open(const struct orr_victim_search *search);
void orr_aggregate__find_standing(const struct orr_session *session, uint32_t queue, uint32_t gpus,
                                  struct standing *standing);
/* Of the leaf, where its contenders hold so many GPUs. */
static inline const struct standing *orr_aggregate__standing(const struct orr_session *session,
                                                             const struct service *service,
                                                             uint32_t held)
{
    struct standing *standing = &service->standings[held];
    if (!standing->known) {
        orr_aggregate__find_standing(session, service->queue, service->stays + held, standing);
    }
    return standing;
}

/* aggregate_serve.c: serves victims until it is known that nobody can lose his place before the
 * preemptor's turn, who finds none then. True: there is room at its turn, or somebody did. */
bool orr_aggregate__serve(const struct orr_victim_search *search, const struct orr_taken *taken);

#endif
