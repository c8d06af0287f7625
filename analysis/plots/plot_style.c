/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_style.c - how every figure looks: colours, fonts, titles, axes, names.
 *
 * Names come from users: they reach gnuplot only inside single quotes, where nothing but the quote
 * itself means anything, and terminals run with noenhanced.
 */
#include "plot_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/base/text.h>

/* Okabe-Ito without its black and yellow, then hues of Tol's muted set that differ from them. */
static const char *const colours[ORR_PLOT_COLOURS] = {
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
    "#332288", "#ddcc77", "#882255", "#44aa99", "#8c6d31", "#999933",
};

const char *orr_plot__colour(uint32_t rank, uint32_t shown)
{
    return rank < shown && rank < ORR_PLOT_COLOURS ? colours[rank] : ORR_PLOT_GREY;
}

void orr_plot__gp(struct orr_plot *plot, const char *format, ...)
{
    char little[2000], *script = little;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(little, sizeof little, format, args);
    va_end(args);
    if (length >= (int)sizeof little) {
        script = orr_alloc((size_t)length + 1, 1);
        (void)vsnprintf(script, (size_t)length + 1, format, again);
    }
    va_end(again);
    orr_plot__shaded(plot, script);
    (void)fputs(script, plot->gp);
    if (script != little) {
        orr_free(script);
    }
}

const char *orr_plot__ink(const struct orr_plot *plot)
{
    return plot->term == ORR_PLOT_DUMB ? ""
           : plot->options->dark       ? " textcolor rgb '#f2f4f6'"
                                       : " textcolor rgb '#000000'";
}

void orr_plot__row(struct orr_plot *plot, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(plot->dat, format, args);
    va_end(args);
}

uint32_t orr_plot__block(struct orr_plot *plot, const char *what)
{
    if (plot->blocks > 0) {
        orr_plot__row(plot, "\n\n");
    }
    orr_plot__row(plot, "# %s\n", what);
    return plot->blocks++;
}

void orr_plot__data(struct orr_plot *plot, uint32_t block)
{
    orr_plot__quote(plot, plot->dat_name, 400, false);
    orr_plot__gp(plot, " index %u ", block);
}

/* Where both curves rise at one x and were equal before, gnuplot looks for the point in which they
 * cross and finds one at the end of the axis: a line of no width, which readers of PDF draw. So a
 * bucket begins a millionth of its length late. */
void orr_plot__between(struct orr_plot *plot, orr_ms bucket_ms, uint32_t column)
{
    orr_plot__gp(plot, "using ($1+(int($0)%%2==0)*%.9g):%u:%u with filledcurves ",
                 (double)bucket_ms * 1e-9, column, column + 1);
}

/* Bytes of the UTF-8 character at `text`, 0 for what is none or cannot be printed. */
static size_t utf8_bytes(const unsigned char *text)
{
    if (text[0] < 0x80) {
        return text[0] >= ' ' && text[0] != 0x7f ? 1 : 0;
    }
    size_t bytes = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool low = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool high = (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf4 && text[1] >= 0x90);
    bool control = text[0] == 0xc2 && text[1] < 0xa0;
    return low || high || control ? 0 : bytes;
}

static uint32_t utf8_length(const char *text)
{
    uint32_t count = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; count++) {
        size_t bytes = utf8_bytes(at);
        at += bytes > 0 ? bytes : 1;
    }
    return count;
}

void orr_plot__quote(struct orr_plot *plot, const char *text, uint32_t max_chars, bool tic)
{
    bool cut = utf8_length(text) > max_chars;
    uint32_t left = cut ? max_chars - 1 : max_chars;
    (void)putc('\'', plot->gp);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0' && left > 0; left--) {
        size_t bytes = utf8_bytes(at);
        if (bytes == 0) {
            (void)putc('?', plot->gp);
            at++;
            continue;
        }
        if (*at == '\'' || (tic && *at == '%')) {
            (void)putc(*at, plot->gp);
        }
        (void)fwrite(at, 1, bytes, plot->gp);
        at += bytes;
    }
    orr_plot__gp(plot, "%s'", cut ? "\xe2\x80\xa6" : "");
}

