/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clock.c - times of a run's clock, written and read. */
#include <orrery/base/text.h>

#include <string.h>

const char *orr_format_clock(char *out, orr_ms at, orr_ms origin)
{
    if (origin == ORR_MS_NONE) {
        (void)orr_format_span(out, at);
    } else {
        const orr_ms whole = at + origin;
        const orr_ms part = (whole % 1000 + 1000) % 1000; /* whole seconds, as a span has */
        (void)orr_format_timestamp(out, whole - part);
    }
    return out;
}

struct scan {
    const char *at, *end;
};

static bool take(struct scan *scan, const char *word)
{
    const size_t bytes = strlen(word);
    if ((size_t)(scan->end - scan->at) < bytes || memcmp(scan->at, word, bytes) != 0) {
        return false;
    }
    scan->at += bytes;
    return true;
}

/* Digits, at least one and at most nine. */
static bool take_number(struct scan *scan, int64_t *out)
{
    int64_t value = 0;
    int digits = 0;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9' && digits < 9; digits++) {
        value = value * 10 + (*scan->at++ - '0');
    }
    *out = value;
    return digits > 0;
}

/* "04:05:06" or "04:05", to the end. */
static bool take_time_of_day(struct scan *scan, int64_t hours_most, orr_ms *out)
{
    int64_t hours, minutes;
    orr_ms seconds = 0;
    if (!take_number(scan, &hours) || hours > hours_most || !take(scan, ":") ||
        !take_number(scan, &minutes) || minutes > 59) {
        return false;
    }
    if (scan->at < scan->end &&
        (!take(scan, ":") ||
         !orr_parse_seconds(scan->at, (size_t)(scan->end - scan->at), &seconds) || seconds < 0 ||
         seconds >= 60000)) {
        return false;
    }
    *out = (hours * 60 + minutes) * 60000 + seconds;
    return true;
}

/* "3d 04:05:06", "d3 04:05", "day 3", "04:05:06", each behind a minus. */
static bool parse_day(const char *text, size_t bytes, orr_ms *out)
{
    struct scan scan = {text, text + bytes};
    const bool minus = take(&scan, "-");
    struct scan days = scan;
    int64_t day = 0;
    orr_ms rest = 0;
    const bool word = take(&days, "day ") || take(&days, "d");
    if (take_number(&days, &day) && (word || take(&days, "d"))) {
        scan = days;
        if (scan.at < scan.end && !take(&scan, " ") && word) {
            return false;
        }
        if (scan.at < scan.end && !take_time_of_day(&scan, 23, &rest)) {
            return false;
        }
    } else {
        day = 0;
        if (word || !take_time_of_day(&scan, 999999999, &rest)) {
            return false;
        }
    }
    const orr_ms at = day * 86400000 + rest;
    *out = minus ? -at : at;
    return true;
}

/* A date with as much of the time of day as is given. */
static bool parse_date(const char *text, size_t bytes, orr_ms *out)
{
    char whole[40];
    if (orr_parse_timestamp(text, bytes, out)) {
        return true;
    }
    if (bytes != strlen("2026-06-01") && bytes != strlen("2026-06-01 12:00")) {
        return false;
    }
    const char *rest = bytes == strlen("2026-06-01") ? "T00:00:00" : ":00";
    memcpy(whole, text, bytes);
    memcpy(whole + bytes, rest, strlen(rest));
    return orr_parse_timestamp(whole, bytes + strlen(rest), out);
}

bool orr_parse_clock(const char *text, size_t bytes, orr_ms origin, orr_ms *out)
{
    orr_ms date;
    if (parse_date(text, bytes, &date)) {
        *out = date - (origin != ORR_MS_NONE ? origin : 0);
        return origin != ORR_MS_NONE;
    }
    const size_t unit = bytes > 2 && memcmp(text + bytes - 2, " s", 2) == 0 ? 2 : 0;
    return orr_parse_duration(text, bytes, out) || orr_parse_seconds(text, bytes - unit, out) ||
           parse_day(text, bytes, out);
}
