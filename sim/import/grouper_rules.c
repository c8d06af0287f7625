/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of the pod grouper: one row a kind of workload. */
#include <string.h>

#include <orrery/base/text.h>

#include "grouper.h"

#define BATCH_MIN "kai.scheduler/batch-min-member"
#define SEGMENT   "kai.scheduler/segment-size"
#define SETS_MAX  10000 /* of one job */

static bool refuse(struct grouper *g, const char *why)
{
    g->why = why;
    return false;
}

static const char *pod_label(const struct grouper *g, const char *name)
{
    const char *text = import_label(g->pod_labels, name);
    return text != NULL ? text : "";
}

static int64_t pod_number(const struct grouper *g, const char *name, int64_t fallback)
{
    const char *text = pod_label(g, name);
    int64_t number;
    return orr_parse_i64(text, strlen(text), &number) && number >= 0 ? number : fallback;
}

static int64_t number_of(struct grouper *g, const struct import_value *map, const char *path,
                         int64_t fallback)
{
    const int64_t number = import_int(g->kube->load, map, path, fallback);
    return number < -1 || number > 1000000 ? fallback : number;
}

static uint32_t add_pods(struct grouper *g, struct import_job *job, const char *name,
                         uint32_t parent, int64_t min)
{
    return import_add_set(g->kube->model, job, name, parent, true, min < 0 ? 0 : min);
}

/* A set `name` of leaves `name-i` of `size` pods each; those that only hold pods beyond `min` need
 * none. */
static bool add_segments(struct grouper *g, struct import_job *job, const char *name, int64_t pods,
                         int64_t min, int64_t size)
{
    const int64_t segments = (pods + size - 1) / size;
    if (segments > SETS_MAX) {
        return refuse(g, "more segments than can be told apart");
    }
    const uint32_t set = import_add_set(g->kube->model, job, name, 0, false, segments);
    for (int64_t i = 0; i < segments; i++) {
        const int64_t rest = pods - i * size < size ? pods - i * size : size;
        const uint32_t leaf = add_pods(g, job, grouper_numbered(g, name, i), set,
                                       i >= (min + size - 1) / size ? 0 : rest);
        const struct import_value *top = grouper_top(g);
        const char *topology = import_label(kube_annotations(top), "kai.scheduler/topology");
        job->sets[leaf].constraint = (struct orr_constraint){
            .required = import_label(kube_annotations(top),
                                     "kai.scheduler/segment-topology-required-placement"),
            .preferred = import_label(kube_annotations(top),
                                      "kai.scheduler/segment-topology-preferred-placement")};
        if (job->sets[leaf].constraint.required != NULL ||
            job->sets[leaf].constraint.preferred != NULL) {
            job->sets[leaf].constraint.topology = topology;
        }
    }
    return true;
}

/* --- one group a pod --- */

static const char *part_pod(struct grouper *g)
{
    return kube_name(g->kube, g->pod);
}

/* --- Job, CronJob --- */

static bool fill_job(struct grouper *g, struct import_job *job)
{
    if (g->skipped > 0 && strcmp(g->chain[g->top + 1].kind, "CronJob") == 0) {
        return true; /* its rule knows no annotation */
    }
    const int64_t min = grouper_annotation(grouper_top(g), BATCH_MIN, 1);
    if (min < 1) {
        return refuse(g, "annotation " BATCH_MIN " is not a number from 1 on");
    }
    (void)add_pods(g, job, "default", 0, min);
    return true;
}

/* --- Kubeflow --- */

struct replicas {
    int64_t total, masters, launchers;
    bool has_master, has_worker;
};

