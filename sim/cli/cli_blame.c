/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_blame.c - `orrery blame`: who made others wait. */
#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/sim/blame.h>

#include "cli.h"

enum { KEY_BY = 256, KEY_USER, KEY_QUEUE, KEY_JOB, KEY_TOP };
enum { TOP_DEFAULT = 10, TOP_MAX = 10000 };

static const char *const by_names[] = {"user", "queue", "job"};

struct blame_cli {
    struct orr_cli_common common;
    struct orr_blame_options ask;
    struct orr_progress progress;
    bool chosen; /* who */
};

static void choose(struct argp_state *state, struct blame_cli *o, enum orr_blame_by by,
                   const char *name)
{
    if (o->ask.name != NULL) {
        argp_error(state, "--user, --queue and --job: one of them, once");
    }
    o->ask.by = by;
    o->ask.name = name;
}

static void choose_by(struct argp_state *state, struct blame_cli *o, const char *word)
{
    uint32_t by = 0;
    while (by < 3 && strcmp(by_names[by], word) != 0) {
        by++;
    }
    if (by == 3) {
        argp_error(state, "--by: \"%s\" is not user, queue or job", word);
    }
    o->ask.by = (enum orr_blame_by)by;
    o->chosen = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct blame_cli *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_BY: choose_by(state, o, arg); return 0;
    case KEY_USER: choose(state, o, ORR_BLAME_USER, arg); return 0;
    case KEY_QUEUE: choose(state, o, ORR_BLAME_QUEUE, arg); return 0;
    case KEY_JOB: choose(state, o, ORR_BLAME_JOB, arg); return 0;
    case KEY_TOP: o->ask.most = orr_cli_count(state, "--top", arg, TOP_MAX); return 0;
    case 'j': o->ask.study.jobs = orr_cli_count(state, "-j", arg, 10000); return 0;
    case ARGP_KEY_ARG:
        if (o->ask.results != NULL) {
            argp_error(state, "one results file at a time: \"%s\"?", arg);
        }
        o->ask.results = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->ask.results == NULL) {
            argp_error(state, "name a results file");
        }
        if (o->chosen && o->ask.name != NULL) {
            argp_error(state, "--by ranks several, --%s asks about one: one of them",
                       by_names[o->ask.by]);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Behind its name. */
static void print_one(const struct orr_blamed *item)
{
    char rough[24], held[24], longer[24], shorter[24];
    (void)printf("%7u %12s %14s %7u %14s", item->jobs, orr_cli_gpu_hours(item->gpu_h, held),
                 orr_cli_gpu_hours(item->longer_gpu_h, longer), item->longer_jobs,
                 orr_cli_gpu_hours(item->shorter_gpu_h, shorter));
    if (item->most_job != NULL) {
        (void)printf("  queue %s %s GPU-h; job %s %s", item->most_queue,
                     orr_cli_gpu_hours(item->most_queue_gpu_h, held), item->most_job,
                     orr_format_rough(rough, item->most_job_s));
    }
    (void)printf("\n");
}

static void print_table(const char *what, const struct orr_blame *blame)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct orr_name_column column = {.count = blame->count};
    column.names = orr_arena_alloc(&arena, blame->count + (size_t)1, sizeof *column.names);
    for (uint32_t i = 0; i < blame->count; i++) {
        column.names[i] = blame->items[i].shown;
    }
    orr_name_column_of(&column, 28, &arena);
    orr_pad(stdout, what, column.width + 1);
    (void)printf("%7s %12s %14s %7s %14s  %s\n", "jobs", "GPU-h held", "caused GPU-h", "in jobs",
                 "spared GPU-h", "most of it");
    for (uint32_t i = 0; i < blame->count; i++) {
        orr_pad(stdout, column.shorts[i], column.width + 1);
        print_one(&blame->items[i]);
    }
    orr_short_legend(stdout, "", column.names, column.shorts, column.count);
    orr_arena_release(&arena);
}

static void print_answer(const struct blame_cli *o, const struct orr_blame *blame)
{
    const char *what = by_names[o->ask.by];
    const struct orr_blamed *first = &blame->items[0];
    char longer[24];
    if (first->longer_gpu_h > 0) {
        (void)printf("Without %s %s, %u other %s would have waited %s GPU-hours less.\n", what,
                     first->shown, first->longer_jobs, ORR_ONE(first->longer_jobs, "job", "jobs"),
                     orr_cli_gpu_hours(first->longer_gpu_h, longer));
    } else {
        (void)printf("Nobody else waits longer because of %s.\n",
                     ORR_ONE(blame->count, "it", "any of these"));
    }
    (void)printf(
        "Each %s was taken away in a run of its own; waits for every start, times the GPUs "
        "that waited. \"Spared\": waits of others that are shorter with it there. Shares "
        "overlap: two together cause what each alone would.\n",
        what);
    double longer_gpu_h = 0, shorter_gpu_h = 0;
    for (uint32_t i = 0; i < blame->count; i++) {
        longer_gpu_h += blame->items[i].longer_gpu_h;
        shorter_gpu_h += blame->items[i].shorter_gpu_h;
    }
    orr_cli_say_turns(longer_gpu_h, shorter_gpu_h);
    (void)printf("\n");
    print_table(what, blame);
}

static void print_json(const struct blame_cli *o, const struct orr_blame *blame)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "by", by_names[o->ask.by]);
    orr_json_open(&json, "blamed", '[');
    for (uint32_t i = 0; i < blame->count; i++) {
        const struct orr_blamed *item = &blame->items[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", item->name);
        orr_json_int(&json, "jobs", item->jobs);
        orr_json_real(&json, "gpu_h", item->gpu_h);
        orr_json_int(&json, "caused_jobs", item->longer_jobs);
        orr_json_real(&json, "caused_gpu_h", item->longer_gpu_h);
        orr_json_int(&json, "spared_jobs", item->shorter_jobs);
        orr_json_real(&json, "spared_gpu_h", item->shorter_gpu_h);
        orr_json_text(&json, "most_queue", item->most_queue);
        orr_json_text(&json, "most_job", item->most_job);
        orr_json_real(&json, "most_job_s", item->most_job_s);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

int orr_cli_blame(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"by", KEY_BY, "WHAT", 0,
         "rank those with most GPU-hours: user, queue or job "
         "(default user)",
         1},
        {"top", KEY_TOP, "N", 0, "of so many (default 10)", 1},
        {"user", KEY_USER, "NAME", 0, "what this one caused", 1},
        {"queue", KEY_QUEUE, "NAME", 0, "what this one caused", 1},
        {"job", KEY_JOB, "NAME", 0, "what this one caused", 1},
        {"jobs", 'j', "N", 0, "runs at a time (default: one a core)", 2},
        {0}};
    const struct argp parser = {
        rows,
        parse,
        "R.db",
        "Who made others wait: repeat a run without each user, queue or job, and say how many "
        "GPU-hours less the others wait then.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct blame_cli o = {.ask = {.most = TOP_DEFAULT}};
    struct orr_blame blame = {0};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    orr_progress_init(&o.progress, &o.common);
    o.ask.study.progress = orr_progress_draw;
    o.ask.study.again = orr_cli_again;
    o.ask.study.context = &o.progress;
    const enum orr_status status = orr_blame_find(&o.ask, &blame, &err);
    orr_progress_clear(&o.progress);
    if (status == ORR_OK) {
        (o.common.json ? print_json : print_answer)(&o, &blame);
    }
    orr_blame_release(&blame);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
