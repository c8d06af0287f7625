/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/param.h>

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

static bool parse_bool(const char *value, bool *out)
{
    *out = strcmp(value, "true") == 0;
    return *out || strcmp(value, "false") == 0;
}

static bool parse_choice(const struct orr_param *row, const char *value, int64_t *out)
{
    for (int64_t i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(row->choices[i], value) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool within(const struct orr_param *row, double value)
{
    bool bounded = row->min < row->max;
    return !bounded || (value >= row->min && value <= row->max);
}

static bool store(const struct orr_param *row, void *params, const char *value)
{
    char *field = (char *)params + row->offset;
    size_t bytes = strlen(value);
    union {
        bool flag;
        int64_t integer;
        double real;
    } v;
    switch (row->type) {
    case ORR_PARAM_BOOL:
        if (!parse_bool(value, &v.flag)) {
            return false;
        }
        memcpy(field, &v.flag, sizeof v.flag);
        return true;
    case ORR_PARAM_INT:
        if (!orr_parse_i64(value, bytes, &v.integer) || !within(row, (double)v.integer)) {
            return false;
        }
        break;
    case ORR_PARAM_TIME:
        if (!orr_parse_duration(value, bytes, &v.integer) || (v.integer < 0 && row->min >= 0)) {
            return false;
        }
        break;
    case ORR_PARAM_CHOICE:
        if (!parse_choice(row, value, &v.integer)) {
            return false;
        }
        break;
    case ORR_PARAM_REAL:
        if (!orr_parse_double(value, bytes, &v.real) || !within(row, v.real)) {
            return false;
        }
        memcpy(field, &v.real, sizeof v.real);
        return true;
    case ORR_PARAM_TEXT: memcpy(field, &value, sizeof value); return true;
    }
    memcpy(field, &v.integer, sizeof v.integer);
    return true;
}

/* No value that a scenario states stands where its file begins, for its key does. */
size_t orr_setting_file_bytes(const struct orr_setting *setting)
{
    static const char begin[] = ":1:1";
    const size_t end = sizeof begin - 1;
    const size_t bytes = setting->origin == NULL ? 0 : strlen(setting->origin);
    return bytes > end && strcmp(setting->origin + bytes - end, begin) == 0 ? bytes - end : 0;
}

void orr_params_init(const struct orr_param *rows, void *params)
{
    for (const struct orr_param *row = rows; row->name != NULL; row++) {
        bool ok = store(row, params, row->fallback);
        ORR_ASSERT(ok);
    }
}

static void describe_expected(const struct orr_param *row, char *out, size_t bytes)
{
    switch (row->type) {
    case ORR_PARAM_BOOL: (void)snprintf(out, bytes, "true or false"); return;
    case ORR_PARAM_TIME: (void)snprintf(out, bytes, "a time such as 90s or 2h"); return;
    case ORR_PARAM_INT:
    case ORR_PARAM_REAL:
        if (row->min < row->max) {
            (void)snprintf(out, bytes, "%s from %g to %g",
                           row->type == ORR_PARAM_INT ? "a whole number" : "a number", row->min,
                           row->max);
        } else {
            (void)snprintf(out, bytes, "%s",
                           row->type == ORR_PARAM_INT ? "a whole number" : "a number");
        }
        return;
    case ORR_PARAM_TEXT:
    case ORR_PARAM_CHOICE: break;
    }
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; row->choices[i] != NULL && used < bytes; i++) {
        int n = snprintf(out + used, bytes - used, "%s%s", i == 0 ? "" : " or ", row->choices[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

enum orr_status orr_params_set(const struct orr_param *rows, void *params, const char *name,
                               const char *value, struct orr_err *err)
{
    const char *names[64];
    size_t count = 0;
    for (const struct orr_param *row = rows; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            if (store(row, params, value)) {
                return ORR_OK;
            }
            char expected[200];
            describe_expected(row, expected, sizeof expected);
            return orr_fail(err, ORR_SCENARIO, "parameter %s: \"%s\" is not %s", name, value,
                            expected);
        }
        if (count < sizeof names / sizeof names[0]) {
            names[count++] = row->name;
        }
    }
    const char *near = orr_nearest(name, names, count);
    return near != NULL ? orr_fail(err, ORR_SCENARIO,
                                   "unknown parameter \"%s\" (did you mean \"%s\"?)", name, near)
                        : orr_fail(err, ORR_SCENARIO, "unknown parameter \"%s\"", name);
}

/* The shortest text that reads back as the same number. */
static void format_real(double value, char *out, size_t bytes)
{
    for (int digits = 6; digits <= 17; digits++) {
        int length = snprintf(out, bytes, "%.*g", digits, value);
        double back;
        if (length > 0 && orr_parse_double(out, strlen(out), &back) && !(back < value) &&
            !(back > value)) {
            return;
        }
    }
}

void orr_params_format(const struct orr_param *row, const void *params, char *out, size_t bytes)
{
    const char *field = (const char *)params + row->offset;
    bool flag;
    int64_t integer;
    double real;
    const char *text;
    switch (row->type) {
    case ORR_PARAM_BOOL:
        memcpy(&flag, field, sizeof flag);
        (void)snprintf(out, bytes, "%s", flag ? "true" : "false");
        return;
    case ORR_PARAM_REAL:
        memcpy(&real, field, sizeof real);
        format_real(real, out, bytes);
        return;
    case ORR_PARAM_TEXT:
        memcpy(&text, field, sizeof text);
        (void)snprintf(out, bytes, "%s", text);
        return;
    case ORR_PARAM_INT:
    case ORR_PARAM_TIME:
    case ORR_PARAM_CHOICE: break;
    }
    memcpy(&integer, field, sizeof integer);
    if (row->type == ORR_PARAM_CHOICE) {
        (void)snprintf(out, bytes, "%s", row->choices[integer]);
    } else {
        (void)snprintf(out, bytes, "%lld%s", (long long)integer,
                       row->type == ORR_PARAM_TIME ? "ms" : "");
    }
}
