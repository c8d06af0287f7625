/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shape of a case: cluster, queues, configuration, expectations. Jobs are in case_job.c. */
#include "case.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/idmap.h>

#define COUNT(a)  (sizeof(a) / sizeof(a)[0])
#define AT(s, m)  .at = offsetof(struct s, m)
#define CNT(s, m) .count_at = offsetof(struct s, m)

static const struct conform_field node_fields[] = {
    {"gpus", CONFORM_NUMBER, true, AT(conform_node, gpus)},
    {"allocatable_gpus", CONFORM_NUMBER, true, AT(conform_node, allocatable_gpus)},
    {"cpu_milli", CONFORM_NUMBER, true, AT(conform_node, cpu_milli)},
    {"memory_bytes", CONFORM_NUMBER, true, AT(conform_node, memory_bytes)},
    {"gpu_memory_mib", CONFORM_INT, AT(conform_node, gpu_memory_mib)},
    {"gpu_memory_label", CONFORM_INT, AT(conform_node, gpu_memory_label)},
    {"pods", CONFORM_INT, AT(conform_node, pods)},
    {"affinity_name", CONFORM_NAME, AT(conform_node, affinity_name)},
    {"labels", CONFORM_PAIRS, AT(conform_node, labels), CNT(conform_node, label_count)},
    {"gpu_memory_synced", CONFORM_BOOL, AT(conform_node, gpu_memory_synced)},
    {"mig_strategy", CONFORM_NAME, AT(conform_node, mig_strategy)},
    {"mig_instances", CONFORM_PAIRS, AT(conform_node, mig_instances),
     CNT(conform_node, mig_instance_count)},
    {"numa_topology", CONFORM_REF, AT(conform_node, numa), .shape = &orr_conform__numa_shape},
};
static const struct conform_node node_default = {
    .gpu_memory_mib = 100, .gpu_memory_synced = true, .pods = 110};
static const struct conform_shape node_shape = {
    .what = "a node",
    .fields = node_fields,
    .field_count = COUNT(node_fields),
    .size = sizeof(struct conform_node),
    .defaults = &node_default,
};

static const struct conform_field amounts_fields[] = {
    {"deserved", CONFORM_NUMBER, true, AT(conform_amounts, deserved)},
    {"limit", CONFORM_NUMBER, true, AT(conform_amounts, limit)},
    {"over_quota_weight", CONFORM_NUMBER, true, AT(conform_amounts, over_quota_weight)},
};
static const struct conform_shape amounts_shape = {
    .what = "an amount of a queue",
    .fields = amounts_fields,
    .field_count = COUNT(amounts_fields),
    .size = sizeof(struct conform_amounts),
};

static const struct conform_field queue_fields[] = {
    {"name", CONFORM_STRING, true, AT(conform_queue, name)},
    {"parent", CONFORM_STRING, true, AT(conform_queue, parent)},
    {"priority", CONFORM_INT, AT(conform_queue, priority)},
    {"created_offset_min", CONFORM_NUMBER, true, AT(conform_queue, created_offset_min)},
    {"gpu", CONFORM_OBJECT, AT(conform_queue, gpu), .shape = &amounts_shape},
    {"cpu", CONFORM_OBJECT, AT(conform_queue, cpu), .shape = &amounts_shape},
    {"memory", CONFORM_OBJECT, AT(conform_queue, memory), .shape = &amounts_shape},
    {"reclaim_min_runtime_s", CONFORM_NUMBER, AT(conform_queue, reclaim_min_runtime_s)},
    {"preempt_min_runtime_s", CONFORM_NUMBER, AT(conform_queue, preempt_min_runtime_s)},
    {"implicit", CONFORM_BOOL, AT(conform_queue, implicit)},
    {"v1", CONFORM_JSON, AT(conform_queue, v1)},
};
static const struct conform_queue queue_default = {.priority = 100,
                                                   .gpu = {0, -1, 0},
                                                   .cpu = {-1, -1, 1},
                                                   .memory = {-1, -1, 1},
                                                   .reclaim_min_runtime_s = CONFORM_UNSET,
                                                   .preempt_min_runtime_s = CONFORM_UNSET};
