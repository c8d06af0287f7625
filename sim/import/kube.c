/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts objects by kind and reads them in the order in which they refer to each other.
 *
 *   documents -> lists by kind -> config -> classes, nodes, queues, topologies -> PodGroups -> pods
 */
#include "kube.h"

#include <orrery/base/text.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *kind, *list;
} kinds[] = {
#define X(name, kind, list) {kind, list},
    KUBE_KIND_LIST(X)
#undef X
};

const char *kube_kind_of(const struct import_value *object)
{
    const char *kind = import_label(object, "kind");
    return kind != NULL ? kind : "";
}

static void push(struct kube_list *list, const struct import_value *object)
{
    list->items = ORR_ROOM_FOR_ONE(list->items, list->count, list->capacity);
    list->items[list->count++] = object;
}

/* False if it is there already. */
static bool put_owner(struct kube *kube, const char *uid, const struct import_value *object)
{
    bool added;
    const uint32_t id = orr_idmap_put(&kube->owners, uid, strlen(uid), &added);
    if (added) {
        kube->owner_values =
            ORR_ROOM_FOR_ONE(kube->owner_values, kube->owners.count - 1, kube->owner_capacity);
        kube->owner_values[id] = object;
    }
    return added;
}

static void put_object(struct kube *kube, const struct import_value *object)
{
    const char *key = import_format(kube->load, "%.100s/%.250s/%.250s", kube_kind_of(object),
                                    kube_namespace(kube, object), kube_name(kube, object));
    bool added;
    const uint32_t id = orr_idmap_put(&kube->objects, key, strlen(key), &added);
    if (added) {
        kube->object_values = ORR_ROOM_FOR_ONE(kube->object_values, id, kube->object_capacity);
        kube->object_values[id] = object;
    }
}

const struct import_value *kube_object(struct kube *kube, const char *kind,
                                       const struct import_value *near, const char *name)
{
    const char *key =
        import_format(kube->load, "%.100s/%.250s/%.250s", kind, kube_namespace(kube, near), name);
    const uint32_t id = orr_idmap_find(&kube->objects, key, strlen(key));
    return id != ORR_NONE ? kube->object_values[id] : NULL;
}

static enum kube_kind find_kind(const char *kind)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (strcmp(kinds[k].kind, kind) == 0) {
            return (enum kube_kind)k;
        }
    }
    return KUBE_OWNER;
}

/* Kubernetes has a few kinds twice: another API group's Topology or Queue is none of KAI's. */
static bool is_ours(enum kube_kind kind, const struct import_value *object)
{
    static const char *const groups[KUBE_KINDS] = {[KUBE_QUEUE] = "scheduling.run.ai/",
                                                   [KUBE_POD_GROUP] = "scheduling.run.ai/",
                                                   [KUBE_BIND_REQUEST] = "scheduling.run.ai/",
                                                   [KUBE_TOPOLOGY] = "kai.scheduler/",
                                                   [KUBE_SHARD] = "kai.scheduler/"};
    const char *version = import_label(object, "apiVersion");
    return groups[kind] == NULL || version == NULL ||
           strncmp(version, groups[kind], strlen(groups[kind])) == 0;
}

static void add_object(struct kube *kube, const struct import_value *object)
{
    if (object->kind == IMPORT_NULL) {
        return;
    }
    if (object->kind != IMPORT_MAP) {
        import_fail(kube->load, object,
                    "an object belongs here: of Kubernetes, of KAI's snapshot, or a Snapshot");
        return;
    }
    const char *word = import_text(kube->load, object, "kind", "");
    const char *version = import_label(object, "apiVersion");
    if (version != NULL && strncmp(version, "orrery/", 7) == 0) {
        import_fail(kube->load, object, "a %.60s is not a cluster's state", word);
        return;
    }
    if (word[0] == '\0') {
        import_fail(kube->load, object, "an object needs a kind");
        return;
    }
    enum kube_kind kind = find_kind(word);
    if (kind != KUBE_OWNER && !is_ours(kind, object)) {
        import_note(kube->model, "%s of %s is not KAI's and not heeded", word,
                    import_text(kube->load, object, "apiVersion", ""));
        return;
    }
    if (strcmp(word, "Karta") == 0) {
        import_note(kube->model, "instructions of a Karta are not heeded: pods of its kind are "
                                 "grouped as those of kinds unknown");
        return;
    }
    const char *uid = import_text(kube->load, object, "metadata/uid", "");
    if (uid[0] == '\0') {
        uid = import_format(kube->load, "%s/%s/%s", word, kube_namespace(kube, object),
                            kube_name(kube, object));
    }
    bool added;
    if (kind == KUBE_OWNER) {
        added = put_owner(kube, uid, object);
    } else {
        const char *known = import_format(kube->load, "%s/%s", word, uid);
        (void)orr_idmap_put(&kube->seen, known, strlen(known), &added);
    }
    if (!added) {
        import_note(kube->model, "a %s that is given twice is taken once", word);
        return;
    }
    if (kind == KUBE_POD) {
        (void)put_owner(kube, uid, object); /* the leader of a LeaderWorkerSet owns its workers */
    }
    if (kind == KUBE_OWNER && version != NULL && strncmp(version, "kueue.x-k8s.io/", 15) == 0) {
        import_note(kube->model,
                    "%s is Kueue's: `orrery schedule --policy kueue` decides on it, and "
                    "`queues: {from: FILE}` of a scenario takes it; kai does neither",
                    word);
    } else if (kind == KUBE_OWNER && !kube_is_grouped_kind(word, version != NULL ? version : "")) {
        import_note(kube->model, "kind %s has no rule of its own here", word);
    }
    if (kind == KUBE_OWNER) {
        put_object(kube, object);
    }
    push(&kube->lists[kind], object);
}

