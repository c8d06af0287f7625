/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy that breaks its own law ends the run, and what shows it again is kept. */
#include "scenario_files.h"

#include <orrery/sim/point.h>

static enum orr_status open_wrong(const struct orr_host *host, const void *params,
                                  const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)params;
    (void)view;
    (void)err;
    *state = NULL;
    return ORR_OK;
}

static void event_wrong(void *state, const struct orr_view *view, enum orr_job_event event,
                        uint32_t job)
{
    (void)state;
    (void)view;
    (void)event;
    (void)job;
}

static void close_wrong(void *state)
{
    (void)state;
}

/* One pod of a gang of two. */
static void cycle_wrong(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    (void)state;
    (void)view;
    (void)orr_txn_place(txn, 0, 0, 1, 0);
}

static const struct orr_param no_params[] = {
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};
static const struct orr_policy wrong = {.abi = ORR_POLICY_ABI,
                                        .size = sizeof wrong,
                                        .name = "wrong",
                                        .summary = "starts half a gang",
                                        .laws = ORR_LAW_GANG,
                                        .params = no_params,
                                        .open = open_wrong,
                                        .event = event_wrong,
                                        .cycle = cycle_wrong,
                                        .close = close_wrong};

static void broken_law__is_kept_with_what_shows_it_again(void **state)
{
    (void)state;
    struct orr_scenario scenario, again;
    struct orr_world world;
    struct orr_run run;
    struct orr_err err = {0};
    const struct orr_engine_shard shard = {.policy = &wrong};
    write_file("t.csv", "job,submit_s,run_s,pods,gpus_per_pod\nj,5,10,2,1\n");
    load_good("seeds: 7\n" POOLS WORKLOAD, &scenario);
    assert_int_equal(orr_world_build(&scenario, &(struct orr_world_options){0}, &world, &err),
                     ORR_OK);
    const struct orr_engine_options options = {
        .shards = &shard, .horizon_ms = ORR_MS_NEVER, .seed = scenario.seed_first};
    assert_int_equal(orr_engine_run(&world, &options, &run, &err), ORR_POLICY);
    assert_non_null(strstr(err.text, "seed 7, event 1: policy wrong at 5000 ms, job j: "));
    assert_int_equal(orr_status_exit_code(err.status), 70);
    struct orr_err with_options = err;
    const struct orr_point_options plain = {0};
    const struct orr_point_options checked = {.check_books = true, .allow_loss_ppm = 52500};
    orr_bug_keep(&scenario, &checked, "0.1", &with_options);
    assert_non_null(strstr(with_options.text, "`orrery run --check-books --allow-loss=5.2500% "
                                              "first.bug.yaml` shows it again"));
    orr_bug_keep(&scenario, &plain, "0.1", &err);
    assert_non_null(
        strstr(err.text, ". This is a bug: `orrery run first.bug.yaml` shows it again"));
    const struct orr_scenario_options kept = {.path = "first.bug.yaml"};
    struct orr_err none = {0};
    assert_int_equal(orr_scenario_load(&kept, &again, &none), ORR_OK);
    assert_string_equal(again.resolved_yaml, scenario.resolved_yaml);
    orr_scenario_release(&again);
    orr_world_release(&world);
    orr_scenario_release(&scenario);
}

static void other_errors__are_the_users(void **state)
{
    (void)state;
    struct orr_scenario scenario;
    struct orr_err err = {0};
    load_good(POOLS WORKLOAD, &scenario);
    (void)remove("first.bug.yaml");
    (void)orr_fail(&err, ORR_DATA, "t.csv:2: no");
    const struct orr_point_options plain = {0};
    orr_bug_keep(&scenario, &plain, "0.1", &err);
    assert_string_equal(err.text, "t.csv:2: no");
    assert_int_not_equal(access("first.bug.yaml", F_OK), 0);
    orr_scenario_release(&scenario);
}

int main(void)
{
    enter_folder("bug_note.tmp");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_law__is_kept_with_what_shows_it_again),
        cmocka_unit_test(other_errors__are_the_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
