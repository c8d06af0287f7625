/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_flavors.c - flavors: nodes that queues may have quota of apart, as Kueue's do.
 *
 * `flavors` at the top names them, by pools or by labels of nodes; without it each pool is one, by
 * its name. A queue that states flavors states its amounts there, in order of preference; what it
 * has of a resource is their sum, which is what all policies but kueue go by.
 */
#include "scenario_int.h"

#include <string.h>

const char orr_scenario__sum_note[] = "sum of its flavors";

static const char *const resource_keys[ORR_SCENARIO_FLAVOR_RESOURCES] = {
    [ORR_SCENARIO_CPU] = "cpu",
    [ORR_SCENARIO_MEMORY] = "memory",
    [ORR_SCENARIO_GPU] = "gpu",
    [ORR_SCENARIO_PODS] = "pods"};

static const struct orr_scenario__row *flavored_row(void)
{
    return orr_scenario__row_at("queues", "flavors");
}

/* --- sums --- */

struct sum {
    bool stated, unlimited;
    struct orr_scenario__value value;
};

static enum orr_status add_amount(const struct orr_scenario__load *load,
                                  const struct orr_scenario__row *row,
                                  const struct orr_scenario__node *amount, struct sum *sum)
{
    char why[ORR_SCENARIO__WHY];
    struct orr_scenario__value value = {0};
    const bool good = orr_scenario__value_parse(row, amount->text, &value, why);
    ORR_ASSERT(good); /* its shape has been checked */
    sum->unlimited = sum->unlimited || value.unlimited;
    if (!sum->stated) {
        sum->value = value;
        sum->stated = true;
        return ORR_OK;
    }
    if (sum->unlimited || row->type == ORR_TYPE_WEIGHT) {
        return ORR_OK; /* the queue's weight is that of the first flavor */
    }
    if (!orr_scenario__value_change(row, &sum->value, '+', amount->text, why)) {
        return orr_scenario__fail(load, &amount->at, "%s: %s", amount->key, why);
    }
    return ORR_OK;
}

static enum orr_status sum_value(struct orr_scenario__load *load,
                                 const struct orr_scenario__node *flavors, const char *resource,
                                 const struct orr_scenario__row *row,
                                 struct orr_scenario__node *out)
{
    struct sum sum = {0};
    enum orr_status status = ORR_OK;
    for (uint32_t f = 0; f < flavors->child_count && status == ORR_OK; f++) {
        const struct orr_scenario__node *amounts =
            orr_scenario__find(flavors->children[f], resource);
        if (amounts != NULL) {
            status = add_amount(load, row, orr_scenario__find(amounts, row->key), &sum);
        }
    }
    if (status != ORR_OK || !sum.stated) {
        return status; /* what no flavor has is as the queue says itself */
    }
    if (!out->implied && out->note != orr_scenario__sum_note) {
        return orr_scenario__fail(load, &out->at,
                                  "%s.%s: the queue states flavors, and has of a resource what "
                                  "they have together: set it there",
                                  resource, row->key);
    }
    sum.value.unlimited = sum.unlimited;
    out->text =
        sum.unlimited ? "unlimited" : orr_scenario__value_text(load->arena, row, &sum.value);
    out->note = orr_scenario__sum_note;
    return ORR_OK;
}

static enum orr_status sum_queue(struct orr_scenario__load *load, struct orr_scenario__node *queue,
                                 const struct orr_scenario__node *flavors)
{
    enum orr_status status = ORR_OK;
    for (int r = 0; r < ORR_SCENARIO_RESOURCES; r++) {
        const struct orr_scenario__row *group = orr_scenario__row_at("queues", resource_keys[r]);
        struct orr_scenario__node *amounts = orr_scenario__find(queue, resource_keys[r]);
        for (uint32_t i = 0; i < group->row_count && status == ORR_OK; i++) {
            status = sum_value(load, flavors, resource_keys[r], &group->rows[i],
                               orr_scenario__find(amounts, group->rows[i].key));
        }
    }
    return status;
}

enum orr_status orr_scenario__sum_flavors(struct orr_scenario__load *load,
                                          struct orr_scenario__node *root)
{
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    enum orr_status status = ORR_OK;
    for (uint32_t q = 0; q < queues->child_count && status == ORR_OK; q++) {
        const struct orr_scenario__node *flavors =
            orr_scenario__find(queues->children[q], "flavors");
        if (flavors != NULL && flavors->child_count > 0) {
            status = sum_queue(load, queues->children[q], flavors);
        }
    }
    return status;
}

