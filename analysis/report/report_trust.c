/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_trust.c - what speaks for and against the numbers of a run. */
#include "report_int.h"
#include "report_sql.h"

#include <math.h>

#include <orrery/analysis/audit.h>
#include <orrery/base/text.h>

static void audit(struct orr_results *in, struct orr_report_trust *trust)
{
    struct orr_schedule schedule;
    struct orr_verdict verdict;
    struct orr_err ignored = {0};
    if (orr_schedule_load(in->path, &schedule, &ignored) != ORR_OK) {
        return;
    }
    orr_audit(&schedule, NULL, &verdict);
    for (unsigned r = 0; r < ORR_AUDIT_RULE_COUNT; r++) {
        trust->rules += verdict.examined[r] > 0;
    }
    trust->audited = true;
    trust->found = orr_verdict_found(&verdict);
    orr_verdict_release(&verdict);
    orr_schedule_release(&schedule);
}

static void calibrate(struct orr_results *in, struct orr_report_trust *trust)
{
    struct orr_calibration calibration;
    struct orr_err ignored = {0};
    if (trust->recorded && orr_calibrate(in->path, &calibration, &ignored) == ORR_OK) {
        trust->calibrated = calibration.count > 0;
        if (trust->calibrated) {
            trust->error = calibration.rows[0];
        }
        orr_calibration_release(&calibration);
    }
}

static void look_for_stuck(struct orr_results *in, struct orr_report_trust *trust)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__stuck);
    while (orr_results_step(in, row)) {
        trust->stuck = sqlite3_column_int64(row, 0);
        trust->stuck_first = orr_results_text(in, row, 1);
        trust->stuck_why = sqlite3_column_type(row, 2) == SQLITE_NULL
                               ? "the policy does not say why"
                               : orr_results_text(in, row, 2);
    }
}

struct orr_report_trust orr_report__trust_look(struct orr_results *in)
{
    struct orr_report_trust trust = {
        .whole = orr_results_int(in, orr_report_sql__is_finished, 0) != 0,
        .open = orr_results_int(in, orr_report_sql__open, 0),
        .absent = orr_results_int(in, orr_report_sql__absent, 0),
        .unstarted = orr_results_int(in, orr_report_sql__never_started, 0),
        .nevers = orr_results_int(in, orr_report_sql__never_of_open, 0),
        .rejected = orr_results_int(in, orr_report_sql__rejected, 0),
        .read = orr_results_int(in, orr_report_sql__rows_read, 0),
        .recorded = orr_results_int(in, orr_report_sql__recorded, 0) > 0};
    look_for_stuck(in, &trust);
    audit(in, &trust);
    calibrate(in, &trust);
    return trust;
}

static void say_audit(const struct orr_report_trust *trust, FILE *out)
{
    if (!trust->audited) {
        (void)fputs("The schedule could not be checked.", out);
    } else if (trust->found == 0) {
        (void)fprintf(out,
                      "A check apart from the scheduler (<code>orrery audit</code>) found all %u "
                      "rule%s it could examine kept.",
                      trust->rules, ORR_PLURAL(trust->rules));
    } else {
        (void)fprintf(out,
                      "A check apart from the scheduler found rules <b>broken %llu time%s</b>: see "
                      "<code>orrery audit</code>.",
                      (unsigned long long)trust->found, ORR_PLURAL(trust->found));
    }
}

static void say_calibration(const struct orr_report_trust *trust, FILE *out)
{
    char less[24], more[24], recorded[24], simulated[24];
    if (!trust->calibrated) {
        (void)fputs(trust->recorded
                        ? "The trace recorded starts, but of no job that started here."
                        : "The trace recorded no starts, so nothing says how near this comes to a "
                          "real cluster.",
                    out);
        return;
    }
    (void)fprintf(
        out,
        "Against the starts the trace recorded: 95 %% of jobs had waited at most %s, "
        "here %s. Job by job, 80 %% of waits are between %s less and %s more than recorded. The "
        "distributions are %.2f apart (Kolmogorov-Smirnov, 0 is alike, 1 disjoint). Only "
        "if the system ran this policy does that say how good the model is.",
        orr_format_rough(recorded, trust->error.recorded_p95_s),
        orr_format_rough(simulated, trust->error.simulated_p95_s),
        orr_format_rough(less, -trust->error.error_p10_s),
        orr_format_rough(more, trust->error.error_p90_s), trust->error.ks);
}

