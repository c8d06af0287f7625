/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Somebody's schedule: when each job of a trace started. Only what happened is taken (job, start_s,
 * end_s); the other columns that `orrery export R.db jobs` writes are passed over, since what a job
 * asked stands in its trace. */
#include "reader_int.h"

enum { COL_JOB, COL_START, COL_END, COL_TAKEN };

static const char *const columns[] = {"job",   "start_s", "end_s",     "queue",    "user",
                                      "kind",  "pods",    "gpus",      "submit_s", "wait_s",
                                      "run_s", "state",   "evictions", "nodes"};
#define COLUMNS (sizeof columns / sizeof columns[0])

static bool read_time(struct orr_reader *reader, uint32_t line, const char *column,
                      struct orr_text text, orr_ms *out)
{
    struct orr_number number = {column, 1000, -ORR_INSTANT_MAX_MS, ORR_INSTANT_MAX_MS};
    *out = ORR_MS_NONE;
    return text.bytes == 0 || orr_field_number(reader, line, &number, text, out);
}

static void read_row(void *context, const struct orr_text *fields, uint32_t line)
{
    struct orr_reader *reader = context;
    struct orr_workload *workload = reader->workload;
    orr_ms start, end;
    bool added;
    if (fields[COL_JOB].bytes == 0) {
        orr_workload_reject(workload, reader->file, line, "column job is empty");
        return;
    }
    if (!orr_field_text(reader, line, columns[COL_JOB], fields[COL_JOB]) ||
        !read_time(reader, line, columns[COL_START], fields[COL_START], &start) ||
        !read_time(reader, line, columns[COL_END], fields[COL_END], &end)) {
        return;
    }
    uint32_t job =
        orr_idmap_put(&workload->jobs, fields[COL_JOB].at, fields[COL_JOB].bytes, &added);
    if (!added) {
        orr_workload_reject(
            workload, reader->file, line, "column job: \"%s\" is on line %u already",
            orr_text_show(fields[COL_JOB]).text, (unsigned)workload->rows[job].line);
        return;
    }
    struct orr_row *row = orr_workload_push(workload);
    row->job = job;
    row->line = line;
    row->submit_ms = start == ORR_MS_NONE ? 0 : start;
    struct orr_row_extra *extra = orr_workload_extra(workload, row);
    extra->recorded_start_ms = start;
    extra->recorded_end_ms = end;
}

enum orr_status orr_schedule_read(struct orr_reader *reader)
{
    const struct orr_csv_format format = {
        .name = "schedule",
        .columns = columns,
        .column_count = COLUMNS,
        .required = 1u << COL_JOB | 1u << COL_START,
        .ignored = ((1u << COLUMNS) - 1) & ~((1u << COL_TAKEN) - 1),
        .row = read_row,
    };
    return orr_csv_read(reader, &format, reader);
}
