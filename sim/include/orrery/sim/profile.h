/* SPDX-License-Identifier: GPL-3.0-or-later */
/* profile.h - how placement becomes a rate.
 *
 * A job has work: milliseconds at the rate of its profile's reference placement. Another placement
 * has another rate, a whole number of ppm. Pure functions: the same placement gives the same rate
 * on every compiler, for the doubles inside are never summed in a varying order.
 *
 *   fixed       1.0 everywhere
 *   table       measured steps per second by GPU model and placement (Gavel, OSDI'20; Pollux,
 *               OSDI'21), what was not measured interpolated; may have epochs with own rates
 *   allreduce   compute per step and bytes to reduce, over the links of the placement
 *   speedup     of elastic jobs, by workers: a table, or a serial fraction (Amdahl, 1967)
 */
#ifndef ORR_SIM_PROFILE_H
#define ORR_SIM_PROFILE_H

#include <orrery/sim/link.h>

enum orr_profile_kind {
    ORR_PROFILE_FIXED,
    ORR_PROFILE_TABLE,
    ORR_PROFILE_ALLREDUCE,
    ORR_PROFILE_SPEEDUP
};

/* GPUs on each node, most first: "8", "4-2-2", "2x8" (two nodes of 8). */
enum { ORR_PATTERN_NODES = 64 };
struct orr_pattern {
    uint32_t nodes, gpus;                /* nodes 0: no pattern */
    uint16_t on_node[ORR_PATTERN_NODES]; /* the first ORR_PATTERN_NODES of them */
};
/* False: not a pattern. Any order is taken; it is kept most first. */
bool orr_pattern_parse(const char *text, size_t bytes, struct orr_pattern *out);
void orr_pattern_of(const struct orr_layout *layout, struct orr_pattern *out);

struct orr_profile_row { /* of a table */
    uint32_t gpu_model;  /* index in the cluster's models; ORR_NONE: any */
    struct orr_pattern pattern;
    double step_s; /* seconds per step */
    double sync_s; /* of them, spent on synchronisation; 0 when not known */
};

struct orr_profile_epoch { /* a job does them in order; progress in the table's own unit */
    double end;            /* progress at which it is over, rising */
    double gain;           /* progress per step */
    double accumulation;   /* steps without synchronisation before each full one */
};

struct orr_profile_compute { /* of an all-reduce profile */
    uint32_t gpu_model;      /* ORR_NONE: any other */
    double step_s;
};

struct orr_profile_speedup {
    uint32_t workers;
    double speed; /* relative; only ratios matter */
};

struct orr_profile {
    const char *name; /* borrowed, as are all arrays below */
    enum orr_profile_kind kind;
    /* the reference placement: work is stated in its time */
    uint32_t reference_model; /* ORR_NONE: any */
    struct orr_pattern
        reference_pattern; /* no nodes: the job's own GPUs on as few nodes as known */
    const struct orr_profile_row *rows;
    uint32_t row_count;
    const struct orr_profile_epoch *epochs;
    uint32_t epoch_count;
    const struct orr_profile_compute *computes;
    uint32_t compute_count;
    double bytes;   /* reduced per step */
    double overlap; /* part of the communication hidden behind compute, 0..1 */
    enum orr_allreduce algorithm;
    double reference_step_s; /* all-reduce: of the reference placement, from orr_profile_refer */
    const struct orr_profile_speedup *speedups; /* by workers, ascending */
    uint32_t speedup_count;
    double serial;          /* without speedups: the part that workers do not share */
    int64_t misaligned_ppm; /* rate of a placement that its node does not align; 0: as any other */
};

struct orr_placed { /* what a gang holds now, and what goes on around it */
    const struct orr_layout *layout;
    uint32_t full_workers; /* that the work was stated for */
    int64_t slowdown_ppm;  /* of its communication, by its links' other users */
    bool misaligned;       /* its devices, CPUs or NICs lie on several NUMA nodes without need */
};

/* Rate of a placement in ppm of the reference's; 0: this profile has no figure for the GPU model,
 * so the work cannot be done there. Never less than 1 otherwise. */
int64_t orr_profile_rate_ppm(const struct orr_profile *profile, const struct orr_fabric *fabric,
                             const struct orr_placed *placed);

/* The most that so many GPUs of that model could do: on as few nodes as hold them (of a table: as
 * it knows), aligned, nobody beside, and nothing slower than the NICs between its nodes. In ppm of
 * the reference's; 0: no figure. What goodput compares a rate with. */
int64_t orr_profile_best_ppm(const struct orr_profile *profile, const struct orr_fabric *fabric,
                             const struct orr_placed *placed);

/* Bytes a second that the gang moves for each byte reduced in a step, nobody beside it: what
 * orr_link_sharers_join multiplies by the share of each link. 0: it does not communicate. */
double orr_profile_bytes_s(const struct orr_profile *profile, const struct orr_fabric *fabric,
                           const struct orr_placed *placed);

/* Works out reference_step_s of an all-reduce profile on the node type `type` of the fabric's
 * cluster, as if the nodes of its reference pattern were one NVLink or NIC hop apart. False: no
 * compute time is stated for the reference model. */
bool orr_profile_refer(struct orr_profile *profile, const struct orr_fabric *fabric);

/* ---- epochs ---- */

struct orr_pace {          /* of a placement, by a table */
    double step_s, sync_s; /* step_s 0: no figure */
};
struct orr_pace orr_profile_pace(const struct orr_profile *profile, const struct orr_fabric *fabric,
                                 const struct orr_placed *placed);
/* Of the best placement of as many GPUs, as above, and of the reference placement. */
struct orr_pace orr_profile_best_pace(const struct orr_profile *profile,
                                      const struct orr_fabric *fabric,
                                      const struct orr_placed *placed);
struct orr_pace orr_profile_reference_pace(const struct orr_profile *profile, uint32_t gpus);
/* Progress per second of an epoch: gain / (step + (step - sync) * accumulation); 0: no figure. */
double orr_profile_epoch_rate(const struct orr_profile *profile, uint32_t epoch,
                              struct orr_pace pace);
/* Seconds until `end` from `progress` at that rate, rounded half to even from the exact ratio. */
int64_t orr_profile_epoch_left_s(double end, double progress, double rate);

#endif
