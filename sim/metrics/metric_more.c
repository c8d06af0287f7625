/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metric_more.c - the rows of the summary that are of the whole run: times to the end, fairness of
 * them, ties, room, owners, deadlines, what scheduling cost. */
#include "metric_int.h"

#include <math.h>

static void emit_row(const struct orr_emitter *to, const char *name, double value, double at_least,
                     uint64_t n)
{
    struct orr_metric metric = {.def = orr_metric_find(name),
                                .scope = to->scope,
                                .value = value,
                                .at_least = at_least,
                                .n = n};
    ORR_ASSERT(metric.def != NULL);
    (void)snprintf(metric.label, sizeof metric.label, "%s", to->label);
    to->emit(&metric, to->context);
}

void orr_metric__emit(const struct orr_emitter *to, const char *name, double value, uint64_t n)
{
    emit_row(to, name, value, (double)NAN, n);
}

/* Where all jobs of a group are ones that never can start, nobody reached anything: at least 0. */
void orr_metric__quantile(const struct orr_emitter *to, const char *name, double value,
                          const struct orr_waits *times)
{
    const bool lost = isnan(value) && times->jobs + times->never > 0;
    emit_row(to, name, value, lost ? times->seen_s : (double)NAN, times->jobs);
}

void orr_metric__of_started(const struct orr_emitter *to, const char *name, double value,
                            const struct orr_waits *times)
{
    const bool lost = isnan(value) && times->jobs + times->never > 0;
    emit_row(to, name, value, lost ? 0 : (double)NAN, times->started);
}

void orr_metric__jct(const struct orr_emitter *to, const struct orr_waits *ended, uint64_t never)
{
    struct orr_waits with_nevers = *ended;
    const struct orr_waits *jct = &with_nevers;
    with_nevers.never = never;
    orr_metric__of_started(to, "jct_mean_s", jct->mean_s, jct);
    orr_metric__quantile(to, "jct_p50_s", jct->p50_s, jct);
    orr_metric__quantile(to, "jct_p95_s", jct->p95_s, jct);
    orr_metric__quantile(to, "jct_p99_s", jct->p99_s, jct);
}

void orr_metric__stalls(const struct orr_emitter *to, const struct orr_stalls *stalls)
{
    orr_metric__emit(to, "stall_h", stalls->h, stalls->attempts);
}

static void emit_finish(const struct orr_emitter *to, const struct orr_summary *s)
{
    const struct orr_finish *f = &s->finish;
    orr_metric__jct(to, &f->jct, s->waits.never);
    orr_metric__emit(to, "throughput_gpus", f->throughput_gpus, f->ended_in_window);
    orr_metric__emit(to, "bsld60_mean", f->bsld60_mean, s->ended);
    orr_metric__emit(to, "wait_gpu_weighted_s", f->wait_gpu_weighted_s, s->waits.started);
    orr_metric__emit(to, "bsld_per_gpu_mean", f->bsld_per_gpu_mean, s->ended);
    orr_metric__emit(to, "evictions_per_1000_gpu_h", f->evictions_per_1000_gpu_h, s->evictions);
    orr_metric__emit(to, "ping_pong_evictions", (double)f->ping_pong, s->evictions);
    orr_metric__stalls(to, &f->stalls);
    orr_metric__emit(to, "node_load_max_over_mean", s->spread.max_over_mean, s->spread.nodes);
    orr_metric__emit(to, "node_load_cv", s->spread.cv, s->spread.nodes);
}

static void emit_ties(const struct orr_emitter *to, const struct orr_summary *s)
{
    orr_metric__emit(to, "tied_starts", (double)s->ties.tied, s->waits.started);
    orr_metric__emit(to, "coincident_starts", (double)s->ties.coincident, s->waits.started);
}

/* Only of a policy that counts them. */
static void emit_scenarios(const struct orr_emitter *to, const struct orr_summary *s)
{
    struct orr_emitter action = *to;
    char label[300];
    double sum = 0.0;
    for (uint32_t i = 0; i < s->cost_count; i++) {
        sum += (double)s->costs[i].scenarios;
    }
    if (s->cost_count > 0) {
        orr_metric__emit(to, "scenarios_simulated", sum, s->cycles);
    }
    action.scope = "action";
    action.label = label;
    for (uint32_t i = 0; i < s->cost_count; i++) {
        (void)snprintf(label, sizeof label, "action=%s", s->costs[i].action);
        orr_metric__emit(&action, "scenarios_simulated", (double)s->costs[i].scenarios, s->cycles);
    }
}

static void emit_ftf(const struct orr_emitter *to, const struct orr_summary *s)
{
    static const struct {
        const char *max, *p95, *above;
    } forms[ORR_FTF_COUNT] = {
        [ORR_FTF_QUOTA] = {"ftf_quota_max", "ftf_quota_p95", "ftf_quota_above"},
        [ORR_FTF_THEMIS] = {"ftf_themis_max", "ftf_themis_p95", "ftf_themis_above"},
        [ORR_FTF_SHOCKWAVE] = {"ftf_shockwave_max", "ftf_shockwave_p95", "ftf_shockwave_above"}};
    for (int i = 0; i < ORR_FTF_COUNT; i++) {
        const struct orr_ftf *ftf = &s->ftf[i];
        orr_metric__emit(to, forms[i].max, ftf->max, ftf->jobs);
        orr_metric__emit(to, forms[i].p95, ftf->p95, ftf->jobs);
        orr_metric__emit(to, forms[i].above, ftf->above, ftf->jobs);
    }
}

