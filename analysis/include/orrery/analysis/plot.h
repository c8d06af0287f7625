/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot.h - figures of one results file, drawn by gnuplot.
 *
 * A figure is one file, DIR/STEM-FIGURE.svg (or .png); STEM is the name of the results file without
 * its suffix. It is written under another name and renamed: it is whole or not there. The terminal
 * "dumb" prints text instead. Only the schema of the results file is known here.
 */
#ifndef ORR_ANALYSIS_PLOT_H
#define ORR_ANALYSIS_PLOT_H

#include <signal.h>
#include <stdio.h>

#include <orrery/base/status.h>
#include <orrery/base/units.h>

struct orr_plot_info {
    const char *name;    /* what a user types */
    const char *summary; /* one line */
    bool of_runs;        /* it can show several runs in one axes */
};

/* Rules of CSS by which the SVG of figures that were drawn for a light page has the colours of
 * `dark` within elements that the selector names. */
void orr_plot_dark_css(FILE *out, const char *within);

/* All figures in the order they are drawn. */
const struct orr_plot_info *orr_plot_list(uint32_t *count);

struct orr_plot_options {
    const char *const *figures; /* names of figures */
    uint32_t count;             /* 0: all figures */
    const char *dir;            /* where files go; NULL: the current folder */
    const char *term;           /* svg, png, pdf or dumb; NULL: svg */
    double width_mm;            /* of a picture for print; 0: the figure's choice, for a screen */
    const char *font;           /* "NAME", "NAME,PT" or ",PT"; NULL: the choice of the terminal */
    bool no_title;              /* for a caption elsewhere */
    bool dark;                  /* for a dark page */
    bool script;                /* keep gnuplot's script and data, and do not draw */
    orr_ms from_ms, to_ms; /* part of the run's clock to draw; ORR_MS_NONE: the figure chooses */
    uint32_t top; /* queues with a colour of their own, at most 12; 0: the figure's choice */
    FILE *out;    /* where "dumb" prints; NULL: standard output */
    const volatile sig_atomic_t *interrupted; /* not 0: stop, ORR_INTERRUPTED; or NULL */
};

#define ORR_PLOT_DEFAULTS                                                                          \
    {                                                                                              \
        .from_ms = ORR_MS_NONE, .to_ms = ORR_MS_NONE                                               \
    }

/* Called for every file written; `message` is what gnuplot had to say, NULL when it was silent.
 * For a figure printed as text `path` is "-". For a figure that has nothing to show, and is left
 * out, `path` is NULL and the message "FIGURE: why". */
typedef void orr_plot_report_fn(void *context, const char *path, const char *message);

/* Draws the figures asked for. Options and report may be NULL. Without gnuplot it writes
 * STEM-FIGURE.gp and .dat and returns ORR_UNAVAILABLE, naming them. Other failures: ORR_USAGE
 * (unknown figure or terminal), ORR_NO_INPUT (no such file), ORR_DATA (not a results file),
 * ORR_CANT_CREATE, ORR_IO. */
enum orr_status orr_plot_run(const char *db_path, const struct orr_plot_options *options,
                             orr_plot_report_fn *report, void *context, struct orr_err *err);

struct orr_plot_arm {
    const char *path;  /* of a results file */
    const char *label; /* what it is called; NULL: by what it differs in: policy, name, file */
};
/* Draws figures of 2 to ORR_PLOT_RUNS runs, each in one axes, as DIR/compare-FIGURE.svg; without
 * names those that can show several. Failures as above, and ORR_USAGE for a figure that cannot. */
#define ORR_PLOT_RUNS 12
enum orr_status orr_plot_runs(const struct orr_plot_arm *arms, uint32_t count,
                              const struct orr_plot_options *options, orr_plot_report_fn *report,
                              void *context, struct orr_err *err);
/* Is it the name of a figure? */
bool orr_plot_is_figure(const char *name);

struct orr_comparison;
/* Draws a comparison as DIR/compare-forest.svg: differences in percent of the base with their
 * intervals, a row a metric and arm. Of the options it takes dir, term and out. Failures as above.
 */
enum orr_status orr_plot_forest(const struct orr_comparison *comparison,
                                const struct orr_plot_options *options, orr_plot_report_fn *report,
                                void *context, struct orr_err *err);

struct orr_plot_settings {  /* of a merged sweep */
    const char *metrics[2]; /* of all jobs; a map has one */
    /* of a map, down and across; NULL: the first two. Of multiples, panels and across; NULL: the
     * first and the last */
    const char *axes[2];
};
/* Draws "map", a metric's mean over two axes, "front", two metrics of each setting, or "multiples",
 * a metric over one axis in a panel for each value of another, as DIR/STEM-map.svg and so on;
 * "dumb" prints numbers. Failures as of orr_plot_run. */
enum orr_status orr_plot_settings(const char *path, const char *figure,
                                  const struct orr_plot_settings *what,
                                  const struct orr_plot_options *options,
                                  orr_plot_report_fn *report, void *context, struct orr_err *err);
bool orr_plot_is_of_settings(const char *figure);

/* A metric over amounts of something, with the bound it has to keep. Borrowed texts. */
struct orr_plot_curve {
    const char *title, *amounts, *metric, *unit; /* unit "1": none */
    const struct orr_plot_curve_point {
        double x, mean, low, high; /* NAN: no value; no interval */
        bool holds;                /* all that is asked of this amount */
    } * points;                    /* ascending by x */
    uint32_t count;
    double bound;          /* of the metric */
    uint32_t answer, knee; /* points; ORR_NONE: none */
};
/* Draws it as DIR/capacity-curve.svg. Options as of orr_plot_forest, failures as above. */
enum orr_status orr_plot_curve(const struct orr_plot_curve *curve,
                               const struct orr_plot_options *options, orr_plot_report_fn *report,
                               void *context, struct orr_err *err);

/* When jobs may start, seconds after a moment; INFINITY: beyond the horizon. Borrowed texts. */
struct orr_plot_starts {
    const char *title;
    const struct orr_plot_start {
        const char *name;
        double low_s, median_s,
            high_s;     /* by then 10 %, 50 %, 90 % of the futures have it started */
        bool is_change; /* what would be of the row above */
    } * rows;           /* from the top down */
    uint32_t count;
    double horizon_s;
};
/* Draws them as DIR/forecast-starts.svg. Options as of orr_plot_forest, failures as above. */
enum orr_status orr_plot_starts(const struct orr_plot_starts *starts,
                                const struct orr_plot_options *options, orr_plot_report_fn *report,
                                void *context, struct orr_err *err);

#endif
