/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/text.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool orr_parse_i64(const char *text, size_t bytes, int64_t *out)
{
    size_t i = 0;
    bool negative = false;
    if (bytes > 0 && (text[0] == '-' || text[0] == '+')) {
        negative = text[0] == '-';
        i = 1;
    }
    if (i == bytes) {
        return false;
    }
    int64_t value = 0;
    for (; i < bytes; i++) {
        if (!is_digit(text[i])) {
            return false;
        }
        /* built up as a negative number, whose range is one larger */
        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_sub_overflow(value, (int64_t)(text[i] - '0'), &value)) {
            return false;
        }
    }
    if (!negative && value == INT64_MIN) {
        return false;
    }
    *out = negative ? value : -value;
    return true;
}

bool orr_parse_scaled(const char *text, size_t bytes, int64_t scale, int64_t *out)
{
    size_t i = 0;
    bool negative = false;
    if (bytes > 0 && (text[0] == '-' || text[0] == '+')) {
        negative = text[0] == '-';
        i = 1;
    }
    int64_t whole = 0;
    size_t digits = 0;
    for (; i < bytes && is_digit(text[i]); i++, digits++) {
        if (__builtin_mul_overflow(whole, (int64_t)10, &whole) ||
            __builtin_add_overflow(whole, (int64_t)(text[i] - '0'), &whole)) {
            return false;
        }
    }
    int64_t part = 0; /* value of the fraction in units of 1 / unit */
    int64_t unit = 1;
    bool exact = true; /* no digits but zeros past the 18th, which are not read */
    if (i < bytes && text[i] == '.') {
        for (i++; i < bytes && is_digit(text[i]); i++, digits++) {
            if (unit < 1000000000000000000) {
                part = part * 10 + (text[i] - '0');
                unit *= 10;
            } else {
                exact = exact && text[i] == '0';
            }
        }
    }
    if (i != bytes || digits == 0) {
        return false;
    }
    int64_t value;
    orr_wide fraction = (orr_wide)part * scale; /* up to 1e18 times a tebibyte */
    int64_t rounded = (int64_t)(fraction / unit);
    orr_wide rest = 2 * (fraction % unit);
    /* half up means towards plus infinity: -0.5 ms becomes 0 */
    if (negative ? rest > unit || (rest == unit && !exact) : rest >= unit) {
        rounded++;
    }
    if (__builtin_mul_overflow(whole, scale, &value) ||
        __builtin_add_overflow(value, rounded, &value)) {
        return false;
    }
    *out = negative ? -value : value;
    return true;
}

bool orr_parse_seconds(const char *text, size_t bytes, orr_ms *out)
{
    return orr_parse_scaled(text, bytes, 1000, out);
}

