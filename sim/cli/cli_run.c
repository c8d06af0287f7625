/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_run.c - `orrery run`: scenario -> world -> engine -> summary -> results file -> answer. */
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <orrery/analysis/views.h>
#include <orrery/base/mem.h>
#include <orrery/sim/store.h>

#include "cli.h"

/* What a signal handler can reach. */
static volatile sig_atomic_t interrupted;
static char unfinished[4096]; /* the temporary results file */

/* The first Ctrl-C ends the run in order, a second one at once. */
static void on_interrupt(int signal)
{
    (void)signal;
    if (interrupted) {
        (void)unlink(unfinished);
        _exit(130);
    }
    interrupted = 1;
}

struct session { /* everything one run owns, released together */
    struct orr_cli_options options;
    struct orr_scenario scenario;
    struct orr_world world;
    struct orr_run run;
    struct orr_summary summary;
    const struct orr_policy *policy;
    void *params;
    struct orr_store *store;
    char *output;
    struct orr_progress progress;
    double phase_s[5];
    double started_s;
};

static void warn(const char *text, void *context)
{
    const struct session *s = context;
    if (!s->options.quiet) {
        (void)fputs(text, stderr);
    }
}

static void draw(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    struct session *s = context;
    orr_progress_draw(&s->progress, done, total, now);
}

static void print_digest(uint64_t events, orr_ms now, uint64_t digest, void *context)
{
    (void)context;
    (void)fprintf(stderr, "digest %llu events, %lld ms: %016llx\n", (unsigned long long)events,
                  (long long)now, (unsigned long long)digest);
}

static void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static char *output_path(const struct session *s)
{
    if (s->options.output != NULL) {
        return orr_strdup(s->options.output);
    }
    size_t bytes = strlen(s->scenario.name) + 4;
    char *path = orr_alloc(bytes, 1);
    (void)snprintf(path, bytes, "%s.db", s->scenario.name);
    return path;
}

/* The scenario's calendar, or that of the first trace; without either the clock starts in 1970. */
static orr_ms epoch_of(const struct session *s)
{
    if (s->scenario.start_ms != ORR_MS_NONE) {
        return s->scenario.start_ms;
    }
    orr_ms origin =
        s->world.part_count > 0 ? s->world.parts[0].workload.clock_origin_ms : ORR_MS_NONE;
    return origin != ORR_MS_NONE ? origin : 0;
}

static enum orr_status simulate(struct session *s, struct orr_err *err)
{
    orr_ms first = s->world.first_submit_ms, last = s->world.last_submit_ms;
    orr_ms horizon =
        s->scenario.horizon_ms == ORR_MS_NONE ? ORR_MS_NEVER : first + s->scenario.horizon_ms;
    orr_ms warm = first + s->scenario.warmup_ms;
    orr_ms end = last < horizon ? last : horizon;
    struct orr_engine_options options = {.policy = s->policy,
                                         .params = s->params,
                                         .epoch_ms = epoch_of(s),
                                         .horizon_ms = horizon,
                                         .window_start_ms = warm < end ? warm : end,
                                         .window_end_ms = end,
                                         .interrupted = &interrupted,
                                         .progress = draw,
                                         .progress_context = s,
                                         .digest_every = s->options.digest_every,
                                         .checkpoint = print_digest};
    return orr_engine_run(&s->world, &options, &s->run, err);
}

static enum orr_status write_results(struct session *s, struct orr_err *err)
{
    struct utsname host;
    char stamp[32] = "", cpu[32], compiler[] = __VERSION__;
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    if (uname(&host) != 0) {
        memset(&host, 0, sizeof host);
    }
    (void)snprintf(cpu, sizeof cpu, "%.3f", orr_cpu_seconds());
    const struct orr_store_meta meta[] = {{"written_utc", stamp},
                                          {"host", host.nodename},
                                          {"system", host.sysname},
                                          {"machine", host.machine},
                                          {"compiler", compiler},
                                          {"sqlite", orr_store_sqlite_version()},
                                          {"cpu_s", cpu}};
    struct orr_store_input input = {.scenario = &s->scenario,
                                    .world = &s->world,
                                    .run = &s->run,
                                    .summary = &s->summary,
                                    .policy = s->policy,
                                    .params = s->params,
                                    .seed = s->scenario.seed_first,
                                    .orrery_version = ORR_VERSION,
                                    .views_sql = orr_views_sql,
                                    .meta = meta,
                                    .meta_count = sizeof meta / sizeof meta[0],
                                    .interrupted = s->options.keep_partial ? NULL : &interrupted};
    struct orr_store *store = s->store;
    s->store = NULL; /* orr_store_write closes it in any case */
    return orr_store_write(store, &input, err);
}

/* Runs one step and books its CPU time. */
static void book(struct session *s, int phase, double *from)
{
    double now = orr_cpu_seconds();
    s->phase_s[phase] += now - *from;
    *from = now;
}

