/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an expression is worth in a row. */
#include "expr_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#define TEXT_MAX 2000 /* bytes of a text that is made */

static bool is_empty(const struct expr_table *table, struct orr_cell cell)
{
    if (cell.bytes == 0) {
        return true;
    }
    for (uint32_t i = 0; i < table->empty_count; i++) {
        if (strlen(table->empty[i]) == cell.bytes &&
            memcmp(table->empty[i], cell.at, cell.bytes) == 0) {
            return true;
        }
    }
    return false;
}

static bool eval_column(const struct expr *expr, struct expr_row *row, struct expr_value *out)
{
    struct orr_cell cell = row->cells[expr->column];
    while (cell.bytes > 0 && (cell.at[0] == ' ' || cell.at[0] == '\t')) {
        cell = (struct orr_cell){cell.at + 1, cell.bytes - 1};
    }
    while (cell.bytes > 0 && (cell.at[cell.bytes - 1] == ' ' || cell.at[cell.bytes - 1] == '\t')) {
        cell.bytes--;
    }
    *out = (struct expr_value){.kind = EXPR_TEXT, .text = cell};
    if (is_empty(row->table, cell)) {
        out->kind = EXPR_NOTHING;
        return true;
    }
    struct times *times = row->table->times[expr->column];
    if (times == NULL) {
        return true;
    }
    orr_ms at;
    if (!times_read(times, cell, &at)) {
        char reason[120];
        (void)snprintf(reason, sizeof reason, "column %.60s is not a time", expr->text);
        return expr_fail(row, reason, "column %.60s: \"%s\" is not a time of format %s", expr->text,
                         expr_show(cell).text, times_names[times_format(times)]);
    }
    if (times_format(times) == TIMES_SECONDS) {
        return expr__number(row, at, 1000, out);
    }
    *out = (struct expr_value){.kind = EXPR_TIME, .at = at};
    return true;
}

/* A number of seconds behind a time, in ms. */
static bool to_ms(struct expr_row *row, const struct expr_value *value, orr_ms *out)
{
    const orr_wide twice = (orr_wide)value->num * 2000 + value->den, den = (orr_wide)value->den * 2;
    const orr_wide ms = twice / den - (twice % den < 0);
    if (ms > ((orr_wide)1 << 60) || ms < -((orr_wide)1 << 60)) {
        return expr_fail(row, "a time is out of range", "a time is out of range");
    }
    *out = (orr_ms)ms;
    return true;
}

static bool eval_sum(const struct expr *expr, struct expr_row *row, struct expr_value *a,
                     struct expr_value *b, struct expr_value *out)
{
    const bool minus = expr->op == OP_SUBTRACT;
    if (a->kind == EXPR_TIME && b->kind == EXPR_TIME && minus) {
        return expr__number(row, (orr_wide)a->at - b->at, 1000, out);
    }
    if (a->kind == EXPR_TIME && b->kind != EXPR_TIME) {
        orr_ms ms = 0;
        if (!expr__as_number(row, expr->args[1], b) || !to_ms(row, b, &ms)) {
            return false;
        }
        *out = (struct expr_value){.kind = EXPR_TIME, .at = minus ? a->at - ms : a->at + ms};
        return true;
    }
    if (!expr__as_number(row, expr->args[0], a) || !expr__as_number(row, expr->args[1], b)) {
        return false;
    }
    const orr_wide left = (orr_wide)a->num * b->den, right = (orr_wide)b->num * a->den;
    return expr__number(row, minus ? left - right : left + right, (orr_wide)a->den * b->den, out);
}

static bool eval_product(const struct expr *expr, struct expr_row *row, struct expr_value *a,
                         struct expr_value *b, struct expr_value *out)
{
    if (!expr__as_number(row, expr->args[0], a) || !expr__as_number(row, expr->args[1], b)) {
        return false;
    }
    if (expr->op == OP_TIMES) {
        return expr__number(row, (orr_wide)a->num * b->num, (orr_wide)a->den * b->den, out);
    }
    if (b->num == 0) {
        char reason[120];
        (void)snprintf(reason, sizeof reason, "%.60s is 0, and something is divided by it",
                       expr__name(expr->args[1]));
        return expr_fail(row, reason, "%s", reason);
    }
    return expr__number(row, (orr_wide)a->num * b->den, (orr_wide)a->den * b->num, out);
}

static int compare_cells(struct orr_cell a, struct orr_cell b)
{
    const size_t bytes = a.bytes < b.bytes ? a.bytes : b.bytes;
    const int order = bytes > 0 ? memcmp(a.at, b.at, bytes) : 0;
    return order != 0 ? order : a.bytes < b.bytes ? -1 : a.bytes > b.bytes;
}

