/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Levels crossed, all-reduce times against the closed formula, shares against a slow solver. */
#include "test_main.h"

#include <math.h>

#include <orrery/base/rng.h>

#include "rate_world.h"

static void assert_near(double a, double b)
{
    assert_true(fabs(a / b - 1.0) < 1e-12);
}

/* 24 boxes in racks of 4; racks hang on uplinks of `uplink` GB/s. */
static void open_boxes(struct wires *wires, int64_t uplink, double oversubscription)
{
    orr_cluster_init(&wires->cluster);
    (void)add_nodes(&wires->cluster, "p", 24, "H100", box(450, 50, false));
    add_level(&wires->cluster, "block", 24, uplink, oversubscription);
    add_level(&wires->cluster, "rack", 4, 0, 0.0);
    orr_fabric_init(&wires->fabric, &wires->cluster);
}

static uint32_t whole_boxes(struct orr_node_part *spans, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        spans[i] = span_of(first + i, 8, 0);
    }
    return count;
}

static void one_gpu__crosses_nothing(void **state)
{
    (void)state;
    struct wires wires;
    struct orr_hop hops[ORR_HOPS_MAX];
    struct orr_node_part span = span_of(3, 1, 0);
    open_boxes(&wires, 0, 0.0);
    assert_int_equal(hops_over(&wires.fabric, &span, 1, hops), 0);
    assert_true(orr_allreduce_s(ORR_ALLREDUCE_RING, hops, 0, 1e9) < 1e-300);
    close_wires(&wires);
}

static void one_box__is_the_closed_formula(void **state)
{
    (void)state;
    struct wires wires;
    struct orr_hop hops[ORR_HOPS_MAX];
    open_boxes(&wires, 0, 0.0);
    for (uint32_t n = 2; n <= 8; n++) {
        struct orr_node_part span = span_of(0, n, 0);
        assert_int_equal(hops_over(&wires.fabric, &span, 1, hops), 1);
        assert_int_equal(hops[0].kind, ORR_HOP_NVLINK);
        double bytes = 3e9, b = hops[0].bytes_s, latency = hops[0].latency_s;
        double formula = 2.0 * (n - 1) / n * bytes / b + 2.0 * (n - 1) * latency;
        assert_near(orr_allreduce_s(ORR_ALLREDUCE_RING, hops, 1, bytes), formula);
        assert_near(orr_allreduce_s(ORR_ALLREDUCE_HIERARCHICAL, hops, 1, bytes), formula);
    }
    close_wires(&wires);
}

/* Nine boxes in three racks: NVLink inside, NICs in the rack, uplinks between racks. */
static void levels__are_taken_inside_first(void **state)
{
    (void)state;
    struct wires wires;
    struct orr_hop h[ORR_HOPS_MAX];
    struct orr_node_part spans[24];
    open_boxes(&wires, 400, 0.0);
    uint32_t count = whole_boxes(spans, 0, 9); /* 4 + 4 + 1 */
    assert_int_equal(hops_over(&wires.fabric, spans, count, h), 3);
    assert_int_equal(h[0].kind, ORR_HOP_NVLINK);
    assert_int_equal(h[0].groups, 8);
    assert_int_equal(h[0].steps, 72 - 9);
    assert_int_equal(h[1].kind, ORR_HOP_NIC);
    assert_int_equal(h[1].groups, 4);
    assert_int_equal(h[1].gpus, 32);
    assert_int_equal(h[1].steps, 9 - 3);
    assert_int_equal(h[2].kind, ORR_HOP_UPLINK);
    assert_int_equal(h[2].groups, 3);
    assert_int_equal(h[2].gpus, 72);
    assert_int_equal(h[2].steps, 3 - 1);
    double s = 5e9;
    double in_turn = 2.0 * 7 / 8 * s / h[0].bytes_s + 2.0 * 7 * h[0].latency_s +
                     2.0 * 3 / 4 * s / h[1].bytes_s + 2.0 * 3 * h[1].latency_s +
                     2.0 * 2 / 3 * s / h[2].bytes_s + 2.0 * 2 * h[2].latency_s;
    assert_near(orr_allreduce_s(ORR_ALLREDUCE_HIERARCHICAL, h, 3, s), in_turn);
    double ring = 2.0 * 71 / 72 * s / fmin(h[0].bytes_s, fmin(h[1].bytes_s, h[2].bytes_s)) +
                  2.0 * (63 * h[0].latency_s + 6 * h[1].latency_s + 2 * h[2].latency_s);
    assert_near(orr_allreduce_s(ORR_ALLREDUCE_RING, h, 3, s), ring);
    close_wires(&wires);
}

