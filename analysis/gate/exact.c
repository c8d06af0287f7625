/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exact.c - where two runs part: the earliest start or eviction that only one of them has. */
#include <orrery/analysis/gate.h>

#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

#include "exact_sql.h"

static const char *why(struct orr_results *in, int which, const char *job, orr_ms at_ms)
{
    sqlite3_stmt *row =
        orr_results_prepare(in, which == 0 ? orr_exact_sql__why : orr_exact_sql__why_base);
    const char *words = "";
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, job, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(row, 2, at_ms);
    }
    while (orr_results_step(in, row)) {
        words = orr_results_text(in, row, 0);
    }
    return words;
}

/* " (devices 0, 5)" of a bit mask; "" where devices are not counted one by one. */
static void say_devices(sqlite3_stmt *row, int column, char *out, size_t room)
{
    const uint64_t mask = (uint64_t)sqlite3_column_int64(row, column);
    size_t used = 0;
    out[0] = '\0';
    for (unsigned d = 0; d < 64 && used + 16 < room; d++) {
        if ((mask >> d & 1) != 0) {
            used += (size_t)snprintf(out + used, room - used, "%s%u",
                                     used == 0 ? " (devices " : ", ", d);
        }
    }
    if (used > 0) {
        (void)snprintf(out + used, room - used, ")");
    }
}

static void describe(struct orr_results *in, sqlite3_stmt *row, const char *const sides[2],
                     struct orr_first_difference *difference)
{
    difference->at_ms = sqlite3_column_int64(row, 0);
    const char *job = orr_results_text(in, row, 1), *deed = orr_results_text(in, row, 2);
    const int which = sqlite3_column_int(row, 3);
    const char *here = why(in, which, job, difference->at_ms);
    const char *there = why(in, 1 - which, job, difference->at_ms);
    char at[32], exact[32], devices[200];
    (void)orr_results_when(in, difference->at_ms, at);
    (void)orr_format_seconds(exact, difference->at_ms);
    say_devices(row, 4, devices, sizeof devices);
    (void)snprintf(difference->text, sizeof difference->text,
                   "at %s (%s s) job %s %s%s in %s%s%s, and not in %s%s%s", at, exact, job, deed,
                   devices, sides[which], here[0] != '\0' ? ", where it had waited: " : "", here,
                   sides[1 - which], there[0] != '\0' ? ", where it waits: " : "", there);
}

/* What differs from the time on at which one of them was interrupted is not known to differ. */
static void heed_cut(struct orr_results *in, const char *const sides[2],
                     struct orr_first_difference *difference)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_exact_sql__cut);
    while (orr_results_step(in, row)) {
        const orr_ms cut = sqlite3_column_int64(row, 0);
        const bool is_cut = sqlite3_column_type(row, 0) != SQLITE_NULL;
        char at[32], exact[32];
        if (is_cut && (difference->at_ms == ORR_MS_NONE || difference->at_ms >= cut)) {
            (void)orr_results_when(in, cut, at);
            (void)orr_format_seconds(exact, cut);
            difference->unknown = true;
            difference->at_ms = ORR_MS_NONE;
            (void)snprintf(difference->text, sizeof difference->text,
                           "every decision is the same until %s (%s s), when %s was interrupted: "
                           "what it would have decided from then on is not known; let it run to "
                           "its end",
                           at, exact, sides[sqlite3_column_int(row, 1)]);
        }
    }
}

enum orr_status orr_gate_same_inputs(const char *results, const char *baseline, bool *same,
                                     struct orr_err *err)
{
    struct orr_results in;
    orr_results_open(&in, results, err);
    if (in.status == ORR_OK) {
        in.status = orr_results_attach(&in, baseline, err);
    }
    *same = orr_results_int(&in, orr_exact_sql__same_inputs, 0) != 0;
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

enum orr_status orr_gate_exact(const char *results, const char *baseline,
                               const char *const sides[2], struct orr_first_difference *difference,
                               struct orr_err *err)
{
    struct orr_results in;
    *difference = (struct orr_first_difference){.at_ms = ORR_MS_NONE};
    orr_results_open(&in, results, err);
    if (in.status == ORR_OK) {
        in.status = orr_results_attach(&in, baseline, err);
    }
    difference->same = orr_results_int(&in, orr_exact_sql__same_digest, 0) != 0;
    if (in.status == ORR_OK && !difference->same) {
        (void)snprintf(difference->text, sizeof difference->text,
                       "the digests differ, and no start, eviction or end does: what was explained "
                       "or held in between is not the same");
        sqlite3_stmt *row = orr_results_prepare(&in, orr_exact_sql__only);
        while (orr_results_step(&in, row)) {
            describe(&in, row, sides, difference);
        }
        heed_cut(&in, sides, difference);
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
