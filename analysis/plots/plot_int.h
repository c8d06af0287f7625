/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_int.h - what the figures share.
 *
 * A figure reads the database and writes two texts: a gnuplot script and its data. Data is a list
 * of blocks, which gnuplot calls `index`; x of a time figure is seconds since `zero`.
 * The first failure stays in plot->in.status; every call after it does nothing, so figures look at
 * it once, at their end.
 */
#ifndef ORR_PLOT_INT_H
#define ORR_PLOT_INT_H

#include <stdio.h>

#include <orrery/analysis/plot.h>
#include <orrery/analysis/results.h>
#include <orrery/base/status.h>
#include <orrery/base/units.h>

#define ORR_PLOT_COLOURS 12 /* queues that can have a colour of their own */
#define ORR_PLOT_GREY    "#b4b4b4"

enum orr_plot_term { ORR_PLOT_SVG, ORR_PLOT_PNG, ORR_PLOT_PDF, ORR_PLOT_DUMB };

/* A leaf queue that has jobs. Its index is its rank by GPU-hours, which decides its colour. */
struct orr_plot_queue {
    int64_t id;
    const char *name, *whole; /* in at most ORR_PLOT_NAME letters; and all of it */
    double quota_gpus;        /* <= 0: none worth a line */
};

struct orr_plot_source {
    char *name, *policy, *status;
    orr_ms origin; /* ms since 1970 of time 0, or ORR_MS_NONE */
    orr_ms window_start, window_end, end;
    orr_ms begin;      /* decisions begin: the first submit, or what the scenario states */
    orr_ms zero;       /* where the time axis starts: 0, or the begin if that is far from 0 */
    bool took_no_time; /* it ended as it began */
    double capacity_gpus;
    orr_ms series_ms;
    int64_t jobs;
};

struct orr_plot {
    struct orr_results in; /* the first failure of anything stays in in.status */
    struct orr_plot_source run;
    struct orr_plot_queue *queues; /* most GPU-hours first */
    uint32_t *by_id;               /* ranks ordered by queue id */
    uint32_t queue_count;
    uint32_t named; /* queues that a figure names: the next title says whose name it shortened */
    enum orr_plot_term term;
    const struct orr_plot_options *options;
    FILE *gp, *dat;
    const char *dat_name; /* as the script writes it */
    uint32_t blocks;      /* written to dat */
    const char *nothing;  /* why the figure is left out; NULL: it is not */
    orr_ms bucket_ms;     /* what the next title says a value is the mean of; 0: nothing */
    bool recorded;        /* and that the run recorded no shorter means */
    const char *thin;     /* and what a thin line is, as "peaks"; NULL: there is none */
    double letters;       /* that fit beside each other into the width of the picture */
    double line;          /* height of a line of text, as a part of the picture's */
    double small;         /* size of small letters, in the terminal's unit */
    uint32_t title_lines;
    uint32_t beside;    /* letters of the legend beside the axes, of a figure that knows before its
                         * title; 0: names of queues alone */
    char caption[1600]; /* what the title of a figure without one would say; "" for none */
    uint32_t legend_columns; /* of a narrow picture, which has its legend below */
    double panel_right;      /* of two panels */
    double legend_top;       /* and so high, as a part of the picture's height */
    /* Of several runs in one axes: what each is called; the first of them draws for all, and knows
     * how many they are (else 0). */
    const char *label;
    uint32_t among;
    struct orr_plot_series *series; /* plot_table.c: of the figure before; NULL: none yet */
    /* plot_lanes.c: all, and of devices alone where that is another; NULL: no figure asked yet */
    struct orr_plot_lanes *lanes, *device_lanes;
};

/* plot.c: the terminal of that name, svg for NULL; ORR_USAGE. */
enum orr_status orr_plot__term(const char *name, enum orr_plot_term *term, struct orr_err *err);

