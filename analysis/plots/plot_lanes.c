/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_lanes.c - nodes, and who held what on them. */
#include "plot_int.h"
#include "plots_sql.h"

#include <string.h>

#define MOST_CELLS 1024 /* GPUs of a node that are looked at */

/* Index of the first node whose id is not less. */
static uint32_t node_from(const struct orr_plot_lanes *lanes, int64_t id)
{
    uint32_t low = 0, high = lanes->node_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (lanes->nodes[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t orr_plot__lanes_node(const struct orr_plot_lanes *lanes, int64_t id)
{
    const uint32_t at = node_from(lanes, id);
    return at < lanes->node_count && lanes->nodes[at].id == id ? at : ORR_NONE;
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

/* MIG instances of one profile of a node, in the order of their cells. */
struct cut {
    uint32_t node, first, count; /* first: cell of the node */
    uint32_t gpus;               /* each */
    const char *profile;
    orr_ms *until; /* per instance: it is held until then */
};

struct cuts {
    struct cut *items;
    uint32_t count, room;
};

static void cuts_load(struct orr_plot *plot, const struct orr_plot_lanes *lanes, struct cuts *cuts)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__instances);
    while (orr_results_step(&plot->in, row)) {
        struct cut cut = {.node = orr_plot__lanes_node(lanes, sqlite3_column_int64(row, 0)),
                          .profile = orr_results_text(&plot->in, row, 1),
                          .count = (uint32_t)sqlite3_column_int64(row, 2),
                          .gpus = (uint32_t)sqlite3_column_int64(row, 3)};
        if (cut.node == ORR_NONE) {
            continue;
        }
        const struct cut *last = cuts->count > 0 ? &cuts->items[cuts->count - 1] : NULL;
        cut.first = last != NULL && last->node == cut.node ? last->first + last->count * last->gpus
                                                           : lanes->nodes[cut.node].devices;
        cut.until = orr_zalloc((size_t)cut.count + 1, sizeof *cut.until);
        cuts->items = ORR_ROOM_FOR_ONE(cuts->items, cuts->count, cuts->room);
        cuts->items[cuts->count++] = cut;
    }
}

static void cuts_close(struct cuts *cuts)
{
    for (uint32_t c = 0; c < cuts->count; c++) {
        orr_free(cuts->items[c].until);
    }
    orr_free(cuts->items);
}

static struct cut *cut_find(const struct cuts *cuts, uint32_t node, const char *profile)
{
    for (uint32_t c = 0; c < cuts->count && profile != NULL; c++) {
        if (cuts->items[c].node == node && strcmp(cuts->items[c].profile, profile) == 0) {
            return &cuts->items[c];
        }
    }
    return NULL;
}

static const char *profiles_of(struct orr_plot *plot)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__profiles);
    const char *profiles = NULL;
    while (orr_results_step(&plot->in, row)) {
        if (sqlite3_column_type(row, 0) != SQLITE_NULL) {
            profiles = orr_results_text(&plot->in, row, 0);
        }
    }
    return profiles;
}

static void held_add(struct orr_plot_lanes *lanes, const struct orr_plot_held *held)
{
    lanes->held = ORR_ROOM_FOR_ONE(lanes->held, lanes->held_count, lanes->held_room);
    lanes->held[lanes->held_count++] = *held;
}

/* One entry an instance: the first ones that are free, as placements come by start. */
static void instances_add(struct orr_plot_lanes *lanes, struct cut *cut, uint32_t count,
                          struct orr_plot_held held)
{
    held.instance = true;
    held.mgpu = cut == NULL ? 0 : (int64_t)cut->gpus * ORR_MGPU;
    for (uint32_t i = 0; cut != NULL && i < cut->count && count > 0; i++) {
        if (cut->until[i] <= held.start) {
            cut->until[i] = held.end;
            held.cell = cut->first + i * cut->gpus;
            held_add(lanes, &held);
            held.cpu_milli = 0; /* the first has that of all */
            count--;
        }
    }
}

static void nodes_load(struct orr_plot *plot, struct orr_plot_lanes *lanes, bool devices_only)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__nodes);
    while (orr_results_step(&plot->in, row)) {
        const int64_t devices = sqlite3_column_int64(row, 3);
        const int64_t gpus = devices_only ? devices : sqlite3_column_int64(row, 2);
        if (gpus > 0) {
            lanes->nodes = ORR_ROOM_FOR_ONE(lanes->nodes, lanes->node_count, lanes->node_room);
            lanes->nodes[lanes->node_count++] = (struct orr_plot_node){
                .id = sqlite3_column_int64(row, 0),
                .name = orr_results_text(&plot->in, row, 1),
                .gpus = gpus < MOST_CELLS ? (uint32_t)gpus : MOST_CELLS,
                .devices = devices < MOST_CELLS ? (uint32_t)devices : MOST_CELLS,
                .foreign = (uint32_t)sqlite3_column_int64(row, 4),
            };
        }
    }
}

