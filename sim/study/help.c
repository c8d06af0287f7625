/* SPDX-License-Identifier: GPL-3.0-or-later */
/* help.c - what would have let a job start sooner, and who pays for it: changes tried by running.
 *
 * Each lever is one amount of the scenario or of the job, or one choice. The most there is of an
 * amount is tried first: where that does not help, nothing is supposed to. Then 1, doubled until
 * the job starts in time, and halved back to the smallest amount that does (more is supposed to
 * help no less; what is printed was run, whatever becomes of that). A try ends when the job starts
 * or the time is over, and keeps no results; one of each lever that is not done run side by side.
 * Then a whole run of each change that helps says what it costs. */
#include "study_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/analysis/results.h>
#include <orrery/base/mem.h>
#include <orrery/policies/registry.h>

#include "study_sql.h"

#define LEVERS 64

struct lever {
    enum orr_lever kind;
    char path[200], what[200]; /* path: as `path` or `set` of struct orr_help */
    int64_t most;              /* amounts tried are 1..most */
    int64_t fails;             /* largest that does not help, below all that do */
    int64_t helps;             /* smallest that does; 0: none */
    int64_t next;              /* to try; 0: done */
    orr_ms start_ms;           /* with `helps` */
    const char *wrong;         /* why it cannot be tried; NULL: it can */
    struct orr_help_cost cost;
};

/* A try of a lever, as a run is told of it: borrowed by its options. */
struct attempt {
    char text[300];
    const char *set;
    struct orr_scenario_options scenario;
    struct orr_job_change change;
};

struct help {
    const struct orr_help_options *options;
    struct orr_scenario_options again; /* the scenario as it ran */
    orr_ms goal_ms;                    /* the job is to start by then */
    struct lever levers[LEVERS];
    uint32_t count, done;
    struct orr_arena arena;
};

static void add_lever(struct help *help, enum orr_lever kind, int64_t most, const char *path,
                      const char *what)
{
    if (help->count < LEVERS && most > 0) {
        struct lever *lever = &help->levers[help->count++];
        (void)snprintf(lever->path, sizeof lever->path, "%s", path);
        (void)snprintf(lever->what, sizeof lever->what, "%s", what);
        lever->kind = kind;
        lever->most = lever->next = most;
    }
}

/* More nodes of each pool; more quota, weight or limit for its queue and those above it. */
static void list_amounts(struct help *help, struct orr_results *in, int64_t queue)
{
    char path[200], what[200];
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__pools);
    while (orr_results_step(in, row)) {
        const char *pool = orr_results_text(in, row, 0);
        (void)snprintf(path, sizeof path, "cluster.pools.%s.nodes", pool);
        (void)snprintf(what, sizeof what, "more nodes of %lld GPU%s in pool %s",
                       (long long)sqlite3_column_int64(row, 2),
                       ORR_PLURAL(sqlite3_column_int64(row, 2)), pool);
        add_lever(help, ORR_LEVER_AMOUNT, sqlite3_column_int64(row, 1), path, what);
    }
    const int64_t gpus = orr_results_int(in, orr_study_sql__capacity, 0);
    row = orr_results_prepare(in, orr_study_sql__above);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, queue);
    }
    while (orr_results_step(in, row)) {
        const char *name = orr_results_text(in, row, 0);
        static const char *const amounts[] = {"quota", "weight", "limit"};
        for (int a = 0; a < 3; a++) {
            if ((a == 0 && sqlite3_column_double(row, 1) < 0) ||
                (a == 2 && sqlite3_column_double(row, 2) < 0)) {
                continue; /* unlimited already */
            }
            (void)snprintf(path, sizeof path, "queues.%s.gpu.%s", name, amounts[a]);
            (void)snprintf(what, sizeof what, "more %s for queue %s", amounts[a], name);
            add_lever(help, ORR_LEVER_AMOUNT, a == 1 ? 16 : gpus, path, what);
        }
    }
}

/* A higher priority, up to that of no other job; fewer pods. */
static bool list_own(struct help *help, struct orr_results *in)
{
    int64_t pods = 1, shards = 1, above = 0;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__own);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, help->options->job, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        pods = sqlite3_column_int64(row, 0);
        above = sqlite3_column_int64(row, 2) - sqlite3_column_int64(row, 1) + 1;
        shards = sqlite3_column_int64(row, 3);
    }
    add_lever(help, ORR_LEVER_PRIORITY, above, "", "a higher priority of the job");
    add_lever(help, ORR_LEVER_PODS, pods - 1, "", "fewer pods of the job, running longer");
    return shards == 1; /* of several it is not known whose policy to change */
}

