/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_fill_work.c - parts of the workload and templates: from the tree to structs, with what
 * no row can check: weights, quantiles, that a spread or a source of jobs is stated exactly once.
 */
#include "scenario_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/core/job.h>

static bool parse_weight(const char *text, double *out)
{
    return orr_parse_double(text, strlen(text), out) && *out >= 0.0;
}

static int compare_choices(const void *a, const void *b, void *context)
{
    const struct orr_scenario_choice *x = a, *y = b;
    (void)context;
    return strcmp(x->name, y->name);
}

/* NAME: weight, in the order of names: a file may be written in any order and draw the same. */
static enum orr_status fill_choices(struct orr_scenario__load *load,
                                    const struct orr_scenario__node *map,
                                    const struct orr_scenario_choice **out, uint32_t *count)
{
    double sum = 0.0;
    *count = map == NULL ? 0 : map->child_count;
    if (*count == 0) {
        return ORR_OK;
    }
    struct orr_scenario_choice *choices = orr_arena_alloc(load->arena, *count, sizeof *choices);
    for (uint32_t i = 0; i < *count; i++) {
        const struct orr_scenario__node *child = map->children[i];
        choices[i].name = child->key;
        if (!parse_weight(child->text, &choices[i].weight)) {
            return orr_scenario__fail(load, &child->at, "%.80s: \"%.80s\" is not a weight",
                                      child->key, child->text);
        }
        sum += choices[i].weight;
    }
    if (!(sum > 0.0)) {
        return orr_scenario__fail(load, &map->at, "%.80s: no weight is above 0",
                                  orr_scenario__key(map));
    }
    orr_sort(choices, *count, sizeof *choices, compare_choices, NULL);
    *out = choices;
    return ORR_OK;
}

static enum orr_status check_sizes(const struct orr_scenario__load *load,
                                   const struct orr_scenario__node *sizes)
{
    for (uint32_t i = 0; sizes != NULL && i < sizes->child_count; i++) {
        const struct orr_scenario__node *size = sizes->children[i];
        int64_t gpus;
        if (!orr_parse_i64(size->key, strlen(size->key), &gpus) || gpus < 1 || gpus > 1000000) {
            return orr_scenario__fail(load, &size->key_at,
                                      "sizes: \"%.80s\" is not a number of GPUs", size->key);
        }
    }
    return ORR_OK;
}

/* A list of weights of a known length. */
static enum orr_status fill_weights(struct orr_scenario__load *load,
                                    const struct orr_scenario__node *list, uint32_t wanted,
                                    const double **out)
{
    if (list == NULL || list->child_count == 0) {
        return ORR_OK;
    }
    if (list->child_count != wanted) {
        return orr_scenario__fail(load, &list->at, "%.80s: expected %u weight%s, found %u",
                                  orr_scenario__key(list), (unsigned)wanted, ORR_PLURAL(wanted),
                                  (unsigned)list->child_count);
    }
    double *weights = orr_arena_alloc(load->arena, wanted, sizeof *weights);
    double sum = 0.0;
    for (uint32_t i = 0; i < wanted; i++) {
        if (!parse_weight(list->children[i]->text, &weights[i])) {
            return orr_scenario__fail(load, &list->children[i]->at,
                                      "%.80s: \"%.80s\" is not a weight", orr_scenario__key(list),
                                      list->children[i]->text);
        }
        sum += weights[i];
    }
    if (!(sum > 0.0)) {
        return orr_scenario__fail(load, &list->at, "%.80s: no weight is above 0",
                                  orr_scenario__key(list));
    }
    *out = weights;
    return ORR_OK;
}

static int compare_quantiles(const void *a, const void *b, void *context)
{
    const struct orr_scenario_quantile *x = a, *y = b;
    (void)context;
    return (x->p > y->p) - (x->p < y->p);
}

