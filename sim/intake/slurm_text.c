/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurm_text.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/core/cluster.h>

bool slurm_starts(struct orr_cell text, const char *with)
{
    const size_t bytes = strlen(with);
    return text.bytes >= bytes && memcmp(text.at, with, bytes) == 0;
}

static struct orr_cell from(struct orr_cell text, size_t at)
{
    return (struct orr_cell){text.at + at, text.bytes - at};
}

/* Up to the sign, which is left out; all where there is none. */
static struct orr_cell cut_at(struct orr_cell *rest, char sign)
{
    const char *end = rest->bytes > 0 ? memchr(rest->at, sign, rest->bytes) : NULL;
    const struct orr_cell part = {rest->at, end != NULL ? (size_t)(end - rest->at) : rest->bytes};
    *rest = end != NULL ? from(*rest, part.bytes + 1) : (struct orr_cell){rest->at, 0};
    return part;
}

bool slurm_integer(struct orr_cell text, int64_t *out)
{
    return text.bytes > 0 && orr_parse_i64(text.at, text.bytes, out);
}

int64_t slurm_integer_or(struct orr_cell cell, int64_t otherwise)
{
    int64_t number;
    return slurm_integer(cell, &number) ? number : otherwise;
}

bool slurm_is_nothing(struct orr_cell text)
{
    static const char *const words[] = {"Unknown",         "None",         "N/A",  "(null)",
                                        "UNLIMITED",       "INFINITE",     "NONE", "INVALID",
                                        "Partition_Limit", "None assigned"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == text.bytes && memcmp(words[i], text.at, text.bytes) == 0) {
            return true;
        }
    }
    return text.bytes == 0;
}

bool slurm_is_endless(struct orr_cell text)
{
    return (text.bytes == 9 && memcmp(text.at, "UNLIMITED", 9) == 0) ||
           (text.bytes == 8 && memcmp(text.at, "INFINITE", 8) == 0);
}

struct orr_cell slurm_tres(struct orr_cell tres, const char *key)
{
    const size_t bytes = strlen(key);
    while (tres.bytes > 0) {
        const struct orr_cell part = cut_at(&tres, ',');
        if (slurm_starts(part, key) && part.bytes > bytes && part.at[bytes] == '=') {
            return from(part, bytes + 1);
        }
    }
    return (struct orr_cell){"", 0};
}

/* A type that is a profile of MIG, or ends with one behind the model. */
static bool is_slice(struct orr_cell type)
{
    char profile[ORR_MIG_NAME_MAX];
    size_t begin = type.bytes;
    while (begin > 0 && type.at[begin - 1] != '_') {
        begin--;
    }
    (void)snprintf(profile, sizeof profile, "%.*s", (int)(type.bytes - begin), type.at + begin);
    return strlen(profile) == type.bytes - begin && orr_mig_gpus(profile) > 0;
}

static void add_typed(struct slurm_gpus *gpus, struct orr_cell type, int64_t count, bool *several)
{
    const bool same = gpus->type.bytes == type.bytes &&
                      (type.bytes == 0 || memcmp(gpus->type.at, type.at, type.bytes) == 0);
    *several = *several || (gpus->given && !same);
    if (count > 0 && is_slice(type)) {
        gpus->slice = gpus->slices == 0 ? type : gpus->slice;
        gpus->slices += count;
    }
    gpus->type = type;
    gpus->count += count;
    gpus->given = true;
}

struct slurm_gpus slurm_tres_gpus(struct orr_cell tres)
{
    struct slurm_gpus typed = {0};
    int64_t total = -1, count;
    bool several = false;
    while (tres.bytes > 0) {
        struct orr_cell value = cut_at(&tres, ',');
        struct orr_cell key = cut_at(&value, '=');
        typed.shards = typed.shards || slurm_starts(key, "gres/shard");
        const size_t bytes = strlen("gres/gpu");
        if (!slurm_starts(key, "gres/gpu") || (key.bytes > bytes && key.at[bytes] != ':')) {
            continue;
        }
        if (!slurm_integer(value, &count) || count < 0 || count > 100000000) {
            typed.odd = true;
        } else if (key.bytes == bytes) {
            total = count;
        } else {
            add_typed(&typed, from(key, strlen("gres/gpu:")), count, &several);
        }
    }
    typed.type = several ? (struct orr_cell){"", 0} : typed.type;
    if (total >= 0) {
        typed.count = total;
        typed.given = true;
    }
    return typed;
}

