/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_short.c - the questions a reader comes with, answered in a sentence or two each. */
#include "report_int.h"
#include "report_sql.h"

#include <inttypes.h>
#include <math.h>

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

const char orr_report__reasons_sql[] =
    "SELECT i.reason AS reason, i.words AS \"in words\", count(DISTINCT i.job) AS jobs,"
    " sum(i.to_ms - i.from_ms) / 1000.0 AS \"all jobs together s\","
    " sum((i.to_ms - i.from_ms) * j.mgpu) / 3.6e9 AS \"GPU-hours waited\" FROM"
    " v_reason_intervals AS i JOIN job AS j ON j.id = i.job GROUP BY i.words"
    " ORDER BY sum((i.to_ms - i.from_ms) * j.mgpu) DESC";

double orr_report__metric(struct orr_results *in, const char *name)
{
    double value = (double)NAN;
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT value FROM metric WHERE name = ?1 AND scope = 'all' AND label = ''");
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        value = sqlite3_column_type(row, 0) == SQLITE_NULL ? (double)NAN
                                                           : sqlite3_column_double(row, 0);
    }
    return value;
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
                      sqlite3_column_text(row, 5)[0] == 'n' ? " and never started" : "");
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
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT replace(replace(label, 'queue=', ''), ',kind=', ', '), value FROM metric WHERE"
            " name = 'wait_p95_s' AND scope = 'queue' AND label NOT LIKE '%,kind=inference' AND n >"
            " 0 ORDER BY value IS NULL DESC, value DESC LIMIT 1");
    while (orr_results_step(in, row)) {
        char wait[24];
        const double value = sqlite3_column_double(row, 1);
        if (sqlite3_column_type(row, 1) != SQLITE_NULL && value < SHORT_WAIT_S) {
            continue;
        }
        (void)fputs("Of queues, jobs of <b>", out);
        text_column(row, 0, out);
        (void)fprintf(out, "</b> waited longest: 95 %% at most %s. ",
                      sqlite3_column_type(row, 1) == SQLITE_NULL ? "a time not reached in this run"
                                                                 : orr_format_rough(wait, value));
    }
}

static void top_reason(struct orr_results *in, FILE *out)
{
    double all = 0, most = 0;
    const char *words = "";
    sqlite3_stmt *row = orr_results_prepare(in, orr_report__reasons_sql);
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
    int64_t left = orr_results_int(in, "SELECT count(*) FROM never", 0);
    if (left == 0) {
        return;
    }
    (void)fprintf(out, "Beside them %s could not have started even on the empty cluster (",
                  orr_report__number((double)left, number));
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT count(*), r.words FROM never AS n JOIN reason AS r ON r.id = n.reason GROUP BY"
            " r.id ORDER BY 1 DESC, r.id");
    for (bool first = true; orr_results_step(in, row); first = false) {
        (void)fprintf(out, "%s%s: ", first ? "" : "; ",
                      orr_report__number(sqlite3_column_double(row, 0), number));
        text_column(row, 1, out);
    }
    (void)fputs("); they are in none of these numbers. ", out);
}

static void answer_waits(struct orr_results *in, FILE *out)
{
    char half[24], most[24], never[40];
    const double unstarted = orr_report__metric(in, "unstarted");
    const bool any =
        orr_results_int(in, "SELECT n FROM metric WHERE name = 'unstarted' AND scope = 'all'", 0);
    longest(in, out);
    if (!any) {
        (void)fputs("No jobs but services were submitted in the window. ", out);
        answer_nevers(in, out);
        return;
    }
    (void)fprintf(out, "Half of all jobs started within %s, 95 %% within %s",
                  orr_format_rough(half, orr_report__metric(in, "wait_p50_s")),
                  orr_format_rough(most, orr_report__metric(in, "wait_p95_s")));
    if (unstarted > 0) {
        (void)fprintf(out, "; %s never did", orr_report__number(unstarted, never));
    }
    (void)fputs(". ", out);
    answer_nevers(in, out);
    slowest_queue(in, out);
    top_reason(in, out);
}

/* --- saturation --- */

