/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_settings.c - figures of the settings of a merged sweep: a metric over two axes as a map, and
 * two metrics against each other with those settings that no other is better than in both. */
#include "plot_int.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/spread.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>

#define NUMBERS_MOST 150 /* cells of a map that have their numbers in them */
#define NAMES_MOST   40  /* of a side of a map */
#define NAMED_MOST   15  /* settings of a front with their names, and with intervals */

struct orr_plot_unit orr_plot__unit_of(const struct orr_spreads *spreads, const char *metric)
{
    double most = 0;
    const char *name = "1";
    for (uint32_t i = 0; i < spreads->count; i++) {
        const struct orr_spread_row *s = &spreads->items[i];
        if (strcmp(s->metric, metric) == 0) {
            most = fabs(s->mean) > most ? fabs(s->mean) : most;
            name = s->unit;
        }
    }
    if (strcmp(name, "s") != 0) {
        return (struct orr_plot_unit){1, strcmp(name, "1") == 0 ? "" : name};
    }
    return most < 120      ? (struct orr_plot_unit){1, "s"}
           : most < 7200   ? (struct orr_plot_unit){60, "min"}
           : most < 172800 ? (struct orr_plot_unit){3600, "h"}
                           : (struct orr_plot_unit){86400, "days"};
}

void orr_plot__unit_label(char out[200], const char *metric, struct orr_plot_unit unit)
{
    (void)snprintf(out, 200, "%.120s%s%s", metric, unit.name[0] != '\0' ? ", in " : "", unit.name);
}

/* --- a map --- */

struct map {
    const struct orr_spreads *spreads;
    const char *metric;
    uint32_t x, y; /* axes */
    struct orr_plot_values columns, rows;
    double *cells; /* [row][column], means over what the other axes say; NAN: none */
};

uint32_t orr_plot__value(struct orr_plot_values *values, const char *name)
{
    uint32_t i = 0;
    while (i < values->count && strcmp(values->names[i], name) != 0) {
        i++;
    }
    if (i == values->count) {
        values->names[values->count++] = name;
    }
    return i;
}

static void map_fill(struct map *map, struct orr_arena *arena)
{
    const struct orr_spreads *spreads = map->spreads;
    const size_t most = spreads->arm_count + (size_t)1;
    map->columns.names = orr_arena_alloc(arena, most, sizeof *map->columns.names);
    map->rows.names = orr_arena_alloc(arena, most, sizeof *map->rows.names);
    for (uint32_t a = 0; a < spreads->arm_count; a++) {
        const char *const *values = spreads->arms[a].values;
        if (values[map->x] != NULL && values[map->y] != NULL) {
            (void)orr_plot__value(&map->columns, values[map->x]);
            (void)orr_plot__value(&map->rows, values[map->y]);
        }
    }
    const size_t cells = (size_t)map->rows.count * map->columns.count;
    uint32_t *counts = orr_arena_alloc(arena, cells + 1, sizeof *counts);
    map->cells = orr_arena_alloc(arena, cells + 1, sizeof *map->cells);
    for (size_t c = 0; c < cells; c++) {
        map->cells[c] = 0;
        counts[c] = 0;
    }
    for (uint32_t a = 0; a < spreads->arm_count; a++) {
        const char *const *values = spreads->arms[a].values;
        const struct orr_spread_row *s = orr_spread_find(spreads, map->metric, "", a);
        if (values[map->x] == NULL || values[map->y] == NULL || s == NULL || s->n + s->open == 0) {
            continue;
        }
        const size_t cell =
            (size_t)orr_plot__value(&map->rows, values[map->y]) * map->columns.count +
            orr_plot__value(&map->columns, values[map->x]);
        map->cells[cell] += orr_spread_mean(s);
        counts[cell]++;
    }
    for (size_t c = 0; c < cells; c++) {
        map->cells[c] = counts[c] > 0 ? map->cells[c] / counts[c] : (double)NAN;
    }
}

#define SIDE_PART 0.7 /* of the picture's width, beside the scale */

