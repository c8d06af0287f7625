/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of texts: CSV through the reader that traces use, sacct's plain rows line by line. */
#include <orrery/base/text.h>
#include <orrery/traces/records.h>

#include <stdio.h>
#include <string.h>

#include <csv.h>

#include "reader_int.h"

#define NAMES_MAX     1024
#define LINE_BYTES    ((size_t)1 << 20) /* of a plain row */
#define ROW_LINES_MAX 1000              /* that a row may be cut into */
#define NO_CELL       UINT32_MAX

struct orr_records {
    struct orr_reader reader;
    struct orr_workload rejects; /* where the CSV reader counts rows that are none */
    struct orr_trace_options defaults;
    struct orr_arena arena;
    const char *names[NAMES_MAX];
    uint32_t name_count;
    char delimiter[ORR_RECORDS_DELIMITER + 1];
    bool plain, has_header, read;
    const char *free_text;
    struct orr_text head;
    char sha256[65];
    int64_t file_bytes;
};

/* --- the first line -------------------------------------------------------------------------- */

static struct orr_text first_line(struct orr_text head)
{
    const char *end = memchr(head.at, '\n', head.bytes);
    struct orr_text line = {head.at, end != NULL ? (size_t)(end - head.at) : head.bytes};
    while (line.bytes > 0 && line.at[line.bytes - 1] == '\r') {
        line.bytes--;
    }
    return line;
}

static bool has_text(struct orr_text text, const char *what)
{
    const size_t bytes = strlen(what);
    for (size_t i = 0; i + bytes <= text.bytes; i++) {
        if (memcmp(text.at + i, what, bytes) == 0) {
            return true;
        }
    }
    return false;
}

static const char *find_delimiter(struct orr_text line)
{
    static const char *const known[] = {"|#", "\t", "|", ";"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (has_text(line, known[i])) {
            return known[i];
        }
    }
    return ",";
}

static void add_name(struct orr_records *records, const char *at, size_t bytes)
{
    while (bytes > 0 && (at[0] == ' ' || at[0] == '\t')) {
        at++;
        bytes--;
    }
    while (bytes > 0 && (at[bytes - 1] == ' ' || at[bytes - 1] == '\t')) {
        bytes--;
    }
    const void *nul = memchr(at, '\0', bytes);
    bytes = nul != NULL ? (size_t)((const char *)nul - at) : bytes;
    if (records->name_count < NAMES_MAX) {
        records->names[records->name_count++] = orr_arena_strndup(&records->arena, at, bytes);
    }
}

/* The next cell of a plain row; false behind the last. */
static bool next_cell(struct orr_text *rest, const char *delimiter, struct orr_text *cell)
{
    const size_t bytes = strlen(delimiter);
    if (rest->at == NULL) {
        return false;
    }
    const char *at = rest->at, *end = rest->at + rest->bytes;
    while ((at = memchr(at, delimiter[0], (size_t)(end - at))) != NULL) {
        if ((size_t)(end - at) >= bytes && memcmp(at, delimiter, bytes) == 0) {
            *cell = (struct orr_text){rest->at, (size_t)(at - rest->at)};
            *rest = (struct orr_text){at + bytes, (size_t)(end - at) - bytes};
            return true;
        }
        at++;
    }
    *cell = *rest;
    rest->at = NULL;
    return true;
}

static void on_name(void *data, size_t bytes, void *context)
{
    add_name(context, data, bytes);
}

static void on_names_end(int end, void *context)
{
    (void)end;
    (void)context;
}

static void read_names(struct orr_records *records, struct orr_text line)
{
    if (records->plain) {
        struct orr_text cell;
        while (next_cell(&line, records->delimiter, &cell)) {
            add_name(records, cell.at, cell.bytes);
        }
        /* sacct --parsable ends every row with its delimiter */
        if (records->name_count > 1 && records->names[records->name_count - 1][0] == '\0') {
            records->name_count--;
        }
        return;
    }
    struct csv_parser parser;
    const int failed = csv_init(&parser, CSV_APPEND_NULL);
    ORR_ASSERT(failed == 0);
    csv_set_delim(&parser, (unsigned char)records->delimiter[0]);
    (void)csv_parse(&parser, line.at, line.bytes, on_name, on_names_end, records);
    (void)csv_fini(&parser, on_name, on_names_end, records);
    csv_free(&parser);
}

