/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ClusterQueues, Cohorts, ResourceFlavors, Topologies, LocalQueues. */
#include <string.h>

#include "kueue_input.h"

/* --- quota --- */

/* Weights are quantities: 1, "500m". */
static double read_weight(struct kueue_input *input, const struct import_value *map)
{
    const struct import_value *value = import_get(map, "spec/fairSharing/weight");
    int64_t milli = 1000;
    if (value != NULL &&
        (!import_whole_quantity(import_scalar(input->load, value), 1000, &milli) || milli < 0)) {
        import_fail(input->load, value, "a weight is a quantity of 0 or more");
    }
    return (double)milli / 1000;
}

static int64_t read_limit(struct kueue_input *input, const struct import_value *quota,
                          const char *resource, const char *key, int64_t fallback)
{
    const struct import_value *value = import_get(quota, key);
    return value != NULL ? import_kueue_amount(input, resource, value) : fallback;
}

static void read_flavor_quotas(struct kueue_input *input, const struct import_value *from,
                               struct kq_flavor_quotas *out)
{
    const struct import_value *resources = import_list(input->load, from, "resources");
    out->name = import_text(input->load, from, "name", "");
    out->quotas =
        import_kueue_array(input, resources != NULL ? resources->count : 0, sizeof *out->quotas);
    if (out->name[0] == '\0') {
        import_fail(input->load, from, "a flavor of a resource group needs its name");
    }
    IMPORT_EACH(resource, resources)
    {
        const char *name = import_text(input->load, resource, "name", "");
        if (name[0] == '\0') {
            import_fail(input->load, resource, "a quota needs the name of its resource");
        }
        out->quotas[out->count++] = (struct kq_quota){
            .name = name,
            .nominal = read_limit(input, resource, name, "nominalQuota", 0),
            .borrowing_limit = read_limit(input, resource, name, "borrowingLimit", KQ_UNSET),
            .lending_limit = read_limit(input, resource, name, "lendingLimit", KQ_UNSET)};
    }
}

#define GROUP_RESOURCES_MAX 64

static struct kq_group *read_groups(struct kueue_input *input, const struct import_value *object,
                                    uint32_t *count)
{
    const struct import_value *list = import_list(input->load, object, "spec/resourceGroups");
    struct kq_group *groups =
        import_kueue_array(input, list != NULL ? list->count : 0, sizeof *groups);
    *count = 0;
    IMPORT_EACH(item, list)
    {
        const struct import_value *flavors = import_list(input->load, item, "flavors");
        struct kq_group *group = &groups[(*count)++];
        group->resources = import_kueue_texts(
            input, import_list(input->load, item, "coveredResources"), &group->resource_count);
        group->flavors =
            import_kueue_array(input, flavors != NULL ? flavors->count : 0, sizeof *group->flavors);
        IMPORT_EACH(flavor, flavors)
        {
            read_flavor_quotas(input, flavor, &group->flavors[group->flavor_count++]);
        }
        if (group->resource_count > GROUP_RESOURCES_MAX) {
            import_fail(input->load, item, "a resource group has at most %d resources",
                        GROUP_RESOURCES_MAX);
        }
    }
    return groups;
}

/* --- cluster queues, cohorts --- */

static void read_preemption(struct kueue_input *input, const struct import_value *from,
                            struct kq_preemption *out)
{
    static const char *const within[] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority",
                                         NULL};
    static const char *const reclaim[] = {"Never", "LowerPriority", "Any", NULL};
    static const char *const borrow[] = {"Never", "LowerPriority", NULL};
    const struct import_value *inner = import_map(input->load, from, "borrowWithinCohort");
    out->within = import_kueue_word(input, from, "withinClusterQueue", within, "Never");
    out->reclaim = import_kueue_word(input, from, "reclaimWithinCohort", reclaim, "Never");
    if (inner != NULL) {
        out->borrow = import_kueue_array(input, 1, sizeof *out->borrow);
        out->borrow->policy = import_kueue_word(input, inner, "policy", borrow, "Never");
        out->borrow->threshold = import_int(input->load, inner, "maxPriorityThreshold", KQ_UNSET);
    }
}

