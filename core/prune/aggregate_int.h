/* SPDX-License-Identifier: GPL-3.0-or-later */
/* aggregate_int.h - what the files of an aggregate share: runs of contenders, how leaves stand,
 * services. */
#ifndef ORR_PRUNE_AGGREGATE_INT_H
#define ORR_PRUNE_AGGREGATE_INT_H

#include "flat_int.h"

struct run {
    uint32_t contender; /* one of them */
    uint32_t leaf;
    uint32_t kind;        /* the same for those of the leaf that ask the same; from 1 */
    uint32_t gpus;        /* of each contender */
    bool sensitive;       /* its turn matters; see serve */
    uint32_t waits;       /* the last one up to it before whose first any job waits; or NONE */
    uint64_t waiting;     /* demands of jobs that wait just before its first */
    uint64_t fingerprint; /* of its queue, how that stands, and what a contender asks */
};

/* How a leaf stands whose next contender is of such a kind, with such jobs waiting before it: the
 * numbers of struct orr_queue_rank. */
struct rank {
    uint64_t waiting;
    uint64_t first;
    uint32_t kind; /* 0: not worked out yet */
    double share_after, share_now;
};

/* A contender of a leaf as its turn comes. */
struct turn {
    uint32_t run, lacking; /* GPUs of what the queue held before */
    uint64_t waiting;
};

struct stretch {      /* contenders of a run that a scenario takes */
    struct turn turn; /* of the first */
    uint32_t count;
};

struct service { /* a leaf of one scenario */
    const struct stretch *first, *end;
    const struct stretch *at; /* whose contenders are next, */
    struct turn next;
    uint32_t left;                 /* so many; 0: no more contenders */
    int64_t held[ORR_SHARE_KINDS]; /* of a leaf that is not even */
    uint32_t sensitive;            /* run of the next sensitive contender, or ORR_NONE */
    struct rank worst;             /* on the way to it */
};

struct ranks { /* of a leaf, for all scenarios of a probe */
    /* Of light and sensitive contenders by GPUs lacking, each the last one asked for; NULL if these
     * do not tell what the queue holds. */
    struct rank *items[2];
    struct rank one;         /* then */
    double allocatable_gpus; /* to the queue */
    uint32_t before;         /* leaves that are served before it if all else is equal */
};

struct orr_aggregate {
    bool usable;
    struct run *runs; /* by leaf, in line */
    uint32_t run_count;
    uint32_t *first_run;       /* by leaf, and where the last one's end */
    struct stretch *stretches; /* of a scenario, by leaf, in line */
    struct service *services;  /* by leaf */
    struct ranks *ranks;       /* by leaf; made with the first scenario that is served */
    uint32_t *active;          /* leaves with contenders */
    uint32_t active_count;
    uint32_t late;                   /* contenders left that may be served after the preemptor */
    const struct orr_window *window; /* of the scenario */
    uint32_t printed_for;            /* so many of the preemptor's tasks: ranks, fingerprints, */
    uint64_t fingerprint;            /* of what no scenario changes */
    uint64_t demand_fingerprints[ORR_FLAT_DEMANDS];
};

/* What the queue lacks says what it holds, whoever of it was chosen. */
static inline bool orr_aggregate__is_even(const struct orr_aggregate *aggregate, uint32_t leaf)
{
    return aggregate->ranks[leaf].items[0] != NULL;
}

/* aggregate_ranks.c: when the preemptor's tasks are others. */
void orr_aggregate__make_ranks(const struct orr_victim_search *search);
/* Works out how a leaf stands and keeps it in `at`, or where there is none, until the next one is
 * asked for: of a leaf that is not even, for the service's next contender. */
const struct rank *orr_aggregate__work_out(const struct orr_victim_search *search, uint32_t leaf,
                                           const struct turn *turn, struct rank *at);
static inline const struct rank *orr_aggregate__rank_at(const struct orr_victim_search *search,
                                                        uint32_t leaf, const struct turn *turn)
{
    const struct orr_aggregate *aggregate = search->refuter.flat->aggregate;
    const struct run *run = &aggregate->runs[turn->run];
    struct rank *items = aggregate->ranks[leaf].items[run->sensitive];
    if (items == NULL) {
        return orr_aggregate__work_out(search, leaf, turn, &aggregate->ranks[leaf].one);
    }
    struct rank *item = &items[turn->lacking];
    return item->kind == run->kind && item->waiting == turn->waiting
               ? item
               : orr_aggregate__work_out(search, leaf, turn, item);
}
/* Negative: the first is served before the other, if these are of one leaf. */
static inline int orr_aggregate__compare(const struct rank *one, const struct rank *other)
{
    if (one->first != other->first) {
        return one->first < other->first ? -1 : 1;
    }
    if (one->share_after < other->share_after || one->share_after > other->share_after) {
        return one->share_after < other->share_after ? -1 : 1;
    }
    return (one->share_now > other->share_now) - (one->share_now < other->share_now);
}

/* Of two leaves that stand so. */
static inline bool orr_aggregate__is_before(const struct orr_flat *f, uint32_t a,
                                            const struct rank *one, uint32_t b,
                                            const struct rank *other)
{
    const int fixed = orr_flat__compare_fixed(f, a, b);
    const int order = fixed != 0 ? fixed : orr_aggregate__compare(one, other);
    return order != 0 ? order < 0 : f->aggregate->ranks[a].before < f->aggregate->ranks[b].before;
}

/* aggregate_serve.c: serves victims until it is known that nobody can lose his place before the
 * preemptor's turn, who finds none then. True: there is room at its turn, or somebody did. */
bool orr_aggregate__serve(const struct orr_victim_search *search,
                          const struct orr_room_histogram *all_rooms,
                          const struct orr_room_histogram *all_tasks);

#endif
