/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pod grouper's rules for Ray, LeaderWorkerSet, JobSet and Grove: gangs of unequal parts. */
#include <string.h>

#include "grouper.h"

static bool is_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* Of a template's annotations; false if a level lacks its topology and that is refused. */
static struct orr_constraint template_constraint(const struct import_value *template)
{
    const struct import_value *notes = kube_annotations(template);
    const char *required = import_label(notes, GROUPER_REQUIRED);
    const char *preferred = import_label(notes, GROUPER_PREFERRED);
    if (!is_text(required) && !is_text(preferred)) {
        return (struct orr_constraint){0};
    }
    return (struct orr_constraint){.topology = import_label(notes, GROUPER_TOPOLOGY),
                                   .required = is_text(required) ? required : NULL,
                                   .preferred = is_text(preferred) ? preferred : NULL};
}

/* --- Ray --- */

/* A job or service names its cluster in its status. */
static const struct import_value *ray_cluster(struct grouper *g)
{
    static const char *const places[] = {"status/rayClusterName",
                                         "status/activeServiceStatus/rayClusterName",
                                         "status/pendingServiceStatus/rayClusterName"};
    const struct import_value *top = grouper_top(g);
    const char *kind = g->chain[g->top].kind;
    if (strcmp(kind, "RayCluster") == 0) {
        return top;
    }
    const bool service = strcmp(kind, "RayService") == 0;
    for (size_t i = service ? 1 : 0; i < (service ? 3 : 1); i++) {
        const char *name = import_text(g->kube->load, top, places[i], NULL);
        if (name != NULL) {
            return name[0] != '\0' ? kube_object(g->kube, "RayCluster", g->pod, name) : NULL;
        }
    }
    return NULL;
}

const char *grouper_priority_ray(struct grouper *g)
{
    return grouper_top_label(g, "ray.io/priority-class-name");
}

static const char *ray_group_name(struct grouper *g, const struct import_value *group, uint32_t i)
{
    const char *name = import_text(g->kube->load, group, "groupName", "");
    return name[0] != '\0' ? name : grouper_numbered(g, "worker-group", i);
}

/* Replicas wanted and needed; both 0: the group is left out. KAI 0.17 looks for `suspended`, while
 * KubeRay writes `suspend`. */
static bool count_ray_group(struct grouper *g, const struct import_value *group, int64_t *wanted,
                            int64_t *least)
{
    *wanted = *least = 0;
    if (import_bool(g->kube->load, group, "suspended", false)) {
        return true;
    }
    return grouper_whole(g, group, "replicas", wanted, NULL) &&
           grouper_whole(g, group, "minReplicas", least, NULL) &&
           (*least <= *wanted ||
            grouper_refuse(g, "minReplicas of a worker group is above its replicas"));
}

static bool add_ray_pods(struct grouper *g, struct import_job *job, const char *name, int64_t min,
                         const struct import_value *template)
{
    const uint32_t set = grouper_add_pods(job, name, 0, min);
    const struct orr_constraint constraint = template_constraint(template);
    job->sets[set].constraint = constraint;
    return (constraint.required == NULL && constraint.preferred == NULL) ||
           is_text(constraint.topology) ||
           grouper_refuse(g, "a template names a level without annotation " GROUPER_TOPOLOGY);
}

bool grouper_fill_ray(struct grouper *g, struct import_job *job)
{
    const struct import_value *cluster = ray_cluster(g);
    if (cluster == NULL) {
        return grouper_refuse(g, "the RayCluster is not given, or its owner does not name it");
    }
    if (!add_ray_pods(g, job, "headgroup", 1, import_get(cluster, "spec/headGroupSpec/template"))) {
        return false;
    }
    uint32_t i = 0;
    IMPORT_EACH(group, import_list(g->kube->load, cluster, "spec/workerGroupSpecs"))
    {
        int64_t wanted, least, hosts = 1;
        const char *name = ray_group_name(g, group, i++);
        if (!count_ray_group(g, group, &wanted, &least)) {
            return false;
        }
        if (wanted == 0 && least == 0) {
            continue;
        }
        if (!grouper_whole(g, group, "numOfHosts", &hosts, NULL) ||
            !add_ray_pods(g, job, name, (least > 0 ? least : wanted) * hosts,
                          import_get(group, "template"))) {
            return false;
        }
    }
    return true;
}

