/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology_place.c - the domains that pods go to.
 *
 *     orr_kueue__place_pods
 *       read_request         which level is asked, which slices
 *       count_leaves         room on each node
 *       count_domains        and above, in pods and in slices
 *       search               the domain, or the few, that hold all
 *         or orr_kueue__balance  topology_balance.c
 *       descend              level by level to the nodes
 *         minimise           as few domains as possible
 *
 * Two orders: the best fit takes the fullest domain that is large enough; for pods without a wish
 * the least free capacity is used up first.
 */
#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>

#include "topology_place.h"

/* --- what is asked --- */

static bool fail(char failure[200], const char *text, const char *more)
{
    (void)snprintf(failure, 200, "%s%s", text, more);
    return false;
}

static bool read_level(struct placing *placing, char failure[200])
{
    const struct orr_kueue_topology_request *request = placing->pods->workers->topology;
    const bool asked = request != NULL && request->level != NULL;
    placing->lowest = placing->topology->level_count - 1;
    placing->level = placing->lowest;
    placing->required = asked && request->mode == ORR_KUEUE_TOPOLOGY_REQUIRED;
    placing->unconstrained = !asked;
    if (asked) {
        placing->level = orr_kueue__level(placing->topology, request->level);
    } else if (request != NULL && request->layer_count > 0) {
        placing->level = 0;
    } else if (!placing->pods->implied &&
               (request == NULL || request->mode != ORR_KUEUE_TOPOLOGY_UNCONSTRAINED)) {
        return fail(failure, "topology level not specified", "");
    }
    return placing->level != ORR_NONE ||
           fail(failure, "no requested topology level: ", request->level);
}

static bool read_slices(struct placing *placing, char failure[200])
{
    const struct orr_kueue_topology_request *request = placing->pods->workers->topology;
    placing->slice = 1;
    placing->slice_level = placing->lowest;
    const uint32_t first = placing->pods->dropped;
    if (request == NULL || request->layer_count <= first) {
        return true;
    }
    uint32_t before = ORR_NONE;
    int64_t size = 0;
    for (uint32_t i = first; i < request->layer_count; i++) {
        const struct orr_kueue_layer *layer = &request->layers[i];
        const uint32_t level = orr_kueue__level(placing->topology, layer->level);
        if (level == ORR_NONE) {
            return fail(failure, "no requested topology level for slices: ", layer->level);
        }
        if (layer->size <= 0) {
            return fail(failure, "slice size must be positive: ", layer->level);
        }
        if (i > first && (level <= before || size % layer->size != 0)) {
            return fail(failure, "slices do not nest: ", layer->level);
        }
        before = level;
        size = layer->size;
    }
    placing->slice = request->layers[first].size;
    placing->slice_level = orr_kueue__level(placing->topology, request->layers[first].level);
    return placing->slice_level >= placing->level ||
           fail(failure,
                "slices are wider than the requested level: ", request->layers[first].level);
}

/* Pods come to a domain of this level in multiples of it. */
static int64_t inner_size(const struct placing *placing, uint32_t level)
{
    const struct orr_kueue_topology_request *request = placing->pods->workers->topology;
    for (uint32_t i = placing->pods->dropped + 1;
         request != NULL && level > placing->slice_level && i < request->layer_count; i++) {
        if (orr_kueue__level(placing->topology, request->layers[i].level) >= level) {
            return request->layers[i].size;
        }
    }
    return 1;
}

/* --- room --- */

static int64_t pod_request(const struct placing *placing, const struct orr_kueue_pod_set *set,
                           uint32_t resource)
{
    if (resource == placing->kueue->spec->pods_resource) {
        return 1;
    }
    return set->per_pod[resource] > 0 ? set->per_pod[resource] : 0;
}

