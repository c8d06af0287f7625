/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metric_rows.c - the summary as rows: name, scope, label, value, unit, n, definition. */
#include <orrery/sim/summary.h>

#include <math.h>
#include <stdio.h>

struct emitter {
    orr_metric_fn *emit;
    void *context;
    const char *scope;
    const char *label;
    bool impatient, has_nevers; /* of the summary */
};

static void emit(const struct emitter *to, const char *name, double value, const char *unit,
                 uint64_t n, const char *definition)
{
    struct orr_metric metric = {.name = name,
                                .scope = to->scope,
                                .unit = unit,
                                .definition = definition,
                                .value = value,
                                .n = n};
    (void)snprintf(metric.label, sizeof metric.label, "%s", to->label);
    to->emit(&metric, to->context);
}

static void emit_waits(const struct emitter *to, const struct orr_waits *waits)
{
    static const char quantile[] =
        "first start minus submit, nearest rank (Kaplan-Meier when some never started)";
    uint64_t n = waits->jobs;
    emit(to, "wait_mean_s", waits->mean_s, "s", waits->started,
         "mean of first start minus submit over jobs that started");
    emit(to, "wait_p50_s", waits->p50_s, "s", n, quantile);
    emit(to, "wait_p95_s", waits->p95_s, "s", n, quantile);
    emit(to, "wait_p99_s", waits->p99_s, "s", n, quantile);
    emit(to, "wait_max_s", waits->max_s, "s", waits->started, "longest wait of a job that started");
    emit(to, "unstarted", (double)(waits->jobs - waits->started), "jobs", n,
         "submitted in the window and never started, though they could have");
    if (to->has_nevers) {
        emit(to, "never_startable", (double)waits->never, "jobs", n + waits->never,
             "submitted in the window and never could have started, were the cluster empty (table "
             "never): beside those that waits are of, and in no quantile");
    }
    if (to->impatient) {
        emit(to, "gave_up", (double)waits->gave_up, "jobs", n,
             "submitted in the window, and left before they started");
    }
}

/* Of one queue, of those of a shard, or of all. */
static void emit_debt(const struct emitter *to, const struct orr_debt *debt, uint64_t n)
{
    emit(to, "quota_debt_gpu_h", debt->total, "GPU-h", n,
         "integral of max(0, min(demand, quota) - allocated) over whole queues, in the window");
    emit(to, "quota_debt_impossible_gpu_h", debt->impossible, "GPU-h", n,
         "part of it: more than the queue could hold on the empty cluster, by its limits and the "
         "sizes of its pods");
    emit(to, "quota_debt_down_gpu_h", debt->down, "GPU-h", n,
         "part of the rest: while nodes of its shard were down");
    emit(to, "quota_debt_blocked_gpu_h", debt->blocked, "GPU-h", n,
         "the rest: while others, or their placement, were in the way");
}

/* Only where the policy has fair shares of its own. */
static void emit_own_deviation(const struct emitter *to, const struct orr_own_deviation *own)
{
    if (own->queues > 0) {
        emit(
            to, "policy_share_deviation", own->deviation, "1", own->queues,
            "integral of sum over queues of |allocated - the fair share the policy itself goes by, "
            "as of its last cycle| / (2 x capacity x window)");
    }
}

/* Only where queues have quotas or limits of it. */
static void emit_other_deviations(const struct emitter *to, const struct orr_summary *s)
{
    static const char definition[] = "as share_deviation, of the resource: integral of sum over "
                                     "queues of |allocated - entitled| "
                                     "/ (2 x capacity x window)";
    if (!isnan(s->cpu_share_deviation)) {
        emit(to, "cpu_share_deviation", s->cpu_share_deviation, "1", 1, definition);
    }
    if (!isnan(s->mem_share_deviation)) {
        emit(to, "mem_share_deviation", s->mem_share_deviation, "1", 1, definition);
    }
}

