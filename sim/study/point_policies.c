/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policies of a scenario's shards: found or loaded, with their parameters, and what of these
 * bears on nothing. */
#include <orrery/sim/point.h>

#include <stdio.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/policies/kai_hooks.h>
#include <orrery/policies/registry.h>
#include <orrery/sim/plugin.h>

/* "policy NAME: ...", as a plug-in that does not open words it, behind its place. Where that is an
 * option with the name, the name stands there once. */
static void place_plugin_error(const struct orr_scenario_shard *shard, struct orr_err *err)
{
    const char *origin = shard->policy_origin == NULL ? "policy" : shard->policy_origin;
    const size_t name = strlen(shard->policy), before = strlen("policy "), place = strlen(origin);
    char *text = err->text;
    if (place > name && strcmp(origin + place - name, shard->policy) == 0 &&
        strncmp(text, "policy ", before) == 0 && strncmp(text + before, shard->policy, name) == 0 &&
        strncmp(text + before + name, ": ", 2) == 0) {
        memmove(text, text + before + name + 2, strlen(text + before + name + 2) + 1);
    }
    orr_err_prefix(err, "%s", origin);
}

/* A plug-in or one that is built in; its parameters filled in. */
static enum orr_status open_policy(const struct orr_scenario_shard *shard, const char *folder,
                                   struct orr_engine_shard *out, struct orr_err *err)
{
    const struct orr_policy *found = orr_policy_find(shard->policy);
    if (found == NULL && orr_plugin_is(shard->policy)) {
        const enum orr_status status = orr_plugin_open(shard->policy, folder, shard->params,
                                                       shard->param_count, &out->plugin, err);
        if (status != ORR_OK) {
            place_plugin_error(shard, err);
            return status;
        }
        found = orr_plugin_policy(out->plugin);
    }
    if (found == NULL) {
        const char *names[64];
        size_t count;
        const struct orr_policy *const *all = orr_policies(&count);
        for (size_t i = 0; i < count; i++) {
            names[i] = all[i]->name;
        }
        const char *near = orr_nearest(shard->policy, names, count);
        orr_fail(
            err, ORR_SCENARIO,
            "unknown policy \"%s\"%s%s%s; `orrery policies` lists them, and one of your own is "
            "a path to a .so or exec:COMMAND",
            shard->policy, near == NULL ? "" : " (did you mean \"", near == NULL ? "" : near,
            near == NULL ? "" : "\"?)");
        orr_err_prefix(err, "%s", shard->policy_origin == NULL ? "policy" : shard->policy_origin);
        return ORR_SCENARIO;
    }
    void *filled = orr_zalloc(found->params_bytes == 0 ? 1 : found->params_bytes, 1);
    if (out->plugin != NULL) {
        orr_plugin_bind(out->plugin, filled);
    }
    enum orr_status status =
        orr_policy_configure(found, filled, shard->params, shard->param_count, err);
    if (status == ORR_OK && out->plugin == NULL && strcmp(found->name, "kai") == 0 &&
        orr_kai_hooks_named(filled)[0] != '\0') {
        status = orr_plugin_open_hooks(orr_kai_hooks_named(filled), folder, &out->plugin, err);
        if (status == ORR_OK) {
            orr_plugin_bind(out->plugin, filled);
        }
    }
    if (status != ORR_OK) {
        orr_free(filled);
        orr_plugin_close(out->plugin);
        return status;
    }
    out->policy = found;
    out->params = filled;
    out->settings = shard->params;
    out->setting_count = shard->param_count;
    return ORR_OK;
}

