/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_kueue.c - Kueue's ClusterQueue and Cohort objects become queues in short form: inline,
 * or from the files that `queues: {from: ...}` names. A ResourceFlavor becomes one of `flavors`.
 * Their quotas are of scenario_kueue_quota.c, a Configuration of scenario_kueue_config.c.
 */
#include "scenario_kueue.h"

#include <string.h>

#include <orrery/base/text.h>

const char *orr_scenario__text_below(const struct orr_scenario__node *map, const char *key)
{
    const struct orr_scenario__node *child = orr_scenario__below(map, key);
    return child != NULL && child->kind == ORR_NODE_SCALAR ? child->text : NULL;
}

/* Weights of queues are quantities: 1, 500m. */
enum orr_status orr_scenario__read_weight(struct orr_scenario__load *load,
                                          const struct orr_scenario__node *spec, const char **out)
{
    const struct orr_scenario__node *value =
        orr_scenario__below(orr_scenario__below(spec, "fairSharing"), "weight");
    const char *text = value != NULL && value->kind == ORR_NODE_SCALAR ? value->text : "";
    int64_t milli;
    *out = NULL;
    if (value == NULL) {
        return ORR_OK;
    }
    if (!orr_parse_cpu(text, strlen(text), &milli) || milli < 0) {
        return orr_scenario__fail(
            load, &value->at, "fairSharing.weight: \"%.80s\" is no quantity of 0 or more", text);
    }
    *out = orr_scenario__format(load->arena, "%.15g", (double)milli / 1000.0);
    return ORR_OK;
}

bool orr_scenario__is_kueue_object(const struct orr_scenario__node *object)
{
    const char *version = orr_scenario__text_below(object, "apiVersion");
    return version != NULL && (strncmp(version, "kueue.x-k8s.io/", 15) == 0 ||
                               strncmp(version, "config.kueue.x-k8s.io/", 22) == 0);
}

void orr_scenario__add_text(struct orr_scenario__load *load, struct orr_scenario__node *map,
                            const char *key, const char *text, struct orr_scenario__at at)
{
    orr_scenario__add(load, map, key, at, orr_scenario__scalar(load, text, NULL, at));
}

struct orr_scenario__node *orr_scenario__add_map(struct orr_scenario__load *load,
                                                 struct orr_scenario__node *map, const char *key,
                                                 struct orr_scenario__at at)
{
    struct orr_scenario__node *made = orr_scenario__node(load, ORR_NODE_MAP, at);
    orr_scenario__add(load, map, key, at, made);
    return made;
}

/* A word at its place, or the fallback; neither: nothing. */
static enum orr_status add_word(struct orr_scenario__load *load,
                                const struct orr_scenario__node *from, const char *from_key,
                                const char *const *words, const char *fallback,
                                struct orr_scenario__node *map, const char *key)
{
    const struct orr_scenario__node *value = orr_scenario__below(from, from_key);
    const char *text = fallback;
    const enum orr_status status = orr_scenario__read_word(load, from, from_key, words, &text);
    if (status == ORR_OK && text != NULL) {
        orr_scenario__add_text(load, map, key, text, value != NULL ? value->at : map->at);
    }
    return status;
}

static enum orr_status write_preemption(struct orr_scenario__load *load,
                                        const struct orr_scenario__node *preemption,
                                        struct orr_scenario__node *queue)
{
    static const char *const within[] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority",
                                         NULL};
    static const char *const reclaim[] = {"Never", "LowerPriority", "Any", NULL};
    static const char *const borrows[] = {"Never", "LowerPriority", NULL};
    const struct orr_scenario__node *borrow = orr_scenario__below(preemption, "borrowWithinCohort");
    const struct orr_scenario__node *threshold =
        orr_scenario__below(borrow, "maxPriorityThreshold");
    struct orr_scenario__node *map = orr_scenario__add_map(load, queue, "preemption", queue->at);
    struct orr_scenario__node *inner = orr_scenario__node(load, ORR_NODE_MAP, queue->at);
    enum orr_status status =
        add_word(load, preemption, "withinClusterQueue", within, "Never", map, "within");
    status = status == ORR_OK ? add_word(load, preemption, "reclaimWithinCohort", reclaim, "Never",
                                         map, "reclaim")
                              : status;
    status = status == ORR_OK ? add_word(load, borrow, "policy", borrows, "Never", inner, "policy")
                              : status;
    orr_scenario__add(load, map, "borrow", queue->at, inner);
    if (status == ORR_OK && threshold != NULL) {
        orr_scenario__add(load, inner, "max_priority", threshold->key_at,
                          orr_scenario__copy(load, threshold));
    }
    return status;
}