#define TEXT_COLUMNS 100 /* of a figure in a terminal that does not say */
/* columns beside a map of characters: names of rows, of which gnuplot draws none that is longer */
#define MAP_LEFT     (ORR_PLOT_NODE_NAME + 1)
#define MAP_RIGHT    4

uint32_t orr_plot__map_columns(void)
{
    return (uint32_t)(orr_text_columns(TEXT_COLUMNS) - MAP_LEFT - MAP_RIGHT - 1);
}

void orr_plot__text_rows(struct orr_plot *plot, uint32_t rows, uint32_t each, uint32_t below)
{
    const uint32_t above = 4; /* the title */
    orr_plot__gp(plot,
                 "set terminal dumb size %d,%u noenhanced\nset tmargin %u\nset bmargin %u\n"
                 "set yrange [%.9g:%.9g]\n",
                 (int)plot->letters, above + (rows - 1) * each + 3 + below, above, below,
                 rows - 1 + 1.0 / each, -1.0 / each);
}

/* Text terminals draw maps of characters: one character a cell, rows of them as labels. */
void orr_plot__text_map(struct orr_plot *plot, uint32_t rows, orr_ms from, orr_ms to)
{
    const int width = orr_text_columns(TEXT_COLUMNS);
    double step = (double)(to - from) / (orr_plot__map_columns() + 1);
    orr_plot__text_rows(plot, rows, 1, 4);
    orr_plot__gp(plot,
                 "set lmargin at screen %.6f\nset rmargin at screen %.6f\nunset key\n"
                 "unset ylabel\nplot ",
                 (double)MAP_LEFT / width, 1 - (double)MAP_RIGHT / width);
    orr_plot__data(plot, 0);
    orr_plot__gp(plot, "using (%.3f):1:2 with labels left\n",
                 orr_plot__x(plot, from) + step / 1000);
}

#define PRINT_MM       174.0 /* of a figure for print whose width nobody states: two columns */
#define PRINT_PT       6.0
#define PRINT_DPI      300.0 /* of pixels for print */
#define SCREEN_DPI     96.0
#define NARROW_LETTERS 80 /* fewer across: the legend goes below */
#define NARROW_SHAPE   1.2
#define LEAST_SHAPE    0.6 /* height to width where space is scarce */
#define LETTER_EM      0.6 /* width of a letter to its size, a wide one's */
#define LINE_EM        1.5 /* height of a line to the size of letters; pdfcairo makes it higher */
#define LINE_EM_PDF    1.6
#define AXIS_PART      0.6 /* of the width of a picture that is its axis, beside a legend */

/* "NAME", "NAME,PT" or ",PT" as asked for, over the terminal's own. */
static void font_of(const struct orr_plot *plot, const char *name, double points, char *out,
                    size_t room, double *size)
{
    const char *asked = plot->options->font != NULL ? plot->options->font : "";
    const char *comma = strrchr(asked, ',');
    const size_t bytes = comma != NULL ? (size_t)(comma - asked) : strlen(asked);
    double given = 0;
    (void)snprintf(out, room, "%.*s", (int)bytes, asked);
    if (bytes == 0) {
        (void)snprintf(out, room, "%s", name);
    }
    for (char *c = out; *c != '\0'; c++) { /* it stands between quotes of gnuplot */
        *c = *c == '\'' || *c == ',' || (unsigned char)*c < ' ' ? '_' : *c;
    }
    *size = points;
    if (comma != NULL && orr_parse_double(comma + 1, strlen(comma + 1), &given) && given > 0) {
        *size = given;
    }
}

static double letters_of(double mm, double points)
{
    return mm / 25.4 * 72 / (points * LETTER_EM);
}

bool orr_plot__narrow(const struct orr_plot *plot)
{
    char font[100];
    double points;
    font_of(plot, "", PRINT_PT, font, sizeof font, &points);
    return plot->options->width_mm > 0 &&
           letters_of(plot->options->width_mm, points) < NARROW_LETTERS;
}