/* --- structs --- */

static bool any_queue_states(const struct orr_scenario__node *queues)
{
    bool any = false;
    for (uint32_t q = 0; q < queues->child_count; q++) {
        const struct orr_scenario__node *flavors =
            orr_scenario__find(queues->children[q], "flavors");
        any = any || (flavors != NULL && flavors->child_count > 0);
    }
    return any;
}

static void fill_pool_flavors(struct orr_arena *arena, struct orr_scenario *scenario)
{
    scenario->flavor_count = scenario->pool_count;
    scenario->flavors =
        orr_arena_alloc(arena, scenario->pool_count + (size_t)1, sizeof *scenario->flavors);
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const char **pool = orr_arena_alloc(arena, 1, sizeof *pool);
        *pool = scenario->pools[p].name;
        scenario->flavors[p] =
            (struct orr_scenario_flavor){.name = *pool, .pools = pool, .pool_count = 1};
    }
}

/* As rows have them: parted by ";". */
static const char *join_words(struct orr_arena *arena, const struct orr_scenario__node *words)
{
    const char *text = "";
    for (uint32_t w = 0; w < words->child_count; w++) {
        text =
            orr_scenario__format(arena, "%s%s%s", text, w > 0 ? ";" : "", words->children[w]->text);
    }
    return text;
}

/* The levels of the topology that is named so; NULL: there is none. */
static const struct orr_scenario__node *levels_of(const struct orr_scenario__node *root,
                                                  const char *name)
{
    const struct orr_scenario__node *cluster = orr_scenario__find(root, "cluster");
    const struct orr_scenario__node *topology = orr_scenario__find(cluster, "topology");
    const struct orr_scenario__node *others = orr_scenario__find(cluster, "topologies");
    if (strcmp(name, orr_scenario__find(topology, "name")->text) != 0) {
        topology = others == NULL ? NULL : orr_scenario__find(others, name);
    }
    return topology == NULL ? NULL : orr_scenario__find(topology, "levels");
}

static void fill_levels(struct orr_arena *arena, const struct orr_scenario__node *root,
                        struct orr_scenario_flavor *flavor)
{
    const struct orr_scenario__node *levels =
        flavor->topology == NULL ? NULL : levels_of(root, flavor->topology);
    const uint32_t count = levels == NULL ? 0 : levels->child_count;
    const char **texts = orr_arena_alloc(arena, count + (size_t)1, sizeof *texts);
    for (uint32_t l = 0; l < count; l++) {
        texts[l] = levels->children[l]->text;
    }
    flavor->levels = texts;
    flavor->level_count = count;
}

void orr_scenario__fill_flavors(struct orr_arena *arena, struct orr_scenario *scenario,
                                const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *flavors = orr_scenario__find(root, "flavors");
    if (!any_queue_states(orr_scenario__find(root, "queues"))) {
        return;
    }
    if (flavors == NULL || flavors->child_count == 0) {
        fill_pool_flavors(arena, scenario);
        return;
    }
    scenario->flavor_count = flavors->child_count;
    scenario->flavors =
        orr_arena_alloc(arena, flavors->child_count + (size_t)1, sizeof *scenario->flavors);
    for (uint32_t f = 0; f < flavors->child_count; f++) {
        const struct orr_scenario__node *node = flavors->children[f];
        const struct orr_scenario__node *pools = orr_scenario__find(node, "pool");
        const char **names = orr_arena_alloc(arena, pools->child_count + (size_t)1, sizeof *names);
        for (uint32_t p = 0; p < pools->child_count; p++) {
            names[p] = pools->children[p]->text;
        }
        struct orr_scenario_flavor *flavor = &scenario->flavors[f];
        *flavor = (struct orr_scenario_flavor){
            .name = node->key, .pools = names, .pool_count = pools->child_count};
        flavor->labels = orr_scenario__labels(arena, orr_scenario__find(node, "node_labels"),
                                              &flavor->label_count);
        flavor->taints =
            orr_scenario__taints(arena, orr_scenario__find(node, "taints"), &flavor->taint_count);
        flavor->tolerations = join_words(arena, orr_scenario__find(node, "tolerations"));
        const struct orr_scenario__node *topology = orr_scenario__find(node, "topology");
        flavor->topology = topology == NULL ? NULL : topology->text;
        fill_levels(arena, root, flavor);
    }
}

