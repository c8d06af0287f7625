/* SPDX-License-Identifier: GPL-3.0-or-later */
/* expr.h - expressions over the cells of a row, exact.
 *
 *   gpu_num / node_num       mem_gb * 1024        state == "FAILED" or run_s < 10
 *   type ~ "Debug|Eval*"     end ?? "now"         gpus > 8 ? "large" : "small"
 *   part(id, "_", 1)         pair(tres, "gres/gpu")
 *
 * Numbers are fractions of 64-bit integers: 13 / 2 is 13/2 and no rounding hides in a trace. A
 * column is named by a word, or by any text in `backquotes`. An empty cell is no value, and neither
 * is what is computed from one; a comparison with no value does not hold.
 */
#ifndef ORR_SIM_INTAKE_EXPR_H
#define ORR_SIM_INTAKE_EXPR_H

#include <orrery/base/mem.h>
#include <orrery/traces/records.h>

#include "times.h"

enum expr_kind { EXPR_NOTHING, EXPR_NUMBER, EXPR_TIME, EXPR_TEXT };

struct expr_value {
    enum expr_kind kind;
    int64_t num, den;     /* den above 0, no common factor */
    orr_ms at;            /* of a time; ms since 1970 */
    struct orr_cell text; /* borrowed from the row, or from the scratch arena */
};

/* What expressions of one table share: the columns they name, each a cell of the rows to come. */
struct expr_table {
    struct orr_arena *arena; /* owns expressions and texts */
    const char *file;        /* for errors */
    const char *const *names;
    uint32_t name_count; /* of the file */
    const char *used[ORR_RECORDS_COLUMNS];
    struct times *times[ORR_RECORDS_COLUMNS]; /* how a column's cells are instants; NULL: texts */
    uint32_t used_count;
    const char *const *empty; /* cells that mean nothing */
    uint32_t empty_count;
};

/* Index in `used`, added if new; ORR_NONE: the file has no such column, or too many are used. */
uint32_t expr_column(struct expr_table *table, const char *name);

struct expr; /* parsed */

struct expr_error {
    uint32_t column; /* of the text, from 0 */
    char text[200];
};

/* NULL with an error. */
struct expr *expr_parse(struct expr_table *table, const char *text, struct expr_error *error);

struct expr_row {
    const struct expr_table *table;
    const struct orr_cell *cells; /* by index in `used` */
    struct orr_arena *scratch;    /* of texts made for this row */
    uint64_t number;              /* of the row, from 1 */
    char reason[120], why[300];   /* of a failure: without and with the values at hand */
};

/* False where the row's cells make no sense of it: row->reason and row->why say why. */
bool expr_eval(const struct expr *expr, struct expr_row *row, struct expr_value *out);
/* The same as a condition: no value, 0 and the empty text do not hold. */
bool expr_holds(const struct expr *expr, struct expr_row *row, bool *out);

bool expr_fail(struct expr_row *row, const char *reason, const char *format, ...) ORR_PRINTF(3, 4);
/* "123", "0.5", "1e3" as a fraction. */
bool expr_number(struct orr_cell text, int64_t *num, int64_t *den);
/* The same of a number as people write it, whose decimal mark is `mark`, a point or a comma;
 * thousands may be parted by the other one, a space or an apostrophe: "1,234.5", "1.234,5". */
bool expr_written_number(struct orr_cell text, char mark, int64_t *num, int64_t *den);
/* orr_text_like in any case. */
bool expr_like(struct orr_cell text, const char *patterns);
/* A text made fit for a sentence. */
struct expr_shown {
    char text[48];
};
struct expr_shown expr_show(struct orr_cell text);

#endif
