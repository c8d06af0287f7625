/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the scheduler was configured: KAI's snapshot says it whole, a SchedulingShard object in the
 * operator's words. Both become settings of the policy by those words; what the policy does not
 * know is listed in the answer instead of being lost. */
#include <stdio.h>
#include <string.h>

#include "kube.h"

/* --- settings --- */

/* Flags that say how objects are read; the policy knows the others. */
static bool read_flag(struct kube *kube, const struct import_value *value)
{
    const struct {
        const char *flag, **text;
    } texts[] = {{"scheduler-name", &kube->scheduler_name},
                 {"nodepool-label-key", &kube->shard_key},
                 {"queue-label-key", &kube->queue_label},
                 {"resource-reservation-app-label", &kube->reservation_app},
                 {"cpu-worker-node-label-key", &kube->cpu_worker},
                 {"gpu-worker-node-label-key", &kube->gpu_worker},
                 {"mig-worker-node-label-key", &kube->mig_worker}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(value->key, texts[i].flag) == 0) {
            *texts[i].text = value->text;
            return true;
        }
    }
    if (strcmp(value->key, "restrict-node-scheduling") == 0) {
        kube->restrict_nodes = strcmp(value->text, "true") == 0;
        if (!kube->restrict_nodes && strcmp(value->text, "false") != 0) {
            import_fail(kube->load, value, "%s: \"%.60s\" is neither true nor false", value->key,
                        value->text);
        }
        return true;
    }
    if (strcmp(value->key, "stuck-in-releasing-threshold") == 0) {
        if (!import_duration(value->text, &kube->stuck_after)) {
            import_fail(kube->load, value, "%s: \"%.60s\" is not a duration", value->key,
                        value->text);
        }
        return true;
    }
    return false;
}

/* A tree of plain values as settings: "minRuntime.preemptMinRuntime" and so on. */
static void flatten(struct kube *kube, const struct import_value *map, const char *prefix)
{
    IMPORT_EACH(value, map)
    {
        const char *name = import_format(kube->load, "%.300s%s%.100s", prefix,
                                         prefix[0] != '\0' ? "." : "", value->key);
        const bool seconds = value->kind == IMPORT_MAP && value->count == 1 &&
                             strcmp(value->first->key, "duration") == 0;
        if (seconds && value->first->kind == IMPORT_TEXT) { /* metav1.Duration, written out */
            import_set_param(kube->model, name, value->first->text, value, true);
        } else if (value->kind == IMPORT_MAP) {
            flatten(kube, value, name); /* as deep as the reader lets a file nest */
        } else if (value->kind != IMPORT_NULL) {
            import_set_param(kube->model, name,
                             value->kind == IMPORT_TEXT ? value->text : "(a list)", value, true);
        }
    }
}

/* Arguments of plugins come last: they replace what the shard's own words gave the plugin. */
static void read_spec(struct kube *kube, const struct import_value *spec)
{
    for (int plugins = 0; plugins < 2; plugins++) {
        IMPORT_EACH(value, spec)
        {
            const bool args = value->kind == IMPORT_MAP && strcmp(value->key, "args") == 0;
            if ((strcmp(value->key, "plugins") == 0) != (plugins != 0)) {
                continue;
            }
            IMPORT_EACH(flag, args ? value : NULL)
            {
                if (flag->kind == IMPORT_TEXT && !read_flag(kube, flag)) {
                    import_set_param(kube->model,
                                     import_format(kube->load, "args.%.200s", flag->key),
                                     flag->text, flag, true);
                }
            }
            if (value->kind == IMPORT_MAP && !args) {
                flatten(kube, value, value->key);
            } else if (value->kind != IMPORT_MAP && value->kind != IMPORT_NULL) {
                import_set_param(kube->model, value->key,
                                 value->kind == IMPORT_TEXT ? value->text : "(a list)", value,
                                 true);
            }
        }
    }
}

static void read_shard(struct kube *kube)
{
    const struct kube_list *list = &kube->lists[KUBE_SHARD];
    bool found = false;
    for (uint32_t i = 0; i < list->count && import_ok(kube->load); i++) {
        const struct import_value *spec = import_map(kube->load, list->items[i], "spec");
        const char *value = import_text(kube->load, spec, "partitionLabelValue", "");
        if (strcmp(value, kube->shard_value) == 0) {
            read_spec(kube, spec);
            found = true;
        }
    }
    if (list->count > 0 && !found) {
        import_note(kube->model, "no SchedulingShard has the value \"%s\": default parameters",
                    kube->shard_value);
    }
}

/* --- KAI's snapshot --- */

/* Nanoseconds as Go writes a duration in JSON. */
/* Absent: 0; negative: -1 s, however small. */
static orr_ms nanoseconds(struct kube *kube, const struct import_value *params, const char *key)
{
    const int64_t ns = import_int(kube->load, params, key, 0);
    return ns < 0 ? -1000 : ns / 1000000;
}

