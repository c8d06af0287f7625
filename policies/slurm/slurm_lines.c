/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_lines.c - the lines of slurm.conf, and the words of a line. */
#include <orrery/policies/slurm_lines.h>

#include <string.h>

/* How many bytes go where a line goes on with the next: a backslash, blanks and the line end. */
static size_t joint_at(const char *at, const char *end)
{
    const char *behind = at + 1;
    if (at >= end || *at != '\\') {
        return 0;
    }
    while (behind < end && strchr(" \t\r", *behind) != NULL && *behind != '\0') {
        behind++;
    }
    return behind < end && *behind == '\n' ? (size_t)(behind + 1 - at) : 0;
}

/* The line that says where the text goes on, which is passed; false: it is another. */
static bool take_place(struct orr_slurm_lines *lines, struct orr_arena *arena)
{
    static const char begin[] = ORR_SLURM_FILE_LINE;
    const size_t left = (size_t)(lines->end - lines->at), bytes = sizeof begin - 1;
    const char *at = lines->at + bytes;
    uint32_t number = 0;
    if (left < bytes || memcmp(lines->at, begin, bytes) != 0) {
        return false;
    }
    for (; at < lines->end && *at >= '0' && *at <= '9' && number < UINT32_MAX / 100; at++) {
        number = 10 * number + (uint32_t)(*at - '0');
    }
    const char *stop = memchr(at, '\n', (size_t)(lines->end - at));
    if (number == 0 || stop == NULL || stop - at < 3 || at[0] != ' ' || at[1] != '"' ||
        stop[-1] != '"') {
        return false;
    }
    lines->number = number - 1;
    lines->file = stop - at > 3 ? orr_arena_strndup(arena, at + 2, (size_t)(stop - at) - 3) : NULL;
    lines->at = stop + 1;
    return true;
}

bool orr_slurm_next_line(struct orr_slurm_lines *lines, struct orr_arena *arena,
                         struct orr_slurm_line *line)
{
    while (lines->at < lines->end && take_place(lines, arena)) {
    }
    const char *at = lines->at;
    size_t bytes = 0;
    if (at >= lines->end) {
        return false;
    }
    line->file = lines->file;
    line->raw = at;
    line->raw_end = lines->end;
    line->number = lines->number + 1;
    const char *stop = at; /* for the room of it; joints only take bytes away */
    while (stop < lines->end && *stop != '\n') {
        const size_t joint = joint_at(stop, lines->end);
        stop += joint > 0 ? joint : 1;
    }
    char *text = orr_arena_strndup(arena, at, (size_t)(stop - at));
    while (at < stop) {
        const size_t joint = joint_at(at, lines->end);
        lines->number += joint > 0;
        if (joint == 0) {
            text[bytes++] = *at;
        }
        at += joint > 0 ? joint : 1;
    }
    lines->number++;
    lines->at = stop + (stop < lines->end);
    line->text = text;
    const char *comment = bytes == 0 ? NULL : memchr(text, '#', bytes);
    line->bytes = comment == NULL ? bytes : (size_t)(comment - text);
    return true;
}

void orr_slurm_place(const struct orr_slurm_line *line, const char *part, uint32_t *number,
                     uint32_t *column)
{
    const char *at = line->raw;
    size_t left = (size_t)(part - line->text), joint = joint_at(at, line->raw_end);
    *number = line->number;
    *column = 1;
    while (left > 0 || joint > 0) {
        *number += joint > 0;
        *column = joint > 0 ? 1 : *column + 1;
        left -= joint == 0;
        at += joint > 0 ? joint : 1;
        joint = joint_at(at, line->raw_end);
    }
}

static size_t blanks(const char *text, size_t bytes, size_t at)
{
    while (at < bytes && strchr(" \t\r", text[at]) != NULL) {
        at++;
    }
    return at;
}

static size_t word_end(const char *text, size_t bytes, size_t at, const char *ends)
{
    bool quoted = false;
    while (at < bytes && (quoted || strchr(ends, text[at]) == NULL)) {
        quoted = text[at] == '"' ? !quoted : quoted;
        at++;
    }
    return at;
}

bool orr_slurm_next_pair(const char **text, size_t *bytes, struct orr_slurm_pair *pair)
{
    const char *at = *text;
    const size_t begin = blanks(at, *bytes, 0), name_end = word_end(at, *bytes, begin, " \t\r=");
    const size_t sign = blanks(at, *bytes, name_end);
    size_t end = name_end;
    *pair = (struct orr_slurm_pair){at + begin, at + name_end, name_end - begin, 0, false};
    if (sign < *bytes && at[sign] == '=') {
        const size_t from = blanks(at, *bytes, sign + 1);
        end = word_end(at, *bytes, from, " \t\r");
        pair->value = at + from;
        pair->value_bytes = end - from;
        pair->has_sign = true;
    }
    if (pair->value_bytes >= 2 && pair->value[0] == '"' &&
        pair->value[pair->value_bytes - 1] == '"') {
        pair->value++;
        pair->value_bytes -= 2;
    }
    *text += end;
    *bytes -= end;
    return end > begin;
}
