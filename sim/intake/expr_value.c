/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values: exact fractions, texts, patterns. */
#include "expr_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

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

static bool fits(orr_wide value)
{
    return value <= INT64_MAX && value >= -INT64_MAX;
}

/* Not negative; 0 of two that are 0. */
static orr_wide common_divisor(orr_wide a, orr_wide b)
{
    a = a < 0 ? -a : a;
    while (b != 0) {
        const orr_wide rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool expr__number(struct expr_row *row, orr_wide num, orr_wide den, struct expr_value *out)
{
    if (den < 0) {
        num = -num;
        den = -den;
    }
    const orr_wide common = common_divisor(num, den);
    if (common > 1) {
        num /= common;
        den /= common;
    }
    if (!fits(num) || !fits(den)) {
        return expr_fail(row, "a number is out of range", "a number is out of range");
    }
    *out = (struct expr_value){.kind = EXPR_NUMBER, .num = (int64_t)num, .den = (int64_t)den};
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool expr_written_number(struct orr_cell text, char mark, int64_t *num, int64_t *den)
{
    char plain[64];
    size_t used = 0, digits = 0;
    char parts = '\0'; /* what stands between thousands */
    bool whole = true;
    for (size_t i = 0; i < text.bytes; i++) {
        const char c = text.at[i];
        if (used + 1 >= sizeof plain) {
            return false;
        }
        if (whole && c == mark) { /* of parted thousands the last has three digits */
            if (parts != '\0' && digits != 3) {
                return false;
            }
            whole = false;
            plain[used++] = '.';
        } else if (whole && (c == ' ' || c == '\'' || c == (mark == ',' ? '.' : ','))) {
            const bool first = parts == '\0';
            if ((first ? digits == 0 || digits > 3 : digits != 3 || c != parts)) {
                return false;
            }
            parts = c;
            digits = 0;
        } else if (is_digit(c) || (i == 0 && (c == '-' || c == '+'))) {
            digits += is_digit(c);
            plain[used++] = c;
        } else {
            return false;
        }
    }
    return !(whole && parts != '\0' && digits != 3) &&
           expr_number((struct orr_cell){plain, used}, num, den);
}

bool expr_number(struct orr_cell text, int64_t *num, int64_t *den)
{
    const char *at = text.at, *end = text.at + text.bytes;
    orr_wide value = 0, scale = 1;
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
        if (value > INT64_MAX || scale > (orr_wide)1000000000000000000) {
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
    const orr_wide common = common_divisor(value, scale); /* scale is never 0 */
    *num = (int64_t)(negative ? -(value / common) : value / common);
    *den = (int64_t)(scale / common);
    return true;
}

bool expr_like(struct orr_cell text, const char *patterns)
{
    return orr_text_like(text.at, text.bytes, patterns, true);
}

int expr__compare(const struct expr_value *a, const struct expr_value *b)
{
    const orr_wide x = (orr_wide)a->num * b->den, y = (orr_wide)b->num * a->den;
    return x < y ? -1 : x > y;
}

const char *expr__name(const struct expr *expr)
{
    return expr->op == OP_COLUMN ? expr->text : "a value";
}

bool expr__as_number(struct expr_row *row, const struct expr *from, struct expr_value *value)
{
    if (value->kind == EXPR_TEXT) {
        struct expr_value number = {.kind = EXPR_NUMBER};
        if (!expr_number(value->text, &number.num, &number.den)) {
            char reason[120];
            (void)snprintf(reason, sizeof reason, "column %.60s is not a number", expr__name(from));
            return expr_fail(row, reason, "column %.60s: \"%s\" is not a number", expr__name(from),
                             expr_show(value->text).text);
        }
        *value = number;
    }
    return value->kind != EXPR_TIME ||
           expr_fail(row, "a time stands where a number belongs",
                     "column %.60s: is a time, and a number belongs here", expr__name(from));
}

bool expr__as_text(struct expr_row *row, const struct expr_value *value, struct orr_cell *out)
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