static void emit_all(const struct emitter *to, const struct orr_summary *s)
{
    emit(to, "jobs", (double)s->jobs, "jobs", s->jobs, "taken from the traces");
    emit(to, "finished", (double)s->finished, "jobs", s->jobs, "ended before the run did");
    emit(to, "unfinished", (double)s->unfinished, "jobs", s->jobs, "jobs minus finished");
    emit(to, "makespan_s", s->makespan_s, "s", s->finished,
         "time at which the last finished job ended, on the trace's clock");
    emit_waits(to, &s->waits);
    emit(to, "bsld_mean", s->bsld_mean, "1", s->ended,
         "mean of max(1, (end - submit) / max(run time, 10 s))");
    emit(to, "jct_mean_s", s->jct_mean_s, "s", s->ended, "mean of end minus submit");
    if (s->resized) {
        emit(to, "capacity_gpu_h", s->capacity_gpu_h, "GPU-h", 1,
             "GPU time of nodes that were part of the cluster, up or down, in the window");
    }
    emit(to, "gpu_available", s->gpu_available, "1", 1,
         "GPU time of nodes that were not down / GPU time, in the window");
    emit(to, "gpu_occupancy", s->gpu_occupancy, "1", 1,
         "allocated GPU time / available GPU time, in the window");
    emit(to, "gpu_goodput", s->gpu_goodput, "1", 1,
         "useful GPU time at the best rate / available GPU time, in the window: training less what "
         "a "
         "slower rate took away, sessions times busy, services' requests times their service time");
    if (s->room.sharing) {
        emit(
            to, "gpu_touched", s->gpu_touched, "1", 1,
            "time of GPUs that held something, however little / available GPU time, in the window");
    }
    if (!isnan(s->cpu_occupancy)) {
        emit(to, "cpu_occupancy", s->cpu_occupancy, "1", 1,
             "allocated CPU time / CPU time of nodes that were up, of nodes with a limit to it, in "
             "the "
             "window");
    }
    if (!isnan(s->mem_occupancy)) {
        emit(to, "mem_occupancy", s->mem_occupancy, "1", 1,
             "allocated memory x time / memory x time of nodes that were up, of nodes with a limit "
             "to "
             "it, in the window");
    }
    emit(to, "fairness_jain", s->fairness_jain, "1", s->wanting_queues,
         "Jain's index of allocated / entitled GPU time over queues with demand (equality)");
    emit(to, "fairness_satisfaction", s->fairness_satisfaction, "1", s->wanting_queues,
         "the same with the ratio capped at 1");
    emit(to, "share_deviation", s->share_deviation, "1", 1,
         "integral of sum over queues of |allocated - entitled| / (2 x capacity x window)");
    emit_other_deviations(to, s);
    emit_own_deviation(to, &s->own_shares.all);
    emit_debt(to, &s->debt, s->leaf_queues);
    emit(to, "evictions", (double)s->evictions, "evictions", s->jobs,
         "attempts of whole jobs ended early, by whatever cause (table eviction)");
    emit(to, "partial_evictions", (double)s->partial_evictions, "evictions", s->jobs,
         "evictions of some pods of a job that went on");
    emit(to, "wasted_evictions", (double)s->wasted_evictions, "evictions", s->evictions,
         "made for a job whose next pods took none of the room");
    emit(to, "lost_gpu_h", s->lost_gpu_h, "GPU-h", s->evictions,
         "held for work that was lost, or in a grace; by cause: scope cause");
    emit(to, "checkpoint_gpu_h", s->checkpoint_gpu_h, "GPU-h", s->jobs,
         "held while checkpoints were written");
    emit(to, "restart_gpu_h", s->restart_gpu_h, "GPU-h", s->evictions,
         "held while jobs started again");
    if (s->has_rates) {
        emit(to, "slow_gpu_h", s->slow_gpu_h, "GPU-h", s->jobs,
             "useful GPU time that rates below the best took away: spread, links, neighbours");
    }
    if (s->may_idle) {
        emit(to, "idle_gpu_h", s->idle_gpu_h, "GPU-h", s->jobs,
             "useful GPU time that sessions and services' replicas held without using it");
    }
    emit(to, "gang_wait_gpu_h", s->gang_wait_gpu_h, "GPU-h", s->jobs,
         "held by pods of gangs that were not complete yet, of jobs that were not bound yet, or "
         "until their round ended");
}

