/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topology (KAI's plugin topology): which parts of the cluster to try for a constrained set, in
 * which order.
 */
#include "slow.h"

#include <math.h>
#include <string.h>

#define ROOT (-1) /* level of the whole topology */

struct domain {
    int level;
    uint32_t id;
    uint32_t parent; /* position in the list */
    double ratio;
    bool fits;
};

struct search {
    struct slow *slow;
    const struct slow_view *view;
    const struct orr_topology *topology;
    const struct slow_list *tasks;
    uint32_t set;
    int required, preferred; /* levels, or ROOT: not asked for */
    struct orr_vec total, most;
    bool alike;             /* all tasks use the same kinds of resources */
    bool pods_only;         /* nothing but a pod slot */
    struct domain *domains; /* the start, then level by level, left to right */
    uint32_t count;
};

static bool has_every_label(const struct search *search, uint32_t node)
{
    for (uint32_t l = 0; l < search->topology->level_count; l++) {
        if (search->topology->levels[l].domain_of_node[node] == ORR_NONE) {
            return false;
        }
    }
    return true;
}

static uint32_t domain_at(const struct search *search, int level, uint32_t node)
{
    return level == ROOT ? 0 : search->topology->levels[level].domain_of_node[node];
}

static bool is_in(const struct search *search, const struct domain *domain, uint32_t node)
{
    return has_every_label(search, node) && domain_at(search, domain->level, node) == domain->id;
}

/* --- levels --- */

/* False: named, but not in the topology. */
static bool find_level(const struct orr_topology *topology, const char *name, int *level)
{
    *level = ROOT;
    for (uint32_t l = 0; name != NULL && l < topology->level_count; l++) {
        const struct orr_topology_level *at = &topology->levels[l];
        if (strcmp(at->label, name) == 0 || (at->alias != NULL && strcmp(at->alias, name) == 0)) {
            *level = (int)l;
            return true;
        }
    }
    return name == NULL;
}

static bool find_levels(struct search *search)
{
    const struct orr_constraint *constraint = &search->slow->in->sets[search->set].constraint;
    for (uint32_t i = 0; i < search->slow->in->topology_count; i++) {
        if (strcmp(search->slow->in->topologies[i].name, constraint->topology) == 0) {
            search->topology = &search->slow->in->topologies[i];
        }
    }
    return search->topology != NULL &&
           (constraint->required != NULL || constraint->preferred != NULL) &&
           find_level(search->topology, constraint->required, &search->required) &&
           find_level(search->topology, constraint->preferred, &search->preferred) &&
           (search->preferred == ROOT || search->preferred >= search->required);
}

/* --- what is asked --- */

static void sum_tasks(struct search *search)
{
    const struct orr_session *in = search->slow->in;
    uint32_t users[ORR_SLOTS_MAX] = {0};
    for (uint32_t i = 0; i < search->tasks->count; i++) {
        const struct orr_vec *request = &slow_ask(search->slow, search->tasks->task[i])->request;
        for (uint32_t s = 0; s < in->slot_count; s++) {
            search->total.v[s] += request->v[s];
            search->most.v[s] =
                request->v[s] > search->most.v[s] ? request->v[s] : search->most.v[s];
            users[s] += request->v[s] > 0;
        }
    }
    search->alike = true;
    search->pods_only = true;
    for (uint32_t s = 0; s < in->slot_count; s++) {
        if (s >= ORR_SLOT_GPU && users[s] > 0 && users[s] < search->tasks->count) {
            search->alike = false;
        }
        search->pods_only = search->pods_only && (s == ORR_SLOT_PODS || users[s] == 0);
    }
}

/* --- what is there --- */

static int64_t free_of(const struct slow *slow, uint32_t node, uint32_t slot)
{
    return slow->at.nodes[node].idle.v[slot] + slow->at.nodes[node].releasing.v[slot];
}

static double leftovers(const struct slow *slow, uint32_t n)
{
    const struct slow_node *node = &slow->at.nodes[n];
    const double mib = (double)slow->in->nodes[n].gpu_memory_mib;
    double sum = 0;
    for (uint32_t g = 0; g < node->group_count; g++) {
        const struct slow_group *group = &node->groups[g];
        if (group->used > 0) {
            sum += fmax(0, mib - (double)group->allocated + (double)group->releasing) / mib;
        }
    }
    return sum;
}

/* Pods like the largest of them that the node could take. */
static int64_t pods_on(const struct search *search, uint32_t node)
{
    const struct slow *slow = search->slow;
    double least = (double)INFINITY;
    if (search->pods_only) {
        return search->tasks->count;
    }
    for (uint32_t s = 0; s < slow->in->slot_count; s++) {
        const int64_t asked = search->most.v[s];
        double free = (double)free_of(slow, node, s);
        if (s == ORR_SLOT_GPU && asked > 0 && asked < ORR_MGPU) {
            free += leftovers(slow, node) * ORR_MGPU;
        }
        if ((double)asked > free) {
            return 0;
        }
        if (asked > 0) {
            least = fmin(least, floor(free / (double)asked));
        }
    }
    return (int64_t)least;
}

static void measure(const struct search *search, struct domain *domain)
{
    const struct slow *slow = search->slow;
    int64_t pods = 0;
    double free[ORR_SLOTS_MAX] = {0};
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        if (is_in(search, domain, n)) {
            pods += pods_on(search, n);
            for (uint32_t s = 0; s < slow->in->slot_count; s++) {
                free[s] += (double)free_of(slow, n, s);
            }
        }
    }
    domain->ratio = 0;
    for (uint32_t s = 0; s < slow->in->slot_count; s++) {
        if (s != ORR_SLOT_PODS && search->total.v[s] > 0) {
            domain->ratio =
                fmax(domain->ratio, free[s] <= 0 ? 1000 : (double)search->total.v[s] / free[s]);
        }
    }
    domain->fits = search->alike ? pods >= search->tasks->count : domain->ratio <= 1;
}

