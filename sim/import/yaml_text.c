/* SPDX-License-Identifier: GPL-3.0-or-later */
/* yaml_text.c - text that a YAML file holds. */
#include <orrery/sim/yaml.h>

void orr_put_quoted(FILE *out, const char *text)
{
    (void)putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c < 0x20 || *c == 0x7f) {
            (void)fprintf(out, "\\x%02x", *c);
        } else {
            (void)fprintf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
        }
    }
    (void)putc('"', out);
}