/* plot_db.c */
void orr_plot__open(struct orr_plot *plot);
void orr_plot__close(struct orr_plot *plot);
/* Rank of a queue, or ORR_NONE for one that is no leaf with jobs. */
uint32_t orr_plot__rank(const struct orr_plot *plot, int64_t queue_id);
/* "with 3 that never could start", of what is drawn; NULL: there is none. */
const char *orr_plot__nevers(struct orr_plot *plot, const char *with, char out[60]);

/* plot_files.c */
struct orr_plot_files;
struct orr_plot_files *orr_plot__files_open(struct orr_plot *plot, const char *figure);
/* Runs gnuplot on what was written, puts the result in place and cleans up. */
void orr_plot__files_close(struct orr_plot *plot, struct orr_plot_files *files,
                           orr_plot_report_fn *report, void *context);

/* plot_gnuplot.c */
enum orr_plot_ran { ORR_PLOT_RAN, ORR_PLOT_RAN_BADLY, ORR_PLOT_NOT_THERE };
/* Runs gnuplot in `dir` on its file `script`; what it says goes to the file `said` in it. */
enum orr_plot_ran orr_plot__gnuplot(const char *dir, const char *script, const char *messages);

/* plot_style.c */
struct orr_plot_size {
    int width, height;  /* pixels */
    int columns, lines; /* characters, for dumb */
    bool names;         /* the legend names queues: a narrow picture, which has it below, is so much
                         * higher */
};
/* Writes a piece of the script. */
void orr_plot__gp(struct orr_plot *plot, const char *format, ...) ORR_PRINTF(2, 3);
void orr_plot__row(struct orr_plot *plot, const char *format, ...) ORR_PRINTF(2, 3);
/* plot_shade.c: a colour "#rrggbb" of figures as it is on the page asked for, light or dark; and
 * all of a piece of a script, in place. What users name is quoted, and passes neither. */
const char *orr_plot__shade(const struct orr_plot *plot, const char *colour);
void orr_plot__shaded(struct orr_plot *plot, char *script);
/* Is it, as "#rrggbb", one that figures name, and not one between those of a scale? */
bool orr_plot__is_named(const char *colour);
/* What a label is written in, for the end of its command. */
const char *orr_plot__ink(const struct orr_plot *plot);
/* Starts a block of data under a comment; returns its index. */
uint32_t orr_plot__block(struct orr_plot *plot, const char *what);
/* 'DATA' index N, as the start of a plot clause. */
void orr_plot__data(struct orr_plot *plot, uint32_t block);
/* Of a block with two rows a bucket, its ends: the area between a column and the next. */
void orr_plot__between(struct orr_plot *plot, orr_ms bucket_ms, uint32_t column);
/* Right end of the axes of a narrow picture, as a part of its width. */
double orr_plot__narrow_right(const struct orr_plot *plot);
/* A gnuplot string of at most max_chars characters; `tic` doubles % as tic labels need it. */
void orr_plot__quote(struct orr_plot *plot, const char *text, uint32_t max_chars, bool tic);
void orr_plot__start(struct orr_plot *plot, struct orr_plot_size size);
/* Is a picture so narrow that a legend beside it would leave no room: a column of a paper? */
bool orr_plot__narrow(const struct orr_plot *plot);
/* Where the legend of a figure of one axes stands: right of the axis, which is as wide as it leaves
 * room, or below a narrow one. `entries` in all, of at most so many letters; `invert`: the last
 * first, as layers lie. */
void orr_plot__legend(struct orr_plot *plot, const char *title, uint32_t entries, uint32_t letters,
                      bool invert);
double orr_plot__legend_side(const struct orr_plot *plot, uint32_t letters);
/* The same of one in a frame of its own, which is as wide as the page. */
void orr_plot__legend_of_page(struct orr_plot *plot, uint32_t entries, uint32_t letters);
/* A label of y, on several lines where the axis is short: the part of the picture that it has. */
void orr_plot__ylabel(struct orr_plot *plot, const char *text, double part);
/* Letters of a name that users gave; the longest one of the slots' names. */
#define ORR_PLOT_NAME 40
/* Jobs submitted from `from` on and before `to` are those a figure of jobs is of: the part of the
 * run asked for, else the window. Prepares such a query, in which they are ?2 and ?3. */
