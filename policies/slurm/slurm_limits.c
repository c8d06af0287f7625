/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_limits.c - limits of QOS and associations, in one walk.
 *
 * The QOS of the partition is asked first, then the job's (the other way round if that has
 * OverPartQOS), then associations from the user's up to the root. A limit that a QOS sets hides the
 * same limit of whoever comes later; of associations, limits of groups hold at every level, others
 * as the nearest sets them. Counts and times are looked at before nodes are chosen, resources
 * behind it, when what the job would hold is known. */
#include "slurm_int.h"

#include <string.h>

/* Why a job waits: of a QOS, of an association; by scope; jobs, time, then by resource. */
static const enum orr_reason names[2][SLURM_SCOPES][2 + SLURM_TRES_COUNT] = {
    {[SLURM_GROUP] = {ORR_REASON_QOS_GRP_JOBS_LIMIT, ORR_REASON_QOS_GRP_WALL_LIMIT,
                      ORR_REASON_QOS_GRP_CPU_LIMIT, ORR_REASON_QOS_GRP_MEM_LIMIT,
                      ORR_REASON_QOS_GRP_GRES, ORR_REASON_QOS_GRP_NODE_LIMIT},
     [SLURM_USER] = {ORR_REASON_QOS_MAX_JOBS_PER_USER_LIMIT, ORR_REASON_NONE,
                     ORR_REASON_QOS_MAX_CPU_PER_USER_LIMIT, ORR_REASON_QOS_MAX_MEMORY_PER_USER,
                     ORR_REASON_QOS_MAX_GRES_PER_USER, ORR_REASON_QOS_MAX_NODE_PER_USER_LIMIT},
     [SLURM_ACCOUNT] = {ORR_REASON_MAX_JOBS_PER_ACCOUNT, ORR_REASON_NONE,
                        ORR_REASON_MAX_CPU_PER_ACCOUNT, ORR_REASON_MAX_MEMORY_PER_ACCOUNT,
                        ORR_REASON_MAX_GRES_PER_ACCOUNT, ORR_REASON_MAX_NODE_PER_ACCOUNT},
     [SLURM_PER_JOB] = {ORR_REASON_NONE, ORR_REASON_QOS_MAX_WALL_DURATION_PER_JOB_LIMIT,
                        ORR_REASON_QOS_MAX_CPU_PER_JOB_LIMIT, ORR_REASON_QOS_MAX_MEMORY_PER_JOB,
                        ORR_REASON_QOS_MAX_GRES_PER_JOB, ORR_REASON_QOS_MAX_NODE_PER_JOB_LIMIT},
     [SLURM_PER_NODE] = {ORR_REASON_NONE, ORR_REASON_NONE, ORR_REASON_QOS_MAX_CPU_PER_NODE,
                         ORR_REASON_QOS_MAX_MEMORY_PER_NODE, ORR_REASON_QOS_MAX_GRES_PER_NODE,
                         ORR_REASON_NONE},
     [SLURM_LEAST] = {ORR_REASON_NONE, ORR_REASON_NONE, ORR_REASON_QOS_MIN_CPU_NOT_SATISFIED,
                      ORR_REASON_QOS_MIN_MEMORY, ORR_REASON_QOS_MIN_GRES, ORR_REASON_QOS_MIN_NODE},
     [SLURM_GROUP_MINUTES] = {ORR_REASON_NONE, ORR_REASON_NONE,
                              ORR_REASON_QOS_GRP_CPU_MINUTES_LIMIT, ORR_REASON_QOS_GRP_MEM_MINUTES,
                              ORR_REASON_QOS_GRP_GRES_MINUTES, ORR_REASON_QOS_GRP_NODE_MINUTES},
     [SLURM_RUN_MINUTES] = {ORR_REASON_NONE, ORR_REASON_NONE,
                            ORR_REASON_QOS_GRP_CPU_RUN_MINUTES_LIMIT,
                            ORR_REASON_QOS_GRP_MEM_RUN_MINUTES, ORR_REASON_QOS_GRP_GRES_RUN_MINUTES,
                            ORR_REASON_QOS_GRP_NODE_RUN_MINUTES},
     [SLURM_JOB_MINUTES] = {ORR_REASON_NONE, ORR_REASON_NONE,
                            ORR_REASON_QOS_MAX_CPU_MINUTES_PER_JOB_LIMIT,
                            ORR_REASON_QOS_MAX_MEM_MINUTES_PER_JOB,
                            ORR_REASON_QOS_MAX_GRES_MINUTES_PER_JOB,
                            ORR_REASON_QOS_MAX_NODE_MINUTES_PER_JOB}},
    {[SLURM_GROUP] = {ORR_REASON_ASSOC_GRP_JOBS_LIMIT, ORR_REASON_ASSOC_GRP_WALL_LIMIT,
                      ORR_REASON_ASSOC_GRP_CPU_LIMIT, ORR_REASON_ASSOC_GRP_MEM_LIMIT,
                      ORR_REASON_ASSOC_GRP_GRES, ORR_REASON_ASSOC_GRP_NODE_LIMIT},
     [SLURM_USER] = {ORR_REASON_ASSOC_MAX_JOBS_LIMIT, ORR_REASON_NONE, ORR_REASON_NONE,
                     ORR_REASON_NONE, ORR_REASON_NONE, ORR_REASON_NONE},
     [SLURM_PER_JOB] = {ORR_REASON_NONE, ORR_REASON_ASSOC_MAX_WALL_DURATION_PER_JOB_LIMIT,
                        ORR_REASON_ASSOC_MAX_CPU_PER_JOB_LIMIT, ORR_REASON_ASSOC_MAX_MEM_PER_JOB,
                        ORR_REASON_ASSOC_MAX_GRES_PER_JOB, ORR_REASON_ASSOC_MAX_NODE_PER_JOB_LIMIT},
     [SLURM_PER_NODE] = {ORR_REASON_NONE, ORR_REASON_NONE, ORR_REASON_ASSOC_MAX_CPU_PER_NODE,
                         ORR_REASON_ASSOC_MAX_MEM_PER_NODE, ORR_REASON_ASSOC_MAX_GRES_PER_NODE,
                         ORR_REASON_NONE},
     [SLURM_GROUP_MINUTES] = {ORR_REASON_NONE, ORR_REASON_NONE,
                              ORR_REASON_ASSOC_GRP_CPU_MINUTES_LIMIT,
                              ORR_REASON_ASSOC_GRP_MEM_MINUTES, ORR_REASON_ASSOC_GRP_GRES_MINUTES,
                              ORR_REASON_ASSOC_GRP_NODE_MINUTES},
     [SLURM_RUN_MINUTES] = {ORR_REASON_NONE, ORR_REASON_NONE,
                            ORR_REASON_ASSOC_GRP_CPU_RUN_MINUTES_LIMIT,
                            ORR_REASON_ASSOC_GRP_MEM_RUN_MINUTES,
                            ORR_REASON_ASSOC_GRP_GRES_RUN_MINUTES,
                            ORR_REASON_ASSOC_GRP_NODE_RUN_MINUTES},
     [SLURM_JOB_MINUTES] = {
         ORR_REASON_NONE, ORR_REASON_NONE, ORR_REASON_ASSOC_MAX_CPU_MINUTES_PER_JOB_LIMIT,
         ORR_REASON_ASSOC_MAX_MEM_MINUTES_PER_JOB, ORR_REASON_ASSOC_MAX_GRES_MINUTES_PER_JOB,
         ORR_REASON_ASSOC_MAX_NODE_MINUTES_PER_JOB}}};

