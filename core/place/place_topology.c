/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI topology: which parts of a topology a set of pods may be placed in, and in which order.
 *
 *   tree     domains below the lowest common one of the nodes given, tightest fit first
 *   fit      representative pods for tasks that are same_kinds, sums of resources for others
 *   subsets  fitting domains of the levels that are allowed, deepest level first
 *
 * What domains have left is kept from attempt to attempt (place_domains.c); the nodes of a level
 * are listed when it is its turn, as most attempts end with the first subset.
 */
#include "place_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>

#define RATIO_IMPOSSIBLE 1000.0
#define PREFERRED_UNIT   100e3

struct search {
    struct orr_allocation *attempt;
    struct orr_subsets *subsets;
    const struct orr_topology *topology;
    const struct orr_domain_sums *sums; /* NULL: the tasks ask for pods alone */
    uint32_t set;
    uint32_t required, preferred; /* levels, or ORR_NONE */
    uint32_t lowest_common_level,
        lowest_common;         /* the lowest common domain; ORR_NONE, 0: the root */
    double *ratio;             /* of domains in it: requested / free */
    uint32_t *position;        /* position among those of its level; ORR_NONE: not in order yet */
    struct orr_vec max, total; /* of the tasks */
    uint32_t task_count;
    bool same_kinds; /* each resource but CPU and memory is requested by all tasks or by none */
    bool pods_only;  /* the tasks ask for nothing but a pod slot: any domain will do */
};

/* --- levels --- */

static uint32_t find_level(const struct orr_topology *topology, const char *name)
{
    const struct orr_topology_level *level = orr_topology_find_level(topology, name);
    return level == NULL ? ORR_NONE : (uint32_t)(level - topology->levels);
}

/* False: a level that is named does not exist, none is named, or they are the wrong way round. */
static bool find_levels(struct search *search, const struct orr_constraint *constraint)
{
    search->required = search->preferred = ORR_NONE;
    if (constraint->required != NULL) {
        search->required = find_level(search->topology, constraint->required);
        if (search->required == ORR_NONE) {
            return false;
        }
    }
    if (constraint->preferred != NULL) {
        search->preferred = find_level(search->topology, constraint->preferred);
        if (search->preferred == ORR_NONE) {
            return false;
        }
    }
    if (search->required == ORR_NONE && search->preferred == ORR_NONE) {
        return false;
    }
    return search->required == ORR_NONE || search->preferred == ORR_NONE ||
           search->preferred >= search->required;
}

/* --- the tree --- */

static bool is_valid(const struct search *search, uint32_t node)
{
    return orr_domain_has(search->topology, node);
}

/* Domains are numbered level by level after the root, which is 0. */
static uint32_t domain_at(const struct search *search, uint32_t level, uint32_t node)
{
    return level == ORR_NONE ? 0
                             : search->subsets->first[level] +
                                   search->topology->levels[level].domain_of_node[node];
}

/* Of a domain of this level. */
static uint32_t parent_of(const struct search *search, uint32_t level, uint32_t domain)
{
    if (level == 0) {
        return 0;
    }
    const uint32_t id = domain - search->subsets->first[level];
    return search->subsets->first[level - 1] + search->topology->levels[level].parent[id];
}

/* Room for everything that is by domain or by level. */
static void number_domains(struct search *search)
{
    struct orr_subsets *subsets = search->subsets;
    const uint32_t levels = search->topology->level_count;
    subsets->first = orr_alloc(levels + (size_t)1, sizeof *subsets->first);
    uint32_t count = 1;
    for (uint32_t l = 0; l < levels; l++) {
        subsets->first[l] = count;
        count += search->topology->levels[l].domain_count;
    }
    subsets->first[levels] = count;
    subsets->domain_count = count;
    subsets->order = orr_alloc(count, sizeof *subsets->order);
    subsets->order_count = orr_zalloc(levels, sizeof *subsets->order_count);
    subsets->is_candidate = orr_zalloc(count, sizeof *subsets->is_candidate);
    search->ratio = orr_alloc(count, sizeof *search->ratio);
    search->position = orr_alloc(count, sizeof *search->position);
    memset(search->position, 0xff, count * sizeof *search->position);
}

/* All valid nodes of those given are in one domain of the level. */
static bool share_domain(const struct search *search, uint32_t level, uint32_t any_valid)
{
    const struct orr_node_list *nodes = &search->subsets->nodes;
    if (nodes->count == search->attempt->session->node_count) {
        return search->topology->levels[level].domain_count == 1;
    }
    const uint32_t domain = domain_at(search, level, any_valid);
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (is_valid(search, nodes->nodes[i]) &&
            domain_at(search, level, nodes->nodes[i]) != domain) {
            return false;
        }
    }
    return true;
}

