/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_world.h - stated objects as policy kueue takes them.
 *
 * Names become indices in byte order, so that what Kueue leaves to chance goes by name.
 */
#ifndef ORR_SIM_KUEUE_WORLD_H
#define ORR_SIM_KUEUE_WORLD_H

#include <orrery/base/mem.h>
#include <orrery/policies/kueue.h>
#include <orrery/sim/kueue_objects.h>

struct kq_index { /* names in byte order */
    const char **names;
    uint32_t count, capacity;
};

struct kq_world {
    const struct kq_objects *from;
    struct orr_arena arena;
    struct kq_index resources, flavors, queues, cohorts;
    struct orr_quota_tree tree;
    struct orr_kueue_spec spec;
    struct orr_kueue_counting counting;
    struct orr_kueue *kueue;
    uint32_t *ids; /* by stated workload; ORR_NONE: not added */
};

enum { KQ_RESOURCES_MAX = 512, KQ_CELLS_MAX = 1 << 24 };

/* False: more resources, or queues times flavors times resources, than the above. Close it in any
 * case. */
bool orr_kq_open(struct kq_world *world, const struct kq_objects *from) ORR_MUST_USE;
void orr_kq_close(struct kq_world *world);
/* Is a feature gate on, which is `otherwise` if the configuration does not state it? */
bool orr_kq_gate(const struct kq_objects *from, const char *name, bool otherwise);
bool orr_kq_is_word(const char *text, const char *word); /* text may be NULL */

/* --- workloads --- */

/* Adds the workloads: holders hold, the others are queued. */
void orr_kq_add_workloads(struct kq_world *world);
uint32_t orr_kq_add_workload(struct kq_world *world, const struct kq_workload *from, uint32_t rank);
/* It holds domains of flavor 0 and no quota; some of its nodes failed. */
void orr_kq_hold_topology(struct kq_world *world, const struct kq_workload *from, uint32_t id);

/* --- names, amounts --- */

uint32_t orr_kq_find(const struct kq_index *index, const char *name);
uint32_t orr_kq_cell(const struct kq_world *world, const char *flavor, const char *resource);
uint32_t orr_kq_node(const struct kq_world *world, const char *name);
const struct orr_kueue_pod_set *orr_kq_pod_sets(struct kq_world *world,
                                                const struct kq_pod_set *from, uint32_t count);
const int64_t *orr_kq_amounts(struct kq_world *world, const struct orr_pair *pairs, uint32_t count,
                              int64_t absent);
int64_t orr_kq_whole(const char *text);

#endif
