/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_short.c - the questions a reader comes with, answered in a sentence or two each. */
#include "report_int.h"
#include "report_sql.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <orrery/analysis/metrics.h>
#include <orrery/base/text.h>

#define SHORT_WAIT_S 10 /* a few cycles of a scheduler: not worth a sentence */

const char *const orr_report__questions[ORR_REPORT_QUESTIONS] = {"Who waited longest, and why?",
                                                                 "Is the cluster saturated?",
                                                                 "What did evictions cost?",
                                                                 "Who borrowed from whom?",
                                                                 "Were objectives met?",
                                                                 "Did it come out as expected?",
                                                                 "Can it be trusted?"};
const char *const orr_report__sections[ORR_REPORT_QUESTIONS] = {
    "waits", "load", "evictions", "lending", "objectives", "expected", "trust"};

double orr_report__metric(struct orr_results *in, const char *name)
{
    double value = (double)NAN;
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__metric);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, orr_metric_name(name), -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        value = sqlite3_column_type(row, 0) == SQLITE_NULL ? (double)NAN
                                                           : sqlite3_column_double(row, 0);
    }
    return value;
}

const char *orr_report__seconds(struct orr_results *in, const char *name, char out[40])
{
    double value = (double)NAN, least = (double)NAN;
    char text[24];
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__metric);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, orr_metric_name(name), -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        const bool known = sqlite3_column_type(row, 0) != SQLITE_NULL;
        value = known ? sqlite3_column_double(row, 0) : (double)NAN;
        least = known ? (double)NAN : sqlite3_column_double(row, 1);
    }
    (void)snprintf(out, 40, "%s%s", least > 0 ? ">" : "",
                   orr_format_rough(text, least > 0 ? least : value));
    return out;
}

static const char *gpus_text(double gpus, char out[40])
{
    return orr_report__count(gpus, "GPU", "GPUs", out);
}

static void text_column(sqlite3_stmt *row, int column, FILE *out)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    orr_xml_text(out, text != NULL ? text : "");
}

/* --- waits --- */

/* Of the column `started`. */
static const char *how_it_ended(const char *started)
{
    return strcmp(started, "never") == 0 ? " and never started"
           : strcmp(started, "yes") == 0 ? ""
                                         : " and left before it started";
}

static void longest(struct orr_results *in, FILE *out)
{
    bool first = true;
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__longest);
    while (orr_results_step(in, row)) {
        char gpus[64], waited[24];
        if (!first) {
            continue;
        }
        first = false;
        if (sqlite3_column_double(row, 4) < SHORT_WAIT_S) {
            (void)fprintf(out, "Nobody waited longer than %s. ",
                          orr_format_rough(waited, sqlite3_column_double(row, 4)));
            continue;
        }
        (void)fputs("Job <b>", out);
        text_column(row, 0, out);
        (void)fputs("</b> of queue <b>", out);
        text_column(row, 1, out);
        (void)fprintf(out, "</b> (%s) waited <b>%s</b>%s",
                      gpus_text(sqlite3_column_double(row, 2), gpus),
                      orr_format_rough(waited, sqlite3_column_double(row, 4)),
                      how_it_ended(orr_results_text(in, row, 5)));
        if (sqlite3_column_type(row, 6) != SQLITE_NULL) {
            (void)fputs(", mostly because ", out);
            text_column(row, 6, out);
        }
        if (sqlite3_column_bytes(row, 9) > 0) {
            (void)fputs(" (in the end: ", out);
            text_column(row, 9, out);
            (void)fputc(')', out);
        }
        (void)fputs(". ", out);
    }
    if (first) {
        (void)fputs("Nobody waited. ", out);
    }
}

/* The queue and kind whose p95 is longest; one that is not reached is longer than any. */
static void slowest_queue(struct orr_results *in, FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__longest_queue);
    while (orr_results_step(in, row)) {
        char wait[24];
        const double value = sqlite3_column_double(row, 1);
        if (sqlite3_column_type(row, 1) != SQLITE_NULL && value < SHORT_WAIT_S) {
            continue;
        }
        const char *label = orr_results_shown_label(in, orr_results_text(in, row, 0));
        const char *name = strncmp(label, "queue=", 6) == 0 ? label + 6 : label;
        const char *kind = strstr(name, ",kind=");
        char words[500];
        (void)snprintf(words, sizeof words, "%.*s%s%s", kind != NULL ? (int)(kind - name) : 300,
                       name, kind != NULL ? ", " : "", kind != NULL ? kind + 6 : "");
        (void)fputs("Of queues, jobs of <b>", out);
        orr_xml_text(out, words);
        (void)fprintf(out, "</b> (%lld) waited longest: 95 %% at most %s. ",
                      (long long)sqlite3_column_int64(row, 2),
                      sqlite3_column_type(row, 1) == SQLITE_NULL ? "a time not reached in this run"
                                                                 : orr_format_rough(wait, value));
    }
}