#define LEGEND_SAMPLE           18 /* letters beside a name that gnuplot counts for its box and gaps */
/* What gnuplot 5.4 counts for an entry of a frame as wide as the page, found by trying: of a PDF 10
 * letters make three columns in 66, 11 to 18 make two. */
#define LEGEND_OF_PAGE(letters) (1.25 * (letters) + 9.5)

/* The name of the axis' last time, such as "06-04" or "day 14", stands half beside it. */
double orr_plot__narrow_right(const struct orr_plot *plot)
{
    return 1 - 3.7 / plot->letters;
}

/* Columns that a legend of such names has below a picture. */
static uint32_t columns_of(const struct orr_plot *plot, double letters)
{
    const double fit = plot->letters / letters;
    return fit < 1 ? 1 : fit > 4 ? 4 : (uint32_t)fit;
}

#define LEGEND_NAMES 10 /* queues that figures with such a legend name, at most */
#define LEGEND_ROWS  4  /* that a narrow picture has room for as it is */
#define LEGEND_LINE  1.15

/* What the legend of a narrow picture needs beyond its room, as a part of the picture's width. */
static double legend_more(const struct orr_plot *plot, double line_mm, double width_mm)
{
    const uint32_t named = plot->queue_count < LEGEND_NAMES ? plot->queue_count : LEGEND_NAMES;
    const struct orr_plot_slots slots = {.shown = named, .others = plot->queue_count - named};
    const uint32_t columns = columns_of(plot, orr_plot__slots_letters(plot, slots) + LEGEND_SAMPLE);
    const uint32_t entries = named + 3; /* and others, peak, capacity */
    const uint32_t rows = (entries + columns - 1) / columns;
    return rows > LEGEND_ROWS ? (rows - LEGEND_ROWS) * LEGEND_LINE * line_mm / width_mm : 0;
}

static void start_picture(struct orr_plot *plot, struct orr_plot_size size)
{
    const bool pdf = plot->term == ORR_PLOT_PDF, svg = plot->term == ORR_PLOT_SVG;
    const double mm = plot->options->width_mm > 0 ? plot->options->width_mm : pdf ? PRINT_MM : 0;
    double shape = (double)size.height / size.width, points;
    char font[100];
    font_of(plot, svg ? "Helvetica" : "Sans",
            mm > 0 ? PRINT_PT
            : svg  ? 9.75
                   : 10,
            font, sizeof font, &points);
    const double least = orr_plot__narrow(plot) ? NARROW_SHAPE : mm > 0 ? LEAST_SHAPE : 0;
    shape = shape < least ? least : shape;
    const double width_mm = mm > 0 ? mm : size.width * 25.4 / SCREEN_DPI;
    const double line_mm = points * (pdf ? LINE_EM_PDF : LINE_EM) / 72 * 25.4;
    plot->letters = letters_of(width_mm, points);
    if (size.names && orr_plot__narrow(plot)) {
        shape += legend_more(plot, line_mm, width_mm);
    }
    plot->line = line_mm / (width_mm * shape);
    plot->small = 0.85 * points * (svg ? SCREEN_DPI / 72 : 1);
    if (pdf) {
        orr_plot__gp(plot,
                     "set terminal pdfcairo size %.2fcm,%.2fcm noenhanced font '%s,%g' fontscale 1 "
                     "linewidth 0.6 pointscale 0.5 background '#ffffff'\n",
                     mm / 10, mm * shape / 10, font, points);
        return;
    }
    const double dpi = svg ? SCREEN_DPI : PRINT_DPI;
    const double width = mm > 0 ? mm / 25.4 * dpi : size.width;
    const double height = mm > 0 ? width * shape : size.height;
    if (svg) { /* which takes the size of letters in pixels */
        orr_plot__gp(plot, "set terminal svg size %.0f,%.0f noenhanced font '%s,%g'%s", width,
                     height, font, points * SCREEN_DPI / 72, mm > 0 ? " linewidth 0.7" : "");
    } else {
        orr_plot__gp(plot, "set terminal pngcairo size %.0f,%.0f noenhanced font '%s,%g'", width,
                     height, font, points);
        if (mm > 0) {
            orr_plot__gp(plot, " fontscale %g linewidth %g pointscale %g", PRINT_DPI / SCREEN_DPI,
                         0.7 * PRINT_DPI / SCREEN_DPI, 0.6 * PRINT_DPI / SCREEN_DPI);
        }
    }
    orr_plot__gp(plot, " background '#ffffff'\n");
}

