/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_wait.c - figures of how long jobs took: wait-cdf, jct-cdf and size.
 *
 * Times are drawn on a log axis; those shorter than it begins have a place of their own before it.
 * Kinds are not averaged together: what is of all jobs leaves services out.
 */
#include "plot_int.h"
#include "plots_sql.h"

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

#define MOST_STEPS 700 /* of a curve: about one a pixel */
#define MOST_KINDS 8
/* What is measured of a job: queries of the ends of the axis and of all times, and the column of
 * orr_plots_sql__job_counts that tells how many are known in full. */
struct measure {
    const char *bounds, *times;
    int known;
    const char *title, *axis, *share, *never;
    bool lasting; /* drawn is the share that is not over yet, on a log axis: what waits long is what
                     matters, and the fewest */
};

static const struct measure wait_measure = {orr_plots_sql__wait_bounds,
                                            orr_plots_sql__wait_times,
                                            2,
                                            "How long jobs waited",
                                            "wait from submit to first start",
                                            "% of jobs still waiting after",
                                            "not started",
                                            true};
static const struct measure jct_measure = {orr_plots_sql__jct_bounds,
                                           orr_plots_sql__jct_times,
                                           3,
                                           "How long jobs took to complete",
                                           "time from submit to end (JCT)",
                                           "% of jobs ended within",
                                           "not ended",
                                           false};

/* Ends of the axis in seconds: from a whole decade, leaving out the shortest 0.5 % of times; what
 * is below a second is of interest only where nothing lasts long. */
static void wait_bounds(struct orr_plot *plot, const struct measure *of, double *lowest,
                        double *highest)
{
    int64_t low = 0, high = 0;
    sqlite3_stmt *row = orr_plot__of_jobs(plot, of->bounds);
    while (orr_results_step(&plot->in, row)) {
        low = sqlite3_column_int64(row, 0);
        high = sqlite3_column_int64(row, 1);
    }
    *lowest = low > 0 ? pow(10, floor(log10((double)low / 1000.0) + 1e-9)) : 1;
    *highest = (double)high / 1000.0 * 1.3;
    *lowest = *highest > 60 && *lowest < 1 ? 1 : *lowest;
    *highest = *highest > *lowest * 10 ? *highest : *lowest * 10;
}

/* The share of some jobs that are over, told in the order of their lengths: Kaplan-Meier. */
struct progress {
    int64_t jobs, seen; /* jobs is set before */
    double lasting;     /* share that lasts; while all that were seen are over, 0 */
};

/* The next one is over, or was last seen: the share that is over by then. */
static double progress_take(struct progress *progress, bool over)
{
    int64_t left = progress->jobs - progress->seen++;
    if (over && progress->lasting > 0) {
        progress->lasting *= 1.0 - 1.0 / (double)left;
    } else if (!over && progress->lasting <= 0) {
        progress->lasting = (double)left / (double)progress->jobs;
    }
    return progress->lasting > 0 || !over ? 1.0 - progress->lasting
                                          : (double)progress->seen / (double)progress->jobs;
}

/* A curve of the figure: its jobs so far, and the step not yet written. */
struct curve {
    struct progress progress;
    int64_t started, never; /* never: beside the jobs of the curve, those that could not have */
    double *x, *share;
    uint32_t count, room, share_room;
    int64_t step;
};

struct curves {
    const struct measure *of;
    struct curve *curves;
    uint32_t count;
    struct orr_plot_slots slots;
    bool kinds;    /* curves are kinds, not queues */
    bool services; /* some of the jobs are; the curve of all leaves them out */
    char *kind_names[MOST_KINDS];
    double lowest, highest, bottom;
};

static void curve_push(struct curve *curve, double x, double share)
{
    curve->x = ORR_ROOM_FOR_ONE(curve->x, curve->count, curve->room);
    curve->share = ORR_ROOM_FOR_ONE(curve->share, curve->count, curve->share_room);
    curve->x[curve->count] = x;
    curve->share[curve->count++] = 100.0 * share;
}

/* Adds a job that waited `ms`, or that long so far; jobs come in the order of their waits. */
static void curve_add(struct curve *curve, int64_t ms, bool over, double lowest, double highest)
{
    double share = progress_take(&curve->progress, over);
    if (!over) {
        return;
    }
    double seconds = (double)ms / 1000.0;
    double x = seconds < lowest ? lowest / 3 : seconds;
    int64_t step = (int64_t)(log(x / (lowest / 3)) / log(highest / (lowest / 3)) * MOST_STEPS);
    if (curve->count > 0 && step == curve->step) {
        curve->count--;
    }
    curve->step = step;
    curve_push(curve, x, share);
}