sqlite3_stmt *orr_plot__of_jobs(struct orr_plot *plot, const char *sql);
/* Was a part of the run asked for? */
bool orr_plot__is_part(const struct orr_plot *plot);
/* What such a figure adds to a title that names all jobs; "" if these are all. */
const char *orr_plot__which_jobs(const struct orr_plot *plot);
const char *orr_plot__colour(uint32_t rank, uint32_t shown);
/* Letters of a node's name beside its row. */
#define ORR_PLOT_NODE_NAME 14
/* For "dumb": rows at y of 0, 1, ... stand on every `each`-th line of characters, with `below`
 * lines under the frame. gnuplot rounds places to lines: a frame that is a line too low would draw
 * two rows over each other. */
void orr_plot__text_rows(struct orr_plot *plot, uint32_t rows, uint32_t each, uint32_t below);
/* Columns of a map of characters: those of the terminal less names and margins. */
uint32_t orr_plot__map_columns(void);
/* Ends a script for "dumb" whose data is one block of: row, quoted text of a row. */
void orr_plot__text_map(struct orr_plot *plot, uint32_t rows, orr_ms from, orr_ms to);
/* The figure has nothing to show, and is left out; `why` is not copied. */
void orr_plot__nothing(struct orr_plot *plot, const char *why);
/* Range, tics and label of a time axis on x. `tics` is how many labels fit. */
void orr_plot__time_axis(struct orr_plot *plot, orr_ms from, orr_ms to, int tics, bool label);
/* Dotted lines where the window starts (the warm-up ends) and ends (the last submit), each if it is
 * well inside. */
void orr_plot__window_marks(struct orr_plot *plot, orr_ms from, orr_ms to);
/* Log axis of times from `lowest` to `highest` seconds; what is shorter stands at lowest / 3. */
void orr_plot__wait_axis(struct orr_plot *plot, char axis, double lowest, double highest);
double orr_plot__x(const struct orr_plot *plot, orr_ms at);
/* The part of the run to draw: what was asked for, cut to the run. */
void orr_plot__span(const struct orr_plot *plot, orr_ms *from, orr_ms *to);

/* Slots: the first `shown` queues by rank, then one for all others together. */
struct orr_plot_slots {
    uint32_t shown, others; /* others: how many queues share the last slot; 0: there is none */
    uint32_t count;
};
struct orr_plot_slots orr_plot__slots(struct orr_plot *plot, uint32_t top);
uint32_t orr_plot__slot(struct orr_plot_slots slots, uint32_t rank);
/* For maps of letters: names the first queues in the label of x. */
void orr_plot__letters(struct orr_plot *plot, struct orr_plot_slots slots);
uint32_t orr_plot__slots_letters(const struct orr_plot *plot, struct orr_plot_slots slots);
/* A name as a gnuplot string: one of more than ORR_PLOT_NAME letters loses its middle. */
void orr_plot__name(struct orr_plot *plot, const char *name);
/* The legend entry of a slot as a gnuplot string, with `extra` after the name. */
void orr_plot__slot_name(struct orr_plot *plot, struct orr_plot_slots slots, uint32_t slot,
                         const char *extra);

/* plot_title.c */
/* The next title says what a value is the mean of, and what a thin line shows (NULL: no line). */
void orr_plot__means_over(struct orr_plot *plot, orr_ms bucket_ms, const char *thin);
/* "set title" of two lines: what it is, and which run. `extra` may be NULL. */
void orr_plot__title(struct orr_plot *plot, const char *what, const char *extra);
/* "set title" of a figure that is of no single run: one line. */
void orr_plot__plain_title(struct orr_plot *plot, const char *text);
/* Text as strings of gnuplot, at most so many letters a line: broken at a space where there is one.
 * Returns how many lines. */