/* Of a queue or a kind; the mean is of those that ended. */
static void emit_jct(const struct emitter *to, const struct orr_waits *jct)
{
    static const char quantile[] =
        "end minus submit of jobs of the window, nearest rank (Kaplan-Meier when some never ended)";
    emit(to, "jct_mean_s", jct->mean_s, "s", jct->started, "mean of end minus submit");
    emit(to, "jct_p50_s", jct->p50_s, "s", jct->jobs, quantile);
    emit(to, "jct_p95_s", jct->p95_s, "s", jct->jobs, quantile);
    emit(to, "jct_p99_s", jct->p99_s, "s", jct->jobs, quantile);
}

static void emit_ties(const struct emitter *to, const struct orr_summary *s)
{
    emit(
        to, "tied_starts", (double)s->ties.tied, "jobs", s->waits.started,
        "first starts that hung on the order of rows: another job that came at the same time (kai: "
        "the same second), of equal rank, later in the trace and asking for no more GPUs, waited "
        "on");
    emit(to, "coincident_starts", (double)s->ties.coincident, "jobs", s->waits.started,
         "first starts in the instant the job came, on a node that another job's pods left in that "
         "instant");
}

/* Only of a policy that counts them. */
static void emit_scenarios(const struct emitter *to, const struct orr_summary *s)
{
    static const char definition[] =
        "sets of victims whose eviction and new placement kai simulated, of the run";
    struct emitter action = *to;
    char label[300];
    double sum = 0.0;
    for (uint32_t i = 0; i < s->cost_count; i++) {
        sum += (double)s->costs[i].scenarios;
    }
    if (s->cost_count > 0) {
        emit(to, "scenarios_simulated", sum, "scenarios", s->cycles, definition);
    }
    action.scope = "action";
    action.label = label;
    for (uint32_t i = 0; i < s->cost_count; i++) {
        (void)snprintf(label, sizeof label, "action=%s", s->costs[i].action);
        emit(&action, "scenarios_simulated", (double)s->costs[i].scenarios, "scenarios", s->cycles,
             definition);
    }
}

static void emit_finish(const struct emitter *to, const struct orr_summary *s)
{
    static const char quantile[] =
        "end minus submit of jobs of the window, nearest rank (Kaplan-Meier when some never ended)";
    const struct orr_finish *f = &s->finish;
    emit(to, "jct_p50_s", f->jct.p50_s, "s", f->jct.jobs, quantile);
    emit(to, "jct_p95_s", f->jct.p95_s, "s", f->jct.jobs, quantile);
    emit(to, "jct_p99_s", f->jct.p99_s, "s", f->jct.jobs, quantile);
    emit(to, "throughput_gpus", f->throughput_gpus, "GPU", f->ended_in_window,
         "run time at rate 1 x GPUs of jobs that ended in the window / its length: work in GPUs of "
         "the "
         "reference speed");
    emit(to, "bsld60_mean", f->bsld60_mean, "1", s->ended,
         "mean of max(1, (end - submit) / max(run time, 60 s))");
    emit(to, "wait_gpu_weighted_s", f->wait_gpu_weighted_s, "s", s->waits.started,
         "mean wait of jobs that started, each by the GPUs it asks for");
    emit(to, "bsld_per_gpu_mean", f->bsld_per_gpu_mean, "1", s->ended,
         "mean of max(1, (end - submit) / (max(1, GPUs) x max(run time, 10 s)))");
    emit(to, "evictions_per_1000_gpu_h", f->evictions_per_1000_gpu_h, "evictions/1000 GPU-h",
         s->evictions, "evictions of whole jobs by GPU time held, whole run");
    emit(to, "ping_pong_evictions", (double)f->ping_pong, "evictions", s->evictions,
         "of a whole job within 1 h of its last one");
    emit(to, "stall_h", f->stall_h, "h", f->cut_short,
         "jobs x time from the end of an attempt that was cut short to the next start");
    emit(to, "node_load_max_over_mean", s->spread.max_over_mean, "1", s->spread.nodes,
         "share of GPU time held of the busiest node / mean over nodes, in the window");
    emit(to, "node_load_cv", s->spread.cv, "1", s->spread.nodes,
         "standard deviation / mean of that share over nodes");
}

