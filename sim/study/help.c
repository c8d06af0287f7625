/* SPDX-License-Identifier: GPL-3.0-or-later */
/* help.c - what would have let a job start sooner: changes of the scenario, tried by running it.
 *
 * Each lever is one amount of the scenario. The most there is of it is tried first: where that does
 * not help, nothing is supposed to. Then 1, doubled until the job starts in time, and halved back
 * to the smallest amount that does (more is supposed to help no less; what is printed was run,
 * whatever becomes of that). A try ends when the job starts or the time is over, and keeps no
 * results; one of each lever that is not done run side by side. */
#include <orrery/sim/study.h>

#include <stdio.h>
#include <string.h>

#include <orrery/analysis/results.h>

#include "study_sql.h"

#define LEVERS 64

struct lever {
    char path[200], what[200];
    int64_t most;      /* amounts tried are 1..most */
    int64_t fails;     /* largest that does not help, below all that do */
    int64_t helps;     /* smallest that does; 0: none */
    int64_t next;      /* to try; 0: done */
    orr_ms start_ms;   /* with `helps` */
    const char *wrong; /* why it cannot be tried; NULL: it can */
};

struct help {
    const struct orr_help_options *options;
    struct orr_scenario_options again; /* the scenario as it ran */
    orr_ms goal_ms;                    /* the job is to start by then */
    struct lever levers[LEVERS];
    uint32_t count, done;
    struct orr_arena arena;
};

static void add_lever(struct help *help, int64_t most, const char *path, const char *what)
{
    if (help->count < LEVERS && most > 0) {
        struct lever *lever = &help->levers[help->count++];
        (void)snprintf(lever->path, sizeof lever->path, "%s", path);
        (void)snprintf(lever->what, sizeof lever->what, "%s", what);
        lever->most = lever->next = most;
    }
}

/* More nodes of each pool; more quota, weight or limit for its queue and those above it. */
static void list_levers(struct help *help, struct orr_results *in, int64_t queue)
{
    char path[200], what[200];
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__pools);
    while (orr_results_step(in, row)) {
        const char *pool = orr_results_text(in, row, 0);
        (void)snprintf(path, sizeof path, "cluster.pools.%s.nodes", pool);
        (void)snprintf(what, sizeof what, "more nodes of %lld GPUs in pool %s",
                       (long long)sqlite3_column_int64(row, 2), pool);
        add_lever(help, sqlite3_column_int64(row, 1), path, what);
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
            add_lever(help, a == 1 ? 16 : gpus, path, what);
        }
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
    const char *sets[LEVERS];
    struct lever *tried[LEVERS];
    char texts[LEVERS][300];
    uint32_t count = 0;
    for (uint32_t l = 0; l < help->count; l++) {
        struct lever *lever = &help->levers[l];
        if (lever->next == 0) {
            continue;
        }
        (void)snprintf(texts[count], sizeof texts[count], "%s+=%lld", lever->path,
                       (long long)lever->next);
        sets[count] = texts[count];
        probes[count] = (struct orr_probe){
            .scenario = help->again, .job = help->options->job, .until_ms = help->goal_ms};
        probes[count].scenario.sets = &sets[count];
        probes[count].scenario.set_count = 1;
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
    return status;
}

static bool read_run(struct help *help, struct orr_results *in, int64_t *queue, orr_ms *submit,
                     orr_ms *start)
{
    bool found = false;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__place_in_time);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, help->options->job, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        *queue = sqlite3_column_int64(row, 0);
        *submit = sqlite3_column_int64(row, 1);
        *start = sqlite3_column_int64(row, 2);
        found = true;
    }
    if (!found && in->status == ORR_OK) {
        in->status = orr_fail(in->err, ORR_DATA, "%s: no job is called \"%s\"", in->path,
                              help->options->job);
    }
    return found;
}

enum orr_status orr_study_help(const struct orr_help_options *options, orr_help_fn *tell,
                               void *context, struct orr_err *err)
{
    struct help help = {.options = options};
    struct orr_results in;
    int64_t queue = 0;
    orr_ms submit = 0, start = 0;
    orr_arena_init(&help.arena);
    orr_results_open(&in, options->results, err);
    if (read_run(&help, &in, &queue, &submit, &start)) {
        help.goal_ms =
            options->by_ms != ORR_MS_NONE ? options->by_ms : submit + (start - submit) / 2;
        if (help.goal_ms < submit) {
            char comes[32], goal[32];
            (void)orr_results_when(&in, submit, comes);
            (void)orr_results_when(&in, help.goal_ms, goal);
            in.status = orr_fail(err, ORR_DATA, "%s: job %s only comes after %s: at %s",
                                 options->results, options->job, goal, comes);
        } else if (start <= help.goal_ms) {
            char began[32], goal[32];
            (void)orr_results_when(&in, start, began);
            (void)orr_results_when(&in, help.goal_ms, goal);
            in.status = options->by_ms == ORR_MS_NONE
                            ? orr_fail(err, ORR_DATA,
                                       "%s: job %s did not wait: it started as it came, at %s",
                                       options->results, options->job, began)
                            : orr_fail(err, ORR_DATA,
                                       "%s: job %s does not wait until after %s: it started at %s",
                                       options->results, options->job, goal, began);
        }
        list_levers(&help, &in, queue);
    }
    enum orr_status status = in.status;
    orr_results_close(&in);
    if (status == ORR_OK) {
        status = orr_rerun_of(options->results, &help.arena, &help.again, err);
    }
    while (status == ORR_OK && help.done < help.count) {
        status = try_all(&help, err);
    }
    for (uint32_t l = 0; l < help.count && status == ORR_OK; l++) {
        const struct lever *lever = &help.levers[l];
        const struct orr_help found = {.path = lever->path,
                                       .what = lever->what,
                                       .wrong = lever->wrong,
                                       .amount = lever->helps,
                                       .most = lever->most,
                                       .start_ms = lever->start_ms,
                                       .goal_ms = help.goal_ms,
                                       .waited_until_ms = start};
        tell(&found, context);
    }
    orr_arena_release(&help.arena);
    return status;
}
