/* SPDX-License-Identifier: GPL-3.0-or-later */
/* history_objects.c - what single objects of Kubernetes say of pods and their jobs. */
#include <stdio.h>
#include <string.h>

#include <orrery/core/cluster.h>

#include "history.h"

/* --- times of a pod --- */

static orr_ms take_time(struct history *h, const struct import_value *map, const char *path)
{
    const orr_ms at = kube_time(&h->kube, map, path);
    history_saw(h, at);
    return at;
}

/* Its containers' last end; where they state none, when it stopped being ready. */
static orr_ms ended_of(struct history *h, const struct import_value *pod)
{
    orr_ms last = ORR_MS_NONE;
    IMPORT_EACH(status, import_list(&h->load, pod, "status/containerStatuses"))
    {
        const orr_ms at = take_time(h, status, "state/terminated/finishedAt");
        last = at != ORR_MS_NONE && (last == ORR_MS_NONE || at > last) ? at : last;
    }
    static const char *const types[] = {"ContainersReady", "Ready"};
    for (size_t i = 0; i < 2 && last == ORR_MS_NONE; i++) {
        const struct import_value *condition = kube_condition(pod, types[i]);
        if (condition != NULL && kube_condition_is(condition, "False")) {
            last = take_time(h, condition, "lastTransitionTime");
        }
    }
    return last;
}

/* deletionTimestamp is when its grace ends; it works until it is asked to go. */
static orr_ms leaving_of(struct history *h, const struct import_value *pod)
{
    const orr_ms at = kube_time(&h->kube, pod, "metadata/deletionTimestamp");
    const int64_t grace = import_int(&h->load, pod, "metadata/deletionGracePeriodSeconds", 0);
    const orr_ms left = at == ORR_MS_NONE || grace < 0 || grace > 1000000 ? at : at - grace * 1000;
    history_saw(h, left);
    return left;
}

static void take_times(struct history *h, const struct import_value *pod, struct history_pod *it)
{
    const char *phase = import_text(&h->load, pod, "status/phase", "");
    const char *reason = import_text(&h->load, pod, "status/reason", "");
    const orr_ms created = take_time(h, pod, "metadata/creationTimestamp");
    const struct import_value *disrupted = kube_condition(pod, "DisruptionTarget");
    const orr_ms bound = kube_bound_ms(&h->kube, pod);
    history_saw(h, bound);
    (void)take_time(h, pod, "status/startTime"); /* the clock is the newest time */
    it->created_ms = created != ORR_MS_NONE ? created : it->created_ms;
    it->bound_ms = bound != ORR_MS_NONE ? bound : it->bound_ms;
    const orr_ms leaving = leaving_of(h, pod);
    it->leaving_ms = leaving != ORR_MS_NONE ? leaving : it->leaving_ms;
    it->evicted = it->evicted || (disrupted != NULL && kube_condition_is(disrupted, "True")) ||
                  strcmp(reason, "Evicted") == 0 || strcmp(reason, "Preempting") == 0;
    const bool succeeded = strcmp(phase, "Succeeded") == 0;
    if (succeeded || strcmp(phase, "Failed") == 0) {
        const orr_ms ended = ended_of(h, pod);
        it->end = succeeded ? HISTORY_SUCCEEDED : HISTORY_FAILED;
        it->ended_ms = ended != ORR_MS_NONE ? ended : it->ended_ms;
    }
}

/* --- its shape --- */

uint32_t history_mig(struct history *h, uint32_t had, const char *profile, int64_t count)
{
    const char *more = import_instances(&h->load, profile, count);
    char same[ORR_MIG_NAME_MAX];
    uint32_t before;
    if (had == ORR_NONE) {
        return history_name(h, more);
    }
    const char *earlier = orr_idmap_name(&h->names, had);
    if (orr_mig_parse(earlier, same, &before) && strcmp(same, profile) == 0) {
        return history_name(h, import_instances(&h->load, profile, before + count));
    }
    return history_name(h, import_format(&h->load, "%s,%s", earlier, more));
}

static uint32_t mig_of(struct history *h, const struct import_request *request)
{
    uint32_t asked = ORR_NONE;
    for (uint32_t r = 0; r < h->model.resources.count; r++) {
        const char *mig = strstr(orr_idmap_name(&h->model.resources, r), "/mig-");
        const int64_t instances = request->vec.v[IMPORT_EXTENDED + r];
        if (mig != NULL && instances > 0) {
            asked = history_mig(h, asked, mig + 5, instances);
        }
    }
    return asked;
}

