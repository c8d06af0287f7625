/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hierarchy as sets of siblings, and which of them have to be divided. */
#include <orrery/core/share.h>

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/base/status.h>

void orr_share_tree_init(struct orr_share_tree *tree)
{
    *tree = (struct orr_share_tree){0};
}

void orr_share_tree_release(struct orr_share_tree *tree)
{
    orr_free(tree->sets);
    orr_free(tree->members);
    orr_free(tree->ranked);
    orr_free(tree->set_of);
    orr_free(tree->level);
    orr_free(tree->open);
    orr_free(tree->heap);
    orr_free(tree->claim);
    orr_free(tree->residue);
    orr_share_tree_init(tree);
}

/* Children of every queue as slices of `children`: first[q] .. first[q + 1], in index order. Roots
 * are the children of queue number `count`. */
static void list_children(const struct orr_share_queue *queues, uint32_t count, uint32_t *first,
                          uint32_t *children)
{
    memset(first, 0, (count + (size_t)2) * sizeof *first);
    for (uint32_t q = 0; q < count; q++) {
        ORR_ASSERT(queues[q].parent == ORR_NONE || queues[q].parent < count);
        first[(queues[q].parent == ORR_NONE ? count : queues[q].parent) + 1]++;
    }
    for (uint32_t p = 0; p <= count; p++) {
        first[p + 1] += first[p];
    }
    /* Backwards, so that each slice fills from its end and first[] ends up at the starts. */
    for (uint32_t q = count; q-- > 0;) {
        uint32_t parent = queues[q].parent == ORR_NONE ? count : queues[q].parent;
        children[--first[parent + 1]] = q;
    }
    for (uint32_t p = 0; p <= count; p++) {
        first[p] = first[p + 1];
    }
    first[count + 1] = count;
}

struct ranking {
    const struct orr_share_queue *queues;
};

static int by_priority(const void *a, const void *b, void *context)
{
    const struct ranking *ranking = context;
    int32_t left = ranking->queues[*(const uint32_t *)a].priority;
    int32_t right = ranking->queues[*(const uint32_t *)b].priority;
    return (left < right) - (left > right);
}

static void add_set(struct orr_share_tree *tree, const struct orr_share_queue *queues,
                    uint32_t parent, const uint32_t *children, uint32_t count, uint32_t first)
{
    uint32_t index = tree->set_count++;
    tree->sets[index] = (struct orr_share_set){
        .parent = parent, .first = first, .count = count, .stale = ORR_SHARE_ALL};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t queue = children[i];
        tree->members[first + i] = queue;
        tree->ranked[first + i] = queue;
        tree->set_of[queue] = index;
        tree->level[queue] = parent == ORR_NONE ? 0 : tree->level[parent] + 1;
    }
    /* Stable, so queues of one priority keep index order. */
    struct ranking ranking = {.queues = queues};
    orr_sort(tree->ranked + first, count, sizeof *tree->ranked, by_priority, &ranking);
}

void orr_share_tree_build(struct orr_share_tree *tree, const struct orr_share_queue *queues,
                          uint32_t count)
{
    orr_share_tree_release(tree);
    tree->queue_count = count;
    tree->sets = orr_zalloc((size_t)count + 1, sizeof *tree->sets);
    tree->members = orr_zalloc(count, sizeof *tree->members);
    tree->ranked = orr_zalloc(count, sizeof *tree->ranked);
    tree->set_of = orr_zalloc(count, sizeof *tree->set_of);
    tree->level = orr_zalloc(count, sizeof *tree->level);
    tree->open = orr_zalloc(count, sizeof *tree->open);
    tree->heap = orr_zalloc(count, sizeof *tree->heap);
    tree->claim = orr_zalloc(count, sizeof *tree->claim);
    tree->residue = orr_zalloc(count, sizeof *tree->residue);

    uint32_t *first = orr_alloc((size_t)count + 2, sizeof *first);
    uint32_t *children = orr_alloc(count, sizeof *children);
    list_children(queues, count, first, children);
    uint32_t roots = first[count + 1] - first[count];
    add_set(tree, queues, ORR_NONE, children + first[count], roots, 0);
    uint32_t placed = roots;
    for (uint32_t i = 0; i < placed; i++) {
        uint32_t queue = tree->members[i];
        uint32_t below = first[queue + 1] - first[queue];
        if (below > 0) {
            add_set(tree, queues, queue, children + first[queue], below, placed);
            placed += below;
        }
    }
    ORR_ASSERT(placed == count); /* fewer: some queue is its own ancestor */
    orr_free(first);
    orr_free(children);
}

void orr_share_touch(struct orr_share_tree *tree, uint32_t queue, unsigned kinds)
{
    ORR_ASSERT(queue < tree->queue_count);
    tree->sets[tree->set_of[queue]].stale |= kinds & ORR_SHARE_ALL;
}

/* KAI proportion: a queue's fair share is the total for its children. */
static double total_of(const struct orr_share_set *set, const struct orr_share_queue *queues,
                       const double total[ORR_SHARE_KINDS], unsigned kind)
{
    return set->parent == ORR_NONE ? total[kind] : queues[set->parent].resource[kind].fair_share;
}

uint32_t orr_share_redivide(struct orr_share_tree *tree, struct orr_share_queue *queues,
                            const double total[ORR_SHARE_KINDS], double k)
{
    unsigned forced = k != tree->k ? ORR_SHARE_ALL : 0;
    uint32_t divided = 0;
    tree->k = k;
    for (uint32_t s = 0; s < tree->set_count; s++) {
        struct orr_share_set *set = &tree->sets[s];
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            double amount = total_of(set, queues, total, kind);
            if (((set->stale | forced) >> kind & 1u) == 0 && amount == set->total[kind]) {
                continue;
            }
            for (uint32_t i = 0; i < set->count; i++) {
                queues[tree->members[set->first + i]].resource[kind].fair_share = 0;
            }
            set->total[kind] = amount;
            set->remaining[kind] =
                orr_share_divide_set(tree, queues, s, (enum orr_share_kind)kind, amount, k);
            divided++;
        }
        set->stale = 0;
    }
    return divided;
}

void orr_share_divide(struct orr_share_tree *tree, struct orr_share_queue *queues,
                      const double total[ORR_SHARE_KINDS], double k)
{
    for (uint32_t s = 0; s < tree->set_count; s++) {
        tree->sets[s].stale = ORR_SHARE_ALL;
    }
    (void)orr_share_redivide(tree, queues, total, k);
}