void orr_plot__start(struct orr_plot *plot, struct orr_plot_size size)
{
    if (plot->term == ORR_PLOT_DUMB) {
        plot->letters = orr_text_columns(size.columns);
        plot->line = 1.0 / size.lines;
        orr_plot__gp(plot, "set terminal dumb size %d,%d noenhanced\n",
                     orr_text_columns(size.columns), size.lines);
    } else {
        start_picture(plot, size);
    }
    orr_plot__gp(plot, "set datafile missing 'NaN'\nset datafile commentschars '#'\n");
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "set key bottom outside center horizontal Left reverse\nset tics "
                           "nomirror\n");
        return;
    }
    orr_plot__gp(plot,
                 "set border 3 lc rgb '#404040'\n"
                 "set tics nomirror out textcolor rgb '#303030'\n"
                 "set grid ytics lc rgb '#e2e2e2' lt 1 lw 1 back\n"
                 "set style fill solid 1.0 noborder\nset xlabel textcolor rgb '#000000'\n"
                 "set ylabel textcolor rgb '#000000'\nset cblabel textcolor rgb '#000000'\n"
                 "set key Left reverse samplen 1.6 spacing 1.15 vertical maxcols 1 textcolor rgb "
                 "'#000000'\nset key title '' textcolor rgb '#000000'\n");
}

/* Right end of an axis that leaves room for a legend of so many letters. */
double orr_plot__legend_side(const struct orr_plot *plot, uint32_t letters)
{
    const double right = 1 - (letters + 8) / plot->letters;
    return right < 0.5 ? 0.5 : right > 0.79 ? 0.79 : right;
}

static void legend_below(struct orr_plot *plot, uint32_t entries, uint32_t columns)
{
    plot->legend_columns = columns;
    const uint32_t rows = (entries + plot->legend_columns - 1) / plot->legend_columns + 1;
    plot->legend_top = (rows * LEGEND_LINE + 0.5) * plot->line;
    plot->legend_top = plot->legend_top < 0.5 ? plot->legend_top : 0.5;
}

void orr_plot__legend_of_page(struct orr_plot *plot, uint32_t entries, uint32_t letters)
{
    legend_below(plot, entries, columns_of(plot, LEGEND_OF_PAGE(letters)));
}

void orr_plot__ylabel(struct orr_plot *plot, const char *text, double part)
{
    orr_plot__gp(plot, "set ylabel ");
    /* a letter is about half as wide as a line is high */
    (void)orr_plot__wrap(
        plot, text, plot->term == ORR_PLOT_DUMB ? 100 : part / (plot->line * LETTER_EM / LINE_EM));
    orr_plot__gp(plot, orr_plot__narrow(plot) ? " offset 0.7,0\n" : "\n");
}

void orr_plot__legend(struct orr_plot *plot, const char *title, uint32_t entries, uint32_t letters,
                      bool invert)
{
    if (plot->term == ORR_PLOT_DUMB) {
        return;
    }
    if (orr_plot__narrow(plot)) {
        legend_below(plot, entries, columns_of(plot, letters + LEGEND_SAMPLE));
        orr_plot__gp(plot,
                     "set rmargin at screen %.4f\nset bmargin at screen %.4f\n"
                     "set key at screen 0.5,%.4f center top horizontal maxcols %u %s noinvert "
                     "title \"%s\" center\n",
                     orr_plot__narrow_right(plot), plot->legend_top + 4.2 * plot->line,
                     plot->legend_top, plot->legend_columns,
                     plot->legend_columns == 1 ? "width -8" : "", title);
        return;
    }
    const double right = orr_plot__legend_side(plot, letters);
    orr_plot__gp(plot,
                 "set rmargin at screen %.4f\nset key at screen %.4f,graph 1 left top %s title "
                 "\"%s\" left\n",
                 right, right + 0.01, invert ? "invert" : "", title);
}

