/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/traces/zone.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <orrery/base/text.h>

#define HOUR_MS     ((orr_ms)3600000)
#define CHUNK_HOURS ((int64_t)366 * 24)
#define CHUNKS      400 /* years that a zone is looked up for */

/* "+05:30", "-08:00", "UTC", "Z" */
static bool fixed_offset(const char *zone, orr_ms *out)
{
    int64_t hours, minutes;
    *out = 0;
    if (strcmp(zone, "UTC") == 0 || strcmp(zone, "Z") == 0) {
        return true;
    }
    if ((zone[0] != '+' && zone[0] != '-') || strlen(zone) != 6 || zone[3] != ':' ||
        !orr_parse_i64(zone + 1, 2, &hours) || !orr_parse_i64(zone + 4, 2, &minutes) ||
        hours > 14 || minutes > 59) {
        return false;
    }
    *out = (hours * 60 + minutes) * 60000 * (zone[0] == '-' ? -1 : 1);
    return true;
}

/* A name that could leave the folder of zones is none. */
static bool zone_installed(const char *zone)
{
    char path[300];
    bool plain = zone[0] != '/' && zone[0] != '.' && strstr(zone, "..") == NULL;
    struct stat file;
    return plain && snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", zone) < 300 &&
           stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, R_OK) == 0;
}

static void local_offsets(int64_t first_hour, uint32_t count, orr_ms *offsets)
{
    for (uint32_t i = 0; i < count; i++) {
        time_t at = (time_t)((first_hour + i) * 3600);
        struct tm local;
        ORR_ASSERT(localtime_r(&at, &local) != NULL);
        offsets[i] = (orr_ms)local.tm_gmtoff * 1000;
    }
}

enum orr_status orr_zone_offsets(const char *zone, int64_t first_hour, uint32_t count,
                                 orr_ms *offsets, struct orr_err *err)
{
    orr_ms fixed = 0;
    if (zone == NULL || fixed_offset(zone, &fixed)) {
        for (uint32_t i = 0; i < count; i++) {
            offsets[i] = fixed;
        }
        return ORR_OK;
    }
    if (!zone_installed(zone)) {
        return orr_fail(err, ORR_SCENARIO,
                        "time zone \"%s\" is not known on this machine (is tzdata installed?); an "
                        "offset such as -08:00 always works",
                        zone);
    }
    /* why: the C library reads zone files, but only that of the environment */
    const char *old = getenv("TZ");
    char *kept = old == NULL ? NULL : orr_strdup(old);
    (void)setenv("TZ", zone, 1);
    tzset();
    local_offsets(first_hour, count, offsets);
    if (kept == NULL) {
        (void)unsetenv("TZ");
    } else {
        (void)setenv("TZ", kept, 1);
    }
    tzset();
    orr_free(kept);
    return ORR_OK;
}

struct orr_zone {
    const char *name;
    orr_ms *offsets[CHUNKS]; /* of the hours of a year, UTC; NULL: not asked for yet */
    struct orr_arena *arena;
};

static const orr_ms *chunk_of(struct orr_zone *zone, int64_t hour)
{
    const int64_t chunk = hour / CHUNK_HOURS;
    if (hour < 0 || chunk >= CHUNKS) {
        return NULL;
    }
    if (zone->offsets[chunk] == NULL) {
        struct orr_err err = {0};
        orr_ms *offsets = orr_arena_alloc(zone->arena, CHUNK_HOURS, sizeof *offsets);
        if (orr_zone_offsets(zone->name, chunk * CHUNK_HOURS, (uint32_t)CHUNK_HOURS, offsets,
                             &err) != ORR_OK) {
            return NULL;
        }
        zone->offsets[chunk] = offsets;
    }
    return zone->offsets[chunk];
}

static orr_ms offset_at(struct orr_zone *zone, orr_ms utc)
{
    const int64_t hour = utc >= 0 ? utc / HOUR_MS : 0;
    const orr_ms *chunk = chunk_of(zone, hour);
    return chunk == NULL ? 0 : chunk[hour % CHUNK_HOURS];
}

orr_ms orr_zone_utc(struct orr_zone *zone, orr_ms local)
{
    if (zone == NULL) {
        return local;
    }
    const orr_ms before = offset_at(zone, local - 26 * HOUR_MS);
    const orr_ms after = offset_at(zone, local + 26 * HOUR_MS);
    if (before == after || offset_at(zone, local - before) == before) {
        return local - before;
    }
    return offset_at(zone, local - after) == after ? local - after : local - before;
}

enum orr_status orr_zone_make(struct orr_arena *arena, const char *name, struct orr_zone **out,
                              struct orr_err *err)
{
    orr_ms offset;
    *out = NULL;
    const enum orr_status status = orr_zone_offsets(name, 0, 1, &offset, err);
    if (status == ORR_OK && name != NULL) {
        struct orr_zone *zone = orr_arena_alloc(arena, 1, sizeof *zone);
        *zone =
            (struct orr_zone){.name = orr_arena_strndup(arena, name, strlen(name)), .arena = arena};
        *out = zone;
    }
    return status;
}
