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
#include <orrery/policies/slurm_lines.h>

enum { CONF_NODE, CONF_PARTITION, CONF_KINDS };
static const char *const heads[CONF_KINDS] = {"NodeName", "PartitionName"};

static bool is(const char *at, size_t bytes, const char *word)
{
    return strlen(word) == bytes && strncasecmp(at, word, bytes) == 0;
}

static int kind_of(const struct orr_slurm_pair *pair)
{
    int kind = 0;
    while (kind < CONF_KINDS &&
           !(pair->has_sign && is(pair->name, pair->name_bytes, heads[kind]))) {
        kind++;
    }
    return kind;
}

static bool is_include(const struct orr_slurm_pair *pair)
{
    return !pair->has_sign && is(pair->name, pair->name_bytes, "include");
}

static bool is_setting(const struct orr_slurm_pair *pair)
{
    size_t i = 0;
    while (i < pair->name_bytes &&
           (isalnum((unsigned char)pair->name[i]) || pair->name[i] == '_')) {
        i++;
    }
    return pair->has_sign && i == pair->name_bytes && i > 0;
}

/* Records of several lines, as scontrol prints them, have settings too: these are indented. */
bool slurm_is_conf(struct orr_cell text)
{
    struct orr_slurm_lines lines = {.at = text.at, .end = text.at + text.bytes};
    struct orr_slurm_line line;
    struct orr_slurm_pair pair;
    struct orr_arena arena;
    bool has_others = false, has_nodes = false, is_conf = true;
    orr_arena_init(&arena);
    while (is_conf && orr_slurm_next_line(&lines, &arena, &line)) {
        const char *rest = line.text;
        if (!orr_slurm_next_pair(&rest, &line.bytes, &pair)) {
            continue;
        }
        const int kind = kind_of(&pair);
        is_conf = is_setting(&pair) || is_include(&pair);
        has_nodes = has_nodes || kind < CONF_KINDS || is_include(&pair); /* which may have them */
        has_others =
            has_others || (kind == CONF_KINDS ? pair.name == line.text
                                              : is(pair.value, pair.value_bytes, "DEFAULT"));
    }
    orr_arena_release(&arena);
    return is_conf && has_others && has_nodes;
}

/* The pairs of a line that are left, as records have them. */
static void put_pairs(const char *text, size_t bytes, FILE *out)
{
    struct orr_slurm_pair pair;
    while (orr_slurm_next_pair(&text, &bytes, &pair)) {
        const bool quoted = pair.value_bytes > 0 && memchr(pair.value, ' ', pair.value_bytes);
        (void)fprintf(out, " %.*s%s%s%.*s%s", (int)pair.name_bytes, pair.name,
                      pair.has_sign ? "=" : "", quoted ? "\"" : "", (int)pair.value_bytes,
                      pair.value, quoted ? "\"" : "");
    }
}

/* The later of two DEFAULT lines goes before the earlier. */
static char *default_of(const char *words, size_t words_bytes, char *before)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    put_pairs(words, words_bytes, out);
    (void)fputs(before != NULL ? before : "", out);
    (void)fclose(out);
    free(before);
    return text;
}

void slurm_conf_records(struct orr_cell text, FILE *out)
{
    struct orr_slurm_lines lines = {.at = text.at, .end = text.at + text.bytes};
    struct orr_slurm_line line;
    struct orr_slurm_pair pair;
    struct orr_arena arena;
    char *defaults[CONF_KINDS] = {NULL, NULL};
    orr_arena_init(&arena);
    while (orr_slurm_next_line(&lines, &arena, &line)) {
        const char *rest = line.text;
        if (!orr_slurm_next_pair(&rest, &line.bytes, &pair)) {
            continue;
        }
        const int kind = kind_of(&pair);
        if (kind == CONF_KINDS) {
            continue;
        }
        if (is(pair.value, pair.value_bytes, "DEFAULT")) {
            defaults[kind] = default_of(rest, line.bytes, defaults[kind]);
            continue;
        }
        (void)fprintf(out, "%s=%.*s", heads[kind], (int)pair.value_bytes, pair.value);
        put_pairs(rest, line.bytes, out);
        (void)fprintf(out, "%s\n", defaults[kind] != NULL ? defaults[kind] : "");
    }
    for (int k = 0; k < CONF_KINDS; k++) {
        free(defaults[k]);
    }
    orr_arena_release(&arena);
}