bool orr_parse_double(const char *text, size_t bytes, double *out)
{
    char copy[64];
    if (bytes == 0 || bytes >= sizeof copy) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) { /* keeps strtod from seeing hex, inf, nan or blanks */
        if (!is_digit(text[i]) && strchr("+-.eE", text[i]) == NULL) {
            return false;
        }
        if (text[i] == '\0') {
            return false;
        }
    }
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    char *end;
    errno = 0;
    double value = strtod(copy, &end);
    if (end != copy + bytes || !isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

bool orr_parse_share(const char *text, size_t bytes, double *out)
{
    const bool percent = bytes > 0 && text[bytes - 1] == '%';
    double value;
    if (!orr_parse_double(text, bytes - percent, &value)) {
        return false;
    }
    *out = percent ? value / 100 : value;
    return *out >= 0.0 && *out < 1.0;
}

struct suffix {
    const char *name;
    int64_t scale;
};

/* Length of the leading decimal number. */
static size_t number_bytes(const char *text, size_t bytes)
{
    size_t n = 0;
    while (n < bytes && (is_digit(text[n]) || text[n] == '.' || (n == 0 && text[n] == '-'))) {
        n++;
    }
    return n;
}

static const struct suffix *find_suffix(const struct suffix *table, size_t count, const char *text,
                                        size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(table[i].name) == bytes && memcmp(table[i].name, text, bytes) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

static bool parse_suffixed(const char *text, size_t bytes, const struct suffix *table, size_t count,
                           int64_t *out)
{
    size_t n = number_bytes(text, bytes);
    const struct suffix *suffix = find_suffix(table, count, text + n, bytes - n);
    return suffix != NULL && orr_parse_scaled(text, n, suffix->scale, out);
}

bool orr_parse_duration(const char *text, size_t bytes, orr_ms *out)
{
    static const struct suffix units[] = {{"ms", 1},       {"s", 1000},    {"m", 60000},
                                          {"min", 60000},  {"h", 3600000}, {"d", 86400000},
                                          {"w", 604800000}};
    orr_ms total = 0;
    size_t i = 0;
    if (bytes == 1 && text[0] == '0') {
        *out = 0;
        return true;
    }
    while (i < bytes) {
        size_t n = number_bytes(text + i, bytes - i);
        size_t u = n;
        while (i + u < bytes && !is_digit(text[i + u]) && text[i + u] != '.') {
            u++;
        }
        const struct suffix *unit =
            find_suffix(units, sizeof units / sizeof units[0], text + i + n, u - n);
        orr_ms part;
        if (unit == NULL || !orr_parse_scaled(text + i, n, unit->scale, &part) ||
            __builtin_add_overflow(total, part, &total)) {
            return false;
        }
        i += u;
        if (text[0] == '-' && i < bytes) { /* is the second part of "-2h30m" before or after? */
            return false;
        }
    }
    if (bytes == 0) {
        return false;
    }
    *out = total;
    return true;
}

bool orr_parse_memory(const char *text, size_t bytes, int64_t *out)
{
    static const struct suffix units[] = {{"B", 1},
                                          {"Ki", ORR_KIB},
                                          {"Mi", ORR_MIB},
                                          {"Gi", ORR_GIB},
                                          {"Ti", ORR_GIB * 1024},
                                          {"KiB", ORR_KIB},
                                          {"MiB", ORR_MIB},
                                          {"GiB", ORR_GIB},
                                          {"TiB", ORR_GIB * 1024},
                                          {"k", 1000},
                                          {"M", 1000000},
                                          {"G", 1000000000},
                                          {"T", 1000000000000},
                                          {"KB", 1000},
                                          {"MB", 1000000},
                                          {"GB", 1000000000},
                                          {"TB", 1000000000000}};
    return parse_suffixed(text, bytes, units, sizeof units / sizeof units[0], out);
}

bool orr_parse_bandwidth(const char *text, size_t bytes, int64_t *out)
{
    static const struct suffix units[] = {
        {"B/s", 1},           {"KB/s", 1000},          {"MB/s", 1000000},
        {"GB/s", 1000000000}, {"TB/s", 1000000000000}, {"Kb/s", 125},
        {"Mb/s", 125000},     {"Gb/s", 125000000},     {"Tb/s", 125000000000}};
    return parse_suffixed(text, bytes, units, sizeof units / sizeof units[0], out);
}

bool orr_parse_power(const char *text, size_t bytes, int64_t *out)
{
    static const struct suffix units[] = {{"W", 1}, {"kW", 1000}, {"MW", 1000000}};
    return parse_suffixed(text, bytes, units, sizeof units / sizeof units[0], out);
}

bool orr_parse_cpu(const char *text, size_t bytes, int64_t *out)
{
    if (bytes > 1 && text[bytes - 1] == 'm') {
        return orr_parse_i64(text, bytes - 1, out);
    }
    return orr_parse_scaled(text, bytes, 1000, out);
}

/* Days since 1970-01-01 of a proleptic Gregorian date. */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static bool fixed_number(const char *text, size_t digits, int64_t *out)
{
    int64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (!is_digit(text[i])) {
            return false;
        }
        value = value * 10 + (text[i] - '0');
    }
    *out = value;
    return true;
}

/* Takes a zone off the end of a time: "Z", "+02:00", "+0200", "-07". Without one it is UTC. Bytes
 * that are left end the seconds; *offset_ms is what the zone is ahead of UTC. False: the zone is
 * none. */
static bool take_zone(const char *text, size_t *bytes, orr_ms *offset_ms)
{
    const size_t clock_bytes = sizeof "YYYY-MM-DD HH:MM:SS" - 1;
    size_t at = *bytes;
    *offset_ms = 0;
    if (at > clock_bytes && text[at - 1] == 'Z') {
        *bytes = at - 1;
        return true;
    }
    while (at > clock_bytes && text[at - 1] != '+' && text[at - 1] != '-') {
        at--;
    }
    if (at <= clock_bytes) {
        return true;
    }
    const char *zone = text + at;
    const size_t zone_bytes = *bytes - at;
    const size_t minutes_at = zone_bytes == 5 && zone[2] == ':' ? 3 : 2;
    int64_t hours, minutes = 0;
    if ((zone_bytes != 2 && zone_bytes != minutes_at + 2) || !fixed_number(zone, 2, &hours) ||
        (zone_bytes != 2 && !fixed_number(zone + minutes_at, 2, &minutes)) || hours > 23 ||
        minutes > 59) {
        return false;
    }
    const orr_ms ahead_ms = (hours * 60 + minutes) * 60000;
    *offset_ms = text[at - 1] == '-' ? -ahead_ms : ahead_ms;
    *bytes = at - 1;
    while (*bytes > clock_bytes && text[*bytes - 1] == ' ') {
        *bytes -= 1; /* "2026-06-01 12:00:00 +0200", as Prometheus' and git's tools write it */
    }
    return true;
}

bool orr_parse_timestamp(const char *text, size_t bytes, orr_ms *out)
{
    static const int days_in_month[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    orr_ms offset_ms;
    if (!take_zone(text, &bytes, &offset_ms)) {
        return false;
    }
    int64_t year, month, day, hour, minute, second;
    if (bytes < 19 || !fixed_number(text, 4, &year) || text[4] != '-' ||
        !fixed_number(text + 5, 2, &month) || text[7] != '-' || !fixed_number(text + 8, 2, &day) ||
        (text[10] != ' ' && text[10] != 'T') || !fixed_number(text + 11, 2, &hour) ||
        text[13] != ':' || !fixed_number(text + 14, 2, &minute) || text[16] != ':' ||
        !fixed_number(text + 17, 2, &second)) {
        return false;
    }
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month < 1 || month > 12 || day < 1 ||
        day > days_in_month[month - 1] + (month == 2 && leap) || hour > 23 || minute > 59 ||
        second > 59) {
        return false;
    }
    orr_ms fraction = 0;
    if (bytes > 19 &&
        (text[19] != '.' || !orr_parse_scaled(text + 19, bytes - 19, 1000, &fraction))) {
        return false;
    }
    int64_t seconds =
        days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    *out = seconds * 1000 + fraction - offset_ms;
    return true;
}

int orr_format_seconds(char *out, orr_ms ms)
{
    const char *sign = ms < 0 ? "-" : "";
    uint64_t magnitude = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    int length = snprintf(out, 32, "%s%llu", sign, (unsigned long long)(magnitude / 1000));
    unsigned part = (unsigned)(magnitude % 1000);
    if (part != 0) {
        length += snprintf(out + length, 32 - (size_t)length, ".%03u", part);
        while (out[length - 1] == '0') {
            out[--length] = '\0';
        }
    }
    return length;
}

int orr_format_span(char *out, orr_ms ms)
{
    const char *sign = ms < 0 ? "-" : "";
    uint64_t s = (ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms) / 1000;
    unsigned long long days = s / 86400;
    unsigned h = (unsigned)(s / 3600 % 24), m = (unsigned)(s / 60 % 60), rest = (unsigned)(s % 60);
    if (days > 0) {
        return snprintf(out, 32, "%s%llud %02u:%02u:%02u", sign, days, h, m, rest);
    }
    return snprintf(out, 32, "%s%02u:%02u:%02u", sign, h, m, rest);
}

#define WORD_MAX 48

static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[WORD_MAX + 1];
    for (size_t j = 0; j <= nb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
        }
    }
    return row[nb];
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* One alternative of a pattern; the last star is the only one to come back to. */
static bool is_like(const char *text, const char *text_end, const char *pattern, const char *end,
                    bool any_case)
{
    const char *star = NULL, *star_at = text;
    while (text < text_end) {
        if (pattern < end && *pattern == '*') {
            star = pattern++;
            star_at = text;
        } else if (pattern < end && (*pattern == '?' || *pattern == *text ||
                                     (any_case && lower(*pattern) == lower(*text)))) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++star_at;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*') {
        pattern++;
    }
    return pattern == end;
}

