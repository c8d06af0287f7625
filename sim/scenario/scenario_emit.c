/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_emit.c - the canonical text: every value, rows in their order, params by name. */
#include "scenario_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>

#define PLAIN_START "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_/"
#define PLAIN       PLAIN_START "0123456789-.+@%"

struct text {
    char *bytes;
    size_t count, capacity;
};

static void put(struct text *out, const char *text)
{
    size_t bytes = strlen(text);
    if (out->count + bytes + 1 > out->capacity) {
        out->capacity = orr_grow(out->capacity, out->count + bytes + 1);
        out->bytes = orr_realloc(out->bytes, out->capacity, 1);
    }
    memcpy(out->bytes + out->count, text, bytes + 1);
    out->count += bytes;
}

static void put_indent(struct text *out, int depth)
{
    for (int i = 0; i < depth; i++) {
        put(out, "  ");
    }
}

static bool is_plain(const char *text)
{
    static const char *const words[] = {"null",  "Null",  "NULL", "true", "True", "TRUE", "false",
                                        "False", "FALSE", "y",    "Y",    "n",    "N",    "yes",
                                        "Yes",   "YES",   "no",   "No",   "NO",   "on",   "On",
                                        "ON",    "off",   "Off",  "OFF"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            return false;
        }
    }
    return text[0] != '\0' && strchr(PLAIN_START, text[0]) != NULL &&
           strspn(text, PLAIN) == strlen(text);
}

static bool is_decimal(const char *text)
{
    double ignored;
    return orr_parse_double(text, strlen(text), &ignored);
}

static void put_text(struct text *out, const char *text)
{
    if (is_plain(text) || is_decimal(text)) {
        put(out, text);
        return;
    }
    put(out, "\"");
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        char part[8];
        if (c < 0x20 || c == 0x7f) {
            (void)snprintf(part, sizeof part, "\\x%02x", (unsigned)c);
        } else {
            (void)snprintf(part, sizeof part, "%s%c", c == '"' || c == '\\' ? "\\" : "", *text);
        }
        put(out, part);
    }
    put(out, "\"");
}

static void put_scalar(struct text *out, const struct orr_scenario__row *row, const char *text)
{
    if (text == NULL) {
        put(out, "null");
    } else if (row == NULL || row->type == ORR_TYPE_TEXT || row->type == ORR_TYPE_CHOICE) {
        put_text(out, text);
    } else {
        put(out, text); /* canonical texts of the other types need no quotes */
    }
}

static void put_key(struct text *out, int depth, const char *key)
{
    put_indent(out, depth);
    put_text(out, key);
    put(out, ":");
}

static int compare_keys(const void *a, const void *b, void *context)
{
    (void)context;
    return strcmp((*(struct orr_scenario__node *const *)a)->key,
                  (*(struct orr_scenario__node *const *)b)->key);
}

static void put_open(struct text *out, const struct orr_scenario__node *node, int depth,
                     bool sorted)
{
    if (node->child_count == 0) {
        put(out, " {}\n");
        return;
    }
    size_t bytes = node->child_count * sizeof(struct orr_scenario__node *);
    struct orr_scenario__node **children = orr_alloc(node->child_count, sizeof *children);
    memcpy(children, node->children, bytes);
    if (sorted) {
        orr_sort(children, node->child_count, sizeof *children, compare_keys, NULL);
    }
    put(out, "\n");
    for (uint32_t i = 0; i < node->child_count; i++) {
        put_key(out, depth, children[i]->key);
        put(out, " ");
        put_text(out, children[i]->text);
        put(out, "\n");
    }
    orr_free(children);
}

static void put_words(struct text *out, const struct orr_scenario__node *node, int depth)
{
    put(out, node->child_count == 0 ? " []\n" : "\n");
    for (uint32_t i = 0; i < node->child_count; i++) {
        put_indent(out, depth);
        put(out, "- ");
        put_text(out, node->children[i]->text);
        put(out, "\n");
    }
}

static void put_group(struct text *out, const struct orr_scenario__row *group,
                      const struct orr_scenario__node *node, int depth, bool after_dash);

static void put_names(struct text *out, const struct orr_scenario__row *row,
                      const struct orr_scenario__node *node, int depth)
{
    const char *empty = row->listed ? " []\n" : " {}\n";
    put(out, node->child_count == 0 ? empty : "\n");
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct orr_scenario__node *child = node->children[i];
        if (row->listed) {
            put_indent(out, depth);
            put(out, "- ");
            put_group(out, row, child, depth + 1, true);
        } else {
            put_key(out, depth, child->key);
            if (row->type == ORR_TYPE_OPENS) {
                put_open(out, child, depth + 1, false);
            } else {
                put(out, "\n");
                put_group(out, row, child, depth + 1, false);
            }
        }
    }
}

static void put_row(struct text *out, const struct orr_scenario__row *row,
                    const struct orr_scenario__node *node, int depth)
{
    switch (row->type) {
    case ORR_TYPE_GROUP:
        put(out, "\n");
        put_group(out, row, node, depth + 1, false);
        break;
    case ORR_TYPE_NAMES:
    case ORR_TYPE_OPENS: put_names(out, row, node, depth + 1); break;
    case ORR_TYPE_OPEN: put_open(out, node, depth + 1, true); break;
    case ORR_TYPE_WORDS: put_words(out, node, depth + 1); break;
    default:
        put(out, " ");
        put_scalar(out, row, node->text);
        put(out, "\n");
        break;
    }
}

/* Amounts that follow from a queue's flavors are made again when the text is read. */
static bool follows(const struct orr_scenario__row *row, const struct orr_scenario__node *node)
{
    bool all = row->type == ORR_TYPE_GROUP && node->child_count > 0;
    for (uint32_t i = 0; i < node->child_count; i++) {
        all = all && node->children[i]->note == orr_scenario__sum_note;
    }
    return all;
}

static void put_group(struct text *out, const struct orr_scenario__row *group,
                      const struct orr_scenario__node *node, int depth, bool after_dash)
{
    for (uint32_t i = 0; i < group->row_count; i++) {
        const struct orr_scenario__row *row = &group->rows[i];
        const struct orr_scenario__node *child = orr_scenario__find(node, row->key);
        if (child != NULL && row->type != ORR_TYPE_EXTENDS && !follows(row, child)) {
            put_key(out, after_dash ? 0 : depth, row->key);
            put_row(out, row, child, depth);
            after_dash = false;
        }
    }
}

char *orr_scenario__emit(struct orr_arena *arena, const struct orr_scenario__node *root)
{
    struct text out = {0};
    put_group(&out, orr_scenario__root_row(), root, 0, false);
    char *text = orr_arena_strndup(arena, out.bytes, out.count);
    orr_free(out.bytes);
    return text;
}