static struct history_shape shape_of(struct history *h, const struct import_request *request)
{
    return (struct history_shape){.kind = request->kind,
                                  .devices = request->devices,
                                  .gpus = request->vec.v[IMPORT_GPU],
                                  .portion_milli = (int64_t)(request->portion * 1000.0 + 0.5),
                                  .memory_mib = request->memory_mib,
                                  .cpu_milli = request->vec.v[IMPORT_CPU],
                                  .mem_mib = request->vec.v[IMPORT_MEMORY] / ORR_MIB,
                                  .mig =
                                      request->kind == ORR_ASK_MIG ? mig_of(h, request) : ORR_NONE};
}

/* --- its job --- */

static const struct import_value *owner_of(struct history *h, const struct import_value *pod)
{
    const struct import_value *first = NULL;
    IMPORT_EACH(owner, import_list(&h->load, pod, "metadata/ownerReferences"))
    {
        first = first != NULL ? first : owner;
        if (import_bool(&h->load, owner, "controller", false)) {
            return owner;
        }
    }
    return first;
}

static const char *group_of(const struct import_value *pod)
{
    const struct import_value *annotations = kube_annotations(pod);
    const char *group = import_label(annotations, "pod-group-name");
    group = group != NULL ? group : import_label(annotations, "scheduling.k8s.io/group-name");
    return group != NULL && group[0] != '\0' ? group : NULL;
}

static void join(struct history *h, const struct import_value *pod, struct history_pod *it,
                 const char *uid)
{
    const char *space = kube_namespace(&h->kube, pod), *group = group_of(pod);
    const struct import_value *owner = owner_of(h, pod);
    const char *owner_name = owner != NULL ? import_text(&h->load, owner, "name", "") : "";
    const char *owner_kind = owner != NULL ? import_text(&h->load, owner, "kind", "") : "Pod";
    const char *key = import_format(&h->load, "pod/%.200s", uid), *name = kube_name(&h->kube, pod);
    enum history_rank rank = HISTORY_ITSELF;
    if (group != NULL) {
        key = import_format(&h->load, "group/%.250s/%.250s", space, group);
        name = group;
        rank = HISTORY_GROUP;
    } else if (owner_name[0] != '\0') {
        const char *of = import_text(&h->load, owner, "uid", owner_name);
        key = import_format(&h->load, "owner/%.250s/%.250s", space, of);
        name = owner_name;
        rank = HISTORY_OWNER;
    }
    history_join(it, rank, history_job(h, key, space, name));
    it->origin = history_name(h, owner_kind);
}

static void take_labels(struct history *h, const struct import_value *pod, struct history_pod *it)
{
    static const char *const queues[] = {"kai.scheduler/queue", "kueue.x-k8s.io/queue-name",
                                         "volcano.sh/queue-name", "project"};
    for (size_t i = 0; i < 4 && it->queue == ORR_NONE; i++) {
        it->queue = history_name(h, import_label(kube_labels(pod), queues[i]));
    }
    const char *user = import_label(kube_labels(pod), "user");
    const char *class_name = import_text(&h->load, pod, "spec/priorityClassName", "");
    const char *scheduler = import_text(&h->load, pod, "spec/schedulerName", "kai-scheduler");
    it->other_scheduler = strcmp(scheduler, "kai-scheduler") != 0;
    it->user = history_name(h, user != NULL ? user : kube_namespace(&h->kube, pod));
    it->priority = import_int(&h->load, pod, "spec/priority", 0);
    it->has_priority = import_get(pod, "spec/priority") != NULL ||
                       kube_class_priority(&h->kube, class_name, &it->priority);
}

/* --- objects --- */

/* Those of other schedulers that ask for no GPU are of no interest. */
static bool is_asked_for(const struct import_value *pod, const struct import_request *request)
{
    const char *scheduler = import_label(import_get(pod, "spec"), "schedulerName");
    return request->kind != ORR_ASK_NO_GPU || group_of(pod) != NULL ||
           (scheduler != NULL && strcmp(scheduler, "kai-scheduler") == 0);
}