/* gpu, gpu:2, gpu:a100, gpu:a100:4(IDX:0-3), gres:gpu:2, PER_NODE:gpu:8 */
struct slurm_gpus slurm_gres_gpus(struct orr_cell gres)
{
    struct slurm_gpus gpus = {0};
    bool several = false;
    while (gres.bytes > 0) {
        struct orr_cell part = cut_at(&gres, ',');
        const char *open = part.bytes > 0 ? memchr(part.at, '(', part.bytes) : NULL;
        part.bytes = open != NULL ? (size_t)(open - part.at) : part.bytes;
        static const char *const heads[] = {"PER_NODE:", "gres:", "gres/"};
        for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++) {
            part = slurm_starts(part, heads[h]) ? from(part, strlen(heads[h])) : part;
        }
        const struct orr_cell name = cut_at(&part, ':');
        gpus.shards = gpus.shards || slurm_starts(name, "shard");
        if (name.bytes != 3 || memcmp(name.at, "gpu", 3) != 0) {
            continue;
        }
        struct orr_cell type = {"", 0};
        int64_t count = 1;
        if (part.bytes > 0 && !slurm_integer(part, &count)) {
            type = cut_at(&part, ':');
            count = 1;
            if (part.bytes > 0 && !slurm_integer(part, &count)) {
                gpus.odd = true;
                continue;
            }
        }
        if (count >= 0 && count <= 100000000) {
            add_typed(&gpus, type, count, &several);
        }
    }
    gpus.type = several ? (struct orr_cell){"", 0} : gpus.type;
    return gpus;
}

bool slurm_mib(struct orr_cell text, int64_t *out)
{
    while (text.bytes > 0 && (text.at[text.bytes - 1] == 'n' || text.at[text.bytes - 1] == 'c')) {
        text.bytes--;
    }
    static const char units[] = "KMGTP";
    int64_t scale = 1024; /* in KiB */
    if (text.bytes > 0 && (text.at[text.bytes - 1] < '0' || text.at[text.bytes - 1] > '9')) {
        const char *unit = strchr(units, text.at[text.bytes - 1]);
        if (unit == NULL || *unit == '\0') {
            return false;
        }
        scale = (int64_t)1 << (10 * (unit - units));
        text.bytes--;
    }
    int64_t kib;
    if (text.bytes == 0 || !orr_parse_scaled(text.at, text.bytes, scale, &kib) || kib < 0) {
        return false;
    }
    *out = (kib + 1023) / 1024;
    return true;
}

bool slurm_span(struct orr_cell text, orr_ms *out)
{
    int64_t days = 0, part;
    orr_ms ms, whole = 0;
    const char *dash = text.bytes > 0 ? memchr(text.at, '-', text.bytes) : NULL;
    if (dash != NULL) {
        if (!orr_parse_i64(text.at, (size_t)(dash - text.at), &days) || days < 0 ||
            days > 1000000) {
            return false;
        }
        text = from(text, (size_t)(dash - text.at) + 1);
    }
    int parts = 1;
    while (text.bytes > 0 && memchr(text.at, ':', text.bytes) != NULL) {
        if (!slurm_integer(cut_at(&text, ':'), &part) || part < 0 || part > 1000000000 ||
            parts == 3) {
            return false;
        }
        whole = (whole + part) * 60;
        parts++;
    }
    if (!orr_parse_seconds(text.at, text.bytes, &ms) || ms < 0 || ms > 1000000000000) {
        return false;
    }
    if (parts == 1 && dash == NULL) {
        return false; /* a bare number is minutes in one place and seconds in another */
    }
    whole = whole * 1000 + ms;
    for (; dash != NULL && parts < 3; parts++) { /* 1-02 is a day and two hours */
        whole *= 60;
    }
    *out = whole + days * 86400000;
    return true;
}
