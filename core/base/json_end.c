/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/json_end.h>

#include <stdbool.h>
#include <string.h>

struct place {
    uint32_t line, column;
};

/* A text as far as it is known without the grammar of JSON. */
struct scan {
    struct place here;  /* of the next character */
    struct place end;   /* behind the last one but white space */
    struct place token; /* where the last string, number or word begins; behind the last bracket */
    uint64_t open;      /* objects and lists that are not closed */
    bool in_string, in_word;
};

static bool is_before(struct place a, struct place b)
{
    return a.line != b.line ? a.line < b.line : a.column < b.column;
}

static struct place behind(struct place place, char c)
{
    const bool goes_on = ((unsigned char)c & 0xc0) == 0x80; /* of a character of UTF-8 */
    return c == '\n' ? (struct place){place.line + 1, 1}
                     : (struct place){place.line, place.column + (goes_on ? 0 : 1)};
}

static void take_outside(struct scan *scan, char c)
{
    const bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    const bool apart = opens || closes || blank || c == ',' || c == ':';
    scan->open += opens ? 1 : 0;
    scan->open -= closes && scan->open > 0 ? 1 : 0;
    const bool goes_on = scan->in_word && !apart && c != '"';
    if (!blank && !goes_on) {
        scan->token = closes ? behind(scan->here, c) : scan->here;
    }
    scan->in_string = c == '"';
    scan->in_word = !apart && c != '"';
    scan->here = behind(scan->here, c);
    scan->end = blank ? scan->end : scan->here;
}

const char *orr_json_end(const char *text, size_t bytes, uint32_t *line, uint32_t *column)
{
    struct scan scan = {.here = {1, 1}, .end = {1, 1}, .token = {1, 1}};
    bool escaped = false;
    for (size_t i = 0; i < bytes; i++) {
        if (!scan.in_string) {
            take_outside(&scan, text[i]);
            continue;
        }
        scan.in_string = escaped || text[i] != '"';
        escaped = !escaped && text[i] == '\\';
        scan.here = scan.end = behind(scan.here, text[i]);
    }
    if ((scan.open == 0 && !scan.in_string) ||
        is_before((struct place){*line, *column}, scan.token)) {
        return NULL;
    }
    *line = scan.end.line;
    *column = scan.end.column;
    return scan.in_string ? "the file ends too soon, within a string"
                          : "the file ends too soon, before the } or ] of what it begins";
}
