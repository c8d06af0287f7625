/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "times.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/traces/zone.h>

const char *const times_names[TIMES_FORMATS] = {"date",     "day-first", "month-first", "epoch",
                                                "epoch-ms", "epoch-us",  "seconds"};

struct times {
    enum times_format format;
    struct orr_zone *zone; /* NULL: UTC */
};

enum orr_status times_make(struct orr_arena *arena, enum times_format format, const char *zone,
                           struct times **out, struct orr_err *err)
{
    *out = orr_arena_alloc(arena, 1, sizeof **out);
    **out = (struct times){.format = format};
    return orr_zone_make(arena, zone, &(*out)->zone, err);
}

enum times_format times_format(const struct times *times)
{
    return times->format;
}

/* --- dates ----------------------------------------------------------------------------------- */

/* Up to `most` digits; false where there is none. */
static bool take_digits(const char **at, const char *end, size_t most, int64_t *out)
{
    const char *start = *at;
    *out = 0;
    while (*at < end && (size_t)(*at - start) < most && **at >= '0' && **at <= '9') {
        *out = *out * 10 + (**at - '0');
        (*at)++;
    }
    return *at > start;
}

static bool take_one(const char **at, const char *end, const char *of)
{
    if (*at < end && **at != '\0' && strchr(of, **at) != NULL) {
        (*at)++;
        return true;
    }
    return false;
}

struct clock_time {
    int64_t hour, minute, second;
};

static bool take_clock(const char **at, const char *end, struct clock_time *clock,
                       const char **fraction)
{
    *clock = (struct clock_time){0};
    *fraction = NULL;
    if (!take_digits(at, end, 2, &clock->hour) || !take_one(at, end, ":") ||
        !take_digits(at, end, 2, &clock->minute)) {
        return false;
    }
    if (take_one(at, end, ":") && !take_digits(at, end, 2, &clock->second)) {
        return false;
    }
    if (*at < end && (**at == '.' || **at == ',')) {
        *fraction = *at;
        (*at)++;
        int64_t digits;
        return take_digits(at, end, 9, &digits);
    }
    return true;
}

static bool take_half(const char **at, const char *end, int64_t *hour)
{
    const char *from = *at;
    while (from < end && *from == ' ') {
        from++;
    }
    if (end - from < 2 || (from[1] != 'M' && from[1] != 'm') || strchr("APap", from[0]) == NULL) {
        return true;
    }
    const bool evening = from[0] == 'P' || from[0] == 'p';
    *at = from + 2;
    if (*hour < 1 || *hour > 12) {
        return false;
    }
    *hour = *hour % 12 + (evening ? 12 : 0);
    return true;
}

/* Writes the parts as the base's parser knows them, which checks them. */
static bool from_parts(struct times *times, int64_t year, int64_t month, int64_t day,
                       const struct clock_time *clock, const char *fraction, const char *rest,
                       const char *end, orr_ms *out)
{
    char text[96];
    int bytes = snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d", (int)year, (int)month,
                         (int)day, (int)clock->hour, (int)clock->minute, (int)clock->second);
    if (bytes != 19) {
        return false;
    }
    if (fraction != NULL) {
        text[bytes++] = '.';
        for (const char *c = fraction + 1; c < end && *c >= '0' && *c <= '9' && bytes < 40; c++) {
            text[bytes++] = *c;
        }
    }
    while (rest < end && *rest == ' ') {
        rest++;
    }
    const bool zone = rest < end; /* Z, UTC, +08:00, +0800, +08 */
    if (zone && end - rest == 3 && memcmp(rest, "UTC", 3) == 0) {
        text[bytes++] = 'Z';
    } else if (zone && end - rest == 3 && (rest[0] == '+' || rest[0] == '-')) { /* +08 */
        bytes += snprintf(text + bytes, sizeof text - (size_t)bytes, "%.3s:00", rest);
    } else if (zone) {
        if (end - rest > 8) {
            return false;
        }
        memcpy(text + bytes, rest, (size_t)(end - rest));
        bytes += (int)(end - rest);
    }
    if (!orr_parse_timestamp(text, (size_t)bytes, out)) {
        return false;
    }
    *out = zone ? *out : orr_zone_utc(times->zone, *out);
    return true;
}

