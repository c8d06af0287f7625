/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metric_rows.c - the summary as rows: name, scope, label, value, unit, n, definition. */
#include "metric_int.h"

#include <math.h>

static void emit_waits(const struct orr_emitter *to, const struct orr_waits *waits)
{
    uint64_t n = waits->jobs;
    orr_metric__emit(to, "wait_mean_s", waits->mean_s, "s", waits->started,
                     "mean of first start minus submit over jobs that started");
    orr_metric__quantiles(
        to, "wait_p50_s", "wait_p95_s", "wait_p99_s", waits,
        "first start minus submit, nearest rank (Kaplan-Meier when some never started)");
    orr_metric__emit(to, "wait_max_s", waits->max_s, "s", waits->started,
                     "longest wait of a job that started");
    orr_metric__emit(to, "unstarted", (double)(waits->jobs - waits->started), "jobs", n,
                     "submitted in the window and never started, though they could have");
    if (to->has_nevers) {
        orr_metric__emit(
            to, "never_startable", (double)waits->never, "jobs", n + waits->never,
            "submitted in the window and never could have started, were the cluster empty (table "
            "never): beside those that waits are of, and in no quantile");
    }
    if (to->impatient) {
        orr_metric__emit(to, "gave_up", (double)waits->gave_up, "jobs", n,
                         "submitted in the window, and left before they started");
    }
}

/* Of one queue, of those of a shard, or of all. */
static void emit_debt(const struct orr_emitter *to, const struct orr_debt *debt, uint64_t n)
{
    orr_metric__emit(
        to, "quota_debt_gpu_h", debt->total, "GPU-h", n,
        "integral of max(0, min(demand, quota) - allocated) over whole queues, in the window");
    orr_metric__emit(
        to, "quota_debt_impossible_gpu_h", debt->impossible, "GPU-h", n,
        "part of it: more than the queue could hold on the empty cluster, by its limits and the "
        "sizes of its pods");
    orr_metric__emit(to, "quota_debt_down_gpu_h", debt->down, "GPU-h", n,
                     "part of the rest: while nodes of its shard were down");
    orr_metric__emit(to, "quota_debt_blocked_gpu_h", debt->blocked, "GPU-h", n,
                     "the rest: while others, or their placement, were in the way");
}

