/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/xml.h>

#include <string.h>

void orr_xml_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const char c = *text;
        switch (c) {
        case '&': (void)fputs("&amp;", out); break;
        case '<': (void)fputs("&lt;", out); break;
        case '>': (void)fputs("&gt;", out); break;
        case '"': (void)fputs("&quot;", out); break;
        default:
            (void)fputc((unsigned char)c < ' ' && strchr("\t\n\r", c) == NULL ? ' ' : c, out);
            break;
        }
    }
}