bool orr_plot__is_part(const struct orr_plot *plot)
{
    return plot->options->from_ms != ORR_MS_NONE || plot->options->to_ms != ORR_MS_NONE;
}

sqlite3_stmt *orr_plot__of_jobs(struct orr_plot *plot, const char *sql)
{
    const struct orr_plot_options *options = plot->options;
    const orr_ms first = orr_plot__is_part(plot) ? 0 : plot->run.window_start;
    sqlite3_stmt *row = orr_results_prepare(&plot->in, sql);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 2,
                                 options->from_ms != ORR_MS_NONE ? options->from_ms : first);
        (void)sqlite3_bind_int64(row, 3,
                                 options->to_ms != ORR_MS_NONE ? options->to_ms : ORR_MS_NEVER);
    }
    return row;
}

const char *orr_plot__which_jobs(const struct orr_plot *plot)
{
    return orr_plot__is_part(plot)                    ? "those submitted in this part of it"
           : plot->run.window_start > plot->run.begin ? "those after the warm-up"
                                                      : "";
}

void orr_plot__nothing(struct orr_plot *plot, const char *why)
{
    plot->nothing = why;
}

double orr_plot__x(const struct orr_plot *plot, orr_ms at)
{
    return (double)(at - plot->run.zero) / 1000.0;
}

void orr_plot__span(const struct orr_plot *plot, orr_ms *from, orr_ms *to)
{
    const struct orr_plot_options *options = plot->options;
    *from = options->from_ms != ORR_MS_NONE ? options->from_ms : plot->run.zero;
    *to = options->to_ms != ORR_MS_NONE ? options->to_ms : plot->run.end;
    *to = *to < plot->run.end ? *to : plot->run.end;
    *to = *to > *from ? *to : *from + 1;
}

static orr_ms tic_step(orr_ms span, int tics)
{
    static const orr_ms nice[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                  600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    for (size_t i = 0; i < sizeof nice / sizeof nice[0]; i++) {
        if (span <= nice[i] * 1000 * tics) {
            return nice[i] * 1000;
        }
    }
    static const orr_ms days[] = {2, 5, 7, 14, 28, 56, 100, 200, 500, 1000, 5000};
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        if (span <= days[i] * 86400000 * tics) {
            return days[i] * 86400000;
        }
    }
    return span / tics;
}

/* The name of a time on the axis; `last` is the axis' end, which decides the form. */
static void tic_name(char *out, size_t room, orr_ms at, orr_ms step, orr_ms last)
{
    const orr_ms day = 86400000, hour = 3600000, minute = 60000;
    long long s = (long long)(at / 1000);
    if (step >= day) {
        (void)snprintf(out, room, "day %lld", (long long)(at / day));
    } else if (last > 2 * day && at % day == 0) {
        (void)snprintf(out, room, "day %lld", (long long)(at / day));
    } else if (last > 2 * day) {
        (void)snprintf(out, room, "d%lld %02lld:%02lld", s / 86400, s / 3600 % 24, s / 60 % 60);
    } else if (step >= hour) {
        (void)snprintf(out, room, "%lld h", s / 3600);
    } else if (last > 2 * hour) {
        (void)snprintf(out, room, "%lld:%02lld h", s / 3600, s / 60 % 60);
    } else if (step >= minute) {
        (void)snprintf(out, room, "%lld min", s / 60);
    } else if (last > 2 * minute) {
        (void)snprintf(out, room, "%lld:%02lld min", s / 60, s % 60);
    } else {
        (void)snprintf(out, room, "%lld s", s);
    }
}