static double ring_s(const struct orr_fabric *fabric, const struct orr_node_part *spans,
                     uint32_t count)
{
    struct orr_hop hops[ORR_HOPS_MAX];
    uint32_t n = hops_over(fabric, spans, count, hops);
    return orr_allreduce_s(ORR_ALLREDUCE_RING, hops, n, 10e9);
}

static void oversubscription__slows_what_leaves_the_rack(void **state)
{
    (void)state;
    struct wires flat, thin;
    struct orr_node_part rack[4], two[8];
    open_boxes(&flat, 0, 1.0);
    open_boxes(&thin, 0, 16.0); /* 4 x 400 GB/s of NICs share 100 GB/s */
    (void)whole_boxes(rack, 0, 4);
    (void)whole_boxes(two, 2, 4);
    assert_near(ring_s(&thin.fabric, rack, 4), ring_s(&flat.fabric, rack, 4));
    assert_true(ring_s(&thin.fabric, two, 4) > 3.6 * ring_s(&flat.fabric, two, 4));
    close_wires(&flat);
    close_wires(&thin);
}

/* A rack-scale NVLink system: 64 GPUs in one domain, or in two, or in boxes. */
static void a_domain_wider_than_a_node__joins_its_nodes(void **state)
{
    (void)state;
    struct wires wires;
    struct orr_hop hops[ORR_HOPS_MAX];
    struct orr_node_part spans[16];
    orr_cluster_init(&wires.cluster);
    struct orr_node_type tray = box(900, 50, true);
    tray.gpus = 4;
    tray.nics = 4;
    tray.nvlink_domain = 72;
    (void)add_nodes(&wires.cluster, "p", 36, "GB200", tray);
    orr_fabric_init(&wires.fabric, &wires.cluster);
    for (uint32_t i = 0; i < 16; i++) {
        spans[i] = span_of(1 + i, 4, 0); /* trays 1..16 of the first rack */
    }
    assert_int_equal(hops_over(&wires.fabric, spans, 16, hops), 1);
    assert_int_equal(hops[0].groups, 64);
    double inside = ring_s(&wires.fabric, spans, 16);
    for (uint32_t i = 0; i < 16; i++) {
        spans[i].node = 10 + i; /* 8 trays of each rack */
    }
    assert_int_equal(hops_over(&wires.fabric, spans, 16, hops), 2);
    assert_int_equal(hops[1].kind, ORR_HOP_NIC);
    assert_int_equal(hops[1].groups, 2);
    assert_true(ring_s(&wires.fabric, spans, 16) > inside);
    close_wires(&wires);
}

static void extent__is_the_narrowest_that_holds_a_layout(void **state)
{
    (void)state;
    struct wires wires;
    open_boxes(&wires, 400, 0.0); /* levels block (0), rack (1) */
    struct orr_node_part one = span_of(3, 1, 0), box8 = span_of(3, 8, 0);
    struct orr_node_part rack[] = {span_of(4, 8, 0), span_of(7, 1, 0)};
    struct orr_node_part block[] = {span_of(4, 8, 0), span_of(8, 8, 0)};
    const struct orr_fabric *f = &wires.fabric;
    assert_int_equal(orr_layout_extent(f, &(struct orr_layout){&one, 1, 1, 1}), ORR_EXTENT_GPU);
    assert_int_equal(orr_layout_extent(f, &(struct orr_layout){&box8, 1, 1, 8}), ORR_EXTENT_NVLINK);
    assert_int_equal(orr_layout_extent(f, &(struct orr_layout){rack, 2, 2, 9}),
                     ORR_EXTENT_LEVEL + 1);
    assert_int_equal(orr_layout_extent(f, &(struct orr_layout){block, 2, 2, 16}),
                     ORR_EXTENT_LEVEL + 0);
    close_wires(&wires);

    orr_cluster_init(&wires.cluster); /* NVLink over two nodes of 4, islands of 4 in nodes of 8 */
    struct orr_node_type wide = box(450, 50, false), split = box(450, 50, false);
    wide.gpus = 4;
    wide.nvlink_domain = 8;
    split.nvlink_domain = 4;
    (void)add_nodes(&wires.cluster, "w", 4, "H100", wide);
    (void)add_nodes(&wires.cluster, "s", 1, "H100", split);
    orr_fabric_init(&wires.fabric, &wires.cluster);
    struct orr_node_part joined[] = {span_of(0, 4, 0), span_of(1, 4, 0)};
    struct orr_node_part apart[] = {span_of(1, 4, 0), span_of(2, 4, 0)};
    struct orr_node_part island = span_of(4, 2, 0x3), crooked = span_of(4, 2, 0x18);
    assert_int_equal(orr_layout_extent(f, &(struct orr_layout){joined, 2, 2, 8}),
                     ORR_EXTENT_NVLINK);
    assert_int_equal(orr_layout_extent(f, &(struct orr_layout){apart, 2, 2, 8}),
                     ORR_EXTENT_CLUSTER);
    assert_int_equal(orr_layout_extent(f, &(struct orr_layout){&island, 1, 1, 2}),
                     ORR_EXTENT_NVLINK);
    assert_int_equal(orr_layout_extent(f, &(struct orr_layout){&crooked, 1, 1, 2}),
                     ORR_EXTENT_NODE);
    close_wires(&wires);
}

