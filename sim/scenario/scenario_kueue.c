/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_kueue.c - Kueue's ClusterQueue, Cohort and Configuration objects become queues and the
 * policy in short form: inline, or from the files that `queues: {from: ...}` names.
 *
 * A queue's quota includes that of those below it, a Cohort's does not: what a Cohort owns is added
 * to its children's sum once all are read. A run has one flavor over all nodes, so that a resource
 * may have quota in one flavor of a ClusterQueue only.
 */
#include "scenario_int.h"

#include <string.h>

#include <orrery/base/text.h>

enum { GPU, CPU, MEMORY, RESOURCES };
static const char *const resource_keys[RESOURCES] = {"gpu", "cpu", "memory"};

struct amount { /* whole GPUs, milli-CPU, bytes */
    bool stated, limited, lent;
    int64_t nominal, borrowing, lending;
};

struct orr_scenario__cohort { /* one that is named; its queue is written when all are read */
    struct orr_scenario__cohort *next;
    const char *name;
    struct orr_scenario__node *queue;
    struct amount own[RESOURCES];
    bool stated, summed, summing;
    struct amount total[RESOURCES];
};

static const struct orr_scenario__node *below(const struct orr_scenario__node *map, const char *key)
{
    const struct orr_scenario__node *child =
        map == NULL || map->kind != ORR_NODE_MAP ? NULL : orr_scenario__find(map, key);
    return child == NULL || orr_scenario__is_null(child) ? NULL : child;
}

static const char *text_below(const struct orr_scenario__node *map, const char *key)
{
    const struct orr_scenario__node *child = below(map, key);
    return child != NULL && child->kind == ORR_NODE_SCALAR ? child->text : NULL;
}

bool orr_scenario__is_kueue_object(const struct orr_scenario__node *object)
{
    const char *version = text_below(object, "apiVersion");
    return version != NULL && (strncmp(version, "kueue.x-k8s.io/", 15) == 0 ||
                               strncmp(version, "config.kueue.x-k8s.io/", 22) == 0);
}

static void add_text(struct orr_scenario__load *load, struct orr_scenario__node *map,
                     const char *key, const char *text, struct orr_scenario__at at)
{
    orr_scenario__add(load, map, key, at, orr_scenario__scalar(load, text, NULL, at));
}

static struct orr_scenario__node *add_map(struct orr_scenario__load *load,
                                          struct orr_scenario__node *map, const char *key,
                                          struct orr_scenario__at at)
{
    struct orr_scenario__node *made = orr_scenario__node(load, ORR_NODE_MAP, at);
    orr_scenario__add(load, map, key, at, made);
    return made;
}

/* --- quotas --- */

/* Which resource of ours a name of Kubernetes is; RESOURCES: none. */
static int resource_of(const char *name)
{
    const size_t bytes = strlen(name);
    return strcmp(name, "cpu") == 0                             ? CPU
           : strcmp(name, "memory") == 0                        ? MEMORY
           : bytes > 4 && strcmp(name + bytes - 4, "/gpu") == 0 ? GPU
                                                                : RESOURCES;
}

static enum orr_status read_quantity(struct orr_scenario__load *load,
                                     const struct orr_scenario__node *map, const char *key,
                                     int resource, bool *stated, int64_t *out)
{
    const struct orr_scenario__node *value = below(map, key);
    *stated = value != NULL;
    if (value == NULL) {
        return ORR_OK;
    }
    const char *text = value->kind == ORR_NODE_SCALAR ? value->text : "";
    const size_t bytes = strlen(text);
    const bool good = resource == GPU   ? orr_parse_i64(text, bytes, out)
                      : resource == CPU ? orr_parse_cpu(text, bytes, out)
                                        : orr_parse_memory(text, bytes, out);
    return good && *out >= 0
               ? ORR_OK
               : orr_scenario__fail(load, &value->at, "%s: \"%.80s\" is no quantity of %s", key,
                                    text, resource_keys[resource]);
}