struct walk {
    const struct slurm *slurm;
    uint32_t job, partition;
    enum slurm_phase phase;
    bool alone;                    /* as if nothing else ran or had run */
    bool counts;                   /* then limits of jobs are looked at, too */
    bool eases;                    /* the limit that is passed will not be, if only time passes */
    double tres[SLURM_TRES_COUNT]; /* that the job would hold */
    double minutes;                /* of its limit */
    bool hidden[SLURM_SCOPES][2 + SLURM_TRES_COUNT];
};

struct source { /* of limits: a QOS, or an association */
    const struct slurm_limits *limits;
    uint32_t qos, assoc; /* the other is ORR_NONE */
    const double *used;  /* by resource, in minutes */
    double used_wall_ms;
};

/* --- what runs --- */

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

/* By whom jobs of a QOS are counted: who has no association is one, who is only known by account is
 * one user. */
static uint32_t owner_of(const struct slurm_conf *conf, uint32_t assoc, enum slurm_scope scope)
{
    if (assoc == ORR_NONE) {
        return 0;
    }
    return scope == SLURM_ACCOUNT ? slurm_account(conf, assoc) + 1
                                  : conf->assocs[assoc].user_id + 2;
}

static void add(struct slurm_sum *sum, const struct slurm_job *job, int sign)
{
    sum->jobs += sign;
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        sum->tres[t] += sign * (int64_t)(job->held[t] * 1000 + 0.5);
    }
}

