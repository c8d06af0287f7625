/* SPDX-License-Identifier: GPL-3.0-or-later */
/* aggregate_int.h - what the files of an aggregate share: runs of contenders, and the leaves that
 * serve them. */
#ifndef ORR_PRUNE_AGGREGATE_INT_H
#define ORR_PRUNE_AGGREGATE_INT_H

#include "flat_int.h"

struct run {
    uint32_t contender; /* one of them */
    uint32_t leaf;
    bool first; /* of its leaf */
    uint32_t tasks;
    uint32_t gpus;    /* of each contender */
    uint32_t waiting; /* the most GPUs that a job asks which waits just before its first */
    /* Fingerprint of the run and of those before it in its leaf; once the aggregate is opened, of
     * how the leaf stands, too. */
    uint64_t key;
};

struct stretch { /* contenders of a run that a scenario takes */
    const struct run *run;
    uint32_t count;
    uint32_t most; /* GPUs that the first of them, or a job that waits before it, asks */
};

struct standing {   /* of a queue that holds so many GPUs: see struct orr_queue_rank */
    uint64_t first; /* and 1; 0: not known */
    double share;
};

struct service { /* a leaf */
    /* of a search */
    uint32_t queue;
    uint32_t stays, gone;       /* GPUs of its queue that no contender holds; of all contenders */
    uint32_t most;              /* GPUs that a contender asks, or who waits before one */
    struct orr_demand waiting;  /* the most that one asks who waits before a contender */
    bool in_parts;              /* one of them asks a part of a GPU */
    struct standing *standings; /* by the GPUs that contenders hold */
    uint64_t key;               /* fingerprint of how its queue stands, when it is served and what
                                 * the preemptor asks */
    /* of a scenario */
    const struct stretch *at, *end; /* whose contenders are next */
    uint32_t left;                  /* so many of that run */
    uint32_t held;                  /* GPUs, by contenders */
    uint32_t asked;                 /* GPUs, by its next contender or a job that waits before it */
    const struct standing *with;    /* of its queue if it held those, too */
};

struct orr_aggregate {
    bool usable;
    struct run *runs; /* by leaf, in line */
    uint32_t run_count;
    struct stretch *stretches; /* of a scenario, by leaf, in line */
    struct service *services;  /* by leaf */
    struct service *own;       /* the preemptor's, as if it asked one GPU; its run does not count */
    struct service **active;   /* leaves with contenders */
    uint32_t active_count;
    uint64_t *positions;              /* of a scenario: where serving was */
    struct standing own_standings[2]; /* of the preemptor's queue: now, and with it */
    bool opened, tells; /* it was asked whether GPUs alone tell how leaves stand; they do */
};

/* aggregate_standing.c: once a search. False: how leaves stand is not known. */
bool orr_aggregate__open(const struct orr_victim_search *search);
void orr_aggregate__find_standing(const struct orr_session *session, uint32_t queue, uint32_t gpus,
                                  struct standing *standing);
/* Of the leaf, where its contenders hold so many GPUs. */
static inline const struct standing *orr_aggregate__standing(const struct orr_session *session,
                                                             const struct service *service,
                                                             uint32_t held)
{
    struct standing *standing = &service->standings[held];
    if (standing->first == 0) {
        orr_aggregate__find_standing(session, service->queue, service->stays + held, standing);
    }
    return standing;
}

/* As it is kept. */
enum answer {
    NOT_KNOWN,
    LEAVES_NONE, /* the preemptor finds no place */
    LEAVES_SOME  /* there is room at its turn, or somebody lost his place before */
};
/* aggregate_serve.c: serves victims until one loses his place or it is the preemptor's turn. left:
 * fingerprint of who is served and what is asked. */
enum answer orr_aggregate__serve(const struct orr_victim_search *search,
                                 const struct orr_taken *taken, uint64_t left);

#endif
