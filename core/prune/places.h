/* SPDX-License-Identifier: GPL-3.0-or-later */
/* places.h - how many places nodes have for tasks of a size while victims are away. */
#ifndef ORR_PRUNE_PLACES_H
#define ORR_PRUNE_PLACES_H

#include "flat_int.h"

#define ORR_PLACE_PARTS ORR_SLOTS_MAX /* beside the slots: parts of devices */
#define ORR_MEASURES    (ORR_COUNTED_GPUS + 1)

struct orr_measure {
    uint32_t kinds[ORR_PLACE_KINDS], kind_count;
    int64_t each[ORR_PLACE_KINDS]; /* z by kind; GPUs are counted whole; ORR_PLACE_PARTS: by node */
    int64_t own;                   /* places that the preemptor needs */
    int64_t free;     /* places there are while nobody is moved, on so many of the nodes: */
    uint32_t counted; /* as many as it took until there were enough */
};

struct orr_place_device { /* shared, some of its tasks are moved */
    uint32_t node, id;
    int64_t room_mib, held_mib; /* what is free for parts; what the tasks that stay hold */
    bool whole;                 /* counted among the whole GPUs */
};

struct orr_places {
    struct orr_session *session;
    const struct orr_ask *first; /* of the preemptor's tasks */
    uint32_t k;                  /* what they need is known for so many of them */
    struct orr_measure measures[ORR_MEASURES];
    uint32_t count, all; /* which measure is of everything that the first task asks */
    uint32_t slots[ORR_SLOTS_MAX], slot_count; /* that measures look at */
    /* of those that are moved: */
    int64_t (*gained)[ORR_PLACE_KINDS]; /* by node; ORR_PLACE_PARTS: places */
    uint32_t touched_count;
    struct orr_place_device *devices;
    uint32_t device_count, device_capacity;
};

/* Of the preemptor's first k tasks; NULL: nothing is known of such a world or job. Measure 0 is of
 * as many whole GPUs as the first task asks, if it does. */
struct orr_places *orr_places__of(struct orr_victim_search *search);
/* These victims and the recorded ones leave their nodes; those are touched then. */
void orr_places__move(struct orr_places *places, const struct orr_victim_search *search,
                      const struct orr_victims *potential);
void orr_places__move_back(struct orr_places *places);
/* Places on a node while nobody is moved; with what it gained. */
int64_t orr_places__free_on(const struct orr_places *places, const struct orr_measure *measure,
                            uint32_t node);
int64_t orr_places__moved_on(const struct orr_places *places, const struct orr_measure *measure,
                             uint32_t node);

#endif
