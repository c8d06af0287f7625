/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_service.c - an inference service as one elastic job, of pods that are wanted or not.
 *
 *   rates of a file -> repeated over the run, weighed by hour and weekday -> replicas wanted
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

/* The series, again and again, times the weight of the local hour. */
static enum orr_status shape_rates(const struct orr_scenario *scenario,
                                   const struct orr_scenario_part *part,
                                   const struct series *series, struct orr_world_service *service,
                                   struct orr_err *err)
{
    orr_ms start = scenario->start_ms == ORR_MS_NONE ? ORR_REPLAY_START : scenario->start_ms;
    orr_ms first = start / HOUR_MS - (start % HOUR_MS < 0);
    uint32_t hours = (uint32_t)((start + orr_replay__horizon_ms(scenario)) / HOUR_MS - first + 1);
    uint32_t count =
        (uint32_t)((orr_replay__horizon_ms(scenario) + series->step_ms - 1) / series->step_ms);
    const struct orr_scenario_service *from = &part->service;
    const double scale = from->rate_scale * part->scale.arrivals;
    struct orr_arrivals shape = {.zone = from->zone};
    orr_replay__pattern(from->pattern, from->hours, from->days, &shape);
    double *weights = orr_alloc(hours, sizeof *weights);
    enum orr_status status = orr_arrivals_weights(&shape, first, hours, weights, err);
    double *per_s = orr_alloc(count, sizeof *per_s);
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        orr_ms hour = (start + (orr_ms)i * series->step_ms) / HOUR_MS - first;
        per_s[i] = series->per_s[i % series->count] * scale * weights[hour];
    }
    service->per_s = per_s;
    service->rates = (struct orr_rates){per_s, count, series->step_ms};
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
    if (status == ORR_OK && orr_replay__horizon_ms(scenario) / series.step_ms > STEPS_MOST) {
        status = orr_fail(err, ORR_DATA, "%s: too many steps for this horizon", from->rate_file);
    }
    if (status == ORR_OK) {
        status = shape_rates(scenario, part, &series, service, err);
    }
    if (status == ORR_OK) {
        orr_workload_init(workload);
        make_steps(from, service, orr_replay__horizon_ms(scenario));
        make_row(part, workload, orr_replay__horizon_ms(scenario));
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
