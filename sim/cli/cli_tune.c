/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_tune.c - `orrery tune`: which quotas meet the objectives of several queues, and at whose
 * cost?
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/sim/point.h>
#include <orrery/sim/tune.h>

#include "cli_search.h"

enum { KEY_QUEUE = ORR_CLI_SEARCH_KEYS, KEY_STEP, KEY_WEIGHTS, KEY_TRIES, KEY_ALL };

enum { TRIES_MAX = 100000, STEP_MAX = 1000000, SHOWN = 5 };

struct tune_cli {
    struct orr_cli_search search;
    struct orr_tune_options ask;
    const char *queues[ORR_CLI_LIST_MAX];
    bool all;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tune_cli *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->search; return 0;
    case KEY_QUEUE: orr_cli_append(state, o->queues, &o->ask.queue_count, arg); return 0;
    case KEY_STEP: o->ask.step = orr_cli_count(state, "--step", arg, STEP_MAX); return 0;
    case KEY_WEIGHTS: o->ask.weights = true; return 0;
    case KEY_TRIES: o->ask.tries = orr_cli_count(state, "--tries", arg, TRIES_MAX); return 0;
    case KEY_ALL: o->all = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static enum orr_status prepare(struct tune_cli *o, struct orr_err *err)
{
    const enum orr_status status = orr_cli_search_prepare(&o->search, err);
    o->ask.queues = o->queues;
    o->ask.scenario = o->search.scenario;
    o->ask.study = o->search.study;
    o->ask.replicas = o->search.replicas;
    o->ask.needed = o->search.needed;
    o->ask.allow_loss_ppm = o->search.allow_loss_ppm;
    return status;
}

/* --- quotas that cannot be kept --- */

struct problems {
    const char **texts;
    uint32_t count, capacity;
    struct orr_arena *arena;
};

static void note_problem(const char *text, void *context)
{
    struct problems *problems = context;
    problems->texts = ORR_ROOM_FOR_ONE(problems->texts, problems->count, problems->capacity);
    problems->texts[problems->count++] = orr_arena_strndup(problems->arena, text, strlen(text));
}

/* What `orrery check` says of the scenario's quotas with a setting: a promise that cannot be kept
 * is no answer, whatever the waits. Caller frees the texts. */
static enum orr_status find_problems(const struct tune_cli *o,
                                     const struct orr_tune_setting *setting,
                                     struct problems *problems, struct orr_err *err)
{
    const struct orr_scenario_options *scenario = &o->search.scenario;
    struct orr_point point;
    const char **sets =
        orr_alloc(scenario->set_count + (size_t)setting->set_count + 1, sizeof *sets);
    memcpy(sets, scenario->sets, scenario->set_count * sizeof *sets);
    memcpy(sets + scenario->set_count, setting->sets, setting->set_count * sizeof *sets);
    struct orr_point_options options = {.scenario = *scenario,
                                        .allow_loss_ppm = o->search.allow_loss_ppm};
    options.scenario.sets = sets;
    options.scenario.set_count += setting->set_count;
    const enum orr_status status = orr_point_check(&options, &point, err);
    if (status == ORR_OK) {
        orr_cli_check_quotas(&point.scenario, &point.world, point.shards, note_problem, problems);
    }
    orr_point_release(&point);
    orr_free(sets);
    return status;
}

/* --- the answer --- */

/* Of the front: those that keep all in the most runs first, then as they were found. */
static int by_kept(const void *a, const void *b, void *context)
{
    const struct orr_tune *tune = *(const struct orr_tune *const *)context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint32_t of_x = tune->settings[x].kept_all, of_y = tune->settings[y].kept_all;
    return of_x != of_y ? (of_x < of_y) - (of_x > of_y) : (x > y) - (x < y);
}

static uint32_t list_front(const struct orr_tune *tune, uint32_t *front)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tune->count; i++) {
        if (tune->settings[i].on_front) {
            front[count++] = i;
        }
    }
    orr_sort(front, count, sizeof *front, by_kept, &tune);
    return count;
}