static const struct conform_shape queue_shape = {
    .what = "a queue",
    .fields = queue_fields,
    .field_count = COUNT(queue_fields),
    .size = sizeof(struct conform_queue),
    .defaults = &queue_default,
};

static const struct conform_field level_fields[] = {
    {"node_label", CONFORM_STRING, true, AT(conform_level, node_label)},
    {"alias", CONFORM_NAME, AT(conform_level, alias)},
};
static const struct conform_shape level_shape = {
    .what = "a topology level",
    .fields = level_fields,
    .field_count = COUNT(level_fields),
    .size = sizeof(struct conform_level),
};

static const struct conform_field topology_fields[] = {
    {"name", CONFORM_STRING, true, AT(conform_topology, name)},
    {"levels", CONFORM_LIST, true, AT(conform_topology, levels), CNT(conform_topology, level_count),
     .shape = &level_shape},
};
static const struct conform_shape topology_shape = {
    .what = "a topology",
    .fields = topology_fields,
    .field_count = COUNT(topology_fields),
    .size = sizeof(struct conform_topology),
};

/* --- configuration --- */

static const struct conform_field plugin_fields[] = {
    {"Name", CONFORM_STRING, true, AT(conform_plugin, name)},
    {"Arguments", CONFORM_PAIRS, AT(conform_plugin, arguments),
     CNT(conform_plugin, argument_count)},
};
static const struct conform_shape plugin_shape = {
    .what = "a plugin",
    .fields = plugin_fields,
    .field_count = COUNT(plugin_fields),
    .size = sizeof(struct conform_plugin),
};

static const struct conform_field tier_fields[] = {
    {"Plugins", CONFORM_LIST, true, AT(conform_tier, plugins), CNT(conform_tier, plugin_count),
     .shape = &plugin_shape},
};
static const struct conform_shape tier_shape = {
    .what = "a tier of plugins",
    .fields = tier_fields,
    .field_count = COUNT(tier_fields),
    .size = sizeof(struct conform_tier),
};

struct plugins {
    struct conform_tier *tiers;
    uint32_t tier_count;
    const char *actions; /* of no effect: a case states its actions itself */
};
static const struct conform_field plugins_fields[] = {
    {"Tiers", CONFORM_LIST, true, AT(plugins, tiers), CNT(plugins, tier_count),
     .shape = &tier_shape},
    {"Actions", CONFORM_JSON, AT(plugins, actions)},
};
static const struct conform_shape plugins_shape = {
    .what = "the list of plugins",
    .fields = plugins_fields,
    .field_count = COUNT(plugins_fields),
    .size = sizeof(struct plugins),
};

/* "default" or an object; `out` is the configuration. */
static enum orr_status read_plugins(struct conform_reader *reader, struct fy_node *node, void *out)
{
    struct conform_config *config = out;
    if (fy_node_is_mapping(node)) {
        struct plugins plugins = {0};
        enum orr_status status = orr_conform__object(reader, node, &plugins_shape, &plugins);
        config->default_plugins = false;
        config->tiers = plugins.tiers;
        config->tier_count = plugins.tier_count;
        return status;
    }
    const char *word = NULL;
    enum orr_status status = orr_conform__string(reader, node, &word);
    if (status == ORR_OK && strcmp(word, "default") != 0) {
        status = orr_conform__fail(reader, node, "plugins are \"default\" or an object");
    }
    return status;
}

static const struct conform_field calls_fields[] = {
    {"max_binds", CONFORM_INT, AT(conform_calls_max, max_binds)},
    {"max_evictions", CONFORM_INT, AT(conform_calls_max, max_evictions)},
    {"max_pipelines", CONFORM_INT, AT(conform_calls_max, max_pipelines)},
};
static const struct conform_shape calls_shape = {
    .what = "the limits of calls",
    .fields = calls_fields,
    .field_count = COUNT(calls_fields),
    .size = sizeof(struct conform_calls_max),
};