static uint32_t curve_of(const struct orr_plot *plot, const struct curves *all, int64_t key)
{
    if (all->kinds) {
        return key >= 0 && key < MOST_KINDS ? (uint32_t)key : MOST_KINDS - 1;
    }
    uint32_t rank = orr_plot__rank(plot, key);
    return rank == ORR_NONE ? all->count : orr_plot__slot(all->slots, rank);
}

/* Of such a query, whose first column is the kind if ?1, else the queue. */
static sqlite3_stmt *by_kind_or_queue(struct orr_plot *plot, const struct curves *all,
                                      const char *sql)
{
    sqlite3_stmt *row = orr_plot__of_jobs(plot, sql);
    if (row != NULL) {
        (void)sqlite3_bind_int(row, 1, all->kinds);
    }
    return row;
}

/* With one queue only, kinds tell more. The axis goes from `lowest` to `highest` seconds. */
static void curves_open(struct orr_plot *plot, struct curves *all, const struct measure *of,
                        double lowest, double highest)
{
    *all = (struct curves){.of = of,
                           .slots = orr_plot__slots(plot, plot->term == ORR_PLOT_DUMB ? 3 : 8),
                           .lowest = lowest,
                           .highest = highest};
    all->kinds = plot->queue_count == 1;
    all->count = all->kinds ? MOST_KINDS : all->slots.count;
    all->curves = orr_zalloc((size_t)all->count + 1, sizeof *all->curves);
    sqlite3_stmt *row = orr_results_prepare(&plot->in, orr_plots_sql__kinds);
    while (orr_results_step(&plot->in, row)) {
        all->kind_names[curve_of(plot, &(struct curves){.kinds = true},
                                 sqlite3_column_int64(row, 0))] =
            orr_results_text(&plot->in, row, 1);
    }
    row = by_kind_or_queue(plot, all, orr_plots_sql__job_counts);
    while (orr_results_step(&plot->in, row)) {
        uint32_t at[2] = {curve_of(plot, all, sqlite3_column_int64(row, 0)), all->count};
        const bool service = sqlite3_column_int(row, 5) != 0;
        all->services = all->services || service;
        for (int i = at[0] == all->count ? 1 : 0; i < (service ? 1 : 2); i++) {
            all->curves[at[i]].progress.jobs += sqlite3_column_int64(row, 1);
            all->curves[at[i]].started += sqlite3_column_int64(row, of->known);
            all->curves[at[i]].never += sqlite3_column_int64(row, 4);
        }
    }
    row = by_kind_or_queue(plot, all, of->times);
    while (orr_results_step(&plot->in, row)) {
        uint32_t at[2] = {curve_of(plot, all, sqlite3_column_int64(row, 0)), all->count};
        for (int i = at[0] == all->count ? 1 : 0; i < (sqlite3_column_int(row, 2) != 0 ? 1 : 2);
             i++) {
            curve_add(&all->curves[at[i]], sqlite3_column_int64(row, 1),
                      sqlite3_column_int(row, 3) != 0, all->lowest, all->highest);
        }
    }
}

static void curves_close(struct curves *all)
{
    for (uint32_t i = 0; i <= all->count; i++) {
        orr_free(all->curves[i].x);
        orr_free(all->curves[i].share);
    }
    orr_free(all->curves);
}

/* What is drawn of a share that is over; the end of a curve on a log axis is its bottom. */
static double shown(const struct curves *all, double over)
{
    const double lasts = 100 - over;
    return !all->of->lasting ? over : lasts > all->bottom ? lasts : all->bottom;
}

/* A power of ten below the share of one job of those that are most. */
static double bottom_of(const struct curves *all)
{
    const double jobs = (double)all->curves[all->count].progress.jobs;
    const double bottom = pow(10, floor(log10(100 / (jobs > 1 ? jobs : 1)) + 1e-9));
    return bottom < 0.001 ? 0.001 : bottom < 10 ? bottom : 10;
}

