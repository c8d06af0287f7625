/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_limits.c - limits of QOS and associations: what is checked before nodes
 * are chosen (counts and wall times) and behind it (resources). The partition's
 * QOS is asked first, then the job's, then associations from the user's up to
 * the root. */
#include "slurm_int.h"

enum scope { OF_ALL, OF_USER, OF_ACCOUNT };

/* Is one association below another, or the same? */
static bool is_below(const struct slurm_conf *conf, uint32_t assoc, uint32_t top)
{
    for (; assoc != ORR_NONE; assoc = conf->assocs[assoc].parent) {
        if (assoc == top) {
            return true;
        }
    }
    return false;
}

static bool same_owner(const struct slurm_conf *conf, uint32_t a, uint32_t b, enum scope scope)
{
    if (scope == OF_ALL) {
        return true;
    }
    if (a == ORR_NONE || b == ORR_NONE) {
        return a == b;
    }
    return scope == OF_USER ? conf->assocs[a].user_id == conf->assocs[b].user_id
                            : conf->assocs[a].parent == conf->assocs[b].parent;
}

/* What runs under a QOS (assoc ORR_NONE), or below an association (qos
 * ORR_NONE). */
static void add_up(const struct slurm *slurm, uint32_t job, uint32_t qos, uint32_t assoc,
                   enum scope scope, struct slurm_limits *held)
{
    const struct slurm_conf *conf = &slurm->conf;
    *held = (struct slurm_limits){0};
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        const struct slurm_job *other = &slurm->jobs[slurm->running[r]];
        const bool counts =
            qos != ORR_NONE
                ? other->qos == qos && same_owner(conf, slurm->jobs[job].assoc, other->assoc, scope)
                : is_below(conf, other->assoc, assoc);
        if (counts && slurm->running[r] != job) {
            held->jobs++;
            for (int t = 0; t < SLURM_TRES_COUNT; t++) {
                held->tres[t] += other->tres[t];
            }
        }
    }
}

static bool limits_jobs(const struct slurm_limits *limits)
{
    return limits->jobs >= 0;
}

static bool limits_tres(const struct slurm_limits *limits)
{
    bool any = false;
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        any = any || limits->tres[t] >= 0;
    }
    return any;
}

static bool passes_jobs(const struct slurm *slurm, uint32_t job, const struct slurm_limits *limits,
                        uint32_t qos, uint32_t assoc, enum scope scope)
{
    struct slurm_limits held;
    if (!limits_jobs(limits)) {
        return false;
    }
    add_up(slurm, job, qos, assoc, scope, &held);
    return held.jobs + 1 > limits->jobs;
}

static bool passes_tres(const struct slurm *slurm, uint32_t job, const struct slurm_limits *limits,
                        uint32_t qos, uint32_t assoc, enum scope scope)
{
    struct slurm_limits held;
    bool passes = false;
    if (!limits_tres(limits)) {
        return false;
    }
    add_up(slurm, job, qos, assoc, scope, &held);
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        passes = passes || (limits->tres[t] >= 0 &&
                            held.tres[t] + slurm->jobs[job].tres[t] > limits->tres[t]);
    }
    return passes;
}

static bool job_is_larger(const struct slurm_job *job, const struct slurm_limits *limits)
{
    bool larger = false;
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        larger = larger || (limits->tres[t] >= 0 && job->tres[t] > limits->tres[t]);
    }
    return larger;
}

enum orr_reason orr_slurm__limits_before(const struct slurm *slurm, uint32_t job)
{
    const struct slurm_conf *conf = &slurm->conf;
    const struct slurm_job *j = &slurm->jobs[job];
    if (!conf->enforce_limits) {
        return ORR_REASON_NONE;
    }
    if (j->qos != ORR_NONE) {
        const struct slurm_qos *qos = &conf->qos[j->qos];
        if ((j->limit_ms > qos->max_wall_ms && qos->max_wall_ms < ORR_MS_NEVER) ||
            passes_jobs(slurm, job, &qos->group, j->qos, ORR_NONE, OF_ALL) ||
            passes_jobs(slurm, job, &qos->per_user, j->qos, ORR_NONE, OF_USER) ||
            passes_jobs(slurm, job, &qos->per_account, j->qos, ORR_NONE, OF_ACCOUNT)) {
            return ORR_REASON_OVER_LIMIT;
        }
    }
    for (uint32_t a = j->assoc; a != ORR_NONE; a = conf->assocs[a].parent) {
        const struct slurm_assoc *assoc = &conf->assocs[a];
        if ((j->limit_ms > assoc->max_wall_ms && assoc->max_wall_ms < ORR_MS_NEVER) ||
            passes_jobs(slurm, job, &assoc->group, ORR_NONE, a, OF_ALL) ||
            (a == j->assoc && passes_jobs(slurm, job, &assoc->own, ORR_NONE, a, OF_ALL))) {
            return ORR_REASON_OVER_LIMIT;
        }
    }
    return ORR_REASON_NONE;
}

enum orr_reason orr_slurm__limits_behind(const struct slurm *slurm, uint32_t job)
{
    const struct slurm_conf *conf = &slurm->conf;
    const struct slurm_job *j = &slurm->jobs[job];
    if (!conf->enforce_limits) {
        return ORR_REASON_NONE;
    }
    if (j->qos != ORR_NONE) {
        const struct slurm_qos *qos = &conf->qos[j->qos];
        if (job_is_larger(j, &qos->per_job) ||
            passes_tres(slurm, job, &qos->group, j->qos, ORR_NONE, OF_ALL) ||
            passes_tres(slurm, job, &qos->per_user, j->qos, ORR_NONE, OF_USER) ||
            passes_tres(slurm, job, &qos->per_account, j->qos, ORR_NONE, OF_ACCOUNT)) {
            return ORR_REASON_OVER_LIMIT;
        }
    }
    for (uint32_t a = j->assoc; a != ORR_NONE; a = conf->assocs[a].parent) {
        const struct slurm_assoc *assoc = &conf->assocs[a];
        if (job_is_larger(j, &assoc->per_job) ||
            passes_tres(slurm, job, &assoc->group, ORR_NONE, a, OF_ALL)) {
            return ORR_REASON_OVER_LIMIT;
        }
    }
    return ORR_REASON_NONE;
}
