/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conservative_bounds.h"

#include <string.h>

#include <orrery/base/mem.h>

void orr_conservative__bounds_close(struct conservative_bounds *bounds)
{
    for (uint32_t s = 0; s < bounds->count; s++) {
        orr_free(bounds->sizes[s].bounds);
    }
    orr_free(bounds->sizes);
}

void orr_conservative__bounds_clear(struct conservative_bounds *bounds)
{
    for (uint32_t s = 0; s < bounds->count; s++) {
        bounds->sizes[s].count = 0;
    }
}

/* The first that lasts longer. */
static uint32_t longer_than(const struct size_bounds *size, orr_ms lasts)
{
    uint32_t low = 0, high = size->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        low = size->bounds[middle].lasts <= lasts ? middle + 1 : low;
        high = size->bounds[middle].lasts <= lasts ? high : middle;
    }
    return low;
}

orr_ms orr_conservative__bounds_of(const struct conservative_bounds *bounds, orr_ms now,
                                   uint32_t kind, int64_t mgpu, orr_ms lasts)
{
    orr_ms until = now;
    for (uint32_t s = 0; s < bounds->count; s++) {
        const struct size_bounds *size = &bounds->sizes[s];
        const uint32_t longer = size->kind == kind && size->mgpu <= mgpu && size->count > 0
                                    ? longer_than(size, lasts)
                                    : 0;
        if (longer > 0 && size->bounds[longer - 1].until > until) {
            until = size->bounds[longer - 1].until;
        }
    }
    return until;
}

static struct size_bounds *size_of(struct conservative_bounds *bounds, uint32_t kind, int64_t mgpu)
{
    uint32_t s = 0;
    while (s < bounds->count && (bounds->sizes[s].kind != kind || bounds->sizes[s].mgpu != mgpu)) {
        s++;
    }
    if (s == bounds->count) {
        bounds->sizes = ORR_ROOM_FOR_ONE(bounds->sizes, bounds->count, bounds->capacity);
        bounds->sizes[bounds->count++] = (struct size_bounds){.kind = kind, .mgpu = mgpu};
    }
    return &bounds->sizes[s];
}

void orr_conservative__bounds_add(struct conservative_bounds *bounds, uint32_t kind, int64_t mgpu,
                                  orr_ms lasts, orr_ms until)
{
    struct size_bounds *size = size_of(bounds, kind, mgpu);
    uint32_t at = longer_than(size, lasts), end = at;
    if (at > 0 && size->bounds[at - 1].until >= until) {
        return;
    }
    at -= at > 0 && size->bounds[at - 1].lasts == lasts;
    while (end < size->count && size->bounds[end].until <= until) {
        end++;
    }
    if (at == end) {
        size->bounds = ORR_ROOM_FOR_ONE(size->bounds, size->count, size->capacity);
    }
    memmove(&size->bounds[at + 1], &size->bounds[end], (size->count - end) * sizeof *size->bounds);
    size->count = size->count - (end - at) + 1;
    size->bounds[at] = (struct bound){lasts, until};
}

void orr_conservative__bounds_ease(struct conservative_bounds *bounds, orr_ms now, uint32_t kind,
                                   orr_ms from)
{
    for (uint32_t s = 0; s < bounds->count; s++) {
        struct size_bounds *size = &bounds->sizes[s];
        uint32_t kept = 0;
        for (uint32_t b = 0; b < size->count && size->kind == kind; b++) {
            struct bound bound = size->bounds[b];
            const orr_ms most = bound.lasts < from - now ? from - bound.lasts + 1 : now;
            bound.until = bound.until < most ? bound.until : most;
            if (bound.until > (kept > 0 ? size->bounds[kept - 1].until : now)) {
                size->bounds[kept++] = bound;
            }
        }
        size->count = size->kind == kind ? kept : size->count;
    }
}
