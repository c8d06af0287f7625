/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_service.c - an inference service as one elastic job, of pods that are wanted or not.
 *
 *   rates of a file -> repeated over the run, weighed hour by hour -> replicas wanted
 *   a row "NAME" from the begin to the horizon -> so many of its pods from time to time
 */
#include "replay_int.h"

#include <math.h>
#include <string.h>

#include <orrery/traces/gen.h>
#include <orrery/traces/table.h>

#define HOUR_MS    ((orr_ms)3600000)
#define STEPS_MOST 50000000

struct series { /* of the file */
    double *per_s;
    uint32_t count;
    orr_ms step_ms;
    uint32_t parts; /* of a step: none is longer than an hour, for weights are by the hour */
};

enum { COL_TIME, COL_REQUESTS, COL_RATE };
static const struct orr_table_column columns[] = {[COL_TIME] = {"time_s", false, true},
                                                  [COL_REQUESTS] = {"requests", false, false},
                                                  [COL_RATE] = {"rate", false, false}};

static enum orr_status take_steps(const char *path, const struct orr_table *table,
                                  struct series *series, struct orr_err *err)
{
    bool counts = (table->present >> COL_REQUESTS & 1) != 0;
    if (table->rows < 2 || counts == ((table->present >> COL_RATE & 1) != 0)) {
        return orr_fail(err, ORR_DATA,
                        "%s: needs at least two rows of time_s and one of requests (in the step) "
                        "and rate (a second)",
                        path);
    }
    const double *time = table->numbers[COL_TIME];
    if (fabs(time[0]) >= 0.0005) {
        return orr_fail(err, ORR_DATA,
                        "%s:%u: the first time_s is %g and not 0: the file is repeated from the "
                        "begin of the run on, so its first row is of time 0",
                        path, (unsigned)table->lines[0], time[0]);
    }
    double step_s = time[1] - time[0];
    series->step_ms = (orr_ms)(step_s * 1000.0 + 0.5);
    series->per_s = orr_alloc(table->rows, sizeof *series->per_s);
    for (uint32_t r = 0; r < table->rows; r++) {
        double value = table->numbers[counts ? COL_REQUESTS : COL_RATE][r];
        bool even = fabs(time[r] - time[0] - step_s * (double)r) < 0.0005;
        if (!(step_s >= 0.001) || !even || !(value >= 0.0)) {
            return orr_fail(err, ORR_DATA, "%s:%u: %s", path, (unsigned)table->lines[r],
                            value >= 0.0 ? "times must rise in even steps"
                                         : "a rate is a number of at least 0");
        }
        series->per_s[r] = counts ? value / step_s : value;
    }
    series->count = table->rows;
    return ORR_OK;
}

/* Parts of a step are equal, and of whole milliseconds: of whole seconds there are always some. */
static enum orr_status cut_steps(const char *path, orr_ms horizon, struct series *series,
                                 struct orr_err *err)
{
    const orr_ms step = series->step_ms, least = (step + HOUR_MS - 1) / HOUR_MS;
    if (least > STEPS_MOST || horizon / step * least > STEPS_MOST) {
        return orr_fail(err, ORR_DATA, "%s: too many steps for this horizon", path);
    }
    orr_ms parts = least;
    while (step % parts != 0 && parts < 3 * least) {
        parts++;
    }
    series->parts = (uint32_t)parts;
    return step % parts == 0 ? ORR_OK
                             : orr_fail(err, ORR_DATA,
                                        "%s: steps of %.3f s cannot be cut into equal parts of an "
                                        "hour at most: give steps of whole hours",
                                        path, (double)step / 1000.0);
}

static enum orr_status read_series(const char *path, struct series *series, struct orr_err *err)
{
    struct orr_table table;
    enum orr_status status = orr_table_read(path, columns, 3, &table, err);
    if (status == ORR_OK) {
        status = take_steps(path, &table, series, err);
        orr_table_release(&table);
    }
    return status;
}

/* The mean over a time of what is given hour by hour. */
static double mean_weight(const double *weights, orr_ms from, orr_ms to)
{
    double sum = 0.0;
    if ((to - 1) / HOUR_MS == from / HOUR_MS) {
        return weights[from / HOUR_MS];
    }
    for (orr_ms at = from; at < to;) {
        const orr_ms hour = at / HOUR_MS;
        const orr_ms end = (hour + 1) * HOUR_MS < to ? (hour + 1) * HOUR_MS : to;
        sum += weights[hour] * (double)(end - at);
        at = end;
    }
    return sum / (double)(to - from);
}

