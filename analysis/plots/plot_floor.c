/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_floor.c - floor: who holds what at one time, nodes rack by rack.
 *
 * A node is a strip, a GPU a cell of it; behind its devices are its MIG instances, as many cells
 * each as their g. Cells a job holds next to each other are one box; a share
 * of a GPU fills as much of the cell's height. Boxes of jobs on more than one node have a black
 * frame.
 */
#include "plot_int.h"
#include "plots_sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>

#define MOST_GPUS 64 /* of a node that are drawn */

struct place {        /* of a node */
    double x, y;      /* of its first cell's upper left corner; y goes down */
    uint32_t domain;  /* rack, or ORR_NONE */
    const char *rack; /* its name, or number */
};

struct plan {
    const struct orr_plot_lanes *lanes;
    struct orr_plot_held *held; /* then, a node each */
    uint32_t held_count, held_room;
    struct orr_plot_slots slots;
    struct place *places;
    uint32_t *order; /* of nodes: by rack */
    uint32_t racks;
    bool names;    /* of nodes */
    bool *gone;    /* per node: down then, or no part of the cluster */
    uint32_t lost; /* GPUs of these */
    double name_width, width, height;
    orr_ms at;
};

static void racks_load(struct orr_plot *plot, struct plan *plan)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__domains);
    for (uint32_t i = 0; orr_results_step(&plot->in, row); i++) {
        if (i < plan->lanes->node_count && sqlite3_column_type(row, 1) != SQLITE_NULL) {
            plan->places[i].domain = (uint32_t)sqlite3_column_int64(row, 1);
            plan->places[i].rack = orr_results_text(&plot->in, row, 2);
        }
    }
}

#define FLOOR_SHAPE  1.75 /* width to height of what is drawn */
#define NARROW_SHAPE 1.1  /* the same above a legend */

static uint32_t columns_for(double shape, double items, double width, double height)
{
    double columns = floor(sqrt(items * shape * height / width) + 0.5);
    return columns > 1 ? (uint32_t)columns : 1;
}

/* Racks side by side, their nodes below each other; without racks a column is any part of the
 * nodes. */
static void plan_lay(const struct orr_plot *plot, struct plan *plan)
{
    const bool narrow = orr_plot__narrow(plot);
    const double shape = narrow ? NARROW_SHAPE : FLOOR_SHAPE;
    const struct orr_plot_lanes *lanes = plan->lanes;
    const uint32_t count = lanes->node_count;
    uint32_t widest = 1, tallest = 0, gpus = 1;
    int64_t *keys = orr_alloc((size_t)count + 1, sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = plan->places[i].domain;
        gpus = lanes->nodes[i].gpus > gpus ? lanes->nodes[i].gpus : gpus;
    }
    widest = gpus < MOST_GPUS ? gpus : MOST_GPUS;
    plan->order = orr_sort_index_by_i64(keys, count);
    uint32_t run = 0;
    for (uint32_t k = 0; k < count; k++) {
        bool first = k == 0 || keys[plan->order[k]] != keys[plan->order[k - 1]];
        plan->racks += first ? 1 : 0;
        run = first ? 1 : run + 1;
        tallest = run > tallest ? run : tallest;
    }
    const bool racks = plan->racks > 1;
    plan->names = count <= (narrow ? 64 : 120);
    plan->name_width = plan->names ? widest * 0.55 + 1 : 0;
    const double wide = widest + plan->name_width + 1.2, rack_high = tallest * 1.25 + 2;
    const uint32_t columns = racks ? columns_for(shape, plan->racks, wide, rack_high)
                                   : columns_for(shape, count, wide, 1.25);
    const uint32_t rows = racks ? tallest : (count + columns - 1) / columns;
    uint32_t rack = 0, in_rack = 0;
    for (uint32_t k = 0; k < count; k++) {
        bool next = k > 0 && keys[plan->order[k]] != keys[plan->order[k - 1]];
        rack += racks ? next : 0;
        in_rack = racks && next ? 0 : in_rack;
        uint32_t column = racks ? rack % columns : k / rows;
        double top = racks ? (rack / columns) * rack_high + 1.2 : 0;
        struct place *place = &plan->places[plan->order[k]];
        place->x = column * wide + plan->name_width;
        place->y = top + (racks ? in_rack++ : k % rows) * 1.25;
        plan->width = fmax(plan->width, place->x + widest);
        plan->height = fmax(plan->height, place->y + 1);
    }
    orr_free(keys);
}