static void time_label(struct orr_plot *plot)
{
    const struct orr_plot_source *run = &plot->run;
    char text[100] = "time since the start", zero[32];
    if (run->zero != 0) {
        (void)snprintf(text, sizeof text, "time since the first submit (%s on the run's clock)",
                       orr_format_clock(zero, run->zero, ORR_MS_NONE));
    }
    orr_plot__gp(plot, "when = ");
    orr_plot__quote(plot, text, sizeof text, false);
    orr_plot__gp(plot, "\nset xlabel when\n");
}

/* Of a run with a calendar: the date at midnight, else the time of day. */
static void date_name(char *out, size_t room, orr_ms at, orr_ms step)
{
    char text[40]; /* 2026-06-01T12:00:00Z */
    (void)orr_format_timestamp(text, at);
    const bool is_date = step >= 86400000 || strncmp(text + 11, "00:00:00", 8) == 0;
    (void)snprintf(out, room, "%.*s",
                   is_date             ? 5
                   : step % 60000 == 0 ? 5
                                       : 8,
                   text + (is_date ? 5 : 11));
}

static void date_label(struct orr_plot *plot, orr_ms from)
{
    char text[60] = "date (UTC), from ", date[40];
    (void)orr_format_timestamp(date, from);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%.10s", date);
    orr_plot__gp(plot, "when = ");
    orr_plot__quote(plot, text, sizeof text, false);
    orr_plot__gp(plot, "\nset xlabel when\n");
}

/* Marks at round times of the calendar. */
static void date_axis(struct orr_plot *plot, orr_ms from, orr_ms to, int tics, bool label)
{
    const orr_ms zero = plot->run.zero, origin = plot->run.origin;
    const orr_ms step = tic_step(to - from, tics) > 0 ? tic_step(to - from, tics) : 1;
    orr_plot__gp(plot, "set xrange [%.3f:%.3f]\nset xtics (", (double)(from - zero) / 1000,
                 (double)(to - zero) / 1000);
    const orr_ms begin = from + origin;
    const orr_ms base = begin - (begin % 86400000 + 86400000) % 86400000; /* a midnight */
    orr_ms at = base + (begin - base + step - 1) / step * step;
    for (bool more = false; at <= to + origin; at += step) {
        char name[60];
        date_name(name, sizeof name, at, step);
        orr_plot__gp(plot, "%s'%s' %.3f", more ? ", " : "", name,
                     (double)(at - origin - zero) / 1000);
        more = true;
    }
    orr_plot__gp(plot, ")\n");
    if (label) {
        date_label(plot, begin);
    }
}

/* How many labels fit an axis that is such a part of the picture: as many dates or days as do, if
 * days are between them, else as many of "d14 06:00". */
static int tics_that_fit(const struct orr_plot *plot, orr_ms span, double part, int tics)
{
    const int days = (int)(plot->letters * part / 7), hours = (int)(plot->letters * part / 10);
    const int fit = days < 2 || tic_step(span, days) < 86400000 ? hours : days;
    return fit < tics && fit >= 2 ? fit : tics;
}

void orr_plot__time_axis(struct orr_plot *plot, orr_ms from, orr_ms to, int tics, bool label)
{
    tics = tics_that_fit(plot, to - from, AXIS_PART, tics);
    if (plot->run.origin != ORR_MS_NONE) {
        date_axis(plot, from, to, tics, label);
        return;
    }
    orr_ms first = from - plot->run.zero, last = to - plot->run.zero;
    /* figures of one run begin at one place, whatever is recorded of its first moments */
    first = plot->options->from_ms == ORR_MS_NONE && first > 0 && first < last / 50 ? 0 : first;
    orr_ms step = tic_step(last - first, tics);
    step = step > 0 ? step : 1;
    orr_plot__gp(plot, "set xrange [%.3f:%.3f]\nset xtics (", (double)first / 1000,
                 (double)last / 1000);
    orr_ms at = first / step * step;
    at = at < first ? at + step : at;
    for (bool more = false; at <= last; at += step) {
        char name[60];
        tic_name(name, sizeof name, at, step, last);
        orr_plot__gp(plot, "%s'%s' %.3f", more ? ", " : "", name, (double)at / 1000);
        more = true;
    }
    orr_plot__gp(plot, ")\n");
    if (label) {
        time_label(plot);
    }
}