/* Objects of KAI's snapshot bear no kind: their list tells. */
static void add_snapshot(struct kube *kube, const struct import_value *document)
{
    kube->snapshot = document;
    const struct import_value *raw = import_map(kube->load, document, "rawObjects");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        IMPORT_EACH(object, import_list(kube->load, raw, kinds[k].list))
        {
            if (object->kind == IMPORT_MAP) {
                push(&kube->lists[k], object);
                const char *uid = import_text(kube->load, object, "metadata/uid", "");
                if (k == KUBE_POD && uid[0] != '\0') {
                    (void)put_owner(kube, uid, object);
                }
            } else if (object->kind != IMPORT_NULL) {
                import_fail(kube->load, object, "an object belongs here");
            }
        }
    }
}

static void add_document(struct kube *kube, const struct import_value *document)
{
    if (document->kind == IMPORT_LIST) {
        IMPORT_EACH(object, document)
        {
            add_object(kube, object);
        }
    } else if (import_get(document, "rawObjects") != NULL) {
        if (kube->snapshot != NULL) {
            import_fail(kube->load, document, "a second snapshot: one cluster at a time");
            return;
        }
        add_snapshot(kube, document);
    } else if (document->kind == IMPORT_MAP && orr_ends_with(kube_kind_of(document), "List")) {
        IMPORT_EACH(object, import_list(kube->load, document, "items"))
        {
            add_object(kube, object);
        }
    } else {
        add_object(kube, document);
    }
}

const char *kube_name(struct kube *kube, const struct import_value *object)
{
    return import_text(kube->load, object, "metadata/name", "");
}

const char *kube_namespace(struct kube *kube, const struct import_value *object)
{
    return import_text(kube->load, object, "metadata/namespace", "default");
}

/* What is no object has no keys to look at. */
static const struct import_value *get_map(const struct import_value *object, const char *path)
{
    const struct import_value *value = import_get(object, path);
    return value != NULL && value->kind == IMPORT_MAP ? value : NULL;
}

const struct import_value *kube_labels(const struct import_value *object)
{
    return get_map(object, "metadata/labels");
}

const struct import_value *kube_annotations(const struct import_value *object)
{
    return get_map(object, "metadata/annotations");
}

orr_ms kube_time(struct kube *kube, const struct import_value *map, const char *path)
{
    const char *text = import_text(kube->load, map, path, NULL);
    orr_ms at = ORR_MS_NONE;
    if (text != NULL && !import_time(text, &at)) {
        import_fail(kube->load, import_get(map, path), "%s: \"%.60s\" is not a time", path, text);
        return ORR_MS_NONE;
    }
    return at;
}

orr_ms kube_duration(struct kube *kube, const struct import_value *map, const char *path,
                     orr_ms fallback)
{
    const char *text = import_text(kube->load, map, path, NULL);
    orr_ms span = fallback;
    if (text != NULL && text[0] != '\0' && !import_duration(text, &span)) {
        import_fail(kube->load, import_get(map, path), "%s: \"%.60s\" is not a duration", path,
                    text);
    }
    return span;
}

const struct import_value *kube_condition(const struct import_value *object, const char *type)
{
    IMPORT_EACH(condition, import_get(object, "status/conditions"))
    {
        const char *word = import_label(condition, "type");
        if (word != NULL && strcmp(word, type) == 0) {
            return condition;
        }
    }
    return NULL;
}

