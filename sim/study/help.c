/* SPDX-License-Identifier: GPL-3.0-or-later */
/* help.c - what would have let a job start sooner: changes of the scenario, tried by running it.
 *
 * Each lever is one amount of the scenario. It is doubled until the job starts in time, then halved
 * back to the smallest amount that still helps (more is supposed to help no less; what is printed
 * was run, whatever becomes of that). */
#include <orrery/sim/study.h>

#include <stdio.h>
#include <string.h>

#include <orrery/analysis/results.h>

struct lever {
    char path[200], what[200];
    int64_t most;    /* amounts tried are 1..most */
    int64_t helps;   /* smallest that does; 0: none */
    orr_ms start_ms; /* with it */
};

struct help {
    const struct orr_help_options *options;
    struct orr_scenario_options again; /* the scenario as it ran */
    orr_ms goal_ms;                    /* the job is to start by then */
    struct lever levers[64];
    uint32_t count;
    struct orr_arena arena;
    char scratch[4200];
    uint32_t runs;
};

static void add_lever(struct help *help, int64_t most, const char *path, const char *what)
{
    if (help->count < sizeof help->levers / sizeof help->levers[0] && most > 0) {
        struct lever *lever = &help->levers[help->count++];
        (void)snprintf(lever->path, sizeof lever->path, "%s", path);
        (void)snprintf(lever->what, sizeof lever->what, "%s", what);
        lever->most = most;
    }
}

/* More nodes of each pool; more quota, weight or limit for its queue and those above it. */
static void list_levers(struct help *help, struct orr_results *in, int64_t queue)
{
    char path[200], what[200];
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT pool, count(*), max(gpus) FROM node GROUP BY pool ORDER BY min(id)");
    while (orr_results_step(in, row)) {
        const char *pool = orr_results_text(in, row, 0);
        (void)snprintf(path, sizeof path, "cluster.pools.%s.nodes", pool);
        (void)snprintf(what, sizeof what, "more nodes of %lld GPUs in pool %s",
                       (long long)sqlite3_column_int64(row, 2), pool);
        add_lever(help, sqlite3_column_int64(row, 1), path, what);
    }
    const int64_t gpus = orr_results_int(in, "SELECT capacity_mgpu / 1000 FROM run", 0);
    row = orr_results_prepare(
        in, "WITH RECURSIVE up(id) AS (SELECT ?1 UNION ALL SELECT q.parent FROM queue AS q JOIN up"
            " ON q.id = up.id WHERE q.parent IS NOT NULL) SELECT q.name, q.gpu_quota, q.gpu_limit"
            " FROM up JOIN queue AS q ON q.id = up.id");
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

/* When the job starts with so much more; ORR_MS_NONE: not at all, or the scenario has no such path.
 */
static orr_ms try_amount(struct help *help, const struct lever *lever, int64_t amount)
{
    struct orr_err err = {0};
    char output[4600], set[300];
    (void)snprintf(output, sizeof output, "%s/%u.db", help->scratch, help->runs++);
    (void)snprintf(set, sizeof set, "%s+=%lld", lever->path, (long long)amount);
    const char *const sets[] = {set};
    struct orr_point_options point = {
        .scenario = help->again, .output = output, .allow_loss = true};
    point.scenario.sets = sets;
    point.scenario.set_count = 1;
    const struct orr_study_options one = {.jobs = 1};
    if (orr_study_run(&point, 1, &one, &err) != ORR_OK) {
        return ORR_MS_NONE;
    }
    struct orr_results in;
    orr_ms start = ORR_MS_NONE;
    orr_results_open(&in, output, &err);
    sqlite3_stmt *row = orr_results_prepare(&in, "SELECT start_ms FROM job WHERE name = ?1");
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, help->options->job, -1, SQLITE_STATIC);
    }
    while (orr_results_step(&in, row)) {
        if (sqlite3_column_type(row, 0) != SQLITE_NULL) {
            start = sqlite3_column_int64(row, 0);
        }
    }
    orr_results_close(&in);
    return start;
}

static bool helps(struct help *help, struct lever *lever, int64_t amount)
{
    const orr_ms start = try_amount(help, lever, amount);
    if (start == ORR_MS_NONE || start > help->goal_ms) {
        return false;
    }
    lever->helps = amount;
    lever->start_ms = start;
    return true;
}

static void pull(struct help *help, struct lever *lever)
{
    int64_t low = 0, high = 1; /* low does not help */
    while (!helps(help, lever, high)) {
        low = high;
        if (high >= lever->most) {
            return;
        }
        high = high * 2 < lever->most ? high * 2 : lever->most;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (helps(help, lever, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
}

static bool read_run(struct help *help, struct orr_results *in, int64_t *queue, orr_ms *submit,
                     orr_ms *start)
{
    bool found = false;
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT j.queue, w.from_ms, coalesce(j.start_ms, r.end_ms)"
            " FROM run AS r JOIN job AS j ON j.name = ?1 JOIN v_waits AS w ON w.job = j.id");
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
        list_levers(&help, &in, queue);
    }
    enum orr_status status = in.status;
    orr_results_close(&in);
    if (status == ORR_OK) {
        status = orr_rerun_of(options->results, &help.arena, &help.again, err);
    }
    if (status == ORR_OK) {
        status = orr_scratch_open(help.scratch, sizeof help.scratch, err);
    }
    for (uint32_t l = 0; l < help.count && status == ORR_OK; l++) {
        pull(&help, &help.levers[l]);
        if (*orr_interrupt_catch()) {
            status = orr_fail(err, ORR_INTERRUPTED, "interrupted");
            break;
        }
        const struct orr_help found = {.path = help.levers[l].path,
                                       .what = help.levers[l].what,
                                       .amount = help.levers[l].helps,
                                       .most = help.levers[l].most,
                                       .start_ms = help.levers[l].start_ms,
                                       .goal_ms = help.goal_ms,
                                       .waited_until_ms = start};
        tell(&found, context);
    }
    if (help.scratch[0] != '\0') {
        orr_scratch_remove(help.scratch);
    }
    orr_arena_release(&help.arena);
    return status;
}
