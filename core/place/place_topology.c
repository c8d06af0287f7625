/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI topology: which parts of a topology a set of pods may be placed in, and in which order.
 *
 *   tree     domains below the lowest common one of the nodes at hand, tightest fit first
 *   fit      representative pods for tasks that are alike, sums of resources for others
 *   subsets  fitting domains of the levels that are allowed, deepest level first
 */
#include "place_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>

#define RATIO_IMPOSSIBLE 1000.0
#define PREFERRED_UNIT   100e3

struct domain {
    uint32_t level; /* ORR_NONE: the root above level 0 */
    uint32_t id;
    int64_t free[ORR_SLOTS_MAX];
    int64_t pods; /* representative ones that fit */
    double ratio;
    bool below_start; /* it has capacities at all */
    uint32_t place;   /* among those of its level, once these are in order; or ORR_NONE */
};

struct search {
    struct orr_attempt *attempt;
    const struct orr_topology *topology;
    uint32_t set;
    uint32_t required, preferred; /* levels, or ORR_NONE */
    struct orr_node_list nodes;
    struct domain *domains; /* root, then level by level */
    uint32_t *first;        /* of each level */
    uint32_t domain_count;
    uint32_t start;            /* the lowest common domain */
    uint32_t *order;           /* of each level those in reach, in tree order; like `domains` */
    uint32_t *order_count;     /* by level */
    struct orr_vec max, total; /* of the tasks */
    uint32_t task_count;
    uint32_t asked[ORR_SLOTS_MAX], asked_count; /* slots they ask for, but those of pods */
    bool alike;
    bool pods_only; /* the tasks ask for nothing but a pod slot: any domain will do */
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
    const struct orr_topology *topology = search->topology;
    return topology->level_count > 0 &&
           topology->levels[topology->level_count - 1].domain_of_node[node] != ORR_NONE;
}

static uint32_t domain_at(const struct search *search, uint32_t level, uint32_t node)
{
    return level == ORR_NONE
               ? 0
               : search->first[level] + search->topology->levels[level].domain_of_node[node];
}

static uint32_t parent_of(const struct search *search, uint32_t domain)
{
    const struct domain *d = &search->domains[domain];
    if (d->level == ORR_NONE) {
        return ORR_NONE;
    }
    return d->level == 0
               ? 0
               : search->first[d->level - 1] + search->topology->levels[d->level].parent[d->id];
}

static void make_domains(struct search *search)
{
    const struct orr_topology *topology = search->topology;
    search->first = orr_alloc(topology->level_count + (size_t)1, sizeof *search->first);
    search->domain_count = 1;
    for (uint32_t l = 0; l < topology->level_count; l++) {
        search->first[l] = search->domain_count;
        search->domain_count += topology->levels[l].domain_count;
    }
    search->domains = orr_zalloc(search->domain_count, sizeof *search->domains);
    search->order = orr_alloc(search->domain_count, sizeof *search->order);
    search->order_count = orr_zalloc(topology->level_count, sizeof *search->order_count);
    search->domains[0].level = ORR_NONE;
    for (uint32_t l = 0; l < topology->level_count; l++) {
        for (uint32_t d = 0; d < topology->levels[l].domain_count; d++) {
            search->domains[search->first[l] + d].level = l;
            search->domains[search->first[l] + d].id = d;
        }
    }
}

/* The deepest domain that all valid nodes at hand are in, not deeper than the preferred level.
 * v0.17 has no such bound when only a level is required: the domain can lie below it, and then the
 * required level has no candidate although the nodes would do. */
static bool find_start(struct search *search)
{
    uint32_t deepest = search->preferred;
    if (deepest == ORR_NONE) {
        deepest = search->attempt->session->rules.strict_v017 ? search->topology->level_count - 1
                                                              : search->required;
    }
    uint32_t some = ORR_NONE;
    for (uint32_t i = 0; i < search->nodes.count && some == ORR_NONE; i++) {
        some = is_valid(search, search->nodes.nodes[i]) ? search->nodes.nodes[i] : ORR_NONE;
    }
    if (some == ORR_NONE) {
        return false;
    }
    search->start = 0;
    for (uint32_t l = 0; l <= deepest; l++) {
        const uint32_t domain = domain_at(search, l, some);
        for (uint32_t i = 0; i < search->nodes.count; i++) {
            const uint32_t node = search->nodes.nodes[i];
            if (is_valid(search, node) && domain_at(search, l, node) != domain) {
                return true;
            }
        }
        search->start = domain;
    }
    return true;
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
    search->alike = true;
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
        search->alike =
            search->alike && (s < ORR_SLOT_GPU || users[s] == 0 || users[s] == search->task_count);
        search->pods_only = search->pods_only && (s == ORR_SLOT_PODS || users[s] == 0);
        if (s != ORR_SLOT_PODS && search->total.v[s] > 0) {
            search->asked[search->asked_count++] = s;
        }
    }
}