static void see_pod(struct history *h, const struct import_value *pod, orr_ms at, bool listed)
{
    const struct import_request request = kube_read_request(&h->kube, pod);
    const char *app = import_label(kube_labels(pod), "app");
    if (!is_asked_for(pod, &request) ||
        (app != NULL && strcmp(app, h->kube.reservation_app) == 0)) {
        h->passed_over++;
        return;
    }
    const char *name = import_format(&h->load, "%.250s/%.250s", kube_namespace(&h->kube, pod),
                                     kube_name(&h->kube, pod));
    const char *uid = import_text(&h->load, pod, "metadata/uid", name);
    struct history_pod *it = history_pod(h, uid);
    bool added;
    const uint32_t named = orr_idmap_put(&h->pod_names, name, strlen(name), &added);
    h->latest = named < h->latest_capacity ? h->latest
                                           : ORR_ROOM_FOR_ONE(h->latest, named, h->latest_capacity);
    h->latest[named] = (uint32_t)(it - h->pods);
    it->shape = shape_of(h, &request);
    take_times(h, pod, it);
    join(h, pod, it, uid);
    take_labels(h, pod, it);
    at = at != ORR_MS_NONE ? at : h->newest;
    it->seen_ms =
        at != ORR_MS_NONE && (it->seen_ms == ORR_MS_NONE || at > it->seen_ms) ? at : it->seen_ms;
    it->listed = it->listed || listed;
    if (it->end != HISTORY_RUNS && it->ended_ms == ORR_MS_NONE) {
        it->ended_ms = it->seen_ms;
    }
}

static int64_t member_of(struct history *h, const struct import_value *spec)
{
    const int64_t min = import_int(&h->load, spec, "minMember", 0);
    return min > 0 && min < 1000000 ? min : 0;
}

/* Of subgroups those pods that the gang needs in all. */
static int64_t min_of(struct history *h, const struct import_value *spec)
{
    int64_t below = 0;
    IMPORT_EACH(group, import_list(&h->load, spec, "subGroups"))
    {
        below += member_of(h, group);
    }
    const int64_t min = member_of(h, spec);
    return min > below ? min : below;
}

static void see_group(struct history *h, const struct import_value *group)
{
    const struct import_value *spec = import_map(&h->load, group, "spec");
    const char *space = kube_namespace(&h->kube, group), *name = kube_name(&h->kube, group);
    const char *key = import_format(&h->load, "group/%.250s/%.250s", space, name);
    const uint32_t index = history_job(h, key, space, name);
    struct history_job *job = &h->jobs[index];
    const uint32_t queue = history_name(h, import_text(&h->load, spec, "queue", ""));
    const char *preemptibility = import_text(&h->load, spec, "preemptibility", "");
    int64_t priority = h->kube.default_priority;
    (void)kube_class_priority(&h->kube, import_text(&h->load, spec, "priorityClassName", ""),
                              &priority);
    job->queue = queue != ORR_NONE ? queue : job->queue;
    job->min_pods = min_of(h, spec);
    job->created_ms = take_time(h, group, "metadata/creationTimestamp");
    job->has_group = true;
    job->priority = priority;
    job->has_preemptible = preemptibility[0] != '\0';
    job->preemptible = strcmp(preemptibility, "preemptible") == 0;
}

void history_see(struct history *h, const struct import_value *object, orr_ms at, bool listed)
{
    const char *kind = kube_kind_of(object);
    const bool is_pod = strcmp(kind, "Pod") == 0 ||
                        (kind[0] == '\0' && import_get(object, "spec/containers") != NULL);
    const bool is_group = strcmp(kind, "PodGroup") == 0 ||
                          (kind[0] == '\0' && import_get(object, "spec/queue") != NULL);
    if (is_pod) {
        see_pod(h, object, at, listed);
    } else if (is_group) {
        see_group(h, object);
    } else if (strcmp(kind, "PriorityClass") == 0 ||
               (kind[0] == '\0' && import_get(object, "value") != NULL)) {
        kube_read_class(&h->kube, object);
    }
}

/* --- logs --- */

/* The log has come as far as the newest time in it. */
static orr_ms stream_time(struct history *h)
{
    h->stream = h->newest != ORR_MS_NONE && (h->stream == ORR_MS_NONE || h->newest > h->stream)
                    ? h->newest
                    : h->stream;
    return h->stream;
}

