/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text.h - numbers and quantities as people write them.
 *
 * Every parser takes the whole text (bytes long, NUL not needed) and says false if anything is left
 * over, does not fit, or is not a number: no half-read fields, no locale, no NaN.
 */
#ifndef ORR_BASE_TEXT_H
#define ORR_BASE_TEXT_H

#include <orrery/base/units.h>

ORR_API_BEGIN

/* Decimal integer with optional sign. */
bool orr_parse_i64(const char *text, size_t bytes, int64_t *out);
/* Decimal seconds, optional sign and fraction, rounded half up to ms ("2.0005" is 2001). */
bool orr_parse_seconds(const char *text, size_t bytes, orr_ms *out);
/* A decimal number scaled by `scale` to an integer, rounded half up ("0.5", 1000 is 500). */
bool orr_parse_scaled(const char *text, size_t bytes, int64_t scale, int64_t *out);
/* A finite double, decimal or with exponent. */
bool orr_parse_double(const char *text, size_t bytes, double *out);
/* "0.01", "1%": from 0 on and below 1. */
bool orr_parse_share(const char *text, size_t bytes, double *out);
/* "90s", "1.5h", "2d", "250ms", "2h30m": a time with its unit written. A bare number is refused. */
bool orr_parse_duration(const char *text, size_t bytes, orr_ms *out);
/* "80Gi", "512Mi", "20G": memory with its unit written, in bytes. */
bool orr_parse_memory(const char *text, size_t bytes, int64_t *out);
/* "450GB/s", "400Gb/s": a bandwidth in bytes per second (decimal prefixes). */
bool orr_parse_bandwidth(const char *text, size_t bytes, int64_t *out);
/* "700W", "10.2kW": a power in watts. */
bool orr_parse_power(const char *text, size_t bytes, int64_t *out);
/* Kubernetes CPU: "500m", "2", "1.5", in milli-CPU. */
bool orr_parse_cpu(const char *text, size_t bytes, int64_t *out);
/* "YYYY-MM-DD HH:MM:SS" or "YYYY-MM-DDTHH:MM:SS", an optional fraction, and a zone ("Z", "+02:00",
 * "-0700"; UTC where there is none); ms since 1970. */
bool orr_parse_timestamp(const char *text, size_t bytes, orr_ms *out);

/* Seconds with up to three decimals and no trailing zeros; needs 32 bytes. Returns the length. */
int orr_format_seconds(char *out, orr_ms ms);
/* "2026-06-01T12:00:00Z", with milliseconds if there are any; needs 32 bytes. Returns the length.
 */
int orr_format_timestamp(char *out, orr_ms ms);
/* "3d 04:05:06" or "04:05:06"; needs 32 bytes. Returns the length. */
int orr_format_span(char *out, orr_ms ms);

/* A time of a run's clock as every answer writes it: orr_format_span, or the date where `origin`
 * (ms since 1970 at the clock's 0) is known and not ORR_MS_NONE; needs 32 bytes. Returns `out`. */
const char *orr_format_clock(char *out, orr_ms at, orr_ms origin);
/* Reads what that writes, a date without seconds or without a time of day ("2026-06-01 12:00"),
 * "d3 04:05", "day 3", "04:05", a duration ("2d3h") and plain seconds ("7200", "7200.5 s"). False
 * also for a date where the origin is not known. */
bool orr_parse_clock(const char *text, size_t bytes, orr_ms origin, orr_ms *out);

/* Bytes of the UTF-8 character that text starts with (bytes > 0); 0 if it is none: overlong, a
 * surrogate, cut off. */
size_t orr_utf8_bytes(const char *text, size_t bytes);

/* "0 s", "4.6 s", "42 s", "3.5 min", "1.2 h", "4.1 d": two digits to compare by eye; "-" for what
 * is no number; needs 24 bytes. Returns `out`. */
const char *orr_format_rough(char *out, double seconds);
/* What makes the words beside a number agree with it: "%u job%s %s", n, ORR_PLURAL(n),
 * ORR_ONE(n, "is", "are"). */
#define ORR_ONE(count, one, more) ((count) == 1 ? (one) : (more))
#define ORR_PLURAL(count)         ORR_ONE(count, "", "s")
/* Whether the text is like one of the patterns, which stand apart by "|": * is any bytes, ? is one.
 */
bool orr_text_like(const char *text, size_t bytes, const char *patterns, bool any_case);
bool orr_ends_with(const char *text, const char *end);
/* Smallest edit distance candidate for "did you mean"; NULL if nothing is near. */
const char *orr_nearest(const char *word, const char *const *candidates, size_t count);
/* The same no further away than `most`: for words that may well be right though none of these. */
const char *orr_nearest_within(const char *word, const char *const *candidates, size_t count,
                               size_t most);

ORR_API_END

#endif
