/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_int.h - what the files of the report share. */
#ifndef ORR_REPORT_INT_H
#define ORR_REPORT_INT_H

#include <stdio.h>

#include <orrery/analysis/calibrate.h>
#include <orrery/analysis/course.h>
#include <orrery/analysis/report.h>
#include <orrery/analysis/results.h>
#include <orrery/analysis/xml.h>

/* --- report_html.c: the page. Texts are escaped. --- */

void orr_report__begin(FILE *out, const char *title, bool wide);
void orr_report__end(FILE *out);
/* A table of a query: the names of its columns are the heads, NULL is empty; a name that ends in '
 * s' holds seconds and is shown as people say them. `empty` is said instead of a table without
 * rows. Rows beyond `most` are counted, not shown. */
void orr_report__table(struct orr_results *in, const char *sql, uint32_t most, const char *empty,
                       FILE *out);
/* An orr_plot_report_fn, whose context is an empty FILE: notes why figures are left out, as a
 * paragraph that is to be ended if there is any. */
void orr_report__left_out(void *context, const char *path, const char *message);
/* The paragraph of a comparison of runs that are apart (`apart` of struct orr_comparison). */
void orr_report__apart(const char *apart, FILE *out);
/* An SVG file as part of the page. */
void orr_report__svg(FILE *in, FILE *out);
/* A number with as many digits as are worth reading, thousands apart; "-" for none. Returns out. */
const char *orr_report__number(double value, char out[40]);
/* "1 job", "256 jobs": a number with what it counts. Returns out. */
const char *orr_report__count(double value, const char *one, const char *many, char out[40]);

/* --- what a section knows of its run --- */

/* A metric of all jobs, named in orr_metric_table; NAN: the run has none of that name. */
double orr_report__metric(struct orr_results *in, const char *name);
/* The same of a time, in words; of a quantile that was not reached ">" and the least it can be.
 * Returns out. */
const char *orr_report__seconds(struct orr_results *in, const char *name, char out[40]);

/* report_short.c: the questions a reader comes with, each answered in a sentence or two. */
enum orr_report_question {
    ORR_REPORT_WAITS,
    ORR_REPORT_SATURATED,
    ORR_REPORT_EVICTIONS,
    ORR_REPORT_LENDING,
    ORR_REPORT_OBJECTIVES,
    ORR_REPORT_EXPECTED,
    ORR_REPORT_TRUST
};
#define ORR_REPORT_QUESTIONS 7
extern const char *const orr_report__questions[ORR_REPORT_QUESTIONS];
/* Where on the page more is told; the name of a section. */
extern const char *const orr_report__sections[ORR_REPORT_QUESTIONS];
/* Whether a run has anything to ask this of; a run of jobs without objectives has not. */
bool orr_report__has_answer(struct orr_results *in, enum orr_report_question question);
struct orr_report_walk;
struct orr_report_trust;
/* `walk` and `trust` are of the same results; each is read by the questions about it alone. */
void orr_report__answer(struct orr_results *in, enum orr_report_question question,
                        const struct orr_report_walk *walk, const struct orr_report_trust *trust,
                        FILE *out);

/* report_lending.c: GPU-hours that queues held beyond their quotas while others of their shard left
 * theirs, from each change to the next within the window, shared out in proportion. */
struct orr_report_loan {
    uint32_t lender, borrower; /* indices of names */
    double gpu_h;
    double owed_gpu_h; /* of it while the lender's own jobs waited for it */
};
struct orr_report_lending {
    uint32_t queue_count, quota_count; /* leaves; those with a quota above 0 */
    char **names;                      /* in the arena of the results */
    double *lent, *borrowed;           /* GPU-hours of each queue, lender known */
    struct orr_report_loan *loans;     /* largest first */
    uint32_t loan_count;
};

/* report_load.c: shares of the window and means over it. */
struct orr_report_load {
    double ms;         /* of the window */
    double full;       /* share in which 98 % of what is up was held and something waited */
    double waits;      /* share in which jobs waited for a GPU or more */
    double over;       /* share in which held and asked for were more than was up */
    double pending;    /* GPUs asked for and not held */
    double idle_waits; /* GPUs free while jobs waited for a GPU or more */
};
void orr_report__load_step(const struct orr_course *course, double length_ms,
                           struct orr_report_load *load);
void orr_report__load_conclude(struct orr_report_load *load);

/* What comes of one walk over the window of a run, from each change to the next. */
struct orr_report_walk {
    struct orr_report_lending lending;
    struct orr_report_load load;
};
void orr_report__walk_open(struct orr_results *in, struct orr_report_walk *walk);
void orr_report__walk_close(struct orr_report_walk *walk);
void orr_report__lending_table(const struct orr_report_lending *lending, FILE *out);

/* report_trust.c: what speaks for and against the numbers. It takes an audit of the whole run to
 * know, so a page looks once for all that is said of it. */
struct orr_report_trust {
    bool whole;              /* ran to its last job */
    int64_t open, unstarted; /* jobs that had not ended; not started */
    int64_t absent;          /* not even submitted */
    int64_t nevers;          /* of them that never could have: in no number of waits */
    int64_t stuck;           /* of them that wait though nothing runs and nothing is to come */
    const char *stuck_first, *stuck_why;
    int64_t rejected, read; /* rows of traces */
    bool recorded;          /* the trace says when jobs started */
    bool audited;
    uint32_t rules; /* examined */
    uint64_t found; /* broken */
    bool calibrated;
    struct orr_calibration_row error; /* of all jobs */
};
struct orr_report_trust orr_report__trust_look(struct orr_results *in);
/* As a list; and the shortest of it. */
void orr_report__trust_list(struct orr_results *in, const struct orr_report_trust *trust,
                            FILE *out);
void orr_report__trust_answer(const struct orr_report_trust *trust, FILE *out);

/* report_run.c: all about one run. `prefix` keeps the names of sections of several runs apart;
 * figures in `but` (names, NULL at the end) are left out. */
void orr_report__run(struct orr_results *in, const struct orr_report_options *options,
                     const char *prefix, const char *const *but, FILE *out);
/* One figure of the page, drawn into the folder before. */
void orr_report__figure(const char *db_path, const char *name, const char *caption,
                        const char *scratch, const char *prefix, FILE *out);
/* report_changes.c: what file `index` has other than the first, as a list and in one line: the
 * caller's words for it, or, when there are none, lines of the resolved scenarios. */
void orr_report__changes(const struct orr_report_options *options, uint32_t index, FILE *out);
void orr_report__changes_short(const struct orr_report_options *options, uint32_t index, FILE *out);
/* report_many.c: what differs between several. */
enum orr_status orr_report__many(const struct orr_report_options *options, FILE *out,
                                 struct orr_err *err);
/* report_settings.c: all about merged sweeps. */
enum orr_status orr_report__settings(const struct orr_report_options *options, FILE *out,
                                     struct orr_err *err);
/* Figures that runs side by side show beside each other; NULL at the end. */
extern const char *const orr_report__beside[];

#endif