/* Did every job start as it came? All curves are then a dot at the corner of the axes. */
static bool nobody_waited(const struct curves *all)
{
    bool waited = !all->of->lasting;
    for (uint32_t i = 0; i <= all->count; i++) {
        const struct curve *curve = &all->curves[i];
        const uint32_t last = curve->count - 1;
        waited = waited || curve->started < curve->progress.jobs ||
                 (curve->count > 0 && curve->x[last] >= all->lowest);
    }
    return !waited;
}

static const char no_waits[] = "no job waited: each started the instant it came";

/* Block of a curve: it starts with the share that is shorter than the axis begins, and ends at the
 * right edge. */
static uint32_t curve_rows(struct orr_plot *plot, const struct curves *all, uint32_t at)
{
    const struct curve *curve = &all->curves[at];
    uint32_t block = orr_plot__block(plot, "seconds (shorter ones at the first x), % of jobs");
    bool zero = curve->count > 0 && curve->x[0] < all->lowest;
    if (!zero) {
        orr_plot__row(plot, "%.9g %g\n", all->lowest / 3, shown(all, 0));
    }
    for (uint32_t i = 0; i < curve->count; i++) {
        orr_plot__row(plot, "%.9g %.6g\n", curve->x[i], shown(all, curve->share[i]));
    }
    double last = curve->count > 0 ? curve->share[curve->count - 1] : 0;
    if (!all->of->lasting || last < 100) {
        orr_plot__row(plot, "%.9g %.6g\n", all->highest, shown(all, last));
    }
    return block;
}

/* How many jobs it is of, of which so many are not over, and how many beside could not have been.
 */
static void curve_counts(const struct curves *all, const struct curve *curve, char extra[100])
{
    const long long left = (long long)(curve->progress.jobs - curve->started);
    int used = snprintf(extra, 100, "  %lld", (long long)curve->progress.jobs);
    if (left > 0) {
        used += snprintf(extra + used, 100 - (size_t)used, ", %lld %s", left, all->of->never);
    }
    if (curve->never > 0) {
        (void)snprintf(extra + used, 100 - (size_t)used, ", %lld never", (long long)curve->never);
    }
}

/* Of the longest entry of the legend. */
static uint32_t curves_letters(const struct orr_plot *plot, const struct curves *all)
{
    uint32_t most = 0;
    char extra[100];
    for (uint32_t i = 0; i <= all->count; i++) {
        curve_counts(all, &all->curves[i], extra);
        most = strlen(extra) > most ? (uint32_t)strlen(extra) : most;
    }
    return most + (all->kinds ? 16 : orr_plot__slots_letters(plot, all->slots));
}

static uint32_t runs_letters(const struct orr_plot *to, const struct orr_plot *runs,
                             const struct curves *all)
{
    uint32_t most = 0;
    char extra[100];
    for (uint32_t i = 0; i < to->among; i++) {
        curve_counts(&all[i], &all[i].curves[all[i].count], extra);
        most = strlen(extra) > most ? (uint32_t)strlen(extra) : most;
    }
    return most + orr_plot__runs_letters(to, runs);
}

static void curve_name(struct orr_plot *plot, const struct curves *all, uint32_t at)
{
    char extra[100];
    curve_counts(all, &all->curves[at], extra);
    if (at == all->count) {
        orr_plot__gp(plot, "'all%s%s'", all->services ? " but services" : " jobs", extra);
    } else if (all->kinds) {
        const char *name = all->kind_names[at];
        orr_plot__quote(plot, name != NULL ? name : "?", 18, false);
        orr_plot__gp(plot, ".'%s'", extra);
    } else {
        orr_plot__slot_name(plot, all->slots, at, extra);
    }
}

/* The same of a run among several. */
static void curve_of_run(struct orr_plot *to, const struct orr_plot *run, const struct curves *all,
                         uint32_t at, uint32_t block)
{
    char extra[100];
    curve_counts(all, &all->curves[all->count], extra);
    orr_plot__data(to, block);
    orr_plot__gp(to, "using 1:2 with steps title ");
    orr_plot__name(to, run->label);
    orr_plot__gp(to, ".'%s'", extra);
    if (to->term != ORR_PLOT_DUMB) {
        const char *colour = orr_plot__colour(at, to->among);
        orr_plot__gp(to, " lw 2 dt %s lc rgb '%s', \\\n  ", orr_plot__dash(at), colour);
        orr_plot__data(to, block);
        orr_plot__gp(to, "every ::0::0 using 1:2 with points pt 7 ps 0.7 lc rgb '%s' notitle",
                     colour);
    }
}

