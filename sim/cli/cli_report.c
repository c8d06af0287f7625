/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_report.c - the answer of `orrery run`, for people and as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/names.h>
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/sim/never.h>
#include <orrery/sim/stuck.h>

#include "cli.h"

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

/* Jobs that wait though nothing happens any more, and of which the policy does not say why: it lost
 * sight of them. *first: one of them. */
static uint32_t count_forgotten(const struct orr_report *r, uint32_t *first)
{
    const orr_ms horizon_ms = r->scenario->horizon_ms;
    uint32_t count = 0;
    if (r->run->status == ORR_RUN_INTERRUPTED ||
        (horizon_ms != ORR_MS_NONE && r->run->end_ms >= r->world->begin_ms + horizon_ms)) {
        return 0;
    }
    for (uint32_t j = 0; j < r->world->job_count; j++) {
        const struct orr_job_state *job = &r->run->ledger->jobs[j];
        if (job->phase == ORR_JOB_PENDING && job->reason == ORR_REASON_NONE) {
            *first = count++ == 0 ? j : *first;
        }
    }
    return count;
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
    const uint32_t forgotten = count_forgotten(r, &first);
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

static const char *number(double value, int digits, char out[24])
{
    (void)(isfinite(value) ? snprintf(out, 24, "%.*f", digits, value) : snprintf(out, 24, "-"));
    return out;
}

/* A quantile of waits; one that was not reached is more than the longest that anybody was seen to
 * wait. */
static const char *quantile(const struct orr_waits *waits, double value_s, char out[24])
{
    char least[24];
    if (!isnan(value_s) || waits->jobs == 0 || !(waits->seen_s > 0)) {
        return orr_format_rough(out, value_s);
    }
    (void)snprintf(out, 24, ">%.22s", orr_format_rough(least, waits->seen_s));
    return out;
}

static const char *ratio(double value, char out[24])
{
    return number(value, 3, out);
}

struct queue_order {
    const struct orr_queue_summary *rows;
    double *gpu_h; /* by queue, of all its kinds */
};

/* Queues that held most come first, their kinds together. */
static int by_gpu_hours(const void *a, const void *b, void *context)
{
    const struct queue_order *order = context;
    const struct orr_queue_summary *x = &order->rows[*(const uint32_t *)a];
    const struct orr_queue_summary *y = &order->rows[*(const uint32_t *)b];
    const double of_x = order->gpu_h[x->queue], of_y = order->gpu_h[y->queue];
    if (of_x > of_y || of_x < of_y) {
        return of_x > of_y ? -1 : 1;
    }
    return (x->queue > y->queue) - (x->queue < y->queue);
}

const char *orr_cli_gpu_hours(double value, char out[24])
{
    const double size = fabs(value);
    const int digits = size >= 99.5 || size < 0.005 ? 0 : size >= 9.95 ? 1 : 2;
    return number(value, digits, out);
}

void orr_cli_say_turns(double longer_gpu_h, double shorter_gpu_h)
{
    if (shorter_gpu_h > 0.25 * longer_gpu_h) {
        (void)printf("Waits that are spared are many beside those that are longer: this schedule "
                     "turns over for little, and part of both is chance (`orrery explain R.db "
                     "--stability`).\n");
    }
}

#define QUEUE_ROW 86 /* columns of a row beside the name of its queue, or shard */
#define SHARD_ROW 75

static void text_queue_row(const struct orr_queue_summary *q, bool again, FILE *out)
{
    char a[24], b[24], c[24], d[24], hours[24], share[24] = "";
    if (!again) { /* the share is of all the queue, and stands beside the first of its kinds */
        (void)number(q->share_mean, 1, share);
    }
    (void)fprintf(
        out, " %-11s %8llu %11s %10s | %9s %9s %9s %9s\n", orr_kind_name((enum orr_kind)q->kind),
        (unsigned long long)(q->waits.jobs + q->waits.never), orr_cli_gpu_hours(q->gpu_h, hours),
        share, quantile(&q->waits, q->waits.p50_s, a), quantile(&q->waits, q->waits.p95_s, b),
        quantile(&q->waits, q->waits.p99_s, c), orr_format_rough(d, q->waits.max_s));
}

static void text_queues(const struct orr_report *r, FILE *out)
{
    const struct orr_queue_summary *queues = r->summary->queues;
    const uint32_t count = r->summary->queue_count;
    struct orr_arena arena;
    orr_arena_init(&arena);
    uint32_t *order = orr_arena_alloc(&arena, count + 1, sizeof *order);
    struct queue_order by = {
        .rows = queues,
        .gpu_h = orr_arena_alloc(&arena, r->world->queues.count + 1, sizeof *by.gpu_h)};
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        by.gpu_h[queues[i].queue] += queues[i].gpu_h;
    }
    orr_sort(order, count, sizeof *order, by_gpu_hours, &by);
    struct orr_name_column shown = {.count = count < 20 ? count : 20};
    shown.names = orr_arena_alloc(&arena, shown.count + 1, sizeof *shown.names);
    for (uint32_t i = 0; i < shown.count; i++) {
        shown.names[i] = orr_idmap_name(&r->world->shown, queues[order[i]].queue);
    }
    orr_name_column(&shown, QUEUE_ROW, &arena);
    (void)fprintf(out, "\n%-*s %-11s %8s %11s %10s | %9s %9s %9s %9s\n", shown.width, "queue",
                  "kind", "jobs", "GPU-hours", "share GPUs", "wait p50", "p95", "p99", "max");
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct orr_queue_summary *q = &queues[order[i]];
        orr_pad(out, shown.shorts[i], shown.width);
        text_queue_row(q, i > 0 && queues[order[i - 1]].queue == q->queue, out);
    }
    if (count > 20) {
        (void)fprintf(out, "... and %u more (--json has all)\n", count - 20);
    }
    orr_short_legend(out, "", shown.names, (const char *const *)shown.shorts, shown.count);
    orr_arena_release(&arena);
}

