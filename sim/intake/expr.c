/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recursive descent over the text, and one over the tree. */
#include "expr.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#define DEPTH_MAX 100
#define NODES_MAX 1000
#define ARGS_MAX  8
#define TEXT_MAX  2000 /* bytes of a text that is made */

__extension__ typedef __int128 wide;

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

struct function;

struct expr {
    enum op op;
    int64_t num, den; /* of a number */
    const char *text; /* literal, or the column's name */
    uint32_t column;
    const struct function *function;
    const struct expr *args[ARGS_MAX];
    uint32_t arg_count;
};

/* --- helpers --------------------------------------------------------------------------------- */

struct expr_shown expr_show(struct orr_cell text)
{
    struct expr_shown shown;
    const size_t room = sizeof shown.text - sizeof "...";
    const bool cut = text.bytes > room;
    size_t n = cut ? room : text.bytes;
    while (cut && n > 0 && ((unsigned char)text.at[n] & 0xc0) == 0x80) {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        shown.text[i] = c < 0x20 || c == 0x7f ? '?' : text.at[i];
    }
    memcpy(shown.text + n, cut ? "..." : "", cut ? 4 : 1);
    return shown;
}

bool expr_fail(struct expr_row *row, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(row->why, sizeof row->why, format, args);
    va_end(args);
    (void)snprintf(row->reason, sizeof row->reason, "%s", reason);
    return false;
}

static bool fits(wide value)
{
    return value <= INT64_MAX && value >= -INT64_MAX;
}

static bool make_number(struct expr_row *row, wide num, wide den, struct expr_value *out)
{
    if (den < 0) {
        num = -num;
        den = -den;
    }
    wide a = num < 0 ? -num : num, b = den;
    while (b != 0) {
        const wide rest = a % b;
        a = b;
        b = rest;
    }
    if (a > 1) {
        num /= a;
        den /= a;
    }
    if (!fits(num) || !fits(den)) {
        return expr_fail(row, "a number is out of range", "a number is out of range");
    }
    *out = (struct expr_value){.kind = EXPR_NUMBER, .num = (int64_t)num, .den = (int64_t)den};
    return true;
}

bool expr_number(struct orr_cell text, int64_t *num, int64_t *den)
{
    const char *at = text.at, *end = text.at + text.bytes;
    wide value = 0, scale = 1;
    int digits = 0;
    int64_t power = 0;
    const bool negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    bool point = false;
    for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        digits++;
        value = value * 10 + (*at - '0');
        scale = point ? scale * 10 : scale;
        if (value > INT64_MAX || scale > (wide)1000000000000000000) {
            return false;
        }
    }
    if (digits == 0) {
        return false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) { /* as spreadsheets and pandas write them */
        at++;
        const char *from = at + (at < end && *at == '+');
        if (!orr_parse_i64(from, (size_t)(end - from), &power) || power > 18 || power < -18) {
            return false;
        }
        at = end;
    }
    for (; power > 0; power--) {
        value *= 10;
    }
    for (; power < 0; power++) {
        scale *= 10;
    }
    while (scale > 1 && value % 10 == 0) {
        value /= 10;
        scale /= 10;
    }
    if (at != end || !fits(value) || !fits(scale)) {
        return false;
    }
    wide a = value, b = scale;
    while (b != 0) {
        const wide rest = a % b;
        a = b;
        b = rest;
    }
    a = a == 0 ? 1 : a;
    *num = (int64_t)(negative ? -(value / a) : value / a);
    *den = (int64_t)(scale / a);
    return true;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* One alternative of a pattern; the last star is the only one to come back to. */
