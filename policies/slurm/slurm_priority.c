/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_priority.c - priority/basic and the sum of priority/multifactor.
 *
 * Factors of a waiting job move at ticks of PriorityCalcPeriod, counted from
 * the start of slurmctld, and not in between. The sum is made in doubles and
 * cut to a whole number once. */
#include "slurm_int.h"

#define PRIORITY_MOST 4294967294.0

static double at_most_1(double factor)
{
    return factor < 0 ? 0 : factor > 1 ? 1 : factor;
}

/* N and C of the cluster, n and c of the job: larger for large jobs, or for
 * small ones. */
static double size_factor(const struct slurm *slurm, const struct slurm_job *job)
{
    const struct slurm_conf *conf = &slurm->conf;
    const double nodes = slurm->cluster_amounts[SLURM_NODE];
    const double cpus = slurm->cluster_amounts[SLURM_CPU];
    const double n = job->tres[SLURM_NODE], c = job->tres[SLURM_CPU];
    if (nodes <= 0) {
        return 0;
    }
    if ((conf->priority_flags & SLURM_SMALL_RELATIVE_TO_TIME) != 0) {
        const double minutes =
            job->limit_ms >= ORR_MS_NEVER / 2 ? 525600 : (double)job->limit_ms / 60000;
        const double wide = cpus > 0 ? n * cpus / nodes : n;
        const double whole = cpus > 0 ? cpus : nodes;
        const double factor = (wide > c ? wide : c) / (minutes < 1 ? 1 : minutes) / whole;
        return at_most_1(conf->favor_small ? 1 - factor : factor);
    }
    const bool by_nodes = c <= 0 || cpus <= 0;
    if (conf->favor_small) {
        const double small = (nodes - n) / nodes;
        return at_most_1(by_nodes ? small : (small + (cpus - c) / cpus) / 2);
    }
    return at_most_1(by_nodes ? n / nodes : (n / nodes + c / cpus) / 2);
}

static double tres_sum(const struct slurm *slurm, const struct slurm_job *job,
                       const struct slurm_partition *partition)
{
    double sum = 0;
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        const double raw = job->tres[t], whole = partition->amounts[t];
        const bool normal = (slurm->conf.priority_flags & SLURM_NO_NORMAL_TRES) == 0;
        const double factor = !normal ? raw : whole > 0 ? raw / whole : 0;
        sum += slurm->conf.weight_tres[t] * factor;
    }
    return sum;
}

static double partition_factor(const struct slurm *slurm, const struct slurm_partition *partition)
{
    const double factor = (double)partition->priority_job_factor;
    if ((slurm->conf.priority_flags & SLURM_NO_NORMAL_PART) != 0) {
        return factor;
    }
    return slurm->conf.max_job_factor > 0 ? factor / slurm->conf.max_job_factor : 0;
}

static double qos_factor(const struct slurm_conf *conf, const struct slurm_job *job)
{
    const double priority = job->qos == ORR_NONE ? 0 : (double)conf->qos[job->qos].priority;
    if ((conf->priority_flags & SLURM_NO_NORMAL_QOS) != 0) {
        return priority;
    }
    return conf->max_qos_priority > 0 ? priority / conf->max_qos_priority : 0;
}

static double assoc_factor(const struct slurm_conf *conf, const struct slurm_job *job)
{
    const double priority = job->assoc == ORR_NONE ? 0 : (double)conf->assocs[job->assoc].priority;
    if ((conf->priority_flags & SLURM_NO_NORMAL_ASSOC) != 0) {
        return priority;
    }
    return conf->max_assoc_priority > 0 ? priority / conf->max_assoc_priority : 0;
}

uint32_t orr_slurm__priority(const struct slurm *slurm, uint32_t job, uint32_t partition)
{
    const struct slurm_conf *conf = &slurm->conf;
    const struct slurm_job *j = &slurm->jobs[job];
    const struct slurm_partition *p = &conf->partitions[partition];
    if (j->priority >= 0) {
        return (uint32_t)(j->priority < UINT32_MAX ? j->priority : UINT32_MAX - 1);
    }
    double sum = (double)(j->basic - j->nice);
    if (conf->multifactor) {
        sum = j->age * conf->weight_age + j->fair_share * conf->weight_fairshare +
              assoc_factor(conf, j) * conf->weight_assoc + qos_factor(conf, j) * conf->weight_qos +
              size_factor(slurm, j) * conf->weight_jobsize +
              partition_factor(slurm, p) * conf->weight_partition + tres_sum(slurm, j, p) -
              (double)j->nice;
    }
    return sum < 1 ? 1 : sum > PRIORITY_MOST ? (uint32_t)PRIORITY_MOST : (uint32_t)sum;
}

/* slurmctld counts ages in whole seconds. */
static orr_ms whole_seconds(orr_ms at)
{
    return at - ((at % 1000) + 1000) % 1000;
}

static void take_factors(struct slurm *slurm, struct slurm_job *job, orr_ms now)
{
    const bool always = (slurm->conf.priority_flags & SLURM_ACCRUE_ALWAYS) != 0;
    const orr_ms waited =
        whole_seconds(now) - whole_seconds(always ? job->submit_ms : job->accrue_ms);
    const orr_ms most = slurm->conf.max_age_ms;
    job->fair_share = job->assoc == ORR_NONE ? 0 : slurm->conf.assocs[job->assoc].fair_share;
    job->age = waited >= most ? 1 : waited <= 0 || most <= 0 ? 0 : (double)waited / (double)most;
}

void orr_slurm__priority_new(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    take_factors(slurm, &slurm->jobs[job], view->now);
}

/* The last tick that is not after a time. */
static orr_ms tick_by(const struct slurm *slurm, orr_ms now)
{
    const orr_ms period = slurm->conf.calc_period_ms;
    return now < slurm->start_ms ? ORR_MS_NONE
                                 : slurm->start_ms + (now - slurm->start_ms) / period * period;
}

void orr_slurm__priority_ticks(struct slurm *slurm, const struct orr_view *view)
{
    const orr_ms tick = tick_by(slurm, view->now);
    if (!slurm->conf.multifactor || tick == slurm->last_tick_ms || tick == ORR_MS_NONE) {
        return;
    }
    const orr_ms period = slurm->conf.calc_period_ms;
    orr_ms at = slurm->last_tick_ms == ORR_MS_NONE ? slurm->start_ms : slurm->last_tick_ms + period;
    for (; at <= tick; at += period) {
        orr_slurm__usage_tick(slurm, view, at);
        slurm->last_tick_ms = at;
    }
    for (uint32_t r = 0; r < slurm->queue_count; r++) {
        struct slurm_job *job = &slurm->jobs[slurm->queue[r].job];
        if (job->is_lined) {
            take_factors(slurm, job, tick);
        }
    }
    const bool of_running = (slurm->conf.priority_flags & SLURM_CALCULATE_RUNNING) != 0;
    for (uint32_t r = 0; r < slurm->running_count && of_running; r++) { /* their age has an end */
        struct slurm_job *job = &slurm->jobs[slurm->running[r]];
        take_factors(slurm, job, job->start_ms < tick ? job->start_ms : tick);
    }
    orr_slurm__queue_sort(slurm);
    slurm->changed = slurm->changed_since_full = true;
}
