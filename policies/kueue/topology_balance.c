/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology_balance.c - preferred pods spread evenly (gate TASBalancedPlacement).
 *
 *     orr_kueue__balance
 *       find_best        siblings of the preferred level whose smallest part would be largest
 *         greedy           how many domains are needed, and which is filled last
 *         prune            domains below that threshold are out
 *       choose           of them as many as needed, with the least room left over
 *       give             the threshold to each, the rest from the front
 *
 * Everything is tried on a copy of the domains' counts: if it fails, the best fit goes on with
 * those.
 */
#include <math.h>
#include <string.h>

#include "topology_place.h"

struct best {
    struct kueue_domain *domains; /* the copy */
    struct list siblings;
    int64_t threshold;
    uint32_t used;
};

static struct kueue_domain *copy_domains(const struct placing *placing,
                                         const struct kueue_domain *counted)
{
    const uint32_t count = placing->topology->domain_count;
    struct kueue_domain *copy =
        orr_arena_alloc(&placing->kueue->arena, (size_t)count + 1, sizeof *copy);
    memcpy(copy, counted, count * sizeof *copy);
    return copy;
}

/* --- how many are needed --- */

struct greedy {
    bool fits;
    uint32_t used;
    const struct share *last, *last_with_leader; /* NULL: none */
};

/* Sorts the list. */
static struct greedy take_greedily(struct placing *placing, struct list list)
{
    struct greedy greedy = {0};
    int64_t rest = placing->need, lead = placing->lead;
    uint32_t i = 0;
    orr_kueue__sort_list(placing, list, orr_kueue__by_leader);
    for (; lead > 0 && i < list.count && list.items[i].leader > 0; i++) {
        greedy.last_with_leader = &list.items[i];
        lead -= list.items[i].leader;
        rest -= list.items[i].slices_with_leader;
        greedy.used++;
    }
    const struct list others = {list.items + i, list.count - i};
    orr_kueue__sort_list(placing, others, orr_kueue__by_workers);
    for (i = 0; lead <= 0 && rest > 0 && i < others.count && others.items[i].slices > 0; i++) {
        greedy.last = &others.items[i];
        rest -= others.items[i].slices;
        greedy.used++;
    }
    greedy.fits = lead <= 0 && rest <= 0 && greedy.used > 0;
    return greedy;
}

static int64_t less_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The smallest part if they share as evenly as they can. */
static int64_t threshold_of(const struct placing *placing, const struct greedy *greedy)
{
    int64_t threshold = placing->need / greedy->used;
    if (greedy->last_with_leader != NULL) {
        threshold = less_of(threshold, greedy->last_with_leader->slices_with_leader);
    }
    return greedy->last != NULL ? less_of(threshold, greedy->last->slices) : threshold;
}

/* --- domains that are too small --- */

static void clear(struct kueue_topology *topology, uint32_t domain, bool leader_only)
{
    struct kueue_domain *is = &topology->domains[domain];
    is->pods_with_leader = is->slices_with_leader = is->leader = 0;
    if (!leader_only) {
        is->pods = is->slices = 0;
    }
    for (uint32_t c = 0; c < is->child_count; c++) {
        clear(topology, is->first_child + c, leader_only);
    }
}

static void prune_domain(const struct placing *placing, uint32_t domain, int64_t threshold)
{
    const struct kueue_domain *is = &placing->topology->domains[domain];
    if (is->slices < threshold) {
        clear(placing->topology, domain, false);
    } else if (placing->lead > 0 && is->leader > 0 && is->slices_with_leader < threshold) {
        clear(placing->topology, domain, true); /* for workers it will do */
    }
}

static void count_again(const struct placing *placing, uint32_t domain, uint32_t level)
{
    struct kueue_domain *is = &placing->topology->domains[domain];
    for (uint32_t c = 0; c < is->child_count; c++) {
        count_again(placing, is->first_child + c, level + 1);
    }
    if (is->child_count > 0) {
        orr_kueue__count_parent(placing, is, level, 1);
    } else if (level == placing->slice_level) {
        is->slices = is->pods / placing->slice;
        is->slices_with_leader = is->pods_with_leader / placing->slice;
    }
}

static void prune(const struct placing *placing, const struct list *siblings, int64_t threshold)
{
    const struct kueue_domain *domains = placing->topology->domains;
    for (uint32_t i = 0; i < siblings->count; i++) {
        const struct kueue_domain *is = &domains[siblings->items[i].domain];
        for (uint32_t c = 0; c < is->child_count; c++) {
            prune_domain(placing, is->first_child + c, threshold);
        }
    }
    for (uint32_t i = 0; i < siblings->count; i++) {
        count_again(placing, siblings->items[i].domain, placing->level);
        prune_domain(placing, siblings->items[i].domain, threshold);
    }
}