static void islands__are_joined_by_pcie(void **state)
{
    (void)state;
    struct wires wires;
    struct orr_hop hops[ORR_HOPS_MAX];
    orr_cluster_init(&wires.cluster);
    struct orr_node_type halves = box(300, 25, false);
    halves.nvlink_domain = 4;
    (void)add_nodes(&wires.cluster, "p", 1, "A100", halves);
    orr_fabric_init(&wires.fabric, &wires.cluster);
    struct orr_node_part aligned = span_of(0, 4, 0x0f), split = span_of(0, 4, 0x33);
    assert_int_equal(hops_over(&wires.fabric, &split, 1, hops), 2);
    assert_int_equal(hops[0].groups, 2);
    assert_int_equal(hops[1].kind, ORR_HOP_PCIE);
    assert_true(ring_s(&wires.fabric, &split, 1) > 5.0 * ring_s(&wires.fabric, &aligned, 1));
    close_wires(&wires);
}

static void part_of_a_node__gets_its_part_of_the_rails(void **state)
{
    (void)state;
    struct wires wires;
    struct orr_hop hops[ORR_HOPS_MAX];
    struct orr_node_part whole[2] = {span_of(0, 8, 0), span_of(1, 8, 0)};
    struct orr_node_part half[2] = {span_of(0, 4, 0), span_of(1, 4, 0)};
    open_boxes(&wires, 0, 0.0);
    (void)hops_over(&wires.fabric, whole, 2, hops);
    double all = hops[1].bytes_s;
    (void)hops_over(&wires.fabric, half, 2, hops);
    assert_near(hops[1].bytes_s, all / 2.0);
    close_wires(&wires);
}

/* ---- sharing ---- */

/* Slow and plain: raise everybody's share by one until demand or capacity ends it. */
static void fill(int64_t capacity, const int64_t *demands, uint32_t count, int64_t *shares)
{
    memset(shares, 0, count * sizeof *shares);
    for (bool more = true; more;) {
        int64_t wanting = 0;
        for (uint32_t i = 0; i < count; i++) {
            wanting += shares[i] < demands[i];
        }
        more = wanting > 0 && wanting <= capacity;
        for (uint32_t i = 0; i < count && more; i++) {
            capacity -= shares[i] < demands[i];
            shares[i] += shares[i] < demands[i];
        }
    }
}

static void shares__equal_slow_filling(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 2000; round++) {
        struct orr_rng rng = orr_rng_stream(7, "divide", round);
        int64_t demands[12], shares[12], slow[12];
        uint32_t count = 1 + (uint32_t)orr_rng_below(&rng, 12);
        int64_t capacity = (int64_t)orr_rng_below(&rng, 400);
        for (uint32_t i = 0; i < count; i++) {
            demands[i] = (int64_t)orr_rng_below(&rng, 100);
        }
        orr_link_divide(capacity, demands, count, shares);
        fill(capacity, demands, count, slow);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(shares[i], slow[i]);
        }
    }
}

enum { GANGS = 20, LINKS = 9 };

struct graph { /* who uses what, kept the slow way */
    struct orr_link_use uses[GANGS][4];
    uint32_t use_count[GANGS];
    double bytes_s[GANGS];
    bool changed[GANGS]; /* itself joined or left since the last look */
};

static int64_t slow_slowdown(const struct graph *graph, const struct orr_fabric *fabric,
                             uint32_t gang)
{
    double worst = 1.0;
    for (uint32_t u = 0; u < graph->use_count[gang]; u++) {
        int64_t demands[GANGS], shares[GANGS], mine = 0;
        uint32_t count = 0, at = 0, link = graph->uses[gang][u].link;
        const int64_t usable = orr_fabric_usable_bytes_s(fabric, link);
        for (uint32_t g = 0; g < GANGS; g++) {
            for (uint32_t v = 0; v < graph->use_count[g]; v++) {
                if (graph->uses[g][v].link == link) {
                    at = g == gang ? count : at;
                    double demand = graph->uses[g][v].share * graph->bytes_s[g] + 0.5;
                    demands[count++] = (int64_t)fmin(demand, (double)usable);
                }
            }
        }
        fill(usable, demands, count, shares);
        mine = shares[at] > 0 ? shares[at] : 1;
        if (shares[at] < demands[at]) {
            worst = fmax(worst, (double)demands[at] / (double)mine);
        }
    }
    return (int64_t)(worst * ORR_PPM + 0.5);
}