/* Do names below the map need more than its width? */
static bool is_wide(const struct orr_plot *plot, const char *const *names, uint32_t count,
                    uint32_t each)
{
    double longest = 0;
    for (uint32_t i = 0; i < count; i += each) {
        longest = fmax(longest, fmin(20, (double)strlen(names[i])));
    }
    return (longest + 2) * ((count + each - 1) / each) > plot->letters * SIDE_PART;
}

/* Names of a side, every n-th where there are many. */
static void map_names(struct orr_plot *plot, char side, const char *const *names, uint32_t count)
{
    const uint32_t most = orr_plot__narrow(plot) && side == 'x' ? NAMES_MOST / 4 : NAMES_MOST;
    const uint32_t each = (count + most - 1) / most;
    orr_plot__gp(plot, "set %ctics %s scale 0 (", side,
                 side == 'x' && is_wide(plot, names, count, each) ? "rotate by -40 left" : "");
    for (uint32_t i = 0; i < count; i += each) {
        orr_plot__gp(plot, "%s", i > 0 ? ", " : "");
        orr_plot__quote(plot, names[i], 20, true);
        orr_plot__gp(plot, " %u", i);
    }
    orr_plot__gp(plot, ")\n");
}

const char *orr_plot__unreached(const struct orr_spreads *spreads, const char *const *metrics,
                                uint32_t count, char out[120])
{
    uint32_t open = 0;
    for (uint32_t a = 0; a < spreads->arm_count; a++) {
        bool any = false;
        for (uint32_t m = 0; m < count; m++) {
            const struct orr_spread_row *s = orr_spread_find(spreads, metrics[m], "", a);
            any = any || (s != NULL && s->open > 0);
        }
        open += any ? 1 : 0;
    }
    out[0] = '\0';
    if (open > 0) {
        (void)snprintf(out, 120, "; %u of %u setting%s left out, where a run did not reach it",
                       open, spreads->arm_count, ORR_PLURAL(spreads->arm_count));
    }
    return out;
}

/* A terminal has no colours to count on: the numbers themselves. */
static void map_text(struct orr_plot *plot, const struct map *map, struct orr_plot_unit unit)
{
    FILE *out = plot->options->out != NULL ? plot->options->out : stdout;
    char label[200], unreached[120];
    orr_plot__unit_label(label, map->metric, unit);
    (void)fprintf(out, "%s: %s down, %s across%s\n\n%-20s", label, map->spreads->axes[map->y],
                  map->spreads->axes[map->x],
                  orr_plot__unreached(map->spreads, &map->metric, 1, unreached), "");
    for (uint32_t c = 0; c < map->columns.count; c++) {
        (void)fprintf(out, " %10.10s", map->columns.names[c]);
    }
    for (uint32_t r = 0; r < map->rows.count; r++) {
        (void)fprintf(out, "\n%-20.20s", map->rows.names[r]);
        for (uint32_t c = 0; c < map->columns.count; c++) {
            const double value = map->cells[(size_t)r * map->columns.count + c];
            (void)(isnan(value) ? fprintf(out, " %10s", "-")
                                : fprintf(out, " %10.4g", value / unit.by));
        }
    }
    (void)fprintf(out, "\n");
}

static void map_title(struct orr_plot *plot, const struct map *map)
{
    char title[450], unreached[120];
    (void)snprintf(title, sizeof title, "%.100s: %.60s by %.60s, means over %s%s",
                   map->spreads->name, map->spreads->axes[map->y], map->spreads->axes[map->x],
                   map->spreads->axis_count > 2 ? "replicas and the other axes" : "replicas",
                   orr_plot__unreached(map->spreads, &map->metric, 1, unreached));
    orr_plot__plain_title(plot, title);
}

