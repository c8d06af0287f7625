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

bool grouper_refuse(struct grouper *g, const char *why)
{
    g->why = why;
    return false;
}

bool grouper_atoi(const char *text, int64_t *out)
{
    int64_t number;
    if (!orr_parse_i64(text, strlen(text), &number) || number > INT32_MAX || number < INT32_MIN) {
        return false;
    }
    *out = number;
    return true;
}

bool grouper_whole(struct grouper *g, const struct import_value *map, const char *path,
                   int64_t *number, bool *found)
{
    const struct import_value *value = import_get(map, path);
    if (found != NULL) {
        *found = value != NULL;
    }
    if (value == NULL) {
        return true;
    }
    if (value->kind != IMPORT_TEXT || value->quoted || !grouper_atoi(value->text, number)) {
        return grouper_refuse(g, import_format(g->kube->load, "%s is not a whole number", path));
    }
    return true;
}

const char *grouper_numbered(struct grouper *g, const char *name, int64_t index)
{
    return import_format(g->kube->load, "%.200s-%lld", name, (long long)index);
}

uint32_t grouper_add_pods(struct import_job *job, const char *name, uint32_t parent, int64_t min)
{
    return import_add_set(job, name, parent, true, min < 0 ? 0 : min);
}

/* --- owners --- */

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

/* The first reference of the pod, then the only one of each owner, as KAI goes. */
static bool follow_owners(struct grouper *g)
{
    const struct import_value *at = g->pod;
    while (at != NULL && g->length < GROUPER_CHAIN_MAX) {
        const struct import_value *refs =
            import_list(g->kube->load, at, "metadata/ownerReferences");
        if (refs == NULL || refs->first == NULL) {
            break;
        }
        if (g->length > 0 && refs->count > 1) {
            return grouper_refuse(g, "an owner of its pods has several owners itself");
        }
        const struct import_value *ref = refs->first;
        struct grouper_owner *owner = &g->chain[g->length++];
        *owner =
            (struct grouper_owner){.kind = import_text(g->kube->load, ref, "kind", ""),
                                   .version = import_text(g->kube->load, ref, "apiVersion", ""),
                                   .name = import_text(g->kube->load, ref, "name", ""),
                                   .uid = import_text(g->kube->load, ref, "uid", "")};
        owner->object = find_owner(g->kube, owner->uid);
        if (made_by_deployment(g, owner)) {
            owner->kind = "Deployment";
            owner->version = "apps/v1";
        }
        at = owner->object;
    }
    return true;
}

/* From the top down past the kinds that only wrap others. */
static void choose_top(struct grouper *g)
{
    uint32_t left = g->length;
    while (left > 0 && grouper_find(g->chain[left - 1].kind, g->chain[left - 1].version)->skip) {
        left--;
        g->skipped++;
    }
    g->top = left > 0 ? left - 1 : g->length;
}

static const struct grouper_rule *choose_rule(const struct grouper *g)
{
    const bool pod = g->top >= g->length;
    const struct grouper_rule *rule =
        grouper_find(pod ? "Pod" : g->chain[g->top].kind, pod ? "v1" : g->chain[g->top].version);
    const bool spark = strcmp(rule->kind, "Pod") == 0 &&
                       import_label(g->pod_labels, "spark-app-name") != NULL &&
                       import_label(g->pod_labels, "spark-app-selector") != NULL;
    return spark ? &grouper_spark_rule : rule;
}

/* --- what all kinds have --- */

static const char *lookup(const struct import_value *object, const char *name, bool annotation)
{
    return import_label(annotation ? kube_annotations(object) : kube_labels(object), name);
}

/* Owners that are skipped fill the gaps in the metadata of the one below them. */
static const char *of_top(const struct grouper *g, const char *name, bool annotation)
{
    const char *text = lookup(grouper_top(g), name, annotation);
    for (uint32_t i = g->length - g->skipped; text == NULL && i < g->length; i++) {
        text = lookup(g->chain[i].object, name, annotation);
    }
    return text;
}

const char *grouper_top_label(const struct grouper *g, const char *name)
{
    return of_top(g, name, false);
}