static void emit_ftf(const struct emitter *to, const struct orr_summary *s)
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
        emit(to, forms[i].max, ftf->max, "1", ftf->jobs, forms[i].definition);
        emit(to, forms[i].p95, ftf->p95, "1", ftf->jobs, "of the same, nearest rank");
        emit(to, forms[i].above, ftf->above, "1", ftf->jobs,
             i == ORR_FTF_QUOTA ? "share of jobs of queues with a quota for which it is above 1"
                                : "share of jobs for which it is above 1");
    }
}

/* Only where jobs have rates. */
static void emit_speeds(const struct emitter *to, const struct orr_speeds *speeds)
{
    if (speeds->jobs == 0) {
        return;
    }
    emit(to, "topology_penalty_gpu_h", speeds->penalty_gpu_h, "GPU-h", speeds->jobs,
         "GPU time held in the window x (1 - rate where the job was, with nobody beside / best "
         "rate of "
         "so many GPUs of that model)");
    if (speeds->alike > 0) {
        emit(to, "rate_spread", speeds->consistency, "1", speeds->alike,
             "95 % / 5 % quantile (nearest rank) of mean rate / best rate of jobs of one shape, of "
             "shapes that 20 jobs of the window have, mean over their jobs: 1 is consistent");
        emit(to, "rate_spread_max", speeds->consistency_max, "1", speeds->alike,
             "the same of the shape where it is the most");
    }
}

/* Only of a policy that promises the first in line not to be delayed. */
static void emit_promises(const struct emitter *to, const struct orr_promises *promises)
{
    if (promises->judged) {
        emit(to, "broken_promises", (double)promises->broken, "jobs", promises->overtakes,
             "jobs that overtook the first in line and moved the first instant at which it would "
             "fit, "
             "by estimates (rule promise of the audit), of those that overtook");
        emit(to, "promise_delay_max_s", promises->delay_max_s, "s", promises->broken,
             "the most that one of them moved it");
    }
}

static void emit_room(const struct emitter *to, const struct orr_summary *s)
{
    const struct orr_room_summary *r = &s->room;
    const struct orr_starvation *v = &s->starvation;
    emit(to, "idle_gpus_mean", r->idle_gpus_mean, "GPU", s->spread.nodes,
         "free of nodes that are up, mean over the window");
    emit(to, "unusable_gpus_mean", r->unusable_gpus_mean, "GPU", r->typical_tasks,
         "fragmentation (FGD): of what is free, what a typical task could not use, mean over the "
         "most frequent kinds of task that make 95 % of the trace's, and over the window");
    emit(to, "unusable_of_idle", r->unusable_of_idle, "1", r->typical_tasks,
         "the same / free, integral over integral");
    emit(to, "starvation_p99_s", v->p99_s, "s", v->jobs,
         "time a job waited while its queue would have been within its quota with it, of jobs that "
         "fit into the quota; nearest rank (Kaplan-Meier when some wait still)");
    emit(to, "starvation_max_s", v->max_s, "s", v->jobs,
         "most of the same, of jobs that wait still so far");
    emit(to, "starved", (double)v->starved, "jobs", v->jobs,
         "of them, those that waited so at all");
}

/* Only where jobs are elastic: `wait` tells when their gang started. */
static void emit_full(const struct emitter *to, const struct orr_waits *full)
{
    static const char quantile[] =
        "submit to the first time an elastic job has all its pods, nearest "
        "rank (Kaplan-Meier when some did not yet)";
    if (full->jobs > 0) {
        emit(to, "wait_full_mean_s", full->mean_s, "s", full->started,
             "mean from submit to the first time an elastic job has all its pods");
        emit(to, "wait_full_p50_s", full->p50_s, "s", full->jobs, quantile);
        emit(to, "wait_full_p95_s", full->p95_s, "s", full->jobs, quantile);
    }
}

