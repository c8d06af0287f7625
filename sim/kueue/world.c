/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names to indices in byte order, and objects built on them. */
#include <orrery/sim/kueue_world.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/idmap.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>

/* --- names --- */

static void add_name(struct kq_index *index, const char *name)
{
    uint32_t at = 0;
    for (uint32_t high = index->count; at < high;) {
        const uint32_t middle = at + (high - at) / 2;
        const bool before = strcmp(index->names[middle], name) < 0;
        at = before ? middle + 1 : at;
        high = before ? high : middle;
    }
    if (at < index->count && strcmp(index->names[at], name) == 0) {
        return;
    }
    index->names = ORR_ROOM_FOR_ONE(index->names, index->count, index->capacity);
    memmove(&index->names[at + 1], &index->names[at], (index->count - at) * sizeof *index->names);
    index->names[at] = name;
    index->count++;
}

uint32_t orr_kq_find(const struct kq_index *index, const char *name)
{
    uint32_t low = 0, high = name != NULL ? index->count : 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = strcmp(index->names[middle], name);
        if (order == 0) {
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return ORR_NONE;
}

static void add_pairs(struct kq_index *index, const struct orr_pair *pairs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        add_name(index, pairs[i].name);
    }
}

static void name_groups(struct kq_world *world, const struct kq_group *groups, uint32_t count)
{
    for (uint32_t g = 0; g < count; g++) {
        for (uint32_t r = 0; r < groups[g].resource_count; r++) {
            add_name(&world->resources, groups[g].resources[r]);
        }
        for (uint32_t f = 0; f < groups[g].flavor_count; f++) {
            add_name(&world->flavors, groups[g].flavors[f].name);
            for (uint32_t q = 0; q < groups[g].flavors[f].count; q++) {
                add_name(&world->resources, groups[g].flavors[f].quotas[q].name);
            }
        }
    }
}

static void name_sets(struct kq_world *world, const struct kq_pod_set *sets, uint32_t count)
{
    for (uint32_t s = 0; s < count; s++) {
        add_pairs(&world->resources, sets[s].per_pod, sets[s].per_pod_count);
    }
}

static void name_workload(struct kq_world *world, const struct kq_workload *workload)
{
    name_sets(world, workload->sets, workload->set_count);
    const uint32_t sets = workload->admission != NULL ? workload->admission->set_count : 0;
    for (uint32_t s = 0; s < sets; s++) {
        const struct kq_held_set *held = &workload->admission->sets[s];
        for (uint32_t f = 0; f < held->flavor_count; f++) {
            add_name(&world->resources, held->flavors[f].name);
            if (held->flavors[f].value != NULL) {
                add_name(&world->flavors, held->flavors[f].value);
            }
        }
        add_pairs(&world->resources, held->usage, held->usage_count);
    }
}

static void name_all(struct kq_world *world)
{
    const struct kq_objects *from = world->from;
    add_name(&world->resources, "pods");
    for (uint32_t i = 0; i < from->queue_count; i++) {
        add_name(&world->queues, from->queues[i].name);
        name_groups(world, from->queues[i].groups, from->queues[i].group_count);
        if (from->queues[i].cohort != NULL) {
            add_name(&world->cohorts, from->queues[i].cohort);
        }
    }
    for (uint32_t i = 0; i < from->cohort_count; i++) {
        add_name(&world->cohorts, from->cohorts[i].name);
        name_groups(world, from->cohorts[i].groups, from->cohorts[i].group_count);
        if (from->cohorts[i].parent != NULL) {
            add_name(&world->cohorts, from->cohorts[i].parent);
        }
    }
    for (uint32_t i = 0; i < from->flavor_count; i++) {
        add_name(&world->flavors, from->flavors[i].name);
    }
    for (uint32_t i = 0; i < from->workload_count; i++) {
        name_workload(world, &from->workloads[i]);
    }
    if (from->incoming != NULL) {
        name_workload(world, from->incoming);
    }
    name_sets(world, from->sets, from->set_count);
    for (uint32_t t = 0; t < from->config.transformation_count; t++) {
        const struct kq_transformation *one = &from->config.transformations[t];
        add_name(&world->resources, one->input);
        if (one->multiply_by != NULL) {
            add_name(&world->resources, one->multiply_by);
        }
        add_pairs(&world->resources, one->outputs, one->output_count);
    }
    for (uint32_t i = 0; i < from->node_count; i++) {
        add_pairs(&world->resources, from->nodes[i].allocatable, from->nodes[i].allocatable_count);
    }
}

