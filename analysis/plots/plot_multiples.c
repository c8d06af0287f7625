/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_multiples.c - small multiples of a merged sweep: a panel for each value of one axis, a
 * metric over another in it, a line for each value of a third; all panels have the same axes. */
#include "plot_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/spread.h>

#define PANELS_MOST    30 /* more would be too small to read */
#define INTERVALS_MOST 4  /* lines that have them */
#define LINES_MOST     10 /* with a colour and a name; the others are grey */

struct multiples {
    const struct orr_spreads *spreads;
    const char *metric;
    uint32_t panel_axis, x_axis, line_axis; /* line_axis ORR_NONE: one line a panel */
    struct orr_plot_values panels, xs, lines;
    struct cell { /* [panel][line][x]: means over what other axes say */
        double mean, low, high;
        uint32_t count;
    } * cells;
    bool numbers; /* all values of x are */
    struct orr_plot_unit unit;
};

struct grid { /* of panels, as parts of the picture */
    uint32_t columns, rows, drawn;
    double left, right, top, bottom, gap_x, gap_y;
};

static struct cell *cell_at(const struct multiples *m, uint32_t panel, uint32_t line, uint32_t x)
{
    return &m->cells[((size_t)panel * m->lines.count + line) * m->xs.count + x];
}

static bool is_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

static double x_of(const struct multiples *m, uint32_t x)
{
    double value = 0;
    return m->numbers && is_number(m->xs.names[x], &value) ? value : x;
}

/* The first axis that is neither. */
static uint32_t line_axis_of(const struct multiples *m)
{
    uint32_t a = 0;
    while (a < m->spreads->axis_count && (a == m->panel_axis || a == m->x_axis)) {
        a++;
    }
    return a < m->spreads->axis_count ? a : ORR_NONE;
}

/* Where a setting is; false: it is a listed point, or has no such number. */
static bool find_cell(struct multiples *m, uint32_t arm, struct cell **cell,
                      const struct orr_spread_row **row)
{
    const char *const *values = m->spreads->arms[arm].values;
    const char *line = m->line_axis == ORR_NONE ? "" : values[m->line_axis];
    *row = orr_spread_find(m->spreads, m->metric, "", arm);
    if (values[m->panel_axis] == NULL || values[m->x_axis] == NULL || line == NULL ||
        *row == NULL || (*row)->n + (*row)->open == 0) {
        return false;
    }
    *cell = cell_at(m, orr_plot__value(&m->panels, values[m->panel_axis]),
                    orr_plot__value(&m->lines, line), orr_plot__value(&m->xs, values[m->x_axis]));
    return true;
}

static void fill(struct multiples *m, struct orr_arena *arena)
{
    const struct orr_spreads *spreads = m->spreads;
    struct orr_plot_values *const all[] = {&m->panels, &m->xs, &m->lines};
    for (size_t i = 0; i < 3; i++) {
        all[i]->names =
            orr_arena_alloc(arena, spreads->arm_count + (size_t)1, sizeof *all[i]->names);
    }
    for (uint32_t a = 0; a < spreads->arm_count; a++) {
        const char *const *values = spreads->arms[a].values;
        const char *line = m->line_axis == ORR_NONE ? "" : values[m->line_axis];
        if (values[m->panel_axis] != NULL && values[m->x_axis] != NULL && line != NULL) {
            (void)orr_plot__value(&m->panels, values[m->panel_axis]);
            (void)orr_plot__value(&m->xs, values[m->x_axis]);
            (void)orr_plot__value(&m->lines, line);
        }
    }
    const size_t cells = (size_t)m->panels.count * m->lines.count * m->xs.count;
    m->cells = orr_arena_alloc(arena, cells + 1, sizeof *m->cells);
    memset(m->cells, 0, (cells + 1) * sizeof *m->cells);
    for (uint32_t a = 0; a < spreads->arm_count; a++) {
        struct cell *cell;
        const struct orr_spread_row *row;
        if (find_cell(m, a, &cell, &row)) {
            const double mean = orr_spread_mean(row);
            cell->mean += mean;
            cell->low += isnan(row->low) || isnan(mean) ? mean : row->low;
            cell->high += isnan(row->high) || isnan(mean) ? mean : row->high;
            cell->count++;
        }
    }
    double ignored;
    m->numbers = true;
    for (uint32_t x = 0; x < m->xs.count; x++) {
        m->numbers = m->numbers && is_number(m->xs.names[x], &ignored);
    }
}

