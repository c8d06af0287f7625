/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_forecast.c - `orrery forecast`: when the jobs start that wait at a moment. */
#include <math.h>
#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/analysis/plot.h>
#include <orrery/base/text.h>
#include <orrery/sim/forecast.h>

#include "cli_now.h"

enum {
    KEY_AT = 256,
    KEY_JOB,
    KEY_ROW,
    KEY_FUTURES,
    KEY_HORIZON,
    KEY_ARRIVALS,
    KEY_HISTORY,
    KEY_CHECK,
    KEY_REHEARSE,
    KEY_SEED,
    KEY_ALL,
    KEY_TRACE,
    KEY_FORMAT,
    KEY_CLUSTER,
    KEY_POLICY,
    KEY_PARAM,
    KEY_SET,
    KEY_VARIANT,
    KEY_THEN,
    KEY_PLOT,
    KEY_LOSS
};

/* Of names at least, and of what stands between those and the times of a change. */
enum { JOB_COLUMNS = 20, QUEUE_COLUMNS = 14, CHANGE_COLUMNS = 31 };
enum { FUTURES_MAX = 100000, MOMENTS_MAX = 10000, JOBS_SHOWN = 20 };

struct forecast_options {
    struct orr_cli_common common;
    struct orr_forecast_options ask;
    const char *clusters[ORR_CLI_LIST_MAX], *sets[ORR_CLI_LIST_MAX], *params[ORR_CLI_LIST_MAX];
    const char *thens[ORR_FORECAST_THENS];
    const char *plot, *term;
    bool draws;
    bool all, arrivals_given;
    struct orr_cli_now now;
};

static void take_horizon(struct argp_state *state, struct forecast_options *o, const char *text)
{
    if (!orr_parse_duration(text, strlen(text), &o->ask.horizon_ms) || o->ask.horizon_ms <= 0) {
        argp_error(state, "--horizon: \"%s\" is not a duration such as 7d or 12h", text);
    }
}

static void take_arrivals(struct argp_state *state, struct forecast_options *o, const char *text)
{
    if (strcmp(text, "none") != 0 && strcmp(text, "model") != 0) {
        argp_error(state, "--arrivals: \"%s\" is neither none nor model", text);
    }
    o->ask.arrivals = strcmp(text, "model") == 0;
    o->arrivals_given = true;
}

static void take_then(struct argp_state *state, struct forecast_options *o, const char *text)
{
    if (o->ask.then_count == ORR_FORECAST_THENS) {
        argp_error(state, "--then: more than %d", (int)ORR_FORECAST_THENS);
    }
    o->thens[o->ask.then_count++] = text;
}

