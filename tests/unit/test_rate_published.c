/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The all-reduce model against published measurements: its constants are fitted here on the odd
 * rows and must be those the model uses; the even rows are predictions. Bus bandwidth is algorithm
 * bandwidth x 2 (n-1)/n, in GB/s; rows that say "large" are taken at 4 GiB. */
#include "test_main.h"

#include <math.h>

#include "rate_world.h"

#define GIB 1073741824.0

struct system {
    const char *name;
    uint32_t nodes, gpus, domain, nics; /* GPUs and NICs of a node; GPUs of an NVLink domain */
    int64_t nvlink, nic;                /* GB/s */
    bool reduces;
};

static const struct system a100 = {"8 x A100", 1, 8, 8, 8, 300, 25, false};
static const struct system a100_pair = {"2 x 8 A100, 8 x 200 Gb/s", 2, 8, 8, 8, 300, 25, false};
static const struct system a100_few = {"2 x 8 A100, 4 x 200 Gb/s", 2, 8, 8, 4, 300, 25, false};
static const struct system h100_ring = {"8 x H100, ring", 1, 8, 8, 8, 450, 50, false};
static const struct system h100 = {"8 x H100/H200, in-switch", 1, 8, 8, 8, 450, 50, true};
static const struct system b200 = {"8 x B200", 1, 8, 8, 8, 900, 50, true};
static const struct system nvl72 = {"GB200 NVL72", 18, 4, 72, 4, 900, 50, true};
static const struct system gb200_12 = {"GB200, 3 racks x 4", 3, 4, 4, 4, 900, 50, true};
static const struct system gb200_24 = {"GB200, 3 racks x 8", 3, 8, 8, 8, 900, 50, true};

/* system, algorithm, GiB, measured bus GB/s, source */
static const struct row {
    const struct system *system;
    enum orr_allreduce algorithm;
    double gib, bus;
    const char *source;
} rows[] = {
    {&a100, ORR_ALLREDUCE_RING, 4, 232.5, "NVIDIA/nccl-tests #175"},
    {&a100_pair, ORR_ALLREDUCE_RING, 4, 192, "NVIDIA/nccl #1576, quoting #812"},
    {&a100_few, ORR_ALLREDUCE_RING, 4, 86, "NVIDIA/nccl-tests #175"},
    {&h100_ring, ORR_ALLREDUCE_RING, 4, 370, "NVIDIA/nccl-tests #212"},
    {&h100, ORR_ALLREDUCE_RING, 4, 480, "NVIDIA/nccl-tests #212"},
    {&h100, ORR_ALLREDUCE_RING, 4, 475, "NVIDIA/nccl-tests #272"},
    {&b200, ORR_ALLREDUCE_RING, 4, 830, "NVIDIA/nccl #1807"},
    {&nvl72, ORR_ALLREDUCE_RING, 0.5, 586, "coreweave/nccl-tests PR 43"},
    {&nvl72, ORR_ALLREDUCE_RING, 1, 681, "coreweave/nccl-tests PR 43"},
    {&nvl72, ORR_ALLREDUCE_RING, 2, 758, "coreweave/nccl-tests PR 43"},
    {&nvl72, ORR_ALLREDUCE_RING, 4, 839, "coreweave/nccl-tests PR 43"},
    {&nvl72, ORR_ALLREDUCE_RING, 8, 835, "coreweave/nccl-tests PR 43"},
    {&gb200_12, ORR_ALLREDUCE_RING, 16, 197, "NVIDIA/nccl #1801"},
    {&gb200_12, ORR_ALLREDUCE_TREE, 16, 234, "NVIDIA/nccl #1801"},
    {&gb200_24, ORR_ALLREDUCE_RING, 16, 394, "NVIDIA/nccl #1801"},
    {&gb200_24, ORR_ALLREDUCE_TREE, 16, 485, "NVIDIA/nccl #1801"},
};
#define ROWS (sizeof rows / sizeof rows[0])

static uint32_t hops_of(const struct system *system, struct orr_hop hops[ORR_HOPS_MAX])
{
    struct wires wires;
    struct orr_node_part spans[18];
    orr_cluster_init(&wires.cluster);
    (void)add_nodes(&wires.cluster, "p", system->nodes, NULL,
                    (struct orr_node_type){.gpus = system->gpus,
                                           .gpu_model = ORR_NONE,
                                           .nvlink_domain = system->domain,
                                           .nics = system->nics,
                                           .nvlink_bytes_s = system->nvlink * GB,
                                           .nic_bytes_s = system->nic * GB,
                                           .nvlink_reduces = system->reduces});
    orr_fabric_init(&wires.fabric, &wires.cluster);
    for (uint32_t n = 0; n < system->nodes; n++) {
        spans[n] = span_of(n, system->gpus, 0);
    }
    uint32_t count = hops_over(&wires.fabric, spans, system->nodes, hops);
    close_wires(&wires);
    return count;
}

