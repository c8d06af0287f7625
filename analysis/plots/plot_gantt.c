/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_gantt.c - gantt: who held which GPUs in a part of the run.
 *
 * A lane is a node, divided by its GPUs: its devices, then its MIG instances, each as high as its
 * g. Boxes take the lanes of their devices; where devices are not counted one by one, the lowest
 * lanes that are free. Without a window asked for, the widest one around the busiest moment is
 * drawn that needs no more than MOST_BOXES.
 */
#include "plot_int.h"

#include <stdlib.h>

#include <orrery/base/text.h>
#include <orrery/analysis/names.h>
#include <orrery/base/sort.h>

#define MOST_BOXES 2000
#define MOST_NODES 40
#define PAD        0.08      /* of a lane, above and below what it has */
#define CUT        "#dfe5ee" /* MIG instances that are free */

struct gantt {
    const struct orr_plot_lanes *lanes;
    struct orr_plot_held *held; /* on nodes that are drawn, a node each, by start */
    uint32_t held_count, held_room;
    uint32_t *row;   /* of a node, or ORR_NONE for one that is not drawn */
    uint32_t *nodes; /* of a row */
    uint32_t rows;
    orr_ms from, to;
    struct orr_plot_slots slots;
};

/* A part of a node's height, in milli-GPU, taken until `end`. */
struct taken {
    orr_ms end;
    int64_t low, high;
};

/* What one node's lanes hold while its boxes are placed in the order of their starts. */
struct stack {
    struct taken *taken;
    uint32_t count, room;
};

static void stack_push(struct stack *stack, orr_ms end, int64_t low, int64_t high)
{
    stack->taken = ORR_ROOM_FOR_ONE(stack->taken, stack->count, stack->room);
    stack->taken[stack->count++] = (struct taken){end, low, high};
}

static void stack_expire(struct stack *stack, orr_ms now)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < stack->count; i++) {
        if (stack->taken[i].end > now) {
            stack->taken[kept++] = stack->taken[i];
        }
    }
    stack->count = kept;
}

/* Lowest place for `mgpu` between `low` and `high`; -1: there is none. */
static int64_t stack_fit(const struct stack *stack, int64_t low, int64_t high, int64_t mgpu)
{
    int64_t at = low;
    for (bool moved = true; moved && at + mgpu <= high;) {
        moved = false;
        for (uint32_t i = 0; i < stack->count; i++) {
            const struct taken *taken = &stack->taken[i];
            if (taken->low < at + mgpu && taken->high > at) {
                at = taken->high;
                moved = true;
            }
        }
    }
    return at + mgpu <= high ? at : -1;
}

struct part {
    int64_t low, high;
};

/* Parts of the node's height for one placement; neighbours are joined. Returns how many. */
static uint32_t parts_of(struct stack *stack, const struct orr_plot_held *held, uint32_t all,
                         struct part *parts)
{
    if (held->instance) {
        const int64_t low = (int64_t)held->cell * ORR_MGPU;
        parts[0] = (struct part){low, low + held->mgpu};
        return 1;
    }
    uint32_t devices = (uint32_t)((held->mgpu + ORR_MGPU - 1) / ORR_MGPU);
    if (held->devices != 0) {
        devices = 0;
        for (uint64_t left = held->devices; left != 0; left &= left - 1) {
            devices++;
        }
    }
    int64_t each = held->mgpu / (int64_t)devices;
    each = each < ORR_MGPU ? each : ORR_MGPU;
    uint32_t count = 0, found = 0;
    stack_expire(stack, held->start);
    for (uint32_t d = 0; d < all && found < devices; d++) {
        int64_t low = (int64_t)d * ORR_MGPU;
        bool named = held->devices != 0;
        if (named && (d >= 64 || (held->devices >> d & 1) == 0)) {
            continue;
        }
        int64_t at = stack_fit(stack, low, low + ORR_MGPU, each);
        if (at < 0 && !named) {
            continue;
        }
        at = at < 0 ? low : at;
        found++;
        stack_push(stack, held->end, at, at + each);
        if (count > 0 && parts[count - 1].high == at) {
            parts[count - 1].high = at + each;
        } else if (count < 64) {
            parts[count++] = (struct part){at, at + each};
        }
    }
    return count;
}