static struct history_pod *known_pod(struct history *h, const struct import_value *object)
{
    const char *uid = import_label(import_get(object, "metadata"), "uid");
    const uint32_t index = uid == NULL ? ORR_NONE : orr_idmap_find(&h->pod_ids, uid, strlen(uid));
    return index == ORR_NONE ? NULL : &h->pods[index];
}

static void be_gone(struct history_pod *pod, orr_ms at)
{
    if (pod != NULL && at != ORR_MS_NONE && (pod->gone_ms == ORR_MS_NONE || at < pod->gone_ms)) {
        pod->gone_ms = at;
    }
}

void history_see_watch(struct history *h, const struct import_value *event)
{
    const char *type = import_text(&h->load, event, "type", "");
    const struct import_value *object = import_map(&h->load, event, "object");
    if (object == NULL || strcmp(type, "BOOKMARK") == 0 || strcmp(type, "ERROR") == 0) {
        return;
    }
    const struct history_pod *before = known_pod(h, object);
    const orr_ms seen = before != NULL ? before->seen_ms : ORR_MS_NONE;
    h->newest = ORR_MS_NONE;
    history_see(h, object, ORR_MS_NONE, false);
    if (strcmp(type, "DELETED") == 0) {
        struct history_pod *pod = known_pod(h, object);
        be_gone(pod, stream_time(h));
        if (pod != NULL && seen != ORR_MS_NONE && pod->leaving_ms == ORR_MS_NONE) {
            pod->seen_ms = seen; /* its last state is older than its end */
        }
    }
    (void)stream_time(h);
}

static struct history_pod *referred_pod(struct history *h, const struct import_value *reference)
{
    const char *uid = import_text(&h->load, reference, "uid", "");
    uint32_t index = orr_idmap_find(&h->pod_ids, uid, strlen(uid));
    if (index == ORR_NONE) {
        const char *name = import_format(&h->load, "%.250s/%.250s",
                                         import_text(&h->load, reference, "namespace", ""),
                                         import_text(&h->load, reference, "name", ""));
        const uint32_t named = orr_idmap_find(&h->pod_names, name, strlen(name));
        index = named == ORR_NONE ? ORR_NONE : h->latest[named];
    }
    return index == ORR_NONE ? NULL : &h->pods[index];
}

void history_see_audit(struct history *h, const struct import_value *event)
{
    const struct import_value *reference = import_map(&h->load, event, "objectRef");
    const char *resource = import_text(&h->load, reference, "resource", "");
    const char *part = import_text(&h->load, reference, "subresource", "");
    const char *verb = import_text(&h->load, event, "verb", "");
    const bool pods = strcmp(resource, "pods") == 0, groups = strcmp(resource, "podgroups") == 0;
    if (strcmp(import_text(&h->load, event, "stage", "ResponseComplete"), "ResponseComplete") !=
            0 ||
        import_int(&h->load, event, "responseStatus/code", 200) >= 300 || (!pods && !groups)) {
        return;
    }
    h->newest = ORR_MS_NONE;
    orr_ms at = take_time(h, event, "stageTimestamp");
    at = at != ORR_MS_NONE ? at / 1000 * 1000 : at; /* as objects state their times */
    const struct import_value *object = import_get(event, "responseObject");
    const bool whole =
        object != NULL && object->kind == IMPORT_MAP &&
        (strcmp(kube_kind_of(object), "Pod") == 0 || strcmp(kube_kind_of(object), "PodGroup") == 0);
    if (whole) {
        history_see(h, object, at, false);
    }
    struct history_pod *pod = pods ? referred_pod(h, reference) : NULL;
    h->without_object += pods && !whole && pod == NULL;
    if (pod == NULL || at == ORR_MS_NONE) {
        return;
    }
    if (strcmp(part, "binding") == 0 && pod->bound_ms == ORR_MS_NONE) {
        pod->bound_ms = at;
    } else if (strcmp(part, "eviction") == 0 || (part[0] == '\0' && strcmp(verb, "delete") == 0)) {
        pod->evicted = pod->evicted || part[0] != '\0';
        pod->leaving_ms =
            pod->leaving_ms == ORR_MS_NONE || at < pod->leaving_ms ? at : pod->leaving_ms;
    }
    if (pod->seen_ms == ORR_MS_NONE || at > pod->seen_ms) {
        pod->seen_ms = at;
    }
}