static int64_t room_for(const struct placing *placing, const struct orr_kueue_pod_set *set,
                        uint32_t leaf, const struct orr_kueue_pod_set *before)
{
    const struct kueue_topology *topology = placing->topology;
    int64_t room = INT64_MAX;
    for (uint32_t r = 0; r < topology->resources; r++) {
        const int64_t asked = pod_request(placing, set, r);
        const size_t at = (size_t)leaf * topology->resources + r;
        if (asked == 0) {
            continue;
        }
        int64_t left = orr_quota_sub(topology->free[at], topology->assumed[at]);
        left = placing->pods->empty ? left : orr_quota_sub(left, topology->used[at]);
        left = before != NULL ? orr_quota_sub(left, pod_request(placing, before, r)) : left;
        if (left < asked) { /* most leaves of a full cluster */
            return 0;
        }
        room = left / asked < room ? left / asked : room;
    }
    return room == INT64_MAX ? INT32_MAX : room;
}

static bool is_below(const struct kueue_topology *topology, uint32_t domain, uint32_t above)
{
    while (domain != ORR_NONE && domain != above) {
        domain = topology->domains[domain].parent;
    }
    return domain == above;
}

static bool takes_pods(const struct placing *placing, uint32_t leaf)
{
    const struct orr_kueue_spec *spec = placing->kueue->spec;
    const struct kueue_topology *topology = placing->topology;
    const uint32_t index = topology->node_of[leaf];
    const struct orr_kueue_node *node = &spec->nodes[index];
    const struct orr_kueue_flavor *flavor = &spec->flavors[topology->flavor];
    const struct orr_kueue_pod_set *set = placing->pods->workers;
    const struct kueue_tolerance tolerance = {{set->tolerations, flavor->tolerations},
                                              {set->toleration_count, flavor->toleration_count}};
    if (placing->pods->within != ORR_NONE &&
        !is_below(topology, kueue_first_leaf(topology) + leaf, placing->pods->within)) {
        return false;
    }
    if (flavor->nodes != NULL) {
        return set->nodes == NULL || (set->nodes[index >> 6] >> (index & 63) & 1) != 0;
    }
    return !topology->by_host ||
           (orr_kueue__tolerates(node->taints, node->taint_count, &tolerance) &&
            orr_kueue__matches(set, node->labels, node->label_count, false));
}

static bool has_scores(const struct placing *placing)
{
    return placing->kueue->spec->config.prefer_affinity && placing->topology->by_host;
}

static int64_t score_of(const struct placing *placing, uint32_t leaf)
{
    const struct kueue_topology *topology = placing->topology;
    const struct orr_kueue_node *node = &placing->kueue->spec->nodes[topology->node_of[leaf]];
    return has_scores(placing)
               ? orr_kueue__preference(placing->pods->workers, node->labels, node->label_count)
               : 0;
}

static void count_slices(const struct placing *placing, struct kueue_domain *domain, uint32_t level)
{
    if (level == placing->slice_level) {
        domain->slices = domain->pods / placing->slice;
        domain->slices_with_leader = domain->pods_with_leader / placing->slice;
    } else if (level > placing->slice_level) {
        domain->slices = domain->slices_with_leader = 0;
    }
}

static void count_leaves(const struct placing *placing)
{
    struct kueue_topology *topology = placing->topology;
    for (uint32_t leaf = 0; leaf < topology->leaf_count; leaf++) {
        struct kueue_domain *domain = &topology->domains[kueue_first_leaf(topology) + leaf];
        const int64_t room = room_for(placing, placing->pods->workers, leaf, NULL);
        domain->pods = domain->pods_with_leader = domain->leader = domain->score = 0;
        if ((room > 0 || placing->lead > 0 || has_scores(placing)) && takes_pods(placing, leaf)) {
            domain->score = score_of(placing, leaf);
            domain->pods = domain->pods_with_leader = room;
            if (placing->lead > 0 && room_for(placing, placing->pods->leader, leaf, NULL) > 0) {
                domain->leader = 1;
                domain->pods_with_leader =
                    room_for(placing, placing->pods->workers, leaf, placing->pods->leader);
            }
        }
        count_slices(placing, domain, placing->lowest);
    }
}