/* --- the tree --- */

static bool shared_domain(const struct search *search, const bool *nodes, int level, uint32_t *id)
{
    *id = ORR_NONE;
    for (uint32_t n = 0; n < search->slow->in->node_count; n++) {
        if (!nodes[n] || !has_every_label(search, n)) {
            continue;
        }
        if (*id != ORR_NONE && *id != domain_at(search, level, n)) {
            return false;
        }
        *id = domain_at(search, level, n);
    }
    return *id != ORR_NONE;
}

/* The lowest domain that holds all nodes. False: there are none. */
static bool find_start(const struct search *search, const bool *nodes, struct domain *start)
{
    int deepest = (int)search->topology->level_count - 1;
    if (search->preferred != ROOT) {
        deepest = search->preferred;
    } else if (!search->slow->in->rules.strict_v017) {
        deepest = search->required;
    }
    uint32_t id;
    if (!shared_domain(search, nodes, ROOT, &id)) {
        return false;
    }
    *start = (struct domain){.level = ROOT, .id = 0};
    for (int l = 0; l <= deepest && shared_domain(search, nodes, l, &id); l++) {
        *start = (struct domain){.level = l, .id = id};
    }
    return true;
}

static bool child_before(const struct search *search, const struct domain *a,
                         const struct domain *b)
{
    const int sorted = search->preferred != ROOT ? search->preferred : search->required;
    if (a->level <= sorted && a->ratio != b->ratio) {
        return a->ratio > b->ratio;
    }
    const uint32_t *rank = search->topology->levels[a->level].rank;
    return rank[a->id] < rank[b->id];
}

static void add_children(struct search *search, uint32_t parent)
{
    const int level = search->domains[parent].level + 1;
    const uint32_t first = search->count;
    for (uint32_t n = 0; n < search->slow->in->node_count; n++) {
        if (!is_in(search, &search->domains[parent], n)) {
            continue;
        }
        struct domain child = {.level = level, .id = domain_at(search, level, n), .parent = parent};
        bool known = false;
        for (uint32_t i = first; i < search->count; i++) {
            known = known || search->domains[i].id == child.id;
        }
        if (known) {
            continue;
        }
        measure(search, &child);
        uint32_t at = search->count++;
        for (; at > first && child_before(search, &child, &search->domains[at - 1]); at--) {
            search->domains[at] = search->domains[at - 1];
        }
        search->domains[at] = child;
    }
}

static void grow_tree(struct search *search, const struct domain *start)
{
    const uint32_t levels = search->topology->level_count;
    search->domains = orr_zalloc((size_t)(levels + 1) * (search->slow->in->node_count + (size_t)1),
                                 sizeof *search->domains);
    search->domains[0] = *start;
    measure(search, &search->domains[0]);
    search->count = 1;
    for (uint32_t i = 0; i < search->count; i++) {
        if (search->domains[i].level + 1 < (int)levels) {
            add_children(search, i);
        }
    }
}

/* --- scores --- */