static bool inside(const struct gantt *gantt, const struct orr_plot_held *held)
{
    return held->start < gantt->to && held->end > gantt->from && gantt->row[held->node] != ORR_NONE;
}

static uint32_t boxes_within(struct gantt *gantt, orr_ms from, orr_ms to)
{
    uint32_t count = 0;
    gantt->from = from;
    gantt->to = to;
    for (uint32_t i = 0; i < gantt->held_count; i++) {
        count += inside(gantt, &gantt->held[i]) ? 1 : 0;
    }
    return count;
}

/* The nodes that held most over the run, at most `most`, kept in their order. */
static void choose_nodes(struct gantt *gantt, uint32_t most)
{
    const struct orr_plot_lanes *lanes = gantt->lanes;
    int64_t *held = orr_zalloc((size_t)lanes->node_count + 1, sizeof *held);
    for (uint32_t i = 0; i < lanes->held_count; i++) { /* what begins and ends at a node */
        const struct orr_plot_held *one = &lanes->held[i];
        const int64_t each = one->mgpu * ((one->end - one->start) / 1000 + 1);
        held[one->node] -= each;
        held[one->node + one->nodes] += each;
    }
    for (uint32_t n = 1; n < lanes->node_count; n++) {
        held[n] += held[n - 1];
    }
    uint32_t *order = orr_sort_index_by_i64(held, lanes->node_count);
    for (uint32_t i = 0; i < lanes->node_count; i++) {
        gantt->row[order[i]] = i < most ? 0 : ORR_NONE;
    }
    for (uint32_t i = 0; i < lanes->node_count; i++) {
        if (gantt->row[i] != ORR_NONE) {
            gantt->nodes[gantt->rows] = i;
            gantt->row[i] = gantt->rows++;
        }
    }
    orr_free(order);
    orr_free(held);
}

static void keep_drawn(struct gantt *gantt)
{
    for (uint32_t i = 0; i < gantt->lanes->held_count; i++) {
        const struct orr_plot_held *held = &gantt->lanes->held[i];
        for (uint32_t r = 0; r < gantt->rows; r++) {
            const uint32_t nth = gantt->nodes[r] - held->node;
            if (nth < held->nodes) {
                gantt->held = ORR_ROOM_FOR_ONE(gantt->held, gantt->held_count, gantt->held_room);
                gantt->held[gantt->held_count++] = orr_plot__held_on(held, nth);
            }
        }
    }
}

static void choose_window(struct orr_plot *plot, struct gantt *gantt)
{
    static const orr_ms minutes[] = {14400 * 7, 14400 * 2, 14400, 7200 * 2, 4320, 1440,
                                     720,       360,       180,   60,       30,   10};
    const struct orr_plot_options *options = plot->options;
    orr_ms first = 0, last = 0;
    orr_plot__span(plot, &first, &last);
    if (options->from_ms != ORR_MS_NONE || options->to_ms != ORR_MS_NONE ||
        boxes_within(gantt, first, last) <= MOST_BOXES) {
        gantt->from = first;
        gantt->to = last;
        return;
    }
    orr_ms middle = orr_plot__busiest(plot);
    for (size_t i = 0; i < sizeof minutes / sizeof minutes[0]; i++) {
        orr_ms length = minutes[i] * 60000;
        orr_ms from = middle - length / 2;
        from = from + length < last ? from : last - length;
        from = from > first ? from : first;
        if (length < last - first && boxes_within(gantt, from, from + length) <= MOST_BOXES) {
            break;
        }
    }
}

/* Fewer nodes until the boxes of a window that was asked for fit. */
static void fit_rows(struct gantt *gantt)
{
    while (gantt->rows > 1 && boxes_within(gantt, gantt->from, gantt->to) > MOST_BOXES) {
        gantt->rows--;
        gantt->row[gantt->nodes[gantt->rows]] = ORR_NONE;
    }
}

