/* SPDX-License-Identifier: GPL-3.0-or-later */
/* workloads.c - workloads: those that hold quota, those that wait. */
#include <orrery/sim/kueue_world.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>

/* --- which are decided alike --- */

static uint64_t fold(uint64_t hash, const char *text)
{
    for (const char *c = text != NULL ? text : "\1"; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    }
    return (hash ^ 0xff) * 0x100000001b3u;
}

static uint64_t fold_number(uint64_t hash, int64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)number);
    return fold(hash, text);
}

static uint64_t fold_set(uint64_t hash, const struct kq_pod_set *set, int64_t count)
{
    hash = fold_number(fold(fold_number(hash, set->min_count), set->name), count);
    for (uint32_t i = 0; i < set->per_pod_count; i++) {
        hash = fold(fold(hash, set->per_pod[i].name), set->per_pod[i].value);
    }
    for (uint32_t i = 0; i < set->selector_count; i++) {
        hash = fold(fold(hash, set->selector[i].name), set->selector[i].value);
    }
    for (uint32_t i = 0; i < set->toleration_count; i++) {
        hash = fold(fold(hash, set->tolerations[i].key), set->tolerations[i].value);
        hash = fold(fold(hash, set->tolerations[i].op), set->tolerations[i].effect);
    }
    for (uint32_t t = 0; t < set->term_count; t++) {
        hash = fold_number(hash, t);
        for (uint32_t e = 0; e < set->terms[t].expression_count; e++) {
            const struct kq_expression *expression = &set->terms[t].expressions[e];
            hash = fold(fold(hash, expression->key), expression->op);
            for (uint32_t v = 0; v < expression->value_count; v++) {
                hash = fold(hash, expression->values[v]);
            }
        }
    }
    if (set->topology != NULL) {
        hash = fold(fold(hash, set->topology->required), set->topology->preferred);
        hash = fold(fold(hash, set->topology->group), set->topology->slice_level);
        hash = fold_number(hash, set->topology->slice_size);
        hash = fold_number(hash, set->topology->unconstrained);
        for (uint32_t l = 0; l < set->topology->layer_count; l++) {
            hash = fold_number(fold(hash, set->topology->layers[l].level),
                               set->topology->layers[l].size);
        }
    }
    return hash;
}

static uint64_t hash_requests(int32_t priority, const struct kq_pod_set *sets, uint32_t count,
                              const int64_t *reclaimable)
{
    uint64_t hash = fold_number(0xcbf29ce484222325u, priority);
    for (uint32_t s = 0; s < count; s++) {
        hash = fold_set(hash, &sets[s], sets[s].count - (reclaimable != NULL ? reclaimable[s] : 0));
    }
    return hash;
}

/* --- namespaces --- */

static const char *find_label(const struct kq_labels *space, const char *key)
{
    for (uint32_t l = 0; space != NULL && l < space->count; l++) {
        if (orr_kq_is_word(space->items[l].name, key)) {
            return space->items[l].value != NULL ? space->items[l].value : "";
        }
    }
    return NULL;
}

static bool admits(const struct kq_expression *expression, const struct kq_labels *space)
{
    const char *label = find_label(space, expression->key);
    bool in = false;
    for (uint32_t v = 0; label != NULL && v < expression->value_count; v++) {
        in = in || strcmp(expression->values[v], label) == 0;
    }
    return orr_kq_is_word(expression->op, "NotIn")          ? !in
           : orr_kq_is_word(expression->op, "Exists")       ? label != NULL
           : orr_kq_is_word(expression->op, "DoesNotExist") ? label == NULL
                                                            : in;
}

/* The namespace of a workload "NAMESPACE/NAME". One that is not given has the label that the API
 * server sets on each. */
static const struct kq_labels *space_of(struct kq_world *world, const char *name)
{
    for (uint32_t i = 0; i < world->from->namespaces.count; i++) {
        const struct kq_labels *one = &world->from->namespaces.items[i];
        const size_t bytes = strlen(one->name);
        if (strncmp(name, one->name, bytes) == 0 && name[bytes] == '/') {
            return one;
        }
    }
    struct kq_labels *implied = orr_arena_alloc(&world->arena, 1, sizeof *implied);
    implied->name = orr_arena_strndup(&world->arena, name, strcspn(name, "/"));
    implied->items = orr_arena_alloc(&world->arena, 1, sizeof *implied->items);
    implied->items[implied->count++] = (struct orr_pair){KQ_NAMESPACE_LABEL, implied->name};
    return implied;
}

/* Does the queue take workloads of this name's namespace? */
static bool selects(struct kq_world *world, const struct kq_queue *queue, const char *name)
{
    const struct kq_selector *selector = queue->selector;
    const struct kq_labels *space =
        selector != NULL && selector->expression_count + selector->label_count > 0
            ? space_of(world, name)
            : NULL;
    bool taken = selector == NULL || !selector->nothing;
    for (uint32_t e = 0; selector != NULL && e < selector->expression_count; e++) {
        taken = taken && admits(&selector->expressions[e], space);
    }
    for (uint32_t l = 0; selector != NULL && l < selector->label_count; l++) {
        const char *label = find_label(space, selector->labels[l].name);
        taken = taken && label != NULL && orr_kq_is_word(selector->labels[l].value, label);
    }
    return taken;
}

