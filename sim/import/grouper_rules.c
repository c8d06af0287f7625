/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of the pod grouper: one row a kind of workload, and the rules of the simple ones. */
#include <string.h>

#include "grouper.h"

/* --- Job, CronJob, run.ai's job, AmlJob --- */

static bool fill_job(struct grouper *g, struct import_job *job)
{
    const char *text = grouper_top_annotation(g, GROUPER_BATCH_MIN);
    int64_t min = 1;
    if (text != NULL && !grouper_atoi(text, &min)) {
        return grouper_refuse(g, "annotation " GROUPER_BATCH_MIN " is not a number");
    }
    (void)grouper_add_pods(job, "default", 0, min);
    return true;
}

/* The Job that owns the pod, with nothing of the CronJob's. */
static bool subject_cron_job(struct grouper *g)
{
    IMPORT_EACH(ref, import_list(g->kube->load, g->pod, "metadata/ownerReferences"))
    {
        if (strcmp(import_text(g->kube->load, ref, "kind", ""), "Job") == 0) {
            g->subject = g->chain[0];
            g->subject.name = import_text(g->kube->load, ref, "name", "");
            g->subject.object = kube_object(g->kube, "Job", g->pod, g->subject.name);
            g->subject.uid = import_text(g->kube->load, ref, "uid", "");
            return true;
        }
    }
    return grouper_refuse(g, "below a CronJob, a Job must own its pods");
}

/* After the pod's name up to its last hyphen. */
static const char *name_runai_job(struct grouper *g)
{
    const char *pod = kube_name(g->kube, g->pod), *hyphen = strrchr(pod, '-');
    const int bytes = (int)(hyphen != NULL ? (size_t)(hyphen - pod) : strlen(pod));
    return import_format(g->kube->load, "pg-%.*s-%.100s", bytes, pod, g->subject.uid);
}

static bool fill_aml(struct grouper *g, struct import_job *job)
{
    int64_t nodes = 0;
    bool found;
    if (!grouper_whole(g, grouper_top(g), "spec/job/options/envs/AZUREML_NODE_COUNT", &nodes,
                       &found) ||
        !found) {
        return grouper_refuse(g, "spec.job.options.envs.AZUREML_NODE_COUNT is not given as a "
                                 "number");
    }
    (void)grouper_add_pods(job, "default", 0, nodes);
    return true;
}

/* --- one group a pod --- */

static const char *name_pod(struct grouper *g)
{
    return import_format(g->kube->load, "pg-%.250s-%.100s", kube_name(g->kube, g->pod),
                         import_text(g->kube->load, g->pod, "metadata/uid", ""));
}

/* --- Knative --- */

/* The revision is found by the pod's label, not among its owners. */
static bool subject_knative(struct grouper *g)
{
    const char *name = grouper_pod_label(g, "serving.knative.dev/revision");
    const struct import_value *revision =
        name[0] != '\0' ? kube_object(g->kube, "Revision", g->pod, name) : NULL;
    if (revision == NULL) {
        return grouper_refuse(g, "the Revision that its label names is not given");
    }
    g->subject =
        (struct grouper_owner){.kind = "Revision",
                               .name = name,
                               .uid = import_text(g->kube->load, revision, "metadata/uid", ""),
                               .object = revision};
    return true;
}

static bool fill_knative(struct grouper *g, struct import_job *job)
{
    const char *text =
        import_label(kube_annotations(g->subject.object), "autoscaling.knative.dev/min-scale");
    int64_t min = 1;
    (void)(text != NULL && grouper_atoi(text, &min));
    (void)grouper_add_pods(job, "default", 0, min);
    return true;
}

/* --- Spark --- */

static const char *name_spark(struct grouper *g)
{
    return grouper_pod_label(g, "spark-app-selector");
}

static bool check_spark(struct grouper *g)
{
    return name_spark(g)[0] != '\0' || grouper_refuse(g, "its spark-app-selector is empty");
}

/* --- the table --- */

#define KUBEFLOW .priority_class = "train", .fill = grouper_fill_kubeflow
#define RAY                                                                                        \
    .priority_class = "train", .priority = grouper_priority_ray, .fill = grouper_fill_ray,         \
    .subset = grouper_subset_ray
#define GROVE                                                                                      \
    .priority_class = "train", .owners = GROUPER_OWNERS_SUBJECT_AND_TOP,                           \
    .subject = grouper_subject_grove, .priority = grouper_priority_grove,                          \
    .fill = grouper_fill_grove, .subset = grouper_subset_grove
