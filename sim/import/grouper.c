/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's pod grouper: pods without a PodGroup become jobs by what owns them.
 *
 *   pod -> chain of owners -> the rule of the top one -> job (found, or made) and pod set
 *
 * What holds for all kinds is here; the rules are in grouper_rules.c.
 */
#include "grouper.h"

#include <string.h>

#include <orrery/base/text.h>

#define TOPOLOGY_ANNOTATION  "kai.scheduler/topology"
#define REQUIRED_ANNOTATION  "kai.scheduler/topology-required-placement"
#define PREFERRED_ANNOTATION "kai.scheduler/topology-preferred-placement"
#define PRIORITY_LABEL       "priorityClassName"

int64_t grouper_annotation(const struct import_value *object, const char *name, int64_t fallback)
{
    const char *text = import_label(kube_annotations(object), name);
    int64_t number;
    if (text == NULL) {
        return fallback;
    }
    return orr_parse_i64(text, strlen(text), &number) && number >= 0 && number <= 1000000 ? number
                                                                                          : -1;
}

const char *grouper_numbered(struct grouper *g, const char *name, int64_t index)
{
    return import_format(g->kube->load, "%.200s-%lld", name, (long long)index);
}

/* --- owners --- */

static const struct import_value *controller_of(struct kube *kube,
                                                const struct import_value *object)
{
    const struct import_value *refs = import_list(kube->load, object, "metadata/ownerReferences");
    IMPORT_EACH(ref, refs)
    {
        if (import_bool(kube->load, ref, "controller", false)) {
            return ref;
        }
    }
    return refs != NULL ? refs->first : NULL;
}

static const struct import_value *find_owner(struct kube *kube, const char *uid)
{
    const uint32_t index = orr_idmap_find(&kube->owners, uid, strlen(uid));
    return index != ORR_NONE ? kube->owner_values[index] : NULL;
}

/* Without the ReplicaSet itself, its name tells: a Deployment puts its pods' hash at the end. */
static bool made_by_deployment(const struct grouper *g, const struct grouper_owner *owner)
{
    const char *hash = import_label(g->pod_labels, "pod-template-hash");
    const size_t name = strlen(owner->name), tail = hash != NULL ? strlen(hash) : 0;
    return owner->object == NULL && strcmp(owner->kind, "ReplicaSet") == 0 && tail > 0 &&
           name > tail + 1 && owner->name[name - tail - 1] == '-' &&
           strcmp(owner->name + name - tail, hash) == 0;
}

static void follow_owners(struct grouper *g)
{
    const struct import_value *at = g->pod;
    while (at != NULL && g->length < GROUPER_CHAIN_MAX) {
        const struct import_value *ref = controller_of(g->kube, at);
        if (ref == NULL) {
            break;
        }
        struct grouper_owner *owner = &g->chain[g->length++];
        *owner =
            (struct grouper_owner){.kind = import_text(g->kube->load, ref, "kind", ""),
                                   .version = import_text(g->kube->load, ref, "apiVersion", ""),
                                   .name = import_text(g->kube->load, ref, "name", ""),
                                   .uid = import_text(g->kube->load, ref, "uid", "")};
        owner->object = find_owner(g->kube, owner->uid);
        if (made_by_deployment(g, owner)) {
            owner->kind = "Deployment";
        }
        at = owner->object;
    }
}

/* A look at the top owner is passed on to the next below it. */
static bool is_skipped(const char *kind, const char *version)
{
    static const struct {
        const char *kind, *group;
    } wrappers[] = {{"CronJob", "batch/"},
                    {"Workflow", "argoproj.io/"},
                    {"TrainJob", NULL},
                    {"DynamoGraphDeployment", NULL}};
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
        if (strcmp(wrappers[i].kind, kind) == 0 && grouper_is_of(version, wrappers[i].group)) {
            return true;
        }
    }
    const size_t bytes = strlen(kind); /* Run:ai's TrainingWorkload, InteractiveWorkload, ... */
    return bytes > 8 && strcmp(kind + bytes - 8, "Workload") == 0 &&
           grouper_is_of(version, "run.ai/");
}