uint32_t orr_plot__wrap(struct orr_plot *plot, const char *text, double letters);

/* plot_table.c: the table `series`, joined to as many buckets as a picture has room for. */
enum orr_plot_value { /* GPUs, but for JOBS; means over a bucket */
                      ORR_PLOT_ALLOCATED,
                      ORR_PLOT_PENDING, /* asked for and not allocated, by jobs that run too */
                      /* jobs that wait, and what these ask for; 0 before orr_plot__table_waits */
                      ORR_PLOT_JOBS,
                      ORR_PLOT_WAITING,
                      ORR_PLOT_SHARE,
                      ORR_PLOT_POLICY_SHARE,
                      ORR_PLOT_OVER,  /* allocated above the fair share ... */
                      ORR_PLOT_UNDER, /* ... and below it, each summed over queues */
                      ORR_PLOT_DEBT,  /* asked for within the quota and not allocated */
                      /* that in the window of the metrics, GPUs x ms of a bucket; both 0 before
                       * orr_plot__table_debts */
                      ORR_PLOT_DEBT_COUNTED,
                      ORR_PLOT_QUOTA, /* 0: none, or unlimited */
                      ORR_PLOT_VALUES
};
struct orr_plot_ratio { /* of allocation to fair share, over queues that have one */
    double queues, sum, squares;
};
struct orr_plot_table {
    struct orr_plot_slots slots;
    uint32_t buckets;
    orr_ms from, to, bucket_ms;
    double *cells;                 /* [value][slot][bucket] */
    struct orr_plot_ratio *ratios; /* of a bucket, over all queues */
    double *capacity;              /* of a bucket: GPUs of nodes that are up */
    bool policy_shares;            /* the policy has fair shares */
    bool exact;                    /* of shorter buckets than `series`, but for fair shares */
};
/* False if there is nothing to draw; a table opened is closed in any case. `exact`: a part of the
 * run has shorter buckets where it can, without ORR_PLOT_OVER, ORR_PLOT_UNDER and ratios. */
bool orr_plot__table_open(struct orr_plot *plot, struct orr_plot_table *table, uint32_t top,
                          bool exact);
struct orr_plot_peaks;
/* Fills in what queues were owed, exact, and not from the means of `series`; `peaks` (may be NULL),
 * open over the table's buckets, takes what all of them were owed together. */
void orr_plot__table_debts(struct orr_plot *plot, struct orr_plot_table *table,
                           struct orr_plot_peaks *peaks);
/* Fills in which jobs wait and what they ask for, exact (v_queue_depth); `peaks` (may be NULL):
 * two, opened here, take how many jobs and how many GPUs of all queues that is at most. */
void orr_plot__table_waits(struct orr_plot *plot, struct orr_plot_table *table,
                           struct orr_plot_peaks *peaks);
/* The most that the queues of each slot held together at any moment; `peaks`: one a slot, opened
 * here. */
void orr_plot__table_held(struct orr_plot *plot, const struct orr_plot_table *table,
                          struct orr_plot_peaks *peaks);
void orr_plot__table_close(struct orr_plot_table *table);
/* What one figure has read of `series` is kept for the next ones, until this. */
void orr_plot__series_close(struct orr_plot *plot);
double *orr_plot__cell(const struct orr_plot_table *table, enum orr_plot_value value, uint32_t slot,
                       uint32_t bucket);
/* Of all queues together. */
double orr_plot__total(const struct orr_plot_table *table, enum orr_plot_value value,
                       uint32_t bucket);
/* Jain's index of allocation over fair share (Jain, Chiu, Hawe 1984); NAN: nobody asked. */
double orr_plot__jain(const struct orr_plot_table *table, uint32_t bucket);
/* x of the first (side 0) or last (side 1) moment of a bucket, cut to what is drawn. */
double orr_plot__edge(const struct orr_plot *plot, const struct orr_plot_table *table,
                      uint32_t bucket, int side);