static enum orr_status perform(struct session *s, struct orr_err *err)
{
    double mark = orr_cpu_seconds();
    enum orr_status status = orr_scenario_load(&s->options.scenario, &s->scenario, err);
    if (status == ORR_OK) {
        status = orr_cli_policy(&s->scenario, &s->policy, &s->params, err);
    }
    if (status == ORR_OK) {
        s->output = output_path(s);
        status = orr_store_open(s->output, s->options.force, &s->store, err);
    }
    if (status == ORR_OK) {
        (void)snprintf(unfinished, sizeof unfinished, "%s", orr_store_temporary(s->store));
    }
    book(s, 1, &mark);
    if (status == ORR_OK) {
        status = orr_world_build(&s->scenario, s->options.allow_loss, warn, s, &s->world, err);
        book(s, 0, &mark);
    }
    if (status == ORR_OK) {
        status = simulate(s, err);
        orr_progress_clear(&s->progress);
        book(s, 2, &mark);
    }
    if (status != ORR_OK) {
        return status;
    }
    orr_summary_make(&s->world, &s->run, &s->summary);
    book(s, 3, &mark);
    if (s->run.status == ORR_RUN_INTERRUPTED && !s->options.keep_partial) {
        return orr_fail(err, ORR_INTERRUPTED,
                        "interrupted; no results are kept (--keep-partial stores what there is)");
    }
    status = write_results(s, err);
    book(s, 4, &mark);
    return status;
}

/* ---- expect: ---- */

struct search {
    const struct orr_scenario_expect *expect;
    bool found;
    double value;
};

/* Is every name=value of `wanted` among those of `label`? */
static bool label_has(const char *label, const char *wanted)
{
    while (*wanted != '\0') {
        size_t bytes = strcspn(wanted, ",");
        const char *at = label;
        bool have = false;
        while (*at != '\0' && !have) {
            size_t n = strcspn(at, ",");
            have = n == bytes && memcmp(at, wanted, n) == 0;
            at += n + (at[n] == ',');
        }
        if (!have) {
            return false;
        }
        wanted += bytes + (wanted[bytes] == ',');
    }
    return true;
}

static void look(const struct orr_metric *metric, void *context)
{
    struct search *search = context;
    bool everything = search->expect->labels[0] == '\0';
    if (!search->found && strcmp(metric->name, search->expect->metric) == 0 &&
        everything == (strcmp(metric->scope, "all") == 0) &&
        label_has(metric->label, search->expect->labels)) {
        search->found = true;
        search->value = metric->value;
    }
}

static bool holds(const struct orr_scenario_expect *e, double value)
{
    const char *op = e->op;
    bool equal = value <= e->value && value >= e->value;
    if (strcmp(op, "==") == 0) {
        return equal;
    }
    if (strcmp(op, "!=") == 0) {
        return !equal;
    }
    bool less = value < e->value;
    bool more = value > e->value;
    return op[0] == '<' ? less || (op[1] == '=' && equal) : more || (op[1] == '=' && equal);
}

/* Exit code: 0 when all hold, 1 when one does not, 78 when one names no metric of this run. */
static int check_expectations(const struct session *s)
{
    int code = 0;
    for (uint32_t i = 0; i < s->scenario.expect_count; i++) {
        const struct orr_scenario_expect *e = &s->scenario.expects[i];
        struct search search = {.expect = e};
        orr_summary_metrics(&s->world, &s->summary, look, &search);
        if (!search.found) {
            (void)fprintf(stderr, "orrery: %s: expect: this run has no %s with {%s}\n", e->origin,
                          e->metric, e->labels);
            code = orr_status_exit_code(ORR_SCENARIO);
        } else if (!holds(e, search.value)) {
            (void)fprintf(stderr, "orrery: %s: expect: %s is false: it is %g\n", e->origin, e->text,
                          search.value);
            code = code == 0 ? 1 : code;
        }
    }
    return code;
}

static void answer(const struct session *s)
{
    struct orr_report report = {.scenario = &s->scenario,
                                .world = &s->world,
                                .run = &s->run,
                                .summary = &s->summary,
                                .policy = s->policy,
                                .params = s->params,
                                .output = s->output,
                                .wall_s = orr_wall_seconds() - s->started_s,
                                .seed = s->scenario.seed_first};
    memcpy(report.phase_s, s->phase_s, sizeof report.phase_s);
    if (s->options.json) {
        orr_report_json(&report, stdout);
    } else if (!s->options.quiet) {
        orr_report_text(&report, stdout);
    }
}

int orr_cli_run(int argc, char **argv)
{
    struct session s = {.started_s = orr_wall_seconds()};
    struct orr_err err = {0};
    orr_cli_parse(argc, argv,
                  "Replay a scenario file, or a trace on a cluster, and write one results file.\v"
                  "Example: orrery run --trace philly.csv.gz --cluster 112x8 --policy fifo",
                  &s.options);
    orr_progress_init(&s.progress, &s.options);
    catch_interrupts();
    enum orr_status status = perform(&s, &err);
    int code;
    if (status == ORR_OK) {
        answer(&s);
        code = s.run.status == ORR_RUN_INTERRUPTED ? orr_status_exit_code(ORR_INTERRUPTED)
                                                   : check_expectations(&s);
    } else {
        code = orr_cli_fail(&err);
    }
    orr_store_abandon(s.store);
    orr_summary_release(&s.summary);
    orr_run_release(&s.run);
    orr_world_release(&s.world);
    orr_scenario_release(&s.scenario);
    orr_free(s.params);
    orr_free(s.output);
    return code;
}