/* The series, again and again, times the weights of the local hours. */
static enum orr_status shape_rates(const struct orr_scenario *scenario,
                                   const struct orr_scenario_part *part,
                                   const struct series *series, struct orr_world_service *service,
                                   struct orr_err *err)
{
    const orr_ms start = scenario->start_ms == ORR_MS_NONE ? ORR_REPLAY_START : scenario->start_ms;
    const orr_ms horizon = orr_scenario_until_ms(scenario);
    const orr_ms first = start / HOUR_MS - (start % HOUR_MS < 0);
    const orr_ms into = start - first * HOUR_MS; /* the hour that the run begins in */
    const uint32_t hours = (uint32_t)((into + horizon) / HOUR_MS + 1);
    const orr_ms step = series->step_ms / series->parts;
    const uint32_t count = (uint32_t)((horizon + step - 1) / step);
    const struct orr_scenario_service *from = &part->service;
    const double scale = from->rate_scale * part->scale.arrivals;
    struct orr_arrivals shape = {.zone = from->zone};
    orr_replay__pattern(from->pattern, from->hours, from->days, &shape);
    double *weights = orr_alloc(hours, sizeof *weights);
    enum orr_status status = orr_arrivals_weights(&shape, first, hours, weights, err);
    double *per_s = orr_alloc(count, sizeof *per_s);
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        const orr_ms at = (orr_ms)i * step, end = at + step < horizon ? at + step : horizon;
        per_s[i] = series->per_s[i / series->parts % series->count] * scale *
                   mean_weight(weights, into + at, into + end);
    }
    service->per_s = per_s;
    service->rates = (struct orr_rates){per_s, count, step};
    orr_free(weights);
    return status;
}

static void take_plan(const struct orr_scenario_part *part, struct orr_service_plan *plan)
{
    const struct orr_scenario_service *from = &part->service;
    orr_ms in_time = part->objective.given && part->objective.served_within_ms != ORR_MS_NONE
                         ? part->objective.served_within_ms
                         : from->service_ms + from->patience_ms;
    *plan = (struct orr_service_plan){.service_s = (double)from->service_ms / 1000.0,
                                      .utilisation = from->utilisation,
                                      .concurrency = from->concurrency,
                                      .min_replicas = from->min_replicas,
                                      .max_replicas = from->max_replicas,
                                      .scale_interval_ms = from->scale_interval_ms,
                                      .down_window_ms = from->down_window_ms,
                                      .patience_s = (double)from->patience_ms / 1000.0,
                                      .in_time_s = (double)in_time / 1000.0};
}

/* ---- the job ---- */

/* What is wanted from when on; the last step is its end. */
static void make_steps(const struct orr_scenario_service *from, struct orr_world_service *service,
                       orr_ms end)
{
    orr_ms interval = service->plan.scale_interval_ms;
    uint32_t looks = (uint32_t)((end + interval - 1) / interval);
    uint32_t *wanted = orr_alloc(looks, sizeof *wanted);
    orr_service_scale(&service->plan, &service->rates, looks, wanted);
    service->pods = from->pods.pods;
    service->steps = orr_alloc(looks + (size_t)1, sizeof *service->steps);
    for (uint32_t i = 0; i < looks; i++) {
        if (i == 0 || wanted[i] != wanted[i - 1]) {
            service->steps[service->step_count++] = (struct orr_world_step){
                .at_ms = (orr_ms)i * interval, .pods = wanted[i] * service->pods};
        }
    }
    service->steps[service->step_count++] = (struct orr_world_step){.at_ms = end};
    orr_free(wanted);
}

/* All pods that it ever may have, and as its gang those it always has. */
static void make_row(const struct orr_scenario_part *part, struct orr_workload *workload,
                     orr_ms end)
{
    const struct orr_scenario_service *from = &part->service;
    struct orr_row *row = orr_workload_push(workload);
    row->job = orr_idmap_put(&workload->jobs, part->name, strlen(part->name), NULL);
    row->submit_ms = 0;
    row->run_ms = end;
    row->line = workload->count;
    row->kind = ORR_KIND_INFERENCE;
    row->gpus_per_pod = ORR_NONE;
    row->pods = from->max_replicas * from->pods.pods;
    struct orr_row_extra *extra = orr_workload_extra(workload, row);
    extra->gpu_model = from->gpu_model;
    extra->min_pods = from->min_replicas > 0 ? (int64_t)from->min_replicas * from->pods.pods : 1;
    orr_replay__share_pods(row, extra, &from->pods);
}

enum orr_status orr_replay__service(const struct orr_scenario *scenario,
                                    const struct orr_scenario_part *part,
                                    struct orr_workload *workload,
                                    struct orr_world_service *service, struct orr_err *err)
{
    struct series series = {0};
    const struct orr_scenario_service *from = &part->service;
    *service = (struct orr_world_service){.load_ms = from->load_ms};
    take_plan(part, &service->plan);
    enum orr_status status = read_series(from->rate_file, &series, err);
    if (status == ORR_OK) {
        status = cut_steps(from->rate_file, orr_scenario_until_ms(scenario), &series, err);
    }
    if (status == ORR_OK) {
        status = shape_rates(scenario, part, &series, service, err);
    }
    if (status == ORR_OK) {
        orr_workload_init(workload);
        make_steps(from, service, orr_scenario_until_ms(scenario));
        make_row(part, workload, orr_scenario_until_ms(scenario));
        workload->rows_read = workload->count;
    }
    orr_free(series.per_s);
    return status;
}

void orr_replay__drop_service(struct orr_world_service *service)
{
    if (service != NULL) {
        orr_free(service->per_s);
        orr_free(service->steps);
        orr_free(service);
    }
}