/* A curve and the dot that shows where it starts. */
static void curve_plot(struct orr_plot *plot, const struct curves *all, uint32_t at, uint32_t block)
{
    bool whole = at == all->count;
    const char *colour =
        whole ? "#000000" : orr_plot__colour(at, all->kinds ? all->count : all->slots.shown);
    orr_plot__data(plot, block);
    if (plot->term == ORR_PLOT_DUMB) {
        orr_plot__gp(plot, "using 1:2 with steps title ");
        curve_name(plot, all, at);
        return;
    }
    orr_plot__gp(plot, "using 1:2 with steps lw %s dt %s lc rgb '%s' title ", whole ? "2.6" : "1.8",
                 whole || at < 5 ? "1" : "(10,3)", colour);
    curve_name(plot, all, at);
    orr_plot__gp(plot, ", \\\n  ");
    orr_plot__data(plot, block);
    orr_plot__gp(plot, "every ::0::0 using 1:2 with points pt 7 ps 0.7 lc rgb '%s' notitle",
                 colour);
}

static void cdf_axes(struct orr_plot *plot, const struct curves *all)
{
    const struct measure *of = all->of;
    const bool dumb = plot->term == ORR_PLOT_DUMB;
    orr_plot__wait_axis(plot, 'x', all->lowest, all->highest);
    orr_plot__gp(plot, "set xlabel '%s%s'\nset ylabel '%s'\n", of->axis,
                 dumb || of != &wait_measure || plot->options->width_mm > 0
                     ? ""
                     : " (dots: shorter than the axis begins)",
                 of->share);
    if (of->lasting) {
        orr_plot__gp(plot, "set logscale y\nset yrange [%g:110]\nset format y '%%g'\n",
                     all->bottom);
    } else {
        orr_plot__gp(plot, "set yrange [0:%s]\n", dumb ? "100" : "101");
    }
}

/* Which jobs the curves are of, and how those count that are not over: a curve may come down (or
 * up) to its end though many of them are left. */
static void cdf_note(const struct orr_plot *run, bool left, bool never, char note[120])
{
    const char *const parts[] = {orr_plot__which_jobs(run), left ? "by Kaplan-Meier" : "",
                                 never ? "never: could not have started" : ""};
    note[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const size_t used = strlen(note);
        (void)snprintf(note + used, 120 - used, "%s%s", used > 0 && parts[i][0] != '\0' ? "; " : "",
                       parts[i]);
    }
}

static bool has_left(const struct curves *all)
{
    const struct curve *sum = &all->curves[all->count];
    return sum->progress.jobs > sum->started;
}

static void cdf_draw(struct orr_plot *plot, const struct measure *of)
{
    struct curves all;
    char text[160], note[120];
    double lowest = 1, highest = 10;
    wait_bounds(plot, of, &lowest, &highest);
    curves_open(plot, &all, of, lowest, highest);
    orr_plot__start(plot, (struct orr_plot_size){900, 500, 100, 30, true});
    bool dumb = plot->term == ORR_PLOT_DUMB;
    const struct curve *sum = &all.curves[all.count];
    (void)snprintf(text, sizeof text, "%s, by %s", of->title, all.kinds ? "kind" : "queue");
    cdf_note(plot, has_left(&all), sum->never > 0, note);
    plot->beside = curves_letters(plot, &all);
    orr_plot__title(plot, text, note[0] != '\0' ? note : NULL);
    if (sum->progress.jobs + sum->never == 0) {
        orr_plot__nothing(plot, "no job was submitted in the window");
        curves_close(&all);
        return;
    }
    if (nobody_waited(&all)) {
        orr_plot__nothing(plot, no_waits);
        curves_close(&all);
        return;
    }
    all.bottom = bottom_of(&all);
    cdf_axes(plot, &all);
    orr_plot__gp(plot, dumb ? "" : "set grid xtics\n");
    orr_plot__legend(plot, all.kinds ? "kind, jobs" : "queue, jobs", all.count + 1,
                     curves_letters(plot, &all), false);
    uint32_t blocks[ORR_PLOT_COLOURS + 2] = {0};
    for (uint32_t i = 0; i <= all.count; i++) {
        blocks[i] = curve_rows(plot, &all, i);
    }
    orr_plot__gp(plot, "plot ");
    for (uint32_t i = 0; i <= all.count; i++) {
        if (all.curves[i].progress.jobs + all.curves[i].never > 0) {
            curve_plot(plot, &all, i, blocks[i]);
            orr_plot__gp(plot, i < all.count ? ", \\\n  " : "\n");
        }
    }
    curves_close(&all);
}