/* What Kueue called Borrow and Preempt once is where the search may stop. */
static enum orr_status write_fungibility(struct orr_scenario__load *load,
                                         const struct orr_scenario__node *fungibility,
                                         struct orr_scenario__node *queue)
{
    static const char *const keys[][2] = {{"whenCanBorrow", "when_can_borrow"},
                                          {"whenCanPreempt", "when_can_preempt"},
                                          {"preference", "preference"}};
    static const char *const words[][5] = {
        {"Borrow", "MayStopSearch", "TryNextFlavor", NULL},
        {"Preempt", "MayStopSearch", "TryNextFlavor", NULL},
        {"BorrowingOverPreemption", "PreemptionOverBorrowing", NULL}};
    struct orr_scenario__node *map = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *word = NULL;
        const enum orr_status status =
            orr_scenario__read_word(load, fungibility, keys[i][0], words[i], &word);
        if (status != ORR_OK) {
            return status;
        }
        if (word != NULL) {
            const bool stops = strcmp(word, "Borrow") == 0 || strcmp(word, "Preempt") == 0;
            map = map != NULL ? map
                              : orr_scenario__add_map(load, queue, "fungibility", fungibility->at);
            orr_scenario__add_text(load, map, keys[i][1], stops ? "MayStopSearch" : word,
                                   orr_scenario__below(fungibility, keys[i][0])->at);
        }
    }
    return ORR_OK;
}

/* Nobody starts in a queue that is stopped, which no run would tell apart from one that is full. */
static enum orr_status refuse_stopped(struct orr_scenario__load *load, const char *kind,
                                      const struct orr_scenario__node *spec)
{
    const char *stop = orr_scenario__text_below(spec, "stopPolicy");
    return stop == NULL || strcmp(stop, "None") == 0
               ? ORR_OK
               : orr_scenario__fail(load, &orr_scenario__below(spec, "stopPolicy")->at,
                                    "a %s that is stopped (%.80s) starts nothing: leave it out",
                                    kind, stop);
}

static enum orr_status convert_cluster_queue(struct orr_scenario__load *load, const char *name,
                                             const struct orr_scenario__node *object,
                                             struct orr_scenario__node *out)
{
    const struct orr_scenario__node *spec = orr_scenario__below(object, "spec");
    static const char *const strategies[] = {"BestEffortFIFO", "StrictFIFO", NULL};
    static const char *const modes[] = {"UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing",
                                        NULL};
    const struct orr_scenario__node *scope = orr_scenario__below(spec, "admissionScope");
    const char *mode = modes[1];
    struct orr_scenario__node *queue = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    queue->whole = true;
    if (orr_scenario__below(spec, "namespaceSelector") == NULL) {
        orr_scenario__note(load, object->at,
                           "a ClusterQueue without namespaceSelector: in Kueue it takes nothing, "
                           "but rows of a run name their queue");
    }
    enum orr_status status = orr_scenario__add_holder(load, name, false, spec, queue);
    status = status == ORR_OK ? refuse_stopped(load, "ClusterQueue", spec) : status;
    status = status == ORR_OK ? add_word(load, spec, "queueingStrategy", strategies, strategies[0],
                                         queue, "strategy")
                              : status;
    status = status == ORR_OK ? orr_scenario__read_word(load, scope, "admissionMode", modes, &mode)
                              : status;
    if (status != ORR_OK) {
        return status;
    }
    const bool by_usage = strcmp(mode, modes[0]) == 0;
    load->usage_queues += by_usage;
    load->other_queues += !by_usage;
    status = write_preemption(load, orr_scenario__below(spec, "preemption"), queue);
    status = status == ORR_OK
                 ? write_fungibility(load, orr_scenario__below(spec, "flavorFungibility"), queue)
                 : status;
    orr_scenario__add(load, out, name, object->at, queue);
    return status;
}