static void map_draw(struct orr_plot *plot, const struct map *map, struct orr_plot_unit unit)
{
    char label[200];
    const uint32_t cells = map->columns.count * map->rows.count;
    orr_plot__unit_label(label, map->metric, unit);
    orr_plot__start(plot, (struct orr_plot_size){900, 520, 100, 26, false});
    map_title(plot, map);
    map_names(plot, 'x', map->columns.names, map->columns.count);
    map_names(plot, 'y', map->rows.names, map->rows.count);
    orr_plot__gp(plot, "set xlabel ");
    orr_plot__quote(plot, map->spreads->axes[map->x], 60, false);
    orr_plot__gp(plot, "\nset ylabel ");
    orr_plot__quote(plot, map->spreads->axes[map->y], 60, false);
    orr_plot__gp(plot, "\nset cblabel ");
    orr_plot__quote(plot, label, 100, false);
    orr_plot__gp(plot, "%s", orr_plot__scale_offset(plot));
    /* viridis (van der Walt, Smith 2015): even in lightness, so it reads in grey as well */
    orr_plot__gp(plot,
                 "\nset palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 "
                 "'#fde725')\nunset key\nunset grid\nset border 15\nset xrange [-0.5:%u.5]\n"
                 "set yrange [%u.5:-0.5]\n",
                 map->columns.count - 1, map->rows.count - 1);
    const uint32_t block = orr_plot__block(plot, "column, row, mean");
    double least = (double)INFINITY, most = -(double)INFINITY;
    for (uint32_t c = 0; c < cells; c++) {
        const double value = map->cells[c] / unit.by;
        if (!isnan(value)) {
            least = fmin(least, value);
            most = fmax(most, value);
            orr_plot__row(plot, "%u %u %.9g\n", c % map->columns.count, c / map->columns.count,
                          value);
        }
    }
    orr_plot__gp(plot, "set cbrange [%.9g:%.9g]\nplot ", least,
                 most > least ? most : least + fmax(fabs(least), 1) * 1e-3);
    orr_plot__data(plot, block);
    orr_plot__gp(plot,
                 "using 1:2:(0.5):(0.5):3 with boxxyerror fillstyle solid noborder lc palette");
    if (cells <= NUMBERS_MOST) { /* black on what is light, white on what is dark */
        const double middle = least + (most - least) * 0.6;
        orr_plot__gp(plot, ", \\\n  ");
        orr_plot__data(plot, block);
        orr_plot__gp(plot,
                     "using 1:2:(sprintf(abs($3) < %.9g ? '%%.1g' : '%%.3g', $3)):($3 > %.9g ? "
                     "0x000000 : 0xffffff) with labels tc rgb variable",
                     fmax(fabs(least), fabs(most)) / 100, middle);
    }
    orr_plot__gp(plot, "\n");
}

/* The axis of that name, or number `otherwise`; ORR_NONE: there is none. */
uint32_t orr_plot__axis_of(const struct orr_spreads *spreads, const char *name, uint32_t otherwise)
{
    uint32_t a = 0;
    if (name == NULL) {
        return otherwise < spreads->axis_count ? otherwise : ORR_NONE;
    }
    while (a < spreads->axis_count && strcmp(spreads->axes[a], name) != 0) {
        a++;
    }
    return a < spreads->axis_count ? a : ORR_NONE;
}

static enum orr_status check_metric(const struct orr_spreads *spreads, const char *path,
                                    const char *metric, struct orr_err *err)
{
    bool known = false, reached = false;
    for (uint32_t i = 0; i < spreads->count; i++) {
        if (strcmp(spreads->items[i].metric, metric) == 0) {
            known = true;
            reached = reached || !isnan(orr_spread_mean(&spreads->items[i]));
        }
    }
    if (known) {
        return reached ? ORR_OK
                       : orr_fail(err, ORR_DATA,
                                  "%s: no setting has a mean of \"%s\": in each of them some run "
                                  "did not reach it, or has none",
                                  path, metric);
    }
    return orr_fail(err, ORR_DATA, "%s: no run has the metric \"%s\" (`orrery metrics` lists them)",
                    path, metric);
}