static enum orr_status read_quota(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *quota,
                                  struct amount amounts[RESOURCES])
{
    const char *name = text_below(quota, "name");
    const int resource = name != NULL ? resource_of(name) : RESOURCES;
    if (name == NULL || resource == RESOURCES) {
        return orr_scenario__fail(load, &quota->at,
                                  name == NULL
                                      ? "a resource needs a name%s"
                                      : "quota of \"%.80s\": a run divides GPUs, cpu and memory",
                                  name == NULL ? "" : name);
    }
    struct amount read = {.stated = true};
    bool given;
    enum orr_status status =
        read_quantity(load, quota, "nominalQuota", resource, &given, &read.nominal);
    if (status == ORR_OK) {
        status =
            read_quantity(load, quota, "borrowingLimit", resource, &read.limited, &read.borrowing);
    }
    if (status == ORR_OK) {
        status = read_quantity(load, quota, "lendingLimit", resource, &read.lent, &read.lending);
    }
    if (status != ORR_OK || (amounts[resource].stated && read.nominal == 0)) {
        return status;
    }
    if (amounts[resource].stated && amounts[resource].nominal > 0) {
        return orr_scenario__fail(
            load, &quota->at,
            "a second flavor with quota of \"%.80s\": a run has one flavor over "
            "all nodes; add them up, or run them apart",
            name);
    }
    if (read.lent && resource != GPU) {
        return orr_scenario__fail(load, &quota->at, "lendingLimit: a run has it of GPUs only");
    }
    amounts[resource] = read;
    return ORR_OK;
}

static enum orr_status read_quotas(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *spec,
                                   struct amount amounts[RESOURCES])
{
    const struct orr_scenario__node *groups = below(spec, "resourceGroups");
    enum orr_status status = ORR_OK;
    for (uint32_t g = 0; groups != NULL && g < groups->child_count; g++) {
        const struct orr_scenario__node *flavors = below(groups->children[g], "flavors");
        for (uint32_t f = 0; flavors != NULL && f < flavors->child_count; f++) {
            const struct orr_scenario__node *resources = below(flavors->children[f], "resources");
            for (uint32_t r = 0;
                 status == ORR_OK && resources != NULL && r < resources->child_count; r++) {
                status = read_quota(load, resources->children[r], amounts);
            }
        }
    }
    return status;
}

static const char *amount_text(struct orr_scenario__load *load, int resource, int64_t amount)
{
    static const char *const units[RESOURCES] = {"", "m", "B"};
    return orr_scenario__format(load->arena, "%lld%s", (long long)amount, units[resource]);
}

static void write_amounts(struct orr_scenario__load *load, struct orr_scenario__node *queue,
                          const struct amount amounts[RESOURCES], const char *weight)
{
    for (int r = 0; r < RESOURCES; r++) {
        const struct amount *is = &amounts[r];
        if (!is->stated && r != GPU) {
            continue;
        }
        struct orr_scenario__node *map = add_map(load, queue, resource_keys[r], queue->at);
        add_text(load, map, "quota", amount_text(load, r, is->nominal), queue->at);
        if (r == GPU && weight != NULL) {
            add_text(load, map, "weight", weight, queue->at);
        }
        if (is->limited) {
            add_text(load, map, "limit", amount_text(load, r, is->nominal + is->borrowing),
                     queue->at);
        }
        if (is->lent) {
            add_text(load, queue, "lend", amount_text(load, r, is->lending), queue->at);
        }
    }
}

/* --- cohorts --- */

static struct orr_scenario__cohort *cohort_of(struct orr_scenario__load *load, const char *name)
{
    struct orr_scenario__cohort **at = &load->cohorts;
    while (*at != NULL && strcmp((*at)->name, name) != 0) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = orr_arena_alloc(load->arena, 1, sizeof **at);
        (*at)->name = name;
    }
    return *at;
}

