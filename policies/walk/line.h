/* SPDX-License-Identifier: GPL-3.0-or-later */
/* line.h - jobs in the order in which they came to a line. */
#ifndef ORR_POLICIES_WALK_LINE_H
#define ORR_POLICIES_WALK_LINE_H

#include <orrery/base/mem.h>

struct orr_walk_line { /* all zero: nobody; its owner frees `jobs` */
    uint32_t *jobs;
    uint32_t count, capacity;
};

static inline void orr_walk_line_append(struct orr_walk_line *line, uint32_t job)
{
    line->jobs = ORR_ROOM_FOR_ONE(line->jobs, line->count, line->capacity);
    line->jobs[line->count++] = job;
}

/* The others keep their order; it costs the length of the line. */
static inline void orr_walk_line_take_out(struct orr_walk_line *line, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < line->count; i++) {
        line->jobs[kept] = line->jobs[i];
        kept += line->jobs[i] != job;
    }
    line->count = kept;
}

#endif
