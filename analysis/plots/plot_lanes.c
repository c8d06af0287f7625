/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_lanes.c - nodes, and who held what on them. */
#include "plot_int.h"
#include "plots_sql.h"

uint32_t orr_plot__lanes_node(const struct orr_plot_lanes *lanes, int64_t id)
{
    uint32_t low = 0, high = lanes->node_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (lanes->nodes[middle].id == id) {
            return middle;
        }
        if (lanes->nodes[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ORR_NONE;
}

static void gaps_load(struct orr_plot *plot, struct orr_plot_lanes *lanes)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__gaps);
    while (orr_results_step(&plot->in, row)) {
        const struct orr_plot_gap gap = {
            .node = orr_plot__lanes_node(lanes, sqlite3_column_int64(row, 0)),
            .from = sqlite3_column_int64(row, 1),
            .to = sqlite3_column_int64(row, 2)};
        if (gap.node != ORR_NONE && gap.from < gap.to) {
            lanes->gaps = ORR_ROOM_FOR_ONE(lanes->gaps, lanes->gap_count, lanes->gap_room);
            lanes->gaps[lanes->gap_count++] = gap;
        }
    }
}

void orr_plot__lanes_open(struct orr_plot *plot, struct orr_plot_lanes *lanes)
{
    *lanes = (struct orr_plot_lanes){0};
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__nodes);
    while (orr_results_step(&plot->in, row)) {
        lanes->nodes = ORR_ROOM_FOR_ONE(lanes->nodes, lanes->node_count, lanes->node_room);
        int64_t gpus = sqlite3_column_int64(row, 2);
        lanes->nodes[lanes->node_count++] = (struct orr_plot_node){
            .id = sqlite3_column_int64(row, 0),
            .name = orr_results_text(&plot->in, row, 1),
            .gpus = gpus < 1024 ? (uint32_t)gpus : 1024,
        };
    }
    gaps_load(plot, lanes);
    row = orr_results_prepare(&plot->in, orr_plots_sql__lanes);
    while (orr_results_step(&plot->in, row)) {
        struct orr_plot_held held = {
            .node = orr_plot__lanes_node(lanes, sqlite3_column_int64(row, 0)),
            .start = sqlite3_column_int64(row, 1),
            .end = sqlite3_column_int64(row, 2),
            .mgpu = sqlite3_column_int64(row, 3),
            .devices = (uint64_t)sqlite3_column_int64(row, 4),
            .rank = orr_plot__rank(plot, sqlite3_column_int64(row, 5)),
            .cut = sqlite3_column_int(row, 6) != 0,
            .job = sqlite3_column_int64(row, 7),
            .cpu_milli = sqlite3_column_int64(row, 8),
        };
        if (held.node == ORR_NONE || held.rank == ORR_NONE || held.mgpu <= 0 ||
            held.end <= held.start) {
            continue;
        }
        lanes->held = ORR_ROOM_FOR_ONE(lanes->held, lanes->held_count, lanes->held_room);
        lanes->held[lanes->held_count++] = held;
    }
}

void orr_plot__lanes_close(struct orr_plot_lanes *lanes)
{
    orr_free(lanes->nodes);
    orr_free(lanes->held);
    orr_free(lanes->gaps);
}
