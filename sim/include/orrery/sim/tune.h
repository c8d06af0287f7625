/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tune.h - GPU quotas and over-quota weights of queues that meet objectives of several of them,
 * found by Pareto local search (Paquete, Chiarandini, Stuetzle: Pareto local optimum sets in the
 * biobjective traveling salesman problem, 2004): the neighbours of settings that no other beats are
 * tried, the most promising ones' first. Quota moves from one queue without children to another,
 * and with it that of the queues above them, so that its sum stays. A setting with which more jobs
 * can never run than as the scenario has it (they are in no quantile and no mean) keeps nothing and
 * is on no front. What is found is stated of the settings that were tried. */
#ifndef ORR_SIM_TUNE_H
#define ORR_SIM_TUNE_H

#include <orrery/sim/study.h>

struct orr_tune_options {
    struct orr_scenario_options scenario; /* its expects are the objectives; 0: its own */
    const char *const *queues;            /* whose quota may move; NULL: of all leaf queues */
    uint32_t queue_count;
    double step;               /* GPUs that move at first; 0: a quarter of the largest quota. Halved
                                  down to 1 when no neighbour of a setting on the front is left */
    bool weights;              /* double and halve over-quota weights too */
    uint32_t replicas, needed; /* as of orr_capacity_options */
    uint32_t tries;            /* settings tried at most, the scenario's own among them */
    uint32_t allow_loss_ppm;
    struct orr_study_options study; /* progress is told of runs; the total is a bound */
};

struct orr_tune_setting {
    const double *quotas, *weights; /* by queue: GPUs; over-quota weight */
    const double *means;            /* by objective; NAN: not reached in a replica */
    const uint32_t *kept;           /* replicas by objective */
    uint32_t kept_all;              /* replicas that keep all objectives, and no more jobs out */
    int64_t never_run;              /* jobs that can never run, the most of any replica */
    bool keeps_out;                 /* in a replica these are more than with the first setting */
    bool on_front;                  /* no setting tried is as good in all objectives and better in
                                       one, or equal and found before it */
    const char *const *paths;       /* results by replica, totals alone; there until released */
    const char *const *sets;        /* what differs from the scenario, as of --set: also quotas of
                                       queues above those that changed */
    uint32_t set_count;
};

struct orr_tune {
    const char *const *queues;
    uint32_t queue_count;
    const struct orr_study_objective *objectives;
    uint32_t objective_count;
    const struct orr_tune_setting *settings; /* as they were tried; the first is the scenario's */
    uint32_t count, replicas, needed;
    uint64_t runs;
    double step;    /* GPUs that moved last */
    bool exhausted; /* no neighbour of the front is left; else `tries` were over */
    char scratch[4200];
    struct orr_arena arena;
};

/* ORR_USAGE: no objectives, a queue that is not there or has no quota of its own to move, or
 * nothing that could be changed; ORR_SCENARIO: an objective names no metric that the runs have; and
 * as orr_study_run fails. Release it in any case. */
enum orr_status orr_tune_find(const struct orr_tune_options *options, struct orr_tune *out,
                              struct orr_err *err) ORR_MUST_USE;
void orr_tune_release(struct orr_tune *tune);

#endif
