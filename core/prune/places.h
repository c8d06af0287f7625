/* SPDX-License-Identifier: GPL-3.0-or-later */
/* places.h - how many places nodes have for tasks of a size while victims are away. */
#ifndef ORR_PRUNE_PLACES_H
#define ORR_PRUNE_PLACES_H

#include "flat_int.h"

#define ORR_MEASURES (ORR_COUNTED_GPUS + 1)

struct orr_measure {
    uint32_t slots[ORR_SLOTS_MAX], slot_count;
    int64_t each[ORR_SLOTS_MAX]; /* z by slot; GPUs are counted whole */
    int64_t own;                 /* places that the preemptor needs */
    int64_t free;                /* places there are while nobody is moved, on so many nodes: */
    uint32_t counted;            /* as many as it took until there were enough */
};

struct orr_places { /* of a search */
    struct orr_session *session;
    uint32_t k; /* what they need is known for so many of the preemptor's tasks */
    struct orr_measure measures[ORR_MEASURES];
    uint32_t count, widest; /* which measure is of everything that the first task asks */
    uint32_t touched_count; /* nodes that those who are moved leave (victim_index.c) */
};

/* Of the preemptor's first k tasks; NULL: nothing is known of such a world or job. */
struct orr_places *orr_places__of(struct orr_victim_search *search);
/* These victims leave their nodes, which are touched then; all are where they were again. */
void orr_places__move(struct orr_places *places, const struct orr_victims *victims);
void orr_places__move_back(struct orr_places *places);
/* Places on a node while nobody is moved; what those that are moved add to them. */
int64_t orr_places__free_on(const struct orr_places *places, const struct orr_measure *measure,
                            uint32_t node);
int64_t orr_places__gained_on(const struct orr_places *places, const struct orr_measure *measure,
                              uint32_t node);

#endif