/* Jobs that were submitted and had not ended. */
static void say_open(const struct orr_report_trust *trust, FILE *out)
{
    char open[40], number[40];
    (void)fprintf(out, "%s: %s not ended",
                  trust->whole ? "Some jobs could not end" : "The run was cut before its last job",
                  orr_report__count((double)trust->open, "job had", "jobs had", open));
    if (trust->unstarted > 0) {
        (void)fprintf(out, ", %s of them not started",
                      orr_report__number((double)trust->unstarted, number));
    }
    if (trust->nevers > 0) {
        (void)fprintf(out, ", of which %s never could have and %s in no number of waits",
                      orr_report__number((double)trust->nevers, number),
                      ORR_ONE(trust->nevers, "is", "are"));
    }
    if (trust->unstarted > trust->nevers) {
        (void)fprintf(out,
                      ". %s in quantiles of waits as waiting at least that long (Kaplan-Meier), in "
                      "means not at all",
                      trust->nevers > 0 ? "The others count" : "These count");
    }
}

/* That a run ended so is easily taken for one in which all went well. */
static void say_stuck(const struct orr_report_trust *trust, FILE *out)
{
    char jobs[40];
    if (trust->stuck > 0) {
        (void)fprintf(
            out, " <b>At the end %s still waited</b>, though nothing ran and nothing was to come: ",
            orr_report__count((double)trust->stuck, "job", "jobs", jobs));
        (void)fputs("first ", out);
        orr_xml_text(out, trust->stuck_first);
        (void)fprintf(out, " (%s).", trust->stuck_why);
    }
}

static void say_end(const struct orr_report_trust *trust, FILE *out)
{
    char absent[40];
    if (trust->whole && trust->open == 0) {
        (void)fputs("The run went on until its last job had ended", out);
    } else {
        say_open(trust, out);
    }
    if (trust->absent > 0) { /* they are in the number of jobs, and in that of jobs not ended */
        (void)fprintf(
            out, ". %s not been submitted by then",
            orr_report__count((double)trust->absent, "more job had", "more jobs had", absent));
    }
    (void)fputs(".", out);
    say_stuck(trust, out);
}

static void say_rows(const struct orr_report_trust *trust, FILE *out)
{
    char rejected[40], read[40];
    (void)fprintf(out, "%s of %s trace rows %s rejected%s.",
                  orr_report__number((double)trust->rejected, rejected),
                  orr_report__number((double)trust->read, read),
                  ORR_ONE(trust->rejected, "was", "were"),
                  trust->rejected > 0 ? " (shown under provenance)" : "");
}

/* Starts that hung on equal times: rows the other way round would have been another schedule. */
static void say_ties(struct orr_results *in, FILE *out)
{
    char tied[40], together[40], starts[40];
    const double count = (double)orr_results_int(in, orr_report_sql__tied_starts, 0);
    (void)fprintf(
        out,
        "Of %s starts, %s hung on which of two jobs that came at the same time stands "
        "first in the trace, and %s on ends counting before arrivals of the same instant. "
        "<code>orrery compare --replicas 20 --shake submit=1s</code> shows what that is "
        "worth.",
        orr_report__number(count, starts),
        orr_report__number(orr_report__metric(in, "tied_starts"), tied),
        orr_report__number(orr_report__metric(in, "coincident_starts"), together));
}

static const char one_seed[] =
    "One seed on one trace: no number here has an interval. <code>orrery compare</code> with "
    "<code>--replicas</code> gives them.";

void orr_report__trust_list(struct orr_results *in, const struct orr_report_trust *trust, FILE *out)
{
    (void)fputs("<ul>\n<li>", out);
    say_audit(trust, out);
    (void)fputs("</li>\n<li>", out);
    say_end(trust, out);
    (void)fputs("</li>\n<li>", out);
    say_rows(trust, out);
    (void)fputs("</li>\n<li>", out);
    say_ties(in, out);
    (void)fprintf(out, "</li>\n<li>%s</li>\n<li>", one_seed);
    say_calibration(trust, out);
    (void)fputs("</li>\n</ul>\n", out);
}

void orr_report__trust_answer(const struct orr_report_trust *trust, FILE *out)
{
    say_audit(trust, out);
    (void)fputs(" ", out);
    if (!trust->whole || trust->open > 0 || trust->absent > 0) {
        say_end(trust, out);
        (void)fputs(" ", out);
    }
    if (trust->rejected > 0) {
        say_rows(trust, out);
        (void)fputs(" ", out);
    }
    (void)fputs(trust->calibrated ? "It can be held against recorded starts. "
                                  : "Nothing recorded to hold it against. ",
                out);
    (void)fputs("One seed, one trace: no intervals.", out);
}
