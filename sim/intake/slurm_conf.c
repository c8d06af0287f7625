/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_conf.c - nodes and partitions of a slurm.conf as the records that scontrol prints: one a
 * line, each with what its DEFAULT lines state behind its own words. What else the file says is
 * policy slurm's to read. */
#include "slurm_conf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <orrery/base/mem.h>

enum { CONF_NODE, CONF_PARTITION, CONF_KINDS };
static const char *const heads[CONF_KINDS] = {"NodeName=", "PartitionName="};

/* A line without its comment and the blanks around it; *text moves behind it. Lines that end with a
 * backslash go on with the next, which the caller sees as blanks. */
static struct orr_cell next_line(struct orr_cell *text)
{
    size_t end = 0;
    while (end < text->bytes &&
           !(text->at[end] == '\n' && (end == 0 || text->at[end - 1] != '\\'))) {
        end++;
    }
    struct orr_cell line = {text->at, end};
    end += end < text->bytes;
    *text = (struct orr_cell){text->at + end, text->bytes - end};
    const char *comment = line.bytes > 0 ? memchr(line.at, '#', line.bytes) : NULL;
    line.bytes = comment != NULL ? (size_t)(comment - line.at) : line.bytes;
    while (line.bytes > 0 && strchr(" \t\r\n", line.at[0]) != NULL) {
        line.at++;
        line.bytes--;
    }
    while (line.bytes > 0 && strchr(" \t\r\n\\", line.at[line.bytes - 1]) != NULL) {
        line.bytes--;
    }
    return line;
}

static bool begins_with(struct orr_cell line, const char *head)
{
    const size_t bytes = strlen(head);
    return line.bytes >= bytes && strncasecmp(line.at, head, bytes) == 0;
}

static int kind_of(struct orr_cell line)
{
    int kind = 0;
    while (kind < CONF_KINDS && !begins_with(line, heads[kind])) {
        kind++;
    }
    return kind;
}

/* "Key=" or "Key =". */
static bool is_setting(struct orr_cell line)
{
    size_t i = 0;
    while (i < line.bytes && (isalnum((unsigned char)line.at[i]) || line.at[i] == '_')) {
        i++;
    }
    const bool has_key = i > 0;
    while (i < line.bytes && (line.at[i] == ' ' || line.at[i] == '\t')) {
        i++;
    }
    return has_key && i < line.bytes && line.at[i] == '=';
}

static bool is_default(struct orr_cell line, int kind)
{
    static const char named[] = "DEFAULT";
    const size_t head = strlen(heads[kind]);
    const struct orr_cell rest = {line.at + head, line.bytes - head};
    const size_t bytes = sizeof named - 1;
    return begins_with(rest, named) &&
           (rest.bytes == bytes || strchr(" \t\r\n\\", rest.at[bytes]) != NULL);
}

/* Records of several lines, as scontrol prints them, have settings too: these are indented. */
bool slurm_is_conf(struct orr_cell text)
{
    bool has_others = false, has_nodes = false;
    while (text.bytes > 0) {
        const char *begin = text.at;
        const struct orr_cell line = next_line(&text);
        const int kind = kind_of(line);
        if (line.bytes == 0) {
            continue;
        }
        if (!is_setting(line) && !begins_with(line, "include ")) {
            return false;
        }
        has_nodes = has_nodes || kind < CONF_KINDS;
        has_others = has_others || (kind == CONF_KINDS ? line.at == begin : is_default(line, kind));
    }
    return has_others && has_nodes;
}

/* The words of a line, blanks and line ends between them as one blank each. */
static void put_words(struct orr_cell line, FILE *out)
{
    bool gap = false;
    for (size_t i = 0; i < line.bytes; i++) {
        const bool blank = strchr(" \t\r\n\\", line.at[i]) != NULL && line.at[i] != '\0';
        if (!blank) {
            (void)fputs(gap ? " " : "", out);
            (void)fputc(line.at[i], out);
        }
        gap = blank;
    }
}

/* The later of two DEFAULT lines goes before the earlier. */
static char *default_of(struct orr_cell words, char *before)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    (void)fputc(' ', out);
    put_words(words, out);
    (void)fputs(before != NULL ? before : "", out);
    (void)fclose(out);
    free(before);
    return text;
}

void slurm_conf_records(struct orr_cell text, FILE *out, bool *includes)
{
    char *defaults[CONF_KINDS] = {NULL, NULL};
    *includes = false;
    while (text.bytes > 0) {
        const struct orr_cell line = next_line(&text);
        const int kind = kind_of(line);
        *includes = *includes || begins_with(line, "include ");
        if (kind == CONF_KINDS) {
            continue;
        }
        const size_t head = strlen(heads[kind]) + (is_default(line, kind) ? strlen("DEFAULT") : 0);
        const struct orr_cell rest = {line.at + head, line.bytes - head};
        if (is_default(line, kind)) {
            defaults[kind] = default_of(rest, defaults[kind]);
            continue;
        }
        (void)fputs(heads[kind], out);
        put_words(rest, out);
        (void)fputs(defaults[kind] != NULL ? defaults[kind] : "", out);
        (void)fputc('\n', out);
    }
    for (int k = 0; k < CONF_KINDS; k++) {
        free(defaults[k]);
    }
}