/* p50: 2h, p99.9: 3d */
static enum orr_status fill_quantiles(struct orr_scenario__load *load,
                                      const struct orr_scenario__node *map,
                                      struct orr_scenario_spread *spread)
{
    struct orr_scenario_quantile *q =
        orr_arena_alloc(load->arena, map->child_count + (size_t)1, sizeof *q);
    for (uint32_t i = 0; i < map->child_count; i++) {
        const struct orr_scenario__node *child = map->children[i];
        const char *name = child->key;
        if (name[0] != 'p' || !orr_parse_double(name + 1, strlen(name + 1), &q[i].p) ||
            q[i].p < 0.0 || q[i].p > 100.0) {
            return orr_scenario__fail(load, &child->key_at,
                                      "quantiles: \"%.80s\" is not a quantile such as p50", name);
        }
        q[i].p /= 100.0;
        if (!orr_parse_duration(child->text, strlen(child->text), &q[i].value_ms) ||
            q[i].value_ms <= 0) {
            return orr_scenario__fail(load, &child->at, "%.80s: \"%.80s\" is not a time above 0",
                                      name, child->text);
        }
    }
    orr_sort(q, map->child_count, sizeof *q, compare_quantiles, NULL);
    for (uint32_t i = 1; i < map->child_count; i++) {
        if (!(q[i].p > q[i - 1].p) || q[i].value_ms < q[i - 1].value_ms) {
            return orr_scenario__fail(load, &map->at,
                                      "quantiles: times must rise with their quantiles");
        }
    }
    spread->quantiles = q;
    spread->quantile_count = map->child_count;
    return ORR_OK;
}

static bool is_set(const struct orr_scenario__node *group, const char *key)
{
    const struct orr_scenario__node *node = orr_scenario__find(group, key);
    return node != NULL && (node->kind != ORR_NODE_SCALAR || node->text != NULL);
}

/* How many of the keys have a value. */
static uint32_t count_set(const struct orr_scenario__node *group, const char *const *keys,
                          size_t count)
{
    uint32_t set = 0;
    for (size_t i = 0; i < count; i++) {
        set += is_set(group, keys[i]);
    }
    return set;
}

static enum orr_status check_lognormal(const struct orr_scenario__load *load,
                                       const struct orr_scenario__node *node,
                                       const struct orr_scenario_spread *s)
{
    static const char *const widths[] = {"sigma", "mean", "p90", "p95", "p99"};
    if (count_set(node, widths, 5) != 1) {
        return orr_scenario__fail(
            load, &node->at,
            "lognormal: needs one of sigma, mean, p90, p95, p99 beside its median");
    }
    const orr_ms above[] = {s->log_mean_ms, s->p90_ms, s->p95_ms, s->p99_ms};
    for (size_t i = 0; i < 4; i++) {
        if (above[i] != ORR_MS_NONE && above[i] <= s->median_ms) {
            return orr_scenario__fail(load, &node->at, "lognormal: %s must be above the median",
                                      widths[i + 1]);
        }
    }
    return s->median_ms > 0 ? ORR_OK
                            : orr_scenario__fail(load, &node->at, "lognormal: the median is 0");
}

static enum orr_status fill_duration(struct orr_scenario__load *load,
                                     const struct orr_scenario__node *node,
                                     struct orr_scenario_spread *spread)
{
    static const char *const kinds[] = {"fixed",   "uniform",   "exponential", "lognormal",
                                        "weibull", "quantiles", "empirical"};
    if (node == NULL) {
        return ORR_OK;
    }
    spread->given = true;
    if (count_set(node, kinds, sizeof kinds / sizeof kinds[0]) != 1) {
        return strcmp(node->key, "think") == 0
                   ? orr_scenario__fail(load, &node->at,
                                        "think: needs one of fixed, exponential, lognormal")
                   : orr_scenario__fail(load, &node->at,
                                        "duration: needs one of fixed, uniform, exponential, "
                                        "lognormal, weibull, quantiles, empirical");
    }
    const struct orr_scenario__node *quantiles = orr_scenario__find(node, "quantiles");
    const struct orr_scenario__node *lognormal = orr_scenario__find(node, "lognormal");
    if (is_set(node, "uniform") && spread->to_ms < spread->from_ms) {
        return orr_scenario__fail(load, &node->at, "uniform: to is before from");
    }
    if (spread->empirical != NULL) {
        spread->empirical = orr_scenario__data(load->arena, load->folder, spread->empirical);
    }
    enum orr_status status = quantiles == NULL ? ORR_OK : fill_quantiles(load, quantiles, spread);
    return status == ORR_OK && lognormal != NULL ? check_lognormal(load, lognormal, spread)
                                                 : status;
}