static bool read_date(struct times *times, const char *at, const char *end, orr_ms *out)
{
    int64_t part[3];
    struct clock_time clock = {0};
    const char *fraction = NULL;
    const bool year_first = times->format == TIMES_DATE;
    for (int i = 0; i < 3; i++) {
        const char *start = at;
        if (!take_digits(&at, end, 4, &part[i]) || (i < 2 && !take_one(&at, end, "-/."))) {
            return false;
        }
        const int year_at = year_first ? 0 : 2;
        if (i == year_at && at - start - (i < 2) != 4) {
            return false;
        }
    }
    const bool day_first = times->format == TIMES_DAY_FIRST;
    const int64_t year = part[year_first ? 0 : 2];
    const int64_t month = part[year_first || day_first ? 1 : 0];
    const int64_t day = part[year_first ? 2 : day_first ? 0 : 1];
    if (at < end) {
        if (*at != ' ' && *at != 'T') {
            return false;
        }
        at++;
        while (at < end && *at == ' ') {
            at++;
        }
        if (!take_clock(&at, end, &clock, &fraction) || !take_half(&at, end, &clock.hour)) {
            return false;
        }
    }
    return from_parts(times, year, month, day, &clock, fraction, at, end, out);
}

/* --- clocks ---------------------------------------------------------------------------------- */

bool times_read(struct times *times, struct orr_cell text, orr_ms *out)
{
    int64_t us;
    switch (times->format) {
    case TIMES_DATE:
    case TIMES_DAY_FIRST:
    case TIMES_MONTH_FIRST: return read_date(times, text.at, text.at + text.bytes, out);
    case TIMES_EPOCH:
    case TIMES_SECONDS: return orr_parse_seconds(text.at, text.bytes, out);
    case TIMES_EPOCH_MS: return orr_parse_scaled(text.at, text.bytes, 1, out);
    case TIMES_EPOCH_US:
        if (!orr_parse_scaled(text.at, text.bytes, 1, &us)) {
            return false;
        }
        *out = us / 1000;
        return true;
    }
    return false;
}

/* Numbers of 1990 to 2100 are clocks; smaller ones count from the trace's own start. */
static enum times_format guess_clock(orr_ms as_seconds)
{
    const orr_ms s = as_seconds / 1000;
    if (s > 631152000 && s < 4102444800) {
        return TIMES_EPOCH;
    }
    if (s > 631152000000 && s < 4102444800000) {
        return TIMES_EPOCH_MS;
    }
    return s > 631152000000000 && s < 4102444800000000 ? TIMES_EPOCH_US : TIMES_SECONDS;
}

/* How texts fit a format of dates. */
struct fit {
    enum times_format format;
    uint32_t count;
    orr_ms span; /* from the first to the last of those that do */
};

static struct fit fit_dates(enum times_format format, const struct orr_cell *texts, uint32_t count)
{
    struct times times = {.format = format};
    struct fit fit = {.format = format};
    orr_ms at, first = 0, last = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (times_read(&times, texts[i], &at)) {
            first = fit.count == 0 || at < first ? at : first;
            last = fit.count == 0 || at > last ? at : last;
            fit.count++;
        }
    }
    fit.span = last - first;
    return fit;
}

/* The clock of most of the numbers. Numbers on more than one are seconds, unless nearly all are on
 * one: a 0 among times since 1970 is one that is not known. */
static uint32_t fit_clock(const struct orr_cell *texts, uint32_t count, enum times_format *out)
{
    uint32_t numbers = 0, of[TIMES_FORMATS] = {0};
    orr_ms at;
    for (uint32_t i = 0; i < count; i++) {
        if (orr_parse_seconds(texts[i].at, texts[i].bytes, &at)) {
            of[guess_clock(at)]++;
            numbers++;
        }
    }
    *out = TIMES_SECONDS;
    for (enum times_format f = TIMES_EPOCH; f < TIMES_SECONDS; f++) {
        *out = times_nearly_all(of[f], numbers) ? f : *out;
    }
    return numbers;
}

bool times_nearly_all(uint32_t fit, uint32_t count)
{
    return count > 0 && (count - fit) * 20 <= count;
}

uint32_t times_guess(const struct orr_cell *texts, uint32_t count, enum times_format *out,
                     bool *either)
{
    const struct fit year = fit_dates(TIMES_DATE, texts, count);
    const struct fit day = fit_dates(TIMES_DAY_FIRST, texts, count);
    const struct fit month = fit_dates(TIMES_MONTH_FIRST, texts, count);
    enum times_format clock;
    const uint32_t numbers = fit_clock(texts, count, &clock);
    const bool day_first =
        day.count > month.count || (day.count == month.count && day.span <= month.span);
    const struct fit *best = day_first ? &day : &month;
    best = year.count >= best->count ? &year : best;
    *either = best != &year && day.count == month.count;
    if (numbers > best->count) {
        *either = false;
        *out = clock;
        return numbers;
    }
    *out = best->format;
    return best->count;
}