static void score_nodes(struct search *search)
{
    struct slow *slow = search->slow;
    uint32_t n_domains = 0;
    uint32_t nth = 0;
    for (uint32_t i = 0; i < search->count; i++) {
        n_domains += search->domains[i].level == search->preferred;
    }
    double *scores = orr_zalloc(slow->in->node_count + (size_t)1, sizeof *scores);
    for (uint32_t i = 0; i < search->count; i++) {
        if (search->domains[i].level != search->preferred) {
            continue;
        }
        nth++;
        for (uint32_t n = 0; n < slow->in->node_count; n++) {
            if (is_in(search, &search->domains[i], n)) {
                scores[n] = floor(10.0 * nth / n_domains) * 100000;
            }
        }
    }
    orr_free(slow->preferred[search->set]);
    slow->preferred[search->set] = scores;
}

/* --- pods that are there already --- */

static bool receives(const struct search *search, uint32_t pod_set)
{
    for (uint32_t i = 0; i < search->tasks->count; i++) {
        if (search->slow->in->tasks[search->tasks->task[i]].set == pod_set) {
            return true;
        }
    }
    return false;
}

/* With pods of the pod sets in hand placed, only where they are will do. */
static bool holds_the_placed(const struct search *search, const struct domain *domain)
{
    const struct orr_session *in = search->slow->in;
    const struct orr_sjob *job = &in->jobs[search->view->job];
    bool any = false;
    bool inside = false;
    if (search->required == ROOT) {
        return true;
    }
    uint32_t sample = ORR_NONE;
    for (uint32_t n = 0; n < in->node_count && sample == ORR_NONE; n++) {
        sample = is_in(search, domain, n) ? n : ORR_NONE;
    }
    for (uint32_t t = 0; t < job->task_count; t++) {
        const uint32_t task = job->first_task + t;
        if (!search->view->has[t] || !receives(search, in->tasks[task].set) ||
            !slow_in(search->slow, task, ORR_STATES_ACTIVE_ALLOCATED)) {
            continue;
        }
        const uint32_t node = search->slow->at.tasks[task].now.node;
        any = true;
        inside = inside || (node != ORR_NONE && has_every_label(search, node) &&
                            domain_at(search, search->required, node) ==
                                domain_at(search, search->required, sample));
    }
    return !any || inside;
}

/* --- candidates --- */

static void add_subset(const struct search *search, const struct domain *domain, const bool *nodes,
                       bool **subsets, uint32_t *count)
{
    const uint32_t all = search->slow->in->node_count;
    *subsets = orr_realloc(*subsets, (*count + (size_t)1) * all, sizeof **subsets);
    for (uint32_t n = 0; n < all; n++) {
        (*subsets)[(size_t)*count * all + n] = nodes[n] && is_in(search, domain, n);
    }
    (*count)++;
}

/* Domains above the start have no capacities; who asks for nothing but a pod slot needs none. Of
 * each level the one that holds the start: the others have none of the nodes. */
static void add_above(const struct search *search, int level, const bool *nodes, bool **subsets,
                      uint32_t *count)
{
    uint32_t sample = 0;
    while (!is_in(search, &search->domains[0], sample)) {
        sample++;
    }
    const struct domain domain = {.level = level, .id = domain_at(search, level, sample)};
    if (search->pods_only && level < search->domains[0].level &&
        holds_the_placed(search, &domain)) {
        add_subset(search, &domain, nodes, subsets, count);
    }
}

bool slow_domains(struct slow *slow, const struct slow_view *view, uint32_t set,
                  const struct slow_list *tasks, const bool *nodes, bool **subsets, uint32_t *count)
{
    struct search search = {.slow = slow, .view = view, .set = set, .tasks = tasks};
    struct domain start;
    if (!find_levels(&search) || !find_start(&search, nodes, &start)) {
        return false;
    }
    sum_tasks(&search);
    grow_tree(&search, &start);
    const bool possible = search.domains[0].fits;
    if (possible && search.preferred != ROOT) {
        score_nodes(&search);
    }
    const int deepest = search.preferred != ROOT ? search.preferred : search.required;
    for (int level = deepest; possible && level >= search.required; level--) {
        for (uint32_t i = 0; i < search.count; i++) {
            if (search.domains[i].level == level && search.domains[i].fits &&
                holds_the_placed(&search, &search.domains[i])) {
                add_subset(&search, &search.domains[i], nodes, subsets, count);
            }
        }
        add_above(&search, level, nodes, subsets, count);
        if (level == ROOT) {
            break;
        }
    }
    orr_free(search.domains);
    return *count > 0;
}