const char *grouper_top_annotation(const struct grouper *g, const char *name)
{
    return of_top(g, name, true);
}

const char *grouper_pod_label(const struct grouper *g, const char *name)
{
    const char *text = import_label(g->pod_labels, name);
    return text != NULL ? text : "";
}

const char *grouper_pod_annotation(const struct grouper *g, const char *name)
{
    const char *text = import_label(kube_annotations(g->pod), name);
    return text != NULL ? text : "";
}

const char *grouper_worker_annotation(const struct grouper *g, const struct import_value *template,
                                      const char *name)
{
    const char *text = grouper_pod_annotation(g, name);
    text = text[0] != '\0' ? text : import_label(kube_annotations(template), name);
    return text != NULL ? text : "";
}

struct orr_constraint grouper_segment_constraint(const struct grouper *g,
                                                 const struct import_value *template)
{
    const char *topology = grouper_worker_annotation(g, template, GROUPER_TOPOLOGY);
    const char *of_owner = grouper_top_annotation(g, GROUPER_TOPOLOGY);
    const char *required =
        grouper_worker_annotation(g, template, "kai.scheduler/segment-topology-required-placement");
    const char *preferred = grouper_worker_annotation(
        g, template, "kai.scheduler/segment-topology-preferred-placement");
    topology = topology[0] != '\0' || of_owner == NULL ? topology : of_owner;
    if (topology[0] == '\0' || (required[0] == '\0' && preferred[0] == '\0')) {
        return (struct orr_constraint){0};
    }
    return (struct orr_constraint){.topology = topology,
                                   .required = required[0] != '\0' ? required : NULL,
                                   .preferred = preferred[0] != '\0' ? preferred : NULL};
}

static const char *of_subject(const struct grouper *g, const char *name, bool annotation)
{
    return g->subject_is_top ? of_top(g, name, annotation)
                             : lookup(g->subject.object, name, annotation);
}

static uint32_t owner_count(const struct grouper *g, const struct grouper_rule *rule)
{
    return rule->owners == GROUPER_OWNERS_CHAIN && g->top < g->length ? g->top + 1
           : rule->owners == GROUPER_OWNERS_SUBJECT_AND_TOP           ? 2
                                                                      : 1;
}

/* A label or annotation of one of the owners that the rule looks at, in their order. */
static const char *of_owner(const struct grouper *g, const struct grouper_rule *rule, uint32_t i,
                            const char *name, bool annotation)
{
    if (rule->owners == GROUPER_OWNERS_CHAIN && g->top < g->length) {
        return lookup(g->chain[i].object, name, annotation);
    }
    return i == 0 ? of_subject(g, name, annotation) : of_top(g, name, annotation);
}

static const char *subject_label_or_pods(const struct grouper *g, const char *name)
{
    const char *text = of_subject(g, name, false);
    return text != NULL ? text : import_label(g->pod_labels, name);
}

static const char *queue_of(const struct grouper *g)
{
    const char *queue = subject_label_or_pods(g, g->kube->queue_label);
    if (queue != NULL) {
        return queue;
    }
    const char *project = subject_label_or_pods(g, "project");
    const char *pool = import_label(g->pod_labels, g->kube->shard_key);
    if (project == NULL || project[0] == '\0') {
        return g->kube->queue_is_namespace ? kube_namespace(g->kube, g->pod) : "default-queue";
    }
    return pool != NULL ? import_format(g->kube->load, "%.250s-%.250s", project, pool) : project;
}

/* An owner's label hides the pod's label and class, also if it names no class. */
static const char *class_by_labels(const struct grouper *g, const struct grouper_rule *rule)
{
    for (uint32_t i = 0; i < owner_count(g, rule); i++) {
        const char *name = of_owner(g, rule, i, GROUPER_PRIORITY, false);
        name = name != NULL ? name : import_label(g->pod_labels, GROUPER_PRIORITY);
        name = name != NULL ? name : import_label(import_get(g->pod, "spec"), GROUPER_PRIORITY);
        int64_t ignored;
        if (name != NULL && kube_class_priority(g->kube, name, &ignored)) {
            return name;
        }
    }
    return NULL;
}

