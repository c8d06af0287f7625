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

#include <string.h>

#include <orrery/base/sort.h>

#define RATIO_IMPOSSIBLE 1000.0
#define PREFERRED_UNIT   100000

struct search {
    struct orr_allocation *attempt;
    struct orr_subsets *subsets;
    const struct orr_topology *topology;
    const struct orr_domain_sums *sums; /* NULL: the tasks ask for pods alone */
    uint32_t set;
    uint32_t required, preferred; /* levels, or ORR_NONE */
    uint32_t lowest_common_level,
        lowest_common;    /* the lowest common domain; ORR_NONE, 0: the root */
    uint32_t deepest;     /* level whose domains are asked for */
    bool *active_domains; /* of the required level: tasks must join pods there; NULL: anywhere */
    double *ratio;        /* by domain: requested / free */
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
    return orr_domain_has(search->topology, node) && !search->attempt->session->nodes[node].away;
}

/* Domains are numbered level by level after the root, which is 0. */
static uint32_t domain_at(const struct search *search, uint32_t level, uint32_t node)
{
    return level == ORR_NONE ? 0
                             : search->subsets->first[level] +
                                   search->topology->levels[level].domain_of_node[node];
}

/* The number behind those of a level. */
static uint32_t level_end(const struct search *search, uint32_t level)
{
    return search->subsets->first[level] + search->topology->levels[level].domain_count;
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

/* Room for everything that is by domain, down to this level, or by level. */
static void number_domains(struct search *search, uint32_t lowest)
{
    struct orr_subsets *subsets = search->subsets;
    const size_t levels = lowest + (size_t)1;
    size_t count = 1;
    for (size_t l = 0; l < levels; l++) {
        const uint32_t domains = search->topology->levels[l].domain_count;
        count += domains;
        subsets->most_domains = domains > subsets->most_domains ? domains : subsets->most_domains;
    }
    subsets->memory = orr_alloc(1, count * (sizeof *search->ratio + sizeof *subsets->order +
                                            sizeof *subsets->is_candidate) +
                                       2 * levels * sizeof *subsets->first);
    search->ratio = subsets->memory;
    subsets->order = (uint32_t *)(void *)(search->ratio + count);
    subsets->first = subsets->order + count;
    subsets->order_count = subsets->first + levels;
    subsets->is_candidate = (bool *)(subsets->order_count + levels);
    count = 1;
    for (size_t l = 0; l < levels; l++) {
        subsets->first[l] = (uint32_t)count;
        subsets->order_count[l] = 0;
        count += search->topology->levels[l].domain_count;
    }
}

/* All valid nodes of those given are in one domain of the level. */
static bool share_domain(const struct search *search, uint32_t level, uint32_t any_valid)
{
    const struct orr_node_list *nodes = &search->subsets->nodes;
    if (nodes->count == search->attempt->session->node_count) {
        return search->topology->levels[level].domains_here == 1;
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
static bool find_lowest_common(struct search *search, uint32_t lowest)
{
    const struct orr_node_list *nodes = &search->subsets->nodes;
    uint32_t any_valid = ORR_NONE;
    for (uint32_t i = 0; i < nodes->count && any_valid == ORR_NONE; i++) {
        any_valid = is_valid(search, nodes->nodes[i]) ? nodes->nodes[i] : ORR_NONE;
    }
    search->lowest_common_level = ORR_NONE;
    search->lowest_common = 0;
    for (uint32_t l = 0; any_valid != ORR_NONE && l <= lowest && share_domain(search, l, any_valid);
         l++) {
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

/* Tasks from this one on that ask the same in the same pod set: those of a gang mostly do. */
static uint32_t count_alike(const struct orr_session *session, const struct orr_task_list *tasks,
                            uint32_t first)
{
    const struct orr_stask *one = &session->tasks[tasks->tasks[first]];
    uint32_t end = first + 1;
    for (; end < tasks->count; end++) {
        const struct orr_stask *next = &session->tasks[tasks->tasks[end]];
        if (next->ask != one->ask || next->set != one->set) {
            break;
        }
    }
    return end - first;
}

static void sum_tasks(struct search *search)
{
    const struct orr_session *session = search->attempt->session;
    const struct orr_task_list *tasks = &search->attempt->tasks;
    uint32_t users[ORR_SLOTS_MAX] = {0};
    search->same_kinds = true;
    for (uint32_t i = 0, alike = 0; i < tasks->count; i += alike) {
        alike = count_alike(session, tasks, i);
        if (!belongs_to_search(search, tasks->tasks[i])) {
            continue;
        }
        const struct orr_ask *ask = orr_task_ask(session, &session->tasks[tasks->tasks[i]]);
        search->task_count += alike;
        for (uint32_t s = 0; s < session->slot_count; s++) {
            const int64_t amount = ask->request.v[s];
            users[s] += amount > 0 ? alike : 0;
            search->total.v[s] += amount * alike;
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

/* Do the domains below this one of a level matter, and in which order they come? Within the
 * required level room is a sum of what domains have: below one that does not fit none does, and
 * none of its nodes is scored. */
static bool children_matter(const struct search *search, uint32_t level, uint32_t domain)
{
    return search->required == ORR_NONE || level == ORR_NONE || level < search->required ||
           !search->same_kinds || search->subsets->is_candidate[domain];
}

static bool leaves_active_domain(const struct search *search, uint32_t level, uint32_t domain)
{
    for (; level != ORR_NONE && level > search->required; level--) {
        domain = parent_of(search, level, domain);
    }
    return level == ORR_NONE || level != search->required || !search->active_domains[domain];
}

/* Of domains that only candidates are asked of, those that tasks may not leave others for. */
static bool is_passed_by(const struct search *search, uint32_t level, uint32_t domain)
{
    return level == search->deepest && search->preferred == ORR_NONE &&
           search->active_domains != NULL && leaves_active_domain(search, level, domain);
}

/* Puts the domains below one of the level above in order, the tightest first, behind those that
 * are. */
static void order_children(struct search *search, uint32_t level, uint32_t parent)
{
    struct orr_subsets *subsets = search->subsets;
    const struct orr_topology_level *of = &search->topology->levels[level];
    const uint32_t first = subsets->first[level];
    const uint32_t group = level == 0 ? 0 : parent - subsets->first[level - 1];
    const uint32_t count = of->children_begin[group + 1] - of->children_begin[group];
    const uint32_t *children = of->children + of->children_begin[group];
    uint32_t *order = subsets->order + first + subsets->order_count[level];
    const bool matter = children_matter(search, level == 0 ? ORR_NONE : level - 1, parent);
    uint32_t listed = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t domain = first + children[i];
        if (of->nodes_here[children[i]] == 0 || is_passed_by(search, level, domain)) {
            continue;
        }
        order[listed++] = domain;
        search->ratio[domain] = matter ? ratio_of(search, domain) : 0;
        subsets->is_candidate[domain] = matter && fits(search, level, domain);
    }
    subsets->order_count[level] += listed;
    if (matter) {
        struct tightness by = {.ratio = search->ratio, .rank = of->rank, .first = first};
        sort_domains(order, listed, &by);
    }
}

/* Puts the domains below the lowest common one in tree order, down to the deepest level, and finds
 * which of them fit. Above it only its own ancestor counts: no other domain holds a node that was
 * given. */
static void order_domains(struct search *search)
{
    struct orr_subsets *subsets = search->subsets;
    uint32_t domain = search->lowest_common;
    for (uint32_t l = search->lowest_common_level; l != ORR_NONE; l = l == 0 ? ORR_NONE : l - 1) {
        subsets->order[subsets->first[l]] = domain;
        subsets->order_count[l] = 1;
        subsets->is_candidate[domain] = fits(search, l, domain);
        domain = parent_of(search, l, domain);
    }
    for (uint32_t l = search->lowest_common_level == ORR_NONE ? 0 : search->lowest_common_level + 1;
         l <= search->deepest; l++) {
        const uint32_t above = l == 0 ? 0 : subsets->first[l - 1];
        const uint32_t parents = l == 0 ? 1 : subsets->order_count[l - 1];
        for (uint32_t p = 0; p < parents; p++) {
            order_children(search, l, l == 0 ? 0 : subsets->order[above + p]);
        }
    }
}

/* --- preferred scores --- */

void orr_place__clear_preferred(struct orr_session *session, uint32_t job)
{
    const uint32_t sets = session->jobs[job].set_count;
    for (uint32_t i = 0; i < session->place->preferred_capacity && i < sets; i++) {
        session->place->preferred[i].domain_of_node = NULL;
    }
}

const struct orr_preferred *orr_place__preferred_by(const struct orr_session *session,
                                                    const struct orr_stask *task)
{
    const uint32_t first = session->jobs[task->job].first_set;
    for (uint32_t s = task->set; s != ORR_NONE; s = session->sets[s].parent) {
        if (s - first < session->place->preferred_capacity &&
            session->place->preferred[s - first].domain_of_node != NULL) {
            return &session->place->preferred[s - first];
        }
    }
    return NULL;
}

/* With so many scores, all 0. */
static struct orr_preferred *preferred_of(struct orr_session *session, uint32_t job, uint32_t set,
                                          uint32_t count)
{
    struct orr_place_memory *memory = session->place;
    const uint32_t at = set - session->jobs[job].first_set;
    if (at >= memory->preferred_capacity) {
        const uint32_t capacity = (uint32_t)orr_grow(memory->preferred_capacity, at + (size_t)1);
        memory->preferred = orr_realloc(memory->preferred, capacity, sizeof *memory->preferred);
        for (uint32_t i = memory->preferred_capacity; i < capacity; i++) {
            memory->preferred[i] = (struct orr_preferred){0};
        }
        memory->preferred_capacity = capacity;
    }
    struct orr_preferred *preferred = &memory->preferred[at];
    if (count > preferred->capacity) {
        preferred->capacity = count;
        preferred->of_domain = orr_realloc(preferred->of_domain, count, sizeof(int32_t));
    }
    memset(preferred->of_domain, 0, count * sizeof(int32_t));
    return preferred;
}

/* The emptiest domain of the preferred level scores highest: it matters when several are spanned.
 */
static void score_preferred(const struct search *search)
{
    const struct orr_topology_level *level = &search->topology->levels[search->preferred];
    struct orr_preferred *to = preferred_of(search->attempt->session, search->attempt->view.job,
                                            search->set, level->domain_count);
    const uint32_t first = search->subsets->first[search->preferred];
    const uint32_t *order = search->subsets->order + first;
    const uint32_t count = search->subsets->order_count[search->preferred];
    uint32_t tenths = 0, rest = 0; /* of (10 * (i + 1)) / count */
    to->domain_of_node = level->domain_of_node;
    for (uint32_t i = 0; i < count; i++) {
        for (rest += 10; rest >= count; rest -= count) {
            tenths++;
        }
        to->of_domain[order[i] - first] = (int32_t)tenths * PREFERRED_UNIT;
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
        active_domains = active_domains != NULL ? active_domains
                                                : orr_zalloc(level_end(search, search->required),
                                                             sizeof *active_domains);
        if (is_valid(search, active->live.node)) {
            active_domains[domain_at(search, search->required, active->live.node)] = true;
        }
    }
    return active_domains;
}

/* Which domains of the levels in question are candidates, and in which order they come. */
static void find_candidates(struct search *search)
{
    struct orr_subsets *subsets = search->subsets;
    const uint32_t deepest = search->deepest;
    const uint32_t widest = search->required != ORR_NONE ? search->required : 0;
    search->active_domains = search->required != ORR_NONE ? find_active_domains(search) : NULL;
    order_domains(search);
    if (search->preferred != ORR_NONE) {
        score_preferred(search);
    }
    for (uint32_t l = widest; search->active_domains != NULL && l <= deepest; l++) {
        const uint32_t *order = subsets->order + subsets->first[l];
        for (uint32_t i = 0; i < subsets->order_count[l]; i++) {
            subsets->is_candidate[order[i]] =
                subsets->is_candidate[order[i]] && !leaves_active_domain(search, l, order[i]);
        }
    }
    subsets->levels_left = deepest + 1 - widest;
    subsets->level = deepest + 1;
    subsets->root_left = search->required == ORR_NONE && fits(search, ORR_NONE, 0);
    orr_free(search->active_domains);
}

/* A sketch passes by nodes that are not open, so that it may be given whole domains.
 * Where another set of the job has a constraint too, the nodes that are given decide about its
 * domains. */
static bool skips_closed_nodes(const struct orr_allocation *attempt, uint32_t set)
{
    const struct orr_session *session = attempt->session;
    const struct orr_sjob *job = &session->jobs[attempt->view.job];
    bool may = attempt->sketch != NULL;
    for (uint32_t s = job->first_set; may && s < job->first_set + job->set_count; s++) {
        may = s == set || session->sets[s].constraint.topology == NULL;
    }
    return may;
}

void orr_subsets_open(struct orr_allocation *attempt, uint32_t set, struct orr_node_list nodes,
                      struct orr_subsets *subsets)
{
    struct orr_session *session = attempt->session;
    const struct orr_constraint *constraint = &session->sets[set].constraint;
    *subsets = (struct orr_subsets){
        .topology = orr_session_find_topology(session, constraint->topology),
        .nodes = nodes,
        .whole_domains = nodes.count == session->node_count || skips_closed_nodes(attempt, set)};
    struct search search = {
        .attempt = attempt, .subsets = subsets, .topology = subsets->topology, .set = set};
    attempt->why = ORR_FIT_TOPOLOGY;
    if (search.topology == NULL || search.topology->level_count == 0 ||
        !find_levels(&search, constraint)) {
        return;
    }
    search.deepest = search.preferred != ORR_NONE ? search.preferred : search.required;
    const bool unbound = session->rules.strict_v017 && search.preferred == ORR_NONE;
    const uint32_t lowest = unbound ? search.topology->level_count - 1 : search.deepest;
    number_domains(&search, lowest);
    sum_tasks(&search);
    if (find_lowest_common(&search, lowest)) {
        search.sums = search.pods_only ? NULL
                                       : orr_domain_sums_of(session, search.topology, &search.max,
                                                            attempt->sketch);
        search.ratio[search.lowest_common] = ratio_of(&search, search.lowest_common);
        if (fits(&search, search.lowest_common_level, search.lowest_common)) {
            find_candidates(&search);
        }
    }
}

void orr_subsets_release(struct orr_subsets *subsets)
{
    orr_free(subsets->memory);
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
        subsets->begin = orr_alloc(subsets->most_domains + (size_t)2, sizeof *subsets->begin);
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

static struct orr_node_list whole_domain(const struct orr_topology_level *level, uint32_t domain)
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
        if (subsets->whole_domains) {
            *nodes = whole_domain(&subsets->topology->levels[subsets->level], id);
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
