/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads: what they ask, what they hold, and why a queue does not take some. */
#include <math.h>
#include <string.h>

#include "kueue_input.h"

#define PODS_MAX    1000000000
#define DOMAINS_MAX 1000000 /* of one pod set */

/* --- pod sets --- */

static int64_t read_count(struct kueue_input *input, const struct import_value *map,
                          const char *path, int64_t fallback)
{
    const int64_t count = import_int(input->load, map, path, fallback);
    if (count != fallback && (count < 0 || count > PODS_MAX)) {
        import_fail(input->load, import_get(map, path), "%s is 0 to %d", path, PODS_MAX);
        return 0;
    }
    return count;
}

static void read_layers(struct kueue_input *input, const struct import_value *list,
                        struct kq_topology_request *request)
{
    request->layers =
        import_kueue_array(input, list != NULL ? list->count : 0, sizeof *request->layers);
    IMPORT_EACH(item, list)
    {
        struct kq_layer *layer = &request->layers[request->layer_count++];
        layer->level = import_text(input->load, item, "topology", "");
        layer->size = read_count(input, item, "size", 0);
        if (layer->level[0] == '\0' || layer->size <= 0) {
            import_fail(input->load, item, "a constraint needs a topology and a size above 0");
        }
    }
}

static struct kq_topology_request *read_request(struct kueue_input *input,
                                                const struct import_value *from)
{
    if (from == NULL) {
        return NULL;
    }
    struct import_load *load = input->load;
    struct kq_topology_request *request = import_kueue_array(input, 1, sizeof *request);
    request->required = import_text(load, from, "required", NULL);
    request->preferred = import_text(load, from, "preferred", NULL);
    request->unconstrained = import_bool(load, from, "unconstrained", false);
    request->group = import_text(load, from, "podSetGroupName", NULL);
    request->slice_level = import_text(load, from, "podSetSliceRequiredTopology", NULL);
    request->slice_size = read_count(input, from, "podSetSliceSize", 1);
    read_layers(input, import_list(load, from, "podsetSliceRequiredTopologyConstraints"), request);
    if (request->slice_level != NULL && request->slice_size <= 0) {
        import_fail(load, from, "podSetSliceSize is above 0");
    }
    return request;
}

#define AFFINITY "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"

static void read_affinity(struct kueue_input *input, const struct import_value *affinity,
                          struct kq_pod_set *set)
{
    struct import_load *load = input->load;
    const struct import_value *terms = import_list(load, affinity, AFFINITY);
    const struct import_value *preferred =
        import_list(load, affinity, "preferredDuringSchedulingIgnoredDuringExecution");
    set->terms = import_kueue_array(input, terms != NULL ? terms->count : 0, sizeof *set->terms);
    set->preferred =
        import_kueue_array(input, preferred != NULL ? preferred->count : 0, sizeof *set->preferred);
    IMPORT_EACH(term, terms)
    {
        set->terms[set->term_count++] =
            import_kueue_term(input, import_list(load, term, "matchExpressions"));
        if (import_get(term, "matchFields") != NULL) {
            import_note(input->model, "matchFields of a node affinity are not heeded");
        }
    }
    IMPORT_EACH(term, preferred)
    {
        set->preferred[set->preferred_count++] = (struct kq_preferred){
            import_int(load, term, "weight", 1),
            import_kueue_term(input, import_list(load, term, "preference/matchExpressions"))};
    }
}