/* Who waits for results says when jobs come. */
static enum orr_status fill_session(struct orr_scenario__load *load,
                                    const struct orr_scenario__node *node,
                                    struct orr_scenario_generate *plan)
{
    const struct orr_scenario__node *session = orr_scenario__find(node, "session");
    static const char *const rates[] = {"per_hour", "per_day", "per_user_day", "cron"};
    const struct orr_scenario__node *arrivals = orr_scenario__find(node, "arrivals");
    plan->sessions = true;
    if (plan->users == 0 || orr_scenario__find(node, "duration") == NULL) {
        return orr_scenario__fail(load, &session->at,
                                  "session: needs users, who submit, and a duration");
    }
    if ((arrivals != NULL && count_set(arrivals, rates, 4) > 0) || plan->batch > 1) {
        return orr_scenario__fail(load, &session->at,
                                  "session: users submit one job after the other; arrivals and "
                                  "batch are for those who do not wait");
    }
    return fill_duration(load, orr_scenario__find(session, "think"), &plan->think);
}

static enum orr_status fill_arrivals(struct orr_scenario__load *load,
                                     const struct orr_scenario__node *node,
                                     struct orr_scenario_generate *plan)
{
    static const char *const rates[] = {"per_hour", "per_day", "per_user_day", "cron"};
    if (count_set(node, rates, 4) != 1) {
        return orr_scenario__fail(load, node->at.source != NULL ? &node->at : NULL,
                                  "arrivals: needs one of per_hour, per_day, per_user_day, cron");
    }
    if (plan->per_user_day > 0.0 && plan->users == 0) {
        const struct orr_scenario__node *rate = orr_scenario__find(node, "per_user_day");
        return orr_scenario__fail(load, &rate->at, "per_user_day: needs users");
    }
    const struct orr_scenario__node *hours = orr_scenario__find(node, "hours");
    const struct orr_scenario__node *days = orr_scenario__find(node, "days");
    const bool weighed = (hours != NULL && hours->child_count > 0) ||
                         (days != NULL && days->child_count > 0) ||
                         strcmp(plan->pattern, "poisson") != 0;
    if (plan->cron != NULL && weighed) {
        return orr_scenario__fail(
            load, &node->at, "arrivals: cron says when; hours, days and pattern are for rates");
    }
    enum orr_status status = fill_weights(load, hours, 24, &plan->hours);
    return status == ORR_OK ? fill_weights(load, orr_scenario__find(node, "days"), 7, &plan->days)
                            : status;
}

static enum orr_status check_until(const struct orr_scenario__load *load,
                                   const struct orr_scenario *scenario,
                                   const struct orr_scenario__node *node,
                                   const struct orr_scenario_generate *plan)
{
    orr_ms until = plan->until_ms != ORR_MS_NONE ? plan->until_ms : orr_scenario_until_ms(scenario);
    if (until == ORR_MS_NONE) {
        return orr_scenario__fail(load, &node->at,
                                  "generate: when does it end? Give it until, or the scenario a "
                                  "horizon");
    }
    return until > plan->from_ms
               ? ORR_OK
               : orr_scenario__fail(load, &node->at, "generate: it ends before it begins");
}

/* A model of classes says itself when jobs come, whose they are and how long they run. */
static enum orr_status fill_classes(struct orr_scenario__load *load,
                                    const struct orr_scenario__node *node,
                                    struct orr_scenario_generate *plan)
{
    static const char *const rates[] = {"per_hour", "per_day", "per_user_day", "cron"};
    const struct orr_scenario__node *arrivals = orr_scenario__find(node, "arrivals");
    const bool queues =
        is_set(node, "queues") && orr_scenario__find(node, "queues")->child_count > 0;
    if (queues || orr_scenario__find(node, "duration") != NULL || plan->users > 0 ||
        plan->batch > 1 || (arrivals != NULL && count_set(arrivals, rates, 4) > 0) ||
        orr_scenario__find(node, "session") != NULL) {
        return orr_scenario__fail(load, &node->at,
                                  "generate: classes say queues, users, duration, session, batch "
                                  "and rates of arrivals themselves "
                                  "(scale.arrivals makes more or fewer of them)");
    }
    plan->classes = orr_scenario__data(load->arena, load->folder, plan->classes);
    enum orr_status status =
        fill_weights(load, orr_scenario__find(arrivals, "hours"), 24, &plan->hours);
    return status == ORR_OK
               ? fill_weights(load, orr_scenario__find(arrivals, "days"), 7, &plan->days)
               : status;
}

