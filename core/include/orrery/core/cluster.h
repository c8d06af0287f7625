/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cluster.h - what the machines are: node types, nodes, devices, topology. Fixed after sealing.
 *
 *   cluster -> pools of equal nodes (a node type each)
 *           -> topology: named levels, widest first; every node has one domain per level
 *   node type: GPUs, NVLink domains inside the node, NICs; what a node can give (allocatable)
 *   shards: parts of the cluster that are scheduled apart; a node type belongs to one
 *   filters: which nodes a selector or a list of tolerations admits, worked out once by the caller
 *
 * What is free right now is state and lives in the ledger. Must not know jobs, queues or policies.
 */
#ifndef ORR_CORE_CLUSTER_H
#define ORR_CORE_CLUSTER_H

#include <orrery/base/idmap.h>
#include <orrery/base/mem.h>
#include <orrery/base/mig.h>
#include <orrery/base/status.h>
#include <orrery/core/numa_policy.h>

ORR_API_BEGIN

/* The slots of a resource vector. */
enum orr_resource {
    ORR_RES_CPU,    /* milli-CPU */
    ORR_RES_MEMORY, /* bytes */
    ORR_RES_GPU,    /* milli-GPU */
    ORR_RES_PODS,   /* pods, one each */
    ORR_RES_COUNT
};

enum {
    ORR_MIG_PROFILES_MAX = 12,   /* MIG profiles of a cluster */
    ORR_MIG_INSTANCES_MAX = 7000 /* of one profile on a node: 7 for each of 1000 GPUs */
};

#define ORR_AMOUNT_UNLIMITED (INT64_MAX / 4) /* allocatable without a bound */

struct orr_amounts {
    int64_t v[ORR_RES_COUNT];
};

/* Which of a node's free devices whole-GPU tasks get. */
enum orr_device_choice {
    ORR_DEVICES_PACKED, /* of the fullest NVLink domain that has enough, lowest index */
    ORR_DEVICES_LOWEST, /* lowest index, whatever lies where */
    ORR_DEVICES_ALIGNED /* each task from the fewest NUMA zones, as the topology manager does */
};

struct orr_node_type {
    uint32_t gpus;                  /* devices */
    uint32_t gpu_model;             /* index in cluster models, or ORR_NONE */
    int64_t gpu_memory_mib;         /* per device; 0: not stated */
    uint32_t nodes;                 /* of this type; counted as they are added */
    uint32_t shard;                 /* index in cluster shards; 0 when there is but one */
    struct orr_amounts allocatable; /* GPU slot = gpus * 1000 */
    struct orr_amounts foreign;     /* of that, held by pods of another scheduler; whole devices */
    uint32_t nvlink_domain; /* devices per NVLink domain; == gpus when the node is one domain */
    uint32_t nics;
    int64_t nvlink_bytes_s, nic_bytes_s; /* per device and direction, per NIC; 0: not stated */
    int64_t pcie_bytes_s;                /* per device and direction; 0: not stated */
    bool nvlink_reduces;                 /* its switches sum what passes through them */
    uint8_t device_choice;               /* enum orr_device_choice */
    uint32_t numa_zones;                 /* equal parts of what a node has; 0: not stated */
    enum orr_numa_policy numa_policy;
    bool numa_by_pod;                   /* scope pod, not container */
    bool is_mig;                        /* its devices are cut into MIG instances */
    uint8_t mig_strategy;               /* enum orr_mig_strategy */
    uint16_t mig[ORR_MIG_PROFILES_MAX]; /* MIG instances, by profile of the cluster */
    uint32_t mig_gpus; /* GPUs that they count: the sum of their profiles' g; set as it is added */
};

struct orr_node {
    uint32_t type; /* index in types */
    uint32_t pool; /* index in pool names */
};

struct orr_level { /* of the topology, above the node */
    const char *name;
    uint32_t domain_count;
    uint32_t *domain_of_node; /* dense domain id of each node */
    uint32_t *nodes;          /* by domain, then by index: domain d has [first[d], first[d + 1]) */
    uint32_t *first;          /* domain_count + 1 entries */
    int64_t uplink_bytes_s;   /* per child and direction; 0: not stated */
    double oversubscription;  /* 1.0: none */
};

struct orr_node_filter { /* where a task may run, by labels or by taints */
    const char *text;    /* what was asked for, in the user's words */
    uint64_t *words;     /* bit n: node n is admitted */
    uint32_t count;      /* nodes admitted */
};