static void read_set(struct kueue_input *input, const struct import_value *from,
                     struct kq_pod_set *set)
{
    struct import_load *load = input->load;
    const struct import_value *spec = import_map(load, from, "template/spec");
    set->name = import_text(load, from, "name", "main");
    set->count = read_count(input, from, "count", 1);
    set->min_count = read_count(input, from, "minCount", -1);
    if (set->min_count > set->count) {
        import_fail(load, from, "minCount is at most count");
    }
    set->per_pod = import_kueue_requests(input, spec, &set->per_pod_count);
    set->selector =
        import_kueue_labels(input, import_map(load, spec, "nodeSelector"), &set->selector_count);
    set->tolerations = import_kueue_taints(input, import_list(load, spec, "tolerations"), true,
                                           &set->toleration_count);
    set->topology = read_request(input, import_map(load, from, "topologyRequest"));
    read_affinity(input, import_map(load, spec, "affinity/nodeAffinity"), set);
    if (import_get(spec, "resourceClaims") != NULL) {
        import_note(input->model, "claims of devices (resourceClaims) are not counted");
    }
}

/* --- where pods are --- */

static struct kq_domain *add_domain(struct kueue_input *input, const struct import_value *at,
                                    struct kq_placed *placed, uint32_t *capacity)
{
    if (placed->domain_count == DOMAINS_MAX) {
        import_fail(input->load, at, "more than %d domains", DOMAINS_MAX);
        return NULL;
    }
    if (placed->domain_count == *capacity) {
        const uint32_t room = *capacity > 0 ? 2 * *capacity : 16;
        struct kq_domain *more = import_kueue_array(input, room, sizeof *more);
        if (placed->domain_count > 0) {
            memcpy(more, placed->domains, placed->domain_count * sizeof *more);
        }
        placed->domains = more;
        *capacity = room;
    }
    struct kq_domain *domain = &placed->domains[placed->domain_count++];
    *domain = (struct kq_domain){
        .values = import_kueue_array(input, placed->level_count, sizeof *domain->values),
        .value_count = placed->level_count};
    return domain;
}

static const struct import_value *item_of(const struct import_value *list, uint32_t index)
{
    const struct import_value *item = list != NULL ? list->first : NULL;
    for (; item != NULL && index > 0; index--) {
        item = item->next;
    }
    return item;
}

/* A slice says for each level one value for all its domains, or a prefix, a root each, a suffix. */
static void read_slice(struct kueue_input *input, const struct import_value *slice,
                       struct kq_placed *placed, uint32_t *capacity)
{
    struct import_load *load = input->load;
    const int64_t count = read_count(input, slice, "domainCount", 0);
    const struct import_value *levels = import_list(load, slice, "valuesPerLevel");
    const struct import_value *each = import_list(load, slice, "podCounts/individual");
    const int64_t pods = read_count(input, slice, "podCounts/universal", 0);
    const uint32_t first = placed->domain_count;
    const struct import_value *one = each != NULL ? each->first : NULL;
    for (int64_t d = 0; d < count && import_ok(load); d++) {
        struct kq_domain *domain = add_domain(input, slice, placed, capacity);
        if (domain != NULL) {
            domain->count = one != NULL ? import_int(load, one, "", 0) : pods;
            one = one != NULL ? one->next : NULL;
            if (domain->count < 0 || domain->count > PODS_MAX) {
                import_fail(load, slice, "a count of pods is 0 to %d", PODS_MAX);
            }
        }
    }
    for (uint32_t l = 0; l < placed->level_count && import_ok(load); l++) {
        const struct import_value *level = item_of(levels, l);
        const char *universal = import_text(load, level, "universal", NULL);
        const char *prefix = import_text(load, level, "individual/prefix", "");
        const char *suffix = import_text(load, level, "individual/suffix", "");
        const struct import_value *roots = import_list(load, level, "individual/roots");
        const struct import_value *root = roots != NULL ? roots->first : NULL;
        for (uint32_t d = first; d < placed->domain_count; d++) {
            placed->domains[d].values[l] =
                universal != NULL
                    ? universal
                    : import_format(load, "%.300s%.300s%.300s", prefix,
                                    root != NULL ? import_scalar(load, root) : "", suffix);
            root = root != NULL ? root->next : NULL;
        }
    }
}