static void top_reason(struct orr_results *in, FILE *out)
{
    double all = 0, most = 0;
    const char *words = "";
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__reasons);
    while (orr_results_step(in, row)) {
        const double gpu_h = sqlite3_column_double(row, 4);
        if (all <= 0) {
            most = gpu_h;
            words = orr_results_text(in, row, 1);
        }
        all += gpu_h;
    }
    if (all > 0) {
        (void)fprintf(out, "Of the GPU-hours that jobs waited for, %.0f %% were because ",
                      100 * most / all);
        orr_xml_text(out, words);
        (void)fputs(". ", out);
    }
}

/* Jobs that no room would have helped: of no wait that is told here. */
static void answer_nevers(struct orr_results *in, FILE *out)
{
    char number[40];
    int64_t left = orr_results_int(in, orr_report_sql__never, 0);
    if (left == 0) {
        return;
    }
    (void)fprintf(out, "Beside them %s could not have started even on the empty cluster (",
                  orr_report__number((double)left, number));
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__never_by_reason);
    for (bool first = true; orr_results_step(in, row); first = false) {
        (void)fprintf(out, "%s%s: ", first ? "" : "; ",
                      orr_report__number(sqlite3_column_double(row, 0), number));
        text_column(row, 1, out);
    }
    (void)fputs("); they are in none of these numbers. ", out);
}

/* A part of the jobs, and within what time it started; of one that was not reached what that is
 * more than. */
static void say_quantile(const char *part, const char *time, FILE *out)
{
    const bool more = time[0] == '>';
    (void)fprintf(out, "%s within %s%s", part, more ? "a time longer than " : "", time + more);
}

/* Within what time half and 95 % of all jobs started; where some never did that is an estimate. */
static void say_quantiles(struct orr_results *in, int64_t jobs, FILE *out)
{
    const double unstarted = orr_report__metric(in, "unstarted");
    char half[40], most[40], never[40], all[40];
    (void)orr_report__seconds(in, "wait_p50_s", half);
    (void)orr_report__seconds(in, "wait_p95_s", most);
    if (!(unstarted > 0)) {
        (void)fprintf(out, "Half of all jobs started within %s, 95 %% within %s. ", half, most);
        return;
    }
    (void)fprintf(out,
                  "%s of %s never started; with these as waits that were not over "
                  "(Kaplan-Meier) ",
                  orr_report__number(unstarted, never),
                  orr_report__count((double)jobs, "job", "jobs", all));
    say_quantile("half start", half, out);
    if (half[0] != '>') {
        say_quantile(", 95 %", most, out);
    }
    (void)fputs(". ", out);
}

static void answer_waits(struct orr_results *in, FILE *out)
{
    const int64_t jobs = orr_results_int(in, orr_report_sql__unstarted, 0);
    longest(in, out);
    if (jobs == 0) {
        (void)fputs("No jobs but services were submitted in the window. ", out);
        answer_nevers(in, out);
        return;
    }
    say_quantiles(in, jobs, out);
    answer_nevers(in, out);
    slowest_queue(in, out);
    top_reason(in, out);
}

/* --- saturation --- */

struct load {
    struct orr_report_load of; /* of the window */
    double gpus;               /* of all nodes that were ever part of the cluster */
    double there, up; /* of those that are part of it; of those of them that are not down */
};

static struct load read_load(struct orr_results *in, const struct orr_report_load *of)
{
    const double gpus = (double)orr_results_int(in, orr_report_sql__capacity_mgpu, 0) / 1000;
    struct load load = {.of = *of, .gpus = gpus, .there = gpus};
    /* The base of gpu_occupancy; where no node joins or leaves, all are there. */
    const double there_gpu_h = orr_report__metric(in, "capacity_gpu_h");
    const double available = orr_report__metric(in, "gpu_available");
    if (isfinite(there_gpu_h) && of->ms > 0) {
        load.there = there_gpu_h / (of->ms / 3.6e6);
    }
    load.up = isfinite(available) ? available * load.there : load.there;
    return load;
}