/* Did a shard before this one have the same setting, its own or the scenario's? */
static bool is_repeated(const struct orr_scenario *scenario, uint32_t shard,
                        const struct orr_setting *setting)
{
    for (uint32_t s = 0; s < shard; s++) {
        for (uint32_t i = 0; i < scenario->shards[s].param_count; i++) {
            const struct orr_setting *other = &scenario->shards[s].params[i];
            if (strcmp(other->name, setting->name) == 0 &&
                strcmp(other->value, setting->value) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Settings that are taken without effect, each once. */
static void report_without_effect(const struct orr_scenario *scenario, uint32_t shard,
                                  const struct orr_policy *policy, orr_world_warn_fn *warn,
                                  void *context)
{
    for (uint32_t i = 0; warn != NULL && i < scenario->shards[shard].param_count; i++) {
        const struct orr_setting *setting = &scenario->shards[shard].params[i];
        const struct orr_param_alias *word = orr_policy_word(policy, setting->name, setting->value);
        if (word != NULL && word->name == NULL && !is_repeated(scenario, shard, setting)) {
            char line[600];
            (void)snprintf(line, sizeof line, "%.200s: %.100s = %.100s has no effect here: %s\n",
                           setting->origin != NULL ? setting->origin : "policy.params",
                           setting->name, setting->value, word->why);
            warn(line, context);
        }
    }
}

struct hearer {
    orr_world_warn_fn *warn;
    void *context;
};

static void pass_on(const char *text, void *context)
{
    const struct hearer *hearer = context;
    char line[1100];
    (void)snprintf(line, sizeof line, "%s\n", text);
    hearer->warn(line, hearer->context);
}

/* What a policy passes over in texts that it reads itself; of shards with the same text once. */
static void pass_remarks(const struct orr_scenario *scenario, uint32_t shard,
                         const struct orr_engine_shard *of, orr_world_warn_fn *warn, void *context)
{
    struct hearer hearer = {warn, context};
    bool repeated = shard > 0;
    for (uint32_t i = 0; i < of->setting_count; i++) {
        repeated = repeated && is_repeated(scenario, shard, &of->settings[i]);
    }
    if (warn != NULL && !repeated) {
        orr_policy_remarks(of->policy, of->params, of->settings, of->setting_count, pass_on,
                           &hearer);
    }
}

/* Jobs of a shard that may be paused, and those of which nothing states what that costs. */
static void count_pausable(const struct orr_world *world, uint32_t shard, uint32_t *all,
                           uint32_t *unasked)
{
    *all = *unasked = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        if (world->queues.queues[spec->queue].shard == shard && spec->preemptible &&
            !spec->scales) {
            (*all)++;
            *unasked += world->terms.items[spec->terms].keep_unasked;
        }
    }
}

void orr_point_report_pauses(const struct orr_scenario *scenario, const struct orr_world *world,
                             orr_world_warn_fn *warn, void *context)
{
    for (uint32_t s = 0; warn != NULL && s < scenario->shard_count; s++) {
        uint32_t all, unasked;
        count_pausable(world, s, &all, &unasked);
        char line[300], who[100] = "jobs that it pauses keep";
        if (unasked < all) {
            (void)snprintf(who, sizeof who,
                           "jobs without checkpoints that it pauses, %u of %u, keep", unasked, all);
        }
        (void)snprintf(line, sizeof line,
                       "policy %.100s: %s what they did (execution.on_evict: keep, unless "
                       "stated)\n",
                       scenario->shards[s].policy, who);
        if (unasked > 0) {
            warn(line, context);
        }
    }
}

/* Another number of nodes, as of --set, may leave names of the scenario without one. */
static void report_unused_names(const struct orr_scenario *scenario, orr_world_warn_fn *warn,
                                void *context)
{
    for (uint32_t p = 0; warn != NULL && p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        if (pool->name_count > pool->nodes_most) {
            const uint32_t left = pool->name_count - pool->nodes_most;
            char line[300];
            (void)snprintf(line, sizeof line,
                           "pool %.100s: the last %u of its %u names %s no node's, as it has %u\n",
                           pool->name, (unsigned)left, (unsigned)pool->name_count,
                           ORR_ONE(left, "is", "are"), (unsigned)pool->nodes_most);
            warn(line, context);
        }
    }
}

enum orr_status orr_point_policies(const struct orr_scenario *scenario, orr_world_warn_fn *warn,
                                   void *context, struct orr_engine_shard **shards,
                                   struct orr_err *err)
{
    *shards = orr_zalloc(scenario->shard_count, sizeof **shards);
    report_unused_names(scenario, warn, context);
    for (uint32_t s = 0; s < scenario->shard_count; s++) {
        enum orr_status status =
            open_policy(&scenario->shards[s], scenario->folder, &(*shards)[s], err);
        if (status != ORR_OK) {
            orr_point_policies_release(*shards, s);
            *shards = NULL;
            return status;
        }
        report_without_effect(scenario, s, (*shards)[s].policy, warn, context);
        pass_remarks(scenario, s, &(*shards)[s], warn, context);
    }
    return ORR_OK;
}

void orr_point_policies_release(struct orr_engine_shard *shards, uint32_t count)
{
    for (uint32_t s = 0; shards != NULL && s < count; s++) {
        orr_free((void *)(uintptr_t)shards[s].params); /* made here, const to everybody else */
        orr_plugin_close(shards[s].plugin);
    }
    orr_free(shards);
}
