/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "reader_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

struct orr_shown orr_text_show(struct orr_text text)
{
    struct orr_shown shown;
    size_t room = sizeof shown.text - sizeof "...";
    bool cut = text.bytes > room;
    size_t n = cut ? room : text.bytes;
    while (cut && n > 0 && ((unsigned char)text.at[n] & 0xc0) == 0x80) {
        n--; /* not in the middle of a UTF-8 character */
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.at[i];
        shown.text[i] = c < 0x20 || c == 0x7f ? '?' : text.at[i];
    }
    memcpy(shown.text + n, "...", sizeof "...");
    if (!cut) {
        shown.text[n] = '\0';
    }
    return shown;
}

bool orr_text_is(struct orr_text text, const char *word)
{
    return strlen(word) == text.bytes && memcmp(word, text.at, text.bytes) == 0;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "123" or "123.0" of at most 12 digits, which is nearly every field of every trace: any scale up
 * to a million then fits. */
static inline bool parse_plain(struct orr_text text, int64_t *out)
{
    int64_t value = 0;
    size_t i = 0;
    while (i < text.bytes && is_digit(text.at[i])) {
        value = value * 10 + (text.at[i] - '0');
        i++;
        if (i > 12) {
            return false;
        }
    }
    if (i == 0 ||
        (i < text.bytes && (i + 2 != text.bytes || text.at[i] != '.' || text.at[i + 1] != '0'))) {
        return false;
    }
    *out = value;
    return true;
}

/* Length without a fraction of zeros: what pandas makes of whole numbers in a column with gaps. */
static size_t whole_bytes(struct orr_text text)
{
    size_t n = text.bytes;
    while (n > 0 && text.at[n - 1] == '0') {
        n--;
    }
    return n > 1 && n < text.bytes && text.at[n - 1] == '.' ? n - 1 : text.bytes;
}

static bool has_number_shape(struct orr_text text)
{
    size_t i = text.bytes > 0 && (text.at[0] == '-' || text.at[0] == '+') ? 1 : 0;
    size_t digits = 0, points = 0;
    for (; i < text.bytes; i++) {
        digits += is_digit(text.at[i]);
        points += text.at[i] == '.';
        if (!is_digit(text.at[i]) && text.at[i] != '.') {
            return false;
        }
    }
    return digits > 0 && points <= 1;
}

static bool is_seconds(const struct orr_number *number)
{
    const size_t bytes = strlen(number->column);
    return bytes > 2 && strcmp(number->column + bytes - 2, "_s") == 0;
}

/* Thirteen digits are a time since 1970 in milliseconds, as other tools write it. */
static bool looks_like_epoch_ms(const struct orr_number *number, struct orr_text text)
{
    return is_seconds(number) && text.bytes == 13 && memchr(text.at, '.', text.bytes) == NULL;
}

/* What is wrong with a text that is not written as a number. */
static const char *no_number(const struct orr_number *number, struct orr_text text)
{
    if (memchr(text.at, ':', text.bytes) != NULL) {
        size_t i = 0;
        while (i < text.bytes && (is_digit(text.at[i]) || memchr(":.-+", text.at[i], 4) != NULL)) {
            i++;
        }
        return i == text.bytes ? "is a time of day, not a number of seconds"
                               : "is neither a number nor a date like 2026-06-01T12:00:00Z "
                                 "(`orrery import --map auto` reads dates of other forms)";
    }
    return memchr(text.at, ',', text.bytes) != NULL
               ? "is not a number (`orrery import --map auto` reads commas)"
           : is_seconds(number) ? "is not a number of seconds"
                                : "is not a number";
}

struct orr_column_shown orr_column_show(const struct orr_reader *reader, const char *column)
{
    const char *alias = reader->alias;
    struct orr_column_shown shown;
    (void)snprintf(shown.text, sizeof shown.text, "%s%s%s%s", alias == NULL ? "" : alias,
                   alias == NULL ? "" : " (", column, alias == NULL ? "" : ")");
    return shown;
}

static bool reject_number(struct orr_reader *reader, uint32_t line, const struct orr_number *number,
                          struct orr_text text)
{
    const char *why;
    if (text.bytes == 0) {
        why = "is not given";
    } else if (!has_number_shape(text)) {
        why = no_number(number, text);
    } else if (text.at[0] == '-' && number->min >= 0) {
        why = "is negative";
    } else if (number->scale == 1 && memchr(text.at, '.', text.bytes) != NULL &&
               whole_bytes(text) == text.bytes) {
        why = "is not a whole number";
    } else if (looks_like_epoch_ms(number, text)) {
        why =
            "is out of range for seconds: are they milliseconds? `orrery import --map auto` reads "
            "these";
    } else if (strcmp(number->column, "gpus") == 0 && text.bytes == 1 && text.at[0] == '0') {
        why = "is out of range: a job without GPUs says gpus_per_pod 0 in place of gpus";
    } else {
        why = "is out of range";
    }
    orr_workload_reject(reader->workload, reader->file, line, "column %s: \"%s\" %s",
                        orr_column_show(reader, number->column).text, orr_text_show(text).text,
                        why);
    return false;
}

bool orr_field_number(struct orr_reader *reader, uint32_t line, const struct orr_number *number,
                      struct orr_text text, int64_t *out)
{
    int64_t value;
    if (parse_plain(text, &value)) {
        value *= number->scale;
    } else if (number->scale == 1 ? !orr_parse_i64(text.at, whole_bytes(text), &value)
                                  : !orr_parse_scaled(text.at, text.bytes, number->scale, &value)) {
        return reject_number(reader, line, number, text);
    }
    if (value < number->min || value > number->max) {
        return reject_number(reader, line, number, text);
    }
    *out = value;
    return true;
}

bool orr_text_fits(struct orr_text text, char why[ORR_NATIVE_WHY])
{
    if (text.bytes <= ORR_NAME_MAX / 5) { /* even where no byte is UTF-8 */
        return true;
    }
    const size_t written = orr_name_written(text.at, text.bytes);
    if (written <= ORR_NAME_MAX) {
        return true;
    }
    (void)snprintf(
        why, ORR_NATIVE_WHY, "\"%s\" is %zu bytes long%s, more than %d", orr_text_show(text).text,
        written, written != text.bytes ? " once each byte that is no UTF-8 is written as five" : "",
        ORR_NAME_MAX);
    return false;
}

bool orr_field_text(struct orr_reader *reader, uint32_t line, const char *column,
                    struct orr_text text)
{
    char why[ORR_NATIVE_WHY];
    if (orr_text_fits(text, why)) {
        return true;
    }
    orr_workload_reject(reader->workload, reader->file, line, "column %s: %s",
                        orr_column_show(reader, column).text, why);
    return false;
}

uint32_t orr_name_index(struct orr_idmap *map, struct orr_last_name *last, struct orr_text name)
{
    if (name.bytes == 0) {
        return ORR_NONE;
    }
    if (name.bytes == last->bytes && memcmp(name.at, last->text, name.bytes) == 0) {
        return last->index;
    }
    uint32_t index = orr_idmap_put(map, name.at, name.bytes, NULL);
    if (name.bytes <= sizeof last->text) {
        memcpy(last->text, name.at, name.bytes);
        last->bytes = name.bytes;
        last->index = index;
    }
    return index;
}

bool orr_date_has_zone(struct orr_text date)
{
    size_t i = sizeof "YYYY-MM-DD" - 1;
    while (i < date.bytes && date.at[i] != '+' && date.at[i] != '-' && date.at[i] != 'Z') {
        i++;
    }
    return i < date.bytes;
}