/* From the top down past the kinds that only wrap others. */
static void choose_top(struct grouper *g)
{
    uint32_t left = g->length;
    while (left > 0 && is_skipped(g->chain[left - 1].kind, g->chain[left - 1].version)) {
        left--;
        g->skipped++;
    }
    g->top = left > 0 ? left - 1 : g->length;
}

/* --- what all kinds have --- */

/* A label or annotation of the owners, from the one whose rule holds up to those looked through,
 * then of the pod. */
static const char *inherited(const struct grouper *g, const char *name, bool annotation)
{
    const uint32_t from = g->top < g->length ? g->top : g->length - g->skipped;
    for (uint32_t i = from; i < g->length; i++) {
        const struct import_value *object = g->chain[i].object;
        const char *text =
            import_label(annotation ? kube_annotations(object) : kube_labels(object), name);
        if (text != NULL) {
            return text;
        }
    }
    return import_label(annotation ? kube_annotations(g->pod) : g->pod_labels, name);
}

static const char *queue_of(const struct grouper *g)
{
    const char *queue = inherited(g, g->kube->queue_label, false);
    if (queue != NULL) {
        return queue;
    }
    const char *project = inherited(g, "project", false);
    const char *pool = inherited(g, g->kube->shard_key, false);
    if (project == NULL) {
        return "default-queue";
    }
    return pool != NULL && pool[0] != '\0'
               ? import_format(g->kube->load, "%.250s-%.250s", project, pool)
               : project;
}

/* The owner's label, else the pod's, else the pod's own class. A label that names no class hides
 * those behind it. */
static bool stated_priority(const struct grouper *g, const char *of_owner, int64_t *priority)
{
    const char *name = of_owner != NULL ? of_owner : import_label(g->pod_labels, PRIORITY_LABEL);
    name = name != NULL ? name : import_label(import_get(g->pod, "spec"), PRIORITY_LABEL);
    return name != NULL && kube_class_priority(g->kube, name, priority);
}

/* The label of one that has those of the owners looked through above it, besides its own. */
static const char *priority_label(const struct grouper *g, const struct import_value *object)
{
    const char *name = import_label(kube_labels(object), PRIORITY_LABEL);
    for (uint32_t i = g->length - g->skipped; name == NULL && i < g->length; i++) {
        name = import_label(kube_labels(g->chain[i].object), PRIORITY_LABEL);
    }
    return name;
}

static void set_priority(struct grouper *g, const struct grouper_rule *rule, struct import_job *job)
{
    const char *ray = inherited(g, "ray.io/priority-class-name", false);
    if (ray != NULL && strncmp(rule->kind, "Ray", 3) == 0 &&
        kube_class_priority(g->kube, ray, &job->priority)) {
        return;
    }
    /* The default rule looks at the whole chain, the others at the top only. */
    const uint32_t until = rule->kind[0] == '\0' ? g->length : g->top + 1;
    for (uint32_t i = g->top; i < until && i < g->length; i++) {
        if (stated_priority(g, priority_label(g, g->chain[i].object), &job->priority)) {
            return;
        }
    }
    if (g->top >= g->length && stated_priority(g, priority_label(g, g->pod), &job->priority)) {
        return;
    }
    if (g->kube->lists[KUBE_CONFIG_MAP].count > 0) {
        import_note(g->kube->model, "ConfigMaps are not read: if one of them gives kinds their "
                                    "priorities, say these by the label " PRIORITY_LABEL);
    }
    if (!kube_class_priority(g->kube, rule->priority_class, &job->priority)) {
        job->priority = g->kube->default_priority;
    }
}

static orr_ms inherited_duration(struct grouper *g, const char *name, orr_ms fallback)
{
    const char *text = inherited(g, name, true);
    orr_ms span = fallback;
    if (text != NULL && !import_duration(text, &span)) {
        import_note(g->kube->model, "annotation %s: not a duration, not heeded", name);
        return fallback;
    }
    return span;
}

