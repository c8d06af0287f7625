/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A signal while forecasts are made: the run that is held goes on to no later moment. */
#include "scenario_files.h"

#include <signal.h>

#include <orrery/sim/forecast.h>

static const char text[] = "cluster: {pools: {p: {nodes: 1, gpus: 1}}}\n"
                           "workload: [{name: g, generate: {until: 2d, sizes: {1: 1}, "
                           "arrivals: {per_hour: 6}, duration: {exponential: {mean: 12m}}}}]\n"
                           "policy: fifo\n";

static void interrupt_first(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    uint32_t *moments = context;
    (void)total;
    (void)now;
    (*moments)++;
    if (done == 1) {
        (void)raise(SIGINT);
    }
}

static void signal_at_a_moment__is_the_last_of_them(void **state)
{
    (void)state;
    uint32_t moments = 0;
    const struct orr_forecast_options options = {
        .scenario = {.path = "s", .text = text, .text_bytes = sizeof text - 1, .folder = ""},
        .horizon_ms = 3600000,
        .futures = 2,
        .moments = 6,
        .study = {.jobs = 1, .progress = interrupt_first, .context = &moments}};
    struct orr_forecast forecast;
    struct orr_err err = {0};
    const enum orr_status status = orr_forecast_make(&options, &forecast, &err);
    assert_string_equal(err.text, "interrupted");
    assert_int_equal(status, ORR_INTERRUPTED);
    assert_int_equal(moments, 1);
    orr_forecast_release(&forecast);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signal_at_a_moment__is_the_last_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
