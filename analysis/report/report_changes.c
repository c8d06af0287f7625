/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_changes.c - what a run's scenario has other than the first one's. */
#include "report_int.h"
#include "report_sql.h"

#include <string.h>

#define SAID_MOST 6 /* changes named in a sentence */

static char *resolved(struct orr_results *in)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__scenario);
    char *text = NULL;
    while (orr_results_step(in, row)) {
        text = orr_results_text(in, row, 0);
    }
    return text != NULL ? text : orr_arena_strndup(&in->arena, "", 0);
}

static bool has_line(const char *text, const char *line, size_t bytes)
{
    for (const char *at = text; *at != '\0';) {
        const size_t n = strcspn(at, "\n");
        if (n == bytes && memcmp(at, line, bytes) == 0) {
            return true;
        }
        at += n + (at[n] == '\n');
    }
    return false;
}

/* Lines of `text` that the other has not. */
static void lines_apart(const char *text, const char *other, char sign, FILE *out)
{
    for (const char *at = text; *at != '\0';) {
        const size_t n = strcspn(at, "\n");
        if (!has_line(other, at, n) && n < 300) {
            char line[320];
            (void)snprintf(line, sizeof line, "%c %.*s\n", sign, (int)n, at);
            orr_xml_text(out, line);
        }
        at += n + (at[n] == '\n');
    }
}

void orr_report__changes(const struct orr_report_options *options, uint32_t index, FILE *out)
{
    const char *words = options->changes != NULL ? options->changes[index] : NULL;
    struct orr_results base, in;
    struct orr_err ignored = {0};
    orr_results_open(&base, options->paths[0], &ignored);
    orr_results_open(&in, options->paths[index], &ignored);
    const char *before = resolved(&base), *after = resolved(&in);
    if (words == NULL) {
        (void)fputs("<pre>", out);
        lines_apart(before, after, '-', out);
        lines_apart(after, before, '+', out);
        (void)fputs("</pre>\n", out);
    } else if (words[0] == '\0') {
        (void)fputs("<p>Nothing: both ran the same scenario.</p>\n", out);
    } else {
        (void)fputs("<ul>\n", out);
        for (const char *at = words; *at != '\0';) {
            const size_t n = strcspn(at, "\n");
            char line[600];
            (void)snprintf(line, sizeof line, "%.*s", n < 590 ? (int)n : 590, at);
            (void)fputs("<li>", out);
            orr_xml_text(out, line);
            (void)fputs("</li>\n", out);
            at += n + (at[n] == '\n');
        }
        (void)fputs("</ul>\n", out);
    }
    orr_results_close(&in);
    orr_results_close(&base);
}

void orr_report__changes_short(const struct orr_report_options *options, uint32_t index, FILE *out)
{
    const char *words = options->changes != NULL ? options->changes[index] : NULL;
    uint32_t count = 0;
    if (words == NULL || words[0] == '\0') {
        (void)fputs(words == NULL ? "see below" : "nothing", out);
        return;
    }
    for (const char *at = words; *at != '\0';) {
        const size_t n = strcspn(at, "\n");
        if (count++ < SAID_MOST) {
            char line[300];
            (void)snprintf(line, sizeof line, "%.*s", n < 290 ? (int)n : 290, at);
            (void)fputs(count > 1 ? "; " : "", out);
            orr_xml_text(out, line);
        }
        at += n + (at[n] == '\n');
    }
    if (count > SAID_MOST) {
        (void)fprintf(out, "; and %u more", count - SAID_MOST);
    }
}