static void print_changes(const struct orr_tune *tune, const struct orr_tune_setting *setting)
{
    const struct orr_tune_setting *base = &tune->settings[0];
    const char *between = "";
    for (uint32_t q = 0; q < tune->queue_count; q++) {
        if (setting->quotas[q] != base->quotas[q]) {
            (void)printf("%s%s quota %.12g -> %.12g", between, tune->queues[q], base->quotas[q],
                         setting->quotas[q]);
            between = ", ";
        }
        if (setting->weights[q] != base->weights[q]) {
            (void)printf("%s%s weight %.12g -> %.12g", between, tune->queues[q], base->weights[q],
                         setting->weights[q]);
            between = ", ";
        }
    }
    (void)printf("%s", between[0] == '\0' ? "as the scenario has them" : "");
}

/* The same as words of a command, quotas of queues above them included. */
static void print_sets(const struct orr_tune_setting *setting)
{
    (void)printf("%s", setting->set_count > 0 ? " " : "");
    for (uint32_t i = 0; i < setting->set_count; i++) {
        char *word = orr_cli_shell_word(setting->sets[i]);
        (void)printf(" --set %s", word);
        free(word);
    }
    (void)printf("%s", setting->set_count > 0 ? "\n" : "");
}

static enum orr_status print_problems(struct tune_cli *o, const struct orr_tune_setting *setting,
                                      struct orr_err *err)
{
    struct problems problems = {.arena = &o->search.arena};
    const enum orr_status status = find_problems(o, setting, &problems, err);
    for (uint32_t i = 0; i < problems.count; i++) {
        (void)printf("  problem: %s\n", problems.texts[i]);
    }
    orr_free(problems.texts);
    return status;
}

static const char *mean_of(const struct orr_tune *tune, const struct orr_tune_setting *setting,
                           uint32_t objective, char out[40])
{
    return isnan(setting->means[objective])
               ? "not reached"
               : orr_compare_figure(tune->objectives[objective].unit, setting->means[objective],
                                    false, out);
}

static void print_objectives(const struct orr_tune *tune, const struct orr_tune_setting *setting)
{
    for (uint32_t i = 0; i < tune->objective_count; i++) {
        char mean[40], base[40];
        (void)printf("  %-44s %s", tune->objectives[i].text, mean_of(tune, setting, i, mean));
        if (setting != &tune->settings[0]) {
            (void)printf(", before %s", mean_of(tune, &tune->settings[0], i, base));
        }
        (void)printf(" (kept in %u of %u run%s)\n", setting->kept[i], tune->replicas,
                     ORR_PLURAL(tune->replicas));
    }
    const long long never_run = setting->never_run, before = tune->settings[0].never_run;
    if (never_run > 0 || before > 0) {
        (void)printf("  %-44s %lld", "jobs that can never run, in no wait", never_run);
        if (setting != &tune->settings[0]) {
            (void)printf(", before %lld", before);
        }
        (void)printf("\n");
    }
}

/* Which queues lose and gain beside the scenario as it is. */
static enum orr_status print_costs(const struct orr_tune *tune,
                                   const struct orr_tune_setting *setting, struct orr_arena *arena,
                                   struct orr_err *err)
{
    const uint32_t replicas = tune->replicas;
    const char **paths = orr_arena_alloc(arena, 2 * (size_t)replicas, sizeof *paths);
    const char **labels = orr_arena_alloc(arena, 2 * (size_t)replicas, sizeof *labels);
    uint32_t *arms = orr_arena_alloc(arena, 2 * (size_t)replicas, sizeof *arms);
    for (uint32_t i = 0; i < 2 * replicas; i++) {
        arms[i] = i >= replicas;
        paths[i] = arms[i] == 0 ? tune->settings[0].paths[i] : setting->paths[i - replicas];
        labels[i] = arms[i] == 0 ? "before" : "tuned";
    }
    const struct orr_compare_options options = {.paths = paths,
                                                .path_count = 2 * replicas,
                                                .labels = labels,
                                                .arms = arms,
                                                .scope = "queue",
                                                .may_be_empty = true};
    struct orr_comparison queues;
    const enum orr_status status = orr_compare(&options, &queues, err);
    if (status == ORR_OK) {
        const struct orr_comparison *const of = &queues;
        const struct orr_comparison_ranking ranking = orr_comparison_rank(&of, 1, 1, arena);
        orr_comparison_print_ranking(&ranking, 1, 3, stdout);
    }
    orr_comparison_release(&queues);
    return status;
}