static const struct conform_field config_fields[] = {
    {"plugins", CONFORM_CUSTOM, true, .at = 0, .read = read_plugins},
    {"predicates_plugin_active", CONFORM_BOOL, AT(conform_config, predicates_plugin_active)},
    {"fake_cache", CONFORM_OBJECT, AT(conform_config, calls), .shape = &calls_shape},
    {"allow_consolidating_reclaim", CONFORM_BOOL, AT(conform_config, allow_consolidating_reclaim)},
    {"max_consolidation_preemptees", CONFORM_INT, AT(conform_config, max_consolidation_preemptees)},
    {"default_staleness_grace_period_s", CONFORM_NUMBER,
     AT(conform_config, default_staleness_grace_period_s)},
    {"signatures", CONFORM_BOOL, AT(conform_config, signatures)},
    {"strict_v017", CONFORM_BOOL, AT(conform_config, strict_v017)},
};
static const struct conform_config config_default = {.default_plugins = true,
                                                     .predicates_plugin_active = true,
                                                     .allow_consolidating_reclaim = true,
                                                     .max_consolidation_preemptees = -1};
static const struct conform_shape config_shape = {
    .what = "the configuration",
    .fields = config_fields,
    .field_count = COUNT(config_fields),
    .size = sizeof(struct conform_config),
    .defaults = &config_default,
};

static const struct conform_field call_fields[] = {
    {"method", CONFORM_STRING, true, AT(conform_session_call, method)},
    {"args", CONFORM_VALUES, AT(conform_session_call, args), CNT(conform_session_call, arg_count)},
};
static const struct conform_shape call_shape = {
    .what = "a session call",
    .fields = call_fields,
    .field_count = COUNT(call_fields),
    .size = sizeof(struct conform_session_call),
};

/* --- expectations: written straight into the case --- */

static const struct conform_field expect_fields[] = {
    {"status", CONFORM_WORD, AT(conform_expect, status), .words = orr_conform__state_words},
    {"node", CONFORM_NAME, AT(conform_expect, node)},
    {"gpus_requested", CONFORM_NUMBER, AT(conform_expect, gpus_requested)},
    {"gpus_accepted", CONFORM_NUMBER, AT(conform_expect, gpus_accepted)},
    {"cpu_milli_requested", CONFORM_NUMBER, AT(conform_expect, cpu_milli_requested)},
    {"memory_requested", CONFORM_NUMBER, AT(conform_expect, memory_requested)},
    {"gpu_groups", CONFORM_STRINGS, AT(conform_expect, gpu_groups),
     CNT(conform_expect, gpu_group_count)},
    {"dont_validate_gpu_group", CONFORM_BOOL, AT(conform_expect, dont_validate_gpu_group)},
    {"last_start_older_than_s", CONFORM_NUMBER, AT(conform_expect, last_start_older_than_s)},
    {"error_message", CONFORM_NAME, AT(conform_expect, error_message)},
    {"numa_zones", CONFORM_CUSTOM, AT(conform_expect, numa_zones),
     .read = orr_conform__read_zone_mask},
};
static const struct conform_expect expect_default = {.status = CONFORM_STATE_ANY,
                                                     .gpus_requested = CONFORM_UNSET,
                                                     .gpus_accepted = CONFORM_UNSET,
                                                     .cpu_milli_requested = CONFORM_UNSET,
                                                     .memory_requested = CONFORM_UNSET,
                                                     .last_start_older_than_s = CONFORM_UNSET};
static const struct conform_shape expect_shape = {
    .what = "an expectation",
    .fields = expect_fields,
    .field_count = COUNT(expect_fields),
    .size = sizeof(struct conform_expect),
    .defaults = &expect_default,
};