/* The other values of parameters that say who is first and who may pass. */
static void list_settings(struct help *help, const struct orr_engine_shard *shard)
{
    static const char *const names[] = {"order", "backfill", "queueing_strategy"};
    static const char *const truths[] = {"false", "true", NULL};
    for (const struct orr_param *p = shard->policy->params; p->name != NULL; p++) {
        char now[100], path[200], what[200];
        bool asked = false;
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
            asked = asked || strcmp(p->name, names[n]) == 0;
        }
        orr_params_format(p, shard->params, now, sizeof now);
        const char *const *values = p->type == ORR_PARAM_BOOL     ? truths
                                    : p->type == ORR_PARAM_CHOICE ? p->choices
                                                                  : NULL;
        for (size_t v = 0; asked && values != NULL && values[v] != NULL; v++) {
            if (strcmp(values[v], now) == 0) {
                continue;
            }
            (void)snprintf(path, sizeof path, "policy.params.%s=%s", p->name, values[v]);
            (void)snprintf(what, sizeof what, "%s %s instead of %s", p->name, values[v], now);
            add_lever(help, ORR_LEVER_SETTING, 1, path, what);
        }
    }
}

static enum orr_status list_policies(struct help *help, struct orr_err *err)
{
    struct orr_scenario scenario;
    struct orr_engine_shard *shards = NULL;
    enum orr_status status = orr_scenario_load(&help->again, &scenario, err);
    if (status != ORR_OK) {
        return status;
    }
    status = orr_point_policies(&scenario, NULL, NULL, &shards, err);
    if (status == ORR_OK) {
        size_t count;
        const struct orr_policy *const *all = orr_policies(&count);
        list_settings(help, &shards[0]);
        for (size_t i = 0; i < count; i++) {
            char what[200];
            (void)snprintf(what, sizeof what, "policy %s instead of %s", all[i]->name,
                           shards[0].policy->name);
            if (all[i] != shards[0].policy) {
                add_lever(help, ORR_LEVER_POLICY, 1, all[i]->name, what);
            }
        }
    }
    orr_point_policies_release(shards, scenario.shard_count);
    orr_scenario_release(&scenario);
    return status;
}

/* The run with so much of a lever; `attempt` must stay where it is. */
static void prepare(const struct help *help, const struct lever *lever, int64_t amount,
                    struct attempt *attempt)
{
    *attempt = (struct attempt){.scenario = help->again};
    switch (lever->kind) {
    case ORR_LEVER_AMOUNT:
    case ORR_LEVER_SETTING:
        if (lever->kind == ORR_LEVER_AMOUNT) {
            (void)snprintf(attempt->text, sizeof attempt->text, "%s+=%lld", lever->path,
                           (long long)amount);
        } else {
            (void)snprintf(attempt->text, sizeof attempt->text, "%s", lever->path);
        }
        attempt->set = attempt->text;
        attempt->scenario.sets = &attempt->set;
        attempt->scenario.set_count = 1;
        break;
    case ORR_LEVER_POLICY: attempt->scenario.policy = lever->path; break;
    case ORR_LEVER_PRIORITY:
        attempt->change =
            (struct orr_job_change){.job = help->options->job, .priority = (int32_t)amount};
        break;
    case ORR_LEVER_PODS:
        attempt->change =
            (struct orr_job_change){.job = help->options->job, .pods = (uint32_t)amount};
        break;
    }
}

/* What to try after `start_ms` came of the last try. */
static void judge(struct lever *lever, orr_ms start_ms, orr_ms goal_ms)
{
    const int64_t tried = lever->next;
    if (start_ms != ORR_MS_NONE && start_ms <= goal_ms) {
        lever->helps = tried;
        lever->start_ms = start_ms;
    } else {
        lever->fails = tried;
    }
    if (lever->helps == 0 || lever->helps - lever->fails <= 1) {
        lever->next = 0;
    } else if (lever->helps == lever->most && lever->fails * 2 < lever->helps) {
        lever->next = lever->fails == 0 ? 1 : lever->fails * 2;
    } else {
        lever->next = lever->fails + (lever->helps - lever->fails) / 2;
    }
}