static bool is_like(struct orr_cell text, const char *pattern, const char *end)
{
    size_t at = 0, star_at = 0;
    const char *star = NULL;
    while (at < text.bytes) {
        if (pattern < end && *pattern == '*') {
            star = pattern++;
            star_at = at;
        } else if (pattern < end && (*pattern == '?' || lower(*pattern) == lower(text.at[at]))) {
            pattern++;
            at++;
        } else if (star != NULL) {
            pattern = star + 1;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*') {
        pattern++;
    }
    return pattern == end;
}

bool expr_like(struct orr_cell text, const char *pattern)
{
    for (;;) {
        const size_t bytes = strcspn(pattern, "|");
        if (is_like(text, pattern, pattern + bytes)) {
            return true;
        }
        if (pattern[bytes] == '\0') {
            return false;
        }
        pattern += bytes + 1;
    }
}

uint32_t expr_column(struct expr_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->used_count; i++) {
        if (strcmp(table->used[i], name) == 0) {
            return i;
        }
    }
    for (uint32_t i = 0; i < table->name_count; i++) {
        if (strcmp(table->names[i], name) == 0 && table->used_count < ORR_RECORDS_COLUMNS) {
            table->used[table->used_count] = table->names[i];
            return table->used_count++;
        }
    }
    return ORR_NONE;
}

/* --- functions ------------------------------------------------------------------------------- */

typedef bool function_call(const struct expr *call, struct expr_row *row, struct expr_value *out);

struct function {
    const char *name;
    uint32_t least, most;
    function_call *call;
};

static bool as_number(struct expr_row *row, const struct expr *from, struct expr_value *value);
static bool as_text(struct expr_row *row, const struct expr_value *value, struct orr_cell *out);

static int compare_numbers(const struct expr_value *a, const struct expr_value *b)
{
    const wide x = (wide)a->num * b->den, y = (wide)b->num * a->den;
    return x < y ? -1 : x > y;
}

/* The least or most of the arguments that have a value. */
static bool pick(const struct expr *call, struct expr_row *row, struct expr_value *out, int sign)
{
    *out = (struct expr_value){0};
    for (uint32_t i = 0; i < call->arg_count; i++) {
        struct expr_value value;
        if (!expr_eval(call->args[i], row, &value)) {
            return false;
        }
        if (value.kind == EXPR_TIME && (out->kind == EXPR_NOTHING || out->kind == EXPR_TIME)) {
            const bool better =
                out->kind == EXPR_NOTHING || (sign < 0 ? value.at < out->at : value.at > out->at);
            *out = better ? value : *out;
            continue;
        }
        if (!as_number(row, call->args[i], &value)) {
            return false;
        }
        if (value.kind == EXPR_NUMBER) {
            if (out->kind == EXPR_TIME) {
                return expr_fail(row, "times and numbers are compared",
                                 "times and numbers are compared");
            }
            *out = out->kind == EXPR_NOTHING || compare_numbers(&value, out) == sign ? value : *out;
        }
    }
    return true;
}

static bool call_min(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    return pick(call, row, out, -1);
}

static bool call_max(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    return pick(call, row, out, 1);
}

static bool rounded(const struct expr *call, struct expr_row *row, struct expr_value *out,
                    int twice_up)
{
    if (!expr_eval(call->args[0], row, out) || !as_number(row, call->args[0], out)) {
        return false;
    }
    if (out->kind == EXPR_NUMBER) { /* floor((2 num + up den) / (2 den)), up 0, 1; ceil as -floor */
        const bool ceil = twice_up == 2;
        const wide num =
            (ceil ? -(wide)out->num : (wide)out->num) * 2 + (twice_up == 1 ? (wide)out->den : 0);
        const wide den = (wide)out->den * 2;
        wide whole = num / den - (num % den < 0);
        whole = ceil ? -whole : whole;
        return make_number(row, whole, 1, out);
    }
    return true;
}

static bool call_floor(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    return rounded(call, row, out, 0);
}

static bool call_round(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    return rounded(call, row, out, 1);
}

static bool call_ceil(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    return rounded(call, row, out, 2);
}

static bool text_of(const struct expr *from, struct expr_row *row, struct orr_cell *out, bool *none)
{
    struct expr_value value;
    if (!expr_eval(from, row, &value)) {
        return false;
    }
    *none = value.kind == EXPR_NOTHING;
    return *none || as_text(row, &value, out);
}

