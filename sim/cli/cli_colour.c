/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_colour.c - answers for people: verdicts stand out on a terminal, and names cannot command it.
 * What is printed is the same with and without colours. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct {
    const char *word, *colour; /* a whole word or line of words, and its SGR */
} verdicts[] = {{"worse off:", "31"}, {"better off:", "32"},  {"worse", "31"}, {"better", "32"},
                {"regressed", "31"},  {"inconclusive", "33"}, {"pass", "32"}};

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

bool orr_cli_is_coloured(const struct orr_cli_common *common, FILE *out)
{
    const char *term = getenv("TERM");
    if (common->color != ORR_COLOR_AUTO) {
        return common->color == ORR_COLOR_ALWAYS;
    }
    return !is_set("NO_COLOR") && isatty(fileno(out)) && term != NULL && strcmp(term, "dumb") != 0;
}

static bool ends_word(char c)
{
    return c == '\0' || c == ' ' || c == '\n' || c == ',' || c == ')' || c == '.' || c == ';';
}

/* Index of the verdict that stands here as a word, or -1. */
static int verdict_at(const char *text, bool begins)
{
    for (size_t i = 0; begins && i < sizeof verdicts / sizeof verdicts[0]; i++) {
        const size_t bytes = strlen(verdicts[i].word);
        if (strncmp(text, verdicts[i].word, bytes) == 0 && ends_word(text[bytes])) {
            return (int)i;
        }
    }
    return -1;
}

/* Of a character that terminals obey (C0 but the ends of lines and tabs, DEL, C1 in UTF-8) the
 * bytes; 0: it is none. */
static size_t command_bytes(const char *text)
{
    const unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];
    if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f) {
        return 1;
    }
    return c == 0xc2 && next >= 0x80 && next < 0xa0 ? 2 : 0;
}

static void put(const char *text, bool is_coloured, FILE *out)
{
    bool begins = true;
    while (*text != '\0') {
        const int verdict = verdict_at(text, is_coloured && begins);
        const size_t command = command_bytes(text);
        if (command > 0) {
            (void)fputc('?', out);
            text += command;
            begins = false;
            continue;
        }
        if (verdict >= 0) {
            (void)fprintf(out, "\033[%sm%s\033[0m", verdicts[verdict].colour,
                          verdicts[verdict].word);
            text += strlen(verdicts[verdict].word);
            begins = false;
            continue;
        }
        begins = *text == ' ' || *text == '\n' || *text == '(';
        (void)fputc(*text++, out);
    }
}

FILE *orr_cli_colour_begin(struct orr_cli_colour *colour, const struct orr_cli_common *common,
                           FILE *out)
{
    *colour = (struct orr_cli_colour){.out = out};
    if (common != NULL) {
        colour->is_coloured = orr_cli_is_coloured(common, out);
        colour->stream = open_memstream(&colour->text, &colour->bytes);
    }
    return colour->stream != NULL ? colour->stream : out;
}

void orr_cli_colour_end(struct orr_cli_colour *colour)
{
    if (colour->stream != NULL) {
        (void)fclose(colour->stream);
        put(colour->text, colour->is_coloured, colour->out);
        free(colour->text);
    }
}
