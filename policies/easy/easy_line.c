/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "easy_line.h"

/* Ranks in the heap are hashes of jobs: no state, and equal in every run. */
static uint32_t rank_of(uint32_t job)
{
    uint32_t hash = job * 0x9e3779b9U;
    hash = (hash ^ (hash >> 16)) * 0x85ebca6bU;
    return hash ^ (hash >> 13);
}

static void sum_up(struct easy_nodes *nodes, uint32_t job)
{
    struct easy_node *node = &nodes->of[job];
    node->least_ms = node->estimate_ms;
    node->below_open = node->open;
    const uint32_t below[] = {node->left, node->right};
    for (int i = 0; i < 2; i++) {
        if (below[i] != ORR_NONE) {
            const struct easy_node *child = &nodes->of[below[i]];
            node->least_ms = child->least_ms < node->least_ms ? child->least_ms : node->least_ms;
            node->below_open = node->below_open || child->below_open;
        }
    }
}

/* Parts a tree into the jobs with keys below `key`, and the others. */
static void split(struct easy_nodes *nodes, uint32_t tree, int64_t key, uint32_t *below,
                  uint32_t *others)
{
    if (tree == ORR_NONE) {
        *below = *others = ORR_NONE;
        return;
    }
    struct easy_node *node = &nodes->of[tree];
    if (node->key < key) {
        split(nodes, node->right, key, &node->right, others);
        *below = tree;
    } else {
        split(nodes, node->left, key, below, &node->left);
        *others = tree;
    }
    sum_up(nodes, tree);
}

/* All keys of the one are below those of the other. */
static uint32_t join(struct easy_nodes *nodes, uint32_t below, uint32_t others)
{
    if (below == ORR_NONE || others == ORR_NONE) {
        return below == ORR_NONE ? others : below;
    }
    uint32_t top;
    if (rank_of(below) > rank_of(others)) {
        top = below;
        nodes->of[top].right = join(nodes, nodes->of[top].right, others);
    } else {
        top = others;
        nodes->of[top].left = join(nodes, below, nodes->of[top].left);
    }
    sum_up(nodes, top);
    return top;
}

void orr_easy__put(struct easy_nodes *nodes, uint32_t *line, uint32_t job)
{
    uint32_t below, others;
    struct easy_node *node = &nodes->of[job];
    node->left = node->right = ORR_NONE;
    sum_up(nodes, job);
    split(nodes, *line, node->key, &below, &others);
    *line = join(nodes, join(nodes, below, job), others);
}

void orr_easy__take(struct easy_nodes *nodes, uint32_t *line, uint32_t job)
{
    uint32_t below, others, own;
    const int64_t key = nodes->of[job].key;
    split(nodes, *line, key, &below, &others);
    split(nodes, others, key + 1, &own, &others);
    *line = join(nodes, below, others);
}

uint32_t orr_easy__first(const struct easy_nodes *nodes, uint32_t line)
{
    while (line != ORR_NONE && nodes->of[line].left != ORR_NONE) {
        line = nodes->of[line].left;
    }
    return line;
}

uint32_t orr_easy__next(const struct easy_nodes *nodes, uint32_t line, int64_t after,
                        orr_ms longest_ms)
{
    if (line == ORR_NONE || nodes->of[line].least_ms > longest_ms) {
        return ORR_NONE;
    }
    const struct easy_node *node = &nodes->of[line];
    if (node->key > after) {
        const uint32_t earlier = orr_easy__next(nodes, node->left, after, longest_ms);
        if (earlier != ORR_NONE || node->estimate_ms <= longest_ms) {
            return earlier != ORR_NONE ? earlier : line;
        }
    }
    return orr_easy__next(nodes, node->right, after, longest_ms);
}

uint32_t orr_easy__next_open(const struct easy_nodes *nodes, uint32_t line, int64_t after)
{
    if (line == ORR_NONE || !nodes->of[line].below_open) {
        return ORR_NONE;
    }
    const struct easy_node *node = &nodes->of[line];
    if (node->key > after) {
        const uint32_t earlier = orr_easy__next_open(nodes, node->left, after);
        if (earlier != ORR_NONE || node->open) {
            return earlier != ORR_NONE ? earlier : line;
        }
    }
    return orr_easy__next_open(nodes, node->right, after);
}

void orr_easy__set_open(struct easy_nodes *nodes, uint32_t line, uint32_t job, bool open)
{
    struct easy_node *node = &nodes->of[line];
    if (line == job) {
        node->open = open;
    } else {
        const uint32_t side = nodes->of[job].key < node->key ? node->left : node->right;
        orr_easy__set_open(nodes, side, job, open);
    }
    sum_up(nodes, line);
}