static enum orr_status refuse(const struct orr_records *records, struct orr_text head)
{
    const char *file = records->reader.file;
    struct orr_err *err = records->reader.err;
    if (head.bytes >= 4 && memcmp(head.at, "PAR1", 4) == 0) {
        return orr_fail(err, ORR_DATA,
                        "%s: is a Parquet file, whose columns lie packed one after the other; make "
                        "a CSV of it: duckdb -c \"copy '%s' to 'table.csv'\", or python3 -c "
                        "\"import pandas; pandas.read_parquet('%s').to_csv('table.csv', "
                        "index=False)\"",
                        file, file, file);
    }
    if (head.bytes >= 2 &&
        (memcmp(head.at, "\xff\xfe", 2) == 0 || memcmp(head.at, "\xfe\xff", 2) == 0)) {
        return orr_fail(err, ORR_DATA, "%s:1: is UTF-16 text; save it as UTF-8", file);
    }
    return head.bytes == 0 ? orr_fail(err, ORR_DATA, "%s: is empty", file) : ORR_OK;
}

static enum orr_status read_head(struct orr_records *records,
                                 const struct orr_records_options *options)
{
    const char *reason = "";
    struct orr_text head;
    enum orr_status status = orr_source_peek(records->reader.source, &head, &reason);
    if (status != ORR_OK) {
        return orr_fail(records->reader.err, status, "%s:1: %s", records->reader.file, reason);
    }
    if (head.bytes >= 3 && memcmp(head.at, "\xef\xbb\xbf", 3) == 0) {
        orr_source_skip(records->reader.source, 3);
        head = (struct orr_text){head.at + 3, head.bytes - 3};
    }
    status = refuse(records, head);
    if (status != ORR_OK) {
        return status;
    }
    const struct orr_text line = first_line(head);
    const char *delimiter = options->delimiter != NULL ? options->delimiter : find_delimiter(line);
    const size_t bytes = strlen(delimiter);
    if (bytes == 0 || bytes > ORR_RECORDS_DELIMITER || (!options->plain && bytes > 1)) {
        return orr_fail(records->reader.err, ORR_DATA,
                        options->plain ? "%s: a delimiter has 1 to 8 bytes, not \"%.20s\""
                                       : "%s: the delimiter of a table with quotes is one "
                                         "character, not \"%.20s\"",
                        records->reader.file, delimiter);
    }
    memcpy(records->delimiter, delimiter, bytes);
    records->head = head;
    const bool all = orr_source_peeked_all(records->reader.source);
    while (!all && records->head.bytes > 0 && records->head.at[records->head.bytes - 1] != '\n') {
        records->head.bytes--;
    }
    if (records->head.bytes == 0) {
        records->head = head;
    }
    if (records->has_header) {
        read_names(records, line);
    }
    for (uint32_t i = 0; !records->has_header && i < options->name_count; i++) {
        add_name(records, options->names[i], strlen(options->names[i]));
    }
    return ORR_OK;
}

/* --- opening --------------------------------------------------------------------------------- */

/* Takes the source. */
static enum orr_status open_source(const char *name, struct orr_source *source,
                                   const struct orr_records_options *options,
                                   struct orr_records **out, struct orr_err *err)
{
    struct orr_records *records = orr_zalloc(1, sizeof *records);
    orr_workload_init(&records->rejects);
    orr_arena_init(&records->arena);
    records->reader =
        (struct orr_reader){.file = orr_arena_strndup(&records->arena, name, strlen(name)),
                            .options = &records->defaults,
                            .workload = &records->rejects,
                            .source = source,
                            .line = 1,
                            .err = err};
    records->plain = options->plain;
    records->has_header = options->names == NULL;
    records->free_text =
        options->free_text == NULL
            ? NULL
            : orr_arena_strndup(&records->arena, options->free_text, strlen(options->free_text));
    const enum orr_status status = read_head(records, options);
    if (status != ORR_OK) {
        orr_records_close(records);
        records = NULL;
    }
    *out = records;
    return status;
}

