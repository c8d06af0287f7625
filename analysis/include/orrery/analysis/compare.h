/* SPDX-License-Identifier: GPL-3.0-or-later */
/* compare.h - what differs between policies or settings, and whether it could be chance.
 *
 * An arm is one setting, run with several seeds: results files whose resolved scenarios differ in
 * their seed only. Arms are compared with the first one in pairs of equal seed, because the seed
 * fixes arrivals, run times and failures (common random numbers). With one seed there is nothing to
 * estimate an interval from, and none is given; `windows` cuts one long trace into blocks instead.
 */
#ifndef ORR_ANALYSIS_COMPARE_H
#define ORR_ANALYSIS_COMPARE_H

#include <stdio.h>

#include <orrery/analysis/metrics.h>
#include <orrery/analysis/paired.h>
#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct orr_compare_options {
    const char *const *paths; /* results files; the arm of the first is the base */
    uint32_t path_count;
    const char *const *names; /* per path, what messages call it: of a run repeated into a file that
                               * nobody knows, the file it repeats; NULL: the path */
    const char *const *labels; /* per path, what its arm is called; NULL, or NULL entries: chosen */
    const uint32_t *arms;   /* per path, its arm, the first one's 0; NULL: told by the settings */
    const uint32_t *points; /* per path, a point of that merged sweep; NULL: results files. Sweeps
                             * have no jobs: no ORR_JCT_RATIO, no blocks */
    const char *const *metrics; /* names; NULL: the headline ones */
    uint32_t metric_count;
    const char *scope; /* all, queue, kind, size; NULL: all */
    orr_ms window_ms;  /* one seed: length of a block of submits; 0: no blocks */
    double level;      /* of intervals; 0: 0.95 */
    bool any_seed;     /* one run an arm: set side by side whatever their seeds are */
    bool may_be_empty; /* no file may have a metric of the scope: then there are none to compare */
};

/* Of a pair of runs, not of one: geometric mean over jobs that ended in both of (end - submit) over
 * that of the base, which has 1. In scope all. */
#define ORR_JCT_RATIO "jct_ratio_geomean"

struct orr_compare_metric {
    const char *name, *scope, *label, *unit;
    const char *shown; /* the label with the queue's display name, for people */
    /* Neither also of a part of the capacity where that is not the same, and where runs are apart.
     */
    enum orr_better better;
    double gpu_h; /* held by those it is of, the most of all runs; NAN: not known, or of all */
};

struct orr_compare_arm {
    const char *label, *policy;
    uint32_t runs;
    uint64_t jobs, unstarted; /* of the windows of all its runs, services apart; not started */
    uint64_t nevers;          /* beside them: those that never could have */
};

struct orr_comparison {
    struct orr_compare_arm *arms;
    uint32_t arm_count;
    struct orr_compare_metric *metrics;
    uint32_t metric_count;
    double
        *held; /* GPU-hours as in orr_compare_metric, metric * arm_count + arm: means over runs */
    struct orr_paired *cells; /* metric * arm_count + arm; p adjusted by Holm over the arms */
    double level;
    uint32_t pairs;  /* most pairs of equal seed any arm has with the base */
    uint32_t blocks; /* of a comparison by windows; 0: by seeds */
    bool jitter; /* the seeds shook the input of one trace and drew nothing else of the workload */
    /* With jitter, scope all: differences and intervals from blocks of the submits of the first run
     * of each arm, as cells; n 0 of metrics that blocks say nothing of. NULL: there are none, and
     * the sentence says why. */
    struct orr_paired *beside;
    const char *none_beside;
    uint32_t beside_blocks;
    orr_ms beside_ms; /* length of a block */
    bool detected;    /* runs of a sweep found their warm-ups themselves: no common window */
    bool one_trace;   /* one seed an arm and no windows: no intervals */
    /* A sentence: a run was cut, and the one it is paired with went on. Numbers are of other parts
     * of time then, and no metric has a better. NULL: there are no such pairs. */
    const char *apart;
    struct orr_arena arena;
};

/* ORR_NO_INPUT, ORR_DATA (not results, one arm only, two runs of one arm with the same seed, no
 * such metric), ORR_USAGE (windows with several seeds). */
enum orr_status orr_compare(const struct orr_compare_options *options,
                            struct orr_comparison *comparison, struct orr_err *err) ORR_MUST_USE;
void orr_comparison_release(struct orr_comparison *comparison);

const struct orr_paired *orr_comparison_cell(const struct orr_comparison *comparison,
                                             uint32_t metric, uint32_t arm);
/* Of scope queue, rows are by queue and kind: does an earlier row of the comparison, of another
 * kind, say what this one does (ORR_METRIC_WHOLE_QUEUE)? */
bool orr_comparison_repeats(const struct orr_comparison *comparison, uint32_t metric);

