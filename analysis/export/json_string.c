/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/json.h>

void orr_json_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            (void)fprintf(out, "\\%c", *p);
        } else if (*p < 0x20) {
            (void)fprintf(out, "\\u%04x", *p);
        } else {
            (void)fputc(*p, out);
        }
    }
    (void)fputc('"', out);
}