static const struct conform_field expect_node_fields[] = {
    {"releasing_gpus", CONFORM_NUMBER, AT(conform_expect_node, releasing_gpus)},
    {"idle_gpus", CONFORM_NUMBER, AT(conform_expect_node, idle_gpus)},
    {"numa_zones_available", CONFORM_LIST, AT(conform_expect_node, zones),
     CNT(conform_expect_node, zone_count), .shape = &orr_conform__zone_shape},
};
static const struct conform_expect_node expect_node_default = {.releasing_gpus = CONFORM_UNSET,
                                                               .idle_gpus = CONFORM_UNSET};
static const struct conform_shape expect_node_shape = {
    .what = "an expectation of a node",
    .fields = expect_node_fields,
    .field_count = COUNT(expect_node_fields),
    .size = sizeof(struct conform_expect_node),
    .defaults = &expect_node_default,
};

static const struct conform_field expected_fields[] = {
    {"jobs", CONFORM_MAP, AT(conform_case, expect_jobs), CNT(conform_case, expect_job_count),
     .shape = &expect_shape},
    {"tasks", CONFORM_MAP, AT(conform_case, expect_tasks), CNT(conform_case, expect_task_count),
     .shape = &expect_shape},
    {"tasks_unmatched_ignored", CONFORM_MAP, AT(conform_case, expect_unmatched),
     CNT(conform_case, expect_unmatched_count), .shape = &expect_shape},
    {"nodes", CONFORM_MAP, AT(conform_case, expect_nodes), CNT(conform_case, expect_node_count),
     .shape = &expect_node_shape},
};
static const struct conform_shape expected_shape = {
    .what = "the expected outcome",
    .fields = expected_fields,
    .field_count = COUNT(expected_fields),
    .size = sizeof(struct conform_case),
};

static const struct conform_field rounds_fields[] = {
    {"until_match", CONFORM_INT, AT(conform_case, rounds_until_match)},
    {"after_match", CONFORM_INT, AT(conform_case, rounds_after_match)},
    {"scheduling_duration_s", CONFORM_NUMBER, AT(conform_case, scheduling_duration_s)},
};
static const struct conform_shape rounds_shape = {
    .what = "the rounds",
    .fields = rounds_fields,
    .field_count = COUNT(rounds_fields),
    .size = sizeof(struct conform_case),
};

/* --- the case --- */

static const char *const modes[] = {"single_session", "rounds", NULL};

static const struct conform_field case_fields[] = {
    {"id", CONFORM_STRING, true, AT(conform_case, id)},
    {"name", CONFORM_STRING, AT(conform_case, name)},
    {"suite", CONFORM_STRING, AT(conform_case, suite)},
    {"mode", CONFORM_WORD, true, AT(conform_case, mode), .words = modes},
    {"actions", CONFORM_STRINGS, true, AT(conform_case, actions), CNT(conform_case, action_count)},
    {"rounds", CONFORM_OBJECT, .at = 0, .shape = &rounds_shape},
    {"config", CONFORM_OBJECT, true, AT(conform_case, config), .shape = &config_shape},
    {"session_calls", CONFORM_LIST, AT(conform_case, session_calls),
     CNT(conform_case, session_call_count), .shape = &call_shape},
    {"nodes", CONFORM_MAP, true, AT(conform_case, nodes), CNT(conform_case, node_count),
     .shape = &node_shape},
    {"queues", CONFORM_LIST, true, AT(conform_case, queues), CNT(conform_case, queue_count),
     .shape = &queue_shape},
    {"departments", CONFORM_LIST, AT(conform_case, departments),
     CNT(conform_case, department_count), .shape = &queue_shape},
    {"topologies", CONFORM_LIST, AT(conform_case, topologies), CNT(conform_case, topology_count),
     .shape = &topology_shape},
    {"jobs", CONFORM_LIST, true, AT(conform_case, jobs), CNT(conform_case, job_count),
     .shape = &orr_conform__job_shape},
    {"expected", CONFORM_OBJECT, true, .at = 0, .shape = &expected_shape},
    {"dra", CONFORM_CUSTOM, AT(conform_case, dra), .read = orr_conform__read_beyond},
    {"features", CONFORM_STRINGS, AT(conform_case, features), CNT(conform_case, feature_count)},
    {"non_plain_features", CONFORM_STRINGS, AT(conform_case, non_plain_features),
     CNT(conform_case, non_plain_feature_count)},
    {"plain", CONFORM_BOOL, true, AT(conform_case, plain)},
};
static const struct conform_shape case_shape = {
    .what = "a case",
    .fields = case_fields,
    .field_count = COUNT(case_fields),
    .size = sizeof(struct conform_case),
};