const char *grouper_subset_ray(struct grouper *g)
{
    const char *name = grouper_pod_label(g, "ray.io/group");
    if (strcmp(name, "headgroup") == 0) {
        return name;
    }
    uint32_t i = 0;
    IMPORT_EACH(group, import_list(g->kube->load, ray_cluster(g), "spec/workerGroupSpecs"))
    {
        int64_t wanted, least;
        if (strcmp(ray_group_name(g, group, i++), name) == 0 &&
            count_ray_group(g, group, &wanted, &least) && (wanted != 0 || least != 0)) {
            return name;
        }
    }
    return "";
}

/* --- LeaderWorkerSet --- */

#define LWS     "leaderworkerset.sigs.k8s.io/"
#define SEGMENT "kai.scheduler/segment-size"

struct lws {
    int64_t size;    /* pods that the group needs, the leader among them */
    int64_t segment; /* 0: the workers are one set */
    int64_t worker;  /* index of the pod, -1: no label says */
    bool is_leader, even;
    bool inside, excluded; /* the leader is in the first segment, or apart from all */
};

static int64_t segment_of(const struct lws *lws, int64_t worker)
{
    return worker == 0 ? 0 : lws->even ? (worker - 1) / lws->segment : worker / lws->segment;
}

static bool read_lws_size(struct grouper *g, struct lws *lws)
{
    const struct import_value *top = grouper_top(g);
    if (!grouper_whole(g, top, "spec/leaderWorkerTemplate/size", &lws->size, NULL)) {
        return false;
    }
    if (lws->size < 1) {
        return grouper_refuse(g, "its leaderWorkerTemplate.size is not a number from 1 on");
    }
    const char *policy = import_text(g->kube->load, top, "spec/startupPolicy", "LeaderCreated");
    if (strcmp(policy, "LeaderCreated") == 0) {
        return true;
    }
    if (strcmp(policy, "LeaderReady") != 0) {
        return grouper_refuse(g, "its startupPolicy is neither LeaderReady nor LeaderCreated");
    }
    (void)grouper_atoi(grouper_pod_annotation(g, LWS "size"), &lws->size);
    if (lws->is_leader && import_get(g->pod, "spec/nodeName") == NULL) {
        lws->size = 1; /* its workers come when it is ready */
    }
    return true;
}

static bool read_lws_segment(struct grouper *g, struct lws *lws)
{
    const struct import_value *top = grouper_top(g);
    const struct import_value *workers =
        import_get(top, "spec/leaderWorkerTemplate/workerTemplate");
    bool found;
    if (!grouper_whole(g, top, "spec/leaderWorkerTemplate/subGroupPolicy/subGroupSize",
                       &lws->segment, &found)) {
        return false;
    }
    const char *text = found ? NULL : grouper_top_annotation(g, SEGMENT);
    text = found || text != NULL ? text : import_label(kube_annotations(workers), SEGMENT);
    if (text != NULL && !grouper_atoi(text, &lws->segment)) {
        return grouper_refuse(g, "annotation " SEGMENT " is not a number");
    }
    if (!found && text == NULL) {
        return true;
    }
    return (lws->segment > 1 && lws->segment <= lws->size) ||
           grouper_refuse(g, "its segments are not larger than 1 and as large as its pods allow");
}

static bool read_lws(struct grouper *g, struct lws *lws)
{
    const char *worker = import_label(g->pod_labels, LWS "worker-index");
    *lws = (struct lws){.worker = -1, .is_leader = worker != NULL && strcmp(worker, "0") == 0};
    if (worker != NULL && (!grouper_atoi(worker, &lws->worker) || lws->worker < 0)) {
        return grouper_refuse(g, "label " LWS "worker-index is not a number from 0 on");
    }
    if (!read_lws_size(g, lws) || !read_lws_segment(g, lws) || lws->segment == 0) {
        return g->why == NULL;
    }
    const char *type =
        import_text(g->kube->load, grouper_top(g),
                    "spec/leaderWorkerTemplate/subGroupPolicy/subGroupPolicyType", "LeaderWorker");
    lws->inside = strcmp(type, "LeaderWorker") == 0;
    lws->excluded = strcmp(type, "LeaderExcluded") == 0;
    lws->even = (lws->size - 1) % lws->segment == 0;
    if (segment_of(lws, lws->size - 1) + 1 > GROUPER_SETS_MAX) {
        return grouper_refuse(g, "more segments than can be told apart");
    }
    if (lws->worker < 0 || segment_of(lws, lws->worker) > segment_of(lws, lws->size - 1)) {
        return grouper_refuse(g, "label " LWS "worker-index is of no segment");
    }
    return !lws->excluded || lws->even ||
           grouper_refuse(g, "under LeaderExcluded the segments must divide the workers");
}