/* Devices that foreign pods hold on a node of the type: those with the lowest indices. */
static inline uint32_t orr_node_type_foreign_gpus(const struct orr_node_type *type)
{
    return (uint32_t)(type->foreign.v[ORR_RES_GPU] / ORR_MGPU);
}
/* Devices of a node of the type that are there for jobs. */
static inline uint32_t orr_node_type_own_gpus(const struct orr_node_type *type)
{
    return type->gpus - orr_node_type_foreign_gpus(type);
}
/* GPUs that a node of the type counts for jobs: its devices and its MIG instances. */
static inline uint32_t orr_node_type_counted_gpus(const struct orr_node_type *type)
{
    return orr_node_type_own_gpus(type) + type->mig_gpus;
}

enum orr_flavor_topology { /* is it placed by a topology? */
                           ORR_FLAVOR_TOPOLOGY_NOT_STATED,
                           ORR_FLAVOR_TOPOLOGY_NONE,
                           ORR_FLAVOR_TOPOLOGY_STATED
};

struct orr_flavor { /* nodes that queues may have quota of apart: Kueue's ResourceFlavor */
    const char *name;
    const uint64_t *takes; /* bit n: tasks with filter n (a selector, tolerations) may use it */
    /* by number of a filter, of all nodes (0) or of allowed ones: a filter for those of them that
     * are of the flavor; ORR_NONE: none was made */
    const uint32_t *narrowed;
    enum orr_flavor_topology topology;
    uint32_t topology_levels; /* stated: bit l for level l of the cluster; the lowest is the node */
    /* bit m: a node of it has GPU model m. NULL: known by labels alone, whatever model tasks ask */
    const uint64_t *models;
};

struct orr_cluster {
    struct orr_node_type *types;
    uint32_t type_count, type_capacity;
    struct orr_node *nodes;
    uint32_t node_count, node_capacity;
    struct orr_level *levels; /* widest first */
    uint32_t level_count, level_capacity;
    struct orr_node_filter *filters;
    uint32_t filter_count, filter_capacity;
    struct orr_flavor *flavors; /* in the arena, set when all filters are there */
    uint32_t flavor_count;
    struct orr_idmap node_names, pools, models;
    struct orr_idmap shards;
    struct orr_idmap mig_profiles;          /* such as 3g.20gb */
    int64_t mig_mgpu[ORR_MIG_PROFILES_MAX]; /* by profile: what an instance counts, 1000 times g */
    uint32_t max_gpus;                      /* devices of the largest node */
    /* what all nodes count: devices, without those that foreign pods hold, and MIG instances */
    int64_t total_gpus;
    struct orr_arena arena;
};

void orr_cluster_init(struct orr_cluster *cluster);
void orr_cluster_release(struct orr_cluster *cluster);
/* The number of a MIG profile, which is new to the cluster if need be. ORR_NONE: the name is none,
 * or there are ORR_MIG_PROFILES_MAX others. */
uint32_t orr_cluster_mig_profile(struct orr_cluster *cluster, const char *name);
uint32_t orr_cluster_add_type(struct orr_cluster *cluster, const struct orr_node_type *type);
/* Adds a node; the name must be new. Returns its index: nodes keep the order they came in. */
uint32_t orr_cluster_add_node(struct orr_cluster *cluster, const char *name, const char *pool,
                              uint32_t type);
/* Adds a level below those there are; domain_of_node has node_count entries and is copied. */
uint32_t orr_cluster_add_level(struct orr_cluster *cluster, const char *name,
                               const uint32_t *domain_of_node, uint32_t domain_count);
/* Adds a filter with one entry of `admitted` for each node; the text is copied. Returns its number,
 * from 1: number 0 stands for every node. */
uint32_t orr_cluster_add_filter(struct orr_cluster *cluster, const char *text,
                                const bool *admitted);

static inline bool orr_cluster_admits(const struct orr_cluster *cluster, uint32_t filter,
                                      uint32_t node)
{
    return filter == 0 || (cluster->filters[filter - 1].words[node >> 6] >> (node & 63) & 1) != 0;
}

/* The domain of a node in a level counted from 1; below the last level, the node itself. */
static inline uint32_t orr_cluster_domain(const struct orr_cluster *cluster, uint32_t level,
                                          uint32_t node)
{
    return level > cluster->level_count ? node : cluster->levels[level - 1].domain_of_node[node];
}

/* Its name; "node" below the last. */
static inline const char *orr_cluster_level_name(const struct orr_cluster *cluster, uint32_t level)
{
    return level > cluster->level_count ? "node" : cluster->levels[level - 1].name;
}

static inline const struct orr_node_type *orr_cluster_type(const struct orr_cluster *cluster,
                                                           uint32_t node)
{
    return &cluster->types[cluster->nodes[node].type];
}

ORR_API_END

#endif