/* part("a_b_c", "_", 2) is "b"; part("a_b_c", "_", -1) is "c"; none where there are fewer. */
static bool call_part(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    struct orr_cell text = {0}, separator = {0};
    struct expr_value index;
    bool none = false, no_separator = false;
    *out = (struct expr_value){0};
    if (!text_of(call->args[0], row, &text, &none) ||
        !text_of(call->args[1], row, &separator, &no_separator) ||
        !expr_eval(call->args[2], row, &index) || !as_number(row, call->args[2], &index)) {
        return false;
    }
    if (none || no_separator || separator.bytes == 0 || index.kind != EXPR_NUMBER ||
        index.den != 1) {
        return true;
    }
    int64_t parts = 1, want = index.num;
    for (int pass = want < 0 ? 0 : 1; pass < 2; pass++) {
        const char *at = text.at, *start = text.at, *end = text.at + text.bytes;
        for (parts = 1;; at++) {
            const bool cut = (size_t)(end - at) >= separator.bytes &&
                             memcmp(at, separator.at, separator.bytes) == 0;
            if (pass == 1 && (cut || at == end) && parts == want) {
                *out =
                    (struct expr_value){.kind = EXPR_TEXT, .text = {start, (size_t)(at - start)}};
                return true;
            }
            if (at == end) {
                break;
            }
            if (cut) {
                parts++;
                at += separator.bytes - 1;
                start = at + 1;
            }
        }
        want = want < 0 ? parts + 1 + want : want;
    }
    return true;
}

/* pair("cpu=4,gres/gpu=2", "gres/gpu") is "2": the value of a key. */
static bool call_pair(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    struct orr_cell text, key;
    bool none, no_key;
    *out = (struct expr_value){0};
    if (!text_of(call->args[0], row, &text, &none) || !text_of(call->args[1], row, &key, &no_key)) {
        return false;
    }
    if (none || no_key) {
        return true;
    }
    for (const char *at = text.at, *end = text.at + text.bytes; at < end;) {
        const char *stop = at;
        while (stop < end && *stop != ',' && *stop != ';') {
            stop++;
        }
        while (at < stop && *at == ' ') {
            at++;
        }
        if ((size_t)(stop - at) > key.bytes && memcmp(at, key.at, key.bytes) == 0 &&
            at[key.bytes] == '=') {
            at += key.bytes + 1;
            *out = (struct expr_value){.kind = EXPR_TEXT, .text = {at, (size_t)(stop - at)}};
            return true;
        }
        at = stop + 1;
    }
    return true;
}

/* "2-03:41:40", "41:40", "41:40.5" as seconds. */
static bool call_span(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    struct orr_cell text = {0};
    bool none = false;
    *out = (struct expr_value){0};
    if (!text_of(call->args[0], row, &text, &none) || none) {
        return none || row->why[0] == '\0';
    }
    const char *at = text.at, *end = text.at + text.bytes;
    const char *dash = memchr(at, '-', text.bytes);
    int64_t days = 0, num, den;
    wide seconds = 0;
    bool good = true;
    if (dash != NULL) {
        good = orr_parse_i64(at, (size_t)(dash - at), &days) && days >= 0 && days < 1000000;
        at = dash + 1;
    }
    int parts = 0;
    for (; good && parts < 3; parts++) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        const char *stop = colon != NULL ? colon : end;
        if (colon == NULL) {
            good = expr_number((struct orr_cell){at, (size_t)(stop - at)}, &num, &den) && num >= 0;
            seconds = seconds * 60 * den + num;
            parts++;
            break;
        }
        good = orr_parse_i64(at, (size_t)(stop - at), &num) && num >= 0 && num < 100000000;
        seconds = seconds * 60 + num;
        den = 1;
        at = stop + 1;
    }
    /* with days the parts are hours, minutes, seconds from the left */
    for (; good && dash != NULL && parts < 3; parts++) {
        seconds *= 60;
    }
    if (!good || parts > 3) {
        return expr_fail(row, "a time is not like 2-03:41:40",
                         "\"%s\" is not a time like 2-03:41:40", expr_show(text).text);
    }
    return make_number(row, seconds + (wide)days * 86400 * den, den, out);
}

