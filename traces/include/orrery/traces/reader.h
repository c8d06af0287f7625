/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reader.h - one trace file of any known format into a workload.
 *
 * A row that is wrong is rejected, counted and shown; the read goes on. A file that is wrong
 * (missing, empty, no header, truncated compression) is an error with its place. More rejected rows
 * than are borne are an error: 1 % unless the options say another share.
 */
#ifndef ORR_TRACES_READER_H
#define ORR_TRACES_READER_H

#include <signal.h>
#include <stdio.h>

#include <orrery/traces/workload.h>

#define ORR_LOSS_ALL 1000000u /* any share of rejected rows is borne */

enum orr_swf_queue { ORR_SWF_QUEUE, ORR_SWF_PARTITION, ORR_SWF_GROUP };

struct orr_trace_options {
    const char *format;      /* name of a format, or NULL: known by suffix and header */
    uint32_t allow_loss_ppm; /* share of rows that may be rejected; 0: 1 % */
    /* SWF: 0 = replay the run time; 1 = a job ends at its requested time if that is earlier */
    bool kill_at_limit;
    enum orr_swf_queue swf_queue; /* SWF: the field that is the queue; QUEUE: where no row has one,
                                     the partition */
    const char *template_name;    /* of rows that name none; NULL: none. Borrowed */
    const char *zone;             /* of dates that state none, as orr_zone_make has it; NULL: UTC */
    /* The read ends once it is not 0; NULL: it cannot be interrupted */
    const volatile sig_atomic_t *interrupted;
};

/* Reads, validates, sorts. Plain, .gz, .zst, .xz, .bz2 and .zip (with one file in it) are told
 * apart by their bytes. NULL options are all defaults. The workload is made here: it must not be
 * initialised, and on success the caller releases it; on failure it is released.
 *   ORR_NO_INPUT  the file is missing, unreadable or a directory
 *   ORR_IO        reading failed part way
 *   ORR_USAGE     options.format names no format
 *   ORR_SCENARIO  options.zone is not known here
 *   ORR_INTERRUPTED
 *   ORR_DATA      everything else: the sentence has file and line */
enum orr_status orr_trace_read(const char *path, const struct orr_trace_options *options,
                               struct orr_workload *workload, struct orr_err *err) ORR_MUST_USE;

/* The same from plain text in memory (never compressed), with `name` as the path in messages and
 * for its suffix. The bytes are only borrowed. */
enum orr_status orr_trace_read_memory(const char *name, const void *bytes, size_t count,
                                      const struct orr_trace_options *options,
                                      struct orr_workload *workload,
                                      struct orr_err *err) ORR_MUST_USE;

/* Fails with ORR_DATA when a larger share of the rows was rejected than is borne (0: 1 %). Replay
 * calls it again after adding its own rejections. */
enum orr_status orr_trace_check_loss(const struct orr_workload *workload, const char *path,
                                     uint32_t allow_loss_ppm, struct orr_err *err) ORR_MUST_USE;

/* Writes the workload as native CSV to an open file, whose ferror() says whether it failed. Only
 * columns that a row uses are written, and reading them back gives the same rows; clock_origin_ms
 * has no column and is lost. */
void orr_trace_write_native(const struct orr_workload *workload, FILE *out);

/* The same, but where clock_origin_ms is known instants are written as dates; read back, the first
 * submit is 0. */
void orr_trace_write_rows(const struct orr_workload *workload, FILE *out);

/* Known formats, for --format, doctor and errors. */
struct orr_trace_format {
    const char *name, *summary;
};
const struct orr_trace_format *orr_trace_formats(size_t *count);

/* Columns of the native format: their number, and each by its index, in the order in which they are
 * written. */
struct orr_trace_column {
    const char *name, *type, *summary;
};
size_t orr_trace_columns(void);
struct orr_trace_column orr_trace_column(size_t index);
/* The n-th other name under which a header may have the column; NULL: there are fewer. */
const char *orr_trace_column_alias(size_t column, size_t n);

#endif
