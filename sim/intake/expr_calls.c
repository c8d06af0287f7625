/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that an expression may call. */
#include "expr_int.h"

#include <string.h>

#include <orrery/base/text.h>

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
        if (!expr__as_number(row, call->args[i], &value)) {
            return false;
        }
        if (value.kind == EXPR_NUMBER) {
            if (out->kind == EXPR_TIME) {
                return expr_fail(row, "times and numbers are compared",
                                 "times and numbers are compared");
            }
            *out = out->kind == EXPR_NOTHING || expr__compare(&value, out) == sign ? value : *out;
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
    if (!expr_eval(call->args[0], row, out) || !expr__as_number(row, call->args[0], out)) {
        return false;
    }
    if (out->kind == EXPR_NUMBER) { /* floor((2 num + up den) / (2 den)), up 0, 1; ceil as -floor */
        const bool ceil = twice_up == 2;
        const orr_wide num = (ceil ? -(orr_wide)out->num : (orr_wide)out->num) * 2 +
                             (twice_up == 1 ? (orr_wide)out->den : 0);
        const orr_wide den = (orr_wide)out->den * 2;
        orr_wide whole = num / den - (num % den < 0);
        whole = ceil ? -whole : whole;
        return expr__number(row, whole, 1, out);
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
    return *none || expr__as_text(row, &value, out);
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
        !expr_eval(call->args[2], row, &index) || !expr__as_number(row, call->args[2], &index)) {
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

/* "1d 2h 3m", "45 min", "1h2m3.5s": with units, as people and Go write them. */
static bool has_units(struct orr_cell text, orr_ms *out)
{
    char bare[64];
    size_t count = 0;
    for (size_t i = 0; i < text.bytes && count < sizeof bare; i++) {
        if (text.at[i] != ' ') {
            bare[count++] = text.at[i];
        }
    }
    return count < sizeof bare && count > 1 && orr_parse_duration(bare, count, out) && *out >= 0;
}

/* "2-03:41:40", "41:40", "41:40.5", or with units, as seconds. */
static bool call_span(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    struct orr_cell text = {0};
    bool none = false;
    *out = (struct expr_value){0};
    if (!text_of(call->args[0], row, &text, &none) || none) {
        return none || row->why[0] == '\0';
    }
    orr_ms ms;
    if (has_units(text, &ms)) {
        return expr__number(row, ms, 1000, out);
    }
    const char *at = text.at, *end = text.at + text.bytes;
    const char *dash = memchr(at, '-', text.bytes);
    int64_t days = 0, num, den;
    orr_wide seconds = 0;
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
                         "\"%s\" is not a time like 2-03:41:40 or 1d 2h 3m", expr_show(text).text);
    }
    return expr__number(row, seconds + (orr_wide)days * 86400 * den, den, out);
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

static bool call_row(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    (void)call;
    *out = (struct expr_value){.kind = EXPR_NUMBER, .num = (int64_t)row->number, .den = 1};
    return true;
}

/* With a decimal mark of numbers as people write them: number("1.234,5", ","). */
static bool call_number(const struct expr *call, struct expr_row *row, struct expr_value *out)
{
    if (call->arg_count == 2) {
        struct orr_cell text = {0}, mark = {0};
        bool none = false, no_mark = false;
        struct expr_value number = {.kind = EXPR_NUMBER};
        *out = (struct expr_value){0};
        if (!text_of(call->args[0], row, &text, &none) ||
            !text_of(call->args[1], row, &mark, &no_mark) || none) {
            return none || row->why[0] == '\0';
        }
        if (no_mark || mark.bytes != 1 || (mark.at[0] != '.' && mark.at[0] != ',')) {
            return expr_fail(row, "the decimal mark of number is \".\" or \",\"",
                             "the decimal mark of number is \".\" or \",\"");
        }
        if (!expr_written_number(text, mark.at[0], &number.num, &number.den)) {
            return expr_fail(row, "a number is not written as the map says",
                             "column %.60s: \"%s\" is not a number with the decimal mark %c",
                             expr__name(call->args[0]), expr_show(text).text, mark.at[0]);
        }
        *out = number;
        return true;
    }
    return expr_eval(call->args[0], row, out) && expr__as_number(row, call->args[0], out);
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
            copy[i] = copy[i] >= 'A' && copy[i] <= 'Z' ? (char)(copy[i] - 'A' + 'a') : copy[i];
        }
        *out = (struct expr_value){.kind = EXPR_TEXT, .text = {copy, text.bytes}};
    }
    return true;
}

const struct expr_function expr__functions[EXPR_FUNCTIONS] = {
    {"min", 1, ARGS_MAX, call_min}, {"max", 1, ARGS_MAX, call_max}, {"floor", 1, 1, call_floor},
    {"ceil", 1, 1, call_ceil},      {"round", 1, 1, call_round},    {"part", 3, 3, call_part},
    {"pair", 2, 2, call_pair},      {"span", 1, 1, call_span},      {"given", 1, 1, call_given},
    {"number", 1, 2, call_number},  {"lower", 1, 1, call_lower},    {"nothing", 0, 0, call_nothing},
    {"row", 0, 0, call_row},
};
