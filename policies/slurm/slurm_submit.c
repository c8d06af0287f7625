/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_submit.c - what sbatch is refused: limits of jobs that wait and run together, and what can
 * be judged of a job alone where slurm.conf or its QOS wants it refused at once.
 *
 * As for those that run, the QOS of the partition goes before the job's, and a limit of a QOS hides
 * the same one of associations. An array is taken or refused as a whole. */
#include "slurm_int.h"

static uint32_t user_of(const struct slurm_conf *conf, uint32_t assoc)
{
    return assoc == ORR_NONE || conf->assocs[assoc].user_id == ORR_NONE
               ? 0
               : conf->assocs[assoc].user_id + 1;
}

static uint32_t account_of(const struct slurm_conf *conf, uint32_t assoc)
{
    const uint32_t account = slurm_account(conf, assoc);
    return account == ORR_NONE ? 0 : account + 1;
}

/* The QOS of its partition, if that is another, and its own: in the order in which they are asked.
 */
static void qos_of(const struct slurm_conf *conf, const struct slurm_job *job, uint32_t qos[2])
{
    const uint32_t of_partition = conf->partitions[job->partitions[0]].qos;
    const bool own_first = job->qos != ORR_NONE && conf->qos[job->qos].over_partition;
    qos[own_first] = of_partition == job->qos ? ORR_NONE : of_partition;
    qos[!own_first] = job->qos;
}

/* --- counts --- */

static void count_at(uint32_t **counts, uint32_t *capacity, uint32_t at, bool in)
{
    *counts = orr_zgrow(*counts, capacity, at + (size_t)1, sizeof **counts);
    (*counts)[at] = in ? (*counts)[at] + 1 : (*counts)[at] - 1;
}

void orr_slurm__count_submit(struct slurm *slurm, uint32_t job, bool in)
{
    struct slurm_conf *conf = &slurm->conf;
    struct slurm_job *j = &slurm->jobs[job];
    uint32_t qos[2];
    if (j->submitted == in) {
        return;
    }
    j->submitted = in;
    qos_of(conf, j, qos);
    for (int q = 0; q < 2; q++) {
        if (qos[q] != ORR_NONE) {
            struct slurm_submitted *of = &conf->qos[qos[q]].submitted;
            of->all = in ? of->all + 1 : of->all - 1;
            count_at(&of->of_user, &of->user_capacity, user_of(conf, j->assoc), in);
            count_at(&of->of_account, &of->account_capacity, account_of(conf, j->assoc), in);
        }
    }
    for (uint32_t a = j->assoc; a != ORR_NONE; a = conf->assocs[a].parent) {
        conf->assocs[a].submitted += in ? 1 : UINT32_MAX;
    }
}

static uint32_t count_of(const uint32_t *counts, uint32_t capacity, uint32_t at)
{
    return at < capacity ? counts[at] : 0;
}

/* --- limits on what is submitted --- */

struct hidden { /* limits that a QOS has set */
    bool group, user;
};

static bool is_over(int64_t limit, uint32_t there, uint32_t more)
{
    return limit >= 0 && (int64_t)there + more > limit;
}

static enum orr_reason check_qos(const struct slurm_conf *conf, const struct slurm_qos *qos,
                                 uint32_t assoc, uint32_t count, struct hidden *hidden)
{
    const struct slurm_submitted *there = &qos->submitted;
    const int64_t group = qos->limits[SLURM_GROUP].submits;
    const int64_t account = qos->limits[SLURM_ACCOUNT].submits;
    const int64_t user = qos->limits[SLURM_USER].submits;
    if (!hidden->group && is_over(group, there->all, count)) {
        return ORR_REASON_QOS_GRP_SUBMIT_JOBS_LIMIT;
    }
    if (!hidden->user &&
        is_over(account,
                count_of(there->of_account, there->account_capacity, account_of(conf, assoc)),
                count)) {
        return ORR_REASON_MAX_SUBMIT_JOBS_PER_ACCOUNT;
    }
    if (!hidden->user &&
        is_over(user, count_of(there->of_user, there->user_capacity, user_of(conf, assoc)),
                count)) {
        return ORR_REASON_QOS_MAX_SUBMIT_JOB_PER_USER_LIMIT;
    }
    hidden->group = hidden->group || group >= 0;
    hidden->user = hidden->user || user >= 0 || account >= 0;
    return ORR_REASON_NONE;
}