/* --- capacities --- */

static double leftover_gpus(const struct orr_snode *node)
{
    double sum = 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        const int64_t free = node->gpu_memory_mib - gpu->allocated + gpu->releasing;
        if (gpu->used > 0 && free > 0) {
            sum += (double)free / (double)node->gpu_memory_mib;
        }
    }
    return sum * ORR_MGPU;
}

/* Representative pods a node can take: the element-wise largest request stands for all. None where
 * more of anything is promised than there is, also of what they do not ask. */
static int64_t pods_on(const struct search *search, const struct orr_snode *node)
{
    const struct orr_session *session = search->attempt->session;
    int64_t pods = INT64_MAX;
    if (search->pods_only) {
        return (int64_t)search->task_count;
    }
    for (uint32_t s = 0; s < session->slot_count; s++) {
        const int64_t each = search->max.v[s];
        const int64_t free = node->idle.v[s] + node->releasing.v[s];
        int64_t fit = free < each ? 0 : each == 0 ? INT64_MAX : free < 2 * each ? 1 : free / each;
        if (s == ORR_SLOT_GPU && each > 0 && each < ORR_MGPU) {
            fit = (int64_t)floor(((double)free + leftover_gpus(node)) / (double)each);
        }
        if (fit <= 0) {
            return 0;
        }
        pods = fit < pods ? fit : pods;
    }
    return pods;
}

static void add_domain(const struct search *search, uint32_t from, uint32_t to)
{
    const struct domain *part = &search->domains[from];
    struct domain *domain = &search->domains[to];
    for (uint32_t i = 0; i < search->asked_count; i++) {
        domain->free[search->asked[i]] += part->free[search->asked[i]];
    }
    domain->pods += part->pods;
    domain->below_start = true;
}

/* Of the nodes into the deepest domains, and from there up to the start. */
static void sum_capacities(struct search *search)
{
    const struct orr_session *session = search->attempt->session;
    const uint32_t start_level = search->domains[search->start].level;
    const uint32_t deepest = search->topology->level_count - 1;
    for (uint32_t n = 0; n < session->node_count; n++) {
        if (!is_valid(search, n) || domain_at(search, start_level, n) != search->start) {
            continue;
        }
        const struct orr_snode *node = &session->nodes[n];
        struct domain *domain = &search->domains[domain_at(search, deepest, n)];
        for (uint32_t i = 0; i < search->asked_count; i++) {
            const uint32_t s = search->asked[i];
            domain->free[s] += node->idle.v[s] + node->releasing.v[s];
        }
        domain->pods += pods_on(search, node);
        domain->below_start = true;
    }
    for (uint32_t d = search->domain_count; d-- > 1;) {
        if (search->domains[d].below_start && d != search->start) {
            add_domain(search, d, parent_of(search, d));
        }
    }
}

static void set_ratios(struct search *search)
{
    for (uint32_t d = 0; d < search->domain_count; d++) {
        struct domain *domain = &search->domains[d];
        for (uint32_t i = 0; i < search->asked_count; i++) {
            const uint32_t s = search->asked[i];
            const double ratio = domain->free[s] <= 0
                                     ? RATIO_IMPOSSIBLE
                                     : (double)search->total.v[s] / (double)domain->free[s];
            domain->ratio = ratio > domain->ratio ? ratio : domain->ratio;
        }
    }
}

static bool fits(const struct search *search, const struct domain *domain)
{
    if (!domain->below_start) {
        return search->pods_only;
    }
    return search->alike ? domain->pods >= (int64_t)search->task_count : domain->ratio <= 1;
}

/* --- order --- */

static int by_tightness(const void *a, const void *b, void *context)
{
    const struct search *search = context;
    const struct domain *l = &search->domains[*(const uint32_t *)a];
    const struct domain *r = &search->domains[*(const uint32_t *)b];
    if (l->ratio > r->ratio || l->ratio < r->ratio) {
        return l->ratio > r->ratio ? -1 : 1;
    }
    const uint32_t *rank = search->topology->levels[l->level].rank;
    return (rank[l->id] > rank[r->id]) - (rank[l->id] < rank[r->id]);
}

static uint32_t place_of_parent(const struct search *search, uint32_t domain)
{
    return search->domains[parent_of(search, domain)].place;
}

