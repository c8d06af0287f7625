/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology.h - the nodes of one flavor as a tree of domains, and where pods go in it. */
#ifndef ORR_KUEUE_TOPOLOGY_H
#define ORR_KUEUE_TOPOLOGY_H

#include <orrery/policies/kueue.h>

struct kueue_domain {
    uint32_t parent; /* in domains; ORR_NONE at the top level */
    uint32_t first_child, child_count;
    const char *const *values; /* one a level down to its own */
    /* while pods are placed: how many there is room for */
    int64_t pods, slices, pods_with_leader, slices_with_leader, leader;
    int64_t score; /* of preferred affinity */
};

struct kueue_topology {
    uint32_t flavor, level_count, resources;
    const char *const *levels;
    bool by_host;                 /* the lowest level is the node */
    struct kueue_domain *domains; /* level by level, in the order of their values */
    uint32_t *level_first;        /* by level, and one more: where its domains begin */
    uint32_t domain_count, leaf_count;
    uint32_t *node_of; /* by leaf: the node (of a leaf of several: one of them) */
    uint32_t *leaf_of; /* by node; ORR_NONE: it is in none */
    int64_t *free;     /* [leaf * resources + resource] */
    int64_t *held;     /* the same: by this flavor's holders */
    int64_t *used;     /* the same: in the cycle's snapshot, flavors on the same nodes included */
    int64_t *assumed;  /* the same: by earlier pod sets of the workload in hand */
    const char **storage; /* values of all domains */
};

static inline uint32_t kueue_first_leaf(const struct kueue_topology *topology)
{
    return topology->level_first[topology->level_count - 1];
}

struct kueue_pods {                                   /* what is to be placed together */
    const struct orr_kueue_pod_set *workers, *leader; /* leader: may be NULL */
    int64_t count;
    uint32_t dropped;    /* layers of slices that do not count, from the outermost */
    bool implied, empty; /* empty: as if nobody ran */
    uint32_t within;     /* only below this domain; ORR_NONE: anywhere */
};

struct kueue_found { /* by leaf: how many */
    int64_t *workers, *leader;
};

struct orr_kueue;

/* topology_tree.c */
void orr_kueue__build_topology(const struct orr_kueue_spec *spec, uint32_t flavor,
                               struct kueue_topology *out);
void orr_kueue__free_topology(struct kueue_topology *topology);
uint32_t orr_kueue__level(const struct kueue_topology *topology, const char *key);

struct kueue_lost { /* pods of one pod set whose node is gone */
    const struct orr_kueue_pod_set *set;
    const struct orr_kueue_domain *kept; /* those that stay */
    uint32_t kept_count;
    int64_t count;
    bool implied;
};
/* topology_replace.c: where lost pods go. */
bool orr_kueue__replace_pods(struct orr_kueue *kueue, struct kueue_topology *topology,
                             const struct kueue_lost *lost, struct kueue_found *found,
                             char failure[200]);

/* topology_place.c: true, and the pods by leaf; or a text. */
bool orr_kueue__place_pods(struct orr_kueue *kueue, struct kueue_topology *topology,
                           const struct kueue_pods *pods, struct kueue_found *found,
                           char failure[200]);

#endif
