/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen_cron.c - times of a cron expression: minute, hour, day of the month, month, day of the week,
 * of the local clock. Where that skips an hour, what was due then does not come; an hour that it
 * shows twice has it twice.
 */
#include <orrery/traces/gen.h>

#include <stdlib.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/traces/zone.h>

#include "gen_int.h"

#define MINUTE_MS  ((orr_ms)60000)
#define HOUR_MS    ((orr_ms)3600000)
#define TIMES_MOST 50000000u

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

struct cron {
    uint64_t allowed[FIELDS]; /* bit: the value */
    bool restricted[FIELDS];
};

/* "*", "7", "1-5", each maybe with "/2", joined by commas. */
static bool parse_field(const char *text, size_t bytes, int64_t least, int64_t most, uint64_t *out)
{
    *out = 0;
    while (bytes > 0) {
        const char *comma = memchr(text, ',', bytes);
        const size_t item = comma == NULL ? bytes : (size_t)(comma - text);
        const char *slash = memchr(text, '/', item);
        const size_t range = slash == NULL ? item : (size_t)(slash - text);
        const char *dash = memchr(text, '-', range);
        int64_t from = least, until = most, step = 1;
        if (slash != NULL && (!orr_parse_i64(slash + 1, item - range - 1, &step) || step < 1)) {
            return false;
        }
        if (dash != NULL) {
            const size_t first = (size_t)(dash - text);
            if (!orr_parse_i64(text, first, &from) ||
                !orr_parse_i64(dash + 1, range - first - 1, &until)) {
                return false;
            }
        } else if (range != 1 || text[0] != '*') {
            if (!orr_parse_i64(text, range, &from)) {
                return false;
            }
            until = slash == NULL ? from : most;
        }
        if (from < least || until > most || from > until) {
            return false;
        }
        for (int64_t value = from; value <= until; value += step <= most ? step : most + 1) {
            *out |= (uint64_t)1 << value;
        }
        if (comma != NULL && item + 1 == bytes) {
            return false; /* a comma at the end */
        }
        text += comma == NULL ? item : item + 1;
        bytes -= comma == NULL ? item : item + 1;
    }
    return *out != 0;
}

static bool parse_cron(const char *text, struct cron *cron)
{
    static const int64_t least[FIELDS] = {0, 0, 1, 1, 0}, most[FIELDS] = {59, 23, 31, 12, 7};
    for (int f = 0; f < FIELDS; f++) {
        text += strspn(text, " ");
        const size_t bytes = strcspn(text, " ");
        if (!parse_field(text, bytes, least[f], most[f], &cron->allowed[f])) {
            return false;
        }
        cron->restricted[f] = text[0] != '*';
        text += bytes;
    }
    cron->allowed[WEEKDAY] |= cron->allowed[WEEKDAY] >> 7 & 1; /* 7 is Sunday too */
    return text[strspn(text, " ")] == '\0';
}

static bool allows(const struct cron *cron, int field, int64_t value)
{
    return (cron->allowed[field] >> value & 1) != 0;
}

/* Days since 1970 to month and day (Hinnant's civil_from_days). */
static void date_of(int64_t days, int64_t *month, int64_t *day)
{
    const int64_t z = days + 719468;
    const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    const int64_t of_era = z - era * 146097;
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    const int64_t shifted = (5 * of_year + 2) / 153;
    *day = of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted < 10 ? shifted + 3 : shifted - 9;
}

/* As cron takes it: where both kinds of days are restricted, either will do. */
static bool allows_day(const struct cron *cron, int64_t days)
{
    int64_t month, day;
    const int64_t weekday = ((days + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday; Sunday is 0 */
    date_of(days, &month, &day);
    const bool by_day = allows(cron, DAY, day), by_weekday = allows(cron, WEEKDAY, weekday);
    const bool either = cron->restricted[DAY] && cron->restricted[WEEKDAY];
    return allows(cron, MONTH, month) && (either ? by_day || by_weekday : by_day && by_weekday);
}

static int64_t floored(int64_t value, int64_t unit)
{
    return value / unit - (value % unit < 0);
}

enum orr_status orr_cron_times(const struct orr_arrivals *arrivals, orr_ms start_ms, orr_ms from_ms,
                               orr_ms until_ms, orr_ms **times, uint32_t *count,
                               struct orr_err *err)
{
    struct cron cron = {0};
    uint32_t capacity = 0;
    *times = NULL;
    *count = 0;
    if (!parse_cron(arrivals->cron, &cron)) {
        return orr_fail(
            err, ORR_SCENARIO,
            "arrivals.cron: \"%s\" is not minute, hour, day of the month, month and day "
            "of the week, such as \"30 2 * * 1-5\"",
            arrivals->cron);
    }
    const int64_t first = floored(start_ms + from_ms, HOUR_MS);
    const int64_t hours = floored(start_ms + until_ms - 1, HOUR_MS) - first + 1;
    if (until_ms <= from_ms) {
        return ORR_OK;
    }
    orr_ms *offsets = orr_alloc((size_t)hours, sizeof *offsets);
    enum orr_status status = orr_zone_offsets(arrivals->zone, first, (uint32_t)hours, offsets, err);
    for (int64_t m = 0; m < hours * 60 && status == ORR_OK; m++) {
        const orr_ms wall = first * HOUR_MS + m * MINUTE_MS, at = wall - start_ms;
        const int64_t local = floored(wall + offsets[m / 60], MINUTE_MS);
        const int64_t days = floored(local, 1440);
        const int64_t of_day = local - days * 1440;
        if (at < from_ms || at >= until_ms || !allows(&cron, MINUTE, of_day % 60) ||
            !allows(&cron, HOUR, of_day / 60) || !allows_day(&cron, days)) {
            continue;
        }
        if (*count == TIMES_MOST) {
            status = orr_fail(err, ORR_SCENARIO, "arrivals.cron: more than %u times", TIMES_MOST);
            break;
        }
        *times = ORR_ROOM_FOR_ONE(*times, *count, capacity);
        (*times)[(*count)++] = at;
    }
    orr_free(offsets);
    return status;
}