struct load {          /* means over the buckets of the window */
    double full;       /* share in which 98 % was held and jobs waited */
    double waits;      /* share in which jobs waited for a GPU or more */
    double over;       /* share in which held and asked for were more than there was */
    double pending;    /* GPUs asked for and not held */
    double idle_waits; /* GPUs free while jobs waited */
    double gpus, up;   /* of the cluster; of nodes that are not down */
};

static struct load read_load(struct orr_results *in)
{
    struct load load = {0};
    sqlite3_stmt *row = orr_results_prepare(
        in,
        "WITH b AS (SELECT s.at_ms AS at_ms, min(r.series_ms, r.window_end_ms - s.at_ms) AS length,"
        " sum(s.allocated_mgpu) AS held, sum(s.pending_mgpu) AS pending FROM series AS s CROSS JOIN"
        " run AS r WHERE s.at_ms >= r.window_start_ms AND s.at_ms < r.window_end_ms GROUP BY"
        " s.at_ms),"
        " d AS (SELECT b.at_ms AS at_ms, sum(n.gpus * 1000.0 * (min(coalesce(o.to_ms, r.end_ms),"
        " b.at_ms + b.length) - max(o.from_ms, b.at_ms)) / b.length) AS down FROM b CROSS JOIN run"
        " AS r JOIN (SELECT * FROM outage UNION ALL SELECT * FROM away) AS o ON o.from_ms < "
        "b.at_ms + b.length AND coalesce(o.to_ms, r.end_ms) >"
        " b.at_ms JOIN node AS n ON n.id = o.node GROUP BY b.at_ms),"
        " u AS (SELECT b.*, r.capacity_mgpu - coalesce(d.down, 0) AS up FROM b CROSS JOIN run AS r"
        " LEFT JOIN d ON d.at_ms = b.at_ms)"
        " SELECT avg(held >= 0.98 * up AND pending > 0), avg(pending >= 1000),"
        " avg(held + pending > up), avg(pending) / 1000, avg(CASE WHEN pending >= 1000 THEN up -"
        " held END) / 1000, (SELECT capacity_mgpu / 1000.0 FROM run), avg(up) / 1000 FROM u");
    while (orr_results_step(in, row)) {
        load = (struct load){sqlite3_column_double(row, 0), sqlite3_column_double(row, 1),
                             sqlite3_column_double(row, 2), sqlite3_column_double(row, 3),
                             sqlite3_column_double(row, 4), sqlite3_column_double(row, 5),
                             sqlite3_column_double(row, 6)};
    }
    return load;
}

static const char *verdict(const struct load *load)
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
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT mgpu, t, sum(t) OVER () FROM (SELECT j.mgpu AS mgpu,"
            " sum(j.mgpu * 1.0 * (coalesce(p.to_ms, r.end_ms) - p.from_ms)) AS t FROM v_pending AS"
            " p JOIN job AS j ON j.id = p.job CROSS JOIN run AS r GROUP BY j.mgpu) ORDER BY mgpu"
            " DESC");
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
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT d.value * 3600, o.value * 100 FROM metric AS d JOIN metric AS o USING (scope,"
            " label) WHERE label = 'phase=drain' AND d.name = 'phase_h' AND o.name ="
            " 'phase_gpu_occupancy' AND o.value IS NOT NULL");
    while (orr_results_step(in, row)) {
        char text[24];
        (void)fprintf(out, "In the drain, the %s after the window, %.0f %% were held. ",
                      orr_format_rough(text, sqlite3_column_double(row, 0)),
                      sqlite3_column_double(row, 1));
    }
}

static void answer_load(struct orr_results *in, FILE *out)
{
    const struct load load = read_load(in);
    const double size = typical_wait_gpus(in);
    char text[64];
    (void)fprintf(out, "<b>%s</b> Of %s %.0f %% were held on average. ", verdict(&load),
                  gpus_text(load.gpus, text), 100 * orr_report__metric(in, "gpu_occupancy"));
    (void)fprintf(out,
                  "All were held while jobs waited %.0f %% of the time, and more were held and "
                  "asked for than there are %.0f %% of the time. ",
                  100 * load.full, 100 * load.over);
    if (load.waits > 0.005) {
        (void)fprintf(out, "Something waited %.0f %% of the time, on average for %s; ",
                      100 * load.waits, gpus_text(load.pending / load.waits, text));
        (void)fprintf(out, "meanwhile free: %s. ", gpus_text(load.idle_waits, text));
    }
    if (load.waits > 0.005 && size > 1) {
        (void)fprintf(out, "Half of what was waited for was by jobs of %s or more. ",
                      gpus_text(size, text));
    }
    if (load.gpus - load.up > 0.005 * load.gpus) {
        (void)fprintf(out, "Down on average: %s. ", gpus_text(load.gpus - load.up, text));
    }
    say_drain(in, out);
}