static bool eval_comparison(const struct expr *expr, struct expr_row *row, struct expr_value *a,
                            struct expr_value *b, struct expr_value *out)
{
    int order;
    if (a->kind == EXPR_TIME && b->kind == EXPR_TIME) {
        order = a->at < b->at ? -1 : a->at > b->at;
    } else if (a->kind == EXPR_TEXT && b->kind == EXPR_TEXT) {
        order = compare_cells(a->text, b->text);
    } else if (!expr__as_number(row, expr->args[0], a) || !expr__as_number(row, expr->args[1], b)) {
        return false;
    } else {
        order = expr__compare(a, b);
    }
    bool holds = false;
    switch (expr->op) {
    case OP_EQUAL: holds = order == 0; break;
    case OP_UNEQUAL: holds = order != 0; break;
    case OP_LESS: holds = order < 0; break;
    case OP_AT_MOST: holds = order <= 0; break;
    case OP_GREATER: holds = order > 0; break;
    default: holds = order >= 0; break;
    }
    *out = (struct expr_value){.kind = EXPR_NUMBER, .num = holds, .den = 1};
    return true;
}

static bool eval_join(struct expr_row *row, const struct expr_value *a, const struct expr_value *b,
                      struct expr_value *out)
{
    struct orr_cell left, right;
    if (!expr__as_text(row, a, &left) || !expr__as_text(row, b, &right)) {
        return false;
    }
    if (left.bytes + right.bytes > TEXT_MAX) {
        return expr_fail(row, "a text is too long", "a text is longer than %d bytes", TEXT_MAX);
    }
    char *text = orr_arena_take(row->scratch, left.bytes + right.bytes + 1, 1);
    memcpy(text, left.at, left.bytes);
    memcpy(text + left.bytes, right.at, right.bytes);
    *out = (struct expr_value){.kind = EXPR_TEXT, .text = {text, left.bytes + right.bytes}};
    return true;
}

static bool holds(const struct expr_value *value)
{
    return value->kind == EXPR_TIME || (value->kind == EXPR_NUMBER && value->num != 0) ||
           (value->kind == EXPR_TEXT && value->text.bytes > 0);
}

static bool truth(struct expr_value *out, bool is)
{
    *out = (struct expr_value){.kind = EXPR_NUMBER, .num = is, .den = 1};
    return true;
}

/* Operators whose right side may not be looked at. */
static bool eval_lazy(const struct expr *expr, struct expr_row *row, struct expr_value *out)
{
    if (!expr_eval(expr->args[0], row, out)) {
        return false;
    }
    switch (expr->op) {
    case OP_ELSE: return out->kind != EXPR_NOTHING || expr_eval(expr->args[1], row, out);
    case OP_IF: return expr_eval(expr->args[holds(out) ? 1 : 2], row, out);
    case OP_NOT: return truth(out, !holds(out));
    default: break;
    }
    if (holds(out) == (expr->op == OP_OR)) {
        return truth(out, expr->op == OP_OR);
    }
    return expr_eval(expr->args[1], row, out) && truth(out, holds(out));
}

static bool eval_pair(const struct expr *expr, struct expr_row *row, struct expr_value *out)
{
    struct expr_value a, b = {0};
    struct orr_cell text = {0};
    if (!expr_eval(expr->args[0], row, &a) ||
        (expr->arg_count > 1 && !expr_eval(expr->args[1], row, &b))) {
        return false;
    }
    const bool compares = expr->op >= OP_EQUAL && expr->op <= OP_UNLIKE;
    if (a.kind == EXPR_NOTHING || (expr->arg_count > 1 && b.kind == EXPR_NOTHING)) {
        *out = (struct expr_value){0};
        return !compares || truth(out, expr->op == OP_UNEQUAL || expr->op == OP_UNLIKE);
    }
    switch (expr->op) {
    case OP_NEGATE:
        return expr__as_number(row, expr->args[0], &a) &&
               expr__number(row, -(orr_wide)a.num, a.den, out);
    case OP_ADD:
    case OP_SUBTRACT: return eval_sum(expr, row, &a, &b, out);
    case OP_TIMES:
    case OP_DIVIDE: return eval_product(expr, row, &a, &b, out);
    case OP_JOIN: return eval_join(row, &a, &b, out);
    case OP_LIKE:
    case OP_UNLIKE:
        return expr__as_text(row, &a, &text) &&
               truth(out, expr_like(text, expr->args[1]->text) == (expr->op == OP_LIKE));
    default: return eval_comparison(expr, row, &a, &b, out);
    }
}

bool expr_eval(const struct expr *expr, struct expr_row *row, struct expr_value *out)
{
    switch (expr->op) {
    case OP_NUMBER:
        *out = (struct expr_value){.kind = EXPR_NUMBER, .num = expr->num, .den = expr->den};
        return true;
    case OP_TEXT:
        *out = (struct expr_value){.kind = EXPR_TEXT, .text = {expr->text, strlen(expr->text)}};
        return true;
    case OP_COLUMN: return eval_column(expr, row, out);
    case OP_CALL: return expr->function->call(expr, row, out);
    case OP_AND:
    case OP_OR:
    case OP_NOT:
    case OP_ELSE:
    case OP_IF: return eval_lazy(expr, row, out);
    default: return eval_pair(expr, row, out);
    }
}

bool expr_holds(const struct expr *expr, struct expr_row *row, bool *out)
{
    struct expr_value value;
    if (!expr_eval(expr, row, &value)) {
        return false;
    }
    *out = holds(&value);
    return true;
}