/* The deepest domain that all valid nodes given are in, not deeper than the preferred level.
 * v0.17 has no such bound when only a level is required: the domain can lie below it, and then the
 * required level has no candidate although the nodes would do. False: no node is valid. */
static bool find_lowest_common(struct search *search)
{
    const struct orr_node_list *nodes = &search->subsets->nodes;
    uint32_t deepest = search->preferred;
    if (deepest == ORR_NONE) {
        deepest = search->attempt->session->rules.strict_v017 ? search->topology->level_count - 1
                                                              : search->required;
    }
    uint32_t any_valid = ORR_NONE;
    for (uint32_t i = 0; i < nodes->count && any_valid == ORR_NONE; i++) {
        any_valid = is_valid(search, nodes->nodes[i]) ? nodes->nodes[i] : ORR_NONE;
    }
    search->lowest_common_level = ORR_NONE;
    search->lowest_common = 0;
    for (uint32_t l = 0;
         any_valid != ORR_NONE && l <= deepest && share_domain(search, l, any_valid); l++) {
        search->lowest_common_level = l;
        search->lowest_common = domain_at(search, l, any_valid);
    }
    return any_valid != ORR_NONE;
}

/* --- what the tasks ask --- */

static bool belongs_to_search(const struct search *search, uint32_t task)
{
    return orr_place__is_below(search->attempt->session, task, search->set);
}

static void sum_tasks(struct search *search)
{
    const struct orr_session *session = search->attempt->session;
    const struct orr_task_list *tasks = &search->attempt->tasks;
    uint32_t users[ORR_SLOTS_MAX] = {0};
    search->same_kinds = true;
    for (uint32_t i = 0; i < tasks->count; i++) {
        if (!belongs_to_search(search, tasks->tasks[i])) {
            continue;
        }
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[tasks->tasks[i]]);
        search->task_count++;
        for (uint32_t s = 0; s < session->slot_count; s++) {
            const int64_t amount = ask->request.v[s];
            users[s] += amount > 0;
            search->total.v[s] += amount;
            search->max.v[s] = amount > search->max.v[s] ? amount : search->max.v[s];
        }
    }
    search->pods_only = true;
    for (uint32_t s = 0; s < session->slot_count; s++) {
        search->same_kinds = search->same_kinds &&
                             (s < ORR_SLOT_GPU || users[s] == 0 || users[s] == search->task_count);
        search->pods_only = search->pods_only && (s == ORR_SLOT_PODS || users[s] == 0);
    }
}

/* --- capacities --- */

static const int64_t *sums_of(const struct search *search, uint32_t domain)
{
    return &search->sums->of_domain[(size_t)domain * search->sums->columns];
}

static double ratio_of(const struct search *search, uint32_t domain)
{
    double most = 0;
    for (uint32_t c = 1; search->sums != NULL && c < search->sums->columns; c++) {
        const int64_t free = sums_of(search, domain)[c];
        const double ratio = free <= 0
                                 ? RATIO_IMPOSSIBLE
                                 : (double)search->total.v[search->sums->slots[c]] / (double)free;
        most = ratio > most ? ratio : most;
    }
    return most;
}

/* Of domains above the lowest common one no capacity is computed: they fit if only a pod slot is
 * requested. */
static bool fits(const struct search *search, uint32_t level, uint32_t domain)
{
    const bool above = search->lowest_common_level != ORR_NONE &&
                       (level == ORR_NONE || level < search->lowest_common_level);
    if (search->pods_only || above) {
        return search->pods_only;
    }
    return search->same_kinds ? sums_of(search, domain)[0] >= (int64_t)search->task_count
                              : search->ratio[domain] <= 1;
}

/* --- order --- */

struct tightness {
    const double *ratio;
    const uint32_t *rank;
    uint32_t first; /* number of the level's first domain */
};

static inline int compare_tightness(const struct tightness *by, uint32_t l, uint32_t r)
{
    if (by->ratio[l] > by->ratio[r] || by->ratio[l] < by->ratio[r]) {
        return by->ratio[l] > by->ratio[r] ? -1 : 1;
    }
    const uint32_t *rank = by->rank;
    return (rank[l - by->first] > rank[r - by->first]) -
           (rank[l - by->first] < rank[r - by->first]);
}