static void held_load(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->lanes->held_count; i++) {
        const struct orr_plot_held *held = &plan->lanes->held[i];
        const bool then = held->start <= plan->at && held->end > plan->at;
        for (uint32_t n = 0; then && n < held->nodes; n++) {
            plan->held = ORR_ROOM_FOR_ONE(plan->held, plan->held_count, plan->held_room);
            plan->held[plan->held_count++] = orr_plot__held_on(held, n);
        }
    }
}

/* Cells of its node that the placement may have: devices, or those of a MIG instance. */
static uint32_t cells_of(const struct plan *plan, const struct orr_plot_held *held)
{
    const struct orr_plot_node *node = &plan->lanes->nodes[held->node];
    const uint32_t cells = held->instance ? node->gpus : node->devices;
    return cells < MOST_GPUS ? cells : MOST_GPUS;
}

/* Devices of nodes that do not count them fill from the left. */
static uint64_t devices_of(const struct orr_plot_held *held, const double *used, uint32_t gpus)
{
    uint64_t devices = held->devices;
    if (held->instance) {
        for (uint32_t d = held->cell; d < gpus && d - held->cell < held->mgpu / ORR_MGPU; d++) {
            devices |= (uint64_t)1 << d;
        }
        return devices;
    }
    int64_t left = devices == 0 ? held->mgpu : 0;
    for (uint32_t d = 0; d < gpus && left > 0; d++) {
        double room = 1 - used[d];
        if (room * ORR_MGPU + 0.5 >= (double)(left < ORR_MGPU ? left : ORR_MGPU)) {
            devices |= (uint64_t)1 << d;
            left -= ORR_MGPU;
        }
    }
    return devices;
}

static void box_write(FILE *out, const struct place *place, uint32_t first, uint32_t last,
                      double low, double high)
{
    (void)fprintf(out, "%.3f %.3f %.4f %.4f\n", place->x + first + 0.04, place->x + last - 0.04,
                  place->y + 1 - high, place->y + 1 - low);
}

/* Boxes of one placement; whole neighbours of a job are one. */
static void boxes_write(const struct plan *plan, const struct orr_plot_held *held, double *used,
                        FILE *fill, FILE *frame)
{
    uint32_t gpus = cells_of(plan, held);
    uint64_t devices = devices_of(held, used, gpus), bits = devices;
    uint32_t count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    double each = count > 0 ? (double)held->mgpu / ORR_MGPU / count : 0;
    each = each < 1 ? each : 1;
    for (uint32_t d = 0; d < gpus; d++) {
        if ((devices >> d & 1) == 0) {
            continue;
        }
        uint32_t last = d + 1;
        while (each > 0.999 && last < gpus && (devices >> last & 1) != 0) {
            used[last++] = 1;
        }
        double low = each > 0.999 || used[d] + each > 1 ? 1 - each : used[d];
        box_write(fill, &plan->places[held->node], d, last, low, low + each);
        if (frame != NULL) {
            box_write(frame, &plan->places[held->node], d, last, low, low + each);
        }
        used[d] = low + each;
        d = last - 1;
    }
}

struct seat {
    int64_t job;
    uint32_t node;
};

static int by_job(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    return (x->job > y->job) - (x->job < y->job);
}

static int by_seat(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    const int order = by_job(a, b);
    return order != 0 ? order : (x->node > y->node) - (x->node < y->node);
}

/* Jobs that hold something on more than one node then: ascending, one entry a node too many. */
static struct seat *spread_jobs(const struct plan *plan, uint32_t *count)
{
    struct seat *jobs = orr_alloc((size_t)plan->held_count + 1, sizeof *jobs);
    uint32_t all = 0;
    *count = 0;
    for (; all < plan->held_count; all++) {
        jobs[all] = (struct seat){plan->held[all].job, plan->held[all].node};
    }
    qsort(jobs, all, sizeof *jobs, by_seat);
    struct seat before = {.job = -1};
    for (uint32_t i = 0; i < all; i++) {
        const struct seat now = jobs[i];
        if (now.job == before.job && now.node != before.node) {
            jobs[(*count)++] = now;
        }
        before = now;
    }
    return jobs;
}

/* Texts of boxes by slot; the last is of frames. */
static void boxes_texts(const struct plan *plan, FILE **files, uint32_t frames)
{
    const struct orr_plot_lanes *lanes = plan->lanes;
    double *used = orr_zalloc((size_t)lanes->node_count * MOST_GPUS + 1, sizeof *used);
    uint32_t spread = 0;
    struct seat *jobs = spread_jobs(plan, &spread);
    for (uint32_t i = 0; i < plan->held_count; i++) {
        const struct orr_plot_held *held = &plan->held[i];
        const struct seat seat = {.job = held->job};
        bool gang = bsearch(&seat, jobs, spread, sizeof *jobs, by_job) != NULL;
        boxes_write(plan, held, used + (size_t)held->node * MOST_GPUS,
                    files[orr_plot__slot(plan->slots, held->rank)], gang ? files[frames] : NULL);
    }
    orr_free(jobs);
    orr_free(used);
}

