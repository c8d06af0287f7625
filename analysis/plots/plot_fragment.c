/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_fragment.c - fragmentation: free GPUs that the pods of this trace could not use.
 *
 * FGD's measure (Weng et al., USENIX ATC'23): above the sums that the run itself recorded (table
 * room), below the same node by node, worked out from placements. A typical pod is one of
 * v_typical. On a node where it cannot run (devices, CPU, GPU model, shard) all that is free is
 * unusable to it; where it can, devices with less free than it needs of one. A node's value is the
 * mean over typical pods; it changes only when something on the node starts or ends, so the
 * integrals are exact. It is of devices: MIG instances, and pods that ask them, are left out but
 * for the CPU that these hold. Selectors, and the memory of devices, are not in the results: there
 * the sums below are less.
 */
#include "plot_int.h"
#include "plots_sql.h"

#include <string.h>

#include <orrery/base/sort.h>

#define MOST_TASKS   256
#define MOST_GPUS    64
#define MOST_BUCKETS 400

enum { UNUSABLE, USABLE };

struct task { /* a kind of pod */
    uint32_t gpus;
    int64_t each_mgpu, cpu_milli;
    int64_t shard;
    const char *model; /* NULL: any */
    double share;
};

struct state { /* of a node */
    int64_t used[MOST_GPUS];
    int64_t loose;     /* held, but not on devices that are known */
    int64_t cpu_milli; /* free */
    orr_ms since;
    double unusable; /* milli-GPU, from `since` on */
};

struct fragments {
    const struct orr_plot_lanes *lanes;
    struct orr_plot_held *more; /* what closes nodes, and what holds CPU alone */
    uint32_t more_count, more_room;
    struct task tasks[MOST_TASKS];
    uint32_t task_count;
    struct state *states;
    bool *refused; /* of node n by task t at [n * task_count + t] */
    struct orr_plot_heat heat;
    struct orr_plot_layers layers;
};

static void tasks_load(struct orr_plot *plot, struct fragments *all)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__typical_asks);
    while (orr_results_step(&plot->in, row) && all->task_count < MOST_TASKS) {
        all->tasks[all->task_count++] =
            (struct task){.gpus = (uint32_t)sqlite3_column_int64(row, 0),
                          .each_mgpu = sqlite3_column_int64(row, 1),
                          .cpu_milli = sqlite3_column_int64(row, 2),
                          .shard = sqlite3_column_int64(row, 3),
                          .model = orr_results_text(&plot->in, row, 4),
                          .share = sqlite3_column_double(row, 5)};
    }
}

/* What nodes have beside GPUs, and which pods they are not for. */
static void nodes_load(struct orr_plot *plot, struct fragments *all)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__node_rooms);
    all->refused =
        orr_zalloc((size_t)all->lanes->node_count * all->task_count + 1, sizeof *all->refused);
    while (orr_results_step(&plot->in, row)) {
        uint32_t node = orr_plot__lanes_node(all->lanes, sqlite3_column_int64(row, 0));
        if (node == ORR_NONE) {
            continue;
        }
        const char *model = (const char *)sqlite3_column_text(row, 3);
        all->states[node].cpu_milli = sqlite3_column_int64(row, 1);
        for (uint32_t i = 0; i < all->task_count; i++) {
            const struct task *task = &all->tasks[i];
            all->refused[(size_t)node * all->task_count + i] =
                task->shard != sqlite3_column_int64(row, 2) ||
                (task->model != NULL && task->model[0] != '\0' && strcmp(task->model, model) != 0);
        }
    }
}

static void hold(struct fragments *all, struct orr_plot_held held)
{
    held.nodes = 1;
    all->more = ORR_ROOM_FOR_ONE(all->more, all->more_count, all->more_room);
    all->more[all->more_count++] = held;
}

static const struct orr_plot_held *held_at(const struct fragments *all, uint32_t index)
{
    const uint32_t count = all->lanes->held_count;
    return index < count ? &all->lanes->held[index] : &all->more[index - count];
}

/* Pods without GPUs hold CPU too. */
static void cpu_load(struct orr_plot *plot, struct fragments *all)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__cpu_held);
    while (orr_results_step(&plot->in, row)) {
        uint32_t node = orr_plot__lanes_node(all->lanes, sqlite3_column_int64(row, 0));
        if (node != ORR_NONE) {
            hold(all, (struct orr_plot_held){.node = node,
                                             .start = sqlite3_column_int64(row, 1),
                                             .end = sqlite3_column_int64(row, 2),
                                             .cpu_milli = sqlite3_column_int64(row, 3)});
        }
    }
}

/* The sums over all nodes, as the run recorded them. */
static void room_load(struct orr_plot *plot, struct fragments *all)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__room_buckets);
    while (orr_results_step(&plot->in, row)) {
        orr_ms from = sqlite3_column_int64(row, 0), to = sqlite3_column_int64(row, 1);
        double idle = sqlite3_column_double(row, 2), unusable = sqlite3_column_double(row, 3);
        orr_plot__layers_spread(&all->layers, UNUSABLE, from, to, unusable);
        orr_plot__layers_spread(&all->layers, USABLE, from, to, idle - unusable);
    }
}

