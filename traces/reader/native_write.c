/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <csv.h>

#include <orrery/base/text.h>

#include "native_int.h"

#define INSTANT_BITS                                                                               \
    (NATIVE_BIT(submit_s) | NATIVE_BIT(deadline_s) | NATIVE_BIT(eligible_s) |                      \
     NATIVE_BIT(running_since_s) | NATIVE_BIT(recorded_start_s) | NATIVE_BIT(recorded_end_s))

/* Commas, quotes and line ends need quotes, and so do blanks at the ends, which readers trim. */
static bool needs_quotes(struct orr_text text)
{
    char first = text.at[0];
    char last = text.at[text.bytes - 1];
    if (first == ' ' || first == '\t' || last == ' ' || last == '\t') {
        return true;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.at[i] == ',' || text.at[i] == '"' || text.at[i] == '\n' || text.at[i] == '\r') {
            return true;
        }
    }
    return false;
}

/* Millionths as a decimal number. */
static void write_level(FILE *out, int64_t ppm)
{
    char text[32];
    int length =
        snprintf(text, sizeof text, "%" PRId64 ".%06" PRId64, ppm / 1000000, ppm % 1000000);
    while (text[length - 1] == '0') {
        length--;
    }
    length -= text[length - 1] == '.';
    (void)fprintf(out, "%.*s", length, text);
}

static void write_number(FILE *out, enum native_type type, int64_t number)
{
    char text[32];
    switch (type) {
    case NATIVE_INSTANT:
    case NATIVE_SPAN:
    case NATIVE_GRACE:
    case NATIVE_SHARE: /* thousandths too */
        (void)orr_format_seconds(text, number);
        (void)fputs(text, out);
        break;
    case NATIVE_LEVEL: write_level(out, number); break;
    case NATIVE_SWITCH: (void)fputs(number != 0 ? "true" : "false", out); break;
    case NATIVE_KIND: (void)fputs(orr_kind_name((enum orr_kind)number), out); break;
    case NATIVE_TEXT:
    case NATIVE_COUNT:
    case NATIVE_COUNT0:
    case NATIVE_AMOUNT: (void)fprintf(out, "%" PRId64, number); break;
    }
}

/* A text with bytes that are no UTF-8; the field is quoted. */
static void write_mended(FILE *out, struct orr_text text)
{
    (void)putc('"', out);
    while (text.bytes > 0) {
        const struct orr_name_part part = orr_name_part(text.at, text.bytes);
        (void)fputs(part.text[0] == '"' ? "\"" : "", out);
        (void)fwrite(part.text, 1, part.bytes, out);
        text = (struct orr_text){text.at + part.took, text.bytes - part.took};
    }
    (void)putc('"', out);
}

void native_write_row(FILE *out, const struct native_values *values, uint64_t used, uint64_t dates,
                      const char *more)
{
    const char *separator = "";
    for (unsigned i = 0; i < NATIVE_COLUMN_COUNT; i++) {
        if ((used >> i & 1) == 0) {
            continue;
        }
        (void)fputs(separator, out);
        separator = ",";
        if ((values->given >> i & 1) == 0) {
            continue;
        }
        if ((dates >> i & 1) != 0) {
            char text[32];
            (void)orr_format_timestamp(text, values->number[i]);
            (void)fputs(text, out);
        } else if (native_column_types[i] != NATIVE_TEXT) {
            write_number(out, native_column_types[i], values->number[i]);
        } else if (orr_name_written(values->text[i].at, values->text[i].bytes) !=
                   values->text[i].bytes) {
            write_mended(out, values->text[i]);
        } else if (needs_quotes(values->text[i])) {
            (void)csv_fwrite(out, values->text[i].at, values->text[i].bytes);
        } else {
            (void)fwrite(values->text[i].at, 1, values->text[i].bytes, out);
        }
    }
    if (more != NULL) {
        (void)fprintf(out, ",%s", more);
    }
    (void)putc('\n', out);
}

void native_write_header(FILE *out, uint64_t used, const char *more)
{
    const char *separator = "";
    for (unsigned i = 0; i < NATIVE_COLUMN_COUNT; i++) {
        if ((used >> i & 1) != 0) {
            (void)fprintf(out, "%s%s", separator, native_column_names[i]);
            separator = ",";
        }
    }
    if (more != NULL) {
        (void)fprintf(out, ",%s", more);
    }
    (void)putc('\n', out);
}

static void write_all(FILE *out, const struct orr_workload *workload, bool dated)
{
    const uint64_t dates = dated ? INSTANT_BITS : 0;
    struct native_values values;
    uint64_t used = NATIVE_BIT(job) | NATIVE_BIT(submit_s);
    for (uint32_t i = 0; i < workload->count; i++) {
        native_give(workload, &workload->rows[i], &values);
        used |= values.given;
    }
    native_write_header(out, used, NULL);
    for (uint32_t i = 0; i < workload->count; i++) {
        native_give(workload, &workload->rows[i], &values);
        for (unsigned c = 0; dated && c < NATIVE_COLUMN_COUNT; c++) {
            if ((values.given & dates) >> c & 1) {
                values.number[c] += workload->clock_origin_ms;
            }
        }
        native_write_row(out, &values, used, dates, NULL);
    }
}

void orr_trace_write_rows(const struct orr_workload *workload, FILE *out)
{
    write_all(out, workload, workload->clock_origin_ms != ORR_MS_NONE);
}

void orr_trace_write_native(const struct orr_workload *workload, FILE *out)
{
    write_all(out, workload, false);
}