enum orr_status orr_records_open(const char *path, const struct orr_records_options *options,
                                 struct orr_records **out, struct orr_err *err)
{
    struct orr_source *source;
    *out = NULL;
    const enum orr_status status = orr_source_open(path, NULL, &source, err);
    return status == ORR_OK ? open_source(path, source, options, out, err) : status;
}

enum orr_status orr_records_open_memory(const char *name, const void *bytes, size_t count,
                                        const struct orr_records_options *options,
                                        struct orr_records **out, struct orr_err *err)
{
    return open_source(name, orr_source_open_memory(bytes, count), options, out, err);
}

void orr_records_close(struct orr_records *records)
{
    if (records != NULL) {
        orr_source_close(records->reader.source);
        orr_workload_release(&records->rejects);
        orr_arena_release(&records->arena);
        orr_free(records);
    }
}

const char *const *orr_records_names(const struct orr_records *records, uint32_t *count)
{
    *count = records->name_count;
    return records->names;
}

const char *orr_records_delimiter(const struct orr_records *records)
{
    return records->delimiter;
}

struct orr_cell orr_records_head(const struct orr_records *records)
{
    return (struct orr_cell){records->head.at, records->head.bytes};
}

const char *orr_records_sha256(const struct orr_records *records)
{
    return records->sha256;
}

/* --- CSV ------------------------------------------------------------------------------------- */

struct records_read {
    struct orr_records *records;
    const struct orr_records_sink *sink;
    uint32_t column_count;
    struct orr_cell cells[ORR_RECORDS_COLUMNS];
    uint64_t rejected; /* that the sink has heard of */
};

/* Rows that the CSV reader turned down since the last call. */
static void tell_rejected(struct records_read *read)
{
    struct orr_rejects *rejects = &read->records->rejects.rejects;
    while (read->rejected < rejects->count) {
        const char *why = rejects->shown;
        uint32_t line = 0;
        for (uint64_t i = 0; i < read->rejected && strchr(why, '\n') != NULL; i++) {
            why = strchr(why, '\n') + 1;
        }
        /* the file's name may have colons: the place ends with the first ": " behind a number */
        const char *number = why + strlen(read->records->reader.file) + 1;
        if (read->rejected < rejects->shown_count &&
            strlen(why) > strlen(read->records->reader.file)) {
            char text[200];
            while (*number >= '0' && *number <= '9') {
                line = line * 10 + (uint32_t)(*number++ - '0');
            }
            number += strncmp(number, ": ", 2) == 0 ? 2 : 0;
            (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(number, "\n"), number);
            read->sink->bad(read->sink->context, line, text);
        } else {
            read->sink->bad(read->sink->context, 0, "the row is none of this table");
        }
        read->rejected++;
    }
}

static void on_csv_row(void *context, const struct orr_text *fields, uint32_t line)
{
    struct records_read *read = context;
    tell_rejected(read);
    for (uint32_t i = 0; i < read->column_count; i++) {
        read->cells[i] = (struct orr_cell){fields[i].at, fields[i].bytes};
    }
    read->sink->row(read->sink->context, read->cells, line);
}

static enum orr_status read_csv(struct records_read *read, const char *const *columns)
{
    struct orr_records *records = read->records;
    const struct orr_csv_format format = {
        .name = "table",
        .columns = columns,
        .column_count = read->column_count,
        .delimiter = records->delimiter[0],
        .loose = true,
        .given = records->has_header ? NULL : records->names,
        .given_count = records->has_header ? 0 : records->name_count,
        .row = on_csv_row,
    };
    const enum orr_status status = orr_csv_read(&records->reader, &format, read);
    if (status == ORR_OK) {
        tell_rejected(read);
    }
    return status;
}

/* --- plain text ------------------------------------------------------------------------------ */

struct plain {
    struct records_read *read;
    uint32_t of_file[NAMES_MAX]; /* column of the file -> column asked for, or NO_CELL */
    uint32_t free_column;        /* of the file; NO_CELL: none */
    char *row;                   /* the row so far: lines with their ends between them */
    size_t row_bytes;
    uint32_t row_line, row_lines; /* where it starts, lines of it so far */
    uint32_t row_cells;           /* so far */
    bool header_done;
};