static const char *verdict(const struct orr_report_load *load)
{
    if (load->full > 0.5) {
        return "Yes.";
    }
    if (load->over > 0.5) {
        return "By what is asked for yes, by what is held no.";
    }
    if (load->full > 0.1 || load->over > 0.1) {
        return "At times.";
    }
    return load->waits > 0.3 ? "No: what waits does so for other reasons than a lack of GPUs."
                             : "No.";
}

/* Jobs of at least this size make up half of the GPU time that is waited for. */
static double typical_wait_gpus(struct orr_results *in)
{
    double gpus = 0, all = 0, upto = 0;
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__sizes);
    while (orr_results_step(in, row)) {
        all = sqlite3_column_double(row, 2);
        if (upto < all / 2) {
            gpus = sqlite3_column_double(row, 0) / 1000;
        }
        upto += sqlite3_column_double(row, 1);
    }
    return gpus;
}

/* What no mean of the window holds. */
static void say_drain(struct orr_results *in, FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__drain);
    while (orr_results_step(in, row)) {
        char text[24];
        (void)fprintf(out, "In the drain, the %s after the window, %.0f %% were held. ",
                      orr_format_rough(text, sqlite3_column_double(row, 0)),
                      sqlite3_column_double(row, 1));
    }
}

/* Less would read as none beside all GPUs. */
static bool is_some(const struct load *load, double gpus)
{
    return gpus > 0.005 * load->gpus;
}

/* What is held is a part of what is up; nodes that are away are not down. */
static void say_held(const struct load *load, double held, FILE *out)
{
    const bool away = is_some(load, load->gpus - load->there);
    const bool down = is_some(load, load->there - load->up);
    char text[64];
    (void)fprintf(out, "Of %s ", gpus_text(load->gpus, text));
    if (!away && !down) {
        (void)fprintf(out, "%.0f %% were held on average. ", 100 * held);
        return;
    }
    if (away) {
        (void)fprintf(out, "%s were part of the cluster%s", orr_report__number(load->there, text),
                      down ? " and " : "");
    }
    if (down) {
        (void)fprintf(out, "%s were up", orr_report__number(load->up, text));
    }
    (void)fprintf(out, " on average; of these %.0f %% were held. ", 100 * held);
}

static void say_waiting(struct orr_results *in, const struct orr_report_load *load, FILE *out)
{
    const double size = typical_wait_gpus(in);
    char text[64];
    if (load->waits <= 0.005) {
        return;
    }
    (void)fprintf(out, "Something waited %.0f %% of the time, on average for %s; ",
                  100 * load->waits, gpus_text(load->pending / load->waits, text));
    (void)fprintf(out, "meanwhile free: %s. ", gpus_text(load->idle_waits, text));
    if (size > 1) {
        (void)fprintf(out, "Half of what was waited for was by jobs of %s or more. ",
                      gpus_text(size, text));
    }
}

static void answer_load(struct orr_results *in, const struct orr_report_load *of, FILE *out)
{
    const struct load load = read_load(in, of);
    char text[64];
    (void)fprintf(out, "<b>%s</b> ", verdict(of));
    say_held(&load, orr_report__metric(in, "gpu_occupancy"), out);
    (void)fprintf(
        out,
        "At least 98 %% were held while jobs waited %.0f %% of the time, and more were held and "
        "asked for than there are %.0f %% of the time. ",
        100 * of->full, 100 * of->over);
    say_waiting(in, of, out);
    if (is_some(&load, load.gpus - load.there)) {
        (void)fprintf(out, "Away on average: %s, of nodes that had not joined or had left. ",
                      gpus_text(load.gpus - load.there, text));
    }
    if (is_some(&load, load.there - load.up)) {
        (void)fprintf(out, "Down on average: %s. ", gpus_text(load.there - load.up, text));
    }
    say_drain(in, out);
}

/* --- evictions --- */