/* --- amounts --- */

int64_t orr_kq_whole(const char *text)
{
    int64_t whole = 0;
    return text != NULL && orr_parse_i64(text, strlen(text), &whole) ? whole : 0;
}

const int64_t *orr_kq_amounts(struct kq_world *world, const struct orr_pair *pairs, uint32_t count,
                              int64_t absent)
{
    int64_t *amounts = orr_arena_alloc(&world->arena, world->resources.count, sizeof *amounts);
    for (uint32_t r = 0; r < world->resources.count; r++) {
        amounts[r] = absent;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t r = orr_kq_find(&world->resources, pairs[i].name);
        if (r != ORR_NONE) {
            amounts[r] = orr_kq_whole(pairs[i].value);
        }
    }
    return amounts;
}

uint32_t orr_kq_cell(const struct kq_world *world, const char *flavor, const char *resource)
{
    const uint32_t f = orr_kq_find(&world->flavors, flavor);
    const uint32_t r = orr_kq_find(&world->resources, resource);
    return f == ORR_NONE || r == ORR_NONE ? ORR_NONE : f * world->resources.count + r;
}

uint32_t orr_kq_node(const struct kq_world *world, const char *name)
{
    const uint32_t queue = orr_kq_find(&world->queues, name);
    if (queue != ORR_NONE) {
        return queue;
    }
    const uint32_t cohort = orr_kq_find(&world->cohorts, name);
    return cohort != ORR_NONE ? world->queues.count + cohort : ORR_NONE;
}

/* --- labels, taints --- */

static const struct orr_kueue_label *labels_of(struct kq_world *world, const struct orr_pair *pairs,
                                               uint32_t count)
{
    struct orr_kueue_label *labels =
        orr_arena_alloc(&world->arena, (size_t)count + 1, sizeof *labels);
    for (uint32_t i = 0; i < count; i++) {
        labels[i] =
            (struct orr_kueue_label){pairs[i].name, pairs[i].value != NULL ? pairs[i].value : ""};
    }
    return labels;
}

static int effect_of(const char *text)
{
    return strcmp(text, "PreferNoSchedule") == 0 ? ORR_KUEUE_PREFER_NO_SCHEDULE
           : strcmp(text, "NoExecute") == 0      ? ORR_KUEUE_NO_EXECUTE
           : strcmp(text, "NoSchedule") == 0     ? ORR_KUEUE_NO_SCHEDULE
                                                 : -1;
}

static const struct orr_kueue_taint *taints_of(struct kq_world *world, const struct kq_taint *from,
                                               uint32_t count)
{
    struct orr_kueue_taint *taints =
        orr_arena_alloc(&world->arena, (size_t)count + 1, sizeof *taints);
    for (uint32_t i = 0; i < count; i++) {
        taints[i] = (struct orr_kueue_taint){from[i].key, from[i].value,
                                             (enum orr_kueue_effect)effect_of(from[i].effect)};
    }
    return taints;
}

static const struct orr_kueue_toleration *
tolerations_of(struct kq_world *world, const struct kq_taint *from, uint32_t count)
{
    struct orr_kueue_toleration *tolerations =
        orr_arena_alloc(&world->arena, (size_t)count + 1, sizeof *tolerations);
    for (uint32_t i = 0; i < count; i++) {
        tolerations[i] = (struct orr_kueue_toleration){from[i].key, from[i].value,
                                                       strcmp(from[i].op, "Exists") == 0,
                                                       effect_of(from[i].effect)};
    }
    return tolerations;
}

