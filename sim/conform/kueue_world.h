/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_world.h - a vector's objects as policy kueue takes them. */
#ifndef ORR_SIM_KUEUE_WORLD_H
#define ORR_SIM_KUEUE_WORLD_H

#include <orrery/policies/kueue.h>

#include "kueue_case.h"

struct kq_index { /* names in byte order */
    const char **names;
    uint32_t count, capacity;
};

struct kq_world {
    const struct conform_kueue *from;
    struct orr_arena arena;
    struct kq_index resources, flavors, queues, cohorts;
    struct orr_quota_tree tree;
    struct orr_kueue_spec spec;
    struct orr_kueue *kueue;
    uint32_t *ids; /* by vector workload; ORR_NONE: not added */
};

void orr_conform__open_kueue(struct kq_world *world, const struct conform_kueue *from);
void orr_conform__close_kueue(struct kq_world *world);
/* Is a feature gate on, which is `otherwise` if the vector does not set it? */
bool orr_conform__gate(const struct conform_kueue *from, const char *name, bool otherwise);
bool orr_conform__is_word(const char *text, const char *word); /* text may be NULL */

/* kueue_workloads.c */
/* Adds the workloads: holders hold, the others are queued. */
void orr_conform__add_workloads(struct kq_world *world);
uint32_t orr_conform__add_workload(struct kq_world *world, const struct kq_workload *from,
                                   uint32_t rank);
/* It holds domains of flavor 0 and no quota; some of its nodes failed. */
void orr_conform__hold_topology(struct kq_world *world, const struct kq_workload *from,
                                uint32_t id);
uint64_t orr_conform__hash(const struct kq_world *world, int32_t priority,
                           const struct kq_pod_set *sets, uint32_t count,
                           const int64_t *reclaimable);

/* kueue_world.c */
uint32_t orr_conform__find(const struct kq_index *index, const char *name);
uint32_t orr_conform__cell(const struct kq_world *world, const char *flavor, const char *resource);
uint32_t orr_conform__node(const struct kq_world *world, const char *name);
const struct orr_kueue_pod_set *
orr_conform__pod_sets(struct kq_world *world, const struct kq_pod_set *from, uint32_t count);
const int64_t *orr_conform__amounts(struct kq_world *world, const struct conform_pair *pairs,
                                    uint32_t count, int64_t absent);
int64_t orr_conform__whole(const char *text);

/* kueue_check.c */
void orr_conform__check_cycle(const struct kq_world *world, const uint32_t *evicted_by,
                              const bool *held_before, const bool *finished,
                              struct conform_outcome *outcome);
bool orr_conform__same_domains(const struct kq_world *world, uint32_t flavor,
                               const struct kq_placed *expected,
                               const struct orr_kueue_domain *domains, uint32_t count);

#endif