static void lost_by_cause(struct orr_results *in, FILE *out)
{
    uint32_t count = 0;
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__lost);
    while (orr_results_step(in, row)) {
        char gpu_h[40];
        (void)fputs(count++ == 0 ? " (" : ", ", out);
        text_column(row, 0, out);
        (void)fprintf(out, " %s", orr_report__number(sqlite3_column_double(row, 1), gpu_h));
    }
    (void)fputs(count > 0 ? ")" : "", out);
}

static void most_taken_from(struct orr_results *in, FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__loser);
    while (orr_results_step(in, row)) {
        char times[40];
        (void)fputs("Most often from <b>", out);
        text_column(row, 0, out);
        (void)fprintf(out, "</b> (%s). ",
                      orr_report__count(sqlite3_column_double(row, 1), "time", "times", times));
    }
}

/* Suspended jobs keep all they did: they cost nothing but time. */
static void say_suspensions(struct orr_results *in, FILE *out)
{
    const double suspensions = orr_report__metric(in, "suspensions");
    char number[40];
    if (suspensions > 0) {
        (void)fprintf(out, "%s suspended, for ",
                      orr_report__count(suspensions, "time a job was", "times jobs were", number));
        (void)fprintf(out, "%s hours together; they kept their GPUs and work. ",
                      orr_report__number(orr_report__metric(in, "suspended_h"), number));
    }
}

/* Services and elastic jobs go on without the pods that they lose. */
static void say_cut(int64_t cut, int64_t parts, FILE *out)
{
    char number[40];
    if (cut > 0 || parts == 0) {
        (void)fprintf(out, "%s cut short",
                      orr_report__count((double)cut, "attempt was", "attempts were", number));
    }
    if (parts > 0) {
        (void)fprintf(out, "%s%s lost some pods and went on", cut > 0 ? ", and " : "",
                      orr_report__count((double)parts, "time a job", "times jobs", number));
    }
}

static void answer_evictions(struct orr_results *in, FILE *out)
{
    const double lost = orr_report__metric(in, "lost_gpu_h");
    const double restart = orr_report__metric(in, "restart_gpu_h");
    const double wasted = orr_report__metric(in, "wasted_evictions");
    const int64_t cut = orr_results_int(in, orr_report_sql__cut_short, 0);
    const int64_t parts = orr_results_int(in, orr_report_sql__lost_pods, 0);
    const double held = (double)orr_results_int(in, orr_report_sql__used_gpu_h, 0);
    char number[40];
    say_suspensions(in, out);
    if (cut == 0 && !(lost > 0) && parts == 0) {
        (void)fputs("Nothing was evicted, and no node failed under a job. ", out);
        return;
    }
    say_cut(cut, parts, out);
    (void)fprintf(out, "; that cost <b>%s GPU-hours</b>", orr_report__number(lost, number));
    (void)fprintf(out, " of work, %.1f %% of what was held", held > 0 ? 1e5 * lost / held : 0);
    lost_by_cause(in, out);
    if (restart >= 0.5) {
        (void)fprintf(out, ", and %s GPU-hours of restarts", orr_report__number(restart, number));
    }
    (void)fputs(", over the whole run. ", out);
    if (wasted > 0) {
        (void)fprintf(out, "%s for nothing: who it was done for used none of the room. ",
                      orr_report__count(wasted, "eviction was", "evictions were", number));
    }
    most_taken_from(in, out);
}

/* --- lending --- */

static uint32_t largest(const double *values, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t i = 1; i < count; i++) {
        at = values[i] > values[at] ? i : at;
    }
    return at;
}

static void name_with_amount(const char *name, double gpu_h, FILE *out)
{
    char number[40];
    (void)fputs("<b>", out);
    orr_xml_text(out, name);
    (void)fprintf(out, "</b> (%s GPU-hours", orr_report__number(gpu_h, number));
}

