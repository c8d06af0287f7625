/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_lines.h - JSON with a line of its own begun in each list's element.
 *
 * In a list, libfyaml takes a map or a list for a possible key until its line ends, and keeps every
 * token of it: 600 bytes a value of a file that is one line. A line end behind the bracket decides
 * at once. Places are told in the text as it was given.
 */
#ifndef ORR_SIM_IMPORT_JSON_LINES_H
#define ORR_SIM_IMPORT_JSON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_break {
    uint32_t line;                     /* that begins with it, in the broken text */
    uint32_t given_line, given_column; /* of its first character, from 1 */
};

struct json_lines {
    char *text; /* with the breaks */
    size_t bytes;
    struct json_break *breaks;
    uint32_t count, capacity, passed; /* breaks before the latest place */
};

/* `text` is borrowed; json_lines_release frees the rest. */
void json_lines_init(struct json_lines *lines, const char *text, size_t bytes);
void json_lines_release(struct json_lines *lines);
/* A place in the broken text becomes that in the text as given; without breaks it stays. */
void json_lines_place(struct json_lines *lines, uint32_t *line, uint32_t *column);

#endif