static int64_t less_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void orr_kueue__count_parent(const struct placing *placing, struct kueue_domain *domain,
                             uint32_t level, int64_t unit)
{
    const struct kueue_domain *children = &placing->topology->domains[domain->first_child];
    int64_t pods_lost = INT64_MAX, slices_lost = INT64_MAX;
    domain->pods = domain->slices = domain->leader = domain->score = 0;
    for (uint32_t c = 0; c < domain->child_count; c++) {
        const int64_t pods = children[c].pods / unit * unit;
        domain->pods += pods;
        domain->slices += children[c].slices;
        domain->score += children[c].score;
        if (children[c].leader > 0) {
            domain->leader = 1;
            pods_lost = less_of(pods_lost, pods - children[c].pods_with_leader / unit * unit);
            slices_lost = less_of(slices_lost, children[c].slices - children[c].slices_with_leader);
        }
    }
    if (placing->lead == 0) {
        pods_lost = slices_lost = 0;
    } else if (domain->leader == 0) {
        pods_lost = domain->pods;
        slices_lost = domain->slices;
    }
    domain->pods_with_leader = domain->pods - pods_lost;
    domain->slices_with_leader = domain->slices - slices_lost;
    count_slices(placing, domain, level);
}

static void count_domains(const struct placing *placing)
{
    const struct kueue_topology *topology = placing->topology;
    count_leaves(placing);
    for (uint32_t level = placing->lowest; level-- > 0;) {
        for (uint32_t d = topology->level_first[level]; d < topology->level_first[level + 1]; d++) {
            orr_kueue__count_parent(placing, &topology->domains[d], level,
                                    inner_size(placing, level + 1));
        }
    }
}

/* --- lists --- */

struct list orr_kueue__new_list(const struct placing *placing, uint32_t capacity)
{
    return (struct list){.items = orr_arena_alloc(&placing->kueue->arena, (size_t)capacity + 1,
                                                  sizeof(struct share))};
}

void orr_kueue__push_domain(const struct placing *placing, struct list *list, uint32_t domain)
{
    const struct kueue_domain *is = &placing->topology->domains[domain];
    list->items[list->count++] = (struct share){.domain = domain,
                                                .pods = is->pods,
                                                .slices = is->slices,
                                                .pods_with_leader = is->pods_with_leader,
                                                .slices_with_leader = is->slices_with_leader,
                                                .leader = is->leader,
                                                .score = is->score};
}

static int by_size(int64_t a, int64_t b, bool ascending)
{
    return a == b ? 0 : (a < b) == ascending ? -1 : 1;
}

/* Domains of a level are numbered in the order of their values. */
int orr_kueue__by_workers(const void *a, const void *b, void *context)
{
    const struct placing *placing = context;
    const struct share *x = a, *y = b;
    int order = by_size(x->score, y->score, false);
    order = order != 0 ? order : by_size(x->slices, y->slices, placing->least_free);
    order = order != 0 ? order : by_size(x->pods, y->pods, true);
    return order != 0 ? order : by_size(x->domain, y->domain, true);
}

int orr_kueue__by_leader(const void *a, const void *b, void *context)
{
    const struct placing *placing = context;
    const struct share *x = a, *y = b;
    int order = by_size(x->leader, y->leader, false);
    order = order != 0 ? order : by_size(x->score, y->score, false);
    order = order != 0 ? order
                       : by_size(x->slices_with_leader, y->slices_with_leader, placing->least_free);
    order = order != 0 ? order : by_size(x->pods_with_leader, y->pods_with_leader, true);
    return order != 0 ? order : by_size(x->domain, y->domain, true);
}

void orr_kueue__sort_list(struct placing *placing, struct list list, orr_compare_fn *order)
{
    orr_sort(list.items, list.count, sizeof *list.items, order, placing);
}

/* How much the domain holds: of workers, or of those beside a leader; in slices or pods. */
static int64_t holds(const struct share *share, bool with_leader, bool slices)
{
    return with_leader ? (slices ? share->slices_with_leader : share->pods_with_leader)
                       : (slices ? share->slices : share->pods);
}

/* Among the domains that are preferred as much as the first. */
static struct share best_fit(const struct share *items, uint32_t count, int64_t need, int64_t lead,
                             bool slices)
{
    const struct share *best = NULL;
    for (uint32_t i = 0; i < count && items[i].score == items[0].score; i++) {
        const int64_t size = holds(&items[i], lead > 0, slices);
        if (items[i].leader >= lead && size >= need &&
            (best == NULL || size < holds(best, lead > 0, slices))) {
            best = &items[i];
        }
    }
    return best != NULL ? *best : items[0];
}

