/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_hosts.c - lists of hosts, such as n[01-04,7],rack[1-2]n[1-8]: the names that they stand
 * for. */
#include <orrery/policies/slurm_hosts.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

enum { HOST_BYTES = 256, RANGE_MOST = 1000000 };

struct hosts {
    orr_slurm_host_fn *take;
    void *context;
};

static bool take_item(const struct hosts *hosts, const char *item, size_t bytes);

/* The names that a prefix, the text between brackets and a suffix stand for; the suffix may have
 * brackets of its own. */
static bool take_range(const struct hosts *hosts, const char *prefix, size_t prefix_bytes,
                       const char *range, size_t bytes, const char *suffix, size_t suffix_bytes)
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
    if (to < from || to - from > RANGE_MOST) {
        return false;
    }
    for (int64_t n = from; n <= to; n++) {
        char name[HOST_BYTES];
        (void)snprintf(name, sizeof name, "%.*s%0*lld%.*s", (int)prefix_bytes, prefix, (int)width,
                       (long long)n, (int)suffix_bytes, suffix);
        if (!take_item(hosts, name, strlen(name))) {
            return false;
        }
    }
    return true;
}

/* One item of the list. */
static bool take_item(const struct hosts *hosts, const char *item, size_t bytes)
{
    const char *open = memchr(item, '[', bytes);
    if (bytes == 0 || bytes >= HOST_BYTES - 16) {
        return false;
    }
    if (open == NULL) {
        char name[HOST_BYTES];
        (void)snprintf(name, sizeof name, "%.*s", (int)bytes, item);
        return hosts->take(hosts->context, name);
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
        if (!take_range(hosts, item, prefix, range, (size_t)(end - range), close + 1, suffix)) {
            return false;
        }
        range = end + (comma != NULL);
    }
    return true;
}

bool orr_slurm_hosts(const char *text, size_t bytes, orr_slurm_host_fn *take, void *context)
{
    const struct hosts hosts = {take, context};
    size_t from = 0, depth = 0;
    for (size_t i = 0; i <= bytes; i++) {
        if (i < bytes && text[i] == '[') {
            depth++;
        } else if (i < bytes && text[i] == ']' && depth > 0) {
            depth--;
        } else if (i == bytes || (text[i] == ',' && depth == 0)) {
            if (!take_item(&hosts, text + from, i - from)) {
                return false;
            }
            from = i + 1;
        }
    }
    return depth == 0;
}
