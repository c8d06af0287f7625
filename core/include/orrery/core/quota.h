/* SPDX-License-Identifier: GPL-3.0-or-later */
/* quota.h - quotas per flavor and resource on a forest of cohorts, as Kueue counts them.
 *
 * A node is a queue (a leaf) or a cohort. A cell is a pair of flavor and resource. Each node owns a
 * nominal quota per cell and may limit what it borrows from and what it lends to the nodes above.
 * Usage that a node's own, unlent part covers is invisible above it. Amounts are whole numbers that
 * saturate; the largest stands for unlimited.
 */
#ifndef ORR_CORE_QUOTA_H
#define ORR_CORE_QUOTA_H

#include <orrery/base/units.h>

ORR_API_BEGIN

#define ORR_QUOTA_UNLIMITED INT64_MAX
#define ORR_QUOTA_NO_LIMIT  INT64_MIN /* of a borrowing or lending limit: not given */

int64_t orr_quota_add(int64_t a, int64_t b);
int64_t orr_quota_sub(int64_t a, int64_t b);
int64_t orr_quota_times(int64_t amount, int64_t count); /* count >= 0 */

struct orr_quota_cell {
    int64_t nominal, borrowing_limit, lending_limit;
};

struct orr_quota_node {
    uint32_t parent; /* ORR_NONE: a root */
    bool cohort;
    double weight; /* >= 0; of the share */
    /* worked out by orr_quota_build */
    uint32_t root, depth, height;
    uint32_t first_child, child_count; /* in tree->children, by id */
};

struct orr_quota_tree {
    uint32_t node_count, resource_count, flavor_count, cell_count;
    struct orr_quota_node *nodes;
    struct orr_quota_cell
        *cells;         /* [node * cell_count + cell], cell = flavor * resource_count + resource */
    bool *defined;      /* the same: the node or one below it states a quota */
    int64_t *subtree;   /* the same: what the node and those below it may use together */
    int64_t *potential; /* the same: what could be taken if nobody else used anything */
    int64_t *usage;     /* the same */
    uint32_t *children;
};

struct orr_quota_share {
    double ratio;  /* borrowed by lendable in thousandths, of the resource where it is largest */
    double weight; /* of the node */
    uint32_t resource; /* the dominant one, or ORR_NONE */
    bool borrowing;    /* on some cell */
};

void orr_quota_init(struct orr_quota_tree *tree, uint32_t nodes, uint32_t flavors,
                    uint32_t resources);
void orr_quota_release(struct orr_quota_tree *tree);
/* To be called when parents are set. False: a node is above itself; `cyclic` says which (may be
 * NULL), and those are made roots. Usage starts at zero. */
bool orr_quota_build(struct orr_quota_tree *tree, bool *cyclic);
/* To be called when quotas are set or have changed; usage stays. */
void orr_quota_sum(struct orr_quota_tree *tree);

static inline size_t orr_quota_at(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell)
{
    return (size_t)node * tree->cell_count + cell;
}

/* What the node keeps to itself of its quota. */
int64_t orr_quota_local(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell);
int64_t orr_quota_local_available(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell);
/* What may be taken now, what is borrowed included; never negative. */
int64_t orr_quota_available(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell);
static inline int64_t orr_quota_potential(const struct orr_quota_tree *tree, uint32_t node,
                                          uint32_t cell)
{
    return tree->potential[orr_quota_at(tree, node, cell)];
}
bool orr_quota_borrows_with(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell,
                            int64_t amount);
void orr_quota_take(struct orr_quota_tree *tree, uint32_t node, uint32_t cell, int64_t amount);
void orr_quota_give(struct orr_quota_tree *tree, uint32_t node, uint32_t cell, int64_t amount);
/* How far up the quota for `amount` more has to come from: 0 is the node's own, else the height of
 * the cohort. `reclaims`: there is a cohort above that one, or nothing is borrowed in a cohort. */
uint32_t orr_quota_height(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell,
                          int64_t amount, bool *reclaims);

struct orr_quota_share orr_quota_share(const struct orr_quota_tree *tree, uint32_t node);
/* <0, 0, >0: as a share of `a` is less, equal, greater. */
int orr_quota_share_compare(const struct orr_quota_share *a, const struct orr_quota_share *b);
/* Divided by the weight; infinite if something is borrowed with weight 0. */
double orr_quota_share_value(const struct orr_quota_share *share);
bool orr_quota_share_is_infinite(const struct orr_quota_share *share);

ORR_API_END

#endif