static void box_rows(struct orr_plot *plot, const struct gantt *gantt, FILE **files)
{
    const struct orr_plot_lanes *lanes = gantt->lanes;
    struct stack *stacks = orr_zalloc(lanes->node_count, sizeof *stacks);
    for (uint32_t i = 0; i < gantt->held_count; i++) {
        const struct orr_plot_held *held = &gantt->held[i];
        if (!inside(gantt, held)) {
            continue;
        }
        const uint32_t gpus = lanes->nodes[held->node].gpus;
        struct part parts[64];
        uint32_t count =
            parts_of(&stacks[held->node], held, lanes->nodes[held->node].devices, parts);
        orr_ms from = held->start > gantt->from ? held->start : gantt->from;
        orr_ms to = held->end < gantt->to ? held->end : gantt->to;
        double pad = PAD, scale = (1 - 2 * pad) / (gpus * (double)ORR_MGPU);
        for (uint32_t k = 0; k < count; k++) {
            double row = gantt->row[held->node] - 0.5 + pad;
            (void)fprintf(files[orr_plot__slot(gantt->slots, held->rank)], "%.3f %.3f %.5f %.5f\n",
                          orr_plot__x(plot, from), orr_plot__x(plot, to),
                          row + (double)parts[k].low * scale, row + (double)parts[k].high * scale);
            if (held->cut && k == 0 && held->end < gantt->to) {
                double middle = (double)(parts[k].low + parts[k].high) / 2;
                (void)fprintf(files[ORR_PLOT_COLOURS + 1], "%.3f %.5f\n",
                              orr_plot__x(plot, held->end), row + middle * scale);
            }
        }
    }
    for (uint32_t i = 0; i < lanes->node_count; i++) {
        orr_free(stacks[i].taken);
    }
    orr_free(stacks);
}

static bool is_gap_within(const struct gantt *gantt, const struct orr_plot_gap *gap)
{
    return gantt->row[gap->node] != ORR_NONE && gap->from < gantt->to && gap->to > gantt->from;
}

static uint32_t gaps_within(const struct gantt *gantt)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < gantt->lanes->gap_count; i++) {
        count += is_gap_within(gantt, &gantt->lanes->gaps[i]);
    }
    return count;
}

/* The part of a node's lane that is its MIG instances. */
static void cuts_plot(struct orr_plot *plot, const struct gantt *gantt)
{
    for (uint32_t r = 0; r < gantt->rows; r++) {
        const struct orr_plot_node *node = &gantt->lanes->nodes[gantt->nodes[r]];
        if (node->gpus > node->devices) {
            const double top = r - 0.5 + PAD + (1 - 2 * PAD) * node->devices / node->gpus;
            orr_plot__gp(plot,
                         "set object %u rectangle from graph 0,first %.3f to graph 1,first %.3f "
                         "behind fc rgb '" CUT "' fs solid 1.0 noborder\n",
                         gantt->rows + r + 1, top, r + 0.42);
        }
    }
}

/* Parts of a node's lane in which it is down, or no part of the cluster, are not there. */
static void gaps_plot(struct orr_plot *plot, const struct gantt *gantt)
{
    uint32_t drawn = 2 * gantt->rows;
    for (uint32_t i = 0; i < gantt->lanes->gap_count; i++) {
        const struct orr_plot_gap *gap = &gantt->lanes->gaps[i];
        if (is_gap_within(gantt, gap)) {
            const double row = gantt->row[gap->node];
            orr_plot__gp(plot,
                         "set object %u rectangle from %.3f,%.3f to %.3f,%.3f behind fc rgb "
                         "'#ffffff' fs solid 1.0 noborder\n",
                         ++drawn,
                         orr_plot__x(plot, gap->from > gantt->from ? gap->from : gantt->from),
                         row - 0.42, orr_plot__x(plot, gap->to < gantt->to ? gap->to : gantt->to),
                         row + 0.42);
        }
    }
}

