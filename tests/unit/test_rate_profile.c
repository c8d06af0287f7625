/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profiles: patterns, tables, epochs, all-reduce, speedups. */
#include "test_main.h"

#include <math.h>

#include "rate_world.h"

static struct orr_pattern pattern(const char *text)
{
    struct orr_pattern made;
    assert_true(orr_pattern_parse(text, strlen(text), &made));
    return made;
}

static void patterns__are_counts_most_first(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "-", "8-", "0", "x8", "2x", "8x0", "-4", "a", "2x8x2"};
    struct orr_pattern p = pattern("1-4-2"), q;
    assert_int_equal(p.nodes, 3);
    assert_int_equal(p.gpus, 7);
    assert_int_equal(p.on_node[0], 4);
    assert_int_equal(p.on_node[2], 1);
    p = pattern("100x8-4");
    assert_int_equal(p.nodes, 101);
    assert_int_equal(p.gpus, 804);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(orr_pattern_parse(wrong[i], strlen(wrong[i]), &q));
    }
}

static void open_two_models(struct wires *wires)
{
    orr_cluster_init(&wires->cluster);
    (void)add_nodes(&wires->cluster, "v", 8, "V100", box(300, 25, false));
    (void)add_nodes(&wires->cluster, "k", 8, "K80", box(50, 10, false));
    orr_fabric_init(&wires->fabric, &wires->cluster);
}

static int64_t rate(const struct orr_profile *profile, const struct orr_fabric *fabric,
                    const struct orr_node_part *spans, uint32_t count)
{
    struct orr_layout layout = layout_of(spans, count);
    struct orr_placed placed = {.layout = &layout, .full_workers = 1, .slowdown_ppm = ORR_PPM};
    return orr_profile_rate_ppm(profile, fabric, &placed);
}

/* steps per second: 2 on one GPU, 6 on 4, 10 on 8; spread over two nodes 7 on 8 GPUs, 20 on 32 */
static struct orr_profile measured(struct orr_profile_row rows[5])
{
    rows[0] = (struct orr_profile_row){0, pattern("1"), 1.0 / 2, 0.0};
    rows[1] = (struct orr_profile_row){0, pattern("4"), 1.0 / 6, 0.0};
    rows[2] = (struct orr_profile_row){0, pattern("8"), 1.0 / 10, 0.0};
    rows[3] = (struct orr_profile_row){0, pattern("4-4"), 1.0 / 7, 0.0};
    rows[4] = (struct orr_profile_row){0, pattern("2x16"), 1.0 / 20, 0.0};
    return (struct orr_profile){.kind = ORR_PROFILE_TABLE,
                                .reference_model = 0,
                                .reference_pattern = pattern("8"),
                                .rows = rows,
                                .row_count = 5};
}

static void tables__take_what_was_measured_first(void **state)
{
    (void)state;
    struct wires wires;
    open_two_models(&wires);
    struct orr_profile_row rows[5];
    struct orr_profile p = measured(rows);
    struct orr_node_part one[] = {span_of(0, 8, 0)}, two[] = {span_of(0, 4, 0), span_of(1, 4, 0)},
                         odd[] = {span_of(0, 6, 0), span_of(1, 2, 0)};
    assert_int_equal(rate(&p, &wires.fabric, one, 1), 1000000);
    assert_int_equal(rate(&p, &wires.fabric, two, 2), 700000);
    assert_int_equal(rate(&p, &wires.fabric, odd, 2), 700000); /* as many GPUs on as many nodes */
    close_wires(&wires);
}

static void tables__interpolate_in_log2_of_gpus(void **state)
{
    (void)state;
    struct wires wires;
    open_two_models(&wires);
    struct orr_profile_row rows[5];
    struct orr_profile p = measured(rows);
    struct orr_node_part two[] = {span_of(0, 2, 0)}, six[] = {span_of(0, 6, 0)};
    struct orr_node_part sixteen[] = {span_of(0, 8, 0), span_of(1, 8, 0)};
    assert_int_equal(rate(&p, &wires.fabric, two, 1), 400000); /* half way from 2 to 6 */
    double steps = 6.0 + (log2(6.0) - 2.0) * 4.0;
    assert_int_equal(rate(&p, &wires.fabric, six, 1), (int64_t)(steps * 100000 + 0.5));
    assert_int_equal(rate(&p, &wires.fabric, sixteen, 2), 1350000); /* half way from 7 to 20 */
    close_wires(&wires);
}