/* A case of features beyond the plain model may have keys and values of theirs; it is read either
 * way, so that it can be counted and named as skipped. */
static bool is_plain(struct fy_node *node)
{
    struct fy_node *plain = fy_node_mapping_lookup_by_string(node, "plain", FY_NT);
    size_t bytes = 0;
    const char *text = plain != NULL ? fy_node_get_scalar(plain, &bytes) : NULL;
    return text == NULL || bytes != 5 || memcmp(text, "false", 5) != 0;
}

/* False: it was there before. */
static bool is_new(struct orr_idmap *names, const char *name)
{
    bool added;
    (void)orr_idmap_put(names, name, strlen(name), &added);
    return added;
}

/* KAI keeps jobs and queues by name: two of one name are no case that it could decide. A case that
 * was read in part may have jobs and queues without names. */
static void refuse_twins(struct conform_reader *reader, struct conform_case *out)
{
    if (out->misread != NULL) {
        return;
    }
    struct orr_idmap jobs, queues;
    const char *what = NULL, *name = NULL;
    orr_idmap_init(&jobs);
    orr_idmap_init(&queues);
    for (uint32_t j = 0; j < out->job_count && what == NULL; j++) {
        name = out->jobs[j].name;
        what = is_new(&jobs, name) ? NULL : "jobs";
    }
    for (uint32_t q = 0; q < out->queue_count && what == NULL; q++) {
        name = out->queues[q].name;
        what = is_new(&queues, name) ? NULL : "queues";
    }
    if (what != NULL) {
        char text[300];
        (void)snprintf(text, sizeof text, "there are two %s named \"%.200s\"", what, name);
        out->misread = orr_arena_strndup(reader->arena, text, strlen(text));
    }
    orr_idmap_release(&jobs);
    orr_idmap_release(&queues);
}

enum orr_status orr_conform__read_case(struct conform_reader *reader, struct fy_node *node,
                                       struct conform_case *out)
{
    *out = (struct conform_case){
        .file = orr_arena_strndup(reader->arena, reader->path, strlen(reader->path)),
        .rounds_until_match = 2,
        .rounds_after_match = 5};
    reader->keep_extras = fy_node_is_mapping(node) && !is_plain(node);
    reader->extras = NULL;
    /* What a case states in words of its own cannot be judged; the cases beside it can. */
    reader->note_unknown = true;
    reader->unknown = NULL;
    enum orr_status status = orr_conform__object(reader, node, &case_shape, out);
    if (status != ORR_OK && reader->keep_extras && out->id != NULL) {
        out->misread =
            orr_arena_strndup(reader->arena, reader->err->text, strlen(reader->err->text));
        *reader->err = (struct orr_err){0};
        status = ORR_OK;
    }
    if (out->misread == NULL) {
        out->misread = reader->unknown;
    }
    if (status == ORR_OK) {
        refuse_twins(reader, out);
    }
    out->extras = reader->extras;
    reader->keep_extras = false;
    reader->note_unknown = false;
    if (out->rounds_after_match == 0) {
        out->rounds_after_match = 5;
    }
    return status;
}
