/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The native format: a header that names columns in any order, one row a job. */
#include <string.h>

#include <orrery/base/text.h>

#include "native_int.h"

/* What the first instant of the file is; all others must be of its kind. */
enum native_clock { CLOCK_UNKNOWN, CLOCK_SECONDS, CLOCK_DATES };

struct native {
    struct orr_reader *reader;
    enum native_clock clock;
    bool no_zone;                                    /* a date had none */
    enum native_column present[NATIVE_COLUMN_COUNT]; /* known columns of this file */
    uint32_t present_count;
    const char *const *aliases; /* by column: the other name that the header has of it, or NULL */
    struct native_memory memory;
    struct native_values values;
    struct orr_idmap odd; /* names with U+FFFD as they are written, in the order of their jobs */
};

static bool parse_word(struct native *native, uint32_t line, enum native_column column,
                       struct orr_text text, int64_t *out)
{
    if (native_parse_word(column, text, out)) {
        return true;
    }
    orr_workload_reject(
        native->reader->workload, native->reader->file, line, "column %s: \"%s\" is not %s",
        orr_column_show(native->reader, native_column_names[column]).text, orr_text_show(text).text,
        native_column_types[column] == NATIVE_SWITCH
            ? "true or false"
            : "training, interactive, inference or unknown");
    return false;
}

/* "2026-...": dates are much longer than numbers of seconds. */
static bool has_date_shape(struct orr_text text)
{
    return text.bytes >= sizeof "YYYY-MM-DD" - 1 && text.at[4] == '-' && text.at[7] == '-';
}

static bool read_instant(struct native *native, uint32_t line, const struct orr_number *number,
                         struct orr_text text, int64_t *out)
{
    const enum native_clock clock = has_date_shape(text) ? CLOCK_DATES : CLOCK_SECONDS;
    const bool has_zone = clock == CLOCK_SECONDS || orr_date_has_zone(text);
    const char *why = NULL;
    if (native->clock != CLOCK_UNKNOWN && clock != native->clock) {
        why = clock == CLOCK_DATES ? "is a date, and the times before it are seconds"
                                   : "is no date, and the times before it are";
    } else if (clock == CLOCK_SECONDS) {
        if (!orr_field_number(native->reader, line, number, text, out)) {
            return false;
        }
    } else if (!orr_parse_timestamp(text.at, text.bytes, out)) {
        why = "is not a time like 2026-06-01T12:00:00Z";
    } else {
        *out = has_zone ? *out : orr_zone_utc(native->reader->zone, *out);
        why = *out < 0 || *out > ORR_DATE_MAX_MS ? "is out of range" : NULL;
    }
    if (why != NULL) {
        orr_workload_reject(
            native->reader->workload, native->reader->file, line, "column %s: \"%s\" %s",
            orr_column_show(native->reader, number->column).text, orr_text_show(text).text, why);
        return false;
    }
    native->clock = clock;
    native->no_zone = native->no_zone || !has_zone;
    return true;
}

/* Reads one cell that is not empty into the values. */
static bool read_cell(struct native *native, uint32_t line, enum native_column column,
                      struct orr_text text)
{
    struct native_values *values = &native->values;
    enum native_type type = native_column_types[column];
    native->reader->alias = native->aliases[column];
    if (type == NATIVE_TEXT) {
        const char *fault = native_text_fault(column, text);
        values->text[column] = text;
        if (fault != NULL) {
            orr_workload_reject(native->reader->workload, native->reader->file, line,
                                "column %s: \"%s\" %s",
                                orr_column_show(native->reader, native_column_names[column]).text,
                                orr_text_show(text).text, fault);
        }
        return fault == NULL &&
               orr_field_text(native->reader, line, native_column_names[column], text);
    }
    if (type == NATIVE_SWITCH || type == NATIVE_KIND) {
        return parse_word(native, line, column, text, &values->number[column]);
    }
    const struct orr_number number = native_bounds(column);
    if (type == NATIVE_INSTANT) {
        return read_instant(native, line, &number, text, &values->number[column]);
    }
    return orr_field_number(native->reader, line, &number, text, &values->number[column]);
}

static bool is_ascii(struct orr_text text)
{
    size_t i = 0;
    while (i < text.bytes && (unsigned char)text.at[i] < 0x80) {
        i++;
    }
    return i == text.bytes;
}

/* A name in which bytes that are no UTF-8 are written otherwise, or what they would be written as:
 * another may be written like it, and as one they could not be told apart. */