double orr_plot__stack_top(const struct orr_plot_table *table, enum orr_plot_value value);
/* The most GPUs that were up in a bucket; the block of x and capacity. */
double orr_plot__capacity_top(const struct orr_plot_table *table);
uint32_t orr_plot__capacity_rows(struct orr_plot *plot, const struct orr_plot_table *table);
/* A block of x, 0, first slot, first and second ..., summed upwards or, negative, downwards. */
uint32_t orr_plot__stack_rows(struct orr_plot *plot, const struct orr_plot_table *table,
                              enum orr_plot_value value, bool downwards);
/* The plot command of such a block, but for its end. */
void orr_plot__stack_plot(struct orr_plot *plot, const struct orr_plot_table *table, uint32_t block,
                          bool names);
/* For terminals of characters: all queues together, then the first three. */
void orr_plot__text_lines(struct orr_plot *plot, const struct orr_plot_table *table,
                          enum orr_plot_value value);
/* Entries of a legend: a box for each slot, the topmost first. */
void orr_plot__slot_keys(struct orr_plot *plot, struct orr_plot_slots slots);

/* plot_exact.c: fills a table from each change to the next, as sums over time. */
void orr_plot__table_exact(struct orr_plot *plot, struct orr_plot_table *table);
/* Adds amount x ms of a stretch of time to the buckets it covers. */
void orr_plot__table_spread(const struct orr_plot_table *table, double *cells, orr_ms from,
                            orr_ms to, double amount);
/* A round length of at most `most` buckets of a span, or ORR_MS_NONE. */
orr_ms orr_plot__bucket_for(orr_ms span, orr_ms most);

/* plot_peaks.c: the most at any moment of each bucket, beside its mean. */
struct orr_plot_peaks {
    orr_ms from, to, bucket_ms;
    uint32_t buckets;
    double *most; /* of a bucket */
    double top;   /* of all */
};
void orr_plot__peaks_open(struct orr_plot_peaks *peaks, orr_ms from, orr_ms to, orr_ms bucket_ms);
void orr_plot__peak(struct orr_plot_peaks *peaks, orr_ms from, orr_ms to, double value);
/* `sql` gives a time and the total from then on, in order. */
void orr_plot__peaks_load(struct orr_plot *plot, struct orr_plot_peaks *peaks, const char *sql);
/* Changes of a total in any order, then the total from each to the next. */
struct orr_plot_changes {
    struct orr_plot_change {
        orr_ms at;
        double by;
    } * items;
    uint32_t count, capacity;
};
void orr_plot__change(struct orr_plot_changes *changes, orr_ms at, double by);
/* Releases them. */
void orr_plot__peaks_sum(struct orr_plot_peaks *peaks, struct orr_plot_changes *changes);
uint32_t orr_plot__peaks_rows(struct orr_plot *plot, const struct orr_plot_peaks *peaks);
/* A thin line, as one more part of a plot command. */
void orr_plot__peaks_plot(struct orr_plot *plot, uint32_t block, bool names);
void orr_plot__peaks_close(struct orr_plot_peaks *peaks);

/* plot_panels.c: two panels above each other, with one legend to the right of both. */
/* Of a picture of two panels, which is higher where their legend is below. */
struct orr_plot_size orr_plot__panels_size(const struct orr_plot *plot, int height, bool names);
/* `entries`, `letters`: of the legend. */
void orr_plot__panel_above(struct orr_plot *plot, uint32_t entries, uint32_t letters);
void orr_plot__panel_below(struct orr_plot *plot);
/* Of each, as a part of the picture's. */
double orr_plot__panel_height(const struct orr_plot *plot);
/* A panel's axis from 0, or from -top, up to a little above `top`: of a narrow picture with as many
 * numbers as its height holds, thousands as k. */