/* A dotted line with its name above the plot; `side` is where the name stands, left, center or
 * right of it in gnuplot's words, which say which end is at the line. */
static void time_mark(struct orr_plot *plot, int tag, const char *name, orr_ms at, const char *side)
{
    const double x = orr_plot__x(plot, at);
    orr_plot__gp(plot,
                 "set arrow %d from %.3f,graph 0 to %.3f,graph 1 nohead front dt 3 lc rgb "
                 "'#606060'\nset label %d '%s' at %.3f,graph 1.025 %s textcolor rgb '#606060' "
                 "font ',%g'\n",
                 tag, x, x, tag, name, x, side, plot->small);
}

void orr_plot__window_marks(struct orr_plot *plot, orr_ms from, orr_ms to)
{
    const orr_ms start = plot->run.window_start, end = plot->run.window_end;
    const orr_ms margin = (to - from) / 40;
    const bool starts = start > plot->run.begin && start > from + margin && start < to - margin;
    const bool ends = end > from + margin && end < to - margin;
    const bool near = starts && ends && end - start < (to - from) / 4; /* the names would meet */
    if (plot->term == ORR_PLOT_DUMB) {
        return;
    }
    const orr_ms half =
        (orr_ms)((double)(to - from) * 9 / (plot->letters * AXIS_PART)); /* a name */
    const bool at_left = start - from < half, at_right = to - end < half;
    /* at an edge one of two near names has nowhere to go: both stand there, in the order of lines
     */
    const bool meet = near && (at_left || at_right) && end - start < half + half / 2;
    const char *first = "end of warm-up", *second = "last submit";
    if (meet) {
        first = at_left ? "end of warm-up, last submit" : "";
        second = at_left ? "" : "end of warm-up, last submit";
    }
    if (starts) {
        time_mark(plot, 91, first, start, at_left ? "left" : near ? "right" : "center");
    }
    if (ends) {
        time_mark(plot, 90, second, end, at_right ? "right" : near ? "left" : "center");
    }
}

/* Names of times on a log axis; those `between` only where it is short. */
static const struct {
    double at;
    const char *name;
    bool between;
} wait_names[] = {{0.001, "1 ms", false},    {0.01, "10 ms", false},     {0.1, "0.1 s", false},
                  {1, "1 s", false},         {2, "2 s", true},           {5, "5 s", true},
                  {10, "10 s", false},       {30, "30 s", true},         {60, "1 min", false},
                  {120, "2 min", true},      {300, "5 min", true},       {600, "10 min", false},
                  {1200, "20 min", true},    {1800, "30 min", true},     {3600, "1 h", false},
                  {7200, "2 h", true},       {10800, "3 h", true},       {21600, "6 h", false},
                  {43200, "12 h", true},     {86400, "1 d", false},      {172800, "2 d", true},
                  {259200, "3 d", false},    {518400, "6 d", true},      {864000, "10 d", false},
                  {1728000, "20 d", true},   {2592000, "30 d", false},   {5184000, "60 d", true},
                  {8640000, "100 d", false}, {86400000, "1000 d", false}};
#define SHORT_AXIS 30 /* its end over its begin */

/* Where the axis begins, as a time that is shorter. */
static void write_lowest(struct orr_plot *plot, char axis, double lowest)
{
    char rough[24];
    if (lowest >= 1000) {
        (void)orr_format_rough(rough, lowest);
    } else {
        (void)snprintf(rough, sizeof rough, "%g %s", lowest < 1 ? lowest * 1000 : lowest,
                       lowest < 1 ? "ms" : "s");
    }
    orr_plot__gp(plot, "set %ctics ('<%s' %.9g", axis, rough, lowest / 3);
}

