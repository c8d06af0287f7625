/* SPDX-License-Identifier: GPL-3.0-or-later */
/* propose_int.h - what is thought of a table's columns, by their names and by their cells. */
#ifndef ORR_SIM_INTAKE_PROPOSE_INT_H
#define ORR_SIM_INTAKE_PROPOSE_INT_H

#include "intake_int.h"

#define SAMPLE_ROWS 2000

/* What a column of a table may be; names as propose_fold makes them, with or without a unit, best
 * first.
 */
enum role {
    ROLE_JOB,
    ROLE_SUBMIT,
    ROLE_START,
    ROLE_END,
    ROLE_RUN,
    ROLE_GPUS,
    ROLE_POD_GPUS,
    ROLE_PODS,
    ROLE_QUEUE,
    ROLE_USER,
    ROLE_KIND,
    ROLE_STATE,
    ROLE_LIMIT,
    ROLE_MODEL,
    ROLE_CPU,
    ROLES
};

struct guess {
    const char *const *names;
    const char *zone; /* of dates that state none */
    uint32_t count;
    uint32_t of[ROLES];               /* column of the file, ORR_NONE: none */
    enum times_format formats[ROLES]; /* of the roles that are times */
    bool dated[ROLES], used[ORR_RECORDS_COLUMNS];
    bool either[ORR_RECORDS_COLUMNS]; /* dates whose day and month may be the other way round */
    char mark[ORR_RECORDS_COLUMNS];   /* decimal mark of numbers that are not plain; else '\0' */
    bool either_mark[ORR_RECORDS_COLUMNS];       /* 1,234 and no more tells: taken for thousands */
    struct orr_cell *cells[ORR_RECORDS_COLUMNS]; /* of the sample, by column */
    uint32_t rows;
    bool by_cells;            /* dates are known by their order, not by their names */
    uint32_t no_times[ROLES]; /* a column with a role's name whose cells are no times; ORR_NONE */
    struct orr_arena *arena;
};

/* Lower case, with one _ for all between words: "Runtime (s)" is runtime_s. */
void propose_fold(const char *name, char *out, size_t room);
/* Seconds in the unit that a name ends with; 0: it names none. `bare`: the name without it. */
double propose_unit(const char *name, char *bare, size_t room);
/* How many cells of a column have to be what it is taken for: one whose name says what it is keeps
 * that meaning, and its other cells make their rows wrong; nobody else's cells are doubted. */
enum propose_need { PROPOSE_HALF, PROPOSE_NEARLY_ALL };
/* The format of the times of a column; false: too few are. */
bool propose_times(struct guess *guess, uint32_t column, enum propose_need need,
                   enum times_format *format);
/* How many cells of a column are numbers with that decimal mark ('\0': plain ones); `given`: how
 * many say anything. */
uint32_t propose_numbers(const struct guess *guess, uint32_t column, char mark, uint32_t *given);
/* Has each row of the sample another text there? */
bool propose_all_differ(const struct guess *guess, uint32_t column);
/* propose_cells.c: where no date is known by its name, roles by what stands in the cells. */
void propose_from_cells(struct guess *guess);

#endif