bool orr_text_like(const char *text, size_t bytes, const char *patterns, bool any_case)
{
    for (;;) {
        const char *end = patterns + strcspn(patterns, "|");
        if (is_like(text, text + bytes, patterns, end, any_case)) {
            return true;
        }
        if (*end == '\0') {
            return false;
        }
        patterns = end + 1;
    }
}

const char *orr_nearest(const char *word, const char *const *candidates, size_t count)
{
    /* further away than this is another word */
    return orr_nearest_within(word, candidates, count, strlen(word) / 3 + 1);
}

const char *orr_nearest_within(const char *word, const char *const *candidates, size_t count,
                               size_t most)
{
    size_t bytes = strlen(word);
    size_t best = most;
    const char *found = NULL;
    for (size_t i = 0; i < count && bytes <= WORD_MAX; i++) {
        size_t n = strlen(candidates[i]);
        if (n > WORD_MAX) {
            continue;
        }
        size_t distance = edit_distance(word, bytes, candidates[i], n);
        if (distance <= best && (found == NULL || distance < best)) {
            best = distance;
            found = candidates[i];
        }
    }
    return found;
}

size_t orr_utf8_bytes(const char *given, size_t bytes)
{
    const unsigned char *text = (const unsigned char *)given;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (text[0] < 0x80) {
        return 1;
    }
    size_t n = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4 || n > bytes) {
        return 0;
    }
    uint32_t code = text[0] & (0xffU >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = (code << 6) | (text[i] & 0x3fU);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < smallest[n] || surrogate || code > 0x10ffff ? 0 : n;
}