void orr_plot__wait_axis(struct orr_plot *plot, char axis, double lowest, double highest)
{
    const bool is_short = highest < SHORT_AXIS * lowest;
    const double letters = plot->letters * AXIS_PART / log(highest / (lowest / 3));
    double last = lowest / 3, bytes = 8;
    orr_plot__gp(plot, "set logscale %c\nset %crange [%.9g:%.9g]\n", axis, axis, lowest / 3,
                 highest);
    write_lowest(plot, axis, lowest);
    for (size_t i = 0; i < sizeof wait_names / sizeof wait_names[0]; i++) {
        const double at = wait_names[i].at;
        const double needs = (bytes + (double)strlen(wait_names[i].name)) / 2 + 1;
        if (at >= lowest * 0.999 && at <= highest && (is_short || !wait_names[i].between) &&
            (axis == 'y' || log(at / last) * letters >= needs)) {
            orr_plot__gp(plot, ", '%s' %.9g", wait_names[i].name, at);
            last = at;
            bytes = (double)strlen(wait_names[i].name);
        }
    }
    orr_plot__gp(plot, ")\n");
}

struct orr_plot_slots orr_plot__slots(struct orr_plot *plot, uint32_t top)
{
    uint32_t asked = plot->options->top;
    top = asked > 0 ? asked : top;
    top = top < ORR_PLOT_COLOURS ? top : ORR_PLOT_COLOURS;
    uint32_t shown = plot->queue_count < top ? plot->queue_count : top;
    uint32_t others = plot->queue_count - shown;
    plot->named = shown;
    return (struct orr_plot_slots){shown, others, shown + (others > 0 ? 1 : 0)};
}

uint32_t orr_plot__slot(struct orr_plot_slots slots, uint32_t rank)
{
    return rank < slots.shown ? rank : slots.shown;
}

void orr_plot__name(struct orr_plot *plot, const char *name)
{
    struct orr_arena arena; /* a plot of several runs has no results, and no arena, of its own */
    orr_arena_init(&arena);
    orr_plot__quote(plot, orr_short_names(&arena, &name, 1, ORR_PLOT_NAME)[0], ORR_PLOT_NAME,
                    false);
    orr_arena_release(&arena);
}

static uint32_t letters_of_name(const char *name)
{
    const uint32_t length = utf8_length(name);
    return length < ORR_PLOT_NAME ? length : ORR_PLOT_NAME;
}

uint32_t orr_plot__slots_letters(const struct orr_plot *plot, struct orr_plot_slots slots)
{
    uint32_t most = slots.others > 0 ? (uint32_t)strlen("others (1000)") : 8;
    for (uint32_t s = 0; s < slots.shown; s++) {
        const uint32_t length = letters_of_name(plot->queues[s].name);
        most = length > most ? length : most;
    }
    return most;
}

uint32_t orr_plot__runs_letters(const struct orr_plot *to, const struct orr_plot *runs)
{
    uint32_t most = 8;
    for (uint32_t i = 0; i < to->among; i++) {
        const uint32_t length = letters_of_name(runs[i].label);
        most = length > most ? length : most;
    }
    return most;
}

void orr_plot__slot_name(struct orr_plot *plot, struct orr_plot_slots slots, uint32_t slot,
                         const char *extra)
{
    if (slot < slots.shown) {
        orr_plot__name(plot, plot->queues[slot].name);
    } else {
        orr_plot__gp(plot, "'others (%u)'", slots.others);
    }
    if (extra != NULL) {
        orr_plot__gp(plot, ".");
        orr_plot__quote(plot, extra, 100, false);
    }
}

void orr_plot__letters(struct orr_plot *plot, struct orr_plot_slots slots)
{
    const int most = (int)plot->letters - 20;
    uint32_t names = 0;
    int used = 0;
    orr_plot__gp(plot, "set xlabel ''");
    for (; names < slots.shown; names++) {
        used += orr_text_width(plot->queues[names].name) + 4;
        if (names > 0 && used > most) {
            break;
        }
        orr_plot__gp(plot, ".'%s%c '.", names > 0 ? "  " : "", (char)('A' + names));
        orr_plot__quote(plot, plot->queues[names].name, ORR_PLOT_NAME, false);
    }
    orr_plot__gp(plot, "%s%s\n", plot->queue_count > names ? ".' ...'" : "",
                 plot->queue_count >= ORR_PLOT_LETTERS ? ".'  + others'" : "");
}
