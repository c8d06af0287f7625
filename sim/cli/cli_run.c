/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_run.c - `orrery run`: one point, its answer and its expectations. */
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/base/mem.h>
#include <orrery/sim/state.h>
#include <orrery/sim/study.h>

#include "cli_now.h"
#include "cycle_lines.h"
#include "spill.h"

struct session { /* everything one run owns */
    struct orr_cli_options options;
    struct orr_point point;
    struct orr_progress progress;
    double started_s;
    struct orr_cycle_lines lines;
    struct orr_state from; /* with --from */
    char state[4200];      /* file of --save-at */
    char unfinished[4300]; /* of the results; "": none yet */
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
    orr_progress_draw(done, total, now, &s->progress);
}

static void print_digest(uint64_t events, orr_ms now, uint64_t digest, void *context)
{
    (void)context;
    (void)fprintf(stderr, "digest %llu event%s, %lld ms: %016llx\n", (unsigned long long)events,
                  ORR_PLURAL(events), (long long)now, (unsigned long long)digest);
}

static void remember_unfinished(const char *temporary, void *context)
{
    struct session *s = context;
    (void)snprintf(s->unfinished, sizeof s->unfinished, "%s", temporary);
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
    static const char *const words[] = {"holds", "does not hold", "not known"};
    struct expected *expected = context;
    if (verdict != ORR_JUNIT_PASS) {
        (void)fprintf(stderr, "orrery: %s\n", text);
    }
    expected->cases[expected->count++] =
        (struct orr_junit_case){.name = expect != NULL ? expect->text : "results can be read",
                                .text = orr_arena_strndup(&expected->arena, text, strlen(text)),
                                .origin = expect != NULL ? expect->origin : NULL,
                                .verdict = verdict,
                                .word = words[verdict]};
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

/* --force replaces whatever is there, as it does with results. */
static const char *junit_begin(const struct session *s)
{
    return s->options.force ? NULL : ORR_JUNIT_BEGIN;
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
    if (orr_cli_write(s->options.junit, junit_begin(s), write_junit, &expected, &err) != ORR_OK) {
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

/* --- a run that is held --- */

static enum orr_status save(void *context, const struct orr_point *point,
                            const struct orr_held *held, struct orr_err *err)
{
    const struct session *s = context;
    const enum orr_status status =
        orr_state_write(s->state, point, held, s->options.allow_loss_ppm, err);
    orr_interrupt_unfinished(s->unfinished); /* the state had a file of its own */
    if (status == ORR_OK && !s->options.common.quiet) {
        (void)fprintf(stderr, "state before %lld ms in %s: digest %016llx\n",
                      (long long)held->at_ms, s->state, (unsigned long long)held->digest);
    }
    return status;
}

static enum orr_status check(void *context, const struct orr_point *point,
                             const struct orr_held *held, struct orr_err *err)
{
    const struct session *s = context;
    (void)point;
    return orr_state_check(s->options.from, &s->from, held, err);
}

/* The scenario of a state, with what is set from its time on. */
static enum orr_status take_state(struct session *s, struct orr_point_options *options,
                                  struct orr_err *err)
{
    const struct orr_scenario_options given = s->options.scenario;
    const enum orr_status status = orr_state_read(s->options.from, &s->from, err);
    if (status == ORR_OK) {
        options->scenario = (struct orr_scenario_options){.path = s->from.name,
                                                          .text = s->from.text,
                                                          .text_bytes = strlen(s->from.text),
                                                          .folder = s->from.folder,
                                                          .seed = s->from.seed,
                                                          .seed_given = true,
                                                          .laters = given.sets,
                                                          .later_count = given.set_count,
                                                          .later_ms = s->from.held.at_ms};
        options->allow_loss_ppm = s->from.allow_loss_ppm;
    }
    return status;
}

/* Beside the results: NAME.state. */
static enum orr_status name_state(struct session *s, struct orr_err *err)
{
    struct orr_scenario scenario;
    const char *output = s->options.output;
    if (s->options.state != NULL) {
        (void)snprintf(s->state, sizeof s->state, "%s", s->options.state);
        return ORR_OK;
    }
    if (output != NULL) {
        const char *dot = strrchr(output, '.'), *slash = strrchr(output, '/');
        const bool suffix = dot != NULL && (slash == NULL || dot > slash);
        (void)snprintf(s->state, sizeof s->state, "%.*s.state",
                       (int)(suffix ? (size_t)(dot - output) : strlen(output)), output);
        return ORR_OK;
    }
    const enum orr_status status = orr_scenario_load(&s->options.scenario, &scenario, err);
    if (status == ORR_OK) {
        (void)snprintf(s->state, sizeof s->state, "%s.state", scenario.name);
        orr_scenario_release(&scenario);
    }
    return status;
}

static enum orr_status open_state(struct session *s, struct orr_err *err)
{
    const enum orr_status status = name_state(s, err);
    const char *path = s->options.state != NULL ? s->options.state : s->state; /* as typed */
    return status == ORR_OK
               ? orr_cli_new_output(path, s->options.force ? NULL : "--force replaces it", err)
               : status;
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
        orr_cli_data();
        orr_cycle_lines_init(&s.lines, s.options.trace_cycles, stdout);
    }
    const char *path = s.options.scenario.path;
    s.options.snapshot.seed = s.options.scenario.seed;
    enum orr_status status =
        orr_cli_now_open(&s.options.snapshot, false, &s.options.scenario, &err);
    if (status == ORR_OK && !s.options.common.quiet) {
        orr_cli_now_say(&s.options.snapshot, path, stderr);
    }
    struct orr_point_options options = {.scenario = s.options.scenario,
                                        .output = s.options.output,
                                        .force = s.options.force,
                                        .keep_partial = s.options.keep_partial,
                                        .allow_loss_ppm = s.options.allow_loss_ppm,
                                        .check_books = s.options.check_books,
                                        .digest_every = s.options.digest_every,
                                        .trace =
                                            s.options.trace_cycles != NULL ? &s.lines.trace : NULL,
                                        .built = built,
                                        .interrupted = orr_interrupt_catch(),
                                        .opened = remember_unfinished,
                                        .warn = warn,
                                        .progress = draw,
                                        .checkpoint = print_digest,
                                        .context = &s};
    struct orr_point_hold hold = {.at_ms = ORR_MS_NONE, .held = save, .context = &s};
    if (status == ORR_OK) {
        status = orr_cli_time_to_come(&s.options.scenario, s.options.allow_loss_ppm, "--save-at",
                                      s.options.save_at, &hold.at_ms, &err);
    }
    if (status == ORR_OK && s.options.from != NULL) {
        status = take_state(&s, &options, &err);
        hold.at_ms = s.from.held.at_ms;
        hold.held = check;
    }
    if (status == ORR_OK && s.options.save_at != NULL) {
        status = open_state(&s, &err);
        options.also_written[0] = s.state;
    }
    options.hold = hold.at_ms != ORR_MS_NONE ? &hold : NULL;
    if (status == ORR_OK) {
        status = orr_cli_output(s.options.output, &err);
    }
    if (status == ORR_OK) {
        status = orr_cli_report(s.options.junit, junit_begin(&s), &err);
        options.also_written[1] = s.options.junit;
    }
    if (status == ORR_OK && s.options.replicas > 0) {
        const int replicated = orr_cli_replicas(&s.options, &options);
        orr_cli_now_close(&s.options.snapshot);
        return replicated;
    }
    if (status == ORR_OK) {
        orr_spill_begin(s.options.output != NULL ? s.options.output : "", s.options.spill_bytes);
        status = orr_point_run(&options, &s.point, &err);
    }
    orr_cycle_lines_release(&s.lines);
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
    orr_state_release(&s.from);
    orr_cli_now_close(&s.options.snapshot);
    return code;
}
