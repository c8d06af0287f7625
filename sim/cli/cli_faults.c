/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_faults.c - `orrery faults`: what the loss of each failure domain would have cost. */
#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/sim/domain_loss.h>

#include "cli.h"

enum { KEY_EACH = 256, KEY_AT, KEY_MOMENTS, KEY_FOR, KEY_TOP };
enum { TOP_DEFAULT = 20, TOP_MAX = 1000000, MOMENTS_DEFAULT = 3, MOMENTS_MAX = 32 };

#define FOR_DEFAULT_MS ((orr_ms)6 * 3600 * 1000)

struct faults_cli {
    struct orr_cli_common common;
    struct orr_domain_loss_options ask;
    const char *at[MOMENTS_MAX];
    uint32_t at_count, top;
    bool moments_given;
    struct orr_progress progress;
};

static void take_moment(struct argp_state *state, struct faults_cli *o, const char *text)
{
    if (o->at_count == MOMENTS_MAX) {
        argp_error(state, "--at: at most %d times", MOMENTS_MAX);
    }
    o->at[o->at_count++] = text;
}

static void check_ask(struct argp_state *state, const struct faults_cli *o)
{
    if (o->ask.results == NULL) {
        argp_error(state, "name a results file");
    }
    if (o->ask.level == NULL) {
        argp_error(state, "--each is missing: node, or a level of the topology such as rack");
    }
    if (o->at_count > 0 && o->moments_given) {
        argp_error(state, "--at says when, --moments how many times to choose: one of them");
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct faults_cli *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_EACH: o->ask.level = arg; return 0;
    case KEY_AT: take_moment(state, o, arg); return 0;
    case KEY_MOMENTS:
        o->ask.moments_default = orr_cli_count(state, "--moments", arg, MOMENTS_MAX);
        o->moments_given = true;
        return 0;
    case KEY_FOR:
        if (!orr_parse_duration(arg, strlen(arg), &o->ask.for_ms) || o->ask.for_ms <= 0) {
            argp_error(state, "--for: \"%s\" is not a time of more than 0, such as 6h", arg);
        }
        return 0;
    case KEY_TOP: o->top = orr_cli_count(state, "--top", arg, TOP_MAX); return 0;
    case 'j': o->ask.study.jobs = orr_cli_count(state, "-j", arg, 10000); return 0;
    case ARGP_KEY_ARG:
        if (o->ask.results != NULL) {
            argp_error(state, "one results file at a time: \"%s\"?", arg);
        }
        o->ask.results = arg;
        return 0;
    case ARGP_KEY_END: check_ask(state, o); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static enum orr_status read_moments(struct faults_cli *o, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    for (uint32_t m = 0; m < o->at_count && status == ORR_OK; m++) {
        status = orr_cli_time(o->ask.results, "--at", o->at[m], &o->ask.at_ms[m], err);
    }
    o->ask.moment_count = o->at_count;
    return status;
}

/* --- the answer --- */

/* "n0001", "rack 3: n0007", "rack north: n0001 to n0006". */
static const char *name_of(const struct faults_cli *o, const struct orr_domain_loss *item,
                           struct orr_arena *arena)
{
    char number[12];
    (void)snprintf(number, sizeof number, "%u", (unsigned)item->domain);
    const char *domain = item->name != NULL ? item->name : number;
    const char *last = item->nodes > 1 ? item->last : "";
    if (strcmp(o->ask.level, "node") == 0) {
        return item->first;
    }
    const size_t bytes = strlen(o->ask.level) + strlen(domain) + strlen(item->first) +
                         strlen(last) + sizeof " :  to ";
    char *name = orr_arena_alloc(arena, bytes, 1);
    (void)snprintf(name, bytes, "%s %s: %s%s%s", o->ask.level, domain, item->first,
                   item->nodes > 1 ? " to " : "", last);
    return name;
}

/* Behind its name. */
static void print_one(const struct orr_domain_losses *losses, const struct orr_domain_loss *item)
{
    char rough[24], when[32], wasted[24], longer[24], shorter[24];
    (void)printf("%5u %9u %12s %12s %8u %12s", item->gpus, item->mean.hit_jobs,
                 orr_cli_gpu_hours(item->mean.wasted_gpu_h, wasted),
                 orr_cli_gpu_hours(item->mean.longer_gpu_h, longer), item->mean.longer_jobs,
                 orr_cli_gpu_hours(item->mean.shorter_gpu_h, shorter));
    if (losses->moment_count > 1) {
        (void)printf("  %s at %s",
                     orr_cli_gpu_hours(item->most.wasted_gpu_h + item->most.longer_gpu_h, wasted),
                     orr_format_clock(when, item->most_at_ms, losses->origin_ms));
    }
    if (item->most_job != NULL) {
        (void)printf("  queue %s %s GPU-h; job %s %s", item->most_queue,
                     orr_cli_gpu_hours(item->most_queue_gpu_h, wasted), item->most_job,
                     orr_format_rough(rough, item->most_job_s));
    }
    (void)printf("\n");
}

static void print_table(const struct faults_cli *o, const struct orr_domain_losses *losses,
                        uint32_t count, struct orr_arena *arena)
{
    struct orr_name_column column = {.count = count};
    column.names = orr_arena_alloc(arena, count + (size_t)1, sizeof *column.names);
    for (uint32_t i = 0; i < count; i++) {
        column.names[i] = name_of(o, &losses->items[i], arena);
    }
    orr_name_column_of(&column, 32, arena);
    orr_pad(stdout, o->ask.level, column.width + 1);
    (void)printf("%5s %9s %12s %12s %8s %12s  %s\n", "GPUs", "jobs hit", "no use GPU-h",
                 "waits GPU-h", "in jobs", "spared GPU-h",
                 losses->moment_count > 1 ? "most damage (GPU-h), and who waited then"
                                          : "who waited");
    for (uint32_t i = 0; i < count; i++) {
        orr_pad(stdout, column.shorts[i], column.width + 1);
        print_one(losses, &losses->items[i]);
    }
    orr_short_legend(stdout, "", column.names, column.shorts, count);
}

static void print_sentence(const struct faults_cli *o, const struct orr_domain_losses *losses,
                           struct orr_arena *arena)
{
    char rough[24], when[32], wasted[24], longer[24];
    const struct orr_domain_loss *first = &losses->items[0];
    if (first->damage_gpu_h > 0) {
        (void)printf("The loss of %s for %s does most damage: %s GPU-hours held to no use and "
                     "%s GPU-hours of waiting more%s.\n",
                     name_of(o, first, arena),
                     orr_format_rough(rough, (double)o->ask.for_ms / 1000),
                     orr_cli_gpu_hours(first->mean.wasted_gpu_h, wasted),
                     orr_cli_gpu_hours(first->mean.longer_gpu_h, longer),
                     losses->moment_count > 1 ? ", on average" : "");
    } else {
        (void)printf("No loss of a %s for %s does any damage.\n", o->ask.level,
                     orr_format_rough(rough, (double)o->ask.for_ms / 1000));
    }
    (void)printf("Each %s was lost in %s of its own, at ", o->ask.level,
                 losses->moment_count > 1 ? "runs" : "a run");
    for (uint32_t m = 0; m < losses->moment_count; m++) {
        (void)printf("%s%s",
                     m == 0                          ? ""
                     : m + 1 == losses->moment_count ? " and "
                                                     : ", ",
                     orr_format_clock(when, losses->at_ms[m], losses->origin_ms));
    }
    (void)printf(" (runs in all: %llu).\n", (unsigned long long)losses->runs);
}

static void print_answer(const struct faults_cli *o, const struct orr_domain_losses *losses)
{
    const uint32_t top = o->top < losses->count ? o->top : losses->count;
    struct orr_arena arena;
    orr_arena_init(&arena);
    print_sentence(o, losses, &arena);
    (void)printf(
        "\"No use\": GPU time that jobs held without keeping what they did, beyond that of the run "
        "without the loss. Waits are for every start, times the GPUs that waited; \"spared\": "
        "those that are shorter with the loss, which damage is not reduced by. Other times of loss "
        "would give other numbers.\n");
    double longer_gpu_h = 0, shorter_gpu_h = 0;
    for (uint32_t i = 0; i < losses->count; i++) {
        longer_gpu_h += losses->items[i].mean.longer_gpu_h;
        shorter_gpu_h += losses->items[i].mean.shorter_gpu_h;
    }
    orr_cli_say_turns(longer_gpu_h, shorter_gpu_h);
    (void)printf("\n");
    print_table(o, losses, top, &arena);
    if (top < losses->count) {
        (void)printf("and %u more with less damage (--top)\n", losses->count - top);
    }
    orr_arena_release(&arena);
}

static void put_damage(struct orr_json *json, const struct orr_domain_damage *damage)
{
    orr_json_int(json, "hit_jobs", damage->hit_jobs);
    orr_json_real(json, "no_use_gpu_h", damage->wasted_gpu_h);
    orr_json_int(json, "longer_jobs", damage->longer_jobs);
    orr_json_real(json, "longer_gpu_h", damage->longer_gpu_h);
    orr_json_int(json, "spared_jobs", damage->shorter_jobs);
    orr_json_real(json, "spared_gpu_h", damage->shorter_gpu_h);
}

static void print_json(const struct faults_cli *o, const struct orr_domain_losses *losses)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "each", o->ask.level);
    orr_json_real(&json, "for_s", (double)o->ask.for_ms / 1000);
    orr_json_int(&json, "runs", (int64_t)losses->runs);
    orr_json_open(&json, "at_s", '[');
    for (uint32_t m = 0; m < losses->moment_count; m++) {
        orr_json_real(&json, NULL, (double)losses->at_ms[m] / 1000);
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "domains", '[');
    for (uint32_t i = 0; i < losses->count; i++) {
        const struct orr_domain_loss *item = &losses->items[i];
        orr_json_open(&json, NULL, '{');
        orr_json_int(&json, "domain", item->domain);
        orr_json_text(&json, "name", item->name);
        orr_json_text(&json, "first_node", item->first);
        orr_json_text(&json, "last_node", item->last);
        orr_json_int(&json, "nodes", item->nodes);
        orr_json_int(&json, "gpus", item->gpus);
        orr_json_real(&json, "damage_gpu_h", item->damage_gpu_h);
        put_damage(&json, &item->mean);
        orr_json_open(&json, "most", '{');
        orr_json_real(&json, "at_s", (double)item->most_at_ms / 1000);
        put_damage(&json, &item->most);
        orr_json_text(&json, "queue", item->most_queue);
        orr_json_text(&json, "job", item->most_job);
        orr_json_real(&json, "job_s", item->most_job_s);
        orr_json_close(&json, '}');
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

int orr_cli_faults(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"each", KEY_EACH, "LEVEL", 0,
         "what is lost: each node, or each domain of a level of the topology (rack, block, ...)",
         1},
        {"for", KEY_FOR, "TIME", 0, "how long it is down (default 6h)", 1},
        {"at", KEY_AT, "TIME", 0,
         "when it is lost: " ORR_CLI_TIME_HELP "; may be given several times, each a run of its "
         "own",
         1},
        {"moments", KEY_MOMENTS, "N", 0,
         "without --at: so many times, in the middles of equal parts of the window (default 3)", 1},
        {"top", KEY_TOP, "N", 0, "print so many, the worst first (default 20; --json has all)", 2},
        {"jobs", 'j', "N", 0, "runs at a time (default: one a core)", 2},
        {0}};
    const struct argp parser = {
        rows,
        parse,
        "R.db",
        "What the loss of each failure domain would have cost: repeat a run with each node, rack "
        "or block lost in turn, and rank them by the GPU-hours that were held to no use and waited "
        "more. Needs a run for each domain and moment.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct faults_cli o = {.ask = {.moments_default = MOMENTS_DEFAULT, .for_ms = FOR_DEFAULT_MS},
                           .top = TOP_DEFAULT};
    struct orr_domain_losses losses = {0};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    orr_progress_init(&o.progress, &o.common);
    o.ask.study.progress = orr_progress_draw;
    o.ask.study.again = orr_cli_again;
    o.ask.study.context = &o.progress;
    enum orr_status status = read_moments(&o, &err);
    status = status == ORR_OK ? orr_domain_loss_find(&o.ask, &losses, &err) : status;
    orr_progress_clear(&o.progress);
    if (status == ORR_OK) {
        (o.common.json ? print_json : print_answer)(&o, &losses);
    }
    orr_domain_losses_release(&losses);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