/* Axes that are asked for by name. */
static enum orr_status check_axes(const struct orr_spreads *spreads, const char *path,
                                  const char *const asked[2], struct orr_err *err)
{
    for (size_t i = 0; i < 2; i++) {
        if (asked[i] != NULL && orr_plot__axis_of(spreads, asked[i], 0) == ORR_NONE) {
            char known[500] = "";
            for (uint32_t a = 0; a < spreads->axis_count; a++) {
                const size_t used = strlen(known);
                (void)snprintf(known + used, sizeof known - used, "%s%s", a > 0 ? ", " : "",
                               spreads->axes[a]);
            }
            return orr_fail(err, ORR_USAGE, "%s: the sweep has no axis \"%s\"%s%s", path, asked[i],
                            known[0] != '\0' ? "; it has " : "", known);
        }
    }
    return asked[0] != NULL && asked[1] != NULL && strcmp(asked[0], asked[1]) == 0
               ? orr_fail(err, ORR_USAGE, "%s: the two axes are both %s: name two", path, asked[0])
               : ORR_OK;
}

static enum orr_status map_run(struct orr_plot *plot, const struct orr_spreads *spreads,
                               const struct orr_plot_settings *what, orr_plot_report_fn *report,
                               void *context)
{
    struct map map = {.spreads = spreads,
                      .metric = what->metrics[0],
                      .y = orr_plot__axis_of(spreads, what->axes[0], 0)};
    map.x = orr_plot__axis_of(spreads, what->axes[1], map.y == 1 ? 0 : 1);
    if (map.x == ORR_NONE || map.y == ORR_NONE || map.x == map.y) {
        return orr_fail(plot->in.err, ORR_USAGE,
                        "%s: a map needs two axes of the sweep, and this one has %u", plot->in.path,
                        (unsigned)spreads->axis_count);
    }
    struct orr_arena arena;
    orr_arena_init(&arena);
    map_fill(&map, &arena);
    const struct orr_plot_unit unit = orr_plot__unit_of(spreads, map.metric);
    if (plot->term == ORR_PLOT_DUMB) {
        map_text(plot, &map, unit);
    } else {
        struct orr_plot_files *files = orr_plot__files_open(plot, "map");
        if (files != NULL) {
            map_draw(plot, &map, unit);
            orr_plot__files_close(plot, files, report, context);
        }
    }
    orr_arena_release(&arena);
    return plot->in.status;
}

/* --- a front --- */

struct front {
    const struct orr_spread_row *x, *y;
    uint32_t arm;
    bool best;        /* no setting is better in one and at least as good in the other */
    double right, up; /* where it is, as parts of the axes that all need */
};

static double turned(const char *metric, double value)
{
    return orr_metric_better(metric) == ORR_BETTER_MORE ? -value : value;
}

static bool beats(const struct front *a, const struct front *b)
{
    const double ax = turned(a->x->metric, a->x->mean), bx = turned(b->x->metric, b->x->mean);
    const double ay = turned(a->y->metric, a->y->mean), by = turned(b->y->metric, b->y->mean);
    return ax <= bx && ay <= by && (ax < bx || ay < by);
}

static int by_x(const void *a, const void *b, void *context)
{
    const struct front *p = a, *q = b;
    (void)context;
    return (p->x->mean > q->x->mean) - (p->x->mean < q->x->mean);
}

static uint32_t front_fill(const struct orr_spreads *spreads, const struct orr_plot_settings *what,
                           struct front *points)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < spreads->arm_count; a++) {
        const struct orr_spread_row *x = orr_spread_find(spreads, what->metrics[0], "", a);
        const struct orr_spread_row *y = orr_spread_find(spreads, what->metrics[1], "", a);
        if (x != NULL && y != NULL && !isnan(orr_spread_mean(x)) && !isnan(orr_spread_mean(y))) {
            points[count++] = (struct front){.x = x, .y = y, .arm = a, .best = true};
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count && points[i].best; j++) {
            points[i].best = !beats(&points[j], &points[i]);
        }
    }
    orr_sort(points, count, sizeof *points, by_x, NULL);
    return count;
}