static enum orr_status convert_cohort(struct orr_scenario__load *load, const char *name,
                                      const struct orr_scenario__node *object)
{
    struct orr_scenario__node *queue = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    queue->whole = true;
    return orr_scenario__add_holder(load, name, true, orr_scenario__below(object, "spec"), queue);
}

/* --- flavors --- */

static void write_taints(struct orr_scenario__load *load, const struct orr_scenario__node *taints,
                         struct orr_scenario__node *flavor)
{
    struct orr_scenario__node *list = orr_scenario__node(load, ORR_NODE_LIST, taints->at);
    for (uint32_t i = 0; i < taints->child_count; i++) {
        const struct orr_scenario__node *taint = taints->children[i];
        const char *key = orr_scenario__text_below(taint, "key");
        const char *value = orr_scenario__text_below(taint, "value");
        const char *effect = orr_scenario__text_below(taint, "effect");
        const char *text = orr_scenario__format(
            load->arena, "%s%s%s:%s", key != NULL ? key : "", value != NULL ? "=" : "",
            value != NULL ? value : "", effect != NULL ? effect : "");
        orr_scenario__add(load, list, NULL, taint->at,
                          orr_scenario__scalar(load, text, NULL, taint->at));
    }
    orr_scenario__add(load, flavor, "taints", taints->at, list);
}

/* As rows state them: KEY, KEY=VALUE, or * for any, with the effect behind a colon. */
static enum orr_status write_toleration(struct orr_scenario__load *load,
                                        const struct orr_scenario__node *toleration,
                                        struct orr_scenario__node *list)
{
    static const char *const operators[] = {"Equal", "Exists", NULL};
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
    const char *key = orr_scenario__text_below(toleration, "key");
    const char *value = orr_scenario__text_below(toleration, "value");
    const char *how = operators[0], *effect = NULL;
    const bool any = key == NULL || key[0] == '\0';
    enum orr_status status = orr_scenario__read_word(load, toleration, "operator", operators, &how);
    if (status == ORR_OK) {
        status = orr_scenario__read_word(load, toleration, "effect", effects, &effect);
    }
    const bool exists = any || strcmp(how, operators[1]) == 0;
    const char *text =
        orr_scenario__format(load->arena, "%s%s%s%s%s", any ? "*" : key, exists ? "" : "=",
                             exists || value == NULL ? "" : value, effect != NULL ? ":" : "",
                             effect != NULL ? effect : "");
    orr_scenario__add(load, list, NULL, toleration->at,
                      orr_scenario__scalar(load, text, NULL, toleration->at));
    return status;
}

static enum orr_status write_tolerations(struct orr_scenario__load *load,
                                         const struct orr_scenario__node *tolerations,
                                         struct orr_scenario__node *flavor)
{
    struct orr_scenario__node *list = orr_scenario__node(load, ORR_NODE_LIST, tolerations->at);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < tolerations->child_count && status == ORR_OK; i++) {
        status = write_toleration(load, tolerations->children[i], list);
    }
    orr_scenario__add(load, flavor, "tolerations", tolerations->at, list);
    return status;
}

