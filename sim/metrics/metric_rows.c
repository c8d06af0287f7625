/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metric_rows.c - the summary as rows: name, scope, label, value, n. */
#include "metric_int.h"

#include <math.h>

static void emit_waits(const struct orr_emitter *to, const struct orr_waits *waits)
{
    uint64_t n = waits->jobs;
    orr_metric__of_started(to, "wait_mean_s", waits->mean_s, waits);
    orr_metric__quantile(to, "wait_p50_s", waits->p50_s, waits);
    orr_metric__quantile(to, "wait_p95_s", waits->p95_s, waits);
    orr_metric__quantile(to, "wait_p99_s", waits->p99_s, waits);
    orr_metric__of_started(to, "wait_max_s", waits->max_s, waits);
    orr_metric__emit(to, "unstarted", (double)(waits->jobs - waits->started), n);
    if (to->has_nevers) {
        orr_metric__emit(to, "never_startable", (double)waits->never, n + waits->never);
    }
    if (to->impatient) {
        orr_metric__emit(to, "gave_up", (double)waits->gave_up, n);
    }
}

/* Of one queue, of those of a shard, or of all. */
static void emit_debt(const struct orr_emitter *to, const struct orr_debt *debt, uint64_t n)
{
    orr_metric__emit(to, "quota_debt_gpu_h", debt->total, n);
    orr_metric__emit(to, "quota_debt_impossible_gpu_h", debt->impossible, n);
    orr_metric__emit(to, "quota_debt_down_gpu_h", debt->down, n);
    orr_metric__emit(to, "quota_debt_blocked_gpu_h", debt->blocked, n);
}

/* Only where the policy has fair shares of its own. */
static void emit_own_deviations(const struct orr_emitter *to,
                                const struct orr_own_deviation own[ORR_SHARE_KINDS])
{
    static const struct {
        enum orr_share_kind kind;
        const char *name;
    } rows[] = {{ORR_SHARE_GPU, "policy_share_deviation"},
                {ORR_SHARE_CPU, "policy_cpu_share_deviation"},
                {ORR_SHARE_MEMORY, "policy_mem_share_deviation"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct orr_own_deviation *of = &own[rows[i].kind];
        if (of->queues > 0) {
            orr_metric__emit(to, rows[i].name, of->deviation, of->queues);
        }
    }
}

/* Only where queues have quotas or limits of it. */
static void emit_other_deviations(const struct orr_emitter *to, const struct orr_summary *all,
                                  const double deviation[ORR_SHARE_GPU])
{
    static const char *const names[] = {
        [ORR_SHARE_CPU] = "cpu_share_deviation", [ORR_SHARE_MEMORY] = "mem_share_deviation"};
    for (unsigned kind = 0; kind < ORR_SHARE_GPU; kind++) {
        if (all->divides[kind]) {
            orr_metric__emit(to, names[kind], deviation[kind], 1);
        }
    }
}

static void emit_all(const struct orr_emitter *to, const struct orr_summary *s)
{
    orr_metric__emit(to, "jobs", (double)s->jobs, s->jobs);
    orr_metric__emit(to, "finished", (double)s->finished, s->jobs);
    orr_metric__emit(to, "unfinished", (double)s->unfinished, s->jobs);
    orr_metric__emit(to, "makespan_s", s->makespan_s, s->finished);
    emit_waits(to, &s->waits);
    orr_metric__emit(to, "bsld_mean", s->bsld_mean, s->ended);
    if (s->resized) {
        orr_metric__emit(to, "capacity_gpu_h", s->capacity_gpu_h, 1);
    }
    orr_metric__emit(to, "gpu_available", s->gpu_available, 1);
    orr_metric__emit(to, "gpu_occupancy", s->gpu_occupancy, 1);
    orr_metric__emit(to, "gpu_goodput", s->gpu_goodput, 1);
    if (s->room.parts) {
        orr_metric__emit(to, "gpu_touched", s->gpu_touched, 1);
    }
    if (!isnan(s->cpu_occupancy)) {
        orr_metric__emit(to, "cpu_occupancy", s->cpu_occupancy, 1);
    }
    if (!isnan(s->mem_occupancy)) {
        orr_metric__emit(to, "mem_occupancy", s->mem_occupancy, 1);
    }
    if (!isnan(s->mig_occupancy)) {
        orr_metric__emit(to, "mig_occupancy", s->mig_occupancy, 1);
    }
    orr_metric__emit(to, "fairness_jain", s->fairness_jain, s->wanting_queues);
    orr_metric__emit(to, "fairness_satisfaction", s->fairness_satisfaction, s->wanting_queues);
    orr_metric__emit(to, "share_deviation", s->share_deviation, 1);
    emit_other_deviations(to, s, s->other_deviation);
    emit_own_deviations(to, s->own_shares.all);
    emit_debt(to, &s->debt, s->leaf_queues);
    orr_metric__emit(to, "evictions", (double)s->evictions, s->jobs);
    orr_metric__emit(to, "partial_evictions", (double)s->partial_evictions, s->jobs);
    orr_metric__emit(to, "wasted_evictions", (double)s->wasted_evictions, s->evictions);
    if (s->suspensions > 0) {
        orr_metric__emit(to, "suspensions", (double)s->suspensions, s->jobs);
        orr_metric__emit(to, "suspended_h", s->suspended_h, s->suspensions);
    }
    orr_metric__emit(to, "lost_gpu_h", s->lost_gpu_h, s->evictions);
    orr_metric__emit(to, "checkpoint_gpu_h", s->checkpoint_gpu_h, s->jobs);
    orr_metric__emit(to, "restart_gpu_h", s->restart_gpu_h, s->evictions);
    if (s->has_rates) {
        orr_metric__emit(to, "slow_gpu_h", s->slow_gpu_h, s->jobs);
    }
    if (s->may_idle) {
        orr_metric__emit(to, "idle_gpu_h", s->idle_gpu_h, s->jobs);
    }
    orr_metric__emit(to, "gang_wait_gpu_h", s->gang_wait_gpu_h, s->jobs);
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
        orr_metric__emit(to, "gangs_within",
                         s->extents.gangs > 0
                             ? (double)s->extents.of_extent[e] / (double)s->extents.gangs
                             : (double)NAN,
                         s->extents.gangs);
    }
    for (uint32_t l = 0; l < r->level_count; l++) {
        (void)snprintf(label, room, "level=%s", orr_room_level_name(world, l));
        orr_metric__emit(to, "startable_gang_mean_gpus", r->window[l].mean, s->spread.nodes);
        orr_metric__emit(to, "startable_gang_least_gpus",
                         isnan(r->window[l].mean) ? (double)NAN : r->window[l].least,
                         s->spread.nodes);
    }
}

