/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV rows with their place. Lines that are whole in their block and have nothing difficult are
 * split where they lie (split_line); all others go through libcsv, which reports fields and ends of
 * rows but no positions, so physical lines are counted here: every unquoted line end is reported
 * (CSV_REPALL_NL), and line ends inside quoted fields are looked for once a file has shown a quote.
 * CR LF counts once. */
#include "reader_int.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <csv.h>

#include <orrery/base/text.h>

#define FILE_COLUMNS_MAX 1024
#define FIELD_BYTES_MAX  ((size_t)1024 * 1024)
#define ROW_BYTES        ((size_t)64 * 1024) /* of the fields that are handed on */
#define COLUMN_IGNORED   0xff
#define SHORT_FIELD      ((size_t)16)

struct csv {
    struct orr_reader *reader;
    const struct orr_csv_format *format;
    void *context;
    struct csv_parser parser;
    char delimiter;
    uint8_t known_of[FILE_COLUMNS_MAX]; /* column of the file -> of the format */
    uint32_t column_count;              /* of the file */
    uint32_t field_count;               /* of this row so far */
    uint32_t row_line;                  /* where this row starts */
    char *row;                          /* texts of this row */
    size_t row_used;
    struct orr_text fields[ORR_CSV_COLUMNS_MAX];
    uint64_t present;                         /* known columns in the header */
    char renamed[1000];                       /* columns under other names, for the note */
    const char *aliases[ORR_CSV_COLUMNS_MAX]; /* the names of these, by column of the format */
    bool header_done;
    bool after_cr;          /* the last line end was a CR */
    bool careful;           /* quotes or NULs were seen: look into the fields */
    bool has_nul, too_long; /* of this row */
    bool skipping;          /* to the end of a line that is no CSV */
    int between_rows;       /* state of the parser where a row may begin */
    const char *last_line;  /* behind the last line feed of the block */
    bool stops[256];        /* bytes that end a plain field, or make its line difficult */
    enum orr_status status;
};

static void csv_fail_columns(struct csv *csv, const char *problem, struct orr_text name)
{
    csv->status = orr_fail(csv->reader->err, ORR_DATA, "%s:%u: column \"%s\" %s", csv->reader->file,
                           (unsigned)csv->row_line, orr_text_show(name).text, problem);
}

/* Line ends inside a field. */
static uint32_t count_lines(const char *text, size_t bytes)
{
    uint32_t lines = 0;
    for (size_t i = 0; i < bytes; i++) {
        lines += text[i] == '\n' || (text[i] == '\r' && (i + 1 == bytes || text[i + 1] != '\n'));
    }
    return lines;
}

static void look_closely(struct csv *csv, const char *text, size_t bytes)
{
    csv->reader->line += count_lines(text, bytes);
    csv->has_nul = csv->has_nul || memchr(text, '\0', bytes) != NULL;
}

/* Counts a line end; false for the LF of a CR LF, whose line has ended already. */
static bool end_line(struct csv *csv, int end)
{
    if (end == '\n' && csv->after_cr && csv->field_count == 0) {
        csv->after_cr = false;
        return false;
    }
    csv->after_cr = end == '\r';
    csv->reader->line++;
    return true;
}

static void start_row(struct csv *csv)
{
    csv->row_line = (uint32_t)csv->reader->line;
    csv->field_count = 0;
    csv->row_used = 0;
    csv->has_nul = false;
    csv->too_long = false;
}

/* --- header ---------------------------------------------------------------------------------- */

static uint32_t find_known(const struct orr_csv_format *format, struct orr_text name)
{
    for (uint32_t i = 0; i < format->column_count; i++) {
        if (orr_text_is(name, format->columns[i])) {
            return i;
        }
    }
    return ORR_NONE;
}

static bool is_name(struct orr_text text, const char *name)
{
    return strlen(name) == text.bytes && strncasecmp(name, text.at, text.bytes) == 0;
}

