/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_names.c - names that a scenario gives to nodes, racks and blocks: one node has one name,
 * and a rack lies within one block, a block within one zone.
 */
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/base/idmap.h>

#include "scenario_int.h"

/* Node names are in no order; that of another pool's generated nodes is one too. */
static enum orr_status check_node_names(const struct orr_scenario__load *load,
                                        const struct orr_scenario *scenario,
                                        const struct orr_scenario__node *pools)
{
    struct orr_idmap names;
    enum orr_status status = ORR_OK;
    orr_idmap_init(&names);
    for (uint32_t p = 0; p < scenario->pool_count && status == ORR_OK; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        const struct orr_scenario__node *at = orr_scenario__find(pools->children[p], "names");
        for (uint32_t n = 0; n < pool->name_count && status == ORR_OK; n++) {
            bool added;
            (void)orr_idmap_put(&names, pool->names[n], strlen(pool->names[n]), &added);
            if (!added) {
                status = orr_scenario__fail(load, &at->at, "names: %s is twice the name of a node",
                                            pool->names[n]);
            }
        }
    }
    for (uint32_t p = 0; p < scenario->pool_count && names.count > 0 && status == ORR_OK; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        for (uint32_t n = pool->name_count; n < pool->nodes_most && status == ORR_OK; n++) {
            char name[300];
            if (scenario->pool_count == 1) {
                (void)snprintf(name, sizeof name, "n%04u", n + 1);
            } else {
                (void)snprintf(name, sizeof name, "%s-%04u", pool->name, n + 1);
            }
            if (orr_idmap_find(&names, name, strlen(name)) != ORR_NONE) {
                status = orr_scenario__fail(
                    load, &pools->at, "pools: %s is named, and what another node is called", name);
            }
        }
    }
    orr_idmap_release(&names);
    return status;
}

struct levels { /* that some pool has */
    bool zones, blocks;
};

struct enclosing { /* one level, as a pool names it */
    const char *key;
    const char *own, *other; /* NULL: not named */
    bool exists;             /* some pool has that level */
};

static enum orr_status check_pair(const struct orr_scenario__load *load,
                                  const struct orr_scenario__node *pools, uint32_t p,
                                  const char *key, const struct enclosing *above, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (above[i].exists && (above[i].own == NULL || above[i].other == NULL ||
                                strcmp(above[i].own, above[i].other) != 0)) {
            const struct orr_scenario__node *at = orr_scenario__find(pools->children[p], key);
            return orr_scenario__fail(load, &at->at,
                                      "%s: \"%.80s\" is in two %ss, as another pool names it too: "
                                      "name the same %s for both pools, or another %s",
                                      key, at->text, above[i].key, above[i].key, key);
        }
    }
    return ORR_OK;
}

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static enum orr_status check_two(const struct orr_scenario__load *load,
                                 const struct orr_scenario *scenario,
                                 const struct orr_scenario__node *pools, uint32_t p, uint32_t q,
                                 const struct levels *levels)
{
    const struct orr_scenario_pool *one = &scenario->pools[p], *two = &scenario->pools[q];
    const struct enclosing above[] = {{"zone", one->zone, two->zone, levels->zones},
                                      {"block", one->block, two->block, levels->blocks}};
    enum orr_status status = ORR_OK;
    if (same(one->block, two->block)) {
        status = check_pair(load, pools, p, "block", above, 1);
    }
    if (status == ORR_OK && same(one->rack, two->rack)) {
        status = check_pair(load, pools, p, "rack", above, 2);
    }
    return status;
}

static enum orr_status check_domains(const struct orr_scenario__load *load,
                                     const struct orr_scenario *scenario,
                                     const struct orr_scenario__node *pools)
{
    struct levels levels = {false, false};
    enum orr_status status = ORR_OK;
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        levels.zones = levels.zones || pool->zone != NULL;
        levels.blocks = levels.blocks || pool->block != NULL || pool->block_size > 0;
    }
    for (uint32_t p = 0; p < scenario->pool_count && status == ORR_OK; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        if (pool->rack != NULL && pool->block == NULL && pool->block_size > 0 &&
            pool->block_size < pool->nodes_most) {
            const struct orr_scenario__node *at = orr_scenario__find(pools->children[p], "rack");
            status = orr_scenario__fail(load, &at->at,
                                        "rack: \"%.80s\" is all of the pool, which has several "
                                        "blocks of %u node%s: name its block, or give rack_size",
                                        pool->rack, (unsigned)pool->block_size,
                                        ORR_PLURAL(pool->block_size));
        }
        for (uint32_t q = 0; q < p && status == ORR_OK; q++) {
            status = check_two(load, scenario, pools, p, q, &levels);
        }
    }
    return status;
}

enum orr_status orr_scenario__check_names(const struct orr_scenario__load *load,
                                          const struct orr_scenario *scenario,
                                          const struct orr_scenario__node *pools)
{
    const enum orr_status status = check_node_names(load, scenario, pools);
    return status == ORR_OK ? check_domains(load, scenario, pools) : status;
}
