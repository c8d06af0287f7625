/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metric_more.c - the rows of the summary that are of the whole run: times to the end, fairness of
 * them, ties, room, owners, deadlines, what scheduling cost. */
#include "metric_int.h"

#include <math.h>

void orr_metric__quantiles(const struct orr_emitter *to, const char *p50, const char *p95,
                           const char *p99, const struct orr_waits *times, const char *definition)
{
    orr_metric__emit(to, p50, times->p50_s, "s", times->jobs, definition);
    orr_metric__emit(to, p95, times->p95_s, "s", times->jobs, definition);
    if (p99 != NULL) {
        orr_metric__emit(to, p99, times->p99_s, "s", times->jobs, definition);
    }
}

void orr_metric__jct(const struct orr_emitter *to, const struct orr_waits *jct)
{
    orr_metric__emit(to, "jct_mean_s", jct->mean_s, "s", jct->started, "mean of end minus submit");
    orr_metric__quantiles(to, "jct_p50_s", "jct_p95_s", "jct_p99_s", jct,
                          "end minus submit of jobs of the window, nearest rank (Kaplan-Meier when "
                          "some never ended)");
}

void orr_metric__stalls(const struct orr_emitter *to, const struct orr_stalls *stalls)
{
    orr_metric__emit(
        to, "stall_h", stalls->h, "h", stalls->attempts,
        "jobs x time from the end of an attempt that was cut short to the next start, of the run");
}

static void emit_finish(const struct orr_emitter *to, const struct orr_summary *s)
{
    const struct orr_finish *f = &s->finish;
    orr_metric__jct(to, &f->jct);
    orr_metric__emit(
        to, "throughput_gpus", f->throughput_gpus, "GPU", f->ended_in_window,
        "run time at rate 1 x GPUs of jobs that ended in the window / its length: work in GPUs of "
        "the reference speed");
    orr_metric__emit(to, "bsld60_mean", f->bsld60_mean, "1", s->ended,
                     "mean of max(1, (end - submit) / max(run time, 60 s))");
    orr_metric__emit(to, "wait_gpu_weighted_s", f->wait_gpu_weighted_s, "s", s->waits.started,
                     "mean wait of jobs that started, each by the GPUs it asks for");
    orr_metric__emit(to, "bsld_per_gpu_mean", f->bsld_per_gpu_mean, "1", s->ended,
                     "mean of max(1, (end - submit) / (max(1, GPUs) x max(run time, 10 s)))");
    orr_metric__emit(to, "evictions_per_1000_gpu_h", f->evictions_per_1000_gpu_h,
                     "evictions/1000 GPU-h", s->evictions,
                     "evictions of whole jobs by GPU time held, whole run");
    orr_metric__emit(to, "ping_pong_evictions", (double)f->ping_pong, "evictions", s->evictions,
                     "of a whole job within 1 h of its last one");
    orr_metric__stalls(to, &f->stalls);
    orr_metric__emit(to, "node_load_max_over_mean", s->spread.max_over_mean, "1", s->spread.nodes,
                     "share of GPU time held of the busiest node / mean over nodes, in the window");
    orr_metric__emit(to, "node_load_cv", s->spread.cv, "1", s->spread.nodes,
                     "standard deviation / mean of that share over nodes");
}

static void emit_ties(const struct orr_emitter *to, const struct orr_summary *s)
{
    orr_metric__emit(
        to, "tied_starts", (double)s->ties.tied, "jobs", s->waits.started,
        "first starts that hung on the order of rows: another job that came at the same time (kai: "
        "the same second), of equal rank, later in the trace and asking for no more GPUs, waited "
        "on");
    orr_metric__emit(
        to, "coincident_starts", (double)s->ties.coincident, "jobs", s->waits.started,
        "first starts in the instant the job came, on a node that another job's pods left in that "
        "instant");
}

/* Only of a policy that counts them. */
static void emit_scenarios(const struct orr_emitter *to, const struct orr_summary *s)
{
    static const char definition[] =
        "sets of victims whose eviction and new placement kai simulated, of the run";
    struct orr_emitter action = *to;
    char label[300];
    double sum = 0.0;
    for (uint32_t i = 0; i < s->cost_count; i++) {
        sum += (double)s->costs[i].scenarios;
    }
    if (s->cost_count > 0) {
        orr_metric__emit(to, "scenarios_simulated", sum, "scenarios", s->cycles, definition);
    }
    action.scope = "action";
    action.label = label;
    for (uint32_t i = 0; i < s->cost_count; i++) {
        (void)snprintf(label, sizeof label, "action=%s", s->costs[i].action);
        orr_metric__emit(&action, "scenarios_simulated", (double)s->costs[i].scenarios, "scenarios",
                         s->cycles, definition);
    }
}

