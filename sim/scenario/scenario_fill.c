/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_fill.c - from the finished tree to the structs of scenario.h, by the rows. */
#include "scenario_int.h"

#include <string.h>

#include <orrery/base/idmap.h>
#include <orrery/base/sort.h>

static void fill_row(const struct orr_scenario__row *row, const struct orr_scenario__node *node,
                     void *base);

void orr_scenario__fill_group(const struct orr_scenario__row *group,
                              const struct orr_scenario__node *node, void *base)
{
    for (uint32_t i = 0; i < group->row_count; i++) {
        const struct orr_scenario__node *child = orr_scenario__find(node, group->rows[i].key);
        if (child != NULL) {
            fill_row(&group->rows[i], child, base);
        }
    }
}

/* Groups have no struct of their own: all their values are fields of the one around. */
static void fill_row(const struct orr_scenario__row *row, const struct orr_scenario__node *node,
                     void *base)
{
    if (row->type == ORR_TYPE_GROUP) {
        orr_scenario__fill_group(row, node, base);
    } else if (orr_scenario__is_scalar(row->type) && !row->no_field) {
        struct orr_scenario__value value = {.null = true};
        char why[ORR_SCENARIO__WHY];
        bool good = node->text == NULL || orr_scenario__value_parse(row, node->text, &value, why);
        ORR_ASSERT(good); /* every text in the tree has been checked */
        orr_scenario__value_store(row, node->text, &value, base);
    }
}

static const struct orr_scenario__node *below(const struct orr_scenario__node *root,
                                              const char *first, const char *second)
{
    const struct orr_scenario__node *node = orr_scenario__find(root, first);
    return second == NULL ? node : orr_scenario__find(node, second);
}

struct orr_scenario_label *
orr_scenario__labels(struct orr_arena *arena, const struct orr_scenario__node *map, uint32_t *count)
{
    *count = map->child_count;
    struct orr_scenario_label *labels = orr_arena_alloc(arena, *count + (size_t)1, sizeof *labels);
    for (uint32_t i = 0; i < *count; i++) {
        labels[i] = (struct orr_scenario_label){map->children[i]->key, map->children[i]->text};
    }
    return labels;
}

struct orr_scenario_taint *orr_scenario__taints(struct orr_arena *arena,
                                                const struct orr_scenario__node *words,
                                                uint32_t *count)
{
    struct orr_scenario_taint *taints =
        orr_arena_alloc(arena, words->child_count + (size_t)1, sizeof *taints);
    *count = 0;
    for (uint32_t i = 0; i < words->child_count; i++) {
        /* a wrong one is an error of scenario_check */
        *count += orr_scenario__taint(arena, words->children[i]->text, &taints[*count]);
    }
    return taints;
}

static void fill_pools(struct orr_arena *arena, struct orr_scenario *scenario,
                       const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *pools = below(root, "cluster", "pools");
    const struct orr_scenario__row *row = orr_scenario__row_at("cluster", "pools");
    scenario->pool_count = pools->child_count;
    scenario->pools = orr_arena_alloc(arena, pools->child_count + 1, sizeof *scenario->pools);
    for (uint32_t i = 0; i < pools->child_count; i++) {
        scenario->pools[i].name = pools->children[i]->key;
        orr_scenario__fill_group(row, pools->children[i], &scenario->pools[i]);
        struct orr_scenario_pool *pool = &scenario->pools[i];
        pool->autoscaled = orr_scenario__find(pools->children[i], "autoscale") != NULL;
        pool->nodes_most = pool->nodes > pool->autoscale_max ? pool->nodes : pool->autoscale_max;
        const struct orr_scenario__node *names = orr_scenario__find(pools->children[i], "names");
        const char **texts = orr_arena_alloc(arena, names->child_count + (size_t)1, sizeof *texts);
        for (uint32_t n = 0; n < names->child_count; n++) {
            texts[n] = names->children[n]->text;
        }
        pool->names = texts;
        pool->name_count = names->child_count;
        const struct orr_scenario__node *mig = orr_scenario__find(pools->children[i], "mig");
        if (mig != NULL) {
            pool->mig = orr_scenario__labels(arena, mig, &pool->mig_count);
        }
        pool->labels = orr_scenario__labels(arena, orr_scenario__find(pools->children[i], "labels"),
                                            &pool->label_count);
        pool->taints = orr_scenario__taints(arena, orr_scenario__find(pools->children[i], "taints"),
                                            &pool->taint_count);
    }
}

