/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pools.h - nodes that are alike become pools of a scenario. */
#ifndef ORR_SIM_INTAKE_POOLS_H
#define ORR_SIM_INTAKE_POOLS_H

#include "intake_int.h"

enum { INTAKE_NAME_BYTES = 128 };

struct intake_pool {
    int64_t gpus, cpu_milli, mem_mib;
    char model[INTAKE_NAME_BYTES]; /* of its GPUs; empty: not known */
    uint32_t nodes, down;
    const char **names; /* of its nodes, as far as they have any */
    uint32_t name_count, name_capacity;
};

struct intake_pools {
    struct intake_pool *list;
    uint32_t count, capacity;
};

/* Adds node->nodes nodes like it, node->down of which were down. `name` (borrowed until the put;
 * NULL: none) is that of the only one. */
void intake_pools_add(struct intake_pools *pools, const struct intake_pool *node, const char *name);
int64_t intake_pools_gpus(const struct intake_pools *pools);
uint64_t intake_pools_nodes(const struct intake_pools *pools);
/* `cluster:` of a scenario. */
void intake_pools_put(const struct intake_pools *pools, FILE *out);
void intake_pools_release(struct intake_pools *pools);

void intake_copy_name(char out[INTAKE_NAME_BYTES], struct orr_cell cell);

#endif
