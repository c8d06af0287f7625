/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw_course.c - how long generated jobs run, when they and requests come. */
#include "draw.h"

#include <string.h>

static void put_lognormal(struct draw *d, uint32_t median_s)
{
    static const char *const second[] = {"sigma", "mean", "p90", "p95", "p99", NULL};
    const char *key = any(d, second);
    open_inner(d, "lognormal");
    put(d, "median", "%us", median_s);
    if (strcmp(key, "sigma") == 0) {
        put(d, key, "0.%u", between(d, 1, 9));
    } else {
        put(d, key, "%us", 2 * median_s + 1);
    }
    close_map(d);
}

static void put_empirical(struct draw *d)
{
    FILE *out = open_file(d, "runs.csv");
    (void)fputs("value_s,weight\n", out);
    for (uint32_t i = 0; i < 4; i++) {
        const double value_s = length_s(d, d->span_s / 3.0);
        (void)fprintf(out, "%.3f,%u\n", value_s, between(d, 1, 5));
    }
    close_file(out);
    put(d, "empirical", "runs.csv");
}

void put_duration(struct draw *d)
{
    const uint32_t half = d->span_s / 2 + 1;
    open_inner(d, "duration");
    switch (below(d, 7)) {
    case 0: put(d, "fixed", "%s", span(length_s(d, half))); break;
    case 1: put(d, "uniform", "{from: %us, to: %us}", half / 4, half); break;
    case 2: put(d, "exponential", "{mean: %us}", half / 2 + 1); break;
    case 3: put_lognormal(d, half / 4 + 1); break;
    case 4: put(d, "weibull", "{scale: %us, shape: 0.7}", half / 2 + 1); break;
    case 5: put_empirical(d); break;
    default: put(d, "quantiles", "{p0: 1s, p50: %us, p100: %us}", half / 4 + 1, half + 1); break;
    }
    if (one_in(d, 4)) {
        put(d, "min", "%s", span(length_s(d, 9.0)));
    }
    put(d, "max", "%us", 2 * half);
    close_map(d);
}

/* Some users for whom few jobs fit into the span, so that chains are short. */
void put_session(struct draw *d)
{
    const uint32_t think_s = d->span_s / 10 + 1;
    open_inner(d, "session");
    open_inner(d, "think");
    switch (below(d, 5)) {
    case 0: put(d, "fixed", "%us", think_s); break;
    case 1: put(d, "exponential", "{mean: %us}", think_s); break;
    default: put_lognormal(d, think_s); break;
    }
    put(d, "min", "%us", think_s / 4 + 1);
    if (one_in(d, 2)) {
        put(d, "max", "%us", 3 * think_s);
    }
    close_map(d);
    close_map(d);
}

/* Own weights, or a pattern, by the clock of some place. */
static void put_pattern(struct draw *d)
{
    if (one_in(d, 2)) {
        put(d, "pattern", "office-hours");
    } else {
        put(d, "hours", "[1, 2, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 1, 1, 1, 1, 1]");
        put(d, "days", "[1, 1, 2, 1, 1, 0.5, 0.5]");
    }
    put(d, "tz", "%s", one_in(d, 2) ? "America/Los_Angeles" : "\"+02:00\"");
}

void put_arrivals(struct draw *d, uint32_t until_s, bool users)
{
    const uint32_t jobs = between(d, 3, 15);
    open_inner(d, "arrivals");
    if (has(d, "cron", 15)) {
        put(d, "cron", "%s",
            until_s < 7200     ? "\"*/5 * * * *\""
            : until_s < 172800 ? "\"7,9 */2 * * *\""
                               : "\"0 3 1-31 * 1-5\"");
        put(d, "tz", "%s", one_in(d, 2) ? "Europe/Berlin" : "\"+05:30\"");
        close_map(d);
        return;
    }
    if (users && one_in(d, 3)) {
        put(d, "per_user_day", "%u", jobs * 86400 / (until_s + 1) / 3 + 1);
    } else if (one_in(d, 4)) {
        put(d, "per_day", "%u", jobs * 86400 / (until_s + 1) + 1);
    } else {
        put(d, "per_hour", "%u", jobs * 3600 / (until_s + 1) + 1);
    }
    if (one_in(d, 4)) {
        put_pattern(d);
    }
    close_map(d);
}

void put_rate(struct draw *d, const char *file)
{
    open_inner(d, "rate");
    put(d, "file", "%s", file);
    put(d, "scale", "%u", between(d, 1, 3));
    if (one_in(d, 4)) {
        put_pattern(d);
    }
    close_map(d);
}