static uint32_t count_cells(struct orr_text line, const char *delimiter)
{
    struct orr_text cell;
    uint32_t count = 0;
    while (next_cell(&line, delimiter, &cell)) {
        count++;
    }
    return count;
}

static void say_bad(struct plain *plain, uint32_t cells)
{
    char why[200];
    (void)snprintf(why, sizeof why,
                   cells > plain->read->records->name_count
                       ? "the row has %u cells, the header %u: a text holds the delimiter"
                       : "the row has %u of %u cell%s",
                   (unsigned)cells, (unsigned)plain->read->records->name_count,
                   ORR_PLURAL(plain->read->records->name_count));
    plain->read->sink->bad(plain->read->sink->context, plain->row_line, why);
}

/* Hands on a row of `count` cells; of too many, `surplus` more belong to the free text. */
static void give_row(struct plain *plain, struct orr_text row, uint32_t surplus)
{
    struct records_read *read = plain->read;
    struct orr_text cell;
    for (uint32_t i = 0; i < read->column_count; i++) {
        read->cells[i] = (struct orr_cell){"", 0};
    }
    const uint32_t names = read->records->name_count;
    for (uint32_t c = 0; c < names && next_cell(&row, read->records->delimiter, &cell); c++) {
        struct orr_text more;
        for (uint32_t i = 0; c == plain->free_column && i < surplus; i++) {
            if (next_cell(&row, read->records->delimiter, &more)) {
                cell.bytes = (size_t)(more.at + more.bytes - cell.at);
            }
        }
        if (plain->of_file[c] != NO_CELL) {
            read->cells[plain->of_file[c]] = (struct orr_cell){cell.at, cell.bytes};
        }
    }
    read->sink->row(read->sink->context, read->cells, plain->row_line);
}

/* A row that is as long as rows are, or longer; false: it goes on in the next line. */
static bool take_row(struct plain *plain, struct orr_text row)
{
    const struct orr_records *records = plain->read->records;
    const uint32_t names = records->name_count;
    uint32_t cells = count_cells(row, records->delimiter);
    if (cells == names + 1 && row.bytes >= strlen(records->delimiter) &&
        memcmp(row.at + row.bytes - strlen(records->delimiter), records->delimiter,
               strlen(records->delimiter)) == 0) {
        cells--; /* of --parsable */
    }
    if (cells < names) {
        return false;
    }
    if (memchr(row.at, '\0', row.bytes) != NULL) {
        plain->read->sink->bad(plain->read->sink->context, plain->row_line,
                               "the row has a NUL byte");
    } else if (cells > names && plain->free_column == NO_CELL) {
        say_bad(plain, cells);
    } else {
        give_row(plain, row, cells - names);
    }
    return true;
}

static void drop_row(struct plain *plain)
{
    if (plain->row_lines > 0) {
        const struct orr_text row = {plain->row, plain->row_bytes};
        say_bad(plain, count_cells(row, plain->read->records->delimiter));
    }
    plain->row_lines = 0;
    plain->row_bytes = 0;
}

static void keep_line(struct plain *plain, struct orr_text line)
{
    if (plain->row_bytes + line.bytes + 1 > LINE_BYTES || plain->row_lines == ROW_LINES_MAX) {
        drop_row(plain);
        plain->row_line = (uint32_t)plain->read->records->reader.line;
        if (line.bytes + 1 > LINE_BYTES) {
            return;
        }
    }
    if (plain->row_lines > 0) {
        plain->row[plain->row_bytes++] = '\n';
    }
    memcpy(plain->row + plain->row_bytes, line.at, line.bytes);
    plain->row_bytes += line.bytes;
    /* a cell goes on in the next line: no delimiter holds a line end */
    const uint32_t cells = count_cells(line, plain->read->records->delimiter);
    plain->row_cells = plain->row_lines > 0 ? plain->row_cells + cells - 1 : cells;
    plain->row_lines++;
}

