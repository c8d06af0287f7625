/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_waterfall.c - waterfall: where the GPU time of the cluster went, from capacity to useful
 * work.
 *
 * GPUs are free while jobs wait as far as waiting jobs ask for them at that instant; why
 * they were not given is what `reasons` shows.
 */
#include "plot_int.h"
#include "plots_sql.h"

#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/base/sort.h>

#define MOST_BARS 20

struct bar {
    const char *name;
    double from, to; /* GPU-hours */
    const char *colour;
};

struct waterfall {
    struct bar bars[MOST_BARS];
    uint32_t count;
    double capacity, left; /* GPU-hours; left: under the last bar */
};

/* What is held and what waits changes by so many milli-GPU. */
struct changes {
    int64_t *at;
    struct change {
        int64_t held, waits, down, away;
    } * by;
    uint32_t count, at_room, by_room;
};

static void change_push(struct changes *changes, int64_t at, struct change by)
{
    changes->at = ORR_ROOM_FOR_ONE(changes->at, changes->count, changes->at_room);
    changes->by = ORR_ROOM_FOR_ONE(changes->by, changes->count, changes->by_room);
    changes->at[changes->count] = at;
    changes->by[changes->count++] = by;
}

static void changes_load(struct orr_plot *plot, struct changes *changes)
{
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__pieces);
    while (orr_results_step(&plot->in, row)) {
        const struct change by = {sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3),
                                  sqlite3_column_int64(row, 4), sqlite3_column_int64(row, 5)};
        change_push(changes, sqlite3_column_int64(row, 0), by);
        change_push(changes, sqlite3_column_int64(row, 1),
                    (struct change){-by.held, -by.waits, -by.down, -by.away});
    }
}

/* Before the run begins there is nothing to be had, though an axis may begin at 0. */
static void span_of(const struct orr_plot *plot, orr_ms *from, orr_ms *to)
{
    orr_plot__span(plot, from, to);
    *from = *from > plot->run.begin ? *from : plot->run.begin;
    *to = *to > *from ? *to : *from + 1;
}

/* GPU-hours held, free while they were asked for, down, and of nodes that were not there. */
struct spent {
    double held, wanted, down, away;
};

static struct spent changes_sum(const struct orr_plot *plot, const struct changes *changes)
{
    const double hours = 3600000.0 * ORR_MGPU;
    const int64_t capacity = (int64_t)(plot->run.capacity_gpus * ORR_MGPU + 0.5);
    uint32_t *order = orr_sort_index_by_i64(changes->at, changes->count);
    orr_ms now = 0, end = 0;
    span_of(plot, &now, &end);
    struct change state = {0, 0, 0, 0};
    struct spent spent = {0, 0, 0, 0};
    for (uint32_t i = 0; i <= changes->count; i++) {
        int64_t at = i < changes->count ? changes->at[order[i]] : end;
        at = at < end ? at : end;
        if (at > now) {
            const double length = (double)(at - now) / hours;
            int64_t idle = capacity - state.away - state.down - state.held;
            idle = idle < state.waits ? idle : state.waits;
            spent.held += (double)state.held * length;
            spent.wanted += (double)(idle > 0 ? idle : 0) * length;
            spent.down += (double)state.down * length;
            spent.away += (double)state.away * length;
            now = at;
        }
        if (i < changes->count) {
            state.held += changes->by[order[i]].held;
            state.waits += changes->by[order[i]].waits;
            state.down += changes->by[order[i]].down;
            state.away += changes->by[order[i]].away;
        }
    }
    orr_free(order);
    return spent;
}

/* What is taken away; nothing leaves no bar. */
static void bar_minus(struct waterfall *fall, const char *name, double gpu_h, const char *colour)
{
    if (gpu_h > 0 && fall->count < MOST_BARS) {
        fall->bars[fall->count++] = (struct bar){name, fall->left - gpu_h, fall->left, colour};
        fall->left -= gpu_h;
    }
}

static void bar_total(struct waterfall *fall, const char *name, const char *colour)
{
    if (fall->count < MOST_BARS) {
        fall->bars[fall->count++] = (struct bar){name, 0, fall->left, colour};
    }
}

enum { LOST_WORK = 8 }; /* the first of these; the rest was not work */
static const char *const lost[] = {"lost: preempted",
                                   "lost: reclaimed",
                                   "lost: consolidated",
                                   "lost: stale gangs",
                                   "lost: node failures",
                                   "lost: longest run time",
                                   "lost: maintenance",
                                   "lost: pods not ready",
                                   "held by parts of gangs",
                                   "writing checkpoints",
                                   "restarting",
                                   "idle in sessions and services",
                                   "slower than packed and alone"};

