/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PodGroups: priority, preemptibility and the tree of subgroups. */
#include <ctype.h>
#include <string.h>

#include <orrery/base/text.h>

#include "kube.h"

#define SUBGROUPS_MAX 2000

static struct orr_constraint constraint_of(struct kube *kube, const struct import_value *spec)
{
    const struct import_value *from = import_map(kube->load, spec, "topologyConstraint");
    const char *topology = import_text(kube->load, from, "topology", "");
    const char *required = import_text(kube->load, from, "requiredTopologyLevel", "");
    const char *preferred = import_text(kube->load, from, "preferredTopologyLevel", "");
    return (struct orr_constraint){.topology = topology[0] != '\0' ? topology : NULL,
                                   .required = required[0] != '\0' ? required : NULL,
                                   .preferred = preferred[0] != '\0' ? preferred : NULL};
}

/* KAI: stated, or by priority: what is below 100 can be preempted. */
void kube_set_preemptible(struct kube *kube, struct import_job *job, const char *preemptibility,
                          const struct import_value *at)
{
    job->preemptible = job->priority < 100;
    if (preemptibility == NULL || preemptibility[0] == '\0') {
        return;
    }
    if (strcmp(preemptibility, "preemptible") != 0 &&
        strcmp(preemptibility, "non-preemptible") != 0) {
        import_fail(kube->load, at,
                    "preemptibility: \"%.60s\" is neither preemptible nor "
                    "non-preemptible",
                    preemptibility);
        return;
    }
    job->preemptible = strcmp(preemptibility, "preemptible") == 0;
}

static int64_t at_least_0(int64_t number)
{
    return number < 0 ? 0 : number > INT32_MAX ? INT32_MAX : number;
}

/* --- the tree of subgroups --- */

