/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_text.c - times, lists of hosts and weights as Slurm's files write them.
 */
#include "slurm_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool orr_slurm__same(const char *text, size_t bytes, const char *word)
{
    for (size_t i = 0; i < bytes; i++) {
        if (word[i] == '\0' || lower(text[i]) != lower(word[i])) {
            return false;
        }
    }
    return word[bytes] == '\0';
}

bool orr_slurm__time(const char *text, size_t bytes, orr_ms *out)
{
    if (orr_slurm__same(text, bytes, "INFINITE") || orr_slurm__same(text, bytes, "UNLIMITED")) {
        *out = ORR_MS_NEVER;
        return true;
    }
    int64_t part[4] = {0};
    size_t count = 0;
    bool days = false;
    while (true) {
        size_t digits = 0;
        while (digits < bytes && text[digits] >= '0' && text[digits] <= '9') {
            digits++;
        }
        if (digits == 0 || digits > 9 || count == 4 ||
            !orr_parse_i64(text, digits, &part[count++])) {
            return false;
        }
        text += digits;
        bytes -= digits;
        if (bytes == 0) {
            break;
        }
        if (*text == '-' && count == 1) {
            days = true;
        } else if (*text != ':') {
            return false;
        }
        text++;
        bytes--;
    }
    int64_t seconds;
    if (days) {
        seconds = ((part[0] * 24 + part[1]) * 60 + part[2]) * 60 + part[3];
    } else if (count == 3) {
        seconds = (part[0] * 60 + part[1]) * 60 + part[2];
    } else if (count < 3) {
        seconds = part[0] * 60 + part[1];
    } else {
        return false;
    }
    *out = seconds * 1000;
    return true;
}

/* --- hosts --- */

enum { HOST_BYTES = 256 };

/* The names that a prefix, the text between brackets and a suffix stand for. */
static bool take_range(const char *prefix, size_t prefix_bytes, const char *range, size_t bytes,
                       const char *suffix, size_t suffix_bytes, orr_slurm__host_fn *take,
                       void *context)
{
    const char *dash = memchr(range, '-', bytes);
    const size_t width = dash == NULL ? bytes : (size_t)(dash - range);
    int64_t from, to;
    if (width == 0 || width > 9 || !orr_parse_i64(range, width, &from)) {
        return false;
    }
    to = from;
    if (dash != NULL && !orr_parse_i64(dash + 1, bytes - width - 1, &to)) {
        return false;
    }
    if (to < from || to - from > 1000000) {
        return false;
    }
    for (int64_t n = from; n <= to; n++) {
        char name[HOST_BYTES];
        (void)snprintf(name, sizeof name, "%.*s%0*lld%.*s", (int)prefix_bytes, prefix, (int)width,
                       (long long)n, (int)suffix_bytes, suffix);
        if (!take(context, name)) {
            return false;
        }
    }
    return true;
}

/* One item of the list; brackets at most once. */
static bool take_item(const char *item, size_t bytes, orr_slurm__host_fn *take, void *context)
{
    const char *open = memchr(item, '[', bytes);
    if (bytes == 0 || bytes >= HOST_BYTES - 16) {
        return false;
    }
    if (open == NULL) {
        char name[HOST_BYTES];
        (void)snprintf(name, sizeof name, "%.*s", (int)bytes, item);
        return take(context, name);
    }
    const size_t prefix = (size_t)(open - item);
    const char *close = memchr(open, ']', bytes - prefix);
    if (close == NULL) {
        return false;
    }
    const size_t suffix = bytes - (size_t)(close + 1 - item);
    for (const char *range = open + 1; range < close;) {
        const char *comma = memchr(range, ',', (size_t)(close - range));
        const char *end = comma == NULL ? close : comma;
        if (!take_range(item, prefix, range, (size_t)(end - range), close + 1, suffix, take,
                        context)) {
            return false;
        }
        range = end + (comma != NULL);
    }
    return true;
}

bool orr_slurm__hosts(const char *text, size_t bytes, orr_slurm__host_fn *take, void *context)
{
    size_t from = 0, depth = 0;
    for (size_t i = 0; i <= bytes; i++) {
        if (i < bytes && text[i] == '[') {
            depth++;
        } else if (i < bytes && text[i] == ']' && depth > 0) {
            depth--;
        } else if (i == bytes || (text[i] == ',' && depth == 0)) {
            if (!take_item(text + from, i - from, take, context)) {
                return false;
            }
            from = i + 1;
        }
    }
    return depth == 0;
}

/* --- weights of resources --- */

bool orr_slurm__tres(const char *text, size_t bytes, bool weights, double *out)
{
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        out[t] = 0;
    }
    while (bytes > 0) {
        const char *comma = memchr(text, ',', bytes);
        const size_t item = comma == NULL ? bytes : (size_t)(comma - text);
        const char *sign = memchr(text, '=', item);
        if (sign == NULL) {
            return false;
        }
        const size_t name = (size_t)(sign - text);
        size_t digits = item - name - 1;
        double scale = 1;
        const char last = digits > 0 ? sign[digits] : '\0';
        const char *unit = last == '\0' ? NULL : strchr("KMGTkmgt", last);
        if (unit != NULL) { /* of memory; amounts here are MiB */
            static const double per_mib[] = {1024, 1, 1.0 / 1024, 1.0 / 1024 / 1024};
            scale = per_mib[(strchr("KMGT", last & ~0x20) - "KMGT") % 4];
            digits--;
        }
        double value;
        if (!orr_parse_double(sign + 1, digits, &value)) {
            return false;
        }
        if (orr_slurm__same(text, name, "cpu")) {
            out[SLURM_CPU] = value;
        } else if (orr_slurm__same(text, name, "mem")) {
            out[SLURM_MEM] = weights ? value * scale : value / scale;
        } else if (orr_slurm__same(text, name, "node")) {
            out[SLURM_NODE] = value;
        } else if (name >= 8 && orr_slurm__same(text, 8, "gres/gpu")) {
            out[SLURM_GPU] += value;
        }
        text += item + (comma != NULL);
        bytes -= item + (comma != NULL);
    }
    return true;
}
