/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tune.c - Pareto local search over quotas and weights of queues.
 *
 *     orr_tune_find
 *       open                objectives, and the queues whose amounts may change
 *       try_new             runs what was added, a replica a process
 *         read_setting        what the results say of the objectives
 *         mark_front          who is not beaten
 *       next_to_expand      of the front, the one that lacks least and whose neighbours are untried
 *       add_neighbours      quota from one queue to one that an objective names; weights
 */
#include <orrery/sim/tune.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

#include "study_int.h"

#define WEIGHT_LEAST 0.01
#define WEIGHT_MOST  100.0

struct setting {
    double *quotas, *weights, *means;
    uint32_t *kept, kept_all;
    int64_t *never_run; /* by replica */
    bool keeps_out;     /* of these, in a replica, more than settings[0] */
    bool on_front, expanded;
    const char **paths;
};

struct parent { /* a queue above some whose quota moves */
    const char *name;
    double quota;
    bool *is_above; /* by queue */
};

struct search {
    const struct orr_tune_options *options;
    struct orr_tune *out;
    const char **queues;
    bool *wanted; /* by queue: an objective is about it, or about no queue */
    uint32_t queue_count;
    struct parent *parents; /* with a quota that is not unlimited */
    uint32_t parent_count;
    const struct orr_study_objective *objectives;
    struct setting *settings;
    uint32_t count, capacity, run; /* settings; of them the first that were run */
    uint64_t seed, first_runs;
    struct orr_err *err;
};

/* --- what is asked --- */