static const char *lower(struct kube *kube, const char *text)
{
    char *copy = orr_arena_strndup(kube->load->arena, text, strlen(text));
    for (char *c = copy; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    return copy;
}

static uint32_t find_set(const struct import_job *job, const char *name)
{
    for (uint32_t s = 1; s < job->set_count; s++) {
        if (strcmp(job->sets[s].name, name) == 0) {
            return s;
        }
    }
    return ORR_NONE;
}

static bool has_child(struct kube *kube, const struct import_value *groups, const char *name)
{
    IMPORT_EACH(group, groups)
    {
        const char *parent = import_text(kube->load, group, "parent", "");
        if (parent[0] != '\0' && strcmp(lower(kube, parent), name) == 0) {
            return true;
        }
    }
    return false;
}

static void add_subgroup(struct kube *kube, struct import_job *job,
                         const struct import_value *groups, const struct import_value *group,
                         uint32_t parent)
{
    const char *name = import_text(kube->load, group, "name", "");
    const bool is_set = has_child(kube, groups, name);
    const int64_t least = import_int(kube->load, group, "minSubGroup", -1);
    const int64_t pods = at_least_0(import_int(kube->load, group, "minMember", 0));
    const uint32_t set = import_add_set(job, name, parent, !is_set, is_set ? least : pods);
    job->sets[set].constraint = constraint_of(kube, group);
}

/* Parents before children, in as many passes as the tree is deep. False: a name twice, a parent
 * that nobody is, or a circle. */
static bool add_subgroups(struct kube *kube, struct import_job *job,
                          const struct import_value *groups)
{
    uint32_t added = 0;
    for (bool more = true; more && import_ok(kube->load);) {
        more = false;
        IMPORT_EACH(group, groups)
        {
            const char *name = import_text(kube->load, group, "name", "");
            const char *above = import_text(kube->load, group, "parent", "");
            const uint32_t parent = above[0] == '\0' ? 0 : find_set(job, lower(kube, above));
            if (parent != ORR_NONE && find_set(job, name) == ORR_NONE &&
                !job->sets[parent].is_pods) {
                add_subgroup(kube, job, groups, group, parent);
                added++;
                more = true;
            }
        }
    }
    return added == groups->count;
}

static void add_sets(struct kube *kube, struct import_job *job, const struct import_value *spec)
{
    const struct import_value *groups = import_list(kube->load, spec, "subGroups");
    job->sets[0].constraint = constraint_of(kube, spec);
    if (groups != NULL && groups->count > SUBGROUPS_MAX) {
        import_fail(kube->load, groups, "more than %d subgroups", SUBGROUPS_MAX);
        return;
    }
    if (groups != NULL && groups->count > 0) {
        job->sets[0].min = import_int(kube->load, spec, "minSubGroup", -1);
        if (add_subgroups(kube, job, groups) || !import_ok(kube->load)) {
            return;
        }
        /* KAI discards such a tree whole. */
        import_note(kube->model,
                    "subgroups with a name twice, an unknown parent or a circle are discarded, as "
                    "KAI does: one pod set of minimum 1");
        job->set_count = 1;
        job->sets[0].min = -1;
        (void)import_add_set(job, "default", 0, true, 1);
        return;
    }
    (void)import_add_set(job, "default", 0, true,
                         at_least_0(import_int(kube->load, spec, "minMember", 1)));
}

/* --- the object --- */

static orr_ms annotated_time(struct kube *kube, const struct import_value *group, const char *name)
{
    const struct import_value *annotations = kube_annotations(group);
    const char *text = import_label(annotations, name);
    orr_ms at = ORR_MS_NONE;
    if (text == NULL || text[0] == '\0') {
        return ORR_MS_NONE;
    }
    if (!import_time(text, &at)) {
        import_fail(kube->load, annotations, "%s: \"%.60s\" is not a time", name, text);
        return ORR_MS_NONE;
    }
    import_saw(kube->model, at);
    return at;
}

/* KAI GetLastSchedulingCondition: the one with the largest transitionID, the first of equal ones;
 * what is no number is less than any. NULL: there is none. */
static const struct import_value *last_condition(const struct import_value *group)
{
    const struct import_value *last = NULL;
    int64_t last_id = 0;
    IMPORT_EACH(condition, import_get(group, "status/schedulingConditions"))
    {
        const char *text = import_label(condition, "transitionID");
        int64_t id = -1;
        if (text == NULL || !orr_parse_i64(text, strlen(text), &id)) {
            id = -1;
        }
        if (last == NULL || id > last_id) {
            last = condition;
            last_id = id;
        }
    }
    return last;
}

/* Left out of KAI's snapshots: tried, and last found unschedulable in this node pool. */
static bool backs_off(struct kube *kube, const struct import_value *group)
{
    const struct import_value *last = last_condition(group);
    if (last == NULL || import_int(kube->load, group, "spec/schedulingBackoff", -1) == -1) {
        return false;
    }
    const char *pool = import_label(last, "nodePool");
    return strcmp(pool == NULL || strcmp(pool, "default") == 0 ? "" : pool, kube->shard_value) == 0;
}

static void read_pod_group(struct kube *kube, const struct import_value *object)
{
    const char *name = kube_name(kube, object);
    if (orr_idmap_find(&kube->model->job_names, name, strlen(name)) != ORR_NONE) {
        import_note(kube->model,
                    "two PodGroups are named %.100s: to KAI they are one; the first is "
                    "taken",
                    name);
        return;
    }
    struct import_job *job = import_add_job(kube->model, object, name);
    if (job == NULL) {
        return;
    }
    const struct import_value *spec = import_map(kube->load, object, "spec");
    const char *class_name = import_text(kube->load, spec, "priorityClassName", "");
    job->origin = "PodGroup";
    job->queue = import_text(kube->load, spec, "queue", "");
    if (!kube_class_priority(kube, class_name, &job->priority)) {
        job->priority = kube->default_priority;
    }
    kube_set_preemptible(kube, job, import_text(kube->load, spec, "preemptibility", ""), object);
    job->created_s = kube_created_s(kube, object);
    job->last_start = annotated_time(kube, object, "kai.scheduler/last-start-timestamp");
    job->last_eviction = annotated_time(kube, object, "kai.scheduler/last-eviction-timestamp");
    job->stale_since = annotated_time(kube, object, "kai.scheduler/stale-podgroup-timestamp");
    job->preemption_delay = kube_duration(kube, spec, "preemptionDelay", 0);
    job->staleness_grace = kube_duration(kube, spec, "stalenessGracePeriod", ORR_MS_NONE);
    job->back_off = backs_off(kube, object);
    add_sets(kube, job, spec);
}

void kube_read_pod_groups(struct kube *kube)
{
    const struct kube_list *list = &kube->lists[KUBE_POD_GROUP];
    for (uint32_t i = 0; i < list->count && import_ok(kube->load); i++) {
        const char *name = kube_name(kube, list->items[i]);
        (void)orr_idmap_put(&kube->pod_groups, name, strlen(name), NULL);
        if (kube_in_shard(kube, list->items[i])) {
            read_pod_group(kube, list->items[i]);
        }
    }
}