static void change_graph(struct graph *graph, struct orr_link_sharers *sharers, struct orr_rng *rng)
{
    uint32_t gang = (uint32_t)orr_rng_below(rng, GANGS);
    graph->changed[gang] = true;
    if (graph->use_count[gang] > 0) {
        graph->use_count[gang] = 0;
        orr_link_sharers_leave(sharers, gang);
        return;
    }
    uint32_t first = (uint32_t)orr_rng_below(rng, LINKS);
    graph->use_count[gang] = 1 + (uint32_t)orr_rng_below(rng, 4);
    graph->bytes_s[gang] = (double)(1 + orr_rng_below(rng, 60));
    for (uint32_t u = 0; u < graph->use_count[gang]; u++) {
        graph->uses[gang][u] = (struct orr_link_use){(first + 2 * u) % LINKS,
                                                     (double)(1 + orr_rng_below(rng, 4)) / 2.0};
    }
    orr_link_sharers_join(sharers, gang, graph->uses[gang], graph->use_count[gang],
                          graph->bytes_s[gang]);
}

/* Random graphs of gangs and links: after every change all slowdowns equal those worked out from
 * nothing, and exactly the gangs whose slowdown changed are named. */
static void sharers__equal_a_slow_solver_on_random_graphs(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 40; round++) {
        struct orr_rng rng = orr_rng_stream(11, "graph", round);
        int64_t capacities[LINKS], before[GANGS];
        struct orr_fabric fabric = {.link_bytes_s = capacities, .link_count = LINKS};
        struct graph graph = {0};
        for (uint32_t l = 0; l < LINKS; l++) {
            capacities[l] = 20 + (int64_t)orr_rng_below(&rng, 150);
        }
        struct orr_link_sharers *sharers = orr_link_sharers_open(&fabric, GANGS);
        for (uint32_t step = 0; step < 60; step++) {
            for (uint32_t g = 0; g < GANGS; g++) {
                before[g] = orr_link_sharers_slowdown_ppm(sharers, g);
            }
            uint64_t changes = 1 + orr_rng_below(&rng, 3);
            for (uint64_t c = 0; c < changes; c++) {
                change_graph(&graph, sharers, &rng);
            }
            uint32_t named, seen = 0;
            const uint32_t *gangs = orr_link_sharers_settle(sharers, &named);
            for (uint32_t g = 0; g < GANGS; g++) {
                int64_t now = orr_link_sharers_slowdown_ppm(sharers, g);
                assert_int_equal(now, slow_slowdown(&graph, &fabric, g));
                bool listed = seen < named && gangs[seen] == g;
                seen += listed;
                assert_true(listed || now == (graph.changed[g] ? ORR_PPM : before[g]));
                graph.changed[g] = false;
            }
            assert_int_equal(seen, named);
        }
        orr_link_sharers_close(sharers);
    }
}

static void a_gang__uses_its_nodes_and_its_racks_uplinks(void **state)
{
    (void)state;
    struct wires wires;
    struct orr_node_part spans[24];
    struct orr_link_use uses[32];
    open_boxes(&wires, 400, 0.0);
    (void)whole_boxes(spans, 3, 2); /* the last box of rack 0 and the first of rack 1 */
    struct orr_layout layout = layout_of(spans, 2);
    assert_int_equal(orr_fabric_uses(&wires.fabric, ORR_ALLREDUCE_RING, &layout, uses, 32), 4);
    assert_int_equal(uses[0].link, 24);
    assert_int_equal(uses[1].link, 25);
    assert_int_equal(uses[2].link, 3);
    assert_int_equal(uses[3].link, 4);
    assert_near(uses[3].share, 2.0 * 15 / 16);
    assert_int_equal(wires.fabric.link_bytes_s[24], 400 * (int64_t)GB);
    layout = layout_of(spans, 1);
    assert_int_equal(orr_fabric_uses(&wires.fabric, ORR_ALLREDUCE_RING, &layout, uses, 32), 0);
    close_wires(&wires);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_gpu__crosses_nothing),
        cmocka_unit_test(one_box__is_the_closed_formula),
        cmocka_unit_test(levels__are_taken_inside_first),
        cmocka_unit_test(oversubscription__slows_what_leaves_the_rack),
        cmocka_unit_test(a_domain_wider_than_a_node__joins_its_nodes),
        cmocka_unit_test(extent__is_the_narrowest_that_holds_a_layout),
        cmocka_unit_test(islands__are_joined_by_pcie),
        cmocka_unit_test(part_of_a_node__gets_its_part_of_the_rails),
        cmocka_unit_test(shares__equal_slow_filling),
        cmocka_unit_test(sharers__equal_a_slow_solver_on_random_graphs),
        cmocka_unit_test(a_gang__uses_its_nodes_and_its_racks_uplinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