static void fall_load(struct orr_plot *plot, struct waterfall *fall)
{
    struct changes changes = {0};
    changes_load(plot, &changes);
    const struct spent spent = changes_sum(plot, &changes);
    orr_free(changes.at);
    orr_free(changes.by);
    orr_ms from = 0, to = 0;
    span_of(plot, &from, &to);
    fall->capacity = plot->run.capacity_gpus * (double)(to - from) / 3600000.0;
    fall->capacity -= spent.away;
    fall->left = fall->capacity;
    bar_total(fall, "capacity", "#606060");
    bar_minus(fall, "nodes down, cordoned", spent.down, "#882255");
    bar_minus(fall, "free, nobody asks", fall->capacity - spent.down - spent.held - spent.wanted,
              "#d4d4d0");
    bar_minus(fall, "free while jobs wait", spent.wanted, "#e69f00");
    bar_total(fall, "allocated", "#0072b2");
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__lost);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, from);
        (void)sqlite3_bind_int64(row, 2, to);
    }
    bool any = false;
    while (orr_results_step(&plot->in, row)) {
        for (uint32_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
            double gpu_h = sqlite3_column_double(row, (int)i) / (3600000.0 * ORR_MGPU);
            any = any || gpu_h > 0;
            bar_minus(fall, lost[i], gpu_h, i < LOST_WORK ? "#d55e00" : "#cc79a7");
        }
    }
    bar_total(fall, any ? "goodput" : "goodput (nothing was lost)", "#009e73");
}

enum { NUMBERS = 24, LEAST_COLUMNS = 10 }; /* of a terminal: beside bars, and of these */

/* Letters of the names, which have a margin of their own. What is longer than that is not drawn at
 * all: in a narrow terminal names are cut, and bars keep a few columns. */
static uint32_t fall_letters(const struct orr_plot *plot, const struct waterfall *fall)
{
    uint32_t most = 40, longest = 0;
    if (plot->term == ORR_PLOT_DUMB) {
        const int room = (int)plot->letters - NUMBERS - LEAST_COLUMNS - 5;
        most = room > 10 ? (uint32_t)room : 10;
    }
    for (uint32_t i = 0; i < fall->count; i++) {
        const uint32_t letters = (uint32_t)strlen(fall->bars[i].name);
        longest = letters > longest ? letters : longest;
    }
    return longest < most ? longest : most;
}

static void fall_names(struct orr_plot *plot, const struct waterfall *fall)
{
    const bool narrow = orr_plot__narrow(plot); /* names stand above their bars */
    const uint32_t letters = fall_letters(plot, fall);
    orr_plot__gp(plot, "set yrange [%.1f:-0.6]\n", fall->count - 0.4);
    for (uint32_t i = 0; narrow && i < fall->count; i++) {
        orr_plot__gp(plot, "set label ");
        orr_plot__quote(plot, fall->bars[i].name, 40, false);
        orr_plot__gp(plot, " at graph 0.01,first %.2f left%s\n", i - 0.24, orr_plot__ink(plot));
    }
    orr_plot__gp(plot, narrow ? "" : "set ytics (");
    for (uint32_t i = 0; !narrow && i < fall->count; i++) {
        orr_plot__gp(plot, "%s", i > 0 ? ", " : "");
        orr_plot__quote(plot, fall->bars[i].name, letters, true);
        orr_plot__gp(plot, " %u", i);
    }
    orr_plot__gp(plot, narrow ? "unset ytics\nset title offset graph 0.4,0\n" : ") scale 0\n");
    orr_plot__gp(plot, "set xrange [0:100]\nset xlabel '%% of the GPU time of the cluster'\n"
                       "unset key\n");
    for (uint32_t i = 0; i < fall->count; i++) {
        double gpu_h = fall->bars[i].to - fall->bars[i].from;
        const double part = 100 * gpu_h / fall->capacity;
        const bool tiny = part > 0 && part < 0.05; /* no bar is 0.0 % */
        char at[48];
        (void)snprintf(at, sizeof at,
                       plot->term == ORR_PLOT_DUMB ? "1,first %u offset 2,0" : "1.02,first %u", i);
        orr_plot__gp(plot, "set label '%s%.1f %%  %.*f GPU-h' at graph %s left%s\n",
                     tiny ? "<" : "", tiny ? 0.1 : part,
                     gpu_h < 1     ? 2
                     : gpu_h < 100 ? 1
                                   : 0,
                     gpu_h, at, orr_plot__ink(plot));
    }
}