/* Limits of groups hold at every level, that of the user's jobs as the nearest sets it. */
static enum orr_reason check_assocs(const struct slurm_conf *conf, uint32_t assoc, uint32_t count,
                                    struct hidden *hidden)
{
    const uint32_t own = assoc == ORR_NONE ? 0 : conf->assocs[assoc].submitted;
    for (; assoc != ORR_NONE; assoc = conf->assocs[assoc].parent) {
        const struct slurm_assoc *a = &conf->assocs[assoc];
        if (!hidden->group && is_over(a->limits[SLURM_GROUP].submits, a->submitted, count)) {
            return ORR_REASON_ASSOC_GRP_SUBMIT_JOBS_LIMIT;
        }
        if (!hidden->user && is_over(a->limits[SLURM_USER].submits, own, count)) {
            return ORR_REASON_ASSOC_MAX_SUBMIT_JOB_LIMIT;
        }
        hidden->user = hidden->user || a->limits[SLURM_USER].submits >= 0;
    }
    return ORR_REASON_NONE;
}

static enum orr_reason check_counts(const struct slurm *slurm, const struct slurm_job *job,
                                    uint32_t count)
{
    const struct slurm_conf *conf = &slurm->conf;
    struct hidden hidden = {false, false};
    enum orr_reason found = ORR_REASON_NONE;
    uint32_t qos[2];
    qos_of(conf, job, qos);
    for (int q = 0; q < 2 && found == ORR_REASON_NONE; q++) {
        if (qos[q] != ORR_NONE) {
            found = check_qos(conf, &conf->qos[qos[q]], job->assoc, count, &hidden);
        }
    }
    return found != ORR_REASON_NONE ? found : check_assocs(conf, job->assoc, count, &hidden);
}

/* --- what is judged of a job alone --- */

/* A job that states no number of nodes gets as many as MinNodes asks, if it has a task for each. */
bool orr_slurm__has_nodes_for(const struct slurm_conf *conf, uint32_t partition,
                              const struct slurm_job *job)
{
    const struct slurm_partition *p = &conf->partitions[partition];
    return (job->min_nodes <= p->max_nodes || slurm_has_flag(conf, job, SLURM_PART_MAX_NODES)) &&
           (!job->states_nodes || job->max_nodes >= p->min_nodes ||
            slurm_has_flag(conf, job, SLURM_PART_MIN_NODES));
}

bool orr_slurm__has_time_for(const struct slurm_conf *conf, uint32_t partition,
                             const struct slurm_job *job)
{
    const bool is_service = job->limit_ms >= ORR_MS_NEVER / 2 && !job->is_endless;
    return job->limit_ms <= conf->partitions[partition].max_time_ms || is_service ||
           slurm_has_flag(conf, job, SLURM_PART_TIME);
}

static bool keeps_limits(const struct slurm_conf *conf, const struct slurm_job *job, uint32_t p)
{
    return orr_slurm__has_time_for(conf, p, job) && orr_slurm__has_nodes_for(conf, p, job) &&
           job->min_nodes <= conf->partitions[p].node_count &&
           ((job->account_barred | job->qos_barred) >> p & 1) == 0;
}

static bool has_partitions(const struct slurm_conf *conf, const struct slurm_job *job)
{
    uint32_t kept = 0;
    for (uint32_t p = 0; p < job->partition_count; p++) {
        kept += keeps_limits(conf, job, job->partitions[p]);
    }
    return conf->part_limits == SLURM_PART_LIMITS_NO || kept == job->partition_count ||
           (conf->part_limits == SLURM_PART_LIMITS_ANY && kept > 0);
}

enum orr_reason orr_slurm__refusal(const struct slurm *slurm, const uint32_t *jobs, uint32_t count)
{
    const struct slurm_conf *conf = &slurm->conf;
    const struct slurm_job *job = &slurm->jobs[jobs[0]];
    if (job->no_partition || job->no_qos) {
        return job->no_partition ? ORR_REASON_INVALID_PARTITION : ORR_REASON_INVALID_QOS;
    }
    if (job->none_takes) {
        return ORR_REASON_PARTITION_NOT_AVAILABLE;
    }
    if (!orr_slurm__may_have(conf, job->assoc, job->qos)) {
        return ORR_REASON_INVALID_QOS;
    }
    if (job->no_licenses) {
        return ORR_REASON_INVALID_LICENSES;
    }
    if (job->array != ORR_NONE && conf->max_array_size > 0 && count > conf->max_array_size) {
        return ORR_REASON_MAX_ARRAY_SIZE;
    }
    if (!has_partitions(conf, job)) {
        return ORR_REASON_ENFORCE_PART_LIMITS;
    }
    if (!conf->enforce_limits) {
        return ORR_REASON_NONE;
    }
    if (job->qos != ORR_NONE && conf->qos[job->qos].denies &&
        orr_slurm__limit_alone(slurm, jobs[0], job->partitions[0], SLURM_AS_ASKED) !=
            ORR_REASON_NONE) {
        return ORR_REASON_DENY_ON_LIMIT;
    }
    return check_counts(slurm, job, count);
}