static const char *parent_of(const struct orr_scenario__node *spec, bool cohort)
{
    const char *name = text_below(spec, cohort ? "parentName" : "cohortName");
    return name != NULL ? name : text_below(spec, cohort ? "parent" : "cohort"); /* v1beta1 */
}

static void write_parent(struct orr_scenario__load *load, struct orr_scenario__node *queue,
                         const char *parent)
{
    if (parent != NULL && parent[0] != '\0') {
        add_text(load, queue, "parent", parent, queue->at);
        (void)cohort_of(load, parent);
    } else {
        add_text(load, queue, "apart", "true", queue->at);
    }
}

static void write_preemption(struct orr_scenario__load *load,
                             const struct orr_scenario__node *preemption,
                             struct orr_scenario__node *queue)
{
    const char *within = text_below(preemption, "withinClusterQueue");
    const char *reclaim = text_below(preemption, "reclaimWithinCohort");
    const struct orr_scenario__node *borrow = below(preemption, "borrowWithinCohort");
    const char *policy = text_below(borrow, "policy");
    const char *threshold = text_below(borrow, "maxPriorityThreshold");
    struct orr_scenario__node *map = add_map(load, queue, "preemption", queue->at);
    add_text(load, map, "within", within != NULL ? within : "Never", queue->at);
    add_text(load, map, "reclaim", reclaim != NULL ? reclaim : "Never", queue->at);
    struct orr_scenario__node *inner = add_map(load, map, "borrow", queue->at);
    add_text(load, inner, "policy", policy != NULL ? policy : "Never", queue->at);
    if (threshold != NULL) {
        add_text(load, inner, "max_priority", threshold, queue->at);
    }
}

static enum orr_status convert_cluster_queue(struct orr_scenario__load *load, const char *name,
                                             const struct orr_scenario__node *object,
                                             struct orr_scenario__node *out)
{
    const struct orr_scenario__node *spec = below(object, "spec");
    const char *stop = text_below(spec, "stopPolicy"),
               *strategy = text_below(spec, "queueingStrategy");
    struct amount amounts[RESOURCES] = {{0}};
    enum orr_status status = read_quotas(load, spec, amounts);
    if (status != ORR_OK) {
        return status;
    }
    if (stop != NULL && strcmp(stop, "None") != 0) {
        return orr_scenario__fail(
            load, &below(spec, "stopPolicy")->at,
            "a ClusterQueue that is stopped (%.80s) starts nothing: leave it out", stop);
    }
    struct orr_scenario__node *queue = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    queue->whole = true;
    write_parent(load, queue, parent_of(spec, false));
    write_amounts(load, queue, amounts, text_below(below(spec, "fairSharing"), "weight"));
    add_text(load, queue, "strategy", strategy != NULL ? strategy : "BestEffortFIFO", object->at);
    write_preemption(load, below(spec, "preemption"), queue);
    orr_scenario__add(load, out, name, object->at, queue);
    return ORR_OK;
}

static enum orr_status convert_cohort(struct orr_scenario__load *load, const char *name,
                                      const struct orr_scenario__node *object)
{
    const struct orr_scenario__node *spec = below(object, "spec");
    struct orr_scenario__cohort *cohort = cohort_of(load, name);
    const char *weight = text_below(below(spec, "fairSharing"), "weight");
    enum orr_status status = read_quotas(load, spec, cohort->own);
    cohort->stated = true;
    cohort->queue = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    cohort->queue->whole = true;
    write_parent(load, cohort->queue, parent_of(spec, true));
    if (weight != NULL) {
        add_text(load, add_map(load, cohort->queue, "gpu", object->at), "weight", weight,
                 object->at);
    }
    return status;
}

/* --- what a cohort has with those below it --- */