static struct kq_placed *read_placed(struct kueue_input *input, const struct import_value *from)
{
    if (from == NULL) {
        return NULL;
    }
    struct import_load *load = input->load;
    struct kq_placed *placed = import_kueue_array(input, 1, sizeof *placed);
    uint32_t capacity = 0;
    placed->levels =
        import_kueue_texts(input, import_list(load, from, "levels"), &placed->level_count);
    if (placed->level_count == 0) {
        import_fail(load, from, "a topologyAssignment needs levels");
        return placed;
    }
    IMPORT_EACH(item, import_list(load, from, "domains"))
    {
        struct kq_domain *domain = add_domain(input, item, placed, &capacity);
        if (domain == NULL) {
            break;
        }
        domain->values =
            import_kueue_texts(input, import_list(load, item, "values"), &domain->value_count);
        domain->count = read_count(input, item, "count", 0);
        if (domain->value_count != placed->level_count) {
            import_fail(load, item, "a domain has a value for each of %u levels",
                        placed->level_count);
        }
    }
    IMPORT_EACH(slice, import_list(load, from, "slices"))
    {
        read_slice(input, slice, placed, &capacity);
    }
    return placed;
}

/* --- what it holds --- */

static void read_held(struct kueue_input *input, const struct import_value *from,
                      struct kq_held_set *set)
{
    struct import_load *load = input->load;
    set->name = import_text(load, from, "name", "main");
    set->flavors =
        import_kueue_labels(input, import_map(load, from, "flavors"), &set->flavor_count);
    set->usage =
        import_kueue_amounts(input, import_map(load, from, "resourceUsage"), &set->usage_count);
    set->count = read_count(input, from, "count", KQ_UNSET);
    set->topology = read_placed(input, import_map(load, from, "topologyAssignment"));
    if (import_text(load, from, "delayedTopologyRequest", NULL) != NULL) {
        import_note(input->model, "a topology request that waits (delayedTopologyRequest) is not "
                                  "decided");
    }
}

static void read_admission(struct kueue_input *input, const struct import_value *from,
                           struct kq_workload *workload)
{
    const struct import_value *sets = import_list(input->load, from, "podSetAssignments");
    struct kq_admission *admission = import_kueue_array(input, 1, sizeof *admission);
    admission->queue = import_text(input->load, from, "clusterQueue", "");
    admission->sets =
        import_kueue_array(input, sets != NULL ? sets->count : 0, sizeof *admission->sets);
    IMPORT_EACH(set, sets)
    {
        read_held(input, set, &admission->sets[admission->set_count++]);
    }
    workload->admission = admission;
}

/* --- conditions --- */

static const struct import_value *find_condition(struct kueue_input *input,
                                                 const struct import_value *object,
                                                 const char *type, const char *status)
{
    IMPORT_EACH(condition, import_list(input->load, object, "status/conditions"))
    {
        if (strcmp(import_text(input->load, condition, "type", ""), type) == 0) {
            return strcmp(import_text(input->load, condition, "status", ""), status) == 0
                       ? condition
                       : NULL;
        }
    }
    return NULL;
}

static struct kq_condition *read_condition(struct kueue_input *input,
                                           const struct import_value *condition)
{
    if (condition == NULL) {
        return NULL;
    }
    struct kq_condition *out = import_kueue_array(input, 1, sizeof *out);
    out->reason = import_text(input->load, condition, "reason", "");
    out->at_s = import_kueue_time(input, condition, "lastTransitionTime");
    out->at_s = isnan(out->at_s) ? 0 : out->at_s;
    return out;
}