/* Of all replica specs; each must say how many. */
static bool sum_replicas(struct grouper *g, const char *path, struct replicas *out)
{
    *out = (struct replicas){0};
    const struct import_value *specs = import_map(g->kube->load, grouper_top(g), path);
    if (specs == NULL || specs->count == 0) {
        return refuse(g, "its replica specs are not given");
    }
    IMPORT_EACH(spec, specs)
    {
        const int64_t replicas = number_of(g, spec, "replicas", 0);
        if (replicas <= 0) {
            return refuse(g, "a replica spec states no replicas");
        }
        const bool master = strcmp(spec->key, "Master") == 0;
        out->total += replicas;
        out->has_master = out->has_master || master;
        out->has_worker = out->has_worker || strcmp(spec->key, "Worker") == 0;
        out->masters += master ? replicas : 0;
        out->launchers += strcmp(spec->key, "Launcher") == 0 ? replicas : 0;
    }
    return true;
}

static int64_t stated_min(struct grouper *g, int64_t otherwise)
{
    const int64_t min =
        number_of(g, grouper_top(g), "spec/runPolicy/schedulingPolicy/minAvailable", -1);
    return min > 0 ? min : otherwise;
}

static bool fill_tf(struct grouper *g, struct import_job *job)
{
    struct replicas replicas;
    if (!sum_replicas(g, "spec/tfReplicaSpecs", &replicas)) {
        return false;
    }
    (void)add_pods(g, job, "default", 0, stated_min(g, replicas.total));
    return true;
}

static bool fill_xgboost(struct grouper *g, struct import_job *job)
{
    struct replicas replicas;
    if (!sum_replicas(g, "spec/xgbReplicaSpecs", &replicas)) {
        return false;
    }
    if (!replicas.has_master || !replicas.has_worker) {
        return refuse(g, "an XGBoostJob needs a Master and a Worker");
    }
    (void)add_pods(g, job, "default", 0, stated_min(g, replicas.total));
    return true;
}

static bool fill_jax(struct grouper *g, struct import_job *job)
{
    struct replicas replicas;
    if (!sum_replicas(g, "spec/jaxReplicaSpecs", &replicas)) {
        return false;
    }
    if (!replicas.has_worker) {
        return refuse(g, "a JAXJob needs a Worker");
    }
    (void)add_pods(g, job, "default", 0, stated_min(g, replicas.total));
    return true;
}

/* Is the launcher's pod in the input? It comes late if it waits for the workers. */
static bool has_launcher(struct grouper *g)
{
    const struct kube_list *pods = &g->kube->lists[KUBE_POD];
    for (uint32_t i = 0; i < pods->count; i++) {
        const struct import_value *labels = kube_labels(pods->items[i]);
        const char *name = import_label(labels, "training.kubeflow.org/job-name");
        const char *role = import_label(labels, "training.kubeflow.org/job-role");
        if (name != NULL && role != NULL && strcmp(role, "launcher") == 0 &&
            strcmp(name, g->chain[g->top].name) == 0) {
            return true;
        }
    }
    return false;
}

static bool fill_mpi(struct grouper *g, struct import_job *job)
{
    struct replicas replicas;
    if (!sum_replicas(g, "spec/mpiReplicaSpecs", &replicas)) {
        return false;
    }
    if (replicas.launchers == 0 || !replicas.has_worker) {
        return refuse(g, "an MPIJob needs a Launcher and a Worker");
    }
    int64_t min = stated_min(g, replicas.total);
    const char *policy =
        import_text(g->kube->load, grouper_top(g), "spec/launcherCreationPolicy", "");
    if (strcmp(policy, "WaitForWorkersReady") == 0 && !has_launcher(g)) {
        min -= replicas.launchers;
    }
    (void)add_pods(g, job, "default", 0, min);
    return true;
}

static int64_t segment_size(struct grouper *g)
{
    return grouper_annotation(grouper_top(g), SEGMENT, 0);
}