/* To the front: the first that can give the leader a place and still leave room for all workers. */
static void prioritise(const struct list *list, int64_t need, int64_t lead, bool slices)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        sum = orr_quota_add(sum, holds(&list->items[i], false, slices));
    }
    for (uint32_t i = 0; lead > 0 && list->count >= 2 && i < list->count; i++) {
        const struct share chosen = list->items[i];
        const int64_t loss = holds(&chosen, false, slices) - holds(&chosen, true, slices);
        if (chosen.leader >= lead && sum - loss >= need) {
            memmove(&list->items[1], &list->items[0], i * sizeof *list->items);
            list->items[0] = chosen;
            return;
        }
    }
}

/* --- which domains --- */

static struct list level_list(struct placing *placing, uint32_t level)
{
    const uint32_t first = placing->topology->level_first[level];
    const uint32_t end = placing->topology->level_first[level + 1];
    struct list list = orr_kueue__new_list(placing, end - first);
    for (uint32_t d = first; d < end; d++) {
        orr_kueue__push_domain(placing, &list, d);
    }
    orr_kueue__sort_list(placing, list, orr_kueue__by_leader);
    return list;
}

static bool one_domain(const struct placing *placing, struct list all, struct list *out)
{
    struct share top = all.items[0];
    if (!placing->least_free && top.slices_with_leader >= placing->need &&
        top.leader >= placing->lead) {
        top = best_fit(all.items, all.count, placing->need, placing->lead, true);
    }
    for (uint32_t i = 0; placing->least_free && i < all.count; i++) {
        if ((placing->lead == 0 || all.items[i].leader >= placing->lead) &&
            holds(&all.items[i], placing->lead > 0, true) >= placing->need) {
            out->items[out->count++] = all.items[i];
            return true;
        }
    }
    if (top.slices_with_leader >= placing->need && top.leader >= placing->lead) {
        out->items[out->count++] = top;
        return true;
    }
    for (uint32_t i = 1;
         placing->required && placing->kueue->spec->config.prefer_affinity && i < all.count; i++) {
        const struct share *next = &all.items[i]; /* less preferred, but large enough */
        if (next->slices_with_leader >= placing->need && next->leader >= placing->lead) {
            out->items[out->count++] =
                best_fit(next, all.count - i, placing->need, placing->lead, true);
            return true;
        }
    }
    return false;
}

static bool several_domains(struct placing *placing, struct list all, struct list *out)
{
    int64_t rest = placing->need, lead = placing->lead;
    uint32_t i = 0;
    prioritise(&all, placing->need, placing->lead, true);
    for (; lead > 0 && i < all.count && all.items[i].leader > 0; i++) {
        struct share next = all.items[i];
        if (!placing->least_free && next.slices_with_leader >= rest) {
            next = best_fit(&all.items[i], all.count - i, rest, lead, true);
        }
        out->items[out->count++] = next;
        lead -= next.leader;
        rest -= next.slices_with_leader;
    }
    if (lead > 0) {
        return false;
    }
    struct list others = {all.items + i, all.count - i};
    orr_kueue__sort_list(placing, others, orr_kueue__by_workers);
    for (i = 0; rest > 0 && i < others.count; i++) {
        struct share next = others.items[i];
        if (!placing->least_free && next.slices >= rest) {
            next = best_fit(&others.items[i], others.count - i, rest, 0, true);
        }
        out->items[out->count++] = next;
        rest -= next.slices;
    }
    return rest <= 0;
}

/* The first of the level in the order of slices, pods and values, the fewest first, that holds all:
 * what both orders come to where there is neither a leader nor a preference among nodes. `sum`:
 * what all hold, if none holds all. */
