/* SPDX-License-Identifier: GPL-3.0-or-later */
/* placer.h - which node, and which device of it, a task goes to: a choice of its own under any
 * order of jobs.
 *
 * Every choice but the first two gives each node with room for the task a score; the task goes to
 * the highest, of equal ones to the node with the lowest index, and the tasks of a gang one after
 * the other in the order of its groups. A gang that is held together looks in the domains that
 * orr_place_next tries, in their order. The scores are those of the simulator of FGD's authors
 * (Weng et al., "Beware of Fragmentation", USENIX ATC'23); c and g are what is free of a node in
 * milli-CPU and milli-GPU, pc and pg what the task takes, C and G the most that one node of the
 * cluster has.
 *
 *   random       all alike: uniform among the nodes, and for a task that shares one device among
 *                the devices
 *
 *   dot-product  100 (1 - (c/C pc/C + g/G pg/G) / 2), cut to a whole number (after Tetris: Grandl
 *                et al., SIGCOMM'14)
 *
 *   clustering   nodes that host tasks of the same class alone, among others, no tasks with GPUs,
 *                others (75, 50, 25, 0 points), and up to 25 for what is in use (after Gandiva:
 *                Xiao et al., OSDI'18). orr_request_class has the classes
 *
 *   packing      devices in use, then free ones of nodes in use, then nodes that are free (as
 *                MLaaS: Weng et al., NSDI'22)
 *
 *   best-fit     100 (1 - (c - pc)/2C - (g - pg)/2G), cut to a whole number
 *
 *   worst-fit    (c - pc) + 100 (g - pg); the authors' is scaled to 0 .. 100, and may tie
 *
 *   fgd          least growth of fragmentation (fragment.h), as 100 / (1 + e^(growth/1000)) cut
 *                to a whole number; a task that shares one device takes the best device by that
 *
 *   hived        no score: each leaf queue has a virtual cluster of buddy cells (HiveD: Zhao et
 *                al., OSDI'20), and its tasks go there and nowhere else
 *
 * Cells are single GPUs, halves of halves of nodes, nodes, and levels of the topology whose domains
 * hold equally many nodes of a kind. A queue's GPU quota is cut into cells, the largest first, when
 * the placer is opened; where no queue of the shard has one, equal parts; a queue without bound
 * gets what others leave. A cell is bound to a physical one of its size when a task needs it, and
 * split from a larger one only if none of its level is free (the paper's Algorithm 1), so that
 * whatever fits into a queue's cells has GPUs, whoever else is there. Within its cells a task goes
 * where it opens the fewest devices, then to the fullest node, then to the fullest cell. Guaranteed
 * are GPUs of nodes that are up: not CPU and memory, nor nodes that a selector names.
 *
 * Under clustering and packing tasks without GPUs score alike everywhere. Costs a comparison for
 * each node, and a score for each that changed since a task of the kind was placed.
 */
#ifndef ORR_CORE_PLACER_H
#define ORR_CORE_PLACER_H

#include <orrery/core/ledger.h>

ORR_API_BEGIN

enum orr_placement_choice {
    ORR_PLACEMENT_DEFAULT, /* what the policy does of itself */
    ORR_PLACEMENT_CONSOLIDATED,
    ORR_PLACEMENT_RANDOM,
    ORR_PLACEMENT_DOT_PRODUCT,
    ORR_PLACEMENT_CLUSTERING,
    ORR_PLACEMENT_PACKING,
    ORR_PLACEMENT_BEST_FIT,
    ORR_PLACEMENT_WORST_FIT,
    ORR_PLACEMENT_FGD,
    ORR_PLACEMENT_HIVED
};

struct orr_placer_params {
    int64_t choice; /* enum orr_placement_choice */
    int64_t
        typical_jobs; /* fgd: typical tasks are those of the world's first so many jobs; 0: all */
};
extern const char *const orr_placement_names[]; /* by choice, NULL-ended */
extern const char orr_placement_help[], orr_typical_jobs_help[];
/* The rows (param.h) of a policy whose parameters have a member `placer` of that type. */
/* clang-format off */
#define ORR_PLACER_ROWS(params)                                                                    \
    {"placement", ORR_PARAM_CHOICE, offsetof(params, placer.choice), "default", "",                \
     orr_placement_names, 0, 0, orr_placement_help},                                               \
    {"typical_jobs", ORR_PARAM_INT, offsetof(params, placer.typical_jobs), "0", "jobs",            \
     NULL, 0, 1e9, orr_typical_jobs_help}
/* clang-format on */

struct orr_placer;

/* For the ledger, which it borrows. NULL where the choice has no scores. The seed is for random. */
struct orr_placer *orr_placer_open(const struct orr_placer_params *params,
                                   const struct orr_ledger *ledger, uint64_t seed);
void orr_placer_close(struct orr_placer *placer);

/* Does it give each queue a part of the cluster (hived)? Then what finds no room may be another
 * queue's job's to have. NULL: no. */
bool orr_placer_has_parts(const struct orr_placer *placer);
/* The most that jobs of a queue may hold by that, milli-GPU; INT64_MAX where there are no parts. */
int64_t orr_placer_part_mgpu(const struct orr_placer *placer, uint32_t queue);
/* hived: why the cells of its queue could not hold the job with nobody else there and no node down,
 * so that it never starts: OVER_LIMIT, or of GPUs that they are enough for the same as
 * orr_place_why_not. NONE: they could, or it is not known: a gang of several kinds of task is
 * counted, and each kind tried by itself. `least`: an elastic job starts with its gang, as one that
 * scales does. Of jobs that are opportunistic it says nothing. */
enum orr_reason orr_placer_bars(struct orr_placer *placer, uint32_t job, bool least);

/* hived: jobs of a lower priority are opportunistic (HiveD, section 3; hivedscheduler's -1). They
 * go to free devices of any cell, far from those that are bound next, and leave, with all their
 * tasks (ORR_CAUSE_PREEMPT), for a job that its queue's cells allow. Such a job is then PIPELINED,
 * and its place is kept: others go on as if it were there, and it is tried first in each cycle.
 * Until it is placed no opportunistic job is (RESERVED). Guaranteed jobs are where and, without
 * graces, when they would be without opportunistic ones. Call it before anything is placed. */
void orr_placer_set_opportunistic(struct orr_placer *placer, int64_t below);
/* False also for NULL and where no job is. */
bool orr_placer_is_opportunistic(const struct orr_placer *placer, uint32_t job);
/* An opportunistic job runs by nobody's decision here. */
void orr_placer_note_opportunistic(struct orr_placer *placer, uint32_t job);
/* A cycle begins, of a placer with opportunistic jobs: places of jobs that are gone are kept no
 * more. */
void orr_placer_new_cycle(struct orr_placer *placer);

struct orr_place_range {   /* where a task may go besides what it asks for itself */
    const uint32_t *nodes; /* these; NULL: those with indices below `count` */
    uint32_t count;
    int64_t most_mgpu; /* only where it holds no more than that */
};

/* The node for the next task of a group of a job, or ORR_NONE. *devices: those it should have, or 0
 * for the ledger's rule. */
uint32_t orr_placer_choose(struct orr_placer *placer, uint32_t job, uint32_t group,
                           const struct orr_place_range *range, uint64_t *devices);

ORR_API_END

#endif
