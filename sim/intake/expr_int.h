/* SPDX-License-Identifier: GPL-3.0-or-later */
/* expr_int.h - what parsing and evaluating an expression share: its tree, its functions, its
 * values. */
#ifndef ORR_SIM_INTAKE_EXPR_INT_H
#define ORR_SIM_INTAKE_EXPR_INT_H

#include "expr.h"

#define ARGS_MAX 8

enum op {
    OP_NUMBER,
    OP_TEXT,
    OP_COLUMN,
    OP_NEGATE,
    OP_NOT,
    OP_ADD,
    OP_SUBTRACT,
    OP_TIMES,
    OP_DIVIDE,
    OP_JOIN,
    OP_EQUAL,
    OP_UNEQUAL,
    OP_LESS,
    OP_AT_MOST,
    OP_GREATER,
    OP_AT_LEAST,
    OP_LIKE,
    OP_UNLIKE,
    OP_AND,
    OP_OR,
    OP_ELSE,
    OP_IF,
    OP_CALL
};

struct expr_function;

struct expr {
    enum op op;
    int64_t num, den; /* of a number */
    const char *text; /* literal, or the column's name */
    uint32_t column;
    const struct expr_function *function;
    const struct expr *args[ARGS_MAX];
    uint32_t arg_count;
};

typedef bool expr_call(const struct expr *call, struct expr_row *row, struct expr_value *out);

struct expr_function {
    const char *name;
    uint32_t least, most; /* values it takes */
    expr_call *call;
};

enum { EXPR_FUNCTIONS = 13 };
extern const struct expr_function expr__functions[EXPR_FUNCTIONS];

/* num / den, without a common factor; false where it leaves 64 bits. */
bool expr__number(struct expr_row *row, orr_wide num, orr_wide den, struct expr_value *out);
/* -1, 0, 1; both are numbers. */
int expr__compare(const struct expr_value *a, const struct expr_value *b);
/* Texts become numbers where numbers are needed; no value stays none. */
bool expr__as_number(struct expr_row *row, const struct expr *from, struct expr_value *value);
/* A value as it is written; it lives in the row's scratch arena, or is borrowed from the row. */
bool expr__as_text(struct expr_row *row, const struct expr_value *value, struct orr_cell *out);
/* How messages name where a value comes from. */
const char *expr__name(const struct expr *expr);

#endif