/* What fails, is cordoned, or is not there, is no place for pods: as if it were held. */
static void closures_load(struct orr_plot *plot, struct fragments *all)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__absences);
    while (orr_results_step(&plot->in, row)) {
        uint32_t node = orr_plot__lanes_node(all->lanes, sqlite3_column_int64(row, 0));
        if (node != ORR_NONE) {
            hold(all,
                 (struct orr_plot_held){.node = node,
                                        .start = sqlite3_column_int64(row, 1),
                                        .end = sqlite3_column_int64(row, 2),
                                        .mgpu = (int64_t)all->lanes->nodes[node].gpus * ORR_MGPU});
        }
    }
}

static uint32_t gpus_of(const struct orr_plot_lanes *lanes, uint32_t node)
{
    return lanes->nodes[node].gpus < MOST_GPUS ? lanes->nodes[node].gpus : MOST_GPUS;
}

/* Free milli-GPU of each device; returns their sum. */
static int64_t free_of(const struct state *state, uint32_t gpus, int64_t *room)
{
    int64_t sum = 0, loose = state->loose;
    for (uint32_t d = 0; d < gpus; d++) {
        room[d] = state->used[d] < ORR_MGPU ? ORR_MGPU - state->used[d] : 0;
        int64_t taken = loose < room[d] ? loose : room[d];
        room[d] -= taken;
        loose -= taken;
        sum += room[d];
    }
    return sum;
}

static void state_measure(const struct fragments *all, uint32_t node)
{
    struct state *state = &all->states[node];
    const bool *refused = &all->refused[(size_t)node * all->task_count];
    int64_t room[MOST_GPUS];
    uint32_t gpus = gpus_of(all->lanes, node);
    int64_t sum = free_of(state, gpus, room);
    state->unusable = 0;
    for (uint32_t i = 0; i < all->task_count && sum > 0; i++) {
        const struct task *task = &all->tasks[i];
        int64_t scraps = 0;
        uint32_t fit = 0;
        for (uint32_t d = 0; d < gpus; d++) {
            scraps += room[d] < task->each_mgpu ? room[d] : 0;
            fit += room[d] >= task->each_mgpu ? 1 : 0;
        }
        bool runs = task->gpus > 0 && fit >= task->gpus && task->cpu_milli <= state->cpu_milli &&
                    !refused[i];
        state->unusable += task->share * (double)(runs ? scraps : sum);
    }
}

/* Accounts for a node up to now. */
static void state_until(struct fragments *all, uint32_t node, orr_ms now)
{
    struct state *state = &all->states[node];
    orr_ms from = state->since > all->heat.from ? state->since : all->heat.from;
    orr_ms to = now < all->heat.to ? now : all->heat.to;
    if (from < to) {
        orr_plot__heat_add(&all->heat, node, 1, from, to, state->unusable);
    }
    state->since = now;
}

static void state_change(struct state *state, const struct orr_plot_held *held, bool start)
{
    uint64_t bits = held->devices;
    int64_t devices = 0, sign = start ? 1 : -1;
    for (uint64_t left = bits; left != 0; left &= left - 1) {
        devices++;
    }
    for (uint32_t d = 0; bits != 0; d++, bits >>= 1) {
        state->used[d] += (bits & 1) != 0 ? sign * (held->mgpu / devices) : 0;
    }
    state->loose += devices == 0 ? sign * held->mgpu : 0;
    state->cpu_milli -= sign * held->cpu_milli;
}

/* Ends before starts of the same instant. */
static void sweep(struct fragments *all)
{
    const struct orr_plot_lanes *lanes = all->lanes;
    const uint32_t count = lanes->held_count + all->more_count;
    int64_t *keys = orr_alloc(2 * (size_t)count + 1, sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        keys[2 * i] = 2 * held_at(all, i)->start + 1;
        keys[2 * i + 1] = 2 * held_at(all, i)->end;
    }
    uint32_t *order = orr_sort_index_by_i64(keys, 2 * count);
    for (uint32_t n = 0; n < lanes->node_count; n++) {
        all->states[n].since = all->heat.from;
        state_measure(all, n);
    }
    for (uint32_t i = 0; i < 2 * count; i++) {
        const struct orr_plot_held *held = held_at(all, order[i] / 2);
        bool start = order[i] % 2 == 0;
        for (uint32_t n = held->node; n < held->node + held->nodes; n++) {
            state_until(all, n, start ? held->start : held->end);
            state_change(&all->states[n], held, start);
            state_measure(all, n);
        }
    }
    for (uint32_t n = 0; n < lanes->node_count; n++) {
        state_until(all, n, all->heat.to);
    }
    orr_free(order);
    orr_free(keys);
}