static enum orr_status fill_generate(struct orr_scenario__load *load,
                                     const struct orr_scenario *scenario,
                                     const struct orr_scenario__node *node,
                                     struct orr_scenario_generate *plan)
{
    static const char *const shapes[] = {"template", "templates", "sizes", "classes"};
    plan->given = true;
    if (count_set(node, shapes, 4) != 1) {
        return orr_scenario__fail(load, &node->at,
                                  "generate: needs one of template, templates, sizes, classes");
    }
    if (plan->give_up_ms == 0) {
        return orr_scenario__fail(load, &orr_scenario__find(node, "give_up")->at,
                                  "give_up: must be above 0");
    }
    if (plan->classes != NULL) {
        return fill_classes(load, node, plan);
    }
    const struct orr_scenario__node *sizes = orr_scenario__find(node, "sizes");
    enum orr_status status = check_sizes(load, sizes);
    if (status == ORR_OK) {
        status = fill_choices(load, sizes, &plan->sizes, &plan->size_count);
    }
    if (status == ORR_OK) {
        status = fill_choices(load, orr_scenario__find(node, "templates"), &plan->templates,
                              &plan->template_count);
    }
    if (status == ORR_OK) {
        status = fill_choices(load, orr_scenario__find(node, "queues"), &plan->queues,
                              &plan->queue_count);
    }
    if (status == ORR_OK) {
        status = orr_scenario__find(node, "session") != NULL
                     ? fill_session(load, node, plan)
                     : fill_arrivals(load, orr_scenario__find(node, "arrivals"), plan);
    }
    if (status == ORR_OK) {
        status = fill_duration(load, orr_scenario__find(node, "duration"), &plan->duration);
    }
    return status == ORR_OK ? check_until(load, scenario, node, plan) : status;
}

static enum orr_status check_instances(const struct orr_scenario__load *load,
                                       const struct orr_scenario__node *node,
                                       const struct orr_scenario_pods *pods)
{
    char profile[ORR_MIG_NAME_MAX];
    uint32_t instances;
    if (!orr_mig_parse(pods->mig_profile, profile, &instances)) {
        return orr_scenario__no_mig(load, &orr_scenario__find(node, "mig_profile")->at,
                                    "mig_profile", pods->mig_profile,
                                    "1g.5gb, or 1g.5gb*2 for two instances");
    }
    if (pods->gpu_devices > 1) { /* 1 is its default, which stored scenarios spell out */
        return orr_scenario__fail(load, &orr_scenario__find(node, "gpu_devices")->at,
                                  "gpu_devices: goes with gpu_fraction or gpu_memory; %u instances "
                                  "are mig_profile: %s*%u",
                                  (unsigned)pods->gpu_devices, profile,
                                  (unsigned)pods->gpu_devices);
    }
    return ORR_OK;
}

static enum orr_status check_pods(const struct orr_scenario__load *load,
                                  const struct orr_scenario__node *node,
                                  const struct orr_scenario_pods *pods)
{
    static const char *const ways[] = {"gpus_per_pod", "gpu_fraction", "gpu_memory", "mig_profile"};
    uint32_t asked = 0;
    asked += pods->gpus > 0;
    asked += pods->gpu_fraction > 0.0;
    asked += pods->gpu_memory_mib > 0;
    asked += pods->mig_profile != NULL;
    if (asked > 1) {
        return orr_scenario__fail(load, &node->at,
                                  "%.80s: only one of %s, %s, %s and %s says what its pods ask",
                                  node->key, ways[0], ways[1], ways[2], ways[3]);
    }
    if (pods->mig_profile != NULL) {
        const enum orr_status status = check_instances(load, node, pods);
        if (status != ORR_OK) {
            return status;
        }
    }
    if (pods->gpu_fraction > 1.0) {
        return orr_scenario__fail(load, &orr_scenario__find(node, ways[1])->at,
                                  "gpu_fraction: %g is more than a device (gpus_per_pod counts "
                                  "whole ones)",
                                  pods->gpu_fraction);
    }
    if (pods->min_pods > pods->pods) {
        return orr_scenario__fail(load, &orr_scenario__find(node, "min")->at, "min: %u of %u pod%s",
                                  (unsigned)pods->min_pods, (unsigned)pods->pods,
                                  ORR_PLURAL(pods->pods));
    }
    return ORR_OK;
}

