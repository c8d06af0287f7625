/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "json_lines.h"

#include <stdio.h>
#include <stdlib.h>

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct scan {
    uint32_t line, column; /* of the next character */
    char before;           /* the latest character that is no blank, outside texts */
    bool in_text, escaped;
};

/* Steps over one byte; true: it opens a map or a list that is a document or in a list. */
static bool step(struct scan *scan, char c)
{
    const char before = scan->before;
    const bool outside = !scan->in_text;
    scan->line += c == '\n';
    scan->column = c == '\n' ? 1 : scan->column + (((unsigned char)c & 0xc0) != 0x80);
    if (scan->in_text) {
        scan->in_text = c != '"' || scan->escaped;
        scan->escaped = c == '\\' && !scan->escaped;
    } else {
        scan->in_text = c == '"';
    }
    if (outside && c != ' ' && c != '\t' && c != '\n' && c != '\r') {
        scan->before = c;
    }
    return outside && (c == '{' || c == '[') && (before == '\0' || before == '[' || before == ',');
}

void json_lines_init(struct json_lines *lines, const char *text, size_t bytes)
{
    struct scan scan = {.line = 1, .column = 1};
    size_t written = 0;
    *lines = (struct json_lines){0};
    FILE *out = open_memstream(&lines->text, &lines->bytes);
    ORR_ASSERT(out != NULL);
    for (size_t i = 0; i < bytes; i++) {
        if (!step(&scan, text[i]) || i + 1 == bytes || text[i + 1] == '\n') {
            continue;
        }
        (void)fwrite(text + written, 1, i + 1 - written, out);
        (void)putc('\n', out);
        written = i + 1;
        lines->breaks = ORR_ROOM_FOR_ONE(lines->breaks, lines->count, lines->capacity);
        lines->breaks[lines->count] =
            (struct json_break){scan.line + lines->count + 1, scan.line, scan.column};
        lines->count++;
    }
    (void)fwrite(text + written, 1, bytes - written, out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        orr_out_of_memory();
    }
}

void json_lines_release(struct json_lines *lines)
{
    orr_free(lines->breaks);
    free(lines->text); /* of a stream in memory */
}

void json_lines_place(struct json_lines *lines, uint32_t *line, uint32_t *column)
{
    while (lines->passed < lines->count && lines->breaks[lines->passed].line <= *line) {
        lines->passed++;
    }
    while (lines->passed > 0 && lines->breaks[lines->passed - 1].line > *line) {
        lines->passed--;
    }
    if (lines->passed > 0) {
        const struct json_break *last = &lines->breaks[lines->passed - 1];
        *column += *line == last->line ? last->given_column - 1 : 0;
        *line = last->given_line + (*line - last->line);
    }
}