static uint32_t smallest_enough(const struct placing *placing, uint32_t level, int64_t *sum)
{
    const struct kueue_topology *topology = placing->topology;
    const struct kueue_domain *domains = topology->domains;
    uint32_t best = ORR_NONE;
    *sum = 0;
    for (uint32_t d = topology->level_first[level]; d < topology->level_first[level + 1]; d++) {
        *sum = orr_quota_add(*sum, domains[d].slices);
        if (domains[d].slices >= placing->need &&
            (best == ORR_NONE || domains[d].slices < domains[best].slices ||
             (domains[d].slices == domains[best].slices && domains[d].pods < domains[best].pods))) {
            best = d;
        }
    }
    return best;
}

static bool search(struct placing *placing, uint32_t *level, struct list *out)
{
    const bool plain = placing->lead == 0 && !placing->kueue->spec->config.prefer_affinity;
    for (;; (*level)--) {
        int64_t sum = 0;
        const uint32_t one = plain ? smallest_enough(placing, *level, &sum) : ORR_NONE;
        if (one != ORR_NONE) {
            *out = orr_kueue__new_list(placing, 1);
            orr_kueue__push_domain(placing, out, one);
            return true;
        }
        if (plain && placing->required) {
            return false;
        }
        if (plain && *level > 0 && !placing->unconstrained) {
            continue;
        }
        if (plain && sum < placing->need) {
            return false;
        }
        struct list all = level_list(placing, *level);
        *out = orr_kueue__new_list(placing, 2 * all.count);
        if (all.count == 0) {
            return false;
        }
        if (one_domain(placing, all, out)) {
            return true;
        }
        if (placing->required) {
            return false;
        }
        if (*level == 0 || placing->unconstrained) {
            return several_domains(placing, all, out);
        }
    }
}

/* --- how many to each --- */

struct amounts {
    int64_t rest, lead, size;
    bool slices;
};

static void set_pods(struct share *share, int64_t units, const struct amounts *amounts)
{
    share->pods = units * amounts->size;
    if (amounts->slices) {
        share->slices = units;
    }
}

/* The leader's domain and the workers beside it; true: all have a place. */
static bool take_with_leader(const struct placing *placing, const struct list *list, uint32_t i,
                             struct amounts *amounts, struct list *out)
{
    struct share next = list->items[i];
    if (!placing->least_free && holds(&next, true, amounts->slices) >= amounts->rest &&
        next.leader >= amounts->lead) {
        next = best_fit(&list->items[i], list->count - i, amounts->rest, amounts->lead,
                        amounts->slices);
    }
    const int64_t room = holds(&next, true, amounts->slices);
    const bool done = room >= amounts->rest && next.leader >= amounts->lead;
    const int64_t units = less_of(room, amounts->rest);
    next.leader = less_of(next.leader, amounts->lead);
    set_pods(&next, units, amounts);
    amounts->lead -= next.leader;
    amounts->rest -= units;
    out->items[out->count++] = next;
    return done;
}

static bool take_workers(const struct placing *placing, const struct list *list, uint32_t i,
                         struct amounts *amounts, struct list *out)
{
    struct share next = list->items[i];
    if (!placing->least_free && holds(&next, false, amounts->slices) >= amounts->rest) {
        next = best_fit(&list->items[i], list->count - i, amounts->rest, 0, amounts->slices);
    }
    const int64_t room = holds(&next, false, amounts->slices);
    const bool done = room >= amounts->rest;
    const int64_t units = done ? amounts->rest : room;
    next.leader = 0;
    if (done || amounts->slices) {
        set_pods(&next, units, amounts);
    }
    amounts->rest -= units;
    out->items[out->count++] = next;
    return done;
}

/* As few domains as possible, from the front; the amounts are set. */
static struct list minimise(const struct placing *placing, struct list list, int64_t count,
                            int64_t lead, int64_t size, bool slices)
{
    struct amounts amounts = {.rest = slices ? count / size : count,
                              .lead = lead,
                              .size = slices ? size : 1,
                              .slices = slices};
    struct list out = orr_kueue__new_list(placing, list.count);
    prioritise(&list, amounts.rest, lead, slices);
    bool done = false;
    for (uint32_t i = 0; !done && i < list.count; i++) {
        done = amounts.lead > 0 ? take_with_leader(placing, &list, i, &amounts, &out)
                                : take_workers(placing, &list, i, &amounts, &out);
    }
    return out;
}