/* "typical pods, by GPUs: 62 % of 1, ..." */
static void typical(const struct fragments *all, char *out, size_t room)
{
    size_t used = (size_t)snprintf(out, room, "typical pods, by GPUs:");
    for (uint32_t i = 0; i < all->task_count && i < 3 && used < room; i++) {
        int more =
            snprintf(out + used, room - used, "%s %.0f %% of %g", i > 0 ? "," : "",
                     100 * all->tasks[i].share,
                     (double)all->tasks[i].gpus * (double)all->tasks[i].each_mgpu / ORR_MGPU);
        used += more > 0 ? (size_t)more : 0;
    }
    if (all->task_count > 3 && used < room) {
        used += (size_t)snprintf(out + used, room - used, " ...");
    }
    if (all->lanes->profiles != NULL && used < room) {
        (void)snprintf(out + used, room - used, "; MIG instances are left out");
    }
}

static void fragments_panels(struct orr_plot *plot, struct fragments *all)
{
    orr_plot__layers_means(&all->layers, 1.0 / ORR_MGPU);
    double top = orr_plot__layers_top(&all->layers);
    orr_plot__panel_above(plot, 2, 14);
    const int tics = orr_plot__narrow(plot) ? 4 : 8; /* a scale is beside the axis */
    orr_plot__time_axis(plot, all->heat.from, all->heat.to, tics, false);
    orr_plot__window_marks(plot, all->heat.from, all->heat.to);
    if (orr_plot__narrow(plot)) {
        orr_plot__gp(plot,
                     "set key at screen 0.5,%.4f center top horizontal maxcols 2\n"
                     "set rmargin at screen 0.76\n",
                     plot->legend_top);
    } else {
        orr_plot__gp(plot,
                     "set key at screen 0.80,graph 1 left top invert title 'free GPUs' left\n");
    }
    orr_plot__gp(plot, "set ylabel 'free GPUs'\n");
    orr_plot__panel_y(plot, top, false);
    uint32_t stack = orr_plot__layers_rows(plot, &all->layers);
    orr_plot__gp(plot, "plot ");
    orr_plot__data(plot, stack);
    orr_plot__gp(plot, "using 1:2:3 with filledcurves fc rgb '#d94801' title 'unusable', \\\n  ");
    orr_plot__data(plot, stack);
    orr_plot__gp(plot, "using 1:3:4 with filledcurves fc rgb '#d4d4d0' title 'usable'");
    orr_plot__panel_below(plot);
    orr_plot__gp(plot, "unset arrow 90\nunset arrow 91\n");
    orr_plot__time_axis(plot, all->heat.from, all->heat.to, tics, true);
    orr_plot__heat_axis(plot, all->lanes, &all->heat, orr_plot__narrow(plot) ? 6 : 11);
    uint32_t block = orr_plot__heat_rows(plot, &all->heat);
    if (all->layers.totals[0] <= 0) { /* a scale would be made up */
        orr_plot__gp(plot,
                     "unset ytics\nset ylabel ''\n"
                     "set label 1 at graph 0.5,0.5 center 'each node had none'%s\n",
                     orr_plot__ink(plot));
    }
    orr_plot__heat_image(plot, block, orr_plot__heat_scale(&all->heat), "GPUs unusable",
                         "0 '#f7f7f2', 0.25 '#fdd0a2', 0.5 '#fd8d3c', 0.75 '#d94801', 1 '#7f2704'");
    orr_plot__panel_close(plot);
}

void orr_plot__fragmentation(struct orr_plot *plot)
{
    struct fragments all = {.lanes = orr_plot__lanes(plot, true)};
    bool dumb = plot->term == ORR_PLOT_DUMB;
    char extra[160];
    closures_load(plot, &all);
    cpu_load(plot, &all);
    tasks_load(plot, &all);
    orr_plot__heat_open(plot, all.lanes, &all.heat);
    orr_plot__layers_open(&all.layers, all.heat.from, all.heat.to, MOST_BUCKETS);
    (void)orr_plot__layer(&all.layers, "unusable");
    (void)orr_plot__layer(&all.layers, "usable");
    all.states = orr_zalloc((size_t)all.lanes->node_count + 1, sizeof *all.states);
    nodes_load(plot, &all);
    room_load(plot, &all);
    sweep(&all);
    orr_plot__heat_percent(&all.heat);
    typical(&all, extra, sizeof extra);
    orr_plot__start(plot, orr_plot__panels_size(plot, 600, false));
    orr_plot__means_over(plot, all.layers.bucket_ms, NULL);
    orr_plot__title(
        plot,
        dumb ? "Free GPUs that typical pods could not use ( .:-=+*#%@: 0 to 100 % of GPUs)"
             : "Free GPUs, and those that typical pods could not use",
        extra);
    if (all.heat.rows == 0 || all.task_count == 0) {
        orr_plot__nothing(plot, "no job asked for GPUs");
    } else if (dumb) {
        orr_plot__time_axis(plot, all.heat.from, all.heat.to, 8, true);
        orr_plot__heat_axis(plot, all.lanes, &all.heat, 21);
        orr_plot__heat_text(plot, &all.heat);
    } else {
        fragments_panels(plot, &all);
    }
    orr_free(all.states);
    orr_free(all.refused);
    orr_plot__heat_close(&all.heat);
    orr_plot__layers_close(&all.layers);
    orr_free(all.more);
}