/* Of several settings in one cell the interval would be of nothing: none is drawn. */
static void mean_of(const struct multiples *m, const struct cell *cell, double out[3])
{
    const double by = cell->count * m->unit.by;
    const bool one = cell->count == 1;
    out[0] = cell->count > 0 ? cell->mean / by : (double)NAN;
    out[1] = one ? cell->low / by : out[0];
    out[2] = one ? cell->high / by : out[0];
}

/* Of few lines, or they would hide each other. */
static bool has_intervals(const struct multiples *m)
{
    bool any = false;
    for (size_t c = 0; c < (size_t)m->panels.count * m->lines.count * m->xs.count; c++) {
        any = any || (m->cells[c].count == 1 && m->cells[c].high > m->cells[c].low);
    }
    return any && m->lines.count <= INTERVALS_MOST;
}

/* --- text --- */

static void multiples_text(struct orr_plot *plot, const struct multiples *m)
{
    FILE *out = plot->options->out != NULL ? plot->options->out : stdout;
    const struct orr_spreads *spreads = m->spreads;
    char label[200], unreached[120];
    orr_plot__unit_label(label, m->metric, m->unit);
    (void)fprintf(out, "%s: %s across%s\n", label, spreads->axes[m->x_axis],
                  orr_plot__unreached(spreads, &m->metric, 1, unreached));
    for (uint32_t p = 0; p < m->panels.count; p++) {
        (void)fprintf(out, "\n%s %s\n%-20s", spreads->axes[m->panel_axis], m->panels.names[p],
                      m->line_axis == ORR_NONE ? "" : spreads->axes[m->line_axis]);
        for (uint32_t x = 0; x < m->xs.count; x++) {
            (void)fprintf(out, " %10.10s", m->xs.names[x]);
        }
        for (uint32_t l = 0; l < m->lines.count; l++) {
            (void)fprintf(out, "\n%-20.20s", m->lines.names[l]);
            for (uint32_t x = 0; x < m->xs.count; x++) {
                double values[3];
                mean_of(m, cell_at(m, p, l, x), values);
                (void)(isnan(values[0]) ? fprintf(out, " %10s", "-")
                                        : fprintf(out, " %10.4g", values[0]));
            }
        }
        (void)fprintf(out, "\n");
    }
}

/* --- picture --- */

static struct grid grid_of(const struct orr_plot *plot, const struct multiples *m)
{
    const bool narrow = orr_plot__narrow(plot);
    struct grid g = {.drawn = m->panels.count < PANELS_MOST ? m->panels.count : PANELS_MOST};
    const uint32_t most = narrow ? 3 : 6;
    while (g.columns < most && g.columns * g.columns < g.drawn + (narrow ? 0 : g.columns)) {
        g.columns++;
    }
    g.columns = g.columns > g.drawn ? g.drawn : g.columns;
    if (g.drawn % g.columns != 0 && g.columns < most && g.drawn % (g.columns + 1) == 0) {
        g.columns++; /* no row is short then */
    }
    g.rows = (g.drawn + g.columns - 1) / g.columns;
    return g;
}

static uint32_t named_lines(const struct multiples *m)
{
    return m->lines.count < LINES_MOST ? m->lines.count : LINES_MOST;
}

static uint32_t line_letters(const struct multiples *m)
{
    uint32_t most =
        (uint32_t)strlen(m->line_axis == ORR_NONE ? "" : m->spreads->axes[m->line_axis]);
    for (uint32_t l = 0; l < named_lines(m); l++) {
        const uint32_t letters = (uint32_t)strlen(m->lines.names[l]);
        most = letters > most ? letters : most;
    }
    return most < 12 ? 12 : most > 20 ? 20 : most;
}

static void place_grid(struct orr_plot *plot, const struct multiples *m, struct grid *g)
{
    const bool has_lines = m->line_axis != ORR_NONE;
    g->left = orr_plot__narrow(plot) ? 0.16 : 0.08;
    g->right = 0.985;
    g->bottom = 3.9 * plot->line;
    g->top = 1 - 2.1 * plot->line;
    if (has_lines && orr_plot__narrow(plot)) {
        orr_plot__legend_of_page(plot, named_lines(m) + 1, line_letters(m));
        g->bottom += plot->legend_top;
    } else if (has_lines) {
        g->right = orr_plot__legend_side(plot, line_letters(m)) - 0.01;
    }
    g->gap_x = 2.6 / plot->letters;
    g->gap_y = 1.9 * plot->line;
}