/* The parameters that are not at their defaults. */
/* A text of several lines by the name of its file, or by their number. */
static void short_value(const struct orr_engine_shard *shard, const char *name, const char *text,
                        char *value, size_t bytes)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < shard->setting_count; i++) {
        const struct orr_setting *setting = &shard->settings[i];
        const size_t file = orr_setting_file_bytes(setting);
        if (file > 0 && strcmp(setting->name, name) == 0) {
            (void)snprintf(value, bytes, "%.*s", (int)(file < 180 ? file : 180), setting->origin);
            return;
        }
    }
    for (const char *at = text; *at != '\0'; lines++) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    if (lines > 1) {
        (void)snprintf(value, bytes, "(%u lines)", (unsigned)lines);
    }
}

static void text_params(const struct orr_engine_shard *shard, FILE *out)
{
    size_t bytes = shard->policy->params_bytes;
    void *defaults = orr_zalloc(bytes == 0 ? 1 : bytes, 1);
    orr_params_init(shard->policy->params, defaults);
    for (const struct orr_param *row = shard->policy->params; row->name != NULL; row++) {
        char value[200], fallback[200];
        orr_params_format(row, shard->params, value, sizeof value);
        orr_params_format(row, defaults, fallback, sizeof fallback);
        if (strcmp(value, fallback) == 0) {
            continue;
        }
        if (row->type == ORR_PARAM_TEXT) {
            const char *text;
            memcpy(&text, (const char *)shard->params + row->offset, sizeof text);
            short_value(shard, row->name, text, value, sizeof value);
        }
        (void)fprintf(out, " %s=%s", row->name, value);
    }
    orr_free(defaults);
}