/* Nodes of one row of the query that hide as many devices each. */
static void held_take(struct orr_plot_lanes *lanes, const struct cuts *cuts, sqlite3_stmt *row,
                      bool devices_only, struct orr_plot_held held)
{
    const uint32_t instances = (uint32_t)sqlite3_column_int64(row, 9);
    const char *profile = (const char *)sqlite3_column_text(row, 10);
    const uint32_t foreign = lanes->nodes[held.node].foreign;
    held.devices = foreign < 64 ? held.devices >> foreign : 0;
    if (instances == 0) {
        held_add(lanes, &held);
    } else if (devices_only) {
        held.mgpu = 0;
        held_add(lanes, &held);
    } else {
        for (uint32_t n = 0; n < held.nodes; n++) {
            const struct orr_plot_held one = orr_plot__held_on(&held, n);
            instances_add(lanes, cut_find(cuts, one.node, profile), instances, one);
        }
    }
}

static void held_load(struct orr_plot *plot, struct orr_plot_lanes *lanes, const struct cuts *cuts,
                      bool devices_only)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__lanes);
    while (orr_results_step(&plot->in, row)) {
        const int64_t first = sqlite3_column_int64(row, 0);
        const uint32_t end = node_from(lanes, first + sqlite3_column_int64(row, 11));
        struct orr_plot_held held = {
            .node = node_from(lanes, first),
            .start = sqlite3_column_int64(row, 1),
            .end = sqlite3_column_int64(row, 2),
            .mgpu = sqlite3_column_int64(row, 3),
            .rank = orr_plot__rank(plot, sqlite3_column_int64(row, 5)),
            .cut = sqlite3_column_int(row, 6) != 0,
            .job = sqlite3_column_int64(row, 7),
            .cpu_milli = sqlite3_column_int64(row, 8),
        };
        if (held.rank == ORR_NONE || held.mgpu <= 0 || held.end <= held.start) {
            continue;
        }
        for (; held.node < end; held.node += held.nodes) {
            const struct orr_plot_node *node = &lanes->nodes[held.node];
            held.nodes = 1;
            while (held.node + held.nodes < end && node[held.nodes].foreign == node->foreign) {
                held.nodes++;
            }
            held.devices = (uint64_t)sqlite3_column_int64(row, 4);
            held_take(lanes, cuts, row, devices_only, held);
        }
    }
}

static struct orr_plot_lanes *lanes_load(struct orr_plot *plot, const char *profiles,
                                         bool devices_only)
{
    struct orr_plot_lanes *lanes = orr_zalloc(1, sizeof *lanes);
    struct cuts cuts = {0};
    lanes->profiles = profiles;
    nodes_load(plot, lanes, devices_only);
    gaps_load(plot, lanes);
    cuts_load(plot, lanes, &cuts);
    held_load(plot, lanes, &cuts, devices_only);
    cuts_close(&cuts);
    return lanes;
}

const struct orr_plot_lanes *orr_plot__lanes(struct orr_plot *plot, bool devices_only)
{
    const char *profiles = profiles_of(plot);
    devices_only = devices_only && profiles != NULL;
    struct orr_plot_lanes **kept = devices_only ? &plot->device_lanes : &plot->lanes;
    *kept = *kept == NULL ? lanes_load(plot, profiles, devices_only) : *kept;
    return *kept;
}

struct orr_plot_gap orr_plot__lanes_gap(const struct orr_plot_lanes *lanes, uint32_t gap,
                                        orr_ms *until)
{
    struct orr_plot_gap one = lanes->gaps[gap];
    orr_ms *end = &until[one.node];
    one.from = one.from > *end ? one.from : *end;
    one.to = one.to > one.from ? one.to : one.from;
    *end = one.to;
    return one;
}

static void lanes_free(struct orr_plot_lanes **lanes)
{
    if (*lanes != NULL) {
        orr_free((*lanes)->nodes);
        orr_free((*lanes)->held);
        orr_free((*lanes)->gaps);
        orr_free(*lanes);
        *lanes = NULL;
    }
}

void orr_plot__lanes_close(struct orr_plot *plot)
{
    lanes_free(&plot->lanes);
    lanes_free(&plot->device_lanes);
}