static enum orr_status convert_flavor(struct orr_scenario__load *load,
                                      const struct orr_scenario__node *object)
{
    const struct orr_scenario__node *spec = orr_scenario__below(object, "spec");
    const struct orr_scenario__node *labels = orr_scenario__below(spec, "nodeLabels");
    const struct orr_scenario__node *taints = orr_scenario__below(spec, "nodeTaints");
    const struct orr_scenario__node *tolerations = orr_scenario__below(spec, "tolerations");
    const struct orr_scenario__node *metadata = orr_scenario__below(object, "metadata");
    const char *name = orr_scenario__text_below(metadata, "name");
    if (name == NULL || name[0] == '\0') {
        return orr_scenario__fail(load, &object->at, "it needs metadata.name");
    }
    if (load->flavor_objects == NULL) {
        load->flavor_objects = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    }
    if (orr_scenario__find(load->flavor_objects, name) != NULL) {
        return orr_scenario__fail(load, &object->at, "there is a flavor named \"%.80s\" already",
                                  name);
    }
    struct orr_scenario__node *flavor = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    if (labels != NULL && labels->child_count > 0) {
        orr_scenario__add(load, flavor, "node_labels", labels->at,
                          orr_scenario__copy(load, labels));
    }
    if (taints != NULL && taints->child_count > 0) {
        write_taints(load, taints, flavor);
    }
    const enum orr_status status = tolerations != NULL && tolerations->child_count > 0
                                       ? write_tolerations(load, tolerations, flavor)
                                       : ORR_OK;
    const char *topology = orr_scenario__text_below(spec, "topologyName");
    if (topology != NULL || flavor->child_count > 0) { /* else it is one of all nodes alike */
        orr_scenario__add_text(load, flavor, "topology", topology != NULL ? topology : "none",
                               object->at);
    }
    orr_scenario__add(load, load->flavor_objects, name, object->at, flavor);
    return status;
}

/* --- local queues --- */

static enum orr_status keep_local_queue(struct orr_scenario__load *load,
                                        struct orr_scenario__node *object)
{
    const struct orr_scenario__node *spec = orr_scenario__below(object, "spec");
    const enum orr_status status = refuse_stopped(load, "LocalQueue", spec);
    if (status != ORR_OK ||
        orr_scenario__below(orr_scenario__below(spec, "fairSharing"), "weight") == NULL) {
        return status; /* it is one of weight 1, as every user is */
    }
    if (load->local_objects == NULL) {
        load->local_objects = orr_scenario__node(load, ORR_NODE_LIST, object->at);
    }
    orr_scenario__add(load, load->local_objects, NULL, object->at, object);
    return ORR_OK;
}

enum orr_status orr_scenario__settle_local_queues(struct orr_scenario__load *load,
                                                  struct orr_scenario__node *queues)
{
    const struct orr_scenario__node *objects = load->local_objects;
    for (uint32_t i = 0; objects != NULL && i < objects->child_count; i++) {
        const struct orr_scenario__node *object = objects->children[i];
        const char *name =
            orr_scenario__text_below(orr_scenario__below(object, "metadata"), "name");
        const struct orr_scenario__node *spec = orr_scenario__below(object, "spec");
        const char *of = orr_scenario__text_below(spec, "clusterQueue"), *weight;
        struct orr_scenario__node *queue = of == NULL ? NULL : orr_scenario__find(queues, of);
        const enum orr_status status = orr_scenario__read_weight(load, spec, &weight);
        if (status != ORR_OK) {
            return status;
        }
        if (queue == NULL || name == NULL) {
            return orr_scenario__fail(load, &object->at,
                                      "a LocalQueue with a weight needs metadata.name, and in "
                                      "spec.clusterQueue one of the ClusterQueues that are given");
        }
        struct orr_scenario__node *list = orr_scenario__find(queue, "local_queues");
        list = list != NULL ? list : orr_scenario__add_map(load, queue, "local_queues", object->at);
        if (orr_scenario__find(list, name) != NULL) {
            return orr_scenario__fail(
                load, &object->at,
                "a second LocalQueue \"%.80s\" of ClusterQueue \"%.80s\": rows "
                "name it alone as their user, without a namespace",
                name, of);
        }
        orr_scenario__add_text(load, orr_scenario__add_map(load, list, name, object->at), "weight",
                               weight, object->at);
    }
    load->local_objects = NULL;
    return ORR_OK;
}