#define SERVICE_PODS_MAX 1000000

static enum orr_status fill_service(struct orr_scenario__load *load,
                                    const struct orr_scenario *scenario,
                                    const struct orr_scenario__node *node,
                                    struct orr_scenario_part *part)
{
    struct orr_scenario_service *service = &part->service;
    const struct orr_scenario__node *rate = orr_scenario__find(node, "rate");
    service->given = true;
    service->rate_file = orr_scenario__data(load->arena, load->folder, service->rate_file);
    if (scenario->horizon_ms == ORR_MS_NONE) {
        return orr_scenario__fail(load, &node->at,
                                  "service: when does it end? Give the scenario a horizon");
    }
    if (service->max_replicas == 0 || service->service_ms <= 0 || service->scale_interval_ms <= 0 ||
        service->utilisation > 1.0) {
        return orr_scenario__fail(load, &node->at,
                                  "service: replicas, service_time and scale_interval must be "
                                  "above 0, target_utilisation at most 1");
    }
    if ((uint64_t)service->max_replicas * service->pods.pods > SERVICE_PODS_MAX) {
        return orr_scenario__fail(load, &node->at, "service: more than %d pods", SERVICE_PODS_MAX);
    }
    const struct orr_scenario_objective *objective = &part->objective;
    if (objective->given && objective->served_within_ms != ORR_MS_NONE &&
        objective->served_within_ms < service->service_ms) {
        return orr_scenario__fail(load, &node->at,
                                  "service: a request takes longer than its objective allows");
    }
    enum orr_status status = check_pods(load, node, &service->pods);
    if (status == ORR_OK) {
        status = fill_weights(load, orr_scenario__find(rate, "hours"), 24, &service->hours);
    }
    return status == ORR_OK
               ? fill_weights(load, orr_scenario__find(rate, "days"), 7, &service->days)
               : status;
}

/* Keys of a filter; what it has besides is stated nowhere. */
static const char *const filter_keys[] = {"from", "until",    "queue",    "user",
                                          "kind", "min_gpus", "max_gpus", "sample"};

static bool filters(const struct orr_scenario__node *node)
{
    return count_set(node, filter_keys, sizeof filter_keys / sizeof filter_keys[0]) > 0;
}

/* A time whose meaning waits for the trace's clock, so that only its form is known to be right. */
static enum orr_status check_time(const struct orr_scenario__load *load,
                                  const struct orr_scenario__node *filter, const char *key,
                                  const char *text)
{
    orr_ms at;
    return text == NULL || orr_parse_clock(text, strlen(text), 0, &at)
               ? ORR_OK
               : orr_scenario__fail(load, &orr_scenario__find(filter, key)->at,
                                    "filter.%s: \"%.80s\" is not a time such as 2d3h, 5400 or "
                                    "2026-06-01",
                                    key, text);
}

static enum orr_status fill_filter(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *node,
                                   struct orr_scenario_filter *filter)
{
    filter->min_gpus = is_set(node, "min_gpus") ? filter->min_gpus : -1.0;
    filter->max_gpus = is_set(node, "max_gpus") ? filter->max_gpus : -1.0;
    filter->sample = is_set(node, "sample") ? filter->sample : -1.0;
    if (filter->sample > 1.0) {
        return orr_scenario__fail(load, &orr_scenario__find(node, "sample")->at,
                                  "sample: the chance of each job, from 0 to 1");
    }
    enum orr_status status = check_time(load, node, "from", filter->from);
    return status == ORR_OK ? check_time(load, node, "until", filter->until) : status;
}

