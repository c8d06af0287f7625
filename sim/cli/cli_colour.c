/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_colour.c - answers for people: verdicts stand out on a terminal. What is printed is the same
 * with and without colours. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct {
    const char *word, *colour; /* a whole word or line of words, and its SGR */
} verdicts[] = {{"worse off:", "\033[31m"}, {"better off:", "\033[32m"},
                {"worse", "\033[31m"},      {"better", "\033[32m"},
                {"regressed", "\033[31m"},  {"inconclusive", "\033[33m"},
                {"pass", "\033[32m"}};

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

/* By --color; auto: on a terminal that is not dumb, unless NO_COLOR is set. */
static bool is_coloured(const struct orr_cli_common *common, FILE *out)
{
    const char *term = getenv("TERM");
    if (common->color != ORR_COLOR_AUTO) {
        return common->color == ORR_COLOR_ALWAYS;
    }
    return !is_set("NO_COLOR") && orr_cli_is_terminal(out) && term != NULL &&
           strcmp(term, "dumb") != 0;
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

static void put(const char *text, FILE *out)
{
    bool begins = true;
    while (*text != '\0') {
        const int verdict = verdict_at(text, begins);
        if (verdict >= 0) {
            orr_cli_command(out, verdicts[verdict].colour);
            (void)fputs(verdicts[verdict].word, out);
            orr_cli_command(out, "\033[0m");
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
    if (is_coloured(common, out)) {
        colour->stream = open_memstream(&colour->text, &colour->bytes);
    }
    return colour->stream != NULL ? colour->stream : out;
}

void orr_cli_colour_end(struct orr_cli_colour *colour)
{
    if (colour->stream != NULL) {
        (void)fclose(colour->stream);
        put(colour->text, colour->out);
        free(colour->text);
    }
}