static bool is_written_like_another(struct native *native, struct orr_text name)
{
    char text[ORR_NAME_MAX + sizeof((struct orr_name_part){0}).text];
    size_t bytes = 0;
    bool odd = false, added;
    if (is_ascii(name) ||
        orr_idmap_find(&native->reader->workload->jobs, name.at, name.bytes) != ORR_NONE) {
        return false;
    }
    while (name.bytes > 0) {
        const struct orr_name_part part = orr_name_part(name.at, name.bytes);
        odd = odd || (part.bytes >= 3 && memcmp(part.text, "\xef\xbf\xbd", 3) == 0);
        memcpy(text + bytes, part.text, part.bytes);
        bytes += part.bytes;
        name = (struct orr_text){name.at + part.took, name.bytes - part.took};
    }
    if (!odd) {
        return false;
    }
    (void)orr_idmap_put(&native->odd, text, bytes, &added);
    return !added;
}

static void read_row(void *context, const struct orr_text *fields, uint32_t line)
{
    struct native *native = context;
    struct orr_workload *workload = native->reader->workload;
    const char *file = native->reader->file;
    const struct orr_text name = fields[COL_job];
    const uint64_t sought = orr_idmap_seek(&workload->jobs, name.at, name.bytes);
    native->values.given = 0;
    for (uint32_t i = 0; i < native->present_count; i++) {
        enum native_column column = native->present[i];
        if (fields[column].bytes > 0) {
            if (!read_cell(native, line, column, fields[column])) {
                return;
            }
            native->values.given |= (uint64_t)1 << column;
        }
    }
    const char *template_name = native->reader->options->template_name;
    if (template_name != NULL && !native_has(&native->values, NATIVE_BIT(template))) {
        native->values.given |= NATIVE_BIT(template);
        native->values.text[COL_template] = (struct orr_text){template_name, strlen(template_name)};
    }
    const char *fault = native_fault(&native->values);
    if (fault != NULL) {
        orr_workload_reject(workload, file, line, "%s", fault);
        return;
    }
    if (is_written_like_another(native, name)) {
        orr_workload_reject(
            workload, file, line,
            "column job: \"%s\" is written like the name of an earlier row, as one of "
            "them has bytes that are no UTF-8: rename it",
            orr_text_show(name).text);
        return;
    }
    bool added;
    const uint32_t job = orr_idmap_put_sought(&workload->jobs, name.at, name.bytes, sought, &added);
    if (!added) { /* rows are in file order still, one for every name */
        orr_workload_reject(workload, file, line, "column job: \"%s\" is on line %u already",
                            orr_text_show(name).text, (unsigned)workload->rows[job].line);
        return;
    }
    struct orr_row *row = orr_workload_push(workload);
    row->job = job;
    row->line = line;
    native_take(workload, row, &native->values, &native->memory);
}

static void read_header(void *context, uint64_t present, const char *const *aliases)
{
    struct native *native = context;
    native->aliases = aliases;
    for (unsigned i = 0; i < NATIVE_COLUMN_COUNT; i++) {
        if ((present >> i & 1) != 0) {
            native->present[native->present_count++] = (enum native_column)i;
        }
    }
}

bool orr_native_is_header(struct orr_text line)
{
    bool has_job = false, has_submit = false;
    for (const struct orr_csv_alias *alias = native_aliases; alias->name != NULL; alias++) {
        const bool there = orr_csv_line_has(line, alias->name);
        has_job = has_job || (there && alias->column == COL_job);
        has_submit = has_submit || (there && alias->column == COL_submit_s);
    }
    return (has_job && has_submit) || orr_csv_line_has(line, "job") ||
           orr_csv_line_has(line, "submit_s") || orr_csv_line_has(line, "run_s");
}

enum orr_status orr_native_read(struct orr_reader *reader)
{
    static const struct orr_csv_format format = {
        .name = "native",
        .columns = native_column_names,
        .column_count = NATIVE_COLUMN_COUNT,
        .aliases = native_aliases,
        .required = NATIVE_BIT(job) | NATIVE_BIT(submit_s),
        .row = read_row,
        .header = read_header,
    };
    struct native native = {.reader = reader};
    orr_idmap_init(&native.odd);
    enum orr_status status = orr_csv_read(reader, &format, &native);
    orr_idmap_release(&native.odd);
    if (status == ORR_OK && native.clock == CLOCK_DATES) {
        orr_reader_start_clock(reader->workload);
    }
    if (status == ORR_OK && native.no_zone && reader->zone == NULL) {
        orr_workload_note(reader->workload, reader->file, "dates without a zone are read as UTC");
    }
    return status;
}
