/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recursive descent over the text of an expression. */
#include "expr_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#define DEPTH_MAX 100
#define NODES_MAX 1000

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
        return fail_at(parser, at, "%.200s has no column \"%.60s\"%s%.60s%s", table->file, name,
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
    const char *names[EXPR_FUNCTIONS];
    const struct expr_function *function = NULL;
    for (size_t i = 0; i < EXPR_FUNCTIONS; i++) {
        names[i] = expr__functions[i].name;
        function = strcmp(expr__functions[i].name, name) == 0 ? &expr__functions[i] : function;
    }
    if (function == NULL) {
        const char *near = orr_nearest(name, names, EXPR_FUNCTIONS);
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
                       ORR_ONE(function->least, "value", "values"), (unsigned)expr->arg_count);
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