static void cdf_draw_runs(struct orr_plot *to, struct orr_plot *runs, const struct measure *of)
{
    double lowest = HUGE_VAL, highest = 0;
    for (uint32_t i = 0; i < to->among; i++) {
        double low = 1, high = 10;
        wait_bounds(&runs[i], of, &low, &high);
        lowest = low < lowest ? low : lowest;
        highest = high > highest ? high : highest;
    }
    struct curves *all = orr_zalloc(to->among, sizeof *all);
    double bottom = 100;
    bool never = false, waited = false, left = false;
    for (uint32_t i = 0; i < to->among; i++) {
        curves_open(&runs[i], &all[i], of, lowest, highest);
        waited = waited || !nobody_waited(&all[i]);
        left = left || has_left(&all[i]);
        bottom = fmin(bottom, bottom_of(&all[i]));
        never = never || all[i].curves[all[i].count].never > 0;
    }
    char note[120];
    cdf_note(&runs[0], left, never, note);
    orr_plot__start(to, (struct orr_plot_size){900, 500, 100, 30, false});
    to->beside = runs_letters(to, runs, all);
    orr_plot__title(to, of->title, note[0] != '\0' ? note : NULL);
    if (!waited) {
        orr_plot__nothing(to, no_waits);
    }
    all[0].bottom = bottom;
    cdf_axes(to, &all[0]);
    orr_plot__legend(to, "run, jobs", to->among, runs_letters(to, runs, all), false);
    uint32_t *blocks = orr_zalloc(to->among, sizeof *blocks);
    for (uint32_t i = 0; i < to->among; i++) {
        all[i].bottom = bottom;
        blocks[i] = curve_rows(to, &all[i], all[i].count);
    }
    for (uint32_t i = 0; i < to->among; i++) {
        orr_plot__gp(to, i == 0 ? "plot " : ", \\\n  ");
        curve_of_run(to, &runs[i], &all[i], i, blocks[i]);
        curves_close(&all[i]);
    }
    orr_plot__gp(to, "\n");
    orr_free(blocks);
    orr_free(all);
}

void orr_plot__runs_wait_cdf(struct orr_plot *to, struct orr_plot *runs)
{
    cdf_draw_runs(to, runs, &wait_measure);
}

void orr_plot__runs_jct_cdf(struct orr_plot *to, struct orr_plot *runs)
{
    cdf_draw_runs(to, runs, &jct_measure);
}

void orr_plot__wait_cdf(struct orr_plot *plot)
{
    cdf_draw(plot, &wait_measure);
}

void orr_plot__jct_cdf(struct orr_plot *plot)
{
    cdf_draw(plot, &jct_measure);
}

/* Size classes: 0, less than a GPU, 1, 2, 3-4, 5-8 ... by powers of two. */
enum { CLASSES = 24 };

#define CLASS_MARKS 5
static const double class_marks[CLASS_MARKS] = {0.05, 0.25, 0.50, 0.75, 0.95};

struct class
{
    struct progress progress;
    double marks[CLASS_MARKS]; /* quantiles of waits in seconds, those that were reached */
    uint32_t reached;
    int64_t started, never;
};

static uint32_t class_of(int64_t mgpu)
{
    if (mgpu <= 0) {
        return 0;
    }
    uint32_t class = 1;
    for (int64_t most = ORR_MGPU - 1; mgpu > most && class < CLASSES - 1; class ++) {
        most = most < ORR_MGPU ? ORR_MGPU : most * 2;
    }
    return class;
}

static void class_name(char *out, size_t room, uint32_t class)
{
    long long most = class < 2 ? 0 : 1LL << (class - 2);
    if (class == 0) {
        (void)snprintf(out, room, "0");
    } else if (class == 1) {
        (void)snprintf(out, room, "<1");
    } else if (most <= 2) {
        (void)snprintf(out, room, "%lld", most);
    } else if (class == CLASSES - 1) {
        (void)snprintf(out, room, ">%lld", most / 2);
    } else {
        (void)snprintf(out, room, "%lld-%lld", most / 2 + 1, most);
    }
}

