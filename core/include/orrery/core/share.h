/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share.h - how much of the cluster each queue is entitled to right now.
 *
 * The division KAI makes at the start of every session: each of CPU, memory and GPU on its own,
 * from the roots of the queue hierarchy down, one set of siblings after the other. Siblings first
 * get what they ask for within their quota, then what is left goes by priority and over-quota
 * weight in whole units, and the units that rounding left over go one each to whoever lost most.
 *
 * Queues are a plain array that the caller fills; the index in it is the queue's identity and the
 * order in which sums are made. The shape of the hierarchy is kept apart in an orr_share_tree, made
 * once for a hierarchy, so that dividing again allocates nothing:
 *
 *     queues[]   0 root-a   1 root-b   2 a/x   3 a/y   4 b/z        (parent: index or ORR_NONE)
 *     sets[]     {0 1}      {2 3}      {4}                          (parents before children)
 *
 * Units: milli-CPU, bytes, GPU devices. Quota and limit may be ORR_UNLIMITED.
 */
#ifndef ORR_CORE_SHARE_H
#define ORR_CORE_SHARE_H

#include <orrery/base/units.h>
#include <orrery/core/share_kind.h>

ORR_API_BEGIN

#define ORR_SHARE_ALL ((1u << ORR_SHARE_KINDS) - 1)

struct orr_share_resource {          /* one resource of one queue; all but fair_share are inputs */
    double deserved;                 /* quota, or ORR_UNLIMITED */
    double limit;                    /* never more than this, or ORR_UNLIMITED */
    double weight;                   /* over-quota weight among siblings */
    double allocated;                /* held by jobs of the queue and its descendants */
    double allocated_nonpreemptible; /* the part of it held by non-preemptible jobs */
    double request;                  /* allocated and waiting for */
    double usage;                    /* past use as a part of the cluster, 0..1; see usage.h */
    double fair_share;               /* the result */
};

struct orr_share_queue {
    uint32_t parent;    /* index in the same array, or ORR_NONE for a root */
    int32_t priority;   /* larger is served first */
    int64_t created;    /* any clock; the older queue wins a tie */
    uint32_t name_rank; /* position among all names in byte order; wins the last tie */
    struct orr_share_resource resource[ORR_SHARE_KINDS];
};

/* Request as far as the limit allows it. */
static inline double orr_share_requestable(const struct orr_share_resource *r)
{
    return r->limit == ORR_UNLIMITED || r->request < r->limit ? r->request : r->limit;
}

/* True if more fair share would be of no use. */
static inline bool orr_share_is_satisfied(const struct orr_share_resource *r)
{
    return r->request <= r->fair_share || (r->limit != ORR_UNLIMITED && r->limit <= r->fair_share);
}

/* What is still wanted beyond the fair share. */
static inline double orr_share_remaining(const struct orr_share_resource *r)
{
    double remaining = orr_share_requestable(r) - r->fair_share;
    return remaining > 0 ? remaining : 0;
}

/* What the queue may hold before it counts as over its share; ORR_UNLIMITED if nothing bounds it.
 */
static inline double orr_share_allocatable(const struct orr_share_resource *r)
{
    if (r->deserved == ORR_UNLIMITED) {
        return r->limit;
    }
    double share = r->deserved > r->fair_share ? r->deserved : r->fair_share;
    return r->limit == ORR_UNLIMITED || share < r->limit ? share : r->limit;
}

struct orr_share_set {                 /* children of one queue, or all roots */
    uint32_t parent;                   /* ORR_NONE for the roots */
    uint32_t first, count;             /* slice of members and ranked */
    double total[ORR_SHARE_KINDS];     /* what was divided last */
    double remaining[ORR_SHARE_KINDS]; /* what nobody took */
    unsigned stale;                    /* bits of resources to divide again */
};

struct orr_share_tree {
    struct orr_share_set *sets; /* set 0 holds the roots; parents come before children */
    uint32_t set_count, queue_count;
    uint32_t *members; /* queue indices set by set, ascending within a set */
    uint32_t *ranked;  /* the same, by priority descending, then index */
    uint32_t *set_of;  /* queue -> its set */
    uint32_t *level;   /* depth of a queue; roots have 0 */
    double k;          /* of the last division */
    /* scratch of one division, queue_count long */
    uint32_t *open, *heap;
    double *claim, *residue;
};

/* Sorts out the hierarchy. Needed again only when parent, priority or the number of queues changed.
 * Every parent must exist and there must be no cycle. Release frees what build took. */
void orr_share_tree_init(struct orr_share_tree *tree);
void orr_share_tree_build(struct orr_share_tree *tree, const struct orr_share_queue *queues,
                          uint32_t count);
void orr_share_tree_release(struct orr_share_tree *tree);

/* Divides `total` among all queues. `k` is how strongly past usage counts (0: not at all). */
void orr_share_divide(struct orr_share_tree *tree, struct orr_share_queue *queues,
                      const double total[ORR_SHARE_KINDS], double k);

/* Says that inputs of a queue changed for the resources in `kinds` (bits 1 << orr_share_kind). A
 * change of request must be passed for every ancestor whose request changed with it. */
void orr_share_touch(struct orr_share_tree *tree, uint32_t queue, unsigned kinds);
/* The same result as orr_share_divide, made by dividing only the sets that were touched or whose
 * total changed. Returns the number of (set, resource) pairs divided: 0 means nothing moved. */
uint32_t orr_share_redivide(struct orr_share_tree *tree, struct orr_share_queue *queues,
                            const double total[ORR_SHARE_KINDS], double k);

/* The steps, for one resource and one set of siblings. Both add to fair_share as they find it and
 * return what is left; 0 if the quotas took more than there is. */
double orr_share_divide_set(struct orr_share_tree *tree, struct orr_share_queue *queues,
                            uint32_t set, enum orr_share_kind kind, double total, double k);
double orr_share_divide_over_quota(struct orr_share_tree *tree, struct orr_share_queue *queues,
                                   uint32_t set, enum orr_share_kind kind, double amount, double k);

ORR_API_END

#endif