/* The least distance of two values of x, of all of them: 1 where they are even. */
static double evenness(const struct multiples *m)
{
    double least = (double)INFINITY, first = (double)INFINITY, last = -(double)INFINITY;
    for (uint32_t a = 0; a < m->xs.count; a++) {
        first = fmin(first, x_of(m, a));
        last = fmax(last, x_of(m, a));
        for (uint32_t b = 0; b < a; b++) {
            least = fmin(least, fabs(x_of(m, a) - x_of(m, b)));
        }
    }
    return m->xs.count < 2 ? 1 : least * (m->xs.count - 1) / (last - first);
}

/* Names of x below a panel, as many as fit; round numbers where the values lie unevenly. */
static void x_tics(struct orr_plot *plot, const struct multiples *m, const struct grid *g,
                   bool named)
{
    const double width = ((g->right - g->left) / g->columns - g->gap_x) * plot->letters;
    uint32_t letters = 3;
    if (m->numbers && evenness(m) < 0.7) {
        orr_plot__gp(plot, "set xtics autofreq\nset format x '%s'\n", named ? "%h" : "");
        return;
    }
    for (uint32_t x = 0; x < m->xs.count; x++) {
        const uint32_t one = (uint32_t)strlen(m->xs.names[x]);
        letters = one > letters ? one : letters;
    }
    const bool turned = !m->numbers && letters * m->xs.count > width;
    const double room = turned ? width / 2.4 : width / (letters + 2);
    const uint32_t each = (uint32_t)ceil(m->xs.count / fmax(room, 1));
    orr_plot__gp(plot, "set xtics %s (", turned ? "rotate by -40 left" : "");
    for (uint32_t x = 0; x < m->xs.count; x += each) {
        orr_plot__gp(plot, "%s", x > 0 ? ", " : "");
        orr_plot__quote(plot, named ? m->xs.names[x] : "", 12, true);
        orr_plot__gp(plot, " %.9g", x_of(m, x));
    }
    orr_plot__gp(plot, ")\n");
}

/* By the means: an interval that is wider than all of them goes out of the panel. */
static void ranges(struct orr_plot *plot, const struct multiples *m, const struct grid *g)
{
    double least = (double)INFINITY, most = -(double)INFINITY;
    double first = (double)INFINITY, last = -(double)INFINITY;
    for (uint32_t p = 0; p < g->drawn; p++) {
        for (uint32_t i = 0; i < m->lines.count * m->xs.count; i++) {
            double values[3];
            mean_of(m, &m->cells[(size_t)p * m->lines.count * m->xs.count + i], values);
            if (!isnan(values[0])) {
                least = fmin(least, values[0]);
                most = fmax(most, values[0]);
            }
        }
    }
    for (uint32_t x = 0; x < m->xs.count; x++) {
        first = fmin(first, x_of(m, x));
        last = fmax(last, x_of(m, x));
    }
    const double margin = fmax((last - first) * 0.06, 1e-9);
    const bool from_zero = least >= 0 && least < 0.5 * most;
    const double room = fmax((most - least) * 0.12, fmax(fabs(most), 1) * 1e-6);
    orr_plot__gp(plot, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", first - margin,
                 last + margin, from_zero ? 0 : least - room, most + room);
    const double height = ((g->top - g->bottom) / g->rows - g->gap_y) / (1.7 * plot->line);
    const double low = from_zero ? 0 : least;
    orr_plot__gp(plot, "set ytics %.9g\n",
                 orr_plot__round_step(fmax(most - low, 1e-9), height > 2 ? height : 2));
}

/* The block of a line in a panel; ORR_NONE: it has no point there. */
static uint32_t line_rows(struct orr_plot *plot, const struct multiples *m, uint32_t panel,
                          uint32_t line)
{
    uint32_t block = ORR_NONE;
    for (uint32_t x = 0; x < m->xs.count; x++) {
        double values[3];
        mean_of(m, cell_at(m, panel, line, x), values);
        if (!isnan(values[0])) {
            block = block == ORR_NONE ? orr_plot__block(plot, "x, mean, low, high") : block;
            orr_plot__row(plot, "%.9g %.9g %.9g %.9g\n", x_of(m, x), values[0], values[1],
                          values[2]);
        }
    }
    return block;
}

static const int marks[LINES_MOST] = {7, 5, 9, 13, 11, 6, 4, 8, 12, 10};

static void draw_line(struct orr_plot *plot, const struct multiples *m, uint32_t block,
                      uint32_t line)
{
    const bool named = line < named_lines(m);
    orr_plot__data(plot, block);
    if (!named) {
        orr_plot__gp(plot, "using 1:2 with lines lw 0.8 lc rgb '%s' notitle", ORR_PLOT_GREY);
        return;
    }
    orr_plot__gp(plot, "using %s pt %d ps 0.6 lw 1.3 lc rgb '%s' notitle",
                 has_intervals(m) ? "1:2:3:4 with yerrorlines" : "1:2 with linespoints",
                 marks[line], orr_plot__colour(line, named_lines(m)));
}