static void gone_load(struct plan *plan)
{
    const struct orr_plot_lanes *lanes = plan->lanes;
    plan->gone = orr_zalloc((size_t)lanes->node_count + 1, sizeof *plan->gone);
    for (uint32_t i = 0; i < lanes->gap_count; i++) {
        const struct orr_plot_gap *gap = &lanes->gaps[i];
        const bool now = gap->from <= plan->at && gap->to > plan->at;
        plan->lost += now && !plan->gone[gap->node] ? lanes->nodes[gap->node].gpus : 0;
        plan->gone[gap->node] = plan->gone[gap->node] || now;
    }
}

static void node_row(struct orr_plot *plot, const struct plan *plan, uint32_t node)
{
    const struct place *place = &plan->places[node];
    const uint32_t gpus = plan->lanes->nodes[node].gpus;
    orr_plot__row(plot, "%.3f %.3f %.3f %.3f\n", place->x,
                  place->x + (gpus < MOST_GPUS ? gpus : MOST_GPUS), place->y, place->y + 1);
}

/* Free instances have another grey than free devices. */
static void cuts_plot(struct orr_plot *plot, const struct plan *plan, const char *boxes)
{
    if (plan->lanes->profiles == NULL) {
        return;
    }
    const uint32_t block = orr_plot__block(plot, "MIG instances of nodes: as above");
    for (uint32_t i = 0; i < plan->lanes->node_count; i++) {
        const struct orr_plot_node *node = &plan->lanes->nodes[i];
        const struct place *place = &plan->places[i];
        if (node->gpus > node->devices && node->devices < MOST_GPUS) {
            orr_plot__row(plot, "%.3f %.3f %.3f %.3f\n", place->x + node->devices,
                          place->x + (node->gpus < MOST_GPUS ? node->gpus : MOST_GPUS), place->y,
                          place->y + 1);
        }
    }
    orr_plot__gp(plot, ", \\\n  ");
    orr_plot__data(plot, block);
    orr_plot__gp(plot, "%s fc rgb '#dfe5ee' fs solid 1.0 border lc rgb '#bcbcb8' title 'free, MIG'",
                 boxes);
}

/* Over the free ones. */
static void gone_plot(struct orr_plot *plot, const struct plan *plan, const char *boxes)
{
    if (plan->lost == 0) {
        return;
    }
    const uint32_t block = orr_plot__block(plot, "nodes that are down or away: as above");
    for (uint32_t i = 0; i < plan->lanes->node_count; i++) {
        if (plan->gone[i]) {
            node_row(plot, plan, i);
        }
    }
    orr_plot__gp(plot, ", \\\n  ");
    orr_plot__data(plot, block);
    orr_plot__gp(plot,
                 "%s fc rgb '#ffffff' fs solid 1.0 border lc rgb '#bcbcb8' title 'down or away'",
                 boxes);
}

static void nodes_rows(struct orr_plot *plot, const struct plan *plan)
{
    (void)orr_plot__block(plot, "nodes: left, right, top, bottom in cells");
    for (uint32_t i = 0; i < plan->lanes->node_count; i++) {
        const struct place *place = &plan->places[i];
        node_row(plot, plan, i);
        if (plan->names) {
            orr_plot__gp(plot, "set label ");
            orr_plot__quote(plot, plan->lanes->nodes[i].name, 9, false);
            orr_plot__gp(plot, " at %.3f,%.3f right font ',%g' textcolor rgb '#404040'\n",
                         place->x - 0.3, place->y + 0.5, plot->small);
        }
    }
    for (uint32_t k = 0; plan->racks > 1 && k < plan->lanes->node_count; k++) {
        const struct place *place = &plan->places[plan->order[k]];
        if (k > 0 && plan->places[plan->order[k - 1]].domain == place->domain) {
            continue;
        }
        char rack[80] = "no rack";
        if (place->domain != ORR_NONE) {
            (void)snprintf(rack, sizeof rack, "rack %.70s", place->rack);
        }
        orr_plot__gp(plot, "set label ");
        orr_plot__quote(plot, rack, 40, false);
        orr_plot__gp(plot, " at %.3f,%.3f left font ',%g'%s\n", place->x, place->y - 0.7,
                     plot->small, orr_plot__ink(plot));
    }
}

