/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profiles from scenario files and tables. */
#include "scenario_files.h"

#include <math.h>

#include <orrery/sim/profiles.h>

#include "rate_world.h"

#define MODELS "cluster: {pools: {a: {nodes: 4, gpus: 8, gpu_model: V100}}}\n"

static void open_cluster(struct wires *wires)
{
    orr_cluster_init(&wires->cluster);
    (void)add_nodes(&wires->cluster, "v", 4, "V100", box(300, 25, false));
    orr_fabric_init(&wires->fabric, &wires->cluster);
}

static enum orr_status load_profiles(const char *text, struct orr_profiles *profiles,
                                     struct orr_scenario *scenario, struct wires *wires,
                                     struct orr_err *err)
{
    enum orr_status status = load_with((struct orr_scenario_options){0}, text, scenario, err);
    if (status != ORR_OK) {
        return status;
    }
    open_cluster(wires);
    status = orr_profiles_load(scenario, &wires->fabric, NULL, profiles, err);
    if (status != ORR_OK) {
        orr_scenario_release(scenario);
        close_wires(wires);
    }
    return status;
}

static void files__hold_profiles_and_tables(void **state)
{
    (void)state;
    struct orr_profiles profiles;
    struct orr_scenario scenario;
    struct wires wires;
    struct orr_err err;
    (void)mkdir("set", 0777);
    write_file("set/all.yaml",
               "apiVersion: orrery/v1alpha1\nkind: Profiles\nprofiles:\n"
               "  resnet: {kind: table, table: steps.csv, row: r18, reference: {gpu_model: V100}}\n"
               "  bert: {kind: table, table: steps.csv, epochs: ends.csv}\n");
    write_file("set/steps.csv", "profile,gpu_model,placement,steps_per_s,sync_s\n"
                                "r18,V100,1,4,\nr18,V100,1-1,6,\nr18,K80,1,1,\nr18,V100,8,0,\n"
                                "bert,,2-2,2,0.25\n");
    write_file("set/ends.csv", "profile,end,gain,accumulation\nbert,100,2,3\nbert,200,4,\n");
    enum orr_status status = load_profiles(
        "profiles:\n  from: set/all.yaml\n"
        "  own: {kind: speedup, speedup: {8: 4, 1: 1, 2: 1.8}}\n"
        "  llm: {kind: allreduce, compute: {V100: 2s, H100: 1s}, bytes: 10GB, overlap: 0.5,\n"
        "    algorithm: tree, reference: {gpu_model: V100, placement: 2x8}}\n" MODELS WORKLOAD,
        &profiles, &scenario, &wires, &err);
    if (status != ORR_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(profiles.count, 4);
    const struct orr_profile *resnet = &profiles.items[orr_profiles_find(&profiles, "resnet")];
    assert_int_equal(resnet->row_count, 2); /* no K80 here, and 0 is no figure */
    struct orr_node_part two[] = {span_of(0, 1, 0), span_of(1, 1, 0)};
    struct orr_layout layout = layout_of(two, 2);
    struct orr_placed placed = {.layout = &layout, .full_workers = 2, .slowdown_ppm = ORR_PPM};
    assert_true(fabs(orr_profile_pace(resnet, &wires.fabric, &placed).step_s - 1.0 / 6) < 1e-12);
    const struct orr_profile *bert = &profiles.items[orr_profiles_find(&profiles, "bert")];
    assert_int_equal(bert->epoch_count, 2);
    assert_true(fabs(bert->epochs[0].accumulation - 3.0) < 1e-12);
    assert_true(fabs(bert->rows[0].sync_s - 0.25) < 1e-12);
    const struct orr_profile *own = &profiles.items[orr_profiles_find(&profiles, "own")];
    assert_int_equal(own->speedups[0].workers, 1);
    assert_int_equal(own->speedups[2].workers, 8);
    const struct orr_profile *llm = &profiles.items[orr_profiles_find(&profiles, "llm")];
    assert_int_equal(llm->algorithm, ORR_ALLREDUCE_TREE);
    assert_int_equal(llm->compute_count, 1);
    assert_true(llm->reference_step_s > 2.0);
    assert_int_equal(orr_profiles_find(&profiles, "none"), ORR_NONE);
    orr_profiles_release(&profiles);
    const bool wanted[4] = {false};
    assert_int_equal(orr_profiles_load(&scenario, &wires.fabric, wanted, &profiles, &err), ORR_OK);
    assert_int_equal(profiles.items[3].kind, ORR_PROFILE_FIXED);
    orr_profiles_release(&profiles);
    orr_scenario_release(&scenario);
    close_wires(&wires);
}

static void wrong(const char *profile, const char *expected)
{
    struct orr_profiles profiles;
    struct orr_scenario scenario;
    struct wires wires;
    struct orr_err err;
    char text[600];
    (void)snprintf(text, sizeof text, "profiles:\n  p: %s\n" MODELS WORKLOAD, profile);
    assert_true(load_profiles(text, &profiles, &scenario, &wires, &err) != ORR_OK);
    err.text[strcspn(err.text, "\n")] = '\0';
    assert_string_equal(err.text, expected);
}

static void errors__show_the_place(void **state)
{
    (void)state;
    write_file("bad.csv", "placement,step_s\n8,1\n8+8,1\n");
    write_file("both.csv", "placement,step_s,steps_per_s\n8,1,1\n");
    write_file("other.csv", "profile,placement,step_s\nq,8,1\n");
    write_file("fall.csv", "end,gain\n5,1\n4,1\n");
    write_file("good.csv", "placement,step_s\n8,1\n");
    wrong("{kind: table}", "first.yaml:2:6: profile p: table needs a table");
    wrong("{kind: allreduce, compute: {V100: 1s}, bytes: 1GB}",
          "first.yaml:2:6: profile p: allreduce needs reference.placement");
    wrong("{kind: allreduce, compute: {V100: fast}, bytes: 1GB}",
          "first.yaml:2:40: V100: \"fast\" is not a time above 0");
    wrong("{kind: speedup}",
          "first.yaml:2:6: profile p: speedup needs speedup, or a serial part above 0");
    wrong("{kind: speedup, serial: 0}",
          "first.yaml:2:6: profile p: speedup needs speedup, or a serial part above 0");
    wrong("{kind: speedup, speedup: {many: 2}}",
          "first.yaml:2:32: speedup: \"many\" is not a number of workers");
    write_file("models.csv", "gpu_model,placement,step_s\nV100,8,1\n");
    wrong("{kind: table, table: models.csv}",
          "first.yaml:2:6: profile p: its table tells GPU models apart, so it needs "
          "reference.gpu_model");
    wrong("{kind: table, table: none.csv}", "none.csv: No such file or directory");
    wrong("{kind: table, table: bad.csv}",
          "bad.csv:3: a placement is GPUs on each node, as 8, 4-4 or 2x8");
    wrong("{kind: table, table: both.csv}", "both.csv:2: needs one of step_s and steps_per_s");
    wrong("{kind: table, table: other.csv}",
          "other.csv: no row for profile p on a GPU model of the cluster");
    wrong("{kind: table, table: good.csv, epochs: fall.csv}",
          "fall.csv:3: ends must rise and gains be above 0");
    wrong("{kind: table, table: good.csv, reference: {gpu_model: H100}}",
          "first.yaml:2:6: profile p: its reference, H100, is no GPU model of the cluster");
    wrong("{kind: allreduce, compute: {H100: 1s}, bytes: 1GB, reference: {placement: 8}}",
          "first.yaml:2:6: profile p: no compute time for its reference, any GPU model");
}

static int enter(void **state)
{
    (void)state;
    enter_folder("rate-load");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files__hold_profiles_and_tables),
        cmocka_unit_test(errors__show_the_place),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