static error_t parse_scenario(int key, char *arg, struct argp_state *state)
{
    struct forecast_options *o = state->input;
    struct orr_scenario_options *scenario = &o->ask.scenario;
    switch (key) {
    case KEY_TRACE: scenario->trace = orr_cli_dash(arg); return 0;
    case KEY_FORMAT: scenario->format = arg; return 0;
    case KEY_CLUSTER: orr_cli_append(state, o->clusters, &scenario->cluster_count, arg); return 0;
    case KEY_POLICY: scenario->policy = arg; return 0;
    case KEY_PARAM: orr_cli_append(state, o->params, &scenario->param_count, arg); return 0;
    case KEY_SET: orr_cli_append(state, o->sets, &scenario->set_count, arg); return 0;
    case KEY_VARIANT: scenario->variant = arg; return 0;
    case KEY_LOSS: o->ask.allow_loss_ppm = orr_cli_loss(state, arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void look_at_end(struct argp_state *state, struct forecast_options *o)
{
    if (o->ask.scenario.path == NULL && o->ask.scenario.trace == NULL) {
        argp_error(state, "name a scenario file, or --trace T --cluster NxG");
    }
    o->ask.scenario.path = orr_cli_input(o->ask.scenario.path); /* it is looked into below */
    if (o->ask.scenario.path != NULL && o->ask.at == NULL && o->ask.moments == 0 &&
        orr_snapshot_is_one(orr_cli_dash(o->ask.scenario.path))) {
        o->ask.at =
            "0"; /* its time; what came before is known of those alone that are still there */
        o->ask.rehearsals = 0;
        o->ask.arrivals = o->ask.arrivals && o->arrivals_given;
    }
    if ((o->ask.at == NULL) == (o->ask.moments == 0)) {
        argp_error(state, o->ask.at == NULL ? "--at says from when, or --check-against holds past "
                                              "forecasts against what came"
                                            : "--check-against chooses its moments: no --at");
    }
    if (o->ask.moments > 0 && (o->ask.job != NULL || o->ask.row != NULL)) {
        argp_error(state, "--check-against is about all jobs that wait: no --job, no --row");
    }
    if (o->ask.moments > 0 && (o->plot != NULL || o->term != NULL)) {
        argp_error(state, "--check-against has no figure: no --plot, no --term");
    }
    o->draws = orr_cli_draws(state, o->plot, o->term);
    if (o->ask.then_count > 0 && o->ask.job == NULL && o->ask.row == NULL) {
        argp_error(state, "--then is about one job: --job, or --row");
    }
    if (o->ask.job != NULL && o->ask.row != NULL) {
        argp_error(state, "--job waits already, --row comes now: one of them");
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct forecast_options *o = state->input;
    int64_t rehearsals = 0;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->now;
        state->child_inputs[1] = &o->common;
        return 0;
    case KEY_AT: o->ask.at = arg; return 0;
    case KEY_JOB: o->ask.job = arg; return 0;
    case KEY_ROW: o->ask.row = arg; return 0;
    case KEY_THEN: take_then(state, o, arg); return 0;
    case KEY_FUTURES:
        o->ask.futures = orr_cli_count(state, "--futures", arg, FUTURES_MAX);
        return 0;
    case KEY_HORIZON: take_horizon(state, o, arg); return 0;
    case KEY_ARRIVALS: take_arrivals(state, o, arg); return 0;
    case KEY_HISTORY: o->ask.history = orr_cli_dash(arg); return 0;
    case KEY_CHECK:
        o->ask.moments =
            arg == NULL ? 200 : orr_cli_count(state, "--check-against", arg, MOMENTS_MAX);
        return 0;
    case KEY_REHEARSE:
        if (!orr_parse_i64(arg, strlen(arg), &rehearsals) || rehearsals < 0 ||
            rehearsals > MOMENTS_MAX) {
            argp_error(state, "--rehearse: \"%s\" is not a whole number up to %d", arg,
                       MOMENTS_MAX);
        }
        o->ask.rehearsals = (uint32_t)rehearsals;
        return 0;
    case KEY_SEED: o->ask.seed = orr_cli_seed(state, arg); return 0;
    case KEY_ALL: o->all = true; return 0;
    case KEY_PLOT: o->plot = arg; return 0;
    case 't': o->term = arg; return 0;
    case 'j': o->ask.study.jobs = orr_cli_count(state, "-j", arg, 10000); return 0;
    case ARGP_KEY_ARG:
        if (o->ask.scenario.path != NULL) {
            argp_error(state, "one scenario at a time: \"%s\"?", arg);
        }
        o->ask.scenario.path = arg;
        return 0;
    case ARGP_KEY_END: look_at_end(state, o); return 0;
    default: return parse_scenario(key, arg, state);
    }
}

/* --- text --- */

/* From the moment until then; beyond the horizon as more than that. */
static const char *until(char *out, const struct orr_forecast_options *ask, orr_ms now, orr_ms then)
{
    char text[32];
    const bool beyond = then == ORR_MS_NEVER;
    (void)orr_format_rough(text, (double)(beyond ? ask->horizon_ms : then - now) / 1000.0);
    (void)snprintf(out, 40, "%s%s", beyond ? "> " : "",
                   !beyond && then - now < 1000 ? "now" : text);
    return out;
}

/* The two names of a row, `jobs` and `queues` fitted to them. */
static void print_names(const struct orr_name_column *jobs, const struct orr_name_column *queues,
                        uint32_t row)
{
    orr_pad(stdout, jobs->shorts[row], jobs->width + 1);
    orr_pad(stdout, queues->shorts[row], queues->width + 1);
}

static void print_legends(const struct orr_name_column *jobs, const struct orr_name_column *queues)
{
    orr_short_legend(stdout, "", jobs->names, jobs->shorts, jobs->count);
    orr_short_legend(stdout, "", queues->names, queues->shorts, queues->count);
}

static void open_names(struct orr_name_column *jobs, struct orr_name_column *queues, uint32_t count,
                       struct orr_arena *arena)
{
    jobs->count = queues->count = count;
    jobs->names = orr_arena_alloc(arena, count + (size_t)1, sizeof *jobs->names);
    queues->names = orr_arena_alloc(arena, count + (size_t)1, sizeof *queues->names);
}

static void fit_names(struct orr_name_column *jobs, struct orr_name_column *queues,
                      struct orr_arena *arena)
{
    orr_name_column_of(jobs, JOB_COLUMNS, arena);
    orr_name_column_of(queues, QUEUE_COLUMNS, arena);
}

static void print_job(const struct orr_forecast_options *ask, const struct orr_forecast *forecast,
                      const struct orr_forecast_job *job)
{
    char waited[40], low[40], median[40], high[40];
    (void)orr_format_rough(waited, (double)(forecast->at_ms - job->waits_since_ms) / 1000.0);
    (void)printf("%5g %9s %10s %10s %10s %5.0f%% %7.0f%%  %s\n", job->gpus, waited,
                 until(low, ask, forecast->at_ms, job->low_ms),
                 until(median, ask, forecast->at_ms, job->median_ms),
                 until(high, ask, forecast->at_ms, job->high_ms), 100.0 * job->within_hour,
                 100.0 * job->not_started, job->code[0] != '\0' ? job->code : "nothing");
}

/* Futures in which no job of the table ends right before the start; `width` is of its first
 * columns. */
static void print_share(const char *what, int width, double share)
{
    if (share >= 0.005) {
        (void)printf("%-*s %12.0f %%\n", width, what, 100.0 * share);
    }
}

/* Whatever else makes up all futures beside the jobs that are named. */
static void print_others(const struct orr_forecast *forecast, int width)
{
    double others =
        1.0 - forecast->after_later - forecast->after_none - forecast->jobs[0].not_started;
    for (uint32_t c = 0; c < forecast->change_count; c++) {
        others -= forecast->changes[c].share;
    }
    print_share("another job that is here", width, others);
    print_share("a job that comes later", width, forecast->after_later);
    print_share("no job's end", width, forecast->after_none);
    print_share("(does not start)", width, forecast->jobs[0].not_started);
}

/* What one job waits for, and what would be without it. */
static void print_changes(const struct forecast_options *o, const struct orr_forecast *forecast)
{
    const orr_ms now = forecast->at_ms;
    char low[40], median[40], high[40];
    if (forecast->jobs[0].code[0] != '\0') {
        (void)printf("\nIt waits: %s.\n", forecast->jobs[0].reason);
    } else {
        (void)fputs("\nIt waits for nothing: it starts at once.\n", stdout);
    }
    if (forecast->pool_count > 0) {
        (void)fputs("It starts on", stdout);
        for (uint32_t p = 0; p < forecast->pool_count; p++) {
            (void)printf("%s pool %s in %.0f %%", p == 0 ? "" : ",", forecast->pools[p].name,
                         100.0 * forecast->pools[p].share);
        }
        (void)fputs(" of the futures.\n", stdout);
    }
    if (forecast->change_count == 0 && forecast->after_later <= 0.0) {
        return;
    }
    struct orr_arena arena;
    struct orr_name_column jobs, queues;
    orr_arena_init(&arena);
    open_names(&jobs, &queues, forecast->change_count, &arena);
    for (uint32_t c = 0; c < forecast->change_count; c++) {
        jobs.names[c] = forecast->changes[c].job;
        queues.names[c] = forecast->changes[c].queue;
    }
    fit_names(&jobs, &queues, &arena);
    (void)printf("\n%-*s %-*s %5s %-8s %14s   %s\n%-*s   %10s %10s %10s\n", jobs.width,
                 "starts right after", queues.width, "queue", "GPUs", "now", "of the futures",
                 "were that job gone at once", jobs.width + queues.width + CHANGE_COLUMNS, "",
                 "10 % in", "half in", "90 % in");
    for (uint32_t c = 0; c < forecast->change_count; c++) {
        const struct orr_forecast_change *change = &forecast->changes[c];
        print_names(&jobs, &queues, c);
        (void)printf("%5g %-8s %12.0f %%   %10s %10s %10s\n", change->gpus,
                     change->running ? "runs" : "waits", 100.0 * change->share,
                     until(low, &o->ask, now, change->low_ms),
                     until(median, &o->ask, now, change->median_ms),
                     until(high, &o->ask, now, change->high_ms));
    }
    print_others(forecast, jobs.width + queues.width + 16);
    print_legends(&jobs, &queues);
    orr_arena_release(&arena);
}

/* When it would start if the scenario were another from now on. */
static void print_thens(const struct forecast_options *o, const struct orr_forecast *forecast)
{
    const orr_ms now = forecast->at_ms;
    char low[40], median[40], high[40];
    if (forecast->then_count == 0) {
        return;
    }
    (void)printf("\n%-64s   %10s %10s %10s\n", "if this held from now on", "10 % in", "half in",
                 "90 % in");
    for (uint32_t i = 0; i < forecast->then_count; i++) {
        const struct orr_forecast_then *then = &forecast->thens[i];
        (void)printf(
            "%-64s   %10s %10s %10s\n", then->change, until(low, &o->ask, now, then->low_ms),
            until(median, &o->ask, now, then->median_ms), until(high, &o->ask, now, then->high_ms));
    }
}

static bool is_of_one(const struct forecast_options *o, const struct orr_forecast *forecast)
{
    return (o->ask.job != NULL || o->ask.row != NULL) && forecast->job_count == 1;
}

/* Where run times come from of what is not over. */
static void print_runs(const struct forecast_options *o, const struct orr_forecast_runs *runs)
{
    if (runs->drawn > 0) {
        (void)printf("How long %u job%s run%s is drawn from ", runs->drawn, ORR_PLURAL(runs->drawn),
                     ORR_ONE(runs->drawn, "s", ""));
        if (runs->ended > 0 || runs->history == 0) {
            (void)printf("%u that ended, ", runs->ended);
        }
        if (runs->history > 0) {
            (void)printf("%u of %s, ", runs->history, o->ask.history);
        }
        const uint32_t running = runs->ages - runs->again;
        (void)printf("and the age%s of %u that run%s", ORR_PLURAL(runs->ages), running,
                     ORR_ONE(running, "s", ""));
        if (runs->again > 0) {
            (void)printf(" and %u that ran and wait%s again", runs->again,
                         ORR_ONE(runs->again, "s", ""));
        }
        (void)printf("%s.\n", o->now.is_one && runs->history == 0
                                  ? "; --history, or --remaining and --run-time, say more"
                                  : "");
    }
    if (runs->known > 0) {
        (void)printf("How long %u job%s run%s is known beforehand%s.\n", runs->known,
                     ORR_PLURAL(runs->known), ORR_ONE(runs->known, "s", ""),
                     o->now.remaining_ms != ORR_MS_NONE || o->now.run_ms != ORR_MS_NONE
                         ? ", as --remaining and --run-time say"
                         : "");
    }
}

/* Rehearsals move the ends of an interval and nothing else: a start that no future reached may have
 * a lower end all the same. */
static void print_stretch(const struct orr_forecast *forecast)
{
    if (forecast->stretch_low != 1.0 || forecast->stretch_high != 1.0) {
        (void)printf(
            "10 %% and 90 %% are moved away from the middle by what forecasts of earlier "
            "moments missed (%.2g and %.2g times, on a scale of logarithms), each job's by "
            "themselves, so that they may come before those of a job that starts earlier "
            "in every future; all else is of the futures as they are.\n",
            forecast->stretch_low, forecast->stretch_high);
    }
}

static void print_jobs(const struct forecast_options *o, const struct orr_forecast *forecast,
                       uint32_t shown)
{
    struct orr_arena arena;
    struct orr_name_column jobs, queues;
    orr_arena_init(&arena);
    open_names(&jobs, &queues, shown, &arena);
    for (uint32_t i = 0; i < shown; i++) {
        jobs.names[i] = forecast->jobs[i].name;
        queues.names[i] = forecast->jobs[i].queue;
    }
    fit_names(&jobs, &queues, &arena);
    (void)printf("\n%-*s %-*s %5s %9s %10s %10s %10s %6s %8s  %s\n", jobs.width, "job",
                 queues.width, "queue", "GPUs", "waits for", "10 % in", "half in", "90 % in",
                 "in 1 h", "not yet", "held by");
    for (uint32_t i = 0; i < shown; i++) {
        print_names(&jobs, &queues, i);
        print_job(&o->ask, forecast, &forecast->jobs[i]);
    }
    print_legends(&jobs, &queues);
    orr_arena_release(&arena);
}

/* No end of another job lets them start. */
static void print_nevers(const struct orr_forecast *forecast)
{
    const struct orr_forecast_job *first = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < forecast->job_count; i++) {
        if (forecast->jobs[i].never) {
            first = count++ == 0 ? &forecast->jobs[i] : first;
        }
    }
    if (count > 0) {
        (void)printf("\n%u of %u job%s could not start even on the empty cluster: first %s (%s)\n",
                     count, forecast->job_count, ORR_PLURAL(forecast->job_count), first->name,
                     first->reason);
    }
}

static void print_forecast(const struct forecast_options *o, const struct orr_forecast *forecast)
{
    char at[40], horizon[32];
    (void)orr_format_clock(at, forecast->at_ms, forecast->origin_ms);
    (void)orr_format_rough(horizon, (double)o->ask.horizon_ms / 1000.0);
    (void)printf("At %s: %u job%s waiting, %u running, %u ended. %u future%s of up to %s; ", at,
                 forecast->waiting, ORR_PLURAL(forecast->waiting), forecast->running,
                 forecast->ended, o->ask.futures, ORR_PLURAL(o->ask.futures), horizon);
    if (forecast->days > 0) {
        (void)printf("what comes is drawn from the last %u day%s.\n", forecast->days,
                     ORR_PLURAL(forecast->days));
    } else {
        (void)fputs("nothing more comes.\n", stdout);
    }
    print_runs(o, &forecast->runs);
    if (forecast->job_count == 0) {
        return;
    }
    print_stretch(forecast);
    const uint32_t shown =
        o->all || forecast->job_count <= JOBS_SHOWN ? forecast->job_count : JOBS_SHOWN;
    print_jobs(o, forecast, shown);
    if (shown < forecast->job_count) {
        (void)printf("%u more: --all, or --job NAME\n", forecast->job_count - shown);
    }
    print_nevers(forecast);
    if (is_of_one(o, forecast)) {
        print_changes(o, forecast);
        print_thens(o, forecast);
    }
}

static void print_score(const struct forecast_options *o, const struct orr_forecast *forecast)
{
    const struct orr_forecast_score *score = &forecast->score;
    char width[40], error[40], naive[40], error_median[40], naive_median[40];
    (void)printf("%llu forecast%s at %u moment%s, %u future%s each",
                 (unsigned long long)score->forecasts, ORR_PLURAL(score->forecasts), score->moments,
                 ORR_PLURAL(score->moments), o->ask.futures, ORR_PLURAL(o->ask.futures));
    if (score->unresolved > 0) {
        (void)printf("; %llu more of jobs that never started",
                     (unsigned long long)score->unresolved);
    }
    (void)printf(
        "\n80 %% intervals cover %.1f %% of the starts (%.1f %% came before, %.1f %% after; "
        "mean over moments %.1f %%)\n",
        100.0 * score->covered, 100.0 * score->low, 100.0 * score->high,
        100.0 * score->covered_moments);
    if (isinf(score->width_s)) {
        (void)fputs("half of them reach beyond the horizon\n", stdout);
    } else {
        (void)printf("half of them are no wider than %s\n",
                     orr_format_rough(width, score->width_s));
    }
    (void)printf("median off by %s in the mean (half by no more than %s); the mean of the last 100 "
                 "waits of queue and size by %s (%s): %+.0f %%\n",
                 orr_format_rough(error, score->error_s),
                 orr_format_rough(error_median, score->error_median_s),
                 orr_format_rough(naive, score->naive_s),
                 orr_format_rough(naive_median, score->naive_median_s),
                 100.0 * (score->error_s / score->naive_s - 1.0));
    (void)printf("chance to start within 1 h: mean squared error %.3f\n", score->brier);
}

/* --- JSON --- */

static void json_time(struct orr_json *json, const char *key, orr_ms at)
{
    orr_json_seconds(json, key, at == ORR_MS_NEVER ? ORR_MS_NONE : at);
}

static void json_score(struct orr_json *json, const struct orr_forecast_score *score)
{
    orr_json_int(json, "moments", score->moments);
    orr_json_int(json, "forecasts", (int64_t)score->forecasts);
    orr_json_int(json, "never_started", (int64_t)score->unresolved);
    orr_json_real(json, "covered", score->covered);
    orr_json_real(json, "covered_moments", score->covered_moments);
    orr_json_real(json, "before", score->low);
    orr_json_real(json, "after", score->high);
    orr_json_real(json, "width_s", isinf(score->width_s) ? (double)NAN : score->width_s);
    orr_json_real(json, "error_s", score->error_s);
    orr_json_real(json, "error_median_s", score->error_median_s);
    orr_json_real(json, "naive_error_s", score->naive_s);
    orr_json_real(json, "naive_error_median_s", score->naive_median_s);
    orr_json_real(json, "within_1h_squared_error", score->brier);
}

static void json_runs(struct orr_json *json, const struct orr_forecast_runs *runs)
{
    orr_json_open(json, "run_times", '{');
    orr_json_int(json, "drawn", runs->drawn);
    orr_json_int(json, "known", runs->known);
    orr_json_int(json, "from_ended", runs->ended);
    orr_json_int(json, "from_ages", runs->ages);
    orr_json_int(json, "from_history", runs->history);
    orr_json_close(json, '}');
}

static void json_jobs(struct orr_json *json, const struct orr_forecast *forecast)
{
    json_time(json, "at_s", forecast->at_ms);
    orr_json_int(json, "waiting", forecast->waiting);
    orr_json_int(json, "running", forecast->running);
    orr_json_int(json, "ended", forecast->ended);
    orr_json_int(json, "days", forecast->days);
    orr_json_real(json, "stretch_low", forecast->stretch_low);
    orr_json_real(json, "stretch_high", forecast->stretch_high);
    json_runs(json, &forecast->runs);
    orr_json_open(json, "jobs", '[');
    for (uint32_t i = 0; i < forecast->job_count; i++) {
        const struct orr_forecast_job *job = &forecast->jobs[i];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "job", job->name);
        orr_json_text(json, "queue", job->queue);
        orr_json_text(json, "user", job->user);
        orr_json_real(json, "gpus", job->gpus);
        json_time(json, "submit_s", job->submit_ms);
        json_time(json, "waits_since_s", job->waits_since_ms);
        orr_json_text(json, "held_by", job->code);
        orr_json_text(json, "held_by_words", job->reason);
        orr_json_bool(json, "never", job->never);
        json_time(json, "start_p10_s", job->low_ms);
        json_time(json, "start_p50_s", job->median_ms);
        json_time(json, "start_p90_s", job->high_ms);
        orr_json_real(json, "within_1h", job->within_hour);
        orr_json_real(json, "not_started", job->not_started);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_changes(struct orr_json *json, const struct orr_forecast *forecast)
{
    orr_json_open(json, "changes", '[');
    for (uint32_t c = 0; c < forecast->change_count; c++) {
        const struct orr_forecast_change *change = &forecast->changes[c];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "without", change->job);
        orr_json_text(json, "queue", change->queue);
        orr_json_real(json, "gpus", change->gpus);
        orr_json_bool(json, "running", change->running);
        orr_json_real(json, "starts_right_after", change->share);
        json_time(json, "start_p10_s", change->low_ms);
        json_time(json, "start_p50_s", change->median_ms);
        json_time(json, "start_p90_s", change->high_ms);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_real(json, "starts_after_later_job", forecast->after_later);
    orr_json_real(json, "starts_after_no_end", forecast->after_none);
    orr_json_open(json, "pools", '[');
    for (uint32_t p = 0; p < forecast->pool_count; p++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "pool", forecast->pools[p].name);
        orr_json_real(json, "starts_there", forecast->pools[p].share);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_thens(struct orr_json *json, const struct orr_forecast *forecast)
{
    orr_json_open(json, "thens", '[');
    for (uint32_t i = 0; i < forecast->then_count; i++) {
        const struct orr_forecast_then *then = &forecast->thens[i];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "then", then->change);
        json_time(json, "start_p10_s", then->low_ms);
        json_time(json, "start_p50_s", then->median_ms);
        json_time(json, "start_p90_s", then->high_ms);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void print_json(const struct forecast_options *o, const struct orr_forecast *forecast)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_int(&json, "futures", o->ask.futures);
    orr_json_seconds(&json, "horizon_s", o->ask.horizon_ms);
    if (o->ask.moments > 0) {
        json_score(&json, &forecast->score);
    } else {
        json_jobs(&json, forecast);
        if (is_of_one(o, forecast)) {
            json_changes(&json, forecast);
            json_thens(&json, forecast);
        }
    }
    orr_json_close(&json, '}');
}

/* --- the figure --- */

static double seconds_until(orr_ms now, orr_ms then)
{
    return then == ORR_MS_NEVER ? (double)INFINITY : (double)(then - now) / 1000.0;
}

static enum orr_status plot_starts(const struct forecast_options *o, struct orr_forecast *forecast,
                                   struct orr_err *err)
{
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    const uint32_t jobs =
        o->all || forecast->job_count <= JOBS_SHOWN ? forecast->job_count : JOBS_SHOWN;
    struct orr_plot_start *starts = orr_arena_alloc(
        &forecast->arena, jobs + forecast->change_count + (size_t)1, sizeof *starts);
    const orr_ms now = forecast->at_ms;
    char title[160], at[40];
    uint32_t count = 0;
    for (uint32_t i = 0; i < jobs; i++) {
        const struct orr_forecast_job *job = &forecast->jobs[i];
        starts[count++] = (struct orr_plot_start){.name = job->name,
                                                  .low_s = seconds_until(now, job->low_ms),
                                                  .median_s = seconds_until(now, job->median_ms),
                                                  .high_s = seconds_until(now, job->high_ms)};
    }
    for (uint32_t c = 0; c < forecast->change_count; c++) {
        const struct orr_forecast_change *change = &forecast->changes[c];
        char name[80];
        (void)snprintf(name, sizeof name, "without %.60s", change->job);
        starts[count++] =
            (struct orr_plot_start){.name = orr_arena_strndup(&forecast->arena, name, strlen(name)),
                                    .low_s = seconds_until(now, change->low_ms),
                                    .median_s = seconds_until(now, change->median_ms),
                                    .high_s = seconds_until(now, change->high_ms),
                                    .is_change = true};
    }
    (void)orr_format_clock(at, now, forecast->origin_ms);
    if (is_of_one(o, forecast)) {
        (void)snprintf(title, sizeof title, "When job %.60s starts, as seen at %s",
                       forecast->jobs[0].name, at);
    } else {
        (void)snprintf(title, sizeof title, "When jobs start that wait at %s, %u of %u", at,
                       (unsigned)jobs, (unsigned)forecast->job_count);
    }
    const struct orr_plot_starts what = {.title = title,
                                         .rows = starts,
                                         .count = count,
                                         .horizon_s = (double)o->ask.horizon_ms / 1000.0};
    options.dir = o->plot;
    options.term = o->term;
    return orr_plot_starts(&what, &options, orr_cli_plotted, NULL, err);
}

static const struct argp_option rows[] = {
    {0, 0, 0, 0, "When, and how far:", 1},
    {"at", KEY_AT, "TIME", 0, "the moment: " ORR_CLI_TIME_HELP, 1},
    {"horizon", KEY_HORIZON, "DURATION", 0, "futures go on for so long after it (default 7d)", 1},
    {"futures", KEY_FUTURES, "N", 0, "how many (default 100)", 1},
    {"job", KEY_JOB, "NAME", 0, "this one only, instead of all that wait", 1},
    {"row", KEY_ROW, "COLUMN=VALUE,...", 0,
     "instead a job that is submitted at the moment, in the words of a native trace: "
     "gpus=16,queue=research,user=ann,run_s=7200 (how long it runs is known if it says run_s, or "
     "if "
     "--run-time does; only those who go by estimates look at it)",
     1},
    {"then", KEY_THEN, "PATH=VALUE", 0,
     "of --job or --row: also when it would start if this held from the moment on (beside a node "
     "more where it starts most often and, where quotas count, a quota higher by its GPUs)",
     1},
    {"arrivals", KEY_ARRIVALS, "none|model", 0,
     "what comes after the moment: days of the past, drawn anew (model, the default), or nothing "
     "(the default of a snapshot)",
     1},
    {"history", KEY_HISTORY, "TRACE", 0, "its run times count beside those that ended by then", 1},
    {"seed", KEY_SEED, "N", 0, "of what is drawn (default 0)", 1},
    {"check-against", KEY_CHECK, "N", OPTION_ARG_OPTIONAL,
     "instead: forecasts at N moments of the past (default 200), held against what came: how many "
     "starts the intervals cover, how wide they are, how far the median is off",
     1},
    {"rehearse", KEY_REHEARSE, "N", 0,
     "forecasts of N earlier moments first (default 20), whose misses set the width of the "
     "intervals; with --check-against earlier moments do, unless N is 0",
     1},
    {"all", KEY_ALL, 0, 0, "print, or draw, all jobs, not only the first 20", 1},
    {"plot", KEY_PLOT, "DIR", 0, "draw the intervals there (forecast-starts.svg)", 1},
    {"term", 't', "svg|png|pdf|dumb", 0, "what --plot draws (default svg)", 1},
    {0, 'j', "N", 0, "processes at a time (default one a core)", 1},
    {0, 0, 0, 0, "What to run:", 2},
    {"policy", KEY_POLICY, "NAME", 0, "scheduling policy", 2},
    {"param", KEY_PARAM, "NAME=VALUE", 0, "a parameter of the policy", 2},
    {"set", KEY_SET, "PATH=VALUE", 0, "change a value of the scenario", 2},
    {"variant", KEY_VARIANT, "NAME", 0, "a variant of the scenario", 2},
    {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL, ORR_CLI_LOSS_HELP, 2},
    {"trace", KEY_TRACE, "FILE", 0, "without a scenario: the trace", 2},
    {"format", KEY_FORMAT, "NAME", 0, "its format", 2},
    {"cluster", KEY_CLUSTER, "NxG[:MODEL]", 0, "and nodes; may be given several times", 2},
    {0}};

int orr_cli_forecast(int argc, char **argv)
{
    const struct argp_child children[] = {
        {&orr_cli_now_without_history_argp, 0,
         "A snapshot in place of a scenario, from its own time on:", 3},
        orr_cli_everywhere[0],
        {0}};
    const struct argp argp = {
        rows,
        parse,
        "[SCENARIO|SNAPSHOT]",
        "When will the jobs start that wait at a moment? The scenario is replayed to it, and many "
        "futures from there: run times of what has not ended are drawn from what has (given how "
        "long it runs already), and what comes next from days of the past. Nothing that the trace "
        "says of the time after the moment has a part in it.\v"
        "Examples: orrery forecast cluster.json --history jobs.csv --job train-17; orrery forecast "
        "mine.yaml --at 2026-06-01",
        children,
        0,
        0};
    struct forecast_options o = {.ask = {.horizon_ms = (orr_ms)7 * 24 * 3600 * 1000,
                                         .futures = 100,
                                         .rehearsals = 20,
                                         .arrivals = true}};
    struct orr_progress progress;
    struct orr_forecast forecast;
    struct orr_err err = {0};
    o.ask.scenario.clusters = o.clusters;
    o.ask.scenario.sets = o.sets;
    o.ask.thens = o.thens;
    o.ask.scenario.params = o.params;
    orr_cli_now_init(&o.now);
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    o.ask.scenario.trace = orr_cli_input(o.ask.scenario.trace);
    if (o.plot != NULL && orr_cli_folder(o.plot, &err) != ORR_OK) {
        return orr_cli_fail(&err);
    }
    orr_progress_init(&progress, &o.common);
    o.ask.study.progress = orr_progress_draw;
    o.ask.study.again = orr_cli_again;
    o.ask.study.context = &progress;
    o.ask.warn = o.common.quiet ? NULL : orr_cli_warn;
    const char *path = o.ask.scenario.path;
    o.now.history = o.ask.history;
    o.ask.row_run_ms = o.now.run_ms != ORR_MS_NONE         ? o.now.run_ms
                       : o.now.remaining_ms != ORR_MS_NONE ? o.now.remaining_ms
                                                           : 0;
    enum orr_status status = orr_cli_now_open(&o.now, true, &o.ask.scenario, &err);
    if (status != ORR_OK) {
        orr_cli_now_close(&o.now);
        return orr_cli_fail(&err);
    }
    if (!o.common.quiet) {
        orr_cli_now_say(&o.now, path, stderr);
    }
    status = orr_forecast_make(&o.ask, &forecast, &err);
    orr_progress_clear(&progress);
    if (status == ORR_OK && o.common.json) {
        print_json(&o, &forecast);
    } else if (status == ORR_OK) {
        (o.ask.moments > 0 ? print_score : print_forecast)(&o, &forecast);
    }
    if (status == ORR_OK && o.draws && forecast.job_count > 0) {
        status = plot_starts(&o, &forecast, &err);
    }
    orr_forecast_release(&forecast);
    orr_cli_now_close(&o.now);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
