/* SPDX-License-Identifier: GPL-3.0-or-later */
/* places.h - how many places nodes have for the preemptor's tasks while victims are away. */
#ifndef ORR_PRUNE_PLACES_H
#define ORR_PRUNE_PLACES_H

#include "flat_int.h"

struct orr_places {                            /* of a search; free and gained are by domain */
    uint32_t slots[ORR_SLOTS_MAX], slot_count; /* none: nothing is known of such a world or job */
    int64_t each[ORR_SLOTS_MAX];               /* z by slot */
    bool come_back;                            /* victims need places, too */
    const uint32_t *domain_of; /* by node, ORR_NONE: in none; NULL: all nodes are one domain */
    uint32_t pinned;           /* the only domain that counts; ORR_NONE: any */
    int64_t *free;             /* while nobody is moved, on the first nodes, */
    uint32_t counted;          /* so many: as many as it took until a domain had enough */
    int64_t most;              /* of these, in one domain */
    int64_t *gained;           /* scratch, all 0 between */
};

/* Of all nodes, or of each domain of a level; nodes are the same at every question of a search. */
struct orr_places *orr_places__open(struct orr_victim_search *search,
                                    const struct orr_topology_level *level);
/* While these victims and the recorded ones are away, no domain has places enough for the
 * preemptor's first k tasks. */
bool orr_places__lack(const struct orr_victim_search *search, struct orr_places *places,
                      const struct orr_victims *potential);

#endif