static bool is_parent(const struct orr_scenario *scenario, const char *name)
{
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        const char *parent = scenario->queues[q].parent;
        if (parent != NULL && strcmp(parent, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Has it one quota of GPUs that could be another? */
static bool is_movable(const struct orr_scenario *scenario, const struct orr_scenario_queue *queue)
{
    return queue->flavor_count == 0 && queue->resources[ORR_SCENARIO_GPU].quota >= 0 &&
           !is_parent(scenario, queue->name);
}

static bool is_named(const struct orr_tune_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->queue_count; i++) {
        if (strcmp(options->queues[i], name) == 0) {
            return true;
        }
    }
    return options->queue_count == 0;
}

static bool is_asked_of(const struct search *s, const char *queue)
{
    char label[300];
    (void)snprintf(label, sizeof label, "queue=%.280s", queue);
    const size_t bytes = strlen(label);
    for (uint32_t i = 0; i < s->out->objective_count; i++) {
        const char *labels = s->objectives[i].labels;
        if (strstr(labels, "queue=") == NULL || (strncmp(labels, label, bytes) == 0 &&
                                                 (labels[bytes] == '\0' || labels[bytes] == ','))) {
            return true;
        }
    }
    return false;
}

static struct setting *add_setting(struct search *s, const double *quotas, const double *weights)
{
    struct orr_arena *arena = &s->out->arena;
    const size_t queues = s->queue_count + (size_t)1,
                 objectives = s->out->objective_count + (size_t)1;
    s->settings = ORR_ROOM_FOR_ONE(s->settings, s->count, s->capacity);
    struct setting *setting = &s->settings[s->count++];
    *setting = (struct setting){
        .quotas = orr_arena_alloc(arena, queues, sizeof *setting->quotas),
        .weights = orr_arena_alloc(arena, queues, sizeof *setting->weights),
        .means = orr_arena_alloc(arena, objectives, sizeof *setting->means),
        .kept = orr_arena_alloc(arena, objectives, sizeof *setting->kept),
        .never_run =
            orr_arena_alloc(arena, s->out->replicas + (size_t)1, sizeof *setting->never_run),
        .paths = orr_arena_alloc(arena, s->out->replicas + (size_t)1, sizeof *setting->paths)};
    memcpy(setting->quotas, quotas, s->queue_count * sizeof *quotas);
    memcpy(setting->weights, weights, s->queue_count * sizeof *weights);
    memset(setting->kept, 0, objectives * sizeof *setting->kept);
    return setting;
}

static const struct orr_scenario_queue *find_queue(const struct orr_scenario *scenario,
                                                   const char *name)
{
    uint32_t q = 0;
    while (q < scenario->queue_count && strcmp(scenario->queues[q].name, name) != 0) {
        q++;
    }
    return q < scenario->queue_count ? &scenario->queues[q] : NULL;
}

static bool is_below(const struct orr_scenario *scenario, const char *name, const char *above)
{
    const struct orr_scenario_queue *queue = find_queue(scenario, name);
    while (queue != NULL && queue->parent != NULL && strcmp(queue->parent, above) != 0) {
        queue = find_queue(scenario, queue->parent);
    }
    return queue != NULL && queue->parent != NULL;
}

static void list_parents(struct search *s, const struct orr_scenario *scenario)
{
    struct orr_arena *arena = &s->out->arena;
    s->parents = orr_arena_alloc(arena, scenario->queue_count + (size_t)1, sizeof *s->parents);
    for (uint32_t p = 0; p < scenario->queue_count; p++) {
        const struct orr_scenario_queue *above = &scenario->queues[p];
        const double quota = above->resources[ORR_SCENARIO_GPU].quota;
        if (quota < 0 || above->flavor_count > 0 || !is_parent(scenario, above->name)) {
            continue;
        }
        struct parent *parent = &s->parents[s->parent_count++];
        parent->name = orr_arena_strndup(arena, above->name, strlen(above->name));
        parent->quota = quota;
        parent->is_above =
            orr_arena_alloc(arena, s->queue_count + (size_t)1, sizeof *parent->is_above);
        for (uint32_t q = 0; q < s->queue_count; q++) {
            parent->is_above[q] = is_below(scenario, s->queues[q], above->name);
        }
    }
}

/* The first that was asked for by a name that no queue has, or NULL. */
static const char *unknown_queue(const struct orr_tune_options *options,
                                 const struct orr_scenario *scenario)
{
    for (uint32_t i = 0; i < options->queue_count; i++) {
        bool known = false;
        for (uint32_t q = 0; q < scenario->queue_count && !known; q++) {
            known = strcmp(scenario->queues[q].name, options->queues[i]) == 0;
        }
        if (!known) {
            return options->queues[i];
        }
    }
    return NULL;
}

static enum orr_status list_queues(struct search *s, const struct orr_scenario *scenario)
{
    struct orr_arena *arena = &s->out->arena;
    const size_t most = scenario->queue_count + (size_t)1;
    double *quotas = orr_arena_alloc(arena, most, sizeof *quotas);
    double *weights = orr_arena_alloc(arena, most, sizeof *weights);
    const char *unknown = unknown_queue(s->options, scenario);
    if (unknown != NULL) {
        return orr_fail(s->err, ORR_USAGE,
                        "--queue %s: %s has no such queue (`orrery show` lists them)", unknown,
                        scenario->name);
    }
    s->queues = orr_arena_alloc(arena, most, sizeof *s->queues);
    s->wanted = orr_arena_alloc(arena, most, sizeof *s->wanted);
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        const struct orr_scenario_queue *queue = &scenario->queues[q];
        const bool asked = is_named(s->options, queue->name);
        if (asked && is_movable(scenario, queue)) {
            s->wanted[s->queue_count] = is_asked_of(s, queue->name);
            quotas[s->queue_count] = queue->resources[ORR_SCENARIO_GPU].quota;
            weights[s->queue_count] = queue->resources[ORR_SCENARIO_GPU].weight;
            s->queues[s->queue_count++] =
                orr_arena_strndup(arena, queue->name, strlen(queue->name));
        } else if (asked && s->options->queue_count > 0) {
            return orr_fail(s->err, ORR_USAGE,
                            "--queue %s: only a queue without children, with a quota of GPUs that "
                            "is not \"unlimited\" and not by flavors, can be tuned",
                            queue->name);
        }
    }
    if (s->queue_count < 2) {
        return orr_fail(s->err, ORR_USAGE,
                        "%s: %u queue%s with a quota of GPUs to move, and two are needed",
                        scenario->name, s->queue_count, ORR_PLURAL(s->queue_count));
    }
    list_parents(s, scenario);
    (void)add_setting(s, quotas, weights);
    return ORR_OK;
}

static enum orr_status open_search(struct search *s)
{
    struct orr_study__objectives asked;
    struct orr_tune *out = s->out;
    enum orr_status status =
        orr_study__list_objectives(&s->options->scenario, s->options->replicas, s->options->needed,
                                   &out->arena, &asked, s->err);
    if (status != ORR_OK) {
        return status;
    }
    s->seed = asked.seed;
    out->objective_count = asked.count;
    out->replicas = asked.replicas;
    out->needed = asked.needed;
    s->objectives = asked.objectives;
    status = list_queues(s, &asked.scenario);
    orr_scenario_release(&asked.scenario);
    return status;
}

/* --- runs --- */

/* A queue above others has as much more as they have. */
static double quota_above(const struct search *s, const struct setting *setting,
                          const struct parent *parent)
{
    double quota = parent->quota;
    for (uint32_t q = 0; q < s->queue_count; q++) {
        quota += parent->is_above[q] ? setting->quotas[q] - s->settings[0].quotas[q] : 0;
    }
    return quota > 0 ? quota : 0;
}

static const char *set_of(struct orr_arena *arena, const char *queue, const char *word,
                          double value)
{
    const size_t most = strlen(queue) + strlen(word) + 48;
    char *set = orr_arena_alloc(arena, most, 1);
    (void)snprintf(set, most, "queues.%s.gpu.%s=%.12g", queue, word, value);
    return set;
}

static const char **sets_of(const struct search *s, const struct setting *setting,
                            struct orr_arena *arena, uint32_t *count)
{
    const struct setting *base = &s->settings[0];
    const char **sets =
        orr_arena_alloc(arena, 2 * s->queue_count + s->parent_count + (size_t)1, sizeof *sets);
    *count = 0;
    for (uint32_t p = 0; p < s->parent_count; p++) {
        const double quota = quota_above(s, setting, &s->parents[p]);
        if (quota != s->parents[p].quota) {
            sets[(*count)++] = set_of(arena, s->parents[p].name, "quota", quota);
        }
    }
    for (uint32_t q = 0; q < s->queue_count; q++) {
        if (setting->quotas[q] != base->quotas[q]) {
            sets[(*count)++] = set_of(arena, s->queues[q], "quota", setting->quotas[q]);
        }
        if (setting->weights[q] != base->weights[q]) {
            sets[(*count)++] = set_of(arena, s->queues[q], "weight", setting->weights[q]);
        }
    }
    return sets;
}

static void prepare_setting(struct search *s, uint32_t index, struct orr_arena *arena,
                            struct orr_point_options *points)
{
    struct setting *setting = &s->settings[index];
    uint32_t count;
    const char *const *sets = sets_of(s, setting, arena, &count);
    const struct orr_point_options *replicas =
        orr_study__replicas(arena, &s->options->scenario, sets, count, s->seed, s->out->replicas);
    for (uint32_t r = 0; r < s->out->replicas; r++) {
        char path[4400];
        const int bytes = snprintf(path, sizeof path, "%s/%u-%u.db", s->out->scratch, index, r);
        setting->paths[r] = orr_arena_strndup(&s->out->arena, path, (size_t)bytes);
        points[r] = replicas[r];
        points[r].output = setting->paths[r];
        points[r].totals_only = true;
        points[r].allow_loss_ppm = s->options->allow_loss_ppm;
    }
}

static void report_progress(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    const struct search *s = context;
    (void)total;
    s->options->study.progress(s->first_runs + done, (uint64_t)s->options->tries * s->out->replicas,
                               now, s->options->study.context);
}

static enum orr_status read_setting(struct search *s, struct setting *setting)
{
    const uint32_t objectives = s->out->objective_count, replicas = s->out->replicas;
    enum orr_status status = ORR_OK;
    memset(setting->means, 0, objectives * sizeof *setting->means);
    for (uint32_t r = 0; r < replicas && status == ORR_OK; r++) {
        struct orr_results in;
        bool all = true;
        orr_results_open(&in, setting->paths[r], s->err);
        setting->never_run[r] = orr_study_never_run(&in);
        const bool out = setting->never_run[r] > s->settings[0].never_run[r];
        for (uint32_t i = 0; i < objectives && in.status == ORR_OK; i++) {
            double value;
            const bool holds = orr_study__read_objective(&in, s->objectives[i].text, &value);
            setting->means[i] += value / replicas; /* NAN stays */
            setting->kept[i] += holds;
            all = all && holds;
        }
        setting->kept_all += all && !out;
        setting->keeps_out = setting->keeps_out || out;
        status = in.status;
        orr_results_close(&in);
    }
    return status;
}

/* Less is better. */
static double cost_of(const struct search *s, const struct setting *setting, uint32_t objective)
{
    const double mean = setting->means[objective], bound = s->objectives[objective].bound;
    const char op = s->objectives[objective].op[0];
    return isnan(mean) ? (double)INFINITY
           : op == '<' ? mean
           : op == '>' ? -mean
                       : fabs(mean - bound);
}

static int64_t never_run(const struct search *s, const struct setting *setting)
{
    int64_t most = 0;
    for (uint32_t r = 0; r < s->out->replicas; r++) {
        most = setting->never_run[r] > most ? setting->never_run[r] : most;
    }
    return most;
}

/* Jobs that can never run count as one more objective, for the others are without them. */
static bool beats(const struct search *s, uint32_t a, uint32_t b)
{
    const int64_t out_of_a = never_run(s, &s->settings[a]),
                  out_of_b = never_run(s, &s->settings[b]);
    bool better = a < b || out_of_a < out_of_b; /* of equal ones the first stands for all */
    if (s->settings[a].keeps_out || out_of_a > out_of_b) {
        return false;
    }
    for (uint32_t i = 0; i < s->out->objective_count; i++) {
        const double of_a = cost_of(s, &s->settings[a], i), of_b = cost_of(s, &s->settings[b], i);
        if (of_a > of_b) {
            return false;
        }
        better = better || of_a < of_b;
    }
    return better;
}

static void mark_front(struct search *s)
{
    for (uint32_t a = 0; a < s->count; a++) {
        s->settings[a].on_front = !s->settings[a].keeps_out;
        for (uint32_t b = 0; b < s->count && s->settings[a].on_front; b++) {
            s->settings[a].on_front = b == a || !beats(s, b, a);
        }
    }
}

static enum orr_status try_new(struct search *s)
{
    const uint32_t first = s->run, replicas = s->out->replicas;
    const uint32_t points_count = (s->count - first) * replicas;
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct orr_point_options *points =
        orr_arena_alloc(&arena, points_count + (size_t)1, sizeof *points);
    for (uint32_t i = first; i < s->count; i++) {
        prepare_setting(s, i, &arena, &points[(size_t)(i - first) * replicas]);
    }
    struct orr_study_options study = s->options->study;
    study.progress = study.progress != NULL ? report_progress : NULL;
    study.context = s;
    s->first_runs = s->out->runs;
    enum orr_status status = orr_study_run(points, points_count, &study, s->err);
    s->out->runs += points_count;
    for (; s->run < s->count && status == ORR_OK; s->run++) {
        status = read_setting(s, &s->settings[s->run]);
    }
    mark_front(s);
    orr_arena_release(&arena);
    return status;
}

/* --- neighbours --- */

static bool is_known(const struct search *s, const double *quotas, const double *weights)
{
    const size_t bytes = s->queue_count * sizeof *quotas;
    for (uint32_t i = 0; i < s->count; i++) {
        if (memcmp(s->settings[i].quotas, quotas, bytes) == 0 &&
            memcmp(s->settings[i].weights, weights, bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* A setting that differs by quota `from` one queue `to` another; the weight of `to` times a
 * factor. */
static void add_neighbour(struct search *s, uint32_t index, uint32_t from, uint32_t to, double gpus,
                          double factor)
{
    double *quotas = orr_alloc(2 * s->queue_count + (size_t)1, sizeof *quotas);
    double *weights = quotas + s->queue_count;
    memcpy(quotas, s->settings[index].quotas, s->queue_count * sizeof *quotas);
    memcpy(weights, s->settings[index].weights, s->queue_count * sizeof *weights);
    quotas[from] -= gpus;
    quotas[to] += gpus;
    weights[to] *= factor;
    const bool fits = weights[to] >= WEIGHT_LEAST && weights[to] <= WEIGHT_MOST;
    if (s->count < s->options->tries && (factor == 1 || fits) && !is_known(s, quotas, weights)) {
        (void)add_setting(s, quotas, weights);
    }
    orr_free(quotas);
}

static void add_neighbours(struct search *s, uint32_t index)
{
    for (uint32_t to = 0; to < s->queue_count; to++) {
        for (uint32_t from = 0; s->wanted[to] && from < s->queue_count; from++) {
            const double has = s->settings[index].quotas[from];
            const double gpus = has < s->out->step ? has : s->out->step;
            if (from != to && gpus > 0) {
                add_neighbour(s, index, from, to, gpus, 1);
            }
        }
        if (s->wanted[to] && s->options->weights) {
            add_neighbour(s, index, to, to, 0, 2);
            add_neighbour(s, index, to, to, 0, 0.5);
        }
    }
    s->settings[index].expanded = true;
}

/* By how much objectives are missed, in parts of their bounds. */
static double lack_of(const struct search *s, const struct setting *setting)
{
    double lack = 0;
    for (uint32_t i = 0; i < s->out->objective_count; i++) {
        const double mean = setting->means[i], bound = s->objectives[i].bound;
        const double size = fabs(bound) > 0 ? fabs(bound) : 1;
        const char op = s->objectives[i].op[0];
        const double missed = op == '<'   ? mean - bound
                              : op == '>' ? bound - mean
                                          : fabs(mean - bound);
        lack += isnan(mean) ? 1e9 : missed > 0 ? missed / size : 0;
    }
    return lack;
}

/* ORR_NONE: the neighbours of all that are on the front were tried. */
static uint32_t next_to_expand(const struct search *s)
{
    uint32_t best = ORR_NONE;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct setting *setting = &s->settings[i];
        if (setting->on_front && !setting->expanded &&
            (best == ORR_NONE || lack_of(s, setting) < lack_of(s, &s->settings[best]))) {
            best = i;
        }
    }
    return best;
}

/* Half as many GPUs move from now on; false: it was one. */
static bool refine(struct search *s)
{
    if (s->out->step <= 1) {
        return false;
    }
    s->out->step = ceil(s->out->step / 2);
    for (uint32_t i = 0; i < s->count; i++) {
        s->settings[i].expanded = false;
    }
    return true;
}

static double first_step(const struct search *s)
{
    double largest = 0;
    for (uint32_t q = 0; q < s->queue_count; q++) {
        largest = s->settings[0].quotas[q] > largest ? s->settings[0].quotas[q] : largest;
    }
    return s->options->step > 0 ? s->options->step : ceil(largest / 4);
}

static enum orr_status run_search(struct search *s)
{
    s->out->step = first_step(s);
    enum orr_status status = try_new(s);
    while (status == ORR_OK && s->count < s->options->tries && !s->out->exhausted) {
        const uint32_t index = next_to_expand(s);
        if (index != ORR_NONE) {
            add_neighbours(s, index);
            status = s->count > s->run ? try_new(s) : ORR_OK;
        } else {
            s->out->exhausted = !refine(s);
        }
    }
    return status;
}

static void conclude(struct search *s)
{
    struct orr_tune *out = s->out;
    struct orr_tune_setting *settings =
        orr_arena_alloc(&out->arena, s->count + (size_t)1, sizeof *settings);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct setting *of = &s->settings[i];
        settings[i] = (struct orr_tune_setting){.quotas = of->quotas,
                                                .weights = of->weights,
                                                .means = of->means,
                                                .kept = of->kept,
                                                .kept_all = of->kept_all,
                                                .never_run = never_run(s, of),
                                                .keeps_out = of->keeps_out,
                                                .on_front = of->on_front,
                                                .paths = of->paths};
        settings[i].sets = sets_of(s, of, &out->arena, &settings[i].set_count);
    }
    out->settings = settings;
    out->count = s->count;
    out->queues = s->queues;
    out->queue_count = s->queue_count;
    out->objectives = s->objectives;
}

enum orr_status orr_tune_find(const struct orr_tune_options *options, struct orr_tune *out,
                              struct orr_err *err)
{
    struct search s = {.options = options, .out = out, .err = err};
    *out = (struct orr_tune){0};
    orr_arena_init(&out->arena);
    enum orr_status status = open_search(&s);
    status = status == ORR_OK ? orr_scratch_open(out->scratch, sizeof out->scratch, err) : status;
    status = status == ORR_OK ? run_search(&s) : status;
    if (status == ORR_OK) {
        conclude(&s);
    }
    orr_free(s.settings);
    return status;
}

void orr_tune_release(struct orr_tune *tune)
{
    if (tune->scratch[0] != '\0') {
        orr_scratch_remove(tune->scratch);
    }
    orr_arena_release(&tune->arena);
    *tune = (struct orr_tune){0};
}