static void floor_plot(struct orr_plot *plot, const struct plan *plan, char **texts,
                       const size_t *bytes, uint32_t frames)
{
    static const char boxes[] = "using 1:3:1:2:3:4 with boxxyerror";
    nodes_rows(plot, plan);
    orr_plot__gp(plot, "plot ");
    orr_plot__data(plot, 0);
    orr_plot__gp(plot, "%s fc rgb '#ecece8' fs solid 1.0 border lc rgb '#bcbcb8' title 'free'",
                 boxes);
    cuts_plot(plot, plan, boxes);
    gone_plot(plot, plan, boxes);
    for (uint32_t s = 0; s <= frames; s++) {
        if (bytes[s] == 0) {
            continue;
        }
        uint32_t block = orr_plot__block(plot, s == frames ? "frames of jobs on several nodes"
                                                           : "boxes: left, right, top, bottom");
        (void)fwrite(texts[s], 1, bytes[s], plot->dat);
        orr_plot__gp(plot, ", \\\n  ");
        orr_plot__data(plot, block);
        if (s == frames) {
            orr_plot__gp(plot, "%s lc rgb '#000000' lw %s fs empty border title 'on several nodes'",
                         boxes, plan->lanes->node_count > 300 ? "0.6" : "1.2");
            continue;
        }
        orr_plot__gp(plot, "%s fc rgb '%s' fs solid 1.0 noborder title ", boxes,
                     orr_plot__colour(s, plan->slots.shown));
        orr_plot__slot_name(plot, plan->slots, s, NULL);
    }
    orr_plot__gp(plot, "\n");
}

/* For terminals of characters: a letter a GPU. */
static void floor_text(struct orr_plot *plot, const struct plan *plan)
{
    enum { LETTERS = ORR_PLOT_LETTERS, LINES = 60 };
    const int width = orr_text_columns(100);
    const struct orr_plot_lanes *lanes = plan->lanes;
    char *cells = orr_alloc((size_t)lanes->node_count * MOST_GPUS + 1, 1);
    double *used = orr_zalloc((size_t)lanes->node_count * MOST_GPUS + 1, sizeof *used);
    for (uint32_t i = 0; i < lanes->node_count; i++) {
        for (uint32_t d = 0; d < MOST_GPUS; d++) {
            cells[(size_t)i * MOST_GPUS + d] = plan->gone[i]                  ? '-'
                                               : d >= lanes->nodes[i].devices ? ':'
                                                                              : '.';
        }
    }
    for (uint32_t i = 0; i < plan->held_count; i++) {
        const struct orr_plot_held *held = &plan->held[i];
        size_t at = (size_t)held->node * MOST_GPUS;
        uint64_t devices = devices_of(held, used + at, cells_of(plan, held));
        for (uint32_t d = 0; d < MOST_GPUS; d++) {
            if ((devices >> d & 1) != 0) {
                used[at + d] = 1;
                cells[at + d] = held->rank < LETTERS - 1 ? (char)('A' + held->rank) : '+';
            }
        }
    }
    (void)orr_plot__block(plot, "line, nodes");
    uint32_t line = 0;
    for (uint32_t k = 0, used_columns = 0; k < lanes->node_count && line < LINES; k++) {
        uint32_t node = plan->order[k];
        uint32_t gpus = lanes->nodes[node].gpus < MOST_GPUS ? lanes->nodes[node].gpus : MOST_GPUS;
        if (used_columns == 0) {
            orr_plot__row(plot, "%u \"", line);
        }
        orr_plot__row(plot, "%.*s  ", (int)gpus, cells + (size_t)node * MOST_GPUS);
        used_columns += gpus + 2;
        if (used_columns + gpus + 2 > (uint32_t)width - 8 || k + 1 == lanes->node_count) {
            orr_plot__row(plot, "\"\n");
            used_columns = 0;
            line++;
        }
    }
    orr_free(used);
    orr_free(cells);
    orr_plot__text_rows(plot, line, 1, 2);
    orr_plot__gp(plot, "unset tics\nunset border\nunset key\nset lmargin 3\nset rmargin 1\n"
                       "set xrange [0:1]\n");
    orr_plot__letters(plot, plan->slots);
    orr_plot__gp(plot, "plot ");
    orr_plot__data(plot, 0);
    orr_plot__gp(plot, "using (0):1:2 with labels left\n");
}