static enum orr_kueue_operator operator_of(const char *text)
{
    static const char *const words[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    for (int i = 0; i < 6; i++) {
        if (strcmp(text, words[i]) == 0) {
            return (enum orr_kueue_operator)i;
        }
    }
    return ORR_KUEUE_IN;
}

static struct orr_kueue_term term_of(struct kq_world *world, const struct kq_term *from)
{
    struct orr_kueue_expression *expressions =
        orr_arena_alloc(&world->arena, (size_t)from->expression_count + 1, sizeof *expressions);
    for (uint32_t e = 0; e < from->expression_count; e++) {
        expressions[e] = (struct orr_kueue_expression){
            from->expressions[e].key, operator_of(from->expressions[e].op),
            from->expressions[e].values, from->expressions[e].value_count};
    }
    return (struct orr_kueue_term){expressions, from->expression_count};
}

static const struct orr_kueue_term *terms_of(struct kq_world *world, const struct kq_pod_set *from)
{
    struct orr_kueue_term *terms =
        orr_arena_alloc(&world->arena, (size_t)from->term_count + 1, sizeof *terms);
    for (uint32_t t = 0; t < from->term_count; t++) {
        terms[t] = term_of(world, &from->terms[t]);
    }
    return terms;
}

static const struct orr_kueue_preferred *preferred_of(struct kq_world *world,
                                                      const struct kq_pod_set *from)
{
    struct orr_kueue_preferred *preferred =
        orr_arena_alloc(&world->arena, (size_t)from->preferred_count + 1, sizeof *preferred);
    for (uint32_t i = 0; i < from->preferred_count; i++) {
        preferred[i] = (struct orr_kueue_preferred){from->preferred[i].weight,
                                                    term_of(world, &from->preferred[i].term)};
    }
    return preferred;
}

/* --- pod sets --- */

static const struct orr_kueue_topology_request *request_of(struct kq_world *world,
                                                           const struct kq_topology_request *from)
{
    if (from == NULL) {
        return NULL;
    }
    struct orr_kueue_topology_request *request = orr_arena_alloc(&world->arena, 1, sizeof *request);
    request->level = from->required != NULL ? from->required : from->preferred;
    request->mode = from->required != NULL    ? ORR_KUEUE_TOPOLOGY_REQUIRED
                    : from->preferred != NULL ? ORR_KUEUE_TOPOLOGY_PREFERRED
                    : from->unconstrained     ? ORR_KUEUE_TOPOLOGY_UNCONSTRAINED
                                              : ORR_KUEUE_TOPOLOGY_NONE;
    const uint32_t count = from->layer_count > 0 ? from->layer_count : from->slice_level != NULL;
    struct orr_kueue_layer *layers =
        orr_arena_alloc(&world->arena, (size_t)count + 1, sizeof *layers);
    for (uint32_t i = 0; i < count; i++) {
        layers[i] = from->layer_count > 0
                        ? (struct orr_kueue_layer){from->layers[i].level, from->layers[i].size}
                        : (struct orr_kueue_layer){from->slice_level, from->slice_size};
    }
    request->layers = layers;
    request->layer_count = count;
    return request;
}

static const int64_t *counted_of(struct kq_world *world, const int64_t *per_pod)
{
    const struct kq_config *config = &world->from->config;
    if (config->excluded_count + config->transformation_count == 0) {
        return NULL;
    }
    int64_t *counted = orr_arena_alloc(&world->arena, world->resources.count, sizeof *counted);
    orr_kueue_count(&world->counting, per_pod, counted);
    return counted;
}

/* Where the pods of the slice it takes over are, on the flavor of a topology vector. */
static const struct orr_kueue_domain *previous_of(struct kq_world *world,
                                                  const struct kq_placed *from)
{
    if (from == NULL || world->kueue == NULL || !world->from->one_flavor) {
        return NULL;
    }
    struct orr_kueue_domain *domains =
        orr_arena_alloc(&world->arena, (size_t)from->domain_count + 1, sizeof *domains);
    for (uint32_t d = 0; d < from->domain_count; d++) {
        domains[d] = (struct orr_kueue_domain){
            .leaf = orr_kueue_find_leaf(world->kueue, 0, from->domains[d].values,
                                        from->domains[d].value_count),
            .name = from->domains[d].values[from->domains[d].value_count - 1],
            .count = from->domains[d].count};
    }
    return domains;
}

const struct orr_kueue_pod_set *orr_kq_pod_sets(struct kq_world *world,
                                                const struct kq_pod_set *from, uint32_t count)
{
    struct orr_kueue_pod_set *sets =
        orr_arena_alloc(&world->arena, (size_t)count + 1, sizeof *sets);
    for (uint32_t s = 0; s < count; s++) {
        const struct kq_pod_set *set = &from[s];
        const int64_t *per_pod =
            orr_kq_amounts(world, set->per_pod, set->per_pod_count, ORR_KUEUE_NOT_ASKED);
        sets[s] = (struct orr_kueue_pod_set){
            .name = set->name,
            .count = set->count,
            .min_count = set->min_count,
            .per_pod = per_pod,
            .counted = counted_of(world, per_pod),
            .selector = labels_of(world, set->selector, set->selector_count),
            .selector_count = set->selector_count,
            .terms = terms_of(world, set),
            .term_count = set->term_count,
            .preferred = preferred_of(world, set),
            .preferred_count = set->preferred_count,
            .previous = previous_of(world, set->previous),
            .previous_count = set->previous != NULL ? set->previous->domain_count : 0,
            .tolerations = tolerations_of(world, set->tolerations, set->toleration_count),
            .toleration_count = set->toleration_count,
            .topology = request_of(world, set->topology),
            .group = set->group != NULL      ? set->group
                     : set->topology != NULL ? set->topology->group
                                             : NULL};
    }
    return sets;
}

/* --- queues --- */

static void set_quotas(struct kq_world *world, uint32_t node, const struct kq_group *groups,
                       uint32_t count)
{
    for (uint32_t g = 0; g < count; g++) {
        for (uint32_t i = 0; i < groups[g].flavor_count; i++) {
            for (uint32_t q = 0; q < groups[g].flavors[i].count; q++) {
                const struct kq_quota *quota = &groups[g].flavors[i].quotas[q];
                const size_t at = orr_quota_at(
                    &world->tree, node, orr_kq_cell(world, groups[g].flavors[i].name, quota->name));
                world->tree.cells[at] = (struct orr_quota_cell){
                    quota->nominal, quota->borrowing_limit, quota->lending_limit};
                world->tree.defined[at] = true;
            }
        }
    }
}

static enum orr_kueue_preemption policy_of(const char *text)
{
    static const char *const words[] = {"", "Never", "LowerPriority", "LowerOrNewerEqualPriority",
                                        "Any"};
    for (int i = 0; i < 5; i++) {
        if (text != NULL && strcmp(text, words[i]) == 0) {
            return (enum orr_kueue_preemption)i;
        }
    }
    return ORR_KUEUE_UNSET;
}

bool orr_kq_is_word(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

static const struct orr_kueue_group *groups_of(struct kq_world *world, const struct kq_queue *queue)
{
    struct orr_kueue_group *groups =
        orr_arena_alloc(&world->arena, (size_t)queue->group_count + 1, sizeof *groups);
    for (uint32_t g = 0; g < queue->group_count; g++) {
        const struct kq_group *from = &queue->groups[g];
        uint32_t *resources =
            orr_arena_alloc(&world->arena, (size_t)from->resource_count + 1, sizeof *resources);
        uint32_t *flavors =
            orr_arena_alloc(&world->arena, (size_t)from->flavor_count + 1, sizeof *flavors);
        for (uint32_t r = 0; r < from->resource_count; r++) {
            resources[r] = orr_kq_find(&world->resources, from->resources[r]);
        }
        for (uint32_t f = 0; f < from->flavor_count; f++) {
            flavors[f] = orr_kq_find(&world->flavors, from->flavors[f].name);
        }
        groups[g] =
            (struct orr_kueue_group){resources, flavors, from->resource_count, from->flavor_count};
    }
    return groups;
}

static bool lacks_flavor(const struct kq_world *world, const struct orr_kueue_queue *queue)
{
    for (uint32_t g = 0; g < queue->group_count; g++) {
        for (uint32_t f = 0; f < queue->groups[g].flavor_count; f++) {
            if (world->spec.flavors[queue->groups[g].flavors[f]].missing) {
                return true;
            }
        }
    }
    return false;
}

static void read_queue(struct kq_world *world, const struct kq_queue *from,
                       struct orr_kueue_queue *queue)
{
    const struct kq_borrow *borrow = from->preemption.borrow;
    *queue = (struct orr_kueue_queue){
        .name = from->name,
        .groups = groups_of(world, from),
        .group_count = from->group_count,
        .strict_fifo = orr_kq_is_word(from->strategy, "StrictFIFO"),
        .borrow_try_next = orr_kq_is_word(from->fungibility.borrow, "TryNextFlavor"),
        .preempt_stop = orr_kq_is_word(from->fungibility.preempt, "MayStopSearch"),
        .within = policy_of(from->preemption.within),
        .reclaim = policy_of(from->preemption.reclaim),
        .borrow_within = borrow != NULL && !orr_kq_is_word(borrow->policy, "Never"),
        .has_priority_threshold = borrow != NULL && borrow->threshold != KQ_UNSET,
        .usage_based = orr_kq_is_word(from->admission_mode, "UsageBasedAdmissionFairSharing")};
    if (queue->has_priority_threshold) {
        queue->priority_threshold = (int32_t)borrow->threshold;
    }
    if (from->fungibility.preference != NULL) {
        queue->preference = orr_kq_is_word(from->fungibility.preference, "PreemptionOverBorrowing")
                                ? ORR_KUEUE_PREEMPTION_OVER_BORROWING
                                : ORR_KUEUE_BORROWING_OVER_PREEMPTION;
    }
    queue->inactive = lacks_flavor(world, queue) ||
                      (from->stop_policy != NULL && !orr_kq_is_word(from->stop_policy, "None"));
}

static void build_queues(struct kq_world *world)
{
    const struct kq_objects *from = world->from;
    struct orr_kueue_queue *queues =
        orr_arena_alloc(&world->arena, (size_t)world->queues.count + 1, sizeof *queues);
    for (uint32_t i = 0; i < from->queue_count; i++) {
        const uint32_t q = orr_kq_find(&world->queues, from->queues[i].name);
        read_queue(world, &from->queues[i], &queues[q]);
        world->tree.nodes[q].weight = from->queues[i].weight;
        if (from->queues[i].cohort != NULL) {
            world->tree.nodes[q].parent =
                world->queues.count + orr_kq_find(&world->cohorts, from->queues[i].cohort);
        }
        set_quotas(world, q, from->queues[i].groups, from->queues[i].group_count);
    }
    world->spec.queues = queues;
    world->spec.queue_count = world->queues.count;
    world->spec.cohort_count = world->cohorts.count;
    for (uint32_t c = 0; c < world->cohorts.count; c++) {
        world->tree.nodes[world->queues.count + c].cohort = true;
    }
    for (uint32_t i = 0; i < from->cohort_count; i++) {
        const struct kq_cohort *cohort = &from->cohorts[i];
        const uint32_t node = world->queues.count + orr_kq_find(&world->cohorts, cohort->name);
        world->tree.nodes[node].weight = cohort->weight;
        if (cohort->parent != NULL) {
            world->tree.nodes[node].parent =
                world->queues.count + orr_kq_find(&world->cohorts, cohort->parent);
        }
        set_quotas(world, node, cohort->groups, cohort->group_count);
    }
    bool *cyclic = orr_arena_alloc(&world->arena, world->tree.node_count + 1, sizeof *cyclic);
    (void)orr_quota_build(&world->tree, cyclic);
    for (uint32_t q = 0; q < world->queues.count; q++) {
        queues[q].inactive = queues[q].inactive || cyclic[q];
    }
    orr_quota_sum(&world->tree);
}

/* --- flavors, nodes --- */

static void build_flavors(struct kq_world *world)
{
    const struct kq_objects *from = world->from;
    struct orr_kueue_flavor *flavors =
        orr_arena_alloc(&world->arena, (size_t)world->flavors.count + 1, sizeof *flavors);
    for (uint32_t f = 0; f < world->flavors.count; f++) {
        flavors[f] = (struct orr_kueue_flavor){
            .name = world->flavors.names[f], .topology = ORR_NONE, .missing = from->has_flavors};
    }
    for (uint32_t i = 0; i < from->flavor_count; i++) {
        const struct kq_flavor *flavor = &from->flavors[i];
        struct orr_kueue_flavor *out = &flavors[orr_kq_find(&world->flavors, flavor->name)];
        out->missing = false;
        out->labels = labels_of(world, flavor->labels, flavor->label_count);
        out->label_count = flavor->label_count;
        out->taints = taints_of(world, flavor->taints, flavor->taint_count);
        out->taint_count = flavor->taint_count;
        out->tolerations = tolerations_of(world, flavor->tolerations, flavor->toleration_count);
        out->toleration_count = flavor->toleration_count;
        for (uint32_t t = 0; t < from->topology_count; t++) {
            if (orr_kq_is_word(flavor->topology, from->topologies[t].name)) {
                out->topology = t;
            }
        }
        out->missing = flavor->topology != NULL && out->topology == ORR_NONE;
    }
    world->spec.flavors = flavors;
    world->spec.flavor_count = world->flavors.count;
    struct orr_kueue_topology *topologies =
        orr_arena_alloc(&world->arena, (size_t)from->topology_count + 1, sizeof *topologies);
    for (uint32_t t = 0; t < from->topology_count; t++) {
        topologies[t] = (struct orr_kueue_topology){
            from->topologies[t].name, from->topologies[t].levels, from->topologies[t].level_count};
    }
    world->spec.topologies = topologies;
    world->spec.topology_count = from->topology_count;
}

static bool runs(const struct kq_pod *pod)
{
    return !pod->tas && pod->node != NULL && !orr_kq_is_word(pod->phase, "Succeeded") &&
           !orr_kq_is_word(pod->phase, "Failed");
}

/* Pods that Kueue does not count take room off their nodes; of nodes of one name the last. */
static void take_pods(struct kq_world *world, int64_t *const *free)
{
    const struct kq_objects *from = world->from;
    struct orr_idmap names;
    orr_idmap_init(&names);
    uint32_t *nodes = orr_arena_alloc(&world->arena, (size_t)from->node_count + 1, sizeof *nodes);
    for (uint32_t n = 0; n < from->node_count; n++) {
        nodes[orr_idmap_put(&names, from->nodes[n].name, strlen(from->nodes[n].name), NULL)] = n;
    }
    for (uint32_t p = 0; p < from->pod_count; p++) {
        const struct kq_pod *pod = &from->pods[p];
        const uint32_t at =
            runs(pod) ? orr_idmap_find(&names, pod->node, strlen(pod->node)) : ORR_NONE;
        for (uint32_t i = 0; at != ORR_NONE && i < pod->request_count; i++) {
            const uint32_t r = orr_kq_find(&world->resources, pod->requests[i].name);
            if (r != ORR_NONE && r != world->spec.pods_resource) {
                free[nodes[at]][r] =
                    orr_quota_sub(free[nodes[at]][r], orr_kq_whole(pod->requests[i].value));
            }
        }
        if (at != ORR_NONE && world->spec.pods_resource != ORR_NONE) {
            free[nodes[at]][world->spec.pods_resource]--;
        }
    }
    orr_idmap_release(&names);
}

static void build_nodes(struct kq_world *world)
{
    const struct kq_objects *from = world->from;
    struct orr_kueue_node *nodes =
        orr_arena_alloc(&world->arena, (size_t)from->node_count + 1, sizeof *nodes);
    int64_t **free = orr_arena_alloc(&world->arena, (size_t)from->node_count + 1, sizeof *free);
    for (uint32_t n = 0; n < from->node_count; n++) {
        const struct kq_node *node = &from->nodes[n];
        free[n] = orr_arena_alloc(&world->arena, world->resources.count, sizeof *free[n]);
        memcpy(free[n], orr_kq_amounts(world, node->allocatable, node->allocatable_count, 0),
               world->resources.count * sizeof *free[n]);
        nodes[n] =
            (struct orr_kueue_node){.name = node->name,
                                    .labels = labels_of(world, node->labels, node->label_count),
                                    .label_count = node->label_count,
                                    .taints = taints_of(world, node->taints, node->taint_count),
                                    .taint_count = node->taint_count,
                                    .free = free[n],
                                    .usable = node->ready && !node->unschedulable};
    }
    take_pods(world, free);
    world->spec.nodes = nodes;
    world->spec.node_count = from->node_count;
}

/* --- configuration --- */

bool orr_kq_gate(const struct kq_objects *from, const char *name, bool otherwise)
{
    for (uint32_t i = 0; i < from->config.gate_count; i++) {
        if (strcmp(from->config.gates[i].name, name) == 0) {
            return orr_kq_is_word(from->config.gates[i].value, "true");
        }
    }
    return otherwise;
}

static double seconds_of(const char *text)
{
    orr_ms ms = 0;
    return orr_parse_duration(text, strlen(text), &ms) ? (double)ms / 1000 : 0;
}

static void build_usage(struct kq_world *world)
{
    const struct kq_usage_config *usage = world->from->config.usage;
    struct orr_kueue_config *config = &world->spec.config;
    double *weights = orr_arena_alloc(&world->arena, world->resources.count, sizeof *weights);
    double *units = orr_arena_alloc(&world->arena, world->resources.count, sizeof *units);
    for (uint32_t r = 0; r < world->resources.count; r++) {
        weights[r] = 1;
        units[r] = orr_kq_is_word(world->resources.names[r], "cpu") ? 1000 : 1;
    }
    config->usage_weights = weights;
    config->usage_units = units;
    if (usage == NULL) {
        return;
    }
    config->usage_based = true;
    config->half_life_s = seconds_of(usage->half_life);
    config->sampling_s = seconds_of(usage->sampling);
    for (uint32_t i = 0; i < usage->weight_count; i++) {
        const uint32_t r = orr_kq_find(&world->resources, usage->weights[i].name);
        if (r != ORR_NONE) {
            (void)orr_parse_double(usage->weights[i].value, strlen(usage->weights[i].value),
                                   &weights[r]);
        }
    }
}

static bool is_excluded(const struct kq_config *config, const char *resource)
{
    bool excluded = false;
    for (uint32_t i = 0; i < config->excluded_count; i++) {
        const char *prefix = config->excluded[i];
        excluded = excluded || strncmp(resource, prefix, strlen(prefix)) == 0;
    }
    return excluded;
}

/* --- how requests count --- */

static void build_counting(struct kq_world *world)
{
    const struct kq_config *config = &world->from->config;
    const uint32_t resources = world->resources.count;
    int64_t *units = orr_arena_alloc(&world->arena, resources, sizeof *units);
    bool *excluded = orr_arena_alloc(&world->arena, resources, sizeof *excluded);
    struct orr_kueue_transformation *transformations = orr_arena_alloc(
        &world->arena, (size_t)config->transformation_count + 1, sizeof *transformations);
    for (uint32_t r = 0; r < resources; r++) {
        units[r] = orr_kq_is_word(world->resources.names[r], "cpu") ? 1000 : 1;
        excluded[r] = is_excluded(config, world->resources.names[r]);
    }
    for (uint32_t t = 0; t < config->transformation_count; t++) {
        const struct kq_transformation *from = &config->transformations[t];
        transformations[t] = (struct orr_kueue_transformation){
            .input = orr_kq_find(&world->resources, from->input),
            .multiply_by = from->multiply_by != NULL
                               ? orr_kq_find(&world->resources, from->multiply_by)
                               : ORR_NONE,
            .replace = from->strategy == KQ_REPLACE,
            .outputs =
                orr_kq_amounts(world, from->outputs, from->output_count, ORR_KUEUE_NOT_ASKED)};
    }
    world->counting =
        (struct orr_kueue_counting){.resource_count = resources,
                                    .units = units,
                                    .excluded = excluded,
                                    .transformations = transformations,
                                    .transformation_count = config->transformation_count};
}

static void build_config(struct kq_world *world)
{
    const struct kq_objects *from = world->from;
    struct orr_kueue_config *config = &world->spec.config;
    config->fair_sharing = from->config.fair_sharing;
    config->ignore_undeclared = from->config.ignore_undeclared;
    config->block_admission = from->config.block_admission;
    config->strategies[0] = ORR_KUEUE_LESS_OR_EQUAL_TO_FINAL_SHARE;
    config->strategies[1] = ORR_KUEUE_LESS_THAN_INITIAL_SHARE;
    config->strategy_count = 2;
    if (from->config.strategy_count > 0) {
        config->strategy_count = from->config.strategy_count > 1 ? 2 : 1;
        for (uint32_t i = 0; i < config->strategy_count; i++) {
            config->strategies[i] =
                orr_kq_is_word(from->config.strategies[i], "LessThanInitialShare")
                    ? ORR_KUEUE_LESS_THAN_INITIAL_SHARE
                    : ORR_KUEUE_LESS_OR_EQUAL_TO_FINAL_SHARE;
        }
    }
    for (uint32_t i = from->config.gate_count; i-- > 0;) { /* the first of a name counts */
        const struct orr_pair *gate = &from->config.gates[i];
        (void)orr_kueue_set_gate(config, gate->name, orr_kq_is_word(gate->value, "true"));
    }
    build_usage(world);
}

static void build_local_queues(struct kq_world *world)
{
    const struct kq_objects *from = world->from;
    struct orr_kueue_local_queue *queues =
        orr_arena_alloc(&world->arena, (size_t)from->local_queue_count + 1, sizeof *queues);
    for (uint32_t l = 0; l < from->local_queue_count; l++) {
        queues[l] = (struct orr_kueue_local_queue){
            orr_kq_find(&world->queues, from->local_queues[l].queue), from->local_queues[l].weight};
    }
    world->spec.local_queues = queues;
    world->spec.local_queue_count = from->local_queue_count;
}

/* "namespace/name", or the name alone. */
static bool is_named(const struct kq_local_queue *queue, const char *name)
{
    const char *slash = strchr(name, '/');
    const size_t bytes = slash != NULL ? (size_t)(slash - name) : 0;
    return slash == NULL
               ? strcmp(queue->name, name) == 0
               : strlen(queue->space) == bytes && memcmp(queue->space, name, bytes) == 0 &&
                     strcmp(queue->name, slash + 1) == 0;
}

static void set_consumed(struct kq_world *world)
{
    const struct kq_objects *from = world->from;
    for (uint32_t i = 0; i < from->consumed.count; i++) {
        double *consumed = orr_arena_alloc(&world->arena, world->resources.count, sizeof *consumed);
        for (uint32_t c = 0; c < from->consumed.items[i].count; c++) {
            const struct orr_pair *pair = &from->consumed.items[i].items[c];
            const uint32_t r = orr_kq_find(&world->resources, pair->name);
            if (r != ORR_NONE) {
                consumed[r] = (double)orr_kq_whole(pair->value);
            }
        }
        for (uint32_t l = 0; l < from->local_queue_count; l++) {
            if (is_named(&from->local_queues[l], from->consumed.items[i].name)) {
                orr_kueue_set_consumed(world->kueue, l, consumed);
            }
        }
    }
}

/* Arrays have a place for each queue, flavor and resource. */
static bool is_too_large(const struct kq_world *world)
{
    const uint64_t nodes = (uint64_t)world->queues.count + world->cohorts.count;
    const uint64_t cells = (uint64_t)world->flavors.count * world->resources.count;
    return world->resources.count > KQ_RESOURCES_MAX || cells > KQ_CELLS_MAX ||
           nodes * cells > KQ_CELLS_MAX;
}

bool orr_kq_open(struct kq_world *world, const struct kq_objects *from)
{
    *world = (struct kq_world){.from = from};
    orr_arena_init(&world->arena);
    name_all(world);
    if (is_too_large(world)) {
        return false;
    }
    world->spec.resource_count = world->resources.count;
    world->spec.pods_resource = orr_kq_find(&world->resources, "pods");
    orr_quota_init(&world->tree, world->queues.count + world->cohorts.count, world->flavors.count,
                   world->resources.count);
    build_flavors(world);
    build_queues(world);
    build_nodes(world);
    build_local_queues(world);
    build_counting(world);
    build_config(world);
    world->kueue = orr_kueue_open(&world->spec, &world->tree);
    set_consumed(world);
    return true;
}

void orr_kq_close(struct kq_world *world)
{
    if (world->kueue != NULL) {
        orr_kueue_close(world->kueue);
        orr_quota_release(&world->tree);
    }
    orr_free(world->resources.names);
    orr_free(world->flavors.names);
    orr_free(world->queues.names);
    orr_free(world->cohorts.names);
    orr_arena_release(&world->arena);
}
