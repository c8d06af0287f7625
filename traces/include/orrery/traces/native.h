/* SPDX-License-Identifier: GPL-3.0-or-later */
/* native.h - rows of the native format one at a time: checked as its reader checks them, written as
 * they come. For importers, whose input need not fit into memory. */
#ifndef ORR_TRACES_NATIVE_H
#define ORR_TRACES_NATIVE_H

#include <stdio.h>

#include <orrery/traces/records.h>
#include <orrery/traces/workload.h>

enum { ORR_NATIVE_WHY = 200 }; /* bytes of a sentence */

/* Index of a column by its name, as orr_trace_column counts them; ORR_NONE: there is none. */
uint32_t orr_native_column(const char *name);
/* Whether its cells are instants, and whether texts. */
bool orr_native_is_instant(uint32_t column);
bool orr_native_is_text(uint32_t column);

struct orr_native_row; /* cells of one row; reused from row to row */

struct orr_native_row *orr_native_row_new(void) ORR_MUST_USE;
void orr_native_row_free(struct orr_native_row *row);
void orr_native_clear(struct orr_native_row *row);
/* Each says false, with a sentence in `why`, where the column cannot have the value. Text is
 * borrowed until the row is written. A number is num/den in the column's unit, den above 0: spans
 * are rounded half up to ms, counts must be whole. */
bool orr_native_text(struct orr_native_row *row, uint32_t column, struct orr_cell text,
                     char why[ORR_NATIVE_WHY]);
bool orr_native_number(struct orr_native_row *row, uint32_t column, int64_t num, int64_t den,
                       char why[ORR_NATIVE_WHY]);
/* ms since 1970, or on the file's clock: all instants of a file are one or the other. */
bool orr_native_instant(struct orr_native_row *row, uint32_t column, orr_ms at, bool is_date,
                        char why[ORR_NATIVE_WHY]);
/* Its job, and whether its submit is a date. */
struct orr_cell orr_native_job(const struct orr_native_row *row);
bool orr_native_is_dated(const struct orr_native_row *row);
/* Why the cells make no job; NULL when they do. */
const char *orr_native_fault(const struct orr_native_row *row);

/* What reports count of a job. */
struct orr_job_fact {
    orr_ms submit_ms, run_ms; /* run ORR_MS_NONE: not stated */
    orr_ms start_ms, end_ms;  /* recorded; ORR_MS_NONE: not known */
    orr_ms limit_ms;
    int64_t mgpu; /* of all its pods, MIG instances by their g; 0 also where memory or a template
                     says it */
    bool of_instances; /* these are of MIG */
    bool by_memory;    /* it asks GPU memory: how many GPUs that is hangs on the node */
    uint32_t pods;
    enum orr_kind kind;
    struct orr_cell queue, user; /* no bytes: not known */
    struct orr_cell attempts;    /* recorded_attempts; no bytes: it is one from start to end */
};
void orr_native_fact(const struct orr_native_row *row, struct orr_job_fact *fact);
/* The same of a row that was read. */
void orr_workload_fact(const struct orr_workload *workload, const struct orr_row *row,
                       struct orr_job_fact *fact);

/* The header, and a row, with the columns whose bits are in `columns`, and one more that readers
 * ignore, whose name starts with x_ and whose text needs no quotes (NULL: none). Texts that are not
 * UTF-8 get U+FFFD for what is wrong. Failures show in ferror(). */
void orr_native_write_header(FILE *out, uint64_t columns, const char *x_name);
void orr_native_write_row(FILE *out, uint64_t columns, const struct orr_native_row *row,
                          const char *x_text);

#endif
