/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_hosts.c - lists of hosts, such as n[01-04,7],rack[1-2]n[1-8]: the names that they stand
 * for, and how many these are. */
#include <orrery/policies/slurm_hosts.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

enum { HOST_BYTES = 256, HOSTS_MOST = 10000000 };

struct hosts {
    orr_slurm_host_fn *take;
    void *context;
};

struct part {
    const char *at;
    size_t bytes;
};

/* The next item of a list that commas join, but for those between brackets; empty items are passed
 * over. */
static bool next_item(struct part *list, struct part *item)
{
    size_t end = 0, depth = 0;
    while (list->bytes > 0 && *list->at == ',') {
        list->at++;
        list->bytes--;
    }
    while (end < list->bytes && (depth > 0 || list->at[end] != ',')) {
        depth += list->at[end] == '[';
        depth -= list->at[end] == ']' && depth > 0;
        end++;
    }
    *item = (struct part){list->at, end};
    list->at += end;
    list->bytes -= end;
    return end > 0;
}

/* --- numbers between brackets --- */

struct range {
    int64_t from, to, step;
    int width; /* digits */
};

/* "7", "01-04" or, as arrays have it, "0-96:4"; *ranges moves behind it. False: it is none. */
static bool next_range(struct part *ranges, struct range *out)
{
    const char *comma = memchr(ranges->at, ',', ranges->bytes);
    const size_t bytes = comma == NULL ? ranges->bytes : (size_t)(comma - ranges->at);
    const char *colon = memchr(ranges->at, ':', bytes);
    const size_t ends = colon == NULL ? bytes : (size_t)(colon - ranges->at);
    const char *dash = memchr(ranges->at, '-', ends);
    const size_t width = dash == NULL ? ends : (size_t)(dash - ranges->at);
    *out = (struct range){.step = 1, .width = (int)width};
    bool is_range = width > 0 && width <= 9 && orr_parse_i64(ranges->at, width, &out->from);
    out->to = out->from;
    is_range = is_range && (dash == NULL || orr_parse_i64(dash + 1, ends - width - 1, &out->to)) &&
               (colon == NULL || orr_parse_i64(colon + 1, bytes - ends - 1, &out->step)) &&
               out->from >= 0 && out->to >= out->from && out->step > 0;
    ranges->at += bytes + (comma != NULL);
    ranges->bytes -= bytes + (comma != NULL);
    return is_range;
}

/* What is before the first brackets of an item, between them and behind them. False: they do not
 * close; no ranges: there are none. */
static bool cut(struct part item, struct part *prefix, struct part *ranges, struct part *suffix)
{
    const char *open = memchr(item.at, '[', item.bytes);
    *prefix = open == NULL ? item : (struct part){item.at, (size_t)(open - item.at)};
    *ranges = *suffix = (struct part){item.at + item.bytes, 0};
    if (open == NULL) {
        return memchr(item.at, ']', item.bytes) == NULL;
    }
    const char *close = memchr(open, ']', item.bytes - prefix->bytes);
    if (close == NULL || close == open + 1) {
        return false;
    }
    *ranges = (struct part){open + 1, (size_t)(close - open - 1)};
    *suffix = (struct part){close + 1, (size_t)(item.at + item.bytes - close - 1)};
    return true;
}

/* --- how many --- */

static uint64_t count_of(struct part item)
{
    uint64_t count = 1;
    struct part prefix, ranges, suffix;
    while (item.bytes > 0 && count > 0) {
        if (!cut(item, &prefix, &ranges, &suffix)) {
            return 0;
        }
        uint64_t in = ranges.bytes == 0;
        while (ranges.bytes > 0) {
            struct range range;
            if (!next_range(&ranges, &range)) {
                return 0;
            }
            in += (uint64_t)((range.to - range.from) / range.step) + 1;
        }
        count = in <= HOSTS_MOST && count * in <= HOSTS_MOST ? count * in : 0;
        item = suffix;
    }
    return count;
}

uint64_t orr_slurm_host_count(const char *text, size_t bytes)
{
    struct part list = {text, bytes}, item;
    uint64_t count = 0;
    while (next_item(&list, &item)) {
        const uint64_t here = count_of(item);
        if (here == 0 || count + here > HOSTS_MOST) {
            return 0;
        }
        count += here;
    }
    return count;
}

/* --- which --- */

/* The names of one item: its first brackets are filled in, then those behind them. */
static bool take_item(const struct hosts *hosts, struct part item)
{
    char name[HOST_BYTES];
    struct part prefix, ranges, suffix;
    if (item.bytes >= HOST_BYTES - 16 || !cut(item, &prefix, &ranges, &suffix)) {
        return false;
    }
    if (ranges.bytes == 0) {
        (void)snprintf(name, sizeof name, "%.*s", (int)item.bytes, item.at);
        return hosts->take(hosts->context, name);
    }
    while (ranges.bytes > 0) {
        struct range range;
        if (!next_range(&ranges, &range)) {
            return false;
        }
        for (int64_t n = range.from; n <= range.to; n += range.step) {
            (void)snprintf(name, sizeof name, "%.*s%0*lld%.*s", (int)prefix.bytes, prefix.at,
                           range.width, (long long)n, (int)suffix.bytes, suffix.at);
            if (!take_item(hosts, (struct part){name, strlen(name)})) {
                return false;
            }
        }
    }
    return true;
}

bool orr_slurm_hosts(const char *text, size_t bytes, orr_slurm_host_fn *take, void *context)
{
    const struct hosts hosts = {take, context};
    struct part list = {text, bytes}, item;
    bool taken = orr_slurm_host_count(text, bytes) > 0;
    while (taken && next_item(&list, &item)) {
        taken = take_item(&hosts, item);
    }
    return taken;
}
