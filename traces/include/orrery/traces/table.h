/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table.h - small CSV tables that are not jobs: request rates, measured distributions, profiles.
 *
 * The columns wanted are named by the caller; the file may have them in any order, and others only
 * when their name starts with x_. Unlike traces, a row that is wrong is an error: nobody counts.
 */
#ifndef ORR_TRACES_TABLE_H
#define ORR_TRACES_TABLE_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct orr_table_column {
    const char *name;
    bool text;     /* else a finite number */
    bool required; /* the file must have it, and no cell of it may be empty */
};

enum { ORR_TABLE_COLUMNS = 16 };

struct orr_table {
    uint32_t rows, capacity;
    double *numbers[ORR_TABLE_COLUMNS];    /* by column; NaN: no value */
    const char **texts[ORR_TABLE_COLUMNS]; /* NULL: no value */
    uint32_t *lines;                       /* of the file, where each row starts */
    uint64_t present;                      /* bit i: the file has column i */
    struct orr_arena arena;
    char sha256[65];
};

/* Reads the file, plain or packed as a trace may be. On failure nothing is left.
 *   ORR_NO_INPUT, ORR_IO, ORR_DATA (the sentence has file and line) */
enum orr_status orr_table_read(const char *path, const struct orr_table_column *columns,
                               uint32_t column_count, struct orr_table *table,
                               struct orr_err *err) ORR_MUST_USE;
void orr_table_release(struct orr_table *table);

#endif
