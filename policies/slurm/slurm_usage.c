/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_usage.c - what users, accounts and QOS used, how it decays, and the
 * fair-share factors.
 *
 * At a tick all usage decays, then what running jobs used since the tick before
 * is added to their associations up to the root. The part of a job from its
 * last tick to its end counts only if limits are enforced. Usage is in billing
 * seconds: CPUs, unless the partition has TRESBillingWeights. */
#include "slurm_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/sort.h>

static bool decays(const struct slurm_conf *conf)
{
    return conf->decay_half_life_ms > 0 && conf->decay_half_life_ms < ORR_MS_NEVER / 2;
}

static double decay_factor(const struct slurm *slurm)
{
    const double half_life_s = (double)slurm->conf.decay_half_life_ms / 1000;
    return decays(&slurm->conf) ? 1 - 0.693 / half_life_s : 1;
}

bool orr_slurm__usage_falls(const struct slurm_conf *conf)
{
    return conf->multifactor && (decays(conf) || conf->usage_reset > SLURM_RESET_NOW);
}

static double billing(const struct slurm *slurm, uint32_t job)
{
    const struct slurm_job *j = &slurm->jobs[job];
    const struct slurm_partition *p = &slurm->conf.partitions[j->runs_in];
    double sum = 0, most = 0;
    if (!p->bills) {
        /* GPUs stand for CPUs where a trace states none */
        return j->held[SLURM_CPU] > 0 ? j->held[SLURM_CPU] : j->held[SLURM_GPU];
    }
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        const double part = j->held[t] * p->billing[t];
        sum += part;
        most = part > most ? part : most;
    }
    return (slurm->conf.priority_flags & SLURM_MAX_TRES) != 0 ? most : sum;
}

static void use(double *used_minutes, double *used_wall_ms, const struct slurm_job *job,
                double minutes)
{
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        used_minutes[t] += job->held[t] * minutes;
    }
    *used_wall_ms += minutes * 60000;
}

static void shrink(double *used_minutes, double *used_wall_ms, double factor)
{
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        used_minutes[t] *= factor;
    }
    *used_wall_ms *= factor;
}

/* Adds what a running job used up to a time. */
static void book(struct slurm *slurm, uint32_t job, orr_ms now)
{
    struct slurm_conf *conf = &slurm->conf;
    struct slurm_job *j = &slurm->jobs[job];
    const orr_ms since = slurm->last_tick_ms > j->start_ms ? slurm->last_tick_ms : j->start_ms;
    const double delta_s =
        now > since ? (double)(slurm_second_of(now) - slurm_second_of(since)) : 0;
    const double factor = j->qos == ORR_NONE ? 1 : conf->qos[j->qos].usage_factor;
    const double used = delta_s * pow(decay_factor(slurm), delta_s) * billing(slurm, job) * factor;
    const double minutes = delta_s * pow(decay_factor(slurm), delta_s) * factor / 60;
    for (uint32_t a = j->assoc; a != ORR_NONE; a = conf->assocs[a].parent) {
        conf->assocs[a].usage += used;
        use(conf->assocs[a].used_minutes, &conf->assocs[a].used_wall_ms, j, minutes);
    }
    const uint32_t of_partition = conf->partitions[j->runs_in].qos;
    if (j->qos != ORR_NONE) {
        conf->qos[j->qos].usage += used;
        use(conf->qos[j->qos].used_minutes, &conf->qos[j->qos].used_wall_ms, j, minutes);
    }
    if (of_partition != ORR_NONE && of_partition != j->qos) {
        conf->qos[of_partition].usage += used;
        use(conf->qos[of_partition].used_minutes, &conf->qos[of_partition].used_wall_ms, j,
            minutes);
    }
}

void orr_slurm__usage_end(struct slurm *slurm, uint32_t job, orr_ms now)
{
    if (slurm->conf.enforce_limits) {
        book(slurm, job, now);
    }
}

/* --- shares --- */

static double shares_below(const struct slurm_conf *conf, uint32_t parent)
{
    return conf->assocs[parent].child_shares;
}

/* --- classic --- */

static double norm_shares(const struct slurm_conf *conf, uint32_t a)
{
    double norm = 1;
    for (; conf->assocs[a].above != ORR_NONE; a = conf->assocs[a].above) {
        const struct slurm_assoc *assoc = &conf->assocs[a];
        const double all = shares_below(conf, assoc->above);
        norm *= assoc->as_parent ? 1 : all > 0 ? assoc->shares / all : 0;
    }
    return norm;
}

static double norm_usage(const struct slurm_conf *conf, uint32_t a)
{
    return conf->assocs[0].usage > 0 ? conf->assocs[a].usage / conf->assocs[0].usage : 0;
}

