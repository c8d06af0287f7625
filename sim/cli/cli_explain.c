/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_explain.c - `orrery explain`: one job's story, or a queue's. */
#include <math.h>
#include <string.h>

#include <orrery/analysis/explain.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/study.h>

#include "cli.h"

enum { KEY_AT = 256, KEY_QUEUE, KEY_HELP, KEY_BY, KEY_STABILITY, KEY_REPLICAS };

enum { WAITING_SHOWN = 20 };

struct explain_options {
    struct orr_cli_common common;
    const char *results, *job, *queue, *at, *by;
    orr_ms at_ms, by_ms, origin_ms;
    uint32_t jobs, replicas; /* replicas 0: not asked for */
    bool help, stability;
};

/* A job, a queue, or all that wait at a time. */
static bool is_one_thing(const struct explain_options *o)
{
    return o->job == NULL && o->queue == NULL ? o->at != NULL : o->job == NULL || o->queue == NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct explain_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_AT: o->at = arg; return 0;
    case KEY_BY: o->by = arg; return 0;
    case 'j': o->jobs = orr_cli_count(state, "-j", arg, 10000); return 0;
    case KEY_QUEUE: o->queue = arg; return 0;
    case KEY_HELP: o->help = true; return 0;
    case KEY_STABILITY: o->stability = true; return 0;
    case KEY_REPLICAS: o->replicas = orr_cli_count(state, "--replicas", arg, 10000); return 0;
    case ARGP_KEY_ARG:
        if (o->results == NULL) {
            o->results = arg;
        } else if (o->job == NULL) {
            o->job = arg;
        } else {
            argp_error(state, "one job at a time: \"%s\"?", arg);
        }
        return 0;
    case ARGP_KEY_END:
        if (o->results == NULL || (o->stability ? o->job != NULL : !is_one_thing(o))) {
            argp_error(state, o->stability ? "--stability is about a whole run: name a results file"
                                           : "name a results file, and a job, --queue NAME or --at "
                                             "TIME");
        }
        if (o->stability ? o->at != NULL || o->help : o->replicas > 0) {
            argp_error(state, o->stability ? "--stability takes --replicas and --queue only"
                                           : "--replicas goes with --stability");
        }
        if (o->jobs > 0 && !o->help && !o->stability) {
            argp_error(state, "-j goes with --what-would-help and --stability, which run things");
        }
        if (o->help && o->job == NULL) {
            argp_error(state, "--what-would-help is about a job");
        }
        if (o->help ? o->at != NULL : o->by != NULL) {
            argp_error(state, o->help ? "--what-would-help takes --by, not --at"
                                      : "--by goes with --what-would-help");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ORR_MS_NONE also of a file that cannot be read, which others say. */
static orr_ms origin_of(const char *results)
{
    struct orr_results in;
    struct orr_err ignored = {0};
    orr_results_open(&in, results, &ignored);
    const orr_ms origin_ms = in.origin_ms;
    orr_results_close(&in);
    return origin_ms;
}

/* --- what would help --- */

struct answers { /* printed as they come */
    const struct explain_options *options;
    struct orr_progress progress;
    struct orr_json json;
    uint32_t changes, helpful;
};

/* Who waits longer for it: in all, in which queues, and who most. */
static void print_cost(const struct orr_help_cost *cost)
{
    char sum[24], one[24];
    if (cost->unknown != NULL) {
        (void)printf("      what it costs is not known: %s\n", cost->unknown);
        return;
    }
    (void)fputs("      ", stdout);
    if (cost->longer == 0) {
        (void)fputs("nobody else waits longer", stdout);
    } else {
        (void)printf("%u other%s longer, %s in all: ", cost->longer,
                     ORR_ONE(cost->longer, " waits", "s wait"),
                     orr_format_rough(sum, cost->longer_s));
        for (uint32_t q = 0; q < cost->queue_count; q++) {
            (void)printf("%s%s %u (%s)", q > 0 ? ", " : "", cost->queues[q].shown,
                         cost->queues[q].jobs, orr_format_rough(sum, cost->queues[q].longer_s));
        }
        (void)printf("; most %s of %s (+%s)", cost->most_job, cost->most_shown,
                     orr_format_rough(one, cost->most_s));
    }
    (void)printf("; %u wait%s less, %s in all\n", cost->shorter, ORR_ONE(cost->shorter, "s", ""),
                 orr_format_rough(sum, cost->shorter_s));
    if (cost->lost + cost->won > 0) {
        (void)printf("      %u of them do not start any more, %u start that did not\n", cost->lost,
                     cost->won);
    }
}

static void print_help(const struct orr_help *help, orr_ms origin_ms)
{
    char start[32], amount[24] = "";
    const bool chosen = help->set != NULL;
    if (help->wrong != NULL) {
        (void)printf("  %-48s cannot be tried: %s\n", help->what, help->wrong);
        return;
    }
    if (help->amount == 0 && chosen) {
        (void)printf("  %-48s does not help\n", help->what);
        return;
    }
    if (help->amount == 0) {
        (void)printf("  %-48s does not help (tried %lld %s)\n", help->what, (long long)help->most,
                     help->lever == ORR_LEVER_PODS ? "fewer" : "more");
        return;
    }
    if (!chosen) {
        (void)snprintf(amount, sizeof amount, "%+lld: ",
                       (long long)(help->lever == ORR_LEVER_PODS ? -help->amount : help->amount));
    }
    (void)printf("  %-48s %sit starts at %s", help->what, amount,
                 orr_format_clock(start, help->start_ms, origin_ms));
    if (chosen) {
        (void)printf("   --%s %s", help->lever == ORR_LEVER_POLICY ? "policy" : "set", help->set);
    } else if (help->path != NULL) {
        (void)printf("   --set %s+=%lld", help->path, (long long)help->amount);
    }
    (void)fputc('\n', stdout);
    print_cost(help->cost);
}

static void json_cost(struct orr_json *json, const struct orr_help_cost *cost)
{
    orr_json_open(json, "cost", '{');
    orr_json_text(json, "unknown", cost->unknown);
    orr_json_int(json, "longer_jobs", cost->longer);
    orr_json_real(json, "longer_s", cost->longer_s);
    orr_json_int(json, "shorter_jobs", cost->shorter);
    orr_json_real(json, "shorter_s", cost->shorter_s);
    orr_json_int(json, "lost_jobs", cost->lost);
    orr_json_int(json, "won_jobs", cost->won);
    orr_json_open(json, "queues", '[');
    for (uint32_t q = 0; q < cost->queue_count; q++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "queue", cost->queues[q].queue);
        orr_json_int(json, "jobs", cost->queues[q].jobs);
        orr_json_real(json, "longer_s", cost->queues[q].longer_s);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_text(json, "most_job", cost->most_job);
    orr_json_text(json, "most_queue", cost->most_queue);
    orr_json_real(json, "most_s", cost->most_job != NULL ? cost->most_s : (double)NAN);
    orr_json_close(json, '}');
}

static void json_help(struct orr_json *json, const struct orr_help *help)
{
    static const char *const levers[] = {"amount", "setting", "policy", "priority", "pods"};
    const bool helps = help->amount > 0;
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "lever", levers[help->lever]);
    orr_json_text(json, "what", help->what);
    orr_json_text(json, "path", help->path);
    orr_json_text(json, "set", help->set);
    orr_json_bool(json, "helps", helps);
    orr_json_real(json, "amount", helps ? (double)help->amount : (double)NAN);
    orr_json_int(json, "most", help->most);
    orr_json_text(json, "wrong", help->wrong);
    orr_json_seconds(json, "start_s", helps ? help->start_ms : ORR_MS_NONE);
    if (help->cost != NULL) {
        json_cost(json, help->cost);
    }
    orr_json_close(json, '}');
}

static void report(const struct orr_help *help, void *context)
{
    struct answers *answers = context;
    char goal[32], start[32];
    orr_progress_clear(&answers->progress);
    if (answers->options->common.json) {
        if (answers->changes == 0) {
            orr_json_open(&answers->json, NULL, '{');
            orr_json_text(&answers->json, "job", answers->options->job);
            orr_json_seconds(&answers->json, "goal_s", help->goal_ms);
            orr_json_seconds(&answers->json, "waited_until_s", help->waited_until_ms);
            orr_json_open(&answers->json, "changes", '[');
        }
        json_help(&answers->json, help);
    } else {
        if (answers->changes == 0) {
            const orr_ms origin_ms = answers->options->origin_ms;
            (void)orr_format_clock(goal, help->goal_ms, origin_ms);
            (void)orr_format_clock(start, help->waited_until_ms, origin_ms);
            (void)printf("It waited until %s. To start by %s, one of these alone; each was run:\n",
                         start, goal);
        }
        print_help(help, answers->options->origin_ms);
    }
    answers->changes++;
    answers->helpful += help->amount > 0;
}

static int what_would_help(const struct explain_options *o)
{
    struct answers answers = {.options = o, .json = {.out = stdout}};
    struct orr_err err = {0};
    orr_progress_init(&answers.progress, &o->common);
    const struct orr_help_options options = {
        .results = o->results,
        .job = o->job,
        .by_ms = o->by_ms,
        .study = {.jobs = o->jobs, .progress = orr_progress_draw, .context = &answers.progress}};
    const enum orr_status status = orr_study_help(&options, report, &answers, &err);
    orr_progress_clear(&answers.progress);
    if (status != ORR_OK) {
        return orr_cli_fail(&err);
    }
    if (o->common.json) {
        orr_json_close(&answers.json, ']');
        orr_json_close(&answers.json, '}');
    } else if (answers.helpful == 0) {
        (void)printf("none of them helps alone\n");
    }
    return answers.helpful == 0;
}

/* --- stability --- */

/* A share in percent, or a time. */
static const char *rough(double value, bool is_time, char out[40])
{
    if (is_time) {
        return orr_format_rough(out, value);
    }
    (void)snprintf(out, 40, "%.3g %%", 100 * value);
    return out;
}

static void print_spread(const char *what, const struct orr_study_spread *s, bool is_time)
{
    char mean[40], low[40], high[40], most[40], range[120] = "no interval";
    if (!isnan(s->low)) {
        (void)snprintf(range, sizeof range, "95 %% interval %s to %s", rough(s->low, is_time, low),
                       rough(s->high, is_time, high));
    }
    (void)printf("  %-34s %8s  (%s)", what, rough(s->mean, is_time, mean), range);
    if (s->most > 0) {
        (void)printf(", in one of them up to %s", rough(s->most, is_time, most));
    }
    (void)printf("\n");
}

static void json_spread(struct orr_json *json, const char *key, const struct orr_study_spread *s)
{
    orr_json_open(json, key, '{');
    orr_json_real(json, "mean", s->mean);
    orr_json_real(json, "low", s->low);
    orr_json_real(json, "high", s->high);
    orr_json_real(json, "most", s->most);
    orr_json_close(json, '}');
}

static void print_stability(const struct explain_options *o, const struct orr_stability *s)
{
    struct orr_json json = {.out = stdout};
    if (o->common.json) {
        orr_json_open(&json, NULL, '{');
        orr_json_int(&json, "replicas", s->replicas);
        orr_json_text(&json, "queue", o->queue); /* null: any */
        orr_json_int(&json, "jobs", (int64_t)s->jobs);
        orr_json_real(&json, "waiting_share", s->waiting_share);
        orr_json_int(&json, "untouched", s->untouched);
        orr_json_real(&json, "touched_at_most", s->touched_at_most); /* null: some were touched */
        json_spread(&json, "changed_jobs", &s->changed_jobs);
        json_spread(&json, "changed_gpu_h", &s->changed_gpu_h);
        json_spread(&json, "shift_s", &s->shift_s);
        orr_json_real(&json, "most_shift_s", s->most_shift_s);
        orr_json_close(&json, '}');
        return;
    }
    char most[40], part[80] = "";
    if (s->waiting_share > 0) {
        (void)snprintf(part, sizeof part, " in which something waits (%.2g %% of it)",
                       100 * s->waiting_share);
    }
    (void)printf(
        "Run again %u time%s, each with one more job: 1 GPU for 1 s at a random time of the "
        "window%s, in %s%s.\nOf %llu job%s of the window (services left out), so many started "
        "at another time than without it:\n",
        s->replicas, ORR_PLURAL(s->replicas), part, o->queue != NULL ? "queue " : "a random queue",
        o->queue != NULL ? o->queue : "", (unsigned long long)s->jobs, ORR_PLURAL(s->jobs));
    print_spread("jobs", &s->changed_jobs, false);
    print_spread("their part of all GPU-hours", &s->changed_gpu_h, false);
    print_spread("by how much, mean", &s->shift_s, true);
    (void)printf("  %-34s %8s\n  %-34s %8u of %u\n", "by how much, most",
                 orr_format_rough(most, s->most_shift_s), "times that nothing changed",
                 s->untouched, s->replicas);
    if (!isnan(s->touched_at_most)) {
        (void)printf("No start changed in any of them: with 95 %% confidence one more job at fewer "
                     "than %.0f %% of all such times changes one.\n",
                     100 * s->touched_at_most);
    }
}

static int stability(const struct explain_options *o)
{
    struct orr_progress progress;
    struct orr_stability found;
    struct orr_err err = {0};
    orr_progress_init(&progress, &o->common);
    const struct orr_stability_options options = {
        .results = o->results,
        .queue = o->queue,
        .replicas = o->replicas > 0 ? o->replicas : 20,
        .study = {.jobs = o->jobs, .progress = orr_progress_draw, .context = &progress}};
    const enum orr_status status = orr_study_stability(&options, &found, &err);
    orr_progress_clear(&progress);
    if (status != ORR_OK) {
        return orr_cli_fail(&err);
    }
    print_stability(o, &found);
    return 0;
}

int orr_cli_explain(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"at", KEY_AT, "TIME", 0,
         "why it waits then, without a job all that wait: " ORR_CLI_TIME_HELP, 1},
        {"queue", KEY_QUEUE, "NAME", 0, "why this queue gets what it gets", 1},
        {"what-would-help", KEY_HELP, 0, 0,
         "the smallest single changes with which the job first starts in time, found by running "
         "them; "
         "exit code 1: there is none",
         1},
        {"by", KEY_BY, "TIME", 0, "in time: by then (default: after half the wait)", 1},
        {"stability", KEY_STABILITY, 0, 0,
         "how many starts one more job of 1 GPU for 1 s changes, at a random time of the window "
         "and in --queue (else a random one), found by running it again",
         1},
        {"replicas", KEY_REPLICAS, "N", 0, "with --stability: so many times (default 20)", 1},
        {"jobs", 'j', "N", 0, "runs at a time (default: one a core)", 1},
        {0}};
    const struct argp parser = {
        rows,
        parse,
        "R.db JOB\nR.db --at TIME\nR.db --queue NAME\nR.db --stability",
        "Tell the story of one job: waits with reasons and numbers, places, "
        "evictions, who took its place; or say who waits at a time and why, why a queue gets what "
        "it gets, or how much of the run hangs on a trifle.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct explain_options o = {.at_ms = ORR_MS_NONE, .by_ms = ORR_MS_NONE};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    enum orr_status status = orr_cli_time(o.results, "--at", o.at, &o.at_ms, &err);
    status = status == ORR_OK ? orr_cli_time(o.results, "--by", o.by, &o.by_ms, &err) : status;
    if (status != ORR_OK) {
        return orr_cli_fail(&err);
    }
    o.origin_ms = origin_of(o.results);
    if (o.stability) {
        return stability(&o);
    }
    if (o.queue == NULL && o.help) {
        return what_would_help(&o);
    }
    if (o.queue != NULL) {
        status = orr_explain_queue(o.results, o.queue, o.at_ms, o.common.json, stdout, &err);
    } else if (o.job == NULL) {
        status =
            orr_explain_waiting(o.results, o.at_ms, o.common.verbose ? UINT32_MAX : WAITING_SHOWN,
                                o.common.json, stdout, &err);
    } else if (o.at_ms != ORR_MS_NONE) {
        status = orr_explain_job_at(o.results, o.job, o.at_ms, o.common.json, stdout, &err);
    } else {
        status = orr_explain_job(o.results, o.job, o.common.json, stdout, &err);
    }
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