bool grouper_check_lws(struct grouper *g)
{
    struct lws lws;
    return read_lws(g, &lws);
}

/* How many of the group's pods are in the last segment; KAI counts the leader where it is the
 * first, too. */
static int64_t last_segment_pods(const struct lws *lws, int64_t last)
{
    return last == 0 ? lws->size : lws->size - last * lws->segment - (lws->even ? 1 : 0);
}

static void add_lws_segments(struct grouper *g, struct import_job *job, const struct lws *lws)
{
    const struct import_value *workers =
        import_get(grouper_top(g), "spec/leaderWorkerTemplate/workerTemplate");
    const struct orr_constraint constraint =
        workers != NULL ? grouper_segment_constraint(g, workers) : (struct orr_constraint){0};
    const int64_t last = segment_of(lws, lws->size - 1);
    if (lws->excluded) {
        (void)grouper_add_pods(job, "leader", 0, 1);
    }
    for (int64_t i = 0; i <= last; i++) {
        const char *name = grouper_numbered(g, "segment", i);
        const int64_t pods = i == last ? last_segment_pods(lws, last) : lws->segment;
        const uint32_t set = i == 0 && lws->inside ? import_add_set(job, name, 0, false, 2)
                                                   : grouper_add_pods(job, name, 0, pods);
        job->sets[set].constraint = constraint;
        if (i == 0 && lws->inside) {
            (void)grouper_add_pods(job, "leader", set, 1);
            (void)grouper_add_pods(job, "workers", set, pods - (lws->even ? 0 : 1));
        }
    }
}

bool grouper_fill_lws(struct grouper *g, struct import_job *job)
{
    struct lws lws;
    if (!read_lws(g, &lws)) {
        return false;
    }
    if (lws.segment > 0) {
        add_lws_segments(g, job, &lws);
        return true;
    }
    (void)grouper_add_pods(job, "leader", 0, 1);
    if (lws.size > 1) {
        (void)grouper_add_pods(job, "workers", 0, lws.size - 1);
    }
    return true;
}

const char *grouper_subset_lws(struct grouper *g)
{
    struct lws lws;
    if (!read_lws(g, &lws)) {
        return "";
    }
    if (lws.is_leader && (lws.segment == 0 || lws.inside || lws.excluded)) {
        return "leader";
    }
    if (lws.segment == 0) {
        return lws.size > 1 ? "workers" : "";
    }
    const int64_t segment = segment_of(&lws, lws.worker);
    return segment == 0 && lws.inside ? "workers" : grouper_numbered(g, "segment", segment);
}

const char *grouper_name_lws(struct grouper *g)
{
    int64_t index;
    const char *name =
        import_format(g->kube->load, "pg-%.250s-%.100s", g->subject.name, g->subject.uid);
    return grouper_atoi(grouper_pod_label(g, LWS "group-index"), &index)
               ? import_format(g->kube->load, "%s-group-%lld", name, (long long)index)
               : name;
}

/* --- JobSet --- */

#define JOBSET "jobset.sigs.k8s.io/"

static const char *replica_name(struct grouper *g, const char *job, int64_t index)
{
    return import_format(g->kube->load, "%.200s-replica-%lld", job, (long long)index);
}

/* The pod's replicated job must have so many replicas. */
bool grouper_check_jobset(struct grouper *g)
{
    const char *name = grouper_pod_label(g, JOBSET "replicatedjob-name");
    const char *text = grouper_pod_label(g, JOBSET "job-index");
    int64_t index;
    IMPORT_EACH(one, import_list(g->kube->load, grouper_top(g), "spec/replicatedJobs"))
    {
        int64_t replicas = 1;
        if (strcmp(import_text(g->kube->load, one, "name", ""), name) == 0 &&
            grouper_whole(g, one, "replicas", &replicas, NULL) && grouper_atoi(text, &index) &&
            index >= 0 && index < replicas &&
            strcmp(text, import_format(g->kube->load, "%lld", (long long)index)) == 0) {
            return true;
        }
    }
    return grouper_refuse(g, "its labels " JOBSET "replicatedjob-name and job-index name no "
                             "replica of its JobSet");
}