static void answer_lending(const struct orr_report_lending *lending, FILE *out)
{
    double owed = 0, lent = 0;
    for (uint32_t i = 0; i < lending->loan_count; i++) {
        owed += lending->loans[i].owed_gpu_h;
        lent += lending->loans[i].gpu_h;
    }
    if (lending->quota_count == 0) {
        (void)fputs("No queue has a quota, so none can lend. ", out);
    } else if (lending->loan_count == 0) {
        (void)fputs("Nobody: no queue held more than its quota while another held less. ", out);
    } else {
        const uint32_t b = largest(lending->borrowed, lending->queue_count);
        const uint32_t l = largest(lending->lent, lending->queue_count);
        uint32_t from = 0; /* loans are the largest first */
        char number[40], waited[40];
        while (from < lending->loan_count && lending->loans[from].borrower != b) {
            from++;
        }
        name_with_amount(lending->names[b], lending->borrowed[b], out);
        if (from < lending->loan_count) {
            (void)fputs(", mostly from ", out);
            orr_xml_text(out, lending->names[lending->loans[from].lender]);
        }
        (void)fputs(") borrowed most, ", out);
        name_with_amount(lending->names[l], lending->lent[l], out);
        (void)fprintf(out,
                      ") lent most. Of %s GPU-hours lent in all, %s were while jobs of the lender "
                      "waited. ",
                      orr_report__number(lent, number), orr_report__number(owed, waited));
    }
}

/* --- objectives --- */

bool orr_report__has_answer(struct orr_results *in, enum orr_report_question question)
{
    return question == ORR_REPORT_OBJECTIVES
               ? orr_results_int(in, orr_report_sql__attainments, 0) > 0
           : question == ORR_REPORT_EXPECTED
               ? orr_results_int(in, orr_report_sql__expectation_count, 0) > 0
               : true;
}

static void answer_expected(struct orr_results *in, FILE *out)
{
    char number[40];
    const int64_t count = orr_results_int(in, orr_report_sql__expectation_count, 0);
    const int64_t held = orr_results_int(in, orr_report_sql__expectations_held, 0);
    (void)fprintf(out, "<b>%s</b> Of what the scenario expects, %" PRId64 " of %s. ",
                  held == count ? "Yes." : "No.", held,
                  orr_report__count((double)count, "statement held", "statements held", number));
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__expectations_broken);
    while (orr_results_step(in, row)) {
        (void)fputs("<code>", out);
        text_column(row, 0, out);
        if (sqlite3_column_type(row, 2) == SQLITE_NULL) {
            (void)fputs("</code>: the run has no such number. ", out);
        } else {
            (void)fprintf(out, "</code> did not: it was %s. ",
                          sqlite3_column_type(row, 1) == SQLITE_NULL
                              ? "not reached"
                              : orr_report__number(sqlite3_column_double(row, 1), number));
        }
    }
}

static void answer_objectives(struct orr_results *in, FILE *out)
{
    bool any = false;
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__services);
    while (orr_results_step(in, row)) {
        char number[40], span[24];
        any = true;
        (void)fputs("<b>", out);
        text_column(row, 0, out);
        (void)fputs("</b>: ", out);
        text_column(row, 3, out);
        (void)fprintf(out, " of %s ", orr_report__number(sqlite3_column_double(row, 2), number));
        text_column(row, 1, out);
        (void)fputs(sqlite3_column_type(row, 4) == SQLITE_NULL ? " started in time"
                                                               : " were served in time",
                    out);
        if (sqlite3_column_double(row, 6) >= 0.5) {
            (void)fprintf(out, ", %s in line at the end",
                          orr_report__count(sqlite3_column_double(row, 6), "was", "were", number));
        }
        if (sqlite3_column_double(row, 7) > 0) {
            (void)fprintf(out, ", %s gave up",
                          orr_report__number(sqlite3_column_double(row, 7), number));
        }
        if (sqlite3_column_double(row, 10) > 0) {
            (void)fprintf(out, "; it was short of pods for %s",
                          orr_format_rough(span, sqlite3_column_double(row, 10)));
        }
        (void)fputs(". ", out);
    }
    (void)fputs(any ? "" : "No workload states one. ", out);
}

void orr_report__answer(struct orr_results *in, enum orr_report_question question,
                        const struct orr_report_walk *walk, const struct orr_report_trust *trust,
                        FILE *out)
{
    switch (question) {
    case ORR_REPORT_WAITS: answer_waits(in, out); break;
    case ORR_REPORT_SATURATED: answer_load(in, &walk->load, out); break;
    case ORR_REPORT_EVICTIONS: answer_evictions(in, out); break;
    case ORR_REPORT_LENDING: answer_lending(&walk->lending, out); break;
    case ORR_REPORT_OBJECTIVES: answer_objectives(in, out); break;
    case ORR_REPORT_EXPECTED: answer_expected(in, out); break;
    case ORR_REPORT_TRUST: orr_report__trust_answer(trust, out); break;
    }
}
