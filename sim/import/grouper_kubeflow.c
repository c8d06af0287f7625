/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pod grouper's rules for Kubeflow's jobs: all replicas at once unless a policy says less. */
#include <string.h>

#include "grouper.h"

#define SEGMENT_SIZE "kai.scheduler/segment-size"
#define TRAINING     "training.kubeflow.org/"

/* --- replicas --- */

struct shape {
    const char *kind, *specs;
    const char *needs[2]; /* replica specs that must be there; NULL: none */
};

static const struct shape *shape_of(const struct grouper *g)
{
    static const struct shape shapes[] = {
        {"TFJob", "spec/tfReplicaSpecs", {NULL, NULL}},
        {"XGBoostJob", "spec/xgbReplicaSpecs", {"Master", "Worker"}},
        {"JAXJob", "spec/jaxReplicaSpecs", {"Worker", NULL}},
        {"MPIJob", "spec/mpiReplicaSpecs", {"Launcher", "Worker"}},
        {"PyTorchJob", "spec/pytorchReplicaSpecs", {NULL, NULL}}};
    size_t i = 0;
    while (strcmp(shapes[i].kind, g->chain[g->top].kind) != 0) {
        i++;
    }
    return &shapes[i];
}

/* The sum over all replica specs; each must state a number. */
static bool sum_replicas(struct grouper *g, const struct shape *shape, int64_t *total)
{
    const struct import_value *specs = import_map(g->kube->load, grouper_top(g), shape->specs);
    if (specs == NULL) {
        return grouper_refuse(g, "its replica specs are not given");
    }
    for (int i = 0; i < 2; i++) {
        if (shape->needs[i] != NULL && import_get(specs, shape->needs[i]) == NULL) {
            return grouper_refuse(
                g, import_format(g->kube->load, "a %s needs a %s", shape->kind, shape->needs[i]));
        }
    }
    *total = 0;
    IMPORT_EACH(spec, specs)
    {
        int64_t replicas = 0;
        if (!grouper_whole(g, spec, "replicas", &replicas, NULL)) {
            return false;
        }
        if (replicas == 0) {
            return grouper_refuse(g, "a replica spec states no replicas");
        }
        *total += replicas;
    }
    return *total > 0 || grouper_refuse(g, "its replica specs state no replicas");
}

/* What the scheduling policy asks, which no replica spec is held against, else all replicas. */
static bool least_pods(struct grouper *g, int64_t *min)
{
    bool stated;
    return grouper_whole(g, grouper_top(g), "spec/runPolicy/schedulingPolicy/minAvailable", min,
                         &stated) &&
           (stated || sum_replicas(g, shape_of(g), min));
}

/* --- MPIJob: its launcher may come when the workers are ready --- */

static bool has_launcher(struct grouper *g)
{
    const struct kube_list *pods = &g->kube->lists[KUBE_POD];
    for (uint32_t i = 0; i < pods->count; i++) {
        const struct import_value *pod = pods->items[i], *labels = kube_labels(pod);
        const char *name = import_label(labels, TRAINING "job-name");
        const char *role = import_label(labels, TRAINING "job-role");
        if (name != NULL && role != NULL && strcmp(role, "launcher") == 0 &&
            strcmp(name, g->subject.name) == 0 &&
            strcmp(kube_namespace(g->kube, pod), kube_namespace(g->kube, g->pod)) == 0 &&
            import_get(pod, "metadata/deletionTimestamp") == NULL) {
            return true;
        }
    }
    return false;
}

static bool without_launcher(struct grouper *g, int64_t *min)
{
    const char *policy =
        import_text(g->kube->load, grouper_top(g), "spec/launcherCreationPolicy", "");
    if (strcmp(policy, "WaitForWorkersReady") != 0 || has_launcher(g)) {
        return true;
    }
    int64_t launchers = 0;
    if (!grouper_whole(g, grouper_top(g), "spec/mpiReplicaSpecs/Launcher/replicas", &launchers,
                       NULL)) {
        return false;
    }
    *min -= launchers;
    return launchers != 0 || grouper_refuse(g, "its Launcher states no replicas");
}

bool grouper_fill_kubeflow(struct grouper *g, struct import_job *job)
{
    int64_t min = 0;
    if (!least_pods(g, &min) ||
        (strcmp(shape_of(g)->kind, "MPIJob") == 0 && !without_launcher(g, &min))) {
        return false;
    }
    (void)grouper_add_pods(job, "default", 0, min);
    return true;
}

