/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dry_run.h - the nodes of a dry run, and where it was: see dry_run.c. */
#ifndef ORR_PRUNE_DRY_RUN_H
#define ORR_PRUNE_DRY_RUN_H

#include "apart.h"

struct orr_dry_run {
    struct orr_gpu_counts *counts; /* NULL: GPUs do not decide on every node, or more is asked */
    bool by_sketch;                /* a sketch may place the preemptor */
    bool constrained;              /* the preemptor has a constraint of topology */
    bool limited;                  /* some queue above the preemptor has a limit */
    bool counted;                  /* in this scenario GPUs are counted */
    bool by_windows;           /* no node has room but what victims leave: windows may be known */
    struct orr_sketch *sketch; /* on counts or on books; NULL: nobody is constrained */
    /* With a sketch: the open nodes, with room or without. The first feasible_count of them are
     * those that are feasible without victims, and stay open through the probe opened_for. */
    uint32_t *nodes;
    uint32_t open_count, feasible_count;
    uint64_t opened_for;
    uint64_t open_domains; /* fingerprint of the domains of topologies that have all of these */
    bool *is_open;         /* by node */
    uint32_t *roomy;       /* nodes with room before anything is tried */
    uint32_t roomy_count;
    uint64_t probe; /* the probe that goes on */
    /* dry_run_memo.c: */
    uint64_t base;       /* of a probe: fingerprint of all that is the same for its scenarios */
    uint64_t lost;       /* at the beginning: fingerprint of the victims themselves */
    uint64_t left;       /* fingerprint of who is left and of who did not come back */
    uint64_t *positions; /* where the dry run was */
    uint32_t position_count;
    uint32_t all_back_from; /* from this position on, all come back */
    unsigned found;         /* the first answer that was known, while pruners are verified */
};

/* --- dry_run_memo.c: how dry runs ended, of this search and earlier ones, by where they were ---
 */

/* A probe begins; somebody was served, or the preemptor placed. */
void orr_dry_run__start_probe(struct orr_victim_search *search);
void orr_dry_run__was_served(const struct orr_session_rules *rules, struct orr_dry_run *run,
                             const struct orr_apart_victim *victim);
void orr_dry_run__was_placed(struct orr_dry_run *run);
/* How it ends from here, with the order of this fingerprint, or from the beginning, which is asked
 * first, with what open nodes have; SOLVED: not known. */
enum orr_outcome orr_dry_run__known_beginning(const struct orr_victim_search *search,
                                              uint64_t content);
enum orr_outcome orr_dry_run__known_outcome(const struct orr_victim_search *search, uint64_t order);
/* How it ended, wherever it was. */
void orr_dry_run__note(const struct orr_victim_search *search, enum orr_outcome outcome);

/* --- dry_run_nodes.c: which nodes are open, and what is placed there --- */

/* A victim's tasks ask whole GPUs, and where it is constrained nothing else. A node that never
 * offered GPUs gives none back. */
bool orr_dry_run__may_count(const struct orr_session *session, uint32_t job, bool constrained);
/* Once a search. */
struct orr_dry_run *orr_dry_run__make(struct orr_victim_search *search);
/* False: the dry run knows nothing about this preemptor. */
static inline bool orr_dry_run__knows(const struct orr_dry_run *run)
{
    return run->counts != NULL || run->by_sketch;
}
/* Opens the nodes of a scenario, which its victims left. False: it is not known what becomes of
 * some victim. To be closed in either case. */
bool orr_dry_run__open(const struct orr_victim_search *search);
void orr_dry_run__close(struct orr_dry_run *run);
/* Fingerprint of what the open nodes have left. False: it is not known. */
bool orr_dry_run__has_content(const struct orr_apart *s);
uint64_t orr_dry_run__content(const struct orr_session *session, const struct orr_apart *s);
/* Places all of the job's tasks or none. */
bool orr_dry_run__place(const struct orr_apart *s, const struct orr_jobview *view, bool constrained,
                        uint32_t *tasks, uint32_t count);

#endif
