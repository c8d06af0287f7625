/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Priority classes, nodes, queues, topologies. */
#include <string.h>
#include <strings.h>

#include <orrery/base/text.h>
#include <orrery/core/job.h>

#include "kube.h"

/* --- priority classes --- */

bool kube_class_priority(const struct kube *kube, const char *name, int64_t *out)
{
    const uint32_t index = orr_idmap_find(&kube->classes, name, strlen(name));
    if (index != ORR_NONE) {
        *out = kube->class_values[index].value;
        return true;
    }
    /* KAI's own classes are in its snapshots like all others; in a few objects they may be left
     * out.
     */
    int32_t shipped;
    const bool complete = kube->snapshot != NULL && kube->classes.count > 0;
    const bool known = !complete && orr_priority_class(name, &shipped);
    *out = known ? shipped : *out;
    return known;
}

void kube_read_class(struct kube *kube, const struct import_value *object)
{
    const char *name = kube_name(kube, object);
    const int64_t value = import_int(kube->load, object, "value", 0);
    bool added;
    const uint32_t index = orr_idmap_put(&kube->classes, name, strlen(name), &added);
    if (added) {
        kube->class_values = ORR_ROOM_FOR_ONE(kube->class_values, index, kube->class_capacity);
    }
    const char *policy = import_text(kube->load, object, "preemptionPolicy", "");
    const struct kube_class is = {.value = value, .never_preempts = strcmp(policy, "Never") == 0};
    kube->class_values[index] = is;
    if (import_bool(kube->load, object, "globalDefault", false)) {
        kube->default_priority = value;
        kube->default_class = is;
    }
}

struct kube_class kube_class_of_pod(const struct kube *kube, const struct import_value *pod)
{
    const struct import_value *spec = import_map(kube->load, pod, "spec");
    const char *name = import_text(kube->load, spec, "priorityClassName", "");
    const uint32_t index = orr_idmap_find(&kube->classes, name, strlen(name));
    struct kube_class is = index != ORR_NONE ? kube->class_values[index] : kube->default_class;
    (void)kube_class_priority(kube, name, &is.value);
    is.value = import_int(kube->load, spec, "priority", is.value);
    const char *policy = import_text(kube->load, spec, "preemptionPolicy", NULL);
    is.never_preempts = policy == NULL ? is.never_preempts : strcmp(policy, "Never") == 0;
    return is;
}

void kube_read_classes(struct kube *kube)
{
    const struct kube_list *list = &kube->lists[KUBE_PRIORITY_CLASS];
    for (uint32_t i = 0; i < list->count && import_ok(kube->load); i++) {
        kube_read_class(kube, list->items[i]);
    }
}

/* --- nodes --- */

static bool is_ready(const struct import_value *node)
{
    const char *cordoned = import_label(import_get(node, "spec"), "unschedulable");
    if (cordoned != NULL && strcmp(cordoned, "true") == 0) {
        return false;
    }
    static const char *const troubles[] = {"MemoryPressure", "DiskPressure", "PIDPressure",
                                           "NetworkUnavailable"};
    IMPORT_EACH(condition, import_get(node, "status/conditions"))
    {
        const char *type = import_label(condition, "type");
        const char *status = import_label(condition, "status");
        if (type == NULL || status == NULL) {
            continue;
        }
        if (strcmp(type, "Ready") == 0 && strcmp(status, "True") != 0) {
            return false;
        }
        for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
            if (strcmp(type, troubles[i]) == 0 && strcmp(status, "False") != 0) {
                return false;
            }
        }
    }
    return true;
}

static int64_t label_number(struct kube *kube, const struct import_node *node, const char *label,
                            int64_t fallback)
{
    const char *text = import_label(node->labels, label);
    int64_t number;
    if (text == NULL) {
        return fallback;
    }
    if (!orr_parse_i64(text, strlen(text), &number) || number < 0 || number > INT64_C(1) << 50) {
        import_note(kube->model, "label %s of a node is not a number and not heeded", label);
        return fallback;
    }
    return number;
}

static uint8_t mig_strategy(const char *text)
{
    return text == NULL                  ? ORR_MIG_UNKNOWN
           : strcmp(text, "mixed") == 0  ? ORR_MIG_MIXED
           : strcmp(text, "single") == 0 ? ORR_MIG_SINGLE
           : strcmp(text, "none") == 0   ? ORR_MIG_NONE
                                         : ORR_MIG_UNKNOWN;
}

/* "gpu" in any case is in the name of the driver. */
static bool drives_gpus(const char *driver)
{
    for (; driver != NULL && *driver != '\0'; driver++) {
        if (strncasecmp(driver, "gpu", 3) == 0) {
            return true;
        }
    }
    return false;
}

/* GPUs that are offered through slices of devices (dynamic resource allocation). */
static int64_t sliced_gpus(struct kube *kube, const char *node)
{
    const struct kube_list *slices = &kube->lists[KUBE_RESOURCE_SLICE];
    int64_t gpus = 0;
    for (uint32_t i = 0; i < slices->count; i++) {
        const struct import_value *spec = import_get(slices->items[i], "spec");
        const char *driver = import_label(spec, "driver"), *on = import_label(spec, "nodeName");
        const struct import_value *devices = import_list(kube->load, spec, "devices");
        if (drives_gpus(driver) && on != NULL && strcmp(on, node) == 0 && devices != NULL) {
            gpus += devices->count;
        }
    }
    return gpus;
}