static int64_t priority_of(struct grouper *g, const struct grouper_rule *rule)
{
    const char *name = rule->priority != NULL ? rule->priority(g) : NULL;
    name = name != NULL ? name : class_by_labels(g, rule);
    if (name == NULL && g->kube->lists[KUBE_CONFIG_MAP].count > 0) {
        import_note(g->kube->model, "ConfigMaps are not read: if one of them gives kinds their "
                                    "priorities, say these by the label " GROUPER_PRIORITY);
    }
    int64_t priority;
    return kube_class_priority(g->kube, name != NULL ? name : rule->priority_class, &priority)
               ? priority
               : g->kube->default_priority;
}

/* The first that says either; NULL: priority decides. Other words are passed over. */
static const char *preemptibility_of(const struct grouper *g, const struct grouper_rule *rule)
{
    if (rule->owners == GROUPER_OWNERS_NONE) {
        return NULL;
    }
    const uint32_t owners = owner_count(g, rule);
    for (uint32_t i = 0; i <= owners; i++) {
        const char *text = i < owners ? of_owner(g, rule, i, GROUPER_PREEMPT, false)
                                      : import_label(g->pod_labels, GROUPER_PREEMPT);
        if (text != NULL && (text[0] == '\0' || strcmp(text, "preemptible") == 0 ||
                             strcmp(text, "non-preemptible") == 0)) {
            return text;
        }
    }
    return NULL;
}

/* The first that is a duration; of these, none below `least` counts. */
static orr_ms duration_of(struct grouper *g, const struct grouper_rule *rule, const char *name,
                          orr_ms least, orr_ms fallback)
{
    const uint32_t owners = rule->owners == GROUPER_OWNERS_NONE ? 0 : owner_count(g, rule);
    for (uint32_t i = 0; i <= owners && rule->owners != GROUPER_OWNERS_NONE; i++) {
        const char *text = i < owners ? of_owner(g, rule, i, name, true)
                                      : import_label(kube_annotations(g->pod), name);
        orr_ms span;
        if (text != NULL && import_duration(text, &span) && span >= least) {
            return span;
        }
        if (text != NULL) {
            import_note(g->kube->model, "annotation %s: not a duration, not heeded", name);
        }
    }
    return fallback;
}

static void fill_common(struct grouper *g, const struct grouper_rule *rule, struct import_job *job)
{
    job->priority = priority_of(g, rule);
    kube_set_preemptible(g->kube, job, preemptibility_of(g, rule), g->pod);
    job->preemption_delay = duration_of(g, rule, "kai.scheduler/preemption-delay", 0, 0);
    job->staleness_grace =
        duration_of(g, rule, "kai.scheduler/staleness-grace-period", INT64_MIN, ORR_MS_NONE);
    if (rule->owners != GROUPER_OWNERS_NONE) {
        job->sets[0].constraint =
            (struct orr_constraint){.topology = of_subject(g, GROUPER_TOPOLOGY, true),
                                    .required = of_subject(g, GROUPER_REQUIRED, true),
                                    .preferred = of_subject(g, GROUPER_PREFERRED, true)};
    }
}

/* --- the job --- */

static bool start(struct grouper *g, struct kube *kube, const struct import_value *pod,
                  const struct grouper_rule **rule)
{
    *g = (struct grouper){.kube = kube, .pod = pod, .pod_labels = kube_labels(pod)};
    if (!follow_owners(g)) {
        return false;
    }
    choose_top(g);
    *rule = choose_rule(g);
    g->subject_is_top = (*rule)->subject == NULL;
    g->subject =
        g->top < g->length
            ? g->chain[g->top]
            : (struct grouper_owner){.kind = "Pod",
                                     .name = kube_name(kube, pod),
                                     .uid = import_text(kube->load, pod, "metadata/uid", ""),
                                     .object = pod};
    return (*rule)->subject == NULL || (*rule)->subject(g);
}