static bool call_given(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    struct expr_value value;
    if (!expr_eval(call->args[0], row, &value)) {
        return false;
    }
    *out = (struct expr_value){.kind = EXPR_NUMBER, .num = value.kind != EXPR_NOTHING, .den = 1};
    return true;
}

static bool call_nothing(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    (void)call;
    (void)row;
    *out = (struct expr_value){0};
    return true;
}

static bool call_number(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    return expr_eval(call->args[0], row, out) && as_number(row, call->args[0], out);
}

static bool call_lower(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    struct orr_cell text = {0};
    bool none = false;
    *out = (struct expr_value){0};
    if (!text_of(call->args[0], row, &text, &none)) {
        return false;
    }
    if (!none) {
        char *copy = orr_arena_strndup(row->scratch, text.at, text.bytes);
        for (size_t i = 0; i < text.bytes; i++) {
            copy[i] = lower(copy[i]);
        }
        *out = (struct expr_value){.kind = EXPR_TEXT, .text = {copy, text.bytes}};
    }
    return true;
}

static const struct function functions[] = {
    {"min", 1, ARGS_MAX, call_min}, {"max", 1, ARGS_MAX, call_max}, {"floor", 1, 1, call_floor},
    {"ceil", 1, 1, call_ceil},      {"round", 1, 1, call_round},    {"part", 3, 3, call_part},
    {"pair", 2, 2, call_pair},      {"span", 1, 1, call_span},      {"given", 1, 1, call_given},
    {"number", 1, 1, call_number},  {"lower", 1, 1, call_lower},    {"nothing", 0, 0, call_nothing},
};
#define FUNCTIONS (sizeof functions / sizeof functions[0])

/* --- parsing --------------------------------------------------------------------------------- */

struct parser {
    struct expr_table *table;
    const char *text, *at;
    struct expr_error *error;
    uint32_t depth, nodes;
};

static struct expr *parse_choice(struct parser *parser);

static struct expr *fail_at(struct parser *parser, const char *at, const char *format, ...)
    ORR_PRINTF(3, 4);
static struct expr *fail_at(struct parser *parser, const char *at, const char *format, ...)
{
    if (parser->error->text[0] == '\0') {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(parser->error->text, sizeof parser->error->text, format, args);
        va_end(args);
        parser->error->column = (uint32_t)(at - parser->text);
    }
    return NULL;
}

static struct expr *new_node(struct parser *parser, enum op op)
{
    if (parser->nodes++ == NODES_MAX) {
        return fail_at(parser, parser->at, "the expression is too long");
    }
    struct expr *expr = orr_arena_alloc(parser->table->arena, 1, sizeof *expr);
    expr->op = op;
    return expr;
}