static bool number_of(const struct orr_scenario__node *queue, int resource, int64_t *out)
{
    const char *text = text_below(below(queue, resource_keys[resource]), "quota");
    const size_t bytes = text != NULL ? strlen(text) : 0;
    return text != NULL && (resource == GPU   ? orr_parse_i64(text, bytes, out)
                            : resource == CPU ? orr_parse_cpu(text, bytes, out)
                                              : orr_parse_memory(text, bytes, out));
}

static void sum_cohort(struct orr_scenario__load *load, struct orr_scenario__cohort *cohort,
                       const struct orr_scenario__node *queues)
{
    if (cohort->summed || cohort->summing) {
        return; /* in a circle: the tree of queues says so later */
    }
    cohort->summing = true;
    memcpy(cohort->total, cohort->own, sizeof cohort->total);
    for (uint32_t q = 0; q < queues->child_count; q++) {
        const char *parent = text_below(queues->children[q], "parent");
        for (int r = 0; r < RESOURCES && parent != NULL && strcmp(parent, cohort->name) == 0; r++) {
            int64_t quota;
            if (number_of(queues->children[q], r, &quota)) {
                cohort->total[r].nominal += quota;
                cohort->total[r].stated = true;
            }
        }
    }
    for (struct orr_scenario__cohort *child = load->cohorts; child != NULL; child = child->next) {
        const char *parent = child->queue != NULL ? text_below(child->queue, "parent") : NULL;
        if (parent == NULL || strcmp(parent, cohort->name) != 0) {
            continue;
        }
        sum_cohort(load, child, queues);
        for (int r = 0; r < RESOURCES; r++) {
            cohort->total[r].nominal += child->total[r].nominal;
            cohort->total[r].stated = cohort->total[r].stated || child->total[r].stated;
        }
    }
    cohort->summed = true;
}

enum orr_status orr_scenario__settle_cohorts(struct orr_scenario__load *load,
                                             struct orr_scenario__node *queues)
{
    for (struct orr_scenario__cohort *cohort = load->cohorts; cohort != NULL;
         cohort = cohort->next) {
        if (cohort->queue == NULL) { /* named by others only */
            cohort->queue = orr_scenario__node(load, ORR_NODE_MAP, queues->at);
            cohort->queue->whole = true;
            add_text(load, cohort->queue, "apart", "true", queues->at);
        }
    }
    for (struct orr_scenario__cohort *cohort = load->cohorts; cohort != NULL;
         cohort = cohort->next) {
        sum_cohort(load, cohort, queues);
    }
    for (struct orr_scenario__cohort *cohort = load->cohorts; cohort != NULL;
         cohort = cohort->next) {
        const char *weight = text_below(below(cohort->queue, "gpu"), "weight");
        struct orr_scenario__node *queue =
            orr_scenario__node(load, ORR_NODE_MAP, cohort->queue->at);
        queue->whole = true;
        write_parent(load, queue, text_below(cohort->queue, "parent"));
        write_amounts(load, queue, cohort->total, weight);
        if (orr_scenario__find(queues, cohort->name) != NULL) {
            return orr_scenario__fail(load, &queue->at,
                                      "there is a queue named \"%.80s\" already: a cohort needs "
                                      "another name",
                                      cohort->name);
        }
        orr_scenario__add(load, queues, cohort->name, queue->at, queue);
    }
    load->cohorts = NULL;
    return ORR_OK;
}

/* --- configuration --- */

static void carry(struct orr_scenario__load *load, const struct orr_scenario__node *from,
                  const char *key, const char *unit, struct orr_scenario__node *params,
                  const char *param)
{
    const struct orr_scenario__node *value = below(from, key);
    if (value != NULL && value->kind == ORR_NODE_SCALAR) {
        add_text(load, params, param, orr_scenario__format(load->arena, "%s%s", value->text, unit),
                 value->at);
    }
}

