/* SPDX-License-Identifier: GPL-3.0-or-later */
/* places.h - how many places nodes have for tasks of a size while victims are away. */
#ifndef ORR_PRUNE_PLACES_H
#define ORR_PRUNE_PLACES_H

#include "flat_int.h"

struct orr_place_sums {        /* of all nodes together, or of each domain of a level */
    const uint32_t *domain_of; /* by node, ORR_NONE: in none; NULL: all nodes are one domain */
    uint32_t pinned;           /* the only domain that counts; ORR_NONE: any */
    /* By domain: places while nobody is moved, on so many of the nodes: as many as it took until a
     * domain had enough. */
    int64_t *free;
    uint32_t counted;
    int64_t most;    /* in one domain */
    int64_t *gained; /* by domain: scratch, all 0 between */
};

struct orr_places { /* of a search */
    struct orr_session *session;
    uint32_t slots[ORR_SLOTS_MAX], slot_count; /* none: nothing is known of such a world or job */
    int64_t each[ORR_SLOTS_MAX];               /* z by slot; GPUs are counted whole */
    uint32_t k;                                /* of so many of the preemptor's tasks: */
    int64_t own;                               /* places that they need */
    struct orr_place_sums all;                 /* of all nodes */
    uint32_t touched_count; /* nodes that those who are moved leave (victim_index.c) */
};

enum orr_measure { ORR_MEASURE_ALL, ORR_MEASURE_GPUS, ORR_MEASURES };

/* Of the preemptor's first k tasks, by all that the first one asks or by its GPUs alone. */
struct orr_places *orr_places__of(struct orr_victim_search *search, enum orr_measure measure);
void orr_places__open_sums(struct orr_place_sums *sums, struct orr_arena *memory, uint32_t domains);
/* While these victims are away no domain has places enough for the preemptor; `come_back`: and for
 * the victims. */
bool orr_places__lack(struct orr_places *places, struct orr_place_sums *sums, bool come_back,
                      const struct orr_victims *victims, const struct orr_victims *recorded);

#endif
