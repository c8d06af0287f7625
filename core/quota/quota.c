/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/quota.h>

#include <orrery/base/mem.h>

/* --- amounts --- */

int64_t orr_quota_add(int64_t a, int64_t b)
{
    if (a == ORR_QUOTA_UNLIMITED || b == ORR_QUOTA_UNLIMITED) {
        return ORR_QUOTA_UNLIMITED;
    }
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return a > 0 ? INT64_MAX : INT64_MIN;
    }
    return sum;
}

int64_t orr_quota_sub(int64_t a, int64_t b)
{
    if (a == ORR_QUOTA_UNLIMITED) {
        return b == ORR_QUOTA_UNLIMITED ? 0 : ORR_QUOTA_UNLIMITED;
    }
    if (b == ORR_QUOTA_UNLIMITED) {
        return INT64_MIN;
    }
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference)) {
        return a > 0 ? INT64_MAX : INT64_MIN;
    }
    return difference;
}

int64_t orr_quota_times(int64_t amount, int64_t count)
{
    int64_t product;
    if (__builtin_mul_overflow(amount, count, &product)) {
        return amount > 0 ? INT64_MAX : INT64_MIN;
    }
    return product;
}

static int64_t at_least_0(int64_t amount)
{
    return amount > 0 ? amount : 0;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- the tree --- */

void orr_quota_init(struct orr_quota_tree *tree, uint32_t nodes, uint32_t flavors,
                    uint32_t resources)
{
    const uint32_t cells = flavors * resources;
    const size_t all = (size_t)nodes * cells;
    *tree = (struct orr_quota_tree){.node_count = nodes,
                                    .resource_count = resources,
                                    .flavor_count = flavors,
                                    .cell_count = cells};
    tree->nodes = orr_zalloc((size_t)nodes + 1, sizeof *tree->nodes);
    tree->cells = orr_zalloc(all + 1, sizeof *tree->cells);
    tree->defined = orr_zalloc(all + 1, sizeof *tree->defined);
    tree->subtree = orr_zalloc(all + 1, sizeof *tree->subtree);
    tree->potential = orr_zalloc(all + 1, sizeof *tree->potential);
    tree->usage = orr_zalloc(all + 1, sizeof *tree->usage);
    tree->children = orr_zalloc((size_t)nodes + 1, sizeof *tree->children);
    for (uint32_t n = 0; n < nodes; n++) {
        tree->nodes[n] = (struct orr_quota_node){.parent = ORR_NONE, .weight = 1};
    }
    for (size_t i = 0; i < all; i++) {
        tree->cells[i].borrowing_limit = tree->cells[i].lending_limit = ORR_QUOTA_NO_LIMIT;
    }
}

void orr_quota_release(struct orr_quota_tree *tree)
{
    orr_free(tree->nodes);
    orr_free(tree->cells);
    orr_free(tree->defined);
    orr_free(tree->subtree);
    orr_free(tree->potential);
    orr_free(tree->usage);
    orr_free(tree->children);
    *tree = (struct orr_quota_tree){0};
}

static bool reaches_root(const struct orr_quota_tree *tree, uint32_t node)
{
    uint32_t steps = 0;
    for (uint32_t n = node; n != ORR_NONE; n = tree->nodes[n].parent) {
        if (steps++ > tree->node_count) {
            return false;
        }
    }
    return true;
}

/* Nodes whose way up never ends become roots of their own. */
static bool cut_cycles(struct orr_quota_tree *tree, bool *cyclic)
{
    bool *bad = orr_zalloc((size_t)tree->node_count + 1, sizeof *bad);
    bool none = true;
    for (uint32_t n = 0; n < tree->node_count; n++) {
        bad[n] = !reaches_root(tree, n);
        none = none && !bad[n];
    }
    for (uint32_t n = 0; n < tree->node_count; n++) {
        if (bad[n]) {
            tree->nodes[n].parent = ORR_NONE;
        }
        if (cyclic != NULL) {
            cyclic[n] = bad[n];
        }
    }
    orr_free(bad);
    return none;
}

static void list_children(struct orr_quota_tree *tree)
{
    uint32_t used = 0;
    for (uint32_t n = 0; n < tree->node_count; n++) {
        tree->nodes[n].first_child = used;
        for (uint32_t c = 0; c < tree->node_count; c++) {
            if (tree->nodes[c].parent == n) {
                tree->children[used++] = c;
            }
        }
        tree->nodes[n].child_count = used - tree->nodes[n].first_child;
    }
}

static uint32_t height_of(const struct orr_quota_tree *tree, uint32_t node)
{
    const struct orr_quota_node *at = &tree->nodes[node];
    uint32_t height = at->cohort && at->child_count > 0 ? 1 : 0;
    for (uint32_t i = 0; i < at->child_count; i++) {
        const uint32_t child = tree->children[at->first_child + i];
        if (tree->nodes[child].cohort) {
            const uint32_t below = 1 + height_of(tree, child);
            height = below > height ? below : height;
        }
    }
    return height;
}

bool orr_quota_build(struct orr_quota_tree *tree, bool *cyclic)
{
    const bool acyclic = cut_cycles(tree, cyclic);
    list_children(tree);
    for (uint32_t n = 0; n < tree->node_count; n++) {
        struct orr_quota_node *node = &tree->nodes[n];
        node->root = n;
        node->depth = 0;
        for (uint32_t up = node->parent; up != ORR_NONE; up = tree->nodes[up].parent) {
            node->root = up;
            node->depth++;
        }
        node->height = height_of(tree, n);
    }
    return acyclic;
}

static void sum_node(struct orr_quota_tree *tree, uint32_t node)
{
    const struct orr_quota_node *at = &tree->nodes[node];
    for (uint32_t i = 0; i < at->child_count; i++) {
        sum_node(tree, tree->children[at->first_child + i]);
    }
    for (uint32_t cell = 0; cell < tree->cell_count; cell++) {
        const size_t here = orr_quota_at(tree, node, cell);
        int64_t quota = tree->cells[here].nominal, usage = at->cohort ? 0 : tree->usage[here];
        for (uint32_t i = 0; i < at->child_count; i++) {
            const uint32_t child = tree->children[at->first_child + i];
            const size_t below = orr_quota_at(tree, child, cell);
            const int64_t local = orr_quota_local(tree, child, cell);
            quota = orr_quota_add(quota, orr_quota_sub(tree->subtree[below], local));
            usage = orr_quota_add(usage, at_least_0(orr_quota_sub(tree->usage[below], local)));
            tree->defined[here] = tree->defined[here] || tree->defined[below];
        }
        tree->subtree[here] = quota;
        tree->usage[here] = usage;
    }
}

static int64_t potential_of(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell)
{
    const size_t here = orr_quota_at(tree, node, cell);
    if (tree->nodes[node].parent == ORR_NONE) {
        return tree->subtree[here];
    }
    const int64_t all = orr_quota_add(orr_quota_local(tree, node, cell),
                                      orr_quota_potential(tree, tree->nodes[node].parent, cell));
    const int64_t limit = tree->cells[here].borrowing_limit;
    return limit == ORR_QUOTA_NO_LIMIT ? all
                                       : lesser(all, orr_quota_add(tree->subtree[here], limit));
}

static void set_potentials(struct orr_quota_tree *tree, uint32_t node)
{
    for (uint32_t cell = 0; cell < tree->cell_count; cell++) {
        tree->potential[orr_quota_at(tree, node, cell)] = potential_of(tree, node, cell);
    }
    const struct orr_quota_node *at = &tree->nodes[node];
    for (uint32_t i = 0; i < at->child_count; i++) {
        set_potentials(tree, tree->children[at->first_child + i]);
    }
}

void orr_quota_sum(struct orr_quota_tree *tree)
{
    for (uint32_t n = 0; n < tree->node_count; n++) {
        if (tree->nodes[n].parent == ORR_NONE) {
            sum_node(tree, n);
            set_potentials(tree, n);
        }
    }
}

/* --- what is free --- */

int64_t orr_quota_local(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell)
{
    const size_t here = orr_quota_at(tree, node, cell);
    const int64_t limit = tree->cells[here].lending_limit;
    return limit == ORR_QUOTA_NO_LIMIT ? 0 : at_least_0(orr_quota_sub(tree->subtree[here], limit));
}

int64_t orr_quota_local_available(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell)
{
    const int64_t usage = tree->usage[orr_quota_at(tree, node, cell)];
    return at_least_0(orr_quota_sub(orr_quota_local(tree, node, cell), usage));
}

static int64_t available(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell)
{
    const size_t here = orr_quota_at(tree, node, cell);
    const int64_t quota = tree->subtree[here], usage = tree->usage[here];
    if (tree->nodes[node].parent == ORR_NONE) {
        return orr_quota_sub(quota, usage);
    }
    int64_t above = available(tree, tree->nodes[node].parent, cell);
    const int64_t limit = tree->cells[here].borrowing_limit;
    if (limit != ORR_QUOTA_NO_LIMIT) {
        const int64_t local = orr_quota_local(tree, node, cell);
        const int64_t stored = orr_quota_sub(quota, local);
        const int64_t used = at_least_0(orr_quota_sub(usage, local));
        above = lesser(above, orr_quota_add(orr_quota_sub(stored, used), limit));
    }
    return orr_quota_add(orr_quota_local_available(tree, node, cell), above);
}

int64_t orr_quota_available(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell)
{
    return at_least_0(available(tree, node, cell));
}

bool orr_quota_borrows_with(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell,
                            int64_t amount)
{
    const size_t here = orr_quota_at(tree, node, cell);
    return tree->subtree[here] < orr_quota_add(tree->usage[here], amount);
}

uint32_t orr_quota_height(const struct orr_quota_tree *tree, uint32_t node, uint32_t cell,
                          int64_t amount, bool *reclaims)
{
    *reclaims = tree->nodes[node].parent != ORR_NONE;
    if (!*reclaims || !orr_quota_borrows_with(tree, node, cell, amount)) {
        return 0;
    }
    int64_t rest = orr_quota_sub(amount, orr_quota_local_available(tree, node, cell));
    for (uint32_t up = tree->nodes[node].parent; up != ORR_NONE; up = tree->nodes[up].parent) {
        if (!orr_quota_borrows_with(tree, up, cell, rest)) {
            *reclaims = tree->nodes[up].parent != ORR_NONE;
            return tree->nodes[up].height;
        }
        rest = orr_quota_sub(rest, orr_quota_local_available(tree, up, cell));
    }
    *reclaims = false;
    return tree->nodes[tree->nodes[node].root].height;
}

/* --- usage --- */

void orr_quota_take(struct orr_quota_tree *tree, uint32_t node, uint32_t cell, int64_t amount)
{
    const int64_t own = orr_quota_local_available(tree, node, cell);
    int64_t *usage = &tree->usage[orr_quota_at(tree, node, cell)];
    *usage = orr_quota_add(*usage, amount);
    if (tree->nodes[node].parent != ORR_NONE && amount > own) {
        orr_quota_take(tree, tree->nodes[node].parent, cell, orr_quota_sub(amount, own));
    }
}

void orr_quota_give(struct orr_quota_tree *tree, uint32_t node, uint32_t cell, int64_t amount)
{
    int64_t *usage = &tree->usage[orr_quota_at(tree, node, cell)];
    const int64_t stored = orr_quota_sub(*usage, orr_quota_local(tree, node, cell));
    *usage = orr_quota_sub(*usage, amount);
    if (tree->nodes[node].parent != ORR_NONE && stored > 0) {
        orr_quota_give(tree, tree->nodes[node].parent, cell, lesser(amount, stored));
    }
}