static void emit_queue(const struct orr_emitter *to, const struct orr_summary *s,
                       const struct orr_queue_summary *q)
{
    const struct orr_own_shares *own = &s->own_shares;
    const uint64_t jobs = q->waits.jobs + q->waits.never;
    orr_metric__emit(to, "jobs", (double)jobs, jobs);
    emit_waits(to, &q->waits);
    orr_metric__emit(to, "gpu_h", q->gpu_h, 1);
    orr_metric__emit(to, "share_mean", q->share_mean, 1);
    if (own->known != NULL && own->known[q->queue]) {
        orr_metric__emit(to, "policy_share_mean", own->mean_gpus[q->queue], 1);
    }
    if (q->kind != ORR_KIND_INFERENCE) {
        orr_metric__jct(to, &q->jct, q->waits.never);
    }
    emit_debt(to, &q->debt, 1);
    orr_metric__emit(to, "evictions", (double)q->evictions, jobs);
    orr_metric__emit(to, "lost_gpu_h", q->lost_gpu_h, q->evictions);
    orr_metric__stalls(to, &q->stalls);
}

static void emit_shard(const struct orr_emitter *to, const struct orr_summary *all, uint32_t shard)
{
    const struct orr_shard_summary *s = &all->shards[shard];
    orr_metric__emit(to, "jobs", (double)s->jobs, s->jobs);
    orr_metric__emit(to, "finished", (double)s->finished, s->jobs);
    emit_waits(to, &s->waits);
    orr_metric__emit(to, "gpu_occupancy", s->gpu_occupancy, 1);
    orr_metric__emit(to, "gpu_goodput", s->gpu_goodput, 1);
    orr_metric__emit(to, "fairness_jain", s->fairness_jain, s->wanting_queues);
    orr_metric__emit(to, "share_deviation", s->share_deviation, 1);
    emit_other_deviations(to, all, s->other_deviation);
    if (all->own_shares.of_shard != NULL) {
        emit_own_deviations(to, all->own_shares.of_shard[shard]);
    }
    emit_debt(to, &s->debt, s->leaf_queues);
    orr_metric__emit(to, "evictions", (double)s->evictions, s->jobs);
    orr_metric__emit(to, "lost_gpu_h", s->lost_gpu_h, s->evictions);
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
    orr_metric__emit(to, "phase_h", (double)length / 3.6e6, 1);
    orr_metric__emit(to, "phase_gpu_h", phase->gpu_h, 1);
    orr_metric__emit(to, "phase_gpu_available", phase->gpu_available, 1);
    orr_metric__emit(to, "phase_gpu_occupancy", phase->gpu_occupancy, 1);
    orr_metric__emit(to, "phase_gpu_goodput", phase->gpu_goodput, 1);
    orr_metric__emit(to, "phase_finished", (double)phase->finished, s->finished);
}

static void emit_part(const struct orr_emitter *to, const struct orr_attainment *a, bool service)
{
    const struct orr_service_load *load = &a->load;
    if (a->submitted > 0) {
        orr_metric__emit(to, "gave_up", (double)a->gave_up, a->submitted);
        orr_metric__emit(to, "gave_up_share", (double)a->gave_up / (double)a->submitted,
                         a->submitted);
    }
    if (!service) {
        if (a->jobs > 0) {
            orr_metric__emit(to, "attainment", a->attained, a->jobs);
        }
        return;
    }
    uint64_t n = (uint64_t)(load->offered + 0.5);
    orr_metric__emit(to, "attainment", a->attained, n);
    orr_metric__emit(to, "requests", load->offered, n);
    orr_metric__emit(to, "requests_late", load->late, n);
    orr_metric__emit(to, "requests_dropped", load->dropped, n);
    orr_metric__emit(to, "requests_waiting", load->waiting, n);
}