static enum orr_status fill_part(struct orr_scenario__load *load,
                                 const struct orr_scenario *scenario,
                                 const struct orr_scenario__node *node,
                                 struct orr_scenario_part *part)
{
    static const char *const sources[] = {"trace", "generate", "service"};
    const struct orr_scenario__node *objective = orr_scenario__find(node, "objective");
    const struct orr_scenario__node *generate = orr_scenario__find(node, "generate");
    orr_scenario__fill_group(orr_scenario__row_at("workload", NULL), node, part);
    part->origin = orr_scenario__origin(load->arena, node);
    part->label = part->name;
    part->objective.given = objective != NULL;
    if (count_set(node, sources, 3) != 1) {
        return orr_scenario__fail(
            load, &node->at, "part \"%.80s\" needs one of trace, generate, service", part->name);
    }
    if (objective != NULL && part->objective.start_within_ms == ORR_MS_NONE &&
        part->objective.served_within_ms == ORR_MS_NONE) {
        return orr_scenario__fail(load, &objective->at,
                                  "objective: needs start_within or served_within");
    }
    const struct orr_scenario__node *filter = orr_scenario__find(node, "filter");
    enum orr_status status = fill_filter(load, filter, &part->filter);
    if (status != ORR_OK) {
        return status;
    }
    if (part->trace != NULL) {
        part->trace = orr_scenario__data(load->arena, load->folder, part->trace);
        part->label = part->trace;
        return ORR_OK;
    }
    if (part->copies > 1 || part->format != NULL || filters(filter) || part->template != NULL) {
        return orr_scenario__fail(load, &node->at,
                                  "part \"%.80s\": copies, format, filter and template are for "
                                  "traces",
                                  part->name);
    }
    const struct orr_scenario__node *service = orr_scenario__find(node, "service");
    const struct orr_scenario__node *scale = orr_scenario__find(node, "scale");
    if (service != NULL &&
        (part->scale.jobs != 1.0 || part->scale.run != 1.0 || part->scale.gpus != 1.0)) {
        return orr_scenario__fail(load, &scale->at,
                                  "scale: a service has no jobs, run times and sizes to scale; "
                                  "service.rate.scale says how much is asked of it");
    }
    if (generate != NULL && part->generate.cron != NULL &&
        (part->scale.arrivals < 1.0 || part->scale.arrivals > 1.0)) {
        return orr_scenario__fail(
            load, &scale->at,
            "part \"%.80s\": scale.arrivals: arrivals.cron says when; generate.batch says how "
            "many come together",
            part->name);
    }
    if (generate != NULL && orr_scenario__find(generate, "session") != NULL &&
        (part->scale.arrivals < 1.0 || part->scale.arrivals > 1.0)) {
        return orr_scenario__fail(
            load, &scale->at,
            "part \"%.80s\": scale.arrivals: who submits waits for the end of the job before, so "
            "generate.users says how many come, duration and think how often",
            part->name);
    }
    const struct orr_scenario_estimates *estimates = &part->estimates;
    if (service != NULL && (estimates->scale < 1.0 || estimates->scale > 1.0 ||
                            estimates->noise > 0.0 || strcmp(estimates->by, "user") != 0)) {
        return orr_scenario__fail(load, &orr_scenario__find(node, "estimates")->at,
                                  "estimates: a service has no run times to estimate");
    }
    return service != NULL ? fill_service(load, scenario, service, part)
                           : fill_generate(load, scenario, generate, &part->generate);
}

enum orr_status orr_scenario__fill_parts(struct orr_scenario__load *load,
                                         struct orr_scenario *scenario,
                                         const struct orr_scenario__node *parts)
{
    enum orr_status status = ORR_OK;
    scenario->part_count = parts->child_count;
    scenario->parts =
        orr_arena_alloc(load->arena, parts->child_count + (size_t)1, sizeof *scenario->parts);
    for (uint32_t i = 0; i < parts->child_count && status == ORR_OK; i++) {
        status = fill_part(load, scenario, parts->children[i], &scenario->parts[i]);
    }
    return status;
}

/* ---- templates ---- */

/* What is beside the roles of a role: nothing about pods. */
static enum orr_status check_set(const struct orr_scenario__load *load,
                                 const struct orr_scenario__node *node)
{
    const struct orr_scenario__row *role = orr_scenario__role_row();
    for (uint32_t i = 0; i < role->row_count; i++) {
        const struct orr_scenario__node *value = orr_scenario__find(node, role->rows[i].key);
        if (role->rows[i].of_pods && value != NULL && value->text != NULL) {
            return orr_scenario__fail(load, &value->at,
                                      "%s: role \"%.80s\" has roles of its own, and no other pods",
                                      role->rows[i].key, node->key);
        }
    }
    return ORR_OK;
}

