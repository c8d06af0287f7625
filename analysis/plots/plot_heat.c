/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_heat.c - pictures of nodes by time.
 *
 * A row of the picture is a node, or a few that follow each other when there are many; a column is
 * a part of the time. A cell is GPU-time of a kind over GPU-time there was.
 */
#include "plot_int.h"

#define MOST_ROWS    100
#define MOST_COLUMNS 260
#define LEAST_SHOWN  0.5 /* %: less than that is blank */

static orr_ms column_start(const struct orr_plot_heat *heat, uint32_t column)
{
    return heat->from + (heat->to - heat->from) * (orr_ms)column / (orr_ms)heat->columns;
}

static void add_to(double *cells, const struct orr_plot_heat *heat, uint32_t picture_row,
                   orr_ms from, orr_ms to, double mgpu)
{
    orr_ms start = from > heat->from ? from : heat->from;
    orr_ms end = to < heat->to ? to : heat->to;
    if (start >= end) {
        return;
    }
    double *row = cells + (size_t)picture_row * heat->columns;
    double width = (double)(heat->to - heat->from) / heat->columns;
    uint32_t column = (uint32_t)((double)(start - heat->from) / width);
    column = column > 0 ? column - 1 : 0;
    for (; column < heat->columns && column_start(heat, column) < end; column++) {
        orr_ms first = column_start(heat, column), last = column_start(heat, column + 1);
        first = first > start ? first : start;
        last = last < end ? last : end;
        if (first < last) {
            row[column] += mgpu * (double)(last - first);
        }
    }
}

void orr_plot__heat_add(struct orr_plot_heat *heat, uint32_t node, uint32_t nodes, orr_ms from,
                        orr_ms to, double mgpu)
{
    for (uint32_t last = node + nodes; node < last;) {
        const uint32_t row = node / heat->per_row, row_end = (row + 1) * heat->per_row;
        const uint32_t end = row_end < last ? row_end : last;
        add_to(heat->cells, heat, row, from, to, mgpu * (end - node));
        node = end;
    }
}

bool orr_plot__heat_gaps(struct orr_plot_heat *heat, const struct orr_plot_lanes *lanes)
{
    orr_ms *until = orr_zalloc((size_t)lanes->node_count + 1, sizeof *until);
    heat->away = orr_zalloc((size_t)heat->rows * heat->columns + 1, sizeof *heat->away);
    for (uint32_t i = 0; i < lanes->gap_count; i++) {
        const struct orr_plot_gap gap = orr_plot__lanes_gap(lanes, i, until);
        add_to(heat->away, heat, gap.node / heat->per_row, gap.from, gap.to,
               (double)lanes->nodes[gap.node].gpus * ORR_MGPU);
    }
    orr_free(until);
    bool any = false;
    for (size_t i = 0; i < (size_t)heat->rows * heat->columns; i++) {
        any = any || heat->away[i] > 0;
    }
    return any;
}

/* Percent are known then. */
static bool is_away(const struct orr_plot_heat *heat, uint32_t row, uint32_t column)
{
    const size_t at = (size_t)row * heat->columns + column;
    const orr_ms length = column_start(heat, column + 1) - column_start(heat, column);
    return heat->away != NULL && heat->cells[at] < LEAST_SHOWN &&
           heat->away[at] > heat->gpus[row] * ORR_MGPU * (double)length / 2;
}

void orr_plot__heat_open(struct orr_plot *plot, const struct orr_plot_lanes *lanes,
                         struct orr_plot_heat *heat)
{
    bool dumb = plot->term == ORR_PLOT_DUMB;
    uint32_t most = dumb ? 21 : MOST_ROWS;
    *heat = (struct orr_plot_heat){.columns = dumb ? orr_plot__map_columns() : MOST_COLUMNS};
    orr_plot__span(plot, &heat->from, &heat->to);
    if (heat->to - heat->from < (orr_ms)heat->columns) {
        heat->columns = 1;
    }
    heat->per_row = (lanes->node_count + most - 1) / most;
    heat->per_row = heat->per_row > 0 ? heat->per_row : 1;
    heat->rows = (lanes->node_count + heat->per_row - 1) / heat->per_row;
    heat->cells = orr_zalloc((size_t)heat->rows * heat->columns + 1, sizeof *heat->cells);
    heat->gpus = orr_zalloc((size_t)heat->rows + 1, sizeof *heat->gpus);
    for (uint32_t i = 0; i < lanes->node_count; i++) {
        heat->gpus[i / heat->per_row] += lanes->nodes[i].gpus;
    }
}

void orr_plot__heat_close(struct orr_plot_heat *heat)
{
    orr_free(heat->cells);
    orr_free(heat->away);
    orr_free(heat->gpus);
}

void orr_plot__heat_percent(struct orr_plot_heat *heat)
{
    for (uint32_t r = 0; r < heat->rows; r++) {
        for (uint32_t c = 0; c < heat->columns; c++) {
            orr_ms length = column_start(heat, c + 1) - column_start(heat, c);
            double *cell = &heat->cells[(size_t)r * heat->columns + c];
            *cell *= 100.0 / (heat->gpus[r] * ORR_MGPU * (double)length);
            *cell = *cell < 100 ? *cell : 100;
        }
    }
}

