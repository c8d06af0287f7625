/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts objects by kind and reads them in the order in which they refer to each other. */
#include <math.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/kueue_fields.h>

#include "kueue_input.h"

static const char *const kinds[] = {
#define X(name, kind) kind,
    KUEUE_KIND_LIST(X)
#undef X
};

const char *import_kueue_name(struct kueue_input *input, const struct import_value *object)
{
    const char *name = import_text(input->load, object, "metadata/name", "");
    if (name[0] == '\0') {
        import_fail(input->load, object, "it needs metadata.name");
    }
    return name;
}

/* Kubernetes has a few kinds twice: KAI's Topology is none of Kueue's. */
static bool is_kueues(const struct import_value *object)
{
    const char *version = import_label(object, "apiVersion");
    return version != NULL && (strncmp(version, "kueue.x-k8s.io/", 15) == 0 ||
                               strncmp(version, "config.kueue.x-k8s.io/", 22) == 0);
}

static bool is_of_kubernetes(uint32_t kind)
{
    return kind == KUEUE_NAMESPACE || kind == KUEUE_NODE || kind == KUEUE_POD ||
           kind == KUEUE_PRIORITY_CLASS;
}

static void add_object(struct kueue_input *input, const struct import_value *object)
{
    if (object->kind == IMPORT_NULL) {
        return;
    }
    const char *word = object->kind == IMPORT_MAP ? import_label(object, "kind") : NULL;
    if (word == NULL || word[0] == '\0') {
        import_fail(input->load, object,
                    "an object of Kueue or Kubernetes, with its kind, belongs here");
        return;
    }
    uint32_t kind = 0;
    while (kind < KUEUE_KINDS && strcmp(kinds[kind], word) != 0) {
        kind++;
    }
    if (kind == KUEUE_KINDS || (!is_of_kubernetes(kind) && !is_kueues(object))) {
        import_note(input->model, "objects of kind %.100s (%.100s) are not looked at", word,
                    import_text(input->load, object, "apiVersion", "no apiVersion"));
        return;
    }
    const char *name = kind == KUEUE_CONFIGURATION ? "" : import_kueue_name(input, object);
    const char *key =
        import_format(input->load, "%u/%.300s/%.300s", (unsigned)kind,
                      import_text(input->load, object, "metadata/namespace", ""), name);
    bool added;
    (void)orr_idmap_put(&input->seen, key, strlen(key), &added);
    if (!added && kind == KUEUE_CONFIGURATION) {
        import_fail(input->load, object, "a second Configuration: one cluster has one");
        return;
    }
    if (!added) {
        import_fail(input->load, object, "there is a %s \"%.100s\" already", word, name);
        return;
    }
    struct kueue_list *list = &input->lists[kind];
    list->items = ORR_ROOM_FOR_ONE(list->items, list->count, list->capacity);
    list->items[list->count++] = object;
    import_kueue_check(input, (enum kueue_kind)kind, object);
}

/* A cluster keeps its Configuration as text in a ConfigMap; other entries are none of Kueue's. */
static bool add_configurations(struct kueue_input *input, const struct import_value *config_map)
{
    bool any = false;
    IMPORT_EACH(entry, import_map(input->load, config_map, "data"))
    {
        if (entry->kind != IMPORT_TEXT || !orr_kq_is_configuration(entry->text)) {
            continue;
        }
        const char *path =
            import_format(input->load, "%.400s:%u:%u: %.200s", entry->file->path,
                          (unsigned)entry->line, (unsigned)entry->column, entry->key);
        struct import_file *file;
        if (import_parse(input->load, path, entry->text, strlen(entry->text), &file) != ORR_OK) {
            return true;
        }
        IMPORT_EACH(document, file->documents)
        {
            add_object(input, document);
        }
        any = true;
    }
    return any;
}

static void add_item(struct kueue_input *input, const struct import_value *object)
{
    const char *kind = object->kind == IMPORT_MAP ? import_label(object, "kind") : NULL;
    if (kind == NULL || strcmp(kind, "ConfigMap") != 0 || !add_configurations(input, object)) {
        add_object(input, object);
    }
}

static void add_document(struct kueue_input *input, const struct import_value *document)
{
    const char *kind = document->kind == IMPORT_MAP ? import_label(document, "kind") : NULL;
    const struct import_value *items = document;
    if (kind != NULL && orr_ends_with(kind, "List")) {
        items = import_list(input->load, document, "items");
    } else if (document->kind != IMPORT_LIST) {
        add_item(input, document);
        return;
    }
    IMPORT_EACH(object, items)
    {
        add_item(input, object);
    }
}

/* --- what is Kubernetes' own --- */