const char *orr_room_level_name(const struct orr_world *world, uint32_t level)
{
    return level == 0 ? "cluster" : orr_cluster_level_name(&world->cluster, level);
}

static void emit_levels(struct emitter *to, const struct orr_world *world,
                        const struct orr_summary *s, char *label, size_t room)
{
    const struct orr_room_summary *r = &s->room;
    to->scope = "level";
    for (uint32_t e = ORR_EXTENT_GPU + 1; e < s->extents.count; e++) {
        (void)snprintf(label, room, "level=%s", orr_extent_name(&world->cluster, e));
        emit(to, "gangs_within",
             s->extents.gangs > 0 ? (double)s->extents.of_extent[e] / (double)s->extents.gangs
                                  : (double)NAN,
             "1", s->extents.gangs,
             "share of gangs (jobs of the window that held two GPUs or more) whose last attempt "
             "began "
             "inside this, and inside nothing narrower");
    }
    for (uint32_t l = 0; l < r->level_count; l++) {
        bool single = l + 1 == r->level_count;
        (void)snprintf(label, room, "level=%s", orr_room_level_name(world, l));
        emit(to, "startable_gang_mean_gpus", r->window[l].mean, "GPU", s->spread.nodes,
             single
                 ? "most whole GPUs free on one node, mean over the window"
                 : "GPUs of nodes that are up and have all GPUs free, in the domain that has "
                   "most, mean over the window: the largest gang of whole nodes that could start, "
                   "without evictions and ignoring quota");
        emit(to, "startable_gang_least_gpus",
             isnan(r->window[l].mean) ? (double)NAN : r->window[l].least, "GPU", s->spread.nodes,
             "the least of it in the window");
    }
}

/* Only of traces that name users, or groups of jobs. */
static void emit_owners(const struct emitter *to, const struct orr_owners *o)
{
    static const char quantile[] =
        "first submit to the end of the last job of a group, nearest rank "
        "(Kaplan-Meier when some did not end)";
    const struct orr_waits *b = &o->batches;
    if (o->user_names > 0) {
        emit(
            to, "user_fairness_jain", o->user_jain, "1", o->users,
            "Jain's index over users of GPU time held / (held + asked for by jobs that waited), in "
            "the window");
    }
    if (o->batch_names > 0) {
        emit(to, "batch_mean_s", b->mean_s, "s", b->started,
             "mean from the first submit to the end of the last job of a group, of groups that "
             "ended; first submit in the window");
        emit(to, "batch_p50_s", b->p50_s, "s", b->jobs, quantile);
        emit(to, "batch_p95_s", b->p95_s, "s", b->jobs, quantile);
        emit(to, "batch_max_s", b->max_s, "s", b->started, "of groups that ended, the longest");
        emit(to, "batches_open", (double)(b->jobs - b->started + b->never), "groups",
             b->jobs + b->never, "of which some job did not end");
    }
}

static void emit_queue(const struct emitter *to, const struct orr_summary *s,
                       const struct orr_queue_summary *q)
{
    const struct orr_own_shares *own = &s->own_shares;
    const uint64_t jobs = q->waits.jobs + q->waits.never;
    emit(to, "jobs", (double)jobs, "jobs", jobs, "submitted in the window");
    emit_waits(to, &q->waits);
    emit(to, "gpu_h", q->gpu_h, "GPU-h", 1, "held in the window by the whole queue");
    emit(to, "share_mean", q->share_mean, "GPU", 1,
         "mean entitled share of the whole queue in the window, by the oracle");
    if (own->known != NULL && own->known[q->queue]) {
        emit(to, "policy_share_mean", own->mean_gpus[q->queue], "GPU", 1,
             "mean in the window of the fair share of the whole queue that the policy itself goes "
             "by");
    }
    if (q->kind != ORR_KIND_INFERENCE) {
        emit_jct(to, &q->jct);
    }
    emit_debt(to, &q->debt, 1);
    emit(to, "evictions", (double)q->evictions, "evictions", jobs,
         "attempts of whole jobs ended early, by whatever cause (table eviction)");
    emit(to, "lost_gpu_h", q->lost_gpu_h, "GPU-h", q->evictions,
         "held for work that was lost, or in a grace");
}

