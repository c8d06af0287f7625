/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif.h - what the files of `orrery whatif` share: cli_whatif.c runs, whatif_heed.c has what
 * is not heeded, whatif_answer.c tells. */
#ifndef ORR_SIM_CLI_WHATIF_H
#define ORR_SIM_CLI_WHATIF_H

#include <orrery/sim/study.h>
#include <orrery/traces/shelf.h>

#include "cli.h"

struct whatif_options {
    const char *path, *trace, *format, *keep, *shake;
    const char *sets[ORR_CLI_LIST_MAX], *variants[ORR_CLI_LIST_MAX], *policies[ORR_CLI_LIST_MAX];
    const char *bases[ORR_CLI_LIST_MAX], *clusters[ORR_CLI_LIST_MAX];
    uint32_t set_count, variant_count, policy_count, base_count, cluster_count, seeds, jobs;
    int64_t seed;   /* the first; -1: the scenario's */
    const char *at; /* from when on --set holds; NULL: always */
    bool all;       /* every row, not only those who lose and gain most */
    struct orr_cli_common common;
    uint32_t allow_loss_ppm;
};

struct whatif_change { /* beside what --set changes, which is part of each */
    const char *policy, *variant;
};

struct whatif_unheeded {
    uint32_t arm;
    const char *text; /* a sentence, or a line of the policy's about its parameters */
    bool of_setting;  /* the latter, which names the setting and what of it bears on nothing */
};

struct whatif {
    const struct whatif_options *options;
    struct orr_scenario_options from;    /* the base in words */
    orr_ms at_ms;                        /* of --at; ORR_MS_NONE: from the beginning */
    bool is_results;                     /* it was run, with whatever rows its trace lost */
    struct orr_scenario base;            /* for its seeds, variants and expectations */
    const char *const *names;            /* of arms */
    const struct whatif_change *changes; /* by arm; none of arm 0 */
    uint32_t arm_count, seed_count;
    struct orr_point_options *points; /* by arm, then seed */
    const char *const *paths;         /* their results, all measured from the same time on */
    const char **labels;
    uint32_t *arms;
    char scratch[4200];
    struct orr_replicas aligned;      /* runs repeated for that */
    struct whatif_unheeded *unheeded; /* by arm, in order */
    uint32_t unheeded_count, unheeded_capacity;
    struct orr_trace_shelf shelf; /* traces of the first arm, read once for all processes */
    struct orr_arena arena;
    struct orr_progress progress;
};

/* What policies do not look at in what each arm begins from. Fails as orr_study_fork does, and with
 * ORR_CANT_CREATE. */
enum orr_status orr_whatif_hear(struct whatif *w, struct orr_err *err) ORR_MUST_USE;
/* That of an arm, one after the other: what all arms have in common, or what they have not. `next`
 * begins at 0; NULL: no more. */
const struct whatif_unheeded *orr_whatif_unheeded(const struct whatif *w, uint32_t arm, bool common,
                                                  uint32_t *next);

/* Who gains and who loses by each change; `code` is 1 or 78 where the scenario's expectations say
 * so. Fails as orr_compare does. */
enum orr_status orr_whatif_answer(struct whatif *w, int *code, struct orr_err *err) ORR_MUST_USE;

#endif
