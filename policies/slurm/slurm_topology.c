/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_topology.c - topology/tree: nodes leaf switch by leaf switch.
 *
 * The next leaf is one that is enough for what is left before one that is not; then the one nearer
 * to those taken; of those that are enough the one with the fewest nodes that could be used, of the
 * others the one with the most; then the first. In a leaf nodes go by index. */
#include "slurm_int.h"

struct leaf {
    int64_t nodes, tasks, distance;
    uint32_t first; /* candidate */
};

/* Steps up and down the tree from one switch to another. */
static int64_t distance(const struct slurm_conf *conf, uint32_t a, uint32_t b)
{
    int64_t up = 0;
    for (uint32_t s = a; s != ORR_NONE; s = conf->switches[s].parent, up++) {
        int64_t down = 0;
        for (uint32_t t = b; t != ORR_NONE; t = conf->switches[t].parent, down++) {
            if (s == t) {
                return up + down;
            }
        }
    }
    return INT32_MAX;
}

static bool is_better(const struct leaf *leaf, const struct leaf *best, int64_t tasks,
                      int64_t nodes)
{
    const bool enough = leaf->tasks >= tasks && leaf->nodes >= nodes;
    const bool best_enough = best->tasks >= tasks && best->nodes >= nodes;
    if (enough != best_enough) {
        return enough;
    }
    if (leaf->distance != best->distance) {
        return leaf->distance < best->distance;
    }
    return enough ? leaf->nodes < best->nodes : leaf->nodes > best->nodes;
}

static struct leaf measure(const struct slurm *slurm, const struct slurm_search *search,
                           uint32_t name, const bool *taken)
{
    const struct slurm_conf *conf = &slurm->conf;
    struct leaf leaf = {0, 0, 0, ORR_NONE};
    for (uint32_t i = 0; i < search->count; i++) {
        const struct slurm_candidate *c = &search->candidates[i];
        if (c->tasks > 0 && conf->leaf[c->node] == name) {
            leaf.first = leaf.first == ORR_NONE ? i : leaf.first;
            leaf.nodes++;
            leaf.tasks += c->tasks;
        }
    }
    for (uint32_t s = 0; s < conf->switch_count && leaf.nodes > 0; s++) {
        leaf.distance += taken[s] ? distance(conf, name, s) : 0;
    }
    return leaf;
}

bool orr_slurm__find_in_tree(const struct slurm *slurm, struct slurm_search *search,
                             const struct slurm_want *want)
{
    const struct slurm_conf *conf = &slurm->conf;
    struct slurm_left left = {want->tasks, want->min_nodes, want->max_nodes};
    bool *taken = orr_zalloc(conf->switch_count + (size_t)1, sizeof *taken);
    search->leaves = 0;
    while (left.most > 0 && (left.tasks > 0 || left.nodes > 0)) {
        struct leaf best = {0, 0, 0, ORR_NONE};
        uint32_t chosen = ORR_NONE;
        for (uint32_t s = 0; s < conf->switch_count; s++) {
            const struct leaf leaf = measure(slurm, search, s, taken);
            if (leaf.nodes > 0 &&
                (chosen == ORR_NONE || is_better(&leaf, &best, left.tasks, left.nodes))) {
                best = leaf;
                chosen = s;
            }
        }
        if (chosen == ORR_NONE) {
            break;
        }
        taken[chosen] = true;
        search->leaves++;
        for (uint32_t i = best.first; i < search->count && (left.tasks > 0 || left.nodes > 0);
             i++) {
            if (search->candidates[i].tasks > 0 &&
                conf->leaf[search->candidates[i].node] == chosen) {
                orr_slurm__seat(search, i, want->group, &left);
            }
        }
    }
    orr_free(taken);
    return left.tasks <= 0 && left.nodes <= 0;
}
