/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run_json.c - the answer of `orrery run` as JSON. */
#include <math.h>
#include <sys/resource.h>

#include <orrery/analysis/metrics.h>
#include <orrery/sim/stuck.h>

#include "run_answer.h"

static const char *const phase_names[5] = {"read", "prepare", "simulate", "summarise", "store"};

static double peak_rss_mib(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

/* A value under the name that the table of metrics has for it. */
static void json_metric(struct orr_json *json, const char *name, double value)
{
    orr_json_real(json, orr_metric_name(name), value);
}

static void json_count(struct orr_json *json, const char *name, int64_t value)
{
    orr_json_int(json, orr_metric_name(name), value);
}

static void json_waits(struct orr_json *json, const struct orr_waits *w)
{
    json_metric(json, "wait_mean_s", w->mean_s);
    json_metric(json, "wait_p50_s", w->p50_s);
    json_metric(json, "wait_p95_s", w->p95_s);
    json_metric(json, "wait_p99_s", w->p99_s);
    json_metric(json, "wait_max_s", w->max_s);
}

static void json_queues(struct orr_json *json, const struct orr_report *r)
{
    orr_json_open(json, "queues", '[');
    for (uint32_t i = 0; i < r->summary->queue_count; i++) {
        const struct orr_queue_summary *q = &r->summary->queues[i];
        double quota = r->world->queues.queues[q->queue].resources[ORR_SHARE_GPU].quota;
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "name", orr_idmap_name(&r->world->queues.names, q->queue));
        orr_json_text(json, "display_name", orr_idmap_name(&r->world->shown, q->queue));
        orr_json_text(json, "kind", orr_kind_name((enum orr_kind)q->kind));
        json_count(json, "jobs", (int64_t)(q->waits.jobs + q->waits.never));
        if (r->summary->has_nevers) {
            json_count(json, "never_startable", (int64_t)q->waits.never);
        }
        json_metric(json, "gpu_h", q->gpu_h);
        orr_json_real(json, "quota", quota);
        json_metric(json, "share_mean", q->share_mean);
        json_waits(json, &q->waits);
        json_metric(json, "jct_mean_s",
                    q->kind == ORR_KIND_INFERENCE ? (double)NAN : q->jct.mean_s);
        json_metric(json, "quota_debt_gpu_h", q->debt.total);
        json_count(json, "evictions", (int64_t)q->evictions);
        json_metric(json, "lost_gpu_h", q->lost_gpu_h);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_shards(struct orr_json *json, const struct orr_report *r)
{
    orr_json_open(json, "shards", '[');
    for (uint32_t i = 0; i < r->summary->shard_count; i++) {
        const struct orr_shard_summary *s = &r->summary->shards[i];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "name", orr_idmap_name(&r->world->cluster.shards, i));
        orr_json_text(json, "policy", r->shards[i].policy->name);
        orr_json_int(json, "gpus", s->gpus);
        json_count(json, "jobs", (int64_t)s->jobs);
        json_count(json, "finished", (int64_t)s->finished);
        json_waits(json, &s->waits);
        json_metric(json, "fairness_jain", s->fairness_jain);
        json_metric(json, "share_deviation", s->share_deviation);
        json_metric(json, "quota_debt_gpu_h", s->debt.total);
        json_metric(json, "gpu_occupancy", s->gpu_occupancy);
        json_metric(json, "gpu_goodput", s->gpu_goodput);
        json_count(json, "evictions", (int64_t)s->evictions);
        json_metric(json, "lost_gpu_h", s->lost_gpu_h);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_phases(struct orr_json *json, const struct orr_report *r)
{
    double cpu = 0.0;
    orr_json_open(json, "phases", '{'); /* CPU seconds of each part of the run */
    for (int i = 0; i < 5; i++) {
        cpu += r->phase_s[i];
        char key[32];
        (void)snprintf(key, sizeof key, "%s_s", phase_names[i]);
        orr_json_real(json, key, r->phase_s[i]);
    }
    orr_json_close(json, '}');
    orr_json_real(json, "cpu_s", cpu);
    orr_json_real(json, "wall_s", r->wall_s);
    orr_json_real(json, "peak_rss_mib", peak_rss_mib());
}

static void json_latency(struct orr_json *json, const struct orr_report *r)
{
    const struct orr_scheduler_time *time = &r->summary->scheduler;
    char name[64];
    orr_json_text(json, "latency", orr_latency_name(&r->run->latency, name));
    if (r->summary->latent) {
        json_metric(json, "scheduler_busy", r->summary->scheduler_busy);
        json_metric(json, "scheduler_busy_s", (double)time->busy_ms / 1000.0);
        json_metric(json, "cycle_max_s", (double)time->cycle_max_ms / 1000.0);
        json_count(json, "cycles_behind", (int64_t)time->behind);
        json_metric(json, "cycle_delay_max_s", (double)time->behind_max_ms / 1000.0);
        json_metric(json, "decision_delay_max_s", (double)time->effect_max_ms / 1000.0);
    }
}

/* Only of a policy that counts them. */
static void json_costs(struct orr_json *json, const struct orr_summary *s)
{
    if (s->cost_count == 0) {
        return;
    }
    orr_json_open(json, "scenarios_simulated", '{');
    for (uint32_t i = 0; i < s->cost_count; i++) {
        orr_json_int(json, s->costs[i].action, (int64_t)s->costs[i].scenarios);
    }
    orr_json_close(json, '}');
}

/* What saved searches for victims their work; it is no part of the result. */
static void json_pruned(struct orr_json *json, const struct orr_run *run)
{
    if (run->pruned_count == 0) {
        return;
    }
    orr_json_open(json, "pruners", '[');
    for (uint32_t i = 0; i < run->pruned_count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "name", run->pruned[i].name);
        orr_json_int(json, "asked", (int64_t)run->pruned[i].asked);
        orr_json_int(json, "refuted", (int64_t)run->pruned[i].refuted);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

/* Of the run, outside the window. */
static void json_outside(struct orr_json *json, const struct orr_summary *s)
{
    orr_json_open(json, "outside_window", '[');
    for (int p = 0; p < ORR_PHASE_COUNT; p++) {
        const struct orr_phase_summary *phase = &s->phases[p];
        if (phase->stretch.to_ms > phase->stretch.from_ms) {
            orr_json_open(json, NULL, '{');
            orr_json_text(json, "phase", orr_phase_name((enum orr_phase)p));
            orr_json_real(json, "from_s", (double)phase->stretch.from_ms / 1000.0);
            orr_json_real(json, "to_s", (double)phase->stretch.to_ms / 1000.0);
            json_metric(json, "gpu_h", phase->gpu_h);
            json_metric(json, "gpu_available", phase->gpu_available);
            json_metric(json, "gpu_occupancy", phase->gpu_occupancy);
            json_metric(json, "gpu_goodput", phase->gpu_goodput);
            json_count(json, "finished", (int64_t)phase->finished);
            orr_json_close(json, '}');
        }
    }
    orr_json_close(json, ']');
}

/* Only where somebody is left over: see stuck.h. */
static void json_stuck(struct orr_json *json, const struct orr_report *r)
{
    const struct orr_stuck stuck = orr_stuck_find(r->world, r->run);
    char name[512];
    if (stuck.jobs > 0) {
        orr_json_open(json, "stuck", '{');
        orr_json_int(json, "jobs", stuck.jobs);
        orr_json_text(json, "first", orr_world_job_name(r->world, stuck.first, name, sizeof name));
        orr_json_text(json, "reason", orr_reason_code(stuck.reason));
        orr_json_close(json, '}');
    }
}

void orr_report_json(const struct orr_report *r, FILE *out)
{
    static const char *const status_names[] = {"finished", "horizon", "interrupted"};
    const struct orr_summary *s = r->summary;
    struct orr_json json = {.out = out};
    char digest[20];
    (void)snprintf(digest, sizeof digest, "%016llx", (unsigned long long)r->run->digest);
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "scenario", r->scenario->name);
    char policies[200];
    orr_engine_policy_names(r->shards, s->shard_count, policies, sizeof policies);
    orr_json_text(&json, "policy", policies);
    orr_json_text(&json, "status", status_names[r->run->status]);
    orr_json_int(&json, "seed", (int64_t)r->seed);
    json_count(&json, "jobs", (int64_t)s->jobs);
    json_count(&json, "finished", (int64_t)s->finished);
    uint64_t rejected = 0;
    for (uint32_t i = 0; i < r->world->part_count; i++) {
        rejected += r->world->parts[i].workload.rejects.count;
    }
    orr_json_int(&json, "rejected", (int64_t)rejected);
    json_count(&json, "unfinished", (int64_t)s->unfinished);
    orr_json_int(&json, "gpus", r->world->cluster.total_gpus);
    orr_json_real(&json, "window_start_s", (double)s->window_start_ms / 1000.0);
    orr_json_real(&json, "window_end_s", (double)s->window_end_ms / 1000.0);
    json_metric(&json, "makespan_s", s->makespan_s);
    json_waits(&json, &s->waits);
    json_metric(&json, "bsld_mean", s->bsld_mean);
    json_metric(&json, "jct_mean_s", s->finish.jct.mean_s);
    json_metric(&json, "fairness_jain", s->fairness_jain);
    json_metric(&json, "fairness_satisfaction", s->fairness_satisfaction);
    json_metric(&json, "quota_debt_gpu_h", s->debt.total);
    json_metric(&json, "share_deviation", s->share_deviation);
    json_metric(&json, "lost_gpu_h", s->lost_gpu_h);
    json_metric(&json, "gpu_occupancy", s->gpu_occupancy);
    json_metric(&json, "gpu_goodput", s->gpu_goodput);
    if (!isnan(s->cpu_occupancy)) {
        json_metric(&json, "cpu_occupancy", s->cpu_occupancy);
    }
    if (s->priced) {
        json_metric(&json, "cost", s->cost);
        json_metric(&json, "run_cost", s->run_cost);
        json_metric(&json, "cost_per_useful_gpu_h", s->cost_per_useful_gpu_h);
    }
    if (s->powered) {
        json_metric(&json, "energy_kwh", s->energy_kwh);
        json_metric(&json, "run_energy_kwh", s->run_energy_kwh);
        json_metric(&json, "energy_kwh_per_useful_gpu_h", s->energy_kwh_per_useful_gpu_h);
    }
    json_outside(&json, s);
    json_count(&json, "evictions", (int64_t)s->evictions);
    if (s->suspensions > 0) {
        json_count(&json, "suspensions", (int64_t)s->suspensions);
        json_metric(&json, "suspended_h", s->suspended_h);
    }
    if (s->impatient) {
        json_count(&json, "gave_up", (int64_t)s->waits.gave_up);
    }
    uint32_t first = ORR_NONE;
    const uint32_t forgotten = run_forgotten(r, &first);
    if (forgotten > 0) {
        json_count(&json, "forgotten", forgotten);
    }
    json_stuck(&json, r);
    if (s->has_nevers) {
        json_count(&json, "never_startable", (int64_t)s->waits.never);
    }
    json_count(&json, "tied_starts", (int64_t)s->ties.tied);
    json_count(&json, "coincident_starts", (int64_t)s->ties.coincident);
    json_costs(&json, s);
    json_pruned(&json, r->run);
    json_queues(&json, r);
    json_shards(&json, r);
    json_latency(&json, r);
    orr_json_open(&json, "rules", '{'); /* jobs that rules of their queues bit */
    for (uint32_t i = 0; i < ORR_RULE_COUNT; i++) {
        orr_json_int(&json, orr_rule_code((enum orr_rule)i), (int64_t)s->ruled[i]);
    }
    orr_json_close(&json, '}');
    orr_json_open(&json, "not_heeded", '['); /* what jobs state and no policy looks at */
    orr_point_unheeded(r->world, r->shards, orr_json_sentence, &json);
    orr_json_close(&json, ']');
    orr_json_int(&json, "events", (int64_t)r->run->events);
    orr_json_int(&json, "cycles", (int64_t)r->run->cycles);
    orr_json_int(&json, "distinct_times", (int64_t)r->run->distinct_times);
    orr_json_int(&json, "queue_len_max", r->run->queue_len_max);
    orr_json_text(&json, "digest", digest);
    if (r->output != NULL) {
        orr_cli_expectations(&json, r->output);
    }
    orr_json_text(&json, "results", r->output);
    json_phases(&json, r);
    orr_json_close(&json, '}');
}