static enum orr_status check_subgroups(const struct orr_scenario__load *load,
                                       const struct orr_scenario__node *node, uint32_t wanted,
                                       uint32_t members)
{
    return wanted <= members
               ? ORR_OK
               : orr_scenario__fail(load, &orr_scenario__find(node, "min_subgroups")->at,
                                    "min_subgroups: %u of %u role%s", (unsigned)wanted,
                                    (unsigned)members, ORR_PLURAL(members));
}

static uint32_t count_roles(const struct orr_scenario__node *roles)
{
    uint32_t count = 0;
    for (uint32_t i = 0; roles != NULL && i < roles->child_count; i++) {
        count += 1 + count_roles(orr_scenario__find(roles->children[i], "roles"));
    }
    return count;
}

/* The child whose name comes after `last`; NULL: there is none. */
static const struct orr_scenario__node *next_by_name(const struct orr_scenario__node *map,
                                                     const char *last)
{
    const struct orr_scenario__node *next = NULL;
    for (uint32_t i = 0; i < map->child_count; i++) {
        const struct orr_scenario__node *child = map->children[i];
        if ((last == NULL || strcmp(child->key, last) > 0) &&
            (next == NULL || strcmp(child->key, next->key) < 0)) {
            next = child;
        }
    }
    return next;
}

/* Roles in one list by name, as KAI orders subgroups, each before those that are part of it. Depth
 * follows the file's. */
static enum orr_status fill_roles(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *roles, uint32_t parent,
                                  struct orr_scenario_role *made, uint32_t *count)
{
    enum orr_status status = ORR_OK;
    const struct orr_scenario__node *node = next_by_name(roles, NULL);
    for (; node != NULL && status == ORR_OK; node = next_by_name(roles, node->key)) {
        const struct orr_scenario__node *own = orr_scenario__find(node, "roles");
        const uint32_t index = (*count)++;
        struct orr_scenario_role *role = &made[index];
        orr_scenario__fill_group(orr_scenario__role_row(), node, role);
        role->name = node->key;
        role->parent = parent;
        role->is_set = own != NULL && own->child_count > 0;
        status = role->is_set ? check_set(load, node) : check_pods(load, node, &role->pods);
        if (status == ORR_OK) {
            status = check_subgroups(load, node, role->min_subgroups,
                                     role->is_set ? own->child_count : 0);
        }
        if (status == ORR_OK && role->is_set) {
            status = fill_roles(load, own, index, made, count);
        }
    }
    return status;
}

static enum orr_status fill_template_roles(struct orr_scenario__load *load,
                                           const struct orr_scenario__node *node,
                                           struct orr_scenario_template *template)
{
    const struct orr_scenario__node *roles = orr_scenario__find(node, "roles");
    const uint32_t members = roles == NULL ? 0 : roles->child_count;
    enum orr_status status = check_subgroups(load, node, template->min_subgroups, members);
    if (status != ORR_OK || members == 0) {
        return status;
    }
    if (template->pods.mig_profile != NULL) {
        return orr_scenario__fail(load, &orr_scenario__find(node, "mig_profile")->at,
                                  "mig_profile: the template has roles, and each of them says what "
                                  "its pods ask");
    }
    struct orr_scenario_role *made =
        orr_arena_alloc(load->arena, count_roles(roles) + (size_t)1, sizeof *made);
    template->roles = made;
    return fill_roles(load, roles, ORR_NONE, made, &template->role_count);
}

/* 400x2m: so many tasks, each so long. */
static bool parse_stage(const char *text, struct orr_scenario_stage *stage)
{
    const char *by = strchr(text, 'x');
    int64_t tasks;
    bool read = by != NULL && orr_parse_i64(text, (size_t)(by - text), &tasks) && tasks > 0 &&
                tasks <= 1000000 && orr_parse_duration(by + 1, strlen(by + 1), &stage->each_ms) &&
                stage->each_ms > 0;
    stage->tasks = read ? (uint32_t)tasks : 0;
    return read;
}