static void fill_common(struct grouper *g, const struct grouper_rule *rule, struct import_job *job)
{
    job->origin = rule->kind[0] != '\0' ? rule->kind
                  : g->length == 0      ? "Pod"
                                        : g->chain[g->top < g->length ? g->top : 0].kind;
    job->grouped = true;
    job->queue = queue_of(g);
    job->created_s = kube_created_s(g->kube, g->pod);
    set_priority(g, rule, job);
    kube_set_preemptible(g->kube, job, inherited(g, "kai.scheduler/preemptibility", false), g->pod);
    job->preemption_delay = inherited_duration(g, "kai.scheduler/preemption-delay", 0);
    job->staleness_grace =
        inherited_duration(g, "kai.scheduler/staleness-grace-period", ORR_MS_NONE);
    job->sets[0].constraint =
        (struct orr_constraint){.topology = inherited(g, TOPOLOGY_ANNOTATION, true),
                                .required = inherited(g, REQUIRED_ANNOTATION, true),
                                .preferred = inherited(g, PREFERRED_ANNOTATION, true)};
}

/* --- the job --- */

static const char *job_name(struct grouper *g, const struct grouper_rule *rule)
{
    const char *part = rule->part != NULL ? rule->part(g) : "";
    if (g->top >= g->length) {
        return part[0] != '\0'
                   ? part
                   : import_format(g->kube->load, "pg-%.250s-%.100s", kube_name(g->kube, g->pod),
                                   import_text(g->kube->load, g->pod, "metadata/uid", ""));
    }
    const struct grouper_owner *owner = &g->chain[g->top];
    return import_format(g->kube->load, "pg-%.250s-%.100s%s%.250s", owner->name, owner->uid,
                         part[0] != '\0' ? "-" : "", part);
}

static uint32_t make_job(struct grouper *g, const struct grouper_rule *rule, const char *name)
{
    struct import_model *model = g->kube->model;
    struct import_job *job = import_add_job(model, g->pod, name);
    if (job == NULL) {
        return ORR_NONE;
    }
    fill_common(g, rule, job);
    const bool made = rule->fill == NULL || rule->fill(g, job);
    if (!made) {
        import_note(model, "%s is not grouped: %s", name, g->why != NULL ? g->why : "unknown");
        job->set_count = 0; /* remembered, so that its other pods are not grouped either */
    } else if (job->set_count == 1) {
        (void)import_add_set(model, job, "default", 0, true, 1);
    }
    return model->job_count - 1;
}

uint32_t kube_group_pod(struct kube *kube, const struct import_value *pod, const char **subset)
{
    struct import_model *model = kube->model;
    struct grouper g = {.kube = kube, .pod = pod, .pod_labels = kube_labels(pod)};
    if (import_label(kube_annotations(pod), "kai.scheduler/skip-podgrouper") != NULL) {
        import_note(model, "a pod that asks not to be grouped is left out");
        return ORR_NONE;
    }
    follow_owners(&g);
    choose_top(&g);
    const bool spark = import_label(g.pod_labels, "spark-app-name") != NULL &&
                       import_label(g.pod_labels, "spark-app-selector") != NULL;
    if (spark) {
        g.top = g.length;
    }
    const struct grouper_rule *rule =
        spark              ? grouper_find("Spark", "")
        : g.top < g.length ? grouper_find(g.chain[g.top].kind, g.chain[g.top].version)
                           : grouper_find("Pod", "");
    const char *name = job_name(&g, rule);
    uint32_t job = orr_idmap_find(&model->job_names, name, strlen(name));
    if (job == ORR_NONE) {
        const char *pool = inherited(&g, kube->shard_key, false);
        if (strcmp(pool != NULL ? pool : "", kube->shard_value) != 0) {
            kube->other_shards++;
            return ORR_NONE;
        }
        job = make_job(&g, rule, name);
    }
    if (job == ORR_NONE || model->jobs[job].set_count == 0) {
        return ORR_NONE;
    }
    *subset = rule->subset != NULL ? rule->subset(&g) : "";
    return job;
}

bool kube_is_grouped_kind(const char *kind, const char *version)
{
    /* Kinds in KAI's table that the default rule is for, and those below others that have one. */
    static const char *const plain[] = {"ReplicaSet",       "StatefulSet",
                                        "SeldonDeployment", "VirtualMachineInstance",
                                        "DevWorkspace",     "PipelineRun",
                                        "TaskRun",          "ScheduledWorkflow",
                                        "RunaiJob",         "Revision",
                                        "Configuration",    "PodClique",
                                        "PodGang",          "PodCliqueScalingGroup"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(plain[i], kind) == 0) {
            return true;
        }
    }
    return is_skipped(kind, version) || grouper_find(kind, version)->kind[0] != '\0';
}