static void emit_ftf(const struct orr_emitter *to, const struct orr_summary *s)
{
    static const struct {
        const char *max, *p95, *above, *definition;
    } forms[ORR_FTF_COUNT] = {
        [ORR_FTF_QUOTA] = {"ftf_quota_max", "ftf_quota_p95", "ftf_quota_above",
                           "most of (end - submit) / time alone on its queue's quota (run time x "
                           "max(1, GPUs / quota); all GPUs where there is no quota)"},
        [ORR_FTF_THEMIS] = {"ftf_themis_max", "ftf_themis_p95", "ftf_themis_above",
                            "most of (end - submit) / (run time x max(1, jobs / GPUs)), jobs: "
                            "submitted and not ended, mean over the job's life"},
        [ORR_FTF_SHOCKWAVE] = {"ftf_shockwave_max", "ftf_shockwave_p95", "ftf_shockwave_above",
                               "most of (end - submit) / (run time x max(1, jobs / GPUs)), jobs: "
                               "all that were submitted in the run"}};
    for (int i = 0; i < ORR_FTF_COUNT; i++) {
        const struct orr_ftf *ftf = &s->ftf[i];
        orr_metric__emit(to, forms[i].max, ftf->max, "1", ftf->jobs, forms[i].definition);
        orr_metric__emit(to, forms[i].p95, ftf->p95, "1", ftf->jobs, "of the same, nearest rank");
        orr_metric__emit(to, forms[i].above, ftf->above, "1", ftf->jobs,
                         i == ORR_FTF_QUOTA
                             ? "share of jobs of queues with a quota for which it is above 1"
                             : "share of jobs for which it is above 1");
    }
}

/* Only where jobs have rates. */
static void emit_speeds(const struct orr_emitter *to, const struct orr_speeds *speeds)
{
    if (speeds->jobs == 0) {
        return;
    }
    orr_metric__emit(
        to, "topology_penalty_gpu_h", speeds->penalty_gpu_h, "GPU-h", speeds->jobs,
        "GPU time held in the window x (1 - rate where the job was, with nobody beside / best rate "
        "of so many GPUs of that model)");
    if (speeds->alike > 0) {
        orr_metric__emit(
            to, "rate_spread", speeds->consistency, "1", speeds->alike,
            "95 % / 5 % quantile (nearest rank) of mean rate / best rate of jobs of one shape, of "
            "shapes that 20 jobs of the window have, mean over their jobs: 1 is consistent");
        orr_metric__emit(to, "rate_spread_max", speeds->consistency_max, "1", speeds->alike,
                         "the same of the shape where it is the most");
    }
}

/* Only of a policy that promises the first in line not to be delayed. */
static void emit_promises(const struct orr_emitter *to, const struct orr_promises *promises)
{
    if (promises->judged) {
        orr_metric__emit(
            to, "broken_promises", (double)promises->broken, "jobs", promises->overtakes,
            "jobs that overtook the first in line and moved the first instant at which it would "
            "fit, by estimates (rule promise of the audit), of those that overtook");
        orr_metric__emit(to, "promise_delay_max_s", promises->delay_max_s, "s", promises->broken,
                         "the most that one of them moved it");
    }
}

static void emit_room(const struct orr_emitter *to, const struct orr_summary *s)
{
    const struct orr_room_summary *r = &s->room;
    const struct orr_starvation *v = &s->starvation;
    orr_metric__emit(to, "idle_gpus_mean", r->idle_gpus_mean, "GPU", s->spread.nodes,
                     "free of nodes that are up, mean over the window");
    orr_metric__emit(
        to, "unusable_gpus_mean", r->unusable_gpus_mean, "GPU", r->typical_tasks,
        "fragmentation (FGD): of what is free, what a typical task could not use, mean over the "
        "most frequent kinds of task that make 95 % of the trace's, and over the window");
    orr_metric__emit(to, "unusable_of_idle", r->unusable_of_idle, "1", r->typical_tasks,
                     "the same / free, integral over integral");
    orr_metric__emit(
        to, "starvation_p99_s", v->p99_s, "s", v->jobs,
        "time a job waited while its queue would have been within its quota with it, of jobs that "
        "fit into the quota; nearest rank (Kaplan-Meier when some wait still)");
    orr_metric__emit(to, "starvation_max_s", v->max_s, "s", v->jobs,
                     "most of the same, of jobs that wait still so far");
    orr_metric__emit(to, "starved", (double)v->starved, "jobs", v->jobs,
                     "of them, those that waited so at all");
}