/* --- the siblings that share best --- */

static struct list list_range(const struct placing *placing, uint32_t first, uint32_t count)
{
    struct list list = orr_kueue__new_list(placing, count);
    for (uint32_t i = 0; i < count; i++) {
        orr_kueue__push_domain(placing, &list, first + i);
    }
    return list;
}

static void consider(struct placing *placing, struct kueue_domain *counted, uint32_t first,
                     uint32_t count, struct best *best)
{
    placing->topology->domains = counted;
    struct list siblings = list_range(placing, first, count);
    const struct list lower = placing->level < placing->slice_level
                                  ? orr_kueue__children(placing, &siblings)
                                  : list_range(placing, first, count);
    const struct greedy greedy = take_greedily(placing, lower);
    int64_t threshold = greedy.fits ? threshold_of(placing, &greedy) : 0;
    int64_t reserving = threshold; /* room for the leader kept in the last one */
    if (greedy.fits && placing->lead > 0 && greedy.last != NULL) {
        reserving = less_of(threshold, greedy.last->slices_with_leader);
    }
    while (greedy.fits && threshold >= best->threshold) {
        placing->topology->domains = copy_domains(placing, counted);
        prune(placing, &siblings, threshold);
        siblings = list_range(placing, first, count);
        const struct greedy pruned = take_greedily(placing, list_range(placing, first, count));
        if (pruned.fits) {
            if (threshold > best->threshold || pruned.used < best->used) {
                *best = (struct best){placing->topology->domains, siblings, threshold, pruned.used};
            }
            return;
        }
        if (reserving >= threshold || reserving <= 0) {
            return;
        }
        threshold = reserving;
    }
}

static struct best find_best(struct placing *placing)
{
    const struct kueue_topology *topology = placing->topology;
    struct kueue_domain *counted = topology->domains;
    struct best best = {0};
    if (placing->level == 0) {
        consider(placing, counted, 0, topology->level_first[1], &best);
    }
    for (uint32_t d = placing->level > 0 ? topology->level_first[placing->level - 1] : 0;
         placing->level > 0 && d < topology->level_first[placing->level]; d++) {
        consider(placing, counted, counted[d].first_child, counted[d].child_count, &best);
    }
    placing->topology->domains = counted;
    return best;
}

/* --- of them, as few as possible and as full as possible --- */

static double entropy(const struct placing *placing, uint32_t domain)
{
    const struct kueue_domain *domains = placing->topology->domains;
    const struct kueue_domain *is = &domains[domain];
    double total = 0, sum = 0;
    for (uint32_t c = 0; c < is->child_count; c++) {
        total += (double)domains[is->first_child + c].pods;
    }
    for (uint32_t c = 0; c < is->child_count; c++) {
        const double part = (double)domains[is->first_child + c].pods / total;
        if (part > 0) {
            sum -= part * log2(part);
        }
    }
    return sum;
}

static int by_entropy(const void *a, const void *b, void *context)
{
    const struct placing *placing = context;
    const struct share *x = a, *y = b;
    if (x->leader != y->leader) {
        return x->leader > y->leader ? -1 : 1;
    }
    if (x->slices_with_leader != y->slices_with_leader) {
        return x->slices_with_leader > y->slices_with_leader ? -1 : 1;
    }
    const double of_x = entropy(placing, x->domain), of_y = entropy(placing, y->domain);
    if (of_x > of_y || of_x < of_y) {
        return of_x > of_y ? -1 : 1;
    }
    return x->domain < y->domain ? -1 : x->domain > y->domain;
}

static int by_values(const void *a, const void *b, void *context)
{
    const struct share *x = a, *y = b;
    (void)context;
    return x->domain < y->domain ? -1 : x->domain > y->domain;
}

struct chain { /* domains chosen so far, the last first */
    uint32_t at;
    const struct chain *before;
};

struct choice { /* what is left once a chain's domains are full */
    int64_t lead, pods;
    const struct chain *chain;
};

struct choices { /* sorted; the first chain that comes to a rest stays */
    struct choice *items;
    uint32_t count, capacity;
};

static void add_choice(struct choices *choices, const struct choice *choice)
{
    uint32_t at = 0;
    while (at < choices->count &&
           (choices->items[at].lead < choice->lead ||
            (choices->items[at].lead == choice->lead && choices->items[at].pods < choice->pods))) {
        at++;
    }
    if (at < choices->count && choices->items[at].lead == choice->lead &&
        choices->items[at].pods == choice->pods) {
        return;
    }
    choices->items = ORR_ROOM_FOR_ONE(choices->items, choices->count, choices->capacity);
    memmove(&choices->items[at + 1], &choices->items[at],
            (choices->count - at) * sizeof *choices->items);
    choices->items[at] = *choice;
    choices->count++;
}

