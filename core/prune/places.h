/* SPDX-License-Identifier: GPL-3.0-or-later */
/* places.h - how many places nodes have for the preemptor's tasks while victims are away. */
#ifndef ORR_PRUNE_PLACES_H
#define ORR_PRUNE_PLACES_H

#include "flat_int.h"

struct orr_places { /* of a search, in which nodes are the same at every question */
    int64_t each;   /* z, milli-GPU; 0: nothing is known of such a world or job */
    bool by_domain; /* victims need not come back */
    const struct orr_topology_level *level; /* NULL: all nodes are one domain */
    const struct orr_ask *ask;              /* NULL, or: only the nodes that admit it count */
    uint32_t domain_count;
    uint32_t pinned;  /* the only domain that counts; ORR_NONE: any */
    int64_t *free;    /* by domain: while nobody is away, on the first nodes, */
    uint32_t counted; /* so many: as many as it took until a domain had enough */
    int64_t most;     /* of these, in one domain */
    int64_t *gained;  /* by domain, of one question: places that come free */
};

#endif
