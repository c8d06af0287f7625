/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gate.h - may a change go in? One verdict a rule, one over all.
 *
 * exact: the decisions are the same; else the first that differs is named.
 * fixed: on the same trace no metric is worse than before by more than its margin.
 * statistical: the same with replicas (non-inferiority). A rule passes when the whole 95 % interval
 * of the worsening lies within the margin. It has regressed when the estimate is beyond the margin
 * and it is worse at all with p < 0.01 (two-sided). Anything else is inconclusive: run more.
 */
#ifndef ORR_ANALYSIS_GATE_H
#define ORR_ANALYSIS_GATE_H

#include <stdio.h>

#include <orrery/analysis/compare.h>

enum orr_verdict_kind { ORR_GATE_PASS, ORR_GATE_REGRESSED, ORR_GATE_INCONCLUSIVE };
const char *orr_gate_word(enum orr_verdict_kind verdict);

/* A red build is an accusation: at most one innocent change in 200 meets it by chance. */
#define ORR_GATE_SURE  0.01
/* The probability with which the least worsening that a rule is said to see is called regressed. */
#define ORR_GATE_POWER 0.8

struct orr_gate_rule {
    const char *name;          /* as the user calls it */
    const char *origin;        /* "file:line:col" of the spec; NULL: no line has it */
    const char *metric;        /* of table metric */
    const char *scope, *label; /* "all" and "", or "queue" and "queue=a,kind=training", ... */
    double margin;             /* >= 0: how much worse is still good enough */
    bool relative;          /* margin is a part of the baseline's mean; else in the metric's unit */
    enum orr_better better; /* NEITHER: the metric's own */
};

struct orr_gate_result {
    const struct orr_gate_rule *rule;
    const char *unit;
    enum orr_verdict_kind verdict;
    struct orr_paired worse; /* difference and interval with the sign that more is worse */
    double margin;           /* in the metric's unit */
    double
        seen; /* the least worsening that is called regressed with ORR_GATE_POWER; NAN: not known */
    char text[900]; /* one sentence */
};

/* Judges one rule on what comparing the new runs with the baseline's gave: the cell of its metric,
 * and which of that metric the comparison calls better, unless the rule says so itself; where
 * neither does, it is inconclusive. `fixed`: by the difference itself. More pairs in which the
 * baseline alone reached a quantile than the other way round: regressed. A metric that one side
 * does not have is inconclusive. */
void orr_gate_judge(const struct orr_gate_rule *rule, const char *unit, enum orr_better better,
                    const struct orr_paired *paired, bool fixed, struct orr_gate_result *result);
/* Regressed if one is, else inconclusive if one is. */
enum orr_verdict_kind orr_gate_all(const struct orr_gate_result *results, uint32_t count);

/* Did two results read the same files, by checksum, whatever their names? ORR_NO_INPUT, ORR_DATA.
 */
enum orr_status orr_gate_same_inputs(const char *results, const char *baseline, bool *same,
                                     struct orr_err *err) ORR_MUST_USE;

/* The first thing that two runs of the same jobs did differently. */
struct orr_first_difference {
    bool same;    /* equal digests */
    bool unknown; /* nothing differs before the time at which one of them was interrupted */
    orr_ms at_ms;
    char text[600]; /* what each did, and why the job waited there if it did */
};
/* `sides` are what the text calls the results and the baseline. ORR_NO_INPUT, ORR_DATA. */
enum orr_status orr_gate_exact(const char *results, const char *baseline,
                               const char *const sides[2], struct orr_first_difference *difference,
                               struct orr_err *err) ORR_MUST_USE;

/* --- reports; notes: lines for people, NULL: none --- */
void orr_gate_print_text(const struct orr_gate_result *results, uint32_t count, const char *notes,
                         FILE *out);
void orr_gate_print_markdown(const struct orr_gate_result *results, uint32_t count,
                             const char *notes, const char *title, FILE *out);
/* JUnit XML: a test case a rule; regressed is a failure, inconclusive an error. time_s: what
 * judging all of them took. */
void orr_gate_print_junit(const struct orr_gate_result *results, uint32_t count, const char *notes,
                          double time_s, FILE *out);

#endif