/* Grey lines first: they lie behind. */
static void draw_panel(struct orr_plot *plot, const struct multiples *m, uint32_t panel)
{
    bool any = false;
    uint32_t *blocks = orr_alloc(m->lines.count + (size_t)1, sizeof *blocks);
    for (uint32_t l = 0; l < m->lines.count; l++) {
        blocks[l] = line_rows(plot, m, panel, l);
    }
    orr_plot__gp(plot, "plot ");
    for (uint32_t i = m->lines.count; i-- > 0;) {
        if (blocks[i] != ORR_NONE) {
            orr_plot__gp(plot, any ? ", \\\n  " : "");
            draw_line(plot, m, blocks[i], i);
            any = true;
        }
    }
    orr_plot__gp(plot, any ? "\n" : "NaN notitle\n");
    orr_free(blocks);
}

static void frame_panel(struct orr_plot *plot, const struct multiples *m, const struct grid *g,
                        uint32_t panel)
{
    const uint32_t row = panel / g->columns, column = panel % g->columns;
    const double width = (g->right - g->left) / g->columns, height = (g->top - g->bottom) / g->rows;
    const double top = g->top - row * height;
    const bool lowest = panel + g->columns >= g->drawn;
    const double left = g->left + column * width;
    orr_plot__gp(plot,
                 "set lmargin at screen %.4f\nset rmargin at screen %.4f\nset tmargin at screen "
                 "%.4f\nset bmargin at screen %.4f\nset format y '%s'\n",
                 left, left + width - g->gap_x, top - g->gap_y, top - height + 0.1 * plot->line,
                 column == 0 ? "%h" : "");
    x_tics(plot, m, g, lowest);
    char name[200];
    (void)snprintf(name, sizeof name, "%.60s %.100s", m->spreads->axes[m->panel_axis],
                   m->panels.names[panel]);
    const uint32_t letters = (uint32_t)fmax(width * plot->letters, 6);
    orr_plot__gp(plot, "set label 1 ");
    orr_plot__quote(plot, strlen(name) > letters ? m->panels.names[panel] : name, letters, false);
    orr_plot__gp(plot, " at graph 0.5,1 center offset 0,0.6%s\n", orr_plot__ink(plot));
}

/* What is written around the panels: in a frame of its own, of the page's size. */
static void draw_names(struct orr_plot *plot, const struct multiples *m, const struct grid *g)
{
    char label[200], title[500], more[80] = "", unreached[120];
    const struct orr_spreads *spreads = m->spreads;
    const bool others = spreads->axis_count > (m->line_axis == ORR_NONE ? 2u : 3u);
    if (g->drawn < m->panels.count) {
        (void)snprintf(more, sizeof more, ", the first %u of %u", g->drawn, m->panels.count);
    }
    (void)snprintf(title, sizeof title,
                   "%.80s: %.60s by %.60s, a panel for each value of %.60s%s%s%s", spreads->name,
                   m->metric, spreads->axes[m->x_axis], spreads->axes[m->panel_axis], more,
                   others ? "; means over the other axes" : "",
                   has_intervals(m) ? "; bars: 95 % interval of the mean" : "");
    if (orr_plot__narrow(plot)) {
        (void)snprintf(title, sizeof title, "%.60s by %.60s, a panel for each %.60s", m->metric,
                       spreads->axes[m->x_axis], spreads->axes[m->panel_axis]);
    }
    orr_plot__unit_label(label, m->metric, m->unit);
    if (!plot->options->no_title) {
        orr_plot__gp(plot, "set label 90 ");
        orr_plot__quote(plot, title, 160, false);
        orr_plot__gp(plot, " at screen %.4f,%.4f center%s\n", (g->left + g->right) / 2,
                     1 - 0.9 * plot->line, orr_plot__ink(plot));
        if (*orr_plot__unreached(spreads, &m->metric, 1, unreached) != '\0') {
            orr_plot__gp(plot, "set label 93 ");
            orr_plot__quote(plot, unreached + strlen("; "), 120, false);
            orr_plot__gp(plot, " at screen %.4f,%.4f center%s\n", (g->left + g->right) / 2,
                         1 - 1.9 * plot->line, orr_plot__ink(plot));
        }
    }
    orr_plot__gp(plot, "set label 91 ");
    orr_plot__quote(plot, label, 100, false);
    orr_plot__gp(plot, " at screen %.4f,%.4f center rotate by 90%s\nset label 92 ",
                 1.1 / plot->letters, (g->top + g->bottom) / 2, orr_plot__ink(plot));
    orr_plot__quote(plot, spreads->axes[m->x_axis], 60, false);
    orr_plot__gp(plot, " at screen %.4f,%.4f center%s\n", (g->left + g->right) / 2,
                 g->bottom - (m->numbers ? 2.4 : 3.2) * plot->line, orr_plot__ink(plot));
}