static const char *name_of(struct grouper *g, const struct grouper_rule *rule)
{
    return rule->name != NULL
               ? rule->name(g)
               : import_format(g->kube->load, "pg-%.250s-%.100s", g->subject.name, g->subject.uid);
}

static bool asks_to_be_skipped(const struct grouper *g)
{
    static const char *const word = "kai.scheduler/skip-podgrouper";
    bool skip = strcmp(grouper_pod_annotation(g, word), "true") == 0;
    for (uint32_t i = 0; i < g->length; i++) {
        const char *text = lookup(g->chain[i].object, word, true);
        skip = skip || (text != NULL && strcmp(text, "true") == 0);
    }
    return skip;
}

static uint32_t make_job(struct grouper *g, const struct grouper_rule *rule, const char *name)
{
    struct import_model *model = g->kube->model;
    struct import_job *job = import_add_job(model, g->pod, name);
    if (job == NULL) {
        return ORR_NONE;
    }
    job->origin = rule->kind[0] != '\0' ? rule->kind
                  : g->length == 0      ? "Pod"
                                        : g->chain[g->top < g->length ? g->top : 0].kind;
    job->grouped = true;
    job->queue = queue_of(g);
    job->created_s = kube_created_s(g->kube, g->pod);
    return model->job_count - 1;
}

uint32_t kube_group_pod(struct kube *kube, const struct import_value *pod)
{
    struct import_model *model = kube->model;
    const struct grouper_rule *rule;
    struct grouper g;
    const bool grouped = start(&g, kube, pod, &rule);
    if (asks_to_be_skipped(&g)) {
        import_note(model, "a pod that asks not to be grouped is left out");
        return ORR_NONE;
    }
    if (!grouped || (rule->check != NULL && !rule->check(&g))) {
        import_note(model, "pod %.250s is not grouped: %s", kube_name(kube, pod), g.why);
        return ORR_NONE;
    }
    const char *name = name_of(&g, rule);
    uint32_t job = orr_idmap_find(&model->job_names, name, strlen(name));
    if (job == ORR_NONE) {
        const char *pool = subject_label_or_pods(&g, kube->shard_key);
        if (strcmp(pool != NULL ? pool : "", kube->shard_value) != 0) {
            kube->other_shards++;
            return ORR_NONE;
        }
        job = make_job(&g, rule, name);
    }
    if (job != ORR_NONE) {
        model->jobs[job].at = pod; /* the last pod writes the group */
    }
    return job;
}

void kube_finish_group(struct kube *kube, struct import_job *job)
{
    const struct grouper_rule *rule;
    struct grouper g;
    const bool started = start(&g, kube, job->at, &rule);
    ORR_ASSERT(started); /* kube_group_pod went the same way */
    fill_common(&g, rule, job);
    if (rule->fill != NULL && !rule->fill(&g, job)) {
        import_note(kube->model, "%s is not grouped: %s", job->name,
                    g.why != NULL ? g.why : "unknown");
        job->set_count = 0; /* there is no such group, and its pods are of none */
    } else if (job->set_count == 1) {
        (void)grouper_add_pods(job, "default", 0, 1);
    }
}

const char *kube_grouped_subset(struct kube *kube, const struct import_value *pod)
{
    const struct grouper_rule *rule;
    struct grouper g;
    const bool started = start(&g, kube, pod, &rule);
    ORR_ASSERT(started); /* kube_group_pod went the same way */
    const char *subset = rule->subset != NULL ? rule->subset(&g) : "";
    return subset[0] != '\0' ? subset : grouper_pod_label(&g, "kai.scheduler/subgroup-name");
}

bool kube_is_grouped_kind(const char *kind, const char *version)
{
    /* Kinds that stand between pods and one with a rule. */
    static const char *const between[] = {"Revision", "Configuration", "PodClique", "PodGang",
                                          "PodCliqueScalingGroup"};
    for (size_t i = 0; i < sizeof between / sizeof between[0]; i++) {
        if (strcmp(between[i], kind) == 0) {
            return true;
        }
    }
    return grouper_find(kind, version)->kind[0] != '\0';
}