static void skip_blanks(struct parser *parser)
{
    while (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n') {
        parser->at++;
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Takes a sign or a word of the grammar, if it is next. */
static bool take(struct parser *parser, const char *what)
{
    const size_t bytes = strlen(what);
    skip_blanks(parser);
    if (strncmp(parser->at, what, bytes) != 0 || (is_word(what[0]) && is_word(parser->at[bytes]))) {
        return false;
    }
    parser->at += bytes;
    return true;
}

static struct expr *parse_column(struct parser *parser, const char *at, const char *name)
{
    struct expr_table *table = parser->table;
    const uint32_t column = expr_column(table, name);
    if (column == ORR_NONE) {
        if (table->used_count == ORR_RECORDS_COLUMNS) {
            return fail_at(parser, at, "more than %d columns are used", ORR_RECORDS_COLUMNS);
        }
        const char *near = orr_nearest(name, table->names, table->name_count);
        return fail_at(parser, at, "the file has no column \"%.60s\"%s%.60s%s", name,
                       near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                       near != NULL ? "\"?" : "");
    }
    struct expr *expr = new_node(parser, OP_COLUMN);
    if (expr != NULL) {
        expr->column = column;
        expr->text = name;
    }
    return expr;
}

static struct expr *parse_call(struct parser *parser, const char *at, const char *name)
{
    const char *names[FUNCTIONS];
    const struct function *function = NULL;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        names[i] = functions[i].name;
        function = strcmp(functions[i].name, name) == 0 ? &functions[i] : function;
    }
    if (function == NULL) {
        const char *near = orr_nearest(name, names, FUNCTIONS);
        return fail_at(parser, at, "there is no function %.40s%s%s%s", name,
                       near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                       near != NULL ? "?" : "");
    }
    struct expr *expr = new_node(parser, OP_CALL);
    if (expr == NULL) {
        return NULL;
    }
    expr->function = function;
    if (!take(parser, ")")) {
        do {
            if (expr->arg_count == ARGS_MAX) {
                return fail_at(parser, parser->at, "%s takes at most %d values", name, ARGS_MAX);
            }
            expr->args[expr->arg_count] = parse_choice(parser);
            if (expr->args[expr->arg_count++] == NULL) {
                return NULL;
            }
        } while (take(parser, ","));
        if (!take(parser, ")")) {
            return fail_at(parser, parser->at, "\")\" is missing behind the values of %s", name);
        }
    }
    if (expr->arg_count < function->least || expr->arg_count > function->most) {
        return fail_at(parser, at, "%s takes %u %s, not %u", name, (unsigned)function->least,
                       function->least == 1 ? "value" : "values", (unsigned)expr->arg_count);
    }
    return expr;
}

static struct expr *parse_literal(struct parser *parser)
{
    const char *start = parser->at;
    const char quote = *start;
    const char *end = strchr(start + 1, quote);
    if (end == NULL) {
        return fail_at(parser, start, "a text that starts here has no end");
    }
    parser->at = end + 1;
    char *text = orr_arena_strndup(parser->table->arena, start + 1, (size_t)(end - start) - 1);
    if (quote == '`') {
        return parse_column(parser, start, text);
    }
    struct expr *expr = new_node(parser, OP_TEXT);
    if (expr != NULL) {
        expr->text = text;
    }
    return expr;
}

static struct expr *parse_number(struct parser *parser)
{
    const char *start = parser->at;
    while ((*parser->at >= '0' && *parser->at <= '9') || *parser->at == '.') {
        parser->at++;
    }
    struct expr *expr = new_node(parser, OP_NUMBER);
    if (expr != NULL && (is_word(*parser->at) ||
                         !expr_number((struct orr_cell){start, (size_t)(parser->at - start)},
                                      &expr->num, &expr->den))) {
        return fail_at(parser, start,
                       "this is not a number; a column whose name starts with a "
                       "digit is written in `backquotes`");
    }
    return expr;
}

static struct expr *parse_unit(struct parser *parser)
{
    skip_blanks(parser);
    const char *start = parser->at;
    if (*start == '"' || *start == '\'' || *start == '`') {
        return parse_literal(parser);
    }
    if ((*start >= '0' && *start <= '9') || *start == '.') {
        return parse_number(parser);
    }
    if (take(parser, "(")) {
        struct expr *inner = parse_choice(parser);
        return inner != NULL && !take(parser, ")")
                   ? fail_at(parser, parser->at, "\")\" is missing; it was opened at column %u",
                             (unsigned)(start - parser->text) + 1)
                   : inner;
    }
    while (is_word(*parser->at)) {
        parser->at++;
    }
    if (parser->at == start) {
        return *start == '\0'
                   ? fail_at(parser, start, "a value is missing at the end")
                   : fail_at(parser, start, "a value belongs here, not \"%.10s\"", start);
    }
    const char *name = orr_arena_strndup(parser->table->arena, start, (size_t)(parser->at - start));
    return take(parser, "(") ? parse_call(parser, start, name) : parse_column(parser, start, name);
}

static struct expr *parse_sign(struct parser *parser)
{
    const bool negate = take(parser, "-");
    if (!negate && !take(parser, "not")) {
        return parse_unit(parser);
    }
    if (++parser->depth > DEPTH_MAX) {
        return fail_at(parser, parser->at, "nested too deeply");
    }
    struct expr *expr = new_node(parser, negate ? OP_NEGATE : OP_NOT);
    if (expr != NULL) {
        expr->args[0] = parse_sign(parser);
        expr->arg_count = 1;
    }
    parser->depth--;
    return expr != NULL && expr->args[0] != NULL ? expr : NULL;
}

struct infix {
    const char *sign;
    enum op op;
    int level; /* the higher, the tighter */
};

static const struct infix infixes[] = {
    {"or", OP_OR, 0},      {"and", OP_AND, 1},    {"??", OP_ELSE, 2},     {"==", OP_EQUAL, 3},
    {"!=", OP_UNEQUAL, 3}, {"<=", OP_AT_MOST, 3}, {">=", OP_AT_LEAST, 3}, {"<", OP_LESS, 3},
    {">", OP_GREATER, 3},  {"!~", OP_UNLIKE, 3},  {"~", OP_LIKE, 3},      {"&", OP_JOIN, 4},
    {"+", OP_ADD, 5},      {"-", OP_SUBTRACT, 5}, {"*", OP_TIMES, 6},     {"/", OP_DIVIDE, 6},
};
#define LEVELS 7

static struct expr *parse_level(struct parser *parser, int level)
{
    if (level == LEVELS) {
        return parse_sign(parser);
    }
    struct expr *left = parse_level(parser, level + 1);
    while (left != NULL) {
        const struct infix *infix = NULL;
        skip_blanks(parser);
        const char *at = parser->at;
        for (size_t i = 0; i < sizeof infixes / sizeof infixes[0] && infix == NULL; i++) {
            infix = infixes[i].level == level && take(parser, infixes[i].sign) ? &infixes[i] : NULL;
        }
        if (infix == NULL) {
            return left;
        }
        struct expr *expr = new_node(parser, infix->op);
        if (expr == NULL) {
            return NULL;
        }
        expr->args[0] = left;
        expr->args[1] = parse_level(parser, level + 1);
        expr->arg_count = 2;
        if (expr->args[1] == NULL) {
            return NULL;
        }
        if ((infix->op == OP_LIKE || infix->op == OP_UNLIKE) && expr->args[1]->op != OP_TEXT) {
            return fail_at(parser, at, "behind %s stands a pattern in quotes", infix->sign);
        }
        left = expr;
    }
    return NULL;
}

static struct expr *parse_choice(struct parser *parser)
{
    if (++parser->depth > DEPTH_MAX) {
        return fail_at(parser, parser->at, "nested too deeply");
    }
    struct expr *expr = parse_level(parser, 0);
    skip_blanks(parser);
    if (expr != NULL && parser->at[0] == '?' && parser->at[1] != '?') {
        struct expr *choice = new_node(parser, OP_IF);
        parser->at++;
        if (choice == NULL) {
            return NULL;
        }
        choice->args[0] = expr;
        choice->args[1] = parse_choice(parser);
        choice->arg_count = 3;
        if (choice->args[1] == NULL) {
            return NULL;
        }
        if (!take(parser, ":")) {
            return fail_at(parser, parser->at, "\":\" and what is taken otherwise are missing");
        }
        choice->args[2] = parse_choice(parser);
        expr = choice->args[2] != NULL ? choice : NULL;
    }
    parser->depth--;
    return expr;
}

struct expr *expr_parse(struct expr_table *table, const char *text, struct expr_error *error)
{
    struct parser parser = {.table = table, .text = text, .at = text, .error = error};
    error->text[0] = '\0';
    struct expr *expr = parse_choice(&parser);
    skip_blanks(&parser);
    if (expr != NULL && *parser.at != '\0') {
        return fail_at(&parser, parser.at, "\"%.10s\" does not belong here", parser.at);
    }
    return expr;
}

/* --- values ---------------------------------------------------------------------------------- */

static const char *name_of(const struct expr *expr)
{
    return expr->op == OP_COLUMN ? expr->text : "a value";
}

/* Texts become numbers where numbers are needed; no value stays none. */
static bool as_number(struct expr_row *row, const struct expr *from, struct expr_value *value)
{
    if (value->kind == EXPR_TEXT) {
        struct expr_value number = {.kind = EXPR_NUMBER};
        if (!expr_number(value->text, &number.num, &number.den)) {
            char reason[120];
            (void)snprintf(reason, sizeof reason, "column %.60s is not a number", name_of(from));
            return expr_fail(row, reason, "column %.60s: \"%s\" is not a number", name_of(from),
                             expr_show(value->text).text);
        }
        *value = number;
    }
    return value->kind != EXPR_TIME ||
           expr_fail(row, "a time stands where a number belongs",
                     "column %.60s: is a time, and a number belongs here", name_of(from));
}

static bool as_text(struct expr_row *row, const struct expr_value *value, struct orr_cell *out)
{
    char text[64];
    int bytes;
    if (value->kind == EXPR_TEXT) {
        *out = value->text;
        return true;
    }
    if (value->kind == EXPR_TIME) {
        bytes = orr_format_timestamp(text, value->at);
    } else if (value->den == 1) {
        bytes = snprintf(text, sizeof text, "%lld", (long long)value->num);
    } else {
        bytes =
            snprintf(text, sizeof text, "%lld/%lld", (long long)value->num, (long long)value->den);
    }
    *out = (struct orr_cell){orr_arena_strndup(row->scratch, text, (size_t)bytes), (size_t)bytes};
    return true;
}

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
        return make_number(row, at, 1000, out);
    }
    *out = (struct expr_value){.kind = EXPR_TIME, .at = at};
    return true;
}

