/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results.h - a results file opened for reading; how everything in analysis/ looks at one.
 *
 * The first failure stays in `status` with its sentence in `err`; every call after it does nothing,
 * so a reader looks at it once, at its end.
 */
#ifndef ORR_ANALYSIS_RESULTS_H
#define ORR_ANALYSIS_RESULTS_H

#include <signal.h>

#include <sqlite3.h>

#include <orrery/base/idmap.h>
#include <orrery/base/mem.h>
#include <orrery/base/status.h>

#define ORR_RESULTS_VERSION 26 /* PRAGMA user_version that is understood */

struct orr_results {
    sqlite3 *db;
    const char *path; /* borrowed */
    enum orr_status status;
    struct orr_err *err;    /* borrowed; may be NULL */
    struct orr_arena arena; /* of orr_results_text */
    orr_ms origin_ms;       /* of the clock, since 1970; ORR_MS_NONE: there is no calendar */
    bool lacks_views;       /* the program's own were not made yet */
    bool for_people;        /* orr_results_queue gives display names; the caller sets it */
    const volatile sig_atomic_t *interrupted; /* borrowed; orr_results_interruptible */
    struct orr_idmap queues;                  /* names, once orr_results_shown was asked ... */
    const char **shown;                       /* ... and the display name of each */
};

/* Read-only, refused unless its schema is the one known here: ORR_NO_INPUT (missing, unreadable),
 * ORR_DATA (not a results file, another version), ORR_IO. Close it in any case. */
void orr_results_open(struct orr_results *results, const char *path, struct orr_err *err);
void orr_results_close(struct orr_results *results);
/* Queries end soon after `interrupted` (borrowed; NULL: never) is not 0, with ORR_INTERRUPTED. */
void orr_results_interruptible(struct orr_results *results,
                               const volatile sig_atomic_t *interrupted);
/* Makes the program's own views, which hide those in the file, if a statement names one:
 * orr_results_prepare does so, who prepares by another way calls this before. */
void orr_results_make_views(struct orr_results *results, const char *sql);

/* What `sweep merge` writes: metrics of many runs, no jobs. False for all else. */
bool orr_results_is_merged(const char *path);
/* One point of it as if it were a results file that has run, metric and node alone; a point that
 * the file lacks has no run. Fails as orr_results_open. */
void orr_results_open_point(struct orr_results *results, const char *path, uint32_t point,
                            struct orr_err *err);
/* The points that have results, in the order of the plan; the arena of the list owns it all. */
struct orr_merged_points {
    const uint32_t *points, *arms; /* arms: numbers of settings */
    const char *const *labels;     /* of their settings: values of the axes */
    const char *axes;              /* names of these, "size, policy"; NULL: settings have none */
    uint32_t count;
    struct orr_arena arena;
};
enum orr_status orr_results_points(const char *path, struct orr_merged_points *points,
                                   struct orr_err *err) ORR_MUST_USE;
void orr_merged_points_release(struct orr_merged_points *points);

/* Another results file as database `base`, for queries of both. Fails as orr_results_open. */
enum orr_status orr_results_attach(struct orr_results *results, const char *path,
                                   struct orr_err *err) ORR_MUST_USE;

/* ORR_DATA where the run was interrupted: `so` says in a sentence what cannot be done with it. */
enum orr_status orr_results_whole(const char *path, const char *so,
                                  struct orr_err *err) ORR_MUST_USE;

/* NULL after a failure; orr_results_step takes that. */
sqlite3_stmt *orr_results_prepare(struct orr_results *results, const char *sql);
/* True while there is a row; finalizes the statement at the end or on failure. */
bool orr_results_step(struct orr_results *results, sqlite3_stmt *row);
/* A column's text, "" for NULL; lives as long as the results. */
char *orr_results_text(struct orr_results *results, sqlite3_stmt *row, int column);
/* What people read for the queue of that name, or for a metric's label ("queue=NAME,kind=KIND"):
 * with the display name. The text itself where that is no other; both live as long as the results.
 */
const char *orr_results_shown(struct orr_results *results, const char *queue);
const char *orr_results_shown_label(struct orr_results *results, const char *label);
/* A column that holds the name of a queue: as people read it if they will; NULL for NULL. */
const char *orr_results_queue(struct orr_results *results, sqlite3_stmt *row, int column);
/* A time of the run's clock in words (orr_format_clock); needs 32 bytes. */
const char *orr_results_when(const struct orr_results *results, orr_ms at, char *out);
/* The first column of the first row, or `otherwise`. */
int64_t orr_results_int(struct orr_results *results, const char *sql, int64_t otherwise);

#endif