static void fall_bars(struct orr_plot *plot, const struct waterfall *fall)
{
    const double percent = 100 / fall->capacity;
    const bool narrow = orr_plot__narrow(plot);
    const double least = narrow ? 0.8 : 0.3; /* what is next to nothing is seen all the same */
    (void)orr_plot__block(plot, "row, from, to in % of the capacity, colour, GPU-hours");
    for (uint32_t i = 0; i < fall->count; i++) {
        const struct bar *bar = &fall->bars[i];
        double to = bar->to * percent, from = bar->from * percent;
        from = to - from < least ? to - least : from;
        orr_plot__row(plot, "%u %.6g %.6g 0x%s %.9g\n", i, from > 0 ? from : 0,
                      from > 0     ? to
                      : to > least ? to
                                   : least,
                      orr_plot__shade(plot, bar->colour) + 1, bar->to - bar->from);
        if (i + 1 < fall->count) {
            double at = (i == 0 || bar->from <= 0 ? bar->to : bar->from) * percent;
            orr_plot__gp(plot,
                         "set arrow from %.6g,%.2f to %.6g,%.2f nohead dt 3 lc rgb '#808080'\n", at,
                         i + 0.36, at, i + 0.64);
        }
    }
    orr_plot__gp(plot,
                 "set lmargin at screen %g\nset rmargin at screen %g\nunset grid\n"
                 "set grid xtics lc rgb '#e2e2e2' lt 1 lw 1 back\nplot ",
                 narrow ? 0.04 : 0.25, narrow ? 0.55 : 0.80);
    orr_plot__data(plot, 0);
    orr_plot__gp(plot,
                 "using 2:1:2:3:($1-%g):($1+0.36):4 with boxxyerror lc rgb variable "
                 "fs solid 1.0 noborder\n",
                 narrow ? -0.02 : 0.36);
}

static void fall_text(struct orr_plot *plot, const struct waterfall *fall)
{
    enum { MOST = 500 };
    const int left = (int)fall_letters(plot, fall) + 2;
    const int columns = (int)plot->letters - left - NUMBERS - 2; /* in the frame */
    (void)orr_plot__block(plot, "row, bar");
    for (uint32_t i = 0; i < fall->count; i++) {
        char text[MOST + 1];
        const struct bar *bar = &fall->bars[i];
        int first = (int)(bar->from / fall->capacity * columns + 0.5);
        int last = (int)(bar->to / fall->capacity * columns + 0.5);
        for (int c = 0; c < columns; c++) {
            text[c] = c >= first && (c < last || c == first) ? '#' : ' ';
        }
        text[columns] = '\0';
        orr_plot__row(plot, "%u \"%s\"\n", i, text);
    }
    orr_plot__text_rows(plot, fall->count, 2, 4);
    const int step = columns >= 6 * 5 ? 20 : columns >= 6 * 2 ? 50 : 100; /* numbers keep apart */
    orr_plot__gp(plot, "set xtics %d\nset lmargin %d\nset rmargin %d\nplot ", step, left, NUMBERS);
    orr_plot__data(plot, 0);
    orr_plot__gp(plot, "using (0):1:2 with labels left offset 1,0\n");
}

void orr_plot__waterfall(struct orr_plot *plot)
{
    struct waterfall fall = {.count = 0};
    bool dumb = plot->term == ORR_PLOT_DUMB;
    fall_load(plot, &fall);
    orr_plot__start(plot, (struct orr_plot_size){900, 140 + 40 * (int)fall.count, 100,
                                                 9 + 2 * (int)fall.count, false});
    orr_plot__title(plot, "Where the GPU time went",
                    orr_plot__is_part(plot) ? "of a part of it" : "the whole run");
    if (fall.capacity <= 0 || plot->run.jobs == 0) {
        orr_plot__nothing(plot, "no job was submitted");
        return;
    }
    fall_names(plot, &fall);
    if (dumb) {
        fall_text(plot, &fall);
    } else {
        fall_bars(plot, &fall);
    }
}

/* --- several runs: a bar each, cut into what the bars above are of --- */

enum { LOST = sizeof lost / sizeof lost[0], PARTS = LOST + 5 };

/* What is useful, or held, stands left and free GPUs right. */
static const char *part_name(uint32_t part)
{
    static const char *const after[] = {"free while jobs wait", "free, nobody asks",
                                        "nodes down, cordoned"};
    return part == 0         ? "goodput"
           : part == 1       ? "allocated"
           : part < 2 + LOST ? lost[part - 2]
                             : after[part - 2 - LOST];
}

/* GPU-hours of each part; of what is held, either all or what became of it. */
static void parts_take(const struct waterfall *fall, double gpu_h[PARTS])
{
    for (uint32_t i = 1; i < fall->count; i++) {
        const struct bar *bar = &fall->bars[i];
        for (uint32_t p = 0; p < PARTS; p++) {
            const char *name = part_name(p);
            const bool whole = p == 1 && i + 1 < fall->count;
            if (!whole && strncmp(bar->name, name, strlen(name)) == 0) {
                gpu_h[p] = bar->to - bar->from;
            }
        }
    }
}