/* A number of seconds behind a time, in ms. */
static bool to_ms(struct expr_row *row, const struct expr_value *value, orr_ms *out)
{
    const wide twice = (wide)value->num * 2000 + value->den, den = (wide)value->den * 2;
    const wide ms = twice / den - (twice % den < 0);
    if (ms > ((wide)1 << 60) || ms < -((wide)1 << 60)) {
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
        return make_number(row, (wide)a->at - b->at, 1000, out);
    }
    if (a->kind == EXPR_TIME && b->kind != EXPR_TIME) {
        orr_ms ms = 0;
        if (!as_number(row, expr->args[1], b) || !to_ms(row, b, &ms)) {
            return false;
        }
        *out = (struct expr_value){.kind = EXPR_TIME, .at = minus ? a->at - ms : a->at + ms};
        return true;
    }
    if (!as_number(row, expr->args[0], a) || !as_number(row, expr->args[1], b)) {
        return false;
    }
    const wide left = (wide)a->num * b->den, right = (wide)b->num * a->den;
    return make_number(row, minus ? left - right : left + right, (wide)a->den * b->den, out);
}

static bool eval_product(const struct expr *expr, struct expr_row *row, struct expr_value *a,
                         struct expr_value *b, struct expr_value *out)
{
    if (!as_number(row, expr->args[0], a) || !as_number(row, expr->args[1], b)) {
        return false;
    }
    if (expr->op == OP_TIMES) {
        return make_number(row, (wide)a->num * b->num, (wide)a->den * b->den, out);
    }
    if (b->num == 0) {
        char reason[120];
        (void)snprintf(reason, sizeof reason, "%.60s is 0, and something is divided by it",
                       name_of(expr->args[1]));
        return expr_fail(row, reason, "%s", reason);
    }
    return make_number(row, (wide)a->num * b->den, (wide)a->den * b->num, out);
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
    } else if (!as_number(row, expr->args[0], a) || !as_number(row, expr->args[1], b)) {
        return false;
    } else {
        order = compare_numbers(a, b);
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
    if (!as_text(row, a, &left) || !as_text(row, b, &right)) {
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
        return as_number(row, expr->args[0], &a) && make_number(row, -(wide)a.num, a.den, out);
    case OP_ADD:
    case OP_SUBTRACT: return eval_sum(expr, row, &a, &b, out);
    case OP_TIMES:
    case OP_DIVIDE: return eval_product(expr, row, &a, &b, out);
    case OP_JOIN: return eval_join(row, &a, &b, out);
    case OP_LIKE:
    case OP_UNLIKE:
        return as_text(row, &a, &text) &&
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