/* How many jobs each has, then their waits in ascending order. */
static void classes_load(struct orr_plot *plot, struct class *classes)
{
    sqlite3_stmt *row = orr_plot__of_jobs(plot, orr_plots_sql__class_counts);
    while (orr_results_step(&plot->in, row)) {
        struct class *class = &classes[class_of(sqlite3_column_int64(row, 0))];
        class->progress.jobs += sqlite3_column_int64(row, 1);
        class->never += sqlite3_column_int64(row, 2);
    }
    row = orr_plot__of_jobs(plot, orr_plots_sql__class_waits);
    while (orr_results_step(&plot->in, row)) {
        struct class *class = &classes[class_of(sqlite3_column_int64(row, 0))];
        bool over = sqlite3_column_int(row, 2) != 0;
        double share = progress_take(&class->progress, over);
        class->started += over;
        while (over && class->reached < CLASS_MARKS &&
               share >= class_marks[class->reached] - 1e-9) {
            class->marks[class->reached++] = sqlite3_column_double(row, 1) / 1000.0;
        }
    }
}

static bool class_is_empty(const struct class *class)
{
    return class->progress.jobs + class->never == 0;
}

/* Rows x, n, then p5, p25, p50, p75, p95, at the ends of the axis what lies beyond; labels of n
 * above, of classes below. Returns how many. */
static uint32_t class_rows(struct orr_plot *plot, const struct class *classes, double lowest,
                           double highest)
{
    uint32_t columns = 0;
    (void)orr_plot__block(plot, "column, jobs, waits in seconds: p5 p25 p50 p75 p95");
    orr_plot__gp(plot, "set xtics %s (", orr_plot__narrow(plot) ? "rotate by 40 right" : "");
    for (uint32_t i = 0; i < CLASSES; i++) {
        char name[60];
        if (class_is_empty(&classes[i])) {
            continue;
        }
        class_name(name, sizeof name, i);
        if (orr_plot__narrow(plot)) { /* no room above the boxes */
            const size_t used = strlen(name);
            (void)snprintf(name + used, sizeof name - used, ": %lld",
                           (long long)classes[i].started);
        }
        orr_plot__gp(plot, "%s'%s' %u", columns > 0 ? ", " : "", name, columns);
        orr_plot__row(plot, "%u %lld", columns++, (long long)classes[i].started);
        for (uint32_t k = 0; k < CLASS_MARKS; k++) {
            double wait = k < classes[i].reached ? classes[i].marks[k] : highest;
            orr_plot__row(plot, " %.9g", wait < lowest ? lowest / 3 : wait);
        }
        orr_plot__row(plot, "\n");
    }
    orr_plot__gp(plot, ")\n");
    return columns;
}

static void class_labels(struct orr_plot *plot, const struct class *classes)
{
    uint32_t column = 0;
    for (uint32_t i = 0; i < CLASSES; i++) {
        long long started = (long long)classes[i].started;
        long long left = (long long)classes[i].progress.jobs - started;
        char red[60] = "";
        if (class_is_empty(&classes[i])) {
            continue;
        }
        if (!orr_plot__narrow(plot)) {
            orr_plot__gp(plot, "set label 'n %lld' at %u,graph 1.035 center font ',%g'%s\n",
                         started, column, plot->small, orr_plot__ink(plot));
        }
        if (left > 0) {
            (void)snprintf(red, sizeof red, "+%lld", left);
        }
        if (classes[i].never > 0) {
            const size_t used = strlen(red);
            (void)snprintf(red + used, sizeof red - used, "%s!%lld", used > 0 ? " " : "",
                           (long long)classes[i].never);
        }
        if (red[0] != '\0') {
            orr_plot__gp(plot,
                         "set label '%s' at %u,graph %g center font ',%g' textcolor rgb "
                         "'#b00020'\n",
                         red, column, orr_plot__narrow(plot) ? 1.04 : 1.085, plot->small);
        }
        column++;
    }
}