/* Only where jobs have rates. */
static void emit_speeds(const struct orr_emitter *to, const struct orr_speeds *speeds)
{
    if (speeds->jobs == 0) {
        return;
    }
    orr_metric__emit(to, "topology_penalty_gpu_h", speeds->penalty_gpu_h, speeds->jobs);
    if (speeds->alike > 0) {
        orr_metric__emit(to, "rate_spread", speeds->consistency, speeds->alike);
        orr_metric__emit(to, "rate_spread_max", speeds->consistency_max, speeds->alike);
    }
}

/* Only of a policy that promises the first in line not to be delayed. */
static void emit_promises(const struct orr_emitter *to, const struct orr_promises *promises)
{
    if (promises->judged) {
        orr_metric__emit(to, "broken_promises", (double)promises->broken, promises->overtakes);
        orr_metric__emit(to, "promise_delay_max_s", promises->delay_max_s, promises->broken);
    }
}

static void emit_room(const struct orr_emitter *to, const struct orr_summary *s)
{
    const struct orr_room_summary *r = &s->room;
    const struct orr_starvation *v = &s->starvation;
    orr_metric__emit(to, "idle_gpus_mean", r->idle_gpus_mean, s->spread.nodes);
    orr_metric__emit(to, "unusable_gpus_mean", r->unusable_gpus_mean, r->typical_tasks);
    orr_metric__emit(to, "unusable_of_idle", r->unusable_of_idle, r->typical_tasks);
    emit_row(to, "starvation_p99_s", v->p99_s, isnan(v->p99_s) ? v->max_s : (double)NAN, v->jobs);
    orr_metric__emit(to, "starvation_max_s", v->max_s, v->jobs);
    orr_metric__emit(to, "starved", (double)v->starved, v->jobs);
}

/* Only where jobs are elastic: `wait` tells when their gang started. */
static void emit_full(const struct orr_emitter *to, const struct orr_waits *full)
{
    if (full->jobs > 0) {
        orr_metric__emit(to, "wait_full_mean_s", full->mean_s, full->started);
        orr_metric__quantile(to, "wait_full_p50_s", full->p50_s, full);
        orr_metric__quantile(to, "wait_full_p95_s", full->p95_s, full);
    }
}

/* Only of traces that name users, or groups of jobs. */
static void emit_owners(const struct orr_emitter *to, const struct orr_owners *o)
{
    const struct orr_waits *b = &o->batches;
    if (o->user_names > 0) {
        orr_metric__emit(to, "user_fairness_jain", o->user_jain, o->users);
    }
    if (o->batch_names > 0) {
        orr_metric__emit(to, "batch_mean_s", b->mean_s, b->started);
        orr_metric__quantile(to, "batch_p50_s", b->p50_s, b);
        orr_metric__quantile(to, "batch_p95_s", b->p95_s, b);
        orr_metric__emit(to, "batch_max_s", b->max_s, b->started);
        orr_metric__emit(to, "batches_open", (double)(b->jobs - b->started + b->never),
                         b->jobs + b->never);
    }
}

bool orr_metric__has_deadlines(const struct orr_deadlines *d)
{
    return d->met + d->missed + d->open > 0;
}

void orr_metric__deadlines(const struct orr_emitter *to, const struct orr_deadlines *d)
{
    const struct orr_waits *late = &d->lateness;
    const uint64_t decided = d->met + d->missed, jobs = decided + d->open;
    if (!orr_metric__has_deadlines(d)) {
        return;
    }
    orr_metric__emit(to, "deadline_met", d->met_share, decided);
    orr_metric__emit(to, "deadlines_missed", (double)d->missed, jobs);
    orr_metric__emit(to, "deadlines_open", (double)d->open, jobs);
    orr_metric__emit(to, "lateness_mean_s", late->mean_s, late->started);
    orr_metric__quantile(to, "lateness_p50_s", late->p50_s, late);
    orr_metric__quantile(to, "lateness_p95_s", late->p95_s, late);
    orr_metric__emit(to, "lateness_max_s", late->max_s, late->started);
    orr_metric__emit(to, "tardiness_mean_s", d->tardiness_mean_s, late->started);
}

/* Only of runs in which scheduling takes time. */
static void emit_scheduler(const struct orr_emitter *to, const struct orr_summary *s)
{
    const struct orr_scheduler_time *time = &s->scheduler;
    uint64_t n = s->cycles;
    orr_metric__emit(to, "scheduler_busy", s->scheduler_busy, n);
    orr_metric__emit(to, "scheduler_busy_s", (double)time->busy_ms / 1000.0, n);
    orr_metric__emit(to, "cycle_max_s", (double)time->cycle_max_ms / 1000.0, n);
    orr_metric__emit(to, "cycles_behind", (double)time->behind, n);
    orr_metric__emit(to, "cycle_delay_max_s", (double)time->behind_max_ms / 1000.0, n);
    orr_metric__emit(to, "decision_delay_max_s", (double)time->effect_max_ms / 1000.0, n);
}

void orr_metric__more(const struct orr_emitter *to, const struct orr_summary *s)
{
    emit_finish(to, s);
    emit_ftf(to, s);
    emit_ties(to, s);
    emit_scenarios(to, s);
    emit_room(to, s);
    emit_speeds(to, &s->speeds);
    emit_promises(to, &s->promises);
    emit_full(to, &s->full);
    emit_owners(to, &s->owners);
    orr_metric__deadlines(to, &s->deadlines);
    if (s->latent) {
        emit_scheduler(to, s);
    }
}