static bool fill_pytorch(struct grouper *g, struct import_job *job)
{
    struct replicas replicas;
    if (!sum_replicas(g, "spec/pytorchReplicaSpecs", &replicas)) {
        return false;
    }
    const int64_t elastic = number_of(g, grouper_top(g), "spec/elasticPolicy/minReplicas", -1);
    const int64_t min = stated_min(g, elastic > 0 ? elastic : replicas.total);
    const int64_t workers = min > replicas.masters ? min - replicas.masters : 0;
    const int64_t size = segment_size(g);
    if (size < 0) {
        return refuse(g, "annotation " SEGMENT " is not a number");
    }
    if (replicas.masters > 0) {
        (void)add_pods(g, job, "master", 0, replicas.masters);
    }
    if (size > 0) {
        return add_segments(g, job, "worker", replicas.total - replicas.masters, workers, size);
    }
    (void)add_pods(g, job, "worker", 0, workers);
    return true;
}

static const char *subset_pytorch(struct grouper *g)
{
    if (strcmp(pod_label(g, "training.kubeflow.org/replica-type"), "master") == 0 ||
        strcmp(pod_label(g, "training.kubeflow.org/job-role"), "master") == 0) {
        return "master";
    }
    const int64_t size = segment_size(g);
    return size > 0
               ? grouper_numbered(g, "worker",
                                  pod_number(g, "training.kubeflow.org/replica-index", 0) / size)
               : "worker";
}

/* --- Ray --- */

static const struct import_value *ray_cluster(struct grouper *g)
{
    const struct import_value *top = grouper_top(g);
    static const char *const places[] = {"spec/rayClusterSpec", "spec/rayClusterConfig", "spec"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const struct import_value *spec = import_get(top, places[i]);
        if (spec != NULL) {
            return spec;
        }
    }
    return NULL;
}

static struct orr_constraint annotated_constraint(const struct import_value *template)
{
    const struct import_value *notes = kube_annotations(template);
    return (struct orr_constraint){
        .topology = import_label(notes, "kai.scheduler/topology"),
        .required = import_label(notes, "kai.scheduler/topology-required-placement"),
        .preferred = import_label(notes, "kai.scheduler/topology-preferred-placement")};
}

static bool fill_ray(struct grouper *g, struct import_job *job)
{
    const struct import_value *spec = ray_cluster(g);
    if (spec == NULL) {
        return refuse(g, "the Ray cluster is not given");
    }
    (void)add_pods(g, job, "headgroup", 0, 1);
    IMPORT_EACH(group, import_list(g->kube->load, spec, "workerGroupSpecs"))
    {
        const int64_t replicas = number_of(g, group, "replicas", 0);
        const int64_t least = number_of(g, group, "minReplicas", 0);
        const int64_t hosts = number_of(g, group, "numOfHosts", 1);
        if (import_bool(g->kube->load, group, "suspend", false) || (replicas <= 0 && least <= 0)) {
            continue;
        }
        if (least > replicas) {
            return refuse(g, "minReplicas of a worker group is above its replicas");
        }
        const uint32_t set =
            add_pods(g, job, import_text(g->kube->load, group, "groupName", "workers"), 0,
                     (least > 0 ? least : replicas) * (hosts > 0 ? hosts : 1));
        job->sets[set].constraint = annotated_constraint(import_get(group, "template"));
    }
    return true;
}

static const char *subset_ray(struct grouper *g)
{
    return strcmp(pod_label(g, "ray.io/node-type"), "worker") == 0 ? pod_label(g, "ray.io/group")
                                                                   : "headgroup";
}

/* --- LeaderWorkerSet --- */

#define LWS "leaderworkerset.sigs.k8s.io/"

static int64_t lws_segment(struct grouper *g)
{
    const int64_t size =
        number_of(g, grouper_top(g), "spec/leaderWorkerTemplate/subGroupPolicy/subGroupSize", 0);
    return size > 0 ? size : segment_size(g);
}

