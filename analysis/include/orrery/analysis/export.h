/* SPDX-License-Identifier: GPL-3.0-or-later */
/* export.h - a table or view of a results file as CSV, JSON lines or SWF; a run for Prometheus and
 * Perfetto. */
#ifndef ORR_ANALYSIS_EXPORT_H
#define ORR_ANALYSIS_EXPORT_H

#include <stdio.h>

#include <orrery/base/status.h>

/* `table` is "jobs" (the view v_jobs: names and seconds), or the name of any table or view. Format
 * is "csv", "jsonl", "json" (one document: the table's name and its rows), for jobs "swf", or
 * "schema": names and types of the columns of the CSV as a Table Schema in JSON. ORR_NO_INPUT,
 * ORR_DATA (not a results file, no such table), ORR_USAGE (unknown format), ORR_IO.
 */
enum orr_status orr_export_table(const char *db_path, const char *table, const char *format,
                                 FILE *out, struct orr_err *err) ORR_MUST_USE;

/* Writes what is buffered. ORR_IO: that, or something before it, could not be written. */
enum orr_status orr_export_finish(FILE *out, struct orr_err *err) ORR_MUST_USE;

/* Series and evictions as OpenMetrics text under KAI's metric names, with times: seconds since
 * 1970, or of the run's clock when the trace has one of its own. ORR_NO_INPUT, ORR_DATA, ORR_IO. */
enum orr_status orr_export_openmetrics(const char *db_path, FILE *out,
                                       struct orr_err *err) ORR_MUST_USE;

/* The run in Chrome's Trace Event Format, for Perfetto's viewer: pods of jobs as slices in the
 * lanes of their nodes, leaf queues as counters, evictions as instants. ORR_NO_INPUT, ORR_DATA,
 * ORR_IO. */
enum orr_status orr_export_perfetto(const char *db_path, FILE *out,
                                    struct orr_err *err) ORR_MUST_USE;

#endif