void orr_plot__heat_axis(struct orr_plot *plot, const struct orr_plot_lanes *lanes,
                         const struct orr_plot_heat *heat, uint32_t most)
{
    uint32_t every = (heat->rows + most - 1) / most;
    orr_plot__gp(plot, "set ytics (");
    for (uint32_t r = 0; r < heat->rows; r += every) {
        orr_plot__gp(plot, "%s", r > 0 ? ", " : "");
        orr_plot__quote(plot, lanes->nodes[r * heat->per_row].name, ORR_PLOT_NODE_NAME, true);
        orr_plot__gp(plot, " %u", r);
    }
    orr_plot__gp(plot, ")\n");
    if (heat->per_row > 1) {
        orr_plot__gp(plot, "set ylabel 'nodes, %u to a row'\n", heat->per_row);
    } else {
        orr_plot__gp(plot, "set ylabel 'node'\n");
    }
    orr_plot__gp(plot, "set yrange [%.1f:-0.5]\n", heat->rows - 0.5);
}

uint32_t orr_plot__heat_rows(struct orr_plot *plot, const struct orr_plot_heat *heat)
{
    uint32_t block = orr_plot__block(plot, "seconds (middle of a column), row, % of GPU-time");
    /* gnuplot draws no image of a single row or column: there is another one outside of the axes.
     */
    for (uint32_t r = 0; r < heat->rows + (heat->rows == 1); r++) {
        for (uint32_t c = 0; c < heat->columns + (heat->columns == 1); c++) {
            const size_t row = r < heat->rows ? r : 0, column = c < heat->columns ? c : 0;
            double x = (orr_plot__x(plot, column_start(heat, c)) +
                        orr_plot__x(plot, column_start(heat, c + 1))) /
                       2;
            orr_plot__row(plot, "%.3f %u %.4g\n", x, r, heat->cells[row * heat->columns + column]);
        }
    }
    return block;
}

void orr_plot__heat_away(struct orr_plot *plot, const struct orr_plot_heat *heat)
{
    uint32_t drawn = 0;
    for (uint32_t r = 0; r < heat->rows; r++) {
        for (uint32_t c = 0, end; c < heat->columns; c = end) {
            end = c + 1;
            if (!is_away(heat, r, c)) {
                continue;
            }
            while (end < heat->columns && is_away(heat, r, end)) {
                end++;
            }
            orr_plot__gp(plot,
                         "set object %u rectangle from %.3f,%.1f to %.3f,%.1f front fc rgb "
                         "'#b9b4ac' fs solid 1.0 noborder\n",
                         ++drawn, orr_plot__x(plot, column_start(heat, c)), r - 0.5,
                         orr_plot__x(plot, column_start(heat, end)), r + 0.5);
        }
    }
}

void orr_plot__heat_text(struct orr_plot *plot, const struct orr_plot_heat *heat)
{
    static const char ramp[] = " .:-=+*#%@";
    (void)orr_plot__block(plot, "row, use by time");
    for (uint32_t r = 0; r < heat->rows; r++) {
        orr_plot__row(plot, "%u \"", r);
        for (uint32_t c = 0; c < heat->columns; c++) {
            double use = heat->cells[(size_t)r * heat->columns + c];
            int shade = (int)(use / 10.0001);
            orr_plot__row(plot, "%c",
                          is_away(heat, r, c)                ? 'x'
                          : shade == 0 && use >= LEAST_SHOWN ? '.'
                                                             : ramp[shade]);
        }
        orr_plot__row(plot, "\"\n");
    }
    orr_plot__text_map(plot, heat->rows, heat->from, heat->to);
}

int orr_plot__heat_scale(const struct orr_plot_heat *heat)
{
    static const int scales[] = {5, 10, 25, 50};
    double most = 0;
    for (size_t i = 0; i < (size_t)heat->rows * heat->columns; i++) {
        most = heat->cells[i] > most ? heat->cells[i] : most;
    }
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        if (most <= scales[i]) {
            return scales[i];
        }
    }
    return 100;
}

const char *orr_plot__scale_offset(const struct orr_plot *plot)
{
    return orr_plot__narrow(plot)       ? " offset 0.7,0"
           : plot->term == ORR_PLOT_PNG ? " offset 1.5,0" /* 50 % is wider than it counts */
                                        : "";
}

void orr_plot__heat_image(struct orr_plot *plot, uint32_t block, int scale, const char *what,
                          const char *palette)
{
    orr_plot__gp(plot,
                 "unset grid\nset border 15\nset palette defined (%s)\nset cbrange [0:%d]\n"
                 "set cbtics %g format '%%g %%%%'\nset cblabel '%s'%s\nunset key\nplot ",
                 palette, scale, scale / 5.0, what, orr_plot__scale_offset(plot));
    orr_plot__data(plot, block);
    orr_plot__gp(plot, "using 1:2:3 with image\n");
}
