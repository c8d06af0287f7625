/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/markdown.h>

#include <string.h>

void orr_markdown_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("|<*`\\", *text) != NULL) {
            (void)fputc('\\', out);
        }
        (void)fputc(strchr("\n\r", *text) != NULL ? ' ' : *text, out);
    }
}