/* What Kueue called Borrow and Preempt once is where the search may stop. */
static const char *read_stop(struct kueue_input *input, const struct import_value *from,
                             const char *path, const char *old, const char *fallback)
{
    const char *const words[] = {"MayStopSearch", "TryNextFlavor", old, NULL};
    const char *word = import_kueue_word(input, from, path, words, fallback);
    return strcmp(word, old) == 0 ? "MayStopSearch" : word;
}

static struct kq_selector *read_selector(struct kueue_input *input, const struct import_value *from)
{
    struct kq_selector *selector = import_kueue_array(input, 1, sizeof *selector);
    const struct kq_term term =
        import_kueue_term(input, import_list(input->load, from, "matchExpressions"));
    selector->nothing = from == NULL;
    selector->expressions = term.expressions;
    selector->expression_count = term.expression_count;
    selector->labels = import_kueue_labels(input, import_map(input->load, from, "matchLabels"),
                                           &selector->label_count);
    bool looks = false; /* at labels that namespaces do not have by themselves */
    for (uint32_t e = 0; e < selector->expression_count; e++) {
        looks = looks || strcmp(selector->expressions[e].key, KQ_NAMESPACE_LABEL) != 0;
    }
    for (uint32_t l = 0; l < selector->label_count; l++) {
        looks = looks || strcmp(selector->labels[l].name, KQ_NAMESPACE_LABEL) != 0;
    }
    if (looks && !input->knows_namespaces) {
        import_note(input->model, "a namespaceSelector looks at labels, and no Namespace is given");
    }
    return selector;
}

static void read_cluster_queue(struct kueue_input *input, const struct import_value *object)
{
    static const char *const strategies[] = {"BestEffortFIFO", "StrictFIFO", NULL};
    static const char *const stops[] = {"None", "Hold", "HoldAndDrain", NULL};
    static const char *const preferences[] = {"BorrowingOverPreemption", "PreemptionOverBorrowing",
                                              NULL};
    struct import_load *load = input->load;
    struct kq_queue *queue = &input->objects.queues[input->objects.queue_count++];
    const struct import_value *fungibility = import_map(load, object, "spec/flavorFungibility");
    const char *cohort =
        import_text(load, object, "spec/cohortName", import_text(load, object, "spec/cohort", ""));
    queue->name = import_kueue_name(input, object);
    queue->cohort = cohort[0] != '\0' ? cohort : NULL;
    queue->weight = read_weight(input, object);
    queue->strategy =
        import_kueue_word(input, object, "spec/queueingStrategy", strategies, "BestEffortFIFO");
    queue->stop_policy = import_kueue_word(input, object, "spec/stopPolicy", stops, "None");
    queue->admission_mode = import_text(load, object, "spec/admissionScope/admissionMode", NULL);
    read_preemption(input, import_map(load, object, "spec/preemption"), &queue->preemption);
    queue->fungibility = (struct kq_fungibility){
        .borrow = read_stop(input, fungibility, "whenCanBorrow", "Borrow", "MayStopSearch"),
        .preempt = read_stop(input, fungibility, "whenCanPreempt", "Preempt", "TryNextFlavor"),
        .preference = import_kueue_word(input, fungibility, "preference", preferences, NULL)};
    queue->groups = read_groups(input, object, &queue->group_count);
    queue->selector = read_selector(input, import_map(load, object, "spec/namespaceSelector"));
    (void)orr_idmap_put(&input->queues, queue->name, strlen(queue->name), NULL);
}

static void read_cohort(struct kueue_input *input, const struct import_value *object)
{
    struct kq_cohort *cohort = &input->objects.cohorts[input->objects.cohort_count++];
    const char *parent = import_text(input->load, object, "spec/parentName",
                                     import_text(input->load, object, "spec/parent", ""));
    cohort->name = import_kueue_name(input, object);
    cohort->parent = parent[0] != '\0' ? parent : NULL;
    cohort->weight = read_weight(input, object);
    cohort->groups = read_groups(input, object, &cohort->group_count);
}

/* --- flavors, topologies --- */

static void read_flavor(struct kueue_input *input, const struct import_value *object)
{
    struct import_load *load = input->load;
    struct kq_flavor *flavor = &input->objects.flavors[input->objects.flavor_count++];
    flavor->name = import_kueue_name(input, object);
    flavor->topology = import_text(load, object, "spec/topologyName", NULL);
    flavor->labels = import_kueue_labels(input, import_map(load, object, "spec/nodeLabels"),
                                         &flavor->label_count);
    flavor->taints = import_kueue_taints(input, import_list(load, object, "spec/nodeTaints"), false,
                                         &flavor->taint_count);
    flavor->tolerations = import_kueue_taints(input, import_list(load, object, "spec/tolerations"),
                                              true, &flavor->toleration_count);
}