static void emit_shard(const struct emitter *to, const struct orr_summary *all, uint32_t shard)
{
    const struct orr_shard_summary *s = &all->shards[shard];
    emit(to, "jobs", (double)s->jobs, "jobs", s->jobs, "taken from the traces");
    emit(to, "finished", (double)s->finished, "jobs", s->jobs, "ended before the run did");
    emit_waits(to, &s->waits);
    emit(to, "gpu_occupancy", s->gpu_occupancy, "1", 1,
         "allocated GPU time / available GPU time of the shard, in the window");
    emit(to, "gpu_goodput", s->gpu_goodput, "1", 1,
         "useful GPU time at the best rate / available GPU time of the shard, in the window");
    emit(to, "fairness_jain", s->fairness_jain, "1", s->wanting_queues,
         "Jain's index over the shard's queues with demand");
    emit(
        to, "share_deviation", s->share_deviation, "1", 1,
        "integral over the shard's queues of |allocated - entitled| / (2 x its capacity x window)");
    if (all->own_shares.of_shard != NULL) {
        emit_own_deviation(to, &all->own_shares.of_shard[shard]);
    }
    emit_debt(to, &s->debt, s->leaf_queues);
    emit(to, "evictions", (double)s->evictions, "evictions", s->jobs,
         "attempts of whole jobs ended early, by whatever cause (table eviction)");
    emit(to, "lost_gpu_h", s->lost_gpu_h, "GPU-h", s->evictions,
         "held by attempts that were evicted");
}

static void emit_part(const struct emitter *to, const struct orr_attainment *a, bool service)
{
    const struct orr_service_load *load = &a->load;
    if (a->submitted > 0) {
        emit(
            to, "gave_up", (double)a->gave_up, "jobs", a->submitted,
            "submitted in the window with a limit to their patience, and left before they started");
        emit(to, "gave_up_share", (double)a->gave_up / (double)a->submitted, "1", a->submitted,
             "share of these jobs that left");
    }
    if (!service) {
        if (a->jobs > 0) {
            emit(to, "attainment", a->attained, "1", a->jobs,
                 "share of jobs submitted in the window that started within the objective");
        }
        return;
    }
    uint64_t n = (uint64_t)(load->offered + 0.5);
    emit(to, "attainment", a->attained, "1", n,
         "share of requests from the window on that were served within the objective");
    emit(to, "requests", load->offered, "requests", n, "offered from the window on");
    emit(to, "requests_late", load->late, "requests", n, "served, but not within the objective");
    emit(to, "requests_dropped", load->dropped, "requests", n,
         "not served: they would have waited longer than their patience");
}

static bool has_deadlines(const struct orr_deadlines *d)
{
    return d->met + d->missed + d->open > 0;
}

/* Only where some job has a deadline. */
static void emit_deadlines(const struct emitter *to, const struct orr_deadlines *d)
{
    const struct orr_waits *late = &d->lateness;
    const uint64_t decided = d->met + d->missed, jobs = decided + d->open;
    if (!has_deadlines(d)) {
        return;
    }
    emit(to, "deadline_met", d->met_share, "1", decided,
         "share of jobs of the window with a deadline that ended by it, of those decided");
    emit(to, "deadlines_missed", (double)d->missed, "jobs", jobs,
         "ended after their deadline, had not ended when it was over, or left");
    emit(to, "deadlines_open", (double)d->open, "jobs", jobs,
         "had not ended when the run did, with time left");
    emit(to, "lateness_mean_s", late->mean_s, "s", late->started,
         "mean of end minus deadline (below 0: early) of those that ended");
    emit(to, "lateness_p50_s", late->p50_s, "s", late->jobs,
         "end minus deadline, nearest rank (Kaplan-Meier when some had not ended)");
    emit(to, "lateness_p95_s", late->p95_s, "s", late->jobs,
         "end minus deadline, nearest rank (Kaplan-Meier when some had not ended)");
    emit(to, "lateness_max_s", late->max_s, "s", late->started, "of those that ended, the latest");
    emit(to, "tardiness_mean_s", d->tardiness_mean_s, "s", late->started,
         "mean of max(0, end - deadline) of those that ended");
}