/* Those of a level whose parents are in order: in their parents' order, then tightest first. */
static void order_level(struct search *search, uint32_t level, uint32_t parents)
{
    const uint32_t first = search->first[level];
    const uint32_t end = first + search->topology->levels[level].domain_count;
    uint32_t *order = search->order + first;
    uint32_t *at =
        orr_zalloc(parents + (size_t)1, sizeof *at); /* where the next of a parent goes */
    for (uint32_t d = first; d < end; d++) {
        if (place_of_parent(search, d) != ORR_NONE) {
            at[place_of_parent(search, d) + 1]++;
        }
    }
    for (uint32_t p = 0; p < parents; p++) {
        at[p + 1] += at[p];
    }
    search->order_count[level] = at[parents];
    for (uint32_t d = first; d < end; d++) {
        if (place_of_parent(search, d) != ORR_NONE) {
            order[at[place_of_parent(search, d)]++] = d;
        }
    }
    for (uint32_t p = 0; p < parents; p++) {
        const uint32_t begin = p == 0 ? 0 : at[p - 1];
        orr_sort(order + begin, at[p] - begin, sizeof *order, by_tightness, search);
    }
    for (uint32_t i = 0; i < search->order_count[level]; i++) {
        search->domains[order[i]].place = i;
    }
    orr_free(at);
}

/* Puts the domains below the start in tree order, down to a level. Of a level above it only the one
 * the start is in is in reach, as the others have none of the nodes at hand. */
static void order_domains(struct search *search, uint32_t deepest)
{
    for (uint32_t d = 0; d < search->domain_count; d++) {
        search->domains[d].place = ORR_NONE;
    }
    for (uint32_t d = search->start; d != 0; d = parent_of(search, d)) {
        const uint32_t level = search->domains[d].level;
        search->order[search->first[level]] = d;
        search->order_count[level] = 1;
    }
    search->domains[search->start].place = 0;
    const uint32_t start_level = search->domains[search->start].level;
    uint32_t parents = 1;
    for (uint32_t l = start_level == ORR_NONE ? 0 : start_level + 1; l <= deepest; l++) {
        order_level(search, l, parents);
        parents = search->order_count[l];
    }
}

/* --- preferred scores --- */

void orr_place__clear_preferred(struct orr_session *session, uint32_t job)
{
    const uint32_t sets = session->jobs[job].set_count;
    for (uint32_t i = 0; i < session->preferred_capacity && i < sets; i++) {
        orr_free(session->preferred[i]);
        session->preferred[i] = NULL;
    }
}

/* Of the innermost set of the task that has them, by node; NULL: none. */
static const double *preferred_by(const struct orr_session *session, const struct orr_stask *task)
{
    const uint32_t first = session->jobs[task->job].first_set;
    for (uint32_t s = task->set; s != ORR_NONE; s = session->sets[s].parent) {
        if (s - first < session->preferred_capacity && session->preferred[s - first] != NULL) {
            return session->preferred[s - first];
        }
    }
    return NULL;
}

bool orr_place__prefers(const struct orr_session *session, const struct orr_stask *task)
{
    return preferred_by(session, task) != NULL;
}

double orr_place__preferred(const struct orr_session *session, const struct orr_stask *task,
                            uint32_t node)
{
    const double *by = preferred_by(session, task);
    return by == NULL ? 0 : by[node];
}

static double *preferred_of(struct orr_session *session, uint32_t job, uint32_t set)
{
    const uint32_t at = set - session->jobs[job].first_set;
    if (at >= session->preferred_capacity) {
        const uint32_t capacity = (uint32_t)orr_grow(session->preferred_capacity, at + (size_t)1);
        session->preferred = orr_realloc(session->preferred, capacity, sizeof *session->preferred);
        for (uint32_t i = session->preferred_capacity; i < capacity; i++) {
            session->preferred[i] = NULL;
        }
        session->preferred_capacity = capacity;
    }
    orr_free(session->preferred[at]);
    session->preferred[at] = orr_zalloc(session->node_count, sizeof(double));
    return session->preferred[at];
}

/* The emptiest domain of the preferred level scores highest: it matters when several are spanned.
 */
static void score_preferred(const struct search *search)
{
    struct orr_session *session = search->attempt->session;
    double *score = preferred_of(session, search->attempt->view.job, search->set);
    const uint32_t *order = search->order + search->first[search->preferred];
    const uint32_t count = search->order_count[search->preferred];
    double *of_domain = orr_zalloc(search->domain_count, sizeof *of_domain);
    for (uint32_t i = 0; i < count; i++) {
        of_domain[order[i]] = floor(10.0 * (i + 1) / count) * PREFERRED_UNIT;
    }
    for (uint32_t n = 0; n < session->node_count; n++) {
        score[n] =
            is_valid(search, n) ? of_domain[domain_at(search, search->preferred, n)] : score[n];
    }
    orr_free(of_domain);
}

/* --- candidates --- */

void orr_subsets_release(struct orr_subsets *subsets)
{
    orr_free(subsets->nodes);
    orr_free(subsets->ends);
    *subsets = (struct orr_subsets){0};
}

