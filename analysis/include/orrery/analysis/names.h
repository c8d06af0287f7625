/* SPDX-License-Identifier: GPL-3.0-or-later */
/* names.h - names as people read them: whole where there is room, else without their middle and
 * with a legend, never cut. Of UTF-8 a character is one column, a wide one (Chinese, Japanese,
 * Korean, emoji) two, a mark over another none. */
#ifndef ORR_ANALYSIS_NAMES_H
#define ORR_ANALYSIS_NAMES_H

#include <stdio.h>

#include <orrery/base/mem.h>

/* Columns of the terminal, as COLUMNS states them (40 to 500), else `otherwise`. */
int orr_text_columns(int otherwise);
/* Columns that a text takes in a terminal; what is behind the first ones; a text in so many. */
int orr_text_width(const char *text);
const char *orr_text_from(const char *text, int columns);
void orr_pad(FILE *out, const char *text, int width);

/* Each of `names` in at most `most` columns (at least 8): as it is, or its two ends. No two that
 * differ are shortened alike: a number in the middle tells them apart. All live as long as the
 * arena, or the names. */
const char **orr_short_names(struct orr_arena *arena, const char *const *names, size_t count,
                             int most);
/* The first column of a table: names of one width, and the shorts of those that are longer. */
struct orr_name_column {
    const char **names; /* given, as many as `count` */
    const char **shorts;
    uint32_t count;
    int width;
};

/* Sets shorts and width. `rest`: columns of the table beside the names, of which the terminal
 * leaves the other ones; a table is not made wider than 36 columns of names, nor narrower than 20
 * where there is room. */
void orr_name_column(struct orr_name_column *column, int rest, struct orr_arena *arena);

/* The same for a table with several columns of names, each at least so wide and at most 36. */
void orr_name_column_of(struct orr_name_column *column, int least, struct orr_arena *arena);

/* A line for each name that was shortened, `indent` first; none where all are whole. */
void orr_short_legend(FILE *out, const char *indent, const char *const *names,
                      const char *const *shorts, size_t count);

#endif
