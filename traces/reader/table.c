/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table.c - small tables of named columns, over the same CSV as traces. */
#include <orrery/traces/table.h>

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

#include "reader_int.h"

#define ROWS_MOST 10000000

struct table_read {
    struct orr_reader *reader;
    const struct orr_table_column *columns;
    uint32_t column_count;
    struct orr_table *table;
    enum orr_status status; /* of the first row that is wrong */
};

static void grow(struct orr_table *table, const struct table_read *read)
{
    table->capacity = (uint32_t)orr_grow(table->capacity, (size_t)table->rows + 1);
    table->lines = orr_realloc(table->lines, table->capacity, sizeof *table->lines);
    for (uint32_t c = 0; c < read->column_count; c++) {
        if (read->columns[c].text) {
            table->texts[c] =
                orr_realloc(table->texts[c], table->capacity, sizeof *table->texts[c]);
        } else {
            table->numbers[c] =
                orr_realloc(table->numbers[c], table->capacity, sizeof *table->numbers[c]);
        }
    }
}

static void wrong(struct table_read *read, uint32_t line, const char *column, const char *what,
                  struct orr_text text)
{
    read->status =
        orr_fail(read->reader->err, ORR_DATA, "%s:%u: column %s: \"%s\" %s", read->reader->file,
                 (unsigned)line, column, orr_text_show(text).text, what);
}

static bool take(struct table_read *read, uint32_t c, struct orr_text text, uint32_t line)
{
    const struct orr_table_column *column = &read->columns[c];
    struct orr_table *table = read->table;
    if (text.bytes == 0 && column->required) {
        wrong(read, line, column->name, "is empty", text);
        return false;
    }
    if (column->text) {
        table->texts[c][table->rows] =
            text.bytes == 0 ? NULL : orr_arena_strndup(&table->arena, text.at, text.bytes);
        return true;
    }
    table->numbers[c][table->rows] = (double)NAN;
    if (text.bytes > 0 && !orr_parse_double(text.at, text.bytes, &table->numbers[c][table->rows])) {
        wrong(read, line, column->name, "is not a number", text);
        return false;
    }
    return true;
}

static void table_row(void *context, const struct orr_text *fields, uint32_t line)
{
    struct table_read *read = context;
    struct orr_table *table = read->table;
    if (read->status != ORR_OK) {
        return;
    }
    if (table->rows == ROWS_MOST) {
        read->status = orr_fail(read->reader->err, ORR_DATA, "%s:%u: more than %d rows",
                                read->reader->file, (unsigned)line, ROWS_MOST);
        return;
    }
    if (table->rows == table->capacity) {
        grow(table, read);
    }
    for (uint32_t c = 0; c < read->column_count; c++) {
        if (!take(read, c, fields[c], line)) {
            return;
        }
    }
    table->lines[table->rows++] = line;
}

static void table_header(void *context, uint64_t present, const char *const *aliases)
{
    (void)aliases;
    struct table_read *read = context;
    read->table->present = present;
}

static enum orr_status read_cells(struct table_read *read, const char *const *names)
{
    struct orr_csv_format format = {.name = "table",
                                    .columns = names,
                                    .column_count = read->column_count,
                                    .row = table_row,
                                    .header = table_header};
    struct orr_reader *reader = read->reader;
    const char *reason = "";
    struct orr_text head;
    for (uint32_t c = 0; c < read->column_count; c++) {
        format.required |= read->columns[c].required ? (uint64_t)1 << c : 0;
    }
    enum orr_status status = orr_source_peek(reader->source, &head, &reason);
    if (status == ORR_OK && head.bytes >= 3 && memcmp(head.at, "\xef\xbb\xbf", 3) == 0) {
        orr_source_skip(reader->source, 3);
    }
    if (status == ORR_OK) {
        status = orr_csv_read(reader, &format, read);
        if (status == ORR_OK && read->status != ORR_OK) {
            return read->status;
        }
        if (status == ORR_OK && reader->workload->rejects.count > 0) {
            const char *shown = reader->workload->rejects.shown;
            return orr_fail(reader->err, ORR_DATA, "%.*s", (int)strcspn(shown, "\n"), shown);
        }
    }
    int64_t file_bytes;
    if (status == ORR_OK) {
        status = orr_source_finish(reader->source, &file_bytes, read->table->sha256, &reason);
    }
    return status == ORR_OK ? ORR_OK
                            : orr_fail(reader->err, status, "%s: %s", reader->file, reason);
}

enum orr_status orr_table_read(const char *path, const struct orr_table_column *columns,
                               uint32_t column_count, struct orr_table *table, struct orr_err *err)
{
    static const struct orr_trace_options defaults = {0};
    const char *names[ORR_TABLE_COLUMNS];
    struct orr_workload rejects; /* where the CSV reader counts rows of a wrong length */
    struct orr_source *source;
    ORR_ASSERT(column_count <= ORR_TABLE_COLUMNS);
    *table = (struct orr_table){0};
    enum orr_status status = orr_source_open(path, NULL, &source, err);
    if (status != ORR_OK) {
        return status;
    }
    for (uint32_t c = 0; c < column_count; c++) {
        names[c] = columns[c].name;
    }
    orr_workload_init(&rejects);
    orr_arena_init(&table->arena);
    struct orr_reader reader = {.file = path,
                                .options = &defaults,
                                .workload = &rejects,
                                .source = source,
                                .line = 1,
                                .err = err};
    struct table_read read = {
        .reader = &reader, .columns = columns, .column_count = column_count, .table = table};
    status = read_cells(&read, names);
    orr_source_close(source);
    orr_workload_release(&rejects);
    if (status != ORR_OK) {
        orr_table_release(table);
    }
    return status;
}

void orr_table_release(struct orr_table *table)
{
    for (uint32_t c = 0; c < ORR_TABLE_COLUMNS; c++) {
        orr_free(table->numbers[c]);
        orr_free(table->texts[c]);
    }
    orr_free(table->lines);
    orr_arena_release(&table->arena);
    *table = (struct orr_table){0};
}