static uint32_t local_queue_of(const struct kq_world *world, const struct kq_workload *from)
{
    for (uint32_t l = 0; l < world->from->local_queue_count; l++) {
        const struct kq_local_queue *queue = &world->from->local_queues[l];
        const size_t bytes = strlen(queue->space);
        if (orr_kq_is_word(from->local_queue, queue->name) &&
            strncmp(from->name, queue->space, bytes) == 0 && from->name[bytes] == '/') {
            return l;
        }
    }
    return ORR_NONE;
}

static const int64_t *reclaimable_of(struct kq_world *world, const struct kq_workload *from)
{
    if (from->reclaimable_count == 0 || !orr_kq_gate(world->from, "ReclaimablePods", true)) {
        return NULL;
    }
    int64_t *pods = orr_arena_alloc(&world->arena, (size_t)from->set_count + 1, sizeof *pods);
    for (uint32_t s = 0; s < from->set_count; s++) {
        for (uint32_t i = 0; i < from->reclaimable_count; i++) {
            if (orr_kq_is_word(from->sets[s].name, from->reclaimable[i].name)) {
                pods[s] = orr_kq_whole(from->reclaimable[i].value);
            }
        }
    }
    return pods;
}

static int64_t ms_of(double seconds)
{
    return (int64_t)llround(seconds * 1000);
}

uint32_t orr_kq_add_workload(struct kq_world *world, const struct kq_workload *from, uint32_t rank)
{
    const uint32_t queue =
        orr_kq_find(&world->queues, from->admission != NULL ? from->admission->queue : from->queue);
    if (queue == ORR_NONE) {
        return ORR_NONE;
    }
    const struct kq_queue *stated = world->from->queues;
    while (strcmp(stated->name, world->queues.names[queue]) != 0) {
        stated++;
    }
    struct orr_kueue_new workload = {
        .queue = queue,
        .local_queue = local_queue_of(world, from),
        .priority = (int32_t)from->priority,
        .rank = rank,
        .created = !isnan(from->created_s) ? ms_of(from->created_s) : INT64_MIN,
        .pod_sets = orr_kq_pod_sets(world, from->sets, from->set_count),
        .pod_set_count = from->set_count,
        .replaces = ORR_NONE,
        .reclaimable = reclaimable_of(world, from),
        .preemption_gated = from->gates != NULL,
        .wrong_namespace = !selects(world, stated, from->name)};
    workload.hash =
        hash_requests(workload.priority, from->sets, from->set_count, workload.reclaimable);
    const uint32_t id = orr_kueue_add(world->kueue, &workload);
    const char *reason = from->evicted != NULL ? from->evicted->reason : NULL;
    const bool late = orr_kq_is_word(reason, "PodsReadyTimeout");
    if ((late && !world->from->config.order_by_creation) ||
        orr_kq_is_word(reason, "AdmissionCheck")) {
        orr_kueue_set_order(world->kueue, id, ms_of(from->evicted->at_s));
    } else if (world->spec.config.no_priority_sorting && from->preempted != NULL &&
               orr_kq_is_word(from->preempted->reason,
                              orr_kueue_reasons[ORR_KUEUE_IN_COHORT_RECLAIM_WHILE_BORROWING])) {
        orr_kueue_set_order(world->kueue, id, ms_of(from->preempted->at_s) + 1);
    }
    return id;
}

static const struct kq_held_set *held_of(const struct kq_workload *from, const char *name)
{
    for (uint32_t i = 0; i < from->admission->set_count; i++) {
        if (strcmp(from->admission->sets[i].name, name) == 0) {
            return &from->admission->sets[i];
        }
    }
    return NULL;
}

static void hold_domains(struct kq_world *world, const struct kq_placed *placed, uint32_t flavor,
                         struct orr_kueue_held_set *set)
{
    set->topology_flavor = placed != NULL ? flavor : ORR_NONE;
    if (set->topology_flavor == ORR_NONE) {
        return;
    }
    set->domains =
        orr_arena_alloc(&world->arena, (size_t)placed->domain_count + 1, sizeof *set->domains);
    set->domain_count = placed->domain_count;
    for (uint32_t d = 0; d < placed->domain_count; d++) {
        const struct kq_domain *domain = &placed->domains[d];
        set->domains[d] = (struct orr_kueue_domain){
            .leaf = orr_kueue_find_leaf(world->kueue, set->topology_flavor, domain->values,
                                        domain->value_count),
            .name = domain->value_count > 0 ? domain->values[domain->value_count - 1] : "",
            .count = domain->count};
    }
}

