/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_namespaces.c - the queues of a cluster without KAI: one a namespace, whose ResourceQuotas
 * are its quota of GPUs and its limits. */
#include <string.h>

#include <orrery/base/text.h>

#include "kube.h"

#define ROOT "default-parent-queue"

static struct import_queue *make_queue(struct kube *kube, const char *name, const char *parent)
{
    struct import_model *model = kube->model;
    if (orr_idmap_find(&model->queue_names, name, strlen(name)) != ORR_NONE) {
        return NULL;
    }
    struct import_queue *queue = import_add_queue(model, NULL, name);
    if (queue != NULL) {
        queue->parent = parent;
    }
    for (int kind = 0; queue != NULL && kind < ORR_SHARE_KINDS; kind++) {
        queue->resource[kind] = (struct orr_share_resource){
            .deserved = ORR_UNLIMITED, .limit = ORR_UNLIMITED, .weight = 1};
    }
    return queue;
}

static struct import_queue *find_made(struct kube *kube, uint32_t first, const char *name)
{
    struct import_model *model = kube->model;
    for (uint32_t q = first; q < model->queue_count; q++) {
        if (strcmp(model->queues[q].name, name) == 0) {
            return &model->queues[q];
        }
    }
    return NULL;
}

/* Several quotas of a namespace hold together. */
static void bound(struct orr_share_resource *resource, double most, bool is_promised)
{
    if (resource->limit < 0 || most < resource->limit) {
        resource->limit = most;
        resource->deserved = is_promised ? most : resource->deserved;
    }
}

/* One with scopes counts some of the namespace's pods only. */
static bool has_scopes(const struct import_value *quota)
{
    return import_get(quota, "spec/scopes") != NULL ||
           import_get(quota, "spec/scopeSelector") != NULL;
}

/* Does it hold up pods? Quotas of storage or of objects other than pods do not. */
static bool holds_up(const char *hard, bool requests, const char *name)
{
    return strncmp(hard, "limits.", sizeof "limits." - 1) == 0 || strcmp(hard, "pods") == 0 ||
           strcmp(hard, "count/pods") == 0 ||
           (requests && strchr(name, '/') != NULL && strstr(name, "storage") == NULL);
}

static void bound_by(struct kube *kube, struct import_queue *queue,
                     const struct import_value *quota)
{
    static const char prefix[] = "requests.";
    IMPORT_EACH(hard, import_map(kube->load, quota, "spec/hard"))
    {
        const char *name = hard->key;
        const bool requests = strncmp(name, prefix, sizeof prefix - 1) == 0;
        name += requests ? sizeof prefix - 1 : 0;
        const size_t bytes = strlen(name);
        const bool cpu = strcmp(name, "cpu") == 0, memory = strcmp(name, "memory") == 0;
        const bool gpu = requests && bytes >= 3 && strcmp(name + bytes - 3, "gpu") == 0;
        const char *text = import_scalar(kube->load, hard);
        int64_t most = 0;
        if (!cpu && !memory && !gpu) {
            if (holds_up(hard->key, requests, name)) {
                import_note(kube->model, "a ResourceQuota of %.100s is not heeded", hard->key);
            }
            continue;
        }
        if (!import_quantity(text, cpu ? 1000 : 1, &most) || most < 0) {
            import_fail(kube->load, hard, "%.100s: \"%.60s\" is not a quantity", hard->key, text);
            return;
        }
        bound(&queue->resource[cpu      ? ORR_SHARE_CPU
                               : memory ? ORR_SHARE_MEMORY
                                        : ORR_SHARE_GPU],
              (double)most, gpu);
    }
}

static void note_instances(struct kube *kube)
{
    const struct orr_idmap *resources = &kube->model->resources;
    bool any = false;
    for (uint32_t r = 0; r < resources->count; r++) {
        any = any || strstr(orr_idmap_name(resources, r), "/mig-") != NULL;
    }
    if (any && kube->lists[KUBE_RESOURCE_QUOTA].count > 0) {
        import_note(kube->model,
                    "a ResourceQuota of GPUs counts no MIG instances; the limit of its "
                    "namespace's queue counts each as the GPUs of its profile");
    }
}

void kube_make_queues(struct kube *kube)
{
    if (!kube->queue_is_namespace) {
        return;
    }
    (void)make_queue(kube, ROOT, "");
    const uint32_t first = kube->model->queue_count;
    const struct kube_list *pods = &kube->lists[KUBE_POD];
    for (uint32_t i = 0; i < pods->count && import_ok(kube->load); i++) {
        if (kube_has_scheduler(kube, pods->items[i])) {
            (void)make_queue(kube, kube_namespace(kube, pods->items[i]), ROOT);
        }
    }
    const struct kube_list *quotas = &kube->lists[KUBE_RESOURCE_QUOTA];
    for (uint32_t i = 0; i < quotas->count && import_ok(kube->load); i++) {
        const struct import_value *quota = quotas->items[i];
        struct import_queue *queue = find_made(kube, first, kube_namespace(kube, quota));
        if (queue != NULL && has_scopes(quota)) {
            import_note(kube->model, "a ResourceQuota with scopes is not heeded");
        } else if (queue != NULL) {
            bound_by(kube, queue, quota);
        }
    }
    note_instances(kube);
}
