/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a usage window starts: sliding, tumbling, or at the times of a cron line. */
#include <orrery/core/usage.h>

#include <string.h>

#include <orrery/base/text.h>

#define MINUTE_MS  ((int64_t)60000)
#define DAY_MIN    ((int64_t)24 * 60)
#define LOOK_BACK  ((int64_t)5 * 366) /* days */
#define FIELD_TEXT 64

struct field {
    const char *what;
    unsigned min, max;
    const char *names; /* three letters each, the first is `min`; NULL: numbers only */
};

static const struct field fields[] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of month", 1, 31, NULL},
    {"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
    {"weekday", 0, 6, "SUNMONTUEWEDTHUFRISAT"},
};
enum { FIELDS = sizeof fields / sizeof fields[0], WEEKDAY = 4 };

static char upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

static bool parse_value(const struct field *field, const char *text, size_t bytes, unsigned *out)
{
    if (field->names != NULL && bytes == 3) {
        for (unsigned i = 0; i <= field->max - field->min; i++) {
            const char *name = field->names + (size_t)3 * i;
            if (upper(text[0]) == name[0] && upper(text[1]) == name[1] &&
                upper(text[2]) == name[2]) {
                *out = field->min + i;
                return true;
            }
        }
    }
    int64_t value = 0;
    if (bytes == 0 || text[0] < '0' || text[0] > '9' || !orr_parse_i64(text, bytes, &value)) {
        return false;
    }
    if (value < (int64_t)field->min || value > (int64_t)field->max) {
        return false;
    }
    *out = (unsigned)value;
    return true;
}

static const char *find(const char *text, size_t bytes, char c)
{
    const char *at = memchr(text, c, bytes);
    return at != NULL ? at : text + bytes;
}

/* One of "a", "a-b", "*", "?", each with an optional "/step"; "a/step" runs to the maximum. */
static bool parse_item(const struct field *field, const char *text, size_t bytes, uint64_t *bits,
                       bool *any)
{
    const char *slash = find(text, bytes, '/');
    const size_t range = (size_t)(slash - text);
    const char *dash = find(text, range, '-');
    const size_t left = (size_t)(dash - text);
    unsigned low = field->min, high = field->max;
    int64_t step = 1;
    if (slash < text + bytes && (!orr_parse_i64(slash + 1, bytes - range - 1, &step) || step < 1)) {
        return false;
    }
    if (range == 1 && (text[0] == '*' || text[0] == '?')) {
        *any = *any || step == 1;
    } else {
        if (!parse_value(field, text, left, &low)) {
            return false;
        }
        high = slash < text + bytes ? field->max : low;
        if (left < range && !parse_value(field, dash + 1, range - left - 1, &high)) {
            return false;
        }
    }
    for (int64_t v = low; v <= (int64_t)high; v += step) {
        *bits |= (uint64_t)1 << v;
        if (step > (int64_t)field->max) {
            break;
        }
    }
    return low <= high;
}

static bool parse_field(const struct field *field, const char *text, size_t bytes, uint64_t *bits,
                        bool *any)
{
    *bits = 0;
    *any = false;
    for (;;) {
        const char *comma = find(text, bytes, ',');
        const size_t item = (size_t)(comma - text);
        if (!parse_item(field, text, item, bits, any)) {
            return false;
        }
        if (item == bytes) {
            return true;
        }
        text += item + 1;
        bytes -= item + 1;
    }
}

static const char *expanded(const char *text)
{
    static const char *const names[][2] = {{"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},
                                           {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
                                           {"@monthly", "0 0 1 * *"},  {"@yearly", "0 0 1 1 *"},
                                           {"@annually", "0 0 1 1 *"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i][0]) == 0) {
            return names[i][1];
        }
    }
    return text;
}