static bool is_as_before(const struct orr_tune *tune, const struct orr_tune_setting *setting)
{
    for (uint32_t i = 0; i < tune->objective_count; i++) {
        const double mean = setting->means[i], before = tune->settings[0].means[i];
        if (isnan(mean) != isnan(before) || mean < before || mean > before) {
            return false;
        }
    }
    return true;
}

static uint32_t count_meeting(const struct orr_tune *tune)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tune->count; i++) {
        count += tune->settings[i].kept_all >= tune->needed;
    }
    return count;
}

static void print_head(const struct orr_tune *tune, uint32_t front)
{
    const uint32_t meet = count_meeting(tune);
    uint32_t as_before = 0, out = 0;
    for (uint32_t i = 0; i < tune->count; i++) {
        as_before += is_as_before(tune, &tune->settings[i]);
        out += tune->settings[i].keeps_out;
    }
    if (meet > 0) {
        (void)printf("%u of the %u setting%s tried keep%s all objectives", meet, tune->count,
                     ORR_PLURAL(tune->count), meet == 1 ? "s" : "");
    } else {
        (void)printf("None of the %u setting%s tried keeps all objectives", tune->count,
                     ORR_PLURAL(tune->count));
    }
    if (tune->replicas > 1) {
        (void)printf(" in %u of %u run%s", tune->needed, tune->replicas,
                     ORR_PLURAL(tune->replicas));
    }
    (void)printf("; %u %s beaten by no other in any objective without losing in another.\n", front,
                 front == 1 ? "is" : "are");
    (void)printf("%s Quota moved by %.12g GPU%s at last, and its sum stays. Between settings tried "
                 "nothing is known.\n",
                 tune->exhausted ? "No neighbour of these is left to try."
                                 : "More --tries may find better ones.",
                 tune->step, ORR_PLURAL(tune->step));
    if (out > 0) {
        (void)printf("Not counted: %u with which more jobs can never run than before, for waits "
                     "are without these.\n",
                     out);
    }
    if (as_before == tune->count && tune->count > 1) {
        (void)printf(
            "No setting changes any objective: these quotas do not bind, or the policy does "
            "not look at them.\n");
    }
    if (tune->replicas == 1) {
        (void)printf("One run of each: how much of it is chance is not known (--replicas 5 --shake "
                     "submit=60s,run=1%%).\n");
    }
}

static enum orr_status print_answer(struct tune_cli *o, const struct orr_tune *tune,
                                    struct orr_err *err)
{
    uint32_t *front = orr_arena_alloc(&o->search.arena, tune->count + (size_t)1, sizeof *front);
    const uint32_t count = list_front(tune, front);
    const uint32_t shown = o->all || count < SHOWN ? count : SHOWN;
    enum orr_status status = ORR_OK;
    print_head(tune, count);
    (void)printf("\nbefore\n");
    print_objectives(tune, &tune->settings[0]);
    status = print_problems(o, &tune->settings[0], err);
    for (uint32_t i = 0; i < shown && status == ORR_OK; i++) {
        const struct orr_tune_setting *setting = &tune->settings[front[i]];
        (void)printf("\n");
        print_changes(tune, setting);
        (void)printf("\n");
        if (front[i] > 0) {
            print_sets(setting);
            print_objectives(tune, setting);
            status = print_problems(o, setting, err);
            status = status == ORR_OK ? print_costs(tune, setting, &o->search.arena, err) : status;
        }
    }
    if (shown < count) {
        (void)printf("\n%u more on the front: --all\n", count - shown);
    }
    return status;
}

/* Of settings on the front, and of the scenario's own: null where nobody looked. */
static enum orr_status json_problems(struct orr_json *json, const struct tune_cli *o,
                                     const struct orr_tune_setting *setting, struct orr_err *err)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct problems problems = {.arena = &arena};
    const enum orr_status status = find_problems(o, setting, &problems, err);
    orr_json_open(json, "problems", '[');
    for (uint32_t i = 0; i < problems.count; i++) {
        orr_json_text(json, NULL, problems.texts[i]);
    }
    orr_json_close(json, ']');
    orr_free(problems.texts);
    orr_arena_release(&arena);
    return status;
}