static void text_shards(const struct orr_report *r, FILE *out)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct orr_name_column shown = {.count = r->summary->shard_count};
    shown.names = orr_arena_alloc(&arena, shown.count + 1, sizeof *shown.names);
    for (uint32_t i = 0; i < shown.count; i++) {
        const char *name = orr_idmap_name(&r->world->cluster.shards, i);
        shown.names[i] = name[0] == '\0' ? "(none)" : name;
    }
    orr_name_column(&shown, SHARD_ROW, &arena);
    (void)fprintf(out, "\n%-*s %8s %8s %10s %10s | %9s %9s | policy\n", shown.width, "shard",
                  "GPUs", "jobs", "occupancy", "Jain", "wait p50", "p95");
    for (uint32_t i = 0; i < shown.count; i++) {
        const struct orr_shard_summary *s = &r->summary->shards[i];
        char a[24], b[24], c[24], d[24];
        orr_pad(out, shown.shorts[i], shown.width);
        (void)fprintf(out, " %8lld %8llu %10s %10s | %9s %9s | %s", (long long)s->gpus,
                      (unsigned long long)s->jobs, ratio(s->gpu_occupancy, a),
                      ratio(s->fairness_jain, b), quantile(&s->waits, s->waits.p50_s, c),
                      quantile(&s->waits, s->waits.p95_s, d), r->shards[i].policy->name);
        text_params(&r->shards[i], out);
        (void)fputc('\n', out);
    }
    orr_short_legend(out, "", shown.names, (const char *const *)shown.shorts, shown.count);
    orr_arena_release(&arena);
}

/* Parts of the workload with an objective, one line each. */
static void text_attained(const struct orr_report *r, FILE *out)
{
    for (uint32_t p = 0; p < r->world->part_count; p++) {
        const struct orr_attainment *a = &r->summary->parts[p];
        const char *name = r->world->parts[p].part->name;
        const double requests = a->load.offered;
        if (requests > 0) {
            (void)fprintf(
                out, "served      %s: %.3f %% of %.0f requests in time; %.0f late, %.0f dropped",
                name, 100 * a->attained, requests, a->load.late, a->load.dropped);
            if (a->load.waiting >= 0.5) {
                (void)fprintf(out, ", %.0f in line at the end", a->load.waiting);
            }
            (void)fputc('\n', out);
        } else if (a->jobs > 0 && !isnan(a->attained)) {
            (void)fprintf(out, "attained    %s: %llu of %llu job%s started soon enough\n", name,
                          (unsigned long long)a->started, (unsigned long long)a->jobs,
                          ORR_PLURAL(a->jobs));
        }
    }
}

/* No more digits than are worth reading: none behind the point from 1000 on. */
static const char *whole_number(double value, char out[24])
{
    (void)snprintf(out, 24, value >= 1000 ? "%.0f" : "%.2f", value);
    return out;
}

static bool is_priced(const struct orr_pool_summary *pool)
{
    return pool->priced;
}

static bool is_powered(const struct orr_pool_summary *pool)
{
    return pool->powered;
}

/* How many of the pools that had nodes a sum is of; empty: of all, each states `what`. */
static const char *of_pools(const struct orr_summary *s,
                            bool (*states)(const struct orr_pool_summary *), const char *what,
                            char out[80])
{
    uint32_t with = 0, all = 0;
    for (uint32_t p = 0; p < s->pool_count; p++) {
        all += s->pools[p].nodes > 0 ? 1 : 0;
        with += s->pools[p].nodes > 0 && states(&s->pools[p]) ? 1 : 0;
    }
    out[0] = '\0';
    if (with < all) {
        (void)snprintf(out, 80, " (of %u of %u pools, the rest state%s no %s)", with, all,
                       ORR_ONE(all - with, "s", ""), what);
    }
    return out;
}

static const char *per_useful(double value, char out[60])
{
    char number[24];
    out[0] = '\0';
    if (!isnan(value)) {
        (void)snprintf(out, 60, ": %s a useful GPU-hour", ratio(value, number));
    }
    return out;
}