static void size_boxes(struct orr_plot *plot, uint32_t columns)
{
    orr_plot__gp(plot, "set xrange [-0.6:%.1f]\n", columns - 0.4);
    if (plot->term == ORR_PLOT_DUMB) {
        static const char *const names[] = {"p5", "p50", "p95"};
        static const int at[] = {3, 5, 7};
        for (int i = 0; i < 3; i++) {
            orr_plot__gp(plot, i == 0 ? "plot " : ", ");
            orr_plot__data(plot, 0);
            orr_plot__gp(plot, "using 1:%d with linespoints title '%s'", at[i], names[i]);
        }
        orr_plot__gp(plot, "\n");
        return;
    }
    orr_plot__gp(plot, "set boxwidth 0.55\n");
    if (orr_plot__narrow(plot)) {
        orr_plot__legend(plot, "", 2, 31, false);
        orr_plot__gp(plot, "set bmargin at screen %.4f\n", plot->legend_top + 6.5 * plot->line);
    } else {
        orr_plot__gp(plot, "set bmargin 5.5\n"
                           "set key at screen 0.5,0.045 center center horizontal maxcols auto\n");
    }
    orr_plot__gp(plot, "plot ");
    orr_plot__data(plot, 0);
    orr_plot__gp(
        plot,
        "using 1:4:3:7:6 with candlesticks whiskerbars 0.4 fc rgb '#7fb8d8' fs solid 1.0 border "
        "lc rgb '#0072b2' lw 1.3 title 'middle half, whiskers p5 to p95', \\\n  ");
    orr_plot__data(plot, 0);
    orr_plot__gp(plot, "using 1:5:5:5:5 with candlesticks lw 3 lc rgb '#101010' notitle, \\\n"
                       "  keyentry with lines lw 3 lc rgb '#101010' title 'median'\n");
}

/* What the labels above the boxes mean; a picture of characters has none, and states the sums. */
static void size_note(const struct orr_plot *plot, int64_t left, int64_t never, char *note,
                      size_t bytes)
{
    const char *part = orr_plot__which_jobs(plot);
    char labels[80] = "";
    if (plot->term == ORR_PLOT_DUMB && left + never > 0) {
        (void)snprintf(labels, sizeof labels, "%lld job%s not started, %lld never could",
                       (long long)left, ORR_PLURAL(left), (long long)never);
    } else if (never > 0) {
        (void)snprintf(labels, sizeof labels,
                       "red: + not started (at the top edge: not reached), ! never could");
    } else if (left > 0) {
        (void)snprintf(labels, sizeof labels, "red: not started (at the top edge: not reached)");
    }
    (void)snprintf(note, bytes, "%s%s%s", part, part[0] != '\0' && labels[0] != '\0' ? "; " : "",
                   labels);
}

void orr_plot__size(struct orr_plot *plot)
{
    struct class classes[CLASSES] = {0};
    double lowest = 1, highest = 10;
    classes_load(plot, classes);
    wait_bounds(plot, &wait_measure, &lowest, &highest);
    int64_t left = 0, never = 0;
    for (uint32_t i = 0; i < CLASSES; i++) {
        left += classes[i].progress.jobs - classes[i].started;
        never += classes[i].never;
    }
    orr_plot__start(plot, (struct orr_plot_size){900, 500, 100, 30, false});
    char note[160];
    size_note(plot, left, never, note, sizeof note);
    orr_plot__title(plot, "Wait by number of GPUs asked for", note[0] != '\0' ? note : NULL);
    uint32_t columns = class_rows(plot, classes, lowest, highest);
    if (columns == 0) {
        orr_plot__nothing(plot, "no job was submitted in the window");
    } else {
        orr_plot__wait_axis(plot, 'y', lowest, highest);
        orr_plot__gp(plot, "set ylabel 'wait'\nset xlabel 'GPUs asked for%s'\n",
                     orr_plot__narrow(plot) ? ": jobs that started" : "");
        if (plot->term != ORR_PLOT_DUMB) {
            const int above = orr_plot__narrow(plot) ? 0 : left + never > 0 ? 2 : 1;
            orr_plot__gp(plot, "set tmargin %d\nset title offset 0,%d\n",
                         (int)plot->title_lines + 2 + above, above);
            class_labels(plot, classes);
        }
        size_boxes(plot, columns);
    }
}