static double ring_factor(const struct system *system)
{
    double n = (double)(system->nodes * system->gpus);
    return 2.0 * (n - 1.0) / n;
}

static double predicted_bus(const struct row *row, enum orr_allreduce algorithm)
{
    struct orr_hop hops[ORR_HOPS_MAX];
    uint32_t count = hops_of(row->system, hops);
    double bytes = row->gib * GIB;
    return ring_factor(row->system) * bytes / orr_allreduce_s(algorithm, hops, count, bytes) / GB;
}

static bool fitted(size_t row) /* the first, third, ... row of the table */
{
    return row % 2 == 0;
}

/* In-switch rows: time = bytes moved / (efficiency x line) + 2 (n-1) latency. Least squares of the
 * relative error, linear in 1/efficiency and latency. */
static void fit_switch(double *efficiency, double *latency_s)
{
    double xx = 0.0, xy = 0.0, yy = 0.0, bx = 0.0, by = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        const struct system *s = rows[i].system;
        if (!fitted(i) || !s->reduces || s->domain < s->nodes * s->gpus) {
            continue;
        }
        double moved = ring_factor(s) * rows[i].gib * GIB;
        double seconds = moved / (rows[i].bus * GB);
        double x = moved / ((double)s->nvlink * GB) / seconds;
        double y = 2.0 * (double)(s->nodes * s->gpus - 1) / seconds;
        xx += x * x;
        xy += x * y;
        yy += y * y;
        bx += x;
        by += y;
    }
    double det = xx * yy - xy * xy;
    *efficiency = det / (bx * yy - by * xy);
    *latency_s = (by * xx - bx * xy) / det;
}

/* The mean of the logarithms of measured / line rate over the fitted rows whose slowest level that
 * is. */
static double fit_ratio(bool nics)
{
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        const struct system *s = rows[i].system;
        bool many = s->domain < s->nodes * s->gpus;
        if (fitted(i) && (nics ? many : !many && !s->reduces)) {
            double line = nics ? (double)(s->nics * s->nic) : (double)s->nvlink;
            sum += log(rows[i].bus / line);
            count += 1.0;
        }
    }
    return exp(sum / count);
}

static void constants__are_those_of_the_fit(void **state)
{
    (void)state;
    struct orr_hop hops[ORR_HOPS_MAX];
    double efficiency, latency_s;
    fit_switch(&efficiency, &latency_s);
    (void)hops_of(&nvl72, hops);
    assert_true(fabs(hops[0].bytes_s / (900.0 * GB) / efficiency - 1.0) < 0.001);
    assert_true(fabs(hops[0].latency_s / latency_s - 1.0) < 0.005);
    (void)hops_of(&a100, hops);
    assert_true(fabs(hops[0].bytes_s / (300.0 * GB) / fit_ratio(false) - 1.0) < 0.001);
    (void)hops_of(&a100_pair, hops);
    assert_int_equal(hops[1].kind, ORR_HOP_NIC);
    assert_true(fabs(hops[1].bytes_s / (200.0 * GB) / fit_ratio(true) - 1.0) < 0.001);
}

static void predictions__are_within_20_percent(void **state)
{
    (void)state;
    uint32_t predictions = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double bus = predicted_bus(&rows[i], rows[i].algorithm);
        double error = 100.0 * (bus / rows[i].bus - 1.0);
        print_message("%-26s %4.1f GiB %6.1f measured %6.1f %s %+5.1f %%  %s\n",
                      rows[i].system->name, rows[i].gib, rows[i].bus, bus,
                      fitted(i) ? "fitted   " : "predicted", error, rows[i].source);
        assert_true(fitted(i) || fabs(error) < 20.0);
        predictions += !fitted(i);
    }
    assert_int_equal(predictions, ROWS / 2);
}

/* Why levels are not simply added up: with the very same constants, that misses the figure of two
 * boxes by more than the 20 % that are asked. */
static void adding_levels_up__misses_what_was_measured(void **state)
{
    (void)state;
    double bus = predicted_bus(&rows[1], ORR_ALLREDUCE_HIERARCHICAL);
    assert_true(bus < 0.8 * rows[1].bus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants__are_those_of_the_fit),
        cmocka_unit_test(predictions__are_within_20_percent),
        cmocka_unit_test(adding_levels_up__misses_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
