/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run_text.c - the answer of `orrery run` for people. */
#include <math.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/never.h>

#include "run_answer.h"

/* Jobs that wait though nothing happens any more, and of which the policy does not say why: it lost
 * sight of them. *first: one of them. */
uint32_t run_forgotten(const struct orr_report *r, uint32_t *first)
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
        (void)snprintf(out, 60, ": %s a useful GPU-hour", run_ratio(value, number));
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
    const uint32_t count = run_forgotten(r, &first);
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
                           run_ratio(phase->gpu_occupancy, share));
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
                  run_ratio(s->fairness_jain, jain), run_ratio(s->share_deviation, deviation),
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
        run_text_params(&r->shards[0], out);
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
                  orr_latency_name(&r->run->latency, name), run_ratio(s->scheduler_busy, busy),
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
                  orr_format_rough(a, s->waits.mean_s), run_quantile(&s->waits, s->waits.p50_s, b),
                  run_quantile(&s->waits, s->waits.p95_s, c),
                  run_quantile(&s->waits, s->waits.p99_s, d), orr_format_rough(e, s->waits.max_s),
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
    (void)fprintf(out, "slowdown    mean %s (bounded, 10 s); JCT mean %s\n",
                  run_ratio(s->bsld_mean, a), orr_format_rough(b, s->finish.jct.mean_s));
    const bool of_cpus = isnan(s->gpu_occupancy) && !isnan(s->cpu_occupancy);
    (void)fprintf(out,
                  "occupancy   %s of %s time in the window was allocated; longest queue of the "
                  "run %u job%s\n",
                  run_ratio(of_cpus ? s->cpu_occupancy : s->gpu_occupancy, a),
                  of_cpus ? "CPU" : "GPU", r->run->queue_len_max,
                  ORR_PLURAL(r->run->queue_len_max));
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
        run_text_shards(r, out);
    }
    run_text_queues(r, out);
    (void)fprintf(out, "\nevents %llu, cycles %llu, digest %016llx\n",
                  (unsigned long long)r->run->events, (unsigned long long)r->run->cycles,
                  (unsigned long long)r->run->digest);
    if (r->output != NULL) {
        (void)fprintf(out, "results in %s\n", r->output);
    }
}