static void add_owner(const struct slurm_conf *conf, struct slurm_sum **sums, uint32_t *capacity,
                      const struct slurm_job *job, enum slurm_scope scope, int sign)
{
    const uint32_t owner = owner_of(conf, job->assoc, scope);
    *sums = orr_zgrow(*sums, capacity, owner + (size_t)1, sizeof **sums);
    add(&(*sums)[owner], job, sign);
}

void orr_slurm__count_running(struct slurm *slurm, uint32_t job, bool in)
{
    struct slurm_conf *conf = &slurm->conf;
    const struct slurm_job *j = &slurm->jobs[job];
    const int sign = in ? 1 : -1;
    const uint32_t of_partition = conf->partitions[j->runs_in].qos;
    const uint32_t qos[2] = {j->qos, of_partition == j->qos ? ORR_NONE : of_partition};
    for (int q = 0; q < 2; q++) {
        if (qos[q] != ORR_NONE) {
            struct slurm_sums *sums = &conf->qos[qos[q]].running;
            add(&sums->all, j, sign);
            add_owner(conf, &sums->of_user, &sums->user_capacity, j, SLURM_USER, sign);
            add_owner(conf, &sums->of_account, &sums->account_capacity, j, SLURM_ACCOUNT, sign);
        }
    }
    for (uint32_t a = j->assoc; a != ORR_NONE; a = conf->assocs[a].parent) {
        add(&conf->assocs[a].running, j, sign);
    }
}

/* Does a running job count for a source? */
static bool counts(const struct walk *walk, const struct source *source, enum slurm_scope scope,
                   uint32_t job)
{
    const struct slurm_conf *conf = &walk->slurm->conf;
    const struct slurm_job *other = &walk->slurm->jobs[job];
    const uint32_t assoc = walk->slurm->jobs[walk->job].assoc;
    if (source->qos == ORR_NONE) {
        return is_below(conf, other->assoc, scope == SLURM_USER ? assoc : source->assoc);
    }
    const bool by_owner = scope == SLURM_USER || scope == SLURM_ACCOUNT;
    return (other->qos == source->qos || conf->partitions[other->runs_in].qos == source->qos) &&
           (!by_owner || owner_of(conf, assoc, scope) == owner_of(conf, other->assoc, scope));
}

static struct slurm_sum sum_of(const struct walk *walk, const struct source *source,
                               enum slurm_scope scope)
{
    const struct slurm_conf *conf = &walk->slurm->conf;
    const uint32_t assoc = walk->slurm->jobs[walk->job].assoc;
    if (source->qos == ORR_NONE) {
        return conf->assocs[scope == SLURM_USER ? assoc : source->assoc].running;
    }
    const struct slurm_sums *sums = &conf->qos[source->qos].running;
    const uint32_t owner = owner_of(conf, assoc, scope);
    const bool of_user = scope == SLURM_USER, of_account = scope == SLURM_ACCOUNT;
    const uint32_t known = of_user ? sums->user_capacity : of_account ? sums->account_capacity : 0;
    return !of_user && !of_account ? sums->all
           : owner >= known        ? (struct slurm_sum){0}
           : of_user               ? sums->of_user[owner]
                                   : sums->of_account[owner];
}

struct held {
    int64_t jobs;
    double tres[SLURM_TRES_COUNT], run_minutes[SLURM_TRES_COUNT];
};

/* What is left of a running job's limit, as of the last tick; under priority/basic all of it counts
 * until the job ends. */
static double minutes_left(const struct slurm *slurm, const struct slurm_job *job)
{
    const bool ticks = slurm->conf.multifactor && slurm->last_tick_ms > job->start_ms;
    const orr_ms since = ticks ? slurm->last_tick_ms : job->start_ms;
    return job->end_ms > since ? (double)(job->end_ms - since) / 60000 : 0;
}

static void add_minutes(const struct walk *walk, const struct source *source,
                        enum slurm_scope scope, struct held *held)
{
    const struct slurm *slurm = walk->slurm;
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        const struct slurm_job *other = &slurm->jobs[slurm->running[r]];
        if (slurm->running[r] != walk->job && counts(walk, source, scope, slurm->running[r])) {
            const double minutes = minutes_left(slurm, other);
            for (int t = 0; t < SLURM_TRES_COUNT; t++) {
                held->run_minutes[t] += other->held[t] * minutes;
            }
        }
    }
}