/* Only where nodes join or leave, or have a price or a power. */
static void text_pools(const struct orr_summary *s, FILE *out)
{
    uint64_t joined = 0, left = 0;
    char a[24], b[24], pools[80], per[60];
    for (uint32_t p = 0; p < s->pool_count; p++) {
        joined += s->pools[p].joined;
        left += s->pools[p].left;
    }
    if (s->resized) {
        (void)fprintf(out, "nodes       %llu joined, %llu left; %.0f GPU-h there in the window\n",
                      (unsigned long long)joined, (unsigned long long)left, s->capacity_gpu_h);
    }
    if (s->priced) {
        (void)fprintf(out, "cost        %s in the unit of the prices%s, in the window %s%s\n",
                      whole_number(s->run_cost, a), of_pools(s, is_priced, "price", pools),
                      whole_number(s->cost, b), per_useful(s->cost_per_useful_gpu_h, per));
    }
    if (s->powered) {
        (void)fprintf(out, "energy      %s kWh%s, in the window %s%s\n",
                      whole_number(s->run_energy_kwh, a), of_pools(s, is_powered, "power", pools),
                      whole_number(s->energy_kwh, b),
                      per_useful(s->energy_kwh_per_useful_gpu_h, per));
    }
}

static void text_unheeded(const char *text, void *context)
{
    (void)fprintf(context, "not heeded  %s\n", text);
}

static void text_forgotten(const struct orr_report *r, FILE *out)
{
    char name[512];
    uint32_t first = ORR_NONE;
    const uint32_t count = count_forgotten(r, &first);
    if (count > 0) {
        (void)fprintf(out,
                      "forgotten   %u job%s wait%s at the end, and the policy says of none why: "
                      "first %.200s\n",
                      count, ORR_PLURAL(count), ORR_ONE(count, "s", ""),
                      orr_world_job_name(r->world, first, name, sizeof name));
    }
}

static void text_reasons(const uint64_t *of, bool refused, FILE *out)
{
    for (int i = 0, shown = 0; i < ORR_REASON_COUNT; i++) {
        const enum orr_reason reason = (enum orr_reason)i;
        if (of[i] > 0 && orr_reason_refuses(reason) == refused) {
            const char *words = orr_reason_words(reason), *colon = strstr(words, "submit: ");
            (void)fprintf(out, "%s %llu %s (%s)", shown++ > 0 ? "," : "", (unsigned long long)of[i],
                          orr_reason_code(reason),
                          refused && colon != NULL ? colon + strlen("submit: ") : words);
        }
    }
}

/* Of all kinds, as the waits above are not of them. */
static void text_nevers(const struct orr_report *r, FILE *out)
{
    uint64_t of[ORR_REASON_COUNT] = {0};
    uint32_t refused = 0;
    for (uint32_t i = 0; i < r->run->never_count; i++) {
        of[r->run->nevers[i].bar.reason]++;
        refused += orr_reason_refuses(r->run->nevers[i].bar.reason);
    }
    const uint32_t never = r->run->never_count - refused;
    if (never > 0) {
        (void)fprintf(out, "never       %u job%s could not have started at any time:", never,
                      ORR_PLURAL(never));
        text_reasons(of, false, out);
        (void)fputs(refused > 0 ? "\n" : "", out);
    }
    if (refused > 0) {
        (void)fprintf(out, "refused     %u job%s at submit:", refused, ORR_PLURAL(refused));
        text_reasons(of, true, out);
    }
    const uint64_t counted = r->summary->waits.never;
    if (counted != r->run->never_count) { /* metrics and gates know those of the window only */
        (void)fprintf(out, "; %llu of them in the window", (unsigned long long)counted);
    }
    (void)fprintf(out, "; in no quantile of waits\n");
}