/* All choices of one size get the domain too. */
static void extend(const struct placing *placing, const struct choices *from, struct choices *to,
                   const struct list *list, uint32_t at)
{
    const struct share *domain = &list->items[at];
    for (uint32_t i = 0; i < from->count; i++) {
        const struct choice *before = &from->items[i];
        if (before->lead <= 0 && before->pods <= 0) {
            continue;
        }
        struct chain *chain = orr_arena_alloc(&placing->kueue->arena, 1, sizeof *chain);
        *chain = (struct chain){at, before->chain};
        if (before->lead > 0 && domain->leader > 0) {
            add_choice(to, &(struct choice){before->lead - domain->leader,
                                            before->pods - domain->pods_with_leader, chain});
        }
        if (domain->slices > 0) {
            add_choice(to, &(struct choice){before->lead, before->pods - domain->pods, chain});
        }
    }
}

static struct list unchain(const struct placing *placing, const struct choices *choices,
                           const struct list *list, uint32_t used)
{
    const struct chain *best = NULL;
    struct list out = orr_kueue__new_list(placing, used);
    for (uint32_t i = 0; i < choices->count; i++) {
        if (choices->items[i].lead == 0 && choices->items[i].pods <= 0) {
            best = choices->items[i].chain; /* the last is the fullest */
        }
    }
    for (uint32_t i = used; best != NULL && i-- > 0; best = best->before) {
        out.items[i] = list->items[best->at];
        out.count = used;
    }
    return out;
}

/* Empty: they do not hold all. */
static struct list choose(struct placing *placing, struct list list, orr_compare_fn *order)
{
    const struct greedy greedy = take_greedily(placing, list);
    if (!greedy.fits) {
        return (struct list){0};
    }
    orr_kueue__sort_list(placing, list, order);
    struct choices *sizes =
        orr_arena_alloc(&placing->kueue->arena, (size_t)greedy.used + 1, sizeof *sizes);
    add_choice(&sizes[0], &(struct choice){placing->lead, placing->need * placing->slice, NULL});
    for (uint32_t d = 0; d < list.count; d++) {
        for (uint32_t size = greedy.used; size > 0; size--) {
            extend(placing, &sizes[size - 1], &sizes[size], &list, d);
        }
    }
    const struct list chosen = unchain(placing, &sizes[greedy.used], &list, greedy.used);
    for (uint32_t size = 0; size <= greedy.used; size++) {
        orr_free(sizes[size].items);
    }
    return chosen;
}

/* --- how many to each --- */

/* The threshold to each and the rest from the front; false: something is left. */
static bool give(struct placing *placing, struct list list, int64_t threshold)
{
    int64_t extra = placing->need - threshold * (int64_t)list.count, lead = placing->lead;
    orr_kueue__sort_list(placing, list, orr_kueue__by_leader);
    for (uint32_t i = 0; extra >= 0 && i < list.count; i++) {
        struct share *to = &list.items[i];
        const int64_t room = lead > 0 ? to->slices_with_leader : to->slices;
        const int64_t more = lead > 0 || extra > 0 ? less_of(room - threshold, extra) : 0;
        to->leader = lead > 0;
        lead -= to->leader;
        to->slices = to->slices_with_leader = threshold + more;
        to->pods = to->slices * placing->slice;
        to->pods_with_leader = to->pods - to->leader;
        extra -= more;
    }
    return extra == 0 && lead <= 0;
}

bool orr_kueue__balance(struct placing *placing, uint32_t *level, struct list *chosen)
{
    struct kueue_domain *counted = placing->topology->domains;
    if (!placing->kueue->spec->config.balanced_placement || placing->required ||
        placing->unconstrained || placing->need <= 0) {
        return false;
    }
    const struct best best = find_best(placing);
    if (best.threshold <= 0) {
        return false;
    }
    const bool lower = placing->level < placing->slice_level;
    struct list list = best.siblings;
    placing->topology->domains = best.domains;
    if (lower) {
        const struct list wide = choose(placing, list, by_entropy);
        list = orr_kueue__children(placing, &wide);
    }
    list = choose(placing, list, by_values);
    if (list.count > 0 && give(placing, list, best.threshold)) {
        *level = placing->level + lower;
        *chosen = list;
        return true;
    }
    placing->topology->domains = counted;
    return false;
}