static void tables__else_take_the_nearest_larger_span(void **state)
{
    (void)state;
    struct wires wires;
    open_two_models(&wires);
    struct orr_profile_row rows[5];
    struct orr_profile p = measured(rows);
    struct orr_node_part small[] = {span_of(0, 1, 0), span_of(1, 1, 0)};
    struct orr_node_part wide[] = {span_of(0, 8, 0), span_of(1, 8, 0), span_of(2, 8, 0)};
    struct orr_node_part strange[] = {span_of(8, 4, 0)};
    assert_int_equal(rate(&p, &wires.fabric, small, 2), 700000); /* as 4-4 */
    assert_int_equal(rate(&p, &wires.fabric, wide, 3),
                     2000000);                                /* nothing is larger: the largest */
    assert_int_equal(rate(&p, &wires.fabric, strange, 1), 0); /* no figure for that model */
    close_wires(&wires);
}

static void tables__refer_to_the_jobs_own_size_without_a_pattern(void **state)
{
    (void)state;
    struct wires wires;
    open_two_models(&wires);
    struct orr_profile_row rows[5];
    struct orr_profile p = measured(rows);
    p.reference_pattern = (struct orr_pattern){0};
    struct orr_node_part packed[] = {span_of(0, 4, 0)},
                         spread[] = {span_of(0, 4, 0), span_of(1, 4, 0)};
    assert_int_equal(rate(&p, &wires.fabric, packed, 1), 1000000);
    assert_int_equal(rate(&p, &wires.fabric, spread, 2), 700000);
    struct orr_layout layout = layout_of(spread, 2);
    struct orr_placed placed = {.layout = &layout, .slowdown_ppm = ORR_PPM};
    assert_int_equal(orr_profile_best_ppm(&p, &wires.fabric, &placed), 1000000);
    close_wires(&wires);
}

/* bert, 6 replicas, 384 per step, on 2-2-1-1, first epoch: as the Pollux artifact's simulator. */
static void epochs__have_rates_of_their_own(void **state)
{
    (void)state;
    struct wires wires;
    open_two_models(&wires);
    struct orr_profile_row row = {ORR_NONE, pattern("2-2-1-1"), 1.4984653741121292,
                                  0.7430616582234701};
    struct orr_profile_epoch epochs[] = {{7387.0, 28.95384534146542, 5.0},
                                         {14774.0, 29.328627926774935, 5.0}};
    struct orr_profile p = {.kind = ORR_PROFILE_TABLE,
                            .rows = &row,
                            .row_count = 1,
                            .epochs = epochs,
                            .epoch_count = 2};
    struct orr_node_part spans[] = {span_of(0, 1, 0), span_of(1, 2, 0), span_of(2, 1, 0),
                                    span_of(3, 2, 0)};
    struct orr_layout layout = layout_of(spans, 4);
    struct orr_placed placed = {.layout = &layout, .slowdown_ppm = ORR_PPM};
    double first = orr_profile_epoch_rate(&p, 0, orr_profile_pace(&p, &wires.fabric, &placed));
    double step = 1.4984653741121292, sync = 0.7430616582234701;
    assert_true(fabs(first / (28.95384534146542 / (step + (step - sync) * 5)) - 1.0) < 1e-15);
    assert_true(orr_profile_epoch_rate(&p, 1, orr_profile_pace(&p, &wires.fabric, &placed)) >
                first);
    assert_int_equal(orr_profile_epoch_left_s(10.0, 5.0, 2.0), 2); /* 2.5, half to even */
    assert_int_equal(orr_profile_epoch_left_s(12.0, 5.0, 2.0), 4); /* 3.5 */
    assert_int_equal(orr_profile_epoch_left_s(10.2, 5.0, 2.0), 3);
    close_wires(&wires);
}

