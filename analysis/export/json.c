/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/json.h>

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

static void put_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (size_t left = strlen(text); left > 0;) {
        const size_t bytes = orr_utf8_bytes(text, left);
        if (bytes == 0) {
            (void)fputs("\\ufffd", out);
        } else if (*text == '"' || *text == '\\') {
            (void)fprintf(out, "\\%c", *text);
        } else if ((unsigned char)*text < 0x20) {
            (void)fprintf(out, "\\u%04x", *text);
        } else {
            (void)fwrite(text, 1, bytes, out);
        }
        text += bytes > 0 ? bytes : 1;
        left -= bytes > 0 ? bytes : 1;
    }
    (void)fputc('"', out);
}

static void new_line(struct orr_json *json)
{
    if (!json->one_line) {
        (void)fprintf(json->out, "\n%*s", 2 * json->depth, "");
    }
}

/* Comma, line, indentation and key of what comes next. */
static void begin(struct orr_json *json, const char *key)
{
    if (json->depth > 0) {
        (void)fputs(json->first ? "" : ",", json->out);
        new_line(json);
    }
    json->first = false;
    if (key != NULL) {
        put_string(json->out, key);
        (void)fputs(json->one_line ? ":" : ": ", json->out);
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
        new_line(json);
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
        put_string(json->out, value);
    }
}

void orr_json_sentence(const char *text, void *json)
{
    orr_json_text(json, NULL, text);
}

void orr_json_int(struct orr_json *json, const char *key, int64_t value)
{
    begin(json, key);
    (void)fprintf(json->out, "%lld", (long long)value);
}

void orr_json_real(struct orr_json *json, const char *key, double value)
{
    begin(json, key);
    if (isfinite(value)) { /* 15 digits: 0.1 + 0.2 is 0.3, milliseconds stay exact */
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

void orr_json_seconds(struct orr_json *json, const char *key, orr_ms value)
{
    orr_json_real(json, key, value == ORR_MS_NONE ? (double)NAN : (double)value / 1000.0);
}