static void draw(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    const struct help *help = context;
    (void)done; /* of a round of tries: how many rounds there will be is not known */
    (void)total;
    if (help->options->study.progress != NULL) {
        help->options->study.progress(help->done, help->count, now, help->options->study.context);
    }
}

/* One try of each lever that is not done. */
static enum orr_status try_all(struct help *help, struct orr_err *err)
{
    const struct orr_study_options study = {
        .jobs = help->options->study.jobs, .progress = draw, .context = help};
    struct orr_probe probes[LEVERS];
    struct attempt *attempts = orr_zalloc(LEVERS, sizeof *attempts);
    struct lever *tried[LEVERS];
    uint32_t count = 0;
    for (uint32_t l = 0; l < help->count; l++) {
        struct lever *lever = &help->levers[l];
        if (lever->next == 0) {
            continue;
        }
        prepare(help, lever, lever->next, &attempts[count]);
        probes[count] = (struct orr_probe){.scenario = attempts[count].scenario,
                                           .change = attempts[count].change,
                                           .job = help->options->job,
                                           .until_ms = help->goal_ms};
        tried[count++] = lever;
    }
    const enum orr_status status = orr_study_probe(probes, count, &study, err);
    for (uint32_t p = 0; p < count && status == ORR_OK; p++) {
        struct lever *lever = tried[p];
        if (probes[p].status != ORR_OK) {
            static const char from[] =
                "--set: "; /* the user wrote no --set, nor what it points at */
            const char *text = probes[p].text;
            text += strncmp(text, from, sizeof from - 1) == 0 ? sizeof from - 1 : 0;
            lever->wrong = orr_arena_strndup(&help->arena, text, strcspn(text, "\n"));
            lever->next = 0;
        } else {
            judge(lever, probes[p].start_ms, help->goal_ms);
        }
        help->done += lever->next == 0;
    }
    orr_free(attempts);
    return status;
}

/* Why nothing is known of what a change costs; where it is, NULL. */
static const char *cost_of(struct help *help, struct lever *lever, const char *file)
{
    struct orr_err err = {0};
    const enum orr_status status = orr_study__help_cost(
        help->options->results, file, help->options->job, &help->arena, &lever->cost, &err);
    return status == ORR_OK ? NULL
                            : orr_arena_strndup(&help->arena, err.text, strcspn(err.text, "\n"));
}

/* A whole run of each change that helps. One that fails later than where the job starts leaves the
 * others to be told. */
static enum orr_status weigh_all(struct help *help, struct orr_err *err)
{
    const struct orr_study_options study = {.jobs = help->options->study.jobs};
    struct orr_point_options points[LEVERS];
    struct attempt *attempts = orr_zalloc(LEVERS, sizeof *attempts);
    struct lever *levers[LEVERS];
    char scratch[4200], (*files)[4300] = orr_zalloc(LEVERS, sizeof *files);
    uint32_t count = 0;
    enum orr_status status = orr_scratch_open(scratch, sizeof scratch, err);
    for (uint32_t l = 0; l < help->count && status == ORR_OK; l++) {
        struct lever *lever = &help->levers[l];
        if (lever->helps > 0) {
            prepare(help, lever, lever->helps, &attempts[count]);
            (void)snprintf(files[count], sizeof files[count], "%s/%u.db", scratch, l);
            points[count] = (struct orr_point_options){.scenario = attempts[count].scenario,
                                                       .change = attempts[count].change,
                                                       .output = files[count],
                                                       .allow_loss_ppm = ORR_LOSS_ALL};
            levers[count++] = lever;
        }
    }
    struct orr_err ignored = {0};
    const bool together =
        status == ORR_OK && orr_study_run(points, count, &study, &ignored) == ORR_OK;
    for (uint32_t p = 0; p < count && status == ORR_OK; p++) {
        struct orr_err alone = {0};
        const enum orr_status one = together || orr_is_taken(files[p])
                                        ? ORR_OK
                                        : orr_study_run(&points[p], 1, &study, &alone);
        if (one == ORR_INTERRUPTED) {
            status = orr_fail(err, one, "%s", alone.text);
        }
        levers[p]->cost.unknown =
            one == ORR_OK ? cost_of(help, levers[p], files[p])
                          : orr_arena_strndup(&help->arena, alone.text, strcspn(alone.text, "\n"));
    }
    if (scratch[0] != '\0') {
        orr_scratch_remove(scratch);
    }
    orr_free(files);
    orr_free(attempts);
    return status;
}