/* --- objects --- */

/* What else a dump of a cluster has beside its queues. */
bool orr_scenario__pass_other(struct orr_scenario__load *load,
                              const struct orr_scenario__node *object)
{
    static const char *const instead[][2] = {{"Node", "the nodes are those of `cluster`"},
                                             {"Pod", "jobs are those of `workload`"},
                                             {"PriorityClass", "rows state their priority"},
                                             {"Namespace", NULL}};
    static const char *const queues[] = {"Queue", "ClusterQueue", "LocalQueue", "Cohort",
                                         "ResourceFlavor"};
    const char *version = orr_scenario__text_below(object, "apiVersion");
    const char *kind = orr_scenario__text_below(object, "kind"), *why = "no run looks at them";
    bool other = version != NULL && kind != NULL && strncmp(version, "scheduling.run.ai/", 18) != 0;
    for (size_t i = 0; other && i < sizeof queues / sizeof queues[0]; i++) {
        other = strcmp(kind, queues[i]) != 0; /* of another version, it is a mistake */
    }
    if (!other) {
        return false;
    }
    for (size_t i = 0; i < sizeof instead / sizeof instead[0]; i++) {
        why = strcmp(kind, instead[i][0]) == 0 ? instead[i][1] : why;
    }
    if (why != NULL) {
        orr_scenario__note(
            load, object->at,
            orr_scenario__format(load->arena, "%.100s objects among queues: %s", kind, why));
    }
    return true;
}

enum orr_status orr_scenario__convert_kueue(struct orr_scenario__load *load,
                                            struct orr_scenario__node *object,
                                            struct orr_scenario__node *out)
{
    static const char *const passed_over[] = {"WorkloadPriorityClass", "AdmissionCheck"};
    for (size_t i = 0; i < sizeof passed_over / sizeof passed_over[0]; i++) {
        if (orr_scenario__is_kind(object, passed_over[i])) {
            return ORR_OK; /* they say nothing that a run goes by */
        }
    }
    if (orr_scenario__is_kind(object, "Workload")) {
        orr_scenario__note(load, object->at, "Workload objects: jobs are those of `workload`");
        return ORR_OK;
    }
    const char *kind = orr_scenario__text_below(object, "kind");
    const enum orr_status status =
        kind != NULL ? orr_scenario__check_fields(load, kind, object) : ORR_OK;
    if (status != ORR_OK) {
        return status;
    }
    if (orr_scenario__is_kind(object, "Topology") ||
        orr_scenario__is_kind(object, "Configuration")) {
        return orr_scenario__keep_object(load, object);
    }
    if (orr_scenario__is_kind(object, "ResourceFlavor")) {
        return convert_flavor(load, object);
    }
    if (orr_scenario__is_kind(object, "LocalQueue")) {
        return keep_local_queue(load, object);
    }
    const bool cohort = orr_scenario__is_kind(object, "Cohort");
    if (!cohort && !orr_scenario__is_kind(object, "ClusterQueue")) {
        return orr_scenario__fail(load, &object->at, "an object of Kueue that no run takes: %.80s",
                                  kind != NULL ? kind : "it has no kind");
    }
    const char *name = orr_scenario__text_below(orr_scenario__below(object, "metadata"), "name");
    if (name == NULL || name[0] == '\0') {
        return orr_scenario__fail(load, &object->at, "it needs metadata.name");
    }
    if (orr_scenario__find(out, name) != NULL || (cohort && orr_scenario__has_cohort(load, name))) {
        return orr_scenario__fail(load, &object->at, "there is a queue named \"%.80s\" already",
                                  name);
    }
    return cohort ? convert_cohort(load, name, object)
                  : convert_cluster_queue(load, name, object, out);
}