static void fill_local_queues(struct orr_arena *arena, const struct orr_scenario__node *node,
                              struct orr_scenario_queue *queue)
{
    const struct orr_scenario__node *given = orr_scenario__find(node, "local_queues");
    queue->local_queue_count = given == NULL ? 0 : given->child_count;
    queue->local_queues =
        orr_arena_alloc(arena, queue->local_queue_count + (size_t)1, sizeof *queue->local_queues);
    for (uint32_t l = 0; l < queue->local_queue_count; l++) {
        queue->local_queues[l].user = given->children[l]->key;
        orr_scenario__fill_group(orr_scenario__row_at("queues", "local_queues"), given->children[l],
                                 &queue->local_queues[l]);
    }
}

static void fill_queues(struct orr_arena *arena, struct orr_scenario *scenario,
                        const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *queues = below(root, "queues", NULL);
    const struct orr_scenario__row *row = orr_scenario__row_at("queues", NULL);
    scenario->queue_count = queues->child_count;
    scenario->queues = orr_arena_alloc(arena, queues->child_count + 1, sizeof *scenario->queues);
    for (uint32_t i = 0; i < queues->child_count; i++) {
        scenario->queues[i].name = queues->children[i]->key;
        scenario->queues[i].origin = orr_scenario__origin(arena, queues->children[i]);
        orr_scenario__fill_group(row, queues->children[i], &scenario->queues[i]);
        orr_scenario__fill_flavored(arena, scenario, queues->children[i], &scenario->queues[i]);
        fill_local_queues(arena, queues->children[i], &scenario->queues[i]);
        const struct orr_scenario__node *types =
            orr_scenario__find(queues->children[i], "node_types");
        const char **names = orr_arena_alloc(arena, types->child_count + (size_t)1, sizeof *names);
        for (uint32_t t = 0; t < types->child_count; t++) {
            names[t] = types->children[t]->text;
        }
        scenario->queues[i].node_types = names;
        scenario->queues[i].node_type_count = types->child_count;
    }
}

static int compare_params(const void *a, const void *b, void *context)
{
    (void)context;
    return strcmp(((const struct orr_setting *)a)->name, ((const struct orr_setting *)b)->name);
}

/* Settings by name: those of the map, and of `base` what the map does not say. */
static struct orr_setting *fill_settings(struct orr_arena *arena,
                                         const struct orr_scenario__node *map,
                                         const struct orr_setting *base, uint32_t base_count,
                                         uint32_t *count)
{
    struct orr_setting *settings =
        orr_arena_alloc(arena, (size_t)map->child_count + base_count + 1, sizeof *settings);
    *count = 0;
    for (uint32_t i = 0; i < map->child_count; i++) {
        const struct orr_scenario__node *param = map->children[i];
        settings[(*count)++] =
            (struct orr_setting){param->key, param->text, orr_scenario__origin(arena, param)};
    }
    for (uint32_t i = 0; i < base_count; i++) {
        if (orr_scenario__find(map, base[i].name) == NULL) {
            settings[(*count)++] = base[i];
        }
    }
    orr_sort(settings, *count, sizeof *settings, compare_params, NULL);
    return settings;
}

static void fill_policy(struct orr_arena *arena, struct orr_scenario *scenario,
                        const struct orr_scenario__node *root)
{
    scenario->policy_origin = orr_scenario__origin(arena, below(root, "policy", "name"));
    scenario->params =
        fill_settings(arena, below(root, "policy", "params"), NULL, 0, &scenario->param_count);
}

static void fill_shard(struct orr_arena *arena, const struct orr_scenario *scenario,
                       const struct orr_scenario__node *own, struct orr_scenario_shard *shard)
{
    shard->policy = scenario->policy;
    shard->policy_origin = scenario->policy_origin;
    shard->params = scenario->params;
    shard->param_count = scenario->param_count;
    if (own == NULL) {
        return;
    }
    const struct orr_scenario__node *name = orr_scenario__find(own, "name");
    bool same = name->text == NULL || strcmp(name->text, scenario->policy) == 0;
    if (name->text != NULL) {
        shard->policy = name->text;
        shard->policy_origin = orr_scenario__origin(arena, name);
    }
    shard->params = fill_settings(arena, orr_scenario__find(own, "params"), scenario->params,
                                  same ? scenario->param_count : 0, &shard->param_count);
}