static enum orr_status json_setting(struct orr_json *json, const struct tune_cli *o,
                                    const struct orr_tune *tune,
                                    const struct orr_tune_setting *setting, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    orr_json_open(json, NULL, '{');
    orr_json_bool(json, "front", setting->on_front);
    orr_json_int(json, "kept", setting->kept_all);
    orr_json_int(json, "never_run", setting->never_run);
    orr_json_bool(json, "keeps_out", setting->keeps_out);
    orr_json_open(json, "queues", '[');
    for (uint32_t q = 0; q < tune->queue_count; q++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "queue", tune->queues[q]);
        orr_json_real(json, "quota", setting->quotas[q]);
        orr_json_real(json, "weight", setting->weights[q]);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_open(json, "objectives", '[');
    for (uint32_t i = 0; i < tune->objective_count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_real(json, "mean", setting->means[i]); /* null: not reached in some run */
        orr_json_int(json, "kept", setting->kept[i]);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_open(json, "sets", '[');
    for (uint32_t i = 0; i < setting->set_count; i++) {
        orr_json_text(json, NULL, setting->sets[i]);
    }
    orr_json_close(json, ']');
    if (setting->on_front || setting == &tune->settings[0]) {
        status = json_problems(json, o, setting, err);
    } else {
        orr_json_text(json, "problems", NULL);
    }
    orr_json_close(json, '}');
    return status;
}

static enum orr_status print_json(const struct tune_cli *o, const struct orr_tune *tune,
                                  struct orr_err *err)
{
    struct orr_json json = {.out = stdout};
    enum orr_status status = ORR_OK;
    orr_json_open(&json, NULL, '{');
    orr_json_int(&json, "replicas", tune->replicas);
    orr_json_int(&json, "needed", tune->needed);
    orr_json_int(&json, "runs", (int64_t)tune->runs);
    orr_json_real(&json, "step_gpus", tune->step);
    orr_json_bool(&json, "exhausted", tune->exhausted);
    orr_json_open(&json, "objectives", '[');
    for (uint32_t i = 0; i < tune->objective_count; i++) {
        orr_json_text(&json, NULL, tune->objectives[i].text);
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "settings", '[');
    for (uint32_t i = 0; i < tune->count && status == ORR_OK; i++) {
        status = json_setting(&json, o, tune, &tune->settings[i], err);
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
    return status;
}

int orr_cli_tune(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"queue", KEY_QUEUE, "NAME", 0,
         "whose quota may move; may be given several times (default: of all queues without "
         "children)",
         1},
        {"step", KEY_STEP, "GPUS", 0,
         "GPUs that move at first (default: a quarter of the largest quota); halved down to 1", 1},
        {"weights", KEY_WEIGHTS, 0, 0, "double and halve over-quota weights too", 1},
        {"tries", KEY_TRIES, "N", 0, "settings to try at most (default 60)", 1},
        {"all", KEY_ALL, 0, 0, "show the whole front, not the first five", 1},
        {0}};
    const struct argp parser = {
        rows,
        parse,
        "[SCENARIO|R.db]",
        "Look for quotas of GPUs with which the objectives of several queues hold: moves quota "
        "from one queue to another, keeps the settings that no other beats, tries their "
        "neighbours, and says of each what it costs whom, how to --set it, and which problem "
        "`orrery check` has with its quotas. Exit code 1: no setting that was tried keeps all "
        "objectives.\vExample: orrery tune mine.yaml --objective 'wait_p95_s{queue=research} <= "
        "1h' --objective 'wait_p95_s{queue=prod} <= 10min' --replicas 5 --shake submit=60s,run=1%",
        orr_cli_searching,
        NULL,
        NULL};
    struct tune_cli o = {.ask.tries = 60};
    struct orr_tune tune;
    int code = 0;
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    enum orr_status status = prepare(&o, &err);
    if (status == ORR_OK) {
        status = orr_tune_find(&o.ask, &tune, &err);
        orr_progress_clear(&o.search.progress);
        if (status == ORR_OK && o.search.common.json) {
            status = print_json(&o, &tune, &err);
        } else if (status == ORR_OK && !o.search.common.quiet) {
            status = print_answer(&o, &tune, &err);
        }
        code = count_meeting(&tune) > 0 ? 0 : 1;
        orr_tune_release(&tune);
    }
    orr_cli_search_release(&o.search);
    return status == ORR_OK ? code : orr_cli_fail(&err);
}