static const struct orr_scenario_role *find_worker(const struct orr_scenario_template *template)
{
    for (uint32_t r = 0; r < template->role_count; r++) {
        const struct orr_scenario_role *role = &template->roles[r];
        if (!role->is_set && strcmp(role->name, template->autoscale.role) == 0) {
            return role;
        }
    }
    return NULL;
}

static enum orr_status fill_autoscale(struct orr_scenario__load *load,
                                      const struct orr_scenario__node *node,
                                      struct orr_scenario_template *template)
{
    struct orr_scenario_autoscale *plan = &template->autoscale;
    if (node == NULL) {
        return ORR_OK;
    }
    const struct orr_scenario__node *backlog = orr_scenario__find(node, "backlog");
    plan->given = true;
    if (find_worker(template) == NULL) {
        return orr_scenario__fail(load, &orr_scenario__find(node, "role")->at,
                                  "autoscale: the template has no role \"%.80s\" with pods",
                                  plan->role);
    }
    if (template->run_ms != ORR_MS_NONE || backlog->child_count == 0) {
        return orr_scenario__fail(load, &node->at,
                                  "autoscale: the backlog says how long the job runs: it needs a "
                                  "stage, and the template no run");
    }
    struct orr_scenario_stage *stages =
        orr_arena_alloc(load->arena, backlog->child_count, sizeof *stages);
    for (uint32_t i = 0; i < backlog->child_count; i++) {
        if (!parse_stage(backlog->children[i]->text, &stages[i])) {
            return orr_scenario__fail(load, &backlog->children[i]->at,
                                      "backlog: \"%.80s\" is not TASKSxDURATION, such as 400x2m",
                                      backlog->children[i]->text);
        }
    }
    plan->stages = stages;
    plan->stage_count = backlog->child_count;
    return ORR_OK;
}

static enum orr_status check_priority(const struct orr_scenario__load *load,
                                      const struct orr_scenario__node *template)
{
    const struct orr_scenario__node *node = orr_scenario__find(template, "priority");
    int32_t ignored;
    if (node->text == NULL || orr_priority_parse(node->text, &ignored)) {
        return ORR_OK;
    }
    return orr_scenario__fail(load, &node->at,
                              "priority: \"%.80s\" is neither a whole number nor one of train, "
                              "build-preemptible, build, inference",
                              node->text);
}

static enum orr_status check_sizes_of_pods(const struct orr_scenario__load *load,
                                           const struct orr_scenario__node *node,
                                           const struct orr_scenario_template *template)
{
    const struct orr_scenario_pods *pods = &template->pods;
    const bool shares =
        pods->gpu_fraction > 0.0 || pods->gpu_memory_mib > 0 || pods->mig_profile != NULL;
    if (template->min_gpus > 0 && (shares || (pods->gpus > 0 && template->min_gpus > pods->gpus))) {
        return orr_scenario__fail(load, &orr_scenario__find(node, "min_gpus_per_pod")->at,
                                  "min_gpus_per_pod: %u of %u whole GPU%s",
                                  (unsigned)template->min_gpus, (unsigned)pods->gpus,
                                  ORR_PLURAL(pods->gpus));
    }
    return ORR_OK;
}

enum orr_status orr_scenario__fill_templates(struct orr_scenario__load *load,
                                             struct orr_scenario *scenario,
                                             const struct orr_scenario__node *templates)
{
    enum orr_status status = ORR_OK;
    uint32_t count = templates == NULL ? 0 : templates->child_count;
    scenario->template_count = count;
    scenario->templates =
        orr_arena_alloc(load->arena, count + (size_t)1, sizeof *scenario->templates);
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        const struct orr_scenario__node *node = templates->children[i];
        struct orr_scenario_template *template = &scenario->templates[i];
        orr_scenario__fill_group(orr_scenario__row_at("templates", NULL), node, template);
        template->name = node->key;
        template->origin = orr_scenario__origin(load->arena, node);
        status = check_pods(load, node, &template->pods);
        if (status == ORR_OK) {
            status = check_sizes_of_pods(load, node, template);
        }
        if (status == ORR_OK) {
            status = check_priority(load, node);
        }
        if (status == ORR_OK) {
            status = fill_template_roles(load, node, template);
        }
        if (status == ORR_OK) {
            status = fill_autoscale(load, orr_scenario__find(node, "autoscale"), template);
        }
    }
    return status;
}