/* Of all that run but the job itself, should it gain further tasks. */
static struct held add_up(const struct walk *walk, const struct source *source,
                          enum slurm_scope scope)
{
    struct held held = {0};
    if (walk->alone) {
        return held;
    }
    struct slurm_sum sum = sum_of(walk, source, scope);
    if (walk->slurm->jobs[walk->job].state == SLURM_RUNS &&
        counts(walk, source, scope, walk->job)) {
        add(&sum, &walk->slurm->jobs[walk->job], -1);
    }
    held.jobs = sum.jobs;
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        held.tres[t] = (double)sum.tres[t] / 1000;
    }
    if (scope == SLURM_RUN_MINUTES ||
        (scope == SLURM_GROUP_MINUTES && walk->slurm->conf.enforce_safe)) {
        add_minutes(walk, source, scope, &held);
    }
    return held;
}

/* --- one limit --- */

/* Is a limit of resources passed? */
static bool passes(const struct walk *walk, const struct source *source, const struct held *held,
                   enum slurm_scope scope, int t, double limit)
{
    const double asks = walk->tres[t];
    const double nodes = walk->tres[SLURM_NODE] > 1 ? walk->tres[SLURM_NODE] : 1;
    switch (scope) {
    case SLURM_PER_JOB: return asks > limit;
    case SLURM_PER_NODE: return asks / nodes > limit;
    case SLURM_LEAST: return asks < limit;
    case SLURM_JOB_MINUTES: return asks * walk->minutes > limit;
    case SLURM_RUN_MINUTES: return held->run_minutes[t] + asks * walk->minutes > limit;
    case SLURM_GROUP_MINUTES:
        return source->used[t] >= limit ||
               (walk->slurm->conf.enforce_safe &&
                source->used[t] + held->run_minutes[t] + asks * walk->minutes > limit);
    case SLURM_GROUP:
    case SLURM_USER:
    case SLURM_ACCOUNT:
    case SLURM_SCOPES: break;
    }
    return held->tres[t] + asks > limit;
}

static bool passes_time(const struct walk *walk, const struct source *source,
                        enum slurm_scope scope, orr_ms limit_ms)
{
    return scope == SLURM_GROUP ? source->used_wall_ms >= (double)limit_ms
                                : walk->slurm->jobs[walk->job].limit_ms > limit_ms;
}

/* Is a limit that is passed one that what was used will fall below, with `more` on top? */
static bool may_ease(const struct walk *walk, const struct source *source, double more,
                     double limit)
{
    const struct slurm_conf *conf = &walk->slurm->conf;
    const bool stays = source->qos != ORR_NONE && conf->qos[source->qos].no_decay;
    return !stays && more < limit && orr_slurm__usage_falls(conf);
}

/* May a limit be looked at here? Those that a QOS sets, and those of associations but for groups,
 * are not looked at again. */
static bool look(struct walk *walk, const struct source *source, enum slurm_scope scope, int item)
{
    bool *hidden = &walk->hidden[scope][item];
    const bool was = *hidden;
    const bool of_group =
        scope == SLURM_GROUP || scope == SLURM_GROUP_MINUTES || scope == SLURM_RUN_MINUTES;
    *hidden = was || source->qos != ORR_NONE || !of_group;
    return !was && (item < 2 ? walk->phase != SLURM_BEHIND : walk->phase != SLURM_BEFORE);
}

/* The first limit of a scope that is passed; ORR_REASON_NONE: none is. */
static enum orr_reason check_scope(struct walk *walk, const struct source *source,
                                   enum slurm_scope scope)
{
    const struct slurm_limits *limits = &source->limits[scope];
    const enum orr_reason *name = names[source->qos == ORR_NONE][scope];
    /* on more nodes it has less of each, on whole ones more in all */
    const bool hangs_on_nodes = scope == SLURM_PER_NODE || scope == SLURM_LEAST;
    if (walk->phase == SLURM_AT_LEAST && hangs_on_nodes) {
        return ORR_REASON_NONE;
    }
    const struct held held = add_up(walk, source, scope);
    if (walk->alone && scope == SLURM_GROUP_MINUTES) {
        return ORR_REASON_NONE;
    }
    if ((!walk->alone || walk->counts) && limits->jobs >= 0 && look(walk, source, scope, 0) &&
        held.jobs + 1 > limits->jobs) {
        return name[0];
    }
    if (limits->wall_ms < ORR_MS_NEVER && !(walk->alone && scope == SLURM_GROUP) &&
        look(walk, source, scope, 1) && passes_time(walk, source, scope, limits->wall_ms)) {
        walk->eases = scope == SLURM_GROUP && may_ease(walk, source, 0, (double)limits->wall_ms);
        return name[1];
    }
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        if (limits->tres[t] >= 0 && look(walk, source, scope, 2 + t) &&
            passes(walk, source, &held, scope, t, limits->tres[t])) {
            const double more = walk->slurm->conf.enforce_safe ? walk->tres[t] * walk->minutes : 0;
            walk->eases =
                scope == SLURM_GROUP_MINUTES && may_ease(walk, source, more, limits->tres[t]);
            return name[2 + t];
        }
    }
    return ORR_REASON_NONE;
}

