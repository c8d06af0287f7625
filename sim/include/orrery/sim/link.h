/* SPDX-License-Identifier: GPL-3.0-or-later */
/* link.h - the wires between the GPUs of a gang: which ones it crosses, how fast they are, who
 * shares them.
 *
 *   span    what a gang holds on one node (layout.h)
 *   hop     one level that an all-reduce crosses: NVLink domain, PCIe, NICs, an uplink
 *   link    a wire that gangs share: the NICs of a node, the uplink of a rack or block
 *
 * Pure functions of the cluster and of spans: no clock, no state but the sharers of links. Speeds
 * are bytes per second in one direction. The figures behind the constants, and how they were
 * fitted, are in sim/exec/README.md.
 */
#ifndef ORR_SIM_LINK_H
#define ORR_SIM_LINK_H

#include <orrery/sim/layout.h>

enum orr_hop_kind { ORR_HOP_NVLINK, ORR_HOP_PCIE, ORR_HOP_NIC, ORR_HOP_UPLINK };

struct orr_hop {
    uint8_t kind;    /* enum orr_hop_kind */
    uint32_t level;  /* of an uplink: the topology level whose children it joins */
    uint32_t gpus;   /* of the largest group once joined; of the last hop: the gang's */
    uint32_t groups; /* that the level joins into it: n of a level taken by itself */
    uint32_t steps;  /* passes of this level in one turn of a ring through the whole gang */
    double bytes_s;  /* of the slowest group, what protocols leave of the line rate */
    double latency_s;
};

/* ring: one ring through all GPUs, its chunks on all levels at once (NCCL's way with much data).
 * tree: every level by itself, chunks on all levels at once. hierarchical: one level after the
 * other, inside first. */
enum orr_allreduce { ORR_ALLREDUCE_RING, ORR_ALLREDUCE_TREE, ORR_ALLREDUCE_HIERARCHICAL };

struct orr_line_rates { /* of a node type, with what follows from its GPU model; 0: not known */
    int64_t nvlink_bytes_s, pcie_bytes_s, nic_bytes_s;
    uint32_t nics;
};

struct orr_fabric { /* a cluster's wires, worked out once */
    const struct orr_cluster *cluster;
    struct orr_line_rates *rates; /* of each node type */
    uint32_t *nvlink_group;       /* of each node: equal for nodes that NVLink joins */
    uint32_t *first_uplink; /* link of child 0 of each level; ORR_NONE: that level never limits */
    int64_t *link_bytes_s;  /* of each link, INT64_MAX without a limit; node n's NICs are link n */
    uint32_t link_count;
};

/* The cluster is borrowed and must not grow afterwards. */
void orr_fabric_init(struct orr_fabric *fabric, const struct orr_cluster *cluster);
void orr_fabric_release(struct orr_fabric *fabric);

/* What protocols leave of the line rate of a link; INT64_MAX without a limit. */
int64_t orr_fabric_usable_bytes_s(const struct orr_fabric *fabric, uint32_t link);

/* NVLink domains of a node that a span's devices lie in; as few as can be when it does not say
 * which devices they are. */
uint32_t orr_span_islands(const struct orr_node_type *type, const struct orr_node_part *span);

/* The narrowest that holds all devices of a layout: one of these, or ORR_EXTENT_LEVEL plus the
 * number of a topology level. */
enum { ORR_EXTENT_GPU, ORR_EXTENT_NVLINK, ORR_EXTENT_NODE, ORR_EXTENT_CLUSTER, ORR_EXTENT_LEVEL };
uint32_t orr_layout_extent(const struct orr_fabric *fabric, const struct orr_layout *layout);
/* "gpu", "nvlink", "node", "cluster", or a level's name. */
const char *orr_extent_name(const struct orr_cluster *cluster, uint32_t extent);

/* The levels that an all-reduce over a layout crosses, inside out; none for one GPU. */
enum { ORR_HOPS_MAX = 16 };
uint32_t orr_fabric_hops(const struct orr_fabric *fabric, const struct orr_layout *layout,
                         struct orr_hop hops[ORR_HOPS_MAX]);

/* Seconds to all-reduce `bytes` over the hops, each with its full speed:
 *   one level: 2 (n-1)/n * bytes / B + 2 (n-1) * latency   (Thakur et al., IJHPCA 2005) */
double orr_allreduce_s(enum orr_allreduce algorithm, const struct orr_hop *hops, uint32_t count,
                       double bytes);

struct orr_link_use {
    uint32_t link;
    double share; /* bytes through the link for each byte that is reduced */
};
/* The shared links that a layout crosses. Writes at most `room`; returns how many there are. */
uint32_t orr_fabric_uses(const struct orr_fabric *fabric, enum orr_allreduce algorithm,
                         const struct orr_layout *layout, struct orr_link_use *uses, uint32_t room);

/* ---- sharing ---- */

/* Max-min fair shares of one link: no share above its demand, and none could grow but at the cost
 * of one that is not larger. Whole bytes a second; what cannot be divided evenly is left over. */
void orr_link_divide(int64_t capacity, const int64_t *demands, uint32_t count, int64_t *shares);

struct orr_link_sharers; /* who uses which link, and how much of its demand each gang gets */
struct orr_link_sharers *orr_link_sharers_open(const struct orr_fabric *fabric,
                                               uint32_t gang_count) ORR_MUST_USE;
void orr_link_sharers_close(struct orr_link_sharers *sharers);
/* A gang starts, from no slowdown: what it asks of each link (bytes a second when alone). It must
 * not be there. */
void orr_link_sharers_join(struct orr_link_sharers *sharers, uint32_t gang,
                           const struct orr_link_use *uses, uint32_t count, double bytes_s);
/* A gang stops; nothing if it never joined. */
void orr_link_sharers_leave(struct orr_link_sharers *sharers, uint32_t gang);
/* Divides the links whose sharers changed since the last call again. Returns the gangs whose
 * slowdown is another one now, ascending; borrowed until the next call. */
const uint32_t *orr_link_sharers_settle(struct orr_link_sharers *sharers, uint32_t *count);
/* How much longer a gang's communication takes than alone: demand / share on its worst link, ppm,
 * at least ORR_PPM. As of the last settle. */
int64_t orr_link_sharers_slowdown_ppm(const struct orr_link_sharers *sharers, uint32_t gang);

#endif