/* Only where jobs are elastic: `wait` tells when their gang started. */
static void emit_full(const struct orr_emitter *to, const struct orr_waits *full)
{
    if (full->jobs > 0) {
        orr_metric__emit(to, "wait_full_mean_s", full->mean_s, "s", full->started,
                         "mean from submit to the first time an elastic job has all its pods");
        orr_metric__quantiles(to, "wait_full_p50_s", "wait_full_p95_s", NULL, full,
                              "submit to the first time an elastic job has all its pods, nearest "
                              "rank (Kaplan-Meier when some did not yet)");
    }
}

/* Only of traces that name users, or groups of jobs. */
static void emit_owners(const struct orr_emitter *to, const struct orr_owners *o)
{
    const struct orr_waits *b = &o->batches;
    if (o->user_names > 0) {
        orr_metric__emit(
            to, "user_fairness_jain", o->user_jain, "1", o->users,
            "Jain's index over users of GPU time held / (held + asked for by jobs that waited), in "
            "the window");
    }
    if (o->batch_names > 0) {
        orr_metric__emit(
            to, "batch_mean_s", b->mean_s, "s", b->started,
            "mean from the first submit to the end of the last job of a group, of groups that "
            "ended; first submit in the window");
        orr_metric__quantiles(to, "batch_p50_s", "batch_p95_s", NULL, b,
                              "first submit to the end of the last job of a group, nearest rank "
                              "(Kaplan-Meier when some did not end)");
        orr_metric__emit(to, "batch_max_s", b->max_s, "s", b->started,
                         "of groups that ended, the longest");
        orr_metric__emit(to, "batches_open", (double)(b->jobs - b->started + b->never), "groups",
                         b->jobs + b->never, "of which some job did not end");
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
    orr_metric__emit(
        to, "deadline_met", d->met_share, "1", decided,
        "share of jobs of the window with a deadline that ended by it, of those decided");
    orr_metric__emit(to, "deadlines_missed", (double)d->missed, "jobs", jobs,
                     "ended after their deadline, had not ended when it was over, or left");
    orr_metric__emit(to, "deadlines_open", (double)d->open, "jobs", jobs,
                     "had not ended when the run did, with time left");
    orr_metric__emit(to, "lateness_mean_s", late->mean_s, "s", late->started,
                     "mean of end minus deadline (below 0: early) of those that ended");
    orr_metric__quantiles(
        to, "lateness_p50_s", "lateness_p95_s", NULL, late,
        "end minus deadline, nearest rank (Kaplan-Meier when some had not ended)");
    orr_metric__emit(to, "lateness_max_s", late->max_s, "s", late->started,
                     "of those that ended, the latest");
    orr_metric__emit(to, "tardiness_mean_s", d->tardiness_mean_s, "s", late->started,
                     "mean of max(0, end - deadline) of those that ended");
}

/* Only of runs in which scheduling takes time. */
static void emit_scheduler(const struct orr_emitter *to, const struct orr_summary *s)
{
    const struct orr_scheduler_time *time = &s->scheduler;
    uint64_t n = s->cycles;
    orr_metric__emit(
        to, "scheduler_busy", s->scheduler_busy, "1", n,
        "time the scheduler's cycles took / time from the first submit to the end of the run");
    orr_metric__emit(to, "scheduler_busy_s", (double)time->busy_ms / 1000.0, "s", n,
                     "time the scheduler's cycles took");
    orr_metric__emit(to, "cycle_max_s", (double)time->cycle_max_ms / 1000.0, "s", n,
                     "longest cycle");
    orr_metric__emit(to, "cycles_behind", (double)time->behind, "cycles", n,
                     "began after they were due, because the one before was not over");
    orr_metric__emit(to, "cycle_delay_max_s", (double)time->behind_max_ms / 1000.0, "s", n,
                     "longest time from when a cycle was due to its begin");
    orr_metric__emit(
        to, "decision_delay_max_s", (double)time->effect_max_ms / 1000.0, "s", n,
        "longest time from the begin of a cycle to the effect of one of its decisions");
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
