/* SPDX-License-Identifier: GPL-3.0-or-later */
/* quota_share.c - the dominant resource share of a node: what it borrows by what could be lent. */
#include <orrery/core/quota.h>

#include <math.h>

static int64_t borrowed_of(const struct orr_quota_tree *tree, uint32_t node, uint32_t resource,
                           bool *borrowing)
{
    int64_t borrowed = 0;
    for (uint32_t flavor = 0; flavor < tree->flavor_count; flavor++) {
        const size_t here = orr_quota_at(tree, node, flavor * tree->resource_count + resource);
        if (tree->defined[here] && tree->usage[here] > tree->subtree[here]) {
            *borrowing = true;
            borrowed =
                orr_quota_add(borrowed, orr_quota_sub(tree->usage[here], tree->subtree[here]));
        }
    }
    return borrowed;
}

static int64_t lendable_to(const struct orr_quota_tree *tree, uint32_t node, uint32_t resource)
{
    const uint32_t root = tree->nodes[node].root;
    int64_t lendable = 0;
    for (uint32_t flavor = 0; flavor < tree->flavor_count; flavor++) {
        const uint32_t cell = flavor * tree->resource_count + resource;
        if (tree->defined[orr_quota_at(tree, root, cell)]) {
            lendable =
                orr_quota_add(lendable, orr_quota_potential(tree, tree->nodes[node].parent, cell));
        }
    }
    return lendable;
}

struct orr_quota_share orr_quota_share(const struct orr_quota_tree *tree, uint32_t node)
{
    struct orr_quota_share share = {.weight = tree->nodes[node].weight, .resource = ORR_NONE};
    if (tree->nodes[node].parent == ORR_NONE) {
        return share;
    }
    for (uint32_t resource = 0; resource < tree->resource_count; resource++) {
        const int64_t borrowed = borrowed_of(tree, node, resource, &share.borrowing);
        if (borrowed <= 0) {
            continue;
        }
        const int64_t lendable = lendable_to(tree, node, resource);
        if (lendable > 0) {
            const double ratio = (double)borrowed * 1000.0 / (double)lendable;
            if (ratio > share.ratio) {
                share.ratio = ratio;
                share.resource = resource;
            }
        }
    }
    return share;
}

bool orr_quota_share_is_infinite(const struct orr_quota_share *share)
{
    return !(share->weight > 0) && share->ratio > 0;
}

double orr_quota_share_value(const struct orr_quota_share *share)
{
    if (!(share->ratio > 0)) {
        return 0;
    }
    return share->weight > 0 ? share->ratio / share->weight : (double)INFINITY;
}

static int order_of(double a, double b)
{
    return (a > b) - (a < b);
}

int orr_quota_share_compare(const struct orr_quota_share *a, const struct orr_quota_share *b)
{
    const bool infinite_a = orr_quota_share_is_infinite(a);
    const bool infinite_b = orr_quota_share_is_infinite(b);
    if (infinite_a || infinite_b) {
        return infinite_a && infinite_b ? order_of(a->ratio, b->ratio) : infinite_a - infinite_b;
    }
    return order_of(orr_quota_share_value(a), orr_quota_share_value(b));
}