/* --- evictions --- */

static void lost_by_cause(struct orr_results *in, FILE *out)
{
    uint32_t count = 0;
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT replace(label, 'cause=', ''), value FROM metric WHERE name = 'lost_gpu_h' AND"
            " scope = 'cause' AND value >= 0.5 ORDER BY value DESC");
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
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT q.name, count(*) FROM eviction AS e JOIN job AS j ON j.id = e.job JOIN queue AS"
            " q ON q.id = j.queue GROUP BY q.id ORDER BY 2 DESC LIMIT 1");
    while (orr_results_step(in, row)) {
        char times[40];
        (void)fputs("Most often from <b>", out);
        text_column(row, 0, out);
        (void)fprintf(out, "</b> (%s). ",
                      orr_report__count(sqlite3_column_double(row, 1), "time", "times", times));
    }
}

static void answer_evictions(struct orr_results *in, FILE *out)
{
    const double lost = orr_report__metric(in, "lost_gpu_h");
    const double restart = orr_report__metric(in, "restart_gpu_h");
    const double wasted = orr_report__metric(in, "wasted_evictions");
    const int64_t cut = orr_results_int(in, "SELECT count(*) FROM eviction WHERE whole", 0);
    const double held =
        (double)orr_results_int(in, "SELECT cast(sum(gpu_h) * 1000 AS INTEGER) FROM v_node_use", 0);
    char number[40];
    if (cut == 0 && !(lost > 0) && orr_results_int(in, "SELECT count(*) FROM eviction", 0) == 0) {
        (void)fputs("Nothing was evicted, and no node failed under a job. ", out);
        return;
    }
    (void)fprintf(out, "%s cut short; that cost <b>",
                  orr_report__count((double)cut, "attempt was", "attempts were", number));
    (void)fprintf(out, "%s GPU-hours</b>", orr_report__number(lost, number));
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

static void answer_lending(struct orr_results *in, FILE *out)
{
    struct orr_report_lending lending;
    orr_report__lending_open(in, &lending);
    double owed = 0, lent = 0;
    for (uint32_t i = 0; i < lending.loan_count; i++) {
        owed += lending.loans[i].owed_gpu_h;
        lent += lending.loans[i].gpu_h;
    }
    if (lending.quota_count == 0) {
        (void)fputs("No queue has a quota, so none can lend. ", out);
    } else if (lending.loan_count == 0) {
        (void)fputs("Nobody: no queue held more than its quota while another held less. ", out);
    } else {
        const uint32_t b = largest(lending.borrowed, lending.queue_count);
        const uint32_t l = largest(lending.lent, lending.queue_count);
        uint32_t from = 0; /* loans are the largest first */
        char number[40], waited[40];
        while (from < lending.loan_count && lending.loans[from].borrower != b) {
            from++;
        }
        name_with_amount(lending.names[b], lending.borrowed[b], out);
        if (from < lending.loan_count) {
            (void)fputs(", mostly from ", out);
            orr_xml_text(out, lending.names[lending.loans[from].lender]);
        }
        (void)fputs(") borrowed most, ", out);
        name_with_amount(lending.names[l], lending.lent[l], out);
        (void)fprintf(out,
                      ") lent most. Of %s GPU-hours lent in all, %s were while jobs of the lender "
                      "waited. ",
                      orr_report__number(lent, number), orr_report__number(owed, waited));
    }
    orr_report__lending_close(&lending);
}

/* --- objectives --- */

const char orr_report__objectives_sql[] =
    "WITH w AS (SELECT substr(label, 10) AS name, max(CASE name WHEN 'attainment' THEN value END)"
    " AS attained, max(CASE name WHEN 'attainment' THEN n END) AS n, max(CASE name WHEN"
    " 'requests_late' THEN value END) AS late, max(CASE name WHEN 'requests_dropped' THEN value "
    "END)"
    " AS dropped, max(CASE name WHEN 'gave_up' THEN value END) AS left, min(rowid) AS place FROM"
    " metric WHERE scope = 'workload' GROUP BY label),"
    " p AS (SELECT j.name AS name, sum(v.wanted * 1.0 * (v.to_ms - v.from_ms)) / sum(v.to_ms -"
    " v.from_ms) AS wanted, sum(v.had * 1.0 * (v.to_ms - v.from_ms)) / sum(v.to_ms - v.from_ms) AS"
    " had, sum(CASE WHEN v.wanted > v.had THEN v.to_ms - v.from_ms ELSE 0 END) / 1000.0 AS short"
    " FROM v_replicas AS v JOIN job AS j ON j.id = v.job GROUP BY v.job)"
    " SELECT w.name AS workload, CASE WHEN w.late IS NULL THEN 'jobs' ELSE 'requests' END AS \"of"
    " its\", w.n AS number, printf('%.3f %%', 100 * w.attained) AS \"met the objective\", w.late AS"
    " late, w.dropped AS dropped, w.left AS \"gave up\", p.wanted AS \"pods wanted (mean)\","
    " p.had AS \"pods had (mean)\", p.short AS \"short of pods s\" FROM w LEFT JOIN p ON p.name ="
    " w.name WHERE w.attained IS NOT NULL ORDER BY w.place";

bool orr_report__has_answer(struct orr_results *in, enum orr_report_question question)
{
    return question == ORR_REPORT_OBJECTIVES
               ? orr_results_int(in, "SELECT count(*) FROM metric WHERE name = 'attainment'", 0) > 0
           : question == ORR_REPORT_EXPECTED
               ? orr_results_int(in, "SELECT count(*) FROM expectation", 0) > 0
               : true;
}

const char orr_report__expected_sql[] =
    "SELECT text AS expected, CASE holds WHEN 1 THEN 'yes' WHEN 0 THEN 'no' ELSE 'the run has no"
    " such number' END AS held, value AS \"it was\" FROM expectation ORDER BY nr";

static void answer_expected(struct orr_results *in, FILE *out)
{
    char number[40];
    const int64_t count = orr_results_int(in, "SELECT count(*) FROM expectation", 0);
    const int64_t held = orr_results_int(in, "SELECT count(*) FROM expectation WHERE holds", 0);
    (void)fprintf(out, "<b>%s</b> Of what the scenario expects, %" PRId64 " of %s. ",
                  held == count ? "Yes." : "No.", held,
                  orr_report__count((double)count, "statement held", "statements held", number));
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT text, value, holds FROM expectation WHERE holds IS NOT 1 ORDER BY nr LIMIT 3");
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
    sqlite3_stmt *row = orr_results_prepare(in, orr_report__objectives_sql);
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
        if (sqlite3_column_double(row, 6) > 0) {
            (void)fprintf(out, ", %s gave up",
                          orr_report__number(sqlite3_column_double(row, 6), number));
        }
        if (sqlite3_column_double(row, 9) > 0) {
            (void)fprintf(out, "; it was short of pods for %s",
                          orr_format_rough(span, sqlite3_column_double(row, 9)));
        }
        (void)fputs(". ", out);
    }
    (void)fputs(any ? "" : "No workload states one. ", out);
}

void orr_report__answer(struct orr_results *in, enum orr_report_question question, FILE *out)
{
    switch (question) {
    case ORR_REPORT_WAITS: answer_waits(in, out); break;
    case ORR_REPORT_SATURATED: answer_load(in, out); break;
    case ORR_REPORT_EVICTIONS: answer_evictions(in, out); break;
    case ORR_REPORT_LENDING: answer_lending(in, out); break;
    case ORR_REPORT_OBJECTIVES: answer_objectives(in, out); break;
    case ORR_REPORT_EXPECTED: answer_expected(in, out); break;
    case ORR_REPORT_TRUST: orr_report__trust_answer(in, out); break;
    }
}