static void read_namespaces(struct kueue_input *input)
{
    const struct kueue_list *list = &input->lists[KUEUE_NAMESPACE];
    struct kq_labels_list *out = &input->objects.namespaces;
    out->items = import_kueue_array(input, list->count, sizeof *out->items);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct import_value *labels =
            import_map(input->load, list->items[i], "metadata/labels");
        struct kq_labels *space = &out->items[out->count++];
        space->name = import_kueue_name(input, list->items[i]);
        space->items = import_kueue_labels(input, labels, &space->count);
        if (import_label(labels, KQ_NAMESPACE_LABEL) == NULL) {
            struct orr_pair *more = import_kueue_array(input, space->count + 1, sizeof *more);
            memcpy(more, space->items, space->count * sizeof *more);
            more[space->count++] = (struct orr_pair){KQ_NAMESPACE_LABEL, space->name};
            space->items = more;
        }
    }
    input->knows_namespaces = list->count > 0;
}

static bool is_ready(struct kueue_input *input, const struct import_value *node)
{
    IMPORT_EACH(condition, import_list(input->load, node, "status/conditions"))
    {
        if (strcmp(import_text(input->load, condition, "type", ""), "Ready") == 0) {
            return strcmp(import_text(input->load, condition, "status", ""), "True") == 0;
        }
    }
    return true;
}

static void read_nodes(struct kueue_input *input)
{
    const struct kueue_list *list = &input->lists[KUEUE_NODE];
    struct kq_objects *objects = &input->objects;
    objects->nodes = import_kueue_array(input, list->count, sizeof *objects->nodes);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct import_value *object = list->items[i];
        struct kq_node *node = &objects->nodes[objects->node_count++];
        node->name = import_kueue_name(input, object);
        node->labels = import_kueue_labels(
            input, import_map(input->load, object, "metadata/labels"), &node->label_count);
        node->taints = import_kueue_taints(input, import_list(input->load, object, "spec/taints"),
                                           false, &node->taint_count);
        node->allocatable = import_kueue_amounts(
            input, import_map(input->load, object, "status/allocatable"), &node->allocatable_count);
        node->ready = is_ready(input, object);
        node->unschedulable = import_bool(input->load, object, "spec/unschedulable", false);
    }
}

/* Pods that Kueue places count with their workload. */
static bool is_placed_by_kueue(struct kueue_input *input, const struct import_value *pod)
{
    static const char *const marks[] = {
        "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology",
        "kueue.x-k8s.io/podset-unconstrained-topology",
        "kueue.x-k8s.io/podset-slice-required-topology",
        "kueue.x-k8s.io/podset-slice-required-topology-constraints"};
    const struct import_value *notes = import_map(input->load, pod, "metadata/annotations");
    bool marked =
        import_label(import_map(input->load, pod, "metadata/labels"), "kueue.x-k8s.io/tas") != NULL;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        marked = marked || import_label(notes, marks[i]) != NULL;
    }
    return marked;
}

static void read_pods(struct kueue_input *input)
{
    const struct kueue_list *list = &input->lists[KUEUE_POD];
    struct kq_objects *objects = &input->objects;
    objects->pods = import_kueue_array(input, list->count, sizeof *objects->pods);
    for (uint32_t i = 0; i < list->count; i++) {
        struct kq_pod *pod = &objects->pods[objects->pod_count++];
        pod->name = import_kueue_name(input, list->items[i]);
        pod->node = import_text(input->load, list->items[i], "spec/nodeName", NULL);
        pod->phase = import_text(input->load, list->items[i], "status/phase", NULL);
        pod->tas = is_placed_by_kueue(input, list->items[i]);
        pod->requests = import_kueue_requests(
            input, import_map(input->load, list->items[i], "spec"), &pod->request_count);
    }
}

static void read_classes(struct kueue_input *input, enum kueue_kind kind)
{
    const struct kueue_list *list = &input->lists[kind];
    for (uint32_t i = 0; i < list->count; i++) {
        const char *key =
            import_format(input->load, "%c/%.300s", kind == KUEUE_PRIORITY_CLASS ? 'p' : 'w',
                          import_kueue_name(input, list->items[i]));
        const uint32_t id = orr_idmap_put(&input->classes, key, strlen(key), NULL);
        input->class_values = ORR_ROOM_FOR_ONE(input->class_values, id, input->class_capacity);
        input->class_values[id] = import_int(input->load, list->items[i], "value", 0);
    }
}

void import_kueue_read(struct kueue_input *input, struct import_file *const *files, uint32_t count)
{
    for (uint32_t f = 0; f < count; f++) {
        IMPORT_EACH(document, files[f]->documents)
        {
            add_document(input, document);
        }
    }
    const struct kueue_list *configurations = &input->lists[KUEUE_CONFIGURATION];
    if (configurations->count > 0) {
        import_kueue_configure(input, configurations->items[0]);
    }
    read_namespaces(input);
    import_kueue_queues(input);
    read_classes(input, KUEUE_WORKLOAD_CLASS);
    read_classes(input, KUEUE_PRIORITY_CLASS);
    read_nodes(input);
    read_pods(input);
    if (import_ok(input->load)) {
        import_kueue_workloads(input);
    }
}

void import_kueue_release(struct kueue_input *input)
{
    for (int k = 0; k < KUEUE_KINDS; k++) {
        orr_free(input->lists[k].items);
    }
    orr_free(input->class_values);
    orr_idmap_release(&input->seen);
    orr_idmap_release(&input->local_queues);
    orr_idmap_release(&input->queues);
    orr_idmap_release(&input->classes);
}
