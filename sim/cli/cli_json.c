/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include <orrery/analysis/json.h>

#include "cli.h"

/* Comma, line, indentation and key of what comes next. */
static void begin(struct orr_json *json, const char *key)
{
    if (json->depth > 0) {
        (void)fprintf(json->out, "%s\n%*s", json->first ? "" : ",", 2 * json->depth, "");
    }
    json->first = false;
    if (key != NULL) {
        orr_json_string(json->out, key);
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
        orr_json_string(json->out, value);
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