static void floor_picture(struct orr_plot *plot, const struct plan *plan)
{
    FILE *files[ORR_PLOT_COLOURS + 2] = {NULL};
    char *texts[ORR_PLOT_COLOURS + 2] = {NULL};
    size_t bytes[ORR_PLOT_COLOURS + 2] = {0};
    const uint32_t frames = ORR_PLOT_COLOURS + 1;
    for (uint32_t s = 0; s <= frames; s++) {
        files[s] = open_memstream(&texts[s], &bytes[s]);
        ORR_ASSERT(files[s] != NULL);
    }
    boxes_texts(plan, files, frames);
    for (uint32_t s = 0; s <= frames; s++) {
        ORR_ASSERT(fclose(files[s]) == 0);
    }
    orr_plot__gp(plot, "unset tics\nunset border\nunset grid\nset lmargin at screen 0.02\n"
                       "set bmargin at screen 0.03\n");
    orr_plot__legend(
        plot, "queue",
        plan->slots.count + 2 + (plan->lost > 0 ? 1 : 0) + (plan->lanes->profiles != NULL ? 1 : 0),
        orr_plot__slots_letters(plot, plan->slots) > 15 ? orr_plot__slots_letters(plot, plan->slots)
                                                        : 15,
        false);
    if (orr_plot__narrow(plot)) { /* there is no axis between it and its legend */
        orr_plot__gp(plot, "set bmargin at screen %.4f\n", plot->legend_top + plot->line);
    }
    orr_plot__gp(plot, "set xrange [-0.5:%.3f]\nset yrange [%.3f:-0.8]\n", plan->width + 0.5,
                 plan->height + 0.5);
    floor_plot(plot, plan, texts, bytes, frames);
    for (uint32_t s = 0; s <= frames; s++) {
        free(texts[s]);
    }
}

/* What the title says beside who held how much. */
static void floor_notes(const struct plan *plan, bool dumb, char *text, size_t room)
{
    uint32_t beyond = 0;
    int used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < plan->held_count; i++) {
        beyond += plan->held[i].instance && plan->held[i].cell >= MOST_GPUS;
    }
    if (plan->lost > 0) {
        used += snprintf(text, room, "%u GPU%s down or away%s", plan->lost, ORR_PLURAL(plan->lost),
                         dumb ? " (-)" : "");
    }
    if (plan->lanes->profiles != NULL) {
        used +=
            snprintf(text + used, room - (size_t)used, "%sMIG instances%s behind devices: %.120s",
                     used > 0 ? "; " : "", dumb ? " (:)" : "", plan->lanes->profiles);
    }
    if (beyond > 0) {
        (void)snprintf(text + used, room - (size_t)used,
                       "%s%u held MIG instance%s behind 64 GPUs of a node %s not drawn",
                       used > 0 ? "; " : "", beyond, ORR_PLURAL(beyond),
                       ORR_ONE(beyond, "is", "are"));
    }
}

void orr_plot__floor(struct orr_plot *plot)
{
    const struct orr_plot_lanes *lanes = orr_plot__lanes(plot, false);
    struct plan plan = {.lanes = lanes, .slots = orr_plot__slots(plot, 10)};
    plan.places = orr_alloc((size_t)lanes->node_count + 1, sizeof *plan.places);
    for (uint32_t i = 0; i < lanes->node_count; i++) {
        plan.places[i] = (struct place){.domain = ORR_NONE};
    }
    plan.at =
        plot->options->from_ms != ORR_MS_NONE ? plot->options->from_ms : orr_plot__busiest(plot);
    racks_load(plot, &plan);
    plan_lay(plot, &plan);
    gone_load(&plan);
    held_load(&plan);
    double held = 0;
    for (uint32_t i = 0; i < plan.held_count; i++) {
        held += (double)plan.held[i].mgpu / ORR_MGPU;
    }
    char what[120], clock[60], extra[320];
    (void)orr_format_clock(clock, plan.at, plot->run.origin);
    (void)snprintf(what, sizeof what, "Who held which GPUs at %s: %g of %g", clock, held,
                   plot->run.capacity_gpus);
    orr_plot__start(plot, (struct orr_plot_size){1000, 560, 100, 30, true});
    floor_notes(&plan, plot->term == ORR_PLOT_DUMB, extra, sizeof extra);
    orr_plot__title(plot, what, extra[0] != '\0' ? extra : NULL);
    if (lanes->node_count == 0) {
        orr_plot__nothing(plot, "there are no GPUs");
    } else if (plot->term == ORR_PLOT_DUMB) {
        floor_text(plot, &plan);
    } else {
        floor_picture(plot, &plan);
    }
    orr_free(plan.gone);
    orr_free(plan.places);
    orr_free(plan.order);
    orr_free(plan.held);
}
