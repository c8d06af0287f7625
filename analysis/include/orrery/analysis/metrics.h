/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metrics.h - the one table of metrics: what a run stores, what answers compare, what READMEs list.
 *
 * Rows of table `metric` take unit, direction and definition from here (sim/metrics gives the
 * values), and `orrery metrics` prints it. A metric is added here first; analysis/README.md holds
 * the same table, which test study.metrics checks.
 */
#ifndef ORR_ANALYSIS_METRICS_H
#define ORR_ANALYSIS_METRICS_H

#include <stdbool.h>
#include <stddef.h>

/* Is less of it better? NEITHER: that depends, as of a number of jobs. */
enum orr_better { ORR_BETTER_NEITHER, ORR_BETTER_LESS, ORR_BETTER_MORE };

enum orr_metric_use { /* bits */
                      /* compared when no metric is named */
                      ORR_METRIC_HEADLINE = 1u << 0,
                      /* `gate --propose` writes a rule for it; with margin 0: none more than before
                       */
                      ORR_METRIC_GATED = 1u << 1,
                      ORR_METRIC_GATED_ZERO = 1u << 2,
                      /* hangs on the setting, not on chance: any more is more */
                      ORR_METRIC_CERTAIN = 1u << 3,
                      /* rows of whatif: of all jobs, of queues, of workloads */
                      ORR_METRIC_WHATIF = 1u << 4,
                      ORR_METRIC_WHATIF_QUEUE = 1u << 5,
                      ORR_METRIC_WHATIF_WORKLOAD = 1u << 6,
                      /* who gets worse by it, queue or workload, is worse off */
                      ORR_METRIC_HARM = 1u << 7,
                      /* in the sentences of a report of several runs */
                      ORR_METRIC_SAID = 1u << 8,
                      /* of scope queue: of all kinds of the queue together */
                      ORR_METRIC_WHOLE_QUEUE = 1u << 9,
                      /* a part of 1, for people in percent */
                      ORR_METRIC_SHARE = 1u << 10,
                      /* of a comparison, not of a run: no row of table metric */
                      ORR_METRIC_PAIRS = 1u << 11,
                      /* a part of what the cluster has: more of it is no better on another one */
                      ORR_METRIC_OF_CAPACITY = 1u << 12,
                      /* a card at the head of a report; IF: only of a run that has it */
                      ORR_METRIC_CARD = 1u << 13,
                      ORR_METRIC_CARD_IF = 1u << 14,
                      /* measured by queues' quotas: another quota makes it another number, whatever
                       * jobs do */
                      ORR_METRIC_BY_QUOTA = 1u << 15,
                      /* bounds: it can be below 0, as no other can; it cannot be below 1; not above
                       */
                      ORR_METRIC_BELOW_0 = 1u << 16,
                      ORR_METRIC_AT_LEAST_1 = 1u << 17,
                      ORR_METRIC_AT_MOST_1 = 1u << 18,
                      /* a run that has no row of it has none of what it counts */
                      ORR_METRIC_ABSENT_0 = 1u << 19
};

struct orr_metric_def {
    const char *name; /* unit last */
    const char *unit; /* "1": a ratio */
    enum orr_better better;
    unsigned uses;      /* enum orr_metric_use */
    const char *title;  /* a few words for people */
    const char *scopes; /* of table metric, and when a run has it */
    const char *definition;
};

/* All of them; the array ends with a NULL name. */
extern const struct orr_metric_def orr_metric_table[];

/* NULL: there is no such metric. */
const struct orr_metric_def *orr_metric_find(const char *name);
/* The name, of a metric that is in the table; an assertion fails else. Code that means a certain
 * metric names it through this, so that no name lives on beside the table. */
const char *orr_metric_name(const char *name);
/* The metric whose name is nearest (fewest edits, a third of its length at most); NULL: none is. */
const struct orr_metric_def *orr_metric_nearest(const char *name);
/* The sentence about a name that orr_metric_find does not know. */
void orr_metric_unknown(const char *name, char *text, size_t bytes);
/* NEITHER of a name that is no metric. */
enum orr_better orr_metric_better(const char *name);
/* Cuts an interval where the metric cannot be: Student's of few runs may reach further. NAN and a
 * name that is no metric are left as they are. Every interval of a metric goes through this. */
void orr_metric_bound(const char *name, double *low, double *high);
/* "less", "more", "". */
const char *orr_better_word(enum orr_better better);
/* Has the metric one of these uses? false of a name that is no metric. */
bool orr_metric_is(const char *name, unsigned uses);

#endif