/* Jobs that never started though they could have, and what most of them wait for at the end. */
static void text_waiting(const struct orr_report *r, FILE *out)
{
    uint64_t of[ORR_REASON_COUNT] = {0};
    uint32_t count = 0;
    int most = 0;
    for (uint32_t j = 0; j < r->world->job_count; j++) {
        const struct orr_job_state *state = &r->run->ledger->jobs[j];
        if (state->phase == ORR_JOB_PENDING && state->first_start_ms == ORR_MS_NONE &&
            orr_never_of(r->run, j) == NULL) {
            count++;
            most = ++of[state->reason] > of[most] ? state->reason : most;
        }
    }
    if (count > 0) {
        (void)fprintf(out, "waiting     %u job%s never started: at the end %llu wait%s because %s",
                      count, ORR_PLURAL(count), (unsigned long long)of[most],
                      ORR_ONE(of[most], "s", ""), orr_reason_words((enum orr_reason)most));
        if (of[most] < count) {
            (void)fprintf(out, "; %llu for other reasons", (unsigned long long)(count - of[most]));
        }
        (void)putc('\n', out);
    }
}

/* What no number of the window holds. */
static void text_phases(const struct orr_summary *s, FILE *out)
{
    for (int p = 0; p < ORR_PHASE_COUNT; p++) {
        const struct orr_phase_summary *phase = &s->phases[p];
        const orr_ms length = phase->stretch.to_ms - phase->stretch.from_ms;
        char took[24], share[24], held[60] = "";
        if (!isnan(phase->gpu_occupancy)) {
            (void)snprintf(held, sizeof held, "%s of GPU time was allocated, ",
                           ratio(phase->gpu_occupancy, share));
        }
        if (length > 0) {
            (void)fprintf(out, "%-11s %s %s the window: %s%llu job%s ended\n",
                          orr_phase_name((enum orr_phase)p),
                          orr_format_rough(took, (double)length / 1000.0),
                          p == ORR_PHASE_WARMUP ? "before" : "after", held,
                          (unsigned long long)phase->finished, ORR_PLURAL(phase->finished));
        }
    }
}

static void text_evictions(const struct orr_summary *s, FILE *out)
{
    char lost[24];
    if (s->evictions + s->partial_evictions == 0) {
        return;
    }
    (void)fprintf(out, "evictions   %llu", (unsigned long long)s->evictions);
    if (s->partial_evictions > 0) {
        (void)fprintf(out, " of whole jobs and %llu of some pods",
                      (unsigned long long)s->partial_evictions);
    }
    (void)fprintf(out, ", %s GPU-h lost\n", orr_cli_gpu_hours(s->lost_gpu_h, lost));
}

/* What the window is a time of: point.c takes the time of submits, if there is one, and services
 * and the horizon may end it with the run. */
static const char *window_words(const struct orr_world *world, bool to_the_end)
{
    return world->begin_ms < world->last_submit_ms
               ? (to_the_end ? "long, to the end of the run" : "of submits")
           : world->begin_ms > world->first_submit_ms
               ? "long, to the end, since no job comes after the begin"
               : "long, to the end, since all jobs come at once";
}

/* Of a run that begins from a state: the part of waits that was over before anything was decided.
 */
static void text_waited_before(const struct orr_report *r, FILE *out)
{
    const struct orr_world *world = r->world;
    uint32_t jobs = 0;
    double sum_s = 0, most_s = 0;
    char mean[24], most[24];
    for (uint32_t j = 0; j < world->job_count; j++) {
        const orr_ms from_ms = orr_run_eligible_ms(world, r->run, j);
        const bool ran = world->runs_before != NULL && world->runs_before[j];
        if (!ran && from_ms != ORR_MS_NONE && from_ms < world->begin_ms) {
            const double waited_s = (double)(world->begin_ms - from_ms) / 1000.0;
            jobs++;
            sum_s += waited_s;
            most_s = waited_s > most_s ? waited_s : most_s;
        }
    }
    if (jobs > 0) {
        (void)fprintf(out,
                      "before      %u job%s had waited %s on average, %s at most, when the run "
                      "began: waits count it\n",
                      jobs, ORR_PLURAL(jobs), orr_format_rough(mean, sum_s / jobs),
                      orr_format_rough(most, most_s));
    }
}

