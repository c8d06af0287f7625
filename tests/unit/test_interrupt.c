/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A signal between the reading of traces and the writing of results: neither a world nor a summary
 * is made to its end, and nothing is left of them. */
#include "scenario_files.h"

#include <orrery/sim/point.h>

static const char text[] = "cluster: {pools: {p: {nodes: 1, gpus: 1}}}\n"
                           "workload: [{name: g, generate: {until: 1d, sizes: {1: 1}, "
                           "arrivals: {per_hour: 1}, duration: {exponential: {mean: 12m}}}}]\n"
                           "policy: fifo\n";
static const volatile sig_atomic_t came = 1, absent;

static struct orr_point_options options_with(const volatile sig_atomic_t *interrupted)
{
    return (struct orr_point_options){
        .scenario = {.path = "s", .text = text, .text_bytes = sizeof text - 1, .folder = ""},
        .output = "interrupt.db",
        .force = true,
        .interrupted = interrupted};
}

static void signal_before_a_world__ends_its_making(void **state)
{
    (void)state;
    const struct orr_point_options options = options_with(&came);
    struct orr_point point;
    struct orr_err err = {0};
    const enum orr_status status = orr_point_check(&options, &point, &err);
    assert_string_equal(err.text, "interrupted");
    assert_int_equal(status, ORR_INTERRUPTED);
    assert_int_equal(point.world.job_count, 0);
    orr_point_release(&point);
}

static void signal_before_metrics__ends_their_making(void **state)
{
    (void)state;
    const struct orr_point_options options = options_with(&absent);
    struct orr_point point;
    struct orr_err err = {0};
    const enum orr_status status = orr_point_run(&options, &point, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, ORR_OK);
    struct orr_summary summary;
    assert_false(orr_summary_make(&point.world, &point.run, &came, &summary));
    assert_null(summary.queues);
    assert_true(orr_summary_make(&point.world, &point.run, &absent, &summary));
    assert_int_equal(summary.jobs, point.world.job_count);
    orr_summary_release(&summary);
    orr_point_release(&point);
    (void)remove("interrupt.db");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signal_before_a_world__ends_its_making),
        cmocka_unit_test(signal_before_metrics__ends_their_making),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