static enum orr_reason check(struct walk *walk, const struct source *source)
{
    enum orr_reason found = ORR_REASON_NONE;
    for (int s = 0; s < SLURM_SCOPES && found == ORR_REASON_NONE; s++) {
        found = source->limits[s].any ? check_scope(walk, source, (enum slurm_scope)s) : found;
    }
    return found;
}

static enum orr_reason check_qos(struct walk *walk, uint32_t qos)
{
    if (qos == ORR_NONE) {
        return ORR_REASON_NONE;
    }
    const struct slurm_qos *q = &walk->slurm->conf.qos[qos];
    const struct source source = {q->limits, qos, ORR_NONE, q->used_minutes, q->used_wall_ms};
    return check(walk, &source);
}

static enum orr_reason walk_all(struct walk *walk)
{
    const struct slurm_conf *conf = &walk->slurm->conf;
    const struct slurm_job *j = &walk->slurm->jobs[walk->job];
    const uint32_t partition = walk->partition;
    const uint32_t of_partition =
        conf->partitions[partition].qos == j->qos ? ORR_NONE : conf->partitions[partition].qos;
    const bool own_first = j->qos != ORR_NONE && conf->qos[j->qos].over_partition;
    enum orr_reason found = check_qos(walk, own_first ? j->qos : of_partition);
    found = found != ORR_REASON_NONE ? found : check_qos(walk, own_first ? of_partition : j->qos);
    for (uint32_t a = j->assoc; a != ORR_NONE && found == ORR_REASON_NONE;
         a = conf->assocs[a].parent) {
        const struct slurm_assoc *assoc = &conf->assocs[a];
        const struct source source = {assoc->limits, ORR_NONE, a, assoc->used_minutes,
                                      assoc->used_wall_ms};
        found = check(walk, &source);
    }
    return found;
}

static struct walk walk_of(const struct slurm *slurm, uint32_t job, uint32_t partition,
                           enum slurm_phase phase)
{
    struct walk walk = {.slurm = slurm, .job = job, .partition = partition, .phase = phase};
    walk.minutes = (double)orr_slurm__limit_ms(slurm, job, partition) / 60000;
    memcpy(walk.tres, slurm->jobs[job].tres, sizeof walk.tres);
    return walk;
}

struct slurm_verdict orr_slurm__judge(const struct slurm *slurm, const struct orr_view *view,
                                      uint32_t job, uint32_t partition, enum slurm_phase phase)
{
    if (!slurm->conf.enforce_limits) {
        return (struct slurm_verdict){.reason = ORR_REASON_NONE};
    }
    struct walk walk = walk_of(slurm, job, partition, phase);
    if (phase == SLURM_BEHIND && !slurm->jobs[job].core_placed) {
        orr_slurm__amounts_of_seats(slurm, view, job, partition, walk.tres);
    }
    const enum orr_reason reason = walk_all(&walk);
    return (struct slurm_verdict){reason, reason != ORR_REASON_NONE && walk.eases};
}

enum orr_reason orr_slurm__limits(const struct slurm *slurm, const struct orr_view *view,
                                  uint32_t job, uint32_t partition, enum slurm_phase phase)
{
    return orr_slurm__judge(slurm, view, job, partition, phase).reason;
}

bool orr_slurm__limits_ease(const struct slurm *slurm, const struct orr_view *view)
{
    bool eases = false;
    const bool may = slurm->conf.enforce_limits && orr_slurm__usage_falls(&slurm->conf);
    for (uint32_t r = 0; r < slurm->queue_count && may && !eases; r++) {
        const struct slurm_record *record = &slurm->queue[r];
        eases = orr_slurm__record_limits(slurm, view, record, SLURM_AS_ASKED).eases &&
                orr_slurm__job_eligible(slurm, view, record->job) &&
                orr_slurm__barred(slurm, record) == ORR_REASON_NONE;
    }
    return eases;
}

enum orr_reason orr_slurm__limit_alone(const struct slurm *slurm, uint32_t job, uint32_t partition,
                                       enum slurm_phase phase)
{
    if (!slurm->conf.enforce_limits) {
        return ORR_REASON_NONE;
    }
    struct walk walk = walk_of(slurm, job, partition, phase);
    walk.alone = true;
    walk.counts = phase == SLURM_AT_LEAST;
    return walk_all(&walk);
}