/* DEPTH_OBLIVIOUS: use by shares of the account above, times that of this one among its siblings.
 * The latter counts less, the further the account is from its share, where the product would come
 * back towards 1 by it. */
static double depth_oblivious(const struct slurm_conf *conf, uint32_t a)
{
    const uint32_t above = conf->assocs[a].above;
    const double shares = norm_shares(conf, a), own = norm_usage(conf, a);
    const double shares_above = norm_shares(conf, above);
    double siblings = 0;
    for (uint32_t s = conf->assocs[above].first_child; s != ORR_NONE; s = conf->assocs[s].next) {
        siblings += conf->assocs[s].as_parent ? 0 : norm_usage(conf, s);
    }
    if (shares <= 0 || shares_above <= 0 || own <= 0 || conf->assocs[above].effective <= 0) {
        return own;
    }
    const double account = conf->assocs[above].effective / shares_above;
    const double level = own / shares / (siblings / shares_above);
    const double bend = 5 * log(account);
    const double power = log(account) * log(level) >= 0 ? 1 : 1 / (1 + bend * bend);
    return account * pow(level, power) * shares;
}

static void take_effective(struct slurm_conf *conf, uint32_t a)
{
    struct slurm_assoc *assoc = &conf->assocs[a];
    const double own = norm_usage(conf, a);
    if (assoc->above == ORR_NONE) {
        assoc->effective = 1;
        return;
    }
    const double above = conf->assocs[assoc->above].effective;
    const double all = shares_below(conf, assoc->above);
    if (assoc->as_parent) { /* it has the factor of the account */
        assoc->effective = above;
    } else if (conf->assocs[assoc->above].above == ORR_NONE) {
        assoc->effective = own;
    } else if ((conf->priority_flags & SLURM_DEPTH_OBLIVIOUS) != 0) {
        assoc->effective = depth_oblivious(conf, a);
    } else {
        assoc->effective = own + (above - own) * (all > 0 ? assoc->shares / all : 0);
    }
}

void orr_slurm__classic(struct slurm_conf *conf, bool users)
{
    for (uint32_t a = 0; a < conf->assoc_count; a++) {
        struct slurm_assoc *assoc = &conf->assocs[a];
        if ((assoc->user != NULL) != users) {
            continue;
        }
        take_effective(conf, a);
        const double shares = norm_shares(conf, a);
        assoc->fair_share = shares > 0 ? pow(2, -(assoc->effective / shares) / conf->dampening) : 0;
    }
}

/* --- fair tree --- */

static double level_fs(const struct slurm_conf *conf, uint32_t a)
{
    const struct slurm_assoc *assoc = &conf->assocs[a];
    const struct slurm_assoc *above = &conf->assocs[assoc->above];
    const double all = shares_below(conf, assoc->above);
    const double shares = all > 0 ? assoc->shares / all : 0;
    const double usage = above->usage > 0 ? assoc->usage / above->usage : 0;
    if (!assoc->as_parent && shares <= 0) { /* whatever it used */
        return 0;
    }
    return assoc->as_parent || usage <= 0 ? HUGE_VAL : shares / usage;
}

static int by_level_fs(const void *a, const void *b, void *context)
{
    const struct slurm_conf *conf = context;
    const struct slurm_assoc *x = &conf->assocs[*(const uint32_t *)a];
    const struct slurm_assoc *y = &conf->assocs[*(const uint32_t *)b];
    if (x->level_fs < y->level_fs || x->level_fs > y->level_fs) {
        return x->level_fs > y->level_fs ? -1 : 1;
    }
    return (x->user == NULL) - (y->user == NULL);
}

struct walk {                  /* one level of the tree */
    uint32_t first, count, at; /* of the siblings in `order` */
    bool tied;                 /* its first one is, with what was ranked before */
};

static uint32_t list_level(struct slurm_conf *conf, uint32_t parent, uint32_t *order,
                           uint32_t first)
{
    uint32_t count = 0;
    for (uint32_t a = conf->assocs[parent].first_child; a != ORR_NONE; a = conf->assocs[a].next) {
        conf->assocs[a].level_fs = level_fs(conf, a);
        order[first + count++] = a;
    }
    orr_sort(order + first, count, sizeof *order, by_level_fs, conf);
    return count;
}

/* Accounts that tie are walked one after the other, not merged: that is
 * what 22.05 does. */