const char *orr_format_rough(char *out, double seconds)
{
    const double size = seconds < 0 ? -seconds : seconds;
    if (!(size < 1e300)) { /* neither NAN nor infinite */
        (void)snprintf(out, 24, "-");
    } else if (size < 9.95 && size > 0.0005) { /* a whole second would be too rough */
        (void)snprintf(out, 24, "%.2g s", seconds);
    } else if (size < 99.5) {
        (void)snprintf(out, 24, "%.0f s", seconds);
    } else if (size < 5400.0) {
        (void)snprintf(out, 24, "%.1f min", seconds / 60.0);
    } else if (size < 172800.0) {
        (void)snprintf(out, 24, "%.1f h", seconds / 3600.0);
    } else {
        (void)snprintf(out, 24, "%.1f d", seconds / 86400.0);
    }
    return out;
}

int orr_format_timestamp(char *out, orr_ms ms)
{
    int64_t second = ms / 1000 - (ms % 1000 < 0);
    int64_t part = ms - second * 1000;
    int64_t day = second / 86400 - (second % 86400 < 0);
    int64_t in_day = second - day * 86400;
    /* days since 0000-03-01 in eras of 400 years, so that leap days end a year */
    int64_t shifted = day + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t doe = shifted - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t m = (5 * doy + 2) / 153;
    int64_t month = m < 10 ? m + 3 : m - 9;
    int64_t year = yoe + era * 400 + (month <= 2);
    int length = snprintf(out, 32, "%04d-%02d-%02dT%02d:%02d:%02d", (int)(year % 100000),
                          (int)month, (int)(doy - (153 * m + 2) / 5 + 1), (int)(in_day / 3600),
                          (int)(in_day / 60 % 60), (int)(in_day % 60));
    length += part != 0 ? snprintf(out + length, 32 - (size_t)length, ".%03dZ", (int)part)
                        : snprintf(out + length, 32 - (size_t)length, "Z");
    return length;
}

bool orr_ends_with(const char *text, const char *end)
{
    const size_t bytes = strlen(text), tail = strlen(end);
    return bytes >= tail && strcmp(text + bytes - tail, end) == 0;
}