static void read_status(struct kueue_input *input, const struct import_value *object,
                        struct kq_workload *workload)
{
    struct import_load *load = input->load;
    const struct import_value *admission = import_map(load, object, "status/admission");
    const struct import_value *reserved = find_condition(input, object, "QuotaReserved", "True");
    const struct import_value *pods = import_list(load, object, "status/reclaimablePods");
    const struct import_value *nodes = import_list(load, object, "status/unhealthyNodes");
    workload->finished = find_condition(input, object, "Finished", "True") != NULL;
    if (reserved != NULL && admission != NULL && !workload->finished) {
        read_admission(input, admission, workload);
        workload->reserved_s = import_kueue_time(input, reserved, "lastTransitionTime");
    }
    workload->is_ready = find_condition(input, object, "PodsReady", "True") != NULL;
    workload->evicted = read_condition(input, find_condition(input, object, "Evicted", "True"));
    workload->reclaimable =
        import_kueue_array(input, pods != NULL ? pods->count : 0, sizeof *workload->reclaimable);
    IMPORT_EACH(item, pods)
    {
        workload->reclaimable[workload->reclaimable_count++] = (struct orr_pair){
            import_text(load, item, "name", ""),
            import_format(load, "%lld", (long long)read_count(input, item, "count", 0))};
    }
    workload->unhealthy =
        import_kueue_array(input, nodes != NULL ? nodes->count : 0, sizeof *workload->unhealthy);
    IMPORT_EACH(item, nodes)
    {
        workload->unhealthy[workload->unhealthy_count++] = import_text(load, item, "name", "");
    }
}

/* Held back after an eviction until its time comes. */
static bool is_requeued(struct kueue_input *input, const struct import_value *object)
{
    const double at = import_kueue_time(input, object, "status/requeueState/requeueAt");
    return find_condition(input, object, "Requeued", "False") == NULL ||
           (!isnan(at) && at * 1000 <= (double)input->model->now);
}

static bool is_gated(struct kueue_input *input, const struct import_value *object)
{
    IMPORT_EACH(gate, import_list(input->load, object, "spec/preemptionGates"))
    {
        const char *name = import_text(input->load, gate, "name", "");
        bool open = false;
        IMPORT_EACH(state, import_list(input->load, object, "status/preemptionGates"))
        {
            open = open || (strcmp(import_text(input->load, state, "name", ""), name) == 0 &&
                            strcmp(import_text(input->load, state, "position", ""), "Open") == 0);
        }
        if (!open) {
            return true;
        }
    }
    return false;
}

/* --- who takes it --- */

static int64_t read_priority(struct kueue_input *input, const struct import_value *object)
{
    struct import_load *load = input->load;
    const char *name = import_text(load, object, "spec/priorityClassRef/name",
                                   import_text(load, object, "spec/priorityClassName", ""));
    const char *kind = import_text(load, object, "spec/priorityClassRef/kind",
                                   import_text(load, object, "spec/priorityClassSource", ""));
    int64_t priority = 0;
    if (import_get(object, "spec/priority") != NULL) {
        priority = import_int(load, object, "spec/priority", 0);
    } else if (name[0] != '\0') {
        const bool plain = strcmp(kind, "PriorityClass") == 0 ||
                           strcmp(kind, "scheduling.k8s.io/priorityclass") == 0;
        const char *key = import_format(load, "%c/%.300s", plain ? 'p' : 'w', name);
        const uint32_t id = orr_idmap_find(&input->classes, key, strlen(key));
        if (id == ORR_NONE) {
            import_note(input->model, "priority class %.100s is not given: 0", name);
        } else {
            priority = input->class_values[id];
        }
    }
    if (priority < INT32_MIN || priority > INT32_MAX) {
        import_fail(load, object, "a priority has 32 bits");
        return 0;
    }
    return priority;
}

static struct kueue_held_back find_queue(struct kueue_input *input, const char *space,
                                         struct kq_workload *workload)
{
    const char *key = import_format(input->load, "%.300s/%.300s", space, workload->local_queue);
    const uint32_t local = orr_idmap_find(&input->local_queues, key, strlen(key));
    if (local == ORR_NONE) {
        return (struct kueue_held_back){
            "Inadmissible", import_format(input->load, "LocalQueue %s is not there", key)};
    }
    const char *name = input->objects.local_queues[local].queue;
    if (orr_idmap_find(&input->queues, name, strlen(name)) == ORR_NONE) {
        return (struct kueue_held_back){
            "Inadmissible", import_format(input->load, "ClusterQueue %s is not there", name)};
    }
    workload->queue = name;
    return input->stopped[local]
               ? (struct kueue_held_back){"Inadmissible",
                                          import_format(input->load, "LocalQueue %s is stopped",
                                                        key)}
               : (struct kueue_held_back){0};
}