bool kube_condition_is(const struct import_value *condition, const char *status)
{
    const char *word = import_label(condition, "status");
    return word != NULL && strcmp(word, status) == 0;
}

orr_ms kube_bound_ms(struct kube *kube, const struct import_value *pod)
{
    const struct import_value *scheduled = kube_condition(pod, "PodScheduled");
    const orr_ms bound = scheduled != NULL && kube_condition_is(scheduled, "True")
                             ? kube_time(kube, scheduled, "lastTransitionTime")
                             : ORR_MS_NONE;
    return bound != ORR_MS_NONE ? bound : kube_time(kube, pod, "status/startTime");
}

void kube_saw_start(struct kube *kube, const struct import_value *pod)
{
    const orr_ms at = kube_time(kube, pod, "status/startTime");
    if (at != ORR_MS_NONE) {
        import_saw(kube->model, at);
    }
}

int64_t kube_created_s(struct kube *kube, const struct import_value *object)
{
    const orr_ms at = kube_time(kube, object, "metadata/creationTimestamp");
    if (at == ORR_MS_NONE) {
        return 0;
    }
    import_saw(kube->model, at);
    return at / 1000;
}

bool kube_in_shard(struct kube *kube, const struct import_value *object)
{
    const char *value = import_label(kube_labels(object), kube->shard_key);
    const bool in = strcmp(value != NULL ? value : "", kube->shard_value) == 0;
    kube->other_shards += !in;
    return in;
}

void kube_init(struct kube *kube, struct import_model *model)
{
    *kube = (struct kube){.model = model,
                          .load = model->load,
                          .default_priority = 50,
                          .shard_key = "kai.scheduler/node-pool",
                          .shard_value = "",
                          .scheduler_name = "kai-scheduler",
                          .queue_label = "kai.scheduler/queue",
                          .reservation_app = "kai-resource-reservation",
                          .cpu_worker = "node-role.kubernetes.io/cpu-worker",
                          .gpu_worker = "node-role.kubernetes.io/gpu-worker",
                          .mig_worker = "node-role.kubernetes.io/mig-enabled",
                          .stuck_after = 120 * 1000};
    orr_idmap_init(&kube->classes);
    orr_idmap_init(&kube->bindings);
    orr_idmap_init(&kube->owners);
    orr_idmap_init(&kube->seen);
    orr_idmap_init(&kube->objects);
    orr_idmap_init(&kube->gang_pods);
    orr_idmap_init(&kube->pod_groups);
    orr_idmap_init(&kube->claims);
}

void kube_release(struct kube *kube)
{
    for (int k = 0; k < KUBE_KINDS; k++) {
        orr_free(kube->lists[k].items);
    }
    orr_free(kube->class_values);
    orr_free(kube->binding_values);
    orr_free(kube->owner_values);
    orr_free(kube->object_values);
    orr_free(kube->gang_groups);
    orr_free(kube->pod_jobs);
    orr_free(kube->claim_counted);
    orr_idmap_release(&kube->classes);
    orr_idmap_release(&kube->bindings);
    orr_idmap_release(&kube->owners);
    orr_idmap_release(&kube->seen);
    orr_idmap_release(&kube->objects);
    orr_idmap_release(&kube->gang_pods);
    orr_idmap_release(&kube->pod_groups);
    orr_idmap_release(&kube->claims);
}

void import_read_kube(struct import_model *model, struct import_file *const *files, uint32_t count,
                      const struct orr_snapshot_options *options)
{
    struct kube kube;
    kube_init(&kube, model);
    for (uint32_t f = 0; f < count; f++) {
        IMPORT_EACH(document, files[f]->documents)
        {
            add_document(&kube, document);
        }
    }
    model->form = kube.snapshot != NULL ? "KAI snapshot" : "Kubernetes objects";
    void (*const steps[])(struct kube *) = {
        kube_read_classes,    kube_read_nodes,      kube_read_queues, kube_make_queues,
        kube_read_topologies, kube_read_pod_groups, kube_read_pods,   kube_note_unknown};
    if (import_ok(model->load)) {
        kube_read_config(&kube, options);
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && import_ok(model->load); i++) {
        steps[i](&kube);
    }
    if (kube.other_shards > 0) {
        import_note(model,
                    "%u object%s of other shards (nodes, queues, jobs) left out: see --shard",
                    kube.other_shards, ORR_PLURAL(kube.other_shards));
    }
    kube_note_left(&kube);
    kube_release(&kube);
}