enum orr_status orr_cron_parse(struct orr_cron *cron, const char *text, struct orr_err *err)
{
    uint64_t bits[FIELDS];
    bool any[FIELDS];
    const char *at = expanded(text);
    for (size_t f = 0; f < FIELDS; f++) {
        at += strspn(at, " \t");
        const size_t bytes = strcspn(at, " \t");
        if (bytes == 0) {
            return orr_fail(err, ORR_SCENARIO, "cron line \"%s\": the %s is missing", text,
                            fields[f].what);
        }
        if (bytes >= FIELD_TEXT || !parse_field(&fields[f], at, bytes, &bits[f], &any[f])) {
            return orr_fail(err, ORR_SCENARIO, "cron line \"%s\": \"%.*s\" is not a %s (%u to %u)",
                            text, (int)(bytes < FIELD_TEXT ? bytes : FIELD_TEXT), at,
                            fields[f].what, fields[f].min, fields[f].max);
        }
        at += bytes;
    }
    if (at[strspn(at, " \t")] != '\0') {
        return orr_fail(err, ORR_SCENARIO, "cron line \"%s\" has more than five fields", text);
    }
    *cron = (struct orr_cron){.minutes = bits[0],
                              .hours = bits[1],
                              .days = bits[2],
                              .months = bits[3],
                              .weekdays = bits[WEEKDAY],
                              .any_day = any[2],
                              .any_weekday = any[WEEKDAY]};
    return ORR_OK;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Month (1..12) and day of month of a day number, 0 being 1970-01-01 (proleptic Gregorian). Counts
 * in eras of 400 years that start on a first of March, so that a leap day ends its year. */
static void civil(int64_t day, unsigned *month, unsigned *month_day)
{
    const int64_t from_march = day + 719468;
    const unsigned in_era = (unsigned)(from_march - floor_div(from_march, 146097) * 146097);
    const unsigned year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    const unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
    const unsigned march_month = (5 * in_year + 2) / 153;
    *month_day = in_year - (153 * march_month + 2) / 5 + 1;
    *month = march_month < 10 ? march_month + 3 : march_month - 9;
}

static bool has(uint64_t bits, unsigned value)
{
    return (bits >> value & 1) != 0;
}

/* If both kinds of day are restricted, either one is enough, as cron has always had it. */
static bool day_fits(const struct orr_cron *cron, int64_t day)
{
    unsigned month, month_day;
    civil(day, &month, &month_day);
    const unsigned weekday = (unsigned)(day + 4 - floor_div(day + 4, 7) * 7);
    if (!has(cron->months, month)) {
        return false;
    }
    const bool by_day = has(cron->days, month_day), by_weekday = has(cron->weekdays, weekday);
    return cron->any_day || cron->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

orr_ms orr_cron_before(const struct orr_cron *cron, orr_ms utc_ms)
{
    const int64_t latest = floor_div(utc_ms - 1, MINUTE_MS);
    const int64_t today = floor_div(latest, DAY_MIN);
    for (int64_t day = today; day > today - LOOK_BACK; day--) {
        if (!day_fits(cron, day)) {
            continue;
        }
        for (int64_t m = day == today ? latest - today * DAY_MIN : DAY_MIN - 1; m >= 0; m--) {
            if (has(cron->hours, (unsigned)(m / 60)) && has(cron->minutes, (unsigned)(m % 60))) {
                return (day * DAY_MIN + m) * MINUTE_MS;
            }
        }
    }
    return ORR_MS_NONE;
}

/* Shipped versions of KAI never get data for tumbling and cron windows; this is what they are
 * meant to do. A boundary equal to T still belongs to the window before. */
orr_ms orr_usage_window_start(const struct orr_usage_params *params, orr_ms at)
{
    if (params->window == ORR_USAGE_SLIDING) {
        return at - params->window_ms;
    }
    if (params->window == ORR_USAGE_CRON) {
        const orr_ms start = orr_cron_before(&params->cron, at + params->epoch_ms);
        return start == ORR_MS_NONE ? start : start - params->epoch_ms;
    }
    if (at <= params->start_ms) {
        return at;
    }
    return params->start_ms +
           floor_div(at - 1 - params->start_ms, params->window_ms) * params->window_ms;
}