static void front_text(struct orr_plot *plot, const struct orr_spreads *spreads,
                       const struct front *points, uint32_t count, const char *const labels[2],
                       const struct orr_plot_unit units[2])
{
    FILE *out = plot->options->out != NULL ? plot->options->out : stdout;
    const char *const metrics[] = {points->x->metric, points->y->metric};
    char unreached[120];
    (void)fprintf(out, "%-28s %24.24s %24.24s%s\n", "no other is better in both", labels[0],
                  labels[1], orr_plot__unreached(spreads, metrics, 2, unreached));
    for (uint32_t i = 0; i < count; i++) {
        if (points[i].best) {
            (void)fprintf(out, "%-28s %24.4g %24.4g\n", spreads->arms[points[i].arm].label,
                          points[i].x->mean / units[0].by, points[i].y->mean / units[1].by);
        }
    }
}

static double or_else(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

static uint32_t front_rows(struct orr_plot *plot, const struct front *points, uint32_t count,
                           const struct orr_plot_unit units[2], bool best)
{
    uint32_t block = ORR_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_spread_row *x = points[i].x, *y = points[i].y;
        if (points[i].best == best) {
            block = block == ORR_NONE ? orr_plot__block(plot, "x, y, x low, x high, y low, y high")
                                      : block;
            orr_plot__row(plot, "%.9g %.9g %.9g %.9g %.9g %.9g\n", x->mean / units[0].by,
                          y->mean / units[1].by, or_else(x->low, x->mean) / units[0].by,
                          or_else(x->high, x->mean) / units[0].by,
                          or_else(y->low, y->mean) / units[1].by,
                          or_else(y->high, y->mean) / units[1].by);
        }
    }
    return block;
}

#define SAME 0.02 /* of an axis: points so near each other are one to the eye */

static bool is_same(const struct front *a, const struct front *b)
{
    return a->best && b->best && fabs(a->right - b->right) < SAME && fabs(a->up - b->up) < SAME;
}

/* Settings that are best and in one place have one name, that of the first of them. */
static bool is_first(const struct front *points, uint32_t at)
{
    bool first = points[at].best;
    for (uint32_t i = 0; i < at && first; i++) {
        first = !is_same(&points[i], &points[at]);
    }
    return first;
}

/* Of many every n-th has its name: they lie along the front. */
static uint32_t front_each(const struct front *points, uint32_t count)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; i++) {
        first += is_first(points, i);
    }
    return first > NAMED_MOST ? (first + NAMED_MOST - 1) / NAMED_MOST : 1;
}

static void front_name(const struct orr_spreads *spreads, const struct front *points,
                       uint32_t count, uint32_t at, char out[80])
{
    uint32_t same = 0;
    for (uint32_t i = at + 1; i < count; i++) {
        same += is_same(&points[at], &points[i]);
    }
    const char *label = spreads->arms[points[at].arm].label;
    if (same > 0) {
        (void)snprintf(out, 80, "%.30s and %u more", label, same);
    } else {
        (void)snprintf(out, 80, "%.60s", label);
    }
}

/* Names stand on the side of the front on which there are no settings; in a column every second one
 * on the other, where it is further from the next. */
static void front_names(struct orr_plot *plot, const struct orr_spreads *spreads,
                        const struct front *points, uint32_t count,
                        const struct orr_plot_unit units[2])
{
    uint32_t named = 0, first = 0;
    const uint32_t each = front_each(points, count);
    for (uint32_t i = 0; i < count; i++) {
        const bool more_x = orr_metric_better(points[i].x->metric) == ORR_BETTER_MORE;
        const bool more_y = orr_metric_better(points[i].y->metric) == ORR_BETTER_MORE;
        if (is_first(points, i) && first++ % each == 0) {
            char name[80];
            const bool other = orr_plot__narrow(plot) && named++ % 2 == 1;
            const bool right = more_x != other, above = more_y != other;
            front_name(spreads, points, count, i, name);
            orr_plot__gp(plot, "set label ");
            orr_plot__quote(plot, name, 30, false);
            orr_plot__gp(plot, " at %.9g,%.9g %s offset %g,%g textcolor rgb '#0072b2'\n",
                         points[i].x->mean / units[0].by, points[i].y->mean / units[1].by,
                         right ? "left" : "right", right ? 0.8 : -0.8, above ? 0.4 : -0.4);
        }
    }
}

