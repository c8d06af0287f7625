/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/xml.h>

#include <string.h>

#include <orrery/base/text.h>

/* Bytes of a character that XML may have at `text`; 0: none is there. */
static size_t character_bytes(const char *text)
{
    const size_t bytes = orr_utf8_bytes(text, strnlen(text, 4));
    const bool is_none =
        strncmp(text, "\xef\xbf\xbe", 3) == 0 || strncmp(text, "\xef\xbf\xbf", 3) == 0;
    return is_none ? 0 : bytes;
}

void orr_xml_text(FILE *out, const char *text)
{
    while (*text != '\0') {
        const char c = *text;
        const size_t bytes = character_bytes(text);
        if (bytes != 1) {
            (void)fwrite(bytes > 0 ? text : "\xef\xbf\xbd", 1, bytes > 0 ? bytes : 3, out);
            text += bytes > 0 ? bytes : 1;
            continue;
        }
        switch (c) {
        case '&': (void)fputs("&amp;", out); break;
        case '<': (void)fputs("&lt;", out); break;
        case '>': (void)fputs("&gt;", out); break;
        case '"': (void)fputs("&quot;", out); break;
        default:
            (void)fputc((unsigned char)c < ' ' && strchr("\t\n\r", c) == NULL ? ' ' : c, out);
            break;
        }
        text++;
    }
}