/* The domains of the required level that hold active pods of the pod sets which get tasks now; the
 * others must join them. NULL: nothing pins. */
static bool *find_pins(const struct search *search)
{
    const struct orr_session *session = search->attempt->session;
    const struct orr_sjob *job = &session->jobs[search->attempt->view.job];
    bool *pins = NULL;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_stask *active = &session->tasks[t];
        if (!orr_status_in(active->live.status, ORR_STATES_ACTIVE_ALLOCATED) ||
            active->live.node == ORR_NONE || !belongs_to_search(search, t) ||
            !orr_jobview_has(session, search->attempt->view, t)) {
            continue;
        }
        bool receives = false;
        for (uint32_t i = 0; i < search->attempt->tasks.count && !receives; i++) {
            receives = session->tasks[search->attempt->tasks.tasks[i]].set == active->set;
        }
        if (!receives) {
            continue;
        }
        pins = pins != NULL ? pins : orr_zalloc(search->domain_count, sizeof *pins);
        if (is_valid(search, active->live.node)) {
            pins[domain_at(search, search->required, active->live.node)] = true;
        }
    }
    return pins;
}

static bool is_pinned_out(const struct search *search, const bool *pins, uint32_t domain)
{
    if (pins == NULL) {
        return false;
    }
    while (domain != ORR_NONE && search->domains[domain].level != search->required) {
        domain = parent_of(search, domain);
    }
    return domain == ORR_NONE || !pins[domain];
}

/* The domains of a level that fit, in order: of each the nodes at hand, all of which are in one of
 * those in reach. */
static void add_level(const struct search *search, uint32_t level, const bool *pins,
                      struct orr_subsets *out)
{
    const uint32_t root = 0;
    const uint32_t *order = level == ORR_NONE ? &root : search->order + search->first[level];
    const uint32_t count = level == ORR_NONE ? 1 : search->order_count[level];
    /* By domain: how many nodes, then where the next goes; ORR_NONE: it is no candidate. */
    uint32_t *next = orr_zalloc(search->domain_count, sizeof *next);
    for (uint32_t i = 0; i < search->nodes.count; i++) {
        if (is_valid(search, search->nodes.nodes[i])) {
            next[domain_at(search, level, search->nodes.nodes[i])]++;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *nodes = &next[order[i]];
        if (fits(search, &search->domains[order[i]]) && !is_pinned_out(search, pins, order[i])) {
            const uint32_t begin = out->node_count;
            out->node_count += *nodes;
            out->ends[out->count++] = out->node_count;
            *nodes = begin;
        } else {
            *nodes = ORR_NONE;
        }
    }
    for (uint32_t i = 0; i < search->nodes.count; i++) {
        const uint32_t node = search->nodes.nodes[i];
        if (is_valid(search, node) && next[domain_at(search, level, node)] != ORR_NONE) {
            out->nodes[next[domain_at(search, level, node)]++] = node;
        }
    }
    orr_free(next);
}

static void add_candidates(struct search *search, struct orr_subsets *out)
{
    const uint32_t deepest = search->preferred != ORR_NONE ? search->preferred : search->required;
    const uint32_t widest = search->required != ORR_NONE ? search->required : 0;
    order_domains(search, deepest);
    if (search->preferred != ORR_NONE) {
        score_preferred(search);
    }
    bool *pins = search->required != ORR_NONE ? find_pins(search) : NULL;
    out->nodes = orr_alloc((deepest + (size_t)2) * search->nodes.count, sizeof *out->nodes);
    out->ends = orr_alloc(search->domain_count, sizeof *out->ends);
    for (uint32_t l = deepest + 1; l-- > widest;) {
        add_level(search, l, pins, out);
    }
    if (search->required == ORR_NONE) {
        add_level(search, ORR_NONE, pins, out);
    }
    orr_free(pins);
}

void orr_place__subsets(struct orr_attempt *attempt, uint32_t set, struct orr_node_list nodes,
                        struct orr_subsets *out)
{
    const struct orr_constraint *constraint = &attempt->session->sets[set].constraint;
    struct search search = {.attempt = attempt,
                            .topology =
                                orr_session_find_topology(attempt->session, constraint->topology),
                            .set = set,
                            .nodes = nodes};
    attempt->why = ORR_FIT_TOPOLOGY;
    if (search.topology == NULL || search.topology->level_count == 0 ||
        !find_levels(&search, constraint)) {
        return;
    }
    make_domains(&search);
    sum_tasks(&search);
    if (find_start(&search)) {
        sum_capacities(&search);
        set_ratios(&search);
        if (fits(&search, &search.domains[search.start])) {
            add_candidates(&search, out);
        }
    }
    orr_free(search.order_count);
    orr_free(search.order);
    orr_free(search.domains);
    orr_free(search.first);
}