#define LEVELS_MAX 16 /* Kueue's bound */

static void read_topology(struct kueue_input *input, const struct import_value *object)
{
    const struct import_value *levels = import_list(input->load, object, "spec/levels");
    struct kq_topology *topology = &input->objects.topologies[input->objects.topology_count++];
    topology->name = import_kueue_name(input, object);
    topology->levels =
        import_kueue_array(input, levels != NULL ? levels->count : 0, sizeof *topology->levels);
    IMPORT_EACH(level, levels)
    {
        const char *label = import_text(input->load, level, "nodeLabel", "");
        if (label[0] == '\0') {
            import_fail(input->load, level, "a level needs a nodeLabel");
        }
        topology->levels[topology->level_count++] = label;
    }
    if (topology->level_count == 0 || topology->level_count > LEVELS_MAX) {
        import_fail(input->load, object, "a Topology has 1 to %d levels", LEVELS_MAX);
    }
}

/* --- local queues --- */

static void read_local_queue(struct kueue_input *input, const struct import_value *object)
{
    static const char *const stops[] = {"None", "Hold", "HoldAndDrain", NULL};
    struct kq_objects *objects = &input->objects;
    const uint32_t index = objects->local_queue_count++;
    struct kq_local_queue *queue = &objects->local_queues[index];
    const struct import_value *consumed = import_map(
        input->load, object, "status/fairSharing/admissionFairSharingStatus/consumedResources");
    queue->name = import_kueue_name(input, object);
    queue->space = import_text(input->load, object, "metadata/namespace", "default");
    queue->queue = import_text(input->load, object, "spec/clusterQueue", "");
    queue->weight = read_weight(input, object);
    input->stopped[index] =
        strcmp(import_kueue_word(input, object, "spec/stopPolicy", stops, "None"), "None") != 0;
    const char *key = import_format(input->load, "%.300s/%.300s", queue->space, queue->name);
    (void)orr_idmap_put(&input->local_queues, key, strlen(key), NULL);
    if (consumed != NULL) {
        struct kq_labels *used = &objects->consumed.items[objects->consumed.count++];
        used->name = key;
        used->items = import_kueue_amounts(input, consumed, &used->count);
    }
}

typedef void read_fn(struct kueue_input *input, const struct import_value *object);

static void read_all(struct kueue_input *input, enum kueue_kind kind, read_fn *read)
{
    const struct kueue_list *list = &input->lists[kind];
    for (uint32_t i = 0; i < list->count && import_ok(input->load); i++) {
        read(input, list->items[i]);
    }
}

void import_kueue_queues(struct kueue_input *input)
{
    struct kq_objects *objects = &input->objects;
    const struct kueue_list *lists = input->lists;
    objects->topologies =
        import_kueue_array(input, lists[KUEUE_TOPOLOGY].count, sizeof *objects->topologies);
    objects->flavors =
        import_kueue_array(input, lists[KUEUE_FLAVOR].count, sizeof *objects->flavors);
    objects->cohorts =
        import_kueue_array(input, lists[KUEUE_COHORT].count, sizeof *objects->cohorts);
    objects->queues =
        import_kueue_array(input, lists[KUEUE_CLUSTER_QUEUE].count, sizeof *objects->queues);
    objects->local_queues =
        import_kueue_array(input, lists[KUEUE_LOCAL_QUEUE].count, sizeof *objects->local_queues);
    objects->consumed.items =
        import_kueue_array(input, lists[KUEUE_LOCAL_QUEUE].count, sizeof *objects->consumed.items);
    input->stopped =
        import_kueue_array(input, lists[KUEUE_LOCAL_QUEUE].count, sizeof *input->stopped);
    objects->has_flavors = true;
    read_all(input, KUEUE_TOPOLOGY, read_topology);
    read_all(input, KUEUE_FLAVOR, read_flavor);
    read_all(input, KUEUE_COHORT, read_cohort);
    read_all(input, KUEUE_CLUSTER_QUEUE, read_cluster_queue);
    read_all(input, KUEUE_LOCAL_QUEUE, read_local_queue);
}