void orr_plot__panel_y(struct orr_plot *plot, double top, bool both_ways);
/* The same of what is counted: no numbers between 0 and 1, 1 and 2, ... */
void orr_plot__panel_counts(struct orr_plot *plot, double top);
/* The least of 1, 2, 5, 10, ... of which no more than `most` make `range`. */
double orr_plot__round_step(double range, double most);
/* Starts the plot command that has the legend only; entries follow, then _close. */
void orr_plot__panel_legend(struct orr_plot *plot, const char *title);
void orr_plot__panel_close(struct orr_plot *plot);

/* plot_layers.c: amounts by cause or reason over time, stacked. */
#define ORR_PLOT_LAYERS 12
struct orr_plot_layers {
    uint32_t count, buckets;
    orr_ms from, to, bucket_ms;
    const char *names[ORR_PLOT_LAYERS];
    uint32_t colours[ORR_PLOT_LAYERS];
    double totals[ORR_PLOT_LAYERS]; /* of what was added, cut to what is drawn */
    double *cells;                  /* [layer][bucket] */
};
/* `to` is beyond `from`; `most` limits the buckets, which are minutes, hours or days. */
void orr_plot__layers_open(struct orr_plot_layers *layers, orr_ms from, orr_ms to, uint32_t most);
void orr_plot__layers_close(struct orr_plot_layers *layers);
/* Is it a layer's colour, as "#rrggbb"? */
bool orr_plot__layers_have(const char *colour);
/* The layer of that name, made if there is none; the last one takes all when they are too many. */
uint32_t orr_plot__layer(struct orr_plot_layers *layers, const char *name);
/* Adds amount x ms of an interval to the buckets it covers, cut to what is drawn. */
void orr_plot__layers_spread(struct orr_plot_layers *layers, uint32_t layer, orr_ms from, orr_ms to,
                             double amount);
void orr_plot__layers_count(struct orr_plot_layers *layers, uint32_t layer, orr_ms at,
                            double amount);
/* Cells become what they hold per ms, times `factor`; the last bucket may be a short one. */
void orr_plot__layers_means(struct orr_plot_layers *layers, double factor);
/* Each cell becomes the sum of those up to it. */
void orr_plot__layers_sum(struct orr_plot_layers *layers);
double orr_plot__layers_top(const struct orr_plot_layers *layers);
/* A block of x, 0, then layers summed upwards (for dumb: each by itself). */
uint32_t orr_plot__layers_rows(struct orr_plot *plot, const struct orr_plot_layers *layers);
/* The whole plot command but its end; titles are the names where asked for. */
void orr_plot__layers_plot(struct orr_plot *plot, const struct orr_plot_layers *layers, bool names);
void orr_plot__layers_keys(struct orr_plot *plot, const struct orr_plot_layers *layers);

/* Each writes one figure. */
void orr_plot__share(struct orr_plot *plot);
void orr_plot__allocation(struct orr_plot *plot);
void orr_plot__depth(struct orr_plot *plot);
void orr_plot__wait_cdf(struct orr_plot *plot);
void orr_plot__size(struct orr_plot *plot);
void orr_plot__nodes(struct orr_plot *plot);
void orr_plot__gantt(struct orr_plot *plot);
void orr_plot__qq(struct orr_plot *plot);
void orr_plot__fairness(struct orr_plot *plot);
void orr_plot__debt(struct orr_plot *plot);
void orr_plot__churn(struct orr_plot *plot);
void orr_plot__reasons(struct orr_plot *plot);
void orr_plot__fragmentation(struct orr_plot *plot);
void orr_plot__startable(struct orr_plot *plot);
void orr_plot__waterfall(struct orr_plot *plot);
void orr_plot__jct_cdf(struct orr_plot *plot);
void orr_plot__floor(struct orr_plot *plot);