/* False and zero are left out of the snapshot, so what is absent is false or 0, not the default. */
static void read_scheduler_params(struct kube *kube, const struct import_value *params)
{
    static const struct {
        const char *key, *word;
    } flags[] = {{"useSchedulingSignatures", "args.use-scheduling-signatures"},
                 {"fullHierarchyFairness", "args.full-hierarchy-fairness"},
                 {"allowConsolidatingReclaim", "args.allow-consolidating-reclaim"}};
    struct import_load *load = kube->load;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        import_set_param(kube->model, flags[i].word,
                         import_bool(load, params, flags[i].key, false) ? "true" : "false",
                         import_get(params, flags[i].key), true);
    }
    import_set_param(
        kube->model, "args.max-consolidation-preemptees",
        import_format(load, "%lld",
                      (long long)import_int(load, params, "maxNumberConsolidationPreemptees", 0)),
        import_get(params, "maxNumberConsolidationPreemptees"), true);
    import_set_param(
        kube->model, "args.default-staleness-grace-period",
        import_format(load, "%lldms",
                      (long long)nanoseconds(kube, params, "globalDefaultStalenessGracePeriod")),
        import_get(params, "globalDefaultStalenessGracePeriod"), true);
    kube->stuck_after = nanoseconds(kube, params, "stuckInReleasingThreshold");
    kube->restrict_nodes = import_bool(load, params, "restrictSchedulingNodes", false);
    kube->scheduler_name = import_text(load, params, "schedulerName", kube->scheduler_name);
    kube->queue_label = import_text(load, params, "queueLabelKey", kube->queue_label);
    const struct import_value *part = import_map(load, params, "partitionParams");
    kube->shard_key = import_text(load, part, "NodePoolLabelKey", kube->shard_key);
    kube->shard_value = import_text(load, part, "NodePoolLabelValue", kube->shard_value);
}

static void read_tiers(struct kube *kube, const struct import_value *config)
{
    const struct import_value *tiers = import_list(kube->load, config, "tiers");
    if (tiers == NULL) {
        return;
    }
    kube->model->plugins = tiers;
    IMPORT_EACH(tier, tiers)
    {
        IMPORT_EACH(plugin, import_list(kube->load, tier, "plugins"))
        {
            const char *name = import_text(kube->load, plugin, "name", "");
            flatten(kube, import_map(kube->load, plugin, "arguments"),
                    import_format(kube->load, "plugins.%.100s.arguments", name));
        }
    }
}

static void read_snapshot(struct kube *kube)
{
    const struct import_value *config = import_map(kube->load, kube->snapshot, "config");
    const struct import_value *params = import_map(kube->load, kube->snapshot, "schedulerParams");
    const char *actions = import_text(kube->load, config, "actions", NULL);
    if (actions != NULL) {
        import_set_param(kube->model, "actions", actions, import_get(config, "actions"), true);
        import_set_param(kube->model, "consolidation", "true", NULL, true); /* if it is listed */
    }
    read_tiers(kube, config);
    flatten(kube, import_map(kube->load, config, "queueDepthPerAction"), "queueDepthPerAction");
    flatten(kube, import_map(kube->load, config, "scenarioSearchBudgets"), "scenarioSearchBudgets");
    flatten(kube, import_map(kube->load, config, "usageDBConfig"), "usageDBConfig");
    if (import_get(config, "usageDBConfig/clientType") != NULL) {
        import_note(kube->model,
                    "past usage is not part of a snapshot: every usage is 0, as in KAI's own tool");
    }
    if (params != NULL) {
        read_scheduler_params(kube, params);
    }
}

void kube_read_config(struct kube *kube, const struct orr_snapshot_options *options)
{
    if (kube->snapshot != NULL) {
        read_snapshot(kube);
    }
    if (options->shard != NULL) {
        kube->shard_value = options->shard;
    }
    read_shard(kube);
    if (options->scheduler != NULL) {
        kube->scheduler_name = options->scheduler;
        kube->queue_is_namespace = true;
        kube->model->policy =
            strcmp(options->scheduler, "default-scheduler") == 0 ? "kube" : kube->model->policy;
    }
}

/* --- what version 0.17 does not have --- */

static bool is_known(const char *const *known, const char *key)
{
    for (; *known != NULL; known++) {
        if (strcmp(*known, key) == 0) {
            return true;
        }
    }
    return false;
}

static void note_keys(struct kube *kube, const struct import_value *map, const char *const *known,
                      const char *what)
{
    if (map == NULL || map->kind != IMPORT_MAP) {
        return;
    }
    IMPORT_EACH(value, map)
    {
        if (value->kind != IMPORT_NULL && !is_known(known, value->key)) {
            import_note(kube->model, "field %s of %s is not one of version 0.17: not heeded",
                        value->key, what);
        }
    }
}

