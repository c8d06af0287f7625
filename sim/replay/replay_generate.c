/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_generate.c - a part that is made up: the scenario's words to a plan of traces/gen. */
#include "replay_int.h"

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/traces/gen.h>
#include <orrery/traces/table.h>

/* Working time of an office on weekdays, little in the evening, next to nothing at night; a tenth
 * at weekends. A shape of our own: who has a measured one gives hours and days. */
static const double office_hours[24] = {.03, .02, .02, .02, .02, .03, .08, .25, .6,  .95, 1.0, .95,
                                        .75, .9,  1.0, 1.0, .95, .8,  .45, .3,  .25, .2,  .12, .06};
static const double office_days[7] = {1.0, 1.0, 1.0, 1.0, 0.95, 0.12, 0.1};

void orr_replay__pattern(const char *pattern, const double *hours, const double *days,
                         struct orr_arrivals *arrivals)
{
    bool office = strcmp(pattern, "office-hours") == 0;
    arrivals->hours = hours != NULL ? hours : office ? office_hours : NULL;
    arrivals->days = days != NULL ? days : office ? office_days : NULL;
}

struct plan {
    struct orr_gen gen;
    struct orr_arena arena;
    struct orr_table table; /* of an empirical spread */
};

static double seconds(orr_ms ms)
{
    return (double)ms / 1000.0;
}

static double deviation(const struct orr_scenario_spread *s)
{
    /* quantiles of the standard normal distribution */
    const struct {
        orr_ms value;
        double z;
    } known[] = {{s->p90_ms, 1.2815515655446004},
                 {s->p95_ms, 1.6448536269514722},
                 {s->p99_ms, 2.3263478740408408}};
    for (size_t i = 0; i < 3; i++) {
        if (known[i].value != ORR_MS_NONE) {
            return log((double)known[i].value / (double)s->median_ms) / known[i].z;
        }
    }
    return s->log_mean_ms != ORR_MS_NONE
               ? sqrt(2.0 * log((double)s->log_mean_ms / (double)s->median_ms))
               : s->sigma;
}

static enum orr_status read_empirical(struct plan *plan, const char *path, struct orr_spread *out,
                                      struct orr_err *err)
{
    static const struct orr_table_column columns[] = {{"value_s", false, true},
                                                      {"weight", false, false}};
    enum orr_status status = orr_table_read(path, columns, 2, &plan->table, err);
    if (status != ORR_OK) {
        return status;
    }
    uint32_t rows = plan->table.rows;
    double *sums = orr_arena_alloc(&plan->arena, rows + (size_t)1, sizeof *sums), sum = 0.0;
    bool weighted = (plan->table.present & 2) != 0;
    for (uint32_t i = 0; i < rows; i++) {
        double weight = weighted ? plan->table.numbers[1][i] : 1.0;
        if (!(weight >= 0.0) || plan->table.numbers[0][i] < 0.0) {
            return orr_fail(err, ORR_DATA,
                            "%s:%u: values and weights must be numbers of at least 0", path,
                            (unsigned)plan->table.lines[i]);
        }
        sums[i] = sum += weight;
    }
    if (!(sum > 0.0)) {
        return orr_fail(err, ORR_DATA, "%s: no row has a weight above 0", path);
    }
    out->kind = ORR_SPREAD_EMPIRICAL;
    out->values = plan->table.numbers[0];
    out->weights = sums;
    out->count = rows;
    return ORR_OK;
}

static void take_quantiles(struct plan *plan, const struct orr_scenario_spread *s,
                           struct orr_spread *out)
{
    double *values = orr_arena_alloc(&plan->arena, s->quantile_count, sizeof *values);
    double *at = orr_arena_alloc(&plan->arena, s->quantile_count, sizeof *at);
    for (uint32_t i = 0; i < s->quantile_count; i++) {
        values[i] = seconds(s->quantiles[i].value_ms);
        at[i] = s->quantiles[i].p;
    }
    out->kind = ORR_SPREAD_QUANTILES;
    out->values = values;
    out->weights = at;
    out->count = s->quantile_count;
}