void orr_kq_hold_topology(struct kq_world *world, const struct kq_workload *from, uint32_t id)
{
    const uint32_t count = from->admission->set_count, resources = world->resources.count;
    struct orr_kueue_held_set *sets =
        orr_arena_alloc(&world->arena, (size_t)count + 1, sizeof *sets);
    for (uint32_t s = 0; s < count; s++) {
        sets[s] = (struct orr_kueue_held_set){.count = from->admission->sets[s].count};
        sets[s].flavors = orr_arena_alloc(&world->arena, resources, sizeof *sets[s].flavors);
        sets[s].usage = orr_arena_alloc(&world->arena, resources, sizeof *sets[s].usage);
        for (uint32_t r = 0; r < resources; r++) {
            sets[s].flavors[r] = ORR_NONE;
        }
        hold_domains(world, from->admission->sets[s].topology, 0, &sets[s]);
    }
    orr_kueue_hold(world->kueue, id, sets, 0);
    orr_kueue_set_unhealthy(world->kueue, id, from->unhealthy, from->unhealthy_count);
}

static uint32_t topology_flavor_of(const struct kq_world *world,
                                   const struct orr_kueue_held_set *set)
{
    for (uint32_t r = 0; r < world->resources.count; r++) {
        const uint32_t flavor = set->flavors[r];
        if (flavor != ORR_NONE && world->spec.flavors[flavor].topology != ORR_NONE) {
            return flavor;
        }
    }
    return ORR_NONE;
}

static void hold(struct kq_world *world, const struct kq_workload *from, uint32_t id)
{
    struct orr_kueue_held_set *sets =
        orr_arena_alloc(&world->arena, (size_t)from->set_count + 1, sizeof *sets);
    for (uint32_t s = 0; s < from->set_count; s++) {
        const struct kq_held_set *held = held_of(from, from->sets[s].name);
        sets[s] =
            (struct orr_kueue_held_set){.count = from->sets[s].count, .topology_flavor = ORR_NONE};
        uint32_t *flavors = orr_arena_alloc(&world->arena, world->resources.count, sizeof *flavors);
        int64_t *usage = orr_arena_alloc(&world->arena, world->resources.count, sizeof *usage);
        for (uint32_t r = 0; r < world->resources.count; r++) {
            flavors[r] = ORR_NONE;
        }
        sets[s].flavors = flavors;
        sets[s].usage = usage;
        if (held == NULL) {
            continue;
        }
        sets[s].count = held->count != KQ_UNSET ? held->count : from->sets[s].count;
        for (uint32_t f = 0; f < held->flavor_count; f++) {
            flavors[orr_kq_find(&world->resources, held->flavors[f].name)] =
                orr_kq_find(&world->flavors, held->flavors[f].value);
        }
        memcpy(usage, orr_kq_amounts(world, held->usage, held->usage_count, 0),
               world->resources.count * sizeof *usage);
        if (held->topology != NULL) {
            hold_domains(world, held->topology, topology_flavor_of(world, &sets[s]), &sets[s]);
        }
    }
    orr_kueue_hold(world->kueue, id, sets, !isnan(from->reserved_s) ? ms_of(from->reserved_s) : 0);
    orr_kueue_set_evicted(world->kueue, id, from->evicted != NULL);
    orr_kueue_set_unhealthy(world->kueue, id, from->unhealthy, from->unhealthy_count);
}

static int by_uid(const void *a, const void *b, void *context)
{
    const struct kq_objects *from = context;
    const struct kq_workload *x = &from->workloads[*(const uint32_t *)a];
    const struct kq_workload *y = &from->workloads[*(const uint32_t *)b];
    const int order = strcmp(x->uid != NULL ? x->uid : "", y->uid != NULL ? y->uid : "");
    return order != 0 ? order : strcmp(x->name, y->name);
}

void orr_kq_add_workloads(struct kq_world *world)
{
    const struct kq_objects *from = world->from;
    const uint32_t count = from->workload_count;
    uint32_t *order = orr_arena_alloc(&world->arena, (size_t)count + 1, sizeof *order);
    uint32_t *rank = orr_arena_alloc(&world->arena, (size_t)count + 1, sizeof *rank);
    world->ids = orr_arena_alloc(&world->arena, (size_t)count + 1, sizeof *world->ids);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    orr_sort(order, count, sizeof *order, by_uid, from);
    for (uint32_t i = 0; i < count; i++) {
        rank[order[i]] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct kq_workload *workload = &from->workloads[i];
        world->ids[i] = orr_kq_add_workload(world, workload, rank[i]);
        if (world->ids[i] == ORR_NONE) {
            continue;
        }
        if (workload->admission != NULL) {
            hold(world, workload, world->ids[i]);
        } else if (!workload->finished && workload->active) {
            if (workload->requeued) {
                orr_kueue_queue(world->kueue, world->ids[i]);
            } else {
                orr_kueue_park(world->kueue, world->ids[i], true);
            }
        }
    }
}