/* What a resolved scenario says without its seeds: runs of which that is equal are of one setting.
 */
char *orr_setting_of(struct orr_arena *arena, const char *resolved);

/* What a comparison shows of a metric. */
enum orr_verdict_on {
    ORR_ON_UNKNOWN, /* no interval */
    ORR_ON_OPEN,    /* no difference could be shown */
    ORR_ON_BETTER,
    ORR_ON_WORSE,
    ORR_ON_OTHER /* it differs, of a metric that has no better */
};
enum orr_verdict_on orr_compare_verdict(const struct orr_compare_metric *metric,
                                        const struct orr_paired *p);

/* ---- who gains and who loses: the rows of one queue and kind, workload, ... as one group ---- */
/* Changes that are less are nobody's gain or loss; of times both, of others the second. */
#define ORR_CHANGE_LEAST_S    60.0
#define ORR_CHANGE_LEAST_PART 0.01 /* of the larger side */
#define ORR_GROUP_ROWS        3
struct orr_group_change {
    const struct orr_comparison *of;
    const char *label, *shown;
    double gpu_h;                     /* as in orr_compare_metric */
    double before_gpu_h, after_gpu_h; /* NAN: not known, or nobody's */
    uint32_t rows[ORR_GROUP_ROWS];    /* metrics that say it, the worst first, then the best */
    uint32_t row_count;
};
struct orr_comparison_ranking {
    /* `worse` losers, then `better` winners, the most first, then `open` ones of which no row says
     * what it is, and some row changes as much as one that would: the pairs are too few to tell */
    struct orr_group_change *items;
    uint32_t worse, better, open, groups; /* groups: with those that do not change */
    double gpu_h, worse_gpu_h, better_gpu_h, open_gpu_h;
    bool apart; /* of a comparison of runs that are apart: who gains and loses is not known */
};
/* Who is worse in anything is a loser. By metrics with ORR_METRIC_HARM, or where a comparison has
 * none of them by all. First jobs that never start and quantiles that are no longer reached, by
 * GPU-hours; then changes of times multiplied by GPU-hours, others' parts as if of an hour. */
struct orr_comparison_ranking orr_comparison_rank(const struct orr_comparison *const *of,
                                                  uint32_t count, uint32_t arm,
                                                  struct orr_arena *arena);
/* "worse off: ...", "better off: ...", and if there are any "open: ...", with up to `most` groups
 * each. */
void orr_comparison_print_ranking(const struct orr_comparison_ranking *ranking, uint32_t arm,
                                  uint32_t most, FILE *out);

/* Metrics, those that are most harmed first: by the part of change and GPU-hours. */
const uint32_t *orr_comparison_order(const struct orr_comparison *comparison, uint32_t arm,
                                     struct orr_arena *arena);

/* "a training" of "queue=a,kind=training"; "all" of "". */
void orr_label_words(const char *label, char *out, size_t bytes);
/* A value with as many digits as are worth reading, times as people say them; "-" for none. */
const char *orr_compare_figure(const char *unit, double value, bool with_sign, char out[40]);
/* The interval of a change as people read it: in its unit, or in percent of the base where it would
 * take away more than there is; which pairs reached it where not all did; "" for none. */
const char *orr_compare_interval(const char *unit, const struct orr_paired *p, char out[100]);
/* The means of both sides, with as many digits as show the difference (times as people say them):
 * "not reached", or ">" what counts for those that did not. */
void orr_compare_sides(const char *unit, const struct orr_paired *p, char base[40], char other[40]);

/* One metric of several results files; NAN where a file has none. ORR_NO_INPUT, ORR_DATA. */
enum orr_status orr_metric_values(const char *const *paths, uint32_t count, const char *metric,
                                  const char *scope, const char *label, struct orr_reading *values,
                                  struct orr_err *err) ORR_MUST_USE;

enum orr_compare_format {
    ORR_COMPARE_TEXT,
    ORR_COMPARE_MARKDOWN,
    ORR_COMPARE_CSV,
    ORR_COMPARE_LATEX
};
/* As text the rows of one arm stand together, those that are most harmed first. */
void orr_comparison_print(const struct orr_comparison *comparison, enum orr_compare_format format,
                          FILE *out);
/* As text, for each arm who loses and gains most (see orr_comparison_rank), ORR_RANKED of each. */
#define ORR_RANKED 5
void orr_comparison_print_short(const struct orr_comparison *comparison, FILE *out);
/* What intervals of shaken runs do not cover, and what blocks say of the same; nothing without
 * jitter. Each line is told. */
void orr_comparison_jitter(const struct orr_comparison *comparison,
                           void (*say)(const char *text, void *context), void *context);
/* One sentence: what the arm does to the metric, by how much, and how sure that is. */
void orr_comparison_sentence(const struct orr_comparison *comparison, uint32_t metric, uint32_t arm,
                             char *text, size_t bytes);

#endif
