/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "cli.h"

static void quoted(FILE *out, const char *text)
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

/* Comma, line, indentation and key of what comes next. */
static void begin(struct orr_json *json, const char *key)
{
    if (json->depth > 0) {
        (void)fprintf(json->out, "%s\n%*s", json->first ? "" : ",", 2 * json->depth, "");
    }
    json->first = false;
    if (key != NULL) {
        quoted(json->out, key);
        (void)fputs(": ", json->out);
    }
}

void orr_json_open(struct orr_json *json, const char *key, char bracket)
{
    begin(json, key);
    (void)fputc(bracket, json->out);
    json->depth++;
    json->first = true;
}

void orr_json_close(struct orr_json *json, char bracket)
{
    json->depth--;
    if (!json->first) {
        (void)fprintf(json->out, "\n%*s", 2 * json->depth, "");
    }
    (void)fputc(bracket, json->out);
    json->first = false;
    if (json->depth == 0) {
        (void)fputc('\n', json->out);
    }
}

void orr_json_text(struct orr_json *json, const char *key, const char *value)
{
    begin(json, key);
    if (value == NULL) {
        (void)fputs("null", json->out);
    } else {
        quoted(json->out, value);
    }
}

void orr_json_int(struct orr_json *json, const char *key, int64_t value)
{
    begin(json, key);
    (void)fprintf(json->out, "%lld", (long long)value);
}

void orr_json_real(struct orr_json *json, const char *key, double value)
{
    begin(json, key);
    if (isfinite(value)) {
        (void)fprintf(json->out, "%.15g", value);
    } else {
        (void)fputs("null", json->out);
    }
}

void orr_json_bool(struct orr_json *json, const char *key, bool value)
{
    begin(json, key);
    (void)fputs(value ? "true" : "false", json->out);
}
