/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_nodes.c - nodes: how busy each node was over time.
 *
 * A row of the picture is a node, or a few that follow each other when there are many; a column is
 * a part of the time. A cell is GPU-time held over GPU-time there was.
 */
#include "plot_int.h"

#define MOST_ROWS    100
#define MOST_COLUMNS 260

struct heat {
    uint32_t rows, columns, per_row;
    orr_ms from, to;
    double *cells; /* [row][column], milli-GPU ms, then percent */
    double *gpus;  /* of a row */
};

static orr_ms column_start(const struct heat *heat, uint32_t column)
{
    return heat->from + (heat->to - heat->from) * (orr_ms)column / (orr_ms)heat->columns;
}

static void heat_add(struct heat *heat, const struct orr_plot_held *held)
{
    orr_ms start = held->start > heat->from ? held->start : heat->from;
    orr_ms end = held->end < heat->to ? held->end : heat->to;
    if (start >= end) {
        return;
    }
    double *row = heat->cells + (size_t)(held->node / heat->per_row) * heat->columns;
    double width = (double)(heat->to - heat->from) / heat->columns;
    uint32_t column = (uint32_t)((double)(start - heat->from) / width);
    column = column > 0 ? column - 1 : 0;
    for (; column < heat->columns && column_start(heat, column) < end; column++) {
        orr_ms first = column_start(heat, column), last = column_start(heat, column + 1);
        first = first > start ? first : start;
        last = last < end ? last : end;
        if (first < last) {
            row[column] += (double)held->mgpu * (double)(last - first);
        }
    }
}

static void heat_open(struct orr_plot *plot, const struct orr_plot_lanes *lanes, struct heat *heat)
{
    bool dumb = plot->term == ORR_PLOT_DUMB;
    uint32_t most = dumb ? 21 : MOST_ROWS;
    *heat = (struct heat){.columns = dumb ? ORR_PLOT_MAP_COLUMNS : MOST_COLUMNS};
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
    for (uint32_t i = 0; i < lanes->held_count; i++) {
        heat_add(heat, &lanes->held[i]);
    }
    for (uint32_t r = 0; r < heat->rows; r++) {
        for (uint32_t c = 0; c < heat->columns; c++) {
            orr_ms length = column_start(heat, c + 1) - column_start(heat, c);
            double *cell = &heat->cells[(size_t)r * heat->columns + c];
            *cell *= 100.0 / (heat->gpus[r] * ORR_MGPU * (double)length);
            *cell = *cell < 100 ? *cell : 100;
        }
    }
}

static void node_tics(struct orr_plot *plot, const struct orr_plot_lanes *lanes,
                      const struct heat *heat)
{
    uint32_t every = (heat->rows + 20) / 21;
    orr_plot__gp(plot, "set ytics (");
    for (uint32_t r = 0; r < heat->rows; r += every) {
        orr_plot__gp(plot, "%s", r > 0 ? ", " : "");
        orr_plot__quote(plot, lanes->nodes[r * heat->per_row].name, 14, true);
        orr_plot__gp(plot, " %u", r);
    }
    orr_plot__gp(plot, ")\n");
    if (heat->per_row > 1) {
        orr_plot__gp(plot, "set ylabel 'nodes, %u to a row'\n", heat->per_row);
    } else {
        orr_plot__gp(plot, "set ylabel 'node'\n");
    }
}

static void heat_rows(struct orr_plot *plot, const struct heat *heat)
{
    (void)orr_plot__block(plot, "seconds (middle of a column), row, % of GPU-time held");
    for (uint32_t r = 0; r < heat->rows; r++) {
        for (uint32_t c = 0; c < heat->columns; c++) {
            double x = (orr_plot__x(plot, column_start(heat, c)) +
                        orr_plot__x(plot, column_start(heat, c + 1))) /
                       2;
            orr_plot__row(plot, "%.3f %u %.4g\n", x, r, heat->cells[(size_t)r * heat->columns + c]);
        }
    }
}

static void heat_text(struct orr_plot *plot, const struct heat *heat)
{
    static const char ramp[] = " .:-=+*#%@";
    (void)orr_plot__block(plot, "row, use by time");
    for (uint32_t r = 0; r < heat->rows; r++) {
        orr_plot__row(plot, "%u \"", r);
        for (uint32_t c = 0; c < heat->columns; c++) {
            double use = heat->cells[(size_t)r * heat->columns + c];
            int shade = (int)(use / 10.0001);
            orr_plot__row(plot, "%c", shade == 0 && use >= 0.5 ? '.' : ramp[shade]);
        }
        orr_plot__row(plot, "\"\n");
    }
    orr_plot__text_map(plot, heat->rows, heat->from, heat->to);
}

static void heat_image(struct orr_plot *plot)
{
    orr_plot__gp(plot,
                 "unset grid\nset border 15\nset rmargin at screen 0.86\n"
                 "set palette defined (0 '#f7f7f2', 0.25 '#c3dbea', 0.5 '#6baed6', 0.75 '#2171b5', "
                 "1 '#08264d')\nset cbrange [0:100]\nset cbtics 25 format '%%g %%%%'\n"
                 "set cblabel 'GPUs held'\nunset key\nplot ");
    orr_plot__data(plot, 0);
    orr_plot__gp(plot, "using 1:2:3 with image\n");
}

void orr_plot__nodes(struct orr_plot *plot)
{
    struct orr_plot_lanes lanes;
    struct heat heat;
    bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_plot__lanes_open(plot, &lanes);
    heat_open(plot, &lanes, &heat);
    orr_plot__start(plot, (struct orr_plot_size){900, heat.rows > 40 ? 620 : 500, 100, 30});
    orr_plot__title(plot, dumb ? "Use of nodes ( .:-=+*#%@ is 0 to 100 % of GPUs)" : "Use of nodes",
                    NULL);
    if (heat.rows == 0 || lanes.held_count == 0) {
        orr_plot__nothing(plot, "no job started");
    } else {
        orr_plot__time_axis(plot, heat.from, heat.to, 8, true);
        node_tics(plot, &lanes, &heat);
        orr_plot__gp(plot, "set yrange [%.1f:-0.5]\n", heat.rows - 0.5);
        if (dumb) {
            heat_text(plot, &heat);
        } else {
            heat_rows(plot, &heat);
            heat_image(plot);
        }
    }
    orr_free(heat.cells);
    orr_free(heat.gpus);
    orr_plot__lanes_close(&lanes);
}