void orr_slurm__fair_tree(struct slurm_conf *conf)
{
    uint32_t *order = orr_alloc(conf->assoc_count + (size_t)1, sizeof *order);
    struct walk *levels = orr_alloc(conf->assoc_count + (size_t)1, sizeof *levels);
    uint32_t depth = 1, rank = conf->user_count, untied = conf->user_count;
    levels[0] = (struct walk){0, list_level(conf, 0, order, 0), 0, false};
    while (depth > 0) {
        struct walk *level = &levels[depth - 1];
        if (level->at == level->count) {
            depth--;
            continue;
        }
        struct slurm_assoc *assoc = &conf->assocs[order[level->first + level->at]];
        const double *before =
            level->at == 0 ? NULL : &conf->assocs[order[level->first + level->at - 1]].level_fs;
        const bool tied = before == NULL
                              ? level->tied
                              : !(*before < assoc->level_fs || *before > assoc->level_fs);
        level->at++;
        if (assoc->user != NULL) {
            rank = tied ? rank : untied;
            assoc->fair_share = (double)rank / (double)conf->user_count;
            untied--;
            continue;
        }
        const uint32_t first = level->first + level->count;
        levels[depth++] = (struct walk){
            first, list_level(conf, (uint32_t)(assoc - conf->assocs), order, first), 0, tied};
    }
    orr_free(order);
    orr_free(levels);
}

/* --- ticks --- */

static void decay(struct slurm *slurm, double factor)
{
    for (uint32_t a = 0; a < slurm->conf.assoc_count; a++) {
        slurm->conf.assocs[a].usage *= factor;
        shrink(slurm->conf.assocs[a].used_minutes, &slurm->conf.assocs[a].used_wall_ms, factor);
    }
    for (uint32_t q = 0; q < slurm->conf.qos_count; q++) {
        struct slurm_qos *qos = &slurm->conf.qos[q];
        qos->usage *= qos->no_decay ? 1 : factor;
        shrink(qos->used_minutes, &qos->used_wall_ms, qos->no_decay ? 1 : factor);
    }
}

/* Days since 1970 in which the period of PriorityUsageResetPeriod that holds a
 * time began. */
static int64_t reset_period(enum slurm_usage_reset reset, orr_ms epoch_ms)
{
    int64_t day = epoch_ms / 86400000;
    if (reset == SLURM_RESET_DAILY) {
        return day;
    }
    if (reset == SLURM_RESET_WEEKLY) {
        return (day + 4) / 7; /* from Sunday on; 1970 began on a Thursday */
    }
    /* the civil calendar: days from 1 March of the year 0, in eras of 400 years
     */
    day += 719468;
    const int64_t era = day / 146097, of_era = day % 146097;
    const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month = (5 * of_year + 2) / 153; /* from March, 0 */
    const int64_t year = era * 400 + year_of_era + (month >= 10);
    const int64_t since_january = month >= 10 ? month - 10 : month + 2;
    return reset == SLURM_RESET_MONTHLY     ? year * 12 + since_january
           : reset == SLURM_RESET_QUARTERLY ? year * 4 + since_january / 3
                                            : year;
}

static bool is_reset(const struct slurm *slurm, const struct orr_view *view, orr_ms tick)
{
    const enum slurm_usage_reset reset = (enum slurm_usage_reset)slurm->conf.usage_reset;
    if (reset == SLURM_RESET_NONE || slurm->last_tick_ms == ORR_MS_NONE) {
        return reset == SLURM_RESET_NOW && slurm->last_tick_ms == ORR_MS_NONE;
    }
    return reset != SLURM_RESET_NOW &&
           reset_period(reset, tick + view->epoch_ms) !=
               reset_period(reset, slurm->last_tick_ms + view->epoch_ms);
}

void orr_slurm__usage_tick(struct slurm *slurm, const struct orr_view *view, orr_ms tick)
{
    struct slurm_conf *conf = &slurm->conf;
    const bool shares = conf->weight_fairshare > 0;
    const bool is_classic = shares && (conf->priority_flags & SLURM_NO_FAIR_TREE) != 0;
    if (conf->assoc_count == 0 || !(shares || conf->enforce_limits)) { /* nobody looks at it */
        return;
    }
    if (is_reset(slurm, view, tick)) {
        decay(slurm, 0);
    }
    if (slurm->last_tick_ms != ORR_MS_NONE) {
        decay(slurm, pow(decay_factor(slurm), (double)((tick - slurm->last_tick_ms) / 1000)));
    }
    if (is_classic) {
        orr_slurm__classic(conf, false);
    }
    for (uint32_t r = 0; r < slurm->running_count && slurm->last_tick_ms != ORR_MS_NONE; r++) {
        book(slurm, slurm->running[r], tick);
    }
    if (is_classic) {
        orr_slurm__classic(conf, true);
    } else if (shares) {
        orr_slurm__fair_tree(conf);
    }
}