#define PLAIN .priority_class = "train", .owners = GROUPER_OWNERS_CHAIN

static const struct grouper_rule rules[] = {
    {"Pod", "v1", .priority_class = "train"},
    {"Job", "batch/v1", .priority_class = "train", .fill = fill_job},
    {"CronJob", "batch/v1", .priority_class = "train", .subject = subject_cron_job},
    {"Deployment", "apps/v1", .priority_class = "inference", .name = name_pod},
    {"StatefulSet", "apps/v1", PLAIN},
    {"ReplicaSet", "apps/v1", PLAIN},
    {"Notebook", "kubeflow.org/v1beta1", .priority_class = "build"},
    {"ScheduledWorkflow", "kubeflow.org/v1alpha1", PLAIN},
    {"TFJob", "kubeflow.org/v1", KUBEFLOW},
    {"XGBoostJob", "kubeflow.org/v1", KUBEFLOW},
    {"JAXJob", "kubeflow.org/v1", KUBEFLOW},
    {"MPIJob", "kubeflow.org/v1", KUBEFLOW},
    {"MPIJob", "kubeflow.org/v2beta1", KUBEFLOW},
    {"PyTorchJob", "kubeflow.org/v1", .priority_class = "train", .check = grouper_check_pytorch,
     .fill = grouper_fill_pytorch, .subset = grouper_subset_pytorch},
    {"RayCluster", "ray.io/v1", RAY},
    {"RayJob", "ray.io/v1", RAY},
    {"RayService", "ray.io/v1", RAY},
    {"RayCluster", "ray.io/v1alpha1", RAY},
    {"RayJob", "ray.io/v1alpha1", RAY},
    {"RayService", "ray.io/v1alpha1", RAY},
    {"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", .priority_class = "train",
     .check = grouper_check_lws, .fill = grouper_fill_lws, .subset = grouper_subset_lws,
     .name = grouper_name_lws},
    {"JobSet", "jobset.x-k8s.io/v1alpha2", .priority_class = "train", .check = grouper_check_jobset,
     .fill = grouper_fill_jobset, .subset = grouper_subset_jobset},
    {"PodGangSet", "grove.io/v1alpha1", GROVE},
    {"PodCliqueSet", "grove.io/v1alpha1", GROVE},
    {"Service", "serving.knative.dev/v1", .priority_class = "inference",
     .owners = GROUPER_OWNERS_NONE, .subject = subject_knative, .fill = fill_knative},
    {"AmlJob", "amlarc.azureml.com/v1alpha1", .priority_class = "train", .fill = fill_aml},
    {"SPOTRequest", "egx.nvidia.io/v1", .priority_class = "inference"},
    {"RunaiJob", "run.ai/v1", .priority_class = "train", .name = name_runai_job},
    {"SeldonDeployment", "machinelearning.seldon.io/v1", PLAIN},
    {"SeldonDeployment", "machinelearning.seldon.io/v1alpha2", PLAIN},
    {"VirtualMachineInstance", "kubevirt.io/v1", PLAIN},
    {"DevWorkspace", "workspace.devfile.io/v1alpha2", PLAIN},
    {"PipelineRun", "tekton.dev/v1", PLAIN},
    {"TaskRun", "tekton.dev/v1", PLAIN},
    {"Workflow", "argoproj.io/v1alpha1", .skip = true},
    {"TrainJob", "trainer.kubeflow.org/v1alpha1", .skip = true},
    {"DynamoGraphDeployment", "nvidia.com/*", .skip = true},
    {"TrainingWorkload", "run.ai/*", .skip = true},
    {"InteractiveWorkload", "run.ai/*", .skip = true},
    {"DistributedWorkload", "run.ai/*", .skip = true},
    {"InferenceWorkload", "run.ai/*", .skip = true},
    {"DistributedInferenceWorkload", "run.ai/*", .skip = true},
};

const struct grouper_rule grouper_spark_rule = {"Spark", "v1", .priority_class = "train",
                                                .check = check_spark, .name = name_spark};

static const struct grouper_rule default_rule = {"", "", PLAIN};

static bool is_version(const char *given, const char *wanted)
{
    const size_t bytes = strlen(wanted);
    return given[0] == '\0' || (wanted[bytes - 1] == '*' ? strncmp(given, wanted, bytes - 1) == 0
                                                         : strcmp(given, wanted) == 0);
}

const struct grouper_rule *grouper_find(const char *kind, const char *version)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].kind, kind) == 0 && is_version(version, rules[i].version)) {
            return &rules[i];
        }
    }
    return &default_rule;
}