static int by_tightness(const void *a, const void *b, void *context)
{
    return compare_tightness(context, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* Most parents have few domains. */
static void sort_domains(uint32_t *domains, uint32_t count, struct tightness *by)
{
    if (count > 16) {
        orr_sort(domains, count, sizeof *domains, by_tightness, by);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        const uint32_t domain = domains[i];
        uint32_t at = i;
        for (; at > 0 && compare_tightness(by, domain, domains[at - 1]) < 0; at--) {
            domains[at] = domains[at - 1];
        }
        domains[at] = domain;
    }
}

/* Does the order of the domains below the one at this position of the level above matter? Within
 * the required level room is a sum of what domains have: below one that does not fit none does, and
 * none of its nodes is scored. */
static bool children_matter(const struct search *search, uint32_t level, uint32_t position)
{
    if (search->required == ORR_NONE || level <= search->required || !search->same_kinds) {
        return true;
    }
    return fits(search, level - 1,
                search->subsets->order[search->subsets->first[level - 1] + position]);
}

/* Puts the domains of a level in order: by the position of their parent, then tightest first. The
 * level above is in order. */
static void order_level(struct search *search, uint32_t level, uint32_t parents)
{
    struct orr_subsets *subsets = search->subsets;
    const uint32_t first = subsets->first[level], end = subsets->first[level + 1];
    struct tightness by = {
        .ratio = search->ratio, .rank = search->topology->levels[level].rank, .first = first};
    uint32_t *order = subsets->order + first;
    uint32_t *at =
        orr_zalloc(parents + (size_t)1, sizeof *at); /* counting sort: where the next one goes */
    for (uint32_t d = first; d < end; d++) {
        const uint32_t parent = search->position[parent_of(search, level, d)];
        if (parent != ORR_NONE) {
            at[parent + 1]++;
        }
    }
    for (uint32_t p = 0; p < parents; p++) {
        at[p + 1] += at[p];
    }
    subsets->order_count[level] = at[parents];
    for (uint32_t d = first; d < end; d++) {
        const uint32_t parent = search->position[parent_of(search, level, d)];
        if (parent != ORR_NONE) {
            order[at[parent]++] = d;
        }
    }
    for (uint32_t p = 0; p < parents; p++) {
        const uint32_t begin = p == 0 ? 0 : at[p - 1];
        if (children_matter(search, level, p)) {
            for (uint32_t i = begin; i < at[p]; i++) {
                search->ratio[order[i]] = ratio_of(search, order[i]);
            }
            sort_domains(order + begin, at[p] - begin, &by);
        }
    }
    for (uint32_t i = 0; i < subsets->order_count[level]; i++) {
        search->position[order[i]] = i;
    }
    orr_free(at);
}

/* Puts the domains below the lowest common one in tree order, down to a level. Above it only its
 * own ancestor counts: no other domain holds a node that was given. */
static void order_domains(struct search *search, uint32_t deepest)
{
    struct orr_subsets *subsets = search->subsets;
    uint32_t domain = search->lowest_common;
    for (uint32_t l = search->lowest_common_level; l != ORR_NONE; l = l == 0 ? ORR_NONE : l - 1) {
        subsets->order[subsets->first[l]] = domain;
        subsets->order_count[l] = 1;
        domain = parent_of(search, l, domain);
    }
    search->position[search->lowest_common] = 0;
    uint32_t parents = 1;
    for (uint32_t l = search->lowest_common_level == ORR_NONE ? 0 : search->lowest_common_level + 1;
         l <= deepest; l++) {
        order_level(search, l, parents);
        parents = subsets->order_count[l];
    }
}

/* --- preferred scores --- */

void orr_place__clear_preferred(struct orr_session *session, uint32_t job)
{
    const uint32_t sets = session->jobs[job].set_count;
    for (uint32_t i = 0; i < session->place->preferred_capacity && i < sets; i++) {
        orr_free(session->place->preferred[i].of_domain);
        session->place->preferred[i].of_domain = NULL;
    }
}

const struct orr_preferred *orr_place__preferred_by(const struct orr_session *session,
                                                    const struct orr_stask *task)
{
    const uint32_t first = session->jobs[task->job].first_set;
    for (uint32_t s = task->set; s != ORR_NONE; s = session->sets[s].parent) {
        if (s - first < session->place->preferred_capacity &&
            session->place->preferred[s - first].of_domain != NULL) {
            return &session->place->preferred[s - first];
        }
    }
    return NULL;
}

static struct orr_preferred *preferred_of(struct orr_session *session, uint32_t job, uint32_t set)
{
    const uint32_t at = set - session->jobs[job].first_set;
    if (at >= session->place->preferred_capacity) {
        const uint32_t capacity =
            (uint32_t)orr_grow(session->place->preferred_capacity, at + (size_t)1);
        session->place->preferred =
            orr_realloc(session->place->preferred, capacity, sizeof *session->place->preferred);
        for (uint32_t i = session->place->preferred_capacity; i < capacity; i++) {
            session->place->preferred[i] = (struct orr_preferred){0};
        }
        session->place->preferred_capacity = capacity;
    }
    orr_free(session->place->preferred[at].of_domain);
    return &session->place->preferred[at];
}

/* The emptiest domain of the preferred level scores highest: it matters when several are spanned.
 */
static void score_preferred(const struct search *search)
{
    struct orr_preferred *to =
        preferred_of(search->attempt->session, search->attempt->view.job, search->set);
    const struct orr_topology_level *level = &search->topology->levels[search->preferred];
    const uint32_t first = search->subsets->first[search->preferred];
    const uint32_t *order = search->subsets->order + first;
    const uint32_t count = search->subsets->order_count[search->preferred];
    to->domain_of_node = level->domain_of_node;
    to->of_domain = orr_zalloc(level->domain_count, sizeof *to->of_domain);
    for (uint32_t i = 0; i < count; i++) {
        to->of_domain[order[i] - first] = floor(10.0 * (i + 1) / count) * PREFERRED_UNIT;
    }
}

/* --- candidates --- */

/* The domains of the required level with active pods of the pod sets that get tasks now: the new
 * tasks must go there too. NULL: there are no such pods. */
static bool *find_active_domains(const struct search *search)
{
    const struct orr_session *session = search->attempt->session;
    const struct orr_sjob *job = &session->jobs[search->attempt->view.job];
    bool *active_domains = NULL;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *active = &session->tasks[t];
        if (!orr_status_in(active->live.status, ORR_STATES_ACTIVE_ALLOCATED) ||
            active->live.node == ORR_NONE ||
            (search->attempt->evicted != NULL && search->attempt->evicted[t]) ||
            !belongs_to_search(search, t) || !orr_jobview_has(session, search->attempt->view, t)) {
            continue;
        }
        bool receives = false;
        for (uint32_t i = 0; i < search->attempt->tasks.count && !receives; i++) {
            receives = session->tasks[search->attempt->tasks.tasks[i]].set == active->set;
        }
        if (!receives) {
            continue;
        }
        active_domains = active_domains != NULL
                             ? active_domains
                             : orr_zalloc(search->subsets->domain_count, sizeof *active_domains);
        if (is_valid(search, active->live.node)) {
            active_domains[domain_at(search, search->required, active->live.node)] = true;
        }
    }
    return active_domains;
}

static bool leaves_active_domain(const struct search *search, const bool *active_domains,
                                 uint32_t level, uint32_t domain)
{
    if (active_domains == NULL) {
        return false;
    }
    for (; level != ORR_NONE && level > search->required; level--) {
        domain = parent_of(search, level, domain);
    }
    return level == ORR_NONE || level != search->required || !active_domains[domain];
}

/* Which domains of the levels in question are candidates, and in which order they come. */
static void find_candidates(struct search *search)
{
    struct orr_subsets *subsets = search->subsets;
    const uint32_t deepest = search->preferred != ORR_NONE ? search->preferred : search->required;
    const uint32_t widest = search->required != ORR_NONE ? search->required : 0;
    order_domains(search, deepest);
    if (search->preferred != ORR_NONE) {
        score_preferred(search);
    }
    bool *active_domains = search->required != ORR_NONE ? find_active_domains(search) : NULL;
    for (uint32_t l = widest; l <= deepest; l++) {
        const uint32_t *order = subsets->order + subsets->first[l];
        for (uint32_t i = 0; i < subsets->order_count[l]; i++) {
            subsets->is_candidate[order[i]] =
                fits(search, l, order[i]) &&
                !leaves_active_domain(search, active_domains, l, order[i]);
        }
    }
    subsets->levels_left = deepest + 1 - widest;
    subsets->level = deepest + 1;
    subsets->root_left = search->required == ORR_NONE && fits(search, ORR_NONE, 0);
    orr_free(active_domains);
}

void orr_subsets_open(struct orr_allocation *attempt, uint32_t set, struct orr_node_list nodes,
                      struct orr_subsets *subsets)
{
    struct orr_session *session = attempt->session;
    const struct orr_constraint *constraint = &session->sets[set].constraint;
    *subsets =
        (struct orr_subsets){.topology = orr_session_find_topology(session, constraint->topology),
                             .nodes = nodes,
                             .of_all = nodes.count == session->node_count};
    struct search search = {
        .attempt = attempt, .subsets = subsets, .topology = subsets->topology, .set = set};
    attempt->why = ORR_FIT_TOPOLOGY;
    if (search.topology == NULL || search.topology->level_count == 0 ||
        !find_levels(&search, constraint)) {
        return;
    }
    number_domains(&search);
    sum_tasks(&search);
    if (find_lowest_common(&search)) {
        search.sums = search.pods_only ? NULL
                                       : orr_domain_sums_of(session, search.topology, &search.max,
                                                            attempt->sketch);
        search.ratio[search.lowest_common] = ratio_of(&search, search.lowest_common);
        if (fits(&search, search.lowest_common_level, search.lowest_common)) {
            find_candidates(&search);
        }
    }
    orr_free(search.ratio);
    orr_free(search.position);
}

void orr_subsets_release(struct orr_subsets *subsets)
{
    orr_free(subsets->first);
    orr_free(subsets->order);
    orr_free(subsets->order_count);
    orr_free(subsets->is_candidate);
    orr_free(subsets->listed);
    orr_free(subsets->begin);
}

/* --- one after the other --- */

/* The nodes given by domain of a level; ORR_NONE: those of the root. */
static void list_level(struct orr_subsets *subsets, uint32_t level)
{
    const struct orr_topology *topology = subsets->topology;
    const uint32_t domains = level == ORR_NONE ? 1 : topology->levels[level].domain_count;
    const uint32_t *of_node = level == ORR_NONE ? NULL : topology->levels[level].domain_of_node;
    if (subsets->listed == NULL) {
        subsets->listed = orr_alloc(subsets->nodes.count + (size_t)1, sizeof *subsets->listed);
        subsets->begin = orr_alloc(subsets->domain_count + (size_t)2, sizeof *subsets->begin);
    }
    /* counting sort: of a domain first the number, then where the next one goes, then its end */
    uint32_t *next = subsets->begin + 1;
    memset(subsets->begin, 0, (domains + (size_t)2) * sizeof *subsets->begin);
    for (uint32_t i = 0; i < subsets->nodes.count; i++) {
        const uint32_t node = subsets->nodes.nodes[i];
        if (orr_domain_has(topology, node)) {
            next[(of_node == NULL ? 0 : of_node[node]) + 1]++;
        }
    }
    for (uint32_t d = 0; d < domains; d++) {
        next[d + 1] += next[d];
    }
    for (uint32_t i = 0; i < subsets->nodes.count; i++) {
        const uint32_t node = subsets->nodes.nodes[i];
        if (orr_domain_has(topology, node)) {
            subsets->listed[next[of_node == NULL ? 0 : of_node[node]]++] = node;
        }
    }
}

static struct orr_node_list nodes_of(const struct orr_subsets *subsets, uint32_t domain)
{
    const uint32_t begin = subsets->begin[domain];
    return (struct orr_node_list){.nodes = subsets->listed + begin,
                                  .count = subsets->begin[domain + 1] - begin};
}

/* Where all nodes were given. */
static struct orr_node_list all_nodes_of(const struct orr_topology_level *level, uint32_t domain)
{
    return (struct orr_node_list){.nodes = level->nodes + level->begin[domain],
                                  .count = level->begin[domain + 1] - level->begin[domain]};
}

static bool next_of_root(struct orr_subsets *subsets, struct orr_node_list *nodes)
{
    if (!subsets->root_left) {
        return false;
    }
    subsets->root_left = false;
    list_level(subsets, ORR_NONE);
    *nodes = nodes_of(subsets, 0);
    return true;
}

bool orr_subsets_next(struct orr_subsets *subsets, struct orr_node_list *nodes)
{
    for (;;) {
        if (subsets->at == subsets->end) {
            if (subsets->levels_left == 0) {
                return next_of_root(subsets, nodes);
            }
            subsets->levels_left--;
            subsets->level--;
            subsets->at = subsets->first[subsets->level];
            subsets->end = subsets->at + subsets->order_count[subsets->level];
            subsets->is_listed = false;
            continue;
        }
        const uint32_t domain = subsets->order[subsets->at++];
        if (!subsets->is_candidate[domain]) {
            continue;
        }
        const uint32_t id = domain - subsets->first[subsets->level];
        if (subsets->of_all) {
            *nodes = all_nodes_of(&subsets->topology->levels[subsets->level], id);
            return true;
        }
        if (!subsets->is_listed) {
            list_level(subsets, subsets->level);
            subsets->is_listed = true;
        }
        *nodes = nodes_of(subsets, id);
        return true;
    }
}