static void note_specs(struct kube *kube, enum kube_kind kind, const char *what,
                       const char *const *known)
{
    const struct kube_list *list = &kube->lists[kind];
    for (uint32_t i = 0; i < list->count; i++) {
        note_keys(kube, import_get(list->items[i], "spec"), known, what);
    }
}

static void note_versions(struct kube *kube, enum kube_kind kind, const char *version)
{
    const struct kube_list *list = &kube->lists[kind];
    for (uint32_t i = 0; i < list->count; i++) {
        const char *given = import_label(list->items[i], "apiVersion");
        if (given != NULL && strcmp(given, version) != 0) {
            import_note(kube->model, "%s of %s is read as %s, which version 0.17 has",
                        kube_kind_of(list->items[i]), given, version);
        }
    }
}

/* The image of KAI's own scheduler, if its pod is in the input. */
static void note_stamp(struct kube *kube)
{
    const struct kube_list *pods = &kube->lists[KUBE_POD];
    bool found = false;
    for (uint32_t i = 0; i < pods->count; i++) {
        IMPORT_EACH(container, import_get(pods->items[i], "spec/containers"))
        {
            const char *image = import_label(container, "image");
            const char *at = image != NULL ? strstr(image, "/scheduler:") : NULL;
            if (at == NULL || strstr(image, "kai") == NULL) {
                continue;
            }
            const char *version = at + strlen("/scheduler:");
            version += *version == 'v';
            found = true;
            if (strncmp(version, "0.17.", 5) != 0 && strcmp(version, "0.17") != 0) {
                import_note(kube->model,
                            "the cluster runs KAI %.40s; decisions here are those of version 0.17",
                            version);
            }
        }
    }
    if (!found && kube->snapshot != NULL) {
        import_note(kube->model, "no stamp of KAI's version: taken for 0.17");
    }
}

void kube_note_unknown(struct kube *kube)
{
    static const char *const tops[] = {"config", "schedulerParams", "rawObjects", "discovery",
                                       NULL};
    static const char *const configs[] = {
        "actions", "tiers", "queueDepthPerAction", "usageDBConfig", "scenarioSearchBudgets", NULL};
    static const char *const params[] = {"schedulerName",
                                         "restrictSchedulingNodes",
                                         "partitionParams",
                                         "maxNumberConsolidationPreemptees",
                                         "scheduleCSIStorage",
                                         "useSchedulingSignatures",
                                         "fullHierarchyFairness",
                                         "allowConsolidatingReclaim",
                                         "numOfStatusRecordingWorkers",
                                         "globalDefaultStalenessGracePeriod",
                                         "schedulePeriod",
                                         "stuckInReleasingThreshold",
                                         "detailedFitErrors",
                                         "updatePodEvictionCondition",
                                         "queueLabelKey",
                                         NULL};
    static const char *const queue[] = {"displayName", "parentQueue",       "resources",
                                        "priority",    "preemptMinRuntime", "reclaimMinRuntime",
                                        NULL};
    static const char *const group[] = {
        "minMember",         "minSubGroup",          "queue",
        "priorityClassName", "preemptibility",       "topologyConstraint",
        "subGroups",         "markUnschedulable",    "schedulingBackoff",
        "preemptionDelay",   "stalenessGracePeriod", NULL};
    static const char *const topology[] = {"levels", NULL};
    static const char *const binding[] = {"podName",
                                          "selectedNode",
                                          "receivedResourceType",
                                          "receivedGPU",
                                          "selectedGPUGroups",
                                          "resourceClaimAllocations",
                                          "extendedResourceClaimAllocation",
                                          "predictedNUMAZones",
                                          "backoffLimit",
                                          NULL};
    const char *lists[KUBE_KINDS + 1] = {
#define X(name, kind, list) list,
        KUBE_KIND_LIST(X)
#undef X
    };
    note_keys(kube, kube->snapshot, tops, "the snapshot");
    note_keys(kube, import_get(kube->snapshot, "config"), configs, "config");
    note_keys(kube, import_get(kube->snapshot, "schedulerParams"), params, "schedulerParams");
    note_keys(kube, import_get(kube->snapshot, "rawObjects"), lists, "rawObjects");
    note_specs(kube, KUBE_QUEUE, "a Queue", queue);
    note_specs(kube, KUBE_POD_GROUP, "a PodGroup", group);
    note_specs(kube, KUBE_TOPOLOGY, "a Topology", topology);
    note_specs(kube, KUBE_BIND_REQUEST, "a BindRequest", binding);
    note_versions(kube, KUBE_QUEUE, "scheduling.run.ai/v2");
    note_versions(kube, KUBE_POD_GROUP, "scheduling.run.ai/v2alpha2");
    note_stamp(kube);
}