/* Of boxes; those of the many instances of a node are no higher than a line is wide. */
static const char *border_of(const struct gantt *gantt)
{
    uint32_t gpus = 0;
    for (uint32_t r = 0; r < gantt->rows; r++) {
        const uint32_t here = gantt->lanes->nodes[gantt->nodes[r]].gpus;
        gpus = here > gpus ? here : gpus;
    }
    return gpus > 16 && gpus * gantt->rows > 80 ? "noborder"
           : gantt->rows > 12                   ? "border lc rgb '#ffffff' lw 0.2"
                                                : "border lc rgb '#ffffff' lw 0.5";
}

/* `marks`: of attempts cut short, 0 for the boxes of a queue. Many are small, so that they do not
 * run together. */
static void boxes_clause(struct orr_plot *plot, const struct gantt *gantt, uint32_t slot,
                         uint32_t marks)
{
    if (marks > 0) {
        const bool narrow = orr_plot__narrow(plot);
        const uint32_t few = narrow ? 15 : 40, some = narrow ? 60 : 160;
        orr_plot__gp(plot, "using 1:2 with points pt 2 ps %s lc rgb '#000000' title 'cut short'",
                     marks <= few    ? "0.7 lw 1.4"
                     : marks <= some ? "0.45 lw 1"
                                     : "0.3 lw 0.8");
        return;
    }
    orr_plot__gp(plot, "using 1:3:1:2:3:4 with boxxyerror fc rgb '%s' fs solid 1.0 %s title ",
                 orr_plot__colour(slot, gantt->slots.shown), border_of(gantt));
    orr_plot__slot_name(plot, gantt->slots, slot, NULL);
}

/* Blocks are written queue by queue, boxes come by start: each queue has a text of its own first.
 */
static void boxes_plot(struct orr_plot *plot, const struct gantt *gantt)
{
    FILE *files[ORR_PLOT_COLOURS + 2] = {NULL};
    char *texts[ORR_PLOT_COLOURS + 2] = {NULL};
    size_t bytes[ORR_PLOT_COLOURS + 2] = {0};
    const uint32_t cuts = ORR_PLOT_COLOURS + 1;
    uint32_t drawn = 0;
    for (uint32_t s = 0; s <= cuts; s++) {
        files[s] = open_memstream(&texts[s], &bytes[s]);
        ORR_ASSERT(files[s] != NULL);
    }
    box_rows(plot, gantt, files);
    for (uint32_t s = 0; s <= cuts; s++) {
        ORR_ASSERT(fclose(files[s]) == 0);
        if (bytes[s] > 0) {
            uint32_t block = orr_plot__block(
                plot, s == cuts ? "ends of attempts cut short: seconds, place in nodes"
                                : "boxes of a queue: from, to in seconds, low, high in nodes");
            (void)fwrite(texts[s], 1, bytes[s], plot->dat);
            orr_plot__gp(plot, drawn++ == 0 ? "plot " : ", \\\n  ");
            orr_plot__data(plot, block);
            uint32_t marks = 0;
            for (size_t i = 0; s == cuts && i < bytes[s]; i++) {
                marks += texts[s][i] == '\n';
            }
            boxes_clause(plot, gantt, s, marks);
        }
        free(texts[s]);
    }
    if (drawn == 0) {
        orr_plot__nothing(plot, "no job ran");
    } else {
        orr_plot__gp(plot,
                     ", \\\n  keyentry with boxes fc rgb '#f1f1ef' fs solid 1.0 border lc rgb "
                     "'#bcbcb8' title 'free'");
    }
    if (drawn > 0 && gantt->lanes->profiles != NULL) {
        orr_plot__gp(plot, ", \\\n  keyentry with boxes fc rgb '" CUT
                           "' fs solid 1.0 border lc rgb '#bcbcb8' title 'free, MIG'");
    }
    if (drawn > 0 && gaps_within(gantt) > 0) {
        orr_plot__gp(plot,
                     ", \\\n  keyentry with boxes fc rgb '#ffffff' fs solid 1.0 border lc rgb "
                     "'#bcbcb8' title 'down or away'");
    }
    orr_plot__gp(plot, "\n");
}