/* The shards that pools name, and those of queues: stated, or that of the parent, or the only one.
 * Queues that are above themselves are an error of scenario_check. */
static void fill_shards(struct orr_arena *arena, struct orr_scenario *scenario,
                        const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *own = below(root, "policy", "shards");
    struct orr_idmap names, queues;
    orr_idmap_init(&names);
    orr_idmap_init(&queues);
    scenario->shards =
        orr_arena_alloc(arena, scenario->pool_count + (size_t)1, sizeof *scenario->shards);
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const char *name = scenario->pools[p].shard == NULL ? "" : scenario->pools[p].shard;
        bool fresh;
        uint32_t index = orr_idmap_put(&names, name, strlen(name), &fresh);
        if (fresh) {
            scenario->shards[index].name = name;
            fill_shard(arena, scenario, orr_scenario__find(own, name), &scenario->shards[index]);
            scenario->shard_count++;
        }
    }
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        (void)orr_idmap_put(&queues, scenario->queues[q].name, strlen(scenario->queues[q].name),
                            NULL);
    }
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        uint32_t at = q;
        for (uint32_t up = 0; up <= scenario->queue_count && at != ORR_NONE; up++) {
            const char *parent = scenario->queues[at].parent;
            if (scenario->queues[at].shard != NULL) {
                scenario->queues[q].shard = scenario->queues[at].shard;
                break;
            }
            at = parent == NULL ? ORR_NONE : orr_idmap_find(&queues, parent, strlen(parent));
        }
        if (scenario->queues[q].shard == NULL) {
            scenario->queues[q].shard = scenario->shard_count == 1 ? scenario->shards[0].name : "";
        }
    }
    orr_idmap_release(&names);
    orr_idmap_release(&queues);
}

static void fill_names(struct orr_arena *arena, struct orr_scenario *scenario,
                       const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *variants = below(root, "variants", NULL);
    const char **names = orr_arena_alloc(arena, variants->child_count + 1, sizeof *names);
    for (uint32_t i = 0; i < variants->child_count; i++) {
        names[i] = variants->children[i]->key;
    }
    scenario->variants = names;
    scenario->variant_count = variants->child_count;

    const struct orr_scenario__node *levels =
        orr_scenario__find(below(root, "cluster", "topology"), "levels");
    const char **texts = orr_arena_alloc(arena, levels->child_count + 1, sizeof *texts);
    for (uint32_t i = 0; i < levels->child_count; i++) {
        texts[i] = levels->children[i]->text;
    }
    scenario->topology.levels = texts;
    scenario->topology.level_count = levels->child_count;
}

static enum orr_status fill_expects(struct orr_scenario__load *load, struct orr_scenario *scenario,
                                    const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *expects = below(root, "expect", NULL);
    scenario->expect_count = expects->child_count;
    scenario->expects =
        orr_arena_alloc(load->arena, expects->child_count + 1, sizeof *scenario->expects);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < expects->child_count && status == ORR_OK; i++) {
        status = orr_scenario__expect(load, expects->children[i], &scenario->expects[i]);
    }
    return status;
}

enum orr_status orr_scenario__fill(struct orr_scenario__load *load, struct orr_scenario *scenario,
                                   const struct orr_scenario__node *root)
{
    orr_scenario__fill_group(orr_scenario__root_row(), root, scenario);
    fill_pools(load->arena, scenario, root);
    orr_scenario__fill_flavors(load->arena, scenario, root);
    fill_queues(load->arena, scenario, root);
    scenario->warmup_origin = orr_scenario__origin(load->arena, below(root, "warmup", NULL));
    fill_policy(load->arena, scenario, root);
    fill_shards(load->arena, scenario, root);
    fill_names(load->arena, scenario, root);
    enum orr_status status =
        orr_scenario__fill_templates(load, scenario, orr_scenario__find(root, "templates"));
    if (status == ORR_OK) {
        status = orr_scenario__fill_profiles(load, scenario, orr_scenario__find(root, "profiles"));
    }
    if (status == ORR_OK) {
        status = orr_scenario__fill_parts(load, scenario, orr_scenario__find(root, "workload"));
    }
    if (status == ORR_OK) {
        status = orr_scenario__fill_sets(load, scenario, root);
    }
    if (status == ORR_OK) {
        status = orr_scenario__fill_events(load, scenario, orr_scenario__find(root, "events"));
    }
    return status == ORR_OK ? fill_expects(load, scenario, root) : status;
}