static void push_children(const struct placing *placing, struct list *list, uint32_t domain)
{
    const struct kueue_domain *is = &placing->topology->domains[domain];
    for (uint32_t c = 0; c < is->child_count; c++) {
        orr_kueue__push_domain(placing, list, is->first_child + c);
    }
}

static uint32_t children_of(const struct placing *placing, const struct list *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        count += placing->topology->domains[list->items[i].domain].child_count;
    }
    return count;
}

struct list orr_kueue__children(const struct placing *placing, const struct list *parents)
{
    struct list children = orr_kueue__new_list(placing, children_of(placing, parents));
    for (uint32_t i = 0; i < parents->count; i++) {
        push_children(placing, &children, parents->items[i].domain);
    }
    return children;
}

static void append(struct list *to, struct list from)
{
    for (uint32_t i = 0; i < from.count; i++) {
        to->items[to->count++] = from.items[i];
    }
}

/* Each parent apart, with what it was given. */
static struct list divide(struct placing *placing, struct list parents, uint32_t level)
{
    const int64_t unit =
        level < placing->slice_level ? placing->slice : inner_size(placing, level + 1);
    struct list next = orr_kueue__new_list(placing, children_of(placing, &parents));
    for (uint32_t p = 0; p < parents.count; p++) {
        struct list children = orr_kueue__new_list(
            placing, placing->topology->domains[parents.items[p].domain].child_count);
        push_children(placing, &children, parents.items[p].domain);
        orr_kueue__sort_list(placing, children, orr_kueue__by_workers);
        for (uint32_t c = 0; unit > 1 && c < children.count; c++) {
            children.items[c].slices = children.items[c].pods / unit;
            children.items[c].slices_with_leader = children.items[c].pods_with_leader / unit;
        }
        append(&next, minimise(placing, children, parents.items[p].pods, parents.items[p].leader,
                               unit, unit > 1));
    }
    return next;
}

/* To the nodes. Above the level of slices the children of all chosen domains are one list, unless
 * what each gets is settled already. */
static struct list descend(struct placing *placing, struct list chosen, uint32_t level,
                           bool settled)
{
    const int64_t count = placing->pods->count;
    struct list now = minimise(placing, chosen, count, placing->lead, placing->slice, true);
    for (; !settled && level < placing->lowest && level < placing->slice_level; level++) {
        struct list children = orr_kueue__children(placing, &now);
        orr_kueue__sort_list(placing, children, orr_kueue__by_workers);
        now = minimise(placing, children, count, placing->lead, placing->slice, true);
    }
    for (; level < placing->lowest; level++) {
        now = divide(placing, now, level);
    }
    return now;
}

bool orr_kueue__place_pods(struct orr_kueue *kueue, struct kueue_topology *topology,
                           const struct kueue_pods *pods, struct kueue_found *found,
                           char failure[200])
{
    struct placing placing = {
        .kueue = kueue, .topology = topology, .pods = pods, .lead = pods->leader != NULL};
    if (!read_level(&placing, failure) || !read_slices(&placing, failure)) {
        return false;
    }
    placing.need = pods->count / placing.slice;
    placing.least_free = placing.unconstrained && !kueue->spec->config.no_mixed_profile;
    count_domains(&placing);
    struct list chosen;
    uint32_t level = placing.level;
    struct kueue_domain *const counted = topology->domains;
    const bool balanced = orr_kueue__balance(&placing, &level, &chosen);
    if (!balanced && !search(&placing, &level, &chosen)) {
        return fail(failure, "the topology has no room for all pods", "");
    }
    const struct list leaves = descend(&placing, chosen, level, balanced);
    topology->domains = counted;
    found->workers = orr_arena_alloc(&kueue->arena, topology->leaf_count + 1, sizeof(int64_t));
    found->leader = orr_arena_alloc(&kueue->arena, topology->leaf_count + 1, sizeof(int64_t));
    for (uint32_t i = 0; i < leaves.count; i++) {
        const uint32_t leaf = leaves.items[i].domain - kueue_first_leaf(topology);
        found->workers[leaf] += leaves.items[i].pods;
        found->leader[leaf] += leaves.items[i].leader;
    }
    return true;
}