static bool leader_is_scheduled(struct grouper *g)
{
    const struct kube_list *pods = &g->kube->lists[KUBE_POD];
    for (uint32_t i = 0; i < pods->count; i++) {
        const struct import_value *labels = kube_labels(pods->items[i]);
        const char *of = import_label(labels, LWS "name");
        const char *group = import_label(labels, LWS "group-index");
        const char *worker = import_label(labels, LWS "worker-index");
        if (of != NULL && worker != NULL && strcmp(of, g->chain[g->top].name) == 0 &&
            strcmp(worker, "0") == 0 &&
            strcmp(group != NULL ? group : "", pod_label(g, LWS "group-index")) == 0 &&
            import_get(pods->items[i], "spec/nodeName") != NULL) {
            return true;
        }
    }
    return false;
}

static bool fill_lws(struct grouper *g, struct import_job *job)
{
    const struct import_value *top = grouper_top(g);
    const bool leader_first =
        strcmp(import_text(g->kube->load, top, "spec/startupPolicy", ""), "LeaderReady") == 0;
    int64_t size = number_of(g, top, "spec/leaderWorkerTemplate/size", 1);
    const int64_t annotated = grouper_annotation(g->pod, LWS "size", 0);
    size = leader_first && annotated > 0 ? annotated : size;
    if (size < 1) {
        return refuse(g, "its size is not a number from 1 on");
    }
    const int64_t min = leader_first && !leader_is_scheduled(g) ? 0 : size - 1;
    (void)add_pods(g, job, "leader", 0, 1);
    if (lws_segment(g) > 0 && size > 1) {
        return add_segments(g, job, "workers", size - 1, min, lws_segment(g));
    }
    if (size > 1) {
        (void)add_pods(g, job, "workers", 0, min);
    }
    return true;
}

static const char *subset_lws(struct grouper *g)
{
    const int64_t index = pod_number(g, LWS "worker-index", 0);
    if (index == 0) {
        return "leader";
    }
    const int64_t size = lws_segment(g);
    return size > 0 ? grouper_numbered(g, "workers", (index - 1) / size) : "workers";
}

static const char *part_lws(struct grouper *g)
{
    return import_format(g->kube->load, "group-%s", pod_label(g, LWS "group-index"));
}

/* --- JobSet --- */

#define JOBSET "jobset.sigs.k8s.io/"

static bool fill_jobset(struct grouper *g, struct import_job *job)
{
    struct import_model *model = g->kube->model;
    const struct import_value *top = grouper_top(g);
    const struct import_value *jobs = import_list(g->kube->load, top, "spec/replicatedJobs");
    if (jobs == NULL || jobs->count == 0) {
        return refuse(g, "its replicated jobs are not given");
    }
    const bool in_order =
        strcmp(import_text(g->kube->load, top, "spec/startupPolicy/startupPolicyOrder", ""),
               "InOrder") == 0;
    int64_t least = grouper_annotation(top, BATCH_MIN, in_order ? 1 : jobs->count);
    if (least < 1) {
        return refuse(g, "annotation " BATCH_MIN " is not a number from 1 on");
    }
    job->sets[0].min = least < jobs->count ? least : jobs->count;
    IMPORT_EACH(one, jobs)
    {
        const char *name = import_text(g->kube->load, one, "name", "");
        const int64_t replicas = number_of(g, one, "replicas", 1);
        const int64_t parallelism = number_of(g, one, "template/spec/parallelism", 1);
        const int64_t min = grouper_annotation(import_get(one, "template"), BATCH_MIN, parallelism);
        if (replicas < 0 || replicas + job->set_count > SETS_MAX || min < 0) {
            return refuse(g, "a replicated job states no number of replicas or pods");
        }
        const uint32_t set = import_add_set(model, job, name, 0, false, replicas);
        job->sets[set].constraint = annotated_constraint(import_get(one, "template"));
        for (int64_t i = 0; i < replicas; i++) {
            (void)add_pods(g, job,
                           import_format(g->kube->load, "%.200s-replica-%lld", name, (long long)i),
                           set, min);
        }
    }
    return true;
}