/* Columns of all runs beside each other: x, p5 p25 p50 p75 p95; a block a run. */
static void sizes_rows(struct orr_plot *to, const struct class *classes, const uint32_t *columns,
                       uint32_t run, double lowest, double highest)
{
    (void)orr_plot__block(to, "x, waits in seconds: p5 p25 p50 p75 p95");
    for (uint32_t c = 0; c < CLASSES; c++) {
        if (class_is_empty(&classes[c])) {
            continue;
        }
        orr_plot__row(to, "%.4f", columns[c] + (run + 0.5) / to->among * 0.8 - 0.4);
        for (uint32_t k = 0; k < CLASS_MARKS; k++) {
            const double wait = k < classes[c].reached ? classes[c].marks[k] : highest;
            orr_plot__row(to, " %.9g", wait < lowest ? lowest / 3 : wait);
        }
        orr_plot__row(to, "\n");
    }
}

static void sizes_plot(struct orr_plot *to, const struct orr_plot *runs)
{
    const bool dumb = to->term == ORR_PLOT_DUMB;
    if (!dumb) {
        orr_plot__gp(to, "set boxwidth %.4f\n", 0.66 / to->among);
    }
    for (uint32_t i = 0; i < to->among; i++) {
        orr_plot__gp(to, i == 0 ? "plot " : ", \\\n  ");
        orr_plot__data(to, i);
        if (dumb) {
            orr_plot__gp(to, "using 1:4 with points title ");
        } else {
            orr_plot__gp(to,
                         "using 1:3:2:6:5 with candlesticks whiskerbars 0.5 lw 1.2 lc rgb '%s' fs "
                         "transparent solid 0.5 border title ",
                         orr_plot__colour(i, to->among));
        }
        orr_plot__name(to, runs[i].label);
        if (!dumb) {
            orr_plot__gp(to, ", \\\n  ");
            orr_plot__data(to, i);
            orr_plot__gp(to, "using 1:4:4:4:4 with candlesticks lw 2.4 lc rgb '#101010' notitle");
        }
    }
    orr_plot__gp(to, dumb ? "\n"
                          : ", \\\n  keyentry with lines lw 2.4 lc rgb '#101010' title 'median'\n");
}

void orr_plot__runs_size(struct orr_plot *to, struct orr_plot *runs)
{
    struct class *classes = orr_zalloc((size_t)to->among * CLASSES, sizeof *classes);
    uint32_t columns[CLASSES], count = 0;
    double lowest = HUGE_VAL, highest = 0;
    bool left = false;
    for (uint32_t i = 0; i < to->among; i++) {
        double low = 1, high = 10;
        wait_bounds(&runs[i], &wait_measure, &low, &high);
        classes_load(&runs[i], classes + (size_t)i * CLASSES);
        lowest = low < lowest ? low : lowest;
        highest = high > highest ? high : highest;
    }
    const char *part = orr_plot__which_jobs(&runs[0]);
    char note[160];
    orr_plot__start(to, (struct orr_plot_size){900, 500, 100, 30, false});
    orr_plot__gp(to, "set xtics %s (", orr_plot__narrow(to) ? "rotate by 40 right" : "");
    for (uint32_t c = 0; c < CLASSES; c++) {
        bool any = false;
        for (uint32_t i = 0; i < to->among; i++) {
            const struct class *class = &classes[(size_t)i * CLASSES + c];
            any = any || !class_is_empty(class);
            left = left || class->progress.jobs > class->started;
        }
        if (any) {
            char name[60];
            class_name(name, sizeof name, c);
            orr_plot__gp(to, "%s'%s' %u", count > 0 ? ", " : "", name, count);
            columns[c] = count++;
        }
    }
    orr_plot__gp(to, ")\n");
    (void)snprintf(note, sizeof note, "%s%s%s", part, part[0] != '\0' && left ? "; " : "",
                   left ? "at the top edge: not reached" : "");
    orr_plot__title(to, "Wait by number of GPUs asked for", note[0] != '\0' ? note : NULL);
    if (count == 0) {
        orr_plot__nothing(to, "no job was submitted");
    } else {
        for (uint32_t i = 0; i < to->among; i++) {
            sizes_rows(to, classes + (size_t)i * CLASSES, columns, i, lowest, highest);
        }
        orr_plot__wait_axis(to, 'y', lowest, highest);
        orr_plot__gp(to, "set ylabel 'wait'\nset xlabel 'GPUs asked for'\nset xrange [-0.6:%.1f]\n",
                     count - 0.4);
        orr_plot__legend(to, "boxes p25 to p75,\\nwhiskers p5 to p95", to->among + 2,
                         orr_plot__runs_letters(to, runs), false);
        sizes_plot(to, runs);
    }
    orr_free(classes);
}