static void emit_costs(const struct emitter *to, const struct orr_summary *s)
{
    uint64_t nodes = 0;
    for (uint32_t p = 0; p < s->pool_count; p++) {
        nodes += s->pools[p].nodes;
    }
    if (s->priced) {
        emit(to, "cost", s->cost, "price", nodes,
             "node-hours that were part of the cluster x price of a node-hour, in the window");
        emit(to, "run_cost", s->run_cost, "price", nodes, "the same, of the run");
        emit(to, "cost_per_useful_gpu_h", s->cost_per_useful_gpu_h, "price/GPU-h", nodes,
             "cost / useful GPU-hours, in the window");
    }
}

static void emit_energy(const struct emitter *to, const struct orr_summary *s)
{
    uint64_t nodes = 0;
    for (uint32_t p = 0; p < s->pool_count; p++) {
        nodes += s->pools[p].powered ? s->pools[p].nodes : 0;
    }
    emit(to, "energy_kwh", s->energy_kwh, "kWh", nodes,
         "integral over nodes that are up of idle_power + (full_power - idle_power) x part of the "
         "node's GPUs that is held, in the window");
    emit(to, "run_energy_kwh", s->run_energy_kwh, "kWh", nodes, "the same, of the run");
    emit(to, "energy_kwh_per_useful_gpu_h", s->energy_kwh_per_useful_gpu_h, "kWh/GPU-h", nodes,
         "energy_kwh / useful GPU-hours, in the window; NULL when a pool states no power");
}

static void emit_pool(const struct emitter *to, const struct orr_summary *s,
                      const struct orr_pool_summary *pool)
{
    if (s->resized || s->priced) {
        emit(to, "node_h", pool->node_h, "node-h", pool->nodes,
             "time of nodes that were part of the cluster, up or down, in the window");
    }
    if (s->priced) {
        emit(to, "cost", pool->cost, "price", pool->nodes,
             "node_h x price of a node-hour, in the window");
        emit(to, "run_cost", pool->run_cost, "price", pool->nodes, "the same, of the run");
    }
    if (pool->powered) {
        emit(to, "energy_kwh", pool->energy_kwh, "kWh", pool->nodes,
             "of the nodes of the pool, in the window");
        emit(to, "run_energy_kwh", pool->run_energy_kwh, "kWh", pool->nodes,
             "the same, of the run");
    }
    if (s->resized) {
        emit(to, "nodes_joined", (double)pool->joined, "nodes", pool->nodes,
             "times a node joined the cluster, of the run");
        emit(to, "nodes_left", (double)pool->left, "nodes", pool->nodes,
             "times a node left the cluster, of the run");
    }
}

/* Only of runs in which scheduling takes time. */
static void emit_scheduler(const struct emitter *to, const struct orr_summary *s)
{
    const struct orr_scheduler_time *time = &s->scheduler;
    uint64_t n = s->cycles;
    emit(to, "scheduler_busy", s->scheduler_busy, "1", n,
         "time the scheduler's cycles took / time from the first submit to the end of the run");
    emit(to, "scheduler_busy_s", (double)time->busy_ms / 1000.0, "s", n,
         "time the scheduler's cycles took");
    emit(to, "cycle_max_s", (double)time->cycle_max_ms / 1000.0, "s", n, "longest cycle");
    emit(to, "cycles_behind", (double)time->behind, "cycles", n,
         "began after they were due, because the one before was not over");
    emit(to, "cycle_delay_max_s", (double)time->behind_max_ms / 1000.0, "s", n,
         "longest time from when a cycle was due to its begin");
    emit(to, "decision_delay_max_s", (double)time->effect_max_ms / 1000.0, "s", n,
         "longest time from the begin of a cycle to the effect of one of its decisions");
}