/* --- PyTorchJob --- */

static const struct import_value *worker_spec(const struct grouper *g)
{
    return import_get(grouper_top(g), "spec/pytorchReplicaSpecs/Worker");
}

/* 0: the workers are not split. */
static bool segment_size(struct grouper *g, int64_t *size)
{
    const struct import_value *spec = worker_spec(g);
    const char *text =
        spec != NULL ? grouper_worker_annotation(g, import_get(spec, "template"), SEGMENT_SIZE)
                     : "";
    *size = 0;
    if (text[0] != '\0' && (!grouper_atoi(text, size) || *size < 1)) {
        return grouper_refuse(g, "annotation " SEGMENT_SIZE " is not a number from 1 on");
    }
    return true;
}

static bool is_worker(const struct grouper *g)
{
    return strcmp(grouper_pod_label(g, TRAINING "replica-type"), "worker") == 0;
}

bool grouper_check_pytorch(struct grouper *g)
{
    int64_t size, index;
    if (!segment_size(g, &size)) {
        return false;
    }
    return size == 0 || !is_worker(g) ||
           (grouper_atoi(grouper_pod_label(g, TRAINING "replica-index"), &index) && index >= 0) ||
           grouper_refuse(g, "a worker's label " TRAINING "replica-index is not a number");
}

/* All segments are wanted; those beyond the job's minimum may stay empty. */
static bool add_segments(struct grouper *g, struct import_job *job, int64_t workers, int64_t min,
                         int64_t size)
{
    const int64_t segments = (workers + size - 1) / size;
    if (segments > GROUPER_SETS_MAX) {
        return grouper_refuse(g, "more segments than can be told apart");
    }
    const struct orr_constraint constraint =
        grouper_segment_constraint(g, import_get(worker_spec(g), "template"));
    const uint32_t set = import_add_set(job, "worker", 0, false, segments);
    for (int64_t i = 0; i < segments; i++) {
        const int64_t rest = workers - i * size < size ? workers - i * size : size;
        const uint32_t leaf = grouper_add_pods(job, grouper_numbered(g, "worker", i), set,
                                               i >= (min + size - 1) / size ? 0 : rest);
        job->sets[leaf].constraint = constraint;
    }
    return true;
}

static bool read_replicas(struct grouper *g, int64_t *masters, int64_t *workers)
{
    const struct import_value *specs = import_get(grouper_top(g), "spec/pytorchReplicaSpecs");
    *masters = 0;
    *workers = 1;
    return (specs != NULL || grouper_refuse(g, "its replica specs are not given")) &&
           grouper_whole(g, specs, "Master/replicas", masters, NULL) &&
           grouper_whole(g, specs, "Worker/replicas", workers, NULL);
}

bool grouper_fill_pytorch(struct grouper *g, struct import_job *job)
{
    const struct import_value *top = grouper_top(g);
    int64_t min = 0, masters, workers, size;
    if (!least_pods(g, &min) ||
        !grouper_whole(g, top, "spec/elasticPolicy/minReplicas", &min, NULL) ||
        !grouper_whole(g, top, "spec/runPolicy/schedulingPolicy/minAvailable", &min, NULL) ||
        !read_replicas(g, &masters, &workers) || !segment_size(g, &size)) {
        return false;
    }
    if (masters != 0) {
        (void)grouper_add_pods(job, "master", 0, masters);
    }
    const int64_t rest = min > masters ? min - masters : 0;
    if (worker_spec(g) == NULL) {
        if (job->set_count == 1) {
            (void)grouper_add_pods(job, "default", 0, min);
        }
        return true;
    }
    if (size > 0) {
        return add_segments(g, job, workers > 0 ? workers : 0, rest, size);
    }
    (void)grouper_add_pods(job, "worker", 0, rest);
    return true;
}

const char *grouper_subset_pytorch(struct grouper *g)
{
    int64_t size, index = 0, masters, workers;
    if (!read_replicas(g, &masters, &workers) || !segment_size(g, &size)) {
        return "";
    }
    if (is_worker(g) && worker_spec(g) != NULL) {
        (void)grouper_atoi(grouper_pod_label(g, TRAINING "replica-index"), &index);
        return size == 0 ? "worker"
               : index / size < (workers + size - 1) / size
                   ? grouper_numbered(g, "worker", index / size)
                   : "";
    }
    const bool master = strcmp(grouper_pod_label(g, TRAINING "replica-type"), "master") == 0;
    return master && masters != 0 ? "master" : "";
}