static const char *part_colour(uint32_t part)
{
    static const char *const colours[] = {"#009e73", "#0072b2", "#d55e00", "#f0a080", "#882255",
                                          "#8c6d31", "#332288", "#999933", "#56b4e9", "#7f2704",
                                          "#cc79a7", "#ddcc77", "#44aa99", "#88ccee", "#aa4499",
                                          "#e69f00", "#d4d4d0", "#606060"};
    _Static_assert(sizeof colours / sizeof colours[0] == PARTS, "a colour for each part");
    return colours[part];
}

/* The parts that some run has, cut from the left: blocks of row, begin and end in %. */
static void parts_plot(struct orr_plot *to, const double *gpu_h, const bool *has)
{
    bool more = false;
    uint32_t block = 0;
    for (uint32_t p = 0; p < PARTS; p++) {
        if (!has[p]) {
            continue;
        }
        block = orr_plot__block(to, part_name(p));
        for (uint32_t i = 0; i < to->among; i++) {
            const double *of = gpu_h + (size_t)i * PARTS;
            double all = 0, before = 0;
            for (uint32_t q = 0; q < PARTS; q++) {
                before += q < p ? of[q] : 0;
                all += of[q];
            }
            all = all > 0 ? all / 100 : 1;
            orr_plot__row(to, "%u %.6g %.6g %.9g\n", i, before / all, (before + of[p]) / all,
                          of[p]);
        }
        orr_plot__gp(to, more ? ", \\\n  " : "plot ");
        orr_plot__data(to, block);
        orr_plot__gp(to, "using 2:1:2:3:($1-0.36):($1+0.36) with boxxyerror ");
        if (to->term != ORR_PLOT_DUMB) {
            orr_plot__gp(to, "fc rgb '%s' fs solid 1.0 noborder ", part_colour(p));
        }
        orr_plot__gp(to, "title ");
        orr_plot__quote(to, part_name(p), ORR_PLOT_NAME, false);
        more = true;
    }
    orr_plot__gp(to, "\n");
}

static void parts_draw(struct orr_plot *to, const struct orr_plot *runs, const double *gpu_h,
                       const bool *has)
{
    uint32_t letters = 8, count = 0;
    for (uint32_t p = 0; p < PARTS; p++) {
        const uint32_t length = has[p] ? (uint32_t)strlen(part_name(p)) : 0;
        letters = length > letters ? length : letters;
        count += has[p];
    }
    orr_plot__legend(to, "GPU time", count, letters, false);
    orr_plot__gp(to,
                 "set xrange [0:100]\nset xlabel '%% of the GPU time of the cluster'\n"
                 "set yrange [%.1f:-0.6]\nset ytics (",
                 to->among - 0.4);
    for (uint32_t i = 0; i < to->among; i++) {
        orr_plot__gp(to, i > 0 ? ", " : "");
        orr_plot__quote(to, runs[i].label, ORR_PLOT_NAME, true);
        orr_plot__gp(to, " %u", i);
    }
    orr_plot__gp(to, ") scale 0\nunset grid\nset grid xtics lc rgb '#e2e2e2' lt 1 lw 1 back\n");
    parts_plot(to, gpu_h, has);
}

void orr_plot__runs_waterfall(struct orr_plot *to, struct orr_plot *runs)
{
    double *gpu_h = orr_zalloc((size_t)to->among * PARTS, sizeof *gpu_h);
    bool any = false, has[PARTS] = {false};
    for (uint32_t i = 0; i < to->among; i++) {
        struct waterfall fall = {.count = 0};
        fall_load(&runs[i], &fall);
        any = any || (fall.capacity > 0 && runs[i].run.jobs > 0);
        parts_take(&fall, gpu_h + (size_t)i * PARTS);
    }
    int named = 0;
    for (uint32_t p = 0; p < PARTS; p++) {
        for (uint32_t i = 0; i < to->among; i++) {
            has[p] = has[p] || gpu_h[(size_t)i * PARTS + p] > 0;
        }
        named += has[p];
    }
    const int bars = 220 + 50 * (int)to->among, legend = 190 + 26 * named;
    orr_plot__start(to, (struct orr_plot_size){900, bars > legend ? bars : legend, 100,
                                               14 + 3 * (int)to->among, false});
    orr_plot__title(to, "Where the GPU time went",
                    orr_plot__is_part(to) ? "of a part of them" : "the whole runs");
    if (!any) {
        orr_plot__nothing(to, "no job was submitted");
    } else {
        parts_draw(to, runs, gpu_h, has);
    }
    orr_free(gpu_h);
}