/* How much of each column the node of each row is down or away, in ms. */
static double *gone_by_column(const struct gantt *gantt, uint32_t columns)
{
    const struct orr_plot_lanes *lanes = gantt->lanes;
    const double width = (double)(gantt->to - gantt->from) / columns;
    double *gone = orr_zalloc((size_t)gantt->rows * columns + 1, sizeof *gone);
    orr_ms *until = orr_zalloc((size_t)lanes->node_count + 1, sizeof *until);
    for (uint32_t i = 0; i < lanes->gap_count; i++) {
        const struct orr_plot_gap gap = orr_plot__lanes_gap(lanes, i, until);
        for (uint32_t c = 0; is_gap_within(gantt, &gap) && c < columns; c++) {
            double low = (double)gantt->from + c * width, high = low + width;
            low = low > (double)gap.from ? low : (double)gap.from;
            high = high < (double)gap.to ? high : (double)gap.to;
            gone[(size_t)gantt->row[gap.node] * columns + c] += high > low ? high - low : 0;
        }
    }
    orr_free(until);
    return gone;
}

/* For terminals of characters: a letter for the queue that held most of a cell. */
static void letters_plot(struct orr_plot *plot, const struct gantt *gantt)
{
    enum { LETTERS = ORR_PLOT_LETTERS };
    const uint32_t columns = orr_plot__map_columns();
    double width = (double)(gantt->to - gantt->from) / columns;
    double *held = orr_zalloc((size_t)gantt->rows * columns * LETTERS, sizeof *held);
    double *gone = gone_by_column(gantt, columns);
    for (uint32_t i = 0; i < gantt->held_count; i++) {
        const struct orr_plot_held *one = &gantt->held[i];
        for (uint32_t c = 0; inside(gantt, one) && c < columns; c++) {
            double low = (double)gantt->from + c * width, high = low + width;
            low = low > (double)one->start ? low : (double)one->start;
            high = high < (double)one->end ? high : (double)one->end;
            uint32_t letter = one->rank < LETTERS - 1 ? one->rank : LETTERS - 1;
            if (low < high) {
                held[((size_t)gantt->row[one->node] * columns + c) * LETTERS + letter] +=
                    (high - low) * (double)one->mgpu;
            }
        }
    }
    (void)orr_plot__block(plot, "row, letters of queues by time");
    for (uint32_t r = 0; r < gantt->rows; r++) {
        orr_plot__row(plot, "%u \"", r);
        for (uint32_t c = 0; c < columns; c++) {
            const double *cell = held + ((size_t)r * columns + c) * LETTERS;
            uint32_t best = 0;
            for (uint32_t k = 1; k < LETTERS; k++) {
                best = cell[k] > cell[best] ? k : best;
            }
            const bool is_gone = gone[(size_t)r * columns + c] > width / 2;
            orr_plot__row(plot, "%c",
                          cell[best] <= 0      ? (is_gone ? '-' : '.')
                          : best + 1 < LETTERS ? (char)('A' + best)
                                               : '+');
        }
        orr_plot__row(plot, "\"\n");
    }
    orr_free(held);
    orr_free(gone);
    orr_plot__letters(plot, gantt->slots);
    orr_plot__text_map(plot, gantt->rows, gantt->from, gantt->to);
}