static void draw_legend(struct orr_plot *plot, const struct multiples *m, const struct grid *g)
{
    const uint32_t named = named_lines(m);
    if (m->line_axis == ORR_NONE) {
        return;
    }
    if (orr_plot__narrow(plot)) {
        orr_plot__gp(
            plot, "set key at screen 0.5,%.4f center top horizontal maxcols %u title '' center\n",
            plot->legend_top, plot->legend_columns);
    } else {
        orr_plot__gp(plot, "set key at screen %.4f,%.4f left top title ", g->right + 0.01, g->top);
        orr_plot__quote(plot, m->spreads->axes[m->line_axis], 20, false);
        orr_plot__gp(plot, " left\n");
    }
    orr_plot__gp(plot, "unset tics\nunset border\nunset grid\nset xrange [0:1]\nset yrange [0:1]\n"
                       "set lmargin at screen 0.01\nset rmargin at screen 0.99\n"
                       "set tmargin at screen 0.99\nset bmargin at screen 0.01\nplot ");
    for (uint32_t l = 0; l < named; l++) {
        orr_plot__gp(plot, "%s-9 with linespoints pt %d ps 0.8 lw 1.3 lc rgb '%s' title ",
                     l > 0 ? ", \\\n  " : "", marks[l], orr_plot__colour(l, named));
        orr_plot__quote(plot, m->lines.names[l], 20, false);
    }
    if (named < m->lines.count) {
        orr_plot__gp(plot, ", \\\n  -9 with lines lw 0.8 lc rgb '%s' title '%u others'",
                     ORR_PLOT_GREY, m->lines.count - named);
    }
    orr_plot__gp(plot, "\n");
}

static void multiples_draw(struct orr_plot *plot, const struct multiples *m)
{
    struct grid g = grid_of(plot, m);
    const int height = 130 + 190 * (int)g.rows;
    orr_plot__start(plot,
                    (struct orr_plot_size){900, height < 1000 ? height : 1000, 100, 26, false});
    place_grid(plot, m, &g);
    orr_plot__gp(plot, "set multiplot\nunset key\nset border 3\n");
    ranges(plot, m, &g);
    for (uint32_t p = 0; p < g.drawn; p++) {
        frame_panel(plot, m, &g, p);
        if (p + 1 == g.drawn) {
            draw_names(plot, m, &g);
        }
        draw_panel(plot, m, p);
    }
    orr_plot__gp(plot, "unset label\n");
    draw_legend(plot, m, &g);
    orr_plot__gp(plot, "unset multiplot\n");
}

enum orr_status orr_plot__multiples(struct orr_plot *plot, const struct orr_spreads *spreads,
                                    const struct orr_plot_settings *what,
                                    orr_plot_report_fn *report, void *context)
{
    struct multiples m = {.spreads = spreads,
                          .metric = what->metrics[0],
                          .panel_axis = orr_plot__axis_of(spreads, what->axes[0], 0),
                          .x_axis =
                              orr_plot__axis_of(spreads, what->axes[1], spreads->axis_count - 1)};
    if (spreads->axis_count < 2 || m.panel_axis == ORR_NONE || m.x_axis == ORR_NONE ||
        m.panel_axis == m.x_axis) {
        return orr_fail(plot->in.err, ORR_USAGE,
                        "%s: multiples need two axes of the sweep, and this one has %u",
                        plot->in.path, (unsigned)spreads->axis_count);
    }
    struct orr_arena arena;
    orr_arena_init(&arena);
    m.line_axis = line_axis_of(&m);
    m.unit = orr_plot__unit_of(spreads, m.metric);
    fill(&m, &arena);
    if (m.panels.count == 0) {
        plot->in.status =
            orr_fail(plot->in.err, ORR_DATA, "%s: no setting has both axes", plot->in.path);
    } else if (plot->term == ORR_PLOT_DUMB) {
        multiples_text(plot, &m);
    } else {
        struct orr_plot_files *files = orr_plot__files_open(plot, "multiples");
        if (files != NULL) {
            multiples_draw(plot, &m);
            orr_plot__files_close(plot, files, report, context);
        }
    }
    orr_arena_release(&arena);
    return plot->in.status;
}