/* Jobs that are submitted later than a run ends: it is cut at its horizon. */
static uint64_t coming_after(const struct orr_world *world, orr_ms end_ms)
{
    uint64_t count = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        count += world->specs[j].submit_ms > end_ms;
    }
    return count;
}

/* What of the debt no policy could pay stands beside it: a job too large for the cluster would
 * otherwise look like a queue that others keep from its quota. */
static void text_fairness(const struct orr_summary *s, FILE *out)
{
    char jain[24], deviation[24], debt[32], impossible[32];
    (void)fprintf(out, "fairness    Jain %s, share deviation %s, quota debt %s GPU-h",
                  ratio(s->fairness_jain, jain), ratio(s->share_deviation, deviation),
                  orr_cli_gpu_hours(s->debt.total, debt));
    if (s->debt.impossible >= 0.005) {
        (void)fprintf(out,
                      " (%s of it impossible: asked for by jobs that can never start, or more than "
                      "the empty cluster could give)",
                      orr_cli_gpu_hours(s->debt.impossible, impossible));
    }
    (void)putc('\n', out);
}

/* What ran where, and how much of it came to an end. */
static void text_head(const struct orr_report *r, FILE *out)
{
    const struct orr_summary *s = r->summary;
    char length[24], last[24], policies[200];
    orr_engine_policy_names(r->shards, s->shard_count, policies, sizeof policies);
    (void)fprintf(out, "%s: %llu job%s on %s%u node%s, %lld GPU%s, policy %s", r->scenario->name,
                  (unsigned long long)s->jobs, ORR_PLURAL(s->jobs), s->resized ? "up to " : "",
                  r->world->cluster.node_count, ORR_PLURAL(r->world->cluster.node_count),
                  (long long)r->world->cluster.total_gpus, ORR_PLURAL(r->world->cluster.total_gpus),
                  policies);
    if (s->shard_count == 1) {
        text_params(&r->shards[0], out);
    }
    (void)fprintf(
        out, "\nwindow      %s %s",
        orr_format_rough(length, (double)(s->window_end_ms - s->window_start_ms) / 1000.0),
        window_words(r->world, s->window_end_ms == r->run->end_ms));
    if (s->finished > 0) {
        (void)fprintf(out, "; the last job ended at %s", orr_format_rough(last, s->makespan_s));
    }
    (void)fprintf(out, "%s%llu finished, %llu unfinished", s->finished > 0 ? ", " : "; ",
                  (unsigned long long)s->finished, (unsigned long long)s->unfinished);
    const uint64_t late = coming_after(r->world, r->run->end_ms);
    if (late > 0) {
        (void)fprintf(out, ", of which %llu come%s after the end of the run",
                      (unsigned long long)late, ORR_ONE(late, "s", ""));
    }
}

static void text_latency(const struct orr_report *r, FILE *out)
{
    const struct orr_summary *s = r->summary;
    char name[64], busy[24], longest[24], behind[24], effect[24];
    if (!s->latent) {
        return;
    }
    (void)fprintf(out,
                  "scheduler   latency %s: at work %s of the run, longest cycle %s; %llu of %llu "
                  "cycle%s behind, by up to %s; decision to effect up to %s\n",
                  orr_latency_name(&r->run->latency, name), ratio(s->scheduler_busy, busy),
                  orr_format_rough(longest, (double)s->scheduler.cycle_max_ms / 1000.0),
                  (unsigned long long)s->scheduler.behind, (unsigned long long)s->cycles,
                  ORR_PLURAL(s->cycles),
                  orr_format_rough(behind, (double)s->scheduler.behind_max_ms / 1000.0),
                  orr_format_rough(effect, (double)s->scheduler.effect_max_ms / 1000.0));
}