void orr_summary_metrics(const struct orr_world *world, const struct orr_summary *summary,
                         orr_metric_fn *to_emit, void *context)
{
    struct emitter to = {.emit = to_emit,
                         .context = context,
                         .scope = "all",
                         .label = "",
                         .impatient = summary->impatient,
                         .has_nevers = summary->has_nevers};
    char label[300];
    emit_all(&to, summary);
    emit_finish(&to, summary);
    emit_ftf(&to, summary);
    emit_ties(&to, summary);
    emit_scenarios(&to, summary);
    emit_room(&to, summary);
    emit_speeds(&to, &summary->speeds);
    emit_promises(&to, &summary->promises);
    emit_full(&to, &summary->full);
    emit_owners(&to, &summary->owners);
    emit_deadlines(&to, &summary->deadlines);
    if (summary->latent) {
        emit_scheduler(&to, summary);
    }
    emit_costs(&to, summary);
    if (summary->powered) {
        emit_energy(&to, summary);
    }
    to.label = label;
    to.scope = "pool";
    for (uint32_t p = 0; p < summary->pool_count; p++) {
        (void)snprintf(label, sizeof label, "pool=%s", world->pools[p].name);
        emit_pool(&to, summary, &summary->pools[p]);
    }
    to.scope = "queue";
    for (uint32_t i = 0; i < summary->queue_count; i++) {
        const struct orr_queue_summary *q = &summary->queues[i];
        (void)snprintf(label, sizeof label, "queue=%s,kind=%s",
                       orr_idmap_name(&world->queues.names, q->queue),
                       orr_kind_name((enum orr_kind)q->kind));
        emit_queue(&to, summary, q);
    }
    to.scope = "rule";
    for (uint32_t r = 0; r < ORR_RULE_COUNT; r++) {
        if (summary->ruled[r] > 0) {
            (void)snprintf(label, sizeof label, "rule=%s", orr_rule_code((enum orr_rule)r));
            emit(&to, "ruled_jobs", (double)summary->ruled[r], "jobs", summary->jobs,
                 orr_rule_words((enum orr_rule)r));
        }
    }
    to.scope = "shard";
    for (uint32_t s = 0; s < summary->shard_count && summary->shard_count > 1; s++) {
        (void)snprintf(label, sizeof label, "shard=%s", orr_idmap_name(&world->cluster.shards, s));
        emit_shard(&to, summary, s);
    }
    to.scope = "cause";
    for (uint32_t c = 0; c < ORR_CAUSE_COUNT; c++) {
        if (summary->lost_by_gpu_h[c] > 0.0) {
            (void)snprintf(label, sizeof label, "cause=%s", orr_cause_words((enum orr_cause)c));
            emit(&to, "lost_gpu_h", summary->lost_by_gpu_h[c], "GPU-h", summary->evictions,
                 "held for work that was lost because of it");
        }
    }
    to.scope = "kind";
    for (uint32_t k = 0; k < ORR_KIND_COUNT; k++) {
        if (summary->kinds[k].jobs + summary->kinds[k].never > 0) {
            (void)snprintf(label, sizeof label, "kind=%s", orr_kind_name((enum orr_kind)k));
            emit_waits(&to, &summary->kinds[k]);
            if (k != ORR_KIND_INFERENCE) {
                emit_jct(&to, &summary->kind_jcts[k]);
            }
        }
    }
    to.scope = "workload";
    for (uint32_t p = 0; p < summary->part_count; p++) {
        if (world->parts[p].service != NULL || summary->parts[p].jobs > 0 ||
            summary->parts[p].submitted > 0 || has_deadlines(&summary->parts[p].deadlines)) {
            (void)snprintf(label, sizeof label, "workload=%s", world->parts[p].part->name);
            emit_part(&to, &summary->parts[p], world->parts[p].service != NULL);
            emit_deadlines(&to, &summary->parts[p].deadlines);
        }
    }
    emit_levels(&to, world, summary, label, sizeof label);
    to.scope = "size";
    for (uint32_t s = 0; s < ORR_SIZE_CLASSES; s++) {
        if (summary->sizes[s].jobs + summary->sizes[s].never > 0) {
            (void)snprintf(label, sizeof label, "gpus=%s", orr_size_class_name(s));
            emit_waits(&to, &summary->sizes[s]);
        }
    }
}