static uint32_t find_flavor(const struct orr_scenario *scenario, const char *name)
{
    uint32_t f = 0;
    while (f < scenario->flavor_count && strcmp(scenario->flavors[f].name, name) != 0) {
        f++;
    }
    return f < scenario->flavor_count ? f : ORR_NONE;
}

void orr_scenario__fill_flavored(struct orr_arena *arena, const struct orr_scenario *scenario,
                                 const struct orr_scenario__node *node,
                                 struct orr_scenario_queue *queue)
{
    const struct orr_scenario__node *flavors = orr_scenario__find(node, "flavors");
    queue->flavor_count = flavors == NULL ? 0 : flavors->child_count;
    queue->flavors =
        orr_arena_alloc(arena, queue->flavor_count + (size_t)1, sizeof *queue->flavors);
    for (uint32_t f = 0; f < queue->flavor_count; f++) {
        struct orr_scenario_flavored *own = &queue->flavors[f];
        *own = (struct orr_scenario_flavored){.flavor =
                                                  find_flavor(scenario, flavors->children[f]->key)};
        orr_scenario__fill_group(flavored_row(), flavors->children[f], own);
        for (int r = 0; r < ORR_SCENARIO_FLAVOR_RESOURCES; r++) {
            own->stated[r] = orr_scenario__find(flavors->children[f], resource_keys[r]) != NULL;
        }
    }
}

/* --- what must hold --- */

static bool is_among(const struct orr_scenario__node *levels, const char *level)
{
    bool is = false;
    for (uint32_t i = 0; i < levels->child_count; i++) {
        is = is || strcmp(levels->children[i]->text, level) == 0;
    }
    return is;
}

static enum orr_status no_topology(const struct orr_scenario__load *load,
                                   const struct orr_scenario__node *cluster,
                                   const struct orr_scenario__node *stated)
{
    const struct orr_scenario__node *others = orr_scenario__find(cluster, "topologies");
    const uint32_t more = others == NULL ? 0 : others->child_count;
    const char **known = orr_arena_alloc(load->arena, more + (size_t)2, sizeof *known);
    known[0] = orr_scenario__find(orr_scenario__find(cluster, "topology"), "name")->text;
    for (uint32_t i = 0; i < more; i++) {
        known[i + 1] = others->children[i]->key;
    }
    known[more + 1] = "none";
    return orr_scenario__no_such(load, &stated->at, "topology", stated->text, known,
                                 more + (size_t)2);
}

static enum orr_status check_topology(const struct orr_scenario__load *load,
                                      const struct orr_scenario__node *root,
                                      const struct orr_scenario__node *flavor)
{
    const struct orr_scenario__node *stated = orr_scenario__find(flavor, "topology");
    const struct orr_scenario__node *cluster = orr_scenario__find(root, "cluster");
    if (stated == NULL || strcmp(stated->text, "none") == 0) {
        return ORR_OK;
    }
    const struct orr_scenario__node *levels = levels_of(root, stated->text);
    const struct orr_scenario__node *all =
        orr_scenario__find(orr_scenario__find(cluster, "topology"), "levels");
    if (levels == NULL) {
        return no_topology(load, cluster, stated);
    }
    if (levels->child_count == 0) {
        return orr_scenario__fail(load, &levels->at, "topology \"%.80s\": state its levels",
                                  stated->text);
    }
    for (uint32_t i = 0; i < levels->child_count; i++) {
        if (!is_among(all, levels->children[i]->text)) {
            return orr_scenario__fail(load, &levels->children[i]->at,
                                      "topology \"%.80s\": \"%.80s\" is none of the levels of "
                                      "cluster.topology",
                                      stated->text, levels->children[i]->text);
        }
    }
    return orr_scenario__check_levels(load, levels);
}