static enum orr_status take_spread(struct plan *plan, const struct orr_scenario_spread *s,
                                   struct orr_spread *out, struct orr_err *err)
{
    if (!s->given) {
        return ORR_OK;
    }
    out->least = s->least_ms == ORR_MS_NONE ? 0.0 : seconds(s->least_ms);
    out->most = s->most_ms == ORR_MS_NONE ? 0.0 : seconds(s->most_ms);
    if (s->empirical != NULL) {
        return read_empirical(plan, s->empirical, out, err);
    }
    if (s->quantile_count > 0) {
        take_quantiles(plan, s, out);
    } else if (s->fixed_ms != ORR_MS_NONE) {
        *out = (struct orr_spread){.kind = ORR_SPREAD_FIXED, .a = seconds(s->fixed_ms)};
    } else if (s->median_ms > 0) {
        out->kind = ORR_SPREAD_LOGNORMAL;
        out->a = log(seconds(s->median_ms));
        out->b = deviation(s);
    } else if (s->scale_ms > 0) {
        out->kind = ORR_SPREAD_WEIBULL;
        out->a = seconds(s->scale_ms);
        out->b = s->shape;
    } else if (s->mean_ms > 0) {
        out->kind = ORR_SPREAD_EXPONENTIAL;
        out->a = seconds(s->mean_ms);
    } else {
        out->kind = ORR_SPREAD_UNIFORM;
        out->a = seconds(s->from_ms);
        out->b = seconds(s->to_ms);
    }
    return ORR_OK;
}

static const struct orr_choice *
take_choices(struct plan *plan, const struct orr_scenario_choice *from, uint32_t count, bool sizes)
{
    struct orr_choice *out = orr_arena_alloc(&plan->arena, count + (size_t)1, sizeof *out);
    for (uint32_t i = 0; i < count; i++) {
        int64_t gpus = 0;
        out[i].name = from[i].name;
        out[i].weight = from[i].weight;
        if (sizes && orr_parse_i64(from[i].name, strlen(from[i].name), &gpus)) {
            out[i].gpus = (uint32_t)gpus;
        }
    }
    return out;
}

static void take_arrivals(struct plan *plan, const struct orr_scenario_part *part)
{
    const struct orr_scenario_generate *g = &part->generate;
    struct orr_arrivals *out = &plan->gen.arrivals;
    double per_day = g->per_day + g->per_user_day * (double)g->users + g->per_hour * 24.0;
    out->per_hour = per_day / 24.0 * part->scale.arrivals;
    orr_replay__pattern(g->pattern, g->hours, g->days, out);
    out->zone = g->zone;
    out->cron = g->cron;
}

/* How many there are is the file's to say; the rate is a factor of that. */
static enum orr_status make_classes(struct plan *plan, const struct orr_scenario_part *part,
                                    struct orr_workload *workload, struct orr_err *err)
{
    struct orr_classes classes;
    enum orr_status status = orr_classes_read(part->generate.classes, &classes, err);
    if (status == ORR_OK) {
        plan->gen.arrivals.per_hour = part->scale.arrivals;
        status = orr_generate_classes(&plan->gen, &classes, workload, err);
        orr_classes_release(&classes);
    }
    return status;
}

enum orr_status orr_world_generate(const struct orr_scenario *scenario,
                                   const struct orr_scenario_part *part,
                                   struct orr_workload *workload, struct orr_err *err)
{
    const struct orr_scenario_generate *g = &part->generate;
    struct plan plan = {
        .gen = {
            .name = part->name,
            .seed = scenario->seed_first,
            .start_ms = scenario->start_ms == ORR_MS_NONE ? ORR_REPLAY_START : scenario->start_ms,
            .from_ms = g->from_ms,
            .until_ms = g->until_ms == ORR_MS_NONE ? orr_scenario_until_ms(scenario) : g->until_ms,
            .give_up_ms = g->give_up_ms,
            .users = g->users,
            .batch = g->batch,
            .template_count = g->template == NULL ? g->template_count : 1,
            .queue_count = g->queue_count,
            .size_count = g->size_count}};
    const struct orr_scenario_choice only = {g->template, 1.0};
    if (part->kind != NULL) {
        (void)orr_kind_parse(part->kind, strlen(part->kind), &plan.gen.kind);
    }
    orr_arena_init(&plan.arena);
    plan.gen.templates = g->template == NULL
                             ? take_choices(&plan, g->templates, g->template_count, false)
                             : take_choices(&plan, &only, 1, false);
    plan.gen.queues = take_choices(&plan, g->queues, g->queue_count, false);
    plan.gen.sizes = take_choices(&plan, g->sizes, g->size_count, true);
    take_arrivals(&plan, part);
    plan.gen.has_run = g->duration.given;
    plan.gen.has_sessions = g->sessions;
    enum orr_status status = take_spread(&plan, &g->duration, &plan.gen.run_s, err);
    if (status == ORR_OK) {
        status = take_spread(&plan, &g->think, &plan.gen.think_s, err);
    }
    if (status == ORR_OK) {
        status = g->classes != NULL ? make_classes(&plan, part, workload, err)
                                    : orr_generate(&plan.gen, workload, err);
    }
    if (status != ORR_OK) {
        orr_err_prefix(err, "part %s", part->name);
    } else if ((status = orr_replay__select(scenario, part, workload, err)) != ORR_OK) {
        orr_workload_release(workload);
    }
    orr_table_release(&plan.table);
    orr_arena_release(&plan.arena);
    return status;
}