static const char *subset_jobset(struct grouper *g)
{
    return import_format(g->kube->load, "%.200s-replica-%lld",
                         pod_label(g, JOBSET "replicatedjob-name"),
                         (long long)pod_number(g, JOBSET "job-index", 0));
}

/* --- Knative, Spark, AmlJob --- */

#define KNATIVE_MIN "autoscaling.knative.dev/min-scale"

static bool fill_knative(struct grouper *g, struct import_job *job)
{
    /* Where the revision is written: it passes it on to its pods, the service does not have it. */
    int64_t min = grouper_annotation(grouper_top(g), KNATIVE_MIN, 1);
    for (uint32_t i = g->top; i-- > 0;) {
        min = grouper_annotation(g->chain[i].object, KNATIVE_MIN, min);
    }
    min = grouper_annotation(g->pod, KNATIVE_MIN, min);
    (void)add_pods(g, job, "default", 0, min > 0 ? min : 1);
    return true;
}

static const char *part_knative(struct grouper *g)
{
    return pod_label(g, "serving.knative.dev/revision");
}

static const char *part_spark(struct grouper *g)
{
    return pod_label(g, "spark-app-selector");
}

static bool fill_aml(struct grouper *g, struct import_job *job)
{
    int64_t nodes = 1;
    IMPORT_EACH(container, import_list(g->kube->load, g->pod, "spec/containers")){
        IMPORT_EACH(variable, import_list(g->kube->load, container, "env")){
            const char *name = import_label(variable, "name");
    const char *value = import_label(variable, "value");
    if (name != NULL && value != NULL && strcmp(name, "AZUREML_NODE_COUNT") == 0 &&
        !(orr_parse_i64(value, strlen(value), &nodes) && nodes > 0 && nodes <= 1000000)) {
        return refuse(g, "AZUREML_NODE_COUNT is not a number from 1 on");
    }
}
}
(void)add_pods(g, job, "default", 0, nodes);
return true;
}

/* --- Grove --- */

static const struct import_value *find_gang(struct grouper *g)
{
    const char *name = pod_label(g, "grove.io/podgang");
    const struct kube_list *owners = &g->kube->lists[KUBE_OWNER];
    for (uint32_t i = 0; i < owners->count; i++) {
        if (strcmp(kube_kind_of(owners->items[i]), "PodGang") == 0 &&
            strcmp(kube_name(g->kube, owners->items[i]), name) == 0) {
            return owners->items[i];
        }
    }
    return NULL;
}

static struct orr_constraint grove_constraint(struct grouper *g, const struct import_value *group,
                                              const struct import_value *gang)
{
    const struct import_value *pack =
        import_map(g->kube->load, group, "topologyConstraint/packConstraint");
    const char *required = import_text(g->kube->load, pack, "required", NULL);
    const char *preferred = import_text(g->kube->load, pack, "preferred", NULL);
    return (struct orr_constraint){
        .topology = required != NULL || preferred != NULL
                        ? import_label(kube_annotations(gang), "kai.scheduler/topology")
                        : NULL,
        .required = required,
        .preferred = preferred};
}

/* The group of groups that lists this one, made a set with its constraint; 0: the root. */
static uint32_t grove_parent(struct grouper *g, struct import_job *job,
                             const struct import_value *gang, const char *name)
{
    IMPORT_EACH(config, import_list(g->kube->load, gang, "spec/topologyConstraintGroupConfigs"))
    {
        const struct import_value *names = import_list(g->kube->load, config, "podGroupNames");
        IMPORT_EACH(listed, names)
        {
            if (strcmp(import_scalar(g->kube->load, listed), name) != 0) {
                continue;
            }
            const char *own = import_text(g->kube->load, config, "name", "group");
            for (uint32_t s = 1; s < job->set_count; s++) {
                if (!job->sets[s].is_pods && strcmp(job->sets[s].name, own) == 0) {
                    return s;
                }
            }
            const uint32_t set = import_add_set(g->kube->model, job, own, 0, false, names->count);
            job->sets[set].constraint = grove_constraint(g, config, gang);
            return set;
        }
    }
    return 0;
}

