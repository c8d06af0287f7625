/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_run.c - `orrery run`: one point, its answer and its expectations. */
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/base/mem.h>
#include <orrery/sim/study.h>

#include "cli_now.h"
#include "cycle_lines.h"

struct session { /* everything one run owns */
    struct orr_cli_options options;
    struct orr_point point;
    struct orr_progress progress;
    double started_s;
    struct orr_cycle_lines lines;
};

static void warn(const char *text, void *context)
{
    const struct session *s = context;
    if (!s->options.common.quiet) {
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
    (void)fprintf(stderr, "digest %llu event%s, %lld ms: %016llx\n", (unsigned long long)events,
                  ORR_PLURAL(events), (long long)now, (unsigned long long)digest);
}

static void remember_unfinished(const char *temporary, void *context)
{
    (void)context;
    orr_interrupt_unfinished(temporary);
}

struct expected { /* what came of `expect:` */
    struct orr_junit_case
        *cases; /* one an expectation, and one more for a file that is unreadable */
    uint32_t count;
    struct orr_arena arena; /* of their texts */
    double started_s;
};

static void report(const struct orr_scenario_expect *expect, enum orr_junit_verdict verdict,
                   const char *text, void *context)
{
    struct expected *expected = context;
    if (verdict != ORR_JUNIT_PASS) {
        (void)fprintf(stderr, "orrery: %s\n", text);
    }
    expected->cases[expected->count++] =
        (struct orr_junit_case){.name = expect != NULL ? expect->text : "results can be read",
                                .text = orr_arena_strndup(&expected->arena, text, strlen(text)),
                                .origin = expect != NULL ? expect->origin : NULL,
                                .verdict = verdict};
}

static void write_junit(FILE *out, const void *context)
{
    const struct expected *expected = context;
    orr_junit_print(&(struct orr_junit){.suite = "orrery run",
                                        .classname = "orrery.expect",
                                        .cases = expected->cases,
                                        .count = expected->count,
                                        .time_s = orr_wall_seconds() - expected->started_s},
                    out);
}

static int check_expectations(const struct session *s)
{
    struct expected expected = {.started_s = s->started_s};
    struct orr_err err = {0};
    orr_arena_init(&expected.arena);
    expected.cases = orr_zalloc(s->point.scenario.expect_count + (size_t)1, sizeof *expected.cases);
    if (s->options.junit != NULL && s->point.scenario.expect_count == 0) {
        (void)fprintf(stderr,
                      "orrery: %s: the scenario has no `expect:`, so that it tests nothing\n",
                      s->options.junit);
    }
    int code = orr_expect_check(&s->point.scenario, s->point.output, report, &expected);
    if (orr_cli_write(s->options.junit, write_junit, &expected, &err) != ORR_OK) {
        code = orr_cli_fail(&err);
    }
    orr_free(expected.cases);
    orr_arena_release(&expected.arena);
    return code;
}

static void built(void *context, const struct orr_world *world)
{
    struct session *s = context;
    const orr_ms origin_ms = orr_world_clock_origin_ms(world, &s->point.scenario);
    if (s->options.trace_cycles != NULL && !orr_cycle_lines_begin(&s->lines, world, origin_ms)) {
        (void)fprintf(stderr,
                      "orrery: --trace-cycles %s: the run has no dates: no cycle is told; name "
                      "cycles or times such as 2d3h\n",
                      s->options.trace_cycles);
    }
}

/* With cycles told line by line, standard output has nothing else. */
static void answer(const struct session *s)
{
    FILE *out = s->options.trace_cycles != NULL ? stderr : stdout;
    struct orr_report report = {.scenario = &s->point.scenario,
                                .world = &s->point.world,
                                .run = &s->point.run,
                                .summary = &s->point.summary,
                                .shards = s->point.shards,
                                .output = s->point.output,
                                .wall_s = orr_wall_seconds() - s->started_s,
                                .seed = s->point.scenario.seed_first};
    memcpy(report.phase_s, s->point.phase_s, sizeof report.phase_s);
    if (s->options.common.json) {
        orr_report_json(&report, out);
    } else if (!s->options.common.quiet) {
        orr_report_text(&report, out);
    }
}

int orr_cli_run(int argc, char **argv)
{
    struct session s = {.started_s = orr_wall_seconds()};
    struct orr_err err = {0};
    orr_cli_parse(argc, argv,
                  "Replay a scenario file, or a trace on a cluster, and write one results file.\v"
                  "Example: orrery run --trace philly.csv.gz --cluster 112x8 --policy fifo",
                  ORR_CLI_RESULTS | ORR_CLI_RUN, &s.options);
    orr_progress_init(&s.progress, &s.options.common);
    if (s.options.trace_cycles != NULL) {
        orr_cycle_lines_init(&s.lines, s.options.trace_cycles, stdout);
    }
    const char *path = s.options.scenario.path;
    s.options.snapshot.seed = s.options.scenario.seed;
    enum orr_status status =
        orr_cli_now_open(&s.options.snapshot, false, &s.options.scenario, &err);
    if (status == ORR_OK && !s.options.common.quiet) {
        orr_cli_now_say(&s.options.snapshot, path, stderr);
    }
    const struct orr_point_options options = {
        .scenario = s.options.scenario,
        .output = s.options.output,
        .force = s.options.force,
        .keep_partial = s.options.keep_partial,
        .allow_loss_ppm = s.options.allow_loss_ppm,
        .check_books = s.options.check_books,
        .digest_every = s.options.digest_every,
        .trace = s.options.trace_cycles != NULL ? &s.lines.trace : NULL,
        .built = built,
        .interrupted = orr_interrupt_catch(),
        .opened = remember_unfinished,
        .warn = warn,
        .progress = draw,
        .checkpoint = print_digest,
        .context = &s};
    if (status == ORR_OK) {
        status = orr_cli_output(s.options.output, &err);
    }
    if (status == ORR_OK) {
        status = orr_cli_output(s.options.junit, &err);
    }
    if (status == ORR_OK && s.options.replicas > 0) {
        const int replicated = orr_cli_replicas(&s.options, &options);
        orr_cli_now_close(&s.options.snapshot);
        return replicated;
    }
    if (status == ORR_OK) {
        status = orr_point_run(&options, &s.point, &err);
    }
    orr_progress_clear(&s.progress);
    int code;
    if (status == ORR_OK) {
        answer(&s);
        code = s.point.run.status == ORR_RUN_INTERRUPTED ? orr_status_exit_code(ORR_INTERRUPTED)
                                                         : check_expectations(&s);
    } else {
        code = orr_cli_fail(&err);
    }
    orr_point_release(&s.point);
    orr_cli_now_close(&s.options.snapshot);
    return code;
}
