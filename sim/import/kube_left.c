/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_left.c - what a cluster has that the policy does not look at: pods that wait for another
 * scheduler, and GPUs under a name that is not a GPU's here; and GPUs of several names, which it
 * takes for one kind. Notes name them all, for a user who reads "nothing is decided". */
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/core/cluster.h>

#include "kube.h"

static struct kube_left *left_of(struct kube_left *list, uint32_t *count, const char *name)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    if (*count == KUBE_LEFT_MAX) {
        return &list[KUBE_LEFT_MAX - 1]; /* the last takes all that are one too many */
    }
    list[*count] = (struct kube_left){.name = name};
    return &list[(*count)++];
}

void kube_leave_pod(struct kube *kube, const struct import_value *pod, int64_t gpus)
{
    const char *node = import_text(kube->load, pod, "spec/nodeName", "");
    const char *phase = import_text(kube->load, pod, "status/phase", "Pending");
    if (node[0] != '\0' || strcmp(phase, "Pending") != 0) {
        return; /* it holds room, or has ended */
    }
    const char *scheduler = import_text(kube->load, pod, "spec/schedulerName", "default-scheduler");
    struct kube_left *left = left_of(kube->left_pods, &kube->left_pod_count, scheduler);
    left->count++;
    left->gpus += gpus;
}

void kube_leave_devices(struct kube *kube, const struct import_value *allocatable)
{
    IMPORT_EACH(resource, allocatable)
    {
        const size_t bytes = strlen(resource->key);
        const bool is_gpu = bytes >= 3 && strcmp(resource->key + bytes - 3, "gpu") == 0;
        int64_t amount = 0;
        if (strstr(resource->key, "gpu") != NULL && resource->kind == IMPORT_TEXT &&
            import_quantity(resource->text, 1, &amount) && amount > 0) {
            struct kube_left *left =
                is_gpu ? left_of(kube->gpu_kinds, &kube->gpu_kind_count, resource->key)
                       : left_of(kube->left_devices, &kube->left_device_count, resource->key);
            left->count++;
            left->gpus += amount;
        }
    }
}

/* MIG instances count by their g, as in the cycle. */
static int64_t gpus_held(const struct import_model *model, const struct import_vec *held)
{
    int64_t gpus = held->v[IMPORT_GPU];
    for (uint32_t r = 0; r < model->resources.count; r++) {
        const char *mig = strstr(orr_idmap_name(&model->resources, r), "/mig-");
        gpus += mig != NULL ? held->v[IMPORT_EXTENDED + r] * orr_mig_gpus(mig + 5) : 0;
    }
    return gpus;
}

/* What pods of other schedulers hold is not among the GPUs of the cycle. */
static void note_held(struct kube *kube)
{
    uint32_t pods = 0;
    int64_t gpus = 0;
    for (uint32_t i = 0; i < kube->model->foreign_count; i++) {
        const int64_t held = gpus_held(kube->model, &kube->model->foreign[i].held);
        pods += held > 0;
        gpus += held > 0 ? held : 0;
    }
    if (pods > 0) {
        import_note(kube->model,
                    "%lld GPU%s more %s held by %u running pod%s of other schedulers or without "
                    "a queue: %s not counted here",
                    (long long)gpus, ORR_PLURAL(gpus), ORR_ONE(gpus, "is", "are"), pods,
                    ORR_PLURAL(pods), ORR_ONE(gpus, "it is", "they are"));
    }
}

/* Each resource whose name ends in "gpu" is one and the same to KAI. */
static void note_kinds(struct kube *kube)
{
    const struct kube_left *first = &kube->gpu_kinds[0], *other = &kube->gpu_kinds[1];
    if (kube->gpu_kind_count > 1) {
        import_note(kube->model,
                    "\"%.200s\" of %u node%s and \"%.200s\" of %u%s are GPUs of one kind here, as "
                    "they are to KAI: pods may be given nodes of the other unless labels or taints "
                    "keep them from it",
                    first->name, first->count, ORR_PLURAL(first->count), other->name, other->count,
                    kube->gpu_kind_count > 2 ? ", and others," : "");
    }
}

void kube_note_left(struct kube *kube)
{
    note_held(kube);
    note_kinds(kube);
    for (uint32_t i = 0; i < kube->left_pod_count; i++) {
        const struct kube_left *l = &kube->left_pods[i];
        import_note(kube->model,
                    "%u pod%s that wait%s for schedulerName \"%.200s\" %s left out, with %lld "
                    "GPU%s: this policy schedules \"%.200s\" (--scheduler %.200s takes those pods "
                    "instead)",
                    l->count, ORR_PLURAL(l->count), ORR_ONE(l->count, "s", ""), l->name,
                    ORR_ONE(l->count, "is", "are"), (long long)l->gpus, ORR_PLURAL(l->gpus),
                    kube->scheduler_name, l->name);
    }
    for (uint32_t i = 0; i < kube->left_device_count; i++) {
        const struct kube_left *l = &kube->left_devices[i];
        import_note(kube->model,
                    "%lld of \"%.200s\" on %u node%s are no GPUs here: those are resources whose "
                    "name ends in \"gpu\", such as nvidia.com/gpu",
                    (long long)l->gpus, l->name, l->count, ORR_PLURAL(l->count));
    }
}
