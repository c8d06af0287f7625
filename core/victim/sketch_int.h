/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sketch_int.h - what the files of a sketch share: runs of parties, how tracks stand, lanes. */
#ifndef ORR_VICTIM_SKETCH_INT_H
#define ORR_VICTIM_SKETCH_INT_H

#include "forecast_int.h"

struct run {
    uint32_t seat; /* one of them */
    uint32_t track;
    uint32_t kind;    /* the same for those of the track that ask the same; from 1 */
    uint32_t gpus;    /* of each party */
    bool heavy;       /* its turn matters; see serve */
    uint32_t waits;   /* the last one up to it before whose first any job waits; or NONE */
    uint64_t waiting; /* demands of jobs that wait just before its first */
    uint64_t print;   /* of its queue, how that stands, and what a party asks */
};

/* How a track stands whose next party is of such a kind, with such jobs waiting before it. What is
 * compared first is in one number: over, fed, priority, violates. */
struct standing {
    uint64_t waiting;
    uint32_t kind; /* 0: not worked out yet */
    uint32_t first;
    double share_after, share_now;
};

/* A party of a track as its turn comes. */
struct turn {
    uint32_t run, lacking; /* GPUs of what the queue held before */
    uint64_t waiting;
};

struct stretch {      /* parties of a run that a scenario takes */
    struct turn turn; /* of the first */
    uint32_t count;
};

struct lane { /* a track of one scenario */
    const struct stretch *first, *end;
    const struct stretch *at; /* whose parties are next, */
    struct turn next;
    uint32_t left;                 /* so many; 0: no more parties */
    int64_t held[ORR_SHARE_KINDS]; /* of a track that is not even */
    uint32_t heavy;                /* run of the next heavy party, or ORR_NONE */
    struct standing worst;         /* on the way to it */
};

struct standings { /* of a track, for all scenarios of a probe */
    /* Of light and heavy parties by GPUs lacking, each the last one asked for; NULL if these do not
     * tell what the queue holds. */
    struct standing *items[2];
    struct standing one;     /* then */
    uint32_t priority;       /* tracks of more */
    double allocatable_gpus; /* to the queue */
    uint32_t before;         /* tracks that are served before it if all else is equal */
};

struct orr_sketch {
    bool usable;
    struct run *runs; /* by track, in line */
    uint32_t run_count;
    uint32_t *first_run;         /* by track, and where the last one's end */
    struct stretch *stretches;   /* of a scenario, by track, in line */
    struct lane *lanes;          /* by track */
    struct standings *standings; /* by track; made with the first scenario that is served */
    uint32_t *active;            /* tracks with parties */
    uint32_t active_count;
    uint32_t late;               /* parties left that may be served after the preemptor */
    const struct orr_hand *hand; /* of the scenario */
    uint32_t printed_for;        /* so many of the preemptor's tasks: standings, prints, */
    uint64_t print;              /* of what no scenario changes */
    uint64_t demand_prints[ORR_FORECAST_DEMANDS];
};

/* What the queue lacks says what it holds, whoever of it was chosen. */
static inline bool orr_sketch__is_even(const struct orr_sketch *sketch, uint32_t track)
{
    return sketch->standings[track].items[0] != NULL;
}

/* standing.c: when the preemptor's tasks are others. */
void orr_sketch__make_standings(const struct orr_victim_search *search);
/* Works out how a track stands and keeps it in `at`, or where there is none, until the next one is
 * asked for: of a track that is not even, for the lane's next party. */
const struct standing *orr_sketch__work_out(const struct orr_victim_search *search, uint32_t track,
                                            const struct turn *turn, struct standing *at);
static inline const struct standing *orr_sketch__standing_at(const struct orr_victim_search *search,
                                                             uint32_t track,
                                                             const struct turn *turn)
{
    const struct orr_sketch *sketch = search->forecast->sketch;
    const struct run *run = &sketch->runs[turn->run];
    struct standing *items = sketch->standings[track].items[run->heavy];
    if (items == NULL) {
        return orr_sketch__work_out(search, track, turn, &sketch->standings[track].one);
    }
    struct standing *item = &items[turn->lacking];
    return item->kind == run->kind && item->waiting == turn->waiting
               ? item
               : orr_sketch__work_out(search, track, turn, item);
}
/* Negative: the first is served before the other, if these are of one track. */
static inline int orr_sketch__compare(const struct standing *one, const struct standing *other)
{
    if (one->first != other->first) {
        return one->first < other->first ? -1 : 1;
    }
    if (one->share_after < other->share_after || one->share_after > other->share_after) {
        return one->share_after < other->share_after ? -1 : 1;
    }
    return (one->share_now > other->share_now) - (one->share_now < other->share_now);
}

/* Of two tracks that stand so. */
static inline bool orr_sketch__is_before(const struct orr_forecast *f, uint32_t a,
                                         const struct standing *one, uint32_t b,
                                         const struct standing *other)
{
    const int fixed = orr_forecast__compare_fixed(f, a, b);
    const int order = fixed != 0 ? fixed : orr_sketch__compare(one, other);
    return order != 0 ? order < 0 : f->sketch->standings[a].before < f->sketch->standings[b].before;
}

/* serve.c: serves victims until it is known that nobody can lose his place before the preemptor's
 * turn, who finds none then. True: there is room at its turn, or somebody did. */
bool orr_sketch__serve(const struct orr_victim_search *search, const struct orr_tally *all_rooms,
                       const struct orr_tally *all_tasks);

#endif