static void take_line(struct plain *plain, struct orr_text line)
{
    struct orr_reader *reader = &plain->read->records->reader;
    while (line.bytes > 0 && line.at[line.bytes - 1] == '\r') {
        line.bytes--;
    }
    if (!plain->header_done) {
        plain->header_done = true;
    } else if (plain->row_lines == 0) {
        plain->row_line = (uint32_t)reader->line;
        if (line.bytes > 0 && !take_row(plain, line)) {
            keep_line(plain, line);
        }
    } else if (count_cells(line, plain->read->records->delimiter) >=
               plain->read->records->name_count) {
        drop_row(plain); /* this one is whole: the one before it never was */
        plain->row_line = (uint32_t)reader->line;
        (void)take_row(plain, line);
    } else {
        keep_line(plain, line);
        if (plain->row_cells >= plain->read->records->name_count &&
            take_row(plain, (struct orr_text){plain->row, plain->row_bytes})) {
            plain->row_lines = 0;
            plain->row_bytes = 0;
        }
    }
    reader->line++;
}

static void find_columns(struct plain *plain, const char *const *columns)
{
    const struct orr_records *records = plain->read->records;
    bool found[ORR_RECORDS_COLUMNS] = {false};
    plain->free_column = NO_CELL;
    for (uint32_t c = 0; c < records->name_count; c++) {
        plain->of_file[c] = NO_CELL;
        for (uint32_t i = 0; i < plain->read->column_count; i++) {
            if (!found[i] && strcmp(records->names[c], columns[i]) == 0) {
                plain->of_file[c] = i;
                found[i] = true;
                break;
            }
        }
        if (records->free_text != NULL && strcmp(records->names[c], records->free_text) == 0) {
            plain->free_column = c;
        }
    }
}

static enum orr_status read_plain(struct records_read *read, const char *const *columns)
{
    struct orr_reader *reader = &read->records->reader;
    struct plain *plain = orr_zalloc(1, sizeof *plain);
    *plain = (struct plain){.read = read, .header_done = !read->records->has_header};
    plain->row = orr_alloc(LINE_BYTES + 1, 1);
    char *cut = orr_alloc(LINE_BYTES, 1); /* the start of a line that the last block cut */
    size_t cut_bytes = 0;
    struct orr_text block;
    enum orr_status status;
    find_columns(plain, columns);
    do {
        status = orr_reader_next(reader, &block);
        struct orr_text rest = block;
        while (status == ORR_OK && rest.bytes > 0) {
            const char *end = memchr(rest.at, '\n', rest.bytes);
            const size_t bytes = end != NULL ? (size_t)(end - rest.at) : rest.bytes;
            struct orr_text line = {rest.at, bytes};
            rest.at += bytes + (end != NULL);
            rest.bytes -= bytes + (end != NULL);
            if (cut_bytes > 0 || end == NULL) {
                if (bytes > LINE_BYTES - cut_bytes) {
                    status =
                        orr_fail(reader->err, ORR_DATA, "%s:%llu: a line is longer than %zu bytes",
                                 reader->file, (unsigned long long)reader->line, LINE_BYTES);
                    break;
                }
                memcpy(cut + cut_bytes, line.at, bytes);
                cut_bytes += bytes;
                line = (struct orr_text){cut, cut_bytes};
            }
            if (end != NULL) {
                take_line(plain, line);
                cut_bytes = 0;
            }
        }
    } while (status == ORR_OK && block.bytes > 0);
    if (status == ORR_OK && cut_bytes > 0) {
        take_line(plain, (struct orr_text){cut, cut_bytes});
    }
    drop_row(plain);
    orr_free(cut);
    orr_free(plain->row);
    orr_free(plain);
    return status;
}

enum orr_status orr_records_read(struct orr_records *records, const char *const *columns,
                                 uint32_t count, const struct orr_records_sink *sink,
                                 struct orr_err *err)
{
    ORR_ASSERT(count <= ORR_RECORDS_COLUMNS && !records->read);
    struct records_read *read = orr_zalloc(1, sizeof *read);
    *read = (struct records_read){.records = records, .sink = sink, .column_count = count};
    records->read = true;
    records->reader.err = err;
    enum orr_status status = records->plain ? read_plain(read, columns) : read_csv(read, columns);
    orr_free(read);
    const char *reason = "";
    if (status == ORR_OK) {
        status = orr_source_finish(records->reader.source, &records->file_bytes, records->sha256,
                                   &reason);
        if (status != ORR_OK) {
            return orr_fail(err, status, "%s: %s", records->reader.file, reason);
        }
    }
    return status;
}