/* plot_settings.c: seconds as people read them, a metric's name with them. */
struct orr_plot_unit {
    double by;
    const char *name;
};
struct orr_spreads;
struct orr_plot_unit orr_plot__unit_of(const struct orr_spreads *spreads, const char *metric);
void orr_plot__unit_label(char out[200], const char *metric, struct orr_plot_unit unit);
/* "; 3 of 12 settings left out, where a run did not reach it", of any of the metrics; "": there is
 * none. A setting that one of its runs did not reach has no mean. */
const char *orr_plot__unreached(const struct orr_spreads *spreads, const char *const *metrics,
                                uint32_t count, char out[120]);
/* The axis of that name, or number `otherwise` without one; ORR_NONE: there is none. */
uint32_t orr_plot__axis_of(const struct orr_spreads *spreads, const char *name, uint32_t otherwise);
/* Values of an axis as they come; the place of one, which is added where it is new. */
struct orr_plot_values {
    const char **names;
    uint32_t count;
};
uint32_t orr_plot__value(struct orr_plot_values *values, const char *name);
/* plot_multiples.c */
enum orr_status orr_plot__multiples(struct orr_plot *plot, const struct orr_spreads *spreads,
                                    const struct orr_plot_settings *what,
                                    orr_plot_report_fn *report, void *context);

/* plot_runs.c: the longest of what they are called. */
uint32_t orr_plot__runs_letters(const struct orr_plot *to, const struct orr_plot *runs);
/* The dash of the line of a run: colours come again after six. */
const char *orr_plot__dash(uint32_t rank);
/* The plot command of a block a run from `first` on, but for its end; `style` of the lines, "" for
 * that of the legend. */
void orr_plot__runs_plot(struct orr_plot *to, const struct orr_plot *runs, uint32_t first,
                         const char *style, bool names, bool more);