struct first_wait {
    int64_t queue;
    orr_ms submit, start;
    orr_ms again_ms; /* that it waited later, after evictions */
};

static bool read_run(struct help *help, struct orr_results *in, struct first_wait *wait)
{
    bool found = false;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__place_in_time);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, help->options->job, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        wait->queue = sqlite3_column_int64(row, 0);
        wait->submit = sqlite3_column_int64(row, 1);
        wait->start = sqlite3_column_int64(row, 2);
        wait->again_ms = sqlite3_column_int64(row, 3);
        found = true;
    }
    if (!found && in->status == ORR_OK) {
        in->status = orr_fail(in->err, ORR_DATA, "%s: no job is called \"%s\"", in->path,
                              help->options->job);
    }
    return found;
}

/* A job whose first start cannot be sooner, or is in time already. */
static void refuse(const struct help *help, struct orr_results *in, const struct first_wait *wait)
{
    const struct orr_help_options *options = help->options;
    char comes[32], began[32], goal[32], again[32];
    (void)orr_results_when(in, wait->submit, comes);
    (void)orr_results_when(in, wait->start, began);
    (void)orr_results_when(in, help->goal_ms, goal);
    if (help->goal_ms < wait->submit) {
        in->status = orr_fail(in->err, ORR_DATA, "%s: job %s only comes after %s: at %s",
                              options->results, options->job, goal, comes);
    } else if (wait->start <= help->goal_ms && options->by_ms != ORR_MS_NONE) {
        in->status =
            orr_fail(in->err, ORR_DATA, "%s: job %s does not wait until after %s: it started at %s",
                     options->results, options->job, goal, began);
    } else if (wait->start <= help->goal_ms && wait->again_ms > 0) {
        in->status = orr_fail(
            in->err, ORR_DATA,
            "%s: job %s started as it came, at %s, and --what-would-help is about a job's first "
            "start; it waited %s after evictions, which `orrery explain %s %s` explains",
            options->results, options->job, began,
            orr_format_rough(again, (double)wait->again_ms / 1000), options->results, options->job);
    } else if (wait->start <= help->goal_ms) {
        in->status =
            orr_fail(in->err, ORR_DATA, "%s: job %s did not wait: it started as it came, at %s",
                     options->results, options->job, began);
    }
}

enum orr_status orr_study_help(const struct orr_help_options *options, orr_help_fn *report,
                               void *context, struct orr_err *err)
{
    struct help help = {.options = options};
    struct orr_results in;
    struct first_wait wait = {0};
    bool one_policy = false;
    orr_arena_init(&help.arena);
    orr_results_open(&in, options->results, err);
    if (read_run(&help, &in, &wait)) {
        help.goal_ms = options->by_ms != ORR_MS_NONE ? options->by_ms
                                                     : wait.submit + (wait.start - wait.submit) / 2;
        refuse(&help, &in, &wait);
        list_amounts(&help, &in, wait.queue);
        one_policy = list_own(&help, &in);
    }
    enum orr_status status = in.status;
    orr_results_close(&in);
    if (status == ORR_OK) {
        status = orr_rerun_of(options->results, &help.arena, &help.again, err);
    }
    if (status == ORR_OK && one_policy) {
        status = list_policies(&help, err);
    }
    while (status == ORR_OK && help.done < help.count) {
        status = try_all(&help, err);
    }
    if (status == ORR_OK) {
        status = weigh_all(&help, err);
    }
    for (uint32_t l = 0; l < help.count && status == ORR_OK; l++) {
        const struct lever *lever = &help.levers[l];
        const bool named = lever->kind == ORR_LEVER_SETTING || lever->kind == ORR_LEVER_POLICY;
        const struct orr_help found = {.lever = lever->kind,
                                       .path = lever->kind == ORR_LEVER_AMOUNT ? lever->path : NULL,
                                       .set = named ? lever->path : NULL,
                                       .what = lever->what,
                                       .wrong = lever->wrong,
                                       .amount = lever->helps,
                                       .most = lever->most,
                                       .start_ms = lever->start_ms,
                                       .goal_ms = help.goal_ms,
                                       .waited_until_ms = wait.start,
                                       .cost = lever->helps > 0 ? &lever->cost : NULL};
        report(&found, context);
    }
    orr_arena_release(&help.arena);
    return status;
}