/* An annotation that, where it is, is a number from 1 on. */
static bool read_batch_min(struct grouper *g, const char *text, int64_t *min)
{
    return text == NULL || (grouper_atoi(text, min) && *min >= 1) ||
           grouper_refuse(g, "annotation " GROUPER_BATCH_MIN " is not a number from 1 on");
}

static bool add_replicas(struct grouper *g, struct import_job *job, const struct import_value *one)
{
    const struct import_value *template = import_get(one, "template");
    const char *name = import_text(g->kube->load, one, "name", "");
    const char *text = import_label(kube_annotations(template), GROUPER_BATCH_MIN);
    int64_t replicas = 1, min = 1;
    if (name[0] == '\0') {
        return grouper_refuse(g, "a replicated job has no name");
    }
    if (!grouper_whole(g, one, "replicas", &replicas, NULL) ||
        !grouper_whole(g, template, "spec/parallelism", &min, NULL) ||
        !read_batch_min(g, is_text(text) ? text : NULL, &min)) {
        return false;
    }
    if (replicas + job->set_count > GROUPER_SETS_MAX) {
        return grouper_refuse(g, "more replicas than can be told apart");
    }
    const uint32_t set = import_add_set(job, name, 0, false, replicas > 0 ? replicas : 0);
    const struct orr_constraint constraint = template_constraint(template);
    for (int64_t i = 0; i < replicas; i++) {
        const uint32_t leaf = grouper_add_pods(job, replica_name(g, name, i), set, min);
        job->sets[leaf].constraint =
            is_text(constraint.topology) ? constraint : (struct orr_constraint){0};
    }
    return true;
}

bool grouper_fill_jobset(struct grouper *g, struct import_job *job)
{
    const struct import_value *top = grouper_top(g);
    const struct import_value *jobs = import_list(g->kube->load, top, "spec/replicatedJobs");
    const int64_t count = jobs != NULL ? jobs->count : 0;
    const char *order =
        import_text(g->kube->load, top, "spec/startupPolicy/startupPolicyOrder", "AnyOrder");
    const char *text = grouper_top_annotation(g, GROUPER_BATCH_MIN);
    int64_t least = text == NULL && strcmp(order, "InOrder") == 0 ? 1 : count;
    if (count == 0) {
        return grouper_refuse(g, "its replicated jobs are not given");
    }
    if (!read_batch_min(g, text, &least)) {
        return false;
    }
    job->sets[0].min = least < count ? least : count;
    IMPORT_EACH(one, jobs)
    {
        if (!add_replicas(g, job, one)) {
            return false;
        }
    }
    return true;
}

const char *grouper_subset_jobset(struct grouper *g)
{
    int64_t index = 0;
    (void)grouper_atoi(grouper_pod_label(g, JOBSET "job-index"), &index);
    return replica_name(g, grouper_pod_label(g, JOBSET "replicatedjob-name"), index);
}

/* --- Grove --- */

/* Its PodGang is the group; the PodCliqueSet on top only fills gaps. */
bool grouper_subject_grove(struct grouper *g)
{
    const char *name = grouper_pod_label(g, "grove.io/podgang");
    const struct import_value *gang =
        name[0] != '\0' ? kube_object(g->kube, "PodGang", g->pod, name) : NULL;
    if (gang == NULL) {
        return grouper_refuse(g, "the PodGang that its label names is not given");
    }
    g->subject = (struct grouper_owner){.kind = "PodGang",
                                        .name = name,
                                        .uid = import_text(g->kube->load, gang, "metadata/uid", ""),
                                        .object = gang};
    return true;
}

static const char *gang_or_top(const struct grouper *g, const char *name, bool annotation)
{
    const struct import_value *gang = g->subject.object;
    const char *text = import_label(annotation ? kube_annotations(gang) : kube_labels(gang), name);
    return text != NULL
               ? text
               : (annotation ? grouper_top_annotation(g, name) : grouper_top_label(g, name));
}

const char *grouper_priority_grove(struct grouper *g)
{
    const char *name = gang_or_top(g, GROUPER_PRIORITY, false);
    return name != NULL
               ? name
               : import_text(g->kube->load, g->subject.object, "spec/priorityClassName", NULL);
}

