/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_lines.h - the lines of slurm.conf, and the words KEY=VALUE of a line. */
#ifndef ORR_POLICIES_SLURM_LINES_H
#define ORR_POLICIES_SLURM_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <orrery/base/mem.h>
#include <orrery/base/units.h>

ORR_API_BEGIN

struct orr_slurm_lines { /* a text, from where it is read on */
    const char *at, *end;
    uint32_t number;  /* of lines that were read */
    const char *file; /* that includes put there, in the arena; NULL: the text's own */
};

/* A line that says from which line of which file the text goes on: #@line 12 "nodes.conf"; of the
 * file that includes others the name is empty. For Slurm it is a comment. */
#define ORR_SLURM_FILE_LINE "#@line "

struct orr_slurm_line {
    const char *text; /* joined with those that a backslash at its end joins to it, no comment */
    size_t bytes;
    uint32_t number;           /* of its first line, from 1 on */
    const char *raw, *raw_end; /* where it begins in its text, and where that ends */
    const char *file;          /* as of the lines */
};

struct orr_slurm_pair {
    const char *name, *value; /* quotes around the whole value are taken off */
    size_t name_bytes, value_bytes;
    bool has_sign; /* else it is a word alone */
};

/* The next line, in the arena, also if it is empty; false: there is none. */
bool orr_slurm_next_line(struct orr_slurm_lines *lines, struct orr_arena *arena,
                         struct orr_slurm_line *line);
/* Line and column, from 1 on, in which a part of a line stands in its text. */
void orr_slurm_place(const struct orr_slurm_line *line, const char *part, uint32_t *number,
                     uint32_t *column);
/* The next NAME=VALUE of a line, which moves behind it; false: there is none. */
bool orr_slurm_next_pair(const char **text, size_t *bytes, struct orr_slurm_pair *pair);

ORR_API_END

#endif
