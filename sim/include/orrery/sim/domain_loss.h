/* SPDX-License-Identifier: GPL-3.0-or-later */
/* domain_loss.h - what the loss of each failure domain (a node, or a domain of a level of the
 * topology) would have cost a run: each is lost in runs of its own, held against the run as it was.
 */
#ifndef ORR_SIM_DOMAIN_LOSS_H
#define ORR_SIM_DOMAIN_LOSS_H

#include <orrery/sim/study.h>

struct orr_domain_loss_options {
    const char *results; /* the run as it was */
    const char *level;   /* "node", or a level that the results have */
    orr_ms at_ms[32];    /* when it is lost, on the run's clock; each in a run of its own */
    uint32_t
        moment_count; /* 0: moments_default of them, in the middles of equal parts of the window
                       */
    uint32_t moments_default;
    orr_ms for_ms;                  /* how long its nodes are down */
    struct orr_study_options study; /* progress is told of runs */
};

/* Of one loss of a domain. Waits are those for every start, first ones and those after evictions,
 * times the GPUs that wait; one that did not end counts to the later end of the two runs. */
struct orr_domain_damage {
    uint32_t hit_jobs;   /* that lost pods when the domain went down */
    double wasted_gpu_h; /* GPU time held to no use, more than without the loss: lost work,
                            restarts, gangs that were not complete */
    uint32_t longer_jobs, shorter_jobs;
    double longer_gpu_h, shorter_gpu_h; /* waited; never netted */
};

struct orr_domain_loss {
    uint32_t domain;          /* its number in the results; of a node its id */
    const char *name;         /* that the scenario gives it; NULL: none */
    const char *first, *last; /* names of its nodes */
    uint32_t nodes, gpus;
    double damage_gpu_h;           /* mean over the moments: wasted and longer waits together */
    struct orr_domain_damage mean; /* counts rounded to the nearest */
    struct orr_domain_damage most; /* of the moment that did most damage */
    orr_ms most_at_ms;
    const char *most_queue, *most_job; /* who waited most GPU-hours longer then; NULL: nobody did */
    double most_queue_gpu_h, most_job_s;
};

struct orr_domain_losses {
    struct orr_domain_loss *items; /* the one that did most damage first */
    uint32_t count;
    orr_ms at_ms[32];
    uint32_t moment_count;
    orr_ms origin_ms; /* of the clock, since 1970; ORR_MS_NONE: there is no calendar */
    uint64_t runs;
    struct orr_arena arena;
};

/* ORR_DATA: no such level, a moment that is not in the run, or the run does not come out as it did;
 * and as orr_study_run fails. Release it in any case. */
enum orr_status orr_domain_loss_find(const struct orr_domain_loss_options *options,
                                     struct orr_domain_losses *out,
                                     struct orr_err *err) ORR_MUST_USE;
void orr_domain_losses_release(struct orr_domain_losses *losses);

#endif