/* Entries of a legend, a run each. */
void orr_plot__runs_keys(struct orr_plot *to, const struct orr_plot *runs);
/* Several runs in one axes: `to` writes the figure, of whose files the runs know nothing. */
void orr_plot__runs_wait_cdf(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_jct_cdf(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_size(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_allocation(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_depth(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_fairness(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_debt(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_churn(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_startable(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_fragmentation(struct orr_plot *to, struct orr_plot *runs);
/* A panel a run, with the same axes; a bar a run. */
void orr_plot__runs_reasons(struct orr_plot *to, struct orr_plot *runs);
void orr_plot__runs_waterfall(struct orr_plot *to, struct orr_plot *runs);

/* plot_churn.c */
struct orr_plot_churn { /* evictions of the part that is drawn: of whole jobs, and of some pods of
                         * jobs that went on */
    double cut, parts;
};
/* Fills layers that the caller opened. */
struct orr_plot_churn orr_plot__churn_load(struct orr_plot *plot, struct orr_plot_layers *evictions,
                                           struct orr_plot_layers *lost);

/* Where the run was busiest, from the series (the middle of the run without one). */
orr_ms orr_plot__busiest(struct orr_plot *plot);

/* Of a text: letters for the first queues, and one sign for all others. */
enum { ORR_PLOT_LETTERS = 26 };

/* plot_lanes.c: nodes, and who held what on them. */
struct orr_plot_node {
    int64_t id;
    char *name;
    uint32_t gpus, devices; /* devices: of gpus; the others are what its MIG instances count */
    uint32_t foreign; /* devices before these, which are in none of them: of another scheduler */
};
struct orr_plot_held { /* of each of its nodes */
    orr_ms start, end;
    int64_t job;
    int64_t mgpu, cpu_milli;
    uint64_t devices; /* 0: not counted one by one */
    uint32_t node;    /* index of the first one */
    uint32_t nodes;   /* that follow each other */
    uint32_t rank;    /* of the queue */
    uint32_t cell;    /* of a MIG instance: its first GPU of the node, behind all devices; else 0 */
    bool instance;    /* it is one MIG instance: a placement of several is as many */
    bool cut;         /* the attempt was cut short */
};
struct orr_plot_gap { /* the node is down, or no part of the cluster */
    orr_ms from, to;
    uint32_t node; /* index */
};
struct orr_plot_lanes {
    struct orr_plot_node *nodes; /* those with GPUs */
    struct orr_plot_held *held;  /* by start */
    struct orr_plot_gap *gaps;   /* by time */
    const char *profiles;        /* of MIG instances, as a node has them; NULL: there are none */
    uint32_t node_count, node_room, held_count, held_room, gap_count, gap_room;
};
/* Which instance of a profile a job has is not in the results: the first that is free.
 * `devices_only`: of nodes with devices; what holds MIG instances holds no more than its CPU. Read
 * once for all figures of the run, and borrowed. */
const struct orr_plot_lanes *orr_plot__lanes(struct orr_plot *plot, bool devices_only);
/* What figures read of it is kept until this. */
void orr_plot__lanes_close(struct orr_plot *plot);
/* What is held on one of the nodes alone, counted from the first. */
static inline struct orr_plot_held orr_plot__held_on(const struct orr_plot_held *held, uint32_t nth)
{
    struct orr_plot_held one = *held;
    one.node += nth;
    one.nodes = 1;
    return one;
}
/* The part of a gap that is in no earlier one of its node. `until`: of each node, 0 at the start.
 */
struct orr_plot_gap orr_plot__lanes_gap(const struct orr_plot_lanes *lanes, uint32_t gap,
                                        orr_ms *until);
/* Index of the node with that id, or ORR_NONE. */
uint32_t orr_plot__lanes_node(const struct orr_plot_lanes *lanes, int64_t id);

/* plot_heat.c: pictures of nodes (rows) by time (columns). */
struct orr_plot_heat {
    uint32_t rows, columns, per_row; /* per_row: nodes that share a row */
    orr_ms from, to;
    double *cells; /* [row][column], milli-GPU ms, then percent */
    double *away;  /* the same of nodes that are down or no part of the cluster; NULL: not drawn */
    double *gpus;  /* of a row */
};
void orr_plot__heat_open(struct orr_plot *plot, const struct orr_plot_lanes *lanes,
                         struct orr_plot_heat *heat);
void orr_plot__heat_close(struct orr_plot_heat *heat);
/* `mgpu` on each of `nodes` nodes from `node` on. */
void orr_plot__heat_add(struct orr_plot_heat *heat, uint32_t node, uint32_t nodes, orr_ms from,
                        orr_ms to, double mgpu);
/* Cells in which nothing is held and most GPUs are down or away are drawn as such from now on.
 * True: there are nodes that are. */
bool orr_plot__heat_gaps(struct orr_plot_heat *heat, const struct orr_plot_lanes *lanes);
/* Sums become percent of the GPU-time of a cell. */
void orr_plot__heat_percent(struct orr_plot_heat *heat);
/* The axis of nodes with at most `most` names; then either text for dumb, which is block 0, or rows
 * and their image. */
void orr_plot__heat_axis(struct orr_plot *plot, const struct orr_plot_lanes *lanes,
                         const struct orr_plot_heat *heat, uint32_t most);
void orr_plot__heat_text(struct orr_plot *plot, const struct orr_plot_heat *heat);
/* Grey, over the image. */
void orr_plot__heat_away(struct orr_plot *plot, const struct orr_plot_heat *heat);
uint32_t orr_plot__heat_rows(struct orr_plot *plot, const struct orr_plot_heat *heat);
/* The end of a scale on which the highest cell can be told from 0: 5, 10, 25, 50 or 100 %. */
int orr_plot__heat_scale(const struct orr_plot_heat *heat);
/* How far the label of a scale of colours stands off its numbers. */
const char *orr_plot__scale_offset(const struct orr_plot *plot);
/* `what` is the label of the scale, which ends at `scale` %; `palette` the colours of gnuplot's
 * "defined". */
void orr_plot__heat_image(struct orr_plot *plot, uint32_t block, int scale, const char *what,
                          const char *palette);

#endif