static void lane_axis(struct orr_plot *plot, const struct gantt *gantt)
{
    const double fit = (orr_plot__narrow(plot) ? 0.5 : 0.75) / plot->line;
    const uint32_t names = plot->term == ORR_PLOT_DUMB ? 40 : fit > 2 ? (uint32_t)fit : 2;
    const uint32_t every = (gantt->rows + names - 1) / names;
    orr_plot__gp(plot, "set yrange [%.2f:-0.5]\nset ytics (", gantt->rows - 0.5);
    for (uint32_t r = 0; r < gantt->rows; r += every) {
        orr_plot__gp(plot, "%s", r > 0 ? ", " : "");
        const char *name = gantt->lanes->nodes[gantt->nodes[r]].name;
        const char **one = orr_short_names(&plot->in.arena, &name, 1, ORR_PLOT_NODE_NAME);
        orr_plot__quote(plot, one[0], ORR_PLOT_NODE_NAME, true);
        orr_plot__gp(plot, " %u", r);
    }
    orr_plot__gp(plot, ")\nset ylabel 'node (its GPUs above each other)'\n");
    if (plot->term == ORR_PLOT_DUMB) {
        return;
    }
    orr_plot__gp(plot, "unset grid\n");
    for (uint32_t r = 0; r < gantt->rows; r++) {
        orr_plot__gp(plot,
                     "set object %u rectangle from graph 0,first %.3f to graph 1,first %.3f behind "
                     "fc rgb '#f1f1ef' fs solid 1.0 noborder\n",
                     r + 1, r - 0.42, r + 0.42);
    }
    cuts_plot(plot, gantt);
    gaps_plot(plot, gantt);
}

/* What the title says beside: which nodes, which instances are below their devices, and what no
 * legend says. */
static void gantt_notes(const struct gantt *gantt, bool dumb, char *text, size_t room)
{
    const uint32_t all = gantt->lanes->node_count;
    int used = 0;
    text[0] = '\0';
    if (gantt->rows < all) {
        used = snprintf(text, room, "%u of %u node%s", gantt->rows, all, ORR_PLURAL(all));
    }
    if (gantt->lanes->profiles != NULL) {
        used += snprintf(text + used, room - (size_t)used, "%sMIG instances below devices: %.120s",
                         used > 0 ? "; " : "", gantt->lanes->profiles);
    }
    if (dumb && gaps_within(gantt) > 0) {
        (void)snprintf(text + used, room - (size_t)used, "%s-: down or away", used > 0 ? "; " : "");
    }
}

void orr_plot__gantt(struct orr_plot *plot)
{
    const struct orr_plot_lanes *lanes = orr_plot__lanes(plot, false);
    bool dumb = plot->term == ORR_PLOT_DUMB;
    struct gantt gantt = {.lanes = lanes, .slots = orr_plot__slots(plot, 10)};
    gantt.row = orr_alloc((size_t)lanes->node_count + 1, sizeof *gantt.row);
    gantt.nodes = orr_alloc((size_t)lanes->node_count + 1, sizeof *gantt.nodes);
    choose_nodes(&gantt, dumb ? 20 : MOST_NODES);
    keep_drawn(&gantt);
    choose_window(plot, &gantt);
    fit_rows(&gantt);
    char extra[240];
    gantt_notes(&gantt, dumb, extra, sizeof extra);
    int height = gantt.rows > 24 ? 720 : 500;
    orr_plot__start(plot, (struct orr_plot_size){900, height, 100, 30, true});
    orr_plot__title(plot, "Who held which GPUs", extra[0] != '\0' ? extra : NULL);
    if (gantt.rows == 0 || boxes_within(&gantt, gantt.from, gantt.to) == 0) {
        orr_plot__nothing(plot, "no job ran");
    } else {
        orr_plot__time_axis(plot, gantt.from, gantt.to, 7, true);
        lane_axis(plot, &gantt);
        if (dumb) {
            letters_plot(plot, &gantt);
        } else {
            orr_plot__legend(plot, "queue",
                             gantt.slots.count + 2 + (gaps_within(&gantt) > 0 ? 1 : 0) +
                                 (lanes->profiles != NULL ? 1 : 0),
                             orr_plot__slots_letters(plot, gantt.slots), false);
            boxes_plot(plot, &gantt);
        }
    }
    orr_free(gantt.row);
    orr_free(gantt.nodes);
    orr_free(gantt.held);
}