/* Those of Kueue say what is decided elsewhere. */
static void note_annotations(struct kueue_input *input, const struct import_value *annotations)
{
    static const char *const decided[] = {"workload-slice-replacement-for",
                                          "workload-allowed-resource-flavors", "priority-boost",
                                          "elastic-job"};
    IMPORT_EACH(item, annotations)
    {
        for (size_t i = 0; i < sizeof decided / sizeof decided[0]; i++) {
            if (strncmp(item->key, "kueue.x-k8s.io/", 15) == 0 &&
                strcmp(item->key + 15, decided[i]) == 0) {
                import_note(input->model, "annotation %s of a Workload is not heeded", item->key);
            }
        }
    }
}

static void read_workload(struct kueue_input *input, const struct import_value *object,
                          struct kq_workload *workload, struct kueue_held_back *held_back)
{
    struct import_load *load = input->load;
    const struct import_value *sets = import_list(load, object, "spec/podSets");
    const char *space = import_text(load, object, "metadata/namespace", "default");
    const char *name = import_kueue_name(input, object);
    workload->name = import_format(load, "%.300s/%.300s", space, name);
    workload->uid = import_text(load, object, "metadata/uid", NULL);
    workload->local_queue = import_text(load, object, "spec/queueName", "");
    workload->priority = read_priority(input, object);
    workload->created_s = import_kueue_time(input, object, "metadata/creationTimestamp");
    workload->reserved_s = (double)NAN;
    workload->active = import_bool(load, object, "spec/active", true);
    workload->gates = is_gated(input, object) ? "" : NULL;
    workload->sets =
        import_kueue_array(input, sets != NULL ? sets->count : 0, sizeof *workload->sets);
    IMPORT_EACH(set, sets)
    {
        read_set(input, set, &workload->sets[workload->set_count++]);
    }
    if (workload->set_count == 0) {
        import_fail(load, object, "a Workload needs podSets");
    }
    read_status(input, object, workload);
    *held_back = find_queue(input, space, workload);
    workload->requeued = is_requeued(input, object);
    note_annotations(input, import_map(load, object, "metadata/annotations"));
    if (!workload->active) {
        *held_back = (struct kueue_held_back){"Inadmissible", "the workload is not active"};
    }
    workload->active = held_back->reason == NULL;
}

/* The time of the cycle is known before a workload is read: it says who is still held back. */
static void see_times(struct kueue_input *input, const struct kueue_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        (void)import_kueue_time(input, list->items[i], "metadata/creationTimestamp");
        IMPORT_EACH(condition, import_list(input->load, list->items[i], "status/conditions"))
        {
            (void)import_kueue_time(input, condition, "lastTransitionTime");
        }
    }
    struct import_model *model = input->model;
    if (model->now == ORR_MS_NONE) {
        model->now = model->newest != ORR_MS_NONE ? model->newest : 0;
    }
}

void import_kueue_workloads(struct kueue_input *input)
{
    const struct kueue_list *list = &input->lists[KUEUE_WORKLOAD];
    struct kq_objects *objects = &input->objects;
    see_times(input, list);
    objects->workloads = import_kueue_array(input, list->count, sizeof *objects->workloads);
    input->held_back = import_kueue_array(input, list->count, sizeof *input->held_back);
    for (uint32_t i = 0; i < list->count && import_ok(input->load); i++) {
        read_workload(input, list->items[i], &objects->workloads[i], &input->held_back[i]);
        objects->workload_count++;
    }
}