static double front_mean(const struct front *point, char axis)
{
    return axis == 'x' ? point->x->mean : point->y->mean;
}

/* By the means: the interval of two replicas can be wider than all of them together, and goes out
 * of the picture. */
static void front_range(struct orr_plot *plot, struct front *points, uint32_t count, char axis,
                        double by, double before, double behind)
{
    double least = (double)INFINITY, most = -(double)INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        least = fmin(least, front_mean(&points[i], axis));
        most = fmax(most, front_mean(&points[i], axis));
    }
    const double span = most > least ? most - least : fmax(fabs(most), 1);
    for (uint32_t i = 0; i < count; i++) {
        *(axis == 'x' ? &points[i].right : &points[i].up) =
            (front_mean(&points[i], axis) - least) / span;
    }
    orr_plot__gp(plot, "set %crange [%.9g:%.9g]\n", axis, (least - span * before) / by,
                 (most + span * behind) / by);
    if (least >= 0) { /* names may need room where there are no values */
        orr_plot__gp(plot, "set %ctics 0,%.9g\n", axis,
                     orr_plot__round_step(span * (1 + before + behind) / by,
                                          orr_plot__narrow(plot) ? 4 : 8));
    }
}

#define AXES_PART 0.62 /* of the picture's width, beside the legend */
#define ROOM      0.04

/* The room that the longest name needs beside the axis, as a part of it. */
static double front_room(const struct orr_plot *plot, const struct orr_spreads *spreads,
                         const struct front *points, uint32_t count)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        char name[80];
        front_name(spreads, points, count, i, name);
        const uint32_t letters = is_first(points, i) ? (uint32_t)strlen(name) : 0;
        most = letters > most ? letters : most;
    }
    const double part = (most < 30 ? most : 30) / (plot->letters * AXES_PART);
    return fmax(ROOM, part < 0.5 ? part / (1 - part) : 1);
}

/* Room for names is where they stand: in a column on both sides. */
static void front_axes(struct orr_plot *plot, const struct orr_spreads *spreads,
                       struct front *points, uint32_t count, const struct orr_plot_unit units[2])
{
    const bool more_x = orr_metric_better(points[0].x->metric) == ORR_BETTER_MORE;
    const bool both = orr_plot__narrow(plot);
    front_range(plot, points, count, 'x', units[0].by, 0, 0); /* places first: names hang on them */
    front_range(plot, points, count, 'y', units[1].by, 0.1, 0.1);
    const double room = front_room(plot, spreads, points, count);
    front_range(plot, points, count, 'x', units[0].by, more_x && !both ? ROOM : room,
                more_x || both ? room : ROOM);
}