static void read_node(struct kube *kube, const struct import_value *object)
{
    struct import_load *load = kube->load;
    const struct import_value *labels = import_map(load, object, "metadata/labels");
    const bool gpu_worker = import_label(labels, kube->gpu_worker) != NULL;
    const bool cpu_worker = import_label(labels, kube->cpu_worker) != NULL;
    if (kube->restrict_nodes && !gpu_worker && !cpu_worker) {
        import_note(kube->model, "a node without a worker label is left out");
        return;
    }
    struct import_node *node = import_add_node(kube->model, object, kube_name(kube, object));
    if (node == NULL) {
        return;
    }
    node->labels = labels;
    node->taints = import_list(load, object, "spec/taints");
    node->ready = is_ready(object);
    const struct import_value *allocatable = import_map(load, object, "status/allocatable");
    node->allocatable = import_resources(
        kube->model,
        allocatable != NULL ? allocatable : import_map(load, object, "status/capacity"));
    kube_leave_devices(kube, allocatable);
    node->allocatable.v[IMPORT_GPU] += sliced_gpus(kube, node->name);
    node->gpu_count =
        label_number(kube, node, "nvidia.com/gpu.count", node->allocatable.v[IMPORT_GPU]);
    node->gpu_memory_mib = label_number(kube, node, "nvidia.com/gpu.memory", 0);
    node->mig_strategy = mig_strategy(import_label(labels, "nvidia.com/mig.strategy"));
    const char *mig = import_label(labels, kube->mig_worker);
    IMPORT_EACH(resource, allocatable)
    {
        int64_t amount = 0;
        node->is_mig = node->is_mig ||
                       (strstr(resource->key, "/mig-") != NULL && resource->kind == IMPORT_TEXT &&
                        import_quantity(resource->text, 1, &amount) && amount > 0);
    }
    node->is_mig = mig != NULL ? strcmp(mig, "true") == 0 : node->is_mig;
    node->cpu_worker = cpu_worker;
    node->gpu_worker = gpu_worker;
    (void)kube_created_s(kube, object);
}

void kube_read_nodes(struct kube *kube)
{
    kube->model->restrict_nodes = kube->restrict_nodes;
    const struct kube_list *list = &kube->lists[KUBE_NODE];
    for (uint32_t i = 0; i < list->count && import_ok(kube->load); i++) {
        if (kube_in_shard(kube, list->items[i])) {
            read_node(kube, list->items[i]);
        }
    }
}

/* --- queues --- */

#define SHARE_MAX  1e15 /* more than any cluster has */
#define WEIGHT_MAX 1e9

/* Amounts are numbers: GPUs, milli-CPU, memory in 10^6 bytes; what is below 0 is without bound. */
static double amount(struct kube *kube, const struct import_value *resource, const char *key,
                     double unit)
{
    const double value = import_number(kube->load, resource, key, 0) * unit;
    return value < 0 ? ORR_UNLIMITED : value < SHARE_MAX ? value : SHARE_MAX;
}

static void read_queue(struct kube *kube, const struct import_value *object)
{
    static const struct {
        const char *path;
        enum orr_share_kind kind;
        double unit;
    } resources[] = {{"spec/resources/cpu", ORR_SHARE_CPU, 1},
                     {"spec/resources/memory", ORR_SHARE_MEMORY, 1e6},
                     {"spec/resources/gpu", ORR_SHARE_GPU, 1}};
    struct import_queue *queue = import_add_queue(kube->model, object, kube_name(kube, object));
    if (queue == NULL) {
        return;
    }
    queue->parent = import_text(kube->load, object, "spec/parentQueue", "");
    queue->priority = import_int(kube->load, object, "spec/priority", 100);
    queue->created_s = kube_created_s(kube, object);
    queue->preempt_min_runtime = kube_duration(kube, object, "spec/preemptMinRuntime", ORR_MS_NONE);
    queue->reclaim_min_runtime = kube_duration(kube, object, "spec/reclaimMinRuntime", ORR_MS_NONE);
    for (size_t i = 0; i < sizeof resources / sizeof resources[0]; i++) {
        const struct import_value *given = import_map(kube->load, object, resources[i].path);
        const double weight = import_number(kube->load, given, "overQuotaWeight", 0);
        queue->resource[resources[i].kind] =
            (struct orr_share_resource){.deserved = amount(kube, given, "quota", resources[i].unit),
                                        .limit = amount(kube, given, "limit", resources[i].unit),
                                        .weight = weight < -WEIGHT_MAX  ? -WEIGHT_MAX
                                                  : weight < WEIGHT_MAX ? weight
                                                                        : WEIGHT_MAX};
    }
}

void kube_read_queues(struct kube *kube)
{
    const struct kube_list *list = &kube->lists[KUBE_QUEUE];
    for (uint32_t i = 0; i < list->count && import_ok(kube->load); i++) {
        if (kube_in_shard(kube, list->items[i])) {
            read_queue(kube, list->items[i]);
        }
    }
}

/* --- topologies --- */

void kube_read_topologies(struct kube *kube)
{
    const struct kube_list *list = &kube->lists[KUBE_TOPOLOGY];
    for (uint32_t i = 0; i < list->count && import_ok(kube->load); i++) {
        const struct import_value *levels = import_list(kube->load, list->items[i], "spec/levels");
        struct import_topology *topology = import_add_topology(
            kube->model, kube_name(kube, list->items[i]), levels != NULL ? levels->count : 0);
        uint32_t l = 0;
        IMPORT_EACH(level, levels)
        {
            topology->labels[l] = import_text(kube->load, level, "nodeLabel", "");
            topology->aliases[l] = import_text(kube->load, level, "alias", NULL);
            if (topology->labels[l++][0] == '\0') {
                import_fail(kube->load, level, "a level needs a nodeLabel");
            }
        }
    }
}