static const char *sharing_of(const struct orr_scenario__node *sharing)
{
    const struct orr_scenario__node *strategies = below(sharing, "preemptionStrategies");
    const char *enable = text_below(sharing, "enable");
    if (sharing == NULL || (enable != NULL && strcmp(enable, "true") != 0)) {
        return "off";
    }
    if (strategies == NULL || strategies->child_count != 1) {
        return "default";
    }
    const char *only = strategies->children[0]->text;
    return only != NULL && strcmp(only, "LessThanInitialShare") == 0 ? "initial-share"
                                                                     : "final-share";
}

enum orr_status orr_scenario__convert_configuration(struct orr_scenario__load *load,
                                                    const struct orr_scenario__node *object,
                                                    struct orr_scenario__node **out)
{
    const struct orr_scenario__node *ready = below(object, "waitForPodsReady");
    const struct orr_scenario__node *requeue = below(ready, "requeuingStrategy");
    const char *block = text_below(ready, "blockAdmission"),
               *stamp = text_below(requeue, "timestamp");
    const char *enable = text_below(ready, "enable");
    if (block != NULL && strcmp(block, "true") == 0) {
        return orr_scenario__fail(load, &below(ready, "blockAdmission")->at,
                                  "blockAdmission: a run does not start jobs one after the other");
    }
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, object->at);
    add_text(load, map, "name", "kueue", object->at);
    struct orr_scenario__node *params = add_map(load, map, "params", object->at);
    add_text(load, params, "fair_sharing", sharing_of(below(object, "fairSharing")), object->at);
    if (enable != NULL) {
        add_text(load, params, "wait_for_pods_ready", enable, ready->at);
    }
    carry(load, ready, "timeout", "", params, "timeout");
    carry(load, ready, below(ready, "recoveryTimeout") != NULL ? "recoveryTimeout" : "timeout", "",
          params, "recovery_timeout");
    carry(load, requeue, "backoffBaseSeconds", "s", params, "backoff_base");
    carry(load, requeue, "backoffMaxSeconds", "s", params, "backoff_max");
    carry(load, requeue, "backoffLimitCount", "", params, "backoff_limit");
    if (stamp != NULL) {
        add_text(load, params, "requeuing_timestamp",
                 strcmp(stamp, "Creation") == 0 ? "creation" : "eviction", requeue->at);
    }
    *out = map;
    return ORR_OK;
}

/* --- objects --- */

enum orr_status orr_scenario__convert_kueue(struct orr_scenario__load *load,
                                            struct orr_scenario__node *object,
                                            struct orr_scenario__node *out)
{
    /* They say nothing that a run of one flavor goes by. */
    static const char *const passed_over[] = {
        "ResourceFlavor", "LocalQueue", "WorkloadPriorityClass", "Workload", "AdmissionCheck"};
    for (size_t i = 0; i < sizeof passed_over / sizeof passed_over[0]; i++) {
        if (orr_scenario__is_kind(object, passed_over[i])) {
            return ORR_OK;
        }
    }
    if (orr_scenario__is_kind(object, "Topology") ||
        orr_scenario__is_kind(object, "Configuration")) {
        return orr_scenario__keep_object(load, object);
    }
    const bool cohort = orr_scenario__is_kind(object, "Cohort");
    if (!cohort && !orr_scenario__is_kind(object, "ClusterQueue")) {
        return orr_scenario__fail(load, &object->at, "an object of Kueue that no run takes: %.80s",
                                  text_below(object, "kind") != NULL ? text_below(object, "kind")
                                                                     : "it has no kind");
    }
    const char *name = text_below(below(object, "metadata"), "name");
    if (name == NULL || name[0] == '\0') {
        return orr_scenario__fail(load, &object->at, "it needs metadata.name");
    }
    if (orr_scenario__find(out, name) != NULL || (cohort && cohort_of(load, name)->stated)) {
        return orr_scenario__fail(load, &object->at, "there is a queue named \"%.80s\" already",
                                  name);
    }
    return cohort ? convert_cohort(load, name, object)
                  : convert_cluster_queue(load, name, object, out);
}