/* False: a level without a topology. */
static bool pack_constraint(struct grouper *g, const struct import_value *of,
                            struct orr_constraint *out)
{
    const struct import_value *pack = import_get(of, "topologyConstraint/packConstraint");
    const struct import_value *notes = kube_annotations(g->subject.object);
    const char *topology = import_label(notes, "grove.io/topology-name");
    out->required = import_text(g->kube->load, pack, "required", NULL);
    out->preferred = import_text(g->kube->load, pack, "preferred", NULL);
    out->topology = NULL;
    if (out->required == NULL && out->preferred == NULL) {
        return true;
    }
    out->topology = topology != NULL ? topology : import_label(notes, GROUPER_TOPOLOGY);
    return is_text(out->topology) ||
           grouper_refuse(g, "its PodGang names a level, but no topology");
}

/* The levels of the gang's own spec, gaps filled from annotations of the gang, then of the top. */
static bool constrain_gang(struct grouper *g, struct import_job *job)
{
    struct orr_constraint *all = &job->sets[0].constraint, packed;
    if (!pack_constraint(g, import_get(g->subject.object, "spec"), &packed)) {
        return false;
    }
    *all = packed.topology != NULL ? packed : *all;
    all->topology = is_text(all->topology) ? all->topology : gang_or_top(g, GROUPER_TOPOLOGY, true);
    all->required = is_text(all->required) ? all->required : gang_or_top(g, GROUPER_REQUIRED, true);
    all->preferred =
        is_text(all->preferred) ? all->preferred : gang_or_top(g, GROUPER_PREFERRED, true);
    return true;
}

static bool add_group_configs(struct grouper *g, struct import_job *job,
                              const struct import_value *configs)
{
    IMPORT_EACH(config, configs)
    {
        const struct import_value *names = import_list(g->kube->load, config, "podGroupNames");
        const char *name = import_text(g->kube->load, config, "name", NULL);
        if (name == NULL) {
            return grouper_refuse(g, "a group of its PodGang has no name");
        }
        if (names == NULL || names->count == 0) {
            continue;
        }
        const uint32_t set = import_add_set(job, name, 0, false, names->count);
        if (!pack_constraint(g, config, &job->sets[set].constraint)) {
            return false;
        }
    }
    return true;
}

/* The set of the last config that lists the group; 0: the root. */
static uint32_t parent_of(struct grouper *g, const struct import_value *configs, const char *name)
{
    uint32_t set = 0, parent = 0;
    IMPORT_EACH(config, configs)
    {
        const struct import_value *names = import_list(g->kube->load, config, "podGroupNames");
        set += names != NULL && names->count > 0;
        IMPORT_EACH(listed, names)
        {
            parent = strcmp(import_scalar(g->kube->load, listed), name) == 0 ? set : parent;
        }
    }
    return parent;
}

static bool add_pod_group(struct grouper *g, struct import_job *job,
                          const struct import_value *group, const struct import_value *configs)
{
    const char *name = import_text(g->kube->load, group, "name", NULL);
    int64_t min = 0;
    if (name == NULL || import_get(group, "podReferences") == NULL) {
        return grouper_refuse(g, "a group of its PodGang has no name or no podReferences");
    }
    if (!grouper_whole(g, group, "minReplicas", &min, NULL) || min < 1) {
        return grouper_refuse(g, "minReplicas of a group is not a number from 1 on");
    }
    const uint32_t set = grouper_add_pods(job, name, parent_of(g, configs, name), min);
    return pack_constraint(g, group, &job->sets[set].constraint);
}

bool grouper_fill_grove(struct grouper *g, struct import_job *job)
{
    const struct import_value *gang = g->subject.object;
    const struct import_value *configs =
        import_list(g->kube->load, gang, "spec/topologyConstraintGroupConfigs");
    const char *preemptible = gang_or_top(g, GROUPER_PREEMPT, false);
    if (is_text(preemptible) && strcmp(preemptible, "preemptible") != 0 &&
        strcmp(preemptible, "non-preemptible") != 0) {
        return grouper_refuse(g, "its label " GROUPER_PREEMPT " is neither of the two words");
    }
    if (!constrain_gang(g, job) || !add_group_configs(g, job, configs)) {
        return false;
    }
    IMPORT_EACH(group, import_list(g->kube->load, gang, "spec/podgroups"))
    {
        if (!add_pod_group(g, job, group, configs)) {
            return false;
        }
    }
    return true;
}

/* The group whose references name the pod. */
const char *grouper_subset_grove(struct grouper *g)
{
    return kube_gang_group(g->kube, g->pod, g->subject.name);
}