static bool fill_grove(struct grouper *g, struct import_job *job)
{
    const struct import_value *gang = find_gang(g);
    const struct import_value *groups = import_list(g->kube->load, gang, "spec/podgroups");
    if (groups == NULL) {
        return refuse(g, "its PodGang is not given");
    }
    const struct orr_constraint whole = grove_constraint(g, import_get(gang, "spec"), gang);
    if (whole.topology != NULL) {
        job->sets[0].constraint = whole;
    }
    IMPORT_EACH(group, groups)
    {
        const char *name = import_text(g->kube->load, group, "name", "");
        const uint32_t parent = grove_parent(g, job, gang, name);
        const uint32_t set = add_pods(g, job, name, parent, number_of(g, group, "minReplicas", 1));
        job->sets[set].constraint = grove_constraint(g, group, gang);
    }
    const char *class_name = import_text(g->kube->load, gang, "spec/priorityClassName", "");
    if (import_label(kube_labels(grouper_top(g)), "priorityClassName") == NULL &&
        kube_class_priority(g->kube, class_name, &job->priority)) {
        kube_set_preemptible(g->kube, job,
                             import_label(g->pod_labels, "kai.scheduler/preemptibility"), g->pod);
    }
    return true;
}

static const char *subset_grove(struct grouper *g)
{
    return pod_label(g, "grove.io/podclique");
}

static const char *part_grove(struct grouper *g)
{
    return pod_label(g, "grove.io/podgang");
}

/* --- the table --- */

static const struct grouper_rule rules[] = {
    {"Pod", NULL, "train", NULL, NULL, NULL},
    {"Job", "batch/", "train", fill_job, NULL, NULL},
    {"Deployment", "apps/", "inference", NULL, NULL, part_pod},
    {"Notebook", "kubeflow.org/", "build", NULL, NULL, NULL},
    {"Service", "serving.knative.dev/", "inference", fill_knative, NULL, part_knative},
    {"TFJob", NULL, "train", fill_tf, NULL, NULL},
    {"XGBoostJob", NULL, "train", fill_xgboost, NULL, NULL},
    {"JAXJob", NULL, "train", fill_jax, NULL, NULL},
    {"MPIJob", NULL, "train", fill_mpi, NULL, NULL},
    {"PyTorchJob", NULL, "train", fill_pytorch, subset_pytorch, NULL},
    {"RayCluster", NULL, "train", fill_ray, subset_ray, NULL},
    {"RayJob", NULL, "train", fill_ray, subset_ray, NULL},
    {"RayService", NULL, "train", fill_ray, subset_ray, NULL},
    {"LeaderWorkerSet", NULL, "train", fill_lws, subset_lws, part_lws},
    {"JobSet", NULL, "train", fill_jobset, subset_jobset, NULL},
    {"PodGangSet", NULL, "train", fill_grove, subset_grove, part_grove},
    {"PodCliqueSet", NULL, "train", fill_grove, subset_grove, part_grove},
    {"Spark", NULL, "train", NULL, NULL, part_spark},
    {"AmlJob", NULL, "train", fill_aml, NULL, NULL},
    {"SPOTRequest", NULL, "inference", NULL, NULL, NULL},
};

/* StatefulSet, ReplicaSet, Seldon, KubeVirt, DevWorkspace, Tekton, RunaiJob and all unknown kinds:
 * one group an owner, minimum 1. */
static const struct grouper_rule default_rule = {"", NULL, "train", NULL, NULL, NULL};

const struct grouper_rule *grouper_find(const char *kind, const char *version)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].kind, kind) == 0 && grouper_is_of(version, rules[i].group)) {
            return &rules[i];
        }
    }
    return &default_rule;
}