/* A column under another name. */
static uint32_t find_alias(struct csv *csv, struct orr_text name)
{
    const struct orr_csv_format *format = csv->format;
    uint32_t known = ORR_NONE;
    for (uint32_t i = 0; format->aliases != NULL && i < format->column_count; i++) {
        known = is_name(name, format->columns[i]) ? i : known;
    }
    for (const struct orr_csv_alias *alias = format->aliases;
         known == ORR_NONE && alias != NULL && alias->name != NULL; alias++) {
        if (is_name(name, alias->name)) {
            known = alias->column;
            csv->aliases[known] = alias->name;
        }
    }
    if (known != ORR_NONE) {
        const size_t used = strlen(csv->renamed);
        (void)snprintf(csv->renamed + used, sizeof csv->renamed - used, "%s%s as %s",
                       used > 0 ? ", " : "", orr_text_show(name).text, format->columns[known]);
    }
    return known;
}

static void refuse_second(struct csv *csv, struct orr_text name, const char *known)
{
    char problem[100];
    (void)snprintf(problem, sizeof problem,
                   orr_text_is(name, known) ? "is there twice"
                                            : "means %s, which the header has already",
                   known);
    csv_fail_columns(csv, problem, name);
}

static void refuse_unknown(struct csv *csv, struct orr_text name)
{
    struct orr_shown shown = orr_text_show(name);
    static const struct {
        char separator;
        const char *name;
    } others[] = {{';', "semicolons"}, {'\t', "tabs"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (name.bytes > 1 && memchr(name.at, others[i].separator, name.bytes) != NULL) {
            csv->status = orr_fail(csv->reader->err, ORR_DATA,
                                   "%s:%u: the columns are separated by %s; save the file with "
                                   "commas, or `orrery import %s --map auto` proposes what its "
                                   "columns mean",
                                   csv->reader->file, (unsigned)csv->row_line, others[i].name,
                                   csv->reader->file);
            return;
        }
    }
    const char *nearest = orr_nearest(shown.text, csv->format->columns, csv->format->column_count);
    csv->status =
        orr_fail(csv->reader->err, ORR_DATA,
                 "%s:%u: column \"%s\" is not known to format %s%s%s%s (a name that "
                 "starts with x_ is ignored; `orrery import %s --map auto` proposes what "
                 "columns of other files mean)",
                 csv->reader->file, (unsigned)csv->row_line, shown.text, csv->format->name,
                 nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                 nearest != NULL ? "\"?" : "", csv->reader->file);
}

static void on_header_field(void *data, size_t bytes, void *context)
{
    struct csv *csv = context;
    struct orr_text name = {data, bytes};
    if (csv->careful) {
        look_closely(csv, data, bytes);
    }
    uint32_t column = csv->field_count++;
    if (csv->status != ORR_OK) {
        return;
    }
    if (column == FILE_COLUMNS_MAX) {
        csv_fail_columns(csv, "is one too many", name);
        return;
    }
    csv->known_of[column] = COLUMN_IGNORED;
    const bool loose = csv->format->loose;
    if (bytes == 0) {
        if (!loose) {
            csv_fail_columns(csv, "is a column without a name", name);
        }
        return;
    }
    uint32_t known = find_known(csv->format, name);
    known = known == ORR_NONE ? find_alias(csv, name) : known;
    if (known == ORR_NONE) {
        if (!loose && (bytes < 2 || memcmp(name.at, "x_", 2) != 0)) {
            refuse_unknown(csv, name);
        }
        return;
    }
    if ((csv->present >> known & 1) != 0) {
        if (!loose) {
            refuse_second(csv, name, csv->format->columns[known]);
        }
        return;
    }
    csv->present |= (uint64_t)1 << known;
    if ((csv->format->ignored >> known & 1) == 0) {
        csv->known_of[column] = (uint8_t)known;
    }
}

static void on_header_row(int end, void *context)
{
    struct csv *csv = context;
    uint32_t count = csv->field_count;
    if (!end_line(csv, end)) {
        return;
    }
    if (count > 0 && csv->status == ORR_OK) {
        csv->header_done = true;
        csv->column_count = count;
        uint64_t missing = csv->format->required & ~csv->present;
        for (uint32_t i = 0; missing != 0 && i < csv->format->column_count; i++) {
            if ((missing >> i & 1) != 0) {
                csv->status =
                    orr_fail(csv->reader->err, ORR_DATA, "%s:%u: the header has no column \"%s\"",
                             csv->reader->file, (unsigned)csv->row_line, csv->format->columns[i]);
            }
        }
        if (csv->status == ORR_OK && csv->renamed[0] != '\0') {
            orr_workload_note(csv->reader->workload, csv->reader->file,
                              "columns are read under "
                              "other names: %s",
                              csv->renamed);
        }
        if (csv->status == ORR_OK && csv->format->header != NULL) {
            csv->format->header(csv->context, csv->present, csv->aliases);
        }
    }
    start_row(csv);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void on_field(void *data, size_t bytes, void *context)
{
    struct csv *csv = context;
    if (csv->careful) {
        look_closely(csv, data, bytes);
    }
    uint32_t column = csv->field_count++;
    if (column >= csv->column_count || csv->known_of[column] == COLUMN_IGNORED) {
        return;
    }
    if (bytes + SHORT_FIELD > ROW_BYTES - csv->row_used) {
        csv->too_long = true;
        return;
    }
    char *copy = csv->row + csv->row_used;
    if (bytes <= SHORT_FIELD) {
        /* a copy of fixed size is two instructions; libcsv's buffer is never smaller than this */
        memcpy(copy, data, SHORT_FIELD);
    } else {
        memcpy(copy, data, bytes);
    }
    csv->row_used += bytes;
    csv->fields[csv->known_of[column]] = (struct orr_text){copy, bytes};
}

/* A quoted field of a line that split_line splits, without its quotes; NULL: difficult. */
static const char *split_quoted(const char *at, struct orr_text *field)
{
    const char *start = ++at;
    while (*at != '"' && *at != '\n' && *at != '\r' && *at != '\0') {
        at++;
    }
    *field = (struct orr_text){start, (size_t)(at - start)};
    return *at == '"' ? at + 1 : NULL;
}

/* A field without quotes, without the blanks around it, as libcsv has it. */
static const char *split_bare(const struct csv *csv, const char *at, struct orr_text *field)
{
    const char *start = at;
    while (!csv->stops[(unsigned char)*at]) {
        at++;
    }
    const char *end = at;
    while (start < end && (*start == ' ' || *start == '\t')) {
        start++;
    }
    while (start < end && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    *field = (struct orr_text){start, (size_t)(end - start)};
    return at;
}

/* Splits the line at `at` into fields that lie in the block: they live until the block does. There
 * is a line feed somewhere. Returns what is behind the line, or NULL, with the row as it was
 * before, where it is difficult: a quote in a field, a quoted field over lines, a CR alone, a NUL,
 * a row that is too long. */
static const char *split_line(struct csv *csv, const char *at)
{
    const char *const line = at;
    uint32_t count = 0;
    struct orr_text field;
    do {
        at += count > 0; /* the delimiter */
        at = *at == '"' ? split_quoted(at, &field) : split_bare(csv, at, &field);
        if (at == NULL) {
            return NULL;
        }
        const uint8_t known = count < csv->column_count ? csv->known_of[count] : COLUMN_IGNORED;
        if (known != COLUMN_IGNORED) {
            csv->fields[known] = field;
        }
        count++;
    } while (*at == csv->delimiter);
    at += *at == '\r';
    if (*at != '\n' || (size_t)(at - line) > ROW_BYTES - SHORT_FIELD) {
        return NULL;
    }
    /* a line of blanks has no field */
    csv->field_count = count == 1 && field.bytes == 0 && *line != '"' ? 0 : count;
    return at + 1;
}

static void reject_row(struct csv *csv, uint32_t line, uint64_t last, uint32_t count)
{
    struct orr_workload *workload = csv->reader->workload;
    const char *file = csv->reader->file;
    if (csv->has_nul) {
        orr_workload_reject(workload, file, line, "the row has a NUL byte");
    } else if (count != csv->column_count && last > line) {
        orr_workload_reject(workload, file, line,
                            "the row has %u %s, the header %u; it goes to line %u, over line ends "
                            "between quotes, which may hold other rows",
                            (unsigned)count, ORR_ONE(count, "field", "fields"),
                            (unsigned)csv->column_count, (unsigned)last);
    } else if (count != csv->column_count) {
        orr_workload_reject(workload, file, line, "the row has %u %s, the header %u",
                            (unsigned)count, ORR_ONE(count, "field", "fields"),
                            (unsigned)csv->column_count);
    } else {
        orr_workload_reject(workload, file, line, "the row is longer than %zu bytes", ROW_BYTES);
    }
}

static void on_row(int end, void *context)
{
    struct csv *csv = context;
    uint32_t count = csv->field_count;
    uint32_t line = csv->row_line;
    if (!end_line(csv, end)) {
        return;
    }
    if (count > 0) {
        csv->reader->workload->rows_read++;
        if (count == csv->column_count && !csv->has_nul && !csv->too_long) {
            csv->format->row(csv->context, csv->fields, line);
        } else {
            reject_row(csv, line, csv->reader->line - 1, count);
        }
    }
    start_row(csv);
}

/* --- blocks ---------------------------------------------------------------------------------- */

static void init_parser(struct csv *csv)
{
    int failed =
        csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL | CSV_APPEND_NULL);
    ORR_ASSERT(failed == 0);
    csv_set_blk_size(&csv->parser, 4096);
    csv_set_delim(&csv->parser, (unsigned char)csv->delimiter);
    csv->between_rows = csv->parser.pstate;
}

/* A file without a header has that of its format. */
static void give_header(struct csv *csv)
{
    for (uint32_t c = 0; c < csv->format->given_count; c++) {
        char *name = orr_strdup(csv->format->given[c]);
        on_header_field(name, strlen(name), csv);
        orr_free(name);
    }
    csv->column_count = csv->field_count;
    csv->header_done = true;
}

/* A quote where none may be. One line is a bad row; but a quoted field that went over lines may
 * have swallowed rows, and those must not vanish. */
static void on_bad_quote(struct csv *csv)
{
    struct orr_reader *reader = csv->reader;
    uint32_t open_lines = count_lines((const char *)csv->parser.entry_buf, csv->parser.entry_pos);
    if (!csv->header_done || reader->line + open_lines != csv->row_line) {
        csv->status = orr_fail(reader->err, ORR_DATA,
                               "%s:%u: a quoted field that starts in this row has no proper end",
                               reader->file, (unsigned)csv->row_line);
        return;
    }
    reader->workload->rows_read++;
    orr_workload_reject(reader->workload, reader->file, csv->row_line,
                        "a quote stands inside a field: fields with quotes are quoted as a whole, "
                        "and quotes in them doubled");
    csv_free(&csv->parser);
    init_parser(csv);
    csv->skipping = true;
    csv->field_count = 0;
}

/* Bytes up to and with the first line end, or all. */
static size_t line_bytes(struct orr_text text)
{
    size_t i = 0;
    while (i < text.bytes && text.at[i] != '\n' && text.at[i] != '\r') {
        i++;
    }
    return i < text.bytes ? i + 1 : i;
}

/* Leaves out the rest of a bad line. Returns the bytes left out. */
static size_t skip_line(struct csv *csv, struct orr_text text)
{
    size_t bytes = line_bytes(text);
    char last = text.at[bytes - 1];
    if (last == '\n' || last == '\r') {
        csv->skipping = false;
        csv->after_cr = false;
        (void)end_line(csv, last);
        start_row(csv);
    }
    return bytes;
}

/* Rows of lines that are not difficult. Returns their bytes. */
static size_t parse_plain(struct csv *csv, struct orr_text text)
{
    const char *at = text.at, *next;
    while (at < csv->last_line && csv->status == ORR_OK && (next = split_line(csv, at)) != NULL) {
        on_row('\n', csv);
        at = next;
    }
    return (size_t)(at - text.at);
}

/* Whether the next byte begins a row behind the header. */
static bool is_between_rows(const struct csv *csv)
{
    return csv->header_done && !csv->after_cr && csv->parser.pstate == csv->between_rows;
}

static size_t parse_some(struct csv *csv, struct orr_text text)
{
    if (csv->skipping) {
        return skip_line(csv, text);
    }
    if (is_between_rows(csv)) {
        const size_t plain = parse_plain(csv, text);
        if (plain > 0) {
            return plain;
        }
    }
    /* line by line: the callbacks change behind the header, and the next line may be plain */
    size_t bytes = line_bytes(text);
    size_t used = csv->header_done ? csv_parse(&csv->parser, text.at, bytes, on_field, on_row, csv)
                                   : csv_parse(&csv->parser, text.at, bytes, on_header_field,
                                               on_header_row, csv);
    if (used < bytes) {
        if (csv_error(&csv->parser) != CSV_EPARSE) {
            orr_out_of_memory();
        }
        on_bad_quote(csv);
    }
    return used;
}

static void parse_block(struct csv *csv, struct orr_text block)
{
    csv->careful = csv->careful || memchr(block.at, '"', block.bytes) != NULL ||
                   memchr(block.at, '\0', block.bytes) != NULL;
    csv->last_line = block.at + block.bytes;
    while (csv->last_line > block.at && csv->last_line[-1] != '\n') {
        csv->last_line--;
    }
    while (block.bytes > 0 && csv->status == ORR_OK) {
        size_t used = parse_some(csv, block);
        block.at += used;
        block.bytes -= used;
    }
    if (csv->status == ORR_OK && csv_get_buffer_size(&csv->parser) > FIELD_BYTES_MAX) {
        csv->status =
            orr_fail(csv->reader->err, ORR_DATA, "%s:%u: a field is longer than %zu bytes",
                     csv->reader->file, (unsigned)csv->row_line, FIELD_BYTES_MAX);
    }
}

static void parse_end(struct csv *csv)
{
    struct orr_reader *reader = csv->reader;
    int failed = csv->header_done ? csv_fini(&csv->parser, on_field, on_row, csv)
                                  : csv_fini(&csv->parser, on_header_field, on_header_row, csv);
    if (failed != 0) {
        csv->status = orr_fail(reader->err, ORR_DATA,
                               "%s:%u: a quoted field that starts in this row is never closed",
                               reader->file, (unsigned)csv->row_line);
    }
    if (csv->status == ORR_OK && !csv->header_done) {
        csv->status = orr_fail(reader->err, ORR_DATA, "%s: has no header line", reader->file);
    }
}

enum orr_status orr_csv_read(struct orr_reader *reader, const struct orr_csv_format *format,
                             void *context)
{
    ORR_ASSERT(format->column_count <= ORR_CSV_COLUMNS_MAX);
    struct csv csv = {.reader = reader, .format = format, .context = context};
    csv.delimiter = format->delimiter != '\0' ? format->delimiter : ',';
    csv.stops['"'] = csv.stops['\r'] = csv.stops['\n'] = csv.stops['\0'] = true;
    csv.stops[(unsigned char)csv.delimiter] = true;
    for (uint32_t i = 0; i < ORR_CSV_COLUMNS_MAX; i++) {
        csv.fields[i].at = "";
    }
    init_parser(&csv);
    csv.row = orr_alloc(ROW_BYTES, 1);
    if (format->given != NULL) {
        give_header(&csv);
    }
    start_row(&csv);
    struct orr_text block;
    do {
        csv.status = orr_reader_next(reader, &block);
        if (csv.status == ORR_OK && block.bytes > 0) {
            parse_block(&csv, block);
        } else if (csv.status == ORR_OK) {
            parse_end(&csv);
        }
    } while (csv.status == ORR_OK && block.bytes > 0);
    csv_free(&csv.parser);
    orr_free(csv.row);
    return csv.status;
}

bool orr_csv_line_has(struct orr_text line, const char *cell)
{
    const char *at = line.at;
    const char *end = line.at + line.bytes;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma != NULL ? comma : end;
        struct orr_text text = {at, (size_t)(stop - at)};
        while (text.bytes > 0 && strchr(" \t\"\r", text.at[0]) != NULL) {
            text.at++;
            text.bytes--;
        }
        while (text.bytes > 0 && strchr(" \t\"\r", text.at[text.bytes - 1]) != NULL) {
            text.bytes--;
        }
        if (is_name(text, cell)) {
            return true;
        }
        at = stop + 1;
    }
    return false;
}