static enum orr_status check_nodes(const struct orr_scenario__load *load,
                                   const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *flavors = orr_scenario__find(root, "flavors");
    const struct orr_scenario__node *pools =
        orr_scenario__find(orr_scenario__find(root, "cluster"), "pools");
    const char **known =
        orr_arena_alloc(load->arena, pools->child_count + (size_t)1, sizeof *known);
    for (uint32_t p = 0; p < pools->child_count; p++) {
        known[p] = pools->children[p]->key;
    }
    for (uint32_t f = 0; flavors != NULL && f < flavors->child_count; f++) {
        const struct orr_scenario__node *flavor = flavors->children[f];
        const struct orr_scenario__node *named = orr_scenario__find(flavor, "pool");
        const struct orr_scenario__node *labels = orr_scenario__find(flavor, "node_labels");
        const struct orr_scenario__node *taints = orr_scenario__find(flavor, "taints");
        if (named->child_count > 0 && labels->child_count + taints->child_count > 0) {
            return orr_scenario__fail(load, &flavor->key_at,
                                      "flavor \"%.80s\": it has the nodes of its pools, their "
                                      "labels and taints; state either pool or node_labels and "
                                      "taints",
                                      flavor->key);
        }
        for (uint32_t p = 0; p < named->child_count; p++) {
            if (orr_scenario__find(pools, named->children[p]->text) == NULL) {
                return orr_scenario__no_such(load, &named->children[p]->at, "pool",
                                             named->children[p]->text, known, pools->child_count);
            }
        }
        const enum orr_status status = check_topology(load, root, flavor);
        if (status != ORR_OK) {
            return status;
        }
    }
    return ORR_OK;
}

/* Flavors with a resource in common are alternatives: they must have all of them in common. */
static enum orr_status check_groups(const struct orr_scenario__load *load,
                                    const struct orr_scenario__node *flavors,
                                    const struct orr_scenario_queue *queue)
{
    for (uint32_t f = 0; f < queue->flavor_count; f++) {
        for (uint32_t g = 0; g < f; g++) {
            int common = 0, apart = -1;
            for (int r = 0; r < ORR_SCENARIO_FLAVOR_RESOURCES; r++) {
                const bool a = queue->flavors[f].stated[r], b = queue->flavors[g].stated[r];
                common += a && b;
                apart = a != b ? r : apart;
            }
            if (common > 0 && apart >= 0) {
                return orr_scenario__fail(
                    load, &flavors->children[f]->key_at,
                    "queue \"%.80s\": flavors \"%.80s\" and \"%.80s\" stand for one another, but "
                    "only one of them has %s: state it in both",
                    queue->name, flavors->children[g]->key, flavors->children[f]->key,
                    resource_keys[apart]);
            }
        }
    }
    return ORR_OK;
}

/* Jobs are of leaves. */
static bool is_above(const struct orr_scenario *scenario, const struct orr_scenario_queue *queue)
{
    bool above = false;
    for (uint32_t q = 0; q < scenario->queue_count && !above; q++) {
        const char *parent = scenario->queues[q].parent;
        above = parent != NULL && strcmp(parent, queue->name) == 0;
    }
    return above;
}

static enum orr_status check_queue(const struct orr_scenario__load *load,
                                   const struct orr_scenario *scenario,
                                   const struct orr_scenario__node *flavors,
                                   const struct orr_scenario_queue *queue)
{
    const char **known =
        orr_arena_alloc(load->arena, scenario->flavor_count + (size_t)1, sizeof *known);
    for (uint32_t f = 0; f < scenario->flavor_count; f++) {
        known[f] = scenario->flavors[f].name;
    }
    for (uint32_t f = 0; f < queue->flavor_count; f++) {
        const bool *stated = queue->flavors[f].stated;
        const struct orr_scenario__node *node = flavors->children[f];
        if (queue->flavors[f].flavor == ORR_NONE) {
            return orr_scenario__no_such(load, &node->key_at, "flavor", node->key, known,
                                         scenario->flavor_count);
        }
        if (!stated[ORR_SCENARIO_GPU] && !stated[ORR_SCENARIO_CPU] &&
            !stated[ORR_SCENARIO_MEMORY] && !stated[ORR_SCENARIO_PODS]) {
            return orr_scenario__fail(load, &node->key_at,
                                      "flavor \"%.80s\": what has the queue of it? State gpu, cpu, "
                                      "memory or pods",
                                      node->key);
        }
    }
    return is_above(scenario, queue) ? ORR_OK : check_groups(load, flavors, queue);
}

enum orr_status orr_scenario__check_flavors(const struct orr_scenario__load *load,
                                            const struct orr_scenario *scenario,
                                            const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    enum orr_status status = check_nodes(load, root);
    for (uint32_t q = 0; q < scenario->queue_count && status == ORR_OK; q++) {
        if (scenario->queues[q].flavor_count > 0) {
            status = check_queue(load, scenario, orr_scenario__find(queues->children[q], "flavors"),
                                 &scenario->queues[q]);
        }
    }
    return status;
}