/* Only where the policy has fair shares of its own. */
static void emit_own_deviations(const struct orr_emitter *to,
                                const struct orr_own_deviation own[ORR_SHARE_KINDS])
{
    static const struct {
        enum orr_share_kind kind;
        const char *name, *definition;
    } rows[] = {
        {ORR_SHARE_GPU, "policy_share_deviation",
         "integral of sum over queues of |allocated - the fair share the policy itself goes by, "
         "as of its last cycle| / (2 x capacity x window)"},
        {ORR_SHARE_CPU, "policy_cpu_share_deviation",
         "as policy_share_deviation, of CPU: against the policy's own fair shares of it"},
        {ORR_SHARE_MEMORY, "policy_mem_share_deviation",
         "as policy_share_deviation, of memory: against the policy's own fair shares of it"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct orr_own_deviation *of = &own[rows[i].kind];
        if (of->queues > 0) {
            orr_metric__emit(to, rows[i].name, of->deviation, "1", of->queues, rows[i].definition);
        }
    }
}

/* Only where queues have quotas or limits of it. */
static void emit_other_deviations(const struct orr_emitter *to, const struct orr_summary *all,
                                  const double deviation[ORR_SHARE_GPU])
{
    static const char definition[] = "as share_deviation, of the resource: integral of sum over "
                                     "queues of |allocated - entitled| "
                                     "/ (2 x capacity x window)";
    static const char *const names[] = {
        [ORR_SHARE_CPU] = "cpu_share_deviation", [ORR_SHARE_MEMORY] = "mem_share_deviation"};
    for (unsigned kind = 0; kind < ORR_SHARE_GPU; kind++) {
        if (all->divides[kind]) {
            orr_metric__emit(to, names[kind], deviation[kind], "1", 1, definition);
        }
    }
}

static void emit_all(const struct orr_emitter *to, const struct orr_summary *s)
{
    orr_metric__emit(to, "jobs", (double)s->jobs, "jobs", s->jobs, "taken from the traces");
    orr_metric__emit(to, "finished", (double)s->finished, "jobs", s->jobs,
                     "ended before the run did");
    orr_metric__emit(to, "unfinished", (double)s->unfinished, "jobs", s->jobs,
                     "jobs minus finished");
    orr_metric__emit(to, "makespan_s", s->makespan_s, "s", s->finished,
                     "time at which the last finished job ended, on the trace's clock");
    emit_waits(to, &s->waits);
    orr_metric__emit(to, "bsld_mean", s->bsld_mean, "1", s->ended,
                     "mean of max(1, (end - submit) / max(run time, 10 s))");
    if (s->resized) {
        orr_metric__emit(
            to, "capacity_gpu_h", s->capacity_gpu_h, "GPU-h", 1,
            "GPU time of nodes that were part of the cluster, up or down, in the window");
    }
    orr_metric__emit(to, "gpu_available", s->gpu_available, "1", 1,
                     "GPU time of nodes that were not down / GPU time, in the window");
    orr_metric__emit(to, "gpu_occupancy", s->gpu_occupancy, "1", 1,
                     "allocated GPU time / available GPU time, in the window");
    orr_metric__emit(
        to, "gpu_goodput", s->gpu_goodput, "1", 1,
        "useful GPU time at the best rate / available GPU time, in the window: training less what "
        "a slower rate took away, sessions times busy, services' requests times their service "
        "time");
    if (s->room.sharing) {
        orr_metric__emit(
            to, "gpu_touched", s->gpu_touched, "1", 1,
            "time of GPUs that held something, however little / available GPU time, in the window");
    }
    if (!isnan(s->cpu_occupancy)) {
        orr_metric__emit(
            to, "cpu_occupancy", s->cpu_occupancy, "1", 1,
            "allocated CPU time / CPU time of nodes that were up, of nodes with a limit to it, in "
            "the window");
    }
    if (!isnan(s->mem_occupancy)) {
        orr_metric__emit(
            to, "mem_occupancy", s->mem_occupancy, "1", 1,
            "allocated memory x time / memory x time of nodes that were up, of nodes with a limit "
            "to it, in the window");
    }
    orr_metric__emit(
        to, "fairness_jain", s->fairness_jain, "1", s->wanting_queues,
        "Jain's index of allocated / entitled GPU time over queues with demand (equality)");
    orr_metric__emit(to, "fairness_satisfaction", s->fairness_satisfaction, "1", s->wanting_queues,
                     "the same with the ratio capped at 1");
    orr_metric__emit(
        to, "share_deviation", s->share_deviation, "1", 1,
        "integral of sum over queues of |allocated - entitled| / (2 x capacity x window)");
    emit_other_deviations(to, s, s->other_deviation);
    emit_own_deviations(to, s->own_shares.all);
    emit_debt(to, &s->debt, s->leaf_queues);
    orr_metric__emit(to, "evictions", (double)s->evictions, "evictions", s->jobs,
                     "attempts of whole jobs ended early, by whatever cause (table eviction)");
    orr_metric__emit(to, "partial_evictions", (double)s->partial_evictions, "evictions", s->jobs,
                     "evictions of some pods of a job that went on");
    orr_metric__emit(to, "wasted_evictions", (double)s->wasted_evictions, "evictions", s->evictions,
                     "made for a job whose next pods took none of the room; not of those for which "
                     "the run was cut before a cycle that found the room free");
    orr_metric__emit(to, "lost_gpu_h", s->lost_gpu_h, "GPU-h", s->evictions,
                     "held for work that was lost, or in a grace; by cause: scope cause");
    orr_metric__emit(to, "checkpoint_gpu_h", s->checkpoint_gpu_h, "GPU-h", s->jobs,
                     "held while checkpoints were written");
    orr_metric__emit(to, "restart_gpu_h", s->restart_gpu_h, "GPU-h", s->evictions,
                     "held while jobs started again");
    if (s->has_rates) {
        orr_metric__emit(
            to, "slow_gpu_h", s->slow_gpu_h, "GPU-h", s->jobs,
            "useful GPU time that rates below the best took away: spread, links, neighbours");
    }
    if (s->may_idle) {
        orr_metric__emit(
            to, "idle_gpu_h", s->idle_gpu_h, "GPU-h", s->jobs,
            "useful GPU time that sessions and services' replicas held without using it");
    }
    orr_metric__emit(
        to, "gang_wait_gpu_h", s->gang_wait_gpu_h, "GPU-h", s->jobs,
        "held by pods of gangs that were not complete yet, of jobs that were not bound yet, or "
        "until their round ended");
}

const char *orr_room_level_name(const struct orr_world *world, uint32_t level)
{
    return level == 0 ? "cluster" : orr_cluster_level_name(&world->cluster, level);
}

static void emit_levels(struct orr_emitter *to, const struct orr_world *world,
                        const struct orr_summary *s, char *label, size_t room)
{
    const struct orr_room_summary *r = &s->room;
    to->scope = "level";
    for (uint32_t e = ORR_EXTENT_GPU + 1; e < s->extents.count; e++) {
        (void)snprintf(label, room, "level=%s", orr_extent_name(&world->cluster, e));
        orr_metric__emit(
            to, "gangs_within",
            s->extents.gangs > 0 ? (double)s->extents.of_extent[e] / (double)s->extents.gangs
                                 : (double)NAN,
            "1", s->extents.gangs,
            "share of gangs (jobs of the window that held two GPUs or more) whose last attempt "
            "began inside this, and inside nothing narrower");
    }
    for (uint32_t l = 0; l < r->level_count; l++) {
        bool single = l + 1 == r->level_count;
        (void)snprintf(label, room, "level=%s", orr_room_level_name(world, l));
        orr_metric__emit(
            to, "startable_gang_mean_gpus", r->window[l].mean, "GPU", s->spread.nodes,
            single
                ? "most whole GPUs free on one node, mean over the window"
                : "GPUs of nodes that are up and have all GPUs free, in the domain that has "
                  "most, mean over the window: the largest gang of whole nodes that could start, "
                  "without evictions and ignoring quota");
        orr_metric__emit(to, "startable_gang_least_gpus",
                         isnan(r->window[l].mean) ? (double)NAN : r->window[l].least, "GPU",
                         s->spread.nodes, "the least of it in the window");
    }
}

static void emit_queue(const struct orr_emitter *to, const struct orr_summary *s,
                       const struct orr_queue_summary *q)
{
    const struct orr_own_shares *own = &s->own_shares;
    const uint64_t jobs = q->waits.jobs + q->waits.never;
    orr_metric__emit(to, "jobs", (double)jobs, "jobs", jobs, "submitted in the window");
    emit_waits(to, &q->waits);
    orr_metric__emit(to, "gpu_h", q->gpu_h, "GPU-h", 1,
                     "held in the window by the queue's jobs of this kind");
    orr_metric__emit(to, "share_mean", q->share_mean, "GPU", 1,
                     "mean entitled share of the whole queue in the window, by the oracle");
    if (own->known != NULL && own->known[q->queue]) {
        orr_metric__emit(
            to, "policy_share_mean", own->mean_gpus[q->queue], "GPU", 1,
            "mean in the window of the fair share of the whole queue that the policy itself goes "
            "by");
    }
    if (q->kind != ORR_KIND_INFERENCE) {
        orr_metric__jct(to, &q->jct);
    }
    emit_debt(to, &q->debt, 1);
    orr_metric__emit(to, "evictions", (double)q->evictions, "evictions", jobs,
                     "attempts of whole jobs ended early, by whatever cause (table eviction)");
    orr_metric__emit(to, "lost_gpu_h", q->lost_gpu_h, "GPU-h", q->evictions,
                     "held for work that was lost, or in a grace");
    orr_metric__stalls(to, &q->stalls);
}

static void emit_shard(const struct orr_emitter *to, const struct orr_summary *all, uint32_t shard)
{
    const struct orr_shard_summary *s = &all->shards[shard];
    orr_metric__emit(to, "jobs", (double)s->jobs, "jobs", s->jobs, "taken from the traces");
    orr_metric__emit(to, "finished", (double)s->finished, "jobs", s->jobs,
                     "ended before the run did");
    emit_waits(to, &s->waits);
    orr_metric__emit(to, "gpu_occupancy", s->gpu_occupancy, "1", 1,
                     "allocated GPU time / available GPU time of the shard, in the window");
    orr_metric__emit(
        to, "gpu_goodput", s->gpu_goodput, "1", 1,
        "useful GPU time at the best rate / available GPU time of the shard, in the window");
    orr_metric__emit(to, "fairness_jain", s->fairness_jain, "1", s->wanting_queues,
                     "Jain's index over the shard's queues with demand");
    orr_metric__emit(
        to, "share_deviation", s->share_deviation, "1", 1,
        "integral over the shard's queues of |allocated - entitled| / (2 x its capacity x window)");
    emit_other_deviations(to, all, s->other_deviation);
    if (all->own_shares.of_shard != NULL) {
        emit_own_deviations(to, all->own_shares.of_shard[shard]);
    }
    emit_debt(to, &s->debt, s->leaf_queues);
    orr_metric__emit(to, "evictions", (double)s->evictions, "evictions", s->jobs,
                     "attempts of whole jobs ended early, by whatever cause (table eviction)");
    orr_metric__emit(to, "lost_gpu_h", s->lost_gpu_h, "GPU-h", s->evictions,
                     "held by attempts that were evicted");
}

const char *orr_phase_name(enum orr_phase phase)
{
    static const char *const names[ORR_PHASE_COUNT] = {"warm-up", "drain"};
    return names[phase];
}

/* Only where the run has one. */
static void emit_phase(const struct orr_emitter *to, const struct orr_summary *s,
                       const struct orr_phase_summary *phase)
{
    const orr_ms length = phase->stretch.to_ms - phase->stretch.from_ms;
    orr_metric__emit(to, "phase_h", (double)length / 3.6e6, "h", 1,
                     "from the first submit to the window, or from the window to the last event");
    orr_metric__emit(to, "phase_gpu_h", phase->gpu_h, "GPU-h", 1, "held in it");
    orr_metric__emit(to, "phase_gpu_available", phase->gpu_available, "1", 1,
                     "GPU time of nodes that were not down / GPU time, in it");
    orr_metric__emit(to, "phase_gpu_occupancy", phase->gpu_occupancy, "1", 1,
                     "allocated GPU time / available GPU time, in it");
    orr_metric__emit(to, "phase_gpu_goodput", phase->gpu_goodput, "1", 1,
                     "useful GPU time at the best rate / available GPU time, in it");
    orr_metric__emit(to, "phase_finished", (double)phase->finished, "jobs", s->finished,
                     "jobs that ended in it, of those that ended");
}

static void emit_part(const struct orr_emitter *to, const struct orr_attainment *a, bool service)
{
    const struct orr_service_load *load = &a->load;
    if (a->submitted > 0) {
        orr_metric__emit(
            to, "gave_up", (double)a->gave_up, "jobs", a->submitted,
            "submitted in the window with a limit to their patience, and left before they started");
        orr_metric__emit(to, "gave_up_share", (double)a->gave_up / (double)a->submitted, "1",
                         a->submitted, "share of these jobs that left");
    }
    if (!service) {
        if (a->jobs > 0) {
            orr_metric__emit(
                to, "attainment", a->attained, "1", a->jobs,
                "share of jobs submitted in the window that started within the objective");
        }
        return;
    }
    uint64_t n = (uint64_t)(load->offered + 0.5);
    orr_metric__emit(to, "attainment", a->attained, "1", n,
                     "share of requests from the window on that were served within the objective");
    orr_metric__emit(to, "requests", load->offered, "requests", n, "offered from the window on");
    orr_metric__emit(to, "requests_late", load->late, "requests", n,
                     "served, but not within the objective");
    orr_metric__emit(to, "requests_dropped", load->dropped, "requests", n,
                     "not served: they would have waited longer than their patience");
}

static void emit_costs(const struct orr_emitter *to, const struct orr_summary *s)
{
    uint64_t nodes = 0;
    for (uint32_t p = 0; p < s->pool_count; p++) {
        nodes += s->pools[p].nodes;
    }
    if (s->priced) {
        orr_metric__emit(
            to, "cost", s->cost, "price", nodes,
            "node-hours that were part of the cluster x price of a node-hour, in the window");
        orr_metric__emit(to, "run_cost", s->run_cost, "price", nodes, "the same, of the run");
        orr_metric__emit(to, "cost_per_useful_gpu_h", s->cost_per_useful_gpu_h, "price/GPU-h",
                         nodes, "cost / useful GPU-hours, in the window");
    }
}

static void emit_energy(const struct orr_emitter *to, const struct orr_summary *s)
{
    uint64_t nodes = 0;
    for (uint32_t p = 0; p < s->pool_count; p++) {
        nodes += s->pools[p].powered ? s->pools[p].nodes : 0;
    }
    orr_metric__emit(
        to, "energy_kwh", s->energy_kwh, "kWh", nodes,
        "integral over nodes that are up of idle_power + (full_power - idle_power) x part of the "
        "node's GPUs that is held, in the window");
    orr_metric__emit(to, "run_energy_kwh", s->run_energy_kwh, "kWh", nodes, "the same, of the run");
    orr_metric__emit(
        to, "energy_kwh_per_useful_gpu_h", s->energy_kwh_per_useful_gpu_h, "kWh/GPU-h", nodes,
        "energy_kwh / useful GPU-hours, in the window; NULL when a pool states no power");
}

static void emit_pool(const struct orr_emitter *to, const struct orr_summary *s,
                      const struct orr_pool_summary *pool)
{
    if (s->resized || s->priced) {
        orr_metric__emit(to, "node_h", pool->node_h, "node-h", pool->nodes,
                         "time of nodes that were part of the cluster, up or down, in the window");
    }
    if (s->priced) {
        orr_metric__emit(to, "cost", pool->cost, "price", pool->nodes,
                         "node_h x price of a node-hour, in the window");
        orr_metric__emit(to, "run_cost", pool->run_cost, "price", pool->nodes,
                         "the same, of the run");
    }
    if (pool->powered) {
        orr_metric__emit(to, "energy_kwh", pool->energy_kwh, "kWh", pool->nodes,
                         "of the nodes of the pool, in the window");
        orr_metric__emit(to, "run_energy_kwh", pool->run_energy_kwh, "kWh", pool->nodes,
                         "the same, of the run");
    }
    if (s->resized) {
        orr_metric__emit(to, "nodes_joined", (double)pool->joined, "nodes", pool->nodes,
                         "times a node joined the cluster, of the run");
        orr_metric__emit(to, "nodes_left", (double)pool->left, "nodes", pool->nodes,
                         "times a node left the cluster, of the run");
    }
}

/* Short sessions are held against a minute, too. */
static void emit_kind_slowdown(const struct orr_emitter *to, const struct orr_summary *s,
                               uint32_t kind)
{
    const uint64_t ended = s->kind_jcts[kind].started;
    orr_metric__emit(to, "bsld_mean", s->kind_bsld[kind], "1", ended,
                     "mean of max(1, (end - submit) / max(run time, 10 s))");
    orr_metric__emit(to, "bsld60_mean", s->kind_bsld60[kind], "1", ended,
                     "mean of max(1, (end - submit) / max(run time, 60 s))");
}

void orr_summary_metrics(const struct orr_world *world, const struct orr_summary *summary,
                         orr_metric_fn *to_emit, void *context)
{
    struct orr_emitter to = {.emit = to_emit,
                             .context = context,
                             .scope = "all",
                             .label = "",
                             .impatient = summary->impatient,
                             .has_nevers = summary->has_nevers};
    char label[300];
    emit_all(&to, summary);
    orr_metric__more(&to, summary);
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
            orr_metric__emit(&to, "ruled_jobs", (double)summary->ruled[r], "jobs", summary->jobs,
                             orr_rule_words((enum orr_rule)r));
        }
    }
    to.scope = "shard";
    for (uint32_t s = 0; s < summary->shard_count && summary->shard_count > 1; s++) {
        (void)snprintf(label, sizeof label, "shard=%s", orr_idmap_name(&world->cluster.shards, s));
        emit_shard(&to, summary, s);
    }
    to.scope = "phase";
    for (int p = 0; p < ORR_PHASE_COUNT; p++) {
        const struct orr_phase_summary *phase = &summary->phases[p];
        if (phase->stretch.to_ms > phase->stretch.from_ms) {
            (void)snprintf(label, sizeof label, "phase=%s", orr_phase_name((enum orr_phase)p));
            emit_phase(&to, summary, phase);
        }
    }
    to.scope = "cause";
    for (uint32_t c = 0; c < ORR_CAUSE_COUNT; c++) {
        if (summary->lost_by_gpu_h[c] > 0.0) {
            (void)snprintf(label, sizeof label, "cause=%s", orr_cause_words((enum orr_cause)c));
            orr_metric__emit(&to, "lost_gpu_h", summary->lost_by_gpu_h[c], "GPU-h",
                             summary->evictions, "held for work that was lost because of it");
        }
    }
    to.scope = "kind";
    for (uint32_t k = 0; k < ORR_KIND_COUNT; k++) {
        if (summary->kinds[k].jobs + summary->kinds[k].never > 0) {
            (void)snprintf(label, sizeof label, "kind=%s", orr_kind_name((enum orr_kind)k));
            emit_waits(&to, &summary->kinds[k]);
            orr_metric__stalls(&to, &summary->kind_stalls[k]);
            if (k != ORR_KIND_INFERENCE) {
                orr_metric__jct(&to, &summary->kind_jcts[k]);
                emit_kind_slowdown(&to, summary, k);
            }
        }
    }
    to.scope = "workload";
    for (uint32_t p = 0; p < summary->part_count; p++) {
        if (world->parts[p].service != NULL || summary->parts[p].jobs > 0 ||
            summary->parts[p].submitted > 0 ||
            orr_metric__has_deadlines(&summary->parts[p].deadlines)) {
            (void)snprintf(label, sizeof label, "workload=%s", world->parts[p].part->name);
            emit_part(&to, &summary->parts[p], world->parts[p].service != NULL);
            orr_metric__deadlines(&to, &summary->parts[p].deadlines);
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