static void allreduce__is_compute_and_what_overlap_leaves(void **state)
{
    (void)state;
    struct wires wires;
    open_two_models(&wires);
    struct orr_profile_compute compute[] = {{0, 0.2}, {1, 1.0}};
    struct orr_profile p = {.kind = ORR_PROFILE_ALLREDUCE,
                            .reference_model = 0,
                            .reference_pattern = pattern("8"),
                            .computes = compute,
                            .compute_count = 2,
                            .bytes = 20e9,
                            .overlap = 0.5};
    struct orr_node_part one[] = {span_of(0, 8, 0)}, two[] = {span_of(0, 8, 0), span_of(1, 8, 0)},
                         slow[] = {span_of(9, 8, 0)};
    struct orr_hop hops[ORR_HOPS_MAX];
    assert_true(orr_profile_refer(&p, &wires.fabric));
    assert_int_equal(rate(&p, &wires.fabric, one, 1), 1000000);
    uint32_t n = hops_over(&wires.fabric, two, 2, hops);
    double comm = orr_allreduce_s(ORR_ALLREDUCE_RING, hops, n, 20e9);
    double expected = p.reference_step_s / (0.2 + 0.5 * comm);
    assert_int_equal(rate(&p, &wires.fabric, two, 2), (int64_t)(expected * 1e6 + 0.5));
    struct orr_layout layout = layout_of(two, 2);
    struct orr_placed busy = {.layout = &layout, .slowdown_ppm = 3 * ORR_PPM};
    expected = p.reference_step_s / (0.2 + 0.5 * 3.0 * comm);
    assert_int_equal(orr_profile_rate_ppm(&p, &wires.fabric, &busy),
                     (int64_t)(expected * 1e6 + 0.5));
    assert_true(rate(&p, &wires.fabric, slow, 1) < 250000);
    assert_true(fabs(orr_profile_bytes_s(&p, &wires.fabric, &busy) * (0.2 + 0.5 * comm) / 20e9 -
                     1.0) < 1e-12);
    /* the best of 4 GPUs in 2 boxes: 4 in one; of 24: three full boxes, nobody beside */
    struct orr_node_part half[] = {span_of(0, 2, 0), span_of(1, 2, 0)}, four[] = {span_of(0, 4, 0)};
    struct orr_layout spread = layout_of(half, 2);
    struct orr_placed apart = {.layout = &spread, .slowdown_ppm = 3 * ORR_PPM};
    assert_int_equal(orr_profile_best_ppm(&p, &wires.fabric, &apart),
                     rate(&p, &wires.fabric, four, 1));
    struct orr_node_part six[] = {span_of(0, 4, 0), span_of(1, 4, 0), span_of(2, 4, 0),
                                  span_of(3, 4, 0), span_of(4, 4, 0), span_of(5, 4, 0)};
    struct orr_node_part three[] = {span_of(0, 8, 0), span_of(1, 8, 0), span_of(2, 8, 0)};
    spread = layout_of(six, 6);
    assert_int_equal(orr_profile_best_ppm(&p, &wires.fabric, &apart),
                     rate(&p, &wires.fabric, three, 3));
    p.reference_pattern = (struct orr_pattern){0};
    assert_false(orr_profile_refer(&p, &wires.fabric));
    close_wires(&wires);
}

static void speedups__follow_a_table_or_amdahl(void **state)
{
    (void)state;
    struct orr_profile_speedup table[] = {{1, 1.0}, {2, 1.8}, {4, 3.0}, {8, 4.0}};
    struct orr_profile p = {.kind = ORR_PROFILE_SPEEDUP, .speedups = table, .speedup_count = 4};
    struct orr_layout layout = {.workers = 4};
    struct orr_placed placed = {.layout = &layout, .full_workers = 8, .slowdown_ppm = ORR_PPM};
    assert_int_equal(orr_profile_rate_ppm(&p, NULL, &placed), 750000);
    layout.workers = 6;
    assert_int_equal(orr_profile_rate_ppm(&p, NULL, &placed), 875000);
    layout.workers = 16;
    assert_int_equal(orr_profile_rate_ppm(&p, NULL, &placed), 1000000);
    p.speedup_count = 0;
    p.serial = 0.1;
    layout.workers = 4;
    double expected = (0.1 + 0.9 / 8) / (0.1 + 0.9 / 4);
    assert_int_equal(orr_profile_rate_ppm(&p, NULL, &placed), (int64_t)(expected * 1e6 + 0.5));
}

static void a_misaligned_placement__has_the_rate_stated(void **state)
{
    (void)state;
    struct orr_profile p = {.kind = ORR_PROFILE_FIXED, .misaligned_ppm = 900000};
    struct orr_placed placed = {.slowdown_ppm = ORR_PPM};
    assert_int_equal(orr_profile_rate_ppm(&p, NULL, &placed), 1000000);
    placed.misaligned = true;
    assert_int_equal(orr_profile_rate_ppm(&p, NULL, &placed), 900000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns__are_counts_most_first),
        cmocka_unit_test(tables__take_what_was_measured_first),
        cmocka_unit_test(tables__interpolate_in_log2_of_gpus),
        cmocka_unit_test(tables__else_take_the_nearest_larger_span),
        cmocka_unit_test(tables__refer_to_the_jobs_own_size_without_a_pattern),
        cmocka_unit_test(epochs__have_rates_of_their_own),
        cmocka_unit_test(allreduce__is_compute_and_what_overlap_leaves),
        cmocka_unit_test(speedups__follow_a_table_or_amdahl),
        cmocka_unit_test(a_misaligned_placement__has_the_rate_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