static void emit_costs(const struct orr_emitter *to, const struct orr_summary *s)
{
    uint64_t nodes = 0, priced = 0;
    for (uint32_t p = 0; p < s->pool_count; p++) {
        nodes += s->pools[p].nodes;
        priced += s->pools[p].priced ? s->pools[p].nodes : 0;
    }
    if (s->priced) {
        orr_metric__emit(to, "cost", s->cost, priced);
        orr_metric__emit(to, "run_cost", s->run_cost, priced);
        orr_metric__emit(to, "cost_per_useful_gpu_h", s->cost_per_useful_gpu_h, nodes);
    }
}

static void emit_energy(const struct orr_emitter *to, const struct orr_summary *s)
{
    uint64_t nodes = 0;
    for (uint32_t p = 0; p < s->pool_count; p++) {
        nodes += s->pools[p].powered ? s->pools[p].nodes : 0;
    }
    orr_metric__emit(to, "energy_kwh", s->energy_kwh, nodes);
    orr_metric__emit(to, "run_energy_kwh", s->run_energy_kwh, nodes);
    orr_metric__emit(to, "energy_kwh_per_useful_gpu_h", s->energy_kwh_per_useful_gpu_h, nodes);
}

static void emit_pool(const struct orr_emitter *to, const struct orr_summary *s,
                      const struct orr_pool_summary *pool)
{
    if (s->resized || s->priced) {
        orr_metric__emit(to, "node_h", pool->node_h, pool->nodes);
    }
    if (pool->priced) {
        orr_metric__emit(to, "cost", pool->cost, pool->nodes);
        orr_metric__emit(to, "run_cost", pool->run_cost, pool->nodes);
    }
    if (pool->powered) {
        orr_metric__emit(to, "energy_kwh", pool->energy_kwh, pool->nodes);
        orr_metric__emit(to, "run_energy_kwh", pool->run_energy_kwh, pool->nodes);
    }
    if (s->resized) {
        orr_metric__emit(to, "nodes_joined", (double)pool->joined, pool->nodes);
        orr_metric__emit(to, "nodes_left", (double)pool->left, pool->nodes);
    }
}

/* Short sessions are held against a minute, too. */
static void emit_kind_slowdown(const struct orr_emitter *to, const struct orr_summary *s,
                               uint32_t kind)
{
    const uint64_t ended = s->kind_jcts[kind].started;
    orr_metric__emit(to, "bsld_mean", s->kind_bsld[kind], ended);
    orr_metric__emit(to, "bsld60_mean", s->kind_bsld60[kind], ended);
}

/* Of the rules that bit a job, or of the others, which are `absent`. */
static void emit_rules(struct orr_emitter *to, const struct orr_summary *summary, char *label,
                       size_t bytes, bool absent)
{
    to->scope = "rule";
    for (uint32_t r = 0; r < ORR_RULE_COUNT; r++) {
        if ((summary->ruled[r] == 0) == absent) {
            (void)snprintf(label, bytes, "rule=%s", orr_rule_code((enum orr_rule)r));
            orr_metric__emit(to, "ruled_jobs", (double)summary->ruled[r], summary->jobs);
        }
    }
}

/* The same of causes for which work was lost. */
static void emit_causes(struct orr_emitter *to, const struct orr_summary *summary, char *label,
                        size_t bytes, bool absent)
{
    to->scope = "cause";
    for (uint32_t c = ORR_CAUSE_NONE + 1; c < ORR_CAUSE_COUNT; c++) {
        if ((summary->lost_by_gpu_h[c] <= 0.0) == absent) {
            (void)snprintf(label, bytes, "cause=%s", orr_cause_words((enum orr_cause)c));
            orr_metric__emit(to, "lost_gpu_h", summary->lost_by_gpu_h[c], summary->evictions);
        }
    }
}

void orr_summary_absent(const struct orr_summary *summary, orr_metric_fn *to_emit, void *context)
{
    char label[300];
    struct orr_emitter to = {.emit = to_emit, .context = context, .label = label};
    emit_rules(&to, summary, label, sizeof label, true);
    emit_causes(&to, summary, label, sizeof label, true);
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
    emit_rules(&to, summary, label, sizeof label, false);
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
    emit_causes(&to, summary, label, sizeof label, false);
    to.scope = "kind";
    for (uint32_t k = 0; k < ORR_KIND_COUNT; k++) {
        if (summary->kinds[k].jobs + summary->kinds[k].never > 0) {
            (void)snprintf(label, sizeof label, "kind=%s", orr_kind_name((enum orr_kind)k));
            emit_waits(&to, &summary->kinds[k]);
            orr_metric__stalls(&to, &summary->kind_stalls[k]);
            if (k != ORR_KIND_INFERENCE) {
                orr_metric__jct(&to, &summary->kind_jcts[k], summary->kinds[k].never);
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