static void text_rules(const struct orr_summary *s, FILE *out)
{
    for (uint32_t i = 0; i < ORR_RULE_COUNT; i++) {
        if (s->ruled[i] > 0) {
            (void)fprintf(out, "rules       %llu job%s: %s (%s)\n", (unsigned long long)s->ruled[i],
                          ORR_PLURAL(s->ruled[i]), orr_rule_code((enum orr_rule)i),
                          orr_rule_words((enum orr_rule)i));
        }
    }
}

void orr_report_text(const struct orr_report *r, FILE *out)
{
    const struct orr_summary *s = r->summary;
    char a[24], b[24], c[24], d[24], e[24];
    text_head(r, out);
    const uint64_t unstarted = s->waits.jobs - s->waits.started;
    if (unstarted > 0) { /* else a cut at the horizon looks as if all of them ran then */
        (void)fprintf(out, " (of those in the window %llu never started)",
                      (unsigned long long)unstarted);
    }
    (void)fprintf(out, "%s\n", r->run->status == ORR_RUN_INTERRUPTED ? " (interrupted)" : "");
    (void)fprintf(out, "wait        mean %s, p50 %s, p95 %s, p99 %s, max %s (submit to start%s)\n",
                  orr_format_rough(a, s->waits.mean_s), quantile(&s->waits, s->waits.p50_s, b),
                  quantile(&s->waits, s->waits.p95_s, c), quantile(&s->waits, s->waits.p99_s, d),
                  orr_format_rough(e, s->waits.max_s),
                  unstarted > 0 ? "; mean and max of those that started" : "");
    text_waited_before(r, out);
    if (s->has_nevers) {
        text_nevers(r, out);
    }
    text_waiting(r, out);
    if (s->impatient) {
        (void)fprintf(out, "gave up     %llu of %llu job%s left before they started\n",
                      (unsigned long long)s->waits.gave_up, (unsigned long long)s->waits.jobs,
                      ORR_PLURAL(s->waits.jobs));
    }
    (void)fprintf(out, "slowdown    mean %s (bounded, 10 s); JCT mean %s\n", ratio(s->bsld_mean, a),
                  orr_format_rough(b, s->finish.jct.mean_s));
    const bool of_cpus = isnan(s->gpu_occupancy) && !isnan(s->cpu_occupancy);
    (void)fprintf(out,
                  "occupancy   %s of %s time in the window was allocated; longest queue of the "
                  "run %u job%s\n",
                  ratio(of_cpus ? s->cpu_occupancy : s->gpu_occupancy, a), of_cpus ? "CPU" : "GPU",
                  r->run->queue_len_max, ORR_PLURAL(r->run->queue_len_max));
    text_phases(s, out);
    text_fairness(s, out);
    text_attained(r, out);
    text_pools(s, out);
    text_evictions(s, out);
    if (s->suspensions > 0) {
        (void)fprintf(out, "suspensions %llu, %s h; who is suspended keeps its GPUs and memory\n",
                      (unsigned long long)s->suspensions, orr_cli_gpu_hours(s->suspended_h, a));
    }
    text_latency(r, out);
    text_rules(s, out);
    text_forgotten(r, out);
    orr_point_unheeded(r->world, r->shards, text_unheeded, out);
    if (s->shard_count > 1) {
        text_shards(r, out);
    }
    text_queues(r, out);
    (void)fprintf(out, "\nevents %llu, cycles %llu, digest %016llx\n",
                  (unsigned long long)r->run->events, (unsigned long long)r->run->cycles,
                  (unsigned long long)r->run->digest);
    if (r->output != NULL) {
        (void)fprintf(out, "results in %s\n", r->output);
    }
}