static void front_draw(struct orr_plot *plot, const struct orr_spreads *spreads,
                       struct front *points, uint32_t count, const char *const labels[2],
                       const struct orr_plot_unit units[2])
{
    char title[420], unreached[120];
    const char *const metrics[] = {points->x->metric, points->y->metric};
    bool intervals = false;
    for (uint32_t i = 0; i < count; i++) {
        intervals = intervals || points[i].x->high > points[i].x->low ||
                    points[i].y->high > points[i].y->low;
    }
    orr_plot__start(plot, (struct orr_plot_size){900, 520, 100, 26, false});
    (void)snprintf(title, sizeof title, "%.100s: settings that no other beats in both%s%s",
                   spreads->name,
                   intervals && !orr_plot__narrow(plot) ? "; bars: 95 % interval of the mean" : "",
                   orr_plot__unreached(spreads, metrics, 2, unreached));
    orr_plot__plain_title(plot, title);
    orr_plot__gp(plot, "set xlabel ");
    orr_plot__quote(plot, labels[0], 100, false);
    orr_plot__gp(plot, "\nset ylabel ");
    orr_plot__quote(plot, labels[1], 100, false);
    orr_plot__gp(plot, "\n");
    front_axes(plot, spreads, points, count, units);
    front_names(plot, spreads, points, count, units);
    orr_plot__legend(plot, "", 2, 22, false);
    const uint32_t others = front_rows(plot, points, count, units, false);
    const uint32_t best = front_rows(plot, points, count, units, true);
    orr_plot__gp(plot, "plot ");
    if (others != ORR_NONE) {
        orr_plot__data(plot, others);
        orr_plot__gp(plot,
                     "using %s pt 6 ps 0.7 lw 1 lc rgb '#a0a0a0' title 'another is better', \\\n  ",
                     count <= NAMED_MOST ? "1:2:3:4:5:6 with xyerrorbars" : "1:2 with points");
    }
    orr_plot__data(plot, best);
    orr_plot__gp(plot, "using 1:2 with lines lw 1 dt 2 lc rgb '#0072b2' notitle, \\\n  ");
    orr_plot__data(plot, best);
    orr_plot__gp(plot, "using 1:2:3:4:5:6 with xyerrorbars pt 7 ps 1.1 lw 1 lc rgb '#0072b2' "
                       "title 'no other is'\n");
}

static enum orr_status front_run(struct orr_plot *plot, const struct orr_spreads *spreads,
                                 const struct orr_plot_settings *what, orr_plot_report_fn *report,
                                 void *context)
{
    struct front *points = orr_zalloc(spreads->arm_count + (size_t)1, sizeof *points);
    const uint32_t count = front_fill(spreads, what, points);
    char x[200], y[200];
    const struct orr_plot_unit units[2] = {orr_plot__unit_of(spreads, what->metrics[0]),
                                           orr_plot__unit_of(spreads, what->metrics[1])};
    const char *const labels[2] = {x, y};
    orr_plot__unit_label(x, what->metrics[0], units[0]);
    orr_plot__unit_label(y, what->metrics[1], units[1]);
    if (count == 0) {
        plot->in.status =
            orr_fail(plot->in.err, ORR_DATA, "%s: no setting has both metrics", plot->in.path);
    } else if (plot->term == ORR_PLOT_DUMB) {
        front_text(plot, spreads, points, count, labels, units);
    } else {
        struct orr_plot_files *files = orr_plot__files_open(plot, "front");
        if (files != NULL) {
            front_draw(plot, spreads, points, count, labels, units);
            orr_plot__files_close(plot, files, report, context);
        }
    }
    orr_free(points);
    return plot->in.status;
}

bool orr_plot_is_of_settings(const char *figure)
{
    return strcmp(figure, "map") == 0 || strcmp(figure, "front") == 0 ||
           strcmp(figure, "multiples") == 0;
}

enum orr_status orr_plot_settings(const char *path, const char *figure,
                                  const struct orr_plot_settings *what,
                                  const struct orr_plot_options *options,
                                  orr_plot_report_fn *report, void *context, struct orr_err *err)
{
    struct orr_spreads spreads;
    struct orr_plot plot = {.options = options, .in = {.path = path, .err = err}};
    enum orr_status status = orr_plot__term(options->term, &plot.term, err);
    status = status == ORR_OK ? orr_spreads_read(path, "all", &spreads, err) : status;
    if (status != ORR_OK) {
        return status;
    }
    const bool is_front = strcmp(figure, "front") == 0;
    for (int m = 0; m < (is_front ? 2 : 1) && status == ORR_OK; m++) {
        status = check_metric(&spreads, path, what->metrics[m], err);
    }
    if (status == ORR_OK && !is_front) {
        status = check_axes(&spreads, path, what->axes, err);
    }
    if (status == ORR_OK) {
        status = (is_front ? front_run
                  : strcmp(figure, "map") == 0
                      ? map_run
                      : orr_plot__multiples)(&plot, &spreads, what, report, context);
    }
    orr_spreads_release(&spreads);
    return status;
}
